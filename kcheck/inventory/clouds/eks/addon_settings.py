"""Settings of EKS add-ons (VPC CNI, CoreDNS), and Fargate profiles."""

import json
from collections.abc import Callable
from fractions import Fraction
from typing import TypeVar

from msgspec.structs import replace

from kcheck.config.numbers import profiles
from kcheck.config.numbers.fields import Fields
from kcheck.model import NOTHING, Cni
from kcheck.terraform.resource import Instance
from kcheck.text.keys import Json
from kcheck.text.need import first_unknown
from kcheck.text.partly_known import wrap
from kcheck.text.text import Span
from kcheck.text.units import as_text, whole_number
from kcheck.text.values import Datum, Known, Missing, Origin, Unknown, Unset, Value, encoded, equals, known, mapped

T = TypeVar("T")


def named(addons: list[Fields], kind: str) -> list[Fields]:
    """List the add-ons of a kind; without any, those of unknown name."""
    unknown = (one for one in addons if isinstance(one.text("name"), Unknown) and one.raw("settings") is not None)
    return [one for one in addons if equals(one.text("name"), kind)] or list(unknown)


def belongs(part: Fields, name: Value[str], cluster: Instance) -> bool:
    """Whether an object that names its cluster belongs to a cluster."""
    owner, datum = part.text("cluster"), part.raw("cluster")
    if isinstance(datum, Unknown) and datum.symbol is not None:
        return datum.symbol.address == cluster.address
    return isinstance(owner, Known) and isinstance(name, Known) and bool(owner.value == name.value)


def serverless(profiles: list[Fields]) -> Value[tuple[str, ...]]:
    """Return the names of Fargate profiles; Unset if there are none."""
    if not profiles:
        return NOTHING
    names = (known(one.text("name")) or "without a name" for one in profiles)
    return Known(tuple(dict.fromkeys(names)), Origin((profiles[0].record.span,)))


def dns_replicas(addons: list[Fields], place: Span) -> Value[int]:
    """Return the replicas of the CoreDNS add-on; Unset if the add-on scales them."""
    origin = Origin((addons[0].record.span if addons else place,))
    default = Known(profiles.settings("eks")["coredns.replicas"].number, origin)
    settings = _settings(addons)
    enabled, count = _member(settings, "autoScaling", "enabled"), _member(settings, "replicaCount")
    if unknown := first_unknown((enabled, count)):
        return unknown
    if isinstance(enabled, Known) and str(enabled.value).lower() == "true":
        return Unset(enabled.origin)
    replicas = whole_number(as_text(count.value)) if isinstance(count, Known) else None
    return Known(replicas, count.origin) if isinstance(count, Known) and replicas is not None else default


def dns_compute(addons: list[Fields]) -> Value[str]:
    """Return the add-on's `computeType` for CoreDNS; Unset if not written."""
    found = _member(_settings(addons), "computeType")
    return NOTHING if found is None else mapped(found, lambda name: str(name).lower())


def dns_scaling(addons: list[Fields], replicas: Value[int], every: list[Fields]) -> Value[bool]:
    """Whether the CoreDNS add-on scales itself; Unset without one."""
    if not addons:
        return NOTHING
    if isinstance(replicas, Unknown):
        return replicas
    alone = [one.record.span for one in every].count(addons[0].record.span) == 1
    return Known(isinstance(replicas, Unset), _absent(addons[0], "autoScaling", alone=alone))


def _absent(addon: Fields, name: str, *, alone: bool) -> Origin:
    """Return where to add a missing add-on setting."""
    settings = addon.text("settings")
    if isinstance(settings, Unset):
        missing = settings.origin.missing
        if missing is not None and missing.path and (alone or missing.container.start != addon.record.span.start):
            *outer, last = missing.path
            return replace(settings.origin, missing=Missing(missing.container, (*outer, Json(last), name)))
    raw = addon.raw("settings")
    datum = encoded(raw) if raw is not None else None
    if isinstance(datum, Known) and isinstance(datum.value, dict) and datum.origin.spans and name not in datum.value:
        return Origin(datum.origin.spans, missing=Missing(datum.origin.written, (name,)))
    has_it = isinstance(_member(_settings([addon]), name), Known)
    why = f"configuration_values has {name} already" if has_it else _NOT_OPEN if alone else _OF_OTHERS
    return Origin((addon.record.span,), missing=Missing(addon.record.span, ("configuration_values", name)), why=why)


_NOT_OPEN = "configuration_values is not a jsonencode() of an object"
_OF_OTHERS = "its block makes other add-ons too"


def read(addons: list[Fields], place: Span, auto_mode: Value[bool]) -> Cni:
    """Read the settings of a cluster's first `vpc-cni` add-on.

    EKS Auto Mode has no such add-on, and always delegates prefixes:
    https://docs.aws.amazon.com/eks/latest/userguide/auto-networking.html
    """
    origin = Origin((addons[0].record.span if addons else place,))
    environment = _member(_settings(addons), "env")

    def setting(name: str, default: str | None, convert: Callable[[object], T]) -> Value[T]:
        value = _member(environment, name)
        if value is None or (isinstance(value, Known) and value.value is None):
            return Known(convert(profiles.settings("eks")[default].value), origin) if default else Unset(origin)
        try:
            return mapped(value, convert)
        except ValueError:
            return Unknown(f"{name} of the VPC CNI is neither a number nor true or false", value.origin)

    delegates = setting("ENABLE_PREFIX_DELEGATION", "cni.prefix_delegation", _flag)
    return Cni(
        Known(value=True, origin=origin) if not addons and known(auto_mode) else delegates,
        setting("AWS_VPC_K8S_CNI_CUSTOM_NETWORK_CFG", "cni.custom_networking", _flag),
        setting("WARM_ENI_TARGET", "cni.warm_interfaces", _whole),
        setting("WARM_PREFIX_TARGET", "cni.warm_prefixes", _whole),
        setting("WARM_IP_TARGET", None, _whole),
        setting("MINIMUM_IP_TARGET", None, _whole),
    )


def pod_subnets(addons: list[Fields]) -> list[Datum]:
    """List the subnet ids in the add-on's `eniConfig`, one per zone."""
    zones = _member(_settings(addons), "eniConfig", "subnets")
    if not isinstance(zones, Known) or not isinstance(zones.value, dict):
        return []
    ids = [_member(zone, "id") for zone in zones.value.values()]
    return [one for one in ids if one is not None]


_NO_OBJECT = "the settings of the add-on are not an object in JSON or YAML"


def _settings(addons: list[Fields]) -> Datum | None:
    """Return the settings of the first add-on; None if not written."""
    datum = addons[0].raw("settings") if addons else None
    if datum is None:
        return None
    if isinstance(name := addons[0].text("name"), Unknown):
        return name
    inner = encoded(datum)
    if inner is not None:
        return inner
    if isinstance(datum, Unknown):
        return datum
    text = str(datum.value)
    try:
        return wrap(json.loads(text), datum.origin)
    except ValueError:
        pass
    import yaml

    try:
        plain = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError):
        plain = None
    return wrap(plain, datum.origin) if isinstance(plain, dict) else Unknown(_NO_OBJECT, datum.origin)


def _member(datum: Datum | None, *path: str) -> Datum | None:
    for name in path:
        if isinstance(datum, Known):
            datum = datum.value.get(name) if isinstance(datum.value, dict) else None
    return datum


def _whole(value: object) -> int:
    return int(value if isinstance(value, int | Fraction) else str(value))


def _flag(value: object) -> bool:
    text = str(value).lower()
    if text not in ("true", "false"):
        raise ValueError(text)
    return text == "true"
