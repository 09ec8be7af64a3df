"""Test the ten properties of simulated runs, and the decision rules of the autoscaler that the runs follow."""

from __future__ import annotations

import gc
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from kcheck.scale.simulate import results
from kcheck.scale.simulate.clock import Clock
from kcheck.scale.simulate.model import PHASES, Case, Cloud, Job, Pool, Run, Settings, Summary
from kcheck.scale.simulate.nodes import Fleet, Group, Node
from kcheck.scale.simulate.pods import Pods
from kcheck.scale.simulate.run import simulate, summarize, trace
from kcheck.scale.simulate.scaler import Scaler
from tests.places import LONG

pytestmark = pytest.mark.medium

CLOUD = Cloud(
    "aws", launch_rate=4, boot=170, boot_sigma=0.15, stragglers=0.01, straggler_mean=120, lost=0, pod_rate=2, pull=10, serial=True, shrinks_first=False,
    delete_call=0.5, delete_call_sigma=0, delete_latency=60, late=0, delete_tail=600, lookup_from=99, linger=60, loop=3, loop_per_node=0.01, loop_deleting=1, loop_sigma=0, taint_requests=1, event_requests=0, interruptions=0,
    affinity_check=0, fit_check=0, create_rate=20, create_burst=30, schedule_rate=75, granularity=1, least_paid=0,
)  # fmt: skip
IDEAL = replace(
    CLOUD, launch_rate=1e9, boot=300, boot_sigma=0, stragglers=0, pod_rate=0, pull=0, delete_call=0, delete_latency=300, loop=0,
    loop_per_node=0, create_rate=1e9, schedule_rate=1e9,
)  # fmt: skip
CALM = {"max_unready_percentage": 100.0, "max_unready_nodes": 10**6}


def case(
    nodes: int = 100, duration: float = 600, cloud: Cloud = CLOUD, pools: int = 1, seed: int = 0, **flags: Any
) -> Case:
    each = tuple(Pool(f"p{i}", nodes) for i in range(pools))
    return Case(each, Job(nodes, duration), Settings(**{"minor": 34, **CALM, **flags}), cloud, seed=seed)


def total(one: Case) -> float:
    return simulate(one).summary.total


minors = st.sampled_from([18, 20, 24, 26, 28, 30, 34, 37])
runs = st.builds(
    case, nodes=st.integers(1, 60), duration=st.integers(1, 3000), pools=st.integers(1, 4), seed=st.integers(0, 99), minor=minors,
    bulk_delete=st.sampled_from([1, 10, 100]), unneeded_time=st.sampled_from([0, 60, 600]), delay_after_add=st.sampled_from([0, 60, 600]),
    new_pod_delay=st.sampled_from([0, 30, 60]), balance=st.booleans(),
    cloud=st.builds(
        replace, st.just(CLOUD), lost=st.sampled_from([0, 0.05]), serial=st.booleans(), stragglers=st.sampled_from([0, 0.2]), late=st.sampled_from([0, 0.1])
    ),
)  # fmt: skip
slow = settings(max_examples=40 if LONG else 10)


# --- 1. the floor


def test_a_run_is_never_faster_than_its_necessary_steps() -> None:
    """These are 5 minutes to start, 10 of work, 10 unneeded, 5 to stop, and a loop between each."""
    flags = {"unneeded_time": 600, "bulk_delete": 1000, "client_qps": 0, "delay_after_add": 0, "minor": 20}
    found = total(case(1000, cloud=IDEAL, **flags))
    assert 1800 <= found <= 1800 + 4 * 10


@given(one=runs)
@slow
def test_a_run_takes_at_least_boot_plus_work_plus_idle_plus_deletion_time(one: Case) -> None:
    run = simulate(one)
    assume(run.summary.finished)
    assert (
        run.summary.total
        >= run.summary.first_ready + one.job.duration + one.settings.unneeded_time + one.cloud.delete_latency - 1e-6
    )


# --- 2. nothing is lost


