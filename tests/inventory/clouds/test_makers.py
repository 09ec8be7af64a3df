"""Test clusters of k3s, RKE2, Talos and kubeadm, whose nodes are Terraform machines."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING

import pytest

import kcheck
from kcheck.inventory.embedded.machines import stem
from kcheck.text.values import Unknown, known

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from kcheck.api import Project

FLAGS = "--service-cidr 10.9.0.0/16 --kube-controller-manager-arg=node-cidr-mask-size-ipv4=26"
INSTALL = "curl -sfL https://get.k3s.io |"
AGENT = f"{INSTALL} K3S_URL=https://10.0.0.1:6443 sh -"
RKE2 = """\
#cloud-config
write_files:
  - path: /etc/rancher/rke2/config.yaml
    content: |
      cluster-cidr: 10.60.0.0/16
      service-cidr: 10.61.0.0/16
      cni:
        - canal
      kube-controller-manager-arg:
        - "node-cidr-mask-size=25"
runcmd:
  - curl -sfL https://get.rke2.io | INSTALL_RKE2_VERSION=v1.33.4+rke2r1 sh -
  - systemctl enable --now rke2-server
"""


def machines(server: str, agent: str = AGENT, more: str = "") -> str:
    """Return the Terraform of a server and seven agents that boot scripts start."""
    return f"""
{more}
resource "hcloud_server" "server" {{
  server_type = "cpx31"
  user_data   = <<-EOT
    #!/bin/sh
    {server}
  EOT
}}
resource "hcloud_server" "agent" {{
  count       = 7
  server_type = "cpx51"
  user_data   = <<-EOT
    #!/bin/sh
    # joins the server
    {agent}
  EOT
}}
"""


@pytest.fixture
def load(write: Callable[..., Path]) -> Callable[[str], Project]:
    """Return a function that loads a root module."""

    def run(main: str) -> Project:
        write({"main.tf": main})
        return kcheck.load(".")

    return run


def facts(project: Project) -> tuple[str | None, str | None, str | None, int | None]:
    """Return the version, Service range, pod range and mask per node of the only cluster."""
    (cluster,) = project.inventory.clusters
    (pods,) = project.inventory.ranges
    return known(cluster.version), known(cluster.service_cidr), known(pods.cidr), known(pods.block)


def sizes(project: Project) -> dict[str, int | str | None]:
    """Return the maximum of each pool by name, or the reason why it is unknown."""
    found = {pool.display_name: pool.size.max_nodes for pool in project.inventory.pools}
    return {name: size.reason if isinstance(size, Unknown) else known(size) for name, size in found.items()}


@pytest.mark.parametrize(
    ("server", "expected"),
    [
        (f"{INSTALL} sh -s - server", (None, "10.43.0.0/16", "10.42.0.0/16", 24)),
        (
            f"{INSTALL} INSTALL_K3S_VERSION=v1.34.1+k3s1 sh -s - server --cluster-cidr=10.8.0.0/17 {FLAGS}",
            ("v1.34.1+k3s1", "10.9.0.0/16", "10.8.0.0/17", 26),
        ),
        (
            f'{INSTALL} INSTALL_K3S_CHANNEL="v1.34" INSTALL_K3S_EXEC="--cluster-cidr 10.8.0.0/17" sh -',
            ("v1.34", "10.43.0.0/16", "10.8.0.0/17", 24),
        ),
        (
            f"{INSTALL} INSTALL_K3S_CHANNEL=stable sh -s - server --token ${{var.token}}",
            (None, "10.43.0.0/16", "10.42.0.0/16", 24),
        ),
        (f"{INSTALL} sh -s - server ${{var.flags}}", (None, None, None, None)),
        (f"# --cluster-cidr=10.8.0.0/17\n    {INSTALL} sh -", (None, "10.43.0.0/16", "10.42.0.0/16", 24)),
        (f"{INSTALL} sh -s - server $FLAGS", (None, None, None, None)),
        (f"FLAGS=--selinux\n{INSTALL} sh -s - server $FLAGS", (None, "10.43.0.0/16", "10.42.0.0/16", 24)),
        (f"{INSTALL} sh -s - server --cluster-cidr $PODS", (None, "10.43.0.0/16", None, 24)),
    ],
)
def test_servers_of_k3s_are_read(server: str, expected: tuple[str | None, ...], load: Callable[[str], Project]) -> None:
    variables = 'variable "token" {}\nvariable "flags" {}\n'
    project = load(machines(server, more=variables))
    assert facts(project) == expected
    assert sizes(project) == {"server": 1, "agent": 7}
    assert {known(pool.mode) for pool in project.inventory.pools} == {"control-plane", None}


def test_machines_in_a_module_with_a_count_are_counted(write: Callable[..., Path]) -> None:
    write({"main.tf": 'module "nodes" {\n  source = "./nodes"\n  count = 1\n}\n'})
    write({"nodes/main.tf": machines(f"{INSTALL} sh -s - server")})
    assert sizes(kcheck.load(".")) == {"server": 1, "agent": 7}


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("aws_instance.a", "aws_instance.a"),
        ("aws_instance.a[0]", "aws_instance.a"),
        ('module.m["x"].aws_instance.a', 'module.m["x"].aws_instance.a'),
        ('module.m["x"].aws_instance.a["b[c"]', 'module.m["x"].aws_instance.a'),
    ],
)
def test_the_address_of_a_resource_has_no_instance(address: str, expected: str) -> None:
    assert stem(address) == expected


@pytest.mark.parametrize("form", ["plain", "base64"])
def test_configuration_of_rke2_is_read(form: str, load: Callable[[str], Project]) -> None:
    agent = RKE2.replace("rke2-server", "rke2-agent").replace("cluster-cidr", "node-label")
    texts = [RKE2, agent]
    if form == "base64":
        texts = [base64.b64encode(text.encode()).decode() for text in texts]
    parts = [
        f'resource "openstack_compute_instance_v2" "{name}" {{\n  count = {count}\n  flavor_name = "large"\n'
        f"  user_data = <<-EOT\n{text}\nEOT\n}}\n"
        for name, count, text in zip(("server", "agent"), (3, 20), texts, strict=True)
    ]
    project = load("".join(parts).replace("<<-EOT\n", "trimspace(<<-EOT\n").replace("\nEOT\n", "\nEOT\n)\n"))
    assert facts(project) == ("v1.33.4+rke2r1", "10.61.0.0/16", "10.60.0.0/16", 25)
    assert sizes(project) == {"server": 3, "agent": 20}


@pytest.mark.parametrize("flag", ["--flannel-backend=none", "--flannel-backend none"])
def test_ranges_of_other_network_plugins_are_unknown(flag: str, load: Callable[[str], Project]) -> None:
    project = load(machines(f"{INSTALL} sh -s - server {flag}"))
    assert not project.inventory.ranges
    assert all(isinstance(pool.addresses.pod_range, Unknown) for pool in project.inventory.pools)


def test_agents_without_a_server_are_no_cluster(load: Callable[[str], Project]) -> None:
    project = load(machines(AGENT))
    assert not project.inventory.clusters


def test_servers_without_agents_leave_the_number_of_nodes_unknown(load: Callable[[str], Project]) -> None:
    project = load(machines(f"{INSTALL} sh -s - server", "apt-get update"))
    assert sizes(project) == {"nodes": "the nodes of k3s are not in this code; set --nodes N"}


@pytest.mark.parametrize("kind", ["server", "agent"])
def test_a_variable_decides_which_role_a_script_starts(kind: str, load: Callable[[str], Project]) -> None:
    script = (
        'TYPE="{}"\n    if [ $TYPE = "server" ]; then systemctl start rke2-server; else systemctl start rke2-agent; fi'
    )
    project = load(machines(script.format("server"), script.format(kind)))
    assert len(project.inventory.clusters) == 1
    assert sizes(project).keys() == ({"server", "agent"} if kind == "agent" else {"nodes"})


TALOS = """
resource "talos_machine_secrets" "this" {}
data "talos_machine_configuration" "this" {
  for_each           = toset(["controlplane", "worker"])
  cluster_name       = "edge"
  kubernetes_version = "v1.34.0"
  machine_type       = each.key
  config_patches     = [PATCHES]
}
resource "talos_machine_configuration_apply" "cp" {
  count                       = 3
  node                        = "10.0.0.${count.index}"
  machine_configuration_input = data.talos_machine_configuration.this["controlplane"].machine_configuration
}
resource "talos_machine_configuration_apply" "worker" {
  for_each                    = toset(["a", "b", "c", "d"])
  node                        = each.key
  machine_configuration_input = data.talos_machine_configuration.this["worker"].machine_configuration
  config_patches              = [yamlencode({ machine = { network = { hostname = each.key } } })]
}
variable "given" {}
"""
PODS = 'yamlencode({ cluster = { network = { podSubnets = ["10.8.0.0/17"] } } })'
SERVICES = "<<-EOT\n    cluster:\n      network:\n        serviceSubnets: [10.9.0.0/16]\n  EOT\n  "


@pytest.mark.parametrize(
    ("patches", "expected"),
    [
        ("", ("v1.34.0", "10.96.0.0/12", "10.244.0.0/16", 24)),
        (f"{PODS}, {SERVICES}", ("v1.34.0", "10.9.0.0/16", "10.8.0.0/17", 24)),
        (
            'yamlencode({ cluster = { controllerManager = { extraArgs = { "node-cidr-mask-size" = "26" } } } })',
            ("v1.34.0", "10.96.0.0/12", "10.244.0.0/16", 26),
        ),
    ],
)
def test_patches_of_talos_are_read(
    patches: str, expected: tuple[str | None, ...], load: Callable[[str], Project]
) -> None:
    project = load(TALOS.replace("PATCHES", patches))
    assert facts(project) == expected
    assert sizes(project) == {"cp": 3, "worker": 4}


def test_an_unknown_patch_of_talos_may_set_anything(load: Callable[[str], Project]) -> None:
    project = load(TALOS.replace("PATCHES", "var.given"))
    assert not project.inventory.ranges
    (reason,) = {pool.addresses.pod_range.reason for pool in project.inventory.pools}  # type: ignore[union-attr]
    assert "network plugin" in reason


GROUP = """
resource "aws_vpc" "a" {
  cidr_block = "10.0.0.0/16"
}
resource "aws_subnet" "a" {
  vpc_id     = aws_vpc.a.id
  cidr_block = "10.0.0.0/24"
}
resource "aws_launch_template" "node" {
  instance_type = "p4d.24xlarge"
  user_data     = base64encode("#!/bin/sh\\nkubeadm join 10.0.0.9:6443 --token ${var.token}\\n")
}
variable "token" {}
resource "aws_autoscaling_group" "node" {
  name                = "gpu"
  min_size            = 1
  max_size            = MOST
  vpc_zone_identifier = [aws_subnet.a.id]
  launch_template {
    id = aws_launch_template.node.id
  }
}
resource "aws_instance" "master" {
  instance_type = "m5.large"
  user_data     = "kubeadm init --pod-network-cidr=10.244.0.0/16"
}
"""


def test_groups_that_join_with_kubeadm_are_pools(load: Callable[[str], Project]) -> None:
    project = load(GROUP.replace("MOST", "40"))
    assert sizes(project) == {"gpu": 40, "master": 1}
    (pool,) = [pool for pool in project.inventory.pools if known(pool.name) == "gpu"]
    assert known(pool.machine.instance_types) == ("p4d.24xlarge",)
    assert known(pool.machine.gpus) == 8
    assert [subnet.address for subnet in known(pool.addresses.subnets) or ()] == ["aws_subnet.a"]
    assert known(pool.cluster) is project.inventory.clusters[0]


def test_machines_tagged_for_an_unknown_cluster_belong_to_the_script_nearby(load: Callable[[str], Project]) -> None:
    """kubeadm calls its cluster kubernetes; the tag has the name that people and the cloud provider use."""
    tag = '  tags = { "kubernetes.io/cluster/lab" = "owned" }\n  instance_type = "m5.large"'
    project = load(GROUP.replace("MOST", "40").replace('  instance_type = "m5.large"', tag))
    assert sizes(project) == {"gpu": 40, "master": 1}


def test_a_size_without_a_value_has_a_reason(load: Callable[[str], Project]) -> None:
    found = sizes(load(GROUP.replace("MOST", "var.most") + 'variable "most" {}\n'))
    assert found == {"gpu": "var.most has no value", "master": 1}


ENCODED = """
resource "azurerm_linux_virtual_machine" "server" {
  size        = "Standard_D4s_v5"
  custom_data = base64encode("#!/bin/sh\\ncurl -sfL https://get.k3s.io | sh -s - server --cluster-cidr 10.99.0.0/20\\n")
}
resource "azurerm_linux_virtual_machine_scale_set" "gpu" {
  name        = "gpu"
  sku         = "Standard_NC24ads_A100_v4"
  instances   = 4
  custom_data = base64encode("#!/bin/sh\\ncurl -sfL https://get.k3s.io | K3S_URL=https://10.0.0.4:6443 sh -\\n")
}
resource "azurerm_monitor_autoscale_setting" "gpu" {
  target_resource_id = azurerm_linux_virtual_machine_scale_set.gpu.id
  profile {
    capacity {
      default = 4
      minimum = 4
      maximum = 70
    }
  }
}
"""


def test_help_names_the_flag_in_an_encoded_script(load: Callable[[str], Project]) -> None:
    found = {one.rule: one.help for one in load(ENCODED).check().findings}
    assert found["pod-range-too-small"] == "set cluster-cidr: 10.99.0.0/17"


def test_taints_a_script_may_register_are_not_treated_as_absent(load: Callable[[str], Project]) -> None:
    report = load(ENCODED).check()
    assert "gpu-pool-untainted" not in {one.rule for one in report.findings}
    (undecided,) = [one for one in report.undecided if one.rule == "gpu-pool-untainted"]
    assert "taints" in str(undecided)


def test_a_script_flag_is_placed_at_its_own_line(load: Callable[[str], Project]) -> None:
    (pods,) = load(machines(f"{INSTALL} sh -s - server \\\n      --cluster-cidr=10.8.0.0/17")).inventory.ranges
    assert pods.cidr.origin is not None
    assert pods.cidr.origin.written.text == "10.8.0.0/17"
    assert pods.cidr.origin.path[-1] == "cluster-cidr"
    assert pods.place.text == "get.k3s.io"


INSTALLER = """
apiVersion: v1
baseDomain: example.com
metadata: {name: train}
compute:
- name: worker
  replicas: WORKERS
  platform: {aws: {type: p4d.24xlarge}}
