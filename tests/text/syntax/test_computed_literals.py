"""Test computed values that a fix may change: the new bits of cidrsubnet, and the ends of templates."""

from __future__ import annotations

import ipaddress
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kcheck.config.config import Config
from kcheck.engine import linter
from kcheck.fix import fix
from kcheck.text.files.tree import Tree
from kcheck.text.findings import SAFETIES
from kcheck.text.ip_ranges import parse_cidr, with_newbits
from kcheck.text.syntax.hcl import write
from kcheck.text.text import Source

if TYPE_CHECKING:
    from tests.conftest import Write


pytestmark = pytest.mark.medium


@pytest.mark.parametrize(
    ("text", "old", "new", "expected"),
    [
        ("cidrsubnet(var.cidr, 8, 2)", "10.0.2.0/24", "10.0.8.0/22", "cidrsubnet(var.cidr, 6, 2)"),
        (
            "cidrsubnet( local.c , 4 , each.key )",
            "10.0.16.0/20",
            "10.0.64.0/18",
            "cidrsubnet( local.c , 2 , each.key )",
        ),
        ("cidrsubnet(var.cidr, 8, 2)", "10.0.2.0/24", "10.0.4.0/22", None),  # number 1
        ("cidrsubnet(var.cidr, 8, 200)", "10.0.200.0/24", "10.0.192.0/22", None),  # there is no number 200 of 64
        ("cidrsubnet(var.cidr, var.bits, 2)", "10.0.2.0/24", "10.0.8.0/22", None),
        ("cidrsubnets(var.cidr, 8, 8)[1]", "10.0.1.0/24", "10.0.4.0/22", None),
        ('"${var.net}.16.0/20"', "10.0.16.0/20", "10.0.128.0/17", '"${var.net}.128.0/17"'),
        ('"10.${var.n}.0.0/20"', "10.7.0.0/20", "10.7.0.0/18", '"10.${var.n}.0.0/18"'),
        ('"10.${var.n}.0.0/20"', "10.7.0.0/20", "10.8.0.0/18", None),
        ('"${var.hub}/pytorch:2.8"', "docker.io/pytorch:2.8", "docker.io/pytorch:2.9", '"${var.hub}/pytorch:2.9"'),
        ('"docker.io/${var.image}"', "docker.io/a:1", "mirror.local/hub/a:1", '"mirror.local/hub/${var.image}"'),
        ("var.cidr", "10.0.0.0/24", "10.0.0.0/20", None),
        ('join(".", ["10", "0.0.0/20"])', "10.0.0.0/20", "10.0.0.0/18", None),
    ],
)
def test_only_the_deciding_part_of_a_literal_is_rewritten(text: str, old: str, new: str, expected: str | None) -> None:
    source = Source("main.tf", f"é = {text}\n".encode())
    start = len("é = ".encode())
    part = write.literal_to_change(source.span(start, start + len(text.encode())), old, new)
    if part is None:
        assert expected is None
        return
    data = source.data
    assert (
        data[start : part.span.start] + str(part.value).encode() + data[part.span.end :]
    ).decode() == f"{expected}\n"


@given(st.integers(8, 24), st.integers(0, 8), st.integers(0, 8), st.data())
def test_a_resized_range_equals_the_range_of_terraform(base: int, bits: int, more: int, data: st.DataObject) -> None:
    """Python's ipaddress gives the subnets with which cidrsubnet is compared."""
    outer = ipaddress.ip_network((10 << 24, base), strict=False)
    number = data.draw(st.integers(0, min((1 << bits) - 1, 300)))

    def subnet(new: int) -> str | None:
        if base + new > 32 or number >= 1 << new:
            return None
        return str(ipaddress.ip_network((int(outer.network_address) + (number << (32 - base - new)), base + new)))

    written = subnet(bits)
    assert written is not None
    network = parse_cidr(written)
    assert network is not None
    found = with_newbits(network, bits, more)
    assert (str(found) if found else None) == subnet(more)


VNET = """\
locals {{
  cidr = "10.0.0.0/16"
}}

resource "azurerm_virtual_network" "main" {{
  name          = "main"
  address_space = [local.cidr]
}}

resource "azurerm_subnet" "nodes" {{
  for_each             = {{ a = {first}, b = 2 }}
  name                 = each.key
  virtual_network_name = azurerm_virtual_network.main.name
  address_prefixes     = [cidrsubnet(local.cidr, 8, each.value)]
}}

resource "azurerm_subnet" "other" {{
  name                 = "other"
  virtual_network_name = azurerm_virtual_network.main.name
  address_prefixes     = ["{other}"]
}}

resource "azurerm_kubernetes_cluster" "main" {{
  name     = "train"
  sku_tier = "Standard"

  default_node_pool {{
    name           = "system"
    node_count     = 700
    vnet_subnet_id = azurerm_subnet.nodes["b"].id
  }}

  network_profile {{
    network_plugin      = "azure"
    network_plugin_mode = "overlay"
  }}
}}
"""


def mended(write: Write, text: str) -> str:
    """Return a file after all fixes of the rule; unchanged if there are none."""
    write({"main.tf": text})
    outcome = fix.fix(["."], Config(), safeties=SAFETIES, rules=("subnet-too-small",))
    assert not outcome.refused
    return outcome.files[0].new.decode() if outcome.files else text


def test_cidrsubnet_new_bits_are_reduced_if_nothing_overlaps(write: Write) -> None:
    text = VNET.format(first=1, other="10.0.128.0/24")
    assert mended(write, text) == text.replace("local.cidr, 8,", "local.cidr, 6,")


def test_a_subnet_in_the_way_leaves_it_to_a_person(write: Write) -> None:
    """With six new bits, number 1 would be 10.0.4.0/22, which is taken."""
    text = VNET.format(first=1, other="10.0.5.0/24")
    assert mended(write, text) == text
    finding = next(f for f in linter.run(Tree(["."]), Config()).findings if f.rule == "subnet-too-small")
    assert (
        finding.help == 'set address_prefixes[0] = "10.0.12.0/22"; `cidrsubnet(local.cidr, 8, each.value)` gives it now'
    )


GCP = """\
resource "google_compute_network" "main" {{
  name                    = "main"
  auto_create_subnetworks = false
}}

resource "google_compute_subnetwork" "nodes" {{
  name          = "nodes"
  region        = "us-central1"
  network       = google_compute_network.main.id
  ip_cidr_range = "10.0.0.0/24"

  secondary_ip_range {{
    range_name    = "others"
    ip_cidr_range = "{other}"
  }}
}}

resource "google_container_cluster" "main" {{
  name       = "train"
  location   = "us-central1"
  network    = google_compute_network.main.id
  subnetwork = google_compute_subnetwork.nodes.name
}}

resource "google_container_node_pool" "main" {{
  name       = "main"
  cluster    = google_container_cluster.main.id
  node_count = 150
}}
"""


def test_a_subnet_is_not_widened_over_a_range_that_no_cluster_names(write: Write) -> None:
    text = GCP.format(other="10.1.0.0/20")
    assert mended(write, text) == text.replace('"10.0.0.0/24"', '"10.0.0.0/23"')
    text = GCP.format(other="10.0.1.0/24")
    assert mended(write, text) == text


def test_new_bits_change_only_if_all_subnets_exist(write: Write) -> None:
    """Six bits give 64 subnets, none with number 100."""
    text = VNET.format(first=100, other="10.0.128.0/24")
    assert mended(write, text) == text
