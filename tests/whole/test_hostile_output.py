"""Test that hostile text cannot control a terminal, a CI log or a viewer: the raw output of every command."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import unicodedata
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar, get_type_hints
from xml.etree import ElementTree

import click
import msgspec
import pytest
import yaml
from click.testing import CliRunner

from kcheck.addons.editor.changes import Watcher
from kcheck.addons.fleet.database import QUESTIONS
from kcheck.addons.fleet.outcomes import CHECKED, FAILED, PARTLY, Kept
from kcheck.addons.fleet.tables import ClusterRow, FindingRow, LimitRow, Rows, SharedRow, UndecidedRow
from kcheck.commands.cli import cli
from tests.addons.fleet import story
from tests.conftest import written
from tests.report.page import Page
from tests.whole import hostile
from tests.whole.hostile import EVIL, PATH

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.conftest import Write


_Row = TypeVar("_Row", bound=msgspec.Struct)

pytestmark = pytest.mark.skipif(os.name == "nt", reason="file names of POSIX")

Output = dict[str, tuple[tuple[str, ...], ...]]
NO_NUL = EVIL.replace("\x00", "")
FORMATS: dict[str, Output] = {
    "check": {
        "text": (
            ("--info", "--show-undecided"), ("--select", NO_NUL), (NO_NUL,), ("--config", "wrong.yaml"),
            ("--baseline-file", "wrong.json"), ("--rules", "wrong"), ("--config", NO_NUL),
            ("--output-file", NO_NUL), ("--color", "always", "--info"), ("--var", NO_NUL), ("--nodes", NO_NUL), ("--var-file", NO_NUL), ("--price", NO_NUL),
        ),
        **dict.fromkeys(("concise", "statistics", "json", "rdjson", "sarif", "junit", "github", "gitlab", "markdown", "html"), (("--info", "--show-undecided"),)),
    },
    "ignore": {"": ((NO_NUL,), ("known", NO_NUL))},
    "watch": {"": (("--info",), ("--select", NO_NUL), (NO_NUL,), ("--config", "wrong.yaml"))},
    "fix": {"": (("--diff", "--unsafe-fixes", "--info"), ("--unsafe-fixes", "--info", "--output", "out"))},
    "baseline": {"": ((), ("--baseline-file", PATH), ("--prune",))},
    "capacity": {
        "text": ((), ("--nodes", "900"), ("--color", "always")), "json": ((),), "markdown": (("--nodes", "900"),), "html": ((), ("--nodes", "900")),
        "svg": ((), ("--nodes", "900", "eks")),
    },
    "show": {"text": ((), ("--undecided",)), "json": ((), ("--undecided",))},
    "eval": {"": (("azurerm_kubernetes_cluster.main.name",), ("var.most",), (NO_NUL,))},
    "explain": {"": (("bad-thing",), (NO_NUL,))},
    "limits": {"text": ((NO_NUL,),), "json": ((NO_NUL,),)},
    "config": {"": ((),)},
    "rules": {"": ((), ("--test", "policy"), ("--test", "wrong"))},
    "rules new": {"": (("new-thing", "--dir", PATH), (NO_NUL,))},
    "simulate": {
        "text": (("--nodes", "30", "--what-if"), ("--record", "nodes.csv"), ("--record", "wrong.csv")),
        "json": (("--nodes", "30"),),
        "svg": (("--nodes", "30", "eks"),),
        "html": (("--nodes", "30"), ("--nodes", "30", "--what-if", "eks")),
    },
    "generate": {"": (
        ("--from", "eks", "--show-intent"), ("--from", "eks", "--diff", "--nodes", "90"), ("--from", "."),
        ("--intent", "wrong.yaml"), ("--from", "eks", "--output", PATH, "--nodes", "90"),
    )},
    "export admission": {
        "vap": ((".",), ("--list", "."), ("--rule", NO_NUL)), "kyverno": ((".",),),
    },
    "usage": {
        "text": (
            (), ("--from", NO_NUL), ("--from", "wrong.yaml"), ("--prometheus", NO_NUL), ("--from", "usage.json", "--previous", NO_NUL),
            *(("--from", "usage.json", "--by", by, ".") for by in ("owner", "namespace", "job")),
        ),
        **dict.fromkeys(("json", "csv", "html"), (("--from", "usage.json", "--by", "owner"), ("--from", "usage.json", "."))),
    },
    "usage record": {"": (
        ("--prometheus", NO_NUL), ("--prometheus", "http://127.0.0.1:9", "--ca", NO_NUL), ("--prometheus", "http://127.0.0.1:9", "-o", PATH),
        ("--window", NO_NUL), ("--matcher", NO_NUL), ("--prometheus", "http://127.0.0.1:9", "--header", NO_NUL),
        ("--prometheus", "http://127.0.0.1:9", "--token-file", NO_NUL), ("--end", NO_NUL),
    )},
    "fleet": {"": ((".", "empty"), (NO_NUL,), ("wrong.yaml",), (".", "--timeout", NO_NUL), (".", "--memory", NO_NUL), (".", "--scheduler", NO_NUL))},
    "fleet query": {
        "text": (*(("-o", "{results}", name) for name in QUESTIONS), ("-o", NO_NUL, "reach"), (NO_NUL,)),
        **dict.fromkeys(("csv", "json", "markdown"), tuple(("-o", "{results}", name) for name in ("reach", "changes", "shared"))),
    },
    "fleet report": {
        "text": (("-o", "{results}"), ("-o", NO_NUL), ("-o", "{results}", "--owner", NO_NUL), ("-o", "{results}", "--run", NO_NUL)),
        **dict.fromkeys(("markdown", "html"), (("-o", "{results}"), ("-o", "{results}", "--owner", EVIL))),
    },
    "init": {"": ((), (PATH,))},
    "lsp": {"": ((PATH,),)},
}  # fmt: skip
"""Every command with each of its formats, and how to run it on the hostile tree."""
RUNS = [
    (command, form, arguments)
    for command, formats in FORMATS.items()
    for form, runs in formats.items()
    for arguments in runs
]


def commands(group: click.Group, above: str = "") -> Iterator[tuple[str, click.Command]]:
    """Yield all commands that print something of their own, by the words that call them."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        if not isinstance(command, click.Group) or command.invoke_without_command:
            yield f"{above}{name}", command
        if isinstance(command, click.Group):
            yield from commands(command, f"{above}{name} ")


