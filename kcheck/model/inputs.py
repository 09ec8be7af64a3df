"""Remarks about the input files themselves."""

from __future__ import annotations

from kcheck.model.base import Thing


class Input(Thing, frozen=True):
    """Something about the files themselves: unreadable, templates, or a suppression that is off.

    `kind` says what, of the file or folder `path`. `name` is the rule that a suppression names, or the chart; `reason`
    why something cannot be read or rendered, or why a finding was accepted until the day `expires`; `count` how many
    templates there are. `about` tells several of one kind and file apart where the id does not.
    """

    kind: str
    path: str
    about: str = ""
    name: str = ""
    reason: str = ""
    expires: str = ""
    count: int = 0
