"""Turn changes into edits, by the syntax at each span. Knows no cloud."""

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from copy import deepcopy

from kcheck.text.files.tree import HCL, KUSTOMIZATIONS, MANIFESTS, TERRAFORM, VARIABLES
from kcheck.text.findings import Change
from kcheck.text.ip_ranges import parse_cidr
from kcheck.text.regex import regex
from kcheck.text.syntax import yaml
from kcheck.text.syntax.hcl import nodes, write
from kcheck.text.syntax.hcl.write import literal
from kcheck.text.syntax.insertion import Insertion
from kcheck.text.syntax.members import edits_to_add
from kcheck.text.syntax.yaml_style import quotes
from kcheck.text.text import Edit, OverlapError, Source, Span, apply
from kcheck.text.values import Data

_YAML = (*MANIFESTS, *KUSTOMIZATIONS, ".tftpl", ".tpl", ".tmpl")
_LITERAL = regex(r"[\"]|(?:null|true|false|-?[\d.]+)$")
"""Start of an HCL literal, or all of it."""
_NUMBER = regex(r"(?:0|[1-9]\d*)(?:\.\d+)?")
_COMMENT = regex(rb"(?:[^\n]*[ \t])?((?:#|//)[^\n]*)")
_NAMED = 2
"""Characters of an old value that a comment can be found to name."""


class EditError(Exception):
    """A change that cannot be written; the message is for the user."""


def edits(changes: Iterable[Change]) -> list[Edit]:
    """Make the edits of all changes, insertions into one block together.

    Raises EditError if kcheck cannot change a value.
    """
    result, insertions = _sorted_out(changes, {})
    inner_first = sorted(insertions, key=lambda container: -container.start)  # where both end, the inner one goes on
    for container in inner_first:
        result += _added(container, insertions[container])
    return result


class Together:
    """A growing set of changes that fit together."""

    def __init__(self) -> None:
        self._insertions: dict[Span, Insertion] = {}
        self._inserted: dict[Span, list[Edit]] = {}
        self._edits: Counter[Edit] = Counter()
        self._ranges: dict[Source, list[tuple[int, int]]] = {}

    def add(self, changes: Iterable[Change]) -> None:
        """Add changes, all or none.

        Raises EditError if kcheck cannot change a value, OverlapError if its bytes are changed already.
        """
        new, insertions = _sorted_out(changes, self._insertions)
        inserted = {
            container: _added(container, insertion)
            for container, insertion in insertions.items()
            if insertion != self._insertions.get(container)
        }
        old = [edit for container in inserted for edit in self._inserted.get(container, ())]
        new += [edit for own in inserted.values() for edit in own]
        self._remove(old)
        for i, edit in enumerate(new):
            if not self._insert(edit):
                self._remove(new[:i])
                for before in old:
                    self._insert(before)
                raise OverlapError(f"edits overlap at byte {edit.span.start}")
        self._insertions |= insertions
        self._inserted |= inserted

    def _insert(self, edit: Edit) -> bool:
        """Record the range of an edit; False if it overlaps another edit."""
        ranges = self._ranges.setdefault(edit.span.source, [])
        start, end = edit.span[1:]
        if edit not in self._edits:
            at = bisect_right(ranges, (start, end))
            if (at and ranges[at - 1][1] > start) or (at < len(ranges) and ranges[at][0] < end):
                return False
            ranges.insert(at, (start, end))
        self._edits[edit] += 1
        return True

    def _remove(self, edits: list[Edit]) -> None:
        for edit in edits:
            self._edits[edit] -= 1
            if not self._edits[edit]:
                del self._edits[edit]
                ranges = self._ranges[edit.span.source]
                del ranges[bisect_right(ranges, edit.span[1:]) - 1]


def apply_edits(source: Source, changes: list[Edit]) -> bytes:
    """Apply edits to a source; in HCL, aligned lines stay aligned.

    Raises OverlapError if two different edits touch the same bytes.
    """
    if _syntax(source) == "hcl":
        from kcheck.text.syntax.hcl import align

        return align.apply_aligned(source.data, changes)
    return apply(source.data, changes)


