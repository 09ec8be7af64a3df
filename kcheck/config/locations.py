"""Find the settings file without loading it."""

import os
from collections.abc import Iterable

from kcheck.config.config import ConfigError
from kcheck.text.files import system
from kcheck.text.files.boundary import around
from kcheck.text.files.disk import MAX_BYTES, Disk
from kcheck.text.syntax.scan import toml_table

NAME = "kcheck.yaml"
PROJECT = "pyproject.toml"
TABLE = "tool.kcheck"
BASELINE = "kcheck-baseline.json"


def find_file(paths: Iterable[str], disk: Disk, top: str | None = None) -> str | None:
    """Find the nearest settings file at or above the folder of all paths.

    The search ends at `top`, else at the top of the repository. Raises ConfigError if it is a link that leads out of
    the repository.
    """
    real = [system.real_path(path) for path in paths] or [os.getcwd()]
    folder, last = os.path.commonpath(real), system.real_path(top) if top is not None else None
    if not os.path.isdir(folder):
        folder = os.path.dirname(folder)
    while True:
        own, project = os.path.join(folder, NAME), os.path.join(folder, PROJECT)
        if disk.is_file(own) or os.path.islink(own):
            return _checked(own)
        if (
            _is_inside(project)
            and disk.is_file(project)
            and toml_table(disk.head(project, MAX_BYTES), TABLE) is not None
        ):
            return os.path.relpath(project)
        above = os.path.dirname(folder)
        if folder in (above, last) or os.path.exists(os.path.join(folder, ".git")):
            return None
        folder = above


def _checked(path: str) -> str:
    shown = os.path.relpath(path)
    if not _is_inside(path):
        raise ConfigError(f"{shown}: it leads out of the repository, and is not read")
    return shown


def _is_inside(path: str) -> bool:
    return not os.path.islink(path) or around([os.path.dirname(path)]).holds(system.real_path(path))
