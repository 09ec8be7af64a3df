"""Which fixes may be made: all who share a value want it, its file is ours to change, and the place takes it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from kcheck.source.units import data_text
from kcheck.syntax import edit
from kcheck.words import raw_views

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kcheck.files.tree import Tree
    from kcheck.scale.world import World
    from kcheck.source.findings import Change, Finding
    from kcheck.source.text import Span
    from kcheck.source.values import Missing
    from kcheck.terraform.module import Module


def withhold_fixes(findings: list[Finding], world: World, tree: Tree, roots: Iterable[Module] = ()) -> list[Finding]:
    """The findings; what cannot be fixed without somebody's decision says so instead.

    `roots` are the root modules that were read, whose variables may refuse a value.
    """
    sharing = _Sharing(findings, world)
    result = []
    for finding in findings:
        reason = (_reason(finding, sharing, tree) or _refused(finding, world, roots)) if finding.fix else ""
        result.append(replace(finding, fix=None, help=reason) if reason else finding)
    return result


def _reason(finding: Finding, sharing: _Sharing, tree: Tree) -> str:
    """Why a finding's fix may not be made; empty if it may."""
    changes = finding.changes
    for change in changes:
        reason = tree.why_protected(edit.source_of(change))
        if reason:
            return f"{change.key} is written in {reason}; {change.instruction} there"
    shared = next(filter(None, (sharing.reason(finding, change) for change in changes)), "")
    if shared:
        return shared
    try:
        edit.edits(changes)
    except edit.EditError as error:
        return f"{error}; {changes[0].instruction}"
    return ""


def _refused(finding: Finding, world: World, roots: Iterable[Module]) -> str:
    """Why a variable would not take a new value, so that Terraform would refuse to plan; empty if it would."""
    if not roots:
        return ""
    from kcheck.terraform.validations import Validations

    validations = world.remember("validations", "", lambda: Validations(roots))
    changes = {change.place: change for change in finding.changes if not change.append}
    found = validations.refusing({place: change.value for place, change in changes.items()})
    if found is None:
        return ""
    variable, change = found[0], changes[found[1]]
    value = f'"{change.value}"' if isinstance(change.value, str) else data_text(change.value)
    return f"validation of {variable} refuses {value}; {change.instruction}"


class _Sharing:
    """Who else uses a value, and whether the same rule has found them too."""

    def __init__(self, findings: Iterable[Finding], world: World) -> None:
        self.world = world
        self.uses: dict[tuple[str, str], dict[Span | Missing, list[str]]] = {}
        self.wanting = {(f.rule, change.owner): f for f in findings for change in f.changes}
        self.owners: dict[tuple[str, Span | Missing], set[str]] = {}
        for finding in findings:
            for change in finding.changes:
                self.owners.setdefault((finding.rule, change.place), set()).add(change.owner)

    def reason(self, finding: Finding, change: Change) -> str:
        """Why a shared value may not be changed; empty if it is not shared, or all want it."""
        key = (change.subject, change.name)
        if key not in self.uses:
            self.uses[key] = {}
            for place, user in raw_views.users(*key, self.world):
                self.uses[key].setdefault(place, []).append(user)
        others = {user: self.wanting.get((finding.rule, user)) for user in self.uses[key].get(change.place, ())}
        content = [user for user, own in others.items() if own is None or (own.small and not finding.small)]
        if content:
            sets = f"{change.key} would also be set for" if change.origin.missing else f"{_called(change)} also sets"
            own = f"use a value of its own for this {change.subject.replace('_', ' ')}"
            return f"Not fixed: {sets} {content[0]}, which is fine with it\n{own}"
        missing = change.origin.missing
        span = missing.container if missing else change.origin.written
        if edit.is_anchored(span):
            from kcheck.syntax.anchors import uses

            name, count = uses(span, missing.path[0] if missing else "")
            wanting = len(self.owners[finding.rule, change.place])
            if count > wanting:
                use = f"Not fixed: `&{name}` is used {count} times, and {wanting} of them should change"
                return f"{use}\nuse a value of its own for this {change.subject.replace('_', ' ')}"
        return ""


def _called(change: Change) -> str:
    """What the code calls a value: the variable that gives it, else its attribute or key."""
    kind, _, name = (change.origin.path or ("",))[0].partition(" ")
    return f"var.{name.strip(chr(34))}" if kind == "variable" else change.key
