"""Test the EKS reader: whole interfaces, prefixes, links, and what is unknown."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest

from kcheck.config.config import Config
from kcheck.engine import linter
from kcheck.inventory import reader
from kcheck.report import model
from kcheck.text.files.tree import Tree
from kcheck.text.values import Unknown, known

if TYPE_CHECKING:
    from collections.abc import Callable

    from kcheck.model import NodePool
    from tests.conftest import Check, Write

CLUSTER = """
resource "aws_vpc" "main" {
  cidr_block = "10.0.0.0/16"
}

resource "aws_subnet" "a" {
  count      = 2
  vpc_id     = aws_vpc.main.id
  cidr_block = cidrsubnet(aws_vpc.main.cidr_block, 4, count.index)
  tags       = SUBNET_TAGS
}

resource "aws_eks_cluster" "main" {
  name = "train"
  CLUSTER_LINES
}

resource "aws_eks_node_group" "gpu" {
  cluster_name    = aws_eks_cluster.main.name
  node_group_name = "gpu"
  subnet_ids      = aws_subnet.a[*].id
  instance_types  = INSTANCE_TYPES

  scaling_config {
    min_size     = 0
    max_size     = 40
    desired_size = 0
  }
  POOL_LINES
}
"""

Pool = "Callable[..., dict[str, Any]]"


@pytest.fixture
def read(write: Write) -> Callable[..., dict[str, Any]]:
    def run(
        addon: str = "", types: str = '["p5.48xlarge"]', pool: str = "", cluster: str = "", tags: str = "{}"
    ) -> dict[str, Any]:
        text = CLUSTER.replace("INSTANCE_TYPES", types).replace("POOL_LINES", pool)
        write({"main.tf": text.replace("CLUSTER_LINES", cluster).replace("SUBNET_TAGS", tags) + addon})
        data = model.collect(Tree(["."]), Config())
        assert not data["problems"]
        return data

    return run


def addon(values: str, name: str = "vpc-cni", cluster: str = "aws_eks_cluster.main.name") -> str:
    return f"""