@given(one=runs)
@slow
def test_every_pod_finishes_and_every_node_is_deleted(one: Case) -> None:
    run = simulate(one)
    assert run.summary.finished
    assert run.summary.pods_done == one.job.pods
    last = run.timeline[-1]
    assert (last.launched, last.busy, last.deleting) == (0, 0, 0)
    for point in run.timeline:
        assert 0 <= point.busy <= point.ready <= point.launched
        assert point.target <= sum(pool.most for pool in one.pools)


def test_a_job_larger_than_its_pools_stays_unfinished() -> None:
    one = replace(case(50), pools=(Pool("p", 20),), job=Job(50, 600, gang=True))
    run = simulate(one)
    assert not run.summary.finished
    assert run.summary.pods_done == 0
    assert run.summary.held["maxima of the pools"] > 0
    walled = simulate(replace(case(50), ceiling=20, job=Job(50, 600, gang=True)))
    assert not walled.summary.finished
    assert walled.summary.held["walls"] > 0


# --- 3. what is paid is what there was


@given(one=runs)
@slow
def test_the_paid_time_is_the_sum_of_its_phases(one: Case) -> None:
    summary = simulate(one).summary
    assert sum(summary.phases.values()) == pytest.approx(summary.paid)
    assert all(summary.phases[phase] >= -summary.launched for phase in PHASES)  # a step of billing each
    assert summary.phases["work"] == pytest.approx(one.job.pods * one.job.duration)
    assert summary.overspend(one) >= 1


@given(one=runs)
@slow
def test_traced_phases_add_up_to_the_paid_time(one: Case) -> None:
    summary, spans = simulate(one).summary, trace(one)
    for phase in PHASES:
        traced = sum(span.end - span.begin for span in spans if span.phase == phase)
        billed = summary.launched if phase == "delete" else 0  # a step of billing each
        assert traced == pytest.approx(summary.phases[phase], abs=billed + 1e-6)
        assert summary.phases[phase] == pytest.approx(sum(use.phases[phase] for use in summary.uses))


def gang_case(nodes: int, **changed: float) -> Case:
    one = case(nodes, cloud=replace(IDEAL, pull=10, **changed), unneeded_time=60, bulk_delete=1000, client_qps=0)
    return replace(one, job=replace(one.job, gang=True))


def test_a_gang_waits_for_pods_in_a_queue_and_not_for_nodes_that_are_ready() -> None:
    phases = simulate(gang_case(100, pod_rate=1)).summary.phases
    assert phases["pull"] == pytest.approx(100 * 10)
    assert phases["turn"] == pytest.approx(100 * 99)  # until the last of them starts
    assert phases["wait"] == pytest.approx(0, abs=1e-3)


def test_a_gang_waits_for_a_late_node_once_no_pod_waits_for_its_turn() -> None:
    """A second queue forms when the nodes come that replace the ones that never joined."""
    on_time, late = simulate(gang_case(100)).summary, simulate(gang_case(100, lost=0.05)).summary
    assert on_time.phases["turn"] + on_time.phases["wait"] == pytest.approx(0, abs=1e-3)
    assert late.phases["wait"] > 90 * 900  # the time until they are given up
    both = simulate(gang_case(100, lost=0.05, pod_rate=1)).summary
    assert both.phases["turn"] > 100 * 90
    assert both.phases["turn"] + both.phases["wait"] == pytest.approx(late.phases["wait"], rel=0.05)


@given(one=runs)
@slow
def test_no_node_is_idle_for_longer_than_its_timer(one: Case) -> None:
    summary, spans = simulate(one).summary, trace(one)
    assert (
        max((span.end - span.begin for span in spans if span.phase == "idle"), default=0)
        <= one.settings.unneeded_time + 1e-6
    )
    assert summary.phases["wait"] == 0  # as the pods do not wait for each other


def test_every_node_pays_at_least_the_minimum_billed_time() -> None:
    short = case(5, 1, cloud=replace(CLOUD, least_paid=3600), unneeded_time=0, delay_after_add=0)
    assert simulate(short).summary.paid >= 5 * 3600


# --- 4. limits


@given(one=runs)
@slow
def test_deletion_batches_stay_within_the_flags(one: Case) -> None:
    run = simulate(one)
    for event in run.events:
        if event.what == "scale-down":
            assert event.nodes <= one.settings.bulk_delete


