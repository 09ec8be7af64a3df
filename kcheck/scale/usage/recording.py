"""Recording of a cluster: JSON, compressed by gzip.

All times are seconds since 1970 in UTC, or durations in seconds. CPU is in millicores, memory in bytes, GPU memory in
MiB (as DCGM has it), power in watts, use of a GPU in percent.
"""

from __future__ import annotations

import zlib
from functools import lru_cache
from typing import Annotated, TypeAlias

import msgspec
from msgspec import Meta, Struct, field

from kcheck.scale.usage.histogram import Histogram  # msgspec asks for it when it reads
from kcheck.text.control_characters import visible
from kcheck.text.errors import FailedError
from kcheck.text.files import system

VERSION = 1
HOUR = 3600
LARGEST = 2 << 30
"""Most bytes of a recording, unpacked: forty times that of 5,000 pods."""
_LAST = 253_402_300_799
"""Last second of the year 9999."""
Whole: TypeAlias = Annotated[int, Meta(ge=0, le=1 << 53)]
Measure: TypeAlias = Annotated[float, Meta(ge=0, le=float(1 << 63))]
"""Counts and measures, bounded so that sums stay finite whoever wrote them."""


class RecordingError(FailedError):
    """The reason why a file is no recording, and the remedy, in one line."""

    def __init__(self, text: str) -> None:
        super().__init__(visible(text))


class Owner(Struct, frozen=True):
    """Owner of a pod or of another owner."""

    kind: str
    name: str


NOBODY = Owner("", "")
"""Owner of a pod recorded without any; an empty list of owners says that nobody knows."""


class Gpu(Struct):
    """GPU, or a MIG slice of one (`profile`), as a container of a pod used it.

    `busy` has samples of its utilisation and `tensor` of its tensor cores, both by percent; `memory` is the most
    that was used of `memory_total`, `power` the sum of `power_samples` samples.
    """

    id: str
    model: str = ""
    profile: str = ""
    busy: dict[Whole, Whole] = {}
    tensor: dict[Whole, Whole] = {}
    memory: Measure = 0.0
    memory_total: Measure = 0.0
    power: Measure = 0.0
    power_samples: Whole = 0


class Container(Struct):
    """Container of a pod, with `requests` and `limits` by resource.

    `starting` has the samples of CPU of the first minutes of the pod, `cpu` those after. `memory_peak` is exact.
    `killed` is the largest memory limit at which it was killed for want of memory; 0 where that never happened.
    `first` is when it was first measured.
    """

    requests: dict[str, Measure] = {}
    limits: dict[str, Measure] = {}
    starting: Histogram = {}
    cpu: Histogram = {}
    memory: Histogram = {}
    memory_peak: Measure = 0.0
    first: Whole | None = None
    restarts: Whole = 0
    kills: Whole = 0
    killed: Measure = 0.0
    gpus: list[Gpu] = []


class Hours(Struct):
    """Means of whole hours from hour `first` on; None where not measured.

    CPU is in millicores, memory in MiB; `busy` is the sum over the GPUs of the pod, each in percent. All are means of
    the `seconds` of the hour in which the pod was measured.
    """

    first: Whole = 0
    cpu: list[Whole | None] = []
    memory: list[Whole | None] = []
    busy: list[Whole | None] = []
    seconds: list[Whole] = []


class Pod(Struct):
    """Pod that was seen. `owners` are from its own controller outwards.

    `running` is for how many seconds it was measured. Times that are not known are None: `ended` also of a pod that
    still ran at the end. `first` and `last` are the begins of steps. `waiting` is for how many seconds it was seen
    Pending; `pending` when that was last.
    """

    namespace: str
    name: str
    owners: list[Owner] = []
    node: str = ""
    labels: dict[str, str] = {}
    priority: str = ""
    created: Whole | None = None
    scheduled: Whole | None = None
    started: Whole | None = None
    ended: Whole | None = None
    first: Whole | None = None
    last: Whole | None = None
    running: Whole = 0
    waiting: Whole = 0
    pending: Whole | None = None
    containers: dict[str, Container] = {}
    hours: Hours = field(default_factory=Hours)

    @property
    def requested(self) -> dict[str, float]:
        """Sum of its containers' requests; limits count if no requests are recorded."""
        result: dict[str, float] = {}
        for container in self.containers.values():
            for name, amount in (container.limits | container.requests).items():
                result[name] = result.get(name, 0) + amount
        return result


