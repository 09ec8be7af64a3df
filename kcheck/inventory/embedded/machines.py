"""Terraform machines whose scripts start nodes, and their clusters."""

from __future__ import annotations

import base64
import binascii
from typing import TYPE_CHECKING, NamedTuple

from kcheck.config.numbers import names
from kcheck.inventory.clouds import registry
from kcheck.inventory.clouds.reader import blocks_below
from kcheck.text.partly_known import address_of, listed
from kcheck.text.text import Skipped
from kcheck.text.values import Datum, Known, Origin, Piece, Record, pieces_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from kcheck.kubernetes.boot_scripts import Start
    from kcheck.kubernetes.objects import Object
    from kcheck.terraform.module import Module
    from kcheck.terraform.resource import Instance


TALOS = "talos_machine_configuration"
MAKERS = {
    "talos_machine_secrets", "talos_machine_configuration_apply",
    "rke_cluster", "rancher2_cluster", "rancher2_cluster_v2",
}  # fmt: skip
"""Resources that make clusters, or stand beside the data source that makes a configuration of Talos."""


class Booted(NamedTuple):
    """Objects and start-up scripts of a root module's machines."""

    objects: list[Object]
    skipped: list[Skipped]
    starts: dict[str, Start]


def read(root: Module, kinds: set[str]) -> Booted:
    """Read the objects in the scripts of a root module."""
    scripts = names.scripts()
    own = sorted(kinds & scripts.keys())
    if not own:
        return Booted([], [], {})
    from kcheck.kubernetes import boot_scripts  # which most root modules do not need

    found: dict[tuple[str, int, str], Object] = {}
    skipped: dict[str, Skipped] = {}
    starts: dict[str, Start] = {}
    talos = dict(root.sources(TALOS)) if kinds & MAKERS else {}
    for kind in own:
        for instance in root.instances(kind):
            address = stem(instance.address)
            for datum in _scripts(instance, scripts[kind]):
                pieces = pieces_in(datum, instance)
                objects = boot_scripts.objects(pieces) if pieces else []
                start = boot_scripts.start(pieces, objects) or _of_talos(datum, talos)
                if start is not None and start.server and start.tool in boot_scripts.SERVERS:
                    objects += boot_scripts.server(pieces, start.tool)
                found |= {(item.span.source.path, item.span.start, item.kind): item for item in objects}
                if start is None:
                    continue
                starts.setdefault(address, start)
                if start.tool in boot_scripts.TOOLS and not any(item.kind in boot_scripts.CLUSTERS for item in objects):
                    why = f"{address} starts nodes with {boot_scripts.TOOLS[start.tool]}; their cluster is not read"
                    place, what = instance.span, registry.UNJUDGED
                    skipped.setdefault(address, Skipped(place.source.path, why, place.begin.line, what=what))
    configured = any(item.kind in boot_scripts.CLUSTERS for item in found.values())
    return Booted(list(found.values()), [] if configured else list(skipped.values()), starts)


def stem(address: str) -> str:
    """Return the address of a resource without its instance."""
    at = address.find("[", address[:-1].rfind("]") + 1) if address.endswith("]") else -1
    return address[:at] if at >= 0 else address


def _of_talos(datum: Datum, sources: Mapping[str, Instance]) -> Start | None:
    """Return the start-up of a machine whose user data is a Talos configuration."""
    source = sources.get(address_of(datum))
    if source is None:
        return None
    from kcheck.kubernetes.boot_scripts import Start

    kind = source.entry("machine_type")
    return Start("talos", server=isinstance(kind, Known) and kind.value == "controlplane")


def _scripts(instance: Instance, arguments: Iterable[str]) -> Iterator[Datum]:
    """Yield the scripts of a machine, in arguments and provisioners."""
    for name, _, key in (argument.partition(".") for argument in arguments):
        datum = instance.entry(name)
        if key:
            datum = datum.value.get(key) if isinstance(datum, Known) and isinstance(datum.value, dict) else None
        if datum is not None:
            yield datum
    commands = (one.entry("inline") for one in blocks_below(instance, "provisioner"))
    yield from (datum for datum in commands if datum is not None)


def pieces_in(datum: Datum, instance: Record) -> tuple[Piece, ...]:
    """Return the pieces of a script; those of an encoded one have no spans."""
    pieces = pieces_of(datum)
    if not pieces and isinstance(datum, Known) and isinstance(datum.value, tuple):
        end = Piece("\n", instance.span)
        return tuple(piece for one in listed(datum) for piece in (*pieces_in(one, instance), end))
    if pieces or not isinstance(datum, Known) or not isinstance(datum.value, str):
        return pieces
    place = datum.origin.written if datum.origin.spans else instance.span
    text = str(datum.value)
    plain = decoded(text)
    return (Piece(text, place) if plain is None else Piece(plain, place, Known(plain, Origin((place,)))),)


def decoded(text: str) -> str | None:
    """Decode base64; None for other text."""
    if not text or any(character.isspace() for character in text[:80]):
        return None
    try:
        return base64.b64decode(text, validate=True).decode()
    except (binascii.Error, ValueError):
        return None
