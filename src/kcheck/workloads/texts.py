"""YAML in texts of manifests, such as the configurations that a ConfigMap holds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcheck.syntax import yaml
from kcheck.values import Piece, pieces_of

if TYPE_CHECKING:
    from collections.abc import Iterator


def inner(node: yaml.Scalar) -> yaml.Target | None:
    """The YAML in a text of a manifest, each part with its own place where the text is a block."""
    from kcheck.terraform import texts  # not before a text needs it

    if isinstance(node, yaml.Given):
        pieces = pieces_of(node.datum) or (Piece(node.text, node.span),)
    else:
        pieces = tuple(_lines(node)) if node.style == "literal" else ()
        if "".join(piece.text for piece in pieces) != node.text:
            pieces = (Piece(node.text, node.span),)
    return next(texts.documents(pieces), None)


def _lines(node: yaml.Scalar) -> Iterator[Piece]:
    """The lines of a block, without their indentation."""
    source = node.source
    numbers = range(source.line_number(node.start) + 1, source.line_number(max(node.start, node.end - 1)) + 1)
    lines = [source.line(number) for number in numbers]
    indent = min((len(line) - len(line.lstrip(" ")) for line in lines if line.strip()), default=0)
    for number, line in zip(numbers, lines, strict=True):
        start = source.line_starts[number - 1]
        cut = min(indent, len(line))
        yield Piece(f"{line[cut:]}\n", source.span(start + cut, start + len(line.encode()) + 1))
