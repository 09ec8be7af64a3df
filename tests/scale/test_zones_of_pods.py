"""Test pods whose volume is in another zone, or that need more zones than their pools have."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kcheck.config.config import Config
from kcheck.engine import linter
from kcheck.scale.unschedulable import refusal
from kcheck.text.files.tree import Tree
from kcheck.text.values import known

if TYPE_CHECKING:
    from tests.conftest import Write

CLUSTER = """\
resource "google_container_cluster" "main" {
  name               = "train"
  location           = "us-central1"
  initial_node_count = 1
  remove_default_node_pool = true
}

resource "google_container_node_pool" "main" {
  name           = "main"
  cluster        = google_container_cluster.main.id
  node_locations = ["us-central1-a", "us-central1-c"]

  autoscaling {
    max_node_count = 4
  }

  node_config {
    machine_type = "n2-standard-8"
  }
}
"""
POD = """\
apiVersion: v1
kind: Pod
metadata: {{name: train, namespace: a}}
spec:
  nodeSelector: {selector}
  containers: [{{name: main, image: registry.example.com/train:1.4}}]
  volumes: [{{name: data, persistentVolumeClaim: {{claimName: data}}}}]
"""
CLAIM = """\
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {{name: data, namespace: a}}
spec: {{accessModes: [ReadWriteOnce], {more}}}
"""
VOLUME = """\
apiVersion: v1
kind: PersistentVolume
metadata: {{name: disk}}
spec:
  nodeAffinity:
    required:
      nodeSelectorTerms:
        - matchExpressions: [{{key: {key}, operator: In, values: [{zone}]}}]
"""
CLASS = """\
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {{name: zonal}}
provisioner: pd.csi.storage.gke.io
volumeBindingMode: WaitForFirstConsumer
allowedTopologies:
  - matchLabelExpressions: [{{key: {key}, values: [{zone}]}}]
"""
GKE, KUBERNETES = "topology.gke.io/zone", "topology.kubernetes.io/zone"


def refused(write: Write, *manifests: str) -> tuple[str, str | None, str] | None:
    """Return the resource that no pool offers, the requested value, and the nearest pool's value.

    None if all are offered.
    """
    write({"main.tf": CLUSTER, "all.yaml": "---\n".join(manifests)})
    world = linter.run(Tree(["."]), Config()).world
    found = refusal(world.inventory.workloads[0].templates[0], world)
    return None if found is None else (found.kind, known(found.asked), found.has)


@pytest.mark.parametrize("key", [GKE, KUBERNETES])
@pytest.mark.parametrize(("behind", "more"), [(VOLUME, "volumeName: disk"), (CLASS, "storageClassName: zonal")])
@pytest.mark.parametrize("zone", ["us-central1-a", "us-central1-b"])
def test_a_zonal_volume_decides_the_zone_of_its_pods(key: str, behind: str, more: str, zone: str, write: Write) -> None:
    found = refused(write, POD.format(selector="{}"), CLAIM.format(more=more), behind.format(key=key, zone=zone))
    has = f"{key}=us-central1-a and {key}=us-central1-c"
    assert found == (None if zone == "us-central1-a" else ("volume", f"{key}={zone}", has))


def test_the_selectors_of_pods_and_of_their_volume_both_apply(write: Write) -> None:
    volume, claim = VOLUME.format(key=GKE, zone="us-central1-a"), CLAIM.format(more="volumeName: disk")
    found = refused(write, POD.format(selector="{team: vision}"), claim, volume)
    assert found == ("label", "team=vision", "no label team")
    assert refused(write, POD.format(selector=f"{{{GKE}: us-central1-a}}"), claim, volume) is None


def test_a_volume_without_a_zone_requires_no_zone(write: Write) -> None:
    free = "apiVersion: v1\nkind: PersistentVolume\nmetadata: {name: disk}\nspec: {capacity: {storage: 1Ti}}\n"
    assert refused(write, POD.format(selector="{}"), CLAIM.format(more="volumeName: disk"), free) is None
    bound = CLASS.format(key=GKE, zone="us-central1-b").replace(
        "WaitForFirstConsumer", "Immediate"
    )  # as of a file system
    assert refused(write, POD.format(selector="{}"), CLAIM.format(more="storageClassName: zonal"), bound) is None
    other = VOLUME.format(key=GKE, zone="us-central1-b")
    assert refused(write, POD.format(selector="{}"), CLAIM.format(more="volumeName: another"), other) is None


APART = """\
apiVersion: apps/v1
kind: Deployment
metadata: {{name: serve}}
spec:
  replicas: {pods}
  template:
    metadata: {{labels: {{app: serve}}}}
    spec:
      affinity:
        podAntiAffinity:
          requiredDuringSchedulingIgnoredDuringExecution:
            - topologyKey: {key}
              labelSelector: {{matchLabels: {{app: {app}}}}}
      containers: [{{name: main, image: registry.example.com/serve:1.4}}]
"""


@pytest.mark.parametrize(
    ("pods", "key", "app", "asked"),
    [
        (2, KUBERNETES, "serve", None),
        (3, KUBERNETES, "serve", "3 zones"),
        (3, KUBERNETES, "other", None),  # it keeps away from other pods
        (3, "kubernetes.io/hostname", "serve", None),
        (3, "example.com/rack", "serve", None),  # how many there are is not known
    ],
)
def test_pods_that_share_no_zone_need_as_many_zones(
    pods: int, key: str, app: str, asked: str | None, write: Write
) -> None:
    found = refused(write, APART.format(pods=pods, key=key, app=app))
    assert found == (asked and ("zones", asked, "2 zones"))
