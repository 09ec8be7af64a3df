"""Test runs that follow the jobs as written: completions in waves, dependent pods, schedules, and prices."""

from __future__ import annotations

import json
import re
from math import inf
from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace

from kcheck.model import NOTHING, Cluster
from kcheck.scale.schedules import period
from kcheck.scale.simulate.model import Case, Job, Pool
from kcheck.scale.simulate.parameters import Measured
from kcheck.scale.simulate.results import compare
from kcheck.scale.simulate.run import simulate
from kcheck.scale.simulate.scenario import Scenario
from kcheck.text.text import Source
from tests.scale.simulate.test_command import run
from tests.scale.simulate.test_properties import CLOUD
from tests.scale.simulate.test_several_jobs import FLAGS

if TYPE_CHECKING:
    from tests.conftest import Write

CLUSTER = """
resource "google_container_cluster" "train" {
  name     = "train"
  location = "europe-west4-a"
}

resource "google_container_node_pool" "gpu" {
  name    = "gpu"
  cluster = google_container_cluster.train.name

  node_config {
    machine_type = "a2-highgpu-8g"
  }

  autoscaling {
    min_node_count = 0
    max_node_count = 10
  }
}
"""
POD = """
      template:
        spec:
          restartPolicy: Never
          SUBDOMAIN
          containers:
            - name: train
              image: registry.example.com/train:1
              resources: {limits: {nvidia.com/gpu: GPUS}}
"""


def spec(pods: int, completions: int, extra: str = "", gpus: int = 8) -> str:
    text = f"      parallelism: {pods}\n      completions: {completions}\n{extra}{POD.replace('GPUS', str(gpus))}"
    return text.replace("SUBDOMAIN", "subdomain: train" if "Indexed" in extra else "hostNetwork: false")


def job(name: str, text: str) -> str:
    own = "\n".join(line[4:] for line in text.splitlines())
    return f"apiVersion: batch/v1\nkind: Job\nmetadata: {{name: {name}, namespace: team}}\nspec:\n{own}\n---\n"


def cron(name: str, text: str, schedule: str, concurrency: str = "Allow") -> str:
    return (
        f"apiVersion: batch/v1\nkind: CronJob\nmetadata: {{name: {name}, namespace: team}}\nspec:\n"
        f'  schedule: "{schedule}"\n  concurrencyPolicy: {concurrency}\n  jobTemplate:\n    spec:\n{text}---\n'
    )


def lines(write: Write, jobs: str, *more: str, cluster: str = CLUSTER) -> list[str]:
    write({"main.tf": cluster, "jobs.yaml": jobs})
    return [line.strip() for line in run(".", *more)[1].splitlines()]


INDEXED = "      completionMode: Indexed\n"


# --- walls above the maxima of the pools


NETWORK = """
resource "google_compute_subnetwork" "nodes" {
  name          = "nodes"
  network       = "train"
  ip_cidr_range = "10.0.0.0/27"
}
"""


@pytest.mark.parametrize(("most", "stops"), [(10, False), (50, True)])
def test_a_wall_above_the_pools_stops_no_run(most: int, stops: bool, write: Write) -> None:
    """A job of 40 nodes runs in waves on a pool of 10, although another limit is 28 nodes."""
    inside = CLUSTER.replace("location =", "subnetwork = google_compute_subnetwork.nodes.id\n  location =")
    found = lines(write, job("wide", spec(40, 40)), cluster=NETWORK + inside.replace("= 10", f"= {most}"))
    assert any("no more nodes at once than the wall" in line for line in found) is stops


# --- completions: waves


@pytest.mark.parametrize("make", [job, lambda name, text: cron(name, text, "0 3 * * 1")])
def test_completions_run_one_after_the_other(write: Write, make: object) -> None:
    found = lines(write, make("shards", spec(40, 4000, gpus=1)))  # type: ignore[operator] # one of two functions
    kind = "Job" if make is job else "CronJob"
    head = f"train: {kind} on 5 nodes, 4,000 completions, 40 at a time, each 10 min of work: about 1"
    assert found[0].startswith(head)
    ends = float(found[1].rpartition(" ")[2])
    assert 1000 < ends < 1010, "100 waves of 10 minutes, and the start of the nodes"
    assert found[2].startswith("85 node-hours paid, $2,540 "), "5 nodes x 17 hours"
    assert found[2].endswith("1.0 times the work itself"), "which is 5 x 100 x 10 minutes"


