"""Code actions: fixes, ignore comments and suppressions, and the edits of each."""

from __future__ import annotations

import json
import os
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from lsprotocol import types
from msgspec import Struct
from msgspec.structs import replace

from kcheck.config.config import Accepted, ConfigError
from kcheck.config.locations import NAME, TABLE, find_file
from kcheck.engine import linter
from kcheck.fix import fix
from kcheck.fix.gate import new_ignores
from kcheck.text.control_characters import visible
from kcheck.text.files import system
from kcheck.text.files.disk import Disk
from kcheck.text.files.save import File
from kcheck.text.files.tree import TERRAFORM, VARIABLES, Tree, display_path
from kcheck.text.findings import SAFETIES, Finding, Severity
from kcheck.text.syntax import edit, yaml
from kcheck.text.syntax.insertion import Insertion
from kcheck.text.syntax.members import edits_to_add, edits_to_add_last
from kcheck.text.syntax.scan import toml_key_line
from kcheck.text.text import Source
from kcheck.text.units import clipped, counted
from kcheck.text.values import Data

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from kcheck.addons.editor.snapshot import Snapshot
    from kcheck.text.findings import Change

    Tell = Callable[[str], None]

REASON = "KCHECK-REASON-OF-THE-USER"
"""Placeholder in planned files for the reason that the user writes."""
FILE = "source.fixAll.kcheck"
"""Safe fixes of one file, which may be applied on save."""
WORKSPACE = "source.kcheck.fixAll.workspace"
COSTS = "source.kcheck.fixAll.costs"
"""Not below `source.fixAll`, as editors apply that on every save."""
MOST = 20
"""Findings of a place with actions of their own, as nobody reads a longer menu; others have actions in bulk."""
QUICK_FIX = types.CodeActionKind.QuickFix.value
_COSTS = "the bill or the behaviour changes"
_LONGEST = 160


class Request(Struct, frozen=True):
    """An offered action, as sent to the editor and back."""

    what: str
    uri: str
    rule: str = ""
    object: str = ""
    path: str = ""
    about: str = ""
    line: int = 0


class Offer(NamedTuple):
    """An action, not yet computed, with its finding."""

    title: str
    kind: str
    request: Request
    finding: Finding | None = None
    preferred: bool = False


class Plan(NamedTuple):
    """Files that an action changes, or the reason why it changes none.

    If `safety` is costs or unsafe, the user must confirm.
    """

    files: tuple[File, ...] = ()
    refusal: str = ""
    safety: str = "safe"
    title: str = ""


# --- what is offered


def findings_at(snapshot: Snapshot, source: Source, start: int, end: int) -> list[Finding]:
    """List findings in a byte range and those whose fix edits it, closest first."""
    found = []
    for finding in snapshot.result.findings:
        first, last = finding.span.start, min(finding.span.end, finding.span.source.line_end(finding.span.start))
        if _is_in(source, finding.span.source) and first <= end and start <= max(first, last):
            found.append((max(first - start, start - first), finding))
        elif any(_is_written_at(change, source, start, end) for change in finding.changes):
            found.append((len(source.data), finding))
    found.sort(key=lambda one: (one[0], one[1].key))
    return [finding for _, finding in found[:MOST]]


def offers(snapshot: Snapshot, source: Source, uri: str, findings: list[Finding]) -> Iterator[Offer]:
    """Yield actions for findings at a place: fixes, then ignores, then explanations."""
    safe = _of_class(findings, "safe")
    for finding in findings:
        if finding.fix is not None:
            preferred = len(safe) == 1 and finding is safe[0]
            yield Offer(fix_title(finding), QUICK_FIX, _request("fix", uri, finding), finding, preferred)
    kept = new_ignores.not_silenced(snapshot.config)
    able = [finding for finding in findings if finding.rule not in kept and _is_in(source, finding.span.source)]
    for finding, why in zip(able, new_ignores.why_no_comments(snapshot.tree, able), strict=True):
        what, where = ("setting", "for this file in the settings") if why else ("comment", "here")
        title = f"Ignore {finding.rule} {where}, with a reason"
        yield Offer(title, QUICK_FIX, _request(what, uri, finding), finding)
    for finding in reversed({finding.rule: finding for finding in reversed(findings)}.values()):
        yield Offer(f"Explain {finding.rule}", QUICK_FIX, Request("explain", uri, rule=finding.rule), finding)


def offers_for_all(snapshot: Snapshot, source: Source, uri: str) -> Iterator[Offer]:
    """Yield actions that fix all findings of a class."""
    due = [finding for finding in snapshot.result.findings if finding.severity >= Severity.WARNING]  # as `kcheck fix`
    safe = _of_class(due, "safe")
    here = [one for one in safe if _is_within(one, source.path)]
    costs = [one for one in _of_class(due, "costs") if _is_within(one, source.path)]
    every = counted(len(costs) + len(here), "problem")
    for found, title, kind, what in (
        (here, f"Fix {counted(len(here), 'safe problem')} in this file", FILE, "file"),
        (safe, f"Fix {counted(len(safe), 'safe problem')} in the workspace", WORKSPACE, "workspace"),
        (costs, f"Fix {every} in this file (costs: {_COSTS})", COSTS, "file-costs"),
    ):
        if found:
            yield Offer(title, kind, Request(what, uri, path=source.path))


