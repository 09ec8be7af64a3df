"""Modules without their code: skeletons and stand-ins.

`profiles/modules.yaml` lists the skeletons. A matching one wins over a downloaded copy, so that results are equal with
and without `.terraform/`. `profiles/unread.yaml` has the words and arguments that identify other modules. A stand-in is
a skeleton without defaults: arguments that the call does not set are unknown, never absent.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Set
from functools import cache
from typing import TYPE_CHECKING

from msgspec.structs import replace

from kcheck.config.numbers import profiles
from kcheck.terraform.configuration import CALL_ARGUMENTS, Configuration
from kcheck.terraform.copies import canonical, parse_address
from kcheck.terraform.module import Module
from kcheck.text import versions
from kcheck.text.bundled import PROFILES
from kcheck.text.partly_known import wrap
from kcheck.text.regex import regex
from kcheck.text.syntax.hcl import nodes
from kcheck.text.syntax.hcl.parse import parse
from kcheck.text.text import Skipped, Source
from kcheck.text.values import Origin
from kcheck.text.versions import Range

if TYPE_CHECKING:
    from kcheck.config.numbers.profiles import ModuleEntry, SkeletonEntry

_REGISTRY = regex(r"(?:[\w.-]+\.[\w.-]+/)?([\w-]+/[\w-]+/[\w-]+)(//[^?]*)?$")
_REPOSITORY = regex(r"github\.com[/:]([\w.-]+/[\w.-]+?)(?:\.git)?(//[^?]*)?(?:\?(?:.*&)?ref=([^&]+).*)?$")


def find(
    source: str, constraint: str, inputs: Set[str], locked: Callable[[], dict[str, str]]
) -> Configuration | str | None:
    """Find the skeleton of a call, or why there is none."""
    registry, repository = _REGISTRY.fullmatch(source), _REPOSITORY.search(canonical(source))
    module = _published_as(canonical(source))
    if module is None and repository is not None and repository[1].lower() in _whole():
        return Configuration(source, skeleton=True)
    if module is None:
        return f"kcheck does not know the module {source}" if registry or repository or "::" in source else None
    if repository is not None:
        constraint = (repository[3] or "").removeprefix("v")
    wanted = versions.parse(constraint) or versions.ANY  # as of a branch or a commit
    fitting = [one for one in module["skeletons"] if _range(one["versions"]).both(wanted)]
    if not fitting:
        return f"kcheck does not know version {constraint} of the module {source}"
    if len(fitting) > 1:
        fitting = _fitting_lock(fitting, locked()) or fitting
    return _best(fitting, inputs)


def _published_as(source: str) -> ModuleEntry | None:
    found = _REPOSITORY.search(source) or _REGISTRY.fullmatch(source)
    return _index().get((found[1] + (found[2] or "")).lower()) if found is not None else None


def copy_of(configuration: Configuration) -> Configuration | None:
    """Find the skeleton of the module that a folder copies, by its variables."""
    declared = configuration.variables.keys()
    for module in profiles.modules().values():
        if module["declares"] and all(name in declared for name in module["declares"]):
            if any(_published_as(source_of(block)) is module for block in configuration.calls.values()):
                return None
            return _best(module["skeletons"], declared)
    return None


def _fitting_lock(skeletons: Iterable[SkeletonEntry], locked: dict[str, str]) -> list[SkeletonEntry]:
    def fits(provider: str, wanted: str) -> bool:
        version = versions.parse(locked.get(provider, ""))
        return version is None or version.both(_range(wanted)) is not None

    return [one for one in skeletons if all(fits(*pair) for pair in one.get("providers", {}).items())]


def _best(skeletons: Iterable[SkeletonEntry], inputs: Set[str]) -> Configuration:
    """Load the skeleton that declares the most inputs; among equal ones, the newest."""

    def loaded(entry: SkeletonEntry) -> Configuration:
        return load(entry["file"], tuple(entry.get("defaults", {}).items()), frozenset(entry.get("lacks", ())))

    best = max(skeletons, key=lambda one: (len(loaded(one).variables.keys() & inputs), _range(one["versions"]).low))
    return loaded(best)


@cache
def load(
    path: str, defaults: tuple[tuple[str, object], ...] = (), lacks: frozenset[str] = frozenset()
) -> Configuration:
    """Load a skeleton by its path in `profiles/`, over a shared `all.tf`."""
    source, shared = _skeleton(path), f"{os.path.dirname(path)}/all.tf"
    origin = Origin((source.span(0, 0),))
    values = {name: wrap(value, origin) for name, value in defaults}
    configuration = Configuration(path, skeleton=True, defaults=values, lacks=lacks)
    if os.path.exists(os.path.join(PROFILES, shared)):
        configuration.add(parse(_skeleton(shared)))
    configuration.add(parse(source), override=True)
    return configuration


def _skeleton(path: str) -> Source:
    with open(os.path.join(PROFILES, path), "rb") as file:
        return Source(f"kcheck:{path}", file.read(), bundled=True)


@cache
def _index() -> dict[str, ModuleEntry]:
    result = {}
    for source, module in profiles.modules().items():
        folder = source.partition("//")[2]
        result[source.lower()] = module
        result[(module["repository"] + (f"//{folder}" if folder else "")).lower()] = module
    return result


@cache
def _whole() -> frozenset[str]:
    """List repositories with a skeleton for each cluster module."""
    return frozenset(entry["repository"].lower() for entry in profiles.modules().values() if entry.get("whole"))


@cache
def _range(constraint: str) -> Range:
    found = versions.parse(constraint)
    if found is None:
        raise ValueError(f"{constraint!r} in profiles/modules.yaml is not a version constraint")
    return found


def locked_providers(file: nodes.File) -> dict[str, str]:
    """Read the provider versions that a `.terraform.lock.hcl` pins, by provider name."""
    result = {}
    for block in file.body.all("provider"):
        version = block.body.literal("version")
        if block.labels and version is not None:
            result[block.labels[0].rpartition("/")[2]] = str(version.value)
    return result


# --- stand-ins of modules that are not published

REMEDY = "run `terraform init`, or name a copy with --module-dir DIR"

_WORD = regex(r"[a-z0-9]+")


def may_make(block: nodes.Block, source: str) -> str:
    """Guess from its names what a module creates."""
    words, given = _words(block, source), _given(block)
    if _is_ignored(words):
        return ""
    kinds = profiles.unread_modules()["kinds"].items()
    by_arguments = (kind for kind, signs in kinds if given & set(signs["arguments"]))
    address = parse_address(source)
    named = address is not None and address.path != address.repository  # in a registry its own name says what it is
    own = _words_of(source) if named else words
    by_words = (kind for kind, signs in kinds if own & set(signs["words"]))
    found = next(by_arguments, "") or next(by_words, "")
    return "" if found == "clusters" and _is_handed_one(given) else found


def skipped(roots: Iterable[Module], clusters: tuple[str, ...]) -> Iterator[Skipped]:
    """Yield unread modules that may create what is wanted, once a source."""
    found: dict[str, tuple[str, nodes.Block, bool]] = {}
    for root in roots:
        for _caller, block, told in root.unread():
            source = source_of(block)
            kind = may_make(block, source)
            if kind and not block.header.source.bundled:
                found.setdefault(source, (kind, block, told))
    kinds = {kind for root in roots for kind in root.kinds()}
    judged = any(kind.startswith(clusters) for kind in kinds) or any(row[0] != "networks" for row in found.values())
    for source, (kind, block, told) in found.items():
        if kind != "networks" or judged:
            why = "only its arguments were read" if told else f"it may create {kind}"
            place = block.header
            yield Skipped(place.source.path, f"{_named(block, source)} was not read; {why}", place.begin.line, REMEDY)


def why_unread(block: nodes.Block, source: str) -> str:
    """Return why the resources of a module are unknown."""
    return f"{_named(block, source)} was not read; {REMEDY}"


def _named(block: nodes.Block, source: str) -> str:
    return f"module {block.labels[0]} ({source})"


def stand_in(module: Module, block: nodes.Block, source: str) -> Configuration | None:
    """Find a stand-in skeleton for the arguments of a call; None if none fits."""
    words, given = _words(block, source), _given(block)
    if _is_ignored(words):
        return None
    for entry in profiles.unread_modules()["stand_ins"]:
        inputs = {name: tuple(spellings) for name, spellings in entry["inputs"].items()}
        found = {name for name, spellings in inputs.items() if given & set(spellings)}
        other = given & set(entry["unlike"]) or (entry["partial"] and _is_handed_one(given))
        if other or not words & set(entry["words"]) or not all(found & set(one) for one in entry["needs"]):
            continue
        if words & set(entry["cloud"]) or _providers(module) == {entry["provider"]}:
            skeleton = load(entry["file"])
            told = wrap(sorted(found), Origin((block.header,)))
            why = why_unread(block, source)
            return replace(skeleton, unread=why, inputs=inputs, partial=entry["partial"], defaults={"given": told})
    return None


def source_of(block: nodes.Block) -> str:
    """Return the source of a call as written."""
    return block.body.written("source")


def _given(block: nodes.Block) -> Set[str]:
    return block.body.attributes.keys() - CALL_ARGUMENTS


def _words(block: nodes.Block, source: str) -> set[str]:
    return _words_of(source) | _split(block.labels[0])


def _words_of(source: str) -> set[str]:
    """List the words in a source's repository name and folder."""
    address = parse_address(source)
    if address is None:
        return set()
    name = address.repository.rpartition("/")[2]
    return _split(f"{name.removeprefix('terraform-')} {address.folder.removeprefix('modules/')}")


def _split(text: str) -> set[str]:
    """Split a name into words, adding their singulars."""
    words = set(_WORD.findall(text.lower()))
    return words | {word.removesuffix("s") for word in words}


def _is_ignored(words: set[str]) -> bool:
    return not words.isdisjoint(profiles.unread_modules()["ignored"])


def _is_handed_one(given: Set[str]) -> bool:
    """Whether a call passes an existing cluster as argument."""
    return not given.isdisjoint(profiles.unread_modules()["handed"])


def _providers(module: Module) -> set[str]:
    known = {entry["provider"] for entry in profiles.unread_modules()["stand_ins"]}
    found = set()
    for one in (module, module.root):
        found |= {provider.labels[0] for provider in one.configuration.providers if provider.labels}
        found |= {name for block in one.configuration.required for name in block.body.attributes}
        found |= {kind.partition("_")[0] for kind, _ in (*one.configuration.resources, *one.configuration.data)}
    return found & known
