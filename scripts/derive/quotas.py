"""profiles/*/quotas.yaml: whether the codes of the quotas are in the definition of the cloud's API, where it has one.

Compute Engine's has all metrics, so that new ones of accelerators are named as well; those by family (_PER_) are of
Cloud Quotas, and in the console only. Service Quotas' are in a module that is generated from its API, with new ones of
machines. The other clouds' codes are in their consoles only.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import yaml

from derive.gits import MissingError, tell, text_of

if TYPE_CHECKING:
    from pathlib import Path

REPOSITORY, PROTO = "googleapis/googleapis", "google/cloud/compute/v1/compute.proto"
MACHINES = r"ec2_(running_on_demand_\w+_instances|all_\w+_spot_instance_requests)$"
MODULE, CODES = "gruntwork-io/terraform-aws-utilities", "modules/request-quota-increase/main.tf"


def derive(gits: Path, profiles: Path) -> dict[Path, str]:
    """Nothing to write; names codes that an API does not have, and its accelerators that the file has not."""
    for cloud, compare in (("eks", _of_service_quotas), ("gke", _of_compute_engine)):
        try:
            compare(gits, profiles)
        except MissingError as error:
            tell(cloud, str(error))
    return {}


def _of_service_quotas(gits: Path, profiles: Path) -> None:
    text = text_of(gits, MODULE, CODES)[1]
    names = {code: name for name, code in re.findall(r'^ +(\w+) = \{\s+quota_code += "(L-\w+)"', text, re.MULTILINE)}
    own = [(profiles / "eks" / name).read_text(encoding="utf-8") for name in ("quotas.yaml", "limits.yaml")]
    codes = set(re.findall(r"code: (L-\w+)", "".join(own)))
    if gone := sorted(codes - set(names)):
        tell("eks", f"not in {CODES}: {', '.join(gone)}")
    if more := sorted(f"{code} ({names[code]})" for code in set(names) - codes if re.match(MACHINES, names[code])):
        tell("eks", f"quotas of machines that the API has and the file has not: {', '.join(more)}")


def _of_compute_engine(gits: Path, profiles: Path) -> None:
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
