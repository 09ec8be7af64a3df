"""Test which modules are loaded at start. test_floors.py tests which modules import which."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import bench_growth
import click
import pytest

from kcheck.commands.cli import cli
from kcheck.commands.options import complete_rules
from kcheck.engine import rules

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.medium


def loaded(*arguments: str, cwd: Path) -> set[str]:
    """Return the modules that a run of kcheck imports: kcheck's own by full name, others by package."""
    code = (
        "import sys\n"
        "from kcheck.commands.cli import main\n"
        f"sys.argv = ['kcheck', *{list(arguments)!r}]\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "print('\\n'.join(sorted(sys.modules)), file=sys.stderr)\n"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=cwd)
    return set(run.stderr.split())


PARSERS = {
    "yaml",
    "tree_sitter",
    "tree_sitter_hcl",
    "cel_expr_python",
    "jsonschema",
    "jsonschema_rs",
    "ruamel",
    "jinja2",
}
HEAVY = PARSERS | {
    "json",
    "hashlib",
    "dataclasses",
    "msgspec",
    "importlib.metadata",
}
MANIFEST = (
    "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  containers:\n    - {name: a, image: quay.io/a/b:1}\n"
)


START = {"kcheck", "kcheck.commands.cli", "kcheck.commands"}
READERS = tuple(
    f"kcheck.{name}." for name in ("addons", "engine", "generate", "inventory", "kubernetes", "scale", "terraform")
)
"""Packages that neither the help of `check` nor the completion of its options may import."""


def test_help_loads_no_command(tmp_path: Path) -> None:
    modules = loaded("--help", cwd=tmp_path)
    assert {name for name in modules if name.startswith("kcheck")} == START
    assert not modules & HEAVY


def test_the_help_of_check_reads_no_file(tmp_path: Path) -> None:
    modules = loaded("check", "--help", cwd=tmp_path)
    assert "kcheck.commands.check" in modules
    assert not {name for name in modules if name.startswith(READERS)}
    assert not modules & PARSERS


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("", "check"),
        ("check --fo", "--format"),
        ("check --select image", "image-streaming-off"),
        ("explain image", "images"),
    ],
)
def test_completion_reads_no_file(tmp_path: Path, words: str, found: str) -> None:
    code = (
        "import sys, atexit\n"
        "from kcheck.commands.cli import main\n"
        "sys.argv = ['kcheck']\n"
        "atexit.register(lambda: print(*sys.modules, sep='\\n', file=sys.stderr))\n"
        "main()\n"
    )
    line = {
        "COMP_WORDS": f"kcheck {words}",
        "COMP_CWORD": str(max(1, len(words.split()))),
        "_KCHECK_COMPLETE": "bash_complete",
    }
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=tmp_path, env=os.environ | line
    )
    assert f"plain,{found}" in run.stdout.split()
    modules = set(run.stderr.split())
    assert not {name for name in modules if name.startswith(READERS)}
    assert not modules & PARSERS


def test_completion_offers_every_group_and_rule() -> None:
    every = rules.load()
    names = [*dict.fromkeys(rule.group for rule in every), *(rule.name for rule in every)]
    assert complete_rules(click.Context(cli), click.Argument(["rule"]), "") == names


def test_a_check_of_nothing_imports_no_archive_libraries(tmp_path: Path) -> None:
    """The search for programs imports zlib, bz2 and lzma, a twentieth of the time of such a run."""
    modules = loaded("check", ".", cwd=tmp_path)
    assert "kcheck.commands.check" in modules
    assert not modules & {"shutil", "lzma", "shlex"}


def test_checking_a_manifest_imports_no_hcl_parser(tmp_path: Path) -> None:
    (tmp_path / "pod.yaml").write_text(MANIFEST)
    modules = loaded("check", "pod.yaml", cwd=tmp_path)
    assert "yaml" in modules
    assert not modules & {
        "tree_sitter",
        "tree_sitter_hcl",
        "jsonschema_rs",
        "ruamel",
        "jinja2",
        "kcheck.generate",
    }
    assert not modules & {"json", "difflib", "kcheck.config.settings", "kcheck.config.schemas"}  # without settings


def test_checking_a_manifest_imports_no_simulation_and_no_writer(tmp_path: Path) -> None:
    (tmp_path / "pod.yaml").write_text(bench_growth.job(0))
    modules = loaded("check", "pod.yaml", "--fail-on", "never", cwd=tmp_path)
    assert {"kcheck.commands.explain", "kcheck.fix.fix"} <= modules  # the fixes that the last line counts are proved
    assert not modules & {"tempfile", "kcheck.scale.autoscaler", "kcheck.scale.savings"}
    assert not {name for name in modules if name.startswith("kcheck.scale.simulate")}
    quiet = loaded("check", "pod.yaml", "--fail-on", "never", "--quiet", cwd=tmp_path)
    assert not {name for name in quiet if name.startswith("kcheck.fix")} | quiet & {"subprocess"}


def test_a_run_without_findings_does_not_import_type_checks(tmp_path: Path) -> None:
    (tmp_path / "pod.yaml").write_text(MANIFEST)
    modules = loaded("check", "pod.yaml", cwd=tmp_path)
    assert "kcheck.text.syntax.cel" in modules
    assert not modules & {"kcheck.engine.rule_words", "kcheck.engine.expression_types"}


def test_a_tree_without_a_cluster_loads_no_cluster_code(tmp_path: Path) -> None:
    (tmp_path / "pod.yaml").write_text(MANIFEST)
    modules = loaded("check", "pod.yaml", cwd=tmp_path)
    assert "kcheck.scale.world" in modules
    assert not modules & {
        "kcheck.engine.words.tables.clusters",
        "kcheck.scale.monitoring",
        "kcheck.scale.quotas",
        "kcheck.scale.spot",
        "kcheck.text.syntax.edit",
        "kcheck.text.syntax.hcl",
    }


def test_checking_terraform_imports_no_manifest_reader(tmp_path: Path) -> None:
    (tmp_path / "main.tf").write_text('resource "azurerm_resource_group" "a" {\n  name = "a"\n}\n')
    modules = loaded("check", ".", cwd=tmp_path)
    assert "tree_sitter" in modules
    assert not modules & {
        "kcheck.kubernetes.workloads",
        "kcheck.kubernetes.objects",
        "jsonschema_rs",
        "ruamel",
        "jinja2",
    }


def test_no_garbage_collection_runs_at_exit(tmp_path: Path) -> None:
    (tmp_path / "pod.yaml").write_text(MANIFEST)
    code = (
        "import atexit, gc, sys\n"
        "from kcheck.commands.cli import main\n"
        "atexit.register(lambda: print(gc.isenabled(), gc.get_count()[0] < gc.get_freeze_count()))\n"
        "sys.argv = ['kcheck', 'check', 'pod.yaml', '-q']\n"
        "main()\n"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert run.stdout == "False True\n"
