"""Test kcheck.yaml and [tool.kcheck]: how they are found, what they change, and their errors."""

from __future__ import annotations

import contextlib
import json
import re
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest
import yaml
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from kcheck.commands.cli import cli
from kcheck.config import settings
from kcheck.config.config import Config, ConfigError
from kcheck.config.effective import effective_config
from kcheck.engine import linter
from kcheck.text.files.patterns import matches
from kcheck.text.files.tree import Tree
from kcheck.text.findings import Severity
from tests.places import ROOT

if TYPE_CHECKING:
    from tests.conftest import Write


CLUSTER = """
resource "azurerm_kubernetes_cluster" "main" {
  name = "train"

  default_node_pool {
    name       = "system"
    node_count = 300
  }

  network_profile {
    network_plugin = "kubenet"
  }
}
"""
SIZED = """
variable "nodes" {
  type = number
}

resource "azurerm_kubernetes_cluster" "main" {
  name     = "train-${var.nodes}"
  sku_tier = "Free"

  default_node_pool {
    name       = "system"
    node_count = var.nodes
  }
}
"""

KUBENET = 'network_plugin = "kubenet"'


def rules(config: Any = None, paths: list[str] | None = None) -> list[str]:
    config = config or settings.load(paths or ["."])
    tree = Tree(paths or ["."], exclude=config.exclude)
    return [finding.rule for finding in linter.run(tree, config).findings if finding.severity]


# --- where


def test_settings_come_from_the_nearest_common_folder(write: Write) -> None:
    write(
        {
            "kcheck.yaml": "nodes: 10\n",
            "infra/kcheck.yaml": "nodes: 20\n",
            "infra/prod/main.tf": CLUSTER,
            "x/main.tf": "",
        }
    )
    assert settings.load(["infra/prod"]).nodes == {"": 20}
    assert settings.load(["infra/prod/main.tf"]).nodes == {"": 20}
    assert settings.load(["x"]).nodes == {"": 10}
    assert settings.load(["x", "infra/prod"]).nodes == {"": 10}
    assert settings.load([]).nodes == {"": 10}


def test_the_search_for_settings_ends_at_the_repository(write: Write) -> None:
    write({"kcheck.yaml": "nodes: 10\n", "repo/.git/HEAD": "", "repo/main.tf": ""})
    assert settings.load(["repo"]) == Config()


def test_settings_are_read_from_pyproject(write: Write) -> None:
    write({
        "pyproject.toml": '[project]\nname = "x"\n\n[tool.kcheck]\nnodes = 30\nprice = 1.5\nfail-on = "error"\n\n'
        '[[tool.kcheck.suppressions]]\nrule = "kubenet-retiring"\nreason = "known"\nexpires = 2099-01-01\n',
    })  # fmt: skip
    found = settings.load(["."])
    assert (found.nodes, found.price, found.fail_on) == ({"": 30}, 150, "error")
    assert str(found.accepted[0].expires) == "2099-01-01"
    assert found.places["nodes"] == "pyproject.toml:5"


def test_a_pyproject_without_a_kcheck_table_is_skipped(write: Write) -> None:
    write({"kcheck.yaml": "nodes: 10\n", "app/pyproject.toml": '[project]\nname = "tool.kcheck"\n'})
    assert settings.load(["app"]).nodes == {"": 10}


