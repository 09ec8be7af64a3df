"""Test the fleets with which `kcheck fleet` is measured. No test asserts a time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import bench_fleet
import bench_fleets
import pytest
from bench_fleet import Run

if TYPE_CHECKING:
    from pathlib import Path


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_the_bench_fleet_is_repeatable_and_no_two_repositories_are_equal(tmp_path: Path) -> None:
    checkout = tmp_path / "checkout"
    checkout.mkdir()
    (checkout / "main.tf").write_text('resource "a" "b" {\n  node_count = 10\n  cidr = "10.1.0.0/16"\n}\n')
    (checkout / "picture.png").write_bytes(b"x")
    for name in ("a", "b"):
        bench_fleets.make(tmp_path / name, 12, [checkout])
    assert contents(tmp_path / "a") == contents(tmp_path / "b")
    repositories = [contents(path) for path in (tmp_path / "a").iterdir()]
    assert len(repositories) == 12
    assert len({repr(sorted(one.items())) for one in repositories}) == 12
    assert not any("picture.png" in one for one in repositories)
    assert any(list(one) == ["main.tf"] for one in repositories)


@pytest.mark.parametrize(
    ("text", "varied"),
    [
        (b"  max_size = 10\n", b"  max_size = 30\n"),
        (b"  replicas: 1\n", b"  replicas: 3\n"),
        (b'"10.255.0.0/16"', b'"10.4.0.0/16"'),
        (b'  kubernetes_version = "1.35"', b'  kubernetes_version = "1.32"'),
        (b"name: train\n", b"name: train8\n"),
        (b"max_size = var.nodes\n", b"max_size = var.nodes\n"),
    ],
)
def test_variations_of_a_bench_repository_change_names_in_files(text: bytes, varied: bytes) -> None:
    assert bench_fleets.Variation(3, 5, 2, 8).of(text) == varied


def test_the_requested_share_of_bench_repositories_changes(tmp_path: Path) -> None:
    bench_fleets.make(tmp_path / "fleet", 20)
    before = contents(tmp_path / "fleet")
    assert bench_fleets.change(tmp_path / "fleet", 0.1) == 2
    after = contents(tmp_path / "fleet")
    assert len({name.split("/")[0] for name in after if before[name] != after[name]}) == 2


def test_the_row_of_a_run_has_all_its_numbers() -> None:
    made = Run(30.0, 28.0, 20.0, 20.0, 80.0, 300.0, 0)
    assert bench_fleet.row(2, 1, "first", made).split() == [
        "2", "1", "first", "30.0", "28.0", "20.0", "100%", "80", "300",
    ]  # fmt: skip
    again = made._replace(unchanged=1)
    assert bench_fleet.row(2, 1, "again", again).split()[5:7] == ["-", "-"]
