"""Withhold fixes that would change a shared value or a protected file."""

import os
import re
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import chain
from operator import attrgetter

from msgspec import Struct
from msgspec.structs import replace

from kcheck.engine import merging
from kcheck.engine.words import raw_views
from kcheck.inventory.reading import Reading
from kcheck.scale.world import World
from kcheck.scale.world.memory import once
from kcheck.terraform.module import Module
from kcheck.terraform.variables import Validations
from kcheck.text import deadline
from kcheck.text.files.tree import Tree, display_path
from kcheck.text.findings import Change, Finding
from kcheck.text.ip_ranges import parse_cidr
from kcheck.text.regex import regex
from kcheck.text.syntax import edit
from kcheck.text.syntax.insertion import words_of
from kcheck.text.syntax.key_paths import uses
from kcheck.text.text import Span, grouped
from kcheck.text.units import data_text
from kcheck.text.values import Missing, Origin, Overlaid


def withhold_fixes(findings: list[Finding], world: World, tree: Tree, reading: Reading) -> list[Finding]:
    """Replace each forbidden fix by the reason."""
    judge = _Judge(findings, world, tree, reading)
    result = []
    for one in findings:
        deadline.check_cancelled()
        finding = judge.overlaid(one) if one.fix else one
        reason = judge.reason(finding) if finding.fix else ""
        result.append(replace(finding, fix=None, help=reason) if reason else finding)
    return result


def _in_one_block(one: Span, other: Span) -> bool:
    """Whether two spans of an HCL file are in the same top-level block."""
    first, last = sorted((one.start, other.start))
    return one.source.data.find(b"\n}", first, last) < 0


class _Use(Struct, frozen=True):
    """A field of an object that a value sets."""

    owner: str
    name: str


