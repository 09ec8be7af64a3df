"""Test the sums of limits that clusters of several repositories share."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as some
from msgspec.structs import replace

from kcheck.addons.fleet.check import check
from kcheck.addons.fleet.listing import Repository, Stated, Surroundings
from kcheck.addons.fleet.outcomes import Kept, Outcome, Task, failed
from kcheck.addons.fleet.run import Ended
from kcheck.addons.fleet.shared import of_run, placed, sentence, shared
from kcheck.addons.fleet.tables import EVERYWHERE, IN_ACCOUNT, IN_REGION, IN_REPOSITORY, ClusterRow, UseRow
from kcheck.commands.cli import cli

if TYPE_CHECKING:
    import random

    from kcheck.addons.fleet.tables import SharedRow
    from tests.conftest import Write

NOTHING, SILENT = Surroundings(), Stated()
ACCOUNT, REGION = "111122223333", "us-east-1"
CLUSTER = ClusterRow(
    cluster="eks/train", name="train", is_named=True, cloud="eks", root=".", environment="", account=ACCOUNT,
    region=REGION, resource_group="", path="main.tf", line=1, target=64, state="reaches", reaches=64, reach="64", first_limit="",
    first_limit_at=None, move="", is_judged=True, missing="", remedy="", waste_state="nothing", waste_least=None,
    waste_most=None, waste_hours_least=None, waste_hours_most=None, waste_note="", errors=0, warnings=0, summary="",
)  # fmt: skip
QUOTA = UseRow(
    cluster="eks/train", kind="quota", key="L-1", scope=IN_REGION, name="P instances", unit="vCPUs", needed=100,
    is_exact=True, available=None, limit_name="eks.quota.p", path="main.tf", line=1,
)  # fmt: skip
UNITS = replace(
    QUOTA, kind="address-units", key="vpc-1", scope=EVERYWHERE, unit="address units", limit_name="eks.vpc.address_units"
)
PULLS = replace(QUOTA, kind="docker-hub", key="eks/vpc", scope=IN_REPOSITORY, unit="pulls", available=100)
NODES = replace(QUOTA, kind="reservation", key="gpus", unit="nodes", limit_name="")

Found = tuple[Repository, list[ClusterRow], list[UseRow]]


def of(
    repository: str, use: UseRow = QUOTA, said: Surroundings = NOTHING, **cluster: object
) -> tuple[Repository, list[ClusterRow], list[UseRow]]:
    """Return a repository, its only cluster (of the same name) and one row of what that cluster uses."""
    row = replace(CLUSTER, **{"name": repository, **cluster})
    return Repository(repository, f"/{repository}", surroundings={("", ""): said}), [row], [use]


def only(*found: Found, stated: Stated = SILENT) -> SharedRow:
    (row,) = shared(found, stated)
    return row


SAYS = Stated(accounts={(ACCOUNT, REGION): {"eks.quota.p": 250}})


@pytest.mark.parametrize(
    ("needed", "exact", "state"),
    [(100, True, "fits"), (125, True, "fits"), (126, True, "over"), (126, False, "over"), (100, False, "unknown")],
)
def test_the_demand_of_clusters_is_summed_and_compared_with_the_limit(needed: int, exact: bool, state: str) -> None:
    use = replace(QUOTA, needed=needed, is_exact=exact)
    row = only(of("a", use), of("b", use), stated=SAYS)
    assert (row.needed, row.is_exact, row.available, row.state) == (2 * needed, exact, 250, state)
    assert (row.account, row.region, row.key) == (ACCOUNT, REGION, "L-1")
    assert bool(row.note) == (state == "unknown")


def test_the_largest_consumer_comes_first() -> None:
    row = only(*(of(name, replace(QUOTA, needed=needed)) for name, needed in (("a", 1), ("b", 3), ("c", 2), ("d", 3))))
    assert row.clusters == ("b:eks/train", "d:eks/train", "c:eks/train", "a:eks/train")


def test_accounts_and_regions_are_summed_separately() -> None:
    rows = shared([of("a"), of("b", account="444455556666"), of("c", region="eu-west-1"), of("d")], SAYS)
    assert sorted((row.account, row.region, row.needed) for row in rows) == [
        (ACCOUNT, "eu-west-1", 100), (ACCOUNT, REGION, 200), ("444455556666", REGION, 100),
    ]  # fmt: skip


def test_clusters_of_an_unknown_account_are_not_added_up() -> None:
    rows = shared([of("a"), of("b", account=""), of("c", account="", region="")], SAYS)
    assert [(row.clusters, row.state) for row in rows] == [
        (("c:eks/train",), "unknown"), (("b:eks/train",), "unknown"), (("a:eks/train",), "fits"),
    ]  # fmt: skip
    assert "write account: and region: of its repository" in rows[0].note
    assert "write account: of its repository" in rows[1].note
    assert rows[2].note == "2 clusters of an unknown account or region may take of it, too"


def test_quota_without_region_covers_all_regions() -> None:
    use = replace(QUOTA, scope=IN_ACCOUNT)
    row = only(of("a", use), of("b", use, region="eu-west-1"), of("c", use, region=""))
    assert (row.account, row.region, row.needed) == (ACCOUNT, "", 300)
    assert f'[{{account: "{ACCOUNT}", limits: {{L-1: N}}}}]' in row.note


def test_one_cluster_alone_may_exceed_the_limit() -> None:
    row = only(of("a", replace(QUOTA, available=99), account=""))
    assert (row.state, row.available) == ("over", 99)


def test_the_note_says_where_to_write_a_missing_limit() -> None:
    row = only(of("a"))
    assert (row.state, row.available) == ("unknown", None)
    assert f'accounts: [{{account: "{ACCOUNT}", region: {REGION}, limits: {{L-1: N}}}}]' in row.note


def test_a_limit_known_in_one_repository_holds_for_all() -> None:
    row = only(of("a", replace(QUOTA, available=150)), of("b"))
    assert (row.state, row.available) == ("over", 150)


@pytest.mark.parametrize(("needed", "state"), [(50, "fits"), (75, "unknown"), (150, "over")])
def test_limits_that_differ_between_repositories_decide_only_where_both_agree(needed: int, state: str) -> None:
    uses = [replace(QUOTA, needed=needed, available=limit) for limit in (120, 200)]
    row = only(of("a", uses[0]), of("b", uses[1]))
    assert row.state == state
    assert ("repositories give limits from 120 to 200" in row.note) == (state == "unknown")


def test_account_and_region_in_the_list_override_the_code() -> None:
    said = Surroundings("444455556666", "eu-west-1")
    accounts = {("444455556666", ""): {"eks.quota.p": 500}, ("444455556666", "us-east-1"): {"eks.quota.p": 1}}
    row = only(of("a", replace(QUOTA, available=10), said=said), of("b", said=said), stated=Stated(accounts))
    assert (row.account, row.region, row.needed, row.available, row.state) == (
        "444455556666",
        "eu-west-1",
        200,
        500,
        "fits",
    )


def test_the_list_gives_account_and_region_of_a_cluster() -> None:
    repository = Repository(
        "a", "/a", surroundings={("", ""): Surroundings("1", "r"), (".", "prod"): Surroundings("2")}
    )
    assert (placed(CLUSTER, repository).account, placed(CLUSTER, repository).region) == ("1", "r")
    prod = placed(replace(CLUSTER, environment="prod"), repository)
    assert (prod.account, prod.region) == ("2", REGION)


# --- copies


def test_copies_of_a_cluster_count_once() -> None:
    row = only(of("a", name="train"), of("fork", replace(QUOTA, needed=120), name="train"), of("b", name="other"))
    assert row.needed == 220
    assert row.clusters == ("fork:eks/train", "b:eks/train")
    assert "the same cluster in copies counts once: a:eks/train" in row.note


def test_clusters_without_a_known_name_are_not_mistaken_for_copies() -> None:
    assert only(of("a", name="x", is_named=False), of("b", name="x", is_named=False)).needed == 200


def test_clusters_of_one_name_in_two_groups_count_as_two() -> None:
    found = [
        of("a", name="aks", cloud="aks", resource_group="one"),
        of("b", name="aks", cloud="aks", resource_group="two"),
    ]
    assert only(*found).needed == 200


def test_copies_in_one_network_are_found_without_an_account() -> None:
    found = [of(name, UNITS, name="train", account="", region="") for name in ("a", "b")]
    assert only(*found).needed == 100


def test_clusters_behind_one_egress_are_not_copies_without_an_account() -> None:
    said = Surroundings(egress="office")
    found = [of(name, PULLS, said, name="train", account="", region="") for name in ("a", "b")]
    assert only(*found).needed == 200


# --- networks, ways out, reservations


def test_a_network_id_means_the_same_network_in_all_repositories() -> None:
    row = only(of("a", UNITS), of("b", UNITS, account=""), stated=Stated(networks={"vpc-1": 150}))
    assert (row.key, row.needed, row.available, row.state) == ("vpc-1", 200, 150, "over")
    assert (row.account, row.region) == ("", REGION)


def test_a_network_declared_in_a_repository_belongs_to_it_alone() -> None:
    own = replace(UNITS, key="eks/vpc", scope=IN_REPOSITORY, available=1000)
    rows = shared([of("a", own), of("b", own)], Stated())
    assert [(row.key, row.needed, row.state) for row in rows] == [
        ("a:eks/vpc", 100, "fits"),
        ("b:eks/vpc", 100, "fits"),
    ]


def test_the_list_can_name_a_network() -> None:
    said = Surroundings(network="hub")
    row = only(
        of("a", replace(UNITS, key="", available=1000), said),
        of("b", replace(UNITS, key="eks/vpc", scope=IN_REPOSITORY, available=1000), said),
    )
    assert (row.key, row.needed, row.available, row.state) == ("hub", 200, 1000, "fits")


def test_limits_of_an_unknown_network_are_not_shared() -> None:
    rows = shared([of(name, replace(UNITS, key="", available=1000)) for name in ("a", "b")], Stated())
    assert [row.clusters for row in rows] == [("a:eks/train",), ("b:eks/train",)]
    assert rows[0].state == "unknown"
    assert rows[0].note == "not added to others: write network: of its repository or environment into the list"


def test_clusters_share_the_pulls_of_a_named_egress() -> None:
    said = Surroundings(egress="office")
    row = only(of("a", PULLS, said), of("b", PULLS, said), of("c", PULLS, said), stated=Stated(egress={"office": 2}))
    assert (row.key, row.needed, row.available, row.state) == ("office", 300, 200, "over")
    assert only(of("a", PULLS, said)).available is None  # how many addresses it has, only the list can say


def test_names_of_reservations_are_matched_within_an_account() -> None:
    rows = shared([of("a", NODES), of("b", NODES), of("c", NODES, account="444455556666")], Stated())
    assert sorted(row.needed for row in rows) == [100, 200]
    row = only(of("a", NODES), of("b", NODES), stated=Stated(reservations={"gpus": 128}))
    assert (row.available, row.state) == (128, "over")


# --- what is printed of them


@pytest.mark.parametrize(
    ("use", "text"),
    [
        (
            QUOTA,
            "account 111122223333, us-east-1: L-1 (P instances) needs 12,000 vCPUs for 2 clusters; the quota is 9,216.",
        ),
        (UNITS, "network vpc-1 needs 12,000 address units for 2 clusters; the quota is 9,216."),
        (NODES, "reservation gpus needs 12,000 nodes for 2 clusters; the limit is 9,216."),
        (
            replace(PULLS, key="nat", scope=EVERYWHERE, is_exact=False),
            "public address of nat needs at least 12,000 pulls from Docker Hub at once for 2 clusters; the limit is 9,216.",
        ),
    ],
)
def test_the_sentence_names_the_limit_and_the_excess(use: UseRow, text: str) -> None:
    use = replace(use, needed=6000, available=9216)
    assert sentence(only(of("a", use), of("b", use))) == text


# --- properties

KINDS = some.sampled_from([
    ("quota", IN_REGION, "L-1"), ("quota", IN_ACCOUNT, "L-2"), ("address-units", EVERYWHERE, "vpc-1"),
    ("address-units", IN_REPOSITORY, "eks/vpc"), ("address-units", IN_REPOSITORY, ""), ("docker-hub", EVERYWHERE, "vpc-1"),
    ("docker-hub", IN_REPOSITORY, ""), ("reservation", IN_REGION, "gpus"), ("reservation", EVERYWHERE, "cr-1"),
])  # fmt: skip
AMOUNTS = some.integers(0, 10**12)


@some.composite
def founds(draw: some.DrawFn) -> Found:
    kind, scope, key = draw(KINDS)
    use = replace(
        QUOTA, kind=kind, scope=scope, key=key, needed=draw(AMOUNTS), is_exact=draw(some.booleans()),
        available=draw(some.none() | AMOUNTS),
    )  # fmt: skip
    cluster = {"account": ["", "1", "2"], "region": ["", "r"], "name": ["m", "n", "o"]}
    drawn = {name: draw(some.sampled_from(values)) for name, values in cluster.items()}
    return of(draw(some.sampled_from("abcdef")), use, NOTHING, **drawn)


@given(some.lists(founds(), max_size=12), some.randoms(use_true_random=False))
def test_sums_do_not_depend_on_the_order(found: list[Found], order: random.Random) -> None:
    other = found.copy()
    order.shuffle(other)
    assert shared(found, SAYS) == shared(other, SAYS)


@given(some.lists(founds(), max_size=12), founds())
def test_another_cluster_never_lowers_a_sum(found: list[Found], more: Found) -> None:
    def sums(rows: list[SharedRow]) -> Counter[str]:
        result: Counter[str] = Counter()
        for row in rows:
            result[row.kind] += row.needed
        return result

    before, after = sums(shared(found, SAYS)), sums(shared([*found, more], SAYS))
    assert all(after[kind] >= before[kind] for kind in before)


# --- a fleet

TRAINING = """
provider "aws" {
  region              = "us-east-1"
  allowed_account_ids = ["111122223333"]
}

