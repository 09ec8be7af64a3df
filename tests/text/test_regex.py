"""Test patterns that are compiled at first use."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import kcheck
from kcheck.text.regex import late


def test_lazily_compiled_patterns_behave_as_those_of_re() -> None:
    with late():
        pattern = re.compile(r"(\d+) nodes?", re.IGNORECASE)
    assert type(pattern) is not re.Pattern
    assert [match.group(1) for match in pattern.finditer("1 Node, 20 nodes")] == ["1", "20"]


def test_no_pattern_has_a_possessive_group() -> None:
    """Python before 3.11.5 matches less with `(...)*+` than it should: https://github.com/python/cpython/issues/106052"""
    files = sorted(Path(kcheck.__file__).parent.rglob("*.py"))
    assert [str(path) for path in files if re.search(r"\)[*+?}]\+", path.read_text())] == []


def test_lazy_compilation_ends_if_an_import_fails() -> None:
    compile_now = re.compile
    with pytest.raises(ModuleNotFoundError), late():
        import_module("kcheck.nowhere")
    assert re.compile is compile_now


@pytest.mark.medium
def test_importing_yaml_compiles_no_pattern() -> None:
    code = (
        "import kcheck.text.syntax.yaml, yaml\n"
        "from kcheck.text.regex import regex\n"
        "assert isinstance(yaml.reader.Reader.NON_PRINTABLE, regex)\n"
        "assert yaml.safe_load('[1, 2.5, true, ~, a]') == [1, 2.5, True, None, 'a']\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
