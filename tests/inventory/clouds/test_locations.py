"""Test where clusters are: account, region, scope of their names, networks, and reservations of their nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from kcheck.text.values import Known, Unset, known, reason_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from kcheck.model import Cluster, Inventory
    from kcheck.text.values import Value
    from tests.conftest import Read

AWS = 'provider "aws" {\n  %s\n}\nresource "aws_eks_cluster" "main" {\n  name = "train"\n  %s\n}\n'
GOOGLE = 'provider "google" {\n  %s\n}\nresource "google_container_cluster" "main" {\n  name = "train"\n  %s\n}\n'
AZURE = 'provider "azurerm" {\n  %s\n}\nresource "azurerm_kubernetes_cluster" "main" {\n  name = "train"\n  %s\n}\n'
ALIBABA = 'provider "alicloud" {\n  %s\n}\nresource "alicloud_cs_managed_kubernetes" "main" {\n  name = "train"\n}\n'
SUBSCRIPTION = "0b1f6471-1bf0-4dda-aec3-cb9272f09590"


@pytest.fixture
def only(read: Read) -> Callable[..., Cluster]:
    """Return a function that reads one file, Terraform by default, and returns its only cluster."""

    def of(text: str, name: str = "main.tf") -> Cluster:
        (cluster,) = read({name: text}).clusters
        return cluster

    return of


def said(value: Value[str]) -> str:
    return value.value if isinstance(value, Known) else f"? {reason_of(value)}"


ROLE = 'assume_role {\n    role_arn = "arn:aws:iam::%s:role/ci"\n  }'


@pytest.mark.parametrize(
    ("provider", "cluster", "account"),
    [
        ('allowed_account_ids = ["111122223333"]', "", "111122223333"),
        (ROLE % "444455556666", "", "444455556666"),
        (ROLE % "111122223333" + "\n  " + ROLE % "444455556666", "", "444455556666"),
        (
            'allowed_account_ids = ["111122223333"]\n' + ROLE.replace("ci", "${var.who}") % "${var.a}",
            "",
            "111122223333",
        ),
        (ROLE.replace("ci", "${data.aws_iam_role.ci.name}") % "111122223333", "", "111122223333"),
        ('assume_role_with_web_identity {\n role_arn = "arn:aws-cn:iam::777788889999:role/x"\n }', "", "777788889999"),
        ("", 'role_arn = "arn:aws:iam::111122223333:role/eks"', "111122223333"),
        ('allowed_account_ids = ["111122223333", "444455556666"]', "", "? the aws provider does not say its account"),
        ('profile = "prod"', "", "? the aws provider does not say its account"),
        ('allowed_account_ids = ["ACCOUNT"]', "", "? `ACCOUNT` is a placeholder"),
        ('allowed_account_ids = ["123456789012"]', "", "? `123456789012` is a placeholder"),
        ("allowed_account_ids = [var.account]", "", "? var.account has no value"),
    ],
)
def test_the_aws_account_is_found(only: Callable[..., Cluster], provider: str, cluster: str, account: str) -> None:
    found = only('variable "account" {}\ndata "aws_iam_role" "ci" {\n name = "x"\n}\n' + AWS % (provider, cluster))
    assert said(found.account).startswith(account)


@pytest.mark.parametrize(
    ("provider", "cluster", "region"),
    [
        ('region = "us-east-1"', "", "us-east-1"),
        ('region = "us-east-1"', 'region = "eu-west-1"', "eu-west-1"),
        ("region = var.region", "", "? var.region has no value"),
        ("", "", "? the aws provider has no region in this code"),
        ('region = "<region>"', "", "? `<region>` is a placeholder"),
    ],
)
def test_the_aws_region_is_found(only: Callable[..., Cluster], provider: str, cluster: str, region: str) -> None:
    assert said(only('variable "region" {}\n' + AWS % (provider, cluster)).region) == region


def test_the_location_is_unknown_without_a_provider_block(only: Callable[..., Cluster]) -> None:
    found = only('resource "aws_eks_cluster" "main" {\n  name = "train"\n}\n')
    assert "aws provider" in said(found.account)
    assert "aws provider" in said(found.region)


VPC = 'resource "aws_vpc" "main" {\n  cidr_block = "10.0.0.0/16"\n}\n'
SUBNET = 'resource "aws_subnet" "a" {\n  vpc_id = %s\n  cidr_block = "10.0.0.0/20"\n}\n'
SELECTED = """
data "aws_vpc" "main" {
  id = "vpc-0a1b2c3d"
}

