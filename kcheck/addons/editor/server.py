"""Language server: state of the workspace's folders, and the checking thread."""

from __future__ import annotations

import asyncio
import gc
import os
import sys
from contextlib import suppress
from functools import partial
from threading import Condition, Thread
from typing import TYPE_CHECKING, NamedTuple, TypeAlias
from uuid import uuid4

from lsprotocol import types
from pygls.exceptions import JsonRpcException, JsonRpcInternalError
from pygls.lsp.server import LanguageServer

from kcheck import __version__
from kcheck.addons.editor import diagnostics
from kcheck.addons.editor.checker import Checker
from kcheck.addons.editor.positions import Positions, path
from kcheck.config.config import ConfigError
from kcheck.text import deadline
from kcheck.text.control_characters import visible
from kcheck.text.files import system
from kcheck.text.files.boundary import contains_path, repository
from kcheck.text.files.tree import PathError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pygls.server import ServerErrors

    from kcheck.addons.editor.checker import Settings
    from kcheck.addons.editor.snapshot import Snapshot
    from kcheck.text.text import Source

_WATCHED = "**/{*.tf,*.tfvars,*.hcl,*.json,*.yaml,*.yml,*.toml,*.conf,Kustomization}"
_SWITCH = 0.001
"""Seconds per thread switch; short, so that results go out while the rest is checked."""
_PATIENCE = 5.0
"""Seconds that a request waits for the check of the latest edit, before an older one answers it.

Requests before the first check wait for it, as the editor can cancel them.
"""


Diagnostics: TypeAlias = "dict[str, list[types.Diagnostic]]"
"""Diagnostics by URI."""


class Server(LanguageServer):
    """Language server that keeps the newest state of each workspace folder."""

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
        """Log a server failure instead of showing a window."""
        self.window_log_message(types.LogMessageParams(types.MessageType.Error, visible(f"kcheck failed: {error}")))

    # --- what is checked

    def begin(self) -> None:
        """Check the workspace's folders for the first time."""
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
        workspace = self.client_capabilities.workspace
        able = workspace.did_change_watched_files if workspace is not None else None
        if able is None or not able.dynamic_registration:
            return
        options = types.DidChangeWatchedFilesRegistrationOptions([types.FileSystemWatcher(_WATCHED)])
        method = types.WORKSPACE_DID_CHANGE_WATCHED_FILES
        self.client_register_capability(types.RegistrationParams([types.Registration("kcheck-files", method, options)]))

    def opened(self, document: str) -> None:
        """Check the repository or folder of an opened file outside of all checked folders."""
        name = path(document)
        if name and not any(contains_path(folder, name) for folder in self._checkers):
            self._add(repository(name) or os.path.dirname(name))

    def folders_changed(self, event: types.WorkspaceFoldersChangeEvent) -> None:
        """Check folders added to the workspace, and drop removed ones."""
        for folder in event.removed:
            gone = system.real_path(path(folder.uri))
            self._checkers.pop(gone, None)
            self._snapshots.pop(gone, None)
            self._publish(gone, {})
        for folder in event.added:
            self._add(path(folder.uri))

    def texts(self) -> dict[str, bytes]:
        """Return the texts of open files, saved or not, by real path."""
        named = ((path(one.uri), one.source) for one in list(self.workspace.text_documents.values()))
        return {system.real_path(name): text.encode("utf-8", "surrogatepass") for name, text in named if name}

    def recheck(self) -> None:
        """Request a check of the current texts."""
        if self._checkers:
            self._asked = self.worker.check(tuple(self._checkers.values()), self.texts())
            self._progress.begin()

    # --- what was found

    def _tell(self, answer: Answer) -> None:
        """Convert an answer to diagnostics, in the checking thread."""
        found: Diagnostics = {}
        if answer.snapshot is not None:
            known = self._known.setdefault(answer.folder, {})
            made = diagnostics.by_file(answer.snapshot, self.positions, known)
            found = {answer.snapshot.address(name): own for name, own in made.items()}
        if self._loop is not None:
            asyncio.run_coroutine_threadsafe(self._take(answer, found), self._loop)

    async def _take(self, answer: Answer, found: Diagnostics) -> None:
        """Publish an answer; wake up waiting requests even if that fails."""
        try:
            if answer.snapshot is not None and answer.folder in self._checkers:
                self._snapshots[answer.folder] = answer.snapshot
                self._publish(answer.folder, self._named_as_opened(answer.snapshot, found))
            if answer.error and answer.error != self._errors.get(answer.folder):  # once per reason
                text = f"kcheck: {answer.error}"
                self.window_show_message(types.ShowMessageParams(types.MessageType.Error, text))
            self._errors[answer.folder] = answer.error
        except Exception as error:
            self.report_server_error(error, JsonRpcInternalError)
        finally:
            if answer.last and answer.request == self._asked:
                self._progress.end()
            async with self._news:
                self._answered = max(self._answered, answer.request)
                self._news.notify_all()

    def _named_as_opened(self, snapshot: Snapshot, found: Diagnostics) -> Diagnostics:
        """Rename diagnostics of open files to the editor's own URIs."""
        uris = [document.uri for document in self.workspace.text_documents.values()]
        opened = {snapshot.address(system.real_path(path(own))): own for own in uris}
        return {opened.get(address, address): own for address, own in found.items()}

    def _publish(self, folder: str, found: Diagnostics) -> None:
        """Send diagnostics of files where they have changed.

        This does no file access, which would hand control to the checking thread each time.
        """
        before = self._published.get(folder, {})
        for address in before.keys() | found.keys():
            new = found.get(address, [])
            if new != before.get(address, []):
                self.text_document_publish_diagnostics(types.PublishDiagnosticsParams(address, new))
        self._published[folder] = found

    def newest(self, document: str) -> Snapshot | None:
        """Return the newest state of a file's folder without waiting; None without one."""
        name = path(document)
        holding = [folder for folder in self._snapshots if contains_path(folder, name)]
        return self._snapshots[max(holding, key=len)] if name and holding else None

    async def snapshot_of(self, document: str) -> tuple[Snapshot, Source] | None:
        """Return the newest state of a file's folder, and the file in it.

        Waits up to `_PATIENCE` for the check of the latest edit.
        """
        asked = self._asked
        with suppress(TimeoutError):
            async with asyncio.timeout(_PATIENCE if self._snapshots else None), self._news:
                await self._news.wait_for(lambda: self._answered >= asked)
        real = system.real_path(path(document))
        found = ((snapshot, snapshot.source(real)) for snapshot in self._snapshots.values())
        return next(((snapshot, source) for snapshot, source in found if source is not None), None)


