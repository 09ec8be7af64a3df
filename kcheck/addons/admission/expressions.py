"""The condition and the headline of a rule, over the variables of a policy."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcheck.addons.admission.kinds import literal
from kcheck.addons.admission.table import table
from kcheck.addons.admission.words import RESERVED
from kcheck.engine import rule_words
from kcheck.text.syntax import cel
from kcheck.text.units import singular

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kcheck.engine.expression_types import Type
    from kcheck.text.syntax.cel_tree import Node

_REWRITTEN = {
    "template": {"template.workload": "variables"},
    "container": {"container.template.workload": "variables", "container.template": "template"},
    "image": {
        "image.workload": "variables",
        "image.container.template": "template",
        "image.container": "container",
        "image": "container.image",
    },
}
"""Subject -> what stands in a policy for the ways that its rules go: the object is behind the variables."""


def rewritten(text: str, subject: str) -> str:
    """An expression of a rule over the variables of a policy."""
    names = (subject, "limits")
    changes = dict(_REWRITTEN.get(subject, {subject: "variables"}))
    ways = [old for old, new in changes.items() if new == "variables"]
    changes |= {f"{way}.{word}": f"variables.{name}" for way in ways for word, name in RESERVED.items()}
    same = {path: f"variables.{name}" for path, name in table()["same"].items()}
    changes = {**changes, **same, "limits": "variables.kcheck_limits"}
    tree = cel.tree(cel.compile(text, names))
    for at in sorted({node.at for node in _roots(tree, frozenset()) if node.name in names}, reverse=True):
        for old in sorted(changes, key=len, reverse=True):
            if text.startswith(old, at) and not text[at + len(old) : at + len(old) + 1].isidentifier():
                text = text[:at] + changes[old] + text[at + len(old) :]
                break
    return " ".join(text.split())


def _roots(node: Node, bound: frozenset[str]) -> Iterator[Node]:
    """The names at the beginning of what an expression reads, those of its own loops aside."""
    if node.kind == "ident":
        if node.name not in bound:
            yield node
        return
    if node.kind == "loop":
        bound |= {node.name, str(node.value)}
    for part in node.parts:
        yield from _roots(part, bound)


def joined(conditions: list[str]) -> str:
    """Conditions that must all hold, a line each."""
    parts = [part for text in conditions for part in split(text)]
    return " &&\n".join(parts) if len(parts) > 1 else parts[0]


def split(text: str) -> list[str]:
    """The parts of a conjunction, each in brackets where it needs them."""
    masked = cel.masked(text)
    if "||" in masked or "?" in masked:
        return [f"({text})"]
    parts, begin = [], 0
    while (end := masked.find("&&", begin)) >= 0:
        parts.append(text[begin:end].strip())
        begin = end + 2
    return [*parts, text[begin:].strip()]


# --- messages


def message(text: str, subject: str) -> str:
    """A text with holes as an expression that gives it, filled in as kcheck fills it in."""
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
        value = rewritten(part.text, subject)
        value = value if _is_word(value) else f"({value})"
        parts.append(_shown(value, kind, number))
        number = value if kind.kind == "int" else ""
    return " + ".join(parts)


def _is_word(text: str) -> bool:
    return text.replace(".", "").isidentifier()


def _shown(value: str, kind: Type, number: str) -> str:
    """A value as a text; of a noun behind the number 1 the singular."""
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
    """Seconds as people say them."""
    return (
        f'({value} >= 7200 && {value} % 3600 == 0 ? string({value} / 3600) + " h" : '
        f'{value} % 60 == 0 && {value} > 0 ? string({value} / 60) + " min" : string({value}) + " s")'
    )
