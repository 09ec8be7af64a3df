"""Values and places as bounded plain text and Markdown."""

import json
from collections.abc import Iterable, Iterator
from fractions import Fraction
from itertools import islice

from kcheck.addons.editor.snapshot import Snapshot
from kcheck.addons.editor.values_at import code_of
from kcheck.report.escape import as_code, markdown
from kcheck.report.text import line_text
from kcheck.terraform.resource import BlockRecord
from kcheck.text.control_characters import visible_lines
from kcheck.text.regex import regex
from kcheck.text.text import Span
from kcheck.text.units import as_text, clipped
from kcheck.text.values import Either, Elements, Known, Partial, Secret, Unknown, Unset, Value, parts

HIDDEN = "(sensitive, not shown)"
_UNKNOWN = "(unknown)"
WIDE = 72
"""Characters of a value on one line."""
_MOST_LINES = 14
_LONGEST_LINE = 200
_DEEPEST = 4
_FENCES = regex("`{3,}")
_NAME = regex(r"[A-Za-z_][\w-]*")


def plain(value: Value[object], room: int = WIDE) -> str:
    """Format a value on one line as HCL, cut at `room` characters."""
    text = _line(value, room, 0)
    return text if len(text) <= room else f"{text[: room - 3]}..."


def is_known(value: Value[object]) -> bool:
    """Whether a value, or a part of it, is known and may be shown."""
    if isinstance(value, Either):
        return any(map(is_known, value.branches))
    return isinstance(value, Known | Partial)


def is_whole(value: Value[object]) -> bool:
    """Whether a value is a whole resource or module, or all instances of one."""
    inner = value.value if isinstance(value, Known) else None
    if isinstance(inner, tuple | dict):
        return bool(inner) and all(isinstance(one, Known) and hasattr(one.value, "attribute") for one in parts(inner))
    return hasattr(inner, "attribute")


def unknown_parts(value: Value[object]) -> Unknown | None:
    """Return the reason if all parts of a list or map are unknown; else None."""
    every = list(parts(value.value)) if isinstance(value, Known) else []
    nothing = all(isinstance(one, Unknown) and _line(one, WIDE, 0) == _UNKNOWN for one in every)
    return next((one for one in every if nothing and isinstance(one, Unknown)), None)


def _line(value: object, room: int, depth: int) -> str:
    """Format a value, known or not, or the item of one."""
    if isinstance(value, Secret):
        return HIDDEN
    if isinstance(value, Either):
        return " or ".join(dict.fromkeys(_line(branch, room, depth) for branch in value.branches[:_MOST_LINES]))
    if isinstance(value, Partial):
        return _joined(value.part, room, depth, more=True)
    if isinstance(value, Unknown):
        symbol = value.symbol  # of a value only known after apply: a resource attribute has a name
        is_named = symbol is not None and symbol.attribute not in ("", "?", "text")
        return f"{symbol.address}.{symbol.attribute}" if symbol is not None and is_named else _UNKNOWN
    inner = value.value if isinstance(value, Known) else value
    if inner is None or isinstance(inner, Unset):
        return "null"
    if isinstance(inner, str):
        return json.dumps(clipped(str(inner), room), ensure_ascii=False)
    if isinstance(inner, bool | int | Fraction):
        return as_text(inner)
    if isinstance(inner, tuple | dict):
        return _joined(inner, room, depth, more=False)
    return f"({inner.address or inner.block.type})" if isinstance(inner, BlockRecord) else "(an object)"


def _joined(items: Elements, room: int, depth: int, *, more: bool) -> str:
    left, right = "{}" if isinstance(items, dict) else "[]"
    if depth > _DEEPEST:
        return f"{left}...{right}"
    texts: list[str] = []
    for text in _parts(items, room, depth):
        texts.append(text)
        if sum(map(len, texts)) > room:
            break
    if more:
        texts.append("perhaps more")
    inner = ", ".join(texts)
    return f"{left} {inner} {right}" if isinstance(items, dict) and inner else f"{left}{inner}{right}"


def _parts(items: Elements, room: int, depth: int) -> Iterator[str]:
    if isinstance(items, dict):
        for key, item in items.items():
            text = str(key)
            name = text if _NAME.fullmatch(text) else json.dumps(text, ensure_ascii=False)
            yield f"{name} = {_line(item, room, depth + 1)}"
    else:
        for item in items:
            yield _line(item, room, depth + 1)


def _rows(value: object, indent: str) -> Iterator[str]:
    inner = value.part if isinstance(value, Partial) else value.value if isinstance(value, Known) else None
    if isinstance(inner, str):
        yield from inner.splitlines()
    elif isinstance(inner, dict | tuple):
        left, right = "{}" if isinstance(inner, dict) else "[]"
        yield left
        for part in _parts(inner, _LONGEST_LINE, 0):
            yield f"{indent}{part}"
        if isinstance(value, Partial):
            yield f"{indent}# perhaps more"
        yield right


def block(value: Value[object]) -> str:
    """Format a multi-line value as a code block; empty if it fits on one line."""
    if isinstance(value, Secret) or is_whole(value) or unknown_parts(value) is not None:
        return ""
    if isinstance(value, Unknown) or len(_line(value, WIDE, 0)) <= WIDE:
        inner = value.value if isinstance(value, Known) else None
        if not (isinstance(inner, str) and "\n" in inner):
            return ""
    rows = [clipped(row, _LONGEST_LINE) for row in islice(_rows(value, "  "), _MOST_LINES + 1)]
    rows[_MOST_LINES:] = ["..."] * (len(rows) > _MOST_LINES)
    if not rows:
        return ""
    text = visible_lines("\n".join(rows))
    fence = "`" * max((len(found) + 1 for found in _FENCES.findall(text)), default=3)
    return f"{fence}terraform\n{text}\n{fence}"


def link(span: Span, snapshot: Snapshot, text: str = "") -> str:
    """Link a place for the editor; text alone if it is in no file."""
    shown, source = markdown(text or span.location), span.source
    real = "" if source.bundled or source.derived else snapshot.real_path(source)
    address = snapshot.address(real).replace("(", "%28").replace(")", "%29") if real else ""
    return f"[{shown}]({address}#L{span.begin.line})" if address else shown


def chain(spans: Iterable[Span], snapshot: Snapshot, *, secret: bool = False) -> Iterator[str]:
    """Yield the places that set a value, from where it is written to its last use."""
    for span in spans:
        is_secret = secret or (span.source, span.begin.line) in code_of(snapshot).secret_lines
        hidden = is_secret or span.source.private or span.source.derived
        code = "" if hidden else line_text(span)
        shown = f"  {as_code(clipped(code, WIDE))}" if code else ""
        yield f"{link(span, snapshot)}{shown}"
