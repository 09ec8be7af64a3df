"""The network mode of an AKS cluster, as set or as AKS chooses it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcheck.config.numbers import profiles
from kcheck.inventory.clouds.reader import why_missing
from kcheck.text.partly_known import either
from kcheck.text.units import minor_version
from kcheck.text.values import (
    Either,
    Known,
    Origin,
    Unknown,
    Unset,
    Value,
    candidates,
    equals,
    known,
    mapped,
    reason_of,
)

if TYPE_CHECKING:
    from kcheck.config.numbers.fields import Fields
    from kcheck.config.numbers.profiles import ProfileValue
    from kcheck.model import Cluster

_MODES = frozenset({"node-subnet", "overlay", "kubenet"})
_CHOSEN = "network_plugin is not set: AKS uses kubenet, or Azure CNI Overlay"


def network(fields: Fields, *, automatic: bool) -> tuple[Value[str], Value[str]]:
    """The network plugin of a cluster and its mode; the default depends on the version at creation."""
    plugin, mode, settings = fields.text("network_plugin"), fields.text("network_mode"), profiles.settings("aks")
    at, at_mode = (value.origin or Origin((fields.record.span,)) for value in (plugin, mode))
    mode = mapped(mode, str.lower)  # written "Overlay" up to azurerm 3.61
    if equals(plugin, "azure") and isinstance(mode, Unset):
        return plugin, Known(settings["network.mode_of_azure"].text, at_mode)
    if not isinstance(plugin, Unset):
        return plugin, mode
    if automatic:
        return Known("azure", at), Known(settings["network.mode_of_automatic"].text, at_mode)
    policy, plane = known(fields.text("network_policy")), known(fields.text("data_plane"))
    if not isinstance(mode, Unset) or policy in ("azure", "cilium") or plane == "cilium":  # which only Azure CNI has
        return Known("azure", at), mode
    return _by_version(fields.text("version"), at, at_mode, settings)


def _by_version(
    version: Value[str], plugin: Origin, mode: Origin, settings: dict[str, ProfileValue]
) -> tuple[Value[str], Value[str]]:
    """The plugin that AKS chooses by version; existing clusters keep theirs."""
    old = Known(settings["network.old_plugin"].text, plugin)
    minor = minor_version(version.value) if isinstance(version, Known) else None
    first = settings["network.overlay_from"].number
    if minor is not None and minor < first:
        return old, Unset(mode)
    new = Known(settings["network.new_plugin"].text, plugin)
    none, overlay = Known("", mode), Known(settings["network.new_mode"].text, mode)
    why = f"{_CHOSEN} if created with Kubernetes 1.{first} or later"
    return either([old, new], why, plugin), Either(why, mode, branches=(none, overlay))


def mode_of(cluster: Cluster | None) -> Known[str] | Unknown:
    """How pods get addresses: node-subnet, overlay or kubenet."""
    if cluster is None:
        return Unknown("the pool's cluster is not known")
    plugin, mode = cluster.network_plugin, cluster.network_mode
    found: list[Known[str]] = []
    for one in candidates(plugin):
        modes = (one,) if one.value == "kubenet" else _modes(plugin, mode) if one.value == "azure" else ()
        if not modes:
            return Unknown(_why(one, mode), one.origin)
        found += modes
    other = next((one for one in found if one.value not in _MODES), None)
    if other is not None:
        return Unknown(f"network_plugin_mode is {other.value}", other.origin)
    return either(found, reason_of(plugin), plugin.origin) if found else Unknown(_why(plugin, mode), plugin.origin)


def _modes(plugin: Value[str], mode: Value[str]) -> tuple[Known[str], ...]:
    """The modes that Azure CNI may have."""
    if isinstance(plugin, Either) and plugin.reason.startswith(_CHOSEN):
        return tuple(one for one in candidates(mode) if one.value)
    default = profiles.settings("aks")["network.mode_of_azure"].text
    return tuple(one if one.value else Known(default, one.origin) for one in candidates(mode))


def _why(plugin: Value[str], mode: Value[str]) -> str:
    """Why it is unknown."""
    if isinstance(plugin, Known) and plugin.value != "azure":
        return f"network_plugin is {plugin.value}"
    return why_missing(plugin if isinstance(plugin, Unknown) else mode, "network_plugin")
