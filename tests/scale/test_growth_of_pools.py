"""Test large numbers of pools and workloads: each pair is computed once. No time is measured."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import bench_growth
import pytest

from kcheck.engine import rule_evaluator
from kcheck.scale import growth, placement, pools, queues, word_helpers
from kcheck.scale.simulate import scenario
from kcheck.scale.walls import model
from kcheck.scale.world import relations
from kcheck.text.files.tree import Tree
from kcheck.text.syntax import cel, key_paths

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

    from tests.conftest import Check


def counted(module: ModuleType | type, name: str, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Replace a function so that it records the arguments of its calls; return the list of them."""
    calls: list[Any] = []
    function = getattr(module, name)

    def call(*given: object) -> object:
        calls.append(given)
        return function(*given)

    monkeypatch.setattr(module, name, call)
    return calls


@pytest.mark.medium
def test_each_workload_and_pool_pair_is_fitted_once(check: Check, monkeypatch: pytest.MonkeyPatch) -> None:
    pairs = counted(placement, "fit", monkeypatch)
    check(bench_growth.selected(6))
    assert 0 < len(pairs) <= 6 * 6 * 8


@pytest.mark.medium
def test_the_room_of_pools_is_summed_once_per_workload(check: Check, monkeypatch: pytest.MonkeyPatch) -> None:
    pairs = counted(pools, "fewest", monkeypatch)
    check({"jobs.yaml": bench_growth.jobs(8), **bench_growth.pools(8)})
    assert 8 * 8 <= len(pairs) <= 3 * 8 * 8


