"""Test that each known mistake, put into a generated cluster, is found, and nothing else.

A mistake has a rule, a cluster, changes, and other rules that it breaks. Rule files list mistakes under `mistakes`;
those here need code to make their changes.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
import yaml

from kcheck.config.config import nearest
from kcheck.engine import rule_files, rules
from kcheck.generate import assembly
from kcheck.generate.intent import with_defaults
from tests.generate.additions import (
    GPU,
    PRIORITY,
    QUEUED,
    SHM,
    STAY,
    VOLUMES,
    agent,
    budget,
    cron_job,
    deployment,
    job,
    mpi_job,
    pod,
    ray_job,
    services,
    text,
    tf_job,
    thing,
    worker,
)
from tests.generate.changes import Change, Files, add, after, documents, drop, every, from_table, swap, without

if TYPE_CHECKING:
    from collections.abc import Iterator


class Mistake(NamedTuple):
    """A mistake put into a generated cluster, and what kcheck must say about it.

    `rule` finds it, `also` lists other rules that do, `opens` says that a check becomes undecided; `number` is its
    number in the rule file.
    """

    rule: str
    base: str
    changes: tuple[Change, ...]
    also: tuple[str, ...]
    opens: bool
    number: int | None = None


def mistake(rule: str, base: str, *changes: Change, also: tuple[str, ...] = (), opens: bool = False) -> Mistake:
    return Mistake(rule, base, changes, also, opens)


QUOTA = "account-quota-too-low"
"""A rule that also fires when pools grow beyond the quotas in the generated settings."""
BASES: dict[str, dict[str, Any]] = {
    "eks": {"nodes": 1000, "spot": {"share": 30}, "machines": ["p5.48xlarge", "p5e.48xlarge"]},
    "eks karpenter": {"nodes": 450, "autoscaler": "karpenter", "scheduler": "volcano"},
    "eks spot": {"nodes": 100, "spot": {"share": 100}, "scheduler": "none"},
    "gke": {"nodes": 1000, "spot": {"share": 30}},
    "ack": {"nodes": 1950, "spot": {"share": 30}, "machines": ["ecs.gn8v-8x.48xlarge", "ecs.ebmgn8v.48xlarge"]},
    "ack flannel": {"nodes": 450, "network": {"mode": "flannel"}, "scheduler": "none"},
    "aks": {"nodes": 1000, "spot": {"share": 30}},
    "aks without InfiniBand": {
        "nodes": 1000,
        "spot": {"share": 30},
        "machines": ["Standard_NC80adis_H100_v5"],
        "job": {"nodes": 160},
    },
    "aks small": {"nodes": 100, "scheduler": "none"},
    "selfmanaged": {"nodes": 1000},
    "selfmanaged kubespray": {"nodes": 1200, "installer": "kubespray"},
    "selfmanaged cluster-api": {"nodes": 1200, "installer": "cluster-api"},
}

JOB, TFVARS, POOLS = "jobs/sample.yaml", "terraform.tfvars", "node_pools.tf"
SCALER, KUEUE_VALUES = "values/cluster-autoscaler.yaml", "values/kueue.yaml"
GPU_PLUGIN, KUEUE, TEAMS, PRIORITIES = (f"kubernetes/{name}.yaml" for name in ("gpu", "kueue", "teams", "priorities"))
ADDED = "kubernetes/added.yaml"
SPOT = {"training/pool": "training", "training/market": "spot"}
APART = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [
    {"labelSelector": {"matchLabels": {"app": "added"}}, "topologyKey": "kubernetes.io/hostname"}]}}  # fmt: skip
RIGHTS = (
    thing("rbac.authorization.k8s.io/v1", "ClusterRole", "agent", rules=[{"apiGroups": [""], "resources": ["pods"], "verbs": ["list", "watch"]}]),
    thing("rbac.authorization.k8s.io/v1", "ClusterRoleBinding", "agent",
          roleRef={"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "agent"},
          subjects=[{"kind": "ServiceAccount", "name": "agent", "namespace": "monitoring"}]),
)  # fmt: skip


def prometheus(**spec: Any) -> Change:
    """Return a change that adds a Prometheus which scrapes the cluster."""
    return add(
        ADDED, text(thing("monitoring.coreos.com/v1", "Prometheus", "k8s", spec={"serviceMonitorSelector": {}, **spec}))
    )


def pools(**sizes: int) -> Change:
    """Return a change that replaces the on-demand pools on EKS by one per zone, each with a number of nodes."""
    lines = "".join(f'  gpu-{zone} = {{ zones = ["{zone}"], nodes = {nodes} }}\n' for zone, nodes in sizes.items())
    return swap(TFVARS, r"(training_pools = \{\n)(?:.*spot = false.*\n|.*zones = \[\"\w\"\].*\n)+", r"\g<1>" + lines)


def priority(name: str, value: int, **more: Any) -> str:
    return text(thing("scheduling.k8s.io/v1", "PriorityClass", name, value=value, **more))


CLAIM = text(
    thing("resource.k8s.io/v1", "ResourceClaimTemplate", "gpus", spec={"spec": {"devices": {"requests": [
        {"name": "gpus", "exactly": {"deviceClassName": "gpu.nvidia.com", "count": 8}}]}}}),
    thing("resource.k8s.io/v1", "ResourceClaim", "shared", spec={"devices": {"requests": [
        {"name": "gpus", "exactly": {"deviceClassName": "gpu.nvidia.com", "count": 8}}]}}),
)  # fmt: skip


def claiming(*, pods: int = 1, by: str = "resourceClaimTemplateName", used: bool = True) -> str:
    """Return a job whose pods claim all GPUs of a node."""
    found = worker(0, resourceClaims=[{"name": "gpus", by: "gpus" if by.endswith("TemplateName") else "shared"}])
    if used:
        found["containers"][0]["resources"]["claims"] = [{"name": "gpus"}]
    return CLAIM + "---\n" + job(pods, found)


# --- right additions: nothing may be said about them

ADDITIONS = {
    "service": ("eks", add(ADDED, deployment(pod()))),
    "job": ("eks", add(ADDED, job())),
    "MPIJob": ("eks", add(ADDED, mpi_job())),
    "RayJob": ("eks", add(ADDED, ray_job())),
    "agent": ("eks", add(ADDED, agent(pod()))),
}

# --- mistakes

EKS = [
    mistake(
        "auto-mode-node-expiry",
        "eks",
        after(
            "cluster.tf",
            r"service_ipv4_cidr =",
            'compute_config = { enabled = true, node_pools = ["general-purpose"] }',
        ),
    ),
    mistake("autoscaler-cap-below-target", "eks", swap(SCALER, r"max-nodes-total: \d+", "max-nodes-total: 500")),
    mistake("autoscaler-cap-below-target", "eks", swap(SCALER, r"cores-total: \S+", "cores-total: 0:100000")),
    mistake("autoscaler-missing", "eks", without("autoscaler.tf", SCALER)),
    mistake("autoscaler-starved", "eks", swap(SCALER, r'cpu: "\d+"', "cpu: 100m")),
    mistake("autoscaler-version-skew", "eks", swap("autoscaler.tf", r'(version +=) "9\.\S+"', r'\1 "9.46.6"')),
    mistake("delay-after-failure", "eks", drop(SCALER, "scale-down-delay-after-failure")),
    mistake("late-machine-awaited", "eks", drop(SCALER, "max-node-provision-time")),
    mistake(
        "deletion-limited-by-qps",
        "eks",
        swap(SCALER, r"kube-client-(qps|burst): \d+", r"kube-client-\1: 2", times=2),
    ),
    mistake("grace-period-cut", "eks", add(ADDED, deployment(pod(terminationGracePeriodSeconds=3600)))),
    mistake("idle-nodes-kept-long", "eks", drop(SCALER, "scale-down-unneeded-time")),
    mistake(
        "local-storage-pins-nodes",
        "eks",
        drop(SCALER, "skip-nodes-with-local-storage"),
        add(ADDED, deployment(pod(volumes=[{"name": "scratch", "emptyDir": {}}]))),
    ),
    mistake("random-expander", "eks", swap(SCALER, "expander: least-waste", "expander: random")),
    mistake("removed-autoscaler-flag", "eks", after(SCALER, "expander: ", "max-empty-bulk-delete: 50")),
    mistake("scale-down-disabled", "eks", after(SCALER, "expander: ", 'scale-down-enabled: "false"')),
    mistake("scale-down-frozen-long", "eks", swap(SCALER, r"(scale-down-delay-after-add): \S+", r"\1: 1h")),
    mistake("scale-up-in-slices", "eks", drop(SCALER, "new-pod-scale-up-delay")),
    mistake("scale-up-slice-small", "eks", after(SCALER, "expander: ", "max-nodes-per-scaleup: 10")),
    mistake("similar-pools-not-balanced", "eks", drop(SCALER, "balance-similar-node-groups")),
    mistake("slow-node-deletion", "eks", drop(SCALER, "max-scale-down-parallelism")),
    mistake(
        "training-pod-evictable",
        "eks",
        drop(JOB, STAY),
        swap(JOB, "nvidia.com/gpu: 8", "nvidia.com/gpu: 2"),
        swap(JOB, r"nproc-per-node=\d+", "nproc-per-node=2"),
        also=("job-does-not-fill-node",),
    ),
    mistake("unready-tolerance-low", "eks", drop(SCALER, "total-unready", times=2)),
    # control plane
    mistake("control-plane-not-provisioned", "eks", drop("cluster.tf", "control_plane_scaling_config")),
    mistake(
        "kubernetes-version-behind",
        "eks",
        swap(TFVARS, r'kubernetes_version = "\S+"', 'kubernetes_version = "1.27"'),
        also=("autoscaler-version-skew", "unsupported-kubernetes"),
    ),
    mistake("retired-node-image", "eks", swap(POOLS, "AL2023_x86_64_NVIDIA", "AL2_x86_64_GPU")),
    mistake("retired-node-image", "eks", swap(POOLS, "AL2023_x86_64_STANDARD", "AL2_x86_64")),
    # files
    # GPUs
    mistake(
        "gpu-not-shared",
        "eks",
        drop(GPU_PLUGIN, "  shared: "),
        add(ADDED, deployment(pod(1), 12)),
        also=("gpus-held-day-and-night",),
    ),
    mistake("gpu-node-without-request", "eks", add(ADDED, job(1, worker(0)))),
    mistake("claimed-gpus-unused", "eks", add(ADDED, claiming(used=False)), also=("queue-ignores-gpus",)),
    mistake(
        "shared-resource-claim",
        "eks",
        add(ADDED, claiming(pods=4, by="resourceClaimName")),
        also=("queue-ignores-gpus",),
        opens=True,
    ),
    mistake(
        "autoscaler-ignores-claims",
        "eks",
        add(ADDED, claiming()),
        after(SCALER, "expander: ", 'enable-dynamic-resource-allocation: "false"'),
        also=("queue-ignores-gpus",),
    ),
    mistake(
        "claims-not-served",
        "eks",
        add(ADDED, claiming()),
        swap(TFVARS, r'(kubernetes_version += )"\S+"', r'\1"1.33"'),
        also=("autoscaler-version-skew", "extended-support-price", "queue-ignores-gpus"),
    ),
    mistake(
        "native-gang-ignored",
        "eks spot",
        add(ADDED, job(4, worker(8, schedulingGroup={"podGroupName": "added"}), labels={"training/team": "added"})),
    ),
    mistake("gpu-sharing-conflict", "eks", swap(GPU_PLUGIN, r"replicas: \d+", "replicas: 1")),
    mistake(
        "mig-slices-not-offered",
        "eks",
        add(ADDED, deployment(pod(1)).replace(GPU + ": 1", "nvidia.com/mig-1g.10gb: 1")),
    ),
    mistake(
        "training-on-gpu-slices",
        "eks",
        after(POOLS, '"training/pool" ', '"nvidia.com/device-plugin.config" = "shared"'),
    ),
    mistake("training-on-gpu-slices", "eks", drop(GPU_PLUGIN, "^  whole: ")),
    # images
    mistake(
        "docker-hub-image", "eks", swap("kubernetes/prepull.yaml", r"image: .*train:.*", "image: pytorch/pytorch:2.9.0")
    ),
    mistake("image-pulled-every-start", "eks", swap(JOB, "imagePullPolicy: IfNotPresent", "imagePullPolicy: Always")),
    mistake("moving-image-tag", "eks", swap(JOB, r"(image: .*/train):\S+", r"\1:latest")),
    mistake("retired-registry", "eks", swap("kubernetes/prepull.yaml", "registry.k8s.io", "k8s.gcr.io")),
    # jobs
    mistake("cluster-queue-missing", "eks", swap(KUEUE, "clusterQueue: research", "clusterQueue: reserch")),
    mistake(
        "deprecated-kueue-api",
        "eks",
        every(KUEUE, r"kueue\.x-k8s\.io/v1beta2", "kueue.x-k8s.io/v1beta1"),
        also=("unknown-field",),
    ),
    mistake("retired-kueue-api", "eks", every(KUEUE, r"kueue\.x-k8s\.io/v1beta2", "kueue.x-k8s.io/v1alpha1")),
    mistake("gpus-without-process", "eks", swap(JOB, r"nproc-per-node=\d+", "nproc-per-node=4")),
    mistake("slots-do-not-match-gpus", "eks", swap(JOB, r"nproc-per-node=\d+", "nproc-per-node=16")),
    mistake("idle-workers-after-launcher", "eks", add(ADDED, mpi_job({"cleanPodPolicy": "None"}))),
    mistake("parameter-servers", "eks", add(ADDED, tf_job(1)), also=("deprecated-kueue-integration",)),
    mistake("deprecated-kueue-integration", "eks", add(ADDED, tf_job(2))),
    mistake("launcher-starts-too-early", "eks", add(ADDED, mpi_job(launcherCreationPolicy="AtStartup"))),
    mistake("cron-jobs-start-together", "eks", add(ADDED, cron_job("a", 40) + "---\n" + cron_job("b", 40))),
    mistake("retired-mpijob-api", "eks", add(ADDED, mpi_job().replace("v2beta1", "v1alpha2"))),
    mistake("job-never-cleaned", "eks", drop(JOB, "ttlSecondsAfterFinished")),
    mistake("job-without-deadline", "eks", drop(JOB, "activeDeadlineSeconds")),
    mistake("missing-shared-memory", "eks", drop(JOB, "name: shm", times=2)),
    mistake("priorities-do-not-preempt", "eks", drop(KUEUE, " preemption:", times=2)),
    mistake("queue-ignores-gpus", "eks", every(KUEUE, GPU, "memory"), also=("job-exceeds-queue",)),
    mistake(
        "queue-label-missing",
        "eks",
        drop(JOB, "kueue.x-k8s.io/queue-name"),
        swap(KUEUE, "name: default", "name: main", times=2),
        swap(KUEUE_VALUES, "manageJobsWithoutQueueName: true", "manageJobsWithoutQueueName: false"),
        also=("job-across-fabrics",),
    ),
    mistake("queue-matches-nothing", "eks", drop(KUEUE, "namespaceSelector:", times=2)),
    mistake("queue-missing", "eks", swap(JOB, "queue-name: default", "queue-name: gpu")),
    mistake("ray-cluster-outlives-job", "eks", add(ADDED, ray_job(shutdownAfterJobFinishes=False))),
    mistake("ready-timeout-short", "eks", swap(KUEUE_VALUES, r"timeout: \d+m", "timeout: 5m")),
    mistake("restart-policy-never-resumes", "eks", drop(JOB, "failurePolicy:")),
    mistake("retries-run-out", "eks", add(ADDED, job(64).replace("backoffLimit: 20", "suspend: false"))),
    mistake("two-gang-schedulers", "eks", after(JOB, "restartPolicy: Never", "schedulerName: volcano")),
    # network
    mistake("efa-across-zones", "eks", swap(POOLS, "one if !pool.spot", "one")),
    mistake(
        "prefix-delegation-off",
        "eks",
        drop("cluster.tf", "(MINIMUM|WARM)_IP_TARGET", times=2),
        also=("subnet-too-small",),
    ),
    mistake(
        "prefix-subnet-fragmented",
        "eks",
        after("cluster.tf", "env = {", '  ENABLE_PREFIX_DELEGATION = "true"'),
        opens=True,
    ),
    mistake(
        "service-range-too-small", "eks", swap(TFVARS, r"(service_cidr = .*)/\d+", r"\1/24"), add(ADDED, services(300))
    ),
    mistake(
        "single-nat-gateway", "eks", swap("network.tf", "one_nat_gateway_per_az = true", "single_nat_gateway = true")
    ),
    mistake("subnet-too-small", "eks", swap(TFVARS, r'(zone = "us-east-2a", private = "[\d.]+)/\d+', r"\1/24")),
    # node pools
    mistake("gpu-image-disk-small", "eks", drop(POOLS, "cloudinit_pre_nodeadm"), also=("instance-store-unused",)),
    mistake("gpu-pool-never-empty", "eks", every(POOLS, r"(min|desired)_size( +)= 0", r"\1_size\2= 1")),
    mistake("gpu-pool-untainted", "eks", drop(POOLS, "taints = ")),
    mistake("gpu-without-device-plugin", "eks", without(GPU_PLUGIN)),
    mistake("instance-store-unused", "eks", drop(POOLS, "cloudinit_pre_nodeadm"), also=("gpu-image-disk-small",)),
    mistake("pool-below-job", "eks", add(ADDED, job(1200)), also=("job-exceeds-queue",)),
    mistake("pool-over-quota", "eks", pools(a=500, b=200)),
    mistake("quota-needed", "eks", drop("kcheck.yaml", "eks.quota.p:")),
    mistake(QUOTA, "eks", swap("kcheck.yaml", r"(eks.quota.p:\n +value:) \d+", r"\1 960")),
    mistake(
        "slow-upgrades",
        "eks",
        swap(POOLS, r"max_unavailable_percentage = \d+", "max_unavailable = 1"),
        pools(a=650, b=50),
        also=("pool-over-quota",),
    ),
    mistake(
        "too-many-pools",
        "eks spot",
        swap(TFVARS, r"(  )(gpu-spot1) +(=.*nodes =) \d+(.*)", "".join(rf"\1\2-{i} \3 5\4\n" for i in range(30))),
        also=(QUOTA,),
    ),
    # quotas
    mistake("fractional-gpu", "eks", add(ADDED, deployment(pod(1)).replace(GPU + ": 1", GPU + ": 0.5")), opens=True),
    mistake("gpu-quota-never-counts", "eks", every(TEAMS, "requests.nvidia.com", "limits.nvidia.com")),
    mistake(
        "gpu-request-not-equal-limit",
        "eks",
        swap(JOB, r"cpu: (\d+)", r"cpu: \1\n                      nvidia.com/gpu: 4"),
    ),
    mistake("limit-range-missing", "eks", documents(TEAMS, "kind: LimitRange", times=2)),
    mistake(
        "missing-requests",
        "eks",
        documents(TEAMS, "kind: LimitRange", times=2),
        add(ADDED, job(100, worker(0, own={"resources": {}}))),
        also=("limit-range-missing", "gpu-node-without-request"),
    ),
    mistake(
        "namespace-without-quota",
        "eks",
        add(
            ADDED,
            text(thing("v1", "Namespace", "speech"))
            + "---\n"
            + job(labels={"team": "speech"}).replace("research", "speech"),
        ),
    ),
    mistake("quota-without-gpus", "eks", drop(TEAMS, "requests.nvidia.com/gpu", times=2)),
    mistake(
        "highest-tier-not-guaranteed",
        "eks",
        add(ADDED, job(4, worker(1, priorityClassName="high")) + "---\n" + job(4, worker(1)).replace("added", "more")),
    ),
    mistake("tier-not-visible", "eks", drop(JOB, "kueue.x-k8s.io/priority-class"), drop(JOB, "training/team")),
    # scheduling
    mistake("default-priority-missing", "eks", swap(PRIORITIES, "globalDefault: true", "globalDefault: false")),
    mistake("two-default-priorities", "eks", add(PRIORITIES, priority("mine", 5, globalDefault=True))),
    mistake("dns-not-scaled", "eks", drop("cluster.tf", "autoScaling ="), without("kubernetes/dns.yaml")),
    mistake("host-network-dns", "eks", after(JOB, "restartPolicy: Never", "hostNetwork: true")),
    mistake(
        "host-network-port-clash",
        "eks",
        add(
            ADDED,
            job(
                16,
                worker(
                    4, hostNetwork=True, dnsPolicy="ClusterFirstWithHostNet", own={"ports": [{"containerPort": 29500}]}
                ),
            ),
        ),
    ),
    mistake(
        "host-network-without-need",
        "eks",
        add(ADDED, job(16, worker(4, fast=False, hostNetwork=True, dnsPolicy="ClusterFirstWithHostNet"))),
    ),
    mistake("hostname-anti-affinity-at-scale", "eks", add(ADDED, job(128, worker(affinity=APART)))),
    mistake(
        "job-does-not-fill-node",
        "eks",
        swap(JOB, "nvidia.com/gpu: 8", "nvidia.com/gpu: 5"),
        swap(JOB, r"nproc-per-node=\d+", "nproc-per-node=5"),
    ),
    mistake(
        "job-without-priority",
        "eks",
        drop(JOB, "kueue.x-k8s.io/priority-class"),
        swap(PRIORITIES, "globalDefault: true", "globalDefault: false"),
        also=("default-priority-missing",),
    ),
    mistake("per-node-api-watchers", "eks", add(ADDED, agent(pod(serviceAccountName="agent"), *RIGHTS))),
    mistake("preempted-without-checkpoint", "eks", drop(JOB, "name: checkpoints", times=2), drop(JOB, "--checkpoints")),
    mistake("preemption-never", "eks", add(PRIORITIES, priority("polite", 500, preemptionPolicy="Never"))),
    mistake(
        "priority-below-autoscaler-cutoff",
        "eks",
        add(PRIORITIES, priority("idle", -100)),
        after(JOB, "restartPolicy: Never", "priorityClassName: idle"),
    ),
    mistake("unknown-priority-class", "eks", after(JOB, "restartPolicy: Never", "priorityClassName: urgent")),
    # monitoring
    mistake("gpu-metrics-missing", "eks", without("kubernetes/gpu-metrics.yaml"), prometheus(shards=8)),
    mistake("prometheus-not-sharded", "eks", prometheus(replicas=2)),
    mistake("prometheus-too-small", "eks", prometheus(resources={"limits": {"memory": "8Gi"}})),
    # spot
    mistake(
        "spot-single-type",
        "eks",
        after(POOLS, "AL2023_x86_64_STANDARD", 'capacity_type = "SPOT"'),
        also=("quota-needed", "grace-period-cut", "system-pool-on-spot"),
    ),
    mistake(
        "spot-long-job",
        "eks",
        add(
            ADDED,
            job(
                4,
                worker(nodeSelector=SPOT, volumes=VOLUMES[:1], own=SHM, priorityClassName="high"),
                {**QUEUED, PRIORITY: "high"},
            ),
        ),
    ),
    mistake(
        "spot-without-toleration",
        "eks",
        swap(
            POOLS,
            r"taints = \{",
            'taints = pool.spot ? { spot = { key = "spot", value = "true", effect = "NO_SCHEDULE" } } : {',
        ),
        add(ADDED, job(4, worker(nodeSelector={"eks.amazonaws.com/capacityType": "SPOT"}))),
        also=("daemon-set-misses-taint",),
    ),
    # jobs that their pools, queues and disks do not take
    mistake("pod-matches-no-pool", "eks", add(ADDED, job(4, worker(nodeSelector={"training/pool": "vision"})))),
    mistake("job-exceeds-queue", "eks", drop(KUEUE, "cohortName", times=2), add(ADDED, job(700))),
    mistake("job-waits-for-lenders", "eks", add(ADDED, job(290))),
    mistake("pool-ends-below-target", "eks", swap(TFVARS, r"(gpu-a1 +=.*nodes = )\d+", r"\g<1>100"), also=(QUOTA,)),
    mistake("budget-allows-no-eviction", "eks", add(ADDED, budget())),
    mistake("budget-keeps-every-pod", "eks", add(ADDED, f"{deployment(pod(0))}---\n{budget(kept=2)}")),
    mistake("budget-selects-nothing", "eks", add(ADDED, f"{deployment(pod(0))}---\n{budget('adde', allowed=1)}")),
    mistake(
        "packages-installed-at-start",
        "eks",
        add(ADDED, job(4, worker(own={"command": ["sh", "-c", "pip install flash-attn && python train.py"]}))),
    ),
    mistake(
        "exit-code-lost",
        "eks",
        add(ADDED, job(4, worker(own={"command": ["bash", "-c", "torchrun train.py 2>&1 | tee train.log"]}))),
    ),
    mistake(
        "retries-below-faults",
        "eks",
        swap(JOB, r"maxRestarts: \d+", "maxRestarts: 1"),
    ),
    mistake(
        "driver-upgrade-drains-jobs",
        "eks",
        add(
            ADDED,
            text(
                thing(
                    "nvidia.com/v1",
                    "ClusterPolicy",
                    "gpus",
                    {"driver": {"upgradePolicy": {"autoUpgrade": True, "drain": {"enable": True}}}},
                )
            ),
        ),
    ),
    mistake("gpus-held-day-and-night", "eks", add(ADDED, deployment(pod(8), replicas=4))),
    mistake("gpus-held-without-work", "eks", add(ADDED, deployment(pod(8, own={"command": ["sleep", "infinity"]})))),
    mistake(
        "daemon-set-misses-taint",
        "eks",
        swap(
            POOLS,
            r"taints = \{",
            'taints = pool.spot ? { spot = { key = "spot", value = "true", effect = "NO_SCHEDULE" } } : {',
        ),
    ),
    mistake(
        "named-object-missing",
        "eks",
        add(
            ADDED,
            job(
                4,
                worker(
                    volumes=[VOLUMES[0], {"name": "checkpoints", "persistentVolumeClaim": {"claimName": "checkpoint"}}]
                ),
            ),
        ),
    ),
    mistake(
        "volume-on-one-node",
        "eks",
        add(
            ADDED,
            text(
                thing(
                    "v1", "PersistentVolumeClaim", "disk", {"accessModes": ["ReadWriteOnce"], "storageClassName": "gp3"}
                )
            )
            + "---\n"
            + job(
                4, worker(volumes=[VOLUMES[0], {"name": "checkpoints", "persistentVolumeClaim": {"claimName": "disk"}}])
            ),
        ),
    ),
]

KARPENTER, VOLCANO, POOL = "kubernetes/karpenter.yaml", "values/volcano.yaml", "kubernetes/volcano.yaml"
ACTIONS = r'actions: "[\w, ]+"'
EKS_KARPENTER = [
    mistake(
        "karpenter-disrupts-training",
        "eks karpenter",
        every(KARPENTER, "consolidationPolicy: WhenEmpty", "consolidationPolicy: WhenEmptyOrUnderutilized"),
    ),
    mistake(
        "karpenter-keeps-idle-nodes",
        "eks karpenter",
        every(KARPENTER, r"consolidateAfter: \S+", "consolidateAfter: 4h"),
    ),
    mistake("karpenter-expires-nodes", "eks karpenter", every(KARPENTER, "expireAfter: Never", "expireAfter: 72h")),
    mistake(
        "karpenter-images-at-any-time",
        "eks karpenter",
        every(KARPENTER, r"al2023@v\d+", "al2023@latest"),
        every(KARPENTER, r"reasons: \[Drifted\]", "reasons: [Empty]"),
        drop(JOB, "karpenter.sh/do-not-disrupt"),
        also=("training-pod-evictable",),
    ),
    mistake("karpenter-limits-below-target", "eks karpenter", every(KARPENTER, r"nodes: 150", "nodes: 50")),
    mistake("karpenter-no-limits", "eks karpenter", drop(KARPENTER, "^  limits:", times=3), opens=True),
    mistake(
        "karpenter-retired-api",
        "eks karpenter",
        every(KARPENTER, "apiVersion: karpenter.sh/v1", "apiVersion: karpenter.sh/v1beta1"),
        also=("karpenter-expires-nodes",),
    ),
    mistake("training-pod-evictable", "eks karpenter", drop(JOB, "karpenter.sh/do-not-disrupt")),
    mistake(
        "efa-across-zones",
        "eks karpenter",
        every(KARPENTER, r"values: \[us-east-2a\]", "values: [us-east-2a, us-east-2b]"),
    ),
    mistake(
        "efa-interfaces-take-addresses",
        "eks karpenter",
        every(KARPENTER, "efa-only", "efa"),
        also=("subnet-too-small",),
    ),
    mistake("gang-smaller-than-job", "eks karpenter", swap(JOB, r"minAvailable: \d+", "minAvailable: 32")),
    mistake("volcano-does-not-pack", "eks karpenter", drop(VOLCANO, "name: binpack")),
    mistake("volcano-starts-jobs-in-parts", "eks karpenter", drop(VOLCANO, "name: gang")),
    mistake("volcano-shares-nothing", "eks karpenter", drop(VOLCANO, "name: (proportion|capacity)")),
    mistake("volcano-does-not-preempt", "eks karpenter", swap(VOLCANO, ACTIONS, 'actions: "allocate, backfill"')),
    mistake("volcano-queue-weights", "eks karpenter", drop(POOL, "weight: 60")),
    mistake(
        "volcano-scale-from-zero",
        "eks karpenter",
        swap(VOLCANO, ACTIONS, 'actions: "enqueue, allocate, preempt, reclaim, backfill"'),
        swap(VOLCANO, r"( +)- name: drf", r"\1- name: overcommit\n\1- name: drf"),
    ),
    mistake(
        "retired-volcano-gpu-sharing",
        "eks karpenter",
        swap(
            VOLCANO,
            r"( +)- name: drf",
            r"\1- name: deviceshare\n\1  arguments:\n\1    deviceshare.GPUSharingEnable: true\n\1- name: drf",
        ),
    ),
    mistake("queue-missing", "eks karpenter", swap(JOB, "queue: research", "queue: reserch")),
    mistake(
        "preempted-without-checkpoint",
        "eks karpenter",
        drop(JOB, "name: checkpoints", times=2),
        drop(JOB, "--checkpoints"),
    ),
    # without a queue, and on spot only
    mistake(
        "spot-single-zone",
        "eks spot",
        every(TFVARS, r'zones = \["a", "b", "c"\]', 'zones = ["a"]'),
        also=("fabric-not-enabled",),
    ),
    mistake("gang-missing", "eks spot", swap(JOB, r"--nnodes=\d+:(\d+)", r"--nnodes=\1")),
    mistake(
        "grace-period-cut",
        "eks spot",
        swap(JOB, r"terminationGracePeriodSeconds: \d+", "terminationGracePeriodSeconds: 600"),
    ),
    mistake("retries-run-out", "eks spot", drop(JOB, "podFailurePolicy:"), drop(JOB, "backoffLimitPerIndex")),
    mistake(
        "spot-long-job",
        "eks spot",
        drop(JOB, "name: checkpoints", times=2),
        drop(JOB, "--checkpoints"),
        swap(JOB, "priorityClassName: .*", "priorityClassName: high"),
    ),
    mistake(
        "restart-policy-never-resumes",
        "eks spot",
        swap(JOB, "backoffLimitPerIndex: .*", "backoffLimit: 0"),
        drop(JOB, "podFailurePolicy:"),
    ),
    mistake("pool-capped-by-default", "eks spot", drop(POOLS, r"max_size     = pool\.nodes")),
]
CLUSTER = "cluster.tf"
GROWN = ("subnet-too-small", "pod-range-too-small", "ready-timeout-short")
"""Rules that also fire when a cluster grows to three times its size."""

GKE = [
    mistake(
        "auto-provisioning-limits-low",
        "gke",
        swap(
            CLUSTER,
            r"(cluster_autoscaling \{\n +enabled +=) false",
            r'\1 true\n    resource_limits {\n      resource_type = "cpu"\n      maximum = 10000\n    }',
        ),
    ),
    mistake(
        "gpu-metrics-off",
        "gke",
        after(CLUSTER, "networking_mode", 'monitoring_config { enable_components = ["SYSTEM_COMPONENTS"] }'),
    ),
    mistake("balanced-autoscaling-profile", "gke", swap(CLUSTER, '"OPTIMIZE_UTILIZATION"', '"BALANCED"')),
    mistake(
        "zonal-control-plane",
        "gke",
        every(CLUSTER, r"location = var\.region", "location = var.zones[0]"),
        every(POOLS, r"location = var\.region", "location = var.zones[0]"),
    ),
    mistake(
        "routes-based-cluster", "gke", swap(CLUSTER, '"VPC_NATIVE"', '"ROUTES"'), drop(CLUSTER, "ip_allocation_policy")
    ),
    mistake("image-streaming-off", "gke", drop(POOLS, "gcfs_config", times=2)),
    mistake(
        "max-pods-wastes-addresses",
        "gke",
        swap(POOLS, r"max_pods_per_node  = 32", "max_pods_per_node  = 110"),
        also=("pod-range-too-small",),
    ),
    mistake("pod-range-too-small", "gke", swap(TFVARS, r'(pod_cidr += "[\d.]+)/\d+', r"\1/18")),
    mistake("subnet-too-small", "gke", swap(TFVARS, r"(node_cidr +=.*)/\d+", r"\1/24")),
    mistake("snat-ports-exhausted", "gke", swap(TFVARS, r"nat_addresses = \d+", "nat_addresses = 1")),
    mistake("counts-are-per-zone", "gke", every(POOLS, r"total_(min|max)_node_count", r"\1_node_count"), also=(QUOTA,)),
    mistake("single-large-pool", "gke", every(TFVARS, r"nodes = 2\d\d", "nodes = 400"), also=(QUOTA,)),
    mistake("slow-boot-disk", "gke", swap(TFVARS, '"pd-balanced"', '"pd-standard"'), also=("quota-needed",)),
    mistake("gpu-pool-never-empty", "gke", swap(POOLS, "total_min_node_count = 0", "total_min_node_count = 4")),
    mistake("quota-needed", "gke", drop("kcheck.yaml", "gke.quota.h100_gpus:")),
    mistake("spot-location-policy", "gke", swap(POOLS, '"ANY"', '"BALANCED"')),
    mistake("fabric-not-enabled", "gke", drop(POOLS, r"network_config \{")),
    mistake("fabric-not-requested", "gke", drop(JOB, r"networking\.gke\.io/", times=2)),
    mistake(
        "fabric-switched-off",
        "gke",
        swap(JOB, r'name: NCCL_SOCKET_IFNAME, value: "eth0"', "name: NCCL_NET, value: Socket"),
    ),
    mistake(
        "docker-hub-image", "gke", swap("kubernetes/prepull.yaml", r"image: .*train:.*", "image: pytorch/pytorch:2.9.0")
    ),
    mistake(
        "pool-over-limit",
        "gke",
        every(TFVARS, r"nodes = 2\d\d", "nodes = 1500"),
        swap("kcheck.yaml", r"nodes: \d+", "nodes: 4800"),
        also=(*GROWN[:2], "slow-upgrades", "snat-ports-exhausted", QUOTA),
    ),
]
ACK = [
    mistake(
        "goatscaler-spot-at-full-price",
        "ack",
        swap(POOLS, "compensate_with_on_demand = false", "compensate_with_on_demand = each.value.spot"),
    ),
    mistake("autoscaler-too-large-for-engine", "ack", swap(CLUSTER, '"goatscaler"', '"cluster-autoscaler"')),
    mistake(
        "idle-nodes-kept-long", "ack", swap(CLUSTER, r'cool_down_duration += "\d+m"', 'cool_down_duration = "30m"')
    ),
    mistake(
        "scale-down-frozen-long", "ack", swap(CLUSTER, r'unneeded_duration += "\d+m"', 'unneeded_duration = "30m"')
    ),
    mistake("scale-down-disabled", "ack", swap(CLUSTER, r"scale_down_enabled +=.*", "scale_down_enabled = false")),
    mistake("control-plane-not-provisioned", "ack", swap(CLUSTER, r'"ack\.pro\.xlarge"', '"ack.pro.small"')),
    mistake("nodes-over-cluster-limit", "ack", swap(CLUSTER, r'"ack\.pro\.xlarge"', '"ack.standard"')),
    mistake(
        "security-group-too-small",
        "ack",
        swap(CLUSTER, "is_enterprise_security_group = true", "is_enterprise_security_group = false"),
        swap("kcheck.yaml", r"nodes: \d+", "nodes: 3100"),
        also=(QUOTA, "pool-ends-below-target"),
        opens=True,
    ),
    mistake("pod-subnet-too-small", "ack", every(TFVARS, r'(pods = "[\d.]+)/\d+', r"\1/25")),
    mistake("subnet-too-small", "ack", every(TFVARS, r'(nodes = "[\d.]+)/\d+', r"\1/26")),
    mistake("pod-range-too-small", "ack flannel", swap(TFVARS, r'(pod_cidr += "[\d.]+)/\d+', r"\1/19")),
    mistake("flannel-route-limit", "ack flannel", drop("kcheck.yaml", "ack.flannel.nodes")),
    mistake("gpu-pool-untainted", "ack", drop(POOLS, "taints ")),
    mistake("gpu-without-toleration", "ack", add(ADDED, deployment(pod(1, tolerations=[])))),
    mistake("gpu-pool-never-empty", "ack", swap(POOLS, "min_size = 0", "min_size = 4")),
    mistake("deployment-set-limit", "ack", after(POOLS, "node_pool_name = each.key", 'deployment_set_id = "ds-1"')),
    mistake("unreachable-release", "ack", every(POOLS, '"PostPaid"', '"PrePaid"')),
    mistake(
        "slow-boot-disk",
        "ack",
        every(POOLS, '"cloud_essd"', '"cloud_efficiency"'),
        swap(TFVARS, r'gpu-a1 += \{ zones = \["a"\], nodes = \d+', 'gpu-a1 = { zones = ["a"], nodes = 240'),
        also=(QUOTA,),
    ),
    mistake(
        "single-large-pool",
        "ack",
        swap(TFVARS, r'gpu-a1 += \{ zones = \["a"\], nodes = \d+', 'gpu-a1 = { zones = ["a"], nodes = 400'),
        also=(QUOTA,),
    ),
    mistake("spot-price-cap-missing", "ack", swap(POOLS, '"SpotAsPriceGo"', '"SpotWithPriceLimit"')),
    mistake(
        "spot-price-cap-per-type",
        "ack",
        swap(POOLS, '"SpotAsPriceGo"', '"SpotWithPriceLimit"'),
        after(
            POOLS,
            "compensate_with_on_demand",
            'spot_price_limit {\n    instance_type = "ecs.gn8v-8x.48xlarge"\n    price_limit = "900"\n  }',
        ),
    ),
    mistake("quota-needed", "ack", drop("kcheck.yaml", "ack.quota.gn8v_gpus:")),
]
AKS = [
    mistake(
        "free-control-plane",
        "aks",
        swap(CLUSTER, 'sku_tier = "Standard"', 'sku_tier = "Free"'),
        also=("nodes-over-cluster-limit",),
    ),
    mistake(
        "kubenet-beyond-400-nodes",
        "aks",
        swap(CLUSTER, r"network_plugin +=.*", 'network_plugin = "kubenet"'),
        drop(CLUSTER, "network_(plugin_mode|data_plane|policy)", times=3),
    ),
    mistake(
        "kubenet-retiring",
        "aks small",
        swap(CLUSTER, r"network_plugin +=.*", 'network_plugin = "kubenet"'),
        drop(CLUSTER, "network_(plugin_mode|data_plane|policy)", times=3),
    ),
    mistake("basic-load-balancer", "aks", after(CLUSTER, "network_plugin_mode", 'load_balancer_sku = "basic"')),
    mistake(
        "network-policy-manager-limit",
        "aks",
        swap(CLUSTER, r"network_policy +=.*", 'network_policy = "azure"'),
        drop(CLUSTER, "network_data_plane"),
    ),
    mistake(
        "snat-ports-exhausted",
        "aks",
        swap(
            CLUSTER,
            r"( +)outbound_type += .*",
            r"""\1outbound_type = "loadBalancer"
