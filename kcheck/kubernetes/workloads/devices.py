"""GPUs in dynamic resource allocation: claims, classes and drivers."""

from __future__ import annotations

import os
from functools import cache
from typing import TYPE_CHECKING, Literal

from msgspec import Struct
from msgspec.structs import replace

from kcheck.kubernetes.workloads.scalars import boolean, scalar, text, written
from kcheck.text import bundled
from kcheck.text.bundled import PROFILES
from kcheck.text.need import total
from kcheck.text.syntax import yaml
from kcheck.text.units import as_text, whole_number
from kcheck.text.values import Known, Origin, Unknown, Unset, Value, known, mapped

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import NotRequired, TypedDict

    class _Driver(TypedDict):
        kind: _Device
        parts: NotRequired[str]

    class _File(TypedDict):
        classes: dict[str, _Device]
        drivers: dict[str, _Driver]

    from kcheck.kubernetes.objects import Object
    from kcheck.model import Claim, Container, PodTemplate

_Device = Literal["card", "share", "fabric", "other"]
"""A whole accelerator, a part of one, a network interface, or nothing that counts."""


@cache
def _device_table() -> _File:
    data: _File = bundled.load(os.path.join(PROFILES, "any", "devices.yaml"))
    return data


def _of_class(name: str) -> _Device | None:
    """Return the kind of devices in a well-known class; None for other classes."""
    return _device_table()["classes"].get(name)


def _of_selectors(expressions: Iterable[str]) -> _Device | None:
    """Return the kind of devices that selectors choose; None if unknown."""
    text = _joined(expressions)
    name = next((name for name in _device_table()["drivers"] if f"'{name}'" in text), None)
    return None if name is None else "share" if _is_part(name, [text]) else _device_table()["drivers"][name]["kind"]


def _is_part(device_class: str, expressions: Iterable[str]) -> bool:
    """Whether a request's selectors choose parts of GPUs."""
    parts = _device_table()["drivers"].get(device_class, {"kind": "other"}).get("parts")
    return parts is not None and parts in _joined(expressions)


def _joined(expressions: Iterable[str]) -> str:
    return " ".join(expressions).replace('"', "'")


_DOMAIN = "ComputeDomain"
"""Kind of NVIDIA's driver that creates its own claim template, for channels between nodes."""

_CHANNEL = ("spec", "channel", "resourceClaimTemplate", "name")
KINDS = frozenset({"ResourceClaim", "ResourceClaimTemplate", "DeviceClass", _DOMAIN})
_IMPLICIT = "deviceclass.resource.kubernetes.io/"
"""Prefix of resource names that stand for a device class (Kubernetes 1.34)."""


class _Asked(Struct, frozen=True):
    """Devices of one class in a request; without `number`, all on a node."""

    device_class: str
    kind: _Device | None
    number: Value[int] | None


