"""A small model of Karpenter, not calibrated: a node for every pod, empty ones by budget.

https://karpenter.sh/docs/concepts/disruption/ and /scheduling/: pods are batched for at most ten seconds, every node is
launched by itself, nodes that do not register are replaced, empty ones go after `consolidateAfter` as budgets allow.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcheck.scale.simulate.scaler import Scaler, Step

if TYPE_CHECKING:
    from kcheck.scale.simulate.nodes import Node
    from kcheck.scale.simulate.pods import Pods


class Karpenter(Scaler):
    """Karpenter's settings: `scan_interval` of its loops, `batch` nodes allowed by budgets."""

    def scale_up(self, now: float, pods: Pods) -> Step:
        """Begin a round: nodes for all pods that have none."""
        fleet, settings = self.fleet, self.settings
        asked = []
        want = pods.unschedulable - fleet.coming
        if self.case.ceiling is not None and want > 0:
            room = self.case.ceiling - fleet.target - self.case.system_nodes
            if room < want:
                self.hold("walls", settings.scan_interval)
            want = min(want, max(0, room))
        if want > 0:
            able = [group for group in fleet.groups if group.room > 0]
            if not able:
                self.hold("maxima of the pools", settings.scan_interval)
            asked = self.balanced(able, min(want, sum(group.room for group in able)), now)
        while fleet.idle:
            node = fleet.idle.popleft()
            node.since = now
            fleet.unneeded.append(node)
        return Step(self.cloud.loop, asked)

    def scale_down(self, now: float) -> list[Node]:
        """End a round: the empty nodes that may go."""
        return self.removable_nodes(now, max(0, self.settings.batch - self.in_progress))
