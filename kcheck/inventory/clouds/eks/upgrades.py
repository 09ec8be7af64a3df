"""EKS updates of a managed group: surge nodes in every zone, one batch at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcheck.config.numbers import profiles
from kcheck.inventory.clouds.reader import or_default
from kcheck.model import NOTHING, Surge, Upgrade
from kcheck.text.values import Known, Origin, Unknown, Unset, Value, known, mapped

if TYPE_CHECKING:
    from kcheck.config.numbers.fields import Fields

_CLOUD = "eks"


def of_group(fields: Fields, zones: int, strategy: Value[str] = NOTHING, *, managed: bool) -> Upgrade:
    """Read the update settings of a group; unmanaged groups are not updated."""
    if not managed:
        return Upgrade(Known(Surge(), Origin((fields.record.span,))))
    surge, rolling = _surge(fields, zones, strategy), _rolling(fields)
    return fields.record_of(Upgrade, surge, rolling, max_unavailable=NOTHING, latest_image=_latest(fields))


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
