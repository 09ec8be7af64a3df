"""Test Karpenter's pools, in every API version and in every place where people write them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from kcheck.config.config import Config
from kcheck.engine import linter
from kcheck.inventory import reader
from kcheck.inventory.clouds.karpenter_machines import Requirement, fitting
from kcheck.report import model
from kcheck.scale import walls
from kcheck.scale.world import World
from kcheck.text.files.tree import Tree
from kcheck.text.values import Unknown, Unset, known, reason_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from kcheck.model import Inventory
    from tests.conftest import Write

V1 = """apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: gpu
spec:
  limits:
    cpu: 9600
    nvidia.com/gpu: "400"
  disruption:
    consolidationPolicy: WhenEmpty
    consolidateAfter: 5m
    budgets:
      - nodes: "0"
        schedule: "0 9 * * *"
      - nodes: 20%
  template:
    spec:
      expireAfter: Never
      nodeClassRef:
        name: gpu
      requirements:
        - key: karpenter.k8s.aws/instance-family
          operator: In
          values: [p5]
        - key: karpenter.sh/capacity-type
          operator: In
          values: [spot]
"""
BETA = V1.replace("/v1\n", "/v1beta1\n").replace("      expireAfter: Never\n", "")
BETA = BETA.replace("    consolidateAfter: 5m", "    consolidateAfter: 5m\n    expireAfter: 240h")
ALPHA = """apiVersion: karpenter.sh/v1alpha5
kind: Provisioner
metadata:
  name: gpu
spec:
  limits:
    resources:
      cpu: 1k
  ttlSecondsAfterEmpty: 30
  ttlSecondsUntilExpired: 2592000
  taints:
    - key: nvidia.com/gpu
      effect: NoSchedule
