"""Encrypted files, and files with encrypted values."""

from __future__ import annotations

import re

from kcheck.text.regex import regex

REASON = "encrypted, values unknown"
REMEDY = "decrypt it to have it read"
HEAD = 200
"""So many bytes tell whether nothing of a file can be read."""
_WHOLE = (
    b"\0GITCRYPT\0", b"$ANSIBLE_VAULT;", b"age-encryption.org/", b"-----BEGIN AGE ENCRYPTED FILE-----",
    b"-----BEGIN PGP MESSAGE-----", b"U2FsdGVkX1",
)  # fmt: skip
"""How such files begin: git-crypt, ansible-vault, age, PGP, transcrypt."""
_SEALED = regex(rb"\s*\{\s*\"data\":\s*\"ENC\[")
_SOPS = regex(rb"^[ \t]*\"?sops\"?[ \t]*:", re.MULTILINE)
_KIND = regex(rb"^\"?kind\"?[ \t]*:[ \t]*[\"']?(\w+)", re.MULTILINE)


def is_whole(data: bytes) -> bool:
    """Whether a file is encrypted as a whole; sops does so with files that are not YAML, JSON or dotenv."""
    return data.startswith(_WHOLE) or (b"ENC[" in data[:HEAD] and _SEALED.match(data) is not None)


def hides_values(data: bytes) -> bool:
    """Whether sops encrypted values of a file; Secrets, which no rule needs, do not count."""
    if b"ENC[" not in data or not _SOPS.search(data):
        return False
    kinds = set(_KIND.findall(data))
    return not kinds or bool(kinds - {b"Secret"})
