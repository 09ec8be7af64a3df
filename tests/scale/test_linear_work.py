"""Test that work grows with what is written, by counting calls: twice as many objects take about twice as many."""

from __future__ import annotations

import cProfile
from typing import TYPE_CHECKING

import bench_growth
import pytest

from kcheck.config.config import Config
from kcheck.engine import linter
from kcheck.text.files.tree import Tree

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conftest import Write


def calls(files: dict[str, str], write: Write) -> int:
    """Count the calls of a run."""
    write(files)
    profile = cProfile.Profile(builtins=True)
    profile.runcall(linter.run, Tree(["."]), Config())
    return sum(int(entry.callcount) for entry in profile.getstats())


@pytest.mark.slow
@pytest.mark.parametrize("make", [bench_growth.karpenter, bench_growth.cloudformation, bench_growth.selected])
def test_twice_as_many_objects_take_about_twice_as_many_calls(
    make: Callable[[int], dict[str, str]], write: Write
) -> None:
    calls(make(2), write)  # what is read once
    few, more, most = (calls(make(size), write) for size in (40, 80, 160))
    assert most - more < 2.1 * (more - few)
