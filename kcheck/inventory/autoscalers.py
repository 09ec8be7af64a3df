"""Cluster autoscalers that run as workloads or Helm releases, with their flags."""

from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from typing import Any

from msgspec.structs import replace

from kcheck.config.numbers import flags
from kcheck.config.numbers.flags import Release
from kcheck.config.numbers.profiles import flag_file
from kcheck.kubernetes import flags as arguments
from kcheck.kubernetes.flags import Argument
from kcheck.kubernetes.helm_releases import Release as HelmRelease
from kcheck.kubernetes.objects import Object
from kcheck.kubernetes.workloads.jobs import containers, pod_spec
from kcheck.kubernetes.workloads.scalars import scalar, written
from kcheck.model import Autoscaler, Flag
from kcheck.text.keys import Item
from kcheck.text.regex import regex
from kcheck.text.syntax import yaml
from kcheck.text.text import Span
from kcheck.text.units import as_text, quantity, seconds, whole_number
from kcheck.text.values import Known, Missing, Origin, Unknown, Unset, Value, equals, known, mapped, reason_of

NAME = "cluster-autoscaler"
_IMAGE = regex(rf"/{NAME}(?:-(?:amd64|arm64|s390x|kwok))?$")
"""Autoscaler images: of all architectures, of one, and the kwok one of the upstream tests."""


def of_object(item: Object) -> Iterator[Autoscaler]:
    """Yield the cluster autoscalers that an object runs."""
    for container in containers(pod_spec(item)):
        image = written(container, "image")
        by_image = isinstance(image, Known) and _IMAGE.search(_repository(image.value))
        own_flag = any(flag.name.value == _OWN for flag in arguments.read(container))
        if by_image or own_flag or arguments.runs(container, NAME):  # a mirror may call it otherwise
            yield _of_container(item, container, image)


_OWN = "node-group-auto-discovery"
"""Flag that only the autoscaler has."""


def of_release(release: HelmRelease) -> Iterator[Autoscaler]:
    """Yield the autoscaler of its Helm release, with flags of its values."""
    if not equals(release.chart, NAME):
        return
    identity = f"{release.place.source.path}:{release.address}"
    version = _chart_version(release)
    found = []
    for key, place in sorted(release.names("extraArgs").items()):
        value = mapped(release.scalar("extraArgs", key), as_text)
        if isinstance(value, Unset):  # null takes a flag away
            continue
        name = key.partition("_")[0]  # the rest of a key tells flags of the same name apart
        written = Known(name, Origin((place,), literal=place.text.strip("\"'") == name))
        found.append(Flag(f"{identity}/{key}", place, written, value, version))
    custom, gap = release.items("customArgs")
    found += _flags_set(arguments.parse(custom), identity, version)
    paths = (("resources", key, "cpu") for key in ("requests", "limits"))
    cpu = [Unset(_unset(release, *path)) if isinstance(one := release.scalar(*path), Unset) else one for path in paths]
    yield _autoscaler(
        identity, release.place, version=version, found=found, absent=lambda flag: _unset(release, "extraArgs", flag),
        gap=gap, cpu=cpu,
    )  # fmt: skip


def _unset(release: HelmRelease, *path: str) -> Origin:
    """Return where to add a missing value to a release."""
    old = release.scalar(*path)
    if isinstance(old, Unset) and old.origin.literal:
        return old.origin
    place = Origin((release.place,))
    for depth in range(len(path) - 1, 0, -1):
        maps = (yaml.get(tree, *path[:depth]) for tree in reversed(release.trees))
        own = next((node for node in maps if isinstance(node, yaml.Mapping)), None)
        if own is not None:
            return replace(place, missing=Missing(own.span, path[depth:]))
    if release.room and (not release.trees or any(other[0] == path[0] for other in release.sets if other)):
        return replace(place, missing=release.room.below(Item(".".join(path))).below("value"))
    why = "" if release.trees else "the release has no values to add to"
    room = release.trees[-1].span if release.trees else release.place
    return replace(place, missing=Missing(room, path), why=why)


def _chart_version(release: HelmRelease) -> Value[str]:
    """Return the autoscaler version of a release: of its image tag, else of its chart."""
    tag = release.scalar("image", "tag")
    if not isinstance(tag, Unset):
        return mapped(tag, str)
    if not isinstance(release.version, Known):
        why = "the version of the chart is not known"
        return Unknown(release.version.reason if isinstance(release.version, Unknown) else why, release.version.origin)
    minor = flags.chart_minor(release.version.value)
    if minor is None:
        why = f"the autoscaler version in chart version {release.version.value} is not known"
        return Unknown(why, release.version.origin)
    return Known(f"1.{minor}", Origin(release.version.origin.spans))


def _repository(image: str) -> str:
    """Return an image without tag and digest, always with a slash."""
    path, _, name = image.partition("@")[0].rpartition("/")
    return f"{path}/{name.partition(':')[0]}"


