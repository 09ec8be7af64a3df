"""Karpenter NodePools as node pools of their EKS or AKS cluster."""

import os

from msgspec.structs import replace

from kcheck import model
from kcheck.config.numbers import machines, profiles
from kcheck.config.numbers.fields import Fields
from kcheck.inventory.clouds import karpenter_machines, kubelet, registry
from kcheck.inventory.clouds.karpenter_pools import GPU, INSTANCE_TYPE, KINDS, SKU, ZONE, Written
from kcheck.inventory.clouds.reader import matches_pattern, resolve_reference, text_of
from kcheck.kubernetes import record
from kcheck.kubernetes.record import MappingRecord
from kcheck.kubernetes.workloads.scalars import absent, integer, scaled_quantity
from kcheck.text import placeholders
from kcheck.text.amount import Amount, amount_of, exactly
from kcheck.text.partly_known import plain
from kcheck.text.syntax import yaml
from kcheck.text.units import as_text
from kcheck.text.values import Known, Origin, Unknown, Unset, Value, equals, first_set, known, mapped

_REF = ("spec", "template", "spec", "nodeClassRef")
_WELL_KNOWN = ("kubernetes.io", "karpenter.sh", "karpenter.k8s.aws", "karpenter.azure.com", "kubernetes.azure.com")


def read(inventory: model.Inventory) -> None:
    """Add Karpenter's pools, each to the cluster it is deployed to."""
    objects = [(addon, addon.tree) for addon in inventory.addons if addon.tree is not None]
    kinds = {one.node_class for one in registry.every()} - {""}
    found_classes = [(one, tree) for one, tree in objects if yaml.text(tree, "kind") in kinds]
    classes = {_key(one, tree, inventory, "metadata"): tree for one, tree in found_classes}
    for addon, tree in objects:
        if yaml.text(tree, "kind") not in KINDS:
            continue
        own, pool = inventory.cluster_of.get(addon), Written(tree, addon.place)
        owner = Known(own, pool.origin) if own is not None else inventory.unknown_cluster(addon)
        node_class = classes.get(_key(addon, tree, inventory, *_REF))
        image = _system(node_class).image
        found = pool.read(owner)
        if node_class is None and yaml.text(tree, *_REF, "kind") == "EC2NodeClass":
            image = Unknown(f"the node class of NodePool {known(found.name) or '?'} is not beside it", pool.origin)
        inventory.karpenter.append(replace(found, labels=_labels(pool), taints=_taints(tree), image=image))
        if addon in inventory.candidates_of:
            inventory.candidates_of[inventory.karpenter[-1]] = inventory.candidates_of[addon]
        if own is None or pool.kind != "NodePool":
            continue
        if own.cloud == "eks":
            inventory.pools.append(_pool(addon.id, pool, own, node_class, inventory))
        elif own.cloud == "aks" and equals(own.grower, "karpenter"):
            nodes = _pool(addon.id, pool, own, None, inventory)
            inventory.pools.append(_as_default(nodes, node_class, inventory))


def _key(addon: model.Addon, tree: yaml.Mapping, inventory: model.Inventory, *path: str) -> tuple[str, str]:
    """Return the cluster of a node class (else its folder) and its name."""
    own = inventory.cluster_of.get(addon)
    return own.id if own is not None else os.path.dirname(addon.place.source.path), yaml.text(tree, *path, "name")


