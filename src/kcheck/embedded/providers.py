"""Which cluster a resource deploys into: the one whose address its provider has."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcheck.terraform.evaluator import Scope, evaluate
from kcheck.terraform.resource import BlockRecord
from kcheck.values import Unknown

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kcheck.model import Cluster
    from kcheck.syntax.hcl import nodes
    from kcheck.terraform.module import Module
    from kcheck.terraform.resource import Instance, Record
    from kcheck.values import Datum

_NO_NAMES = Scope({})


def cluster_of(instance: Instance, root: Module, clusters: Iterable[Cluster]) -> Cluster | None:
    """The cluster of the same root that the provider of a resource talks to; None if that is not known."""
    own = [cluster for cluster in clusters if cluster.root == root.configuration.folder]
    if len(own) < 2 or not root.configuration.providers:
        return own[0] if len(own) == 1 else None
    entry = instance.block.body.entries.get("provider")
    name, _, alias = entry.value_span.text.strip('"').partition(".") if entry else ("", "", "")
    kind = name or instance.block.labels[0].partition("_")[0]
    for block in root.configuration.providers:
        if block.labels[:1] == (kind,) and _alias(block) == alias:
            host = _host(BlockRecord(block, root.scope))
            symbol = host.symbol if isinstance(host, Unknown) else None
            found = [c for c in own if symbol and f"{c.address}.".startswith(f"{symbol.address}.")]
            return found[0] if len(found) == 1 else None
    return None


def _alias(block: nodes.Block) -> str:
    entry = block.body.entries.get("alias")
    value = evaluate(entry.expression, _NO_NAMES) if entry else None
    return "" if value is None or isinstance(value, Unknown) else str(value.value)


def _host(record: Record) -> Datum | None:
    """The address of the API server: of the provider itself, or in its `kubernetes` part (helm)."""
    host = record.entry("host")
    if host is not None:
        return host
    nested = record.blocks("kubernetes")
    return None if isinstance(nested, Unknown) or not nested else nested[0].entry("host")
