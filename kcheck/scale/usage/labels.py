"""Labels as kube-state-metrics has them, and owner, team and experiment of pods by them."""

from __future__ import annotations

import os
from functools import cache, lru_cache
from typing import TYPE_CHECKING

from kcheck.text import bundled
from kcheck.text.bundled import PROFILES
from kcheck.text.regex import regex
from kcheck.text.values import known

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from kcheck.scale.usage.joining import Match
    from kcheck.scale.usage.recording import Recording


_OTHER = regex(r"[^a-zA-Z0-9_]")
_CAPITAL = regex(r"([a-z0-9])([A-Z])")


@lru_cache(maxsize=4096)
def sanitised(name: str) -> str:
    """Convert a label's name to kube-state-metrics' form: example.com/costCenter to example_com_cost_center.

    https://github.com/kubernetes/kube-state-metrics/blob/main/internal/store/utils.go: toSnakeCase(SanitizeLabelName).
    """
    return _CAPITAL.sub(r"\1_\2", _OTHER.sub("_", name)).lower()


def value(labels: Mapping[str, str], names: Iterable[str]) -> str:
    """Return the value of the first of some labels, sanitised or not on either side; empty without any."""
    plain = {sanitised(name): text for name, text in labels.items() if text}
    return next((plain[key] for key in map(sanitised, names) if key in plain), "")


def candidates(dimension: str, own: Mapping[str, Sequence[str]]) -> list[str]:
    """List the labels that name an owner, a team or an experiment: those of the settings, else the usual ones."""
    return list(own.get(dimension) or _usual()[dimension])


class Dimension:
    """Owners, teams or experiments of the pods of a recording."""

    def __init__(self, names: Sequence[str], recording: Recording) -> None:
        self.names = names
        self._namespaces = {name: value(labels, names) for name, labels in recording.namespaces.items()}

    def of(self, match: Match) -> str:
        """Return the value by labels of a pod, else of its namespace, else of its code; empty without."""
        found = value(match.pod.labels, self.names) or self._namespaces.get(match.pod.namespace, "")
        return found or next((text for labels in _written(match) if (text := value(labels, self.names))), "")


def _written(match: Match) -> Iterator[Mapping[str, str]]:
    """Yield the labels and annotations of a pod in the code."""
    template, workload = match.template, match.workload
    if template is not None:
        yield known(template.labels) or {}
        yield known(template.annotations) or {}
    if workload is not None:
        yield known(workload.labels) or {}


@cache
def _usual() -> dict[str, list[str]]:
    """List the usual labels that name an owner, a team or an experiment, the first ones first."""
    data: dict[str, list[str]] = bundled.load(os.path.join(PROFILES, "any", "dimensions.yaml"))["labels"]
    return data
