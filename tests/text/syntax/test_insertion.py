"""Test new entries in YAML mappings: they have the style of the mapping, and every other byte stays."""

from __future__ import annotations

import copy
from textwrap import indent
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from yaml import CSafeLoader, load

from kcheck.inventory.embedded import objects as trees
from kcheck.kubernetes.objects import embedded_documents
from kcheck.terraform.evaluator import evaluate
from kcheck.terraform.scope import Scope
from kcheck.text.findings import Change
from kcheck.text.syntax import edit, yaml
from kcheck.text.syntax.hcl.parse import parse
from kcheck.text.syntax.insertion import sibling
from kcheck.text.text import Source, apply
from kcheck.text.values import Known, Missing, Origin

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kcheck.text.text import Span

pytestmark = pytest.mark.medium


@pytest.mark.parametrize(
    ("text", "append"),
    [pytest.param("? a\nb:\n  c: 1\n", False, id="explicit key"), pytest.param("a: 1\n", True, id="item of a map")],
)
def test_uneditable_places_are_refused(text: str, append: bool) -> None:
    node = next(yaml.documents(Source("a.yaml", text.encode()))).root
    assert node is not None
    change = Change(
        Origin((node.span,), missing=Missing(node.span, () if append else ("d",))), "d", "x", "template", "x"
    )
    with pytest.raises(edit.EditError):
        edit.edits([replace(change, append=append)])


def test_a_member_after_a_bare_carriage_return_has_the_indentation_of_its_neighbours() -> None:
    text = inserted("a:\n\r b: 1\n", ("a",), ("c",), 2)
    assert text == "a:\n\r b: 1\n c: 2\n"
    assert read(text) == {"a": {"b": 1, "c": 2}}


def test_an_item_added_to_a_null_in_hcl_is_hcl() -> None:
    source = Source("a.tfvars", b"pool = {\n  taints = null\n}\n")
    at = source.data.index(b"null")
    origin = Origin((source.span(at, at + 4),))
    edits = edit.edits([Change(origin, "taints", "a=b:NoSchedule", "pool", "x", append=True)])
    assert apply(source.data, edits) == b'pool = {\n  taints = ["a=b:NoSchedule"]\n}\n'


def inserted(text: str, at: tuple[str, ...], path: tuple[str, ...], value: str | int | bool) -> str:
    """Return a text with an entry added below the mapping at a path."""
    source = Source("a.yaml", text.encode())
    root = next(yaml.documents(source)).root
    node = yaml.get(root, *at)
    assert isinstance(node, yaml.Mapping)
    origin = Origin((node.span,), missing=Missing(node.span, path))
    edits = edit.edits([Change(origin, path[-1], value, "template", "x")])
    return apply(source.data, edits).decode()


@pytest.mark.parametrize(
    ("text", "at", "path", "expected"),
    [
        pytest.param("a:\n  b: 1\n", ("a",), ("c",), "a:\n  b: 1\n  c: 5\n", id="block"),
        pytest.param("a:\n  b: 1", ("a",), ("c",), "a:\n  b: 1\n  c: 5", id="no line end"),
        pytest.param("a:\n  b: 1 # why\n\nd: 2\n", ("a",), ("c",), "a:\n  b: 1 # why\n  c: 5\n\nd: 2\n", id="comment"),
        pytest.param("a:\n  b:\n", ("a",), ("c",), "a:\n  b:\n  c: 5\n", id="null last"),
        pytest.param(
            "a:\n  b: 1\n    # c: 2\n  # d: 3\ne: 4\n",
            ("a",),
            ("f",),
            "a:\n  b: 1\n    # c: 2\n  f: 5\n  # d: 3\ne: 4\n",
            id="a comment that is further in",
        ),
        pytest.param("a: {b: 1}\n", ("a",), ("c", "d"), "a: {b: 1, c: {d: 5}}\n", id="flow"),
        pytest.param("a: {}\n", ("a",), ("c",), "a:\n  c: 5\n", id="empty flow"),
        pytest.param(
            "a:\n  b: |\n    x\n    y\nd: 1\n", ("a",), ("c",), "a:\n  c: 5\n  b: |\n    x\n    y\nd: 1\n", id="text"
        ),
        pytest.param("a:\r\n  b: 1\r\nd: 2\r\n", ("a",), ("c",), "a:\r\n  b: 1\r\n  c: 5\r\nd: 2\r\n", id="windows"),
        pytest.param("a:\n  b: 1\n", (), ("c", "d"), "c:\n  d: 5\na:\n  b: 1\n", id="nested"),
        pytest.param("- n: x\n  m:\n    k: 1\n", (0,), ("c",), "- n: x\n  c: 5\n  m:\n    k: 1\n", id="item of a list"),
    ],
)
def test_a_new_entry_is_inserted_after_its_sibling(
    text: str, at: tuple[str, ...], path: tuple[str, ...], expected: str
) -> None:
    assert inserted(text, at, path, 5) == expected


