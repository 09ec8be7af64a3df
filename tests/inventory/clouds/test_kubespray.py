"""Test kubespray inventories: variables of groups, hosts, and how the network plugin uses the pod range."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

from kcheck.commands.cli import cli
from kcheck.config.config import Config
from kcheck.fix import fix
from kcheck.inventory import reader
from kcheck.inventory.clouds.selfmanaged import ansible
from kcheck.report import model
from kcheck.text.files.tree import Tree
from kcheck.text.findings import Severity
from kcheck.text.values import known

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tests.conftest import Check, Write

VARIABLES = "inventory/train/group_vars/k8s_cluster/k8s-cluster.yml"
FLANNEL = {
    VARIABLES: """\
---
kube_version: v1.35.4
kube_network_plugin: flannel
kube_service_addresses: 10.96.0.0/16
kube_pods_subnet: 10.64.0.0/18
kube_network_node_prefix: 24
kube_apiserver_ip: "{{ kube_service_addresses | ansible.utils.ipaddr(1) }}"
""",
    "inventory/train/group_vars/etcd.yml": "etcd_data_dir: /mnt/nvme/etcd\n",
    "inventory/train/inventory.ini": """\
[kube_control_plane]
plane[1:3] ansible_host=10.0.0.1  # the first one
[etcd:children]
kube_control_plane
[kube_node]
; gpu0
gpu[001:040]
[k8s_cluster:children]
kube_control_plane
kube_node
""",
}
HOSTS = """\
all:
  hosts: {a: {}, b: {}, c: {}}
  children:
    kube_control_plane: {hosts: {a: }}
    kube_node: {hosts: {a: , b: }, children: {gpu: {}}}
    gpu: {hosts: {"gpu[1:6]": {}}}
    k8s_cluster: {children: {kube_control_plane: {}, kube_node: {}}}
