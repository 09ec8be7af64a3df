"""Test numbers known only between bounds: a comparison is decided if both bounds agree, and messages name the bound."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace

from kcheck.config.config import Config
from kcheck.engine import linter
from kcheck.engine.words.subjects import words
from kcheck.text.amount import Amount
from kcheck.text.files.tree import Tree
from kcheck.text.values import Unknown

if TYPE_CHECKING:
    from tests.conftest import Write

pytestmark = pytest.mark.medium

AKS = """
variable "plugin" {{}}

resource "azurerm_virtual_network" "main" {{
  name          = "vnet"
  address_space = ["10.0.0.0/8"]
}}

resource "azurerm_subnet" "nodes" {{
  name                 = "nodes"
  virtual_network_name = azurerm_virtual_network.main.name
  address_prefixes     = ["10.1.0.0/{prefix}"]
}}

resource "azurerm_kubernetes_cluster" "main" {{
  name     = "train"
  sku_tier = "Standard"

  default_node_pool {{
    name           = "system"
    node_count     = {nodes}
    vnet_subnet_id = azurerm_subnet.nodes.id
  }}

  network_profile {{
    network_plugin = var.plugin
  }}
}}
"""


@pytest.mark.parametrize(
    ("prefix", "nodes", "expected"),
    [
        (8, 10, False),  # enough for 250 pods a node
        (24, 10, None),  # enough for the nodes, perhaps not for their pods
        (24, 400, True),  # too small for the nodes alone
    ],
)
def test_a_check_that_agrees_at_both_bounds_is_decided(
    prefix: int, nodes: int, *, expected: bool | None, write: Write
) -> None:
    write({"main.tf": AKS.format(prefix=prefix, nodes=nodes)})
    result = linter.run(Tree(["."]), Config())
    undecided = [one for one in result.undecided if one.rule == "subnet-too-small"]
    found = [one for one in result.findings if one.rule == "subnet-too-small"]
    assert (bool(undecided), bool(found)) == (expected is None, expected is True)
    assert all("var.plugin has no value" in one.missing[0] for one in undecided)
    assert all("400 nodes need 440 to 110,440 addresses; 251 are usable" in one.details for one in found)
    assert all(one.fix is None and "440 to 110,440 addresses" in one.help for one in found)


def test_bounds_beyond_64_bits_leave_a_check_undecided(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    """CEL has 64-bit numbers only."""

    def read(_thing: object, _world: object) -> Amount:
        return Amount(1, 10**21, Unknown("a range of any size"))

    monkeypatch.setitem(words("subnet"), "addresses_needed", replace(words("subnet")["addresses_needed"], compute=read))
    write({"main.tf": AKS.format(prefix=24, nodes=10)})
    result = linter.run(Tree(["."]), Config())
    assert not result.bugs
    assert "subnet-too-small" in {one.rule for one in result.undecided}


def test_a_target_with_a_lower_bound_decides_the_severity(write: Write) -> None:
    """The known pools alone outgrow the Free tier."""
    text = AKS.format(prefix=8, nodes=1100).replace('"Standard"', '"Free"') + (
        'variable "most" {}\n'
        'resource "azurerm_kubernetes_cluster_node_pool" "gpu" {\n  name = "gpu"\n  node_count = var.most\n'
        "  kubernetes_cluster_id = azurerm_kubernetes_cluster.main.id\n}\n"
    )
    write({"main.tf": text})
    result = linter.run(Tree(["."]), Config())
    (found,) = [one for one in result.findings if one.rule == "free-control-plane"]
    assert found.severity.word == "error"
    assert "at least 1,100 nodes" in found.message
