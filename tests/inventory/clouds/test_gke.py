"""Test the GKE reader: counts per zone, ranges by name, pools inside of a cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from kcheck.config.config import Config
from kcheck.report import model
from kcheck.text.files.tree import Tree

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conftest import Write

BASE = """
resource "google_compute_network" "main" {
  name = "main"
}

resource "google_compute_subnetwork" "nodes" {
  name          = "nodes"
  region        = "us-central1"
  network       = google_compute_network.main.id
  ip_cidr_range = "10.0.0.0/20"

  secondary_ip_range {
    range_name    = "pods"
    ip_cidr_range = "10.4.0.0/14"
  }

  secondary_ip_range {
    range_name    = "more"
    ip_cidr_range = "10.8.0.0/14"
  }
}

resource "google_container_cluster" "main" {
  name       = "train"
  network    = google_compute_network.main.id
  CLUSTER
}
"""
POOL = """
resource "google_container_node_pool" "p" {
  name    = "p"
  cluster = google_container_cluster.main.id
  LINES
}
"""
KEPT = 'location = "us-central1"\n  subnetwork = google_compute_subnetwork.nodes.id\n  remove_default_node_pool = true\n  initial_node_count = 1'


@pytest.fixture
def read(write: Write) -> Callable[..., dict[str, Any]]:
    def run(cluster: str = KEPT, pool: str | None = "node_count = 1") -> dict[str, Any]:
        write({"main.tf": BASE.replace("CLUSTER", cluster) + (POOL.replace("LINES", pool) if pool is not None else "")})
        data = model.collect(Tree(["."]), Config())
        assert not data["problems"]
        return data

    return run


def value(item: dict[str, Any], name: str) -> Any:
    field = item["fields"][name]
    return field.get("value", field.get("unknown"))


SCALED = "autoscaling {\n    min_node_count = 1\n    max_node_count = 100\n  }"


@pytest.mark.parametrize(
    ("lines", "disk", "size"),
    [
        ('machine_type = "a4-highgpu-8g"', "hyperdisk-balanced", 100),
        ('machine_type = "a3-highgpu-8g"', "pd-balanced", 100),
        ("machine_type = var.machine", "pd-balanced", 100),
        ('machine_type = "a4-highgpu-8g"\n disk_type = "hyperdisk-extreme"', "hyperdisk-extreme", 100),
        ('machine_type = "n2-standard-8"\n boot_disk {\n disk_type = "pd-ssd"\n size_gb = 300\n}', "pd-ssd", 300),
    ],
)
def test_boot_disks_are_read(lines: str, disk: str, size: int, read: Callable[..., dict[str, Any]]) -> None:
    (pool,) = read(pool=f"node_count = 1\n  node_config {{\n    {lines}\n  }}")["pools"]
    assert (pool["fields"]["disk_type"]["value"], pool["fields"]["disk_size"]["value"]) == (disk, size)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("location", "zones", "lines", "maximum", "in_zone"),
    [
        ('"us-central1"', "", SCALED, 300, 100),  # three zones of the region
        ('"us-central1"', '["us-central1-a"]', SCALED, 100, 100),
        ('"us-central1-a"', "", SCALED, 100, 100),
        ('"us-central1-a"', '["us-central1-b", "us-central1-c"]', SCALED, 300, 100),  # the list leaves out its own
        ('"us-central1"', "", SCALED + '\n  node_locations = ["us-central1-a", "us-central1-b"]', 200, 100),
        ('"us-central1"', "", SCALED + "\n  node_locations = []", 300, 100),
        ('"us-central1"', "", "autoscaling {\n    total_max_node_count = 1000\n  }", 1000, 334),
        ('"us-central1"', "", "node_count = 7", 21, 7),
        ('"us-central1"', "", "initial_node_count = 7", 21, 7),
        ('"us-central1"', "", "autoscaling {\n    min_node_count = 1\n  }", "max_node_count is not set", "max_node_count is not set"),
        ("var.region", "", SCALED, "var.region has no value", "var.region has no value"),
        ("var.region", "", SCALED + '\n  node_locations = ["a", "b"]', 200, 100),
        ('"us-central1-a"', "", SCALED + "\n  node_locations = google_container_cluster.main.node_locations", 100, 100),
        ('"us-central1"', "", SCALED + "\n  node_locations = google_container_cluster.main.node_locations", 300, 100),
    ],
)  # fmt: skip
def test_node_counts_are_per_zone(
    location: str, zones: str, lines: str, maximum: object, in_zone: object, read: Callable[..., dict[str, Any]]
) -> None:
    more = f"\n  node_locations = {zones}" if zones else ""
    head = f"location = {location}{more}\n  remove_default_node_pool = true\n  initial_node_count = 1"
    text = head + ('\n}\n\nvariable "region" {' if "var." in location else "")
    pool = read(text, lines)["pools"][0]
    assert (value(pool, "max_nodes"), value(pool, "counted_nodes")) == (maximum, in_zone)


@pytest.mark.parametrize(
    ("policy", "cidr", "addresses"),
    [
        ('cluster_secondary_range_name = "pods"', "10.4.0.0/14", 1 << 18),
        ("cluster_secondary_range_name = google_compute_subnetwork.nodes.secondary_ip_range[0].range_name", "10.4.0.0/14", 1 << 18),
        ('cluster_secondary_range_name = "pods"\n    additional_pod_ranges_config {\n      pod_range_names = ["more"]\n    }', "10.4.0.0/14", 1 << 19),
        ('cluster_secondary_range_name = "shared"', "the range shared is not in this root module", "the range shared is not in this root module"),
        ('cluster_secondary_range_name = ""', "/14", 1 << 18),
        ('cluster_ipv4_cidr_block = "/10"', "/10", 1 << 22),
        ('cluster_ipv4_cidr_block = "10.32.0.0/14"', "10.32.0.0/14", 1 << 18),
        ("", "/14", 1 << 18),
    ],
)  # fmt: skip
def test_the_pod_range_is_read(
    policy: str, cidr: object, addresses: object, read: Callable[..., dict[str, Any]]
) -> None:
    ranges = read(f"{KEPT}\n  ip_allocation_policy {{\n    {policy}\n  }}")["pod_ranges"]
    assert [(value(one, "cidr"), value(one, "usable_addresses"), value(one, "pools_count")) for one in ranges] == [
        (cidr, addresses, 1)
    ]


def test_a_pool_can_have_its_own_pod_range(read: Callable[..., dict[str, Any]]) -> None:
    policy = '\n  ip_allocation_policy {\n    cluster_secondary_range_name = "pods"\n  }'
    lines = 'node_count = 10\n  max_pods_per_node = 16\n  network_config {\n    pod_range = "more"\n  }'
    ranges = {value(one, "name"): one for one in read(KEPT + policy, lines)["pod_ranges"]}
    assert value(ranges["pods"], "pools_count") == 0
    (share,) = value(ranges["more"], "shares")
    assert [share[name] for name in ("nodes", "surge", "per_node", "addresses")] == [30, 1, 32, 992]


@pytest.mark.parametrize(
    ("lines", "pools"),
    [
        ("initial_node_count = 3", {"default-pool": 9}),
        ("initial_node_count = 3\n  remove_default_node_pool = true", {}),
        ('node_pool {\n    name = "in"\n    node_count = 2\n  }\n  node_pool {\n    name = "side"\n    node_count = 4\n  }', {"in": 6, "side": 12}),
        # the provider deletes the pool of this name, and no other
        ('remove_default_node_pool = true\n  node_pool {\n    name = "default-pool"\n  }\n  node_pool {\n    name = "in"\n    node_count = 2\n  }', {"in": 6}),
        ('node_pool {\n    name = "default-pool"\n    node_count = 1\n  }', {"default-pool": 3}),
        ("enable_autopilot = true", {}),
    ],
)  # fmt: skip
def test_pools_inside_the_cluster_are_read(
    lines: str, pools: dict[str, int], read: Callable[..., dict[str, Any]]
) -> None:
    data = read(f'location = "us-central1"\n  {lines}', None)
    assert {value(pool, "name"): value(pool, "max_nodes") for pool in data["pools"]} == pools


@pytest.mark.parametrize("lines", ["enable_autopilot = true", "cluster_autoscaling {\n    enabled = true\n  }"])
def test_nodes_outside_the_pools_make_the_target_unknown(lines: str, read: Callable[..., dict[str, Any]]) -> None:
    cluster = read(f"{KEPT}\n  {lines}")["clusters"][0]
    assert value(cluster, "provisioned") is True
    assert "has nodes outside its pools" in value(cluster, "target")


@pytest.mark.parametrize(
    ("subnetwork", "found"),
    [
        ("google_compute_subnetwork.nodes.self_link", True),
        ("google_compute_subnetwork.nodes.name", True),
        ('"nodes"', True),
        ('"projects/p/regions/us-central1/subnetworks/nodes"', True),
        ('"other"', False),
        ("data.google_compute_subnetwork.x.self_link", False),
    ],
)
def test_a_subnet_is_found_by_reference_or_name(
    subnetwork: str, found: bool, read: Callable[..., dict[str, Any]]
) -> None:
    data = read(f'location = "us-central1"\n  subnetwork = {subnetwork}\n}}\n\ndata "google_compute_subnetwork" "x" {{')
    assert isinstance(value(data["pools"][0], "subnets"), list) is found


@pytest.mark.parametrize(
    ("lines", "gpu", "surge"),
    [
        ("", False, 1),
        ('node_config {\n    machine_type = "a3-highgpu-8g"\n  }', True, 1),
        ('node_config {\n    machine_type = "n1-standard-8"\n    guest_accelerator {\n      type  = "nvidia-tesla-t4"\n      count = 2\n    }\n  }', True, 1),
        ('upgrade_settings {\n    strategy = "BLUE_GREEN"\n  }', False, 3),
        ("upgrade_settings {\n    max_surge = 20\n  }", False, 20),
    ],
)  # fmt: skip
def test_machines_and_upgrades_are_read(lines: str, gpu: bool, surge: int, read: Callable[..., dict[str, Any]]) -> None:
    pool = read(pool=f"node_count = 1\n  {lines}")["pools"][0]
    assert (value(pool, "gpu"), value(pool, "surge_nodes")) == (gpu, surge)


@pytest.mark.medium
def test_public_nodes_pull_images_with_their_own_addresses(check: Callable[..., Any]) -> None:
    job = "apiVersion: batch/v1\nkind: Job\nmetadata: {name: j}\nspec: {parallelism: 500, template: {spec: {containers: [{name: a, image: busybox}]}}}\n"
    text = BASE.replace("CLUSTER", KEPT) + POOL.replace("LINES", "node_count = 500")
    public = check({"main.tf": text, "job.yaml": job})
    assert "docker-hub-image" not in {finding.rule for finding in public.findings}
    private = text.replace(KEPT, KEPT + "\n  private_cluster_config {\n    enable_private_nodes = true\n  }")
    assert "docker-hub-image" in {finding.rule for finding in check({"main.tf": private}).findings}


PROVIDED = """
provider "google" {{
  region = "us-central1"
{zone}}}
provider "google" {{
  alias = "other"
  zone  = "europe-west4-b"
}}
resource "google_container_cluster" "main" {{
  name               = "main"
  initial_node_count = 3
{more}}}
"""


@pytest.mark.parametrize(
    ("zone", "more", "location"),
    [
        ('  zone   = "us-central1-f"\n', "", "us-central1-f"),
        ("  zone   = var.zone\n", "", "us-central1-c"),
        ("", "  provider = google.other\n", "europe-west4-b"),
        ("", "", "location is not set, and the provider has no zone"),
    ],
)
def test_a_cluster_without_location_is_in_the_zone_of_its_provider(
    zone: str, more: str, location: str, write: Write
) -> None:
    variable = 'variable "zone" {\n  default = "us-central1-c"\n}\n'
    write({"main.tf": PROVIDED.format(zone=zone, more=more) + variable})
    data = model.collect(Tree(["."]), Config())
    fields = data["clusters"][0]["fields"]
    assert fields["location"].get("value", fields["location"].get("unknown")) == location
    assert fields["zonal"]["value"] is True  # never regional
    assert data["pools"][0]["fields"]["max_nodes"]["value"] == 3


SHARED = """
resource "google_container_cluster" "c" {
  name                     = "c"
  location                 = "us-central1"
  subnetwork               = "elsewhere"
  remove_default_node_pool = true
  initial_node_count       = 1

  ip_allocation_policy {
    cluster_secondary_range_name = "%(cluster)s"
  }
}
"""
SHARER = """
resource "google_container_node_pool" "%(name)s" {
  name       = "%(name)s"
  cluster    = google_container_cluster.c.name
  node_count = 100

  network_config {
    pod_range%(cidr)s
  }
}
"""
CREATED = """ = "gpus"
    create_pod_range    = true
    pod_ipv4_cidr_block = "10.8.0.0/16\""""


