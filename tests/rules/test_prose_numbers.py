"""Test that each number in the prose of rules has a source.

A number is filled in from the profiles, or stands in a phrase of `prose_numbers.yaml`, which names its source. Left out:
0 and 1, as in conditions; numbers in words that are no times, shares, factors, nodes or zones; code in backquotes, in indented lines
and in brackets; names that begin with a letter or have one before a dash, slash or colon (H100, p5.48xlarge, IPv4,
v1beta1, mig-1g.10gb, Amazon Linux 2023) or end in xlarge; statuses of HTTP.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from kcheck.config.numbers import profiles
from kcheck.engine import rules
from kcheck.engine.rule import HOLE, Rule
from kcheck.text.syntax import cel
from tests.places import ROOT

NUMBER = re.compile(r"(?<![\w.\[])(?<![A-Za-z)][-/:])(?<!Linux )(?:[-/$]|v(?=\d+\.))?\d(?:[\w.,:/%-]*[\w%])?")
WORDS = re.compile(
    r"(?<!-)\b(?:(?:two|three|four|five|six|seven|eight|nine|ten|twelve|fifteen|twenty|thirty|forty|forty-five)(?: and a half)? "
    r"(?:seconds|minutes|hours|days|weeks|months|years|times|rounds|events|nodes|replicas|suffixes|tiers|zones)"
    r"|half an? (?:minute|hour|day)|(?:less|more) than half|at least half"
    r"|a (?:third|quarter|fifth|tenth)|twice (?:as|the)|(?:almost|about) (?:two|three|four|five|six|ten) \w+)\b"
)
NAMES = re.compile(r"0|1|403|429|\d+xlarge")
CODE = re.compile(r"^    .*$|`[^`]*`", re.MULTILINE)
ARTICLES = frozenset(yaml.safe_load((ROOT / "docs/claims.yaml").read_text())["articles"])


@cache
def documents(rule: Rule) -> list[Any]:
    """Return the two YAML documents of a rule's file."""
    return list(yaml.load_all(Path(rule.path).read_text(), yaml.CSafeLoader))


def texts(found: object) -> Iterator[str]:
    """Yield the texts below a key of a rule, without its expressions."""
    if isinstance(found, str):
        yield found
    elif isinstance(found, Mapping):
        yield from (text for key in ("say", "help") if key in found for text in texts(found[key]))
    elif isinstance(found, list):
        yield from (text for one in found for text in texts(one))


def prose(rule: Rule) -> str:
    """Return all prose of a rule in one line, with `{}` for each hole."""
    table, details = documents(rule)
    parts = [CODE.sub("`", HOLE.sub("{}", details["why"]))]
    for text in texts(
        [
            table["summary"],
            table["message"],
            table.get("details"),
            table.get("help"),
            table.get("fix", {}).get("withheld"),
        ]
    ):
        holes = cel.holes(text)
        parts.append("".join(part if isinstance(part, str) else "{}" for part in holes))
        parts += [
            said
            for part in holes
            if not isinstance(part, str)
            for said in re.findall(r'"((?:[^"\\]|\\.)* [^"]*)"', part.text)
        ]
    return " / ".join(" ".join(part.split()) for part in parts)


def numbers(text: str) -> Iterator[tuple[str, int]]:
    """Yield the numbers in a text, each with its place."""
    for found in (*NUMBER.finditer(text), *WORDS.finditer(text)):
        if not NAMES.fullmatch(found[0]):
            yield found[0], found.start()


@cache
def listed() -> dict[str, dict[str, str]]:
    """Return the phrases that contain numbers, each with its source, by rule."""
    found: dict[str, dict[str, str]] = yaml.safe_load(Path(__file__).with_name("prose_numbers.yaml").read_text())
    return found


def missing(text: str, known: list[str]) -> list[str]:
    """Return the numbers of a text that stand in none of the known phrases, with the words around them."""
    inside = {at for phrase in known for found in re.finditer(re.escape(phrase), text) for at in range(*found.span())}
    return [f"{number}: {text[max(0, at - 40) : at + 40]}" for number, at in numbers(text) if at not in inside]


def has_source(rule: Rule, source: str) -> bool:
    """Return whether a source of a number is known.

    A source is an address, a number of the rule or of a profile, a file, an article, or `example`.
    """
    name, _, value = source.partition(" = ")
    return (
        (str(profile_value(name)) == value if value else source in rule.entries())
        or source in {"example", *ARTICLES}
        or (source.startswith("https://") or (ROOT / source).is_file())
    )


def profile_value(name: str) -> object:
    """Return a number of the profiles; for a flag also its versions `first`, `removed` and `before`."""
    table, _, key = name.partition(".")
    flag, _, part = key.rpartition(".")
    if table == "flags" and part in ("first", "before", "removed"):
        return profiles.flag_file()["flags"][flag].get(part)
    return next(iter({entry.value for entry in profiles.entries(name).values()}), None)


def unsourced(rule: Rule) -> Iterator[str]:
    """Yield numbers without a source, listed phrases that the rule does not have, and sources that do not exist."""
    text, known = prose(rule), listed().get(rule.name, {})
    yield from missing(text, list(known))
    yield from (phrase for phrase in known if phrase not in text or not list(numbers(phrase)))
    yield from (source for source in known.values() if not has_source(rule, source))


def test_every_number_in_the_prose_of_rules_has_a_source() -> None:
    assert {rule.name: wrong for rule in rules.load() if (wrong := list(unsourced(rule)))} == {}


def test_every_placeholder_in_the_prose_of_rules_is_filled() -> None:
    assert [rule.name for rule in rules.load() if HOLE.search(rule.documentation.why)] == []


def test_the_list_of_sourced_phrases_names_only_rules() -> None:
    assert listed().keys() <= {rule.name for rule in rules.load()}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("of 1,000 nodes, 5% or 85 %.", ["1,000", "5%", "85"]),
        ("a /24 (10.244.0.0/16), -10 and $5", ["/24", "10.244.0.0/16", "-10", "$5"]),
        ("since 1.29.2, the 257th, 2025-08-14: 720h", ["1.29.2", "257th", "2025-08-14", "720h"]),
        (
            "two pods in three zones, five minutes or a tenth of it, twice the price, a second",
            ["three zones", "five minutes", "a tenth", "twice the"],
        ),
        ("an H100, p5.48xlarge, IPv4, mig-1g.10gb, tier-4xl, a[0], 4xlarge, Amazon Linux 2023, 429, v1beta1", []),
    ],
)
def test_numbers_in_prose_are_found(text: str, expected: list[str]) -> None:
    assert [number for number, _ in numbers(text)] == expected


def test_a_listed_phrase_covers_only_its_own_number() -> None:
    assert missing("5 of 10 and 5 of 20", ["5 of 10"]) == ["5: 5 of 10 and 5 of 20", "20: 5 of 10 and 5 of 20"]
