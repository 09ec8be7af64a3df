"""The declarations in the files of one folder, before evaluation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from kcheck.text.syntax.hcl import nodes
    from kcheck.text.text import Problem
    from kcheck.text.values import Datum

Key = tuple[str, str]

CALL_ARGUMENTS = frozenset({"source", "version", "count", "for_each", "providers", "depends_on"})
"""What Terraform itself takes from the call of a module."""


class Configuration(Struct):
    """The declarations of a folder's files, before evaluation.

    `incomplete` says that a piece could not be read: nothing may then be concluded from absence. `old` code is for
    Terraform before 0.12. A `skeleton`
    stands for a module that others publish; it declares what matters and nothing else, and its version may have
    other `defaults`, and lack some variables. A copy of such a module has the `top` folder outside which nothing is
    read.
    Where neither is there, a skeleton of its arguments stands in: `unread` says why, `inputs` are the spellings of its
    variables in the call, and a `partial` one may lack node pools.
    """

    folder: str
    variables: dict[str, nodes.Block] = {}
    locals: dict[str, nodes.Attribute] = {}
    resources: dict[Key, nodes.Block] = {}
    data: dict[Key, nodes.Block] = {}
    calls: dict[str, nodes.Block] = {}
    outputs: dict[str, nodes.Block] = {}
    providers: list[nodes.Block] = []
    required: list[nodes.Block] = []
    problems: list[Problem] = []
    incomplete: bool = False
    old: bool = False
    skeleton: bool = False
    defaults: dict[str, Datum] = {}
    lacks: frozenset[str] = frozenset()
    top: str = ""
    unread: str = ""
    inputs: dict[str, tuple[str, ...]] = {}
    partial: bool = False

    @property
    def published(self) -> bool:
        """Whether others maintain it: nothing is reported in it, its call stands for it."""
        return self.skeleton or bool(self.top)

    def add(self, file: nodes.File, *, override: bool = False) -> None:
        """Add one `.tf` file; an override file changes earlier declarations."""
        self.problems += file.problems
        self.incomplete = self.incomplete or bool(file.problems)
        for block in file.body.blocks:
            if block.type == "locals":
                for name, entry in block.body.attributes.items():
                    self.locals[name] = entry
                continue
            if block.type == "provider":
                self.providers.append(block)
            if block.type == "terraform":
                self.required += block.body.all("required_providers")
            found = self._table(block)
            if found is None:
                continue
            table, key = found
            if override and key in table:
                _merge(table[key], block)
            else:
                table[key] = block

    def _table(self, block: nodes.Block) -> tuple[dict[str | Key, nodes.Block], str | Key] | None:
        labels = block.labels
        single = {"variable": self.variables, "module": self.calls, "output": self.outputs}
        double = {"resource": self.resources, "data": self.data}
        if block.type in single and len(labels) == 1:
            return single[block.type], labels[0]  # type: ignore[return-value]
        if block.type in double and len(labels) == 2:
            return double[block.type], (labels[0], labels[1])  # type: ignore[return-value]
        return None


def is_override(name: str) -> bool:
    """Whether a file is an override file."""
    stem = name.removesuffix(".json").removesuffix(".tf")
    return stem == "override" or stem.endswith("_override")


def _merge(base: nodes.Block, override: nodes.Block) -> None:
    """Terraform's merging: attributes replace attributes, nested blocks all blocks of their type."""
    base.body.attributes.update(override.body.attributes)
    replaced = {block.type for block in override.body.blocks}
    base.body.blocks = [block for block in base.body.blocks if block.type not in replaced] + override.body.blocks
