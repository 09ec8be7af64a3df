"""HCL before Terraform 0.12: maps as blocks, quoted names and lists."""

import re
from collections.abc import Callable, Iterable, Iterator
from functools import partial

from msgspec.structs import replace

from kcheck.text.regex import regex
from kcheck.text.syntax.hcl import nodes

_TOKEN = regex(
    rb"#[^\n]*+|//[^\n]*+|/\*(?:[^*]|\*(?!/))*\*/|<<-?(\w+)[ \t]*\n(?:(?![ \t]*\1\b)[^\n]*\n)*[ \t]*\1\b"
    rb'|"(?:[^"\\$]|\\.|\$(?!\{)|\$\{(?:[^{}"]|"(?:[^"\\]|\\.)*"|\{[^{}]*+\})*\})*"|[{}]',
    re.DOTALL,
)
_NAME = regex(rb'"[A-Za-z_][\w-]*"')
_NAMED = regex(rb"[A-Za-z_][\w-]*+[ \t]+$")
_QUOTED_LIST = regex(rb'=[ \t]*\[\s*"\$\{[\w.-]+\.\*\.[\w.-]+\}"')
"""A list in a list, which no attribute accepts any more."""
_VERSION = regex(r"(?:~>|<?=)?\s*0\.(?:\d|1[01])(?:\.\d+)*|.*<\s*0\.12(?:\.0)?")
"""Version constraints of Terraform that end before 0.12."""
_MAPS = frozenset({"tags", "vars", "triggers", "labels", "node_labels", "annotations", "match_labels", "variables"})
"""Attributes that were written as blocks."""
_ONLY_OLD = frozenset({"tags", "vars", "triggers"})
"""Names of which no block exists any more, so that a file with one is old."""


def rewrite_old_syntax(data: bytes) -> bytes | None:
    """Rewrite old code in today's syntax at the same offsets; else None."""
    result = bytearray(data)
    opened: list[int] = []
    for token in _TOKEN.finditer(data):
        text = token[0]
        if text == b"{":
            opened.append(token.start())
        elif text == b"}":
            if opened:
                opened.pop()
        elif text.startswith(b'"') and not data[data.rfind(b"\n", 0, token.start()) + 1 : token.start()].strip(b" \t,"):
            after = data[token.end() : token.end() + 200].lstrip(b" \t")
            if after[:1] in (b"{", b"=") and _NAME.fullmatch(text):  # "metadata" {
                result[token.start()] = result[token.end() - 1] = 0x20
            elif (
                after.startswith(b"=") and len(opened) > 1 and _NAMED.search(data, max(0, opened[-1] - 200), opened[-1])
            ):
                result[opened[-1] - 1] = 0x3D  # tags { "a/b" = ... }
    return bytes(result) if result != data else None


def is_old(files: Iterable[nodes.File]) -> bool:
    """Whether files of a folder are for Terraform before 0.12."""
    return any(
        file.old or _QUOTED_LIST.search(file.body.span.source.data) or any(map(_is_old, file.body.blocks))
        for file in files
    )


def _is_old(block: nodes.Block) -> bool:
    match block.type:
        case "terraform":
            return _VERSION.fullmatch(block.body.written("required_version")) is not None
        case "variable":
            return bool(block.body.all("default"))
        case "resource" | "data":
            return any(one.type in _ONLY_OLD for one in block.body.blocks)
    return False


def adapted(file: nodes.File) -> nodes.File:
    """Copy a file with old forms converted: blocks to maps, quoted lists to lists."""
    blocks = [replace(block, body=_adapted(block.body, block.type)) for block in file.body.blocks]
    return replace(file, body=nodes.Body(file.body.span, file.body.attributes, blocks))


def _adapted(body: nodes.Body, of: str = "") -> nodes.Body:
    """Convert the body of a block, or one `of` a block of a file."""
    own = body.attributes.items()
    flat = {name: nodes.Attribute(name, one.span, one.value_span, partial(_flat, one.build)) for name, one in own}
    result = nodes.Body(body.span, flat)
    for block in body.blocks:
        kind, inner = block.type, replace(block, body=_adapted(block.body))
        is_map = kind in _MAPS or of == "module" or (of == "variable" and kind == "default")
        if is_map and not block.labels and kind not in flat:
            flat[kind] = nodes.Attribute(kind, block.span, block.body.span, partial(_object, inner))
        else:
            result.blocks.append(inner)
    return result


def _object(block: nodes.Block) -> nodes.Expression:
    return nodes.Object(block.body.span, tuple(_entries(block)))


def _entries(block: nodes.Block) -> Iterator[tuple[nodes.Expression, nodes.Expression]]:
    for entry in block.body.attributes.values():
        yield nodes.Literal(entry.span, entry.name), entry.expression
    for inner in block.body.blocks:
        if not inner.labels:
            yield nodes.Literal(inner.header, inner.type), _object(inner)


def _flat(build: Callable[[], nodes.Expression]) -> nodes.Expression:
    """Build an expression with quoted lists merged into their lists."""
    expression = build()
    for node in nodes.walk(expression):
        if isinstance(node, nodes.Tuple):
            node.flat = any(isinstance(item, nodes.Template) for item in node.items)
    return expression