@pytest.mark.parametrize("completions", ["40", "39"])
def test_equal_completions_and_pods_make_one_wave(write: Write, completions: str) -> None:
    found = lines(write, job("shards", spec(40, int(completions), INDEXED, gpus=1)))
    assert found[0].startswith("train: Job on 5 nodes, 10 min of work: about ")


def test_a_deadline_ends_the_waves_of_a_job(write: Write) -> None:
    found = lines(write, job("shards", spec(40, 4000, "      activeDeadlineSeconds: 7200\n", gpus=1)))
    assert found[0].endswith("each 10 min of work: fails at its deadline of 120 min")
    assert found[2] == "440 of 4,000 completions end", "11 waves of 40 in the 115 minutes with nodes"
    assert found[3].startswith("11 node-hours paid")


def test_completions_scale_with_the_nodes_of_a_job(write: Write) -> None:
    found = lines(write, job("shards", spec(40, 400, gpus=1)), "--nodes", "10")
    assert found[0].startswith("train: Job on 10 nodes, 100 completions, 10 at a time, each 10 min of work: about ")


def test_the_last_wave_can_be_small() -> None:
    case = Case((Pool("p", 5),), Job(5, 600, completions=50, parallel=40), FLAGS, CLOUD)
    assert case.work == 7 * 600, "50 / 8 pods a node"
    summary = simulate(case).summary
    assert summary.finished
    assert summary.phases["work"] == pytest.approx(7 * 600)


def test_losing_a_spot_node_repeats_only_the_running_wave() -> None:
    cloud = replace(CLOUD, interruptions=0.5)
    case = Case((Pool("p", 20, spot=True),), Job(10, 600, completions=100, parallel=10), FLAGS, cloud)
    waves = simulate(case).summary
    whole = simulate(replace(case, job=Job(10, 6000))).summary
    assert waves.finished
    assert waves.interrupted > 0
    assert waves.lost <= waves.interrupted * 600
    assert waves.lost < whole.lost
    assert waves.phases["work"] == pytest.approx(100 * 600 + waves.lost)


def test_a_job_of_weeks_is_simulated_in_full(write: Write) -> None:
    found = lines(write, job("long", spec(8, 8)), "--duration", "5000h")
    assert found[0] == "train: Job on 8 nodes, 300,000 min of work: about 5,000 h until the last node is gone"


# --- pods that need each other


def test_pods_that_need_each_other_wait_for_the_last_pod(write: Write) -> None:
    found = lines(write, job("one", spec(8, 8, INDEXED)))
    assert any(line.endswith("work: 10 min each once all run") for line in found)


WORKERS = """
apiVersion: KIND
metadata: {name: one, namespace: team}
spec:
  replicas: 1
  FIELD:
    size: 8
    TEMPLATE:
      spec:
        containers:
          - {name: train, image: registry.example.com/train:1, command: [COMMAND], resources: {limits: {nvidia.com/gpu: 8}}}
"""
GROUP = WORKERS.replace("KIND", "leaderworkerset.x-k8s.io/v1\nkind: LeaderWorkerSet").replace("COMMAND", "serve")
GROUP = GROUP.replace("FIELD", "leaderWorkerTemplate").replace("TEMPLATE", "workerTemplate")
SET = WORKERS.replace("KIND", "apps/v1\nkind: StatefulSet").replace(
    "  replicas: 1\n  FIELD:\n    size: 8\n", "  replicas: 8\n"
)
SET = SET.replace("    TEMPLATE", "  template").replace("COMMAND", "torchrun, --nnodes=8")


