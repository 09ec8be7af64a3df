"""Share folders, locks and ports between test processes, and start servers that end with their last user."""

from __future__ import annotations

import fcntl
import os
import socket
import subprocess
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import pytest

ENDS_WITHIN = 120
"""Seconds that a process waits for others to leave its server."""
GUARDED = 'exec 3<&0; (read -r _ <&3; kill -KILL $$) & exec 3<&-; exec "$@" < /dev/null'
"""A shell command that runs a program, and kills it when the pipe on stdin has no writer left."""


def shared_folder(factory: pytest.TempPathFactory, name: str) -> Path:
    """Return a folder that the workers of this test session share, and no other session."""
    base = factory.getbasetemp()
    return (base.parent if os.environ.get("PYTEST_XDIST_WORKER") else base) / name


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold a lock on a file, so that no other process runs the same block."""
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def free_ports(count: int) -> list[int]:
    """Return ports of loopback that are free now."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


def start(folder: Path, held: int, name: str, command: list[str]) -> subprocess.Popen[bytes]:
    """Start a command that runs while any process holds the pipe `held` open for writing.

    Write its log to the folder.
    """
    with (folder / f"{name}.log").open("wb") as log:
        return subprocess.Popen(["/bin/sh", "-c", GUARDED, name, *command], stdin=held, stdout=log, stderr=log)


def logs(folder: Path) -> str:
    """Return the last part of each log in a folder."""
    return "\n".join(f"{path.name}:\n{path.read_text(errors='replace')[-2000:]}" for path in folder.glob("*.log"))


def wait_for_end(process: subprocess.Popen[bytes]) -> None:
    """Wait until a process has ended; kill it if it takes too long."""
    try:
        process.wait(ENDS_WITHIN)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
