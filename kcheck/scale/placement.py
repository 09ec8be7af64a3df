"""Whether pods fit pools: labels and taints, GPUs, CPU and memory."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import chain

from msgspec import Struct
from msgspec.structs import replace

from kcheck.config.numbers import machines
from kcheck.config.numbers import names as resources
from kcheck.inventory.clouds import registry
from kcheck.inventory.clouds.cloud import Cloud
from kcheck.model import NodePool, PodTemplate, Requirement, Toleration
from kcheck.scale.allocatable import NOTHING_TAKEN, Share, Taken, rooms, shares, shortage
from kcheck.text.amount import Amount, exactly
from kcheck.text.need import NotKnown, first_unknown
from kcheck.text.regex import regex
from kcheck.text.text import grouped
from kcheck.text.units import counted, whole_number
from kcheck.text.values import Known, Unknown, equals, known, number, reason_of, sure

_STARTING = regex(r"not-ready$|/uninitialized$|startup-taint")
"""Taints that a driver or the cloud removes when a node is ready."""

INSTANCE = ("node.kubernetes.io/instance-type", "beta.kubernetes.io/instance-type")
_SYSTEM = ("kubernetes.io/os", "beta.kubernetes.io/os")
_OF_CARDS = ("nvidia.com/gpu", "nvidia.com/cuda", "amd.com/gpu", "feature.node.kubernetes.io/pci-10de", "accelerator")
"""Prefixes of labels that drivers and operators set, on nodes with accelerators only."""

SPOT_VALUES = frozenset({"spot", "SPOT", "true", "Spot"})
_DRIVERS = ("kubernetes.io", "k8s.io", "karpenter.sh", "nvidia.com", "amd.com", "accelerator")
"""Domains of labels that drivers and operators set: nodes may have them though the code does not say so."""

_SIGNS = {"Gt": " > ", "Lt": " < "}
_RULES_OUT = ("NotIn", "DoesNotExist")
_COMMON = frozenset(f"{domain}/{name}" for domain in ("kubernetes.io", "beta.kubernetes.io") for name in ("os", "arch"))
"""Labels with the same value on nearly all nodes of a training cluster."""


class Fit(Struct, frozen=True):
    """Whether pods fit the nodes of a pool; None if unknown.

    `kind` is the obstacle: label, gpus, cpu, memory or taint. `why` names what the pods need and the nodes lack, or why
    that is unknown; `missing` is the input that would decide it.
    """

    fits: bool | None
    kind: str = ""
    why: str = ""
    missing: Unknown | None = None


_FITS = Fit(fits=True)


def fit(template: PodTemplate, pool: NodePool, taken: Taken = NOTHING_TAKEN, slots: Amount | None = None) -> Fit:
    """Return whether pods fit a pool beside its DaemonSets, and why not."""
    return _verdict(requirements(template, pool, taken, slots))


def requirements(
    template: PodTemplate, pool: NodePool, taken: Taken = NOTHING_TAKEN, slots: Amount | None = None
) -> Iterator[Fit]:
    """Check labels, GPUs, CPU, memory and taints of pods against a pool.

    `slots` are the GPUs that a node offers if they are shared: by time slicing or MPS, each counts several times.
    """
    yield _labels(template, pool)
    yield _cards(template, pool, slots)
    yield _size(template, pool, taken)
    yield _taints(template, pool)


def chooses(template: PodTemplate, pool: NodePool, slots: Amount | None = None) -> Fit:
    """Check whether pods can run on a pool if its nodes are large enough."""
    return _verdict([_labels(template, pool), _cards(template, pool, slots), _taints(template, pool)])


def _verdict(parts: Iterable[Fit]) -> Fit:
    """Return the first refusal, else the first unknown part."""
    found = _FITS
    for part in parts:
        if part.fits is False:
            return part
        found = part if found.fits else found
    return found


def deciding(fits: Iterable[Fit]) -> Unknown | None:
    """Return the input that decides whether pods fit anywhere; else None."""
    missing = [one.missing for one in fits if one.fits is not False]
    return missing[0] if all(missing) and missing else None


def per_node(
    template: PodTemplate, pool: NodePool, taken: Taken, slots: Amount | None, *, ports: bool = True
) -> Amount | None:
    """Return pods per node of the smallest machine, at least one if possible."""
    counts = []
    cards, offered = known(template.gpus), _offered(pool, slots)
    if cards:
        if offered is None:
            return None
        counts.append(Amount(offered.low // cards, None if offered.high is None else offered.high // cards))
    for share in (one for room in rooms(pool) for one in shares(template, room, taken)):
        most = None if share.left.high is None else share.left.high // share.asked
        counts.append(Amount(share.left.low // share.asked, most))
    if known(template.spread) or template.all_cards or (ports and known(template.ports)):
        counts.append(exactly(1))
    if not counts:
        return None
    most = min((count.high for count in counts if count.high is not None), default=None)
    return Amount(max(min(count.low for count in counts), min(most or 0, 1)), most)


def smallest(pool: NodePool) -> int | None:
    """Return the vCPUs of a pool's smallest machine; None if one is unknown."""
    return min((room.vcpus for room in rooms(pool)), default=None)


