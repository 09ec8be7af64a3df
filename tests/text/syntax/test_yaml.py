"""Test reading YAML with byte spans, and writing scalars."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

import pytest
import yaml as pyyaml
from hypothesis import example, given
from hypothesis import strategies as st

from kcheck.text import placeholders
from kcheck.text.syntax import yaml
from kcheck.text.syntax.yaml import Alias, Document, Mapping, Node, Scalar, Sequence, Style, documents, get, literal
from kcheck.text.text import Source

if TYPE_CHECKING:
    from collections.abc import Iterator

BOTH = [pytest.param(pyyaml.CLoader, id="c"), pytest.param(pyyaml.Loader, id="pure")]


@pytest.fixture(params=BOTH)
def parser(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Run the test with the C parser and with the fallback in Python."""
    monkeypatch.setattr(yaml, "Loader", request.param)
    return request.param


def read(data: bytes | str) -> list[Document]:
    return list(documents(Source("x.yaml", data.encode() if isinstance(data, str) else data)))


def root(data: bytes | str) -> Node:
    (document,) = read(data)
    assert document.problem is None, document.problem
    assert document.root is not None
    return document.root


def problem(data: bytes | str) -> tuple[str, int, int, str]:
    """Return message, line, column and text of the only problem."""
    (document,) = read(data)
    assert document.problem is not None
    assert document.root is None
    span = document.problem.span
    return document.problem.message, span.begin.line, span.begin.column, span.text


def value(data: bytes | str, *path: str | int) -> object:
    node = get(root(data), *path)
    assert isinstance(node, Scalar)
    return yaml.value(node)


def scalars(node: Node) -> Iterator[Scalar]:
    if isinstance(node, Scalar):
        yield node
    elif isinstance(node, Sequence):
        for item in node.items:
            yield from scalars(item)
    elif isinstance(node, Mapping):
        for entry in node.entries:
            yield entry.key
            yield from scalars(entry.value)


def texts(node: Node) -> object:
    """Return the tree as Python data, without places; documents with bombs would not fit."""
    node = yaml.resolve(node)
    if isinstance(node, Scalar):
        return node.text
    if isinstance(node, Sequence):
        return [texts(item) for item in node.items]
    return {entry.key.text: texts(entry.value) for entry in node.entries}


# Spans.

SPANS = """\
plain: some text   # comment
single: 'it''s'
double: "a\\tb"
list:
- 1
- &item two   # comment
# comment after the list

inner:
  - x: {a: 1, b: [2, 3] }
    y: z
  # comment after the inner list
anchored: &map
  k: v
tagged: !!str 12
both: !!str &b # why
  12
flow: &flow [1, 2]
zero: &zero
- 1
deeper: &deeper
  - 1
ref: *map
last: end
"""


@pytest.mark.usefixtures("parser")
@pytest.mark.parametrize("ends", ["\n", "\r\n"])
@pytest.mark.parametrize("prefix", ["", "\ufeff", "# é€😀\n", "--- # é\n", "\ufeff# 😀\n---\n"])
@pytest.mark.parametrize(
    ("path", "text"),
    [
        (("plain",), "some text"),
        (("single",), "'it''s'"),
        (("double",), '"a\\tb"'),
        (("list",), "- 1\n- &item two"),
        (("list", 1), "two"),
        (("inner",), "- x: {a: 1, b: [2, 3] }\n    y: z"),
        (("inner", 0), "x: {a: 1, b: [2, 3] }\n    y: z"),
        (("inner", 0, "x"), "{a: 1, b: [2, 3] }"),
        (("inner", 0, "x", "b"), "[2, 3]"),
        (("anchored",), "k: v"),
        (("tagged",), "12"),
        (("both",), "12"),
        (("flow",), "[1, 2]"),
        (("zero",), "- 1"),
        (("deeper",), "- 1"),
        (("ref",), "k: v"),
        (("last",), "end"),
    ],
)
def test_a_yaml_span_covers_exactly_its_node(prefix: str, ends: str, path: tuple[str | int, ...], text: str) -> None:
    node = get(root((prefix + SPANS).replace("\n", ends)), *path)
    assert node is not None
    assert node.span.text == text.replace("\n", ends)


