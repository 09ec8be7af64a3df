"""The location of a GKE cluster: a zone, or the zones of a region."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcheck.terraform import providers
from kcheck.text.regex import regex
from kcheck.text.values import Known, Origin, Unknown, Value, mapped

if TYPE_CHECKING:
    from kcheck.terraform.module import Module
    from kcheck.terraform.resource import Instance

_ZONE = regex(r"-[a-z]$")


def of_provider(instance: Instance, root: Module) -> Value[str]:
    """The location of a cluster without one: the provider's zone, never its region.

    https://github.com/hashicorp/terraform-provider-google/blob/main/google/tpgresource/regional_utils.go
    """
    provider = providers.provider_block(instance, root)
    zone = provider.entry("zone") if provider is not None else None
    if isinstance(zone, Known) and isinstance(zone.value, str):
        return Known(zone.value, zone.origin)
    why = zone.reason if isinstance(zone, Unknown) else "location is not set, and the provider has no zone"
    return Unknown(why, Origin((instance.span,)))


def is_zone(location: Value[str], regional: Value[bool]) -> Value[bool]:
    """Whether a location is a zone; modules say so if unknown."""
    if isinstance(location, Known):
        return Known(_ZONE.search(location.value) is not None, location.origin)
    return mapped(regional, lambda flag: not flag) if isinstance(regional, Known) else location
