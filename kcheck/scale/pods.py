"""Pods and their containers: placement, requests, volumes, time to stop."""

from collections.abc import Callable

from kcheck.config.numbers import flags, profiles
from kcheck.config.numbers.clouds import CLOUDS, owners
from kcheck.model import STAY, Container, Image, NodePool, PodTemplate, Volume, Workload
from kcheck.scale import placement
from kcheck.scale.jobs import alike
from kcheck.scale.word_helpers import computed, may_count
from kcheck.scale.world import World
from kcheck.scale.world.memory import once
from kcheck.text import placeholders
from kcheck.text.amount import Amount
from kcheck.text.need import first_unknown, if_set, need, or_unknown
from kcheck.text.regex import regex
from kcheck.text.values import Known, Origin, Unknown, Unset, Value, known, mapped, number, sure


def image(one: Container, world: World) -> Image | None:
    """Return the image of a container; None without one, or if it is never pulled."""
    if_set(one.image)  # which tells whether it has one
    return next((image for image in world.deployed.workload(one).images if image.id == one.id), None)


def name(pods: PodTemplate, world: World) -> str:
    """Return kind and name of the workload, with the role of the pods."""
    owner = world.deployed.workload(pods)
    role = f" ({pods.role})" if pods.role else ""
    return f"{owner.kind} {known(owner.name) or '?'}{role}"


# --- where they land


def node_labels(pods: PodTemplate, _world: World) -> Value[tuple[str, ...]]:
    """List the labels that every selector term of pods requires, as key=value."""
    if not isinstance(pods.selection, Known):
        return pods.selection
    told = [[one for one in term if one.operator in ("In", "Exists")] for term in pods.selection.value]
    terms = [[f"{one.key}={','.join(one.values)}".rstrip("=") for one in term] for term in told]
    found = terms[0] if terms else []
    return Known(tuple(one for one in found if all(one in term for term in terms)), pods.selection.origin)


def of_machines(
    read: Callable[[str, str], int | None], choose: Callable[..., int | None]
) -> Callable[[PodTemplate, World], Value[int]]:
    """Define a word: a number of the machine types that pods select."""

    def word(pods: PodTemplate, _world: World) -> Value[int]:
        terms = sure(pods.selection) or if_set(pods.selection) or ()
        types = [{name for one in term if one.key in placement.INSTANCE for name in one.values} for term in terms]
        names = set().union(*types) if all(types) else ()
        found = [next(filter(None, (read(cloud, name) for cloud in CLOUDS)), None) for name in names]
        return computed(pods, None if None in found else choose(found, default=None))

    return word


def gpu_selector(pods: PodTemplate, world: World) -> str | None:
    """Return the label by which pods select GPU nodes."""
    own, labels = placement.gpu_label(pods), if_set(node_labels(pods, world))
    if own or not labels:
        return own or None
    job = world.deployed.workload(pods).batch  # a service may fill what is left of a node
    found = need(world.pools.candidates(pods)) if job and world.inventory.clusters else []
    certain = bool(found) and all(taken and known(pool.machine.gpu) for pool, taken in found)
    tainted = certain and all(placement.taints(pool) for pool, _ in found)
    return labels[0] if tainted else None


def pools(pods: PodTemplate, world: World) -> list[NodePool]:
    """List the pools that pods can run on."""
    return [pool for pool, _ in need(world.pools.candidates(pods))]


def sure_pools(pods: PodTemplate, world: World) -> list[NodePool]:
    """List the pools that certainly take pods. Raises NotKnown if one may."""
    found = need(world.pools.candidates(pods))
    taking = [pool for pool, certain in found if certain]
    if not taking:
        need(first_unknown(world.pools.fit(pods, pool).missing for pool, _ in found))
    return taking


def pool(pods: PodTemplate, world: World) -> NodePool | None:
    """Return the pool that pods run on, or the first of several equal ones."""
    return next(iter(alike(pods, world)), None)


