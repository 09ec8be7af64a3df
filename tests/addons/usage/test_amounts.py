"""Test requests that are derived from measurements: percentiles, buffers, and numbers as people write them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kcheck.config.config import Tier
from kcheck.scale.usage import histogram, requests
from kcheck.scale.usage.measured import ContainerUse
from kcheck.scale.usage.numbers import Buffers, buffers, slices

MI, GI = 1 << 20, 1 << 30
NONE = Buffers("none", 95, 0, 0)


def use(cpu: dict[int, int], starting: dict[int, int] | None = None, peak: int = 0, killed: int = 0) -> ContainerUse:
    return ContainerUse(1, 3600, starting or {}, cpu, peak, 0, killed)


@given(st.lists(st.floats(0, 1e15), min_size=1, max_size=300), st.floats(0.1, 100))
def test_percentiles_are_exact_to_one_and_a_half_percent(values: list[float], percent: float) -> None:
    found: dict[int, int] = {}
    histogram.add(found, values)
    rank = min(max(1, -(-len(values) * percent // 100)), len(values))
    exact = sorted(values)[int(rank) - 1]
    got = histogram.percentile(found, percent)
    assert got is not None
    assert abs(got - exact) <= max(0.5, 0.0125 * exact)


@given(st.lists(st.floats(0, 1e12), max_size=50), st.lists(st.floats(0, 1e12), max_size=50))
def test_histograms_add_up(one: list[float], other: list[float]) -> None:
    parts: list[dict[int, int]] = [{}, {}]
    histogram.add(parts[0], one)
    histogram.add(parts[1], other)
    whole: dict[int, int] = {}
    histogram.add(whole, one + other)
    assert histogram.merged(parts) == whole


def test_infinite_amounts_are_left_out() -> None:
    found: dict[int, int] = {}
    histogram.add(found, [float("nan"), float("inf"), -1.0, 0.0])
    assert found == {0: 1}
    assert histogram.percentile({}, 50) is None
    assert histogram.mean({}) is None


@given(st.floats(1, 1e6))
def test_cpu_is_rounded_up_by_four_percent_at_most(millicores: float) -> None:
    found = requests.round_cpu(millicores)
    assert millicores - 1e-6 <= found <= max(millicores * 1.04, millicores + 1) + 1e-6


@given(st.floats(100 * MI, 1e14))
def test_memory_is_rounded_up_by_four_percent_at_most(count: float) -> None:
    found = requests.round_memory(count)
    assert count - 1 <= found <= count * 1.04 + 1
    assert found % MI == 0


@pytest.mark.parametrize(
    ("millicores", "text"),
    [(3, "3m"), (101, "105m"), (349, "350m"), (501, "520m"), (1001, "1020m"), (1234, "1250m"), (1260, "1300m"), (3777, "3800m"), (14200, "14500m"), (97000, "97"), (4000, "4")],
)  # fmt: skip
def test_cpu_is_printed_as_people_write_it(millicores: int, text: str) -> None:
    assert requests.cpu_text(requests.round_cpu(millicores)) == text


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (90 * MI, "90Mi"),
        (1403 * MI, "1450Mi"),
        (3 * GI, "3Gi"),
        (6.9 * GI, "7Gi"),
        (10.1 * GI, "10.5Gi"),
        (20.1 * GI, "20.5Gi"),
        (70 * GI, "72Gi"),
        (500 * GI, "512Gi"),
    ],
)
def test_memory_is_printed_as_people_write_it(count: float, text: str) -> None:
    assert requests.memory_text(requests.round_memory(count)) == text


def test_the_start_of_a_job_is_counted_separately() -> None:
    """Ten minutes of 8 cores in a hundred hours of 1 core lie outside of the 95th percentile."""
    found = use({1000: 6000}, {8000: 10})
    assert requests.used_cpu(found, 95, batch=True) == 8000
    assert requests.used_cpu(found, 95, batch=False) == 1000
    assert requests.used_cpu(found, 100, batch=False) == 8000


def test_requests_have_a_buffer_and_a_minimum() -> None:
    assert requests.cpu(1000, Buffers("a", 95, 15, 0)) == 1150
    assert requests.cpu(1, NONE) == 10
    assert requests.memory(use({}, peak=GI), Buffers("a", 95, 0, 25)) == 1300 * MI
    assert requests.memory(use({}, peak=1), NONE) == 100 * MI


def test_a_killed_container_needs_more_than_it_had() -> None:
    assert requests.memory(use({}, peak=7 * GI, killed=8 * GI), NONE) == 10000 * MI
    assert requests.memory(use({}, peak=20 * GI, killed=8 * GI), NONE) == 20 * GI


def test_settings_can_change_single_numbers_of_a_tier() -> None:
    assert buffers("highest", ()) == Buffers("highest", 99, 20, 25)
    assert buffers("highest", [Tier("highest", cpu_buffer=50)]) == Buffers("highest", 99, 50, 25)
    assert buffers("mine", [Tier("mine", memory_buffer=0)]) == Buffers("mine", 95, 15, 0)


@pytest.mark.parametrize(
    ("model", "smallest"),
    [
        ("NVIDIA A100-SXM4-40GB", "1g.5gb"), ("NVIDIA A100-SXM4-80GB", "1g.10gb"), ("NVIDIA H100 80GB HBM3", "1g.10gb"),
        ("NVIDIA H100 NVL", "1g.12gb"), ("NVIDIA H200", "1g.18gb"), ("NVIDIA H20", "1g.12gb"), ("NVIDIA B200", "1g.23gb"), ("NVIDIA GB200", ""),
        ("NVIDIA A30", "1g.6gb"), ("Tesla T4", ""), ("NVIDIA L4", ""), ("NVIDIA A10G", ""), ("", ""),
    ],
)  # fmt: skip
def test_the_smallest_slice_of_a_gpu_model_is_first(model: str, smallest: str) -> None:
    assert next((one.name for one in slices(model)), "") == smallest
