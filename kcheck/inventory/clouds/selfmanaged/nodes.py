"""Nodes at registration: labels, taints and machine, and files written to them before."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from kcheck.config.numbers import machines
from kcheck.config.numbers.fields import Fields
from kcheck.inventory.clouds.reader import taints_of
from kcheck.kubernetes.record import MappingRecord
from kcheck.model import NOTHING, Machine, Scheduling, System
from kcheck.text.syntax import scan, yaml
from kcheck.text.text import Source
from kcheck.text.values import Known, Origin, Unset, Value

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kcheck.text.text import Span

CLOUD = "selfmanaged"
KUBELET = "KubeletConfiguration"
ZONE = "topology.kubernetes.io/zone"
_TYPE = "node.kubernetes.io/instance-type"
_VARIABLES = ("$", "{{")
"""Marks of values that differ by node."""
_MIRROR = "/certs.d/docker.io/hosts.toml"
NEIGHBOURS = "net.ipv4.neigh.default.gc_thresh3"


def labels(registration: yaml.Node | None) -> dict[str, str]:
    """Read the labels of a joining node, without its zone and values that differ by node."""
    given = yaml.get(registration, "kubeletExtraArgs")
    found = [yaml.get(given, "node-labels")]
    if isinstance(given, yaml.Sequence):
        named = ((yaml.get(one, "name"), yaml.get(one, "value")) for one in given.items)
        found = [value for name, value in named if isinstance(name, yaml.Scalar) and name.text == "node-labels"]
    pairs = [part.partition("=") for node in found if isinstance(node, yaml.Scalar) for part in node.text.split(",")]
    return {
        key.strip(): value.strip()
        for key, _, value in pairs
        if key.strip() != ZONE and not any(sign in value for sign in _VARIABLES)
    }


def scheduling(registration: yaml.Node | None, origin: Origin) -> Scheduling:
    """Read the labels and taints of a node registration."""
    found = labels(registration)
    taints: Value[tuple[str, ...]] = NOTHING
    if isinstance(registration, yaml.Mapping):
        taints = taints_of(MappingRecord(registration), "taints")
    return Scheduling(Known(found, origin) if found else Unset(origin), taints)


def machine(found: dict[str, str], origin: Origin) -> Machine:
    """Return the machine that a node's labels name, if it is a known model."""
    name = found.get(_TYPE, "")
    known = machines.machine(CLOUD, name)
    if known is None:
        return Machine()
    return Machine(Known((name,), origin), gpu=Known(bool(known.gpus), origin), gpus=Known(known.gpus or 0, origin))


class File(NamedTuple):
    """A file of a KubeadmConfigSpec: its path, its text on the original line numbers, and its place."""

    path: str
    text: Source
    place: Span


def files(config: yaml.Node | None) -> Iterator[File]:
    """Yield the files of a KubeadmConfigSpec."""
    for one in yaml.items(config, "files"):
        path, content = yaml.get(one, "path"), yaml.get(one, "content")
        if isinstance(path, yaml.Scalar) and isinstance(content, yaml.Scalar):
            source, first = content.span.source, content.span.begin.line
            lines = source.data[: content.span.end].split(b"\n")[first:]
            text = Source(source.path, b"\n" * first + b"\n".join(lines), derived=True)
            yield File(path.text, text, content.span)


def system(config: yaml.Node | None) -> System:
    """Read the system settings in the files of a KubeadmConfigSpec."""
    neighbours: Value[int] = NOTHING
    mirror: Value[bool] = NOTHING
    for file in files(config):
        for span in scan.sysctl_numbers(file.text, NEIGHBOURS):
            neighbours = Known(int(span.text[:10]), Origin((span,)))
        if file.path.endswith(_MIRROR):
            mirror = Known(value=True, origin=Origin((file.place,)))
    return System(neighbours=neighbours, hub_mirror=mirror)


def serial_pulls(config: yaml.Node | None) -> Value[bool] | None:
    """Whether the kubelet pulls images serially, by the patch in a KubeadmConfigSpec; None without one."""
    for file in files(config):
        for document in yaml.documents(file.text) if "/kubeletconfiguration" in file.path else ():
            if isinstance(document.root, yaml.Mapping):
                return Fields(CLOUD, KUBELET, MappingRecord(document.root)).flag("serial_pulls")
    return None
