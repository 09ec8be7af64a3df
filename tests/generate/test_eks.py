"""Test what is generated for AWS only: checkpoint file system, names, interfaces, API server."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
import yaml

from kcheck.config.numbers import machines
from kcheck.config.numbers.profiles import limits
from kcheck.generate import intent
from kcheck.generate.assembly import generate
from kcheck.generate.eks import lustre
from kcheck.generate.jobs import FileSystem


def sized(machine: str, job: int, nodes: int = 2000) -> FileSystem | None:
    wanted = intent.with_defaults("eks", {"machines": [machine], "nodes": nodes, "job": {"nodes": job}})
    return lustre(wanted)


@pytest.mark.parametrize("machine", ["m7i.48xlarge", "g5.xlarge"])
def test_machines_without_efa_have_efs(machine: str) -> None:
    assert sized(machine, 16) is None


@pytest.mark.parametrize(
    ("job", "capacity", "efa"),
    [
        (1, 4800, False),
        (9, 4800, False),
        (10, 7200, False),
        (16, 9600, False),
        (21, 12000, False),
        (22, 14400, True),
        (128, 62400, True),
    ],
)
def test_file_system_capacity_grows_in_steps_with_the_job_throughput(job: int, capacity: int, efa: bool) -> None:
    found = sized("p5.48xlarge", job)
    assert found is not None
    assert found.capacity == capacity
    assert found.speed >= found.wanted
    assert found.capacity % limits("eks")["fsx.step_efa" if efa else "fsx.step"].number == 0


# --- what else is AWS' own in a generated cluster

NAMES = re.compile(
    r'^ +(name|name_prefix|creation_token|ecr_repository_prefix|queue_name|node_iam_role_name) += "(.*)"', re.MULTILINE
)


def files(**given: Any) -> dict[str, str]:
    found = generate(intent.with_defaults("eks", given))
    assert found.result.findings == []
    return {path: data.decode() for path, data in found.files.items()}


@pytest.mark.parametrize("machine", ["p5.48xlarge", "m7i.48xlarge"])
@pytest.mark.parametrize("autoscaler", ["cluster-autoscaler", "karpenter"])
def test_two_clusters_of_an_account_share_no_names(machine: str, autoscaler: str) -> None:
    """Roles and policies belong to an account, not a region: without a region in their names, AWS adds to them."""
    made = files(machines=[machine], autoscaler=autoscaler, name="alpha")
    for path, text in made.items():
        for kind, block in re.findall(r'^(?:resource "(\w+)"|module) .*?\{\n(.*?)^\}', text, re.MULTILINE | re.DOTALL):
            named = dict(NAMES.findall(block)) if not kind.startswith(("helm_", "kubernetes_")) else {}
            own = [name for name in named.values() if name not in ("alpha/train", "node-groups")]  # of a role
            assert all("${var.name}" in name for name in own), (path, kind, named)
            if kind in ("aws_iam_role", "aws_iam_policy"):
                assert "name_prefix" in named, (path, named)
    assert made["intent.yaml"].count("dkr.ecr.us-east-2.amazonaws.com/alpha") == 1


def test_all_33_interfaces_of_a_node_count_against_the_quota() -> None:
    assert "33 per node of gpu-a1" in files(nodes=1000)["README.md"]


@pytest.mark.parametrize(
    ("given", "asked"),
    [
        ({"nodes": 1000}, []),
        ({"nodes": 2000, "job": {"nodes": 512}}, ['"L-8F1B9C74" = { service = "fsx", value = 249600 }']),
        ({"nodes": 5000, "job": {"nodes": 16}}, ['"L-7A658B76" = { service = "ebs", value = 109 }']),
        ({"nodes": 300, "machines": ["m7i.48xlarge"]}, ['"L-7A658B76" = { service = "ebs", value = 60 }']),
    ],
)
def test_storage_quotas_missing_in_a_new_account_are_requested(given: dict[str, Any], asked: list[str]) -> None:
    made = files(**given)
    found = re.findall(r'"L-\w+" += \{ service = "(?:fsx|ebs)", value = \d+ \}', made["quotas.tf"])
    assert [re.sub(" +=", " =", one) for one in found] == asked
    assert all(one.split('"')[1] in made["README.md"] and one.split('"')[1] in made["kcheck.yaml"] for one in asked)


@pytest.mark.parametrize(
    ("ranges", "steps"), [([], "terraform output -raw tunnel"), (["203.0.113.0/24"], "from 203.0.113.0/24")]
)
def test_the_api_server_is_private_except_for_given_ranges(ranges: list[str], steps: str) -> None:
    made = files(network={"api_ranges": ranges})
    assert steps in made["README.md"]
    assert f"api_ranges         = {json.dumps(ranges)}" in made["terraform.tfvars"]


@pytest.mark.parametrize("autoscaler", ["cluster-autoscaler", "karpenter"])
def test_a_private_cluster_gets_nat_gateways_before_nodes_start(autoscaler: str) -> None:
    """Nodes pull images of their network plugin through NAT, which module.eks alone does not create."""
    assert "`terraform apply -target=module.vpc -target=module.eks`" in files(autoscaler=autoscaler)["README.md"]


@pytest.mark.parametrize("machine", ["p5.48xlarge", "m7i.48xlarge"])
def test_prometheus_gets_the_volume_that_it_claims(machine: str) -> None:
    made = files(machines=[machine])
    assert "volumeClaimTemplate" in made["values/monitoring.yaml"]
    assert "aws-ebs-csi-driver = {" in made["cluster.tf"]
    assert '"storageclass.kubernetes.io/is-default-class" = "true"' in made["storage.tf"]
    assert "service-role/AmazonEBSCSIDriverPolicy" in made["storage.tf"]


@pytest.mark.parametrize("autoscaler", ["cluster-autoscaler", "karpenter"])
def test_system_nodes_have_room_for_the_image_of_a_launcher(autoscaler: str) -> None:
    made = files(autoscaler=autoscaler)
    system = made["node_pools.tf"].partition("system_pools = {")[2].partition("training_pools = {")[0]
    assert "block_device_mappings = local.node_disk" in system


@pytest.mark.parametrize(("machine", "labelled"), [("p5.48xlarge", True), ("m7i.48xlarge", False)])
def test_the_autoscaler_waits_until_new_nodes_show_gpus(machine: str, labelled: bool) -> None:
    """Without the label, a node whose GPUs have not appeared yet counts as one without GPUs, and another starts."""
    assert ('"k8s.amazonaws.com/accelerator" =' in files(machines=[machine])["node_pools.tf"]) is labelled


@pytest.mark.parametrize("autoscaler", ["cluster-autoscaler", "karpenter"])
def test_metrics_of_components_without_a_chart_monitor_are_scraped(autoscaler: str) -> None:
    made = files(autoscaler=autoscaler)
    asked = set(
        re.findall(
            r"\b(?:awscni|cluster_autoscaler|karpenter)_\w+",
            "\n".join(
                re.findall(r'expr"?: .*', made["kubernetes/monitoring.yaml"] + made["kubernetes/dashboard.yaml"])
            ),
        )
    )
    monitors = [one for one in yaml.safe_load_all(made["kubernetes/monitors.yaml"]) if one]
    kept = [
        rule["regex"]
        for one in monitors
        for endpoint in one["spec"].get("podMetricsEndpoints") or one["spec"]["endpoints"]
        for rule in endpoint["metricRelabelings"]
    ]
    assert len(asked) >= 5
    assert [name for name in sorted(asked) if not any(re.fullmatch(regex, name) for regex in kept)] == []


@pytest.mark.parametrize("machine", ["p5en.48xlarge", "p4d.24xlarge", "m7i.48xlarge"])
def test_karpenter_starts_nodes_for_the_sample_job(machine: str) -> None:
    """Before it has seen a type, Karpenter subtracts 7.5 % of the memory and what the kubelet reserves."""
    (asked,) = re.findall(
        r"memory: (\d+)Gi$", files(machines=[machine], autoscaler="karpenter")["jobs/sample.yaml"], re.MULTILINE
    )
    memory = machines.memory("eks", machine)
    assert memory is not None
    expected = memory * 0.925 / 2**30 - 1  # a GiB for the kubelet at least
    assert expected * 0.95 < int(asked) < expected


def test_the_launch_failure_alert_ignores_deleted_nodes() -> None:
    """Karpenter counts an error for each node that it finds deleted."""
    alerts = files(autoscaler="karpenter")["kubernetes/monitoring.yaml"]
    assert 'karpenter_cloudprovider_errors_total{method="Create"}' in alerts


def test_only_the_elected_volcano_scheduler_works() -> None:
    """The chart elects no leader by default: two schedulers would place the same pods."""
    output = generate(intent.with_defaults("eks", {"nodes": 100, "scheduler": "volcano"}))
    found = yaml.safe_load(output.files["values/volcano.yaml"])["custom"]
    assert found["scheduler_replicas"] > 1
    assert found["leader_elect_enable"] is True


def test_workers_wait_long_enough_for_the_last_node() -> None:
    """PyTorch gives up after ten minutes by default, while nodes and images may take an hour."""
    output = generate(intent.with_defaults("eks", {"nodes": 1000}))
    configuration = yaml.safe_load(output.files["values/kueue.yaml"])["managerConfig"]["controllerManagerConfigYaml"]
    minutes = int(yaml.safe_load(configuration)["waitForPodsReady"]["timeout"].removesuffix("m"))
    for path in ("jobs/sample.yaml", "jobs/trainjob.yaml"):
        assert f"--rdzv-conf=timeout={minutes * 60} " in output.files[path].decode()


def test_mpirun_starts_as_root_with_the_variables_of_the_image() -> None:
    text = generate(intent.with_defaults("eks", {"nodes": 100})).files["jobs/mpi.yaml"].decode()
    launcher = yaml.safe_load(text)["spec"]["mpiReplicaSpecs"]["Launcher"]["template"]["spec"]["containers"][0]
    assert "--allow-run-as-root" in launcher["args"]
    assert {"PATH", "LD_LIBRARY_PATH", "MASTER_ADDR", "MASTER_PORT"} <= set(launcher["args"])


@pytest.mark.parametrize("machine", ["p5.48xlarge", "m7i.48xlarge", "g6.12xlarge"])
@pytest.mark.parametrize(("scheduler", "opened"), [("kueue", True), ("volcano", False)])
def test_the_api_server_can_reach_kueue(machine: str, scheduler: str, opened: bool) -> None:
    """The module does not open port 8082; an API that does not respond prevents the deletion of namespaces."""
    text = files(machines=[machine], scheduler=scheduler)["cluster.tf"]
    rule = re.search(r"kueue_visibility = \{(.*?)\}", text, re.DOTALL)
    assert (rule is not None) is opened
    if rule:
        assert "from_port                     = 8082" in rule[1]
        assert "source_cluster_security_group = true" in rule[1]


def test_karpenter_permissions_fit_even_with_a_long_region_name() -> None:
    """As a policy of its own, they exceed the 6,144 characters that AWS allows."""
    assert "enable_inline_policy = true" in files(autoscaler="karpenter")["karpenter.tf"]


@pytest.mark.parametrize(("autoscaler", "least"), [("cluster-autoscaler", "3"), ("karpenter", "var.system_nodes")])
def test_system_nodes_that_no_autoscaler_adds_exist_from_the_start(autoscaler: str, least: str) -> None:
    made = files(autoscaler=autoscaler, nodes=1000)["node_pools.tf"]
    assert re.findall(r"(?:min_size|desired_size) += (var\.system_nodes|3)\b", made) == [least, least]


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ({"spot": {"share": 30}}, True),
        ({}, False),
        ({"spot": {"share": 30}, "zones": ["us-east-2a"], "machines": ["m7i.48xlarge"]}, False),
        ({"spot": {"share": 30}, "autoscaler": "karpenter"}, False),
    ],
)
def test_nodes_of_spot_pools_stay_in_their_zone(given: dict[str, Any], kept: bool) -> None:
    """AWS terminates nodes of a group to balance its zones, whatever runs on them."""
    made = files(**given)
    assert ("--scaling-processes AZRebalance" in made["outputs.tf"]) is kept
    assert ("terraform output -raw keep_spot_nodes" in made["README.md"]) is kept


@pytest.mark.parametrize("autoscaler", ["cluster-autoscaler", "karpenter"])
def test_the_readme_says_how_to_remove_the_cluster(autoscaler: str) -> None:
    """Machines of Karpenter and disks of claims remain if the cluster is just destroyed."""
    steps = files(autoscaler=autoscaler)["README.md"].partition("## How to remove it?")[2].partition("\n## ")[0]
    nodes, claims = steps.find("kubectl delete nodepools --all"), steps.find("kubectl delete persistentvolumeclaims")
    assert (nodes > 0) is (autoscaler == "karpenter")
    assert max(nodes, 0) < claims < steps.find("`terraform destroy`")


@pytest.mark.parametrize("autoscaler", ["cluster-autoscaler", "karpenter"])
@pytest.mark.parametrize("share", [30, 100])
def test_spot_nodes_of_a_single_zone_have_efa(autoscaler: str, share: int) -> None:
    """Jobs may run on these nodes, so they need EFA and its plugin."""
    made = files(zones=["us-east-2a"], spot={"share": share}, autoscaler=autoscaler, nodes=100)
    quotas = re.findall(r"vpc.amazonaws.com/efa\n +nominalQuota: (\d+)", made["kubernetes/kueue.yaml"])
    assert sum(map(int, quotas)) == 100 * 32
    assert "training/market" not in made["kubernetes/efa.yaml"]
    assert "vpc.amazonaws.com/efa: 32" in made["jobs/sample.yaml"]
    if autoscaler == "cluster-autoscaler":
        assert "network_interfaces     = local.efa_interfaces" in made["node_pools.tf"]
        assert "for_each = var.training_pools" in made["autoscaler.tf"]
    else:
        assert made["kubernetes/karpenter.yaml"].count("networkInterfaces:") == (1 if share == 100 else 2)


def test_spot_nodes_of_several_zones_or_unlike_machines_have_no_efa() -> None:
    for given in ({"zones": ["us-east-2a", "us-east-2b"]}, {"machines": ["p5.48xlarge", "p5en.48xlarge"]}):
        wanted = intent.with_defaults("eks", {"zones": ["us-east-2a"], "spot": {"share": 30}, **given})
        assert "one if !pool.spot" in generate(wanted).files["node_pools.tf"].decode()


@pytest.mark.parametrize("machine", ["p5.48xlarge", "p4d.24xlarge", "g6.12xlarge"])
def test_huge_pages_of_efa_are_left_out_of_the_memory_of_a_job(machine: str) -> None:
    """Kubernetes counts huge pages apart: a job that requests their memory fits on no node."""
    (asked,) = re.findall(r"memory: (\d+)Gi$", files(machines=[machine])["jobs/sample.yaml"], re.MULTILINE)
    memory, found = machines.memory("eks", machine), machines.machine("eks", machine)
    assert memory is not None
    assert found is not None
    assert found.vcpus is not None
    assert int(asked) < memory * 0.97 / 2**30 - found.vcpus * 110 / 1024 - 6
