"""Google's Cloud NAT: the addresses and ports through which private nodes reach the internet."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from kcheck.model import NOTHING
from kcheck.values import Known, Unset, Value, equals, known

if TYPE_CHECKING:
    from kcheck.fields import Fields

KIND = "google_compute_router_nat"


def near(gateways: list[Fields], location: Value[str]) -> list[Fields]:
    """The gateways of the region of a cluster, and those whose region is not known."""
    zone = known(location) or ""
    region = zone if re.search(r"\d$", zone) else zone.rpartition("-")[0]
    return [one for one in gateways if not region or known(one["region"]) in (None, region)]


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