def asks_for_spot(template: PodTemplate) -> bool:
    """Whether every node selector term of pods selects spot nodes."""
    terms = sure(template.selection) or ()
    return bool(terms) and all(any(_is_spot(one) for one in term) for term in terms)


def gpu_label(template: PodTemplate) -> str:
    """Return the label by which every term selects accelerator nodes."""
    clouds = list(registry.every())
    terms = sure(template.selection) or ()
    found = [next((one for one in term if _is_of_cards(one, clouds)), None) for term in terms]
    first = found[0] if found and None not in found else None
    return f"{first.key}={','.join(first.values)}".rstrip("=") if first else ""


def _is_of_cards(one: Requirement, clouds: Iterable[Cloud]) -> bool:
    if one.key in INSTANCE:
        own = [next((n for c in clouds if (n := machines.gpus(c.name, name))), None) for name in one.values]
        return one.operator == "In" and bool(own) and None not in own
    prefixes = tuple(prefix for cloud in clouds for prefix in cloud.gpu_labels)
    return one.operator in ("In", "Exists") and one.key.startswith((*_OF_CARDS, *prefixes)) and one.values != ("false",)


def names(template: PodTemplate, domains: tuple[str, ...]) -> bool:
    """Whether pods select a label, or tolerate a taint, of some domains."""
    keys = [one.key for term in sure(template.selection) or () for one in term]
    keys += [one.key for one in known(template.tolerations) or ()]
    return any(key.partition("/")[0].endswith(domains) for key in keys)


def _is_spot(one: Requirement) -> bool:
    clouds = list(registry.every())
    only = any(one.key in cloud.spot_labels for cloud in clouds)
    if one.operator == "Exists":
        return only
    labels = {cloud.spot_label.key for cloud in clouds if cloud.spot_label} | {"karpenter.sh/capacity-type"}
    return (
        (only or one.key in labels) and one.operator == "In" and bool(one.values) and SPOT_VALUES.issuperset(one.values)
    )


def landed(
    template: PodTemplate, pools: Iterable[NodePool], alike: Mapping[NodePool, NodePool]
) -> list[NodePool] | None:
    """List the pools a DaemonSet runs on; None if on every node.

    Raises NotKnown if some nodes may lack a label that it asks for.
    """
    terms = [tuple(one for one in term if one.key not in _COMMON) for term in known(template.selection) or ()]
    if isinstance(template.selection, Known):
        template = replace(template, selection=replace(template.selection, value=tuple(terms)))
    like = {pool: alike.get(pool, pool) for pool in pools}
    fits = {pool: fit(template, pool).fits for pool in {*like.values()}}
    found = [(pool, fits[own]) for pool, own in like.items()]
    asked = [one.key for term in terms for one in term if one.operator not in _RULES_OUT][:1]
    if asked and (not found or any(fits is None for _, fits in found)):
        raise NotKnown(Unknown(f"the number of nodes with the label {asked[0]} is not known"))
    return None if all(fits is not False for _, fits in found) else [pool for pool, fits in found if fits is not False]


