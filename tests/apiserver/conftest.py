"""One API server for all tests of a session; without binaries the tests that need it skip."""

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
    """The binaries."""
    found = server.programs(os.environ)
    if found is None:
        pytest.skip(f"{' and '.join(server.VARIABLES)} do not name the binaries of an API server")
    return found


@pytest.fixture(scope="session")
def crds() -> definitions.Definitions:
    """The definitions of custom resources."""
    folder = os.environ.get(definitions.VARIABLE)
    return definitions.Definitions(Path(folder) if folder else None)


@pytest.fixture(scope="session")
def api(programs: server.Programs, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """The server."""
    with server.shared(programs, shared_folder(tmp_path_factory, "apiserver")) as running:
        yield running


@pytest.fixture(scope="session")
def client(api: Server, crds: definitions.Definitions) -> Iterator[Client]:
    """A connection to the server, which gets the definitions of what it is asked about."""
    connection = api.client(crds)
    yield connection
    connection.close()
