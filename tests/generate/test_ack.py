"""What is generated for ACK: versions, engines and registries by what the intent says, and refusals where walls are."""

from __future__ import annotations

from typing import Any

import pytest

from kcheck.config.config import ConfigError
from kcheck.generate import ack, assembly, intent, ranges
from kcheck.generate.pools import split


def made(nodes: int, **given: Any) -> assembly.Output:
    return assembly.generate(intent.with_defaults("ack", {"nodes": nodes, **given}))


def context(nodes: int, **given: Any) -> dict[str, Any]:
    wanted = intent.with_defaults("ack", {"nodes": nodes, **given})
    slots = ack.slots(wanted, split(wanted))
    return ack.context(wanted, split(wanted), ranges.draft(slots))


@pytest.mark.parametrize("mode", ["terway", "flannel"])
@pytest.mark.parametrize("share", [0, 30, 100])
def test_nothing_to_say_of_it(mode: str, share: int) -> None:
    output = made(180, network={"mode": mode}, spot={"share": share})
    assert not output.result.findings
    assert not output.result.undecided


def test_system_nodes_of_a_large_cluster_are_upgraded_some_at_a_time() -> None:
    output = made(9000)
    assert [finding.rule for finding in output.result.findings] == []
    assert b"max_unavailable = 10\n" in output.files["node_pools.tf"]


@pytest.mark.parametrize(
    ("nodes", "engine", "plane"), [(10, "small", "usual"), (1000, "small", "tier"), (5000, "large", "large")]
)
def test_the_engine_and_the_control_plane_go_by_size(nodes: int, engine: str, plane: str) -> None:
    found = context(nodes)
    assert (found["engine"], found["plane"]) == (engine, plane)


def test_a_version_in_full() -> None:
    assert context(10, kubernetes="1.35")["release"] == "1.35.7-aliyun.1"
    assert context(10, kubernetes="1.37")["release"] == "1.37.1-aliyun.1"
    with pytest.raises(ConfigError, match="is the oldest that is supported"):
        context(10, kubernetes="1.33")


def test_a_registry_of_the_account() -> None:
    found = context(10, image="team/train:1.0.0", registry="images-registry-vpc.ap-southeast-1.cr.aliyuncs.com")
    host = "images-registry-vpc.ap-southeast-1.cr.aliyuncs.com"
    assert found["registry"] == ack.Registry(host, "images", "team", "train")


@pytest.mark.parametrize(
    "registry", ["registry.example.com/ml", "images-registry-vpc.cn-beijing.cr.aliyuncs.com/train"]
)
def test_no_registry_is_made_elsewhere(registry: str) -> None:
    output = made(10, registry=registry)
    assert "registry.tf" not in output.files
    assert b"docker_hub" not in b"".join(output.files.values())


def test_a_cap_for_each_type_of_a_spot_pool() -> None:
    files = made(100, spot={"share": 30, "price_cap": 12.5}).files
    assert b'spot_price_cap    = "12.5"' in files["terraform.tfvars"]
    assert b"SpotWithPriceLimit" in files["node_pools.tf"]


@pytest.mark.parametrize(
    ("nodes", "mode", "wall"), [(1000, "flannel", "ends at 1,000 nodes"), (16000, "terway", "ends at 15,000 nodes")]
)
def test_more_than_the_cloud_has_is_refused(nodes: int, mode: str, wall: str) -> None:
    with pytest.raises(assembly.ImpossibleError, match=wall):
        made(nodes, network={"mode": mode})


def test_a_quota_above_the_default_is_asked_for() -> None:
    assert b"ack.terway.nodes:\n    value: 5053" in made(5000).files["kcheck.yaml"]
