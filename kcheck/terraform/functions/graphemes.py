"""Split text into grapheme clusters of Unicode 15, as Terraform counts characters.

The grammar is that of textseg, Terraform's library, over one letter per character. The package `regex` is not
used: it takes a tenth of a second to import and joins Indic letters as Unicode 15.1 does.
"""

from functools import cache
from unicodedata import category

from kcheck.text.regex import regex

_HANGUL = r"(?:L+(?:G?V+T*|HT*|G?)|GV*T*|V+T*|HT*|T+)"
_EXTENSION = r"(?:[ES]|Z(?:XE*)?)*"
_SEQUENCE = rf"(?:{_HANGUL}{_EXTENSION}|XE*{_EXTENSION}|Z[ZES]*|II?{_EXTENSION}|[OES][EZS]*)"
_CLUSTER = regex(rf"RN|P+{_SEQUENCE}?|{_SEQUENCE}|.")

_BY_CATEGORY = {"Mn": "E", "Me": "E", "Mc": "S", "Cc": "C", "Cf": "C", "Zl": "C", "Zp": "C"}
_RANGES = {  # what its category does not tell
    "I": "1f1e6-1f1ff",
    "L": "1100-115f a960-a97c",
    "V": "1160-11a7 d7b0-d7c6",
    "T": "11a8-11ff d7cb-d7fb",
    "P": ("600-605 6dd 70f 890-891 8e2 d4e 110bd 110cd 111c2-111c3 1193f 11941 11a3a 11a84-11a89 11d46 11f02 "),
    "E": (
        "9be 9d7 b3e b57 bbe bd7 cc2 cd5-cd6 d3e d57 dcf ddf ece 1b35 200c 302e-302f ff9e-ff9f 10efd-10eff 11241 "
        "1133e 11357 114b0 114bd 115af 11930 11f00-11f01 11f36-11f3a 11f40 11f42 13440 13447-13455 1d165 1d16e-1d172 "
        "1e08f 1e4ec-1e4ef 1f3fb-1f3ff e0020-e007f "
    ),
    "S": ("cf3 e33 eb3 11f03 11f34-11f35 11f3e-11f3f 11f41 "),
    "O": ("102b-102c 1038 1062-1064 1067-106d 1083 1087-108c 108f 109a-109c 1a61 1a63-1a64 aa7b aa7d 11720-11721 "),
    "C": ("fffd 2065 fff0-fff8 13439-1343f e0000 e0002-e001f e0080-e00ff e01f0-e0fff "),
    "X": (
        "a9 ae 203c 2049 2122 2139 2194-2199 21a9-21aa 231a-231b 2328 2388 23cf 23e9-23f3 23f8-23fa 24c2 25aa-25ab "
        "25b6 25c0 25fb-25fe 2600-2605 2607-2612 2614-2685 2690-2705 2708-2712 2714 2716 271d 2721 2728 2733-2734 "
        "2744 2747 274c 274e 2753-2755 2757 2763-2767 2795-2797 27a1 27b0 27bf 2934-2935 2b05-2b07 2b1b-2b1c 2b50 "
        "2b55 3030 303d 3297 3299 1f000-1f0ff 1f10d-1f10f 1f12f 1f16c-1f171 1f17e-1f17f 1f18e 1f191-1f19a 1f1ad-1f1e5 "
        "1f201-1f20f 1f21a 1f22f 1f232-1f23a 1f23c-1f23f 1f249-1f3fa 1f400-1f53d 1f546-1f64f 1f680-1f6ff 1f774-1f77f "
        "1f7d5-1f7ff 1f80c-1f80f 1f848-1f84f 1f85a-1f85f 1f888-1f88f 1f8ae-1f8ff 1f90c-1f93a 1f93c-1f945 1f947-1faff "
        "1fc00-1fffd "
    ),
}


def split(value: str) -> list[str]:
    """Split a text into grapheme clusters: combining marks stay with their letter."""
    letters = "".join(map(_letter, value))
    return [value[match.start() : match.end()] for match in _CLUSTER.finditer(letters)]


@cache
def _table() -> dict[int, str]:
    result = {0x0D: "R", 0x0A: "N", 0x200D: "Z"}
    for letter, text in _RANGES.items():
        for one in text.split():
            first, _, last = one.partition("-")
            result |= dict.fromkeys(range(int(first, 16), int(last or first, 16) + 1), letter)
    return result


def _letter(character: str) -> str:
    code = ord(character)
    if 0xAC00 <= code <= 0xD7A3:
        return "H" if (code - 0xAC00) % 28 else "G"
    return _table().get(code) or _BY_CATEGORY.get(category(character), "O")
