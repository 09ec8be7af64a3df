"""Test the Cluster and InstanceGroup of kOps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

from kcheck.commands.cli import cli
from kcheck.config.config import Config
from kcheck.fix import fix
from kcheck.report import model
from kcheck.text.files.tree import Tree
from kcheck.text.findings import Severity

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from tests.conftest import Check, Write

CLUSTER = """\
apiVersion: kops.k8s.io/v1alpha2
kind: Cluster
metadata: {{name: train.example.com}}
spec:
  cloudProvider: aws
  kubernetesVersion: 1.35.4
  networkCIDR: 172.20.0.0/16
  {ranges}
  networking:
    {plugin}: {{}}
  etcdClusters:
  - name: main
    etcdMembers: [{{name: a, instanceGroup: control, volumeType: gp3}}]
  - name: events
    etcdMembers: [{{name: a, instanceGroup: control}}]
  subnets:
  - {{name: eu-west-1a, type: Private, zone: eu-west-1a, cidr: 172.20.32.0/24}}
"""
GROUP = """\
---
apiVersion: kops.k8s.io/v1alpha2
kind: InstanceGroup
metadata:
  name: {name}
  labels: {{kops.k8s.io/cluster: train.example.com}}
spec:
  role: {role}
  machineType: {machine}
  minSize: {least}
  maxSize: {most}
  subnets: [eu-west-1a]
"""


def kops(most: object = 120, plugin: str = "cilium", ranges: str = "nonMasqueradeCIDR: 100.64.0.0/10") -> str:
    control = GROUP.format(name="control", role="Master", machine="m5.xlarge", least=1, most=1)
    gpus = GROUP.format(name="gpus", role="Node", machine="p4d.24xlarge", least=0, most=most)
    bastion = GROUP.format(name="bastion", role="Bastion", machine="t3.nano", least=1, most=1)
    return CLUSTER.format(plugin=plugin, ranges=ranges) + control + gpus + bastion


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


def test_a_cluster_and_its_groups_are_read(read: Callable[..., dict[str, Any]]) -> None:
    data = read({"a.yaml": kops()})
    (cluster,), (pods,), (subnet,) = data["clusters"], data["pod_ranges"], data["subnets"]
    assert cluster["id"] == "selfmanaged/a.yaml:kops/train.example.com"
    assert [of(cluster, name) for name in ("service_cidr", "target")] == ["100.64.0.0/13", 121]
    settings = {of(one, "name"): of(one, "text") for one in data["settings"]}
    assert "/events#" in settings["etcd-servers-overrides"]
    assert settings["data-dir"] is None
    assert (of(pods, "cidr"), of(pods, "addresses_per_node"), of(subnet, "cidr")) == (
        "100.96.0.0/11",
        256,
        "172.20.32.0/24",
    )
    found = [(of(one, "name"), of(one, "max_nodes"), of(one, "autoscaled"), of(one, "gpu")) for one in data["pools"]]
    assert found == [("control", 1, False, False), ("gpus", 120, True, True)]


def test_services_keep_their_own_range(read: Callable[..., dict[str, Any]]) -> None:
    data = read({"a.yaml": kops(ranges="nonMasqueradeCIDR: 10.0.0.0/8")})
    assert of(data["clusters"][0], "service_cidr") == "100.64.0.0/13"
    assert of(data["pod_ranges"][0], "cidr") == "10.128.0.0/9"
    assert of(read({"a.yaml": kops(ranges="nonMasqueradeCIDR: ::/0")})["clusters"][0], "service_cidr") is None


@pytest.mark.parametrize(
    ("plugin", "ranges", "subnets"),
    [("kubenet", 1, 1), ("calico", 0, 2), ("amazonvpc", 0, 1), ("weave", 0, 1)],
)
def test_network_plugins_decide_ranges_and_subnets(
    plugin: str, ranges: int, subnets: int, read: Callable[..., dict[str, Any]]
) -> None:
    data = read({"a.yaml": kops(plugin=plugin)})
    assert (len(data["pod_ranges"]), len(data["subnets"])) == (ranges, subnets)


def test_rules_of_managed_clouds_are_silent(check: Check) -> None:
    found = {one.rule for one in check({"a.yaml": kops(plugin="kubenet")}).findings if one.severity > Severity.INFO}
    assert found == {"gpu-pool-untainted"}


def test_small_ranges_and_subnets_are_found(check: Check) -> None:
    text = kops(300, ranges="podCIDR: 100.96.0.0/16")
    found = {one.rule: one for one in check({"a.yaml": text}).findings if one.severity > Severity.INFO}
    assert {"pod-range-too-small", "subnet-too-small"} <= set(found)
    assert found["pod-range-too-small"].span.text == "100.96.0.0/16"


def test_fixes_are_written_into_the_kops_cluster(write: Callable[..., Path]) -> None:
    write({"a.yaml": kops()})
    select = ("etcd-quota-default", "apiserver-inflight-default")
    (file,) = fix.fix(["."], Config(nodes={"": 1200}, select=select), safeties=("costs",)).files
    text = file.new.decode()
    assert "- name: ETCD_QUOTA_BACKEND_BYTES" in text
    assert "InFlight" not in text  # a text would not be taken there


def test_taints_are_read_as_text(write: Callable[..., Path]) -> None:
    write({"a.yaml": kops()})
    (file,) = fix.fix(["."], Config(select=("gpu-pool-untainted",)), safeties=("unsafe",)).files
    assert "nvidia.com/gpu=true:NoSchedule" in file.new.decode()


def test_instance_groups_may_be_in_another_file_unsized_or_absent(read: Callable[..., dict[str, Any]]) -> None:
    cluster, _, groups = kops("${MAX}").partition("---\n")
    data = read({"cluster.yaml": cluster, "groups.yaml": groups})
    assert "MAX" in of(data["pools"][1], "max_nodes")
    assert "instance groups are not in this code" in of(
        read({"groups.yaml": "", "cluster.yaml": cluster})["clusters"][0], "target"
    )


@pytest.mark.parametrize("ranges", ["nonMasqueradeCIDR: 10.0.0.0/32", "nonMasqueradeCIDR: x", "nonMasqueradeCIDR: [1]"])
def test_ranges_that_cannot_be_divided_cause_no_error(ranges: str, read: Callable[..., dict[str, Any]]) -> None:
    (cluster,) = read({"a.yaml": kops(ranges=ranges)})["clusters"]
    assert of(cluster, "target") == 121


def test_capacity_prints_the_limits_of_a_kops_cluster(write: Callable[..., Path]) -> None:
    write({"a.yaml": kops(300)})
    assert "250  ####" in CliRunner().invoke(cli, ["capacity"]).output
