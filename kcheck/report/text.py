"""Findings for a terminal, and the closing lines."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from msgspec.structs import replace

from kcheck.config.numbers import dates
from kcheck.engine.merging import merge_repeated, named
from kcheck.report.layout import Column, Line, Table, Text, line, plain
from kcheck.text.control_characters import escaped, visible
from kcheck.text.findings import SAFETIES, Finding, Related, Severity, Undecided
from kcheck.text.text import Skipped, Span, grouped
from kcheck.text.units import clipped, counted, some

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kcheck.config.config import Environment
    from kcheck.engine.judged import MissingInput, NotJudged
    from kcheck.engine.linter import Result
    from kcheck.report.formats import Report
    from kcheck.scale.usage.requests import Coverage

_STYLES = {Severity.ERROR: "bold red", Severity.WARNING: "bold yellow", Severity.INFO: "bold cyan"}
_MOST_INPUTS = 3
_MOST_OTHERS = 3
_MOST_LINES = 5
_WIDEST = 100
"""Characters of code where nobody looks."""
_MARGIN = 8
ALSO = "also "
"""Prefix of notes about other objects with the same place."""


def render(report: Report) -> str:
    """Render findings, closing lines, and the next step."""
    return plain(as_text(report))


def folded(report: Report) -> Report:
    """Return a report in which repeated findings are merged into one."""
    return report._replace(result=replace(report.result, findings=merge_repeated(report.result.findings)))


def as_text(report: Report, screen: int = 0) -> Iterator[Line]:
    """Yield the report's lines, for the columns of `screen`."""
    report, fixable = folded(report), report.findings
    width = screen - _MARGIN if screen else _WIDEST
    pages = _pages(report) if report.findings else {}
    parts = [finding_lines(finding, pages.get(finding.rule, ""), width) for finding in report.findings]
    if report.show_undecided and report.result.undecided:
        parts.append(map(Line, _undecided(report.result)))
    if not report.quiet:
        parts.append(map(Line, (*closing(report, fixable), *filter(None, (report.next_step,)))))
    for number, part in enumerate(parts):
        yield from (Line(),) if number else ()
        yield from part


def _pages(report: Report) -> dict[str, str]:
    from kcheck.report.places import by_name
    from kcheck.report.rule import url

    return {name: url(rule) for name, rule in by_name(report.result.world).items()}


def finding_lines(finding: Finding, address: str = "", width: int = _WIDEST, before: str = "") -> Iterator[Line]:
    """Yield the lines of a finding, from place to help.

    Its rule links to `address`, if given; `before` is a word before it.
    """
    severity, waste = finding.severity, " (waste)" if finding.waste else ""
    name = (finding.rule, f"bold link {address}" if address else "bold")
    head = ((before, "bold"), finding.span.exact_location, " ", (severity.word, _STYLES[severity]), f"{waste} ", name)
    yield line(*head, f": {finding.message}")
    marks = zip(excerpt(finding.span, width), ("", _STYLES[severity]), strict=False)
    yield from (Line(one, style, is_code=True) for one, style in marks)
    margin = " " * (2 + (1 if finding.span.source.private else len(str(finding.span.begin.line))))
    yield from (Line(f"{margin}= {one}", hang=2) for one in _notes(finding))


def _notes(finding: Finding) -> Iterator[str]:
    source = finding.span.source
    if source.private:  # a plan has no lines to look at
        yield finding.object.rpartition(f"{source.path}:")[2]
    yield from finding.details
    parts = [part for part in reversed(finding.parts) if part.message != finding.message]
    told = {one.message: f"{one.span.location}  " if one.span.source is not source else "" for one in parts}
    yield from (f"also: {told[one]}{one}" for one in list(told)[: -_MOST_OTHERS - 1 : -1])
    if len(told) > _MOST_OTHERS:
        yield f"also: {len(told) - _MOST_OTHERS:,} more"
    elif not told and (others := other_objects(finding)):
        yield f"also: {some(others, _MOST_OTHERS)}"
    yield from _places([related for related in finding.related if not related.note.startswith(ALSO)])
    yield from remedies(finding)