class _Judge:
    """Judges changes: other users of a value, and whether they need it too."""

    def __init__(self, findings: Iterable[Finding], world: World, tree: Tree, reading: Reading) -> None:
        self.world = world
        self.roots = tuple(reading.roots)
        self.overlays = {display_path(os.path.dirname(path) or ".") for path in tree.kustomizations}
        self.wanting: dict[tuple[str, _Use], tuple[Finding, Change]] = {}
        self.owners: dict[tuple[str, Span | Missing], set[str]] = {}
        for finding in findings:
            for change in finding.changes:
                self.wanting[finding.rule, _Use(change.owner, change.name)] = finding, change
                self.owners.setdefault((finding.rule, change.place), set()).add(change.owner)
        self.content: dict[tuple[object, ...], str] = {}
        self.why_protected = cache(tree.why_protected)
        broken = (problem.span for problem in reading.problems if problem.span.source.syntax == "hcl")
        self.broken = grouped(broken, attrgetter("source"))

    def overlaid(self, finding: Finding) -> Finding:
        """Move changes to an overlay if the base may not be changed for all its users."""
        changes = list(finding.changes)
        for i, change in enumerate(changes):
            own = change.origin.own if isinstance(change.origin, Overlaid) else None
            if own is not None and (self._protected(change) or self._shared(finding, change)):
                moved = replace(change, origin=Origin((own.container,), missing=own))
                if not (self._protected(moved) or self._shared(finding, moved)):
                    changes[i] = moved
        if finding.fix is None or tuple(changes) == finding.changes:
            return finding
        title = ", ".join(dict.fromkeys(change.instruction for change in changes))
        return replace(finding, fix=replace(finding.fix, changes=tuple(changes), title=title))

    def reason(self, finding: Finding) -> str:
        """Return why a fix may not be made; empty if it may."""
        changes = finding.changes
        shared = (self._shared(finding, change) for change in changes)
        reasons = chain(map(self._protected, changes), shared, map(_commented, changes), _overlapping(changes))
        if reason := next(filter(None, reasons), ""):
            return reason
        try:
            edit.edits(changes)
        except edit.EditError as error:
            return f"{error}; {changes[0].instruction}"
        return self._refused(changes)

    def _protected(self, change: Change) -> str:
        """Return why a change's file is protected; empty if it is not."""
        source, written = edit.source_of(change), change.origin.written
        if source.bundled:  # kcheck's own outline of a module
            return f"{change.instruction} in the module call, if the module has an input for it"
        if reason := self.why_protected(source):
            return f"{change.key} is written in {reason}; {change.instruction} there"
        broken = next((place for place in self.broken.get(source, ()) if _in_one_block(place, written)), None)
        return f"{broken.location} cannot be read; fix that first" if broken else ""

    def _refused(self, changes: Iterable[Change]) -> str:
        """Return the variable validation that refuses a new value; empty if none does."""
        if not self.roots:
            return ""
        by_place = {change.place: change for change in changes if not change.append}
        new = {place: change.value for place, change in by_place.items()}
        found = _validations(self.world, self.roots).refusing(new)
        if found is None:
            return ""
        variable, change = found[0], by_place[found[1]]
        value = f'"{change.value}"' if isinstance(change.value, str) else data_text(change.value)
        return f"validation of {variable} refuses {value}; change it or upgrade the module, then {change.instruction}"

    def _shared(self, finding: Finding, change: Change) -> str:
        """Return why a shared value may not be changed; empty if it may."""
        case = (finding.rule, change.subject, change.name, change.place, data_text(change.value), finding.small)
        if case not in self.content:
            users = _users(change.subject, change.name, self.world).get(change.place, ())
            self.content[case] = self._content(finding, change, users)
        missing = change.origin.missing
        if content := self.content[case]:
            sets = f"{change.key} would also be set for" if missing else f"{_called(change)} also sets"
            return f"Not fixed: {sets} {content}\n{self._elsewhere(change)}"
        span = missing.container if missing else change.origin.written
        if edit.is_anchored(span):
            name, count = uses(span, missing.path[0] if missing else "")
            wanting = len(self.owners[finding.rule, change.place])
            if count > wanting:
                use = f"Not fixed: `&{name}` is used {count} times, and {wanting} of them should change"
                return f"{use}\n{self._elsewhere(change)}"
        return ""

    def _content(self, finding: Finding, change: Change, users: Iterable[_Use]) -> str:
        """Name the first user that does not need the new value; empty if none."""
        for user in users:
            own = self.wanting.get((finding.rule, user))
            name = merging.named(user.owner, change.owner.partition(":")[0])
            called = name if user.name == change.name else f"{user.name.replace('_', ' ')} of {name}"
            if own is None or (own[0].small and not finding.small):
                return f"{called}, which is fine with it"
            if own[1].place == change.place and own[1].value != change.value and not change.append:
                return f"{called}, which should be {data_text(own[1].value)}"
        return ""

    def _elsewhere(self, change: Change) -> str:
        """Return where to write the value in the object's own overlay, if it has one."""
        scope = change.owner.partition(":")[0]
        if scope in self.overlays:
            return f"set {change.key}: {data_text(change.value)} in a patch of {scope}"
        return f"use a value of its own for this {change.subject.replace('_', ' ')}"


_REASON = regex(r"[ \t](?:#|//)[ \t]*(([^\s:]+)(?:(?:[ \t]+\S+){2,}|[ \t]+workaround)|(?i:keep|leave|always) +\S.*)")
"""A comment behind a value: three words or more, a workaround, or to keep it; no mark of a tool such as `renovate:`."""
_DESCRIPTION = regex(r"(?i)the\b|how\b|num|max|min|size")
"""Beginning of a comment that says what a value is, not why it is so."""
_STUB = regex(r"resource\s[^{]*\{\s*(?:(?:#|//).*\n\s*)*(?:lifecycle\s*\{[^}]*\}\s*)?\}$")
"""A resource with nothing but a lifecycle."""
_END = regex(r"(?i)\b(?:to be (?:deleted|removed|retired|decommissioned)|deprecated|obsolete)\b")
"""A word by which a comment above a value or its block says that it goes."""
_WHY = regex(
    r"(?i)\b(?:because|since|so that|due to|must|should|needs?|never|only|don'?t|do not|avoid|otherwise|enough|"
    r"on purpose|intentional(?:ly)?|deliberate(?:ly)?|limited to|simplif(?:y|ies)|simplicity|workaround|constraint|"
    r"no \w+ by default)\b"
)
"""A word by which a comment above a value says why it is so, or may not be another."""


