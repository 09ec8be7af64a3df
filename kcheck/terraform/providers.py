"""The provider block that a resource uses."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcheck.syntax.hcl import nodes
from kcheck.terraform.resource import BlockRecord

if TYPE_CHECKING:
    from kcheck.terraform.module import Module
    from kcheck.terraform.resource import Instance


def provider_block(instance: Instance, root: Module) -> BlockRecord | None:
    """The provider block of a resource in the root module; None without one.

    It is the one that the resource names, else the one without an alias whose name its type begins with.
    """
    if not root.configuration.providers:
        return None
    block = instance.block
    entry = block.body.attributes.get("provider")
    name, _, alias = entry.value_span.text.strip('"').partition(".") if entry else ("", "", "")
    prefix = block.labels[0].partition("_")[0]
    kinds = (name,) if name else (prefix, f"{prefix}-beta")
    for kind in kinds:
        for provider in root.configuration.providers:
            if provider.labels[:1] == (kind,) and _alias(provider) == alias:
                return BlockRecord(provider, root.scope)
    return None


def _alias(provider: nodes.Block) -> str:
    entry = provider.body.attributes.get("alias")
    expression = entry.expression if entry else None
    return str(expression.value) if isinstance(expression, nodes.Literal) else ""