def remedies(finding: Finding) -> Iterator[str]:
    """Yield the fix of a finding, and instructions for manual changes."""
    if finding.fix is not None:
        yield f"fix ({finding.fix.safety}): {finding.fix.title}"
    yield from (f"help: {line}" for line in finding.help.splitlines())


def other_objects(finding: Finding) -> list[str]:
    """Name the other objects of a merged finding."""
    own = finding.object.partition(":")[0]
    return [named(one.note.removeprefix(ALSO), own) for one in finding.related if one.note.startswith(ALSO)]


def _places(places: list[Related]) -> Iterator[str]:
    """Yield other places with their code; of the same note only the first."""
    listed: Counter[tuple[str, bool]] = Counter()
    for related in places:
        kind = related.note, related.value is None or related.value.missing is None
        listed[kind] += 1
        if listed[kind] > _MOST_OTHERS:
            continue
        yield f"{related.span.location}  {related_text(related)}"
    left = sum(number - _MOST_OTHERS for number in listed.values() if number > _MOST_OTHERS)
    if left:
        yield f"and {counted(left, 'more place')}"


def related_text(related: Related) -> str:
    """Format the code of another place, with its note in brackets."""
    code, note = related_code(related)
    return f"{code} ({note})" if code and note else code or note


def related_code(related: Related) -> tuple[str, str]:
    """Return the code of another place, and its note unless the code says the same."""
    span, message = related.span, related.message
    code = attribute_text(span) if span.source.private else line_text(span)
    note = "" if _plain(message) in _plain(code) else message
    return clipped(code.rstrip("{[(=: ") if note else code, _WIDEST), note


def _plain(name: str) -> str:
    """Normalize a name, so that maxPods, max_pods and max-pods are equal."""
    return name.replace("_", "").replace("-", "").lower()


def excerpt(span: Span, width: int = _WIDEST) -> list[str]:
    """Return the source line with carets below the span; cut a long line around it."""
    if span.source.private:
        text = attribute_text(span)
        return [visible(f"   | {text}")] if text else []
    place = span.begin
    line = span.source.line(place.line)
    if not line.strip():
        return []
    end = span.finish
    last = end.column if end.line == place.line else len(line) + 1
    indent = len(line) - len(line.lstrip())
    cut = min(indent, place.column - 1)
    before, marked, after = (
        _spaced(part) for part in (line[cut : place.column - 1], line[place.column - 1 : last - 1], line[last - 1 :])
    )
    text, start = f"{before}{marked}{after}", len(before)
    if len(text) > width and start > width // 2:
        cut = start - width // 4
        text, start = f"...{text[cut:]}", start - cut + 3
    carets = max(1, min(len(marked), len(text) - start, width - start))
    number = str(place.line)
    pad = " " * len(number)
    return [visible(f" {number} | {clipped(text, width)}"), f" {pad} | {' ' * start}{'^' * carets}"]


def attribute_text(span: Span) -> str:
    """Return an attribute's text in a plan; empty if it holds many values."""
    text = span.text
    return "" if "\\n" in text or "\n" in text or text[:1] in "{[" else clipped(text, _WIDEST)


def _spaced(text: str) -> str:
    return escaped(text.replace("\t", " "))


def line_text(span: Span) -> str:
    """Return the line where a span begins, without indent and alignment."""
    return " ".join(_spaced(span.source.line(span.begin.line)).split())


def _undecided(result: Result) -> Iterator[str]:
    yield "undecided:"
    for check in sorted_checks(result):
        yield f"  {check.span.location} {check.rule}: {'; '.join(check.missing) or 'a value is unknown'}"


def sorted_checks(result: Result) -> list[Undecided]:
    """Sort undecided checks by path, place and rule."""
    return sorted(result.undecided, key=lambda check: (check.span.source.path, check.span.start, check.rule))


