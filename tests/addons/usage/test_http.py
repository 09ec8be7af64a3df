"""Test faults of a server: each gives an error with a remedy and without a secret."""

from __future__ import annotations

import gzip
import shutil
import socket
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from kcheck.addons.usage.http import Access, HttpError, Server, SlowError, checked_header, checked_url
from kcheck.addons.usage.prometheus import Prometheus
from tests.addons.usage.fake_prometheus import FakePrometheus, Reply, failure, serving

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SECRET = "s3cret-t0ken"  # noqa: S105 - of nothing


@pytest.fixture
def fake() -> Iterator[FakePrometheus]:
    with serving(FakePrometheus()) as server:
        yield server


def asked(fake: FakePrometheus, *, naps: list[float] | None = None, timeout: float = 5) -> Prometheus:
    """Return a client that records its pauses in `naps` instead of sleeping."""
    access = Access(fake.url, (("Authorization", f"Bearer {SECRET}"),), timeout=timeout)
    return Prometheus(access, Server(access, ([] if naps is None else naps).append))


def error_of(fake: FakePrometheus, reply: Reply, **rest: float) -> str:
    """Return the error message that a reply causes; assert that it is one line and has no secret."""
    fake.reply = lambda _: reply
    with pytest.raises(HttpError) as caught:
        asked(fake, **rest).instant("up{}", 1)  # type: ignore[arg-type]
    text = str(caught.value)
    assert "\n" not in text
    assert SECRET not in text
    return text.removeprefix(fake.url).strip()


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        (Reply(401), "answers 401; it refuses these credentials"),
        (Reply(403), "answers 403; these credentials may not query it"),
        (Reply(404), "answers 404; give the URL before /api/v1; that of Mimir ends in /prometheus"),
        (failure(422, "execution", "no such function"), "answers 422: no such function"),
        (failure(500, "internal", f"bad token {SECRET}"), "answers 500: bad token ***"),
        (Reply(200, b"<html>Sign in</html>"), "answers with HTML, a login page perhaps; check the URL"),
        (Reply(200, b'{"status":"success","data":{"result":[{"metr'), "does not answer like Prometheus (Input data was truncated); check the URL"),
        (Reply(200, b'{"hello": "world"}'), "does not answer like Prometheus (Object missing required field `data`); check the URL"),
        (Reply(302, headers={"Location": "https://login.example.com/?next=x&token=abc"}), "redirects to https://login.example.com/ (a login page?); give the URL that answers itself"),
        (Reply(301, headers={"Location": "https://p.example.com/api/v1/query"}), "redirects to https://p.example.com; give the URL that answers itself"),
        (Reply(200, b"\x1f\x8bno", {"Content-Encoding": "br"}), "answers in encoding br, but kcheck asked for gzip"),
    ],
)  # fmt: skip
def test_each_http_error_says_what_to_do(fake: FakePrometheus, reply: Reply, said: str) -> None:
    assert error_of(fake, reply) == said


def test_a_busy_server_is_asked_again(fake: FakePrometheus) -> None:
    replies = [
        failure(429, "x", "slow down", Retry_After="7"),
        failure(503, "x", "busy", Retry_After="9000"),
        Reply(502),
    ]
    fake.reply = lambda _: replies.pop(0) if replies else None
    naps: list[float] = []
    assert asked(fake, naps=naps).instant("up{}", 1) == []
    assert naps == [7, 60, 4]


def test_kcheck_gives_up_on_a_server_that_stays_busy(fake: FakePrometheus) -> None:
    naps: list[float] = []
    fake.reply = lambda _: failure(503, "unavailable", "starting up")
    with pytest.raises(HttpError, match="answers 503: starting up; try again later"):
        asked(fake, naps=naps).instant("up{}", 1)
    assert naps == [1, 2, 4, 8]


