"""Test the cost of simulated runs: equal in every command, by each pool's price, between the loops' bounds."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner
from msgspec.structs import replace

from kcheck.commands.cli import cli
from kcheck.config.config import Config
from kcheck.config.numbers.machines import Price
from kcheck.engine import linter, rules
from kcheck.engine.words.subjects import SUBJECTS
from kcheck.fix import fix
from kcheck.inventory import reader
from kcheck.scale.simulate import parameters, results, run, scenario
from kcheck.scale.simulate.model import Case, Job, Pool, Settings
from kcheck.scale.simulate.run import simulate
from kcheck.scale.world import World
from kcheck.text.files.tree import Tree
from kcheck.text.units import between, rough
from tests.scale.simulate.test_command import CLUSTER, JOB

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conftest import Write

pytestmark = pytest.mark.medium

EKS = """
resource "aws_eks_cluster" "main" {
  name    = "train"
  version = "%s"
}

resource "helm_release" "autoscaler" {
  name       = "cluster-autoscaler"
  chart      = "cluster-autoscaler"
  repository = "https://kubernetes.github.io/autoscaler"

  set {
    name  = "autoDiscovery.clusterName"
    value = aws_eks_cluster.main.name
  }
}
"""
GROUP = """
resource "aws_eks_node_group" "%s" {
  cluster_name    = aws_eks_cluster.main.name
  node_group_name = "%s"
  subnet_ids      = ["subnet-1"]
  instance_types  = ["%s"]

  scaling_config {
    min_size     = 0
    max_size     = %s
    desired_size = 0
  }
}
"""
GKE = """
resource "google_container_cluster" "train" {
  name                     = "train"
  location                 = "us-central1-a"
  remove_default_node_pool = true
  initial_node_count       = 1
}

