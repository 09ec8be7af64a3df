"""Load what every check needs, in the process that checks are forked from.

This is most of the time of a check on a small repository. State of a repository is read again in its own check.
"""

import contextlib
import gc
import os

from kcheck.addons.fleet.check import check
from kcheck.addons.fleet.outcomes import Outcome, Task
from kcheck.config.numbers.clouds import CLOUDS
from kcheck.engine import rules
from kcheck.text.bundled import EXAMPLES


def check_examples() -> dict[str, Outcome]:
    """Check an example of each cloud; return the findings by cloud."""
    rules.load()
    found = {}
    for cloud in CLOUDS:
        with contextlib.chdir(os.path.join(EXAMPLES, f"{cloud}-training")):
            found[cloud] = check(Task(cloud, "."))
    return found


check_examples()
gc.collect()
gc.freeze()  # what is there is shared with the processes that are forked, as long as nobody writes to it
