"""Draw pods and node groups of an EKS cluster, and compare kcheck's placement with a scheduler's verdicts."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from functools import cached_property
from random import Random
from typing import TYPE_CHECKING, Any

import yaml

from kcheck.scale import allocatable, placement
from kcheck.scale.allocatable import NOTHING_TAKEN
from kcheck.text.values import known
from tests.places import TESTS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from kcheck.model import NodePool
    from tests.conftest import Read

    Object = dict[str, Any]

STORED = TESTS / "golden" / "scheduler.txt"
"""Stored verdicts: name and digest of each case, and the pods that the scheduler put on each node."""

SEED, CASES, GROUPS = 1, 500, 60
CARDS = {
    "g5.12xlarge": ("nvidia.com/gpu", 4),
    "g5.24xlarge": ("nvidia.com/gpu", 4),
    "g4ad.16xlarge": ("amd.com/gpu", 4),
    "trn1.32xlarge": ("aws.amazon.com/neuron", 16),
    "dl1.24xlarge": ("habana.ai/gaudi", 8),
    "m5.2xlarge": ("", 0),
}
"""Machine types, with the resource that counts their GPUs, and the number of them."""
LABELS = {
    "tier": ("a", "b", "c"),
    "rank": ("3", "10", "007", "x1"),
    "example.org/team": ("blue", "red", ""),
    "nvidia.com/gpu.product": ("A10G", "H100"),
    "topology.kubernetes.io/zone": ("us-east-1a", "us-east-1b"),
}
_CLOUD = ("node.kubernetes.io/instance-type", "eks.amazonaws.com/nodegroup", "eks.amazonaws.com/capacityType")
_TAINTS = ("dedicated", "nvidia.com/gpu", "aws.amazon.com/neuron", "vpc.amazonaws.com/efa", "example.org/maintenance")
_EFFECTS = ("NoSchedule", "NoSchedule", "NoExecute", "PreferNoSchedule")
_HOST = "kubernetes.io/hostname"
_EFA = "vpc.amazonaws.com/efa"


@dataclass(frozen=True)
class Group:
    """A node group of eksctl."""

    name: str
    types: tuple[str, ...]  # the smallest one first
    labels: Mapping[str, str]
    taints: Sequence[Mapping[str, str]]
    spot: bool

    @property
    def config(self) -> Object:
        """The group's entry in a ClusterConfig."""
        whole = {"name": self.name, "instanceTypes": list(self.types), "labels": self.labels, "taints": self.taints}
        return {**whole, "spot": self.spot}

    def labels_of(self, machine: str) -> dict[str, str]:
        """Return the labels of a node: those of its group, and those that EKS adds."""
        own = (machine, self.name, "SPOT" if self.spot else "ON_DEMAND")
        return {**dict(zip(_CLOUD, own, strict=True)), **self.labels}


@dataclass(frozen=True)
class Case:
    """Identical pods for the nodes of a group: one, or more `copies` than fit on a node."""

    group: Group
    pod: Object
    copies: int

    @property
    def name(self) -> str:
        """The name of the pod."""
        return str(self.pod["metadata"]["name"])

    @cached_property
    def text(self) -> str:
        """The pod and the group as readable YAML."""
        return f"{manifest(self.pod)}---\n{manifest(self.group.config)}"

    @property
    def digest(self) -> str:
        """A short hash that changes whenever the case changes."""
        return hashlib.sha256(f"{self.copies} {self.text}".encode()).hexdigest()[:8]


def manifest(thing: object) -> str:
    """Return an object as YAML; text between `~` is written without quotes."""
    return re.sub(r"~([^~\n]+)~", r"\1", yaml.dump(thing, Dumper=_Plain, sort_keys=False))


@dataclass(frozen=True)
class Node:
    """A node for the pods of one case; no other node has its `own_resource`."""

    name: str
    labels: Mapping[str, str]
    taints: Sequence[Mapping[str, str]]
    resources: dict[str, str]

    @property
    def own_resource(self) -> str:
        """The name of the resource that no other node has."""
        return f"example.org/{self.name}"


class _Plain(yaml.SafeDumper):
    """A YAML dumper that writes repeated values in full, without aliases."""

    def ignore_aliases(self, data: object) -> bool:  # noqa: ARG002
        return True


