"""Collect the words of a rule as variables of a policy."""

import re
from collections.abc import Mapping
from functools import cache
from graphlib import TopologicalSorter
from typing import NamedTuple

from kcheck.addons.admission import kinds
from kcheck.addons.admission.kinds import literal
from kcheck.addons.admission.table import PARTS, VARIABLES, Part, compile_policy, facts, table
from kcheck.config.numbers import names, profiles, tags
from kcheck.config.numbers.clouds import CLOUDS
from kcheck.engine.words.subjects import SUBJECTS
from kcheck.inventory.clouds import karpenter_pools, registry
from kcheck.kubernetes.workloads import gangs, pods
from kcheck.model import KUEUE_PRIORITY, image_names
from kcheck.scale import placement, queues
from kcheck.text.regex import regex

Path = tuple[str, ...]

_FROM = {"template": ("templates",), "container": ("templates", "containers")}
"""Path from the object to its parts."""

_ROOTS = {**_FROM, "pool": ("pool_list",)}
"""Like `_FROM`, plus lists in parameters."""

_NAMES = (*VARIABLES, "pod", "item", "template", "container", "pool", "line")
RESERVED = {"namespace": "object_namespace"}
"""New names for words that CEL reserves."""

_VARIABLE = regex(r"\bvariables\.(\w+)")
_CONSTANT = regex(r"\bconstants\.(\w+)")
PARAMETER = regex(r"\bparams\.data\.(\w+)")
"""Matches a parameter in an expression."""


class Variable(NamedTuple):
    """A named expression of a policy."""

    name: str
    expression: str


