"""Play an editor that speaks to `kcheck lsp` over pipes and edits its own buffers."""

from __future__ import annotations

import asyncio
import re
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Union

from lsprotocol import types
from pygls.lsp.client import LanguageClient
from pygls.protocol import default_converter

from kcheck.addons.editor.positions import path as path_of
from kcheck.addons.editor.positions import uri as uri_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Sequence

    from cattrs import Converter

PATIENCE = 60
"""Seconds after which a test fails; the machine may be slow."""
_CODE = "from kcheck.commands.cli import main; main()"


def in_thread(session: Coroutine[object, object, None]) -> None:
    """Run a coroutine to its end, in a thread of its own.

    Another test, such as one with Playwright, may have left an event loop in this thread.
    """
    with ThreadPoolExecutor(1) as thread:
        thread.submit(asyncio.run, session).result()


def capabilities(**left_out: bool) -> types.ClientCapabilities:
    """Return the capabilities of a current editor, without those in `left_out`."""
    able = {"versioned", "annotated", "snippets", "creates", "resolves", "disabled", "shows"} - left_out.keys()
    return types.ClientCapabilities(
        workspace=types.WorkspaceClientCapabilities(
            workspace_edit=types.WorkspaceEditClientCapabilities(
                document_changes="versioned" in able,
                change_annotation_support=types.ChangeAnnotationsSupportOptions() if "annotated" in able else None,
                snippet_edit_support="snippets" in able,
                resource_operations=[types.ResourceOperationKind.Create] if "creates" in able else None,
            ),
        ),
        text_document=types.TextDocumentClientCapabilities(
            code_action=types.CodeActionClientCapabilities(
                code_action_literal_support=types.ClientCodeActionLiteralOptions(
                    types.ClientCodeActionKindOptions([types.CodeActionKind.QuickFix])
                ),
                resolve_support=(
                    types.ClientCodeActionResolveOptions(["edit", "command"]) if "resolves" in able else None
                ),
                disabled_support="disabled" in able,
            ),
        ),
        window=types.WindowClientCapabilities(
            show_document=types.ShowDocumentClientCapabilities(support="shows" in able),
        ),
    )  # fmt: skip


class Editor:
    """A client of the language server with open buffers.

    It counts columns in UTF-16 code units, as the protocol does.
    """

    def __init__(self, client: LanguageClient, folder: Path) -> None:
        self.client = client
        self.folder = folder
        self.buffers: dict[str, str] = {}
        self.versions: dict[str, int] = {}
        self.found: dict[str, list[types.Diagnostic]] = {}
        self.shown: list[types.ShowDocumentParams] = []
        self.messages: list[str] = []
        self.progress: list[tuple[types.ProgressToken, str]] = []
        self.news = asyncio.Condition()

    def uri(self, name: str) -> str:
        return uri_of(str(self.folder / name))

    def open(self, name: str) -> str:
        """Open a file in a buffer and return its URI."""
        text = (self.folder / name).read_bytes().decode()
        address = self.uri(name)
        self.buffers[address], self.versions[address] = text, 1
        item = types.TextDocumentItem(address, "terraform", 1, text)
        self.client.text_document_did_open(types.DidOpenTextDocumentParams(item))
        return address

    def type(self, address: str, text: str) -> None:
        """Replace the text of a buffer."""
        self.buffers[address] = text
        self.versions[address] += 1
        document = types.VersionedTextDocumentIdentifier(uri=address, version=self.versions[address])
        change = types.TextDocumentContentChangeWholeDocument(text)
        self.client.text_document_did_change(types.DidChangeTextDocumentParams(document, [change]))

    async def rules(self, address: str, wanted: str, *, gone: bool = False) -> list[types.Diagnostic]:
        """Wait until a rule is reported in a file, or with `gone` until it no longer is; return the diagnostics."""

        def is_there() -> bool:
            return any(one.code == wanted for one in self.found.get(address, ())) != gone and address in self.found

        async with asyncio.timeout(PATIENCE), self.news:
            await self.news.wait_for(is_there)
        return self.found[address]

    async def actions(
        self, address: str, place: types.Range, only: Sequence[str] | None = None,
        shown: Sequence[types.Diagnostic] = (),
    ) -> list[types.CodeAction]:  # fmt: skip
        """Request the code actions at a range, as if the user asked for them, and return them."""
        context = types.CodeActionContext(list(shown), only, types.CodeActionTriggerKind.Invoked)
        params = types.CodeActionParams(types.TextDocumentIdentifier(address), place, context)
        found = await asyncio.wait_for(self.client.text_document_code_action_async(params), PATIENCE)
        return [one for one in found or () if isinstance(one, types.CodeAction)]

    async def choose(self, action: types.CodeAction) -> types.CodeAction:
        """Resolve an action, make its edit, and run its command."""
        if action.edit is None and action.command is None:
            action = await asyncio.wait_for(self.client.code_action_resolve_async(action), PATIENCE)
        if action.edit is not None:
            self.make(action.edit)
        if action.command is not None:
            params = types.ExecuteCommandParams(action.command.command, action.command.arguments)
            await asyncio.wait_for(self.client.workspace_execute_command_async(params), PATIENCE)
        return action

    def make(self, edit: types.WorkspaceEdit) -> None:
        """Apply a workspace edit: to buffers where files are open, on disk elsewhere."""
        for address, plain in (edit.changes or {}).items():
            self._edit(address, plain)
        for change in edit.document_changes or ():
            if isinstance(change, types.CreateFile):
                Path(path_of(change.uri)).touch()
            elif isinstance(change, types.TextDocumentEdit):
                address = change.text_document.uri
                assert change.text_document.version == self.versions.get(address)
                self._edit(address, change.edits)

    def _edit(
        self, address: str, edits: Sequence[types.TextEdit | types.AnnotatedTextEdit | types.SnippetTextEdit]
    ) -> None:
        file = Path(path_of(address))
        text = self.buffers[address] if address in self.buffers else file.read_bytes().decode()
        text = applied(text, edits)
        if address in self.buffers:
            self.type(address, text)
        else:
            file.write_bytes(text.encode())