@pytest.mark.usefixtures("parser")
def test_yaml_spans_are_in_bytes() -> None:
    tree = root("é: [ü, '€', 😀, x]\nz: 1\n")
    assert [node.span.text for node in scalars(tree)] == ["é", "ü", "'€'", "😀", "x", "z", "1"]
    last = get(tree, "z")
    assert last is not None
    assert last.span.start == len("é: [ü, '€', 😀, x]\nz: ".encode())
    assert last.span.begin == (2, 4)


@pytest.mark.usefixtures("parser")
@pytest.mark.parametrize(
    ("text", "path", "before"),
    [
        ("a:\nb: 1\n", ("a",), "a:"),
        ("a:   # comment\nb: 1\n", ("a",), "a:"),
        ("a:", ("a",), "a:"),
        ("{a: , b: 1}", ("a",), "{a:"),
        ("{a : , b: 1}", ("a",), "{a :"),
        ("{a, b: 1}", ("a",), "{a"),
        ("? a\n# c: d\nb: 1\n", ("a",), "? a"),
        ("-\n- 1\n", (0,), "-"),
        ("- \n# c\n- 1\n", (0,), "-"),
    ],
)
def test_an_absent_value_is_a_null_after_its_colon(text: str, path: tuple[str | int, ...], before: str) -> None:
    node = get(root(text), *path)
    assert isinstance(node, Scalar)
    assert yaml.value(node) is None
    assert (node.span.start, node.span.text) == (len(before), "")


@pytest.mark.usefixtures("parser")
@pytest.mark.parametrize(
    ("block", "span", "text"),
    [
        ("|\n  a\n  b\n\n\n# c\n", "|\n  a\n  b\n", "a\nb\n"),
        (">-\n  a\n  b\n# c\n", ">-\n  a\n  b\n", "a b"),
        ("|+\n  a\n\n", "|+\n  a\n\n", "a\n\n"),
        ("&x |2-\n   a\n\n", "|2-\n   a\n", " a"),
        ("|\n  a", "|\n  a", "a"),
    ],
)
def test_a_block_scalar_ends_with_its_text(block: str, span: str, text: str) -> None:
    tree = root("k: " + block)
    node = get(tree, "k")
    assert isinstance(node, Scalar)
    assert (node.span.text, node.text) == (span, text)
    assert tree.end == node.end


@pytest.mark.usefixtures("parser")
def test_styles_and_tags_and_anchors_and_flow_are_read() -> None:
    tree = root("[a, 'b', \"c\", !t d, &x e]")
    assert isinstance(tree, Sequence)
    assert tree.flow
    found = [(node.style, node.tag, node.anchor) for node in scalars(tree)]
    assert found == [
        ("plain", None, None),
        ("single", None, None),
        ("double", None, None),
        ("plain", "!t", None),
        ("plain", None, "x"),
    ]
    block = root("- |\n a\n- >\n b\n")
    assert isinstance(block, Sequence)
    assert not block.flow
    assert [node.style for node in scalars(block)] == ["literal", "folded"]
    assert isinstance(pair := get(root("[a, b: c]"), 1), Mapping)
    assert pair.span.text == "b: c"


# Documents.


@pytest.mark.usefixtures("parser")
@pytest.mark.parametrize(
    ("text", "roots"),
    [
        ("", []),
        ("\n\n", []),
        ("# only\n# comments\n", []),
        ("---\n", []),
        ("---\n---\n# c\n...\n---\n", []),
        ("\ufeff", []),
        ("a: 1", [{"a": "1"}]),
        ("a: 1\n---\nb: 2\n--- # c\nc: 3", [{"a": "1"}, {"b": "2"}, {"c": "3"}]),
        ("--- {a: 1}\n--- text\n--- 'x'\n", [{"a": "1"}, "text", "x"]),
        ("--- |\n text\n--- >-\n x\n", ["text\n", "x"]),
        ("a: 1\n...\nb: 2\n", [{"a": "1"}, {"b": "2"}]),
        ("a: 1\n... # c\n%YAML 1.1\n# c\n---\nb: 2\n", [{"a": "1"}, {"b": "2"}]),
        ("%YAML 1.1\n%TAG !e! tag:e,2000:\n---\n!e!x a\n---\nb\n", ["a", "b"]),
        ("a: |\n  ---\n  b\n ---\nc: 1\n", None),
        ("a: |\n  ---\n  ...\nc: ---x\n", [{"a": "---\n...\n", "c": "---x"}]),
        ("---x: 1\n....: 2\n", [{"---x": "1", "....": "2"}]),
        ("a: 1\r\n---\r\nb: 2\r\n---", [{"a": "1"}, {"b": "2"}]),
        ("a: 1\r---\rb: 2\r", [{"a": "1"}, {"b": "2"}]),
        ("\ufeff---\na: 1\n", [{"a": "1"}]),
        ("a: 1\n---\n~\n---\n''\n", [{"a": "1"}, "~", ""]),
    ],
)
def test_yaml_documents_are_split(text: str, roots: list[object] | None) -> None:
    found = read(text)
    if roots is None:
        assert [document.problem is not None for document in found] == [True]
        return
    assert [document.problem for document in found] == [None] * len(roots)
    assert [texts(document.root) for document in found if document.root] == roots


