"""Delays of a recording as a section of kcheck.yaml, with their derivation."""

from collections.abc import Iterable
from itertools import pairwise
from statistics import fmean, median
from textwrap import wrap
from typing import NamedTuple

from kcheck.addons.calibration import read
from kcheck.addons.calibration.model import CalibrationError, Loops, NodeTimes, Pod, Recording
from kcheck.scale.simulate.parameters import FIELDS, shown_seconds
from kcheck.text.units import counted

_FEWEST = 10

_MANY = 100
"""Minimum nodes from which the absence of something rare is no chance."""

_ENOUGH = 3

_PAUSE = 60
"""Seconds without a new node that separate scale-ups."""

_GIVEN_UP = 1800
"""Seconds after which a requested machine is no longer expected."""

_SLOW = 2
"""Multiple of the median above which something counts as slow."""

_LONGEST = 999_999
"""Longest delay that the settings accept, in seconds."""


class Measure(NamedTuple):
    """A setting of kcheck.yaml; `note` says why if `value` is None."""

    name: str
    value: float | None
    note: str


def settings(files: Iterable[str]) -> str:
    """Format the delays of recorded runs as settings.

    Raises CalibrationError if a file is no recording, or none has a delay.
    """
    recordings = [read.read_file(file) for file in files]
    return as_section(recordings, merged(map(measures, recordings)))


def measures(recording: Recording) -> list[Measure]:
    """Derive all delays that kcheck.yaml supports, in its order."""
    found = {
        one.name: one
        for one in (
            *_boot(recording), _launch_rate(recording), *_pods(recording), _pull(recording), _call(recording),
            *_latency(recording), *_loops(recording),
        )
    }  # fmt: skip
    return [_plausible(found[name]) for name in FIELDS if name in found]


def merged(parts: Iterable[list[Measure]]) -> list[Measure]:
    """Take each delay from the first recording that has it."""
    found: dict[str, Measure] = {}
    for part in parts:
        there = {one.name for one in found.values() if one.value is not None}
        there |= {"loop_per_node"} if "loop" in there else set()
        found |= {
            one.name: one for one in part if one.name not in there and (one.value is not None or one.name not in found)
        }
    return [found[name] for name in FIELDS if name in found]


def _plausible(one: Measure) -> Measure:
    if one.value is None or 0 <= one.value <= _LONGEST:
        return one
    return Measure(one.name, None, f"{one.value:.3g} is not a plausible value ({one.note})")


def percentile(values: list[float], share: float) -> float:
    """Return the value at a share of sorted values, such as 0.5 for the median."""
    return values[min(len(values) - 1, int(share * len(values)))]


def _spread(values: list[float]) -> str:
    ends = (shown_seconds(percentile(values, share)) for share in (0.1, 0.9))
    return f"{' to '.join(ends)} from the 10th to the 90th percentile"


def _why(recording: Recording, name: str, otherwise: str = "not in this file") -> Measure:
    return Measure(name, None, recording.why.get(name, otherwise))


def _coarse(recording: Recording, name: str, value: float) -> Measure | None:
    """Replace a delay below the recording's time resolution; None for others."""
    if recording.step < 1 or value >= 3 * recording.step:
        return None
    return Measure(name, None, f"about {shown_seconds(value)}, but times are only exact to {recording.step:g} s")


def _share(name: str, some: int, every: int, note: str) -> Measure:
    """Return a share; without a value if nothing was seen among few nodes."""
    if not some and every < _MANY:
        return Measure(name, None, f"{note}: a share of 0 takes {_MANY} nodes")
    return Measure(name, some / every, note)


# --- nodes that come