@pytest.mark.parametrize(
    ("cluster", "first", "pools"),
    [
        ("pods", CREATED, {"gpus": 2, "pods": 0}),
        ("pods", ' = "gpus"', {"gpus": 2, "pods": 0}),
        ("gpus", CREATED, {"gpus": 2}),
    ],
)
def test_pools_that_name_one_range_share_it(cluster: str, first: str, pools: dict[str, int], write: Write) -> None:
    named = SHARER % {"name": "b", "cidr": ' = "gpus"'} + SHARER % {"name": "a", "cidr": first}
    write({"main.tf": SHARED % {"cluster": cluster} + named})
    ranges = model.collect(Tree(["."]), Config())["pod_ranges"]
    assert {value(one, "name"): value(one, "pools_count") for one in ranges} == pools
    shared = next(one for one in ranges if value(one, "name") == "gpus")
    assert value(shared, "usable_addresses") == (
        1 << 16 if first is CREATED else "the range gpus is not in this root module"
    )


MODULE = """
module "gke" {
  source  = "terraform-google-modules/kubernetes-engine/google"
  version = "~> 36.0"

  project_id        = "p"
  name              = "c"
  region            = "us-central1"
  network           = "n"
  subnetwork        = "elsewhere"
  ip_range_pods     = "pods"
  ip_range_services = "services"

  node_pools = [
    { name = "a", max_count = 9, pod_range = "gpus" },
    { name = "b", max_count = 9, pod_range = "gpus" },
    { name = "c", max_count = 9, pod_range = "pods" },
    { name = "d", max_count = 9 },
  ]
}
"""


