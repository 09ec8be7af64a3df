"""Test clusters generated for ACK: versions, engines, registries, and refusals at limits."""

from __future__ import annotations

import re
from typing import Any

import pytest

from kcheck.config.config import ConfigError
from kcheck.generate import ack, assembly, intent, jobs, ranges
from kcheck.generate.pools import split
from kcheck.text.syntax.hcl.parse import parse
from kcheck.text.text import Source
from tests.terraform import schemas_of_providers as attributes


def made(nodes: int, **given: Any) -> assembly.Output:
    return assembly.generate(intent.with_defaults("ack", {"nodes": nodes, **given}))


def context(nodes: int, **given: Any) -> dict[str, Any]:
    wanted = intent.with_defaults("ack", {"nodes": nodes, **given})
    slots = ack.slots(wanted, split(wanted))
    return ack.context(wanted, split(wanted), ranges.draft(slots))


@pytest.mark.parametrize("mode", ["terway", "flannel"])
@pytest.mark.parametrize("share", [0, 30, 100])
def test_a_generated_ack_cluster_has_no_findings(mode: str, share: int) -> None:
    output = made(180, network={"mode": mode}, spot={"share": share})
    assert not output.result.findings
    assert not output.result.undecided


def test_system_nodes_of_a_large_cluster_are_upgraded_some_at_a_time() -> None:
    output = made(9000)
    assert [finding.rule for finding in output.result.findings] == []
    assert b"max_unavailable = 10\n" in output.files["node_pools.tf"]


@pytest.mark.parametrize(
    ("nodes", "engine", "plane"),
    [(10, "small", "usual"), (450, "small", "usual"), (1000, "large", "tier"), (5000, "large", "large")],
)
def test_the_size_decides_the_autoscaler_engine_and_the_control_plane(nodes: int, engine: str, plane: str) -> None:
    found = context(nodes)
    assert (found["engine"], found["plane"]) == (engine, plane)


def test_minor_version_is_completed_to_a_release() -> None:
    assert context(10, kubernetes="1.35")["release"] == "1.35.7-aliyun.1"
    assert context(10, kubernetes="1.37")["release"] == "1.37.1-aliyun.1"
    with pytest.raises(ConfigError, match="is the oldest that is supported"):
        context(10, kubernetes="1.34")


def test_the_registry_address_of_an_account_is_parsed() -> None:
    found = context(10, image="team/train:1.0.0", registry="images-registry-vpc.ap-southeast-1.cr.aliyuncs.com")
    host = "images-registry-vpc.ap-southeast-1.cr.aliyuncs.com"
    assert found["registry"] == ack.Registry(host, "images", "team", "train")


@pytest.mark.parametrize(
    "registry", ["registry.example.com/ml", "images-registry-vpc.cn-beijing.cr.aliyuncs.com/train"]
)
def test_no_registry_is_created_for_another_registry_address(registry: str) -> None:
    output = made(10, registry=registry)
    assert "registry.tf" not in output.files
    assert b"docker_hub" not in b"".join(output.files.values())


def test_a_price_cap_is_set_for_each_spot_type() -> None:
    files = made(100, spot={"share": 30, "price_cap": 12.5}).files
    assert b'spot_price_cap    = "12.5"' in files["terraform.tfvars"]
    assert b"SpotWithPriceLimit" in files["node_pools.tf"]


@pytest.mark.parametrize(
    ("nodes", "mode", "wall"), [(1000, "flannel", "ends at 1,000 nodes"), (15000, "terway", "ends at 15,000 nodes")]
)
def test_an_intent_beyond_the_limits_of_ack_is_refused(nodes: int, mode: str, wall: str) -> None:
    with pytest.raises(assembly.ImpossibleError, match=wall):
        made(nodes, network={"mode": mode})


def test_a_quota_above_the_default_is_asked_for() -> None:
    assert b"ack.terway.nodes:\n    value: 5053" in made(5000).files["kcheck.yaml"]


