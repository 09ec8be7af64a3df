"""Compile the rules and profiles for a wheel, as kcheck/text/bundled.py reads them, and the CEL in them."""

from __future__ import annotations

import re
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import to_builtins

from kcheck import __version__
from kcheck.engine import rule_words, rules
from kcheck.engine.rule_evaluator import joined_condition, records_expression
from kcheck.text import bundled
from kcheck.text.syntax import cel, cel_tree

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kcheck.engine.rule import Rule


def compile_data(folder: Path) -> None:
    """Write what is compiled into a folder: a file a profile, one of all rules, one of the expressions of a subject."""
    for path in sorted(Path(bundled.PROFILES).rglob("*.yaml")):
        count = path.read_bytes().count(b"\n---\n") + 1
        documents = [bundled.load(str(path), number) for number in range(count)]
        _write(folder, str(path.relative_to(bundled.ROOT)), documents)
    _write(folder, "rules", rules.from_files())
    changelog = Path(bundled.ROOT) / "CHANGELOG.md"  # not in every tree that a wheel is built from
    _write(folder, "released", released(changelog.read_text(encoding="utf-8") if changelog.is_file() else ""))
    runtime = f"cel_expr_python-{version('cel-expr-python')}.dist-info"
    found: dict[tuple[str, ...], dict[str, bytes]] = {}
    for rule in rules.load():
        for one in expressions(rule):
            found.setdefault(one.variables, {})[one.text] = serialized(one)
    for variables, texts in found.items():
        _write(folder, f"expressions/{'-'.join(variables)}", (runtime, texts))


def released(changelog: str) -> str:
    """The day on which this version was released, as the changelog says; empty before that."""
    day = re.search(rf"^## {re.escape(__version__)} - (\d{{4}}-\d\d-\d\d)$", changelog, re.MULTILINE)
    return day[1] if day else ""


def expressions(rule: Rule) -> Iterator[cel.Expression]:
    """All that a run may ask of a rule: its condition, the expressions in it, and the records of its places."""
    yield joined_condition(rule.when, rule.problem, (rule.subject, "limits"))
    for one in rule_words.texts(rule):
        variables = rule_words.names(one, rule.subject)
        text = cel.split_place(one.text)[0] if one.kind == "place" else one.text
        yield cel.compile(text, variables)
        if one.kind in ("place", "records"):
            yield cel.compile(records_expression(text), variables)


def serialized(expression: cel.Expression) -> bytes:
    """Serialize an expression for a wheel, the same in each build."""
    return bundled.packed([_stable(expression.serialized), to_builtins(expression.used, order="deterministic")])


def _stable(serialized: bytes) -> bytes:
    """Sort the maps of a serialized checked expression, which the runtime writes in a different order each time."""
    envelope = cel_tree.fields(serialized)
    content = cel_tree.fields(envelope[2][0])
    source = cel_tree.fields(content[5][0])
    for maps, numbers in ((content, (2, 3)), (source, (4, 5))):  # references and types, places and calls of macros
        for number in numbers:
            maps.get(number, []).sort()
    content[5] = [_written(source)]
    return _written({**envelope, 2: [_written(content)]})


def _written(message: cel_tree.Message) -> bytes:
    """Encode a message whose fields all are texts or messages."""
    return b"".join(
        _written_varint(number << 3 | 2) + _written_varint(len(content)) + content
        for number, contents in sorted(message.items())
        for content in contents
    )


def _written_varint(value: int) -> bytes:
    low, rest = value & 127, value >> 7
    return bytes([low | 128]) + _written_varint(rest) if rest else bytes([low])


def _write(folder: Path, name: str, data: Any) -> None:
    path = folder / f"{name}.msgpack"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(bundled.packed(data))