"""


@pytest.fixture
def read(write: Write) -> Callable[..., dict[str, Any]]:
    """Return a function that writes files and collects the model kcheck reads from them."""

    def run(files: Mapping[str, str]) -> dict[str, Any]:
        write(dict(files))
        return model.collect(Tree(["."]), Config())

    return run


def of(thing: dict[str, Any], field: str) -> Any:
    """Return the value of a field, or the reason why it is unknown."""
    found = thing["fields"][field]
    return found["unknown"] if "unknown" in found else found["value"]


def test_an_inventory_is_a_cluster(read: Callable[..., dict[str, Any]]) -> None:
    data = read(FLANNEL)
    (cluster,) = data["clusters"]
    assert cluster["id"] == "selfmanaged/inventory/train:kubespray/train"
    assert [of(cluster, name) for name in ("version", "service_cidr", "target")] == [
        "v1.35.4",
        "10.96.0.0/16",
        43,
    ]
    assert of(cluster, "dns_replicas") is None
    settings = {of(one, "name"): one for one in data["settings"]}
    assert of(settings["data-dir"], "text") == "/mnt/nvme/etcd"
    assert of(settings["quota-backend-bytes"], "number") == 2 << 30
    assert of(settings["etcd-servers-overrides"], "text") is None
    (pods,) = data["pod_ranges"]
    assert (of(pods, "cidr"), of(pods, "addresses_per_node"), of(pods, "usable_addresses")) == (
        "10.64.0.0/18",
        256,
        1 << 14,
    )
    assert [(of(pool, "name"), of(pool, "max_nodes")) for pool in data["pools"]] == [
        ("control plane", 3),
        ("nodes", 40),
    ]


def test_the_hosts_give_the_size_unless_more_nodes_are_requested(check: Check) -> None:
    assert not [one for one in check(FLANNEL).findings if one.severity > Severity.INFO]
    found = {
        one.rule: one for one in check(FLANNEL, Config(nodes={"": 100})).findings if one.severity
    }  # none of a cloud's
    assert set(found) == {"pod-range-too-small"}
    assert "is full at 64 of" in found["pod-range-too-small"].message


def test_fixes_are_written_where_the_variables_are(write: Callable[..., Path]) -> None:
    write(FLANNEL)
    outcome = fix.fix(["."], Config(nodes={"": 1200}), safeties=("safe", "costs", "unsafe"))
    changed = {file.path: file.new.decode() for file in outcome.files}
    assert "kube_pods_subnet: 10.64.0.0/13\n" in changed[VARIABLES]
    assert "kube_kubeadm_apiserver_extra_args:\n  max-requests-inflight" in changed[VARIABLES]
    assert 'etcd_quota_backend_bytes: "8589934592"' in changed["inventory/train/group_vars/etcd.yml"]


def test_hosts_in_yaml_are_counted(read: Callable[..., dict[str, Any]]) -> None:
    files = {"group_vars/k8s_cluster.yml": "kube_pods_subnet: 10.64.0.0/18\n", "hosts.yaml": HOSTS}
    assert [(of(pool, "name"), of(pool, "max_nodes")) for pool in read(files)["pools"]] == [("nodes", 8)]


@pytest.mark.parametrize("hosts", ["", "[kube_control_plane]\n# a\n[kube_node]\n# b\n"])
def test_the_size_is_unknown_without_hosts(hosts: str, read: Callable[..., dict[str, Any]]) -> None:
    (pool,) = read({VARIABLES: FLANNEL[VARIABLES], "inventory/train/hosts.ini": hosts})["pools"]
    assert "set --nodes N" in of(pool, "max_nodes")


@pytest.mark.parametrize(
    ("variables", "ranges", "subnets"),
    [
        ("kube_network_plugin: cilium", [("10.233.64.0/18", 256)], []),
        ("kube_network_plugin: cilium\ncilium_pool_mask_size: 26", [("10.233.64.0/18", 64)], []),
        ("kube_network_plugin: calico\ncalico_ipam_host_local: true", [("10.233.64.0/18", 256)], []),
        ("kube_network_plugin: calico", [], ["10.233.64.0/18"]),
        ("kube_network_node_prefix: 25\ncalico_pool_cidr: '{{ kube_pods_subnet }}'", [], ["10.233.64.0/18"]),
        ("kube_network_plugin: kube-ovn", [], []),
        ("kube_network_plugin: '{{ plugin }}'", [], []),
    ],
)
def test_the_network_plugin_decides_how_the_pod_range_is_divided(
    variables: str, ranges: list[object], subnets: list[str], read: Callable[..., dict[str, Any]]
) -> None:
    data = read({VARIABLES: f"kube_service_addresses: 10.96.0.0/16\n{variables}\n"})
    assert [(of(one, "cidr"), of(one, "addresses_per_node")) for one in data["pod_ranges"]] == ranges
    if "'{{ kube" not in variables:
        assert [of(one, "cidr") for one in data["subnets"]] == subnets


def test_the_group_with_higher_precedence_decides_a_variable(read: Callable[..., dict[str, Any]]) -> None:
    files = {
        "group_vars/all/all.yml": "kube_network_plugin: flannel\nkube_pods_subnet: 10.0.0.0/16\nmask: 26\n",
        "group_vars/k8s_cluster/k8s-net.yml": 'kube_pods_subnet: 10.2.0.0/16\nkube_network_node_prefix: "{{ mask }}"\n',
        "group_vars/kube_node.yml": "kube_pods_subnet: 10.9.0.0/16\n",
    }
    (pods,) = read(files)["pod_ranges"]
    assert (of(pods, "cidr"), of(pods, "addresses_per_node")) == ("10.2.0.0/16", 64)


@pytest.mark.parametrize(
    "files",
    [
        {"group_vars/all.yml": "nginx_port: 80\ncluster_name: web\n"},
        {"roles/network/defaults/main.yml": "kube_pods_subnet: 10.0.0.0/16\n"},
        {"group_vars/k8s_cluster.yml": "kube_pods_subnet: [\n"},
        {"group_vars/web.yml": "kube_pods_subnet: 10.0.0.0/16\n"},
    ],
)
def test_unrelated_variables_are_not_a_cluster(files: dict[str, str], read: Callable[..., dict[str, Any]]) -> None:
    assert not read(files)["clusters"]


def test_the_sample_next_to_an_inventory_is_not_a_cluster(read: Callable[..., dict[str, Any]]) -> None:
    sample = {VARIABLES.replace("train", "sample"): FLANNEL[VARIABLES]}
    assert [one["id"] for one in read(FLANNEL | sample)["clusters"]] == ["selfmanaged/inventory/train:kubespray/train"]
    assert len(read(sample)["clusters"]) == 1


def test_one_file_selects_its_whole_inventory(write: Callable[..., Path]) -> None:
    write(FLANNEL)
    assert "target 43 nodes" in CliRunner().invoke(cli, ["capacity", VARIABLES]).output


def test_huge_host_ranges_are_bounded(read: Callable[..., dict[str, Any]]) -> None:
    hosts = (
        "[kube_node]\n" + "".join(f"{name}[1:99999999999]\n" for name in "abc") + "[kube_node:children]\nkube_node\n"
    )
    (pool,) = read({VARIABLES: FLANNEL[VARIABLES], "inventory/train/hosts.ini": hosts})["pools"]
    assert of(pool, "max_nodes") > 5_000


GROUPS = {
    "inventory/train/group_vars/all/all.yml": "additional_sysctl:\n  - {name: net.ipv4.neigh.default.gc_thresh3, value: 8192}\n",
    "inventory/train/group_vars/gpu.yml": """\
node_labels:
  pool: gpu
  zone: "{{ zone }}"
  node.kubernetes.io/instance-type: dgx-h100
node_taints: ["nvidia.com/gpu=true:NoSchedule"]
""",
    "inventory/train/inventory.ini": """\
