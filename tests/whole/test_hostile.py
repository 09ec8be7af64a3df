"""Test hostile content of files: no command exits with 3."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from kcheck.commands.cli import cli
from kcheck.text.files import system

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tests.conftest import Write


pytestmark = pytest.mark.medium

HUGE = "9" * 5000
NUMBERS = (HUGE, f"0.{HUGE}", f"1e{HUGE}", "1e400", "1e4000", "3e-4000", "-1e400", "9223372036854775808")
EKS = """
variable "nodes" { default = 600 }
resource "aws_eks_cluster" "main" {
  name    = "main"
  version = "1.33"
}
resource "aws_eks_node_group" "a" {
  cluster_name   = aws_eks_cluster.main.name
  instance_types = ["p5.48xlarge"]
  scaling_config {
    min_size     = 0
    desired_size = 0
    max_size     = var.nodes
  }
}
"""
JOB = """
apiVersion: batch/v1
kind: Job
metadata: {name: train}
spec:
  parallelism: 64
  template:
    spec:
      containers:
        - {name: main, image: "a/b:1", resources: {limits: {nvidia.com/gpu: 8, cpu: 500m}}}
"""


def status(*arguments: str) -> int:
    """Return the exit status of a command; assert that it neither crashes nor exits with 3."""
    run = CliRunner().invoke(cli, list(arguments))
    assert run.exception is None or isinstance(run.exception, SystemExit), repr(run.exception)
    assert run.exit_code != 3, run.output
    return run.exit_code


COMMANDS = (
    ("check", "--info", "--show-undecided"),
    ("capacity",),
    ("fix", "--diff", "--info", "--unsafe-fixes"),
    ("simulate",),
)


def run_all(write: Write, files: Mapping[str, str | bytes], commands: tuple[tuple[str, ...], ...] = COMMANDS) -> None:
    """Write files and run commands on them."""
    write(files)
    for command in commands:
        status(*command)


@pytest.mark.slow
@pytest.mark.parametrize("number", NUMBERS, ids=lambda text: text[:12])
def test_numbers_of_any_size_cause_no_bug(number: str, write: Write) -> None:
    run_all(write, {"main.tf": EKS.replace("600", number), "job.yaml": JOB.replace(": 64", f": {number}")})
    run_all(write, {"main.tf": EKS, "job.yaml": JOB.replace(": 8", f": {number}").replace("500m", f"'{number}'")})
    run_all(
        write, {"main.tf": EKS.replace("= 0", f"= [1].{number}"), "terraform.tfvars.json": f'{{"nodes": {number}}}'}
    )
    assert status("eval", f"[{number}]") in (0, 1)
    assert status("eval", f"1 / {number}") in (0, 1)


GKE = """
resource "google_container_cluster" "a" {
  name = "a"
  cluster_autoscaling {
    enabled = true
    resource_limits {
      resource_type = "cpu"
      maximum       = 0.5
    }
  }
}
resource "google_container_node_pool" "a" {
  cluster        = google_container_cluster.a.name
  node_locations = [[["a"]]]
  autoscaling {
    max_node_count = 8
  }
}
"""
ACK = """
resource "alicloud_cs_managed_kubernetes" "a" {
  name = "a"
}
resource "alicloud_cs_kubernetes_node_pool" "a" {
  cluster_id = alicloud_cs_managed_kubernetes.a.id
  spot_price_limit {
    instance_type = "ecs.gn7i-c8g1.2xlarge"
    price_limit   = [["a"]]
  }
}
"""


@pytest.mark.parametrize("code", [GKE, ACK], ids=["gke", "ack"])
def test_values_of_a_wrong_shape_cause_no_bug(code: str, write: Write) -> None:
    run_all(write, {"main.tf": code})


def test_deeply_nested_settings_are_refused(write: Write) -> None:
    write({"main.tf": EKS, "pyproject.toml": f"[tool.kcheck]\nignore = {'[' * 1100}{']' * 1100}\n"})
    assert status("check") == 2


def test_an_expression_that_is_not_unicode_is_refused(write: Write) -> None:
    write({"main.tf": EKS})
    run = CliRunner().invoke(cli, ["eval", '"\udcff"'])
    assert "not UTF-8 text" in run.output


def test_a_number_of_too_many_digits_is_unknown(write: Write) -> None:
    write({"main.tf": EKS.replace("600", HUGE)})
    run = CliRunner().invoke(cli, ["show"])
    assert "the number has too many digits" in run.output
    assert '"a"' in CliRunner().invoke(cli, ["eval", '"a"']).output


@pytest.mark.slow
@pytest.mark.parametrize("number", NUMBERS, ids=lambda text: text[:12])
@pytest.mark.parametrize("name", ["nodes", "price", "limits", "simulation"])
def test_extreme_numbers_in_settings_cause_no_bug(number: str, name: str, write: Write) -> None:
    value = {
        "limits": f"{{eks.pool.quota: {{value: {number}, reason: asked}}}}",
        "simulation": f"{{launch_rate: {number}}}",
    }.get(name, number)
    write({"main.tf": EKS, "kcheck.yaml": f"{name}: {value}\n"})
    assert status("check", "--fail-on", "never") in (0, 2)
    assert status("simulate") in (0, 2)
    if name in ("nodes", "price"):
        write({"main.tf": EKS, "kcheck.yaml": "", "pyproject.toml": f"[tool.kcheck]\n{name} = {number}\n"})
        os.remove("kcheck.yaml")
        assert status("check", "--fail-on", "never") in (0, 2)


@pytest.mark.parametrize(
    "limit", ["eks.pool.quota", "any.large_pool.nodes", "any.dns.nodes_per_replica", "any.gpu_node.pods"]
)
def test_limits_of_zero_cause_no_bug(limit: str, write: Write) -> None:
    settings = f"nodes: 1000\nlimits: {{{limit}: {{value: 0, reason: none}}}}\n"
    run_all(write, {"main.tf": EKS, "job.yaml": JOB, "kcheck.yaml": settings})


@pytest.mark.parametrize(
    "arguments",
    [
        ("--nodes", "²"), ("--nodes", HUGE), ("--nodes", "main=٣٣٣٣"), ("--nodes", "1" + "0" * 400), ("--price", "nan"), ("--price", "1e400"),
        ("--price", "-inf"), ("--price", "1e300"), ("--var-file", "\ud800"), ("--config", "."), ("--exclude", "["),
    ],
)  # fmt: skip
def test_strange_flags_cause_no_bug(arguments: tuple[str, ...], write: Write) -> None:
    write({"main.tf": EKS, "job.yaml": JOB})
    for command in ("check", "simulate"):
        assert status(command, *arguments) in ((0, 1) if arguments[0] == "--exclude" else (2,))


@pytest.mark.slow
@pytest.mark.parametrize("size", ["1e400", "-1e400", "nan", "²", HUGE, "9" * 40, "1e999Gi"])
def test_extreme_sizes_and_durations_of_runs_cause_no_bug(size: str, write: Write) -> None:
    write({"main.tf": EKS, "job.yaml": JOB})
    assert status("simulate", "--image-size", size) in (0, 2)
    assert status("simulate", "--duration", f"{size}h") == 2


NOT_A_PATH = ["a\\u0000b", "\\ud800", "a" * 5000, "/".join(["a"] * 3000)]


@pytest.mark.slow
@pytest.mark.parametrize("path", NOT_A_PATH, ids=["null", "half", "long", "deep"])
def test_invalid_paths_in_files_cause_no_bug(path: str, write: Write) -> None:
    text = path.replace("\\u0000", "\\0")
    run_all(
        write,
        {
            "main.tf": f'{EKS}\nmodule "m" {{\n  source = "./{path}"\n}}\nlocals {{\n  a = [file("{path}"), fileset("{path}", "*"),'
            f' templatefile("{path}", {{}})]\n}}\nresource "helm_release" "a" {{\n  name  = "a"\n  chart = "{path}"\n}}\n',
            "k/kustomization.yaml": f'resources: ["{text}"]\npatches: [{{path: "{text}"}}]\ncomponents: ["{text}"]\n'
            f'configMapGenerator: [{{name: a, files: ["{text}"], envs: ["{text}"]}}]\n',
            "argo.yaml": "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: a}\n"
            f'spec: {{source: {{path: "{text}", repoURL: a, helm: {{valueFiles: ["{text}"]}}}}}}\n',
            "flux.yaml": "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: a}\n"
            f'spec: {{path: "{text}", postBuild: {{substituteFrom: [{{kind: ConfigMap, name: a}}]}}}}\n',
            "live/terragrunt.hcl": f'terraform {{\n  source = "{path}"\n}}\ninclude {{\n  path = "{path}"\n}}\n'
            f'dependency "a" {{\n  config_path = "{path}"\n}}\n',
        },
    )


@pytest.mark.parametrize("path", NOT_A_PATH, ids=["null", "half", "long", "deep"])
@pytest.mark.parametrize(
    "setting",
    ['clusters: [{root: "X"}]', 'clusters: [{root: ., var_files: ["X"], manifests: ["X"]}]', 'var_files: ["X"]', 'exclude: ["X"]',
     'rules: ["X"]', 'baseline: "X"', 'module_dirs: ["X"]', 'per_path_ignores: {"X": [images]}'],
)  # fmt: skip
def test_invalid_paths_in_settings_cause_no_bug(path: str, setting: str, write: Write) -> None:
    write({"main.tf": EKS, "job.yaml": JOB, "kcheck.yaml": setting.replace("X", path.replace("\\u0000", "\\0"))})
    assert status("check") in (0, 1, 2)


@pytest.mark.slow
@pytest.mark.parametrize(
    "change",
    [
        lambda data: b"\xef\xbb\xbf" + data, lambda data: data.decode().encode("utf-16"), lambda data: data.decode().encode("utf-32-be"),
        lambda data: data.replace(b"\n", b"\r"), lambda data: data.replace(b"\n", b"\r", 9), lambda data: data.replace(b"\n", b"\n\r"), lambda data: data[:0],
        lambda data: data + b"\0", lambda data: data.replace(b"a", b"\xff"), lambda data: data.replace(b"a", b"\xed\xa0\x80"), lambda data: data[: len(data) // 2],
        lambda data: data.replace(b"\n", "\u2028".encode()), lambda data: data.replace(b" ", "\u00a0".encode()),
    ],
)  # fmt: skip
def test_files_with_unusual_encodings_cause_no_bug(change: Callable[[bytes], bytes], write: Write) -> None:
    files = {"main.tf": EKS, "job.yaml": JOB, "terraform.tfvars": "nodes = 700\n"}
    for name, text in files.items():
        run_all(write, {**files, name: change(text.encode())}, COMMANDS[:1])
    run_all(write, {name: change(text.encode()) for name, text in files.items()}, COMMANDS[2:3])
    write({"kcheck.yaml": change(b"nodes: 900\n")})
    assert status("check") in (0, 1, 2)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such files")
def test_pipes_and_sockets_and_dangling_links_cause_no_bug(write: Write) -> None:
    folder = write(
        {"good.tf": EKS, "job.yaml": JOB, "kcheck.yaml/a": "", "dir.tf/main.tf": EKS, "dir.yaml/a.yaml": JOB}
    )
    os.mkfifo("pipe.tf")
    os.mkfifo("pipe.yaml")
    os.symlink("nowhere", "link.tf")
    os.symlink("self.yaml", "self.yaml")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("socket.tf")
        for name in (b"new\nline.tf", b"esc\x1b[31m.yaml", b"tab\t.tf"):
            (folder / os.fsdecode(name)).write_bytes((EKS if name.endswith(b"tf") else JOB).encode())
        status("check")
        for name in (b"\xff.tf", b"\xff.yaml"):
            (folder / os.fsdecode(name)).write_bytes((EKS if name.endswith(b"tf") else JOB).encode())
        for command in ("check", "fix"):
            run = subprocess.run(
                [sys.executable, "-c", "from kcheck.commands.cli import main; main()", command],
                capture_output=True,
                check=False,
            )
            assert run.returncode == 1, run.stderr
            assert b"\\udcff.tf" in run.stdout + run.stderr
        assert status("check", "pipe.tf", "socket.tf", "link.tf", "self.yaml") in (0, 1, 2)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such files")
def test_fix_proposes_changes_beside_an_unread_pipe(write: Write) -> None:
    """Whatever is reported of a folder before a fix also holds afterwards."""
    code = 'resource "azurerm_kubernetes_cluster" "a" {\n  name = "a"\n  default_node_pool {\n    name = "a"\n  }\n}\n'
    write({"main.tf": code})
    os.mkfifo("pipe.tf")
    run = CliRunner().invoke(cli, ["fix", "--diff", "--info", "--unsafe-fixes", "--nodes", "1000"])
    assert run.exit_code == 1
    assert '+    scale_down_delay_after_failure = "1m"' in run.output


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such files")
def test_kcheck_does_not_wait_for_a_pipe_without_a_writer(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    """Paths in settings and options are opened, whatever kind of file they are."""
    monkeypatch.setattr(system, "PATIENCE", 0.1)
    write({"main.tf": EKS, "kcheck.yaml": "usage: {recording: pipe}\n"})
    os.mkfifo("pipe")
    assert status("check") == 2
    assert status("usage", ".", "--from", "pipe") == 2
    assert status("check", "--baseline", "pipe") == 2


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such files")
def test_a_pipe_is_read_until_its_writer_ends(write: Write) -> None:
    write({"main.tf": 'variable "a" {}\n'})
    os.mkfifo("pipe.tfvars")
    with subprocess.Popen(["sh", "-c", "sleep 0.2; exec >pipe.tfvars; printf 'a ='; sleep 0.2; echo ' 41 + 1'"]):
        assert system.read("pipe.tfvars") == b"a = 41 + 1\n"


@pytest.mark.skipif(not os.path.exists("/dev/zero"), reason="no such device")
def test_an_endless_device_does_not_stop_kcheck(write: Write) -> None:
    write({"main.tf": EKS})
    assert status("usage", ".", "--from", "/dev/zero") == 2
    assert status("check", "--baseline", "/dev/zero") == 2
    for name in ("kcheck.yaml", "job.yaml", "b.tf", "terraform.tfvars"):
        os.symlink("/dev/zero", name)
        assert status("check") in (0, 1, 2)
        os.remove(name)


CHOSEN_OR_NULL = {
    "eks": 'resource "aws_eks_cluster" "a" {\n  name = "a"\n  version = var.x ? "1.33" : null\n}\n',
    "gke": 'resource "google_container_cluster" "a" {\n  name = "a"\n  location = var.x ? "us-central1" : null\n}\n',
    "aks": """
