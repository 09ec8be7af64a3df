"""Registry caches in Terraform: ECR and ACR rules, Artifact Registry remote repositories."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcheck.config.numbers.fields import Fields
from kcheck.inventory.clouds.reader import resolve_reference
from kcheck.model import Mirror
from kcheck.text.values import known

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from kcheck.model import Inventory
    from kcheck.terraform.module import Module
    from kcheck.terraform.resource import Instance

_ECR = "aws_ecr_pull_through_cache_rule"
_ACR = "azurerm_container_registry_cache_rule"
_REGISTRY = "azurerm_container_registry"
_GAR = "google_artifact_registry_repository"
_HUB = "docker.io"
_HOSTS = {"registry-1.docker.io": _HUB, "DOCKER_HUB": _HUB, "https://registry-1.docker.io": _HUB}


def read(roots: Iterable[Module], inventory: Inventory) -> None:
    """Add the caches of root modules to the inventory."""
    for root in roots:
        for kind, make in _MAKERS.items():
            for instance in root.instances(kind):
                found = make(root, instance)
                inventory.mirrors += [found] if found is not None else []


def _mirror(
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


def _ecr(root: Module, instance: Instance) -> Mirror | None:
    fields = Fields("eks", _ECR, instance)
    host = "<account>.dkr.ecr.<region>.amazonaws.com"
    prefix = known(fields.text("prefix")) or "<prefix>"
    return _mirror(
        root, instance, "eks", known(fields.text("upstream")), "", (host, None if prefix == "ROOT" else prefix)
    )


def _gar(root: Module, instance: Instance) -> Mirror | None:
    fields = Fields("gke", _GAR, instance)
    if known(fields.text("mode")) != "REMOTE_REPOSITORY":
        return None
    host = f"{known(fields.text('location')) or '<location>'}-docker.pkg.dev"
    parts = (host, known(fields.text("project")) or "<project>", known(fields.text("id")) or "<repository>")
    return _mirror(root, instance, "gke", known(fields.text("upstream")), "", parts)


def _acr(root: Module, instance: Instance) -> Mirror | None:
    """A cache rule: all of a registry, or of a user of it, by a `*`; or one image."""
    fields = Fields("aks", _ACR, instance)
    source, target = str(known(fields.text("source")) or ""), known(fields.text("target"))
    registries = {one.address: Fields("aks", _REGISTRY, one).text("name") for one in root.instances(_REGISTRY)}
    owner = resolve_reference(fields.raw("registry"), registries)
    name = known(owner.value) if owner is not None else None
    upstream, _, path = source.partition("/")
    parts = (f"{name or '<registry>'}.azurecr.io", str(target or "<repository>").removesuffix("*").rstrip("/"))
    return _mirror(root, instance, "aks", upstream, path, parts)


_MAKERS: dict[str, Callable[[Module, Instance], Mirror | None]] = {_ECR: _ecr, _GAR: _gar, _ACR: _acr}
KINDS = frozenset(_MAKERS)
"""The resources that are read here."""
