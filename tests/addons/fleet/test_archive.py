"""Repositories as archives: all that matters to a check, the same bytes each time, and nothing that acts where it is unpacked."""

from __future__ import annotations

import gzip
import io
import os
import tarfile
from typing import TYPE_CHECKING

import pytest

from kcheck.addons.fleet import archive
from kcheck.addons.fleet.archive import ArchiveError, packed, unpack
from kcheck.addons.fleet.check import check
from kcheck.addons.fleet.revision import revision
from kcheck.addons.fleet.task import Task
from kcheck.text.files.disk import MAX_BYTES
from tests.addons.fleet.processes import small

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    Write = Callable[[Mapping[str, str | bytes]], Path]

pytestmark = pytest.mark.skipif(os.name == "nt", reason="links, pipes and names of POSIX")

COMMIT = "0123456789abcdef0123456789abcdef01234567"
GIT = {
    ".git/HEAD": "ref: refs/heads/main\n",
    ".git/refs/heads/main": f"{COMMIT}\n",
    ".git/config": '[remote "origin"]\n\turl = https://secret@github.com/acme/infra.git\n[http]\n\textraheader = secret\n',
    ".git/objects/ab/cd": "secret",
}


@pytest.fixture
def there(tmp_path: Path) -> Path:
    """Where archives are unpacked."""
    folder = tmp_path / "there"
    folder.mkdir()
    return folder


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository, which the process is in."""
    folder = small(tmp_path / "here")
    monkeypatch.chdir(folder)
    return folder


def tree(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


def fill(folder: Path, files: Mapping[str, str]) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


def test_files_folders_and_links_come_out_as_they_were(here: Path, there: Path) -> None:
    fill(here, {"a/b/c.yaml": "c", "vendor/module/main.tf": "v", ".terraform/modules/x/main.tf": "x"})
    (here / "empty").mkdir()
    (here / "link").symlink_to("a/b/c.yaml")
    (here / "a" / "up").symlink_to("../vendor")
    (here / "absolute").symlink_to(here / "main.tf")
    unpack(packed(), str(there))
    assert tree(there) == tree(here)
    assert (there / "a/b/c.yaml").read_text() == "c"
    assert {name: os.readlink(there / name) for name in ("link", "a/up", "absolute")} == {
        "link": "a/b/c.yaml", "a/up": "../vendor", "absolute": "main.tf",
    }  # fmt: skip


def test_the_same_files_are_the_same_bytes_wherever_and_whenever(
    here: Path, there: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(here, {"a.tf": "a", "b/c.tf": "c"})
    first = packed()
    os.utime(here / "a.tf", (1, 1))
    (here / "main.tf").chmod(0o600)
    assert packed() == first
    unpack(first, str(there))
    monkeypatch.chdir(there)
    assert packed() == first
    fill(there, {"a.tf": "b"})
    assert packed() != first


def test_of_git_the_commit_and_the_origin_are_packed_and_no_secret(
    here: Path, there: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(here, GIT)
    data = packed()
    assert b"secret" not in gzip.decompress(data)
    unpack(data, str(there))
    monkeypatch.chdir(there)
    assert revision() == COMMIT
    assert (there / ".git/config").read_text() == '[remote "origin"]\nurl = https://github.com/acme/infra\n'
    assert tree(there / ".git") == {"HEAD", "config"}


def test_what_nothing_reads_is_a_name_only(here: Path, there: Path) -> None:
    fill(
        here,
        {
            "node_modules/a/b.yaml": "b",
            ".terraform/providers/aws": "elf",
            "sub/.git": "gitdir: ../x",
            "a/.git/HEAD": "x",
        },
    )
    unpack(packed(), str(there))
    assert tree(there) == {
        "main.tf",
        "node_modules",
        ".terraform",
        ".terraform/providers",
        "sub",
        "sub/.git",
        "a",
        "a/.git",
    }
    assert (there / "sub/.git").read_bytes() == b""


def test_a_file_that_is_too_large_to_be_read_has_its_size_and_its_head(here: Path, there: Path) -> None:
    with (here / "dump.json").open("wb") as file:
        file.write(b"head")
        file.truncate(MAX_BYTES + 7)
    data = packed()
    assert len(data) < 100_000
    unpack(data, str(there))
    status = (there / "dump.json").stat()
    assert status.st_size == MAX_BYTES + 7
    with (there / "dump.json").open("rb") as file:
        assert file.read(5) == b"head\0"


def test_nothing_from_outside_is_packed(here: Path, there: Path, tmp_path: Path) -> None:
    fill(tmp_path, {"outside/secret.tf": "secret"})
    (here / "folder").symlink_to("../outside")
    (here / "file").symlink_to(tmp_path / "outside/secret.tf")
    (here / "loop").symlink_to("loop")
    os.mkfifo(here / "pipe")
    data = packed()
    assert b"secret" not in gzip.decompress(data)
    unpack(data, str(there))
    assert tree(there) == {"main.tf", "folder", "file", "loop"}
    assert [os.readlink(there / name) for name in ("folder", "file", "loop")] == ["folder", "file", "loop"]


def test_names_and_modes_of_any_kind(here: Path, there: Path) -> None:
    name = b"not-\xff\x9b-unicode.tf"
    with os.fdopen(os.open(os.fsencode(here) + b"/" + name, os.O_CREAT | os.O_WRONLY), "w") as file:
        file.write("x")
    (here / "new\nline.tf").write_text("y")
    (here / ("x" * 200 + ".tf")).write_text("z")
    unpack(packed(), str(there))
    assert sorted(os.listdir(os.fsencode(there))) == sorted(os.listdir(os.fsencode(here)))


def test_a_packed_repository_gives_the_same_rows_and_its_past_holds_where_it_came_from(
    here: Path, there: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(here, GIT | {"vendor/x.yaml": "x", "pool/main.tf": 'module "m" { source = "../vendor/m" }'})
    (here / "folder").symlink_to("pool")
    asked = check(Task("x", str(here), is_packing=True))
    assert (asked.status, asked.rows) == ("packed", None)
    own = there / "here"
    own.mkdir()
    remote = check(Task("x", str(own), archive=asked.archive))
    local = check(Task("x", str(here)))
    assert remote.rows is not None
    assert (remote.status, remote.rows, remote.revision) == (local.status, local.rows, COMMIT)
    again = check(Task("x", str(here), past=remote.past, is_packing=True))
    assert (again.is_unchanged, again.archive) == (True, b"")
    fill(here, {"more.tf": 'variable "x" {}'})
    changed = check(Task("x", str(here), past=remote.past, is_packing=True))
    assert (changed.is_unchanged, bool(changed.archive)) == (False, True)


@pytest.mark.parametrize(
    ("bound", "most", "reason"),
    [
        ("MOST_BYTES", 100, "its files have more than"),
        ("MOST_UNPACKED", 1000, "its files have more than"),
        ("MOST_ENTRIES", 2, "it has more than 2 files and folders, too many for --pack"),
    ],
)
def test_a_repository_that_is_too_large_fails_with_the_reason(
    here: Path, bound: str, most: int, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(here, {f"{number}.tf": os.urandom(500).hex() for number in range(9)})
    monkeypatch.setattr(archive, bound, most)
    outcome = check(Task("x", str(here), is_packing=True))
    assert outcome.status == "failed"
    assert outcome.reason.startswith(reason)


# --- archives that were made to do harm


def made(*members: tuple[str, bytes, str | bytes]) -> bytes:
    """An archive of members: their names, kinds, and targets or contents."""
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w:gz") as tar:
        for name, kind, content in members:
            info = tarfile.TarInfo(name)
            info.type = kind
            if isinstance(content, str):
                info.linkname = content
            else:
                info.size = len(content)
            tar.addfile(info, io.BytesIO(content if isinstance(content, bytes) else b""))
    return data.getvalue()


FILE, FOLDER, LINK = tarfile.REGTYPE, tarfile.DIRTYPE, tarfile.SYMTYPE


@pytest.mark.parametrize(
    "members",
    [
        [("../x", FILE, b"x")],
        [("/x", FILE, b"x")],
        [("a/../../x", FILE, b"x")],
        [("a//x", FILE, b"x")],
        [("", FILE, b"x")],
        [("..", FOLDER, b"")],
        [("link", LINK, "/etc/passwd")],
        [("link", LINK, "../x")],
        [("a", FOLDER, b""), ("a/b", FOLDER, b""), ("a/b/d", LINK, "../.."), ("a/b/e", LINK, "d/..")],
        [("hard", tarfile.LNKTYPE, "/etc/passwd")],
        [("device", tarfile.CHRTYPE, b"")],
        [("disk", tarfile.BLKTYPE, b"")],
        [("pipe", tarfile.FIFOTYPE, b"")],
        [("sparse", tarfile.GNUTYPE_SPARSE, b"")],
    ],
    ids=lambda members: members[-1][0],
)
def test_what_leads_out_or_is_no_file_is_refused(members: list[tuple[str, bytes, str | bytes]], there: Path) -> None:
    with pytest.raises(ArchiveError):
        unpack(made(*members), str(there))
    assert tree(there.parent) <= {"there", "there/link", "there/a", "there/a/b", "there/a/b/d", "there/a/b/e"}


@pytest.mark.parametrize(
    "members",
    [
        [("link", LINK, "."), ("link/x", FILE, b"x")],
        [("a", FILE, b"x"), ("a", FILE, b"y")],
        [("a", FILE, b"x"), ("a", LINK, "b")],
        [("missing/a", FILE, b"x")],
    ],
    ids=["through a link", "twice", "a file that is a link", "no folder"],
)
def test_nothing_is_written_through_links_or_over_files(
    members: list[tuple[str, bytes, str | bytes]], there: Path
) -> None:
    outcome = check(Task("x", str(there), archive=made(*members)))
    assert outcome.status == "failed"
    assert not (there / "x").exists()


@pytest.mark.parametrize(
    "data",
    [b"", b"x", made()[:20], gzip.compress(b"x" * 2000), made(("a", FILE, b"x" * 5000))[:-30]],
    ids=["nothing", "a letter", "its beginning", "no archive in it", "all but its end"],  # the time is in the bytes
)
def test_what_is_no_archive_is_refused(data: bytes, there: Path) -> None:
    with pytest.raises(ArchiveError):
        unpack(data, str(there))


def test_a_bomb_ends_before_it_fills_anything(there: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "MOST_UNPACKED", 1_000_000)
    data = made(("bomb", FILE, bytes(50_000_000)))
    assert len(data) < 100_000
    with pytest.raises(ArchiveError, match="more than 1,000,000 bytes"):
        unpack(data, str(there))
    assert sum(path.stat().st_size for path in there.iterdir()) < 4_000_000


def test_a_header_that_is_a_bomb_ends_as_well(there: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "MOST_UNPACKED", 1_000_000)
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w:gz", pax_headers={"comment": "x" * 50_000_000}):
        pass
    with pytest.raises(ArchiveError, match="more than 1,000,000 bytes"):
        unpack(data.getvalue(), str(there))


def test_too_many_entries_are_refused(there: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "MOST_ENTRIES", 3)
    with pytest.raises(ArchiveError, match="more than 3 entries"):
        unpack(made(*((f"{number}", FOLDER, b"") for number in range(9))), str(there))
