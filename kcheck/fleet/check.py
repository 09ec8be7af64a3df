"""The check of one repository, in a process of its own that is in the repository's folder."""

from __future__ import annotations

import os
import time
from functools import cache
from typing import TYPE_CHECKING

from msgspec.structs import replace

from kcheck import __version__
from kcheck.config.config import ConfigError
from kcheck.config.effective import effective_config
from kcheck.engine import linter
from kcheck.files import system
from kcheck.files.tree import PathError, Tree
from kcheck.fleet.revision import revision
from kcheck.fleet.rows import rows_of
from kcheck.fleet.task import CHECKED, PARTLY, Outcome, Past, failed
from kcheck.source import deadline
from kcheck.source.bundled import PROFILES, RULES

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kcheck.config.config import Config
    from kcheck.fleet.task import Settings, Task

FOLDER = "\0folder\0"
"""Stands for the folder of a repository: no path has it."""


def check(task: Task) -> Outcome:
    """Check the repository of a task, which the process is moved to; whatever it has, there is an outcome."""
    begin, cpu = time.monotonic(), time.process_time()
    try:
        os.chdir(task.folder)
    except OSError as error:
        return failed(f"{task.folder}: {error.strerror}")
    here = os.getcwd()
    if task.past is not None and is_same(task.past, task.settings, here):
        return Outcome(CHECKED, past=task.past, is_unchanged=True, revision=revision())
    recording = system.record()
    try:
        outcome = _checked(task)
    except (ConfigError, PathError) as error:
        outcome = failed(str(error))
    except deadline.DeadlineError:
        outcome = failed(deadline.reason())
    finally:
        system.stop_recording()
        deadline.stop()
    past = None
    if recording.is_complete and outcome.status == CHECKED:
        answers = [(question, about, answer) for (question, about), answer in recording.answers.items()]
        past = Past(code(), task.settings, list(_replaced(answers, here, FOLDER)))
    return replace(
        outcome,
        past=past,
        revision=revision(),
        seconds=time.monotonic() - begin,
        cpu_seconds=time.process_time() - cpu,
    )


def is_same(past: Past, settings: Settings, here: str) -> bool:
    """Whether a check in the current folder, called `here`, would find what the one of the past has found."""
    return past.code == code() and past.settings == settings and system.is_same(_replaced(past.answers, FOLDER, here))


def _checked(task: Task) -> Outcome:
    """What is found.

    Raises:
        ConfigError: the settings make no sense.
        PathError: a folder that is asked for does not exist.
        DeadlineError: the time was over before anything was found.
    """
    deadline.start(task.bounds.seconds)
    config = _config(task.settings)
    roots = list(task.settings.roots)
    result = linter.run(Tree(roots, None, config.exclude, config.boundary), config, until_deadline=True)
    deadline.stop()  # the rows are quick
    rows, files = rows_of(result), len(result.reading.sources)
    if result.bugs:
        first = result.bugs[0]
        more = f", and {len(result.bugs) - 1:,} more" if len(result.bugs) > 1 else ""
        reason = f"{first.rule or 'the model'} fails on {first.object}: {first.message}{more}"
        return Outcome(PARTLY, reason, rows, files=files)
    if result.is_late:
        return Outcome(PARTLY, result.judged.skipped[0].reason, rows, files=files)
    return Outcome(CHECKED, "", rows, files=files)


def _config(settings: Settings) -> Config:
    """The settings of the repository, with what the list of the fleet says instead.

    Raises:
        ConfigError: they make no sense.
    """
    flags = {"nodes": settings.nodes, "price": settings.price, "var_files": settings.var_files}
    config = effective_config(settings.roots, None, flags, top=".")
    return replace(config, environments=settings.environments) if settings.environments else config


def _replaced(answers: Iterable[tuple[str, str, str]], old: str, new: str) -> Iterable[tuple[str, str, str]]:
    for question, about, answer in answers:
        yield question, about.replace(old, new), answer.replace(old, new)


@cache
def code() -> str:
    """What tells this kcheck, with its rules and numbers, from any other, on whatever machine."""
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    todo = [("", package), *((name, path) for name, path in (("rules", RULES), ("profiles", PROFILES)))]
    found = []
    while todo:
        name, folder = todo.pop()
        for entry in os.scandir(folder):
            if entry.is_dir():
                todo += [] if entry.name == "__pycache__" else [(f"{name}/{entry.name}", entry.path)]
            elif not entry.name.endswith(".pyc"):
                found.append(f"{name}/{entry.name} {system.digest(system.read(entry.path))}")
    return system.digest("\n".join([__version__, *sorted(found)]).encode())
