"""Image references as a registry reads them."""

from __future__ import annotations

import re

from msgspec import Struct

from kcheck.text import placeholders
from kcheck.text.regex import regex

DOCKER_HUB = "docker.io"
HUB_HOSTS = frozenset(
    {DOCKER_HUB, "index.docker.io", "registry-1.docker.io", "registry.hub.docker.com", "hub.docker.com"}
)
_CAPITALS = regex(r"^[A-Z][A-Z0-9_]*$|(^|/)IMG_PLACEHOLDER")
"""Words that stand for an image until somebody replaces them."""
_NAME = regex(r"[a-z0-9]+(?:(?:\.|_{1,2}|-+)[a-z0-9]+)*(?:/[a-z0-9]+(?:(?:\.|_{1,2}|-+)[a-z0-9]+)*)*$")


class Reference(Struct, frozen=True):
    """A parsed image reference; `registry` is docker.io for Docker Hub."""

    registry: str
    repository: str
    tag: str
    digest: str

    @property
    def rest(self) -> str:
        """Everything after the registry, for use with a mirror."""
        tag = f":{self.tag}" if self.tag else ""
        return f"{self.repository}{tag}" + (f"@{self.digest}" if self.digest else "")


def parse(text: str) -> Reference | None:
    """Parse an image reference as github.com/distribution/reference does.

    Without a slash it is docker.io/library/NAME. The first part is a registry only if it has a dot, a colon or upper
    case, or is localhost; else it is docker.io/USER/NAME. Several hosts are Docker Hub.
    """
    text = placeholders.with_defaults(text)
    host, path, _ = text.partition("/")
    hosted = path and re.search(r"\.[a-z]{2,}(:\d+)?$", host)
    if not hosted and (placeholders.first(text) or _CAPITALS.search(text)):
        return None  # `<name>.azurecr.io/app` is not on Docker Hub, whatever the name
    name, _, digest = text.strip().partition("@")
    first, slash, rest = name.partition("/")
    if slash and (first == "localhost" or "." in first or ":" in first or first != first.lower()):
        registry, path = first, rest
    else:
        registry, path = DOCKER_HUB, name
    path, _, tag = path.partition(":")
    if registry in HUB_HOSTS:
        registry = DOCKER_HUB
        if "/" not in path:
            path = f"library/{path}"
    if registry == DOCKER_HUB and not _NAME.match(path):
        return None
    return Reference(registry, path, tag, digest)


class Ending(Struct, frozen=True):
    """Tag and digest, which identify the build of an image."""

    tag: str
    digest: str


def ending(text: str) -> Ending | None:
    """Parse tag and digest of an image; None if they may be placeholders."""
    name, _, digest = placeholders.masked(placeholders.with_defaults(text)).strip().partition("@")
    last, _, tag = name.rpartition("/")[2].partition(":")
    certain = _PLAIN.fullmatch(digest) and _PLAIN.fullmatch(tag)
    if not certain or not (tag or digest or _PLAIN.fullmatch(last)) or _CAPITALS.search(text):
        return None
    return Ending(tag, digest)


_PLAIN = regex(r"[\w.:-]*")
