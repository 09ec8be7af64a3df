"""Karpenter NodePools and Provisioners as written: limits, disruption, expiry."""

from typing import TypeVar

from kcheck.config.numbers import machines, profiles
from kcheck.config.numbers.fields import Fields
from kcheck.inventory.clouds import karpenter_machines
from kcheck.inventory.clouds.karpenter_machines import Requirement
from kcheck.inventory.clouds.reader import has_accelerator
from kcheck.kubernetes.record import MappingRecord
from kcheck.model import NOTHING, Addon, Cluster, KarpenterPool
from kcheck.text import placeholders
from kcheck.text.syntax import yaml
from kcheck.text.units import minor_version, seconds, whole_number
from kcheck.text.values import Known, Missing, Origin, Unknown, Unset, Value, equals, known, mapped, with_origin

KINDS = ("NodePool", "Provisioner")
GPU = "nvidia.com/gpu"
SKU = "karpenter.azure.com/sku-name"
ZONE = "topology.kubernetes.io/zone"
INSTANCE_TYPE, CAPACITY = "node.kubernetes.io/instance-type", "karpenter.sh/capacity-type"
_FAMILIES = (
    "karpenter.k8s.aws/instance-family",
    "karpenter.k8s.aws/instance-category",
    "eks.amazonaws.com/instance-family",
    "eks.amazonaws.com/instance-category",
    "karpenter.azure.com/sku-family",
)
GPU_FAMILIES = ("p", "g", "gr", "trn", "inf", "dl")
"""EC2 categories and families whose machines all have GPUs or other accelerators."""
_ACCELERATORS = ("/gpu", "/neuron", "/neuroncore", "/neurondevice")
_NEVER = "Never"

T = TypeVar("T")
Needs = dict[str, tuple[str, tuple[str, ...]]]
"""Operator and values of requirements, by label."""


def read(addon: Addon, tree: yaml.Mapping, cluster: Value[Cluster]) -> KarpenterPool:
    """Read a pool as written."""
    record = MappingRecord(tree, addon.place)
    place = Origin((addon.place,))
    api, kind = yaml.text(tree, "apiVersion"), yaml.text(tree, "kind")
    version = yaml.get(tree, "apiVersion")
    resource = "NodePool.v1beta1" if kind == "NodePool" and api.endswith("/v1beta1") else kind
    fields = Fields("any", resource, record)
    name = fields.text("name")
    needs = required(tree, kind)
    return KarpenterPool(
        f"{addon.place.source.path}:{kind}/{known(name) or '?'}",
        addon.place,
        kind,
        cluster,
        name,
        Known(api, place if version is None else Origin((version.span,))),
        limits=_limits(fields),
        policy=_of_auto_mode(_policy(fields, place), tree, cluster),
        consolidate_after=_idle_time(fields, place),
        budgets=_budgets(tree, place, "Underutilized"),
        drift_budgets=_budgets(tree, place, "Drifted"),
        expire_after=_expiry(fields, tree, place),
        gpu=gpu_of_pool(tree, kind, needs, place),
        spot=is_spot(needs, place),
        replicas=_replicas(fields),
    )


def requirements(tree: yaml.Mapping, kind: str = "NodePool") -> list[Requirement]:
    """List a pool's requirements on its nodes."""
    return [
        Requirement(yaml.text(one, "key"), yaml.text(one, "operator"), tuple(map(yaml.text, yaml.items(one, "values"))))
        for one in yaml.items(tree, *_spec(kind), "requirements")
    ]


def required(tree: yaml.Mapping, kind: str = "NodePool") -> Needs:
    """Return operator and values of a pool's requirements, by label."""
    return {one.key: (one.operator, one.values) for one in requirements(tree, kind)}


def _spec(kind: str) -> tuple[str, ...]:
    return ("spec",) if kind == "Provisioner" else ("spec", "template", "spec")


def _limits(fields: Fields) -> Value[tuple[str, ...]]:
    found = _placed(fields.mapping("limits"), fields)
    if not isinstance(found, Known):
        return found
    written = tuple(f"{key}={value}" for key, value in found.value.items())
    return Known(written, found.origin) if written else Unset(found.origin)


def _placed(value: Value[T], fields: Fields) -> Value[T]:
    """Give a value that is not written the place of its object."""
    origin = value.origin
    return value if origin is None or origin.missing is None else with_origin(value, Origin((fields.record.span,)))


def _policy(fields: Fields, place: Origin) -> Value[str]:
    """Return the consolidation policy; Provisioners remove only empty nodes by default."""
    if fields.resource != "Provisioner":
        own, beside = fields.text("policy"), fields.text("consolidate_after").origin
        if own.origin is None or own.origin.missing is None or (beside and beside.missing is None):
            return own
        path = ("spec", "disruption", "consolidationPolicy")
        missing = Missing(own.origin.missing.container, path)
        why = "its disruption needs consolidateAfter too"
        return with_origin(own, Origin((fields.record.span,), missing=missing, why=why))
    on = fields.flag("consolidation")
    if isinstance(on, Unknown):
        return on
    key = "karpenter.policy" if known(on) else "karpenter.policy_of_empty"
    return Known(
        str(profiles.settings("any")[key].value), place if isinstance(on, Unset) else Origin((on.origin.written,))
    )


def is_of_auto_mode(tree: yaml.Mapping) -> bool:
    """Whether EKS Auto Mode makes the nodes of a pool."""
    return yaml.text(tree, *_spec("NodePool"), "nodeClassRef", "group") == "eks.amazonaws.com"


