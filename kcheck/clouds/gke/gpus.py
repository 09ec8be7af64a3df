"""GPUs of GKE's node pools: how many a node has, and how they are shared."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from kcheck.model import NOTHING, NodePool, Sharing
from kcheck.source.values import Known, Unset, Value, equals, known

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kcheck.numbers.fields import Fields

_IN_NAME = re.compile(r"-(\d+)g(?:-|$)")
_GPU = "nvidia.com/gpu"


def of_node(fields: Fields) -> Value[int]:
    """GPUs of one node: those attached to it, else those in the name of its machine type."""
    attached = fields.number("gpus")
    if not isinstance(attached, Unset):
        return attached
    name = fields.text("instance_type")
    match = _IN_NAME.search(known(name) or "")
    return Known(int(match[1]), name.origin) if match and isinstance(name, Known) else Unset(attached.origin)


def sharing(fields: Fields, pool: NodePool) -> Iterator[Sharing]:
    """How the nodes of a pool share their GPUs, if they do."""
    strategy, copies = fields.text("sharing"), fields.number("sharers")
    if not isinstance(strategy, Known) or isinstance(copies, Unset) or known(copies) == 1:
        return
    mps = equals(strategy, "MPS")
    yield Sharing(
        f"{pool.id}/sharing",
        pool.place,
        slices=() if mps else (copies,),
        mps=(copies,) if mps else (),
        mig=NOTHING,
        names=(_GPU,),
        pool=pool,
    )
