"""Test the documentation: links work, commands exist, settings load, and the first page leads to all others."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING

import click
import markdown_pages
import pytest
from click.testing import CliRunner

from kcheck.commands.cli import cli
from kcheck.config import schemas, settings
from kcheck.config.config import Config, ConfigError
from kcheck.engine import rules
from kcheck.report import page
from kcheck.report import rule as rule_page
from kcheck.report.layout import plain
from kcheck.report.page import Code, Facts, Name, Part, Point, Prose, Title
from tests.places import ROOT, load_script

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from kcheck.report.page import Block
    from tests.conftest import Write

PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), *(ROOT / "examples").rglob("*.md")])
PAGES.append(ROOT / "tests" / "cases" / "walls" / "README.md")

_FENCE = re.compile(r"^( *)(```+)(\w*)[^\n]*\n(.*?)^\1\2 *$", re.MULTILINE | re.DOTALL)
_HEADING = re.compile(r"^#{1,6} +(.+?) *$", re.MULTILINE)
_ANCHOR = re.compile(r'<a id="([^"]+)"></a>')
_SPAN = re.compile(r"(`+)(.+?)\1", re.DOTALL)
_LINK = re.compile(r"\[(?:[^\[\]]|\[[^\]]*\])*\]\(([^()\s]+)\)")


def fences(text: str) -> list[tuple[str, str]]:
    """Return the language and the content of each code fence."""
    return [(match[3], match[4]) for match in _FENCE.finditer(text)]


def anchors(text: str) -> set[str]:
    """Return the anchors of headings, as GitHub makes them, and of tables."""
    found: dict[str, int] = {}
    result = set(_ANCHOR.findall(text))
    for match in _HEADING.finditer(_FENCE.sub("", text)):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", match[1]).replace("`", "").replace("\\", "")
        slug = re.sub(r"[^\w\- ]", "", plain.strip().lower()).replace(" ", "-")
        many = found[slug] = found.get(slug, -1) + 1
        result.add(f"{slug}-{many}" if many else slug)
    return result


def links(text: str) -> list[str]:
    """Return the targets of all links outside of code."""
    bare = _SPAN.sub("code", _FENCE.sub("", text))
    return [match[1] for match in _LINK.finditer(bare)]


def broken(path: Path) -> Iterator[str]:
    """Yield the links of a page that lead nowhere."""
    for target in links(path.read_text()):
        if re.match(r"[a-z]+:", target):
            continue
        name, _, anchor = target.partition("#")
        there = (path.parent / name).resolve() if name else path
        if not there.exists():
            yield f"{path.name}: there is no {target}"
        elif anchor and (there.suffix != ".md" or anchor not in anchors(there.read_text())):
            yield f"{path.name}: there is no anchor for {target}"


_CALL = re.compile(r"(?:^|[$`'\"(;&|-] *|(?:run|entry): |/)kcheck +((?:--|[a-z])[^`]*)")
_ENDS = ("|", "&&", "||", ";", ">", "2>", "#", "-->")


def calls(text: str) -> Iterator[str]:
    """Yield the arguments of each kcheck command in fences and in inline code."""
    spans = [match[2] for match in _SPAN.finditer(_FENCE.sub("", text))]
    lines = [line for _, content in fences(text) for line in content.replace("\\\n", " ").splitlines()]
    for line in [*spans, *lines]:
        shown = line.removeprefix("$ ").strip()
        quoted = bool(re.match(r"(- )?(sh|run|args):? ['\"]", shown))
        match = _CALL.search(shown[:-1] if quoted else shown)
        if (
            match
            and not re.match(r"[a-z]+[:.,]", match[1])
            and not shown.startswith(("Usage:", "#", "//", "name:", "kcheck:"))
        ):
            yield match[1]


def wrong(call: str) -> str:
    """Return the fault of a call: an unknown command or option; empty if none."""
    parts = shlex.split(call, comments=True)
    for end in _ENDS:
        parts = parts[: parts.index(end)] if end in parts else parts
    context = click.Context(cli, **cli.context_settings)
    if not parts or parts[0] in ("--version", "--help", "-h"):
        return ""
    command = cli.get_command(context, parts[0])
    if command is None:
        return f"there is no command {parts[0]}"
    if isinstance(command, click.Group) and parts[1:2] and parts[1] in command.commands:
        command, parts = command.commands[parts[1]], parts[1:]
    try:
        given = command.make_context(parts[0], parts[1:], context).params
    except (click.exceptions.Exit, click.MissingParameter, click.BadOptionUsage):  # `kcheck explain` is for short
        return ""
    except click.UsageError as error:
        return error.format_message()
    known = {name for rule in rules.load() for name in (rule.name, rule.group)}
    unknown = [
        name for key in ("select", "ignore") for name in given.get(key, ()) if name not in known and name.islower()
    ]
    return f"there is no rule {unknown[0]}" if unknown else ""


def commands_in(text: str) -> list[str]:
    """Return the kcheck commands that use an unknown command or option."""
    return [f"kcheck {call}: {problem}" for call in calls(text) if (problem := wrong(call))]


# --- what must hold of the pages


@pytest.mark.medium
def test_every_link_in_the_docs_leads_somewhere() -> None:
    assert [problem for path in PAGES for problem in broken(path)] == []


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_command_in_the_docs_exists(path: Path) -> None:
    assert commands_in(path.read_text()) == []


README = (ROOT / "README.md").read_text()


def test_the_contributing_page_fits_four_screens() -> None:
    lines = (ROOT / "CONTRIBUTING.md").read_text().splitlines()
    assert sum(max(1, -(-len(line) // 100)) for line in lines) <= 210


def test_the_readme_fits_four_screens() -> None:
    lines = README.splitlines()
    assert len(lines) <= 200
    assert [line for line in lines if len(line) > 100] == []


def test_output_in_the_readme_fits_a_terminal() -> None:
    shown = [text for language, text in fences(README) if language == "text"]
    assert shown
    assert [line for text in shown for line in text.splitlines() if len(line) > 100] == []


@pytest.mark.medium
def test_the_test_finds_commands_in_the_docs() -> None:
    """If the readers above found no commands, the other tests would pass without testing anything."""
    found = [call for path in PAGES for call in calls(path.read_text())]
    for name in ("check", "fix", "capacity", "baseline", "explain", "config", "rules", "show", "eval"):
        assert [call for call in found if call.split()[0] == name]


EXAMPLES = [
    (language, text)
    for name in ("settings.md", "roll-out.md", "getting-started.md")
    for language, text in fences((ROOT / "docs" / name).read_text())
    if language in ("yaml", "toml") and "repos:" not in text
]


@pytest.mark.parametrize(("language", "text"), EXAMPLES, ids=[text.splitlines()[0] for _, text in EXAMPLES])
def test_the_settings_in_the_docs_load(language: str, text: str, write: Write) -> None:
    write({"kcheck.yaml" if language == "yaml" else "pyproject.toml": text})
    wrong: tuple[str, ...] = ()
    try:
        config = settings.load(["."])
    except ConfigError as error:
        config, wrong = error.rest or Config(rules=("policy",)), error.lines
    assert [line for line in wrong if ": there is no " not in line] == []  # files that the example only speaks of
    assert config.places or config.rules
    if not config.rules:  # a folder that the example only speaks of
        rules.selected(config)


def test_all_settings_have_an_example() -> None:
    text = "".join(f"\n{text}" for _, text in EXAMPLES)
    every = schemas.load("settings")["properties"]
    assert [key for key in every if not re.search(rf"^{key}(:| =)", text, re.MULTILINE)] == []


def reachable(start: Path) -> set[Path]:
    """Return the pages that links lead to from a page, directly or through others."""
    found, waiting = {start}, [start]
    while waiting:
        path = waiting.pop()
        for target in links(path.read_text()):
            there = (path.parent / target.partition("#")[0]).resolve()
            if there.suffix == ".md" and there.is_relative_to(ROOT) and there.exists() and there not in found:
                found.add(there)
                waiting.append(there)
    return found


@pytest.mark.medium
def test_each_page_is_found_from_the_index() -> None:
    found = reachable(ROOT / "docs/README.md")
    assert [str(path) for path in PAGES if path.is_relative_to(ROOT / "docs") and path not in found] == []


# --- that the tests can fail


BAD = """
# A page

