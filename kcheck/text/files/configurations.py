"""Files of other tools that create clusters, recognised by path and content."""

from __future__ import annotations

import re
from typing import NamedTuple

from kcheck.text.regex import regex

VARIABLES = "ansible variables"
HOSTS = "ansible hosts"
BLUEPRINT = "blueprint"
DEPLOYMENT = "deployment of a blueprint"
SCRIPT = "script"
TEMPLATE = "ansible template"
CLOUDFORMATION = "CloudFormation"
COMMANDS = "commands"
EKS = regex(rb"^[^#\n]*\bType[\"']?[ \t]*:[ \t]*[\"']?(AWS::EKS::(?:Cluster|Nodegroup))\b", re.MULTILINE)
COMMAND = regex(
    rb"^[^#\n]*\b(az aks create|gcloud(?: alpha| beta)? container clusters create(?:-auto)?|eksctl create cluster)\b"
    rb"(?![^\n]*(?:[ \t]-f|--config-file))",
    re.MULTILINE,
)
"""A command that makes a cluster of its flags, not of a file."""


class _Mark(NamedTuple):
    """How to recognise a kind of file: its path, a word in it, and a pattern."""

    kind: str
    path: re.Pattern[str]
    word: bytes
    content: re.Pattern[bytes]


_MARKS = (
    _Mark(
        VARIABLES,
        regex(r"(?:^|/)group_vars/(?:.+/)?[^./]+(?:\.ya?ml)?$"),
        b":",
        regex(rb"^\w+[ \t]*:", re.MULTILINE),
    ),
    _Mark(
        HOSTS,
        regex(r"(?:^|/)(?:hosts|inventory)(?:\.(?:ya?ml|ini|cfg))?$"),
        b"kube",
        regex(rb"\bkube[_-]node\b"),
    ),
    _Mark(
        BLUEPRINT,
        regex(r"\.ya?ml$"),
        b"deployment_groups",
        regex(rb"^blueprint_name[ \t]*:", re.MULTILINE),
    ),
    _Mark(
        DEPLOYMENT,
        regex(r"deployment[^/]*\.ya?ml$"),
        b"deployment_name",
        regex(rb"^vars[ \t]*:", re.MULTILINE),
    ),
    _Mark(
        SCRIPT,
        regex(
            r"(?:kube|k8s|master|control|cluster|init|boot|user|cloud|node)[^/]*\.(?:sh|bash|ya?ml)$"
            r"|(?:^|/)(?:tasks|playbooks?)/[^/]+\.ya?ml$"
        ),
        b"kubeadm",
        regex(rb"\A#(?:!|cloud-config)|^[ \t]+apiVersion:[ \t]*kubeadm\.k8s\.io/|--pod-network-cidr", re.MULTILINE),
    ),
    _Mark(
        TEMPLATE,
        regex(r"\.j2$"),
        b"kubeadm.k8s.io/",
        regex(rb"^kind:[ \t]*ClusterConfiguration", re.MULTILINE),
    ),
    _Mark(CLOUDFORMATION, regex(r"\.(?:ya?ml|json|template)$"), b"AWS::EKS::", EKS),
    _Mark(COMMANDS, regex(r"\.(?:sh|bash)$|(?:^|/)Makefile$"), b"create", COMMAND),
)

_ENDS = (".sh", ".bash", ".ini", ".cfg", ".j2", ".template")
"""How the names of such files end that are no YAML, if they have an end."""
_OBJECT = regex(rb"^kind[ \t]*:", re.MULTILINE)
"""What YAML has that is an object itself, such as one of Cluster API with scripts in it."""


def may_be(path: str) -> bool:
    """Whether a file may be one of these by its path, even without a YAML suffix."""
    own = path.endswith(_ENDS) or "." not in path.rpartition("/")[2]
    return own and any(mark.path.search(path) for mark in _MARKS)


def kind_of(path: str, data: bytes) -> str:
    """The kind of such a file; empty for others."""
    for mark in _MARKS:
        if mark.word in data and mark.path.search(path) and mark.content.search(data):
            own = mark.kind == SCRIPT and not data.startswith(b"#!") and _OBJECT.search(data)
            return "" if own else mark.kind
    return ""


def inventory_of(path: str) -> str | None:
    """The inventory folder of a variables file; None for other files."""
    if not _MARKS[0].path.search(path):
        return None
    return path.rpartition("group_vars/")[0] or "."
