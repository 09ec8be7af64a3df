"""Location of an EKS cluster: account, region and VPC."""

from collections.abc import Iterable, Iterator, Mapping

from kcheck.config.numbers.fields import Fields
from kcheck.inventory.clouds import accounts
from kcheck.inventory.clouds.accounts import Place
from kcheck.inventory.clouds.reader import Reader, blocks_below
from kcheck.model import Network
from kcheck.terraform.module import Module
from kcheck.terraform.resource import Instance
from kcheck.text.partly_known import listed
from kcheck.text.regex import regex
from kcheck.text.text import Span
from kcheck.text.values import Datum, Known, Origin, Record, Unknown, Unset, Value, known

_ROLE = regex(r"arn:aws[a-z-]*:iam::(\d{12}):")
_ACCOUNT = regex(r"\d{12}")
_SAMPLES = ("123456789012", "000000000000")
"""Placeholder accounts in the AWS documentation."""
_REGION = regex(r"[a-z]{2,}(?:-[a-z]+)+-\d+")
_VPC = regex(r"vpc-[0-9a-f]+")
_NO_ROLE = "eksctl does not say the account, but by iam.serviceRoleARN"
_NO_ACCOUNT = "the aws provider does not say its account (allowed_account_ids, assume_role)"
_NO_REGION = "the aws provider has no region in this code"
_NO_NETWORK = "the VPC is not in this root module"


def of_cluster(reader: Reader, instance: Instance, fields: Fields, networks: Mapping[str, Network]) -> Place:
    """Return the account, region and VPC of a cluster."""
    own = accounts.provider(reader, instance)
    region = accounts.first(
        instance.span, _NO_REGION, fields.text("region"), accounts.of_provider(reader, instance, "region")
    )
    return {
        "account": accounts.proper(_account(own, fields, instance.span), _ACCOUNT, _SAMPLES),
        "region": accounts.proper(region, _REGION),
        "network_id": _network(reader.root, instance, fields, networks),
    }


def of_config(fields: Fields, place: Span, network: str) -> Place:
    """Return the account, region and VPC of an eksctl cluster."""
    role, vpc = accounts.of_role(fields.text("role"), _ROLE), fields.text("vpc")
    outer = fields.record.blocks("vpc")
    has_subnets = isinstance(outer, Unknown) or any(known(one.blocks("subnets")) != () for one in outer.value)
    made: Value[str] = Unset(place) if has_subnets else Known(network, Origin((place,)))
    return {
        "account": accounts.proper(accounts.first(place, _NO_ROLE, role), _ACCOUNT, _SAMPLES),
        "region": accounts.proper(accounts.first(place, "metadata.region is not set", fields.text("region")), _REGION),
        "network_id": accounts.first(place, _NO_NETWORK, accounts.proper(vpc, _VPC), made),
    }


def _account(own: Fields | None, fields: Fields, place: Span) -> Value[str]:
    """Return the only account the provider allows, else that of a role."""
    passed = accounts.of_role(fields.text("role"), _ROLE)  # it must be of the same account
    if isinstance(passed, Known) or own is None:
        return accounts.first(place, _NO_ACCOUNT, *([passed] if isinstance(passed, Known) else ()))
    allowed = own.texts("accounts")
    if isinstance(allowed, Known) and len(allowed.value) == 1:
        return Known(allowed.value[0], allowed.origin)
    roles = [own.text("web_role"), *([allowed] if isinstance(allowed, Unknown) else ())]
    nested = own.record.blocks("assume_role")
    if isinstance(nested, Unknown):
        roles.insert(0, nested)
    elif nested.value:  # of several, each is assumed by the one before
        roles.insert(0, Fields("eks", "provider.aws.assume_role", nested.value[-1]).text("role"))
    return accounts.first(place, _NO_ACCOUNT, *(accounts.of_role(role, _ROLE) for role in roles))


def _network(root: Module, instance: Instance, fields: Fields, networks: Mapping[str, Network]) -> Value[str]:
    """Return the id of a cluster's VPC, as written or from this root module."""
    place = Origin((instance.span,))
    for datum in _vpcs(root, fields):
        if isinstance(datum, Known) and isinstance(datum.value, str):
            return accounts.proper(Known(datum.value, datum.origin), _VPC)
        symbol = datum.symbol if isinstance(datum, Unknown) else None
        if symbol is not None and symbol.address in networks:
            return Known(networks[symbol.address].id, datum.origin or place)
    return Unknown(_NO_NETWORK, place)


def _vpcs(root: Module, fields: Fields) -> Iterator[Datum]:
    """Yield values that may name the VPC: its id, or the subnets of the control plane."""
    if (written := fields.raw("network")) is not None:
        yield from _followed(root, written)
    for item in listed(fields.raw("subnets")):
        yield from _of_subnet(root, item)


def _of_subnet(root: Module, item: Datum) -> Iterator[Datum]:
    symbol = item.symbol if isinstance(item, Unknown) else None
    if symbol is None:
        return
    for one in root.instances("aws_subnet"):
        if one.address == symbol.address and (entry := one.entry("vpc_id")) is not None:
            yield from _followed(root, entry)
    for kind in ("aws_subnets", "aws_subnet_ids", "aws_subnet"):
        for address, record in root.sources(kind):
            if address == symbol.address:
                for entry in (record.entry("vpc_id"), *_filtered(record)):
                    yield from _followed(root, entry) if entry is not None else ()


def _followed(root: Module, datum: Datum) -> Iterator[Datum]:
    """Yield a value, and the id of the VPC in the data source it refers to."""
    yield datum
    symbol = datum.symbol if isinstance(datum, Unknown) else None
    if symbol is not None:
        for address, record in root.sources("aws_vpc"):
            entry = record.entry("id") if address == symbol.address else None
            if entry is not None:
                yield entry


def _filtered(record: Record) -> Iterable[Datum]:
    """Yield the VPC id of a data source's vpc-id filter, if it names exactly one."""
    for one in blocks_below(record, "filter"):
        key, values = one.entry("name"), one.entry("values")
        if isinstance(key, Known) and key.value == "vpc-id" and isinstance(values, Known):
            found = values.value
            yield from found if isinstance(found, tuple) and len(found) == 1 else ()
