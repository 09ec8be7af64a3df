"""Hover texts for values, settings keys and rule names."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from kcheck.addons.editor.described import Subject, described, knows
from kcheck.addons.editor.facts import facts_of
from kcheck.addons.editor.object_links import steps_to
from kcheck.addons.editor.values_at import MOST, NOT_MADE, UNVALUED, Evaluated, code_of, name_span
from kcheck.config import schemas
from kcheck.config.locations import NAME
from kcheck.engine.suppressions import COMMENT, IGNORE
from kcheck.report.escape import markdown, markdown_link
from kcheck.report.limit import names as limits
from kcheck.report.places import by_name
from kcheck.report.rule import severity, url
from kcheck.text.files.tree import MANIFESTS
from kcheck.text.findings import last_key
from kcheck.text.regex import regex
from kcheck.text.syntax import yaml
from kcheck.text.syntax.hcl import nodes
from kcheck.text.units import counted
from kcheck.text.values import Known, Origin

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from kcheck.addons.editor.object_links import YamlPlace
    from kcheck.addons.editor.snapshot import Snapshot
    from kcheck.addons.editor.values_at import Place
    from kcheck.config.schemas import Schema
    from kcheck.terraform.module import Module
    from kcheck.text.text import Source, Span

_BRACKETS = (b"{", b"}", b"[", b"]")
_LONG_TITLE = 60
_LONG_DESCRIPTION = 240


class Hover(NamedTuple):
    """Markdown about a span."""

    text: str
    span: Span


def hover(snapshot: Snapshot, source: Source, offset: int) -> Hover | None:
    """Return what kcheck knows about the value, rule or setting at an offset."""
    found = _comment(source, offset, snapshot) or _of_settings(source, offset, snapshot)
    if found is not None:
        return Hover(*found)
    if source.data[offset : offset + 1].isspace():
        return None
    place = code_of(snapshot).place(source, offset)
    subject = (
        _of_terraform(snapshot, source, place, offset) if place is not None else _of_yaml(snapshot, source, offset)
    )
    text = described(subject, snapshot) if subject is not None else ""
    if subject is None or not text:
        return None
    start, end = subject.span.start, subject.span.end  # of a name asked about at its `=`, both
    return Hover(text, source.span(min(start, offset), max(end, offset + 1)))


# --- Terraform


def _of_terraform(snapshot: Snapshot, source: Source, place: Place, offset: int) -> Subject | None:
    attribute = place.attribute
    if attribute is None:
        return _declared(snapshot, source, place)
    if attribute.name in UNVALUED and place.top is not None and place.top.type != "locals":
        return None
    found = _used(snapshot, source, place, offset) if place.path else _assigned(snapshot, source, place)
    if found is None:
        return None
    if code_of(snapshot).is_left_out(place, source):
        return found._replace(note=f"{found.note}; {NOT_MADE}".removeprefix("; "))
    if found.values:
        return found
    known_of = [fact for span in found.spans for fact in facts_of(snapshot).fields(span)]  # as in Terragrunt's units
    return found._replace(values=[Evaluated("", fact.value, None) for fact in known_of[:1]])


def _declared(snapshot: Snapshot, source: Source, place: Place) -> Subject | None:
    """Describe a block at its header: its value, or its role in the model."""
    own = place.blocks[-1]
    code = code_of(snapshot)
    if len(place.blocks) == 1 and own.type in ("variable", "output") and own.labels:
        return _named(snapshot, source, own, own.header)
    if own.type not in ("resource", "data", "module"):
        return None
    modules = code.modules_of(source) if len(place.blocks) == 1 else []
    copies = [one for module in modules for one in code.instances(module, own)]
    many = f"{counted(len(copies), 'copy', 'copies')} by count or for_each" if len(copies) > 1 else ""
    title = ".".join((*(() if own.type == "resource" else (own.type,)), *own.labels))
    found = Subject(title, own.header, (), (), many)
    return found if many or described(found, snapshot) else None


def _named(snapshot: Snapshot, source: Source, own: nodes.Block, span: Span) -> Subject:
    name, values = own.labels[0], []
    for module in code_of(snapshot).modules_of(source)[:MOST]:
        value = module.variable(name) if own.type == "variable" else module.output(name)
        if value is not None:
            values.append(Evaluated(module.address or module.environment, value, module))
    title = f"{'var' if own.type == 'variable' else 'output'}.{name}"
    return Subject(title, span, values, _written(values), _description(own))


def _assigned(snapshot: Snapshot, source: Source, place: Place) -> Subject | None:
    attribute = place.attribute
    if attribute is None:
        return None
    code = code_of(snapshot)
    span, top = name_span(attribute), place.top
    if top is None:  # of a tfvars file
        values = [
            Evaluated(root.environment, value, root)
            for root in code.roots_of(source)
            if (value := root.variable(attribute.name)) is not None
        ]
        note = _described(attribute.name, code.roots_of(source)) or ("" if values else _unused(snapshot, source))
        return Subject(f"var.{attribute.name}", span, values, (attribute.value_span,), note)
    if top.type == "variable" and attribute.name == "default" and top.labels:
        return _named(snapshot, source, top, span)
    if isinstance(attribute.expression, nodes.Literal):
        return _literal(snapshot, source, place._replace(path=(attribute.expression,)), span)
    title = f"local.{attribute.name}" if top.type == "locals" else attribute.name
    return Subject(title, span, code.values(place, source), (attribute.value_span,))


def _unused(snapshot: Snapshot, source: Source) -> str:
    if code_of(snapshot).roots_of(source):
        return "no root module declares it"
    return f"no root module reads this file; --var-file {source.path} does"


def _used(snapshot: Snapshot, source: Source, place: Place, offset: int) -> Subject | None:
    """Describe an expression; None between the items of a list or map."""
    if isinstance(place.path[-1], nodes.Object | nodes.Tuple) and source.data[offset : offset + 1] not in _BRACKETS:
        return None
    keyed = _of_key(place)
    if keyed is not None:
        value = keyed.path[-1]
        if isinstance(value, nodes.Literal):
            return _literal(snapshot, source, keyed, place.path[-1].span)
        title = _key_of(value, keyed)
        return Subject(title, place.path[-1].span, code_of(snapshot).values(keyed, source), (value.span,))
    chosen = chosen_expression(place)
    at = place.upto(chosen)
    if isinstance(chosen, nodes.Literal):
        return _literal(snapshot, source, at, chosen.span)
    values = code_of(snapshot).values(at, source)
    return Subject(_title(chosen, at), chosen.span, values, (chosen.span,), _note_of(chosen, values))


def _of_key(place: Place) -> Place | None:
    """Return the place of the value if the place is a key of a map, else None."""
    outer, last = place.path[-2] if len(place.path) > 1 else None, place.path[-1]
    entries = outer.entries if isinstance(outer, nodes.Object) and isinstance(last, nodes.Literal) else ()
    return next((place._replace(path=(*place.path[:-1], value)) for key, value in entries if key is last), None)


def _title(expression: nodes.Expression, place: Place) -> str:
    text = " ".join(expression.span.text.split())
    if len(text) <= _LONG_TITLE and not isinstance(expression, nodes.Object | nodes.Tuple):
        return text
    return _key_of(expression, place)


def _key_of(expression: nodes.Expression, place: Place) -> str:
    """Return the key or attribute whose value an expression is."""
    return last_key(expression.span.keys) or (place.attribute.name if place.attribute is not None else "value")


def _literal(snapshot: Snapshot, source: Source, place: Place, span: Span) -> Subject | None:
    """Describe a literal, only if kcheck knows more than its text."""
    literal, top, attribute = place.path[-1], place.top, place.attribute
    whole = attribute if attribute is not None and literal is attribute.expression else None
    is_default = whole is not None and top is not None and (top.type, whole.name) == ("variable", "default")
    if not isinstance(literal, nodes.Literal):
        return None
    if (top is None and whole is not None) or is_default:
        own = _assigned(snapshot, source, place._replace(path=()))
        return own._replace(span=span) if own is not None else None
    value = Evaluated("", Known(literal.value, Origin((literal.span,))), None)
    found = Subject(_key_of(literal, place), span, [value], tuple(_around(place)))
    return found if knows(found, snapshot) else None


def _around(place: Place) -> Iterator[Span]:
    """Yield the spans of an expression and of the lists directly around it."""
    yield place.path[-1].span
    for expression in reversed(place.path[:-1]):
        if not isinstance(expression, nodes.Tuple | nodes.Template):
            return
        yield expression.span


def chosen_expression(place: Place) -> nodes.Expression:
    """Return the whole reference at a place: `var.x` for a cursor on `var`."""
    path = place.path
    while len(path) > 1 and isinstance(path[-1], nodes.TemplateIf | nodes.TemplateFor | nodes.Element):
        path = path[:-1]  # parts that have no value of their own
    if not isinstance(path[-1], nodes.Variable):
        return path[-1]
    name = path[-1].name
    loops = (one for one in path if isinstance(one, nodes.For | nodes.TemplateFor))
    steps = 0 if any(name in (loop.key, loop.name) for loop in loops) else 2 if name == "data" else 1
    at = len(path) - 1
    while steps and at and isinstance(outer := path[at - 1], nodes.GetAttr) and outer.target is path[at]:
        at -= 1
        steps -= 1
    return path[at]


def _note_of(expression: nodes.Expression, values: Sequence[Evaluated]) -> str:
    if not isinstance(expression, nodes.GetAttr) or expression.target.span.text != "var":
        return ""
    return _described(expression.name, (one.module for one in values if one.module is not None))


def _described(name: str, modules: Iterable[Module]) -> str:
    """Return the description of a variable in the first module that has it."""
    found = (module.configuration.variables.get(name) for module in modules)
    return next((_description(one) for one in found if one is not None), "")


def _description(block: nodes.Block) -> str:
    entry = block.body.attributes.get("description")
    expression = entry.expression if entry is not None else None
    return " ".join(str(expression.value).split())[:_LONG_DESCRIPTION] if isinstance(expression, nodes.Literal) else ""


def _written(values: Iterable[Evaluated]) -> tuple[Span, ...]:
    """Return where values are written that the code only passes on."""
    origins = (one.value.origin for one in values)
    return tuple(dict.fromkeys(origin.written for origin in origins if origin is not None and origin.spans))


_RULES = frozenset({"select", "ignore", "not_ignorable", "per_path_ignores", "severity", "rule"})
"""Keys whose values or keys name rules."""


def _of_settings(source: Source, offset: int, snapshot: Snapshot) -> tuple[str, Span] | None:
    """Return Markdown and place of a key or rule in kcheck.yaml."""
    found = steps_to(source, offset) if os.path.basename(source.path) == NAME else None
    if found is None or found.scalar is None:
        return None
    names = found.keys
    text = "" if _RULES.isdisjoint(names) else _of_rule(found.scalar.text, snapshot)
    if text or not found.on_key:
        return (text, found.scalar.span) if text else None
    if names[:1] == ("limits",) and len(names) == 2:
        entry = limits().get(f"limits.{names[1]}")
        said = f"documented: {entry.value} {entry.unit}" if entry is not None else ""
        return (f"**{markdown(names[1])}**: {markdown(said)}", found.scalar.span) if said else None
    wanted = schemas.below("settings", found.steps)
    if wanted is None or "description" not in wanted:
        return None
    return f"**{markdown('.'.join(names))}**: {markdown(wanted['description'])}{_values(wanted)}", found.scalar.span


def _values(wanted: Schema) -> str:
    if "enum" in wanted:
        return f"\n\nOne of {markdown(', '.join(map(str, wanted['enum'])))}."
    least, most = wanted.get("minimum"), wanted.get("maximum")
    kind = schemas.ARTICLES.get(str(wanted.get("type")), "")
    bounds = f" from {least:,} to {most:,}" if isinstance(least, int) and isinstance(most, int) else ""
    return f"\n\n{kind[0].upper()}{kind[1:]}{bounds}." if kind else ""


def _of_yaml(snapshot: Snapshot, source: Source, offset: int) -> Subject | None:
    """Describe the value at an offset, if kcheck knows more than its text."""
    place = steps_to(source, offset) if source.path.endswith(MANIFESTS) else None
    subject = _written_yaml(place) if place is not None else _filled_in(snapshot, source, offset)
    if subject is None:
        return None
    is_alias = place is not None and isinstance(place.nodes[-1], yaml.Alias) and bool(subject.values)
    return subject if is_alias or knows(subject, snapshot) else None


def _written_yaml(place: YamlPlace) -> Subject:
    value = place.value
    here = place.nodes[-1] if place.scalar is None else place.scalar
    title = last_key(tuple(f"[{step}]" if isinstance(step, int) else step for step in place.steps)) or "value"
    spans = tuple(dict.fromkeys(_spans(place)))
    if not isinstance(value, yaml.Scalar):
        return Subject(title, here.span, [], spans)
    plain = yaml.value(value)
    known = Known(value.text if isinstance(plain, float) else plain, Origin((value.span,)))
    return Subject(title, here.span, [Evaluated("", known, None)], spans)


def _spans(place: YamlPlace) -> Iterator[Span]:
    """Yield the spans of the value and, for an item, of the lists around it."""
    value = place.value
    yield value.span
    if place.on_key and place.scalar is not None:
        yield place.scalar.span
    for node in reversed(place.nodes[:-1]):
        if place.on_key or not isinstance(node, yaml.Sequence):
            return
        yield node.span


def _filled_in(snapshot: Snapshot, source: Source, offset: int) -> Subject | None:
    """Describe a value in a template, found only by the model's fields written there."""
    facts = facts_of(snapshot)
    line = source.line_start(offset), source.line_end(offset)
    span = next((one for one in facts.around(source, offset) if line[0] <= one.start and one.end <= line[1]), None)
    if span is None:
        return None
    found = facts.fields(span)
    return Subject(found[0].field.name, span, [Evaluated("", found[0].value, None)], (span,))