def _of_class(findings: list[Finding], safety: str) -> list[Finding]:
    return [one for one in findings if one.fix is not None and one.fix.safety == safety]


def fix_title(finding: Finding) -> str:
    """Format a fix as an instruction, with its class and the consequences."""
    if finding.fix is None:
        return ""
    safety, instruction = finding.fix.safety, clipped(finding.fix.title, _LONGEST)
    meaning = {"safe": "", "costs": f": {_COSTS}"}.get(safety, f": {_replaced(finding)}")
    return visible(f"{instruction[:1].upper()}{instruction[1:]} ({safety}{meaning})")


def _replaced(finding: Finding) -> str:
    owners = [
        _address(change.owner)
        for change in finding.changes
        if change.origin.spans and change.origin.spans[-1].source.path.endswith((*TERRAFORM, *VARIABLES))
    ]
    names = ", ".join(dict.fromkeys(filter(None, owners)))
    return f"may replace {names}, or stop what runs there" if names else "pods that run today may not"


def _address(owner: str) -> str:
    """Return the resource's address from an object id, `cluster/address/part`."""
    address = owner.partition("/")[2]
    end = address.find("/", address.rfind("]") + 1)
    return address if end < 0 else address[:end]


def _request(what: str, uri: str, finding: Finding) -> Request:
    span = finding.span
    return Request(what, uri, finding.rule, finding.object, span.source.path, finding.about, line=span.begin.line)


def _is_in(source: Source, other: Source) -> bool:
    """Whether two sources are the same file with the same text, also across runs."""
    return source is other or (source.path == other.path and source.data == other.data)


def _is_written_at(change: Change, source: Source, start: int, end: int) -> bool:
    """Whether the range touches the change, or the first line of its block."""
    missing = change.origin.missing
    span = missing.container if missing is not None else change.origin.written
    return _is_in(source, span.source) and span.start <= end and start <= source.line_end(span.start)


def _is_within(finding: Finding, path: str) -> bool:
    return {finding.span.source.path, *(edit.source_of(change).path for change in finding.changes)} == {path}


# --- what an action changes


def work_out(snapshot: Snapshot, request: Request, tell: Tell) -> Plan:
    """Compute an action's edits and check them; `tell` receives progress."""
    state = _state(snapshot, tell)
    if request.what in _FOR_ALL:
        return _all_fixes(snapshot, request, state, tell)
    finding = _find(state.result.findings, request)
    if finding is None:
        return Plan(refusal=f"{request.rule} is not found here any more")
    if request.what == "fix":
        return _one_fix(snapshot, finding, state, tell)
    if request.what == "comment":
        return _comment(snapshot, finding, state, tell)
    return _setting(snapshot, finding, state, tell)


_FOR_ALL = {"file": ("safe",), "file-costs": ("safe", "costs"), "workspace": ("safe",)}
"""Bulk actions, with the classes they fix."""


def _state(snapshot: Snapshot, tell: Tell) -> fix.State:
    """Return the state of a snapshot; check again if findings are outdated."""
    tree, config = snapshot.tree, snapshot.config
    overlay = {real: data for real, data in tree.disk.overlay.items() if data is not None}
    if not snapshot.partial:
        return fix.State(overlay, tree, snapshot.result)
    tree = Tree(tree.given, overlay, config.exclude, config.boundary, tree.sources)
    return fix.State(overlay, tree, linter.run(tree, config, tell))


def _find(findings: Iterable[Finding], request: Request) -> Finding | None:
    wanted = (request.rule, request.path, request.about)
    named = (one for one in findings if (one.rule, one.span.source.path, one.about) == wanted)
    same = (one for one in named if request.object in one.objects)
    return min(same, key=lambda one: abs(one.span.begin.line - request.line), default=None)


def _all_fixes(snapshot: Snapshot, request: Request, state: fix.State, tell: Tell) -> Plan:
    only = None if request.what == "workspace" else partial(_is_within, path=request.path)
    safeties = _FOR_ALL[request.what]
    outcome = fix.fix(
        state.tree.given, snapshot.config, safeties=safeties, least=Severity.WARNING, start=state, tell=tell, only=only
    )
    return _plan(outcome, safeties[-1])


