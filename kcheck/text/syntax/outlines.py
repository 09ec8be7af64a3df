"""Outlines of files: keys of a place, by syntax. Computed only for reported places."""

from __future__ import annotations

from importlib import import_module

from kcheck.text.text import OUTLINES, Outline


def _late(module: str, keys: str, member: str = "") -> Outline:
    """Make an outline of functions in `syntax/`, whose module is imported when one is called."""
    path = f"kcheck.text.syntax.{module}"
    return Outline(
        lambda span: getattr(import_module(path), keys)(span),  # noqa: PLW0108 - not before
        lambda span, name: getattr(import_module(path), member)(span, name) if member else None,
    )


OUTLINES |= {
    "hcl": _late("hcl.names", "keys", "member"),
    "yaml": _late("names", "in_yaml"),
    "json": _late("names", "in_json", "json_member"),
    "plan": _late("json", "key_of"),  # too large to be read again
}