controlPlane: {name: master, platform: {aws: {}}}
NETWORKING
platform: {aws: {region: us-east-1}}
"""
OWN = """networking:
  networkType: OVNKubernetes
  clusterNetwork:
  - {cidr: 10.8.0.0/17, hostPrefix: 25}
  - {cidr: "fd01::/48", hostPrefix: 64}
  serviceNetwork: [10.9.0.0/16, "fd02::/112"]"""


@pytest.mark.parametrize(
    ("networking", "expected"),
    [
        ("", (None, "172.30.0.0/16", "10.128.0.0/14", 23)),
        (OWN, (None, "10.9.0.0/16", "10.8.0.0/17", 25)),
    ],
)
def test_openshift_installer_configuration_is_read(
    networking: str, expected: tuple[str | None, ...], write: Callable[..., Path]
) -> None:
    write({"ocp/install-config.yaml": INSTALLER.replace("WORKERS", "40").replace("NETWORKING", networking)})
    project = kcheck.load(".")
    assert facts(project) == expected
    assert sizes(project) == {"worker": 40, "master": 3}
    worker, master = project.inventory.pools
    assert (known(worker.machine.instance_types), known(worker.machine.gpus)) == (("p4d.24xlarge",), 8)
    assert (known(worker.mode), known(master.mode)) == (None, "control-plane")
    assert project.inventory.clusters[0].root == "ocp"


def test_workers_not_made_by_the_openshift_installer_are_named_as_missing(write: Callable[..., Path]) -> None:
    write({"install-config.yaml": INSTALLER.replace("WORKERS", "0").replace("NETWORKING", "")})
    found = sizes(kcheck.load("."))
    assert found == {
        "worker": 0,
        "master": 3,
        "nodes": "the nodes of install-config/train are not in this code; set --nodes N",
    }


def test_several_pod_ranges_of_openshift_are_named(write: Callable[..., Path]) -> None:
    two = OWN.replace('"fd01::/48", hostPrefix: 64', "10.10.0.0/17, hostPrefix: 25")
    write({"install-config.yaml": INSTALLER.replace("WORKERS", "3").replace("NETWORKING", two)})
    project = kcheck.load(".")
    assert not project.inventory.clusters
    assert "several ranges of pods" in project.check().render("text")


RKE_YAML = """
kubernetes_version: v1.32.1-rancher1-1
nodes:
- {address: 10.0.0.1, role: [controlplane, etcd]}
- {address: 10.0.0.2, role: [worker]}
- {address: 10.0.0.3, role: [worker, etcd]}
services:
  kube-controller: {cluster_cidr: 10.8.0.0/17, service_cluster_ip_range: 10.9.0.0/16}
