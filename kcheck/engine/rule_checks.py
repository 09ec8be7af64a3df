"""Checks of rules beyond types: where `has()` may stand, and the standards of kcheck's own rules."""

import re
from collections.abc import Iterable, Iterator

from kcheck.engine import rule_files, rule_words
from kcheck.engine.rule import Rule
from kcheck.engine.rule_words import Mistake
from kcheck.engine.words.raw_views import SUBJECTS as RAW
from kcheck.text.regex import regex

LONGEST_HEADLINE = 100
LONGEST_DETAIL = 120
"""Most characters of a message, or of a sentence below it, on the examples of a rule."""

_LEAST_WHY = 80
_ADVICE = regex(r"(use|avoid|prefer|require|no|do|should|check|enable)-")


def located(rule: Rule, mistakes: Iterable[Mistake]) -> list[str]:
    """Format mistakes in a rule, each with file, line and column."""
    found = list(mistakes)
    if not found:
        return []
    file = rule_files.read(rule.group, rule.path)
    return [f"{file.location(*mistake.place)}: {mistake.message}" for mistake in found]


def failed_at(rule: Rule, error: str) -> tuple[rule_words.Steps, str, int]:
    """Find the expression that an error quotes; the condition if it quotes none."""
    for one in rule_words.texts(rule):
        if f"`{' '.join(one.text.split())}`" in error:
            return one.steps, one.text, 0
    return ("problem",), "", 0


def misplaced_presence(rule: Rule) -> Iterator[Mistake]:
    """Yield uses of `has()` outside of `when`: it asks whether a value is known, so it would hide unknown ones."""
    if rule.subject in RAW:
        return
    for one, usage in rule_words.usages(rule):
        if one.steps != ("when",) and usage.presence:
            at = max(one.text.find("has("), 0)
            message = (
                "has() asks whether a value is known, which is for `when` only; compare with null to ask for unset"
            )
            yield Mistake((one.steps, one.text, at), message)


def shortcomings(rule: Rule) -> list[Mistake]:
    """List why a rule may not be one of kcheck's own."""
    return [*_incomplete(rule), *_numbers(rule)]


def _incomplete(rule: Rule) -> Iterator[Mistake]:
    written = rule.documentation
    if _ADVICE.match(rule.name):
        yield _mistake("summary", "the name of the file is that of a bad thing, such as pod-without-team, not advice")
    if len(written.why) <= _LEAST_WHY:
        yield _mistake("why", f"`why` needs more than {_LEAST_WHY} characters: what happens, and what would help")
    if not written.examples:
        yield _mistake("examples", "the rule needs an example, with `bad` and `good`")
    for example in written.examples:
        for name, files in (("bad", example.bad), ("good", example.good)):
            if not files:
                yield Mistake((("examples", example.number), "", 0), f"the example needs `{name}`")
    if rule.fixable and written.examples and all(example.fixed is None for example in written.examples):
        yield _mistake("examples", "an example needs `fixed`: what kcheck fix makes of `bad`")
    entries = rule.entries()
    if not entries and rule.subject != "input":
        yield _mistake(
            "sources", "the rule needs sources: keys of profiles such as limits.eks.pool.quota, or addresses"
        )
    doubtful = [name for name, entry in entries.items() if entry and entry.confidence == "low"]
    wall = rule.grade.wall if rule.grade else None
    if doubtful and (
        rule.severity == "error" or any(name.endswith(f".{wall.split('.', 1)[1]}") for name in doubtful if wall)
    ):
        yield _mistake("sources", f"an error needs sources that are sure; the confidence of {doubtful[0]} is low")


def _numbers(rule: Rule) -> Iterator[Mistake]:
    """Yield numbers without a name: their meaning and source belong into the profiles."""
    for one, usage in rule_words.usages(rule):
        for number in sorted(set(usage.numbers) - {0, 1}):
            match = re.search(rf"(?<![\w.]){re.escape(str(number))}(?![\w.])", one.text)
            message = f"{number} has no source: name it in profiles/<cloud>/limits.yaml, write limits.<group>.<name>"
            yield Mistake((one.steps, one.text, match.start() if match else 0), message)


def _mistake(key: str, message: str) -> Mistake:
    return Mistake(((key,), "", 0), message)
