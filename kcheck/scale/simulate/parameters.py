"""Cloud parameters of simulated runs, documented or measured."""

import os
from functools import cache
from math import asinh
from typing import NamedTuple

from msgspec.structs import replace

from kcheck.config.config import Config
from kcheck.config.numbers import profiles
from kcheck.config.numbers.clouds import folder
from kcheck.model import Cluster
from kcheck.scale.simulate.model import Cloud
from kcheck.text import bundled
from kcheck.text.units import exact_seconds

_BESIDE = ("bandwidth", "karpenter_call", "karpenter_loop")


class Parameter(NamedTuple):
    """Parameter from `least` to `most`: documented, fitted or a guess."""

    name: str
    value: float
    unit: str
    least: float
    most: float
    kind: str
    note: str
    sources: tuple[str, ...] = ()


class LoopTime(NamedTuple):
    """Time of a loop: seconds, seconds per node, and factor while deleting."""

    loop: float
    loop_per_node: float
    loop_deleting: float = 1


@cache
def _file(cloud: str) -> tuple[dict[str, Parameter], dict[str, dict[str, float]]]:
    """Read the parameters of a file by name, and its bundles."""
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
    """Return all parameters of a cloud by name, with those of every cloud."""
    return _file("any")[0] | _file(cloud)[0]


def profile_settings(cloud: str, name: str) -> dict[str, float]:
    """Return the settings behind a profile of a cloud's autoscaler."""
    return _file(cloud)[1].get(name, {})


@cache
def loop_times(minor: int) -> tuple[LoopTime, LoopTime]:
    """Return the fastest and the slowest loops of an autoscaler version."""
    loops = bundled.load(os.path.join(folder("any"), "simulation.yaml"))["loops"]
    own = next((one for one in loops if minor <= one["until"]), loops[-1])
    return LoopTime(*own["quick"]), LoopTime(*own["slow"])


def cloud_parameters(cloud: str, loop: LoopTime, **changed: float) -> Cloud:
    """Return the parameters of a cloud for a run, some `changed`."""
    found = {name: one.value for name, one in parameters(cloud).items() if name not in _BESIDE}
    return Cloud(name=cloud, **(found | loop._asdict() | changed))  # type: ignore[arg-type] # flags are among them


FIELDS = {
    "boot": "boot", "boot_spread": "boot_sigma", "stragglers": "stragglers", "straggler_delay": "straggler_mean",
    "never_ready": "lost", "launch_rate": "launch_rate", "pod_start_rate": "pod_rate", "image_pull": "pull",
    "delete_call": "delete_call", "delete_latency": "delete_latency", "slow_deletes": "late",
    "slow_delete_latency": "delete_tail", "spot_interruptions": "interruptions",
    "loop": "loop", "loop_per_node": "loop_per_node",
}  # fmt: skip
"""Parameters of a run by key of `simulation` in kcheck.yaml."""

_MAIN = ("boot", "launch_rate", "pod_start_rate", "delete_call", "delete_latency", "loop")
"""Parameters that decide how long a run takes."""

_TENTHS = 1.2816
"""Standard deviations from the median of a normal distribution to its 10th and 90th percentile."""


class Measured(NamedTuple):
    """Cloud with measured delays; `missing` ones are the profile's."""

    cloud: Cloud
    quick: LoopTime | None
    notes: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    place: str = ""


def with_measured(config: Config, cluster: Cluster, cloud: Cloud, quick: LoopTime | None) -> Measured:
    """Replace parameters by a cluster's measured ones."""
    environment = config.environment(cluster.root, cluster.environment)
    own = environment.simulation if environment else {}
    written = config.simulation | own
    if not written:
        return Measured(cloud, quick)
    numbers = {name: _number(value) for name, value in written.items()}
    changed = {FIELDS[name]: number for name, number in numbers.items()}
    if "boot_spread" in numbers:
        boot = changed.get("boot", cloud.boot)  # the median of a lognormal distribution; its outer tenths are given
        changed["boot_sigma"] = asinh(numbers["boot_spread"] / (2 * boot)) / _TENTHS if boot else 0.0
    if changed.keys() & {"loop", "loop_per_node"}:
        quick = None
        changed = {"loop": 0, "loop_per_node": 0} | changed
    notes = tuple(f"{name.replace('_', ' ')} {_shown(name, written[name])}" for name in FIELDS if name in written)
    missing = tuple(name.replace("_", " ") for name in _MAIN if FIELDS[name] not in changed)
    place = config.places.get("clusters" if own else "simulation", "kcheck.yaml")
    return Measured(replace(cloud, **changed), quick, notes, missing, place)


def shown_seconds(seconds: float) -> str:
    """Format a time: 1,800 s, 60.2 s, 500 ms."""
    if seconds >= 100:
        return f"{seconds:,.0f} s"
    return f"{seconds:.3g} s" if seconds >= 1 or not seconds else f"{seconds * 1000:.3g} ms"


def _number(value: str | float) -> float:
    return float(exact_seconds(value)) if isinstance(value, str) else value


def _shown(name: str, value: str | float) -> str:
    if isinstance(value, str):
        return shown_seconds(_number(value))
    if name == "spot_interruptions":
        return f"{value:g} per hour"
    return f"{value:g}/s" if name.endswith("_rate") else f"{value * 100:.3g}%"
