"""Test diffs: `git apply` reproduces ordinary files byte for byte, and no diff acts on the terminal that shows it."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

import pytest

from kcheck.text.files.save import File, diff

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(os.name == "nt", reason="file names of POSIX")

HONEST = {
    "plain": b"a = 1\nb = 2\nc = 3\n",
    "windows": b"a = 1\r\nb = 2\r\nc = 3\r\n",
    "byte-order mark": b"\xef\xbb\xbfa = 1\r\nb = 2\nc = 3\n",
    "no newline at the end": b"a = 1\nb = 2",
    "other scripts": "a = 1 # größe 日本語 👩‍💻\nb = 2 # می‌خواهم\n".encode(),
    "tabs": b"\ta = 1\n\tb = 2\t# x\n",
}
NAMES = [
    "main.tf",
    "a b.tf",
    "größe.tf",
    'quote".tf',
    "back\\slash.tf",
    "new\nline.tf",
    "::error::x ##[y].tf",
    "\x1b[2J\u202e.tf",
]


def applied(folder: Path, name: str, old: bytes, new: bytes, *, fresh: bool = False) -> tuple[str, bool]:
    """Return the diff of a file and whether it is exact; assert that `git apply` agrees."""
    path = folder / name
    if not fresh:
        path.write_bytes(old)
    found = diff(File(str(path), name, old, new, fresh))
    git = subprocess.run(["git", "apply", "-"], input=found.text.encode(), cwd=folder, check=False, capture_output=True)
    assert found.exact == (git.returncode == 0 and path.read_bytes() == new), git.stderr
    return found.text, found.exact


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("name", HONEST)
def test_diffs_of_honest_files_apply(name: str, tmp_path: Path) -> None:
    old = HONEST[name]
    _, exact = applied(tmp_path, "main.tf", old, old.replace(b"b = 2", b"b = 20"))
    assert exact
    _, exact = applied(tmp_path, "main.tf", old, old.replace(b"a = 1", b"a = 10"))
    assert exact


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("fresh", [False, True])
def test_diffs_of_files_with_any_name_apply(name: str, fresh: bool, tmp_path: Path) -> None:
    text, exact = applied(tmp_path, name, b"" if fresh else b"a = 1\n", b"a = 2\n", fresh=fresh)
    assert exact
    assert len(text.splitlines()) == (4 if fresh else 5)
    assert "\x1b" not in text
    assert "##[" not in text


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("c = 3 # \x1b[2J", " c = 3 # \\x1b[2J"),
        ("c = 3 # x\r::error::y", " c = 3 # x\\r::error::y"),
        ("c = 3 # \u202e", " c = 3 # \\u202e"),
        ("  ::error::owned", "   \\x3a:error::owned"),
        ("# ##[error]owned", " # \\x23#[error]owned"),
    ],
)
def test_control_characters_in_a_diff_are_escaped_and_it_does_not_apply(line: str, shown: str, tmp_path: Path) -> None:
    old = f"a = 1\nb = 2\n{line}\n".encode()
    text, exact = applied(tmp_path, "main.tf", old, old.replace(b"b = 2", b"b = 20"))
    assert not exact
    assert text.splitlines()[-1] == shown
