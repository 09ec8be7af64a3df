"""Install exported policies in a server, for the objects of these tests only."""

from __future__ import annotations

import copy
import re
import time
from typing import TYPE_CHECKING

import yaml
from click.testing import CliRunner

from kcheck.commands.cli import cli
from kcheck.text import bundled

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tests.apiserver.client import Answer, Client, Object

API = "admissionregistration.k8s.io/v1"
JUDGED = "kcheck.test/judged"
"""The label that selects objects for policies; without it, other tests on the same server are not affected."""
IN_FORCE_WITHIN = 60
_NAME = re.compile(r"ValidatingAdmissionPolicy '([^']+)'")


def exported(*arguments: str) -> list[Object]:
    """Run `kcheck export admission`, and return the manifests."""
    result = CliRunner().invoke(cli, ["export", "admission", *arguments], catch_exceptions=False)
    assert result.exit_code == 0, result.stderr
    return [one for one in yaml.load_all(result.stdout, bundled.loader()) if one]


def judged(thing: Object, group: str, annotations: dict[str, str] | None = None) -> Object:
    """Return a copy of an object with the label of a group; the policies bound to that group judge it."""
    thing = copy.deepcopy(thing)
    metadata = thing.setdefault("metadata", {})
    metadata["labels"] = {**(metadata.get("labels") or {}), JUDGED: group}
    if annotations:
        metadata["annotations"] = {**(metadata.get("annotations") or {}), **annotations}
    return thing


def scoped(manifests: Iterable[Object], group: str) -> list[Object]:
    """Return policies bound to the objects of one group.

    Each binding gets a twin that warns, because a response has one denial but all warnings. An expression that fails
    refuses the object, so that no test takes the failure for silence.
    """
    out = []
    for one in copy.deepcopy(list(manifests)):
        if one["kind"] == "ValidatingAdmissionPolicy":
            one["spec"]["failurePolicy"] = "Fail"
        if one["kind"] == "ValidatingAdmissionPolicyBinding":
            one["metadata"]["name"] += f".{group}"
            one["spec"]["matchResources"] = {"objectSelector": {"matchLabels": {JUDGED: group}}}
            warning = copy.deepcopy(one)
            warning["metadata"]["name"] += ".warn"
            warning["spec"]["validationActions"] = ["Warn"]
            out.append(warning)
        out.append(one)
    return out


def enforce(client: Client, manifests: Iterable[Object]) -> None:
    """Create policies, and wait until all are in force."""
    answers = [(one, client.create(one)) for one in [*manifests, *_probe()]]
    refused = [f"{one['kind']} {one['metadata']['name']}: {said.message}" for one, said in answers if not said.taken]
    assert not refused, "\n".join(refused)
    config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "probe", "labels": {JUDGED: "probe"}}}
    last = time.monotonic() + IN_FORCE_WITHIN
    while client.create(config, dry_run=True).taken:
        assert time.monotonic() < last, "the policies are not in force"
        time.sleep(0.1)


def _probe() -> list[Object]:
    """Return a policy that refuses the ConfigMap `probe`.

    It is created last: once it refuses, all others are in force.
    """
    selector = {"objectSelector": {"matchLabels": {JUDGED: "probe"}}}
    rules = [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]}]
    spec = {"matchConstraints": {**selector, "resourceRules": rules}, "validations": [{"expression": "false"}]}
    binding = {"policyName": "probe", "validationActions": ["Deny"], "matchResources": selector}
    return [
        {"apiVersion": API, "kind": "ValidatingAdmissionPolicy", "metadata": {"name": "probe"}, "spec": spec},
        {"apiVersion": API, "kind": "ValidatingAdmissionPolicyBinding", "metadata": {"name": "probe"}, "spec": binding},
    ]


def complaining(answer: Answer) -> dict[str, str]:
    """Return the message of each policy that warns about an object, by policy name without number."""
    out = {}
    for warning in answer.warnings:
        if found := _NAME.search(warning):
            out[found[1].partition(".")[0]] = warning.partition("denied request: ")[2] or warning
    return out


def denied_by(answer: Answer) -> str | None:
    """Return the name of the policy that denies an object; None if none does."""
    found = _NAME.search(answer.message) if not answer.taken else None
    return found[1].partition(".")[0] if found else None
