"""Changes since a commit. Git only reads objects; it runs nothing else and writes nothing."""

from __future__ import annotations

import os
import re
import stat
from functools import cached_property
from typing import TYPE_CHECKING

from kcheck.config.config import ConfigError
from kcheck.fix.gate.repository import Repository
from kcheck.text.files import system
from kcheck.text.files.disk import MAX_BYTES, Disk
from kcheck.text.files.tree import display_path
from kcheck.text.text import steps

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kcheck.fix.gate.repository import Entry
    from kcheck.text.files.boundary import Boundary
    from kcheck.text.findings import Finding, Identity
    from kcheck.text.text import Span

_STAGED = (
    "diff-index",
    "--cached",
    "--raw",
    "-z",
    "-M",
    "--no-abbrev",
    "--no-ext-diff",
    "--no-textconv",
    "--ignore-submodules",
)
_OTHERS = {"120000", "160000"}
"""Modes of links and submodules."""
_NOTHING = "000000"
"""Mode of a missing file."""


class Difference:
    """Changes of the work tree since a commit.

    `overlay` maps real paths of changed files to their old bytes, None for new files. `note` tells the user if the
    comparison is not with the common ancestor.
    """

    def __init__(self, paths: Iterable[str], ref: str, boundary: Boundary | None = None) -> None:
        self._repository = Repository(paths, boundary)
        self.note = ""
        self.overlay: dict[str, bytes | None] = {}
        self._renamed: dict[str, str] = {}
        self._touched: dict[str, list[bool]] = {}
        self._folders: dict[str, str] = {}
        entries = list(self._repository.entries())
        self.commit = self._base(ref)
        self._read(entries)

    def _base(self, ref: str) -> str:
        """Return the merge base of HEAD and `ref`, as later changes there are not this branch's.

        Before the first commit, return the empty tree.
        """
        git = self._repository
        if ref == "HEAD" and not git.line("rev-parse", "--verify", "--quiet", "HEAD"):
            return git.line("hash-object", "-t", "tree", "--stdin", wrong="git failed")
        absent = f"unknown commit {ref}; fetch it first (in CI, with the whole history)"
        tip = git.line("rev-parse", "--verify", "--quiet", "--end-of-options", f"{ref}^{{commit}}", wrong=absent)
        base = tip if ref == "HEAD" else git.line("merge-base", tip, "HEAD")
        if not base:
            self.note = f"{ref} and HEAD have no known common ancestor (a shallow clone?); compared with {ref} itself"
        return base or tip

    def _read(self, entries: Iterable[Entry]) -> None:
        parts = iter(self._repository.ask(*_STAGED, self.commit, "--").split(b"\0"))
        old: dict[str, list[str]] = {}
        staged: set[bytes] = set()
        for head in parts:
            if not head.startswith(b":"):
                break
            mode, mode_now, blob, _, status = head.decode().removeprefix(":").split(" ")
            before = next(parts)
            after = next(parts) if status[0] in "RC" else before
            staged |= {before, after}
            if {mode, mode_now} & _OTHERS:
                continue
            was, now = self._path(before), self._path(after)
            if status[0] == "R":
                self._renamed[was] = now
            if was != now or mode == _NOTHING:
                self.overlay[now] = None
            if status[0] != "C" and mode != _NOTHING:
                old.setdefault(blob, []).append(was)
        racy = self._repository.index_time()
        for entry in entries:
            if not entry.blob:
                self.overlay[self._path(entry.name)] = None
            elif entry.name not in staged and entry.mode not in _OTHERS and self._is_changed(entry, racy):
                old.setdefault(entry.blob, []).append(self._path(entry.name))
        for blob, data in self._contents(list(old)):
            self.overlay |= dict.fromkeys(old[blob], data)

    def _is_changed(self, entry: Entry, racy: int) -> bool:
        """Whether a file differs from the index.

        Size and time decide, unless the time is not before the index's. Filters that git would apply are not run.
        """
        path = f"{self._repository.top}{os.sep}{os.fsdecode(entry.name)}"
        try:
            status = os.lstat(path)
        except OSError:
            return not entry.is_sparse
        if (status.st_mtime_ns == entry.time < racy and status.st_size == entry.size) or status.st_size > MAX_BYTES:
            return False
        if self._path(entry.name) != path or not stat.S_ISREG(status.st_mode):
            return not stat.S_ISLNK(status.st_mode)
        import hashlib

        kind = hashlib.sha1 if len(entry.blob) == 40 else hashlib.sha256
        try:
            data = system.read(path)
        except OSError:  # nor can a check
            return False
        return kind(b"blob %d\0" % len(data) + data).hexdigest() != entry.blob

    def _path(self, name: bytes) -> str:
        folder, own = os.path.split(os.path.join(self._repository.top, os.fsdecode(name)))
        if folder not in self._folders:
            self._folders[folder] = system.real_path(folder)
        return os.path.join(self._folders[folder], own)

    def _contents(self, blobs: list[str]) -> Iterator[tuple[str, bytes]]:
        if not blobs:
            return
        answer = self._repository.ask("cat-file", "--batch", given="\n".join(blobs).encode() + b"\n")
        at = 0
        for blob in blobs:
            end = answer.index(b"\n", at)
            kind, _, size = answer[at:end].decode().removeprefix(f"{blob} ").partition(" ")
            if kind != "blob":
                raise ConfigError(f"git has no content for {blob}; fetch the whole history")
            at = end + 1 + int(size)
            yield blob, answer[end + 1 : at]
            at += 1

    # --- what it means for findings

    def touches(self, finding: Finding) -> bool:
        """Whether a place of a finding is in a changed line."""
        return any(self._has_changed(span) for span in (finding.span, *(related.span for related in finding.related)))

    def _has_changed(self, span: Span) -> bool:
        real = system.real_path(span.source.path)
        if real not in self.overlay:
            return False
        lines = self._touched.get(real)
        if lines is None:
            # a source may be made of a part of the file
            lines = self._touched[real] = _changed(self._before(real), Disk().read(real) or b"")
        begin, end = span.begin.line, span.finish.line
        return any(lines[begin - 1 : end])

    def _before(self, real: str) -> bytes:
        """Return the old bytes of a file, under its old name."""
        was = next((before for before, after in self._renamed.items() if after == real), real)
        return self.overlay.get(was) or b""

    @cached_property
    def _moves(self) -> list[tuple[re.Pattern[str], str]]:
        """Regexes of old names of files and folders with their new names, the longest first."""
        pairs: dict[str, str] = {}
        for before, after in self._renamed.items():
            pairs[display_path(before)] = display_path(after)
            above, now = os.path.dirname(before), os.path.dirname(after)
            while above != now and os.path.basename(before) == os.path.basename(after):
                pairs.setdefault(display_path(above), display_path(now))
                if os.path.basename(above) != os.path.basename(now):
                    break
                above, now = os.path.dirname(above), os.path.dirname(now)
        ordered = sorted(pairs.items(), key=lambda pair: -len(pair[0]))
        return [(re.compile(rf"(?<![^/]){re.escape(old)}(?=[:@]|$)"), new) for old, new in ordered]

    def current_identities(self, identities: Iterable[Identity]) -> Iterator[Identity]:
        """Yield identities under the new names of files and folders.

        The old object name is also yielded, as a folder may have moved only in part.
        """
        for rule, path, name, about in identities:
            for called in {name, self._moved(name)}:
                yield rule, self._moved(path), called, about

    def _moved(self, text: str) -> str:
        for pattern, new in self._moves:
            text, count = pattern.subn(new.replace("\\", "\\\\"), text)
            if count:
                return text
        return text


def _changed(old: bytes, new: bytes) -> list[bool]:
    """Tell for each new line whether the old text lacks it there; line ends do not count."""
    before = [line.rstrip(b"\r") for line in old.split(b"\n")]
    after = [line.rstrip(b"\r") for line in new.split(b"\n")]
    result = [True] * len(after)
    for kind, _, _, to, stop in steps(before, after):
        if kind == "equal":
            result[to:stop] = [False] * (stop - to)
    return result
