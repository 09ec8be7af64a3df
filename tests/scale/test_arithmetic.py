"""Test the arithmetic on the worked examples of its sources."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kcheck.config.numbers import machines
from kcheck.inventory.clouds.ack import cloud as ack
from kcheck.inventory.clouds.aks import cloud as aks
from kcheck.inventory.clouds.eks import cloud as eks
from kcheck.inventory.clouds.registry import cloud
from kcheck.model import Surge
from kcheck.scale import deletion
from kcheck.scale import growth as growing
from kcheck.scale.growth import Demand
from kcheck.scale.walls import egress
from kcheck.text import ip_ranges as ranges
from kcheck.text.ip_ranges import parse_cidr

if TYPE_CHECKING:
    from kcheck.model import Image


@pytest.mark.parametrize(
    ("cidr", "usable"), [("10.0.0.0/24", 251), ("10.0.0.0/22", 1019), ("10.0.0.0/21", 2043), ("10.0.0.0/16", 65531)]
)
def test_usable_addresses_are_counted(cidr: str, usable: int) -> None:
    assert ranges.usable_addresses(cidr, 5) == usable


@pytest.mark.parametrize(
    "text",
    [
        "10.0.0.0",
        "10.0.0.²/24",
        "10.0.0.0/²",
        "10.0.0.0/33",
        "10.0.0/24",
        "fd00::/64",
        "x",
        "",
        "10.0.0.256/24",
        "10.0.0.0/255.0.0.0",
        "010.0.0.0/8",
    ],
)
def test_malformed_ranges_are_refused(text: str) -> None:
    assert parse_cidr(text) is None


@pytest.mark.parametrize(
    ("nodes", "surge", "pods", "needed"),
    [
        (50, Surge(1), 30, 1581),  # Microsoft's own example
        (1000, Surge(percent=10), 30, 34100),
        (1000, Surge(), 0, 1000),
    ],
)
def test_nodes_and_surge_nodes_need_an_address_each_and_one_per_pod(
    nodes: int, surge: Surge, pods: int, needed: int
) -> None:
    assert growing.addresses_needed([Demand("p", nodes, surge, 1 + pods)]) == needed


@pytest.mark.parametrize(
    ("prefix", "per_node", "surge", "nodes"),
    [
        (24, 31, Surge(), 8),
        (24, 31, Surge(1), 7),
        (21, 31, Surge(1), 64),
        (16, 31, Surge(), 2113),
        (24, 111, Surge(), 2),
        (24, 1, Surge(), 251),
        (24, 1, Surge(percent=10), 228),
    ],
)
def test_nodes_that_fill_a_subnet_are_counted(prefix: int, per_node: int, surge: Surge, nodes: int) -> None:
    usable = ranges.usable_addresses(f"10.0.0.0/{prefix}", 5)
    assert usable is not None
    assert growing.full_at([Demand("p", 5000, surge, per_node)], usable) == nodes


SURGES = st.builds(Surge, st.integers(0, 5), st.integers(0, 40), st.integers(0, 6), st.sampled_from([None, 10, 100]))
demands = st.lists(
    st.builds(Demand, st.just("p"), st.integers(0, 2000), SURGES, st.sampled_from([1, 11, 31, 111]), st.integers(1, 4)),
    min_size=1, max_size=5,
)  # fmt: skip


@pytest.mark.medium
@given(demands, st.integers(0, 70000))
def test_the_full_node_count_fits_and_one_more_step_does_not(pools: list[Demand], usable: int) -> None:
    total = sum(pool.nodes for pool in pools)
    full = growing.full_at(pools, usable)
    assert 0 <= full <= total
    if growing.addresses_needed(pools) <= usable:
        assert full == total
    elif usable > sum(p.addresses(1) for p in pools):
        assert full < total


@pytest.mark.parametrize(
    ("surge", "nodes", "expected"),
    [
        (Surge(percent=10), 95, 10),
        (Surge(percent=33), 3, 1),
        (Surge(1), 500, 1),
        (Surge(), 5, 0),
        (Surge(1, least=6, most=100), 500, 6),
        (Surge(percent=33, least=6, most=100), 1000, 100),
    ],
)
def test_surge_nodes_are_rounded_up_and_bounded(surge: Surge, nodes: int, expected: int) -> None:
    assert growing.surge_nodes(surge, nodes) == expected


@pytest.mark.parametrize(
    ("addresses", "prefix"), [(251, 24), (252, 23), (34100, 16), (1, 29), (65531, 16), (65532, 15)]
)
def test_the_longest_sufficient_prefix_is_found(addresses: int, prefix: int) -> None:
    assert ranges.sufficient_prefix(addresses, 5) == prefix


@pytest.mark.parametrize(
    ("networks", "taken", "prefix", "block"),
    [
        (["10.0.0.0/16"], [], 24, "10.0.0.0/24"),
        (["10.0.0.0/16"], ["10.0.0.0/24"], 24, "10.0.1.0/24"),
        (["10.0.0.0/16"], ["10.0.0.64/26"], 24, "10.0.1.0/24"),
        (["10.0.0.0/16"], ["10.0.1.0/24"], 23, "10.0.2.0/23"),
        (["10.0.0.0/16"], ["10.0.0.0/17"], 16, None),
        (["10.0.0.0/24", "10.8.0.0/16"], ["10.8.0.0/18"], 18, "10.8.64.0/18"),
        (["10.0.0.0/16"], ["unknown"], 24, None),
        (["10.0.0.0/16"], ["10.0.0.0/16"], 24, None),
    ],
)
def test_the_first_free_block_is_found(networks: list[str], taken: list[str], prefix: int, block: str | None) -> None:
    assert ranges.free_block(networks, taken, prefix) == block


@pytest.mark.medium
@given(st.lists(st.tuples(st.integers(0, 255), st.integers(18, 28)), max_size=12), st.integers(17, 28))
def test_a_free_block_overlaps_nothing(blocks: list[tuple[int, int]], prefix: int) -> None:
    taken = [str(parse_cidr(f"10.0.{third}.0/{length}")) for third, length in blocks]
    found = ranges.free_block(["10.0.0.0/16"], taken, prefix)
    if found is not None:
        own, outer = parse_cidr(found), parse_cidr("10.0.0.0/16")
        assert own is not None
        assert outer is not None
        assert own.subnet_of(outer)
        assert not any(own.overlaps(other) for other in map(parse_cidr, taken) if other)


@pytest.mark.parametrize(
    ("maxima", "growable", "target", "expected"),
    [
        ([10, 90], [True, True], 1000, [100, 900]),
        ([10, 90], [False, True], 1000, [10, 990]),
        ([10, 90], [False, False], 200, [20, 180]),
        ([10, 90], [False, True], 50, [10, 40]),
        ([10, 90], [True, True], 100, [10, 90]),
        ([3, 3, 3], [True, True, True], 10, [4, 3, 3]),
        ([10, 90], [False, True], 5, [5, 0]),
        ([0, 0], [True, False], 6, [6, 0]),
        ([], [], 5, []),
    ],
)
def test_the_target_is_divided_among_pools(
    maxima: list[int], growable: list[bool], target: int, expected: list[int]
) -> None:
    assert growing.Growth(tuple(maxima), tuple(growable)).sizes(target) == expected


@pytest.mark.parametrize(
    ("nodes", "batch", "seconds"),
    [(1000, 10, 1200), (1000, 100, 300), (1000, 200, 250), (10, 10, 12), (0, 10, 0)],
)
def test_the_deletion_time_counts_loops_and_taints(nodes: int, batch: int, seconds: int) -> None:
    """10 nodes every 10 s and 2 s for their taints: 1,000 nodes take 20 minutes at least."""
    assert deletion.deletion_time(nodes, batch, 10, 5) == seconds


def test_the_smallest_sufficient_round_batch_is_found() -> None:
    assert deletion.batch_for(1000, 300, 10, 5) == 100
    assert deletion.batch_for(100, 300, 10, 5) == 10
    assert deletion.batch_for(5000, 300, 10, 5) is None


def test_a_widened_range_contains_the_old_one_and_overlaps_nothing() -> None:
    network = parse_cidr("10.244.0.0/16")
    assert network is not None
    assert ranges.widened(network, 1100 * 256, ["10.0.0.0/16"]) == "10.240.0.0/13"
    assert ranges.widened(network, 1100 * 256, ["10.241.0.0/16"]) is None
    public = parse_cidr("172.15.0.0/16")
    assert public is not None
    assert ranges.widened(public, 1100 * 256, []) is None


@pytest.mark.parametrize(
    ("pods", "prefix"),
    [(8, 28), (9, 27), (16, 27), (17, 26), (32, 26), (64, 25), (110, 24), (128, 24), (256, 23), (1, 28)],
)
def test_a_pod_block_has_twice_the_pods_of_a_node(pods: int, prefix: int) -> None:
    assert cloud("gke").pod_block(pods) == prefix


@pytest.mark.parametrize(
    ("interfaces", "addresses", "pods", "warm", "held"),
    [
        (3, 10, 1, 1, 20),  # m5.large after its first pod
        (3, 10, 0, 1, 10),
        (2, 50, 1, 1, 100),  # p5.48xlarge
        (4, 15, 1, 1, 30),  # g5.xlarge
        (4, 15, 1, 0, 15),
        (3, 10, 27, 1, 30),  # no more interfaces than there are
    ],
)
def test_addresses_of_whole_interfaces_are_counted(
    interfaces: int, addresses: int, pods: int, warm: int, held: int
) -> None:
    assert eks.interface_addresses(interfaces, addresses, pods, warm) == held


def test_prefixes_and_warm_addresses_are_counted() -> None:
    assert eks.prefix_addresses(1, 1, 16) == 33
    assert eks.prefix_addresses(0, 1, 16) == 17
    assert eks.prefix_addresses(17, 1, 16) == 49
    assert eks.warm_addresses(4, 15, 10, 2, 12) == 13
    assert eks.warm_addresses(4, 15, 20, 2, 0) == 24
    assert eks.warm_addresses(2, 4, 100, 2, 0) == 8


@pytest.mark.parametrize(
    ("name", "found"),
    [("m5.large", (3, 10)), ("p5.48xlarge", (2, 50)), ("u-6tb1.56xlarge", (15, 50)), ("x.y", None), ("", None)],
)
def test_interfaces_of_instance_types_are_known(name: str, found: tuple[int, int] | None) -> None:
    assert machines.interfaces("eks", name) == found


def test_a_pool_without_nodes_has_no_surge() -> None:
    assert growing.surge_nodes(Surge(nodes=1, percent=33, least=6), 0) == 0


@pytest.mark.parametrize(
    ("name", "custom", "pods", "managed"),
    [
        ("m5.large", False, 29, 29),
        ("m5.large", True, 20, 20),
        ("p3dn.24xlarge", False, 737, 250),
        ("p4d.24xlarge", False, 737, 250),
        ("c5.4xlarge", False, 234, 110),
        ("c5.9xlarge", False, 234, 234),
        ("g5.xlarge", False, 58, 58),
        ("p5.48xlarge", False, 100, 100),
    ],
)
def test_the_pod_limit_of_eks_nodes_is_computed(name: str, custom: bool, pods: int, managed: int) -> None:
    """The facts have a table of types with these columns; EKS' own cap is 110 below 30 vCPUs, else 250."""
    found, machine = machines.interfaces("eks", name), machines.machine("eks", name)
    assert found is not None
    assert machine is not None
    formula = eks.max_pods(*found, custom=custom)
    assert formula == pods
    assert eks.managed_pods(formula, machine.vcpus or 0, 110, 250, 30) == managed


