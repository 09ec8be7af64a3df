"""The words of what decides when jobs run."""

from __future__ import annotations

from kcheck.words.derive import gpus, queues
from kcheck.words.tables.field import Field, made, named, plain, records, simple

SUBJECTS: dict[str, tuple[Field, ...]] = {
    "priority_class": (
        plain("kueue", "bool", "whether it is one of Kueue's, not of pods"),
        named("its name"),
        simple("number", "int", "its value", nullable=False),
        simple("default", "bool", "whether pods without a class have it", nullable=False),
        simple("preemption", "string", "PreemptLowerPriority or Never, as written"),
        made("defaults", "int", "classes that are the default, of those that are applied together", queues.defaults, "classes"),
        made("classes", "int", "classes of pods that are applied together", queues.classes, "classes"),
        made("first", "bool", "whether it is the first in the code of those that are applied together", queues.first),
        made("first_default", "bool", "whether it is the first default of them", queues.first_default),
        made("apart", "bool", "whether no other default is in its folder", queues.apart),
        made("cutoff", "int", "the number below which an autoscaler takes no notice of pods", queues.cutoff),
        made("user", "string", "a job that has it; null if there is none", queues.class_user, nullable=True),
        records("other_defaults", "priority_class", "the other defaults applied with it", queues.other_defaults),
    ),
    "queue": (
        plain("kind", "string", "ClusterQueue or LocalQueue (Kueue), Queue (Volcano)"),
        named("its name"),
        simple("namespace", "string", "its namespace (LocalQueue)"),
        simple("leads_to", "string", "the ClusterQueue that a LocalQueue leads to"),
        made("found", "bool", "whether that is in the code, or no ClusterQueue is", queues.found),
        made("covers_gpus", "bool", "whether a ClusterQueue has quota for GPUs", queues.covers_gpus),
        simple("selector", "string", "empty where a ClusterQueue says whose jobs it takes; null where nothing is written: it takes none"),
        simple("preemption", "string", "which of its own jobs it stops for another, as written"),
        simple("weight", "int", "its weight (Volcano)"),
        plain("api", "string", "the version of the API that it is written for"),
        made("first_of_file", "bool", "whether no queue of the same version stands before it in its file", queues.first_of_file),
        made("uncovered", "string", "a GPU resource that a waiting job asks for without a quota in it; null if there is none", queues.uncovered, nullable=True),
        made("leading", "int", "LocalQueues that lead to a ClusterQueue", queues.leading, "queues"),
        made("siblings", "int", "other such queues that are applied with it", queues.siblings, "queues"),
        made("priorities", "int", "different priorities that its jobs can have", queues.priorities),
        made("gpu_job", "string", "a job with GPUs that waits in it; null if there is none", queues.gpu_job, nullable=True),
    ),
    "kube_namespace": (
        named("its name"),
        made("jobs", "int", "jobs of several pods in it, and workloads with GPUs, that wait in no queue", queues.jobs, "workloads"),
        made("has_quota", "bool", "whether it has a ResourceQuota, or a LocalQueue of Kueue", queues.has("ResourceQuota")),
        made("others_have_quota", "bool", "whether another one that is applied with it has", queues.has("ResourceQuota", others=True)),
    ),
    "quota": (
        plain("kind", "string", "ResourceQuota or LimitRange"),
        simple("namespace", "string", "its namespace"),
        simple("hard", "string", "what it allows, by resource", kind="map", nullable=False),
        made("counts_cpu", "bool", "whether it counts CPU or memory", queues.quota_has("cpu", "memory", "requests.cpu", "requests.memory")),
        made("counts_gpus", "bool", "whether it counts GPUs", queues.counts_gpus),
        made("miscounts_gpus", "bool", "whether it names GPUs in a way that counts nothing", queues.miscounts_gpus),
        made("has_limit_range", "bool", "whether its namespace has a LimitRange", queues.has("LimitRange")),
        made("gpu_nodes", "bool", "whether a pool of its cluster has GPUs", queues.gpu_nodes),
        made("gpu_job", "string", "a workload with GPUs in its namespace; null if there is none", queues.quota_gpu_job, nullable=True),
    ),
    "scheduler": (
        simple("actions", "string", "what Volcano's scheduler does, in order", kind="list", nullable=False),
        made("preempts", "bool", "whether it stops jobs for others of the same queue", queues.acts("preempt", "gangpreempt")),
        made("reclaims", "bool", "whether it takes back what a queue has beyond its share", queues.acts("reclaim", "gangreclaim")),
        made("packs", "bool", "whether it has the binpack plugin", queues.plugin("binpack")),
        made("packs_gpus", "bool", "whether that packs GPUs", queues.packs_gpus),
        simple("last", "string", "the plugins of its last tier", kind="list", nullable=False),
        simple("packed", "string", "the resources that binpack looks at beside CPU and memory"),
        simple("weight", "int", "what GPUs count there"),
        made("old_gpu_sharing", "bool", "whether it shares GPUs by deviceshare.GPUSharingEnable", gpus.old_sharing),
        made("priorities", "int", "different numbers of the priority classes applied with it", queues.jobs_of_priorities),
        made("has_gpus", "bool", "whether it places GPU jobs: one is seen, or its cluster has GPU nodes", queues.has_gpus),
    ),
    "admission": (
        simple("ready_timeout", "int", "how long Kueue waits for all pods of a job before it stops the job", "seconds"),
        made("scale_up_time", "int", "how long the target's nodes take to come, by the published test", queues.scale_up_time, "seconds"),
    ),
    "sharing": (
        made("both", "bool", "whether cards are divided by time slices and by MPS", gpus.both),
        made("mps_with_mig", "bool", "whether MPS is to divide cards that MIG has divided", gpus.mps_with_mig),
        made("copies", "int", "the fewest copies that are made of a card; null where none are", gpus.copies, nullable=True),
    ),
}  # fmt: skip
