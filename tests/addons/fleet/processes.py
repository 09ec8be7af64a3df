"""Write fleets, and start the command as a process, for tests that kill it or its child processes."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Literal, TypeVar

    T = TypeVar("T")

IS_LINUX = sys.platform == "linux"
"""Whether /proc lists the child processes of a process."""
COMMAND = [
    sys.executable,
    "-P",
    "-c",
    "import sys; from kcheck.commands.cli import main; sys.argv[0] = 'kcheck'; main()",
    "fleet",
]
_PATIENCE = 60.0
"""Seconds that a test waits for a condition before it fails."""


def small(folder: Path) -> Path:
    """Write a repository that is checked at once, and return its folder."""
    folder.mkdir(parents=True)
    (folder / "main.tf").write_text(
        'resource "google_container_cluster" "main" {\n  name     = "main"\n  location = "us-central1"\n}\n'
        'resource "google_container_node_pool" "gpu" {\n  cluster    = google_container_cluster.main.name\n'
        "  name       = \"gpu\"\n  node_count = 1500\n}\n"
    )  # fmt: skip
    return folder


def slow(folder: Path, objects: int = 700) -> Path:
    """Write a repository that takes a second or more to check, because of its many Deployments."""
    small(folder)
    for part in range(0, objects, 100):
        (folder / f"{part}.yaml").write_text("".join(map(_deployment, range(part, min(part + 100, objects)))))
    return folder


def _deployment(number: int) -> str:
    return (
        f"---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: d{number}}}\nspec:\n  replicas: 3\n"
        f"  selector: {{matchLabels: {{app: d{number}}}}}\n  template:\n    metadata: {{labels: {{app: d{number}}}}}\n"
        f"    spec:\n      containers:\n      - name: main\n        image: nginx:{number}\n"
        "        resources: {requests: {cpu: 1, memory: 1Gi}}\n"
    )


def start(arguments: Iterable[str], folder: Path, **variables: str) -> subprocess.Popen[str]:
    """Start kcheck in a folder, in a process group of its own as a terminal would."""
    return subprocess.Popen(
        [*COMMAND, *arguments], cwd=folder, text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        env=os.environ | variables, process_group=0,
    )  # fmt: skip


def start_code(code: str, *arguments: str, folder: Path, **variables: str) -> subprocess.Popen[str]:
    """Start Python code in a folder."""
    return subprocess.Popen(
        [sys.executable, "-P", "-c", code, *arguments], cwd=folder, text=True, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=os.environ | variables,
    )  # fmt: skip


def run(*arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run kcheck in a folder to its end."""
    with start(arguments, folder) as process:
        output, errors = process.communicate(timeout=_PATIENCE * 2)
    return subprocess.CompletedProcess(process.args, process.returncode, output, errors)


def wait_for(what: Callable[[], T | Literal[False] | None]) -> T:
    """Wait until a function returns something true, and return that."""
    end = time.monotonic() + _PATIENCE
    while time.monotonic() < end:
        if found := what():
            return found
        time.sleep(0.01)
    raise AssertionError("it did not happen")


def children(process: int) -> list[int]:
    """Return the child processes of a process, of all of its threads."""
    found: list[int] = []
    try:
        for task in (Path("/proc") / str(process) / "task").iterdir():
            found += map(int, (task / "children").read_text().split())
    except OSError:  # it has ended
        return []
    return found


def checking(process: int, name: str = "") -> int | None:
    """Return a process that checks a repository below this one (the repository `name` if given), or None."""
    servers = (one for one in children(process) if b"multiprocessing.forkserver" in _command(one))
    return next((child for one in servers for child in children(one) if name in ("", _folder(child))), None)


def _folder(process: int) -> str:
    """Return the name of a process's working directory."""
    try:
        return (Path("/proc") / str(process) / "cwd").readlink().name
    except OSError:
        return ""


def _command(process: int) -> bytes:
    try:
        return (Path("/proc") / str(process) / "cmdline").read_bytes()
    except OSError:
        return b""


def is_gone(process: int) -> bool:
    """Return whether a process has ended."""
    try:
        state = (Path("/proc") / str(process) / "stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return True
    return state in "ZX"
