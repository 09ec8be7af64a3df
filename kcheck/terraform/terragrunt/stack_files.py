"""Units of `terragrunt.stack.hcl` whose sources are in the repository."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from kcheck.terraform.evaluator import evaluate
from kcheck.text.files.tree import STACK, UNIT
from kcheck.text.scalars import EvaluationError
from kcheck.text.values import Known, Origin

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from kcheck.terraform.terragrunt.config import Config, Host
    from kcheck.text.syntax.hcl import nodes
    from kcheck.text.values import Datum

MADE = ".terragrunt-stack"
"""The folder that units are made in, beside the file."""
_DEPTH = 8
"""So many stacks in each other are read."""


def configs(
    host: Host, path: str, folder: str, unread: Callable[[nodes.Block], None], *, values: Datum | None = None,
    depth: int = 0,
) -> Iterator[Config]:  # fmt: skip
    """The configs of a stack's units, each as seen from its generated folder.

    `unread` is called for blocks that cannot be read.
    """
    try:
        own = host.config(path, folder, values=values)
    except EvaluationError:
        return
    for block in (*own.body.all("unit"), *own.body.all("stack")):
        source, place = _text(block, "source", own), _text(block, "path", own)
        plain = block.body.attributes.get("no_dot_terragrunt_stack")
        inner = os.path.join(folder, "" if plain is not None and plain.value_span.text == "true" else MADE, place)
        template = os.path.normpath(os.path.join(folder, source.replace("//", "/")))
        entry = block.body.attributes.get("values")
        given = evaluate(entry.expression, own.scope) if entry else Known({}, Origin(()))
        file = os.path.join(template, UNIT if block.type == "unit" else STACK)
        if not source or not place or depth > _DEPTH or host.source(file) is None:
            unread(block)
        elif block.type == "unit":
            yield host.config(file, os.path.normpath(inner), values=given)
        else:
            yield from configs(host, file, os.path.normpath(inner), unread, values=given, depth=depth + 1)


def _text(block: nodes.Block, name: str, config: Config) -> str:
    """An argument that is a text; empty if unknown."""
    entry = block.body.attributes.get(name)
    value = evaluate(entry.expression, config.scope) if entry else None
    text = value.value if isinstance(value, Known) and isinstance(value.value, str) else ""
    return "" if "\0" in text else text
