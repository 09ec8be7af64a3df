"""Test shared limits that are given in the list of a fleet."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kcheck.addons.fleet.listing import fleet
from kcheck.addons.fleet.tables import IN_REGION, UseRow
from kcheck.config.config import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable

    from kcheck.addons.fleet.listing import Stated
    from tests.conftest import Write

LIST = """
repositories:
  - {path: training}
accounts:
  - {account: "111122223333", region: us-east-1, limits: {L-417A185B: 9216, eks.vpc.address_units: 256000}}
  - {account: "111122223333", limits: {eks.quota.p: 192}}
  - {account: sub, limits: {standardDSv5Family: 9600, CPUS_ALL_REGIONS: 32}}
egress: {office: 4}
networks: {vpc-0a1b2c3d: 128000}
reservations: {cr-0123456789abcdef0: 64}
"""
P = UseRow("c", "quota", "L-417A185B", IN_REGION, "P instances", "vCPUs", 1, True, None, "eks.quota.p", "main.tf", 1)


@pytest.fixture
def limits(write: Write) -> Callable[..., Stated]:
    def of(*lists: str) -> Stated:
        names = [f"{i}.yaml" for i in range(len(lists))]
        write({"training/main.tf": ""} | dict(zip(names, lists, strict=True)))
        return fleet(names).limits

    return of


def test_quotas_are_found_by_code_or_by_name(limits: Callable[..., Stated]) -> None:
    found = limits(LIST)
    assert found.of_account("111122223333", "us-east-1", P) == 9216
    assert found.of_account("111122223333", "eu-west-1", P) == 192
    assert found.of_account("444455556666", "us-east-1", P) is None
    assert found.accounts["sub", ""] == {"standardDSv5Family": 9600, "gke.quota.all_cpus": 32}


def test_an_unknown_account_has_no_limits(limits: Callable[..., Stated]) -> None:
    assert limits(LIST).of_account("", "us-east-1", P) is None


def test_shared_sizes_are_found_by_name(limits: Callable[..., Stated]) -> None:
    found = limits(LIST)
    assert found.of_key("docker-hub", "office") == 400
    assert found.of_key("address-units", "vpc-0a1b2c3d") == 128_000
    assert found.of_key("reservation", "cr-0123456789abcdef0") == 64
    assert found.of_key("reservation", "office") is None
    assert found.of_key("quota", "L-417A185B") is None


def test_a_later_fleet_list_overrides_earlier_ones(limits: Callable[..., Stated]) -> None:
    later = """
repositories: [{path: training}]
accounts: [{account: "111122223333", region: us-east-1, limits: {eks.quota.p: 1000}}]
egress: {office: 5, home: 1}
"""
    found = limits(LIST, later)
    assert found.of_account("111122223333", "us-east-1", P) == 1000
    assert found.accounts["111122223333", "us-east-1"]["eks.vpc.address_units"] == 256_000
    assert found.egress == {"office": 5, "home": 1}
    assert limits(later).egress == {"office": 5, "home": 1}


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("L-417A185B", "L-417A185C", "0.yaml:5: accounts: no quota is called L-417A185C; did you mean L-417A185B?"),
        (
            "eks.quota.p",
            "eks.quota.pp",
            "0.yaml:6: accounts: no quota is called eks.quota.pp; did you mean eks.quota.p?",
        ),
        ("CPUS_ALL_REGIONS", "ack.quota.nodes", "no quota is called ack.quota.nodes"),
        (
            '"111122223333", region',
            "111122223333, region",
            "0.yaml:5: accounts[0].account must be a text, not 111122223333",
        ),
        ("office: 4", "office: 0", "egress.office must be at least 1"),
        ("office: 4", "office: [203.0.113.7]", 'egress.office must be a whole number, not ["203.0.113.7"]'),
        ("egress:", "way_out:", "there is no key way_out"),
    ],
)
def test_mistakes_in_the_list_are_explained(limits: Callable[..., Stated], old: str, new: str, message: str) -> None:
    with pytest.raises(ConfigError) as mistake:
        limits(LIST.replace(old, new))
    assert message in str(mistake.value)
