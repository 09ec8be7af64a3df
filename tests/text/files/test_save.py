"""Test writing: all files or none, each old or new after any failure, and nothing changes but the bytes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from kcheck.text.files import save
from kcheck.text.files.save import File, SaveError
from tests.places import LONG

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import Write


windows = pytest.mark.skipif(os.name == "nt", reason="modes, links and signals of POSIX")


def file(path: Path, old: bytes = b"old\n", new: bytes = b"new\n") -> File:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(old)
    return File(str(path), path.name, old, new)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@windows
def test_saving_keeps_the_file_mode_and_leaves_no_temporary_file(tmp_path: Path) -> None:
    wanted = file(tmp_path / "main.tf")
    (tmp_path / "main.tf").chmod(0o640)
    save.save([wanted])
    assert (tmp_path / "main.tf").read_bytes() == b"new\n"
    assert (tmp_path / "main.tf").stat().st_mode & 0o7777 == 0o640
    assert names(tmp_path) == ["main.tf"]


def test_nothing_is_written_if_one_file_has_changed_since_it_was_read(tmp_path: Path) -> None:
    wanted = [file(tmp_path / "a.tf"), file(tmp_path / "b.tf")]
    (tmp_path / "b.tf").write_bytes(b"mine\n")
    with pytest.raises(SaveError, match=r"nothing written: b\.tf has changed since it was read; run again"):
        save.save(wanted)
    assert [path.read_bytes() for path in sorted(tmp_path.iterdir())] == [b"old\n", b"mine\n"]


@windows
def test_nothing_is_written_if_one_file_is_read_only(tmp_path: Path) -> None:
    wanted = [file(tmp_path / "a.tf"), file(tmp_path / "b.tf")]
    (tmp_path / "b.tf").chmod(0o444)
    with pytest.raises(SaveError, match=r"nothing written: b\.tf is read-only"):
        save.save(wanted)
    assert [path.read_bytes() for path in sorted(tmp_path.iterdir())] == [b"old\n", b"old\n"]


def test_nothing_is_written_if_one_file_is_gone(tmp_path: Path) -> None:
    wanted = [file(tmp_path / "a.tf"), file(tmp_path / "b.tf")]
    (tmp_path / "b.tf").unlink()
    with pytest.raises(SaveError, match=r"nothing written: b\.tf: No such file"):
        save.save(wanted)
    assert (tmp_path / "a.tf").read_bytes() == b"old\n"


def test_nothing_is_written_if_the_disk_is_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = [file(tmp_path / "a.tf"), file(tmp_path / "b.tf")]
    calls = iter([None, OSError(28, "No space left on device")])

    def full(_handle: int) -> None:
        error = next(calls)
        if error is not None:
            raise error

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(SaveError, match=r"nothing written: b\.tf: No space left on device"):
        save.save(wanted)
    assert [path.read_bytes() for path in sorted(tmp_path.iterdir())] == [b"old\n", b"old\n"]


def test_a_write_error_names_the_files_already_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = [file(tmp_path / "a.tf"), file(tmp_path / "b.tf"), file(tmp_path / "c.tf")]
    replace = os.replace

    def refusing(temporary: str, path: str) -> None:
        if path.endswith("b.tf"):
            raise PermissionError(13, "Permission denied")
        replace(temporary, path)

    monkeypatch.setattr("os.replace", refusing)
    with pytest.raises(SaveError, match=r"only a\.tf written: b\.tf: Permission denied"):
        save.save(wanted)
    assert names(tmp_path) == ["a.tf", "b.tf", "c.tf"]
    assert (tmp_path / "a.tf").read_bytes() == b"new\n"


def test_new_files_get_folders_and_the_usual_mode(tmp_path: Path) -> None:
    new = File(str(tmp_path / "a" / "b" / "c.yml"), "a/b/c.yml", b"", b"new\n", fresh=True)
    save.save([file(tmp_path / "old.tf"), new])
    assert (tmp_path / "a" / "b" / "c.yml").read_bytes() == b"new\n"
    (tmp_path / "usual").touch()
    assert (tmp_path / "a" / "b" / "c.yml").stat().st_mode == (tmp_path / "usual").stat().st_mode
    assert names(tmp_path / "a" / "b") == ["c.yml"]


def test_a_new_file_never_replaces_one_created_meanwhile(tmp_path: Path) -> None:
    mine = file(tmp_path / "c.yml", b"mine\n")
    with pytest.raises(SaveError, match=r"nothing written: c\.yml exists now; run again"):
        save.save([file(tmp_path / "old.tf"), mine._replace(fresh=True)])
    assert [path.read_bytes() for path in sorted(tmp_path.iterdir())] == [b"mine\n", b"old\n"]


@windows
def test_no_new_folder_is_left_if_a_file_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    new = File(str(tmp_path / "a" / "b" / "c.yml"), "a/b/c.yml", b"", b"new\n", fresh=True)

    def full(_handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(SaveError, match=r"nothing written: a/b/c\.yml: No space left on device"):
        save.save([new])
    assert names(tmp_path) == []


def test_git_apply_accepts_a_new_file_in_a_diff(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    new = File(str(tmp_path / "a" / "c.yml"), "a/c.yml", b"", b"one\ntwo", fresh=True)
    text = save.diff(new).text.encode()
    assert text.startswith(b"--- /dev/null\n+++ b/a/c.yml\n@@ -0,0 +1,2 @@\n+one\n+two\n\\ No newline")
    subprocess.run(["git", "apply"], input=text, cwd=tmp_path, check=True)
    assert (tmp_path / "a" / "c.yml").read_bytes() == b"one\ntwo"


KILLED = """
import os, signal, sys
left = int(sys.argv[1])
def hook(event, arguments):
    global left
    if event in {"open", "os.rename", "os.chmod", "os.chown", "os.remove"} and begun(event, arguments):
        left -= 1
        if left < 0:
            os.kill(os.getpid(), signal.SIGKILL)
