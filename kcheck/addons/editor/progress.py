"""Tells an editor that a check goes on: the first one, which reads everything, and later ones that take long."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING
from uuid import uuid4

from lsprotocol import types
from pygls.exceptions import JsonRpcException

if TYPE_CHECKING:
    from pygls.lsp.server import LanguageServer

_LONG = 0.5
"""Seconds after which a check is shown: one for each key would flicker."""


class Progress:
    """Shows at most one progress, from the time that something is to be checked until all is."""

    def __init__(self, server: LanguageServer) -> None:
        self._server = server
        self._ended: asyncio.Event | None = None
        self._patience = 0.0
        self._tasks: set[asyncio.Task[None]] = set()

    def begin(self) -> None:
        """There is something to check."""
        window = self._server.client_capabilities.window
        if self._ended is not None or window is None or not window.work_done_progress:
            return
        self._ended = asyncio.Event()
        task = asyncio.create_task(self._show(self._ended, self._patience))
        self._tasks.add(task)  # asyncio itself does not keep it
        task.add_done_callback(self._tasks.discard)
        self._patience = _LONG

    def end(self) -> None:
        """Everything is checked."""
        if self._ended is not None:
            self._ended.set()
            self._ended = None

    async def _show(self, ended: asyncio.Event, patience: float) -> None:
        try:
            await asyncio.wait_for(ended.wait(), patience)
        except TimeoutError:
            pass
        else:
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
