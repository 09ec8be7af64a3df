"""Data sources that only render text: their values follow from the code."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcheck.terraform.budget import BudgetError
from kcheck.terraform.filesystem import filled
from kcheck.text.scalars import EvaluationError
from kcheck.text.text import Problem
from kcheck.text.values import Datum, Known, Origin, Unknown, Unrendered, pieces_of

if TYPE_CHECKING:
    from kcheck.terraform.filesystem import Files
    from kcheck.terraform.resource import BlockRecord

_ARCHIVES = frozenset({"cloudinit_config", "template_cloudinit_config"})


def rendered(kind: str, record: BlockRecord, files: Files) -> Datum | None:
    """The `rendered` attribute of a data source; None if it asks the cloud.

    Of an archive for cloud-init, and of Ignition, only the texts in it are known, not what is made of them.
    """
    if kind == "template_file":
        return _template(record, files)
    if kind in _ARCHIVES:
        return _archive(record)
    return _texts([record.entry("content")], record) if kind == "ct_config" else None


def _template(record: BlockRecord, files: Files) -> Datum | None:
    """A template with its `vars`, as before Terraform had templatefile()."""
    text = record.entry("template")
    if text is None or isinstance(text, Unknown):
        return text
    pieces = pieces_of(text)
    if len(pieces) != 1 or pieces[0].span.text != text.value:  # put together: its places are lost
        return None
    template = files.template(pieces[0].span.source)
    if isinstance(template, Problem):
        return Unknown(f"{template.span.source.path}: {template.message}", Origin((template.span,)))
    variables = record.entry("vars") or Known({}, Origin((record.span,)))
    try:
        return filled(template, [variables], record.scope)
    except EvaluationError as error:
        return Unknown(str(error), Origin((record.span,)))
    except BudgetError as error:
        return record.scope.budget.refuse(error, Origin((record.span,)))


def _archive(record: BlockRecord) -> Datum | None:
    """The texts of the parts of an archive."""
    parts = record.blocks("part")
    if isinstance(parts, Unknown):
        return parts
    return _texts([part.entry("content") for part in parts], record)


def _texts(contents: list[Datum | None], record: BlockRecord) -> Datum:
    pieces = [piece for content in contents if content is not None for piece in pieces_of(content)]
    reason = "the user data is only known after apply"
    return Unrendered(reason, Origin((record.span,)), pieces=tuple(pieces))