CHINA = {"region": "cn-hangzhou", "zones": ["cn-hangzhou-h", "cn-hangzhou-i"]}


def test_a_job_of_128_nodes_fits_into_a_pool() -> None:
    wanted = intent.with_defaults("ack", {"nodes": 1000})
    assert wanted.job_nodes == 128
    assert all(pool.nodes >= 128 for pool in split(wanted))


@pytest.mark.parametrize("share", [0, 100])
def test_jobs_over_several_nodes_use_erdma(share: int) -> None:
    files = made(100, spot={"share": share}).files
    job, pools = files["jobs/sample.yaml"], files["node_pools.tf"]
    assert b"aliyun/erdma: 1 " in job
    assert b"hostNetwork: true" in job
    assert b'"k8s.io/cluster-autoscaler/node-template/resource/aliyun/erdma" = "1"' in pools
    assert b'name       = "ack-erdma-controller"' in files["cluster.tf"]
    assert b"eni_tag_filter" in files["README.md"]
    assert "jobs/mpi.yaml" not in files  # its processes begin by ssh, whose port is the node's


@pytest.mark.parametrize(
    ("machines", "memory"),
    [
        (["ecs.gn8v-8x.48xlarge"], 712),
        (["ecs.ebmgn9g.64xlarge"], 1608),
        (["ecs.gn8v-8x.48xlarge", "ecs.gn8v-8x.16xlarge"], 536),
    ],
)
def test_jobs_on_ack_request_seventy_percent_of_the_node_memory(machines: list[str], memory: int) -> None:
    job = made(20, machines=machines).files["jobs/sample.yaml"].decode()
    assert f"memory: {memory}Gi" in job  # 70 % of 1,024, 2,304 and 768 GiB, in steps of 8


@pytest.mark.parametrize(("machine", "prefix"), [("ecs.gn8v-8x.48xlarge", 23), ("ecs.ebmgn9g.64xlarge", 22)])
def test_each_erdma_card_takes_an_address_of_the_node_range(machine: str, prefix: int) -> None:
    output = made(1000, machines=[machine])
    assert output.files["terraform.tfvars"].count(f'/{prefix}", pods'.encode()) == 3
    assert (b"takes 2 addresses" in output.files["terraform.tfvars"]) == (prefix == 22)
    assert (b": 2 * ceil(pool.nodes" in output.files["tests/cluster.tftest.hcl"]) == (prefix == 22)
    assert not output.result.findings


def readme(nodes: int, **given: Any) -> str:
    return made(nodes, **given).files["README.md"].decode()


def test_an_unknown_quota_is_reported_as_unknown() -> None:
    told = "kcheck does not know the quota of ecs.ebmgn9g.64xlarge"
    assert told in readme(20, machines=["ecs.ebmgn9g.64xlarge"])
    assert "does not know the quota" not in readme(20)


def test_the_readme_says_to_copy_common_images_where_the_gateway_is_slow() -> None:
    assert "each 100 MB of them take 23 minutes to come to 1,000 new nodes" in readme(1000)
    assert "Copy the images that run on every node" not in readme(100)
    assert "Copy the images that run on every node" not in readme(1000, registry="registry.example.com/ml")


def test_the_readme_lists_the_costs_between_jobs() -> None:
    assert "the registry (by the month) and storage are paid" in readme(20)
    assert "storage (CPFS by its size, whatever is in it) are paid" in readme(20, **CHINA)
    assert "it stays after `terraform destroy`" in readme(20)


def test_the_readme_warns_that_late_erdma_can_bring_too_many_nodes() -> None:
    assert "count the nodes that come" in readme(20)
    assert "count the nodes that come" not in readme(20, job={"nodes": 1})


@pytest.mark.parametrize("given", [{"machines": ["ecs.gn7i-c32g1.32xlarge"]}, {"job": {"nodes": 1}}])
def test_clusters_without_erdma_do_not_mention_erdma(given: dict[str, Any]) -> None:
    files = made(100, **given).files
    assert not [
        path
        for path, data in files.items()
        if b"erdma" in data.lower() and path not in ("README.md", "other-linters.md")
    ]


