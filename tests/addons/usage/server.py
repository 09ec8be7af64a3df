"""Start a Prometheus on loopback with the samples of some files, which runs as long as a process holds it."""

from __future__ import annotations

import http.client
import os
import shutil
import subprocess
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tests import processes

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

BINARIES = ("prometheus", "promtool")
HOST = "127.0.0.1"
READY_WITHIN = 60
"""Seconds to become ready; 1 is usual, a busy machine takes more."""
BLOCK = "54h"
"""The longest block that promtool makes, a length to which Prometheus merges; promtool reads a file once per block."""


class NotStartedError(Exception):
    """Prometheus did not become ready, or promtool could not make blocks.

    The message holds what the program printed.
    """


@dataclass(frozen=True)
class Programs:
    """Paths of the Prometheus binaries."""

    prometheus: str
    promtool: str


def programs() -> Programs | None:
    """Return the paths of the binaries in PATH; None if one is missing."""
    found = [shutil.which(name) for name in BINARIES]
    return Programs(*(one for one in found if one)) if all(found) else None


def make_blocks(programs: Programs, files: Iterable[Path], folder: Path) -> None:
    """Make the blocks of a database from files in OpenMetrics, two at a time.

    Raises:
        NotStartedError: promtool refuses a file.
    """
    command = [programs.promtool, "tsdb", "create-blocks-from", f"--max-block-duration={BLOCK}", "--quiet", "openmetrics"]  # fmt: skip

    def make(file: Path) -> None:
        run = subprocess.run([*command, file, folder], check=False, capture_output=True, text=True)
        if run.returncode != 0:
            raise NotStartedError(f"{file.name}: {run.stderr.strip()}")

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(make, files))


@contextmanager
def running(programs: Programs, blocks: Path, *flags: str) -> Iterator[str]:
    """Yield the address of a Prometheus that serves a copy of some blocks and scrapes nothing.

    Raises:
        NotStartedError: it did not become ready.

    """
    with tempfile.TemporaryDirectory(prefix="kcheck-prometheus-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        shutil.copytree(blocks, folder / "data", copy_function=_linked)
        (folder / "prometheus.yml").write_text("scrape_configs: []\n")
        port = processes.free_ports(1)[0]
        url = f"http://{HOST}:{port}"
        reader, hold = os.pipe()
        command = [*command_line(programs, folder, port), *flags]
        process = processes.start(folder, reader, "prometheus", command)
        os.close(reader)
        try:
            _wait(folder, port, process)
            yield url
        finally:
            os.close(hold)
            processes.wait_for_end(process)


def command_line(programs: Programs, folder: Path, port: int) -> list[str]:
    """Return the command line of Prometheus: it keeps blocks of any age unchanged."""
    return [
        programs.prometheus, f"--config.file={folder / 'prometheus.yml'}", f"--storage.tsdb.path={folder / 'data'}",
        f"--web.listen-address={HOST}:{port}", "--storage.tsdb.retention.time=100y", "--log.level=warn",
        "--storage.tsdb.min-block-duration=2h", "--storage.tsdb.max-block-duration=2h",  # equal: nothing is merged
    ]  # fmt: skip


def _linked(source: str, target: str) -> None:
    """Link a file, or copy it where links are not possible; blocks never change, so copies can share files."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)


def _wait(folder: Path, port: int, process: subprocess.Popen[bytes]) -> None:
    """Wait until the server is ready; raise NotStartedError if it ends or takes too long."""
    last = time.monotonic() + READY_WITHIN
    while time.monotonic() < last and process.poll() is None:
        with (
            suppress(OSError, http.client.HTTPException),
            closing(http.client.HTTPConnection(HOST, port)) as connection,
        ):
            connection.request("GET", "/-/ready")
            if connection.getresponse().status == 200:
                return
        time.sleep(0.05)
    raise NotStartedError(f"Prometheus is not ready\n{processes.logs(folder)}")
