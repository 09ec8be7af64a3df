"""Options of commands that measure: a recording in a file, or a Prometheus and how it is asked.

Help imports this: what only a run needs is imported in the functions.
"""

from __future__ import annotations

import os
import time
from functools import wraps
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from kcheck.addons.usage.http import Access, checked_header, checked_url
from kcheck.addons.usage.prometheus import Prometheus
from kcheck.addons.usage.recorder import Question, Recorder
from kcheck.commands import options, printing
from kcheck.scale.usage import recording
from kcheck.text.files import system
from kcheck.text.regex import regex

if TYPE_CHECKING:
    from collections.abc import Callable

    from kcheck.scale.usage.recording import Recording
TOKEN, BASIC_AUTH = "KCHECK_PROMETHEUS_TOKEN", "KCHECK_PROMETHEUS_BASIC_AUTH"
_DURATION = regex(r"(\d{1,6})(s|m|h|d|w)")
_EPOCH = regex(r"\d{9,10}")
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}
_LONGEST = 30 * 86_400
_WINDOW = "7d"
_LATE = 180
"""Seconds until what was scraped has arrived, at a managed service too."""

_STEPS = range(10, 3601)
_MATCHER = regex(r'\s*[a-zA-Z_][a-zA-Z0-9_]*\s*(=~|!~|!=|=)\s*"([^"\\\n]|\\.)*"\s*')


class Network(NamedTuple):
    """The options of a Prometheus, as they were given."""

    prometheus: str | None
    window: int | None
    step: int
    end: int | None
    matchers: tuple[str, ...]
    ca: str | None
    token_file: str | None
    basic_auth_file: str | None
    headers: tuple[str, ...]
    request_timeout: float


def _seconds(_context: click.Context, _parameter: click.Parameter, text: str | None) -> int | None:
    return None if text is None else _duration(text)


def _duration(text: str) -> int:
    match = _DURATION.fullmatch(text.strip())
    if not match:
        raise click.BadParameter(f"`{text}` is not a duration such as 7d, 12h or 30s")
    return int(match[1]) * _UNITS[match[2]]


def _moment(_context: click.Context, _parameter: click.Parameter, text: str | None) -> int | None:
    import datetime

    if text is None:
        return None
    text = text.strip()
    try:
        moment = datetime.datetime.fromisoformat(text)
        found = int((moment if moment.tzinfo else moment.replace(tzinfo=datetime.UTC)).timestamp())
    except (ValueError, OverflowError):
        found = int(text) if _EPOCH.fullmatch(text) else 0
    if not 0 < found < 1 << 33:
        raise click.BadParameter(f"`{text}` is not a time such as 2026-05-31 or 2026-05-31T12:00:00Z")
    return found


def _selecting(_context: click.Context, _parameter: click.Parameter, texts: tuple[str, ...]) -> tuple[str, ...]:
    for text in texts:
        if not _MATCHER.fullmatch(text):
            raise click.BadParameter(f'`{text}` is not a matcher such as cluster="prod"')
    return tuple(text.strip() for text in texts)


_OPTIONS = (
    click.option("--prometheus", metavar="URL", help="Measure by this Prometheus, Thanos, Mimir or managed service."),
    click.option(
        "--window", callback=_seconds, metavar="TIME",
        help="How far to look back; up to 30d.  [default: that of the settings, else 7d]",
    ),
    click.option(
        "--step", default="1m", show_default=True, callback=_seconds, metavar="TIME", help="Time between two samples."
    ),
    click.option("--end", callback=_moment, metavar="TIME", help="Look back from this time, UTC.  [default: 3m ago]"),
    click.option(
        "--matcher", "matchers", multiple=True, callback=_selecting, metavar="MATCHER",
        help="Only series with this label, such as cluster=\"prod\"; may be repeated.",
    ),
    click.option("--ca", metavar="FILE", help="Certificate authority of the server, besides those of the system."),
    click.option("--token-file", metavar="FILE", help=f"File with a bearer token.  [default: {TOKEN}]"),
    click.option("--basic-auth-file", metavar="FILE", help=f"File with user:password.  [default: {BASIC_AUTH}]"),
    click.option(
        "--header", "headers", multiple=True, metavar="'NAME: VALUE'",
        help="Send this header, such as 'X-Scope-OrgID: team'; may be repeated.",
    ),
    click.option(
        "--request-timeout", type=click.FloatRange(0.1, 3600), default=60, show_default=True, metavar="SECONDS",
        help="Longest time for one answer.",
    ),
)  # fmt: skip