data "aws_subnets" "private" {
  filter {
    name   = "vpc-id"
    values = [data.aws_vpc.main.id]
  }
}
"""


@pytest.mark.parametrize(
    ("more", "subnets", "network"),
    [
        (VPC + SUBNET % "aws_vpc.main.id", "[aws_subnet.a.id]", "eks/aws_vpc.main"),
        (SUBNET % '"vpc-0a1b2c3d"', "[aws_subnet.a.id]", "vpc-0a1b2c3d"),
        (SUBNET % '"vpc-ID"', "[aws_subnet.a.id]", "? `vpc-ID` is a placeholder"),
        (SELECTED, "data.aws_subnets.private.ids", "vpc-0a1b2c3d"),
        ("", '["subnet-1"]', "? the VPC is not in this root module"),
    ],
)
def test_the_aws_network_is_found(only: Callable[..., Cluster], more: str, subnets: str, network: str) -> None:
    block = f"vpc_config {{\n    subnet_ids = {subnets}\n  }}"
    assert said(only(more + AWS % ("", block)).network_id) == network


def test_aws_modules_take_a_vpc_and_a_region(only: Callable[..., Cluster]) -> None:
    call = """
provider "aws" {
  region = "us-east-1"
}

module "eks" {
  source  = "terraform-aws-modules/eks/aws"
  version = "~> %s"
  vpc_id  = "vpc-0a1b2c3d"
  %s
}
"""
    found = only(call % ("20.0", 'cluster_name = "train"'))
    assert (said(found.region), said(found.network_id)) == ("us-east-1", "vpc-0a1b2c3d")
    found = only(call % ("21.0", 'name = "train"\n  region = "eu-west-1"'))
    assert (said(found.region), said(found.network_id)) == ("eu-west-1", "vpc-0a1b2c3d")


EKSCTL = """
apiVersion: eksctl.io/v1alpha5
kind: ClusterConfig
metadata: {name: train, region: us-west-2}
%s
"""


def test_the_location_of_an_eksctl_cluster_is_found(only: Callable[..., Cluster]) -> None:
    made = only(EKSCTL % "", "cluster.yaml")
    assert said(made.region) == "us-west-2"
    assert said(made.network_id) == "eks/cluster.yaml:ClusterConfig/train/vpc"
    assert "iam.serviceRoleARN" in said(made.account)
    other = only(
        EKSCTL % 'iam: {serviceRoleARN: "arn:aws:iam::111122223333:role/eks"}\nvpc: {id: vpc-0a1b2c3d}', "cluster.yaml"
    )
    assert (said(other.account), said(other.network_id)) == ("111122223333", "vpc-0a1b2c3d")
    subnets = "vpc: {subnets: {private: {us-west-2a: {id: subnet-1}}}}"
    assert said(only(EKSCTL % subnets, "cluster.yaml").network_id) == "? the VPC is not in this root module"


@pytest.mark.parametrize(
    ("provider", "cluster", "found"),
    [
        ('project = "training-prod"', 'location = "us-central1"', ("training-prod", "us-central1", "us-central1")),
        (
            "",
            'project = "projects/research-1"\n location = "us-central1-c"',
            ("research-1", "us-central1", "us-central1-c"),
        ),
        (
            "",
            'project = "a-project"\n location = "COMPUTE_REGION"',
            ("a-project", "? `COMPUTE_REGION` is", "COMPUTE_REGION"),
        ),
        ('project = "a-project"\n zone = "europe-west4-b"', "", ("a-project", "europe-west4", "europe-west4-b")),
        (
            "",
            'project = "<your project>"',
            ("? `<your project>` is a placeholder", "? location is not set", "? location"),
        ),
    ],
)
def test_the_google_location_is_found(
    only: Callable[..., Cluster], provider: str, cluster: str, found: tuple[str, ...]
) -> None:
    one = only(GOOGLE % (provider, cluster))
    for value, wanted in zip((one.account, one.region, one.group), found, strict=True):
        assert said(value).startswith(wanted)


def test_a_google_module_takes_a_project(only: Callable[..., Cluster]) -> None:
    one = only(
        'provider "google" {\n  project = "other-project"\n}\nmodule "gke" {\n'
        '  source = "terraform-google-modules/kubernetes-engine/google"\n  version = "~> 33.0"\n'
        '  project_id = "training-prod"\n  name = "train"\n  region = "us-central1"\n}\n'
    )
    assert (said(one.account), said(one.region)) == ("training-prod", "us-central1")


def test_the_azure_location_is_found(only: Callable[..., Cluster]) -> None:
    one = only(
        AZURE
        % (f'subscription_id = "{SUBSCRIPTION.upper()}"', 'location = "East US 2"\n  resource_group_name = "Train"')
    )
    assert (said(one.account), said(one.region), said(one.group)) == (SUBSCRIPTION, "eastus2", "train")
    one = only(AZURE % ("features {}", "resource_group_name = var.group"))
    assert said(one.account) == "? the provider has no subscription_id in this code"
    assert said(one.region) == "? location is not set"


def test_the_location_of_an_azapi_cluster_is_found(only: Callable[..., Cluster]) -> None:
    one = only(
        'resource "azapi_resource" "main" {\n  type = "Microsoft.ContainerService/managedClusters@2025-01-01"\n'
        f'  name = "train"\n  parent_id = "/subscriptions/{SUBSCRIPTION}/resourceGroups/Train"\n  location = "westus3"\n}}\n'
    )
    assert (said(one.account), said(one.region), said(one.group)) == (SUBSCRIPTION, "westus3", "train")


def test_the_alibaba_location_is_found(only: Callable[..., Cluster]) -> None:
    role = 'assume_role {\n  role_arn = "acs:ram::1234567890123456:role/ci"\n }'
    one = only(ALIBABA % f'region = "cn-hangzhou"\n  {role}')
    assert (said(one.account), said(one.region)) == ("1234567890123456", "cn-hangzhou")
    assert said(only(ALIBABA % f'account_id = "42"\n  {role}').account) == "42"
    assert "alicloud provider" in said(only(ALIBABA % "").region)


CAPI = """
apiVersion: cluster.x-k8s.io/v1beta1
kind: Cluster
metadata: {{name: train}}
spec:
  controlPlaneRef: {{kind: {kind}ManagedControlPlane, name: train}}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: {kind}ManagedControlPlane
