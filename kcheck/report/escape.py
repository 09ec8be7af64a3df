"""Escapes for untrusted text in each output format.

JSON and XML keep the characters that `visible` would replace: they have escapes of their own.
"""

import re
from collections.abc import Iterable
from re import Match

from kcheck.text.control_characters import HIDDEN, escape, visible
from kcheck.text.regex import regex


def json_text(data: object, *, indent: int) -> str:
    """Serialize data as JSON; control and invisible characters become escapes.

    Half a surrogate pair, which strict parsers refuse, becomes the six characters of its escape as text.
    """
    import json

    text = json.dumps(data, indent=indent, ensure_ascii=False)
    if not text.isascii() or "\x7f" in text:
        text = HIDDEN.sub(_json_escape, text)
    return _HASHES.sub("#\\\\u0023", text) + "\n"


_HASHES = regex(r"##(?=\w*\[)")
"""CI runners take this for a command anywhere in a line."""


def _json_escape(match: Match[str]) -> str:
    character = match[0]
    number = ord(character[0])
    if match[1] or character == "\n":  # the flag of a part of a country; a line of the document
        return character
    if 0xD800 <= number < 0xE000:
        return f"\\{escape(character)}"
    if number < 0x10000:
        return f"\\u{number:04x}"
    number -= 0x10000
    return f"\\u{0xD800 + (number >> 10):04x}\\u{0xDC00 + (number & 0x3FF):04x}"


# --- Markdown

_SPECIAL = regex(r"[\\`*_{}\[\]<>|#~$]|:(?=//)|(?<=[Ww]{3})\.|&(?=#?\w+;)")
_CALL = regex(r"(?<!\w)@(?=\w)|@(?=[\w-]+\.\w)|(?<=#)(?=\d)|(?<=\bGH-)(?=\d)")
"""Mentions, e-mail addresses and issue numbers: forges link them after Markdown is rendered, and notify people."""
_BREAK = "&#8203;"
"""A zero-width space, as a backslash does not stop forges from linking."""


def markdown(text: str) -> str:
    """Escape text for Markdown: no markup, HTML, links or mentions."""
    return _CALL.sub(rf"\g<0>{_BREAK}", _SPECIAL.sub(r"\\\g<0>", visible(text)))


def markdown_row(cells: Iterable[str]) -> str:
    """Format a row of a Markdown table."""
    return "| " + " | ".join(" ".join(cell.split()) for cell in cells) + " |"


def markdown_code(text: str) -> str:
    """Format text as inline code, or as plain text with a pipe."""
    return markdown(visible(text)) if "|" in visible(text) else as_code(text)


def as_code(text: str) -> str:
    """Format text as Markdown inline code."""
    text = visible(text)
    if not text.strip():
        return markdown(text)
    fence = "`"
    while fence in text:
        fence += "`"
    return f"{fence} {text} {fence}" if len(fence) > 1 else f"`{text}`"


def markdown_link(text: str, address: str) -> str:
    """Link text to a web address; text alone if the address is not one."""
    return f"[{markdown(text)}]({address})" if is_address(address) else markdown(text)


def is_address(text: str) -> bool:
    """Whether the whole text is an https address."""
    return _ADDRESS.fullmatch(text) is not None


_ADDRESS = regex(r"https://[\w./#?=&%~+:,@-]+", re.ASCII)

# --- SARIF, XML and the log of GitHub


def sarif_text(text: str) -> str:
    """Escape `[text](address)`, which a SARIF message would show as a link."""
    return text.replace("](", "]\\(")


def xml_text(text: str) -> str:
    """Escape text for an element or attribute of SVG or HTML."""
    from html import escape as html_escape

    return html_escape(visible(text))


def workflow_command(name: str, properties: dict[str, str], lines: Iterable[str]) -> str:
    """Format a GitHub Actions workflow command with a multi-line message."""
    given = (visible(f"{key}={value}") for key, value in properties.items())
    listed = ",".join(_percent(pair).replace(":", "%3A").replace(",", "%2C") for pair in given)
    return f"::{name} {listed}::{'%0A'.join(_percent(visible(line)) for line in lines)}"


def _percent(text: str) -> str:
    return text.replace("%", "%25")


_FORMULA = ("=", "+", "-", "@")
"""First characters of spreadsheet formulas: https://owasp.org/www-community/attacks/CSV_Injection."""


def defused(text: str) -> str:
    """Quote text that a spreadsheet would take for a formula."""
    text = visible(text)
    return f"'{text}" if text.lstrip().startswith(_FORMULA) else text


def wrapped(text: str, width: int, begin: str = "", rest: str = "") -> list[str]:
    """Wrap text for a terminal, the first line after `begin`."""
    from textwrap import wrap

    return wrap(
        visible(text), width, initial_indent=begin, subsequent_indent=rest, break_long_words=False,
        break_on_hyphens=False,
    )  # fmt: skip


def short(name: str, most: int) -> str:
    """Shorten a name to `most` characters by cutting its middle."""
    name = visible(name)
    return name if len(name) <= most else f"{name[: most // 3]}...{name[len(name) - most + most // 3 + 3 :]}"
