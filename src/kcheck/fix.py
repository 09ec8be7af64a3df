"""Mend what was found: rounds of edits, each read and checked again before it counts."""

from __future__ import annotations

import os
import tempfile
from dataclasses import dataclass, field
from difflib import unified_diff
from typing import TYPE_CHECKING, NamedTuple

from kcheck import edit, engine
from kcheck.files import Tree
from kcheck.text import Edit, OverlapError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kcheck.config import Config
    from kcheck.engine import Result
    from kcheck.findings import Change, Finding
    from kcheck.text import Source

MAX_ROUNDS = 10


class Refused(NamedTuple):
    """A fix that was not written, and why. `bug` says that kcheck is to blame."""

    finding: Finding
    reason: str
    bug: bool


@dataclass
class Outcome:
    """What `fix` would write. `files` maps a real path to (path as shown, old bytes, new bytes)."""

    files: dict[str, tuple[str, bytes, bytes]] = field(default_factory=dict)
    fixed: list[Finding] = field(default_factory=list)
    refused: list[Refused] = field(default_factory=list)
    held_back: list[Finding] = field(default_factory=list)
    result: Result | None = None


class _Fixer:
    def __init__(self, paths: list[str], config: Config, safeties: tuple[str, ...], rules: tuple[str, ...]) -> None:
        self.paths = paths
        self.config = config
        self.safeties = safeties
        self.rules = rules
        self.overlay: dict[str, bytes] = {}
        self.originals: dict[str, tuple[str, bytes]] = {}
        self.outcome = Outcome()

    def run(self, overlay: dict[str, bytes]) -> tuple[Tree, Result]:
        tree = Tree(self.paths, overlay, self.config.exclude)
        return tree, engine.run(tree, self.config)

    def wanted(self, result: Result) -> list[Finding]:
        refused = {(r.finding.rule, r.finding.object) for r in self.outcome.refused}
        return [
            finding
            for finding in result.findings
            if finding.fix is not None
            and finding.fix.safety in self.safeties
            and (not self.rules or finding.rule in self.rules)
            and (finding.rule, finding.object) not in refused
        ]

    def all(self) -> Outcome:
        tree, result = self.run(self.overlay)
        for _ in range(MAX_ROUNDS):
            wanted = self.wanted(result)
            if not wanted:
                break
            tree, result = self.round(tree, result, wanted)
        self.outcome.result = result
        self.outcome.held_back = [f for f in result.findings if f.fix is not None and f.fix.safety not in self.safeties]
        for real, (path, old) in self.originals.items():
            new = self.overlay.get(real, old)
            if new != old:
                self.outcome.files[real] = (path, old, new)
        return self.outcome

    def round(self, tree: Tree, result: Result, wanted: list[Finding]) -> tuple[Tree, Result]:
        """Apply what does not overlap; if the whole does not check out, one fix at a time."""
        chosen, edits = self.choose(wanted)
        if not chosen:
            return tree, result
        attempt = self.attempt(tree, result, chosen, edits)
        if not isinstance(attempt, Refused):
            self.outcome.fixed += chosen
            return attempt
        alone, edits = self.choose(chosen[:1])
        if len(chosen) > 1 and alone:
            attempt = self.attempt(tree, result, alone, edits)
        if isinstance(attempt, Refused):
            self.outcome.refused.append(attempt)
            return tree, result
        self.outcome.fixed += alone
        return attempt

    def choose(self, wanted: list[Finding]) -> tuple[list[Finding], list[Edit]]:
        """Findings whose changes can be made together, with their edits."""
        chosen: list[Finding] = []
        changes: dict[Source, list[Change]] = {}
        edits: dict[Source, list[Edit]] = {}
        for finding in wanted:
            if finding.fix is None:
                continue
            touched: dict[Source, list[Change]] = {}  # only these files are worked out again
            for change in finding.fix.changes:
                source = edit.source_of(change)
                touched.setdefault(source, list(changes.get(source, ()))).append(change)
            try:
                candidate = {source: list(dict.fromkeys(edit.edits(own))) for source, own in touched.items()}
                for source, own_edits in candidate.items():
                    edit.applied(source, own_edits)
            except edit.EditError as error:
                self.outcome.refused.append(Refused(finding, str(error), bug=False))
                continue
            except OverlapError:
                continue  # another round
            chosen.append(finding)
            changes |= touched
            edits |= candidate
        return chosen, [item for own_edits in edits.values() for item in own_edits]

    def attempt(
        self, tree: Tree, result: Result, chosen: list[Finding], edits: list[Edit]
    ) -> tuple[Tree, Result] | Refused:
        """The tree after the edits, if it can be read, lost these findings and got no new ones."""
        overlay = dict(self.overlay)
        for source, own in _by_source(edits):
            real = tree.real_path(source)
            self.originals.setdefault(real, (source.path, source.data))
            overlay[real] = edit.applied(source, own)
        after_tree, after = self.run(overlay)
        before, found = set(map(_key, result.findings)), {_key(finding): finding for finding in after.findings}
        if after.bugs or found.keys() & set(map(_key, chosen)):
            broken = next((f.span for f in result.findings if f.rule == _UNREADABLE), None)
            if broken is not None:
                why = f"{broken.source.path}:{broken.begin.line} cannot be read; mend that first"
                return Refused(chosen[0], why, bug=False)
            return Refused(chosen[0], "the finding would still be there", bug=True)
        new = [finding for key, finding in found.items() if key not in before]
        if new:
            worst = max(new, key=lambda finding: finding.severity)
            reason = f"then {worst.rule} would be found: {worst.message}"
            return Refused(chosen[0], reason, bug=worst.rule == _UNREADABLE)
        self.overlay = overlay
        return after_tree, after


def fix(
    paths: list[str], config: Config, *, safeties: tuple[str, ...] = ("safe", "costs"), rules: tuple[str, ...] = ()
) -> Outcome:
    """Work out all fixes of the allowed classes; nothing is written yet."""
    return _Fixer(paths, config, safeties, rules).all()


_UNREADABLE = "unreadable-file"


def _key(finding: Finding) -> tuple[str, str]:
    """What tells a finding from others also after an edit, which moves what is broken below it."""
    place = f"{finding.span.source.path}: {finding.message}" if finding.rule == _UNREADABLE else finding.object
    return finding.rule, place


def _by_source(edits: list[Edit]) -> Iterator[tuple[Source, list[Edit]]]:
    groups: dict[int, list[Edit]] = {}
    for item in edits:
        groups.setdefault(id(item.span.source), []).append(item)
    for group in groups.values():
        yield group[0].span.source, group


def write(path: str, data: bytes) -> None:
    """Replace a file in one step: whoever reads it sees the old bytes or the new ones."""
    folder = os.path.dirname(path) or "."
    handle, temporary = tempfile.mkstemp(dir=folder, prefix=".kcheck-")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        if os.path.exists(path):
            os.chmod(temporary, os.stat(path).st_mode & 0o7777)
        else:
            os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


def diff(path: str, old: bytes, new: bytes) -> bytes:
    """A unified diff that `git apply` takes, byte for byte."""
    before = old.decode("utf-8", "surrogateescape").split("\n")
    after = new.decode("utf-8", "surrogateescape").split("\n")
    lines = unified_diff(_lines(before), _lines(after), f"a/{path}", f"b/{path}", lineterm="\n")
    text = "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)
    return text.encode("utf-8", "surrogateescape")


def _lines(parts: list[str]) -> list[str]:
    """The lines with their newline; only a newline ends a line, as for git."""
    return [part + "\n" for part in parts[:-1]] + ([parts[-1]] if parts[-1] else [])