resource "aws_eks_addon" "cni" {{
  cluster_name         = {cluster}
  addon_name           = "{name}"
  configuration_values = {values}
}}
"""


def env(**values: str) -> str:
    inner = ", ".join(f'{name} = "{value}"' for name, value in values.items())
    return addon(f"jsonencode({{ env = {{ {inner} }} }})")


def of(data: dict[str, Any], name: str) -> Any:
    field = data["pools"][0]["fields"][name]
    return field.get("value", field.get("unknown"))


@pytest.mark.parametrize(
    ("settings", "addresses"),
    [
        ("", 100),  # two interfaces of 50
        (env(ENABLE_PREFIX_DELEGATION="true"), 33),  # its own, a prefix in use and a warm one
        (env(ENABLE_PREFIX_DELEGATION="false"), 100),
        (env(WARM_ENI_TARGET="0"), 50),
        (env(WARM_IP_TARGET="2", MINIMUM_IP_TARGET="12"), 13),
        (env(WARM_IP_TARGET="2"), 4),
        (env(ENABLE_PREFIX_DELEGATION="true", WARM_PREFIX_TARGET="3"), 65),
        (env(ENABLE_PREFIX_DELEGATION="true", MINIMUM_IP_TARGET="30"), 33),
        (env(AWS_VPC_K8S_CNI_CUSTOM_NETWORK_CFG="true"), 1),  # pods live in other subnets
        (addon('"{\\"env\\": {\\"ENABLE_PREFIX_DELEGATION\\": \\"true\\"}}"'), 33),
        (addon("jsonencode({ env = { ENABLE_PREFIX_DELEGATION = true }, x = aws_subnet.a[0].arn })"), 33),
        (addon('"nonsense"'), "the settings of the add-on are not an object in JSON or YAML"),
        (addon("var.settings") + 'variable "settings" {}\n', "var.settings has no value"),
        (env(WARM_ENI_TARGET="many"), "WARM_ENI_TARGET of the VPC CNI is neither a number nor true or false"),
        (addon('jsonencode({ env = { ENABLE_PREFIX_DELEGATION = "true" } })', name="coredns"), 100),
        (addon('jsonencode({ env = { ENABLE_PREFIX_DELEGATION = "true" } })', cluster='"other"'), 100),
    ],
)
def test_addresses_of_a_node_are_counted(settings: str, addresses: object, read: Callable[..., dict[str, Any]]) -> None:
    assert of(read(settings), "addresses_per_node") == addresses


@pytest.mark.parametrize(
    ("types", "addresses"),
    [
        ('["m5.large"]', 20),
        ('["g5.xlarge"]', 30),
        ('["g5.xlarge", "m5.large"]', "the instance types of gpu take 20 to 30 addresses"),
        ('["p5.48xlarge", "x9.huge"]', "kcheck does not know the instance type x9.huge"),
        ("null", 12),  # t3.medium
    ],
)
def test_smallest_instance_type_decides_the_addresses(
    types: str, addresses: object, read: Callable[..., dict[str, Any]]
) -> None:
    assert of(read(types=types), "addresses_per_node") == addresses


def test_minus_zero_is_read_as_zero(check: Check) -> None:
    code = CLUSTER.replace("INSTANCE_TYPES", '["m5.large"]').replace("POOL_LINES", "").replace("CLUSTER_LINES", "")
    sizes = re.sub(r"(min|max|desired)_size( *)= \d+", r"\1_size\2= -0", code.replace("SUBNET_TAGS", "{}"))
    assert sizes.count("= -0") >= 2
    result = check({"main.tf": sizes})
    assert result.bugs == []
    assert [known(pool.size.max_nodes) for pool in result.world.inventory.pools] == [0]


def test_ipv6_nodes_take_one_address(read: Callable[..., dict[str, Any]]) -> None:
    data = read(cluster='\n  kubernetes_network_config {\n    ip_family = "ipv6"\n  }')
    assert of(data, "addresses_per_node") == 1


def test_subnets_tagged_for_pods_are_not_guessed(read: Callable[..., dict[str, Any]]) -> None:
    data = read(tags='{ "kubernetes.io/role/cni" = "1" }')
    assert of(data, "addresses_per_node") == "aws_subnet.a[0] is tagged for pods, so their interfaces may be in it"


@pytest.mark.parametrize(
    ("lines", "surge"),
    [
        ("", 4),  # twice the zones
        ("update_config {\n    max_unavailable = 10\n  }", 10),
        ("update_config {\n    max_unavailable_percentage = 50\n  }", 20),
        ('update_config {\n    max_unavailable = 10\n    update_strategy = "MINIMAL"\n  }', 0),
    ],
)
def test_surge_nodes_are_counted(lines: str, surge: int, read: Callable[..., dict[str, Any]]) -> None:
    assert of(read(pool=lines), "surge_nodes") == surge


def test_nodes_are_spread_over_zones(read: Callable[..., dict[str, Any]]) -> None:
    subnet = read()["subnets"][0]["fields"]
    assert subnet["cidr"]["value"] == "10.0.0.0/20"
    (share,) = subnet["shares"]["value"]
    assert [share[name] for name in ("pool", "nodes", "surge", "subnets", "per_node", "addresses")] == [
        "gpu",
        40,
        4,
        2,
        100,
        2200,
    ]


LINKS = """
resource "aws_eks_cluster" "a" {{
  name = {a}
}}

resource "aws_eks_cluster" "b" {{
  name = {b}
}}

variable "name" {{}}

locals {{
  name = "x-${{var.name}}"
}}

