"""Where an ACK cluster is: its account and its region."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcheck.inventory.clouds import accounts
from kcheck.text.regex import regex

if TYPE_CHECKING:
    from kcheck.inventory.clouds.accounts import Place
    from kcheck.inventory.clouds.reader import Reader
    from kcheck.terraform.resource import Instance

_ROLE = regex(r"acs:ram::(\d+):")
_NO_ACCOUNT = "the alicloud provider does not say its account (account_id, assume_role)"
_NO_REGION = "the alicloud provider has no region in this code"


def of_cluster(reader: Reader, instance: Instance) -> Place:
    """The account and region of a cluster, which only its provider says."""
    own, place = accounts.provider(reader, instance), instance.span
    if own is None:
        return {"account": accounts.first(place, _NO_ACCOUNT), "region": accounts.first(place, _NO_REGION)}
    role = accounts.of_role(own.text("role"), _ROLE)
    return {
        "account": accounts.first(place, _NO_ACCOUNT, own.text("account"), role),
        "region": accounts.first(place, _NO_REGION, own.text("region")),
    }
