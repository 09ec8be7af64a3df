"""Labels as kube-state-metrics has them, and what they say of pods: owner, team, experiment."""

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
    """A label's name as kube-state-metrics writes it: example.com/costCenter as example_com_cost_center.

    https://github.com/kubernetes/kube-state-metrics/blob/main/internal/store/utils.go: toSnakeCase(SanitizeLabelName).
    """
    return _CAPITAL.sub(r"\1_\2", _OTHER.sub("_", name)).lower()


def value(labels: Mapping[str, str], names: Iterable[str]) -> str:
    """The value of the first of some labels that is there; empty without any. Names may be sanitised on either side."""
    plain = {sanitised(name): text for name, text in labels.items() if text}
    return next((plain[key] for key in map(sanitised, names) if key in plain), "")


def candidates(dimension: str, own: Mapping[str, Sequence[str]]) -> list[str]:
    """The labels that name an owner, a team or an experiment: those of the settings, else the usual ones."""
    return list(own.get(dimension) or _usual()[dimension])


class Dimension:
    """What the pods of a recording have for an owner, a team or an experiment."""

    def __init__(self, names: Sequence[str], recording: Recording) -> None:
        self.names = names
        self._namespaces = {name: value(labels, names) for name, labels in recording.namespaces.items()}

    def of(self, match: Match) -> str:
        """What the labels of a pod say, else those of its namespace, else those of its code; empty if none does."""
        found = value(match.pod.labels, self.names) or self._namespaces.get(match.pod.namespace, "")
        return found or next((text for labels in _written(match) if (text := value(labels, self.names))), "")


def _written(match: Match) -> Iterator[Mapping[str, str]]:
    """What the code has of labels and annotations of a pod."""
    template, workload = match.template, match.workload
    if template is not None:
        yield known(template.labels) or {}
        yield known(template.annotations) or {}
    if workload is not None:
        yield known(workload.labels) or {}


@cache
def _usual() -> dict[str, list[str]]:
    """The labels that name an owner, a team or an experiment, each list in the order in which they count."""
    data: dict[str, list[str]] = bundled.load(os.path.join(PROFILES, "any", "dimensions.yaml"))["labels"]
    return data