class Cases:
    """All cases, with the groups and pods as kcheck reads them."""

    def __init__(self, read: Read) -> None:
        self.groups = [_group(Random(f"{SEED} group {i}"), f"g{i}") for i in range(GROUPS)]
        head = {"apiVersion": "eksctl.io/v1alpha5", "kind": "ClusterConfig", "metadata": {"name": "a", "region": "b"}}
        self._config = manifest({**head, "managedNodeGroups": [one.config for one in self.groups]})
        self.pools = {known(one.name): one for one in read({"cluster.yaml": self._config}).pools}
        self.all = [self._case(i) for i in range(CASES)]
        found = read({"pods.yaml": "---\n".join(manifest(one.pod) for one in self.all)})
        self.templates = {known(one.name): one.templates[0] for one in found.workloads}

    def _case(self, number: int) -> Case:
        group = self.groups[number % GROUPS]
        return _Drawing(Random(f"{SEED} {number}"), group, self.pools[group.name]).case(number)

    def nodes(self, case: Case) -> Iterator[Node]:
        """Yield the nodes that a group may have.

        Each type gives two: one with the least memory that may be left for pods, one with the most.
        """
        for room in allocatable.rooms(self.pools[case.group.name]):
            resource, count = CARDS[room.machine]
            ends = (room.memory_left.low, room.memory_left.high) if "memory" in case.text else (room.memory_left.low,)
            for end, memory in zip(("least", "most"), ends, strict=False):
                name = f"{case.name}-{room.machine.replace('.', '-')}-{end}"
                resources = {"cpu": f"{room.cpu_left.low}m", "memory": str(memory), "pods": "110", _EFA: "9"}
                resources |= {resource: str(count)} if resource else {}
                node = Node(name, {**case.group.labels_of(room.machine), _HOST: name}, case.group.taints, resources)
                node.resources[node.own_resource] = "9"
                yield node

    def disagreement(self, case: Case, placed: Sequence[int]) -> str:
        """Return how kcheck's answer differs from the pods that a scheduler puts on each node; empty if it does not.

        If kcheck says that pods fit, each node of a group of one type must take one; of a group of several types, any.
        If kcheck does not know, some nodes must take a pod and others must not.
        """
        template, pool = self.templates[case.name], self.pools[case.group.name]
        fit = placement.fit(template, pool)
        every, some = all(placed), any(placed)
        agrees = {True: every or (some and len(case.group.types) > 1), False: not some, None: some and not every}
        told = f"but the scheduler puts {placed} of {case.copies} pods on its nodes\n{case.text}"
        if not agrees[fit.fits]:
            return f"{fit}, {told}"
        each = placement.per_node(template, pool, NOTHING_TAKEN, None)
        if case.copies == 1 or fit.fits is not True or each is None:
            return ""
        most = case.copies if each.high is None else each.high
        smallest = placed[: len(placed) // len(case.group.types)]
        within = all(min(each.low, case.copies) <= one <= most for one in smallest if one)
        return "" if within else f"{each}, {told}"


def _group(rng: Random, name: str) -> Group:
    several = ("g5.12xlarge", "g5.24xlarge")
    types = several if rng.random() < 0.15 else (rng.choice(sorted(CARDS)),)
    labels = {key: rng.choice(values) for key, values in LABELS.items() if rng.random() < 0.6}
    taints = [
        {"key": key, "value": rng.choice(("", "true", "blue")), "effect": rng.choice(_EFFECTS)}
        for key in rng.sample(_TAINTS, rng.choice((0, 0, 1, 2)))
    ]
    return Group(name, types, labels, taints, rng.random() < 0.3)


class _Drawing:
    """A random generator of pods for one group, about half of which fit its nodes."""

    def __init__(self, rng: Random, group: Group, pool: NodePool) -> None:
        self.rng, self.group = rng, group
        self.machine = rng.choice(group.types)
        self.room = next(one for one in allocatable.rooms(pool) if one.machine == self.machine)
        self.labels = group.labels_of(self.machine)
        self.copies = 1
        names = ["main", *("log", "proxy")[: rng.choice((0, 0, 1, 2))]]
        self.main = [_container(name) for name in names]
        self.init = [_container(f"init{i}") for i in range(rng.choice((0, 0, 0, 1, 2)))]
        for one in self.init:
            if self.chance(0.5):
                one["restartPolicy"] = "Always"
        self.spec: Object = {"containers": self.main, **({"initContainers": self.init} if self.init else {})}

    def chance(self, share: float) -> bool:
        return self.rng.random() < share

    def case(self, number: int) -> Case:
        for share, draw in (
            (0.3, self.selector),
            (0.35, self.affinity),
            (0.95 if self.group.taints else 0.1, self.tolerations),
            (0.35, self.cards),
            (0.45, self.size),
            (0.08, self.pod_resources),
            (0.1, self.ports),
            (0.12, self.spread),
        ):
            if self.chance(share):
                draw()
        for one in self.main + self.init:
            one["resources"] = {side: asked for side, asked in one["resources"].items() if asked}
        labels = {"app": "train", "job": f"p{number}"}
        head: Object = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": f"p{number}", "labels": labels}}
        return Case(self.group, {**head, "spec": self.spec}, self.copies)

    # --- labels

    def key(self) -> str:
        ours = [key for key in LABELS if key in self.group.labels or "." not in key]  # drivers may add others
        return self.rng.choice((*self.labels, *self.group.labels, *self.group.labels, *ours, "absent"))

    def values(self, key: str) -> list[str]:
        """Return some values of a label, most often with the one that the node has."""
        others = [one for one in LABELS.get(key, ("other", *CARDS)) if one != self.labels.get(key)]
        found = self.rng.sample(others, self.rng.randint(0, len(others[:2])))
        own = [self.labels[key]] if key in self.labels and self.chance(0.8) else []
        return [*own, *found] or ["other"]

    def selector(self) -> None:
        keys = {self.key() for _ in range(self.rng.choice((1, 1, 2)))}
        keys = {key for key in keys if key in self.labels} if self.chance(0.7) else keys
        self.spec["nodeSelector"] = {key: self.values(key)[0] for key in sorted(keys)}

    def requirement(self) -> Object:
        key, operator = self.key(), self.rng.choice(("In", "In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"))
        if operator in ("Exists", "DoesNotExist"):
            return {"key": key, "operator": operator}
        if operator in ("Gt", "Lt"):
            return {"key": "rank", "operator": operator, "values": [self.rng.choice(("2", "3", "6", "7", "10"))]}
        return {"key": key, "operator": operator, "values": self.values(key)}

    def affinity(self) -> None:
        terms: list[Object] = [
            {"matchExpressions": [self.requirement() for _ in range(self.rng.choice((1, 1, 2)))]}
            for _ in range(self.rng.choice((1, 1, 1, 2, 3)))
        ]
        if self.chance(0.1):
            terms[0] = {}
        key = "requiredDuringSchedulingIgnoredDuringExecution"
        preferred = {"weight": 1, "preference": {"matchExpressions": [self.requirement()]}}
        own: Object = {key: {"nodeSelectorTerms": terms}} if self.chance(0.9) else {}
        if not own or self.chance(0.1):
            own["preferredDuringSchedulingIgnoredDuringExecution"] = [preferred]
        self.spec.setdefault("affinity", {})["nodeAffinity"] = own

    # --- taints

    def tolerations(self) -> None:
        found = [self.toleration(taint) for taint in self.group.taints if self.chance(0.93)]
        if self.chance(0.3):
            found.append(self.toleration({"key": "dedicated", "value": "true", "effect": "NoSchedule"}))
        self.spec["tolerations"] = found

    def toleration(self, taint: Mapping[str, str]) -> Object:
        """Return a toleration that matches a taint, or almost does."""
        if self.chance(0.1):
            return {"operator": "Exists"}
        if self.chance(0.45):
            found: Object = {"key": taint["key"], "operator": "Exists"}
        else:
            found = {"key": taint["key"], "operator": "Equal", "value": taint["value"]}
            if self.chance(0.2):
                found["value"] = "red"
            if self.chance(0.4):
                del found["operator"]
            if not found["value"] and self.chance(0.5):
                del found["value"]
        if self.chance(0.6):
            found["effect"] = taint["effect"] if self.chance(0.8) else self.rng.choice(_EFFECTS)
        if found.get("effect") == "NoExecute" and self.chance(0.5):
            found["tolerationSeconds"] = 300
        return found

    # --- what pods ask for

    def cards(self) -> None:
        name, most = CARDS[self.machine]
        every = self.main + self.init
        for one in self.rng.sample(every, min(len(every), self.rng.choice((1, 1, 2)))):
            own = name if self.chance(0.85) else ""
            own = own or self.rng.choice([other for other, _ in CARDS.values() if other])
            count = self.rng.choice((0, 1, max(1, most // 2), max(1, most // 2), most or 1, most + 1))
            forms = (f"~{count}~", f"~{count}~", f"~'{count}'~", f"~{count * 1000}m~", f"~{count}e0~")
            one["resources"]["limits"][own] = self.rng.choice(forms)
            if self.chance(0.3):
                one["resources"]["requests"][own] = f"~{count}~"
        if self.chance(0.25):
            self.main[0]["resources"]["limits"][_EFA] = "~1~"
        if self.chance(0.3):
            self.copies = 4

    def size(self) -> None:
        """Request CPU and memory close to what a node has left, or to a fraction of it."""
        share = 1
        if self.chance(0.35):
            share, self.copies = self.rng.choice((1, 2, 3)), 4
        memory = self.room.memory_left
        left = {"cpu": self.room.cpu_left.low, "memory": self.rng.choice((memory.low, memory.high or 0))}
        for resource in self.rng.choice((("cpu",), ("memory",), ("cpu", "memory"))):
            target = left[resource] // share + self.rng.choice((-1, 0, 0, 1))
            if self.chance(0.15):
                target //= 2
            self.ask(resource, target)

    def ask(self, resource: str, target: int) -> None:
        """Divide an amount among the containers that run at once; init containers request about what is left then."""
        beside = [one for one in self.init if "restartPolicy" in one]
        parts = [*self.main, *beside]
        amounts = [target // (2 * len(parts)) for _ in parts]
        amounts[0] = target - sum(amounts[1:])
        for one, amount in zip(parts, amounts, strict=True):
            self.write(one, resource, amount)
        before = 0
        for one in self.init:
            if one in beside:
                before += amounts[1]
            elif self.chance(0.7):
                self.write(one, resource, max(0, target - before + self.rng.choice((-1, 0, 1))))

    def write(self, one: Object, resource: str, amount: int) -> None:
        """Request an amount by request, by limit, or by both."""
        text = f"~{self.spelt(resource, amount)}~"
        side = self.rng.choice(("requests", "requests", "limits", "both"))
        if side != "limits":
            one["resources"]["requests"][resource] = text
        if side != "requests":
            most = text if side == "limits" else f"~{self.spelt(resource, 2 * amount + 1000)}~"
            one["resources"]["limits"][resource] = most

    def spelt(self, resource: str, amount: int) -> str:
        """Return an amount in one of the spellings that people and programs use."""
        if resource == "cpu":
            return self.rng.choice([
                f"{amount}m", f"{amount}m", f"{amount / 1000}", f"'{amount / 1000}'", f"{amount}e-3",
                f"{amount * 1000}u", f"{amount * 1000 - 1}u", f"'+{amount}m'", f"{amount / 1e6:.6f}k",
                f"{amount / 1000:.4f}",
            ])  # fmt: skip
        return self.rng.choice([
            f"{amount}", f"'{amount}'", f"{amount * 1000}m", f"{amount * 1000 - 1}m", f"{amount}e0",
            f"{amount / 1000:.3f}k", f"{amount >> 10}Ki", f"{amount / 2**20:.2f}Mi", f"{amount / 2**30:.4f}Gi",
            f"{amount / 1e9:.9f}G", f"{amount * 10}E-1",
        ])  # fmt: skip

    def pod_resources(self) -> None:
        """Request CPU for the pod as a whole, at least as much as its containers request."""
        target = self.room.cpu_left.low + self.rng.choice((-1, 0, 1))
        for one in (*self.main, *self.init):
            for side in one["resources"].values():
                side.pop("cpu", None)
        if self.chance(0.5):
            self.main[0]["resources"]["requests"]["cpu"] = "~500m~"
        whole = {"cpu": f"~{target}m~"}
        self.spec["resources"] = self.rng.choice(
            ({"requests": whole}, {"limits": whole}, {"requests": whole, "limits": whole})
        )

    # --- what copies of a pod do to each other

    def ports(self) -> None:
        self.copies = 3
        if self.chance(0.3):
            self.spec["hostNetwork"] = True
            self.main[0]["ports"] = [{"containerPort": 8080}]
        else:
            one = self.rng.choice(self.main + [one for one in self.init if "restartPolicy" in one])
            one["ports"] = [{"containerPort": 8080, "hostPort": 9090}, {"containerPort": 8081}]

    def spread(self) -> None:
        self.copies = 3
        choices: list[Object] = [
            {"matchLabels": {"app": "train"}},
            {"matchLabels": {"app": "other"}},
            {"matchExpressions": [{"key": "app", "operator": "In", "values": ["train", "other"]}]},
            {"matchExpressions": [{"key": "app", "operator": "NotIn", "values": ["train"]}]},
            {"matchExpressions": [{"key": "app", "operator": "Exists"}]},
            {"matchExpressions": [{"key": "app", "operator": "DoesNotExist"}]},
        ]
        term = {"labelSelector": self.rng.choice(choices), "topologyKey": _HOST}
        affinity = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
        self.spec.setdefault("affinity", {})["podAntiAffinity"] = affinity


def _container(name: str) -> Object:
    return {"name": name, "image": "registry.example.com/train:1", "resources": {"requests": {}, "limits": {}}}