\1load_balancer_profile {
\1  managed_outbound_ip_count = 2
\1  outbound_ports_allocated  = 1024
\1}""",
        ),
    ),
    mistake(
        "load-balancer-limit",
        "aks",
        add(
            ADDED,
            text(
                thing(
                    "v1",
                    "Service",
                    "ingress",
                    {"type": "LoadBalancer", "ports": [{"name": f"p{i}", "port": 8000 + i} for i in range(12)]},
                )
            ),
        ),
    ),
    mistake("subnet-too-small", "aks", swap(TFVARS, r"(nodes_cidr +=.*)/\d+", r"\1/24")),
    mistake("pod-range-too-small", "aks", swap(TFVARS, r'(pod_cidr += "[\d.]+)/\d+', r"\1/18")),
    mistake(
        "drain-timeout-short", "aks", swap(POOLS, "drain_timeout_in_minutes = 1440", "drain_timeout_in_minutes = 30")
    ),
    mistake(
        "upgrade-blocked-by-limit",
        "aks without InfiniBand",
        every(TFVARS, r"nodes = 2\d\d", "nodes = 1000"),
        swap("kcheck.yaml", r"nodes: \d+", "nodes: 3313"),
        swap(POOLS, "max_unavailable +=.*", 'max_surge = "33%"'),
        also=(*GROWN[:2], QUOTA, "unready-tolerance-low"),
    ),
    mistake(
        "pool-over-limit",
        "aks without InfiniBand",
        every(TFVARS, r"nodes = 2\d\d", "nodes = 1200"),
        swap("kcheck.yaml", r"nodes: \d+", "nodes: 3900"),
        also=(*GROWN[:2], QUOTA, "unready-tolerance-low"),
    ),
    mistake(
        "single-large-pool", "aks without InfiniBand", every(TFVARS, r"nodes = 2\d\d", "nodes = 400"), also=(QUOTA,)
    ),
    mistake(
        "pool-over-quota",
        "aks",
        every(TFVARS, r"nodes = \d+", "nodes = 120"),
        swap("kcheck.yaml", r"nodes: \d+", "nodes: 1440"),
        also=(QUOTA, "slow-node-deletion", "unready-tolerance-low"),
    ),
    mistake("slow-boot-disk", "aks", every(POOLS, '"Ephemeral"', '"Managed"'), also=("large-boot-disks",)),
    mistake(
        "arp-cache-too-small",
        "aks without InfiniBand",
        after(
            POOLS,
            "max_pods +=",
            "linux_os_config {\n    sysctl_config {\n      net_ipv4_neigh_default_gc_thresh3 = 128\n    }\n  }",
        ),
    ),
    mistake("aci-gpu-retired", "aks", add(ADDED, deployment(pod(1, nodeSelector={"type": "virtual-kubelet"})))),
    mistake("gpu-pool-untainted", "aks", drop(POOLS, '"nvidia.com/gpu=true:NoSchedule"')),
    mistake("gpu-pool-never-empty", "aks", swap(POOLS, r"min_count( +)= 0", r"min_count\1= 4")),
    mistake("spot-price-cap-low", "aks", swap(TFVARS, "spot_max_price = -1", "spot_max_price = 20")),
    mistake(
        "spot-without-toleration",
        "aks",
        add(ADDED, job(4, worker(nodeSelector={"kubernetes.azure.com/scalesetpriority": "spot"}))),
    ),
    mistake("idle-nodes-kept-long", "aks", drop(CLUSTER, r"scale_down_unneeded ")),
    mistake("slow-node-deletion", "aks", drop(CLUSTER, "empty_bulk_delete_max")),
    mistake("delay-after-delete", "aks", swap(CLUSTER, r'(scale_down_delay_after_delete +=) "\w+"', r'\1 "5m"')),
    mistake("scale-up-in-slices", "aks", drop(CLUSTER, "new_pod_scale_up_delay")),
    mistake("unready-tolerance-low", "aks", drop(CLUSTER, "max_unready_", times=2)),
    mistake("delay-after-failure", "aks", drop(CLUSTER, "scale_down_delay_after_failure")),
    mistake("scale-down-frozen-long", "aks", swap(CLUSTER, r'(scale_down_delay_after_add +=) "\w+"', r'\1 "1h"')),
    mistake(
        "local-storage-pins-nodes",
        "aks",
        swap(CLUSTER, r"(skip_nodes_with_local_storage +=) false", r"\1 true"),
        add(ADDED, deployment(pod(volumes=[{"name": "scratch", "emptyDir": {}}]))),
    ),
    mistake("quota-needed", "aks", drop("kcheck.yaml", "aks.quota.spot:")),
]
SPRAY = "group_vars/k8s_cluster/k8s-cluster.yml"
ADMIN = "kubeadm.yaml"
SELF = [
    mistake(
        "apiserver-inflight-default", "selfmanaged", drop(ADMIN, "name: max-(mutating-)?requests-inflight", times=2)
    ),
    mistake("fabric-not-requested", "selfmanaged", drop("jobs/sample.yaml", "rdma/ib:")),
    mistake("fabric-not-requested", "selfmanaged kubespray", drop("jobs/sample.yaml", "rdma/ib:")),
    mistake("fabric-not-requested", "selfmanaged cluster-api", drop("jobs/sample.yaml", "rdma/ib:")),
    mistake(
        "apiserver-inflight-default", "selfmanaged kubespray", drop(SPRAY, "max-(mutating-)?requests-inflight", times=2)
    ),
    mistake("controller-manager-qps-default", "selfmanaged kubespray", drop(SPRAY, "kube-api-(qps|burst)", times=2)),
    mistake("etcd-not-on-ssd", "selfmanaged kubespray", drop("group_vars/all/etcd.yml", "etcd_data_dir:")),
    mistake("etcd-quota-default", "selfmanaged kubespray", drop("group_vars/all/etcd.yml", "etcd_quota_backend")),
    mistake(
        "events-in-main-etcd", "selfmanaged kubespray", drop("group_vars/all/etcd.yml", "etcd_events_cluster_enabled")
    ),
    mistake("serial-image-pulls", "selfmanaged kubespray", drop(SPRAY, "serializeImagePulls:")),
    mistake("pod-range-too-small", "selfmanaged kubespray", swap(SPRAY, r"(kube_pods_subnet: .*)/\d+", r"\1/18")),
    mistake("arp-cache-too-small", "selfmanaged kubespray", drop("group_vars/all/all.yml", "gc_thresh3")),
    mistake(
        "apiserver-inflight-default",
        "selfmanaged cluster-api",
        drop("cluster.yaml", "name: max-(mutating-)?requests", times=2),
    ),
    mistake("etcd-quota-default", "selfmanaged cluster-api", drop("cluster.yaml", "name: quota-backend-bytes")),
    mistake("events-in-main-etcd", "selfmanaged cluster-api", drop("cluster.yaml", "name: etcd-servers-overrides")),
    mistake(
        "serial-image-pulls",
        "selfmanaged cluster-api",
        swap("machines.yaml", "serializeImagePulls: false", "serializeImagePulls: true", times=2),
    ),
    mistake(
        "pod-range-too-small",
        "selfmanaged cluster-api",
        swap("cluster.yaml", r"(cidrBlocks: \[10.0.0.0)/\d+", r"\1/18"),
    ),
    mistake("controller-manager-qps-default", "selfmanaged", drop(ADMIN, "name: kube-api-(qps|burst)", times=2)),
    mistake("etcd-not-on-ssd", "selfmanaged", drop(ADMIN, "dataDir:")),
    mistake("etcd-quota-default", "selfmanaged", drop(ADMIN, "name: quota-backend-bytes")),
    mistake("events-in-main-etcd", "selfmanaged", drop(ADMIN, "name: etcd-servers-overrides")),
    mistake(
        "serial-image-pulls", "selfmanaged", drop(ADMIN, "serializeImagePulls:"), drop(ADMIN, "maxParallelImagePulls")
    ),
    mistake("pod-range-too-small", "selfmanaged", swap(ADMIN, r"(podSubnet: .*)/\d+", r"\1/18")),
    mistake(
        "service-range-too-small",
        "selfmanaged",
        swap(ADMIN, r"(serviceSubnet: .*)/\d+", r"\1/24"),
        add(ADDED, services(300)),
    ),
    mistake("dns-not-scaled", "selfmanaged", without("kubernetes/dns.yaml")),
    mistake(
        "docker-hub-image",
        "selfmanaged",
        without("containerd/certs.d/docker.io/hosts.toml"),
        swap("kubernetes/prepull.yaml", r"image: .*train:.*", "image: pytorch/pytorch:2.9.0"),
    ),
    mistake(
        "arp-cache-too-small",
        "selfmanaged",
        without("sysctl/99-kubernetes-training.conf"),
        swap("kcheck.yaml", r"nodes: \d+", "nodes: 1300"),
    ),
]


def carried() -> Iterator[Mistake]:
    """Yield the mistakes that rule files list."""
    for rule in rules.load():
        text = Path(rule.path).read_text()
        tables = yaml.safe_load(text.split("\n---\n", 1)[1])["mistakes"] if "\nmistakes:\n" in text else ()
        for number, one in enumerate(tables):
            changes = tuple(map(from_table, one["changes"]))
            also, opens = tuple(one.get("also", ())), one.get("undecided", False)
            yield Mistake(rule.name, one["cluster"], changes, also, opens, number)


MISTAKES = [*carried(), *EKS, *EKS_KARPENTER, *GKE, *ACK, *AKS, *SELF]

NOT_HERE = {
    "autopilot-evicts-after-an-hour": "no cluster that is generated is of Autopilot",
    "job-below-its-machine": "jobs that are generated select pools, not types of machines",
    "pod-takes-whole-machine": "as job-below-its-machine; pod-fits-no-node judges pods of pools",
    "nothing-outlives-job": "every job can be preempted, and preempted-without-checkpoint says so",
    "auto-provisioning-below-job": "generated clusters write a pool for each accelerator",
    "gpu-pool-of-fixed-size": "all pools that are generated grow from zero",
    "gpu-pool-unused": "pools that are generated are empty until a job comes",
    "node-subnet-slash-24": "it is about nodes of unknown number, and all that is generated has a size",
    "karpenter-gpus-untainted": "NodePools that are generated have their cluster beside them, which gpu-pool-untainted judges",
    "karpenter-retired-image": "as karpenter-gpus-untainted: retired-node-image judges such pools",
    "retired-module": "generated clusters call no module",
    "ray-head-loses-state": "clusters are generated for jobs, not for services of Ray",
    "too-many-pods": "generated clusters have overlay, which takes more pods than their nodes can run",
    **dict.fromkeys(
        (
            "gpu-idle",
            "gpu-memory-idle",
            "memory-limit-near-usage",
            "pool-fragmented",
            "requests-above-usage",
            "requests-below-usage",
        ),
        "it is about what was measured, and what is generated has not run yet",
    ),
    "system-pods-pin-nodes": "autoscalers keep no such nodes from 1.33 on, and older ones are not generated",
}


@cache
def made(base: str) -> Files:
    if base not in BASES:
        raise AssertionError(f"there is no cluster {base}; {nearest(base, tuple(BASES))}")
    cloud = base.partition(" ")[0]
    made = assembly.generate(with_defaults(cloud, BASES[base])).files
    return Files({path: data.decode() for path, data in made.items()})


def place(wrong: Mistake, *part: str | int) -> str:
    """Return the place of a mistake, or of a part of it, in its rule file."""
    if wrong.number is None:
        return wrong.rule
    (rule,) = rules.by_name(rules.load(), [wrong.rule])
    return rule_files.read(rule.group, rule.path).location(("mistakes", wrong.number, *part))


def changed(wrong: Mistake) -> Files:
    """Return a cluster's files with a mistake in them; an error names the change that failed."""
    part: tuple[str | int, ...] = ("cluster",)
    try:
        files = Files(made(wrong.base))
        for i, change in enumerate(wrong.changes):
            part = ("changes", i)
            change(files)
    except AssertionError as error:
        raise AssertionError(f"{place(wrong, *part)}: {error}") from None
    return files


