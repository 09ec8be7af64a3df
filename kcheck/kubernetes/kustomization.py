"""A kustomization as written, and the fields kcheck does not render."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from functools import cache
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from kcheck.kubernetes.objects import Kinds, Object, is_null
from kcheck.text.files.boundary import REASON
from kcheck.text.files.disk import Disk
from kcheck.text.regex import regex
from kcheck.text.syntax import yaml
from kcheck.text.text import Problem, Source, Span

GROUP = "kustomize.config.k8s.io/"
_LISTS = (
    "resources", "bases", "components", "patches", "patchesStrategicMerge", "patchesJson6902", "images", "labels",
    "replicas", "replacements", "vars", "helmCharts", "transformers", "generators", "configurations", "crds",
    "configMapGenerator", "secretGenerator", "validators",
)  # fmt: skip
_MAPS = ("commonLabels", "commonAnnotations")
_GAPS = {
    "helmCharts": "`helmCharts` needs Helm",
    "helmChartInflationGenerator": "`helmChartInflationGenerator` needs Helm",
    "transformers": "plugins in `transformers` are not run",
    "generators": "plugins in `generators` are not run",
}
"""Fields that are not rendered -> reason."""

_REMOTE = regex(r"\w[\w+.-]*://|git@|git::|[\w-]+(?:\.[\w-]+)+[/:][\w.-]+/|.*[?&](?:ref|version)=")
_STEP = regex(r"\[[^\]]*\]|(?:\\.|[^.\[\\])+", re.DOTALL)


class InvalidKustomizationError(Exception):
    """A kustomization that Kustomize would also refuse; the argument is the Problem."""


class Fields(Struct, eq=False):
    """A kustomization; `complete` if all possible targets of patches are known.

    `key` is its real folder; `entered` is set once it is rendered. `losses` are the gaps where objects may be missing.
    """

    root: yaml.Mapping
    source: Source
    folder: str
    key: str
    gaps: dict[str, Span] = {}
    losses: dict[str, Span] = {}
    complete: bool = True
    entered: bool = False

    @classmethod
    def from_document(cls, root: yaml.Target, source: Source, folder: str, key: str) -> Fields | None:
        """Read the kustomization in a document; None for other tools.

        Raises InvalidKustomizationError if a field has a form that Kustomize refuses.
        """
        if not isinstance(root, yaml.Mapping):
            raise InvalidKustomizationError(Problem("a kustomization must be a map", root.span))
        version, kind = yaml.text(root, "apiVersion"), yaml.text(root, "kind")
        if (version and not version.startswith(GROUP)) or kind not in ("", "Kustomization", "Component"):
            return None
        for name, entry in yaml.entries(root).items():
            value = yaml.resolve(entry.value)
            if is_null(value):
                continue
            if name in _LISTS and not isinstance(value, yaml.Sequence):
                raise InvalidKustomizationError(Problem(f"`{name}` must be a list", value.span))
            if name in _MAPS and not isinstance(value, yaml.Mapping):
                raise InvalidKustomizationError(Problem(f"`{name}` must be a map", value.span))
        own = cls(root, source, folder, key)
        for name, why in _GAPS.items():
            field_ = yaml.entries(root).get(name)
            if field_ and not (isinstance(yaml.resolve(field_.value), yaml.Sequence) and not yaml.items(root, name)):
                own.gap(why, field_.key.span)
        return own

    @property
    def resources(self) -> list[yaml.Scalar]:
        """Resources, including bases."""
        return self.texts("resources") + self.texts("bases")

    @property
    def variables(self) -> list[str]:
        """Names of the `vars`."""
        return [yaml.text(entry, "name") for entry in self.maps("vars")]

    @property
    def others(self) -> list[yaml.Scalar]:
        """Other files it names: input of generators, and settings."""
        result = [
            node for name in ("configurations", "crds", "transformers", "generators") for node in self.texts(name)
        ]
        for name in ("configMapGenerator", "secretGenerator"):
            for entry in self.maps(name):
                for node in yaml.scalars(entry, "files") + yaml.scalars(entry, "envs"):
                    path = node.text.rpartition("=")[2]
                    result.append(yaml.Scalar(*node.span, None, path, node.style, None))
        return result

    def texts(self, name: str) -> list[yaml.Scalar]:
        """List the texts in a list."""
        return yaml.scalars(self.root, name)

    def maps(self, name: str) -> list[yaml.Mapping]:
        """List the maps in a list."""
        return _maps(yaml.get(self.root, name))

    def patches(self, name: str) -> Iterator[tuple[yaml.Target, yaml.Mapping | None]]:
        """Yield the patches of a field, each with the target that selects its objects."""
        for node in self.texts(name):
            yield node, None
        for entry in self.maps(name):
            target = yaml.get(entry, "target")
            yield entry, target if isinstance(target, yaml.Mapping) else None

    def targets(self, root: yaml.Target | None) -> list[yaml.Mapping]:
        """List the targets of a replacement, or of a list of replacements in a file."""
        entries = [root] if isinstance(root, yaml.Mapping) else _maps(root)
        return [target for entry in entries for target in _maps(yaml.get(entry, "targets"))]

    def field_paths(self, target: yaml.Mapping) -> list[list[str]]:
        """Return the paths that a replacement writes to, as steps."""
        paths = [node.text for node in yaml.scalars(target, "fieldPaths")]
        return [list(map(_step, _STEP.findall(path))) for path in paths]

    def gap(self, why: str, span: Span, *, complete: bool = False) -> None:
        """Record a field that is not rendered, and whether all objects are still known."""
        self.gaps.setdefault(why, span)
        self.complete = self.complete and complete
        if not complete:
            self.losses.setdefault(why, span)

    def unknown(self, name: str) -> None:
        """Record a field that is not evaluated, so that the values it sets are unknown."""
        self.gap(f"`{name}` are not evaluated, so their results are unknown", self.place(name), complete=True)

    def place(self, name: str) -> Span:
        """Return the place of a field's key."""
        entry = yaml.entries(self.root).get(name)
        return entry.key.span if entry else self.root.span

    def missing(self, node: yaml.Scalar, disk: Disk) -> None:
        """Record an unreadable file or folder."""
        what = "is remote" if _REMOTE.match(node.text) else "does not exist"
        if "\0" not in node.text and disk.is_outside(os.path.join(self.folder, node.text)):
            what = f"is {REASON}"
        self.gap(f"`{node.text}` {what}", node.span)


