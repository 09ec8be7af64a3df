"""What is to be said of the files themselves."""

from __future__ import annotations

from dataclasses import dataclass

from kcheck.model.thing import Thing


@dataclass(frozen=True, eq=False)
class Input(Thing):
    """Something about the files themselves: unreadable, templated, or a suppression that is off.

    `kind` is unreadable, not-rendered, templates, chart, unused-suppression, expired-suppression or bare-suppression.
    `about` tells several of one kind and file apart where the id does not.
    """

    kind: str
    text: str
    about: str = ""
