"""Test `kcheck init`: settings, a hook and a CI job as a colleague would add them; other files stay."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest
import yaml
from click.testing import CliRunner, Result
from hypothesis import given
from hypothesis import strategies as st

from kcheck import __version__
from kcheck.addons.setup import hook_and_job, proposal
from kcheck.addons.setup.hook_and_job import AdditionError
from kcheck.commands.cli import cli
from kcheck.config import settings
from kcheck.report.page import SOURCE
from kcheck.text.text import Source
from tests.places import ROOT

if TYPE_CHECKING:
    from tests.conftest import Write


pytestmark = pytest.mark.medium

SCHEMA = json.loads((ROOT / "profiles" / "settings.schema.json").read_text())

CLUSTER = """
resource "azurerm_kubernetes_cluster" "main" {
  name     = "train"
  sku_tier = "Standard"

  default_node_pool {
    name       = "system"
    node_count = 12
  }
}
"""
SIZED = 'variable "nodes" {\n  type = number\n}\n\nvariable "tier" {\n  default = "Standard"\n}\n' + CLUSTER.replace(
    "12", "var.nodes"
).replace('"Standard"', "var.tier")
POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  containers:\n    - {name: a, image: quay.io/a/b:1}\n"
HOOK = f"""\
  - repo: https://github.com/kcheck/kcheck
    rev: v{__version__}
    hooks:
      - id: kcheck
