"""Numbers of the sample job: pod resources, deadline and nodes."""

from typing import NamedTuple

from kcheck.config.numbers import fabrics, machines
from kcheck.config.numbers.profiles import limits
from kcheck.config.numbers.reserved import GI, MI, Node, Reserved, taken
from kcheck.generate import recommended
from kcheck.generate.intent import Intent, label
from kcheck.generate.pools import Pool, in_scale_set
from kcheck.inventory.clouds.registry import cloud
from kcheck.scale.usage.requests import cpu_text

_ZONE = "topology.kubernetes.io/zone"
_HOUR = 3600


EFA = "vpc.amazonaws.com/efa"


class FileSystem(NamedTuple):
    """File system for checkpoints: capacity, its MB/s, and those needed."""

    capacity: int
    speed: int
    wanted: int


class FastNeighbours(NamedTuple):
    """Label of nodes with the fastest network between them, and their name."""

    key: str
    value: str
    name: str


class Job(NamedTuple):
    """Numbers of the sample job: CPUs, GiB, and seconds of deadline and grace.

    `least` is the number of nodes with which an elastic job starts. `near` labels nodes with fast networking, None on
    spot.
    """

    team: str
    tier: str
    nodes: int
    least: int
    processes: int
    cpu: str
    memory: int
    shm: int
    deadline: int
    grace: int
    kept: int
    on_spot: bool
    near: FastNeighbours | None