def test_a_settings_file_that_is_too_large_is_refused(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kcheck.text.files.disk.MAX_BYTES", 20)
    write(
        {"a/kcheck.yaml": "nodes: 10 # 789 123456789\n", "b/pyproject.toml": "[tool.kcheck]\nnodes = 10\n#" + "x" * 30}
    )
    with pytest.raises(ConfigError, match=r"a/kcheck\.yaml: too large for a settings file"):
        settings.load(["a"])
    with pytest.raises(ConfigError, match=r"b/pyproject\.toml: too large"):
        settings.load(["b"])


def test_paths_in_settings_are_relative_to_the_settings_file(write: Write) -> None:
    write(
        {
            "infra/kcheck.yaml": "var_files: [prod.tfvars]\nclusters: [{root: ., var_files: [../x.tfvars]}]\n",
            "infra/main.tf": "",
            "infra/prod.tfvars": "",
            "x.tfvars": "",
        }
    )
    found = settings.load(["infra"])
    assert found.var_files == ("infra/prod.tfvars",)
    assert found.environments[0].root == "infra"
    assert found.environments[0].var_files == ("x.tfvars",)
    assert found.environments[0].name == "x"


# --- what is refused

WRONG = [
    ("noodes: 10\n", "kcheck.yaml:1: there is no setting noodes; did you mean nodes?"),
    ("nodes: many\n", 'kcheck.yaml:1: nodes must be a whole number, not "many"'),
    ("\nnodes: 0\n", "kcheck.yaml:2: nodes must be at least 1"),
    ("nodes: true\n", "kcheck.yaml:1: nodes must be a whole number, not true"),
    ("price: -3\n", "kcheck.yaml:1: price must be more than 0"),
    ("price: .inf\n", "kcheck.yaml:1: price must be a number, not Infinity"),
    ("price: .nan\n", "kcheck.yaml:1: price must be a number, not NaN"),
    ("exclude: vendor\n", 'kcheck.yaml:1: exclude must be a list, not "vendor"'),
    ("exclude:\n  - 7\n", "kcheck.yaml:2: exclude[0] must be a text, not 7"),
    ("severity:\n  kubenet-retiring: fatal\n", 'kcheck.yaml:2: severity.kubenet-retiring must be one of error, warning, info, not "fatal"'),
    ("fail_on: errors\n", 'kcheck.yaml:1: fail_on must be one of error, warning, info, undecided, never, not "errors"'),
    ("clusters:\n  - name: x\n", "kcheck.yaml:2: clusters[0] needs root"),
    ("clusters:\n  - {root: ., rot: 1}\n", "kcheck.yaml:2: there is no setting clusters[0].rot; did you mean root?"),
    ("clusters:\n  - {root: .}\n  - {root: .}\n", "kcheck.yaml:1: clusters: two entries for . need different names"),
    ("limits:\n  eks.pool.quota: {value: 900}\n", "kcheck.yaml:2: limits.eks.pool.quota needs reason"),
    ("suppressions:\n  - rule: x\n    reason: ' '\n", "kcheck.yaml:3: suppressions[0].reason must not be empty"),
    ("suppressions:\n  - {rule: x, reason: z, expires: soon}\n", "kcheck.yaml:2: suppressions[0].expires must look like 2027-01-31, not soon"),
    ("suppressions:\n  - {rule: x, reason: z, expires: 2027-02-31}\n", "kcheck.yaml:2: suppressions[0].expires must look like 2027-01-31, not 2027-02-31"),
    ("limits:\n  '07': 1\n", "kcheck.yaml:2: limits.07 must be a mapping with value and reason, not 1"),
    ("simulation:\n  boot: 95\n", "kcheck.yaml:2: simulation.boot must be a text, not 95"),
    ("mirrors:\n  docker.io: -5%\n", "kcheck.yaml:2: mirrors.docker.io must look like registry.example.com/hub, not -5%"),
    ("simulation:\n  loop: 500 ms\n", "kcheck.yaml:2: simulation.loop must look like 95s, not 500 ms"),
    ("simulation:\n  boots: 95s\n", "kcheck.yaml:2: there is no setting simulation.boots; did you mean boot?"),
    ("simulation: {launch_rate: 0}\n", "kcheck.yaml:1: simulation.launch_rate must be at least 0.001"),
    ("simulation: {stragglers: 2}\n", "kcheck.yaml:1: simulation.stragglers must be at most 1"),
    ("clusters:\n  - {root: .}\n  - root: .\n    name: b\n    simulation: {boot: soon}\n", "kcheck.yaml:5: clusters[1].simulation.boot must look like 95s, not soon"),
    ("select: 1\nnoodes: 2\n", 'kcheck.yaml:1: select must be a list, not 1'),
    ("- nodes\n", 'kcheck.yaml:1: the settings must be a mapping, not ["nodes"]'),
    ("nodes: [\n", "kcheck.yaml:"),
    ("nodes: 1\n---\nnodes: 2\n", "kcheck.yaml:2: expected a single document"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "message"), WRONG, ids=[message for _, message in WRONG])
def test_wrong_settings_are_refused(text: str, message: str, write: Write) -> None:
    write({"kcheck.yaml": text, "main.tf": CLUSTER})
    with pytest.raises(ConfigError) as error:
        settings.load(["."])
    assert str(error.value).startswith(message)
    run = CliRunner().invoke(cli, ["check"])
    assert run.exit_code == 2
    assert "Traceback" not in run.output


def test_all_mistakes_in_settings_are_reported_at_once(write: Write) -> None:
    write({"kcheck.yaml": "noodes: 10\nprice: x\n", "main.tf": ""})
    said = CliRunner().invoke(cli, ["check"]).stderr.splitlines()
    assert said[-2:] == [
        "Error: kcheck.yaml:1: there is no setting noodes; did you mean nodes?",
        'kcheck.yaml:2: price must be a number, not "x"',
    ]
    write(
        {
            "kcheck.yaml": "ignore: [netwrk]\nlimits: {eks.pool.quotas: {value: 1, reason: z}, aks.kubenet.nodes: {value: 9, reason: z}}\n"
        }
    )
    said = CliRunner().invoke(cli, ["check"]).stderr.splitlines()
    assert said[-3:] == [
        "Error: kcheck.yaml:1: ignore: there is no rule netwrk; did you mean network?",
        "kcheck.yaml:2: limits: there is no limit eks.pool.quotas; did you mean eks.pool.quota?",
        "kcheck.yaml:2: limits: aks.kubenet.nodes is a hard limit of 400 nodes; nobody can raise it",
    ]
    write(
        {
            "kcheck.yaml": "price: -3\nclusters: [{root: .}, {root: .}, {root: lost, var_files: [/etc/x]}]\nselect: [netwrk, 7]\n"
            "suppressions:\n  - {rule: kubenet, reason: z, expires: 2027-02-31}\nlimits: {eks.pool.quotas: {value: 1, reason: z}}\n"
        }
    )
    said = CliRunner().invoke(cli, ["check"]).stderr.splitlines()
    assert [line.removeprefix("Error: ") for line in said[3:]] == [
        "kcheck.yaml:1: price must be more than 0",
        "kcheck.yaml:2: clusters: two entries for . need different names",
        "kcheck.yaml:2: clusters: /etc/x is outside of the repository; --allow-outside /etc/x reads it",
        "kcheck.yaml:2: clusters: there is no lost",
        "kcheck.yaml:3: select[1] must be a text, not 7",
        "kcheck.yaml:3: select: there is no rule netwrk; did you mean network?",
        "kcheck.yaml:4: suppressions: there is no rule kubenet; did you mean kubenet-retiring?",
        "kcheck.yaml:5: suppressions[0].expires must look like 2027-01-31, not 2027-02-31",
        "kcheck.yaml:6: limits: there is no limit eks.pool.quotas; did you mean eks.pool.quota?",
    ]
    write({"kcheck.yaml": ""})
    said = CliRunner().invoke(cli, ["check", "--select", "zonal-control-plan,subnet-too-smal,gpu"]).stderr.splitlines()
    assert said[-2:] == [
        "Error: select: there is no rule zonal-control-plan; did you mean zonal-control-plane?",
        "select: there is no rule subnet-too-smal; did you mean subnet-too-small?",
    ]


def test_files_that_kcheck_writes_may_be_missing(write: Write) -> None:
    write({"kcheck.yaml": "baseline: known.json\nusage: {recording: usage.json.gz}\n"})
    assert settings.load(["."]).usage.recording == "usage.json.gz"


def test_whole_numbers_may_be_written_with_a_decimal_point(write: Write) -> None:
    write({"kcheck.yaml": "nodes: 300.0\nprice: 98.5\n"})
    assert settings.load(["."]).nodes == {"": 300}
    assert settings.load(["."]).price == 9850


@pytest.mark.parametrize("price", ["inf", "nan", "+inf"])
def test_nan_and_infinite_toml_numbers_are_refused(price: str, write: Write) -> None:
    write({"pyproject.toml": f"[tool.kcheck]\nprice = {price}\n"})
    with pytest.raises(ConfigError, match="is not a number"):
        settings.load(["."])


_WORDS = st.sampled_from(
    ["clusters", "root", "nodes", "price", "limits", "value", "reason", "expires", "suppressions", "rule"]
)
_DATA = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.sampled_from(["", ".", "2027-02-30"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_WORDS, inner, max_size=4),
)


@pytest.mark.medium
@given(st.dictionaries(_WORDS, _DATA, max_size=4).map(json.dumps) | st.text("clusters:[]{}-&*!|>\n #'\"1."))
def test_any_settings_text_is_read_or_refused(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    file = tmp_path_factory.mktemp("any") / "kcheck.yaml"
    file.write_text(text, encoding="utf-8")
    with contextlib.suppress(ConfigError):  # nothing else may come out
        assert settings.load(["."], str(file)) is not None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("select: [kubenet-retring]\n", "select: there is no rule kubenet-retring; did you mean kubenet-retiring?"),
        ("ignore: [netwrk]\n", "ignore: there is no rule netwrk; did you mean network?"),
        ("severity: {xyzzy: error}\n", "severity: there is no rule xyzzy; `kcheck rules`"),
        ("suppressions: [{rule: kubenet, reason: z}]\n", "suppressions: there is no rule kubenet"),
        ("limits: {eks.pool.quotas: {value: 1, reason: z}}\n", "limits: there is no limit eks.pool.quotas; did you mean eks.pool.quota?"),
        ("limits: {aks.kubenet.nodes: {value: 1000, reason: z}}\n", "limits: aks.kubenet.nodes is a hard limit of 400 nodes"),
        ("rules: [policies]\n", "rules: there is no policies"),
        ("clusters: [{root: nowhere}]\n", "clusters: there is no nowhere"),
        ("var_files: [nowhere.tfvars]\n", "var_files: there is no nowhere.tfvars"),
        ("per_path_ignores: {a: [kubenet]}\n", "per_path_ignores: there is no rule kubenet"),
        ("not_ignorable: [kubenet]\n", "not_ignorable: there is no rule kubenet"),
        ("not_ignorable: [network]\nseverity: {kubenet-retiring: info}\n", "severity: kubenet-retiring cannot be ignored"),
        ("not_ignorable: [network]\nignore: [kubenet-retiring]\n", "ignore: kubenet-retiring cannot be ignored (not_ignorable in kcheck.yaml:1)"),
        ("not_ignorable: [network]\nper_path_ignores: {a: [kubenet-retiring]}\n", "per_path_ignores: kubenet-retiring cannot be"),
        ("not_ignorable: [network]\nsuppressions: [{rule: kubenet-retiring, reason: z}]\n", "suppressions: kubenet-retiring cannot be"),
    ],
)  # fmt: skip
def test_unknown_names_in_settings_are_refused(text: str, message: str, write: Write) -> None:
    write({"kcheck.yaml": text, "main.tf": CLUSTER})
    run = CliRunner().invoke(cli, ["check"])
    assert run.exit_code == 2
    assert message in run.output


