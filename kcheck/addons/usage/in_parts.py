"""Recordings that can be interrupted and continued from a file."""

import os
import time
from collections.abc import Callable

from kcheck.addons.usage.prometheus import Prometheus
from kcheck.addons.usage.recorder import Question, Recorder
from kcheck.scale.usage.recording import RecordingError, as_bytes, read
from kcheck.text.files import save

_EVERY = 30.0
"""Minimum seconds between saves."""

_SHARE = 20
"""Minimum ratio of recording time to saving time."""


def begin(
    prometheus: Prometheus, asked: Question, part: str, show: Callable[[str], None], *, ends_now: bool
) -> Recorder:
    """Start a recording, or resume the one in `part`.

    Raises RecordingError if the part is of another recording, or there is no answer.
    """
    show("looking for metrics")
    if not os.path.isfile(part):
        return Recorder.new(prometheus, asked)
    old = read(part, part=True)
    mine = (prometheus.url, asked.window, asked.step, list(asked.matchers), old.end if ends_now else asked.end)
    if mine != (old.source, old.asked, old.step, old.matchers, old.end):
        raise RecordingError(f"{part} belongs to another recording, of {old.source}; give its options, or delete it")
    return Recorder.of_part(prometheus, old)


def run(recorder: Recorder, part: str, show: Callable[[str], None]) -> None:
    """Record to the end; save the progress to `part`, also on failure.

    Raises RecordingError if it failed, KeyboardInterrupt if it was stopped; both say what `part` contains.
    """
    recording = recorder.recording
    saved, cost, at = time.monotonic(), 0.0, recording.until

    def keep() -> None:
        nonlocal saved, cost, at
        begin = time.monotonic()
        save.write(part, as_bytes(recording))
        saved, at = time.monotonic(), recording.until
        cost = saved - begin

    def after_slice() -> None:
        if not recording.is_whole and time.monotonic() - saved > max(_EVERY, _SHARE * cost):
            keep()

    try:
        recorder.run(show, after_slice)
    except (RecordingError, KeyboardInterrupt) as error:
        if recorder.is_consistent and recording.until > at:
            keep()
        if not os.path.isfile(part):
            raise
        share = 100 * (recording.until - recording.begin) // (recording.end - recording.begin)
        there = f"{share} % is in {part}: run the same command to go on"
        if isinstance(error, RecordingError):
            raise RecordingError(f"{error}; {there}") from error
        raise KeyboardInterrupt(there) from error
