"""Test columns of HCL: lines aligned as `terraform fmt` does stay aligned, and all other lines are left alone."""

from __future__ import annotations

import subprocess
from itertools import groupby
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import pytest
from hypothesis import HealthCheck, Phase, assume, given, settings
from hypothesis import strategies as st

from kcheck.text.syntax.hcl import nodes, write
from kcheck.text.syntax.hcl.align import apply_aligned
from kcheck.text.syntax.hcl.parse import parse
from kcheck.text.syntax.insertion import Insertion
from kcheck.text.text import Edit, Source
from tests.places import LONG

pytestmark = pytest.mark.medium

NAMES = st.sampled_from(["a", "bb", "name", "min_size", "max_size", "max_unready_percentage", "größe", "zone-id"])
VALUES = st.sampled_from(["1", '"x"', "true", "[1, 2]", "var.a", '"ü ${var.b}"', "{ a = 1 }", "a == b ? 1 : 2"])
COMMENTS = st.sampled_from(["", "", "# why", "// é"])
NEW = st.one_of(st.integers(0, 1000), st.booleans(), st.sampled_from(["x", "Standard", "größe"]))


class Line(NamedTuple):
    """An attribute of a block, or a blank line if it has no name."""

    name: str = ""
    value: str = ""
    comment: str = ""


LINES = st.lists(
    st.builds(Line, NAMES, VALUES, COMMENTS) | st.just(Line()), max_size=8, unique_by=lambda line: line.name or object()
)


def rendered(lines: list[Line]) -> str:
    """Return a block as `terraform fmt` writes it.

    `=` is aligned up to a blank line, comments up to a line without one.
    """
    text = ""
    for _, run in groupby(lines, lambda line: bool(line.name)):
        rows = list(run)
        width = max(len(line.name) for line in rows)
        for _, group in groupby(rows, lambda line: bool(line.comment)):
            own = [(f"  {line.name:{width}} = {line.value}", line.comment) for line in group]
            column = max(len(code) for code, _ in own)
            for code, comment in own:
                text += (f"{code:{column}} {comment}" if comment else code if code.strip(" =") else "") + "\n"
    return f"a {{\n{text}}}\n"


def read(text: str) -> nodes.Block:
    file = parse(Source("main.tf", text.encode()))
    assert not file.problems
    return file.body.blocks[0]


def inserted(text: str, name: str, value: str | int | bool) -> str:
    insertion = Insertion()
    insertion.add((name,), value)
    return apply_aligned(text.encode(), write.insert(read(text), insertion)).decode()


def members(block: nodes.Block) -> dict[str, str]:
    return {name: entry.value_span.text for name, entry in block.body.attributes.items()}


@given(LINES, st.data(), VALUES)
def test_a_replaced_value_leaves_its_run_aligned(lines: list[Line], data: st.DataObject, value: str) -> None:
    at = data.draw(st.sampled_from([i for i, line in enumerate(lines) if line.name] or [-1]))
    assume(at >= 0)
    text = rendered(lines)
    span = read(text).body.attributes[lines[at].name].value_span
    after = [*lines[:at], lines[at]._replace(value=value), *lines[at + 1 :]]
    assert apply_aligned(text.encode(), [Edit(span, value)]).decode() == rendered(after)


@given(LINES, NAMES, NEW)
def test_an_inserted_attribute_is_aligned_with_its_run(lines: list[Line], name: str, value: str | int | bool) -> None:
    assume(any(line.name for line in lines) and all(line.name != name for line in lines))
    text = rendered(lines)
    after = inserted(text, name, value)
    written = write.literal(value)
    assert members(read(after)) == {**members(read(text)), name: written}
    at = next(i for i, line in enumerate(after.splitlines()[1:]) if line.split()[:1] == [name])
    assert after == rendered([*lines[:at], Line(name, written), *lines[at:]])