def test_a_node_without_pods_holds_one_interface() -> None:
    """In Amazon's guide, two c5.large with pods hold two interfaces of ten addresses each, one without pods one."""
    held = [eks.interface_addresses(3, 10, pods, 1) for pods in (1, 1, 0)]
    assert sum(held) == 50


@pytest.mark.parametrize(
    ("ports", "addresses", "nodes"), [(1000, 2, 128), (1000, 7, 448), (4000, 7, 112), (1024, 16, 1000)]
)
def test_azure_outbound_ports_limit_the_nodes(ports: int, addresses: int, nodes: int) -> None:
    assert cloud("aks").outbound_nodes(ports, addresses, 64_000) == nodes


def test_cloud_nat_ports_limit_the_nodes() -> None:
    gke = cloud("gke")
    assert gke.outbound_nodes(64, 1, 64_512) == 1008
    assert gke.outbound_nodes(1000, 3, 64_512) == 192  # whole nodes on each address
    assert gke.outbound_addresses(1000, 192, 64_512) == 3
    assert gke.outbound_addresses(65_000, 1, 64_512) is None


def test_image_pulls_of_new_nodes_are_counted() -> None:
    image = cast("Image", None)
    found = [egress.Pull([image, image], 50, None, sure=True), egress.Pull([image], None, None, sure=True)]
    assert egress.pulled(found, lambda _: 30) == 90
    assert egress.pulled(found, lambda _: 100) == 200


