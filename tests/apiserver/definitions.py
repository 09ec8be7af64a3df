"""Find CRDs in a folder of YAML files, and install those that a server needs."""

from __future__ import annotations

import json
import re
import time
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import yaml

from kcheck.text import bundled

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from tests.apiserver.client import Client

VARIABLE = "KCHECK_CRDS"
ESTABLISHED_WITHIN = 60
_HEAD = re.compile(r"^  group: *(?P<group>\S+)$.*?^    kind: *(?P<kind>\S+)$", re.MULTILINE | re.DOTALL)
_COLLECTION = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


@dataclass(frozen=True)
class Definitions:
    """The CRDs of a folder, or none if there is no folder."""

    folder: Path | None

    @cached_property
    def _texts(self) -> dict[tuple[str, str], list[str]]:
        """Documents of the CRDs by group and kind; several where projects ship different versions of a kind."""
        found: dict[tuple[str, str], list[str]] = {}
        for path in sorted(self.folder.glob("**/*.y*ml")) if self.folder else ():
            for text in re.split(r"^---.*$", path.read_text(), flags=re.MULTILINE):
                head = _HEAD.search(text) if "kind: CustomResourceDefinition" in text else None
                if head:
                    found.setdefault((head["group"], head["kind"]), []).append(text)
        return found

    def has(self, api: str, kind: str) -> bool:
        """Return whether a CRD defines a kind, in any version."""
        return (api.partition("/")[0], kind) in self._texts

    def install(self, client: Client, kinds: Iterable[tuple[str, str]]) -> None:
        """Install the CRDs of some kinds, all at once because each takes seconds."""
        left = set()
        for key in sorted({(api.partition("/")[0], kind) for api, kind in kinds} & self._texts.keys()):
            name, body = _definition(self._texts[key])
            made = client.ask("POST", _COLLECTION, body, **{"Content-Type": "application/yaml"})
            assert made.taken, made.message
            left.add(name)
        last = time.monotonic() + ESTABLISHED_WITHIN
        while left:
            left = {name for name in left if not _established(client.ask("GET", f"{_COLLECTION}/{name}").body)}
            if left and time.monotonic() > last:
                raise TimeoutError(f"the server does not establish {', '.join(sorted(left))}")
            time.sleep(0.05)


def _established(definition: dict[str, Any]) -> bool:
    conditions = definition.get("status", {}).get("conditions") or []
    return any(one["type"] == "Established" and one["status"] == "True" for one in conditions)


def _definition(texts: list[str]) -> tuple[str, bytes]:
    """Return name and bytes of a CRD; several documents become one with all of their versions."""
    if len(texts) == 1:
        name = re.search(r"^  name: *(\S+)$", texts[0], re.MULTILINE)
        assert name
        return name[1], texts[0].encode()
    first, *others = yaml.load_all("\n---\n".join(texts), bundled.loader())
    versions: list[dict[str, Any]] = first["spec"]["versions"]
    for other in others:
        there = {one["name"] for one in versions}
        versions += [{**one, "storage": False} for one in other["spec"]["versions"] if one["name"] not in there]
    return first["metadata"]["name"], json.dumps(first).encode()