_RULE_NAME = regex(rb"[^,\s]+")
_ANNOTATION = regex(rb"[\"']?" + IGNORE.replace(".", "\\.").encode() + rb"[\"']?[ \t]*:[ \t]*[\"']?([^:\n\r\"']*)")


def _comment(source: Source, offset: int, snapshot: Snapshot) -> tuple[str, Span] | None:
    """Return Markdown and place of the rule that a comment names at an offset."""
    span = next((one for one in _rule_names(source, offset) if one.start <= offset < one.end), None)
    text = _of_rule(span.text, snapshot) if span is not None else ""
    return (text, span) if span is not None and text else None


def _rule_names(source: Source, offset: int) -> Iterator[Span]:
    start = source.line_start(offset) if source.data else 0
    line = source.data[start : source.line_end(offset)]
    for pattern in (COMMENT, _ANNOTATION):
        for found in pattern.finditer(line):
            for name in _RULE_NAME.finditer(found[1]):
                begin = start + found.start(1)
                yield source.span(begin + name.start(), begin + name.end())


def _of_rule(name: str, snapshot: Snapshot) -> str:
    every = by_name(snapshot.world)
    rule = every.get(name)
    if rule is not None:
        page = url(rule)
        more = f"\n\n{markdown_link('What it checks, and why', page)}" if page else ""
        return f"**{markdown(rule.name)}** ({markdown(severity(rule))}): {markdown(rule.summary)}.{more}"
    own = [one for one in every.values() if one.group == name]
    rows = [f"- {markdown_link(one.name, url(one))}: {markdown(one.summary)}" for one in own[:_MOST_RULES]]
    rows += [f"- and {len(own) - _MOST_RULES} more"] if len(own) > _MOST_RULES else []
    return "\n".join([f"**{markdown(name)}**: {counted(len(own), 'rule')}", "", *rows]) if own else ""


_MOST_RULES = 12