def source_of(change: Change) -> Source:
    """Return the file that contains a change."""
    missing = change.origin.missing
    return missing.container.source if missing is not None else change.origin.written.source


def is_anchored(span: Span) -> bool:
    """Whether a span may be below a YAML anchor that others refer to."""
    data = span.source.data
    return _syntax(span.source) == "yaml" and b"&" in data and b"*" in data


def _syntax(source: Source) -> str:
    """Return the syntax to edit a file in: hcl, json or yaml; else empty."""
    if source.derived or source.private:  # plans are private
        return ""
    if source.path.endswith(HCL):
        return "hcl"
    if source.path.endswith((*TERRAFORM, *VARIABLES)):
        return "json"
    return "yaml" if source.path.endswith((*_YAML, ".json")) or source.path == "-" else ""


def _sorted_out(
    changes: Iterable[Change], before: Mapping[Span, Insertion]
) -> tuple[list[Edit], dict[Span, Insertion]]:
    """Split changes into edits of literals, and insertions by container."""
    replaced: list[Edit] = []
    insertions: dict[Span, Insertion] = {}
    for change in changes:
        missing = change.origin.missing
        if missing is not None or change.append:
            container = missing.container if missing is not None else change.origin.written
            if container not in insertions:
                insertions[container] = deepcopy(before[container]) if container in before else Insertion()
            if missing is None:
                insertions[container].append(change.value)
            else:
                insertions[container].add(missing.path, [change.value] if change.append else change.value)
        elif change.origin.literal:
            replaced.append(_replaced(change))
            replaced += [Edit(span, str(change.value)) for span, alone in stale_comments(change) if alone]
            replaced += [Edit(described[0], str(change.value))] if (described := described_default(change)) else []
        else:
            raise EditError(f"kcheck cannot change {change.name}, which is computed: `{change.origin.written.text}`")
    return replaced, insertions


def stale_comments(change: Change) -> Iterator[tuple[Span, bool]]:
    """Yield comments that mention a changed value, and whether to change them."""
    old = change.origin.written.text.strip("\"'")
    if not change.origin.literal or not old or old == str(change.value):
        return
    size = cidr.num_addresses if (cidr := parse_cidr(old)) else ""
    names = (old, f"/{old.partition('/')[2]}", f"{size}", f"{size:,}") if size else (old,)
    name = rf"(?<![\w.-])(?:{'|'.join(map(re.escape, names))})(?![\w.-])".encode()
    for span in change.origin.spans:
        source, first = span.source, span.begin.line
        for number in range(first, 0 if len(old) >= _NAMED else max(first - 2, 0), -1):
            start = span.end if number == first else source.line_starts[number - 1]
            comment = _COMMENT.match(source.data, start, source.line_end(start))
            found = re.search(name, comment[1]) if comment else None
            if comment and found:
                at = comment.start(1) + found.start()
                near = span is change.origin.written and number >= first - 1 and len(old) >= _NAMED
                alone = near and old.isdecimal() and len(re.findall(rb"\d+", comment[1])) == 1
                yield source.span(at, at + len(found[0])), alone
            elif not comment and number < first:
                break


def described_default(change: Change) -> tuple[Span, str] | None:
    """Find the old default in a variable's description, and its reason."""
    span, old = change.origin.written, change.origin.written.text.strip('"')
    if change.key != "default" or not change.origin.path[0].startswith("variable ") or old == str(change.value):
        return None
    data = span.source.data
    begin, end = max(data.rfind(b"\nvariable ", 0, span.start), 0), data.find(b"\n}", span.end)
    name = rf"(?: value)?(?: is| to|:| =) ?[`'\"]?({re.escape(old)})(?![\w-])[`'\"]?"
    says = rf"\n[ \t]*description[ \t]*=(?s:.*?)\b[Dd]efaults?{name}(?:,? ((?:as|because|since|so)\b.*))?"
    block = data[begin : span.start] + bytes(span.end - span.start) + data[span.end : end]  # without the default
    found = re.search(says.encode(), block)
    said = (found[2] or b"").decode(errors="replace").rstrip() if found else ""
    return (span.source.span(begin + found.start(1), begin + found.end(1)), said) if found else None


