"""EC2 launch templates of node groups: machine types, images, disks, EFA interfaces."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, TypedDict

from kcheck.config.numbers import machines, profiles
from kcheck.inventory.clouds import karpenter_machines
from kcheck.inventory.clouds import kubelet as kubelets
from kcheck.inventory.clouds.reader import resolve_reference, same_value, text_reference
from kcheck.model import NOTHING, Kubelet, System
from kcheck.text.values import Known, Origin, Unknown, Unrendered, Unset, Value, known, mapped

if TYPE_CHECKING:
    from kcheck.config.numbers.fields import Fields
    from kcheck.terraform.resource import Instance
    from kcheck.text.text import Span
    from kcheck.text.values import Record

KIND = "aws_launch_template"
ELSEWHERE = "the launch template is not in this root module"
_CHOSEN = "instance_requirements lets AWS choose the instance types: name them in allowed_instance_types"


def launch_template(fields: Fields, templates: dict[str, Fields]) -> Fields | None:
    """The launch template of a group, by reference or by name."""
    found = resolve_reference(fields.raw("launch_template"), templates)
    if found is not None:
        return found.value
    name = fields.text("launch_template")
    return next((template for template in templates.values() if same_value(template.text("name"), name)), None)


def _allowed(requirements: Record, place: Origin) -> Value[tuple[str, ...]]:
    """The machine types that requirements name; otherwise AWS chooses."""
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
    """The instance types that a mixed-instances policy lists."""
    found: list[str] = []
    for policy in _nested(instance, "mixed_instances_policy"):
        for template in _nested(policy, "launch_template"):
            for override in _nested(template, "override"):
                for requirements in _nested(override, "instance_requirements"):
                    return _allowed(requirements, Origin((override.span,)))
                if override.blocks("instance_requirements"):
                    return Unknown(_CHOSEN, Origin((override.span,)))
                name = override.entry("instance_type")
                if isinstance(name, Known) and isinstance(name.value, str):
                    found.append(name.value)
    return Known(tuple(found), Origin((instance.span,))) if found else None


def is_spot(fields: Fields, template: Fields | None) -> Value[bool]:
    """Whether all machines of a group are spot: by its launch template, or by its mixed-instances policy."""
    share, base = fields.number("on_demand"), fields.number("on_demand_base")
    if isinstance(share, Unset):
        market: Value[str] = template.text("market") if template else share
        return mapped(market, lambda name: name == "spot")
    return mapped(share, lambda percent: percent == 0 and not known(base))


class ReservedBy(TypedDict):
    """The fields of a market that say by what machines are reserved."""

    reservation: Value[str]
    reservation_id: Value[str]


def reserved_by(fields: Fields, template: Fields | None, *, managed: bool) -> ReservedBy:
    """The capacity reservation or capacity block of a group's machines, and which one it is."""
    return {
        "reservation": _reservation(fields, template, managed=managed),
        "reservation_id": template.text("reservation") if template is not None else NOTHING,
    }


def _reservation(fields: Fields, template: Fields | None, *, managed: bool) -> Value[str]:
    if managed and known(fields.text("capacity")) == "CAPACITY_BLOCK":
        return fields.text("capacity")
    if template is None:
        written = fields.text("launch_template")
        return written if isinstance(written, Unset) else Unknown(ELSEWHERE, written.origin)
    return reserved(template)


def reserved(fields: Fields) -> Value[str]:
    """The same as a launch template, or a group of eksctl, says it."""
    market = fields.text("market")
    if isinstance(market, Unknown) or known(market) == _BLOCK:
        return market
    return text_reference(fields.text("reservation"))


_BLOCK = "capacity-block"
"""How EC2 calls machines that are paid for a time in advance."""


def system(fields: Fields, template: Fields | None, place: Span, *, managed: bool) -> System:
    """What runs on the nodes of a group."""
    return System(
        fields.text("image") if managed and not own_image(template) else NOTHING,
        boot_data=_boot_data(fields, template),
        local_disks=_starts_with(template, place, _JOINED),
        hub_mirror=_starts_with(template, place, _MIRRORS),
    )


_OTHER_IMAGES = ("CUSTOM", "WINDOWS")
"""How types of AMIs begin whose kubelets are not configured as those of Linux."""


