"""What nearly every check needs, had in memory before the first one: most of what a small repository takes is that."""

from __future__ import annotations

import contextlib
import importlib
import os
import pkgutil

from kcheck.fleet.check import check
from kcheck.fleet.code import code
from kcheck.fleet.task import Outcome, Task
from kcheck.numbers.clouds import CLOUDS
from kcheck.source.bundled import EXAMPLES

_READERS = ("clouds", "kubernetes", "reading", "syntax", "terraform", "words")
"""Packages of which a check imports what its files need."""


def warm() -> dict[str, Outcome]:
    """Import, load and compile by checking an example of each cloud; what is found, by the cloud.

    No answer of the system is kept by that: what depends on a repository is asked again in its own check.
    """
    code()
    for name in _READERS:
        package = importlib.import_module(f"kcheck.{name}")
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            importlib.import_module(module.name)
    with contextlib.chdir(EXAMPLES):
        return {cloud: check(Task(cloud, os.path.join(EXAMPLES, f"{cloud}-training"))) for cloud in CLOUDS}
