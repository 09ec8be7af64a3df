"""Test where variables get their values, and the reports on missing values."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

from kcheck.addons.console import evaluate
from kcheck.commands.cli import cli
from kcheck.config import settings
from kcheck.config.config import Config
from kcheck.engine import linter
from kcheck.inventory import reader
from kcheck.text.files.tree import Tree

if TYPE_CHECKING:
    from tests.conftest import Write

DECLARED = """
variable "text" {}
variable "size" { type = number }
variable "zones" { type = list(string) }
variable "any" { type = any }
"""


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("text=a b=c", "a b=c"),
        ('text="quoted"', '"quoted"'),
        ("text=[1]", "[1]"),
        ("text=", ""),
        ("size=12", 12),
        ('zones=["a", 1]', ["a", "1"]),
        ("any={a = [true]}", {"a": [True]}),
        ('any="x"', "x"),
    ],
)
@pytest.mark.parametrize("way", ["--var", "TF_VAR_"])
def test_variable_texts_are_read_by_their_type(
    given: str, expected: Any, way: str, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    write({"main.tf": DECLARED})
    name, _, text = given.partition("=")
    if way == "--var":
        answer = evaluate(f"var.{name}", ".", Config(variables={name: text}))
    else:
        monkeypatch.setenv(way + name, text)
        assert not evaluate(f"var.{name}", ".", Config())["known"]  # only with a flag
        answer = evaluate(f"var.{name}", ".", Config(env_vars=True))
    assert answer["value"] == expected
    assert answer["origins"][0].startswith(way)


def test_the_last_file_that_sets_a_variable_wins(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    names = "abcdef"
    files = {
        "terraform.tfvars": "bcdef", "terraform.tfvars.json": "cdef", "m.auto.tfvars": "def", "p.tfvars": "ef",
    }  # fmt: skip
    write(
        {"main.tf": "".join(f'variable "{n}" {{}}\n' for n in names)}
        | {
            path: "{" + ", ".join(f'"{n}": "{path}"' for n in own) + "}"
            if path.endswith("json")
            else "".join(f'{n} = "{path}"\n' for n in own)
            for path, own in files.items()
        }
    )
    for name in names:
        monkeypatch.setenv(f"TF_VAR_{name}", "environment")
    config = Config(var_files=("p.tfvars",), variables={"f": "flag"}, env_vars=True)
    values = [evaluate(f"var.{name}", ".", config)["value"] for name in names]
    assert values == ["environment", *files, "flag"]


SIZED = """
variable "size" {
  type = number
}
resource "azurerm_kubernetes_cluster" "main" {
  name     = "main"
  sku_tier = "Free"
  network_profile {
    network_plugin      = "azure"
    network_plugin_mode = "overlay"
  }
  default_node_pool {
    name                 = "system"
    vm_size              = "Standard_D4s_v5"
    auto_scaling_enabled = true
    min_count            = 1
    max_count            = var.size
  }
}
"""


@pytest.mark.slow
def test_var_flags_reach_the_rules(write: Write) -> None:
    write({"main.tf": SIZED})
    output = CliRunner().invoke(cli, ["check", "--var", "size=1500"]).output
    assert "free-control-plane" in output


@pytest.mark.parametrize(
    ("files", "hint"),
    [
        ({}, "set it with --var size=VALUE"),
        ({"env/prod.tfvars": "size = 3\nother = 1\n"}, "set it with --var-file env/prod.tfvars"),
        ({"env/prod.tfvars.json": '{"size": 3}'}, "set it with --var-file env/prod.tfvars.json"),
        (
            {"a.tfvars": "size = 3\n", "b.tfvars": "size = 4\n", "c.tfvars": "other = 4\n"},
            "set it with --var-file a.tfvars or b.tfvars",
        ),
    ],
)
def test_a_missing_value_is_reported_with_the_way_to_set_it(files: dict[str, str], hint: str, write: Write) -> None:
    write({"main.tf": SIZED, "kcheck.yaml": "clusters: [{root: .}]\n", **files})
    result = linter.run(Tree(["."]), settings.load(["."]))
    assert "var.size has no value" in [one.reason for one in result.judged.inputs]
    assert result.judged.hints == [hint]
    assert hint in CliRunner().invoke(cli, ["check"]).output


SET = """
variable "own" { default = 1 }
variable "later" { default = 1 }
"""


@pytest.mark.parametrize("name", ["a.auto.tfvars", "terraform.tfvars", "a.auto.tfvars.json"])
def test_an_unreadable_var_file_may_set_what_no_later_file_sets(name: str, write: Write) -> None:
    write({"main.tf": SET, name: b"\0GITCRYPT\0", "b.auto.tfvars": "later = 2\n"})
    assert evaluate("var.later", ".", Config())["value"] == 2
    assert evaluate("var.own", ".", Config())["reason"] == f"{name}, which could not be read, may set it"


def test_an_unrequested_var_file_sets_nothing(write: Write) -> None:
    write({"main.tf": SIZED.replace("var.size", "3"), "secret.tfvars": b"\0GITCRYPT\0"})
    result = linter.run(Tree(["."]), Config())
    assert not result.undecided
    assert [one.path for one in result.judged.skipped] == ["secret.tfvars"]


def test_a_dangling_var_file_link_is_reported(write: Write) -> None:
    write({"main.tf": SIZED.replace("var.size", "3")})
    Path("env.auto.tfvars").symlink_to("nowhere.tfvars")
    Path("pools.tf").symlink_to("nowhere.tf")
    result = linter.run(Tree(["."]), Config())
    assert [one.path for one in result.judged.skipped] == ["env.auto.tfvars", "pools.tf"]
    assert {one.reason for one in result.judged.inputs} == {"pools.tf could not be read"}


def test_an_environment_is_named_by_its_folder_and_not_by_terraform_tfvars(write: Write) -> None:
    write({"main.tf": SIZED, "env/test/terraform.tfvars": "size = 3\n", "env/prod.tfvars": "size = 4\n"})
    clusters = reader.read(Tree(["."]), Config()).inventory.clusters
    assert [one.environment for one in clusters] == ["prod", "test"]


LARGE = {"main.tf": SIZED, "envs/dev.tfvars": "size = 3\n", "envs/prod.tfvars": "size = 1500\n"}


def test_var_files_next_to_a_root_are_environments(write: Write) -> None:
    write(LARGE)
    output = CliRunner().invoke(cli, ["check", "--select", "free-control-plane"]).output
    assert output.count("free-control-plane:") == 1
    assert "serves 1,500 nodes" in output
    assert "2 clusters, 2 pools checked.\nenvironments: envs/dev.tfvars, envs/prod.tfvars; --var-file" in output


@pytest.mark.parametrize(
    ("arguments", "more"),
    [
        (["--var-file", "envs/dev.tfvars"], {}),
        (["--workspace", "dev"], {}),
        ([], {"kcheck.yaml": "clusters: [{root: ., var_files: [envs/dev.tfvars]}]\n"}),
    ],
)
def test_flags_and_settings_narrow_the_environments(arguments: list[str], more: dict[str, str], write: Write) -> None:
    write({**LARGE, **more})
    output = CliRunner().invoke(cli, ["check", *arguments]).output
    assert "free-control-plane" not in output
    assert "1 cluster, 1 pool checked." in output


@pytest.mark.parametrize(
    ("path", "text", "judged"),
    [
        ("tfvars/test.tfvars", "size = 3\n", True),
        ("env/prod/terraform.tfvars", "size = 3\nlater = 1\n", True),
        ("prod.tfvars.json", '{"size": 3}', True),
        ("prod.example.tfvars", "size = 3\n", False),
        ("tests/a.tfvars", "size = 3\n", False),
        ("prod.tfvars", "other = 3\n", False),
    ],
)
def test_only_some_var_files_count_as_environments(path: str, text: str, judged: bool, write: Write) -> None:
    write({"main.tf": SIZED.replace("  type = number", "  default = 2"), path: text})
    assert (f"environments: {path};" in CliRunner().invoke(cli, ["check"]).output) == judged


def test_var_files_below_a_root_are_preferred(write: Write) -> None:
    files = {"infra/main.tf": SIZED, "envs/other.tfvars": "size = 1500\n"}
    write(files)
    assert "environments of infra: envs/other.tfvars;" in CliRunner().invoke(cli, ["check"]).output
    write({**files, "infra/dev.tfvars": "size = 3\n"})
    assert "environments of infra: infra/dev.tfvars;" in CliRunner().invoke(cli, ["check"]).output


def test_environments_are_listed_even_if_none_sets_every_variable(write: Write) -> None:
    write({**LARGE, "more.tf": 'variable "account" {}\n'})
    assert "environments: envs/dev.tfvars, envs/prod.tfvars;" in CliRunner().invoke(cli, ["check"]).output


def test_more_than_a_dozen_environments_are_named(write: Write) -> None:
    write({"main.tf": SIZED, **{f"envs/e{number:02}.tfvars": f"size = {number + 1}\n" for number in range(14)}})
    output = CliRunner().invoke(cli, ["check"]).output
    assert (
        "12 clusters, 12 pools checked.\nenvironments: envs/e00.tfvars, envs/e01.tfvars, envs/e02.tfvars and 9 more;"
        in output
    )
    assert "not read: .: 2 more variable files of this root; --var-file FILE chooses one" in output


@pytest.mark.parametrize(
    ("flag", "message"),
    [
        ("sise=3", "--var sise: no root module declares it; did you mean size?"),
        ("size", "--var size: give a name and a value, such as --var size=100"),
    ],
)
def test_a_malformed_var_option_is_a_usage_error(flag: str, message: str, write: Write) -> None:
    write({"main.tf": SIZED})
    run = CliRunner().invoke(cli, ["check", "--var", flag])
    assert run.exit_code == 2
    assert message in run.output
