"""Terraform machines that are nodes of self-managed clusters."""

from collections.abc import Iterable, Iterator, Mapping
from operator import attrgetter
from typing import NamedTuple

from msgspec.structs import replace

from kcheck.config.numbers import names, profiles
from kcheck.config.numbers.fields import Fields
from kcheck.inventory.clouds import registry
from kcheck.inventory.clouds.reader import blocks_below, growing, identity, or_default, resolve_reference, text_of
from kcheck.inventory.clouds.selfmanaged import clusters
from kcheck.inventory.embedded.machines import stem
from kcheck.kubernetes.boot_scripts import Start
from kcheck.model import CONTROL_PLANE, NOTHING, Cluster, Inventory, NodePool, Size, Subnet
from kcheck.terraform.module import Module
from kcheck.terraform.resource import Instance
from kcheck.text.partly_known import address_of, listed, members
from kcheck.text.regex import regex
from kcheck.text.text import Skipped, grouped
from kcheck.text.values import Known, Origin, Unknown, Unset, Value, known, mapped

_OWNER = regex(r"kubernetes\.io/cluster/(.+)")
"""Tag of AWS machines that names their cluster."""


class Group(NamedTuple):
    """Equal machines: a pool, its start-up script, and its cluster's tag."""

    pool: NodePool
    tool: str
    server: bool
    owner: str
    environment: str


def groups(root: Module, kinds: set[str], starts: Mapping[str, Start], inventory: Inventory) -> Iterator[Group]:
    """Yield the machines of a root module that become nodes.

    `starts` maps addresses of machines and launch templates to scripts.
    """
    subnets: dict[str, dict[str, Subnet]] = {}
    templates = {one.address: one for kind in sorted(kinds & names.scripts().keys()) for one in root.instances(kind)}
    scaling = [(_cloud_of(kind), kind) for kind in sorted(kinds.intersection(names.listed("scalers")))]
    scalers = [Fields(cloud, kind, one) for cloud, kind in scaling for one in root.instances(kind)]
    bounds = {address_of(one.raw("group")): one for one in scalers}
    for kind in sorted(kinds.intersection(names.listed("nodes"))):
        cloud = _cloud_of(kind)
        grows = bool(profiles.table(cloud)[kind].keys() & {"count", "max"})
        every = grouped(root.instances(kind), attrgetter("address") if grows else lambda one: stem(one.address))
        for address, instances in every.items():
            fields = Fields(cloud, kind, instances[0])
            template = templates.get(address_of(fields.raw("launch_template")))
            start = starts.get(stem(address)) or (starts.get(stem(template.address)) if template else None)
            owner = _owner(instances[0])
            if start is None and not owner:
                continue
            if cloud not in subnets:
                subnets[cloud] = _subnets(root, kinds, cloud, inventory)
            tool, server = start or ("", False)
            pool = replace(
                _pool(cloud, fields, template, subnets[cloud]),
                id=identity(cloud, root, address),
                address=address,
                root=root.configuration.folder,
                size=_size(fields, instances, bounds.get(instances[0].address)),
                mode=Known(CONTROL_PLANE, Origin((instances[0].span,))) if server else NOTHING,
            )
            yield Group(pool, tool, server, owner, root.environment)


def join(found: Iterable[Group], inventory: Inventory) -> Iterator[Skipped]:
    """Replace unknown nodes of self-managed clusters by their machines.

    Yields machines whose tags name a cluster that is not in the code.
    """
    pairs = ((home.id, group) for group in found for home in _homes(group, inventory.clusters))
    homes = grouped(pairs, lambda pair: pair[0])
    for cluster in [one for one in inventory.clusters if one.cloud == clusters.CLOUD]:
        own = [group for _, group in homes.get(cluster.id, ())]
        made = {group.server for group in own if _APPLY not in group.pool.address}
        own = [group for group in own if _APPLY not in group.pool.address or group.server not in made]
        base = next((pool for pool in inventory.pools if pool.id == f"{cluster.id}/nodes"), None)
        if base is None or not isinstance(base.size.max_nodes, Unknown) or all(group.server for group in own):
            continue
        if len({group.environment for group in own}) == 1:
            at = inventory.pools.index(base)
            taken = {group.pool.id for group in own}
            inventory.pools[at : at + 1] = [_joined(group.pool, base) for group in own]
            inventory.pools = [pool for pool in inventory.pools if pool.id not in taken]
    roots = {cluster.root for cluster in inventory.clusters}
    names_of = {known(cluster.name) for cluster in inventory.clusters}
    for pool, owner in {one.owner: (one.pool, one.owner) for one in found if one.owner and not one.tool}.values():
        if pool.root not in roots and owner not in names_of:
            yield registry.unjudged(pool.place, pool.address, f"its tags name the cluster {owner}, which is not read")


_APPLY = "talos_machine_configuration_apply."
"""Resource that sends a configuration to a machine, and stands for it where it has no other."""


