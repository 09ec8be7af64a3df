"""Match recorded pods with the code they came from."""

from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase

from msgspec import Struct

from kcheck.config.numbers import profiles
from kcheck.model import PodTemplate, Workload
from kcheck.scale.usage.recording import NOBODY, Lack, Owner, Pod, Recording
from kcheck.scale.world import World
from kcheck.text.regex import regex
from kcheck.text.units import some
from kcheck.text.values import Known, known

_RANDOM = "[bcdfghjklmnpqrstvwxz2456789]"
"""Letters of Kubernetes' random names: apimachinery's util/rand."""
_OF_POD = regex(rf"(.+)-{_RANDOM}{{5}}")
_OF_REPLICA_SET = regex(rf"(.+)-{_RANDOM}{{5,10}}")
_OF_RUN = regex(r"(.+)-[0-9]{8,10}")
"""Names of CronJob runs: minutes since 1970, seconds in older versions."""
_INDEX = regex(r"(.+)-[0-9]{1,6}")
_STEP = regex(r"(.+)-[^-]+")


class Match(Struct, frozen=True):
    """Recorded pod with its part of the code.

    `job` is the job's usual name: kind and name of the pod's outermost owner, such as ("PyTorchJob", "train"); runs of
    a CronJob are one job. `workload` and `template` are None for pods that are not in the code.
    """

    pod: Pod
    job: tuple[str, str]
    workload: Workload | None = None
    template: PodTemplate | None = None


class Joined(Struct):
    """Recording matched with the code, and the rest of both.

    `strangers` ran and are not in the code: namespace, job, number of pods. `unseen` are in the code and never ran.
    `doubts` are jobs that may be those of several workloads, and workloads of unknown name.
    """

    recording: Recording
    matches: list[Match] = []
    strangers: list[tuple[str, tuple[str, str], int]] = []
    unseen: list[Workload] = []
    doubts: list[Lack] = []


def joined(recording: Recording, world: World | None) -> Joined:
    """Match a recording with the code, if there is any."""
    found = [one for one in (world.inventory.workloads if world else ()) if not one.partial]
    code = _Code(found)
    result = Joined(recording)
    strangers: dict[tuple[str, tuple[str, str]], int] = {}
    doubtful: dict[tuple[str, tuple[str, str]], list[Workload]] = {}
    seen: set[Workload] = set()
    every = [(pod, meant := code.workloads(pod), _job(pod, meant)) for pod in recording.pods]
    runs = _generated((pod.namespace, *job) for pod, meant, job in every if not meant)
    for pod, meant, (kind, name) in every:
        job = kind, runs.get((pod.namespace, kind, name), name)
        key = (pod.namespace, job)
        seen.update(meant)
        if len(meant) == 1:
            result.matches.append(Match(pod, job, meant[0], _template(pod, meant[0])))
            continue
        result.matches.append(Match(pod, job))
        if meant:
            doubtful[key] = meant
        else:
            strangers[key] = strangers.get(key, 0) + 1
    result.strangers = [(*key, count) for key, count in sorted(strangers.items(), key=lambda one: (-one[1], one[0]))]
    result.doubts = [_several(*key, meant) for key, meant in sorted(doubtful.items())]
    for workload in found:
        if not isinstance(workload.name, Known):
            result.doubts.append(Lack(f"{workload.kind} in {workload.place.source.path}", "its name is not known"))
        elif workload not in seen:
            result.unseen.append(workload)
    return result


def _job(pod: Pod, meant: list[Workload]) -> tuple[str, str]:
    """Return the job of a pod, else its outermost owner."""
    names = {(one.kind, str(known(one.name))) for one in meant}
    return names.pop() if len(names) == 1 else _named_job(pod)


_NAMED = 3


def _several(namespace: str, job: tuple[str, str], meant: list[Workload]) -> Lack:
    places = sorted({f"{one.place.source.path}:{one.place.begin.line}" for one in meant})
    return Lack(
        f"{job[0]} {namespace}/{job[1]}",
        f"the code has it {len(meant)} times ({some(places, _NAMED)}); name the folder of the measured cluster alone",
    )