@given(most=st.integers(1, 50), total_=st.integers(0, 60))
@slow
def test_scale_ups_stay_below_their_limits(most: int, total_: int) -> None:
    one = case(60, scale_up_nodes=most, max_nodes=total_, minor=30, unneeded_time=0, delay_after_add=0)
    run = simulate(one)
    for event in run.events:
        if event.what == "scale-up":
            assert event.nodes <= most
    if total_:
        assert all(point.target <= total_ for point in run.timeline)


def test_pools_keep_their_minimum_size() -> None:
    one = replace(case(20), pools=(Pool("p", 20, least=5, existing=5),))
    run = simulate(one)
    assert run.summary.finished
    assert run.timeline[-1].launched == 5
    assert min(point.target for point in run.timeline) == 5


# --- 5. what makes it slower


BETTER: dict[str, tuple[Any, ...]] = {"bulk_delete": (5, 20, 200), "client_qps": (2, 20, 200)}
WORSE: dict[str, tuple[Any, ...]] = {
    "unneeded_time": (60, 180, 900),
    "delay_after_add": (0, 300, 1800),
    "scan_interval": (5, 20, 60),
}
JITTER = 60
"""Seconds by which a run may differ, depending on the phase of the loops."""


@pytest.mark.slow
@pytest.mark.parametrize("minor", [20, 36])
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", [*BETTER, *WORSE])
def test_each_flag_changes_the_total_time_in_one_direction(name: str, minor: int, seed: int) -> None:
    found = [total(case(300, minor=minor, seed=seed, **{name: value})) for value in (BETTER | WORSE)[name]]
    ordered = found if name in WORSE else found[::-1]
    assert all(later >= earlier - JITTER for earlier, later in pairwise(ordered)), found


@pytest.mark.parametrize(("name", "values_", "faster"), [
    ("launch_rate", (0.5, 2, 20), True), ("pod_rate", (0.5, 2, 20), True), ("delete_call", (0.1, 1, 3), False), ("boot", (60, 180, 400), False),
])  # fmt: skip
@pytest.mark.parametrize("minor", [20, 36])
def test_each_cloud_parameter_changes_the_total_time_in_one_direction(
    name: str, values_: tuple[float, ...], faster: bool, minor: int
) -> None:
    found = [total(case(300, minor=minor, cloud=replace(CLOUD, **{name: value}))) for value in values_]
    ordered = found[::-1] if faster else found
    assert all(later >= earlier - JITTER for earlier, later in pairwise(ordered)), found


@pytest.mark.parametrize("minor", [20, 36])
def test_more_nodes_and_more_work_take_longer(minor: int) -> None:
    by_nodes = [total(case(nodes, minor=minor)) for nodes in (50, 100, 200, 400)]
    assert all(later >= earlier - JITTER for earlier, later in pairwise(by_nodes))
    by_work = [total(case(100, duration, minor=minor)) for duration in (60, 600, 6000)]
    assert by_work == sorted(by_work)


# --- 6. and what makes it dearer


@pytest.mark.parametrize("name", ["bulk_delete", "client_qps", "unneeded_time"])
def test_each_flag_changes_the_cost_in_one_direction(name: str) -> None:
    found = [simulate(case(300, **{name: value})).summary.paid for value in (BETTER | WORSE)[name]]
    ordered = found if name in WORSE else found[::-1]
    assert all(later >= earlier * 0.98 for earlier, later in pairwise(ordered)), found


# --- 7. the health gate


def test_booting_nodes_do_not_pause_the_autoscaler() -> None:
    run = simulate(case(200, minor=30, max_unready_percentage=45, max_unready_nodes=3))
    assert not [event for event in run.events if event.what == "unhealthy"]


