"""Provider versions of a root module: its modules' constraints and its lock file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcheck.text import versions
from kcheck.text.syntax.hcl import nodes

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from kcheck.terraform.module import Module
    from kcheck.text.versions import Range


_OLD = versions.parse("< 3.0") or versions.ANY
"""What providers can be that run with Terraform before 0.12: those of the clouds left it at 2.0 or 3.0."""


def pinned_versions(root: Module) -> Mapping[str, Range]:
    """Allowed provider versions of a root; providers without constraints are missing."""
    old = any(module.configuration.old for module in root.all())
    result: dict[str, Range] = {kind.partition("_")[0]: _OLD for kind in root.kinds()} if old else {}
    wanted = [pair for module in root.all() for pair in _required(module)]
    for name, constraint in (*wanted, *root.host.locked(root).items()):
        found = versions.parse(constraint)
        both = found.both(result.get(name, versions.ANY)) if found else None
        if both is not None:  # Terraform would ask to solve a conflict
            result[name] = both
    return result


def _required(module: Module) -> Iterator[tuple[str, str]]:
    """Provider constraints of a module, in `required_providers` or provider blocks."""
    configuration = module.configuration
    if configuration.skeleton:
        return
    for block in configuration.required:
        for name, entry in block.body.attributes.items():
            node = entry.expression
            if isinstance(node, nodes.Object):
                parts = {_text(key): _text(value) for key, value in node.entries}
                yield parts.get("source", name).rpartition("/")[2], parts.get("version", "")
            else:
                yield name, _text(node)
    for provider in configuration.providers:
        written = provider.body.attributes.get("version")
        if written is not None:
            yield provider.labels[0], _text(written.expression)


def _text(node: nodes.Expression) -> str:
    if isinstance(node, nodes.Variable):  # a key without quotes
        return node.name
    return str(node.value) if isinstance(node, nodes.Literal) else ""