class Node(Struct):
    """Node that was seen from `first` to `last`."""

    name: str
    labels: dict[str, str] = {}
    provider: str = ""
    allocatable: dict[str, Measure] = {}
    first: Whole | None = None
    last: Whole | None = None
    seconds: Whole = 0


class QueueWait(Struct):
    """Waiting times in a queue: count, mean and 95th percentile."""

    system: str
    queue: str
    what: str
    count: Measure
    mean: Measure
    high: Measure


class Lack(Struct, frozen=True):
    """A quantity not measured or matched: `why`, and the remedy."""

    what: str
    why: str


class Recording(Struct):
    """Recording from `begin` to `end`, measured every `step` seconds.

    `until` is how far it got: `end` if it is whole. `asked` is the time that was asked for, which may be longer than
    what the Prometheus keeps. `source` names the Prometheus, without any secret; `matchers` select one cluster of it.
    `namespaces` has the labels of namespaces, `gaps` the times from which there are no samples at all.
    """

    version: int
    begin: Whole
    end: Whole
    until: Whole
    step: Whole
    interval: Whole
    asked: Whole
    source: str = ""
    matchers: list[str] = []
    pods: list[Pod] = []
    nodes: list[Node] = []
    namespaces: dict[str, dict[str, str]] = {}
    waits: list[QueueWait] = []
    gaps: list[tuple[int, int]] = []
    lacks: list[Lack] = []

    @property
    def is_whole(self) -> bool:
        """Whether all of it was measured."""
        return self.until >= self.end


class _Version(Struct):
    version: int


def as_bytes(recording: Recording) -> bytes:
    """Encode a recording; the same recording gives the same bytes."""
    packer = zlib.compressobj(6, zlib.DEFLATED, zlib.MAX_WBITS | 16)
    return packer.compress(msgspec.json.encode(recording)) + packer.flush()


def read(path: str, *, part: bool = False) -> Recording:
    """Read the recording in a file; with `part`, also an unfinished one.

    Raises RecordingError if there is none, or it is cut off, too large, or of another version.
    """
    try:
        data = system.read(path)
    except OSError as error:
        raise RecordingError(f"{path}: {error.strerror or error}") from error
    return decoded(data, path, part=part)


def decoded(data: bytes, path: str, *, part: bool = False) -> Recording:
    """Decode a recording. Raises RecordingError if the file is none."""
    found = _decoded(data, path)
    if not found.is_whole and not part:
        raise RecordingError(f"{path}: the recording was not finished; run the same kcheck usage record again")
    return found


@lru_cache(maxsize=1)
def _decoded(data: bytes, path: str) -> Recording:
    """Cache the last recording: a fix reads it after each round."""
    text = _unpacked(data, path) if data[:2] == b"\x1f\x8b" else data
    again = "make it again with kcheck usage record"
    try:
        version = msgspec.json.decode(text, type=_Version).version
        if version != VERSION:
            raise RecordingError(f"{path}: a recording of version {version}, but this kcheck reads {VERSION}; {again}")
        found = msgspec.json.decode(text, type=Recording)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise RecordingError(f"{path}: not a recording of kcheck usage record ({error}); {again}") from error
    problem = _problem(found)
    if problem:
        raise RecordingError(f"{path}: {problem}; {again}")
    return found


def _unpacked(data: bytes, path: str) -> bytes:
    unpacker = zlib.decompressobj(zlib.MAX_WBITS | 16)
    try:
        text = unpacker.decompress(data, LARGEST)
    except zlib.error as error:
        raise RecordingError(f"{path}: damaged ({error}); make it again with kcheck usage record") from error
    if unpacker.unconsumed_tail:
        raise RecordingError(f"{path}: larger than {LARGEST >> 30} GiB; record a shorter window")
    if not unpacker.eof:
        raise RecordingError(f"{path}: incomplete; copy it again, or record it again with kcheck usage record")
    return text


def _problem(found: Recording) -> str:
    """Return a contradiction in a recording; empty if there is none."""
    if not found.begin < found.end <= _LAST or found.step <= 0 or found.interval <= 0:
        return "its times make no sense"
    longest = (found.end - found.begin) // HOUR + 2
    for pod in found.pods:
        hours = pod.hours
        lists = (hours.cpu, hours.memory, hours.busy, hours.seconds)
        if hours.first < 0 or any(hours.first + len(one) > longest for one in lists):
            return f"pod {pod.namespace}/{pod.name} has hours outside of it"
    return ""