def joined(gaps: dict[str, Span], shown: int = 3) -> Problem:
    """Join the first reasons of gaps into one problem, at the place of the first."""
    reasons = list(gaps)
    more = len(reasons) - shown
    words = "; ".join(reasons[:shown]) + (f"; and {more} more" if more > 0 else "")
    return Problem(words, gaps[reasons[0]])


def _step(step: str) -> str:
    """Parse a step of a path: `[a.b/c]` is a key, `[name=x]` a selector."""
    return step[1:-1] if step[0] == "[" and "=" not in step else step.replace("\\", "")


def _maps(node: yaml.Target | None) -> list[yaml.Mapping]:
    return [item for item in yaml.items(node) if isinstance(item, yaml.Mapping)]


# --- selectors of patches


class Name(NamedTuple):
    """A present or former name of an object."""

    name: str
    namespace: str

    @property
    def effective(self) -> Name:
        """Name with an empty namespace replaced by `default`."""
        return self._replace(namespace=self.namespace or "default")


class Resource(NamedTuple):
    """An object while it is rendered; the last of `names` is its current one."""

    item: Object
    names: tuple[Name, ...]

    @property
    def identity(self) -> tuple[str, str, Name]:
        """Identity within a kustomization: kind, API group and name."""
        return self.item.kind, self.item.api_version.rpartition("/")[0], self.names[-1].effective

    def changed(self, root: yaml.Mapping) -> Resource:
        """Return the object with other content."""
        return self._replace(item=replace(self.item, root=root))

    def renamed(self, root: yaml.Mapping) -> Resource:
        """Return the object with another name; selectors still match its old ones."""
        return Resource(replace(self.item, root=root), (*self.names, name_of(root)))


