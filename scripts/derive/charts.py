"""profiles/any/charts.yaml: the autoscaler's minor version in each of its charts, from the tags of the charts.

A chart runs the image tag of its values, which its own appVersion does not always say. Charts whose patches run
different minor versions are left out.
"""

from __future__ import annotations

import re
from collections import defaultdict
from typing import TYPE_CHECKING

import yaml

from derive.gits import needed

if TYPE_CHECKING:
    from pathlib import Path

REPOSITORY, TAG = "kubernetes/autoscaler", "cluster-autoscaler-chart-"
FOLDERS = (
    "charts/cluster-autoscaler",
    "charts/cluster-autoscaler-chart",
    "cluster-autoscaler/charts/cluster-autoscaler",
)
"""Where the chart was, oldest first."""


def derive(gits: Path, profiles: Path) -> dict[Path, str]:
    """The new text of the file: the line `minors` of the autoscaler's chart."""
    own, path = needed(gits, REPOSITORY), profiles / "any" / "charts.yaml"
    text = path.read_text(encoding="utf-8")
    major = yaml.safe_load(text)["cluster-autoscaler"]["major"]
    tags = own.names(rf"{TAG}{major}\.\d+\.\d+")
    files = [f"{tag}:{folder}/{file}" for tag in tags for folder in FOLDERS for file in ("Chart.yaml", "values.yaml")]
    found = own.texts(files)
    runs: dict[int, set[int | None]] = defaultdict(set)
    for tag in tags:
        version = tag.removeprefix(TAG)
        for folder in FOLDERS:
            chart, values = (found.get(f"{tag}:{folder}/{file}", "") for file in ("Chart.yaml", "values.yaml"))
            if re.search(rf"^version: \"?{re.escape(version)}\"?$", chart, re.MULTILINE):
                runs[int(version.split(".")[1])].add(_minor(values))
    lines = f"  minors: {{{', '.join(_ranges(runs))}}}"
    return {path: re.sub(r"^  minors: .*$", lines, text, count=1, flags=re.MULTILINE)}


def _minor(values: str) -> int | None:
    """The minor version that a chart runs; None if its values say none."""
    tagged = re.search(r"^ +tag: \"?v?1\.(\d+)", values, re.MULTILINE)
    return int(tagged[1]) if tagged else None


def _ranges(runs: dict[int, set[int | None]]) -> list[str]:
    """The first and the last chart of each minor version, by `minor: [first, last]`."""
    charts: dict[int, list[int]] = defaultdict(list)
    for chart, minors in sorted(runs.items()):
        only = next(iter(minors)) if len(minors) == 1 else None
        if only is not None:
            charts[only].append(chart)
    return [f"{minor}: [{own[0]}, {own[-1]}]" for minor, own in sorted(charts.items())]
