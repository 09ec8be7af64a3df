"""Paths, rules and fingerprints of findings, as code forges expect."""

import hashlib
import os
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache

from kcheck.engine import rules
from kcheck.engine.rule import Rule
from kcheck.scale.world import World
from kcheck.terraform.copies import remote, revision
from kcheck.text.files import system
from kcheck.text.files.boundary import contains_path, repository
from kcheck.text.findings import Finding
from kcheck.text.syntax import edit
from kcheck.text.text import Edit


def in_repository(shown: str) -> str:
    """Convert a shown path to one relative to the repository."""
    top = _top(os.getcwd())
    if not contains_path(top, shown):
        return shown
    return os.path.relpath(system.real_path(shown), top).replace(os.sep, "/")


@cache
def _top(folder: str) -> str:
    return repository(folder) or folder


def checked_out(path: str) -> str:
    """Return the repository that holds a path, and its commit."""
    top = repository(path)
    commit = revision(top) if top else ""
    return f"{remote(top) or os.path.basename(top)}, commit {commit[:12]}" if commit else ""


def by_name(world: World) -> dict[str, Rule]:
    """Map names to the rules of a run."""
    return {rule.name: rule for rule in rules.all_rules(world.config.rules)}


def fingerprints(findings: Iterable[Finding]) -> Iterator[tuple[Finding, str]]:
    """Yield each finding with a fingerprint that survives moved lines."""
    seen: Counter[str] = Counter()
    for finding in findings:
        key = hashlib.sha256("\0".join(min(finding.identities)).encode("utf-8", "surrogatepass")).hexdigest()[:32]
        seen[key] += 1
        if seen[key] > 1:
            key = hashlib.sha256(f"{key}{seen[key]}".encode()).hexdigest()[:32]
        yield finding, key


def edits_of(finding: Finding) -> list[Edit]:
    """Return the edits of a fix; empty if it can only be described."""
    try:
        return edit.edits(finding.changes) if finding.fix is not None else []
    except edit.EditError:
        return []