@given(LINES, NAMES, NEW, st.lists(st.integers(0, 3), min_size=8, max_size=8))
def test_unaligned_lines_stay_unaligned(
    lines: list[Line], name: str, value: str | int | bool, blanks: list[int]
) -> None:
    """Each attribute moves by its own number of blanks; lines that fmt would align differently are left alone."""
    assume(any(line.name for line in lines) and all(line.name != name for line in lines))
    rows = [f"  {n}{' ' * (1 + by)}= {v} {c}".rstrip() for (n, v, c), by in zip(lines, blanks, strict=False)]
    text = "a {\n" + "".join(f"{row.strip(' =') and row}\n" for row in rows) + "}\n"
    after = inserted(text, name, value).splitlines()
    old = text.splitlines()
    at = next(i for i, line in enumerate(after) if i and line.split()[:1] == [name])
    others = after[:at] + after[at + 1 :]
    assert len(others) == len(old)
    changed = [i for i, (one, other) in enumerate(zip(old, others, strict=True)) if one != other]
    assert [" ".join(line.split()) for line in others] == [" ".join(line.split()) for line in old]
    first = max((i for i in range(at) if not old[i].strip()), default=0)
    last = min((i for i in range(at, len(old)) if not old[i].strip()), default=len(old) - 1)
    assert all(first < i < last for i in changed)


WILD = st.lists(
    st.sampled_from(
        [
            "", "# note", "// note", "/* one\n   two */", "a = 1", "bb = 22 # why", "name = \"x\" // why", "max_size = 3 /* why */",
            "list = [1, 2]", "long_list = [\n  1, # one\n  22,\n]", "object = { a = 1, bb = 2 }", "tags = {\n  a = 1\n  bbb = 2 # two\n}",
            "keys = {\n  \"a\" : 1,\n  bbb = 2,\n}", "call = merge({\n  a = 1\n}, var.b)", "text = <<-EOT\n  a = 1\n    bbb = 2\nEOT",
            "plain = <<EOT\na: 1\nEOT", "cond = var.a ? 1 : 2", "inner {\n  x = 1\n  yyy = 2\n}", "inner {}", "inner { x = 1 }",
            "dynamic \"inner\" {\n  for_each = []\n  content {\n    x = 1\n  }\n}", "depends_on = [var.a]",
        ]
    ),
    max_size=7,
)  # fmt: skip
PATHS = st.lists(st.sampled_from(["min_size", "xx", "new-one", "tier"]), min_size=1, max_size=2, unique=True)


def formatted(terraform: str, texts: dict[str, str]) -> dict[str, str]:
    """Return files as `terraform fmt` writes them."""
    with TemporaryDirectory() as folder:
        for name, text in texts.items():
            (Path(folder) / name).write_bytes(text.encode())
        run = subprocess.run([terraform, "fmt", "."], cwd=folder, capture_output=True, text=True, check=False)
        assert run.returncode == 0, run.stderr
        return {name: (Path(folder) / name).read_bytes().decode() for name in texts}


def places(block: nodes.Block) -> list[nodes.Block]:
    """Return the blocks and objects into which something can be inserted."""
    values = (entry.expression for entry in block.body.attributes.values())
    objects = [nodes.as_block(value) for value in values if isinstance(value, nodes.Object)]
    return [block, *objects, *(place for nested in block.body.blocks for place in places(nested))]


BATCHES = settings(
    max_examples=10 if LONG else 2, suppress_health_check=list(HealthCheck), phases=(Phase.explicit, Phase.generate)
)
"""Settings of hypothesis: one start of terraform formats many files, and a failing file is small anyway."""
CASES = st.lists(st.tuples(WILD, PATHS, NEW, st.integers(0, 9)), min_size=20, max_size=40)


