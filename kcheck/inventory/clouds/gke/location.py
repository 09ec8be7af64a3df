"""Location of a GKE cluster: project, and region or zone."""

from kcheck.config.numbers.fields import Fields
from kcheck.inventory.clouds import accounts, registry
from kcheck.inventory.clouds.accounts import Place
from kcheck.inventory.clouds.reader import Reader
from kcheck.terraform.resource import Instance
from kcheck.text.regex import regex
from kcheck.text.values import Known, Origin, Unset, Value, mapped

_REGION = regex(r"[a-z]+-[a-z]+\d+")
_PROJECT = regex(r"(?:[a-z0-9.-]+:)?[a-z][a-z0-9-]{4,28}[a-z0-9]")
"""https://docs.cloud.google.com/resource-manager/docs/creating-managing-projects; older ones begin with a domain."""
_NO_ZONE = "location is not set, and the provider has no zone"
_NO_PROJECT = "project is not set, and the google provider has none in this code"


def of_cluster(reader: Reader, instance: Instance, fields: Fields, location: Value[str]) -> Place:
    """Return the project, region and location of a cluster."""
    of_provider = accounts.of_provider(reader, instance, "project")
    project = accounts.first(instance.span, _NO_PROJECT, fields.text("project"), of_provider)
    return {
        "account": accounts.proper(mapped(project, lambda text: text.removeprefix("projects/")), _PROJECT),
        "region": accounts.proper(mapped(location, registry.cloud("gke").region), _REGION),
        "group": location,
    }


def of_fields(reader: Reader, instance: Instance, fields: Fields) -> tuple[Value[str], Value[bool]]:
    """Return the location of a cluster, and whether it is a zone.

    https://github.com/hashicorp/terraform-provider-google/blob/main/google/tpgresource/regional_utils.go
    """
    location = fields.text("location")
    if not isinstance(location, Unset):
        return location, _is_zone(location, fields.flag("regional"))
    zone = accounts.first(instance.span, _NO_ZONE, accounts.of_provider(reader, instance, "zone"))
    return zone, Known(value=True, origin=Origin((instance.span,)))


def _is_zone(location: Value[str], regional: Value[bool]) -> Value[bool]:
    """Whether a location is a zone; if that is unknown, a module's `regional` decides."""
    zonal = mapped(location, lambda text: registry.cloud("gke").region(text) != text)
    is_known = isinstance(zonal, Known) or not isinstance(regional, Known)
    return zonal if is_known else mapped(regional, lambda flag: not flag)