@pytest.mark.medium
def test_checks_stop_at_the_first_reason_a_pool_refuses(check: Check, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes, pairs = counted(placement, "_size", monkeypatch), counted(placement, "fit", monkeypatch)
    check(bench_growth.selected(6))
    assert 0 < len(sizes) < len(pairs) / 2


@pytest.mark.medium
def test_zones_are_computed_only_for_pods_that_need_one_each(check: Check, monkeypatch: pytest.MonkeyPatch) -> None:
    zones = counted(placement, "zones_of", monkeypatch)
    check(bench_growth.selected(6))
    assert zones == []


@pytest.mark.medium
def test_whether_a_file_may_change_is_computed_once_per_subject(check: Check, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = counted(Tree, "why_protected", monkeypatch)
    result = check({"jobs.yaml": bench_growth.jobs(8)})
    changes = [change for finding in result.findings for change in finding.changes]
    assert 0 < len(asked) < len(changes) / 2


@pytest.mark.medium
def test_expressions_get_only_the_limits_that_they_name(check: Check, monkeypatch: pytest.MonkeyPatch) -> None:
    """The CEL runtime copies all limits at their first use."""
    found = counted(cel, "activation", monkeypatch)
    result = check({"jobs.yaml": bench_growth.jobs(2)})
    every = rule_evaluator.limits_view("any", result.world)
    groups = [set(given[0]["limits"]) for given in found]
    assert any(groups)
    assert max(map(len, groups)) < len(every) / 2


@pytest.mark.medium
def test_savings_share_one_simulated_run_per_cluster(check: Check, monkeypatch: pytest.MonkeyPatch) -> None:
    runs = counted(scenario, "build_scenario", monkeypatch)
    result = check(bench_growth.pools(30))
    assert "saves" in "".join(text for finding in result.findings for text in finding.details)
    assert len(runs) == len(result.world.inventory.clusters)


@pytest.mark.medium
def test_pools_after_a_fitting_pool_are_not_checked(check: Check, monkeypatch: pytest.MonkeyPatch) -> None:
    fits = counted(placement, "fit", monkeypatch)
    check({"jobs.yaml": bench_growth.job(0), **bench_growth.pools(12)})
    assert 0 < len(fits) < 4 * 12


DAEMON = """\
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: agent}
spec:
  template:
    spec:
      containers:
        - {name: a, image: "nginx:1.29", resources: {requests: {cpu: 100m, memory: 1Gi}}}
"""


@pytest.mark.medium
def test_similar_pools_are_checked_once_per_daemon_set(check: Check, monkeypatch: pytest.MonkeyPatch) -> None:
    fits = counted(placement, "fit", monkeypatch)
    check({"agent.yaml": DAEMON, **bench_growth.pools(12)})
    assert 0 < len(fits) < 12


@pytest.mark.medium
def test_names_on_a_cluster_are_searched_once_for_all_pools(check: Check, monkeypatch: pytest.MonkeyPatch) -> None:
    searched = counted(word_helpers, "mapped", monkeypatch)
    check({"jobs.yaml": bench_growth.jobs(4), **bench_growth.pools(2)})
    few = names_searched(searched)
    check({"jobs.yaml": bench_growth.jobs(4), **bench_growth.pools(8)})
    assert 0 < few == names_searched(searched) - few


def names_searched(calls: list[object]) -> int:
    return sum("runs.<locals>" in str(call) for call in calls)


@pytest.mark.medium
def test_workloads_with_gpus_are_searched_once_for_all_pools(check: Check, monkeypatch: pytest.MonkeyPatch) -> None:
    files = {"jobs.yaml": bench_growth.jobs(4).replace("nvidia.com/gpu: 8", "cpu: 8"), **bench_growth.pools(8)}
    pairs = counted(pools, "filled", monkeypatch)
    check(files)
    assert pairs == []  # none has any: no pool is filled


def test_only_a_few_sizes_of_many_pools_are_kept() -> None:
    many = growth.Growth((10,) * 1000, (True,) * 1000)
    growth._sizes.cache_clear()
    assert [sum(many.sizes(nodes)) for nodes in range(1, 2000, 4)] == list(range(1, 2000, 4))
    assert growth._sizes.cache_info().currsize <= 256  # each is 100 kB for thousands of pools


@pytest.mark.medium
@pytest.mark.parametrize(("module", "name"), [(placement, "fit"), (pools, "fewest")])
def test_jobs_are_fitted_and_measured_only_on_pools_with_their_labels(
    module: ModuleType, name: str, check: Check, monkeypatch: pytest.MonkeyPatch
) -> None:
    pairs = counted(module, name, monkeypatch)
    check(bench_growth.selected(12))
    few = len(pairs)
    pairs.clear()
    check(bench_growth.selected(24))
    assert 0 < few < len(pairs) < 3 * few


@pytest.mark.medium
@pytest.mark.parametrize("make", [bench_growth.pools_of_sizes, bench_growth.pools_in_subnets, bench_growth.open_pool])
def test_walls_of_one_pool_are_searched_in_its_sizes(
    make: Callable[[int], dict[str, str]], check: Check, monkeypatch: pytest.MonkeyPatch
) -> None:
    divided, filled = counted(growth.Leg, "sizes", monkeypatch), counted(growth.Growth, "filled", monkeypatch)
    check(make(40))
    pools = [len(leg.weights) for leg, *_ in divided] + [len(one.maxima) for one, *_ in filled]
    assert len(pools) > 40 * 5
    assert (
        sum(number > 20 for number in pools) < 40 * 2
    )  # a search of each wall in all pools would divide them 20 times


@pytest.mark.medium
def test_a_new_item_finds_its_key_without_rereading_the_file(check: Check, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = counted(key_paths, "in_yaml", monkeypatch)
    result = check({"jobs.yaml": bench_growth.jobs(4)})
    added = [change for finding in result.findings for change in finding.changes if change.origin.missing]
    assert {change.key for change in added} >= {"volumes", "volumeMounts"}
    assert len(asked) <= len(added)


def test_images_are_searched_once_for_autoscalers(check: Check, monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = 'resource "aws_eks_cluster" "main" {\n  name = "train"\n}\n'
    group = (
        'resource "aws_eks_node_group" "g%s" {\n  cluster_name = aws_eks_cluster.main.name\n'
        '  instance_types = ["m5.large"]\n  scaling_config {\n    min_size = 1\n    max_size = 9\n  }\n}\n'
    )
    searched = []
    pattern = relations._AUTOSCALER

    class Counted:
        def search(self, text: str) -> object:
            searched.append(text)
            return pattern.search(text)

    monkeypatch.setattr(relations, "_AUTOSCALER", Counted())
    check({"main.tf": cluster + "".join(group % number for number in range(4)), "jobs.yaml": bench_growth.job(0)})
    image = next(text for text in searched if text)
    assert searched.count(image) == 1


@pytest.mark.medium
def test_wall_finders_are_created_once_per_cluster(check: Check, monkeypatch: pytest.MonkeyPatch) -> None:
    made = counted(model.WallFinder, "__init__", monkeypatch)
    check(bench_growth.node_groups(20))
    assert len(made) == 1


@pytest.mark.medium
def test_sizes_are_summed_without_visiting_each_pool(check: Check, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = counted(model.Sizes, "__getitem__", monkeypatch)
    check(bench_growth.node_groups(40))
    assert 0 < len(seen) < 40 * 40 * 8


@pytest.mark.medium
def test_quotas_and_queues_are_looked_up_by_namespace(check: Check, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = counted(queues, "known", monkeypatch)
    check(bench_growth.queues(4))
    few = len(asked)
    asked.clear()
    check(bench_growth.queues(16))
    assert len(asked) < few * 5


@pytest.mark.medium
def test_pools_of_unknown_size_outside_the_code_count_as_one_choice(
    check: Check, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried = counted(growth.Growth, "grown", monkeypatch)
    group = (
        'resource "aws_eks_node_group" "g{i}" {{\n  cluster_name = aws_eks_cluster.a.name\n'
        "  subnet_ids = [aws_subnet.s{i}.id]\n  scaling_config {{\n    max_size = var.most\n  }}\n}}\n"
        'resource "aws_subnet" "s{i}" {{\n  cidr_block = "10.{i}.0.0/24"\n}}\n'
    )
    head = 'variable "most" {}\nresource "aws_eks_cluster" "a" {\n  name = "a"\n}\n'
    check({"main.tf": head + "".join(group.format(i=i) for i in range(20)), "kcheck.yaml": "nodes: 900\n"})
    assert 0 < len(tried) < 20 * 10
