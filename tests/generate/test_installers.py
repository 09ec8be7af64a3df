"""Test installers of self-managed clusters, and the networks between their GPUs."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from kcheck.config import settings
from kcheck.config.config import ConfigError
from kcheck.generate import intent, intent_from_code
from kcheck.generate.assembly import Output, generate
from kcheck.text import units
from kcheck.text.values import known
from tests.kubernetes import schemas_of_kinds as crds

if TYPE_CHECKING:
    from tests.conftest import Write

CARDS = ["ibp24s0", "ibp64s0"]


def made(**given: Any) -> Output:
    found = generate(intent.with_defaults("selfmanaged", given))
    assert found.result.findings == []
    return found


def files(**given: Any) -> dict[str, str]:
    return {path: data.decode() for path, data in made(**given).files.items()}


def documents(text: str, kind: str) -> list[dict[str, Any]]:
    return [one for one in yaml.safe_load_all(text) if one["kind"] == kind]


def worker(found: dict[str, str]) -> dict[str, Any]:
    """Return the pod template of the sample job."""
    (job,) = documents(found["jobs/sample.yaml"], "JobSet")
    template: dict[str, Any] = job["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]
    return template


# --- networks between GPUs


def test_infiniband_is_shared_by_the_pods_of_a_node() -> None:
    found = files(nodes=100)
    (policy,) = documents(found["kubernetes/fabric.yaml"], "NicClusterPolicy")
    assert '"linkTypes": ["infiniband"]' in policy["spec"]["rdmaSharedDevicePlugin"]["config"]
    assert '"rdmaHcaMax": 8' in policy["spec"]["rdmaSharedDevicePlugin"]["config"]
    assert worker(found)["spec"]["containers"][0]["resources"]["limits"]["rdma/ib"] == 8
    assert "rdma/ib" in found["kubernetes/kueue.yaml"]  # what a queue does not know, it does not admit
    named = files(nodes=100, network={"cards": CARDS})["kubernetes/fabric.yaml"]
    assert '"ifNames": ["ibp24s0", "ibp64s0"]' in named


def test_infiniband_virtual_functions_give_one_network_per_card() -> None:
    found = files(nodes=100, network={"fabric": "infiniband-sriov", "cards": CARDS})
    (policy,) = documents(found["kubernetes/fabric.yaml"], "SriovNetworkNodePolicy")
    (network,) = documents(found["kubernetes/fabric.yaml"], "SriovIBNetwork")
    assert policy["spec"]["nicSelector"]["pfNames"] == CARDS
    assert policy["spec"]["resourceName"] == network["spec"]["resourceName"] == "ib"
    pod = worker(found)
    assert pod["spec"]["containers"][0]["resources"]["limits"]["nvidia.com/ib"] == 2
    assert pod["metadata"]["annotations"]["k8s.v1.cni.cncf.io/networks"] == "default/infiniband,default/infiniband"
    assert "sriovNetworkOperator:\n  enabled: true" in found["values/network-operator.yaml"]


def test_multus_keeps_its_configuration_next_to_that_of_cilium() -> None:
    shared, own = (
        files(nodes=100, installer="kubespray", network={"fabric": fabric, "cards": CARDS})
        for fabric in ("infiniband", "infiniband-sriov")
    )
    assert "cilium_cni_exclusive" not in "".join(shared.values())
    assert yaml.safe_load(own["group_vars/k8s_cluster/k8s-cluster.yml"])["cilium_cni_exclusive"] is False
    capi = files(nodes=100, installer="cluster-api", network={"fabric": "infiniband-sriov", "cards": CARDS})
    assert "(Cilium: `cni.exclusive=false`)" in capi["README.md"]


def test_roce_pods_use_the_network_of_the_node() -> None:
    found = files(nodes=100, network={"fabric": "roce", "cards": CARDS})
    pod = worker(found)["spec"]
    assert pod["hostNetwork"] is True
    assert pod["dnsPolicy"] == "ClusterFirstWithHostNet"
    names = {one["name"]: one["value"] for one in pod["containers"][0]["env"]}
    assert names["NCCL_SOCKET_IFNAME"].startswith("^ibp24s0,ibp64s0,lo,")
    assert pod["containers"][0]["resources"]["limits"]["rdma/roce"] == 8


@pytest.mark.parametrize("fabric", ["infiniband", "infiniband-sriov", "roce"])
def test_the_network_operator_accepts_every_generated_network(fabric: str) -> None:
    found = files(nodes=100, network={"fabric": fabric, "cards": CARDS})
    assert crds.problems(found["kubernetes/fabric.yaml"]) == []


def test_a_cluster_without_a_fabric_requests_none() -> None:
    found = files(nodes=100, machines=["own-box"], network={"fabric": "none"})
    assert "rdma" not in "".join(found.values()).replace("infiniband", "")
    assert not {"kubernetes/fabric.yaml", "values/network-operator.yaml"} & found.keys()
    assert intent.with_defaults("selfmanaged", {"gpus": 0, "machines": ["own-box"]}).fabric == "none"


@pytest.mark.parametrize(("given", "words"), [
    ({"autoscaler": "cluster-autoscaler"}, "autoscaler: kubeadm adds no machines; use installer: cluster-api, or none"),
    ({"installer": "kubespray", "autoscaler": "cluster-autoscaler"}, "autoscaler: kubespray adds no machines"),
    ({"installer": "kubespray", "kubernetes": "1.36"}, "kubernetes: kubespray v2.31.0 has 1.33.11, 1.34.7, 1.35.4"),
    ({"installer": "cluster-api", "autoscaler": "cluster-autoscaler", "kubernetes": "1.37"}, "kubernetes: kcheck knows no chart of the cluster autoscaler for 1.37"),
    ({"network": {"fabric": "roce"}}, "network.cards: list the cards of roce"),
    ({"network": {"fabric": "infiniband-sriov"}}, "network.cards: list the cards of infiniband-sriov"),
    ({"network": {"fabric": "none", "cards": CARDS}}, "network.cards: name the network between the GPUs"),
    ({"gpus": 0, "machines": ["own-box"], "network": {"fabric": "infiniband"}}, "network.fabric: infiniband is for machines with GPUs"),
    ({"network": {"cards": ["eth1", "eth1"]}}, "network.cards: eth1 exists twice"),
])  # fmt: skip
def test_installers_refuse_unsupported_settings(given: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(words)):
        generate(intent.with_defaults("selfmanaged", given))


def test_unsupported_fabric_is_refused() -> None:
    with pytest.raises(
        ConfigError, match="fabric: infiniband is not for eks; its machine types say what is between GPUs"
    ):
        intent.with_defaults("eks", {"network": {"fabric": "infiniband"}})


# --- Cluster API


def test_generated_cluster_api_pools_are_read_back() -> None:
    world = made(nodes=450, installer="cluster-api").result.world
    pools = {known(pool.name): pool for pool in world.inventory.pools}
    assert {name: known(pool.size.max_nodes) for name, pool in pools.items()} == {
        "control plane": 3, "train-system": 8, "train-gpu-a1": 150, "train-gpu-b1": 150, "train-gpu-c1": 150,
    }  # fmt: skip
    training = pools["train-gpu-a1"]
    assert (known(training.machine.instance_types), known(training.machine.gpus)) == (("dgx-h100",), 8)
    assert known(training.scheduling.taints) == ("nvidia.com/gpu=true:NoSchedule",)
    assert (known(training.system.neighbours), known(training.system.hub_mirror)) == (8400, True)
    plane = world.inventory.clusters[0].plane
    assert plane is not None
    assert known(plane.serial_pulls) is False


def test_the_autoscaler_knows_the_nodes_of_empty_pools() -> None:
    found = files(nodes=450, installer="cluster-api", autoscaler="cluster-autoscaler")
    pools = documents(found["machines.yaml"], "MachineDeployment")
    notes = next(one["metadata"]["annotations"] for one in pools if one["metadata"]["name"] == "train-gpu-a1")
    bounds = {key.rpartition("-group-")[2]: value for key, value in notes.items() if "-group-" in key}
    assert bounds == {"min-size": "1", "max-size": "150"}  # one node shows the others' InfiniBand
    own = {key.partition("/")[2]: value for key, value in notes.items() if key.startswith("capacity.")}
    asked = worker(found)["spec"]["containers"][0]["resources"]["requests"]
    assert int(own["cpu"]) > int(asked["cpu"])
    assert int(own["memory"].removesuffix("Gi")) > int(asked["memory"].removesuffix("Gi"))
    assert (own["gpu-type"], own["gpu-count"]) == ("nvidia.com/gpu", "8")
    assert "topology.kubernetes.io/zone=room-a" in own["labels"]
    assert not any("replicas" in one["spec"] for one in pools if "annotations" in one["metadata"])
    (node,) = (
        one["spec"]["template"]["spec"]["joinConfiguration"]["nodeRegistration"]
        for one in documents(found["machines.yaml"], "KubeadmConfigTemplate")
        if one["metadata"]["name"] == "train-training"
    )
    labels = node["kubeletExtraArgs"][0]["value"].replace("{{ ds.meta_data.zone }}", "room-a").split(",")
    assert sorted(labels[1:]) == sorted(own["labels"].split(","))  # the first one is the machine's own
    assert "cluster-api/accelerator=dgx-h100" in labels  # without it, nodes whose GPUs are not there yet count as done
    values = yaml.safe_load(found["values/cluster-autoscaler.yaml"])
    assert values["extraArgs"]["balancing-ignore-label"] == "metal3.io/uuid"
    (rule,) = values["rbac"]["additionalRules"]  # of kinds that pools name, in lower case and plural
    assert rule["resources"] == [f"{pools[1]['spec']['template']['spec']['infrastructureRef']['kind'].lower()}s"]
    plain = files(
        nodes=450,
        installer="cluster-api",
        autoscaler="cluster-autoscaler",
        network={"fabric": "none"},
        machines=["own-box"],
    )
    assert 'min-size: "0"' in plain["machines.yaml"]


def test_machines_are_not_restarted_while_they_are_set_up() -> None:
    """No node is ready without a network plugin, so checks are applied once there is one."""
    found = files(nodes=450, installer="cluster-api")
    assert "MachineHealthCheck" not in found["cluster.yaml"] + found["machines.yaml"]
    checks = documents(found["health-checks.yaml"], "MachineHealthCheck")
    assert [one["metadata"]["name"] for one in checks] == ["train-control", "train-nodes"]
    (template,) = documents(found["health-checks.yaml"], "Metal3RemediationTemplate")
    assert {one["spec"]["remediation"]["templateRef"]["name"] for one in checks} == {template["metadata"]["name"]}
    steps = found["README.md"]
    assert steps.index("a network plugin") < steps.index("-f health-checks.yaml")


def test_only_training_machines_boot_with_the_drivers_of_gpus() -> None:
    found = files(nodes=450, installer="cluster-api")
    images = {
        one["metadata"]["name"]: one["spec"]["template"]["spec"]["image"]["url"].rpartition("/")[2]
        for path in ("cluster.yaml", "machines.yaml")
        for one in documents(found[path], "Metal3MachineTemplate")
    }
    assert images["train-control"] == images["train-system"] == "train-v1.35.0.qcow2"
    assert images["train-training-room-a"] == "train-training-v1.35.0.qcow2"
    plain = files(nodes=450, installer="cluster-api", gpus=0, machines=["own-box"])
    assert "train-training-v" not in "".join(plain.values())


# --- what every installer gets


@pytest.mark.parametrize("installer", ["kubeadm", "cluster-api"])
def test_pods_use_the_dns_cache_address_that_kubelets_get(installer: str) -> None:
    """This holds in every mode of kube-proxy: https://github.com/kubernetes/dns/issues/682."""
    found = files(nodes=1200, installer=installer)
    own = "".join(text for path, text in found.items() if not path.startswith("kubernetes/"))
    assert "clusterDNS:" in own
    config = next(
        one["data"]["Corefile"]
        for one in documents(found["kubernetes/dns.yaml"], "ConfigMap")
        if one["metadata"]["name"] == "node-local-dns"
    )
    assert set(re.findall(r"bind (.*)", config)) == {"169.254.20.10"}
    assert len(set(re.findall(r"forward \. (\d\S+)", config))) == 1  # the address of CoreDNS
    steps = found["README.md"]
    assert steps.index("-f kubernetes/dns.yaml") < steps.index("helm install")
    assert '"nodesPerReplica": 256' in found["kubernetes/dns.yaml"]
    assert not re.search(r"(?m)^\s+replicas: 8\b", own)  # the autoscaler of DNS alone counts them