"""
RKE_BLOCKS = """
  kubernetes_version = "v1.32.1-rancher1-1"
  nodes {
    address = "10.0.0.1"
    role    = ["controlplane", "etcd"]
  }
  dynamic "nodes" {
    for_each = toset(["10.0.0.2", "10.0.0.3"])
    content {
      address = nodes.value
      role    = ["worker"]
    }
  }
  services {
    kube_controller {
      cluster_cidr             = "10.8.0.0/17"
      service_cluster_ip_range = "10.9.0.0/16"
    }
  }
"""


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("rke_cluster", RKE_BLOCKS),
        ("rke_cluster", f"cluster_yaml = <<-EOT\n{RKE_YAML}\nEOT\n"),
        ("rancher2_cluster", f'name = "a"\nrke_config {{\n{RKE_BLOCKS}\n}}\n'),
    ],
)
def test_clusters_of_rke_are_read(kind: str, body: str, load: Callable[[str], Project]) -> None:
    project = load(f'resource "{kind}" "a" {{\n{body}\n}}\n')
    assert facts(project) == ("v1.32.1-rancher1-1", "10.9.0.0/16", "10.8.0.0/17", 24)
    assert sizes(project) == {"control plane": 1, "nodes": 2}


NODE_POOLS = """
resource "rancher2_cluster" "a" {
  name = "a"
  rke_config {
    kubernetes_version = "v1.32.1-rancher1-1"
  }
}
resource "rancher2_node_pool" "a" {
  for_each      = { server = false, gpu = true }
  cluster_id    = rancher2_cluster.a.id
  name          = each.key
  control_plane = !each.value
  worker        = each.value
  quantity      = 7
}
"""


def test_node_pools_of_rancher_are_read(load: Callable[[str], Project]) -> None:
    project = load(NODE_POOLS)
    assert facts(project) == ("v1.32.1-rancher1-1", "10.43.0.0/16", "10.42.0.0/16", 24)
    assert sizes(project) == {"gpu": 7, "server": 7}
    assert {pool.display_name: known(pool.mode) for pool in project.inventory.pools} == {
        "gpu": None,
        "server": "control-plane",
    }


def test_several_pools_with_unknown_names_are_not_merged(load: Callable[[str], Project]) -> None:
    project = load('variable "given" {}\n' + NODE_POOLS.replace("each.key", "var.given").replace("= false", "= true"))
    reason = "several pools of rancher2_cluster.a have names that are not known"
    assert sizes(project) == {"nodes": reason}


RANCHER = """
resource "rancher2_cluster_v2" "a" {
  name               = "a"
  kubernetes_version = "v1.34.1+rke2r1"
  rke_config {
    machine_global_config = CONFIG
    machine_pools {
      name               = "server"
      control_plane_role = true
      quantity           = 3
    }
    machine_pools {
      name           = "gpu"
      worker_role    = true
      quantity       = var.size
      machine_labels = { gpu = "yes" }
      taints {
        key    = "gpu"
        value  = "yes"
        effect = "NoSchedule"
      }
    }
  }
}
variable "size" {}
variable "given" {}
"""


def test_machine_pools_of_rancher_are_read(load: Callable[[str], Project]) -> None:
    own = 'yamlencode({ cni = "canal", "cluster-cidr" = "10.8.0.0/17" })'
    project = load(RANCHER.replace("CONFIG", own))
    assert facts(project) == ("v1.34.1+rke2r1", "10.43.0.0/16", "10.8.0.0/17", 24)
    assert sizes(project) == {"server": 3, "gpu": "var.size has no value"}
    gpu = project.inventory.pools[1]
    assert known(gpu.scheduling.labels) == {"gpu": "yes"}
    assert known(gpu.scheduling.taints) == ("gpu=yes:NoSchedule",)


@pytest.mark.parametrize("config", ["var.given", "yamlencode({ cni = var.given })", 'yamlencode({ cni = "cilium" })'])
def test_unknown_rancher_ranges_stay_unknown(config: str, load: Callable[[str], Project]) -> None:
    project = load(RANCHER.replace("CONFIG", config))
    assert not project.inventory.ranges
    assert all(isinstance(pool.addresses.pod_range, Unknown) for pool in project.inventory.pools)


def test_imported_clusters_of_rancher_are_named(load: Callable[[str], Project]) -> None:
    project = load('resource "rancher2_cluster" "a" {\n  name = "a"\n}\n')
    assert not project.inventory.clusters
    assert "rancher2_cluster.a" in project.check().render("text")


OMNI = """kind: Cluster
name: lab
kubernetes:
  version: v1.34.0
