"""Start etcd and a kube-apiserver on loopback, which run as long as a process holds them."""

from __future__ import annotations

import json
import os
import secrets
import shutil
import tempfile
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tests import processes
from tests.apiserver.client import Client

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Iterator, Mapping
    from contextlib import AbstractContextManager

    from tests.apiserver.definitions import Definitions

VARIABLES = ("KCHECK_APISERVER", "KCHECK_ETCD")
READY_WITHIN = 60
"""Seconds to become ready; 5 are usual, a busy machine takes more."""
HELD = "held"
"""A named pipe: processes that have it open for writing keep the server alive.

The kernel closes it when they die.
"""


class NotStartedError(Exception):
    """The API server did not become ready; the message holds the end of its log."""


@dataclass(frozen=True)
class Programs:
    """Paths of the binaries; only some tests need a controller manager or a scheduler."""

    apiserver: str
    etcd: str
    controller_manager: str | None = None
    scheduler: str | None = None


def programs(environment: Mapping[str, str]) -> Programs | None:
    """Return the binaries that environment variables name; None if the API server or etcd is not named."""
    apiserver, etcd = (environment.get(name) for name in VARIABLES)
    if not apiserver or not etcd:
        return None
    others = (environment.get(name) or None for name in ("KCHECK_CONTROLLER_MANAGER", "KCHECK_SCHEDULER"))
    return Programs(apiserver, etcd, *others)


@dataclass(frozen=True)
class Server:
    """Address and credentials of a running API server."""

    folder: Path
    port: int
    token: str

    @property
    def url(self) -> str:
        """The server's URL."""
        return f"https://127.0.0.1:{self.port}"

    @property
    def certificate(self) -> Path:
        """Path of the certificate that the server made for itself."""
        return self.folder / "certs" / "apiserver.crt"

    @property
    def kubeconfig(self) -> Path:
        """Path of a kubeconfig for this server."""
        return self.folder / "kubeconfig"

    def client(self, definitions: Definitions | None = None) -> Client:
        """Return a new connection; with `definitions` it installs the CRDs that its requests need."""
        return Client(self.port, self.token, self.certificate, definitions)


@contextmanager
def running(programs: Programs) -> Iterator[Server]:
    """Yield an API server of one's own, in a temporary folder."""
    with tempfile.TemporaryDirectory(prefix="kcheck-apiserver-", ignore_cleanup_errors=True) as folder, shared(programs, Path(folder)) as server:  # fmt: skip
        yield server


@contextmanager
def shared(programs: Programs, folder: Path) -> Iterator[Server]:
    """Yield the one server that all processes with this folder share.

    It ends when the last of them leaves or dies.
    """
    folder.mkdir(parents=True, exist_ok=True)
    started: list[subprocess.Popen[bytes]] = []
    with processes.locked(folder / "lock"):
        server, hold = _joined(folder) or _started(programs, folder, started)
    try:
        yield server
    finally:
        os.close(hold)
        if started:
            _tidy(server.folder, started)


def type_checks(program: str, server: Server) -> AbstractContextManager[None]:
    """Run the controller that checks the types of policies."""
    return _beside(server, "controllers", controllers_command(program, server))


def scheduling(program: str, server: Server) -> AbstractContextManager[None]:
    """Run the scheduler."""
    return _beside(server, "scheduler", scheduler_command(program, server))


@contextmanager
def _beside(server: Server, name: str, command: list[str]) -> Iterator[None]:
    """Run a command beside the server."""
    reader, hold = os.pipe()
    process = processes.start(server.folder, reader, name, command)
    os.close(reader)
    try:
        yield
    finally:
        os.close(hold)
        processes.wait_for_end(process)


def _joined(folder: Path) -> tuple[Server, int] | None:
    """Return the running server of a folder and a pipe that keeps it alive; None if no server runs."""
    with suppress(OSError, ValueError):
        now = json.loads((folder / "now.json").read_text())
        server = Server(Path(now["folder"]), now["port"], now["token"])
        hold = os.open(server.folder / HELD, os.O_WRONLY | os.O_NONBLOCK)  # nobody reads it: the server is gone
        if server.client().ready():
            return server, hold
        os.close(hold)
    return None


