"""Words of autoscalers, their flags, and Karpenter node pools."""

from kcheck.engine.words.tables.field import Field, annotated, made, named, record, records
from kcheck.model import Autoscaler, Flag, KarpenterPool
from kcheck.scale import autoscaler, basics, pools, savings
from kcheck.text.values import known

AUTOSCALER = (
    *annotated(Autoscaler),
    made("profile_has_place", "bool", "whether the profile is written in this code, or could be added to it", autoscaler.profile_has_place),
    made("client_qps", "int", "requests per second to the API server; the default where the cloud runs it", autoscaler.client_qps, "requests per second"),
    made("minor", "int", "its minor version; null where the cloud runs it", autoscaler.minor, nullable=True),
    made("nodes", "int", "nodes it adds and removes up to the target", autoscaler.growable_nodes, "nodes"),
    made("by_default", "bool", "whether the target rests on a default: none was asked for, and a pool's maximum is a default", autoscaler.by_default),
    made("sufficient_unready_percentage", "int", "share of nodes that one of its zones and a few failed ones make; at least the default of max_unready_percentage", autoscaler.tolerated_share, "percent"),
    made("sufficient_unready_nodes", "int", "nodes in a batch that is deleted and a few failed ones, limited by that share", autoscaler.tolerated_nodes, "nodes"),
    made("batches", "int", "batches of bulk_delete in which these nodes are deleted", autoscaler.batches),
    made("batch_interval", "int", "time from one batch to the next at least: scan_interval; where loops follow each other at once, the delay after the taints if that is shorter", autoscaler.batch_interval, "seconds"),
    made("tainting_time", "int", "time to taint these nodes before they are deleted: one request each", autoscaler.tainting_time, "seconds"),
    made("sufficient_bulk_delete", "int", "smallest round bulk_delete with which a batch every scan_interval is fast enough; null if none is", autoscaler.sufficient_batch, "nodes", nullable=True),
    record("idle_saving", "saving", "what the cloud's faster profile saves of the run that kcheck simulate shows, or without one the recommended unneeded_time; null if that may be nothing", savings.by("idle_saving"), nullable=True),
    record("deletion_saving", "saving", "what sufficient_bulk_delete saves of it; null if that may be nothing", savings.by("deletion_saving"), nullable=True),
    record("tolerance_saving", "saving", "what sufficient_unready_nodes and sufficient_unready_percentage save of it; null if that may be nothing", savings.by("tolerance_saving"), nullable=True),
    made("wanted", "int", "nodes that the cluster should reach: --nodes, else the sum of its pools' maxima, whatever the caps", autoscaler.wanted, "nodes"),
    made("wanted_cores", "int", "cores of these nodes; at least one for a node of unknown type", autoscaler.wanted_cores, "cores", bounded=True),
    made("capacity", "int", "nodes of those wanted that its caps on nodes and cores allow", autoscaler.capacity, "nodes", bounded=True),
    record("overrun", "excess", "the job that asks for most accelerators beyond these caps, by its kind and name, and no pool of its own takes; null without one", autoscaler.overrun, nullable=True),
    records("choices", "pool", "largest group of its pools with the same taints and different machine types", autoscaler.choices),
    records("twins", "pool", "largest group of its pools with equal machines, labels and taints; with GPUs also equal subnets and zones", autoscaler.twins),
    record("cluster", "cluster", "its cluster", basics.cluster_of),
)  # fmt: skip

FLAG = (
    *annotated(Flag),
    made("comes_later", "bool", "whether its autoscaler is too old for it", autoscaler.comes_later),
    made("first_version", "string", "first version with it that is not older than the minor version of its autoscaler; null if all of these have it", autoscaler.first_version, nullable=True),
    made("is_removed", "bool", "whether its autoscaler is too new for it", autoscaler.is_removed),
    made("removed_version", "string", "first version without it; null if it is still there", autoscaler.removed_version, nullable=True),
    made("successor", "string", "the flag that replaces it; null if there is none or it is set too", autoscaler.successor, nullable=True),
    record("autoscaler", "autoscaler", "the autoscaler that has it", autoscaler.owner),
)  # fmt: skip

KARPENTER_POOL = (
    *annotated(KarpenterPool),
    named("its name"),
    made("installed", "string", "version of Karpenter's chart on its cluster; null if there is none in the code", autoscaler.installed, nullable=True),
    made("served", "bool", "whether the installed version of Karpenter has that API; null where the version is not known", autoscaler.served, nullable=True),
    made("limits", "string", "its limits: cpu=1000; of a pool of fixed size also nodes=8", autoscaler.limits, kind="list"),
    made("budgets", "string", "nodes in use that each budget lets be disrupted at a time: 10%, 0", autoscaler.budgets, kind="list"),
    records("gpu_workloads", "workload", "workloads with GPUs in the same code that may land on its nodes", autoscaler.gpu_workloads),
    made("tainted", "bool", "whether a taint keeps away pods that do not tolerate it", lambda p, w: pools.tainted(autoscaler.nodes_of(p), w)),
    made("joined", "bool", "whether its cluster is known, so that its nodes are a pool of it", lambda p, _w: basics.computed(p, known(p.cluster) is not None)),
)  # fmt: skip

SUBJECTS: dict[str, tuple[Field, ...]] = {"autoscaler": AUTOSCALER, "flag": FLAG, "karpenter_pool": KARPENTER_POOL}