resource "aws_subnet" "nodes" {
  vpc_id     = "vpc-0a1b2c3d"
  cidr_block = "10.0.0.0/17"
}

resource "aws_eks_cluster" "main" {
  name = "NAME"
  vpc_config {
    subnet_ids = [aws_subnet.nodes.id]
  }
}

resource "aws_launch_template" "gpu" {
  instance_type = "p5.48xlarge"
  capacity_reservation_specification {
    capacity_reservation_target {
      capacity_reservation_id = "cr-0123456789abcdef0"
    }
  }
}

resource "aws_eks_node_group" "gpu" {
  cluster_name    = aws_eks_cluster.main.name
  node_group_name = "gpu"
  subnet_ids      = [aws_subnet.nodes.id]

  launch_template {
    id = aws_launch_template.gpu.id
  }

  scaling_config {
    min_size = 0
    max_size = 64
  }
}
"""
JOB = """
apiVersion: batch/v1
kind: Job
metadata: {name: train}
spec:
  parallelism: 64
  completions: 64
  completionMode: Indexed
  template:
    spec:
      restartPolicy: Never
      containers:
        - {name: main, image: "pytorch/pytorch:2.8.0", resources: {limits: {nvidia.com/gpu: 8}}}
"""


def test_three_repositories_share_an_account_a_network_an_egress_and_a_reservation(
    write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    top = write({f"{name}/main.tf": TRAINING.replace("NAME", name) for name in ("a", "b", "c")} | {f"{name}/job.yaml": JOB for name in ("a", "b", "c")})  # fmt: skip
    kept, ended = Kept(str(top / "out")), []
    for name in ("a", "b", "c"):
        monkeypatch.chdir(top / name)
        outcome = check(Task(name, str(top / name)))
        kept.keep(name, outcome)
        ended.append(Ended(Repository(name, str(top / name)), replace(outcome, rows=None), 1))
    ended.append(Ended(Repository("broken", "/broken"), failed("broken"), 1))
    ended.append(Ended(Repository("lost", "/lost"), Outcome("checked"), 1))
    stated = Stated(
        {(ACCOUNT, ""): {"eks.quota.p": 30_000}},
        {"vpc-0a1b2c3d": 2},
        {"vpc-0a1b2c3d": 19_000},
        {"cr-0123456789abcdef0": 192},
    )
    rows = {row.kind: row for row in of_run(ended, kept, stated)}
    assert {kind: (row.key, row.needed, row.available, row.state) for kind, row in rows.items()} == {
        "quota": ("L-417A185B", 36_864, 30_000, "over"),
        "address-units": ("vpc-0a1b2c3d", 19_392, 19_000, "over"),
        "docker-hub": ("vpc-0a1b2c3d", 192, 200, "fits"),
        "reservation": ("cr-0123456789abcdef0", 192, 192, "fits"),
    }
    assert all(len(row.clusters) == 3 for row in rows.values())


POOL = """
resource "aws_ec2_capacity_reservation" "r{n}" {{
  instance_count = 4
}}

