"""Test exported policies inside of a real API server: they refuse bad objects, and nothing else."""

from __future__ import annotations

import time
from contextlib import suppress
from functools import cached_property
from itertools import product
from typing import TYPE_CHECKING, NamedTuple

import pytest

from tests.apiserver import rule_objects, server
from tests.apiserver.client import NotServedError
from tests.apiserver.manifests import completed, objects
from tests.apiserver.policies import complaining, denied_by, enforce, exported, judged, scoped
from tests.generate import test_grid as grid

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.apiserver.client import Answer, Client, Object
    from tests.apiserver.rule_objects import Given
    from tests.apiserver.server import Programs, Server

ALONE = "alone"
"""The group of objects whose policies have no ConfigMap of values."""
IGNORE = "kcheck.dev/ignore"
RULE = "kcheck.dev/rule"
TYPED_WITHIN = 300
FEWEST = 40


class Asked(NamedTuple):
    """The server's response to an object, the message of the rule's policy, and whether it must refuse."""

    given: Given
    group: str
    answer: Answer
    said: str | None
    must: bool


class Policies:
    """All exported policies in force: exported alone, with each generated tree, and with each example that needs it."""

    def __init__(self, client: Client, folder: Path) -> None:
        self.client = client
        self.by_rule: dict[str, list[Object]] = {}
        self.of_groups: set[tuple[str, str]] = set()
        manifests = self._of(ALONE, exported("--action", "Deny"))
        alone = set(self.by_rule)
        for name in grid.EXAMPLES:
            tree = folder / "generated" / name
            grid.write(tree, grid.example_output(name).files)
            manifests += self._of(name, exported(str(tree), "--action", "Deny", "--namespace", name))
        self.alone = rule_objects.sides(alone, "bad", "good", "fixed")
        self.within = rule_objects.sides(self.by_rule.keys() - alone, "bad", "good")
        for side in self.within:
            options = ["--rule", side.rule.name, "--action", "Deny", "--namespace", side.name]
            manifests += self._of(side.name, exported(*side.written(folder), *options))
        enforce(client, manifests)

    def _of(self, group: str, manifests: list[Object]) -> list[Object]:
        """Return the policies of an export that are not in force yet, numbered where they differ from others."""
        out = []
        numbers = {}
        for one in scoped(manifests, group):
            if one["kind"] == "ValidatingAdmissionPolicy":
                rule, name = one["metadata"]["labels"][RULE], one["metadata"]["name"]
                known = self.by_rule.setdefault(rule, [])
                self.of_groups.add((group, rule))
                specs = [policy["spec"] for policy in known]
                numbers[name] = specs.index(one["spec"]) if one["spec"] in specs else len(known)
                if numbers[name] < len(known):
                    continue
                one["metadata"]["name"] = f"{name}.{len(known)}"
                known.append(one)
            out.append(one)
        for one in out:
            if one["kind"] == "ValidatingAdmissionPolicyBinding":
                one["spec"]["policyName"] += f".{numbers[one['spec']['policyName']]}"
        return out

    @cached_property
    def bad(self) -> list[Asked]:
        """The server's responses to the objects of bad examples."""
        return list(self._ask("bad"))

    def good(self) -> Iterator[Asked]:
        """Yield the server's responses to the objects of good and fixed examples."""
        return self._ask("good", "fixed")

    def _ask(self, *wanted: str) -> Iterator[Asked]:
        found = [
            (group or side.name, one)
            for group, listed in ((ALONE, self.alone), ("", self.within))
            for side in listed
            if side.side in wanted
            for one in side.objects()
        ]
        self.client.define(one.thing for _, one in found)
        for group, one in found:
            try:
                answer = self.ask(one.thing, group)
                yield Asked(one, group, answer, self.said(one, answer), self._must_be_found(one, group))
            except NotServedError:
                continue

    def ask(self, thing: Object, group: str, annotations: dict[str, str] | None = None) -> Answer:
        """Return the server's response to an object, after required fields were added."""
        return completed(self.client, judged(thing, group, annotations))[1]

    def said(self, one: Given, answer: Answer) -> str | None:
        """Return the message of the rule's policy in a response; None if it says nothing."""
        return complaining(answer).get(f"kcheck-{one.side.rule.name}")

    def _must_be_found(self, one: Given, group: str) -> bool:
        """Return whether the rule finds an object both as it is written and as the server stores it, with defaults."""
        rule = one.side.rule.name
        if not one.found or (group, rule) not in self.of_groups:  # the code does not say what the policy asks
            return False
        plural = self.client.path(one.thing).rpartition("/")[2]
        constraints = self.by_rule[rule][0]["spec"]["matchConstraints"]
        if not any(plural in resources["resources"] for resources in constraints["resourceRules"]):
            return False
        answer = completed(self.client, one.thing)[1]
        if not answer.taken:
            return False
        forms = (one.thing, {**answer.body, "metadata": one.thing["metadata"]})
        return all(one.side.finds_alone(form) if group == ALONE else one.side.finds(one, form) for form in forms)


