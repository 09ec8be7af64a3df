"""Inventory of everything that was read."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from typing import Annotated

from msgspec import Struct

from kcheck.model.base import Thing
from kcheck.model.clusters import Autoscaler, Cluster, Network, PodRange, Reserved, Subnet
from kcheck.model.pods import Addon, Definition, FieldError, Mirror, Monitor, Service, Workload
from kcheck.model.pools import KarpenterPool, NodePool, Reservation
from kcheck.model.queues import Admission, Namespace, PriorityClass, Queue, Quota, Scheduler, Sharing, Watcher
from kcheck.text.text import Span
from kcheck.text.values import Record, Unknown
from kcheck.text.yaml_nodes import Mapping


class Manifest(Thing, frozen=True):
    """A Kubernetes object as written."""

    kind: str
    api_version: str
    tree: Mapping


class Resource(Thing, frozen=True, eq=False):
    """An instance of a Terraform resource; `module` is the address of its module."""

    type: str
    address: str
    module: str
    record: Record


class Raw(Struct, frozen=True):
    """Kinds of objects and types of resources that raw rules need; None means all."""

    kinds: frozenset[str] | None = frozenset()
    types: frozenset[str] | None = frozenset()


class Input(Thing, frozen=True):
    """A problem of files: unreadable ones, templates, or a faulty suppression.

    `about`: distinguishes several of one kind and file if the id does not.
    """

    kind: Annotated[str, "unreadable, not-rendered, templates, chart, unused-suppression, forbidden-suppression ..."]
    path: Annotated[str, "the file or folder"]
    about: str = ""
    name: Annotated[str, "the rule that a suppression names, or the chart; empty for others"] = ""
    reason: Annotated[str, "why it cannot be read or rendered, or why a finding was accepted; empty for others"] = ""
    expires: Annotated[str, "the last day of a suppression in the settings; empty for others"] = ""
    count: Annotated[int, "how many templates there are", "templates"] = 0


class Candidates(Struct, frozen=True):
    """Candidate clusters of manifests, and how to decide between them.

    `on_each`: whether they are environments of one root, so that what makes nodes is on every one. `elsewhere`: whether
    a cluster that is not judged is nearer than they are.
    """

    clusters: tuple[Cluster, ...]
    what: str
    way: str
    on_each: bool = False
    elsewhere: bool = False

    @property
    def reason(self) -> str:
        """The missing input and how to set it."""
        return f"{self.what}; {self.way}"

    @property
    def size_reason(self) -> str:
        """Reason for rules that only need a number of nodes."""
        return f"{self.what}; set --nodes N"


class Sync(Struct, frozen=True, eq=False):
    """A GitOps object that applies the `folders` of a repository.

    `heals`: whether it restores deleted objects. `where`: what it says of its clusters, which `names` may name; empty
    for its own.
    """

    name: str
    place: Span
    folders: re.Pattern[str]
    heals: bool
    where: str
    names: tuple[str, ...]


NOWHERE = Candidates((), "no cluster in this tree", "check the manifests together with the Terraform of their cluster")
"""Candidates of manifests in a tree without a cluster."""


class Inventory(Struct, eq=False):
    """Everything that was read; `cluster_of` joins workloads and clusters.

    `candidates_of`: clusters on which other objects may be. `doubts`: by pool id, why there may be no such pool, or
    several. `objects`, `resources`: raw ones that rules need. `scope_of`: folder to which a kustomization assigns an
    object that it renders from files elsewhere. `synced`: objects of Argo CD and Flux. `libraries`: root modules that
    look like modules for others. `rendered`: folders where charts, kustomizations or templates may make objects.
    """

    clusters: list[Cluster] = []
    autoscalers: list[Autoscaler] = []
    pools: list[NodePool] = []
    networks: list[Network] = []
    subnets: list[Subnet] = []
    ranges: list[PodRange] = []
    reserved: list[Reserved] = []
    reservations: list[Reservation] = []
    karpenter: list[KarpenterPool] = []
    workloads: list[Workload] = []
    mirrors: list[Mirror] = []
    addons: list[Addon] = []
    services: list[Service] = []
    classes: list[PriorityClass] = []
    queues: list[Queue] = []
    limits: list[Quota] = []
    namespaces: list[Namespace] = []
    schedulers: list[Scheduler] = []
    admissions: list[Admission] = []
    sharings: list[Sharing] = []
    watchers: list[Watcher] = []
    monitors: list[Monitor] = []
    definitions: list[Definition] = []
    field_errors: list[FieldError] = []
    cluster_of: dict[Thing, Cluster] = {}
    candidates_of: dict[Thing, Candidates] = {}
    doubts: dict[str, str] = {}
    objects: list[Manifest] = []
    resources: list[Resource] = []
    scope_of: dict[Thing, str] = {}
    synced: list[Sync] = []
    libraries: frozenset[str] = frozenset()
    rendered: frozenset[str] = frozenset()

    def has_content(self) -> bool:
        """Whether there is anything that rules can judge."""
        return any((
            self.clusters, self.workloads, self.karpenter, self.classes, self.queues, self.limits, self.schedulers,
            self.admissions, self.sharings, self.monitors, self.objects, self.resources,
        ))  # fmt: skip

    def place(self, things: Iterable[Thing], found: Cluster | Candidates | None) -> None:
        """Assign objects to a cluster or candidates; None leaves them open."""
        if isinstance(found, Candidates):
            self.candidates_of |= dict.fromkeys(things, found)
        elif found is not None:
            self.cluster_of |= dict.fromkeys(things, found)

    def unknown_cluster(self, thing: Thing) -> Unknown:
        """Return why the cluster of an applied object is unknown."""
        return Unknown(self.candidates_of.get(thing, NOWHERE).reason)

    def unknown_size(self, thing: Thing) -> Unknown:
        """Return why the size of an object's cluster is unknown."""
        return Unknown(self.candidates_of.get(thing, NOWHERE).size_reason)

    def divided(self, kinds: Sequence[str], key: Callable[..., str]) -> dict[str, Inventory]:
        """Split objects of some kinds into a partial inventory per key."""
        result: dict[str, Inventory] = defaultdict(Inventory)
        for kind in kinds:
            for thing in getattr(self, kind):
                getattr(result[key(thing)], kind).append(thing)
        return result

    def deployed_things(self) -> Iterator[Thing]:
        """Yield objects that are applied to a cluster."""
        yield from chain.from_iterable((
            self.workloads, self.addons, self.services, self.classes, self.queues, self.limits, self.namespaces,
            self.schedulers, self.admissions, self.sharings, self.watchers, self.monitors, self.definitions,
            self.field_errors, self.objects,
        ))  # fmt: skip