DOCUMENTS = [text for text, _ in WRONG] + [
    "",
    "nodes: 5\n",
    "price: 1.5\nvar_files: [a]\nselect: [network]\nignore: []\n",
    "clusters: [{root: a, name: b, var_files: [c], manifests: [d], nodes: 3, price: 2}]\n",
    "limits: {eks.pool.quota: {value: 900, reason: granted}}\nmirrors: {docker.io: r/hub}\nrules: [p]\n",
    "simulation: {boot: 1m35s, launch_rate: 5, stragglers: 0}\nclusters: [{root: a, simulation: {loop: 0.5s}}]\n",
    "suppressions: [{rule: a, path: b, reason: c, expires: '2030-01-01'}]\nfail_on: never\nseverity: {a: info}\n",
]


@pytest.mark.slow
@pytest.mark.parametrize("text", [text for text in DOCUMENTS if not re.search(r"---|\[\n|[.]inf|[.]nan", text)])
def test_the_published_schema_agrees_with_kcheck(text: str, write: Write) -> None:
    """The schema, which editors use, and kcheck accept and refuse the same files, except for dates and uniqueness."""
    write({"kcheck.yaml": text})
    data = yaml.safe_load(text.replace("2027-02-31", "'2027-02-31'"))
    schema = json.loads((ROOT / "profiles" / "settings.schema.json").read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    valid = jsonschema.Draft202012Validator(schema).is_valid(data if data is not None else {})
    try:
        settings.load(["."])
    except ConfigError as error:
        beyond = re.search("expires must look like|need different names|: there is no [abcp]\\b", str(error))
        assert not valid or beyond
    else:
        assert valid


# --- what they change


def test_the_nodes_flag_overrides_the_settings(write: Write) -> None:
    write({"kcheck.yaml": "nodes: 450\n", "main.tf": CLUSTER})
    assert "kubenet-beyond-400-nodes" in rules()
    assert "kubenet-beyond-400-nodes" not in rules(effective_config((".",), None, {"nodes": ("300",)}))
    assert effective_config((".",), None, {"nodes": ("300",)}).places == {"nodes": "--nodes"}


def test_environments_of_one_root_have_separate_targets(write: Write) -> None:
    write({
        "kcheck.yaml": "clusters:\n  - {root: ., var_files: [dev.tfvars]}\n"
        "  - {root: ., var_files: [prod.tfvars], nodes: 900}\n  - {root: ., name: none}\n",
        "main.tf": SIZED, "dev.tfvars": "nodes = 3\n", "prod.tfvars": "nodes = 500\n",
    })  # fmt: skip
    result = linter.run(Tree(["."]), settings.load(["."]))
    targets = {c.environment: result.world.sizes.target(c) for c in result.world.inventory.clusters}
    assert {name: getattr(value, "value", "?") for name, value in targets.items()} == {
        "dev": 3,
        "prod": 900,
        "none": "?",
    }
    finding = next(finding for finding in result.findings if finding.rule == "free-control-plane")
    assert finding.severity is Severity.ERROR  # prod; dev is small enough
    assert finding.object == "aks/.@prod:azurerm_kubernetes_cluster.main"
    assert [related.message for related in finding.related][1:] == ["also aks/.@none:azurerm_kubernetes_cluster.main"]


def test_manifests_belong_to_the_cluster_that_lists_them(write: Write) -> None:
    job = "apiVersion: batch/v1\nkind: Job\nmetadata: {name: j}\nspec: {parallelism: 500, template: {spec: {containers: [{name: a, image: busybox}]}}}\n"
    other = CLUSTER.replace("300", "3").replace('"train"', '"small"')
    write({
        "kcheck.yaml": "clusters:\n  - {root: big, manifests: [jobs/train]}\n  - {root: small, manifests: ['jobs/*/eval*.yaml']}\n",
        "big/main.tf": CLUSTER, "small/main.tf": other, "jobs/train/a.yaml": job, "jobs/x/eval1.yaml": job, "jobs/x/z.yaml": job,
    })  # fmt: skip
    result = linter.run(Tree(["."]), settings.load(["."]))
    inventory = result.world.inventory
    found = {w.place.source.path: inventory.cluster_of.get(w) for w in inventory.workloads}
    assert {path: cluster.root if cluster else None for path, cluster in found.items()} == {
        "jobs/train/a.yaml": "big", "jobs/x/eval1.yaml": "small", "jobs/x/z.yaml": None,
    }  # fmt: skip


def test_settings_exclude_files_and_select_and_ignore_rules(write: Write) -> None:
    write(
        {
            "kcheck.yaml": "exclude: ['**/old', 'b/*.tf']\n",
            "a/main.tf": CLUSTER,
            "a/old/main.tf": CLUSTER,
            "b/main.tf": CLUSTER,
        }
    )
    tree = Tree(["."], exclude=settings.load(["."]).exclude)
    assert [folder.path for folder in tree.folders] == ["a"]
    write({"kcheck.yaml": "select: [network]\nignore: [kubenet-retiring]\n"})
    assert set(rules()) == {"pod-range-too-small"}
    write({"kcheck.yaml": "select: [kubenet-retiring]\nseverity: {kubenet-retiring: info}\nexclude: [b, a/old]\n"})
    config = settings.load(["."])
    found = linter.run(Tree(["."], exclude=config.exclude), config).findings
    assert [(f.rule, f.severity) for f in found] == [("kubenet-retiring", Severity.INFO)]


def test_limits_are_raised_by_the_settings(write: Write) -> None:
    group = 'module "eks" {\n  source = "terraform-aws-modules/eks/aws"\n  version = "~> 21.0"\n  eks_managed_node_groups = { a = { max_size = 700 } }\n}\n'
    write({"main.tf": group})
    assert rules() == ["dns-not-scaled", "pool-over-quota"]
    write({"kcheck.yaml": "limits: {eks.pool.quota: {value: 1000, reason: granted in ticket 7}}\n"})
    assert rules() == ["dns-not-scaled"]


@pytest.mark.parametrize(
    ("limits", "found"),
    [
        ("limits.eks.pool.quota: {value: 900, reason: a}", {"eks.pool.quota": 900}),
        ("pool.quota: {value: 900, reason: a}", {"eks.pool.quota": 900}),
        ("limits.job.large: {value: 9, reason: a}", {"any.job.large": 9}),
        ("eks.cluster.pools: {value: 7, reason: a}\n  cluster.pools: {value: 9, reason: a}", {"aks.cluster.pools": 9, "eks.cluster.pools": 7, "gke.cluster.pools": 9}),
        ("cluster.pool: {value: 9, reason: a}", {"cluster.pool": 9}),
    ],
)  # fmt: skip
def test_limits_have_the_same_names_in_the_settings_and_in_rules(
    limits: str, found: dict[str, int], write: Write
) -> None:
    write({"kcheck.yaml": f"limits:\n  {limits}\n"})
    assert found.items() <= settings.load(["."]).limits.items()


@pytest.mark.medium
def test_a_suppression_silences_only_its_path(write: Write) -> None:
    base = "suppressions:\n  - {rule: kubenet-retiring, reason: next year, path: a}\n"
    write({"kcheck.yaml": base, "a/main.tf": CLUSTER, "b/main.tf": CLUSTER})
    assert sorted(rules()) == [
        "free-control-plane",
        "free-control-plane",
        "kubenet-retiring",
        "pod-range-too-small",
        "pod-range-too-small",
    ]
    write({"kcheck.yaml": base.replace("path: a", "path: c")})
    assert "unused-suppression" in rules()
    write({"kcheck.yaml": base.replace("path: a", "expires: 2001-01-01")})
    found = rules()
    assert found.count("kubenet-retiring") == 2
    assert found.count("expired-suppression") == 1


OWN = """summary: Clusters are named after a team
severity: warning
subject: cluster
problem: "!cluster.name.startsWith('team-')"
at: cluster.name
message: "{cluster.name} is not named after a team"
"""


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("per_path_ignores: {infra: [kubenet-retiring]}\n", False),
        ("per_path_ignores: {'**/main.tf': [control-plane, network]}\n", False),
        ("per_path_ignores: {elsewhere: [kubenet-retiring]}\n", True),
        ("per_path_ignores: {infra: [images]}\n", True),
        ("per_path_ignores: {infra: [network]}\nnot_ignorable: [kubenet-retiring]\n", True),
        ("ignore: [network]\nnot_ignorable: [kubenet-retiring]\n", True),
    ],
)
def test_rules_are_ignored_by_path(text: str, told: bool, write: Write) -> None:
    write({"kcheck.yaml": text, "infra/main.tf": CLUSTER})
    assert ("kubenet-retiring" in rules()) == told


