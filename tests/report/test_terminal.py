"""Test texts in a terminal (colors, widths, tables that fold) and in a pipe."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from kcheck.commands import printing
from kcheck.commands.cli import cli
from kcheck.report.layout import Column, Line, Table, line, plain
from kcheck.report.terminal import render
from kcheck.report.text import finding_lines
from kcheck.text.findings import Finding, Severity
from kcheck.text.text import Source
from tests.places import ROOT

if TYPE_CHECKING:
    from pathlib import Path

ADDRESS = "https://example.com/a-long-address-without-any-blank"
WORDS = f"  a place: many words that are longer than the line, and {ADDRESS}"
TABLE = Table(
    (Column("name"), Column("why"), Column("of", is_number=True)),
    [["one", "a long reason with many words", "1,000"], ["another", "", "2"]], "  ",
)  # fmt: skip


def test_wrapped_lines_are_indented_and_words_stay_whole() -> None:
    assert render([Line(WORDS, hang=4)], 40, colours=False).splitlines() == [
        "  a place: many words that are longer",
        "      than the line, and",
        f"      {ADDRESS}",
    ]
    assert plain([Line(WORDS, hang=4)]) == f"{WORDS}\n"


def test_a_wrapped_line_continues_at_a_column() -> None:
    assert render([line("  7  ", "words " * 6, column=12)], 30, colours=False).splitlines() == [
        "  7  words words words words", "            words words",
    ]  # fmt: skip


def test_a_paragraph_is_as_wide_as_the_screen() -> None:
    paragraph = Line("one two\nthree", hang=0)
    assert plain([paragraph]) == "one two\nthree\n"
    assert render([paragraph], 80, colours=False) == "one two three\n"


def test_a_table_folds_on_a_narrow_screen() -> None:
    assert plain([TABLE]).splitlines() == [
        "  name     why                               of",
        "  one      a long reason with many words  1,000",
        "  another                                     2",
    ]
    assert render([TABLE], 40, colours=False).splitlines() == [
        "  name     why                        of",
        "  one      a long reason with      1,000",
        "           many words",
        "  another                              2",
    ]
    assert render([TABLE], 22, colours=False).splitlines() == [
        "  one", "    why a long reason", "    with many words, of", "    1,000", "  another", "    of 2",
    ]  # fmt: skip


def test_code_is_never_wrapped() -> None:
    assert render([Line(WORDS, is_code=True)], 20, colours=False) == f"{WORDS}\n"


def test_colours_and_links_are_printed_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    text = [line(("error", "bold red"), " ", ("a-rule", f"bold link {ADDRESS}"), " at main.tf:7")]
    shown = render(text, 80, colours=True)
    assert "\x1b[1;31merror\x1b[0m" in shown
    assert "\x1b[36mmain.tf:7\x1b[0m" in shown
    assert f";{ADDRESS}\x1b\\" in shown
    assert ADDRESS not in render(text, 80, colours=True, links=False)
    monkeypatch.setenv("NO_COLOR", "1")  # --color always wins
    assert "\x1b[1;31merror\x1b[0m" in render(text, 80, colours=True)
    assert render(text, 80, colours=False) == "error a-rule at main.tf:7\n"


def test_control_characters_and_workflow_commands_are_escaped() -> None:
    assert render([Line("a\x1b[31mb"), line("c\x1b[31m")], 80, colours=True) == "a\\x1b[31mb\nc\\x1b[31m\n"
    assert (
        render([Line("a long name: ::error::owned", hang=0)], 22, colours=False) == "a long name:\n\\x3a:error::owned\n"
    )


@pytest.mark.parametrize(
    ("environment", "flag", "tty", "colours"),
    [
        ({}, "auto", True, True),
        ({}, "auto", False, False),
        ({"TERM": "dumb"}, "auto", True, False),
        ({"NO_COLOR": "1"}, "auto", True, False),
        ({"NO_COLOR": ""}, "auto", True, True),
        ({"FORCE_COLOR": "1"}, "auto", False, True),
        ({"FORCE_COLOR": "0"}, "auto", True, False),
        ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, "auto", True, False),
        ({"NO_COLOR": "1"}, "always", False, True),
        ({"FORCE_COLOR": "1"}, "never", True, False),
    ],
)
def test_flags_and_environment_variables_decide_about_colours(
    environment: dict[str, str], flag: str, tty: bool, colours: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "environ", {"COLUMNS": "20", **environment})
    monkeypatch.setattr(sys.stdout, "isatty", lambda: tty)
    context = cli.make_context("kcheck", ["--color", flag, "rules"])
    with context:
        assert printing._has_colours(sys.stdout) == colours
        assert printing.screen() == (60 if tty or colours else 0)


@pytest.mark.parametrize("where", [["--color", "always", "rules"], ["rules", "--color", "always"]])
def test_every_command_has_the_color_option(where: list[str]) -> None:
    assert "\x1b[1mimage-streaming-off\x1b[0m" in CliRunner().invoke(cli, where, color=True).stdout
    assert "--color" not in CliRunner().invoke(cli, ["rules", "--help"]).stdout
    assert "\x1b" not in CliRunner().invoke(cli, ["rules"], color=True).stdout


@pytest.mark.medium
@pytest.mark.parametrize(
    "arguments",
    [
        ["check", "gke-training"], ["capacity", "gke-training"], ["fix", "--diff", "gke-training"], ["limits"],
        ["simulate", "gke-training"], ["explain", "subnet-too-small"], ["usage", "--from", "usage/usage.json.gz"],
        ["show", "gke-training"],
    ],
)  # fmt: skip
def test_every_command_colours_its_text(arguments: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT / "examples")
    monkeypatch.setenv("COLUMNS", "60")
    output = CliRunner().invoke(cli, ["--color", "always", *arguments], color=True).stdout
    assert "\x1b[" in output


class Screen(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_notes_wrap_at_words_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "environ", {"COLUMNS": "60"})
    screen = Screen()
    monkeypatch.setattr(sys, "stderr", screen)
    printing.note(f"  safe: main.tf:7:1 {'word ' * 12}\x1b")
    assert screen.getvalue().splitlines() == [
        f"  safe: \x1b[36mmain.tf:7:1\x1b[0m {' '.join(['word'] * 8)}", "    word word word word \\x1b",
    ]  # fmt: skip


def test_carets_have_the_color_of_their_severity() -> None:
    source = Source("main.tf", b"size = 3\n")
    finding = Finding("a-rule", Severity.ERROR, False, "too small", source.span(7, 8), (), "main.tf:a", None, "", ())
    _, code, carets, *_ = finding_lines(finding)
    assert (code.style, carets.text.strip(" |"), carets.style) == ("", "^", "bold red")


@pytest.mark.medium
@pytest.mark.skipif(sys.platform == "win32", reason="there are no pseudo-terminals")
@pytest.mark.parametrize(("content", "imported"), [("replicas: 1\n", False), ("kind: Pod\n", True)])
def test_rich_is_imported_only_to_print_findings_on_a_terminal(content: str, imported: bool, tmp_path: Path) -> None:
    import pty

    (tmp_path / "pod.yaml").write_text(f"apiVersion: v1\n{content}metadata: {{name: a}}\nspec: {{containers: []}}\n")
    code = (
        "import sys\nfrom kcheck.commands.cli import main\n"
        "sys.argv = ['kcheck', 'check', '--hook', 'pod.yaml', '.']\n"
        "try: main()\nexcept SystemExit: pass\nprint('rich' in sys.modules, file=sys.stderr)\n"
    )
    ours, theirs = pty.openpty()
    run = subprocess.run(
        [sys.executable, "-c", code], stdout=theirs, stderr=subprocess.PIPE, text=True, check=True, cwd=tmp_path
    )
    os.close(theirs)
    os.close(ours)
    assert run.stderr.split()[-1] == str(imported)
