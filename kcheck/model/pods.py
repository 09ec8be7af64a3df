"""The contents of a cluster: workloads, their pods and images, add-ons and Services."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from kcheck.model.base import NOTHING, Thing
from kcheck.text.values import Unset

if TYPE_CHECKING:
    from kcheck.text.values import Value
    from kcheck.text.yaml_nodes import Mapping

STAY = "cluster-autoscaler.kubernetes.io/safe-to-evict"
LOCAL = f"{STAY}-local-volumes"
UNDISTURBED = "karpenter.sh/do-not-disrupt"
"""Annotations: two that keep the autoscaler and Karpenter from moving pods, one with volumes to leave behind."""


class Image(Thing, frozen=True):
    """A container's image. `registry` is its host, docker.io for every spelling of Docker Hub.

    Of an `untagged` one the text has no tag because a chart gives it.
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
    """Taints that a pod does not mind; an empty key or effect stands for all."""

    key: str
    operator: str
    value: str
    effect: str


class Claim(Struct, frozen=True):
    """Devices that pods claim by dynamic resource allocation: its name in the pod, and the object that says which.

    With `shared` that object is one claim for all pods; otherwise each gets its own, made from a template.
    """

    name: str
    source: str
    shared: bool


class Volume(Struct, frozen=True):
    """A volume of a pod: its kind (emptyDir, hostPath ...), whether it is in memory, and its path on the node."""

    name: str
    kind: str
    memory: bool
    path: str = ""


class Reference(Struct, frozen=True):
    """An object that a pod names and cannot start without."""

    kind: str
    name: Value[str]


class Definition(Thing, frozen=True):
    """An object that pods may name, or a StorageClass.

    Of a claim, `modes` are its access modes and `storage` is its class, which does not matter where it asks for a
    `chosen` volume; of a class, `storage` is the provisioner.
    """

    kind: str
    name: Value[str]
    namespace: Value[str]
    modes: Value[tuple[str, ...]] = NOTHING
    storage: Value[str] = NOTHING
    chosen: bool = False


class Container(Thing, frozen=True):
    """A container of a pod. CPU is in millicores, memory in bytes; requests and limits are those that are written.

    `init` says that it ends before the others start, as a sidecar does not. `gpu` is the name of the resource that GPUs
    are asked for by, with the texts of its request and its limit. `rdma`
    says that it asks for interfaces of RDMA or EFA. `starters` are words of its command that start processes which
    wait for each other, such as torchrun. `mounts` are the paths at which it has volumes. `claims` names those of its
    pod's claims whose devices it sees; `extended` are other resources it asks for, which may be devices too.
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
        """The CPU it asks for: its request, by default its limit."""
        return _request(self.cpu_request, self.cpu_limit)

    @property
    def memory(self) -> Value[int]:
        """The memory it asks for: its request, by default its limit."""
        return _request(self.memory_request, self.memory_limit)


def _request(request: Value[int], limit: Value[int]) -> Value[int]:
    return limit if isinstance(request, Unset) and not isinstance(limit, Unset) else request


class PodTemplate(Thing, frozen=True):
    """Equal pods of a workload: `count` of them at once; `role` tells them from its others, such as Worker.

    `selection` is what they ask of a node's labels: one of several sets of requirements. `spread` says that a required
    anti-affinity puts each on a node of its own. `ports` are those they take of the node. `grace` is in seconds. Of the
    GPUs of one pod, `gpus` counts whole cards, `shares` says that parts of cards are asked for. `safe_to_evict` is
    the annotation that keeps the cluster autoscaler from moving them, `do_not_disrupt` the one that keeps Karpenter
    from it, `movable_volumes` the one that names volumes on the disk of the node with which it may.
    `asks_as_one` says that the pod asks for CPU or memory itself, for all its containers. Of the devices that it
    claims, `device_classes` are the classes of accelerators, `shared_claim` names a claim on such that all pods share,
    `all_cards` says that a pod takes all cards of its node, and `claims_fabric` that it gets interfaces of a fabric.
    `node_devices` says that it sees the devices of its node, as privileged ones do. Required affinity to its own kind
    keeps the pods in one domain of a label, `packed_by`; Kueue keeps them, or slices of them, in domains of `topology`.
    `devices` says that it asks for any: cards, parts of them, interfaces, or claims. `references` are the objects that
    it names.
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
    devices: Value[bool] = NOTHING
    references: tuple[Reference, ...] = ()


class Workload(Thing, frozen=True):
    """Something that runs pods. `pods` is how many at once; of a DaemonSet, one on each node (`per_node`).

    `batch` says that it ends, `rigid` that its pods wait for each other. `gang` names what starts its pods together
    or not at all; `queue_system` is kueue or volcano. Of a job that has ended, finished pods stay `ttl` seconds.
    `least` is how many pods a gang starts with, `retries` how often it starts again; a launcher gives each worker
    `slots` processes, or each pod starts `processes`. A `release` is a chart with its values: which images share a
    pod, and how many pods run, is not known. `group` is the API group of its kind, `api` the version that it is
    written for; `hooked` says that a tool such as Helm removes it. `native_gang` is the field by which it asks for a
    gang of Kubernetes' own scheduler. `partial` ones only change parts of another manifest. `disposed` is the key
    that asks for volumes which are deleted with it. A CronJob runs at the times of its `schedule`, in a
    `time_zone`, unless it is `suspended`; `concurrency` says what becomes of a run that the next one meets. One that
    `shrinks` may be admitted by Kueue with fewer pods.
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
    retries: Value[int] = NOTHING
    retries_each: Value[int] = NOTHING
    spares_disruptions: Value[bool] = NOTHING
    cleaning: Value[str] = NOTHING
    shutdown: Value[bool] = NOTHING
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

    `name` and `version` are those of its chart. Of Karpenter, `ignores_claims` says that it adds no nodes for resource
    claims.
    """

    name: Value[str]
    tree: Mapping | None = None
    version: Value[str] = NOTHING
    ignores_claims: Value[bool] = NOTHING


class Monitor(Thing, frozen=True):
    """A Prometheus server; `kind` is that of its object, or its chart.

    Its `shards` divide what is scraped, each with so much memory. `scrapes` says whether it scrapes the nodes of its
    cluster; where that is unset, the rights of its `account` say so.
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

    What only the account knows of the prefix is in <>: such a name is for people.
    """

    cloud: str
    root: str
    registry: str
    path: str
    prefix: str


class Service(Thing, frozen=True):
    """A Service. `ports` counts those of a load balancer; `addressed` means it takes an address."""

    name: Value[str]
    ports: int
    addressed: bool
