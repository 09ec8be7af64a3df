"""AKS upgrades of a pool: with surge nodes, or with fewer nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcheck.config.numbers import profiles
from kcheck.model import Surge, Upgrade
from kcheck.model.pools import surge_of
from kcheck.text.partly_known import either
from kcheck.text.units import minor_version
from kcheck.text.values import Known, Unknown, Unset, Value, equals, mapped

if TYPE_CHECKING:
    from kcheck.config.numbers.fields import Fields
    from kcheck.model import Cluster


def of_pool(fields: Fields, cluster: Cluster | None) -> Upgrade:
    """How a pool is upgraded."""
    surge, missing = _surge(fields, cluster), fields.text("max_unavailable")
    without = isinstance(fields.text("max_surge"), Unset) and isinstance(missing, Known)
    rolling = surge_of(missing) if without and isinstance(missing, Known) else surge
    priority = fields.text("priority")
    if isinstance(priority, Known) and priority.value == "Spot":
        rolling = Unset(priority.origin)  # AKS refuses both settings for these
    return Upgrade(
        surge,
        rolling,
        mapped(fields.number("drain_timeout"), lambda minutes: minutes * 60),
    )


def _surge(fields: Fields, cluster: Cluster | None) -> Value[Surge]:
    """The surge of an upgrade: as written, none with max_unavailable or spot, else AKS' default."""
    written = fields.text("max_surge")
    if isinstance(written, Known):
        return surge_of(written)
    if isinstance(written, Unknown):
        return written
    if equals(fields.text("priority"), "Spot") or isinstance(fields.text("max_unavailable"), Known):
        return Known(Surge(), written.origin)
    version = cluster.version if cluster else written
    settings = profiles.settings("aks")
    before, after = (surge_of(Known(settings[key].text, written.origin)) for key in ("surge.old", "surge.new"))
    if isinstance(version, Unknown) and isinstance(before, Known) and isinstance(after, Known):
        return either([before, after], version.reason, version.origin)
    minor = minor_version(version.value) if isinstance(version, Known) else None
    return before if minor is not None and minor < settings["surge.share_from"].number else after
