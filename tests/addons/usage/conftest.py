"""Provide the test weeks in a real Prometheus; without its binaries, tests that need it are skipped."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from kcheck.commands.cli import cli
from tests import processes
from tests.addons.usage import server
from tests.addons.usage.week import openmetrics

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.addons.usage.week.cluster import Week


@pytest.fixture(scope="session")
def programs() -> server.Programs:
    """Return the paths of the Prometheus binaries; skip the test if one is missing."""
    found = server.programs()
    if found is None:
        pytest.skip(f"{' and '.join(server.BINARIES)} are not in PATH")
    return found


@pytest.fixture(scope="session")
def weeks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder that all workers of this test session share."""
    folder = processes.shared_folder(tmp_path_factory, "weeks")
    folder.mkdir(exist_ok=True)
    return folder


@pytest.fixture(scope="session")
def blocks(programs: server.Programs, weeks: Path) -> Callable[[str, list[Week]], Path]:
    """Return a function that writes weeks as blocks of one Prometheus database, once per name."""

    def made(name: str, several: list[Week]) -> Path:
        folder = weeks / name
        with processes.locked(weeks / f"{name}.lock"):
            if not (folder / "blocks").exists():
                for number, week in enumerate(several):
                    (folder / str(number)).mkdir(parents=True)
                    files = openmetrics.write(week, folder / str(number))
                    server.make_blocks(programs, files, folder / "making")
                    for file in files:
                        file.unlink()
                (folder / "making").rename(folder / "blocks")
        return folder / "blocks"

    return made


@pytest.fixture(scope="session")
def recordings(
    programs: server.Programs, weeks: Path, blocks: Callable[[str, list[Week]], Path]
) -> Callable[[str, list[Week]], list[Path]]:
    """Return a function that records weeks with `kcheck usage record`, once per name, and returns the recordings."""

    def made(name: str, several: list[Week]) -> list[Path]:
        found = blocks(name, several)
        paths = [weeks / name / f"usage-{number}.json.gz" for number in range(len(several))]
        with processes.locked(weeks / f"{name}.lock"):
            if not paths[-1].exists():
                with server.running(programs, found) as url:
                    for week, path in zip(several, paths, strict=True):
                        command = ["usage", "record", "--prometheus", url, *week.flags, "-o", str(path)]
                        result = CliRunner().invoke(cli, command)
                        assert result.exit_code == 0, result.output
        return paths

    return made
