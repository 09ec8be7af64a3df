"""Placeholders to be filled in later, and encrypted values and files."""

import re
from collections.abc import Iterable

from kcheck.text.regex import regex
from kcheck.text.text import Span
from kcheck.text.values import Origin, Unknown

_FORMS = regex(
    r"\{\{[^{}]*\}\}"  # Go, Jinja
    r"|\$\{\{?[^{}]*\}\}?|\$[A-Za-z_]\w*"  # envsubst, Flux, shells, workflows
    r"|\$\([A-Za-z_][\w.-]*\)"  # Azure Pipelines, Tekton
    r"|\#\{[^{}]*\}\#?|__[A-Z][A-Z0-9_]*__|@@?[A-Z][A-Z0-9_]*@@?"  # tokens that are replaced
    r"|<[A-Za-z][^<>\n]*>"
)
_DEFAULT = regex(r"\$\{[A-Za-z_]\w*:?[-=]([^{}]*)\}")
_CAPITALS = regex(r"[A-Z][A-Z0-9_-]*")
MARK = "\0"
"""Character that replaces a placeholder in a masked text."""


def first(text: str) -> str:
    """Find the first placeholder of a text; empty if there is none.

    In a text of several words only `{{` counts, because shells and programs also use the other forms.
    """
    found = _FORMS.search(text)
    if found is None:
        return ""
    words = found[0][:2] != "{{" and any(map(str.isspace, _FORMS.sub("", text)))
    return "" if words else found[0]


def of_number(text: str) -> str:
    """Find a placeholder for a number: also a word in capitals, such as NUM_NODES."""
    return text if _CAPITALS.fullmatch(text) else first(text)


def with_defaults(text: str) -> str:
    """Replace placeholders by their defaults: `4` for `${WORKERS:-4}`."""
    return _DEFAULT.sub(r"\1", text) if "${" in text else text


def reason(placeholder: str) -> str:
    """Return why the value of a placeholder is unknown."""
    return f"`{placeholder}` is a placeholder"


def unknown(texts: Iterable[str], origin: Origin | None = None) -> Unknown | None:
    """Return an Unknown for the first placeholder in the strings; else None."""
    found = next(filter(None, map(first, texts)), "")
    return Unknown(reason(found), origin) if found else None


def is_encrypted(text: str) -> bool:
    """Whether a text is a value encrypted by sops or ansible-vault."""
    return text.startswith(("ENC[", "$ANSIBLE_VAULT;"))


def encrypted(place: Span) -> str:
    """Return why an encrypted value is unknown."""
    return f"a value of {place.source.path} is encrypted"


def masked(text: str) -> str:
    """Replace each placeholder by MARK."""
    return _FORMS.sub(MARK, text)


ENCRYPTED = "encrypted, values unknown"
DECRYPT = "decrypt it to have it read"
ENCRYPTED_HEAD = 200
"""Bytes that tell whether a whole file is encrypted."""
_ENCRYPTED_FILES = (
    b"\0GITCRYPT\0", b"$ANSIBLE_VAULT;", b"age-encryption.org/", b"-----BEGIN AGE ENCRYPTED FILE-----",
    b"-----BEGIN PGP MESSAGE-----", b"U2FsdGVkX1",
)  # fmt: skip
"""First bytes of encrypted files: git-crypt, ansible-vault, age, PGP, transcrypt."""
_SEALED = regex(rb"\s*\{\s*\"data\":\s*\"ENC\[")
_SOPS = regex(rb"^[ \t]*\"?sops\"?[ \t]*:", re.MULTILINE)
_KIND = regex(rb"^\"?kind\"?[ \t]*:[ \t]*[\"']?(\w+)", re.MULTILINE)


def is_encrypted_file(data: bytes) -> bool:
    """Whether a whole file is encrypted, not only values as sops does."""
    return data.startswith(_ENCRYPTED_FILES) or (b"ENC[" in data[:ENCRYPTED_HEAD] and _SEALED.match(data) is not None)


def hides_values(data: bytes) -> bool:
    """Whether sops encrypted values in a file other than Secrets."""
    if b"ENC[" not in data or not _SOPS.search(data):
        return False
    kinds = set(_KIND.findall(data))
    return not kinds or bool(kinds - {b"Secret"})


_SIGNED = regex(rb"\{%|%\{|(?m:^[ \t]+\$\{[^{}\n]*\}[ \t]*$)")


def is_template(data: bytes) -> bool:
    """Whether there is templating of Go, Jinja or Terraform outside comments.

    Ask only about documents with a problem. An unquoted `{{ x }}` always is one (a map as the key of a map), and a
    document that parses is YAML, whatever its quoted and block texts hold.
    """
    text = re.sub(rb"(?m)(?:^|(?<=[ \t]))#.*$", b"", data)
    at = text.find(b"{{")
    return bool(_SIGNED.search(text)) or (at >= 0 and text.find(b"}}", at) >= 0)


_ENGINE = regex(
    rb"\{%|%\{|\{\{-|-\}\}|\{\{\s*(?:\.(?:Values|Release|Chart|Files|Capabilities|Template)\b|/\*|[$#^/&>!]"
    rb"|(?:if|else|end|range|with|define|include|template|block|toYaml|tpl)\b)"
)
_FILLED = regex(rb"\{\{([^{}\r\n]*)\}\}")
_SIGNS = bytes.maketrans(b":#\"',[]&*!|>%@`", b"_" * 15)


def without_templating(data: bytes) -> bytes | None:
    """Replace each `{{ value }}` by a placeholder; None if a template does more."""
    if _ENGINE.search(data) or not _FILLED.search(data):
        return None
    return _FILLED.sub(lambda match: b"${" + match[1].translate(_SIGNS) + b"}}", data)
