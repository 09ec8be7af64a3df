"""Prometheus servers: of the operator, of charts, and plain ones."""

from collections.abc import Callable, Iterator
from itertools import count

from msgspec.structs import replace

from kcheck.kubernetes.helm_releases import Release
from kcheck.kubernetes.objects import Object
from kcheck.kubernetes.workloads.jobs import containers, identity, pod_spec
from kcheck.kubernetes.workloads.scalars import gap, in_units, scalar, text, written
from kcheck.model import NOTHING, Monitor
from kcheck.text.syntax import yaml
from kcheck.text.values import Known, Origin, Unknown, Value, known

_STACKS: dict[str, tuple[str, ...]] = {
    "kube-prometheus-stack": ("prometheus", "prometheusSpec"),
    "prometheus-operator": ("prometheus", "prometheusSpec"),
    "prometheus": ("server",),
}
"""Chart -> path of its server's settings in the values; the server scrapes all nodes unless turned off."""

_SWITCHES = (("prometheus", "enabled"), ("kubelet", "enabled"), ("server", "enabled"))
"""Values that turn off a chart's server, or its scraping of nodes."""


_OF_CONTAINERS = ("kubelet", "serviceMonitor", "cAdvisorMetricRelabelings")
"""Value of kube-prometheus-stack that filters container metrics."""


def of_object(item: Object) -> Iterator[Monitor]:
    """Yield the server of a Prometheus resource."""
    selector = yaml.get(item.root, "spec", "serviceMonitorSelector")
    whole = isinstance(selector, yaml.Mapping) and not yaml.entries(selector)
    unknown = gap(item.root, "spec", "serviceMonitorSelector")
    scrapes: Value[bool] = unknown or Known(whole, Origin((item.span,)))
    yield _monitor(
        Monitor(identity(item), item.span, text(item.root, "metadata", "name"), item.kind, scrapes),
        lambda *path: scalar(item.root, "spec", *path),
    )


def of_workload(item: Object) -> Iterator[Monitor]:
    """Yield the Prometheus server of a workload, recognized by its image."""
    spec = pod_spec(item)
    for container in containers(spec):
        image = written(container, "image")
        if isinstance(image, Known) and image.value.partition("@")[0].rpartition("/")[2].split(":")[0] == "prometheus":
            own = Monitor(
                identity(item), item.span, text(item.root, "metadata", "name"), item.kind, NOTHING,
                account=text(spec, "serviceAccountName") if spec is not None else NOTHING,
                namespace=text(item.root, "metadata", "namespace"),
            )  # fmt: skip
            yield _monitor(own, lambda *path, node=container: scalar(node, *path))


def of_release(release: Release) -> Iterator[Monitor]:
    """Yield the server of a release of a Prometheus chart."""
    chart = str(known(release.chart))
    if chart not in _STACKS and not isinstance(release.chart, Unknown):
        return
    if any(known(release.scalar(*switch)) is False for switch in _SWITCHES):
        return
    scrapes: Value[bool] = Known(value=not _keeps_some(release), origin=Origin((release.place,)))
    own = Monitor(
        f"{release.place.source.path}:{release.address}/prometheus",
        release.place,
        release.name if isinstance(release.name, Known) else release.chart,
        chart,
        release.chart if isinstance(release.chart, Unknown) else scrapes,
    )
    yield _monitor(own, lambda *path: release.scalar(*_STACKS.get(chart, ()), *path))


def _keeps_some(release: Release) -> bool:
    """Whether a chart's server keeps only selected container metrics."""
    for i in count():
        action = release.scalar(*_OF_CONTAINERS, i, "action")
        if not isinstance(action, Known):
            return False
        if action.value == "keep":
            return True
    return False


def _monitor(own: Monitor, read: Callable[..., Value[object]]) -> Monitor:
    memory, limit = (in_units(read("resources", kind, "memory"), "memory", 1) for kind in ("requests", "limits"))
    return replace(own, shards=in_units(read("shards"), "shards", 1), memory=memory, memory_limit=limit)
