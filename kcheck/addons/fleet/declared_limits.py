"""What the list of a fleet says of limits that clusters share: quotas of accounts, public addresses, sizes."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

from msgspec import Struct

from kcheck.config.config import ConfigError, nearest
from kcheck.config.numbers import machines, profiles
from kcheck.config.numbers.clouds import CLOUDS
from kcheck.text.values import known, plain

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kcheck.addons.fleet.tables import UseRow
    from kcheck.text.text import Span
    from kcheck.text.values import Datum, DatumValue, Known

_UNITS = "vpc.address_units"


class Stated(Struct, frozen=True):
    """The limits of accounts, by account, region (empty: all others) and name, and those of what is shared by a name.

    `egress` are public addresses, `networks` address units, `reservations` nodes.
    """

    accounts: dict[tuple[str, str], dict[str, int]] = {}
    egress: dict[str, int] = {}
    networks: dict[str, int] = {}
    reservations: dict[str, int] = {}

    def over(self, other: Stated) -> Stated:
        """These, with what another list says where they say nothing."""
        both = (*other.accounts, *self.accounts)
        accounts = {key: other.accounts.get(key, {}) | self.accounts.get(key, {}) for key in both}
        return Stated(
            accounts, other.egress | self.egress, other.networks | self.networks, other.reservations | self.reservations
        )

    def of_account(self, account: str, region: str, use: UseRow) -> int | None:
        """How much an account has of a quota in a region, by its code or its name."""
        own = [self.accounts.get(key, {}) for key in ((account, region), (account, ""))] if account else []
        found = (table[name] for table in own for name in (use.key, use.limit_name) if name in table)
        return next(found, None)

    def of_key(self, kind: str, key: str) -> int | None:
        """How much there is of something with a name."""
        if kind == "docker-hub" and key in self.egress:
            return self.egress[key] * profiles.limits("any")["docker_hub.pulls"].number
        return {"address-units": self.networks, "reservation": self.reservations}.get(kind, {}).get(key)


class _Account(TypedDict, total=False):
    account: str
    region: str
    limits: dict[str, int]


class _List(TypedDict, total=False):
    accounts: list[_Account]
    egress: dict[str, int]
    networks: dict[str, int]
    reservations: dict[str, int]


def stated(data: Known[DatumValue]) -> Stated:
    """The shared limits that a list, which fits its schema, says.

    Raises:
        ConfigError: it names a limit that clusters of one account do not share.
    """
    written: _List = plain(data)
    accounts: dict[tuple[str, str], dict[str, int]] = {}
    listed = written.get("accounts", [])
    names = _names() if listed else {}
    for i, one in enumerate(listed):
        own = accounts.setdefault((one["account"], one.get("region", "")), {})
        for name, number in one["limits"].items():
            if name not in names:
                hint = nearest(name, tuple(sorted(names)))
                place = _place(data, "accounts", i, "limits", name)
                raise ConfigError(f"{place.location}: accounts: no quota is called {name}; {hint}")
            own |= dict.fromkeys(names[name], number)
    return Stated(
        accounts, written.get("egress", {}), written.get("networks", {}), written.get("reservations", {})
    )  # fmt: skip


def _place(data: Known[DatumValue], *path: str | int) -> Span:
    """Where a part of a list is written."""
    part: Datum = data
    for step in path:
        value = known(part)
        if isinstance(value, dict):
            part = value[str(step)]
        if isinstance(value, tuple):
            part = value[int(step)]
    return (part.origin or data.origin).written


def _names() -> dict[str, list[str]]:
    """The limits of accounts by what they are called: as in `limits` of kcheck.yaml, or by the code of the quota."""
    found: dict[str, list[str]] = {}
    for cloud, key, code in _of_accounts():
        for name in (f"{cloud}.{key}", key, code):
            found.setdefault(name, []).append(f"{cloud}.{key}")
        found |= {name: [name] for name in machines.families(cloud)} if "{family}" in code else {}
    return {name: keys for name, keys in found.items() if name and "{" not in name}


def _of_accounts() -> Iterator[tuple[str, str, str]]:
    """The limits that the clusters of an account share: cloud, key and code."""
    for cloud in CLOUDS:
        for key, quota in profiles.quotas(cloud).items():
            if quota.get("of") != "cluster":
                yield cloud, f"quota.{key}", quota["code"]
        if _UNITS in profiles.limits(cloud):
            yield cloud, _UNITS, profiles.limits(cloud)[_UNITS].code
