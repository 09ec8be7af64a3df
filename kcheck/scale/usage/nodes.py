"""Recorded nodes: their pool in the code, their price, and their share of GPUs."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache

from msgspec import Struct

from kcheck.config.numbers import machines, names
from kcheck.config.numbers.machines import Price
from kcheck.inventory.clouds import registry
from kcheck.inventory.clouds.cloud import Cloud
from kcheck.inventory.clouds.karpenter_pools import CAPACITY, INSTANCE_TYPE
from kcheck.model import NodePool
from kcheck.scale.usage.recording import Node
from kcheck.scale.world import World
from kcheck.text.regex import regex
from kcheck.text.units import whole_number
from kcheck.text.values import known

_TYPES = (INSTANCE_TYPE, "beta.kubernetes.io/instance-type")
_KARPENTER = "karpenter.sh/nodepool"
_REGION = "topology.kubernetes.io/region"
_SPOT = "spot"
_SHARED = ("nvidia.com/gpu.shared",)
"""Resources of shared cards, where time slicing or MPS renames them."""
_SLICE = regex(r"nvidia_com_mig_(\d{1,2})g_.*")
_SLICES = 7
"""Slices of a whole GPU, except the A30: https://docs.nvidia.com/datacenter/tesla/mig-user-guide/"""
_COPIES = "nvidia.com/gpu.replicas"
"""Copies of each GPU, by NVIDIA's GPU feature discovery."""


_OTHER, _CAPITAL = regex(r"[^a-zA-Z0-9_]"), regex(r"([a-z0-9])([A-Z])")


@lru_cache(maxsize=4096)
def sanitised(name: str) -> str:
    """Convert a label's name to kube-state-metrics' form.

    https://github.com/kubernetes/kube-state-metrics/blob/main/internal/store/utils.go: toSnakeCase(SanitizeLabelName).
    """
    return _CAPITAL.sub(r"\1_\2", _OTHER.sub("_", name)).lower()


def label(labels: Mapping[str, str], names: Iterable[str]) -> str:
    """Return the value of the first of some labels; empty without any."""
    plain = {sanitised(name): text for name, text in labels.items() if text}
    return next((plain[key] for key in map(sanitised, names) if key in plain), "")


class Priced(Struct, frozen=True):
    """Recorded node: pool, machine type and hourly price, empty if unknown.

    `own` is the pool in the code. `gpus` are those that its pods can request, in whole GPUs or in `copies` of them.
    """

    node: Node
    pool: str
    own: NodePool | None
    machine: str
    price: Price | None
    gpus: float
    copies: int


@cache
def _whole() -> frozenset[str]:
    """Return whole accelerators, as labels of metrics spell them."""
    return frozenset(map(sanitised, (*names.cards(), *_SHARED)))


def _cards(resources: Mapping[str, float]) -> Iterator[tuple[float, float]]:
    """Yield the number of each kind of accelerators, in units and GPUs."""
    for name, count in resources.items():
        key = sanitised(name)
        if key in _whole():
            yield count, count
        elif match := _SLICE.fullmatch(key):
            yield count, count * int(match[1]) / _SLICES


def gpus(resources: Mapping[str, float]) -> float:
    """Count the GPUs in some resources, MIG slices by their share."""
    return sum((whole for _, whole in _cards(resources)), 0.0)


def devices(resources: Mapping[str, float]) -> float:
    """Count the GPUs and slices that an exporter measures separately."""
    return sum(count for count, _ in _cards(resources))


class Nodes:
    """Nodes of a recording, by name."""

    def __init__(self, nodes: Iterable[Node], world: World) -> None:
        self._world = world
        self._clouds = list(registry.every())
        self._prices: dict[tuple[str, ...], tuple[str, NodePool | None, Price | None]] = {}
        self.by_name = {node.name: self._priced(node) for node in nodes}

    def _priced(self, node: Node) -> Priced:
        plain = {sanitised(name): text for name, text in node.labels.items()}
        machine = label(plain, _TYPES)
        found = gpus(node.allocatable)
        copies = max(1, whole_number(label(plain, (_COPIES,))) or 1)
        named = label(plain, [*(key for one in self._clouds for key in one.pool_labels), _KARPENTER])
        spot = _is_spot(plain, self._clouds)
        cloud = self._cloud(node, machine)
        accelerator = label(plain, cloud.gpu_labels) if cloud else ""
        key = (named, machine, str(spot), cloud.name if cloud else "", accelerator, str(found))
        if key not in self._prices:
            pool = self._pool(named, machine)
            attached = round(found / copies), accelerator
            where = label(plain, (_REGION,))
            listed = (
                machines.price(cloud.name, machine, spot=spot, attached=attached, region=where)
                if cloud and machine
                else None
            )
            own = self._world.numbers.price(pool)
            price = own if own and not own.machine else listed or own
            self._prices[key] = named or (pool.display_name if pool else ""), pool, price
        name, pool, price = self._prices[key]
        return Priced(node, name, pool, machine, price, gpus=found, copies=copies)

    def _pool(self, name: str, machine: str) -> NodePool | None:
        """Find a pool by its name, by a longer one, or by its type."""
        found = pools = self._world.inventory.pools
        if name:
            own = [(pool, known(pool.name) or "") for pool in pools]
            found = [pool for pool, text in own if text == name]
            found = found or [pool for pool, text in own if text and name.startswith(f"{text.rstrip('-')}-")]
            if len(found) == 1:
                return found[0]
        typed = [pool for pool in found if machine in (known(pool.machine.instance_types) or ())]
        return typed[0] if len(typed) == 1 else None

    def _cloud(self, node: Node, machine: str) -> Cloud | None:
        """Find the cloud of a node by its provider ID or machine type."""
        for cloud in self._clouds:
            prefix = machines.tables_of(cloud.name).get("prefix", "")
            pairs = ((node.provider, cloud.node_ids), (machine, prefix))
            if any(begin and text.startswith(begin) for text, begin in pairs):
                return cloud
        return None


def _is_spot(plain: Mapping[str, str], clouds: Sequence[Cloud]) -> bool:
    """Whether a node is a spot machine, by the labels of its cloud or of Karpenter."""
    if label(plain, (CAPACITY,)).lower() == _SPOT:
        return True
    marked = [one.spot_label for one in clouds if one.spot_label]
    if any(label(plain, (one.key,)) == one.spot for one in marked):
        return True
    return bool(label(plain, [key for one in clouds for key in one.spot_labels]))
