"""What `kcheck fleet` costs as fleets grow: `scripts/bench --fleet` prints it.

Each run is the command itself, on fleets that `bench_fleets` makes. Times and memory of checks are those of its table
`repositories`.
"""

from __future__ import annotations

import ctypes
import os
import subprocess
import time
from typing import TYPE_CHECKING, NamedTuple

import bench_fleets

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

WORKERS = (1, 2)
SMALL = 100
"""Repositories of a fleet that is also checked by one worker, and by the plain command."""
CHANGED = 0.01
_SUBREAPER = 36
"""PR_SET_CHILD_SUBREAPER: processes that outlive the command are ours then, and so are their times."""
_XARGS = 'ls -d "$1"/* | xargs -P "$2" -n 1 sh -c \'cd "$1" && "$0" check . > /dev/null\' "$3"'


class Run(NamedTuple):
    """A run of the command: seconds until it ended, of all processors, and until the last outcome; memory is in MiB."""

    wall: float
    cpu: float
    checking: float
    checks: float
    client_memory: float
    check_memory: float
    unchanged: int


def run(kcheck: str, fleet: Path, output: Path, workers: int, more: Sequence[str] = ()) -> Run:
    """Run the command on a fleet."""
    command = [kcheck, "fleet", f"{fleet}/*", "--jobs", str(workers), "--output", str(output), "--quiet", *more]
    ctypes.CDLL(None).prctl(_SUBREAPER, 1, 0, 0, 0)
    before, start = _children_cpu(), time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.perf_counter() - start
    process.returncode = status
    while True:
        try:
            os.wait()
        except ChildProcessError:
            break
    if status:
        raise SystemExit(f"{' '.join(command)} ended with {os.waitstatus_to_exitcode(status)}")
    return Run(wall, _children_cpu() - before, *_table(output, usage.ru_maxrss / 1024))


def _children_cpu() -> float:
    """Return the processor time of all processes that have ended below this one."""
    times = os.times()
    return times.children_user + times.children_system


def _table(output: Path, client_memory: float) -> tuple[float, float, float, float, int]:
    """Return what the tables say of the last run."""
    import duckdb

    with duckdb.connect(str(output / "fleet.duckdb"), read_only=True) as database:
        (found,) = database.execute(
            "SELECT runs.seconds, sum(one.seconds), max(one.memory) / 1048576, runs.unchanged"
            " FROM runs JOIN repositories AS one USING (run) WHERE run = (SELECT max(run) FROM runs) GROUP BY ALL"
        ).fetchall()
    checking, checks, memory, unchanged = found
    return checking, checks, client_memory, memory, unchanged


def plain(kcheck: str, fleet: Path, workers: int) -> tuple[float, float]:
    """Return the seconds, and those of processors, of the plain command for each repository, so many at a time."""
    before, start = _children_cpu(), time.perf_counter()
    subprocess.run(["sh", "-c", _XARGS, "sh", str(fleet), str(workers), kcheck], check=False, stderr=subprocess.DEVNULL)
    wall = time.perf_counter() - start
    return wall, _children_cpu() - before


HEAD = (
    f"{'repositories':>12} {'workers':>7}  {'what':22} {'wall s':>8} {'CPU s':>8} {'checks s':>8} {'efficiency':>10}"
    f" {'client':>7} {'check':>7}"
)


def rows(kcheck: str, scratch: Path, count: int, checkouts: Sequence[Path]) -> Iterator[str]:
    """Say what a fleet of a size costs: with 1 and 2 workers, by the plain command, and again."""
    fleet = scratch / f"fleet{count}"
    bench_fleets.make(fleet, count, checkouts)
    yield HEAD
    for workers in WORKERS if count <= SMALL else WORKERS[-1:]:
        output = scratch / f"results{count}-{workers}"
        yield row(count, workers, "first", run(kcheck, fleet, output, workers))
    if count <= SMALL:
        wall, cpu = plain(kcheck, fleet, workers)
        yield f"{count:>12,} {workers:>7}  {'kcheck check by xargs':22} {wall:8,.1f} {cpu:8,.1f}"
    yield row(count, workers, "nothing changed", run(kcheck, fleet, output, workers))
    changed = bench_fleets.change(fleet, CHANGED)
    yield row(count, workers, f"{changed} changed", run(kcheck, fleet, output, workers))


def row(count: int, workers: int, what: str, found: Run) -> str:
    """Print the figures of a run; where something was taken over, times of checks are not of this run."""
    checks = (
        f"{found.checks:8,.1f} {found.checks / (workers * found.checking):10.0%}"
        if not found.unchanged
        else f"{'-':>8} {'-':>10}"
    )
    return (
        f"{count:>12,} {workers:>7}  {what:22} {found.wall:8,.1f} {found.cpu:8,.1f} {checks}"
        f" {found.client_memory:7,.0f} {found.check_memory:7,.0f}"
    )
