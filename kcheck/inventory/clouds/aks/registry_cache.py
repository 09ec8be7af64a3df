"""Cache rules of Azure Container Registry."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcheck.config.numbers.fields import Fields
from kcheck.inventory.clouds.reader import resolve_reference
from kcheck.inventory.clouds.registry_caches import mirror
from kcheck.text.values import known

if TYPE_CHECKING:
    from kcheck.model import Mirror
    from kcheck.terraform.module import Module
    from kcheck.terraform.resource import Instance

KIND = "azurerm_container_registry_cache_rule"
_REGISTRY = "azurerm_container_registry"


def read(root: Module, instance: Instance) -> Mirror | None:
    """A cache of all of a registry, or of a user of it, by a `*`; or of one image."""
    fields = Fields("aks", KIND, instance)
    source, target = str(known(fields.text("source")) or ""), known(fields.text("target"))
    registries = {one.address: Fields("aks", _REGISTRY, one).text("name") for one in root.instances(_REGISTRY)}
    owner = resolve_reference(fields.raw("registry"), registries)
    name = known(owner.value) if owner is not None else None
    upstream, _, path = source.partition("/")
    parts = (f"{name or '<registry>'}.azurecr.io", str(target or "<repository>").removesuffix("*").rstrip("/"))
    return mirror(root, instance, "aks", upstream, path, parts)