class Words:
    """Words of an object that a policy needs, resolved by the table.

    `missing` are words not in the table; `parameters` are names of values that words need.
    """

    def __init__(self, subject: str, own_kinds: tuple[str, ...], known: frozenset[str]) -> None:
        self.subject = subject
        self.kinds = own_kinds
        self.known = known
        self.missing: dict[str, None] = {}
        self.parameters: dict[str, None] = {}
        self._wanted: dict[Path, None] = {}
        self._outer: set[Path] = set()

    def want(self, path: Path, within: Path | None = None) -> None:
        """Add a word of the object, by its path, with everything it needs.

        `within` is the part of the object that uses the word, if any.
        """
        place: Path = ()
        subject = self.subject
        for at, name in enumerate(path):
            if subject in PARTS and name == PARTS[subject]:
                place, subject = (), self.subject
                continue
            if name in _FROM and subject in PARTS:
                place, subject = _FROM[name], name
                continue
            place = (*place, name if place else RESERVED.get(name, name))
            if place[:-1] != within:
                self._outer.add(place)
            if place not in self._wanted:
                self._wanted[place] = None
                self._take_in(subject, place)
            part = table()["parts"].get(f"{subject}.{name}")
            if part is not None and "among" in part:
                self.want((part["among"], *path[at + 1 :]))
                return
            inner = _of(subject, name)
            if inner and part is None and path[at + 1 :]:
                self.missing[f"{subject}.{name}"] = None
            if not inner or part is None:
                return
            subject = inner

    def _take_in(self, subject: str, place: Path) -> None:
        text = self._text(subject, place[-1])
        if text is None:
            self.missing[f"{subject}.{place[-1]}"] = None
            return
        for name in PARAMETER.findall(text):
            self.parameters[name] = None
        for path in _paths(text):
            root, *rest = path
            if root == "variables" and rest:
                self.want(tuple(rest))
            elif root in _ROOTS:
                self.want((*_ROOTS[root], *rest), _ROOTS[root] if root == subject else None)

    def _text(self, subject: str, name: str) -> str | None:
        """Return the table's expression for a word; None if unknown."""
        part = table()["parts"].get(f"{subject}.{name}")
        if part is not None:
            return self._filled(part["of"])
        text = table()["words"].get(subject, {}).get(name)
        better = table()["better"].get(f"{subject}.{name}")
        if better is not None and self.known.issuperset(better["needs"]):
            text = better["of"]
        if text is None:
            return self._computed(subject, name)
        written = table()["written"].get(f"{subject}.{name}")
        text = self._filled(text)
        return text if written is None else f"[{text}].map(value, value == {written} ? dyn(null) : dyn(value))[0]"

    @staticmethod
    def _filled(text: str) -> str:
        return _CONSTANT.sub(lambda match: literal(_constants()[match[1]]), " ".join(text.split()))

    def _computed(self, subject: str, name: str) -> str | None:
        """Return a word's expression by kind; None if no table has it."""
        if name == kinds.GROUP_KIND:
            return 'object.apiVersion.split("/")[0] + "/" + object.kind'
        if subject != "workload":
            return None
        if name == kinds.GROUPS:
            return kinds.pod_groups(self.kinds)
        if name == "elastic":
            return kinds.is_elastic(self.kinds)
        if name.endswith("_written"):
            return kinds.written_field(name.removesuffix("_written"), self.kinds)
        if name in facts("Pod"):
            return kinds.by_kind({kind: literal(facts(kind)[name]) for kind in self.kinds})
        own = name.removeprefix("own_")
        flag = any(field.name == name and field.type == "bool" for field in SUBJECTS["workload"])
        found = kinds.field({"gang_size": "least"}.get(own, own), self.kinds, unset=False if flag else None)
        return "dyn(null)" if found is None and own != name else found

    # --- variables

    def variables(self) -> list[Variable]:
        """List the variables, each after those it needs."""
        nullable = {field.name for field in SUBJECTS[self.subject] if field.nullable}
        found = {}
        for place in (place for place in self._wanted if len(place) == 1):
            text = self._expression(self.subject, place)
            # rules compare it with null, which a value of a known type may not be
            found[place[0]] = f"dyn({text})" if place[0] in nullable and "null)" not in text else text
        result: dict[str, Variable] = {}

        def add(name: str) -> None:
            if name in result or name not in found:
                return
            for other in _VARIABLE.findall(found[name]):
                if other != name:
                    add(other)
            result[name] = Variable(name, found[name])

        for name in found:
            add(name)
        return list(result.values())

    def _expression(self, subject: str, place: Path) -> str:
        part = table()["parts"].get(f"{subject}.{place[-1]}")
        if part is None:
            return self._text(subject, place[-1]) or ""
        if "among" in part:
            variable = _of(self.subject, part["among"])
            chosen = f"variables.{part['among']}.filter({variable}, {self._text(subject, place[-1])})"
            if part.get("only"):
                return f"size({chosen}) > 0 ? dyn({chosen}[0]) : dyn(null)"
            return chosen
        return self._list(_of(subject, place[-1]), place, part)

    def _list(self, subject: str, place: Path, part: Part) -> str:
        """Build the list of an object's parts, each a map of its words."""
        names = [one[-1] for one in self._wanted if one[:-1] == place]
        text = self._filled(part["of"])
        if "as" not in part:
            found = _map({name: self._expression(subject, (*place, name)) for name in names})
            return found if text == "true" else f"{text} ? dyn({found}) : dyn(null)"
        steps = self._steps(subject, names)
        raw = variable = part["as"]
        for i, step in enumerate(steps):
            later = [name for other in steps[i + 1 :] for name in other]
            needed = {name for name in names if (*place, name) in self._outer}
            needed |= {name for other in later for name in self._needs(subject, other)}
            members = {name: f"{variable}.{name}" for other in steps[:i] for name in other if name in needed}
            for name in step:
                expression = self._expression(subject, (*place, name))
                # what the first step called by its name is a member from then on
                members[name] = expression if variable == raw else _uses(raw).sub(f"{variable}.{raw}.", expression)
            if any(_uses(raw).search(self._text(subject, name) or "") for name in later):
                members[raw] = raw if variable == raw else f"{variable}.{raw}"
            text = f"{text}.map({variable}, {_map(members)})"
            variable = subject
        return text

    def _steps(self, subject: str, names: list[str]) -> list[list[str]]:
        """Group the words of a part into steps by dependency."""
        left = TopologicalSorter({name: self._needs(subject, name) & set(names) for name in names})
        left.prepare()
        steps: list[list[str]] = []
        while left.is_active():
            steps.append(sorted(left.get_ready(), key=names.index))
            left.done(*steps[-1])
        return steps or [[]]

    def _needs(self, subject: str, name: str) -> set[str]:
        """Return the other words of a part that a word needs, directly or in a record."""
        place = (*_ROOTS.get(subject, ()), name)
        inner = [(_of(subject, name), word[-1]) for word in self._wanted if word[:-1] == place]
        texts = (self._text(*word) or "" for word in [(subject, name), *inner])
        used = (path for text in texts for path in _paths(text))
        return {path[1] for path in used if path[0] == subject and len(path) > 1} - {name}


