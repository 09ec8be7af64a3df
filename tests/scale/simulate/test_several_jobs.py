"""Test runs of several jobs: queues, priorities, jobs that start together, and spot machines that are reclaimed."""

from __future__ import annotations

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from kcheck.scale.simulate.model import Case, Job, Pool, Queue, Settings
from kcheck.scale.simulate.run import simulate
from tests.scale.simulate.test_properties import CLOUD

FLAGS = Settings(minor=36, unneeded_time=60, delay_after_add=60, max_unready_percentage=100, max_unready_nodes=10**6)
jobs = st.builds(
    Job, pods=st.integers(1, 20), duration=st.integers(10, 2000), gang=st.booleans(), name=st.sampled_from("abc"),
    at=st.sampled_from([0, 0, 100, 1000]), priority=st.integers(0, 2), queue=st.sampled_from(["", "q"]),
)  # fmt: skip
cases = st.builds(
    Case, pools=st.just((Pool("p", 100),)), job=jobs, settings=st.just(FLAGS), cloud=st.just(CLOUD), seed=st.integers(0, 9),
    others=st.tuples(jobs, jobs), queues=st.builds(lambda nodes, preempts: (Queue("q", nodes, preempts),), st.integers(20, 60), st.booleans()),
)  # fmt: skip


@pytest.mark.medium
@given(one=cases)
@settings(max_examples=60, deadline=None)
def test_all_jobs_end_and_the_paid_time_is_the_sum_of_phases(one: Case) -> None:
    run = simulate(one)
    assert run.summary.finished
    assert run.summary.pods_done == sum(job.pods for job in one.jobs)
    assert abs(sum(run.summary.phases.values()) - run.summary.paid) < 1e-3
    assert sum(run.summary.phases[phase] for phase in ("work", "pull", "turn", "wait")) >= one.work - 1e-3
    assert all(
        times.done >= times.start + job.duration - 1e-6 for times, job in zip(run.summary.jobs, one.jobs, strict=True)
    )


@pytest.mark.slow
@given(one=cases, spot=st.sampled_from([0.5, 3.0]))
@settings(max_examples=30, deadline=None)
def test_interrupted_work_is_repeated(one: Case, spot: float) -> None:
    case = replace(
        one, pools=(Pool("p", 100, spot=True),), cloud=replace(one.cloud, interruptions=spot), horizon=40_000
    )
    run = simulate(case)
    assume(run.summary.finished)
    assert run.summary.pods_done == sum(job.pods for job in one.jobs)
    assert run.summary.phases["work"] >= one.work - 1e-3
    assert run.summary.phases["work"] - one.work <= run.summary.lost + 1e-3
    if not run.summary.interrupted and not any(job.priority for job in one.jobs):
        assert run.summary.lost == 0


def case(*jobs: Job, queues: tuple[Queue, ...] = (), pools: tuple[Pool, ...] = (Pool("p", 100),)) -> Case:
    return Case(pools, jobs[0], FLAGS, CLOUD, others=jobs[1:], queues=queues)


def test_a_queue_admits_no_more_than_its_quota() -> None:
    two = (Job(30, 600, queue="q"), Job(30, 600, queue="q"))
    alone = simulate(case(*two))
    queued = simulate(case(*two, queues=(Queue("q", 40),)))
    assert max(point.busy for point in alone.timeline) == 60
    assert max(point.busy for point in queued.timeline) <= 40
    first, second = queued.summary.jobs
    assert first.start + 600 < second.start < first.done + 60, "when 20 pods of the first are done"
    patient = replace(case(*two, queues=(Queue("q", 40),)), settings=replace(FLAGS, unneeded_time=600))
    assert simulate(patient).summary.launched <= 41, "nodes of the first job are there for the second"


def test_jobs_that_start_together_need_nodes_for_all() -> None:
    run = simulate(case(Job(20, 300), Job(20, 300), Job(20, 300)))
    assert max(point.target for point in run.timeline) == 60
    small = simulate(case(Job(20, 300), Job(20, 300), Job(20, 300), pools=(Pool("p", 20),)))
    assert max(point.target for point in small.timeline) == 20
    assert small.summary.finished
    assert small.summary.last_done > run.summary.last_done + 500


def test_two_gangs_that_each_hold_half_of_a_pool_never_end() -> None:
    run = simulate(case(Job(20, 300, gang=True), Job(20, 300, gang=True, at=1), pools=(Pool("p", 30),)))
    assert run.summary.finished, "the first one is whole"
    both = replace(CLOUD, create_rate=1, create_burst=0)
    stuck = simulate(
        replace(case(Job(20, 300, gang=True), Job(20, 300, gang=True), pools=(Pool("p", 19),)), cloud=both)
    )
    assert not stuck.summary.finished
    assert stuck.summary.pods_done == 0


def test_a_higher_priority_job_takes_nodes_and_the_lost_work_is_counted() -> None:
    low, high = Job(10, 3000, name="low"), Job(10, 300, name="high", at=1000, priority=5)
    run = simulate(case(low, high, pools=(Pool("p", 10),)))
    first, second = run.summary.jobs
    assert second.done < first.done
    assert run.summary.lost > 10 * 500
    assert run.summary.finished
    patient = simulate(case(low, replace(high, preempts=False), pools=(Pool("p", 10),)))
    assert patient.summary.lost == 0, "preemptionPolicy: Never"
    waiting = simulate(case(low, replace(high, priority=0), pools=(Pool("p", 10),)))
    assert waiting.summary.lost == 0
    assert waiting.summary.jobs[0].done < waiting.summary.jobs[1].done


def test_a_queue_stops_a_job_for_a_higher_one_only_if_preemption_is_on() -> None:
    low, high = Job(10, 3000, name="low", queue="q"), Job(10, 300, name="high", at=1000, priority=5, queue="q")
    stopped = simulate(case(low, high, queues=(Queue("q", 10, preempts=True),)))
    kept = simulate(case(low, high, queues=(Queue("q", 10),)))
    assert stopped.summary.jobs[1].done < stopped.summary.jobs[0].done
    assert stopped.summary.lost > 0
    assert kept.summary.jobs[0].done < kept.summary.jobs[1].done
    assert kept.summary.lost == 0


@pytest.mark.medium
def test_a_gang_loses_all_its_work_with_one_spot_machine() -> None:
    cloud = replace(CLOUD, interruptions=0.5)
    spot = (Pool("p", 100, spot=True),)
    alone = simulate(replace(case(Job(20, 1800), pools=spot), cloud=cloud)).summary
    gang = simulate(replace(case(Job(20, 1800, gang=True), pools=spot), cloud=cloud)).summary
    assert alone.interrupted > 0
    assert gang.lost > 3 * alone.lost
    assert simulate(replace(case(Job(20, 1800)), cloud=cloud)).summary.interrupted == 0, "no spot pool"