def test_tabs_between_tokens_are_allowed() -> None:
    """PyYAML's pure Python parser refuses such tabs."""
    assert texts(root("a:\tb\t# tabs\nc: [1,\t2]\t\n")) == {"a": "b", "c": ["1", "2"]}
    assert [document.span.text for document in read("a\n---\t'x'\n")] == ["a\n", "---\t'x'\n"]


@pytest.mark.usefixtures("parser")
def test_a_broken_document_loses_no_other_document() -> None:
    first, second, third = read("a: 1\n---\nb: [1\n---\nc: é\n")
    assert first.problem is third.problem is None
    assert first.root is not None
    assert texts(first.root) == {"a": "1"}
    assert third.root is not None
    assert texts(third.root) == {"c": "é"}
    assert second.problem is not None
    assert second.problem.span.text == "["
    assert second.problem.span.begin == (3, 4)
    assert [document.span.text for document in (first, second, third)] == [
        "a: 1\n",
        "---\nb: [1\n",
        "---\nc: é\n",
    ]


@pytest.mark.usefixtures("parser")
def test_anchors_end_with_their_document() -> None:
    first, second = read("a: &x 1\n---\nb: *x\n")
    assert first.problem is None
    assert second.problem is not None
    assert (second.problem.message, second.problem.span.text) == (
        "alias *x refers to no anchor above it",
        "*x",
    )


# Problems.


@pytest.mark.usefixtures("parser")
@pytest.mark.parametrize(
    ("text", "words", "place", "at"),
    [
        ("é: 1\na: [1, 2\nb: 3\n", "this bracket is not closed", (2, 4), "["),
        ("a: {b: 1\n", "this bracket is not closed", (1, 4), "{"),
        ("a: [1, 'x' 'y']\n", "a ',' is missing", (1, 12), "'"),
        ('a: 1\nb: "é\nc: 2\n', "this quote is never closed", (2, 4), '"'),
        ("a: 'x\n", "this quote is never closed", (1, 4), "'"),
        ("a: b: c\n", "unexpected ':'", (1, 5), ":"),
        ("é: 1\n  b: 2\n", "unexpected ':'", (2, 4), ":"),
        ("a: 1\nfoo\nb: 2\n", "this line has no ':'", (2, 1), "f"),
        ("a:\n\tb: 2\n", "a tab must not be used", (2, 1), "\t"),
        ("a: 1\n\tb: 2\n", "a tab must not be used", (2, 1), "\t"),
        ("- *.txt\n", "needs quotes", (1, 3), "*"),
        ("a: @x\n", "needs quotes", (1, 4), "@"),
        ("a:\n  b: {user}/image:1\n", "a text that begins with `{` needs quotes", (2, 12), "/"),
        ("a: %x\n", "needs quotes", (1, 4), "%"),
        ("a: !foo!bar x\n", "needs quotes", (1, 4), "!"),
        ("a: 1\n- b\n", "wrong indentation", (2, 1), "-"),
        ("a:\n  - 1\n b: 2\n", "wrong indentation", (3, 2), "b"),
        ("- a\nb: c\n", "wrong indentation", (2, 1), "b"),
        ("  a: 1\nb: 2\n", "wrong indentation", (2, 1), "b"),
        ("a: - b\n", "a list cannot begin", (1, 4), "-"),
        ("a: >x\n foo\n", "only an indicator or a comment", (1, 5), "x"),
        ("a: *x\n", "alias *x refers to no anchor", (1, 4), "*x"),
        ("a: {{ x }}\n", "a key must be a text", (1, 5), "{ x }"),
        ("? [a]\n: b\n", "a key must be a text", (1, 3), "[a]"),
    ],
)
def test_problems_are_explained_at_their_place(text: str, words: str, place: tuple[int, int], at: str) -> None:
    message, line, column, span = problem(text)
    assert words in message
    assert ((line, column), span) == (place, at)
    assert "\n" not in message


