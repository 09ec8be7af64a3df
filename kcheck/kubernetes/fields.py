"""Fields of a kustomization, and those kcheck does not render."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from msgspec import Struct

from kcheck.text.files.boundary import REASON
from kcheck.text.regex import regex
from kcheck.text.syntax import yaml
from kcheck.text.text import Problem

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kcheck.text.files.disk import Disk
    from kcheck.text.text import Source, Span

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


class UnreadableError(Exception):
    """A kustomization that Kustomize would refuse, too; the argument is the Problem."""


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

        Raises:
            UnreadableError: a field has a form that Kustomize refuses.
        """
        if not isinstance(root, yaml.Mapping):
            raise UnreadableError(Problem("a kustomization must be a map", root.span))
        version, kind = yaml.text(root, "apiVersion"), yaml.text(root, "kind")
        if (version and not version.startswith(GROUP)) or kind not in ("", "Kustomization", "Component"):
            return None
        for name, entry in yaml.entries(root).items():
            value = yaml.resolve(entry.value)
            if isinstance(value, yaml.Scalar) and yaml.value(value) is None:
                continue
            if name in _LISTS and not isinstance(value, yaml.Sequence):
                raise UnreadableError(Problem(f"`{name}` must be a list", value.span))
            if name in _MAPS and not isinstance(value, yaml.Mapping):
                raise UnreadableError(Problem(f"`{name}` must be a map", value.span))
        own = cls(root, source, folder, key)
        for name, why in _GAPS.items():
            field_ = yaml.entries(root).get(name)
            if field_ and not (isinstance(yaml.resolve(field_.value), yaml.Sequence) and not own.items(name)):
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

    def items(self, name: str) -> tuple[yaml.Node, ...]:
        """Return the items of a list."""
        node = yaml.get(self.root, name)
        return node.items if isinstance(node, yaml.Sequence) else ()

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
        """Record a field that sets values, which stay unknown."""
        self.gap(f"`{name}` are not evaluated, so their results are unknown", self.place(name), complete=True)

    def place(self, name: str) -> Span:
        """Return the place of a field's key."""
        entry = yaml.entries(self.root).get(name)
        return entry.key.span if entry else self.root.span

    def missing(self, node: yaml.Scalar, disk: Disk) -> None:
        """Record a file or folder that cannot be read."""
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
    """Parse a step of a path: `[a.b/c]` is a key, `[name=x]` stays a selector of items."""
    return step[1:-1] if step[0] == "[" and "=" not in step else step.replace("\\", "")


def _maps(node: yaml.Target | None) -> list[yaml.Mapping]:
    return [item for item in yaml.items(node) if isinstance(item, yaml.Mapping)]
