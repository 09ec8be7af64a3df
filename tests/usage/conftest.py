"""The weeks of the tests in a real Prometheus; without its binaries the tests that need it skip."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from kcheck.cli import cli
from tests import processes
from tests.usage import server
from tests.usage.week import openmetrics

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.usage.week.cluster import Week

Blocks = "Callable[[str, Week], Path]"


@pytest.fixture(scope="session")
def programs() -> server.Programs:
    """The binaries."""
    found = server.programs()
    if found is None:
        pytest.skip(f"{' and '.join(server.BINARIES)} are not in PATH")
    return found


@pytest.fixture(scope="session")
def weeks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that the workers of this session share."""
    folder = processes.shared_folder(tmp_path_factory, "weeks")
    folder.mkdir(exist_ok=True)
    return folder


@pytest.fixture(scope="session")
def blocks(programs: server.Programs, weeks: Path) -> Callable[[str, Week], Path]:
    """The blocks of a week with a name, which are made once."""

    def made(name: str, week: Week) -> Path:
        folder = weeks / name
        with processes.locked(weeks / f"{name}.lock"):
            if not (folder / "blocks").exists():
                folder.mkdir(exist_ok=True)
                files = openmetrics.write(week, folder)
                server.make_blocks(programs, files, folder / "making")
                for file in files:
                    file.unlink()
                (folder / "making").rename(folder / "blocks")
        return folder / "blocks"

    return made


@pytest.fixture(scope="session")
def recordings(
    programs: server.Programs, weeks: Path, blocks: Callable[[str, Week], Path]
) -> Callable[[str, Week], Path]:
    """The recording of a week with a name, which is made once, as a person makes it."""

    def made(name: str, week: Week) -> Path:
        found = blocks(name, week)
        path = weeks / name / "usage.json.gz"
        with processes.locked(weeks / f"{name}.lock"):
            if not path.exists():
                with server.running(programs, found) as url:
                    command = ["usage", "record", "--prometheus", url, *week.flags, "-o", str(path)]
                    result = CliRunner().invoke(cli, command)
                    assert result.exit_code == 0, result.output
        return path

    return made