def job(intent: Intent, pools: list[Pool]) -> Job:
    """Return the usual job of the first team, in the middle tier."""
    usual = recommended.values(intent.cloud)
    on_demand = [pool for pool in pools if not pool.spot]
    on_spot = intent.job_nodes > sum(pool.nodes for pool in on_demand)
    processes = intent.gpus or 1
    return Job(
        team=intent.teams[0].name,
        tier=intent.tiers[len(intent.tiers) // 2],
        nodes=intent.job_nodes,
        least=max(1, intent.job_nodes * int(usual["job.least"]) // 100),
        processes=processes,
        cpu=cpu_text(millicores(intent)),
        memory=memory_left(intent) or _least_memory(intent),
        shm=processes * int(usual["job.shm"]),
        deadline=intent.job_hours * _HOUR * int(usual["job.deadline"]) // 100,
        grace=_grace(intent, on_spot=on_spot),
        kept=limits("any")["job.kept"].number,
        on_spot=on_spot,
        near=None
        if on_spot
        else fast_neighbours(intent, next((p for p in on_demand if p.nodes >= intent.job_nodes), on_demand[0])),
    )


def scratch(gigabytes: int) -> int:
    """Return GiB of a node's local disks that a pod of the sample job may fill."""
    return gigabytes * 10**9 * int(recommended.values("any")["job.scratch"]) // 100 >> 30


def vcpus(intent: Intent) -> int | None:
    """Return CPUs of the smallest machine type; None if any is unknown."""
    found = [machines.machine(intent.cloud, name) for name in intent.machines]
    numbers = [one.vcpus for one in found if one is not None and one.vcpus is not None]
    return min(numbers) if len(numbers) == len(intent.machines) else None


def millicores(intent: Intent) -> int:
    """Return a pod's share of a node's CPUs in thousandths, whole if possible.

    For unknown machine types it is a safe lower bound.
    """
    usual = recommended.values(intent.cloud)
    of_node = vcpus(intent) or max(intent.gpus, 1) * int(usual["job.vcpus"])
    whole, rest = of_node * int(usual["job.cpu"]) // 100 * 1000, of_node * 1000
    for node, kept in _kept(intent):
        rest = min(rest, node.cpu - (kept.cpu.high or 0))
    return whole if 0 < whole <= rest else min(max(rest, 0) * int(usual["job.cpu"]) // 5000 * 50, 1000)


def memory_left(intent: Intent) -> int | None:
    """Return whole GiB of a node for a pod, after kubelet and DaemonSets.

    Karpenter starts no node for a pod that requests more than it expects of the machine type. On some clouds a pod
    should take at most a share of the node.
    """
    usual, found = recommended.values(intent.cloud), []
    share = int(usual.get("job.memory_share", 100))
    for node, kept in _kept(intent):
        if kept.memory.high is None or kept.eviction.high is None:
            return None
        left = node.memory - kept.memory.high - kept.eviction.high - _hidden(intent, node)
        found.append(min(left - int(usual["job.agents"]) * GI, node.memory * share // 100))
    if not found:
        return None
    left = min(found) // GI
    step = int(usual["job.step"])
    return (left if left < step * step else left // step * step) if left > 0 else None


def _hidden(intent: Intent, node: Node) -> int:
    """Return bytes no pod gets: of the hypervisor and huge pages."""
    machine, each = machines.machine(intent.cloud, node.machine), recommended.values(intent.cloud).get("efa.huge_pages")
    with_efa = each is not None and intent.gpus and machine is not None and machine.efa
    pages = int(each or 0) * MI * node.cpu // 1000 if with_efa else 0
    own = taken(limits("any")["reserved.memory_overhead"].text, node.memory, GI) + pages
    if intent.autoscaler != "karpenter":
        return own
    return max(own, taken(limits("any")["reserved.memory_karpenter"].text, node.memory, GI))


def _kept(intent: Intent) -> list[tuple[Node, Reserved]]:
    """List a node with its reserved resources for each machine type."""
    pods, found = recommended.values(intent.cloud).get("pools.max_pods"), []
    for name in intent.machines:
        machine, memory = machines.machine(intent.cloud, name), machines.memory(intent.cloud, name)
        if machine is None or machine.vcpus is None or memory is None:
            return []
        node = Node(name, machine.vcpus * 1000, memory, int(pods) if pods else None, intent.minor)
        found.append((node, cloud(intent.cloud).reserved(node)))
    return found


def _least_memory(intent: Intent) -> int:
    each = recommended.values(intent.cloud)["job.memory_gpu" if intent.gpus else "job.memory_cpu"]
    return max(1, millicores(intent) // 1000) * int(each)


def efa(intent: Intent) -> int:
    """Return the EFA interfaces per node; 0 if spot nodes cannot have them."""
    machine = machines.machine(intent.cloud, intent.machine)
    able = intent.gpus and (intent.spot_nodes < intent.nodes or efa_on_spot(intent))
    return machine.efa if machine is not None and able else 0


def efa_on_spot(intent: Intent) -> bool:
    """Whether spot nodes have EFA: one zone, and equal machine types."""
    found = [machines.machine(intent.cloud, name) for name in intent.machines]
    return len(intent.zones) == 1 and len({machine.efa if machine else 0 for machine in found}) == 1


class Interfaces(NamedTuple):
    """Fast-network interfaces that a pod requests, and the network's name.

    `on_spot`: spot nodes have them too.
    """

    resource: str = ""
    number: int = 0
    network: str = ""
    on_spot: bool = False


def interfaces(intent: Intent) -> Interfaces:
    """Return the interfaces by which pods get their fast network."""
    if efa(intent):
        return Interfaces(EFA, efa(intent), "EFA", on_spot=efa_on_spot(intent))
    if intent.fabric not in ("", "none"):
        name = f"fabric.{intent.fabric.replace('-', '_')}"
        number = len(intent.cards) if "sriov" in intent.fabric else intent.gpus
        return Interfaces(str(recommended.values(intent.cloud)[name]), number, recommended.reasons(intent.cloud)[name])
    found = [fabrics.fabric(intent.cloud, name) for name in intent.machines]
    known = [one for one in found if one is not None]
    asked = recommended.values(intent.cloud).get("fabric.asked")
    if asked is not None and intent.job_nodes > 1 and intent.gpus and len(known) == len(found):
        return Interfaces(known[0].resource, int(asked), known[0].name, on_spot=True)
    if not by_pool(intent) or not intent.gpus or intent.spot_nodes == intent.nodes or len(known) < len(found):
        return Interfaces()
    return Interfaces(known[0].resource, min(one.interfaces for one in known), known[0].name)


def _grace(intent: Intent, *, on_spot: bool) -> int:
    """Return the grace period in seconds, at most a spot node's notice."""
    wanted = int(recommended.values(intent.cloud)["job.grace"])
    notice = limits(intent.cloud).get("spot.notice")
    fast = interfaces(intent)
    joins = fast.on_spot or not fast.number
    may = on_spot or (intent.scheduler == "kueue" and intent.spot_nodes > 0 and joins)
    return min(wanted, notice.number) if may and notice is not None else wanted


def by_pool(intent: Intent) -> bool:
    """Whether fast networking is limited to a pool, like InfiniBand on Azure."""
    return intent.job_nodes > 1 and in_scale_set(intent)


def fast_neighbours(intent: Intent, pool: Pool) -> FastNeighbours:
    """Return the nodes with a fast network to a pool."""
    if by_pool(intent):
        name = pool.name.replace("-", "")
        return FastNeighbours(str(recommended.values(intent.cloud)["label.pool_name"]), name, name)
    return FastNeighbours(_ZONE, zone(intent, pool.zones[0]), label(pool.zones[0]))


def zone(intent: Intent, name: str) -> str:
    """Return a zone's value of topology.kubernetes.io/zone."""
    return str(recommended.values(intent.cloud)["label.zone"]).format(zone=name, region=intent.region)
