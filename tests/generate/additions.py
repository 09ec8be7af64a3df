"""Build what people add to a generated cluster: services, jobs, agents; correct except for the given arguments."""

from __future__ import annotations

from typing import Any

import yaml

Dict = dict[str, Any]
IMAGE = "registry.example.com/team/program:1.2.0"
GPU = "nvidia.com/gpu"
EFA = "vpc.amazonaws.com/efa"


def text(*objects: Dict) -> str:
    """Return objects as the text of a manifest."""
    return yaml.dump_all(objects, Dumper=yaml.CSafeDumper, sort_keys=False)


def thing(api: str, kind: str, name: str, spec: Dict | None = None, **more: Any) -> Dict:
    """Return an object in the namespace research, or in the one given."""
    metadata: Dict = {"name": name, "namespace": more.pop("namespace", "research")}
    metadata |= {"labels": more.pop("labels")} if "labels" in more else {}
    return {"apiVersion": api, "kind": kind, "metadata": metadata, **({} if spec is None else {"spec": spec}), **more}


def container(gpus: int = 0, **more: Any) -> Dict:
    """Return a container that requests some GPUs."""
    wants: Dict = {"requests": {"cpu": 2, "memory": "8Gi"}, **({"limits": {GPU: gpus}} if gpus else {})}
    return {"name": "main", "image": IMAGE, "resources": wants, **more}


def pod(gpus: int = 0, *, own: Dict | None = None, **more: Any) -> Dict:
    """Return the spec of a pod on training nodes; `own` is added to its container."""
    return {
        "nodeSelector": {"training/pool": "training"},
        "tolerations": [{"key": GPU, "operator": "Exists", "effect": "NoSchedule"}],
        "containers": [container(gpus, **(own or {}))],
        **more,
    }


def template(found: Dict, **annotations: str) -> Dict:
    """Return the pod template of a workload."""
    return {"metadata": {"labels": {"app": "added"}, "annotations": annotations}, "spec": found}


def deployment(found: Dict, replicas: int = 2) -> str:
    """Return a Deployment."""
    spec = {"replicas": replicas, "selector": {"matchLabels": {"app": "added"}}, "template": template(found)}
    return text(thing("apps/v1", "Deployment", "service", spec))


def budget(app: str = "added", *, allowed: int = 0, kept: int | None = None) -> str:
    """Return a PodDisruptionBudget; by default it allows no disruption."""
    bound = {"maxUnavailable": allowed} if kept is None else {"minAvailable": kept}
    selector = {"matchLabels": {"app": app}}
    return text(thing("policy/v1", "PodDisruptionBudget", "added", {**bound, "selector": selector}))


def agent(found: Dict, *others: Dict) -> str:
    """Return a DaemonSet that runs on all nodes, and the objects of its rights."""
    found = {k: v for k, v in found.items() if k != "nodeSelector"} | {"tolerations": [{"operator": "Exists"}]}
    spec = {"selector": {"matchLabels": {"app": "added"}}, "template": template(found)}
    return text(thing("apps/v1", "DaemonSet", "agent", spec, namespace="monitoring"), *others)


def services(count: int) -> str:
    """Return Services, each of which takes an address."""
    return text(
        *(
            thing("v1", "Service", f"service-{i}", {"selector": {"app": "added"}, "ports": [{"port": 80}]})
            for i in range(count)
        )
    )


STAY = "cluster-autoscaler.kubernetes.io/safe-to-evict"
PRIORITY = "kueue.x-k8s.io/priority-class"
QUEUED = {"kueue.x-k8s.io/queue-name": "default", PRIORITY: "normal"}
SHM: Dict = {"volumeMounts": [{"name": "shm", "mountPath": "/dev/shm"}]}  # noqa: S108 - of a container
CHECKPOINTS: Dict = {"name": "checkpoints", "mountPath": "/checkpoints"}
VOLUMES: list[Dict] = [
    {"name": "shm", "emptyDir": {"medium": "Memory", "sizeLimit": "32Gi"}},
    {"name": "checkpoints", "persistentVolumeClaim": {"claimName": "checkpoints"}},
]