def test_an_unexplained_problem_quotes_pyyaml() -> None:
    assert problem("a: b: c")[0].endswith("(mapping values are not allowed in this context)")
    assert "while scanning a quoted scalar: found unexpected end of stream" in problem("a: 'b")[0]


@pytest.mark.usefixtures("parser")
@pytest.mark.parametrize(
    ("data", "words", "line", "offset"),
    [
        (b"a: 1\nb: \xe9\n", "not UTF-8", 2, 8),
        (b"\xff\xfea\0:\0 \x001\0", "UTF-16", 1, 0),
        (b"\xfe\xff\0a\0:\0 \x001", "UTF-16", 1, 0),
        (b"a\0:\0 \x001\0", "UTF-16", 1, 1),
        (b"a: 1\nb: \x01\n", "U+0001", 2, 8),
        (b"a: \xc3\xa9\nb: \xc3\xa9\xc2\x81\n", "U+0081", 2, 11),
        (b"a: 1\x7f", "U+007F", 1, 4),
    ],
)
def test_invalid_bytes_are_a_problem_at_their_place(data: bytes, words: str, line: int, offset: int) -> None:
    (document,) = read(data)
    assert document.problem is not None
    assert words in document.problem.message
    assert (document.problem.span.begin.line, document.problem.span.start) == (line, offset)


@pytest.mark.usefixtures("parser")
def test_a_control_character_loses_no_other_document() -> None:
    found = read(b"a: 1\n---\nb: \x01\n---\nc: 3\n")
    assert [document.problem is None for document in found] == [True, False, True]


@pytest.mark.medium
@pytest.mark.usefixtures("parser")
@pytest.mark.parametrize("opener", ["[", "- ", "{a: ", "[{a: ", "? "])
def test_deep_nesting_is_a_problem(opener: str) -> None:
    message, _, _, _ = problem(opener * 10_000)
    assert message == "nested too deeply (more than 100 levels)"


@pytest.mark.usefixtures("parser")
def test_the_nesting_limit_is_exact() -> None:
    assert len(list(scalars(root("[" * 100 + "x" + "]" * 100)))) == 1
    message, _, column, span = problem("[" * 101 + "x" + "]" * 101)
    assert (message, column, span) == ("nested too deeply (more than 100 levels)", 101, "[")


def test_too_many_nodes_is_a_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(yaml, "MAX_NODES", 50)
    assert isinstance(root("[" + "x, " * 40 + "]"), Sequence)
    assert problem("[" + "x, " * 60 + "]")[0].startswith("too large")


# Aliases and merge keys.


@pytest.mark.usefixtures("parser")
def test_an_alias_is_a_reference_to_its_anchor() -> None:
    tree = root("a: &x {k: 1}\nb: *x\nc: [*x]\n*y : 2\n".replace("*y ", "d"))
    assert isinstance(tree, Mapping)
    alias = tree.entries[1].value
    assert isinstance(alias, Alias)
    assert (alias.name, alias.span.text) == ("x", "*x")
    assert alias.target is tree.entries[0].value
    assert yaml.resolve(alias) is get(tree, "b") is get(tree, "c", 0)
    assert value("a: &x {k: 1}\nb: *x\n", "b", "k") == 1


@pytest.mark.usefixtures("parser")
def test_aliases_as_keys_and_redefined_anchors_are_read() -> None:
    tree = root("a: &x one\n*x : 1\nb: &x two\nc: *x\n")
    assert isinstance(tree, Mapping)
    assert texts(tree) == {"a": "one", "one": "1", "b": "two", "c": "two"}
    assert tree.entries[1].key.span.text == "*x"
    assert problem("a: &x [1]\n*x : 1\n")[0] == "a key must be a text, not a list or a map"


