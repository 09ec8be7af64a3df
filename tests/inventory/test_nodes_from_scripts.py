"""Test nodes that Terraform, cloud-init and scripts join to a cluster: by kubeadm's files, flags, or a name."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any

import pytest

from kcheck.config.config import Config
from kcheck.fix import fix
from kcheck.inventory import reader
from kcheck.report import model
from kcheck.text.files.tree import Tree
from kcheck.text.findings import Severity

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.conftest import Check

SCRIPT = """\
#!/bin/bash
set -e
cat <<'EOF' > /etc/kubeadm.yaml
apiVersion: kubeadm.k8s.io/v1beta3
kind: ClusterConfiguration
clusterName: train
networking:
  podSubnet: ${pods}
  serviceSubnet: 10.96.0.0/16
controllerManager:
  extraArgs:
    node-cidr-mask-size: "25"
---
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
serializeImagePulls: false
EOF
kubeadm init --config /etc/kubeadm.yaml
"""
GIVEN = SCRIPT.replace("${pods}", "10.64.0.0/16")
TEMPLATE = """\
variable "pods" {
  default = "10.64.0.0/16"
}
resource "aws_instance" "master" {
  count         = 3
  instance_type = "m5.large"
  user_data     = templatefile("${path.module}/boot.tftpl", { pods = var.pods })
}
"""
ENCODED = TEMPLATE.replace("templatefile", "base64encode(templatefile").replace("})", "}))")
CLOUD_INIT = """\
#cloud-config
write_files:
  - path: /etc/kubeadm.yaml
    content: |
      kind: ClusterConfiguration
      apiVersion: kubeadm.k8s.io/v1beta4
      networking:
        podSubnet: 10.64.0.0/16
      controllerManager:
        extraArgs:
          - name: node-cidr-mask-size
            value: "25"
      ---
      apiVersion: kubeadm.k8s.io/v1beta4
      kind: InitConfiguration
  - path: /etc/other.conf
    content: x
"""


OLD = """
data "template_file" "boot" {
  template = file("${path.module}/boot.tftpl")
  vars = {
    pods = "10.64.0.0/16"
  }
}
resource "aws_instance" "a" {
  user_data = data.template_file.boot.rendered
}
"""
ARCHIVE = (
    OLD.replace("data.template_file.boot.rendered", "data.cloudinit_config.all.rendered")
    + """
