"""Parse Terraform's JSON (`.tf.json`) into the tree of HCL."""

from collections.abc import Iterator
from functools import partial

from kcheck.text.syntax import json
from kcheck.text.syntax.hcl import nodes
from kcheck.text.syntax.hcl.parse import parse_expression, parse_template
from kcheck.text.text import Problem, Source, Span

_LABELS = {"resource": 2, "data": 2, "ephemeral": 2, "variable": 1, "module": 1, "output": 1, "provider": 1, "check": 1}
_COMMENT = "//"


def parse(source: Source) -> nodes.File:
    """Parse a `.tf.json` file. Never raises: what cannot be read becomes a problem."""
    whole = source.span(0, len(source.data))
    body = nodes.Body(whole)
    root = json.parse(source)
    if isinstance(root, Problem):
        return nodes.File(body, (root,))
    tops = root.value if isinstance(root.value, list) else [root]
    for top in tops:
        if not isinstance(top.value, dict):
            return nodes.File(body, (Problem("Terraform's JSON is an object", top.span),))
        for kind, member in top.value.items():
            if kind != _COMMENT:
                body.blocks += _blocks(kind, (), member, _LABELS.get(kind, 0))
    return nodes.File(body, ())


def _blocks(kind: str, labels: tuple[str, ...], member: json.Member, missing: int) -> Iterator[nodes.Block]:
    """Yield the blocks of a type, one nested object for each label."""
    node = member.value
    for item in node.value if isinstance(node.value, list) else [node]:
        if not isinstance(item.value, dict):
            continue
        if missing:
            for label, inner in item.value.items():
                if label != _COMMENT:
                    yield from _blocks(kind, (*labels, label), inner, missing - 1)
        else:
            yield nodes.Block(kind, labels, _body(item, kind), item.span, member.key)


def _body(node: json.Node, kind: str) -> nodes.Body:
    """Make the body of a block; nested objects are attributes."""
    body = nodes.Body(node.span)
    for name, member in node.value.items() if isinstance(node.value, dict) else ():
        if name == "dynamic":
            body.blocks += _dynamic(member)
        elif name != _COMMENT:
            build = partial(_raw if (kind, name) in _RAW else expression, member.value)
            span = member.key.source.span(member.key.start, member.value.span.end)
            body.attributes[name] = nodes.Attribute(name, span, member.value.span, build)
    return body


def _dynamic(member: json.Member) -> Iterator[nodes.Block]:
    for label, inner in member.value.value.items() if isinstance(member.value.value, dict) else ():
        for item in inner.value.value if isinstance(inner.value.value, list) else [inner.value]:
            if isinstance(item.value, dict):
                body = _body(item, "dynamic")
                content = body.attributes.pop("content", None)
                if content is not None:
                    body.blocks += _blocks("content", (), item.value["content"], 0)
                yield nodes.Block("dynamic", (label,), body, item.span, inner.key)


_RAW = {("variable", "type")}
"""Texts that are expressions, not templates."""


def _raw(node: json.Node) -> nodes.Expression:
    if not isinstance(node.value, str):
        return nodes.Invalid(node.span, "a text is needed")
    return parse_expression(node.value, node.span)


def expression(node: json.Node) -> nodes.Expression:
    """Convert a value to an expression."""
    value = node.value
    if isinstance(value, dict):
        entries = ((nodes.Literal(m.key, key), expression(m.value)) for key, m in value.items() if key != _COMMENT)
        return nodes.Object(node.span, tuple(entries))
    if isinstance(value, list):
        return nodes.Tuple(node.span, tuple(map(expression, value)))
    if not isinstance(value, str) or ("${" not in value and "%{" not in value):
        return nodes.Literal(node.span, value)
    raw = node.span.source.span(node.span.start + 1, node.span.end - 1)
    # escapes move what is behind them: all of it then stands where the text begins
    template = parse_template(raw if raw.text == value else _aside(value, node))
    if isinstance(template, Problem):
        return nodes.Invalid(node.span, template.message)
    return nodes.Template(node.span, template.parts, quoted=True)


def _aside(value: str, node: json.Node) -> Span:
    """Put the text of a string into a new source, on the same line."""
    begin = "\n" * (node.span.begin.line - 1)
    source = Source(node.span.source.path, (begin + value).encode(), derived=True)
    return source.span(len(begin), len(source.data))