@pytest.mark.usefixtures("parser")
@pytest.mark.parametrize(
    "text", ["&a [*a]", "&a {k: *a}", "&a [b, {c: [*a]}]", "x: &a\n  y: *a\n", "a: &a 1\nb: &a [*a]"]
)
def test_an_alias_cycle_is_a_problem_as_in_kubernetes(text: str) -> None:
    message, _, _, span = problem(text)
    assert message == "alias *a is inside its own anchor"
    assert span == "*a"


@pytest.mark.parametrize("last", ["[*a@, *a@]", "{<<: [*a@, *a@]}"])
def test_aliases_that_expand_too_far_are_a_problem(last: str) -> None:
    lines = ["a0: &a0 {k: 1}", *(f"a{i + 1}: &a{i + 1} {last.replace('@', str(i))}" for i in range(60))]
    assert isinstance(root("\n".join(lines[:10])), Mapping)
    message, *_ = problem("\n".join(lines))
    assert message == "too large (aliases stand for more than 20,000 values)"


def test_aliases_count_toward_the_nesting_limit() -> None:
    lines = ["a0: &a0 [1]", *(f"a{i + 1}: &a{i + 1} [*a{i}]" for i in range(99))]
    assert isinstance(root("\n".join(lines[:98])), Mapping)
    assert problem("\n".join(lines))[0] == "nested too deeply (more than 100 levels)"


def test_many_aliases_of_a_scalar_are_read() -> None:
    assert isinstance(root("a: &x 1\nb: [" + "*x, " * 10_000 + "]"), Mapping)


@pytest.mark.usefixtures("parser")
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("<<: {a: 1, b: 1}\nb: 2\n", {"a": 1, "b": 2}),
        ("b: 2\n<<: {a: 1, b: 1}\n", {"a": 1, "b": 2}),
        ("<<: [{a: 1}, {a: 2, b: 2}]\n", {"a": 1, "b": 2}),
        ("<<: [{<<: {a: 1}}, {a: 2}]\n", {"a": 1}),
        ("<<: {a: 1}\n<<: {a: 2, b: 2}\n", {"a": 2, "b": 2}),
        ("'<<': {a: 1}\n", {"a": None}),
        ("<<: 5\na: 1\n", {"a": 1}),
        ("<<: [[{a: 1}], 5]\nb: 1", {"a": None, "b": 1}),
        ("a: 1\nb: 2\na: 3\n", {"a": 3, "b": 2}),
    ],
)
def test_merge_keys_and_duplicates_resolve_as_in_yaml(text: str, expected: dict[str, object]) -> None:
    tree = root(text)
    assert isinstance(tree, Mapping)
    merged = yaml.entries(tree)
    for key, wanted in expected.items():
        node = get(tree, key)
        assert (yaml.value(node) if isinstance(node, Scalar) else None) == wanted
        assert (merged[key].value if key in merged else None) is node


@pytest.mark.usefixtures("parser")
def test_a_merge_through_an_alias_leads_to_the_anchor() -> None:
    text = "base: &b {cpu: 1, mem: 2}\npod:\n  <<: *b\n  mem: 3\n"
    tree = root(text)
    node = get(tree, "pod", "cpu")
    assert node is not None
    assert node.span.start == text.index("1")
    assert value(text, "pod", "mem") == 3


def test_duplicate_keys_are_all_kept() -> None:
    tree = root("a: 1\nb: 2\na: 3\n")
    assert isinstance(tree, Mapping)
    assert [(entry.key.text, entry.value.span.text) for entry in tree.entries] == [
        ("a", "1"),
        ("b", "2"),
        ("a", "3"),
    ]


def test_a_missing_path_gives_none() -> None:
    tree = root("a: [1, {b: 2}]\nc: x\n'0': y\n")
    assert get(None, "a") is None
    assert get(tree) is tree
    assert get(tree, "z", "y", 0) is None
    assert get(tree, "a", 2) is None
    assert get(tree, "a", -1) is None
    assert get(tree, "a", "b") is None
    assert get(tree, "c", "x") is None
    assert get(tree, 0) is None
    assert get(tree, "a", 1, "b") is not None


# Values.