seen = False
def begun(event, arguments):
    global seen
    seen = seen or (event == "open" and ".kcheck-" in str(arguments[0]))
    return seen
sys.addaudithook(hook)
"""
"""Code that kills its process at its nth access to files, counted from the first temporary file."""

SAVE = "from kcheck.text.files.save import *; save(File(n, n, b'old'*999, b'new'*1999) for n in sys.argv[2:])"
FIX = "from kcheck.commands.cli import main; sys.argv[:] = ['kcheck', 'fix', '.', '--select', 'job-never-cleaned']; main()"


def killed(moment: int, code: str, *arguments: str) -> bool:
    """Run code and kill it at its nth step; return whether it got that far."""
    run = subprocess.run(
        [sys.executable, "-c", KILLED + code, str(moment), *arguments], capture_output=True, check=False
    )
    assert run.returncode in (0, -signal.SIGKILL), run.stderr.decode()
    return run.returncode != 0


@pytest.mark.medium
@windows
def test_a_killed_save_leaves_each_file_old_or_new(tmp_path: Path) -> None:
    """A run over three files is killed at each moment in turn."""
    states = set()
    for moment in range(100):
        files = [tmp_path / name for name in ("a.tf", "b.tf", "c.tf")]
        for path in files:
            path.write_bytes(b"old" * 999)
        more = killed(moment, SAVE, *map(str, files))
        found = [path.read_bytes() for path in files]
        assert set(found) <= {b"old" * 999, b"new" * 1999}
        states.add(found.count(b"new" * 1999))
        for path in tmp_path.glob(".kcheck-*"):
            path.unlink()
        if not more:
            break
    assert states == {0, 1, 2, 3}


MANY = 500 if LONG else 60
JOB = """\
apiVersion: batch/v1
kind: Job
metadata:
  name: train-{number}
spec:
  parallelism: 16
  template:
    spec:
      restartPolicy: Never
      containers:
        - name: train
          image: registry.k8s.io/train:1.0.0
"""


@pytest.mark.slow
@windows
def test_a_killed_save_leaves_every_file_either_old_or_new(write: Write) -> None:
    old = {f"job-{number}.yaml": JOB.format(number=number) for number in range(MANY)}
    states = []
    for moment in (10, *(MANY * tenths // 10 for tenths in (28, 42, 52))):
        folder = write(old)
        killed(moment, FIX)
        new = {name: (folder / name).read_text() for name in old}
        fixed = {
            name: text.replace("parallelism: 16\n", "parallelism: 16\n  ttlSecondsAfterFinished: 86400\n")
            for name, text in old.items()
        }
        assert all(new[name] in (old[name], fixed[name]) for name in old)
        states.append(sum(new[name] == fixed[name] for name in old))
    assert states[0] == 0
    assert any(0 < state < MANY for state in states)


# --- what killed runs leave


def gone_process() -> int:
    """Return the id of a process that has ended."""
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        pass
    return process.pid


@windows
def test_the_next_run_removes_temporary_files_of_a_killed_run(tmp_path: Path) -> None:
    left = [f".kcheck-{gone_process()}-abcd_123.tmp", f".kcheck-{os.getpid()}-abcd_123.tmp"]
    kept = [f".kcheck-{os.getppid()}-abcd_123.tmp", ".kcheck-baseline", ".kcheck-1-a.tmp"]
    for name in (*left, *kept):
        (tmp_path / name).touch()
    save.save([file(tmp_path / "main.tf")])
    assert names(tmp_path) == sorted([*kept, "main.tf"])


@pytest.mark.medium
@windows
def test_a_later_write_removes_what_a_killed_run_left(tmp_path: Path) -> None:
    main = tmp_path / "main.tf"
    code = (
        "import os, signal\n"
        "from kcheck.text.files import save\n"
        "os.replace = lambda *_: os.kill(os.getpid(), signal.SIGKILL)\n"
        f"save.write({str(main)!r}, b'half')\n"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == -signal.SIGKILL
    assert len(names(tmp_path)) == 1
    save.write(str(main), b"whole")
    assert names(tmp_path) == ["main.tf"]
    assert main.read_bytes() == b"whole"


# --- reports


def test_a_report_that_cannot_be_written_leaves_the_old_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "report.json"
    save.write(str(path), b"old")

    def full(_handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="No space left"):
        save.write(str(path), b"new")
    assert path.read_bytes() == b"old"
    assert names(tmp_path) == ["report.json"]


@windows
def test_a_report_is_written_through_links_and_pipes(tmp_path: Path) -> None:
    (tmp_path / "real.json").write_bytes(b"old")
    (tmp_path / "link.json").symlink_to("real.json")
    save.write(str(tmp_path / "link.json"), b"new")
    assert (tmp_path / "link.json").is_symlink()
    assert (tmp_path / "real.json").read_bytes() == b"new"
    save.write("/dev/null", b"new")
    assert not os.path.isfile("/dev/null")


@windows
def test_a_separately_mounted_file_is_overwritten_in_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "report.json"
    path.write_bytes(b"old and longer")

    def busy(_temporary: str, _path: str) -> None:
        raise OSError(16, "Device or resource busy")

    monkeypatch.setattr("os.replace", busy)
    save.write(str(path), b"new")
    assert path.read_bytes() == b"new"
    assert names(tmp_path) == ["report.json"]
