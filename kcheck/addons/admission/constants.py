"""Lists and patterns of kcheck that policies use, by name."""

from __future__ import annotations

import re
from functools import cache

from kcheck.config.numbers import names, profiles, tags
from kcheck.config.numbers.clouds import CLOUDS
from kcheck.inventory.clouds import karpenter_pools, registry
from kcheck.kubernetes.workloads import gangs, pods
from kcheck.model import KUEUE_PRIORITY, image_names
from kcheck.scale import jobs, placement, queues


@cache
def _all() -> dict[str, object]:
    clouds = list(registry.every())
    patterns = (profiles.settings(cloud).get("pool.gpu_types") for cloud in CLOUDS)
    machines = "|".join(dict.fromkeys(f"({one.text})" for one in patterns if one is not None))
    return {
        "cards": list(names.cards()),
        "docker_hub": sorted(image_names.HUB_HOSTS),
        "endless": jobs.ENDLESS,
        "gang_marks": list(gangs.MARKS),
        "gpu_families": f"^({'|'.join(karpenter_pools.GPU_FAMILIES)})$|{machines}",
        "gpu_keys": f"{queues.gpu_pattern().pattern}|^(limits[.])?({'|'.join(map(re.escape, names.cards()))})$",
        "gpu_machines": machines,
        "job_retries": profiles.settings("any")["job.retries"].value,
        "moving_tags": sorted(tags.moving()),
        "commit": f"^{tags.COMMIT}$",
        "numbered": f"^({tags.NUMBERED})$",
        "priority_label": KUEUE_PRIORITY,
        "queue_label": gangs.KUEUE,
        "rdma": f"(?i){pods.RDMA.pattern}",
        "shares": f"^({names.pattern('shares').pattern})",
        "spot_keys": sorted({key for cloud in clouds for key in cloud.spot_labels}),
        "spot_labels": [
            f"{key}={value}"
            for key in sorted(
                {cloud.spot_label.key for cloud in clouds if cloud.spot_label}
                | {key for cloud in clouds for key in cloud.spot_labels}
                | {karpenter_pools.CAPACITY}
            )
            for value in sorted(placement.SPOT_VALUES)
        ],
        "starters": pods.STARTERS.pattern,
        "stores": f"(?i){names.pattern('stores').pattern}",
        "volcano_queues": list(gangs.VOLCANO),
    }


def value(name: str) -> object:
    """A list, a pattern or a table."""
    return _all()[name]
