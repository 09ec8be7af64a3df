"""Raw manifests and resources, for the rules of an organisation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from kcheck.model.base import Thing

if TYPE_CHECKING:
    from kcheck.text.values import Record
    from kcheck.text.yaml_nodes import Mapping


class Manifest(Thing, frozen=True):
    """A Kubernetes object as it is written."""

    kind: str
    api_version: str
    tree: Mapping


class Resource(Thing, frozen=True, eq=False):
    """An instance of a Terraform resource; `module` is the address of its module."""

    type: str
    address: str
    module: str
    record: Record


class Raw(Struct, frozen=True):
    """Kinds of objects and types of resources that raw rules need; None stands for all."""

    kinds: frozenset[str] | None = frozenset()
    types: frozenset[str] | None = frozenset()
