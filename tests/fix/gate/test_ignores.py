"""Test `kcheck ignore`: the place of comments, and exactly which findings they silence."""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from kcheck.commands.cli import cli

if TYPE_CHECKING:
    from click.testing import Result

    from tests.conftest import Write


pytestmark = pytest.mark.medium

REASON = "as it was on Monday"
CLUSTER = """\
resource "azurerm_kubernetes_cluster" "main" {
  name     = "train"
  sku_tier = "Free"

  default_node_pool {
    name       = "system"
    node_count = 30
  }

  network_profile {
    network_plugin = "kubenet"
  }
}
"""
JOB = """\
apiVersion: batch/v1
kind: Job
metadata:
  name: a
spec:
  template:
    spec:
      restartPolicy: Never
      containers:
        - name: train
          image: registry.example.com/train:1.0
          resources:
            limits:
              nvidia.com/gpu: 8
"""


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["check", *arguments])


def ignore(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["ignore", *arguments])


def found() -> list[str]:
    data = json.loads(run("--format", "json").stdout)
    return [item["rule"] for item in data["findings"]]


def silenced(name: str, text: str, write: Write, **more: str) -> str:
    """Return a file after `kcheck ignore` silenced all of its findings; assert that only comments were added."""
    folder = write({name: text, **more})
    assert found()
    result = ignore(REASON)
    assert (result.exit_code, result.stdout) == (0, ""), result.output
    assert found() == []
    with (folder / name).open(newline="") as file:
        after = file.read()
    before, lines = text.splitlines(), after.splitlines()
    bare = [line.split(" # kcheck: ")[0] for line in lines if not line.strip().startswith("# kcheck: ")]
    assert bare == [line.split(" # kcheck: ")[0] for line in before]
    return after


def added(before: str, after: str) -> list[str]:
    return [line for line in after.splitlines() if line not in before.splitlines()]


def test_ignore_comments_go_after_a_value_or_above_a_block(write: Write) -> None:
    assert added(CLUSTER, silenced("main.tf", CLUSTER, write)) == [
        f'  sku_tier = "Free" # kcheck: ignore[free-control-plane] {REASON}',
        f'    network_plugin = "kubenet" # kcheck: ignore[kubenet-retiring] {REASON}',
    ]
    text = CLUSTER.replace('  sku_tier = "Free"\n', "")
    assert silenced("main.tf", text, write).startswith(f"# kcheck: ignore[free-control-plane] {REASON}\nresource ")


def test_a_comment_is_added_above_a_yaml_line(write: Write) -> None:
    assert added(JOB, silenced("job.yaml", JOB, write)) == [
        f"              # kcheck: ignore[missing-shared-memory] {REASON}"
    ]


@pytest.mark.parametrize(
    ("comment", "expected"),
    [
        (" # because", f" # because # kcheck: ignore[kubenet-retiring] {REASON}"),
        (
            " # kcheck: ignore[pod-range-too-small] small",
            " # kcheck: ignore[pod-range-too-small, kubenet-retiring] small",
        ),
        (" # kcheck: ignore[kubenet-retiring]", f" # kcheck: ignore[kubenet-retiring] {REASON}"),
        (" # kcheck: ignore[]  ", f" # kcheck: ignore[kubenet-retiring] {REASON}"),
    ],
)
def test_an_ignore_comment_is_added_next_to_other_comments(comment: str, expected: str, write: Write) -> None:
    line = '    network_plugin = "kubenet"'
    text = CLUSTER.replace("30", "300").replace(line, line + comment)
    folder = write({"main.tf": text})
    ignore(REASON)
    assert f"{line}{expected}\n" in (folder / "main.tf").read_text()
    assert not {"kubenet-retiring", "suppression-without-reason"} & set(found())


def test_several_rules_share_one_comment(write: Write) -> None:
    text = CLUSTER.replace('  sku_tier = "Free"\n', "").replace('    network_plugin = "kubenet"\n', "")
    text = text.replace("node_count = 30", "node_count = 300")
    after = silenced("main.tf", text, write)
    assert after.count("# kcheck: ignore[") == len(added(text, after))


def test_a_comment_is_added_to_a_list_of_several_lines(write: Write) -> None:
    text = """\
resource "azurerm_subnet" "nodes" {
  name = "nodes"
  address_prefixes = [
    "10.0.0.0/28",
  ]
}
"""
    cluster = CLUSTER.replace("    node_count", "    vnet_subnet_id = azurerm_subnet.nodes.id\n    node_count")
    cluster = cluster.replace('"kubenet"', '"azure"').replace('"Free"', '"Standard"')
    after = silenced("main.tf", cluster + text, write)
    assert f'    # kcheck: ignore[subnet-too-small] {REASON}\n    "10.0.0.0/28",\n' in after


def test_a_heredoc_is_left_alone(write: Write) -> None:
    """Text in a heredoc is part of a value, so the block around it gets the comment."""
    text = 'resource "kubectl_manifest" "job" {\n  yaml_body = <<-EOT\n' + "".join(
        f"    {line}\n" for line in JOB.splitlines()
    )
    after = silenced("main.tf", text + "  EOT\n}\n", write)
    assert after.startswith(f"# kcheck: ignore[missing-shared-memory] {REASON}\nresource ")
    assert after.count("kcheck") == 1


def test_a_text_block_in_yaml_is_left_alone(write: Write) -> None:
    text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\ndata:\n  volcano-scheduler.conf: |\n    a: b\n"
    job = JOB.replace("name: a\n", "name: 'a\n\n    b'\n", 1)
    folder = write({"job.yaml": job, "map.yaml": text})
    ignore(REASON)
    assert "    # kcheck" not in (folder / "job.yaml").read_text().partition("spec:")[0]


