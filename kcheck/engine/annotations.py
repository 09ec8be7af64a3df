"""The annotation by which an object has rules ignored, in files and in a cluster."""

from __future__ import annotations

import re

IGNORE = "kcheck.dev/ignore"
"""Its value names rules or groups, and gives a reason: `job-without-deadline, images: runs until it is stopped`."""


def parse(value: str) -> tuple[tuple[str, ...], str]:
    """The rules and groups that an annotation names, and its reason; empty where it gives none."""
    names, _, reason = value.partition(":")
    return tuple(filter(None, (name.strip() for name in names.split(",")))), reason.strip()


def ignoring(name: str, group: str) -> str:
    """The pattern of the values that have a rule ignored."""
    either = "|".join(map(re.escape, (name, group))).replace("\\-", "-")
    return rf"^([^:]*,)?\s*({either})\s*(,[^:]*)?:\s*\S"