"""
CLUSTER = 'resource "aws_eks_cluster" "main" {\n  name = "train"\n}\n'


def value(pool: dict[str, Any], name: str) -> Any:
    field = pool["fields"][name]
    return field.get("value", field.get("unknown"))


@pytest.fixture
def pools(write: Write) -> Callable[..., list[dict[str, Any]]]:
    def run(text: str, name: str = "pool.yaml", **more: str) -> list[dict[str, Any]]:
        write({name: text, **{key.replace("_", "."): other for key, other in more.items()}})
        found: list[dict[str, Any]] = model.collect(Tree(["."]), Config())["karpenter_pools"]
        return found

    return run


def test_a_node_pool_is_read(pools: Callable[..., list[dict[str, Any]]]) -> None:
    (pool,) = pools(V1)
    wanted = {
        "kind": "NodePool", "name": "gpu", "api": "karpenter.sh/v1", "limits": ["cpu=9600", "nvidia.com/gpu=400"],
        "policy": "WhenEmpty", "consolidate_after": 300, "budgets": ["0", "20%"], "expire_after": None,
        "gpu": True, "spot": True, "served": None,
    }  # fmt: skip
    assert {name: value(pool, name) for name in wanted} == wanted


def test_a_beta_node_pool_is_read(pools: Callable[..., list[dict[str, Any]]]) -> None:
    (pool,) = pools(BETA)
    assert [value(pool, name) for name in ("api", "expire_after", "served")] == [
        "karpenter.sh/v1beta1",
        864000,
        None,
    ]


def test_a_provisioner_is_read(pools: Callable[..., list[dict[str, Any]]]) -> None:
    (pool,) = pools(ALPHA)
    wanted = {
        "limits": ["cpu=1k"],
        "policy": "WhenEmpty",
        "consolidate_after": 30,
        "expire_after": 2592000,
        "gpu": True,
    }
    assert {name: value(pool, name) for name in wanted} == wanted


def test_a_consolidating_provisioner_has_no_delay(pools: Callable[..., list[dict[str, Any]]]) -> None:
    (pool,) = pools(ALPHA.replace("  ttlSecondsAfterEmpty: 30\n", "  consolidation: {enabled: true}\n"))
    assert [value(pool, name) for name in ("policy", "consolidate_after")] == ["WhenEmptyOrUnderutilized", 0]


def test_unset_fields_get_karpenters_defaults(pools: Callable[..., list[dict[str, Any]]]) -> None:
    (pool,) = pools("apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {name: any}\nspec: {}\n")
    wanted = {
        "limits": [], "policy": "WhenEmptyOrUnderutilized", "consolidate_after": 0, "budgets": ["10%"],
        "expire_after": 2592000, "gpu": "the machine types of NodePool any are Karpenter's choice",
    }  # fmt: skip
    assert {name: value(pool, name) for name in wanted} == wanted


AUTO = """apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: any}
spec: {template: {spec: {nodeClassRef: {group: GROUP, kind: NodeClass, name: default}}}}
"""


@pytest.mark.parametrize(
    ("version", "group", "policy"),
    [
        ("1.37", "eks.amazonaws.com", "Balanced"),
        ("1.36", "eks.amazonaws.com", "WhenEmptyOrUnderutilized"),
        ("1.37", "karpenter.k8s.aws", "WhenEmptyOrUnderutilized"),
    ],
)
def test_the_policy_of_auto_mode_depends_on_the_version(
    version: str, group: str, policy: str, read: Callable[..., Inventory]
) -> None:
    cluster = f'resource "aws_eks_cluster" "main" {{\n  name = "train"\n  version = "{version}"\n}}\n'
    (pool,) = read({"main.tf": cluster, "pool.yaml": AUTO.replace("GROUP", group)}).karpenter
    assert known(pool.policy) == policy


def test_auto_mode_has_its_own_defaults(read: Callable[..., Inventory]) -> None:
    """Its nodes use address prefixes, live for two weeks at most, and have disks that nobody configures."""
    mode = "  compute_config {\n    enabled = true\n  }\n"
    cluster = f'resource "aws_eks_cluster" "main" {{\n  name = "train"\n{mode}}}\n'
    made = read({"main.tf": cluster, "pool.yaml": AUTO.replace("GROUP", "eks.amazonaws.com")})
    (pool,), (own,), (found,) = made.karpenter, made.pools, made.clusters
    assert known(pool.expire_after) == 14 * 86400
    assert "EKS Auto Mode sets up" in reason_of(own.system.local_disks)
    assert found.cni is not None
    assert known(found.cni.prefix_delegation) is True
    addon = (
        'resource "aws_eks_addon" "cni" {\n  cluster_name = aws_eks_cluster.main.name\n  addon_name = "vpc-cni"\n}\n'
    )
    others = read({"main.tf": cluster + addon, "pool.yaml": AUTO.replace("GROUP", "karpenter.k8s.aws")})
    (pool,), (own,), (found,) = others.karpenter, others.pools, others.clusters
    assert known(pool.expire_after) == 30 * 86400
    assert isinstance(own.system.local_disks, Unset)
    assert found.cni is not None
    assert known(found.cni.prefix_delegation) is False


HEREDOC = "".join(f"    {line}\n" for line in V1.splitlines())


@pytest.mark.parametrize(
    "code",
    [
        'resource "kubectl_manifest" "pool" {\n  yaml_body = <<-EOT\n' + HEREDOC + "  EOT\n}\n",
        'resource "kubernetes_manifest" "pool" {\n  manifest = yamldecode(file("pool.yaml"))\n}\n',
        'resource "helm_release" "raw" {\n  chart  = "raw"\n  values = [yamlencode({ resources = [yamldecode(file("pool.yaml"))] })]\n}\n',
    ],
    ids=["kubectl", "kubernetes", "values"],
)
def test_a_nodepool_is_read_wherever_it_is_written(code: str, pools: Callable[..., list[dict[str, Any]]]) -> None:
    (pool,) = pools(CLUSTER + code, "main.tf", **({"pool_yaml": V1} if "file(" in code else {}))
    assert value(pool, "expire_after") is None
    (found,) = reader.read(Tree(["."]), Config()).inventory.karpenter
    cluster = known(found.cluster)
    assert cluster is not None
    assert cluster.id == "eks/aws_eks_cluster.main"


@pytest.mark.parametrize(
    ("requirement", "gpu"),
    [
        ("{key: node.kubernetes.io/instance-type, operator: In, values: [p5.48xlarge, g6.xlarge]}", True),
        ("{key: node.kubernetes.io/instance-type, operator: In, values: [p5.48xlarge, m5.large]}", False),
        ("{key: karpenter.k8s.aws/instance-category, operator: In, values: [c, m, r]}", False),
        ("{key: karpenter.k8s.aws/instance-category, operator: In, values: [g, p]}", True),
        ("{key: karpenter.k8s.aws/instance-gpu-count, operator: Gt, values: ['0']}", True),
        ("{key: karpenter.azure.com/sku-family, operator: In, values: [NC]}", True),
        ("{key: karpenter.azure.com/sku-family, operator: In, values: [D]}", False),
        ("{key: eks.amazonaws.com/instance-category, operator: In, values: [inf, trn]}", True),
        ("{key: eks.amazonaws.com/instance-family, operator: In, values: [c5]}", False),
        (
            "{key: karpenter.k8s.aws/instance-category, operator: NotIn, values: [t]}",
            "the machine types of NodePool a are Karpenter's choice",
        ),
    ],
)
def test_gpus_of_a_pool_follow_from_its_requirements(
    requirement: str, gpu: Any, pools: Callable[..., list[dict[str, Any]]]
) -> None:
    head = "apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {name: a}\n"
    (pool,) = pools(f"{head}spec: {{template: {{spec: {{requirements: [{requirement}]}}}}}}\n")
    assert value(pool, "gpu") == gpu


@pytest.mark.parametrize(
    ("version", "severity"), [("0.32.1", "INFO"), ("1.0.0", "INFO"), ("1.1.0", "ERROR"), ("1.9.0", "ERROR")]
)
def test_a_retired_api_is_an_error_where_karpenter_is_too_new(version: str, severity: str, write: Write) -> None:
    release = f'resource "helm_release" "karpenter" {{\n  chart   = "karpenter"\n  version = "{version}"\n}}\n'
    write({"main.tf": CLUSTER + release, "pool.yaml": BETA})
    (found,) = [f for f in linter.run(Tree(["."]), Config()).findings if f.rule == "karpenter-retired-api"]
    assert found.severity.name == severity
    assert f"Karpenter {version} is installed here" in found.details


STATIC = V1.replace('    cpu: 9600\n    nvidia.com/gpu: "400"\n', "    nodes: 20\n")
STATIC = STATIC.replace("spec:\n  limits", "spec:\n  replicas: 16\n  limits").replace(
    "WhenEmpty", "WhenEmptyOrUnderutilized"
)


def rules_of(files: dict[str, str]) -> dict[str, str]:
    found = linter.run(Tree(["."]), Config()).findings
    return {one.rule: one.severity.name for one in found if one.span.source.path in files}


def test_a_pool_of_fixed_size_has_no_disruption_findings(write: Write) -> None:
    files = {"main.tf": CLUSTER, "pool.yaml": STATIC.replace("  limits:\n    nodes: 20\n", "")}
    write(files)
    assert not rules_of(files).keys() & {"karpenter-disrupts-training", "karpenter-no-limits"}
    (karpenter,) = model.collect(Tree(["."]), Config())["karpenter_pools"]
    assert value(karpenter, "limits") == ["nodes=16"]
    (pool,) = model.collect(Tree(["."]), Config())["pools"]
    assert [value(pool, name) for name in ("autoscaled", "min_nodes", "max_nodes")] == [False, 16, 16]


SERVICE = """apiVersion: apps/v1
kind: Deployment
metadata: {name: chat}
spec:
  template:
    spec:
      containers: [{name: chat, image: registry.example.com/chat:1, resources: {limits: {nvidia.com/gpu: 1}}}]