def _boot(recording: Recording) -> list[Measure]:
    boots = sorted(n.ready - n.launched for n in recording.nodes if n.ready is not None and n.launched is not None)
    from_, alone = "launch to Ready", bool(boots)
    if not boots:
        boots, from_ = _boots_in_order(recording), "launch, as requests and launch rate let expect it, to Ready"
    if not boots:
        return [_why(recording, "boot"), _why(recording, "boot_spread")]
    middle = median(boots)
    coarse = _coarse(recording, "boot", middle)
    if coarse or middle <= 0:
        return [coarse or Measure("boot", middle, from_)]
    result = [Measure("boot", middle, f"{from_}: median of {counted(len(boots), 'node')}; {_spread(boots)}")]
    if alone:
        spread = percentile(boots, 0.9) - percentile(boots, 0.1)
        result.append(Measure("boot_spread", spread, "from the 10th to the 90th percentile"))
    else:
        result.append(_why(recording, "boot_spread"))
    if recording.ordered:  # one that never comes would make others late
        return result
    slow = [boot - middle for boot in boots if boot > _SLOW * middle]
    text = f"{len(slow):,} of {counted(len(boots), 'node')} took more than {_SLOW} times the median"
    result.append(_share("stragglers", len(slow), len(boots), text))
    if slow:
        result.append(Measure("straggler_delay", sum(slow) / len(slow), "how much longer these took, on average"))
    if machines := [node for node in recording.nodes if node.launched is not None]:
        lost = sum(node.ready is None for node in machines)
        text = f"{lost:,} of {counted(len(machines), 'machine')} never became Ready"
        result.append(_share("never_ready", lost, len(machines), text))
    return result


def _boots_in_order(recording: Recording) -> list[float]:
    """Estimate boot times, assuming machines become ready in launch order."""
    rate = _pace(_joined(recording))
    start, launches = float("-inf"), []
    for request in sorted(recording.requests):
        start = max(request, start) + (1 / rate.per_second if rate else 0)
        launches.append(start)
    boots, at = [], 0
    for ready in sorted(node.ready for node in recording.nodes if node.ready is not None):
        while at < len(launches) and ready - launches[at] > _GIVEN_UP:
            at += 1
        if at < len(launches) and ready > launches[at]:
            boots.append(ready - launches[at])
            at += 1
    return sorted(boots)


def _joined(recording: Recording) -> list[float]:
    """Return when machines launched, else registered, else became ready."""
    columns = ([getattr(node, name) for node in recording.nodes] for name in ("launched", "registered", "ready"))
    return next((times for column in columns if (times := [time for time in column if time is not None])), [])


class Rate(NamedTuple):
    """How fast moments follow each other: `number` of `total` within `seconds`."""

    number: int
    total: int
    seconds: float

    @property
    def per_second(self) -> float:
        """Moments per second."""
        return self.number / self.seconds


def _pace(times: Iterable[float]) -> Rate | None:
    """Measure the pace of the longest run without a pause; None if too short.

    Of all windows with a quarter of the moments, take the one at the fastest quartile: neither pauses nor chance
    distort it.
    """
    parts: list[list[float]] = [[]]
    for time in sorted(times):
        if parts[-1] and time - parts[-1][-1] > _PAUSE:
            parts.append([])
        parts[-1].append(time)
    longest = max(parts, key=len)
    if len(longest) < _FEWEST:
        return None
    quarter = len(longest) // 4
    spans = sorted(late - early for early, late in zip(longest, longest[quarter:], strict=False))
    seconds = percentile(spans, 0.25)
    return Rate(quarter, len(longest), seconds) if seconds > 0 else None


def _launch_rate(recording: Recording) -> Measure:
    name = "launch_rate"
    rate = _pace(_joined(recording))
    if rate is None:
        return _why(recording, name, f"fewer than {_FEWEST} nodes came in a row, or all at once")
    did = "started" if any(node.launched is not None for node in recording.nodes) else "joined"
    text = f"{rate.number:,} of {counted(rate.total, 'node')} {did} within {shown_seconds(rate.seconds)}"
    if rate.seconds < 2 * recording.step:
        return Measure(name, None, f"{text}, but times are only exact to {recording.step:g} s")
    more = ", or more where boot times differ much" if did == "joined" else ", or more"
    if recording.pools > 1:
        return Measure(name, None, f"{text}, but of {recording.pools} pools; this rate is that of one")
    return Measure(name, rate.per_second, f"nodes per second{more}: {text}")


