"""Places as the programs of a forge want them: paths from the top of the repository, by the address of a rule."""

from __future__ import annotations

import os
from functools import cached_property
from typing import TYPE_CHECKING

from kcheck.text.files import system
from kcheck.text.files.boundary import contains_path, repository

if TYPE_CHECKING:
    from kcheck.engine.rule import Rule
    from kcheck.scale.world import World


class Repository:
    """The repository that the working directory is in; that directory itself where there is none."""

    @cached_property
    def top(self) -> str:
        """Its folder."""
        return repository(".") or os.getcwd()

    def path(self, shown: str) -> str:
        """A path as findings show it, from the top of the repository; one outside of it as it is."""
        if not contains_path(self.top, shown):
            return shown
        return os.path.relpath(system.real_path(shown), self.top).replace(os.sep, "/")


def by_name(world: World) -> dict[str, Rule]:
    """The rules of a run by their names."""
    from kcheck.engine import rules

    return {rule.name: rule for rule in rules.all_rules(world.config.rules)}
