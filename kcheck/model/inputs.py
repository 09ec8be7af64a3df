"""Remarks about the input files themselves."""

from __future__ import annotations

from dataclasses import dataclass

from kcheck.model.thing import Thing


@dataclass(frozen=True, eq=False)
class Input(Thing):
    """Something about the files themselves: unreadable, templated, or a suppression that is off.

    `kind` is unreadable, templates, chart, unused-suppression or bare-suppression.
    """

    kind: str
    text: str
