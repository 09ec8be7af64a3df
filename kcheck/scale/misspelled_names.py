"""Names in pods that no object has, but one nearly has."""

from __future__ import annotations

from collections import defaultdict
from itertools import islice
from typing import Annotated

from msgspec import Struct

from kcheck.model import Definition, PodTemplate, Reference, Workload
from kcheck.scale.world import World
from kcheck.scale.world.memory import once
from kcheck.text import placeholders
from kcheck.text.need import first_unknown, if_set, need
from kcheck.text.regex import regex
from kcheck.text.text import grouped
from kcheck.text.units import part_of
from kcheck.text.values import Known, Unknown, Unset, Value, known

_CRUCIAL = ("PersistentVolumeClaim", "ServiceAccount")
"""Kinds that nobody creates by hand, as people do with Secrets and ConfigMaps."""
_GIVEN = frozenset({"default", "kube-root-ca.crt"})
"""Names of objects that every namespace has."""
_WORDS, _DIGITS = regex(r"[a-z0-9]+"), regex(r"[0-9]+")
_SHORT = regex(r"[b-df-hj-np-tv-z]{3,}")
"""Letters of a word without its vowels, as in cfg and ckpt."""
_ENDINGS = frozenset({"pvc", "claim", "volume", "vol", "sa"})
"""Words that only name the kind of an object."""
_MOST, _LONGEST = 25, 253
"""Most names that one is compared with, and characters of a name, as Kubernetes has it."""
_MOST_EDITS, _LETTERS = 2, 3
"""Most letters that may differ, and letters of a name for each of them."""


class Misnomer(Struct, frozen=True):
    """Undefined name in pods, and a similar name defined in their folder."""

    kind: Annotated[str, "PersistentVolumeClaim, ConfigMap, Secret or ServiceAccount"]
    name: Annotated[Value[str], "the name that pods give it", "", "never null"]
    defined: Annotated[Value[str], "the name of the one that is defined", "", "never null"]
    near: Annotated[bool, "whether it is nearly the same name"]


def misnomer(template: PodTemplate, world: World) -> Misnomer | None:
    """Find the first name in pods that is probably misspelled; None if there is none."""
    workload = world.deployed.workload(template)
    rendered = workload in world.inventory.scope_of or _near_tools(world.deployed.folder(workload), world)
    if workload.partial or rendered:  # which may make more objects
        return None
    order = sorted(template.references, key=lambda one: one.kind not in _CRUCIAL)
    found = ((one, _meant(one, workload, world)) for one in order)
    named = next(((one, other) for one, other in found if other is not None), None)
    if named is None:
        return None
    names = named[0].name, named[1].name
    return Misnomer(named[0].kind, *names, nearly_same(*(known(one) or "" for one in names)))


@once
def _near_tools(folder: str, world: World) -> bool:
    """Whether a tool renders objects in a folder, above or below it."""
    own = f"{folder or '.'}/"
    others = [f"{one or '.'}/" for one in world.inventory.rendered]
    return any(own.startswith(one) or one.startswith(own) or "./" in (own, one) for one in others)


def _meant(one: Reference, workload: Workload, world: World) -> Definition | None:
    """Find the object with a similar name; None if the name exists.

    Raises NotKnown if the name is unknown, or that of an object which it may mean.
    """
    name, folder = if_set(one.name), world.deployed.folder(workload)
    if name is None or name in _GIVEN or (one.kind, name) in _defined(world):
        return None
    near = [own for own in _by_folder(world).get(folder, []) if own.kind == one.kind]
    need(first_unknown(value for own in near for value in (own.name, own.namespace, workload.namespace)))
    if not all(isinstance(own.name, Known) for own in near):
        return None
    used = _named(world) if one.kind not in _CRUCIAL else set()
    here = [one for one in near if known(one.namespace) == known(workload.namespace)]
    free = [own for own in here if (one.kind, known(own.name)) not in used]
    other = free[0] if free and one.kind == "PersistentVolumeClaim" and name == name.lower() else None
    return next((own for own in free if nearly_same(name, known(own.name) or "")), other)


@once
def _defined(world: World) -> set[tuple[str, str | None]]:
    return {(one.kind, known(one.name)) for one in world.inventory.definitions}


@once
def _by_folder(world: World) -> dict[str, list[Definition]]:
    return grouped(world.inventory.definitions, world.deployed.folder)