@pytest.mark.parametrize(("installer", "nodes", "jobs", "places"), [
    ("kubeadm", 100, [], []), ("kubeadm", 1200, ["etcd-events"], ["${1}:2384"]), ("cluster-api", 100, [], []),
    ("cluster-api", 1200, ["etcd-events"], [f"events-{i}.train.dc1.internal:2381" for i in (1, 2, 3)]),
    ("kubespray", 100, ["etcd"], ["${1}:2381"]), ("kubespray", 1200, ["etcd"], ["${1}:2381"]),
])  # fmt: skip
def test_prometheus_scrapes_every_etcd(installer: str, nodes: int, jobs: list[str], places: list[str]) -> None:
    found = files(nodes=nodes, installer=installer)
    values = yaml.safe_load(found["values/monitoring.yaml"])
    more = values["prometheus"]["prometheusSpec"].get("additionalScrapeConfigs", [])
    assert [one["job_name"] for one in more] == jobs
    of_nodes = [rule["replacement"] for one in more for rule in one.get("relabel_configs", [])]
    assert (
        of_nodes + [name for one in more for part in one.get("static_configs", []) for name in part["targets"]]
        == places
    )
    assert values["kubeEtcd"]["enabled"] is (installer != "kubespray")  # the chart looks for pods
    if of_nodes == ["${1}:2384"]:
        assert "--listen-metrics-urls=http://0.0.0.0:2384" in found["etcd-events.yaml"]


