"""Google's machine types, and the machines of a pool."""

import re
from collections.abc import Iterator

from kcheck.config.numbers import profiles
from kcheck.config.numbers.fields import Fields
from kcheck.config.numbers.machines import has_accelerator, tables_of
from kcheck.config.numbers.profiles import row
from kcheck.inventory.clouds.reader import blocks_below
from kcheck.model import NOTHING, Machine, NodePool, Sharing, Surge, Upgrade
from kcheck.text.need import first_unknown, need, or_unknown
from kcheck.text.regex import regex
from kcheck.text.values import Known, Origin, Record, Unknown, Unset, Value, equals, known, mapped, number

_CLOUD = "gke"


def local_ssd_size() -> int:
    """Return the GB of one attached local SSD."""
    return tables_of(_CLOUD)["local_ssd_size"]


def local_ssds(name: str) -> int:
    """Count the local SSDs built into a machine type."""
    return _local_ssds(name)[0]


def local_ssd(name: str) -> int:
    """Return the GB of all local SSDs built into a machine type."""
    count, size = _local_ssds(name)
    return count * size


def _local_ssds(name: str) -> tuple[int, int]:
    found = (row(line).get(name) for line in tables_of(_CLOUD)["local_ssds"].values())
    count, _, size = (next(filter(None, found), None) or "0").partition("x")
    return int(count), int(size or local_ssd_size())


def boot_disk(fields: Fields) -> Value[str]:
    """Return the type of a pool's boot disks; the default depends on the machine type."""
    kind, name = fields.text("disk_type"), known(fields.text("instance_type"))
    if kind.origin is None or kind.origin.missing is None or name is None:
        return kind
    if not re.search(profiles.limits(_CLOUD)["disk.not_for"].text, name):
        return kind
    return Known(profiles.settings(_CLOUD)["pool.disk_type_without_pd"].text, kind.origin)


_IN_NAME = regex(r"-(\d{1,9})g(?:-|$)")
_GPU = "nvidia.com/gpu"


def machine(fields: Fields) -> Machine:
    """Read the machine of a pool."""
    name, attached = fields.text("instance_type"), fields.number("gpus")
    gpu = mapped(attached, bool) if known(attached) else mapped(name, lambda one: has_accelerator(_CLOUD, one))
    return fields.record_of(
        Machine,
        instance_types=mapped(name, lambda one: (one,)),
        gpu=gpu,
        gpus=_gpus_of_node(name, attached),
        disk_type=boot_disk(fields),
        networks=_networks(fields),
        local_ssd=_local_ssd_of_pool(name, fields.number("local_ssds")),
    )


@or_unknown
def _networks(fields: Fields) -> Value[int]:
    outer = need(fields.record.blocks("network_config"))
    found = need(outer[0].blocks("additional_node_network_configs")) if outer else ()
    return Known(len(found), Origin(((*found, fields.record)[0].span,)))


def _local_ssd_of_pool(name: Value[str], attached: Value[int]) -> Value[int]:
    """Return the GB of a node's local SSDs, attached or built in."""
    if isinstance(attached, Unknown) or (isinstance(attached, Known) and attached.value):
        return mapped(attached, lambda count: count * local_ssd_size())
    return mapped(name, local_ssd)


def _gpus_of_node(name: Value[str], attached: Value[int]) -> Value[int]:
    """Return a node's GPUs, attached or built in."""
    if not isinstance(attached, Unset):
        return attached
    match = _IN_NAME.search(known(name) or "")
    return Known(int(match[1]), name.origin) if match and isinstance(name, Known) else Unset(attached.origin)


@or_unknown
def _partitions(size: Value[str], clients: Value[int]) -> Value[int]:
    """Return how many containers share a GPU; a partition of a GPU may be shared, too."""
    found = tables_of(_CLOUD)["partitions"].get(need(size))
    if found is None:
        return Unknown(f"how many partitions {need(size)} makes of a GPU", size.origin)
    return mapped(size, lambda _: found * number(clients, 1))


def sharing(fields: Fields, pool: NodePool) -> Iterator[Sharing]:
    """Yield how a pool's nodes share their GPUs, if they do."""
    strategy, copies, size = fields.text("sharing"), fields.number("sharers"), fields.text("partition")
    if not isinstance(size, Unset):
        copies = copies if isinstance(copies, Unknown) else _partitions(size, copies)
    elif not isinstance(strategy, Known) or isinstance(copies, Unset) or known(copies) == 1:
        return
    mps = equals(strategy, "MPS")
    yield Sharing(
        f"{pool.id}/sharing", pool.place, slices=() if mps else (copies,), mps=(copies,) if mps else (), mig=NOTHING,
        names=(_GPU,), pool=pool,
    )  # fmt: skip


_HUB = ("docker.io", "registry-1.docker.io", "_default")


def streaming(fields: Fields, of_cluster: Fields | None) -> Value[bool]:
    """Whether image streaming is on, by pool or by cluster."""
    own = fields.flag("streaming")
    if not isinstance(own, Unset):
        return own
    shared: Value[bool] = of_cluster.flag("streaming") if of_cluster is not None else Unset(own.origin)
    return Known(value=False, origin=own.origin) if isinstance(shared, Unset) else shared


def hub_mirror(record: Record) -> Value[bool]:
    """Whether containerd on a pool's nodes asks a mirror before Docker Hub."""
    servers = [
        one.entry("server") for one in blocks_below(record, "node_config", "containerd_config", "registry_hosts")
    ]
    unknown = first_unknown(servers)
    names = [str(one.value).partition("://")[2] or str(one.value) for one in servers if isinstance(one, Known)]
    return unknown or Known(any(name.rstrip("/") in _HUB for name in names), Origin((record.span,)))


def upgrade(fields: Fields, gpu: Value[bool], spot: Value[bool]) -> Upgrade:
    """Read how a pool is upgraded, with surge nodes or with unavailable ones."""
    surge, rolling = mapped(fields.number("max_surge"), Surge), _rolling(fields)
    if equals(fields.text("strategy"), "BLUE_GREEN"):  # with a second pool
        surge = rolling = mapped(fields.text("strategy"), lambda _: Surge(percent=100))
    return fields.record_of(Upgrade, surge=surge, rolling=rolling, scarce_surge=_scarce(fields, gpu, spot))


def _scarce(fields: Fields, gpu: Value[bool], spot: Value[bool]) -> Value[bool]:
    """Whether surge machines are scarce: GPU, spot, reserved or queued ones."""
    origin = Origin((fields.record.span,))
    if known(fields.number("max_surge")) == 0:
        return Known(value=False, origin=origin)
    reserved = mapped(fields.text("reservation"), lambda name: name not in ("", "NO_RESERVATION"))
    kinds = (gpu, spot, reserved, fields.flag("queued"), fields.flag("flex_start"))
    if any(known(kind) for kind in kinds):
        return Known(value=True, origin=origin)
    return first_unknown(kinds) or Known(value=False, origin=origin)


def _rolling(fields: Fields) -> Value[Surge]:
    """Return the nodes that an upgrade replaces at a time: surge plus unavailable."""
    added, missing = fields.number("max_surge"), fields.number("max_unavailable")
    most = profiles.limits(_CLOUD)["pool.parallel_upgrades"].number
    own, other = (missing, added) if known(added) == 0 else (added, missing)  # GPUs have no nodes to add
    beside = known(other) or 0
    return mapped(own, lambda nodes: Surge(nodes + beside, most=most, beside=beside))