def test_checkpoints_go_to_cpfs_in_regions_that_sell_it() -> None:
    output = made(450, **CHINA)
    assert not output.result.findings
    assert not output.result.undecided
    files = output.files
    assert b"cpfs_capacity = 48000 # for 9,600 MB/s" in files["terraform.tfvars"]
    assert b"storageClassName: checkpoints" in files["kubernetes/storage.yaml"]
    assert b"storage: 48000Gi" in files["kubernetes/storage.yaml"]
    assert b"server: SERVER-OF-team-research" in files["values/volumes.yaml"]
    assert b"storage-operator" not in files["cluster.tf"]
    for path in ("storage.tf", "cluster.tf", "outputs.tf"):
        text = files[path].decode()
        assert (attributes.unknown(text), attributes.missing(text)) == ([], [])


def test_the_terraform_test_checks_numbers_of_the_intent() -> None:
    text = made(450, **CHINA).files["tests/cluster.tftest.hcl"]
    assert not parse(Source("cluster.tftest.hcl", text)).problems
    assert b">= 450" in text
    assert b"capacity >= 48000" in text
    assert b"var.pod_cidr" not in text
    assert b"var.pod_cidr" in made(100, network={"mode": "flannel"}).files["tests/cluster.tftest.hcl"]


@pytest.mark.parametrize("given", [{}, {**CHINA, "machines": ["ecs.c7.16xlarge"]}], ids=["elsewhere", "without GPUs"])
def test_checkpoints_go_to_nas_in_other_regions(given: dict[str, Any]) -> None:
    files = made(100, **given).files
    assert "storage.tf" not in files
    assert "values/volumes.yaml" not in files
    assert b"storageClassName: alibabacloud-cnfs-nas" in files["kubernetes/storage.yaml"]


@pytest.mark.parametrize(
    ("nodes", "wanted", "capacity", "speed"),
    [(4, 600, 3600, 720), (64, 9600, 48000, 9600), (400, 60000, 225600, 45000)],
)
def test_cpfs_is_sized_by_what_the_usual_job_writes(nodes: int, wanted: int, capacity: int, speed: int) -> None:
    own = intent.with_defaults("ack", {"nodes": 1600, "job": {"nodes": nodes}, **CHINA})
    assert ack.checkpoints(own) == jobs.FileSystem(capacity, speed, wanted)


def test_the_api_server_is_private() -> None:
    files = made(10).files
    assert b"slb_internet_enabled = false" in files["cluster.tf"]
    assert b"--PrivateIpAddress true" in files["outputs.tf"]
    assert b"alicloud_slb_acl" not in b"".join(files.values())


def test_ranges_that_reach_the_api_server_are_listed() -> None:
    output = made(10, network={"api_ranges": ["203.0.113.0/24"]})
    assert not output.result.findings
    cluster = output.files["cluster.tf"].decode()
    assert "slb_internet_enabled = true" in cluster
    assert 'concat(["100.104.0.0/16", var.vpc_cidr], var.api_ranges)' in cluster
    assert (attributes.unknown(cluster), attributes.missing(cluster)) == ([], [])
    assert b'api_ranges = ["203.0.113.0/24"]' in output.files["terraform.tfvars"]
    assert b"terraform output -raw limit_api" in output.files["README.md"]


def test_two_clusters_of_an_account_have_separate_registries() -> None:
    one, other = (made(10, name=name).files["registry.tf"] for name in ("research", "product"))
    assert b'instance_name      = "research-1234567890123456"' in one
    assert b'instance_name      = "product-1234567890123456"' in other


def test_nodes_have_a_kernel_for_nftables_and_cgroup_v2() -> None:
    assert made(30).files["node_pools.tf"].count(b'"AliyunLinux4ContainerOptimized"') == 2
    arm = made(30, machines=["ecs.c8y.16xlarge"], gpus=0).files["node_pools.tf"]
    assert b'"AliyunLinux4ContainerOptimized"' in arm  # of the cluster's own nodes
    assert b'"AliyunLinux4ContainerOptimizedArm64"' in arm


