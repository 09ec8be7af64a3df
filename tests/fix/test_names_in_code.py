"""Test that fixes and help name the attribute, key or flag that the user wrote, however it is written."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kcheck.config.config import Config
from kcheck.engine import linter
from kcheck.text.files.tree import Tree
from kcheck.text.findings import last_key
from tests.places import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from kcheck.engine.linter import Result
    from kcheck.text.values import Origin

EXAMPLES = sorted(path for path in (ROOT / "examples").iterdir() if path.is_dir() and path.name != "generated")
NAMED = re.compile(r'\b(?:set|add|rename) ([\w.\[\]"/-]+?)(?: = |: |=| to |$)')


def is_there(origin: Origin) -> bool:
    """Return whether the last key of an origin's path stands in its file, at or above its line."""
    name = last_key(origin.path).partition("[")[0].rpartition(".")[2]
    written = origin.written
    above = written.source.data[: written.source.line_end(written.start)].decode()
    return bool(name) and re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", above) is not None


def unnamed(result: Result) -> list[str]:
    """Return the changes of findings that no key in the code names."""
    changes = ((finding, change) for finding in result.findings for change in finding.changes)
    return [
        f"{finding.rule}: {change.instruction}"
        for finding, change in changes
        if change.origin.missing is None and not is_there(change.origin)
    ]


@pytest.mark.slow
@pytest.mark.parametrize("folder", EXAMPLES, ids=lambda path: path.name)
def test_fixes_of_examples_name_what_the_code_writes(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    result = linter.run(Tree(["."]), Config())
    assert not unnamed(result)
    assert any(finding.fix for finding in result.findings) or folder.name == "own-rules"


CLUSTER = """
resource "azurerm_virtual_network" "v" {
  name          = "v"
  address_space = ["10.0.0.0/8"]
}
resource "azurerm_subnet" "n" {
  name                 = "n"
  virtual_network_name = azurerm_virtual_network.v.name
  address_prefixes     = PREFIXES
}
resource "azurerm_kubernetes_cluster" "c" {
  name     = "c"
  sku_tier = TIER
  network_profile {
    network_plugin      = "azure"
    network_plugin_mode = "overlay"
  }
  default_node_pool {
    name           = "system"
    vnet_subnet_id = azurerm_subnet.n.id
    node_count     = 3000
  }
}
"""
TIERS = {
    '"Free"': ("", "sku_tier"),
    "local.tier": ('locals {\n  tier = "Free"\n}\n', "tier"),
    "local.all.tier": ('locals {\n  all = { tier = "Free" }\n}\n', "tier"),
    "var.tier": ('variable "tier" {\n  default = "Free"\n}\n', "default"),
    'title("free")': ("", "sku_tier"),
    '"${local.part}ee"': ('locals {\n  part = "Fr"\n}\n', "sku_tier"),
    '[for k in ["Free"] : k][0]': ("", "sku_tier"),
}
PREFIXES = {
    '["10.0.0.0/24"]': ("", "address_prefixes[0]"),
    "local.prefixes": ('locals {\n  prefixes = ["10.0.0.0/24"]\n}\n', "prefixes[0]"),
    "[local.prefix]": ('locals {\n  prefix = "10.0.0.0/24"\n}\n', "prefix"),
    '[cidrsubnet("10.0.0.0/16", 8, 0)]': ("", "address_prefixes[0]"),
    "local.cut": (
        'locals {\n  azs = ["a"]\n  cut = [for k, v in local.azs : cidrsubnet("10.0.0.0/16", 8, k)]\n}\n',
        "cut",
    ),
    "[local.map.a]": ('locals {\n  map = { for k in ["a"] : k => cidrsubnet("10.0.0.0/16", 8, 0) }\n}\n', "map"),
}


@pytest.mark.slow
@given(tier=st.sampled_from(sorted(TIERS)), prefixes=st.sampled_from(sorted(PREFIXES)), order=st.permutations(range(3)))
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_fixes_name_every_spelling_as_it_is_written(
    tier: str, prefixes: str, order: list[int], check: Callable[[Mapping[str, str]], Result]
) -> None:
    parts = [CLUSTER.replace("TIER", tier).replace("PREFIXES", prefixes), TIERS[tier][0], PREFIXES[prefixes][0]]
    result = check({"main.tf": "".join(parts[i] for i in order)})
    assert not unnamed(result)
    said = {finding.rule: finding.fix.title if finding.fix else finding.help for finding in result.findings}
    for rule, name in (("free-control-plane", TIERS[tier][1]), ("subnet-too-small", PREFIXES[prefixes][1])):
        assert name in NAMED.findall(said[rule]), said[rule]
