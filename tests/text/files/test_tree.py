"""Test which files are read from a tree, with their paths; skipped files are reported."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from kcheck.commands.cli import cli
from kcheck.config.config import Config
from kcheck.inventory import reader
from kcheck.text.files.boundary import around
from kcheck.text.files.tree import Tree
from kcheck.text.values import Unknown

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import Check, Write


posix = pytest.mark.skipif(os.name == "nt", reason="links of POSIX")
POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec:\n  containers: [{name: a, image: nginx}]\n"
CLUSTER = 'resource "aws_eks_cluster" "main" {\n  name = "train"\n}\n'


def paths(tree: Tree) -> list[str]:
    """Return the paths of the files in a tree that are read."""
    found = [source for folder in tree.folders for source in (*folder.terraform, *folder.variables)]
    return sorted(source.path for source in [*found, *tree.manifests])


def test_hidden_folders_are_read_except_for_a_fixed_list(write: Write) -> None:
    read = {".kubernetes/pod.yaml", ".deploy/main.tf", ".github/kind/pod.yaml", "a/.k8s/base/pod.yaml"}
    never = {".git/pod.yaml", ".terraform/modules/a/main.tf", ".venv/pod.yaml", ".ruff_cache/pod.yaml",
             ".idea/pod.yaml", ".github/workflows/pod.yaml", "node_modules/a/pod.yaml"}  # fmt: skip
    write({path: CLUSTER if path.endswith(".tf") else POD for path in read | never})
    tree = Tree(["."])
    assert set(paths(tree)) == read
    assert tree.skipped == []


def test_skipped_third_party_folders_with_relevant_files_are_named(write: Write) -> None:
    write({"vendor/a/main.tf": CLUSTER, "b/vendor/pod.yaml": POD, "testdata/x.yaml": POD, "c/vendor/a.go": "package a"})
    tree = Tree(["."])
    (note,) = tree.skipped
    assert note.path == "testdata/, vendor/"
    assert note.reason == "third-party code or test data, not read (3 folders)"
    assert paths(tree) == []
    assert paths(Tree(["vendor"])) == ["vendor/a/main.tf"]


@pytest.mark.parametrize(
    "data",
    [
        b"\0GITCRYPT\0\x12\xff\x1b[31m",
        b"$ANSIBLE_VAULT;1.1;AES256\n6238663",
        b"age-encryption.org/v1\n-> X25519 \xff",
        b"-----BEGIN AGE ENCRYPTED FILE-----\nYWdl",
        b"-----BEGIN PGP MESSAGE-----\n\nhQEM",
        b'{\n\t"data": "ENC[AES256_GCM,data:\\u001b]",\n\t"sops": {"mac": "ENC[]"}\n}',
    ],
)
@pytest.mark.parametrize("name", ["secret.tf", "terraform.tfvars", "pod.yaml"])
def test_encrypted_files_are_reported_and_not_read(name: str, data: bytes, write: Write) -> None:
    write({"main.tf": CLUSTER.replace('"train"', "var.name"), "variables.tf": 'variable "name" {}\n', name: data})
    reading = reader.read(Tree(["."]), Config())
    assert [(one.path, one.reason) for one in reading.skipped] == [(name, "encrypted, values unknown")]
    assert reading.problems == []
    assert len(reading.inventory.clusters) == 1
    run = CliRunner().invoke(cli, ["check", ".", "--info"])
    assert run.exit_code == 0
    assert "\x1b" not in run.output
    assert "unreadable-file" not in run.output


def test_an_encrypted_variable_file_is_skipped(write: Write) -> None:
    write({"main.tf": CLUSTER, "envs/prod.tfvars": b"\0GITCRYPT\0\xff"})
    assert [one.path for one in Tree(["."]).skipped] == ["envs/prod.tfvars"]


def test_locals_of_an_encrypted_file_are_unknown_and_not_absent(check: Check) -> None:
    main = CLUSTER.replace('"train"', "local.name")
    result = check({"main.tf": main, "locals.tf": b"\0GITCRYPT\0\xff"})
    assert not result.bugs
    (cluster,) = result.world.inventory.clusters
    assert isinstance(cluster.name, Unknown)


ENVSUBST = """apiVersion: eksctl.io/v1alpha5
kind: ClusterConfig
metadata: {name: "${NAME}", version: "1.25", region: us-east-1}
managedNodeGroups:
  - {name: gpu, instanceType: "${TYPE}", minSize: 0, maxSize: 4}
