"""Compile the rules and profiles for a wheel, as kcheck/source/bundled.py reads them: no run needs to parse YAML."""

from __future__ import annotations

from pathlib import Path

from kcheck.engine import rules
from kcheck.source import bundled


def compile_data(folder: Path) -> None:
    """Write what is compiled into a folder: a file a profile, and one of all rules."""
    for path in sorted(Path(bundled.PROFILES).rglob("*.yaml")):
        count = path.read_bytes().count(b"\n---\n") + 1
        documents = [bundled.load(str(path), number) for number in range(count)]
        _write(folder, str(path.relative_to(bundled.ROOT)), documents)
    _write(folder, "rules", rules.entries())


def _write(folder: Path, name: str, data: object) -> None:
    path = folder / f"{name}.marshal"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(bundled.packed(data))