def test_a_rule_that_cannot_be_ignored_is_reported_despite_a_comment(write: Write) -> None:
    text = CLUSTER.replace(KUBENET, f"{KUBENET} # kcheck: ignore[kubenet-retiring] we know")
    assert text != CLUSTER
    write({"kcheck.yaml": "fail_on: error\n", "main.tf": text})
    assert "kubenet-retiring" not in rules()
    write({"kcheck.yaml": "not_ignorable: [network]\n"})
    run = CliRunner().invoke(cli, ["check"])
    assert " kubenet-retiring: " in run.output
    assert "unused-suppression: kubenet-retiring cannot be ignored here" in run.output


def test_suppressions_of_rules_that_did_not_run_are_not_unused(write: Write) -> None:
    comment = "# kcheck: ignore[zonal-control-plane, subnet-too-small] later\n"
    accepted = "suppressions: [{rule: zonal-control-plane, reason: later}]\n"
    write({"main.tf": comment + CLUSTER, "kcheck.yaml": accepted + "ignore: [subnet-too-small]\n"})
    assert rules().count("unused-suppression") == 2
    write({"kcheck.yaml": accepted + "ignore: [subnet-too-small, zonal-control-plane]\n"})
    assert "unused-suppression" not in rules()


def test_groups_are_suppressed(write: Write) -> None:
    comment = f"{KUBENET} # kcheck: ignore[network] known"
    write({"main.tf": CLUSTER.replace(KUBENET, comment)})
    assert not {"kubenet-retiring", "unused-suppression"} & set(rules())
    write({"main.tf": CLUSTER, "kcheck.yaml": "suppressions: [{rule: network, reason: known}]\n"})
    assert not {"kubenet-retiring", "unused-suppression"} & set(rules())
    write({"kcheck.yaml": "suppressions: [{rule: images, reason: known}]\n"})
    assert "unused-suppression" in rules()


