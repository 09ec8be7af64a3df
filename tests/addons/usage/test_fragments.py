"""Test free resources on nodes while pods waited, against numbers computed by hand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kcheck.scale.usage.fragments import Fragments, fragments
from kcheck.scale.usage.recording import Container, Node, Pod

HOUR = 3600
END = 100 * HOUR


def node(name: str, *, gpus: int = 8, cores: int = 96, first: int = 0, last: int = END) -> Node:
    allocatable = {"cpu": cores * 1000.0, "memory": 1e12} | ({"nvidia_com_gpu": float(gpus)} if gpus else {})
    return Node(name, allocatable=allocatable, first=first, last=last)


def on(name: str, *, gpus: int = 0, cores: float = 1, begin: int = 0, end: int = END) -> Pod:
    return Pod("ml", f"on-{name}", node=name, scheduled=begin, ended=end, containers={"main": _container(gpus, cores)})


def waiting(hours: int, *, gpus: int = 0, cores: float = 1, begin: int = 10, node: str = "") -> Pod:
    created, found = begin * HOUR, (begin + hours) * HOUR
    return Pod(
        "ml", "waits", node=node, created=created, scheduled=found if node else None, pending=found,
        containers={"main": _container(gpus, cores)},
    )  # fmt: skip


def _container(gpus: int, cores: float) -> Container:
    return Container(requests={"cpu": cores * 1000, "memory": 1e9} | ({"nvidia_com_gpu": float(gpus)} if gpus else {}))


def found(nodes: list[Node], pods: list[Pod]) -> Fragments:
    result = fragments(nodes, pods, END)
    assert result is not None
    return result


def test_gpus_too_scattered_for_a_waiting_pod_are_stranded() -> None:
    """6 of 8 GPUs are taken on each of two nodes.

    A pod of 8 GPUs waits for 10 hours, so 4 of 16 GPUs are stranded.
    """
    result = found([node("a"), node("b")], [on("a", gpus=6), on("b", gpus=6), waiting(10, gpus=8)])
    assert result.unit == "GPUs"
    assert result.waiting == 10 * HOUR
    assert result.there == 2 * 10 * HOUR
    assert result.whole == 16 * 10 * HOUR
    assert result.stranded == 4 * 10 * HOUR
    assert result.packed == 0
    assert result.nodes == 2
    assert result.longest.name == "waits"


def test_free_gpus_that_together_fit_a_waiting_pod_count_as_packed() -> None:
    result = found([node("a"), node("b")], [on("a", gpus=4), on("b", gpus=4), waiting(10, gpus=8)])
    assert (result.stranded, result.packed) == (8 * 10 * HOUR, 10 * HOUR)


def test_gpus_that_fit_a_waiting_pod_are_not_stranded() -> None:
    result = found([node("a"), node("b")], [on("a", gpus=6), on("b", gpus=4), waiting(10, gpus=4)])
    assert result.stranded == 2 * 10 * HOUR


def test_free_gpus_without_free_cores_are_stranded() -> None:
    result = found([node("a")], [on("a", cores=96), waiting(10, gpus=1)])
    assert result.stranded == 8 * 10 * HOUR


def test_only_time_in_which_pods_wait_is_counted() -> None:
    pods = [on("a", gpus=6, begin=0, end=15 * HOUR), waiting(10, gpus=8, begin=10)]
    assert found([node("a")], pods).stranded == 2 * 5 * HOUR  # then the node is empty, and takes it


def test_a_node_counts_only_while_it_exists() -> None:
    pods = [on("a", gpus=6), on("b", gpus=6), waiting(10, gpus=8)]
    assert found([node("a"), node("b", first=15 * HOUR)], pods).whole == 8 * 15 * HOUR


def test_a_pool_without_gpus_counts_stranded_cores() -> None:
    result = found([node("a", gpus=0)], [on("a", cores=92), waiting(5, cores=16)])
    assert (result.unit, result.stranded) == ("cores", 4000 * 5 * HOUR)


@pytest.mark.parametrize(
    "pods",
    [
        [],
        [waiting(10, gpus=16)],
        [waiting(10, gpus=8, node="of another pool")],
        [waiting(10, cores=1)],
        [waiting(0, gpus=8)],
        [Pod("ml", "waits", pending=5, containers={"main": _container(8, 1)})],
    ],
    ids=["none", "larger than any node", "for another pool", "for no GPU", "not at all", "since nobody knows when"],
)
def test_nothing_is_reported_where_no_pod_waits_for_these_nodes(pods: list[Pod]) -> None:
    assert fragments([node("a")], pods, END) is None


PODS = st.lists(
    st.builds(
        lambda where, gpus, begin, hours: (
            waiting(hours, gpus=gpus, begin=begin)
            if where == "-"
            else on(where, gpus=gpus, begin=begin * HOUR, end=(begin + hours) * HOUR)
        ),
        st.sampled_from("abc-"),
        st.integers(1, 8),
        st.integers(0, 90),
        st.integers(0, 9),
    ),
    max_size=12,
)


@given(PODS)
def test_stranded_resources_never_exceed_existing_resources(pods: list[Pod]) -> None:
    result = fragments([node("a"), node("b", first=HOUR), node("c", last=50 * HOUR)], pods, END)
    if result is not None:
        assert 0 <= result.stranded <= result.whole
        assert result.packed <= result.waiting <= END
        assert result.nodes <= 3
