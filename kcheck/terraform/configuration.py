"""Declarations in one folder's files, before evaluation."""

from collections.abc import Iterable

from msgspec import Struct
from msgspec.structs import replace

from kcheck.text.syntax.hcl import nodes
from kcheck.text.text import Problem
from kcheck.text.values import Datum

Key = tuple[str, str]

CALL_ARGUMENTS = frozenset({"source", "version", "count", "for_each", "providers", "depends_on"})
"""Arguments of a module call that Terraform itself uses."""


class Configuration(Struct):
    """Declarations of a folder's files, before evaluation.

    `gap`: what could not be read, so that nothing follows from absence. `old`: written for Terraform before 0.12.
    `skeleton`: stands for a published module and declares only what matters; its version may have other `defaults`
    and may lack variables (`lacks`). `top`: for a copy of a published module, nothing outside this folder is read.
    A module without skeleton or copy gets a stand-in made from its arguments: `unread` says why, `inputs` maps its
    variables to their spellings in the call, and a `partial` one may lack node pools. `has_settings`: it has a
    `terraform` or `provider` block.
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
    backends: list[nodes.Block] = []
    problems: list[Problem] = []
    gap: str = ""
    old: bool = False
    skeleton: bool = False
    defaults: dict[str, Datum] = {}
    lacks: frozenset[str] = frozenset()
    top: str = ""
    unread: str = ""
    inputs: dict[str, tuple[str, ...]] = {}
    partial: bool = False
    has_settings: bool = False

    @property
    def published(self) -> bool:
        """Whether others maintain the module: findings are reported at its call instead."""
        return self.skeleton or bool(self.top)

    @property
    def needed(self) -> set[str]:
        """Names of the variables without default."""
        return {name for name, block in self.variables.items() if "default" not in block.body.attributes}

    def undeclared(self) -> list[str]:
        """List the variables and resources referred to but not declared."""
        owners = {kind.partition("_")[0] for kind, _ in self.resources}
        bodies = [
            block.body for table in (self.resources, self.data, self.calls, self.outputs) for block in table.values()
        ]
        bodies += [block.body for body in bodies for block in body.nested()]
        entries = (*self.locals.values(), *(entry for body in bodies for entry in body.attributes.values()))
        found: dict[str, None] = {}
        for node in (node for entry in entries for node in nodes.walk(entry.expression)):
            if isinstance(node, nodes.GetAttr) and isinstance(node.target, nodes.Variable):
                kind, name = node.target.name, node.name
                is_owned = "_" in kind and kind.partition("_")[0] in owners
                if (kind == "var" and name not in self.variables) or (is_owned and (kind, name) not in self.resources):
                    found[f"{kind}.{name}"] = None
        return list(found)

    def add_all(self, files: Iterable[tuple[str, nodes.File]]) -> None:
        """Add `.tf` files by name, override files last."""
        for name, file in sorted(files, key=lambda one: _is_override(one[0])):
            self.add(file, override=_is_override(name))

    def add(self, file: nodes.File, *, override: bool = False) -> None:
        """Add a `.tf` file."""
        self.problems += file.problems
        if file.problems and not self.gap:
            self.gap = f"part of {file.problems[0].span.source.path} could not be read"
        for block in file.body.blocks:
            if block.type == "locals":
                for name, entry in block.body.attributes.items():
                    self.locals[name] = entry
                continue
            self.has_settings = self.has_settings or block.type in ("terraform", "provider")
            if block.type == "provider":
                self.providers.append(block)
            if block.type == "terraform":
                self.required += block.body.all("required_providers")
                self.backends += [*block.body.all("backend"), *block.body.all("cloud")]
            found = self._table(block)
            if found is None:
                continue
            table, key = found
            if override and key in table:
                table[key] = _merged(table[key], block)
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


def _is_override(name: str) -> bool:
    stem = name.removesuffix(".json").removesuffix(".tf")
    return stem == "override" or stem.endswith("_override")


def _merged(base: nodes.Block, override: nodes.Block) -> nodes.Block:
    """Merge an override block with a block."""
    replaced = {block.type for block in override.body.blocks}
    blocks = [block for block in base.body.blocks if block.type not in replaced] + override.body.blocks
    return replace(base, body=nodes.Body(base.body.span, base.body.attributes | override.body.attributes, blocks))
