"""EKS node groups and their EC2 launch templates."""

from collections.abc import Callable, Collection
from typing import NamedTuple, TypeVar

from kcheck.config.numbers import machines, profiles
from kcheck.config.numbers.fields import Fields
from kcheck.inventory.clouds import karpenter_machines
from kcheck.inventory.clouds import kubelet as kubelets
from kcheck.inventory.clouds.reader import blocks_below, or_default, resolve_reference, text_reference
from kcheck.inventory.embedded.machines import decoded
from kcheck.model import NOTHING, Kubelet, Market, Surge, System, Upgrade
from kcheck.terraform.resource import Instance
from kcheck.text.need import first_unknown, if_set, need, or_unknown
from kcheck.text.partly_known import same_value
from kcheck.text.values import Known, Origin, Record, Unknown, Unrendered, Unset, Value, first_set, known, mapped

T = TypeVar("T")

_CLOUD = "eks"
KIND = "aws_launch_template"
POOL = "aws_eks_node_group"
_ELSEWHERE = "the launch template is not in this root module"
_CHOSEN = "instance_requirements lets AWS choose the instance types: name them in allowed_instance_types"

_OTHER_IMAGES = ("CUSTOM", "WINDOWS")
"""Prefixes of AMI types whose kubelets are configured differently from Linux ones."""
_JOINED = ("localStorage", "setup-local-disks", "RAID0", "mdadm")
"""Marks in user data that joins the local disks of a machine."""
_MIRRORS = ("certs.d/docker.io", "certs.d/_default", "registry.mirrors", "container-registry.mirrors")
"""Marks in user data that configures mirrors of Docker Hub."""
_BLOCK = "capacity-block"
"""Market type of capacity blocks, which are paid in advance."""


class NodeGroup(NamedTuple):
    """A node group; its launch template is Unknown if outside this root."""

    instance: Instance
    fields: Fields
    template: Value[Fields]

    @property
    def managed(self) -> bool:
        """Whether EKS manages the group."""
        return self.fields.resource == POOL

    @property
    def has_own_image(self) -> bool:
        """Whether the launch template sets a custom image."""
        template = known(self.template)
        return template is not None and not isinstance(template.text("image_id"), Unset)

    def of_template(self, read: Callable[[Fields], Value[T]]) -> Value[T]:
        """Read a value of the launch template."""
        return read(self.template.value) if isinstance(self.template, Known) else self.template

    def types(self) -> Value[tuple[str, ...]]:
        """Return the instance types: the group's, its template's, or the default."""
        written = first_set(_overrides(self.instance), self.fields.texts("instance_types"))
        if not isinstance(written, Unset):
            return written
        one = self.of_template(lambda own: own.text("instance_type"))
        if isinstance(one, Unset) and self.managed:
            one = Known(profiles.settings(_CLOUD)["pool.instance_type"].text, written.origin)
        if isinstance(one, Unset) or not (self.managed or isinstance(self.template, Known)):
            return Unknown("the instance type is in a launch template that is not in this root module")
        return mapped(one, lambda name: (name,))

    def market(self) -> Market:
        """Return the market: spot, a capacity reservation or a capacity block."""
        capacity, template = self.fields.text("capacity"), known(self.template)
        by_capacity = mapped(capacity, lambda kind: kind == "SPOT")
        spot = by_capacity if self.managed else is_spot(self.fields, template)
        reservation = capacity if known(capacity) == "CAPACITY_BLOCK" else self.of_template(reserved)
        own = template.text("reservation") if template is not None else NOTHING
        return self.fields.record_of(Market, spot, reservation=reservation, reservation_id=own)

    def system(self) -> System:
        """Return the image, boot data and disks of its nodes."""
        return System(
            NOTHING if self.has_own_image else self.fields.text("image"),
            boot_data=self.of_template(_boot_data),
            local_disks=self._starts_with(_JOINED),
            hub_mirror=self._starts_with(_MIRRORS),
        )

    def _starts_with(self, marks: tuple[str, ...]) -> Value[bool]:
        written = user_data(self.template.value) if isinstance(self.template, Known) else NOTHING
        if isinstance(written, Unset):
            return Known(value=False, origin=Origin((self.instance.span,)))
        return mapped(written, lambda text: any(mark in text for mark in marks))

    def kubelet(self) -> Kubelet:
        """Read the kubelet's reservations; Unknown except for EKS' Linux AMIs."""
        if (known(self.fields.text("image")) or "").startswith(_OTHER_IMAGES):
            return kubelets.unknown("its nodes do not boot one of EKS' AMIs for Linux")
        if self.managed and isinstance(self.template, Unset):
            return Kubelet()
        if not isinstance(self.template, Known):
            return kubelets.unknown(_ELSEWHERE)
        if self.has_own_image:
            return kubelets.unknown("its nodes boot a custom image")
        return kubelets.in_text(user_data(self.template.value))

    @or_unknown
    def efa(self, types: Value[tuple[str, ...]]) -> Value[tuple[str, ...]]:
        """Return the EFA interface types in its launch template, by machine type."""
        template = if_set(self.template)
        nested = need(template.record.blocks("network_interfaces")) if template is not None else ()
        kinds = [record.entry("interface_type") for record in nested]
        if unknown := first_unknown(kinds):
            return unknown
        named = [kind for kind in kinds if isinstance(kind, Known) and kind.value in ("efa", "efa-only")]
        found = tuple(str(kind.value) for kind in named)
        if not named:
            return Known(found, Origin((self.instance.span,)))
        origin = named[0].origin
        most = cards(types)
        if origin.spans and origin.spans[0].source.bundled and most:
            found = (*found[:1], *found[1:2] * (most - 1))  # a module makes as many as the machine has network cards
        return Known(found, origin.outside(self.instance.span))

    def disk_size(self) -> Value[int]:
        """Return the boot disk's GiB: the group's, its template's, or the default."""
        own = self.fields.number("disk_size")
        if not isinstance(own, Unset):
            return own
        if isinstance(self.template, Known):
            return self.template.value.number("disk_size")
        return _default_disk(own.origin) if self.managed else NOTHING

    def image_disk(self) -> Value[int]:
        """Return the disk size of EKS' own images, if the group's template sets none."""
        written = self.disk_size()
        if not self.managed or not isinstance(written, Unset) or self.has_own_image:
            return NOTHING
        return _default_disk(written.origin)


