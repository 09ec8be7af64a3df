"""Test clusters written as manifests: eksctl's ClusterConfig, kubeadm's configuration, static pods."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from kcheck.config.config import Config
from kcheck.engine import linter
from kcheck.fix import fix
from kcheck.inventory.clouds.eks.eksctl import subnet_blocks
from kcheck.report import model
from kcheck.text.files.tree import Tree
from kcheck.text.findings import Severity

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from kcheck.engine.linter import Result
    from tests.conftest import Check, Write

EKSCTL = """
apiVersion: eksctl.io/v1alpha5
kind: ClusterConfig
metadata:
  name: train
  region: {region}
{more}
managedNodeGroups:
  - name: gpu
{group}
"""
KUBEADM = """
apiVersion: kubeadm.k8s.io/{version}
kind: ClusterConfiguration
networking:
  podSubnet: {pods}
{more}
"""


@pytest.fixture
def read(write: Write) -> Callable[..., dict[str, Any]]:
    """Return a function that writes files and collects the model kcheck reads from them."""

    def run(**files: str) -> dict[str, Any]:
        write({name.replace("__", "/") + ".yaml": text for name, text in files.items()})
        return model.collect(Tree(["."]), Config())

    return run


def of(thing: dict[str, Any], field: str) -> Any:
    """Return the value of a field, or the reason why it is unknown."""
    found = thing["fields"][field]
    return found["unknown"] if "unknown" in found else found["value"]


def eksctl(group: str = "", more: str = "", region: str = "eu-west-1") -> str:
    lines = "\n".join(f"    {line}" for line in group.splitlines())
    return EKSCTL.format(region=region, more=more, group=lines)


@pytest.mark.parametrize(
    ("group", "least", "most"),
    [
        ("", 2, 2),
        ("minSize: 3", 3, 3),
        ("desiredCapacity: 5", 5, 5),
        ("minSize: 0", 0, 1),
        ("minSize: 1\ndesiredCapacity: 4", 1, 4),
        ("minSize: 0\nmaxSize: 64", 0, 64),
        ("maxSize: ${MAX:-4}", 2, 4),
        ("maxSize: ${MAX}", 2, "${MAX}"),
        ("maxSize: -1", 2, "-1 is negative"),
    ],
)
def test_sizes_are_derived_as_by_eksctl(
    group: str, least: object, most: object, read: Callable[..., dict[str, Any]]
) -> None:
    (pool,) = read(a=eksctl(group))["pools"]
    assert of(pool, "min_nodes") == least
    if isinstance(most, str):
        assert most in of(pool, "max_nodes")
    else:
        assert of(pool, "max_nodes") == most


@pytest.mark.parametrize(
    ("cidr", "zones", "blocks"),
    [
        ("192.168.0.0/16", 3, ["192.168.0.0/19", "192.168.32.0/19", "192.168.64.0/19", "192.168.96.0/19"]),
        ("10.0.0.0/20", 2, ["10.0.0.0/23", "10.0.2.0/23", "10.0.4.0/23", "10.0.6.0/23"]),
        ("10.0.0.0/16", 5, ["10.0.0.0/20", "10.0.16.0/20", "10.0.32.0/20", "10.0.48.0/20"]),
        ("10.0.0.0/16", 9, []),
        ("10.0.0.0/30", 3, []),
        ("x", 2, []),
    ],
)
def test_subnets_are_computed_as_by_eksctl(cidr: str, zones: int, blocks: list[str]) -> None:
    found = subnet_blocks(cidr, zones)
    assert [str(block) for block in found[:4]] == blocks
    assert len(found) == (2 * zones if blocks else 0)


POD = """{
  "metadata": {"name": "web"},
\t"spec": {"containers": [{"name": "web", "image": "nginx:1"}]},
  "apiVersion": "v1",
  "kind": "Pod"
}
"""


def pods(write: Write, files: Mapping[str, str], path: str = ".") -> list[str]:
    """Return the workloads in some files, followed by the messages about unreadable files."""
    write(files)
    data = linter.run(Tree([path]), Config())
    broken = [finding.message for finding in data.findings if finding.rule == "unreadable-file"]
    return [workload.id for workload in data.world.inventory.workloads] + broken


@pytest.mark.parametrize("text", [POD, POD.replace("\n", ""), "\ufeff" + POD.replace("\n", "\r\n")])
def test_cluster_manifests_in_json_are_read(text: str, write: Write) -> None:
    assert pods(write, {"a/web.json": text}) == ["a/web.json:Pod/web"]
    assert pods(write, {"a/web.json": text}, "a/web.json") == ["a/web.json:Pod/web"]


def test_a_json_manifest_of_kind_list_is_read(write: Write) -> None:
    text = f'{{"apiVersion": "v1", "items": [{POD}, {POD.replace("web", "more")}], "kind": "List"}}'
    assert pods(write, {"list.json": text}) == ["list.json:Pod/web", "list.json:Pod/more"]


@pytest.mark.parametrize(
    "text",
    [
        '{"definitions": {"Pod": {"properties": {"kind": {"type": "string"}, "apiVersion": {"type": "string"}}}}}',
        '{"resources": [{"apiVersion": "2023-01-01", "kind": "Pod"}]}',
        f'{{"object": {POD}}}',
        f"[{POD}]",
        '{"kind": "Pod", "apiVersion": 1}',
        '{// a comment\n"compilerOptions": {"kind": "Pod", "apiVersion": "v1"}}',
        "{" * 100_000,
    ],
)
def test_other_json_is_not_a_manifest(text: str, write: Write) -> None:
    assert not pods(write, {"a.json": text})


def test_broken_manifests_in_json_are_errors(write: Write) -> None:
    (found,) = pods(write, {"a.json": '{"apiVersion": "v1", "kind": "Pod", "spec": {"containers": [}}'})
    assert "quotes" in found


@pytest.mark.medium
def test_manifests_in_json_are_fixed(write: Write) -> None:
    text = POD.replace("Pod", "DaemonSet").replace('"v1"', '"apps/v1"')
    text = text.replace('"spec": {', '"spec": {"template": {"spec": {').replace("]}", "]}}}")
    cluster = 'resource "azurerm_kubernetes_cluster" "a" {\n  name     = "a"\n  sku_tier = "Standard"\n}\n'
    write({"a.json": text, "main.tf": cluster})
    config = Config(nodes={"": 1000}, mirrors={"docker.io": "mirror.example.com"})
    outcome = fix.fix(["."], config, safeties=("unsafe",))
    (new,) = [file.new.decode() for file in outcome.files]
    assert new == text.replace('"nginx:1"', '"mirror.example.com/library/nginx:1"')


def test_groups_are_in_the_subnets_of_their_side(read: Callable[..., dict[str, Any]]) -> None:
    data = read(a=eksctl("privateNetworking: true", region="us-east-1"))
    assert [of(subnet, "cidr") for subnet in data["subnets"]] == [
        "192.168.0.0/19", "192.168.32.0/19", "192.168.64.0/19", "192.168.96.0/19",
    ]  # fmt: skip
    assert of(data["pools"][0], "subnets") == [
        "eks/a.yaml:ClusterConfig/train/private-0", "eks/a.yaml:ClusterConfig/train/private-1",
    ]  # fmt: skip
    assert of(read(a=eksctl())["pools"][0], "subnets")[0].endswith("public-0")


def test_a_group_in_one_zone_uses_one_subnet(read: Callable[..., dict[str, Any]]) -> None:
    zones = 'availabilityZones: ["eu-west-1a", "eu-west-1b"]'
    pool = read(a=eksctl('availabilityZones: ["eu-west-1b"]', zones))["pools"][0]
    assert of(pool, "subnets") == ["eks/a.yaml:ClusterConfig/train/public-eu-west-1b"]


@pytest.mark.parametrize("zones", ["", 'availabilityZones: ["eu-west-1a", "eu-west-1b"]\n'])
def test_a_group_with_efa_is_in_one_zone(zones: str, read: Callable[..., dict[str, Any]]) -> None:
    more = 'availabilityZones: ["eu-west-1a", "eu-west-1b"]'
    pool = read(a=eksctl(f"{zones}efaEnabled: true\ninstanceType: p5.48xlarge\nprivateNetworking: true", more))[
        "pools"
    ][0]
    assert of(pool, "zones") == 1
    assert of(pool, "subnets") == ["eks/a.yaml:ClusterConfig/train/private-eu-west-1a"]
    assert not {"efa-across-zones"} & {finding.rule for finding in linter.run(Tree(["."]), Config()).findings}


def test_subnets_that_exist_have_their_ids_only(read: Callable[..., dict[str, Any]]) -> None:
    vpc = "vpc:\n  id: vpc-1\n  subnets:\n    private:\n      a: {id: subnet-1}\n      b: {id: subnet-2, cidr: 10.0.0.0/24}"
    data = read(a=eksctl("privateNetworking: true", vpc))
    assert [of(subnet, "cidr") for subnet in data["subnets"]] == ["the subnet a is given by id", "10.0.0.0/24"]
    assert len(of(data["pools"][0], "subnets")) == 2


@pytest.mark.parametrize(
    ("settings", "addresses"),
    [
        ("", 100),
        ('    configurationValues: \'{"env": {"ENABLE_PREFIX_DELEGATION": "true"}}\'', 33),
        ('    configurationValues: |\n      env:\n        ENABLE_PREFIX_DELEGATION: "true"', 33),
    ],
)
def test_settings_of_the_network_addon_are_read(
    settings: str, addresses: int, read: Callable[..., dict[str, Any]]
) -> None:
    more = f"addons:\n  - name: vpc-cni\n{settings}"
    assert of(read(a=eksctl("instanceType: p5.48xlarge", more))["pools"][0], "addresses_per_node") == addresses


def test_every_efa_interface_takes_an_address(read: Callable[..., dict[str, Any]]) -> None:
    pool = read(a=eksctl("instanceType: p5.48xlarge\nefaEnabled: true"))["pools"][0]
    assert of(pool, "addresses_per_node") == 131


@pytest.mark.medium
def test_a_network_that_eksctl_divides_is_not_fixed_in_parts(check: Check) -> None:
    result = check({"a.yaml": eksctl("maxSize: 900\ninstanceType: p5.48xlarge")})
    found = [finding for finding in result.findings if finding.rule == "subnet-too-small"]
    assert found
    assert all(finding.fix is None for finding in found)


@pytest.mark.parametrize(
    ("version", "pods", "more", "block"),
    [
        ("v1beta4", "10.233.64.0/18", "", 256),
        ("v1beta3", "10.0.0.0/16", 'controllerManager:\n  extraArgs:\n    node-cidr-mask-size: "25"', 128),
        (
            "v1beta4",
            "10.0.0.0/16",
            "controllerManager:\n  extraArgs:\n  - {name: node-cidr-mask-size-ipv4, value: '26'}",
            64,
        ),
        ("v1beta4", "fd00::/56,10.0.0.0/16", "", 256),
    ],
)
def test_ranges_of_kubeadm_are_read(
    version: str, pods: str, more: str, block: int, read: Callable[..., dict[str, Any]]
) -> None:
    data = read(a=KUBEADM.format(version=version, pods=pods, more=more))
    (found,) = data["pod_ranges"]
    assert of(found, "addresses_per_node") == block
    assert of(found, "cidr") in ("10.233.64.0/18", "10.0.0.0/16")


def test_cluster_without_a_pod_subnet_has_no_address_limit(read: Callable[..., dict[str, Any]]) -> None:
    text = "apiVersion: kubeadm.k8s.io/v1beta3\nkind: ClusterConfiguration\nclusterName: lab\n"
    data = read(a=text)
    assert (len(data["clusters"]), data["pod_ranges"]) == (1, [])
    assert of(data["clusters"][0], "name") == "lab"


APISERVER = """
apiVersion: v1
kind: Pod
metadata: {name: kube-apiserver}
spec:
  containers:
    - name: kube-apiserver
      command: [kube-apiserver, --service-cluster-ip-range=10.3.0.0/16, --max-requests-inflight=1500]