def test_every_command_is_run_in_every_format() -> None:
    every = {}
    for name, command in commands(cli):
        choices = next((param.type for param in command.params if "--format" in param.opts), None)
        every[name] = set(choices.choices) if isinstance(choices, click.Choice) else {""}
    assert {name: set(formats) for name, formats in FORMATS.items()} == every


@pytest.fixture
def tree(write: Write) -> Path:
    """Write files in which every name, path, comment and value is hostile."""
    folder = write(hostile.TREE)
    (folder / "empty").mkdir()
    with os.fdopen(os.open(os.fsencode(folder) + b"/not-\xff\x9b-unicode.tf", os.O_CREAT | os.O_WRONLY), "w") as file:
        file.write(hostile.CLUSTER)
    return folder


@pytest.fixture(scope="session")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a fleet of several runs with hostile text in every field that a stranger can write."""
    folder = tmp_path_factory.mktemp("results")
    kept = Kept(str(folder))
    for run, status in ((story.FIRST, CHECKED), (story.SECOND, CHECKED), (story.THIRD, PARTLY)):
        texts = dict.fromkeys(("fingerprint", "missing", "remedy", "reach", "note"), f"{EVIL} {run}")
        sizes = {"reaches": int(run[6:8]), "target": 1000, "first_limit_at": 7, "clusters": (EVIL,), "limit": 1}
        rows = Rows(
            clusters=[
                _evil(ClusterRow, **sizes, **texts, state=state, waste_state="known") for state in ("stops", "unknown")
            ],
            limits=[_evil(LimitRow, nodes=7, at_most=7, kind="hard")],
            findings=[_evil(FindingRow, **texts, severity=severity) for severity in ("error", "warning", "info")],
            undecided=[_evil(UndecidedRow, **texts)],
        )
        ended = story.ended(kept, EVIL, owner=EVIL, rows=rows, status=status, reason=EVIL)
        other = story.ended(kept, "failed", owner=EVIL, status=FAILED, reason=EVIL)
        story.write(
            folder, run, [ended, other], [_evil(SharedRow, **sizes, state=state) for state in ("over", "unknown")]
        )
    return folder


def _evil(kind: type[_Row], /, **given: object) -> _Row:
    """Return a row of a table with hostile text in each text column."""
    hints = get_type_hints(kind)
    return story.filled(kind, **({name: EVIL for name, hint in hints.items() if hint is str} | {
        name: value for name, value in given.items() if name in hints
    }))  # fmt: skip


@pytest.fixture(autouse=True)
def _changes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the watched files change twice, then stop the watcher: files are deleted, then written again with others."""
    left = [
        {name: "" for name in hostile.TREE if name.endswith(".tf")},
        hostile.TREE | {f"more/{PATH}.tf": hostile.CLUSTER},
    ]

    def wait(_: Watcher) -> list[str]:
        if not left:
            raise KeyboardInterrupt
        written(Path(), left[0])
        return [name for name in left.pop(0) if "main.tf" in name or "more" in name]

    monkeypatch.setattr(Watcher, "wait", wait)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "form", "arguments"), RUNS, ids=lambda value: ascii(value)[:40] if isinstance(value, tuple) else value
)
def test_output_for_hostile_files_is_inert(
    command: str, form: str, arguments: tuple[str, ...], tree: Path, results: Path
) -> None:
    words = [str(results) if word == "{results}" else word for word in arguments]
    given = [*command.split(), *(["--format", form] if form else []), *words]
    result = CliRunner().invoke(cli, given, color=True)  # nothing is taken out of what is printed
    assert result.exit_code in (0, 1, 2), result.output
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    printed = (
        result.stdout_bytes.replace(b"\r\n", b"\n") if form == "csv" else result.stdout_bytes
    )  # as RFC 4180 wants it
    assert_inert(printed, annotated=form == "github")
    assert_inert(result.stderr_bytes)
    if result.exit_code != 2:
        assert_valid(command, form, result.stdout)
    assert not list(tree.glob("**/.kcheck-*"))