@pytest.mark.parametrize("reply", [Reply(200, b"{", breaks=True), Reply(200, gzip.compress(b"{}")[:-9], {"Content-Encoding": "gzip"})])  # fmt: skip
def test_a_truncated_answer_is_requested_again(fake: FakePrometheus, reply: Reply) -> None:
    replies = [reply]
    fake.reply = lambda _: replies.pop(0) if replies else None
    assert asked(fake).instant("up{}", 1) == []
    assert len(fake.asked) == 2
    assert "try again" in error_of(fake, reply)


def test_a_request_to_a_slow_server_times_out(fake: FakePrometheus) -> None:
    fake.reply = lambda _: Reply(seconds=0.4)
    with pytest.raises(SlowError, match=r"took longer than 0.1 s for an answer; raise --request-timeout"):
        asked(fake, timeout=0.1).instant("up{}", 1)


def test_an_answer_that_is_too_large_is_refused(fake: FakePrometheus, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kcheck.addons.usage.http.MOST", 1 << 20)
    bomb = gzip.compress(b"[" * (1 << 24))
    fake.reply = lambda _: Reply(200, bomb, {"Content-Encoding": "gzip"})
    with pytest.raises(SlowError, match="exceeds 1 MiB"):
        asked(fake).instant("up{}", 1)


def test_a_refused_connection_suggests_a_port_forward() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
    with pytest.raises(HttpError, match=r"refuses the connection \(Connection refused\); is kubectl port-forward"):
        Prometheus(Access(url)).instant("up{}", 1)


def test_an_unknown_host_is_reported() -> None:
    with pytest.raises(HttpError, match=r"host no-such-host\.invalid not found; check the URL"):
        Prometheus(Access("http://no-such-host.invalid:9090")).instant("up{}", 1)


def test_a_server_without_tls_behind_an_https_url_is_reported(fake: FakePrometheus) -> None:
    url = fake.url.replace("http:", "https:")
    with pytest.raises(HttpError, match="no TLS connection"):
        Prometheus(Access(url)).instant("up{}", 1)


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    """Return the file of a self-signed certificate for loopback, with its key."""
    if not (openssl := shutil.which("openssl")):
        pytest.skip("openssl is not in PATH")
    path, key = tmp_path / "ca.pem", tmp_path / "key.pem"
    command = [openssl, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2"]
    names = [
        "-subj",
        "/CN=test",
        "-addext",
        "subjectAltName=IP:127.0.0.1",
        "-addext",
        "keyUsage=digitalSignature,keyCertSign",
    ]
    subprocess.run([*command, *names, "-keyout", key, "-out", path], check=True, capture_output=True)
    path.write_text(path.read_text() + key.read_text())
    return path


def test_a_certificate_is_checked(certificate: Path) -> None:
    with serving(FakePrometheus(), certificate) as fake:
        with pytest.raises(
            HttpError, match=r"TLS certificate refused: .*self.signed certificate; give its authority with --ca FILE"
        ):
            Prometheus(Access(fake.url)).instant("up{}", 1)
        assert fake.asked == []
        assert Prometheus(Access(fake.url, ca=str(certificate))).instant("up{}", 1) == []


def test_an_invalid_ca_file_is_reported(fake: FakePrometheus, tmp_path: Path) -> None:
    (tmp_path / "ca").write_text("nothing")
    with pytest.raises(HttpError, match="ca: no certificates in it"):
        Prometheus(Access(fake.url.replace("http:", "https:"), ca=str(tmp_path / "ca"))).instant("up{}", 1)


def test_redirects_and_proxies_are_not_used(fake: FakePrometheus, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    assert asked(fake).instant("up{}", 1) == []
    error_of(fake, Reply(307, headers={"Location": f"{fake.url}/other/api/v1/query"}))
    assert {one.path for one in fake.asked} == {"/api/v1/query"}


def test_a_query_is_sent_as_a_form_with_the_token(fake: FakePrometheus) -> None:
    asked(fake).matrix("up{}", 60, 120, 60)
    [one] = fake.asked
    assert (one.path, one.form) == ("/api/v1/query_range", {"query": "up{}", "start": "60", "end": "120", "step": "60"})
    assert one.headers["Authorization"] == f"Bearer {SECRET}"
    assert one.headers["Content-Type"] == "application/x-www-form-urlencoded"


def test_a_query_with_too_many_samples_is_split_in_half(fake: FakePrometheus) -> None:
    fake.add("up", range(0, 6001, 60), 1)
    fake.reply = lambda one: (
        failure(422, "execution", "query processing would load too many samples into memory in query execution")
        if int(one.form["end"]) - int(one.form["start"]) >= 1500
        else None
    )
    pieces = list(asked(fake).pieces("last_over_time(up{}[59999ms])", 0, 6000, 60, 1))
    assert [(begin, end) for begin, end, _ in pieces] == [(0, 1500), (1500, 3000), (3000, 4500), (4500, 6000)]
    assert sum(len(series.values) for _, _, found in pieces for series in found) == 100


def test_a_query_that_cannot_be_split_further_fails(fake: FakePrometheus) -> None:
    fake.reply = lambda _: failure(503, "timeout", "query timed out in expression evaluation")
    with pytest.raises(SlowError, match="answers 503: query timed out in expression evaluation"):
        list(asked(fake).pieces("up{}", 0, 6000, 60, 1))
    with pytest.raises(SlowError):
        asked(fake).span(lambda seconds: f"up{{}}[{seconds}s]", 0, 6000)


def test_warnings_of_the_server_are_kept(fake: FakePrometheus) -> None:
    fake.warnings = ["No StoreAPIs matched for this query"]
    client = asked(fake)
    client.instant("up{}", 1)
    client.instant("up{}", 1)
    assert list(client.warnings) == ["No StoreAPIs matched for this query"]


def test_samples_outside_the_requested_time_are_left_out(fake: FakePrometheus) -> None:
    times = '[[9,"1"],["NaN","2"],[60,"3"],[120,"4"],[180,"5"]]'
    fake.reply = lambda _: Reply(200, f'{{"data":{{"result":[{{"metric":{{}},"values":{times}}}]}}}}'.encode())
    [series] = asked(fake).matrix("up{}", 60, 120, 60)
    assert series.values == [(60, 3), (120, 4)]
    assert asked(fake).matrix("up{}", 240, 300, 60) == []


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("http://localhost:9090/", "http://localhost:9090"),
        ("https://mimir.example.com/prometheus", "https://mimir.example.com/prometheus"),
        ("https://p.example.com/api/v1/query", "https://p.example.com"),
        ("http://localhost:9090/graph", "http://localhost:9090"),
    ],
)
def test_a_url_is_accepted_in_every_common_form(text: str, url: str) -> None:
    assert checked_url(text) == url


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("https://me:pw@p.example.com", "a password in a URL ends up in logs; use --basic-auth-file"),
        ("localhost:9090", "expected a URL such as http://localhost:9090"),
        ("ftp://p.example.com", "expected a URL"),
        ("https://p.example.com?tenant=a", "give the URL without"),
        ("http://[::1", "not a URL"),
        ("http://p.example.com:http", "not a URL"),
        ("http://a\u202eb.example.com", "the URL has invalid characters"),
    ],
)
def test_other_urls_are_refused(text: str, said: str) -> None:
    with pytest.raises(HttpError, match=said) as caught:
        checked_url(text)
    assert "pw" not in str(caught.value)


@pytest.mark.parametrize("text", ["X-Scope-OrgID", "X Y: a", "X: a\r\nY: b", ": a"])
def test_request_headers_are_checked(text: str) -> None:
    assert checked_header("X-Scope-OrgID: team") == ("X-Scope-OrgID", "team")
    with pytest.raises(HttpError, match="expected 'Name: value'"):
        checked_header(text)


def test_the_error_without_urllib3_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "urllib3", None)
    with pytest.raises(HttpError, match=r"pip install 'kcheck\[usage\] @ git"):
        Server(Access("https://example.com"))