@BATCHES
@given(CASES)
def test_insertions_keep_files_formatted(
    terraform: str, cases: list[tuple[list[str], list[str], str | int | bool, int]]
) -> None:
    texts = {}
    for number, (lines, *_) in enumerate(cases):
        once = [line for i, line in enumerate(lines) if "=" not in line.split("\n")[0] or line not in lines[:i]]
        texts[f"{number}.tf"] = 'resource "a" "b" {\n' + "".join(f"{line}\n" for line in once) + "}\n"
    before = formatted(terraform, texts)
    after = {}
    for (name, text), (_, path, value, at) in zip(before.items(), cases, strict=True):
        insertion = Insertion()
        insertion.add(tuple(path), value)
        found = places(read(text))
        place = found[at % len(found)]
        after[name] = apply_aligned(text.encode(), write.insert(place, insertion)).decode()
        left = "".join(after[name].split())
        assert all(word.strip(",") in left for word in text.replace("{}", "{ }").split())
        assert len(places(read(after[name]))) >= len(found)
    assert formatted(terraform, after) == after


@BATCHES
@given(CASES)
def test_replaced_values_keep_files_formatted(
    terraform: str, cases: list[tuple[list[str], list[str], str | int | bool, int]]
) -> None:
    texts = {}
    for number, (lines, *_) in enumerate(cases):
        texts[f"{number}.tf"] = 'resource "a" "b" {\n' + "".join(f"{line}\n" for line in dict.fromkeys(lines)) + "}\n"
    before = formatted(terraform, texts)
    after = {}
    for (name, text), (_, _, value, at) in zip(before.items(), cases, strict=True):
        spans = [
            entry.value_span
            for place in places(read(text))
            for entry in place.body.attributes.values()
            if isinstance(entry.expression, nodes.Literal)
        ]
        edits = [Edit(spans[at % len(spans)], write.literal(value))] if spans else []
        after[name] = apply_aligned(text.encode(), edits).decode()
    assert formatted(terraform, after) == after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("  a = <<EOT\nx\nEOT\n", "  a        = <<EOT\nx\nEOT\n  min_size = 1\n"),
        ("  bb = 1\n  a  = 2 /* one\ntwo */\n", "  bb       = 1\n  a        = 2 /* one\ntwo */\n  min_size = 1\n"),
    ],
    ids=["heredoc", "comment"],
)
def test_multiline_values_are_aligned_with_a_run(before: str, after: str) -> None:
    assert inserted(f"a {{\n{before}}}\n", "min_size", 1) == f"a {{\n{after}}}\n"


def test_a_line_that_becomes_several_leaves_its_run() -> None:
    text = "a {\n  max_size = 1\n  tags     = { a = 1 }\n  b        = 2\n}\n"
    insertion = Insertion()
    insertion.add(("inner", "x"), 1)
    edits = write.insert(places(read(text))[1], insertion)
    assert apply_aligned(text.encode(), edits).decode() == (
        "a {\n  max_size = 1\n  tags = {\n    a = 1\n\n    inner = {\n      x = 1\n    }\n  }\n  b = 2\n}\n"
    )


def test_two_insertions_at_one_place_are_both_aligned() -> None:
    source = Source("main.tf", b"a {\n  b = 1\n}\nc {\n  d = 1\n}\n")
    at, below = source.data.index(b"\n}"), source.data.rindex(b"\n}")
    edits = [
        Edit(source.span(at, at), f"\n  xx = {'2' * 60}"), Edit(source.span(at, at), f"\n  yy = {'3' * 60}"),
        Edit(source.span(below, below), "\n  long = 4"),
    ]  # fmt: skip
    assert apply_aligned(source.data, edits).decode() == (
        f"a {{\n  b  = 1\n  xx = {'2' * 60}\n  yy = {'3' * 60}\n}}\nc {{\n  d    = 1\n  long = 4\n}}\n"
    )


@pytest.mark.parametrize(
    ("above", "new"),
    [
        ("dns   = 1", "tier  = 2"),
        ("dns=1", "tier = 2"),
        ("dns = 1\n  domain   = 1", "tier     = 2"),
    ],
)
def test_a_new_line_keeps_the_unaligned_style_of_the_line_above(above: str, new: str) -> None:
    assert inserted(f"a {{\n  {above}\n}}\n", "tier", 2) == f"a {{\n  {above}\n  {new}\n}}\n"
