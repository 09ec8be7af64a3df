"""What the keys of kcheck.yaml mean."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from kcheck.addons.editor.comments import of_rule
from kcheck.addons.editor.yaml_places import steps_to
from kcheck.config import schemas
from kcheck.config.locations import NAME
from kcheck.report.escape import markdown
from kcheck.report.limit import names as limits

if TYPE_CHECKING:
    from kcheck.addons.editor.snapshot import Snapshot
    from kcheck.text.text import Source, Span

_RULES = frozenset({"select", "ignore", "not_ignorable", "per_path_ignores", "severity", "rule"})
"""Keys below which rules are named."""


def is_settings(source: Source) -> bool:
    """Whether a file is kcheck's own settings."""
    return os.path.basename(source.path) == NAME


def of_settings(source: Source, offset: int, snapshot: Snapshot) -> tuple[str, Span] | None:
    """What a key, or a rule that is named, in kcheck.yaml is: Markdown, and its place."""
    found = steps_to(source, offset) if is_settings(source) else None
    if found is None:
        return None
    names = [step for step in found.steps if isinstance(step, str)]
    if found.scalar is not None and not _RULES.isdisjoint(names):
        text = of_rule(found.scalar.text, snapshot)
        if text:
            return text, found.scalar.span
    if not found.on_key or found.scalar is None:
        return None
    if names[:1] == ["limits"] and len(names) == 2:
        entry = limits().get(f"limits.{names[1]}")
        said = f"documented: {entry.value} {entry.unit}" if entry is not None else ""
        return (f"**{markdown(names[1])}**: {markdown(said)}", found.scalar.span) if said else None
    wanted = schemas.below("settings", found.steps)
    if wanted is None or "description" not in wanted:
        return None
    return f"**{markdown('.'.join(names))}**: {markdown(wanted['description'])}{_values(wanted)}", found.scalar.span


def _values(wanted: dict[str, Any]) -> str:
    """The values that a key takes."""
    if "enum" in wanted:
        return f"\n\nOne of {markdown(', '.join(map(str, wanted['enum'])))}."
    least, most = wanted.get("minimum"), wanted.get("maximum")
    kind = schemas.ARTICLES.get(str(wanted.get("type")), "")
    bounds = f" from {least:,} to {most:,}" if isinstance(least, int) and isinstance(most, int) else ""
    return f"\n\n{kind[0].upper()}{kind[1:]}{bounds}." if kind else ""