resource "aws_eks_node_group" "p" {{
  cluster_name = {link}

  scaling_config {{
    min_size = 1
    max_size = 2
  }}
}}
"""


@pytest.mark.parametrize(
    ("a", "b", "link", "owner"),
    [
        ('"a"', '"b"', "aws_eks_cluster.b.name", "b"),
        ('"a"', '"b"', "aws_eks_cluster.b.id", "b"),
        ('"a"', '"b"', '"b"', "b"),
        ('"a"', '"b"', '"c"', "no unique cluster named c in this code"),
        ("var.name", '"b"', "aws_eks_cluster.a.name", "a"),
        ("local.name", '"b"', "local.name", "a"),
        ('"x-${var.name}"', '"b"', "local.name", "a"),  # the same text of the same unknown
        ('"y-${var.name}"', '"b"', "local.name", "var.name has no value"),
        ('"a"', '"a"', '"a"', "no unique cluster named a in this code"),
    ],
)
def test_a_node_group_has_its_cluster_or_says_why_not(a: str, b: str, link: str, owner: str, write: Write) -> None:
    write({"main.tf": LINKS.format(a=a, b=b, link=link)})
    field = model.collect(Tree(["."]), Config())["pools"][0]["fields"]["cluster"]
    found = field.get("value", "").removeprefix("eks/aws_eks_cluster.") or field["unknown"]
    assert found == owner


TAGGED = """
resource "aws_eks_cluster" "a" {{
  name = "a"
}}

resource "aws_autoscaling_group" "workers" {{
  min_size = 0
  max_size = 9

  tag {{
    key                 = {first}
    value               = "x"
    propagate_at_launch = true
  }}
  tag {{
    key                 = {second}
    value               = "owned"
    propagate_at_launch = true
  }}
}}