metadata: {{name: train}}
spec: {{{spec}}}
"""


@pytest.mark.parametrize(
    ("kind", "spec", "found"),
    [
        ("AWS", "region: us-east-1", (None, "us-east-1", None)),
        ("GCP", "project: training-prod, location: us-central1-a", ("training-prod", "us-central1", "us-central1-a")),
        ("Azure", "subscriptionID: abc, location: East US, resourceGroupName: rg", ("abc", "eastus", "rg")),
    ],
)
def test_the_location_of_a_cluster_api_cluster_is_found(
    only: Callable[..., Cluster], kind: str, spec: str, found: tuple[str | None, ...]
) -> None:
    one = only(CAPI.format(kind=kind, spec=spec), "cluster.yaml")
    assert (known(one.account), known(one.region), known(one.group)) == found


def test_self_managed_clusters_have_no_location(only: Callable[..., Cluster]) -> None:
    one = only("apiVersion: kubeadm.k8s.io/v1beta4\nkind: ClusterConfiguration\n", "kubeadm.yaml")
    assert isinstance(one.account, Unset)
    assert isinstance(one.region, Unset)


# --- reservations

TEMPLATE = """
resource "aws_eks_cluster" "main" {
  name = "train"
}

resource "aws_launch_template" "gpu" {
  instance_type = "p5.48xlarge"
  capacity_reservation_specification {
    capacity_reservation_target {
      capacity_reservation_id = %s
    }
  }
}

