"""The clouds that kcheck knows, and the folders of their numbers."""

from __future__ import annotations

import os

from kcheck.text.bundled import PROFILES

CLOUDS = {name: os.path.join(PROFILES, name) for name in ("aks", "eks", "gke", "ack", "selfmanaged")}
"""The folder of each cloud's numbers, by its name."""


def owners() -> tuple[str, ...]:
    """The owners of numbers: `any` for all clouds, and each cloud."""
    return ("any", *CLOUDS)


def folder(cloud: str) -> str:
    """The folder of a cloud's numbers, or of `any`, those of every cloud."""
    return CLOUDS.get(cloud) or os.path.join(PROFILES, cloud)