@pytest.mark.parametrize(
    ("kind", "text"), [("Job", job("one", spec(8, 8, INDEXED))), ("LeaderWorkerSet", GROUP), ("StatefulSet", SET)]
)
def test_a_gang_larger_than_its_pool_is_a_deadlock(kind: str, text: str, write: Write) -> None:
    found = lines(write, text, cluster=CLUSTER.replace("= 10", "= 5"))
    assert found[0] == f"train: {kind} on 8 nodes, 10 min of work: deadlock"
    assert found[2:4] == [
        "one holds 5 of 8 nodes; it never starts without the rest",
        "a day of that: 120 node-hours, 960 GPU-hours, $3,598",
    ]


RAY = """
apiVersion: ray.io/v1
kind: RayCluster
metadata: {name: one, namespace: team}
spec:
  headGroupSpec: {template: {spec: {containers: [{name: head, image: registry.example.com/ray:1}]}}}
  workerGroupSpecs:
    - groupName: gpu
      replicas: 8
      minReplicas: LEAST
      maxReplicas: 8
      template: {spec: {containers: [{name: worker, image: registry.example.com/ray:1, resources: {limits: {nvidia.com/gpu: 8}}}]}}
"""


def test_a_ray_cluster_above_its_pool_never_starts(write: Write) -> None:
    """Its 8 workers were once overlooked: the pool of 5 ran full, and the run counted as a success."""
    found = lines(write, RAY.replace("LEAST", "8"), cluster=CLUSTER.replace("= 10", "= 5"))
    assert found[0] == "train: RayCluster on 8 nodes, 10 min of work: deadlock"
    assert found[2] == "one holds 5 of 8 nodes; it never starts without the rest"
    assert not any("deadlock" in line for line in lines(write, RAY.replace("LEAST", "8")))


CPUS = """
resource "google_container_node_pool" "cpu" {
  name    = "cpu"
  cluster = google_container_cluster.train.name

  node_config {
    machine_type = "c3-standard-8"
  }

  autoscaling {
    min_node_count = 0
    max_node_count = 30
  }
}
"""


def test_the_largest_job_is_the_one_whose_nodes_cost_most(write: Write) -> None:
    """Two A100 machines at $29 per hour cost more than 20 machines at $0.40."""
    many = job("prepare", spec(20, 20)).replace("limits: {nvidia.com/gpu: 8}", "requests: {cpu: 6}")
    few = job("train", spec(2, 2, INDEXED))
    tainted = CLUSTER.replace(
        '"a2-highgpu-8g"',
        '"a2-highgpu-8g"\n    taint {\n      key    = "nvidia.com/gpu"\n'
        '      value  = "present"\n      effect = "NO_SCHEDULE"\n    }',
    )
    tolerant = few.replace("containers:", "tolerations: [{operator: Exists}]\n      containers:")
    assert lines(write, many + tolerant, cluster=tainted + CPUS)[0].startswith("train: Job on 2 nodes, ")
    assert lines(write, many, cluster=tainted + CPUS)[0].startswith("train: Job on 20 nodes, ")


def test_gangs_that_start_together_can_deadlock(write: Write) -> None:
    both = "".join(cron(name, spec(8, 8, INDEXED), "0 3 * * *") for name in ("one", "two"))
    found = lines(write, both)
    assert found[0] == "train: 2 jobs on 16 nodes, 10 min of work: deadlock"
    assert found[2:4] == [
        "one holds 5 of 8 nodes, two holds 5 of 8 nodes; none ever starts without the rest",
        "a day of that: 240 node-hours, 1,920 GPU-hours, $7,196",
    ]
    wide = lines(write, both, cluster=CLUSTER.replace("= 10", "= 16"))
    assert wide[0].startswith("train: 2 jobs on 16 nodes, 10 min of work: about ")


def test_json_has_the_nodes_held_by_a_gang(write: Write) -> None:
    found = lines(write, job("one", spec(8, 8, INDEXED)), "--format", "json", cluster=CLUSTER.replace("= 10", "= 5"))
    [one] = json.loads("\n".join(found))["runs"]
    assert [(own["start"], own["held"]) for own in one["jobs"]] == [(None, 5)]


