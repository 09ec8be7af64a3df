"""Rules and profiles, from the wheel or from the top of a checkout.

A wheel also has them as MessagePack (`scripts/compile_data.py`), which loads 40 times as fast as YAML: 20 ms less for
one manifest, 40 ms for a cluster. A checkout has only the YAML, so that edits count at once.
"""

from __future__ import annotations

import os
import zlib
from functools import cache

TYPE_CHECKING = False  # the typing module takes half as long to import as Python to start
if TYPE_CHECKING:
    from typing import Any

    from yaml import Node, SafeLoader

PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_WHEEL = os.path.join(PACKAGE, "_data")
ROOT = _WHEEL if os.path.isdir(_WHEEL) else os.path.dirname(PACKAGE)
RULES = os.path.join(ROOT, "rules")
PROFILES = os.path.join(ROOT, "profiles")
EXAMPLES = os.path.join(ROOT, "examples")
"""Folder of example training clusters, one of each cloud."""
COMPILED = os.path.join(_WHEEL, "compiled")


def load(path: str, document: int = 0) -> Any:
    """Load one document of a bundled YAML or JSON file as plain data."""
    documents = compiled(path[len(ROOT) + 1 :]) if path.startswith(ROOT) else None
    if documents is not None:
        return documents[document] if document < len(documents) else {}
    with open(path, "rb") as file:
        content = file.read()
    if path.endswith(".json"):
        from msgspec import json

        return json.decode(content)
    parts = content.split(b"\n---\n")
    parser = loader()(parts[document] if document < len(parts) else b"{}")
    node = parser.get_single_node()
    return _plain(node, parser) if node is not None else None


def _plain(node: Node, parser: SafeLoader) -> object:
    """Convert a node to plain data, in half the time that PyYAML takes."""
    if isinstance(node.value, str):
        return node.value if node.tag == "tag:yaml.org,2002:str" else parser.construct_object(node)
    if node.tag == "tag:yaml.org,2002:seq":
        return [_plain(item, parser) for item in node.value]
    parser.flatten_mapping(node)  # type: ignore[arg-type] # a map is left
    return {_plain(key, parser): _plain(value, parser) for key, value in node.value}


@cache
def loader() -> type[SafeLoader]:
    """Return PyYAML's safe loader, in C if available, without dates."""
    import yaml

    base = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    resolvers = {
        first: [(tag, pattern) for tag, pattern in found if not tag.endswith(":timestamp")]
        for first, found in base.yaml_implicit_resolvers.items()
    }
    return type("Loader", (base,), {"yaml_implicit_resolvers": resolvers})


def compiled(name: str, kind: object = None) -> Any:
    """Load compiled data of the wheel by name; None in a checkout."""
    try:
        with open(os.path.join(COMPILED, f"{name}.msgpack"), "rb") as file:
            return unpacked(file.read(), kind)
    except OSError:
        return None


def packed(data: object) -> bytes:
    """Encode plain data for a file in the wheel: a checksum and MessagePack."""
    from msgspec import msgpack

    content = msgpack.encode(data)
    return _checksum(content) + content


def unpacked(file: bytes, kind: object = None) -> Any:
    """Decode a file in the wheel; None if it is damaged."""
    from msgspec import msgpack

    decode = msgpack.Decoder(kind).decode if kind else msgpack.decode
    return decode(file[4:]) if file[:4] == _checksum(file[4:]) else None


def _checksum(content: bytes) -> bytes:
    return zlib.crc32(content).to_bytes(4, "big")