resource "google_container_node_pool" "cpu" {
  name    = "cpu"
  cluster = google_container_cluster.train.name

  autoscaling {
    min_node_count = 0
    max_node_count = 64
  }

  node_config {
    machine_type = "n2-standard-8"
    spot         = %s
  }
}
"""
TWO_POOLS = EKS % "1.33" + GROUP % ("a", "a", "m5.large", 60) + GROUP % ("b", "b", "m5.xlarge", 140)
SLOW = CLUSTER.replace('"5m"', '"10m"')

TREES = {
    "aks with a job": {"main.tf": SLOW, "job.yaml": JOB},
    "aks without one": {"main.tf": SLOW.replace("= 200", "= 400")},
    "gke, spot": {"main.tf": GKE % "true"},
    "eks, several prices": {"main.tf": TWO_POOLS},
    "eks, a pool without a price": {"main.tf": TWO_POOLS.replace("m5.xlarge", "x99.huge")},
}


def ran(*arguments: str) -> str:
    return CliRunner().invoke(cli, list(arguments)).stdout


def built(write: Write, text: str, price: int | None = None) -> scenario.Scenario:
    write({"main.tf": text})
    world = World(reader.read(Tree(["."]), Config()).inventory, Config(price=price))
    found = scenario.build_scenario(world, world.inventory.clusters[0])
    assert isinstance(found, scenario.Scenario)
    return found


@pytest.mark.slow
@pytest.mark.parametrize("tree", TREES)
def test_every_command_prints_the_same_saving_for_a_rule(tree: str, write: Write) -> None:
    write(TREES[tree])
    texts = {
        f["rule"]: "\n".join(f["details"])
        for f in json.loads(ran("check", ".", "--info", "--format", "json"))["findings"]
    }
    (run,) = json.loads(ran("simulate", ".", "--what-if", "--format", "json"))["runs"]
    rows = {one["rules"][0]: one for one in run["what_if"] if len(one["rules"]) == 1}
    table = {line.split()[0]: line for line in ran("simulate", ".", "--what-if").splitlines() if line.startswith("  ")}
    said = {
        rule: found
        for rule, text in texts.items()
        if (found := re.search(r"saves ((?:\S+ to )?\S+) node-hours of .*\n(\S+(?: to \S+)?) per run(.*)", text))
    }
    assert said, texts
    for rule, found in said.items():
        row = rows[rule]
        hours, dollars, unpriced = found.groups()
        assert f" {hours} " in table[rule]
        assert f" {dollars.replace('$', '')} " in table[rule]
        for shown, name, unit in ((hours, "node_hours", 0.5), (dollars, "dollars", 0.005)):
            bounds = [float(one.strip("$").replace(",", "")) for one in shown.split(" to ")]
            assert bounds[0] == pytest.approx(row[f"{name}_least"], abs=unit, rel=1e-3)
            assert bounds[-1] == pytest.approx(row[f"{name}_most"], abs=unit, rel=1e-3)
        assert bool(unpriced) == bool(run["unpriced_nodes"])
        assert found[0] in "\n".join(line.partition(" = ")[2] for line in ran("check", ".", "--info").splitlines())


def test_the_saving_is_the_difference_of_two_simulated_runs(write: Write) -> None:
    before = built(write, TWO_POOLS)
    case = before.case
    after = replace(before, case=replace(case, settings=replace(case.settings, unneeded_time=300)))
    saved = results.compare(before, after)
    assert saved is not None
    assert saved.money is not None
    least, most = (results.run_scenario(one).dollars for one in (after, before))
    assert least is not None
    assert most is not None
    assert saved.money.least <= (most.most - least.least) * 1000
    assert saved.money.most >= (most.least - least.most) * 1000
    assert saved.nodes == (60, 140)


def test_each_pool_of_a_run_has_its_own_price(write: Write) -> None:
    one = built(write, TWO_POOLS)
    assert [pool.price and pool.price.mills for pool in one.case.pools] == [96, 192]
    summary = simulate(one.case).summary
    assert [use.nodes for use in summary.uses] == [60, 140]
    assert sum(sum(use.phases.values()) for use in summary.uses) == pytest.approx(summary.paid)
    expected = (
        sum(sum(use.phases.values()) * mills for use, mills in zip(summary.uses, (96, 192), strict=True)) / 3_600_000
    )
    assert results.cost(one.case, summary) == pytest.approx(expected)
    assert "$0.10 to $0.19 per node-hour" in ran("simulate", ".")


def test_the_price_given_by_the_user_applies_to_all_pools(write: Write) -> None:
    one = built(write, TWO_POOLS, price=3_000)
    assert {pool.price for pool in one.case.pools} == {Price(30_000)}
    assert " at $30 per node-hour: " in ran("simulate", ".", "--price", "30")


def test_prices_of_spot_and_on_demand_nodes_are_told_apart(write: Write) -> None:
    both = GKE % "false" + (GKE % "true").partition("\n\n")[2].replace('"cpu"', '"spot"')
    built(write, both)
    text = ran("simulate", ".")
    assert re.search(r"at \$[\d.]+ per node-hour \(on demand, [\w-]+\) and \$[\d.]+ per node-hour \(spot, ", text), text


def test_a_spot_pool_has_the_spot_price(write: Write) -> None:
    spot, usual = (built(write, GKE % text).case.pools[0].price for text in ("true", "false"))
    assert spot is not None
    assert usual is not None
    assert (spot.market, usual.market) == ("spot", "on demand")
    assert spot.mills < usual.mills


def test_nodes_without_a_price_are_named(write: Write) -> None:
    built(write, TREES["eks, a pool without a price"]["main.tf"])
    assert "per node-hour (on demand, us-east-1), without the nodes that have no list price: " in ran("simulate", ".")
    write({"main.tf": TWO_POOLS.replace("m5.xlarge", "x99.huge").replace("m5.large", "x98.huge")})
    assert "$" not in ran("simulate", ".")


@pytest.mark.parametrize(("version", "wide"), [("1.33", True), ("1.36", False), ("1.331", False)])
def test_the_cost_range_comes_from_the_loop_times_of_a_version(version: str, wide: bool, write: Write) -> None:
    one = built(write, EKS % version + GROUP % ("a", "a", "m5.large", 400))
    outcome = results.run_scenario(one)
    assert (outcome.total.most > 1.2 * outcome.total.least) is wide
    text = ran("simulate", ".")
    assert re.search(r"about \d+( to \d+)? min until the last node is gone", text)
    assert re.search(r"[\d,]+( to [\d,]+)? node-hours paid", text)


def test_larger_batches_save_little_with_current_loop_times() -> None:
    """With loop times of 2021, a batch of 100 would save a third of the run of 200 nodes.

    Recorded runs differ by a minute.
    """
    cloud = parameters.cloud_parameters("eks", parameters.loop_times(36)[1])
    case = Case((Pool("p", 200),), Job(200, 60), Settings(minor=36, unneeded_time=60, delay_after_add=60), cloud)
    large = replace(case, settings=replace(case.settings, bulk_delete=100))
    assert simulate(case).summary.total - simulate(large).summary.total < 120


def test_a_saving_that_may_be_zero_is_an_info_without_a_price(write: Write) -> None:
    """The largest job of a large cluster runs on few nodes, so batches of deletions do not matter."""
    job = JOB.replace("nvidia.com/gpu: 4", "nvidia.com/gpu: 8").replace("128", "20")
    write({"main.tf": SLOW.replace("= 200", "= 900"), "job.yaml": job})
    found = {f["rule"]: f for f in json.loads(ran("check", ".", "--info", "--format", "json"))["findings"]}
    assert found["slow-node-deletion"]["severity"] == "info"
    assert not any("saves" in text or "$" in text for text in found["slow-node-deletion"]["details"])
    assert found["idle-nodes-kept-long"]["severity"] == "warning"


def test_large_runs_are_scaled_up_from_smaller_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    pools = (Pool("p", 1000, price=Price(1000)),)
    cloud = parameters.cloud_parameters("eks", parameters.loop_times(36)[0], lost=0, boot_sigma=0, stragglers=0)
    case = Case(pools, Job(1000, 600), Settings(minor=36), cloud)
    after = replace(case, settings=replace(case.settings, unneeded_time=300))
    exact = results._difference(case, after)
    monkeypatch.setattr(results, "_LARGEST", 500)
    told = results._difference(case, after)
    assert exact is not None
    assert told == pytest.approx(exact, rel=0.1)


def test_fixes_for_clusters_below_100_nodes_are_shown(write: Write) -> None:
    """A cluster without a job is simulated with one; `check` does not mention that."""
    write({"main.tf": GKE % "false"})
    assert "balanced-autoscaling-profile" in ran("simulate", ".", "--what-if")
    assert "balanced-autoscaling-profile" not in ran("check", ".", "--info")


@pytest.mark.slow
def test_manual_changes_are_listed_in_the_table(write: Write) -> None:
    write({"main.tf": EKS % "1.33" + GROUP % ("a", "a", "m5.large", 450)})
    out = ran("simulate", ".", "--what-if")
    row = next(line for line in out.splitlines() if line.startswith("  slow-node-deletion"))
    assert row.endswith(" by hand")
    assert "--select slow-node-deletion" not in out
    (run,) = json.loads(ran("simulate", ".", "--what-if", "--format", "json"))["runs"]
    assert "by hand" in {one["safety"] for one in run["what_if"]}


def test_what_if_reads_and_simulates_each_case_only_once(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    """The original files are simulated once for all fixes.

    Findings in fixed files get no price, as nobody reads them.
    """
    write(TREES["aks with a job"])
    read: list[Tree] = []
    runs: list[Case] = []
    monkeypatch.setattr(linter, "run", _noting(linter.run, read.append))
    monkeypatch.setattr(run, "_run", _noting(run._run, runs.append))
    monkeypatch.setattr(run, "_summaries", {})
    CliRunner().invoke(cli, ["simulate", ".", "--what-if"])
    assert [bool(tree.disk.overlay) for tree in read].count(False) == 1
    assert len(set(runs)) == len(runs) > 0
    settings = {(case.settings, case.pools) for case in runs}
    assert len(settings) <= 1 + 4 + 1, "as it is, with each of four savings, with all fixes"


def test_what_if_applies_fixes_once_for_all_clusters(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = EKS % "1.33" + GROUP % ("a", "a", "m5.large", 60)
    write({"a/main.tf": cluster, "b/main.tf": cluster.replace('"train"', '"serve"')})
    made: list[tuple[str, ...]] = []

    def fixing(*arguments: object, rules: tuple[str, ...], **others: Any) -> fix.Fixes:
        made.append(rules)
        return mend(*arguments, rules=rules, **others)

    mend: Callable[..., fix.Fixes] = fix.fix
    monkeypatch.setattr(fix, "fix", fixing)
    found = json.loads(ran("simulate", ".", "--what-if", "--format", "json"))["runs"]
    assert len(found) == 2
    assert len(set(made)) == len(made) > 0


def _noting(function: Callable[..., object], note: Callable[[Any], None]) -> Callable[..., object]:
    def called(first: object, *others: object, **named: object) -> object:
        note(first)
        return function(first, *others, **named)

    return called


def test_no_rule_condition_depends_on_a_simulated_run() -> None:
    """What-if leaves out savings while it tests whether fixes work."""
    for rule in rules.all_rules(()):
        words = {word.name for word in SUBJECTS.get(rule.subject, ()) if word.type == "saving"}
        assert not [word for word in words if word in f"{rule.when} {rule.problem} {rule.grade}"], rule.name


def test_the_output_says_that_an_autoscaler_outside_the_code_cannot_be_fixed(write: Write) -> None:
    text = (EKS % "1.36").partition('resource "helm_release"')[0] + GROUP % ("a", "a", "m5.large", 50)
    write({"main.tf": text})
    assert "none of kcheck's fixes changes this run; its autoscaler is not in this code" in ran(
        "simulate", ".", "--what-if"
    )


@pytest.mark.parametrize(
    ("low", "high", "text"),
    [
        ("2 node-hours", "9 node-hours", "2 to 9 node-hours"),
        ("$5", "$7", "$5 to $7"),
        ("50 s", "2 min", "50 s to 2 min"),
        ("4 min", "4 min", "4 min"),
    ],
)
def test_ranges_name_their_unit_once(low: str, high: str, text: str) -> None:
    assert between(low, high) == text


@pytest.mark.parametrize(("number", "expected"), [(0, 0), (7.4, 7), (1234, 1230), (-98_765, -98_800)])
def test_estimates_have_three_digits(number: float, expected: int) -> None:
    assert rough(number) == expected


@pytest.mark.parametrize("cloud", ["eks", "aks"])
def test_a_few_simulated_nodes_represent_many(cloud: str) -> None:
    """A run of 2,000 nodes is compared with one of 400 that stand for five each."""
    loop = parameters.loop_times(33)[1]
    settings = Settings(minor=33, bulk_delete=100)
    case = Case((Pool("p", 2000),), Job(2000, 600), settings, parameters.cloud_parameters(cloud, loop))
    coarse, each = results._coarse(case)
    assert (coarse.pods, each) == (400, 5)
    whole, part = simulate(case).summary, simulate(coarse).summary
    assert part.total == pytest.approx(whole.total, rel=0.07)
    assert part.paid * each == pytest.approx(whole.paid, rel=0.07)
