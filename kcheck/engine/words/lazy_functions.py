"""What computes words: modules that are imported when one of their functions is first called.

A run reads few words. To import all that compute one takes 60 ms, which is three times what Python takes to start.
"""

# ruff: noqa: PLC0414 - to be imported from here
from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kcheck.scale import addresses as addresses
    from kcheck.scale import placement as placement
    from kcheck.scale.facts import basics as basics
    from kcheck.scale.facts import bundles as bundles
    from kcheck.scale.facts import claims as claims
    from kcheck.scale.facts import control_plane as control_plane
    from kcheck.scale.facts import dns as dns
    from kcheck.scale.facts import evictions as evictions
    from kcheck.scale.facts import fabrics as fabrics
    from kcheck.scale.facts import fragmented as fragmented
    from kcheck.scale.facts import fragments as fragments
    from kcheck.scale.facts import gangs as gangs
    from kcheck.scale.facts import gpu_usage as gpu_usage
    from kcheck.scale.facts import gpus as gpus
    from kcheck.scale.facts import growth as growth
    from kcheck.scale.facts import jobs as jobs
    from kcheck.scale.facts import karpenter as karpenter
    from kcheck.scale.facts import larger_ranges as larger_ranges
    from kcheck.scale.facts import limits as limits
    from kcheck.scale.facts import money as money
    from kcheck.scale.facts import monitoring as monitoring
    from kcheck.scale.facts import needs as needs
    from kcheck.scale.facts import pods as pods
    from kcheck.scale.facts import pools as pools
    from kcheck.scale.facts import pulls as pulls
    from kcheck.scale.facts import queues as queues
    from kcheck.scale.facts import ranges as ranges
    from kcheck.scale.facts import retirements as retirements
    from kcheck.scale.facts import runs as runs
    from kcheck.scale.facts import savings as savings
    from kcheck.scale.facts import scaling as scaling
    from kcheck.scale.facts import shortages as shortages
    from kcheck.scale.facts import spot as spot
    from kcheck.scale.facts import starts as starts
    from kcheck.scale.facts import support as support
    from kcheck.scale.facts import taints as taints
    from kcheck.scale.facts import tiers as tiers
    from kcheck.scale.facts import tolerations as tolerations
    from kcheck.scale.facts import usage as usage
    from kcheck.scale.facts import volumes as volumes
else:
    _OF_SCALE = ("addresses", "placement")

    class _Later:
        """Stands for a module in the tables of words."""

        def __init__(self, module: str) -> None:
            self._module = module

        def __getattr__(self, name: str) -> object:
            found = None

            def call(*given: object) -> object:
                nonlocal found
                if found is None:
                    found = getattr(import_module(self._module), name)
                return found(*given)

            return call

    def __getattr__(name: str) -> _Later:
        return _Later(f"kcheck.{'scale' if name in _OF_SCALE else 'scale.facts'}.{name}")
