"""The text of a new kcheck.yaml, as somebody of the team would have written it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from kcheck.text.control_characters import visible
from kcheck.text.syntax.yaml import literal

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from kcheck.config.config import Environment

HEAD = "# Settings of kcheck. `kcheck config` prints what holds, each with the line that says so.\n"
FOOT = """\
# price: 30  # US dollars for one node and hour; without it, list prices count
# fail_on: error  # warnings are shown and fail nothing; without it, they fail too
# baseline: kcheck-baseline.json  # what is known already, from `kcheck baseline`: only what is new fails
"""
_SHOWN = 3
"""So many folders of manifests are named."""
_FEW = 8
"""So many clusters have a line each for their target, more have one for all."""


def settings_file(
    entries: list[Environment], exclude: list[str], left: list[str], maxima: Mapping[tuple[str, str], int]
) -> str:
    """The file.

    `left` are folders of manifests that run on nobody knows which cluster; `maxima` says how many nodes a cluster may
    have today, by its root and environment, zero where that is not known.
    """
    parts = [HEAD]
    if entries:
        parts.append("".join(f"{line}\n" for line in _clusters(entries, left, maxima)))
    elif maxima:  # of manifests
        parts.append(f"# {_target(next(iter(maxima.values())) if len(maxima) == 1 else 0)}\n")
    if exclude:
        lines = ["# Clusters of examples and tests, which nobody scales.", "exclude:"]
        parts.append("".join(f"{line}\n" for line in (*lines, *(f"  - {literal(path)}" for path in exclude))))
    return "\n".join([*parts, FOOT])


def _clusters(entries: list[Environment], left: list[str], maxima: Mapping[tuple[str, str], int]) -> Iterator[str]:
    if left:
        yield "# kcheck cannot tell on which cluster these manifests run; `manifests: [FOLDER]` in an entry says it:"
        yield from (f"#   {visible(folder)}" for folder in left[:_SHOWN])
        if len(left) > _SHOWN:
            yield f"#   and {len(left) - _SHOWN} more"
    if len(entries) > _FEW:
        yield "# `nodes: 1000` in an entry says how many it is meant to reach."
    yield "clusters:"
    for entry in entries:
        most = maxima.get((entry.root, entry.name), 0)
        today = f"  # up to {most:,} nodes today" if most and len(entries) > _FEW else ""
        yield f"  - root: {literal(entry.root)}{today}"
        stem = os.path.basename(entry.var_files[-1]).partition(".")[0] if entry.var_files else entry.workspace
        if entry.name != stem:
            yield f"    name: {literal(entry.name)}"
        if entry.workspace:
            yield f"    workspace: {literal(entry.workspace)}"
        if entry.var_files:
            yield f"    var_files: {_flow(entry.var_files)}"
        if entry.manifests:
            yield f"    manifests: {_flow(entry.manifests)}"
        if len(entries) <= _FEW:
            yield f"    # {_target(most, brief=entry is not entries[0])}"


def _target(most: int, *, brief: bool = False) -> str:
    """The line of the target, which is more than what may be there today; the first one says what it is."""
    nodes, unit = 1000, 1000
    while nodes <= most:
        nodes += unit
        unit = 10 ** (len(str(nodes)) - 1)
    words = [] if brief else ["how many it is meant to reach"]
    words += [f"{'' if brief else 'its pools have '}up to {most:,} today"] if most else []
    return f"nodes: {nodes}{'  # ' if words else ''}{'; '.join(words)}"


def _flow(texts: Iterable[str]) -> str:
    return f"[{', '.join(map(literal, texts))}]"
