"""LSP handlers: text changes, hover, definitions, inlay hints, edits."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, NamedTuple, TypeAlias, TypeVar

from lsprotocol import types

from kcheck.addons.editor import edit_requests
from kcheck.addons.editor.server import Server
from kcheck.addons.editor.snapshot import kept
from kcheck.text.text import Source

if TYPE_CHECKING:
    from collections.abc import Callable

    from kcheck.addons.editor.checker import Settings
    from kcheck.addons.editor.hints import Hint
    from kcheck.addons.editor.hover import Hover
    from kcheck.addons.editor.snapshot import Snapshot
    from kcheck.text.text import Span


def make(settings: Callable[[str], Settings]) -> Server:
    """Create a server; `settings` returns the settings of each folder."""
    server = Server(settings)

    @server.feature(types.INITIALIZED)
    def initialized(_: types.InitializedParams) -> None:
        server.begin()

    @server.feature(types.TEXT_DOCUMENT_DID_OPEN)
    def opened(params: types.DidOpenTextDocumentParams) -> None:
        server.opened(params.text_document.uri)
        server.recheck()

    @server.feature(types.TEXT_DOCUMENT_DID_CHANGE)
    @server.feature(types.TEXT_DOCUMENT_DID_SAVE)
    @server.feature(types.TEXT_DOCUMENT_DID_CLOSE)
    @server.feature(types.WORKSPACE_DID_CHANGE_WATCHED_FILES)
    def changed(_: Change) -> None:
        server.recheck()

    @server.feature(types.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS)
    def folders(params: types.DidChangeWorkspaceFoldersParams) -> None:
        server.folders_changed(params.event)
        server.recheck()

    @server.feature(types.SHUTDOWN)
    def shutdown(_: None) -> None:
        server.worker.end()

    _answer_about_values(server)
    edit_requests.register(server)
    return server


Change: TypeAlias = (
    types.DidChangeTextDocumentParams | types.DidSaveTextDocumentParams | types.DidCloseTextDocumentParams
    | types.DidChangeWatchedFilesParams
)  # fmt: skip
"""Parameters of one handler: pygls gives the server to one that takes any `object`."""
Told = TypeVar("Told")


class Asked(NamedTuple):
    """The file of a request, as checked and as shown in the editor."""

    snapshot: Snapshot
    source: Source
    shown: Source

    def offset(self, shown: int) -> int | None:
        """Convert an offset to one in the checked text; None if the line has changed."""
        return kept(shown, self.shown.data, self.source.data)


def _answer_about_values(server: Server) -> None:
    """Answer requests about values one at a time, in a thread of their own."""
    turn = asyncio.Lock()  # what answers is imported when it is asked: an editor starts 0.2 s sooner

    async def told(function: Callable[..., Told], found: Asked, *offsets: int) -> Told:
        async with turn:
            return await asyncio.to_thread(function, found.snapshot, found.source, *offsets)

    @server.feature(types.TEXT_DOCUMENT_HOVER)
    async def hover(params: types.HoverParams) -> types.Hover | None:
        from kcheck.addons.editor.hover import hover as hover_at

        asked = await _asked_at(server, params)
        answer = await told(hover_at, *asked) if asked is not None else None
        return _hover(server, asked[0], answer) if asked is not None and answer is not None else None

    @server.feature(types.TEXT_DOCUMENT_DEFINITION)
    async def definition(params: types.DefinitionParams) -> list[types.Location]:
        from kcheck.addons.editor.definition import definition as definition_at

        asked = await _asked_at(server, params)
        if asked is None:
            return []
        spans, texts = await told(definition_at, *asked), server.texts()
        return [place for span in spans if (place := _location(server, asked[0].snapshot, span, texts)) is not None]

    @server.feature(types.TEXT_DOCUMENT_INLAY_HINT)
    async def hints(params: types.InlayHintParams) -> list[types.InlayHint]:
        from kcheck.addons.editor.hints import hints as hints_in

        found = await _asked(server, params.text_document.uri)
        if found is None:
            return []
        first, last = (server.positions.offset(found.shown, at) for at in (params.range.start, params.range.end))
        start, end = found.offset(first), found.offset(last)
        every = await told(hints_in, found, start or 0, len(found.source.data) if end is None else end)
        places = ((hint, kept(hint.offset, found.source.data, found.shown.data)) for hint in every)
        return [_hint(server, found, hint, at) for hint, at in places if at is not None and first <= at <= last]


async def _asked(server: Server, document: str) -> Asked | None:
    found = await server.snapshot_of(document)
    if found is None:
        return None
    snapshot, source = found
    text = server.workspace.get_text_document(document).source
    return Asked(snapshot, source, Source(source.path, text.encode("utf-8", "surrogatepass")))


async def _asked_at(server: Server, params: types.HoverParams | types.DefinitionParams) -> tuple[Asked, int] | None:
    """Return the file and offset of a request; None if the line changed."""
    found = await _asked(server, params.text_document.uri)
    offset = found.offset(server.positions.offset(found.shown, params.position)) if found is not None else None
    return None if found is None or offset is None else (found, offset)


def _hover(server: Server, found: Asked, answer: Hover) -> types.Hover:
    span = _shown(answer.span, found.shown)
    place = server.positions.range(span) if span is not None else None
    return types.Hover(types.MarkupContent(types.MarkupKind.Markdown, answer.text), place)


def _hint(server: Server, found: Asked, hint: Hint, at: int) -> types.InlayHint:
    tooltip = types.MarkupContent(types.MarkupKind.Markdown, hint.tooltip)
    return types.InlayHint(server.positions.position(found.shown, at), hint.label, tooltip=tooltip, padding_left=True)


def _location(server: Server, snapshot: Snapshot, span: Span, texts: dict[str, bytes]) -> types.Location | None:
    """Convert a span to a location in the editor's text; None if the line has changed."""
    real = snapshot.real_path(span.source)
    here = _shown(span, Source(span.source.path, texts.get(real, span.source.data))) if real else None
    return types.Location(snapshot.address(real), server.positions.first_line(here)) if here is not None else None


def _shown(span: Span, shown: Source) -> Span | None:
    """Convert a span to the editor's text; empty if only its line is unchanged."""
    start, end = (kept(at, span.source.data, shown.data) for at in (span.start, span.end))
    return None if start is None else shown.span(start, start if end is None else max(start, end))