def _image_version(image: Value[str]) -> Value[str]:
    """Return the tag of an autoscaler image; Unknown without one."""
    if not isinstance(image, Known):
        return Unknown(reason_of(image), image.origin)
    tag = image.value.partition("@")[0].rpartition("/")[2].partition(":")[2]
    if "autoscaler" not in _repository(image.value):
        return Unknown(f"the autoscaler version in `{image.value}` is not known", image.origin)
    return Known(tag, image.origin) if tag else Unknown("the autoscaler's image has no tag", image.origin)


def _of_container(item: Object, container: yaml.Node, image: Value[str]) -> Autoscaler:
    version = _image_version(image)
    identity = f"{item.owner_path}:{item.kind}/{NAME}"
    found = list(_flags_set(arguments.read(container), identity, version))
    room = arguments.room(container)
    why = "there is no list of arguments to add to" if room is None else ""

    def absent(flag: str) -> Origin:
        return Origin((item.span,), missing=Missing(room or item.span, (f"--{flag}",)), why=why)

    cpu = [scalar(container, "resources", key, "cpu") for key in ("requests", "limits")]
    return _autoscaler(
        identity, item.span, version=version, found=found, absent=absent, gap=arguments.gap(container), cpu=cpu
    )


def _millicores(found: Value[object]) -> Value[int]:
    if not isinstance(found, Known):
        return found
    try:
        return Known(int(quantity(str(found.value)) * 1000), found.origin)
    except ValueError as error:
        return Unknown(str(error), found.origin)


def _autoscaler(
    identity: str, place: Span, version: Value[str], found: list[Flag], absent: Callable[[str], Origin],
    gap: str, cpu: list[Value[object]],
) -> Autoscaler:  # fmt: skip
    """Build an autoscaler; `absent` places new flags, `gap` says why some may lack.

    `cpu` is the request and limit; a limit alone is also the request.
    """
    written = {flag.name.value: flag for flag in found if isinstance(flag.name, Known)}
    own = flags.release(known(version) or "")
    fields = {name: _field(name, written, absent, place, own, gap) for name in flag_file()["fields"]}
    owner, asked = Unknown("its cluster is not known"), next((one for one in cpu if not isinstance(one, Unset)), cpu[0])
    return Autoscaler(
        identity, place, owner, NAME, **fields, managed=False, version=version, flags=tuple(found),
        cpu=_millicores(asked), cpu_limit=_millicores(cpu[1]),
    )  # fmt: skip


def _flags_set(found: Iterable[Argument], owner: str, version: Value[str]) -> Iterator[Flag]:
    for flag in found:
        yield Flag(f"{owner}/{flag.name.value}", flag.span, flag.name, flag.value, version)


def _field(
    name: str, written: dict[str, Flag], absent: Callable[[str], Origin], place: Span, own: Release | None, gap: str
) -> Value[Any]:
    """Return a field's value from the first flag set, else the default."""
    names = flag_file()["fields"][name]
    convert = _CONVERT.get(name) or _CONVERT[flags.flags()[names[0]]["type"]]
    flag = next((written[flag] for flag in names if flag in written), None)
    if flag is not None and isinstance(flag.value, Unknown):
        return flag.value
    if flag is None and gap:
        return Unknown(gap, Origin((place,)))
    if flag is not None and isinstance(flag.value, Known):
        try:
            return Known(convert(flag.value.value), flag.value.origin)
        except ValueError as error:
            return Unknown(f"--{known(flag.name) or '?'}: {error}", flag.value.origin)
    default = flags.default(names[0], own.minor if own else None)
    usable = [flag for flag in names if flags.known_to(flag, own)]
    origin = Origin((place,))
    if default is None:
        return Unknown(f"the default of --{names[0]} depends on the version, which is not known", origin)
    return Known(convert(as_text(default)), absent(usable[0]) if usable else replace(origin, within=(f"--{names[0]}",)))


def _whole(text: str) -> int:
    number = whole_number(text.removeprefix("-"))
    if number is None:
        raise ValueError(f"`{text}` is not a whole number")
    return -number if text.startswith("-") else number


def _number(text: str) -> int:
    try:
        return int(Fraction(text))
    except (ValueError, ZeroDivisionError):
        raise ValueError(f"`{text}` is not a number") from None


def _switch(text: str) -> bool:
    # as Go reads one: https://pkg.go.dev/strconv#ParseBool
    for value, spellings in ((True, ("1", "t", "true")), (False, ("0", "f", "false"))):
        if text.lower() in spellings:
            return value
    raise ValueError(f"`{text}` is neither true nor false")


def _most(text: str) -> int:
    least, sign, most = text.partition(":")
    if not sign:
        raise ValueError(f"`{text}` is not a minimum and a maximum such as 0:1000")
    _whole(least)
    return _whole(most)


_CONVERT: dict[str, Callable[[str], int | str | bool]] = {
    "int": _whole, "float": _number, "duration": seconds, "string": str, "bool": _switch, "max_cores": _most,
    "max_memory": _most,
}  # fmt: skip
"""Parsers of flag values, by type or by field of the model."""