variable "name" {{}}
"""


@pytest.mark.parametrize(
    ("first", "second", "owner"),
    [
        ('"team"', '"kubernetes.io/cluster/a"', "eks/aws_eks_cluster.a"),
        ('"k8s.io/cluster-autoscaler/enabled"', '"k8s.io/cluster-autoscaler/a"', "eks/aws_eks_cluster.a"),
        ("var.name", '"kubernetes.io/cluster/a"', "eks/aws_eks_cluster.a"),  # the known tag tells more
        ("var.name", '"kubernetes.io/cluster/b"', "no unique cluster named b in this code"),
        ('"team"', '"kubernetes.io/cluster/${var.name}"', "eks/aws_eks_cluster.a"),  # the only one beside it
        ('"k8s.io/cluster-autoscaler/node-template/label/a"', '"kubernetes.io/cluster/a"', "eks/aws_eks_cluster.a"),
        ('"k8s.io/cluster-autoscaler/node-template/label/a"', '"owner"', None),
        ('"team/${var.name}"', '"owner"', None),
        ('"team"', '"owner"', None),
    ],
)
def test_tags_name_the_cluster_of_a_group(first: str, second: str, owner: str | None, write: Write) -> None:
    write({"main.tf": TAGGED.format(first=first, second=second)})
    pools = model.collect(Tree(["."]), Config())["pools"]
    fields = [pool["fields"]["cluster"] for pool in pools]
    assert [field.get("value") or field["unknown"] for field in fields] == ([] if owner is None else [owner])


def test_tags_name_the_only_cluster_of_the_root(write: Write) -> None:
    cluster, group = TAGGED.format(first='"team"', second='"kubernetes.io/cluster/${var.name}"').split("}\n", 1)
    calls = 'module "eks" {\n  source = "./eks"\n}\n\nmodule "workers" {\n  source = "./workers"\n  name   = data.x.y.z\n}\n'
    write({"main.tf": calls, "eks/main.tf": f"{cluster}}}\n", "workers/main.tf": group})
    field = model.collect(Tree(["."]), Config())["pools"][0]["fields"]["cluster"]
    assert field["value"] == "eks/module.eks.aws_eks_cluster.a"


def test_a_module_that_may_hold_pools_leaves_them_unknown(write: Write) -> None:
    write({
        "main.tf": 'resource "aws_eks_cluster" "a" {\n  name = "a"\n}\n\nmodule "workers" {\n  source  = "acme/eks-node-group/aws"\n'
        '  version = "3.0.0"\n  cluster_name = aws_eks_cluster.a.name\n}\n',
    })  # fmt: skip
    field = model.collect(Tree(["."]), Config())["clusters"][0]["fields"]["pools"]
    assert "pools of aws_eks_cluster.a may be missing" in field["unknown"]


@pytest.mark.medium
@pytest.mark.parametrize(
    ("more", "grown_by"),
    [
        ("", None),
        ('resource "helm_release" "x" {\n  chart = "karpenter"\n}\n', "karpenter"),
        ('resource "helm_release" "x" {\n  chart = "cluster-autoscaler"\n}\n', "cluster-autoscaler"),
        ('resource "helm_release" "x" {\n  chart = "https://example.com/cluster-autoscaler-9.37.0.tgz"\n}\n', "cluster-autoscaler"),
        ('resource "helm_release" "x" {\n  chart = "metrics-server"\n}\n', None),
        ('resource "helm_release" "x" {\n  chart = var.chart\n}\nvariable "chart" {}\n', "var.chart has no value"),
        ('module "x" {\n  source  = "aws-ia/eks-blueprints-addons/aws"\n  version = "~> 1.16"\n  enable_karpenter = true\n}\n', "karpenter"),
        ('module "x" {\n  source  = "terraform-aws-modules/eks/aws//modules/karpenter"\n  version = "~> 20.0"\n}\n', "karpenter"),
    ],
)  # fmt: skip
def test_the_autoscaler_of_the_pools_is_found(
    more: str, grown_by: str | None, read: Callable[..., dict[str, Any]]
) -> None:
    field = read(more)["clusters"][0]["fields"]["grown_by"]
    assert field.get("value", field.get("unknown")) == grown_by


def test_auto_mode_adds_nodes_outside_the_pools(read: Callable[..., dict[str, Any]]) -> None:
    fields = read(cluster="\n  compute_config {\n    enabled = true\n  }")["clusters"][0]["fields"]
    assert fields["grown_by"]["value"] == "auto-mode"
    assert "has nodes outside its pools" in fields["target"]["unknown"]


def test_karpenter_objects_show_that_it_is_installed(write: Write, read: Callable[..., dict[str, Any]]) -> None:
    write({"pool.yaml": "apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata:\n  name: gpu\n"})
    fields = read()["clusters"][0]["fields"]
    assert fields["grown_by"]["value"] == "karpenter"
    assert fields["deployed_here"]["value"] is True


def test_nat_gateways_give_the_outbound_addresses(read: Callable[..., dict[str, Any]]) -> None:
    gateways = 'resource "aws_nat_gateway" "x" {\n  count     = 2\n  subnet_id = aws_subnet.a[count.index].id\n}\n'
    assert read(gateways)["clusters"][0]["fields"]["outbound_ips"]["value"] == 2
    assert read()["clusters"][0]["fields"]["outbound_ips"]["value"] is None


def test_a_regional_nat_gateway_covers_all_zones(read: Callable[..., dict[str, Any]]) -> None:
    """A regional NAT gateway has as many addresses in each zone as it needs."""
    gateway = 'resource "aws_nat_gateway" "x" {\n  vpc_id = aws_vpc.a.id\n  availability_mode = MODE\n}\n'
    regional, asked = (gateway.replace("MODE", mode) for mode in ('"regional"', "var.mode"))
    assert read(regional)["clusters"][0]["fields"]["outbound_ips"]["value"] is None
    fields = read(asked + 'variable "mode" {\n  type = string\n}\n')["clusters"][0]["fields"]
    assert "var.mode" in fields["outbound_ips"]["unknown"]


TWINS = """
resource "aws_subnet" "a" {
  cidr_block = "10.0.0.0/24"
}
""" + "".join(
    f"""