def test_nodes_booting_too_long_pause_the_autoscaler_unless_flags_allow_them() -> None:
    late = replace(CLOUD, boot=1500, boot_sigma=0.01, stragglers=0)
    flags: dict[str, Any] = {"minor": 30, "startup_time": 900, "provision_time": 3600}
    stopped = simulate(case(100, cloud=late, max_unready_percentage=45, max_unready_nodes=3, **flags))
    assert [event for event in stopped.events if event.what == "unhealthy"]
    assert stopped.summary.held["max-total-unready-percentage"] > 0
    calm = simulate(case(100, cloud=late, **flags))
    assert not [event for event in calm.events if event.what == "unhealthy"]


def test_lingering_deleted_nodes_count_as_unready_if_the_cloud_is_queried() -> None:
    """A large batch lingers all at once, so faster deletion can block itself."""
    flags: dict[str, Any] = {
        "max_unready_percentage": 20,
        "max_unready_nodes": 3,
        "bulk_delete": 200,
        "unneeded_time": 60,
        "client_qps": 1000,
        "minor": 30,
    }
    asked = replace(CLOUD, lookup_from=26, delete_call=0.01, delete_latency=200, linger=90)
    old = simulate(case(300, 1500, cloud=asked, **flags))
    assert [event for event in old.events if event.what == "unhealthy"]
    tainted = simulate(case(300, 1500, cloud=replace(asked, lookup_from=31), **flags))
    assert not [event for event in tainted.events if event.what == "unhealthy"]


# --- 8. back-off


def test_the_backoff_doubles_up_to_its_limit_and_is_reset() -> None:
    group = Group(Pool("p", 10))
    now, lengths = 0.0, []
    for _ in range(5):
        group.fail(now, 300, 1800, 10800)
        lengths.append(group.backoff_length)
        now = group.backoff_until + 1
    assert lengths == [300, 600, 1200, 1800, 1800]
    group.fail(now + 10801, 300, 1800, 10800)
    assert group.backoff_length == 300


def test_failures_during_a_backoff_do_not_count() -> None:
    group = Group(Pool("p", 10))
    group.fail(0, 300, 1800, 10800)
    group.fail(100, 300, 1800, 10800)
    assert group.backoff_until == 300


def test_a_node_that_never_joins_costs_the_timeout_and_the_backoff() -> None:
    lossy = replace(CLOUD, lost=0.1)
    run = simulate(case(20, 3600, cloud=lossy, minor=34, seed=3))
    lost = [event for event in run.events if event.what == "never joined"]
    assert lost
    again = next(event for event in run.events if event.what == "scale-up" and event.time > lost[0].time)
    assert again.time >= lost[0].time + 300
    assert simulate(case(20, 3600, cloud=lossy, minor=34, seed=3, backoff=60)).summary.total < run.summary.total


# --- 9. the law of large numbers of nodes


def test_deletion_time_grows_linearly_where_deletion_dominates() -> None:
    flags: dict[str, Any] = {"minor": 20, "unneeded_time": 0, "delay_after_add": 0}
    cloud = replace(
        CLOUD,
        loop_per_node=0,
        pod_rate=0,
        launch_rate=1e6,
        boot_sigma=0,
        stragglers=0,
        create_rate=1e6,
        schedule_rate=1e6,
    )
    deletion = []
    for nodes in (400, 800, 1600):
        summary = simulate(case(nodes, 60, cloud=cloud, **flags)).summary
        deletion.append(summary.total - summary.last_done)
    assert deletion[1] / deletion[0] == pytest.approx(2, rel=0.1)
    assert deletion[2] / deletion[1] == pytest.approx(2, rel=0.1)


# --- 10. the same again


@given(one=runs)
@slow
def test_the_same_case_gives_the_same_run(one: Case) -> None:
    def told(run: Run) -> object:
        return run.summary, run.timeline, run.events

    assert told(simulate(one)) == told(simulate(one))


@given(one=runs)
@slow
def test_the_summary_needs_no_timeline(one: Case) -> None:
    assert summarize(one) == simulate(one).summary


@pytest.mark.slow
def test_a_run_leaves_no_reference_cycles() -> None:
    """kcheck runs without a garbage collector."""
    gc.collect()
    gc.disable()
    try:
        for one in (case(20), replace(case(20), pools=(Pool("p", 30, least=5, existing=5),)), case(20, bulk_delete=0)):
            simulate(one)
            assert gc.collect() == 0
    finally:
        gc.enable()


