"""Attributes whose later changes Terraform ignores."""

from kcheck.model import NOTHING
from kcheck.text.regex import regex
from kcheck.text.syntax.hcl import nodes
from kcheck.text.values import Known, Origin, Record, Value

_ALL = "all"
_INDEX = regex(r"\[\d+\]|\.\d+\b")


def ignored(resource: Record, block: str = "") -> Value[tuple[str, ...]]:
    """List the ignored paths of a resource or block; Unset without any."""
    block_of = getattr(resource, "block", None)  # a plan has none
    blocks = block_of.body.all("lifecycle") if isinstance(block_of, nodes.Block) else ()
    written = next((found for one in blocks if (found := one.body.attributes.get("ignore_changes"))), None)
    if written is None:
        return NOTHING
    listed = written.expression
    items = listed.items if isinstance(listed, nodes.Tuple) else (listed,)
    paths = (_INDEX.sub("", item.span.text.strip('"')) for item in items)
    below = tuple(dict.fromkeys(filter(None, (_below(path, block) for path in paths))))
    return Known(below, Origin((written.span,)).outside(resource.span)) if below else NOTHING


def _below(path: str, block: str) -> str:
    if path in (block, _ALL):
        return _ALL
    if not block:
        return path
    return path.removeprefix(f"{block}.") if path.startswith(f"{block}.") else ""
