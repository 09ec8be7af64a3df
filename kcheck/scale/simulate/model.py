"""Inputs and results of a run; times are in seconds."""

from math import ceil, inf
from typing import NamedTuple

from msgspec import Struct

from kcheck.config.numbers.machines import Price

NEVER = inf
HORIZON = 48 * 3600  # seconds beside its work after which a run is given up


class Pool(Struct, frozen=True):
    """Node pool of a job: `least` to `most` nodes, `existing` at the start."""

    name: str
    most: int
    least: int = 0
    existing: int = 0
    spot: bool = False
    price: Price | None = None
    gpus: int = 0


class Job(Struct, frozen=True):
    """Job with a pod per node and seconds of work; a gang starts together.

    It is submitted `at` a time, and fails `deadline` seconds after its admission. Pods of higher `priority` come first,
    and take nodes if it `preempts`. Where `completions` exceed `parallel`, the pods of a node follow each other. A
    CronJob starts each `period`, as `concurrency` allows. A node counts `weight` times in its `queue`.
    """

    pods: int
    duration: float
    gang: bool = False
    anti_affinity: bool = False
    gpu: bool = False
    name: str = ""
    at: float = 0
    priority: int = 0
    preempts: bool = True
    queue: str = ""
    deadline: float = inf
    completions: int = 0
    parallel: int = 0
    period: float = inf
    concurrency: str = ""
    weight: float = 1

    @property
    def runs(self) -> int:
        """Pods that run in all, one after the other on each node."""
        return ceil(self.pods * self.completions / self.parallel) if self.parallel else self.pods

    @property
    def length(self) -> float:
        """Longest work of a node, in seconds."""
        return self.duration * ceil(self.runs / max(1, self.pods))


class Queue(Struct, frozen=True):
    """Queue whose jobs get at most `nodes` nodes; it may preempt."""

    name: str
    nodes: int
    preempts: bool = False


class Settings(Struct, frozen=True):
    """Flags of the cluster autoscaler, and its minor version.

    Those that are fields of Autoscaler are called as there. With `karpenter` only its own settings count: the interval,
    `unneeded_time` (consolidateAfter), `bulk_delete` (budgets).
    https://github.com/kubernetes/autoscaler/blob/master/cluster-autoscaler/FAQ.md#what-are-the-parameters-to-ca
    """

    minor: int = 37
    karpenter: bool = False
    scan_interval: float = 10
    frequent_loops: bool | None = None
    max_unready_percentage: float = 45
    max_unready_nodes: int = 3
    startup_time: float = 900
    provision_time: float = 900
    new_pod_delay: float = 0
    max_nodes: int = 0
    scale_up_nodes: int = 1000
    binpacking_time: float = 10
    balance: bool = False
    scale_down: bool = True
    unneeded_time: float = 600
    delay_after_add: float = 600
    delay_after_delete: float = 0
    delay_after_failure: float = 180
    local_delays: bool = False
    bulk_delete: int = 10
    client_qps: float = 5
    client_burst: float = 10
    taint_delay: float = 5
    soft_taints: int = 10
    soft_taint_time: float = 3
    batcher_interval: float = 0
    parallel_drain: bool | None = None
    salvo: bool = False
    backoff: float = 300
    backoff_most: float = 1800
    backoff_reset: float = 10800

    @property
    def modern(self) -> bool:
        """Whether it deletes with the actuator of 1.25, the default from 1.28 on."""
        return self.minor >= 32 or (
            self.minor >= 25 and (self.minor >= 28 if self.parallel_drain is None else self.parallel_drain)
        )

    @property
    def batch_flag(self) -> str:
        """Flag that sets `bulk_delete`."""
        return "max-scale-down-parallelism" if self.minor >= 25 else "max-empty-bulk-delete"

    @property
    def eager(self) -> bool:
        """Whether the next loop starts at once while there is work."""
        frequent = self.minor >= 35 if self.frequent_loops is None else self.frequent_loops
        return self.minor >= 30 and frequent and not self.karpenter