def _pool(
    identity: str, pool: Written, cluster: model.Cluster, node_class: yaml.Mapping | None, inventory: model.Inventory
) -> model.NodePool:
    place, name = pool.origin, pool.name
    machine, others = _machine(pool, cluster.cloud)
    system = _system(node_class)
    if pool.of_auto_mode:
        system = model.System(local_disks=Unknown("EKS Auto Mode sets up the local disks of its nodes", place))
    return model.NodePool(
        identity,
        place.written,
        f"NodePool/{name}",
        Known(cluster, place),
        Known(name, place) if name else Unknown("its name is not known", place),
        cluster.root,
        mode=Known("Karpenter", place),
        managed=False,
        size=_size(pool, (machine.gpus, *others)),
        upgrade=model.Upgrade(surge=Known(model.Surge(), place)),
        machine=replace(machine, efa=_efa(node_class)),
        addresses=model.Addresses(
            subnets=_subnets(pool, node_class, cluster, inventory), pods_take_addresses=cluster.pods_take_addresses
        ),
        market=model.Market(spot=pool.spot()),
        scheduling=model.Scheduling(_labels(pool), _taints(pool.tree)),
        system=system,
        kubelet=_kubelet(node_class, system),
    )


def _machine(pool: Written, cloud: str) -> tuple[model.Machine, list[Value[int]]]:
    """Return the machines that a pool may have, and the vCPUs and bytes of one."""
    place = pool.origin
    if missing := placeholders.unknown((value for _, values in pool.needs.values() for value in values), place):
        return model.Machine(missing, pool.gpu(), missing), [missing, missing]
    listed = any(pool.needs.get(key, ("",))[0] == "In" for key in (INSTANCE_TYPE, SKU))
    types = karpenter_machines.fitting(pool.requirements, cloud)
    why = f"Karpenter chooses the instance types of NodePool {pool.name}: name one"
    few = listed or len(types) <= karpenter_machines.MOST
    instance_types: Value[tuple[str, ...]] = Known(types, place) if types and few else Unknown(why, place)
    gpus, *others = _alike(types, pool, cloud, listed=listed)
    gpu = _with_gpus(gpus) if types else pool.gpu()
    return model.Machine(instance_types, gpu, Known(0, place) if known(gpu) is False else gpus), others


