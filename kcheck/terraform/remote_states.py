"""Joins roots by `data "terraform_remote_state"`.

https://developer.hashicorp.com/terraform/language/state/remote-state-data
"""

import os
from collections.abc import Callable, Iterator, Mapping
from functools import cache, partial

from kcheck.config.numbers import profiles
from kcheck.terraform.evaluator import evaluate
from kcheck.terraform.module import REMOTE_STATE, Module
from kcheck.terraform.resource import Instance
from kcheck.terraform.roots import Loader
from kcheck.text.partly_known import members
from kcheck.text.regex import regex
from kcheck.text.syntax.hcl.nodes import Body
from kcheck.text.syntax.hcl.parse import parse
from kcheck.text.values import Datum, Known

_KEYS = {
    "s3": ("bucket", "key"), "gcs": ("bucket", "prefix"), "azurerm": ("storage_account_name", "container_name", "key"),
    "oss": ("bucket", "prefix", "key"), "http": ("address",), "remote": ("organization", "name"),
}  # fmt: skip
"""Arguments of each backend that tell its states apart."""
_BACKEND = regex(
    r"(?:^|/)(?P<name>[^/.]+)(?:/backend[^/]*\.(?:hcl|tfvars)|\.(?:[^/]*\.)?tfbackend)$"
    r"|^(?:backends?/|backend[-_]?)(?P<own>[^/.]*)\.(?:hcl|tfvars)$"
)
"""Files for `-backend-config`, by the environment that they are named after."""
_MOST = 20
"""Most roots that are joined to one."""


class States:
    """States of some roots, and the roots that read them."""

    def __init__(self, roots: list[Module], bound: Callable[[Module, str], Module], loader: Loader) -> None:
        self._bound = bound
        self._clusters = frozenset(profiles.other_clusters()["judged"])
        self._writers: dict[tuple[str, ...], list[tuple[Module, str]]] = {}
        folders = {one.path for one in loader.tree.folders}
        beside = cache(lambda folder: list(_beside(folder, folders, loader)))
        for root in roots:
            for name, identity in _written(root, beside):
                self._writers.setdefault(identity, []).append((root, name))
        self._homes: dict[Module, set[Module]] = {}
        self._parts = {root: {root.configuration.folder: root} for root in roots}

    def join(self) -> list[Module]:
        """Let roots read each other's states; return those that stay roots.

        A root without clusters becomes a part of each root that reads its state. A root that reads the state of a
        single cluster becomes a part of that cluster's root.
        """
        for root in self._parts:
            root.state_of = partial(self._find, root, root)
        for root in self._parts:
            for _, instance in root.sources(REMOTE_STATE):
                root.state_of(instance)
        homes = {root: own.pop() for root, own in self._homes.items() if len(own) == 1 and not self._creates(root)}
        for root, home in homes.items():
            if root in self._parts:
                self._add(root, home, root.configuration.folder)
        return [root for root in self._parts if root not in homes]

    def _creates(self, root: Module) -> bool:
        return not self._clusters.isdisjoint(root.kinds())

    def _find(self, reader: Module, top: Module, instance: Instance) -> Module | None:
        """Find the one root whose state a data source reads; else None."""
        config = members(instance.entry("config"))
        asked = _identity(_text(instance.entry("backend")), config | members(config.get("workspaces")), reader)
        wanted = _text(instance.entry("workspace")) or top.environment
        found = self._writers.get(asked, []) if asked else []
        if len(found) > 1:
            found = [one for one in found if wanted in (one[1] or one[0].environment, _text(one[0].workspace))]
        if len(found) != 1:
            return None
        (root, name), parts = found[0], self._parts[top]
        folder = root.configuration.folder
        if folder not in parts and self._creates(root):
            self._homes.setdefault(reader, set()).add(root)
        elif folder not in parts and len(parts) < _MOST:
            self._add(root, top, instance.address, name)
        return parts.get(folder)

    def _add(self, root: Module, top: Module, address: str, name: str = "") -> None:
        """Add a root as a part of another one, in an environment."""
        root = self._bound(root, name or top.environment)
        own, inputs, workspace = root.configuration, root.inputs, root.workspace
        part = Module(own, inputs, root.host, address=address, environment=root.environment, workspace=workspace)
        self._parts[top][own.folder] = part
        part.state_of = partial(self._find, part, top)
        top.joined.append(part)


def _written(root: Module, beside: Callable[[str], list[tuple[str, Body]]]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the states that a root writes, by environment."""
    if not root.configuration.backends:
        yield "", _identity("local", {}, root)
        return
    block = root.configuration.backends[-1]
    bodies = (block.body, *(inner.body for inner in block.body.all("workspaces")))
    config = {name: one for body in bodies for name, one in _values(body, root).items()}
    whole = not config.keys().isdisjoint(("key", "prefix", "address", "name"))
    files = [] if whole else beside(root.configuration.folder)
    given = [(name, _values(body, root)) for name, body in files if root.environment in ("", name)]
    for name, more in given or [("", {})]:
        yield name, _identity("".join(block.labels) or "remote", config | more, root)


def _values(body: Body, root: Module) -> dict[str, Datum]:
    return {name: evaluate(one.expression, root.scope) for name, one in body.attributes.items()}


def _beside(folder: str, folders: set[str], loader: Loader) -> Iterator[tuple[str, Body]]:
    """Yield the files for `-backend-config` beside a root, by environment.

    https://developer.hashicorp.com/terraform/language/backend#partial-configuration
    """
    for path in loader.tree.disk.walk(folder):
        match = _BACKEND.search(os.path.relpath(path, folder))
        if match and (os.path.dirname(path) == folder or os.path.dirname(path) not in folders):
            source = loader.tree.source(path)
            if source is not None:
                yield match["name"] or match["own"] or "", parse(source).body


def _identity(backend: str, config: Mapping[str, Datum], root: Module) -> tuple[str, ...]:
    """Identify a state by its backend and its arguments; empty if unknown."""
    if backend == "local":
        path = _text(config["path"]) if "path" in config else "terraform.tfstate"
        return (backend, os.path.normpath(os.path.join(root.configuration.folder, path))) if path else ()
    found = {key: _text(config.get(key)) for key in _KEYS.get(backend, ())}
    return (backend, *found.values()) if found and all(found[key] or key == "prefix" for key in found) else ()


def _text(datum: Datum | None) -> str:
    return str(datum.value) if isinstance(datum, Known) else ""
