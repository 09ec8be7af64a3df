"""NAT gateways of private nodes, and endpoints in their subnets."""

import re
from collections import Counter
from itertools import chain
from typing import TypedDict, TypeVar

from msgspec.structs import replace

from kcheck.config.numbers import profiles
from kcheck.config.numbers.fields import Fields
from kcheck.inventory.clouds.reader import Reader, text_of
from kcheck.model import NOTHING
from kcheck.terraform import missing_modules
from kcheck.terraform.resource import Instance
from kcheck.text.need import first_unknown, need, or_unknown
from kcheck.text.partly_known import address_of
from kcheck.text.text import Span
from kcheck.text.values import Known, Missing, Origin, Unknown, Unset, Value, equals, known, mapped, with_origin

KIND = "google_compute_router_nat"
KIND_OF_ACK = "alicloud_snat_entry"
KIND_OF_EKS = "aws_nat_gateway"
ENDPOINT = "aws_vpc_endpoint"
T = TypeVar("T")


def near(reader: Reader, location: Value[str]) -> list[Fields]:
    """List the gateways in a cluster's region, and those whose region is unknown."""
    zone = known(location) or ""
    region = zone if re.search(r"\d$", zone) else zone.rpartition("-")[0]
    return [one for _, one in reader.each(KIND) if not region or known(one.text("region")) in (None, region)]


def addresses(gateways: list[Fields]) -> Value[int]:
    """Count the addresses of the root's only gateway; Unset if added as needed."""
    if len(gateways) != 1:
        return NOTHING
    own = gateways[0]
    raw = own.raw("ips")
    if isinstance(raw, Known) and isinstance(raw.value, tuple):
        return Known(len(raw.value), raw.origin.outside(own.record.span)) if raw.value else NOTHING
    ips = own.texts("ips")
    return NOTHING if isinstance(ips, Unset) or equals(own.text("allocation"), "AUTO_ONLY") else mapped(ips, len)


def ports(gateways: list[Fields]) -> Value[int]:
    """Return the initial ports per node on the root's only gateway.

    At least 1,024 with a range of addresses for pods, unless only the addresses of nodes are translated.
    """
    if len(gateways) != 1:
        return NOTHING
    own, settings = gateways[0], profiles.settings("gke")
    written, dynamic = own.number("ports"), known(own.flag("dynamic"))
    if own.raw("ports") is None and dynamic:
        return mapped(written, lambda _: settings["nat.least_ports"].number)
    translated = {known(own.text("ranges")), *(known(own.texts("ranges_of_subnet")) or ())}
    if dynamic or translated & {"ALL_SUBNETWORKS_ALL_PRIMARY_IP_RANGES", "PRIMARY_IP_RANGE"}:
        return written
    return mapped(written, lambda ports: max(ports, settings["nat.ports_of_ranges"].number))


def of_network(reader: Reader, network: Value[str]) -> list[tuple[Instance, Fields]]:
    """List AWS' NAT gateways that may serve a VPC, by its id."""
    found, own = list(reader.each(KIND_OF_EKS)), known(network)
    subnets = [reader.subnets_by_address.get(address_of(fields.raw("subnets"))) for _, fields in found]
    others = [known(subnet.network) if subnet and own else None for subnet in subnets]
    return [one for one, other in zip(found, others, strict=True) if other is None or other.id == own]


def zonal(gateways: list[tuple[Instance, Fields]], place: Span) -> Value[int]:
    """Count AWS' zonal gateways; Unset if a regional one adds addresses."""
    origin = Origin((gateways[0][0].span if gateways else place,))
    if doubt := next((one.doubt for one, _ in gateways if one.doubt), ""):
        return Unknown(f"the number of NAT gateways is not known: {doubt}", origin)
    modes = [fields.text("mode") for _, fields in gateways]
    if unknown := first_unknown(modes):
        return unknown
    return Known(len(gateways), origin) if gateways and "regional" not in map(known, modes) else Unset(origin)