def test_random_draws_depend_on_the_seed_and_not_on_settings() -> None:
    assert total(case(seed=1)) != total(case(seed=2))
    fast, slow_ = (simulate(case(bulk_delete=batch)).summary for batch in (10, 100))
    assert fast.last_ready == slow_.last_ready


def test_balanced_equal_pools_are_as_fast_as_one_fast_pool() -> None:
    five = total(case(100, pools=5, balance=True))
    one = total(case(100, cloud=replace(CLOUD, launch_rate=5 * CLOUD.launch_rate), balance=True))
    assert five == pytest.approx(one, abs=JITTER)


def test_autoscaler_versions_agree_where_batches_do_not_matter() -> None:
    flags: dict[str, Any] = {
        "bulk_delete": 1000,
        "client_qps": 0,
        "delay_after_add": 0,
        "unneeded_time": 300,
        "taint_delay": 0,
    }
    assert total(case(100, minor=20, **flags)) == pytest.approx(total(case(100, minor=34, **flags)), abs=20)


# --- the registry


def test_a_registry_pull_limit_delays_the_remaining_pods() -> None:
    """The limit is 100 pulls in six hours: further pods start in the next window."""
    limited = replace(case(150), pulls=100, window=21600)
    run = simulate(limited)
    assert run.summary.held["the registry's pull limit"] > 0
    assert run.summary.last_start > 21600
    assert run.summary.refused == 50
    assert simulate(case(150)).summary.last_start < 3600


def test_a_job_fails_at_its_deadline_and_its_nodes_are_deleted() -> None:
    limited = replace(case(150), pulls=100, window=21600)
    late = simulate(replace(limited, job=replace(limited.job, deadline=7200))).summary
    assert not late.finished
    assert (late.pods_done, late.failed) == (100, 50)
    assert 7200 < late.total < 9000
    assert late.paid < simulate(limited).summary.paid
    in_time = replace(limited, pulls=0, job=replace(limited.job, deadline=7200))
    assert simulate(in_time).summary.finished


def test_a_gang_without_its_last_pod_fails_at_its_deadline() -> None:
    limited = replace(case(150), pulls=100, window=21600)
    late = simulate(replace(limited, job=replace(limited.job, gang=True, deadline=7200))).summary
    assert (late.pods_done, late.failed) == (0, 150)


# --- Karpenter


def test_karpenter_starts_all_nodes_at_once_and_respects_its_budget() -> None:
    one = case(100, pools=2, karpenter=True, unneeded_time=60, bulk_delete=10, taint_delay=0)
    run = simulate(replace(one, pools=tuple(replace(pool, most=60) for pool in one.pools)))
    assert run.summary.finished
    assert all(event.nodes <= 10 for event in run.events if event.what == "scale-down")
    assert max(point.deleting for point in run.timeline) >= 10
    wide = simulate(case(100, karpenter=True, unneeded_time=60, bulk_delete=100, taint_delay=0))
    assert wide.summary.phases["queue"] < run.summary.phases["queue"]


# --- one rule of the source each


def first(run: Run) -> list[tuple[str, int]]:
    """Return the pools of the first scale-up, each with the nodes it got."""
    asked = [event for event in run.events if event.what == "scale-up"]
    return [(event.pool, event.nodes) for event in asked if event.time == asked[0].time]


def test_one_pool_grows_per_loop_unless_balancing_or_salvo_is_on() -> None:
    pools = (Pool("a", 60), Pool("b", 60))
    burst = replace(CLOUD, create_rate=1e6, schedule_rate=1e6)
    one = replace(case(100, cloud=burst, minor=36, new_pod_delay=30), pools=pools)
    assert first(simulate(one)) == [("a", 60)]
    assert first(simulate(replace(one, settings=replace(one.settings, balance=True)))) == [("a", 50), ("b", 50)]
    assert first(simulate(replace(one, settings=replace(one.settings, salvo=True)))) == [("a", 60), ("b", 40)]


