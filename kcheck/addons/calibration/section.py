"""Measured delays as the section of kcheck.yaml."""

from __future__ import annotations

from textwrap import wrap
from typing import TYPE_CHECKING

from kcheck.addons.calibration.model import RecordingError

if TYPE_CHECKING:
    from kcheck.addons.calibration.measures import Measure
    from kcheck.addons.calibration.model import Recording

_RATES = ("launch_rate", "pod_start_rate")
_SHARES = ("stragglers", "never_ready", "slow_deletes")


def as_section(recordings: list[Recording], found: list[Measure]) -> str:
    """The section `simulation` with a comment for each delay, missing ones included.

    Raises:
        RecordingError: there is none.
    """
    what = " and ".join(recording.what for recording in recordings)
    if all(one.value is None for one in found):
        why = "; ".join(dict.fromkeys(one.note for one in found))
        raise RecordingError(f"no delay found in {what}: {why}")
    lines = ["# Measured delays for kcheck.yaml.", f"# Recorded: {what}.", "simulation:"]
    for one in found:
        if one.value is not None:
            lines += wrap(one.note, 110, initial_indent="  # ", subsequent_indent="  # ")
            lines.append(f"  {one.name}: {_written(one.name, one.value)}")
    for one in found:
        if one.value is None:
            lines += wrap(f"{one.name} not found: {one.note}", 110, initial_indent="  # ", subsequent_indent="  #   ")
    return "\n".join(lines) + "\n"


def _written(name: str, value: float) -> str:
    """A delay as the settings have it."""
    if name in _RATES:
        return _plain(max(0.001, min(value, 1e6)))
    if name in _SHARES:
        return f"{value:.4f}".rstrip("0").rstrip(".")
    return f"{_plain(value)}s" if value >= 1 else f"{_plain(value * 1000)}ms"


def _plain(value: float) -> str:
    """A number with three digits that count, and without an exponent."""
    digits = 0 if value >= 100 else 1 if value >= 10 else 2 if value >= 1 else 3
    text = f"{value:.{digits}f}"
    return (text.rstrip("0").rstrip(".") if digits else text) or "0"
