"""Image tags that move to new images."""

import re
from functools import cache

from kcheck.config.numbers import profiles
from kcheck.text.regex import regex

LATEST = "latest"
"""Tag of an image without one; Kubernetes by default checks for a new image with it at every start."""

_SEPARATOR = regex(r"[-_.]")
NUMBERED = r"v?\d+\.\d[\w.]*|\d{2,}"
COMMIT = r"[0-9a-f]{6,40}"
_BUILD = regex(rf"(?:{NUMBERED}|(?=[a-z]*\d){COMMIT})$")
"""A part of a tag that identifies the build: a version, a date or number of a build, a commit."""


_LONGEST = 128
"""Longest tag that registries accept, in characters."""


@cache
def moving() -> frozenset[str]:
    """Return the words that mark moving tags."""
    return frozenset(profiles.limits("any")["image.moving_tags"].text.split(", "))


def moves(tag: str) -> bool:
    """Whether a tag moves with each push: `latest-gpu`, but not `v1.2.0-dev.3`.

    A tag that ends in `latest` always moves.
    """
    if len(tag) > _LONGEST:
        return False
    tag = tag.lower()
    words = _SEPARATOR.split(tag)
    is_build = any(map(_BUILD.match, re.split("[-_]", tag)))
    return words[-1] in ("", LATEST) or not (is_build or moving().isdisjoint(words))
