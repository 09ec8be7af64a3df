"""Jobs that their queue never admits, or admits only by borrowing from its cohort."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from typing import Annotated, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from kcheck.inventory.clouds.registry import cloud
from kcheck.model import FlavorQuota, PodTemplate, Queue, Workload
from kcheck.scale.queues import admitting_queue, by_kind_and_name, unnamed_queue
from kcheck.scale.unschedulable import more_nodes
from kcheck.scale.world import World
from kcheck.scale.world.memory import once
from kcheck.text.need import NotKnown, first_unknown, if_set, need
from kcheck.text.text import grouped
from kcheck.text.units import counted
from kcheck.text.values import Known, Origin, Unknown, Unset, Value, known, number

_GI = 2**30
Flavors: TypeAlias = "dict[str, dict[str, int]]"
"""Amounts by resource and flavor; the only one of Volcano has no name."""

Held: TypeAlias = "Counter[tuple[str, str]]"
"""Amounts by flavor and resource."""


class Excess(Struct, frozen=True):
    """Request of a job beyond a queue or quota: CPUs, GiB, devices."""

    resource: Annotated[str, "resource by its name in quotas"]
    asked: Annotated[int, "what all its pods ask for: GPUs, CPUs, GiB of memory"]
    most: Annotated[int, "the most that it can get, in the same unit"]
    parts: Annotated[str, "the sum over its pods"]
    kind: Annotated[str, "ClusterQueue, Queue (Volcano), or ResourceQuota of namespace"]
    name: Annotated[str, "the name of the queue or namespace"]
    flavor: Annotated[
        str | None, "the flavor that gives most, if that is too little for equal pods, which share one; else null"
    ] = None
    cohort: Annotated[str | None, "the cohort from which its queue borrows; null without one"] = None


def excess(job: Workload, world: World) -> Excess | None:
    """Find the excess that bars a job from its queue or namespace."""
    queue = _queue(job, world)
    if queue is not None and _beyond(job, queue, _own(queue)):  # what it may borrow counts only where it has to
        found = _beyond(job, queue, most(queue, world))
        if found is not None:
            return replace(found, cohort=known(queue.cohort))
    fixed = known(job.rigid) if job.batch else all(isinstance(one.kept, Unset) for one in job.templates)
    return _beyond_namespace(job, world) if fixed and not job.per_node else None


def borrowed(job: Workload, world: World) -> Excess | None:
    """Find the excess of a job over its queue that the cohort can lend."""
    queue = _queue(job, world)
    found = _beyond(job, queue, _own(queue)) if queue is not None and queue.kind == "ClusterQueue" else None
    if queue is None or found is None or _beyond(job, queue, most(queue, world)):
        return None
    return replace(found, cohort=need(queue.cohort))


def gpus_at_most(queue: Queue, world: World) -> int | None:
    """Return the maximum GPUs in the pools of a queue's cluster."""
    cluster = world.inventory.cluster_of.get(queue)
    if cluster is None or more_nodes(cluster, world):
        return None
    total = 0
    for pool in (one for one in world.pools.of_cluster(cluster) if if_set(one.machine.gpu)):
        by_hand = not cloud(cluster.cloud).autoscaler_provider and isinstance(pool.size.max_nodes, Unknown)
        slots, nodes = world.pools.slots(pool), None if by_hand else if_set(pool.size.max_nodes)
        if slots is None or slots.high is None or nodes is None:
            return None
        total += slots.high * nodes
    return total


def _queue(job: Workload, world: World) -> Queue | None:
    """Return the queue that admits all pods of a job or none of them."""
    if not job.batch or job.per_node or job.shrinks or isinstance(job.queue, Unset):
        return None
    found = admitting_queue(job, world)
    if found is None:
        need(first_unknown((job.queue, job.namespace, unnamed_queue("", world.deployed.scope(job), world))))
    return found


# --- what a queue gives


