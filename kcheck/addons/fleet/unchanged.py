"""What a task gets without a check: nothing that its repository reads has changed, or it is only to be packed.

This needs little of kcheck, so that a run in which little has changed does not load the rest.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from kcheck.addons.fleet.code import code
from kcheck.addons.fleet.revision import revision
from kcheck.addons.fleet.task import CHECKED, PACKED, Outcome, failed
from kcheck.text import deadline
from kcheck.text.files import system

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kcheck.addons.fleet.task import Past, Settings, Task

FOLDER = "\0folder\0"
"""Stands for the folder of a repository: no path has it."""


def may_be_quick(task: Task) -> bool:
    """Whether a task may get its outcome without a check."""
    return task.past is not None or task.is_packing


def quick_outcome(task: Task) -> Outcome | None:
    """Move the process to the repository of a task; what becomes of it, or None if it has to be checked."""
    try:
        if task.archive:
            from kcheck.addons.fleet.archive import ArchiveError, unpack

            try:
                unpack(task.archive, task.folder)
            except ArchiveError as error:
                return failed(str(error))
        os.chdir(task.folder)
    except OSError as error:
        return failed(f"{task.folder}: {error.strerror}", can_retry=bool(task.archive))
    if task.past is not None and is_same(task.past, task.settings, os.getcwd()):
        return Outcome(CHECKED, is_unchanged=True, revision=revision())
    return _packed(task) if task.is_packing else None


def is_same(past: Past, settings: Settings, here: str) -> bool:
    """Whether a check in the current folder, called `here`, would find what the one of the past has found."""
    return past.code == code() and past.settings == settings and system.is_same(replaced(past.answers, FOLDER, here))


def replaced(answers: Iterable[tuple[str, str, str]], old: str, new: str) -> Iterable[tuple[str, str, str]]:
    """Answers of the system with one text in place of another."""
    for question, about, answer in answers:
        yield question, about.replace(old, new), answer.replace(old, new)


def _packed(task: Task) -> Outcome:
    from kcheck.addons.fleet.archive import ArchiveError, packed

    deadline.start(task.bounds.seconds)
    try:
        return Outcome(PACKED, archive=packed())
    except ArchiveError as error:
        return failed(str(error))
    except deadline.DeadlineError:
        return failed(deadline.reason())
    finally:
        deadline.stop()