resource "aws_eks_cluster" "{name}" {{
  name = "{name}"
}}
resource "aws_eks_node_group" "{name}" {{
  cluster_name    = aws_eks_cluster.{name}.name
  node_group_name = "gpu"
  subnet_ids      = [aws_subnet.a.id]
  instance_types  = ["m5.large"]
  scaling_config {{
    min_size = 0
    max_size = 30
  }}
}}
"""
    for name in ("blue", "green")
)


def test_pools_with_one_name_have_different_ids(write: Write) -> None:
    write({"main.tf": TWINS})
    result = linter.run(Tree(["."]), Config())
    found = next(f.details for f in result.findings if f.rule == "subnet-too-small")
    assert "blue/gpu: 30 + 2 surge nodes x 20 = 640 addresses" in found
    assert "green/gpu: 30 nodes x 20 = 600 addresses" in found


@pytest.mark.parametrize("written", ['"{}"', 'base64encode("{}")'])
def test_user_data_is_read_plain_or_encoded(written: str, check: Check) -> None:
    template = 'resource "aws_launch_template" "gpu" {\n  user_data = %s\n}\n'
    group = (
        'resource "aws_eks_cluster" "main" {\n  name = "train"\n}\n\n'
        'resource "aws_eks_node_group" "gpu" {\n  cluster_name = aws_eks_cluster.main.name\n  node_group_name = "gpu"\n'
        '  subnet_ids = ["subnet-1"]\n  instance_types = ["p5.48xlarge"]\n  launch_template {\n'
        '    id = aws_launch_template.gpu.id\n    version = "1"\n  }\n'
        "  scaling_config {\n    min_size = 0\n    max_size = 8\n    desired_size = 0\n  }\n}\n"
    )
    endpoint = "set ${aws_eks_cluster.main.endpoint}"
    for text, found in (("localStorage: RAID0", False), ("nothing", True)):
        heredoc = written.replace('"{}"', f"<<-X\n    {endpoint} {text}\n  X\n")
        result = check({"main.tf": group + template % heredoc})
        assert ("instance-store-unused" in {finding.rule for finding in result.findings}) == found
        result = check({"main.tf": group + template % written.format(text)})
        assert ("instance-store-unused" in {finding.rule for finding in result.findings}) == found


@pytest.mark.parametrize(
    ("version", "where"),
    [
        ("~> 20.34", "eks_managed_node_groups = {gpu"),
        ("~> 20.34", "eks_managed_node_group_defaults"),
        ("~> 21.0", "eks_managed_node_groups = {gpu"),
    ],
)
def test_user_data_added_by_modules_is_read(version: str, where: str, check: Check) -> None:
    script = '{ cloudinit_pre_nodeadm = [{ content = "localStorage: RAID0" }], instance_types = ["p5.48xlarge"] }'
    group = '{ gpu = { instance_types = ["p5.48xlarge"] } }'
    own = f"{where} = {script}}}" if "{" in where else f"{where} = {script}\n  eks_managed_node_groups = {group}"
    call = f'source = "terraform-aws-modules/eks/aws"\n  version = "{version}"\n  cluster_name = "a"\n  name = "a"'
    result = check({"main.tf": f'module "eks" {{\n  {call}\n  {own}\n}}\n'})
    assert result.world.inventory.pools
    assert "instance-store-unused" not in {finding.rule for finding in result.findings}
    plain = check({"main.tf": f'module "eks" {{\n  {call}\n  eks_managed_node_groups = {group}\n}}\n'})
    assert "instance-store-unused" in {finding.rule for finding in plain.findings}


REQUIRED = """
resource "aws_eks_cluster" "a" {
  name = "a"
}

