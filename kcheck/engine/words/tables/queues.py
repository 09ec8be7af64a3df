"""Words of queues, quotas and schedulers, which decide when jobs run."""

from kcheck.engine.words.tables.field import Field, annotated, made, named, record, records
from kcheck.model import Admission, PriorityClass, Queue, Quota, Scheduler
from kcheck.scale import bundles, gpus, queue_limits, queues
from kcheck.text.need import if_set
from kcheck.text.values import known, mapped

APPLIED = record("applied", "bundle", "what is applied together with it", lambda thing, _w: thing)
NAMED_QUEUE = (
    made("queue_in_code", "bool", "whether the code has the queue that it names: a LocalQueue of its namespace, a Queue of Volcano, a ClusterQueue", queues.queue_in_code),
    made("nearby_queues", "string", "queues that it may mean, by name: those in its folder or above it, of a job also those of that name in other namespaces; the first five", queues.nearby_queues, kind="list"),
)  # fmt: skip
"""Words of things that name a queue: jobs, and the LocalQueues that lead to a ClusterQueue."""

SUBJECTS: dict[str, tuple[Field, ...]] = {
    "priority_class": (
        *annotated(PriorityClass),
        named("its name"),
        made("folder", "string", "the folder of its file", lambda c, _w: queues.folder(c)),
        made("cutoff", "int", "expendable-pods-priority-cutoff of the cluster's autoscaler", queues.cutoff),
        records("jobs", "workload", "the jobs that name it", bundles.with_class),
        APPLIED,
    ),
    "bundle": (
        made("classes", "string", "priority classes of pods, by name, in the order of the code", bundles.classes, kind="list"),
        records("default_classes", "priority_class", "those that pods without a class have (globalDefault), in the order of the code", bundles.default_classes),
        made("releases", "bool", "whether Helm releases are installed into the cluster", bundles.releases),
        made("gpu_nodes", "bool", "whether a pool of the cluster has GPUs", bundles.gpu_nodes),
        made("all_jobs_wait", "bool", "whether Kueue holds jobs that name no queue, too (manageJobsWithoutQueueName)", lambda b, w: any(known(one.manages_all) for one in w.deployed.beside(b).admissions)),
    ),
    "queue": (
        *annotated(Queue),
        named("its name"),
        *NAMED_QUEUE,
        made("resources", "string", "the resources that a ClusterQueue has quota for (coveredResources)", queues.resources, kind="list"),
        made("gpu_quota", "int", "GPUs of its own quotas, of a ClusterQueue", lambda q, _w: sum(one.nominal for one in if_set(q.flavors) or () if one.resource.endswith("/gpu")), "GPUs"),
        made("gpus_at_most", "int", "GPUs that the pools of its cluster may have; null where something else adds nodes, or that is not known", queue_limits.gpus_at_most, "GPUs", nullable=True),
        made("first_of_file", "bool", "whether no queue of the same version stands before it in its file", queues.first_of_file),
        made("leading", "int", "LocalQueues that lead to a ClusterQueue", queues.leading, "queues"),
        made("siblings", "int", "other queues of its kind that are applied with it", queues.siblings, "queues"),
        made("priorities", "int", "different priorities that its jobs can have", queues.priorities, "priorities"),
        records("jobs", "workload", "the jobs that wait in it; of a ClusterQueue, in the LocalQueues that lead to it", queues.jobs),
    ),
    "kube_namespace": (
        made("name", "string", "its name; empty where a manifest names none", queues.space),
        records("workloads", "workload", "the workloads in it", queues.workloads),
        records("quotas", "quota", "its ResourceQuotas and LimitRanges, and those that name no namespace", queues.quotas),
        made("others_have_quota", "bool", "whether another namespace that is applied with it has a ResourceQuota", queues.others_have_quota),
    ),
    "quota": (
        *annotated(Quota),
        record("space", "kube_namespace", "its namespace", lambda q, _w: q),
        made("counts_cpu", "bool", "whether it counts CPU or memory", lambda q, _w: mapped(q.hard, lambda hard: not {"cpu", "memory", "requests.cpu", "requests.memory"}.isdisjoint(hard))),
        made("gpu_keys", "string", "the resources in it that are accelerators, as written", queues.gpu_keys, kind="list"),
        APPLIED,
    ),
    "scheduler": (
        *annotated(Scheduler),
        made("plugins", "string", "its plugins", queues.plugins, kind="list"),
        made("arguments", "string", "the arguments of its plugins, by their full keys", queues.arguments, kind="map"),
        records("jobs", "workload", "the workloads that Volcano schedules", lambda s, w: [one for one in w.deployed.beside(s).workloads if "volcano" in (known(one.queue_system), str(known(one.gang)).lower())]),
        records("queues", "queue", "the queues of Volcano that are applied with it", lambda s, w: [one for one in w.deployed.beside(s).queues if one.kind == "Queue"]),
        APPLIED,
    ),
    "admission": (
        *annotated(Admission),
        made("scale_up_time", "int", "how long the target's nodes take to come, by the published test", queues.scale_up_time, "seconds"),
    ),
    "sharing": (
        made("ways", "string", "how it divides GPUs: timeSlicing, mps, mig (strategy mixed)", gpus.ways, kind="list"),
        made("copies", "int", "the fewest copies that it makes of a GPU; null where it makes none", gpus.copies, nullable=True),
    ),
}  # fmt: skip