def _pods(recording: Recording) -> list[Measure]:
    rate = _pace(pod.started for pod in recording.pods)
    if rate is None or rate.seconds < 2 * recording.step:
        return [_why(recording, "pod_start_rate", f"fewer than {_FEWEST} pods started in a row, or all at once")]
    text = f"{rate.number:,} of {counted(rate.total, 'pod')} started within {shown_seconds(rate.seconds)}"
    more = "" if _queued(recording.pods) else ", or more"
    return [Measure("pod_start_rate", rate.per_second, f"pods per second{more}: {text}")]


def _queued(pods: list[Pod]) -> bool:
    """Whether pods queued between binding and start."""
    bound, started = _pace(pod.bound for pod in pods), _pace(pod.started for pod in pods)
    return bool(bound and started and started.per_second < 0.8 * bound.per_second)


def _pull(recording: Recording) -> Measure:
    name = "image_pull"
    if recording.pulls:
        pulls = sorted(recording.pulls)
        return Measure(name, median(pulls), f"median of {counted(len(pulls), 'pod')}; {_spread(pulls)}")
    waits = sorted(pod.started - pod.bound for pod in recording.pods)
    if not waits:
        return _why(recording, name)
    queued = _queued(recording.pods)
    value = waits[0] if queued else median(waits)
    which = "the quickest, because pods waited for each other," if queued else "median"
    note = f"bound to running: {which} of {counted(len(waits), 'pod')}; {_spread(waits)}"
    return _coarse(recording, name, value) or Measure(name, value, note)


def _latency(recording: Recording) -> list[Measure]:
    waits = sorted(n.gone - n.answered for n in recording.nodes if n.gone is not None and n.answered is not None)
    if not waits or percentile(waits, 0.1) < 0:  # the metrics stop counting a node before its call ends
        return [_why(recording, "delete_latency")]
    middle = median(waits)
    note = f"answer to gone: median of {counted(len(waits), 'node')}; {_spread(waits)}"
    coarse = _coarse(recording, "delete_latency", middle)
    result = [coarse or Measure("delete_latency", middle, note)]
    if coarse or recording.ordered:
        return result
    slow = [wait for wait in waits if wait > _SLOW * middle]
    text = f"{len(slow):,} took more than {_SLOW} times the median"
    result.append(_share("slow_deletes", len(slow), len(waits), text))
    if slow:
        result.append(Measure("slow_delete_latency", sum(slow) / len(slow), "of these, on average"))
    return result


# --- loops


def _loops(recording: Recording) -> list[Measure]:
    every = sorted(recording.loops)
    if not every:
        return [_why(recording, "loop")]
    calm = [one for one in every if one.empty * 10 <= one.nodes]
    marked = _total([one for one in calm if one.nodes * 10 >= every[-1].nodes * 9]) < _ENOUGH
    loops = every if marked else calm
    few, many = loops[0].nodes, loops[-1].nodes
    edge = (many - few) / 10
    small = [one for one in loops if one.nodes <= few + edge]
    large = [one for one in loops if one.nodes >= many - edge]
    how = f"median of {round(_total(loops)):,} loops {recording.how}"
    how += "; in most of them the autoscaler also marked empty nodes" if marked and calm != every else ""
    apart = many - few >= _FEWEST and _total(small) >= _ENOUGH and _total(large) >= _ENOUGH
    each = (_median(large) - _median(small)) / (_nodes(large) - _nodes(small)) if apart else 0.0
    if each > 0:
        base = max(0.0, _median(small) - each * _nodes(small))
        return [Measure("loop", base, how), Measure("loop_per_node", each, f"{_at(small)}, {_at(large)}")]
    usual = large if _total(large) >= _total(small) else small
    if recording.step or apart:
        how = f"{how}; {_at(usual)}"
    return [Measure("loop", _median(usual), how), Measure("loop_per_node", None, "needs loops at two cluster sizes")]


def _total(loops: list[Loops]) -> float:
    return sum(one.number for one in loops)


