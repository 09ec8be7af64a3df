"""Measured use of the code's containers, over all their runs."""

from msgspec import Struct

from kcheck.config.config import ConfigError
from kcheck.model import Container as CodeContainer
from kcheck.model import PodTemplate
from kcheck.scale.usage import histogram, joining, recording
from kcheck.scale.usage.histogram import Histogram
from kcheck.scale.usage.joining import Joined
from kcheck.scale.usage.nodes import devices
from kcheck.scale.usage.recording import Container, Pod, RecordingError
from kcheck.scale.world import World
from kcheck.scale.world.memory import once
from kcheck.text.values import known


class ContainerUse(Struct, frozen=True):
    """Measured use of a container, over `pods` pods and `seconds` of their time.

    CPU is in millicores, memory in bytes. `starting` has the samples of the first minutes of pods, `cpu` those after.
    `killed` is the largest memory limit at which one was killed, 0 if none was.
    """

    pods: int
    seconds: int
    starting: Histogram
    cpu: Histogram
    memory_peak: int
    kills: int
    killed: int


class GpuUse(Struct, frozen=True):
    """Measured use of the GPUs of a template's pods.

    `seconds` is the time of all GPUs together that they were held. `busy` has samples of
    utilisation in percent; memory is in MiB: the most of any GPU, and what it has. `power` is the mean in watts.
    """

    pods: int
    seconds: int
    model: str
    profile: str
    busy: dict[int, int]
    tensor: dict[int, int]
    memory: int
    memory_total: int
    power: int | None


@once
def of(world: World) -> Joined | None:
    """Match the settings' recording. Raises ConfigError if it cannot be read."""
    path = world.config.usage.recording
    if not path:
        return None
    try:
        found = recording.read(path)
    except RecordingError as error:
        raise ConfigError(f"usage: {error}") from error
    return joining.joined(found, world)


def containers(found: Joined) -> dict[CodeContainer, ContainerUse]:
    """Sum the measured use of each container in the code; skip those never seen."""
    groups: dict[CodeContainer, list[tuple[Pod, Container]]] = {}
    for match in found.matches:
        for one in match.template.containers if match.template else ():
            name = known(one.name)
            if name in match.pod.containers:
                groups.setdefault(one, []).append((match.pod, match.pod.containers[name]))
    return {one: _merged(own) for one, own in groups.items()}


def _merged(pairs: list[tuple[Pod, Container]]) -> ContainerUse:
    own = [container for _, container in pairs]
    return ContainerUse(
        pods=len(pairs),
        seconds=sum(pod.running for pod, _ in pairs),
        starting=histogram.merged(one.starting for one in own),
        cpu=histogram.merged(one.cpu for one in own),
        memory_peak=round(max(one.memory_peak for one in own)),
        kills=sum(one.kills for one in own),
        killed=round(max(one.killed for one in own)),
    )


def gpus(found: Joined) -> dict[PodTemplate, GpuUse]:
    """Sum the measured use of each template's GPUs; skip those DCGM never saw."""
    groups: dict[PodTemplate, list[Pod]] = {}
    for match in found.matches:
        if match.template is not None and any(one.gpus for one in match.pod.containers.values()):
            groups.setdefault(match.template, []).append(match.pod)
    return {template: _together(pods) for template, pods in groups.items()}


def _together(pods: list[Pod]) -> GpuUse:
    each = [gpu for pod in pods for one in pod.containers.values() for gpu in one.gpus]
    first = max(each, key=lambda gpu: gpu.memory)
    samples = sum(gpu.power_samples for gpu in each)
    return GpuUse(
        pods=len(pods),
        seconds=round(sum(pod.running * _held(pod) for pod in pods)),
        model=first.model,
        profile=first.profile,
        busy=histogram.merged(gpu.busy for gpu in each),
        tensor=histogram.merged(gpu.tensor for gpu in each),
        memory=round(first.memory),
        memory_total=round(first.memory_total),
        power=round(sum(gpu.power for gpu in each) / samples) if samples else None,
    )


def _held(pod: Pod) -> float:
    """Count the GPUs that a pod held, requested or else seen."""
    return devices(pod.requested) or len({gpu.id for one in pod.containers.values() for gpu in one.gpus})
