"""The house: who imports whom, what is loaded at start, how big files are."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parent.parent / "src" / "kcheck"
ORDER = [
    "bundled", "text", "values", "units", "findings", "syntax", "model", "capacity", "forms", "config", "disk", "schemas", "settings", "profiles", "machines", "files", "images",
    "terraform", "kubernetes", "fields", "embedded", "clouds", "workloads", "autoscalers", "inventory", "placement", "world", "downloads", "demands", "walls", "simulate", "parameters", "scenario", "outcomes", "derive", "words", "subjects",
    "cel", "views", "parts", "raw", "policies", "rules", "suppressions", "judge", "edit", "consent", "engine", "save", "git", "baseline", "gate", "relevance", "ignores", "setup", "fix", "whatif", "proof", "report", "generate", "commands", "cli",
]  # fmt: skip
SIBLINGS = {("terraform", "kubernetes"), ("clouds", "workloads")}
FILES = sorted(path for path in PACKAGE.rglob("*.py") if path.name != "__init__.py" or path.parent != PACKAGE)


def room(path: Path) -> str:
    parts = path.relative_to(PACKAGE).parts
    return parts[0].removesuffix(".py")


def imported_rooms(path: Path) -> set[str]:
    rooms = set()
    for node in ast.walk(ast.parse(path.read_text())):
        names = []
        if isinstance(node, ast.ImportFrom) and node.module == "kcheck":
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("kcheck."):
            names = [node.module.split(".")[1]]
        elif isinstance(node, ast.Import):
            names = [alias.name.split(".")[1] for alias in node.names if alias.name.startswith("kcheck.")]
        rooms |= {name for name in names if name != "__version__"}
    return rooms - {room(path)}


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_point_upwards(path: Path) -> None:
    own = room(path)
    above = set(ORDER[: ORDER.index(own)])
    for first, second in SIBLINGS:
        above -= {first} if own == second else set()
    assert imported_rooms(path) <= above


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_files_are_small_and_named_for_what_they_hold(path: Path) -> None:
    assert len(path.read_text().splitlines()) <= 440
    assert path.stem not in {"utils", "util", "helpers", "helper", "common", "misc", "tools"}


def loaded(*arguments: str, cwd: Path) -> set[str]:
    """The modules that a run of kcheck imports, by their first name, or kcheck's own in full."""
    code = (
        "import sys\n"
        "from kcheck.cli import cli\n"
        f"try: cli({list(arguments)!r}, standalone_mode=False)\n"
        "except SystemExit: pass\n"
        "except Exception as error: print(error)\n"
        "print('\\n'.join(sorted(sys.modules)), file=sys.stderr)\n"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=cwd)
    return set(run.stderr.split())


HEAVY = {
    "yaml",
    "tree_sitter",
    "tree_sitter_hcl",
    "cel_expr_python",
    "jsonschema",
    "ruamel",
    "jinja2",
    "json",
    "hashlib",
}
MANIFEST = (
    "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  containers:\n    - {name: a, image: quay.io/a/b:1}\n"
)


def test_version_loads_nothing_heavy(tmp_path: Path) -> None:
    modules = loaded("--version", cwd=tmp_path)
    assert not modules & HEAVY
    assert not {"importlib.metadata", "kcheck.engine", "kcheck.rules"} & modules


def test_help_loads_no_command(tmp_path: Path) -> None:
    modules = loaded("--help", cwd=tmp_path)
    assert not {name for name in modules if name.startswith("kcheck.commands.")}


def test_manifest_needs_no_hcl(tmp_path: Path) -> None:
    (tmp_path / "pod.yaml").write_text(MANIFEST)
    modules = loaded("check", "pod.yaml", cwd=tmp_path)
    assert "yaml" in modules
    assert not modules & {"tree_sitter", "tree_sitter_hcl", "jsonschema", "ruamel", "jinja2", "kcheck.generate"}


def test_terraform_needs_no_manifest_reader(tmp_path: Path) -> None:
    (tmp_path / "main.tf").write_text('resource "azurerm_resource_group" "a" {\n  name = "a"\n}\n')
    modules = loaded("check", ".", cwd=tmp_path)
    assert "tree_sitter" in modules
    assert not modules & {"kcheck.workloads", "kcheck.kubernetes.objects", "jsonschema", "ruamel", "jinja2"}