def _expiry(fields: Fields, tree: yaml.Mapping, place: Origin) -> Value[int]:
    """Return the age at which nodes are replaced; EKS Auto Mode has a default of its own."""
    if is_of_auto_mode(tree) and yaml.get(tree, *_spec("NodePool"), "expireAfter") is None:
        return Known(seconds(profiles.settings("any")["karpenter.expire_after_of_auto_mode"].text), place)
    return _time(fields, "expire_after", place)


def _of_auto_mode(own: Value[str], tree: yaml.Mapping, cluster: Value[Cluster]) -> Value[str]:
    """Return the policy, whose default is another one in new versions of EKS Auto Mode."""
    owner, written = known(cluster), own.origin is None or own.origin.missing is None
    minor, usual = minor_version(known(owner.version) or "") if owner is not None else None, profiles.settings("any")
    if written or not is_of_auto_mode(tree) or (minor or 0) < usual["karpenter.auto_mode_from"].number:
        return own
    return mapped(own, lambda _: str(usual["karpenter.policy_of_auto_mode"].value))


def _time(fields: Fields, name: str, place: Origin) -> Value[int]:
    value = _placed(fields.text(name), fields)
    if equals(value, _NEVER):
        return Unset(value.origin or place)
    if not isinstance(value, Known):
        return value
    try:
        number = whole_number(value.value)
        return Known(seconds(value.value) if number is None else number, value.origin)
    except ValueError as error:
        return Unknown(str(error), value.origin)


def _idle_time(fields: Fields, place: Origin) -> Value[int]:
    """Return the idle seconds before removal; Unset for a pool of fixed size."""
    fixed = _replicas(fields)
    if not isinstance(fixed, Unset):
        return Unset(fixed.origin or place)
    own = _time(fields, "consolidate_after", place)
    on = fields.flag("consolidation") if fields.resource == "Provisioner" else None
    if isinstance(own, Unset) and isinstance(on, Known) and on.value:
        return Known(0, Origin((on.origin.written,)))
    return own


def _replicas(fields: Fields) -> Value[int]:
    return NOTHING if fields.resource != "NodePool" else fields.number("replicas")


def _budgets(tree: yaml.Mapping, place: Origin, reason: str) -> Value[tuple[str, ...]]:
    """List the nodes that each budget allows to disrupt at once for a reason."""
    found = yaml.get(tree, "spec", "disruption", "budgets")
    if found is None:
        return Known((str(profiles.settings("any")["karpenter.budget"].value),), place)
    if not isinstance(found, yaml.Sequence):
        return Unknown("the budgets are not a list", Origin((found.span,)))
    own = (item for item in found.items if _counts(item, reason))
    return Known(tuple(yaml.text(item, "nodes") for item in own), Origin((found.span,)))


def _counts(budget: yaml.Node, reason: str) -> bool:
    """Whether a budget applies to a reason; without reasons it does to all."""
    named = [yaml.text(one) for one in yaml.items(budget, "reasons")]
    return not named or reason in named


def gpu_of_pool(tree: yaml.Mapping, kind: str, needs: Needs, place: Origin) -> Value[bool]:
    """Whether the pool's nodes have GPUs, by taint or requirement; Unknown if Karpenter may choose."""
    keys = [yaml.text(item, "key") for item in yaml.items(tree, *_spec(kind), "taints")]
    if any(key.endswith(_ACCELERATORS) for key in keys) or _asks_for_gpus(needs):
        return Known(value=True, origin=place)
    every = (value for key in (INSTANCE_TYPE, SKU, *_FAMILIES) for value in _listed(needs, key))
    if missing := placeholders.unknown(every, place):
        return missing
    types = _listed(needs, INSTANCE_TYPE) or _listed(needs, SKU)
    if types:
        return Known(all(_has_gpus(name) for name in types), place)
    for key in _FAMILIES:
        names = _listed(needs, key)
        if names:
            return Known(all(map(_is_gpu_family, names)), place)
    left = karpenter_machines.fitting(requirements(tree, kind), "eks")
    found = {bool(count) for count in karpenter_machines.gpus(left, "eks")}
    if len(found) == 1:
        return Known(found.pop(), place)
    return Unknown(f"the machine types of {kind} {yaml.text(tree, 'metadata', 'name')} are Karpenter's choice", place)


def _asks_for_gpus(needs: Needs) -> bool:
    """Whether a requirement is about GPUs and does not exclude them."""
    about = ("instance-gpu-", "instance-accelerator-", "sku-gpu-")
    asked = (operator for key, (operator, _) in needs.items() if key.rpartition("/")[2].startswith(about))
    return any(operator in ("In", "Gt", "Gte", "Exists") for operator in asked)


def _listed(needs: Needs, key: str) -> tuple[str, ...]:
    operator, values = needs.get(key, ("", ()))
    return values if operator == "In" else ()


def _has_gpus(name: str) -> bool:
    cloud = "aks" if name.startswith("Standard_") else "eks"
    return bool(machines.gpus(cloud, name)) or has_accelerator(cloud, name)


def _is_gpu_family(name: str) -> bool:
    """Whether all machines of a family have GPUs: `p5`, or the categories `p` and `g` (EC2); `NC` (Azure)."""
    if name.isupper():
        return name.startswith("N")
    return name in GPU_FAMILIES or has_accelerator("eks", name)


def is_spot(needs: Needs, place: Origin) -> Value[bool]:
    """Whether the pool's nodes are spot only."""
    listed = _listed(needs, CAPACITY)
    return Known("spot" in listed and "on-demand" not in listed, place)