def named(found: Mistake) -> str:
    return f"{found.base}-{found.rule}"


@pytest.mark.parametrize("wrong", MISTAKES, ids=named)
def test_a_mistake_put_back_is_found(wrong: Mistake) -> None:
    files = changed(wrong)
    result = assembly.check_files({path: text.encode() for path, text in files.items()})
    assert result.bugs == []
    told = [(found.rule, found.span.source.path, found.span.begin.line, found.message) for found in result.findings]
    expected, all_found = {wrong.rule, *wrong.also}, {found.rule for found in result.findings}
    assert all_found == expected, f"{place(wrong)}: must find {expected}, finds {told or 'nothing'}"
    assert bool(result.undecided) == wrong.opens, [
        (check.rule, check.object, check.missing) for check in result.undecided
    ]


def test_every_rule_has_a_mistake_to_put_back() -> None:
    found = {wrong.rule for wrong in MISTAKES}
    assert not found & NOT_HERE.keys()
    without = {rule.name for rule in rules.load()} - found - NOT_HERE.keys()
    assert not without, f"give {', '.join(sorted(without))} `mistakes:`, as docs/writing-rules.md says"


@pytest.mark.parametrize("name", ADDITIONS)
def test_common_additions_cause_no_finding(name: str) -> None:
    base, change = ADDITIONS[name]
    files = Files(made(base))
    change(files)
    result = assembly.check_files({path: text.encode() for path, text in files.items()})
    assert [(found.rule, found.message) for found in result.findings] == []