@pytest.mark.parametrize(
    ("name", "others", "expected"),
    [
        ("max_size", ["name", "min_size", "labels"], "min_size"),
        ("imagePullPolicy", ["name", "image", "stdin"], "image"),
        (
            "one_nat_gateway_per_az",
            ["secondary_cidr_blocks", "enable_nat_gateway", "single_nat_gateway", "tags"],
            "single_nat_gateway",
        ),
        ("scale_down_unneeded", ["expander", "scale_down_delay_after_add"], "scale_down_delay_after_add"),
        ("sku_tier", ["name", "location", "dns_prefix"], None),
    ],
)
def test_the_chosen_sibling_shares_the_most_words(name: str, others: list[str], expected: str | None) -> None:
    assert sibling(name, others) == expected


NAMES = st.from_regex(r"[a-z][a-zA-Z.\-/]{0,8}", fullmatch=True)
VALUES = st.one_of(st.integers(0, 10**6), st.booleans(), st.text("ab:#{}'\" é,", max_size=8))


@given(
    st.lists(NAMES, min_size=1, max_size=4, unique=True), st.lists(NAMES, min_size=1, max_size=3), VALUES, st.booleans()
)
def test_inserted_values_read_back(names: list[str], path: list[str], value: str | int | bool, flow: bool) -> None:
    names = [name for name in names if name != path[0]] or ["other"]
    if path[0] in names:
        return
    inner = ", ".join(f"{yaml.literal(name)}: 1" for name in names)
    block = "".join(f"  {yaml.literal(name)}: 1\n" for name in names)
    text = f"a: {{{inner}}}\nz: end\n" if flow else f"a:\n{block}z: end\n"
    root = next(yaml.documents(Source("a.yaml", inserted(text, ("a",), tuple(path), value).encode()))).root
    found = yaml.get(root, "a", *path)
    assert isinstance(found, yaml.Scalar)
    assert yaml.value(found) == value
    assert all(isinstance(yaml.get(root, "a", name), yaml.Scalar) for name in names)
    end = yaml.get(root, "z")
    assert isinstance(end, yaml.Scalar)
    assert end.text == "end"


# --- any document, any place in it

slowly = settings(suppress_health_check=[HealthCheck.too_slow])
WORDS = ("name", "spec", "minSize", "maxSize", "image", "imagePullPolicy", "labels", "app.example.com/team", "args")
TEXTS = st.sampled_from(["a", "main", "yes", "8", "a: b", "#x", "it's", 'a "b"', "é", "--a=b", "{{ x }}", ""])
SCALARS = st.one_of(st.integers(0, 99), st.booleans(), TEXTS)
DATA: st.SearchStrategy[Any] = st.recursive(
    st.one_of(SCALARS, st.none(), st.builds(dict), st.builds(list)),
    lambda inner: st.one_of(st.dictionaries(st.sampled_from(WORDS), inner, max_size=4), st.lists(inner, max_size=3)),
    max_leaves=12,
)
NEW: st.SearchStrategy[Any] = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.dictionaries(st.sampled_from(WORDS), inner, min_size=1, max_size=2), st.lists(inner, min_size=1, max_size=2)
    ),
    max_leaves=4,
)


def read(text: str) -> Any:
    """Return the data of a text, parsed by PyYAML, which allows tabs in braces."""
    return load(text, CSafeLoader)


