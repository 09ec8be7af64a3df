"""Which kcheck this is: a worker with another one finds other things."""

from __future__ import annotations

import os
from functools import cache

from kcheck import __version__
from kcheck.text.bundled import PACKAGE, PROFILES, RULES
from kcheck.text.files import system


@cache
def code() -> str:
    """What tells this kcheck, with its rules and numbers, from any other, on whatever machine."""
    todo = [("", PACKAGE), *((name, path) for name, path in (("rules", RULES), ("profiles", PROFILES)))]
    found = []
    while todo:
        name, folder = todo.pop()
        for entry in os.scandir(folder):
            if entry.is_dir():
                todo += [] if entry.name == "__pycache__" else [(f"{name}/{entry.name}", entry.path)]
            elif not entry.name.endswith(".pyc"):
                found.append(f"{name}/{entry.name} {system.digest(system.read(entry.path))}")
    return system.digest("\n".join([__version__, *sorted(found)]).encode())