def group(instance: Instance, fields: Fields, templates: dict[str, Fields]) -> NodeGroup:
    """Return a group with its launch template, found by reference or by name."""
    name = fields.text("launch_template")
    named = (Known(one, name.origin or Origin(())) for one in templates.values() if same_value(one.text("name"), name))
    found = resolve_reference(fields.raw("launch_template"), templates) or next(named, None)
    return NodeGroup(instance, fields, found or elsewhere(name))


def elsewhere(written: Value[str]) -> Unset | Unknown:
    """Return why a launch template outside this root is unknown."""
    return written if isinstance(written, Unset) else Unknown(_ELSEWHERE, written.origin)


def _allowed(requirements: Record, place: Origin) -> Value[tuple[str, ...]]:
    """Return the machine types named in requirements; Unknown if AWS chooses."""
    allowed = requirements.entry("allowed_instance_types")
    patterns = (
        [known(one) for one in allowed.value] if isinstance(allowed, Known) and isinstance(allowed.value, tuple) else []
    )
    if not patterns or None in patterns:
        return Unknown(_CHOSEN, place)
    found: list[str] = []
    for pattern in map(str, patterns):
        found += karpenter_machines.matching(pattern) if "*" in pattern else [pattern]
    few = 0 < len(found) <= karpenter_machines.MOST
    return Known(tuple(dict.fromkeys(found)), place) if few else Unknown(_CHOSEN, place)


def _overrides(instance: Instance) -> Value[tuple[str, ...]]:
    """Return the instance types of a mixed-instances policy; Unset if it lists none."""
    found: list[str] = []
    for override in blocks_below(instance, "mixed_instances_policy", "launch_template", "override"):
        for requirements in blocks_below(override, "instance_requirements"):
            return _allowed(requirements, Origin((override.span,)))
        if known(override.blocks("instance_requirements")) != ():
            return Unknown(_CHOSEN, Origin((override.span,)))
        name = override.entry("instance_type")
        if isinstance(name, Known) and isinstance(name.value, str):
            found.append(name.value)
    return Known(tuple(found), Origin((instance.span,))) if found else NOTHING