"""


@pytest.mark.parametrize(
    ("more", "severity"),
    [
        ("", "WARNING"),
        (SERVICE, "INFO"),
        (SERVICE.replace("apps/v1", "batch/v1").replace("Deployment", "Job"), "WARNING"),
    ],
)
def test_disruption_is_graded_by_what_runs_in_the_cluster(more: str, severity: str, write: Write) -> None:
    pool = V1.replace("WhenEmpty", "WhenEmptyOrUnderutilized").replace(
        '      - nodes: "0"\n        schedule: "0 9 * * *"\n', ""
    )
    files = {"pool.yaml": f"{pool.replace('Never', '72h')}---\n{more}"}
    write(files)
    found = rules_of(files)
    assert [found[name] for name in ("karpenter-disrupts-training", "karpenter-expires-nodes")] == [severity] * 2


@pytest.mark.parametrize(("text", "forceful"), [(V1.replace("Never", "72h"), True), (BETA, False)])
def test_budgets_do_not_delay_expiry_since_v1(text: str, forceful: bool, write: Write) -> None:
    write({"pool.yaml": text})
    (found,) = (one for one in linter.run(Tree(["."]), Config()).findings if one.rule == "karpenter-expires-nodes")
    assert any("do not delay expiry" in detail for detail in found.details) is forceful


@pytest.mark.parametrize("text", [
    "apiVersion: karpenter.sh/v1\nkind: NodePool\nspec: {replicas: many, limits: {nodes: 2}}\n",
    "apiVersion: karpenter.sh/v1\nkind: NodePool\n",
    "apiVersion: karpenter.sh/v1\nkind: NodePool\nspec: 3\nmetadata: []\n",
    "apiVersion: karpenter.sh/v1\nkind: NodePool\nspec: {limits: 3, disruption: {budgets: {a: 1}, consolidateAfter: soon}, template: [1]}\n",
    "apiVersion: karpenter.sh/v1alpha5\nkind: Provisioner\nspec: {limits: {resources: [1]}, ttlSecondsAfterEmpty: -x, taints: 3, requirements: [3, {key: a}]}\n",
    "apiVersion: karpenter.sh/v1\nkind: NodePool\nspec: {template: {spec: {requirements: [{key: node.kubernetes.io/instance-type, operator: In, values: [{}]}]}}}\n",
])  # fmt: skip
def test_nonsense_values_cause_no_bug(text: str, write: Write) -> None:
    write({"pool.yaml": text})
    assert linter.run(Tree(["."]), Config()).bugs == []


@pytest.mark.parametrize(("limit", "nodes"), [
    ("cpu: 1920", 10), ("cpu: 1k", 5), ("nvidia.com/gpu: 64", 8), ("nodes: 5", 5), ("memory: 2000Gi", 1), ("memory: 4Ti", 2),
])  # fmt: skip
def test_karpenter_limits_are_converted_to_nodes(limit: str, nodes: int, write: Write) -> None:
    pool = V1.replace('    cpu: 9600\n    nvidia.com/gpu: "400"\n', f"    {limit}\n")
    pool = pool.replace("karpenter.k8s.aws/instance-family", "node.kubernetes.io/instance-type").replace(
        "[p5]", "[p5.48xlarge]"
    )
    write({"main.tf": CLUSTER, "pool.yaml": pool})
    (found,) = model.collect(Tree(["."]), Config())["pools"]
    assert value(found, "max_nodes") == nodes


SUBNETS = "".join(
    f"""
