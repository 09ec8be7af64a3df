"""Access to git objects of the working directory's repository; only git itself runs.

A commit can bring any file but one named `.git`. So the git folder is found here by that name: git itself takes any
folder with the parts of a repository for one. Git then lists the index and reads objects. It never compares contents of
the work tree, for which it would run filters of the repository's settings.
"""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING, NamedTuple

from kcheck.config import programs
from kcheck.config.config import ConfigError
from kcheck.text.files import system
from kcheck.text.files.boundary import REASON, contains_path, remedy, repository
from kcheck.text.files.tree import display_path
from kcheck.text.regex import regex

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kcheck.text.files.boundary import Boundary

_FLAG = "--diff-base"
_LINK = "gitdir: "
"""Prefix of the content of a `.git` file in a worktree or submodule."""
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


class Entry(NamedTuple):
    """A file of the index; `time` (nanoseconds) and `size` are of the file on disk when it last equalled `blob`.

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

    Raises:
        ConfigError: there is none, a path is in another one, or its git folder leads outside of what may be read.
    """

    def __init__(self, paths: Iterable[str], boundary: Boundary | None) -> None:
        self._git = programs.find("git", _FLAG)
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
        """Return the git folder of a work tree: `.git` itself, or the folder a `.git` file names."""
        entry = os.path.join(top, ".git")
        if os.path.islink(entry):
            return self._allowed(system.real_path(entry), entry)
        if os.path.isdir(entry):
            return entry
        folder = system.real_path(os.path.join(top, _line(entry).removeprefix(_LINK)))
        if not contains_path(top, folder) and (_is_worktree(folder, entry) or self._is_submodule(folder, top)):
            return folder
        return self._allowed(folder, entry)

    def _is_submodule(self, folder: str, top: str) -> bool:
        above = repository(os.path.dirname(top))
        return bool(above) and contains_path(os.path.join(self._git_folder(above), "modules"), folder)

    def _check(self) -> None:
        """Refuse parts of the git folder, and object stores, that lead elsewhere."""
        self._check_parts(self.folder)
        entry = os.path.join(self.folder, "commondir")
        common = system.real_path(os.path.join(self.folder, _line(entry)))
        if common != self.folder:
            if common != os.path.dirname(os.path.dirname(self.folder)):
                self._allowed(common, entry)
            self._check_parts(common)
        stores = [os.path.join(common, "objects")]
        for store in stores:
            entry = os.path.join(store, "info", "alternates")
            if not contains_path(store, entry):
                self._allowed(system.real_path(entry), entry)
            for line in _text(entry).splitlines():
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

        Raises:
            ConfigError: reading it is not allowed.
        """
        what = f"{_FLAG}: {display_path(named_by)} leads to {real}"
        if contains_path(self.top, real):
            raise ConfigError(f"{what}, in the work tree, where a commit can have put it; run kcheck in a clone")
        if self._boundary is None or not self._boundary.holds(real):
            raise ConfigError(f"{what}, {REASON}; {remedy(real)}")
        return real

    # --- asking git

    def ask(self, *arguments: str, given: bytes = b"", wrong: str = "", has_user: bool = False) -> bytes:
        """Run git on objects and the index, without a work tree, and return its output.

        Raises:
            ConfigError: git does not start, or fails.
        """
        return self._run(self.folder, *arguments, given=given, wrong=wrong, has_user=has_user)

    def line(self, *arguments: str, wrong: str = "", has_user: bool = False) -> str:
        """Return the one line that git prints; if git fails, empty, or an error if `wrong` is given."""
        try:
            return os.fsdecode(self.ask(*arguments, wrong=wrong, has_user=has_user)).rstrip("\n")
        except ConfigError:
            if wrong:
                raise
            return ""

    def entries(self) -> Iterator[Entry]:
        """Yield the files of the index and untracked files that are not ignored."""
        ignores = ("-c", f"core.excludesFile={self._user_ignores()}")
        listing = self._run(self.top, *ignores, *_LIST, wrong="git cannot read the repository")
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
        """Return when the index was written, in nanoseconds; files not older may have changed since."""
        try:
            return os.stat(os.path.join(self.folder, "index")).st_mtime_ns
        except OSError:
            return 0

    def _user_ignores(self) -> str:
        """Return the path of the user's global ignore file."""
        chosen = self.line("config", "--global", "--type=path", "--get", "core.excludesFile", has_user=True)
        folder = os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config")
        return chosen or os.path.join(folder, "git", "ignore")

    def _run(self, tree: str, *arguments: str, given: bytes = b"", wrong: str = "", has_user: bool = False) -> bytes:
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


def _is_worktree(folder: str, entry: str) -> bool:
    """Whether a worktree's git folder points back to the `.git` file that names it."""
    back = _line(os.path.join(folder, "gitdir"))
    own = os.path.basename(os.path.dirname(folder)) == "worktrees"
    return own and bool(back) and system.real_path(os.path.join(folder, back)) == entry


def _line(path: str) -> str:
    """Return the first line of a file; empty if there is no file."""
    return _text(path).partition("\n")[0].rstrip("\r")


def _text(path: str) -> str:
    return os.fsdecode(system.read(path)) if os.path.isfile(path) else ""
