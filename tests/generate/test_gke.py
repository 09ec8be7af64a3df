"""Test the GKE part of `generate`: what it computes, and that its files have no findings on any machine."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
import yaml

from kcheck.config.config import ConfigError
from kcheck.generate import assembly, gke, other_clouds, ranges, render
from kcheck.generate.intent import with_defaults
from kcheck.generate.pools import split
from kcheck.generate.readme import QuotaRequest
from tests.kubernetes import schemas_of_kinds as crds
from tests.terraform import schemas_of_providers as attributes


@pytest.mark.parametrize(
    ("code", "name", "dimensions"),
    [
        ("N2_CPUS", "N2-CPUS-per-project-region", "{ region = var.region }"),
        ("GPUS_ALL_REGIONS", "GPUS-ALL-REGIONS-per-project", "{}"),
        (
            "GPUS_PER_GPU_FAMILY gpu_family=NVIDIA_H100", "GPUS-PER-GPU-FAMILY-per-project-region",
            '{ region = var.region, gpu_family = "NVIDIA_H100" }',
        ),
    ],
)  # fmt: skip
def test_quota_codes_are_converted_for_the_api(code: str, name: str, dimensions: str) -> None:
    request = QuotaRequest("gke.quota.one", code, code, 8, "GPUs")
    text = render.text("gke/templates/quotas.tf.j2", {"requests": [request], "target": 1})
    assert (re.findall(r'id += "(.*)"', text), re.findall(r"dimensions += ({.*})", text)) == ([name], [dimensions])


def test_the_nat_gateway_has_ports_for_all_nodes_and_growth() -> None:
    found = gke.gateway(1000, "gke")
    assert found == gke.Gateway(1250, 3, 64512)
    assert found.addresses * (found.ports // 128) >= found.nodes


def test_a_spot_only_intent_gives_only_spot_pools() -> None:
    assert all(pool.spot for pool in split(with_defaults("gke", {"nodes": 100, "spot": {"share": 100}})))


def made(**given: Any) -> dict[str, bytes]:
    return assembly.generate(with_defaults("gke", {"nodes": 100, **given})).files


def sample(files: dict[str, bytes]) -> dict[str, Any]:
    """Return the pod template of the sample job."""
    job = next(one for one in yaml.safe_load_all(files["jobs/sample.yaml"]) if one["kind"] == "JobSet")
    template: dict[str, Any] = job["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]
    return template


def joined(files: dict[str, bytes]) -> dict[str, str]:
    """Return the networks that a pod of the sample job joins, by network interface."""
    annotation = sample(files)["metadata"]["annotations"]["networking.gke.io/interfaces"]
    return {one["interfaceName"]: one["network"] for one in json.loads(annotation)}


def parameters(files: dict[str, bytes]) -> dict[str, dict[str, str]]:
    """Return the networks of the cluster, each with its VPC, subnet and mode."""
    objects = [one for one in yaml.safe_load_all(files["kubernetes/gpu-networks.yaml"]) if one]
    names = {one["metadata"]["name"] for one in objects if one["kind"] == "Network"}
    found = {one["metadata"]["name"]: one["spec"] for one in objects if one["kind"] == "GKENetworkParamSet"}
    assert names == found.keys()
    return found


@pytest.mark.parametrize(
    ("machine", "cards", "daemon"),
    [("a3-highgpu-8g", 4, "tcpx-daemon"), ("a3-megagpu-8g", 8, "tcpxo-daemon")],
)
def test_each_gpu_network_card_has_a_network_that_pods_join(machine: str, cards: int, daemon: str) -> None:
    files = made(machines=[machine])
    networks = [f"gpu-{i}" for i in range(cards)]
    assert list(joined(files).values()) == ["default", *networks]
    assert {name: one["deviceMode"] for name, one in parameters(files).items()} == dict.fromkeys(networks, "NetDevice")
    pod = sample(files)
    assert f"devices.gke.io/container.{daemon}" in pod["metadata"]["annotations"]
    _, sidecar = pod["spec"]["initContainers"]
    assert (sidecar["name"], sidecar["restartPolicy"]) == (daemon, "Always")  # else the pod never ends
    assert sidecar["startupProbe"]["exec"]["command"]  # else the job begins before the daemon is ready
    assert b"enable_multi_networking = true" in files["cluster.tf"]
    assert sidecar["image"].rpartition("/")[0].encode() in files["kubernetes/gpu-plugin.yaml"]


@pytest.mark.parametrize("machine", ["a3-highgpu-8g", "a3-megagpu-8g", "a3-ultragpu-8g", "a4-highgpu-8g"])
def test_a_job_waits_until_its_node_has_the_plugin(machine: str) -> None:
    files = made(machines=[machine])
    installer = next(yaml.safe_load_all(files["kubernetes/gpu-plugin.yaml"]))["spec"]["template"]["spec"]
    *_, plugin = installer["initContainers"]
    last = plugin["args"][0].splitlines()[-1].removeprefix("touch ").split(" #")[0]
    pod = sample(files)["spec"]
    first = pod["initContainers"][0]
    assert "restartPolicy" not in first
    assert "[ -e /plugin/installed ]" in first["command"][-1]
    assert on_node(pod, first, "/plugin/installed") == on_node(installer, plugin, last)


def on_node(pod: dict[str, Any], container: dict[str, Any], path: str) -> str:
    """Return the path on the node of a file in a container."""
    volumes: dict[str, str] = {volume["name"]: volume.get("hostPath", {}).get("path", "") for volume in pod["volumes"]}
    mounts: dict[str, str] = {mount["mountPath"]: mount["name"] for mount in container["volumeMounts"]}
    nearest = max(mount for mount in mounts if path.startswith(mount))
    return volumes[mounts[nearest]] + path.removeprefix(nearest)


def test_jobs_over_tcpx_may_lock_memory() -> None:
    def added(machine: str) -> list[str]:
        (container,) = sample(made(machines=[machine]))["spec"]["containers"]
        found: list[str] = container.get("securityContext", {}).get("capabilities", {}).get("add", [])
        return found

    assert added("a3-highgpu-8g") == ["IPC_LOCK"]
    assert added("a3-megagpu-8g") == added("a4-highgpu-8g") == []


def test_rdma_has_networks_in_each_zone_and_the_job_runs_in_one_zone() -> None:
    files = made(machines=["a3-ultragpu-8g"])
    found = parameters(files)
    assert found.pop("gvnic")["deviceMode"] == "NetDevice"
    assert len(found) == 3 * 8
    assert {one["deviceMode"] for one in found.values()} == {"RDMA"}
    assert {one["vpc"] for one in found.values()} == {f"train-rdma-us-central1-{zone}" for zone in "abc"}
    own = joined(files)
    assert own == {"eth0": "default"} | {f"eth{i + 2}": f"rdma-us-central1-a-{i}" for i in range(8)}
    (term,) = sample(files)["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"][
        "nodeSelectorTerms"
    ]
    assert term["matchExpressions"][0]["values"] == ["us-central1-a"]
    assert b"nccl-plugin-gib" in files["kubernetes/gpu-plugin.yaml"]


def test_a_job_stays_off_spot_machines_without_its_networks() -> None:
    files = made(machines=["a3-highgpu-8g", "a2-ultragpu-8g"], spot={"share": 50})
    (term,) = sample(files)["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"][
        "nodeSelectorTerms"
    ]
    assert term["matchExpressions"] == [{"key": "training/market", "operator": "In", "values": ["on-demand"]}]
    assert b"values: [nvidia-h100-80gb]" in files["kubernetes/gpu-plugin.yaml"]
    assert len(re.findall(rb"joins += (true|false)", files["terraform.tfvars"])) == 2


def test_jobs_on_spot_machines_that_differ_use_the_ordinary_network() -> None:
    files = made(machines=["a3-highgpu-8g", "a2-ultragpu-8g"], spot={"share": 100})
    assert "kubernetes/gpu-networks.yaml" not in files
    assert b"GPUDirect** is not set up" in files["README.md"]


def test_rdma_in_one_zone_leaves_the_job_where_it_is() -> None:
    files = made(machines=["a4-highgpu-8g"], zones=["us-central1-b"])
    assert "affinity" not in sample(files)["spec"]


@pytest.mark.parametrize(("nodes", "job", "zones"), [(100, 16, "abc"), (100, 64, "a")])
def test_spot_pools_with_rdma_are_in_single_zones_that_fit_the_job(nodes: int, job: int, zones: str) -> None:
    given = {"nodes": nodes, "machines": ["a4-highgpu-8g"], "spot": {"share": 100}, "job": {"nodes": job}}
    wanted = with_defaults("gke", given)
    pools = split(wanted)
    found: Any = gke.context(wanted, pools, ranges.draft(gke.slots(wanted, pools)))["training_pools"]
    assert sum(pool.nodes for pool in found) == nodes
    assert {pool.zones for pool in found} == {(f"us-central1-{zone}",) for zone in zones}
    of_first = sum(pool.nodes for pool in found if pool.zones == ("us-central1-a",))
    assert of_first >= job


def test_machines_not_sold_on_demand_come_from_reservations() -> None:
    assert b'us-central1-b = "train-us-central1-b"' in made(machines=["a4-highgpu-8g"])["terraform.tfvars"]
    assert b"reservations" not in made(machines=["a3-highgpu-8g"])["terraform.tfvars"]
    spot = made(machines=["a4-highgpu-8g"], spot={"share": 100})
    assert b"reservation" not in spot["node_pools.tf"]


def test_jobs_of_one_node_need_no_networks_of_their_own() -> None:
    files = made(job={"nodes": 1})
    assert not files.keys() & {"kubernetes/gpu-networks.yaml", "kubernetes/gpu-plugin.yaml"}
    assert b"additional_node_network_configs" not in files["node_pools.tf"]
    assert b"google_filestore_instance" in files["storage.tf"]


@pytest.mark.parametrize(
    ("nodes", "job", "size"),
    [
        (100, 2, 9000),  # 940 MB/s: the smallest there is
        (100, 32, 18000),  # 15,040 MB/s of 17,578
        (4000, 4000, 1944000),  # in steps of 72,000 above 1,530,000
    ],
)
def test_managed_lustre_is_as_fast_as_the_nodes_of_a_job(nodes: int, job: int, size: int) -> None:
    found = gke.lustre(with_defaults("gke", {"nodes": nodes, "job": {"nodes": job}}))
    assert found is not None
    assert found.capacity == size
    assert found.speed >= job * 470


def test_cpu_clusters_keep_checkpoints_on_filestore() -> None:
    assert gke.lustre(with_defaults("gke", {"nodes": 100, "machines": ["c3-standard-88"]})) is None


@pytest.mark.parametrize(
    ("gpus", "components"), [(True, '["SYSTEM_COMPONENTS", "DCGM"]'), (False, '["SYSTEM_COMPONENTS"]')]
)
def test_logs_and_metrics_kept_in_the_cluster_are_not_sent_to_google(*, gpus: bool, components: str) -> None:
    files = made() if gpus else made(machines=["c3-standard-88"], gpus=0)
    cluster = files["cluster.tf"].decode()
    assert re.search(r"monitoring_config \{\s+enable_components = (.*\])", cluster)[1] == components  # type: ignore[index]
    assert re.search(r"logging_config \{\s+enable_components = (.*)", cluster)[1] == '["SYSTEM_COMPONENTS"]'  # type: ignore[index]


def test_a_plan_works_in_a_new_project() -> None:
    files = made()
    versions = files["versions.tf"].decode()
    assert re.search(r"user_project_override += true\n +billing_project +=\ var\.project\n", versions)
    assert '"dns.googleapis.com"' in versions
    project = re.search(r'(?s)data "google_project" "main" \{.*?\n}', files["registry.tf"].decode())
    assert project is not None
    assert "depends_on = [google_project_service.needed]" in project[0]


@pytest.mark.parametrize(("spot", "kubernetes", "told"), [(50, "1.35", True), (0, "1.35", False), (50, "1.34", False)])
def test_spot_nodes_give_jobs_time_to_stop(*, spot: int, kubernetes: str, told: bool) -> None:
    pools = made(spot={"share": spot}, kubernetes=kubernetes)["node_pools.tf"].decode()
    assert ("shutdown_grace_period_seconds" in pools) == told


def test_the_readme_mentions_no_fabric_for_small_a3_machines() -> None:
    files = made(machines=["a3-highgpu-2g"], spot={"share": 100})
    assert "GPUDirect" not in files["README.md"].decode().partition("other linters")[0]


def test_given_api_ranges_close_all_other_access() -> None:
    files = made(network={"api_ranges": ["203.0.113.0/24"]})
    assert b"allow_external_traffic = false" in files["cluster.tf"]
    assert b"master_authorized_networks_config" in files["cluster.tf"]
    assert b'api_ranges = ["203.0.113.0/24"]' in files["terraform.tfvars"]
    assert b"--dns-endpoint" not in files["outputs.tf"]


@pytest.mark.parametrize(
    ("ranges", "private"), [(["10.0.0.0/8", "100.64.0.0/16"], True), (["10.0.0.0/8", "198.18.5.0/24"], False)]
)
def test_private_api_ranges_reach_the_private_address_of_the_api_server(*, ranges: list[str], private: bool) -> None:
    files = made(network={"api_ranges": ranges})
    assert (b"enable_private_endpoint = true" in files["cluster.tf"]) == private
    assert (b" --internal-ip" in files["outputs.tf"]) == private


def test_the_intent_says_who_reaches_the_api_server_without_ranges() -> None:
    assert b"On GKE, kubectl uses its DNS name, from anywhere." in made()["intent.yaml"]


def test_clusters_of_a_project_have_separate_repositories() -> None:
    files = made(name="infer")
    assert b'repository_id = "${var.name}-docker-hub"' in files["registry.tf"]
    assert b'repository_id = "infer"' in files["registry.tf"]
    assert b"my-project/infer-docker-hub" in files["outputs.tf"]


@pytest.mark.parametrize(
    "given",
    [
        {"nodes": 100, "spot": {"share": 100}},
        {"nodes": 40, "machines": ["a3-highgpu-8g", "a2-ultragpu-8g", "a2-highgpu-8g"], "spot": {"share": 50}},
        {"nodes": 40, "machines": ["g2-standard-8"]},
        {
            "nodes": 40,
            "machines": ["n1-standard-16"],
            "gpus": 4,
            "accelerator": "nvidia-tesla-v100",
            "spot": {"share": 30},
        },
        {"nodes": 40, "machines": ["c3-standard-88"], "spot": {"share": 30}},
        {"nodes": 40, "machines": ["a4-highgpu-8g"], "zones": ["us-central1-b"]},
        {"nodes": 300, "machines": ["a3-megagpu-8g"], "scheduler": "none"},
        {"nodes": 300, "machines": ["a3-ultragpu-8g"], "spot": {"share": 30}},
        {"nodes": 300, "machines": ["a3-ultragpu-8g", "a4-highgpu-8g"], "spot": {"share": 100}, "scheduler": "volcano"},
        {"nodes": 100, "network": {"api_ranges": ["203.0.113.0/24"]}},
        {"nodes": 8000, "registry": "registry.example.com/ml"},
    ],
    ids=["spot", "several", "single", "attached", "cpu", "hyperdisk", "mega", "rdma", "rdma-spot", "api", "large"],
)
def test_every_machine_kind_generates_a_cluster_without_findings(given: dict[str, Any]) -> None:
    made = assembly.generate(with_defaults("gke", given))
    assert [finding.rule for finding in made.result.findings] == []
    assert made.result.undecided == []
    for path, data in made.files.items():
        if path.endswith(".tf"):
            assert [path, *attributes.unknown(data.decode()), *attributes.missing(data.decode())] == [path]
        elif path.startswith("kubernetes/"):
            assert [path, *crds.problems(data.decode())] == [path]


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"machines": ["ct5p-hightpu-4t"]}, "the accelerators of ct5p-hightpu-4t are not NVIDIA's"),
        ({"machines": ["a4x-highgpu-4g"]}, "Arm machines in racks of 18 that NVLink joins"),
        ({"machines": ["n1-standard-8"], "gpus": 1}, "n1-standard-8 has no GPUs of its own; set gpus and accelerator"),
        (
            {"machines": ["n2-standard-8"], "gpus": 1, "accelerator": "nvidia-tesla-t4"},
            "n2-standard-8 takes none: only N1",
        ),
        ({"machines": ["n1-standard-8"], "gpus": 1, "accelerator": "nvidia-l4"}, "nvidia-l4 is not for gke"),
        ({"machines": ["a3-highgpu-4g"]}, "a3-highgpu-4g: Google sells it as spot and by Flex-start only"),
        ({"machines": ["a3-highgpu-4g"], "spot": {"share": 99}}, "set spot.share to 100"),
    ],
)
def test_unsupported_accelerators_are_refused(given: dict[str, Any], told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        assembly.generate(with_defaults("gke", given))


@pytest.mark.parametrize("scheduler", ["kueue", "volcano", "none"])
def test_machines_that_leave_less_than_a_cpu_get_jobs_that_fit(scheduler: str) -> None:
    """An e2-medium leaves 0.915 of its two shared vCPUs."""
    fields = {"nodes": 10, "machines": ["e2-medium"], "job": {"nodes": 4}, "scheduler": scheduler}
    output = assembly.generate(with_defaults("gke", fields))
    assert [one.rule for one in output.result.findings] == []
    assert "cpu: 750m" in output.files["jobs/sample.yaml"].decode()


@pytest.mark.parametrize(
    ("given", "amount"),
    [
        ({"machines": ["a3-highgpu-8g"]}, (4 + 1) * 8),  # machines that come with GPUs do not count
        ({"machines": ["n2-standard-32"]}, 100 * 32 + (4 + 1) * 8),
        ({"machines": ["n2-standard-32"], "spot": {"share": 100}}, 100 * 32 + (4 + 1) * 8),
    ],
)
def test_the_cpu_quota_over_all_regions_is_requested(given: dict[str, Any], amount: int) -> None:
    requests = assembly.generate(with_defaults("gke", {"nodes": 100, **given})).facts.requests
    assert {one.code: one.amount for one in requests}["CPUS_ALL_REGIONS"] == amount


@pytest.mark.parametrize("registry", ["us-central1-docker.pkg.dev/my-project/train", "registry.example.com/ml"])
def test_the_account_that_reads_the_token_of_docker_hub_is_there_before_it_gets_rights(registry: str) -> None:
    """Artifact Registry creates this account with a project's first repository.

    The one for Docker Hub needs its rights.
    """
    files = made(registry=registry)
    rights = files["registry.tf"].decode().partition('resource "google_secret_manager_secret_iam_member"')[2]
    ours = "depends_on = [google_artifact_registry_repository.train]" in rights
    by_hand = "gcloud beta services identity create --service artifactregistry.googleapis.com --project my-project"
    assert ours != (by_hand in files["README.md"].decode())
    assert ours == ("docker.pkg.dev" in registry)


@pytest.mark.parametrize(("machine", "service"), [("a3-highgpu-8g", "lustre"), ("n2-standard-32", "filestore")])
def test_teams_share_one_file_system_that_outlives_a_plan(machine: str, service: str) -> None:
    files = made(machines=[machine])
    code, readme = files["storage.tf"].decode(), files["README.md"].decode()
    assert re.findall(r'resource "(\w+)"', code) == [f"google_{service}_instance"]
    assert "prevent_destroy = true" in code
    assert "take `prevent_destroy` out of storage.tf" in readme
    assert "for all teams, a folder each" in readme
    assert "paid by the GiB" in readme
    assert 'for team in ["research", "product"]' in files["outputs.tf"].decode()
    assert b"subPath: research" in files["jobs/sample.yaml"]
    assert "kubernetes/storage-class.yaml" not in files


def test_attached_gpus_have_a_price_and_a_quota_and_no_equivalents_elsewhere() -> None:
    t4 = {"nodes": 100, "machines": ["n1-standard-16"], "gpus": 4, "accelerator": "nvidia-tesla-t4"}
    wanted = with_defaults("gke", t4)
    made = assembly.generate(wanted)
    readme = made.files["README.md"].decode()
    assert "$2.16 per hour at list price (n1-standard-16 with 4 nvidia-tesla-t4 on demand" in readme  # 0.76 + 4 x 0.35
    assert "| 400 GPUs | T4 GPUs | `NVIDIA_T4_GPUS` |" in readme
    assert b"accelerator: nvidia-tesla-t4\n" in made.files["intent.yaml"]
    (refused,) = other_clouds.on_clouds(wanted, ["eks"])
    assert isinstance(refused, other_clouds.Refused)
    assert "the work of n1-standard-16 (4 x nvidia-tesla-t4)" in refused.why


def test_a_small_cluster_keeps_the_logs_of_jobs() -> None:
    """A small cluster has no values/ for logs; once it sent none to Google, and they were lost."""
    small = assembly.generate(with_defaults("gke", {"nodes": 20, "parts": []})).files["cluster.tf"].decode()
    assert 'enable_components = ["SYSTEM_COMPONENTS", "WORKLOADS"]' in small
    assert "values/" not in small
    assert "storage.tf" not in small
