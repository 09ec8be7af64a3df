"""Test `kcheck watch`: its output when files change."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from kcheck.addons.editor import changes
from kcheck.commands.cli import cli

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.conftest import Write

    Watched = Callable[..., str]

PATIENCE = 60
"""Seconds after which a test fails."""
CODE = (
    "import sys; sys.modules['lsprotocol'] = sys.modules['pygls'] = None\n"  # they are of the language server only
    "from kcheck.commands.cli import main; main()"
)
CLUSTER = """\
resource "azurerm_kubernetes_cluster" "main" {
  name     = "train"
  sku_tier = "Free"
  default_node_pool {
    name       = "system"
    node_count = 30
  }
}
"""
LASTING_JOB = """\
apiVersion: batch/v1
kind: Job
metadata: {name: train}
spec:
  parallelism: 2
  template:
    spec:
      restartPolicy: Never
      containers: [{name: train, image: registry.example.com/train:1.4, resources: {limits: {nvidia.com/gpu: 8}}}]
"""
PAID = CLUSTER.replace("Free", "Standard")


class Watch:
    """A running `kcheck watch`, and a queue of the lines that it prints."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", CODE, "watch", *arguments], cwd=folder, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, encoding="utf-8",
        )  # fmt: skip
        self.lines: SimpleQueue[str | None] = SimpleQueue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.put(line)
        self.lines.put(None)

    def until(self, wanted: str) -> str:
        """Return the output up to the first line that matches a pattern; fail if none comes in time."""
        found = ""
        while True:
            try:
                line = self.lines.get(timeout=PATIENCE)
            except Empty:
                pytest.fail(f"{wanted} was not printed: {found}")
            assert line is not None, found
            found += line
            if re.search(wanted, line):
                return found


@pytest.fixture
def watch(tmp_path: Path) -> Iterator[Callable[..., Watch]]:
    """Yield a function that starts `kcheck watch`; end all that were started."""
    started: list[Watch] = []

    def start(*arguments: str) -> Watch:
        started.append(Watch(tmp_path, *arguments))
        return started[-1]

    yield start
    for one in started:
        one.process.kill()
        one.process.wait()
        if one.process.stdout is not None:
            one.process.stdout.close()


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
def test_watch_prints_new_and_gone_findings_as_files_change(write: Write, watch: Callable[..., Watch]) -> None:
    folder = write({"main.tf": CLUSTER})
    running = watch()
    first = running.until("Watching for changes")
    assert "main.tf:3:14 warning free-control-plane:" in first
    assert "1 warning; fixable: 1 costs." in first
    write({"main.tf": PAID})
    assert "gone: main.tf:3:14 free-control-plane: The Free control plane" in running.until("^nothing found")
    (folder / ".main.tf.swp").write_text("an editor's own")
    (folder / "notes.txt").write_text("nothing to kcheck")
    write({"main.tf": CLUSTER + 'resource "a" "b" {{{\n'})
    assert "main.tf:9:1 error unreadable-file" in running.until("undecided")
    write({"main.tf": "# moved\n" + CLUSTER})
    assert "new: main.tf:4:14 warning free-control-plane:" in running.until("^1 warning")
    write({"kcheck.yaml": "node: 20\n"})
    running.until("kcheck.yaml:1: there is no setting node; did you mean nodes")
    write({"kcheck.yaml": "nodes: 20\n"})
    assert "changed: main.tf:4:14 warning free-control-plane: The Free control plane serves 20 nodes" in running.until(
        "^1 warning"
    )
    os.remove(folder / "main.tf")
    assert "gone: main.tf:4:14 free-control-plane" in running.until("^nothing found")
    running.process.send_signal(signal.SIGINT)
    assert running.process.wait(PATIENCE) == 0


