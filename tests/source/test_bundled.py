"""What a wheel has compiled is what is written, and whatever cannot be read is read as it is written."""

from __future__ import annotations

import marshal
from pathlib import Path

import pytest
from compile_data import compile_data

from kcheck.engine import rules
from kcheck.source import bundled

PROFILES = sorted(str(path) for path in Path(bundled.PROFILES).rglob("*.yaml"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("compiled")
    compile_data(path)
    return path


@pytest.fixture
def wheel(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As if kcheck ran from a wheel."""
    monkeypatch.setattr(bundled, "COMPILED", str(folder))


def documents() -> list[object]:
    return [bundled.load(path, number) for path in PROFILES for number in (0, 1, 2)]


def test_profiles_are_what_is_written(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written = documents()
    monkeypatch.setattr(bundled, "COMPILED", str(folder))
    assert all(bundled.compiled(str(Path(path).relative_to(bundled.ROOT))) for path in PROFILES)
    assert documents() == written


@pytest.mark.usefixtures("wheel")
def test_rules_are_what_is_written() -> None:
    assert bundled.compiled("rules") == rules.entries()
    assert rules.load.__wrapped__() == rules.load()
    assert not any({"why", "examples"} & table.keys() for _, _, table in rules.entries())


def test_yaml_is_read_in_a_checkout() -> None:
    assert not Path(bundled.COMPILED).exists()


@pytest.mark.parametrize(
    "damaged",
    [b"", b"kch", bundled.packed({"a": 1})[:-1], bundled.packed({"a": 1})[:-1] + b"x", b"\0\0\0\0" + marshal.dumps(1)],
)
def test_a_damaged_file_is_left_alone(damaged: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "profiles" / "mechanisms.yaml.marshal"
    path.parent.mkdir()
    path.write_bytes(damaged)
    monkeypatch.setattr(bundled, "COMPILED", str(tmp_path))
    assert bundled.load(f"{bundled.PROFILES}/mechanisms.yaml")["subnet"]


@pytest.mark.parametrize(("version", "read"), [(3, False), (4, True), (6, True), (7, False)])
def test_data_is_read_by_known_formats_only(version: int, read: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    file = bundled.packed({"a": ["b", 1, 2.5, None, True]})
    monkeypatch.setattr(marshal, "version", version)
    assert (bundled.unpacked(file) is not None) == read