resource "aws_subnet" "{letter}" {{
  cidr_block        = "10.0.{number}.0/24"
  availability_zone = "us-east-2{letter}"
  tags              = {{ "karpenter.sh/discovery" = "train" }}
}}
"""
    for number, letter in enumerate("ab")
)
NODE_CLASS = """---
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {name: gpu}
spec:
  subnetSelectorTerms:
    - tags: {karpenter.sh/discovery: train}
"""


def pool_with(write: Write, requirement: str = "", spec: str = "") -> dict[str, Any]:
    """Return a Karpenter pool with an added requirement, or with more in its node class."""
    pool = V1.replace("      requirements:\n", f"      requirements:\n{requirement}")
    write({"main.tf": CLUSTER + SUBNETS, "pool.yaml": pool + NODE_CLASS + spec})
    pools: list[dict[str, Any]] = model.collect(Tree(["."]), Config())["pools"]
    (found,) = pools
    return found


@pytest.mark.parametrize(("zones", "subnets"), [
    ("", 2),
    ("        - {key: topology.kubernetes.io/zone, operator: In, values: [us-east-2b]}\n", 1),
    ("        - {key: topology.kubernetes.io/zone, operator: Exists}\n", 2),
    ("        - {key: topology.kubernetes.io/zone, operator: In, values: [us-east-2a, us-east-2b]}\n", 2),
])  # fmt: skip
def test_nodes_are_in_the_subnets_of_their_zones(zones: str, subnets: int, write: Write) -> None:
    assert value(pool_with(write, zones), "zones") == subnets


TEMPLATES = """
resource "kubectl_manifest" "pool" {
  yaml_body = <<-YAML
    apiVersion: karpenter.sh/v1
    kind: NodePool
    metadata: {name: gpu}
    spec:
      template:
        spec:
          nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: gpu}
          requirements:
            - {key: karpenter.k8s.aws/instance-family, operator: In, values: [g5]}
            - {key: karpenter.k8s.aws/instance-size, operator: In, values: [2xlarge, 48xlarge]}
      limits: {cpu: 1000}
  YAML
}

