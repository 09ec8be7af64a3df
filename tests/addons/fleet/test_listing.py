"""Test lists of repositories: folders, patterns, files."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kcheck.addons.fleet.listing import Surroundings, fleet
from kcheck.config.config import ConfigError

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import Write

LIST = """
repositories:
  - path: checkouts/*
    owner: platform
    account: "111122223333"
  - path: checkouts/training
    owner: research
    nodes: 512
    price: 32.5
    account: "444455556666"
    region: us-east-1
    environments:
      - {root: ./terraform, var_files: [envs/prod.tfvars], nodes: 1000, price: 40, region: eu-west-1}
      - {root: terraform, name: test}
"""


@pytest.fixture
def checkouts(write: Write) -> Path:
    return write({f"checkouts/{name}/main.tf": "" for name in ("data", "training", "web")} | {"fleet.yaml": LIST})


def names(*paths: str) -> list[str]:
    return [one.name for one in fleet(paths).repositories]


def test_folders_and_patterns_list_each_repository_once(checkouts: Path) -> None:
    assert names("checkouts/web", "checkouts/*") == ["web", "data", "training"]


def test_one_folder_is_one_repository_under_any_of_its_names(checkouts: Path) -> None:
    (checkouts / "again").symlink_to("checkouts/web")
    assert names("checkouts/web", "./checkouts//web/", "again") == ["again"]  # as it was called last


def test_names_of_repositories_are_long_enough_to_differ(write: Write) -> None:
    write({"a/x/infra/main.tf": "", "b/x/infra/main.tf": "", "b/other/main.tf": ""})
    assert names("a/x/infra", "b/x/infra", "b/other") == ["a/x/infra", "b/x/infra", "other"]


def test_later_entries_of_a_list_override_earlier_ones(checkouts: Path) -> None:
    data, training, web = fleet(["fleet.yaml"]).repositories
    assert [one.owner for one in (data, training, web)] == ["platform", "research", "platform"]
    assert training.settings.nodes == ("512",)
    assert training.settings.price == "32.5"
    prod, test = training.settings.environments
    assert (prod.root, prod.name, prod.var_files, prod.nodes, prod.price) == (
        "terraform",
        "prod",
        ("envs/prod.tfvars",),
        1000,
        4000,
    )
    assert (test.root, test.name, test.nodes, test.price) == ("terraform", "test", None, None)


def test_surroundings_of_an_environment_override_those_of_its_repository(checkouts: Path) -> None:
    data, training, _ = fleet(["fleet.yaml"]).repositories
    assert training.around("terraform", "prod") == Surroundings("444455556666", "eu-west-1")
    assert training.around("terraform", "test") == Surroundings("444455556666", "us-east-1")
    assert training.around("elsewhere", "") == Surroundings("444455556666", "us-east-1")
    assert data.around("", "") == Surroundings("111122223333")


def test_paths_in_a_list_are_relative_to_the_list(checkouts: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(checkouts / "checkouts")
    assert fleet(["../fleet.yaml"]).repositories[0].folder == str(checkouts / "checkouts/data")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("repositories:\n  - path: nowhere/*\n", "nowhere/*: no such folder"),
        ("repositories: []\n", "fleet.yaml: the list has no repositories"),
        ("repositories:\n  - path: checkouts/web\n    team: x\n", "fleet.yaml:3"),
        ("repositories:\n  - path: checkouts/*\n    name: x\n", "3 folders"),
        ("repositories:\n  - {path: checkouts/web, name: x}\n  - {path: checkouts/data, name: x}\n", "both called x"),
        ("a: [", "fleet.yaml:1"),
        ("", "fleet.yaml"),
    ],
)
def test_an_invalid_fleet_file_is_refused_in_one_line(text: str, message: str, checkouts: Path) -> None:
    (checkouts / "fleet.yaml").write_text(text)
    with pytest.raises(ConfigError) as mistake:
        fleet(["fleet.yaml"])
    assert message in str(mistake.value)
    assert "\n" not in str(mistake.value)


def test_missing_path_is_an_error(checkouts: Path) -> None:
    with pytest.raises(ConfigError, match="no such folder, list"):
        fleet(["fleet.yml"])


def test_settings_of_a_repository_override_the_common_settings(checkouts: Path) -> None:
    data, training, _ = fleet(["fleet.yaml"], 64, ["checkouts"], ["checkouts/data"]).repositories
    assert (data.settings.nodes, training.settings.nodes) == (("64",), ("512",))
    assert data.settings.rules == training.settings.rules == (str(checkouts / "checkouts"),)
    assert data.settings.module_dirs == (str(checkouts / "checkouts/data"),)