def _alike(types: tuple[str, ...], pool: Written, cloud: str, *, listed: bool) -> list[Value[int]]:
    """Return the GPUs, vCPUs and memory that a pool's nodes have at least."""
    gpus = karpenter_machines.gpus(types, cloud)
    vcpus = {one.vcpus or 0 if one else 0 for one in (machines.machine(cloud, each) for each in types)}
    share = 1000 - profiles.settings("any")["karpenter.memory_overhead"].number
    memory = {(machines.memory(cloud, one) or 0) * share // 1000 for one in types}
    found: list[Value[int]] = []
    for what, counts in (("GPUs", gpus), ("vCPUs", vcpus), ("bytes of memory", memory)):
        many = f"{min(counts)} to {max(counts)} {what}" if counts else f"any number of {what}"
        why = Unknown(f"nodes of NodePool {pool.name} may have {many}: name one instance type", pool.origin)
        least, most = min(counts, default=0), max(counts, default=None)
        found.append(Amount(least, least if counts and listed else most, why).value(pool.origin))
    return found


def _with_gpus(gpus: Value[int]) -> Value[bool]:
    """Whether nodes have GPUs; Unknown if only some of the matching machines do."""
    if amount_of(gpus).low:
        return Known(value=True, origin=gpus.origin or Origin(()))
    return mapped(gpus, bool)


def _ec2(node_class: yaml.Mapping | None) -> Fields | None:
    """Return the fields of an EC2NodeClass; None for another one."""
    if node_class is None or yaml.text(node_class, "kind") != "EC2NodeClass":
        return None
    return Fields("eks", "EC2NodeClass", MappingRecord(node_class))


def _system(node_class: yaml.Mapping | None) -> model.System:
    """Return the image of nodes, and whether local disks are combined."""
    policy, fields = yaml.get(node_class, "spec", "instanceStorePolicy"), _ec2(node_class)
    joined = Known(value=True, origin=Origin((policy.span,))) if isinstance(policy, yaml.Scalar) else model.NOTHING
    if fields is None:
        return model.System(local_disks=joined)
    image = first_set(fields.text("alias"), fields.text("image"))
    if isinstance(fields.text("alias"), Unset) and yaml.get(node_class, "spec", "amiSelectorTerms") is not None:
        image = Unknown("its nodes boot a custom image", image.origin)
    boot = fields.text("boot_data")
    own = Known("userData", boot.origin or Origin(())) if not isinstance(boot, Unset) else boot
    return model.System(image, boot_data=own, local_disks=joined)


def _kubelet(node_class: yaml.Mapping | None, system: model.System) -> model.Kubelet:
    fields = _ec2(node_class)
    if fields is None:
        return kubelet.unknown("its node class is not known")
    usual = kubelet.in_text(fields.text("boot_data"))
    return kubelet.written(kubelet.unknown(system.image.reason) if isinstance(system.image, Unknown) else usual, fields)


def _efa(node_class: yaml.Mapping | None) -> Value[tuple[str, ...]]:
    """Return the EFA interfaces of every node; Unset if that depends on the first pod."""
    found = yaml.get(node_class, "spec", "networkInterfaces")
    if not isinstance(found, yaml.Sequence):
        return model.NOTHING
    kinds = (yaml.text(one, "interfaceType") for one in found.items)
    return Known(tuple(kind for kind in kinds if kind.startswith("efa")), Origin((found.span,)))


def _labels(pool: Written) -> Value[dict[str, str]]:
    """Return the nodes' labels, written or implied by requirements."""
    found = {}
    for key, (operator, values) in pool.needs.items() if pool.kind == "NodePool" else ():
        if key.partition("/")[0].endswith(_WELL_KNOWN):
            continue
        if operator != "In" or len(values) != 1:
            return Unknown(f"NodePool {pool.name} leaves the label {key} open", pool.origin)
        found[key] = values[0]
    labels = yaml.get(pool.tree, "spec", "template", "metadata", "labels")
    try:
        own = plain(record.datum(labels)) if isinstance(labels, yaml.Mapping) else {}
    except ValueError as error:
        return Unknown(str(error), pool.origin)
    return Known(found | {key: as_text(value) for key, value in own.items()}, pool.origin)


def _taints(tree: yaml.Mapping) -> Value[tuple[str, ...]]:
    found = yaml.get(tree, "spec", "template", "spec", "taints")
    if not isinstance(found, yaml.Sequence):
        return absent(tree, "spec", "template", "spec", "taints")
    parts = [[yaml.text(one, key) for key in ("key", "value", "effect")] for one in found.items]
    return Known(tuple(f"{key}={value}:{effect}" for key, value, effect in parts), Origin((found.span,)))


def _as_default(pool: model.NodePool, node_class: yaml.Mapping | None, inventory: model.Inventory) -> model.NodePool:
    """Set the network of an AKS pool to the default pool's."""
    near = [one for one in inventory.pools if known(one.cluster) is known(pool.cluster)]
    default = next((one for one in near if equals(one.mode, "System")), None)
    own = yaml.get(node_class, "spec", "vnetSubnetID")
    if default is None or node_class is None or own is not None:
        why = f"the subnet of {pool.address} is " + ("that of its AKSNodeClass" if own else "not known")
        pool = replace(pool, addresses=replace(pool.addresses, subnets=Unknown(why)))
    if default is None:
        return pool
    pods = integer(node_class, "spec", "maxPods") if node_class is not None else model.NOTHING
    why = f"maxPods of the AKSNodeClass of {pool.address} is not set"
    addresses = replace(
        pool.addresses,
        subnets=(default if node_class is not None and own is None else pool).addresses.subnets,
        pods_take_addresses=default.addresses.pods_take_addresses,
        pod_range=default.addresses.pod_range,
        max_pods=Unknown(why) if isinstance(pods, Unset) else pods,
    )
    return replace(pool, addresses=addresses)


def _size(pool: Written, of_node: tuple[Value[int], ...]) -> model.Size:
    """Return the fixed size of a pool, else the nodes its limits allow.

    `of_node`: the GPUs, vCPUs and bytes of a node.
    """
    fixed = pool.fields.number("replicas")
    if not isinstance(fixed, Unset):
        return model.Size(Known(value=False, origin=pool.origin), fixed, fixed)
    grows, none = Known(value=True, origin=pool.origin), Known(0, pool.origin)
    low, found = [], []
    for resource, own in zip((GPU, "cpu", "memory", "nodes"), (*map(amount_of, of_node), exactly(1)), strict=True):
        limit = scaled_quantity(pool.tree, ("spec", "limits", resource), 1)
        if isinstance(limit, Known) and own.high:
            low.append(limit.value // own.high)
            found += [(limit.value // own.low, own.low, Origin((limit.origin.written,)))] if own.low else []
    if not found:
        return model.Size(
            grows, none, Unknown(f"the limits of Karpenter's NodePool {pool.name} are not in nodes", pool.origin)
        )
    high, unit, origin = min(found, key=lambda one: one[0])
    nodes = Amount(min(low), high)
    why = Unknown(f"the limits of Karpenter's NodePool {pool.name} end it at {nodes} nodes: name one instance type")
    return model.Size(grows, none, replace(nodes, why=why).value(origin), unit=unit)


def _subnets(
    pool: Written, node_class: yaml.Mapping | None, cluster: model.Cluster, inventory: model.Inventory
) -> Value[tuple[model.Subnet, ...]]:
    """Return the subnets that match any selector term of a node class."""
    name, place = pool.name, pool.origin
    if node_class is None:
        return Unknown(f"the node class of NodePool {name} is not in this code", place)
    own = cluster.id.removesuffix(cluster.address)  # its root, with the environment
    made = (one for one in inventory.subnets if one.root == cluster.root and one.id.startswith(own))
    near = [subnet for subnet in made if _is_in(subnet, *pool.needs.get(ZONE, ("", ())))]
    found, addressed = list[model.Subnet](), {subnet.address: subnet for subnet in near}
    missing = None
    for term in yaml.items(node_class, "spec", "subnetSelectorTerms"):
        tags, called = yaml.get(term, "tags"), yaml.get(term, "id")
        link = resolve_reference(called.datum, addressed) if isinstance(called, yaml.Computed) else None
        if link is not None:
            found.append(link.value)
            continue
        if not isinstance(tags, yaml.Mapping):
            return Unknown(f"NodePool {name} selects subnets neither by tags nor by an id of this code", place)
        wanted = {key: _tag(entry.value) for key, entry in yaml.entries(tags).items()}
        missing = missing or placeholders.unknown(wanted.values(), Origin((node_class.span,)))
        found += [subnet for subnet in near if all(_has(subnet, key, wanted[key]) for key in wanted)]
    if not found and missing:
        return missing
    if not found:
        return Unknown(f"no subnet in this code has the tags that NodePool {name} selects", place)
    return Known(tuple(dict.fromkeys(found)), place)


def _is_in(subnet: model.Subnet, operator: str, zones: tuple[str, ...]) -> bool:
    """Whether a subnet may be in a pool's zones; unknown zones count as yes."""
    zone = known(subnet.zone)
    return operator != "In" or zone is None or zone in zones or not all(zones)


def _tag(node: yaml.Node) -> str:
    """Return a tag's value as a pattern; an unknown part matches only itself."""
    target = yaml.resolve(node)
    datum = target.datum if isinstance(target, yaml.Computed) else None
    text = text_of(datum) if datum is not None else target.text if isinstance(target, yaml.Scalar) else None
    return text or ""


def _has(subnet: model.Subnet, key: str, pattern: str) -> bool:
    return matches_pattern(text_of(subnet.name) if key == "Name" else (known(subnet.tags) or {}).get(key), pattern)
