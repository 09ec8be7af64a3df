"""Test commands, exit codes and formats."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner
from msgspec.structs import replace

from kcheck import __version__
from kcheck.commands.cli import cli, main
from kcheck.engine import linter
from tests.output_schemas import check_all_fields, check_fields

if TYPE_CHECKING:
    from pathlib import Path

    from click.testing import Result

    from tests.conftest import Write

pytestmark = pytest.mark.medium

CLUSTER = """\
variable "most" {
  type = number
}

resource "azurerm_subnet" "nodes" {
  name             = "nodes"
  address_prefixes = ["10.0.0.0/20"]
}

resource "azurerm_kubernetes_cluster" "main" {
  name = "größe" # names may be longer in bytes than in characters

  default_node_pool {
    name           = "system"
    node_count     = 20
    vnet_subnet_id = azurerm_subnet.nodes.id
  }

  network_profile {
    network_plugin = "kubenet"
  }
}
"""
POOL = """
resource "azurerm_kubernetes_cluster_node_pool" "more" {
  name                  = "more"
  kubernetes_cluster_id = azurerm_kubernetes_cluster.main.id
  vnet_subnet_id        = azurerm_subnet.nodes.id
  node_count            = var.most
}
"""


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli, list(arguments))


def report(*arguments: str) -> dict[str, Any]:
    result = run("check", "--format", "json", *arguments)
    data: dict[str, Any] = json.loads(result.stdout)
    check_fields("report", data)
    return data


@pytest.fixture
def cluster(write: Write) -> Path:
    return write({"main.tf": CLUSTER})


@pytest.mark.usefixtures("cluster")
@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["check", "."], 1),
        (["check"], 1),
        (["check", ".", "--fail-on", "error"], 0),
        (["check", ".", "--fail-on", "never"], 0),
        (["check", ".", "--nodes", "500", "--fail-on", "error"], 1),
        (["check", "nowhere"], 2),
        (["check", ".", "--nodes", "many"], 2),
        (["check", ".", "--price", "cheap"], 2),
        (["check", ".", "--var-file", "nowhere.tfvars"], 2),
        (["check", ".", "--format", "xml"], 2),
        (["explain", "nothing"], 2),
        (["fix", ".", "--select", "nothing"], 2),
        (["eval", "1 + 1"], 0),
        (["eval", "var.most"], 1),
        (["eval", "1 +"], 1),
        (["rules"], 0),
        (["explain", "subnet-too-small"], 0),
        (["show", "."], 0),
        (["--version"], 0),
    ],
)
def test_exit_code_depends_on_the_findings(arguments: list[str], code: int, monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    from kcheck.commands.cli import main

    monkeypatch.setattr(sys, "argv", ["kcheck", *arguments])
    with pytest.raises(SystemExit) as stop:
        main()
        sys.exit(0)
    assert stop.value.code == code


def test_the_json_report_has_every_field_of_its_schema(write: Write) -> None:
    module = 'module "network" {\n  source = "git::https://example.com/network"\n}\n'
    write({"main.tf": CLUSTER + POOL + module, "b/main.tf": CLUSTER + POOL, "b/prod.tfvars": "most = 3\n"})
    check_all_fields("report", report(".", "--info"))


@pytest.mark.usefixtures("cluster")
def test_the_json_report_has_places_objects_and_fixes() -> None:
    data = report(".", "--info")
    finding = next(f for f in data["findings"] if f["rule"] == "kubenet-retiring")
    assert finding["path"] == "main.tf"
    assert (finding["line"], finding["column"], finding["end_line"], finding["end_column"]) == (20, 22, 20, 31)
    assert finding["object"] == "aks/azurerm_kubernetes_cluster.main"
    assert finding["fix"] == {
        "safety": "unsafe",
        "title": 'set network_plugin = "azure", add network_plugin_mode = "overlay"',
    }
    assert data["summary"]["warning"] == 2
    order = [(f["path"], f["line"], f["column"], f["rule"]) for f in data["findings"]]
    assert order == sorted(order)


def test_an_undecided_check_names_the_missing_input(write: Write) -> None:
    write({"main.tf": CLUSTER + POOL})
    data = report(".")
    waiting = {check["rule"]: check["missing"] for check in data["undecided"]}
    assert waiting["subnet-too-small"] == ["var.most has no value"]
    assert data["summary"]["unknown_inputs"] == 1
    text = run("check", ".", "--show-undecided").stdout
    assert "main.tf:5 subnet-too-small: var.most has no value" in text
    assert "1 input unknown" in text


def test_var_file_and_nodes_options_decide_checks(write: Write) -> None:
    write({"main.tf": CLUSTER + POOL, "big.tfvars": "most = 390\n"})
    rules = {finding["rule"] for finding in report(".", "--var-file", "big.tfvars")["findings"]}
    assert "kubenet-beyond-400-nodes" in rules
    rules = {finding["rule"] for finding in report(".", "--var-file", "big.tfvars", "--nodes", "größe=50")["findings"]}
    assert "kubenet-beyond-400-nodes" not in rules


@pytest.mark.usefixtures("cluster")
def test_a_smaller_target_silences_findings_above_it() -> None:
    assert "free-control-plane" in {f["rule"] for f in report(".")["findings"]}
    assert "free-control-plane" not in {f["rule"] for f in report(".", "--nodes", "5")["findings"]}


@pytest.mark.slow
def test_the_price_option_turns_hours_into_money(write: Write) -> None:
    text = CLUSTER.replace(
        "node_count     = 20", "auto_scaling_enabled = true\n    min_count = 0\n    max_count = 1000"
    )
    write({"main.tf": text})
    texts = {f["rule"]: "\n".join(f["details"]) for f in report(".", "--price", "30")["findings"]}
    # five minutes less on 1,000 nodes are 83.3 node-hours: 2,500 USD at 30, give or take what waits for its deletion
    saved = re.search(
        r"(\d+) to (\d+) node-hours of .*\n\$([\d,]+) to \$([\d,]+) per run\n.* at \$30 per node-hour",
        texts["idle-nodes-kept-long"],
    )
    assert saved, texts["idle-nodes-kept-long"]
    least, most, *dollars = (int(text.replace(",", "")) for text in saved.groups())
    assert 70 <= least <= most <= 95
    assert dollars == [pytest.approx(hours * 30, abs=40) for hours in (least, most)]
    texts = {f["rule"]: "\n".join(f["details"]) for f in report(".")["findings"]}
    assert "$" not in texts["idle-nodes-kept-long"]


@pytest.mark.parametrize(
    ("place", "silent"),
    [
        ("same line", True),
        ("line above", True),
        ("first line of the block", True),
        ("first line of the inner block", True),
        ("above the inner block", True),
        ("end of the line above", False),
        ("another line", False),
        ("no reason", False),
        ("another rule", False),
    ],
)
def test_suppressed_findings_are_not_reported(place: str, silent: bool, write: Write) -> None:
    comment = "# kcheck: ignore[kubenet-retiring] moves with the next cluster"
    line = '    network_plugin = "kubenet"\n'
    text = {
        "same line": CLUSTER.replace(line, f"{line[:-1]} {comment}\n"),
        "line above": CLUSTER.replace(line, f"    {comment}\n{line}"),
        "first line of the inner block": CLUSTER.replace(f"profile {{\n{line}", f"profile {{ {comment}\n\n{line}"),
        "above the inner block": CLUSTER.replace("  network_profile {\n", f"  {comment}\n  network_profile {{\n\n"),
        "end of the line above": CLUSTER.replace(line, f'    pod_cidr = "10.0.0.0/8" {comment}\n{line}'),
        "first line of the block": CLUSTER.replace('"main" {\n', f'"main" {{ {comment}\n'),
        "another line": f"{comment}\n\n{CLUSTER}",
        "no reason": CLUSTER.replace(line, f"{line[:-1]} # kcheck: ignore[kubenet-retiring]\n"),
        "another rule": CLUSTER.replace(line, f"{line[:-1]} {comment.replace('retiring', 'beyond-400-nodes')}\n"),
    }[place]
    write({"main.tf": text})
    rules = [finding["rule"] for finding in report(".", "--info")["findings"]]
    assert ("kubenet-retiring" not in rules) == silent
    assert ("suppression-without-reason" in rules) == (place == "no reason")
    assert ("unused-suppression" in rules) == (place in ("end of the line above", "another line", "another rule"))


@pytest.mark.usefixtures("cluster")
def test_eval_prints_value_and_reason_and_origins() -> None:
    answer = json.loads(run("eval", "azurerm_subnet.nodes.address_prefixes[0]").stdout)
    assert answer == {"value": "10.0.0.0/20", "known": True, "reason": None, "origins": ["main.tf:7:23"]}
    answer = json.loads(run("eval", "var.most + 1").stdout)
    assert (answer["known"], answer["reason"]) == (False, "var.most has no value")


@pytest.mark.parametrize(
    ("arguments", "value"),
    [
        (["-5 + 2"], -3),
        (["--", "-5 + 2"], -3),
        (["-5"], -5),
        (["-(1 + 1)", "--root", "."], -2),
        (["--root", ".", "-length([1])"], -1),
        (["-tonumber(var.n)", "--var", "n=-4"], 4),
        (["- 5"], -5),
    ],
)
def test_eval_accepts_expressions_that_begin_with_a_minus(arguments: list[str], value: int, write: Write) -> None:
    write({"main.tf": 'variable "n" {}\n'})
    result = run("eval", *arguments)
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["value"] == value


@pytest.mark.parametrize("option", ["--rot", "-x", "-var", "--rot=.", "-var-file=a.tfvars"])
def test_eval_refuses_options_that_do_not_exist(option: str) -> None:
    result = run("eval", option, "1 + 1")
    assert result.exit_code == 2
    assert "No such option" in result.output


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (["chek"], "there is no command chek; did you mean check?"),
        (["capcity", "."], "did you mean capacity?"),
        (["xyzzy"], "there is no command xyzzy; known are check, fix, baseline"),
        (["."], "there is no command .; did you mean kcheck check .?"),
        (["check", "--formt", "json"], "--format"),
        (["simulate", "--what"], "--what-if"),
    ],
)
def test_mistyped_names_get_the_nearest_suggestion(arguments: list[str], hint: str) -> None:
    result = run(*arguments)
    assert result.exit_code == 2
    assert hint in result.output


@pytest.mark.usefixtures("cluster")
def test_fix_with_output_writes_copies(tmp_path: Path) -> None:
    before = (tmp_path / "main.tf").read_bytes()
    result = run("fix", ".", "--unsafe-fixes", "--output", "out")
    assert result.exit_code == 0
    assert (tmp_path / "main.tf").read_bytes() == before
    assert b"overlay" in (tmp_path / "out" / "main.tf").read_bytes()


@pytest.mark.usefixtures("cluster")
def test_a_bug_in_a_rule_gives_exit_3_and_other_rules_run(monkeypatch: pytest.MonkeyPatch) -> None:
    from kcheck.engine import rules

    broken = [
        replace(rule, problem="cluster.target + 'a' == 1", when="") if rule.name == "free-control-plane" else rule
        for rule in rules.load()
    ]
    monkeypatch.setattr(rules, "load", lambda: tuple(broken))
    result = run("check", ".")
    assert result.exit_code == 3
    assert "free-control-plane" in result.stderr
    assert "kubenet-retiring" in result.stdout


@pytest.mark.usefixtures("cluster")
def test_users_never_see_a_traceback(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    import sys

    from kcheck.commands.cli import main
    from kcheck.engine import linter

    def fail(*_: object) -> None:
        raise ZeroDivisionError("boom")

    monkeypatch.setattr(linter, "Linter", fail)
    monkeypatch.setattr(sys, "argv", ["kcheck", "check", "."])
    with pytest.raises(SystemExit) as stop:
        main()
    assert stop.value.code == 3
    assert "Traceback" not in capsys.readouterr().err


def test_an_interrupted_run_ends_without_a_traceback(
    write: Write, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    write({"main.tf": CLUSTER})
    monkeypatch.setattr(linter.Linter, "result", interrupt)
    monkeypatch.setattr(sys, "argv", ["kcheck", "check"])
    with pytest.raises(SystemExit) as stop:
        main()
    assert stop.value.code == 130
    assert capfd.readouterr().err == "\n"


def test_help_is_printed_in_groups() -> None:
    from kcheck.commands.cli import _GROUPS, COMMANDS

    assert sorted(" ".join(_GROUPS.values()).split()) == sorted(COMMANDS)
    sections = re.findall(r"(?m)^(\w[\w ]*):$", CliRunner().invoke(cli, ["check", "--help"]).stdout)
    assert sections == ["Options", "What is read", "What is known"]


def test_one_manifest_can_be_read_from_stdin(write: Write) -> None:
    write({"kcheck.yaml": "ignore: [job-without-deadline]\n"})
    run = CliRunner().invoke(cli, ["check", "-", "--info", "--format", "concise"], input=JOB)
    assert run.stdout.splitlines()[0].startswith("-:4:")
    assert "1 workload checked." in run.stdout
    assert CliRunner().invoke(cli, ["check", "-"], input="").stderr.startswith("kcheck: nothing relevant here")


def test_a_manifest_on_stdin_gets_the_advice_of_a_file() -> None:
    text = JOB.replace("{template", "{paralelism: 3, template")
    run = CliRunner().invoke(cli, ["check", "-", "--select", "unknown-field"], input=text)
    assert "= fix (unsafe): rename paralelism to parallelism" in run.stdout


JOB = """\
apiVersion: batch/v1
kind: Job
metadata: {name: a}
spec: {template: {spec: {restartPolicy: Never, containers: [{name: a, image: "k8s.gcr.io/pause:3.1"}]}}}
"""


def test_lists_of_rules_are_split_at_commas(write: Write) -> None:
    write({"a.yaml": JOB})
    every = CliRunner().invoke(cli, ["check", ".", "--info", "-q"]).stdout
    assert "retired-registry" in every
    assert "missing-requests" in every
    some = CliRunner().invoke(cli, ["check", ".", "--info", "-q", "--ignore", "missing-requests, retired-registry"])
    assert "retired-registry" not in some.stdout
    assert "missing-requests" not in some.stdout
    wrong = CliRunner().invoke(cli, ["check", ".", "--select", "missing-requests,nope"])
    assert (wrong.exit_code, "there is no rule nope" in wrong.stderr) == (2, True)


def test_findings_below_the_minimum_severity_are_hidden(write: Write) -> None:
    write({"main.tf": CLUSTER, "a.yaml": JOB})
    every = CliRunner().invoke(cli, ["check", ".", "-q", "--min-severity", "info"]).stdout
    assert every == CliRunner().invoke(cli, ["check", ".", "-q", "--info"]).stdout
    errors = CliRunner().invoke(cli, ["check", ".", "--min-severity", "error"]).stdout
    assert "hidden (--min-severity)" in errors
    assert "missing-requests" not in errors


@pytest.mark.medium
def test_python_runs_kcheck_as_a_module() -> None:
    run = subprocess.run([sys.executable, "-m", "kcheck", "--version"], capture_output=True, text=True, check=True)
    assert run.stdout == f"kcheck, version {__version__}\n"


def test_concise_findings_have_colours_and_stay_on_one_line(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    write({"a.yaml": JOB.replace("k8s.gcr.io/pause:3.1", "bitnami/kubectl:1.30")})
    plain = CliRunner().invoke(cli, ["check", "--format", "concise", "--info", "-q"]).stdout
    monkeypatch.setenv("COLUMNS", "60")
    drawn = CliRunner().invoke(cli, ["--color", "always", "check", "--format", "concise", "--info", "-q"]).stdout
    assert "\x1b[1;33mwarning\x1b[0m" in drawn
    assert re.sub(r"\x1b\[[\d;]*m", "", drawn) == plain