@pytest.mark.parametrize(("minor", "nodes"), [(23, 60), (24, 20)])
def test_scale_ups_have_a_size_limit_since_1_24(minor: int, nodes: int) -> None:
    assert first(simulate(case(60, minor=minor, scale_up_nodes=20, new_pod_delay=30)))[0][1] == nodes


def test_scale_down_delays_can_apply_per_pool() -> None:
    """A pool that grows late does not delay others since 1.29, if a flag says so."""
    flags: dict[str, Any] = {"minor": 30, "delay_after_add": 1800, "unneeded_time": 60, "bulk_delete": 200}
    short = replace(case(100, 60, **flags), pools=(Pool("a", 50), Pool("b", 50)), cloud=replace(CLOUD, pod_rate=0))
    local = simulate(replace(short, settings=replace(short.settings, local_delays=True)))
    assert local.summary.paid < simulate(short).summary.paid * 1.001
    downs = [event.time for event in local.events if event.what == "scale-down"]
    ups = {event.pool: event.time for event in local.events if event.what == "scale-up"}
    assert downs[0] >= min(ups.values()) + 1800


@pytest.mark.parametrize(("minor", "eager"), [(29, False), (34, False), (35, True)])
def test_autoscaler_loops_follow_at_once_since_1_35(minor: int, eager: bool) -> None:
    assert Settings(minor=minor).eager is eager
    assert Settings(minor=34, frequent_loops=True).eager
    assert not Settings(minor=29, frequent_loops=True).eager


def test_an_unschedulable_pod_ends_the_wait_since_1_35() -> None:
    """loop/trigger.go: the wait ends with the next pod that the scheduler cannot place."""
    slow = replace(CLOUD, create_rate=0.25, create_burst=0, loop=1, loop_per_node=0)
    pools = (Pool("full", 0), Pool("p", 100))
    for seed in range(5):
        one = replace(case(20, cloud=slow, minor=35, seed=seed, new_pod_delay=0), pools=pools)
        loops = [point.time for point in simulate(one).timeline if point.time < 70]
        assert loops[0] < 1.1, "the first loop begins with the first pod"
        assert max(after - before for before, after in pairwise(loops)) <= 4.1, "a pod every 4 seconds"
        regular = simulate(replace(one, settings=replace(one.settings, minor=34))).timeline
        loops = [point.time for point in regular if point.time < 70]
        assert min(after - before for before, after in pairwise(loops)) == pytest.approx(11)


@pytest.mark.parametrize(("minor", "modern"), [(24, False), (27, False), (28, True), (32, True)])
def test_the_version_decides_the_deletion_algorithm(minor: int, modern: bool) -> None:
    assert Settings(minor=minor).modern is modern
    assert Settings(minor=26, parallel_drain=True).modern
    assert Settings(minor=32, parallel_drain=False).modern


def downs(run: Run) -> list[float]:
    """Return the times of scale-downs."""
    return [event.time for event in run.events if event.what == "scale-down"]


@pytest.mark.parametrize("minor", [20, 34])
def test_deletions_in_progress_count_for_the_minimum_of_a_pool(minor: int) -> None:
    slow_ = replace(CLOUD, delete_call=30)
    one = replace(case(1, minor=minor, cloud=slow_, bulk_delete=15), pools=(Pool("p", 30, least=10, existing=30),))
    run = simulate(one)
    assert run.summary.finished
    assert run.timeline[-1].launched == 10


def test_a_run_whose_nodes_stay_is_not_finished() -> None:
    run = simulate(case(20, bulk_delete=0))
    assert run.summary.pods_done == 20
    assert not run.summary.finished


def test_a_node_limit_ends_a_run_that_it_blocks() -> None:
    run = simulate(replace(case(60, max_nodes=5), job=Job(60, 600, gang=True)))
    assert not run.summary.finished
    assert run.summary.total < 3600


@pytest.mark.parametrize("minor", [20, 34])
def test_the_delay_after_a_deletion_starts_with_the_deciding_loop(minor: int) -> None:
    slow_ = replace(CLOUD, serial=False, delete_call=60)
    flags = {"delay_after_delete": 600, "bulk_delete": 10, "unneeded_time": 60, "delay_after_add": 0}
    times = downs(simulate(case(30, minor=minor, cloud=slow_, **flags)))
    assert len(times) >= 3
    assert all(later - earlier >= 600 for earlier, later in pairwise(times))


