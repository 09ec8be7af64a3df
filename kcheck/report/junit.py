"""JUnit XML, as read by Jenkins, GitLab, Azure Pipelines and others."""

from collections.abc import Iterator
from xml.etree import ElementTree

from kcheck.report.formats import Report
from kcheck.report.layout import plain
from kcheck.report.text import finding_lines, input_text, skipped_text
from kcheck.text.control_characters import visible
from kcheck.text.findings import Severity


def render(report: Report) -> str:
    """Render one suite: a failed case per finding, an error per bug, a skipped case per thing not checked.

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
        text = plain(finding_lines(finding))
        if finding.severity == Severity.INFO:
            ElementTree.SubElement(case, "system-out").text = text
        else:
            given = {"type": finding.severity.word, "message": visible(finding.message)}
            ElementTree.SubElement(case, "failure", given).text = text
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
        yield one.cluster.place.source.path, f"cluster {one.cluster.id}", f"not checked: {input_text(one.input)}"
    for skipped in result.judged.skipped:
        if not skipped.by_choice:
            yield skipped.path, skipped.what, skipped_text(skipped)
    for check in result.undecided if report.show_undecided else ():
        yield check.span.source.path, f"{check.rule} {check.object}", f"undecided: {'; '.join(check.missing)}"


def _case(suite: ElementTree.Element, group: str, name: str) -> ElementTree.Element:
    return ElementTree.SubElement(suite, "testcase", {"classname": visible(group), "name": visible(name), "time": "0"})
