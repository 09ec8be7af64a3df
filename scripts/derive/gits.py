"""Files of git directories at a tag, a branch or a commit, read by git alone: nothing of them runs."""

from __future__ import annotations

import re
import subprocess
import sys
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path


class Repository(NamedTuple):
    """A git directory, with or without a work tree."""

    path: Path

    def text(self, path: str, at: str = "HEAD") -> str | None:
        """A file at a revision; None if it is not there."""
        return next(iter(self.texts([f"{at}:{path}"]).values()), None)

    def texts(self, names: Iterable[str]) -> dict[str, str]:
        """The files that exist of `revision:path` names, read by one process."""
        asked = list(names)
        command = ["git", "-C", str(self.path), "cat-file", "--batch"]
        out = subprocess.run(command, input="\n".join(asked).encode(), check=True, capture_output=True).stdout
        found, at = {}, 0
        for name in asked:
            head, _, _ = out[at:].partition(b"\n")
            at += len(head) + 1
            if head.endswith(b" missing"):
                continue
            size = int(head.split()[-1])
            found[name] = out[at : at + size].decode("utf-8", "replace")
            at += size + 1
        return found

    def names(self, pattern: str) -> list[str]:
        """The tags and branches that a pattern matches as a whole."""
        command = ["git", "-C", str(self.path), "for-each-ref", "--format=%(refname:lstrip=2)"]
        out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        return [name for name in out.split() if re.fullmatch(pattern, name)]

    def commit(self, path: str) -> tuple[str, str]:
        """The last commit that changed a file, and its day."""
        command = ["git", "-C", str(self.path), "log", "-1", "--format=%H %cs", "--", path]
        out = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
        return out[0], out[1]


def repository(gits: Path, name: str) -> Repository | None:
    """The git directory of OWNER/NAME in a folder of them; None if it is not there."""
    full, short = name.replace("/", "+"), name.split("/")[1]
    folders = (gits / one for one in (f"{full}/repo", full, short, f"{short}.git"))
    return next((Repository(folder) for folder in folders if folder.is_dir()), None)


class MissingError(Exception):
    """A source is not there, so that what it is needed for can be neither derived nor dated."""


told: list[str] = []
"""What was told: sources that are not there, and what a person has to look at."""


def tell(about: str, what: object) -> None:
    """Name something that no program can put right."""
    told.append(f"{about}: {what}")
    print(told[-1], file=sys.stderr)


def needed(gits: Path, name: str) -> Repository:
    """The git directory of OWNER/NAME.

    Raises:
        MissingError: it is not there.
    """
    own = repository(gits, name)
    if own is None:
        raise MissingError(f"no git directory of {name} in {gits}")
    return own


def text_of(gits: Path, name: str, file: str, at: str = "HEAD") -> tuple[Repository, str]:
    """The git directory of OWNER/NAME, and a file in it.

    Raises:
        MissingError: one of them is not there.
    """
    own = needed(gits, name)
    text = own.text(file, at)
    if text is None:
        raise MissingError(f"{name} has no {file} at {at}")
    return own, text
