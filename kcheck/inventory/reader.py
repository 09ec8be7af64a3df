"""Read a tree, and join Terraform and Kubernetes into one inventory."""

from __future__ import annotations

import os
from importlib import import_module
from itertools import islice
from typing import TYPE_CHECKING

from kcheck.inventory import assignment
from kcheck.inventory.clouds import registry
from kcheck.inventory.reading import Reading
from kcheck.model import Inventory, Raw
from kcheck.text.files.configurations import BLUEPRINT, CLOUDFORMATION, COMMAND, COMMANDS, EKS, SCRIPT
from kcheck.text.text import Skipped

if TYPE_CHECKING:
    from kcheck.config.config import Config
    from kcheck.inventory.reading import Kept
    from kcheck.text.files.tree import Tree

_NAMED = (
    (CLOUDFORMATION, EKS, "CloudFormation is not read"),
    (COMMANDS, COMMAND, "the flags of commands are not read; kcheck judges Terraform and manifests"),
)
"""File kinds whose first cluster is reported, its pattern, and why it is not judged."""
_HELM_ASKED = "settings of a repository do not run helm"
_NOTHING_RAW = Raw()


def read(tree: Tree, config: Config, wanted: Raw = _NOTHING_RAW, kept: Kept | None = None) -> Reading:
    """Read the Terraform and manifests of a tree into one inventory, with the `wanted` raw things.

    `kept` reuses what the previous run read of unchanged files.
    """
    before = kept.terraform(tree) if kept is not None else None
    reading = before or Reading(Inventory(), [], {}, [])
    if before is None and (tree.folders or tree.plans or tree.units or BLUEPRINT in tree.configurations):
        from kcheck.inventory import terraform

        terraform.read(tree, config, reading, wanted)
        if kept is not None:
            kept.keep_terraform(tree, reading)
    if tree.manifests or tree.kustomizations or tree.charts:
        from kcheck.inventory import manifests

        rendered = manifests.render_charts(tree, config, reading) if tree.charts else []
        if tree.manifests or tree.kustomizations or rendered:
            manifests.read(tree, reading, rendered, wanted, kept)
        if tree.charts:
            manifests.read_charts(tree, reading)
        reading.skipped += manifests.unrendered(reading)
    if tree.configurations:
        _configurations(tree, reading)
    if reading.charts is not None:
        reading.problems += reading.charts.problems
        reading.sources += reading.charts.sources
    kustomized = map(os.path.dirname, tree.kustomizations)
    reading.inventory.rendered = frozenset((*tree.charts, *kustomized, *reading.templates))
    assignment.assign_clusters(reading.inventory, config)
    if any(addon.tree is not None for addon in reading.inventory.addons):
        import_module("kcheck.inventory.clouds.karpenter").read(reading.inventory)
    if tree.charts and config.render_refused:
        reading.skipped.append(Skipped(config.places["render"], _HELM_ASKED, remedy="--render helm does"))
    reading.skipped = [*tree.skipped, *reading.skipped]
    reading.finish()
    if kept is not None:
        kept.sources = {real: source for real, source in tree.sources().items() if source is not None}
    return reading


def _configurations(tree: Tree, reading: Reading) -> None:
    """Read clusters from files of other tools."""
    scripts = [source for source in tree.configurations.get(SCRIPT, ()) if source not in reading.asked]
    if scripts:
        from kcheck.kubernetes import boot_scripts

        found = [item for source in scripts for item in boot_scripts.objects(boot_scripts.whole(source))]
        registry.read_objects(found, reading.inventory, tree.kernel)
    for cloud in registry.every():
        if not tree.configurations.keys().isdisjoint(cloud.files):
            reading.skipped += cloud.read_files(tree.configurations, reading.inventory)
            cloud.read_kernel(tree.kernel, reading.inventory)
    for kind, pattern, why in _NAMED:
        for source in tree.configurations.get(kind, ()):
            for match in islice(pattern.finditer(source.data), 1):
                place = source.span(*match.span(1))
                reading.skipped.append(registry.unjudged(place, place.text, why))
    reading.sources += [source for sources in tree.configurations.values() for source in sources]
