"""What is AWS' own in generated clusters: the file system for checkpoints, names, interfaces, the API server."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
import yaml

from kcheck.generate import intent
from kcheck.generate.assembly import generate
from kcheck.generate.eks_lustre import Lustre, lustre
from kcheck.generate.pools import split
from kcheck.numbers.profiles import limits


def sized(machine: str, job: int, nodes: int = 2000) -> Lustre | None:
    wanted = intent.with_defaults("eks", {"machines": [machine], "nodes": nodes, "job": {"nodes": job}})
    return lustre(wanted, split(wanted))


@pytest.mark.parametrize("machine", ["m7i.48xlarge", "g5.xlarge"])
def test_machines_without_efa_have_efs(machine: str) -> None:
    assert sized(machine, 16) is None


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
    found = sized("p5.48xlarge", job)
    assert found is not None
    assert (found.capacity, found.efa, found.quota) == (capacity, efa, "")
    assert found.throughput >= found.needed
    assert found.capacity % limits("eks")["fsx.step_efa" if efa else "fsx.step"].number == 0


def test_more_than_a_new_account_has_is_asked_for() -> None:
    found = sized("p5.48xlarge", 512)
    assert found is not None
    assert found.quota == "L-8F1B9C74"


# --- what else is AWS' own in a generated cluster

NAMES = re.compile(
    r'^ +(name|name_prefix|creation_token|ecr_repository_prefix|queue_name|node_iam_role_name) += "(.*)"', re.MULTILINE
)


def files(**given: Any) -> dict[str, str]:
    found = generate(intent.with_defaults("eks", given))
    assert found.result.findings == []
    return {path: data.decode() for path, data in found.files.items()}


@pytest.mark.parametrize("machine", ["p5.48xlarge", "m7i.48xlarge"])
@pytest.mark.parametrize("autoscaler", ["cluster-autoscaler", "karpenter"])
def test_two_clusters_of_an_account_share_no_names(machine: str, autoscaler: str) -> None:
    """Roles and policies are of the account in all regions: where the region is not in their names, AWS adds to them."""
    made = files(machines=[machine], autoscaler=autoscaler, name="alpha")
    for path, text in made.items():
        for kind, block in re.findall(r'^(?:resource "(\w+)"|module) .*?\{\n(.*?)^\}', text, re.MULTILINE | re.DOTALL):
            named = dict(NAMES.findall(block)) if not kind.startswith(("helm_", "kubernetes_")) else {}
            own = [name for name in named.values() if name not in ("alpha/train", "node-groups")]  # of a role
            assert all("${var.name}" in name for name in own), (path, kind, named)
            if kind in ("aws_iam_role", "aws_iam_policy"):
                assert "name_prefix" in named, (path, named)
    assert made["intent.yaml"].count("dkr.ecr.us-east-2.amazonaws.com/alpha") == 1


def test_each_of_33_interfaces_counts_against_the_quota() -> None:
    assert "33 a node of gpu-a1" in files(nodes=1000)["README.md"]


@pytest.mark.parametrize(
    ("ranges", "steps"), [([], "terraform output -raw tunnel"), (["203.0.113.0/24"], "from 203.0.113.0/24")]
)
def test_the_api_server_is_private_but_for_ranges(ranges: list[str], steps: str) -> None:
    made = files(network={"api_ranges": ranges})
    assert steps in made["README.md"]
    assert f"api_ranges         = {json.dumps(ranges)}" in made["terraform.tfvars"]


def test_one_of_two_schedulers_of_volcano_works() -> None:
    """The chart elects no leader by itself: two schedulers would place the same pods."""
    output = generate(intent.with_defaults("eks", {"nodes": 100, "scheduler": "volcano"}))
    found = yaml.safe_load(output.files["values/volcano.yaml"])["custom"]
    assert found["scheduler_replicas"] > 1
    assert found["leader_elect_enable"] is True


def test_workers_wait_for_the_last_node() -> None:
    """PyTorch gives up after ten minutes by itself, while nodes and images come over an hour."""
    output = generate(intent.with_defaults("eks", {"nodes": 1000}))
    configuration = yaml.safe_load(output.files["values/kueue.yaml"])["managerConfig"]["controllerManagerConfigYaml"]
    minutes = int(yaml.safe_load(configuration)["waitForPodsReady"]["timeout"].removesuffix("m"))
    for path in ("jobs/sample.yaml", "jobs/trainjob.yaml"):
        assert f"--rdzv-conf=timeout={minutes * 60} " in output.files[path].decode()


def test_mpirun_starts_as_root_with_the_variables_of_the_image() -> None:
    text = generate(intent.with_defaults("eks", {"nodes": 100})).files["jobs/mpi.yaml"].decode()
    launcher = yaml.safe_load(text)["spec"]["mpiReplicaSpecs"]["Launcher"]["template"]["spec"]["containers"][0]
    assert "--allow-run-as-root" in launcher["args"]
    assert {"PATH", "LD_LIBRARY_PATH", "MASTER_ADDR", "MASTER_PORT"} <= set(launcher["args"])
