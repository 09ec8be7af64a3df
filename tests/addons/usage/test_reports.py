"""Test the reports of a bill, for people and for programs."""

from __future__ import annotations

import csv
import io
import json
from typing import TYPE_CHECKING, get_args

import pytest

from kcheck.addons.usage.bill import BY, Bill, By, Order, bill
from kcheck.addons.usage.report import usage_formats
from kcheck.report.layout import plain
from kcheck.scale.usage import joining
from kcheck.scale.usage.recording import HOUR, Lack, QueueWait
from tests.addons.usage.recordings import node, nowhere, pod, recording
from tests.output_schemas import check_fields
from tests.whole.hostile import EVIL

if TYPE_CHECKING:
    from kcheck.scale.usage.recording import Recording


def week() -> Recording:
    """Return a recording of a week: pods of two teams and of nobody, three nodes, one of them without list price."""
    vision, speech = {"team": "vision"}, {"team": "speech"}
    pods = [
        *(
            pod(f"idle-{i}", owners=[("PyTorchJob", "idle")], gpus=4, busy=5, hours=100, labels=vision, tensor=1)
            for i in (0, 1)
        ),
        pod(
            "train",
            owners=[("PyTorchJob", "train")],
            node="b",
            gpus=8,
            busy=90,
            hours=80,
            labels=speech,
            created=0,
            scheduled=300,
            tensor=40,
        ),
        pod(
            "web",
            namespace="web",
            owners=[("Deployment", "web")],
            node="c",
            hours=168,
            cores=8,
            used=1,
            memory=16,
            used_memory=4,
        ),
    ]
    nodes = [
        node("a"),
        node("b"),
        node("c", labels={"node_kubernetes_io_instance_type": "own.metal"}, gpus=0, cores=16, memory=64),
    ]
    waits = [QueueWait("kueue", "research", "from creation to admission", 120, 340, 3600)]
    lacks = [Lack("gpu", "no DCGM exporter on 1 of 3 nodes")]
    return recording(pods, nodes, waits=waits, lacks=lacks)


def fortnight() -> Recording:
    """Return a recording of two weeks, the second with better use of its GPUs."""
    pods = [
        pod("before", gpus=8, busy=20, hours=100),
        pod("after", gpus=8, busy=80, hours=50, first=200),
    ]
    return recording(pods, [node("a", days=14)], days=14)


def billed(made: Recording, by: By = "team") -> Bill:
    return bill(joining.joined(made, None), nowhere(), by)


def test_the_text_report_equals_the_expected_text() -> None:
    assert plain(usage_formats.as_text(billed(week()))) == TEXT


TEXT = """\
Usage by team, 16 to 23 Nov 2026 (7 days)
  $18,493 paid for 3 nodes; $14,255 of it (77%) idle.
  $5,669 was requested and not used; $8,586 was requested by no pod.
  1,440 GPU-hours requested of 2,688 on the nodes; while requested, GPUs were 43% busy.

team             GPU-h  busy  tensor  core-h  used    GiB-h  used     paid     idle   wait
vision             800    5%      1%     200  100%      800  100%   $5,504   $5,229      -
speech             640   90%     40%      80  100%      320  100%   $4,403     $440  5 min
(none)               0     -       -   1,344   12%    2,688   25%        -        -      -
requested        1,440   43%     18%   1,624   28%    3,808   47%   $9,907   $5,669  5 min
(not requested)  1,248     -       -  33,320     -  264,992     -   $8,586   $8,586      -
total            2,688     -       -  34,944     -  268,800     -  $18,493  $14,255      -
Most idle money first.

Node pools:
  gpu: 2 nodes of p5.48xlarge; no pod requested 1,248 of 2,688 GPU-hours, $8,586 of $18,493
  own.metal: 1 node; no pod requested 1,344 of 2,688 core-hours
Prices:
  list prices of us-east-1, on demand; --price sets your own for every node
  1 node of type own.metal (168 node-hours): no list price, or set --price
Pods without a team:
  1 pod; none of these labels was seen: team, cost-center, group, department, project
  no label of these pods was recorded: run kube-state-metrics with
    --metric-labels-allowlist=pods=[*],namespaces=[*]
Queues:
  kueue research: 120 workloads, from creation to admission: 6 min on average, 60 min at the 95th percentile
Not measured:
  gpu: no DCGM exporter on 1 of 3 nodes
"""


def test_the_text_report_compares_two_weeks() -> None:
    assert plain(usage_formats.as_text(billed(fortnight(), "job"))) == CHANGED


