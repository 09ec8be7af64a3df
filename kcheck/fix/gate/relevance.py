"""Whether changed files can change findings; reads as little as possible."""

import os
import posixpath
import re
from collections.abc import Collection, Iterable, Iterator, Sequence

from kcheck.config.config import Config
from kcheck.config.locations import BASELINE, NAME, PROJECT
from kcheck.text.files import configurations, folders
from kcheck.text.files.disk import Disk, TooLargeError
from kcheck.text.files.patterns import matches
from kcheck.text.files.tree import (
    CHART,
    HCL,
    KERNEL,
    KUSTOMIZATIONS,
    MANIFESTS,
    TERRAFORM,
    VARIABLES,
    Tree,
    display_path,
    holds_objects,
)
from kcheck.text.regex import regex
from kcheck.text.syntax.scan import computed_paths
from kcheck.text.text import Source

SUFFIXES = (
    *HCL, *MANIFESTS, ".json", ".tftpl", ".tpl", ".tmpl",
    ".sh", ".conf", ".cfg", ".ini", ".env", ".properties", ".toml",
)  # fmt: skip
NAMES = ("Kustomization",)
"""Suffixes and whole names of files that may matter."""
_OTHERS = frozenset({
    "mkdocs.yml", "mkdocs.yaml", "_config.yml", "antora.yml", "docker-compose.yml", "docker-compose.yaml",
    "compose.yml", "compose.yaml", "azure-pipelines.yml", "bitbucket-pipelines.yml", "buildspec.yml", "appveyor.yml",
    "codecov.yml", "package.json", "package-lock.json", "pnpm-lock.yaml", "pnpm-workspace.yaml", "tsconfig.json",
    "renovate.json", "Cargo.toml", "cliff.toml", "netlify.toml", "poetry.toml", "ruff.toml", "mypy.ini", "pytest.ini",
    "setup.cfg", "tox.ini",
})  # fmt: skip
"""Files of other tools, never applied to a cluster."""
_OWN = (NAME, PROJECT, BASELINE, CHART, ".terraform.lock.hcl", *KUSTOMIZATIONS)


def can_change_findings(files: Iterable[str], paths: Sequence[str], config: Config, disk: Disk) -> bool:
    """Whether one of the files can change the findings of a run over `paths`."""
    return next(changing_files(files, paths, config, disk), None) is not None


def changing_files(files: Iterable[str], paths: Sequence[str], config: Config, disk: Disk) -> Iterator[str]:
    """Yield files that a run over `paths` reads, then files that these name."""
    places = (place.rpartition(":")[0] for place in config.places.values())
    own, unclear = {*(path for _, path in config.files()), *filter(None, places)}, []
    for path in map(display_path, files):
        matters = _matters(path, disk, config.exclude, own)
        if matters:
            yield path
        elif matters is None:
            unclear.append(path)
    if unclear:
        tree = Tree(list(paths), disk.overlay, config.exclude, config.boundary)
        is_any = bool(tree.units)  # Terragrunt finds files upwards, by any name
        yield from (path for path in unclear if is_any or _is_named(path, tree))


def _matters(path: str, disk: Disk, exclude: Collection[str], own: Collection[str]) -> bool | None:
    """Whether a file matters; None if only references decide."""
    if any(matches(path, pattern) for pattern in exclude):
        return False
    name = os.path.basename(path)
    if name in _OWN or path.endswith((*TERRAFORM, *VARIABLES)) or any(matches(path, one) for one in own):
        return True
    if name.endswith(HCL) and not name.startswith("."):
        return True
    if not folders.is_reached(os.path.dirname(path)):
        return False
    if name.endswith((*MANIFESTS, ".json")) and holds_objects(_read(path, disk)):
        return True
    if name.endswith(".conf") and KERNEL.search(path):
        return True
    if configurations.may_be(path) and configurations.kind_of(path, _read(path, disk)):
        return True
    if name.startswith(".") or name in _OTHERS or not name.endswith(SUFFIXES):
        return False
    return True if _is_of_chart(path, disk) else None


def _read(path: str, disk: Disk) -> bytes:
    try:
        return disk.read(path) or b""
    except TooLargeError:  # then nobody reads it
        return b""


def _is_of_chart(path: str, disk: Disk) -> bool:
    folder = os.path.dirname(path)
    while folder not in ("", os.sep) and folder != os.path.dirname(folder):
        if disk.is_file(os.path.join(folder, CHART)):
            return True
        folder = os.path.dirname(folder)
    return False


_PIECE = regex(r"\$\{[^{}]*\}|\*+")


def _is_named(path: str, tree: Tree) -> bool:
    """Whether other code names a file, or may compute its name."""
    name = os.path.basename(path).encode()
    terraform = [source for folder in tree.folders for source in folder.terraform]
    others = [*tree.manifests, *filter(None, map(tree.source, tree.kustomizations))]
    named = (name in source.data for source in (*terraform, *others))
    return any(named) or any(_may_name(source, path) for source in terraform)


def _may_name(source: Source, path: str) -> bool:
    """Whether a Terraform expression may return the file's path; true if unknown."""
    texts = computed_paths(source.data)
    return texts is None or any(_may_be_path(text, path, source) for text in texts)


def _may_be_path(text: str, path: str, source: Source) -> bool:
    """Whether a text with computed parts or stars may be a path, by its literal parts."""
    parts = _PIECE.split(text.rpartition("../")[2])
    if not re.search(".*".join(map(re.escape, parts)) + "$", f"/{path}"):
        return False
    bare = not re.search(r"\w", "".join(parts).rpartition(".")[0])
    own = bare and (text.startswith("${path.module}") or not text.startswith("${"))  # its folder, or one below
    return not own or path.startswith(posixpath.join(posixpath.dirname(source.path), ""))
