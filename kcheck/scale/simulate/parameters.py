"""Cloud parameters of simulated runs, from `simulation.yaml`, with bounds and origins."""

from __future__ import annotations

import os
from functools import cache
from typing import NamedTuple

from kcheck.config.numbers import profiles
from kcheck.config.numbers.clouds import folder
from kcheck.scale.simulate.model import Cloud
from kcheck.text import bundled

_BESIDE = ("bandwidth", "karpenter_call", "karpenter_loop")


class Parameter(NamedTuple):
    """A parameter: documented, fitted to published runs, or a guess; between `least` and `most`."""

    name: str
    value: float
    unit: str
    least: float
    most: float
    kind: str
    note: str
    sources: tuple[str, ...] = ()


class LoopTime(NamedTuple):
    """Work of an autoscaler in a loop: seconds, seconds for each node, and times that while nodes are being deleted."""

    loop: float
    loop_per_node: float
    loop_deleting: float = 1


@cache
def _file(cloud: str) -> tuple[dict[str, Parameter], dict[str, dict[str, float]]]:
    """The parameters that a file has by name, and its bundles."""
    data = profiles.load_table(os.path.join(folder(cloud), "simulation.yaml"))
    bundles = data.pop("bundles", {})
    data.pop("loops", None)
    found = {
        name: Parameter(name, **{**fields, "sources": tuple(fields.get("sources", ()))})
        for name, fields in data.items()
    }
    return found, bundles


@cache
def parameters(cloud: str) -> dict[str, Parameter]:
    """All parameters of a cloud by name, those of every cloud included."""
    return _file("any")[0] | _file(cloud)[0]


def profile_settings(cloud: str, name: str) -> dict[str, float]:
    """The settings behind a profile or engine of a cloud's autoscaler; none if unknown."""
    return _file(cloud)[1].get(name, {})


@cache
def loop_times(minor: int) -> tuple[LoopTime, LoopTime]:
    """The quickest and the slowest loops that a version of the cluster autoscaler is believed to have."""
    loops = bundled.load(os.path.join(folder("any"), "simulation.yaml"))["loops"]
    own = next(one for one in loops if minor <= one["until"])
    return LoopTime(*own["quick"]), LoopTime(*own["slow"])


def cloud_parameters(cloud: str, loop: LoopTime, **changed: float) -> Cloud:
    """The parameters of a cloud for a run whose autoscaler works so long in a loop, with some `changed`."""
    found = {name: one.value for name, one in parameters(cloud).items() if name not in _BESIDE}
    return Cloud(name=cloud, **(found | loop._asdict() | changed))  # type: ignore[arg-type] # flags are among them