@pytest.mark.parametrize(
    ("cloud", "name", "vcpus", "gpus"),
    [
        ("eks", "p5.48xlarge", 192, 8),
        ("eks", "m5.large", 2, None),
        ("gke", "n2-standard-8", 8, None),
        ("gke", "a3-highgpu-8g", 208, 8),
        ("gke", "e2-medium", 2, None),
        ("gke", "n2-custom-8-16384", 8, None),
        ("gke", "custom-4-2048", 4, None),
        ("aks", "Standard_ND96asr_v4", 96, 8),
        ("aks", "Standard_D16ds_v5", 16, None),
        ("aks", "Standard_DS3_v2", 4, None),
        ("aks", "Standard_M64-32ms", 64, None),  # the quota counts all, the node has half of them
        ("ack", "ecs.gn7i-c32g1.8xlarge", 32, 1),
    ],
)
def test_vcpus_and_gpus_of_machines_are_known(cloud: str, name: str, vcpus: int, gpus: int | None) -> None:
    found = machines.machine(cloud, name)
    assert found is not None
    assert (found.vcpus, found.gpus) == (vcpus, gpus)


@pytest.mark.parametrize(("cloud", "name"), [("eks", "x9.huge"), ("gke", "x"), ("aks", "Standard_X"), ("ack", "")])
def test_unknown_machine_types_have_no_numbers(cloud: str, name: str) -> None:
    assert machines.machine(cloud, name) is None


