"""Names available to expressions, evaluated once and lazily."""

from __future__ import annotations

from _thread import get_ident  # threading takes 3 ms to import
from collections.abc import Callable, Iterable, Mapping

from kcheck.terraform.budget import Budget
from kcheck.text.scalars import UncaughtError
from kcheck.text.syntax.hcl import nodes
from kcheck.text.text import Problem, Span
from kcheck.text.values import Datum, Symbol, Unknown


class Scope:
    """Names available to an expression: those of its module, and loop variables."""

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
        """Place in the caller that stands for skeleton code: the call, or an element of its `for_each`."""
        self.unread: str = outer.unread if outer else ""
        """For a stand-in of missing code: why unset attributes are unknown."""
        self.strict: bool = outer.strict if outer else False
        """Whether an error in a part fails the whole, as in arguments of `try` and `can`."""
        self.budget: Budget = outer.budget if outer else budget or Budget()

    def lookup(self, name: str) -> Datum | None:
        """Return the value of a top-level name; None if there is none."""
        found = self.names.get(name)
        return self.outer.lookup(name) if found is None and self.outer is not None else found

    def with_names(self, place: Span | None = None, /, **names: Datum) -> Scope:
        """Make an inner scope with more names."""
        return Scope(names, self, place)

    def strictly(self) -> Scope:
        """Make a strict inner scope, for arguments of `try` and `can`."""
        inner = Scope({}, self)
        inner.strict = True
        return inner

    def special(self, name: str) -> Callable[[nodes.Call, Scope], Datum] | None:
        """Find a function that needs more than its arguments, such as the module's files."""
        return None if self.outer is None else self.outer.special(name)

    def report(self, problem: Problem) -> None:
        """Record a problem that Terraform would refuse."""
        if self.outer is not None:
            self.outer.report(problem)

    def checked(self, value: Datum, name: str, place: Span) -> Datum:
        """Return a value, reporting it if it refers to itself."""
        if isinstance(value, Unknown) and value.reason == circular(name):
            self.report(Problem(value.reason, place))
        return value


def circular(name: str) -> str:
    """Return the message for a circular reference."""
    return f"{name} refers to itself"


class Names:
    """Names of one kind, such as `var` or `local`, evaluated once."""

    def __init__(self, find: Callable[[str], Datum | None], prefix: str) -> None:
        self._find = find
        self.prefix = prefix
        self._cache: dict[str, Datum] = {}
        self._running: set[tuple[int, str]] = set()

    def attribute(self, name: str) -> Datum:
        """Evaluate a name, once. Raises UncaughtError if there is no such name."""
        found = self._cache.get(name)
        if found is None:
            running = get_ident(), name  # what another thread evaluates does not refer to itself
            if running in self._running:
                return Unknown(circular(f"{self.prefix}.{name}"))
            self._running.add(running)
            try:
                found = self._find(name)
            finally:
                self._running.discard(running)
            if found is None:
                raise UncaughtError(f"there is no {self.prefix}.{name}")
            self._cache[name] = found
        return found


WORKSPACE = Symbol("terraform", "workspace")


def unchosen_workspace(names: Iterable[str] = ()) -> Unknown:
    """Return the unknown `terraform.workspace`, one of `names`."""
    known = ", ".join(names)
    return Unknown(
        f"terraform.workspace has no value; set --workspace NAME{f' ({known})' if known else ''}", None, WORKSPACE
    )
