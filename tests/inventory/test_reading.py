"""Test that an incremental read equals a fresh read."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kcheck.config.config import Config
from kcheck.inventory import reader
from kcheck.inventory.reading import Kept
from kcheck.report import model
from kcheck.text.files.tree import Tree
from kcheck.text.values import known

if TYPE_CHECKING:
    from kcheck.inventory.reading import Reading
    from tests.conftest import Read, Write


pytestmark = pytest.mark.medium

JOB = """\
apiVersion: batch/v1
kind: Job
metadata: {name: train}
spec: {parallelism: 8, template: {spec: {containers: [{name: main, image: "a/b:1"}]}}}
"""
SCALER = """\
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: web}
spec: {scaleTargetRef: {kind: Deployment, name: web}, maxReplicas: 7}
"""
WEB = (
    JOB.replace("batch/v1", "apps/v1")
    .replace("Job", "Deployment")
    .replace("train", "web")
    .replace("parallelism", "replicas")
)
CLUSTER = """\
variable "sku" { default = "Free" }
resource "azurerm_kubernetes_cluster" "main" {
  name     = "main"
  sku_tier = var.sku
  default_node_pool {
    name       = "system"
    vm_size    = "Standard_D4s_v3"
    node_count = 3
  }
}
"""
FILES = {"job.yaml": JOB, "web.yaml": WEB, "scaler.yaml": SCALER, "main.tf": CLUSTER, "broken.yaml": JOB + "  a: [\n",
         "chart.yaml": JOB.replace("train", "{{ .name }}") + "  {{ x: [\n"}  # fmt: skip


def read(kept: Kept | None = None) -> Reading:
    return reader.read(Tree(["."], before=kept.sources if kept else None), Config(), kept=kept)


def described(reading: Reading) -> object:
    """Return everything that was read as plain data."""
    found = reading.inventory
    return (
        model.as_json(model.of_reading(reading, Config())),
        {folder: [source.path for source in sources] for folder, sources in reading.templates.items()},
        [source.path for source in reading.sources],
        [(thing.id, cluster.id) for thing, cluster in found.cluster_of.items()],
        reading.skipped,
    )


CHANGES = {
    "nothing": {},
    "a job": {"job.yaml": JOB.replace("8", "9")},
    "a new job": {"other.yaml": JOB.replace("train", "other")},
    "what another object asks about": {"scaler.yaml": SCALER.replace("7", "70")},
    "terraform": {"main.tf": CLUSTER.replace("3\n", "5\n")},
    "a variable file": {"terraform.tfvars": 'sku = "Standard"\n'},
    "a module": {
        "main.tf": CLUSTER + 'module "m" {\n  source = "./m"\n}\n',
        "m/main.tf": CLUSTER.replace("main", "inner"),
    },
    "a problem": {"broken.yaml": JOB},
    "a template": {"chart.yaml": JOB},
    "a kustomization": {"kustomization.yaml": "resources: [job.yaml]\nnamePrefix: a-\n"},
    "a settings file of Kubernetes": {"b/extra.yaml": SCALER.replace("web", "train")},
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_an_incremental_read_equals_a_fresh_read(change: dict[str, str], write: Write) -> None:
    write(FILES)
    kept = Kept()
    read(kept)
    for files in (change, FILES):
        write(files)
        assert described(read(kept)) == described(read())


def test_unchanged_objects_are_not_read_again(write: Write) -> None:
    write(FILES)
    kept = Kept()
    first = read(kept).inventory
    write(CHANGES["a job"])
    second = read(kept).inventory
    assert second.clusters == first.clusters
    assert [one in first.workloads for one in second.workloads] == [
        one.id != "job.yaml:Job/train" for one in first.workloads
    ]


def test_deleted_files_leave_no_objects(write: Write) -> None:
    folder = write(FILES)
    kept = Kept()
    read(kept)
    for name in ("job.yaml", "main.tf", "scaler.yaml"):
        (folder / name).unlink()
        assert described(read(kept)) == described(read())


def test_terraform_that_reads_files_is_read_again(write: Write) -> None:
    write({"main.tf": CLUSTER.replace("var.sku", 'trimspace(file("sku.txt"))'), "sku.txt": "Free"})
    kept = Kept()
    read(kept)
    write({"sku.txt": "Standard"})
    assert described(read(kept)) == described(read())


def test_pods_next_to_a_library_of_modules_are_not_on_its_clusters(write: Write) -> None:
    inside = 'variable "name" {}\nprovider "kubernetes" {\n  host = "a"\n}\n' + CLUSTER.replace(
        '"main"\n  sku', "var.name\n  sku"
    )
    write({"modules/cluster/main.tf": inside, "modules/cluster/job.yaml": JOB, "modules/pool/job.yaml": JOB})
    assert len(read().inventory.cluster_of) == 2  # nothing else is deployed here
    write({"live/main.tf": CLUSTER})
    found = read().inventory
    assert [one.place.source.path for one in found.cluster_of] == ["modules/cluster/job.yaml"]
    (other,) = found.candidates_of.values()
    assert other.reason.startswith("the nearest cluster, of modules/cluster, is made by what calls it;")
    write({"modules/cluster/main.tf": inside.replace('"kubernetes"', '"azurerm"')})
    assert len(read().inventory.cluster_of) == 2


SCRIPT = """#!/bin/bash
export NAME=train
cat > cluster.yaml <<EOF
apiVersion: eksctl.io/v1alpha5
kind: ClusterConfig
metadata: {name: train, region: us-east-1, version: "1.36"}
managedNodeGroups:
  - {name: gpu, instanceType: p5.48xlarge, maxSize: 40}
EOF
eksctl create cluster -f cluster.yaml
kubectl apply -f - <<'END'
apiVersion: v1
kind: Pod
metadata: {name: trial}
spec: {containers: [{name: a, image: cuda}]}
END
"""


def test_a_cluster_in_a_here_document_is_judged_unless_it_is_a_trial(read: Read) -> None:
    inventory = read({"up.sh": SCRIPT})
    (cluster,), (pool,) = inventory.clusters, inventory.pools
    assert (known(cluster.version), cluster.place.begin.line) == ("1.36", 5)
    assert (known(pool.size.max_nodes), pool.place.source.path) == (40, "up.sh")
    assert not inventory.workloads
    assert pool.place.source.derived


def test_a_here_document_loses_tabs_as_in_a_shell(read: Read) -> None:
    lines = SCRIPT.replace("<<EOF", "<<-EOF").splitlines()
    assert read({"up.sh": "\n".join([*lines[:3], *(f"\t{line}" for line in lines[3:9]), *lines[9:]])}).clusters


def test_an_unterminated_here_document_is_ignored(read: Read) -> None:
    assert not read({"up.sh": SCRIPT.replace("\nEOF", "")}).clusters
