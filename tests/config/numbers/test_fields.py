"""Test that records of the model are filled from the tables of the clouds."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from kcheck import inventory
from kcheck.config.numbers import profiles
from kcheck.config.numbers.clouds import owners
from kcheck.config.numbers.fields import Fields
from kcheck.kubernetes.record import MappingRecord
from kcheck.model import NOTHING, Market, Placement, Scheduling
from kcheck.text.syntax import yaml
from kcheck.text.text import Source
from kcheck.text.values import Known, known

GROUP = b"""spot: true
labels: {team: vision}
capacityReservation: {capacityReservationTarget: {capacityReservationID: cr-1}}
"""


@pytest.fixture
def fields() -> Fields:
    root = next(yaml.documents(Source("group.yaml", GROUP))).root
    assert isinstance(root, yaml.Mapping)
    return Fields("eks", "ClusterConfig.group", MappingRecord(root))


def test_model_fields_are_filled_from_the_table_by_name_and_type(fields: Fields) -> None:
    market, scheduling = fields.record_of(Market), fields.record_of(Scheduling)
    assert known(market.spot) is True
    assert known(market.reservation) == "cr-1"
    assert known(scheduling.labels) == {"team": "vision"}


def test_fields_given_in_code_override_the_table(fields: Fields) -> None:
    no = Known(value=False, origin=NOTHING.origin)
    assert fields.record_of(Market, no).spot is no
    assert fields.record_of(Market, spot=no).spot is no


def test_fields_that_the_table_lacks_stay_unset(fields: Fields) -> None:
    assert fields.record_of(Market).bid is NOTHING
    assert fields.record_of(Scheduling).taint_form == "item"
    assert fields.record_of(Placement).location is NOTHING


@pytest.mark.parametrize(
    ("autoscaling", "name", "why"),
    [
        ("{total_max_node_count: 9}", "max", "remove total_max_node_count first: it excludes max_node_count"),
        ("{total_max_node_count: 9}", "total_min", ""),
        ("{max_node_count: 9, total_max_node_count: null}", "min", ""),
        ("{max_node_count: 9}", "total_max", "remove max_node_count first: it excludes total_max_node_count"),
    ],
)
def test_a_fix_does_not_write_conflicting_attributes(autoscaling: str, name: str, why: str) -> None:
    root = next(yaml.documents(Source("pool.yaml", f"autoscaling: {autoscaling}".encode()))).root
    assert isinstance(root, yaml.Mapping)
    origin = Fields("gke", "google_container_cluster.node_pool", MappingRecord(root)).number(name).origin
    assert origin is not None
    assert origin.why == why


@pytest.mark.parametrize(
    ("profile", "why"),
    [
        (
            "{}",
            (
                'set network_plugin = "azure" in network_profile and network_plugin_mode = "overlay", '
                'or "kubenet" alone where the cluster has it: pod_cidr needs it'
            ),
        ),
        ("{network_profile: {network_plugin: azure}}", ""),
    ],
)
def test_a_fix_does_not_write_an_attribute_without_the_one_it_needs(profile: str, why: str) -> None:
    root = next(yaml.documents(Source("cluster.yaml", profile.encode()))).root
    assert isinstance(root, yaml.Mapping)
    origin = Fields("aks", "azurerm_kubernetes_cluster", MappingRecord(root)).text("pod_cidr").origin
    assert origin is not None
    assert origin.why == why


_READ = re.compile(r'\.(?:text|number|flag|texts|mapping|raw)\("(\w+)"\)')


def test_fields_that_code_reads_by_name_are_in_a_table() -> None:
    names = {name for owner in owners() for table in profiles.table(owner).values() for name in table}
    code = (path.read_text() for path in Path(inventory.__file__).parent.rglob("*.py"))
    assert {name for text in code for name in _READ.findall(text)} - names == set()
