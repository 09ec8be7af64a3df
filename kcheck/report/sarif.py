"""SARIF 2.1.0, as read by GitHub code scanning and others.

Format: https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html. GitHub's support for it:
https://docs.github.com/en/code-security/code-scanning/integrating-with-code-scanning/sarif-support-for-code-scanning.
"""

import os
from collections.abc import Iterator
from urllib.parse import quote

from kcheck import __version__
from kcheck.engine.rule import Rule
from kcheck.report.escape import json_text, sarif_text
from kcheck.report.formats import Report
from kcheck.report.page import REPOSITORY
from kcheck.report.places import by_name, edits_of, fingerprints, in_repository
from kcheck.report.rule import url
from kcheck.report.text import input_text, sentence, skipped_text
from kcheck.text.findings import Finding, Severity
from kcheck.text.text import Source, Span, grouped

_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}
_MOST_RELATED = 50
_MOST = 25_000
"""GitHub refuses more results in a run."""
_ROOT = "%SRCROOT%"


def render(report: Report) -> str:
    """Render a log of one run, with the help of each rule that found something."""
    every = by_name(report.result.world)
    worst = sorted(report.findings, key=lambda finding: -finding.severity)[:_MOST]
    findings = sorted(worst, key=lambda finding: finding.key)
    names = sorted({finding.rule for finding in findings})
    index = {name: at for at, name in enumerate(names)}
    run = {
        "tool": {
            "driver": {
                "name": "kcheck",
                "semanticVersion": __version__,
                "informationUri": REPOSITORY,
                "rules": [_rule(every[name]) for name in names],
            }
        },
        "automationDetails": {"id": "kcheck/"},
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": {_ROOT: {"description": {"text": "The top of the repository."}}},
        "invocations": [
            {"executionSuccessful": not report.result.bugs, "toolExecutionNotifications": list(_notifications(report))}
        ],
        "results": [_result(finding, index[finding.rule], key) for finding, key in fingerprints(findings)],
    }
    return json_text({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}, indent=1)


def _rule(rule: Rule) -> dict[str, object]:
    page, why = url(rule), rule.documentation.why or f"{rule.summary}."
    silence = f"Silence it where it is accepted, with a reason: # kcheck: ignore[{rule.name}] reason"
    sources = [name if entry is None else entry.sources[0] for name, entry in rule.entries().items()]
    links = "\n".join(f"- <{source}>" for source in dict.fromkeys(sources))
    text = [why, "Sources: " + " ".join(dict.fromkeys(sources)) if sources else "", silence]
    markdown = [why, f"Sources:\n\n{links}" if links else "", f"`{silence}`"]
    level = "warning" if rule.grade else rule.severity
    return {
        "id": rule.name, "shortDescription": {"text": rule.summary},
        "fullDescription": {"text": " ".join(why.split("\n\n")[0].split())},
        "help": {"text": "\n\n".join(filter(None, text)), "markdown": "\n\n".join(filter(None, markdown))},
        **({"helpUri": page} if page else {}), "defaultConfiguration": {"level": _LEVELS[Severity[level.upper()]]},
        "properties": {"tags": [rule.group, *(["waste"] if rule.waste else [])], "precision": "high"},
    }  # fmt: skip


def _result(finding: Finding, index: int, fingerprint: str) -> dict[str, object]:
    details = "\n".join(map(sentence, finding.details))
    parts = [sentence(finding.message), details, *(sentence(f"Help: {line}") for line in finding.help.splitlines())]
    fixes = _fixes(finding)
    related = [
        {"id": number, **_location(place.span), "message": {"text": sarif_text(place.message)}}
        for number, place in enumerate(finding.related[:_MOST_RELATED], 1)
    ]
    return {
        "ruleId": finding.rule, "ruleIndex": index, "level": _LEVELS[finding.severity],
        "message": {"text": sarif_text("\n\n".join(filter(None, parts)))},
        "locations": [
            {
                **_location(finding.span),
                "logicalLocations": [
                    {"fullyQualifiedName": name, "kind": "resource"} for name in (finding.object, *finding.also)
                ],
            }
        ],
        **({"relatedLocations": related} if related else {}),
        "partialFingerprints": {"primaryLocationLineHash": f"{fingerprint}:1", "kcheck/v2": fingerprint},
        **({"fixes": fixes} if fixes else {}),
    }  # fmt: skip


def _notifications(report: Report) -> Iterator[dict[str, object]]:
    """Yield bugs in kcheck, and what it could not judge, read or decide."""
    result = report.result
    for bug in result.bugs:
        text = f"bug in {bug.rule or 'the model'}: {bug.message}"
        yield {"level": "error", "message": {"text": sarif_text(text)}}
    for one in result.judged.not_judged:
        text = f"cluster {one.cluster.address} was checked in part: {input_text(one.input)}"
        place = _location(one.cluster.place)
        yield {"level": "warning", "message": {"text": sarif_text(text)}, "locations": [place]}
    for skipped in result.judged.skipped:
        yield {"level": "note", "message": {"text": sarif_text(f"{skipped.what}: {skipped_text(skipped)}")}}
    for missing in result.judged.inputs:
        places = [] if missing.place is None else [_location(missing.place)]
        text = f"unknown: {input_text(missing)}"
        yield {"level": "note", "message": {"text": sarif_text(text)}, **({"locations": places} if places else {})}


def _location(span: Span) -> dict[str, object]:
    return {"physicalLocation": {"artifactLocation": _file(span.source), "region": _region(span)}}


def _file(source: Source) -> dict[str, object]:
    return {"uri": quote(os.fsencode(in_repository(source.path))), "uriBaseId": _ROOT}


def _fixes(finding: Finding) -> list[dict[str, object]]:
    """Return the fix as text replacements; empty if the fix can only be described."""
    changes = [
        {
            "artifactLocation": _file(source),
            "replacements": [
                {"deletedRegion": _region(one.span), "insertedContent": {"text": one.text}} for one in own
            ],
        }
        for source, own in grouped(edits_of(finding), lambda one: one.span.source).items()
    ]
    if finding.fix is None or not changes:
        return []
    text = f"{finding.fix.title} ({finding.fix.safety})"
    return [{"description": {"text": text}, "artifactChanges": changes}]


def _region(span: Span) -> dict[str, int]:
    begin, end = span.begin, span.finish
    return {
        "startLine": begin.line, "startColumn": begin.column, "endLine": end.line, "endColumn": end.column,
    }  # fmt: skip