def nodes(pods: PodTemplate, world: World) -> int | None:
    """Count the nodes of all pools that pods can run on; None without any."""
    found = [need(world.sizes.of_pool(pool)) for pool in pools(pods, world)]
    return sum(found) if found else None


def per_node(pods: PodTemplate, world: World) -> int | None:
    """Count the pods that fit a node of their pools; None if unknown."""
    found = alike(pods, world)
    each = world.pools.per_node(pods, found[0], ports=False) if found else None
    if found and each is None:
        need(first_unknown((pods.gpus, found[0].machine.instance_types)))
    return each.exact if each else None


# --- what they ask for


_PROGRAM = regex(r"(?:sleep +)?(\S+)")


def text(one: Container, _world: World) -> str:
    """Return the command of a container with its arguments and variables."""
    program = found[1] if (found := _PROGRAM.match(one.text)) else ""
    need(placeholders.unknown([program]) if placeholders.first(program) == program else None)
    return one.text


def held(pods: PodTemplate, world: World) -> int:
    """Count the GPUs that a service's pods hold at any load."""
    owner = world.deployed.workload(pods)
    is_known = f"{owner.group}/{owner.kind}".strip("/") in profiles.workloads()
    if owner.batch or owner.per_node or owner.kind == "Pod" or not is_known:
        return 0
    return need(pods.count if isinstance(pods.kept, Unset) else pods.kept) * need(pods.gpus)


_PORT = regex(r"(?:--(?:master[-_])?port[= ]+|_PORT[= ]|--rdzv[-_]endpoint[= ]+[^\s:]+:)([0-9]{2,5})(?![0-9])")


def fixed_ports(pods: PodTemplate, _world: World) -> tuple[int, ...]:
    """List the distinct ports in commands and variables of pods."""
    found = (int(port) for one in pods.containers for port in _PORT.findall(one.text))
    return tuple(dict.fromkeys(found))


def watches(pods: PodTemplate, world: World) -> Value[tuple[str, ...]]:
    """List the resources that pods may watch in the whole cluster."""
    owner = world.deployed.workload(pods)
    found = world.deployed.beside(owner).watchers
    space, account = known(owner.namespace) or "", if_set(pods.account) if found else None
    for one in found if account else ():
        if any(own == account and (not of or not space or of == space) for of, own in one.accounts):
            return one.resources
    return Known((), Origin((pods.place,)))


def requests_from(one: Container, world: World) -> Value[str]:
    """Return where requests of a container without any come from."""
    owner = world.deployed.workload(one)
    if any(pods.asks_as_one and one in pods.containers for pods in owner.templates):
        return computed(one, "the pod")
    if owner.kind == "TrainJob":
        return computed(one, "the runtime")
    ranges = _limit_ranges(world.deployed.scope(owner), world)
    return computed(one, "a LimitRange" if ranges & {known(owner.namespace), None} else None)


@once
def _limit_ranges(scope: str, world: World) -> set[str | None]:
    """Return the namespaces with a LimitRange; None is no namespace."""
    return {known(limit.namespace) for limit in world.deployed.in_scope(scope).limits if limit.kind == "LimitRange"}


def volumes(wanted: Callable[[Volume], bool]) -> Callable[[PodTemplate, World], Value[tuple[str, ...]]]:
    """Define a word: the names of the selected volumes."""
    return lambda pods, _: mapped(pods.volumes, lambda found: tuple(one.name for one in found if wanted(one)))


def in_memory(volume: Volume) -> bool:
    """Whether a volume uses memory. Raises NotKnown for an unknown medium."""
    return if_set(volume.medium) == "Memory"


NOTICE = "spot.notice"


