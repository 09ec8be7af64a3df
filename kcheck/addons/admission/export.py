"""Select rules to export, and format their manifests and refusals."""

from collections.abc import Mapping
from textwrap import indent
from typing import NamedTuple, TypeAlias

import yaml
from msgspec.structs import replace

from kcheck import __version__
from kcheck.addons.admission import parameters, policies, table
from kcheck.addons.admission.kinds import literal
from kcheck.addons.admission.parameters import Parameters
from kcheck.addons.admission.policies import Policy, Refusal
from kcheck.addons.admission.words import PARAMETER, Variable
from kcheck.config.config import Config
from kcheck.engine import rules
from kcheck.engine.suppressions import IGNORE, ignoring
from kcheck.inventory import reader
from kcheck.scale.world import World
from kcheck.text.files.tree import Tree
from kcheck.text.regex import regex
from kcheck.text.text import grouped
from kcheck.text.units import counted


class Selection(NamedTuple):
    """Selected rules: policies, and refusals with reasons.

    `parameters` is None if no code was read.
    """

    policies: tuple[Policy, ...]
    refusals: tuple[Refusal, ...]
    parameters: Parameters | None


def read(tree: Tree, config: Config) -> Parameters:
    """Read from the code the values that policies take as parameters."""
    rules.check_limits(config)
    return parameters.of_world(World(reader.read(tree, config).inventory, config))


def select(config: Config, names: tuple[str, ...], known: Parameters | None, *, info: bool = False) -> Selection:
    """Select rules by name or group. Raises ConfigError for an unknown name."""
    found = rules.selected(replace(config, select=(*config.select, *names)) if names else config)
    given = frozenset(known.values) if known is not None else frozenset()
    results = [
        policies.of_rule(rule, given, info=info)
        for rule in found
        if table.is_about_objects(rule.subject) and (info or rule.severity != "info" or rule.name in names)
    ]
    return Selection(
        tuple(one for one in results if isinstance(one, policies.Policy)),
        tuple(one for one in results if isinstance(one, policies.Refusal)),
        known,
    )


def manifests_of(selection: Selection, action: str, form: str, namespace: str) -> str:
    """Format the policies as YAML documents, after the ConfigMap with their values."""
    known = selection.parameters.values if selection.parameters is not None else {}
    used = {name: known[name] for one in selection.policies for name in sorted(one.parameters)}
    found: list[Manifest] = []
    if used and form != "kyverno":
        labels = {"app.kubernetes.io/managed-by": "kcheck", "kcheck.dev/version": __version__}
        metadata = {"name": _CONFIG_MAP, "namespace": namespace, "labels": labels}
        found.append(
            {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": dict(sorted(used.items()))}
        )
    for one in selection.policies:
        found += [kyverno(one, action, known)] if form == "kyverno" else policy(one, action, namespace)
    if not found:
        return ""
    return yaml.dump_all(found, Dumper=_Dumper, sort_keys=False, width=1_000_000, explicit_start=True)


Manifest: TypeAlias = dict[str, object]

_API = "admissionregistration.k8s.io/v1"

_FOUND = {
    "template": "variables.templates.filter(template, {condition}).map(template, {message})",
    "container": "variables.templates.map(template, template.containers.filter(container, {condition})"
    '.map(container, {message}).join("; ")).filter(text, text != "")',
}
_FOUND["image"] = _FOUND["container"].replace("{condition}", "container.image != null && {condition}")
"""Expression that lists a message per part with the problem, by subject."""
_CONFIG_MAP = "kcheck-admission"


def policy(one: Policy, action: str, namespace: str) -> list[Manifest]:
    """Build a ValidatingAdmissionPolicy and its binding."""
    metadata = _metadata(one)
    spec: Manifest = {"failurePolicy": "Ignore"}
    binding: Manifest = {"policyName": metadata["name"]}
    if one.parameters:
        spec["paramKind"] = {"apiVersion": "v1", "kind": "ConfigMap"}
        binding["paramRef"] = {"name": _CONFIG_MAP, "namespace": namespace, "parameterNotFoundAction": "Allow"}
    binding["validationActions"] = [action]
    return [
        {"apiVersion": _API, "kind": "ValidatingAdmissionPolicy", "metadata": metadata, "spec": {**spec, **_spec(one)}},
        {"apiVersion": _API, "kind": "ValidatingAdmissionPolicyBinding", "metadata": metadata, "spec": binding},
    ]


def kyverno(one: Policy, action: str, values: Mapping[str, str]) -> Manifest:
    """Build a Kyverno ValidatingPolicy with parameter values filled in."""
    filled = [
        variable._replace(expression=PARAMETER.sub(lambda match: literal(values[match[1]]), variable.expression))
        for variable in one.variables
    ]
    spec = _spec(one._replace(variables=tuple(filled)))
    return {
        "apiVersion": "policies.kyverno.io/v1",
        "kind": "ValidatingPolicy",
        "metadata": _metadata(one),
        "spec": {"validationActions": [action], "failurePolicy": "Ignore", **spec},
    }


def _metadata(one: Policy) -> Manifest:
    labels = {
        "app.kubernetes.io/managed-by": "kcheck",
        "kcheck.dev/group": one.rule.group,
        "kcheck.dev/rule": one.rule.name,
        "kcheck.dev/version": __version__,
    }
    return {"name": f"kcheck-{one.rule.name}", "labels": labels}


def _spec(one: Policy) -> Manifest:
    variables = list(one.variables)
    condition = f"\n{indent(one.condition, '  ')}\n"
    expression, message = f"!({condition})", one.message
    form = _FOUND.get(one.rule.subject)
    if form is not None:
        variables.append(Variable("found", form.format(condition=condition, message=one.message)))
        expression, message = "size(variables.found) == 0", 'variables.found.join("; ")'
    validation = {
        "expression": _wrapped(expression),
        "messageExpression": _wrapped(message),
        "message": one.rule.summary,
    }
    return {
        "matchConstraints": {"resourceRules": _resources(one)},
        "matchConditions": _conditions(one),
        "variables": [{"name": own.name, "expression": _wrapped(own.expression)} for own in variables],
        "validations": [validation],
    }


def _resources(one: Policy) -> list[Manifest]:
    """List the kinds by API group; custom resources match in any version."""
    return [
        {
            "apiGroups": [group],
            "apiVersions": ["*" if "." in group and group not in _OWN_GROUPS else "v1"],
            "operations": ["CREATE", "UPDATE"],
            "resources": [table.resource(one.rule.subject, kind) for kind in found],
        }
        for group, found in grouped(one.kinds, lambda kind: kind.rpartition("/")[0]).items()
    ]


_OWN_GROUPS = frozenset({"scheduling.k8s.io"})
"""API groups with a dot in their name that are not of custom resources."""


def _conditions(one: Policy) -> list[Manifest]:
    """List the conditions under which a policy judges an object."""
    pattern = ignoring(one.rule.names)
    found = {
        "not-ignored": f'!object.metadata.?annotations[?{literal(IGNORE)}].orValue("").matches({literal(pattern)})',
        "not-being-deleted": "!has(object.metadata.deletionTimestamp)",
        "changed": 'request.operation == "CREATE" || dyn(object).?spec != dyn(oldObject).?spec || '
        "object.metadata.?labels != oldObject.metadata.?labels",
    }
    if table.object_subject(one.rule.subject) == "workload":
        owners = "object.metadata.?ownerReferences.orValue([])"
        found["not-made-by-another"] = f"!{owners}.exists(owner, owner.?controller.orValue(false))"
    return [{"name": name, "expression": text} for name, text in found.items()]


def _wrapped(text: str) -> str:
    if len(text) <= _WIDTH:
        return text
    result = []
    for line in text.splitlines():
        current, margin = "", line[: len(line) - len(line.lstrip())]
        for word in _WORD.findall(line.strip()):
            if current and len(current) + len(word) > _WIDTH:
                result.append(f"{margin}{current.rstrip()}")
                current, margin = "", line[: len(line) - len(line.lstrip())] + "  "
            current += word
        result.append(f"{margin}{current.rstrip()}")
    return "\n".join(result)


_WIDTH = 110
_WORD = regex(r"""(?:"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|\S)+\s*""")
_Dumper: type[yaml.SafeDumper] = type(
    "_Dumper", (getattr(yaml, "CSafeDumper", yaml.SafeDumper),), {"ignore_aliases": lambda _self, _data: True}
)
"""YAML dumper without aliases that writes multi-line strings as blocks."""


def _text(dumper: yaml.SafeDumper, value: str) -> yaml.Node:
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style="|" if "\n" in value else None)


