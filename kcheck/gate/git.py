"""What has changed since a commit. Git is asked, nothing else runs, and nothing is written."""

from __future__ import annotations

import os
import re
import subprocess
from functools import cached_property
from typing import TYPE_CHECKING

from kcheck.config.config import ConfigError
from kcheck.files import system
from kcheck.files.disk import Disk
from kcheck.files.tree import display_path
from kcheck.source.text import steps

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kcheck.source.findings import Finding, Identity
    from kcheck.source.text import Span

_RAW_DIFF = ("diff", "--raw", "-z", "-M", "--no-abbrev", "--no-ext-diff", "--ignore-submodules")
_OTHERS = {"120000", "160000"}
"""The modes of links and submodules."""
_OF_HOOKS = {"GIT_DIR", "GIT_WORK_TREE", "GIT_COMMON_DIR", "GIT_INDEX_FILE", "GIT_PREFIX"}
"""What a git that runs a hook says of its own place; here the paths say which repository is meant."""


class Difference:
    """The work tree against a commit.

    `overlay` has the bytes that each changed file had, None for one that was not there, by its path on disk; `note` is
    what the user should know of how it was found.
    """

    def __init__(self, folder: str, ref: str) -> None:
        self._git = ("git", "-c", "core.fsmonitor=false", "-C", folder)
        self.note = ""
        self.overlay: dict[str, bytes | None] = {}
        self._renamed: dict[str, str] = {}
        self._touched: dict[str, list[bool]] = {}
        self._top = self._line("rev-parse", "--show-toplevel", wrong=f"{folder} is not in a git repository")
        self._git = (*self._git[:-1], self._top)
        self.commit = self._base(ref)
        self._read()

    def _base(self, ref: str) -> str:
        """Where this branch left the one of `ref`: what happened there since is nobody's change here.

        Before the first commit, that is where there is nothing.
        """
        if ref == "HEAD" and not self._answer("rev-parse", "--verify", "--quiet", "HEAD"):
            return self._line("hash-object", "-t", "tree", "--stdin", wrong="git failed")
        absent = f"unknown commit {ref}; fetch it first (in CI, with the whole history)"
        tip = self._line("rev-parse", "--verify", "--quiet", "--end-of-options", f"{ref}^{{commit}}", wrong=absent)
        base = self._answer("merge-base", tip, "HEAD")
        if not base:
            self.note = f"{ref} and HEAD have no known common ancestor (a shallow clone?); compared with {ref} itself"
        return base or tip

    def _read(self) -> None:
        raw = self._output(*_RAW_DIFF, self.commit, "--")
        parts = iter(raw.split(b"\0"))
        old: dict[str, list[str]] = {}
        for head in parts:
            if not head.startswith(b":"):
                break
            mode, mode_now, blob, _, status = head.decode().removeprefix(":").split(" ")
            before = self._path(next(parts))
            after = self._path(next(parts)) if status[0] in "RC" else before
            if {mode, mode_now} & _OTHERS or status[0] == "U":  # a conflict has another entry that says what was
                continue
            if before != after:
                self.overlay[after] = None
                if status[0] == "R":
                    self._renamed[before] = after
            if status[0] in "AC":
                self.overlay[after] = None
            else:
                old.setdefault(blob, []).append(before)
        for name in self._output("ls-files", "--others", "--exclude-standard", "-z", "--full-name").split(b"\0"):
            if name:
                self.overlay[self._path(name)] = None
        for blob, data in self._contents(list(old)):
            self.overlay |= dict.fromkeys(old[blob], data)

    def _path(self, name: bytes) -> str:
        folder, own = os.path.split(os.path.join(self._top, os.fsdecode(name)))
        return os.path.join(system.real_path(folder), own)

    def _contents(self, blobs: list[str]) -> Iterator[tuple[str, bytes]]:
        """The bytes of some blobs."""
        if not blobs:
            return
        answer = self._output("cat-file", "--batch", given="\n".join(blobs).encode() + b"\n")
        at = 0
        for blob in blobs:
            end = answer.index(b"\n", at)
            kind, _, size = answer[at:end].decode().removeprefix(f"{blob} ").partition(" ")
            if kind != "blob":
                raise ConfigError(f"git has no content for {blob}; fetch the whole history")
            at = end + 1 + int(size)
            yield blob, answer[end + 1 : at]
            at += 1

    # --- asking git

    def _output(self, *arguments: str, given: bytes = b"", wrong: str = "") -> bytes:
        """What git says.

        Raises:
            ConfigError: git is not there, or cannot tell.
        """
        system.cannot_repeat()
        environment = {name: value for name, value in os.environ.items() if name not in _OF_HOOKS}
        environment |= {"GIT_OPTIONAL_LOCKS": "0", "GIT_NO_LAZY_FETCH": "1"}
        try:
            run = subprocess.run(  # noqa: S603 - git, with arguments of our own
                [*self._git, *arguments], input=given, capture_output=True, check=False, env=environment
            )
        except OSError as error:
            raise ConfigError("--diff-base needs git, which is not on the PATH") from error
        if run.returncode:
            said = run.stderr.decode(errors="replace").strip().splitlines()[:1]
            raise ConfigError(f"--diff-base: {': '.join(filter(None, (wrong, *said))) or 'git failed'}")
        return run.stdout

    def _answer(self, *arguments: str) -> str:
        """A line that git says; empty where it has no answer."""
        try:
            return self._line(*arguments, wrong="")
        except ConfigError:
            return ""

    def _line(self, *arguments: str, wrong: str) -> str:
        return os.fsdecode(self._output(*arguments, wrong=wrong)).rstrip("\n")

    # --- what it means for findings

    def touches(self, finding: Finding) -> bool:
        """Whether a place of a finding is in a line that has changed."""
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
        """What a file was, under the name that it had."""
        was = next((before for before, after in self._renamed.items() if after == real), real)
        return self.overlay.get(was) or b""

    @cached_property
    def _moves(self) -> list[tuple[re.Pattern[str], str]]:
        """Files and folders by the names that they had, and their new ones, the longest first."""
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
        """What is known by an older name of a file or folder, by its new one; a folder may have moved in part only."""
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
    """For each line of the new text whether the old one did not have it there; line ends do not count."""
    before = [line.rstrip(b"\r") for line in old.split(b"\n")]
    after = [line.rstrip(b"\r") for line in new.split(b"\n")]
    result = [True] * len(after)
    for kind, _, _, to, stop in steps(before, after):
        if kind == "equal":
            result[to:stop] = [False] * (stop - to)
    return result