resource "kubectl_manifest" "class" {
  yaml_body = <<-YAML
    apiVersion: karpenter.k8s.aws/v1
    kind: EC2NodeClass
    metadata: {name: gpu}
    spec:
      subnetSelectorTerms:
        - id: ${aws_subnet.b.id}
  YAML
}
"""


def test_subnets_are_selected_by_an_id_in_the_code(write: Write) -> None:
    write({"main.tf": CLUSTER + SUBNETS + TEMPLATES})
    (found,) = model.collect(Tree(["."]), Config())["pools"]
    assert value(found, "subnets") == ["eks/aws_subnet.b"]


def test_limits_of_a_machine_family_give_a_range_of_nodes(write: Write) -> None:
    """1,000 vCPUs are 125 machines of 8 or 5 machines of 192; the wall of the maxima is listed."""
    write({"main.tf": CLUSTER + SUBNETS + TEMPLATES})
    world = World(reader.read(Tree(["."]), Config()).inventory, Config(nodes={"": 1000}))
    (pool,) = world.inventory.pools
    why = "the limits of Karpenter's NodePool gpu end it at 5 to 125 nodes: name one instance type"
    assert isinstance(pool.size.max_nodes, Unknown)
    assert (pool.size.max_nodes.between, pool.size.max_nodes.reason) == ((5, 125), why)
    (cluster,) = world.inventory.clusters
    (maximum,) = [wall for wall in walls.find_walls(cluster, world) if wall.mechanism == "maximum"]
    assert (maximum.nodes.low, maximum.nodes.high, maximum.arithmetic) == (5, 125, "gpu 5 to 125 = 5 to 125")


def test_a_node_class_joins_disks_and_has_interfaces(write: Write) -> None:
    bare = pool_with(write)
    assert [value(bare, name) for name in ("local_disks", "efa_interfaces")] == [False, []]
    interfaces = "  networkInterfaces:\n" + "".join(
        f"    - {{networkCardIndex: 0, deviceIndex: {i}, interfaceType: {kind}}}\n"
        for i, kind in enumerate(("interface", "efa-only"))
    )
    found = pool_with(write, spec=f"  instanceStorePolicy: RAID0\n{interfaces}")
    assert [value(found, name) for name in ("local_disks", "efa_interfaces")] == [True, ["efa-only"]]


@pytest.mark.parametrize(
    ("asked", "types"),
    [
        ("instance-family In p4d p4de", "p4d.24xlarge p4de.24xlarge"),
        ("instance-family In p5 & instance-gpu-count In 8", "p5.48xlarge"),
        ("instance-family In p5 & instance-size NotIn 4xlarge", "p5.48xlarge"),
        ("instance-category In p & instance-generation Gt 4 & instance-generation Lt 6 & instance-cpu Lte 16", "p5.4xlarge"),
        ("instance-category In g & instance-gpu-count Gte 8 & instance-gpu-manufacturer In nvidia", "g4dn.metal g5.48xlarge g6.48xlarge g6e.48xlarge g7.48xlarge g7e.48xlarge"),
        ("instance-category In g & instance-gpu-manufacturer In amd & instance-cpu Gt 32", "g4ad.16xlarge"),
        ("instance-family In g5g & instance-gpu-count Gt 1 & arch In arm64", "g5g.16xlarge g5g.metal"),
        ("instance-family In g5g & arch In amd64", ""),
        ("instance-accelerator-count Exists & instance-family In trn1", "trn1.2xlarge trn1.32xlarge"),
        ("instance-gpu-count Exists & instance-family In trn1", ""),
        ("instance-type In p5.48xlarge m5.large & instance-gpu-count Gt 0", "p5.48xlarge"),
        ("instance-type In p9.large", "p9.large"),
        ("instance-family In p5 p9", ""),  # kcheck does not know all that it may be
        ("team In a", ""),
    ],
)  # fmt: skip
def test_machines_that_fit_the_requirements_are_found(asked: str, types: str) -> None:
    words = [part.split() for part in asked.split(" & ")]
    requirements = [
        Requirement(f"karpenter.k8s.aws/{key}", operator, tuple(values)) for key, operator, *values in words
    ]
    requirements = [
        one._replace(key="kubernetes.io/arch") if one.key.endswith("/arch") else one for one in requirements
    ]
    assert sorted(fitting(requirements, "eks")) == types.split()


@pytest.mark.parametrize(
    ("asked", "types"),
    [
        ("sku-family In N & sku-cpu In 24 & sku-gpu-count In 1 & sku-version In 4", ["Standard_NC24ads_A100_v4"]),
        ("sku-cpu Gt 900", []),  # sizes without GPUs are not all known
        ("sku-family In D", []),
    ],
)
def test_azure_sizes_that_fit_the_requirements_are_found(asked: str, types: list[str]) -> None:
    words = [part.split() for part in asked.split(" & ")]
    found = fitting([Requirement(f"karpenter.azure.com/{key}", op, tuple(rest)) for key, op, *rest in words], "aks")
    assert list(found) == types


@pytest.mark.parametrize(
    ("requirement", "expected"),
    [
        ("{key: karpenter.k8s.aws/instance-gpu-count, operator: In, values: ['8']}", (["p5.48xlarge"], True, 50)),
        (
            "{key: karpenter.k8s.aws/instance-cpu, operator: Exists}",
            (
                ["p5.4xlarge", "p5.48xlarge"],
                True,
                "the limits of Karpenter's NodePool gpu end it at 50 to 400 nodes: name one instance type",
            ),
        ),
    ],
)
def test_requirements_are_turned_into_machine_types(
    requirement: str, expected: tuple[object, ...], write: Write
) -> None:
    found = pool_with(write, f"        - {requirement}\n")
    assert tuple(value(found, name) for name in ("instance_types", "gpu", "max_nodes")) == expected


@pytest.mark.parametrize(
    ("spec", "image"),
    [
        ("  amiSelectorTerms:\n    - alias: al2@latest\n", "al2@latest"),
        ("  amiFamily: AL2\n", "AL2"),
        ("  amiFamily: AL2\n  amiSelectorTerms:\n    - id: ami-1\n", "its nodes boot a custom image"),
        ("", None),
    ],
)
def test_the_image_of_a_node_class_is_read(spec: str, image: str | None, write: Write) -> None:
    assert value(pool_with(write, spec=spec), "image") == image
    found = {finding.rule: finding for finding in linter.run(Tree(["."]), Config()).findings}
    assert ("retired-node-image" in found) == (image in ("al2@latest", "AL2"))
    if image == "al2@latest":
        fix = found["retired-node-image"].fix
        assert fix is not None
        assert [change.value for change in fix.changes] == ["al2023@latest"]


def test_an_unknown_machine_family_can_still_show_that_it_has_no_gpu(write: Write) -> None:
    pool = V1.replace("values: [p5]", "values: [r7g, r99gn]")
    write({"main.tf": CLUSTER, "pool.yaml": pool})
    (found,) = model.collect(Tree(["."]), Config())["pools"]
    assert value(found, "gpu") is False
    assert value(found, "instance_types").startswith("Karpenter chooses")