"""


def init(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["init", *arguments])


def proposed(*arguments: str) -> Any:
    """Run `kcheck init --write`; assert that kcheck.yaml is valid, and return its data."""
    result = init("--write", *arguments)
    assert result.exit_code == 0, result.output
    data = yaml.safe_load(Path("kcheck.yaml").read_text())
    jsonschema.validate(data or {}, SCHEMA)
    settings.load(["."])
    return data


def test_simple_repository_gets_settings_hook_and_job(write: Write) -> None:
    write({"main.tf": CLUSTER})
    result = init()
    assert result.exit_code == 0
    assert not Path("kcheck.yaml").exists()
    subprocess.run(["git", "apply"], input=result.stdout.encode(), check=True)
    assert Path("kcheck.yaml").read_text() == (
        "# Settings of kcheck. `kcheck config` prints those in effect, each with its origin.\n\n"
        "clusters:\n  - root: .\n"
        "    # nodes: 1000  # target; up to 12 in its pools today\n\n"
        "# price: 30  # US dollars per node-hour, instead of list prices\n"
        "# fail_on: error  # default: warning\n"
        "# baseline: kcheck-baseline.json  # known findings, from `kcheck baseline`: only new ones fail\n"
    )
    assert Path(".pre-commit-config.yaml").read_text() == f"repos:\n{HOOK}"
    assert "`kcheck init --write` writes these files" in result.stderr


def test_each_workspace_gets_its_own_entry(write: Write) -> None:
    sized = 'variable "nodes" {}\n' + CLUSTER.replace("12", 'terraform.workspace == "prod" ? var.nodes : 2')
    write({"main.tf": sized, "envs/prod.tfvars": "nodes = 300\n"})
    entries = [{"root": ".", "workspace": "default"}, {"root": ".", "workspace": "prod"}]
    assert proposed()["clusters"] == entries
    assert "up to 300 today" in Path("kcheck.yaml").read_text()


def test_written_files_equal_the_shown_diff(write: Write) -> None:
    write({"main.tf": CLUSTER, ".github/CODEOWNERS": "* @team\n"})
    shown = init()
    written = init("--write")
    assert written.exit_code == 0
    assert not written.stdout
    names = [line.removeprefix("+++ b/") for line in shown.stdout.splitlines() if line.startswith("+++")]
    assert names == ["kcheck.yaml", ".pre-commit-config.yaml", ".github/workflows/kcheck.yml"]
    for name in names:
        text = Path(name).read_text()
        assert "".join(f"+{line}\n" for line in text.splitlines()) in shown.stdout
    again = init()
    assert not again.stdout
    assert "Nothing to do: kcheck is set up here." in again.stderr


def test_a_repository_without_relevant_files_gets_no_settings(write: Write) -> None:
    write({"main.py": "print(1)\n", ".gitlab-ci.yml": "test:\n  script: [make]\n"})
    result = init()
    assert result.exit_code == 0
    assert not result.stdout
    assert result.stderr.splitlines() == [
        "kcheck: reading .",
        "kcheck: nothing relevant here: no cluster in Terraform, no workload in a manifest.",
    ]


def test_existing_settings_stay(write: Write) -> None:
    write({"main.tf": CLUSTER, "pyproject.toml": "[tool.kcheck]\nnodes = 10\n"})
    result = init()
    assert "kcheck.yaml" not in result.stdout
    assert "pyproject.toml: has settings of kcheck, left as it is" in result.stderr
    assert "+++ b/.pre-commit-config.yaml" in result.stdout


def test_each_root_gets_one_entry_with_its_target(write: Write) -> None:
    write({"infra/prod/main.tf": CLUSTER.replace("12", "1500"), "infra/dev/main.tf": CLUSTER})
    assert proposed() == {"clusters": [{"root": "infra/dev"}, {"root": "infra/prod"}]}
    text = Path("kcheck.yaml").read_text()
    assert "# nodes: 1000  # target; up to 12 in its pools today" in text
    assert "# nodes: 2000  # up to 1,500 today" in text


@pytest.mark.parametrize(
    ("files", "entries"),
    [
        pytest.param(
            {"infra/dev.tfvars": "nodes = 3\n", "infra/prod.tfvars": "nodes = 500\n"},
            [{"var_files": ["infra/dev.tfvars"]}, {"var_files": ["infra/prod.tfvars"]}],
            id="one for each file",
        ),
        pytest.param(
            {"envs/dev/terraform.tfvars": "nodes = 3\n", "envs/prod/terraform.tfvars": "nodes = 500\n"},
            [
                {"name": "dev", "var_files": ["envs/dev/terraform.tfvars"]},
                {"name": "prod", "var_files": ["envs/prod/terraform.tfvars"]},
            ],
            id="files that only their folders tell apart",
        ),
        pytest.param(
            {"infra/common.tfvars": 'tier = "Free"\n', "infra/dev.tfvars": "nodes = 3\n", "infra/prod.tfvars": "nodes = 9\n"},
            [
                {"var_files": ["infra/common.tfvars", "infra/dev.tfvars"]},
                {"var_files": ["infra/common.tfvars", "infra/prod.tfvars"]},
            ],
            id="a file for all of them",
        ),
        pytest.param(
            {"infra/common.tfvars": "nodes = 3\n", "infra/prod.tfvars": 'tier = "Free"\n'},
            [{"var_files": ["infra/common.tfvars", "infra/prod.tfvars"]}],
            id="two that belong together",
        ),
        pytest.param(
            {"infra/nodes.tfvars": "nodes = 3\n", "infra/prod.tfvars": 'tier = "Free"\n'},
            [{"var_files": ["infra/nodes.tfvars", "infra/prod.tfvars"]}],
            id="two that belong together by what they set",
        ),
        pytest.param(
            {"infra/common.tfvars": "nodes = 3\n"}, [{"var_files": ["infra/common.tfvars"]}], id="no name of its own"
        ),
        pytest.param(
            {"infra/prod.eu.tfvars": "nodes = 3\n", "infra/prod.us.tfvars": "nodes = 500\n"},
            [
                {"name": "prod.eu", "var_files": ["infra/prod.eu.tfvars"]},
                {"name": "prod.us", "var_files": ["infra/prod.us.tfvars"]},
            ],
            id="two of one beginning",
        ),
        pytest.param({"infra/terraform.tfvars": "nodes = 3\n"}, [{}], id="a file that Terraform reads itself"),
        pytest.param(
            {"infra/terraform.tfvars": "nodes = 3\n", "infra/big.tfvars": "nodes = 300\n"},
            [{}, {"var_files": ["infra/big.tfvars"]}],
            id="as it is, and otherwise",
        ),
        pytest.param(
            {
                "infra/prod.tfvars": "nodes = 3\n", "infra/prod.example.tfvars": "nodes = 1\n",
                "infra/tfvars_tests/a.tfvars": "nodes = 1\n", "other.tfvars": "zone = 1\n",
            },
            [{"var_files": ["infra/prod.tfvars"]}],
            id="neither examples nor files of others",
        ),
    ],
)  # fmt: skip
def test_variable_files_become_environments(files: dict[str, str], entries: list[dict[str, Any]], write: Write) -> None:
    write({"infra/main.tf": SIZED, **files})
    assert proposed() == {"clusters": [{"root": "infra", **entry} for entry in entries]}


def test_a_variable_file_that_fits_several_roots_is_listed_for_each(write: Write) -> None:
    write({"a/main.tf": SIZED, "b/main.tf": SIZED, "vars/prod.tfvars": "nodes = 3\n"})
    files = ["vars/prod.tfvars"]
    assert proposed() == {"clusters": [{"root": "a", "var_files": files}, {"root": "b", "var_files": files}]}


def test_manifests_in_a_folder_named_like_a_cluster_belong_to_that_cluster(write: Write) -> None:
    write({
        "infra/dev/main.tf": CLUSTER, "infra/prod/main.tf": CLUSTER,
        "deploy/prod/jobs/pod.yaml": POD, "deploy/dev/pod.yaml": POD, "deploy/shared/pod.yaml": POD,
    })  # fmt: skip
    assert proposed() == {
        "clusters": [
            {"root": "infra/dev", "manifests": ["deploy/dev"]},
            {"root": "infra/prod", "manifests": ["deploy/prod"]},
        ]
    }
    assert (
        "manifests is unknown; `manifests: [FOLDER]` in an entry sets it:\n#   deploy/shared\nclusters:"
        in Path("kcheck.yaml").read_text()
    )


def test_manifests_in_folders_with_the_name_of_an_environment_need_no_setting(write: Write) -> None:
    write({
        "infra/main.tf": SIZED, "infra/dev.tfvars": "nodes = 3\n", "infra/prod.tfvars": "nodes = 500\n",
        "deploy/prod/jobs/pod.yaml": POD, "deploy/dev/pod.yaml": POD,
    })  # fmt: skip
    assert proposed() == {
        "clusters": [{"root": "infra", "var_files": [f"infra/{name}.tfvars"]} for name in ("dev", "prod")]
    }


@pytest.mark.skipif(os.name == "nt", reason="file names of POSIX")
def test_a_hostile_folder_name_adds_no_setting(write: Write) -> None:
    write({
        "infra/main.tf": SIZED, "infra/dev.tfvars": "nodes = 3\n", "infra/prod.tfvars": "nodes = 500\n",
        "deploy/shared\nrender: helm\n/pod.yaml": POD,
    })  # fmt: skip
    assert set(proposed()) == {"clusters"}
    assert "\n#   deploy/shared\\nrender: helm\\n\n" in Path("kcheck.yaml").read_text()


def test_examples_and_tests_next_to_real_code_are_excluded(write: Write) -> None:
    write({"infra/main.tf": CLUSTER, "examples/a/main.tf": CLUSTER, "tests/a/main.tf": CLUSTER})
    assert proposed() == {"clusters": [{"root": "infra"}], "exclude": ["examples", "tests"]}


def test_examples_that_alone_call_a_module_are_kept(write: Write) -> None:
    call = 'module "a" {\n  source = "../../modules/a"\n}\n'
    write({"infra/main.tf": CLUSTER, "modules/a/main.tf": CLUSTER, "examples/a/main.tf": call})
    assert "exclude" not in proposed()


@pytest.mark.parametrize(
    ("folders", "wanted"),
    [
        (["examples/a", "examples/b"], []),
        (["examples/a", "tests/b"], ["tests"]),
        (["tests/b"], []),
        (["infra", "modules/a/examples/x"], ["modules/a/examples"]),
        (["infra", *(f"modules/{name}/examples/x" for name in "abcd")], ["**/examples"]),
        (["example-corp/infra"], []),
    ],
)
def test_folders_of_examples_and_tests_are_excluded(folders: list[str], wanted: list[str]) -> None:
    assert proposal.folders_to_exclude(folders) == wanted


def test_many_clusters_get_one_line_each(write: Write) -> None:
    write({f"c{number}/main.tf": CLUSTER for number in range(9)})
    assert len(proposed()["clusters"]) == 9
    assert "  - root: c0  # up to 12 nodes today\n  - root: c1  #" in Path("kcheck.yaml").read_text()


def test_a_tree_of_manifests_alone_gets_no_target(write: Write) -> None:
    write({"pod.yaml": POD})
    assert proposed() is None
    assert "nodes:" not in Path("kcheck.yaml").read_text()


def test_clusters_outside_terraform_get_a_target_line(write: Write) -> None:
    spec = "metadata: {name: a, region: us-east-1}\nmanagedNodeGroups:\n  - {name: cpu, minSize: 1, maxSize: 40}\n"
    write({"a.yaml": f"apiVersion: eksctl.io/v1alpha5\nkind: ClusterConfig\n{spec}"})
    assert proposed() is None
    assert "\n# nodes: 1000  # target; up to 40 in its pools today\n" in Path("kcheck.yaml").read_text()


def test_a_repository_of_only_examples_gets_environments(write: Write) -> None:
    write({"examples/a/main.tf": SIZED, "examples/a/prod.tfvars": "nodes = 3\n"})
    assert proposed() == {"clusters": [{"root": "examples/a", "var_files": ["examples/a/prod.tfvars"]}]}


def test_the_next_steps_name_the_baseline_where_something_is_found(write: Write) -> None:
    write({"main.tf": CLUSTER.replace("12", "2000").replace("Standard", "Free")})
    result = init()
    assert "With these settings, `kcheck check` reports " in result.stderr
    assert "`kcheck baseline` records them" in result.stderr


def test_findings_of_the_baseline_are_not_counted(write: Write) -> None:
    write(
        {"main.tf": CLUSTER.replace("12", "2000").replace("Standard", "Free"), "kcheck.yaml": "baseline: known.json\n"}
    )
    assert CliRunner().invoke(cli, ["baseline"]).exit_code == 0
    result = init()
    assert "finds" not in result.stderr
    assert "kcheck baseline" not in result.stderr


def test_init_in_a_subfolder_prints_paths_from_the_top_of_the_repository(
    write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    top = write({"services/ml.infra/main.tf": CLUSTER, ".github/CODEOWNERS": "", "x/main.tf": CLUSTER})
    subprocess.run(["git", "init", "-q"], check=True)
    monkeypatch.chdir("services/ml.infra")
    result = init()
    assert f"Paths are relative to {top}; run `git apply` there." in result.stderr
    subprocess.run(["git", "apply"], input=result.stdout.encode(), cwd=top, check=True)
    config = yaml.safe_load((top / ".pre-commit-config.yaml").read_text())
    assert config["repos"][0]["hooks"] == [
        {"id": "kcheck", "files": r"^services/ml\.infra/", "args": ["services/ml.infra", "--"]}
    ]
    workflow = yaml.safe_load((top / ".github/workflows/kcheck.yml").read_text())
    assert workflow[True]["pull_request"]["paths"] == ["services/ml.infra/**"]
    assert workflow["jobs"]["kcheck"]["steps"][1]["with"]["paths"] == "services/ml.infra"
    assert yaml.safe_load((top / "services/ml.infra/kcheck.yaml").read_text()) == {"clusters": [{"root": "."}]}


def test_nothing_is_written_if_one_file_is_read_only(write: Write) -> None:
    write({"main.tf": CLUSTER, ".pre-commit-config.yaml": "repos: []\n"})
    Path(".pre-commit-config.yaml").chmod(0o444)
    result = init("--write")
    assert result.exit_code == 2
    assert "nothing written: .pre-commit-config.yaml is read-only" in result.stderr
    assert not Path("kcheck.yaml").exists()


# --- the hook


@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param(
            "repos:\n- repo: https://example.com/a\n  rev: v1\n  hooks:\n  - id: a  # why\n\nexclude: ^x/\n",
            "repos:\n- repo: https://example.com/a\n  rev: v1\n  hooks:\n  - id: a  # why\n"
            f"- repo: https://github.com/kcheck/kcheck\n  rev: v{__version__}\n  hooks:\n  - id: kcheck\n\nexclude: ^x/\n",
            id="without indentation",
        ),
        pytest.param(
            "repos:\n- repo: https://example.com/a\n  rev: v1\n  hooks:\n    - id: a\n",
            "repos:\n- repo: https://example.com/a\n  rev: v1\n  hooks:\n    - id: a\n"
            f"- repo: https://github.com/kcheck/kcheck\n  rev: v{__version__}\n  hooks:\n    - id: kcheck\n",
            id="only hooks indented",
        ),
        pytest.param(
            "repos:\n  - repo: a\n    hooks:\n      - id: a\n\n  # why\n  - repo: b\n    hooks:\n      - id: b\n",
            "repos:\n  - repo: a\n    hooks:\n      - id: a\n\n  # why\n  - repo: b\n    hooks:\n      - id: b\n\n"
            + HOOK,
            id="empty lines between",
        ),
        pytest.param(
            "repos:\r\n  - repo: a\r\n    hooks:\r\n      - id: a\r\n",
            "repos:\r\n  - repo: a\r\n    hooks:\r\n      - id: a\r\n" + HOOK.replace("\n", "\r\n"),
            id="line ends of Windows",
        ),
        pytest.param(
            "repos:\n  - repo: a\n    hooks:\n      - id: a",
            f"repos:\n  - repo: a\n    hooks:\n      - id: a\n{HOOK}".rstrip(),
            id="no line end",
        ),
        pytest.param(
            "# ours\nrepos: []\n",
            "# ours\nrepos:\n" + HOOK.replace("\n  ", "\n")[2:].replace("    - id", "  - id"),
            id="empty list",
        ),
        pytest.param(
            "repos: [{repo: a, hooks: [{id: a}]}]\n",
            "repos: [{repo: a, hooks: [{id: a}]}, "
            f"{{repo: https://github.com/kcheck/kcheck, rev: v{__version__}, hooks: [{{id: kcheck}}]}}]\n",
            id="flow",
        ),
    ],
)
def test_the_hook_is_added_in_the_style_of_the_file(old: str, new: str) -> None:
    assert hook_and_job.with_hook(Source(hook_and_job.HOOK_FILE, old.encode()), "") == new.encode()


@pytest.mark.parametrize(
    "text",
    [
        "repos:\n  - repo: https://github.com/kcheck/kcheck\n    rev: v0\n    hooks: [{id: kcheck}]\n",
        "repos:\n  - repo: local\n    hooks:\n      - id: kcheck\n        entry: kcheck check\n",
    ],
)
def test_an_existing_hook_stays(text: str) -> None:
    assert hook_and_job.with_hook(Source(hook_and_job.HOOK_FILE, text.encode()), "") is None


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("repos: *a\nx: &a []\n", "line 1 cannot be read"),
        ("x: &a []\nrepos: *a\n", "it has no list of `repos`"),
        ("repos: [\n", "line 2 cannot be read"),
        ("- repo: a\n", "it is not a single map"),
        ("", "it is not a single map"),
        ("exclude: a\n", "it has no list of `repos`"),
        ("repos: none\n", "kcheck cannot add to the existing text"),
    ],
)
def test_a_hook_file_that_cannot_be_extended_is_left_alone(text: str, why: str, write: Write) -> None:
    with pytest.raises(AdditionError, match=why):
        hook_and_job.with_hook(Source(hook_and_job.HOOK_FILE, text.encode()), "")
    write({"main.tf": CLUSTER, ".pre-commit-config.yaml": text})
    result = init("--write")
    assert result.exit_code == 0
    assert f".pre-commit-config.yaml: left as it is: {why}" in result.stderr
    assert Path(".pre-commit-config.yaml").read_text() == text


@given(st.data())
def test_adding_a_hook_keeps_every_other_byte_of_the_list(data: st.DataObject) -> None:
    """With any indentation, comments and gaps, the old lines stay in order, and everything else is the hook."""
    outer, inner = data.draw(st.sampled_from([0, 2, 4])), data.draw(st.sampled_from([0, 2, 4]))
    gap, end = data.draw(st.sampled_from(["", "\n", "\n\n"])), data.draw(st.sampled_from(["\n", "\r\n"]))
    texts = []
    for number in range(data.draw(st.integers(1, 4))):
        pad = " " * outer
        comment = data.draw(st.sampled_from(["", f"{pad}# why\n", "# why\n"]))
        quote = data.draw(st.sampled_from(["", '"', "'"]))
        texts.append(
            f"{comment}{pad}- repo: {quote}a{number}{quote}\n{pad}  hooks:\n{pad}  {' ' * inner}- id: a"
            f"{data.draw(st.sampled_from(['', '  # why', f'{chr(10)}{pad}  {chr(32) * inner}  args: [a]']))}\n"
        )
    tail = data.draw(st.sampled_from(["", "\n# end\n", "\nfiles: ^x/\n"]))
    old = f"repos:\n{gap.join(texts)}{tail}".replace("\n", end)
    new = hook_and_job.with_hook(Source(hook_and_job.HOOK_FILE, old.encode()), "")
    assert new is not None
    text = new.decode()
    start = next(i for i, (a, b) in enumerate(zip(old + "\0", text, strict=False)) if a != b)
    added = len(text) - len(old)
    assert any(text[:at] + text[at + added :] == old for at in range(start - added, start + 1) if at >= 0)
    assert end == "\n" or "\n" not in text.replace("\r\n", "")


# --- CI


def test_the_generated_workflow_is_valid_for_github(write: Write) -> None:
    """It has only keys that GitHub knows, actions pinned to a commit, and no expression in a script."""
    data = yaml.safe_load(hook_and_job.workflow(""))
    assert set(data) == {"name", True, "permissions", "jobs"}  # `on` is true in YAML 1.1
    assert data["permissions"] == {}
    assert {"**/*.tf", "**/*.tfvars", "**/*.yaml"} <= set(data[True]["pull_request"]["paths"])
    (job,) = data["jobs"].values()
    assert set(job) == {"runs-on", "permissions", "steps"}
    assert job["permissions"] == {"contents": "read", "security-events": "write", "pull-requests": "write"}
    checkout, check = job["steps"]
    assert checkout["with"] == {"fetch-depth": 0, "persist-credentials": False}
    assert check["uses"] == f"kcheck/kcheck@v{__version__}"
    assert check["with"] == {"diff-base": "origin/${{ github.base_ref }}", "sarif": True, "comment": True}
    action = yaml.safe_load((ROOT / "action.yml").read_text())
    assert set(check["with"]) <= set(action["inputs"])


def test_a_hostile_folder_name_adds_no_step_to_ci() -> None:
    name = 'a"\n    run: owned\n#'
    for text in (hook_and_job.workflow(name), hook_and_job.pipeline(name)):
        assert "\n    run: owned" not in text
    data = yaml.safe_load(hook_and_job.workflow(name))
    assert data[True] == {"pull_request": {"paths": [f"{name}/**"]}}
    assert data["jobs"]["kcheck"]["steps"][1]["with"]["paths"] == name


def test_ci_systems_are_detected(write: Write) -> None:
    write({"main.tf": CLUSTER})
    assert "workflows" not in init().stdout
    assert "+++ b/.github/workflows/kcheck.yml" in init("--ci", "github").stdout
    assert "+++ b/.gitlab-ci.yml" in init("--ci", "gitlab").stdout
    Path(".github").mkdir()
    assert "+++ b/.github/workflows/kcheck.yml" in init().stdout
    assert "workflows" not in init("--ci", "none").stdout


@pytest.mark.parametrize(
    ("remote", "proposed"),
    [
        ("git@gitlab.com:a/b.git", [".gitlab-ci.yml"]), ("https://git.example/gitlab/b", [".gitlab-ci.yml"]),
        ("git@github.com:a/b", [".github/workflows/kcheck.yml"]), ("git@git.example:a/b", []),
    ],
)  # fmt: skip
def test_the_git_remote_decides_the_ci_system(remote: str, proposed: list[str], write: Write) -> None:
    write({"main.tf": CLUSTER, ".git/HEAD": "", ".git/config": f'[remote "origin"]\n\turl = {remote}\n'})
    found = re.findall(r"(?m)^\+\+\+ b/(\.git.*)", init().stdout)
    assert found == proposed


@pytest.mark.parametrize("name", ["kcheck.yml", "lint.yaml"])
def test_a_workflow_that_runs_kcheck_stays(name: str, write: Write) -> None:
    write({"main.tf": CLUSTER, f".github/workflows/{name}": "jobs:\n  a:\n    steps:\n      - run: kcheck check\n"})
    result = init()
    assert "workflows" not in result.stdout
    assert f".github/workflows/{name}: has kcheck, left as it is" in result.stderr


def test_names_with_spaces_are_quoted_for_the_shell(write: Write) -> None:
    write({"my infra/main.tf": CLUSTER, ".git/HEAD": "", ".gitlab-ci.yml": "a: {script: [x]}\n"})
    result = init("my infra")
    assert "kcheck-junit.xml -- 'my infra'" in result.stdout
    assert "`kcheck check 'my infra'` shows the findings" in result.stderr


def test_a_folder_named_like_a_workflow_file_does_no_harm(write: Write) -> None:
    write({"main.tf": CLUSTER, ".github/workflows/x.yml/y": ""})
    assert init().exit_code == 0


def test_a_job_is_appended_to_a_pipeline() -> None:
    old = "# ours\nstages:\n- build\n- lint\n\nbuild:\n  stage: build\n  script:\n  - make\n\n.hidden:\n  tags: [a]\n"
    new = hook_and_job.with_job(Source(hook_and_job.GITLAB, old.encode()), "infra")
    assert new is not None
    assert new.startswith(old.encode() + b"\nkcheck:\n  stage: lint\n  image: python:3.12\n  rules:\n  - if: ")
    data = yaml.safe_load(new)
    assert {name: data[name] for name in ("stages", "build", ".hidden")} == yaml.safe_load(old)
    assert data["kcheck"]["rules"][0]["changes"] == ["infra/**/*"]
    assert data["kcheck"]["script"][0].endswith(" -- infra")
    assert hook_and_job.with_job(Source(hook_and_job.GITLAB, new), "infra") is None


@pytest.mark.parametrize(
    ("stages", "stage"),
    [("", None), ("stages: [build, test]\n", None), ("stages: [build, static-checks]\n", "static-checks"), ("stages: [a, b]\n", "a")],
)  # fmt: skip
def test_the_job_is_added_to_a_suitable_stage(stages: str, stage: str | None) -> None:
    new = hook_and_job.with_job(Source(hook_and_job.GITLAB, f"{stages}a:\n  script: [b]\n".encode()), "")
    assert new is not None
    assert yaml.safe_load(new)["kcheck"].get("stage") == stage


def test_a_pipeline_with_gitlab_yaml_tags_keeps_them() -> None:
    old = b"a:\n  script:\n    - !reference [.b, script]\n"
    new = hook_and_job.with_job(Source(hook_and_job.GITLAB, old), "")
    assert new is not None
    assert new.startswith(old.rstrip() + b"\nkcheck:\n")


def test_a_new_pipeline_has_only_the_kcheck_job() -> None:
    data = yaml.safe_load(hook_and_job.pipeline(""))
    assert set(data) == {"kcheck"}
    assert data["kcheck"]["before_script"] == [f"pip install {SOURCE}"]
    assert data["kcheck"]["artifacts"]["when"] == "always"


@pytest.mark.parametrize("path", ["job.yaml", "/dev/null", "absent"])
def test_init_of_anything_but_a_folder_is_wrong_usage(path: str, write: Write) -> None:
    write({"job.yaml": ""})
    run = CliRunner().invoke(cli, ["init", path])
    assert run.exit_code == 2
    assert run.stderr.endswith(f"Error: {path} is not a folder\n")
