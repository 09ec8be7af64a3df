"""Test `kcheck usage record`: the command, its output, and how it resumes after a failure."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import pytest
from click.testing import CliRunner

from kcheck.addons.usage.command import question
from kcheck.addons.usage.network import Network
from kcheck.commands.cli import cli
from kcheck.scale.usage.recording import HOUR, read
from tests.addons.usage.fake_prometheus import FakePrometheus, Reply, Request, failure, serving
from tests.addons.usage.test_recorder import END, GIB, MAIN

if TYPE_CHECKING:
    from collections.abc import Iterator

DAYS = range(END - 48 * HOUR, END + 1, 300)
WHEN = ["--end", str(END), "--window", "2d", "--step", "5m"]


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakePrometheus]:
    """Yield a server with two days of a pod that restarts, and of one that has a GPU for hours."""
    monkeypatch.chdir(tmp_path)
    fake = FakePrometheus(warnings=["one store is down"])
    for name, times in (("a", DAYS), ("b", DAYS[100:300])):
        labels = MAIN | {"pod": name}
        fake.add("container_memory_working_set_bytes", times, lambda at: GIB + at % 7 * 1e8, **labels)
        fake.add("container_cpu_usage_seconds_total", times, lambda at: (at - DAYS[0]) * 0.3 + at % 11, **labels)
        fake.add("kube_pod_labels", times, 1, namespace="ml", pod=name, label_team="vision")
        fake.add("kube_pod_status_phase", times[:9], 1, namespace="ml", pod=name, phase="Pending")
        fake.add("kube_pod_container_status_restarts_total", times, lambda at: (at - DAYS[0]) // 30_000, **labels)
        fake.add("kube_pod_container_status_last_terminated_reason", times, 1, **labels, reason="OOMKilled")
    fake.add("DCGM_FI_DEV_GPU_UTIL", DAYS[100:300], lambda at: at // 300 % 100, **MAIN | {"pod": "b"}, UUID="GPU-0")
    fake.add("DCGM_FI_DEV_POWER_USAGE", DAYS[100:300], lambda at: at % 97 / 7, **MAIN | {"pod": "b"}, UUID="GPU-0")
    fake.add("kube_node_info", DAYS, 1, node="n1", provider_id="p")
    with serving(fake) as server:
        yield server


def run(fake: FakePrometheus, *arguments: str, status: int = 0) -> str:
    """Run `kcheck usage record`, and return its stderr with URL for the address of the server."""
    result = CliRunner().invoke(cli, ["usage", "record", "--prometheus", fake.url, *WHEN, *arguments])
    assert result.exit_code == status, result.output
    return result.stderr.replace(fake.url, "URL")


def test_the_window_in_the_settings_applies_unless_a_flag_gives_another(fake: FakePrometheus) -> None:
    Path("kcheck.yaml").write_text("usage: {window: 12h}\n")
    options = ["usage", "record", "--prometheus", fake.url, "--end", str(END), "--step", "5m"]
    for more, hours in (([], 12), (["--window", "1d"], 24)):
        assert CliRunner().invoke(cli, [*options, *more]).exit_code == 0
        found = read("usage.json.gz")
        assert (found.end - found.begin, found.asked) == (hours * HOUR, hours * HOUR)


def failing_from(number: int) -> Iterator[Reply | None]:
    yield from [None] * number
    while True:
        yield failure(422, "execution", "out of memory")


def test_a_recording_is_written(fake: FakePrometheus) -> None:
    said = run(fake, "-o", "week.json.gz")
    recording = read("week.json.gz")
    assert [pod.name for pod in recording.pods] == ["a", "b"]
    assert (recording.source, recording.end, recording.step) == (fake.url, END, 300)
    assert "kcheck: wrote week.json.gz" in said
    assert "kcheck: without answers: one store is down" in said
    assert os.listdir() == ["week.json.gz"]


def test_an_interrupted_recording_resumes_where_it_stopped(fake: FakePrometheus) -> None:
    """However often a recording fails, the file in the end is the same, byte for byte."""
    run(fake, "-o", "whole.json.gz")
    count = len(fake.asked)
    for number in range(count // 3, count, count // 5):
        replies = failing_from(number)
        fake.reply = lambda _, replies=replies: next(replies)  # type: ignore[misc]
        said = run(fake, "-o", "again.json.gz", status=2)
        stopped = read("again.json.gz.part", part=True).until if Path("again.json.gz.part").exists() else 0
        assert ("% is in again.json.gz.part: run the same command to go on" in said) == bool(stopped)
        fake.reply = lambda _: None
        run(fake, "-o", "again.json.gz")
        assert msgspec.to_builtins(read("again.json.gz")) == msgspec.to_builtins(read("whole.json.gz"))
        assert Path("again.json.gz").read_bytes() == Path("whole.json.gz").read_bytes()
        assert not Path("again.json.gz.part").exists()


def of_second_day(request: Request) -> Reply | None:
    """Return an error reply to queries for samples of the second day; None to all others."""
    is_late = int(request.form.get("start", 0)) > END - 24 * HOUR
    return Reply(404) if is_late and "max_over_time(container_mem" in request.form["query"] else None


def half(fake: FakePrometheus) -> None:
    """Record the first of two days: the server refuses queries for the second."""
    fake.reply = of_second_day
    assert "50 % is in usage.json.gz.part" in run(fake, status=2)
    fake.reply = lambda _: None
    fake.asked.clear()


def test_hours_already_recorded_are_not_queried_again(fake: FakePrometheus) -> None:
    half(fake)
    run(fake)
    begins = [int(one.form["start"]) for one in fake.asked if "max_over_time(container_mem" in one.form["query"]]
    assert min(begins) == END - 24 * HOUR + 300


def test_a_resumed_recording_keeps_its_end(fake: FakePrometheus) -> None:
    half(fake)
    result = CliRunner().invoke(cli, ["usage", "record", "--prometheus", fake.url, "--window", "2d", "--step", "5m"])
    assert result.exit_code == 0
    assert read("usage.json.gz").end == END


@pytest.mark.parametrize(
    "other", [("--step", "10m"), ("--window", "1d"), ("--matcher", 'a="b"'), ("--end", "2026-01-01")]
)
def test_the_partial_file_of_another_recording_is_kept(fake: FakePrometheus, other: tuple[str, str]) -> None:
    half(fake)
    before = Path("usage.json.gz.part").read_bytes()
    assert "usage.json.gz.part belongs to another recording" in run(fake, *other, status=2)
    assert Path("usage.json.gz.part").read_bytes() == before


def test_a_damaged_partial_file_is_refused(fake: FakePrometheus) -> None:
    Path("usage.json.gz.part").write_bytes(b"\x1f\x8b\x08 no")
    assert "usage.json.gz.part: damaged" in run(fake, status=2)


def test_a_partial_file_is_not_accepted_as_a_recording(fake: FakePrometheus) -> None:
    half(fake)
    result = CliRunner().invoke(cli, ["usage", "--from", "usage.json.gz.part"])
    assert result.exit_code == 2
    assert "the recording was not finished" in result.stderr


def test_an_interrupted_recording_is_kept(fake: FakePrometheus, monkeypatch: pytest.MonkeyPatch) -> None:
    fake.reply = of_second_day
    monkeypatch.setattr("kcheck.addons.usage.prometheus.HttpError", lambda _: KeyboardInterrupt())
    result = CliRunner().invoke(cli, ["usage", "record", "--prometheus", fake.url, *WHEN])
    assert result.exit_code != 0
    assert read("usage.json.gz.part", part=True).until == END - 24 * HOUR


def test_credentials_are_sent_but_never_printed(fake: FakePrometheus, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("token").write_text("t0ken-t0ken\n")
    Path("user").write_text("me:passw0rd")
    said = run(fake, "--token-file", "token", "--header", "X-Scope-OrgID: team")
    said += run(fake, "--basic-auth-file", "user")
    monkeypatch.setenv("KCHECK_PROMETHEUS_TOKEN", "fr0m-env")
    said += run(fake)
    sent = [one.headers.get("Authorization") for one in fake.asked]
    assert list(dict.fromkeys(sent)) == ["Bearer t0ken-t0ken", "Basic bWU6cGFzc3cwcmQ=", "Bearer fr0m-env"]
    assert fake.asked[0].headers["X-Scope-OrgID"] == "team"
    for secret in ("t0ken", "passw0rd", "fr0m-env", "bWU6"):
        assert secret not in said + repr(read("usage.json.gz"))


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--token-file", "none"], "--token-file none: No such file or directory"),
        (["--basic-auth-file", "token"], "--basic-auth-file: expected user:password"),
        (["--token-file", "token", "--header", "authorization: x"], "give one of --token-file"),
        (["--header", "no colon"], "expected 'Name: value'"),
        (["--ca", "none"], "--ca none: no such file"),
        (["--window", "90d"], "expected at least two steps and at most 30d"),
        (["--window", "a week"], "`a week` is not a duration such as 7d"),
        (["--step", "1s"], "expected 10s to 1h"),
        (["--end", "tomorrow"], "`tomorrow` is not a time such as 2026-05-31"),
        (["--matcher", "cluster=prod"], "`cluster=prod` is not a matcher such as"),
        (["--matcher", 'a="b"} or up{'], "is not a matcher"),
        (["-o", "no/such/folder/a.gz"], "there is no folder no/such/folder"),
        (["--prometheus", "http://me:passw0rd@localhost"], "a password in a URL ends up in logs"),
    ],
)
def test_a_wrong_command_line_sends_no_request(fake: FakePrometheus, arguments: list[str], said: str) -> None:
    Path("token").write_text("abcdefgh")
    assert said in " ".join(run(fake, *arguments, status=2).split())
    assert fake.asked == []


def test_the_recording_ends_early_enough_for_samples_to_arrive(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.time", lambda: END + 239.0)
    network = Network("http://localhost", 7 * 86_400, 60, None, (), None, None, None, (), 60)  # fmt: skip
    assert question(network, "").end == END
    assert question(network._replace(end=END + 10_000), "").end == END + 180


def test_no_request_is_sent_without_an_address() -> None:
    result = CliRunner().invoke(cli, ["usage", "record"])
    assert (result.exit_code, "give --prometheus URL" in result.stderr) == (2, True)


def test_a_server_error_is_one_line_and_not_a_bug(fake: FakePrometheus) -> None:
    """kcheck runs as a process here, to see its output and exit status."""
    fake.reply = lambda _: Reply(401)
    command = [sys.executable, "-m", "kcheck", "usage", "record", "--prometheus", fake.url]
    code = "import sys; from kcheck.commands.cli import main; sys.argv[0] = 'kcheck'; main()"
    command[1:3] = ["-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr == f"Error: {fake.url} answers 401; give --token-file or --basic-auth-file\n"
