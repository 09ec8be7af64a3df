"""Outlines of files: keys of a place, by syntax. Computed only for reported places."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcheck.text.text import OUTLINES, Outline

if TYPE_CHECKING:
    from kcheck.text.text import Span


def _hcl_keys(span: Span) -> tuple[str, ...]:
    from kcheck.text.syntax.hcl import names

    return names.keys(span)


def _hcl_member(span: Span, name: str) -> Span | None:
    from kcheck.text.syntax.hcl import names

    return names.member(span, name)


def _yaml_keys(span: Span) -> tuple[str, ...]:
    from kcheck.text.syntax import names

    return names.in_yaml(span)


def _json_keys(span: Span) -> tuple[str, ...]:
    from kcheck.text.syntax import names

    return names.in_json(span)


def _json_member(span: Span, name: str) -> Span | None:
    from kcheck.text.syntax import names

    return names.json_member(span, name)


def _plan_keys(span: Span) -> tuple[str, ...]:
    from kcheck.text.syntax import json

    return json.key_of(span)


def _no_member(_span: Span, _name: str) -> None:
    return None


OUTLINES |= {
    "hcl": Outline(_hcl_keys, _hcl_member),
    "yaml": Outline(_yaml_keys, _no_member),
    "json": Outline(_json_keys, _json_member),
    "plan": Outline(_plan_keys, _no_member),  # too large to be read again
}
