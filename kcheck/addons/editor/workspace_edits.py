"""Convert planned files to LSP workspace edits."""

from __future__ import annotations

import os
from io import BytesIO
from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple

from lsprotocol import types

from kcheck.addons.editor.actions import REASON
from kcheck.addons.editor.positions import path, uri
from kcheck.text.files import system
from kcheck.text.files.save import LineMatcher
from kcheck.text.text import Source, leading

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pygls.workspace import TextDocument

    from kcheck.addons.editor.actions import Plan
    from kcheck.addons.editor.positions import Positions
    from kcheck.text.files.save import File

    Edit = types.TextEdit | types.AnnotatedTextEdit | types.SnippetTextEdit
    DocumentChange = types.TextDocumentEdit | types.CreateFile | types.RenameFile | types.DeleteFile

_CONFIRM = "kcheck"


class Client(NamedTuple):
    """Editor capabilities for workspace edits, code actions and documents."""

    versioned: bool = False
    annotated: bool = False
    snippets: bool = False
    creates: bool = False
    literals: bool = False
    resolved: frozenset[str] = frozenset()
    disabled: bool = False
    shows: bool = False


def client(given: types.ClientCapabilities) -> Client:
    """Read an editor's capabilities."""
    edit = (given.workspace and given.workspace.workspace_edit) or types.WorkspaceEditClientCapabilities()
    action = (given.text_document and given.text_document.code_action) or types.CodeActionClientCapabilities()
    shown = given.window and given.window.show_document
    return Client(
        versioned=bool(edit.document_changes),
        annotated=bool(edit.document_changes and edit.change_annotation_support),
        snippets=bool(edit.document_changes and edit.snippet_edit_support),
        creates=bool(edit.document_changes and types.ResourceOperationKind.Create in (edit.resource_operations or ())),
        literals=action.code_action_literal_support is not None,
        resolved=frozenset(action.resolve_support.properties if action.resolve_support else ()),
        disabled=bool(action.disabled_support),
        shows=bool(shown and shown.support),
    )


class Cursor(NamedTuple):
    """Place where the user continues to type."""

    uri: str
    line: int
    character: int


class Edited(NamedTuple):
    """A workspace edit, and the cursor afterwards unless a snippet sets it."""

    edit: types.WorkspaceEdit
    cursor: Cursor | None = None


def workspace_edit(
    plan: Plan, able: Client, positions: Positions, documents: Mapping[str, TextDocument], asked: str = "",
    address_of: Callable[[str], str] = uri,
) -> Edited:  # fmt: skip
    """Convert a plan to an edit; `documents` are open, and the user is in `asked`.

    `address_of` returns the URI of a file that is not open. Raises UneditableError if a file has changed since the
    check, or the editor cannot change it.
    """
    by_path = {system.real_path(path(document.uri)): document for document in documents.values()}
    changes: list[DocumentChange] = []
    cursor = None
    for file in plan.files:
        document = by_path.get(file.real)
        address = document.uri if document is not None else address_of(file.real)
        _check_unchanged(file, document)
        if file.fresh:
            if not able.creates:
                raise UneditableError(f"this editor cannot create {file.path}")
            changes.append(types.CreateFile(uri=address, options=types.CreateFileOptions(ignore_if_exists=True)))
        edits = text_edits(Source(file.path, file.old), file.new, positions)
        snippets = able.snippets and address == asked
        made = [_edit(one, snippets=snippets, confirmed=able.annotated and plan.safety != "safe") for one in edits]
        version = document.version if document is not None else None
        changes.append(types.TextDocumentEdit(types.OptionalVersionedTextDocumentIdentifier(address, version), made))
        at = file.new.find(REASON.encode())
        if at >= 0 and not snippets and cursor is None:
            after = Source(file.path, file.new.replace(REASON.encode(), b""))
            place = positions.position(after, at)
            cursor = Cursor(address, place.line, place.character)
    return Edited(_whole(changes, plan, able), cursor)


def _whole(changes: list[DocumentChange], plan: Plan, able: Client) -> types.WorkspaceEdit:
    if not able.versioned:
        edits = {
            change.text_document.uri: [one for one in change.edits if isinstance(one, types.TextEdit)]
            for change in changes
            if isinstance(change, types.TextDocumentEdit)
        }
        return types.WorkspaceEdit(changes=edits)
    annotations = None
    if able.annotated and plan.safety != "safe":
        annotation = types.ChangeAnnotation(f"kcheck ({plan.safety})", needs_confirmation=True, description=plan.title)
        annotations = {_CONFIRM: annotation}
    return types.WorkspaceEdit(document_changes=changes, change_annotations=annotations)


def _check_unchanged(file: File, document: TextDocument | None) -> None:
    try:
        if document is not None:
            now = document.source.encode("utf-8", "surrogatepass")
        else:
            now = b"" if file.fresh and not os.path.exists(file.real) else system.read(file.real)
    except OSError as error:
        raise UneditableError(f"{file.path}: {error.strerror}") from error
    if now != file.old:
        raise UneditableError(f"{file.path} has changed since it was checked; ask again")


def _edit(one: types.TextEdit, *, snippets: bool, confirmed: bool) -> Edit:
    """Convert an edit for the editor: with a placeholder or with confirmation."""
    if REASON in one.new_text:
        if snippets:
            escaped = one.new_text.replace("\\", "\\\\").replace("$", "\\$").replace("}", "\\}")
            return types.SnippetTextEdit(
                one.range, types.StringValue(escaped.replace(REASON, "$0", 1).replace(REASON, ""))
            )
        return types.TextEdit(one.range, one.new_text.replace(REASON, ""))
    return types.AnnotatedTextEdit(_CONFIRM, one.range, one.new_text) if confirmed else one


class UneditableError(Exception):
    """A file that cannot be edited, and why."""


def text_edits(source: Source, new: bytes, positions: Positions) -> list[types.TextEdit]:
    """Compute edits that turn a file into new bytes and keep the cursor.

    Raises UneditableError if the editor counts positions differently: not in UTF-8, or after a lone carriage return.
    """
    for text in (source.data, new):
        try:
            text.decode()
        except UnicodeDecodeError as error:
            raise UneditableError(f"{source.path} is not UTF-8") from error
        if b"\r" in text.replace(b"\r\n", b""):
            raise UneditableError(f"{source.path} has carriage returns inside its lines")
    before, after = list(BytesIO(source.data)), list(BytesIO(new))
    starts, ends = list(accumulate(map(len, before), initial=0)), list(accumulate(map(len, after), initial=0))
    result = []
    for kind, first, last, to, stop in LineMatcher(before, after).get_opcodes():
        if kind == "equal":
            continue
        start, part = starts[first], new[ends[to] : ends[stop]]
        head, tail = _shared(source.data[start : starts[last]], part)
        span = source.span(start + head, starts[last] - tail)
        result.append(types.TextEdit(positions.range(span), part[head : len(part) - tail].decode()))
    return result


def _shared(before: bytes, after: bytes) -> tuple[int, int]:
    """Count equal bytes at the start and end of two texts, in whole characters."""
    head = leading(before, after)
    while head and (_is_inside(before, head) or _is_inside(after, head)):
        head -= 1
    tail = leading(before[head:][::-1], after[head:][::-1])
    while tail and (_is_inside(before, len(before) - tail) or _is_inside(after, len(after) - tail)):
        tail -= 1
    return head, tail


def _is_inside(text: bytes, at: int) -> bool:
    """Whether an offset is inside a character or a CRLF."""
    return text[at : at + 1] != b"" and (0x80 <= text[at] < 0xC0 or text[at - 1 : at + 1] == b"\r\n")