@pytest.mark.parametrize(
    ("cluster", "change", "message"),
    [
        ("ekss", {"file": "cluster.tf", "delete": True}, "there is no cluster ekss; did you mean eks?"),
        ("eks", {"file": "jobs/train.yaml", "drop": "a"}, "nothing generates jobs/train.yaml; did you mean jobs/trainjob.yaml?"),
        ("eks", {"file": "clusters.tf", "delete": True}, "nothing generates clusters.tf; did you mean cluster.tf?"),
        ("eks", {"file": "cluster.tf", "drop": "xyzzy"}, "cluster.tf: xyzzy is in 0 lines, not 1"),
    ],
)  # fmt: skip
def test_an_invalid_mistake_definition_is_reported_with_its_place(
    cluster: str, change: dict[str, object], message: str
) -> None:
    """The place is the line of the rule file that lists the mistake."""
    carrier = next(one for one in MISTAKES if one.number is not None)
    (rule,) = rules.by_name(rules.load(), [carrier.rule])
    with pytest.raises(AssertionError) as caught:
        changed(carrier._replace(base=cluster, changes=(from_table(change),)))
    assert re.fullmatch(rf"\S*{rule.group}/{rule.name}\.yaml:\d+:\d+: {re.escape(message)}", str(caught.value))
