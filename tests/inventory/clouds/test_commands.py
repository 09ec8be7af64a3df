"""Test clusters that commands in scripts create."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from kcheck.commands.cli import cli
from kcheck.config.config import Config
from kcheck.inventory import reader
from kcheck.text.files.tree import Tree
from kcheck.text.values import Unknown, known

if TYPE_CHECKING:
    from kcheck.model import Inventory
    from tests.conftest import Check, Write

pytestmark = pytest.mark.medium
GKE = """\
#!/bin/bash
export ZONE=us-central1-a
CLUSTER=${CLUSTER:-train}
# gcloud container clusters create old --zone us-east1-b
echo "gcloud container clusters create shown"
gcloud beta container clusters create $CLUSTER --zone "$ZONE" \\
  --project=$(gcloud config get-value project) --release-channel=regular --num-nodes=1
gcloud container node-pools create gpu --cluster=${CLUSTER} --zone=$ZONE --spot \\
  --machine-type a3-highgpu-8g --accelerator type=nvidia-h100-80gb,count=8,gpu-driver-version=latest \\
  --node-taints team=ml:NoSchedule,size=large:NoExecute --num-nodes ${NODES:-4} --disk-size 200GB
"""
ZONES = """\
gcloud container node-pools create more --cluster=${CLUSTER} --spot --enable-autoscaling --min-nodes 0 \\
  --max-nodes 90 --machine-type a3-highgpu-8g --node-locations us-central1-a,us-central1-b
"""
AKS = """\
az aks create -g rg -n ml --node-count $COUNT --kubernetes-version 1.33 --zones 1 2 3 --tier standard
az aks nodepool add --cluster-name ml -g rg --name gpu -s Standard_ND96isr_H100_v5 \\
  --enable-cluster-autoscaler --min-count 0 --max-count 8 --priority Spot
"""
EKS = """\
eksctl create cluster -f cluster.yaml
eksctl create cluster --name=ml --region us-west-2 --version 1.33 --without-nodegroup
eksctl create nodegroup --cluster ml --name gpu -t p4d.24xlarge -N 4 -M 16
eksctl create nodegroup --cluster other --name gpu
"""


def _read() -> Inventory:
    return reader.read(Tree(["."]), Config()).inventory


def test_flags_of_gcloud_are_the_cluster(write: Write) -> None:
    write({"up.sh": GKE})
    found = _read()
    (cluster,) = found.clusters
    assert (known(cluster.name), known(cluster.location), known(cluster.zonal)) == ("train", "us-central1-a", True)
    first, gpu = found.pools
    assert (known(first.size.max_nodes), known(gpu.size.max_nodes)) == (1, 4)
    assert (known(gpu.machine.gpus), known(gpu.market.spot), known(gpu.machine.disk_size)) == (8, True, 200)
    assert known(gpu.cluster) is cluster
    assert len(known(gpu.scheduling.taints) or ()) == 2


def test_flags_of_az_are_the_cluster(write: Write) -> None:
    write({"Makefile": f"up:\n{AKS}"})
    found = _read()
    (cluster,) = found.clusters
    assert (known(cluster.version), known(cluster.tier)) == ("1.33", "Standard")
    first, gpu = found.pools
    assert isinstance(first.size.max_nodes, Unknown)
    assert len(known(first.placement.zones) or ()) == 3
    assert (known(gpu.size.max_nodes), known(gpu.market.spot), known(gpu.cluster)) == (8, True, cluster)


def test_flags_of_eksctl_are_the_cluster(write: Write) -> None:
    write({"up.sh": EKS})
    found = _read()
    (cluster,) = found.clusters
    assert (known(cluster.name), known(cluster.version)) == ("ml", "1.33")
    assert [(known(pool.name), known(pool.size.max_nodes)) for pool in found.pools] == [("gpu", 16)]
    assert found.subnets


def test_a_variable_of_the_shell_is_an_input(write: Write) -> None:
    write({"up.sh": AKS})
    output = CliRunner().invoke(cli, ["check", ".", "--show-undecided"]).output
    assert "--var COUNT=" in output
    assert "var.COUNT" not in CliRunner().invoke(cli, ["check", ".", "--var", "COUNT=3", "--show-undecided"]).output


def test_findings_of_flags_are_at_the_flag_and_are_not_fixed(check: Check) -> None:
    found = check({"up.sh": AKS.replace("1.33", "1.30")}).findings
    places = [one.span for one in found if one.rule == "unsupported-kubernetes"]
    assert [(place.source.path, place.text) for place in places] == [("up.sh", "1.30")]
    assert "up.sh" not in CliRunner().invoke(cli, ["fix", ".", "--diff"]).stdout


def test_the_help_of_a_finding_says_that_a_flag_sets_it(check: Check) -> None:
    (found,) = [one for one in check({"up.sh": GKE + ZONES}).findings if one.rule == "spot-location-policy"]
    assert found.help == 'set location_policy = "ANY" by a flag of the command'


def test_a_script_resets_no_size_that_the_autoscaler_chose(check: Check) -> None:
    script = AKS.replace("--min-count", "--node-count 2 --min-count").replace("$COUNT", "3")
    found = check({"up.sh": script})
    assert known(found.world.inventory.pools[1].size.max_nodes) == 8
    assert "count-resets-size" not in {one.rule for one in found.findings}
