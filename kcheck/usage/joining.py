"""Recorded pods and the code that they came from."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from kcheck.model import PodTemplate, Workload
    from kcheck.usage.recording import Pod, Recording


class Match(Struct, frozen=True):
    """A recorded pod with what the code has of it.

    `job` is what the pod belongs to, as a person calls it: the kind and name of its outermost owner, such as
    ("PyTorchJob", "train"); runs of a CronJob are one job. `workload` and `template` are None for what is not in the
    code.
    """

    pod: Pod
    job: tuple[str, str]
    workload: Workload | None = None
    template: PodTemplate | None = None


class Doubt(Struct, frozen=True):
    """A job that may be that of several workloads, or a workload whose name is not known; and why."""

    what: str
    why: str


class Joined(Struct):
    """A recording and the code: a match for each pod, in the order of the recording, and what is in one only."""

    recording: Recording
    matches: list[Match] = []
    strangers: list[tuple[str, tuple[str, str], int]] = []
    unseen: list[Workload] = []
    doubts: list[Doubt] = []