def snat_addresses(reader: Reader, place: Span) -> Value[int]:
    """Count the public addresses of a root's SNAT entries (ACK); Unset if it has none."""
    entries = [fields for _, fields in reader.each(KIND_OF_ACK)]
    found: set[object] = set()
    for one in entries:
        address = one.raw("ip")
        symbol = address.symbol if isinstance(address, Unknown) else None
        if isinstance(address, Known):
            found.update(str(address.value).split(","))
        elif symbol is None or symbol.attribute == "text":  # perhaps several, as one text
            return Unknown(f"the addresses of {KIND_OF_ACK} are not known", Origin((one.record.span,)))
        else:
            found.add(symbol)
    return Known(len(found), Origin((entries[0].record.span,))) if entries else Unset(Origin((place,)))


class Inputs(TypedDict, total=False):
    """Cluster fields set by the module of its NAT gateways."""

    single_gateway: Value[bool]
    gateway_per_zone: Value[bool]
    gateways_lack: Value[str]


def inputs(gateways: list[tuple[Instance, Fields]]) -> Inputs:
    """Read the NAT gateway fields of a cluster from its VPC module."""
    if len(gateways) != 1 or gateways[0][1].raw("single") is None:
        return {}
    own = gateways[0][1]
    return {
        "single_gateway": _named(own.flag("single"), "single_nat_gateway"),
        "gateway_per_zone": _named(own.flag("per_zone"), "one_nat_gateway_per_az"),
        "gateways_lack": _lacking(own),
    }


@or_unknown
def _lacking(own: Fields) -> Value[str]:
    """Return the module's list that has fewer entries than zones; Unset if none does."""
    zones, public, addresses = own.number("zones"), own.number("public"), own.number("addresses")
    origin = Origin((own.record.span,))
    if isinstance(zones, Known):
        for count, name in ((public, "public_subnets"), (addresses, "external_nat_ip_ids")):
            if isinstance(count, Known) and count.value < zones.value:
                return Known(name, origin)
    for one in (zones, public, addresses):
        need(one)
    return Unset(origin)


def _named(value: Value[T], name: str) -> Value[T]:
    """Name the input behind a computed value, which must be changed by hand."""
    origin = value.origin
    if origin is None or not origin.spans or origin.literal or (origin.missing and origin.missing.path):
        return value
    why = f"{name} is not a literal"
    return with_origin(value, replace(origin, missing=Missing(origin.written, (name,)), why=origin.why or why))


def s3_endpoint(reader: Reader, gateways: list[tuple[Instance, Fields]], place: Span) -> Value[bool]:
    """Whether a root with NAT gateways has an endpoint for S3."""
    if not gateways:
        return NOTHING
    services = [reader.fields(ENDPOINT, one).text("service") for one in reader.root.instances(ENDPOINT)]
    texts = [text_of(service) for service in services]
    if any(text and text.endswith(".s3") for text in texts):
        return Known(value=True, origin=Origin((place,)))
    if None in texts:
        return Unknown("the service of a VPC endpoint is not known", services[texts.index(None)].origin)
    sources = (missing_modules.source_of(block) for _, block, _ in reader.root.unread())
    inputs = (name for _, left in reader.root.calls_of_others() for name in left if "s3" in name)
    if any("endpoint" in name for name in (*sources, *inputs)):
        return Unknown("a module that was not read may make VPC endpoints", Origin((place,)))
    return Known(value=False, origin=Origin((gateways[0][0].span,)))


def held(reader: Reader, *kinds: str) -> Counter[str]:
    """Count the addresses that endpoints and gateways take in each subnet.

    https://docs.aws.amazon.com/vpc/latest/privatelink/create-interface-endpoint.html,
    https://docs.aws.amazon.com/vpc/latest/userguide/nat-gateway-basics.html,
    https://help.aliyun.com/en/ros/developer-reference/aliyun-vpc-natgateway,
    https://docs.aws.amazon.com/efs/latest/ug/accessing-fs.html,
    https://learn.microsoft.com/azure/private-link/private-endpoint-overview
    """
    listed = [reader.fields(kind, one).raw("subnets") for kind in kinds for one in reader.root.instances(kind)]
    items = (one.value if isinstance(one, Known) and isinstance(one.value, tuple) else (one,) for one in listed)
    return Counter(filter(None, map(address_of, chain.from_iterable(items))))


def hold(reader: Reader, kind: str) -> None:
    """Record in the subnets of a root how many addresses endpoints or gateways take."""
    taken = held(reader, kind)
    reader.found.subnets[:] = [replace(one, held=taken[one.address]) for one in reader.found.subnets]
