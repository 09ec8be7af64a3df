"""What a recording lacks, as its own contents show it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcheck.scale.usage.recording import Lack
from kcheck.text import units

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kcheck.scale.usage.recording import Recording
_DAY = 86_400


def lacks_of(recording: Recording) -> Iterator[Lack]:
    """What was not measured: time that is not kept, gaps, nodes without an exporter of GPUs."""
    has = recording.end - recording.begin
    if has < recording.asked * 0.99:
        text = f"the Prometheus has {has / _DAY:.2g} of {recording.asked / _DAY:.2g} days; raise its retention"
        yield Lack("window", text)
    if recording.gaps:
        lost = sum(end - begin for begin, end in recording.gaps)
        count = f"{len(recording.gaps)} gap{'s' * (len(recording.gaps) != 1)}"
        yield Lack("gaps", f"nothing was scraped for {units.readable(lost)} in {count}; that time is left out")
    nodes, silent = set(), set()
    for pod in recording.pods:
        wants = any(name.endswith("_gpu") for one in pod.containers.values() for name in one.requests)
        if wants and pod.node and pod.running:
            nodes.add(pod.node)
            if not any(one.gpus for one in pod.containers.values()):
                silent.add(pod.node)
    if silent and silent != nodes:
        some = ", ".join(sorted(silent)[:3])
        text = f"no GPU metrics from {len(silent)} of {len(nodes)} nodes with GPUs ({some}); install the exporter there"
        yield Lack("gpu", text)
