"""Machine types of other clouds that do the same work."""

from __future__ import annotations

import os
from functools import cache
from typing import NamedTuple, TypedDict

from kcheck.config.numbers import machines
from kcheck.text import bundled
from kcheck.text.bundled import PROFILES


class Equivalent(NamedTuple):
    """A machine type and what both have in common: `8 x H100 80 GB` or `32 vCPUs`."""

    machine: str
    common: str


class _File(TypedDict):
    gpus: dict[str, dict[str, str]]
    general: dict[str, str]


@cache
def _tables() -> _File:
    data: _File = bundled.load(os.path.join(PROFILES, "any", "equivalents.yaml"))
    return data


def equivalent(cloud: str, machine: str, other: str) -> Equivalent | None:
    """Find a machine type of another cloud that does the same work; None if none is known."""
    found = machines.machine(cloud, machine)
    if found is None:
        return None
    if found.gpus:
        return _with_gpus(cloud, machine, found.gpus, other)
    types = _tables()["general"].get(other, "").split()
    sizes = [(one.vcpus, name) for name in types if (one := machines.machine(other, name)) and one.vcpus]
    fitting = [(vcpus, name) for vcpus, name in sizes if vcpus >= (found.vcpus or vcpus + 1)]
    return Equivalent(min(fitting)[1], f"{min(fitting)[0]} vCPUs") if fitting else None


def _with_gpus(cloud: str, machine: str, gpus: int, other: str) -> Equivalent | None:
    own = model(cloud, machine)
    types = _tables()["gpus"][own].get(other, "").split() if own else []
    first = next((name for name in types if machines.gpus(other, name) == gpus), None)
    return Equivalent(first, f"{gpus} x {own}") if first else None


def model(cloud: str, machine: str) -> str | None:
    """Return the GPU model of a machine; None if it is not in the tables."""
    every = _tables()["gpus"].items()
    return next((name for name, types in every if machine in types.get(cloud, "").split()), None)
