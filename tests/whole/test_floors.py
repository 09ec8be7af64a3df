"""Test the rules of the code itself: sizes, which module may import which, and what a module may contain.

The picture in CONTRIBUTING.md is printed from here.
"""

from __future__ import annotations

import ast
import re
from functools import cache
from graphlib import CycleError, TopologicalSorter
from importlib import import_module
from typing import TYPE_CHECKING

import pytest

from kcheck.commands.cli import _OF_ADDONS
from kcheck.config.numbers.clouds import CLOUDS
from tests.places import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

FLOORS = (
    ("text",),
    ("model", "config"),
    ("terraform", "kubernetes"),
    ("inventory",),
    ("scale",),
    ("engine",),
    ("fix",),
    ("report",),
    ("api", "generate"),
    ("commands",),
    ("addons",),
)
"""Packages from the ground up: a package imports only from floors below its own."""

RANKS = {package: rank for rank, floor in enumerate(FLOORS) for package in floor}
PACKAGE = ROOT / "kcheck"
DOORS = {PACKAGE / "__init__.py", PACKAGE / "__main__.py"}
"""Modules that outsiders use, the API and `python -m kcheck`; both stand above every floor."""
FILES = sorted(path for path in PACKAGE.rglob("*.py") if path not in DOORS)


def dotted(path: Path) -> str:
    """Return the import name of a file, without `kcheck.`."""
    return ".".join(path.relative_to(PACKAGE).with_suffix("").parts).removesuffix(".__init__")


MODULES = {dotted(path): path for path in FILES}


@cache
def parsed(module: str) -> ast.Module:
    """Return the syntax tree of a module, parsed once for all tests."""
    return ast.parse(MODULES[module].read_text())


@cache
def nodes(module: str) -> list[ast.AST]:
    """Return all nodes of a module's syntax tree."""
    return list(ast.walk(parsed(module)))


def calls(module: str) -> Iterator[ast.Call]:
    return (node for node in nodes(module) if isinstance(node, ast.Call))


@cache
def imports(module: str) -> frozenset[str]:
    """Return the modules of kcheck that a module imports, also for types only."""
    found: set[str] = set()
    for node in nodes(module):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "kcheck":
            folder = (node.module or "").removeprefix("kcheck").removeprefix(".")
            names = {f"{folder}.{alias.name}".strip(".") for alias in node.names}
            found |= {name if name in MODULES else folder for name in names}
    return frozenset(found - {"", "__version__"})


def reached(module: str) -> set[str]:
    """Return the modules that a module imports, directly or through others."""
    found: set[str] = set()
    todo = [module]
    while todo:
        for name in imports(todo.pop()) - found:
            found.add(name)
            todo.append(name)
    return found


def package(module: str) -> str:
    return module.split(".", maxsplit=1)[0]


def modules(packages: Iterable[str] = RANKS, *, but: Iterable[str] = ()) -> Iterator[str]:
    """Yield the modules of some packages, except for those in `but`."""
    return (name for name in MODULES if package(name) in packages and name not in but)


def offenders(found: Iterable[tuple[str, Iterable[object]]]) -> Mapping[str, list[object]]:
    """Return the faults of each module; a comparison with {} names all at once."""
    return {module: wrong for module, found in found if (wrong := list(found))}


def test_the_package_has_at_most_15_entries() -> None:
    """A new entry must replace another one."""
    entries = {path.name for path in PACKAGE.iterdir()} - {"__pycache__", "__init__.py", "py.typed"}
    assert len(entries) <= 15
    assert {package(module) for module in MODULES} == set(RANKS)


def test_no_module_imports_an_addon() -> None:
    """The command line loads commands of add-ons by name, and no add-on imports another."""
    found = offenders(
        (module, [name for name in imports(module) if package(name) == "addons" and not same_addon(module, name)])
        for module in MODULES
    )
    assert found == {}


def test_commands_of_addons_are_found_by_name() -> None:
    every = {f"addons.{name}" for name in _OF_ADDONS.values()}
    assert every <= MODULES.keys()
    assert [name for name in every if "command" not in vars(import_module(f"kcheck.{name}"))] == []


