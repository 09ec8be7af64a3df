"""Changes since a commit, by git commands that only read.

A commit can bring any file but one named `.git`. So the git folder is found here by that name: git itself takes any
folder with the parts of a repository for one. Git then lists the index and reads objects. It never compares contents of
the work tree, for which it would run filters of the repository's settings.
"""

import os
import re
import stat
import subprocess
from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import NamedTuple

from kcheck.config.config import ConfigError, find_program
from kcheck.text.files import system
from kcheck.text.files.boundary import REASON, Boundary, contains_path, git_line, git_link, git_text, remedy, repository
from kcheck.text.files.disk import MAX_BYTES, Disk
from kcheck.text.files.save import LineMatcher
from kcheck.text.files.tree import display_path
from kcheck.text.findings import Finding, Identity
from kcheck.text.regex import regex
from kcheck.text.text import Span

_FLAG = "--diff-base"
_PARTS = (
    "HEAD", "commondir", "config", "config.worktree", "index", "info", "logs", "objects", "objects/info",
    "objects/pack", "packed-refs", "refs", "refs/heads", "refs/remotes", "reftable", "shallow",
)  # fmt: skip
_ENVIRONMENT = {
    "GIT_CONFIG_NOSYSTEM": "1", "GIT_ATTR_NOSYSTEM": "1", "GIT_NO_LAZY_FETCH": "1",
    "GIT_NO_REPLACE_OBJECTS": "1", "GIT_OPTIONAL_LOCKS": "0", "GIT_ALLOW_PROTOCOL": "none", "GIT_TERMINAL_PROMPT": "0",
    "LC_ALL": "C",
}  # fmt: skip
_SETTINGS = (
    "--no-pager", "-c", "core.fsmonitor=false", "-c", f"core.hooksPath={os.devnull}", "-c", "core.sshCommand=false",
    "-c", f"core.attributesFile={os.devnull}", "-c", "protocol.allow=never",
)  # fmt: skip
_LIST = ("ls-files", "-z", "-t", "--stage", "--debug", "--others", "--exclude-standard")
_ENTRY = regex(
    rb"(?:\? |(?P<tag>[A-Z]) (?P<mode>\d{6}) (?P<blob>[0-9a-f]+) \d\t)(?P<name>[^\0]*)\0"
    rb"(?:  ctime:[^\n]*\n  mtime: (?P<second>\d+):(?P<nano>\d+)\n  dev:[^\n]*\n  uid:[^\n]*\n"
    rb"  size: (?P<size>\d+)[^\n]*\n)?"
)
_STAGED = (
    "diff-index", "--cached", "--raw", "-z", "-M", "--no-abbrev", "--no-ext-diff", "--no-textconv",
    "--ignore-submodules",
)  # fmt: skip
_OTHERS = {"120000", "160000"}
"""Modes of links and submodules."""
_NOTHING = "000000"
"""Mode of a missing file."""


class Entry(NamedTuple):
    """A file of the index; `time` and `size` when it last equalled `blob`.

    `blob` is empty for an untracked file that is not ignored. An `is_sparse` file may be missing.
    """

    name: bytes
    mode: str = ""
    blob: str = ""
    is_sparse: bool = False
    time: int = -1
    size: int = -1


