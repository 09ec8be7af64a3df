"""Text of a new custom rule, from a template or one of kcheck's rules."""

import os
import re
import textwrap
from collections import Counter
from importlib.resources import files

import yaml

from kcheck.config.config import ConfigError, nearest
from kcheck.engine import rule_files, rules
from kcheck.engine.rule import Example, Rule
from kcheck.engine.words.raw_views import SUBJECTS as RAW
from kcheck.engine.words.subjects import PARTS, SUBJECTS
from kcheck.text.bundled import RULES
from kcheck.text.files import save

_WIDTH = 110
_SOURCES = "# sources: [limits.eks.pool.quota]        # numbers of the profiles, or addresses\n"
_MISTAKES = """\
# mistakes:                               # put back into a generated cluster: the rule finds them, and no other
#   - cluster: eks
#     changes:
#       - {file: cluster.tf, drop: a regular expression}
"""
JUDGED = (*RAW, *(subject for subject in SUBJECTS if subject not in PARTS))
"""Subjects that a rule can be about."""


def write(name: str, folder: str, subject: str) -> str:
    """Write DIR/<group>/<name>.yaml and return its path.

    Raises ConfigError if the name is invalid or taken, or there is no such subject; SaveError if the file cannot be
    written.
    """
    group, _, own = name.rpartition("/")
    group = group or "own"
    for part in (group, own):
        if not rule_files.NAME.fullmatch(part):
            raise ConfigError(
                f"a rule name has lower-case words with dashes, such as pod-without-team, not {part or name}"
            )
    beside = rule_files.find(folder) if os.path.isdir(folder) else ()
    for there in (*(rule.path for rule in rules.load()), *(path for _, path in beside)):
        if os.path.basename(there).rpartition(".")[0] == own:
            raise ConfigError(f"there is a rule {own} already: {there}")
    path = os.path.join(folder, group, f"{own}.yaml")
    content = text(path, subject, folder)
    save.save([save.File(path, path, b"", content.encode(), fresh=True)])
    return path


def text(path: str, subject: str, folder: str) -> str:
    """Return a rule that passes its test, with comments that say what to change.

    Raises ConfigError if there is no such subject.
    """
    if subject not in JUDGED:
        raise ConfigError(f"there is no subject {subject}; {nearest('' if subject in PARTS else subject, JUDGED)}")
    if subject in RAW:
        written = files(__package__).joinpath("new_rules", f"{subject}.yaml").read_text(encoding="utf-8")
        severity, (body, example), origin = "warning", written.split("---\n"), ""
    else:
        model = _model(subject)
        severity, body, example = model.severity or "warning", _body(model), _example(model.documentation.examples[0])
        origin = f"# It begins as a copy of kcheck's {model.name}: change what it asks for, and how bad it is.\n"
    name = os.path.basename(path).removesuffix(".yaml")
    own = _is_bundled(folder)
    title = name.replace("-", " ")
    return f"""\
# `{next_steps(path, folder)[0]}` tests it; docs/writing-rules.md has all keys.
{origin}summary: {_scalar(title[0].upper() + title[1:])}
severity: {severity:31} # error: breaks at scale; warning: slow or fragile; info: worth knowing
subject: {subject:32} # `kcheck explain {subject}` lists its words
{body}{_SOURCES if own else ""}---
why: |                                    # `kcheck explain {name}` prints it
  What happens, and what would help.
examples:
{example}{_MISTAKES if own else ""}"""


def next_steps(path: str, folder: str) -> tuple[str, str]:
    """Return the command that tests a rule, and what to do when it passes."""
    if _is_bundled(folder):
        return f"kcheck rules --test {path} --strict", "write the pages and golden files with `scripts/accept`"
    return f"kcheck rules --test {folder}", f"run it with `kcheck check --rules {folder}`"


def _is_bundled(folder: str) -> bool:
    return os.path.realpath(folder) == os.path.realpath(RULES)


def _model(subject: str) -> Rule:
    """Return the shortest of kcheck's rules about a subject.

    A finding of severity info is hidden, and a rule without sources may be a draft itself.
    """
    found = [rule for rule in rules.load() if rule.subject == subject]
    found = [rule for rule in found if rule.documentation.examples and rule.documentation.examples[0].bad]
    found = [rule for rule in found if rule.sources] or found
    usual = Counter(rule.severity for rule in found)

    def rank(rule: Rule) -> tuple[bool, int, bool, int]:
        length = len(_body(rule)) + len(_example(rule.documentation.examples[0]))
        return rule.severity in ("", "info"), -usual[rule.severity], rule.severity == "error", length

    return min(found, key=rank)


def _body(rule: Rule) -> str:
    """Format condition, place and message of a rule, each with a comment."""
    lines = [("when", rule.when, "which ones it judges")] if rule.when else []
    lines += [
        ("problem", rule.problem, "it fires where this holds"),
        ("at", rule.at, "the place that a finding points at"),
        ("message", rule.message, "{...} is CEL"),
    ]
    return "".join(f"# {comment}\n{key}: {_scalar(value)}\n" for key, value, comment in lines)


def _scalar(value: str) -> str:
    """Format a text for YAML: plain if it parses as itself, else as a folded block."""
    line = " ".join(value.split())
    if len(line) < _WIDTH and not re.search(r": |#", line):
        try:
            if yaml.safe_load(f"a: {line}") == {"a": line}:
                return line
        except yaml.YAMLError:
            pass
    wrapped = textwrap.wrap(line, _WIDTH, break_long_words=False, break_on_hyphens=False)
    return ">-\n" + textwrap.indent("\n".join(wrapped), "  ")


def _example(example: Example) -> str:
    """Format an example as a list item, without its `fixed`."""
    single = len(example.bad) == 1 and example.bad.keys() == example.good.keys()
    lines = [f"file: {next(iter(example.bad))}\n"] if single else []
    for key, texts, comment in (
        ("bad", example.bad, "it must fire here"),
        ("good", example.good, "it must be silent here"),
    ):
        if single:
            lines.append(f"{key}: |{' ' * 32}# {comment}\n{textwrap.indent(next(iter(texts.values())), '  ')}")
        elif texts:
            lines.append(f"{key}:  # {comment}\n")
            lines += [f"  {path}: |\n{textwrap.indent(content, '    ')}" for path, content in texts.items()]
    lines += [f"nodes: {example.nodes}\n"] if example.nodes else []
    lines += [f"price: {example.price}\n"] if example.price else []
    return "  - " + textwrap.indent("".join(lines), "    ").lstrip()
