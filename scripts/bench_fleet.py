"""What `kcheck fleet` costs as fleets grow, and what more workers would bring: `scripts/bench --fleet` prints it.

Each run is the command itself, on fleets that `bench_fleets` makes. Times of checks are those of its table
`repositories`; what 16 and 128 workers would do is simulated from them by `fleet_schedule`.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import bench_fleets
from fleet_schedule import Costs, Schedule, at_random, longest_first, schedule, split

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

WORKERS, MORE = (1, 2), (16, 128)
SMALL = 100
"""Repositories of a fleet that is also checked by one worker, and by the plain command."""
CHANGED = 0.01
_EVERY = 1.0
_TICKS = os.sysconf("SC_CLK_TCK")
_STATION = b"kcheck.addons.fleet.station"
_PROBE = """
import resource, sys
from kcheck.addons.fleet.local import Station
from kcheck.addons.fleet.task import Task
station, checks = Station(), 0.0
for _ in range(int(sys.argv[2])):
    checks += station.outcome(Task("x", sys.argv[1], more=1000)).cpu_seconds
station.close()
spent = resource.getrusage(resource.RUSAGE_CHILDREN)
print(spent.ru_utime + spent.ru_stime - checks)
"""
"""Processor time of a station besides that of the checks of a repository, so many times."""
_ONCE, _OFTEN = 1, 21
_XARGS = 'ls -d "$1"/* | xargs -P "$2" -n 1 sh -c \'"$0" check "$1" --no-cache --format json > "$1.json"\' "$3"'


class Task(NamedTuple):
    """What the check of a repository took: seconds, those of a processor, and MiB."""

    seconds: float
    cpu: float
    memory: float


class Run(NamedTuple):
    """A run of the command.

    `wall` and `cpu` are seconds of all of it, `checking` those from its begin until the last outcome. `client` is the
    processor time of the client by then. Memory is in MiB, the most of any process of a kind; `shared` is the part of
    a check's memory that it shares with others, at the median.
    """

    wall: float
    cpu: float
    checking: float
    client: float
    client_memory: float
    station_memory: float
    shared: float
    unchanged: int
    tasks: list[Task]


class Watch:
    """Looks at a process and those below it until it ends."""

    def __init__(self, process: int) -> None:
        self.client = self.client_memory = self.station_memory = 0.0
        self.shares: list[float] = []
        self._process = process
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()

    def end(self) -> None:
        """Look no more."""
        self._stop.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._stop.wait(_EVERY):
            with suppress(OSError, IndexError, StopIteration, ValueError):  # one has ended in between
                self.client_memory = max(self.client_memory, _field(self._process, "status", b"VmHWM"))
                stations = [child for child in _children(self._process) if _STATION in _command(child)]
                if stations:
                    self.client = _cpu(self._process)
                for station in stations:
                    self.station_memory = max(self.station_memory, _field(station, "status", b"VmHWM"))
                    for child in _children(station):
                        resident = _field(child, "smaps_rollup", b"Rss")
                        self.shares.append(1 - _field(child, "smaps_rollup", b"Pss") / resident)


def _children(process: int) -> list[int]:
    """The processes that any thread of a process has started."""
    lists = (path.read_text().split() for path in Path(f"/proc/{process}/task").glob("*/children"))
    return [int(child) for own in lists for child in own]


def _command(process: int) -> bytes:
    return Path(f"/proc/{process}/cmdline").read_bytes()


def _field(process: int, file: str, name: bytes) -> float:
    """MiB that the system says of a process."""
    lines = Path(f"/proc/{process}/{file}").read_bytes().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(name + b":")) / 1024


def _cpu(process: int) -> float:
    fields = Path(f"/proc/{process}/stat").read_bytes().rpartition(b")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


def run(kcheck: str, fleet: Path, output: Path, workers: int, more: Sequence[str] = ()) -> Run:
    """Run the command on a fleet."""
    command = [kcheck, "fleet", f"{fleet}/*", "--jobs", str(workers), "--output", str(output), "--quiet", *more]
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    watch = Watch(process.pid)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = status
    wall = time.perf_counter() - start
    watch.end()
    if status:
        raise SystemExit(f"{' '.join(command)} ended with {os.waitstatus_to_exitcode(status)}")
    checking, unchanged, tasks = _table(output)
    shares = sorted(watch.shares) or [0.0]
    cpu = usage.ru_utime + usage.ru_stime
    return Run(
        wall, cpu, checking, watch.client, watch.client_memory, watch.station_memory, shares[len(shares) // 2],
        unchanged, tasks,
    )  # fmt: skip


def _table(output: Path) -> tuple[float, int, list[Task]]:
    """What the tables say of the last run: its seconds, what was unchanged, and its repositories in order."""
    import duckdb

    with duckdb.connect(str(output / "fleet.duckdb"), read_only=True) as database:
        database.execute("select run, seconds, unchanged from runs order by run desc limit 1")
        ((name, seconds, unchanged),) = database.fetchall()
        database.execute(
            "select seconds, cpu_seconds, memory from repositories where run = ? order by repository", [name]
        )
        tasks = [Task(one, cpu, memory / 1024**2) for one, cpu, memory in database.fetchall()]
    return seconds, unchanged, tasks


def costs(fleet: Path, measured: Run) -> Costs:
    """What a run costs besides its checks, in processor time: others may use the machine, too."""
    first = str(min(fleet.iterdir()))

    def probe(times: int) -> float:
        command = [sys.executable, "-P", "-c", _PROBE, first, str(times)]
        return float(subprocess.run(command, capture_output=True, check=True, text=True).stdout)

    once = probe(_ONCE)
    trip = max(0.0, (probe(_OFTEN) - once) / (_OFTEN - _ONCE))
    return Costs(once - trip, measured.client / len(measured.tasks), trip)


def plain(kcheck: str, fleet: Path, workers: int) -> tuple[float, float]:
    """Seconds, and those of processors, that the plain command takes for each repository, so many at a time."""
    before, start = os.times(), time.perf_counter()
    subprocess.run(["sh", "-c", _XARGS, "sh", str(fleet), str(workers), kcheck], check=False, stderr=subprocess.DEVNULL)
    wall, after = time.perf_counter() - start, os.times()
    for path in fleet.glob("*.json"):
        path.unlink()
    spent = after.children_user + after.children_system - before.children_user - before.children_system
    return wall, spent


# --- rows


HEAD = (
    f"{'repositories':>12} {'workers':>7}  {'what':22} {'wall s':>8} {'CPU s':>8} {'checks s':>8} {'efficiency':>10}"
    f" {'client':>7} {'station':>7} {'check':>7} {'shared':>6}"
)
SIMULATED = (
    f"{'':12} {'workers':>7}  {'simulated order':22} {'wall s':>8} {'':8} {'tail s':>8} {'efficiency':>10} {'tail':>7}"
)


def rows(kcheck: str, scratch: Path, count: int, checkouts: Sequence[Path], more: Sequence[str]) -> Iterator[str]:
    """What a fleet of a size costs: with 1 and 2 workers, again, and simulated with more."""
    fleet = scratch / f"fleet{count}"
    bench_fleets.make(fleet, count, checkouts)
    yield HEAD
    first: dict[int, Run] = {}
    for workers in WORKERS if count <= SMALL else WORKERS[-1:]:
        output = scratch / f"results{count}-{workers}"
        first[workers] = run(kcheck, fleet, output, workers, more)
        yield row(count, workers, "first", first[workers])
    if count <= SMALL:
        yield row(count, workers, "longest first", run(kcheck, fleet, output, workers, [*more, "--fresh"]))
        wall, cpu = plain(kcheck, fleet, workers)
        yield f"{count:>12,} {workers:>7}  {'kcheck check by xargs':22} {wall:8,.1f} {cpu:8,.1f}"
    yield row(count, workers, "nothing changed", run(kcheck, fleet, output, workers, more))
    changed = bench_fleets.change(fleet, CHANGED)
    yield row(count, workers, f"{changed} changed", run(kcheck, fleet, output, workers, more))
    yield SIMULATED
    yield from simulated(first, costs(fleet, first[workers]))


def row(count: int, workers: int, what: str, found: Run) -> str:
    """The figures of a run; where something was taken over, times of checks are not of this run."""
    spent, peak = sum(task.seconds for task in found.tasks), max(task.memory for task in found.tasks)
    checks = (
        f"{spent:8,.1f} {spent / (workers * found.checking):10.0%}" if not found.unchanged else f"{'-':>8} {'-':>10}"
    )
    return (
        f"{count:>12,} {workers:>7}  {what:22} {found.wall:8,.1f} {found.cpu:8,.1f} {checks}"
        f" {found.client_memory:7,.0f} {found.station_memory:7,.0f} {peak:7,.0f} {found.shared:6.0%}"
    )


def simulated(first: Mapping[int, Run], cost: Costs) -> Iterator[str]:
    """Real runs beside the simulated ones, and what more workers would take by the processor time of each check."""
    for workers, found in first.items():
        made = schedule([task.seconds for task in found.tasks], workers, cost)
        error = made.makespan / found.checking - 1
        yield f"{_line(workers, 'as it was', made)}  measured {found.checking:,.1f} s, error {error:+.1%}"
    alone = [task.cpu for task in next(iter(first.values())).tasks]
    for workers in (*WORKERS, *MORE):
        yield _line(workers, "longest first", schedule(longest_first(alone), workers, cost))
        yield _line(workers, "random", at_random(alone, workers, cost))
    halves = longest_first(split(alone, 2, sum(alone) / MORE[-1]))
    yield _line(MORE[-1], "slow ones in halves", schedule(halves, MORE[-1], cost))
    yield (
        f"{'':22} slowest {max(alone):.1f} s, all {sum(alone):,.1f} s; a worker starts in {cost.start:.1f} s, a"
        f" repository costs the client {cost.dispatch * 1000:.1f} ms and its worker {cost.trip * 1000:.1f} ms"
    )


def _line(workers: int, order: str, made: Schedule) -> str:
    part = made.tail / (workers * made.makespan)
    return (
        f"{'':12} {workers:>7}  {order:22} {made.makespan:8,.1f} {'':8} {made.tail:8,.1f} {made.efficiency:10.0%}"
        f" {part:7.0%}"
    )