class Writer:
    """A writer of YAML that chooses each point of style at random, as people do."""

    def __init__(self, draw: st.DrawFn) -> None:
        self.draw = draw
        self.step = draw(st.sampled_from([2, 4]))
        self.tabs = draw(st.booleans())

    def chance(self, of: int) -> bool:
        return self.draw(st.integers(0, of)) == of

    def lines(self, data: Any, indent: int) -> Iterator[str]:
        """Yield the lines of a map or list in block style; it is not empty."""
        margin = " " * indent
        for name, value in data.items() if isinstance(data, dict) else enumerate(data):
            if self.chance(6):
                yield f"{margin}# of {name}"
            if self.chance(9):
                yield ""
            key = "-" if isinstance(data, list) else f"{self.scalar(name)}:"
            comment = " # why" if self.chance(5) else ""
            if isinstance(value, str) and value.isalpha() and self.chance(4):
                yield f"{margin}{key} |-{comment}"
                yield f"{margin}{' ' * self.step}{value}"
            elif value and isinstance(value, dict | list) and not self.chance(3):
                deeper = 0 if isinstance(value, list) and key != "-" and self.chance(1) else self.step
                if key == "-" and not comment and self.chance(0):
                    first, *rest = self.lines(value, indent + 2)
                    if first.strip() and not first.strip().startswith("#"):
                        yield f"{margin}- {first.strip()}"
                    else:
                        yield from (f"{margin}-", first)
                    yield from rest
                else:
                    yield f"{margin}{key}{comment}"
                    yield from self.lines(value, indent + deeper)
            else:
                text = self.flow(value, margin + " " * self.step)
                yield f"{margin}{key} {text}{comment}".rstrip() if text else f"{margin}{key}{comment}"

    def flow(self, value: Any, margin: str) -> str:
        """Return data in flow style, on one line or several."""
        if not isinstance(value, dict | list):
            return self.scalar(value)
        ends = "[]" if isinstance(value, list) else "{}"
        deeper = margin + ("\t" if self.tabs else "  ")
        broken = bool(value) and self.chance(1)
        parts = []
        for name, part in value.items() if isinstance(value, dict) else enumerate(value):
            text = self.flow(part, deeper if broken else margin) or "null"
            parts.append(text if isinstance(value, list) else f"{self.scalar(name)}: {text}")
        if not broken:
            blank = " " if self.chance(3) else ""
            return f"{ends[0]}{blank}{', '.join(parts)}{blank}{ends[1]}"
        comment = " # why" if self.chance(2) else ""
        last = "," if self.chance(2) else ""
        return f"{ends[0]}\n{deeper}" + f",{comment}\n{deeper}".join(parts) + f"{last}{comment}\n{margin}{ends[1]}"

    def scalar(self, value: Any) -> str:
        if value is None:
            return self.draw(st.sampled_from(["", "null", "~"]))
        return yaml.literal(value, self.draw(st.sampled_from(["plain", "single", "double"])))


@st.composite
def documents(draw: st.DrawFn) -> tuple[str, Any]:
    """Draw a document, and return its text and its data."""
    data = draw(st.one_of(st.dictionaries(st.sampled_from(WORDS), DATA, min_size=1), st.lists(DATA, min_size=1)))
    writer = Writer(draw)
    text = "\n".join(writer.lines(data, 0)) if not writer.chance(4) else writer.flow(data, "")
    return text + draw(st.sampled_from(["", "\n", "\n\n", "\n# the end\n"])), data


