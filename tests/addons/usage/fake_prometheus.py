"""Serve given samples and given failures on loopback, as a fake Prometheus."""

from __future__ import annotations

import gzip
import json
import math
import re
import ssl
import statistics
import threading
import time
from bisect import bisect_right
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING
from urllib.parse import parse_qs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

FUNCTIONS: dict[str, Callable[[list[int], list[float]], float]] = {
    "max_over_time": lambda _, values: max(values),
    "min_over_time": lambda _, values: min(values),
    "avg_over_time": lambda _, values: statistics.fmean(values),
    "sum_over_time": lambda _, values: sum(values),
    "last_over_time": lambda _, values: values[-1],
    "count_over_time": lambda _, values: len(values),
    "increase": lambda _, values: values[-1] - values[0],
    "irate": lambda times, values: (values[-1] - values[-2]) / (times[-1] - times[-2]) if len(values) > 1 else math.nan,
}
LOOK_BACK = 300
QUERY = re.compile(
    r"(?:(?P<scale>\d+) \* )?(?:(?P<aggregate>max|min|sum|count|quantile)(?: by \((?P<by>[^)]*)\))? ?\((?:0\.75, )?)?"
    r"(?:(?P<function>\w+)\()?(?P<name>\w+)\{(?P<where>[^}]*)\}(?:\[(?P<range>\d+)ms\])?\)*(?P<one> == 1)?"
)
CONDITION = re.compile(r'(\w+)(=|!=)"([^"]*)"')


@dataclass
class Reply:
    """A reply that the fake server sends instead of the right one."""

    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    seconds: float = 0
    breaks: bool = False


@dataclass
class Request:
    """A request that the fake server received."""

    path: str
    form: dict[str, str]
    headers: dict[str, str]


@dataclass
class FakePrometheus:
    """A Prometheus that holds series by metric: labels, and samples by time. `reply` may replace its reply."""

    series: dict[str, list[tuple[dict[str, str], dict[int, float]]]] = field(default_factory=dict)
    asked: list[Request] = field(default_factory=list)
    reply: Callable[[Request], Reply | None] = lambda _: None
    warnings: list[str] = field(default_factory=list)
    url: str = ""

    def add(self, metric: str, times: range, value: float | Callable[[int], float], **labels: str) -> None:
        """Add a series that has a sample at each of some times."""
        samples = {at: value(at) if callable(value) else value for at in times}
        self.series.setdefault(metric, []).append((labels, samples))

    def answer(self, request: Request) -> Reply:
        """Return the right reply to a request."""
        form = request.form
        if "start" in form and (int(form["end"]) - int(form["start"])) // int(form["step"]) >= 11_000:
            return failure(400, "bad_data", "exceeded maximum resolution of 11,000 points per timeseries")
        data = {"resultType": "x", "result": self.results(request)}
        body = {"status": "success", "data": data, "warnings": self.warnings}
        return Reply(200, gzip.compress(json.dumps(body).encode(), 1), {"Content-Encoding": "gzip"})

    def results(self, request: Request) -> list[dict[str, object]]:
        """Return the series of the right reply."""
        form = request.form
        if request.path.endswith("/query"):
            found = self.evaluated(form["query"], [int(form["time"])])
            return [{"metric": labels, "value": points[0]} for labels, points in found]
        found = self.evaluated(form["query"], list(range(int(form["start"]), int(form["end"]) + 1, int(form["step"]))))
        return [{"metric": labels, "values": points} for labels, points in found]

    def evaluated(self, query: str, times: list[int]) -> list[tuple[dict[str, str], list[tuple[float, str]]]]:
        """Return the result of a query at some times."""
        match = QUERY.fullmatch(query)
        assert match, query
        back = int(match["range"] or 1000 * LOOK_BACK) / 1000
        groups: dict[tuple[tuple[str, str], ...], dict[int, list[float]]] = {}
        for labels, samples in self.series.get(match["name"], ()):
            if not selected(labels, match["where"]):
                continue
            kept = [name for name in (match["by"] or "").split(",") if labels.get(name)]
            names = kept if match["aggregate"] else list(labels)
            key = tuple((name, labels[name]) for name in names)
            scraped, values = list(samples), list(samples.values())
            for at in times:
                own = slice(bisect_right(scraped, at - back), bisect_right(scraped, at))
                if own.start < own.stop:
                    number = FUNCTIONS[match["function"] or "last_over_time"](scraped[own], values[own])
                    if not math.isnan(number):
                        groups.setdefault(key, {}).setdefault(at, []).append(number)
        found = []
        for key, by_time in groups.items():
            points = [(float(at), aggregated(match["aggregate"], values)) for at, values in sorted(by_time.items())]
            points = [(at, value * int(match["scale"] or 1)) for at, value in points if not match["one"] or value == 1]
            if points:
                found.append((dict(key), [(at, repr(value)) for at, value in points]))
        return found


def selected(labels: Mapping[str, str], where: str) -> bool:
    """Return whether the labels of a series match the conditions of a query."""
    return all((labels.get(name, "") == text) == (sign == "=") for name, sign, text in CONDITION.findall(where))


def aggregated(how: str | None, values: list[float]) -> float:
    """Aggregate the values of several series by a function's name, `max` by default."""
    if how == "quantile":
        return sorted(values)[int(0.75 * (len(values) - 1))]
    if how == "count":
        return len(values)
    return min(values) if how == "min" else sum(values) if how == "sum" else max(values)


def failure(status: int, kind: str, text: str, **headers: str) -> Reply:
    """Return an error reply in the form of Prometheus."""
    body = {"status": "error", "errorType": kind, "error": text}
    return Reply(status, json.dumps(body).encode(), {name.replace("_", "-"): value for name, value in headers.items()})


@contextmanager
def serving(fake: FakePrometheus, certificate: Path | None = None) -> Iterator[FakePrometheus]:
    """Serve a fake Prometheus on a free port of loopback; over TLS if a certificate is given."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = 1 << 16  # headers and body in one packet: the kernel holds a second one back

        def do_POST(self) -> None:
            form = parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
            request = Request(self.path, {name: texts[0] for name, texts in form.items()}, dict(self.headers))
            fake.asked.append(request)
            reply = fake.reply(request) or fake.answer(request)
            time.sleep(reply.seconds)
            self.send_response(reply.status)
            for name, value in reply.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(reply.body) + 10 * reply.breaks))
            self.end_headers()
            self.wfile.write(reply.body)
            with suppress(ConnectionError):
                self.wfile.flush()
            self.close_connection = reply.breaks

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    if certificate:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        server.socket = context.wrap_socket(server.socket, server_side=True)
    server.daemon_threads = True
    server.block_on_close = False
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    fake.url = f"http{'s' if certificate else ''}://127.0.0.1:{server.server_address[1]}"
    try:
        yield fake
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
