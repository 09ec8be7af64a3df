"""What `kcheck check` can answer before click is imported: that there is nothing to check.

A hook runs at every commit, and importing click takes twice as long as starting Python: 40 ms. So this imports no more
than walking the tree takes, and leaves to click whatever is unusual: other options, settings, mistakes.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from kcheck.text.files import system

if TYPE_CHECKING:
    from collections.abc import Container

    from kcheck.engine.linter import Result
    from kcheck.text.files.tree import Tree

NOTHING = "kcheck: nothing relevant here: no cluster in Terraform, no workload in a manifest."
THRESHOLDS = ("error", "warning", "info", "undecided", "never")
"""What a gate can fail on."""
QUIET = frozenset({"-q", "--quiet"})
_FLAGS = QUIET | {"--hook", "--no-cache", "--exit-zero", "--info", "--show-undecided"}
_VALUES = {"--fail-on": THRESHOLDS, "--format": ("text",)}
"""Options that change nothing where there is nothing to check."""

trees: dict[tuple[str, ...], Tree] = {}
"""The tree of some paths, if it was read and has something to check: it is not read twice."""
results: dict[tuple[str, ...], Result] = {}
"""What was found in the tree of some paths, if click is to print it: nothing is decided twice."""


def is_nothing(arguments: list[str]) -> bool:
    """Whether a run of `check` with these arguments has nothing to do. Where a person waits for it, that is printed."""
    given = split(arguments)
    if given is None or system.variable("GITHUB_ACTIONS") == "true":  # its default is another format
        return False
    folders, touched, flags = given
    from kcheck.config.locations import find_file
    from kcheck.text.files.boundary import around
    from kcheck.text.files.disk import Disk

    disk = Disk(boundary=around(folders or (".",)))
    if find_file(folders, disk) is not None:
        return False
    if touched:
        from kcheck.fix.gate.relevance import unclear_files

        unclear = unclear_files(touched, disk)
        if unclear is not None:
            return unclear == []
    from kcheck.text.files.tree import Tree

    tree = Tree(list(folders))
    if not tree.is_empty or tree.skipped:
        trees[folders] = tree
        return False
    if not flags & QUIET:
        sys.stderr.write(f"{NOTHING}\n")
    return True


def split(arguments: list[str]) -> tuple[tuple[str, ...], list[str], set[str]] | None:
    """The folders, the files of a commit, and the flags of a command line; None if there is any other option."""
    paths: list[str] = []
    flags: set[str] = set()
    words = iter(with_files_last(arguments, _VALUES))
    for word in words:
        if word == "--":
            paths += words
        elif word in _VALUES:
            value = next(words, "")
            if value not in _VALUES[word]:
                return None
            flags.add(f"{word}={value}")
        elif word in _FLAGS:
            flags.add(word)
        elif word.startswith("-"):
            return None
        else:
            paths.append(word)
    touched = [path for path in paths if "--hook" in flags and not system.is_folder(path)]
    if any(map(is_misplaced, touched)):
        return None
    return tuple(path for path in paths if path not in touched), touched, flags


def with_files_last(arguments: list[str], valued: Container[str]) -> list[str]:
    """Put `--` before the first file that pre-commit passes, so that the name of a committed file is no option.

    pre-commit appends the files of a commit to the options of its configuration, and all of them are there. `valued`
    are the options that take the next word.
    """
    at = arguments.index("--hook") + 1 if "--hook" in arguments else len(arguments)
    while at < len(arguments) and arguments[at] != "--":
        word = arguments[at]
        if _is_there(word) if word.startswith("-") else not system.is_folder(word):
            return [*arguments[:at], "--", *arguments[at:]]
        at += 2 if word in valued else 1
    return arguments


def is_misplaced(word: str) -> bool:
    """Return whether an operand is an option behind the files, where it counts for nothing."""
    return word.startswith("-") and not _is_there(word)


def _is_there(path: str) -> bool:
    return system.exists(path) or system.is_link(path)
