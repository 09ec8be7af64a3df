"""Options of a Prometheus, and the credentials that they or the environment give."""

import os
from typing import NamedTuple

from kcheck.addons.usage.http import Access, checked_header, checked_url
from kcheck.text.errors import Error
from kcheck.text.files import system

TOKEN, BASIC_AUTH = "KCHECK_PROMETHEUS_TOKEN", "KCHECK_PROMETHEUS_BASIC_AUTH"


class OptionError(Error):
    """Reason why options of a Prometheus cannot be used."""


class Network(NamedTuple):
    """Options of a Prometheus, as given."""

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


def is_here(url: str) -> bool:
    """Whether a server is on this machine."""
    return url.split("/")[2].rsplit(":", 1)[0] in ("localhost", "127.0.0.1", "[::1]")


def access_of(network: Network) -> Access:
    """Build the connection settings of the options.

    Raises OptionError if they contradict each other, or a file of theirs cannot be read.
    """
    headers = dict(map(checked_header, network.headers))
    own = [name for name in headers if name.lower() == "authorization"]
    token = _secret(network.token_file, "--token-file", TOKEN)
    user = _secret(network.basic_auth_file, "--basic-auth-file", BASIC_AUTH)
    if len([one for one in (token, user, own) if one]) > 1:
        raise OptionError("give one of --token-file, --basic-auth-file and --header 'Authorization: ...'")
    if token:
        headers["Authorization"] = f"Bearer {token}"
    if user:
        import base64

        if ":" not in user:
            raise OptionError("--basic-auth-file: expected user:password")
        headers["Authorization"] = f"Basic {base64.b64encode(user.encode()).decode()}"
    if network.ca is not None and not os.path.isfile(network.ca):
        raise OptionError(f"--ca {network.ca}: no such file")
    url = checked_url(network.prometheus or "")
    return Access(url, tuple(headers.items()), network.ca or "", network.request_timeout)


def _secret(file: str | None, option: str, variable: str) -> str:
    """Read a secret from a file, else from the environment; empty without one."""
    if file is None:
        text = os.environ.get(variable) or ""
        option = variable
    else:
        try:
            text = system.head(file, 1 << 16).decode()
        except (OSError, UnicodeDecodeError) as error:
            raise OptionError(f"{option} {file}: {getattr(error, 'strerror', '') or 'no text'}") from error
    text = text.strip()
    if file is not None and not text:
        raise OptionError(f"{option} {file}: the file is empty")
    if not text.isprintable() or not text.isascii():
        raise OptionError(f"{option}: expected one line of ASCII")
    return text