@pytest.mark.parametrize(("pool", "ranges"), [("var.ranges.pods", 1), ("var.ranges.gpus", 2), ("local.pods", 1)])
def test_unknown_range_names_are_equal_only_if_written_alike(pool: str, ranges: int, write: Write) -> None:
    text = SHARED % {"cluster": "?"} + SHARER % {"name": "a", "cidr": f" = {pool}"}
    more = 'variable "ranges" {}\n\nlocals {\n  pods = var.ranges.pods\n}\n'
    write({"main.tf": text.replace('"?"', "var.ranges.pods") + more})
    assert len(model.collect(Tree(["."]), Config())["pod_ranges"]) == ranges


@pytest.mark.medium
def test_pools_of_the_module_share_ranges(write: Write) -> None:
    write({"main.tf": MODULE})
    ranges = model.collect(Tree(["."]), Config())["pod_ranges"]
    assert sorted(value(one, "pools_count") for one in ranges) == [2, 2]


def test_a_service_range_given_as_a_size_is_counted(read: Callable[..., dict[str, Any]]) -> None:
    policy = 'ip_allocation_policy {\n    services_ipv4_cidr_block = "/28"\n  }'
    assert value(read(f"{KEPT}\n  {policy}")["clusters"][0], "service_addresses") == 14