_Dumper.add_representer(str, _text)


def rows(selection: Selection) -> list[tuple[str, str, str]]:
    """List each rule, its outcome, and what it needs."""
    refused = {name: f"the API server itself refuses {what}" for name, what in table.table()["refused"].items()}
    every: list[Policy | Refusal] = [*selection.policies, *selection.refusals]
    found = ((one.rule.name, *_outcome(one)) for one in every)
    return sorted((name, what, "; ".join(filter(None, (why, refused.get(name))))) for name, what, why in found)


def why_not(name: str, selection: Selection) -> str:
    """Return why a rule was not exported; empty if it was."""
    found = {name: (what, why) for name, what, why in rows(selection)}
    if name not in found:
        return f"{name} is not about Kubernetes objects"
    what, why = found[name]
    if what == "needs PATH" and selection.parameters is None:
        return f"{name} needs values of the code: {why}; give it a PATH that has them"
    return f"{name} cannot be exported: {why}" if what == "cannot" else ""


def _outcome(one: Policy | Refusal) -> tuple[str, str]:
    """Return the outcome of a rule: exported, or the reason why not."""
    if one.parameters:
        return "with parameters" if isinstance(one, policies.Policy) else "needs PATH", ", ".join(one.parameters)
    if isinstance(one, policies.Policy):
        return "exported", ""
    return "cannot", table.table()["cannot"].get(one.rule.subject, f"{', '.join(one.words)}: not in the object")


def as_text(selection: Selection) -> str:
    """Format a line per rule, and the reasons for unknown values."""
    found = rows(selection)
    width = max((len(name) for name, _, _ in found), default=0)
    lines = [f"{name:{width}}  {what:15}  {why}".rstrip() for name, what, why in found]
    unknown = selection.parameters.unknown if selection.parameters is not None else {}
    lines += [f"{name} is not known: {why}" for name, why in sorted(unknown.items())]
    return "\n".join([*lines, f"{summary(selection)}", ""])


def summary(selection: Selection) -> str:
    """Count the rules exported, and those that need more values or cannot be exported."""
    more = [one for one in selection.refusals if one.parameters]
    said = f"{counted(len(selection.policies), 'rule')} exported"
    if more and selection.parameters is None:
        said += f"; {len(more)} more with PATH, which gives them taints, GPUs and queues"
    elif more:
        said += f"; {len(more)} more need{'s' * (len(more) == 1)} values that are not known here (--list)"
    cannot = len(selection.refusals) - len(more)
    return f"{said}; {cannot} cannot be (--list)" if cannot else said
