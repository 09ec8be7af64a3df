"""Test GitHub workflows, issue forms and release notes. No test contacts GitHub."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sysconfig
import tomllib
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from kcheck import __version__
from kcheck.addons.setup import hook_and_job
from kcheck.report.page import REPOSITORY, SOURCE
from tests.places import ROOT, load_script

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

FOLDER = ROOT / ".github"
if not FOLDER.is_dir():
    pytest.skip("a source distribution has no workflows", allow_module_level=True)

PATHS = sorted((FOLDER / "workflows").glob("*.yml"))
TEXTS = {path.name: path.read_text(encoding="utf-8") for path in (*PATHS, ROOT / "action.yml")}
WORKFLOWS: dict[str, dict[Any, Any]] = {path.name: yaml.safe_load(TEXTS[path.name]) for path in PATHS}
JOBS = {f"{name}:{key}": job for name, workflow in WORKFLOWS.items() for key, job in workflow["jobs"].items()}
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
PYTHONS = [text.split(" :: ")[-1] for text in PROJECT["classifiers"] if "Python :: 3." in text]
NOTES = load_script("release-notes")


def variants(job: dict[str, Any]) -> Iterator[dict[str, str]]:
    """Yield the matrix values of a job, each with its name, and those that `include` adds."""
    matrix = dict(job.get("strategy", {}).get("matrix", {}))
    yield from matrix.pop("include", [])
    for name, values in matrix.items():
        yield from ({name: value} for value in values)


def commands(job: dict[str, Any]) -> Iterator[str]:
    """Yield the commands of a job, once for each value of the matrix variables in them."""
    for step in job["steps"]:
        command = step.get("run", "")
        for name, value in step.get("env", {}).items():
            if matrix := re.fullmatch(r"\$\{\{ matrix\.(\w+) \}\}", value):
                for variant in variants(job):
                    yield command.replace(f'"${name}"', variant.get(matrix[1], ""))
                break
        else:
            yield command


@pytest.mark.parametrize("name", TEXTS)
def test_actions_are_pinned_to_commits(name: str) -> None:
    for action, comment in re.findall(r"uses: (\S+)(.*)", TEXTS[name]):
        assert re.fullmatch(r"[\w/-]+@[0-9a-f]{40}", action)
        assert re.fullmatch(r" # v\d+\.\d+\.\d+", comment)


def test_each_action_has_only_one_version() -> None:
    pins = {tuple(use.split("@")) for text in TEXTS.values() for use in re.findall(r"uses: (\S+@.*)", text)}
    names = [name for name, _pin in pins]
    assert sorted(names) == sorted(set(names))


@pytest.mark.parametrize("name", JOBS)
def test_every_script_of_a_workflow_exists(name: str) -> None:
    for command in commands(JOBS[name]):
        for script in re.findall(r"(?<!\S)(?:\.ci|scripts)/[\w.-]+", command):
            assert os.access(ROOT / script, os.X_OK), script


def test_every_tier_of_ci_exists_and_runs() -> None:
    run = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    tiers = {
        tier for job in JOBS.values() for command in commands(job) for tier in re.findall(r"\.ci/run (\S+)", command)
    }
    assert tiers == {"demo", "fast", "test", "all", "docs", "newest", "oldest", "wheel"}
    assert [tier for tier in sorted(tiers) if f"\n    {tier})" not in run] == []


def test_tested_python_versions_equal_the_classifiers() -> None:
    used = [variant["python"] for job in JOBS.values() for variant in variants(job) if "python" in variant]
    used += [
        step["with"]["python-version"] for job in JOBS.values() for step in job["steps"] if "setup-python" in str(step)
    ]
    assert {version for version in used if "matrix" not in version} == set(PYTHONS)
    assert JOBS["ci.yml:test"]["strategy"]["matrix"]["python"] == PYTHONS
    assert PROJECT["requires-python"] == f">={PYTHONS[0]}"


@pytest.mark.parametrize("name", JOBS)
def test_workflow_jobs_have_minimal_permissions(name: str) -> None:
    job = JOBS[name]
    assert WORKFLOWS[name.partition(":")[0]]["permissions"] == {}
    assert job["timeout-minutes"] <= 60
    for step in job["steps"]:
        if step.get("uses", "").startswith("actions/checkout@"):
            assert step["with"]["persist-credentials"] is False
    writes = {scope for scope, access in job["permissions"].items() if access == "write"}
    may = {
        "release.yml:publish": {"id-token", "attestations"},
        "release.yml:release": {"contents"},
        "release.yml:site": {"contents"},
        "refresh.yml:refresh": {"contents", "pull-requests"},
    }
    assert writes == may.get(name, set())


def test_copied_commands_install_this_version_and_pinned_actions() -> None:
    """Documents, the GitLab job and the action use no name on an index, and one version per action."""
    names = [
        "README.md",
        "action.yml",
        "ci/gitlab.yml",
        *(f"docs/{path.name}" for path in (ROOT / "docs").glob("*.md")),
    ]
    texts = {name: (ROOT / name).read_text(encoding="utf-8") for name in names} | TEXTS
    shell = "v${VERSION#v}"
    pinned = {use for text in TEXTS.values() for use in re.findall(r"uses: (\S+@[0-9a-f]{40} # v.*)", text)}
    assert hook_and_job.CHECKOUT in pinned
    for name, text in texts.items():
        found = set(re.findall(r"install [^\n]*?(git\+https[^\s'\"`]*|kcheck==\S*)", text))
        found |= set(re.findall(r'what="(git\S+)"', text))
        assert found <= {f"git+{REPOSITORY}", SOURCE, f"git+{REPOSITORY}@{shell}"}, name
        assert set(re.findall(r"uses: ([\w/-]+@[^\n]*)", text)) <= {*pinned, f"kcheck/kcheck@v{__version__}"}, name


@pytest.mark.parametrize("command", ["actionlint", "zizmor --offline --persona=pedantic --quiet action.yml .github"])
def test_workflow_linters_find_nothing(command: str) -> None:
    program, *arguments = command.split()
    found = shutil.which(program, path=os.pathsep.join([sysconfig.get_path("scripts"), os.environ["PATH"]]))
    if not found:
        pytest.skip(f"{program} is not installed")
    ran = subprocess.run([found, *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr


@pytest.mark.parametrize("path", sorted((FOLDER / "ISSUE_TEMPLATE").glob("[!c]*.yml")), ids=lambda path: path.stem)
def test_every_issue_form_has_fields(path: Any) -> None:
    form = yaml.safe_load(path.read_text(encoding="utf-8"))
    fields = [field for field in form["body"] if field["type"] != "markdown"]
    assert len({field["id"] for field in fields}) == len(fields)
    required = {field["id"] for field in fields if field.get("validations", {}).get("required")}
    assert required >= ({"version", "command", "tree", "expected", "got"} if path.stem == "bug" else {"source"})


def test_published_documentation_keeps_the_versions_before(tmp_path: Path) -> None:
    def git(*arguments: str, at: Path) -> str:
        who = ("-c", "user.name=a", "-c", "user.email=a@example.org")
        ran = subprocess.run(["git", *who, *arguments], cwd=at, capture_output=True, text=True, check=True)
        return ran.stdout

    work, pages = tmp_path / "work", tmp_path / "pages.git"
    (work / "scripts").mkdir(parents=True)
    git("init", "-q", "--bare", str(pages), at=tmp_path)
    git("init", "-q", at=work)
    shutil.copy(ROOT / "scripts" / "publish-docs", work / "scripts")
    for version in ("0.1.0", "0.2.0", "0.2.0"):
        build = f"#!/bin/sh\nmkdir -p site/{version}\necho {version} > site/{version}/index.html\nls site > site/index.html\n"
        (work / "scripts" / "docs").write_text(build)
        (work / "scripts" / "docs").chmod(0o755)
        git("commit", "-q", "--allow-empty", "-m", version, at=work)
        subprocess.run(["scripts/publish-docs", str(pages)], cwd=work, check=True)
    files = git("ls-tree", "-r", "--name-only", "gh-pages", at=pages).split()
    assert files == [".nojekyll", "0.1.0/index.html", "0.2.0/index.html", "index.html"]
    assert git("show", "gh-pages:index.html", at=pages).split() == ["0.1.0", "0.2.0", "index.html"]


CHANGELOG = """# Changelog

