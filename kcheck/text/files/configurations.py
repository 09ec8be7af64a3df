"""Files of other tools that create clusters, recognised by path and content."""

import re

from msgspec import Struct

from kcheck.text.regex import regex
from kcheck.text.text import Source

VARIABLES = "ansible variables"
HOSTS = "ansible hosts"
BLUEPRINT = "blueprint"
DEPLOYMENT = "deployment of a blueprint"
SCRIPT = "script"
TEMPLATE = "ansible template"
CLOUDFORMATION = "CloudFormation"
COMMANDS = "commands"
BICEP = "Bicep"
INSTALLER = "OpenShift installer"
ANSIBLE = "k3s or RKE2 by Ansible"
OMNI = "Omni"
HERE = "manifests in a script"
PROGRAM = "program of CDK or Pulumi"
PROGRAMS = {"cdk.json", "Pulumi.yaml", "Pulumi.yml"}
"""Files beside or above such programs."""
LANGUAGES = (".ts", ".js", ".py", ".go", ".cs", ".java")
BLUEPRINTS = (BLUEPRINT, CLOUDFORMATION, COMMANDS)
"""Kinds that are read as root modules."""
EKS = regex(rb"^[^#\n]*\bType[\"']?[ \t]*:[ \t]*[\"']?(AWS::EKS::(?:Cluster|Nodegroup))\b", re.MULTILINE)
MACHINES = regex(rb"^[^#\n]*\bType[\"']?[ \t]*:[ \t]*[\"']?AWS::AutoScaling::AutoScalingGroup\b", re.MULTILINE)
EXPORTED = regex(rb"^[ \t]*[\"']?Export[\"']?[ \t]*:", re.MULTILINE)
K3S = regex(rb"^[ \t]*((?:k3s|rke2)_(?:release_)?version)[ \t]*:", re.MULTILINE)
TALOS = regex(rb"^kind:[ \t]*(ControlPlane)\b", re.MULTILINE)
AKS = regex(
    rb"^(?:resource[ \t]+\w+[ \t]+'|module[ \t]+\w+[ \t]+'br/public:avm/res/|[^#\n]*\"type\"[ \t]*:[ \t]*\")"
    rb"(Microsoft\.ContainerService/managedClusters|container-service/managed-cluster)(?:[@:][^'\n]*'[ \t]*=|\")",
    re.MULTILINE,
)
COMMAND = regex(
    rb"^[^#\n]*\b((?:az aks create|gcloud(?: alpha| beta)? container clusters create(?:-auto)?|eksctl create cluster"
    rb"|aws eks create-cluster|xpk cluster create(?:-pathways|-ray)?|talosctl gen config|kops create cluster"
    rb"|rosa create cluster|k3sup install)\b(?!(?:\\\r?\n|[^\n;|&]){0,1000}(?:[ \t]-f|--config-file))"
    rb"(?:\\\r?\n|[^\n\\;|&\]])*)",
    re.MULTILINE,
)
"""Matches a command, with its flags, that creates a cluster from them and not from a file."""
IN_PROGRAM = regex(
    rb"^(?![ \t]*(?://|#|\*))[^\n]*?\b((?:\w+_)?(?:eks|container|containerservice|cs)\.(?:New)?"
    rb"(?:Fargate|Cfn|Managed|Kubernetes)?(?:Cluster|Kubernetes)(?:V2)?|EksBlueprint\.builder)\(",
    re.MULTILINE,
)
"""Matches the call that makes a cluster of EKS, GKE, AKS or ACK."""
_OBJECT_OF_CLUSTERS = regex(
    rb"^\t*kind[ \t]*:[ \t]*(?:ClusterConfig|NodePool|\w*NodeClass|Provisioner)\b", re.MULTILINE
)
"""Matches what a cluster and its nodes are made from; other objects of scripts are mostly trials of a guide."""
_HERE = regex(rb"<<(-?)[ \t]*[\"']?(\w+)")
NAMED = (
    (CLOUDFORMATION, EKS, "no template of CloudFormation that kcheck reads"),
    (BICEP, AKS, "Bicep and templates of Azure are not read"),
    (ANSIBLE, K3S, "k3s and RKE2 by Ansible are not read"),
    (OMNI, TALOS, "cluster templates of Omni are not read"),
    (PROGRAM, IN_PROGRAM, "programs are not run; kcheck reads the templates that `cdk synth` writes"),
    (COMMANDS, COMMAND, "the flags of this command are not read"),
)
"""File kinds whose first cluster is reported, its pattern, and why it is not judged."""


class _Mark(Struct, frozen=True):
    kind: str
    path: re.Pattern[str]
    word: bytes
    content: re.Pattern[bytes]


def _mark(kind: str, path: str, word: bytes, content: bytes) -> _Mark:
    return _Mark(kind, regex(path), word, regex(content, re.MULTILINE))