@pytest.mark.usefixtures("parser")
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        *((word, True) for word in ("true", "True", "TRUE", "yes", "Yes", "YES", "on", "On", "ON", "y", "Y")),
        *((word, False) for word in ("false", "False", "FALSE", "no", "No", "NO", "off", "Off", "OFF", "n", "N")),
        *((word, None) for word in ("null", "Null", "NULL", "~", "!!null ''")),
        *((word, word) for word in ("tRUE", "yES", "oN", "nULL", "nan", "inf", "None", "-.", "+", ".", "..")),
        ("0", 0),
        ("-0", 0),
        ("12", 12),
        ("+12", 12),
        ("-12", -12),
        ("1_000", 1000),
        ("0x1F", 31),
        ("-0x1f", -31),
        ("0777", 511),
        ("-0777", -511),
        ("00", 0),
        ("0o17", 15),
        ("0b101", 5),
        ("18446744073709551615", 2**64 - 1),
        ("-9223372036854775808", -(2**63)),
        ("18446744073709551616", 2.0**64),
        ("9" * 5000, "9" * 5000),
        ("08", 8.0),
        ("1.5", 1.5),
        ("1.", 1.0),
        (".5", 0.5),
        ("-.5", -0.5),
        ("1e3", 1000.0),
        ("1.5E-3", 0.0015),
        ("1e400", "1e400"),
        (".inf", math.inf),
        ("-.Inf", -math.inf),
        ("1.2.3", "1.2.3"),
        ("10.0.0.0/8", "10.0.0.0/8"),
        ("1:30", "1:30"),
        ("0x", "0x"),
        ("0xg", "0xg"),
        ("1a", "1a"),
        ("٣", "٣"),
        ("2024-01-02", "2024-01-02"),
        ("2024-01-02T03:04:05Z", "2024-01-02T03:04:05Z"),
        ("'1'", "1"),
        ('"yes"', "yes"),
        ("''", ""),
        ("|\n 1", "1"),
        ("!!str 1", "1"),
        ("!!int '3'", 3),
        ("!!float 3", 3.0),
        ("!!bool 'yes'", True),
        ("! 1", "1"),
        ("!Ref 1", "1"),
        ("!!binary MQ==", "MQ=="),
    ],
)
def test_scalars_have_the_values_of_kubernetes(text: str, expected: object) -> None:
    found = value(f"k: {text}", "k")
    assert (type(found), found) == (type(expected), expected)


def test_nan_is_a_float() -> None:
    found = value("[.nan, .NaN]", 1)
    assert isinstance(found, float)
    assert math.isnan(found)


# Templates.


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"a: {{ .Values.a }}\n", True),
        (b"a: {{ .Values.a\n  }}\n", True),
        (b"{%- if x %}\na: 1\n{% endif %}\n", True),
        (b"{{- range . }}\n# {{ x }}\n", True),
        (b"# {{ x }}\na: [1\n", False),
        (b"a: 1  # {{ x }}\nb: [1", False),
        (b"a: x#{{ y }}\n", True),
        (b"a: {b: {c: 1}}", False),
        (b"a: }} {{", False),
        (b"a: {{", False),
        (b"%{ for x in y ~}\na: 1\n%{ endfor ~}\n", True),
        (b"- a\n  ${b}\n- c\n", True),
        (b"a: ${b}\nc: [\n", False),
        (b"  ${b}: [\n", False),
        (b"", False),
    ],
)
def test_templates_are_distinguished_from_plain_yaml(data: bytes, expected: bool) -> None:
    assert placeholders.is_template(data) is expected


@pytest.mark.medium
def test_recognizing_templates_takes_linear_time() -> None:
    """A quadratic search would take hours for these texts."""
    assert not placeholders.is_template(b"{{" * 500_000 + b" #" * 500_000)


@pytest.mark.parametrize(
    "text", ["{{ x }}", "a: {{ x }}", "- {{ x }}\n", "a:\n{{- toYaml . | indent 2 }}\n", "{{ x }}: 1"]
)
def test_unquoted_templates_are_problems(text: str) -> None:
    assert any(document.problem for document in read(text))


def test_a_quoted_template_is_plain_yaml() -> None:
    assert value('a: "{{ x }}"', "a") == "{{ x }}"


# Writing.

