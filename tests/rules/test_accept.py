"""Test scripts/accept without its steps: tests of the rules come first, then golden files, then pages."""

from __future__ import annotations

from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from typing import Any

import pytest

from tests.places import ROOT

pytestmark = pytest.mark.medium


def steps(monkeypatch: pytest.MonkeyPatch, *, fails: str = "") -> list[str]:
    """Return the steps that scripts/accept starts for one rule, if the step with the word `fails` fails."""
    loader = SourceFileLoader("accept", str(ROOT / "scripts" / "accept"))
    spec = spec_from_loader("accept", loader)
    assert spec
    accept: Any = module_from_spec(spec)
    loader.exec_module(accept)
    begun: list[str] = []

    def passes(*arguments: str, **_environment: str) -> bool:
        begun.append(" ".join(arguments))
        return not fails or fails not in begun[-1]

    monkeypatch.setattr(accept, "passes", passes)
    monkeypatch.setattr(accept, "written", dict)
    monkeypatch.setattr("sys.argv", ["accept", "docker-hub-image"])
    if fails:
        with pytest.raises(SystemExit):
            accept.main()
    else:
        accept.main()
    return begun


def test_one_run_tests_the_rule_then_golden_files_then_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    own, of_rules, golden, pages = steps(monkeypatch)
    assert own.endswith("rules --test rules/images/docker-hub-image.yaml --strict")
    assert "test_mutations.py" in of_rules
    assert "test_examples.py" in golden
    assert pages == "scripts/print-docs"


@pytest.mark.parametrize(("fails", "count"), [("--strict", 1), ("test_mutations", 2)])
def test_nothing_is_written_for_a_failing_rule(fails: str, count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    assert len(steps(monkeypatch, fails=fails)) == count


def test_pages_are_printed_even_if_an_example_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    assert steps(monkeypatch, fails="test_examples")[-1] == "scripts/print-docs"
