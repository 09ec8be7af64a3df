"""Limits for evaluating a root module, in steps and sizes."""

from collections.abc import Iterable, Iterator
from fractions import Fraction

from kcheck.text.text import Skipped, Span
from kcheck.text.values import Datum, Either, Joined, Known, Origin, Partial, Unknown

STEPS = 500_000
"""Steps per root module (loop rounds, new elements, module instances): two seconds at most.
Public repositories take a few hundred.
"""
LARGEST = 250_000
"""Maximum number of elements in a value, nested ones included."""
LONGEST = 8_000_000
"""Maximum number of characters in a text that a function makes."""
DEEPEST = 200
"""Maximum nesting depth of a value, because values are read recursively."""
COPIES = 1_000
"""Maximum number of extra copies of blocks by `count`, `for_each` and repeated module calls.
Checking the rules takes ten milliseconds per pool.
"""
NESTED = 100
"""Maximum depth of modules in modules, because they are read recursively."""
_SMALL = 32
"""Collections up to this size are counted again instead of cached."""
_BITS = 16_384
"""Maximum bits of a number, so that products stay fast."""
_MODULE = 50
_LONG = 1_000
_NOTED = 10


class BudgetError(Exception):
    """Raised when an expression exceeds the budget; `try` does not catch it."""


class Budget:
    """Remaining budget of a root module; its methods raise BudgetError."""

    def __init__(self) -> None:
        self.left = STEPS
        self.copies = COPIES
        self.seen: set[int] = set()
        self.exceeded: dict[Span, str] = {}
        self._sizes: dict[int, tuple[object, int, int]] = {}

    def spend(self, steps: int) -> None:
        """Deduct steps from the budget."""
        self.left -= steps
        if self.left < 0:
            raise BudgetError(f"evaluating this root module takes more than {STEPS:,} steps")

    def write(self, characters: int) -> None:
        """Deduct the characters of a text before it is made."""
        if characters > LONGEST:
            raise BudgetError(f"the text has more than {LONGEST:,} characters")
        self.spend(characters >> 5)

    def hold(self, value: Datum) -> Datum:
        """Return a value if its size and depth are within limits."""
        size, depth = self._measure(value)
        if isinstance(value, Known) and isinstance(value.value, str):
            self.write(len(value.value))
        self.count(size)
        if depth > DEEPEST:
            raise BudgetError(f"the value has more than {DEEPEST} levels")
        return value

    def number(self, value: object) -> None:
        """Refuse a number with too many digits."""
        if isinstance(value, int | Fraction) and max(value.numerator, value.denominator, key=abs).bit_length() > _BITS:
            raise BudgetError("the number has too many digits")

    def read(self, arguments: list[Datum], *, deep: bool = False) -> None:
        """Deduct the cost of reading arguments, with all parts if `deep`."""
        for one in arguments:
            inner = one.value if isinstance(one, Known) else None
            if isinstance(inner, str):
                if len(inner) > _LONG:
                    self.spend(len(inner) >> (5 if inner.isascii() else 1))
            elif isinstance(inner, tuple | dict):
                size, _ = self._measure(one)
                self.spend(2 * size if deep else size >> 2)

    def count(self, elements: int) -> None:
        """Refuse a collection that would be too large, before it is made."""
        if elements > LARGEST:
            raise BudgetError(f"the value has more than {LARGEST:,} elements")

    def compare(self, one: Datum, other: Datum) -> None:
        """Deduct the cost of comparing two values or converting them to one type."""
        self.spend(min(self._measure(one)[0], self._measure(other)[0]) >> 3)

    def refuse(self, error: BudgetError, place: Origin) -> Unknown:
        """Record a place that exceeded the budget and return Unknown for its value."""
        reason = str(error)
        if place.spans and len(self.exceeded) < _NOTED and (self.left >= 0 or reason not in self.exceeded.values()):
            self.exceeded.setdefault(place.spans[0], reason)
        return Unknown(reason, place)

    def module(self, name: int, blocks: int) -> None:
        """Deduct the cost of another instance of a module; the first one is free."""
        if name in self.seen:
            self.copy(2 + blocks // 4, _MODULE)
        self.seen.add(name)

    def copy(self, copies: int, steps: int) -> None:
        """Deduct `steps` for each copy of a block."""
        self.spend(min(copies, self.copies + 1) * steps)
        if copies - 1 > self.copies:
            raise BudgetError(f"this root module has more than {COPIES:,} copies of blocks")
        self.copies -= max(0, copies - 1)

    def skipped(self) -> Iterator[Skipped]:
        """Yield the places in user code that exceeded the budget."""
        for span, reason in self.exceeded.items():
            if not span.source.bundled:
                yield Skipped(span.source.path, f"not evaluated: {reason}", span.begin.line)

    def _measure(self, value: Datum) -> tuple[int, int]:
        """Return a value's number of elements and its depth; cached for large collections."""
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
    """List the direct parts of a collection or choice; None for a single value."""
    if isinstance(inner, dict):
        return inner.values()
    if isinstance(inner, tuple):
        return inner
    if isinstance(inner, Either):
        return inner.branches
    if isinstance(inner, Partial):
        return list(inner.elements())
    return inner.parts if isinstance(inner, Joined) else None
