"""Insertions of a fix in any syntax, and the siblings they follow."""

from collections.abc import Iterable

from msgspec import Struct

from kcheck.text.keys import Item
from kcheck.text.regex import regex
from kcheck.text.text import leading
from kcheck.text.values import Data

_WORD = regex(r"[A-Z]?[a-z0-9]+|[A-Z]+(?![a-z])")


class Insertion(Struct):
    """New members and items of a block, map or list."""

    members: dict[str, Data] = {}
    items: list[Data] = []

    def add(self, path: tuple[str, ...], value: Data) -> None:
        """Add a value below a path; additions of several fixes to one map are merged."""
        inner: Data = value
        for name in reversed(path):
            if isinstance(name, Item):
                inner = [{"name": str(name), **(inner if isinstance(inner, dict) else {})}]
            else:
                inner = {name: inner}
        if isinstance(inner, dict):
            _join(self.members, inner)
        elif isinstance(inner, list):
            for item in inner:
                self.append(item)

    def append(self, item: Data) -> None:
        """Add an item to a list, once."""
        if item not in self.items:
            self.items.append(item)


def _join(into: dict[str, Data], more: dict[str, Data]) -> None:
    for name, value in more.items():
        old = into.get(name)
        if isinstance(old, dict) and isinstance(value, dict):
            _join(old, value)
        elif isinstance(old, list) and isinstance(value, list):
            old += [item for item in value if item not in old]
        else:
            into[name] = value


def sibling(name: str, others: Iterable[str]) -> str | None:
    """Return the last name that shares the most words; None if none does.

    `max_size` goes behind `min_size`, `imagePullPolicy` behind `image`, `one_nat_gateway_per_az` behind
    `single_nat_gateway`.
    """
    own = words_of(name)
    best, most = None, 0
    for other in others:
        words = words_of(other)
        shared = leading(own, words)
        shared += leading(own[shared:][::-1], words[shared:][::-1])
        among = len(set(own) & set(words))
        shared = max(shared, among if among > 1 else 0)
        if shared >= max(most, 1):
            best, most = other, shared
    return best


def words_of(name: str) -> list[str]:
    """Split a name into its words, in lower case."""
    return [word.lower() for word in _WORD.findall(name)]