resource "aws_launch_template" "r{n}" {{
  capacity_reservation_specification {{
    capacity_reservation_target {{
      capacity_reservation_id = aws_ec2_capacity_reservation.r{n}.id
    }}
  }}
}}

resource "aws_eks_node_group" "r{n}" {{
  cluster_name    = aws_eks_cluster.main.name
  node_group_name = "r{n}"
  launch_template {{
    id = aws_launch_template.r{n}.id
  }}
  scaling_config {{
    min_size = 0
    max_size = 8
  }}
}}
"""


def test_a_run_prints_exceeded_limits(write: Write) -> None:
    cluster = 'resource "aws_eks_cluster" "main" {\n  name = "train"\n}\n'
    fleet = """
repositories: [{path: a, account: "111122223333", region: us-east-1}, {path: b, account: "1\\e[31m2", region: us-east-1}]
accounts: [{account: "111122223333", limits: {L-1216C47A: 10}}, {account: "1\\e[31m2", limits: {L-1216C47A: 10}}]
"""
    files = {
        f"{name}/main.tf": cluster + "".join(POOL.format(n=n) for n in range(count))
        for name, count in (("a", 6), ("b", 5))
    }
    top = write(files | {"fleet.yaml": fleet})
    result = CliRunner().invoke(cli, ["fleet", "fleet.yaml", "-o", "out", "--jobs", "1", "--quiet"])
    assert result.exit_code == 0, result.output
    *lines, more, summary = result.stderr.splitlines()
    assert lines[1] == (
        "account 111122223333, us-east-1: L-1216C47A (Running On-Demand Standard (A, C, D, H, I, M, R, T, Z) instances) "
        "needs 96 vCPUs for 1 cluster; the quota is 10."
    )
    assert "\x1b" not in result.stderr
    assert len(lines) == 10
    assert more == "3 more shared limits are exceeded: kcheck fleet query shared"
    assert "2 repositories" in summary
    answer = CliRunner().invoke(cli, ["fleet", "query", "shared", "--format", "json", "-o", str(top / "out")])
    assert [row["state"] for row in json.loads(answer.stdout)][:13] == ["over"] * 13
