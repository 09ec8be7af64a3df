"""Test intents read from existing code: nothing is invented, and missing fields are reported."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kcheck.commands.cli import cli
from kcheck.config import effective
from kcheck.config.config import ConfigError
from kcheck.generate import intent, intent_from_code
from kcheck.generate.assembly import generate
from kcheck.generate.intent_from_code import Source
from tests.generate.test_grid import CLOUDS
from tests.places import ROOT

if TYPE_CHECKING:
    from kcheck.generate.intent import Intent

EXAMPLES = ROOT / "examples"
GKE = """
provider "google" {{
  project = "ours"
}}
resource "google_container_cluster" "a" {{
  name               = "gpu"
  location           = "{location}"
  min_master_version = "1.35"
}}
resource "google_container_node_pool" "a" {{
  name    = "train"
  cluster = google_container_cluster.a.name
  autoscaling {{
    total_max_node_count = {nodes}
  }}
  node_config {{
    machine_type = {machine}
  }}
}}
"""


def source(*paths: str | Path, cluster: str = "") -> Source:
    names = tuple(map(str, paths))
    return Source(names, effective.effective_config(names, None, {}), cluster)


def read(*paths: str | Path, **fields: object) -> Intent:
    return intent_from_code.intent_of(source(*paths), None, fields)


def gke(folder: Path, location: str = "us-east4-b", nodes: str = "20", machine: str = '"n2-standard-32"') -> Path:
    (folder / "main.tf").write_text(GKE.format(location=location, nodes=nodes, machine=machine))
    return folder


def test_the_intent_of_an_example_is_read_from_its_code() -> None:
    found = intent_from_code.read(source(EXAMPLES / "eks-training"))
    assert found.cloud == "eks"
    assert found.fields == {
        "name": "train", "region": "us-east-1", "kubernetes": "1.35", "nodes": 64, "machines": ["p5.48xlarge"],
        "gpus": 8, "job.nodes": 64, "autoscaler": "cluster-autoscaler", "scheduler": "none",
        "network.mode": "addresses", "network.api_ranges": [],
    }  # fmt: skip
    assert found.missing == {}
    assert list(found.unclear) == ["zones"]


def test_everything_missing_in_an_example_is_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(EXAMPLES)
    assert read("eks-training").assumed == (
        (
            "zones: us-east-1a, us-east-1b, us-east-1c; data.aws_availability_zones.available is read from the cloud "
            "(eks-training/vpc.tf:6)"
        ),
        (
            "not in the code, or not read there: account 111122223333; job.hours 24; teams training 100%; tiers "
            "low, normal, high; registry 111122223333.dkr.ecr.us-east-1.amazonaws.com/train; image train:1.0.0"
        ),
        (
            "left out, as training nodes are those with the most GPUs: pool cpu (eks-training/eks.tf:26), 600 nodes of "
            "c6i.16xlarge"
        ),
        (
            "the cluster's own pods get up to 4 nodes of m7i.2xlarge; the code has pool system (eks-training/eks.tf:20), 4 "
            "nodes of m6i.xlarge"
        ),
        "network.range: chosen by size; the code has 10.0.0.0/16 (eks-training/vpc.tf:13)",
    )


def test_machines_without_gpus_stay_without_gpus(tmp_path: Path) -> None:
    (tmp_path / "main.tf").write_text(
        'resource "azurerm_kubernetes_cluster" "a" {\n  name = "etl"\n  location = "East US"\n'
        '  default_node_pool {\n    name = "default"\n    vm_size = "Standard_D4s_v3"\n    zones = ["2"]\n'
        "    auto_scaling_enabled = true\n    max_count = 1000\n  }\n}\n"
    )
    found = read(tmp_path)
    assert (found.machines, found.gpus, found.nodes) == (("Standard_D4s_v3",), 0, 1000)
    assert (found.region, found.zones) == ("eastus", ("2",))


def test_a_cpu_job_does_not_set_the_gpu_nodes(tmp_path: Path) -> None:
    (tmp_path / "job.yaml").write_text(
        "apiVersion: batch/v1\nkind: Job\nmetadata: {name: tokenize}\nspec:\n  parallelism: 400\n  template:\n    spec:\n"
        "      containers: [{name: a, image: example.com/a:1, resources: {requests: {cpu: 4}}}]\n"
    )
    found = read(gke(tmp_path, machine='"a3-highgpu-8g"'))
    assert (found.gpus, found.nodes) == (8, 20)


def test_one_zone_stays_one_zone(tmp_path: Path) -> None:
    found = read(gke(tmp_path))
    assert (found.region, found.zones, found.account) == ("us-east4", ("us-east4-b",), "ours")


def test_zones_of_a_regional_cluster_are_assumed(tmp_path: Path) -> None:
    found = read(gke(tmp_path, location="us-east4"))
    assert "zones us-east4-a, us-east4-b, us-east4-c" in " ".join(found.assumed)


@pytest.mark.parametrize(
    ("machine", "nodes", "told"),
    [
        ("var.machine", "20", r"machines cannot be read: .*pool train \(main.tf:10\).* var\.machine .*--var-file"),
        (
            '"n2-standard-8"',
            "var.nodes",
            r"nodes cannot be read: the maximum of pool train .*var\.nodes.*; give --nodes",
        ),
    ],
)
def test_unread_machines_or_sizes_give_no_intent(
    machine: str, nodes: str, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(gke(tmp_path, machine=machine, nodes=nodes))
    Path("variables.tf").write_text('variable "machine" {}\nvariable "nodes" {}\n')
    with pytest.raises(ConfigError, match=told):
        read(".")
    found = read(".", machines=["n2-standard-32"], nodes=7)
    assert (found.machines, found.nodes) == (("n2-standard-32",), 7)
    assert not [line for line in found.assumed if line.startswith(("machines", "nodes"))]


def test_code_without_pools_gives_no_intent(tmp_path: Path) -> None:
    (tmp_path / "main.tf").write_text(
        'resource "google_container_cluster" "a" {\n  name = "a"\n  location = "us-east4"\n  enable_autopilot = true\n}\n'
    )
    with pytest.raises(ConfigError, match="machines and nodes cannot be read"):
        read(tmp_path)


def test_small_and_unread_gpu_pools_are_reported_as_left_out(tmp_path: Path) -> None:
    pool = (
        'resource "aws_eks_node_group" "{0}" {{\n  cluster_name = aws_eks_cluster.a.name\n  node_group_name = "{0}"\n'
        "  instance_types = [{1}]\n  scaling_config {{\n    max_size = {2}\n  }}\n}}\n"
    )
    (tmp_path / "main.tf").write_text(
        'provider "aws" {\n  region = "us-west-2"\n}\nresource "aws_eks_cluster" "a" {\n  name = "a1"\n}\n'
        'variable "type" {}\n'
        + pool.format("big", '"p5.48xlarge"', 30)
        + pool.format("small", '"g6.xlarge"', 50)
        + pool.format("open", "var.type", 9)
    )
    found = read(tmp_path)
    assert (found.machines, found.nodes, found.gpus) == (("p5.48xlarge",), 30, 8)
    left = [line for line in found.assumed if "left out" in line]
    assert len(left) == 2
    assert re.search(r"pool open .* is left out: its machine type is unknown: var\.type", left[0])
    assert re.search(
        r"left out, as training nodes are those with the most GPUs: pool small .*, 50 nodes of g6.xlarge", left[1]
    )


def test_machine_types_with_another_gpu_count_are_left_out(tmp_path: Path) -> None:
    (tmp_path / "main.tf").write_text(
        'resource "aws_eks_cluster" "a" {\n  name = "a1"\n}\nresource "aws_eks_node_group" "a" {\n'
        '  cluster_name = aws_eks_cluster.a.name\n  node_group_name = "a"\n  capacity_type = "SPOT"\n'
        '  instance_types = ["g5.2xlarge", "g5.12xlarge", "g5.4xlarge"]\n  scaling_config {\n    max_size = 9\n  }\n}\n'
    )
    found = read(tmp_path)
    assert (found.machines, found.gpus) == (("g5.2xlarge", "g5.4xlarge"), 1)
    assert "g5.12xlarge is left out: the nodes of a job have the same number and model of GPUs" in found.assumed


@pytest.mark.parametrize(("spot", "share"), [(20, 100), (1, 5)])
def test_spot_pools_set_the_spot_share(spot: int, share: int, tmp_path: Path) -> None:
    gke(tmp_path, nodes=str(20 - spot))
    text = (tmp_path / "main.tf").read_text()
    second = text[text.index('resource "google_container_node_pool"') :]
    second = second.replace('"a" {', '"b" {').replace('"train"', '"spot"').replace(f"= {20 - spot}\n", f"= {spot}\n")
    (tmp_path / "spot.tf").write_text(second.replace("node_config {", "node_config {\n    spot = true"))
    found = read(tmp_path)
    assert (found.nodes, found.spot) == (20, share)


def test_duplicate_priority_classes_are_one_tier(tmp_path: Path) -> None:
    tier = "apiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\nmetadata:\n  name: {}\nvalue: {}\n"
    gke(tmp_path)
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "tiers.yaml").write_text("---\n".join([tier.format("default", 5), tier.format("high", 9)]))
    assert read(tmp_path).tiers == ("default", "high")


def test_values_without_a_place_in_an_intent_are_reported(tmp_path: Path) -> None:
    (tmp_path / "tiers.yaml").write_text(
        "apiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\nmetadata:\n  name: of.the.group\nvalue: 5\n"
    )
    found = read(gke(tmp_path))
    assert found.tiers == ("normal",)
    assert "tiers: normal; ['of.the.group'] of the code is nothing that an intent can say" in found.assumed


def test_unsupported_versions_are_replaced_and_reported(tmp_path: Path) -> None:
    gke(tmp_path)
    text = (tmp_path / "main.tf").read_text()
    (tmp_path / "main.tf").write_text(text.replace('"1.35"', '"1.27"'))
    line = next(line for line in read(tmp_path).assumed if line.startswith("kubernetes"))
    assert re.fullmatch(r"kubernetes: 1\.35; 1\.27 is past standard support \(.*main\.tf:8\)", line)


def test_an_account_without_a_value_in_a_list_is_assumed(tmp_path: Path) -> None:
    shutil.copytree(EXAMPLES / "eks-training", tmp_path / "eks")
    versions = tmp_path / "eks" / "versions.tf"
    accounts = 'provider "aws" {\n  allowed_account_ids = [var.account]'
    versions.write_text(versions.read_text().replace('provider "aws" {', accounts) + 'variable "account" {}\n')
    line = next(line for line in read(tmp_path / "eks").assumed if line.startswith("account: "))
    assert "var.account has no value" in line


def test_several_clusters_are_named(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        gke(tmp_path / name, location=f"us-east4-{name}")
    with pytest.raises(ConfigError, match=r"2 clusters there; name the folder of one \(.*a, .*b\)$"):
        read(tmp_path)
    (tmp_path / "b/main.tf").write_text((tmp_path / "b/main.tf").read_text().replace('"gpu"', '"other"'))
    with pytest.raises(ConfigError, match=r"or choose one with --cluster \(gpu, other\)$"):
        read(tmp_path)
    assert intent_from_code.intent_of(source(tmp_path, cluster="other"), None, {}).zones == ("us-east4-b",)
    with pytest.raises(ConfigError, match=r"no cluster third there; there are gpu, other"):
        intent_from_code.intent_of(source(tmp_path, cluster="third"), None, {})


# --- what was generated is read as what was wanted


def written(files: dict[str, bytes], folder: Path) -> None:
    for path, data in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(data)


WANTED: list[dict[str, Any]] = [
    {},
    {"nodes": 120, "teams": [{"name": "vision", "share": 50}, {"name": "speech", "share": 50}],
     "tiers": ["batch", "urgent"], "job": {"nodes": 16, "hours": 12}, "scheduler": "volcano"},
    {"nodes": 300, "spot": {"share": 30}, "scheduler": "none", "network": {"in_use": ["10.0.0.0/16"]}},
]  # fmt: skip


@pytest.mark.parametrize("cloud", CLOUDS)
@pytest.mark.parametrize("number", range(len(WANTED)))
def test_an_intent_read_from_generated_files_gives_the_same_files(
    cloud: str, number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fields = {name: value for name, value in WANTED[number].items() if (cloud, name) != ("selfmanaged", "spot")}
    files = generate(intent.with_defaults(cloud, fields)).files
    written(files, tmp_path)
    monkeypatch.chdir(tmp_path)
    assert generate(read(".")).files == files


@pytest.mark.parametrize("cloud", CLOUDS)
def test_code_without_its_intent_gives_almost_every_field(
    cloud: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The intent is deleted first; kubeadm's files name no zones, but Kueue's queues do."""
    wanted = intent.with_defaults(cloud, WANTED[1])
    written({path: data for path, data in generate(wanted).files.items() if path != "intent.yaml"}, tmp_path)
    monkeypatch.chdir(tmp_path)
    found = read(".")
    different = {name for name in wanted.__struct_fields__ if getattr(wanted, name) != getattr(found, name)}
    assert different <= {"assumed"}
    unsaid = {
        "selfmanaged": {"zones", "network.api_ranges"},
        "ack": {"account"},  # the provider has no argument for it
    }
    lines = [line.removeprefix("not in the code, or not read there: ") for line in found.assumed]
    assert {part.split()[0] for line in lines for part in line.split("; ")} == unsaid.get(cloud, set())