def kubelet(fields: Fields, template: Fields | None, *, managed: bool) -> Kubelet:
    """What the kubelets of a group are configured to reserve; only AMIs of EKS for Linux are known."""
    if managed and (known(fields.text("image")) or "").startswith(_OTHER_IMAGES):
        return kubelets.unknown("its nodes do not boot one of EKS' AMIs for Linux")
    if template is None:
        elsewhere = not managed or not isinstance(fields.text("launch_template"), Unset)
        return kubelets.unknown(ELSEWHERE) if elsewhere else Kubelet()
    if own_image(template):
        return kubelets.unknown("its nodes boot a custom image")
    return kubelets.in_text(_user_data(template))


def efa(fields: Fields, template: Fields | None, types: Value[tuple[str, ...]]) -> Value[tuple[str, ...]]:
    """The EFA interface types of a group's launch template for some machine types."""
    if template is None:
        written = fields.text("launch_template")
        none = isinstance(written, Unset)
        return Known((), Origin((fields.record.span,))) if none else Unknown(ELSEWHERE, written.origin)
    nested = template.record.blocks("network_interfaces")
    if isinstance(nested, Unknown):
        return nested
    kinds = [record.entry("interface_type") for record in nested]
    unknown = next((kind for kind in kinds if isinstance(kind, Unknown)), None)
    if unknown is not None:
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
    """Maximum EFA interfaces of the smallest of some machine types; 0 if unknown."""
    found = [machines.machine("eks", name) for name in known(types) or ()]
    return min((one.efa for one in found if one), default=0)


def _boot_data(fields: Fields, template: Fields | None) -> Value[str]:
    """The custom bootstrap of a group: the user data of its launch template."""
    if template is None:
        written = fields.text("launch_template")
        return written if isinstance(written, Unset) else Unknown(ELSEWHERE, written.origin)
    data = template.text("user_data")
    origin = data.origin or Origin((template.record.span,))
    if isinstance(data, Unset) or (isinstance(data, Known) and not data.value.strip()):
        return Unset(origin)
    return Known("user data", origin)  # also where a template of which not all is known makes it


_JOINED = ("localStorage", "setup-local-disks", "RAID0", "mdadm")
"""What user data has that joins the local disks of a machine."""
_MIRRORS = ("certs.d/docker.io", "certs.d/_default", "registry.mirrors", "container-registry.mirrors")
"""What user data has that configures mirrors of Docker Hub."""


def _starts_with(template: Fields | None, place: Span, marks: tuple[str, ...]) -> Value[bool]:
    """Whether the user data of a launch template contains any of some texts."""
    written = _user_data(template) if template else Unset(Origin((place,)))
    if isinstance(written, Unset):
        return Known(value=False, origin=Origin((place,)))
    return mapped(written, lambda text: any(mark in text for mark in marks))


def _user_data(template: Fields) -> Value[str]:
    """The user data as text, without what the cloud fills in: the endpoint of the cluster, its certificate."""
    written = template.text("user_data")
    if isinstance(written, Unrendered) and all(
        piece.datum.symbol for piece in written.pieces if isinstance(piece.datum, Unknown)
    ):
        return Known("".join(piece.text for piece in written.pieces), written.origin or Origin(()))
    return mapped(written, _decoded)


def _decoded(text: str) -> str:
    try:
        return base64.b64decode(text, validate=True).decode(errors="replace")
    except ValueError:
        return text


def own_image(template: Fields | None) -> bool:
    """Whether a launch template has a custom image, so that the group's AMI type is unused."""
    return template is not None and not isinstance(template.text("image_id"), Unset)


def disk_size(fields: Fields, template: Fields | None, *, managed: bool) -> Value[int]:
    """A boot disk setting: of the group or its template, else EKS' default."""
    own: Value[int] = fields.number("disk_size") if managed else NOTHING
    if not isinstance(own, Unset):
        return own
    if template is not None:
        return template.number("disk_size")
    return _default_disk(own.origin) if managed else NOTHING


def image_disk(fields: Fields, template: Fields | None, *, managed: bool) -> Value[int]:
    """The size of EKS' own machine images, for groups with a template that sets none."""
    written = disk_size(fields, template, managed=managed)
    if not managed or not isinstance(written, Unset) or own_image(template):
        return NOTHING
    return _default_disk(written.origin)


def _default_disk(origin: Origin) -> Value[int]:
    return Known(profiles.settings("eks")["pool.disk_size"].number, origin)


def _nested(record: Record, kind: str) -> tuple[Record, ...]:
    blocks = record.blocks(kind)
    return () if isinstance(blocks, Unknown) else blocks