def _one_fix(snapshot: Snapshot, finding: Finding, state: fix.State, tell: Tell) -> Plan:
    """Plan the fix of one finding, with the fixes it needs if it fails alone."""
    if finding.fix is None:
        return Plan(refusal=f"{finding.rule} has no fix any more")
    safety = finding.fix.safety
    safeties = SAFETIES[: SAFETIES.index(safety) + 1]  # what the fix causes is fixed too, if that is no riskier

    def attempt(keys: set[tuple[str, str]]) -> fix.Fixes:
        return fix.fix(
            state.tree.given, snapshot.config, safeties=safeties, start=state, tell=tell,
            only=lambda one: bool(one.keys & keys),
        )  # fmt: skip

    outcome = attempt(finding.keys)
    if not outcome.files and not any(refused.bug for refused in outcome.refused):  # it may need others
        fixable = [one for one in state.result.findings if one.fix is not None]
        group = next((group for group in fix.fixed_together(fixable) if finding in group), [])
        outcome = attempt({key for one in group for key in one.keys}) if len(group) > 1 else outcome
    return _plan(outcome, safety)


def _plan(outcome: fix.Fixes, safety: str) -> Plan:
    reasons = dict.fromkeys(refused.reason.rstrip(".") for refused in outcome.refused)
    refusal = "" if outcome.files else visible("; ".join(reasons)) or "nothing is left to fix"
    fixed = visible("; ".join(one.fix.title for one in outcome.fixed if one.fix is not None))
    return Plan(tuple(outcome.files), refusal, safety, fixed)


def _comment(snapshot: Snapshot, finding: Finding, state: fix.State, tell: Tell) -> Plan:
    silenced = new_ignores.plan_comments(state.tree, snapshot.config, state.result, [finding], REASON, tell)
    if not silenced.findings:
        return Plan(refusal=visible("; ".join(why for _, why in silenced.left)) or "a comment there has another effect")
    return Plan(tuple(silenced.files))


def _setting(snapshot: Snapshot, finding: Finding, state: fix.State, tell: Tell) -> Plan:
    config, tree = snapshot.config, state.tree
    try:
        file, accepted = with_suppression(snapshot.folder, tree.disk, finding, REASON)
    except ConfigError as error:
        return Plan(refusal=str(error))
    silent = replace(config, accepted=(*config.accepted, accepted))
    after = linter.run(Tree(tree.given, state.overlay, config.exclude, config.boundary, tree.sources), silent, tell)
    if any(finding.identities & one.identities for one in after.findings):
        return Plan(refusal=f"an entry for {file.path} has no effect on it")
    return Plan((file,))


_KEY = "suppressions"


def with_suppression(folder: str, disk: Disk, finding: Finding, reason: str) -> tuple[File, Accepted]:
    """Return a folder's settings file with a suppression added, and the suppression.

    Raises ConfigError if the file cannot be read, or has its suppressions in a form that kcheck does not extend.
    """
    path = find_file((folder,), disk) or os.path.join(folder, NAME)
    real = system.real_path(path)
    data = disk.read(real)
    source = Source(display_path(path), data or b"")
    place = finding.span.source.path
    near = os.path.relpath(place, os.path.dirname(source.path) or ".").replace(os.sep, "/")
    entry = {"rule": finding.rule, "path": near, "reason": reason}
    new = _in_toml(source, entry) if path.endswith(".toml") else _in_yaml(source, entry)
    accepted = Accepted(finding.rule, place, reason, None, source.span(0, 0))
    return File(real, source.path, source.data, new, fresh=data is None), accepted


def _in_yaml(source: Source, entry: dict[str, str]) -> bytes:
    document = next(iter(yaml.documents(source)), None)
    root = document.root if document is not None else None
    if document is not None and document.problem is not None:
        raise ConfigError(f"{source.path}:{document.problem.span.begin.line}: {document.problem.message}")
    if isinstance(root, yaml.Mapping) and root.entries:
        old, item = root.own(_KEY), dict[str, "Data"](entry)
        edits = (
            edits_to_add_last(root, {_KEY: [item]})
            if old is None
            else edits_to_add(yaml.resolve(old.value).span, Insertion(items=[item]))
        )
        if edits is None:
            raise ConfigError(f"{source.path}:{root.span.begin.line}: kcheck cannot add to {_KEY}")
        return edit.apply_edits(source, edits)
    gap = source.newline if source.data and not source.data.endswith(b"\n") else ""
    first, *rest = (f"{name}: {yaml.literal(value, 'plain')}" for name, value in entry.items())
    lines = (f"{_KEY}:", f"  - {first}", *(f"    {line}" for line in rest), "")
    return source.data + (gap + source.newline.join(lines)).encode()


def _in_toml(source: Source, entry: dict[str, str]) -> bytes:
    line = toml_key_line(source, TABLE, _KEY, 0)
    if line is not None and not line.text.lstrip().startswith("[["):
        why = f"kcheck cannot add to `{_KEY} = [...]`; use [[{TABLE}.{_KEY}]]"
        raise ConfigError(f"{source.path}:{line.begin.line}: {why}")
    gap = source.newline * (1 if source.data.endswith(b"\n") else 2)
    lines = (f"[[{TABLE}.{_KEY}]]", *(f"{name} = {json.dumps(value)}" for name, value in entry.items()), "")
    return source.data + (gap + source.newline.join(lines)).encode()
