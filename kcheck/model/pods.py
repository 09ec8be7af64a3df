"""Contents of a cluster: workloads, their pods and images, add-ons and Services."""

from __future__ import annotations

from typing import Annotated

from msgspec import Struct

from kcheck.model.base import Thing
from kcheck.text.values import NOTHING, Value, first_set, known, number
from kcheck.text.yaml_nodes import Mapping

# A field that is a word of rules has its meaning, unit and note on its line.
# fmt: off


STAY = "cluster-autoscaler.kubernetes.io/safe-to-evict"
LOCAL = f"{STAY}-local-volumes"
UNDISTURBED = "karpenter.sh/do-not-disrupt"
"""Annotations that keep the autoscaler and Karpenter from moving pods; LOCAL names volumes that may be left behind."""


class Image(Thing, frozen=True):
    """A container's image. `untagged`: the text has no tag because a chart adds it."""

    container: str
    text: Annotated[Value[str], "the image as written", "", "never null"]
    registry: Annotated[Value[str], "host of its registry; docker.io for every spelling of Docker Hub", "", "never null"]
    untagged: bool = False


class Requirement(Struct, frozen=True):
    """A requirement on node labels: an operator of node affinity and its values."""

    key: str
    operator: str
    values: tuple[str, ...]


class Toleration(Struct, frozen=True):
    """Taints that a pod tolerates; an empty key or effect matches all."""

    key: str
    operator: str
    value: str
    effect: str


class Claim(Struct, frozen=True):
    """Devices that pods claim: name in the pod, and `source` object.

    `shared`: whether `source` is one claim for all pods; otherwise it is a template from which each gets its own.
    """

    name: str
    source: str
    shared: bool


class Volume(Struct, frozen=True):
    """A volume of a pod: kind, medium, path on the node, and whether it is sized."""

    name: str
    kind: str
    medium: Value[str]
    path: str = ""
    sized: bool = False


class Reference(Struct, frozen=True):
    """An object that a pod names and needs to start."""

    kind: str
    name: Value[str]


class FieldError(Thing, frozen=True):
    """A field that an object's kind does not have, or whose value has a wrong type."""

    path: Annotated[str, "where it is in its object, such as spec.parallelism"]
    written: Annotated[Value[str], "the key that is not a field, or the value of another type", "", "never null"]
    wanted: Annotated[str | None, "the type that the API server takes; null of a key that is not a field"]
    meant: Annotated[str | None, "the field that is probably meant, by its path; null without one"]
    right: Annotated[str | None, "what to write instead: the name of a field beside it, or the value as a text; null without either"]
    release: Annotated[str, "the kind, and the release that has its fields: Job in Kubernetes 1.37"]


class Definition(Thing, frozen=True):
    """An object that pods may name, or a StorageClass.

    Of a claim, `modes` are its access modes and `storage` is its class, which does not matter if it asks for a `chosen`
    volume, such as one by name (`volume`). Of a class, `storage` is the provisioner. `nodes`: terms of which nodes that
    mount a volume, or one of a class, must meet one. Of a PodDisruptionBudget, `selector` has the labels of its pods.
    """

    kind: str
    name: Value[str]
    namespace: Value[str]
    modes: Value[tuple[str, ...]] = NOTHING
    storage: Value[str] = NOTHING
    chosen: bool = False
    volume: Value[str] = NOTHING
    nodes: Value[tuple[tuple[Requirement, ...], ...]] = NOTHING
    selector: Annotated[Value[dict[str, str]], "the labels that it selects; empty where it asks for more than labels", "", "never null"] = NOTHING
    min_available: Annotated[Value[str], "pods that an eviction has to leave, as written: a number or a percentage"] = NOTHING


