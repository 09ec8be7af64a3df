"""EKS node groups and their EC2 launch templates: machine types, images, disks, EFA interfaces, updates."""

from kcheck.config.numbers import machines, profiles
from kcheck.config.numbers.fields import Fields
from kcheck.inventory.clouds import karpenter_machines
from kcheck.inventory.clouds import kubelet as kubelets
from kcheck.inventory.clouds.reader import blocks_below, or_default, resolve_reference, text_reference
from kcheck.inventory.embedded.machines import decoded
from kcheck.model import NOTHING, Kubelet, Market, Surge, System, Upgrade
from kcheck.terraform.resource import Instance
from kcheck.text.need import first_unknown
from kcheck.text.partly_known import same_value
from kcheck.text.text import Span
from kcheck.text.values import Known, Origin, Record, Unknown, Unrendered, Unset, Value, known, mapped

_CLOUD = "eks"
KIND = "aws_launch_template"
ELSEWHERE = "the launch template is not in this root module"
_CHOSEN = "instance_requirements lets AWS choose the instance types: name them in allowed_instance_types"


def launch_template(fields: Fields, templates: dict[str, Fields]) -> Fields | None:
    """Find the launch template of a group, by reference or by name."""
    found = resolve_reference(fields.raw("launch_template"), templates)
    if found is not None:
        return found.value
    name = fields.text("launch_template")
    return next((template for template in templates.values() if same_value(template.text("name"), name)), None)


def _allowed(requirements: Record, place: Origin) -> Value[tuple[str, ...]]:
    """Return the machine types that requirements name; Unknown if AWS chooses."""
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


def overrides(instance: Instance) -> Value[tuple[str, ...]] | None:
    """Return the instance types of a mixed-instances policy; None if it lists none."""
    found: list[str] = []
    for override in blocks_below(instance, "mixed_instances_policy", "launch_template", "override"):
        for requirements in blocks_below(override, "instance_requirements"):
            return _allowed(requirements, Origin((override.span,)))
        if override.blocks("instance_requirements"):
            return Unknown(_CHOSEN, Origin((override.span,)))
        name = override.entry("instance_type")
        if isinstance(name, Known) and isinstance(name.value, str):
            found.append(name.value)
    return Known(tuple(found), Origin((instance.span,))) if found else None


def is_spot(fields: Fields, template: Fields | None) -> Value[bool]:
    """Whether all machines of a group are spot, by its launch template or its mixed-instances policy."""
    share, base = fields.number("on_demand"), fields.number("on_demand_base")
    if isinstance(share, Unset):
        market: Value[str] = template.text("market") if template else share
        return mapped(market, lambda name: name == "spot")
    return mapped(share, lambda percent: percent == 0 and not known(base))


def market(fields: Fields, template: Fields | None, spot: Value[bool], *, managed: bool) -> Market:
    """Return the market of a group's machines: spot, or of a capacity reservation or capacity block."""
    reservation = _reservation(fields, template, managed=managed)
    own = template.text("reservation") if template is not None else NOTHING
    return fields.record_of(Market, spot, reservation=reservation, reservation_id=own)


def _reservation(fields: Fields, template: Fields | None, *, managed: bool) -> Value[str]:
    if managed and known(fields.text("capacity")) == "CAPACITY_BLOCK":
        return fields.text("capacity")
    if template is None:
        written = fields.text("launch_template")
        return written if isinstance(written, Unset) else Unknown(ELSEWHERE, written.origin)
    return reserved(template)


def reserved(fields: Fields) -> Value[str]:
    """Return the capacity reservation or capacity block set in a launch template or an eksctl group."""
    market = fields.text("market")
    if isinstance(market, Unknown) or known(market) == _BLOCK:
        return market
    return text_reference(fields.text("reservation"))


_BLOCK = "capacity-block"
"""Market type of capacity blocks, which are paid in advance."""


def system(fields: Fields, template: Fields | None, place: Span, *, managed: bool) -> System:
    """Return the image, boot data and disks of a group's nodes."""
    return System(
        fields.text("image") if managed and not own_image(template) else NOTHING,
        boot_data=_boot_data(fields, template),
        local_disks=_starts_with(template, place, _JOINED),
        hub_mirror=_starts_with(template, place, _MIRRORS),
    )


_OTHER_IMAGES = ("CUSTOM", "WINDOWS")
"""Prefixes of AMI types whose kubelets are configured differently from Linux ones."""


def kubelet(fields: Fields, template: Fields | None, *, managed: bool) -> Kubelet:
    """Read the reservations of a group's kubelets; Unknown except for EKS' own Linux AMIs."""
    if managed and (known(fields.text("image")) or "").startswith(_OTHER_IMAGES):
        return kubelets.unknown("its nodes do not boot one of EKS' AMIs for Linux")
    if template is None:
        elsewhere = not managed or not isinstance(fields.text("launch_template"), Unset)
        return kubelets.unknown(ELSEWHERE) if elsewhere else Kubelet()
    if own_image(template):
        return kubelets.unknown("its nodes boot a custom image")
    return kubelets.in_text(user_data(template))