def same_addon(module: str, other: str) -> bool:
    return module.split(".")[:2] == other.split(".")[:2]


def test_no_modules_import_each_other_in_a_circle() -> None:
    graph = {module: imports(module) & MODULES.keys() - {module} for module in MODULES}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(" <- ".join(error.args[1]))


KEYS_OF_MAPS = {"Reference"}
"""Subclasses of str that stand for an unknown key: keys are sorted, compared and printed as text."""


def test_no_subclass_of_str_carries_data() -> None:
    """Data attached to a text is lost when the text is joined, stripped or copied; use a struct."""
    texts = (
        (module, node)
        for module in MODULES
        for node in nodes(module)
        if isinstance(node, ast.ClassDef) and "str" in map(ast.unparse, node.bases)
    )
    found = {
        f"{module}.{node.name}"
        for module, node in texts
        if node.name not in KEYS_OF_MAPS and any(isinstance(part, ast.AnnAssign) for part in node.body)
    }
    assert found == set()


@pytest.mark.slow
def test_imports_lead_only_to_lower_floors() -> None:
    assert (
        offenders(
            (module, {name for name in imports(module) if package(name) != own and RANKS[package(name)] >= RANKS[own]})
            for module in MODULES
            if (own := package(module))
        )
        == {}
    )


@pytest.mark.parametrize(("one", "other"), [("terraform", "kubernetes"), ("kubernetes", "terraform")])
def test_separate_packages_do_not_depend_through_a_third(one: str, other: str) -> None:
    assert {name for module in modules({one}) for name in reached(module) if package(name) == other} == set()


def test_the_model_imports_only_values() -> None:
    known = {package(name) for module in modules({"model"}) for name in imports(module)}
    assert known <= {"model", "text"}


OF_CLOUDS = re.compile(
    r"\b(?:aws|google|azurerm|azapi|alicloud)_|\b(?:eks|gke|aks|ack)\.|(?:EC2|AKS)NodeClass|aliyun|azmk8s|\.dkr\.ecr\."
    r"|(?:amazonaws|amazon|google|googleapis|azure|alibabacloud)\.com|k8s\.aws|eksctl\.io|gke\.io|core\.windows\.net"
    r"|gcr\.io|pkg\.dev|azurecr\.io"
)
"""Begins and ends of names that belong to one cloud: resource types, labels, kinds, numbers, hosts."""
OF_A_CLOUD = {
    "config.numbers.clouds": "the list of the clouds",
    "scale.images": "registries that the Kubernetes project had before registry.k8s.io",
    "addons.authoring.new_rule": "the example in a new rule is one of some cloud, which its author replaces",
    "addons.authoring.rule_examples": "the message shows what a key of a number looks like",
    "engine.words.raw_views": "descriptions of words show a type and an address",
    "engine.words.tables.pods": "the description of a word names the cache that it is about",
}
"""Modules outside of a cloud's folder that contain names of one cloud, with the reason."""


def of_clouds(module: str) -> list[str]:
    """Return the strings of a module that belong to one cloud, except for docstrings."""
    docs = {id(node.value) for node in nodes(module) if isinstance(node, ast.Expr)}
    constants = (node for node in nodes(module) if isinstance(node, ast.Constant) and id(node) not in docs)
    found = (str(node.value).replace("\\", "") for node in constants)
    return [text for text in found if text in CLOUDS or OF_CLOUDS.search(text)]


def test_shared_code_mentions_no_cloud() -> None:
    """A cloud is one folder of code and one of profiles."""
    meant = [one for one in modules(RANKS.keys() - {"generate"}) if not one.startswith("inventory.clouds")]
    assert offenders((module, of_clouds(module)) for module in meant if module not in OF_A_CLOUD) == {}
    assert [module for module in OF_A_CLOUD if not of_clouds(module)] == []


UNITS = {6, 9, 10, 30, 32, 60, 100, 1000}
"""Exponents, factors of units, and bits of an address."""
GUARDS = {"_MOST", "_DEPTH", "MOST"}
"""Names of limits on what is read at all."""


