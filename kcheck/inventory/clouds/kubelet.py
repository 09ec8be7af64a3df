"""What the start-up of a node configures its kubelet to keep from pods."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from kcheck.model import NOTHING, Kubelet
from kcheck.text.regex import regex
from kcheck.text.values import Known, Origin, Unknown, Unset

if TYPE_CHECKING:
    from kcheck.config.numbers.fields import Fields
    from kcheck.text.values import Value

_FILES = ("kubelet-config", "kubelet/config", "kubelet.conf")
"""What a text has that gives a kubelet a file, which may say anything."""
_NAMES = (("kube-reserved", "kubeReserved"), ("system-reserved", "systemReserved"), ("eviction-hard", "evictionHard"))
"""The kubelet's flags, and the keys of its configuration."""
_BLOCK = r"[\"']?%s[\"']?:\s*(\{[^}]*\}|(?:\n[ \t]+[\"']?[\w.-]+[\"']?:[ \t]*[\"']?[\w.%%]+[\"']?[ \t]*(?=\n|$))+)"
"""A key of YAML or JSON with a map of texts."""
_PAIR = regex(r"[\"']?([\w.-]+)[\"']?\s*[=:<]\s*[\"']?([\w.%]+)")


def unknown(why: str) -> Kubelet:
    """A kubelet of which nobody knows the configuration."""
    return Kubelet(Unknown(why), Unknown(why), Unknown(why))


def written(usual: Kubelet, fields: Fields) -> Kubelet:
    """What a resource says of its kubelets, else the usual."""
    found = (fields.mapping(name) for name in ("kube_reserved", "system_reserved", "eviction_hard"))
    own = (usual.kube_reserved, usual.system_reserved, usual.eviction_hard)
    return Kubelet(*(other if isinstance(one, Unset) else one for one, other in zip(found, own, strict=True)))


def in_text(text: Value[str]) -> Kubelet:
    """What a start-up script, or a part of its configuration, says of kubelets."""
    if isinstance(text, Unset):
        return Kubelet()
    if isinstance(text, Unknown):
        return unknown(text.reason)
    if any(file in text.value for file in _FILES):
        return unknown("the start-up of its nodes configures their kubelets")
    return Kubelet(*(_found(text.value, flag, key, text.origin) for flag, key in _NAMES))


def _found(text: str, flag: str, key: str, origin: Origin) -> Value[dict[str, str]]:
    """What a flag or a key has in a text; unknown where it is written otherwise."""
    if flag not in text and key not in text:
        return NOTHING
    match = re.search(rf"--{flag}[=\s]+[\"']?([^\s\"']+)", text) or re.search(_BLOCK % key, text)
    if match is None:
        return Unknown(f"{flag} of its nodes is not known", origin)
    return Known(dict(_PAIR.findall(match[1])), origin)
