"""Findings in the formats of code forges and CI systems."""

from collections.abc import Iterator
from xml.etree import ElementTree

from kcheck.engine.rule import Rule
from kcheck.report import escape, layout, text
from kcheck.report.cluster_summary import change_lines
from kcheck.report.formats import Report
from kcheck.report.page import REPOSITORY
from kcheck.report.places import by_name, edits_of, fingerprints, in_repository
from kcheck.report.rule import url
from kcheck.report.text import closing
from kcheck.text.control_characters import visible
from kcheck.text.findings import Finding, Severity
from kcheck.text.text import Span, apply

# --- Markdown, for comments on pull requests and summaries of jobs

_COMMENT = 60_000
"""Fits a GitHub comment of at most 65,536 characters."""


def markdown(report: Report) -> str:
    """Render the report as a comment within GitHub's limit."""
    return table(report, _COMMENT)


def table(report: Report, most: int) -> str:
    """Render a table of findings, the worst first, in at most `most` bytes."""
    every = by_name(report.result.world)
    ordered = sorted(report.findings, key=lambda finding: (-finding.severity, finding.key))
    told = change_lines(report.before, report.result) if report.before is not None else ()
    changes = [f"- {escape.markdown(one)}" for one in told]
    lines = [
        "### kcheck",
        "",
        *changes,
        *([""] if changes else []),
        *(escape.markdown(one.strip()) for one in closing(report)),
    ]
    room = most - sum(map(_size, lines)) - 200
    if ordered:
        lines += ["", "| | where | what | how to fix it |", "|---|---|---|---|"]
    for left, finding in zip(range(len(ordered), 0, -1), ordered, strict=True):
        row = _row(finding, every[finding.rule])
        room -= _size(row)
        if room < 0:
            lines += ["", f"and {left:,} more, in the log."]
            break
        lines.append(row)
    return "\n".join(lines) + "\n"


def _row(finding: Finding, rule: Rule) -> str:
    page = url(rule)
    name = escape.markdown_link(finding.rule, page) if page else escape.markdown_code(finding.rule)
    mark = f"{finding.severity.word}{' (waste)' if finding.waste else ''}"
    fix = f"fix ({finding.fix.safety}): {finding.fix.title}" if finding.fix else ""
    mend = "; ".join(filter(None, (fix, *finding.help.splitlines())))
    place = f"{in_repository(finding.span.source.path)}:{finding.span.begin.line}"
    what = "<br>".join(map(escape.markdown, (finding.message, *finding.details)))
    return escape.markdown_row((mark, escape.markdown_code(place), f"{name}: {what}", escape.markdown(mend)))


def _size(line: str) -> int:
    return len(line.encode("utf-8", "replace")) + 1


# --- GitHub: the log of a step, with annotations, of which ten of a kind are shown; the job's summary has all findings
#
# https://docs.github.com/en/actions/reference/limits
# https://docs.github.com/en/actions/reference/workflow-commands-for-github-actions

MOST = 10
"""Annotations shown per step."""
_SUMMARY = 1_000_000
"""Bytes of a step's summary; GitHub allows 1 MiB."""
_COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}


def github(report: Report) -> str:
    """Render the report as text, followed by the worst findings as annotations."""
    worst = sorted(report.findings, key=lambda finding: (-finding.severity, finding.key))
    lines = [_annotation(finding) for finding in worst[:MOST]]
    if len(worst) > MOST:
        lines.append(f"{MOST} of {len(worst):,} findings are annotated; the summary of the job has all.")
    return text.render(report) + "".join(f"{line}\n" for line in lines)


def summary(report: Report) -> str:
    """Render the job summary."""
    return table(report, _SUMMARY)


def _annotation(finding: Finding) -> str:
    begin, end = finding.span.begin, finding.span.finish
    properties = {
        "file": in_repository(finding.span.source.path), "line": str(begin.line), "endLine": str(end.line),
        "col": str(begin.column), "endColumn": str(end.column), "title": f"kcheck: {finding.rule}",
    }  # fmt: skip
    if end.line != begin.line:  # columns are of one line only
        del properties["col"], properties["endColumn"]
    lines = [finding.message, *finding.details, *text.remedies(finding)]
    return escape.workflow_command(_COMMANDS[finding.severity], properties, lines)


# --- GitLab: https://docs.gitlab.com/ci/testing/code_quality/#code-quality-report-format

_GITLAB = {Severity.ERROR: "critical", Severity.WARNING: "minor", Severity.INFO: "info"}


