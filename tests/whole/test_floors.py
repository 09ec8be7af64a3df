"""The house: its floors, and who may know whom. CONTRIBUTING's picture is printed from here."""

from __future__ import annotations

import ast
from functools import cache
from typing import TYPE_CHECKING

import pytest

from kcheck.numbers.clouds import CLOUDS
from tests.places import ROOT

if TYPE_CHECKING:
    from pathlib import Path

FLOORS = (
    ("source",),
    ("files", "model", "numbers"),
    ("syntax",),
    ("config",),
    ("terraform", "kubernetes"),
    ("clouds",),
    ("reading",),
    ("scale",),
    ("simulate", "usage"),
    ("words",),
    ("engine",),
    ("gate",),
    ("admission",),
    ("fix",),
    ("report",),
    ("generate", "editor", "fleet"),
    ("commands",),
    ("cli",),
)
"""From the ground up: a package imports only from floors below its own."""

RANKS = {package: rank for rank, floor in enumerate(FLOORS) for package in floor}
PACKAGE = ROOT / "kcheck"
FILES = sorted(path for path in PACKAGE.rglob("*.py") if path != PACKAGE / "__init__.py")


def dotted(path: Path) -> str:
    """What a file is imported by, without `kcheck.`."""
    return ".".join(path.relative_to(PACKAGE).with_suffix("").parts).removesuffix(".__init__")


MODULES = {dotted(path): path for path in FILES}


