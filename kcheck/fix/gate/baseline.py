"""Known findings that a team has accepted, in a file beside the settings."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Callable, Collection, Iterable
from functools import cache

from msgspec import Struct, ValidationError, convert, to_builtins
from msgspec.structs import replace

from kcheck.config.config import Config, ConfigError, today
from kcheck.config.numbers.clouds import CLOUDS
from kcheck.engine import rules
from kcheck.engine.linter import Result
from kcheck.text.files import system
from kcheck.text.files.boundary import contains_path
from kcheck.text.files.tree import TERRAFORM, VARIABLES, display_path
from kcheck.text.findings import Finding, Identity, Severities, Severity, severities_of, unnumbered
from kcheck.text.text import grouped

VERSION = 1


class BaselineEntry(Struct, frozen=True, omit_defaults=True):
    """A known finding; with a worse severity it is a new one.

    The message is for people. `about` is that of findings, or empty if another version wrote the entry.
    """

    rule: str
    path: str
    objects: tuple[str, ...]
    message: str
    severity: str
    since: str
    about: str = ""

    def __post_init__(self) -> None:
        if self.severity.upper() not in Severity.__members__:
            raise ValueError(f"unknown severity {self.severity}")

    def identity(self, name: str) -> Identity:
        """Return the identity of the finding for one of its objects."""
        return self.rule, self.path, name, self.about


class Baseline(Struct, frozen=True):
    """Entries of a baseline file; `not_ignorable` are rules that it cannot silence.

    `arguments` are the paths and flags of the run that wrote it: only a run with the same ones shows what is gone.
    """

    path: str
    entries: list[BaselineEntry] = []
    not_ignorable: Collection[str] = ()
    arguments: tuple[str, ...] = ()

    def known(self) -> Severities:
        """Group the severities of the findings by identity."""
        return severities_of(
            (entry.identity(name), Severity[entry.severity.upper()]) for entry in self.entries for name in entry.objects
        )

    def with_current_names(self, findings: Iterable[Finding]) -> Baseline:
        """Update names of moved files and folders, and entries of old versions."""
        there = {identity for finding in findings for identity in finding.identities}
        now = grouped(sorted(there - self.known().keys()), lambda one: (one[0], _name_without_folder(one[2])))
        entries = []
        for entry in self.entries:
            objects: dict[tuple[str, str], list[str]] = {}
            for name in entry.objects:
                path, called, about = entry.path, name, entry.about
                if entry.identity(name) not in there and not about:
                    near = now.get((entry.rule, _name_without_folder(name)), [])
                    moved = next((one for one in near if one[2] == name or not os.path.exists(path)), None)
                    if moved is not None:
                        near.remove(moved)
                        _, path, called, about = moved
                objects.setdefault((path, about), []).append(called)
            entries += [
                replace(entry, path=path, objects=tuple(names), about=about) for (path, about), names in objects.items()
            ]
        return replace(self, entries=entries)

    def gone(self, result: Result, rules: Collection[str]) -> list[BaselineEntry]:
        """List the entries that a complete run of `rules` no longer finds.

        Undecided or unreadable objects are not gone.
        """
        if result.bugs or any(found.kind == "unreadable" for found in result.world.inputs):
            return []
        there = {identity for finding in result.findings for identity in finding.identities}
        undecided = {(check.rule, check.object) for check in result.undecided}
        own = [entry for entry in self.entries if entry.rule in rules]
        return _of_objects(
            own, lambda entry, name: (entry.rule, name) not in undecided and entry.identity(name) not in there
        )

    def without(self, gone: Iterable[BaselineEntry]) -> Baseline:
        """Remove entries, or those of their objects, that are gone."""
        lost = {entry.identity(name) for entry in gone for name in entry.objects}
        kept = _of_objects(self.entries, lambda entry, name: entry.identity(name) not in lost)
        return replace(self, entries=kept)

    def updated(self, findings: Iterable[Finding], paths: Iterable[str], arguments: tuple[str, ...]) -> Baseline:
        """Replace entries below `paths` by the findings there."""
        tops = list(paths)
        now = today().isoformat()
        since = {entry.identity(name): entry.since for entry in self.entries for name in entry.objects}
        found = [finding for finding in findings if finding.rule not in self.not_ignorable]
        told = {identity for finding in found for identity in finding.identities}
        others = [entry for entry in self.entries if not _is_below(entry.path, tops)]
        entries = _of_objects(others, lambda entry, name: entry.identity(name) not in told)
        for finding in found:
            message, severity = unnumbered(finding.message), finding.severity.word
            for (path, about), own in grouped(sorted(finding.identities), lambda one: (one[1], one[3])).items():
                names, day = tuple(name for _, _, name, _ in own), min(since.get(one, now) for one in own)
                entries.append(BaselineEntry(finding.rule, path, names, message, severity, day, about=about))
        ordered = sorted(entries, key=lambda one: (one.path, one.rule, *one.objects, one.about))
        return replace(self, entries=ordered, arguments=self.arguments if others else arguments)

    def dump(self) -> bytes:
        """Serialize the baseline as JSON, in the order of its entries."""
        import json

        data = {
            "version": VERSION, "folder": _home(os.path.dirname(self.path)), "arguments": list(self.arguments),
            "findings": to_builtins(self.entries),
        }  # fmt: skip
        return (json.dumps(data, indent=1, ensure_ascii=False) + "\n").encode("utf-8", "backslashreplace")


def _home(folder: str) -> str:
    """Return the working directory relative to a folder, links resolved."""
    here = system.real_path(".")
    with contextlib.suppress(ValueError):
        here = os.path.relpath(here, system.real_path(folder))
    return here.replace(os.sep, "/")


def _of_objects(entries: Iterable[BaselineEntry], counts: Callable[[BaselineEntry, str], bool]) -> list[BaselineEntry]:
    """Keep the objects that count, and drop entries without any."""
    kept = (replace(entry, objects=tuple(name for name in entry.objects if counts(entry, name))) for entry in entries)
    return [entry for entry in kept if entry.objects]


def _is_below(path: str, tops: list[str]) -> bool:
    """Whether a run over `tops` would have read a file."""
    return any(
        contains_path(os.path.dirname(top) or "." if top.endswith((*TERRAFORM, *VARIABLES)) else top, path)
        for top in tops
    )


def load(path: str, config: Config) -> Baseline:
    """Read a baseline file, with the names that rules have today.

    Raises ConfigError if the file is missing or invalid, or was written for a folder that does not exist.
    """
    import json

    try:
        data = json.loads(system.read(path))
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}; `kcheck baseline` writes it") from error
    except (ValueError, RecursionError) as error:
        raise ConfigError(
            f"{path}: not JSON: {error}; resolve the conflict, or delete the file and run `kcheck baseline`"
        ) from error
    if not isinstance(data, dict) or not isinstance(data.get("findings"), list):
        raise ConfigError(f"{path}: not a kcheck baseline; `kcheck baseline` writes one")
    if data.get("version") != VERSION:
        raise ConfigError(f"{path}: version {data.get('version')} is not supported; this kcheck reads {VERSION}")
    try:
        folder = str(data["folder"])
        arguments = tuple(str(text) for text in data["arguments"])
        found = convert(data["findings"], list[BaselineEntry])
    except (KeyError, TypeError, ValidationError) as error:
        raise ConfigError(f"{path}: not a complete kcheck baseline: {error}; `kcheck baseline` writes one") from error
    renamed = rules.renamed(rules.all_rules(config.rules))
    entries = [replace(entry, rule=renamed.get(entry.rule, entry.rule)) for entry in found]
    home = os.path.join(os.path.dirname(path), folder)
    if not os.path.isdir(home):
        raise ConfigError(
            f"{path} was written for {os.path.normpath(home)}, which does not exist; run `kcheck baseline`"
        )
    if system.real_path(home) != system.real_path("."):
        entries = [_seen_from_here(entry, home) for entry in entries]
        arguments = (home, *arguments)  # never those of a run here
    return Baseline(path, entries, rules.not_ignorable(config), arguments)


@cache
def _patterns(clouds: str) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Return regexes for the parts of a name, and for a name inside it."""
    name = rf"(?:({clouds})/)?(?:([^:@\"\[]+)(@[^:]*)?:)?(.*)"
    return re.compile(name, re.DOTALL), re.compile(rf"(/[\w-]+/)(?=(?:{clouds})/)")


