"""Contents of a cluster: workloads, their pods and images, add-ons and Services."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from kcheck.model.base import Thing
from kcheck.text.values import NOTHING, Unset, number

if TYPE_CHECKING:
    from kcheck.text.values import Value
    from kcheck.text.yaml_nodes import Mapping

STAY = "cluster-autoscaler.kubernetes.io/safe-to-evict"
LOCAL = f"{STAY}-local-volumes"
UNDISTURBED = "karpenter.sh/do-not-disrupt"
"""Annotations that keep the autoscaler and Karpenter from moving pods; LOCAL names volumes that may be left behind."""


class Image(Thing, frozen=True):
    """A container's image. `registry` is its host, docker.io for every spelling of Docker Hub.

    `untagged`: the text has no tag because a chart adds it.
    """

    container: str
    text: Value[str]
    registry: Value[str]
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
    """Devices that pods claim by dynamic resource allocation: name in the pod, and the object it refers to (`source`).

    `shared`: whether `source` is one claim for all pods; otherwise it is a template from which each gets its own.
    """

    name: str
    source: str
    shared: bool


class Volume(Struct, frozen=True):
    """A volume of a pod: kind (emptyDir, hostPath ...), whether it is in memory, and its path on the node."""

    name: str
    kind: str
    memory: bool
    path: str = ""


class Reference(Struct, frozen=True):
    """An object that a pod names and needs to start."""

    kind: str
    name: Value[str]


class Definition(Thing, frozen=True):
    """An object that pods may name, or a StorageClass.

    Of a claim, `modes` are its access modes and `storage` is its class, which does not matter if it asks for a `chosen`
    volume, such as one by name (`volume`). Of a class, `storage` is the provisioner. `nodes`: terms of which nodes that
    mount a volume, or one of a class, must meet one.
    """

    kind: str
    name: Value[str]
    namespace: Value[str]
    modes: Value[tuple[str, ...]] = NOTHING
    storage: Value[str] = NOTHING
    chosen: bool = False
    volume: Value[str] = NOTHING
    nodes: Value[tuple[tuple[Requirement, ...], ...]] = NOTHING


class Container(Thing, frozen=True):
    """A container of a pod. CPU is in millicores, memory in bytes; requests and limits are as written.

    `init`: whether it ends before the others start, unlike a sidecar. `gpu`: name of the resource for GPUs;
    `gpu_request` and `gpu_limit` are its texts. `rdma`: whether it asks for RDMA or EFA interfaces. `starters`: words
    of its command that start processes which wait for each other, such as torchrun. `mounts`: paths of its volumes.
    `claims`: names of the pod's claims whose devices it sees. `extended`: other resources it asks for, maybe devices.
    """

    name: Value[str]
    init: bool
    image: Value[str]
    pull_policy: Value[str]
    cpu_request: Value[int]
    memory_request: Value[int]
    cpu_limit: Value[int]
    memory_limit: Value[int]
    gpu: Value[str]
    gpu_request: Value[str]
    gpu_limit: Value[str]
    rdma: bool
    mounts: Value[tuple[str, ...]]
    starters: tuple[str, ...]
    text: str
    claims: tuple[str, ...] = ()
    extended: tuple[tuple[str, Value[str]], ...] = ()

    @property
    def cpu(self) -> Value[int]:
        """CPU request, by default the limit."""
        return _request(self.cpu_request, self.cpu_limit)

    @property
    def memory(self) -> Value[int]:
        """Memory request, by default the limit."""
        return _request(self.memory_request, self.memory_limit)


def _request(request: Value[int], limit: Value[int]) -> Value[int]:
    return limit if isinstance(request, Unset) and not isinstance(limit, Unset) else request


class PodTemplate(Thing, frozen=True):
    """Equal pods of a workload: `count` at once; `role` distinguishes them from its other pods, such as Worker.

    `kept`: those that run whatever the load; if unset, all do.

    `selection`: requirements on node labels; one of the sets must hold. `spread`: whether a required anti-affinity puts
    each pod on a node of its own. `ports`: ports taken on the node. `grace`: in seconds. `safe_to_evict`,
    `do_not_disrupt`: annotations that keep the cluster autoscaler and Karpenter from moving them. `movable_volumes`:
    annotation naming volumes on the node's disk, despite which the autoscaler may move them. `asks_as_one`: whether the
    pod itself requests CPU or memory for all its containers. `packed_by`: label; Kueue or required affinity keeps all
    pods in one of its domains. `apart`: label in whose domains required anti-affinity allows one pod each. `topology`:
    label in whose domains Kueue keeps the pods, or slices of them, together. `references`: objects that it names.

    `gpus`: whole cards of a pod. `shares`: whether it asks for parts of cards. `device_classes`: classes of claimed
    accelerators. `shared_claim`: claim on accelerators that all pods share. `all_cards`: whether a pod takes all cards
    of its node. `claims_fabric`: whether it claims interfaces of a fabric. `node_devices`: whether it sees the node's
    devices, as privileged pods do. `devices`: whether it asks for any: cards, parts of cards, interfaces, or claims.
    """

    role: str
    count: Value[int]
    cpu: Value[int]
    memory: Value[int]
    gpus: Value[int]
    shares: bool
    priority: Value[str]
    scheduler: Value[str]
    labels: Value[dict[str, str]]
    annotations: Value[dict[str, str]]
    selection: Value[tuple[tuple[Requirement, ...], ...]]
    tolerations: Value[tuple[Toleration, ...]]
    spread: Value[bool]
    host_network: Value[bool]
    host_ipc: Value[bool]
    dns_policy: Value[str]
    restart: Value[str]
    grace: Value[int]
    account: Value[str]
    ports: tuple[int, ...]
    volumes: Value[tuple[Volume, ...]]
    subdomain: Value[str]
    containers: tuple[Container, ...]
    safe_to_evict: Value[str] = NOTHING
    do_not_disrupt: Value[str] = NOTHING
    movable_volumes: Value[str] = NOTHING
    asks_as_one: bool = False
    claims: Value[tuple[Claim, ...]] = NOTHING
    device_classes: tuple[str, ...] = ()
    shared_claim: Value[str] = NOTHING
    all_cards: bool = False
    claims_fabric: Value[bool] = NOTHING
    node_devices: Value[bool] = NOTHING
    packed_by: Value[str] = NOTHING
    topology: Value[str] = NOTHING
    apart: Value[str] = NOTHING
    kept: Value[int] = NOTHING
    devices: Value[bool] = NOTHING
    references: tuple[Reference, ...] = ()

    @property
    def on_accelerators(self) -> bool:
        """Whether they ask for cards or parts of cards, or claim accelerators."""
        return bool(number(self.gpus, 0) or self.shares or self.all_cards or self.device_classes)


class Workload(Thing, frozen=True):
    """Something that runs pods. `pods` is how many at once; for a DaemonSet, one on each node (`per_node`).

    `batch`: whether it ends. `rigid`: whether its pods wait for each other. `gang`: what starts its pods all or none.
    `completions`: pods of a Job in all. `least`: pods that a gang starts with.
    `native_gang`: field that asks Kubernetes' own scheduler for a gang.
    `queue_system`: kueue or volcano. `shrinks`: whether Kueue may admit it with fewer pods. `retries`: how often it
    starts again. `ttl`: seconds that finished pods stay. `disposed`: key of volumes that are deleted with it. `slots`:
    processes that a launcher gives each worker; `processes`: those that each pod starts. `schedule`, `time_zone`,
    `suspended`: of a CronJob; `concurrency`: what becomes of a run that the next one meets. `deletion`: policies by
    which a Ray job's cluster is deleted.

    `group`: API group of its kind. `api`: version it is written for. `hooked`: whether a tool such as Helm removes it.
    `partial`: whether it only changes parts of another manifest. `release`: a chart with its values, of which it is
    unknown which images share a pod and how many pods run.
    """

    kind: str
    namespace: Value[str]
    name: Value[str]
    per_node: bool
    pods: Value[int]
    gpus: Value[int]
    pull_secrets: Value[bool]
    images: tuple[Image, ...]
    templates: tuple[PodTemplate, ...] = ()
    labels: Value[dict[str, str]] = NOTHING
    batch: bool = False
    rigid: Value[bool] = NOTHING
    gang: Value[str] = NOTHING
    queue: Value[str] = NOTHING
    queue_system: Value[str] = NOTHING
    priority: Value[str] = NOTHING
    ttl: Value[int] = NOTHING
    deadline: Value[int] = NOTHING
    completions: Value[int] = NOTHING
    retries: Value[int] = NOTHING
    retries_each: Value[int] = NOTHING
    spares_disruptions: Value[bool] = NOTHING
    cleaning: Value[str] = NOTHING
    shutdown: Value[bool] = NOTHING
    deletion: Value[str] = NOTHING
    launching: Value[str] = NOTHING
    slots: Value[int] = NOTHING
    processes: Value[str] = NOTHING
    least: Value[int] = NOTHING
    release: bool = False
    group: str = ""
    api: str = ""
    hooked: bool = False
    partial: bool = False
    disposed: Value[str] = NOTHING
    schedule: Value[str] = NOTHING
    suspended: Value[bool] = NOTHING
    native_gang: Value[str] = NOTHING
    time_zone: Value[str] = NOTHING
    concurrency: Value[str] = NOTHING
    shrinks: bool = False


class Addon(Thing, frozen=True):
    """An installed product, or one of its objects (`tree`) as evidence.

    `name` and `version` are those of its chart. `ignores_claims`: whether Karpenter adds no nodes for resource claims.
    """

    name: Value[str]
    tree: Mapping | None = None
    version: Value[str] = NOTHING
    ignores_claims: Value[bool] = NOTHING


class Monitor(Thing, frozen=True):
    """A Prometheus server; `kind` is that of its object or chart.

    `shards`: servers that divide what is scraped; `memory` is that of each. `scrapes`: whether it scrapes the cluster's
    nodes; if unset, the rights of its `account` decide.
    """

    name: Value[str]
    kind: str
    scrapes: Value[bool]
    account: Value[str] = NOTHING
    namespace: Value[str] = NOTHING
    shards: Value[int] = NOTHING
    memory: Value[int] = NOTHING
    memory_limit: Value[int] = NOTHING


class Mirror(Thing, frozen=True):
    """A registry cache in the code: images of `registry` below `path` are `prefix`/... there.

    Parts of the prefix that only the account knows are in <>, for people to read.
    """

    cloud: str
    root: str
    registry: str
    path: str
    prefix: str


class Service(Thing, frozen=True):
    """A Service. `ports` counts those of a load balancer; `addressed` says whether it takes an address."""

    name: Value[str]
    ports: int
    addressed: bool
