"""Network mode of an AKS cluster, and public addresses of its nodes."""

from kcheck.config.numbers import profiles
from kcheck.config.numbers.fields import Fields
from kcheck.config.numbers.profiles import ProfileValue
from kcheck.inventory.clouds.reader import Reader, why_missing
from kcheck.model import Cluster
from kcheck.text.need import total
from kcheck.text.partly_known import address_of, either
from kcheck.text.units import minor_version
from kcheck.text.values import (
    Datum,
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

_MODES = frozenset({"node-subnet", "overlay", "kubenet"})
_CHOSEN = "network_plugin is not set: AKS uses kubenet, or Azure CNI Overlay"


def network(fields: Fields, *, automatic: bool) -> tuple[Value[str], Value[str]]:
    """Return the network plugin and mode, by the version at creation."""
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
    """Return the plugin and mode that AKS chooses by version."""
    old = Known(settings["network.old_plugin"].text, plugin)
    minor = minor_version(version.value) if isinstance(version, Known) else None
    first = settings["network.overlay_from"].number
    if minor is not None and minor < first:
        return old, Unset(mode)
    new = Known(settings["network.new_plugin"].text, plugin)
    none, overlay = Known("", mode), Known(settings["network.new_mode"].text, mode)
    why = f"{_CHOSEN} if created with Kubernetes 1.{first} or later"
    return either([old, new], why, plugin), Either(why, mode, branches=(none, overlay))


def mode_of(cluster: Cluster | None) -> Value[str]:
    """Return how pods get addresses: node-subnet, overlay or kubenet."""
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
    if isinstance(plugin, Either) and plugin.reason.startswith(_CHOSEN):
        return tuple(one for one in candidates(mode) if one.value)
    default = profiles.settings("aks")["network.mode_of_azure"].text
    return tuple(one if one.value else Known(default, one.origin) for one in candidates(mode))


def _why(plugin: Value[str], mode: Value[str]) -> str:
    if isinstance(plugin, Known) and plugin.value != "azure":
        return f"network_plugin is {plugin.value}"
    return why_missing(plugin if isinstance(plugin, Unknown) else mode, "network_plugin")


_PREFIX = "azurerm_public_ip_prefix"
_GATEWAY = "azurerm_nat_gateway"
_OF_SUBNET = "azurerm_subnet_nat_gateway_association"
_BITS = 32


def public_addresses(cluster: Fields, subnet: Datum | None, reader: Reader) -> tuple[Value[int], Value[str]]:
    """Return the number of public addresses, and the attribute that lists them.

    Unset where none belong to the cluster. `subnet` is the subnet of the default pool.
    """
    kind = known(cluster.text("outbound_type"))
    origin = cluster.text("outbound_type").origin or Origin((cluster.record.span,))
    if kind == "managedNATGateway":
        return cluster.number("nat_ips"), Unset(origin)
    if kind == "userAssignedNATGateway":
        return _of_gateway(subnet, reader, origin), Unset(origin)
    if kind != "loadBalancer":
        return Unset(origin), Unset(origin)
    for name in ("own_ips", "own_prefixes"):
        found = _listed(cluster, name, reader)
        if not isinstance(found, Unset):
            origin = found.origin or origin
            return found, Known(origin.path[-1] if origin.path else name, origin)
    return cluster.number("outbound_ips"), Unset(origin)


def _listed(fields: Fields, name: str, reader: Reader) -> Value[int]:
    """Count the addresses in a list of addresses or prefixes; Unset if empty."""
    raw = fields.raw(name)
    if raw is None or isinstance(raw, Unknown):
        return raw or Unset(Origin((fields.record.span,)))
    items = raw.value if isinstance(raw.value, tuple) else ()
    if not items:
        return Unset(raw.origin)
    origin = Origin(raw.origin.spans)
    own = name == "own_prefixes"
    return total([_of_prefix(item, reader) for item in items], origin) if own else Known(len(items), origin)


def _of_prefix(datum: Datum | None, reader: Reader) -> Value[int]:
    """Count the addresses of a public IP prefix; Unknown outside this root."""
    made = next((fields for one, fields in reader.each(_PREFIX) if one.address == address_of(datum)), None)
    if made is None:
        return Unknown("the length of a public IP prefix is not in this code", datum.origin if datum else None)
    return mapped(
        made.number("length"), lambda bits: 1 << (_BITS - bits) if bits <= _BITS else 0
    )  # longer ones are of IPv6


def _of_gateway(subnet: Datum | None, reader: Reader, origin: Origin) -> Value[int]:
    """Count the addresses of a subnet's NAT gateway; Unset without one."""
    gateways = list(reader.each(_GATEWAY))
    if not gateways:
        return Unset(origin)
    address = address_of(subnet)
    joined = {address_of(one.raw("subnet")): address_of(one.raw("gateway")) for _, one in reader.each(_OF_SUBNET)}
    own_gateway = joined.get(address) if address else None
    (gateway, own), *others = [pair for pair in gateways if pair[0].address == own_gateway] or gateways
    if others or gateway.doubt:
        return Unknown("the NAT gateway of the default pool's subnet is not known", origin)
    counts = [_listed(own, name, reader) for name in ("own_ips", "own_prefixes")]
    for kind in ("public_ip", "public_ip_prefix"):
        for _, one in reader.each(f"{_GATEWAY}_{kind}_association"):
            named = one.raw("gateway")
            if isinstance(named, Unknown) and named.symbol is None:
                return named
            if address_of(named) != gateway.address:
                continue
            counts.append(_of_prefix(one.raw("prefix"), reader) if kind.endswith("prefix") else Known(1, origin))
    found = total([count for count in counts if not isinstance(count, Unset)], Origin((gateway.span,)))
    return Unset(origin) if known(found) == 0 else found
