"""Cluster autoscalers that run as workloads: their flags, in every way people write them."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

from kcheck import profiles
from kcheck.kubernetes import flags
from kcheck.model import Autoscaler, Flag
from kcheck.syntax import yaml
from kcheck.units import minor_version, seconds
from kcheck.values import Known, Missing, Origin, Unknown, Unset, Value, equals, known, mapped
from kcheck.workloads.jobs import containers, pod_spec
from kcheck.workloads.scalars import scalar

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kcheck.embedded.releases import Release
    from kcheck.kubernetes.objects import Object
    from kcheck.text import Span

NAME = "cluster-autoscaler"
_FLAGS: dict[str, tuple[tuple[str, ...], str]] = {
    "max_unready_nodes": (("ok-total-unready-count",), "int"),
    "max_unready_percentage": (("max-total-unready-percentage",), "number"),
    "bulk_delete": (("max-scale-down-parallelism", "max-empty-bulk-delete"), "int"),
    "unneeded_time": (("scale-down-unneeded-time",), "seconds"),
    "unready_time": (("scale-down-unready-time",), "seconds"),
    "delay_after_add": (("scale-down-delay-after-add",), "seconds"),
    "delay_after_failure": (("scale-down-delay-after-failure",), "seconds"),
    "scan_interval": (("scan-interval",), "seconds"),
    "new_pod_delay": (("new-pod-scale-up-delay",), "seconds"),
    "provision_time": (("max-node-provision-time",), "seconds"),
    "expander": (("expander",), "string"),
    "grace": (("max-graceful-termination-sec",), "int"),
    "keeps_local": (("skip-nodes-with-local-storage",), "bool"),
}
"""Field of the model -> flags that say it, newest first, and the type of their value."""

_NEWEST = 99


def of_object(item: Object) -> Iterator[Autoscaler]:
    """The cluster autoscalers that an object runs; which cluster they serve is told by where they are."""
    for container in containers(pod_spec(item)):
        image = scalar(container, "image")
        if isinstance(image, Known) and _repository(str(image.value)).endswith(f"/{NAME}"):
            yield _of_container(item, container, image)


def of_release(release: Release) -> Iterator[Autoscaler]:
    """The cluster autoscaler that a release of its chart runs: flags are `extraArgs`."""
    if not equals(release.chart, NAME):
        return
    identity = f"{release.place.source.path}:{release.address}"
    tag = release.scalar("image", "tag")
    why = "the version of the chart decides that of the autoscaler"
    version: Value[str] = mapped(tag, str) if isinstance(tag, Known) else Unknown(why, tag.origin)
    found = []
    for name, place in release.names("extraArgs").items():
        value = mapped(release.scalar("extraArgs", name), _text)
        if isinstance(value, Unset):  # null takes a flag away
            continue
        verbatim = place.text.strip("\"'") == name
        written = Known(name, Origin((place,), literal=verbatim))
        found.append(Flag(f"{identity}/{name}", place, written, value, version))
    yield _autoscaler(identity, release.place, version, found, gap=release.gap)


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _repository(image: str) -> str:
    """An image without its tag and digest, with a slash before it."""
    path, _, name = image.partition("@")[0].rpartition("/")
    return f"{path}/{name.partition(':')[0]}"


def _of_container(item: Object, container: yaml.Node, image: Known[Any]) -> Autoscaler:
    tag = str(image.value).partition("@")[0].rpartition("/")[2].partition(":")[2]
    version: Value[str] = (
        Known(tag, image.origin) if tag else Unknown("the autoscaler's image has no tag", image.origin)
    )
    identity = f"{item.span.source.path}:{item.kind}/{NAME}"
    found = list(_flags(container, identity, version))
    arguments = yaml.get(container, "args") or yaml.get(container, "command")
    unknown = next((i.datum for i in flags.items(arguments) if isinstance(i, yaml.Given) and not i.text), None)
    gap = unknown.reason if isinstance(unknown, Unknown) else ""
    return _autoscaler(identity, item.span, version, found, arguments, gap)


def _autoscaler(
    identity: str, place: Span, version: Value[str], found: list[Flag], arguments: yaml.Target | None = None,
    gap: str = "",
) -> Autoscaler:  # fmt: skip
    """An autoscaler with its flags. A new one goes to the end of `arguments`; `gap` says why one may be missing."""
    written = {flag.name.value: flag for flag in found if isinstance(flag.name, Known)}
    minor = minor_version(known(version) or "")
    minor = _NEWEST if minor is None else minor
    fields = {name: _field(name, written, arguments, place, minor, gap) for name in _FLAGS}
    owner: Unknown = Unknown("the manifest's cluster is not known")
    settings: dict[str, Any] = {**fields, "version": version, "flags": tuple(found)}
    return Autoscaler(identity, place, owner, NAME, **settings)


def _flags(container: yaml.Node, owner: str, version: Value[str]) -> Iterator[Flag]:
    for flag in flags.read(container):
        yield Flag(f"{owner}/{flag.name.value}", flag.span, flag.name, flag.value, version)


def _field(
    name: str, written: dict[str, Flag], arguments: yaml.Target | None, place: Span, minor: int, gap: str
) -> Value[Any]:
    """The value of a field: of the first flag that is set, else the default of the autoscaler's version."""
    names, kind = _FLAGS[name]
    flag = next((written[flag] for flag in names if flag in written), None)
    if flag is not None and isinstance(flag.value, Unknown):
        return flag.value
    if flag is None and gap:
        return Unknown(gap, Origin((place,)))
    if flag is not None and isinstance(flag.value, Known):
        try:
            return Known(_CONVERT[kind](flag.value.value), flag.value.origin)
        except ValueError as error:
            return Unknown(f"--{known_name(flag)}: {error}", flag.value.origin)
    key = f"autoscaler.{name}"
    if name == "expander" and minor < 33:
        key = "autoscaler.expander_before_1_33"
    default = profiles.settings("any")[key].value
    usable = [flag for flag in names if profiles.flags().get(flag, {}).get("first", 0) <= minor]
    origin = Origin((place,))
    if isinstance(arguments, yaml.Sequence) and arguments.items and not isinstance(arguments.items[-1], yaml.Given):
        origin = Origin((place,), missing=Missing(arguments.span, (f"--{usable[0]}",)))
    return Known(_CONVERT[kind](str(default)), origin)


def known_name(flag: Flag) -> str:
    """The flag's name for messages."""
    return flag.name.value if isinstance(flag.name, Known) else "?"


def _whole(text: str) -> int:
    if not text.isdigit():
        raise ValueError(f"`{text}` is not a whole number")
    return int(text)


def _number(text: str) -> int:
    try:
        return int(Fraction(text))
    except ValueError:
        raise ValueError(f"`{text}` is not a number") from None


_CONVERT: dict[str, Any] = {
    "int": _whole, "number": _number, "seconds": seconds, "string": str, "bool": lambda text: text.lower() == "true",
}  # fmt: skip
