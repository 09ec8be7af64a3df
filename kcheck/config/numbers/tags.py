"""Image tags: which are moved to new images."""

from __future__ import annotations

import re
from functools import cache

from kcheck.config.numbers import profiles
from kcheck.text.regex import regex

LATEST = "latest"
"""What an image without a tag gets, and by what Kubernetes tells whether to ask for it at every start."""

_SEPARATOR = regex(r"[-_.]")
NUMBERED = r"v?\d+\.\d[\w.]*|\d{2,}"
COMMIT = r"[0-9a-f]{6,40}"
_BUILD = regex(rf"(?:{NUMBERED}|(?=[a-z]*\d){COMMIT})$")
"""A part that says which build it is: a version, a date or a number of a build, a commit."""


_LONGEST = 128
"""Characters of a tag that a registry takes."""


@cache
def moving() -> frozenset[str]:
    """The words that tags which move have in them."""
    return frozenset(profiles.limits("any")["image.moving_tags"].text.split(", "))


def moves(tag: str) -> bool:
    """Whether a tag moves to a new build with each push: `nightly`, `latest-gpu`, but not `v1.2.0-dev.3`.

    One that ends in `latest` does whatever stands before it.
    """
    if len(tag) > _LONGEST:
        return False
    tag = tag.lower()
    words = _SEPARATOR.split(tag)
    if words[-1] in ("", LATEST):
        return True
    return not moving().isdisjoint(words) and not any(map(_BUILD.match, re.split("[-_]", tag)))