class Cloud(Struct, frozen=True):
    """Delays and rates of a cloud, per second; `interruptions` are per hour.

    profiles/*/simulation.yaml says what each field is; a deletion call is of a machine if `serial`, else of a batch.
    """

    name: str
    launch_rate: float
    boot: float
    boot_sigma: float
    stragglers: float
    straggler_mean: float
    lost: float
    pod_rate: float
    pull: float
    serial: bool
    shrinks_first: bool
    delete_call: float
    delete_call_sigma: float
    delete_latency: float
    late: float
    delete_tail: float
    lookup_from: float
    linger: float
    loop: float
    loop_per_node: float
    loop_deleting: float
    loop_sigma: float
    taint_requests: float
    event_requests: float
    affinity_check: float
    fit_check: float
    interruptions: float
    create_rate: float
    create_burst: float
    schedule_rate: float
    granularity: float
    least_paid: float


class Case(Struct, frozen=True):
    """Inputs of a run: a job, and `others` beside it.

    `system_nodes` exist and are healthy; walls allow `ceiling` nodes. A registry allows `pulls` in a `window` of
    seconds, one for each pod; 0 for no limit.
    """

    pools: tuple[Pool, ...]
    job: Job
    settings: Settings
    cloud: Cloud
    seed: int = 0
    system_nodes: int = 0
    ceiling: int | None = None
    pulls: int = 0
    window: float = 21600
    horizon: float = HORIZON
    others: tuple[Job, ...] = ()
    queues: tuple[Queue, ...] = ()

    @property
    def jobs(self) -> tuple[Job, ...]:
        """All jobs of the run."""
        return (self.job, *self.others)

    @property
    def pods(self) -> int:
        """Pods of all jobs."""
        return sum(job.pods for job in self.jobs)

    @property
    def work(self) -> float:
        """Node-seconds of the work itself."""
        return sum(job.runs * job.duration for job in self.jobs)

    @property
    def is_static(self) -> bool:
        """Whether all its nodes are there before and after."""
        return all(pool.least >= pool.most for pool in self.pools)


class Point(NamedTuple):
    """Nodes of the cluster at a time, by state."""

    time: float
    target: int
    launched: int
    ready: int
    busy: int
    empty: int
    deleting: int


class Event(Struct, frozen=True):
    """Event visible to an operator."""

    time: float
    what: str
    pool: str
    nodes: int


PHASES = ("boot", "pull", "turn", "wait", "work", "timer", "idle", "queue", "delete")
"""Phases of a node's paid time: until it is ready, pulling images, held up by the rate at which pods start, waiting for
a gang's last node, work, idle until its timer starts, until that ends, waiting for its deletion, being deleted.
"""


class JobTimes(Struct, frozen=True):
    """Start and end of a job's work, infinite if none; pods `left` and `held`."""

    name: str
    start: float
    done: float
    left: int
    held: int


class Phase(NamedTuple):
    """Phase in the life of one node."""

    phase: str
    begin: float
    end: float


class Use(Struct, frozen=True):
    """Nodes of a pool in a run, with their paid seconds by phase."""

    nodes: int
    phases: dict[str, float]
    held: int = 0


class Summary(Struct):
    """Result of a run: seconds since the job was created, paid seconds by phase.

    `finished`: all pods ran and all nodes above the minimum are gone. `held`: seconds by setting. `uses`: by pool.
    `lost` seconds were done in vain, on `interrupted` spot nodes and for other jobs. `failed` pods were not done at
    their deadline; `refused` ones waited for a registry. A larger `bound` setting would have changed the run.
    """

    total: float
    finished: bool
    first_ready: float
    last_ready: float
    last_start: float
    last_done: float
    pods_done: int
    launched: int
    paid: float
    phases: dict[str, float]
    uses: tuple[Use, ...]
    held: dict[str, float] = {}
    bound: frozenset[str] = frozenset()
    jobs: tuple[JobTimes, ...] = ()
    interrupted: int = 0
    lost: float = 0
    failed: int = 0
    refused: int = 0

    def overspend(self, case: Case) -> float:
        """Return paid time divided by the time of the work itself."""
        return self.paid / case.work


class Run(Struct):
    """Run with its events; `readies` are the times when nodes became ready."""

    summary: Summary
    timeline: list[Point]
    events: list[Event]
    readies: list[float] = []