@pytest.mark.parametrize(("most", "risky"), [(7, False), (8, True), (14, True), (15, False), (16, False)])
def test_another_gang_that_could_take_the_nodes_is_named(write: Write, most: int, *, risky: bool) -> None:
    both = "".join(job(name, spec(8, 8, INDEXED)) for name in ("one", "two"))
    found = lines(write, both, cluster=CLUSTER.replace("= 10", f"= {most}"))
    text = (
        f"started with Job two it may deadlock: 8 + 8 nodes of {most}, each holds some and waits for the rest, "
        f"{8 * most} GPUs idle"
    )
    assert (text in found) is risky, "with 7 neither starts; with 15 one of them has 8"


def test_a_queue_starts_gangs_one_by_one(write: Write) -> None:
    label = "{name: NAME, namespace: team, labels: {kueue.x-k8s.io/queue-name: team}}"
    both = "".join(job(name, spec(8, 8, INDEXED)) for name in ("one", "two"))
    for name in ("one", "two"):
        both = both.replace(f"{{name: {name}, namespace: team}}", label.replace("NAME", name))
    assert not any("deadlock" in line for line in lines(write, both))


@pytest.mark.parametrize(("text", "waits"), [(spec(8, 8), False), (spec(8, 8, INDEXED), True)])
def test_kueue_lets_pods_that_work_alone_begin_as_their_nodes_come(text: str, write: Write, *, waits: bool) -> None:
    """Kueue resumes a job as a whole, and holds none of its pods: they are the scheduler's."""
    queued = job("one", text).replace("namespace: team", "namespace: team, labels: {kueue.x-k8s.io/queue-name: team}")
    found = lines(write, queued)
    assert any("all wait for the last node" in line for line in found) is waits
    assert any(line.endswith("work: 10 min each once all run") for line in found) is waits


PAIR = """
apiVersion: kubeflow.org/KIND
metadata: {name: pair, namespace: team}
spec:
  FIELD:
    FIRST: {replicas: 1, template: {spec: {containers: [{name: a, image: registry.example.com/a:1, resources: {limits: {CARDS}}}]}}}
    Worker: {replicas: 7, template: {spec: {containers: [{name: a, image: registry.example.com/a:1, resources: {limits: {nvidia.com/gpu: 8}}}]}}}
"""


@pytest.mark.parametrize(
    ("kind", "field", "first", "cards", "nodes"),
    [
        ("v1\nkind: PyTorchJob", "pytorchReplicaSpecs", "Master", "nvidia.com/gpu: 8", 8),  # it trains, too
        ("v2beta1\nkind: MPIJob", "mpiReplicaSpecs", "Launcher", "cpu: 1", 7),
    ],
)
def test_a_master_equal_to_its_workers_takes_a_node(
    kind: str, field: str, first: str, cards: str, nodes: int, write: Write
) -> None:
    text = PAIR.replace("KIND", kind).replace("FIELD", field).replace("FIRST", first).replace("CARDS", cards)
    assert f"Job on {nodes} nodes, " in lines(write, text)[0]


QUEUE = """
apiVersion: kueue.x-k8s.io/v1beta1
kind: ResourceFlavor
metadata: {name: any}
---
apiVersion: kueue.x-k8s.io/v1beta1
kind: ClusterQueue
metadata: {name: cq}
spec:
  namespaceSelector: {}
  resourceGroups:
    - coveredResources: [cpu]
      flavors: [{name: any, resources: [{name: cpu, nominalQuota: QUOTA}]}]
---
apiVersion: kueue.x-k8s.io/v1beta1
kind: LocalQueue
metadata: {name: lq, namespace: team}
spec: {clusterQueue: cq}
---
"""


