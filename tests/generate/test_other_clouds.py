"""Test the same cluster on other clouds: equivalent machines, and the differences."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from kcheck.commands.cli import cli
from kcheck.config.config import ConfigError
from kcheck.config.numbers import machines
from kcheck.generate import intent, other_clouds
from kcheck.generate.other_clouds import Refused, Translated
from kcheck.text.bundled import PROFILES

TABLE = yaml.safe_load((Path(PROFILES) / "any" / "equivalents.yaml").read_text())
GIVEN: dict[str, Any] = {
    "name": "llm", "nodes": 40, "spot": {"share": 50}, "job": {"nodes": 16, "hours": 12}, "scheduler": "volcano",
    "teams": [{"name": "vision", "share": 70}], "tiers": ["batch", "urgent"],
    "network": {"in_use": ["10.0.0.0/16"], "api_ranges": ["203.0.113.0/24"]},
}  # fmt: skip


@pytest.mark.parametrize(
    ("cloud", "types"), [pair for types in [*TABLE["gpus"].values(), TABLE["general"]] for pair in types.items()]
)
def test_machine_types_in_the_table_are_known(cloud: str, types: str) -> None:
    names = types.split()
    assert len(set(names)) == len(names)
    for name in names:
        found = machines.machine(cloud, name)
        assert found is not None, name
        assert found.gpus or found.vcpus, name


@pytest.mark.parametrize("model", TABLE["gpus"])
def test_equivalent_machines_have_equal_gpu_counts_in_both_directions(model: str) -> None:
    types = TABLE["gpus"][model]
    for cloud, other in itertools.permutations(types, 2):
        for name in types[cloud].split():
            found = machines.equivalent(cloud, name, other)
            if found is None:
                continue
            assert machines.gpus(other, found.machine) == machines.gpus(cloud, name)
            back = machines.equivalent(other, found.machine, cloud)
            assert back is not None
            assert back.common == found.common


@pytest.mark.parametrize(
    ("cloud", "name", "other", "found"),
    [
        ("eks", "p5.48xlarge", "aks", ("Standard_ND96isr_H100_v5", "8 x H100 80 GB")),
        ("aks", "Standard_D4s_v3", "gke", ("n2-standard-4", "4 vCPUs")),
        ("eks", "c5.9xlarge", "aks", ("Standard_D48s_v5", "48 vCPUs")),
        ("gke", "a3-highgpu-8g", "ack", None),
        ("eks", "trn2.48xlarge", "gke", None),
        ("selfmanaged", "dgx-h100", "eks", ("p5.48xlarge", "8 x H100 80 GB")),
        ("gke", "a3-ultragpu-8g", "selfmanaged", ("dgx-h200", "8 x H200 141 GB")),
        ("selfmanaged", "own-box", "eks", None),
        ("eks", "u-24tb1.112xlarge", "gke", None),
    ],
)
def test_a_machine_has_one_equivalent_or_none(cloud: str, name: str, other: str, found: tuple[str, str] | None) -> None:
    assert machines.equivalent(cloud, name, other) == found


def test_choices_of_the_intent_are_kept_on_another_cloud() -> None:
    first = intent.with_defaults("eks", GIVEN)
    found = other_clouds.translated(first, "gke")
    for name in (
        "name",
        "nodes",
        "spot",
        "job_nodes",
        "job_hours",
        "scheduler",
        "teams",
        "tiers",
        "in_use",
        "api_ranges",
    ):
        assert getattr(found, name) == getattr(first, name), name
    assert found.machines == ("a3-megagpu-8g",)
    assert found.assumed == (
        "machines: a3-megagpu-8g; p5.48xlarge of eks has 8 x H100 80 GB, too",
        ("region us-central1; zones us-central1-a, us-central1-b, us-central1-c; account my-project; "
        f"registry {found.registry}; eks has others"),
        "autoscaler: managed; cluster-autoscaler on eks",
        "network.mode: vpc-native; addresses on eks",
    )  # fmt: skip


def test_clouds_without_such_machines_are_refused() -> None:
    with pytest.raises(
        ConfigError, match=r"no machine of ack is known to do the work of p5\.48xlarge \(8 x H100 80 GB\)"
    ):
        other_clouds.translated(intent.with_defaults("eks", {}), "ack")
    first, second = other_clouds.on_clouds(intent.with_defaults("eks", {"nodes": 10}), ["ack", "eks"])
    assert isinstance(first, Refused)
    assert isinstance(second, Translated)


# --- the command


def run(*words: str) -> tuple[int, str]:
    result = CliRunner().invoke(cli, ["generate", *words])
    assert result.exception is None or isinstance(result.exception, SystemExit)
    return result.exit_code, result.output


def test_the_command_writes_a_folder_per_cloud_and_a_comparison(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    code, out = run("gke", "--nodes", "64", "--cloud", "aks,gke,ack", "--output", "fixed")
    assert code == 0
    assert sorted(path.name for path in Path("fixed").iterdir()) == ["README.md", "aks", "gke"]
    assert "kcheck: ack: no machine of ack is known" in out
    text = Path("fixed/README.md").read_text()
    assert "| [aks](aks/README.md) | Standard_ND96isr_H100_v5 | southcentralus | 5,000 (" in text
    assert "**ack** is not there: no machine of ack is known" in text
    assert "is cheapest on **gke**" in text
    assert "region southcentralus" in Path("fixed/aks/README.md").read_text()
    assert CliRunner().invoke(cli, ["check", "fixed"]).exit_code == 0
    assert run("gke", "--nodes", "64", "--cloud", "aks,gke,ack", "--output", "fixed")[1].count("nothing to change") == 2


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (("gke", "--cloud", "aks,oke"), 2, "oke is not a cloud; choose from"),
        (("gke", "--cloud", "ack"), 2, "no machine of ack is known"),
    ],
)
def test_wrong_clouds_are_refused(
    words: tuple[str, ...], code: int, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    found = run(*words)
    assert (found[0], list(tmp_path.iterdir())) == (code, [])
    assert told in found[1]


def test_spot_is_not_compared_with_on_demand() -> None:
    """No spot price of p5 is known, so GKE's spot price once beat AWS' on-demand price."""
    wanted = intent.with_defaults("eks", {"nodes": 100, "spot": {"share": 80}})
    text = other_clouds.summary(wanted, other_clouds.on_clouds(wanted, ["eks", "gke"]))
    assert "is cheapest on" not in text
    assert "8,938 spot" in text
    assert "a spot price and one on demand are no comparison" in text
