"""Selectors of a kustomization's patches."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from kcheck.text.regex import regex
from kcheck.text.syntax import yaml

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kcheck.kubernetes.objects import Kinds, Object


class Name(NamedTuple):
    """A present or former name of an object."""

    name: str
    namespace: str

    @property
    def effective(self) -> Name:
        """Name with an empty namespace replaced by `default`."""
        return self._replace(namespace=self.namespace or "default")


class Resource(NamedTuple):
    """An object being rendered; the last of `names` is its present one."""

    item: Object
    names: tuple[Name, ...]

    @property
    def identity(self) -> tuple[str, str, Name]:
        """Identity within a kustomization: kind, API group and name."""
        return self.item.kind, self.item.api_version.rpartition("/")[0], self.names[-1].effective

    def changed(self, root: yaml.Mapping) -> Resource:
        """Return the object with other content."""
        return self._replace(item=replace(self.item, root=root))

    def renamed(self, root: yaml.Mapping) -> Resource:
        """Return the object under another name; selectors still find it by the old ones."""
        return Resource(replace(self.item, root=root), (*self.names, name_of(root)))


def name_of(root: yaml.Node) -> Name:
    """Return the name of an object."""
    return Name(yaml.text(root, "metadata", "name"), yaml.text(root, "metadata", "namespace"))


class SelectorError(Exception):
    """A selector that is invalid or that kcheck does not read."""


def selected(resources: Iterable[Resource | None], target: yaml.Mapping) -> list[int]:
    """Return the indexes of the objects that a target selects.

    Raises:
        SelectorError: it is invalid, or kcheck does not read it.
    """
    kind, name, space = (_pattern(yaml.text(target, field)) for field in ("kind", "name", "namespace"))
    group, version = _pattern(yaml.text(target, "group")), _pattern(yaml.text(target, "version"))
    wanted = [
        ("labels", _terms(yaml.text(target, "labelSelector"))),
        ("annotations", _terms(yaml.text(target, "annotationSelector"))),
    ]

    def fits(resource: Resource) -> bool:
        item = resource.item
        own_group, _, own_version = item.api_version.rpartition("/")
        if not (kind.fullmatch(item.kind) and group.fullmatch(own_group) and version.fullmatch(own_version)):
            return False
        if not any(name.fullmatch(own.name) and space.fullmatch(own.namespace) for own in resource.names):
            return False
        return all(_has(yaml.get(item.root, "metadata", field), term) for field, terms in wanted for term in terms)

    return [i for i, resource in enumerate(resources) if resource is not None and fits(resource)]


def may_select(target: yaml.Mapping, kinds: Kinds) -> bool:
    """Whether a target can select an object of some kinds, judging by its kind."""
    kind = yaml.text(target, "kind")
    return not kind.isalnum() or kind in kinds


_ANYTHING = regex(".*", re.DOTALL)
_COSTLY = regex(r"\)[*+{]|(?:[*+{].*){4}")


@cache
def _pattern(pattern: str) -> re.Pattern[str]:
    if not pattern:
        return _ANYTHING
    if _COSTLY.search(pattern):  # these can take Python forever
        raise SelectorError(f"kcheck does not read the pattern `{pattern}`")
    try:
        return re.compile(pattern)
    except (re.error, OverflowError, RecursionError) as error:
        raise SelectorError(f"`{pattern}` is not a regular expression") from error


class _Term(NamedTuple):
    key: str
    values: frozenset[str] | None  # None asks for the key only
    negated: bool


_TERM = regex(
    r"(?P<key>[\w./-]+)\s*(?:(?P<sign>==?|!=)\s*(?P<value>[\w.-]*)|\s(?P<not>notin|in)\s*\((?P<set>[^()]*)\))?"
    r"|!\s*(?P<absent>[\w./-]+)"
)


@cache
def _terms(selector: str) -> tuple[_Term, ...]:
    """Parse a selector such as `app=web,tier in (a, b),!old`."""
    result = []
    for part in re.split(r",(?![^(]*\))", selector) if selector.strip() else ():
        match = _TERM.fullmatch(part.strip())
        if match is None:
            raise SelectorError(f"`{selector}` is not a selector")
        if match["absent"]:
            result.append(_Term(match["absent"], None, negated=True))
        elif match["sign"]:
            result.append(_Term(match["key"], frozenset({match["value"]}), match["sign"] == "!="))
        elif match["not"]:
            values = frozenset(value.strip() for value in match["set"].split(","))
            result.append(_Term(match["key"], values, match["not"] == "notin"))
        else:
            result.append(_Term(match["key"], None, negated=False))
    return tuple(result)


def _has(pairs: yaml.Target | None, term: _Term) -> bool:
    value = yaml.get(pairs, term.key)
    there = isinstance(value, yaml.Scalar) and (term.values is None or value.text in term.values)
    return there is not term.negated