def is_spot(fields: Fields, template: Fields | None) -> Value[bool]:
    """Whether all machines of a group are spot."""
    share, base = fields.number("on_demand"), fields.number("on_demand_base")
    if isinstance(share, Unset):
        market: Value[str] = template.text("market") if template else share
        return mapped(market, lambda name: name == "spot")
    return mapped(share, lambda percent: percent == 0 and not known(base))


def reserved(fields: Fields) -> Value[str]:
    """Return the capacity reservation or block of a launch template or group."""
    market = fields.text("market")
    if isinstance(market, Unknown) or known(market) == _BLOCK:
        return market
    return text_reference(fields.text("reservation"))


def _boot_data(template: Fields) -> Value[str]:
    """Return the custom bootstrap of a group: the user data of its launch template."""
    data = template.text("user_data")
    origin = data.origin or Origin((template.record.span,))
    if isinstance(data, Unset) or (isinstance(data, Known) and not data.value.strip()):
        return Unset(origin)
    return Known("user data", origin)  # also where a template of which not all is known makes it


def user_data(template: Fields) -> Value[str]:
    """Return the user data as text, without values the cloud fills in."""
    written = template.text("user_data")
    if isinstance(written, Unrendered) and all(
        piece.datum.symbol for piece in written.pieces if isinstance(piece.datum, Unknown)
    ):
        return Known("".join(piece.text for piece in written.pieces), written.origin or Origin(()))
    return mapped(written, lambda text: decoded(text) or text)


def cards(types: Value[tuple[str, ...]]) -> int:
    """Return the maximum EFA interfaces of the smallest machine type; 0 if unknown."""
    found = [machines.machine(_CLOUD, name) for name in known(types) or ()]
    return min((one.efa for one in found if one), default=0)


def _default_disk(origin: Origin) -> Value[int]:
    return Known(profiles.settings(_CLOUD)["pool.disk_size"].number, origin)


# --- updates: surge nodes in every zone, one batch at a time


def upgrade(fields: Fields, zones: int, *, managed: bool, image: Value[bool] = NOTHING) -> Upgrade:
    """Read the update settings of a managed group."""
    if not managed:
        return Upgrade(Known(Surge(), Origin((fields.record.span,))))
    surge, rolling = _surge(fields, zones), _rolling(fields)
    return fields.record_of(Upgrade, surge, rolling, latest_image=first_set(image, fields.flag("latest_image")))


def looked_up(values: Collection[object], moving: Collection[str]) -> Value[bool]:
    """Whether any value comes from a data source of changing images."""
    for one in values:
        if isinstance(one, Unknown) and one.symbol is not None:
            address = one.symbol.address
            if "data.aws_ssm_parameter." in address or address in moving:
                return Known(value=True, origin=one.origin or Origin(()))
    return NOTHING


def _surge(fields: Fields, zones: int) -> Value[Surge]:
    """Return the surge of an update; none unless the strategy is the default."""
    strategy, percent = fields.text("update_strategy"), fields.number("max_unavailable_percentage")
    count = fields.number("max_unavailable")
    if unknown := first_unknown((strategy, percent, count)):
        return unknown
    place, settings, limits = Origin((fields.record.span,)), profiles.settings(_CLOUD), profiles.limits(_CLOUD)
    if isinstance(strategy, Known) and strategy.value != settings["pool.update_strategy"].value:
        return Known(Surge(), place)
    least, most = limits["pool.surge_per_zone"].number * zones, limits["pool.max_surge"].number
    if isinstance(percent, Known):
        return Known(Surge(percent=percent.value, least=least, most=most), percent.origin)
    return Known(Surge(known(count) or settings["pool.max_unavailable"].number, least=least, most=most), place)


def _rolling(fields: Fields) -> Value[Surge]:
    percent, count = fields.number("max_unavailable_percentage"), fields.number("max_unavailable")
    most, default = profiles.limits(_CLOUD)["pool.max_surge"].number, profiles.settings(_CLOUD)["pool.max_unavailable"]
    if not isinstance(percent, Unset):
        return mapped(percent, lambda share: Surge(percent=share, least=1, most=most))
    return mapped(or_default(count, lambda at: Known(default.number, at)), lambda nodes: Surge(nodes, most=most))
