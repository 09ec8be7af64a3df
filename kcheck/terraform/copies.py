"""Code of published modules: in the repository itself or in a local copy.

Copies are those fetched by `terraform init` (`.terraform/modules/modules.json`) and those in `--module-dir` folders.
They are read like skeletons: findings in them are reported at the call.
"""

import os
import re
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

from kcheck.config.config import ConfigError
from kcheck.terraform.configuration import CALL_ARGUMENTS, Configuration
from kcheck.terraform.module import Module
from kcheck.text.files import system
from kcheck.text.files.boundary import contains_path, git_folders, git_line, git_text
from kcheck.text.files.disk import TooLargeError
from kcheck.text.files.tree import TERRAFORM, Tree, display_path
from kcheck.text.regex import regex
from kcheck.text.syntax.hcl import nodes
from kcheck.text.syntax.hcl.parse import parse
from kcheck.text.text import Source

_REGISTRY = regex(r"(?:([\w-]+(?:\.[\w-]+)+)/)?([\w-]+)/([\w-]+)/([\w-]+)(?://([^?]*))?")
_REPOSITORY = regex(
    r"(?:git::)?(?:(?:https?|ssh|git)://)?(?:[\w.-]+@)?([\w-]+(?:\.[\w-]+)+)(?::\d+)?[:/]"
    r"([\w.~-]+(?:/[\w.~-]+)*)/?(?://([^?]*))?(?:\?.*)?"
)
_ORIGIN = regex(r'^\[remote "origin"\][^\[]*?^[ \t]*url[ \t]*=[ \t]*(\S+)', re.MULTILINE)
_HOSTS = ("github.com", "gitlab.com", "bitbucket.org")
"""Repository hosts that Terraform recognises without `git::`."""
_COMMIT = regex(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")


class Address(NamedTuple):
    """Module source: `path` in a registry or on a `host`, with the `folder` below it."""

    host: str
    path: str
    repository: str
    folder: str


def canonical(source: str) -> str:
    """Rewrite a GitHub source so that its folder follows `//`."""
    steps = source.split("/", 3)
    if steps[0] != "github.com" or len(steps) < 4 or "//" in source:
        return source
    name, _, query = steps[2].partition("?")
    return f"github.com/{steps[1]}/{name}//{steps[3]}" + (f"?{query}" if query else "")


def parse_address(source: str) -> Address | None:
    """Parse a registry or repository source; None for any other."""
    source = canonical(source)
    found = _REGISTRY.fullmatch(source)
    if found is not None and (found[1] or "") not in _HOSTS:
        host, owner, name, provider, folder = found.groups(default="")
        path = f"{owner}/{name}/{provider}"
        return Address(host or "registry.terraform.io", path, f"{owner}/terraform-{provider}-{name}", folder)
    found = _REPOSITORY.fullmatch(source)
    if found is None or not (source.startswith(("git", *_HOSTS)) or "://" in source):
        return None
    host, path, folder = found[1], found[2].removesuffix(".git"), found[3] or ""
    return Address(host, path, path, folder)


class Own(NamedTuple):
    """Folder of this repository; not `certain` if only its name matches."""

    path: str
    certain: bool


class Copies:
    """Finds and reads copies of published modules."""

    def __init__(self, tree: Tree, folders: tuple[str, ...]) -> None:
        self._tree = tree
        self._folders = folders
        self._read: dict[str, Configuration | None] = {}
        self._fetched = cache(self._in_terraform)
        self._origin = cache(remote)
        for folder in folders:
            if not tree.disk.is_folder(folder):
                raise ConfigError(f"--module-dir {folder}: there is no such folder")

    def holds(self, folder: str) -> bool:
        """Whether a folder is inside a `--module-dir`."""
        return any(contains_path(top, folder) for top in self._folders)

    def find(self, module: Module, block: nodes.Block, source: str) -> Configuration | None:
        """Find the declarations of a module's copy; None without a copy."""
        for top, path in self._places(module, block, source):
            found = self.read(path, top)
            if found is not None:
                return found
        return None

    def _places(self, module: Module, block: nodes.Block, source: str) -> Iterator[tuple[str, str]]:
        address = parse_address(source)
        for top in self._folders:
            names = _names(address) if address is not None else ()
            for name in names:
                yield top, os.path.join(top, name)
            yield top, os.path.join(top, block.labels[0])
        root = module.root.configuration.folder
        fetched, folder = self._fetched(root).get(_key(module, block), ("", ""))
        if folder and _same(fetched, source):
            yield self._tree.repository(root), os.path.join(root, folder)

    def _in_terraform(self, root: str) -> dict[str, tuple[str, str]]:
        """Read the modules fetched by `terraform init`: source and folder by call path."""
        return dict(self._listed(os.path.join(root, ".terraform", "modules", "modules.json")))

    def _listed(self, path: str) -> Iterator[tuple[str, tuple[str, str]]]:
        import json

        try:
            data = json.loads(self._tree.disk.read(path) or b"{}")
        except (TooLargeError, ValueError, RecursionError):
            return
        rows = data.get("Modules") if isinstance(data, dict) else None
        for row in rows if isinstance(rows, list) else ():
            members = row if isinstance(row, dict) else {}
            match members.get("Key"), members.get("Source"), members.get("Dir"):
                case str(key), str(source), str(folder) if "\0" not in folder:
                    yield key, (source, folder)

    def read(self, path: str, top: str) -> Configuration | None:
        """Read the declarations of a copy; None without Terraform files."""
        real = system.real_path(path)
        if real not in self._read:
            self._read[real] = self._configuration(os.path.normpath(path), top)
        return self._read[real]

    def _configuration(self, path: str, top: str) -> Configuration | None:
        if not contains_path(top, path):
            return None
        entries = self._tree.disk.entries(path)
        if entries is None:
            return None
        result = Configuration(display_path(path), top=top)
        files: list[tuple[str, nodes.File]] = []
        for entry in entries:
            if entry.is_folder or not entry.name.endswith(TERRAFORM) or not contains_path(top, entry.path):
                continue
            try:
                data = self._tree.disk.read(entry.path)
            except TooLargeError:
                data = None
            if data is None:
                result.gap = f"{display_path(entry.path)} could not be read"
            else:
                files.append((entry.name, parse(Source(display_path(entry.path), data, bundled=True))))
        result.add_all(files)
        return result if result.variables or result.resources or result.calls else None

    # --- the repository at hand

    def own_folder(self, caller: str, source: str) -> Own | None:
        """Find the folder of the caller's own repository that a source may name."""
        address = parse_address(source)
        if address is None:
            return None
        top = self._tree.repository(caller)
        path = os.path.normpath(os.path.join(top, address.folder))
        if not contains_path(top, path):
            return None
        origin, repository = self._origin(top).lower(), address.repository.lower()
        same_name = os.path.basename(system.real_path(top)).lower().endswith(repository.rpartition("/")[2])
        if origin == repository or (not origin and (address.folder or same_name)):
            return Own(display_path(path), certain=bool(origin))
        return None


def revision(folder: str) -> str:
    """Return the commit recorded in git's files; empty without one."""
    git, shared = git_folders(folder)
    head = git_line(os.path.join(git, "HEAD")).strip()
    if not head.startswith("ref: refs/"):
        return head if _COMMIT.fullmatch(head) else ""
    name = head.removeprefix("ref: ")
    if ".." in name.split("/"):
        return ""
    packed = (line.partition(" ") for line in git_text(os.path.join(shared, "packed-refs")).splitlines())
    found = [git_line(os.path.join(shared, *name.split("/"))), *(one for one, _, ref in packed if ref == name)]
    return next((commit for commit in found if _COMMIT.fullmatch(commit)), "")


def remote(folder: str) -> str:
    """Return the path of a clone's URL without host; empty if unknown."""
    found = _ORIGIN.search(git_text(os.path.join(git_folders(folder)[1], "config")))
    address = parse_address(found[1]) if found else None
    return address.path if address else ""


def is_call_of(block: nodes.Block, configuration: Configuration) -> bool:
    """Whether a call sets all required variables of a folder and no undeclared ones."""
    given = block.body.attributes.keys() - CALL_ARGUMENTS
    return len(given) > 1 and configuration.needed <= given <= configuration.variables.keys()


def _names(address: Address) -> tuple[str, ...]:
    names = (f"{address.host}/{address.path}", address.path, address.repository, address.repository.rpartition("/")[2])
    return tuple(dict.fromkeys(os.path.join(name, address.folder) for name in names))


def _key(module: Module, block: nodes.Block) -> str:
    """Return the dotted call path of a module, as in modules.json."""
    labels = [block.labels[0], *(one.block.labels[0] for one in module.callers() if one.block is not None)]
    return ".".join(reversed(labels))


def _same(listed: str, source: str) -> bool:
    return listed == source or (
        parse_address(listed) == parse_address(source) is not None
        and listed.partition("?")[2] == source.partition("?")[2]
    )