data "cloudinit_config" "all" {
  gzip = true
  part {
    content_type = "text/x-shellscript"
    content      = data.template_file.boot.rendered
  }
}
"""
)


@pytest.fixture
def read(write: Callable[..., Path]) -> Callable[..., dict[str, Any]]:
    """Return a function that writes files and collects the model kcheck reads from them."""

    def run(files: dict[str, str]) -> dict[str, Any]:
        write(files)
        return model.collect(Tree(["."]), Config())

    return run


def of(thing: dict[str, Any], field: str) -> Any:
    """Return the value of a field, or the reason why it is unknown."""
    found = thing["fields"][field]
    return found["unknown"] if "unknown" in found else found["value"]


def machine(script: str) -> str:
    """Return the Terraform of a machine with a boot script."""
    return f'resource "hcloud_server" "a" {{\n  name      = "a"\n  user_data = <<-EOT\n{script}\n  EOT\n}}\n'


def encoded(script: str) -> str:
    """Return the Terraform of a machine whose boot script is in base64."""
    text = base64.b64encode(script.encode()).decode()
    return f'resource "azurerm_linux_virtual_machine" "a" {{\n  custom_data = "{text}"\n}}\n'


@pytest.mark.parametrize(
    "files",
    [
        {"main.tf": TEMPLATE, "boot.tftpl": SCRIPT},
        {"main.tf": ENCODED, "boot.tftpl": SCRIPT},
        {"main.tf": OLD, "boot.tftpl": SCRIPT},
        {"main.tf": ARCHIVE, "boot.tftpl": SCRIPT},
        {"main.tf": machine(GIVEN)},
        {"main.tf": encoded(GIVEN)},
        {"kubeadm-init.sh": GIVEN},
        {"cloud-init/user-data.yaml": CLOUD_INIT},
    ],
)
def test_kubeadm_configurations_in_scripts_are_read(files: dict[str, str], read: Callable[..., dict[str, Any]]) -> None:
    data = read(files)
    assert len(data["clusters"]) == 1
    (pods,) = data["pod_ranges"]
    assert (of(pods, "cidr"), of(pods, "addresses_per_node")) == ("10.64.0.0/16", 128)


def test_template_variables_without_a_value_are_unknown(read: Callable[..., dict[str, Any]]) -> None:
    data = read({"main.tf": TEMPLATE.replace('default = "10.64.0.0/16"', ""), "boot.tftpl": SCRIPT})
    assert "var.pods has no value" in of(data["pod_ranges"][0], "cidr")
    assert of(data["clusters"][0], "service_cidr") == "10.96.0.0/16"


def test_findings_point_to_the_written_value(check: Check) -> None:
    result = check({"main.tf": TEMPLATE, "boot.tftpl": SCRIPT}, Config(nodes={"": 600}))
    found = {one.rule: one for one in result.findings if one.severity > Severity.INFO}
    assert found["pod-range-too-small"].span.source.path == "main.tf"
    assert "serial-image-pulls" not in found
    outcome = fix.fix(["."], Config(nodes={"": 600}, select=("pod-range-too-small",)), safeties=("unsafe",))
    assert [file.new.decode() for file in outcome.files] == [TEMPLATE.replace("10.64.0.0/16", "10.64.0.0/15")]


@pytest.mark.parametrize(
    ("command", "cidr"),
    [
        ("sudo kubeadm init --pod-network-cidr=10.244.0.0/16 --service-cidr 10.96.0.0/16", "10.244.0.0/16"),
        (
            "kubeadm init \\\n    --apiserver-advertise-address=10.0.0.1 \\\n    --pod-network-cidr 192.168.0.0/16",
            "192.168.",
        ),
        ("kubeadm init --pod-network-cidr=${var.pods}", "10.9.0.0/16"),
        ("kubeadm init --pod-network-cidr=${var.none}", "var.none has no value"),
    ],
)
def test_flags_of_kubeadm_are_read(command: str, cidr: str, read: Callable[..., dict[str, Any]]) -> None:
    variables = 'variable "pods" {\n  default = "10.9.0.0/16"\n}\nvariable "none" {}\n'
    data = read({"main.tf": variables + machine(f"#!/bin/sh\n{command}\n")})
    assert len(data["clusters"]) == 1
    assert cidr in of(data["pod_ranges"][0], "cidr")
    assert of(data["pod_ranges"][0], "addresses_per_node") == 256


@pytest.mark.parametrize(
    ("script", "tool"),
    [
        ("curl -sfL https://get.k3s.io | K3S_URL=https://10.0.0.1:6443 sh -", "k3s"),
        ("kubeadm join 10.0.0.1:6443 --token a", "kubeadm"),
        ("apt-get update", ""),
    ],
)
def test_nodes_that_kcheck_cannot_read_are_named(script: str, tool: str, write: Callable[..., Path]) -> None:
    write({"main.tf": machine(script)})
    reading = reader.read(Tree(["."]), Config())
    assert not reading.inventory.clusters
    wanted = [f"hcloud_server.a starts nodes with {tool}; their cluster is not read"] if tool else []
    assert [one.reason for one in reading.skipped] == wanted


@pytest.mark.parametrize(("flag", "cidr"), [("10.5.0.0/16", "10.5.0.0/16"), ("{{ pods }}", "variable of the script")])
def test_ansible_tasks_are_read(flag: str, cidr: str, read: Callable[..., dict[str, Any]]) -> None:
    text = f"- name: start\n  shell: kubeadm init --pod-network-cidr {flag} --upload-certs >> init.log\n"
    assert cidr in of(read({"roles/master/tasks/main.yml": text})["pod_ranges"][0], "cidr")


@pytest.mark.parametrize(
    "script",
    ["# kubeadm is installed later\n", SCRIPT.replace("---", "apiVersion: kind.x-k8s.io/v1alpha4\nkind: Cluster\n---")],
)
def test_unrelated_scripts_are_ignored(script: str, read: Callable[..., dict[str, Any]]) -> None:
    assert not read({"init.sh": f"#!/bin/sh\n{script}"})["clusters"]


def test_templates_of_ansible_are_named_unless_their_cluster_is_read(write: Callable[..., Path]) -> None:
    template = {"roles/a/templates/kubeadm.yaml.j2": "apiVersion: kubeadm.k8s.io/v1beta4\nkind: ClusterConfiguration\n"}
    write(template)
    (found,) = reader.read(Tree(["."]), Config()).skipped
    assert "Ansible template" in found.reason
    write({"group_vars/all.yml": "kube_pods_subnet: 10.0.0.0/16\n"})
    assert not reader.read(Tree(["."]), Config()).skipped


KUBELET = """\
storage:
  files:
    - path: /etc/kubernetes/kubelet.yaml
      contents:
        inline: |
          apiVersion: kubelet.config.k8s.io/v1beta1
          kind: KubeletConfiguration
          serializeImagePulls: false
"""


def test_nodes_that_ignition_starts_are_named(write: Callable[..., Path]) -> None:
    text = """
data "ct_config" "worker" {
  content = templatefile("${path.module}/worker.yaml", { name = "a" })
}
resource "aws_launch_template" "worker" {
  user_data = data.ct_config.worker.rendered
}
"""
    unit = "variant: flatcar\nsystemd:\n  units:\n    - name: kubelet.service\n      contents: ${name}\n" + KUBELET
    write({"main.tf": text, "worker.yaml": unit})
    (skipped,) = reader.read(Tree(["."]), Config()).skipped
    assert skipped.reason == (
        "aws_launch_template.worker starts nodes with a kubelet of its own; their cluster is not read"
    )
