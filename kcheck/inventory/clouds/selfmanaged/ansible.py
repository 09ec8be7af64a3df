"""Ansible inventories: hosts and variables of groups."""

from collections.abc import Iterable
from typing import NamedTuple

from kcheck.kubernetes.record import MappingRecord
from kcheck.text.regex import regex
from kcheck.text.syntax import yaml
from kcheck.text.text import Source, Span
from kcheck.text.values import Blocks, Datum, Known, Missing, Origin, Unknown

_SECTION = regex(r"\[([^\]:]+)(?::(\w+))?\]")
_RANGE = regex(r"\[(\d{1,18}):(\d{1,18})\]")
_REFERENCE = regex(r"\{\{\s*(\w+)\s*\}\}")
_MOST = 50_000
"""Limit of hosts, above that of any real inventory."""
_DEPTH = 8
"""Maximum depth of variable references and child groups."""


class Group(NamedTuple):
    """A group of hosts: hosts, child groups, place, and variables from the file."""

    hosts: set[str]
    children: set[str]
    place: Span
    variables: dict[str, str]

    def add(self, host: str) -> None:
        """Add a host, or the hosts of a range."""
        if len(self.hosts) < _MOST:
            self.hosts.update(_expanded(host))


def root_of(source: Source) -> yaml.Mapping | None:
    """Return the map in a YAML file; None if it is not a map or cannot be read."""
    roots = [document.root for document in yaml.documents(source)]
    return roots[0] if len(roots) == 1 and isinstance(roots[0], yaml.Mapping) else None


def groups(source: Source) -> dict[str, Group]:
    """Read the groups of an inventory file by name, with underscores for hyphens."""
    if source.path.endswith((".yaml", ".yml")):
        found: dict[str, Group] = {}
        root = root_of(source)
        if root is not None:
            _in_yaml(root, found, 0)
        return found
    return _in_ini(source)


def _in_yaml(mapping: yaml.Mapping, found: dict[str, Group], depth: int) -> None:
    for name, entry in yaml.entries(mapping).items() if depth < _DEPTH else ():
        children = yaml.get(entry.value, "children")
        group = found.setdefault(_named(name), Group(set(), set(), entry.key.span, {}))
        for host in yaml.pairs(entry.value, "hosts"):
            group.add(host)
        for key, pair in yaml.pairs(entry.value, "vars").items():
            if isinstance(value := yaml.resolve(pair.value), yaml.Scalar):
                group.variables[key] = value.text
        if isinstance(children, yaml.Mapping) and not group.children.issuperset(map(_named, yaml.entries(children))):
            group.children.update(map(_named, yaml.entries(children)))
            _in_yaml(children, found, depth + 1)


def _in_ini(source: Source) -> dict[str, Group]:
    found: dict[str, Group] = {}
    group, kind, at = None, "", 0
    for line in source.data.splitlines(keepends=True):
        text = line.decode("utf-8", "replace").strip()
        match = _SECTION.match(text)
        if match:
            kind = match[2] or "hosts"
            place = source.span(at, at + len(line.rstrip()))
            group = found.setdefault(_named(match[1]), Group(set(), set(), place, {}))
        elif text and text[0] not in "#;" and group is not None:
            name = text.split(None, 1)[0]
            if kind == "hosts":
                group.add(name)
            elif kind == "children":
                group.children.add(_named(name))
            elif kind == "vars":
                key, _, value = text.partition("=")
                group.variables[key.strip()] = value.strip().strip("\"'")
        at += len(line)
    return found


def _named(group: str) -> str:
    return group.strip().replace("-", "_")


def _expanded(host: str) -> Iterable[str]:
    """Expand a host range such as `node[01:20]`."""
    match = _RANGE.search(host)
    if match is None:
        return (host,)
    first, last = int(match[1]), min(int(match[2]), int(match[1]) + _MOST)
    digits = len(match[1]) if match[1].startswith("0") else 0  # Ansible keeps leading zeros
    return (f"{host[: match.start()]}{i:0{digits}}{host[match.end() :]}" for i in range(first, last + 1))


def members(found: dict[str, Group], *names: str) -> set[str]:
    """Return the hosts of some groups and their child groups."""
    result: set[str] = set()
    seen: set[str] = set()
    rest = list(names)
    while rest:
        name = rest.pop()
        group = found.get(name)
        if group is not None and name not in seen:
            result |= group.hosts
            rest += group.children
        seen.add(name)
    return result


def values(found: dict[str, Group], text: str, hosts: set[str]) -> set[str]:
    """Resolve a text such as `{{ zone }}`; empty if a host has no value."""
    match = _REFERENCE.fullmatch(text.strip())
    if match is None:
        return set() if "{{" in text else {text}
    own = {
        name: hosts if name == "all" else members(found, name) & hosts
        for name, group in found.items()
        if match[1] in group.variables
    }
    result, left = set(), set(hosts)
    # a group within another wins
    for name in sorted(own, key=lambda name: (name == "all", len(own[name]), bool(found[name].children), name)):
        if own[name] & left:
            result.add(found[name].variables[match[1]])
            left -= own[name]
    return result if not left else set()


class Variables:
    """Variables of a cluster as a record; the last file wins.

    Missing variables belong in a file that has names with the same prefix, preferably the `main` one.
    """

    def __init__(self, layers: list[yaml.Mapping], main: yaml.Mapping, place: Span) -> None:
        self.layers = layers
        self.main = main
        self.span = place

    def _layer(self, name: str) -> yaml.Mapping | None:
        return next((layer for layer in reversed(self.layers) if layer.own(name) is not None), None)

    def entry(self, name: str) -> Datum | None:
        """Return the value of a variable; None if not set."""
        return self._entry(name, 0)

    def _entry(self, name: str, depth: int) -> Datum | None:
        layer = self._layer(name)
        if layer is None:
            return None
        node = yaml.get(layer, name)
        if not isinstance(node, yaml.Scalar) or "{{" not in node.text:
            return MappingRecord(layer).entry(name)
        match = _REFERENCE.fullmatch(node.text.strip())
        other = self._entry(match[1], depth + 1) if match and depth < _DEPTH else None
        if isinstance(other, Known):
            return Known(other.value, other.origin.used(node.span))
        return other or Unknown(f"`{name}` is an Ansible expression", Origin((node.span,)))

    def blocks(self, kind: str) -> Blocks:
        """Return the map in a variable."""
        layer = self._layer(kind)
        if layer is None:
            return Known((), Origin((self.span,)))
        node = yaml.get(layer, kind)
        if isinstance(node, yaml.Scalar) and "{{" in node.text:
            return Unknown(f"`{kind}` is an Ansible expression", Origin((node.span,)))
        return MappingRecord(layer).blocks(kind)

    def names(self) -> Iterable[str]:
        """Return the names of all variables."""
        return {name: None for layer in self.layers for name in yaml.entries(layer)}

    def absent(self, path: tuple[str, ...]) -> Origin:
        """Return where a variable would be written."""
        begin = path[0].partition("_")[0]
        alike = (one for one in (self.main, *self.layers) if any(name.startswith(begin) for name in yaml.entries(one)))
        return Origin((self.span,), missing=Missing(next(alike, self.main).span, path))
