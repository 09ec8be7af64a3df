"""The names that an expression may use, each evaluated once, when asked for; circular references are reported."""

from __future__ import annotations

from _thread import get_ident  # threading takes 3 ms to import
from typing import TYPE_CHECKING

from kcheck.terraform.budget import Budget
from kcheck.text.scalars import EvaluationError
from kcheck.text.text import Problem
from kcheck.text.values import Datum, Symbol, Unknown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from kcheck.text.syntax.hcl import nodes
    from kcheck.text.text import Span


class Scope:
    """The names that an expression may use: its module's, and loop variables."""

    def __init__(
        self,
        names: Mapping[str, Datum],
        outer: Scope | None = None,
        place: Span | None = None,
        budget: Budget | None = None,
    ) -> None:
        self.names = names
        self.outer = outer
        self.place: Span | None = place or (outer.place if outer else None)
        """What stands for the code of a skeleton: the call, or the element of `for_each` in the caller."""
        self.unread: str = outer.unread if outer else ""
        """Why nothing follows from what is not set, where that stands for missing code."""
        self.strict: bool = outer.strict if outer else False
        """Whether what Terraform refuses in a part refuses the whole: in what `try` and `can` are given."""
        self.budget: Budget = outer.budget if outer else budget or Budget()

    def lookup(self, name: str) -> Datum | None:
        """The value of a first name, or None."""
        found = self.names.get(name)
        return self.outer.lookup(name) if found is None and self.outer is not None else found

    def with_names(self, place: Span | None = None, /, **names: Datum) -> Scope:
        """An inner scope that adds names."""
        return Scope(names, self, place)

    def strictly(self) -> Scope:
        """The same names, for arguments of `try` and `can`."""
        inner = Scope({}, self)
        inner.strict = True
        return inner

    def special(self, name: str) -> Callable[[nodes.Call, Scope], Datum] | None:
        """A function that needs more than its arguments, such as the files of the module."""
        return None if self.outer is None else self.outer.special(name)

    def report(self, problem: Problem) -> None:
        """Record something that Terraform would refuse."""
        if self.outer is not None:
            self.outer.report(problem)

    def checked(self, value: Datum, name: str, place: Span) -> Datum:
        """The value of something; that it depends on itself is reported."""
        if isinstance(value, Unknown) and value.reason == circular(name):
            self.report(Problem(value.reason, place))
        return value


def circular(name: str) -> str:
    """The message for a circular reference."""
    return f"{name} refers to itself"


class Names:
    """`var`, `local`, `module`, `data`, a resource type: attributes evaluated once, when asked for."""

    def __init__(self, find: Callable[[str], Datum | None], missing: Callable[[str], str]) -> None:
        self._find = find
        self._missing = missing
        self._cache: dict[str, Datum] = {}
        self._running: set[tuple[int, str]] = set()

    def attribute(self, name: str) -> Datum:
        """The value of a name.

        Raises:
            EvaluationError: there is no such name.
        """
        found = self._cache.get(name)
        if found is None:
            running = get_ident(), name  # what another thread evaluates does not refer to itself
            if running in self._running:
                return Unknown(circular(self._missing(name)))
            self._running.add(running)
            try:
                found = self._find(name)
            finally:
                self._running.discard(running)
            if found is None:
                raise EvaluationError(f"there is no {self._missing(name)}")
            self._cache[name] = found
        return found


WORKSPACE = Symbol("terraform", "workspace")


def unchosen_workspace(names: Iterable[str] = ()) -> Unknown:
    """`terraform.workspace` without a value; `names` are those in the code."""
    known = ", ".join(names)
    return Unknown(
        f"terraform.workspace has no value; set --workspace NAME{f' ({known})' if known else ''}", None, WORKSPACE
    )
