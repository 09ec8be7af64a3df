"""YAML style at a span, and values written in it: quotes, indentation, lists."""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import NamedTuple

from kcheck.text.regex import regex
from kcheck.text.syntax import yaml
from kcheck.text.text import Span
from kcheck.text.values import Data

_BLANK = rb"[ \t]*(?:#[^\n]*)?\r?\n(?:[ \t]*(?:#[^\n]*)?\r?\n)*"
_KEY = rb"^( *(?:- +)*)[\w.\"'/-]+:" + _BLANK
_LIST = regex(_KEY + rb"(?=( *)- )", re.MULTILINE)
_MAP = regex(_KEY + rb"(?=( +)[\w\"'])", re.MULTILINE)


class Style(NamedTuple):
    """Style of neighbours: quotes, and indentation of maps and lists."""

    keys: yaml.Style
    texts: yaml.Style
    step: int
    dash: int

    def lines(self, members: dict[str, Data]) -> Iterator[str]:
        """Yield members of a map in block style."""
        for name, value in members.items():
            key = yaml.literal(name, self.keys)
            if isinstance(value, dict) and value:
                yield f"{key}:"
                yield from (" " * self.step + line for line in self.lines(value))
            elif isinstance(value, list) and value:
                yield f"{key}:"
                yield from (" " * self.dash + line for item in value for line in self.item(item))
            else:
                yield f"{key}: {self.flow(value)}"

    def item(self, item: Data) -> Iterator[str]:
        """Yield the lines of a list item in block style."""
        lines = list(self.lines(item)) if isinstance(item, dict) and item else [self.flow(item)]
        yield f"- {lines[0]}"
        yield from (f"  {line}" for line in lines[1:])

    def flow(self, value: Data, line: str = "") -> str:
        """Format a value in flow style, each member on its line with `line`."""
        deeper = line and line + ("\t" if line.lstrip("\r\n").startswith("\t") else " " * self.step)
        if isinstance(value, dict):
            parts, ends = self.members(value, deeper), "{}"
        elif isinstance(value, list):
            parts, ends = [self.flow(item, deeper) for item in value], "[]"
        else:
            return yaml.literal(value, self.texts)
        if not line or not parts:
            return f"{ends[0]}{', '.join(parts)}{ends[1]}"
        lines = f",{deeper}".join(parts)
        return f"{ends[0]}{deeper}{lines}{line}{ends[1]}"

    def members(self, members: dict[str, Data], line: str = "") -> list[str]:
        """List members of a map in flow style, as `flow` formats their values."""
        return [f"{yaml.literal(name, self.keys)}: {self.flow(value, line)}" for name, value in members.items()]


PLAIN = Style("plain", "plain", 2, 2)
"""Style where there are no neighbours."""


def style_of(place: Span, keys: Iterable[yaml.Target], texts: Iterable[yaml.Target], step: int = 0) -> Style:
    """Find the style at a span: quotes there, the rest from nearby."""
    data, at = place.source.data, place.start
    key = next(iter(keys), None)
    texts = [text for text in texts if isinstance(text, yaml.Scalar) and _is_chosen(text)]
    if place.source.path.endswith(".json"):
        deeper = re.search(rb"^\s*\{[ \t]*\r?\n( +)\"", data)
        return Style("double", "double", len(deeper[1]) if deeper else 2, 0)
    step = step or _deeper(_MAP, data, at) or 2
    dash = _deeper(_LIST, data, at)
    return Style(
        quotes(key.span.text) if key else "plain", quotes(texts[-1].span.text) if texts else "plain", step, dash or 0
    )


def _is_chosen(node: yaml.Scalar) -> bool:
    """Whether quotes, or their absence, are the author's choice."""
    value = yaml.value(node)
    return isinstance(value, str) and yaml.literal(value, "plain")[:1] not in ("'", '"')


def _deeper(pattern: re.Pattern[bytes], data: bytes, at: int) -> int | None:
    """Return the indentation step below the nearest key above a span."""
    starts, steps = _indentations(pattern, data)
    return steps[max(bisect_right(starts, at) - 1, 0)] if steps else None


@lru_cache(maxsize=8)  # several changes of one file come together
def _indentations(pattern: re.Pattern[bytes], data: bytes) -> tuple[list[int], list[int]]:
    """List where keys with something below them begin, and how much deeper that is."""
    starts, steps = [], []
    for match in pattern.finditer(data):
        by = len(match[2]) - len(match[1])
        if by > 0 or (by == 0 and pattern is not _MAP):  # else the key of another map, or none at all
            starts.append(match.start())
            steps.append(by)
    return starts, steps


def column(node: yaml.Target) -> int:
    """Return a node's column from 0, by the line breaks of YAML."""
    return len(re.split("[\r\x85\u2028\u2029]", node.source.before(node.start))[-1])


def quotes(text: str) -> yaml.Style:
    """Return the quotes of a text as written."""
    return "double" if text[:1] == '"' else "single" if text[:1] == "'" else "plain"