def _above(span: Span, key: str) -> str:
    """Return a comment that explains a value, or says that its block goes."""
    key, near, inside = " ".join(words_of(key)[-2:]), True, True
    for number in range(span.begin.line - 1, 0, -1):
        line = span.source.line(number).strip()
        said = line.lstrip("#/ \t")
        if said == line:  # no comment
            if not line or not inside:
                break
            near, inside = False, not line.endswith(("{", "[", ":"))
        elif (near == inside and _END.search(said)) or (inside and (near or key in said.lower()) and _WHY.search(said)):
            return said
    return ""


def _commented(change: Change) -> str:
    """Explain why a deliberate value is not fixed; empty if it is not."""
    missing, why = change.origin.missing, ""
    if missing is not None:
        off = rf"(?m)^[ \t]*(?:#|//)[ \t]*(?:- )?[\"']?{re.escape(missing.path[-1])}[\"']?[ \t]*[:={{]"
        why = f"the author has commented {change.key} out here" if re.search(off, missing.container.text) else ""
        like = rf"(?m)^[ \t]*(\w+_{re.escape(words_of(change.key)[-1])})[ \t]*=[ \t]*var\."
        why = why or (f"a variable gives {near[1]} here" if (near := re.search(like, missing.container.text)) else "")
        why = why or ("the resource has no settings in the code" if _STUB.match(missing.container.text) else "")
    for place in () if missing else change.origin.spans:
        if found := _REASON.search(place.source.span(place.end, place.source.line_end(place.end)).text):
            names_it = change.key in found[1] or (found[2] and found[2][:3].lower() in change.key.lower())
            said = "" if names_it or _DESCRIPTION.match(found[1]) else found[1].strip()
        else:
            said = _above(place, change.key)
        why = why or (f"a comment gives the reason for the value: {said}" if said else "")
    if not (why or missing) and (described := edit.described_default(change)) and described[1]:
        why = f"its description gives the reason for the default: {described[1]}"
    return f"Not fixed: {why}\n{change.instruction} if that no longer holds" if why else ""


def _overlapping(changes: Iterable[Change]) -> Iterator[str]:
    """Yield why new ranges are not written: they overlap others in the same block."""
    replaced = {change.origin.written.text.strip('"'): change for change in changes}
    for old, change in replaced.items():
        own, new, span = parse_cidr(old), parse_cidr(str(change.value)), change.origin.written
        if own is not None and new is not None:
            data, end = span.source.data, span.source.data.find(b"\n}", span.end)
            block = data[data.rfind(b"\n}", 0, span.start) + 1 : end].decode(errors="replace")
            for one in re.findall(r'"([\d.]+/\d+)"', block):
                beside = None if one in replaced else parse_cidr(one)
                if beside is not None and beside.overlaps(new) and not own.subnet_of(beside):
                    yield f"choose a free range: {change.value} overlaps {one}, which is written beside {old}"


_ALIKE = {("container", f"{name}_{side}"): (f"{name}_request", f"{name}_limit")
          for name in ("cpu", "memory") for side in ("request", "limit")}  # fmt: skip
"""Fields that one value often sets together."""


def _called(change: Change) -> str:
    """Return the code's name of a value: its variable, else its attribute or key."""
    kind, _, name = (change.origin.path or ("",))[0].partition(" ")
    return f"var.{name.strip(chr(34))}" if kind == "variable" else change.key


@once
def _validations(_world: World, roots: tuple[Module, ...]) -> Validations:
    return Validations(roots)


@once
def _users(subject: str, name: str, world: World) -> dict[Span | Missing, list[_Use]]:
    """Map the spans that set a field to the objects and fields that they set."""
    result: dict[Span | Missing, list[_Use]] = {}
    for alike in _ALIKE.get((subject, name), (name,)):
        for place, owner in raw_views.users(subject, alike, world):
            result.setdefault(place, []).append(_Use(owner, alike))
    return result
