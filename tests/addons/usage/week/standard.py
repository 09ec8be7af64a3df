"""Build the standard week, in which the behaviour of each workload is known; code.py declares the same workloads."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.addons.usage.week.cluster import GIB, GPU, HOUR, MIB, Container, Gpu, Machine, Node, Pod, QueueWaits, Week
from tests.addons.usage.week.openmetrics import identity
from tests.addons.usage.week.shapes import bursts, constant, grows, start_up, steady

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.addons.usage.week.shapes import Shape

MINUTE = 60
DAYS = 7
END = 1_794_787_200
"""End of the week: Monday, 16 November 2026, 00:00 UTC."""
BEFORE = 3 * 24 * HOUR
"""Seconds before the week at which the pods that exist at its beginning were started."""
H100 = Machine("NVIDIA H100 80GB HBM3", 81_559, 8)
A100 = Machine("NVIDIA A100-SXM4-80GB", 81_920, 8)
A10G = Machine("NVIDIA A10G", 23_028, 8)

TEAMS = {"search": "search", "vision": "vision", "language": "language"}
"""Namespaces with their label `team`."""


def gpu(busy: float, memory: float, seed: int, *, tensor: float = 0, power: float = 200) -> Gpu:
    """Return the use of a GPU that is busy for a percentage of the time."""
    return Gpu(steady(busy, seed), constant(memory), steady(tensor, seed), steady(power, seed))


def size(cpu: float, memory: float, gpus: int = 0) -> dict[str, float]:
    """Return resource quantities from cores, GiB and GPUs."""
    return {"cpu": cpu, "memory": memory * GIB} | ({GPU: gpus} if gpus else {})


def box(name: str, cpu: Shape, memory: Shape, requests: dict[str, float], cap: float = 0, use: Gpu | None = None) -> Container:  # fmt: skip
    """Return a container; `cap` is its memory limit in GiB, and its GPU limits equal its requests."""
    limits = {"memory": cap * GIB} if cap else {}
    return Container(name, cpu, memory, requests, limits | {key: one for key, one in requests.items() if key == GPU}, use)  # fmt: skip


API = box("api", steady(0.5, 1, daily=0.1), steady(1.2 * GIB, 2), size(4, 1.5), 2)
"""A container that requests eight times the cores that it uses."""
PROXY = box("proxy", steady(0.08, 3), constant(90 * MIB), size(0.1, 0.125), 0.25)
INDEX = box("index", steady(0.9, 4), steady(3.8 * GIB, 5, spread=0.01), size(1, 4), 4)
"""A container whose memory is at 95 % of its limit."""
EMBEDDER = box("embedder", constant(0.7), grows(0.6 * GIB, 1.98 * GIB, 30 * HOUR), size(1, 2), 2)
"""A container that is OOM-killed when its memory reaches the limit."""
AGENT = box("agent", steady(0.05, 6), constant(60 * MIB), size(0.1, 0.125))
PRETRAIN = box(
    "pytorch", start_up(60, 10 * MINUTE, steady(12, 7)), steady(400 * GIB, 8), size(96, 800, 8), 1000,
    gpu(92, 71_000, 9, tensor=55, power=640),
)  # fmt: skip
"""A container that needs 60 cores for ten minutes to load data, and 12 afterwards."""
SEGMENTER = box("train", steady(2, 10), steady(30 * GIB, 11), size(16, 128, 4), 0, gpu(3, 60_000, 12, power=110))
"""A container that holds four GPUs and hardly uses them."""
NOTEBOOK = box(
    "notebook", bursts(0.02, 1.5, 6 * HOUR, HOUR), steady(9 * GIB, 13), size(8, 64, 1), 0,
    gpu(1, 6144, 14, power=85),
)  # fmt: skip
EVALUATE = box("evaluate", constant(1.5), constant(2 * GIB), size(2, 4), 4)
TOKENIZE = box("tokenize", steady(1.6, 15), grows(1 * GIB, 5 * GIB, HOUR), size(2, 8), 8)
REPORT = box("main", constant(0.5), constant(700 * MIB), size(1, 1), 1)
PROBE = box("probe", constant(0.3), constant(100 * MIB), size(0.5, 0.25), 0.25)
RAY_HEAD = box("ray-head", steady(0.8, 16), constant(5 * GIB), size(2, 8), 8)
RAY_WORKER = box("ray-worker", steady(6, 17), steady(40 * GIB, 18), size(8, 64, 1), 0, gpu(55, 40_000, 19, tensor=20))
CONTRASTIVE = box("trainer", steady(7, 20), steady(90 * GIB, 21), size(8, 128, 2), 0, gpu(78, 65_000, 22, tensor=40))
OCR = box("ocr", steady(3, 23), steady(12 * GIB, 24), size(4, 16, 3), 0, gpu(40, 15_000, 25))
CAPTION = box("caption", steady(3, 26), steady(14 * GIB, 27), size(4, 16, 3), 0, gpu(60, 18_000, 28))
DETECT = box("detect", steady(2, 29), steady(8 * GIB, 30), size(4, 16, 2), 0, gpu(30, 9_000, 31))
FINETUNE = box("finetune", steady(20, 32), steady(200 * GIB, 33), size(32, 256, 8), 0, gpu(85, 20_000, 34))
LEGACY = box("redis", steady(0.2, 35), constant(GIB), size(0.5, 2), 2)
SHELL = box("shell", constant(0.01), constant(20 * MIB), {})


class _Plan:
    """A plan that adds pods to a week, with times in seconds from its beginning."""

    def __init__(self, week: Week, nodes: dict[str, Node]) -> None:
        self.week = week
        self.nodes = nodes

    def pod(self, where: str, owners: list[tuple[str, str]], boxes: list[Container], start: int, stop: int | None = None, **more: object) -> Pod:  # fmt: skip
        """Add a pod `namespace/name@node`; unless said otherwise it is scheduled at once and started after a minute."""
        namespace, _, rest = where.partition("/")
        name, _, node = rest.partition("@")
        begin = self.week.begin
        created = begin + start
        pod = Pod(namespace, name, owners, self.nodes.get(node), boxes, created, created, created + MINUTE)
        pod.ended = begin + stop if stop is not None else None
        pod.deleted = pod.ended
        for key, value in more.items():
            if key in ("scheduled", "started", "deleted") and isinstance(value, int):
                setattr(pod, key, begin + value)
            else:
                setattr(pod, key, value)
        self.week.pods.append(pod)
        return pod

    def replica(self, where: str, boxes: list[Container], start: int = -BEFORE, stop: int | None = None, **more: object) -> Pod:  # fmt: skip
        """Add a pod of a Deployment, named `namespace/deployment/hash/replica@node`."""
        namespace, name, version, rest = where.split("/")
        replica, _, node = rest.partition("@")
        owners = [("ReplicaSet", f"{name}-{version}"), ("Deployment", name)]
        return self.pod(f"{namespace}/{name}-{version}-{replica}@{node}", owners, boxes, start, stop, **more)


def suffix(of: str) -> str:
    """Return five letters like those Kubernetes appends to a name, always the same for one text."""
    letters = "bcdfghjklmnpqrstvwxz2456789"
    number = int(identity(of), 16)
    return "".join(letters[number // len(letters) ** place % len(letters)] for place in range(5))


def standard(days: int = DAYS, interval: int = 60, facts: int = 120) -> Week:
    """Return the standard week, or its last `days` days."""
    begin = END - DAYS * 24 * HOUR
    week = Week(begin, END, interval, facts)
    nodes = {node.name: node for node in _nodes(begin)}
    week.nodes = list(nodes.values())
    week.namespaces = {name: {"team": team} for name, team in TEAMS.items()} | {"monitoring": {}, "scratch": {}}
    plan = _Plan(week, nodes)
    _services(plan)
    _inference(plan)
    _training(plan)
    _research(plan)
    _short(plan)
    _strangers(plan)
    for node in week.nodes:
        start, stop = node.first - begin, node.last - begin if node.last < END else None
        plan.pod(f"monitoring/agent-{suffix(node.name)}@{node.name}", [("DaemonSet", "agent")], [AGENT], start, stop)
    week.queues = [
        QueueWaits("research", [(begin + hour * HOUR + 30, 200.0 * (hour % 5)) for hour in range(3, 160, 8)])
    ]
    week.begin = END - days * 24 * HOUR
    week.pods = [pod for pod in week.pods if pod.deleted is None or pod.deleted > week.begin]
    week.place()
    return week


def _nodes(begin: int) -> Iterator[Node]:
    for number in range(4):
        yield Node(f"general-{number}", "general", "m6i.4xlarge", 15.89, 57 * GIB, 0.768, begin - BEFORE, END, twice=number == 0)  # fmt: skip
    for number in range(3):
        start, stop = begin + 20 * HOUR + (number + 1) * 5 * MINUTE, begin + 90 * HOUR
        yield Node(f"train-{number}", "train", "p5.48xlarge", 191.45, 1_990 * GIB, 55.04, start, stop, H100, twice=number == 0)  # fmt: skip
    yield Node("research-0", "research", "p4de.24xlarge", 95.69, 1_100 * GIB, 27.447, begin - BEFORE, END, A100, exported=True)  # fmt: skip
    for number in range(4):
        yield Node(f"inference-{number}", "inference", "g5.48xlarge", 191.45, 740 * GIB, 16.288, begin - BEFORE, END, A10G, profiling=False)  # fmt: skip


def _services(plan: _Plan) -> None:
    """Add services without GPUs, one of them rolled out in the middle of the week."""
    roll = 90 * HOUR
    labels = {"app": "api", "team": "search", "owner": "grace"}
    for number in range(4):
        leaves = roll + number * 10 * MINUTE
        for version, start, stop in (("6f7d9c5b4", -BEFORE, leaves), ("84c5bfd77", leaves + MINUTE, None)):
            where = f"search/api/{version}/{suffix(f'{version}{number}')}@general-{number}"
            plan.replica(where, [API, PROXY], start, stop, labels=labels, priority="production")
    labels = {"app": "index", "team": "search", "owner": "grace"}
    for number in range(2):
        plan.replica(f"search/index/5d8f7c9b6f/{suffix(f'index{number}')}@general-{number}", [INDEX], labels=labels, priority="production")  # fmt: skip
    first = plan.week.begin - BEFORE + MINUTE
    kills = tuple(first + number * 30 * HOUR for number in range(1, 8))
    killed = Container(EMBEDDER.name, EMBEDDER.cpu, EMBEDDER.memory, EMBEDDER.requests, EMBEDDER.limits, kills=kills)
    plan.replica("search/embedder/7b9c6d8f5/x2k9p@general-2", [killed], labels={"app": "embedder", "team": "search"})


def _inference(plan: _Plan) -> None:
    """Add services that leave two GPUs of each node free, and a job that needs a whole node."""
    for number, (name, use, node) in enumerate(
        (("ocr", OCR, 0), ("ocr", OCR, 0), ("ocr", OCR, 1), ("caption", CAPTION, 1), ("ocr", OCR, 2), ("caption", CAPTION, 2))
    ):  # fmt: skip
        labels = {"app": name, "team": "vision"}
        plan.replica(f"vision/{name}/66d4f8c9b/{suffix(f'{name}{number}')}@inference-{node}", [use], labels=labels)
    labels = {"app": "detect", "team": "vision"}
    for number in range(3):
        for start, stop in ((-BEFORE, 66 * HOUR), (72 * HOUR + 5 * MINUTE, None)):
            name = suffix(f"detect{number}{start}")
            plan.replica(f"vision/detect/77f9bd5c4/{name}@inference-3", [DETECT], start, stop, labels=labels)
    plan.pod(
        f"language/finetune-{suffix('finetune')}@inference-3", [("Job", "finetune")], [FINETUNE], 60 * HOUR, 72 * HOUR,
        scheduled=66 * HOUR + MINUTE, started=66 * HOUR + 3 * MINUTE, deleted=80 * HOUR,
        labels={"team": "language", "owner": "linus", "experiment": "finetune-8b"}, priority="research",
    )  # fmt: skip


def _training(plan: _Plan) -> None:
    """Add a job of three pods whose nodes come one after the other.

    All start when the last node is there.
    """
    labels = {"team": "language", "owner": "linus", "experiment": "pretrain-7b"}
    for number, name in enumerate(("pretrain-master-0", "pretrain-worker-0", "pretrain-worker-1")):
        scheduled = 20 * HOUR + (number + 1) * 5 * MINUTE + 2 * MINUTE
        plan.pod(
            f"language/{name}@train-{number}", [("PyTorchJob", "pretrain")], [PRETRAIN], 20 * HOUR, 84 * HOUR,
            scheduled=scheduled, started=scheduled + 2 * MINUTE, deleted=88 * HOUR, labels=labels, priority="research",
        )  # fmt: skip


def _research(plan: _Plan) -> None:
    """Add the pods that share the research node."""
    ada: dict[str, object] = {"labels": {"team": "vision", "owner": "ada", "experiment": "segment-v2"}}
    plan.pod("vision/segmenter-" + suffix("segmenter") + "@research-0", [("Job", "segmenter")], [SEGMENTER], 5 * HOUR, 105 * HOUR, deleted=110 * HOUR, **ada)  # fmt: skip
    plan.pod("vision/notebook-ada-0@research-0", [("StatefulSet", "notebook-ada")], [NOTEBOOK], -BEFORE, labels={"team": "vision", "owner": "ada"})  # fmt: skip
    ray: dict[str, object] = {"labels": {"team": "language", "owner": "margaret", "experiment": "tuning"}}
    owner = [("RayCluster", "tuning")]
    plan.pod(f"language/tuning-head-{suffix('head')}@general-3", owner, [RAY_HEAD], 30 * HOUR, 78 * HOUR, **ray)
    for number in range(2):
        plan.pod(f"language/tuning-gpu-worker-{suffix(f'worker{number}')}@research-0", owner, [RAY_WORKER], 30 * HOUR, 78 * HOUR, **ray)  # fmt: skip
    for number in range(2):
        owners = [("Job", "contrastive-workers-0"), ("JobSet", "contrastive")]
        plan.pod(
            f"vision/contrastive-workers-0-{number}-{suffix(f'contrastive{number}')}@research-0", owners, [CONTRASTIVE],
            110 * HOUR, 140 * HOUR, deleted=150 * HOUR,
            labels={"team": "vision", "owner": "grace", "experiment": "contrastive"},
        )  # fmt: skip


def _short(plan: _Plan) -> None:
    """Add jobs that run for minutes to hours."""
    labels = {"team": "language", "owner": "margaret"}
    for hour in range(DAYS * 24):
        start = hour * HOUR + 10 * MINUTE
        job = f"evaluate-{(plan.week.begin + start) // 60}"
        owners = [("Job", job), ("CronJob", "evaluate")]
        plan.pod(f"language/{job}-{suffix(job)}@general-3", owners, [EVALUATE], start, start + 9 * MINUTE, deleted=start + 3 * HOUR, labels=labels)  # fmt: skip
    for index in range(24):
        start = (8 + index // 4 * 2) * HOUR
        name = f"tokenize-{index}-{suffix(f'tokenize{index}')}"
        plan.pod(f"language/{name}@general-{index % 4}", [("Job", "tokenize")], [TOKENIZE], start, start + 2 * HOUR, deleted=30 * HOUR, labels=labels)  # fmt: skip
    for day in range(1, 4):
        start = (24 * day + 2) * HOUR
        run = f"report-{suffix(f'report{day}')}"
        plan.pod(f"search/{run}-render-{1_000_000_007 * day % 4_294_967_296}@general-2", [("Workflow", run)], [REPORT], start, start + 40 * MINUTE, deleted=start + 24 * HOUR, labels={"team": "search"})  # fmt: skip
    for number in range(5):
        start = (12 + 30 * number) * HOUR
        job = f"probe-{suffix(f'probe{number}')}"
        plan.pod(f"search/{job}-{suffix(job)}@general-1", [("Job", job)], [PROBE], start, start + 31 * MINUTE, deleted=start + HOUR, labels={"team": "search"}, failed=number == 4)  # fmt: skip


def _strangers(plan: _Plan) -> None:
    """Add pods that no code declares."""
    plan.pod("scratch/redis-0@general-3", [("StatefulSet", "redis")], [LEGACY], -BEFORE)
    plan.pod("scratch/debug-shell@general-3", [], [SHELL], 40 * HOUR, 52 * HOUR)
