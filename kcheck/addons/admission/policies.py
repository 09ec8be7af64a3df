"""Rules as policies: which can be one, and what the API server takes."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from kcheck.addons.admission import expressions, kinds, table
from kcheck.addons.admission.kinds import literal
from kcheck.addons.admission.words import Variable, Words, route
from kcheck.config.numbers import profiles
from kcheck.text.syntax import cel

if TYPE_CHECKING:
    from kcheck.engine.rule import Rule


class Policy(NamedTuple):
    """A rule as the API server can run it: about which kinds, by which variables, and what it says.

    `parameters` are the names of the values that it takes of the code.
    """

    rule: Rule
    kinds: tuple[str, ...]
    variables: tuple[Variable, ...]
    parameters: tuple[str, ...]
    condition: str
    message: str


class Refusal(NamedTuple):
    """Why a rule is no policy: the words that an object does not tell, or the values that the code has not told yet."""

    rule: Rule
    words: tuple[str, ...] = ()
    parameters: tuple[str, ...] = ()


@cache
def of_rule(rule: Rule, known: frozenset[str] = frozenset(), *, info: bool = False) -> Policy | Refusal:
    """A rule as a policy with the parameters that are known; with `info` also about what is worth knowing only."""
    own_kinds = tuple(kind for kind in table.kinds(rule.subject) if _can_be_about(rule, kind))
    if not own_kinds:
        return Refusal(rule, (rule.subject,))
    words = Words(table.object_subject(rule.subject), own_kinds, known)
    conditions = _conditions(rule, words, info=info)
    texts = [*conditions, *(part.text for part in cel.holes(rule.message) if not isinstance(part, str))]
    limits = [limit for text in texts for limit in _taken_in(words, text, rule.subject)]
    missing = [*words.missing, *(name for name in limits if _limit(name) is None)]
    if missing:
        return Refusal(rule, tuple(missing))
    if not known.issuperset(words.parameters):
        return Refusal(rule, parameters=tuple(name for name in words.parameters if name not in known))
    variables = words.variables()
    if limits:
        variables.insert(0, Variable("kcheck_limits", _limits(limits)))
    condition = expressions.joined([expressions.rewritten(text, rule.subject) for text in conditions])
    found = expressions.message(rule.message, rule.subject)
    return Policy(rule, own_kinds, tuple(variables), tuple(words.parameters), condition, found)


def _conditions(rule: Rule, words: Words, *, info: bool) -> list[str]:
    """What must hold for a finding that is not hidden."""
    conditions = [rule.when, rule.problem]
    grade = rule.grade
    if grade is not None:
        least = grade.recommended or grade.wall
        large = f"({grade.of}) > {least}" if not grade.of.replace(".", "").isidentifier() else f"{grade.of} > {least}"
        silent = f"{large} || !({grade.silent})" if grade.silent else ""
        conditions.append(silent if info else large)
    for cap in rule.at_most:
        if cap.severity == "info" and not info:
            tried = words.fresh()
            _taken_in(tried, cap.where, rule.subject)  # what is not known lowers nothing
            if not tried.missing:
                conditions.append(f"!({cap.where})")
    return [text for text in conditions if text]


def _taken_in(words: Words, text: str, subject: str) -> list[str]:
    """Have an expression's words, and give the limits that it uses."""
    paths = sorted(cel.usage(cel.compile(text, (subject, "limits"))).paths)
    for path in paths:
        if not path.startswith("limits."):
            words.want(route(subject, path))
    return [path for path in paths if path.startswith("limits.") and profiles.entries(path)]


def _limit(path: str) -> int | float | str | bool | None:
    """The value of a limit that holds on every cloud; None if there is none."""
    entry = profiles.limits("any").get(path.removeprefix("limits."))
    return entry.value if entry is not None else None


def _limits(paths: list[str]) -> str:
    """The limits that a policy uses, as a map of maps."""
    groups: dict[str, dict[str, str]] = {}
    for path in dict.fromkeys(paths):
        _, group, name = path.split(".")
        groups.setdefault(group, {})[name] = f"dyn({literal(_limit(path))})"
    return kinds.members({group: kinds.members(found) for group, found in groups.items()})


def _can_be_about(rule: Rule, kind: str) -> bool:
    """Whether the condition can hold for an object of a kind, as far as the kind alone says."""
    own = table.object_subject(rule.subject)
    names = (rule.subject, "limits")
    data: dict[str, object] = dict(table.facts(kind)) if own == "workload" else {"kind": kind.rpartition("/")[2]}
    for name in _WAYS.get(rule.subject, ()):
        data = {name: data}
    activation = cel.activation({rule.subject: data}, names)
    parts = [part for text in (rule.when, rule.problem) if text for part in expressions.split(text)]
    compiled = [cel.compile(part, names) for part in parts]
    return not any(cel.condition(one, activation) is False for one in compiled if not cel.usage(one).presence)


_WAYS = {"template": ("workload",), "container": ("workload", "template"), "image": ("workload",)}
"""Subject -> the words by which it has the object, the last one first."""
