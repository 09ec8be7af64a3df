"""Test that hostile text stays plain text in hovers and hints: no markup, no foreign link."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

import pytest

from kcheck.addons.editor.hints import hints
from kcheck.addons.editor.hover import hover
from kcheck.config import settings
from kcheck.text.control_characters import HIDDEN
from tests.addons.editor.trees import snapshot, sources
from tests.whole import hostile

if TYPE_CHECKING:
    from tests.conftest import Write


pytestmark = pytest.mark.skipif(os.name == "nt", reason="file names of POSIX")

CODE = re.compile(r"^(`{3,})terraform\n.*?\n\1$|(?<!`)(`+)(?!`).+?(?<!`)\2(?!`)", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"(?<!\\)\[(?:\\.|[^\]\\])*\]\(([^)\s]*)\)")


def plain(text: str) -> str:
    """Return Markdown without its code and links; assert that each link is a file or a page of kcheck."""
    text = CODE.sub("", text)
    for address in LINK.findall(text):
        assert address.startswith(("file:///", "https://github.com/kcheck/"))
    return LINK.sub("", text)


def test_hovers_and_hints_of_hostile_files_are_inert(write: Write) -> None:
    write(hostile.TREE)
    state = snapshot(config=settings.load((".",)))
    texts, labels = set(), set()
    for source in sources(state):
        for found in re.finditer(rb"\w+|\"", source.data):
            answer = hover(state, source, found.start())
            texts |= {answer.text} if answer is not None else set()
        for hint in hints(state, source, 0, len(source.data)):
            texts.add(hint.tooltip)
            labels.add(hint.label)
    assert len(texts) > 30
    assert any("script" in text for text in texts)
    for text in texts:
        assert not any(match[1] is None for match in HIDDEN.finditer(text.replace("\n", ""))), text
        assert not re.search(r"(?<!\\)<|(?<!\\)!\[|(?<!\\)\]\(|https?:/", plain(text)), text
    assert not any(HIDDEN.search(label) for label in labels)