resource "aws_eks_node_group" "gpu" {
  cluster_name    = aws_eks_cluster.main.name
  node_group_name = "gpu"
  launch_template {
    id = aws_launch_template.gpu.id
  }
  scaling_config {
    min_size = 0
    max_size = 64
  }
}

resource "aws_ec2_capacity_reservation" "gpu" {
  instance_count = 48
}
"""


def reservation(inventory: Inventory) -> Any:
    (pool,) = (pool for pool in inventory.pools if known(pool.name) == "gpu")
    return pool.market.reservation_id


def test_aws_reservations_are_found(read: Read) -> None:
    assert known(reservation(read({"main.tf": TEMPLATE % '"cr-0123456789abcdef0"'}))) == "cr-0123456789abcdef0"
    found = read({"main.tf": TEMPLATE % "aws_ec2_capacity_reservation.gpu.id"})
    assert reservation(found).symbol.address == "aws_ec2_capacity_reservation.gpu"
    assert [(one.address, known(one.size)) for one in found.reservations] == [("aws_ec2_capacity_reservation.gpu", 48)]


def test_google_reservations_are_found(read: Read) -> None:
    text = """
resource "google_container_cluster" "main" {
  name     = "train"
  location = "us-central1"
}

resource "google_container_node_pool" "gpu" {
  name       = "gpu"
  cluster    = google_container_cluster.main.id
  node_count = 8
  node_config {
    reservation_affinity {
      consume_reservation_type = "KIND"
      key                      = "compute.googleapis.com/reservation-name"
      values                   = [google_compute_reservation.gpu.name]
    }
  }
}

resource "google_compute_reservation" "gpu" {
  name = "gpus"
  zone = "us-central1-a"
  specific_reservation {
    count = 16
  }
}
"""
    found = read({"main.tf": text.replace("KIND", "SPECIFIC_RESERVATION")})
    assert known(reservation(found)) == "gpus"
    assert [(known(one.name), known(one.size)) for one in found.reservations] == [("gpus", 16)]
    assert isinstance(reservation(read({"main.tf": text.replace("KIND", "ANY_RESERVATION")})), Unset)


def test_azure_reservations_are_found(read: Read) -> None:
    text = """
resource "azurerm_kubernetes_cluster" "main" {
  name = "train"
}

resource "azurerm_kubernetes_cluster_node_pool" "gpu" {
  name                          = "gpu"
  kubernetes_cluster_id         = azurerm_kubernetes_cluster.main.id
  vm_size                       = "Standard_ND96asr_v4"
  node_count                    = 8
  capacity_reservation_group_id = azurerm_capacity_reservation_group.gpu.id
}

resource "azurerm_capacity_reservation_group" "gpu" {
  name = "gpu"
}

resource "azurerm_capacity_reservation" "gpu" {
  name                          = "gpu"
  capacity_reservation_group_id = azurerm_capacity_reservation_group.gpu.id
  sku {
    name     = "Standard_ND96asr_v4"
    capacity = 12
  }
}
"""
    found = read({"main.tf": text})
    assert reservation(found).symbol.address == "azurerm_capacity_reservation_group.gpu"
    (one,) = found.reservations
    assert (known(one.size), known(one.machine)) == (12, "Standard_ND96asr_v4")
