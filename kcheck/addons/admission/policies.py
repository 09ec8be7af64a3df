"""Conversion of rules to policies: eligibility, condition and message."""

from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

from kcheck.addons.admission import kinds, table
from kcheck.addons.admission.kinds import literal
from kcheck.addons.admission.words import RESERVED, Variable, Words, route
from kcheck.config.numbers import profiles
from kcheck.engine import rule_words
from kcheck.engine.expression_types import Type
from kcheck.engine.rule import Rule
from kcheck.engine.rule_variables import bodies
from kcheck.text.syntax import cel
from kcheck.text.syntax.cel_tree import Node
from kcheck.text.units import singular


class Policy(NamedTuple):
    """A rule as the API server runs it, with the parameters it needs."""

    rule: Rule
    kinds: tuple[str, ...]
    variables: tuple[Variable, ...]
    parameters: tuple[str, ...]
    condition: str
    message: str


class Refusal(NamedTuple):
    """A rule that cannot be a policy, with the reason."""

    rule: Rule
    words: tuple[str, ...] = ()
    parameters: tuple[str, ...] = ()


@cache
def of_rule(rule: Rule, known: frozenset[str] = frozenset(), *, info: bool = False) -> Policy | Refusal:
    """Convert a rule to a policy; `info` includes findings of that severity."""
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
    condition = " &&\n".join(part for text in conditions for part in _split(_rewritten(text, rule.subject)))
    message = _message(rule.message, rule.subject)
    for own in _own_variables(rule, {one.name for one in variables}):
        body, name = own.expression, f"variables.{own.name}"
        if body in condition or body in message:
            condition, message = condition.replace(body, name), message.replace(body, name)
            variables.append(own)
    return Policy(rule, own_kinds, tuple(variables), tuple(words.parameters), condition, message)


def _own_variables(rule: Rule, taken: set[str]) -> list[Variable]:
    """Return the rule's own variables; those of its parts stay inline.

    The last ones come first, with the earlier ones inlined.
    """
    if rule.subject in table.PARTS:
        return []
    found = bodies(rule.as_written.variables)
    return [
        Variable(name, _rewritten(found[name], rule.subject))
        for name in reversed(found)
        if name not in taken and not found[name].replace(".", "").isidentifier()
    ]


def _conditions(rule: Rule, words: Words, *, info: bool) -> list[str]:
    conditions = [rule.when, rule.problem]
    grade = rule.grade
    if grade is not None:
        least = grade.recommended or grade.wall
        large = f"({grade.of}) > {least}" if not grade.of.replace(".", "").isidentifier() else f"{grade.of} > {least}"
        silent = f"{large} || !({grade.silent})" if grade.silent else ""
        conditions.append(silent if info else large)
    for cap in rule.at_most:
        if cap.severity == "info" and not info:
            tried = Words(words.subject, words.kinds, words.known)
            _taken_in(tried, cap.where, rule.subject)  # what is not known lowers nothing
            if not tried.missing:
                conditions.append(f"!({cap.where})")
    return [text for text in conditions if text]


def _taken_in(words: Words, text: str, subject: str) -> list[str]:
    """Add the words of an expression to `words`, and return the limits that it uses."""
    paths = sorted(cel.compile(text, (subject, "limits")).used.paths)
    for path in paths:
        if not path.startswith("limits."):
            words.want(route(subject, path))
    return [path for path in paths if path.startswith("limits.") and profiles.entries(path)]


def _limit(path: str) -> int | float | str | bool | None:
    """Return a limit that holds on every cloud; None if there is none."""
    entry = profiles.limits("any").get(path.removeprefix("limits."))
    return entry.value if entry is not None else None


def _limits(paths: list[str]) -> str:
    groups: dict[str, dict[str, str]] = {}
    for path in dict.fromkeys(paths):
        _, group, name = path.split(".")
        groups.setdefault(group, {})[name] = f"dyn({literal(_limit(path))})"
    return kinds.members({group: kinds.members(found) for group, found in groups.items()})