def gitlab(report: Report) -> str:
    """Render a list of findings for GitLab, also an empty one."""
    data = [
        {
            "type": "issue",
            "check_name": finding.rule,
            "description": f"{finding.rule}: {finding.message}",
            **({"content": {"body": "\n".join(f"- {line}" for line in finding.details)}} if finding.details else {}),
            "severity": _GITLAB[finding.severity],
            "fingerprint": fingerprint,
            "location": {
                "path": in_repository(finding.span.source.path),
                "lines": {"begin": finding.span.begin.line, "end": finding.span.finish.line},
            },
        }
        for finding, fingerprint in fingerprints(report.findings)
    ]
    return escape.json_text(data, indent=1)


# --- reviewdog: https://github.com/reviewdog/reviewdog/blob/master/proto/rdf/reviewdog.proto


def rdjson(report: Report) -> str:
    """Render diagnostics for reviewdog, with safe fixes as suggestions."""
    every = by_name(report.result.world)
    diagnostics = [
        {
            "message": "\n".join((finding.message, *(f"- {line}" for line in finding.details))),
            "location": {"path": in_repository(finding.span.source.path), "range": _range(finding.span)},
            "severity": finding.severity.name,
            "code": {"value": finding.rule, "url": url(every[finding.rule])},
            "suggestions": _suggestions(finding),
        }
        for finding in report.findings
    ]
    source = {"name": "kcheck", "url": REPOSITORY}
    return escape.json_text({"source": source, "diagnostics": diagnostics}, indent=1)


def _suggestions(finding: Finding) -> list[dict[str, object]]:
    """Return a safe fix as one suggestion; empty if it also changes another file."""
    if finding.fix is None or finding.fix.safety != "safe":
        return []
    edits, source = edits_of(finding), finding.span.source
    if not edits or any(one.span.source is not source for one in edits):
        return []
    whole = source.span(min(one.span.start for one in edits), max(one.span.end for one in edits))
    new = apply(source.data, edits)[whole.start : whole.end - len(source.data) or None]
    return [{"range": _range(whole), "text": new.decode()}]


def _range(span: Span) -> dict[str, dict[str, int]]:
    return {"start": _position(span, span.start), "end": _position(span, span.end)}


def _position(span: Span, offset: int) -> dict[str, int]:
    """Return line and column, both from 1; the column in bytes."""
    line = span.source.line_number(offset)
    return {"line": line, "column": offset - span.source.line_starts[line - 1] + 1}


# --- JUnit, as read by Jenkins, GitLab, Azure Pipelines and others


def junit(report: Report) -> str:
    """Render JUnit XML: a case per finding, bug, and unchecked object.

    Findings of severity info do not fail; without any findings one case passes.
    """
    failed = [finding for finding in report.findings if finding.severity > Severity.INFO]
    infos = [finding for finding in report.findings if finding.severity == Severity.INFO]
    bugs, skipped = report.result.bugs, list(_skipped(report))
    count = len(failed) + len(infos) + len(skipped) + len(bugs)
    passed = not (failed or infos or bugs)
    numbers = {"tests": str(count + passed), "failures": str(len(failed)), "errors": str(len(bugs))}
    top = ElementTree.Element("testsuites", {"name": "kcheck", **numbers})
    suite = ElementTree.SubElement(top, "testsuite", {"name": "kcheck", **numbers, "skipped": str(len(skipped))})
    for finding in (*failed, *infos):
        case = _case(suite, finding.span.source.path, f"{finding.rule} {finding.object}")
        lines = layout.plain(text.finding_lines(finding))
        if finding.severity == Severity.INFO:
            ElementTree.SubElement(case, "system-out").text = lines
        else:
            given = {"type": finding.severity.word, "message": visible(finding.message)}
            ElementTree.SubElement(case, "failure", given).text = lines
    for path, name, why in skipped:
        ElementTree.SubElement(_case(suite, path, name), "skipped", {"message": visible(why)})
    for bug in bugs:
        case = _case(suite, "kcheck", f"{bug.rule} {bug.object}")
        ElementTree.SubElement(case, "error", {"type": "bug in kcheck", "message": visible(bug.message)})
    if passed:
        _case(suite, "kcheck", "nothing found")
    ElementTree.indent(top)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ElementTree.tostring(top, encoding="unicode") + "\n"


def _skipped(report: Report) -> Iterator[tuple[str, str, str]]:
    result = report.result
    for one in result.judged.not_judged:
        yield one.cluster.place.source.path, f"cluster {one.cluster.id}", f"partial check: {text.input_text(one.input)}"
    for skipped in result.judged.skipped:
        if not skipped.by_choice:
            yield skipped.path, skipped.what, text.skipped_text(skipped)
    for check in result.undecided if report.show_undecided else ():
        yield check.span.source.path, f"{check.rule} {check.object}", f"undecided: {'; '.join(check.missing)}"


def _case(suite: ElementTree.Element, group: str, name: str) -> ElementTree.Element:
    return ElementTree.SubElement(suite, "testcase", {"classname": visible(group), "name": visible(name), "time": "0"})
