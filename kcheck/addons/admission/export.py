"""Which rules are exported, with which values of the code, and the manifests."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from kcheck.addons.admission import manifests, parameters, policies, table
from kcheck.engine import rules
from kcheck.inventory import reader
from kcheck.scale.world import World

if TYPE_CHECKING:
    from kcheck.addons.admission.parameters import Parameters
    from kcheck.addons.admission.policies import Policy, Refusal
    from kcheck.config.config import Config
    from kcheck.text.files.tree import Tree


class Selection(NamedTuple):
    """The rules about Kubernetes objects that were asked for: as policies, or why they are none.

    `parameters` is None where no code was read.
    """

    policies: tuple[Policy, ...]
    refusals: tuple[Refusal, ...]
    parameters: Parameters | None


def read(tree: Tree, config: Config) -> Parameters:
    """What the code says that no object does."""
    rules.check_limits(config)
    return parameters.of_world(World(reader.read(tree, config).inventory, config))


def select(config: Config, names: tuple[str, ...], known: Parameters | None, *, info: bool = False) -> Selection:
    """The rules of some names or groups, or all.

    Raises:
        ConfigError: there is no such rule or group.
    """
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
    """The policies as documents, after the ConfigMap with the values that they take."""
    known = selection.parameters.values if selection.parameters is not None else {}
    used = {name: known[name] for one in selection.policies for name in sorted(one.parameters)}
    found: list[manifests.Manifest] = []
    if used and form != "kyverno":
        found.append(manifests.config_map({name: used[name] for name in sorted(used)}, namespace))
    for one in selection.policies:
        found += (
            [manifests.kyverno(one, action, known)] if form == "kyverno" else manifests.policy(one, action, namespace)
        )
    return manifests.as_yaml(found) if found else ""
