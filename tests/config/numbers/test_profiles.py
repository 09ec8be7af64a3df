"""Test that every number has its source and its date."""

from __future__ import annotations

import datetime

import pytest

from kcheck.config.numbers import dates, machines, profiles
from kcheck.config.numbers.clouds import CLOUDS
from kcheck.engine.words.subjects import SUBJECTS

ENTRIES = [
    (f"{cloud}.{table.__name__}.{key}", entry)
    for cloud in ("any", *CLOUDS)
    for table in (profiles.limits, profiles.settings)
    for key, entry in table(cloud).items()
]


def is_complete(entry: profiles.ProfileValue) -> bool:
    differs = entry.kind == "quota" and entry.scope == "account"  # by account: the settings say it
    return (
        entry.kind in ("hard", "quota", "recommended", "default")
        and entry.confidence in ("high", "medium", "low")
        and bool(entry.unit and entry.sources)
        and all(source.startswith("https://") for source in entry.sources)
        and datetime.date.fromisoformat(entry.checked) <= datetime.date(2100, 1, 1)
        and (isinstance(entry.value, int | str | bool) or (entry.value is None and differs))
    )


def test_every_profile_entry_is_complete() -> None:
    assert len(ENTRIES) > 1000
    assert [name for name, entry in ENTRIES if not is_complete(entry)] == []


PRICED = [cloud for cloud in CLOUDS if profiles.prices(cloud)]


@pytest.mark.parametrize("cloud", PRICED)
def test_price_profiles_have_a_region_and_a_confidence(cloud: str) -> None:
    table = profiles.prices(cloud)
    assert table is not None
    assert table.region
    listed = dates.table(cloud, "prices")
    assert listed is not None
    assert listed.entry.confidence in ("high", "medium", "low")
    assert listed.entry.source_dated <= listed.entry.checked


@pytest.mark.parametrize("cloud", PRICED)
def test_prices_exist_only_for_known_machines(cloud: str) -> None:
    table = profiles.prices(cloud)
    assert table is not None
    on_demand = [pair for group in table.on_demand.values() for pair in group.items()]
    spot = [pair for group in table.spot.values() for pair in group.items()]
    for market in (on_demand, spot):
        names = [name for name, _ in market]
        assert len(names) == len(set(names))
        assert [name for name in names if machines.machine(cloud, name) is None] == []
    assert all(price > 0 for _, price in [*on_demand, *spot, *table.accelerators.items()])
    dearest = dict(on_demand)
    assert [name for name, price in spot if price >= dearest[name]] == []


def test_every_cloud_has_prices() -> None:
    assert PRICED == ["aks", "eks", "gke", "ack"]


@pytest.mark.parametrize("cloud", PRICED)
def test_regional_prices_exist_only_for_known_machines(cloud: str) -> None:
    own = profiles.prices(cloud)
    assert own is not None
    assert own.region not in {table.region for table in own.elsewhere}
    for table in own.elsewhere:
        there = {name for group in table.on_demand.values() for name in group}
        assert there
        assert all(machines.machine(cloud, name) for name in there)
        assert {name for group in table.spot.values() for name in group} <= there


def test_tables_name_only_existing_settings() -> None:
    for cloud in CLOUDS:
        for fields in profiles.table(cloud).values():
            for name, field in fields.items():
                assert set(field) <= {"path", "type", "unset", "since", "values_since", "conflicts", "needs"}, name
                if "unset" in field:
                    assert field["unset"] in profiles.settings(cloud)


def test_every_word_of_the_rules_has_a_type_and_a_meaning() -> None:
    for subject, fields in SUBJECTS.items():
        names = [field.name for field in fields]
        assert len(names) == len(set(names)), subject
        for field in fields:
            assert field.meaning
            assert field.kind in ("scalar", "list", "map", "record", "records")
            assert field.type in ("int", "string", "bool") or field.type in SUBJECTS
