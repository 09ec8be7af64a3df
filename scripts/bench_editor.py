"""How long an editor waits for `kcheck lsp`: a real client over pipes types, and reads what comes back.

`scripts/bench --editor` runs this. Each figure is the time from what is sent until the answer that shows it: of typing,
until the diagnostics of a file arrive that differ from those before.
"""

from __future__ import annotations

import asyncio
import os
import re
import statistics
import time
from typing import TYPE_CHECKING, NamedTuple

from lsprotocol import types
from pygls.lsp.client import LanguageClient
from pygls.uris import from_fs_path

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator
    from pathlib import Path

PATIENCE = 300
CPU = "processor time"
QUIET = 2.0
"""Seconds without news after which nothing more is expected of a check."""


class Case(NamedTuple):
    """A folder, and the goal for typing in it, in milliseconds.

    `shift` is a file in which lines are typed; in `number` the first number that a pattern finds changes, which is
    `seen` in another file. `cpu` is the goal for processor time, which a busy machine does not stretch.
    """

    name: str
    folder: Path
    most: float
    shift: str
    number: str
    pattern: str
    seen: str
    cpu: float = 0


class Editor:
    """One editor with its server."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.client = LanguageClient("bench", "1")
        self.found: dict[str, list[types.Diagnostic]] = {}
        self.news = asyncio.Event()
        self.texts: dict[str, tuple[int, str]] = {}

        @self.client.feature(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
        def publish(params: types.PublishDiagnosticsParams) -> None:
            self.found[params.uri] = list(params.diagnostics)
            self.news.set()

    async def start(self, command: str) -> None:
        """Start the server on the folder."""
        await self.client.start_io(command, "lsp", cwd=self.folder)
        address = from_fs_path(str(self.folder)) or ""
        able = types.ClientCapabilities()
        folders = [types.WorkspaceFolder(address, "bench")]
        await self.client.initialize_async(types.InitializeParams(able, root_uri=address, workspace_folders=folders))
        self.client.initialized(types.InitializedParams())

    async def until(self, holds: Callable[[], bool]) -> None:
        """Wait for news after which something holds."""
        async with asyncio.timeout(PATIENCE):
            while not holds():
                self.news.clear()
                await self.news.wait()

    async def quiet(self) -> None:
        """Wait until nothing more comes."""
        while True:
            self.news.clear()
            try:
                await asyncio.wait_for(self.news.wait(), QUIET)
            except TimeoutError:
                return

    def address(self, name: str) -> str:
        """The URI of a file."""
        return from_fs_path(str(self.folder / name)) or ""

    def open(self, name: str) -> None:
        """Open a file."""
        text = (self.folder / name).read_text()
        self.texts[name] = (1, text)
        item = types.TextDocumentItem(self.address(name), "terraform", 1, text)
        self.client.text_document_did_open(types.DidOpenTextDocumentParams(item))

    def type(self, name: str, text: str) -> None:
        """Have another text in a file."""
        version = self.texts[name][0] + 1
        self.texts[name] = (version, text)
        document = types.VersionedTextDocumentIdentifier(version, self.address(name))
        change = types.TextDocumentContentChangeWholeDocument(text)
        self.client.text_document_did_change(types.DidChangeTextDocumentParams(document, [change]))

    def processor(self) -> float:
        """Seconds of processor time that the server has used, user and system; Linux only."""
        server = self.client._server  # the library keeps it to itself
        with open(f"/proc/{server.pid}/stat") as stat:
            fields = stat.read().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    async def typed(self, name: str, text: str, seen: str) -> tuple[float, float]:
        """Seconds from a change in a file until it is seen in one, and those of processor time."""
        before = self.found.get(self.address(seen))
        begin, used = time.perf_counter(), self.processor()
        self.type(name, text)
        await self.until(lambda: self.found.get(self.address(seen)) != before)
        return time.perf_counter() - begin, self.processor() - used

    async def asked(self, name: str, number: int) -> dict[str, float]:
        """Seconds until requests about a file are answered, `number` of each."""
        document = types.TextDocumentIdentifier(self.address(name))
        lines = self.texts[name][1].splitlines()
        whole = types.Range(types.Position(0, 0), types.Position(len(lines), 0))
        every = [types.Position(i, len(line) - 1) for i, line in enumerate(lines) if line.strip()]
        at = [every[i % len(every)] for i in range(number)]
        client, context = self.client, types.CodeActionContext([])
        requests: dict[str, Callable[[int], Awaitable[object]]] = {
            "hover": lambda i: client.text_document_hover_async(types.HoverParams(document, at[i])),
            "definition": lambda i: client.text_document_definition_async(types.DefinitionParams(document, at[i])),
            "inlay hints": lambda _: client.text_document_inlay_hint_async(types.InlayHintParams(document, whole)),
            "code actions": lambda _: client.text_document_code_action_async(
                types.CodeActionParams(document, whole, context)
            ),
        }
        result = {}
        for what, request in requests.items():
            times = []
            for i in range(number):
                begin = time.perf_counter()
                await request(i)
                times.append(time.perf_counter() - begin)
            result[what] = max(times)
        return result

    async def end(self) -> None:
        """End the server."""
        await self.client.shutdown_async(None)
        self.client.exit(None)
        await self.client.stop()


def rows(case: Case, command: str, runs: int) -> Iterator[str]:
    """What is printed of a case: the medians and the worst of what an editor waits for, with the goals."""
    figures = asyncio.run(_measure(case, command, runs))
    for what, times in figures.items():
        middle, worst = statistics.median(times) * 1000, max(times) * 1000
        most = case.cpu if what.endswith(CPU) else case.most if "typed" in what else 0
        goal = f"goal <= {most:,g} ms {'met' if middle <= most else 'MISSED'}" if most else ""
        yield f"{case.name:34} {what:44} {middle:8,.0f} {worst:8,.0f}  {goal}".rstrip()


async def _measure(case: Case, command: str, runs: int) -> dict[str, list[float]]:
    editor = Editor(case.folder)
    begin = time.perf_counter()
    await editor.start(command)
    await editor.until(lambda: bool(editor.found))
    result = {"first diagnostics": [time.perf_counter() - begin]}
    for name in dict.fromkeys((case.shift, case.number)):
        editor.open(name)
    await editor.quiet()
    lines, numbers, hasty, waited, keys = [], [], [], [], []
    text, other = editor.texts[case.shift][1], editor.texts[case.number][1]
    for i in range(runs):
        line = await editor.typed(case.shift, "\n" * (i % 2 + 1) + text, case.shift)
        await editor.quiet()
        changed = re.sub(case.pattern, lambda match, i=i: str(int(match[0]) * (i % 2 + 2)), other, count=1)
        number = await editor.typed(case.number, changed, case.seen)
        await editor.quiet()
        lines.append(line[0])
        numbers.append(number[0])
        keys += [line[1], number[1]]
        waited.append(max((await editor.asked(case.shift, 20)).values()))
        for size in range(5):  # what comes next ends what still goes on
            editor.type(case.shift, "\n" * size + text)
            await asyncio.sleep(0.05)
        hasty.append((await editor.typed(case.shift, "\n" * (i + 7) + text, case.shift))[0])
        await editor.quiet()
    await editor.end()
    result["a line typed, in its own file"] = lines
    result[f"a line or a number typed, {CPU}"] = keys
    result["the last of six lines typed in a hurry"] = hasty
    result[f"a number typed, seen in {case.seen}"] = numbers
    result["the slowest request of 80"] = waited
    return result
