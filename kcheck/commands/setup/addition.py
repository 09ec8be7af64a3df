"""Something added to a file of YAML that somebody else looks after: it says what it said, and one thing more."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from kcheck.config import schemas
from kcheck.text.syntax import yaml
from kcheck.text.text import Source, apply
from kcheck.text.values import plain

if TYPE_CHECKING:
    from collections.abc import Callable

    from kcheck.text.text import Edit
    from kcheck.text.values import Data


class AdditionError(Exception):
    """Why nothing can be added."""


def root_of(source: Source) -> yaml.Mapping:
    """The map that a file consists of.

    Raises:
        AdditionError: it is none.
    """
    documents = list(yaml.documents(source))
    problem = next((document.problem for document in documents if document.problem), None)
    if problem is not None:
        raise AdditionError(f"line {problem.span.begin.line} cannot be read: {problem.message}")
    if len(documents) != 1 or not isinstance(documents[0].root, yaml.Mapping):
        raise AdditionError("it is not one map")
    return documents[0].root


def apply_checked(
    source: Source, edits: list[Edit] | None, expected: Callable[[dict[str, Data]], dict[str, Data]]
) -> bytes:
    """The bytes after some edits, which read as expected.

    Raises:
        AdditionError: they do not.
    """
    new = Source(source.path, apply(source.data, edits or []))
    if edits:
        with suppress(AdditionError):
            if _value(new) == expected(_value(source)):
                return new.data
    raise AdditionError("kcheck cannot add to what stands there")


def _value(source: Source) -> dict[str, Data]:
    found: dict[str, Data] = plain(schemas.datum(root_of(source)))
    return found
