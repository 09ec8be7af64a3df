"""Pull-through cache rules of ECR."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcheck.config.numbers.fields import Fields
from kcheck.inventory.clouds.registry_caches import mirror
from kcheck.text.values import known

if TYPE_CHECKING:
    from kcheck.model import Mirror
    from kcheck.terraform.module import Module
    from kcheck.terraform.resource import Instance

KIND = "aws_ecr_pull_through_cache_rule"


def read(root: Module, instance: Instance) -> Mirror | None:
    """A cache of a whole registry, below a prefix or at the top."""
    fields = Fields("eks", KIND, instance)
    prefix = known(fields.text("prefix")) or "<prefix>"
    parts = ("<account>.dkr.ecr.<region>.amazonaws.com", None if prefix == "ROOT" else prefix)
    return mirror(root, instance, "eks", known(fields.text("upstream")), "", parts)
