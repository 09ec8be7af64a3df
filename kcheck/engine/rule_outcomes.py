"""Decide the rules of a subject on its objects."""

from collections.abc import Sequence
from itertools import accumulate

from msgspec import Struct
from msgspec.structs import replace

from kcheck.engine.rule import Rule
from kcheck.engine.rule_evaluator import Evaluator, joined_condition
from kcheck.engine.words import raw_views
from kcheck.engine.words.subjects import things
from kcheck.engine.words.views import Wanted, wanted
from kcheck.model import Autoscaler, Candidates, Cluster, Container, Image, KarpenterPool, PodTemplate, Thing
from kcheck.scale.world import World
from kcheck.scale.world.memory import once
from kcheck.text import deadline
from kcheck.text.bundled import RULES
from kcheck.text.findings import Finding, Related, Undecided, UnknownInput
from kcheck.text.syntax import cel
from kcheck.text.values import Known, Origin


class Bug(Struct, frozen=True):
    """A rule or reader that failed: a bug in kcheck, unless the rule is `own`."""

    rule: str
    object: str
    message: str
    own: Rule | None = None


class Outcome(Struct):
    """Results of all rules on one object; `decided` counts the checks with an answer."""

    findings: list[Finding] = []
    undecided: list[Undecided] = []
    bugs: list[Bug] = []
    decided: int = 0


class Checks:
    """Rules of a subject and the objects they judge."""

    def __init__(self, subject: str, rules: list[Rule], world: World) -> None:
        self.subject = subject
        self.things = things(subject, world)
        self.bugs: list[Bug] = []
        self.world = world
        self._rules: list[Rule] = []
        conditions = []
        for rule in sorted(rules, key=lambda one: (len(one.unless), one.name)) if self.things else ():
            try:
                conditions.append(joined_condition(rule.when, rule.problem, (subject, "limits")))
                self._rules.append(rule)  # those that others yield to, first
            except cel.SyntaxProblem as error:
                self.bugs.append(_bug(rule, subject, error))
        self._words = {subject: {}, "limits": {}, **wanted(*conditions)}

    def outcome(self, thing: Thing) -> Outcome:
        """Decide every rule on one object."""
        deadline.check()
        result = Outcome()
        try:
            view = raw_views.view(self.subject, thing, self.world, self._words[self.subject])
            evaluator = Evaluator(view, self._words["limits"])
        except _BROKEN as error:
            message = f"the view of the {self.subject} cannot be built: {error!r}"
            return Outcome(bugs=[Bug("", thing.id, message)])
        fired: set[str] = set()
        for rule in self._rules:
            if not fired.isdisjoint(rule.unless):
                continue
            try:
                verdict = evaluator.verdict(rule)
                clusters: tuple[Cluster, ...] = ()
                if type(verdict) is Undecided:
                    verdict, clusters = decide_on_candidates(rule, verdict, thing, self.world)
                if type(verdict) is Undecided:
                    result.undecided.append(verdict)
                    continue
                result.decided += 1
                if verdict and (found := make_finding(rule, thing, self.world, clusters)):
                    result.findings.append(found)
                    fired.add(rule.name)
            except (cel.ExpressionError, cel.SyntaxProblem, *_BROKEN) as error:
                result.bugs.append(_bug(rule, thing.id, error))
        return result


def _bug(rule: Rule, where: str, error: Exception) -> Bug:
    return Bug(rule.name, where, str(error), None if rule.path.startswith(RULES) else rule)


_BROKEN = (TypeError, ValueError, KeyError, AttributeError, ArithmeticError)


_MOST = 64
"""Most clusters for which a check is decided."""
_BUDGET = 20_000
"""Most clusters evaluated for the things of a subject, about three seconds a check; later things stay undecided.

Counted in the order of the things, so that the result does not depend on who evaluates what.
"""


def _homes(thing: Thing, world: World) -> Candidates | None:
    """Return the clusters that an object may be on, if there are several."""
    homes = world.inventory.candidates_of
    return homes.get(owners(thing, world)[0]) if homes else None


def owners(thing: Thing, world: World) -> Sequence[Thing]:
    """Return the workloads that contain an object, else the object itself."""
    if isinstance(thing, Image):
        return [workload for workload, _ in world.images.uses(thing)]
    return [world.deployed.workload(thing)] if isinstance(thing, PodTemplate | Container) else [thing]


@once
def _looked_at(subject: str, world: World) -> dict[Thing, int]:
    """Map each object that may be on several clusters to a running total."""
    counts = {thing: len(found.clusters) for thing in things(subject, world) if (found := _homes(thing, world))}
    return dict(zip(counts, accumulate(count if count <= _MOST else 0 for count in counts.values()), strict=True))


def decide_on_candidates(
    rule: Rule, check: Undecided, thing: Thing, world: World
) -> tuple[bool | Undecided, tuple[Cluster, ...]]:
    """Decide a check on every cluster an object may be on.

    Returns the verdict and these clusters; if they differ, or are too many, the check and no clusters.
    """
    found = _homes(thing, world)
    if (
        found is None
        or {found.reason, found.size_reason}.isdisjoint(check.missing)
        or found.elsewhere
        or not 0 < len(found.clusters) <= _MOST
        or _looked_at(rule.subject, world)[thing] > _BUDGET
    ):
        return check, ()
    words = wanted(joined_condition(rule.when, rule.problem, (rule.subject, "limits")))
    verdicts = (_evaluator(rule, thing, world, words, cluster).verdict(rule) for cluster in found.clusters)
    first = next(verdicts)
    if any(verdict != first for verdict in verdicts):
        return replace(check, inputs=(UnknownInput(found.reason, found.reason),)), ()
    return first, found.clusters


def make_finding(rule: Rule, thing: Thing, world: World, clusters: tuple[Cluster, ...]) -> Finding | None:
    """Build the finding, the mildest of several clusters; None if too small."""
    from kcheck.engine.rule_words import looked_at

    def severity(cluster: Cluster) -> int:
        words = looked_at(rule, "grade", "at_most")
        found, _ = _evaluator(rule, thing, world, words, cluster).severity(rule)
        return -1 if found is None else found

    least = min(clusters, key=severity, default=None)
    finding = _evaluator(rule, thing, world, looked_at(rule), least).finding(rule)
    if finding is None or least is None:
        return finding
    note = f"computed for this cluster; true of all {len(clusters):,} that may run it"
    return replace(finding, related=(*finding.related, Related(least.place, note)))


def _evaluator(rule: Rule, thing: Thing, world: World, words: Wanted, cluster: Cluster | None = None) -> Evaluator:
    """Make the evaluator of an object, as if it were on a cluster that it may be on."""
    if cluster is not None:
        world = world.assuming(cluster)
        if isinstance(thing, Autoscaler | KarpenterPool):
            thing = replace(thing, cluster=Known(cluster, Origin((thing.place,))))
    return Evaluator(raw_views.view(rule.subject, thing, world, words.get(rule.subject, {})), words.get("limits", {}))