class Labelled:
    """Pools that are found by their known labels."""

    def __init__(self, pools: list[NodePool]) -> None:
        self._pools = pools
        self._by_value = cache(lambda key: grouped(range(len(pools)), lambda i: _label(pools[i], key)))

    def selected(self, template: PodTemplate) -> list[NodePool]:
        """Leave out pools whose labels certainly differ from those that pods select."""
        terms = sure(template.selection) or ()
        wanted = [one for one in (terms[0] if len(terms) == 1 else ()) if one.operator == "In"]
        groups = ([self._by_value(one.key).get(value, []) for value in {None, *one.values}] for one in wanted)
        least = min(groups, key=lambda found: sum(map(len, found)), default=None)
        near = self._pools if least is None else [self._pools[i] for i in sorted(chain.from_iterable(least))]
        return [pool for pool in near if all(_label(pool, one.key) in (None, *one.values) for one in wanted)]


def _label(pool: NodePool, key: str) -> str | None:
    return (known(pool.scheduling.labels) or {}).get(key)


def untolerated(template: PodTemplate, taints: Sequence[str]) -> Iterator[str]:
    """Yield the taints, `key=value:Effect`, that pods certainly do not tolerate."""
    if taints and isinstance(template.tolerations, Known):
        by_key = grouped(template.tolerations.value, lambda one: one.key)
        for taint in filter(keeps_away, taints):
            key = taint.rpartition(":")[0].partition("=")[0]
            if not any(tolerates(one, taint) for own in {"", key} for one in by_key.get(own, ())):
                yield taint


def keeps_away(taint: str) -> bool:
    """Whether a taint, `key=value:Effect`, keeps pods off ready nodes."""
    rest, _, effect = taint.rpartition(":")
    return effect.replace("_", "").lower() != "prefernoschedule" and not _STARTING.search(rest.partition("=")[0])


def spot_taint(template: PodTemplate) -> str:
    """Return the taint of selected spot nodes that pods do not tolerate."""
    terms = sure(template.selection) or ()
    for one in registry.every():
        key = one.spot_label.key if one.spot_label and one.spot_taint else ""
        if key and terms and all(any(own.key == key and _is_spot(own) for own in term) for term in terms):
            return next(untolerated(template, [one.spot_taint]), "")
    return ""


def _labels(template: PodTemplate, pool: NodePool) -> Fit:
    own = template.selection
    results = [_term(term, pool) for term in sure(own) or ()]
    if isinstance(own, Unknown):
        barred = bool(results) and all(result.fits is False for result in results)
        return results[0] if barred else Fit(None, "label", reason_of(own), own)
    if any(result.fits for result in results) or not results:
        return _FITS
    return next((result for result in results if result.fits is None), results[0])


def _term(term: Iterable[Requirement], pool: NodePool) -> Fit:
    found = [(one, meets(one, pool)) for one in term]
    missed = next((one for one, meets in found if meets is False), None)
    if missed is not None:
        return Fit(fits=False, kind="label", why=required(missed))
    unknown = next((one for one, meets in found if meets is None), None)
    if unknown is None:
        return _FITS
    own, why = pool.scheduling.labels, f"whether its nodes have {required(unknown)} is not known"
    return Fit(None, "label", why, own if isinstance(own, Unknown) else None)


def required(one: Requirement) -> str:
    """Format a requirement on labels: gpu=h100, gpu in (a, b), no gpu=a."""
    if one.operator == "Exists":
        return f"a label {one.key}"
    if one.operator == "DoesNotExist":
        return f"no label {one.key}"
    values = one.values[0] if len(one.values) == 1 else f"({', '.join(one.values)})"
    text = f"{one.key}{_SIGNS.get(one.operator, '=')}{values}" if len(one.values) == 1 else f"{one.key} in {values}"
    return f"no {text}" if one.operator == "NotIn" else text


