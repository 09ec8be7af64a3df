"""Rules: YAML files, found by their path, compiled when a subject of theirs occurs."""

from __future__ import annotations

import os
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import yaml

from kcheck import cel, profiles
from kcheck.bundled import RULES
from kcheck.config import ConfigError, nearest
from kcheck.subjects import SUBJECTS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kcheck.config import Config
    from kcheck.profiles import Entry

_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class RuleError(ConfigError):
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
    weak: str
    mild: str
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
def load() -> tuple[Rule, ...]:
    """Kcheck's own rules, by group and name."""
    return tuple(read(RULES))


def read(folder: str) -> list[Rule]:
    """All rules below a folder, by group and name.

    Raises:
        RuleError: a file is not a rule.
    """
    result: list[Rule] = []
    for group in sorted(os.listdir(folder)):
        inner = os.path.join(folder, group)
        if os.path.isdir(inner):
            names = sorted(name for name in os.listdir(inner) if name.endswith(".yaml"))
            result += [_rule(group, os.path.join(inner, name)) for name in names]
    return result


@cache
def _details(path: str) -> Details:
    documents = list(yaml.load_all(_read(path), _Loader))
    if len(documents) != 2:
        raise RuleError(f"{path}: a rule file has two documents, this one has {len(documents)}")
    return Details(documents[1]["why"].strip(), tuple(_example(item) for item in documents[1]["examples"]))


def chosen(config: Config) -> list[Rule]:
    """The rules of a run: kcheck's and the user's own, less those that the settings leave out.

    Raises:
        ConfigError: the settings name a rule or a limit that does not exist, or may not be changed.
        RuleError: a rule of the user's own is wrong.
    """
    result = list(load())
    for folder in config.rules:
        if not os.path.isdir(folder):
            raise ConfigError(f"rules: there is no folder {folder}")
        for rule in read(folder):
            for problem in problems(rule):
                raise RuleError(f"{rule.path}: {problem}")
            if any(rule.name == other.name for other in result):
                raise RuleError(f"{rule.path}: there is another rule {rule.name}")
            result.append(rule)
    names = {rule.name for rule in result} | {rule.group for rule in result}
    wanted: dict[str, Iterable[str]] = {
        "select": config.select,
        "ignore": config.ignore,
        "severity": config.severity,
        "suppressions": [accepted.rule for accepted in config.accepted],
    }
    for setting, listed in wanted.items():
        for name in listed:
            if name not in names:
                raise ConfigError(f"{setting}: there is no rule {name}; {nearest(name, tuple(sorted(names)))}")
    check_limits(config)
    selected = [r for r in result if not config.select or {r.name, r.group} & set(config.select)]
    return [r for r in selected if not {r.name, r.group} & set(config.ignore)]


def check_limits(config: Config) -> None:
    """Refuse limits of the settings that do not exist or are hard.

    Raises:
        ConfigError: one does not exist, or nobody can raise it.
    """
    for name in config.limits:
        cloud, _, key = name.partition(".")
        entry = profiles.limits(cloud).get(key) if cloud in ("any", *profiles.CLOUDS) else None
        if entry is None or not isinstance(entry.value, int | None):
            clouds = ("any", *profiles.CLOUDS)
            known = tuple(f"{c}.{k}" for c in clouds for k, e in profiles.limits(c).items() if e.kind != "hard")
            raise ConfigError(f"limits: there is no limit {name}; {nearest(name, known)}")
        if entry.kind == "hard":
            raise ConfigError(f"limits: {name} is a hard limit of {entry.value} {entry.unit}; nobody can raise it")


def words(subject: str) -> set[str]:
    """Everything that a rule about a subject may name, limits aside."""
    result = {subject, "limits"}
    for field in SUBJECTS[subject]:
        result.add(f"{subject}.{field.name}")
        if field.kind in ("record", "records"):
            result |= {f"{subject}.{field.name}.{inner.name}" for inner in SUBJECTS[field.type]}
    return result


def expressions(rule: Rule) -> list[str]:
    """All expressions of a rule, its places aside."""
    result = [rule.problem, *(setting.to for setting in rule.settings)]
    result += [hole.text for hole in cel.holes(rule.message) if not isinstance(hole, str)]
    result += [text for text in (rule.when, rule.weak, rule.mild) if text]
    if rule.grade:
        result += [text for text in (rule.grade.of, rule.grade.wall, rule.grade.recommended) if text]
    return result


def problems(rule: Rule) -> Iterator[str]:
    """What is wrong with a rule that can be told without running it: syntax, and words that do not exist."""
    if rule.subject not in SUBJECTS:
        yield f"there is no subject {rule.subject}; {nearest(rule.subject, tuple(SUBJECTS))}"
        return
    limits = {key for cloud in ("any", *profiles.CLOUDS) for key in profiles.limits(cloud)}
    allowed = (
        words(rule.subject) | {f"limits.{key}" for key in limits} | {f"limits.{key.split('.')[0]}" for key in limits}
    )
    maps = {f"{rule.subject}.{field.name}" for field in SUBJECTS[rule.subject] if field.kind == "map"}
    places = [rule.at, *rule.related, *(setting.place for setting in rule.settings)]
    for text in [*expressions(rule), *places]:
        try:
            used = cel.usage(cel.compile(text, (rule.subject, "limits"))).paths
        except cel.SyntaxProblem as error:
            yield f"`{text}`: {error}"
            continue
        for path in sorted(path for path in used - allowed if path.rpartition(".")[0] not in maps):
            yield f"`{text}`: there is no word {path}; {nearest(path, tuple(sorted(allowed)))}"


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
            weak=data.get("weak", ""),
            mild=data.get("mild", ""),
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
