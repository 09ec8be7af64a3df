"""The language server: requests of an editor, answered from what was last checked."""

from __future__ import annotations

import asyncio
import os
import sys
from typing import TYPE_CHECKING, TypeAlias

from lsprotocol import types
from pygls.exceptions import JsonRpcInternalError
from pygls.lsp.server import LanguageServer

from kcheck import __version__
from kcheck.addons.editor import diagnostics, edit_requests, value_requests
from kcheck.addons.editor.checker import Checker
from kcheck.addons.editor.positions import Positions, path
from kcheck.addons.editor.progress import Progress
from kcheck.addons.editor.worker import Worker
from kcheck.text.control_characters import visible
from kcheck.text.files import system
from kcheck.text.files.boundary import contains_path, repository

if TYPE_CHECKING:
    from collections.abc import Callable

    from pygls.server import ServerErrors

    from kcheck.addons.editor.checker import Settings
    from kcheck.addons.editor.snapshot import Snapshot
    from kcheck.addons.editor.worker import Answer
    from kcheck.text.text import Source

_WATCHED = "**/{*.tf,*.tfvars,*.hcl,*.json,*.yaml,*.yml,*.toml,*.conf,Kustomization}"
_SWITCH = 0.001
"""Seconds after which a thread makes way for another one: what is found goes out while the rest is checked."""
_PATIENCE = 5.0
"""Seconds that a request waits for the check of what was just typed, before it is answered from the one before.

Requests that come before the first check is done wait for it: the editor can cancel them.
"""


Diagnostics: TypeAlias = "dict[str, list[types.Diagnostic]]"
"""By the URI of the file."""


