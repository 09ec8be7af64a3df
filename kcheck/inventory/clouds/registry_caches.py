"""Caches of registries in Terraform, as the model has them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcheck.model import Mirror

if TYPE_CHECKING:
    from kcheck.terraform.module import Module
    from kcheck.terraform.resource import Instance

_HUB = "docker.io"
_HOSTS = {"registry-1.docker.io": _HUB, "DOCKER_HUB": _HUB, "https://registry-1.docker.io": _HUB}


def mirror(
    root: Module, instance: Instance, cloud: str, upstream: str | None, path: str, parts: tuple[str | None, ...]
) -> Mirror | None:
    """A cache; None if its registry is unknown. Unknown parts get a name in <>."""
    if not upstream:
        return None
    folder = root.configuration.folder
    prefix = "/".join(part for part in parts if part)
    return Mirror(
        f"{folder}:{instance.address}", instance.span, cloud, folder,
        _HOSTS.get(upstream.rstrip("/"), upstream), path=path, prefix=prefix,
    )  # fmt: skip
