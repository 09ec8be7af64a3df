"""Where a run of kcheck spends its processor time, by phase. `scripts/bench --profile` runs this for each load.

    python scripts/bench_phases.py FILE ARGUMENT...

runs kcheck with the arguments and writes milliseconds by phase into FILE, as JSON. The functions at the seams between
phases are wrapped from outside, as soon as their modules are imported; a phase within another one is not its time.
"""

from __future__ import annotations

from time import process_time

BEGIN = process_time()

import builtins  # noqa: E402 - nearly all of this is imported by kcheck, too, and counts as such
import importlib  # noqa: E402
import json  # noqa: E402
import sys  # noqa: E402
from functools import reduce, wraps  # noqa: E402
from types import GeneratorType  # noqa: E402
from typing import TYPE_CHECKING, Any  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

START, IMPORTS, REST = "start of Python", "imports", "rest"
SEAMS = {
    "rules and profiles": ("engine.rules:selected", "text.bundled:load", "text.bundled:compiled"),
    "YAML and HCL parse": (
        "text.syntax.yaml:documents", "text.syntax.hcl.parse:parse", "text.syntax.hcl.parse:parse_template",
        "text.syntax.hcl.parse:parse_expression", "text.syntax.hcl.json:parse",
    ),
    "walk, classify": ("text.files.tree:Tree.__init__",),
    "inventory and model": ("inventory.reader:read",),
    "views with simulations": ("engine.words.raw_views:view", "engine.words.subjects:things"),
    "CEL": (
        "text.syntax.cel:compile", "text.syntax.cel:conjunction", "text.syntax.cel:activation",
        "text.syntax.cel:evaluate",
        "text.syntax.cel_tree:required_texts", "text.syntax.cel_tree:tree",
    ),
    "report": ("report.formats:Report.render", "commands.check:next_step"),
}  # fmt: skip
"""The functions of each phase, as `module:name` in kcheck."""
PHASES = (START, IMPORTS, *SEAMS, REST)


class Clock:
    """Seconds of processor time by phase; the last phase that was entered is the one that runs."""

    def __init__(self) -> None:
        self.spent = dict.fromkeys(PHASES, 0.0) | {START: BEGIN}
        self.open = [IMPORTS]
        self.since = BEGIN

    def count(self) -> None:
        """Add the time since the last call to the phase that runs."""
        now = process_time()
        self.spent[self.open[-1]] += now - self.since
        self.since = now

    def enter(self, phase: str) -> None:
        """A phase begins."""
        self.count()
        self.open.append(phase)

    def leave(self) -> None:
        """The phase ends."""
        self.count()
        self.open.pop()


def timed(function: Callable[..., Any], phase: str, clock: Clock) -> Callable[..., Any]:
    """The function, counted as a phase; of a generator that it returns, each step."""

    @wraps(function)
    def call(*arguments: object, **named: object) -> object:
        clock.enter(phase)
        try:
            found = function(*arguments, **named)
        finally:
            clock.leave()
        return steps(found) if isinstance(found, GeneratorType) else found

    def steps(found: Iterator[object]) -> Iterator[object]:
        end = object()
        step = timed(lambda: next(found, end), phase, clock)
        while (item := step()) is not end:
            yield item

    return call


def wrap_imported(left: dict[str, str], clock: Clock) -> None:
    """Wrap the functions, of those that are left, whose modules are there by now."""
    for seam in list(left):
        module, _, name = seam.partition(":")
        *path, last = name.split(".")
        try:
            owner = reduce(getattr, path, sys.modules[f"kcheck.{module}"])
            function = getattr(owner, last)
        except (KeyError, AttributeError):  # not imported, or not yet to the end
            continue
        setattr(owner, last, timed(function, left.pop(seam), clock))


def phases(arguments: list[str]) -> dict[str, float]:
    """Run kcheck; milliseconds of processor time by phase, with their total."""
    clock = Clock()
    left = {seam: phase for phase, seams in SEAMS.items() for seam in seams}
    by_statement, by_name = builtins.__import__, importlib.import_module

    def counted(function: Callable[..., Any]) -> Callable[..., Any]:
        inner = timed(function, IMPORTS, clock)

        def load(*given: Any, **named: Any) -> Any:
            module = inner(*given, **named)
            wrap_imported(left, clock)
            return module

        return load

    builtins.__import__, importlib.import_module = counted(by_statement), counted(by_name)
    clock.enter(REST)
    try:
        from kcheck.commands.cli import main

        sys.argv = ["kcheck", *arguments]
        main()
    except SystemExit:
        pass
    finally:
        builtins.__import__, importlib.import_module = by_statement, by_name
    clock.leave()
    found = {phase: seconds * 1000 for phase, seconds in clock.spent.items()}
    return {"total": sum(found.values()), **found}


if __name__ == "__main__":
    target, *command = sys.argv[1:]
    found = phases(command)
    with open(target, "w", encoding="utf-8") as file:
        json.dump(found, file)
