"""Published modules: find the skeleton in `profiles/` for a call.

`profiles/modules.yaml` lists them. A matching skeleton wins over a downloaded copy, so that results are equal with
and without `.terraform/`.
"""

from __future__ import annotations

import os
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from kcheck.config.numbers import profiles
from kcheck.terraform.configuration import Configuration
from kcheck.terraform.copies import canonical
from kcheck.text import versions
from kcheck.text.bundled import PROFILES
from kcheck.text.partly_known import wrap
from kcheck.text.regex import regex
from kcheck.text.syntax.hcl import nodes
from kcheck.text.syntax.hcl.parse import parse
from kcheck.text.text import Source
from kcheck.text.values import Origin

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Set

    from kcheck.text.versions import Range

_REGISTRY = regex(r"(?:[\w.-]+\.[\w.-]+/)?([\w-]+/[\w-]+/[\w-]+)(//[^?]*)?$")
_REPOSITORY = regex(r"github\.com[/:]([\w.-]+/[\w.-]+?)(?:\.git)?(//[^?]*)?(?:\?(?:.*&)?ref=([^&]+).*)?$")


class Skeleton(NamedTuple):
    """Skeleton file for a range of versions.

    `providers` are the provider versions it requires, `defaults` replace those in the file, `lacks` names variables
    that these versions do not have.
    """

    path: str
    versions: Range
    providers: dict[str, Range]
    defaults: tuple[tuple[str, object], ...]
    lacks: frozenset[str]


class Published(NamedTuple):
    """Published module. A local copy is recognised by the variables in `declares`."""

    source: str
    repository: str
    declares: frozenset[str]
    skeletons: tuple[Skeleton, ...]


def find(
    source: str, constraint: str, inputs: Set[str], locked: Callable[[], dict[str, str]]
) -> Configuration | str | None:
    """Find the skeleton of a call, or why there is none; None for other kinds of sources.

    The version comes from the constraint, then the locked providers, then the inputs used.
    """
    registry, repository = _REGISTRY.fullmatch(source), _REPOSITORY.search(canonical(source))
    module = _named(canonical(source))
    if module is None and repository is not None and repository[1].lower() in _whole():
        return Configuration(source, skeleton=True)
    if module is None:
        return f"kcheck does not know the module {source}" if registry or repository or "::" in source else None
    if repository is not None:
        constraint = (repository[3] or "").removeprefix("v")
    wanted = versions.parse(constraint) if constraint else versions.ANY
    if wanted is None:  # a branch or a commit
        wanted = versions.ANY
    fitting = [s for s in module.skeletons if s.versions.overlaps(wanted)]
    if not fitting:
        return f"kcheck does not know version {constraint} of the module {source}"
    if len(fitting) > 1:
        fitting = _fitting_lock(fitting, locked()) or fitting
    return _best(fitting, inputs)


def _named(source: str) -> Published | None:
    found = _REPOSITORY.search(source) or _REGISTRY.fullmatch(source)
    return _index().get((found[1] + (found[2] or "")).lower()) if found is not None else None


def copy_of(configuration: Configuration) -> Configuration | None:
    """Find the skeleton of the module that a folder copies, recognised by its variables.

    A folder that calls the module passes on its variables and is not a copy.
    """
    declared = configuration.variables.keys()
    for module in _modules():
        if module.declares and module.declares <= declared:
            called = (block.body.attributes.get("source") for block in configuration.calls.values())
            if any(one and _named(one.value_span.text.strip('"')) is module for one in called):
                return None
            return _best(module.skeletons, declared)
    return None


def _fitting_lock(skeletons: Iterable[Skeleton], locked: dict[str, str]) -> list[Skeleton]:

    def fits(skeleton: Skeleton) -> bool:
        for provider, wanted in skeleton.providers.items():
            version = versions.parse(locked[provider]) if provider in locked else None
            if version is not None and not version.overlaps(wanted):
                return False
        return True

    return [skeleton for skeleton in skeletons if fits(skeleton)]


def _best(skeletons: Iterable[Skeleton], inputs: Set[str]) -> Configuration:
    """Load the skeleton that declares most of the inputs, the newest on a tie."""
    return max(
        ((s, load(s.path, s.defaults, s.lacks)) for s in skeletons),
        key=lambda pair: (len(pair[1].variables.keys() & inputs), pair[0].versions.low),
    )[1]


@cache
def load(
    path: str, defaults: tuple[tuple[str, object], ...] = (), lacks: frozenset[str] = frozenset()
) -> Configuration:
    """Load a skeleton by its path below `profiles/`; it overrides `all.tf`, which its versions share."""
    source, shared = _source(path), f"{os.path.dirname(path)}/all.tf"
    origin = Origin((source.span(0, 0),))
    values = {name: wrap(value, origin) for name, value in defaults}
    configuration = Configuration(path, skeleton=True, defaults=values, lacks=lacks)
    if os.path.exists(os.path.join(PROFILES, shared)):
        configuration.add(parse(_source(shared)))
    configuration.add(parse(source), override=True)
    return configuration


def _source(path: str) -> Source:
    with open(os.path.join(PROFILES, path), "rb") as file:
        return Source(f"kcheck:{path}", file.read(), bundled=True)


@cache
def _modules() -> tuple[Published, ...]:
    return tuple(_published(source, entry) for source, entry in profiles.modules().items())


@cache
def _index() -> dict[str, Published]:
    result = {}
    for module in _modules():
        folder = module.source.partition("//")[2]
        result[module.source.lower()] = module
        result[(module.repository + (f"//{folder}" if folder else "")).lower()] = module
    return result


@cache
def _whole() -> frozenset[str]:
    """List repositories whose cluster modules are all known."""
    return frozenset(entry["repository"].lower() for entry in profiles.modules().values() if entry.get("whole"))


def _published(source: str, entry: profiles.ModuleEntry) -> Published:
    return Published(
        source,
        entry["repository"],
        frozenset(entry["declares"]),
        tuple(
            Skeleton(
                fields["file"],
                _range(fields["versions"]),
                {name: _range(wanted) for name, wanted in fields.get("providers", {}).items()},
                tuple(fields.get("defaults", {}).items()),
                frozenset(fields.get("lacks", ())),
            )
            for fields in entry["skeletons"]
        ),
    )


def _range(constraint: str) -> Range:
    found = versions.parse(constraint)
    if found is None:
        raise ValueError(f"{constraint!r} in profiles/modules.yaml is not a version constraint")
    return found


def locked_providers(file: nodes.File) -> dict[str, str]:
    """Read the provider versions that a `.terraform.lock.hcl` pins, by provider name."""
    result = {}
    for block in file.body.all("provider"):
        version = block.body.attributes.get("version")
        if block.labels and version is not None and isinstance(version.expression, nodes.Literal):
            result[block.labels[0].rpartition("/")[2]] = str(version.expression.value)
    return result
