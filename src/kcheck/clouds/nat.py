"""Google's Cloud NAT: the addresses and ports through which private nodes reach the internet."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcheck.model import NOTHING
from kcheck.values import Known, Unset, Value, equals, known

if TYPE_CHECKING:
    from kcheck.clouds.fields import Fields

KIND = "google_compute_router_nat"


def addresses(gateways: list[Fields]) -> Value[int]:
    """Public addresses of the only gateway of a root; unset where Google adds them as needed."""
    if len(gateways) != 1:
        return NOTHING
    own = gateways[0]
    raw = own.raw("ips")
    if isinstance(raw, Known) and isinstance(raw.value, tuple):
        return Known(len(raw.value), raw.origin) if raw.value else NOTHING
    return NOTHING if isinstance(own["ips"], Unset) or equals(own["allocation"], "AUTO_ONLY") else own["ips"]


def ports(gateways: list[Fields]) -> Value[int]:
    """Ports of a node on that gateway; unset where it shares them out as needed."""
    if len(gateways) != 1 or known(gateways[0]["dynamic"]):
        return NOTHING
    written: Value[int] = gateways[0]["ports"]
    return written