def applied(text: str, edits: Sequence[types.TextEdit | types.AnnotatedTextEdit | types.SnippetTextEdit]) -> str:
    """Return a text with some edits applied; their positions refer to the text before the edits."""
    lines = text.split("\n")

    def offset(at: types.Position) -> int:
        before = sum(len(line) + 1 for line in lines[: at.line])
        units = lines[at.line].encode("utf-16-le")[: at.character * 2] if at.line < len(lines) else b""
        return before + len(units.decode("utf-16-le"))

    places = [(offset(one.range.start), offset(one.range.end), one) for one in edits]
    for start, end, one in sorted(places, key=lambda place: place[:2], reverse=True):
        new = _filled(one.snippet.value) if isinstance(one, types.SnippetTextEdit) else one.new_text
        text = text[:start] + new + text[end:]
    return text


def _filled(snippet: str) -> str:
    """Return a snippet as text, with nothing typed at its placeholders."""
    assert snippet.count("$0") == 1
    return re.sub(r"\\(.)", r"\1", snippet.replace("$0", ""))


def _converter() -> Converter:
    """Return a converter of messages; the library's own mistakes a code action with a command for a command."""
    make: Callable[[], Converter] = default_converter
    made = make()

    def action(value: dict[str, object], _: object) -> types.Command | types.CodeAction:
        if isinstance(value.get("command"), str):
            return made.structure(value, types.Command)
        return made.structure(value, types.CodeAction)

    made.register_structure_hook(Union[types.Command, types.CodeAction], action)  # noqa: UP007 - as the library has it
    return made


@asynccontextmanager
async def editor(folder: Path, able: types.ClientCapabilities | None = None) -> AsyncIterator[Editor]:
    """Yield an editor that has opened a folder."""
    client = LanguageClient("test", "1", converter_factory=_converter)
    own = Editor(client, folder)

    async def found(params: types.PublishDiagnosticsParams) -> None:
        async with own.news:
            own.found[params.uri] = list(params.diagnostics)
            own.news.notify_all()

    def show(params: types.ShowDocumentParams) -> types.ShowDocumentResult:
        own.shown.append(params)
        return types.ShowDocumentResult(success=True)

    def message(params: types.ShowMessageParams | types.LogMessageParams) -> None:
        own.messages.append(params.message)

    def create(params: types.WorkDoneProgressCreateParams) -> None:
        own.progress.append((params.token, "create"))

    async def progress(params: types.ProgressParams) -> None:
        async with own.news:
            own.progress.append((params.token, str((params.value or {})["kind"])))
            own.news.notify_all()

    def apply(params: types.ApplyWorkspaceEditParams) -> types.ApplyWorkspaceEditResult:
        own.make(params.edit)
        return types.ApplyWorkspaceEditResult(applied=True)

    on: Callable[[str], Callable[[Callable[..., object]], object]] = client.feature
    on(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)(found)
    on(types.WINDOW_SHOW_DOCUMENT)(show)
    on(types.WINDOW_SHOW_MESSAGE)(message)
    on(types.WINDOW_LOG_MESSAGE)(message)
    on(types.WINDOW_WORK_DONE_PROGRESS_CREATE)(create)
    on(types.PROGRESS)(progress)
    on(types.WORKSPACE_APPLY_EDIT)(apply)
    stop: Callable[[], Awaitable[None]] = client.stop
    await client.start_io(sys.executable, "-c", _CODE, "lsp", cwd=folder)
    try:
        params = types.InitializeParams(
            able or capabilities(),
            root_uri=uri_of(str(folder)),
            workspace_folders=[types.WorkspaceFolder(uri_of(str(folder)), "test")],
        )
        await asyncio.wait_for(client.initialize_async(params), PATIENCE)
        client.initialized(types.InitializedParams())
        yield own
        await asyncio.wait_for(client.shutdown_async(None), PATIENCE)
        client.exit(None)
    except BaseException:
        if client._server is not None:
            client._server.kill()
        raise
    finally:
        await asyncio.wait_for(stop(), PATIENCE)


def run(folder: Path, story: Callable[[Editor], Awaitable[None]], able: types.ClientCapabilities | None = None) -> None:
    """Run a test's coroutine with an editor that has opened a folder."""

    async def told() -> None:
        async with editor(folder, able) as own:
            await story(own)

    in_thread(told())
