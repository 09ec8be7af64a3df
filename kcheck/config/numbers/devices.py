"""Device classes and drivers of dynamic resource allocation: what their devices are."""

from __future__ import annotations

import os
from functools import cache
from typing import TYPE_CHECKING, Literal

from kcheck.text import bundled
from kcheck.text.bundled import PROFILES

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import NotRequired, TypedDict

    class _Driver(TypedDict):
        kind: Device
        parts: NotRequired[str]

    class _File(TypedDict):
        classes: dict[str, Device]
        drivers: dict[str, _Driver]


Device = Literal["card", "share", "fabric", "other"]
"""A whole accelerator, a part of one, a network interface, or nothing that counts."""


@cache
def _file() -> _File:
    data: _File = bundled.load(os.path.join(PROFILES, "any", "devices.yaml"))
    return data


def of_class(name: str) -> Device | None:
    """What the devices of a well-known class are; None for another class."""
    return _file()["classes"].get(name)


def of_selectors(expressions: Iterable[str]) -> Device | None:
    """What devices the selectors of a class choose; None if they name no driver that is known."""
    text = _joined(expressions)
    name = next((name for name in _file()["drivers"] if f"'{name}'" in text), None)
    return None if name is None else "share" if is_part(name, [text]) else _file()["drivers"][name]["kind"]


def is_part(device_class: str, expressions: Iterable[str]) -> bool:
    """Whether the selectors of a request choose parts of cards; a class has the name of its driver."""
    parts = _file()["drivers"].get(device_class, {"kind": "other"}).get("parts")
    return parts is not None and parts in _joined(expressions)


def _joined(expressions: Iterable[str]) -> str:
    return " ".join(expressions).replace('"', "'")