class Container(Thing, frozen=True):
    """A container of a pod; requests and limits are as written.

    `text`: its command, arguments and variables, joined by blanks. `starters`: words of it that start processes which
    wait for each other, such as torchrun. `claims`: the pod's claims whose devices it sees. `extended`: other resources
    it asks for, maybe devices.
    """

    name: Value[str]
    init: Annotated[bool, "whether it is an init container, and no sidecar"]
    image: Value[str]
    pull_policy: Annotated[Value[str], "Always, IfNotPresent or Never as written"]
    cpu_request: Annotated[Value[int], "CPU it asks for; null where only a limit is written, or nothing", "millicores"]
    memory_request: Annotated[Value[int], "memory it asks for; null where only a limit is written, or nothing", "memory"]
    cpu_limit: Annotated[Value[int], "CPU it is limited to", "millicores"]
    memory_limit: Annotated[Value[int], "memory it is limited to", "memory"]
    gpu: Annotated[Value[str], "the resource by which it asks for GPUs"]
    gpu_request: Annotated[Value[str], "how many it asks for, as written"]
    gpu_limit: Annotated[Value[str], "how many it is limited to, as written"]
    rdma: Annotated[bool, "whether it asks for RDMA or EFA interfaces, which need the network of the node"]
    mounts: Annotated[Value[tuple[str, ...]], "the paths at which it has volumes", "", "never null"]
    starters: tuple[str, ...]
    text: str
    claims: Annotated[tuple[str, ...], "names of the resource claims that it uses"] = ()
    restart: Annotated[Value[str], "its own restartPolicy: Always makes a sidecar of an init container"] = NOTHING
    extended: tuple[tuple[str, Value[str]], ...] = ()

    @property
    def cpu(self) -> Value[int]:
        """CPU request, by default the limit."""
        return first_set(self.cpu_request, self.cpu_limit, self.cpu_request)

    @property
    def memory(self) -> Value[int]:
        """Memory request, by default the limit."""
        return first_set(self.memory_request, self.memory_limit, self.memory_request)


class PodTemplate(Thing, frozen=True):
    """Equal pods of a workload.

    `selection`: requirements on node labels; one of the sets must hold. `asks_as_one`: whether the pod itself requests CPU
    or memory for all its containers. `apart`: label in whose domains required anti-affinity allows one pod each.
    `references`: objects that it names.

    `shares`: whether it asks for parts of cards. `all_cards`: whether a pod takes all cards of its node. `claims_fabric`:
    whether it claims interfaces of a fabric. `node_devices`: whether it sees the node's devices, as privileged pods do.
    """

    role: Annotated[str, "what tells these pods from others of the workload: Worker, Launcher ...; empty for the only ones"]
    count: Annotated[Value[int], "such pods at once", "pods", "never null"]
    cpu: Annotated[Value[int], "CPU of one pod", "millicores", "never null"]
    memory: Annotated[Value[int], "memory of one pod", "memory", "never null"]
    gpus: Annotated[Value[int], "GPUs of one pod", "GPUs", "never null"]
    shares: bool
    priority: Annotated[Value[str], "its priority class"]
    scheduler: Annotated[Value[str], "its scheduler"]
    labels: Annotated[Value[dict[str, str]], "labels of the pods", "", "never null"]
    annotations: Annotated[Value[dict[str, str]], "annotations of the pods", "", "never null"]
    selection: Value[tuple[tuple[Requirement, ...], ...]]
    tolerations: Value[tuple[Toleration, ...]]
    spread: Annotated[Value[bool], "whether a required anti-affinity puts each on a node of its own", "", "false if unset"]
    host_network: Annotated[Value[bool], "whether they are on the network of the node", "", "false if unset"]
    host_ipc: Annotated[Value[bool], "whether they have the shared memory of the node", "", "false if unset"]
    dns_policy: Annotated[Value[str], "their DNS policy"]
    restart: Annotated[Value[str], "their restart policy"]
    grace: Annotated[Value[int], "how long they ask to stop (terminationGracePeriodSeconds)", "whole seconds"]
    account: Value[str]
    ports: Annotated[Value[tuple[int, ...]], "ports of the node that each takes", "", "never null"]
    volumes: Value[tuple[Volume, ...]]
    subdomain: Value[str]
    containers: tuple[Container, ...]
    safe_to_evict: Annotated[Value[str], "the annotation cluster-autoscaler.kubernetes.io/safe-to-evict"] = NOTHING
    do_not_disrupt: Annotated[Value[str], "the annotation karpenter.sh/do-not-disrupt"] = NOTHING
    movable_volumes: Annotated[Value[str], "the annotation cluster-autoscaler.kubernetes.io/safe-to-evict-local-volumes"] = NOTHING
    asks_as_one: Annotated[bool, "whether the pod itself requests CPU or memory, for all its containers"] = False
    claims: Value[tuple[Claim, ...]] = NOTHING
    device_classes: Annotated[Value[tuple[str, ...]], "classes of the accelerators that they claim (dynamic resource allocation)", "", "never null"] = NOTHING
    shared_claim: Annotated[Value[str], "the ResourceClaim with accelerators that all of them share"] = NOTHING
    all_cards: bool = False
    claims_fabric: Value[bool] = NOTHING
    node_devices: Value[bool] = NOTHING
    packed_by: Annotated[Value[str], "label that all of them must find with one value on their nodes (required podAffinity to each other, Kueue's required topology)"] = NOTHING
    topology: Annotated[Value[str], "label in whose domains Kueue keeps them, or slices of them, together: podset-required-topology, -preferred-, -slice-required-"] = NOTHING
    apart: Value[str] = NOTHING
    kept: Annotated[Value[int], "pods that run whatever the load, where something scales them", "pods"] = NOTHING
    devices: Annotated[Value[bool], "whether they ask for devices: cards, parts of them, interfaces, or claims of devices", "", "never null"] = NOTHING
    references: tuple[Reference, ...] = ()

    @property
    def on_accelerators(self) -> bool:
        """Whether they request GPUs or parts of GPUs, or claim accelerators."""
        return bool(number(self.gpus, 0) or self.shares or self.all_cards or known(self.device_classes))


