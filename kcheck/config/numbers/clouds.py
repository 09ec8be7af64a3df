"""Clouds that kcheck knows, and the folders of their numbers."""

import os

from kcheck.text.bundled import PROFILES

CLOUDS = {name: os.path.join(PROFILES, name) for name in ("aks", "eks", "gke", "ack", "selfmanaged")}
"""Folder of each cloud's numbers."""


def owners() -> tuple[str, ...]:
    """List the owners of numbers: `any` for all clouds, then each cloud."""
    return ("any", *CLOUDS)


def folder(cloud: str) -> str:
    """Return the folder of a cloud's numbers; `any` is for all clouds."""
    return CLOUDS.get(cloud) or os.path.join(PROFILES, cloud)
