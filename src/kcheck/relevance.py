"""Whether files that have changed can change what is found, told without reading more than needed."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from kcheck import settings
from kcheck.baseline import NAME as BASELINE
from kcheck.files import CHART, KUSTOMIZATIONS, MANIFESTS, TERRAFORM, VARIABLES, Tree, holds_objects, is_ours, matches

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from kcheck.config import Config
    from kcheck.disk import Disk

_OWN = (settings.NAME, settings.PROJECT, BASELINE, CHART, ".terraform.lock.hcl", *KUSTOMIZATIONS)


def matters(files: Iterable[str], paths: Sequence[str], config: Config, disk: Disk) -> bool:
    """Whether one of the files is read in a run over some paths, or named by what is."""
    unclear = []
    for path in files:
        if any(matches(path, pattern) for pattern in config.exclude):
            continue
        name = os.path.basename(path)
        if name in _OWN or path.endswith((*TERRAFORM, *VARIABLES)) or any(matches(path, own) for own in config.rules):
            return True
        if not all(is_ours(folder) for folder in os.path.dirname(path).split("/") if folder):
            continue
        if name.endswith((*MANIFESTS, ".json")) and holds_objects(disk.read(path) or b""):
            return True
        if _is_of_chart(path, disk):
            return True
        unclear.append(name.encode())
    return bool(unclear) and _is_named(unclear, Tree(list(paths), disk.overlay, config.exclude))


def _is_of_chart(path: str, disk: Disk) -> bool:
    """Whether a file is below a folder that is a chart."""
    folder = os.path.dirname(path)
    while folder:
        if disk.is_file(os.path.join(folder, CHART)):
            return True
        folder = os.path.dirname(folder)
    return False


_COMPUTED = re.compile(rb"\bfileset\(|\}[\w.-]*\.(?:ya?ml|json|tftpl|tpl|tmpl)\b")
"""Names of files that are not written as they are."""


def _is_named(names: list[bytes], tree: Tree) -> bool:
    """Whether Terraform, a kustomization or a manifest has the name of a file in it, or may work it out."""
    sources = [source for folder in tree.folders for source in folder.terraform] + tree.manifests
    sources += filter(None, map(tree.source, tree.kustomizations))
    return any(_COMPUTED.search(s.data) or any(name in s.data for name in names) for s in sources)