[gone](gone.md), [no heading](other.md#nothing), [itself](#a-page), [wrong](#a_page), [fine](other.md#two-things-1)

`[no link](nowhere.md)`

```text
[no link either](nowhere.md)
```
"""


def test_bad_links_are_reported(tmp_path: Path) -> None:
    (tmp_path / "bad.md").write_text(BAD)
    (tmp_path / "other.md").write_text("# Two things\n\n## Two `things`\n")
    assert list(broken(tmp_path / "bad.md")) == [
        "bad.md: there is no gone.md",
        "bad.md: there is no anchor for other.md#nothing",
        "bad.md: there is no anchor for #a_page",
    ]


@pytest.mark.parametrize(
    ("heading", "anchor"),
    [
        ("pool.max_pods", "poolmax_pods"),
        ("What `kcheck fix` changes", "what-kcheck-fix-changes"),
        ("000: [Save 80%](https://example.com) (A.B)", "000-save-80-ab"),
        ("Ten - or more", "ten---or-more"),
    ],
)
def test_heading_anchors_equal_those_of_github(heading: str, anchor: str) -> None:
    assert anchors(f"## {heading}\n") == {anchor}


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("`kcheck check . --nonsense`", "No such option"),
        ("`kcheck mend .`", "there is no command mend"),
        ("`kcheck check . --select network,quotaz`", "there is no rule quotaz"),
        ("```sh\nkcheck fix infra --diff --sure | git apply\n```\n", "No such option"),
        ("```yaml\n- run: kcheck check . --fail-on errors\n```\n", "Invalid value"),
        ("```console\n$ kcheck eval a b c\n```\n", "unexpected extra argument"),
    ],
)
def test_bad_commands_are_reported(text: str, problem: str) -> None:
    (found,) = commands_in(text)
    assert problem in found


def test_an_unknown_setting_is_refused(write: Write) -> None:
    write({"kcheck.yaml": "clusters:\n  - {root: ., var_file: x}\n"})
    with pytest.raises(ConfigError, match="var_file"):
        settings.load(["."])


@pytest.mark.medium
def test_stale_docs_are_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = load_script("print-docs")
    every = script.printers()
    printers = {name: every[name] for name in ("docs/limits.md", "docs/rules.md")}
    monkeypatch.setattr(script, "ROOT", tmp_path)
    (tmp_path / "docs").mkdir()
    for name, printer in printers.items():
        (tmp_path / name).write_text(printer())
    assert script.drift(printers) == {}
    numbers = tmp_path / "docs/limits.md"
    right = numbers.read_text()
    numbers.write_text(right.replace("450 nodes", "451 nodes"))
    assert script.drift(printers) == {"docs/limits.md": right}


@pytest.mark.medium
def test_every_link_of_the_site_leads_somewhere(tmp_path: Path) -> None:
    """Links to files outside of docs/ lead to the project, links to rules to their pages."""
    load_script("print-docs").site(tmp_path)
    written = sorted(tmp_path.rglob("*.md"))
    assert {"free-control-plane.md", "pool.quota.md", "rules.md"} <= {path.name for path in written}
    assert [problem for path in written for problem in broken(path)] == []
    assert "](rules/free-control-plane.md)" in (tmp_path / "rules.md").read_text()
    assert "](limits/eks/pool.quota.md)" in (tmp_path / "limits.md").read_text()


# --- how pages are made


BLOCKS: list[Block] = [
    Title("a-rule"),
    Facts((("fix", ("none",)), ("judges", ("each ", Name("pool", "docs/words.md#pool"))))),
    Part("Why"),
    Prose("Because *a* < b, and `*c*`:\n\n    [as it is]"),
    Part("Sources"),
    Point((Name("x.y", "docs/limits/x/y.md"), " = 5"), ("https://example.com/a_b*", "a note")),
    Point(("https://example.com",)),
    Part("Condition"),
    Code("a > b", "cel"),
]


def test_a_page_is_printed_as_text_and_markdown() -> None:
    assert plain(page.as_text(BLOCKS)) == (
        "a-rule\n\nfix     none\njudges  each pool\n\nWhy:\n\nBecause *a* < b, and `*c*`:\n\n    [as it is]\n\n"
        "Sources:\n  x.y = 5\n    https://example.com/a_b*\n    a note\n  https://example.com\n\nCondition:\n  a > b\n"
    )
    assert markdown_pages.as_markdown(BLOCKS, "docs/rules/a-rule.md") == (
        "# a-rule\n\n| | |\n|---|---|\n| fix | none |\n| judges | each [`pool`](../words.md#pool) |\n\n## Why\n\n"
        "Because \\*a\\* &lt; b, and `*c*`:\n\n    [as it is]\n\n## Sources\n\n"
        "- [`x.y`](../limits/x/y.md) = 5\n    - https://example.com/a_b*\n    - a note\n- https://example.com\n\n"
        "## Condition\n\n```cel\na > b\n```\n"
    )


@pytest.mark.medium
def test_every_rule_knows_its_page(write: Write) -> None:
    for rule in rules.load():
        assert rule_page.url(rule).removeprefix(f"{page.HOME}/") == f"rules/{rule.group}/{rule.name}.yaml"
        assert rule.path == str(ROOT / page.rule_file(rule))
        assert plain(rule_page.as_text(rule, rules.load())).endswith(f"\nMore: {rule_page.url(rule)}\n")
    own = "summary: x\nseverity: info\nsubject: pool\nproblem: 'true'\nat: pool.name\nmessage: x\n"
    write({"policy/own/mine.yaml": own})
    (mine,) = rules.read("policy")
    assert rule_page.url(mine) == ""
    assert "More:" not in plain(rule_page.as_text(mine, [mine]))
    assert "](" not in markdown_pages.rule_as_markdown(mine, [mine]).replace("](../words.md#pool)", "")


@pytest.mark.medium
@pytest.mark.parametrize(
    ("name", "lines"),
    [
        ("eks.pool.quota", ["value    450 nodes", "eks.pool.quota", "docs/limits.md#eks.pool.quota"]),
        ("gke.quota.spot_cpus", ["code     PREEMPTIBLE_CPUS", "value    differs by account", "docs/limits.md#gke.quota.spot_cpus"]),
        ("limits.eks.pool.quota", ["eks.pool.quota\n", "value    450 nodes"]),
        ("pool.quota", ["eks.pool.quota\n", "value    450 nodes"]),
        ("cluster.pools", ["eks.cluster.pools\n", "gke.cluster.pools\n"]),
        ("limits.eks.job.large", ["any.job.large\n", "docs/limits.md#any.job.large"]),
        ("flags.expander", ["--expander\n", "docs/limits.md#--expander"]),
        ("gke.pool.max_pods", ["kind     default", "docs/limits.md#gke.pool.max_pods"]),
    ],
)  # fmt: skip
def test_explain_describes_limits(name: str, lines: list[str]) -> None:
    run = CliRunner().invoke(cli, ["explain", name])
    assert run.exit_code == 0
    assert [line for line in lines if line not in run.output] == []


def test_explain_suggests_the_nearest_limit() -> None:
    run = CliRunner().invoke(cli, ["explain", "eks.pool.quotas"])
    assert run.exit_code == 2
    assert "there is no rule, limit or word `eks.pool.quotas`; did you mean eks.pool.quota" in run.output


@pytest.mark.medium
def test_rule_pages_name_rules_that_silence_them() -> None:
    every = rules.load()
    text = {rule.name: plain(rule_page.as_text(rule, every)) for rule in every}
    assert "silent where kubenet-beyond-400-nodes has found something" in text["kubenet-retiring"]
    assert "silences kubenet-retiring" in text["kubenet-beyond-400-nodes"]


@pytest.mark.medium
def test_limits_list_the_rules_that_use_them() -> None:
    pages = markdown_pages.pages()
    assert "`pool-over-quota`" in pages["docs/limits/eks/pool.quota.md"]
    assert (
        'To move it: raise the quota "Nodes per managed node group", or a second group'
        in pages["docs/limits/eks/pool.quota.md"]
    )
    assert "`pool-over-limit`" in pages["docs/limits/gke/pool.nodes.md"]


@pytest.mark.slow
def test_the_site_lists_every_page_and_the_output_of_examples(tmp_path: Path) -> None:
    load_script("print-docs").site(tmp_path)
    listed = re.findall(r'"([\w-]+\.md)"', (ROOT / "scripts/zensical.toml").read_text())
    assert sorted(listed) == sorted(file.name for file in tmp_path.glob("*.md"))
    assert "](examples.md)" in (tmp_path / "getting-started.md").read_text()


@pytest.mark.parametrize(("path", "term"), [("README.md", "**Wall**"), ("docs/getting-started.md", "*wall*")])
def test_a_wall_is_defined_before_a_report_names_one(path: str, term: str) -> None:
    text = (ROOT / path).read_text()
    assert text.index(term) < text.index("the first wall is")