PLAIN = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**63), 2**64 - 1),
    st.floats(allow_nan=False),
    st.text(),
    st.text("-?:,[]{}#&*!|>'\"%@` ~=<.0123exyYnoN_\\\n\t\x85\u2028\ufeff\x7f", max_size=6),
    st.from_regex(r"[-+]?[0-9._:eExobTZ-]{1,8}", fullmatch=True),
)
STYLES: list[Style] = ["plain", "single", "double", "literal", "folded"]


@pytest.mark.medium
@pytest.mark.parametrize("loader", BOTH)
@given(written=PLAIN, style=st.sampled_from(STYLES))
@example("yes", "plain")
@example("<<", "plain")
@example("=", "plain")
@example("0?", "plain")
@example(".0_", "plain")
@example("1_0.5e+3", "plain")
@example("---", "plain")
@example("a\x85b", "single")
@example("\ufeff", "plain")
@example(1e16, "plain")
def test_a_written_yaml_literal_reads_back(loader: Any, written: yaml.Plain, style: Style) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(yaml, "Loader", loader)
        text = literal(written, style)
        assert "\n" not in text
        found = [
            value(text),
            value(f"k: {text} # c\n", "k"),
            value(f"[{text}, {text}]", 1),
            value(f"{{k: {text}}}", "k"),
        ]
        assert found == [written] * 4
        assert {type(one) for one in found} == {type(written)}
        if isinstance(written, str):
            assert texts(root(f"{text}: 1")) == {written: "1"}
            assert get(root(f"{{{text}: 1}}"), written) is not None
            assert pyyaml.safe_load(text) == written  # other readers agree that it is a text
        elif isinstance(written, float):
            assert pyyaml.safe_load(text) == written


@pytest.mark.parametrize(
    ("written", "style", "text"),
    [
        ("text", "plain", "text"),
        ("nvcr.io/nvidia/pytorch:24.01-py3", "plain", "nvcr.io/nvidia/pytorch:24.01-py3"),
        ("--nodes=64", "plain", "--nodes=64"),
        ("1.2.3", "plain", "1.2.3"),
        ("500m", "plain", "500m"),
        ("a b", "plain", "a b"),
        ("a#b", "plain", "a#b"),
        ("text", "single", "'text'"),
        ("it's", "single", "'it''s'"),
        ("text", "double", '"text"'),
        ('a"\\', "double", '"a\\"\\\\"'),
        ("a\nb", "single", '"a\\nb"'),
        ("a\x7f", "double", '"a\\U0000007f"'),
        ("é😀", "plain", "é😀"),
        *((word, "plain", json.dumps(word)) for word in ("yes", "y", "1", "1e3", "null", "~", "", "0x1", "0777", ".5")),
        *(
            (word, "plain", json.dumps(word))
            for word in ("a: b", "- x", "#x", "a #x", "a:", " a", "a ", "-", "?", "@x")
        ),
        *(
            (word, "plain", json.dumps(word))
            for word in ("1:30", "2024-01-02", "a,b", "[x", "*x", "&x", "!x", "%x", "`x")
        ),
        ("yes", "single", "'yes'"),
        (5, "double", "5"),
        (True, "single", "true"),
        (None, "plain", "null"),
        (1.0, "plain", "1.0"),
        (1e22, "plain", "1.0e+22"),
        (math.inf, "plain", ".inf"),
        (-math.inf, "plain", "-.inf"),
        (math.nan, "plain", ".nan"),
    ],
)
def test_literals_read_back_as_the_same_value(written: yaml.Plain, style: Style, text: str) -> None:
    assert literal(written, style) == text


@pytest.mark.parametrize("number", [2**64, -(2**63) - 1])
def test_values_that_would_read_back_differently_are_refused(number: int) -> None:
    with pytest.raises(ValueError, match="does not fit 64 bits"):
        literal(number)


# Everything together: generated documents against PyYAML's own reading.


