"""Shared GPUs: configurations of NVIDIA's device plugin and operator."""

from collections.abc import Iterator

from kcheck.kubernetes.helm_releases import Release
from kcheck.kubernetes.objects import Object, embedded_documents
from kcheck.kubernetes.workloads.jobs import identity
from kcheck.kubernetes.workloads.scalars import integer, text
from kcheck.model import NOTHING, Sharing
from kcheck.text.syntax import yaml
from kcheck.text.text import Span
from kcheck.text.values import Known, Unset, equals, known, mapped


def is_device_plugin_config(root: yaml.Target) -> bool:
    """Whether a tree is a configuration of NVIDIA's device plugin."""
    return known(text(root, "version")) == "v1" and any(yaml.get(root, key) is not None for key in ("sharing", "flags"))


def of_configuration(root: yaml.Target, place: Span, own: str, *, default: bool = False) -> Sharing:
    """Read how a device plugin configuration shares GPUs."""

    def copied(kind: str) -> list[yaml.Target]:
        return yaml.items(root, "sharing", kind, "resources")

    slices, mps = copied("timeSlicing"), copied("mps")
    return Sharing(
        own,
        place,
        tuple(integer(one, "replicas") for one in slices),
        tuple(integer(one, "replicas") for one in mps),
        text(root, "flags", "migStrategy"),
        tuple(str(known(text(one, "name"))) for one in (*slices, *mps)),
        default=default,
    )


def of_policy(item: Object) -> Iterator[Sharing]:
    """Yield the MIG strategy and default configuration of NVIDIA's operator."""
    strategy = text(item.root, "spec", "mig", "strategy")
    chooses = _chosen(yaml.get(item.root, "spec", "devicePlugin", "config"))
    if not isinstance(strategy, Unset) or chooses:
        place = strategy.origin.written if strategy.origin and strategy.origin.spans else item.span
        yield Sharing(identity(item), place, (), (), strategy, strategy_only=True, chooses=chooses)


def _chosen(config: yaml.Node | None) -> str:
    """Return the ConfigMap and key for nodes that choose none; empty if not named."""
    name, default = yaml.text(config, "name"), yaml.text(config, "default")
    return f"{name}/{default}" if name and default else ""


_CHARTS = {
    "nvidia-device-plugin": (("config", "map"), ("migStrategy",)),
    "gpu-operator": (("devicePlugin", "config", "data"), ("mig", "strategy")),
}
"""Chart -> paths of device plugin configurations and of the MIG strategy in its values."""


def of_release(release: Release) -> Iterator[Sharing]:
    """Yield how a release of NVIDIA's device plugin or operator shares GPUs."""
    texts, strategy = _CHARTS.get(str(known(release.chart)), ((), ()))
    own = f"{release.place.source.path}:{release.address}"
    found = release.names(*texts) if texts else {}
    chosen = known(release.scalar(*texts[:-1], "default")) if texts else None
    if not chosen and equals(release.chart, "nvidia-device-plugin"):  # its fallbacks: named, single
        chosen = "default" if "default" in found else next(iter(found), None) if len(found) == 1 else None
    for name in found:
        node = yaml.get(release.values, *texts, name)
        root = next(embedded_documents(node), None) if isinstance(node, yaml.Scalar) else node
        if node is not None and root is not None and is_device_plugin_config(root):
            yield of_configuration(root, node.span, f"{own}/{name}", default=name == chosen)
    value = mapped(release.scalar(*strategy), str) if strategy else NOTHING
    chooses = _chosen(yaml.get(release.values, *texts[:-1])) if texts else ""
    if isinstance(value, Known) or chooses:
        place = value.origin.written if isinstance(value, Known) else release.place
        yield Sharing(own, place, (), (), value, strategy_only=True, chooses=chooses)