@cache
def imports(module: str) -> frozenset[str]:
    """The modules of the house that a module names in its imports, those for types included."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(MODULES[module].read_text())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "kcheck":
            folder = (node.module or "").removeprefix("kcheck").removeprefix(".")
            names = {f"{folder}.{alias.name}".strip(".") for alias in node.names}
            found |= {name if name in MODULES else folder for name in names}
    return frozenset(found - {"", "__version__"})


def reached(module: str) -> set[str]:
    """All modules that a module needs, also through others."""
    found: set[str] = set()
    todo = [module]
    while todo:
        for name in imports(todo.pop()) - found:
            found.add(name)
            todo.append(name)
    return found


def package(module: str) -> str:
    return module.split(".", maxsplit=1)[0]


def test_the_house_is_small_enough_to_be_a_table_of_contents() -> None:
    entries = [path.name for path in PACKAGE.iterdir() if path.name != "__pycache__"]
    assert len(entries) <= 26
    assert {package(module) for module in MODULES} == set(RANKS)


@pytest.mark.parametrize("module", MODULES)
def test_imports_lead_down(module: str) -> None:
    own = package(module)
    others = {package(name) for name in imports(module)} - {own}
    assert {name for name in others if RANKS[name] >= RANKS[own]} == set()


@pytest.mark.parametrize(("one", "other"), [("terraform", "kubernetes"), ("kubernetes", "terraform")])
def test_strangers_do_not_meet_through_a_third(one: str, other: str) -> None:
    own = [module for module in MODULES if package(module) == one]
    assert {name for module in own for name in reached(module) if package(name) == other} == set()


def test_the_model_knows_values_only() -> None:
    known = {package(name) for module in MODULES if package(module) == "model" for name in imports(module)}
    assert known <= {"model", "source"}


@pytest.mark.parametrize(
    "module", [name for name in MODULES if package(name) not in {"clouds", "generate"} and name != "numbers.clouds"]
)
def test_no_cloud_is_named_where_all_are_meant(module: str) -> None:
    nodes = ast.walk(ast.parse(MODULES[module].read_text()))
    assert {node.value for node in nodes if isinstance(node, ast.Constant) and node.value in CLOUDS} == set()


UNITS = {6, 9, 10, 30, 32, 60, 100, 1000}
"""Exponents, factors of units, and the bits of an address."""
GUARDS = {"_MOST", "_DEPTH", "MOST"}
"""Bounds of what is read at all."""


@pytest.mark.parametrize("module", [name for name in MODULES if package(name) == "clouds"])
def test_numbers_of_clouds_are_in_profiles(module: str) -> None:
    """With source and date, so that they are found when they are due."""
    lines = ast.parse(MODULES[module].read_text()).body
    bounds = [line for line in lines if isinstance(line, ast.Assign) and ast.unparse(line.targets[0]) in GUARDS]
    nodes = [node for line in lines if line not in bounds for node in ast.walk(line)]
    numbers = {node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, int)}
    assert {number for number in numbers if number > 3} <= UNITS


ASKED = {
    *(f"os.path.{name}" for name in ("exists", "getmtime", "getsize", "isdir", "isfile", "islink", "lexists", "realpath", "samefile")),
    *(f"os.{name}" for name in ("access", "environ", "getenv", "listdir", "lstat", "readlink", "scandir", "stat", "urandom", "walk")),
    "open", "os.open", "os.path.expanduser", "pathlib.Path", "sys.stdin", "subprocess.run", "subprocess.Popen",
}  # fmt: skip
"""What a stored result must know of: asked by itself it goes unseen."""
UNSEEN = {
    "files.system": "the one place that asks, and notes it",
    "commands.result_cache": "where results are is none of a result",
    "commands.group": "mistakes are not stored",
    **dict.fromkeys(
        ("source.bundled", "config.schemas", "engine.rule", "terraform.registry", "kubernetes.images", "numbers.profiles",
         "numbers.machines", "numbers.retirements", "numbers.versions", "numbers.dates", "numbers.fabrics"),
        "files of kcheck and its libraries: a result is of one version of them",
    ),
    **dict.fromkeys(
        ("commands.check", "commands.comparison_options", "files.save", "gate.git", "gate.repository",
         "kubernetes.render", "simulate.recording.read"),
        "writes or runs something, and says that it cannot be repeated",
    ),
}  # fmt: skip
"""Modules that may ask by themselves, and why."""
NEVER_STORED = (
    "generate",
    "gate.setup",
    "engine.new_rule",
    "fix.rule_examples",
    "commands.init",
    "commands.baseline",
    "commands.generate",
    "files.lock",
    "fleet",
)


@pytest.mark.parametrize(
    "module", [name for name in MODULES if name not in UNSEEN and not name.startswith(NEVER_STORED)]
)
def test_the_system_is_asked_where_answers_are_recorded(module: str) -> None:
    assert asked(module) == set()


@pytest.mark.parametrize(("module", "why"), UNSEEN.items())
def test_what_asks_by_itself_has_a_reason(module: str, why: str) -> None:
    assert asked(module)
    assert (
        "repeated" not in why
        or "system.cannot_repeat()" in MODULES[module].read_text()
        or "files.save" in imports(module)
    )


def asked(module: str) -> set[str]:
    """What a module asks the system by itself."""
    nodes = list(ast.walk(ast.parse(MODULES[module].read_text())))
    used = {ast.unparse(node) for node in nodes if isinstance(node, ast.Attribute)}
    return ASKED & (used | {ast.unparse(node.func) for node in nodes if isinstance(node, ast.Call)})


READERS = {"source", "syntax", "files"}
"""They alone know how bytes are to be read."""
BYTES_PATTERNS = {"engine.suppressions"}
"""Comments are looked for in whatever language."""


@pytest.mark.parametrize(
    "module", [name for name in MODULES if package(name) not in READERS and name not in BYTES_PATTERNS]
)
def test_bytes_are_searched_where_their_syntax_is_known(module: str) -> None:
    calls = [node for node in ast.walk(ast.parse(MODULES[module].read_text())) if isinstance(node, ast.Call)]
    patterns = [call.args[0] for call in calls if call.args and ast.unparse(call.func).startswith("re.")]
    parts = [part for pattern in patterns for part in ast.walk(pattern)]
    assert not any(isinstance(part, ast.Constant) and isinstance(part.value, bytes) for part in parts)
    assert not any(isinstance(part, ast.Attribute) and part.attr == "encode" for part in parts)


@pytest.mark.parametrize("module", [name for name in MODULES if package(name) == "words"])
def test_words_see_values_and_no_spelling_of_them(module: str) -> None:
    """Manifests as they are written are the subject of raw rules; HCL and bytes are nobody's."""
    syntax = {name for name in imports(module) if package(name) == "syntax"}
    allowed = {"syntax.cel", "syntax.cel_usage", "syntax.outlines"}
    assert syntax <= ({"syntax.yaml"} if module == "words.raw_tree" else allowed)
    nodes = ast.walk(ast.parse(MODULES[module].read_text()))
    read = {
        node.value.attr
        for node in nodes
        if isinstance(node, ast.Attribute) and node.attr == "data" and isinstance(node.value, ast.Attribute)
    }
    assert "source" not in read


@pytest.mark.parametrize("path", sorted(PACKAGE.rglob("__init__.py")), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_a_package_says_in_one_line_what_it_is_for(path: Path) -> None:
    said = ast.get_docstring(ast.parse(path.read_text()))
    assert said
    assert len(said.splitlines()) == 1
