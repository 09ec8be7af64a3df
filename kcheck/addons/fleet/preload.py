"""Loads and compiles what checks need: imported by the process that they are forked from.

Most of what a small repository takes is that; what depends on a repository is asked again in its own check.
"""

import contextlib
import gc
import os

from kcheck.addons.fleet.check import check
from kcheck.addons.fleet.outcomes import Outcome, Task
from kcheck.config.numbers.clouds import CLOUDS
from kcheck.engine import rules
from kcheck.text.bundled import EXAMPLES


def warm() -> dict[str, Outcome]:
    """Check an example of each cloud; return what is found, by cloud."""
    rules.load()
    found = {}
    for cloud in CLOUDS:
        with contextlib.chdir(os.path.join(EXAMPLES, f"{cloud}-training")):
            found[cloud] = check(Task(cloud, "."))
    return found


warm()
gc.collect()
gc.freeze()  # what is there is shared with the processes that are forked, as long as nobody writes to it
