"""Machines that the code of a cloud reserves."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcheck.clouds.reader import identity
from kcheck.model import NOTHING, Reservation
from kcheck.numbers.fields import Fields

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kcheck.model import Inventory
    from kcheck.source.values import Value
    from kcheck.terraform.module import Module


def read(cloud: str, kinds: tuple[str, ...], roots: Iterable[Module], inventory: Inventory) -> None:
    """Add the reservations of root modules, which are resources of some types, to the inventory."""
    for root in roots:
        for kind in kinds:
            for instance in root.instances(kind) if kind in root.kinds() else ():
                fields = Fields(cloud, kind, instance)

                def text(name: str, fields: Fields = fields) -> Value[str]:
                    return fields.text(name) if fields.has(name) else NOTHING

                found = Reservation(
                    identity(cloud, root, instance.address), instance.span, instance.address,
                    root.configuration.folder, root.environment, fields.number("size"),
                    name=text("name"), group=text("group"), machine=text("machine"),
                )  # fmt: skip
                inventory.reservations.append(found)