def coming(workload: Workload, world: World) -> int:
    """Count the GPU pods of a workload that wait until an autoscaler has added nodes."""
    sum_ = 0
    for template in workload.templates:
        if not may_count(template.gpus):
            continue
        found, count = need(world.pools.candidates(template)), need(template.count)
        growing = [pool for pool, _ in found if need(template.gpus) and if_set(pool.size.autoscaled)]
        ready = sum((if_set(pool.size.min_nodes) or 0) * _most_per_node(template, pool, world) for pool in growing)
        sum_ += max(0, count - ready) if growing else 0
    return sum_


def _most_per_node(template: PodTemplate, pool: NodePool, world: World) -> int:
    each = world.pools.per_node(template, pool)
    return (each.high if each else None) or 1


def time_to_stop(template: PodTemplate, world: World) -> Value[int] | Amount:
    """Return the seconds that pods get to stop; null without a limit."""
    found = _time_to_stop(template, world)
    return Amount(_granted(template, world), None, found, found.origin) if isinstance(found, Unknown) else found


@or_unknown
def _time_to_stop(template: PodTemplate, world: World) -> Value[int]:
    found = need(world.pools.candidates(template))
    cluster = world.inventory.cluster_of.get(world.deployed.workload(template))
    unsure = [pool for pool, certain in found if not certain]
    need(placement.deciding(world.pools.fit(template, pool) for pool in unsure))
    need(first_unknown((template.gpus, *(pool.market.spot for pool in unsure))))
    spot = [pool for pool, certain in found if certain and if_set(pool.market.spot)]
    if cluster is not None and spot and len(spot) == len(found):
        entry = world.numbers.limits(cluster.cloud).get(NOTICE)
        return computed(template, entry.number if entry else None)
    autoscaler = world.autoscaling.autoscaler(cluster) if cluster else None
    if autoscaler is None or not isinstance(autoscaler.grace, Known | Unknown):
        return computed(template, None)
    moved = [
        pool for pool, certain in found if certain and known(pool.size.autoscaled) and known(pool.mode) != "Karpenter"
    ]
    if not moved or STAY in (known(template.annotations) or {}):
        return computed(template, None)
    return autoscaler.grace


def _granted(template: PodTemplate, world: World) -> int:
    """Return the minimum seconds to stop, over clusters and spot notices."""
    times = [one.grace for one in world.inventory.autoscalers if not isinstance(one.grace, Unset)]
    usual = int(flags.flags()["max-graceful-termination-sec"]["default"])
    least = min([usual, *(number(time, 0) for time in times)])
    if world.inventory.clusters or placement.asks_for_spot(template) or isinstance(template.selection, Unknown):
        notices = [world.numbers.limits(cloud).get(NOTICE) for cloud in owners()]
        least = min([least, *(notice.number for notice in notices if notice is not None)])
    return least


_LOOKED_AT, _NAMED = 50, 3


def fillers(template: PodTemplate, world: World) -> list[Workload]:
    """List workloads that fit beside these pods on each node."""
    if not number(template.gpus, 0):
        return []
    of, each = pool(template, world), per_node(template, world)
    if of is None or not each:
        return []
    left = number(of.machine.gpus, 0) - each * number(template.gpus, 0)
    if left <= 0:
        return []
    owner, cpu = world.deployed.workload(template), world.pools.cpu_left(of)
    result: dict[Workload, None] = {}
    for other in _small(of, world):
        workload = world.deployed.workload(other)
        room = cpu is None or number(other.cpu, 0) <= cpu - each * number(template.cpu, 0)
        if workload is not owner and number(other.gpus, 0) <= left and room:
            result[workload] = None
    return list(result)[:_NAMED]


@once
def _small(of: NodePool, world: World) -> list[PodTemplate]:
    """List the GPU pods that may run on a pool, those with the fewest GPUs first."""
    cluster = known(of.cluster)
    found = [
        template
        for workload in (world.deployed.on(cluster).workloads if cluster else ())
        for template in workload.templates
        if number(template.gpus, 0) and world.pools.fit(template, of).fits is not False
    ]
    return sorted(found, key=lambda one: number(one.gpus, 0))[:_LOOKED_AT]