def numbers(module: str) -> Iterator[int]:
    """Yield the integers written in a module, except for limits on what is read."""
    for line in parsed(module).body:
        if not (isinstance(line, ast.Assign) and ast.unparse(line.targets[0]) in GUARDS):
            found = (node.value for node in ast.walk(line) if isinstance(node, ast.Constant))
            yield from (value for value in found if isinstance(value, int))


def test_cloud_numbers_are_only_in_profiles() -> None:
    """There they have source and date, and are found when a review is due."""
    assert (
        offenders(
            (module, {number for number in numbers(module) if number > 3} - UNITS)
            for module in modules({"inventory"})
            if module.startswith("inventory.clouds")
        )
        == {}
    )


READS = {
    *(f"os.{name}" for name in ("listdir", "open", "readlink", "scandir", "walk")),
    "open", "pathlib.Path", "sys.stdin", "subprocess.run", "subprocess.Popen",
}  # fmt: skip
"""Functions that open files, list folders or run programs.

Only `text.files` calls them: it stays within the boundary, and opens no pipe.
"""
READ_BY_THEMSELVES = {
    "text.files.system": "the one place that reads what strangers wrote",
    **dict.fromkeys(
        ("text.bundled", "config.numbers.dates", "config.schemas", "engine.rule", "addons.authoring.rule_examples", "generate.render",
          "kubernetes.images", "terraform.missing_modules"),
        "files of kcheck itself",
    ),
    **dict.fromkeys(
        ("text.files.save", "addons.fleet.outcomes", "addons.fleet.storage", "commands.check",
         "addons.setup.proposal"),
        "files that kcheck writes, or has written",
    ),
    "addons.fleet.checkout": "lists folders and follows no link in them",
    "addons.fleet.process": "the null device, and what Linux says of this process",
    "addons.calibration.read": "standard input",
    **dict.fromkeys(("fix.gate.git", "kubernetes.render"), "run a program that the user asks for"),
}  # fmt: skip
"""Modules that may call them, with the reason."""


@pytest.mark.medium
def test_files_are_read_in_one_place() -> None:
    assert offenders((module, reads(module)) for module in modules(but=READ_BY_THEMSELVES)) == {}


def test_modules_listed_as_reading_by_themselves_do_read() -> None:
    assert [module for module in READ_BY_THEMSELVES if not reads(module)] == []


def reads(module: str) -> set[str]:
    """Return the functions that open files or run programs and that a module uses."""
    used = {ast.unparse(node) for node in nodes(module) if isinstance(node, ast.Attribute)}
    return READS & (used | {ast.unparse(call.func) for call in calls(module)})


READERS = {"text"}
"""Packages that know how bytes are read."""
BYTES_PATTERNS = {"engine.suppressions"}
"""Modules that search comments in any language."""


def bytes_patterns(module: str) -> Iterator[str]:
    """Yield the calls of `re` with a bytes pattern."""
    for call in calls(module):
        if call.args and ast.unparse(call.func).startswith("re."):
            for part in ast.walk(call.args[0]):
                if isinstance(part, ast.Constant) and isinstance(part.value, bytes):
                    yield ast.unparse(call)
                if isinstance(part, ast.Attribute) and part.attr == "encode":
                    yield ast.unparse(call)


@pytest.mark.medium
def test_byte_patterns_are_only_in_syntax_modules() -> None:
    assert (
        offenders((module, bytes_patterns(module)) for module in modules(RANKS.keys() - READERS, but=BYTES_PATTERNS))
        == {}
    )


SYNTAX_OF_WORDS = {"text.syntax.cel", "text.syntax.cel_tree"}


def spellings(module: str) -> Iterator[str]:
    """Yield the parsers that a module of words imports, and the bytes of sources that it reads."""
    allowed = {"text.syntax.yaml"} if module == "engine.words.raw_tree" else SYNTAX_OF_WORDS
    yield from {name for name in imports(module) if name.startswith("text.syntax.")} - allowed
    for node in nodes(module):
        if isinstance(node, ast.Attribute) and ast.unparse(node).endswith(".source.data"):
            yield ast.unparse(node)


def test_rule_words_use_values_and_not_syntax() -> None:
    """Raw rules judge manifests as they are written; no rule judges HCL or bytes."""
    assert (
        offenders((module, spellings(module)) for module in modules({"engine"}) if module.startswith("engine.words"))
        == {}
    )