STYLES = re.compile(rb"\x1b\[(?:0|1|(?:1;)?(?:4|3[1236]))m")
ANNOTATION = re.compile(r"::(?:error|warning|notice) file=[^:,]+(?:,\w+=[^:,]+)+::.+")


def assert_inert(data: bytes, *, annotated: bool = False) -> None:
    """Assert that no byte acts on a terminal or a CI runner, and that everything is visible."""
    text = STYLES.sub(b"", data).decode()
    acting = {ascii(one) for one in text if unicodedata.category(one) in ("Cc", "Cf", "Cs", "Zl", "Zp")}
    assert acting <= {"'\\n'", "'\\t'"}, acting
    lines = text.split("\n")
    annotations = [line for line in lines if annotated and ANNOTATION.fullmatch(line)]
    assert bool(annotations) == annotated
    assert [line for line in lines if line.lstrip().startswith("::")] == annotations
    assert [line for line in lines if re.search(r"##\w*\[", line)] == []


def assert_valid(command: str, form: str, text: str) -> None:
    """Assert that readers of a format accept a document, and that it has none of the markup that it shows."""
    if form in ("json", "sarif", "gitlab", "rdjson") or command == "eval":
        json.dumps(json.loads(text), ensure_ascii=False).encode()  # no half of a pair
    elif form in ("junit", "svg"):
        ElementTree.fromstring(text)  # noqa: S314 - our own
    elif form == "html":
        assert Page(text).foreign() == []
    elif form == "csv":
        rows = list(csv.reader(io.StringIO(text, newline=""), strict=True))
        assert len({len(row) for row in rows}) == 1
        assert not any(cell.lstrip().startswith(("=", "+", "-", "@")) for row in rows for cell in row)
    elif form == "markdown":
        assert set(re.findall(r"(?<!\\)<\w*", text)) <= {"<br"}
        assert "https://evil" not in text
        assert not re.search(r"(?<![\w;])@\w|(?<![\w&])#\d", text)
        for table in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE):
            assert len({len(re.findall(r"(?<!\\)\|", row)) for row in table.splitlines()}) == 1
    elif (form in ("vap", "kyverno") and "exported;" not in text) or command == "config":
        list(yaml.safe_load_all(text))