def test_a_job_has_time_for_a_checkpoint_when_its_node_restarts() -> None:
    found = files(nodes=100)
    (kubelet,) = documents(found["kubeadm.yaml"], "KubeletConfiguration")
    total, critical = (units.seconds(kubelet[f"shutdownGracePeriod{part}"]) for part in ("", "CriticalPods"))
    assert total - critical >= worker(found)["spec"]["terminationGracePeriodSeconds"]


@pytest.mark.parametrize("installer", ["kubeadm", "kubespray", "cluster-api"])
def test_a_job_outlives_a_node_that_does_not_answer(installer: str) -> None:
    found = files(nodes=100, installer=installer)
    gates = yaml.safe_load(found["values/kueue.yaml"])["controllerManager"]["featureGates"]
    assert gates == [{"name": "FailureRecoveryPolicy", "enabled": True}]
    assert worker(found)["metadata"]["annotations"]["kueue.x-k8s.io/safe-to-forcefully-delete"] == "true"
    assert "- alert: NodeLost\n" in found["kubernetes/monitoring.yaml"]
    assert "node.kubernetes.io/out-of-service" in found["README.md"]


def test_certificates_are_renewed_automatically() -> None:
    text = files(nodes=100, installer="cluster-api")["cluster.yaml"]
    assert crds.problems(text) == []
    (plane,) = documents(text, "KubeadmControlPlane")
    assert plane["spec"]["rollout"]["before"] == {"certificatesExpiryDays": 30}
    group = yaml.safe_load(files(nodes=100, installer="kubespray")["group_vars/k8s_cluster/k8s-cluster.yml"])
    assert group["auto_renew_certificates"] is True
    assert "kubeadm certs renew all" in files(nodes=100)["README.md"]


