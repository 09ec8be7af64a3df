"""Test the language server: published findings, file names, and progress of a check."""

from __future__ import annotations

import asyncio
import shutil
from typing import TYPE_CHECKING

import pytest
from lsprotocol import types

from kcheck.addons.editor import server
from kcheck.addons.editor.server import Progress
from tests.addons.editor.session import PATIENCE, capabilities, editor, in_thread, run
from tests.places import ROOT

if TYPE_CHECKING:
    from pathlib import Path

    from tests.addons.editor.session import Editor


CLUSTER = """\
resource "azurerm_kubernetes_cluster" "main" {
  name     = "train"
  sku_tier = "Free"

  default_node_pool {
    name       = "system"
    node_count = 30
  }
}
"""
RULE = "free-control-plane"


async def until(own: Editor, address: str, line: int) -> None:
    """Wait until the rule is reported in a line, counted from 0."""

    def is_there() -> bool:
        return any(one.code == RULE and one.range.start.line == line for one in own.found[address])

    async with asyncio.timeout(PATIENCE), own.news:
        await own.news.wait_for(is_there)


def test_files_keep_the_names_the_editor_uses(tmp_path: Path) -> None:
    folder = tmp_path / "a+b c"
    folder.mkdir()
    for name in ("main.tf", "100%41 ä.tf"):
        (folder / name).write_text(CLUSTER.replace("main", name[0] + "x") if name != "main.tf" else CLUSTER)

    async def story(own: Editor) -> None:
        for name in ("main.tf", "100%41 ä.tf"):
            await own.rules(own.uri(name), RULE)
            address = own.open(name)
            own.type(address, f"\n{own.buffers[address]}")
            await until(own, address, 3)
        assert own.found.keys() == {own.uri("main.tf"), own.uri("100%41 ä.tf")}

    run(folder, story)


def test_a_folder_behind_a_link_keeps_its_name(tmp_path: Path) -> None:
    real, link = tmp_path / "real", tmp_path / "link"
    real.mkdir()
    (real / "main.tf").write_text(CLUSTER)
    link.symlink_to(real)

    async def story(own: Editor) -> None:
        await own.rules(own.uri("main.tf"), RULE)
        address = own.open("main.tf")
        own.type(address, own.buffers[address].replace('"Free"', '"Standard"'))
        await own.rules(address, RULE, gone=True)
        assert own.found.keys() == {address}

    run(link, story)


def test_invalid_settings_are_reported_once_and_the_findings_stay(tmp_path: Path) -> None:
    (tmp_path / "main.tf").write_text(CLUSTER)
    (tmp_path / "kcheck.yaml").write_text("nodes: 40\n")

    async def story(own: Editor) -> None:
        address = own.uri("main.tf")
        await own.rules(address, RULE)
        settings = own.open("kcheck.yaml")
        for text in ("nodes: many\n", "nodes: many\n\n", "nodes: many\n\n\n"):
            own.type(settings, text)
            own.open("main.tf")
        own.type(settings, "nodes: 50\n")
        own.type(address, CLUSTER.replace('"Free"', '"Standard"'))
        await own.rules(address, RULE, gone=True)
        assert len([text for text in own.messages if "nodes" in text]) <= 1

    run(tmp_path, story)


@pytest.mark.parametrize("shows", [True, False])
def test_progress_of_the_first_check_is_shown_if_the_editor_supports_it(tmp_path: Path, *, shows: bool) -> None:
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
    """A server that records the progress messages sent to it, instead of an editor."""

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


def test_a_long_check_is_shown_once_and_a_short_one_never(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "_LONG", 3600.0)

    async def run() -> None:
        server = Server()
        shown = Progress(server)  # type: ignore[arg-type]  # as much of it as is needed
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