@cache
def _uses(name: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![.\w\"]){name}\.")


def _map(found: Mapping[str, str]) -> str:
    return kinds.members({name: f"dyn({text})" for name, text in found.items()})


def _of(subject: str, name: str) -> str:
    """Return the subject of the objects a word lists; empty for other words."""
    part = table()["parts"].get(f"{subject}.{name}")
    if part is not None and "gives" in part:
        return part["gives"]
    found = next((field for field in SUBJECTS.get(subject, ()) if field.name == name), None)
    return found.type if found is not None and found.kind in ("record", "records") else ""


@cache
def _paths(text: str) -> tuple[Path, ...]:
    usage = compile_policy(text, _NAMES).used
    return tuple(tuple(path.split(".")) for path in sorted(usage.paths))


def route(subject: str, path: str) -> Path:
    """Return the path from the object to a word that a rule names."""
    path = path.replace("[]", "")
    if path in table()["same"]:
        return (table()["same"][path],)
    _, *rest = path.split(".")
    own = ("templates", "containers", "image") if subject == "image" else _FROM.get(subject, ())
    return (*own, *rest)


@cache
def _constants() -> dict[str, object]:
    clouds = list(registry.every())
    spot_keys = {key for cloud in clouds for key in cloud.spot_labels}
    named = spot_keys | {cloud.spot_label.key for cloud in clouds if cloud.spot_label} | {karpenter_pools.CAPACITY}
    patterns = (profiles.settings(cloud).get("pool.gpu_types") for cloud in CLOUDS)
    machines = "|".join(dict.fromkeys(f"({one.text})" for one in patterns if one is not None))
    return {
        "cards": list(names.cards()), "docker_hub": sorted(image_names.HUB_HOSTS),
        "gang_marks": list(gangs.MARKS), "gpu_families": f"^({'|'.join(karpenter_pools.GPU_FAMILIES)})$|{machines}",
        "gpu_keys": f"{queues.gpu_pattern().pattern}|^(limits[.])?({'|'.join(map(re.escape, names.cards()))})$",
        "gpu_machines": machines, "job_retries": profiles.settings("any")["job.retries"].value,
        "moving_tags": sorted(tags.moving()), "commit": f"^{tags.COMMIT}$", "numbered": f"^({tags.NUMBERED})$",
        "priority_label": KUEUE_PRIORITY, "queue_label": gangs.KUEUE, "rdma": f"(?i){pods.RDMA.pattern}",
        "shares": f"^({names.pattern('shares').pattern})",
        "spot_keys": sorted(spot_keys),
        "spot_labels": [f"{key}={value}" for key in sorted(named) for value in sorted(placement.SPOT_VALUES)],
        "starters": pods.STARTERS.pattern, "stores": f"(?i){names.pattern('stores').pattern}",
        "volcano_queues": list(gangs.VOLCANO),
    }  # fmt: skip