def _can_be_about(rule: Rule, kind: str) -> bool:
    """Whether an object of this kind can meet the condition."""
    own = table.object_subject(rule.subject)
    names = (rule.subject, "limits")
    data: dict[str, object] = dict(table.facts(kind)) if own == "workload" else {"kind": kind.rpartition("/")[2]}
    for name in _WAYS.get(rule.subject, ()):
        data = {name: data}
    activation = cel.activation({rule.subject: data}, names)
    parts = [part for text in (rule.when, rule.problem) if text for part in _split(text)]
    compiled = [cel.compile(part, names) for part in parts]
    return not any(cel.condition(one, activation) is False for one in compiled if not one.used.presence)


_WAYS = {"template": ("workload",), "container": ("workload", "template"), "image": ("workload",)}
"""Words that lead from a subject to the object, the last one first."""
_REWRITTEN = {
    "template": {"template.workload": "variables"},
    "container": {"container.template.workload": "variables", "container.template": "template"},
    "image": {
        "image.workload": "variables", "image.container.template": "template", "image.container": "container",
        "image": "container.image",
    },
}  # fmt: skip
"""Replacements for paths of rules, by subject; the object's words are in `variables`."""


def _rewritten(text: str, subject: str) -> str:
    names = (subject, "limits")
    changes = dict(_REWRITTEN.get(subject, {subject: "variables"}))
    ways = [old for old, new in changes.items() if new == "variables"]
    changes |= {f"{way}.{word}": f"variables.{name}" for way in ways for word, name in RESERVED.items()}
    same = {path: f"variables.{name}" for path, name in table.table()["same"].items()}
    changes = {**changes, **same, "limits": "variables.kcheck_limits"}
    tree = cel.compile(text, names).tree
    for at in sorted({node.at for node in _roots(tree, frozenset()) if node.name in names}, reverse=True):
        for old in sorted(changes, key=len, reverse=True):
            if text.startswith(old, at) and not text[at + len(old) : at + len(old) + 1].isidentifier():
                text = text[:at] + changes[old] + text[at + len(old) :]
                break
    return " ".join(text.split())


def _roots(node: Node, bound: frozenset[str]) -> Iterator[Node]:
    """Yield the free names at the start of paths, without loop variables."""
    if node.kind == "ident":
        if node.name not in bound:
            yield node
        return
    if node.kind == "loop":
        bound |= {node.name, str(node.value)}
    for part in node.parts:
        yield from _roots(part, bound)


def _split(text: str) -> list[str]:
    """Split a conjunction; an expression with || or ? stays whole, in brackets."""
    masked = cel.masked(text)
    if "||" in masked or "?" in masked:
        return [f"({text})"]
    parts, begin = [], 0
    while (end := masked.find("&&", begin)) >= 0:
        parts.append(text[begin:end].strip())
        begin = end + 2
    return [*parts, text[begin:].strip()]


def _message(text: str, subject: str) -> str:
    """Convert a message with holes to an expression that formats it as kcheck does."""
    parts: list[str] = []
    number = ""
    for part in cel.holes(text):
        if isinstance(part, str):
            one = singular(part)
            parts.append(
                f"({number} == 1 ? {literal(one)} : {literal(part)})" if number and one != part else literal(part)
            )
            number = number if part == " " else ""
            continue
        kind = rule_words.result_type(part.text, subject)
        value = _rewritten(part.text, subject)
        value = value if value.replace(".", "").isidentifier() else f"({value})"
        parts.append(_shown(value, kind, number))
        number = value if kind.kind == "int" else ""
    return " + ".join(parts)


def _shown(value: str, kind: Type, number: str) -> str:
    """Format a value as text; a noun after the number 1 becomes singular."""
    if kind.kind == "int" and "seconds" in kind.unit:
        text = _time(value)
    elif kind.kind == "int":
        rest = f"string(1000 + {value} % 1000).substring(1)"
        text = f'({value} < 1000 ? string({value}) : string({value} / 1000) + "," + {rest})'
    elif kind.kind == "list":
        text = f'{value}.join(", ")'
    elif number:
        text = f"({number} == 1 ? {value}.substring(0, size({value}) - 1) : {value})"
    else:
        text = value if kind.kind == "string" else f"string({value})"
    return f'({value} == null ? "not set" : {text})' if kind.nullable else text


def _time(value: str) -> str:
    return (
        f'({value} >= 7200 && {value} % 3600 == 0 ? string({value} / 3600) + " h" : '
        f'{value} % 60 == 0 && {value} > 0 ? string({value} / 60) + " min" : string({value}) + " s")'
    )
