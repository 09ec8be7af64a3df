"""Test that the tests' API server runs as long as a process holds it, and no longer."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests import processes
from tests.apiserver import server
from tests.apiserver.client import NotServedError
from tests.apiserver.definitions import Definitions
from tests.apiserver.server import Programs
from tests.places import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.apiserver.client import Client, Object
    from tests.apiserver.server import Server

JOIN = """
import sys
from pathlib import Path
from tests.apiserver import server
with server.shared(server.Programs(*sys.argv[2:]), Path(sys.argv[1])) as running:
    print(running.url, flush=True)
    sys.stdin.read()
"""


def within(seconds: float, question: Callable[[], bool]) -> bool:
    """Return whether a condition becomes true within some seconds."""
    last = time.monotonic() + seconds
    while not question() and time.monotonic() < last:
        time.sleep(0.02)
    return question()


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def answers(running: Server) -> bool:
    try:
        return running.client().ready()
    except OSError:
        return False


def test_the_environment_names_the_binaries() -> None:
    assert server.programs({}) is None
    assert server.programs({"KCHECK_APISERVER": "/a", "KCHECK_ETCD": ""}) is None
    assert server.programs({"KCHECK_APISERVER": "/a", "KCHECK_ETCD": "/e"}) == Programs("/a", "/e")
    names = {"KCHECK_APISERVER": "/a", "KCHECK_ETCD": "/e", "KCHECK_SCHEDULER": "/s"}
    assert server.programs(names) == Programs("/a", "/e", scheduler="/s")


def test_a_guarded_process_ends_when_the_last_holder_does() -> None:
    reader, first = os.pipe()
    second = os.dup(first)
    with subprocess.Popen(["/bin/sh", "-c", processes.GUARDED, "sleep", "sleep", "60"], stdin=reader) as process:
        os.close(reader)
        os.close(first)
        time.sleep(0.2)
        assert process.poll() is None
        os.close(second)
        assert process.wait(10) < 0


def test_a_server_that_does_not_start_is_an_error_with_its_log(tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    broken.write_text("#!/bin/sh\necho no such flag\nexit 1\n")
    broken.chmod(0o755)
    with pytest.raises(server.NotStartedError, match="no such flag"), server.shared(Programs(str(broken), str(broken)), tmp_path / "shared"):  # fmt: skip
        pytest.fail("it started")
    assert [path.name for path in (tmp_path / "shared").iterdir()] == ["lock"]


def test_a_server_outlives_the_process_that_started_it_and_ends_with_the_last(
    programs: Programs, tmp_path: Path
) -> None:
    command = [sys.executable, "-c", JOIN, str(tmp_path), programs.apiserver, programs.etcd]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT) as starter:
        assert starter.stdout
        url = starter.stdout.readline().strip()
        assert url, starter.wait()
        with server.shared(programs, tmp_path) as running:
            assert running.url == url
            starter.kill()
            starter.wait()
            time.sleep(0.2)
            assert answers(running)
    assert within(10, lambda: not answers(running))


def test_the_script_says_how_to_reach_the_server_and_stops(programs: Programs) -> None:
    environment = {**os.environ, "KCHECK_APISERVER": programs.apiserver, "KCHECK_ETCD": programs.etcd}
    command = [sys.executable, str(ROOT / "scripts" / "apiserver")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as script:
        assert script.stdout
        lines = [script.stdout.readline() for _ in range(4)]
        config = Path(next(line.partition("=")[2] for line in lines if "KUBECONFIG=" in line).strip())
        assert config.exists()
        script.send_signal(2)
        assert script.wait(30) == 0
    assert not config.parent.exists()


def test_the_script_asks_for_binaries() -> None:
    environment = {name: value for name, value in os.environ.items() if name not in server.VARIABLES}
    done = subprocess.run(
        [sys.executable, str(ROOT / "scripts" / "apiserver")],
        capture_output=True, text=True, env=environment, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (2, "")
    assert "KCHECK_APISERVER" in done.stderr


POD: Object = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "one", "namespace": "made-for-it"},
    "spec": {"priorityClassName": "urgent", "containers": [{"name": "main", "image": "registry.example.com/one:1"}]},
}


def test_a_pod_is_accepted_and_not_stored(client: Client) -> None:
    assert client.create(POD, dry_run=True).taken
    assert client.get(POD).status == 404


def test_a_misspelt_field_is_refused(client: Client) -> None:
    answer = client.create({**POD, "spec": {**POD["spec"], "nodeSelektor": {}}}, dry_run=True)
    assert not answer.taken
    assert 'unknown field "spec.nodeSelektor"' in answer.message


def test_missing_fields_are_reported_with_their_places(client: Client) -> None:
    answer = client.create({**POD, "spec": {"containers": [{"name": "main"}]}}, dry_run=True)
    assert answer.causes == [("FieldValueRequired", "spec.containers[0].image")]


def test_warnings_of_the_api_server_are_returned(client: Client) -> None:
    answer = client.create({**POD, "spec": {**POD["spec"], "nodeSelector": {"beta.kubernetes.io/os": "linux"}}}, dry_run=True)  # fmt: skip
    assert answer.taken
    (warning,) = answer.warnings
    assert 'deprecated since v1.14; use "kubernetes.io/os" instead' in warning


def test_a_kind_without_a_definition_is_not_served(api: Server) -> None:
    connection = api.client(Definitions(None))
    with pytest.raises(NotServedError):
        connection.create({"apiVersion": "example.com/v1", "kind": "Nothing", "metadata": {"name": "one"}})
    connection.close()


def test_removed_api_versions_are_refused(client: Client) -> None:
    budget: Object = {"apiVersion": "policy/v1beta1", "kind": "PodDisruptionBudget", "metadata": {"name": "one"}}
    assert client.create(budget).status == 404


CRD = """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: trees.example.com
spec:
  group: example.com
  names:
    kind: Tree
    plural: trees
  scope: Namespaced
  versions:
    - name: {version}
      served: true
      storage: true
      schema:
        openAPIV3Schema:
          type: object
          properties:
            spec:
              type: object
              properties:
                height:
                  type: integer
"""


def test_custom_resource_definitions_are_installed_when_a_kind_is_requested(api: Server, tmp_path: Path) -> None:
    """Two projects may define versions of the same kind."""
    for version in ("v1", "v2"):
        (tmp_path / f"{version}.yaml").write_text(CRD.format(version=version))
    connection = api.client(Definitions(tmp_path))
    tree: Object = {"kind": "Tree", "metadata": {"name": "oak"}, "spec": {"height": 3}}
    connection.define([{**tree, "apiVersion": "example.com/v1"}])
    for version in ("v1", "v2"):
        assert connection.create({**tree, "apiVersion": f"example.com/{version}"}, dry_run=True).taken
    wrong = connection.create({**tree, "apiVersion": "example.com/v1", "spec": {"hight": 3}}, dry_run=True)
    assert 'unknown field "spec.hight"' in wrong.message
    assert connection.create({**tree, "apiVersion": "example.com/v3"}).message == "there is no Tree in example.com/v3"
    connection.close()
