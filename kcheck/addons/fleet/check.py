"""The check of one repository, in a process of its own that is in the repository's folder."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

from msgspec.structs import replace

from kcheck.addons.fleet.code import code
from kcheck.addons.fleet.revision import revision
from kcheck.addons.fleet.rows import rows_of
from kcheck.addons.fleet.task import CHECKED, PARTLY, Outcome, Past, failed
from kcheck.addons.fleet.unchanged import FOLDER, quick_outcome, replaced
from kcheck.api import Project
from kcheck.config.config import ConfigError
from kcheck.config.effective import effective_config
from kcheck.text import deadline
from kcheck.text.files import system
from kcheck.text.files.tree import PathError

if TYPE_CHECKING:
    from kcheck.addons.fleet.task import Settings, Task
    from kcheck.config.config import Config


def check(task: Task) -> Outcome:
    """Check the repository of a task, which the process is moved to; whatever it has, there is an outcome."""
    begin, cpu = time.monotonic(), time.process_time()
    quick = quick_outcome(task)
    if quick is not None:
        return quick
    here = os.getcwd()
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
        past = Past(code(), task.settings, list(replaced(answers, here, FOLDER)))
    return replace(
        outcome,
        past=past,
        revision=revision(),
        seconds=time.monotonic() - begin,
        cpu_seconds=time.process_time() - cpu,
    )


def _checked(task: Task) -> Outcome:
    """What is found.

    Raises:
        ConfigError: the settings make no sense.
        PathError: a folder that is asked for does not exist.
        DeadlineError: the time was over before anything was found.
    """
    deadline.start(task.bounds.seconds)
    config = _config(task.settings)
    result = Project(task.settings.roots, config).check().result
    deadline.stop()
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
    flags = {
        "nodes": settings.nodes, "price": settings.price, "var_files": settings.var_files, "rules": settings.rules,
        "module_dirs": settings.module_dirs,
    }  # fmt: skip
    config = effective_config(settings.roots, None, flags, top=".")
    return replace(config, environments=settings.environments) if settings.environments else config