def test_the_readme_says_that_cpu_quotas_assume_unknown_machines() -> None:
    told = "queues count as many CPUs for each node (`kubernetes/kueue.yaml`)"
    cpus = {"machines": ["box"], "gpus": 0, "network": {"fabric": "none"}}
    assert told in files(nodes=50, **cpus)["README.md"]
    assert told not in files(nodes=50)["README.md"]
    assert told not in files(nodes=50, machines=["box"])["README.md"]


def test_an_upgrade_keeps_what_kubelets_of_training_nodes_have() -> None:
    readme = files(nodes=100)["README.md"]
    assert "`kubeadm upgrade node --patches /etc/kubernetes/patches`" in readme


def test_every_installer_configures_nodes_with_the_same_numbers() -> None:
    """Each number for kernel, kubelet, API server and etcd in kubeadm's files is also in those of other installers."""
    kubeadm, spray, capi = (files(nodes=1200, installer=one) for one in ("kubeadm", "kubespray", "cluster-api"))
    text = {name: "".join(found.values()) for name, found in (("spray", spray), ("capi", capi))}
    kernel = re.findall(r"(?m)^[a-z]\S+ = (\d+)$", kubeadm["sysctl/99-kubernetes-training.conf"])
    flags = re.findall(r'value: "([\d.]+)"', kubeadm["kubeadm.yaml"])
    assert len(kernel) == 8
    assert len(flags) > 6
    for own in text.values():
        assert [number for number in (*kernel[1:], *flags) if not re.search(rf"\b{re.escape(number)}\b", own)] == []
        assert "nftables" in own
        assert "best-effort" in own
        assert "MostAllocated" in own


