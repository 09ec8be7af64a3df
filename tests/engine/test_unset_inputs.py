"""Test examples of all rules with one value unset: the rule fires, names an input, or is listed."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
import yaml

from kcheck.addons.authoring.rule_examples import ExampleRun
from kcheck.engine import rules
from kcheck.text.syntax.hcl import nodes
from kcheck.text.syntax.hcl.parse import parse
from kcheck.text.text import Source
from tests.places import TESTS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from kcheck.engine.rule import Example, Rule

pytestmark = pytest.mark.medium

LISTED = TESTS / "engine" / "silent_inputs.txt"
MOST = 8
"""The greatest number of lines in that file; never raise it."""
EXAMPLES = [
    (rule, rule.documentation.examples[0])
    for rule in rules.load()
    if rule.subject != "input" and rule.documentation.examples[0].bad
]
"""The first example of each rule, except for rules about files."""
OF_MEASUREMENTS = ("request", "gpu_usage")
"""Subjects that need a measured workload; the closing line counts those with an unknown name."""
UNSET = '\nvariable "unset" {\n}\nvariable "given" {\n}\n'


def leaves(expression: nodes.Expression) -> Iterator[nodes.Expression]:
    """Yield the literal values in an expression."""
    if isinstance(expression, nodes.Object):
        for _, value in expression.entries:
            yield from leaves(value)
    elif isinstance(expression, nodes.Tuple):
        for item in expression.items:
            yield from leaves(item)
    elif isinstance(expression, nodes.Literal | nodes.Template) and expression.span.text != "null":
        yield expression


def in_terraform(name: str, text: str) -> Iterator[tuple[str, int, int]]:
    """Yield name and span of the values in Terraform.

    Source and version of a module are left out: they must be literals.
    """
    blocks = [*parse(Source(name, text.encode())).body.blocks]
    for block in blocks:
        blocks += block.body.blocks if block.type not in ("variable", "terraform") else []
        for attribute in block.body.attributes.values():
            if block.type != "module" or attribute.name not in ("source", "version"):
                for leaf in leaves(attribute.expression):
                    yield attribute.name, leaf.span.start, leaf.span.end


def in_manifest(text: str) -> Iterator[tuple[str, int, int]]:
    """Yield name and span of the values in manifests, except for apiVersion, kind and scripts."""

    def walk(node: yaml.Node | None, key: str) -> Iterator[tuple[str, int, int]]:
        if isinstance(node, yaml.MappingNode):
            for name, value in node.value:
                yield from walk(value, str(name.value))
        elif isinstance(node, yaml.SequenceNode):
            for value in node.value:
                yield from walk(value, key)
        elif isinstance(node, yaml.ScalarNode) and key not in ("apiVersion", "kind") and node.style not in ("|", ">"):
            yield key, node.start_mark.index, node.end_mark.index

    for document in yaml.compose_all(text, yaml.SafeLoader):
        yield from walk(document, "")


def placeholder(written: str) -> str:
    """Return a placeholder; for a flag, the flag with a placeholder as its argument."""
    flag, equals, _ = written.strip("'\"").partition("=")
    return f'"{flag}=${{X}}"' if equals and flag.startswith("-") else '"${X}"'


def variants(files: Mapping[str, str]) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield the files once for each value in them, with that value unset."""
    for name, text in files.items():
        is_code = name.endswith(".tf")
        places = in_terraform(name, text) if is_code else in_manifest(text) if name.endswith("yaml") else ()
        for key, start, end in () if name == "kcheck.yaml" else places:
            new = "var.unset" if is_code else placeholder(text[start:end])
            changed = {**files, name: text[:start] + new + text[end:] + (UNSET if is_code else "")}
            given = {"terraform.tfvars": files.get("terraform.tfvars", "") + "given = 1\n"} if is_code else {}
            line = text.count("\n", 0, start) + 1
            yield f"{name}:{line} {key}", changed | given


def listed(rule: str) -> set[str]:
    """Return the values that the list allows a rule to be silent without."""
    lines = LISTED.read_text().splitlines()
    return {line.removeprefix(f"{rule} ") for line in lines if line.startswith(f"{rule} ")}


def silent(rule: Rule, example: Example) -> tuple[set[str], set[str]]:
    """Return the values without which a rule is silent, and the missing inputs without a name or place.

    A rule is silent if it neither fires nor names an input.
    """
    result, nameless = set(), set()
    for place, files in variants(example.bad):
        run = ExampleRun(rule, example).checked(files)
        decided = [one.rule for one in run.findings] + [one.rule for one in run.undecided if one.missing]
        unnamed = rule.subject in OF_MEASUREMENTS and run.judged.usage is not None and run.judged.usage.unnamed
        if rule.name not in decided and not unnamed:
            result.add(place)
        nameless |= {f"{place}: {one.reason}" for one in run.judged.inputs if one.place is None or _OURS(one.reason)}
    return result, nameless


_OURS = re.compile(r"(^|[\s`(])(it|part of )?\.\w").search
"""Names that only kcheck gives to parts of a value, such as `it.name`."""


@pytest.mark.parametrize(
    ("rule", "example"),
    [
        pytest.param(*one, id=one[0].name, marks=() if number % 24 == 0 else pytest.mark.slow)
        for number, one in enumerate(EXAMPLES)
    ],
)
def test_every_rule_with_an_unset_value_fires_or_names_the_missing_input(rule: Rule, example: Example) -> None:
    assert silent(rule, example) == (listed(rule.name), set())


def test_the_list_of_accepted_silent_values_only_gets_shorter() -> None:
    lines = LISTED.read_text().splitlines()
    assert len([line for line in lines if line and not line.startswith("#")]) <= MOST
    names = {rule.name for rule, _ in EXAMPLES}
    assert {line.split()[0] for line in lines if line and not line.startswith("#")} <= names
    assert lines[0].startswith("#")
