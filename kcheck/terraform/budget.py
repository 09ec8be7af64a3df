"""What evaluating a root module may cost: steps, and the size of each value. Counted, so that no clock decides."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from kcheck.text.text import Skipped
from kcheck.text.values import Either, Joined, Known, Origin, Partial, Unknown

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kcheck.text.text import Span
    from kcheck.text.values import Datum

STEPS = 500_000
"""Rounds of loops, elements made, and instances of all modules of a root: two seconds at most. Public repositories take
a few hundred."""
LARGEST = 250_000
"""Elements of one value, those of the lists in it too, however few of them are stored."""
LONGEST = 8_000_000
"""Characters of one text that a function makes."""
DEEPEST = 200
"""Lists in lists: what reads values is recursive."""
COPIES = 1_000
"""Copies of blocks by `count` and `for_each` beside the first of each, and modules that are called again: a pool takes
the rules ten milliseconds."""
_SMALL = 32
"""Elements that are counted again rather than remembered."""
_BITS = 16_384
"""Bits of the largest number: products of such are quick."""
_MODULE = 50
_LONG = 1_000
_NOTED = 10


class BudgetError(Exception):
    """An expression takes more than kcheck spends on it. `try` does not catch it: its value is unknown."""


class Budget:
    """What is left for one root module. `exceeded` has the places that took too much, with the reason."""

    def __init__(self) -> None:
        self.left = STEPS
        self.copies = COPIES
        self.seen: set[int] = set()
        self.exceeded: dict[Span, str] = {}
        self._sizes: dict[int, tuple[object, int, int]] = {}

    def spend(self, steps: int) -> None:
        """Count some steps.

        Raises:
            BudgetError: there are none left.
        """
        self.left -= steps
        if self.left < 0:
            raise BudgetError(f"evaluating this root module takes more than {STEPS:,} steps")

    def write(self, characters: int) -> None:
        """Count the characters of a text before it is made.

        Raises:
            BudgetError: it is longer than any value may be, or there are no steps left.
        """
        if characters > LONGEST:
            raise BudgetError(f"the text has more than {LONGEST:,} characters")
        self.spend(characters >> 5)

    def hold(self, value: Datum) -> Datum:
        """The value, if it is no larger than others can read.

        Raises:
            BudgetError: it is too large, or counting it took the last steps.
        """
        size, depth = self._measure(value)
        if isinstance(value, Known) and isinstance(value.value, str):
            self.write(len(value.value))
        self.count(size)
        if depth > DEEPEST:
            raise BudgetError(f"the value has more than {DEEPEST} levels")
        return value

    def number(self, value: object) -> None:
        """Refuse numbers that grow without end.

        Raises:
            BudgetError: it is one.
        """
        if isinstance(value, int | Fraction) and max(value.numerator, value.denominator, key=abs).bit_length() > _BITS:
            raise BudgetError("the number has too many digits")

    def read(self, arguments: list[Datum], *, deep: bool = False) -> None:
        """Count what a function looks at; `deep` if it converts or compares all parts of its arguments.

        Raises:
            BudgetError: there are no steps left.
        """
        for one in arguments:
            inner = one.value if isinstance(one, Known) else None
            if isinstance(inner, str):
                if len(inner) > _LONG:
                    self.spend(len(inner) >> (5 if inner.isascii() else 1))
            elif isinstance(inner, tuple | dict):
                size, _ = self._measure(one)
                self.spend(2 * size if deep else size >> 2)

    def count(self, elements: int) -> None:
        """Refuse a collection before it is made, if it is larger than any may be.

        Raises:
            BudgetError: it is.
        """
        if elements > LARGEST:
            raise BudgetError(f"the value has more than {LARGEST:,} elements")

    def compare(self, one: Datum, other: Datum) -> None:
        """Count what it takes to compare two values, or to convert them to one type.

        Raises:
            BudgetError: there are no steps left.
        """
        self.spend(min(self._measure(one)[0], self._measure(other)[0]) >> 3)

    def refuse(self, error: BudgetError, place: Origin) -> Unknown:
        """What stands for a value that takes too much; its place is noted."""
        reason = str(error)
        if place.spans and len(self.exceeded) < _NOTED and (self.left >= 0 or reason not in self.exceeded.values()):
            self.exceeded.setdefault(place.spans[0], reason)
        return Unknown(reason, place)

    def module(self, name: int, blocks: int) -> None:
        """Count a module with some resources, if it is not the first of its code.

        Raises:
            BudgetError: there are too many.
        """
        if name in self.seen:
            self.copy(2 + blocks // 4, _MODULE)
        self.seen.add(name)

    def copy(self, copies: int, steps: int) -> None:
        """Count the copies of a block, each of which takes some steps.

        Raises:
            BudgetError: there are too many.
        """
        self.spend(min(copies, self.copies + 1) * steps)
        if copies - 1 > self.copies:
            raise BudgetError(f"this root module has more than {COPIES:,} copies of blocks")
        self.copies -= max(0, copies - 1)

    def skipped(self) -> Iterator[Skipped]:
        """The places that took too much, in the code of the user."""
        for span, reason in self.exceeded.items():
            if not span.source.bundled:
                yield Skipped(span.source.path, f"not evaluated: {reason}", span.begin.line)

    def _measure(self, value: Datum) -> tuple[int, int]:
        """Elements and levels of a value; the elements of what has many are counted once."""
        inner: object = value.value if isinstance(value, Known) else value
        if isinstance(inner, str):
            return 1 + (len(inner) >> 8), 0
        items = _items(inner)
        if items is None:
            return 1, 0
        found = self._sizes.get(id(inner))
        if found is not None:
            return found[1], found[2]
        size, depth = 1, 0
        for item in items:
            below, levels = self._measure(item)
            size += below
            depth = max(depth, levels)
        self.spend(1 + len(inner) if isinstance(inner, dict | tuple) else 1)
        depth += 1
        if size > _SMALL:
            self._sizes[id(inner)] = (inner, size, depth)
        return size, depth


def _items(inner: object) -> Iterable[Datum] | None:
    """The parts of a collection, or of what is not wholly known; None of what has none."""
    if isinstance(inner, dict):
        return inner.values()
    if isinstance(inner, tuple):
        return inner
    if isinstance(inner, Either):
        return inner.branches
    if isinstance(inner, Partial):
        return list(inner.elements())
    return inner.parts if isinstance(inner, Joined) else None