def collections(node: yaml.Node, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Yield the paths of all maps, lists and nulls."""
    target = yaml.resolve(node)
    if isinstance(target, yaml.Mapping):
        yield path
        for entry in target.entries:
            yield from collections(entry.value, (*path, entry.key.text))
    elif isinstance(target, yaml.Sequence):
        yield path
        for i, item in enumerate(target.items):
            yield from collections(item, (*path, i))
    elif yaml.value(target) is None:
        yield path


def at(data: Any, path: Iterable[str | int]) -> Any:
    for step in path:
        data = data[step]
    return data


@st.composite
def additions(draw: st.DrawFn, root: yaml.Target, data: Any) -> tuple[Change, Any, Span]:
    """Draw a change that adds to a map or list.

    Return it with the data it should give and the place of the map or list.
    """
    path = draw(st.sampled_from(list(collections(root))))
    node, new = yaml.get(root, *path), draw(NEW)
    assert node is not None
    origin, wanted = Origin((node.span,)), copy.deepcopy(data)
    old = at(wanted, path)
    if isinstance(old, list) and old:
        old.append(new)
        return Change(origin, "x", new, "object", "x", append=True), wanted, node.span
    names = draw(st.lists(st.sampled_from([f"{word}New" for word in WORDS]), min_size=1, max_size=2))
    member: Any = new
    for name in reversed(names):
        member = {name: member}
    if isinstance(old, dict):
        old.update(member)
    elif path:
        at(wanted, path[:-1])[path[-1]] = member
    else:
        wanted = member
    return (
        Change(replace(origin, missing=Missing(node.span, tuple(names))), names[-1], new, "object", "x"),
        wanted,
        node.span,
    )


def added(change: Change, place: Span) -> str:
    """Return the text after a change; assert that lines outside of a flow map or a null stay."""
    source = place.source
    new = edit.apply_edits(source, edit.edits([change])).decode().removeprefix("\ufeff")
    old = source.data.decode().removeprefix("\ufeff")
    above, below = source.data[: place.start].decode(), source.data[place.end :].decode()
    keeps = place.text.strip("{}[] ~nul") and place.text[:1] not in ("{", "[")
    if keeps:
        rest = iter([line.lstrip(" -") for line in new.splitlines()])  # a dash goes to a new first member
        assert all(line.lstrip(" -") in rest for line in old.splitlines())
    else:
        assert new.startswith("".join(above.removeprefix("\ufeff").splitlines(keepends=True)[:-1]))
        assert new.endswith("".join(below.splitlines(keepends=True)[1:]))
    return new


@pytest.mark.slow
@slowly
@given(st.data(), documents(), st.sampled_from(["\n", "\r\n"]), st.booleans())
def test_added_members_read_back_as_given(
    data: st.DataObject, document: tuple[str, Any], newline: str, mark: bool
) -> None:
    text, says = document
    source = Source("a.yaml", ("\ufeff" * mark + text.replace("\n", newline)).encode())
    root = next(yaml.documents(source)).root
    assert root is not None
    assert read(source.data.decode("utf-8-sig")) == says
    change, wanted, place = data.draw(additions(root, says))
    assert read(added(change, place)) == wanted


@pytest.mark.slow
@slowly
@given(st.data(), documents(), st.sampled_from([2, 4]), st.sampled_from(["|", "|-", "|+ # x"]))
def test_additions_to_yaml_inside_a_yaml_string_read_back(
    data: st.DataObject, document: tuple[str, Any], step: int, mark: str
) -> None:
    text, says = document
    lines = indent(text.rstrip("\n") + "\n", " " * step * 2)
    source = Source("a.yaml", f"data:\n{' ' * step}a.yaml: {mark}\n{lines}kind: ConfigMap\n".encode())
    node = yaml.get(next(yaml.documents(source)).root, "data", "a.yaml")
    assert isinstance(node, yaml.Scalar)
    (root,) = embedded_documents(node)
    change, wanted, place = data.draw(additions(root, says))
    new = read(added(change, place))
    assert new["kind"] == "ConfigMap"
    assert read(new["data"]["a.yaml"]) == wanted


@pytest.mark.slow
@slowly
@given(st.data(), documents(), st.booleans())
def test_additions_to_yaml_inside_a_heredoc_read_back(
    data: st.DataObject, document: tuple[str, Any], deep: bool
) -> None:
    text, says = document
    lines = indent(text.rstrip("\n") + "\n", "    " * deep)
    source = Source("main.tf", f"values = <<{'-' * deep}EOT\n{lines}EOT\nother = 1\n".encode())
    (root,) = in_terraform(source)
    change, wanted, place = data.draw(additions(root, says))
    new = Source("main.tf", added(change, place).encode())
    assert read(str(heredoc(new).value)) == wanted


def heredoc(source: Source) -> Known[Any]:
    file = parse(source)
    assert not file.problems
    datum = evaluate(file.body.attributes["values"].expression, Scope({}))
    assert isinstance(datum, Known)
    return datum


def in_terraform(source: Source) -> list[yaml.Target]:
    return list(trees.documents(heredoc(source), source.span(0, 0)))