def test_the_latest_version_begins_with_the_requested_prefix(read: Callable[..., dict[str, Any]]) -> None:
    source = '}\n\ndata "google_container_engine_versions" "v" {\n  version_prefix = "%s"'
    asks = f"{KEPT}\n  min_master_version = data.google_container_engine_versions.v.latest_master_version\n"
    for prefix, version in (
        ("1.31.", "1.31"),
        ("1.31.4-gke.", "1.31"),
        ("1.", "data.google_container_engine_versions.v is read from the cloud"),
    ):
        assert value(read(asks + source % prefix)["clusters"][0], "version") == version


def test_taints_that_depend_on_a_data_source_are_unknown(read: Callable[..., dict[str, Any]]) -> None:
    each = 'data.http.t.body == "x" ? [1] : []'
    lines = f'node_config {{\n    dynamic "taint" {{\n      for_each = {each}\n      content {{\n        key = "a"\n      }}\n    }}\n  }}'
    pool = read(f'{KEPT}\n}}\n\ndata "http" "t" {{\n  url = "https://example.com"', lines)["pools"][0]
    assert value(pool, "taints") == "data.http.t is read from the cloud"


@pytest.mark.parametrize("written", ["true", "false", "1", '"x"', "null"])
def test_taint_values_are_read_as_text(written: str, read: Callable[..., dict[str, Any]]) -> None:
    """Terraform converts values to the text that the provider wants."""
    taint = f'taint {{\n      key    = "a"\n      value  = {written}\n      effect = "NO_SCHEDULE"\n    }}'
    pool = read(KEPT, f"node_config {{\n    {taint}\n  }}")["pools"][0]
    assert value(pool, "taints") == [f"a={written.strip(chr(34)).replace('null', '')}:NO_SCHEDULE"]
