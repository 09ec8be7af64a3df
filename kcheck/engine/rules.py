"""Load and select rules: YAML files, identified by path."""

import os
from collections.abc import Iterable, Sequence
from functools import cache

from msgspec.structs import force_setattr, replace

from kcheck.config.config import Config, ConfigError, Written, nearest
from kcheck.config.numbers import profiles
from kcheck.config.numbers.clouds import owners
from kcheck.engine import rule_variables
from kcheck.engine.rule import Cap, Grade, Rule, RuleError, Sentence, Setting
from kcheck.engine.words.raw_views import KINDS
from kcheck.model import Raw
from kcheck.text import bundled
from kcheck.text.bundled import RULES
from kcheck.text.files.boundary import contains_path
from kcheck.text.syntax import cel, cel_tree
from kcheck.text.text import grouped
from kcheck.text.units import as_text


@cache
def load() -> tuple[Rule, ...]:
    """Load kcheck's own rules, by group and name."""
    found: tuple[Rule, ...] = bundled.compiled("rules", tuple[Rule, ...]) or from_files()
    for one in (one for rule in found for one in (rule, rule.as_written)):
        force_setattr(one, "path", os.path.join(RULES, one.path))
    return found


def from_files() -> tuple[Rule, ...]:
    """Read kcheck's own rules, without their second documents."""
    from kcheck.engine import rule_files  # what reads rules of the user's own is imported where there are some

    found = rule_files.find(RULES)
    return tuple(_rule(group, os.path.relpath(path, RULES), bundled.load(path)) for group, path in found)


def read(folder: str) -> list[Rule]:
    """Read custom rules from a folder or a file, by group and name.

    Raises ConfigError if there is no such folder or file, or no rule in it; RuleError if files are not rules; with all
    mistakes, a line each.
    """
    from kcheck.engine import rule_files, rule_words

    if not (os.path.isdir(folder) or rule_files.is_rule_file(folder)):
        raise ConfigError(f"rules: there is no folder {folder}")
    result: list[Rule] = []
    wrong: list[str] = []
    for group, path in rule_files.find(folder):
        if not contains_path(folder, path):
            wrong.append(f"{path}: it leads out of {folder}, and is not read")
            continue
        try:
            file = rule_files.read(group, path)
        except RuleError as error:
            wrong += error.lines
            continue
        rule = _rule(group, path, file.rule)
        wrong += [
            f"{file.location(one.steps, one.text, one.index)}: {one.message}" for one in rule_words.problems(rule)
        ]
        wrong += file.unknown_numbers()
        result.append(rule)
    if wrong:
        raise RuleError(*wrong)
    if not result:
        raise ConfigError(f"rules: there is no rule in {folder}: rules are DIR/<group>/<name>.yaml")
    return result


def all_rules(folders: Iterable[str]) -> list[Rule]:
    """List kcheck's rules and those of some folders; kcheck's own folder adds nothing.

    Raises ConfigError if there is no such folder, RuleError if a rule of the user's own is wrong.
    """
    result = list(load())
    names = {name for rule in result for name in (rule.name, *rule.formerly)}
    for folder in dict.fromkeys(folders):
        for rule in () if contains_path(RULES, folder) else read(folder):
            if same := names.intersection((rule.name, *rule.formerly)):
                raise RuleError(f"{rule.path}: there is another rule {min(same)}")
            names.update((rule.name, *rule.formerly))
            result.append(rule)
    own = result[len(load()) :]
    for rule in own:
        for name in rule.unless:
            if name not in names:
                raise RuleError(f"{rule.path}: unless: there is no rule {name}; {nearest(name, tuple(sorted(names)))}")
    return result


def selected(config: Config) -> list[Rule]:
    """Select the rules of a run by the settings.

    Raises ConfigError if the settings name a rule or a limit that does not exist, or may not be changed; RuleError if a
    rule of the user's own is wrong.
    """
    result = all_rules(config.rules)
    names, now = {name for rule in result for name in rule.names}, renamed(result)
    wanted = {key: [now.get(name, name) for name in listed] for key, listed in named(config).items()}
    known, kept = tuple(sorted(names)), not_ignorable(config)
    unknown = ((setting, name) for setting, listed in wanted.items() for name in listed if name not in names)
    mistakes = [(setting, f"there is no rule {name}; {nearest(name, known)}") for setting, name in unknown]
    for setting in ("ignore", "suppressions", "per_path_ignores"):
        mistakes += [(setting, why_not_ignorable(name, config)) for name in sorted(kept.intersection(wanted[setting]))]
    low = sorted(name for name, wanted in severities(config, result).items() if name in kept and wanted == "info")
    mistakes += [("severity", f"{why_not_ignorable(name, config)}; infos are hidden") for name in low]
    check_limits(config, mistakes)
    selected = by_name(result, config.select) if config.select else result
    left_out = {rule.name for rule in by_name(selected, config.ignore)} - kept
    return [rule for rule in selected if rule.name not in left_out]


def named(config: Config) -> dict[str, Iterable[str]]:
    """Return the names of rules and groups in the settings, by setting."""
    return {
        "select": config.select, "ignore": config.ignore, "severity": config.severity,
        "suppressions": [accepted.rule for accepted in config.accepted],
        "per_path_ignores": {name: None for listed in config.per_path_ignores.values() for name in listed},
        "not_ignorable": config.not_ignorable,
    }  # fmt: skip