def closing(report: Report, fixable: list[Finding] | None = None) -> Iterator[str]:
    """Yield the number of findings and fixes, and what was checked or not."""
    result, least = report.result, report.least
    counts = {severity: sum(f.severity == severity for f in result.findings) for severity in Severity}
    words = [counted(counts[s], s.word) for s in reversed(Severity) if counts[s] and s >= least]
    hidden = [counted(counts[s], s.word) for s in reversed(Severity) if counts[s] and s < least]
    nothing = "no errors found" if least is Severity.ERROR else "nothing found"
    text = ", ".join(words) or (f"{nothing} in what was checked" if result.judged.is_partial else nothing)
    if hidden:
        text += f"; {', '.join(hidden)} hidden ({'--min-severity' if least is Severity.ERROR else '--info'})"
    if result.suppressed:
        text += f"; {result.suppressed:,} suppressed"
    if result.known:
        text += f"; {result.known:,} already known"
    fixes = Counter(finding.fix.safety for finding in fixable or report.findings if finding.fix is not None)
    kinds = [f"{fixes[safety]:,} {safety}" for safety in SAFETIES if fixes[safety]]
    if kinds:
        text += f"; fixable: {', '.join(kinds)}"
    yield text + "."
    yield from judged_lines(result)
    if report.findings:
        from kcheck.report.limit import age_lines  # knows all numbers and what expressions mean: takes 20 ms

        yield from age_lines(result.world, report.findings, has_walls=False)
    else:
        yield from dates.old(())


def judged_lines(result: Result, *, listed: bool = True) -> Iterator[str]:
    """Yield what was checked and what was not; `listed` adds names."""
    judged = result.judged
    sizes = ((judged.clusters, "cluster"), (judged.pools, "pool"), (judged.workloads, "workload"))
    if any(number for number, _ in sizes):
        yield f"{', '.join(counted(number, word) for number, word in sizes if number)} checked."
    yield from _environments(judged.environments)
    yield from _not_judged(judged.not_judged)
    if judged.usage is not None:
        yield from _usage(judged.usage)
    if listed:
        yield from _gaps(result)


def _environments(found: list[Environment]) -> Iterator[str]:
    for root, own in grouped(found, lambda one: one.root).items():
        files = [one.var_files[-1] if one.var_files else "its own files" for one in own]
        of = "" if root == "." else f" of {root}"
        yield f"environments{of}: {some(files, _MOST_OTHERS)}; --var-file FILE chooses one"


def _usage(found: Coverage) -> Iterator[str]:
    """Yield how many workloads were measured, and which measurements are missing."""
    others = {"too briefly": found.briefly, "without a known name": found.unnamed, "never seen running": found.unseen}
    words = [f"{found.measured:,} of {counted(found.measured + sum(others.values()), 'workload')} measured"]
    words += [f"{number:,} {what}" for what, number in others.items() if number]
    more = f"; `kcheck usage --from {found.recording}` lists them" if len(words) > 1 else ""
    yield f"{', '.join(words)}{more}."
    for lack in found.lacks:
        yield f"not measured: {lack.what}: {lack.why}"


def _gaps(result: Result) -> Iterator[str]:
    judged = result.judged
    alike = list(grouped(judged.skipped, lambda one: (one.what == "not read" and one.remedy) or one).values())
    for first, *others in alike[:_MOST_LINES]:
        yield f"{first.what}: {skipped_text(first, len(others))}"
    if alike[_MOST_LINES:]:
        yield f"not read: {sum(map(len, alike[_MOST_LINES:])):,} more; `kcheck show --undecided` lists them"
    if result.undecided:
        named = {one.input.reason for one in judged.not_judged}
        rest = [missing for missing in judged.inputs if missing.reason not in named]
        more, end = ("more ", " in all:") if named and rest else ("", ":" if rest else ".")
        inputs = counted(len(rest or judged.inputs), f"{more}input")
        yield f"{inputs} unknown, {counted(len(result.undecided), 'check')} undecided{end}"
        for missing in rest[:_MOST_INPUTS]:
            yield f"  {input_text(missing)}"
        if len(rest) > _MOST_INPUTS:
            yield f"  {len(rest) - _MOST_INPUTS:,} more; `kcheck show --undecided` lists them"


