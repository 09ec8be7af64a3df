"""Places as the programs of a forge want them: paths from the top of the repository, by the address of a rule."""

from __future__ import annotations

import os
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kcheck.rules import Rule
    from kcheck.world import World


class Repository:
    """The repository that the working directory is in; that directory itself where there is none."""

    @cached_property
    def top(self) -> str:
        """Its folder."""
        folder = os.getcwd()
        while not os.path.exists(os.path.join(folder, ".git")):
            above = os.path.dirname(folder)
            if above == folder:
                return os.getcwd()
            folder = above
        return folder

    def path(self, shown: str) -> str:
        """A path as findings show it, from the top of the repository; one outside of it as it is."""
        whole = os.path.abspath(shown)
        inside = os.path.join(whole, "").startswith(os.path.join(self.top, ""))
        return os.path.relpath(whole, self.top).replace(os.sep, "/") if inside else shown


def by_name(world: World) -> dict[str, Rule]:
    """The rules of a run by their names."""
    from kcheck import rules

    return {rule.name: rule for rule in rules.every(world.config.rules)}
