"""GKE pool upgrades, with surge nodes or with unavailable ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcheck.config.numbers import profiles
from kcheck.model import Surge, Upgrade
from kcheck.text.values import Known, Origin, Unknown, Value, equals, known, mapped

if TYPE_CHECKING:
    from kcheck.config.numbers.fields import Fields


def of_pool(fields: Fields, gpu: Value[bool], spot: Value[bool]) -> Upgrade:
    """Read how a pool is upgraded."""
    return fields.record_of(
        Upgrade, surge=_surge(fields), rolling=_rolling(fields), scarce_surge=_scarce(fields, gpu, spot)
    )


def _surge(fields: Fields) -> Value[Surge]:
    """Return the surge of an upgrade: some nodes, or a second pool with BLUE_GREEN."""
    if equals(fields.text("strategy"), "BLUE_GREEN"):
        return mapped(fields.text("strategy"), lambda _: Surge(percent=100))
    return mapped(fields.number("max_surge"), Surge)


def _scarce(fields: Fields, gpu: Value[bool], spot: Value[bool]) -> Value[bool]:
    """Whether surge machines are scarce: GPU, spot, reserved or queued ones."""
    origin = Origin((fields.record.span,))
    if known(fields.number("max_surge")) == 0:
        return Known(value=False, origin=origin)
    reserved = mapped(fields.text("reservation"), lambda name: name not in ("", "NO_RESERVATION"))
    kinds = (gpu, spot, reserved, fields.flag("queued"), fields.flag("flex_start"))
    if any(known(kind) for kind in kinds):
        return Known(value=True, origin=origin)
    return next((kind for kind in kinds if isinstance(kind, Unknown)), Known(value=False, origin=origin))


def _rolling(fields: Fields) -> Value[Surge]:
    """Return the nodes that an upgrade replaces at a time: surge plus unavailable."""
    added, missing = fields.number("max_surge"), fields.number("max_unavailable")
    if equals(fields.text("strategy"), "BLUE_GREEN"):
        return mapped(fields.text("strategy"), lambda _: Surge(percent=100))
    most = profiles.limits("gke")["pool.parallel_upgrades"].number
    own, other = (missing, added) if known(added) == 0 else (added, missing)  # GPUs have no nodes to add
    beside = known(other) or 0
    return mapped(own, lambda nodes: Surge(nodes + beside, most=most, beside=beside))