CARDS = ["ibp24s0", "ibp41s0"]
OWN: list[dict[str, Any]] = [
    {"zones": ["hall"], "network": {"fabric": "infiniband", "cards": CARDS}},
    {"zones": ["a", "b"], "network": {"fabric": "none"}},
    {"zones": ["a", "b"], "network": {"fabric": "infiniband-sriov", "cards": CARDS}, "installer": "cluster-api"},
    {"zones": ["a", "b"], "installer": "cluster-api", "scheduler": "none", "autoscaler": "cluster-autoscaler"},
    {"zones": ["hall-1", "hall-2"], "network": {"fabric": "roce", "cards": CARDS}, "installer": "kubespray",
     "scheduler": "volcano"},
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(OWN)))
def test_code_for_own_machines_gives_region_and_network(
    number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = intent.with_defaults("selfmanaged", {"region": "hq", "nodes": 100, **OWN[number]})
    written({path: data for path, data in generate(wanted).files.items() if path != "intent.yaml"}, tmp_path)
    monkeypatch.chdir(tmp_path)
    found = read(".")
    assert {name for name in wanted.__struct_fields__ if getattr(wanted, name) != getattr(found, name)} == {"assumed"}
    assert found.assumed[0] == "not in the code, or not read there: network.api_ranges none"
    assert not [line for line in found.assumed if line.startswith("tiers")]


def test_storage_network_cards_are_not_mistaken_for_gpu_network_cards(tmp_path: Path) -> None:
    wanted = intent.with_defaults("selfmanaged", {"nodes": 100, "network": {"fabric": "roce", "cards": CARDS}})
    files = {path: data for path, data in generate(wanted).files.items() if path != "intent.yaml"}
    more = b'{"configList": [{"resourceName": "storage", "selectors": {"ifNames": ["ibp99s0"]}}, '
    files["kubernetes/fabric.yaml"] = files["kubernetes/fabric.yaml"].replace(b'{"configList": [', more)
    written(files, tmp_path)
    assert read(tmp_path).cards == tuple(CARDS)
    files["kubernetes/fabric.yaml"] = files["kubernetes/fabric.yaml"].replace(b'{"configList": [', b'{"configList": {[')
    written(files, tmp_path)
    assert any(
        line.startswith("network.fabric: infiniband; the code has roce, but no network cards")
        for line in read(tmp_path).assumed
    )


def test_the_code_overrides_the_intent_next_to_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fields = {"nodes": 100, "network": {"in_use": ["10.0.0.0/16"]}, "job": {"nodes": 16}}
    written(generate(intent.with_defaults("gke", fields)).files, tmp_path)
    monkeypatch.chdir(tmp_path)
    text = Path("terraform.tfvars").read_text()
    assert text.count('machine = "a3-highgpu-8g"')
    Path("terraform.tfvars").write_text(text.replace("a3-highgpu-8g", "a3-megagpu-8g"))
    found = read(".")
    assert (found.machines, found.in_use, found.job_nodes) == (("a3-megagpu-8g",), ("10.0.0.0/16",), 16)


def test_assumptions_are_kept_until_a_value_is_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gke(tmp_path, location="us-east4")
    monkeypatch.chdir(tmp_path)
    first = read("main.tf")
    assert first.assumed
    written(generate(first).files, tmp_path / "made")
    assert read("made").assumed == first.assumed
    assert f"- {first.assumed[0]}\n" in Path("made/README.md").read_text()
    assert len(read("made", zones=["us-east4-b"]).assumed) == len(first.assumed)


MACHINES = st.sampled_from(["a3-highgpu-8g", "a2-highgpu-8g", "n2-standard-32", "g2-standard-8"])
NAMES = st.lists(st.sampled_from(["research", "vision", "speech"]), min_size=1, max_size=3, unique=True)


@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    nodes=st.integers(4, 700), machine=MACHINES, names=NAMES, spot=st.sampled_from([0, 10, 55, 100]),
    scheduler=st.sampled_from(["kueue", "volcano", "none"]), zones=st.integers(1, 3),
)  # fmt: skip
def test_every_random_generated_cluster_is_read_back(
    nodes: int, machine: str, names: list[str], spot: int, scheduler: str, zones: int,
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    teams = [{"name": name, "share": 100 // len(names)} for name in names]
    fields = {"nodes": nodes, "machines": [machine], "teams": teams, "spot": {"share": spot}, "scheduler": scheduler,
              "zones": [f"us-central1-{letter}" for letter in "abc"[:zones]]}  # fmt: skip
    files = generate(intent.with_defaults("gke", fields)).files
    folder = tmp_path_factory.mktemp("made")
    written(files, folder)
    monkeypatch.chdir(folder)
    assert generate(read(".")).files == files


# --- the command


def run(*words: str) -> tuple[int, str]:
    result = CliRunner().invoke(cli, ["generate", *words])
    assert result.exception is None or isinstance(result.exception, SystemExit)
    return result.exit_code, result.output


def test_the_command_prints_the_assumptions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(gke(tmp_path, machine="var.machine"))
    Path("variables.tf").write_text('variable "machine" {}\n')
    Path("mine.yaml").write_text("machines: [n2-standard-32]\n")
    assert run("--from", ".", "--output", str(tmp_path.parent / "made"))[0] == 2
    assert "no manifests are added: --from .: machines cannot be read" in run("--from", ".", "--diff")[1]
    for words in (("--var", "machine=n2-standard-32"), ("--intent", "mine.yaml")):
        code, out = run("--from", ".", *words, "--output", str(tmp_path.parent / "made"), "--overwrite")
        assert code == 0
        assert "kcheck: assumed: not in the code, or not read there: " in out
        assert "machines: [n2-standard-32]" in (tmp_path.parent / "made/intent.yaml").read_text()


def test_options_for_reading_code_need_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert "--cluster needs --from" in run("eks", "--cluster", "a")[1]
    assert "--var needs --from" in run("eks", "--var", "a=b")[1]
