"""Text of strangers as a terminal and the log of a CI job may have it: what they would act on becomes an escape.

Names, paths, comments and values come from a repository that anybody may write to. A terminal acts on control
characters; bidirectional marks and characters without a width show another text than there is; the runners of GitHub,
Azure and TeamCity take a line for a command by `::` at its begin, or by `##[` or `##vso[` anywhere.
"""

from __future__ import annotations

from kcheck.text.regex import regex

TYPE_CHECKING = False
if TYPE_CHECKING:
    from re import Match

_JOINED = (
    "\u0600-\u061b\u061d-\u109f\u1780-\u17b3\u17b6-\u18af\ufb50-\ufdff\ufe0f\ufe70-\ufefc"
    "\u2190-\u2bff\U0001f000-\U0001faff"
)
"""Before and after these, a joiner is part of a word or of an emoji: scripts from Arabic to Mongolian, and symbols."""
_FLAG = "\U0001f3f4[\U000e0030-\U000e007a]{1,6}\U000e007f"
"""The flag of a part of a country, whose letters are tags."""
_UNSEEN = (
    "\x00-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f"
    "\u3164\ufeff\uffa0\ufff0-\ufffb\ufffe\uffff\ud800-\udfff\U000e0000-\U000e007f"
)
HIDDEN = regex(f"({_FLAG})|[{_UNSEEN}]|(?<![{_JOINED}])[\u200c\u200d]|[\u200c\u200d](?![{_JOINED}])")
"""A character that acts or cannot be seen; or a flag, which is group 1 and stays."""
_COMMAND = regex(r"\A(\s*):(?=:)|#(?=#\w*\[)")
_NAMED = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}


def visible(text: str) -> str:
    """Text on one line: characters that act or cannot be seen are escapes, and no runner finds a command in it."""
    text = escaped(text)
    return _COMMAND.sub(_disarmed, text) if "::" in text or "##" in text else text


def visible_lines(text: str) -> str:
    """Several lines, each visible; tabs stay."""
    return "\n".join(map(_line, text.split("\n")))


def escaped(text: str) -> str:
    """A part of a line, whose begin it is not: characters that act or cannot be seen are escapes."""
    return text if text.isprintable() else HIDDEN.sub(lambda match: match[1] or escape(match[0]), text)


def escape(character: str) -> str:
    """A character as it is written in a string of Python."""
    number = ord(character)
    if character in _NAMED:
        return _NAMED[character]
    return f"\\x{number:02x}" if number < 0x100 else f"\\u{number:04x}" if number < 0x10000 else f"\\U{number:08x}"


def _line(line: str) -> str:
    return "\t".join(map(visible, line.split("\t"))) if "\t" in line else visible(line)


def _disarmed(match: Match[str]) -> str:
    """The character by which a command is known, as an escape."""
    mark = match[0][-1]
    return f"{match[0][:-1]}\\x{ord(mark):02x}"
