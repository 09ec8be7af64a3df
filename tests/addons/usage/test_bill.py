"""Test the bill of a recording: each number is computed by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kcheck.addons.usage.bill import BY, NOBODY, By, Order, Row, bill
from kcheck.scale.usage import joining
from kcheck.scale.usage.recording import HOUR, Container, Gpu, Recording
from tests.addons.usage.recordings import BEGIN, node, nowhere, pod, recording

if TYPE_CHECKING:
    from kcheck.addons.usage.bill import Bill

pytestmark = pytest.mark.smoke

HUNDRED = 100_00
"""The price of a node-hour: $100, in cents."""


def billed(made: Recording, by: By = "job", *, previous: Recording | None = None, price: int | None = None) -> Bill:
    older = None if previous is None else joining.joined(previous, None)
    return bill(joining.joined(made, None), nowhere(price=price), by, None, older)


def row(found: Bill, name: str) -> Row:
    return next(one for one in found.rows if one.name == name)


def test_gpu_hours_and_gpu_use_are_billed() -> None:
    half, tenth = pod("half", gpus=8, busy=50, hours=10), pod("tenth", gpus=4, busy=10, hours=5)
    amounts = billed(recording([half, tenth])).rows[0].amounts
    assert (amounts.pods, amounts.runs, amounts.pod_hours) == (2, 1, 15)
    assert amounts.gpu_hours == 8 * 10 + 4 * 5
    assert amounts.gpu_busy == pytest.approx(40 + 2)
    assert amounts.gpu_use == pytest.approx(0.42)
    assert amounts.gpu_idle == pytest.approx(58)


def test_unmeasured_gpus_are_not_idle() -> None:
    seen, unseen = pod("seen", gpus=1, busy=40), pod("unseen", gpus=1)
    found = billed(recording([seen, unseen], [node("a", gpus=2)]), price=HUNDRED).rows[0].amounts
    assert [found.gpu_hours, found.gpu_measured, found.gpu_use] == pytest.approx([20, 10, 0.4])
    assert found.paid == pytest.approx(1000)
    assert found.unmeasured == pytest.approx(500)
    assert found.idle == pytest.approx(500 * 0.6)


def test_tensor_core_use_and_energy_are_billed() -> None:
    found = billed(recording([pod("a", gpus=2, busy=90, tensor=25, watts=500)])).rows[0].amounts
    assert found.tensor_use == pytest.approx(0.25)
    assert found.energy_kwh == pytest.approx(0.5 * 2 * 10)


def test_requested_and_used_cores_and_memory_are_billed() -> None:
    found = billed(recording([pod("a", cores=4, used=1, memory=8, used_memory=6, hours=10)])).rows[0].amounts
    assert (found.cpu_requested, found.cpu_used, found.cpu_use) == (40, 10, 0.25)
    assert (found.memory_requested, found.memory_used, found.memory_use) == (80, 60, 0.75)


def test_a_pod_pays_for_its_gpus() -> None:
    two = pod("two", gpus=2, busy=25, cores=90, memory=700, hours=10)
    without = pod("agent", owners=[("DaemonSet", "agent")], hours=10)
    found = billed(recording([two, without], [node("a", days=1)]), price=HUNDRED)
    train = row(found, "PyTorchJob ml/train").amounts
    assert train.paid == pytest.approx(100 * 10 * 2 / 8)
    assert train.idle == pytest.approx(250 * 0.75)
    assert row(found, "DaemonSet ml/agent").amounts.paid == 0


@pytest.mark.parametrize(
    ("cores", "used", "memory", "used_memory", "paid", "idle"),
    [
        (48, 24, 77, 77, 1 / 2, 1 / 4),  # of 96 cores
        (1, 1, 576, 192, 3 / 4, 1 / 2),  # of 768 GiB
        (1, 48, 1, 1, 1 / 2, 0),  # more than it requests
        (48, 1, 1, 192, 1 / 2, 1 / 4),  # more memory than it requests, fewer cores
    ],
)
def test_a_pod_without_gpus_pays_for_the_larger_of_its_cores_and_memory(
    cores: float, used: float, memory: float, used_memory: float, paid: float, idle: float
) -> None:
    one = pod("a", cores=cores, used=used, memory=memory, used_memory=used_memory, hours=24)
    found = billed(recording([one], [node("a", gpus=0, days=1)]), price=HUNDRED)
    amounts = found.rows[0].amounts
    assert amounts.paid == pytest.approx(2400 * paid)
    assert amounts.idle == pytest.approx(2400 * idle)
    assert found.spare.amounts.paid == pytest.approx(2400 * (1 - paid))


def test_pods_pay_no_more_than_their_node_costs() -> None:
    pods = [pod("a", cores=90, memory=10, hours=24), pod("b", cores=5, memory=760, hours=24)]
    found = billed(recording(pods, [node("a", gpus=0, days=1)]), price=HUNDRED)
    assert found.rows[0].amounts.paid == pytest.approx(2400)
    assert found.spare.amounts.paid == pytest.approx(0)


def test_unrequested_gpus_are_on_the_bill() -> None:
    found = billed(
        recording([pod("a", gpus=6, busy=100, hours=24)], [node("a", days=1), node("b", days=1)]), price=HUNDRED
    )
    assert found.spare.amounts.paid == pytest.approx(2400 * (2 / 8 + 1))
    assert found.spare.amounts.gpu_hours == pytest.approx(24 * 10)
    assert found.spare.amounts.idle == found.spare.amounts.paid
    assert found.total.amounts.paid == pytest.approx(4800)
    assert found.total.amounts.gpu_hours == pytest.approx(24 * 16)


def test_the_bill_of_pools_shows_unused_nodes() -> None:
    nodes = [
        node("a", days=1),
        node("b", days=1),
        node("c", gpus=0, labels={"node_kubernetes_io_instance_type": "m5.large"}, days=1),
    ]
    found = billed(recording([pod("x", gpus=6, busy=100, hours=24)], nodes), price=HUNDRED)
    assert [(one.name, one.machines, one.nodes) for one in found.pools] == [
        ("gpu", ["p5.48xlarge"], 2),
        ("m5.large", ["m5.large"], 1),
    ]
    assert [one.whole.paid for one in found.pools] == pytest.approx([4800, 2400])
    assert [one.spare.paid for one in found.pools] == pytest.approx([4800 - 1800, 2400])
    assert found.pools[0].spare.gpu_hours == pytest.approx(24 * 10)
    assert sum(one.spare.paid for one in found.pools) == pytest.approx(found.spare.amounts.paid)


def test_a_gpu_slice_counts_as_a_fraction_of_a_gpu() -> None:
    one = pod("a", hours=7)
    one.containers["main"] = Container(requests={"nvidia_com_mig_1g_10gb": 2}, gpus=[Gpu("GPU-1/0"), Gpu("GPU-1/1")])
    one.hours.busy = [100] * 7  # 50 percent of each
    sliced = node("a", gpus=0, days=1)
    sliced.allocatable["nvidia_com_mig_1g_10gb"] = 56
    amounts = billed(recording([one], [sliced]), price=HUNDRED).rows[0].amounts
    assert amounts.gpu_hours == pytest.approx(2)
    assert amounts.gpu_use == pytest.approx(0.5)
    assert amounts.paid == pytest.approx(700 * 2 / 56)


def test_a_shared_copy_of_a_gpu_counts_as_a_fraction_of_a_gpu() -> None:
    shared = node("a", gpus=32, days=1, labels={"nvidia_com_gpu_replicas": "4"})
    amounts = billed(recording([pod("a", gpus=1, busy=10, hours=8)], [shared]), price=HUNDRED).rows[0].amounts
    assert amounts.gpu_hours == pytest.approx(2)
    assert amounts.paid == pytest.approx(800 / 32)


def test_a_pod_that_came_back_has_no_more_gpus_than_it_requests() -> None:
    one = pod("a", gpus=1, busy=80)
    one.containers["main"].gpus.append(Gpu("GPU-other"))
    assert billed(recording([one])).rows[0].amounts.gpu_use == pytest.approx(0.8)


def test_gpus_held_while_images_are_pulled_count_as_idle() -> None:
    late = pod("a", gpus=1, busy=100, first=2, hours=2, scheduled=HOUR)
    amounts = billed(recording([late], [node("a", gpus=1, days=1)]), price=HUNDRED).rows[0].amounts
    assert (amounts.gpu_hours, amounts.gpu_measured, amounts.gpu_use) == (3, 2, 1)
    assert amounts.gpu_idle == pytest.approx(1)
    assert [amounts.paid, amounts.idle] == pytest.approx([300, 100])


def test_a_pod_that_began_in_a_gap_counts_from_its_first_sample() -> None:
    late = pod("a", gpus=1, busy=100, first=5, hours=2, scheduled=HOUR)
    gap = (BEGIN + 2 * HOUR, BEGIN + 4 * HOUR)
    for gaps, hours in (([gap], 2), ([(BEGIN, BEGIN + 60)], 6), ([], 6)):
        assert billed(recording([late], gaps=gaps)).rows[0].amounts.gpu_hours == hours


def test_a_pod_that_never_ran_holds_its_node_until_its_last_sample() -> None:
    stuck = pod("a", gpus=8, hours=0, scheduled=0)
    stuck.first = stuck.last = stuck.started = stuck.ended = None
    stuck.pending = BEGIN + 5 * HOUR
    assert billed(recording([stuck])).rows[0].amounts.gpu_hours == 40


# --- rows


def test_labels_name_the_rows_of_the_bill() -> None:
    pods = [
        pod("a", labels={"team": "vision"}),
        pod("b", labels={"example_com_cost_center": "x"}),
        pod("c", namespace="speech"),
        pod("d", namespace="other"),
    ]
    found = billed(recording(pods, namespaces={"speech": {"team": "speech"}, "ml": {}}), "team")
    assert {one.name: one.amounts.pods for one in found.rows} == {"vision": 1, "speech": 1, NOBODY: 2}
    own = bill(joining.joined(recording(pods), None), nowhere(), "team", {"team": ["example.com/costCenter"]})
    assert {one.name: one.amounts.pods for one in own.rows} == {"x": 1, NOBODY: 3}


def test_the_runs_of_a_cron_job_count_as_one_job() -> None:
    pods = [pod(f"p{run}", owners=[("Job", f"eval-2977010{run}"), ("CronJob", "eval")]) for run in range(3)]
    [only] = billed(recording(pods)).rows
    assert (only.name, only.amounts.runs, only.amounts.pods) == ("CronJob ml/eval", 3, 3)


def test_rows_with_the_most_idle_cost_come_first() -> None:
    pods = [
        pod("small", owners=[("Job", "small")], gpus=1, busy=0),
        pod("busy", owners=[("Job", "busy")], gpus=4, busy=95),
        pod("idle", owners=[("Job", "idle")], gpus=2, busy=10),
    ]
    for nodes in ([], [node("a")]):
        found = billed(recording(pods, nodes))
        assert [one.name for one in found.rows] == ["Job ml/idle", "Job ml/small", "Job ml/busy"]
        assert found.by_money == bool(nodes)


def test_nodes_without_a_price_are_listed_and_rows_rank_by_gpu_hours() -> None:
    unknown = node("b", labels={"node_kubernetes_io_instance_type": "own.metal"}, days=2)
    pods = [
        pod("x", owners=[("Job", "x")], gpus=8, busy=0, node="b", hours=40),
        pod("y", owners=[("Job", "y")], gpus=8, busy=0),
    ]
    found = billed(recording(pods, [node("a"), unknown]))
    assert [(one.machine, one.nodes, one.hours) for one in found.unpriced] == [("own.metal", 1, 48)]
    assert [one.name for one in found.rows] == ["Job ml/x", "Job ml/y"]
    assert not found.by_money
    assert found.rows[0].amounts.paid == 0
    assert found.rows[0].amounts.gpu_unpriced == 320


# --- waiting


def test_the_wait_of_a_pod_for_its_node_is_billed() -> None:
    pods = [pod("a", created=0, scheduled=1800), pod("b", created=0, scheduled=5400), pod("c")]
    amounts = billed(recording(pods)).rows[0].amounts
    assert (amounts.queued, amounts.queue_mean, amounts.queue_longest) == (2, 1, 1.5)


def test_a_pod_that_is_still_waiting_counts() -> None:
    still = pod("a", hours=0, node="", created=0)
    still.first = still.last = still.ended = None
    still.waiting, still.pending = 2 * HOUR, BEGIN + 2 * HOUR
    amounts = billed(recording([still])).rows[0].amounts
    assert (amounts.pods, amounts.queued, amounts.queue_longest) == (0, 1, 2)


def test_a_gang_holds_idle_gpus_until_its_last_pod_is_scheduled() -> None:
    pods = [
        pod(f"w{index}", gpus=8, busy=0, first=2, created=0, scheduled=time)
        for index, time in enumerate((0, 1800, 3600))
    ]
    again = pod("w9", gpus=8, busy=0, first=9, created=8 * HOUR, scheduled=9 * HOUR)
    amounts = billed(recording([*pods, again])).rows[0].amounts
    assert amounts.gang_gpu_hours == pytest.approx(8 * 1 + 8 * 0.5)
    plain = [pod(one.name, owners=[("Deployment", "web")], gpus=8, created=0, scheduled=0, first=2) for one in pods]
    assert billed(recording(plain)).rows[0].amounts.gang_gpu_hours == 0


# --- week over week


def test_the_bill_compares_the_last_week_with_the_week_before() -> None:
    pods = [
        pod("old", gpus=1, busy=20, hours=100, first=24),
        pod("new", gpus=1, busy=80, hours=50, first=8 * 24),
        pod("gone", owners=[("Job", "gone")], gpus=1, busy=100, hours=10),
    ]
    found = billed(recording(pods, [node("a", days=14)], days=14), price=HUNDRED)
    train = row(found, "PyTorchJob ml/train")
    assert train.recent
    assert train.before
    assert (train.recent.gpu_hours, train.before.gpu_hours) == (50, 100)
    assert [train.recent.gpu_use, train.before.gpu_use] == pytest.approx([0.8, 0.2])
    assert [train.recent.paid, train.before.paid] == pytest.approx([625, 1250])
    assert found.total.recent
    assert found.total.before
    assert found.total.recent.paid == pytest.approx(found.total.before.paid)
    assert found.total.before.paid == pytest.approx(7 * 2400)


def test_an_older_recording_is_scaled_to_the_same_length() -> None:
    now = recording([pod("a", gpus=1, busy=50, hours=70)])
    older = recording([pod("b", gpus=1, busy=10, hours=10)], days=1)
    train = billed(now, previous=older).rows[0]
    assert train.before
    assert train.before.gpu_hours == pytest.approx(70)
    assert train.before.gpu_use == pytest.approx(0.1)


def test_a_single_week_is_compared_with_nothing() -> None:
    assert billed(recording([pod("a")])).compared is None


# --- the order


@pytest.mark.parametrize(
    ("order", "expected"),
    [
        ("idle", ["service", "busy", "small", "none"]),
        ("use", ["small", "service", "busy", "none"]),
        ("paid", ["none", "busy", "service", "small"]),
        ("gpu-hours", ["busy", "service", "small", "none"]),
    ],
)
def test_rows_are_sorted_by_the_chosen_column(order: Order, expected: list[str]) -> None:
    pods = [
        pod("a", owners=[("Job", "busy")], gpus=8, busy=90, hours=20),
        pod("b", owners=[("Job", "small")], gpus=1, busy=1, hours=10),
        pod("c", owners=[("Job", "service")], gpus=4, busy=30, hours=20),
        pod("d", owners=[("Job", "none")], node="b", cores=96, used=96, memory=768, used_memory=768, hours=20),
    ]
    nodes = [node("a", gpus=16), node("b", gpus=0)]
    found = bill(joining.joined(recording(pods, nodes), None), nowhere(price=HUNDRED), "job", None, None, order)
    assert [one.name.rpartition("/")[2] for one in found.rows] == expected


# --- the whole


@given(
    pods=st.lists(
        st.builds(
            pod, st.sampled_from("abcdef"), namespace=st.sampled_from(["x", "y"]), node=st.sampled_from(["a", "b", "c", ""]),
            hours=st.integers(0, 60), first=st.integers(0, 108), gpus=st.integers(0, 9), busy=st.none() | st.integers(0, 100),
            cores=st.floats(0, 200), used=st.none() | st.floats(0, 200), memory=st.floats(0, 2000), used_memory=st.floats(0, 999),
            scheduled=st.none() | st.integers(0, 400_000),
        ),
        max_size=6,
    ),
    days=st.floats(0.1, 7),
    by=st.sampled_from(BY),
)  # fmt: skip
def test_the_rows_sum_to_the_cost_of_the_nodes(pods: list[object], days: float, by: By) -> None:
    nodes = [node("a", days=days), node("b", gpus=0, days=days), node("c", gpus=0, labels={}, days=days)]
    found = billed(recording(pods, nodes), by, price=HUNDRED)  # type: ignore[arg-type]
    rows = [*(one.amounts for one in found.rows), found.spare.amounts]
    cost = sum(100 * one.seconds / HOUR for one in nodes)
    assert found.total.amounts.paid == pytest.approx(cost, abs=1e-6)
    for name in ("paid", "idle", "gpu_hours", "gpu_busy", "cpu_used", "pods", "queue_hours"):
        assert sum(getattr(one, name) for one in rows) == pytest.approx(getattr(found.total.amounts, name))
    for one in rows:
        assert -1e-6 <= one.idle <= one.paid + 1e-6
        assert one.gpu_busy <= one.gpu_measured + 1e-6 <= one.gpu_hours + 2e-6
        assert one.gpu_idle <= one.gpu_hours + 1e-6
