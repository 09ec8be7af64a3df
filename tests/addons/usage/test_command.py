"""Test `kcheck usage`: from a recording to a report."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click
import msgspec
import pytest
from click.testing import CliRunner, Result

from kcheck.addons.usage import command as usage
from kcheck.addons.usage.bill import BY
from kcheck.commands.cli import cli
from kcheck.scale.usage.recording import Lack, QueueWait, Recording, as_bytes
from tests.addons.usage.recordings import node, pod, recording
from tests.output_schemas import check_all_fields

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import Write


pytestmark = pytest.mark.smoke

CODE = """
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: train, namespace: ml}
spec:
  pytorchReplicaSpecs:
    Worker:
      replicas: 1
      template:
        metadata: {labels: {team: vision}}
        spec: {containers: [{name: main, image: a:1}]}
---
apiVersion: batch/v1
kind: Job
metadata: {name: never, namespace: ml}
spec:
  template:
    spec: {restartPolicy: Never, containers: [{name: main, image: a:1}]}
"""
PODS = [pod("train-worker-0", gpus=8, busy=50, hours=100), pod("web-1", owners=[("Deployment", "web")], node="b")]
MADE = recording(PODS, [node("a"), node("b", gpus=0, labels={})])


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["usage", *arguments])


@pytest.fixture
def here(write: Write) -> Path:
    return write({"usage.json.gz": as_bytes(MADE), "code/jobs.yaml": CODE})


def test_kcheck_usage_reports_on_a_recording_without_code(here: Path) -> None:
    result = run("--from", "usage.json.gz")
    assert result.exit_code == 0, result.output
    assert "PyTorchJob ml/train" in result.stdout
    assert "Not in the code" not in result.stdout


def test_the_code_names_jobs_that_labels_do_not_name(here: Path) -> None:
    result = run("--from", "usage.json.gz", "--by", "team", "code")
    assert "\nvision " in result.stdout
    assert "Not found in the code:\n  Deployment ml/web: 1 pod\n" in result.stdout
    assert "In the code, and never ran:\n  Job never at code/jobs.yaml:14\n" in result.stdout


def test_usage_json_has_the_fields_of_its_schema(here: Path) -> None:
    made = msgspec.structs.replace(
        MADE, waits=[QueueWait("kueue", "ml", "waiting", 1, 2, 3)], lacks=[Lack("cpu", "old")]
    )
    (here / "all.json.gz").write_bytes(as_bytes(made))
    data = run("--from", "all.json.gz", "--previous", "usage.json.gz", "--format", "json", "code").stdout
    check_all_fields("usage", json.loads(data))


def test_rows_show_the_place_of_their_code(here: Path) -> None:
    rows = json.loads(run("--from", "usage.json.gz", "--format", "json", "code").stdout)["rows"]
    assert [row["code"] for row in rows] == [[{"path": "code/jobs.yaml", "line": 3}], []]
    assert (
        "<br><small>code/jobs.yaml:3</small></th>" in run("--from", "usage.json.gz", "--format", "html", "code").stdout
    )


def test_a_page_says_which_command_printed_it_without_secrets(here: Path) -> None:
    page = run(
        "--from", "usage.json.gz", "--by", "team", "--header", "X-Key: secret", "--format", "html", "code"
    ).stdout
    assert "<p>kcheck usage code --from usage.json.gz --by team</p>" in page
    assert "secret" not in page


def test_the_price_given_by_the_user_overrides_list_prices(here: Path) -> None:
    data = json.loads(run("--from", "usage.json.gz", "--format", "json", "--price", "10").stdout)
    assert data["total"]["paid"] == pytest.approx(2 * 168 * 10)
    assert data["unpriced"] == []


def test_rows_are_named_by_the_labels_in_the_settings(here: Path) -> None:
    (here / "kcheck.yaml").write_text("usage: {recording: usage.json.gz, labels: {owner: [boss]}}\n")
    named = recording([pod("a", labels={"boss": "ada", "owner": "linus"})])
    (here / "usage.json.gz").write_bytes(as_bytes(named))
    assert [row["name"] for row in json.loads(run("--by", "owner", "--format", "json").stdout)["rows"]] == ["ada"]


def test_an_older_recording_is_compared_with_the_new_one(here: Path) -> None:
    (here / "old.json").write_bytes(
        as_bytes(recording([pod("train-worker-0", gpus=8, busy=10, hours=100)], [node("a")]))
    )
    result = run("--from", "usage.json.gz", "--previous", "old.json")
    assert "Change, 16 to 23 Nov 2026 against 16 to 23 Nov 2026 (7 days):" in result.stdout
    assert "+40 pt" in result.stdout


@pytest.mark.parametrize("form", ["text", "json", "csv", "html"])
def test_every_format_is_printed(here: Path, form: str) -> None:
    result = run("--from", "usage.json.gz", "--format", form, "--by", "namespace")
    assert result.exit_code == 0, result.output
    assert "ml" in result.stdout
    if form == "csv":
        assert result.stdout_bytes.count(b"\r\n") == 5


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ((), "give --from FILE or --prometheus URL"),
        (("--from", "missing.json.gz"), "missing.json.gz: No such file"),
        (("--from", "code/jobs.yaml"), "code/jobs.yaml: not a recording of kcheck usage record"),
        (("--from", "usage.json.gz", "--previous", "none"), "--previous: none: No such file"),
        (("--from", "usage.json.gz", "nowhere"), "nowhere"),
        (("--from", "usage.json.gz", "--by", "color"), "'color' is not one of"),
    ],
)
def test_wrong_options_exit_with_2_and_say_why(here: Path, arguments: tuple[str, ...], why: str) -> None:
    result = run(*arguments)
    assert result.exit_code == 2
    assert why in result.stderr


LARGEST = {
    "requests": {"cpu": float(1 << 63), "memory": float(1 << 63), "nvidia_com_gpu": float(1 << 63)},
    "gpus": [{"id": "a", "busy": {str(1 << 53): 1 << 53}, "tensor": {str(1 << 53): 1 << 53}, "power": float(1 << 63), "power_samples": 1}],
}  # fmt: skip


@pytest.mark.parametrize("form", ["text", "json", "csv", "html"])
def test_the_largest_allowed_numbers_add_up_without_an_error(here: Path, form: str) -> None:
    data = msgspec.json.decode(msgspec.json.encode(MADE))
    data["pods"][0]["containers"]["main"] = LARGEST
    for name in ("cpu", "memory", "busy", "seconds"):
        data["pods"][0]["hours"][name] = [1 << 53] * 160
    for name in ("created", "scheduled", "ended", "waiting"):
        data["pods"][1][name] = 1 << 53
    data["nodes"][0] |= {
        "seconds": 1 << 53,
        "last": 1 << 53,
        "allocatable": {"cpu": 1e-300, "memory": 1e-300, "nvidia_com_gpu": 1e-300},
    }
    (here / "usage.json.gz").write_bytes(msgspec.json.encode(data))
    result = run("--from", "usage.json.gz", "--format", form)
    assert result.exit_code == 0, (result.output, result.exception)
    assert "inf" not in result.stdout.lower().split()
    assert "nan" not in result.stdout.lower().split()


@pytest.mark.parametrize("number", ["1e300", "-1", "123456789012345678901234567890", "1e999"])
def test_a_recording_with_larger_numbers_is_refused(here: Path, number: str) -> None:
    text = msgspec.json.encode(MADE).decode()
    (here / "usage.json.gz").write_text(text.replace('"seconds":604800', f'"seconds":{number}', 1))
    result = run("--from", "usage.json.gz")
    assert result.exit_code == 2
    assert "not a recording of kcheck usage record" in result.stderr


def test_the_by_option_offers_the_groupings_of_the_bill() -> None:
    by = next(one for one in usage.command.params if one.name == "by")
    assert isinstance(by.type, click.Choice)
    assert tuple(by.type.choices) == BY


def test_a_recording_survives_encoding_unchanged() -> None:
    assert msgspec.json.decode(msgspec.json.encode(MADE), type=Recording) == MADE
