"""Find the objects in the examples of rules, and whether their rule finds them: its policy has to agree."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NamedTuple

import yaml

from kcheck.addons.authoring import rule_examples
from kcheck.engine import rules
from kcheck.engine.rule import Example
from kcheck.text import bundled
from kcheck.text.findings import Severity
from tests.apiserver.manifests import objects
from tests.conftest import written

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from kcheck.engine.rule import Rule
    from tests.apiserver.client import Object


class Side(NamedTuple):
    """The bad, good or fixed files of one example of a rule."""

    rule: Rule
    number: int
    side: str
    files: Mapping[str, str]
    nodes: int | None

    @property
    def name(self) -> str:
        """A name that is also a valid label value."""
        return f"{self.rule.name}-{self.number}-{self.side}"

    def objects(self) -> Iterator[Given]:
        """Yield the objects in the files."""
        found = self._found(self.files, Severity.INFO) if self.side == "bad" else set()
        for path, text in self.files.items():
            for thing in objects(text):
                yield Given(self, path, thing, is_in(found, thing))

    def _found(self, files: Mapping[str, str], least: Severity) -> set[str]:
        """Return the names of objects, and of their parts, that the rule finds in some files."""
        example = Example(0, dict(files), {}, None, self.nodes, None)
        findings = [one for one in rule_examples.ExampleRun(self.rule, example).findings() if one.severity >= least]
        return {f"{name.partition(':')[2]}/" for one in findings for name in one.objects}

    def finds_alone(self, thing: Object) -> bool:
        """Return whether the rule finds an object alone, at warning or above, with no other files."""
        alone = self._replace(nodes=None)
        return is_in(alone._found({"object.yaml": as_yaml(thing)}, Severity.WARNING), thing)

    def finds(self, one: Given, thing: Object) -> bool:
        """Return whether the rule finds an object, at warning or above, when it replaces one in the example's files."""
        documents = yaml.load_all(self.files[one.path], bundled.loader())
        text = "\n---\n".join(as_yaml(thing if document == one.thing else document) for document in documents)
        alone = self._replace(nodes=None)  # a policy sees one workload, not the target
        return is_in(alone._found({**self.files, one.path: text}, Severity.WARNING), thing)

    def written(self, folder: Path) -> list[str]:
        """Write the files into a folder, and return the arguments of a kcheck command on them."""
        home = written(folder / self.name, self.files)
        (home / ".git").mkdir()  # settings are looked for no further up
        return [str(home), *(["--nodes", str(self.nodes)] if self.nodes is not None else [])]


class Given(NamedTuple):
    """An object of an example, and whether the rule finds it there."""

    side: Side
    path: str
    thing: Object
    found: bool

    def __str__(self) -> str:
        return f"{self.side.name} {self.path} {named(self.thing)}"


def named(thing: Object) -> str:
    """Return the name of an object in findings."""
    metadata = thing["metadata"]
    return "/".join([thing["kind"], *filter(None, (metadata.get("namespace"), str(metadata.get("name"))))])


def as_yaml(document: object) -> str:
    """Return a document as JSON, which is YAML and quicker to write."""
    return json.dumps(document, default=str, indent=1)


def is_in(found: Iterable[str], thing: Object) -> bool:
    """Return whether an object or a part of it is among the found names."""
    return any(one.startswith(f"{named(thing)}/") for one in found)


def sides(names: Iterable[str], *wanted: str) -> list[Side]:
    """Return the sides of some rules' examples that contain objects."""
    names = set(names)
    return [
        Side(rule, number, side, files, example.nodes)
        for rule in rules.load()
        if rule.name in names
        for number, example in enumerate(rule.documentation.examples)
        for side in wanted
        if (files := getattr(example, side)) and any(True for text in files.values() for _ in objects(text))
    ]