class Devices:
    """Claims and device classes among some objects."""

    def __init__(self, objects: Iterable[Object]) -> None:
        self._claims: dict[tuple[bool, str], list[Object]] = {}
        self._classes: dict[str, _Device | None] = {}
        self._resources: dict[str, str] = {}
        self._channels: set[str] = set()
        for item in objects:
            if item.kind == _DOMAIN:
                self._channels.add(str(known(written(item.root, *_CHANNEL))))
            elif item.kind in KINDS and item.api_version.startswith("resource.k8s.io/"):
                self._add(item)

    def _add(self, item: Object) -> None:
        name = str(known(written(item.root, "metadata", "name")))
        if item.kind != "DeviceClass":
            self._claims.setdefault((item.kind == "ResourceClaim", name), []).append(item)
            return
        self._classes[name] = _of_class(name) or _of_selectors(_expressions(item.root, "spec"))
        resource = known(text(item.root, "spec", "extendedResourceName"))
        if resource is not None:
            self._resources[resource] = name

    def given(self, template: PodTemplate, item: Object) -> PodTemplate:
        """Add the GPUs that an object's pods claim."""
        place = template.gpus.origin or Origin((item.span,))
        containers = tuple(map(self._counted, template.containers))
        named = [one for one, before in zip(containers, template.containers, strict=True) if one is not before]
        if named:
            gpus = [template.gpus, *(mapped(one.gpu_limit, _number) for one in named if not one.init)]
            template = replace(template, containers=containers, gpus=total(gpus, place))
        for claim in known(template.claims) or ():
            template = self._with_claim(template, claim, item)
        return template

    def _counted(self, one: Container) -> Container:
        """Set the GPUs of a container that requests them by class or resource."""
        for name, count in one.extended if isinstance(one.gpu, Unset) else ():
            device_class = self._resources.get(name) or name.removeprefix(_IMPLICIT)
            is_card = device_class != name and self._kind(device_class) == "card"
            if is_card and whole_number(known(count) or "") is not None:
                return replace(one, gpu=Known(name, Origin((one.place,))), gpu_limit=count)
        return one

    def _kind(self, device_class: str) -> _Device | None:
        return _of_class(device_class) or self._classes.get(device_class)

    def _with_claim(self, template: PodTemplate, claim: Claim, item: Object) -> PodTemplate:
        asked = self._asked(claim, item)
        place = template.claims.origin or Origin((item.span,))
        if isinstance(asked, Unknown):
            if not known(template.claims_fabric):
                template = replace(template, claims_fabric=asked)
            if not known(template.device_classes):
                shared = asked if claim.shared else template.shared_claim
                template = replace(template, device_classes=asked, shared_claim=shared)
            # no node has a device plugin and a driver for the same cards
            return template if known(template.gpus) else replace(template, gpus=asked)
        if any(one.kind == "fabric" for request in asked for one in request):
            template = replace(template, claims_fabric=Known(value=True, origin=place))
        cards = [one for request in asked for one in request if one.kind in ("card", "share")]
        if not cards:
            return template
        classes = dict.fromkeys((*(known(template.device_classes) or ()), *(one.device_class for one in cards)))
        found = replace(
            template,
            device_classes=Known(tuple(classes), place),
            shares=template.shares or any(one.kind == "share" for one in cards),
            all_cards=template.all_cards or any(one.number is None for one in cards),
        )
        if claim.shared and known(template.count) != 1:
            why = Unknown(f"all its pods share the devices of ResourceClaim {claim.source}", place)
            return replace(found, gpus=why, shared_claim=Known(claim.source, place))
        counts = [_of_request(request, claim, place) for request in asked]
        return replace(found, gpus=total([template.gpus, *counts], place))

    def _asked(self, claim: Claim, item: Object) -> list[list[_Asked]] | Unknown:
        """Return the devices of each request of a claim, with alternatives."""
        here = Origin((item.span,))
        found = _nearest(self._claims.get((claim.shared, claim.source), []), item)
        kind = "ResourceClaim" if claim.shared else "ResourceClaimTemplate"
        if claim.source in self._channels and not found:
            return []
        if not found:
            return Unknown(f"{kind} {claim.source} is not in the code", here)
        read = [self._requests(one.root, ("spec",) if claim.shared else ("spec", "spec")) for one in found]
        if any(_plain(own) != _plain(read[0]) for own in read):
            return Unknown(f"the {kind}s {claim.source} in the code differ", here)
        strange = next((one.device_class for request in read[0] for one in request if one.kind is None), None)
        if strange is not None:
            return Unknown(f"DeviceClass {strange} is not in the code, or selects no driver that is known", here)
        return read[0]

    def _requests(self, root: yaml.Target, path: tuple[str, ...]) -> list[list[_Asked]]:
        """Read the requests of a claim, each a list of alternatives."""
        result = []
        for one in yaml.items(root, *path, "devices", "requests"):
            whole = yaml.get(one, "exactly")
            choices = yaml.items(one, "firstAvailable") or [whole if whole is not None else one]  # flat before v1beta2
            result.append([self._devices(choice) for choice in choices if not known(boolean(choice, "adminAccess"))])
        return result

    def _devices(self, choice: yaml.Target) -> _Asked:
        name = str(known(written(choice, "deviceClassName")))
        kind = self._kind(name)
        part = yaml.get(choice, "capacity") is not None or _is_part(name, _expressions(choice))
        if kind == "card" and part:
            kind = "share"
        if known(text(choice, "allocationMode")) == "All":
            return _Asked(name, kind, None)
        count = mapped(scalar(choice, "count"), as_text)
        return _Asked(name, kind, Known(1, count.origin) if isinstance(count, Unset) else mapped(count, _number))


def _number(text_: str) -> int:
    return whole_number(text_) or 0


def _of_request(request: list[_Asked], claim: Claim, place: Origin) -> Value[int]:
    """Count the whole GPUs of a request; Unknown if alternatives differ."""
    if any(one.kind == "card" and one.number is None for one in request):
        return Unknown(f"claim {claim.source} takes all devices of a node", place)
    counts = [one.number if one.kind == "card" and one.number is not None else Known(0, place) for one in request]
    numbers = {known(count) for count in counts}
    if len(numbers) > 1:
        return Unknown(f"the alternatives of claim {claim.source} have different numbers of devices", place)
    return counts[0] if counts else Known(0, place)


def _plain(requests: list[list[_Asked]]) -> list[list[tuple[str, int | None]]]:
    """Strip the spans from requests, to compare them."""
    return [[(one.device_class, known(one.number) if one.number else None) for one in request] for request in requests]


def _nearest(found: list[Object], item: Object) -> list[Object]:
    """Keep the objects in an object's folder and namespace, if there are any."""
    near = [one for one in found if one.folder == item.folder and one.scope == item.scope] or found
    space = known(written(item.root, "metadata", "namespace"))
    return [one for one in near if known(written(one.root, "metadata", "namespace")) == space] or near


def _expressions(node: yaml.Target, *path: str) -> list[str]:
    found = (known(text(one, "cel", "expression")) for one in yaml.items(node, *path, "selectors"))
    return [one for one in found if one is not None]