@pytest.mark.parametrize(
    ("quota", "cpus", "both"),
    [
        (504, (28, 28), False),  # 18 pods: 12 and then 12, of machines with 44 vCPUs of which 504 are 11
        (672, (28, 28), True),  # 24 pods
        (503, (28, 14), False),  # 12 x 28 + 12 x 14 = 504
        (504, (28, 14), True),
        (335, (28, 28), None),  # 12 x 28 = 336
    ],
)
def test_a_queue_admits_jobs_by_requests(quota: int, cpus: tuple[int, int], both: bool | None, write: Write) -> None:
    cluster = CLUSTER.replace("a2-highgpu-8g", "c3-standard-44").replace("= 10", "= 40")
    text = QUEUE.replace("QUOTA", str(quota))
    for name, each in zip(("one", "two"), cpus, strict=True):
        own = job(name, spec(12, 12)).replace(
            "{limits: {nvidia.com/gpu: 8}}", f"{{requests: {{cpu: {each}, memory: 90Gi}}}}"
        )
        text += own.replace("namespace: team}", "namespace: team, labels: {kueue.x-k8s.io/queue-name: lq}}")
    found = lines(write, text, cluster=cluster)
    if both is None:
        assert found == [], "it is said to be beyond the queue, and is not run"
        return
    starts = [float(line.rpartition("from ")[2].split(" ")[0]) for line in found if line.startswith(("one: ", "two: "))]
    assert (max(starts) - min(starts) < 10) is both, found


# --- CronJobs that meet their next run


@pytest.mark.parametrize(
    ("concurrency", "text"),
    [
        ("Allow", "up to 3 at once, for 12 nodes"),
        ("Forbid", "2 of 3 starts are skipped"),
        ("Replace", "none ends: the next one replaces it"),
    ],
)
def test_a_run_longer_than_its_schedule_period_is_reported(write: Write, concurrency: str, text: str) -> None:
    found = lines(write, cron("often", spec(4, 4), "*/5 * * * *", concurrency))
    assert found[1] == f"often starts every 5 min, a run takes 14.3 min: {text}"
    assert not any("starts every" in line for line in lines(write, cron("seldom", spec(4, 4), "0 * * * *")))


@pytest.mark.parametrize(
    ("schedule", "hours"),
    [
        ("*/15 * * * *", 0.25), ("@hourly", 1), ("0 2,22 * * *", 4), ("0 3 * * *", 24), ("0 3 * * 1-5", 24),
        ("0 3 * * 0,6", 24), ("0 3 * * 1,4", 72), ("0 3 * * 1", 168), ("0 3 30 2 *", inf), ("0 3 1 1 *", inf), ("x", inf),
    ],
)  # fmt: skip
def test_the_shortest_time_between_two_starts_is_found(schedule: str, hours: float) -> None:
    assert period(schedule) == 3600 * hours


def test_runs_that_overlap_share_their_nodes_in_a_month(write: Write) -> None:
    """By hand: 4 or 12 nodes, of at most 10, x 730 h x $29.98.

    separately, 8,760 runs of 1.7 node-hours cost more. Of three starts, Forbid skips two.
    """
    cases = [("Allow", 10 * 730 * 29.98, "8,760"), ("Forbid", 4 * 730 * 29.98, "2,920")]
    for concurrency, dollars, number in cases:
        end = f" for {number} runs of the schedule, whose nodes pass from one to the next"
        found = lines(write, cron("often", spec(4, 4), "*/5 * * * *", concurrency))
        [month] = [line for line in found if line.startswith("a month: ")]
        assert month.endswith(end)
        assert int(month.removeprefix("a month: $").removesuffix(end).replace(",", "")) == pytest.approx(
            dollars, rel=0.01
        )


def test_a_month_leaves_out_starts_that_forbid_skips(write: Write) -> None:
    """Runs of 90 minutes start every two hours, and their nodes go in between."""
    found = lines(write, cron("hourly", spec(4, 4), "0 * * * *", "Forbid"), "--duration", "90m")
    [month] = [line for line in found if line.startswith("a month: ")]
    assert month.endswith(" for 365 runs of the schedule")


def test_a_month_has_each_schedule_as_often_as_it_starts(write: Write) -> None:
    both = cron("daily", spec(4, 4), "0 3 * * *") + cron("weekly", spec(4, 4), "0 3 * * 1")
    assert any(line.startswith("a month: ") and " for 17 runs " in line for line in lines(write, both)), "30.4 and 4.3"


# --- nodes that stay


STATIC = CLUSTER.replace("min_node_count = 0", "min_node_count = 10")