def _joined(pool: NodePool, base: NodePool) -> NodePool:
    """Add the cluster to machines, with kubeadm's labels and taints."""
    own, why = (
        base.scheduling,
        Unknown("the labels and taints that its nodes register are not read", Origin((pool.place,))),
    )
    cluster = known(base.cluster)
    return replace(
        pool,
        id=f"{cluster.id if cluster else ''}/{pool.address}",
        cluster=base.cluster,
        addresses=replace(base.addresses, subnets=pool.addresses.subnets),
        scheduling=replace(
            own, labels=or_default(own.labels, lambda _: why), taints=or_default(own.taints, lambda _: why)
        ),
        machine=pool.machine if isinstance(pool.machine.instance_types, Known) else base.machine,
    )


def _homes(group: Group, every: Iterable[Cluster]) -> list[Cluster]:
    """List the clusters that machines belong to, by tags or by folder."""
    named = [one for one in every if group.owner and known(one.name) == group.owner]
    started = [one for one in every if _started(group, one)]
    return named or (started if len(started) == 1 else [])


def _started(group: Group, cluster: Cluster) -> bool:
    root = group.pool.root
    inside = root in (".", cluster.root) or cluster.root.startswith(f"{root}/")
    return inside and cluster.environment in ("", group.environment) and group.tool in clusters.makers(cluster)


def _cloud_of(kind: str) -> str:
    return next((one.name for one in registry.every() if kind in profiles.table(one.name)), clusters.CLOUD)


def _owner(instance: Instance) -> str:
    """Return the cluster that a machine's tags name; '' if none."""
    keys = [text_of(key) or "" for one in blocks_below(instance, "tag") if (key := one.entry("key")) is not None]
    keys += members(instance.entry("tags"))
    return next((match[1] for key in keys if (match := _OWNER.fullmatch(key))), "")


def _subnets(root: Module, kinds: set[str], cloud: str, inventory: Inventory) -> dict[str, Subnet]:
    """Return the subnets of a root module by address."""
    owner = registry.cloud(cloud)
    if owner.resources and not any(kind.startswith(owner.resources) for kind in kinds):
        own = Inventory()
        owner.read([root], own)
        inventory.subnets += own.subnets
    return {one.address: one for one in inventory.subnets if one.id == identity(cloud, root, one.address)}


def _size(fields: Fields, instances: list[Instance], scaler: Fields | None) -> Size:
    """Return the size of a group: of its autoscaler, its own, or a count."""
    origin, doubt = Origin((fields.record.span,)), next((one.doubt for one in instances if one.doubt), "")
    if doubt:
        return clusters.unknown_size(doubt, origin)
    if bounds := scaler or (fields if fields.has("max") else None):
        low, high = bounds.number("min"), or_default(bounds.number("max"), _unset)
        return Size(growing(low, high), low, high)
    count = fields.number("count") if fields.has("count") else Known(len(instances), origin)
    return clusters.fixed_size(or_default(count, _unset), origin)


def _unset(origin: Origin) -> Unknown:
    return Unknown("its number of machines is not set", origin)


def _pool(cloud: str, fields: Fields, template: Instance | None, subnets: Mapping[str, Subnet]) -> NodePool:
    """Return a pool with the settings of its machines and their template."""
    place = fields.record.span
    origin = Origin((place,))
    kind = template.address.split(".")[-2] if template is not None else ""
    own = Fields(cloud, kind, template) if template is not None and kind in profiles.table(cloud) else fields
    gpus = own.number("gpus")
    where = _placed(fields if fields.has("subnets") else own, subnets)
    machine = clusters.machine_of(own.text("instance_type"), origin, cloud)
    if not isinstance(gpus, Unset):
        machine = replace(machine, gpu=mapped(gpus, bool), gpus=gpus)
    pool = NodePool("", place, "", NOTHING, fields.text("name"), managed=False, machine=machine)
    surge = fields.text("max_surge") if fields.has("max_surge") else Unset(origin)
    pool = clusters.upgraded(pool, or_default(surge, lambda at: Known("0", at)))
    return replace(pool, addresses=replace(pool.addresses, subnets=where))


def _placed(fields: Fields, subnets: Mapping[str, Subnet]) -> Value[tuple[Subnet, ...]]:
    """Return the subnets that machines join; Unknown outside this root."""
    datum = fields.raw("subnets")
    if datum is None:
        return Unset(Origin((fields.record.span,)))
    links = [resolve_reference(item, subnets) for item in listed(datum)]
    found = [link.value for link in links if link is not None]
    if len(found) < len(links) or not found:
        why = datum.reason if isinstance(datum, Unknown) else "its subnets are not in this root module"
        return Unknown(why, datum.origin)
    return Known(tuple(dict.fromkeys(found)), datum.origin or Origin((fields.record.span,)))
