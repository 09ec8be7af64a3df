"""HTTP connection to one server, with bounded responses and retries."""

from __future__ import annotations

import contextlib
import time
import zlib
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from msgspec import Struct

from kcheck.report import page
from kcheck.scale.usage import metrics
from kcheck.scale.usage.recording import RecordingError
from kcheck.text.regex import regex

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable, Iterator

    from urllib3 import BaseHTTPResponse
MOST = 256 << 20
"""Bytes of a response, uncompressed: about a thousand per sample of a query."""

_CHUNK = 1 << 18
_CONNECT = 10.0

_TRIES = 5
_LONGEST_WAIT = 60.0
"""Seconds to wait at most if a server asks for a pause."""

_BUSY = frozenset({429, 502, 503, 504})
_HEADER = regex(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_DIGITS = regex(r"\d{1,6}")


class HttpError(RecordingError):
    """Reason why there is no response, and what to do."""


class SlowError(HttpError):
    """A response is too slow or too large; a smaller query may succeed."""


class Access(Struct, frozen=True):
    """Connection settings; `headers` may be secret, `ca` is a certificate file."""

    url: str
    headers: tuple[tuple[str, str], ...] = ()
    ca: str = ""
    timeout: float = 60


class Answer(Struct, frozen=True):
    """Status and body of a response."""

    status: int
    body: bytes


def checked_url(text: str) -> str:
    """Validate and normalize a URL, so that API paths can be appended.

    Raises HttpError if it is no URL, or contains a password.
    """
    try:
        url = urlsplit(text.strip())
        host, _ = url.hostname, url.port
    except ValueError as error:
        raise HttpError(f"--prometheus: not a URL ({error})") from error
    if "@" in url.netloc:
        raise HttpError("--prometheus: a password in a URL ends up in logs; use --basic-auth-file")
    if url.scheme not in ("http", "https") or not host:
        raise HttpError("--prometheus: expected a URL such as http://localhost:9090")
    if url.query or url.fragment:
        raise HttpError("--prometheus: give the URL without ? and #; use --header for anything else the server needs")
    if not text.strip().isascii() or not text.strip().isprintable() or " " in text.strip():
        raise HttpError("--prometheus: the URL has invalid characters")
    path = url.path.rstrip("/")
    for end in ("/api/v1/query_range", "/api/v1/query", "/api/v1", "/graph"):
        path = path.removesuffix(end)
    return f"{url.scheme}://{url.netloc}{path}"


def checked_header(text: str) -> tuple[str, str]:
    """Parse `Name: value`. Raises HttpError if it has another form."""
    name, colon, value = text.partition(":")
    if not colon or not _HEADER.fullmatch(name) or not value.strip().isascii() or not value.strip().isprintable():
        raise HttpError("--header: expected 'Name: value'")
    return name, value.strip()


class Server:
    """Server for requests one after the other."""

    def __init__(self, access: Access, sleep: Callable[[float], None] = time.sleep) -> None:
        try:
            import urllib3
        except ImportError as error:
            raise HttpError(f"asking a Prometheus needs urllib3: {page.install('usage')}") from error
        self.access = access
        self._sleep = sleep
        self._pool = urllib3.PoolManager(1, ssl_context=_context(access) if access.url.startswith("https:") else None)
        self._headers = {"User-Agent": "kcheck", "Accept-Encoding": "gzip", **dict(access.headers)}

    def post(self, path: str, fields: dict[str, str]) -> Answer:
        """Send a form; retry if the server is busy or the connection breaks.

        Raises SlowError if the response is too slow or too large, HttpError if there is no response.
        """
        wait = 1.0
        for tries_left in reversed(range(_TRIES)):
            try:
                answer, later = self._once(path, fields)
            except _BrokenError as error:
                if not tries_left:
                    raise HttpError(str(error)) from error
                later = wait
            else:
                if answer.status not in _BUSY or not tries_left or b'"timeout"' in answer.body:
                    return answer
            self._sleep(min(max(later, wait), _LONGEST_WAIT))
            wait *= 2
        raise AssertionError  # the last try returns or raises

    def without_secrets(self, text: str) -> str:
        """Mask the request's secrets in a text of the server, which may repeat them."""
        for _, value in self.access.headers:
            for secret in (value, value.rpartition(" ")[2]):
                text = text.replace(secret, "***") if len(secret) > 3 else text
        return text

    def _once(self, path: str, fields: dict[str, str]) -> tuple[Answer, float]:
        """Return a response, and the delay the server asks for before a retry."""
        import urllib3
        from urllib3.exceptions import HTTPError

        url = self.access.url
        limit = urllib3.Timeout(connect=min(_CONNECT, self.access.timeout), read=self.access.timeout)
        end = time.monotonic() + self.access.timeout
        try:
            response = self._pool.request(
                "POST", url + path, fields=fields, headers=self._headers, encode_multipart=False, timeout=limit,
                retries=False, redirect=False, preload_content=False,
            )  # fmt: skip
            with contextlib.closing(response):
                if 300 <= response.status < 400:
                    raise HttpError(self._redirected(response, path))
                body = b"".join(self._unpacked(response, end))
            wait = response.headers.get("Retry-After", "").strip()  # a date is not waited for
            return Answer(response.status, body), float(wait) if _DIGITS.fullmatch(wait) else 0.0
        except HTTPError as error:
            raise self._explained(error) from error

    def _redirected(self, response: BaseHTTPResponse, path: str) -> str:
        target = urlsplit(response.headers.get("Location", ""))
        there = f"{target.scheme}://{target.netloc}" * bool(target.netloc) + target.path.removesuffix(path)
        login = " (a login page?)" if not target.path.endswith(path) else ""
        return f"{self.access.url} redirects to {there[:200] or 'nowhere'}{login}; give the URL that answers itself"

    def _unpacked(self, response: BaseHTTPResponse, end: float) -> Iterator[bytes]:
        """Yield the decompressed body. Raises SlowError if it is too large or late."""
        coding = response.headers.get("Content-Encoding", "identity").lower()
        if coding not in ("gzip", "identity"):
            raise HttpError(f"{self.access.url} answers in encoding {coding}, but kcheck asked for gzip")
        unpacker = zlib.decompressobj(zlib.MAX_WBITS | 16) if coding == "gzip" else None
        left = MOST
        while part := response.read(_CHUNK, decode_content=False):
            try:
                whole = part if unpacker is None else unpacker.decompress(part, left + 1)
            except zlib.error as error:
                raise _BrokenError(f"{self.access.url} sent a damaged answer ({error}); try again") from error
            left -= len(whole)
            if left < 0:
                raise SlowError(f"an answer of {self.access.url} exceeds {MOST >> 20} MiB; narrow it with --matcher")
            if time.monotonic() > end:
                raise SlowError(self._late())
            yield whole
        if unpacker is not None and not unpacker.eof:
            raise _BrokenError(f"{self.access.url} sent an incomplete answer; try again")

    def _late(self) -> str:
        return (
            f"{self.access.url} took longer than {self.access.timeout:g} s for an answer;"
            " raise --request-timeout, or narrow the question with --matcher"
        )

    def _explained(self, error: Exception) -> HttpError:
        from urllib3 import exceptions as of

        url, host = self.access.url, urlsplit(self.access.url).hostname
        if isinstance(error, of.SSLError):
            why = self.without_secrets(str(error).rpartition("] ")[2].partition(" (_ssl")[0] or str(error))
            if "CERTIFICATE_VERIFY_FAILED" in str(error):
                return HttpError(f"{url}: TLS certificate refused: {why}; give its authority with --ca FILE")
            return HttpError(f"{url}: no TLS connection: {why}; check that it is https and that the port is right")
        if isinstance(error, of.NameResolutionError):
            return HttpError(f"{url}: host {host} not found; check the URL, or the VPN")
        if isinstance(error, of.NewConnectionError):
            return HttpError(f"{url} refuses the connection ({_system(error)}); is kubectl port-forward still running?")
        if isinstance(error, of.ConnectTimeoutError):
            return _BrokenError(f"{url} does not answer; check the address, the VPN and the firewall")
        if isinstance(error, of.ReadTimeoutError):
            return SlowError(self._late())
        if isinstance(error, (of.ProtocolError, of.IncompleteRead)):
            return _BrokenError(f"{url} closed the connection before the end of its answer; try again")
        return HttpError(f"{url}: {self.without_secrets(str(error))[:200]}")


def _context(access: Access) -> ssl.SSLContext:
    import ssl

    context = ssl.create_default_context()
    try:
        if access.ca:
            context.load_verify_locations(access.ca)
    except OSError as error:  # ssl.SSLError is one
        raise HttpError(f"--ca {access.ca}: no certificates in it") from error
    return context


class _BrokenError(HttpError):
    """A broken connection; a retry may succeed."""


def advice(access: Access, status: int) -> str:
    """Return advice on a refusal by its status; empty without any."""
    host = urlsplit(access.url).hostname or ""
    service = next((text for end, text in metrics.table()["services"].items() if host.endswith(end)), "")
    sent = any(name.lower() == "authorization" for name, _ in access.headers)
    if status in (401, 403) and service:
        return service
    if status == 401:
        return "it refuses these credentials" if sent else "give --token-file or --basic-auth-file"
    if status == 403:
        return "these credentials may not query it" if sent else "give --token-file, or the --header that it needs"
    if status == 404:
        return service or "give the URL before /api/v1; that of Mimir ends in /prometheus"
    return "try again later" if status in _BUSY else ""


def _system(error: Exception) -> str:
    cause = error.__cause__ or error.__context__
    return (cause.strerror or str(cause)) if isinstance(cause, OSError) else "refused"