def test_confidential_machines_are_refused() -> None:
    with pytest.raises(assembly.ImpossibleError, match="take the type without -tee"):
        made(20, machines=["ecs.gn8v-tee-8x.48xlarge"])


def test_machines_that_take_no_essd_get_another_disk() -> None:
    pools = made(20, machines=["ecs.gn5-c28g1.14xlarge"]).files["node_pools.tf"].decode()
    assert re.findall(r'system_disk_category += "(\w+)"', pools) == ["cloud_essd", "cloud_ssd"]
    assert pools.count("system_disk_performance_level") == 1


def test_pods_that_must_stay_carry_the_annotation_of_node_instant_scaling() -> None:
    few, many = (made(nodes).files for nodes in (100, 1000))
    for path in ("jobs/sample.yaml", "jobs/trainjob.yaml"):
        assert b"goatscaler.io" not in few[path]
        assert b'goatscaler.io/safe-to-evict: "false"' in many[path]
    assert b"`ProvisionNode`" not in few["README.md"]
    assert b"not `aliyun/erdma`" in many["README.md"]


def test_pods_on_ack_request_seventy_percent_of_the_node_cpus() -> None:
    assert b"cpu: 134\n" in made(100).files["jobs/sample.yaml"]  # 70 % of 192


def test_nccl_finds_the_index_of_each_network_card_itself() -> None:
    assert b'NCCL_IB_GID_INDEX\n                      value: "-1"' in made(100).files["jobs/sample.yaml"]


def test_steps_create_the_roles_of_the_account_first() -> None:
    steps = made(100).files["README.md"].decode().partition("## How to apply it?")[2]
    roles = ("AliyunCSManagedAutoScalerRole", "AliyunCSManagedNlcRole", "AliyunOOSLifecycleHook4CSRole")
    assert all(steps.index(role) < steps.index("`terraform apply`") for role in roles)
    assert "AliyunCSManagedAcrRole" in steps
    assert "AliyunCSManagedAcrRole" not in made(100, registry="registry.example.com/ml").files["README.md"].decode()


def test_metrics_use_a_disk_class_because_ack_has_no_default() -> None:
    assert b"storageClassName: alicloud-disk-topology-alltype" in made(100).files["values/monitoring.yaml"]


@pytest.mark.parametrize(
    ("given", "images"),
    [
        ({}, [b'"library/busybox" = ".*"']),
        ({"scheduler": "volcano"}, [b'"volcanosh/vc-scheduler"          = "v1.15.1"']),
        ({"machines": ["ecs.gn7i-c32g1.32xlarge"]}, [b'"mpioperator/mpi-operator" = "0.8.2"']),
    ],
)
def test_images_of_the_steps_are_copied_to_the_registry(given: dict[str, Any], images: list[bytes]) -> None:
    files = made(100, **given).files
    assert all(image in files["terraform.tfvars"] for image in images)
    assert (b"mpi-operator=" in files["README.md"]) == (b"mpi-operator" in files["terraform.tfvars"])


@pytest.mark.parametrize(("region", "near"), [("cn-beijing", False), ("cn-hongkong", True), ("ap-southeast-1", True)])
def test_registries_unreachable_from_mainland_china_are_named(region: str, near: bool) -> None:
    files = made(100, region=region).files
    assert (b"mainland China, registries" not in files["README.md"]) == near
    assert (b"accelerate            = true" not in files["registry.tf"]) == near


def test_the_readme_asks_for_a_node_quota() -> None:
    quotas = made(1000).files["quotas.tf"].decode()
    assert 'quota_action_code = "q_i5uzm3"' in quotas
    assert "desire_value      = 1013" in quotas
    assert (attributes.unknown(quotas), attributes.missing(quotas)) == ([], [])
