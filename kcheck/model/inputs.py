"""Remarks about the input files themselves."""

from __future__ import annotations

from dataclasses import dataclass

from kcheck.model.thing import Thing


@dataclass(frozen=True, eq=False)
class Input(Thing):
    """A remark about a file: unreadable, templated, or a wrong suppression.

    `kind` is unreadable, templates, chart, unused-suppression or bare-suppression.
    """

    kind: str
    text: str