[kube_control_plane]
plane[1:3]
[gpu]
gpu[1:40]
[small]
node[1:5]
[kube_node:children]
gpu
small
""",
}


def test_a_group_with_labels_is_a_pool(read: Callable[..., dict[str, Any]]) -> None:
    plane, gpu, others = read({**FLANNEL, **GROUPS})["pools"]
    assert [of(one, "max_nodes") for one in (plane, gpu, others)] == [3, 40, 5]
    assert [of(one, "neighbours") for one in (plane, gpu, others)] == [8192, 8192, 8192]
    assert [of(gpu, name) for name in ("name", "taints", "gpus")] == [
        "gpu", ["nvidia.com/gpu=true:NoSchedule"], 8,
    ]  # fmt: skip
    assert [of(others, name) for name in ("name", "taints", "gpus")] == ["nodes", None, None]


def test_a_group_within_another_has_its_own_labels(read: Callable[..., dict[str, Any]]) -> None:
    every = {"inventory/train/group_vars/kube_node.yml": "node_taints: [all=true:NoSchedule]\n"}
    _, others, gpu = sorted(read({**FLANNEL, **GROUPS, **every})["pools"], key=lambda one: int(of(one, "max_nodes")))
    assert [(of(one, "name"), of(one, "max_nodes"), of(one, "taints")) for one in (others, gpu)] == [
        ("kube_node", 5, ["all=true:NoSchedule"]), ("gpu", 40, ["nvidia.com/gpu=true:NoSchedule"]),
    ]  # fmt: skip


ZONES = """\
all:
  children:
    kube_control_plane: {hosts: {a: }}
    kube_node: {children: {gpu: {}}}
    gpu: {hosts: {"gpu[1:6]": {}}}
    west: {hosts: {"gpu[1:3]": {}}, vars: {place: hall-west}}
    east: {hosts: {"gpu[4:6]": {}}, vars: {place: hall-east}}
"""


def test_host_ranges_keep_their_leading_zeros() -> None:
    assert [*ansible._expanded("gpu[08:10].hall")] == ["gpu08.hall", "gpu09.hall", "gpu10.hall"]
    assert [*ansible._expanded("gpu[8:10]")] == ["gpu8", "gpu9", "gpu10"]


@pytest.mark.parametrize(
    ("label", "zones"),
    [
        ("hall", {"hall"}),
        ("'{{ place }}'", {"hall-east", "hall-west"}),
        ("'{{ rack }}'", set()),
        ("'x-{{ place }}'", set()),
    ],
)
def test_zones_come_from_the_groups_of_the_hosts(label: str, zones: set[str], write: Callable[..., Path]) -> None:
    group = f"node_labels:\n  topology.kubernetes.io/zone: {label}\n"
    hosts = {"inventory/train/hosts.yaml": ZONES, "inventory/train/group_vars/gpu.yml": group}
    write({VARIABLES: FLANNEL[VARIABLES], **hosts})
    pools = reader.read(Tree(["."]), Config()).inventory.pools
    (found,) = [pool for pool in pools if known(pool.name) == "gpu"]
    assert set(known(found.placement.zones) or ()) == zones


def test_a_host_without_a_zone_leaves_the_zones_unknown(write: Callable[..., Path]) -> None:
    group = "node_labels:\n  topology.kubernetes.io/zone: '{{ place }}'\n"
    hosts = {
        "inventory/train/hosts.yaml": ZONES.replace('east: {hosts: {"gpu[4:6]', 'east: {hosts: {"gpu[4:5]'),
        "inventory/train/group_vars/gpu.yml": group,
    }
    write({VARIABLES: FLANNEL[VARIABLES], **hosts})
    pools = reader.read(Tree(["."]), Config()).inventory.pools
    assert not [pool for pool in pools if known(pool.placement.zones)]


def test_a_group_within_another_has_its_own_zone(write: Callable[..., Path]) -> None:
    hosts = """\
[kube_control_plane]
a
[gpu]
gpu[1:4]
[kube_node:children]
gpu
[all:vars]
place=hall
[west]
gpu[1:2]
[west:vars]
place = "west"
"""
    group = "node_labels:\n  topology.kubernetes.io/zone: '{{ place }}'\n"
    beside = {"inventory/train/inventory.ini": hosts, "inventory/train/group_vars/gpu.yml": group}
    write({VARIABLES: FLANNEL[VARIABLES], **beside})
    pools = reader.read(Tree(["."]), Config()).inventory.pools
    assert [known(pool.placement.zones) for pool in pools] == [None, ("hall", "west")]
    (Path("inventory/train/inventory.ini")).write_text(hosts.replace("gpu[1:2]", "gpu[1:4]"))
    pools = reader.read(Tree(["."]), Config()).inventory.pools
    assert [known(pool.placement.zones) for pool in pools] == [None, ("west",)]
