"""Record what a cluster did: slice after slice of its time, each added as a whole, so that the rest can come later."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from kcheck.addons.usage.facts import Facts
from kcheck.addons.usage.gaps import lacks_of
from kcheck.addons.usage.installation import look
from kcheck.addons.usage.merging import Merging, finished, is_of_time
from kcheck.addons.usage.samples import Samples
from kcheck.addons.usage.slices import Slice
from kcheck.addons.usage.waits import queue_waits
from kcheck.scale.usage.recording import HOUR, VERSION, Lack, Recording

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from kcheck.addons.usage.installation import Installation
    from kcheck.addons.usage.prometheus import Prometheus
_SCRAPED = 10_000_000
"""Samples that a query about a slice may read; Prometheus refuses more than 50 million, unless told otherwise."""

_LONGEST = 24
"""Hours of a slice."""


class Question(Struct, frozen=True):
    """What is to be recorded: the time before `end`, one sample every `step` seconds, of what matches."""

    window: int
    step: int
    end: int
    matchers: tuple[str, ...] = ()


class Recorder:
    """Makes a recording, or completes one. `is_consistent` is false only while a slice is added to it."""

    def __init__(self, prometheus: Prometheus, recording: Recording, installation: Installation) -> None:
        self.recording = recording
        self.is_consistent = True
        self._prometheus = prometheus
        self._installation = installation

    @classmethod
    def new(cls, prometheus: Prometheus, question: Question) -> Recorder:
        """A recorder with nothing recorded.

        Raises:
            HttpError: there is no answer, or nothing to record.
        """
        begin, end, step = question.end - question.window, question.end, question.step
        found = look(prometheus, list(question.matchers), begin, end, step=step)
        recording = Recording(
            VERSION, found.begin, end, found.begin, step, found.interval, asked=question.window, source=prometheus.url,
            matchers=list(question.matchers),
        )  # fmt: skip
        return cls(prometheus, recording, found)

    @classmethod
    def of_part(cls, prometheus: Prometheus, part: Recording) -> Recorder:
        """A recorder that goes on where another one has stopped.

        Raises:
            HttpError: there is no answer.
        """
        asked = part.end - part.asked
        return cls(prometheus, part, look(prometheus, part.matchers, asked, part.end, step=part.step, since=part.begin))

    def run(self, progress: Callable[[str], None], after_slice: Callable[[], None]) -> None:
        """Record what is missing; `after_slice` is called when one more slice is in the recording.

        Raises:
            HttpError: there is no answer any more; what was recorded until then is whole.
        """
        recording, installation = self.recording, self._installation
        begin, end = recording.begin, recording.end
        facts = Facts(self._prometheus, installation)
        merging = Merging(recording, installation.seen_by, *facts.standing(begin))
        samples = Samples(self._prometheus, installation, begin, recording.step, merging.pods.get)
        hours = slice_hours(installation)
        while not recording.is_whole:
            until = min(recording.until + hours * HOUR, end)
            progress(f"recording, {100 * (recording.until - begin) // (end - begin)} %")
            found = Slice(recording.until, until, -(-(until - recording.until) // HOUR))
            facts.add(found)
            samples.add(found)
            waits = queue_waits(self._prometheus, recording) if until >= end else []
            self.is_consistent = False
            merging.add(found)
            self._note(Lack("answers", text) for text in self._prometheus.warnings)
            if until >= end:
                recording.waits = waits
                self._finish()
            recording.until = until
            self.is_consistent = True
            after_slice()

    def _note(self, lacks: Iterable[Lack]) -> None:
        self.recording.lacks = list(dict.fromkeys([*self.recording.lacks, *lacks]))

    def _finish(self) -> None:
        """Leave out what was never measured, and say what lacks."""
        recording = self.recording
        recording.pods = sorted(
            (finished(pod, recording) for pod in recording.pods if is_of_time(pod, recording.begin)),
            key=lambda pod: (pod.namespace, pod.name),
        )
        recording.nodes.sort(key=lambda node: node.name)
        shortest = 2 * max(recording.step, recording.interval)
        recording.gaps = [(begin, end) for begin, end in recording.gaps if end - begin > shortest]
        said, recording.lacks = recording.lacks, []
        self._note(self._installation.lacks)
        self._note(lacks_of(recording))
        self._note(said)


def slice_hours(installation: Installation) -> int:
    """The hours of a slice of which one query reads no more samples than any Prometheus takes."""
    an_hour = installation.series * HOUR / installation.interval
    return max(1, min(_LONGEST, int(_SCRAPED / max(1, an_hour))))
