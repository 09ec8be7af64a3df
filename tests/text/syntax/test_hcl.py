"""Test HCL: what is read, what remains of a broken file, and what is written."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kcheck.terraform.evaluator import evaluate
from kcheck.terraform.scope import Scope
from kcheck.text.syntax.hcl import nodes
from kcheck.text.syntax.hcl.align import apply_aligned
from kcheck.text.syntax.hcl.parse import parse
from kcheck.text.syntax.hcl.write import append, insert, literal
from kcheck.text.syntax.insertion import Insertion
from kcheck.text.text import Source, apply
from kcheck.text.values import Known, Unknown


def read(text: str | bytes) -> nodes.File:
    return parse(Source("main.tf", text.encode() if isinstance(text, str) else text))


def value(text: str) -> object:
    file = read(f"x = {text}\n")
    assert not file.problems
    datum = evaluate(file.body.attributes["x"].expression, Scope({}))
    assert isinstance(datum, Known), datum
    return datum.value


BROKEN = {
    "conflict": "<<<<<<< HEAD\n  a = 1\n=======\n  a = 2\n>>>>>>> x\n",
    "unclosed string": 'resource "a" "broken" {\n  a = "x\n}\n',
    "unclosed block": 'resource "a" "broken" {\n  a = 1\n',
    "stray brace": 'resource "a" "broken" {\n  a = 1\n}\n}\n',
    "no value": 'resource "a" "broken" {\n  a =\n}\n',
    "unclosed list": 'resource "a" "broken" {\n  a = [1,\n}\n',
    "unclosed heredoc": 'resource "a" "broken" {\n  a = <<EOT\n  text\n}\n',
    "comma in block": 'resource "a" "broken" {\n  a = 1,\n  b = 2\n}\n',
    "two operators": 'resource "a" "broken" {\n  a = 1 + * 2\n}\n',
    "unclosed call": 'resource "a" "broken" {\n  a = merge({}, \n}\n',
}


@pytest.mark.parametrize("middle", BROKEN.values(), ids=BROKEN.keys())
def test_healthy_blocks_of_a_broken_file_are_read(middle: str) -> None:
    first, last = 'resource "a" "first" {\n  x = 1\n}\n', 'resource "a" "last" {\n  x = 2\n}\n'
    file = read(f"{first}{middle}{last}")
    healthy = {block.labels[1] for block in file.body.blocks}
    assert {"first", "last"} <= healthy
    assert file.problems
    begin = file.problems[0].span.begin.line
    assert 4 <= begin <= 4 + middle.count("\n")


def test_a_block_keeps_intact_attributes_next_to_a_broken_one() -> None:
    middle = '  groups = {\n    a = {\n      dynamic "b" {\n      }\n    }\n  }\n\n'
    file = read(f'module "eks" {{\n  version = "1.28"\n\n{middle}  name = "train"\n}}\n')
    (block,) = file.body.blocks
    assert list(block.body.attributes) == ["version", "name", "groups"]
    broken = block.body.attributes["groups"]
    datum = evaluate(broken.expression, Scope({}))
    assert isinstance(datum, Unknown)
    assert datum.reason == "groups has an error and cannot be read"
    assert broken.span.begin.line == 4
    assert file.problems


@pytest.mark.parametrize(
    "inside",
    [
        "  x = <<EOT\n  y = 1\n  EOT\n  z = = 2\n",  # y is text
        "  x = [1,\n  y = 2,\n",
        '  dynamic "x" 1 {\n  }\n',  # a block cannot be unknown
    ],
)
def test_a_block_with_an_unbounded_error_is_left_out(inside: str) -> None:
    assert not read(f'module "eks" {{\n  version = "1.28"\n{inside}}}\n').body.blocks


@pytest.mark.parametrize(
    ("text", "message", "line"),
    [
        ('resource "a" "b" {\n  x = 1\n', "never closed", 1),
        ('resource "a" "b" {\n  x = "one\n  y = "two"\n}\n', "this quote is never closed", 2),
        ('resource "a" "b" {\n  x = "{one\n  # it\'s\n}\n', "this quote is never closed", 2),
        ('a {\n  x = "one" /* " */\n  y = <<E\n"\nE\n  z = = 2\n}\n', "unexpected `=`", 6),
        ('a {\n  x = "${\n    f("y")\n  }"\n  z = = 2\n}\n', "unexpected `=`", 5),
        ('resource "a" "b" {\n  x = 1\n}\n}\n', "without an opening one", 4),
        ("x = 1\n<<<<<<< HEAD\ny = 1\n", "merge conflict", 2),
        ('resource "a" "b" {\n  x =\n}\n', "unexpected", 2),
    ],
)
def test_a_syntax_problem_names_the_mistake_and_its_place(text: str, message: str, line: int) -> None:
    problem = read(text).problems[0]
    assert message in problem.message
    assert problem.span.begin.line == line


def test_invalid_utf8_is_a_problem_with_its_line() -> None:
    problem = read(b'a = 1\nb = "\xff"\n').problems[0]
    assert (problem.message, problem.span.begin.line) == ("not UTF-8 text", 2)


def test_comments_before_the_body_are_skipped() -> None:
    assert list(read("# note\n\n/* more */\nx = 1\n").body.attributes) == ["x"]


@pytest.mark.parametrize("text", ["", "\n", "# only\n", "\ufeff", "\ufeff# x\n"])
def test_empty_files_have_no_problems(text: str) -> None:
    file = read(text)
    assert not file.problems
    assert not file.body.attributes


def test_crlf_and_byte_order_marks_keep_spans_correct() -> None:
    file = read("\ufeffa = 1\r\nb = {\r\n  c = 2\r\n}\r\n".encode())
    assert file.body.attributes["a"].value_span.text == "1"
    assert file.body.attributes["b"].value_span.text == "{\r\n  c = 2\r\n}"
    assert file.body.attributes["a"].span.begin == (1, 1)


def test_deeply_nested_hcl_is_unknown_and_causes_no_crash() -> None:
    file = read("x = " + "[" * 5000 + "]" * 5000 + "\n")
    for entry in file.body.attributes.values():
        assert isinstance(entry.expression, nodes.Invalid)
    deep = "a {\n" * 3000 + "}\n" * 3000
    assert read(deep).body.blocks[0].type == "a"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('"a\\n\\t\\"\\\\ \\u00e9 $${x} %%{y}"', 'a\n\t"\\ é ${x} %{y}'),
        ('"${1} ${2}"', "1 2"),
        ('" ${1}  "', " 1  "),
        ('"x ${~ 1 ~} y"', "x1y"),
        ('"%{ if true }yes%{ else }no%{ endif }"', "yes"),
        ('"%{ for x in [1, 2] }<${x}>%{ endfor }"', "<1><2>"),
        ("<<EOT\n  a\n b ${1}\n\nEOT", "  a\n b 1\n\n"),
        ("<<-EOT\n    a\n      b ${1}\n    c\n  EOT", "a\n  b 1\nc\n"),
        ("<<-EOT\n    ${1}\n      x\n  EOT", "1\n  x\n"),
        ("<<EOT\n\\n $${x}\nEOT", "\\n ${x}\n"),
        ("true ? 1 : false ? 2 : 3", 1),
        ("false ? 1 : true ? 2 : 3", 2),
        ("false ? 1 : false ? 2 : true ? 3 : 4", 3),
        ("(false ? true : false) ? 1 : 2", 2),
        ("(true ? false : true) ? 1 : true ? 5 : 6", 5),
        ("1 + 2 * 3 - 4", 3),
        ("-(1 + 2)", -3),
        ("!true || 2 > 1 && 1 == 1", True),
        ("10 % 4", 2),
        ("-7 % 3", -1),
        ("7 / 2 * 2", 7),
    ],
)
def test_hcl_expressions_are_parsed(text: str, expected: object) -> None:
    assert value(text) == expected


@pytest.mark.medium
@given(
    st.text(
        st.characters(codec="utf-8", exclude_categories=["Cs", "Cc"]) | st.sampled_from('\n\t\r"\\${%~} '), max_size=30
    )
)
def test_a_written_literal_reads_back(text: str) -> None:
    assert value(literal(text)) == unicodedata.normalize("NFC", text)  # as HCL composes characters


@pytest.mark.parametrize(
    ("new", "like", "expected"),
    [(3, "1", "3"), (3, '"1"', '"3"'), (True, "false", "true"), ("a", "", '"a"'), ('a"${b}', "", '"a\\"$${b}"')],
)
def test_literals_keep_the_style_of_the_old_value(new: str | int | bool, like: str, expected: str) -> None:
    assert literal(new, like) == expected


INSERTIONS = [
    # (block, insertion path and value, result)
    ("a {\n}\n", {("x",): 1}, "a {\n  x = 1\n}\n"),
    ("a {}\n", {("x",): 1}, "a {\n  x = 1\n}\n"),
    ("a { y = 2 }\n", {("long",): 1}, "a {\n  y    = 2\n  long = 1\n}\n"),
    ("a {\n  y = 2\n}\n", {("x",): 1}, "a {\n  y = 2\n  x = 1\n}\n"),
    ("a {\n  yy = 2\n}\n", {("x",): 1}, "a {\n  yy = 2\n  x  = 1\n}\n"),
    ("a {\n  y = 2\n}\n", {("long",): 1}, "a {\n  y    = 2\n  long = 1\n}\n"),
    # lines that were not aligned are left alone
    ("a {\n  y  = 2\n  zzz = 3\n}\n", {("longer",): 1}, "a {\n  y  = 2\n  zzz = 3\n  longer = 1\n}\n"),
    # a blank line ends the run that is aligned
    ("a {\n  q = 1\n\n  y = 2\n}\n", {("long",): 1}, "a {\n  q = 1\n\n  y    = 2\n  long = 1\n}\n"),
    ("a {\n  y = 2 # note\n}\n", {("x",): 1}, "a {\n  y = 2 # note\n  x = 1\n}\n"),
    ("a {\n  y = [\n    1,\n  ]\n}\n", {("x",): 1}, "a {\n  y = [\n    1,\n  ]\n  x = 1\n}\n"),
    ("a {\n  y = 2\n\n  b {\n  }\n}\n", {("x",): 1}, "a {\n  y = 2\n  x = 1\n\n  b {\n  }\n}\n"),
    ("a {\n  b {\n  }\n}\n", {("x",): 1}, "a {\n  x = 1\n\n  b {\n  }\n}\n"),
    ("a {\n\ty = 2\n}\n", {("x",): 1}, "a {\n\ty = 2\n\tx = 1\n}\n"),
    ("a {\r\n  y = 2\r\n}\r\n", {("x",): 1}, "a {\r\n  y = 2\r\n  x = 1\r\n}\r\n"),
    ("a {\n  y = 2\n}\n", {("b", "x"): 1}, "a {\n  y = 2\n\n  b {\n    x = 1\n  }\n}\n"),
    (
        "a {\n  y = 2\n}\n",
        {("b", "x"): 1, ("b", "yy"): "2"},
        'a {\n  y = 2\n\n  b {\n    x  = 1\n    yy = "2"\n  }\n}\n',
    ),
    (
        "a {\n  y = 2\n\n  depends_on = [c.d]\n}\n",
        {("x",): 1, ("b", "z"): 1},
        "a {\n  y = 2\n  x = 1\n\n  b {\n    z = 1\n  }\n\n  depends_on = [c.d]\n}\n",
    ),
    ("a {\n  min_size = 2\n  c = 1\n}\n", {("max_size",): 5}, "a {\n  min_size = 2\n  max_size = 5\n  c = 1\n}\n"),
    ("a { /* why */ }\n", {("x",): 1}, "a {\n  /* why */\n  x = 1\n}\n"),
    ("a {\n  y = 2\n}", {("x",): True}, "a {\n  y = 2\n  x = true\n}"),
    ("a {\n}\n", {("b", "x"): 1}, "a {\n  b {\n    x = 1\n  }\n}\n"),
]


@pytest.mark.parametrize(("before", "wanted", "after"), INSERTIONS)
def test_new_attributes_are_inserted_into_a_block(
    before: str, wanted: dict[tuple[str, ...], str | int | bool], after: str
) -> None:
    file = read(before)
    insertion = Insertion()
    for path, new in wanted.items():
        insertion.add(path, new)
    assert apply_aligned(before.encode(), insert(file.body.blocks[0], insertion)).decode() == after


@pytest.mark.parametrize(
    ("before", "wanted", "after"),
    [
        ("{\n  y = 2,\n  z = { q = 1 } }", {("x",): 1}, "{\n  y = 2,\n  z = { q = 1 },\n  x = 1 }"),
        ("{\n  y = 2\n  z = 3 }", {("b", "x"): 1}, "{\n  y = 2\n  z = 3\n\n  b = {\n    x = 1\n  } }"),
        ("{\n  y = 2\n  z = 3, }", {("x",): 1}, "{\n  y = 2\n  z = 3,\n  x = 1, }"),
    ],
)
def test_new_keys_are_inserted_into_an_object(before: str, wanted: dict[tuple[str, ...], int], after: str) -> None:
    """The brace may close on the line of the last member."""
    node = read(f"a = {before}\n").body.attributes["a"].expression
    assert isinstance(node, nodes.Object)
    insertion = Insertion()
    for path, new in wanted.items():
        insertion.add(path, new)
    source = node.span.source
    assert apply(source.data, insert(nodes.as_block(node), insertion)).decode() == f"a = {after}\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("[]", '["x"]'),
        ("[1]", '[1, "x"]'),
        ("[/* none */]", '[/* none */ "x"]'),
        ("[\n  # none\n]", '[\n  # none\n  "x",\n]'),
        ("[\n  1,\n]", '[\n  1,\n  "x",\n]'),
        ("[\n  1 # one\n]", '[\n  1, # one\n  "x"\n]'),
        ("[\n  1]", '[\n  1, "x"]'),
    ],
)
def test_items_are_appended_to_a_list(before: str, after: str) -> None:
    node = read(f"a = {before}\n").body.attributes["a"].expression
    assert isinstance(node, nodes.Tuple)
    insertion = Insertion()
    insertion.append("x")
    assert apply(node.span.source.data, append(node, insertion)).decode() == f"a = {after}\n"


def test_an_appended_object_has_the_lines_of_the_one_before_it() -> None:
    before = "[\n    {\n      name = 1\n    } # first\n  ]"
    node = read(f"a = {before}\n").body.attributes["a"].expression
    assert isinstance(node, nodes.Tuple)
    insertion = Insertion()
    insertion.append({"name": "x", "at": 2})
    after = '[\n    {\n      name = 1\n    }, # first\n    {\n      name = "x"\n      at = 2\n    }\n  ]'
    assert apply(node.span.source.data, append(node, insertion)).decode() == f"a = {after}\n"


@pytest.mark.slow
@pytest.mark.parametrize(("before", "wanted", "after"), INSERTIONS)
def test_inserted_hcl_is_formatted(
    before: str,
    wanted: dict[tuple[str, ...], str],
    after: str,
    terraform: str,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    """Formatted code stays formatted."""
    import subprocess

    def formatted(text: str) -> bool:
        run = subprocess.run([terraform, "fmt", "-"], input=text.encode(), capture_output=True, check=True)
        return run.stdout == text.encode()

    if formatted(before):
        assert formatted(after)


@pytest.mark.parametrize(
    ("text", "missing"),
    [
        ("a = 1 b = 2\n", "b = 2"),
        ("x {\n  a = 1 b = {\n  }\n  c = 3\n}\n", "b = {\n  }"),
        ("x {\n  a = 1 y {\n  }\n}\n", "y {\n  }"),
        ("x {\n} y {\n}\n", "y {\n}"),
        ("x { a = 1 }\n/* c */ a = 1 # d\nb = {\n} # e\n/* f\n*/ c = 2\n", None),
    ],
)
def test_every_inserted_argument_has_its_own_line(text: str, missing: str | None) -> None:
    found = [problem.span.text for problem in parse(Source("x.tf", text.encode())).problems]
    assert found == ([] if missing is None else [missing])


@pytest.mark.parametrize("text", ["%{", "%%{", "%%%{ x", "${", "$${a}", "$$${", "%${", "$%{"])
def test_text_that_looks_like_a_template_is_escaped(text: str) -> None:
    assert value(literal(text)) == text


def test_a_file_full_of_errors_is_not_read_to_its_end() -> None:
    file = parse(Source("a.tf", b'resource "a" {\n  x = [ { "\n' * 300))
    assert len(file.problems) == 102
    assert file.problems[-1].message == "the rest of this file is not read"


@pytest.mark.slow
def test_files_with_very_long_lines_are_not_read() -> None:
    assert not parse(Source("a.tf", b'a = "' + b"x" * 499_000 + b'"\n')).problems
    (problem,) = parse(Source("a.tf", b'b = 1\na = "' + b"x" * 500_000 + b'"\n')).problems
    assert problem.message == "a line of more than 500,000 characters is not read"
    assert problem.span.begin.line == 2


@pytest.mark.parametrize("number", ["1e3", "1E-3", "1.5e+3"])
def test_block_after_a_number_with_an_exponent_is_parsed(number: str) -> None:
    """The grammar would read `e3` as the name of the block."""
    file = parse(Source("a.tf", f"x {{\n  a = {number}\n\n  b {{\n  }}\n}}\n".encode()))
    assert file.problems == ()
    assert [block.type for block in file.body.blocks[0].body.blocks] == ["b"]


def test_expressions_that_are_nested_deeply_are_walked() -> None:
    inner: nodes.Expression = nodes.Literal(Source("main.tf", b"").span(0, 0), 1)
    for _ in range(5000):
        inner = nodes.Tuple(inner.span, (inner,))
    assert sum(1 for _ in nodes.walk(inner)) == 5001