def renamed(rules: Iterable[Rule]) -> dict[str, str]:
    """Map former names of rules to their names."""
    return {old: rule.name for rule in rules for old in rule.formerly}


def former(names: Iterable[str], config: Config) -> dict[str, str]:
    """Map the former names of rules among these names to the names of today."""
    now = renamed(all_rules(config.rules))
    return {name: now[name] for name in names if name in now}


def severities(config: Config, rules: Iterable[Rule]) -> dict[str, str]:
    """Map rules to severities of the settings; a rule wins over its group."""
    found = ((rule.name, next((one for one in rule.names if one in config.severity), "")) for rule in rules)
    return {name: config.severity[wanted] for name, wanted in found if wanted}


def not_ignorable(config: Config) -> set[str]:
    """Return the names of the rules that the settings forbid to ignore."""
    names = config.not_ignorable
    return {rule.name for rule in by_name(all_rules(config.rules), names)} if names else set()


def why_not_ignorable(name: str, config: Config) -> str:
    """Explain that the settings forbid ignoring a rule."""
    return f"{name} cannot be ignored (not_ignorable in {config.places.get('not_ignorable', 'the settings')})"


def by_name(rules: Iterable[Rule], names: Iterable[str]) -> list[Rule]:
    """Select rules by the names of rules and groups."""
    wanted = set(names)
    return [rule for rule in rules if not wanted.isdisjoint(rule.names)]


def check_limits(config: Config, mistakes: Sequence[tuple[str, str]] = ()) -> None:
    """Refuse limits of the settings that do not exist or are hard.

    Raises ConfigError with a line for each mistake.
    """
    found = list(mistakes)
    for name in config.limits:
        cloud, _, key = name.partition(".")
        entry = profiles.limits(cloud).get(key) if cloud in owners() else None
        if entry is None or not isinstance(entry.value, int | None):
            known = tuple(f"{c}.{k}" for c in owners() for k, e in profiles.limits(c).items() if e.kind != "hard")
            found.append(("limits", f"there is no limit {name}; {nearest(name, known)}"))
        elif entry.kind == "hard":
            found.append(("limits", f"{name} is a hard limit of {entry.value} {entry.unit}; nobody can raise it"))
    if found:
        places = {name: f"{place}: {name}" for name, place in config.places.items() if not place.startswith("--")}
        raise ConfigError(*(f"{places.get(setting, setting)}: {text}" for setting, text in found))


def raw_kinds(rules: Iterable[Rule]) -> Raw:
    """Return the kinds of objects and types of resources that raw rules read."""
    found = grouped(rules, lambda rule: rule.subject)
    every = ([rule.kinds for rule in found.get(subject, ())] for subject in KINDS)
    kinds, types = (None if None in own else frozenset().union(*filter(None, own)) for own in every)
    return Raw(kinds, types)


def _kinds(rule: Rule) -> frozenset[str] | None:
    try:
        condition = cel.conjunction(rule.when or "true", rule.problem, (rule.subject, "limits"))
    except cel.SyntaxProblem:  # told when it runs
        return frozenset()
    return cel_tree.required_texts(condition.tree, KINDS[rule.subject])


def _rule(group: str, path: str, data: Written) -> Rule:
    """Build a rule, with variables inlined into its expressions."""
    found = _plain_rule(group, path, data)
    if rule_variables.NAME in data:
        written = replace(found, variables=rule_variables.read(data))
        try:
            bodies = rule_variables.bodies(written.variables)
        except ValueError as error:
            raise RuleError(f"{path}: {error}") from error
        found = replace(_plain_rule(group, path, rule_variables.expanded_rule(data, bodies)), written=written)
    return replace(found, kinds=_kinds(found)) if found.subject in KINDS else found


def _plain_rule(group: str, path: str, data: Written) -> Rule:
    try:
        fix: Written = data.get("fix") or {}
        changes = fix.get("changes") or ([fix] if fix else [])
        texts = data.get("help", ())
        return Rule(
            name=os.path.basename(path).rpartition(".")[0], group=group, path=path, summary=data["summary"],
            subject=data["subject"], problem=as_text(data["problem"]), when=data.get("when", ""), at=data["at"],
            related=tuple(data.get("related", ())),
            message=data["message"].strip(),
            details=tuple(map(_sentence, data.get("details", ()))),
            help=tuple(map(_sentence, [texts] if isinstance(texts, str) else texts)),
            severity=data.get("severity", ""), grade=Grade(**data["grade"]) if "grade" in data else None,
            waste=data.get("waste", False), tag=data.get("tag", ""), unless=tuple(data.get("unless", ())),
            at_most=tuple(Cap(*item) for item in data.get("at_most", {}).items()),
            safety=fix.get("safety", ""), unsafe=fix.get("unsafe", ""), settings=tuple(map(_setting, changes)),
            withheld=tuple(Sentence(one["help"].strip(), one["where"]) for one in fix.get("withheld", ())),
            sources=tuple(data.get("sources", ())), formerly=tuple(data.get("formerly", ())),
        )  # fmt: skip
    except (KeyError, TypeError, AttributeError) as error:
        raise RuleError(f"{path}: {error!r} is missing or of the wrong kind") from error


def _setting(change: Written) -> Setting:
    append = "append" in change
    return Setting(change["append"] if append else change["set"], as_text(change["to"]), append)


def _sentence(data: str | Written) -> Sentence:
    if isinstance(data, str):
        return Sentence(data.strip())
    return Sentence(data["say"].strip(), data.get("if", ""), data.get("each", ""))
