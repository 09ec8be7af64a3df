"""Draw random weeks: pods that come and go quickly, noise, gaps, and other ways to scrape."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from tests.addons.usage.week.cluster import GIB, GPU, HOUR, MIB, Container, Gpu, Machine, Node, Pod, QueueWaits, Week
from tests.addons.usage.week.openmetrics import identity
from tests.addons.usage.week.shapes import bursts, constant, grows, start_up, steady

if TYPE_CHECKING:
    from tests.addons.usage.week.shapes import Shape

END = 1_795_046_400
"""End of the week: Thursday, 19 November 2026, 00:00 UTC."""
LONG = 36
"""Hours of a drawn week; the time of day does not matter."""
BEFORE = 7 * 24 * HOUR


def drawn(seed: int, hours: int = LONG) -> Week:
    """Return a week drawn at random from a seed."""
    return _Draw(seed, hours).week


class _Draw:
    def __init__(self, seed: int, hours: int) -> None:
        self.by = random.Random(seed)
        self.seed = seed
        interval = self.by.choice([15, 30])
        begin = END - hours * HOUR
        self.week = Week(begin, END, interval, self.by.choice([30, 60]))
        self.week.is_noisy = True
        self.week.external = {"cluster": f"drawn-{seed}"}
        self.week.honors_labels = self.by.random() < 0.5
        self.week.copies = self.by.choice([1, 1, 2])
        self.week.ids = self.by.random() < 0.5
        self.week.sandboxes = self.by.random() < 0.5
        for _ in range(2):
            start = begin + self.by.randrange(hours * HOUR - HOUR)
            self.week.gaps.append((start - start % 60, start - start % 60 + self.by.choice([4, 11, 35]) * 60))
        self.week.gaps.sort()
        self._nodes()
        self._services()
        self._runs()
        waits = [(begin + self.by.randrange(hours * HOUR), float(self.by.randrange(4000))) for _ in range(30)]
        self.week.queues = [QueueWaits("batch", sorted(waits))]
        self.week.namespaces = {name: {"owner": f"user-{name}"} for name in ("alpha", "beta")}
        self.week.place()

    def _nodes(self) -> None:
        begin, exported = self.week.begin - BEFORE, self.by.random() < 0.5
        whole = Machine("NVIDIA L40S", 46_068, 4)
        slices = Machine("NVIDIA A100-SXM4-80GB", 9_728, 14, "1g.10gb", 7)
        for number in range(3):
            self.week.nodes.append(Node(f"cpu-{number}", "cpu", "m6i.8xlarge", 31.8, 120 * GIB, 1.536, begin, END, twice=self.by.random() < 0.4))  # fmt: skip
        for number in range(2):
            self.week.nodes.append(Node(f"gpu-{number}", "gpu", "g6e.12xlarge", 47.8, 370 * GIB, 10.493, begin, END, whole, exported=exported))  # fmt: skip
        self.week.nodes.append(Node("mig-0", "mig", "p4de.24xlarge", 95.6, 1_100 * GIB, 27.447, begin, END, slices, exported=exported))  # fmt: skip

    def _shape(self, level: float) -> Shape:
        seed = self.by.randrange(1 << 20)
        return self.by.choice(
            [
                steady(level, seed, daily=0.4),
                steady(level, seed, spread=0.5, every=self.week.interval),
                bursts(level * 0.1, level, 3600, self.by.choice([900, 1800])),
                start_up(level * 3, self.by.choice([60, 300]), steady(level, seed)),
                constant(level),
            ]
        )

    def _container(self, name: str, gpus: int = 0, resource: str = GPU) -> Container:
        cores, memory = self.by.uniform(0.05, 3), self.by.uniform(30 * MIB, 6 * GIB)
        requests = {"cpu": round(min(cores * self.by.choice([0.5, 1.2, 6]), 4), 2), "memory": round(memory * 1.5)}
        limits: dict[str, float] = {resource: gpus} if gpus else {}
        use = None
        if gpus:
            busy = self.by.choice([0, 4, 50, 97])
            seed = self.by.randrange(1 << 20)
            power = steady(100 + 2 * busy, seed)
            use = Gpu(steady(busy, seed), grows(500, self.by.uniform(1000, 9000), 600), steady(busy / 2, seed), power)
        used = self.by.choice([steady(memory, 1, spread=0.1), grows(memory / 3, memory, 1200)])
        return Container(name, self._shape(cores), used, requests | limits, limits, use)

    def _services(self) -> None:
        """Add Deployments with one rollout each, and a StatefulSet pod that comes back on another node."""
        begin, end = self.week.begin, self.week.end
        for name in ("web", "queue-worker"):
            boxes = [self._container("main"), self._container("sidecar")]
            roll = begin + self.by.randrange(2 * HOUR, end - begin)
            for version, start, stop in (("7d4b9c8f6", begin - BEFORE, roll), ("58f6d7c9bb", roll + 40, None)):
                for number in range(2):
                    replica = f"{name}-{version}-{identity(f'{version}{number}')[:5]}"
                    owners = [("ReplicaSet", f"{name}-{version}"), ("Deployment", name)]
                    self._add(Pod("alpha", replica, owners, self.week.nodes[number], boxes, start, start, start + 7, stop, stop))  # fmt: skip
        owners = [("StatefulSet", "db")]
        moved = begin + self.by.randrange(HOUR, end - begin - HOUR)
        crash = moved + self.by.randrange(HOUR // 2, HOUR)
        database = self._container("db")
        again = Container("db", database.cpu, database.memory, database.requests, crashes=(crash,))
        self._add(Pod("beta", "db-0", owners, self.week.nodes[2], [database], begin - BEFORE, begin - BEFORE, begin - BEFORE, moved, moved))  # fmt: skip
        self._add(Pod("beta", "db-0", owners, self.week.nodes[1], [again], moved + 90, moved + 95, moved + 120))

    def _runs(self) -> None:
        """Add jobs of a few pods each: most run for minutes, some for seconds or hours."""
        kinds = [self._container("run") for _ in range(4)]
        kinds += [self._container("train", gpus) for gpus in (1, 1, 2, 4)]
        kinds += [self._container("slice", 1, "nvidia_com_mig_1g_10gb")]
        planned = []
        for number in range(110):
            created = self.week.begin + self.by.randrange(-HOUR, self.week.end - self.week.begin)
            wait = self.by.choice([0, 3, 40, 700, 5000])
            lasts = self.by.choice([45, 110, 400, 900, 4000, 20_000])
            planned.append((created + wait, created, lasts, number))
        for scheduled, created, lasts, number in sorted(planned):
            kind = self.by.randrange(len(kinds))
            labels = {"owner": f"user-{number % 5}", "app.kubernetes.io/name": f"sweep-{kind}"}
            job = f"sweep-{kind}-{identity(f'{self.seed} {number}')[:5]}"
            for index in range(self.by.choice([1, 1, 3])):
                name = f"{job}-{index}-{identity(f'{job}{index}')[:5]}"
                started = scheduled + self.by.choice([2, 25, 200])
                ended = started + lasts + self.by.randrange(30)
                keeps = self.by.choice([5, 600, 7200])
                pod = Pod("beta", name, [("Job", job)], None, [kinds[kind]], created, scheduled, started, ended, ended + keeps, labels)  # fmt: skip
                self._schedule(pod)

    def _schedule(self, pod: Pod) -> None:
        """Add a pod to the first node that has room for it; drop it if none has."""
        for node in self.week.nodes:
            here = [
                one
                for one in self.week.pods
                if one.node is node and (one.ended is None or one.ended > (pod.scheduled or 0))
            ]
            cores = sum(box.requests["cpu"] for one in [*here, pod] for box in one.containers)
            slices = any("_mig_" in key for box in pod.containers for key in box.limits)
            fits = pod.gpus == 0 or (node.gpus is not None and bool(node.gpus.mig) == slices)
            taken = sum(one.gpus for one in here)
            if fits and cores <= node.cores and taken + pod.gpus <= (node.gpus.count if node.gpus else 0):
                pod.node = node
                self._add(pod)
                return

    def _add(self, pod: Pod) -> None:
        self.week.pods.append(pod)