talos:
  version: v1.11.0
---
kind: ControlPlane
machineClass: {name: server, size: 3}
"""
NODES = """
variable "groups" {
  default = GROUPS
}
resource "random_id" "a" {
  byte_length = 2
}
resource "aws_autoscaling_group" "node" {
  for_each = var.groups
  max_size = each.value
  tag {
    key                 = "kubernetes.io/cluster/lab-${random_id.a.hex}"
    value               = "owned"
    propagate_at_launch = true
  }
}
"""


@pytest.mark.parametrize(
    ("files", "line"),
    [
        (
            {"group_vars/all.yml": "k3s_version: v1.34.1+k3s1\n", "hosts.ini": "[master]\na\n[node]\nb\n"},
            "group_vars/all.yml:1: k3s_version; k3s and RKE2 by Ansible are not read",
        ),
        (
            {"inventory.yml": "k3s_cluster:\n  children: {}\n  vars:\n    k3s_version: v1.34.1+k3s1\n"},
            "inventory.yml:4: k3s_version; k3s and RKE2 by Ansible are not read",
        ),
        ({"lab.yaml": OMNI}, "lab.yaml:8: ControlPlane; cluster templates of Omni are not read"),
        (
            {"main.tf": NODES.replace("GROUPS", "{ gpu = 4 }")},
            'main.tf:8: aws_autoscaling_group.node["gpu"]; its tags name the cluster lab-',
        ),
        ({"main.tf": NODES.replace("GROUPS", "{}")}, "main.tf:8: aws_autoscaling_group.node"),
    ],
    ids=["ansible", "ansible inventory", "Omni", "tags", "no machines"],
)
def test_unsupported_cluster_installers_are_named(files: dict[str, str], line: str, write: Callable[..., Path]) -> None:
    write(files)
    project = kcheck.load(".")
    assert not project.inventory.clusters
    assert line in project.check().render("text")


@pytest.mark.parametrize(
    "commands",
    [
        'resource "ssh_resource" "a" {\n  commands = [%s]\n}\n',
        'resource "null_resource" "a" {\n  provisioner "remote-exec" {\n    inline = [%s]\n  }\n}\n',
    ],
)
def test_a_server_started_by_commands_over_ssh_is_a_cluster(load: Callable[[str], Project], commands: str) -> None:
    install = (
        '"mkdir /a", "curl https://get.rke2.io | INSTALL_RKE2_VERSION=${var.v} sh -", "systemctl start rke2-server"'
    )
    project = load(f'variable "v" {{\n  default = "v1.33.4+rke2r1"\n}}\n{commands % install}')
    (cluster,) = project.inventory.clusters
    assert known(cluster.version) == "v1.33.4+rke2r1"
    assert cluster.version.origin
    assert cluster.version.origin.written.source.path == "main.tf"