def _median(loops: list[Loops]) -> float:
    """Return the median work, weighted by the loops of each sample."""
    half, seen = _total(loops) / 2, 0.0
    ordered = sorted(loops, key=lambda one: one.work)
    for one, following in pairwise([*ordered, ordered[-1]]):
        seen += one.number
        if seen == half:
            return (one.work + following.work) / 2
        if seen > half:
            return one.work
    return ordered[-1].work


def _nodes(loops: list[Loops]) -> float:
    return sum(one.nodes * one.number for one in loops) / _total(loops)


def _at(loops: list[Loops]) -> str:
    return f"{shown_seconds(_median(loops))} with {counted(round(_nodes(loops)), 'node')}"


_FEWEST_DELETIONS = 5


def _call(recording: Recording) -> Measure:
    """Measure the median duration of delete calls.

    A call requested before the previous answer waited for it, so the time between answers is its duration. Batched
    calls are answered together.
    """
    pairs = sorted((n.answered, n.asked) for n in recording.nodes if n.answered is not None and n.asked is not None)
    if recording.ordered or not pairs:
        return _why(recording, "delete_call")
    least = min(answered - asked for answered, asked in pairs)
    exact = not all(answered.is_integer() for answered, _ in pairs)
    waited = [late - early for (early, _), (late, asked) in pairwise(pairs) if asked + least <= early]
    if len(waited) >= _FEWEST_DELETIONS and not _together(recording.nodes, max(0.0 if exact else 1.0, least / 2)):
        seconds, how = sorted(waited), "calls that waited for the one before"
    elif recording.calls:
        seconds, how = sorted(answered - asked for answered, asked in pairs), "calls, from request to answer"
    else:
        return _why(recording, "delete_call")
    of = f"{len(seconds):,} {how}"
    if exact:
        return Measure("delete_call", median(seconds), f"median of {of}; {_spread(seconds)}")
    return Measure("delete_call", fmean(seconds), f"mean of {of}, in whole seconds")


def _together(nodes: list[NodeTimes], moment: float) -> bool:
    """Whether requests sent within one `moment` are answered within one."""
    batches: dict[int, list[float]] = {}
    for node in nodes:
        if node.asked is not None and node.answered is not None:
            batches.setdefault(round(node.asked / moment) if moment else 0, []).append(node.answered)
    spans = [max(batch) - min(batch) for batch in batches.values() if len(batch) > 2]
    return bool(spans) and median(spans) <= moment


_RATES = ("launch_rate", "pod_start_rate")
_SHARES = ("stragglers", "never_ready", "slow_deletes")


def as_section(recordings: list[Recording], found: list[Measure]) -> str:
    """Format the section `simulation`, with a comment per delay.

    Raises CalibrationError if no delay was found.
    """
    what = " and ".join(recording.what for recording in recordings)
    if all(one.value is None for one in found):
        why = "; ".join(dict.fromkeys(one.note for one in found))
        raise CalibrationError(f"no delay found in {what}: {why}")
    lines = ["# Measured delays for kcheck.yaml.", f"# Recorded: {what}.", "simulation:"]
    for one in found:
        if one.value is not None:
            lines += wrap(one.note, 110, initial_indent="  # ", subsequent_indent="  # ")
            lines.append(f"  {one.name}: {_as_setting(one.name, one.value)}")
    for one in found:
        if one.value is None:
            lines += wrap(f"{one.name} not found: {one.note}", 110, initial_indent="  # ", subsequent_indent="  #   ")
    return "\n".join(lines) + "\n"


def _as_setting(name: str, value: float) -> str:
    if name in _RATES:
        return _three_digits(max(0.001, min(value, 1e6)))
    if name in _SHARES:
        return f"{value:.4f}".rstrip("0").rstrip(".")
    return f"{_three_digits(value)}s" if value >= 1 else f"{_three_digits(value * 1000)}ms"


def _three_digits(value: float) -> str:
    """Format a number with three significant digits, without exponent."""
    digits = 0 if value >= 100 else 1 if value >= 10 else 2 if value >= 1 else 3
    text = f"{value:.{digits}f}"
    return (text.rstrip("0").rstrip(".") if digits else text) or "0"
