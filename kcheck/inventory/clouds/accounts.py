"""Account and region of a cluster, from its resource and its provider."""

import re
from typing import TypedDict

from kcheck.config.numbers.fields import Fields
from kcheck.inventory.clouds.reader import Reader, text_of
from kcheck.model import NOTHING
from kcheck.terraform import providers
from kcheck.terraform.resource import Instance
from kcheck.text.text import Span
from kcheck.text.values import Known, Origin, Unknown, Unset, Value


class Place(TypedDict, total=False):
    """Location fields of a cluster."""

    account: Value[str]
    region: Value[str]
    group: Value[str]
    network_id: Value[str]


def of_provider(reader: Reader, instance: Instance, name: str) -> Value[str]:
    """Return a text of a resource's provider; Unset without a provider block."""
    own = provider(reader, instance)
    return own.text(name) if own is not None else NOTHING


def provider(reader: Reader, instance: Instance) -> Fields | None:
    """Return the fields of a resource's provider; None without a provider block."""
    record = providers.provider_block(instance, reader.root)
    if record is None:
        return None
    kind = instance.block.labels[0].partition("_")[0]
    return reader.fields(f"provider.{kind}", record)


def first(place: Span, why: str, *values: Value[str]) -> Value[str]:
    """Return the first Unknown or non-empty value, else Unknown(`why`)."""
    for value in values:
        if isinstance(value, Unknown) or (isinstance(value, Known) and value.value):
            return value
    return Unknown(why, Origin((place,)))


def proper(value: Value[str], pattern: re.Pattern[str], samples: tuple[str, ...] = ()) -> Value[str]:
    """Return the value; Unknown if it is a placeholder or a sample."""
    if isinstance(value, Known) and (value.value in samples or not pattern.fullmatch(value.value)):
        return Unknown(f"`{value.value}` is a placeholder", value.origin)
    return value


def of_role(role: Value[str], pattern: re.Pattern[str]) -> Value[str]:
    """Return the account in a role's name, the pattern's first group."""
    found = pattern.match(text_of(role) or "")
    if found is not None:
        return Known(found[1], role.origin or Origin(()))
    return role if isinstance(role, Unknown) else Unset(role.origin)
