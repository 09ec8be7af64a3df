"""The examples of a rule, run: `bad` fires, `good` is silent, `fixed` is what `kcheck fix` makes of `bad`."""

from __future__ import annotations

import contextlib
import os
import tempfile
from dataclasses import replace
from difflib import unified_diff
from typing import TYPE_CHECKING

from kcheck.config import settings
from kcheck.config.config import parse_price
from kcheck.engine import linter
from kcheck.files import save
from kcheck.files.tree import Tree
from kcheck.fix import fix
from kcheck.source.findings import SAFETIES

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from kcheck.config.config import Config
    from kcheck.engine.linter import Result
    from kcheck.engine.rule import Example, Rule


def failures(rule: Rule, example: Example, folders: tuple[str, ...] = ()) -> list[str]:
    """What an example shows otherwise than it says; `folders` hold the rules beside kcheck's own."""
    return [
        *bad_failures(rule, example, folders),
        *good_failures(rule, example, folders),
        *fix_failures(rule, example, folders),
    ]


def bad_failures(rule: Rule, example: Example, folders: tuple[str, ...] = ()) -> list[str]:
    """How `bad` does not fire."""
    if not example.bad:
        return []
    with _written(example.bad):
        result = linter.run(Tree(["."]), _config(example, folders))
    if any(finding.rule == rule.name for finding in result.findings):
        return _bugs(result)
    waiting = [check for check in result.undecided if check.rule == rule.name]
    others = ", ".join(sorted({finding.rule for finding in result.findings}))
    if waiting:
        reasons = "; ".join(waiting[0].missing) or "a value is not known"
        found = f"it is undecided on {waiting[0].object}: {reasons}"
    else:
        found = f"it is silent, found are {others}" if others else "nothing is found"
    return [f"`bad` must fire: {found}", *_bugs(result)]


def good_failures(rule: Rule, example: Example, folders: tuple[str, ...] = ()) -> list[str]:
    """How `good` is not silent, or silent for want of anything to look at."""
    if not example.good:
        return []
    with _written(example.good):
        result = linter.run(Tree(["."]), _config(example, folders))
    wrong = [
        f"`good` must be silent: {finding.span.source.path}:{finding.span.begin.line}:{finding.span.begin.column} "
        f"{finding.message}"
        for finding in result.findings
        if finding.rule == rule.name
    ]
    if not result.relevant and rule.subject != "input":
        wrong.append("`good` has nothing that kcheck looks at: silence shows nothing")
    return [*wrong, *_bugs(result)]


def fix_failures(rule: Rule, example: Example, folders: tuple[str, ...] = ()) -> list[str]:
    """How what `kcheck fix` makes of `bad` differs from `fixed`."""
    if example.fixed is not None and not rule.fixable:
        return ["`fixed` belongs to a rule with a fix only"]
    if not example.bad or not rule.fixable:
        return []
    with _written(example.bad):
        config = _config(example, folders)
        outcome = fix.fix(["."], config, safeties=SAFETIES, rules=(rule.name,))
        save.save(outcome.files)
        again = fix.fix(["."], config, safeties=SAFETIES, rules=(rule.name,))
        made = {name: _read(name) for name in example.bad}
    wrong = [f"`bad` is not mended: {refused.reason}" for refused in outcome.refused]
    expected = example.bad if example.fixed is None else example.fixed
    for name in sorted(expected.keys() | made.keys()):
        before, after = expected.get(name, ""), made.get(name, "")
        if before != after:
            said = "`fixed` is missing; fix makes of" if example.fixed is None else "fix makes something else of"
            lines = unified_diff(before.splitlines(), after.splitlines(), "expected", "made by fix", lineterm="", n=1)
            wrong.append("\n".join([f"{said} {name}:", *lines]))
    if again.files:
        wrong.append(f"a second fix still changes {', '.join(file.path for file in again.files)}")
    return wrong


def _config(example: Example, folders: tuple[str, ...]) -> Config:
    """The settings of the example's folder, and what stands for flags."""
    nodes = {"": example.nodes} if example.nodes else {}
    own = settings.load(["."])
    return replace(own, nodes=nodes, price=parse_price(example.price), rules=(*own.rules, *folders))


def _bugs(result: Result) -> list[str]:
    return [f"kcheck fails: {bug.rule} on {bug.object}: {bug.message}" for bug in result.bugs]


@contextlib.contextmanager
def _written(files: Mapping[str, str]) -> Iterator[None]:
    """Work in a temporary folder that has some files."""
    with tempfile.TemporaryDirectory(prefix="kcheck-") as folder, contextlib.chdir(folder):
        os.mkdir(".git")  # settings are looked for no further up
        for name, text in files.items():
            path = os.path.normpath(name)
            if os.path.isabs(path) or path.startswith(".."):
                continue  # an example has no business outside of its folder
            os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
            with open(path, "w", encoding="utf-8", newline="") as file:
                file.write(text)
        yield


def _read(path: str) -> str:
    with open(path, encoding="utf-8", newline="") as file:
        return file.read()
