"""The cluster of a resource in Terraform: the one that its provider connects to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcheck.terraform import providers
from kcheck.text.values import Unknown

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kcheck.model import Cluster
    from kcheck.terraform.module import Module
    from kcheck.terraform.resource import Instance
    from kcheck.text.values import Datum, Record


def cluster_of(instance: Instance, root: Module, clusters: Iterable[Cluster]) -> Cluster | None:
    """The cluster of the same root that a resource's provider connects to; None if unknown."""
    own = [cluster for cluster in clusters if cluster.root == root.configuration.folder]
    if len(own) < 2 or not root.configuration.providers:
        return own[0] if len(own) == 1 else None
    if instance.block.type == "module":  # its arguments name it, if they do
        named = [c for c in own if f"{'.'.join(c.address.split('.')[:2])}." in instance.block.span.text]
        return named[0] if len(named) == 1 else None
    provider = providers.provider_block(instance, root)
    host = _host(provider) if provider is not None else None
    symbol = host.symbol if isinstance(host, Unknown) else None
    found = [c for c in own if symbol and f"{c.address}.".startswith(f"{symbol.address}.")]
    return found[0] if len(found) == 1 else None


def _host(record: Record) -> Datum | None:
    """The API server's address in the provider, or in its `kubernetes` block (helm)."""
    host = record.entry("host")
    if host is not None:
        return host
    nested = record.blocks("kubernetes")
    return None if isinstance(nested, Unknown) or not nested else nested[0].entry("host")
