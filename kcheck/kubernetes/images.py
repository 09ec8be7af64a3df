"""Images in the values of a Helm release, joined as charts do."""

import os
from collections.abc import Container, Iterator
from functools import cache

from msgspec import Struct

from kcheck.kubernetes.helm_releases import Release, merged
from kcheck.kubernetes.objects import is_null, value_of
from kcheck.model import Image, Workload, image_names
from kcheck.text.bundled import PROFILES
from kcheck.text.regex import regex
from kcheck.text.syntax import yaml
from kcheck.text.text import Source
from kcheck.text.values import Known, Origin, Unknown, Value, known

_REGISTRIES = ("registry", "image_registry", "image_prefix", "image_hub", "hub")
_MARKS = frozenset({"tag", "digest", "sha", "pull_policy", "image_pull_policy", "registry"})
"""Keys beside a `repository` that mark it as one of images."""

_SECRETS = frozenset({"image_pull_secrets", "pull_secrets", "image_pull_secret"})
_SPLIT = regex(r"((?:.+_)?image)_(?:name|repository|repo)")
_CAPITAL = regex(r"(?<=[a-z0-9])(?=[A-Z])")
_OTHER = regex(r"://|^git@|\.git$|\s")
"""Marks of code and chart repositories that no image has."""


class _Found(Struct, frozen=True):
    path: str
    node: yaml.Scalar
    text: str
    registry: Value[str]


def workload(release: Release) -> Workload | None:
    """Build the workload of a release from its images; None without any."""
    reader = _Reader(release)
    identity = f"{release.place.source.path}:{release.address}"
    found = []
    for one in reader.read():
        span = release.place if one.node.source.bundled else one.node.span
        value = value_of(one.node)
        origin = Origin((span,))
        if one.text == one.node.text and not one.node.source.bundled:
            origin = value.origin or origin
        place = origin.written if origin.spans else span
        reference = image_names.parse(one.text)
        untagged = reference is not None and not (reference.tag or reference.digest)
        found.append(Image(f"{identity}/{one.path}", place, one.path, Known(one.text, origin), one.registry, untagged))
    if not found:
        return None
    here = Origin((release.place,))
    pods = Unknown(f"the pods of {release.kind} {known(release.name) or '?'} are not read", here)
    secrets: Value[bool] = Known(reader.secrets, here)
    if release.gap and not reader.secrets:
        secrets = Unknown(release.gap, here)
    return Workload(
        identity, release.place, release.kind, Unknown("the release's namespace is not read", here), release.name,
        per_node=False, pods=pods, gpus=Known(0, here), pull_secrets=secrets, images=tuple(found), release=True,
    )  # fmt: skip


@cache
def _defaults() -> dict[str, yaml.Target]:
    """Load the values of published charts that name images, by chart."""
    path = os.path.join(PROFILES, "any", "charts.yaml")
    with open(path, "rb") as file:
        source = Source(path, file.read(), bundled=True)
    (document,) = yaml.documents(source)
    trees = {name: yaml.get(entry.value, "values") for name, entry in yaml.pairs(document.root).items()}
    return {name: tree for name, tree in trees.items() if tree is not None}


