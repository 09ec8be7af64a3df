"""Queries to an API compatible with Prometheus."""

from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

import msgspec
from msgspec import Struct

from kcheck.addons.usage.http import Access, Answer, HttpError, Server, SlowError, advice

T = TypeVar("T")
SAMPLES = 250_000
"""Samples of a response: 30 MB in memory."""

POINTS = 10_000
"""Steps of a response; Prometheus refuses more than 11,000."""

LONGEST = 86_400
"""Seconds that one query covers."""

_SHORTEST = 300
_TOO_MUCH = (
    "too many samples", "exceeded maximum resolution", "timed out", "timeout", "limit", "too large", "canceled",
)  # fmt: skip


class Series(Struct):
    """A series of a response: labels, and samples as (time, value)."""

    metric: dict[str, str]
    values: list[tuple[float, float]]


class Sample(Struct):
    """A series of a response with one sample."""

    metric: dict[str, str]
    value: tuple[float, float]


class _Result(Struct, Generic[T]):
    result: list[T]


class _Answer(Struct, Generic[T]):
    data: _Result[T]
    warnings: list[str] = []


class _Failure(Struct):
    error: str = ""
    errorType: str = ""  # noqa: N815 - Prometheus' name


_RANGE = msgspec.json.Decoder(_Answer[Series], strict=False)  # numbers are texts in these answers
_INSTANT = msgspec.json.Decoder(_Answer[Sample], strict=False)
_FAILURE = msgspec.json.Decoder(_Failure)


class Prometheus:
    """Client of a Prometheus; `warnings` collects the server's."""

    def __init__(self, access: Access, server: Server | None = None) -> None:
        self.url = access.url
        self._server = server or Server(access)
        self.warnings: dict[str, None] = {}
        self._samples = SAMPLES
        self._longest = LONGEST

    def instant(self, query: str, at: int) -> list[Sample]:
        """Run an instant query. Raises SlowError if too large, HttpError without reply."""
        return self._results("query", {"query": query, "time": str(at)}, _INSTANT)

    def number(self, query: str, at: int) -> float | None:
        """Return the first value of an instant query; None if it is empty."""
        found = self.instant(query, at)
        return found[0].value[1] if found else None

    def matrix(self, query: str, begin: int, end: int, step: int) -> list[Series]:
        """Run a range query over all steps from `begin` to `end`, both included.

        Raises SlowError if the query is too large, HttpError if there is no response.
        """
        fields = {"query": query, "start": str(begin), "end": str(end), "step": str(step)}
        found = self._results("query_range", fields, _RANGE)
        for one in found:  # VictoriaMetrics may answer from a little earlier on
            if one.values and not begin <= one.values[0][0] <= one.values[-1][0] <= end:
                one.values = [pair for pair in one.values if begin <= pair[0] <= end]
        return [one for one in found if one.values]

    def pieces(
        self, query: str, begin: int, end: int, step: int, series: int
    ) -> Iterator[tuple[int, int, list[Series]]]:
        """Run a range query from `begin` to before `end`, in pieces.

        `series` is their expected number. Pieces that the server finds too large are halved. Yields the start of a
        piece, the start of the next, and the series.
        """
        size = max(1, min(self._samples // max(1, series), POINTS))
        while begin < end:
            last = min(begin + (size - 1) * step, end - step)
            try:
                found = self.matrix(query, begin, last, step)
            except SlowError:
                if last == begin:
                    raise
                size = max(1, ((last - begin) // step + 1) // 2)
                self._samples = max(1, min(self._samples, size * series))  # the next ones are no smaller
                continue
            yield begin, last + step, found
            begin = last + step

    def span(self, query: Callable[[int], str], begin: int, end: int) -> list[Sample]:
        """Run a query over a time, halving it while it is too large.

        `query` takes the length in seconds. Samples of later halves come last.
        """
        if end - begin <= self._longest:
            try:
                return self.instant(query(end - begin), end)
            except SlowError:
                self._longest = (end - begin) // 2
                if self._longest < _SHORTEST:
                    raise
        middle = begin + (end - begin) // 2
        return [*self.span(query, begin, middle), *self.span(query, middle, end)]

    def _results(self, what: str, fields: dict[str, str], decoder: msgspec.json.Decoder[_Answer[T]]) -> list[T]:
        answer = self._server.post(f"/api/v1/{what}", fields)
        if answer.status != 200:
            raise self._refused(answer)
        found = self._decoded(answer.body, decoder)
        for text in found.warnings[:10]:
            if len(self.warnings) < 20:
                self.warnings.setdefault(self._server.without_secrets(text)[:200])
        return found.data.result

    def _refused(self, answer: Answer) -> HttpError:
        try:
            failure = _FAILURE.decode(answer.body)
        except (msgspec.DecodeError, RecursionError):
            failure = _Failure()
        said = self._server.without_secrets(failure.error)[:300]
        text = f"{self.url} answers {answer.status}"
        todo = advice(self._server.access, answer.status)
        text = "; ".join(filter(None, (f"{text}: {said}" if said else text, todo)))
        if failure.errorType == "timeout" or (
            answer.status in (400, 422, 500, 503) and any(sign in said.lower() for sign in _TOO_MUCH)
        ):
            return SlowError(f"{text}; narrow it with --matcher" if not todo else text)
        return HttpError(text)

    def _decoded(self, body: bytes, decoder: msgspec.json.Decoder[T]) -> T:
        try:
            try:
                return decoder.decode(body)
            except msgspec.ValidationError:  # a number that only JSON of Go's knows
                return decoder.decode(body.replace(b'"+Inf"', b'"inf"'))
        except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
            is_html = body.lstrip()[:1] == b"<"
            how = "answers with HTML, a login page perhaps" if is_html else f"does not answer like Prometheus ({error})"
            raise HttpError(f"{self.url} {how}; check the URL") from error
