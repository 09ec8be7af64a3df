"""Read zones and GPU network cards from manifests of self-managed machines."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from kcheck.inventory.clouds.selfmanaged.clusters import ZONE
from kcheck.model import Raw
from kcheck.text.syntax import yaml

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kcheck.model import Cluster, Manifest

RAW = Raw(kinds=frozenset({"Metal3MachineTemplate", "NicClusterPolicy", "ResourceFlavor", "SriovNetworkNodePolicy"}))
"""Objects to keep as written, beyond those that rules need."""

BY_CARDS = ("roce", "infiniband-sriov")
"""GPU networks whose cards must be named."""

_PLACES = {
    "ResourceFlavor": ("spec", "nodeLabels", ZONE),
    "Metal3MachineTemplate": ("spec", "template", "spec", "hostSelector", "matchLabels", ZONE),
}


def beside(cluster: Cluster, objects: Iterable[Manifest]) -> list[Manifest]:
    """List the objects in the folder of a cluster and below."""
    return [one for one in objects if cluster.root == "." or one.place.source.path.startswith(f"{cluster.root}/")]


def zones(objects: Iterable[Manifest]) -> list[str]:
    """List the zones named in queues and machine templates."""
    found = [yaml.get(one.tree, *_PLACES[one.kind]) for one in objects if one.kind in _PLACES]
    return sorted({node.text for node in found if isinstance(node, yaml.Scalar)})


def cards(objects: Iterable[Manifest], resource: str) -> list[str]:
    """List the interfaces that NVIDIA's network operator offers to pods as a resource, in order."""
    return list(dict.fromkeys(name for one in objects for name in _cards(one, resource.rpartition("/")[2])))


def _cards(item: Manifest, resource: str) -> Iterator[str]:
    named, functions = (yaml.get(item.tree, "spec", *path) for path in (("resourceName",), ("nicSelector", "pfNames")))
    if isinstance(named, yaml.Scalar) and named.text == resource and isinstance(functions, yaml.Sequence):
        yield from (one.text for one in functions.items if isinstance(one, yaml.Scalar))
    config = yaml.get(item.tree, "spec", "rdmaSharedDevicePlugin", "config")
    if isinstance(config, yaml.Scalar):
        try:
            listed = [one for one in json.loads(config.text)["configList"] if one["resourceName"] == resource]
            yield from (str(name) for one in listed for name in one.get("selectors", {}).get("ifNames", ()))
        except (ValueError, KeyError, TypeError, AttributeError):
            return
