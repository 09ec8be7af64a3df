"""Container runtime of nodes: mirrors of Docker Hub, and image streaming."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcheck.text.values import Known, Origin, Unknown, Unset, Value

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kcheck.config.numbers.fields import Fields
    from kcheck.text.values import Datum, Record

_HUB = ("docker.io", "registry-1.docker.io", "_default")


def streaming(fields: Fields, of_cluster: Fields | None) -> Value[bool]:
    """Whether GKE's image streaming is on, by pool or by cluster."""
    own = fields.flag("streaming")
    if not isinstance(own, Unset):
        return own
    shared: Value[bool] = of_cluster.flag("streaming") if of_cluster is not None else Unset(own.origin)
    return Known(value=False, origin=own.origin) if isinstance(shared, Unset) else shared


def registry_hosts(record: Record) -> Value[bool]:
    """Whether containerd on a GKE pool's nodes asks a mirror before Docker Hub."""
    servers = [one.entry("server") for one in _below(record, "node_config", "containerd_config", "registry_hosts")]
    return _any(record, servers)


def registry_mirrors(record: Record) -> Value[bool]:
    """Whether containerd on an ACK pool has mirrors, which it asks before Docker Hub."""
    found = [one.entry("registry_mirrors") for one in _below(record, "containerd_config")]
    unknown = next((one for one in found if isinstance(one, Unknown)), None)
    return unknown or Known(any(bool(one.value) for one in found if isinstance(one, Known)), Origin((record.span,)))


def _any(record: Record, servers: list[Datum | None]) -> Value[bool]:
    unknown = next((one for one in servers if isinstance(one, Unknown)), None)
    names = [str(one.value).partition("://")[2] or str(one.value) for one in servers if isinstance(one, Known)]
    return unknown or Known(any(name.rstrip("/") in _HUB for name in names), Origin((record.span,)))


def _below(record: Record, *path: str) -> Iterator[Record]:
    if not path:
        yield record
        return
    nested = record.blocks(path[0])
    for one in () if isinstance(nested, Unknown) else nested:
        yield from _below(one, *path[1:])
