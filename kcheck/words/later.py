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
    from kcheck.words.derive import basics as basics
    from kcheck.words.derive import bundles as bundles
    from kcheck.words.derive import claims as claims
    from kcheck.words.derive import control_plane as control_plane
    from kcheck.words.derive import dns as dns
    from kcheck.words.derive import evictions as evictions
    from kcheck.words.derive import fabrics as fabrics
    from kcheck.words.derive import fragmented as fragmented
    from kcheck.words.derive import fragments as fragments
    from kcheck.words.derive import gangs as gangs
    from kcheck.words.derive import gpu_usage as gpu_usage
    from kcheck.words.derive import gpus as gpus
    from kcheck.words.derive import growth as growth
    from kcheck.words.derive import jobs as jobs
    from kcheck.words.derive import karpenter as karpenter
    from kcheck.words.derive import larger_ranges as larger_ranges
    from kcheck.words.derive import limits as limits
    from kcheck.words.derive import money as money
    from kcheck.words.derive import monitoring as monitoring
    from kcheck.words.derive import needs as needs
    from kcheck.words.derive import pods as pods
    from kcheck.words.derive import pools as pools
    from kcheck.words.derive import pulls as pulls
    from kcheck.words.derive import queues as queues
    from kcheck.words.derive import ranges as ranges
    from kcheck.words.derive import retirements as retirements
    from kcheck.words.derive import runs as runs
    from kcheck.words.derive import savings as savings
    from kcheck.words.derive import scaling as scaling
    from kcheck.words.derive import shortages as shortages
    from kcheck.words.derive import spot as spot
    from kcheck.words.derive import starts as starts
    from kcheck.words.derive import support as support
    from kcheck.words.derive import taints as taints
    from kcheck.words.derive import tiers as tiers
    from kcheck.words.derive import tolerations as tolerations
    from kcheck.words.derive import usage as usage
    from kcheck.words.derive import volumes as volumes
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
        return _Later(f"kcheck.{'scale' if name in _OF_SCALE else 'words.derive'}.{name}")
