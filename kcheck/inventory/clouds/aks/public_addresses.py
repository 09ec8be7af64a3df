"""Public addresses of AKS nodes: the cluster's, the user's, or those of a NAT gateway."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcheck.config.numbers.fields import Fields
from kcheck.text.values import Known, Origin, Unknown, Unset, Value, known, mapped, total

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kcheck.terraform.module import Module
    from kcheck.text.values import Datum

_CLOUD = "aks"
_PREFIX = "azurerm_public_ip_prefix"
_GATEWAY = "azurerm_nat_gateway"
_OF_SUBNET = "azurerm_subnet_nat_gateway_association"
_BITS = 32


def addresses(cluster: Fields, subnet: Datum | None, root: Module) -> tuple[Value[int], Value[str]]:
    """The addresses of a cluster, and the attribute that lists the user's own.

    Unset where they are none of the cluster's; `subnet` is what its default pool says of its subnet.
    """
    kind = known(cluster.text("outbound_type"))
    origin = cluster.text("outbound_type").origin or Origin((cluster.record.span,))
    if kind == "managedNATGateway":
        return cluster.number("nat_ips"), Unset(origin)
    if kind == "userAssignedNATGateway":
        return _of_gateway(subnet, root, origin), Unset(origin)
    if kind != "loadBalancer":
        return Unset(origin), Unset(origin)
    for name in ("own_ips", "own_prefixes"):
        found = _listed(cluster, name, root)
        if not isinstance(found, Unset):
            origin = found.origin or origin
            return found, Known(origin.path[-1] if origin.path else name, origin)
    return cluster.number("outbound_ips"), Unset(origin)


def _listed(fields: Fields, name: str, root: Module) -> Value[int]:
    """The number of addresses in a list of addresses and prefixes; unset if empty."""
    raw = fields.raw(name)
    if raw is None or isinstance(raw, Unknown):
        return raw or Unset(Origin((fields.record.span,)))
    items = raw.value if isinstance(raw.value, tuple) else ()
    if not items:
        return Unset(raw.origin)
    count = total(_of_prefix(item, root) for item in items) if name == "own_prefixes" else len(items)
    return count if isinstance(count, Unknown) else Known(count, Origin(raw.origin.spans))


def _of_prefix(datum: Datum | None, root: Module) -> Value[int]:
    """The addresses of a public IP prefix: a /28 has 16."""
    symbol = datum.symbol if isinstance(datum, Unknown) else None
    made = next((one for one in root.instances(_PREFIX) if symbol and one.address == symbol.address), None)
    if made is None:
        return Unknown("the length of a public IP prefix is not in this code", datum.origin if datum else None)
    length = Fields(_CLOUD, _PREFIX, made).number("length")
    return mapped(length, lambda bits: 1 << (_BITS - bits) if bits <= _BITS else 0)  # longer ones are of IPv6


def _of_gateway(subnet: Datum | None, root: Module, origin: Origin) -> Value[int]:
    """The addresses of a subnet's NAT gateway, or the root's only one; unset if none."""
    gateways = list(root.instances(_GATEWAY))
    if not gateways:
        return Unset(origin)
    address = _address(subnet)
    joined = {_address(one.raw("subnet")): _address(one.raw("gateway")) for one in _all(_OF_SUBNET, root)}
    named = joined.get(address) if address else None
    near = [one for one in gateways if one.address == named] or gateways
    if len(near) > 1 or near[0].doubt:
        return Unknown("the NAT gateway of the default pool's subnet is not known", origin)
    own = Fields(_CLOUD, _GATEWAY, near[0])
    counts = [_listed(own, name, root) for name in ("own_ips", "own_prefixes")]
    for kind in ("public_ip", "public_ip_prefix"):
        for one in _all(f"{_GATEWAY}_{kind}_association", root):
            gateway = one.raw("gateway")
            if isinstance(gateway, Unknown) and gateway.symbol is None:
                return gateway
            if _address(gateway) != near[0].address:
                continue
            counts.append(_of_prefix(one.raw("prefix"), root) if kind.endswith("prefix") else Known(1, origin))
    found = total(count for count in counts if not isinstance(count, Unset))
    return found if isinstance(found, Unknown) else Known(found, Origin((near[0].span,))) if found else Unset(origin)


def _all(kind: str, root: Module) -> Iterable[Fields]:
    return (Fields(_CLOUD, kind, instance) for instance in root.instances(kind))


def _address(datum: Datum | None) -> str | None:
    """The address of the resource that a reference is to."""
    symbol = datum.symbol if isinstance(datum, Unknown) else None
    return symbol.address if symbol else None
