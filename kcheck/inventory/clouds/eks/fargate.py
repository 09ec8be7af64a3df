"""Fargate profiles of EKS, whose pods get no node of the cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcheck.inventory.clouds.eks import addon_settings
from kcheck.model import NOTHING
from kcheck.text.values import Known, Origin, Value, known

if TYPE_CHECKING:
    from kcheck.config.numbers.fields import Fields
    from kcheck.terraform.resource import Instance

KIND = "aws_eks_fargate_profile"


def of_cluster(profiles: list[Fields], name: Value[str], cluster: Instance) -> Value[tuple[str, ...]]:
    """Return the names of a cluster's profiles; Unset if it has none."""
    return named([one for one in profiles if addon_settings.belongs(one, name, cluster)])


def named(profiles: list[Fields]) -> Value[tuple[str, ...]]:
    """Return the names of profiles; Unset if there are none."""
    if not profiles:
        return NOTHING
    names = (known(one.text("name")) or "without a name" for one in profiles)
    return Known(tuple(dict.fromkeys(names)), Origin((profiles[0].record.span,)))
