"""Machines that the code of a cloud reserves."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcheck.config.numbers.fields import Fields
from kcheck.inventory.clouds.reader import identity
from kcheck.model import Reservation

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kcheck.model import Inventory
    from kcheck.terraform.module import Module


def read(cloud: str, kind: str, roots: Iterable[Module], inventory: Inventory) -> None:
    """Add the reservations of root modules, which are resources of a type, to the inventory."""
    for root in roots:
        for instance in root.instances(kind) if kind in root.kinds() else ():
            fields = Fields(cloud, kind, instance)
            found = Reservation(
                identity(cloud, root, instance.address), instance.span, instance.address, root.configuration.folder,
                root.environment, fields.number("size"),
                **{name: fields.text(name) for name in ("name", "group", "machine") if fields.has(name)},
            )  # fmt: skip
            inventory.reservations.append(found)