class Workload(Thing, frozen=True):
    """A workload; `per_node` if it runs one pod on each node.

    `gang`: what starts its pods all or none. `completions`: pods of a Job in all. `least`: pods that a gang starts with.
    `shrinks`: whether Kueue may admit it with fewer pods. `time_zone`, `suspended`: of a CronJob. `partial`: whether it
    only changes parts of another manifest. `release`: a chart with its values, of which it is unknown which images share a
    pod and how many pods run.
    """

    kind: Annotated[str, "Deployment, Job, PyTorchJob ..."]
    namespace: Annotated[Value[str], "its namespace as written"]
    name: Value[str]
    per_node: Annotated[bool, "whether every node runs it"]
    pods: Annotated[Value[int], "pods at once", "pods", "never null"]
    gpus: Annotated[Value[int], "GPUs of one pod: the most that any of its pods has", "GPUs", "never null"]
    pull_secrets: Annotated[Value[bool], "whether it names pull secrets", "", "never null"]
    images: tuple[Image, ...]
    templates: tuple[PodTemplate, ...] = ()
    labels: Annotated[Value[dict[str, str]], "its labels", "", "never null"] = NOTHING
    batch: Annotated[bool, "whether it ends: a job"] = False
    rigid: Annotated[Value[bool], "whether its pods wait for each other: a part of them does nothing", "", "never null"] = NOTHING
    gang: Value[str] = NOTHING
    queue: Annotated[Value[str], "the queue it waits in"] = NOTHING
    queue_system: Annotated[Value[str], "kueue or volcano"] = NOTHING
    priority: Annotated[Value[str], "its priority class"] = NOTHING
    ttl: Annotated[Value[int], "how long it stays after its end (ttlSecondsAfterFinished)", "whole seconds"] = NOTHING
    deadline: Annotated[Value[int], "how long it may run (activeDeadlineSeconds)", "whole seconds"] = NOTHING
    completions: Value[int] = NOTHING
    retries: Annotated[Value[int], "how often it starts again (backoffLimit, maxRestarts, maxRetry)", "retries"] = NOTHING
    retries_each: Annotated[Value[int], "how often each of its pods starts again (backoffLimitPerIndex)", "retries"] = NOTHING
    spares_disruptions: Annotated[Value[bool], "whether a podFailurePolicy ignores evicted pods (Job)", "", "false if unset"] = NOTHING
    cleaning: Annotated[Value[str], "which pods are deleted at its end: None, Running, All (cleanPodPolicy)"] = NOTHING
    shutdown: Annotated[Value[bool], "whether its Ray cluster is deleted at its end: shutdownAfterJobFinishes or deletionStrategy (RayJob, RayCronJob)", "", "false if unset"] = NOTHING
    launching: Annotated[Value[str], "when its launcher starts: AtStartup, WaitForWorkersReady (MPIJob)"] = NOTHING
    slots: Annotated[Value[int], "processes on each worker (MPIJob)", "slots"] = NOTHING
    processes: Annotated[Value[str], "processes of each pod as written: a number, auto, gpu (PyTorchJob, TrainJob)"] = NOTHING
    least: Value[int] = NOTHING
    release: bool = False
    group: Annotated[str, "the API group of its kind: batch, kubeflow.org ...; empty for a Pod"] = ""
    api: Annotated[str, "the version of the API that it is written for: batch/v1, kubeflow.org/v2beta1 ..."] = ""
    hooked: Annotated[bool, "whether what deploys it deletes it, too: a hook of Helm or Argo CD, an AppWrapper"] = False
    partial: bool = False
    disposed: Annotated[Value[str], "key of the volumes that are deleted with it: volumeClaimPolicies (JobSet), volumes (Volcano), ephemeral volumeClaimTemplates; null without any"] = NOTHING
    schedule: Annotated[Value[str], "when it starts (CronJob, RayCronJob, ScheduledSparkApplication)"] = NOTHING
    suspended: Value[bool] = NOTHING
    native_gang: Annotated[Value[str], "the field by which it asks Kubernetes' own scheduler for a gang: spec.scheduling, schedulingGroup, workloadRef; null without"] = NOTHING
    time_zone: Value[str] = NOTHING
    concurrency: Annotated[Value[str], "what becomes of a run that the next one meets: Allow, Forbid, Replace, as written (concurrencyPolicy)"] = NOTHING
    shrinks: bool = False


