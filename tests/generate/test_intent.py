"""Test intents: reading, completion and refusal, pools and ranges, and the command that writes a cluster."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from kcheck.commands.cli import cli
from kcheck.config.config import ConfigError
from kcheck.generate import aks, intent, ranges, recommended
from kcheck.generate.assembly import ImpossibleError, generate
from kcheck.generate.intent import label
from kcheck.generate.pools import Pool, evenly, split
from kcheck.generate.ranges import NoRoomError, Slot
from kcheck.text.ip_ranges import parse_cidr
from tests.places import ROOT

EXAMPLES = ROOT / "examples"
CLOUDS = ("eks", "gke", "aks", "ack", "selfmanaged")


def written(tmp_path: Path, text: str) -> str:
    path = tmp_path / "intent.yaml"
    path.write_text(text)
    return str(path)


# --- the intent


@pytest.mark.parametrize("cloud", CLOUDS)
def test_a_rendered_intent_loads_as_the_same_intent(cloud: str, tmp_path: Path) -> None:
    wanted = intent.with_defaults(cloud, {"nodes": 450})
    path = written(tmp_path, intent.render_intent(wanted))
    assert intent.with_defaults(cloud, intent.load(path)) == wanted


@pytest.mark.parametrize("cloud", CLOUDS)
def test_a_rendered_intent_explains_every_field(cloud: str) -> None:
    text = intent.render_intent(intent.with_defaults(cloud, {}))
    for name, description in intent.meanings().items():
        of_machines = name in {"installer", "network.fabric", "network.cards"}  # of one's own
        attached = name == "accelerator" and cloud != "gke"
        if name == "assumed" or attached or (of_machines and cloud != "selfmanaged"):
            continue
        assert f"# {description}" in text, name
        assert f"{name.rpartition('.')[2]}:" in text


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("nodes: 100\nnode: 5\n", ":2: there is no field node; did you mean nodes?"),
        ("nodes: many\n", ':1: nodes must be a whole number, not "many"'),
        ("nodes: 0\n", ":1: nodes must be at least 1"),
        ("name: train\nspot:\n  share: 130\n", ":3: spot.share must be at most 100"),
        ("scheduler: slurm\n", ':1: scheduler must be one of kueue, volcano, none, not "slurm"'),
        ("teams:\n  - name: a\n", ":2: teams[0] needs share"),
        ("network:\n  range: 10.0.0.0\n", ":2: network.range must look like 10.0.0.0/14, not 10.0.0.0"),
        ("nodes: [1\n", ":1:"),
        ("kubernetes: 1.34\n", ":1: kubernetes must be a text, not 1.34"),
        ('kubernetes: "1.٣٤"\n', ":1: kubernetes must look like"),
        ('region: "eu\\n}"\n', ":1: region must look like us-east-2"),
        ('account: "1\\"\\nx: y"\n', ":1: account must look like 111122223333"),
        ('image: "train:1.0\\n"\n', ":1: image must look like train:2.1.0"),
        ("registry: registry.example.com/\n", ":1: registry must look like registry.example.com"),
        ("machines: ['${x}']\n", ":1: machines[0] must look like p5.48xlarge"),
        ("zones: [-a]\n", ":1: zones[0] must look like us-east-2a"),
    ],
)
def test_an_invalid_intent_names_the_line(text: str, told: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"intent\.yaml") as error:
        intent.load(written(tmp_path, text))
    assert told in str(error.value)


@pytest.mark.parametrize(
    ("given_", "told"),
    [
        ({"autoscaler": "managed"}, "autoscaler: managed is not for eks"),
        ({"network": {"mode": "kubenet"}}, "network.mode: kubenet is not for eks"),
        ({"nodes": 10, "job": {"nodes": 11}}, "job.nodes: 11 at once, but at most 10 are bought on demand"),
        ({"nodes": 10, "spot": {"share": 100}, "job": {"nodes": 11}}, "at most 10 are bought as spot"),
        ({"teams": [{"name": "a", "share": 60}, {"name": "b", "share": 60}]}, "the shares add up to 120 percent"),
        ({"teams": [{"name": "a", "share": 6}, {"name": "a", "share": 6}]}, "teams: a exists twice"),
        ({"tiers": ["low", "low"]}, "tiers: low exists twice"),
        ({"kubernetes": "1.20"}, "kubernetes: 1.20 is too old"),
        ({"kubernetes": "1.99"}, "kcheck knows no chart of the cluster autoscaler for 1.99"),
        ({"machines": ["trn1.32xlarge"]}, "the accelerators of trn1.32xlarge are not NVIDIA's"),
        ({"machines": ["x99.huge"]}, "kcheck does not know x99.huge; set gpus:"),
        ({"gpus": 0}, "machines: p5.48xlarge has 8 GPUs, not 0"),
        ({"machines": ["p5.48xlarge", "g6.xlarge"]}, "machines: g6.xlarge has 1 GPU, not 8"),
        ({"teams": [{"name": "shared", "share": 5}]}, "teams: shared names something else"),
        ({"teams": [{"name": "kube-system", "share": 5}]}, "teams: kube-system names something else"),
        ({"teams": [{"name": "null", "share": 5}]}, "teams: YAML reads null as something other than a string"),
        ({"tiers": ["low", "on"]}, "tiers: YAML reads on as something other than a string"),
        ({"name": "true"}, "name: YAML reads true as something other than a string"),
        (
            {"tiers": ["low", "system-critical"]},
            "tiers: system-critical: names that begin with system- are reserved for",
        ),
        ({"zones": ["rack-1", "rack-a", "rack-b"]}, "zones: rack-1 and rack-a give pools the same names"),
        (
            {"network": {"range": "10.0.0.0/14", "in_use": ["300.0.0.0/8"]}},
            "network.in_use: 300.0.0.0/8 is not an IPv4 range",
        ),
    ],
)
def test_conflicting_settings_are_refused(given_: dict[str, Any], told: str) -> None:
    with pytest.raises(ConfigError) as error:
        generate(intent.with_defaults("eks", given_))
    assert told in str(error.value)


def test_every_default_is_both_explained_and_used() -> None:
    for cloud in CLOUDS:
        for key, entry in recommended.entries(cloud).items():
            assert entry.kind == "recommended", key
            assert entry.note, f"{cloud}: {key} has no reason"
            assert entry.sources, f"{cloud}: {key} has no source"


# --- pools


nodes = st.integers(1, 20_000)


@given(nodes=nodes, spot=st.integers(0, 100), zones=st.integers(1, 3))
def test_pools_hold_all_nodes_and_stay_under_the_limit(nodes: int, spot: int, zones: int) -> None:
    names = ["a", "b", "c"][:zones]
    wanted = intent.with_defaults(
        "eks", {"nodes": nodes, "spot": {"share": spot}, "zones": [f"us-east-2{z}" for z in names]}
    )
    found = split(wanted)
    assert sum(pool.nodes for pool in found) == nodes
    assert len({pool.name for pool in found}) == len(found)
    assert all(len(pool.zones) == 1 for pool in found if not pool.spot)
    assert len(found) <= int(recommended.values("eks")["pools.most"]) or max(pool.nodes for pool in found) == 1
    for zone in {pool.zones[0] for pool in found if not pool.spot}:
        room = sum(pool.nodes for pool in found if not pool.spot and pool.zones == (zone,))
        assert room >= min(wanted.job_nodes, nodes - wanted.spot_nodes), "the usual job fits into each zone"


@pytest.mark.parametrize(
    ("cloud", "nodes", "zones"),
    [("eks", 20, [8, 8, 4]), ("aks", 20, [8, 8, 4]), ("eks", 100, [34, 33, 33])],
)
def test_zones_hold_as_many_whole_jobs_as_the_whole_cluster(cloud: str, nodes: int, zones: list[int]) -> None:
    """Zones of seven, seven and six nodes run three jobs of four nodes; twenty nodes together would run five."""
    wanted = intent.with_defaults(cloud, {"nodes": nodes})
    found = {zone: sum(pool.nodes for pool in split(wanted) if pool.zones == (zone,)) for zone in wanted.zones}
    assert list(found.values()) == zones
    assert sum(own // wanted.job_nodes for own in found.values()) == nodes // wanted.job_nodes


@given(total=st.integers(0, 10**6), parts=st.integers(1, 100))
def test_evenly_divided_parts_add_up_to_the_total(total: int, parts: int) -> None:
    found = evenly(total, parts)
    assert sum(found) == total
    assert not found or max(found) - min(found) <= 1


def test_zone_labels_are_letters() -> None:
    assert [label(zone) for zone in ("us-east-2a", "1", "3", "rack-0", "rack-9")] == ["a", "a", "c", "j", "i"]


@pytest.mark.parametrize("zone", ["1", "2026-11-22", "no"])
def test_manifests_keep_the_given_zone_names(zone: str) -> None:
    files = generate(intent.with_defaults("selfmanaged", {"nodes": 4, "zones": [zone]})).files
    for document in yaml.safe_load_all(files["kubernetes/kueue.yaml"]):
        if document["kind"] == "ResourceFlavor":
            assert document["spec"]["nodeLabels"]["topology.kubernetes.io/zone"] == zone
    assert yaml.safe_load(files["intent.yaml"])["zones"] == [zone]


# --- ranges


sizes = st.dictionaries(st.sampled_from(["a", "b", "c", "d"]), st.integers(1, 200_000), min_size=4)
taken = st.lists(st.tuples(st.integers(0, 255), st.integers(9, 24)).map(lambda p: f"10.{p[0]}.0.0/{p[1]}"), max_size=4)


@given(needed=sizes, in_use=taken)
def test_ranges_are_large_enough_and_do_not_overlap(needed: dict[str, int], in_use: list[str]) -> None:
    slots = [Slot("a", "vpc"), Slot("b", "vpc"), Slot("c"), Slot("d", routed=False), Slot("e", "vpc", prefix=28)]
    try:
        found = ranges.layout(slots, needed, 5, "", tuple(in_use))
    except NoRoomError:
        return
    assert found == ranges.layout(slots, needed, 5, "", tuple(in_use))
    networks = {name: parse_cidr(cidr) for name, cidr in found.ranges.items()}
    others = [one for cidr in in_use if (one := parse_cidr(cidr))]
    outer = parse_cidr(found.networks["vpc"])
    for name, network in networks.items():
        assert network is not None
        assert outer is not None
        assert name == "e" or network.num_addresses - 5 >= needed[name]
        assert not any(network.overlaps(other) for other in others)
        assert network.subnet_of(outer) == (name in "abe")
        assert not any(network.overlaps(o) for n, o in networks.items() if n != name and o is not None)


def test_a_range_that_must_be_kept_is_kept() -> None:
    slots = [Slot("nodes", "vpc"), Slot("services", prefix=20, routed=False)]
    found = ranges.layout(slots, {"nodes": 500}, 5, "10.8.0.0/22", ("10.8.0.0/24",))
    assert found.ranges == {"nodes": "10.8.2.0/23", "services": "10.0.0.0/20"}
    with pytest.raises(NoRoomError, match=r"vpc needs a /21, and 10\.8\.0\.0/22 has no free block of that size"):
        ranges.layout(slots, {"nodes": 1500}, 5, "10.8.0.0/22", ())


# --- what cannot be


def test_too_little_address_space_is_refused_with_the_nearest_possible_answer(here: Path) -> None:
    """The command refuses it, and writes nothing."""
    Path("intent.yaml").write_text("nodes: 5000\nnetwork:\n  range: 10.0.0.0/22\n")
    code, _, err = run("eks", "--intent", "intent.yaml")
    assert code == 2
    assert os.listdir(".") == ["intent.yaml"]
    words = err.removeprefix("kcheck: ").rstrip()
    assert words.startswith(
        "5,000 nodes are impossible: the VPC needs a /15, and 10.0.0.0/22 has no free block of that size"
    )
    nearest = int(words.rpartition("the nearest possible is ")[2].removesuffix(" nodes").replace(",", ""))
    smaller = {"nodes": nearest, "network": {"range": "10.0.0.0/22"}}
    assert generate(intent.with_defaults("eks", smaller)).result.findings == []
    with pytest.raises(ImpossibleError):
        generate(intent.with_defaults("eks", {**smaller, "nodes": nearest * 2}))


@pytest.mark.parametrize(
    ("nodes", "told"),
    [
        (4_500, "the route table of kubenet of the cluster ends at 397 nodes"),
        (100, "kubenet stops being supported on AKS on 2028-03-31"),
    ],
)
def test_kubenet_is_refused_and_its_successor_is_proposed(nodes: int, told: str) -> None:
    with pytest.raises(ImpossibleError) as error:
        generate(intent.with_defaults("aks", {"nodes": nodes, "network": {"mode": "kubenet"}}))
    words = str(error.value)
    assert words.startswith(f"{nodes:,} nodes are impossible: {told}")
    found = re.search(r"the nearest possible is ([\d,]+) nodes with network.mode: overlay$", words)
    assert found is not None
    nearest = int(found[1].replace(",", ""))
    assert min(nodes, 4900) <= nearest <= min(nodes, 5000)


@pytest.mark.parametrize(
    ("given_", "told"),
    [
        ({"zones": ["westeurope-1"]}, "zones: westeurope-1 is not a zone of Azure"),
        ({"autoscaler": "karpenter"}, "InfiniBand of Standard_ND96isr_H100_v5 joins machines of one scale set"),
        (
            {"autoscaler": "karpenter", "machines": ["Standard_NC40ads_H100_v5"], "spot": {"share": 5, "price_cap": 2}},
            "spot.price_cap: Karpenter pays up to the on-demand price",
        ),
    ],
)
def test_aks_refuses_settings_that_azure_lacks(given_: dict[str, Any], told: str) -> None:
    with pytest.raises(ConfigError) as error:
        generate(intent.with_defaults("aks", given_))
    assert told in str(error.value)


@pytest.mark.parametrize(("name", "wanted"), [("gpu-a1", ["gpua1"]), ("gpu-spot12", ["gpuspot12a", "gpuspot12b"])])
def test_node_pools_of_aks_are_of_one_machine_type(name: str, wanted: list[str]) -> None:
    types = ("Standard_ND96isr_H100_v5", "Standard_D64s_v5")[: len(wanted)]
    found = aks.groups([Pool(name, ("1",), 10, spot=True, machines=types)])
    assert [(one.name, one.machine) for one in found] == list(zip(wanted, types, strict=True))
    assert all(len(label) <= 12 for label in wanted)


def test_aks_prefixes_and_drain_times_and_batches_grow_with_the_cluster() -> None:
    assert [aks.prefix(ports) for ports in (1, 2 * 64_512, 2 * 64_512 + 1, 10**9)] == [31, 31, 30, 28]
    assert [aks.drain(hours) for hours in (0, 2, 24, 500)] == [60, 120, 1440, 1440]
    assert [aks.batch(nodes) for nodes in (10, 1013, 4900)] == [10, 210, 980]


# --- the command


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*arguments: str) -> tuple[int, str, str]:
    result = CliRunner().invoke(cli, ["generate", *arguments])
    return result.exit_code, result.stdout, result.stderr


def test_generate_writes_a_folder_in_which_check_finds_nothing(here: Path) -> None:
    code, out, err = run("eks", "--nodes", "20")
    assert (code, out) == (0, "")
    assert "train: " in err
    assert {"README.md", "kcheck.yaml", "versions.tf", "network.tf", "cluster.tf", "node_pools.tf", "registry.tf",
            "outputs.tf", "variables.tf", "terraform.tfvars", "intent.yaml"} <= set(os.listdir("train"))  # fmt: skip
    result = CliRunner().invoke(cli, ["check", "--info", "train"])
    assert (result.exit_code, result.stdout) == (0, "nothing found.\n1 cluster, 4 pools, 3 workloads checked.\n")


def test_a_second_run_and_the_intent_file_change_nothing(here: Path) -> None:
    run("eks", "--nodes", "20")
    before = {path: path.read_bytes() for path in Path("train").rglob("*") if path.is_file()}
    code, _, err = run("eks", "--intent", "train/intent.yaml")
    assert code == 0
    assert "nothing to change" in err
    assert before == {path: path.read_bytes() for path in Path("train").rglob("*") if path.is_file()}


def test_edited_files_stay_without_overwrite(here: Path) -> None:
    run("eks", "--nodes", "20")
    Path("train/cluster.tf").write_text("# mine\n")
    code, _, err = run("eks", "--nodes", "20")
    assert code == 2
    assert "nothing written: train/cluster.tf would change" in err
    assert Path("train/cluster.tf").read_text() == "# mine\n"
    code, out, _ = run("eks", "--nodes", "20", "--diff")
    assert code == 0
    assert "-# mine" in out
    assert run("eks", "--nodes", "20", "--overwrite")[0] == 0
    assert "module" in Path("train/cluster.tf").read_text()


def test_files_of_an_earlier_intent_are_named(here: Path) -> None:
    run("eks", "--nodes", "20", "--teams", "a,b")
    Path("intent.yaml").write_text("nodes: 20\nscheduler: volcano\n")
    code, _, err = run("eks", "--intent", "intent.yaml", "--output", "train", "--overwrite")
    assert code == 0
    assert "train/kubernetes/kueue.yaml: not part of this cluster" in err
    assert "train/kubernetes/job.yaml" not in err
    for path in Path("train").rglob("kueue.yaml"):
        path.unlink()
    assert "no part" not in run("eks", "--intent", "intent.yaml", "--output", "train")[2]


def test_existing_files_do_not_change_what_is_generated(here: Path) -> None:
    expected = generate(intent.with_defaults("gke", {"nodes": 20})).files
    Path("kcheck-generated").mkdir()
    Path("kcheck-generated/main.tf").write_text('resource "google_container_cluster" "a" {\n  name = "a"\n}\n')
    assert generate(intent.with_defaults("gke", {"nodes": 20})).files == expected


@pytest.mark.parametrize(
    ("output", "told"),
    [("file", "File exists"), ("file/below", "File exists"), ("taken", "README.md: Is a directory")],
)
def test_unwritable_folder_is_an_error(output: str, told: str, here: Path) -> None:
    Path("file").write_text("mine\n")
    Path("taken/README.md").mkdir(parents=True)
    code, _, err = run("eks", "--nodes", "5", "--output", output, "--overwrite")
    assert code == 2
    assert told in err
    assert Path("file").read_text() == "mine\n"
    assert os.listdir("taken") == ["README.md"]


def test_the_output_folder_may_be_a_symbolic_link(here: Path) -> None:
    Path("link").symlink_to("real")
    assert run("eks", "--nodes", "5", "--output", "link")[0] == 0
    assert Path("link").is_symlink()
    assert Path("real/cluster.tf").is_file()


def test_git_apply_accepts_the_printed_diff(here: Path) -> None:
    code, out, _ = run("eks", "--nodes", "20", "--diff", "--output", "infra/gpu")
    assert code == 0
    assert not Path("infra").exists()
    subprocess.run(["git", "init", "-q", "."], check=True)
    subprocess.run(["git", "apply"], input=out.encode(), check=True)
    assert run("eks", "--nodes", "20", "--output", "infra/gpu")[2].startswith("kcheck: infra/gpu: nothing to change")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ((), "no cloud given"),
        (("eks", "--intent", "missing.yaml"), "missing.yaml: no such file"),
        (("--from", "."), "no clusters in the code there"),
        (("eks", "--nodes", "0"), "0 is not in the range"),
    ],
)
def test_wrong_options_exit_with_2_and_a_reason(arguments: tuple[str, ...], told: str, here: Path) -> None:
    code, _, err = run(*arguments)
    assert code == 2
    assert told in err
    assert "Traceback" not in err


def test_the_same_intent_gives_the_same_bytes(tmp_path: Path) -> None:
    code = (
        "import hashlib\nfrom kcheck.generate import intent, assembly\n"
        f"for cloud in {CLOUDS}:\n"
        "    given = {'nodes': 60, 'spot': {'share': 0 if cloud == 'selfmanaged' else 50}}\n"
        "    made = assembly.generate(intent.with_defaults(cloud, given))\n"
        "    print(cloud, hashlib.sha256(repr(sorted(made.files.items())).encode()).hexdigest())\n"
    )
    found = {
        subprocess.run(
            [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True,
            env={**os.environ, "PYTHONHASHSEED": seed},
        ).stdout
        for seed in ("1", "2")
    }  # fmt: skip
    assert len(found) == 1
    assert found.pop().count("\n") == len(CLOUDS)


@pytest.mark.parametrize(("cloud", "most"), [("eks", 100_000), ("gke", 65_000), ("aks", 5_000), ("ack", 15_000)])
def test_more_nodes_than_a_cluster_may_have_are_refused_at_once(cloud: str, most: int) -> None:
    """Time and memory must not grow with a number that somebody writes."""
    assert intent.with_defaults(cloud, {"nodes": most}).asked == most
    with pytest.raises(ConfigError, match="nodes: 4,294,967,296 are too many: a cluster has up to"):
        intent.with_defaults(cloud, {"nodes": 1 << 32})