def test_nodes_that_existed_before_the_run_count_as_old_when_deleted() -> None:
    asked = replace(CLOUD, lookup_from=26, serial=False, delete_latency=300)
    flags: dict[str, Any] = {
        "max_unready_percentage": 45,
        "max_unready_nodes": 3,
        "bulk_delete": 500,
        "unneeded_time": 60,
    }
    run = simulate(replace(case(1, minor=30, cloud=asked, **flags), pools=(Pool("p", 300, existing=300),)))
    assert [event for event in run.events if event.what == "unhealthy"]


@pytest.mark.parametrize(("minor", "stops"), [(20, False), (21, True)])
def test_nodes_booting_too_long_count_as_unready_since_1_21(minor: int, stops: bool) -> None:
    late = replace(CLOUD, boot=1500, boot_sigma=0.01, stragglers=0)
    flags: dict[str, Any] = {"max_unready_percentage": 45, "max_unready_nodes": 3, "provision_time": 3600}
    run = simulate(case(100, cloud=late, minor=minor, **flags))
    assert run.summary.finished
    assert bool([event for event in run.events if event.what == "unhealthy"]) is stops


def test_requests_time_out_in_an_unhealthy_cluster() -> None:
    late = replace(CLOUD, boot=1500, boot_sigma=0.01, stragglers=0, launch_rate=0.2)
    flags: dict[str, Any] = {
        "max_unready_percentage": 45,
        "max_unready_nodes": 3,
        "startup_time": 900,
        "provision_time": 1000,
    }
    events = simulate(case(100, cloud=late, minor=30, **flags)).events
    timed_out = [event.time for event in events if event.what == "scale-up timed out"]
    unhealthy = [event.time for event in events if event.what == "unhealthy"]
    assert timed_out
    assert timed_out[0] <= 1100
    assert unhealthy[0] < timed_out[0] < unhealthy[-1]


def test_a_scale_up_fails_once_even_if_instances_time_out_later() -> None:
    """Instances that start late are given up after the first back-off; that is no second failure."""
    lossy = replace(CLOUD, launch_rate=0.25, lost=0.05)
    run = simulate(case(200, 6000, cloud=lossy, minor=34, provision_time=900))
    lost = [event.time for event in run.events if event.what == "never joined"]
    assert lost[-1] > 900 + 300
    second = [event.time for event in run.events if event.what == "scale-up" and event.time > 900]
    assert any(abs(again - gone) < 60 for again in second for gone in lost if gone > 1300)


@pytest.mark.parametrize(("oldest", "gpu", "deleted"), [(1, False, 0), (3, False, 1), (3, True, 0), (31, True, 1)])
def test_nothing_is_deleted_while_all_pods_are_new(oldest: float, gpu: bool, deleted: int) -> None:
    group = Group(Pool("p", 1), target=1, ready=1)
    node = Node(group, 0)
    node.since = 0
    fleet = Fleet([group])
    fleet.unneeded.append(node)
    one = replace(case(2, minor=37, delay_after_add=0), job=Job(2, 600, gpu=gpu))
    scaler = Scaler(one, fleet, lambda _name, _seconds: None)
    pods = Pods(one, fleet, Clock(), scaler.hold)
    pod = pods.works[0].pods[0]
    pod.created = 1000 - oldest
    pods._wait(pod, pod.created)
    step = scaler.scale_up(1000, pods)
    assert (len(scaler.scale_down(1000)) if step.deletes else 0) == deleted


def test_the_last_nodes_are_skipped_while_a_pool_looks_as_small_as_its_minimum() -> None:
    """The size of the pool is 3, but two of its nodes are being deleted: "node group min size reached"."""
    late = replace(CLOUD, delete_call=40, stragglers=0, boot_sigma=0)
    early = replace(late, shrinks_first=True)
    flags: dict[str, Any] = {"minor": 36, "unneeded_time": 60, "delay_after_add": 0, "bulk_delete": 10}
    last = [downs(simulate(case(15, cloud=cloud, **flags)))[-1] for cloud in (late, early)]
    assert last[1] > last[0] + 40


