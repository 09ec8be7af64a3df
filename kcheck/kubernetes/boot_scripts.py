"""Scripts that start machines: kubeadm configuration, flags, joins."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from kcheck.kubernetes.objects import Object, objects_in
from kcheck.text.regex import regex
from kcheck.text.syntax import embedded_yaml, yaml
from kcheck.text.text import Source, Span
from kcheck.text.values import Known, Origin, Piece, Unknown

_HEAD = regex(r"([ \t]*)apiVersion:[ \t]*[\"']?(?:kubeadm\.k8s\.io|kubelet\.config\.k8s\.io)/")
_KIND = regex(r"([ \t]*)kind:")
_ENTRY = regex(r"[\w.\"'-]+[ \t]*:|-[ \t]|#")
_INIT = regex(r"\bkubeadm[ \t]+init\b(?:[^\n\\;|&]|\\\n|\\[^\n])*")
_FLAG = regex(r"--(pod-network-cidr|service-cidr|kubernetes-version|config)[= \t]+[\"']?([^\s\"'\\]+)")
_PATHS = {
    "pod-network-cidr": ("networking", "podSubnet"),
    "service-cidr": ("networking", "serviceSubnet"),
    "kubernetes-version": ("kubernetesVersion",),
}
"""Flags of `kubeadm init` -> paths of the same settings in its configuration."""
_STARTS = regex(
    r"\bkubeadm[ \t]+(?:init|join)\b|get\.k3s\.io|get\.rke2\.io|get\.k0s\.sh|\brke2-(?:server|agent)\b"
    r"|\bname:[ \t]*[\"']?kubelet\.service\b"
)
TOOLS = {"kubeadm": "kubeadm", "k3s": "k3s", "rke2": "RKE2", "k0s": "k0s", "kubelet": "a kubelet of its own"}
SERVERS = {"k3s", "rke2"}
"""Tools whose servers have the settings of their cluster."""
CLUSTERS = {"ClusterConfiguration", *SERVERS}
"""Kinds of the objects that describe a cluster."""
_UNKNOWN = "\0"
_KIND_TOOL = "kind.x-k8s.io"
"""Mark of scripts for kind, whose throw-away clusters run in containers on one machine."""
_SETTING = regex(
    r"(?m)(?:^|--|[\s\"'])cluster-cidr[\"']?(?:=|:?[ \t]+)[\"']?(?P<cluster_cidr>[^\s\"'\\])"
    r"|(?:^|--|[\s\"'])service-cidr[\"']?(?:=|:?[ \t]+)[\"']?(?P<service_cidr>[^\s\"'\\])"
    r"|(?:^|--|[\s\"'])(?:flannel-backend|cni)[\"']?(?:=|:?[\s-]+)[\"']?(?P<cni>[\w-])"
    r"|node-cidr-mask-size(?:-ipv4)?=(?P<node_cidr_mask_size>[^\s\"'\\])"
    r"|INSTALL_(?:K3S|RKE2)_(?:VERSION|CHANNEL)=[\"']?(?P<version>v\d|[$\x00])"
)
"""Flags, keys of config.yaml and variables of k3s and RKE2; each group begins a value."""
_RANGES = ("cluster-cidr", "service-cidr", "node-cidr-mask-size")
_FREE = regex(r"(?:\x00|\$\{?(\w+|[@*])(?:\[[@*]\])?\}?)")
_ASSIGNED = regex(r"\b(\w+)\+?=")
_SERVER = regex(r"(?:^|[\s\"'=])server(?:[\s\"']|$)|rke2-server")
_ROLE = regex(r"(?m)^[ \t]*(?:export )?\w*TYPE=\W?(server|agent)\b")
_AGENT = regex(r"K3S_URL|RKE2_URL|RKE2_TYPE=\W?agent|rke2-agent|(?:^|[\s\"'=])agent(?:[\s\"']|$)")
_COMMENT = regex(r"(?m)^[ \t]*#.*$")
_VARIABLE = regex(r"[$`]|\{\{")
_API = "kubeadm.k8s.io/v1beta3"


def objects(pieces: tuple[Piece, ...]) -> list[Object]:
    """List the kubeadm objects in a script, also those of its flags."""
    if any(_KIND_TOOL in piece.text for piece in pieces):
        return []
    found = [item for document in _documents(embedded_yaml.lines(pieces)) for item in objects_in(document)]
    return found if any(item.kind == "ClusterConfiguration" for item in found) else [*found, *_of_flags(pieces)]


class Start(NamedTuple):
    """A script that makes its machine a node, perhaps of the control plane."""

    tool: str
    server: bool


def start(pieces: tuple[Piece, ...], found: list[Object]) -> Start | None:
    """Return how a script makes its machine a node; None if it does not."""
    text = _plain(pieces)
    match = _STARTS.search(text)
    kinds = {item.kind for item in found} & CLUSTERS
    tool = next((word for word in TOOLS if match and word in match[0]), "kubeadm" if kinds else "")
    if tool in SERVERS:
        role = _ROLE.search(text)
        server = _SERVER.search(text) is not None or _AGENT.search(text) is None
        return Start(tool, server=role[1] == "server" if role else server)
    return Start(tool, server=bool(kinds) or "kubeadm init" in text) if tool else None


def whole(source: Source) -> tuple[Piece, ...]:
    """Return a file as one piece of text without places."""
    return (Piece(source.data.decode("utf-8", "replace"), source.uneditable.span(0, len(source.data))),)


def _documents(lines: list[list[Piece]]) -> Iterator[yaml.Target]:
    """Yield the kubeadm documents among the lines of a script, by indentation."""
    plain = ["".join(piece.text for piece in line) for line in lines]
    at = 0
    while at < len(plain):
        head = _HEAD.match(plain[at])
        if head is None:
            at += 1
            continue
        before = _KIND.match(plain[at - 1]) if at else None
        start = at - 1 if before is not None and before[1] == head[1] else at
        at += 1
        while at < len(plain) and _continues(plain[at], head[1]):
            at += 1
        yield from embedded_yaml.documents(tuple(piece for line in lines[start:at] for piece in line))


def _continues(line: str, indent: str) -> bool:
    """Whether a line belongs to the document with this indentation."""
    bare = line.strip()
    if not bare:
        return True
    rest = line[len(indent) :]
    return line.startswith(indent) and (rest[0] in " \t" or _ENTRY.match(rest) is not None)


def _of_flags(pieces: tuple[Piece, ...]) -> Iterator[Object]:
    """Yield the configuration that `kubeadm init` flags stand for, if any."""
    text = _plain(pieces)
    for command in _INIT.finditer(text):
        flags = {flag[1]: command.start() + flag.start(2) for flag in _FLAG.finditer(command[0])}
        if "pod-network-cidr" in flags and "config" not in flags:
            place = _scalar(pieces, command.start(), "kubeadm").span
            inner: dict[str, list[yaml.Pair]] = {"": [yaml.Pair(_key("apiVersion", place), _key(_API, place))]}
            for flag, path in _PATHS.items():
                if flag in flags:
                    value = _value(pieces, text, flags[flag], f"--{flag}")
                    inner.setdefault("".join(path[:-1]), []).append(yaml.Pair(_key(path[-1], place), value))
            entries = inner.pop("")
            entries += [yaml.Pair(_key(name, place), _mapping(found, place)) for name, found in inner.items()]
            yield Object("ClusterConfiguration", _API, _mapping(entries, place), place)
            return


def server(pieces: tuple[Piece, ...], tool: str) -> Iterator[Object]:
    """Yield the settings of a server of k3s or RKE2."""
    pieces = tuple(piece for line in embedded_yaml.lines(pieces) for piece in line)  # each has a place of its own
    text = _plain(pieces)
    named = [(match.lastgroup or "", match) for match in _SETTING.finditer(text)]
    found = {name.replace("_", "-"): match.start(name) for name, match in named}
    install = _STARTS.search(text)
    place = _scalar(pieces, install.start() if install else 0, install[0] if install else tool).span
    entries = [yaml.Pair(_key(name, place), _value(pieces, text, at, name)) for name, at in found.items()]
    assigned = set(_ASSIGNED.findall(text))
    if any(_has_free_flags(line, assigned) for line in text.replace("\\\n", " ").splitlines()):
        why = Unknown(f"the flags of {tool} are a variable of the script", Origin((place,)))
        free = yaml.Computed(*place, None, "", "double", tag=None, datum=why)
        entries += [yaml.Pair(_key(name, place), free) for name in _RANGES if name not in found]
    yield Object(tool, tool, _mapping(entries, place), place)


def _has_free_flags(line: str, assigned: set[str]) -> bool:
    """Whether a line is unknown, or passes a variable that is not `assigned`."""
    words = [word.strip("\"';()") for word in line.replace("_EXEC=", "_EXEC= ").split()]
    if words[1:] and not _STARTS.search(line) and "_EXEC=" not in line:
        return False
    free = [match is not None and match[1] not in assigned for match in map(_FREE.fullmatch, words)]
    values = [last.startswith("--") and "=" not in last for last in ["", *words]]  # of the flag before
    return any(one and not value for one, value in zip(free, values, strict=False))


def _plain(pieces: tuple[Piece, ...]) -> str:
    """Return the text of a script with its comments blanked out; the length stays."""
    text = "".join(_UNKNOWN if isinstance(piece.datum, Unknown) else piece.text for piece in pieces)
    return _COMMENT.sub(lambda found: " " * len(found[0]), text)


def _value(pieces: tuple[Piece, ...], text: str, at: int, flag: str) -> yaml.Scalar:
    """Return the value of a flag at an offset; unknown if it is computed."""
    end = re.compile(r"[\s\"'\\]|$").search(text, at)
    written = text[at : end.start() if end else None]
    value = _scalar(pieces, at, written, flag)
    if not _VARIABLE.search(written):
        return value
    why = Unknown(f"{flag} is a variable of the script", Origin((value.span,)))
    return yaml.Computed(*value.span, None, written, "double", tag=None, datum=why)


def _mapping(entries: list[yaml.Pair], place: Span) -> yaml.Mapping:
    return yaml.Mapping(place.source.uneditable, *place[1:], None, tuple(entries), flow=False)


def _key(text: str, place: Span) -> yaml.Scalar:
    return yaml.Scalar(*place, anchor=None, text=text, style="double", tag=None)


def _scalar(pieces: tuple[Piece, ...], offset: int, text: str, name: str = "") -> yaml.Scalar:
    """Return the scalar at an offset of a text, with its span."""
    at = 0
    for piece in pieces:
        length = 1 if isinstance(piece.datum, Unknown) else len(piece.text)
        if offset < at + length:
            if isinstance(piece.datum, Unknown) or (piece.datum is not None and piece.text == text):
                return yaml.Computed(*piece.span, None, text, "double", tag=None, datum=piece.datum)
            place, exact = piece.span, piece.datum is None and piece.span.text == piece.text
            if exact:
                begin = place.start + len(piece.text[: offset - at].encode())
                place = place.source.span(begin, begin + len(text.encode()))
            datum = Known(text, Origin((place,), literal=exact, within=(name,) if name else ()))
            return yaml.Computed(*place, None, text, "double", tag=None, datum=datum)
        at += length
    return _key(text, pieces[-1].span)