resource "azurerm_kubernetes_cluster" "a" {
  name = "a"
  default_node_pool {
    name       = "a"
    node_count = 3
    vm_size    = var.x ? "Standard_D4s_v5" : null
  }
}
""",
    "subnet": """
resource "aws_subnet" "a" {
  cidr_block = var.x ? "10.0.0.0/24" : null
}
resource "aws_eks_cluster" "a" {
  name = "a"
  vpc_config {
    subnet_ids = [aws_subnet.a.id]
  }
}
""",
}
"""Code with a value or null, by an unknown condition."""


def test_machines_in_one_of_two_invalid_subnets_cause_no_bug(write: Write) -> None:
    kubeadm = "apiVersion: kubeadm.k8s.io/v1beta4\nkind: ClusterConfiguration\nclusterName: a\n"
    machines = 'resource "aws_instance" "a" {\n  instance_type = "m6i.large"\n  subnet_id = var.x ? 1 : 2\n'
    others = (
        'resource "aws_autoscaling_group" "a" {\n  max_size = 9\n  tag {\n    key = "kubernetes.io/cluster/a"\n  }\n}\n'
    )
    code = f'variable "x" {{}}\n{machines}  user_data = file("${{path.module}}/kubeadm.yaml")\n}}\n{others}'
    write({"main.tf": code, "kubeadm.yaml": kubeadm})
    assert status("check", "--info") in (0, 1)
    assert status("show") == 0


@pytest.mark.parametrize("name", CHOSEN_OR_NULL)
def test_a_value_that_may_be_null_causes_no_bug(name: str, write: Write) -> None:
    run_all(write, {"main.tf": f'variable "x" {{}}\n{CHOSEN_OR_NULL[name]}'})


def test_a_prefix_longer_than_an_address_causes_no_bug(write: Write) -> None:
    code = 'resource "alicloud_cs_managed_kubernetes" "a" {\n  name = "a"\n  node_cidr_mask = 75\n'
    pool = 'resource "alicloud_cs_kubernetes_node_pool" "a" {\n  cluster_id = alicloud_cs_managed_kubernetes.a.id\n}\n'
    run_all(write, {"main.tf": f'{code}  pod_cidr = "10.0.0.0/16"\n}}\n{pool}'})
    assert "75 is not an IPv4 prefix length (0 to 32)" in CliRunner().invoke(cli, ["show"]).output


@pytest.mark.parametrize("least", [0, 100_000_000])
def test_a_huge_node_count_ends_in_bounded_time(least: int, write: Write) -> None:
    """Work may grow with the size of the input, but not with a number in it."""
    gke = GKE.replace('  node_locations = [[["a"]]]\n', "").replace("= 8", f"= 100000000\n    min_node_count = {least}")
    write({"main.tf": gke, "job.yaml": JOB})
    for command in COMMANDS:
        assert status(*command, *([] if command == ("simulate",) else ["--nodes", "1000"])) in (0, 1)