def test_suppressions_in_unread_files_are_not_unused(write: Write) -> None:
    write({
        "infra/main.tf": CLUSTER, "deploy/a.yaml": "",
        "kcheck.yaml": "suppressions:\n  - {rule: kubenet-retiring, path: infra, reason: known}\n  - {rule: free-control-plane, reason: known}\n",
    })  # fmt: skip
    assert "unused-suppression" not in rules()
    assert rules(settings.load(["deploy"]), ["deploy"]) == []


def test_a_comment_without_brackets_is_reported(write: Write) -> None:
    write({"main.tf": CLUSTER.replace(KUBENET, f"{KUBENET} # kcheck: ignore we know")})
    assert {"kubenet-retiring", "unused-suppression"} <= set(rules())
    write({"main.tf": CLUSTER.replace(KUBENET, f"{KUBENET} # kcheck: ignored by most")})
    assert "unused-suppression" not in rules()


def test_a_target_for_an_unknown_cluster_is_refused(write: Write) -> None:
    write({"main.tf": CLUSTER})
    run = CliRunner().invoke(cli, ["check", "--nodes", "trian=100"])
    assert run.exit_code == 2
    assert "--nodes trian: there is no such cluster; did you mean train?" in run.output
    assert CliRunner().invoke(cli, ["check", "--nodes", "train=100"]).exit_code == 1