def with_network(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of a Prometheus; it takes `network` in their place."""

    @wraps(command)
    def wrapper(**given: Any) -> None:
        network = Network(**{name: given.pop(name) for name in Network._fields})
        command(network=network, **given)

    for option in reversed(_OPTIONS):
        wrapper = option(wrapper)
    return wrapper


def recording_of(file: str | None, network: Network, window: str) -> Recording:
    """The recording in a file, or a new one of a Prometheus; `window` is that of the settings, or empty.

    Raises:
        click.UsageError: neither is given, or both.
        Failure: it cannot be read, or there is no answer.
    """
    if (file is None) == (network.prometheus is None):
        raise click.UsageError("give --from FILE or --prometheus URL; kcheck usage record makes a FILE")
    try:
        return recording.read(file) if file is not None else _recorded(network, window)
    except recording.RecordingError as error:
        raise options.Failure(str(error)) from error


def _recorded(network: Network, window: str) -> Recording:
    with printing.show_progress() as show:
        recorder = Recorder.new(client(network), question(network, window))
        recorder.run(show, lambda: None)
    return recorder.recording


def question(network: Network, window: str) -> Question:
    """What the options ask for; `window` is that of the settings, or empty.

    Raises:
        click.UsageError: it cannot be measured.
    """
    step = network.step
    length = _duration(window or _WINDOW) if network.window is None else network.window
    if step not in _STEPS:
        raise click.UsageError("--step: expected 10s to 1h")
    if not 2 * step <= length <= _LONGEST:
        raise click.UsageError("--window: expected two steps at least, and 30d at most")
    now = int(time.time())
    end = min(network.end or now - _LATE, now) // step * step
    return Question(length // step * step, step, end, network.matchers)


def client(network: Network) -> Prometheus:
    """A client for the Prometheus of the options; their secrets are sent to it, and shown nowhere.

    Raises:
        click.UsageError: options contradict each other.
        RecordingError: an option makes no sense.
    """
    access = _access(network)
    if access.url.startswith("http:") and access.headers and not _is_here(access.url):
        printing.note("kcheck: credentials go over http, which everybody on the way can read; use https")
    return Prometheus(access)


def _is_here(url: str) -> bool:
    return url.split("/")[2].rsplit(":", 1)[0] in ("localhost", "127.0.0.1", "[::1]")


def _access(network: Network) -> Access:
    headers = dict(map(checked_header, network.headers))
    own = [name for name in headers if name.lower() == "authorization"]
    token = _secret(network.token_file, "--token-file", TOKEN)
    user = _secret(network.basic_auth_file, "--basic-auth-file", BASIC_AUTH)
    if len([one for one in (token, user, own) if one]) > 1:
        raise click.UsageError("give one of --token-file, --basic-auth-file and --header 'Authorization: ...'")
    if token:
        headers["Authorization"] = f"Bearer {token}"
    if user:
        import base64

        if ":" not in user:
            raise click.UsageError("--basic-auth-file: expected user:password")
        headers["Authorization"] = f"Basic {base64.b64encode(user.encode()).decode()}"
    if network.ca is not None and not os.path.isfile(network.ca):
        raise click.UsageError(f"--ca {network.ca}: no such file")
    url = checked_url(network.prometheus or "")
    return Access(url, tuple(headers.items()), network.ca or "", network.request_timeout)


def _secret(file: str | None, option: str, variable: str) -> str:
    """A secret of a file, else of a variable; empty if there is none."""
    if file is None:
        text = os.environ.get(variable) or ""
        option = variable
    else:
        try:
            text = system.head(file, 1 << 16).decode()
        except (OSError, UnicodeDecodeError) as error:
            raise click.UsageError(f"{option} {file}: {getattr(error, 'strerror', '') or 'no text'}") from error
    text = text.strip()
    if file is not None and not text:
        raise click.UsageError(f"{option} {file}: the file is empty")
    if not text.isprintable() or not text.isascii():
        raise click.UsageError(f"{option}: expected one line of ASCII")
    return text