def meets(one: Requirement, pool: NodePool) -> bool | None:
    """Whether a pool's nodes meet a label requirement; None if unknown."""
    value = values_of(one.key, pool) if one.values or one.operator != "In" else set()
    if value is None:
        return None
    match one.operator:
        case "In":
            return bool(set(one.values) & value)
        case "NotIn":
            return not value or not value <= set(one.values)
        case "Exists":
            return bool(value)
        case "DoesNotExist":
            return not value
        case "Gt" | "Lt":
            own, than = ([n for one in texts if (n := whole_number(one)) is not None] for texts in (value, one.values))
            return any(a > b if one.operator == "Gt" else a < b for a in own for b in than)
    return None


def values_of(key: str, pool: NodePool) -> set[str] | None:
    """Return the values of a label on nodes of a pool; None if unknown."""
    own = pool.scheduling.labels
    if isinstance(own, Known) and key in own.value:
        return {own.value[key]}
    cluster = known(pool.cluster)
    cloud = registry.cloud(cluster.cloud) if cluster else None
    if key in INSTANCE:
        return set(pool.machine.instance_types.value) if isinstance(pool.machine.instance_types, Known) else None
    if cloud and key in cloud.pool_labels:
        return {pool.name.value} if isinstance(pool.name, Known) else None
    if cloud and cloud.spot_label and key == cloud.spot_label.key:
        spot, other = cloud.spot_label.spot, cloud.spot_label.on_demand
        if not isinstance(pool.market.spot, Known):
            return None if isinstance(pool.market.spot, Unknown) else {other} - {""}
        return {spot} if pool.market.spot.value else {other} - {""}
    if key.endswith("zone") and key in registry.zone_labels() and (zones := zones_of(pool)):
        return zones
    if key in _SYSTEM:
        return {pool.system.os.value.lower()} if isinstance(pool.system.os, Known) else None
    if isinstance(own, Unknown) or cluster is None:
        return None
    given = (*_DRIVERS, *(domain for one in registry.every() for domain in one.label_domains))
    return None if key.partition("/")[0].endswith(given) else set()


def zones_of(pool: NodePool) -> set[str]:
    """Return the zones of a pool as in node labels; empty if unknown."""
    zones = known(pool.placement.zones) or ()
    return (
        set() if any(zone.isdigit() for zone in zones) else set(zones)
    )  # Azure's are numbers, its label has the region


def _offered(pool: NodePool, slots: Amount | None) -> Amount | None:
    gpus = known(pool.machine.gpus)
    return None if gpus is None else slots or exactly(gpus)


def _cards(template: PodTemplate, pool: NodePool, slots: Amount | None) -> Fit:
    wanted = number(template.gpus, 0)
    types = pool.machine.instance_types  # Karpenter chooses them for the pods
    missing = types if isinstance(types, Unknown) and not equals(pool.mode, "Karpenter") else None
    if template.all_cards:
        return _FITS if known(pool.machine.gpu) else Fit(known(pool.machine.gpu), "gpus", "GPUs", missing)
    if isinstance(template.gpus, Unknown):
        return Fit(None, "gpus", template.gpus.reason, template.gpus)
    if not wanted:
        return _FITS
    sharing = {cloud.sharing_label for cloud in registry.every()}
    for label, mode in (known(pool.scheduling.labels) or {}).items():
        if label in sharing and mode != "default":  # parts of cards, and no whole ones
            return Fit(None if mode == "disabled" else False, "gpus", f"whole GPUs beside {label}={mode}")
    offered = _offered(pool, slots)
    names = known(types) if offered is not None and offered.low else ()
    if names and (others := _vendors(template) - resources.vendors(names)):
        return Fit(fits=False, kind="gpus", why=f"GPUs by {min(others)}")
    if offered is not None and (offered.low or not known(pool.machine.gpu)):  # 0 stands for unknown cards
        if offered.low >= wanted:
            return _FITS
        why = f"{counted(wanted, 'GPU')} on one node" if offered.low else "GPUs"
        return Fit(False if offered.high is not None and offered.high < wanted else None, "gpus", why)
    return Fit(False if known(pool.machine.gpu) is False else None, "gpus", "GPUs", missing)


