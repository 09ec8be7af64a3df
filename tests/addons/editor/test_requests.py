"""Test hovers, definitions and inlay hints that an editor requests over stdin and stdout."""

from __future__ import annotations

import asyncio
import shutil
from typing import TYPE_CHECKING

import pytest
from lsprotocol import types

from tests.addons.editor.session import PATIENCE, run
from tests.places import ROOT

if TYPE_CHECKING:
    from pathlib import Path

    from tests.addons.editor.session import Editor


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a copy of the EKS example that an editor may change."""
    target = tmp_path / "eks"
    shutil.copytree(ROOT / "examples" / "eks-training", target)
    return target


def place(own: Editor, address: str, mark: str) -> types.Position:
    """Return the position of the last character of a mark in a buffer."""
    text = own.buffers[address]
    at = text.index(mark) + len(mark) - 1
    line = text.count("\n", 0, at)
    return types.Position(line, len(text[text.rfind("\n", 0, at) + 1 : at].encode("utf-16-le")) // 2)


async def hover(own: Editor, address: str, mark: str) -> types.Hover | None:
    params = types.HoverParams(types.TextDocumentIdentifier(address), place(own, address, mark))
    return await asyncio.wait_for(own.client.text_document_hover_async(params), PATIENCE)


async def definitions(own: Editor, address: str, mark: str) -> list[types.Location]:
    params = types.DefinitionParams(types.TextDocumentIdentifier(address), place(own, address, mark))
    found = await asyncio.wait_for(own.client.text_document_definition_async(params), PATIENCE)
    return [one for one in found or () if isinstance(one, types.Location)] if isinstance(found, list | tuple) else []


def test_hover_follows_edits_in_another_file(folder: Path) -> None:
    async def story(own: Editor) -> None:
        use, tfvars = own.open("eks.tf"), own.open("terraform.tfvars")
        first = await hover(own, use, "var.cpu_max_nodes")
        assert first is not None
        assert isinstance(first.contents, types.MarkupContent)
        assert "`600` nodes" in first.contents.value
        assert "92 of 607 nodes" in first.contents.value
        assert f"({own.uri('terraform.tfvars')}#L1)" in first.contents.value
        own.type(tfvars, "# Größe 😀\ncpu_max_nodes = 80\n")
        second = await hover(own, use, "var.cpu_max_nodes")
        assert second is not None
        assert isinstance(second.contents, types.MarkupContent)
        assert "`80` nodes" in second.contents.value
        assert f"({own.uri('terraform.tfvars')}#L2)" in second.contents.value

    run(folder, story)


def test_hover_marks_the_expression_after_wide_characters(folder: Path) -> None:
    async def story(own: Editor) -> None:
        use = own.open("eks.tf")
        own.type(use, own.buffers[use].replace("max_size       = var", "/* 😀 */ max_size = var"))
        found = await hover(own, use, "= var.c")
        assert found is not None
        assert found.range is not None
        line = own.buffers[use].split("\n")[found.range.start.line].encode("utf-16-le")
        marked = line[found.range.start.character * 2 : found.range.end.character * 2].decode("utf-16-le")
        assert marked == "var.cpu_max_nodes"

    run(folder, story)


def test_a_definition_names_the_line_that_sets_the_value_first(folder: Path) -> None:
    async def story(own: Editor) -> None:
        use = own.open("eks.tf")
        found = await definitions(own, use, "var.cpu_max_nodes")
        assert [one.uri.rpartition("/")[2] for one in found] == ["terraform.tfvars", "variables.tf"]
        assert [one.range.start.line for one in found] == [0, 5]

    run(folder, story)


def test_hints_show_computed_ranges_in_the_requested_lines(folder: Path) -> None:
    async def story(own: Editor) -> None:
        use = own.open("vpc.tf")
        document = types.TextDocumentIdentifier(use)

        async def labels(first: int, last: int) -> list[tuple[int, str]]:
            wanted = types.Range(types.Position(first, 0), types.Position(last, 0))
            params = types.InlayHintParams(document, wanted)
            found = await asyncio.wait_for(own.client.text_document_inlay_hint_async(params), PATIENCE)
            return [(one.position.line, str(one.label)) for one in found or ()]

        assert await labels(0, 21) == [
            (20, "= 10.0.0.0/20, 10.0.16.0/20, 10.0.32.0/20"),
            (20, "full at 92 of 607 nodes"),
        ]
        assert await labels(0, 20) == []

    run(folder, story)


def test_unfinished_code_gets_answers_for_the_right_place_or_none(folder: Path) -> None:
    async def story(own: Editor) -> None:
        use = own.open("eks.tf")
        await hover(own, use, "var.cpu_max_nodes")
        own.type(use, "# a line before\n" + own.buffers[use].replace('name               = "train"', "name = [[["))
        found = await hover(own, use, "var.cpu_max_nodes")
        assert found is not None
        assert found.range is not None
        assert "var.cpu_max_nodes" in own.buffers[use].split("\n")[found.range.start.line]
        assert await hover(own, use, "name = [[") is None

    run(folder, story)