class _Code:
    """Workloads of the code by the owners of their pods."""

    def __init__(self, workloads: Iterable[Workload]) -> None:
        self._named: dict[str, list[Workload]] = {}
        self._makers: dict[tuple[str, str], list[tuple[Workload, str]]] = {}
        for workload in workloads:
            name = known(workload.name)
            if name is None:
                continue
            self._named.setdefault(name, []).append(workload)
            for kind, rest in _made(workload, name):
                self._makers.setdefault((kind, name), []).append((workload, rest))
        self._answers: dict[tuple[str, tuple[Owner, ...], str], list[Workload]] = {}

    def workloads(self, pod: Pod) -> list[Workload]:
        """List the workloads that a pod may belong to: one, if the code is clear."""
        own = tuple(chain(pod))
        key = (pod.namespace, own, "" if own else pod.name)
        if key not in self._answers:
            found = self._by_owners(pod, own) if pod.owners else self._by_name(pod)
            self._answers[key] = found
        return self._answers[key]

    def _by_owners(self, pod: Pod, chain: tuple[Owner, ...]) -> list[Workload]:
        for owner in reversed(chain):
            found = self._in(pod, (one for one in self._named.get(owner.name, ()) if one.kind == owner.kind))
            if found:
                return found
        for owner in chain:
            for name in _beginnings(owner.name):
                made = self._makers.get((owner.kind, name), ())
                found = self._in(pod, (one for one, rest in made if fnmatchcase(owner.name[len(name) :], rest)))
                if found:
                    return found
        if chain:
            return self._unlisted(pod, chain)
        return self._in(pod, (one for one in self._named.get(pod.name, ()) if one.kind == "Pod"))

    def _unlisted(self, pod: Pod, chain: tuple[Owner, ...]) -> list[Workload]:
        """List workloads of unlisted kinds with an owner's name."""
        table = profiles.workloads()
        names = (one for owner in reversed(chain) for one in self._named.get(owner.name, ()))
        return self._in(pod, (one for one in names if f"{one.group}/{one.kind}".lstrip("/") not in table))

    def _by_name(self, pod: Pod) -> list[Workload]:
        """List workloads by the name of a pod alone."""
        for name in _guessed(pod.name):
            found = self._in(pod, self._named.get(name, ()))
            if found:
                return found
        return []

    @staticmethod
    def _in(pod: Pod, found: Iterable[Workload]) -> list[Workload]:
        """List workloads that may be in a pod's namespace, each once."""
        fits = [one for one in dict.fromkeys(found) if known(one.namespace) in (None, pod.namespace)]
        sure = [one for one in fits if known(one.namespace) is not None]
        return sure or fits


def _made(workload: Workload, name: str) -> Iterator[tuple[str, str]]:
    """Yield each kind a workload creates, with a pattern for its name's end."""
    entry = profiles.workloads().get(f"{workload.group}/{workload.kind}".lstrip("/"))
    if name.endswith("-"):  # of generateName
        yield workload.kind, "?*"
    for kind, names in (entry.get("makes", {}) if entry else {}).items():
        yield from ((kind, form.removeprefix("*").replace("?", "?*")) for form in names.split())


def _beginnings(name: str) -> Iterator[str]:
    """Yield a name and its beginnings up to each dash, the longest first."""
    yield name
    for end in range(len(name) - 1, 0, -1):
        if name[end] == "-":
            yield name[: end + 1]
            yield name[:end]


def _template(pod: Pod, workload: Workload) -> PodTemplate | None:
    """Find the template of a pod by its containers and role."""
    found = [one for one in workload.templates if _has_containers(one, pod)]
    if len(found) > 1:
        rest = pod.name.removeprefix(str(known(workload.name))).lower()
        roles = [one for one in found if one.role and f"-{one.role.lower()}" in rest]
        found = sorted(roles, key=lambda one: -len(one.role))[:1] or [one for one in found if not one.role]
    return found[0] if len(found) == 1 else None


def _has_containers(template: PodTemplate, pod: Pod) -> bool:
    """Whether a template may have a pod's containers, some injected."""
    names = {known(one.name) for one in template.containers}
    return None in names or not pod.containers or not names.isdisjoint(pod.containers)


# --- owners of pods, as recorded, or by names alone


def chain(pod: Pod) -> list[Owner]:
    """List the owners of a pod from its controller outwards.

    Empty if nothing was recorded.
    """
    found = [owner for owner in pod.owners if owner != NOBODY]
    if not found:
        return []
    last = found[-1]
    if last.kind == "ReplicaSet" and (match := _OF_REPLICA_SET.fullmatch(last.name)):
        found.append(Owner("Deployment", match[1]))
    elif last.kind == "Job" and (match := _OF_RUN.fullmatch(last.name)):
        found.append(Owner("CronJob", match[1]))
    return found


def _guessed(name: str) -> Iterator[str]:
    """Yield possible names of a pod's owners, by its name alone: the longest first."""
    yield name
    short = match[1] if (match := _OF_POD.fullmatch(name)) else name
    if short != name:
        yield short
    for pattern in (_OF_REPLICA_SET, _OF_RUN, _INDEX):
        if match := pattern.fullmatch(short):
            yield match[1]
    while match := _STEP.fullmatch(short):  # such as a role: train-worker-0
        short = match[1]
        yield short


def _generated(names: Iterable[tuple[str, str, str]]) -> dict[tuple[str, str, str], str]:
    """Find prefixes made by generateName, by namespace, kind and name."""
    begins: dict[tuple[str, str, str], set[str]] = {}
    for namespace, kind, name in names:
        if match := _OF_POD.fullmatch(name):
            begins.setdefault((namespace, kind, f"{match[1]}-"), set()).add(name)
    return {
        (namespace, kind, name): begin
        for (namespace, kind, begin), found in begins.items()
        if len(found) > 1
        for name in found
    }


def _named_job(pod: Pod) -> tuple[str, str]:
    """Return kind and name of a pod's job, as recorded, else by its name."""
    found = chain(pod)
    if found:
        return found[-1].kind, found[-1].name
    if pod.owners:  # it has none, for sure
        return "Pod", pod.name
    match = _OF_POD.fullmatch(pod.name)
    short = match[1] if match else pod.name
    for pattern in (_OF_RUN, _OF_REPLICA_SET if match else _INDEX):
        if found_name := pattern.fullmatch(short):
            return "Pod", found_name[1]
    return "Pod", short
