"""Resources by the names that kube-state-metrics gives them: nvidia_com_gpu for nvidia.com/gpu."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcheck.model import CARDS
from kcheck.source.regex import regex

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kcheck.usage.recording import Pod

_OTHER = regex(r"[^a-zA-Z0-9_]")


def sanitised(name: str) -> str:
    """A resource or a label as the name of a label of Prometheus."""
    return _OTHER.sub("_", name)


_CARDS = frozenset(map(sanitised, CARDS))


def gpus(amounts: Mapping[str, float]) -> float:
    """The whole accelerators among some requests, or what a node has."""
    return sum(amount for name, amount in amounts.items() if name in _CARDS)


def asked(pod: Pod, resource: str) -> float:
    """What the containers of a pod ask for together; GPUs by the name `gpu`."""
    found = (one.requests for one in pod.containers.values())
    return sum(gpus(one) if resource == "gpu" else one.get(resource, 0.0) for one in found)
