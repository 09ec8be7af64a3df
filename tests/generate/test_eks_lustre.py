"""The file system for checkpoints on EKS: what the usual job needs, in the steps in which AWS sells it."""

from __future__ import annotations

import pytest

from kcheck.generate import intent
from kcheck.generate.eks_lustre import Lustre, lustre
from kcheck.generate.pools import split
from kcheck.numbers.profiles import limits


def made(machine: str, job: int, nodes: int = 2000) -> Lustre | None:
    wanted = intent.with_defaults("eks", {"machines": [machine], "nodes": nodes, "job": {"nodes": job}})
    return lustre(wanted, split(wanted))


@pytest.mark.parametrize("machine", ["m7i.48xlarge", "g5.xlarge"])
def test_machines_without_efa_have_efs(machine: str) -> None:
    assert made(machine, 16) is None


@pytest.mark.parametrize(
    ("job", "capacity", "efa"),
    [
        (1, 4800, False),
        (9, 4800, False),
        (10, 7200, False),
        (16, 9600, False),
        (21, 12000, False),
        (22, 14400, True),
        (128, 62400, True),
    ],
)
def test_capacity_has_the_throughput_of_the_job_in_steps(job: int, capacity: int, efa: bool) -> None:
    found = made("p5.48xlarge", job)
    assert found is not None
    assert (found.capacity, found.efa, found.quota) == (capacity, efa, "")
    assert found.throughput >= found.needed
    assert found.capacity % limits("eks")["fsx.step_efa" if efa else "fsx.step"].number == 0


def test_more_than_a_new_account_has_is_asked_for() -> None:
    found = made("p5.48xlarge", 512)
    assert found is not None
    assert found.quota == "L-8F1B9C74"