class Server(LanguageServer):
    """What kcheck knows of each folder of the editor's workspace."""

    def __init__(self, settings: Callable[[str], Settings]) -> None:
        super().__init__("kcheck", __version__)
        self._settings = settings
        self._checkers: dict[str, Checker] = {}
        self._snapshots: dict[str, Snapshot] = {}
        self._published: dict[str, Diagnostics] = {}
        self._errors: dict[str, str] = {}
        self._known: dict[str, diagnostics.Known] = {}
        self._asked = self._answered = 0
        self._progress = Progress(self)
        self._news = asyncio.Condition()
        self._loop: asyncio.AbstractEventLoop | None = None
        self.worker = Worker(self._tell)
        self.positions = Positions()

    def report_server_error(self, error: Exception, source: ServerErrors) -> None:  # noqa: ARG002 - pygls' signature
        """Log what failed in the server: nobody wants a window for it while typing."""
        self.window_log_message(types.LogMessageParams(types.MessageType.Error, visible(f"kcheck failed: {error}")))

    # --- what is checked

    def begin(self) -> None:
        """Check the folders of the workspace for the first time."""
        self.positions = Positions(str(getattr(self.workspace.position_encoding, "value", "utf-16")))
        self._loop = asyncio.get_running_loop()
        folders = [path(folder.uri) for folder in self.workspace.folders.values()]
        root = self.workspace.root_path
        for folder in filter(None, folders or [root or ""]):
            self._add(folder)
        if self._checkers:
            os.chdir(next(iter(self._checkers)))  # findings name paths from there
        self._watch_files()
        sys.setswitchinterval(_SWITCH)
        self.worker.start()
        self.recheck()

    def _add(self, folder: str) -> None:
        real = system.real_path(folder)
        if real not in self._checkers and os.path.isdir(real):
            self._checkers[real] = Checker(real, self._settings(real), folder)

    def _watch_files(self) -> None:
        """Ask to be told of files that change outside of the editor, where it can."""
        workspace = self.client_capabilities.workspace
        able = workspace.did_change_watched_files if workspace is not None else None
        if able is None or not able.dynamic_registration:
            return
        options = types.DidChangeWatchedFilesRegistrationOptions([types.FileSystemWatcher(_WATCHED)])
        method = types.WORKSPACE_DID_CHANGE_WATCHED_FILES
        self.client_register_capability(types.RegistrationParams([types.Registration("kcheck-files", method, options)]))

    def opened(self, document: str) -> None:
        """Check what an opened file is of, if no folder of the workspace holds it: its repository, or its folder."""
        name = path(document)
        if name and not any(contains_path(folder, name) for folder in self._checkers):
            self._add(repository(name) or os.path.dirname(name))

    def folders_changed(self, event: types.WorkspaceFoldersChangeEvent) -> None:
        """Check the folders that were added to the workspace, and no longer those that were removed."""
        for folder in event.removed:
            gone = system.real_path(path(folder.uri))
            self._checkers.pop(gone, None)
            self._snapshots.pop(gone, None)
            self._publish(gone, {})
        for folder in event.added:
            self._add(path(folder.uri))

    def texts(self) -> dict[str, bytes]:
        """What the editor shows of each open file, saved or not, by its real path."""
        found = {}
        for document in list(self.workspace.text_documents.values()):
            if name := path(document.uri):
                found[system.real_path(name)] = document.source.encode("utf-8", "surrogatepass")
        return found

    def recheck(self) -> None:
        """Check again, with the texts as they are now."""
        if self._checkers:
            self._asked = self.worker.check(tuple(self._checkers.values()), self.texts())
            self._progress.begin()

    # --- what was found

    def _tell(self, answer: Answer) -> None:
        """Make of an answer what the editor shows of it: in the thread that checks, which alone has all the time."""
        found: Diagnostics = {}
        if answer.snapshot is not None:
            known = self._known.setdefault(answer.folder, {})
            made = diagnostics.by_file(answer.snapshot, self.positions, known)
            found = {answer.snapshot.address(name): own for name, own in made.items()}
        if self._loop is not None:
            asyncio.run_coroutine_threadsafe(self._take(answer, found), self._loop)

    async def _take(self, answer: Answer, found: Diagnostics) -> None:
        """Show what came of a request; whatever fails, those who wait for it go on."""
        try:
            if answer.snapshot is not None and answer.folder in self._checkers:
                self._snapshots[answer.folder] = answer.snapshot
                self._publish(answer.folder, self._named_as_opened(answer.snapshot, found))
            self._tell_error(answer.folder, answer.error)
        except Exception as error:
            self.report_server_error(error, JsonRpcInternalError)
        finally:
            if answer.last and answer.request == self._asked:
                self._progress.end()
            async with self._news:
                self._answered = max(self._answered, answer.request)
                self._news.notify_all()

    def _tell_error(self, folder: str, error: str) -> None:
        """Say why a folder cannot be checked, once, until another reason keeps it from being checked."""
        if error and error != self._errors.get(folder):
            self.window_show_message(types.ShowMessageParams(types.MessageType.Error, f"kcheck: {error}"))
        self._errors[folder] = error

    def _named_as_opened(self, snapshot: Snapshot, found: Diagnostics) -> Diagnostics:
        """The diagnostics of open files by the URIs that the editor has for them."""
        uris = [document.uri for document in self.workspace.text_documents.values()]
        opened = {snapshot.address(system.real_path(path(own))): own for own in uris}
        return {opened.get(address, address): own for address, own in found.items()}

    def _publish(self, folder: str, found: Diagnostics) -> None:
        """Send the diagnostics of the files, by their URIs, in which they are others than before.

        Files are not looked at here: the thread that checks would go on at each, and this one wait.
        """
        before = self._published.get(folder, {})
        for address in before.keys() | found.keys():
            new = found.get(address, [])
            if new != before.get(address, []):
                self.text_document_publish_diagnostics(types.PublishDiagnosticsParams(address, new))
        self._published[folder] = found

    def newest(self, document: str) -> Snapshot | None:
        """The newest state of the folder that holds a file, without waiting; None if there is none yet."""
        name = path(document)
        holding = [folder for folder in self._snapshots if contains_path(folder, name)]
        return self._snapshots[max(holding, key=len)] if name and holding else None

    async def snapshot_of(self, document: str) -> tuple[Snapshot, Source] | None:
        """The newest state of the folder of a file, and the file in it.

        Waits a while for the check of what was just typed. None if kcheck has not looked into the file.
        """
        asked = self._asked
        try:
            async with asyncio.timeout(_PATIENCE if self._snapshots else None), self._news:
                await self._news.wait_for(lambda: self._answered >= asked)
        except TimeoutError:
            pass
        real = system.real_path(path(document))
        for snapshot in self._snapshots.values():
            source = snapshot.source(real)
            if source is not None:
                return snapshot, source
        return None


Change: TypeAlias = (
    types.DidChangeTextDocumentParams | types.DidSaveTextDocumentParams | types.DidCloseTextDocumentParams
    | types.DidChangeWatchedFilesParams
)  # fmt: skip


def make(settings: Callable[[str], Settings]) -> Server:
    """A server that checks each folder with the settings that a function gives for it."""
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

    value_requests.register(server)
    edit_requests.register(server)
    return server