resource "aws_autoscaling_group" "workers" {
  min_size = 0
  max_size = 9

  mixed_instances_policy {
    launch_template {
      override {
        instance_requirements {
          %s
        }
      }
    }
  }

  tag {
    key                 = "kubernetes.io/cluster/a"
    value               = "owned"
    propagate_at_launch = true
  }
}
"""


@pytest.mark.parametrize(
    ("lines", "types"),
    [
        ('allowed_instance_types = ["p5.48xlarge", "p4d.*"]', ["p5.48xlarge", "p4d.24xlarge"]),
        ('allowed_instance_types = ["*"]', None),
        ("allowed_instance_types = [data.x.y.z]", None),
        ("vcpu_count {\n            min = 96\n          }", None),
    ],
)
def test_instance_requirements_can_name_machine_types(lines: str, types: list[str] | None, write: Write) -> None:
    write({"main.tf": REQUIRED % lines})
    field = model.collect(Tree(["."]), Config())["pools"][0]["fields"]["instance_types"]
    assert field.get("value") == types
    assert types is not None or field["unknown"].startswith("instance_requirements lets AWS choose")


def test_subnets_of_one_block_give_one_finding(check: Check) -> None:
    zones = 'locals {\n  zones = {\n    a = "10.0.0.0/24"\n    b = "10.0.1.0/24"\n  }\n}\n'
    network = 'resource "aws_vpc" "main" {\n  cidr_block = "10.0.0.0/16"\n}\n'
    subnets = 'resource "aws_subnet" "nodes" {\n  for_each = local.zones\n  vpc_id = aws_vpc.main.id\n  cidr_block = each.value\n}\n'
    group = (
        'resource "aws_eks_cluster" "main" {\n  name = "train"\n}\nresource "aws_eks_node_group" "gpu" {\n'
        '  cluster_name = aws_eks_cluster.main.name\n  node_group_name = "gpu"\n  instance_types = ["m5.large"]\n'
        "  subnet_ids = values(aws_subnet.nodes)[*].id\n  scaling_config {\n    min_size = 0\n    max_size = 300\n  }\n}\n"
    )
    found = [
        one for one in check({"main.tf": zones + network + subnets + group}).findings if one.rule == "subnet-too-small"
    ]
    assert [one.also for one in found] == [('eks/aws_subnet.nodes["b"]',)]


OWN_KUBELETS = """
resource "aws_eks_cluster" "main" {
  name = "train"
}
resource "aws_launch_template" "gpu" {
  name          = "gpu"
  instance_type = "p5.48xlarge"
  image_id      = "ami-0123"
  user_data     = base64encode(<<-EOT
    DATA
  EOT
  )
}
resource "aws_autoscaling_group" "gpu" {
  name     = "gpu"
  max_size = 20
  min_size = 0
  launch_template {
    id = aws_launch_template.gpu.id
  }
  tag {
    key                 = "kubernetes.io/cluster/train"
    value               = "owned"
    propagate_at_launch = true
  }
}
"""
SCRIPT = "/etc/eks/bootstrap.sh train --kubelet-extra-args '--node-labels=role=gpu,team=a --register-with-taints=gpu=true:NoSchedule'"
NODE_CONFIG = "spec:\n  kubelet:\n    flags:\n      - --node-labels=role=gpu,team=a\n      - --register-with-taints=gpu=true:NoSchedule"
BOTTLEROCKET = '[settings.kubernetes.node-labels]\n    role = "gpu"\n    team = "a"\n    [settings.kubernetes.node-taints]\n    gpu = "true:NoSchedule"'


def pool_booted_with(data: str, write: Write) -> NodePool:
    write({"main.tf": OWN_KUBELETS.replace("DATA", data)})
    (pool,) = reader.read(Tree(["."]), Config()).inventory.pools
    return pool


@pytest.mark.parametrize("data", [SCRIPT, NODE_CONFIG, BOTTLEROCKET], ids=["bootstrap.sh", "nodeadm", "Bottlerocket"])
def test_labels_and_taints_of_self_managed_kubelets_come_from_user_data(data: str, write: Write) -> None:
    pool = pool_booted_with(data, write)
    assert known(pool.scheduling.labels) == {"role": "gpu", "team": "a"}
    assert known(pool.scheduling.taints) == ("gpu=true:NoSchedule",)


@pytest.mark.parametrize(
    "data",
    [
        '/etc/eks/bootstrap.sh train --kubelet-extra-args "--register-with-taints=gpu=$VALUE:NoSchedule"',
        "spec:\n  kubelet:\n    config:\n      registerWithTaints:\n        - {key: gpu, effect: NoSchedule}",
    ],
    ids=["a variable of the shell", "another form"],
)
def test_taints_written_in_unread_forms_are_unknown(data: str, write: Write) -> None:
    pool = pool_booted_with(data, write)
    assert isinstance(pool.scheduling.taints, Unknown)


def test_user_data_without_taints_sets_none(write: Write) -> None:
    pool = pool_booted_with("/etc/eks/bootstrap.sh train", write)
    assert known(pool.scheduling.taints) == ()


GROUP_OF_A_MODULE = """
module "eks" {
  source          = "terraform-aws-modules/eks/aws"
  version         = "VERSION"
  cluster_name    = "train"
  name            = "train"
  NAME = {
    gpu = {
      instance_type = "p5.48xlarge"
      LINE
    }
  }
}
"""
ARGUMENTS = "\"--kubelet-extra-args '--node-labels=role=gpu --register-with-taints=gpu=true:NoSchedule'\""
NODEADM = '[{ content = "spec: {kubelet: {flags: [--register-with-taints=gpu=true:NoSchedule]}}" }]'


@pytest.mark.parametrize(
    ("version", "name", "line", "taints"),
    [
        ("20.8.4", "self_managed_node_groups", f"bootstrap_extra_args = {ARGUMENTS}", ("gpu=true:NoSchedule",)),
        ("21.0.0", "self_managed_node_groups", f"cloudinit_pre_nodeadm = {NODEADM}", ("gpu=true:NoSchedule",)),
        ("21.0.0", "self_managed_node_groups", "", ()),
        ("20.8.4", "self_managed_node_groups", 'user_data_template_path = "templates/boot.tpl"', None),
    ],
)
def test_self_managed_groups_of_a_module_have_the_taints_of_their_arguments(
    version: str, name: str, line: str, taints: tuple[str, ...] | None, write: Write
) -> None:
    source = GROUP_OF_A_MODULE.replace("VERSION", version).replace("NAME", name).replace("LINE", line)
    write({"main.tf": source.replace("  cluster_name    =" if version > "21" else "  name            =", "  #")})
    (pool,) = reader.read(Tree(["."]), Config()).inventory.pools
    assert known(pool.scheduling.taints) == taints


def test_an_empty_list_of_subnets_is_unknown(write: Write) -> None:
    """The wall of its subnets is listed as unknown, not left out."""
    group = CLUSTER.replace("subnet_ids      = aws_subnet.a[*].id", "subnet_ids      = var.subnet_ids")
    group = group.replace("INSTANCE_TYPES", '["m5.xlarge"]').replace("SUBNET_TAGS", "{}")
    empty = 'variable "subnet_ids" {\n  default = []\n}\n'
    write({"main.tf": group.replace("CLUSTER_LINES", "").replace("POOL_LINES", "") + empty})
    data = model.collect(Tree(["."]), Config())
    assert of(data, "subnets") == "var.subnet_ids is empty"


def test_a_block_of_several_addons_gets_no_settings_of_coredns(check: Check) -> None:
    """EKS would refuse kube-proxy with settings of CoreDNS."""
    made = 'resource "aws_eks_addon" "all" {\n  for_each = toset([NAMES])\n  cluster_name = aws_eks_cluster.main.name\n'
    made += "  addon_name = each.key\n}\n"
    group = CLUSTER.replace("INSTANCE_TYPES", '["m5.xlarge"]').replace("SUBNET_TAGS", "{}").replace("40", "400")
    group = group.replace("CLUSTER_LINES", "").replace("POOL_LINES", "") + made
    for names, fixed in (('"coredns"', True), ('"coredns", "kube-proxy"', False)):
        findings = check({"main.tf": group.replace("NAMES", names)}).findings
        (found,) = [one for one in findings if one.rule == "dns-not-scaled"]
        assert (found.fix is not None) == fixed
    wanted = "add autoScaling: {enabled: true, minReplicas: 2, maxReplicas: 25}"
    assert found.help == f"its block makes other add-ons too; {wanted}"
