"""Test examples with foreign values, lines and bytes: no exit 3, equal output twice, nothing lost by a fix.

For long runs, use scripts/fuzz, or KCHECK_MUTATIONS=5000 here.
"""

from __future__ import annotations

import os
import subprocess
import sys
from random import Random
from typing import TYPE_CHECKING

import pytest
from fuzzing import corpus, mutations, shrink, targets
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kcheck.config.config import Config
from kcheck.fix import fix
from kcheck.text.findings import SAFETIES
from tests.places import LONG, load_script

if TYPE_CHECKING:
    from fuzzing.corpus import Sample

pytestmark = pytest.mark.medium

MOST = int(os.environ.get("KCHECK_MUTATIONS", "0"))
SMALL = [sample for sample in corpus.samples() if sum(map(len, sample.files.values())) < 5_000]
FIXED = settings(
    max_examples=200 if LONG else 12, derandomize=True, database=None, suppress_health_check=[HealthCheck.too_slow]
)


def drawn(number: int) -> Sample:
    """Return a folder with random changes, the same for a number."""
    random = Random(number)
    return mutations.mutated(random.choice(SMALL), random)


@pytest.mark.slow
@FIXED
@given(st.integers(0, 2**32), st.sampled_from(targets.COMMANDS))
def test_no_command_ends_with_3(number: int, command: tuple[str, ...]) -> None:
    with targets.folder_of(drawn(number)):
        assert targets.failure(targets.COMMANDS[0]) == ""
        assert targets.failure(command) == ""


@pytest.mark.slow
@FIXED
@given(st.integers(0, 2**32))
def test_bytes_outside_a_fix_do_not_change(number: int) -> None:
    with targets.folder_of(drawn(number)):
        outcome = fix.fix(["."], Config(nodes={"": 1000}), safeties=SAFETIES)
        assert targets.broken_promise(outcome) == ""


@pytest.mark.slow
@pytest.mark.parametrize("number", range(20 if LONG else 2))
def test_two_runs_give_the_same_output(number: int) -> None:
    """The output does not depend on the order of sets."""
    code = "import sys; from kcheck.commands.cli import main; sys.argv[0] = 'kcheck'; main()"
    arguments = [sys.executable, "-c", code, "check", ".", "--info", "--show-undecided", "--nodes", "1000"]
    with targets.folder_of(drawn(number)):
        runs = [
            subprocess.run(arguments, capture_output=True, check=False, env={**os.environ, "PYTHONHASHSEED": seed})
            for seed in ("1", "2")
        ]
    assert (runs[0].stdout, runs[0].returncode) == (runs[1].stdout, runs[1].returncode)
    assert runs[0].returncode in (0, 1, 2)


@pytest.mark.skipif(not MOST, reason="KCHECK_MUTATIONS says how many")
def test_no_mutated_input_fails() -> None:
    failed: dict[object, str] = {}
    for number in range(MOST):
        sample = drawn(number)
        with targets.folder_of(sample):
            commands = (targets.COMMANDS[0], Random(number).choice(targets.COMMANDS))
            failed |= {(number, command): why for command in commands if (why := targets.failure(command))}
    assert failed == {}


def test_a_failing_input_is_reduced_to_a_smaller_one() -> None:
    data = b"one\ntwo\nthree needle four\nfive\n"
    assert shrink.shrunk(data, lambda some: b"needle" in some) == b"needle"


def test_mutations_are_repeatable_and_all_different() -> None:
    found = [drawn(number) for number in range(50)]
    assert found == [drawn(number) for number in range(50)]
    assert len({repr(sample) for sample in found}) == 50


@pytest.mark.slow
@pytest.mark.parametrize("name", targets.targets())
def test_every_fuzz_target_accepts_its_seeds(name: str) -> None:
    target = targets.targets()[name]
    for data in target.seeds[:2]:
        target.feed(data)


def test_fuzzing_without_atheris_names_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    script = load_script("fuzz")
    assert {*targets.targets(), script.TREES} == set(script.NAMES)
    monkeypatch.setattr(script, "find_spec", lambda _name: None)
    monkeypatch.setattr(sys, "argv", ["fuzz", "hcl"])
    assert script.main() == 2
    assert "pip install -e .[fuzz]" in capsys.readouterr().err
