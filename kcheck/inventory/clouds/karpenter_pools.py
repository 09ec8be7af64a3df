"""Karpenter NodePools and Provisioners as written: limits, disruption, expiry."""

from msgspec.structs import replace

from kcheck.config.numbers import machines, profiles
from kcheck.config.numbers.fields import Fields
from kcheck.inventory.clouds import karpenter_machines
from kcheck.inventory.clouds.karpenter_machines import Requirement
from kcheck.kubernetes.record import MappingRecord
from kcheck.model import Cluster, KarpenterPool
from kcheck.text import placeholders
from kcheck.text.syntax import yaml
from kcheck.text.text import Span
from kcheck.text.units import minor_version, seconds, whole_number
from kcheck.text.values import Known, Missing, Origin, Unknown, Unset, V, Value, equals, known, mapped, with_origin

KINDS = ("NodePool", "Provisioner")
GPU = "nvidia.com/gpu"
SKU = "karpenter.azure.com/sku-name"
ZONE = "topology.kubernetes.io/zone"
INSTANCE_TYPE, CAPACITY = "node.kubernetes.io/instance-type", "karpenter.sh/capacity-type"
_FAMILIES = (
    "karpenter.k8s.aws/instance-family", "karpenter.k8s.aws/instance-category", "eks.amazonaws.com/instance-family",
    "eks.amazonaws.com/instance-category", "karpenter.azure.com/sku-family",
)  # fmt: skip
GPU_FAMILIES = ("p", "g", "gr", "trn", "inf", "dl")
"""EC2 categories and families whose machines all have GPUs or other accelerators."""
_ACCELERATORS = ("/gpu", "/neuron", "/neuroncore", "/neurondevice")
_NEVER = "Never"