CHANGED = """\
Usage by job, 16 to 30 Nov 2026 (14 days)
  $18,493 paid for 1 node; $15,191 of it (82%) idle.
  $4,954 was requested and not used; $10,237 was requested by no pod.
  1,200 GPU-hours requested of 2,688 on the nodes; while requested, GPUs were 40% busy.

job                  GPU-h  busy  core-h  used    GiB-h  used     paid     idle
PyTorchJob ml/train  1,200   40%     150  100%      600  100%   $8,256   $4,954
requested            1,200   40%     150  100%      600  100%   $8,256   $4,954
(not requested)      1,488     -  32,106     -  257,448     -  $10,237  $10,237
total                2,688     -  32,256     -  258,048     -  $18,493  $15,191
Most idle money first.

Change, 23 to 30 Nov 2026 against 16 to 23 Nov 2026 (7 days):
job                  GPU-h    busy     paid     idle
PyTorchJob ml/train   -400  +60 pt  -$2,752  -$3,853
requested             -400  +60 pt  -$2,752  -$3,853
(not requested)       +400       -  +$2,752  +$2,752
total                    0  +60 pt        0  -$1,101

Node pools:
  gpu: 1 node of p5.48xlarge; no pod requested 1,488 of 2,688 GPU-hours, $10,237 of $18,493
Prices:
  list prices of us-east-1, on demand; --price sets your own for every node
"""


def test_the_text_report_without_nodes_has_no_prices() -> None:
    made = week()
    made.nodes = []
    text = plain(usage_formats.as_text(billed(made)))
    assert "$" not in text
    assert "(not requested)" not in text
    assert "no nodes in the recording, so no prices" in text


def test_the_text_report_without_gpus_has_no_gpu_column() -> None:
    text = plain(usage_formats.as_text(billed(recording([pod("a")]))))
    assert "GPU" not in text
    assert "Most unused cores first." in text


def test_the_text_report_says_that_there_are_no_pods() -> None:
    assert "No pods in the recording.\n" in plain(usage_formats.as_text(billed(recording())))


def test_only_the_text_report_cuts_many_rows() -> None:
    made = recording([pod(f"p{i}", namespace=f"n{i:03}", gpus=1, busy=i) for i in range(100)])
    text = plain(usage_formats.as_text(billed(made, "namespace")))
    assert text.count("\nn0") == 30
    assert "70 more rows in --format json, csv or html." in text
    assert len(json.loads(usage_formats.as_json(billed(made, "namespace")))["rows"]) == 100


@pytest.mark.parametrize("by", BY)
@pytest.mark.parametrize("made", [week(), fortnight(), recording()], ids=["week", "fortnight", "nothing"])
def test_usage_json_fits_its_schema(by: By, made: Recording) -> None:
    data = json.loads(usage_formats.as_json(billed(made, by)))
    check_fields("usage", data)
    assert data["requested"]["paid"] + data["not_requested"]["paid"] == pytest.approx(data["total"]["paid"])


@pytest.mark.parametrize("order", get_args(Order))
def test_usage_json_names_its_sort_order(order: Order) -> None:
    made = bill(joining.joined(week(), None), nowhere(), "job", order=order)
    data = json.loads(usage_formats.as_json(made))
    check_fields("usage", data)
    assert data["order"] == order


def lines(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text, newline=""), strict=True))


def test_usage_csv_has_a_line_with_all_numbers_for_each_row() -> None:
    found = billed(week())
    text = usage_formats.as_csv(found)
    assert text.count("\r\n") == text.count("\n") == 1 + len(found.rows) + 3
    rows = lines(text)
    assert [(row["kind"], row["team"]) for row in rows] == [
        ("row", "vision"), ("row", "speech"), ("row", "(none)"),
        ("sum", "requested"), ("sum", "(not requested)"), ("sum", "total"),
    ]  # fmt: skip
    assert float(rows[0]["gpu_hours"]) == 800
    assert rows[2]["gpu_use"] == ""
    assert float(rows[-1]["paid"]) == pytest.approx(found.total.amounts.paid)
    assert "recent_paid" in lines(usage_formats.as_csv(billed(fortnight())))[0]


@pytest.mark.parametrize("name", ["=1+1", "+1", "-1", "@SUM(A1)", ' =cmd|"/c calc"!A1', "\t=1", EVIL])
def test_no_cell_is_a_formula(name: str) -> None:
    text = usage_formats.as_csv(billed(recording([pod("a", namespace=name)]), "namespace"))
    assert not lines(text)[0]["namespace"].lstrip().startswith(("=", "+", "-", "@", "\t"))


def test_waiting_times_are_printed_in_words() -> None:
    made = recording([pod("a", created=0, scheduled=HOUR // 2)])
    assert "30 min" in plain(usage_formats.as_text(billed(made)))