class _Reader:
    """Walks through values; visits each part once."""

    def __init__(self, release: Release) -> None:
        self.release = release
        default = _defaults().get(known(release.chart) or "") if not release.whole and not release.gap else None
        self.values = release.values
        if default is not None:
            self.values = merged((default, release.values)) if release.values is not None else default
        self.complete = release.whole or default is not None
        self.secrets = False
        self.seen: set[yaml.Target] = set()
        self.shared = _fields(yaml.get(self.values, "global")) | _fields(yaml.get(self.values, "global", "image"))

    def read(self) -> Iterator[_Found]:
        """Yield the images."""
        if self.values is not None:
            yield from self._walk(self.values, "", "")

    def _walk(self, node: yaml.Target, name: str, path: str) -> Iterator[_Found]:
        if node in self.seen:
            return
        self.seen.add(node)
        if isinstance(node, yaml.Sequence):
            for i, item in enumerate(node.items):
                yield from self._walk(yaml.resolve(item), name, f"{path}[{i}]")
        if not isinstance(node, yaml.Mapping):
            return
        fields = _fields(node, () if path else self.release.parts)
        enabled = fields.get("enabled")
        if isinstance(enabled, yaml.Scalar) and known(value_of(enabled)) is False:
            return
        self.secrets = self.secrets or any(_says(fields.get(key)) for key in _SECRETS)
        yield from self._map(fields, name, path)
        for key, value in fields.items():
            inner = f"{path}.{key}" if path else key
            if isinstance(value, yaml.Scalar):
                yield from self._scalar(key, value, fields, inner)
            else:
                yield from self._walk(value, key, inner)

    def _map(self, fields: dict[str, yaml.Target], name: str, path: str) -> Iterator[_Found]:
        """Yield the image of `image: {registry, repository, tag, digest}`."""
        of_image = name == "image" or name.endswith("_image")
        repository = _text(fields, "repository")
        if repository is None and of_image and ("tag" in fields or "digest" in fields):
            repository = _text(fields, "name")
        if repository is None or not (of_image or "image" in fields or _MARKS.intersection(fields)):
            return
        image = _text(fields, "image")
        version = _text(fields, "tag") or (_text(fields, "version") if image is not None else None)
        whole = f"{repository.text}/{image.text}" if image is not None else repository.text
        if not (name.startswith("git") or "chart" in name):
            yield from self._found(repository, whole, fields, path, version)

    def _scalar(self, key: str, value: yaml.Scalar, fields: dict[str, yaml.Target], path: str) -> Iterator[_Found]:
        """Yield the image of `image: repository:tag`, or of separate keys."""
        split = _SPLIT.fullmatch(key)
        if split is not None:
            tags = [name for name in fields if name.startswith(f"{split[1]}_tag")]
            tags += ["image_tag", "image_tag_version", "tag"]
            tag = next((found for name in tags if (found := _text(fields, name)) is not None), None)
            if tag is not None or "/" in value.text:
                yield from self._found(value, value.text, fields, path, tag)
        elif (key == "image" or key.endswith("_image")) and _text(fields, "repository") is None:
            tag = next((found for name in (f"{key}_tag", "tag") if (found := _text(fields, name)) is not None), None)
            yield from self._found(value, value.text, fields, path, tag)

    def _found(
        self, node: yaml.Scalar, text: str, fields: dict[str, yaml.Target], path: str, tag: yaml.Scalar | None
    ) -> Iterator[_Found]:
        if not isinstance(known(value_of(node)), str) or _OTHER.search(text):
            return
        digest, last = _text(fields, "digest"), text.rpartition("/")[2]
        end = f":{tag.text}" if tag is not None and ":" not in last and "@" not in last else ""
        end += f"@{digest.text}" if digest is not None and "@" not in last else ""
        own, shared = _registry(fields), None if _is_hosted(text) else _registry(self.shared)
        joined = [_joined(registry, text) + end for registry in (own, shared) if registry is not None]
        candidates = joined or [text + end]
        if own is None and node.text == text and ":" in last:
            candidates.append(text + end)  # whether charts put the common registry before a whole image differs
        if any(map(_OTHER.search, candidates)):
            return
        found = [image_names.parse(candidate) for candidate in candidates]
        place, reference = Origin((node.span,)), found[0]
        if reference is None:
            return
        registry: Value[str] = Known(reference.registry, place)
        unknown = next((r.datum for r in (own, shared) if isinstance(r, yaml.Computed)), None)
        if isinstance(unknown, Unknown):
            registry = unknown
        elif len({one.registry if one is not None else "" for one in found}) > 1:
            registry = Unknown(f"the registry of {text} in the chart is not known", place)
        elif not joined and not _is_hosted(text) and not self.complete and not (reference.tag or reference.digest):
            name = known(self.release.chart) or "?"
            registry = Unknown(f"the chart {name} may set the registry of {text}", place)
        yield _Found(path, node, candidates[0] if isinstance(registry, Known) else text + end, registry)


def _registry(fields: dict[str, yaml.Target]) -> yaml.Scalar | None:
    """Return a prefix of image names: a non-empty or unknown text; None without one."""
    for name in _REGISTRIES:
        node = fields.get(name)
        if isinstance(node, yaml.Computed) and isinstance(node.datum, Unknown):
            return node
        found = _text(fields, name)
        if found is not None:
            return found
    return None


def _joined(registry: yaml.Scalar, text: str) -> str:
    prefix = registry.text.rstrip("/") + "/" if registry.text else ""
    return text if text.startswith(prefix) else prefix + text


def _fields(node: yaml.Target | None, without: Container[str] = ()) -> dict[str, yaml.Target]:
    """Return the non-null entries of a map, with keys in snake_case."""
    found = {}
    for key, entry in yaml.pairs(node).items():
        value = yaml.resolve(entry.value)
        if not is_null(value) and key not in without:
            found[_CAPITAL.sub("_", key).replace("-", "_").lower()] = value
    return found


def _text(fields: dict[str, yaml.Target], name: str) -> yaml.Scalar | None:
    """Return a scalar that is not blank, else None."""
    node = fields.get(name)
    return node if isinstance(node, yaml.Scalar) and node.text.strip() else None


def _says(node: yaml.Target | None) -> bool:
    return bool(node.items) if isinstance(node, yaml.Sequence) else isinstance(node, yaml.Scalar) and bool(node.text)


def _is_hosted(text: str) -> bool:
    host, slash, _ = text.partition("/")
    return bool(slash) and ("." in host or ":" in host or host == "localhost")
