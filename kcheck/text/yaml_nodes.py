"""Nodes of YAML trees with their bytes. `syntax/yaml.py` creates them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Literal, NamedTuple, TypeAlias

from msgspec import Struct

from kcheck.text.text import Source, Span
from kcheck.text.values import Datum, Origin

Style: TypeAlias = Literal["plain", "single", "double", "literal", "folded"]
Plain: TypeAlias = str | int | float | bool | None
_span = partial(tuple.__new__, Span)  # without a Python frame for each


# Nodes never change; `frozen` would take 0.8 us more for each. Compared by identity: bombs are not walked.
class _Spanned(Struct, eq=False, kw_only=True):
    _span: Span | None = None


class _Node(_Spanned, eq=False):
    source: Source
    start: int
    end: int
    anchor: str | None

    @property
    def span(self) -> Span:
        """Bytes of the node, without its anchor and tag."""
        if self._span is None:
            self._span = _span((self.source, self.start, self.end))
        return self._span


class Scalar(_Node):
    """A single text of YAML; `syntax.yaml.value` interprets it.

    An absent value (`key:`) is a plain scalar with an empty span right after the `:` or `-`. The span of a block scalar
    (`|`, `>`) includes the line end of its last line.
    """

    text: str
    style: Style
    tag: str | None


class Computed(Scalar):
    """Text computed elsewhere; `datum` has its value and origin."""

    datum: Datum


class Sequence(_Node):
    """A list; in block style it ends with its last item."""

    items: tuple[Node, ...]
    flow: bool


class Pair(NamedTuple):
    """One `key: value`; an alias as a key is replaced by its text."""

    key: Scalar
    value: Node


class Mapping(_Node):
    """A map with all its entries, also duplicates and merge keys."""

    entries: tuple[Pair, ...]
    flow: bool
    indexed: dict[str, Pair] | None = None  # asked for first where time counts: a property takes as long as a look-up

    @property
    def index(self) -> dict[str, Pair]:
        """Last entry of each key; merge keys are not followed."""
        if self.indexed is None:
            self.indexed = {entry.key.text: entry for entry in self.entries}
        return self.indexed

    def own(self, name: str) -> Pair | None:
        """Return the last entry of a key; merge keys are not followed."""
        return self.index.get(name)


class Stated(Mapping, kw_only=True):
    """A map that replaces code in another form."""

    absent: Callable[[tuple[str, ...]], Origin]


class Patched(Mapping, kw_only=True):
    """A map changed by an overlay; `patch` is the overlay's part."""

    patch: Span


class Alias(_Node):
    """`*name`: the span of the reference, and its target."""

    name: str
    target: Target

    def __repr__(self) -> str:  # without the target: a bomb would print forever
        return f"Alias({self.name!r})"


Target: TypeAlias = Scalar | Sequence | Mapping
Node: TypeAlias = Target | Alias
