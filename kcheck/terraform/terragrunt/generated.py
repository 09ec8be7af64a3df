"""Provider blocks that Terragrunt writes beside the module of a unit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcheck.terraform.evaluator import evaluate
from kcheck.text.syntax.hcl import nodes, parse
from kcheck.text.text import Source
from kcheck.text.values import Datum, Known

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kcheck.terraform.terragrunt.config import Config

_MOST_BYTES = 100_000
"""Of a file that is written: one with providers is short."""


def provide(config: Config, name: str, call: nodes.Block, providers: list[nodes.Block]) -> None:
    """Add the providers of a unit to those of its root module, by aliases of its own that its call passes on."""
    entries: list[tuple[nodes.Expression, nodes.Expression]] = []
    for block in _blocks(config):
        written, kind, place = block.body.attributes.get("alias"), "".join(block.labels[:1]), block.header
        expression = written.expression if written is not None else None
        own = f".{expression.value}" if isinstance(expression, nodes.Literal) else ""
        alias = argument("alias", nodes.Literal(place, f"{name}{own}"))
        body = nodes.Body(block.body.span, block.body.attributes | {"alias": alias}, block.body.blocks)
        providers.append(nodes.Block("provider", block.labels, body, block.span, place))
        entries.append((nodes.Literal(place, f"{kind}{own}"), nodes.Literal(place, f"{kind}.{name}{own}")))
    if entries:
        call.body.attributes["providers"] = argument("providers", nodes.Object(call.header, tuple(entries)))


def argument(name: str, value: nodes.Expression) -> nodes.Attribute:
    """An attribute that is not written as such."""
    return nodes.Attribute(name, value.span, value.span, lambda: value)


def _blocks(config: Config) -> Iterator[nodes.Block]:
    """The provider blocks in the files that a config generates; of two with one label, those of the strongest."""
    seen = set()
    for one, _ in config.merged():
        for block in one.body.all("generate"):
            label = "".join(block.labels[:1])
            entry = block.body.attributes.get("contents")
            if label in seen or entry is None:
                continue
            seen.add(label)
            text = _text(evaluate(entry.expression, one.scope))
            if "provider" in text and len(text) <= _MOST_BYTES:
                at = entry.value_span
                source = Source(
                    at.source.path, b"\n" * at.begin.line + text.encode("utf-8", "surrogatepass"), derived=True
                )
                yield from parse.parse(source).body.all("provider")


def _text(contents: Datum) -> str:
    """What is written, with `${...}` for unknown parts; empty if it is not known."""
    if isinstance(contents, Known):
        return contents.value if isinstance(contents.value, str) else ""
    symbol = contents.symbol
    return symbol.address.strip('"') if symbol is not None and symbol.attribute == "text" else ""