def test_files_without_comments_get_an_entry_in_the_settings(write: Write) -> None:
    job = {
        "apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "a"},
        "spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [
            {"name": "a", "image": "quay.io/a/b:1", "resources": {"limits": {"nvidia.com/gpu": 8}}}]}}},
    }  # fmt: skip
    folder = write({"job.json": json.dumps(job, indent=1)})
    before = (folder / "job.json").read_text()
    result = ignore('say "why"')
    assert (folder / "job.json").read_text() == before
    assert "missing-shared-memory: not silenced: job.json cannot hold comments" in result.stderr
    entry = result.stderr.partition("add to kcheck.yaml:\n")[2]
    write({"kcheck.yaml": entry})
    assert found() == []


def test_a_file_with_a_comment_that_is_not_unicode_is_not_changed(write: Write) -> None:
    folder = write({"main.tf": b"# kcheck: ignore[caf\xe9] x\n" + CLUSTER.encode()})
    result = run()
    assert "Suppression names caf\ufffd, which is not a rule" in result.stdout
    assert "not silenced" in ignore(REASON).stderr
    assert sorted(found()) == ["unreadable-file", "unused-suppression"]
    assert (folder / "main.tf").read_bytes().startswith(b"# kcheck: ignore[caf\xe9] x\n")


def test_generated_and_third_party_files_get_no_ignore_comment(write: Write) -> None:
    folder = write({"main.tf": f"# Code generated by a tool. DO NOT EDIT.\n{CLUSTER}", "vendor/x.tf": CLUSTER})
    before = (folder / "main.tf").read_text()
    result = ignore(REASON)
    assert (folder / "main.tf").read_text() == before
    assert "not silenced: it is in main.tf, which is generated" in result.stderr


def test_rules_that_cannot_be_ignored_get_no_comment(write: Write) -> None:
    write({"main.tf": CLUSTER, "kcheck.yaml": "not_ignorable: [free-control-plane]\n"})
    result = ignore(REASON)
    assert "free-control-plane: not silenced: it cannot be ignored (not_ignorable in kcheck.yaml:1)" in result.stderr
    assert found() == ["free-control-plane"]


def test_unreadable_files_get_no_ignore_comment(write: Write) -> None:
    folder = write({"main.tf": CLUSTER + "resource {\n"})
    ignore(REASON)
    assert "unreadable-file" in found()
    assert "ignore[unreadable-file]" not in (folder / "main.tf").read_text()


@pytest.mark.parametrize("reason", ["", "  ", "two\nlines", "a\ttab"])
def test_adding_ignores_needs_a_reason(reason: str, write: Write) -> None:
    folder = write({"main.tf": CLUSTER})
    result = ignore(reason)
    assert result.exit_code == 2
    assert "expected a reason" in result.stderr
    assert (folder / "main.tf").read_text() == CLUSTER


@pytest.mark.parametrize("change", [("\n", "\r\n"), ("  ", "\t")])
def test_adding_ignores_keeps_line_ends_and_style(change: tuple[str, str], write: Write) -> None:
    after = silenced("main.tf", CLUSTER.replace(*change), write)
    assert after.count("\r\n") == (after.count("\n") if change[1] == "\r\n" else 0)
    after = silenced("main.tf", CLUSTER.replace('  sku_tier = "Free"\n', "").replace(*change), write)
    assert after.count("\r\n") == (after.count("\n") if change[1] == "\r\n" else 0)


def test_terraform_fmt_accepts_added_ignore_comments(write: Write, terraform: str) -> None:
    text = CLUSTER.replace("{\n", "{ # a comment\n", 1).replace('"Free"', '"Free" # cheap')
    subprocess.run([terraform, "fmt", "-check", "-diff", "-"], input=text, text=True, check=True, capture_output=True)
    after = silenced("main.tf", text, write)
    subprocess.run([terraform, "fmt", "-check", "-diff", "-"], input=after, text=True, check=True, capture_output=True)


def test_infos_are_ignored_only_with_the_info_flag(write: Write) -> None:
    folder = write({"job.yaml": JOB, "kcheck.yaml": "severity: {missing-shared-memory: info}\n"})
    ignore(REASON)
    assert (folder / "job.yaml").read_text() == JOB
    ignore(REASON, "--info")
    assert "missing-shared-memory" in (folder / "job.yaml").read_text()


def test_the_ignore_comment_goes_into_the_call_of_a_module(write: Write) -> None:
    call = 'module "k" {\n  source = "./k"\n  tier   = "Free"\n}\n'
    module = CLUSTER.replace('"Free"', "var.tier").replace("kubenet", "azure") + 'variable "tier" {}\n'
    folder = write({"main.tf": call, "k/main.tf": module})
    assert ignore(REASON).exit_code == 0
    assert f'  tier   = "Free" # kcheck: ignore[free-control-plane] {REASON}\n' in (folder / "main.tf").read_text()
    assert (folder / "k/main.tf").read_text() == module


def test_ignores_are_previewed_as_a_diff(write: Write) -> None:
    folder = write({"main.tf": CLUSTER})
    result = ignore(REASON, "--diff")
    assert "kcheck: would silence 2 findings in 1 file." in result.stderr
    assert (folder / "main.tf").read_text() == CLUSTER
    subprocess.run(["git", "apply"], input=result.stdout, text=True, check=True, cwd=folder)
    assert found() == []