def efa(fields: Fields, template: Fields | None, types: Value[tuple[str, ...]]) -> Value[tuple[str, ...]]:
    """Return the EFA interface types of a group's launch template for some machine types."""
    if template is None:
        written = fields.text("launch_template")
        none = isinstance(written, Unset)
        return Known((), Origin((fields.record.span,))) if none else Unknown(ELSEWHERE, written.origin)
    nested = template.record.blocks("network_interfaces")
    if isinstance(nested, Unknown):
        return nested
    kinds = [record.entry("interface_type") for record in nested]
    if unknown := first_unknown(kinds):
        return unknown
    named = [kind for kind in kinds if isinstance(kind, Known) and kind.value in ("efa", "efa-only")]
    found = tuple(str(kind.value) for kind in named)
    if not named:
        return Known(found, Origin((fields.record.span,)))
    origin = named[0].origin
    cards = _cards(types)
    if origin.spans and origin.spans[0].source.bundled and cards:
        found = (*found[:1], *found[1:2] * (cards - 1))  # a module makes as many as the machine has network cards
    return Known(found, origin.outside(fields.record.span))


def _cards(types: Value[tuple[str, ...]]) -> int:
    """Return the maximum EFA interfaces of the smallest machine type; 0 if unknown."""
    found = [machines.machine(_CLOUD, name) for name in known(types) or ()]
    return min((one.efa for one in found if one), default=0)


def _boot_data(fields: Fields, template: Fields | None) -> Value[str]:
    """Return the custom bootstrap of a group: the user data of its launch template."""
    if template is None:
        written = fields.text("launch_template")
        return written if isinstance(written, Unset) else Unknown(ELSEWHERE, written.origin)
    data = template.text("user_data")
    origin = data.origin or Origin((template.record.span,))
    if isinstance(data, Unset) or (isinstance(data, Known) and not data.value.strip()):
        return Unset(origin)
    return Known("user data", origin)  # also where a template of which not all is known makes it


_JOINED = ("localStorage", "setup-local-disks", "RAID0", "mdadm")
"""Marks in user data that joins the local disks of a machine."""
_MIRRORS = ("certs.d/docker.io", "certs.d/_default", "registry.mirrors", "container-registry.mirrors")
"""Marks in user data that configures mirrors of Docker Hub."""


def _starts_with(template: Fields | None, place: Span, marks: tuple[str, ...]) -> Value[bool]:
    written = user_data(template) if template else Unset(Origin((place,)))
    if isinstance(written, Unset):
        return Known(value=False, origin=Origin((place,)))
    return mapped(written, lambda text: any(mark in text for mark in marks))


def user_data(template: Fields) -> Value[str]:
    """Return the user data as text, without values the cloud fills in: cluster endpoint, certificate."""
    written = template.text("user_data")
    if isinstance(written, Unrendered) and all(
        piece.datum.symbol for piece in written.pieces if isinstance(piece.datum, Unknown)
    ):
        return Known("".join(piece.text for piece in written.pieces), written.origin or Origin(()))
    return mapped(written, lambda text: decoded(text) or text)


def own_image(template: Fields | None) -> bool:
    """Whether a launch template sets a custom image, so that the group's AMI type is unused."""
    return template is not None and not isinstance(template.text("image_id"), Unset)


def disk_size(fields: Fields, template: Fields | None, *, managed: bool) -> Value[int]:
    """Return the boot disk's size in GiB: of the group or its template, else EKS' default."""
    own: Value[int] = fields.number("disk_size") if managed else NOTHING
    if not isinstance(own, Unset):
        return own
    if template is not None:
        return template.number("disk_size")
    return _default_disk(own.origin) if managed else NOTHING


def image_disk(fields: Fields, template: Fields | None, *, managed: bool) -> Value[int]:
    """Return the disk size of EKS' own images, for groups whose template sets none."""
    written = disk_size(fields, template, managed=managed)
    if not managed or not isinstance(written, Unset) or own_image(template):
        return NOTHING
    return _default_disk(written.origin)


def _default_disk(origin: Origin) -> Value[int]:
    return Known(profiles.settings(_CLOUD)["pool.disk_size"].number, origin)


# --- updates: surge nodes in every zone, one batch at a time


def upgrade(fields: Fields, zones: int, strategy: Value[str] = NOTHING, *, managed: bool) -> Upgrade:
    """Read the update settings of a group; unmanaged groups are not updated."""
    if not managed:
        return Upgrade(Known(Surge(), Origin((fields.record.span,))))
    surge, rolling = _surge(fields, zones, strategy), _rolling(fields)
    return fields.record_of(Upgrade, surge, rolling, latest_image=_latest(fields))


def _latest(fields: Fields) -> Value[bool]:
    """Whether each plan looks up the newest image: by a module's input, or in a data source."""
    if not fields.has("release"):  # not of eksctl's
        return NOTHING
    release = fields.raw("release")
    symbol = release.symbol if isinstance(release, Unknown) else None
    if symbol is None or not symbol.address.startswith("data.aws_ssm_parameter."):
        return fields.flag("latest_image")
    return Known(value=True, origin=(release.origin if release else None) or Origin((fields.record.span,)))


def _surge(fields: Fields, zones: int, strategy: Value[str]) -> Value[Surge]:
    """Return the surge of an update; none with another strategy than the default."""
    percent, count = fields.number("max_unavailable_percentage"), fields.number("max_unavailable")
    for value in (strategy, percent, count):
        if isinstance(value, Unknown):
            return value
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
