"""Test settings of self-managed clusters by size, and the pools of Karpenter."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest

from kcheck.config.config import Config, ConfigError
from kcheck.engine import linter
from kcheck.generate import eks, intent, selfmanaged
from kcheck.generate.assembly import generate
from kcheck.generate.pools import split
from kcheck.generate.recommended import non_training_nodes
from kcheck.scale import walls
from kcheck.text.files.tree import Tree

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.conftest import Write


def files(cloud: str, **given: Any) -> dict[str, str]:
    found = generate(intent.with_defaults(cloud, given))
    assert found.result.findings == []
    return {path: data.decode() for path, data in found.files.items()}


# --- self-managed


@pytest.mark.parametrize(("nodes", "machines", "vcpus"), [(1, 3, 4), (100, 3, 4), (101, 3, 8), (1000, 3, 32), (1001, 5, 32), (5000, 5, 64)])  # fmt: skip
def test_control_plane_grows_with_the_nodes(nodes: int, machines: int, vcpus: int) -> None:
    found = selfmanaged.control(intent.with_defaults("selfmanaged", {"nodes": nodes}))
    assert (found.nodes, found.vcpus, found.memory) == (machines, vcpus, 4 * vcpus)
    assert non_training_nodes("selfmanaged", nodes) > non_training_nodes("eks", nodes)


def test_neighbour_table_is_larger_than_the_cluster() -> None:
    for target in (10, 1000, 5058, 8000):
        found = selfmanaged.neighbours(target)
        assert target < found.keep < found.soft < found.most
        assert target < selfmanaged.backlog(target) < 65536


def test_control_plane_flags_are_written_only_for_sizes_that_need_them() -> None:
    small, large, largest = (files("selfmanaged", nodes=nodes) for nodes in (100, 1000, 5000))
    assert "max-requests-inflight" not in small["kubeadm.yaml"]
    assert 'value: "1500"' in large["kubeadm.yaml"]
    assert 'value: "3000"' in largest["kubeadm.yaml"]
    assert "etcd-events.yaml" not in small
    assert "/events#https://127.0.0.1:2382" in largest["kubeadm.yaml"]
    assert "https://$(NODE_IP):2382" in largest["etcd-events.yaml"]


def test_a_raised_limit_is_written_with_its_reason() -> None:
    settings = files("selfmanaged", nodes=5000)["kcheck.yaml"]
    assert "selfmanaged.cluster.nodes:\n    value: 5058\n    reason: Kubernetes is designed for 5,000" in settings
    assert "limits" not in files("selfmanaged", nodes=4000)["kcheck.yaml"]


def test_walls_distinguish_limits_from_settings_and_documented_limits() -> None:
    world = generate(intent.with_defaults("selfmanaged", {"nodes": 5000})).result.world
    (cluster,) = world.inventory.clusters
    (wall,) = [one for one in walls.find_walls(cluster, world) if one.mechanism == "cluster-limit"]
    assert (wall.number, wall.arithmetic) == (
        5058,
        "from kcheck.yaml; 5,000 are the number that Kubernetes is designed for",
    )


@pytest.mark.parametrize(("given", "words"), [
    ({"spot": {"share": 10}}, "spot.share: machines of your own"),
    ({"nodes": 8000}, "nodes: 8,000 are too many"),
    ({"autoscaler": "karpenter"}, "autoscaler: karpenter is not for selfmanaged"),
])  # fmt: skip
def test_selfmanaged_refuses_spot_karpenter_and_8000_nodes(given: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        intent.with_defaults("selfmanaged", given)


def test_docker_hub_images_are_pulled_through_the_registry() -> None:
    found = files("selfmanaged", registry="harbor.example.com/gpu")["containerd/certs.d/docker.io/hosts.toml"]
    assert '[host."https://harbor.example.com/v2/gpu/docker-hub"]' in found


# --- settings of the kernel


KUBEADM = """apiVersion: kubeadm.k8s.io/v1beta4
kind: ClusterConfiguration
networking:
  podSubnet: 10.0.0.0/12
"""


@pytest.mark.parametrize(("path", "line", "known"), [
    ("a/sysctl.d/99-k8s.conf", "net.ipv4.neigh.default.gc_thresh3 = 8192", True),
    ("a/files/etc/sysctl.conf", "net/ipv4/neigh/default/gc_thresh3=8192", True),
    ("a/sysctl/one.conf", "-net.ipv4.neigh.default.gc_thresh3 = 8192 ", True),
    ("a/sysctl.d/99-k8s.conf", "# net.ipv4.neigh.default.gc_thresh3 = 8192", False),
    ("a/sysctl.d/99-k8s.conf", "net.ipv4.neigh.eth0.gc_thresh3 = 8192", False),
    ("b/sysctl.d/99-k8s.conf", "net.ipv4.neigh.default.gc_thresh3 = 8192", False),
    ("a/etc/99-k8s.conf", "net.ipv4.neigh.default.gc_thresh3 = 8192", False),
])  # fmt: skip
def test_the_neighbour_table_size_is_read_from_sysctl_files(path: str, line: str, known: bool, write: Write) -> None:
    write({"a/kubeadm.yaml": KUBEADM, path: f"net.ipv4.ip_forward = 1\n{line}\n"})
    found = linter.run(Tree(["."]), Config(nodes={"": 5000})).findings
    assert ("arp-cache-too-small" not in {one.rule for one in found}) == known


# --- Karpenter


def test_karpenter_has_one_pool_per_market_and_zone() -> None:
    wanted = intent.with_defaults("eks", {"nodes": 1000, "spot": {"share": 30}})
    found = eks.node_pools(split(wanted))
    assert [(pool.name, pool.nodes) for pool in found] == [
        ("gpu-a", 234), ("gpu-b", 233), ("gpu-c", 233), ("gpu-spot", 300),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("machine", "cards"),
    [("m7i.48xlarge", []), ("g6e.8xlarge", [0]), ("p4d.24xlarge", range(4)), ("p5.48xlarge", range(32)), ("p6-b300.48xlarge", range(1, 17))],
)  # fmt: skip
def test_efa_is_enabled_on_each_capable_card_and_the_first_has_addresses(machine: str, cards: Sequence[int]) -> None:
    text = generate(intent.with_defaults("eks", {"nodes": 8, "machines": [machine]})).files["node_pools.tf"].decode()
    ranges = [range(*map(int, ends)) for ends in re.findall(r"for card in range\((\d+), (\d+)\)", text)]
    assert [card for cards_of in ranges for card in cards_of] == list(cards)
    assert text.count('{ network_card_index = 0, device_index = 0, interface_type = "interface"') == len(ranges)
    assert re.findall(r"device_index  +=  ?(.+)\n", text) == ["card == 0 ? 1 : 0" if 0 in cards else "0"] * len(ranges)


def test_subnets_hold_what_karpenter_may_buy() -> None:
    """Each zone holds 334 nodes with nine addresses each, so a job of all nodes needs no other zone."""
    settings = files("eks", nodes=1000, autoscaler="karpenter")["terraform.tfvars"]
    prefixes = re.findall(r'private = "[\d.]+/(\d+)"', settings)
    assert len(prefixes) == 3
    assert all((1 << (32 - int(prefix))) > 334 * 9 * 125 // 100 for prefix in prefixes)