def test_packages_have_a_one_line_docstring() -> None:
    said = {path: ast.get_docstring(ast.parse(path.read_text())) or "" for path in PACKAGE.rglob("__init__.py")}
    assert [path for path, text in said.items() if len(text.splitlines()) != 1] == []


def test_modules_are_short_and_named_for_what_they_hold() -> None:
    assert [module for module, path in MODULES.items() if len(path.read_text().splitlines()) > 440] == []
    vague = {"utils", "util", "helpers", "helper", "common", "misc", "tools"}
    assert [module for module in MODULES if module.rpartition(".")[2] in vague] == []


MOST = {"modules": 450, "imports in functions": 100, "lines": 80_500, "lines without add-ons": 66_000, "Any": 56}
"""Greatest counts; lower them, never raise them."""


def test_the_package_does_not_grow() -> None:
    lines = {module: len(path.read_text().splitlines()) for module, path in MODULES.items()}
    own = [number for module, number in lines.items() if package(module) != "addons"]
    late = {
        (module, one.lineno)
        for module in MODULES
        for function in nodes(module)
        if isinstance(function, ast.FunctionDef)
        for one in ast.walk(function)
        if isinstance(one, ast.ImportFrom) and (one.module or "").split(".")[0] == "kcheck"
    }
    found = {
        "modules": len(MODULES),
        "imports in functions": len(late),
        "lines": sum(lines.values()),
        "lines without add-ons": sum(own),
        "Any": sum(len(re.findall(r"\bAny\b", path.read_text())) for path in FILES),
    }
    assert {name: number for name, number in found.items() if number > MOST[name]} == {}


LONGEST = 40


def long_functions(module: str) -> set[str]:
    functions = (node for node in nodes(module) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
    return {one.name for one in functions if (one.end_lineno or 0) - one.lineno >= LONGEST}


def test_functions_are_short() -> None:
    assert offenders((module, long_functions(module)) for module in MODULES) == {}


UNCLEAR = re.compile(r"(?:What|That which|Those|Of the)\b")
"""Beginnings of docstrings without a verb."""
MOST_WORDS, MOST_LETTERS = 20, 80
"""Words and characters in the first line of a docstring; help of commands is for users."""


def unclear_docstrings(module: str) -> Iterator[str]:
    """Yield first lines of docstrings that are long or do not begin with a verb."""
    for node in nodes(module):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and not is_command(
            node
        ):
            first = (ast.get_docstring(node) or "").partition("\n")[0]
            if UNCLEAR.match(first) or len(first.split()) > MOST_WORDS or len(first) > MOST_LETTERS:
                yield first


def is_command(node: ast.AST) -> bool:
    """Return whether a function is a command, whose docstring is its help."""
    decorators = node.decorator_list if isinstance(node, ast.FunctionDef) else []
    return any(re.match(r"\w+\.(?:command|group)\(", ast.unparse(one)) for one in decorators)


def test_docstrings_are_short_and_begin_with_a_verb() -> None:
    assert offenders((module, unclear_docstrings(module)) for module in MODULES) == {}


def test_calls_with_many_arguments_use_keywords() -> None:
    assert (
        offenders(
            (module, (f"line {call.lineno}" for call in calls(module) if len(call.args) > 6)) for module in MODULES
        )
        == {}
    )


def test_names_of_tests_say_what_holds() -> None:
    """A name of one or two words is only a topic."""
    every = ((path, re.findall(r"def test_(\w+)\(", path.read_text())) for path in (ROOT / "tests").rglob("test_*.py"))
    assert {str(path): wrong for path, names in every if (wrong := [one for one in names if one.count("_") < 2])} == {}


PRINTERS = {
    "commands.cli",
    "commands.printing",
}
"""The modules that may print: one makes hostile text visible, one prints a report in its format."""
PRINTS = re.compile(r"\bclick\.s?echo\(|(?<![\w.])print\(|sys\.std(?:out|err)\.(?:buffer|write)\b")


@pytest.mark.medium
def test_output_is_printed_in_one_place_only() -> None:
    assert offenders((module, PRINTS.findall(MODULES[module].read_text())) for module in modules(but=PRINTERS)) == {}