def worker(gpus: int = 8, *, fast: bool = True, **more: Any) -> Dict:
    """Return the pod of a job, with shared memory and checkpoints.

    If `fast`, it requests the EFA interfaces that its GPUs have on a p5.48xlarge.
    """
    own = {"volumeMounts": [*SHM["volumeMounts"], CHECKPOINTS], **more.pop("own", {})}
    found = pod(gpus, own=own, **{"volumes": VOLUMES, "restartPolicy": "Never", **more})
    if gpus and fast:
        found["containers"][0]["resources"]["limits"][EFA] = 4 * gpus
    return found


def mpi_job(policy: Dict | None = None, **more: Any) -> str:
    """Return an MPIJob of 4 nodes.

    Its launcher waits for the workers, and the workers are deleted when it is done.
    """
    launcher = {
        "containers": [container(command=["mpirun", "-np", "32", "python", "train.py"])],
        "restartPolicy": "Never",
    }
    spec = {
        "slotsPerWorker": 8,
        "launcherCreationPolicy": "WaitForWorkersReady",
        "runPolicy": {
            "cleanPodPolicy": "Running", "ttlSecondsAfterFinished": 3600, "activeDeadlineSeconds": 86400, "backoffLimit": 10,
            **(policy or {}),
        },
        "mpiReplicaSpecs": {
            "Launcher": {"replicas": 1, "template": template(launcher)},
            "Worker": {"replicas": 4, "template": template(worker(), **{STAY: "false"})},
        },
        **more,
    }  # fmt: skip
    return text(thing("kubeflow.org/v2beta1", "MPIJob", "added", spec, labels=QUEUED))


def job(pods: int = 4, found: Dict | None = None, labels: Dict | None = None, **more: Any) -> str:
    """Return a Job of some nodes in the queue of its team."""
    spec = {
        "completionMode": "Indexed", "parallelism": pods, "completions": pods, "backoffLimit": 20, "ttlSecondsAfterFinished": 3600,
        "activeDeadlineSeconds": 86400, "template": template(found or worker(), **{STAY: "false"}), **more,
    }  # fmt: skip
    return text(thing("batch/v1", "Job", "added", spec, labels=QUEUED if labels is None else labels))


def tf_job(servers: int) -> str:
    """Return a TFJob of 4 nodes, with parameter servers that are deleted when it is done."""
    server = {"containers": [container()]}
    spec = {
        "runPolicy": {"cleanPodPolicy": "All", "ttlSecondsAfterFinished": 3600, "activeDeadlineSeconds": 86400, "backoffLimit": 10},
        "tfReplicaSpecs": {
            "PS": {"replicas": servers, "restartPolicy": "OnFailure", "template": template(server)},
            "Worker": {"replicas": 4, "restartPolicy": "OnFailure", "template": template(worker(), **{STAY: "false"})},
        },
    }  # fmt: skip
    return text(thing("kubeflow.org/v1", "TFJob", "added", spec, labels=QUEUED))


def cron_job(name: str, pods: int, schedule: str = "0 2 * * *") -> str:
    """Return a CronJob that prepares data on the small nodes."""
    found = {"containers": [container()], "restartPolicy": "Never"}
    spec = {
        "schedule": schedule, "jobTemplate": {"spec": {"parallelism": pods, "backoffLimit": 20, "template": template(found)}},
    }  # fmt: skip
    return text(thing("batch/v1", "CronJob", name, spec))


def ray_job(**more: Any) -> str:
    """Return a RayJob of 4 nodes, whose cluster is deleted with it."""
    head: Dict = {"containers": [container()]}
    spec = {
        "entrypoint": "python train.py", "shutdownAfterJobFinishes": True, "ttlSecondsAfterFinished": 3600,
        "activeDeadlineSeconds": 86400,
        "rayClusterSpec": {
            "headGroupSpec": {"template": template(head)},
            "workerGroupSpecs": [{"groupName": "gpu", "replicas": 4, "template": template(worker(restartPolicy="Always"), **{STAY: "false"})}],
        },
        **more,
    }  # fmt: skip
    return text(thing("ray.io/v1", "RayJob", "added", spec, labels=QUEUED))
