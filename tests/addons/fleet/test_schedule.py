"""The simulated schedule of a fleet, and the fleets it is measured on. No test asks how long anything takes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import bench_fleet
import bench_fleets
import pytest
from bench_fleet import Run, Task
from fleet_schedule import Costs, at_random, longest_first, schedule, split
from hypothesis import given
from hypothesis import strategies as st

if TYPE_CHECKING:
    from pathlib import Path

SECONDS = st.lists(st.integers(1, 1000).map(float), min_size=1, max_size=60)
WORKERS = st.integers(1, 70)


@given(SECONDS, WORKERS)
def test_a_schedule_without_costs_is_within_the_bounds_of_list_scheduling(seconds: list[float], workers: int) -> None:
    made = schedule(seconds, workers)
    assert made.makespan >= max(seconds)
    assert made.makespan * workers >= sum(seconds)
    assert made.makespan * workers <= sum(seconds) + (workers - 1) * max(seconds)
    assert made.tail == made.makespan * workers - sum(seconds)  # no worker waits while there are tasks
    assert made.efficiency == pytest.approx(sum(seconds) / (workers * made.makespan))


@given(SECONDS, WORKERS)
def test_longest_first_is_a_third_above_the_best_at_most(seconds: list[float], workers: int) -> None:
    best = max(*seconds, sum(seconds) / workers)
    ordered = sorted(seconds, reverse=True)
    if len(ordered) > workers:  # two of them are with one worker, whatever the order
        best = max(best, ordered[workers - 1] + ordered[workers])
    assert longest_first(seconds) == ordered
    assert schedule(ordered, workers).makespan <= best * (4 / 3 + 1e-9)


@given(SECONDS)
def test_one_worker_takes_the_sum_in_any_order(seconds: list[float]) -> None:
    assert schedule(seconds, 1).makespan == sum(seconds)
    assert at_random(seconds, 1).makespan == pytest.approx(sum(seconds))


@given(SECONDS, WORKERS)
def test_costs_are_added(seconds: list[float], workers: int) -> None:
    without = schedule(seconds, workers)
    assert schedule(seconds, workers, Costs(start=5)).makespan == without.makespan + 5
    assert schedule(seconds, workers, Costs(dispatch=2)).makespan >= max(without.makespan, 2 * len(seconds))
    trips = schedule([one + 3 for one in seconds], workers)
    assert schedule(seconds, workers, Costs(trip=3)).makespan == trips.makespan


def test_tasks_are_taken_in_turn_by_whoever_is_free() -> None:
    made = schedule([4.0, 1.0, 2.0, 3.0], 2)  # the second worker has 1, 2 and then 3
    assert (made.makespan, made.tail) == (6.0, 2.0)


def test_the_client_hands_out_one_after_the_other() -> None:
    made = schedule([1.0] * 4, 4, Costs(dispatch=1.0))
    assert (made.makespan, made.tail) == (5.0, 6.0)


def test_what_is_slow_is_split() -> None:
    assert split([9.0, 1.0, 4.0], 2, 3.0) == [4.5, 4.5, 1.0, 2.0, 2.0]


# --- fleets


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_fleet_is_the_same_each_time_and_no_repository_twice(tmp_path: Path) -> None:
    checkout = tmp_path / "checkout"
    checkout.mkdir()
    (checkout / "main.tf").write_text('resource "a" "b" {\n  node_count = 10\n  cidr = "10.1.0.0/16"\n}\n')
    (checkout / "picture.png").write_bytes(b"x")
    for name in ("a", "b"):
        bench_fleets.make(tmp_path / name, 12, [checkout])
    assert contents(tmp_path / "a") == contents(tmp_path / "b")
    repositories = [contents(path) for path in (tmp_path / "a").iterdir()]
    assert len(repositories) == 12
    assert len({repr(sorted(one.items())) for one in repositories}) == 12
    assert not any("picture.png" in one for one in repositories)
    assert any(list(one) == ["main.tf"] for one in repositories)


@pytest.mark.parametrize(
    ("text", "varied"),
    [
        (b"  max_size = 10\n", b"  max_size = 30\n"),
        (b"  replicas: 1\n", b"  replicas: 3\n"),
        (b'"10.255.0.0/16"', b'"10.4.0.0/16"'),
        (b'  kubernetes_version = "1.35"', b'  kubernetes_version = "1.32"'),
        (b"name: train\n", b"name: train8\n"),
        (b"max_size = var.nodes\n", b"max_size = var.nodes\n"),
    ],
)
def test_files_vary(text: bytes, varied: bytes) -> None:
    assert bench_fleets.Variation(3, 5, 2, 8).of(text) == varied


def test_some_repositories_change(tmp_path: Path) -> None:
    bench_fleets.make(tmp_path / "fleet", 20)
    before = contents(tmp_path / "fleet")
    assert bench_fleets.change(tmp_path / "fleet", 0.1) == 2
    after = contents(tmp_path / "fleet")
    assert len({name.split("/")[0] for name in after if before[name] != after[name]}) == 2


# --- what is printed


def test_the_rows_of_a_run_and_of_its_simulation() -> None:
    made = Run(30.0, 20.0, 20.0, 0.2, 80.0, 70.0, 0.3, 0, [Task(6.0, 5.0, 100.0), Task(14.0, 9.0, 300.0)])
    assert bench_fleet.row(2, 1, "first", made).split() == [
        "2", "1", "first", "30.0", "20.0", "20.0", "100%", "80", "70", "300", "30%",
    ]  # fmt: skip
    again = made._replace(unchanged=1)
    assert bench_fleet.row(2, 1, "again", again).split()[5:7] == ["-", "-"]
    first, *others = bench_fleet.simulated({1: made}, Costs())
    assert first.endswith("measured 20.0 s, error +0.0%")
    found = {(line[15:20].strip(), line[22:44].strip()): line[44:54].strip() for line in others[:-1]}
    assert {key for key in found if key[1] == "longest first"} == {
        (str(workers), "longest first") for workers in (1, 2, 16, 128)
    }
    assert (found["1", "random"], found["2", "longest first"], found["128", "slow ones in halves"]) == (
        "14.0", "9.0", "4.5",
    )  # fmt: skip
    assert "slowest 9.0 s, all 14.0 s" in others[-1]
