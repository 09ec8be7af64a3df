"""By which labels people tell whose a pod is."""

from __future__ import annotations

import os
from functools import cache

from kcheck.text import bundled
from kcheck.text.bundled import PROFILES


@cache
def labels() -> dict[str, list[str]]:
    """The labels that name an owner, a team or an experiment, each list in the order in which they count."""
    data: dict[str, list[str]] = bundled.load(os.path.join(PROFILES, "any", "dimensions.yaml"))["labels"]
    return data