def test_autoscaler_flags_have_no_effect_before_the_version_that_added_them() -> None:
    pools = (Pool("a", 60), Pool("b", 60))
    one = replace(case(100, minor=35, new_pod_delay=30, salvo=True), pools=pools)
    assert first(simulate(one)) == [("a", 60)]
    assert total(case(50, minor=25, batcher_interval=500)) == total(case(50, minor=25))
    slow_: dict[str, Any] = {"minor": 28, "delay_after_delete": 300}
    assert total(case(50, pools=2, local_delays=True, **slow_)) == total(case(50, pools=2, **slow_))


def test_a_free_node_takes_the_next_waiting_pod() -> None:
    """A pool of 20 runs 60 pods in three waves; deleting nodes in between would make no sense."""
    run = simulate(replace(case(60), pools=(Pool("p", 20),)))
    assert run.summary.finished
    assert run.summary.launched == 20
    assert run.summary.last_done <= run.summary.last_ready + 3 * 600 + 60
    assert run.summary.phases["work"] == pytest.approx(60 * 600)
    assert min(run.summary.phases.values()) >= 0


@pytest.mark.parametrize("unneeded_time", [0, 60])
def test_unneeded_clocks_start_for_two_batches_if_a_loop_is_longer(unneeded_time: float) -> None:
    """unneededNodesLimit: an unneeded time below the loop interval counts as one interval."""
    fleet = Fleet([Group(Pool("p", 100))])
    fleet.idle.extend(Node(fleet.groups[0], 0) for _ in range(100))
    scaler = Scaler(case(unneeded_time=unneeded_time, bulk_delete=10), fleet, lambda _name, _seconds: None)
    scaler.last_update = 0.0
    scaler._clocks(600.0)
    assert len(fleet.unneeded) == 20


# --- what a run is compared with


@given(
    runs, st.sampled_from([0, 1, 3, 100]), st.sampled_from([0.0, 5.0, 45.0]), st.integers(0, 100), st.integers(0, 100),
    st.sampled_from([0, 30.0]),
)  # fmt: skip
@settings(max_examples=200 if LONG else 60)
def test_raising_a_limit_that_stopped_nothing_changes_nothing(
    one: Case, count: int, percentage: float, more: int, share: int, boot: float
) -> None:
    own = replace(
        one.settings,
        max_unready_nodes=count,
        max_unready_percentage=percentage,
        startup_time=boot or one.settings.startup_time,
    )
    one = replace(one, settings=own)
    summary = summarize(one)
    batch = replace(one, settings=replace(own, bulk_delete=own.bulk_delete + more))
    tolerant = replace(
        one, settings=replace(own, max_unready_nodes=count + more, max_unready_percentage=percentage + share)
    )
    for name, other in (("bulk_delete", batch), ("max_unready_nodes", tolerant)):
        if name not in summary.bound:
            assert replace(summarize(other), bound=summary.bound) == summary


@pytest.mark.parametrize(
    ("changed", "equal"),
    [
        ({"bulk_delete": 500}, False),  # of 300 nodes, 10 go at a time
        ({"max_unready_nodes": 10**7}, True),
        ({"max_unready_percentage": 50.0}, False),  # it is less
        ({"max_unready_nodes": 10**7, "unneeded_time": 60}, False),
        ({"unneeded_time": 60}, False),
    ],
)
def test_a_comparison_reruns_only_cases_that_may_differ(
    changed: dict[str, Any], equal: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran: list[Case] = []

    def summary(one: Case) -> Summary:
        ran.append(one)
        return summarize(one)

    monkeypatch.setattr(results, "summarize", summary)
    one = case(300, cloud=IDEAL)
    other = replace(one, settings=replace(one.settings, **changed))
    found = results._difference(one, other)
    assert {run.settings for run in ran} == ({one.settings} if equal else {one.settings, other.settings})
    assert (found == (0, 0, 0)) == (equal or changed == {"max_unready_percentage": 50.0})
