"""The annotation by which an object has rules ignored, in files and in a cluster."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from kcheck.text.syntax import yaml

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kcheck.text.text import Source, Span

IGNORE = "kcheck.dev/ignore"
"""Its value names rules or groups, and gives a reason: `job-without-deadline, images: runs until it is stopped`."""


def parse(value: str) -> tuple[tuple[str, ...], str]:
    """The rules and groups that an annotation names, and its reason; empty where it gives none."""
    names, _, reason = value.partition(":")
    return tuple(filter(None, (name.strip() for name in names.split(",")))), reason.strip()


def read(source: Source) -> Iterator[tuple[Span, Span, str]]:
    """The objects of a file that have rules ignored: each with the annotation's place and value."""
    for document in yaml.documents(source, lambda data: IGNORE.encode() in data):
        root = document.root
        found = yaml.get(root, "items") if root is not None and yaml.get(root, "metadata", "name") is None else None
        for item in found.items if isinstance(found, yaml.Sequence) else (root,):
            value = yaml.get(item, "metadata", "annotations", IGNORE)
            if isinstance(value, yaml.Scalar):
                span = document.span if item is root or item is None else yaml.resolve(item).span
                yield span, value.span, value.text


def ignoring(name: str, group: str) -> str:
    """The pattern of the values that have a rule ignored."""
    either = "|".join(map(re.escape, (name, group))).replace("\\-", "-")
    return rf"^([^:]*,)?\s*({either})\s*(,[^:]*)?:\s*\S"
