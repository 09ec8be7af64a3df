"""What GKE's part of `generate` computes, and that what it writes is clean for its kinds of machines."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml

from kcheck.config.config import ConfigError
from kcheck.generate import assembly, gke
from kcheck.generate.intent import with_defaults
from kcheck.generate.pools import split
from tests.terraform import schemas_of_providers as attributes


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("N2_CPUS", gke.Quota("N2-CPUS-per-project-region", region=True)),
        ("GPUS_ALL_REGIONS", gke.Quota("GPUS-ALL-REGIONS-per-project", region=False)),
        (
            "GPUS_PER_GPU_FAMILY gpu_family=NVIDIA_H100",
            gke.Quota("GPUS-PER-GPU-FAMILY-per-project-region", region=True, key="gpu_family", value="NVIDIA_H100"),
        ),
    ],
)
def test_quota_as_its_api_knows_it(code: str, expected: gke.Quota) -> None:
    assert gke.quota(code) == expected


def test_gateway_has_ports_for_all_nodes_and_growth() -> None:
    found = gke.gateway(1000, "gke")
    assert found == gke.Gateway(1250, 3, 64512)
    assert found.addresses * (found.ports // 128) >= found.nodes


def test_nodes_of_spot_only_need_no_zone_of_their_own() -> None:
    assert all(pool.spot for pool in split(with_defaults("gke", {"nodes": 100, "spot": {"share": 100}})))


NOT_GENERATED = {"fabric-not-enabled"}
"""GPUDirect RDMA, and machines of which only some have a network between GPUs: the README says so."""


def test_each_card_for_gpus_has_a_network_that_pods_join() -> None:
    files = assembly.generate(with_defaults("gke", {"nodes": 100, "machines": ["a3-megagpu-8g"]})).files
    objects = [one for one in yaml.safe_load_all(files["kubernetes/gpu-networks.yaml"]) if one]
    assert len(objects) == 16
    job = next(one for one in yaml.safe_load_all(files["jobs/sample.yaml"]) if one["kind"] == "JobSet")
    pods = job["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["metadata"]["annotations"]
    names = [one["network"] for one in json.loads(pods["networking.gke.io/interfaces"])]
    assert names == ["default", *sorted({one["metadata"]["name"] for one in objects})]
    assert b"enable_multi_networking = true" in files["cluster.tf"]


def test_jobs_of_one_node_need_no_networks_of_their_own() -> None:
    files = assembly.generate(with_defaults("gke", {"nodes": 100, "job": {"nodes": 1}})).files
    assert "kubernetes/gpu-networks.yaml" not in files
    assert b"additional_node_network_configs" not in files["node_pools.tf"]


@pytest.mark.parametrize(
    "given",
    [
        {"nodes": 100, "spot": {"share": 100}},
        {"nodes": 40, "machines": ["a3-highgpu-8g", "a2-ultragpu-8g", "a2-highgpu-8g"], "spot": {"share": 50}},
        {"nodes": 40, "machines": ["g2-standard-8"]},
        {"nodes": 40, "machines": ["c3-standard-88"], "spot": {"share": 30}},
        {"nodes": 40, "machines": ["a4-highgpu-8g"], "zones": ["us-central1-b"]},
        {"nodes": 8000, "registry": "registry.example.com/ml"},
    ],
    ids=["spot", "several", "single", "cpu", "hyperdisk", "large"],
)
def test_kinds_of_machines_come_out_clean(given: dict[str, Any]) -> None:
    made = assembly.generate(with_defaults("gke", given))
    assert {finding.rule for finding in made.result.findings} <= NOT_GENERATED
    assert made.result.undecided == []
    for path, data in made.files.items():
        if path.endswith(".tf"):
            assert [path, *attributes.unknown(data.decode()), *attributes.missing(data.decode())] == [path]


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"machines": ["ct5p-hightpu-4t"]}, "the accelerators of ct5p-hightpu-4t are not NVIDIA's"),
        ({"machines": ["n1-standard-8"], "gpus": 1}, "n1-standard-8 has no built-in GPUs"),
    ],
)
def test_accelerators_that_are_not_made_are_refused(given: dict[str, Any], told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        assembly.generate(with_defaults("gke", given))
