"""Test the shares of teams in nodes: whole numbers that add up, in every pool and in total."""

from __future__ import annotations

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from kcheck.generate import intent
from kcheck.generate.assembly import generate
from kcheck.generate.manifests import apportioned, apportioned_in_jobs

PERCENTS = st.lists(st.integers(1, 100), min_size=1, max_size=5).filter(lambda found: sum(found) <= 100)


@given(st.lists(st.integers(0, 300), min_size=1, max_size=5), PERCENTS)
def test_shares_of_nodes_add_up_and_follow_the_percents(totals: list[int], percents: list[int]) -> None:
    found = apportioned(totals, percents)
    assert [sum(parts) for parts in found] == totals
    assert all(part >= 0 for parts in found for part in parts)
    whole = [sum(parts) for parts in zip(*found, strict=True)]
    weights = percents if sum(percents) == 100 else [*percents, 100 - sum(percents)]
    if all(sum(totals) * weight % 100 == 0 for weight in weights):
        assert whole == [sum(totals) * weight // 100 for weight in weights]
    (alone,) = apportioned([sum(totals)], percents)
    assert whole == alone


@given(st.lists(st.integers(0, 300), min_size=1, max_size=12), PERCENTS, st.integers(1, 120))
def test_rounding_to_whole_jobs_never_lowers_the_number_of_jobs(
    totals: list[int], percents: list[int], together: int
) -> None:
    by_percent, in_jobs = apportioned(totals, percents), apportioned_in_jobs(totals, percents, together)
    assert [sum(parts) for parts in in_jobs] == totals
    assert all(part >= 0 for parts in in_jobs for part in parts)
    assert list(map(sum, zip(*in_jobs, strict=True))) == list(map(sum, zip(*by_percent, strict=True)))

    def jobs(found: list[list[int]]) -> int:
        return sum(part // together for parts in found for part in parts[: len(percents)])

    assert jobs(in_jobs) >= jobs(by_percent)


@pytest.mark.parametrize(
    ("totals", "together", "jobs"),
    [
        ([100, 100, 100, 34, 100, 100, 100, 33, 100, 100, 100, 33], 100, [5, 4]),  # pools of InfiniBand
        ([100, 100, 100], 64, [2, 1]),  # zones
        ([334, 333, 333], 100, [6, 3]),  # by percent: as many jobs fit
        ([30], 64, [0, 0]),
    ],
)
def test_the_usual_job_fits_into_the_share_of_a_queue_flavor(totals: list[int], together: int, jobs: list[int]) -> None:
    """Kueue does not refuse a larger job.

    Percentages of a pool of 100 left no room for a job of 100.
    """
    found = zip(*apportioned_in_jobs(totals, [60, 40], together), strict=True)
    assert [sum(part // together for part in own) for own in found] == jobs


def test_queue_quotas_of_a_small_cluster_equal_its_readme() -> None:
    """With four, three and three nodes in three zones, rounding per zone gave the first team 7 of 10."""
    files = generate(intent.with_defaults("eks", {"nodes": 10, "job": {"nodes": 4}})).files
    objects = yaml.safe_load_all(files["kubernetes/kueue.yaml"])
    queues = {found["metadata"]["name"]: found for found in objects if found["kind"] == "ClusterQueue"}
    cards = {
        name: sum(
            int(flavor["resources"][0]["nominalQuota"]) for flavor in queue["spec"]["resourceGroups"][0]["flavors"]
        )
        for name, queue in queues.items()
    }
    assert cards == {"research": 6 * 8, "product": 4 * 8}
    assert "research 6 nodes, product 4 nodes" in files["README.md"].decode()


@pytest.mark.parametrize(("teams", "job"), [(1, 64), (2, 64), (4, 64), (5, 64), (7, 64), (8, 32)])
def test_the_usual_job_fits_into_the_share_of_each_team(teams: int, job: int) -> None:
    """By hand: 8 teams have 60 of 500 nodes each.

    With 64 of 64 workers, the launcher would have no room.
    """
    given = {"nodes": 500, "teams": [{"name": f"t{i}", "share": 100 // teams} for i in range(teams)]}
    assert intent.with_defaults("eks", given).job_nodes == job


def test_a_share_of_exactly_one_job_leaves_no_room_for_its_launcher() -> None:
    given = {"nodes": 128, "teams": [{"name": f"t{i}", "share": 25} for i in range(4)]}
    assert intent.with_defaults("eks", given).job_nodes == 16


def test_default_teams_can_hold_the_given_job() -> None:
    def teams(job: int) -> list[str]:
        return [one.name for one in intent.with_defaults("eks", {"nodes": 20, "job": {"nodes": job}}).teams]

    assert (teams(12), teams(13), teams(20)) == (["research", "product"], ["training"], ["training"])