def _started(programs: Programs, folder: Path, started: list[subprocess.Popen[bytes]]) -> tuple[Server, int]:
    """Start a server; return it with the pipe that keeps it alive, and add its processes to `started`."""
    home = Path(tempfile.mkdtemp(dir=folder))
    os.mkfifo(home / HELD)
    reader = os.open(home / HELD, os.O_RDONLY | os.O_NONBLOCK)
    hold = os.open(home / HELD, os.O_WRONLY)
    os.set_blocking(reader, True)
    try:
        ports = processes.free_ports(3)
        server = Server(home, ports[0], secrets.token_hex(16))
        _write_access(server)
        started.append(processes.start(home, reader, "etcd", etcd_command(programs, server, *ports[1:])))
        started.append(processes.start(home, reader, "apiserver", apiserver_command(programs, server, ports[1])))
        _wait(server, started)
    except BaseException:
        os.close(hold)
        _tidy(home, started)
        raise
    finally:
        os.close(reader)
    now = {"folder": str(home), "port": server.port, "token": server.token}
    (folder / "now.json").write_text(json.dumps(now))
    return server, hold


def _write_access(server: Server) -> None:
    """Write the server's file of tokens, and a kubeconfig that has the token."""
    (server.folder / "tokens").write_text(f"{server.token},admin,admin,system:masters\n")
    cluster = {"server": server.url, "certificate-authority": str(server.certificate)}
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "kcheck", "cluster": cluster}],
        "users": [{"name": "admin", "user": {"token": server.token}}],
        "contexts": [{"name": "kcheck", "context": {"cluster": "kcheck", "user": "admin"}}],
        "current-context": "kcheck",
    }
    server.kubeconfig.write_text(json.dumps(config, indent=2))


def etcd_command(programs: Programs, server: Server, clients: int, peers: int) -> list[str]:
    """Return the command of etcd, which need not keep its data over a crash."""
    return [
        programs.etcd, f"--data-dir={server.folder / 'etcd'}", "--name=one", "--unsafe-no-fsync",
        f"--listen-client-urls=http://127.0.0.1:{clients}", f"--advertise-client-urls=http://127.0.0.1:{clients}",
        f"--listen-peer-urls=http://127.0.0.1:{peers}", f"--initial-advertise-peer-urls=http://127.0.0.1:{peers}",
        f"--initial-cluster=one=http://127.0.0.1:{peers}",
    ]  # fmt: skip


def apiserver_command(programs: Programs, server: Server, etcd: int) -> list[str]:
    """Return the command of the API server: defaults, EKS' tolerations, its own service account key."""
    key = server.folder / "certs" / "apiserver.key"
    return [
        programs.apiserver, f"--etcd-servers=http://127.0.0.1:{etcd}",
        "--bind-address=127.0.0.1", "--advertise-address=127.0.0.1", f"--secure-port={server.port}",
        "--endpoint-reconciler-type=none",  # no endpoint may be on loopback
        f"--cert-dir={key.parent}", f"--token-auth-file={server.folder / 'tokens'}",
        "--service-account-issuer=https://kubernetes.default.svc",
        f"--service-account-key-file={key}", f"--service-account-signing-key-file={key}",
        "--service-cluster-ip-range=10.0.0.0/24", "--allow-privileged=true",
        "--enable-admission-plugins=ExtendedResourceToleration",
    ]  # fmt: skip


def controllers_command(program: str, server: Server) -> list[str]:
    """Return the command of the controller manager, which only checks the types of policies."""
    return [
        program, f"--kubeconfig={server.kubeconfig}", "--controllers=validatingadmissionpolicy-status-controller",
        "--leader-elect=false", "--bind-address=127.0.0.1", "--secure-port=0",
    ]  # fmt: skip


def scheduler_command(program: str, server: Server) -> list[str]:
    """Return the command of the scheduler: defaults, without a request limit."""
    return [
        program, f"--kubeconfig={server.kubeconfig}", "--leader-elect=false", "--bind-address=127.0.0.1",
        "--secure-port=0", "--kube-api-qps=1000", "--kube-api-burst=1000",
    ]  # fmt: skip


def _wait(server: Server, started: list[subprocess.Popen[bytes]]) -> None:
    """Wait until the server is ready; raise NotStartedError if it ends or takes too long."""
    last = time.monotonic() + READY_WITHIN
    while time.monotonic() < last and all(process.poll() is None for process in started):
        with suppress(OSError):
            if server.client().ready():
                return
        time.sleep(0.1)
    raise NotStartedError(f"the API server is not ready\n{processes.logs(server.folder)}")


def _tidy(folder: Path, started: list[subprocess.Popen[bytes]]) -> None:
    """Wait until the processes of a server have ended, then delete its folder."""
    for process in started:
        processes.wait_for_end(process)
    shutil.rmtree(folder, ignore_errors=True)