@pytest.fixture
def watched(monkeypatch: pytest.MonkeyPatch) -> Watched:
    """Return a function that runs `kcheck watch` in this process.

    Each wait performs the next of some actions; after the last one comes Ctrl-C.
    """

    def run(*arguments: str, then: tuple[Callable[[], list[str]], ...] = (), status: int = 0) -> str:
        left = list(then)

        def wait(_: changes.Watcher) -> list[str]:
            if not left:
                raise KeyboardInterrupt
            return left.pop(0)()

        monkeypatch.setattr(changes.Watcher, "wait", wait)
        result = CliRunner().invoke(cli, ["watch", *arguments])
        assert result.exit_code == status, result.output
        return result.output.replace("\n\n", "\n")

    return run


def test_watch_leaves_out_findings_of_the_baseline(write: Write, watched: Watched) -> None:
    write({"main.tf": CLUSTER})
    CliRunner().invoke(cli, ["baseline"])

    def more() -> list[str]:
        write({"more.tf": CLUSTER.replace('"main"', '"more"')})
        return ["more.tf"]

    output = watched("--baseline", then=(more,))
    assert "nothing found; 1 already known." in output
    assert "new: more.tf:3:14 warning free-control-plane" in output
    assert "main.tf:3:14" not in output


def test_watch_reports_only_findings_since_the_diff_base(
    write: Write, watched: Watched, git: Callable[..., str]
) -> None:
    write({"main.tf": CLUSTER})
    git("add", ".")
    git("commit", "-qm", "a")
    write({"main.tf": CLUSTER})

    def worse() -> list[str]:
        write({"more.tf": CLUSTER.replace('"main"', '"more"')})
        return ["more.tf"]

    output = watched("--diff-base", "HEAD", then=(worse,))
    assert "new: more.tf:3:14" in output
    assert "main.tf:3:14" not in output


def test_watch_checks_several_paths_together(write: Write, watched: Watched) -> None:
    write({"infra/main.tf": CLUSTER, "more/a.tf": CLUSTER.replace('"main"', '"a"'), "left/b.tf": CLUSTER})

    def fixed() -> list[str]:
        write({"more/a.tf": PAID})
        return ["more/a.tf"]

    output = watched("infra", "more", then=(fixed,))
    assert "2 clusters, 2 pools checked." in output
    assert "gone: more/a.tf:3:14" in output
    assert "left/" not in output


def test_watch_respects_the_selected_rules_and_the_info_flag(write: Write, watched: Watched) -> None:
    write({"main.tf": CLUSTER, "job.yaml": LASTING_JOB})
    assert "free-control-plane" not in watched("--select", "network")
    shown = watched("--info")
    assert "info" in shown
    assert shown != watched()


@pytest.mark.parametrize("arguments", [("nowhere",), ("--baseline", "--select", "no-such-rule")])
def test_wrong_usage_of_watch_is_explained(arguments: tuple[str, ...], write: Write, watched: Watched) -> None:
    write({"main.tf": CLUSTER})
    status = 2 if arguments == ("nowhere",) else 0
    output = watched(*arguments, status=status)
    assert "no such file or folder" in output or "The settings cannot be used\n  " in output


def test_an_irrelevant_change_is_not_mentioned(write: Write, watched: Watched) -> None:
    write({"main.tf": CLUSTER})

    def notes() -> list[str]:
        write({"notes.md": "a", "app.py": "b"})
        return ["app.py", "notes.md"]

    assert watched(then=(notes,)) == watched()


def test_the_changed_files_are_listed_in_short(write: Write, watched: Watched) -> None:
    write({"main.tf": CLUSTER})

    def checkout() -> list[str]:
        files = {f"{number:02}.tf": CLUSTER.replace('"main"', f'"c{number}"') for number in range(30)}
        write(files)
        return sorted(files)

    output = watched(then=(checkout,))
    assert "00.tf, 01.tf, 02.tf and 27 more files changed: 30 new" in output
    assert output.count("new: ") == 20
    assert "and 10 more" in output
