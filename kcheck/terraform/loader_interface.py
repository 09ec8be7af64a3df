"""The interface between a module and its loader: variables, folders and files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from kcheck.terraform.configuration import Configuration
    from kcheck.terraform.filesystem import Files
    from kcheck.terraform.module import Module
    from kcheck.text.syntax.hcl import nodes
    from kcheck.text.values import Datum


class Inputs(Protocol):
    """The values that the variables of a module get from outside."""

    def get(self, name: str, /) -> Datum | None:
        """The value of a variable; None if not set."""


class Host(Protocol):
    """Who loads folders and files for modules."""

    def child(self, module: Module, block: nodes.Block) -> Configuration | str:
        """The configuration of a called module, or why it is unknown."""

    def files(self, root: Module) -> Files:
        """The files that the functions of a root module may read."""

    def locked(self, root: Module) -> dict[str, str]:
        """The versions of providers that a root module has locked."""
