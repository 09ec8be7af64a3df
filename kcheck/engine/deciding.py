"""Decide the rules of a subject on each of its things."""

from msgspec import Struct

from kcheck.engine import several_clusters
from kcheck.engine.evaluator import Evaluator, joined_condition
from kcheck.engine.rule import Rule
from kcheck.engine.words import raw_views
from kcheck.engine.words.subjects import things
from kcheck.engine.words.views import wanted
from kcheck.model import Cluster, Thing
from kcheck.scale.world import World
from kcheck.text import deadline
from kcheck.text.bundled import RULES
from kcheck.text.findings import Finding, Undecided
from kcheck.text.syntax import cel


class Bug(Struct, frozen=True):
    """A rule or a reader that failed: kcheck's fault, unless the rule is one of the user's `own`."""

    rule: str
    object: str
    message: str
    own: Rule | None = None


class Outcome(Struct):
    """Results of all rules on one thing; `decided` counts the checks with an answer."""

    findings: list[Finding] = []
    undecided: list[Undecided] = []
    bugs: list[Bug] = []
    decided: int = 0


class Checks:
    """Rules of a subject and the things they judge; `bugs` are of rules that do not compile."""

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
        """Decide every rule on one thing."""
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
                if isinstance(verdict, Undecided):
                    verdict, clusters = several_clusters.decide(rule, verdict, thing, self.world)
                if isinstance(verdict, Undecided):
                    result.undecided.append(verdict)
                    continue
                result.decided += 1
                if verdict and (found := several_clusters.finding(rule, thing, self.world, clusters)):
                    result.findings.append(found)
                    fired.add(rule.name)
            except (cel.ExpressionError, cel.SyntaxProblem, *_BROKEN) as error:
                result.bugs.append(_bug(rule, thing.id, error))
        return result


def _bug(rule: Rule, where: str, error: Exception) -> Bug:
    return Bug(rule.name, where, str(error), None if rule.path.startswith(RULES) else rule)


_BROKEN = (TypeError, ValueError, KeyError, AttributeError, ArithmeticError)