@once
def _named(world: World) -> set[tuple[str, str | None]]:
    pods = (template for workload in world.inventory.workloads for template in workload.templates)
    return {(one.kind, known(one.name)) for template in pods for one in template.references}


def selected(budget: Definition, world: World) -> int:
    """Count the pods in the same folder that a budget selects."""
    found, asked = _selected(budget, world), if_set(budget.selector) or {}
    if not found:
        near = _labelled(world.deployed.scope(budget), if_set(budget.namespace), world)
        need(first_unknown(map(near.unknown.get, asked)))
    return sum(need(one.count if isinstance(one.kept, Unset) else one.kept) for one in found)


def kept(budget: Definition, world: World) -> int:
    """Count the selected pods that `minAvailable` keeps; percentages are rounded up."""
    return part_of(selected(budget, world), if_set(budget.min_available) or "0")


def _selected(budget: Definition, world: World) -> list[PodTemplate]:
    selector = if_set(budget.selector) or {}
    near = _labelled(world.deployed.scope(budget), if_set(budget.namespace), world)
    found = near.by_label.get(next(iter(selector.items()), ("", "")), ())
    return [template for template, labels in found if selector.items() <= labels.items()]


def misses(budget: Definition, world: World) -> Workload | None:
    """Find the workload that a budget probably means but does not select."""
    selector = if_set(budget.selector) or {}
    rendered = budget in world.inventory.scope_of or _near_tools(world.deployed.folder(budget), world)
    near = _labelled(world.deployed.scope(budget), if_set(budget.namespace), world)
    if rendered or not selector or _selected(budget, world):
        return None
    pairs = ((value, one) for value in selector.values() for one in islice(near.served.get(value[:2], ()), _MOST))
    return next((one for value, (text, one) in pairs if nearly_same(value, text)), None)


class _Labelled(Struct, frozen=True):
    """Pods by label, and `served` workloads by first letters of names.

    `unknown`: an unknown value of a label that pods have.
    """

    by_label: dict[tuple[str, str], list[tuple[PodTemplate, dict[str, str]]]]
    served: dict[str, list[tuple[str, Workload]]]
    unknown: dict[str, Unknown | None]


@once
def _labelled(scope: str, namespace: str | None, world: World) -> _Labelled:
    """Index the pods of a scope and namespace by their labels."""
    near = [one for one in world.deployed.in_scope(scope).workloads if if_set(one.namespace) == namespace]
    pods = [(template, need(template.labels), one) for one in near for template in one.templates]
    found = _Labelled(defaultdict(list), defaultdict(list), {})
    for template, labels, one in pods:
        for item in labels.items():
            found.by_label[item].append((template, labels))
            found.unknown[item[0]] = found.unknown.get(item[0]) or placeholders.unknown([item[1]])
        if one.kind in ("Deployment", "StatefulSet"):
            for text in (*labels.values(), known(one.name) or ""):
                found.served[text[:2]].append((text, one))
    return found


def nearly_same(left: str, right: str) -> bool:
    """Whether two names differ only by a typo, an ending or a short form."""
    words = [[word for word in _WORDS.findall(text) if word not in _ENDINGS] for text in (left, right)]
    one, other = ("".join(word for word in own if word not in rest) for own, rest in (words, reversed(words)))
    if _shortens(one, other) or _shortens(other, one):
        return True
    too_long = max(len(one), len(other)) > _LONGEST or abs(len(one) - len(other)) > _MOST_EDITS
    if too_long or _DIGITS.findall(one) != _DIGITS.findall(other):
        return False
    return _edits(one, other) <= min(_MOST_EDITS, len(one) // _LETTERS, len(other) // _LETTERS)


def _shortens(short: str, word: str) -> bool:
    """Whether a word without vowels is a short form of another: cfg of config."""
    letters = iter(word)
    return bool(_SHORT.fullmatch(short)) and short[0] == word[:1] and all(letter in letters for letter in short)


def _edits(left: str, right: str) -> int:
    """Count the fewest letters to add, remove or replace between two texts."""
    row = list(range(len(right) + 1))
    for i, char in enumerate(left, 1):
        above, row = row, [i]
        for j, other in enumerate(right, 1):
            row.append(min(above[j] + 1, row[-1] + 1, above[j - 1] + (char != other)))
    return row[-1]
