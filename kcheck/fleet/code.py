"""Which kcheck this is: a worker with another one finds other things."""

from __future__ import annotations

import os
from functools import cache

from kcheck import __version__
from kcheck.files import system
from kcheck.source.bundled import PROFILES, RULES


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