_TEMPLATES = regex(r"\.(?:ya?ml|json|template)$")
_MARKS = (
    _Mark(ANSIBLE, regex(r"(?:^|/)group_vars/|(?:^|/)(?:hosts|inventory)[^/]*\.ya?ml$"), b"_version", K3S),
    _mark(VARIABLES, r"(?:^|/)group_vars/(?:.+/)?[^./]+(?:\.ya?ml)?$", b":", rb"^\w+[ \t]*:"),
    _mark(HOSTS, r"(?:^|/)(?:hosts|inventory)(?:\.(?:ya?ml|ini|cfg))?$", b"kube", rb"\bkube[_-]node\b"),
    _mark(BLUEPRINT, r"\.ya?ml$", b"deployment_groups", rb"^blueprint_name[ \t]*:"),
    _mark(DEPLOYMENT, r"deployment[^/]*\.ya?ml$", b"deployment_name", rb"^vars[ \t]*:"),
    _mark(
        SCRIPT,
        r"(?:kube|k8s|master|control|cluster|init|boot|user|cloud|node)[^/]*\.(?:sh|bash|ya?ml)$"
        r"|(?:^|/)(?:tasks|playbooks?)/[^/]+\.ya?ml$",
        b"kubeadm",
        rb"\A#(?:!|cloud-config)|^[ \t]+apiVersion:[ \t]*kubeadm\.k8s\.io/|--pod-network-cidr",
    ),
    _mark(INSTALLER, r"\.ya?ml$", b"baseDomain", rb"^(?:controlPlane|networking|compute)[ \t]*:"),
    _mark(TEMPLATE, r"\.j2$", b"kubeadm.k8s.io/", rb"^kind:[ \t]*ClusterConfiguration"),
    _Mark(CLOUDFORMATION, _TEMPLATES, b"AWS::EKS::", EKS),
    _Mark(CLOUDFORMATION, _TEMPLATES, b"kubernetes.io/cluster/", MACHINES),
    _Mark(CLOUDFORMATION, _TEMPLATES, b"AWS::EC2::Subnet", EXPORTED),
    _Mark(OMNI, regex(r"\.ya?ml$"), b"\ntalos:", TALOS),
    _Mark(BICEP, regex(r"\.(?:bicep|json)$"), b"ervice/managed", AKS),
    _Mark(PROGRAM, regex(rf"(?:{'|'.join(map(re.escape, LANGUAGES))})$"), b"", IN_PROGRAM),
    _Mark(HERE, regex(r"\.(?:sh|bash)$"), b"apiVersion", _OBJECT_OF_CLUSTERS),
    _Mark(
        COMMANDS,
        regex(r"\.(?:sh|bash|mk)$|(?:^|/)(?:[Mm]akefile|[Jj]ustfile|(?:Taskfile|(?:deploy|build)spec[^/]*)\.ya?ml)$"),
        b"",
        COMMAND,
    ),
)

_ENDS = (".sh", ".bash", ".mk", ".ini", ".cfg", ".j2", ".template", ".bicep")
"""Suffixes of such files that are not YAML."""
_OBJECT = regex(rb"^kind[ \t]*:", re.MULTILINE)
"""Sign that a YAML file is an object itself, such as one of Cluster API with scripts in it."""


def may_be(path: str, programs: tuple[str, ...] = ()) -> bool:
    """Whether a file without a YAML suffix may be one of these."""
    if path.endswith(LANGUAGES):
        return path.startswith(programs)
    own = path.endswith(_ENDS) or "." not in path.rpartition("/")[2]
    return own and any(mark.path.search(path) for mark in _MARKS)


def kind_of(path: str, data: bytes) -> str:
    """Return the kind of such a file; empty for others."""
    for mark in _MARKS:
        if mark.word in data and mark.path.search(path) and mark.content.search(data):
            own = mark.kind == SCRIPT and not data.startswith(b"#!") and _OBJECT.search(data)
            return "" if own else mark.kind
    return ""


def manifests_in(script: Source) -> Source:
    """Return the here-documents in a script that create clusters."""
    lines = script.data.split(b"\n")
    kept, here, begin = [b""] * len(lines), None, 0
    for at, line in enumerate(lines):
        if here is None:
            here, begin = _HERE.search(line), at
        elif line.strip() == here[2]:
            text = [one.lstrip(b"\t") if here[1] else one for one in lines[begin + 1 : at]]
            if _OBJECT_OF_CLUSTERS.search(b"\n".join(text)):
                kept[begin:at] = [b"---", *text]
            here = None
    return Source(script.path, b"\n".join(kept), derived=True)


def inventory_of(path: str) -> str | None:
    """Return the inventory folder of a variables file; None for other files."""
    if not any(mark.kind == VARIABLES and mark.path.search(path) for mark in _MARKS):
        return None
    return path.rpartition("group_vars/")[0] or "."
