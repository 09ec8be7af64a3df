"""Resources that a node's start-up script reserves through its kubelet."""

import re

from kcheck.config.numbers.fields import Fields
from kcheck.model import NOTHING, Kubelet
from kcheck.text.regex import regex
from kcheck.text.values import Known, Origin, Unknown, Unset, Value, first_set, known

_FILES = ("kubelet-config", "kubelet/config", "kubelet.conf")
"""Marks of a text that gives a kubelet a configuration file with any content."""
_NAMES = (("kube-reserved", "kubeReserved"), ("system-reserved", "systemReserved"), ("eviction-hard", "evictionHard"))
"""Flags of the kubelet, and keys of its configuration."""
_BLOCK = r"[\"']?%s[\"']?:\s*(\{[^}]*\}|(?:\n[ \t]+[\"']?[\w.-]+[\"']?:[ \t]*[\"']?[\w.%%]+[\"']?[ \t]*(?=\n|$))+)"
"""Pattern of a YAML or JSON key with a map of texts."""
_PAIR = regex(r"[\"']?([\w.-]+)[\"']?\s*[=:<]\s*[\"']?([\w.%]+)")


def unknown(why: str) -> Kubelet:
    """Build a kubelet with an unknown configuration."""
    return Kubelet(Unknown(why), Unknown(why), Unknown(why))


def written(usual: Kubelet, fields: Fields) -> Kubelet:
    """Return the kubelet settings of a resource, else the usual ones."""
    return Kubelet(*(first_set(fields.mapping(name), getattr(usual, name)) for name in usual.__struct_fields__))


def in_text(text: Value[str]) -> Kubelet:
    """Read the kubelet settings in a start-up script or a part of its configuration."""
    if isinstance(text, Unset):
        return Kubelet()
    if isinstance(text, Unknown):
        return unknown(text.reason)
    if any(file in text.value for file in _FILES):
        return unknown("the start-up of its nodes configures their kubelets")
    return Kubelet(*(_found(text.value, flag, key, text.origin) for flag, key in _NAMES))


_REGISTERED = regex(r"--(node-labels|register-with-taints)[=\s]+[\"']?([^\s\"'\]}]+)")
_TABLE = regex(
    r"\[settings\.kubernetes\.(node-labels|node-taints)\][ \t]*\n((?:[ \t]*[\w./\"-]+[ \t]*=[^\n]*(?:\n|$))*)"
)
"""Pattern of Bottlerocket's labels or taints."""
_MENTIONED = regex(r"\.\w*tpl\b|node-?[lL]abels|register-?[wW]ith-?[tT]aints|node-taints")


def registered(text: Value[str], why: str) -> tuple[Value[dict[str, str]], Value[tuple[str, ...]]]:
    """Read the labels and taints that a start-up script gives its node."""
    flags, tables = (one.findall(known(text) or "") for one in (_REGISTERED, _TABLE))
    items = [(name, one) for name, every in flags for one in every.split(",")]
    items += [(name, one.replace(" ", "").replace('"', "")) for name, lines in tables for one in lines.splitlines()]
    written = "".join(one for _, one in items)
    if not isinstance(text, Known) or len(flags) + len(tables) < len(_MENTIONED.findall(text.value)) or "$" in written:
        reason = text.reason if isinstance(text, Unknown) else why
        return Unknown(f"{reason} labels", text.origin), Unknown(f"{reason} taints", text.origin)
    labels = {key: value for name, one in items for key, _, value in [one.partition("=")] if name == "node-labels"}
    return Known(labels, text.origin), Known(tuple(one for name, one in items if name != "node-labels"), text.origin)


def _found(text: str, flag: str, key: str, origin: Origin) -> Value[dict[str, str]]:
    """Read the pairs of a flag or key in a text; Unknown if it is not understood."""
    if flag not in text and key not in text:
        return NOTHING
    match = re.search(rf"--{flag}[=\s]+[\"']?([^\s\"']+)", text) or re.search(_BLOCK % key, text)
    if match is None:
        return Unknown(f"{flag} of its nodes is not known", origin)
    return Known(dict(_PAIR.findall(match[1])), origin)
