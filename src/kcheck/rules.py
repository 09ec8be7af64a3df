"""Rules: YAML files, found by their path, compiled when a subject of theirs occurs."""

from __future__ import annotations

import os
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import yaml

from kcheck import profiles
from kcheck.bundled import RULES

if TYPE_CHECKING:
    from kcheck.profiles import Entry

_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class RuleError(ValueError):
    """A rule file that is not a rule: what is wrong, with its path."""


class Grade(NamedTuple):
    """How bad it is by size: error past the wall, warning past the recommended number, info if unknown."""

    of: str
    wall: str | None
    recommended: str | None


class Setting(NamedTuple):
    """One change of a fix: the place, and a CEL expression for the value."""

    place: str
    to: str


class Example(NamedTuple):
    """Files that a rule fires on (`bad`), those that `fix` makes of them, and files it is silent on (`good`).

    Each is a folder: file name -> text. `nodes` and `price` stand for the flags.
    """

    bad: dict[str, str]
    good: dict[str, str]
    fixed: dict[str, str] | None
    nodes: int | None
    price: str | None


class Details(NamedTuple):
    """The second document of a rule file."""

    why: str
    examples: tuple[Example, ...]


class Rule(NamedTuple):
    """One rule. Its path is its identity: `rules/<group>/<name>.yaml`."""

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
    severity: str
    grade: Grade | None
    waste: bool
    unless: tuple[str, ...]
    safety: str
    settings: tuple[Setting, ...]
    sources: tuple[str, ...]

    @property
    def fixable(self) -> bool:
        """Whether the rule can mend what it finds."""
        return bool(self.settings)

    @property
    def details(self) -> Details:
        """Why, and examples: read when explain, docs or tests ask for them."""
        return _details(self.path)

    def entries(self) -> list[Entry | str]:
        """The sources: entries of profiles, or addresses."""
        return [_source(self, source) for source in self.sources]


def _source(rule: Rule, text: str) -> Entry | str:
    if text.startswith("https://"):
        return text
    table, cloud, key = text.split(".", 2)
    found = (profiles.limits if table == "limits" else profiles.settings)(cloud).get(key)
    if found is None:
        raise RuleError(f"{rule.path}: there is no source {text}")
    return found


@cache
def load(folder: str = RULES) -> tuple[Rule, ...]:
    """All rules below a folder, by group and name.

    Raises:
        RuleError: a file is not a rule.
    """
    result = []
    for group in sorted(os.listdir(folder)):
        inner = os.path.join(folder, group)
        if os.path.isdir(inner):
            names = sorted(name for name in os.listdir(inner) if name.endswith(".yaml"))
            result += [_rule(group, os.path.join(inner, name)) for name in names]
    return tuple(result)


@cache
def _details(path: str) -> Details:
    documents = list(yaml.load_all(_read(path), _Loader))
    if len(documents) != 2:
        raise RuleError(f"{path}: a rule file has two documents, this one has {len(documents)}")
    return Details(documents[1]["why"].strip(), tuple(_example(item) for item in documents[1]["examples"]))


def named(name: str) -> Rule | None:
    """The rule with that name."""
    return next((rule for rule in load() if rule.name == name), None)


def _read(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


def _rule(group: str, path: str) -> Rule:
    # the second document is only for people and tests: do not pay for it on every run
    data = yaml.load(_read(path).split(b"\n---", 1)[0], _Loader)  # noqa: S506 - the loader is a safe one
    try:
        grade, fix = data.get("grade"), data.get("fix") or {}
        changes = fix.get("changes") or ([fix] if fix else [])
        return Rule(
            name=os.path.basename(path).removesuffix(".yaml"),
            group=group,
            path=path,
            summary=data["summary"],
            subject=data["subject"],
            problem=str(data["problem"]),
            when=data.get("when", ""),
            at=data["at"],
            related=tuple(data.get("related", ())),
            message=data["message"].strip(),
            severity=data.get("severity", ""),
            grade=Grade(grade["of"], grade.get("wall"), grade.get("recommended")) if grade else None,
            waste=data.get("waste", False),
            unless=tuple(data.get("unless", ())),
            safety=fix.get("safety", ""),
            settings=tuple(Setting(change["set"], str(change["to"])) for change in changes),
            sources=tuple(data.get("sources", ())),
        )
    except (KeyError, TypeError, AttributeError) as error:
        raise RuleError(f"{path}: {error!r} is missing or of the wrong kind") from error


def _example(data: dict[str, Any]) -> Example:
    def files(value: Any) -> dict[str, str]:
        return value if isinstance(value, dict) else {data.get("file", "main.tf"): value}

    fixed = data.get("fixed")
    return Example(
        files(data["bad"]) if "bad" in data else {},
        files(data["good"]) if "good" in data else {},
        None if fixed is None else files(fixed),
        data.get("nodes"),
        data.get("price"),
    )