def render(data: object, draw: st.DrawFn, indent: int) -> str:
    """Write data as YAML in a random style; the text begins with a blank or a line end."""
    comment = draw(st.sampled_from(["", "", " # é: [", "  "]))
    anchor = draw(st.sampled_from(["", "", " &a", " !!str &é_".replace("é_", "b")]))
    pad = "\n" + " " * indent
    if isinstance(data, dict) and data:
        entries = [(literal(key, draw(st.sampled_from(STYLES))), item) for key, item in data.items()]
        if draw(st.booleans()):
            return (
                " {"
                + ", ".join(f"{key}: {json.dumps(item, ensure_ascii=False)}" for key, item in entries)
                + "}"
                + comment
            )
        return comment + "".join(f"{pad}{key}:{render(item, draw, indent + 2)}" for key, item in entries)
    if isinstance(data, list) and data:
        if draw(st.booleans()):
            return f" {json.dumps(data, ensure_ascii=False)}{comment}"
        return comment + "".join(f"{pad}-{render(item, draw, indent + 2)}" for item in data)
    if isinstance(data, str):
        if data.isalpha() and draw(st.booleans()):
            return f"{anchor} |-{comment}{pad} {data}\n"
        return f"{anchor} {literal(data, draw(st.sampled_from(STYLES)))}{comment}"
    return f" {json.dumps(data)}{comment}"


TREES = st.recursive(
    st.one_of(st.text("abé€😀 :#-'\"\n1", max_size=6), st.integers(-99, 99), st.booleans(), st.none()),
    lambda children: (
        st.lists(children, max_size=3) | st.dictionaries(st.text("abé😀: ", max_size=4), children, max_size=3)
    ),
    max_leaves=12,
)


@st.composite
def rendered(draw: st.DrawFn) -> str:
    prefix = draw(st.sampled_from(["---", "\ufeff---", "# 😀\n---", "x: é\n---", "[\n---"]))
    return prefix + render(draw(TREES), draw, 0) + draw(st.sampled_from(["", "\n", "\n...\n", "\n# é\n"]))


@pytest.mark.medium
@given(text=rendered(), ends=st.sampled_from(["\n", "\r\n"]))
def test_spans_of_random_documents_are_exact(text: str, ends: str) -> None:
    data = text.replace("\n", ends).encode()
    trees: list[list[str]] = []
    for loader in (pyyaml.CLoader, pyyaml.Loader):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(yaml, "Loader", loader)
            document = read(data)[-1]
            if document.root is None:
                pytest.fail(str(document.problem))
            events = pyyaml.parse(document.span.text, Loader=pyyaml.Loader)
            expected = [event.value for event in events if isinstance(event, pyyaml.ScalarEvent)]
            found = list(scalars(document.root))
            assert [node.text for node in found] == expected
            for node in found:
                if node.start == node.end:
                    assert yaml.value(node) is None
                    continue
                again = root(data[node.start : node.end])
                assert isinstance(again, Scalar)
                assert (again.text, again.style) == (node.text, node.style)
                assert (again.start, again.end) == (0, node.end - node.start)
            trees.append([f"{node.start} {node.end} {node.text}" for node in found])
    assert trees[0] == trees[1]


@given(
    st.one_of(
        st.binary(max_size=40),
        st.text("ab:-?[]{},&*!|>'\"%#@ \t\n\r.é\x85\u2028\ufeff0{<", max_size=40).map(str.encode),
    )
)
@example(b'"\\UFFFFFFFF"')
@example(b"- ? -\n? ")
@example(b"\xef\xbb\xbf---\n\xef\xbb\xbfa: 1")
def test_any_bytes_can_be_read_as_yaml(data: bytes) -> None:
    for loader in (pyyaml.CLoader, pyyaml.Loader):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(yaml, "Loader", loader)
            for document in read(data):
                assert (document.root is None) != (document.problem is None)
                if document.problem:
                    assert 0 <= document.problem.span.start <= document.problem.span.end <= len(data)
                    assert document.problem.message
                else:
                    assert document.root is not None
                    for node in scalars(document.root):
                        assert document.root.start <= node.start <= node.end <= document.root.end
                        yaml.value(node)
            placeholders.is_template(data)


@pytest.mark.medium
def test_reading_yaml_takes_linear_time() -> None:
    """A quadratic reader would take hours for half a megabyte of text that is not ASCII, or of separators."""
    assert len(read("- é # ü\n" * 30_000)) == 1
    assert len(read("--- é\n" * 5_000)) == 5_000
    assert read("%\n" * 100_000 + "# é\n" * 100_000)[0].problem is not None