"""
CONTROLLER = """
apiVersion: v1
kind: Pod
metadata: {name: kube-controller-manager}
spec:
  containers:
    - name: kube-controller-manager
      command: [kube-controller-manager, --cluster-cidr=10.2.0.0/16, --node-cidr-mask-size, "26"]
"""


def test_static_pods_of_a_control_plane_are_a_cluster(read: Callable[..., dict[str, Any]]) -> None:
    data = read(m__api=APISERVER, m__controller=CONTROLLER)
    (cluster,) = data["clusters"]
    assert (cluster["id"], of(cluster, "service_cidr")) == ("selfmanaged/m:static pods", "10.3.0.0/16")
    (found,) = data["pod_ranges"]
    assert (of(found, "cidr"), of(found, "addresses_per_node")) == ("10.2.0.0/16", 64)


def test_static_pods_override_the_kubeadm_configuration(read: Callable[..., dict[str, Any]]) -> None:
    data = read(kubeadm=KUBEADM.format(version="v1beta4", pods="10.0.0.0/16", more=""), controller=CONTROLLER)
    assert len(data["clusters"]) == 1
    assert of(data["pod_ranges"][0], "cidr") == "10.2.0.0/16"


def test_another_controller_alone_is_not_a_cluster(read: Callable[..., dict[str, Any]]) -> None:
    assert not read(a=CONTROLLER)["clusters"]
    assert not read(a="apiVersion: example.com/v1\nkind: ClusterConfig\nmetadata: {name: x}\n")["clusters"]


def test_rules_on_a_kubeadm_cluster_depend_on_the_target(check: Check) -> None:
    text = KUBEADM.format(version="v1beta4", pods="10.0.0.0/16", more="")
    found = [finding for finding in check({"a.yaml": text}).findings if finding.severity > Severity.INFO]
    assert not found
    found = check({"a.yaml": text}, Config(nodes={"": 300})).findings
    assert [finding.rule for finding in found if finding.severity] == [
        "dns-not-scaled",
        "serial-image-pulls",
        "pod-range-too-small",
    ]


def test_two_clusters_in_one_file_are_read(read: Callable[..., dict[str, Any]]) -> None:
    documents = [KUBEADM.format(version="v1beta4", pods=pods, more="") for pods in ("10.244.0.0/16", "10.0.0.0/14")]
    data = read(a="---".join(documents))
    assert len({cluster["id"] for cluster in data["clusters"]}) == 2
    assert [of(found, "pools") for found in data["pod_ranges"]] == [
        ["selfmanaged/a.yaml:ClusterConfiguration/kubernetes/nodes"],
        ["selfmanaged/a.yaml:ClusterConfiguration/kubernetes#2/nodes"],
    ]


def test_public_node_groups_need_no_nat_gateway(read: Callable[..., dict[str, Any]]) -> None:
    assert of(read(a=eksctl())["clusters"][0], "outbound_type") == "node"
    cluster = read(a=eksctl("privateNetworking: true"))["clusters"][0]
    assert (of(cluster, "outbound_type"), of(cluster, "outbound_ips")) == ("nat", 1)
    cluster = read(a=eksctl("privateNetworking: true", "vpc:\n  id: vpc-1"))["clusters"][0]
    assert of(cluster, "outbound_ips") == "the NAT gateways belong to an existing VPC"


def test_a_group_with_efa_uses_one_of_several_zones(read: Callable[..., dict[str, Any]]) -> None:
    zones = 'availabilityZones: ["eu-west-1a", "eu-west-1b"]'
    group = f"instanceType: p4d.24xlarge\nefaEnabled: true\n{zones}"
    assert len(of(read(a=eksctl(group, zones))["pools"][0], "subnets")) == 1


def rules_of(result: Result) -> set[str]:
    return {finding.rule for finding in result.findings}


@pytest.mark.medium
def test_efa_addresses_are_reported_only_if_subnets_run_out(check: Check) -> None:
    group = "instanceType: p5.48xlarge\nefaEnabled: true\nmaxSize: {}"
    assert "efa-interfaces-take-addresses" not in rules_of(check({"a.yaml": eksctl(group.format(8))}))
    assert "efa-interfaces-take-addresses" in rules_of(check({"a.yaml": eksctl(group.format(400))}))


@pytest.mark.medium
def test_gpu_pools_without_others_cannot_be_tainted(check: Check) -> None:
    gpus = "instanceType: g5.xlarge\nminSize: 0\nmaxSize: 4\niam: {withAddonPolicies: {autoScaler: true}}"
    one = eksctl(gpus)
    two = one + "  - name: more\n" + "\n".join(f"    {line}" for line in gpus.splitlines())
    plain = one + "  - name: system\n    instanceType: m5.large\n"
    assert "gpu-pool-untainted" not in rules_of(check({"a.yaml": two}))
    assert "gpu-pool-untainted" in rules_of(check({"a.yaml": plain}))