@pytest.mark.parametrize(
    ("cloud", "name", "spot", "codes"),
    [
        ("eks", "p5.48xlarge", False, ["L-417A185B"]),
        ("eks", "p5.48xlarge", True, ["L-C4BD4855"]),
        ("eks", "g5.48xlarge", False, ["L-DB2E81BA"]),
        ("eks", "m5.large", False, ["L-1216C47A"]),
        ("aks", "Standard_ND96isr_H100_v5", False, ["standardNDSH100v5Family", "cores"]),
        ("aks", "Standard_ND96isr_H100_v5", True, ["lowPriorityCores"]),
        ("ack", "ecs.g7.2xlarge", False, ["q_i5uzm3", "q_ecs_enterprise_postpay_c"]),
        # https://help.aliyun.com/zh/ecs/user-guide/limitations
        ("ack", "ecs.hfg7.2xlarge", False, ["q_i5uzm3", "q_ecs_enterprise_postpay_c"]),
        ("ack", "ecs.ebmg7.32xlarge", False, ["q_i5uzm3", "q_ecs_ebm_postpay_c"]),
        ("ack", "ecs.ebmgn7.26xlarge", False, ["q_i5uzm3", "q_ecs_gn7v_postpay_g"]),
        ("ack", "ecs.gn7s-c8g1.2xlarge", False, ["q_i5uzm3", "q_ecs_gn7i_postpay_g"]),
        ("ack", "ecs.gn8v-8x.48xlarge", True, ["q_i5uzm3", "q_ecs_gn8v_spot_g"]),
        ("ack", "ecs.ebmgn6ia.20xlarge", False, ["q_i5uzm3", "q_ecs_ag_postpay_g"]),
        ("ack", "ecs.sgn7i-vws-m2.xlarge", False, ["q_i5uzm3", "q_ecs_vgpu_postpay_g"]),
        ("ack", "ecs.ebmgn9g.48xlarge", False, ["q_i5uzm3"]),
    ],
)
def test_machine_types_count_against_quotas_with_codes(cloud: str, name: str, spot: bool, codes: list[str]) -> None:
    assert [quota.code for quota in machines.quotas(cloud, name, spot=spot)] == codes


@pytest.mark.parametrize(("pods", "addresses"), [(0, 16), (1, 16), (8, 16), (9, 32), (24, 32), (25, 48)])
def test_aks_pods_take_addresses_in_batches_of_prefixes(pods: int, addresses: int) -> None:
    assert aks.dynamic_addresses(pods, 16, 8) == addresses


@pytest.mark.parametrize(("pods", "addresses"), [(15, 16), (16, 32), (31, 32), (110, 112), (250, 256)])
def test_aks_pods_take_addresses_in_blocks(pods: int, addresses: int) -> None:
    assert aks.static_addresses(pods, 16) == addresses


@pytest.mark.parametrize(("name", "pods"), [("ecs.g7.4xlarge", 210), ("ecs.c6.4xlarge", 140)])
def test_terway_limits_the_pods_of_a_node(name: str, pods: int) -> None:
    found = machines.interfaces("ack", name)
    assert found is not None
    assert ack.terway_pods(*found) == pods


def test_pools_upgraded_one_at_a_time_need_one_surge() -> None:
    pools = [Demand("a", 10, Surge(2), 1), Demand("b", 10, Surge(percent=50), 31), Demand("c", 0, Surge(9), 1)]
    assert growing.addresses_needed(pools) == 10 + 15 * 31
    assert [pool.surge == Surge() for pool in growing.upgraded_in_turn(pools)] == [True, False, True]