def _rename_parts(name: str, placed: Callable[[str, str, str, str], str]) -> str:
    """Rebuild an object's name, and any name inside it, from its parts with `placed`."""
    whole, inner = _patterns("|".join(CLOUDS))
    match = whole.fullmatch(name)
    cloud, place, environment, rest = (part or "" for part in match.groups()) if match else ("", "", "", name)
    first, *more = inner.split(rest, maxsplit=1)  # a limit of a pool is called by both
    if more:
        first = f"{first}{more[0]}{_rename_parts(more[1], placed)}"
    return placed(cloud, place, environment, first)


def _name_without_folder(name: str) -> str:
    return _rename_parts(name, lambda cloud, _, environment, rest: f"{cloud}/{environment}:{rest}")


def _seen_from_here(entry: BaselineEntry, home: str) -> BaselineEntry:
    """Rename an entry written for another folder to the names of a run in this one."""

    def path(name: str) -> str:
        return display_path(os.path.join(system.real_path(home), name))

    def placed(cloud: str, place: str, environment: str, rest: str) -> str:
        if not cloud and not place:
            return path(rest)  # a folder
        place = path(place or ".")
        if not (cloud and place == "." and not environment):
            rest = f"{place}{environment}:{rest}"
        return f"{cloud}/{rest}" if cloud else rest

    names = tuple(_rename_parts(name, placed) for name in entry.objects)
    return replace(entry, path=path(entry.path), objects=names)