def test_suppressions_of_undecided_checks_are_not_unused(write: Write) -> None:
    text = CLUSTER.replace(KUBENET, "network_plugin = var.plugin # kcheck: ignore[kubenet-retiring] later")
    write({"main.tf": text, "plugin.tf": 'variable "plugin" {}\n', "kcheck.yaml": "nodes: 10\n"})
    assert "unused-suppression" not in rules()
    write({"terraform.tfvars": 'plugin = "azure"\n'})
    assert "unused-suppression" in rules()


def test_custom_rules_are_loaded_from_the_settings(write: Write) -> None:
    write({"kcheck.yaml": "rules: [policy]\n", "policy/naming/name-without-team.yaml": OWN, "main.tf": CLUSTER})
    assert "name-without-team" in rules()
    write({"policy/naming/name-without-team.yaml": OWN.replace('problem: "!cluster.name', 'problem: "!cluster.nam')})
    run = CliRunner().invoke(cli, ["check"])
    assert run.exit_code == 2
    assert "there is no word cluster.nam; did you mean cluster.name?" in run.output
    write({"policy/naming/name-without-team.yaml": "summary: x\n"})
    run = CliRunner().invoke(cli, ["check"])
    assert run.exit_code == 2
    assert "policy/naming/name-without-team.yaml" in run.output
    assert "Traceback" not in run.output


