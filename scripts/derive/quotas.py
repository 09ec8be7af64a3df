"""profiles/*/quotas.yaml: whether the codes of the quotas are in the definition of the cloud's API, where it has one.

Compute Engine's has all metrics, so that new ones of accelerators are named as well; those by family (_PER_) are of
Cloud Quotas, and in the console only, as are the other clouds' codes.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import yaml

from derive.gits import tell, text_of

if TYPE_CHECKING:
    from pathlib import Path

REPOSITORY, PROTO = "googleapis/googleapis", "google/cloud/compute/v1/compute.proto"


def derive(gits: Path, profiles: Path) -> dict[Path, str]:
    """Nothing to write; names codes that the API does not have, and its accelerators that the file has not."""
    own = yaml.safe_load((profiles / "gke" / "quotas.yaml").read_text(encoding="utf-8"))
    text = text_of(gits, REPOSITORY, PROTO)[1]
    metrics = set(
        re.findall(r"^ +([A-Z0-9_]+) = \d+;", text.partition("enum Metric {")[2].partition("}")[0], re.MULTILINE)
    )
    codes = {entry["code"].split()[0] for entry in own.values()}
    if gone := sorted(one for one in codes - metrics if "_PER_" not in one):
        tell("gke", f"not in {PROTO}: {', '.join(gone)}")
    if more := sorted(one for one in metrics - codes if re.match("NVIDIA_|TPU", one)):
        tell("gke", f"quotas of accelerators that the API has and the file has not: {', '.join(more)}")
    return {}