def _own(queue: Queue) -> Flavors:
    """Return the quota of a queue without borrowing."""
    if queue.kind == "Queue":
        return {} if isinstance(queue.quotas, Unset) else {name: {"": n} for name, n in need(queue.quotas).items()}
    return _by_resource({(one.flavor, one.resource): one.nominal for one in need(queue.flavors)})


def _by_resource(amounts: dict[tuple[str, str], int]) -> Flavors:
    result: Flavors = {}
    for (flavor, resource), amount in amounts.items():
        result.setdefault(resource, {})[flavor] = amount
    return result


def most(queue: Queue, world: World) -> Flavors:
    """Return the maximum quota of a queue, while no other queue uses what it lends.

    As Kueue's `potentialAvailable`:
    https://github.com/kubernetes-sigs/kueue/blob/main/pkg/cache/scheduler/resource_node.go.
    Raises NotKnown if a quota is not known, or the code has nothing else of its cohort, or cohorts form a circle.
    """
    if queue.kind == "Queue" or isinstance(queue.cohort, Unset):
        return _own(queue)
    scope = world.deployed.scope(queue)
    held, parents = _held(scope, world), [need(queue.cohort)]
    while (above := _cohort(scope, parents[-1], world)) is not None and not isinstance(above.cohort, Unset):
        parents.append(need(above.cohort))
    own = {(one.flavor, one.resource): one.nominal for one in need(queue.flavors)}
    if _members(scope, world)[parents[0]] == [queue] and above is None and len(parents) == 1:
        if any(one.borrowing is None for one in need(queue.flavors)):  # other queues of its cohort are elsewhere
            raise NotKnown(Unknown("it may borrow from its cohort", Origin((queue.place,))))
        return _by_resource({(q.flavor, q.resource): q.nominal + (q.borrowing or 0) for q in need(queue.flavors)})
    found = held[parents[-1]]
    for name in parents[-2::-1]:
        above = _cohort(scope, name, world)
        found = _lent(found, held[name], need(above.flavors) if above else ())
    return _by_resource(_lent(found, Counter(own), need(queue.flavors)))


def _lent(above: Held, own: Held, quotas: tuple[FlavorQuota, ...]) -> Held:
    """Return the available quota of a queue or cohort, borrowed included."""
    by_key = {(one.flavor, one.resource): one for one in quotas}
    result: Held = Counter()
    for key in above.keys() | own.keys():
        quota = by_key.get(key)
        kept = 0 if quota is None or quota.lending is None else max(0, own[key] - quota.lending)
        limit = None if quota is None or quota.borrowing is None else own[key] + quota.borrowing
        result[key] = kept + above[key] if limit is None else min(kept + above[key], limit)
    return result


def _cohort(scope: str, name: str, world: World) -> Queue | None:
    return next(iter(by_kind_and_name(scope, world).get(("Cohort", name), ())), None)


@once
def _members(scope: str, world: World) -> dict[str, list[Queue]]:
    """Index ClusterQueues and Cohorts by their cohort."""
    nodes = [one for one in world.deployed.in_scope(scope).queues if one.kind in ("ClusterQueue", "Cohort")]
    return grouped(nodes, lambda one: "" if isinstance(one.cohort, Unset) else need(one.cohort))


@once
def _held(scope: str, world: World) -> dict[str, Held]:
    """Sum the quota of each cohort: its own, and what its queues and cohorts lend."""
    members = _members(scope, world)
    below = {name: [need(one.name) for one in own if one.kind == "Cohort"] for name, own in members.items()}
    result: dict[str, Held] = {}
    try:
        order = list(TopologicalSorter(below).static_order())
    except CycleError:
        raise NotKnown(Unknown("its cohorts form a circle")) from None
    for name in order:
        cohort = _cohort(scope, name, world)
        held: Held = Counter()
        for one in need(cohort.flavors) if cohort else ():
            held[one.flavor, one.resource] += one.nominal
        for member in members.get(name, ()):
            quotas = {(one.flavor, one.resource): one for one in need(member.flavors)}
            own = result[need(member.name)] if member.kind == "Cohort" else {k: q.nominal for k, q in quotas.items()}
            for key, amount in own.items():
                lending = quotas[key].lending if key in quotas else None
                held[key] += amount if lending is None else min(amount, lending)
        result[name] = held
    return result