class Written:
    """A NodePool or Provisioner as written."""

    def __init__(self, tree: yaml.Mapping, place: Span) -> None:
        self.tree = tree
        self.origin = Origin((place,))
        self.kind, self.name = yaml.text(tree, "kind"), yaml.text(tree, "metadata", "name")
        old = self.kind == "NodePool" and yaml.text(tree, "apiVersion").endswith("/v1beta1")
        self.fields = Fields("any", "NodePool.v1beta1" if old else self.kind, MappingRecord(tree, place))
        self.spec = yaml.get(tree, "spec", *(() if self.kind == "Provisioner" else ("template", "spec")))
        self.of_auto_mode = yaml.text(self.spec, "nodeClassRef", "group") == "eks.amazonaws.com"
        self.requirements = [
            Requirement(
                yaml.text(one, "key"), yaml.text(one, "operator"), tuple(map(yaml.text, yaml.items(one, "values")))
            )
            for one in yaml.items(self.spec, "requirements")
        ]
        self.needs = {one.key: (one.operator, one.values) for one in self.requirements}
        """Operator and values of its requirements, by label."""

    def read(self, cluster: Value[Cluster]) -> KarpenterPool:
        """Read its limits, disruption and expiry."""
        place, name, api = self.origin.written, self.fields.text("name"), yaml.get(self.tree, "apiVersion")
        return KarpenterPool(
            f"{place.source.path}:{self.kind}/{known(name) or '?'}",
            place,
            self.kind,
            cluster,
            name,
            Known(yaml.text(api), self.origin if api is None else Origin((api.span,))),
            limits=self._limits(),
            policy=self._of_auto_mode(self._policy(), cluster),
            consolidate_after=self._idle_time(),
            budgets=self._budgets("Underutilized"),
            drift_budgets=self._budgets("Drifted"),
            expire_after=self._expiry(),
            gpu=self.gpu(),
            spot=self.spot(),
            replicas=self.fields.number("replicas"),
        )

    def _limits(self) -> Value[tuple[str, ...]]:
        written = mapped(self.fields.mapping("limits"), lambda found: tuple(f"{key}={found[key]}" for key in found))
        return self._placed(Unset(written.origin) if isinstance(written, Known) and not written.value else written)

    def _placed(self, value: V) -> V:
        """Place an unwritten value at its object."""
        origin = value.origin
        return value if origin is None or origin.missing is None else with_origin(value, self.origin)

    def _policy(self) -> Value[str]:
        """Return the consolidation policy; Provisioners have one of their own."""
        if self.kind != "Provisioner":
            own, beside = self.fields.text("policy"), self.fields.text("consolidate_after").origin
            if own.origin is None or own.origin.missing is None or (beside and beside.missing is None):
                return own
            path = ("spec", "disruption", "consolidationPolicy")
            missing = Missing(own.origin.missing.container, path)
            why = "its disruption needs consolidateAfter too"
            return with_origin(own, replace(self.origin, missing=missing, why=why))
        on = self.fields.flag("consolidation")
        if isinstance(on, Unknown):
            return on
        key = "karpenter.policy" if known(on) else "karpenter.policy_of_empty"
        place = self.origin if isinstance(on, Unset) else Origin((on.origin.written,))
        return Known(profiles.settings("any")[key].text, place)

    def _expiry(self) -> Value[int]:
        """Return the age at which nodes are replaced."""
        if self.of_auto_mode and yaml.get(self.spec, "expireAfter") is None:
            return Known(seconds(profiles.settings("any")["karpenter.expire_after_of_auto_mode"].text), self.origin)
        return self._time("expire_after")

    def _of_auto_mode(self, own: Value[str], cluster: Value[Cluster]) -> Value[str]:
        """Return the policy; its default changed in new versions of EKS Auto Mode."""
        owner, written = known(cluster), own.origin is None or own.origin.missing is None
        minor, usual = (
            minor_version(known(owner.version) or "") if owner is not None else None,
            profiles.settings("any"),
        )
        if written or not self.of_auto_mode or (minor or 0) < usual["karpenter.auto_mode_from"].number:
            return own
        return mapped(own, lambda _: usual["karpenter.policy_of_auto_mode"].text)

    def _time(self, name: str) -> Value[int]:
        value = self._placed(self.fields.text(name))
        if equals(value, _NEVER):
            return Unset(value.origin or self.origin)
        if not isinstance(value, Known):
            return value
        try:
            number = whole_number(value.value)
            return Known(seconds(value.value) if number is None else number, value.origin)
        except ValueError as error:
            return Unknown(str(error), value.origin)

    def _idle_time(self) -> Value[int]:
        """Return the idle seconds before removal; Unset for a pool of fixed size."""
        fixed = self.fields.number("replicas")
        if not isinstance(fixed, Unset):
            return Unset(fixed.origin or self.origin)
        own, on = self._time("consolidate_after"), self.fields.flag("consolidation")
        if isinstance(own, Unset) and isinstance(on, Known) and on.value:
            return Known(0, Origin((on.origin.written,)))
        return own

    def _budgets(self, reason: str) -> Value[tuple[str, ...]]:
        """List the nodes that each budget allows to disrupt at once for a reason."""
        found = yaml.get(self.tree, "spec", "disruption", "budgets")
        if found is None:
            return Known((str(profiles.settings("any")["karpenter.budget"].value),), self.origin)
        if not isinstance(found, yaml.Sequence):
            return Unknown("the budgets are not a list", Origin((found.span,)))
        own = (item for item in found.items if _counts(item, reason))
        return Known(tuple(yaml.text(item, "nodes") for item in own), Origin((found.span,)))

    def gpu(self) -> Value[bool]:
        """Whether its nodes have GPUs; Unknown if Karpenter may choose."""
        keys = [yaml.text(one, "key") for own in ("taints", "startupTaints") for one in yaml.items(self.spec, own)]
        if any(key.endswith(_ACCELERATORS) for key in keys) or self._asks_for_gpus():
            return Known(value=True, origin=self.origin)
        every = (value for key in (INSTANCE_TYPE, SKU, *_FAMILIES) for value in self._listed(key))
        if missing := placeholders.unknown(every, self.origin):
            return missing
        types = self._listed(INSTANCE_TYPE) or self._listed(SKU)
        if types:
            return Known(all(_has_gpus(name) for name in types), self.origin)
        families = next(filter(None, map(self._listed, _FAMILIES)), ())
        if families:
            return Known(all(map(_is_gpu_family, families)), self.origin)
        left = karpenter_machines.fitting(self.requirements, "eks")
        found = {bool(count) for count in karpenter_machines.gpus(left, "eks")}
        if len(found) == 1:
            return Known(found.pop(), self.origin)
        return Unknown(f"the machine types of {self.kind} {self.name} are Karpenter's choice", self.origin)

    def _asks_for_gpus(self) -> bool:
        """Whether a requirement is about GPUs and does not exclude them."""
        about = ("instance-gpu-", "instance-accelerator-", "sku-gpu-")
        asked = (operator for key, (operator, _) in self.needs.items() if key.rpartition("/")[2].startswith(about))
        return any(operator in ("In", "Gt", "Gte", "Exists") for operator in asked)

    def _listed(self, key: str) -> tuple[str, ...]:
        operator, values = self.needs.get(key, ("", ()))
        return values if operator == "In" else ()

    def spot(self) -> Value[bool]:
        """Whether its nodes are spot only."""
        listed = self._listed(CAPACITY)
        return Known("spot" in listed and "on-demand" not in listed, self.origin)


def _counts(budget: yaml.Node, reason: str) -> bool:
    """Whether a budget applies to a reason; one without reasons applies to all."""
    named = [yaml.text(one) for one in yaml.items(budget, "reasons")]
    return not named or reason in named


def _has_gpus(name: str) -> bool:
    cloud = "aks" if name.startswith("Standard_") else "eks"
    return bool(machines.gpus(cloud, name)) or machines.has_accelerator(cloud, name)


def _is_gpu_family(name: str) -> bool:
    """Whether all machines of a family have GPUs, such as `p5` or `NC`."""
    if name.isupper():
        return name.startswith("N")
    return name in GPU_FAMILIES or machines.has_accelerator("eks", name)
