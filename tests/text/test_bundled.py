"""Test compiled data of a wheel: it equals the YAML, and damaged data falls back to the YAML."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from compile_data import compile_data, serialized

from kcheck.engine import rules
from kcheck.engine.rule import Rule
from kcheck.text import bundled
from kcheck.text.syntax import cel

PROFILES = sorted(str(path) for path in Path(bundled.PROFILES).rglob("*.yaml"))
SUBJECTS = sorted({rule.subject for rule in rules.load()})
EXAMPLE = Path(bundled.ROOT) / "examples" / "own-rules"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("compiled")
    compile_data(path)
    return path


@pytest.fixture
def wheel(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make kcheck run as if installed from a wheel."""
    monkeypatch.setattr(bundled, "COMPILED", str(folder))


def documents() -> list[object]:
    return [bundled.load(path, number) for path in PROFILES for number in (0, 1, 2)]


@pytest.mark.medium
def test_compiled_profiles_equal_the_yaml(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written = documents()
    monkeypatch.setattr(bundled, "COMPILED", str(folder))
    assert all(bundled.compiled(str(Path(path).relative_to(bundled.ROOT))) for path in PROFILES)
    assert documents() == written


@pytest.mark.medium
def test_bundled_yaml_equals_what_pyyaml_reads() -> None:
    for path in PROFILES:
        for number, part in enumerate(Path(path).read_bytes().split(b"\n---\n")):
            assert repr(bundled.load(path, number)) == repr(yaml.load(part, bundled.loader()))  # noqa: S506 - it is a safe one


@pytest.mark.medium
@pytest.mark.usefixtures("wheel")
def test_compiled_rules_equal_the_yaml() -> None:
    assert bundled.compiled("rules", tuple[Rule, ...]) == rules.from_files()
    assert rules.load.__wrapped__() == rules.load()


@pytest.mark.medium
@pytest.mark.usefixtures("wheel")
@pytest.mark.parametrize("subject", SUBJECTS)
def test_compiled_expressions_equal_the_text(subject: str) -> None:
    variables = (subject, "limits")
    stored = cel.serialized_expressions.__wrapped__(variables)
    assert stored
    for text, content in stored.items():
        written = cel.compile(text, variables)
        found = cel.Expression(text, variables, bundled.unpacked(content))
        assert found.used == written.used
        assert found.tree == written.tree
        nothing = cel.activation({}, variables)
        assert cel.evaluate(found, nothing) == cel.evaluate(written, nothing)


def test_compiled_expressions_are_equal_in_each_build() -> None:
    texts = ["pool.a.exists(x, x.b == 1) && has(pool.c)", "pool.map(x, x.a > 1 ? 'b' : \"c\" + x.d)"]
    for text in texts:
        once, again = (cel.compile.__wrapped__(text, ("pool", "limits")) for _ in range(2))
        assert serialized(once) == serialized(again)
        stored = cel.Expression(text, once.variables, bundled.unpacked(serialized(once)))
        assert stored.tree == once.tree
        assert len(stored.serialized) == len(once.serialized)


def test_expressions_compiled_by_another_runtime_are_ignored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "expressions" / "pool-limits.msgpack"
    path.parent.mkdir()
    path.write_bytes(bundled.packed(("cel_expr_python-0.0.1.dist-info", {"1 + 1": b""})))
    monkeypatch.setattr(bundled, "COMPILED", str(tmp_path))
    assert not cel.serialized_expressions.__wrapped__(("pool", "limits"))


@pytest.mark.slow
@pytest.mark.parametrize("form", ["text", "json"])
def test_a_wheel_prints_the_same_as_a_checkout(form: str, folder: Path) -> None:
    def output(compiled: object) -> str:
        code = f"from kcheck.text import bundled; bundled.COMPILED = {str(compiled)!r}; import kcheck.commands.cli; kcheck.commands.cli.main()"
        command = [sys.executable, "-c", code, "check", ".", "--fail-on=never", f"--format={form}"]
        return subprocess.run(command, cwd=EXAMPLE, capture_output=True, text=True, check=True).stdout

    assert output(folder) == output("nowhere")


def test_a_checkout_reads_the_yaml_files() -> None:
    assert not Path(bundled.COMPILED).exists()


@pytest.mark.parametrize(
    "damaged",
    [b"", b"kch", bundled.packed({"a": 1})[:-1], bundled.packed({"a": 1})[:-1] + b"x", b"\0\0\0\0\1"],
)
def test_a_damaged_compiled_file_is_ignored(damaged: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "profiles" / "mechanisms.yaml.msgpack"
    path.parent.mkdir()
    path.write_bytes(damaged)
    monkeypatch.setattr(bundled, "COMPILED", str(tmp_path))
    assert bundled.load(f"{bundled.PROFILES}/mechanisms.yaml")["subnet"]
