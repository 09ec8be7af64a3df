"""Terraform machines that a script turns into nodes, and their clusters."""

from __future__ import annotations

import base64
import binascii
from typing import TYPE_CHECKING

from kcheck.text.findings import Skipped
from kcheck.text.values import Known, Origin, Piece, pieces_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kcheck.kubernetes.objects import Object
    from kcheck.terraform.module import Module
    from kcheck.terraform.resource import Instance
    from kcheck.text.values import Datum

_SCRIPTS = {
    "aws_instance": ("user_data", "user_data_base64"),
    "aws_launch_template": ("user_data",),
    "aws_launch_configuration": ("user_data", "user_data_base64"),
    "azurerm_linux_virtual_machine": ("custom_data", "user_data"),
    "azurerm_virtual_machine": ("custom_data",),
    "azurerm_linux_virtual_machine_scale_set": ("custom_data", "user_data"),
    "google_compute_instance": ("metadata_startup_script",),
    "google_compute_instance_template": ("metadata_startup_script",),
    "alicloud_instance": ("user_data",),
    "openstack_compute_instance_v2": ("user_data",),
    "hcloud_server": ("user_data",),
    "digitalocean_droplet": ("user_data",),
    "libvirt_cloudinit_disk": ("user_data",),
    "proxmox_virtual_environment_file": (),
    "local_file": ("content",),
    "local_sensitive_file": ("content",),
}
"""Resources and the arguments that hold scripts, or files for them."""
_METADATA = ("startup-script", "user-data")
KINDS = frozenset(_SCRIPTS)
_CLUSTER = "ClusterConfiguration"
"""The object of kubeadm that says what its cluster is."""


def read(root: Module, kinds: set[str]) -> tuple[list[Object], list[Skipped]]:
    """Objects of kubeadm in the scripts of a root module, and nodes without their cluster."""
    from kcheck.kubernetes import boot_scripts  # which most root modules do not need

    found: dict[tuple[str, int, str], Object] = {}
    skipped: dict[str, Skipped] = {}
    for kind in sorted(kinds & KINDS):
        for instance in root.instances(kind):
            for datum in _scripts(instance, _SCRIPTS[kind]):
                pieces = _pieces(datum, instance)
                objects = boot_scripts.objects(pieces) if pieces else []
                found |= {(item.span.source.path, item.span.start, item.kind): item for item in objects}
                tool = boot_scripts.tool("".join(piece.text for piece in pieces))
                if tool and not any(item.kind == _CLUSTER for item in objects):
                    address = instance.address.partition("[")[0]
                    why = f"{address} starts nodes with {tool}; their cluster is not read"
                    skipped.setdefault(address, Skipped(instance.span.source.path, why, instance.span.begin.line))
    configured = any(item.kind == _CLUSTER for item in found.values())
    return list(found.values()), [] if configured else list(skipped.values())


def _scripts(instance: Instance, arguments: tuple[str, ...]) -> Iterator[Datum]:
    for name in arguments:
        datum = instance.entry(name)
        if datum is not None:
            yield datum
    metadata = instance.entry("metadata") if "metadata_startup_script" in arguments else None
    if isinstance(metadata, Known) and isinstance(metadata.value, dict):
        yield from (metadata.value[key] for key in _METADATA if key in metadata.value)


def _pieces(datum: Datum, instance: Instance) -> tuple[Piece, ...]:
    """The pieces of a script; pieces of an encoded script have no places."""
    pieces = pieces_of(datum)
    if pieces or not isinstance(datum, Known) or not isinstance(datum.value, str):
        return pieces
    place = datum.origin.written if datum.origin.spans else instance.span
    text = str(datum.value)
    decoded = _decoded(text)
    if decoded is None:
        return (Piece(text, place),)
    return (Piece(decoded, place, Known(decoded, Origin((place,)))),)


def _decoded(text: str) -> str | None:
    """The decoded text; None if it is not base64."""
    if not text or any(character.isspace() for character in text[:80]):
        return None
    try:
        return base64.b64decode(text, validate=True).decode()
    except (binascii.Error, ValueError):
        return None