_LONG = 0.5
"""Seconds before progress is shown, as showing it at each key would flicker."""


class Progress:
    """Shows at most one progress indicator, while anything is unchecked."""

    def __init__(self, server: LanguageServer) -> None:
        self._server = server
        self._ended: asyncio.Event | None = None
        self._patience = 0.0
        self._tasks: set[asyncio.Task[None]] = set()

    def begin(self) -> None:
        """Start progress, unless it is running."""
        window = self._server.client_capabilities.window
        if self._ended is not None or window is None or not window.work_done_progress:
            return
        self._ended = asyncio.Event()
        task = asyncio.create_task(self._show(self._ended, self._patience))
        self._tasks.add(task)  # asyncio itself does not keep it
        task.add_done_callback(self._tasks.discard)
        self._patience = _LONG

    def end(self) -> None:
        """End progress."""
        if self._ended is not None:
            self._ended.set()
            self._ended = None

    async def _show(self, ended: asyncio.Event, patience: float) -> None:
        with suppress(TimeoutError):
            await asyncio.wait_for(ended.wait(), patience)
            return
        progress = self._server.work_done_progress
        token = str(uuid4())
        try:
            await progress.create_async(token)
        except JsonRpcException:  # the editor does not want to show it
            return
        progress.begin(token, types.WorkDoneProgressBegin("kcheck", message="checking"))
        await ended.wait()
        progress.end(token, types.WorkDoneProgressEnd())
        progress.tokens.pop(token, None)


_RUNS = 20
"""Runs between garbage collections: each run leaves a hundred cycles; collecting takes as long as a short run."""


class Answer(NamedTuple):
    """Result of a request for a folder: a snapshot or an error."""

    request: int
    folder: str
    snapshot: Snapshot | None
    error: str = ""
    last: bool = False


class Worker:
    """Checks folders one after the other on request; `tell` is called in its thread."""

    def __init__(self, tell: Callable[[Answer], None]) -> None:
        self._tell = tell
        self._change = Condition()
        self._wanted: tuple[tuple[Checker, ...], Mapping[str, bytes]] | None = None
        self._request = 0
        self._ended = False
        self._thread = Thread(target=self._work, name="kcheck", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def check(self, checkers: tuple[Checker, ...], texts: Mapping[str, bytes]) -> int:
        """Request a check, and return the request's number."""
        with self._change:
            self._request += 1
            self._wanted = (checkers, texts)
            self._change.notify()
            return self._request

    def end(self) -> None:
        """End the thread, and cancel a running check."""
        with self._change:
            self._ended = True
            self._wanted = None
            self._change.notify()

    def _work(self) -> None:
        runs = 0
        while True:
            with self._change:
                self._change.wait_for(self._is_asked)
                if self._ended or self._wanted is None:
                    return
                (checkers, texts), self._wanted = self._wanted, None
                request = self._request
            try:
                deadline.run_until(self._is_asked, partial(self._check_all, request, checkers, texts))
            except deadline.CancelledError:
                continue
            runs += 1
            if runs % _RUNS == 0:
                gc.collect()

    def _is_asked(self) -> bool:
        return self._wanted is not None or self._ended

    def _check_all(self, request: int, checkers: tuple[Checker, ...], texts: Mapping[str, bytes]) -> None:
        for checker in checkers:
            self._check(request, checker, texts, is_last=checker is checkers[-1])

    def _check(self, request: int, checker: Checker, texts: Mapping[str, bytes], *, is_last: bool) -> None:
        error = ""
        try:
            for snapshot in checker.check(texts):
                self._tell(Answer(request, checker.folder, snapshot))
        except (ConfigError, PathError) as mistake:
            error = str(mistake)
        except Exception as bug:  # it is said, and the next change may go well
            error = f"kcheck failed, please report this: {bug!r}"
        self._tell(Answer(request, checker.folder, None, error, last=is_last))