@pytest.mark.parametrize("cluster", [STATIC, re.sub(r"autoscaling \{[^}]*\}", "node_count = 10", CLUSTER)])
def test_nodes_that_stay_are_billed_until_the_work_ends(cluster: str, write: Write) -> None:
    found = lines(write, job("one", spec(8, 8, INDEXED)), cluster=cluster)
    assert found[0].endswith("about 10 min until the work ends, on nodes that stay")
    assert found[2].startswith("1.7 node-hours paid, $51"), "10 nodes x 10.2 min x $29.98"
    assert any(line.endswith("the size of the pools") for line in found)
    assert not any("an autoscaler with the defaults" in line for line in found)
    assert not any("scale-down-unneeded-time" in line or "being deleted" in line for line in found)


@pytest.mark.parametrize(("least", "hours"), [(0, 8 * 9 / 60), (6, 2 * 9 / 60), (8, 0)])
def test_savings_exclude_nodes_that_stay(least: int, hours: float) -> None:
    """By hand: 9 minutes less idle time, on the nodes above the minimum."""
    flags = (replace(FLAGS, unneeded_time=seconds, delay_after_add=0) for seconds in (600, 60))
    cases = (Case((Pool("p", 8, least, least),), Job(8, 600), own, CLOUD) for own in flags)
    cluster = Cluster("gke/c", Source("a.tf", b"").span(0, 0), "gke", "c", "", "", name=NOTHING, version=NOTHING)
    saved = compare(*(Scenario(case, cluster, None, (), Measured(CLOUD, None)) for case in cases))
    assert saved is not None
    assert saved.node_time.mean / 3600 == pytest.approx(hours, rel=0.2)


# --- settings under the names that the code has


PROFILE = """
resource "azurerm_kubernetes_cluster" "main" {
  name     = "main"
  location = "westeurope"

  auto_scaler_profile {
    scale_down_unneeded   = "3m"
    empty_bulk_delete_max = "2"
  }
}

resource "azurerm_kubernetes_cluster_node_pool" "gpu" {
  name                  = "gpu"
  kubernetes_cluster_id = azurerm_kubernetes_cluster.main.id
  vm_size               = "Standard_ND96isr_H100_v5"
  auto_scaling_enabled  = true
  min_count             = 0
  max_count             = 10
}
"""


def test_simulation_settings_show_their_name_and_place(write: Write) -> None:
    text = "\n".join(lines(write, job("one", spec(8, 8)), cluster=PROFILE))
    assert "idle until it may go: scale_down_unneeded 3 min (main.tf:7)" in text
    assert "waiting for its deletion: empty_bulk_delete_max 2 (main.tf:8), a batch about every " in text
    text = "\n".join(
        lines(write, job("one", spec(8, 8)), cluster=re.sub(r"auto_scaler_profile \{[^}]*\}", "", PROFILE))
    )
    assert "idle until it may go: scale-down-unneeded-time 10 min\n" in text


KARPENTER = """
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: gpu}
spec:
  disruption: {consolidationPolicy: WhenEmpty, consolidateAfter: 20m}
  limits: {nvidia.com/gpu: 80}
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: gpu}
      requirements: [{key: node.kubernetes.io/instance-type, operator: In, values: [p4d.24xlarge]}]
---
"""


def test_karpenter_settings_show_their_place(write: Write) -> None:
    found = lines(
        write, KARPENTER + job("one", spec(8, 8)), cluster='resource "aws_eks_cluster" "main" {\n  name = "main"\n}'
    )
    assert any(line.endswith("idle until it may go: consolidateAfter 20 min (jobs.yaml:6)") for line in found)
    assert any(line.endswith("disruption budgets of 1 node at a time") for line in found)


# --- prices


def test_a_price_names_market_and_region(write: Write) -> None:
    found = lines(write, job("one", spec(8, 8)))
    assert "at $29.98 per node-hour (on demand, europe-west4): " in found[2]
    own = lines(write, job("one", spec(8, 8)), "--price", "30")
    assert "at $30 per node-hour: " in own[2]