"""


@pytest.mark.parametrize("name", ["eks.yaml.template", "eks.yml-template"])
def test_envsubst_templates_are_manifests(name: str, check: Check) -> None:
    result = check({name: ENVSUBST})
    assert "unsupported-kubernetes" in {finding.rule for finding in result.findings}


SOPS = """apiVersion: batch/v1
kind: Job
metadata: {name: train}
spec:
  parallelism: ENC[AES256_GCM,data:a=,iv:b=,tag:c=,type:int]
  completions: 64
  template:
    spec:
      containers: [{name: a, image: "r.example.com/a:1"}]
sops:
  mac: ENC[AES256_GCM,data:a=,iv:b=,tag:c=,type:str]
"""


def test_keys_and_plain_values_of_sops_files_are_read(write: Write) -> None:
    write({"job.yaml": SOPS, "secret.yaml": SOPS.replace("batch/v1", "v1").replace("Job", "Secret")})
    reading = reader.read(Tree(["."]), Config())
    assert [one.path for one in reading.skipped] == ["job.yaml"]
    (job,) = reading.inventory.workloads
    assert isinstance(job.pods, Unknown)
    assert job.pods.reason == "a value of job.yaml is encrypted"
    assert [image.registry for image in job.images]


def test_encrypted_variable_values_are_unknown(check: Check) -> None:
    main = CLUSTER.replace('"train"', "var.name") + 'variable "name" {}\n'
    text = '{"name": "ENC[AES256_GCM,data:a=]",\n"sops": {"mac": "ENC[]"}}'
    result = check({"main.tf": main, "terraform.tfvars.json": text})
    (cluster,) = result.world.inventory.clusters
    assert cluster.name == Unknown("a value of terraform.tfvars.json is encrypted", cluster.name.origin)


@posix
def test_linked_files_are_read_once_under_their_own_path(write: Write) -> None:
    top = write({"z/pod.yaml": POD, "z/main.tf": CLUSTER, "shared/job.yaml": POD.replace("p}", "q}"), "a/x.txt": ""})
    (top / "a/link").symlink_to(top / "z")
    (top / "a/job.yaml").symlink_to("../shared/job.yaml")
    (top / "b").symlink_to("z")
    tree = Tree(["."])
    assert paths(tree) == ["shared/job.yaml", "z/main.tf", "z/pod.yaml"]
    assert [folder.path for folder in tree.folders] == ["z"]


@posix
def test_a_link_out_of_the_repository_keeps_its_path_where_it_is_allowed(write: Write, tmp_path: Path) -> None:
    write({"elsewhere/pod.yaml": POD, "repository/x.txt": ""})
    os.chdir(tmp_path / "repository")
    (tmp_path / "repository/k8s").symlink_to("../elsewhere")
    assert paths(Tree(["."], boundary=around(["."], ["../elsewhere"]))) == ["k8s/pod.yaml"]
    refused = Tree(["."])
    assert paths(refused) == []
    assert [skipped.path for skipped in refused.skipped] == ["k8s"]


@posix
def test_a_linked_file_keeps_the_name_by_which_terraform_reads_it(check: Check, write: Write) -> None:
    variable = CLUSTER.replace('"train"', "var.name") + 'variable "name" {}\n'
    top = write({"shared/common.tfvars": 'name = "big"\n', "a/main.tf": variable})
    (top / "a/terraform.tfvars").symlink_to("../shared/common.tfvars")
    (cluster,) = check({}).world.inventory.clusters
    assert cluster.name.value == "big"  # type: ignore[union-attr]
    assert cluster.name.origin.written.source.path == "shared/common.tfvars"  # type: ignore[union-attr]