# --- kubespray


@pytest.mark.parametrize("nodes", [1, 2, 10, 1000, 5000])
def test_every_machine_of_an_inventory_is_in_one_zone(nodes: int) -> None:
    groups: dict[str, list[str]] = {}
    for line in files(nodes=nodes, installer="kubespray")["inventory.ini"].splitlines():
        if found := re.fullmatch(r"\[([\w:]+)\]", line):
            own = groups.setdefault(found[1], [])
        elif line and line[0] not in "#z":
            own += machines(line.split()[0])
    roles = [host for role in ("kube_control_plane", "system", "training") for host in groups[role]]
    of_zones = [host for name, hosts in groups.items() if re.fullmatch(r"zone_\w+", name) for host in hosts]
    assert sorted(of_zones) == sorted(roles)
    assert len(set(roles)) == len(roles)
    assert len(groups["training"]) == nodes
    assert len(groups["kube_control_plane"]) % 2


def machines(hosts: str) -> list[str]:
    """Return the names that a range in an Ansible inventory stands for."""
    ends = re.search(r"\[(\d+):(\d+)\]", hosts)
    return [f"{hosts[: ends.start()]}{i}" for i in range(int(ends[1]), int(ends[2]) + 1)] if ends else [hosts]


def test_generated_kubespray_groups_are_read_back() -> None:
    world = made(nodes=1200, installer="kubespray").result.world
    pools = {known(pool.name): pool for pool in world.inventory.pools}
    assert {name: known(pool.size.max_nodes) for name, pool in pools.items()} == {
        "control plane": 5, "training": 1200, "nodes": 15,
    }  # fmt: skip
    training = pools["training"]
    assert known(training.machine.gpus) == 8
    assert known(training.scheduling.taints) == ("nvidia.com/gpu=true:NoSchedule",)
    assert known(training.system.neighbours) == 20544
    assert known(training.placement.zones) == ("room-a", "room-b", "room-c")


# --- read back


@pytest.mark.parametrize("given", [
    {"nodes": 450}, {"nodes": 450, "installer": "kubespray", "machines": ["own-box"], "network": {"fabric": "none"}},
    {"nodes": 450, "installer": "cluster-api"}, {"nodes": 450, "installer": "cluster-api", "autoscaler": "cluster-autoscaler"},
], ids=str)  # fmt: skip
def test_the_installer_is_read_back_from_generated_code(given: dict[str, Any], write: Write) -> None:
    write({path: text for path, text in files(**given).items() if path != "intent.yaml"})
    found = intent_from_code.read(intent_from_code.Source((".",), settings.load(["."])))
    own = {"installer": "kubeadm", "autoscaler": "none", **given, **given.get("network", {})}
    own = {name.replace("fabric", "network.fabric"): value for name, value in own.items()}
    names = ("nodes", "installer", "autoscaler", *(["network.fabric"] if "network" in given else []))
    assert {name: found.fields[name] for name in names} == {name: own[name] for name in names}
