"""Fleets to measure `kcheck fleet` on: copies of examples, and of checkouts that somebody has, with variation.

Names, numbers of nodes, address ranges and versions differ, some manifests are left out or there twice, and
repositories have one cluster or many. The same seed makes the same fleet.
"""

from __future__ import annotations

import os
import random
import re
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
OWN = (
    "ack-training", "aks-training", "eks-training", "gke-training", "selfmanaged-training", "usage", "published/eks",
    "published/gke", "published/aks-limits", "published/docker-hub", "generated/eks",
)  # fmt: skip
TEXTS = (".tf", ".tfvars", ".yaml", ".yml", ".json", ".gz", ".tpl", ".tftpl", ".hcl", ".conf", ".md", ".lock")
MOST = 1_000_000
"""Bytes of a file of a checkout that is copied: larger ones are not what people write."""


class Size(NamedTuple):
    """How many copies of an example a repository has, and how many of 100 repositories are like that."""

    share: int
    least: int
    most: int


SIZES = (Size(60, 1, 1), Size(28, 2, 4), Size(10, 5, 12), Size(2, 20, 40))
CHECKOUTS = 0.5
"""The share of repositories that are copies of checkouts, where there are any."""

_COUNT = re.compile(
    rb"(?m)^(\s*(?:max_size|desired_size|node_count|max_count|max_node_count|total_max_node_count|parallelism"
    rb"|completions|replicas)\s*[:=]\s*)(\d{1,4})$"
)
_RANGE = re.compile(rb"\b10\.(\d{1,3})\.")
_VERSION = re.compile(rb'(?m)^(\s*(?:kubernetes_version|cluster_version|version)\s*=\s*)"1\.3\d"')
_NAME = re.compile(rb"\b(train|gpu-job|trainer)\b")


def make(folder: Path, count: int, checkouts: Sequence[Path] = (), seed: int = 7) -> None:
    """Write a fleet: so many repositories, each in a folder."""
    draw = random.Random(f"{seed} {count}")
    for number in range(count):
        top = folder / f"repository{number:04}"
        if checkouts and draw.random() < CHECKOUTS:
            copy(draw.choice(checkouts), top, draw)
        else:
            _composed(top, draw)
        (top / ".git").mkdir(parents=True)  # what is above belongs to nobody


def _composed(top: Path, draw: random.Random) -> None:
    """A repository of examples; each of several is in a folder."""
    (size,) = draw.choices(SIZES, cum_weights=list(accumulate(size.share for size in SIZES)))
    parts = draw.randint(size.least, size.most)
    for part in range(parts):
        copy(EXAMPLES / draw.choice(OWN), top / f"clusters/c{part}" if parts > 1 else top, draw)


def copy(source: Path, target: Path, draw: random.Random) -> None:
    """Copy the files that people write, with variation."""
    variation = _drawn(draw)
    for folder, folders, names in os.walk(source):
        folders[:] = sorted(name for name in folders if name != ".git")
        own = target / os.path.relpath(folder, source)
        for name in sorted(names):
            path = Path(folder, name)
            if path.is_symlink() or not name.endswith(TEXTS) or path.stat().st_size > MOST:
                continue
            data = variation.of(path.read_bytes())
            is_manifest = name.endswith((".yaml", ".yml")) and b"\nkind:" in data
            fate = draw.random() if is_manifest else 1.0
            if fate < 0.1:
                continue
            own.mkdir(parents=True, exist_ok=True)
            (own / name).write_bytes(data)
            if fate < 0.2:
                (own / f"again-{name}").write_bytes(data)


class Variation(NamedTuple):
    """How a copy differs: times as many nodes, other ranges, another version and name."""

    times: float
    range: int
    version: int
    name: int

    def of(self, data: bytes) -> bytes:
        """What becomes of the bytes of a file."""
        data = _COUNT.sub(lambda found: found[1] + b"%d" % max(1, int(int(found[2]) * self.times)), data)
        data = _RANGE.sub(lambda found: b"10.%d." % ((int(found[1]) + self.range) % 256), data)
        data = _VERSION.sub(lambda found: found[1] + b'"1.3%d"' % self.version, data)
        return _NAME.sub(lambda found: found[1] + b"%d" % self.name, data)


def _drawn(draw: random.Random) -> Variation:
    return Variation(draw.choice((0.5, 1, 1, 2, 3)), draw.randrange(200), draw.randint(1, 5), draw.randrange(1000))


def change(folder: Path, share: float) -> int:
    """Change a file in some of the repositories of a fleet, at least one; how many."""
    tops = sorted(folder.iterdir())
    count = max(1, round(len(tops) * share))
    changed = 0
    for top in tops[:: len(tops) // count]:
        path = next((path for path in sorted(top.rglob("*.tf")) if path.is_file()), None)
        if path is not None and changed < count:
            path.write_bytes(path.read_bytes() + b"\n# changed\n")
            changed += 1
    return changed