## 0.2.0 - 2026-01-31

- A [page](docs/a.md#b), [here](#there), [far](https://example.org/x).

## 0.1.0 - unreleased

- First.
"""


def test_release_notes_are_one_changelog_section_with_absolute_links() -> None:
    page = "https://github.com/kcheck/kcheck/blob/v0.2.0/docs/a.md#b"
    assert NOTES.notes(CHANGELOG, "0.2.0") == f"- A [page]({page}), [here](#there), [far](https://example.org/x)."
    assert NOTES.notes(CHANGELOG, "0.1.0") == "- First."


@pytest.mark.parametrize(
    ("tag", "version", "problem"),
    [
        ("v0.2.0", "0.2.0", ""),
        ("0.2.0", "0.2.0", "tag 0.2.0 is not v0.2.0"),
        ("v0.2.1", "0.2.0", "tag v0.2.1 is not v0.2.0"),
        ("v0.1.0", "0.1.0", "no date for 0.1.0"),
        ("v0.3.0", "0.3.0", "no text for 0.3.0"),
    ],
)
def test_a_tag_without_its_version_or_notes_is_not_released(tag: str, version: str, problem: str) -> None:
    found = NOTES.problems(tag, version, CHANGELOG)
    assert (problem in found[0]) if problem else not found


def test_the_changelog_and_its_lines_are_short() -> None:
    lines = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8").splitlines()
    entries = [line for line in lines if line.startswith("- ")]
    assert len(lines) <= 40
    assert [line for line in entries if len(line.split()) > 16] == []
    assert [line for line in lines if line.startswith("  ")] == []


def test_this_version_has_release_notes() -> None:
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert NOTES.current_version() == __version__
    assert len(NOTES.notes(changelog, __version__)) < 125_000  # the most that GitHub takes
