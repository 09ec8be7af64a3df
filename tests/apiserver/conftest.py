"""Provide one API server for all tests of a session; without binaries, tests that need it are skipped."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.apiserver import definitions, server
from tests.processes import shared_folder

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.apiserver.client import Client
    from tests.apiserver.server import Server


@pytest.fixture(scope="session")
def programs() -> server.Programs:
    """Return the paths of the API server's binaries; skip the test if they are not named."""
    found = server.programs(os.environ)
    if found is None:
        pytest.skip(f"{' and '.join(server.VARIABLES)} do not name the binaries of an API server")
    return found


@pytest.fixture(scope="session")
def crds() -> definitions.Definitions:
    """Return the CRDs of the folder that an environment variable names."""
    folder = os.environ.get(definitions.VARIABLE)
    return definitions.Definitions(Path(folder) if folder else None)


@pytest.fixture(scope="session")
def api(programs: server.Programs, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Yield the API server that all workers of the session share."""
    with server.shared(programs, shared_folder(tmp_path_factory, "apiserver")) as running:
        yield running


@pytest.fixture(scope="session")
def client(api: Server, crds: definitions.Definitions) -> Iterator[Client]:
    """Yield a connection to the server, which installs the CRDs of the kinds it sends."""
    connection = api.client(crds)
    yield connection
    connection.close()
