"""Merge findings with one cause into one finding."""

from bisect import bisect_right
from collections.abc import Callable, Hashable, Iterable, Iterator

from msgspec.structs import replace

from kcheck.config.numbers.clouds import CLOUDS
from kcheck.engine.rule import Rule
from kcheck.text.findings import SAFETIES, Finding, Fix, Related, Severity
from kcheck.text.regex import regex
from kcheck.text.syntax import scan
from kcheck.text.text import Span, grouped

_COPIES = 3
"""Number of equal files from which their findings are merged; two may be environments."""
_ALIKE = 8
"""Number of files of one name from which equal findings are merged: one template was adapted in each."""
_MANY = 3
"""Number of findings of one rule from which they are a habit."""
_MONEY = regex(r"\$(\d[\d,]*(?:\.\d+)?)")
_TITLES = 3
"""Most changes that the title of a fix lists."""


def merged(findings: Iterable[Finding], rules: Iterable[Rule]) -> list[Finding]:
    """Merge the findings with one cause; the merged finding names the other objects.

    One cause is: one value that several objects use; several entries of one list or map, such as the pools of a module
    or the containers of a pod; instances of one block; the images of one file; files that are copies of each other,
    or many of one name with the same finding.
    """
    of_images = {rule.name for rule in rules if rule.subject == "image"}
    ordered = sorted(findings, key=lambda finding: finding.key)
    groups = grouped(ordered, lambda finding: (finding.rule, finding.span)).values()
    # small objects count only where all at a place are small
    result = [_together([finding for finding in group if not finding.small] or group) for group in groups]
    result = _joined(result, _by_file, divide=_entries)
    images = _joined([one for one in result if one.rule in of_images], _by_file)
    result = [one for one in result if one.rule not in of_images] + images
    result = _joined(result, lambda one: (*_said(one), one.details, *one.span[1:], one.span.source.data), _COPIES)
    return _joined(
        result, lambda one: (*_said(one), one.span.source.path.rpartition("/")[2]), _ALIKE,
        lambda group: len({one.span.source.path for one in group}),
    )  # fmt: skip


def named(identity: str, own: str = "") -> str:
    """Return an object's name with its environment, root or file."""
    where, colon, address = identity.partition(":")
    root, _, environment = where.partition("@")
    head, _, rest = root.partition("/")
    if not colon:
        return rest if head in CLOUDS else identity
    told = f" ({environment})" if environment else f" in {rest if head in CLOUDS else root}"
    return address if where == own else f"{address}{told}"


def merge_repeated(findings: Iterable[Finding]) -> list[Finding]:
    """Merge repeated findings of a rule: warnings always, errors with the same remedy.

    Two warnings are enough if they have one message, or one remedy for manifests.
    """
    grave = grouped(findings, lambda one: one.severity >= Severity.ERROR)
    small = _joined(grave.get(False, []), lambda one: _said(one) if one.span.source.syntax == "hcl" else _remedy(one))
    every = [*small, *grave.get(True, [])]
    return _joined(
        every, lambda one: _remedy(one) if one.severity >= Severity.ERROR else (one.rule,), _MANY,
        lambda group: sum(len(one.parts) or 1 for one in group),
    )  # fmt: skip


def _remedy(finding: Finding) -> tuple[Hashable, ...]:
    return finding.rule, finding.help, finding.fix and finding.fix.title


def _by_file(finding: Finding) -> tuple[str, str]:
    return finding.rule, finding.span.source.path


def _said(finding: Finding) -> tuple[str, str]:
    return finding.rule, finding.message


def _joined(
    findings: list[Finding],
    key: Callable[[Finding], tuple[Hashable, ...]],
    least: int = 1,
    size: Callable[[list[Finding]], int] = len,
    divide: Callable[[list[Finding]], Iterable[list[Finding]]] = lambda group: [group],
) -> list[Finding]:
    """Merge findings with the same key, severity and safety, sorted.

    Groups below the `least` size are not merged.
    """
    groups = grouped(findings, lambda one: (key(one), one.severity, one.fix.safety if one.fix is not None else ""))
    result: list[Finding] = []
    for group in groups.values():
        for part in divide(group) if len(group) > 1 else [group]:
            result += [_together(part)] if size(part) >= least and _agree(part) else part
    return sorted(result, key=lambda finding: finding.key)


def _agree(group: list[Finding]) -> bool:
    """Whether all fixes of a group agree on the new values."""
    changes = [change for finding in group for change in finding.changes]
    wanted = {(change.place, change.name): change.value for change in changes}
    return all(wanted[change.place, change.name] == change.value for change in changes)


def _entries(group: list[Finding]) -> list[list[Finding]]:
    """Group findings of one rule and file by the list or map around them.

    Group the others by the block whose instances they are about.
    """
    lists = [[*_lists(one.span), *[name for name, index, _ in [one.object.partition("[")] if index]] for one in group]
    members: dict[Hashable, set[int]] = {}
    for i, own in enumerate(lists):
        for one in own:
            members.setdefault(one, set()).add(i)
    result: list[list[Finding]] = []
    taken: set[int] = set()
    for i, own in enumerate(lists):
        if i not in taken:
            left = (members[one] - taken for one in own)
            found = next((several for several in left if len(several) > 1), {i})
            taken |= found
            result.append([group[other] for other in sorted(found)])
    return result


def _lists(span: Span) -> Iterator[Hashable]:
    """Yield the lists and maps around a span, innermost first."""
    keys, source = span.keys, span.source
    document = bisect_right(scan.document_starts(source), span.start) if source.syntax == "yaml" else 0
    for at in range(len(keys) - 1, 0, -1):
        if at < len(keys) - 1 or keys[at].startswith("[") or source.data[span.start : span.start + 1] == b"{":
            yield document, keys[:at], keys[at + 1 :]


def _together(group: list[Finding]) -> Finding:
    """Return the worst finding, with the objects and changes of the others added."""
    if len(group) == 1:
        return group[0]
    parts = [part for finding in group for part in finding.parts or (finding,)]
    worst = max(parts, key=lambda part: (part.severity, _dearest(part)))
    others = {part.object: part.span for part in parts if part.object != worst.object}
    related = (*worst.related, *(Related(span, f"also {name}") for name, span in others.items()))
    fix = _combined_fix(worst, parts)
    help_text = worst.help or next((part.help for part in parts if fix is None and part.help), "")
    return replace(worst, related=related, also=tuple(others), fix=fix, help=help_text, parts=tuple(parts))


def _dearest(finding: Finding) -> float:
    """Return the largest amount of money in a finding's text; 0 without any."""
    found = _MONEY.findall(" ".join((finding.message, *finding.details)))
    return max((float(amount.replace(",", "")) for amount in found), default=0)


def _combined_fix(worst: Finding, group: list[Finding]) -> Fix | None:
    """Add the changes of the other findings to a fix; None if one of them has no fix."""
    fixes = [finding.fix for finding in group if finding.fix is not None]
    if worst.fix is None or len(fixes) < len(group):
        return None
    changes = {(change.place, change.name): change for fix in (*fixes, worst.fix) for change in fix.changes}
    titles = list(dict.fromkeys(fix.title for fix in (worst.fix, *fixes)))
    more = f"; and {len(titles) - _TITLES} more" if len(titles) > _TITLES else ""
    safety = max((fix.safety for fix in fixes), key=SAFETIES.index)
    return replace(worst.fix, safety=safety, changes=tuple(changes.values()), title="; ".join(titles[:_TITLES]) + more)