class Addon(Thing, frozen=True):
    """An installed add-on, known from its chart or from an object (`tree`).

    `name` and `version` are those of its chart. `ignores_claims`: whether Karpenter adds no nodes for resource claims.
    """

    name: Value[str]
    tree: Mapping | None = None
    version: Value[str] = NOTHING
    ignores_claims: Value[bool] = NOTHING


class Monitor(Thing, frozen=True):
    """A Prometheus server; `kind` is that of its object or chart.

    `shards`: servers that divide what is scraped. `scrapes`: whether it scrapes the cluster's nodes; if unset, the rights
    of its `account` decide.
    """

    name: Value[str]
    kind: str
    scrapes: Value[bool]
    account: Value[str] = NOTHING
    namespace: Value[str] = NOTHING
    shards: Value[int] = NOTHING
    memory: Annotated[Value[int], "memory that each of them requests", "memory"] = NOTHING
    memory_limit: Annotated[Value[int], "memory limit of each of them", "memory"] = NOTHING


class Mirror(Thing, frozen=True):
    """A registry cache: images of `registry` below `path` are at `prefix`.

    Parts of the prefix that only the account knows are in <>, for people to read.
    """

    cloud: str
    root: str
    registry: str
    path: str
    prefix: str


class Service(Thing, frozen=True):
    """A Service; `addressed` if it takes an address of the Service range."""

    name: Value[str]
    ports: Value[int]
    addressed: bool