def disagreements_on_bad(policies: Policies) -> Iterator[str]:
    """Yield the bad objects on which a rule and its policy disagree.

    A policy may accept an object that the rule finds only with the help of other objects.
    """
    for one in policies.bad:
        if one.said and not one.given.found:
            yield f"{one.given}: {one.said}"
        if not one.said and one.must:
            yield f"{one.given}: {one.answer.message or 'taken'}"
        if one.said and denied_by(one.answer) not in complaining(one.answer):
            yield f"{one.given}: denied by {denied_by(one.answer)}"
    if len([one for one in policies.bad if one.said]) < FEWEST:
        yield "few bad objects"


def disagreements_on_good(policies: Policies) -> Iterator[str]:
    """Yield good objects that the rule's own policy warns about; other policies may."""
    good = 0
    for one in policies.good():
        reached = one.answer.taken or denied_by(one.answer)
        if one.said or not (reached or one.answer.only_lacks):
            yield f"{one.given}: {one.said or one.answer.message}"
        good += bool(reached)
    if good < FEWEST:
        yield "few good objects"


def disagreements_on_ignored(policies: Policies) -> Iterator[str]:
    """Yield bad objects for which the ignore annotation, naming the rule or its group, has the wrong effect."""
    for one in policies.bad:
        rule = one.given.side.rule
        values = {f"something-else, {rule.name}: known": False, f"{rule.group}: known": False, f"{rule.name}-not: known": True}  # fmt: skip
        for value, refused in values.items() if one.said else ():
            said = policies.said(one.given, policies.ask(one.given.thing, one.group, {IGNORE: value}))
            if (said is not None) is not refused:
                yield f"{one.given}: {IGNORE}: {value}"


def disagreements_on_generated(policies: Policies) -> Iterator[str]:
    """Yield generated objects that a policy refuses, with or without values of their code."""
    for name in grid.EXAMPLES:
        files = grid.example_output(name).files
        things = [one for path in sorted(files) if path.endswith(".yaml") for one in objects(files[path].decode())]
        policies.client.define(things)
        for thing, group in product(things, (ALONE, name)):
            with suppress(NotServedError):
                answer = policies.client.create(judged(thing, group), dry_run=True)
                if not answer.taken or answer.warnings:
                    yield f"{name} {rule_objects.named(thing)}: {answer.message or answer.warnings}"


def disagreements_on_updates(policies: Policies) -> Iterator[str]:
    """Yield wrong responses to updates: existing objects can be annotated and deleted, changes are judged."""
    one = next(one for one in policies.bad if one.said and one.given.side.rule.name == "job-without-deadline")
    bad = completed(policies.client, judged(one.given.thing, ALONE, {IGNORE: f"{one.given.side.rule.group}: old"}))[0]
    bad["metadata"]["name"] = "there-before"
    made = policies.client.create(bad)
    del made.body["metadata"]["annotations"]
    annotated = policies.client.replace(made.body)
    changed = policies.client.get(bad).body
    changed["spec"]["suspend"] = True
    judgement = denied_by(policies.client.replace(changed))
    deleted = policies.client.delete(bad)
    if not (annotated.taken and judgement and deleted.taken):
        yield f"{one.given}: {annotated.message}, {judgement}, {deleted.message}"


def type_warnings(policies: Policies, program: str, api: Server) -> Iterator[str]:
    """Yield the controller manager's warnings about types in the expressions of policies."""
    last = time.monotonic() + TYPED_WITHIN
    left = [one for listed in policies.by_rule.values() for one in listed]
    with server.type_checks(program, api):
        while left and time.monotonic() < last:
            time.sleep(0.2)
            statuses = [(one, policies.client.get(one).body.get("status", {})) for one in left]
            left = [one for one, status in statuses if not status.get("observedGeneration")]
            for one, status in statuses:
                for warning in status.get("typeChecking", {}).get("expressionWarnings", []):
                    yield f"{one['metadata']['name']} {warning['fieldRef']}: {warning['warning']}"
    yield from (f"{one['metadata']['name']}: types not checked in time" for one in left)


def test_policies_agree_with_their_rules(
    client: Client, programs: Programs, api: Server, tmp_path: Path
) -> None:  # one test, so that one worker creates the policies
    policies = Policies(client, tmp_path)
    wrong = [
        *disagreements_on_bad(policies),
        *disagreements_on_good(policies),
        *disagreements_on_ignored(policies),
        *disagreements_on_generated(policies),
        *disagreements_on_updates(policies),
        *(type_warnings(policies, programs.controller_manager, api) if programs.controller_manager else ()),
    ]
    assert not wrong, "\n".join(wrong)
    if not programs.controller_manager:
        pytest.skip("all else holds; KCHECK_CONTROLLER_MANAGER names no kube-controller-manager, which checks types")
