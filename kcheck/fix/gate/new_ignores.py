"""Plan ignore comments that silence findings. Nothing is saved here."""

from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from itertools import chain
from typing import NamedTuple

from kcheck.config.config import Config
from kcheck.engine import linter, rules
from kcheck.engine.linter import Result
from kcheck.engine.suppressions import COMMENT, parse_comment
from kcheck.text import deadline
from kcheck.text.files.save import File
from kcheck.text.files.tree import HCL, KUSTOMIZATIONS, MANIFESTS, TERRAFORM, VARIABLES, Tree
from kcheck.text.findings import Finding, Identity
from kcheck.text.syntax import edit, yaml
from kcheck.text.syntax.hcl.align import Lines
from kcheck.text.syntax.hcl.parse import parse
from kcheck.text.text import Edit, Source, Span


class Silenced(NamedTuple):
    """Files with ignore comments, findings they silence, and those left.

    `still` are the identities of all findings that remain with the comments.
    """

    files: list[File]
    findings: list[Finding]
    left: list[tuple[Finding, str]]
    still: frozenset[Identity]


def not_silenced(config: Config) -> dict[str, str]:
    """Map rules whose findings get no comment to the reason."""
    refused = {
        rule.name: "fix this instead" for rule in rules.load() if rule.subject == "input" and rule.severity != "info"
    }
    return refused | {name: rules.why_not_ignorable("it", config) for name in rules.not_ignorable(config)}


def why_no_comments(tree: Tree, findings: Iterable[Finding]) -> list[str]:
    """Return for each finding why no comment can silence it; empty if one can."""
    found = ([_comment_place(part, tree) for part in finding.parts or (finding,)] for finding in findings)
    return [next((why for place, why in own if place is None), "") for own in found]


def plan_comments(
    tree: Tree, config: Config, result: Result, found: Iterable[Finding], reason: str,
    tell: Callable[[str], None] = deadline.no_progress,
) -> Silenced:  # fmt: skip
    """Plan ignore comments for some findings, and check their effect.

    Files in which comments would cause new findings stay unchanged.
    """
    findings = list(found)
    named: dict[Source, dict[_Place, list[str]]] = {}
    left: list[tuple[Finding, str]] = []
    for finding in findings:
        for part in finding.parts or (finding,):
            place, why = _comment_place(part, tree)
            if place is None:
                left.append((finding, why))
                break
            names = named.setdefault(place.span.source, {}).setdefault(place, [])
            if finding.rule not in names:
                names.append(finding.rule)
    new = {source: _with_comments(source, own, reason) for source, own in named.items()}
    known = _identities(result.findings)
    while True:
        overlay = tree.disk.overlay | {tree.real_path(source): data for source, data in new.items()}
        after = linter.run(Tree(tree.given, overlay, config.exclude, config.boundary), config, tell).findings
        broken = {f.span.source.path for f in after if not f.identities <= known} & {source.path for source in new}
        if not broken:
            break
        new = {source: data for source, data in new.items() if source.path not in broken}
    still = _identities(after)
    told = {id(finding) for finding, _ in left}
    done = [f for f in findings if not f.identities & still]
    left += [(f, "a comment there has no effect on it") for f in findings if f.identities & still and id(f) not in told]
    files = [File(tree.real_path(source), source.path, source.data, data) for source, data in new.items()]
    return Silenced(sorted(files, key=lambda file: file.path), done, left, still)


def _identities(findings: Iterable[Finding]) -> frozenset[Identity]:
    return frozenset(identity for finding in findings for identity in finding.identities)


class _Place(NamedTuple):
    """Place of a comment: an empty span, or the text of an existing one."""

    span: Span
    kind: str
    indent: str = ""
    rules: tuple[str, ...] = ()
    reason: str = ""


def _comment_place(finding: Finding, tree: Tree) -> tuple[_Place | None, str]:
    """Return the first place for a comment on a finding, or why there is none."""
    why = ""
    for anchor in dict.fromkeys((finding.span, *finding.anchors)):
        source = anchor.source
        if source.derived or source.private:
            why = why or f"{source.path} cannot hold comments"
            continue
        kept = tree.why_protected(source)
        if kept:
            why = why or f"it is in {kept}"
        elif source.path.endswith(".json") or not source.path.endswith(_COMMENTED):
            why = why or f"{source.path} cannot hold comments"
        else:
            place = next(_candidates(anchor), None)
            if place is not None:
                return place, ""
            why = why or f"it is inside a string in {source.path}"
    return None, why


def _candidates(anchor: Span) -> Iterator[_Place]:
    """Yield places for a comment about the code at `anchor`, the closest first."""
    source = anchor.source
    if not source.path.endswith((*HCL, *TERRAFORM, *VARIABLES)):
        if not any(text.start < source.line_start(anchor.start) < text.end for text in _yaml_texts(source)):
            yield _existing_comment(anchor) or _comment_above(anchor)
        return
    lines, blocks = _hcl_parts(source)
    around = (block for block in reversed(blocks) if block.start <= anchor.start < block.end)
    for span in chain((anchor,), around):
        if lines.begins(source.line_start(span.start)):
            end = source.line_end(span.start)
            behind = _Place(source.span(end, end), "behind")
            is_whole = lines.has(lines.number(span.start), "assign")
            yield _existing_comment(span) or (behind if is_whole else _comment_above(span))


@lru_cache(maxsize=4)
def _hcl_parts(source: Source) -> tuple[Lines, list[Span]]:
    """Return the lines of a Terraform file, and its blocks, outer ones first."""
    return Lines(source.data), [block.span for block in parse(source).body.nested()]


@lru_cache(maxsize=4)  # an editor asks of one file again and again
def _yaml_texts(source: Source) -> list[Span]:
    nodes = (node for document in yaml.documents(source) for node in yaml.walk(document.root))
    texts = (node.span for node in nodes if isinstance(node, yaml.Scalar))
    return [span for span in texts if b"\n" in source.data[span.start : span.end]]


_COMMENTED = (*HCL, *TERRAFORM, *VARIABLES, *MANIFESTS, *KUSTOMIZATIONS)


def _existing_comment(span: Span) -> _Place | None:
    source, number = span.source, span.begin.line
    for line in (number, number - 1):
        if line < 1:
            continue
        start = source.line_starts[line - 1]
        match = COMMENT.search(source.data, start, source.line_end(start))
        alone = match is not None and not source.data[start : match.start()].strip()
        if match is not None and (line == number or alone):
            rules, reason = parse_comment(match)
            return _Place(source.span(match.start(1), match.end()), "said", rules=rules, reason=reason)
    return None


def _comment_above(span: Span) -> _Place:
    source = span.source
    start = source.line_start(span.start)
    line = source.data[start : source.line_end(start)].decode("utf-8", "replace")
    return _Place(source.span(start, start), "above", line[: len(line) - len(line.lstrip())])


def _with_comments(source: Source, places: dict[_Place, list[str]], reason: str) -> bytes:
    edits = []
    for place, own in places.items():
        comment = f"# kcheck: ignore[{', '.join(own)}] {reason}"
        names = ", ".join(dict.fromkeys((*filter(None, place.rules), *own)))
        text = {
            "above": f"{place.indent}{comment}{source.newline}",
            "behind": f" {comment}",
            "said": f"{names}] {place.reason or reason}",
        }[place.kind]
        edits.append(Edit(place.span, text))
    return edit.apply_edits(source, edits)
