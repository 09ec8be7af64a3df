"""What an editor is told of a check that goes on."""

from __future__ import annotations

import asyncio
import shutil
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("pygls")

from lsprotocol import types

from kcheck.addons.editor import progress
from tests.addons.editor.session import PATIENCE, capabilities, editor, in_thread
from tests.places import ROOT

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("shows", [True, False])
def test_the_first_check_is_shown_where_the_editor_can(tmp_path: Path, *, shows: bool) -> None:
    shutil.copytree(ROOT / "examples" / "eks-training", tmp_path, dirs_exist_ok=True)

    async def run() -> None:
        able = capabilities()
        able.window = types.WindowClientCapabilities(work_done_progress=shows)
        async with editor(tmp_path, able) as own:
            await own.rules(own.uri("vpc.tf"), "single-nat-gateway")
            if shows:
                async with asyncio.timeout(PATIENCE), own.news:
                    await own.news.wait_for(lambda: len(own.progress) == 3)
            assert [kind for _, kind in own.progress] == (["create", "begin", "end"] if shows else [])
            assert len({token for token, _ in own.progress}) == shows

    in_thread(run())


class Server:
    """An editor's side of progress, without an editor."""

    def __init__(self) -> None:
        window = types.WindowClientCapabilities(work_done_progress=True)
        self.client_capabilities = types.ClientCapabilities(window=window)
        self.work_done_progress = self
        self.tokens: dict[str, object] = {}
        self.told: list[str] = []
        self.news = asyncio.Event()

    async def create_async(self, token: str) -> None:
        self.tokens[token] = None

    def begin(self, _token: str, value: types.WorkDoneProgressBegin) -> None:
        self.told.append(value.title)
        self.news.set()

    def end(self, _token: str, _value: types.WorkDoneProgressEnd) -> None:
        self.told.append("end")
        self.news.set()


def test_a_short_check_is_not_shown_and_a_long_one_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "_LONG", 3600.0)

    async def run() -> None:
        server = Server()
        shown = progress.Progress(server)  # type: ignore[arg-type]  # as much of it as is needed
        shown.begin()
        await server.news.wait()
        shown.begin()  # something is typed meanwhile
        shown.end()
        while len(server.told) < 2:
            await asyncio.sleep(0)
        shown.begin()
        shown.end()
        await asyncio.gather(*shown._tasks)
        assert server.told == ["kcheck", "end"]
        assert not server.tokens

    in_thread(run())
