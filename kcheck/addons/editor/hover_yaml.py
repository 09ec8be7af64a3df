"""What a value of a manifest, a chart's values or another YAML file is to kcheck."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcheck.addons.editor.described import Subject, knows
from kcheck.addons.editor.facts import facts_of
from kcheck.addons.editor.values_at import Evaluated
from kcheck.addons.editor.yaml_places import steps_to
from kcheck.text.files.tree import MANIFESTS
from kcheck.text.findings import last_key
from kcheck.text.syntax import yaml
from kcheck.text.values import Known, Origin

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kcheck.addons.editor.snapshot import Snapshot
    from kcheck.addons.editor.yaml_places import YamlPlace
    from kcheck.text.text import Source, Span


def of_yaml(snapshot: Snapshot, source: Source, offset: int) -> Subject | None:
    """The value at a byte, if kcheck knows more of it than its text."""
    place = steps_to(source, offset) if source.path.endswith(MANIFESTS) else None
    subject = _written(place) if place is not None else _filled_in(snapshot, source, offset)
    if subject is None:
        return None
    is_alias = place is not None and isinstance(place.nodes[-1], yaml.Alias) and bool(subject.values)
    return subject if is_alias or knows(subject, snapshot) else None


def _written(place: YamlPlace) -> Subject:
    """A value in a file that is YAML as it stands."""
    value = place.value
    here = place.nodes[-1] if place.scalar is None else place.scalar
    title = last_key(tuple(f"[{step}]" if isinstance(step, int) else step for step in place.steps)) or "value"
    spans = tuple(dict.fromkeys(_spans(place)))
    values = [Evaluated("", _scalar(value), None)] if isinstance(value, yaml.Scalar) else []
    return Subject(title, here.span, values, spans)


def _scalar(value: yaml.Scalar) -> Known[str | int | bool | None]:
    plain = yaml.value(value)
    return Known(value.text if isinstance(plain, float) else plain, Origin((value.span,)))


def _spans(place: YamlPlace) -> Iterator[Span]:
    """The value and, of an item, the list that it is in."""
    value = place.value
    yield value.span
    if place.on_key and place.scalar is not None:
        yield place.scalar.span
    for node in reversed(place.nodes[:-1]):
        if place.on_key or not isinstance(node, yaml.Sequence):
            return
        yield node.span


def _filled_in(snapshot: Snapshot, source: Source, offset: int) -> Subject | None:
    """A value in a template, which only what it makes shows to be one."""
    facts = facts_of(snapshot)
    line = source.line_start(offset), source.line_end(offset)
    span = next((one for one in facts.around(source, offset) if line[0] <= one.start and one.end <= line[1]), None)
    if span is None:
        return None
    found = facts.fields(span)
    return Subject(found[0].field.name, span, [Evaluated("", found[0].value, None)], (span,))
