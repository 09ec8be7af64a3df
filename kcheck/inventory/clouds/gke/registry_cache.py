"""Remote repositories of Artifact Registry."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcheck.config.numbers.fields import Fields
from kcheck.inventory.clouds.registry_caches import mirror
from kcheck.text.values import known

if TYPE_CHECKING:
    from kcheck.model import Mirror
    from kcheck.terraform.module import Module
    from kcheck.terraform.resource import Instance

KIND = "google_artifact_registry_repository"


def read(root: Module, instance: Instance) -> Mirror | None:
    """A cache of a whole registry; None for a repository of another mode."""
    fields = Fields("gke", KIND, instance)
    if known(fields.text("mode")) != "REMOTE_REPOSITORY":
        return None
    host = f"{known(fields.text('location')) or '<location>'}-docker.pkg.dev"
    parts = (host, known(fields.text("project")) or "<project>", known(fields.text("id")) or "<repository>")
    return mirror(root, instance, "gke", known(fields.text("upstream")), "", parts)
