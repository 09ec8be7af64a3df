"""Which folders are read, by name, and relevant skipped ones."""

import os
from collections.abc import Callable, Iterable
from itertools import pairwise

from kcheck.text.files import system
from kcheck.text.text import Skipped

FOREIGN = frozenset({"vendor", "testdata"})
"""Folders of third-party or deliberately broken files, where people also put Terraform and manifests."""
_FETCHED = ".terraform"
_COPIES = frozenset({_FETCHED, ".external_modules"})
"""Folders with copies of modules, which are read if a source leads there."""
_WITHOUT = FOREIGN | _COPIES | {
    "node_modules", "__pycache__", "site-packages", "venv",
    ".git", ".hg", ".svn", ".bzr", ".jj",
    ".terragrunt-cache", ".terragrunt-stack", ".kitchen",
    ".cache", ".tox", ".nox", ".venv", ".env", ".virtualenv", ".eggs", ".npm", ".yarn", ".pnpm-store", ".gradle", ".m2",
    ".mvn", ".cargo", ".rustup", ".bundle", ".next", ".nuxt", ".serverless", ".aws-sam", ".direnv", ".devenv",
    ".devbox", ".ipynb_checkpoints", ".dart_tool", ".stack-work", ".sonar", ".nyc_output", ".minikube",
    ".idea", ".vscode", ".vscode-test", ".vs", ".fleet", ".zed", ".cursor", ".history", ".settings", ".metadata",
    ".snapshots", ".Trash", ".trash", ".Trashes", ".Spotlight-V100",
}  # fmt: skip
"""Folders that are never entered. The list is closed, as teams also put manifests into hidden folders."""
_WORKFLOWS = (".github", "workflows")
_DEPTH, _ENTRIES = 3, 200


def is_ours(folder: str) -> bool:
    """Whether a folder is entered, judging by its name."""
    return folder not in _WITHOUT and not (folder[0] == "." and folder.endswith("_cache"))


def may_be_read(path: str) -> bool:
    """Whether a walk or a module's source may lead to a folder."""
    above, name = os.path.split(path)
    if os.path.basename(above) == _FETCHED:
        return name == "modules"
    return is_ours(name) or name in FOREIGN or name in _COPIES


def is_workflows(path: str) -> bool:
    """Whether a folder contains GitHub workflows, which are YAML but not manifests."""
    above, name = os.path.split(path)
    return (os.path.basename(above), name) == _WORKFLOWS


def is_reached(path: str) -> bool:
    """Whether a walk reaches a folder, judging by its name and its parents' names."""
    names = [name for name in path.split("/") if name]
    return all(map(is_ours, names)) and _WORKFLOWS not in pairwise(names)


def holds(folder: str, wanted: Callable[[str], bool]) -> bool:
    """Whether a folder seems to contain a wanted file, by a limited search."""
    level, left = [folder], _ENTRIES
    for _ in range(_DEPTH):
        inner: list[str] = []
        for path in level:
            try:
                entries = system.entries(path)
            except OSError:
                continue
            for name, is_folder in entries:
                left -= 1
                if left < 0:
                    return False
                entry = os.path.join(path, name)
                if is_folder and not os.path.islink(entry):
                    inner.append(entry)
                elif wanted(entry):
                    return True
        level = inner
    return False


def note(names: Iterable[str]) -> Skipped:
    """Make the note on skipped folders with these names."""
    found = list(names)
    kinds = ", ".join(f"{name}/" for name in sorted(set(found)))
    count = "1 folder" if len(found) == 1 else f"{len(found):,} folders"
    reason = f"third-party code or test data, not read ({count})"
    return Skipped(kinds, reason, remedy="give one as PATH to read it", by_choice=True)
