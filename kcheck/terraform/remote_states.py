"""Roots joined by `data "terraform_remote_state"`: its outputs are those of the root that writes the state.

https://developer.hashicorp.com/terraform/language/state/remote-state-data
"""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING

from kcheck.config.numbers import profiles
from kcheck.terraform.module import REMOTE_STATE, Module
from kcheck.text.text import grouped
from kcheck.text.values import Known, known

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kcheck.terraform.resource import Instance

_KEYS = {
    "s3": ("bucket", "key"), "gcs": ("bucket", "prefix"), "azurerm": ("storage_account_name", "container_name", "key"),
    "oss": ("bucket", "prefix", "key"), "http": ("address",), "remote": ("organization", "name"),
}  # fmt: skip
"""Arguments of each backend that tell its states apart."""
_MOST = 20
"""Most roots that are joined to one."""


class States:
    """States of some roots, and the roots that read them."""

    def __init__(self, roots: list[Module]) -> None:
        self._roots = roots
        self._clusters = frozenset(profiles.other_clusters()["judged"])
        self._writers = grouped(roots, _written)
        self._homes: dict[Module, set[Module]] = {}
        self._parts = {root: {root.configuration.folder: root} for root in roots}

    def join(self) -> list[Module]:
        """Let roots read each other's states, and return those that are still roots of their own.

        A root without clusters becomes a part of each that reads its state, and one that reads the state of a single
        cluster becomes a part of that cluster's root.
        """
        for root in self._roots:
            root.state_of = partial(self._find, root, root)
        for root in self._roots:
            for _, instance in root.sources(REMOTE_STATE):
                root.state_of(instance)
        left = []
        for root in self._roots:
            homes = self._homes.get(root, set())
            if len(homes) == 1 and not self._creates(root):
                self._add(root, homes.pop(), root.configuration.folder)
            else:
                left.append(root)
        return left

    def _creates(self, root: Module) -> bool:
        return not self._clusters.isdisjoint(root.kinds())

    def _find(self, reader: Module, top: Module, instance: Instance) -> Module | None:
        """Find the root whose state a data source reads, as a part of `top`; None if that is not exactly one."""
        found, chosen = self._writers.get(_asked(reader, instance), []), instance.entry("workspace")
        wanted = known(chosen) if chosen is not None else top.environment
        if len(found) > 1:
            found = [one for one in found if wanted in (one.environment, one.workspace and known(one.workspace))]
        if len(found) != 1:
            return None
        root, folder, made = found[0], found[0].configuration.folder, self._parts[top]
        if folder not in made and self._creates(root):
            self._homes.setdefault(reader, set()).add(root)
        elif folder not in made and len(made) < _MOST:
            self._add(root, top, instance.address)
        return made.get(folder)

    def _add(self, root: Module, top: Module, address: str) -> None:
        """Make a root a part of another one."""
        own, inputs, workspace = root.configuration, root.inputs, root.workspace
        part = Module(own, inputs, root.host, address=address, environment=root.environment, workspace=workspace)
        self._parts[top][own.folder] = part
        part.state_of = partial(self._find, part, top)
        top.joined.append(part)


def _asked(reader: Module, instance: Instance) -> tuple[str, ...]:
    """Identify the state that a data source reads; empty if unknown."""
    backend, config = (instance.entry(name) for name in ("backend", "config"))
    if not isinstance(backend, Known) or not isinstance(config, Known) or not isinstance(config.value, dict):
        return ()
    found = {name: str(one.value) for name, one in config.value.items() if isinstance(one, Known)}
    inner = config.value.get("workspaces")
    if isinstance(inner, Known) and isinstance(inner.value, dict) and isinstance(inner.value.get("name"), Known):
        found["name"] = str(known(inner.value["name"]))
    return _identity(str(backend.value), found, reader.configuration.folder)


def _written(root: Module) -> tuple[str, ...]:
    """Identify the state that a root writes; empty if that is not in its code."""
    block = next(reversed(root.configuration.backends), None)
    if block is None:
        return _identity("local", {}, root.configuration.folder)
    bodies = [block.body, *(inner.body for inner in block.body.all("workspaces"))]
    literals = ((name, body.literal(name)) for body in bodies for name in body.attributes)
    found = {name: str(one.value) for name, one in literals if one is not None}
    kind = "remote" if block.type == "cloud" else "".join(block.labels)
    return _identity(kind, found, root.configuration.folder)


def _identity(backend: str, config: Mapping[str, str], folder: str) -> tuple[str, ...]:
    if backend == "local":
        return (backend, os.path.normpath(os.path.join(folder, config.get("path", "terraform.tfstate"))))
    keys = _KEYS.get(backend, ())
    return (
        (backend, *(config.get(key, "") for key in keys)) if all(config.get(k) for k in keys if k != "prefix") else ()
    )
