"""A rule: the parsed form of what `profiles/rule.schema.json` describes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import islice

from msgspec import Struct

from kcheck.config.config import ConfigError, Written
from kcheck.config.numbers.profiles import ProfileValue
from kcheck.engine.rule_variables import Variable
from kcheck.text import bundled
from kcheck.text.regex import regex
from kcheck.text.units import seconds, shown, singular


class RuleError(ConfigError):
    """Invalid rule files: their mistakes, a line each, with the path."""


class Grade(Struct, frozen=True):
    """Severity by size: error, warning or info.

    Where `silent` holds, a known size below these numbers is not reported.
    """

    of: str
    wall: str | None = None
    recommended: str | None = None
    silent: str | None = None


class Cap(Struct, frozen=True):
    """Highest severity that a finding may have where a condition holds."""

    severity: str
    where: str


class Setting(Struct, frozen=True):
    """Change of a fix: the field, and an expression for its value or new item."""

    place: str
    to: str
    append: bool = False


class Sentence(Struct, frozen=True):
    """A text with holes below the headline of a finding.

    Printed only if `where` (CEL) holds. `each` gives a list of records: the text is printed once for each of them, as
    `each` in its expressions.
    """

    say: str
    where: str = ""
    each: str = ""


class Example(Struct, frozen=True):
    """Files that a rule fires on (`bad`), `fixed` ones, and `good` ones.

    Each is a folder: file name -> text. `nodes` and `price` stand for the flags; `number` counts from 0.
    """

    number: int
    bad: dict[str, str]
    good: dict[str, str]
    fixed: dict[str, str] | None
    nodes: int | None
    price: str | None


class Documentation(Struct, frozen=True):
    """Second document of a rule file, its `why` with the numbers of the profiles."""

    why: str
    examples: tuple[Example, ...]


class Rule(Struct, frozen=True):
    """One rule, identified by its path `rules/<group>/<name>.yaml`."""

    name: str
    group: str
    path: str
    summary: str
    subject: str
    problem: str
    when: str
    at: str
    related: tuple[str, ...]
    message: str
    details: tuple[Sentence, ...]
    help: tuple[Sentence, ...]
    severity: str
    grade: Grade | None
    waste: bool
    tag: str
    unless: tuple[str, ...]
    at_most: tuple[Cap, ...]
    safety: str
    unsafe: str
    settings: tuple[Setting, ...]
    withheld: tuple[Sentence, ...]
    """Conditions that forbid its fix, and the help to show instead."""
    sources: tuple[str, ...]
    variables: tuple[Variable, ...] = ()
    written: Rule | None = None
    """The rule before its variables are put into its expressions; None without variables."""
    kinds: frozenset[str] | None = None
    """Kinds of objects, or types of resources, of which a raw rule can be true; None for any."""
    formerly: tuple[str, ...] = ()
    """Names it had, which settings, comments and baselines may use for another minor version."""

    @property
    def names(self) -> tuple[str, ...]:
        """Names that select or silence the rule: its own, former ones, and its group."""
        return (self.name, *self.formerly, self.group)

    @property
    def as_written(self) -> Rule:
        """The rule with its variables by name."""
        return self.written or self

    @property
    def fixable(self) -> bool:
        """Whether the rule has a fix."""
        return bool(self.settings)

    @property
    def documentation(self) -> Documentation:
        """Reason and examples, read from the file when asked for."""
        return _documentation(self.path)

    def entries(self) -> dict[str, ProfileValue | None]:
        """Map the rule's sources to numbers of the profiles; URLs map to None."""
        return {name: entry for source in self.sources for name, entry in source_entries(source).items()}


def source_entries(text: str) -> Mapping[str, ProfileValue | None]:
    """Look up a source of a rule: a web address, or numbers of the profiles."""
    if text.startswith(("https://", "http://")):
        return {text: None}
    from kcheck.config.numbers import profiles, retirements

    return profiles.entries(text) or retirements.entries(text)


HOLE = regex(r"(?<!\$)\{([a-z]+(?:\.[\w-]+)+)\}")


def number(name: str) -> str:
    """Format the number for a hole of a `why`; empty if clouds differ, or none has it."""
    found = {(entry.value, entry.unit) for entry in source_entries(name).values() if entry and entry.value is not None}
    value, unit = found.pop() if len(found) == 1 else ("", "")
    if unit == "duration":
        value, unit = seconds(str(value)), "seconds"
    amount, _, word = shown(value, unit).partition(" ")
    word = {"min": " minutes", "h": " hours"}.get(word, word and f" {word}")
    return amount + (singular(word) if amount == "1" else word)


def _documentation(path: str) -> Documentation:
    import yaml

    with open(path, "rb") as file:
        documents = [document for document in yaml.load_all(file, bundled.loader()) if document is not None]
    data = documents[1] if len(documents) > 1 else {}
    try:
        examples = tuple(_example(i, item) for i, item in enumerate(data.get("examples", ())))
    except ValueError as error:
        raise RuleError(*f"{path}: {error}".splitlines()) from None
    return Documentation(HOLE.sub(lambda hole: number(hole[1]) or hole[0], data.get("why", "")).strip(), examples)


def _example(number: int, data: Written) -> Example:
    """Read an example; `good` defaults to `fixed`."""

    def files(value: str | dict[str, str]) -> dict[str, str]:
        if isinstance(value, str) and value.startswith("@@"):
            return patched(bad, value)
        return value if isinstance(value, dict) else {data.get("file", "main.tf"): value}

    bad = files(data["bad"]) if "bad" in data else {}
    fixed = files(data["fixed"]) if "fixed" in data else None
    good = files(data["good"]) if "good" in data else fixed or {}
    return Example(number, bad, good, fixed, data.get("nodes"), str(data["price"]) if "price" in data else None)


def patched(files: Mapping[str, str], diff: str) -> dict[str, str]:
    """Apply a diff without line numbers.

    The lines of a hunk must occur once, or the first match below the line after `@@` counts.
    """
    lines = {name: text.split("\n") for name, text in files.items()}
    for hunk in re.split(r"^@@", diff, flags=re.MULTILINE)[1:]:
        below, *body = hunk.removesuffix("\n").split("\n")
        old = [line[1:] for line in body if not line.startswith("+")]
        places = [(text, at) for text in lines.values() for at in _places(text, below.strip(), old)]
        if len(places) != 1:
            raise ValueError(f"{len(places)} places of `bad` have the lines of this hunk:\n@@{hunk}")
        ((text, at),) = places
        text[at : at + len(old)] = [line[1:] for line in body if not line.startswith("-")]
    return {name: "\n".join(text) for name, text in lines.items()}


def _places(text: list[str], below: str, lines: list[str]) -> Iterator[int]:
    begin = next((at + 1 for at, line in enumerate(text) if line.strip() == below), len(text)) if below else 0
    fits = (at for at in range(begin, len(text)) if text[at : at + len(lines)] == lines)
    return islice(fits, 1 if below else None)
