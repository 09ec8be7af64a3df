"""Apply fixes in rounds of edits, each proved by a new check."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import product
from typing import NamedTuple

from msgspec import Struct, field
from msgspec.structs import astuple, replace

from kcheck.config.config import Config
from kcheck.engine import linter
from kcheck.engine.linter import Result
from kcheck.engine.rule import Rule
from kcheck.engine.rules import selected
from kcheck.engine.words.subjects import MISTAKES, SUBJECTS, things
from kcheck.fix.gate.comparison import Comparison, KnownFindings, without_known
from kcheck.inventory.reading import Kept
from kcheck.scale import walls
from kcheck.scale.world import World
from kcheck.text import deadline
from kcheck.text.files.save import File, diff, save
from kcheck.text.files.tree import Tree
from kcheck.text.findings import Finding, Severity
from kcheck.text.syntax import edit
from kcheck.text.text import OverlapError, Source, grouped

MAX_ROUNDS = 10
INEFFECTIVE = "the finding would still be there"


class Refused(NamedTuple):
    """A fix that was not made, and why; `bug` means that kcheck is to blame."""

    finding: Finding
    reason: str
    bug: bool


class Fixes(Struct):
    """Fixed files and remaining findings; `held_back` were not asked for."""

    result: Result
    files: list[File] = []
    fixed: list[Finding] = []
    refused: list[Refused] = []
    held_back: list[Finding] = []

    @property
    def remaining(self) -> list[Finding]:
        """Findings after the fixes."""
        return self.result.findings

    def diff(self) -> str:
        """Return the changes as a unified diff for `git apply`."""
        return "".join(diff(file).text for file in self.files)

    def write(self) -> None:
        """Write all files, or none if one cannot be written.

        Raises SaveError if a file is read-only, has changed since it was read, or cannot be written.
        """
        save(self.files)


class State(NamedTuple):
    """Files after some fixes, and the result of their check."""

    overlay: Mapping[str, bytes]
    tree: Tree
    result: Result


class _Worse(NamedTuple):
    """A regression caused by fixes; `bug` means kcheck is to blame."""

    reason: str
    bug: bool
    rule: str = ""
    findings: Sequence[Finding] = ()


class _Fixer(Struct):
    """Applies fixes, with the options of `fix`.

    `harmful` maps rules whose fix failed to the rule whose finding it caused.
    """

    paths: list[str]
    config: Config
    safeties: tuple[str, ...]
    names: tuple[str, ...]
    least: Severity
    comparison: Comparison | None
    tell: Callable[[str], None]
    only: Callable[[Finding], bool] | None
    rules: dict[str, Rule]
    runs: int = 0
    known: KnownFindings = field(default_factory=KnownFindings)
    kept: Kept = field(default_factory=Kept)
    originals: dict[str, Source] = {}
    fixed: list[Finding] = []
    refused: list[Refused] = []
    harmful: set[tuple[str, str]] = set()

    def read(self, overlay: Mapping[str, bytes]) -> State:
        tree = Tree(self.paths, overlay, self.config.exclude, self.config.boundary, self.kept.sources)
        self.runs += 1
        read = linter.Linter(tree, self.config, lambda text: self.tell(f"run {self.runs}: {text}"), self.kept)
        return State(overlay, tree, read.result())

    def fixable(self, result: Result) -> list[Finding]:
        """List findings whose fix is wanted and has not failed."""
        vain = {key for refused in self.refused for key in refused.finding.keys}
        return [
            finding
            for finding in result.findings
            if self.is_allowed(finding)
            and not self.known.contains_after_fixes(finding)
            and self.is_selected(finding)
            and not vain & finding.keys
        ]

    def is_selected(self, finding: Finding) -> bool:
        return not self.names or bool(set(self.names).intersection(self.rules[finding.rule].names))

    def is_allowed(self, finding: Finding) -> bool:
        return finding.fix is not None and finding.fix.safety in self.safeties and finding.severity >= self.least

    def run(self, start: State) -> Fixes:
        state, self.kept.sources = start, start.tree.sources
        if self.comparison is not None:
            self.known = self.comparison.find_known(state.result.findings)
        if "unsafe" in (every := self.safeties):  # last, so that the others are the same without them
            self.safeties = tuple(safety for safety in every if safety != "unsafe")
            state = self.improved(state)
            self.safeties, self.refused = every, [one for one in self.refused if one.bug]  # with others they may stand
        state = self.improved(state)
        left = without_known(state.result, self.known.contains_after_fixes)
        left.findings = [finding for finding in left.findings if self.is_selected(finding)]
        held = [one for one in left.findings if one.fix is not None and not self.is_allowed(one)]
        files = [File(real, of.path, of.data, state.overlay.get(real, of.data)) for real, of in self.originals.items()]
        changed = sorted((one for one in files if one.new != one.old), key=lambda file: file.path)
        return Fixes(left, changed, self.fixed, self.refused, held)

    def improved(self, state: State) -> State:
        """Apply all fixes of the allowed classes, in rounds."""
        for _ in range(MAX_ROUNDS):
            chosen = self.choose([one for one in self.fixable(state.result) if self.only is None or self.only(one)])
            if not chosen:
                break
            state = self.attempt(state, chosen)
        return state

    def choose(self, wanted: list[Finding]) -> list[Finding]:
        """Select findings whose changes do not overlap."""
        chosen: list[Finding] = []
        together = edit.Together()
        for finding in wanted:
            try:
                together.add(finding.changes)
            except edit.EditError as error:
                self.refused.append(Refused(finding, str(error), bug=False))
            except OverlapError:
                continue
            else:
                chosen.append(finding)
        return chosen

    def attempt(self, state: State, chosen: list[Finding]) -> State:
        """Apply the fixes that pass a new check, and return the state with them."""
        if not chosen:
            return state
        after = self.read({**state.overlay, **self.edited(state, chosen)})
        vain = self.ineffective(state, after, chosen)
        if vain:
            blamed = {id(refused.finding) for refused in vain}
            others = [finding for finding in chosen if id(finding) not in blamed]
            if len(chosen) == 1 or vain[0].reason != INEFFECTIVE:
                self.refused += vain
            elif not others:  # one may stand in the way of the other
                others = chosen[: len(chosen) // 2]
            return self.attempt(state, others)  # the rest has its turn in the next round, alone or with other values
        worse = self.regression(state, after, chosen)
        if worse is not None:  # what they bring along may be mended too
            old = keys_of(state.result.findings)
            more = self.choose([one for one in self.fixable(after.result) if not _keys(one) <= old])
            further = self.read({**after.overlay, **self.edited(after, more)}) if more else after
            if more and not (self.ineffective(after, further, more) or self.regression(state, further, chosen + more)):
                chosen, after, worse = chosen + more, further, None
        if worse is None:
            fixed = keys_of(self.fixed)
            self.fixed += [one for one in chosen if fixed.isdisjoint(_keys(one))]
            return after
        return self.divided(state, chosen, worse)

    def divided(self, state: State, chosen: list[Finding], worse: _Worse) -> State:
        """Refuse fixes that make their own objects worse; attempt the others in halves."""
        groups = fixed_together(chosen)
        own = list(_own(groups, worse)) if len(groups) > 1 else [worse]
        if len(groups) == 1:
            self.harmful.add((chosen[0].rule, worse.rule))
        left: list[Finding] = []
        for group, one in zip(groups, own, strict=True):
            if one is not None and (group[0].rule, one.rule) in self.harmful:
                self.refused += [Refused(finding, one.reason, one.bug) for finding in group]
            else:
                left += group
        if len(left) < len(chosen):
            return self.attempt(state, left)
        late = [one is not None for one in own]
        if not any(late):
            at = {finding.object.partition(":")[0] for finding in worse.findings}
            late = [group[0].object.partition(":")[0] in at for group in groups]
        if all(late) or not any(late):
            late = [i >= len(groups) // 2 for i in range(len(groups))]
        first = [f for group, waits in zip(groups, late, strict=True) if not waits for f in group]
        suspects = [f for group, waits in zip(groups, late, strict=True) if waits for f in group]
        half = self.attempt(state, first)
        # where places have moved, the others have their turn in the next round
        return self.attempt(state, suspects) if half is state else half

    def edited(self, state: State, chosen: list[Finding]) -> dict[str, bytes]:
        result = {}
        for source, own in grouped((one for finding in chosen for one in finding.changes), edit.source_of).items():
            real = state.tree.real_path(source)
            self.originals.setdefault(real, source)
            result[real] = edit.apply_edits(source, edit.edits(own))
        return result

    def ineffective(self, before: State, after: State, chosen: list[Finding]) -> list[Refused]:
        """List fixes after which their finding is still there or undecided."""
        made = {(f.rule, change.owner, change.name): change.value for f in chosen for change in f.changes}
        found = {
            key for f in after.result.findings for key in f.keys  # a fix that goes on with another value is not in vain
            if all(made.get((f.rule, one.owner, one.name), one.value) == one.value for one in f.changes)
        }  # fmt: skip
        undecided = {(check.rule, check.object): set(check.missing) for check in after.result.undecided}
        inputs = {reason for check in before.result.undecided for reason in check.missing}
        broken = next((f.span for f in before.result.findings if f.rule == _UNREADABLE), None)
        if broken is None and any(f.rule == _UNREADABLE for f in after.result.findings):
            return []  # a fix broke a file, which `regression` says
        vain = []
        for finding in chosen:
            unclear = next((undecided[key] for key in finding.keys if key in undecided), None)
            if finding.keys & found or unclear is not None:
                why = INEFFECTIVE
                if broken is not None:
                    why = f"{broken.location} cannot be read; fix that first"
                elif unclear and unclear <= inputs:
                    why = f"whether that is enough depends on an input: {'; '.join(sorted(unclear))}"
                vain.append(Refused(finding, why, bug=False))
        return vain

    def regression(self, before: State, after: State, chosen: list[Finding]) -> _Worse | None:
        for subject in {change.subject for f in chosen for change in f.changes} & SUBJECTS.keys() - MISTAKES:
            if len(things(subject, after.result.world)) < len(things(subject, before.result.world)):
                return _Worse(f"a {subject} could not be read any more", bug=True)
        if len(after.result.bugs) > len(before.result.bugs):
            return _Worse(after.result.bugs[-1].message, bug=True)
        old = keys_of(before.result.findings)
        standing = {(other.rule, on) for other in before.result.findings for on in _things(other)}
        found = [
            finding for finding in after.result.findings
            if finding.severity > Severity.INFO and not (finding.small or _keys(finding) <= old)
            and standing.isdisjoint(product(self.rules[finding.rule].unless, _things(finding)))
        ]  # fmt: skip
        return _brought(found) if found else _lowered(before.result.world, after.result.world)


def fix(
    paths: list[str], config: Config, *, safeties: tuple[str, ...] = ("safe", "costs"), rules: tuple[str, ...] = (),
    least: Severity = Severity.INFO, comparison: Comparison | None = None,
    tell: Callable[[str], None] = deadline.no_progress, start: State | None = None,
    only: Callable[[Finding], bool] | None = None, overlay: Mapping[str, bytes] | None = None,
    declined: Sequence[Finding] = (),
) -> Fixes:  # fmt: skip
    """Compute all fixes of the allowed classes; nothing is written.

    Not fixed are findings below severity `least`, known to `comparison`, or refused by `only`, unless other fixes cause
    them, and `declined` ones in no case. `start` is an earlier check of the files as they are; without it, `overlay`
    replaces some of them.
    """
    chosen = {rule.name: rule for rule in selected(config)}
    fixer = _Fixer(
        paths, replace(config, traced=True), safeties=safeties, names=rules, least=least, comparison=comparison,
        tell=tell, only=only, rules=chosen, refused=[Refused(one, "you declined it", bug=False) for one in declined],
    )  # fmt: skip
    return fixer.run(start or fixer.read(overlay or {}))


_UNREADABLE = "unreadable-file"


def _keys(finding: Finding) -> set[tuple[str, str, str]]:
    """Return identities that survive edits: edits move lines, and no file."""
    return {(rule, name, about) for rule, _, name, about in finding.identities}


def keys_of(findings: list[Finding]) -> set[tuple[str, str, str]]:
    """Return the identities of findings that survive edits."""
    return {key for finding in findings for key in _keys(finding)}


def fixed_together(findings: list[Finding]) -> list[list[Finding]]:
    """Group findings that must be fixed together."""

    def root(finding: Finding) -> object:
        shared = any(change.subject == "pool" for change in finding.changes)
        return (finding.rule, finding.object.partition(":")[0]) if shared else id(finding)

    return list(grouped(findings, root).values())


def _lowered(before: World, after: World) -> _Worse | None:
    """Return the limit that a cluster now reaches earlier than any before."""
    clusters = {cluster.id: cluster for cluster in before.inventory.clusters}
    for cluster in after.inventory.clusters:
        own = clusters.get(cluster.id)
        first = walls.first(own, before) if own is not None else None
        if own is None or first is None or astuple(before.sizes.growth(own)) != astuple(after.sizes.growth(cluster)):
            continue
        old = {wall.id: wall.nodes for wall in walls.find_walls(own, before)}
        for wall in walls.find_walls(cluster, after):
            was, now = old.get(wall.id, wall.nodes), wall.nodes
            if wall.kind != "recommended" and not now.is_open and now.low < min(was.low, first.nodes.low):
                what = f"{cluster.display_name} would meet the {wall.what} at {now} nodes, not at {was}"
                return _Worse(what, bug=False)
    return None


def _brought(found: list[Finding]) -> _Worse:
    worst = max(found, key=lambda finding: finding.severity)
    reason = f"then {worst.rule} would be found: {worst.message}"
    return _Worse(reason, worst.rule == _UNREADABLE, worst.rule, found)


def _own(groups: list[list[Finding]], worse: _Worse) -> Iterator[_Worse | None]:
    """Yield the regressions on objects each group of fixes is about, else None."""
    on = grouped((part for finding in worse.findings for part in finding.parts or (finding,)), lambda part: part.object)
    for group in groups:
        names = dict.fromkeys(name for f in group for name in (f.object, *f.also, *(one.owner for one in f.changes)))
        found = [part for name in names for part in on.get(name, ())]
        yield _brought(found) if found else None


def _things(finding: Finding) -> set[object]:
    return {*finding.objects, (finding.span.source.path,)}
