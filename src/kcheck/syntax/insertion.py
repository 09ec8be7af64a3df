"""What a fix adds, whatever the language."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

Scalar: TypeAlias = str | int | bool


@dataclass
class Insertion:
    """What is to be written into one block or map: attributes, and those inside it that do not exist yet."""

    attributes: dict[str, Scalar] = field(default_factory=dict)
    blocks: dict[str, Insertion] = field(default_factory=dict)

    def add(self, path: tuple[str, ...], value: Scalar) -> None:
        """Add the attribute at a path below it."""
        if len(path) == 1:
            self.attributes[path[0]] = value
        else:
            self.blocks.setdefault(path[0], Insertion()).add(path[1:], value)
