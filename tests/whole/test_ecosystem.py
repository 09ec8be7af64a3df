"""Test the script that compares two versions of kcheck over public repositories."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.places import ROOT, TESTS, load_script

if TYPE_CHECKING:
    from tests.conftest import Write


@pytest.fixture(scope="module")
def script() -> Any:
    """Load scripts/ecosystem as a module."""
    return load_script("ecosystem")


CLUSTER = """
resource "azurerm_kubernetes_cluster" "main" {
  sku_tier = "Free"

  default_node_pool {
    name       = "system"
    vm_size    = "Standard_D4s_v5"
    node_count = %s
  }

  network_profile {
    network_plugin      = "azure"
    network_plugin_mode = "overlay"
  }
}
"""


@pytest.mark.slow
def test_the_results_of_an_ecosystem_run_are_counted(script: Any, write: Write) -> None:
    outcome = script.run(ROOT, write({"main.tf": CLUSTER % "50"}))
    assert not outcome.crash
    assert outcome.counts["judged clusters"] == outcome.counts["judged pools"] == 1
    assert outcome.counts["decided"] > 0
    assert any(key[0] == "free-control-plane" for key in outcome.findings)


def test_differences_of_two_ecosystem_runs_are_printed(script: Any) -> None:
    key, other = ("rule", "main.tf", "3", "cluster"), ("rule", "main.tf", "9", "cluster")
    old = script.Outcome(findings={key: "error a", other: "info b"}, undecided={("rule", "pool"): "var.x"})
    new = script.Outcome(findings={key: "error c"}, undecided={("more", "pool"): "var.y"}, crash="KeyError")
    assert script.compare("owner/name", old, new)[1:] == [
        "  - finding rule main.tf 9 cluster: info b",
        "  ~ finding rule main.tf 3 cluster: error a -> error c",
        "  + undecided more pool: var.y",
        "  - undecided rule pool: var.x",
        "  ! crash (new): KeyError",
    ]
    assert script.compare("owner/name", old, old) == []


def test_ecosystem_totals_show_the_decided_share(script: Any) -> None:
    one = script.Outcome(findings={("r",): "error"})
    one.counts.update({"decided": 30, "undecided": 10, "error": 1, "judged clusters": 2, "not judged": 1})
    text = script.totals("new", [one, script.Outcome(crash="x")])
    assert "judged 2 clusters, 0 pools, 0 workloads; 1 clusters not judged" in text
    assert "30 decided, 10 undecided (75.0 % decided)" in text
    assert "1 error" in text
    assert "1 crashes" in text


def test_the_ecosystem_list_has_only_names_and_commits(script: Any) -> None:
    found = script.listed(TESTS / "ecosystem.txt")
    assert len(found) == 40
    assert all(name.count("/") == 1 and len(commit) == 40 for name, commit in found)
