"""Rules against the types of their words: misspelt fields and clashing types are found without running anything.

The table of words becomes protobuf message types; CEL then checks every expression against them.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import pytest
from cel_expr_python import cel as runtime
from cel_expr_python.ext import ext_strings
from google.protobuf import descriptor_pb2, descriptor_pool, wrappers_pb2

from kcheck.engine import rules
from kcheck.numbers import profiles
from kcheck.numbers.clouds import CLOUDS
from kcheck.syntax import cel
from kcheck.words.subjects import SUBJECTS

if TYPE_CHECKING:
    from kcheck.engine.rule import Rule

_FIELD = descriptor_pb2.FieldDescriptorProto
_SCALARS = {"int": _FIELD.TYPE_INT64, "string": _FIELD.TYPE_STRING, "bool": _FIELD.TYPE_BOOL}
_WRAPPERS = {"int": "Int64Value", "string": "StringValue", "bool": "BoolValue"}


def _add(message: Any, name: str, type_: str, *, nullable: bool = False, repeated: bool = False) -> None:
    field = message.field.add(name=name, number=len(message.field) + 1)
    field.label = _FIELD.LABEL_REPEATED if repeated else _FIELD.LABEL_OPTIONAL
    if type_ in _SCALARS and not nullable:
        field.type = _SCALARS[type_]
    else:
        field.type = _FIELD.TYPE_MESSAGE
        field.type_name = f".google.protobuf.{_WRAPPERS[type_]}" if type_ in _SCALARS else f".kcheck.{type_}"


@cache
def pool() -> Any:
    """The words as message types: one for each subject, a flat one for its use inside another, the limits."""
    file = descriptor_pb2.FileDescriptorProto(name="words.proto", package="kcheck", syntax="proto3")
    file.dependency.append("google/protobuf/wrappers.proto")
    for subject, fields in SUBJECTS.items():
        for name, nested in ((subject, False), (f"flat_{subject}", True)):
            message = file.message_type.add(name=name)
            for field in fields:
                if field.kind not in ("record", "records"):
                    _add(message, field.name, field.type, nullable=field.nullable, repeated=field.kind == "list")
                elif not nested:
                    _add(message, field.name, f"flat_{field.type}", repeated=field.kind == "records")
    limits = file.message_type.add(name="limits")
    groups: dict[str, Any] = {}
    for key, entry in {k: e for cloud in CLOUDS for k, e in profiles.limits(cloud).items()}.items():
        group, name = key.split(".")
        if group not in groups:
            groups[group] = file.message_type.add(name=f"limits_{group}")
            _add(limits, group, f"limits_{group}")
        _add(groups[group], name, "int" if isinstance(entry.value, int) else "string")
    result = descriptor_pool.DescriptorPool()
    result.AddSerializedFile(wrappers_pb2.DESCRIPTOR.serialized_pb)
    result.AddSerializedFile(file.SerializeToString())
    return result


@cache
def environment(subject: str) -> Any:
    variables = {subject: runtime.Type(f"kcheck.{subject}"), "limits": runtime.Type("kcheck.limits")}
    return runtime.NewEnv(descriptor_pool=pool(), variables=variables, extensions=[ext_strings.ExtStrings()])


def expressions(rule: Rule) -> list[str]:
    grade = rule.grade
    graded = [text for text in (grade.of, grade.wall, grade.recommended) if text] if grade else []
    holes = [part.text for part in cel.holes(rule.message) if not isinstance(part, str)]
    places = [rule.at, *rule.related, *(setting.place for setting in rule.settings)]
    prefixes = [cel.split_place(place)[0] for place in places]
    return [
        rule.problem,
        *(text for text in (rule.when, *(cap.where for cap in rule.at_most)) if text),
        *graded,
        *holes,
        *prefixes,
        *(s.to for s in rule.settings),
        *(obstacle.where for obstacle in rule.withheld),
        *(part.text for one in rule.withheld for part in cel.holes(one.help) if not isinstance(part, str)),
    ]


@pytest.mark.parametrize("rule", rules.load(), ids=lambda rule: rule.name)
def test_expressions_have_the_types_of_their_words(rule: Rule) -> None:
    for text in expressions(rule):
        environment(rule.subject).compile(text)
    for text in (rule.problem, rule.when, *(one.where for one in rule.at_most), *(one.where for one in rule.withheld)):
        assert not text or environment(rule.subject).compile(text).return_type() == runtime.Type.BOOL


@pytest.mark.parametrize(
    "text",
    [
        "subnet.cdir",
        "subnet.pools.exists(p, p.mxa > 3)",
        "subnet.cidr > 3",
        "limits.kubenet.node",
        "subnet.nodes == 'a'",
    ],
)
def test_mistakes_are_found(text: str) -> None:
    with pytest.raises(RuntimeError):
        environment("subnet").compile(text)
