"""Location of an AKS cluster: subscription, region and resource group."""

import re

from kcheck.config.numbers.fields import Fields
from kcheck.inventory.clouds import accounts, registry
from kcheck.inventory.clouds.accounts import Place
from kcheck.inventory.clouds.reader import Reader, text_of
from kcheck.terraform.resource import Instance
from kcheck.text.regex import regex
from kcheck.text.values import Known, Origin, Unset, Value, first_set, mapped

_SUBSCRIPTION = regex(r"/subscriptions/([\w-]+)(?:/|$)", re.IGNORECASE)
_GROUP = regex(r"/resourceGroups/([^/$]+)", re.IGNORECASE)
_REGION = regex(r"[a-z]+\d?")
_ID = regex(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_NO_SUBSCRIPTION = "the provider has no subscription_id in this code"
_NO_REGION = "location is not set"


def of_cluster(reader: Reader, instance: Instance, fields: Fields) -> Place:
    """Return the subscription, region and resource group of a cluster."""
    parent, place = fields.text("parent"), instance.span
    of_provider = accounts.of_provider(reader, instance, "subscription")
    account = accounts.first(place, _NO_SUBSCRIPTION, _part(parent, _SUBSCRIPTION), of_provider)
    region = accounts.first(place, _NO_REGION, fields.text("location"))
    return {
        "account": accounts.proper(mapped(account, str.lower), _ID),
        "region": accounts.proper(mapped(region, registry.cloud("aks").region), _REGION),
        "group": mapped(first_set(_part(parent, _GROUP), fields.text("group")), str.lower),
    }


def _part(value: Value[str], pattern: re.Pattern[str]) -> Value[str]:
    """Return a part of an ARM id; Unset if absent."""
    found = pattern.search(text_of(value) or "")
    return Known(found[1], value.origin or Origin(())) if found is not None else Unset(value.origin or Origin(()))
