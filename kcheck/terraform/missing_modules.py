"""Modules without code: guess their resources from names and arguments.

`profiles/unread.yaml` has the words and arguments that identify them. A stand-in is a skeleton without defaults:
arguments that the call does not set are unknown, never absent.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from msgspec.structs import replace

from kcheck.config.numbers import profiles
from kcheck.terraform import registry
from kcheck.terraform.configuration import CALL_ARGUMENTS
from kcheck.terraform.copies import parse_address
from kcheck.text.partly_known import wrap
from kcheck.text.regex import regex
from kcheck.text.text import Skipped
from kcheck.text.values import Origin

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Set

    from kcheck.terraform.configuration import Configuration
    from kcheck.terraform.module import Module
    from kcheck.text.syntax.hcl import nodes

REMEDY = "run `terraform init`, or name a copy with --module-dir DIR"

_WORD = regex(r"[a-z0-9]+")


def may_make(block: nodes.Block, source: str) -> str:
    """Guess from its names what a module creates: `clusters`, `node pools`, `networks` or nothing."""
    words, given = _words(block, source), _given(block)
    if words & _ignored():
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
    """Yield unread modules that may create clusters, node pools or networks, once per source.

    Networks alone count only beside resources whose types begin with one of `clusters`, or beside other unread modules.
    """
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
    if words & _ignored():
        return None
    for entry in profiles.unread_modules()["stand_ins"]:
        inputs = {name: tuple(spellings) for name, spellings in entry["inputs"].items()}
        found = {name for name, spellings in inputs.items() if given & set(spellings)}
        other = given & set(entry["unlike"]) or (entry["partial"] and _is_handed_one(given))
        if other or not words & set(entry["words"]) or not all(found & set(one) for one in entry["needs"]):
            continue
        if words & set(entry["cloud"]) or _providers(module) == {entry["provider"]}:
            skeleton = registry.load(entry["file"])
            told = wrap(sorted(found), Origin((block.header,)))
            why = why_unread(block, source)
            return replace(skeleton, unread=why, inputs=inputs, partial=entry["partial"], defaults={"given": told})
    return None


def source_of(block: nodes.Block) -> str:
    """Return the source of a call as written."""
    entry = block.body.attributes.get("source")
    return entry.value_span.text.strip('"') if entry is not None else ""


def _given(block: nodes.Block) -> Set[str]:
    return block.body.attributes.keys() - CALL_ARGUMENTS


def _words(block: nodes.Block, source: str) -> set[str]:
    return _words_of(source) | _split(block.labels[0])


def _words_of(source: str) -> set[str]:
    """List the words in a source's repository name and folder; none for relative paths."""
    address = parse_address(source)
    if address is None:
        return set()
    name = address.repository.rpartition("/")[2]
    return _split(f"{name.removeprefix('terraform-')} {address.folder.removeprefix('modules/')}")


def _split(text: str) -> set[str]:
    """Split a name into words, adding their singulars."""
    words = set(_WORD.findall(text.lower()))
    return words | {word.removesuffix("s") for word in words}


def _is_handed_one(given: Set[str]) -> bool:
    """Whether a call gets an existing cluster as argument."""
    return not given.isdisjoint(profiles.unread_modules()["handed"])


@cache
def _ignored() -> frozenset[str]:
    return frozenset(profiles.unread_modules()["ignored"])


def _providers(module: Module) -> set[str]:
    known = {entry["provider"] for entry in profiles.unread_modules()["stand_ins"]}
    found = set()
    for one in (module, module.root):
        found |= {provider.labels[0] for provider in one.configuration.providers if provider.labels}
        found |= {name for block in one.configuration.required for name in block.body.attributes}
        found |= {kind.partition("_")[0] for kind, _ in (*one.configuration.resources, *one.configuration.data)}
    return found & known