def test_the_fail_on_flag_overrides_the_settings(write: Write) -> None:
    write({"kcheck.yaml": "fail_on: error\nselect: [kubenet-retiring]\n", "main.tf": CLUSTER})
    assert CliRunner().invoke(cli, ["check"]).exit_code == 0
    assert CliRunner().invoke(cli, ["check", "--fail-on", "warning"]).exit_code == 1


def test_config_prints_effective_settings_and_their_origin(write: Write) -> None:
    write({
        "kcheck.yaml": "nodes: 450\nprice: 30\nclusters:\n  - {root: ., var_files: [p.tfvars]}\nmirrors: {docker.io: r.example.com/hub/}\n"
        "suppressions: [{rule: kubenet-retiring, reason: known}]\nsimulation: {boot: 95s, launch_rate: 5, stragglers: 0}\n",
        "main.tf": CLUSTER, "p.tfvars": "",
    })  # fmt: skip
    run = CliRunner().invoke(cli, ["config", "--price", "98.32", "--ignore", "images"])
    assert run.output.splitlines() == [
        "nodes: 450  # kcheck.yaml:1",
        "price: 98.32  # --price",
        "workspace: null  # default",
        "var_files: []  # default",
        "module_dirs: []  # default",
        "clusters:  # kcheck.yaml:3",
        '  - {root: ".", name: "p", var_files: ["p.tfvars"]}',
        "exclude: []  # default",
        "select: []  # default",
        'ignore: ["images"]  # --ignore',
        "per_path_ignores: {}  # default",
        "not_ignorable: []  # default",
        "severity: {}  # default",
        "limits: {}  # default",
        'mirrors: {docker.io: "r.example.com/hub"}  # kcheck.yaml:5',
        'simulation: {boot: "95s", launch_rate: 5, stragglers: 0}  # kcheck.yaml:7',
        "usage: {}  # default",
        "rules: []  # default",
        "suppressions:  # kcheck.yaml:6",
        '  - {rule: "kubenet-retiring", reason: "known"}',
        "baseline: null  # default",
        "render: null  # default",
        "helm_values: []  # default",
        'fail_on: "warning"  # default',
    ]