class Repository:
    """The repository of the working directory, which must hold all of the paths.

    Raises ConfigError if there is none, a path is in another one, or its git folder leads outside of what may be read.
    """

    def __init__(self, paths: Iterable[str], boundary: Boundary | None) -> None:
        self._git = find_program("git", _FLAG)
        self._boundary = boundary
        self.top = repository(".")
        if not self.top:
            raise ConfigError(f"{_FLAG}: the working directory is not in a git repository")
        other = next((path for path in paths if repository(path) != self.top), None)
        if other is not None:
            raise ConfigError(
                f"{_FLAG}: {other} is not in the repository of the working directory; run kcheck in its own"
            )
        self.folder = self._git_folder(self.top)
        self._check()

    # --- the git folder

    def _git_folder(self, top: str) -> str:
        """Return the git folder of a work tree."""
        entry = os.path.join(top, ".git")
        if os.path.islink(entry):
            return self._allowed(system.real_path(entry), entry)
        if os.path.isdir(entry):
            return entry
        folder, is_worktree = git_link(entry)
        if not contains_path(top, folder) and (is_worktree or self._is_submodule(folder, top)):
            return folder
        return self._allowed(folder, entry)

    def _is_submodule(self, folder: str, top: str) -> bool:
        above = repository(os.path.dirname(top))
        return bool(above) and contains_path(os.path.join(self._git_folder(above), "modules"), folder)

    def _check(self) -> None:
        """Refuse parts of the git folder and object stores outside of it."""
        self._check_parts(self.folder)
        entry = os.path.join(self.folder, "commondir")
        common = system.real_path(os.path.join(self.folder, git_line(entry)))
        if common != self.folder:
            if common != os.path.dirname(os.path.dirname(self.folder)):
                self._allowed(common, entry)
            self._check_parts(common)
        stores = [os.path.join(common, "objects")]
        for store in stores:
            entry = os.path.join(store, "info", "alternates")
            if not contains_path(store, entry):
                self._allowed(system.real_path(entry), entry)
            for line in git_text(entry).splitlines():
                if line.startswith('"'):
                    raise ConfigError(f"{_FLAG}: {display_path(entry)} has a path in quotes; write it without")
                real = system.real_path(os.path.join(store, line))
                if line and not line.startswith("#") and real not in stores:
                    stores.append(real if contains_path(common, real) else self._allowed(real, entry))

    def _check_parts(self, folder: str) -> None:
        for part in (os.path.join(folder, name) for name in _PARTS):
            if not contains_path(folder, part):
                self._allowed(system.real_path(part), part)

    def _allowed(self, real: str, named_by: str) -> str:
        """Return a path outside the repository if the command line allows reading it.

        Raises ConfigError if reading it is not allowed.
        """
        what = f"{_FLAG}: {display_path(named_by)} leads to {real}"
        if contains_path(self.top, real):
            raise ConfigError(f"{what} in the work tree, which a commit may have created; run kcheck in a fresh clone")
        if self._boundary is None or not self._boundary.holds(real):
            raise ConfigError(f"{what}, {REASON}; {remedy(real)}")
        return real

    # --- asking git

    def ask(
        self, *arguments: str, given: bytes = b"", wrong: str = "", has_user: bool = False, tree: str = ""
    ) -> bytes:
        """Run git on objects and the index, and return its output.

        Raises ConfigError if git does not start, or fails.
        """
        tree = tree or self.folder
        environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")} | _ENVIRONMENT
        if not has_user:
            environment["GIT_CONFIG_GLOBAL"] = os.devnull
        command = [self._git, f"--git-dir={self.folder}", f"--work-tree={tree}", *_SETTINGS, *arguments]
        try:
            run = subprocess.run(  # noqa: S603 - git, with arguments of our own
                command, input=given, capture_output=True, check=False, env=environment, cwd=tree
            )
        except OSError as error:
            raise ConfigError(f"{_FLAG}: git does not start: {error.strerror or error}") from error
        if run.returncode:
            # what git quotes may be of a file outside that the settings of the repository include
            said = run.stderr.decode(errors="replace").strip().partition("\n")[0].partition("'")[0].rstrip(" :")
            raise ConfigError(f"{_FLAG}: {', '.join(filter(None, (wrong, said))) or 'git failed'}")
        return run.stdout

    def line(self, *arguments: str, wrong: str = "", has_user: bool = False) -> str:
        """Return the line that git prints; on failure empty, or an error."""
        try:
            return os.fsdecode(self.ask(*arguments, wrong=wrong, has_user=has_user)).rstrip("\n")
        except ConfigError:
            if wrong:
                raise
            return ""

    def entries(self) -> Iterator[Entry]:
        """Yield the files of the index and untracked files that are not ignored."""
        ignores = ("-c", f"core.excludesFile={self._user_ignores()}")
        listing = self.ask(*ignores, *_LIST, wrong="git cannot read the repository", tree=self.top)
        at = 0
        while at < len(listing):
            match = _ENTRY.match(listing, at)
            if match is None:
                raise ConfigError(f"{_FLAG}: git lists files in a form that kcheck does not know")
            at = match.end()
            tag, mode, blob, name, second, nano, size = match.groups()
            if tag is None:
                yield Entry(name)
                continue
            time, bytes_ = (int(second) * 10**9 + int(nano), int(size)) if size else (-1, -1)
            yield Entry(name, mode.decode(), blob.decode(), tag == b"S", time, bytes_)

    def index_time(self) -> int:
        """Return when the index was written, in nanoseconds."""
        try:
            return os.stat(os.path.join(self.folder, "index")).st_mtime_ns
        except OSError:
            return 0

    def _user_ignores(self) -> str:
        """Return the path of the user's global ignore file."""
        chosen = self.line("config", "--global", "--type=path", "--get", "core.excludesFile", has_user=True)
        folder = os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config")
        return chosen or os.path.join(folder, "git", "ignore")


# --- changes


class Difference:
    """Changes of the work tree since a commit.

    `overlay` maps real paths of changed files to their old bytes, None for new files. `note` tells the user if the
    commit has no common ancestor with HEAD, and is compared itself.
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
        """Return the merge base of HEAD and `ref`.

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
        """Regexes of old names of files and folders with new names, longest first."""
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
    """Return for each new line whether it is not in the old text."""
    before = [line.rstrip(b"\r") for line in old.split(b"\n")]
    after = [line.rstrip(b"\r") for line in new.split(b"\n")]
    result = [True] * len(after)
    for _, at, size in LineMatcher(before, after).get_matching_blocks():
        result[at : at + size] = [False] * size
    return result