# --- what jobs ask for


def _beyond(job: Workload, queue: Queue, given: Flavors) -> Excess | None:
    """Find the excess of a template, or of all pods, over the flavors."""
    pods, name = _least(job, queue), known(queue.name) or ""
    best = {resource: max(flavors.values()) for resource, flavors in given.items() if len(flavors) > 1}
    for template in pods if best else ():
        found = _first((template,), best, queue.kind, name)
        if found is not None:
            flavors = given[found.resource]
            return replace(found, flavor=max(flavors, key=lambda flavor: flavors[flavor]))
    return _first(pods, {resource: sum(flavors.values()) for resource, flavors in given.items()}, queue.kind, name)


def _beyond_namespace(job: Workload, world: World) -> Excess | None:
    """Find the excess of all pods of a job over their namespace's quotas."""
    space = known(job.namespace)
    for quota in world.deployed.beside(job).limits if space else ():
        if quota.kind != "ResourceQuota" or known(quota.namespace) != space:
            continue
        hard = {
            key.removeprefix("requests."): int(text)
            for key, text in (known(quota.hard) or {}).items()
            if not key.startswith("limits.") and text.isdigit()
        }
        found = _first(job.templates, hard, "ResourceQuota of namespace", space or "")
        if found is not None:
            return found
    return None


def _least(job: Workload, queue: Queue) -> tuple[PodTemplate, ...]:
    """Return the pods to admit together: all, or Volcano's minAvailable."""
    least, every = known(job.least), sum(number(one.count, 0) for one in job.templates)
    if queue.kind != "Queue" or least is None or least >= every:
        return job.templates
    only = job.templates if len(job.templates) == 1 else ()
    return tuple(replace(one, count=Known(least, Origin((one.place,)))) for one in only)


def _first(pods: tuple[PodTemplate, ...], most: dict[str, int], kind: str, name: str) -> Excess | None:
    """Find the first resource whose requests exceed a queue or quota."""
    for resource, asking in _asked(pods).items() if most else ():
        amounts = [(one.count, amount) for one, amount in asking if resource in most]
        each = [(need(count), asked) for count, amount in amounts if (asked := if_set(amount))]
        asked = sum(count * amount for count, amount in each)
        unit = {"cpu": 1000, "memory": _GI}.get(resource, 1)
        if resource in most and asked > most[resource] * (1000 if resource == "cpu" else 1):
            parts = " + ".join(f"{counted(count, 'pod')} x {amount / unit:,.4g}" for count, amount in each)
            own = most[resource] if resource != "memory" else most[resource] // _GI
            return Excess(resource, -(-asked // unit), own, parts, kind, name)
    return None


def _asked(pods: tuple[PodTemplate, ...]) -> dict[str, list[tuple[PodTemplate, Value[int]]]]:
    """Return pods and their requests by resource."""
    found: dict[str, list[tuple[PodTemplate, Value[int]]]] = {}
    for template in pods:
        for resource, amount in requests_of(template):
            found.setdefault(resource, []).append((template, amount))
    return found


def requests_of(template: PodTemplate) -> Iterator[tuple[str, Value[int]]]:
    """Yield the requests of a pod by resource, and itself."""
    names = {known(one.gpu) for one in template.containers if not one.init} - {None}
    if len(names) == 1:
        yield str(names.pop()), template.gpus
    yield "cpu", template.cpu
    yield "memory", template.memory
    yield "pods", Known(1, Origin((template.place,)))