def _not_judged(clusters: list[NotJudged]) -> Iterator[str]:
    """Yield one line per group of clusters that need the same input."""
    groups = grouped(clusters, lambda one: one.input.name or one.input.reason.replace(one.cluster.address, ""))
    for group in groups.values():
        first, places = group[0], list(dict.fromkeys(one.cluster.place.location for one in group))
        own = f"{first.cluster.address} "
        reason = first.input.reason.replace(own, "each ") if len(group) > 1 else first.input.reason
        need = f" {'needs' if len(group) == 1 else 'need'} {first.input.name}" if first.input.name else f": {reason}"
        checks = f" ({counted(first.input.checks, 'check')} undecided)" if first.input.checks else ""
        remedy = f"; {first.input.remedy}" if first.input.remedy else ""
        yield f"{counted(len(group), 'cluster')} checked in part: {some(places, _MOST_OTHERS)}{need}{checks}{remedy}"


def sentence(text: str) -> str:
    """End a text with a full stop, unless it has other end punctuation."""
    return text if text.endswith((".", "!", "?", ":")) else f"{text}."


def input_text(missing: MissingInput) -> str:
    """Describe an unknown input: reason, checks that need it, place, and remedy."""
    place = f", {missing.place.location}" if missing.place is not None else ""
    remedy = f"; {missing.remedy}" if missing.remedy else ""
    return f"{clipped(missing.reason, 4 * _WIDEST)} ({counted(missing.checks, 'check')}{place}){remedy}"


def skipped_text(skipped: Skipped, more: int = 0) -> str:
    """Describe a skipped file, and `more` like it: path, reason, and remedy."""
    line = f":{skipped.line}" if skipped.line else ""
    like = f", and {more:,} more like it" if more else ""
    remedy = f"; {skipped.remedy}" if skipped.remedy else ""
    return f"{skipped.path}{line}: {skipped.reason}{like}{remedy}"


def statistics(report: Report) -> Text:
    """Count findings per rule, the most frequent first, with worst severity and fixes."""
    by_rule = grouped(report.findings, lambda finding: finding.rule)
    rows = [_counts(name, by_rule[name]) for name in sorted(by_rule, key=lambda name: (-len(by_rule[name]), name))]
    ends = () if report.quiet else (*([Line()] if rows else []), *map(Line, closing(report)))
    return (Table((Column(is_number=True, width=7), Column(), Column(width=7), Column()), rows), *ends)


def _counts(name: str, findings: list[Finding]) -> tuple[str, ...]:
    worst = max(finding.severity for finding in findings).word
    fixable = [finding.fix.safety for finding in findings if finding.fix is not None]
    fixes = f"{len(fixable):,} fixable ({', '.join(dict.fromkeys(fixable))})" if fixable else ""
    return f"{len(findings):,}", name, worst, fixes


def concise(report: Report) -> Text:
    """Render each finding on a line, then the closing lines."""
    report, fixable = folded(report), report.findings
    end = () if report.quiet else map(Line, closing(report, fixable))
    return (*map(_concise_line, report.findings), *end)


def _concise_line(finding: Finding) -> Line:
    end = f" (and {len(finding.parts) - 1:,} more)" if finding.parts else ""
    end += f" [{finding.fix.safety} fix]" if finding.fix else ""
    severity = finding.severity
    parts = ": ", (severity.word, _STYLES[severity]), " ", (finding.rule, "bold"), f": {finding.message}{end}"
    return replace(line(finding.span.exact_location, *parts), is_code=True)
