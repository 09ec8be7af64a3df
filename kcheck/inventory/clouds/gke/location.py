"""Where a GKE cluster is: its project and its region."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcheck.inventory.clouds import accounts
from kcheck.text.regex import regex
from kcheck.text.values import Value, mapped

if TYPE_CHECKING:
    from kcheck.config.numbers.fields import Fields
    from kcheck.inventory.clouds.accounts import Place
    from kcheck.inventory.clouds.reader import Reader
    from kcheck.terraform.resource import Instance

_REGION = regex(r"[a-z]+-[a-z]+\d+")
_ZONE = regex(r"-[a-z]$")
_PROJECT = regex(r"(?:[a-z0-9.-]+:)?[a-z][a-z0-9-]{4,28}[a-z0-9]")
"""https://docs.cloud.google.com/resource-manager/docs/creating-managing-projects; older ones begin with a domain."""
_NO_PROJECT = "project is not set, and the google provider has none in this code"


def of_cluster(reader: Reader, instance: Instance, fields: Fields, location: Value[str]) -> Place:
    """The project and region of a cluster; in a project its name is unique in its location."""
    own = accounts.provider(reader, instance)
    projects = [fields.text("project"), *([own.text("project")] if own is not None else ())]
    return {
        "account": accounts.proper(mapped(accounts.first(instance.span, _NO_PROJECT, *projects), _project), _PROJECT),
        "region": accounts.proper(mapped(location, region), _REGION),
        "group": location,
    }


def region(location: str) -> str:
    """The region of a location, which may be a zone of it."""
    return _ZONE.sub("", location)


def _project(text: str) -> str:
    """A project without the words of its resource name."""
    return text.removeprefix("projects/")
