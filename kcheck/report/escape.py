"""Text of strangers in other formats than text: one function a format.

What `visible` shows as escapes, JSON and XML need not lose: they have escapes of their own.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from kcheck.text.control_characters import HIDDEN, escape, visible
from kcheck.text.regex import regex

if TYPE_CHECKING:
    from collections.abc import Iterable
    from re import Match

# --- JSON


def json_text(data: object, *, indent: int) -> str:
    """A document of JSON with the same strings, in ASCII where a character acts or cannot be seen.

    A half of a surrogate pair, which strict readers refuse, is text: the six characters of its escape.
    """
    import json

    text = json.dumps(data, indent=indent, ensure_ascii=False)
    if not text.isascii() or "\x7f" in text:
        text = HIDDEN.sub(_json_escape, text)
    return _HASHES.sub("#\\\\u0023", text) + "\n"


_HASHES = regex(r"##(?=\w*\[)")
"""What runners of CI jobs take for a command, wherever it stands in a line."""


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
"""What forges make links of when Markdown is done with a text: people, addresses, and issues, which then tell of it."""
_BREAK = "&#8203;"
"""A space without a width: a backslash does not keep a forge from these."""


def markdown(text: str) -> str:
    """Text as Markdown shows it as it is: no markup, no HTML, no link, and nobody is called."""
    return _CALL.sub(rf"\g<0>{_BREAK}", _SPECIAL.sub(r"\\\g<0>", visible(text)))


def markdown_row(cells: Iterable[str]) -> str:
    """A row of a table of Markdown."""
    return "| " + " | ".join(" ".join(cell.split()) for cell in cells) + " |"


def markdown_code(text: str) -> str:
    """Text as code; as plain text where it holds a bar, which would end the cell of a table."""
    return markdown(visible(text)) if "|" in visible(text) else as_code(text)


def as_code(text: str) -> str:
    """Text as code within a line."""
    text = visible(text)
    if not text.strip():
        return markdown(text)
    fence = "`"
    while fence in text:
        fence += "`"
    return f"{fence} {text} {fence}" if len(fence) > 1 else f"`{text}`"


def markdown_link(text: str, address: str) -> str:
    """Text that leads to a page of the web; text alone where the address is none."""
    return f"[{markdown(text)}]({address})" if is_address(address) else markdown(text)


def is_address(text: str) -> bool:
    """Whether a text is the address of a page of the web, and nothing else."""
    return _ADDRESS.fullmatch(text) is not None


_ADDRESS = regex(r"https://[\w./#?=&%~+:,@-]+", re.ASCII)

# --- SARIF, XML and the log of GitHub


def sarif_text(text: str) -> str:
    """Text of a message of SARIF, in which `[text](address)` would be a link."""
    return text.replace("](", "]\\(")


def xml_text(text: str) -> str:
    """Text for an element or an attribute of SVG or HTML."""
    from html import escape as html_escape

    return html_escape(visible(text))


def workflow_command(name: str, properties: dict[str, str], lines: Iterable[str]) -> str:
    """A command to the runner of GitHub Actions, with its message in some lines."""
    given = (visible(f"{key}={value}") for key, value in properties.items())
    listed = ",".join(_percent(pair).replace(":", "%3A").replace(",", "%2C") for pair in given)
    return f"::{name} {listed}::{'%0A'.join(_percent(visible(line)) for line in lines)}"


def _percent(text: str) -> str:
    return text.replace("%", "%25")


# --- spreadsheets


_FORMULA = ("=", "+", "-", "@")
"""How cells begin that a spreadsheet computes: https://owasp.org/www-community/attacks/CSV_Injection."""


def defused(text: str) -> str:
    """Text that no spreadsheet takes for a formula."""
    text = visible(text)
    return f"'{text}" if text.lstrip().startswith(_FORMULA) else text


# --- tables


def short(name: str, most: int) -> str:
    """A name on one line: a long one without its middle, as names differ at the end."""
    name = visible(name)
    return name if len(name) <= most else f"{name[: most // 3]}...{name[len(name) - most + most // 3 + 3 :]}"
