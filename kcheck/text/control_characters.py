"""Escape text from repositories, so that terminals and CI logs do not act on it.

Names, paths, comments and values come from a repository that anybody may write to. A terminal acts on control
characters; bidirectional marks and characters without a width disguise text; the runners of GitHub, Azure and TeamCity
read a line as a command if it begins with `::`, or has `##[` or `##vso[` anywhere.
"""

from kcheck.text.regex import regex

_JOINED = (
    "\u0600-\u061b\u061d-\u109f\u1780-\u17b3\u17b6-\u18af\ufb50-\ufdff\ufe0f\ufe70-\ufefc"
    "\u2190-\u2bff\U0001f000-\U0001faff"
)
"""Characters next to which a joiner is part of a word or emoji: scripts from Arabic to Mongolian, and symbols."""
_FLAG = "\U0001f3f4[\U000e0030-\U000e007a]{1,6}\U000e007f"
"""Flag of a part of a country, spelled with tag characters."""
_UNSEEN = (
    "\x00-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f"
    "\u3164\ufeff\uffa0\ufff0-\ufffb\ufffe\uffff\ud800-\udfff\U000e0000-\U000e007f"
)
HIDDEN = regex(f"({_FLAG})|[{_UNSEEN}]|(?<![{_JOINED}])[\u200c\u200d]|[\u200c\u200d](?![{_JOINED}])")
"""Matches a character that acts or is invisible, or a flag, which is group 1 and stays."""
_COMMAND = regex(r"\A(\s*):(?=:)|#(?=#\w*\[)")


def visible(text: str) -> str:
    """Format text as one line, with invisible characters escaped."""
    text = escaped(text)
    if "::" not in text and "##" not in text:
        return text
    return _COMMAND.sub(lambda match: f"{match[0][:-1]}\\x{ord(match[0][-1]):02x}", text)


def visible_lines(text: str) -> str:
    """Escape each of several lines like `visible`; tabs stay."""
    return "\n".join("\t".join(map(visible, line.split("\t"))) for line in text.split("\n"))


def escaped(text: str) -> str:
    """Escape characters that act or are invisible."""
    return text if text.isprintable() else HIDDEN.sub(lambda match: match[1] or escape(match[0]), text)


def escape(character: str) -> str:
    """Format a character as in a Python string."""
    return ascii(character)[1:-1]