def _vendors(template: PodTemplate) -> set[str]:
    """Return the domains of the resources by which pods request GPUs."""
    asked = {known(one.gpu) or "" for one in template.containers if (known(one.gpu_limit) or "1").strip("0.m")}
    return {name.partition("/")[0] for name in asked.intersection(resources.cards())}


def _size(template: PodTemplate, pool: NodePool, taken: Taken) -> Fit:
    found = rooms(pool)
    if not found:
        return Fit(None, "cpu", "the size of its machines is not known") if known(template.cpu) else _FITS
    missing = shortage(template, pool, taken)
    if missing is not None:
        return Fit(fits=False, kind=missing.resource, why=_amount(missing))
    sure = [all(one.fits for one in shares(template, room, taken)) for room in found]
    # Karpenter chooses the machine for the pod; of a group with several types, any may come
    every = any if equals(pool.mode, "Karpenter") else all
    return _FITS if every(sure) else Fit(None, "cpu", "not all of its machines are sure to be large enough")


def _amount(missing: Share) -> str:
    cpu, asked = missing.resource == "cpu", missing.asked
    return f"{asked / 1000:,.3g} CPUs on one node" if cpu else f"{asked / 2**30:,.3g} GiB of memory on one node"


def _taints(template: PodTemplate, pool: NodePool) -> Fit:
    found = keeping(template, pool)
    if found:
        return Fit(fits=False, kind="taint", why=found[0].rpartition(":")[0].removesuffix("="))
    of_spot = any(untolerated(template, _spot_taints(pool)))
    given = (pool.scheduling.taints, template.tolerations, *((pool.market.spot,) if of_spot else ()))
    unknown = first_unknown(given)
    return Fit(None, "taint", unknown.reason, unknown) if unknown else _FITS


def keeping(template: PodTemplate, pool: NodePool) -> tuple[str, ...]:
    """List the taints that keep pods off a pool."""
    found = (taint for taint in untolerated(template, taints(pool)) if not _admitted(template, pool, taint))
    return tuple(dict.fromkeys(found))


def taints(pool: NodePool) -> list[str]:
    """List the taints of a pool's nodes, with that of the cloud's spot nodes."""
    own = list(known(pool.scheduling.taints) or ())
    return [*own, *_spot_taints(pool)] if known(pool.market.spot) is True else own


def _spot_taints(pool: NodePool) -> list[str]:
    cluster = known(pool.cluster)
    taint = registry.cloud(cluster.cloud).spot_taint if cluster is not None else ""
    return [taint] if taint else []


def _admitted(template: PodTemplate, pool: NodePool, taint: str) -> bool:
    """Whether the API server adds the toleration for a requested resource."""
    cluster = known(pool.cluster)
    key = taint.partition("=")[0].partition(":")[0]
    asked = any(key in (known(one.gpu), *dict(one.extended)) for one in template.containers)
    evicts = "execute" in taint.rpartition(":")[2].lower()  # of such a taint it adds none
    admits = cluster is not None and registry.cloud(cluster.cloud).admits_asked_resources
    return admits and asked and not evicts


def tolerates(one: Toleration, taint: str) -> bool:
    """Whether a toleration covers a taint, `key=value:Effect`."""
    rest, _, effect = taint.rpartition(":")
    key, _, value = rest.partition("=")
    if one.effect and one.effect.lower() != effect.replace("_", "").lower():
        return False
    if not one.key:
        return one.operator == "Exists"
    return one.key == key and (one.operator == "Exists" or one.value == value)