@pytest.mark.parametrize(
    ("path", "pattern", "expected"),
    [
        ("a/b/c.tf", "a", True), ("a/b/c.tf", "a/b/c.tf", True), ("ab/c.tf", "a", False), ("a/b/c.tf", "**/c.tf", True),
        ("c.tf", "**/c.tf", True), ("a/b/c.tf", "*.tf", False), ("c.tf", "*.tf", True), ("a/testdata/x/y.tf", "**/testdata", True),
        ("a/testdata/x/y.tf", "**/testdata/**", True), ("a/b.yaml", "a/?.yaml", True), ("a/b.yaml", "a/[ab].yaml", True),
        ("a/b.yaml", "./a/", True), ("a+b/c.tf", "a+b", True), ("a/b/c/d.tf", "a/**/d.tf", True), ("anything", ".", True),
        ("a", "[z-a]", False), ("[z-a]", "[z-a]", True), ("a/b", "[]", False), ("{a,b}/c.tf", "{a,b}/*", True),
    ],
)  # fmt: skip
def test_a_path_pattern_matches_files_and_folders(path: str, pattern: str, expected: bool) -> None:
    assert matches(path, pattern) is expected


@pytest.mark.medium
def test_a_run_without_settings_imports_no_parser_for_them(write: Write) -> None:
    """Without a settings file neither YAML nor JSON nor TOML is imported for it."""
    write({"main.tf": ""})
    code = "import sys; from kcheck.config import settings; settings.load(['.']); print(sorted({'yaml', 'tomllib'} & set(sys.modules)))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("comment", "settings", "told"),
    [
        ("ignore[free-control-plane] later", "", "Suppression of free-control-plane matches no finding"),
        ("ignore[kubenet-retired] later", "", "Suppression names kubenet-retired, which is not a rule"),
        ("ignore[kubenet-retiring] later", "not_ignorable: [network]\n", "kubenet-retiring cannot be ignored here"),
        ("ignore later", "", "Suppression names no rule"),
    ],
)
def test_the_headline_names_what_is_wrong_with_a_suppression(
    comment: str, settings: str, told: str, write: Write
) -> None:
    write({"main.tf": f"# kcheck: {comment}\n{CLUSTER}", "kcheck.yaml": settings})
    assert f"unused-suppression: {told}" in CliRunner().invoke(cli, ["check"]).output