def test_a_month_of_runs_is_priced_too(write: Write) -> None:
    """By hand: 2 nodes x 730 h x $29.98 = $43,771 and a control plane.

    Daily runs are 730 / 24 = 30 a month.
    """
    kept = CLUSTER.replace("min_node_count = 0", "min_node_count = 2")
    nightly = cron("nightly", spec(8, 8), "0 3 * * *")
    [one] = json.loads("\n".join(lines(write, nightly, "--format", "json", cluster=kept)))["runs"]
    runs, idle = [line for line in lines(write, nightly, cluster=kept) if "month" in line]
    said = re.fullmatch(r"a month: \$([\d,]+) to \$([\d,]+) for 30 runs of the schedule", runs)
    assert said is not None
    for text, name in zip(said.groups(), ("dollars_least", "dollars_most"), strict=True):
        assert int(text.replace(",", "")) == pytest.approx(one[name] * 730 / 24, rel=0.01)
    assert "2 x a2-highgpu-8g $43,800 (on demand, europe-west4)" in idle
    assert "control plane" in idle
    [only] = [line for line in lines(write, job("one", spec(8, 8))) if "month" in line]
    assert only.startswith("without a run about $73 a month: control plane $73")


def test_reserved_pools_are_named_in_the_output(write: Write) -> None:
    reserved = """machine_type = "a2-highgpu-8g"
    reservation_affinity {
      consume_reservation_type = "SPECIFIC_RESERVATION"
      key                      = "compute.googleapis.com/reservation-name"
      values                   = ["ours"]
    }"""
    found = lines(write, job("one", spec(8, 8)), cluster=CLUSTER.replace('machine_type = "a2-highgpu-8g"', reserved))
    assert "(reserved, listed on demand, europe-west4)" in found[2]


def test_json_has_completions_and_the_risk(write: Write) -> None:
    both = "".join(job(name, spec(8, 80, INDEXED)) for name in ("one", "two"))
    [one] = json.loads("\n".join(lines(write, both, "--format", "json")))["runs"]
    assert one["completions"] == 80
    assert one["risk"].startswith("started with Job two it may deadlock")


@pytest.mark.parametrize("cohort", ["", "all"])
def test_a_queue_in_a_cohort_borrows_unused_quota(cohort: str, write: Write) -> None:
    cluster = CLUSTER.replace("a2-highgpu-8g", "c3-standard-44").replace("= 10", "= 40")
    member = f"  cohort: {cohort}\n" if cohort else ""
    lender = QUEUE.split("---\n")[1].replace("name: cq", "name: lender")
    text = QUEUE.replace("spec:\n", f"spec:\n{member}", 1) + lender.replace("spec:\n", f"spec:\n{member}", 1) + "---\n"
    text = text.replace("QUOTA", "336")
    for name in ("one", "two"):
        own = job(name, spec(12, 12)).replace("{limits: {nvidia.com/gpu: 8}}", "{requests: {cpu: 28, memory: 90Gi}}")
        text += own.replace("namespace: team}", "namespace: team, labels: {kueue.x-k8s.io/queue-name: lq}}")
    found = lines(write, text, cluster=cluster)
    starts = [float(line.rpartition("from ")[2].split(" ")[0]) for line in found if line.startswith(("one: ", "two: "))]
    assert (max(starts) - min(starts) < 10) is bool(cohort), "24 pods x 28 CPUs of 336, or of 672"
    assert any("while nobody else uses cohort all" in line for line in found) is bool(cohort)


ZONES = """
resource "google_container_node_pool" "ZONE" {
  name           = "ZONE"
  cluster        = google_container_cluster.train.name
  node_locations = ["europe-west4-ZONE"]

  node_config {
    machine_type = "a2-highgpu-8g"
  }

  autoscaling {
    total_min_node_count = 0
    total_max_node_count = 6
  }
}
"""


@pytest.mark.parametrize(("pods", "told"), [(8, True), (6, False)])
def test_a_job_over_several_zones_names_the_price_of_their_traffic(pods: int, told: bool, write: Write) -> None:
    cluster = CLUSTER.partition('resource "google_container_node_pool"')[0]
    pools = "".join(ZONES.replace("ZONE", zone) for zone in "ab")
    found = lines(write, job("one", spec(pods, pods, INDEXED)), cluster=cluster + pools)
    text = "assumed: no traffic between zones, $0.01 per GB: 30 GB per node-hour add 1 % to its price"
    assert (text in found) is told, found