def _replaced(change: Change) -> Edit:
    span, value, syntax = change.origin.written, change.value, _syntax(change.origin.written.source)
    if isinstance(value, str) and value != span.text and _NUMBER.fullmatch(value) and _NUMBER.fullmatch(span.text):
        return Edit(span, value)  # who wrote a number without quotes may go on so: `cpu: 4`
    if syntax == "hcl" and (not isinstance(value, str) or _LITERAL.match(span.text)):
        return Edit(span, literal(value, span.text))
    if isinstance(value, list | dict):
        raise EditError(f"{change.name} is a single value: `{span.text}`")
    if syntax in ("yaml", "hcl"):  # in HCL, a part of YAML in a template
        text = yaml.literal(value, "double" if span.source.path.endswith(".json") else quotes(span.text))
        return Edit(span, text if span.text else f" {text}")  # `key:` without a value
    if syntax == "json":
        import json

        quoted = span.text.startswith('"') and not isinstance(value, str)
        return Edit(span, f'"{json.dumps(value)}"' if quoted else json.dumps(value, ensure_ascii=False))
    raise EditError(f"{change.name} is written in {span.source.path}, which kcheck does not edit")


def _added(container: Span, insertion: Insertion) -> list[Edit]:
    syntax = _syntax(container.source)
    if syntax == "hcl":
        found = _at(container)
        if isinstance(found, nodes.Literal) and container.text == "null":
            return [Edit(container, literal(insertion.items or insertion.members))]
        if isinstance(found, nodes.Tuple):
            return write.append(found, insertion)
        if isinstance(found, nodes.Block) and not insertion.items:
            return _literal_in_variables(container, write.insert(found, insertion))
    edits = edits_to_add(container, insertion) if syntax else None  # in HCL, YAML in a template
    if edits is not None:
        return _literal_in_variables(container, edits) if syntax == "hcl" else edits
    what = ", ".join([*_names(insertion.members), *_names(insertion.items)])
    raise EditError(f"kcheck cannot add {what} at {container.location}")


def _literal_in_variables(container: Span, edits: list[Edit]) -> list[Edit]:
    """Return edits; raise EditError if one calls a function in a default."""
    blocks = re.findall(rb"(?m)^[a-z]+", container.source.data[: container.start])
    if blocks[-1:] == [b"variable"] and any("jsonencode(" in one.text for one in edits):
        raise EditError("the default of a variable takes no jsonencode(...)")
    return edits


def _names(value: Data) -> Iterator[str]:
    """Yield the names of added members, as paths."""
    for item in value if isinstance(value, list) else ():
        yield str(item.get("name", "an item")) if isinstance(item, dict) else "an item"
    for name, inner in value.items() if isinstance(value, dict) else ():
        below = list(_names(inner))
        yield f"{name}.{below[0]}" if len(below) == 1 else name


def _at(container: Span) -> nodes.Block | nodes.Tuple | nodes.Literal | None:
    """Parse and find the HCL block, object or list at a span; else None."""
    from kcheck.text.syntax.hcl import names, nodes

    outline = names.of(container.source)
    for block in outline.blocks(container):
        if block.span[1:] == container[1:]:
            return block
    entry = outline.value(container)
    node = entry.expression if entry is not None else None
    while node is not None:
        if isinstance(node, nodes.Object | nodes.Tuple | nodes.Literal) and node.span[1:] == container[1:]:
            return nodes.as_block(node) if isinstance(node, nodes.Object) else node
        node = names.inner(node, container)
    return None
