"""The inputs that are not known, the most wanted first, each with its place and the way to give it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcheck.report.escape import json_text
from kcheck.report.json import undecided_data
from kcheck.report.text import judged_lines, line_text, place_text, skipped_text
from kcheck.text.control_characters import visible
from kcheck.text.units import counted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kcheck.engine.judged import Judged
    from kcheck.engine.linter import Result

_MOST_RULES = 8


def as_text(result: Result) -> str:
    """What was judged, then each input with the rules that wait for it, then what was not read."""
    return "".join(f"{visible(line)}\n" for line in _lines(result))


def as_json(result: Result) -> str:
    """The same as JSON: `inputs` and `judged` of the report of `check`."""
    return json_text(undecided_data(result), indent=2)


def _lines(result: Result) -> Iterator[str]:
    judged = result.judged
    yield from judged_lines(result, listed=False)
    yield from _inputs(judged)
    if judged.skipped:
        yield ""
        yield "not read:"
        yield from (f"  {skipped_text(skipped)}" for skipped in judged.skipped)


def _inputs(judged: Judged) -> Iterator[str]:
    for missing in judged.inputs:
        yield ""
        yield f"{counted(missing.checks, 'check')}: {missing.reason}"
        if missing.place is not None:
            yield f"  {place_text(missing.place)}  {line_text(missing.place)}"
        if missing.remedy:
            yield f"  {missing.remedy}"
        rules = sorted(missing.rules.items(), key=lambda item: (-item[1], item[0]))
        names = [f"{name} {number}" if number > 1 else name for name, number in rules[:_MOST_RULES]]
        more = f" and {len(rules) - _MOST_RULES} more rules" if len(rules) > _MOST_RULES else ""
        yield f"  {', '.join(names)}{more}"
