"""Rules decided on things, each by itself: so several processes can share them."""

from __future__ import annotations

import os
import sys
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from msgspec import Struct

from kcheck.engine import several_clusters
from kcheck.engine.evaluator import Evaluator, joined_condition
from kcheck.engine.words import raw_views
from kcheck.engine.words.subjects import things
from kcheck.engine.words.views import wanted
from kcheck.model import Cluster
from kcheck.text import deadline
from kcheck.text.bundled import RULES
from kcheck.text.findings import Finding, Undecided
from kcheck.text.syntax import cel
from kcheck.text.values import known

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from kcheck.engine.rule import Rule
    from kcheck.model import Thing
    from kcheck.scale.world import World
    from kcheck.text.values import Value


class Bug(Struct, frozen=True):
    """A rule or a reader that failed: kcheck's fault, unless the rule is one of the user's own."""

    rule: str
    object: str
    message: str
    own: Rule | None = None


class Outcome(NamedTuple):
    """What rules found of one thing. `decided` counts the checks with an answer."""

    findings: list[Finding]
    undecided: list[Undecided]
    bugs: list[Bug]
    decided: int


class Checks:
    """The rules of a subject, with the things that they judge; `bugs` are of rules that cannot judge any."""

    def __init__(self, subject: str, rules: list[Rule], world: World) -> None:
        self.subject = subject
        self.things = things(subject, world)
        self.bugs: list[Bug] = []
        self._world = world
        self._rules: list[tuple[Rule, cel.Expression]] = []
        if not self.things:
            return
        for rule in sorted(rules, key=lambda one: (len(one.unless), one.name)):  # those that others yield to, first
            try:
                condition = joined_condition(rule.when, rule.problem, (subject, "limits"))
                self._rules.append((rule, condition))
            except cel.SyntaxProblem as error:
                self.bugs.append(_bug(rule, subject, error))
        self._fields = wanted(*(condition for _, condition in self._rules)).get(subject, {})

    def outcome(self, thing: Thing) -> Outcome:
        """Decide every rule on one thing."""
        deadline.check()
        findings: list[Finding] = []
        undecided: list[Undecided] = []
        bugs: list[Bug] = []
        decided = 0
        try:
            evaluator = Evaluator(raw_views.view(self.subject, thing, self._world, self._fields))
        except _BROKEN as error:
            message = f"the view of the {self.subject} cannot be built: {error!r}"
            return Outcome([], [], [Bug("", thing.id, message)], 0)
        fired: set[str] = set()
        for rule, condition in self._rules:
            if fired.intersection(rule.unless):
                continue
            try:
                clusters: tuple[Cluster, ...] = ()
                verdict = evaluator.verdict(rule, condition)
                if isinstance(verdict, Undecided):
                    verdict, clusters = several_clusters.decide(rule, condition, verdict, thing, self._world)
                if isinstance(verdict, Undecided):
                    undecided.append(verdict)
                    continue
                decided += 1
                if not verdict:
                    continue
                finding = several_clusters.finding(rule, thing, self._world, clusters)
                if finding is not None:
                    findings.append(finding)
                    fired.add(rule.name)
            except (cel.ExpressionError, cel.SyntaxProblem, *_BROKEN) as error:
                bugs.append(_bug(rule, thing.id, error))
        return Outcome(findings, undecided, bugs, decided)


def _bug(rule: Rule, where: str, error: Exception) -> Bug:
    return Bug(rule.name, where, str(error), None if rule.path.startswith(RULES) else rule)


_BROKEN = (TypeError, ValueError, KeyError, AttributeError, ArithmeticError)


# --- shared by several processes

_MOST_PROCESSES = 4
"""Unless somebody asks for more: one process reads the tree, which takes a third of the time.

Two take 0.68 of the time of one for 2,000 manifests with 10 clusters, and a tenth more processor time.
"""

_PAYS = 1_000
"""So many things take 0.7 s to decide (kubeflow/manifests); to fork and to send what was found takes 0.1 s."""

_MOST_PIECES = 128
"""Of clusters, and of files."""

Piece: TypeAlias = "list[tuple[int, int]]"
"""Numbers of checks, each with that of a thing of theirs."""


def number_of_processes(wanted: int | None, checks: Iterable[Checks]) -> int:
    """How many decide: as many as wanted, else one for each core where there is enough to do."""
    if not hasattr(os, "fork"):
        return 1
    if wanted is not None:
        return wanted
    if sys.platform != "linux" or sum(len(own.things) for own in checks) < _PAYS:
        return 1  # on macOS, libraries of the system may have threads, which a fork does not copy
    return min(len(os.sched_getaffinity(0)), _MOST_PROCESSES)


def pieces(checks: Sequence[Checks]) -> list[Piece]:
    """All things in pieces that share little: what is computed for a cluster, or for a workload, is computed once.

    Clusters come first: their runs are simulated, which takes longest.
    """
    clusters: dict[str, Piece] = {}
    files: dict[str, Piece] = {}
    for check, own in enumerate(checks):
        for number, thing in enumerate(own.things):
            cluster = cluster_of(thing)
            home, parts = (thing.place.source.path, files) if cluster is None else (cluster.id, clusters)
            parts.setdefault(home, []).append((check, number))
    return [*_joined(list(clusters.values())), *_joined(list(files.values()))]


def cluster_of(thing: Thing) -> Cluster | None:
    """The cluster that a thing is a part of."""
    if isinstance(thing, Cluster):
        return thing
    found: Cluster | Value[Cluster] | None = getattr(thing, "cluster", None)
    return found if found is None or isinstance(found, Cluster) else known(found)


def _joined(parts: list[Piece]) -> Iterator[Piece]:
    """The parts, or where they are too many, each with its neighbours."""
    each = max(1, -(-len(parts) // _MOST_PIECES))
    for start in range(0, len(parts), each):
        yield list(chain.from_iterable(parts[start : start + each]))
