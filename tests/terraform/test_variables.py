"""Where variables get their values from, and what is said when one has none."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

from kcheck.commands.cli import cli
from kcheck.config.config import Config
from kcheck.engine import linter
from kcheck.terraform.console import evaluate
from kcheck.text.files.tree import Tree

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

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
def test_texts_are_read_as_the_type_says(
    given: str, expected: Any, way: str, write: Callable[[Mapping[str, str]], Path], monkeypatch: pytest.MonkeyPatch
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


def test_the_last_one_wins(write: Callable[[Mapping[str, str]], Path], monkeypatch: pytest.MonkeyPatch) -> None:
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
def test_flags_reach_the_rules(write: Callable[[Mapping[str, str]], Path]) -> None:
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
def test_says_how_to_give_a_value(files: dict[str, str], hint: str, write: Callable[[Mapping[str, str]], Path]) -> None:
    write({"main.tf": SIZED, **files})
    result = linter.run(Tree(["."]), Config())
    assert "var.size has no value" in result.unknown_inputs()
    assert result.judged.hints == [hint]
    assert hint in CliRunner().invoke(cli, ["check"]).output


@pytest.mark.parametrize(
    ("flag", "message"),
    [
        ("sise=3", "--var sise: no root module declares it; did you mean size?"),
        ("size", "--var size: give a name and a value, such as --var size=100"),
    ],
)
def test_wrong_use(flag: str, message: str, write: Callable[[Mapping[str, str]], Path]) -> None:
    write({"main.tf": SIZED})
    run = CliRunner().invoke(cli, ["check", "--var", flag])
    assert run.exit_code == 2
    assert message in run.output
