"""What the server publishes, and under which names."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from tests.addons.editor.session import PATIENCE, run

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
    """Wait until the rule is found in a line, counted from 0."""

    def is_there() -> bool:
        return any(one.code == RULE and one.range.start.line == line for one in own.found[address])

    async with asyncio.timeout(PATIENCE), own.news:
        await own.news.wait_for(is_there)


def test_files_keep_the_names_that_the_editor_has_for_them(tmp_path: Path) -> None:
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


def test_settings_that_make_no_sense_are_said_once_and_the_findings_stay(tmp_path: Path) -> None:
    (tmp_path / "main.tf").write_text(CLUSTER)
    (tmp_path / "kcheck.yaml").write_text("nodes: 10\n")

    async def story(own: Editor) -> None:
        address = own.uri("main.tf")
        await own.rules(address, RULE)
        settings = own.open("kcheck.yaml")
        for text in ("nodes: many\n", "nodes: many\n\n", "nodes: many\n\n\n"):
            own.type(settings, text)
            own.open("main.tf")
        own.type(settings, "nodes: 20\n")
        own.type(address, CLUSTER.replace('"Free"', '"Standard"'))
        await own.rules(address, RULE, gone=True)
        assert len([text for text in own.messages if "nodes" in text]) <= 1

    run(tmp_path, story)