def name_of(root: yaml.Node) -> Name:
    """Return the name of an object."""
    return Name(yaml.text(root, "metadata", "name"), yaml.text(root, "metadata", "namespace"))


class SelectorError(Exception):
    """A selector that is invalid or that kcheck does not read."""


def selected(resources: Iterable[Resource | None], target: yaml.Mapping) -> list[int]:
    """Return the indexes of the objects that a target selects.

    Raises SelectorError if it is invalid, or kcheck does not read it.
    """
    kind, name, space = (_pattern(yaml.text(target, field)) for field in ("kind", "name", "namespace"))
    group, version = _pattern(yaml.text(target, "group")), _pattern(yaml.text(target, "version"))
    wanted = [
        ("labels", _terms(yaml.text(target, "labelSelector"))),
        ("annotations", _terms(yaml.text(target, "annotationSelector"))),
    ]

    def fits(resource: Resource) -> bool:
        item = resource.item
        own_group, _, own_version = item.api_version.rpartition("/")
        if not (kind.fullmatch(item.kind) and group.fullmatch(own_group) and version.fullmatch(own_version)):
            return False
        if not any(name.fullmatch(own.name) and space.fullmatch(own.namespace) for own in resource.names):
            return False
        return all(_has(yaml.get(item.root, "metadata", field), term) for field, terms in wanted for term in terms)

    return [i for i, resource in enumerate(resources) if resource is not None and fits(resource)]


def may_select(target: yaml.Mapping, kinds: Kinds) -> bool:
    """Whether a target can select an object of some kinds, judging by its kind."""
    kind = yaml.text(target, "kind")
    return not kind.isalnum() or kind in kinds


_ANYTHING = regex(".*", re.DOTALL)
_COSTLY = regex(r"\)[*+{]|(?:[*+{].*){4}")


@cache
def _pattern(pattern: str) -> re.Pattern[str]:
    if not pattern:
        return _ANYTHING
    if _COSTLY.search(pattern):  # these can take Python forever
        raise SelectorError(f"kcheck does not read the pattern `{pattern}`")
    try:
        return re.compile(pattern)
    except (re.error, OverflowError, RecursionError) as error:
        raise SelectorError(f"`{pattern}` is not a regular expression") from error


class _Term(NamedTuple):
    key: str
    values: frozenset[str] | None  # None asks for the key only
    negated: bool


_TERM = regex(
    r"(?P<key>[\w./-]+)\s*(?:(?P<sign>==?|!=)\s*(?P<value>[\w.-]*)|\s(?P<not>notin|in)\s*\((?P<set>[^()]*)\))?"
    r"|!\s*(?P<absent>[\w./-]+)"
)


@cache
def _terms(selector: str) -> tuple[_Term, ...]:
    """Parse a selector such as `app=web,tier in (a, b),!old`."""
    result = []
    for part in re.split(r",(?![^(]*\))", selector) if selector.strip() else ():
        match = _TERM.fullmatch(part.strip())
        if match is None:
            raise SelectorError(f"`{selector}` is not a selector")
        if match["absent"]:
            result.append(_Term(match["absent"], None, negated=True))
        elif match["sign"]:
            result.append(_Term(match["key"], frozenset({match["value"]}), match["sign"] == "!="))
        elif match["not"]:
            values = frozenset(value.strip() for value in match["set"].split(","))
            result.append(_Term(match["key"], values, match["not"] == "notin"))
        else:
            result.append(_Term(match["key"], None, negated=False))
    return tuple(result)


def _has(pairs: yaml.Target | None, term: _Term) -> bool:
    value = yaml.get(pairs, term.key)
    there = isinstance(value, yaml.Scalar) and (term.values is None or value.text in term.values)
    return there is not term.negated
