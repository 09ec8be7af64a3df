"""Kustomize patches; nodes are shared, those on the path copied."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeAlias

from msgspec.structs import replace

from kcheck.kubernetes.objects import is_null
from kcheck.text.syntax import yaml
from kcheck.text.units import whole_number
from kcheck.text.yaml_nodes import Patched

MAX_NODES = 200_000
"""Limit of nodes that a patch may visit, as aliases of aliases can multiply."""

_KEYS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("containers", "initContainers", "ephemeralContainers", "volumes", "env"), ("name",)),
    **dict.fromkeys(("imagePullSecrets", "secrets", "resourceClaims", "schedulingGates"), ("name",)),
    "ports": ("containerPort", "port", "protocol"),
    "volumeMounts": ("mountPath",),
    "volumeDevices": ("devicePath",),
    "hostAliases": ("ip",),
    "topologySpreadConstraints": ("topologyKey", "whenUnsatisfiable"),
    "ownerReferences": ("uid",),
}
"""Lists of built-in kinds that are merged item by item, with their merge keys; others are replaced."""

_BUILT_IN = frozenset({"v1", "apps/v1", "batch/v1", "batch/v1beta1", "policy/v1", "autoscaling/v1", "autoscaling/v2"})


class PatchError(Exception):
    """A patch that does not fit the object."""


Visit: TypeAlias = "Callable[[str, yaml.Target], yaml.Target | None]"


def set_path(mapping: yaml.Mapping, path: tuple[str, ...], value: yaml.Target) -> yaml.Mapping:
    """Return a copy of the map with a value set at a path."""
    entries = yaml.entries(mapping)
    old = entries.get(path[0])
    if len(path) > 1:
        inner = yaml.resolve(old.value) if old else None
        value = set_path(
            inner if isinstance(inner, yaml.Mapping) else yaml.Mapping(*value.span, None, (), flow=True),
            path[1:],
            value,
        )
    entries[path[0]] = yaml.Pair(old.key if old else yaml.Scalar(*value.span, None, path[0], "double", None), value)
    return _with(mapping, entries)


def _with(mapping: yaml.Mapping, entries: dict[str, yaml.Pair]) -> yaml.Mapping:
    own = tuple(entries.values())
    if isinstance(mapping, Patched):
        return replace(mapping, entries=own, indexed=None)
    return yaml.Mapping(*mapping.span, mapping.anchor, own, mapping.flow)


def items_of(sequence: yaml.Sequence, items: Iterable[yaml.Node]) -> yaml.Sequence:
    """Return the list with other items."""
    return yaml.Sequence(*sequence.span, sequence.anchor, tuple(items), sequence.flow)


def rebuild(root: yaml.Mapping, visit: Visit) -> yaml.Mapping:
    """Replace the nodes of a tree for which `visit` returns a result."""
    done: dict[tuple[str, yaml.Target], yaml.Target] = {}

    def walk(name: str, node: yaml.Node) -> yaml.Node:
        target = yaml.resolve(node)
        if isinstance(target, yaml.Scalar):
            return visit(name, target) or node
        found = done.get((name, target))
        if found is None:
            found = done[name, target] = visit(name, target) or inside(target)
        return node if found is target else found

    def inside(target: yaml.Target) -> yaml.Target:
        if isinstance(target, yaml.Mapping):
            entries = yaml.entries(target)
            own = {name: walk(name, entry.value) for name, entry in entries.items()}
            if any(own[name] is not entry.value for name, entry in entries.items()):
                return _with(target, {name: entry._replace(value=own[name]) for name, entry in entries.items()})
        elif isinstance(target, yaml.Sequence):
            items = tuple(walk("", item) for item in target.items)
            if any(new is not old for new, old in zip(items, target.items, strict=True)):
                return items_of(target, items)
        return target

    result = inside(root)
    return result if isinstance(result, yaml.Mapping) else root


def replace_at(root: yaml.Mapping, steps: Sequence[str], make: Callable[[yaml.Target], yaml.Target]) -> yaml.Mapping:
    """Change every node at a path of keys, numbers, `*` and `[name=value]`."""
    result = _replaced(root, steps, make) if steps else root
    return result if isinstance(result, yaml.Mapping) else root


def _replaced(node: yaml.Target, steps: Sequence[str], make: Callable[[yaml.Target], yaml.Target]) -> yaml.Target:
    if not steps:
        return make(node)
    step, rest = steps[0], steps[1:]
    if isinstance(node, yaml.Mapping):
        entries = yaml.entries(node)
        names = [step] if step in entries else list(entries) if step == "*" else []
        for name in names:
            entry = entries[name]
            entries[name] = entry._replace(value=_replaced(yaml.resolve(entry.value), rest, make))
        return _with(node, entries) if names else node
    if isinstance(node, yaml.Sequence):
        chosen = (_fits(item, i, step) for i, item in enumerate(node.items))
        pairs = zip(node.items, chosen, strict=True)
        return items_of(node, (_replaced(yaml.resolve(item), rest, make) if fits else item for item, fits in pairs))
    return node


def _fits(item: yaml.Node, index: int, step: str) -> bool:
    name, sign, value = step.strip("[]").partition("=")
    return step in ("*", str(index)) or (bool(sign) and yaml.text(item, name) == value)


# --- strategic merge


def merge_patch(item: yaml.Mapping, patch: yaml.Mapping, api_version: str) -> yaml.Mapping | None:
    """Apply a strategic merge patch; None if it deletes the object.

    Raises PatchError if the patch is too large.
    """
    result = _Merger(api_version in _BUILT_IN).mapping(item, patch)
    if result is None:
        return None
    for path in (("apiVersion",), ("kind",), ("metadata", "name"), ("metadata", "namespace")):
        own = yaml.get(item, *path)
        if own is not None:
            result = set_path(result, path, own)
    return result


def merged_template(template: yaml.Mapping, patch: yaml.Mapping) -> yaml.Mapping:
    """Merge an operator's patch into a pod template."""
    try:
        return _Merger(built_in=True, overlay=False).mapping(template, patch) or template
    except PatchError:
        return template


class _Merger:
    def __init__(self, built_in: bool, overlay: bool = True) -> None:
        self.built_in = built_in
        self.overlay = overlay
        self.left = MAX_NODES

    def node(self, name: str, base: yaml.Target | None, patch: yaml.Target) -> yaml.Target | None:
        self.left -= 1
        if self.left < 0:
            raise PatchError(f"it has more than {MAX_NODES:,} values")
        if isinstance(patch, yaml.Mapping):
            return self.mapping(base, patch)
        if isinstance(patch, yaml.Sequence):
            return self.sequence(name, base, patch)
        return None if is_null(patch) else patch

    def mapping(self, base: yaml.Target | None, patch: yaml.Mapping) -> yaml.Mapping | None:
        own = yaml.entries(patch)
        directive = yaml.text(patch, "$patch")
        if directive == "delete":
            return None
        kept = base if isinstance(base, yaml.Mapping) and directive != "replace" else None
        entries = yaml.entries(kept) if kept else {}
        for name, entry in own.items():
            if name.startswith("$"):
                continue
            old = entries.get(name)
            value = self.node(name, yaml.resolve(old.value) if old else None, yaml.resolve(entry.value))
            if value is None:
                entries.pop(name, None)
            else:
                entries[name] = yaml.Pair(old.key if old else entry.key, value)
        if kept is None:
            return _with(patch, entries)
        found = (*kept.span, kept.anchor, tuple(entries.values()), kept.flow)
        return Patched(*found, patch=patch.span) if self.overlay else yaml.Mapping(*found)

    def sequence(self, name: str, base: yaml.Target | None, patch: yaml.Sequence) -> yaml.Sequence:
        items = [yaml.resolve(item) for item in patch.items]
        alone = (item for item in items if isinstance(item, yaml.Mapping) and len(item.entries) == 1)
        directives = [item for item in alone if yaml.text(item, "$patch") == "replace"]
        old = [yaml.resolve(item) for item in base.items] if isinstance(base, yaml.Sequence) and not directives else []
        keys = self.keys(name, [*old, *items])
        if not keys:
            return items_of(patch, self.fresh(item for item in items if item not in directives))
        by_key = {_identity(item, keys): item for item in old}
        result: dict[object, yaml.Target] = {}
        for item in items:
            if item in directives:
                continue
            identity = _identity(item, keys)
            made = self.node("", by_key.pop(identity, None), item)
            if made is not None:
                result[identity] = made
        rest = [item for item in old if by_key.get(_identity(item, keys)) is item]
        place = base if isinstance(base, yaml.Sequence) and rest else patch
        return items_of(place, [*result.values(), *rest])  # those of the patch come first

    def keys(self, name: str, items: list[yaml.Target]) -> tuple[str, ...]:
        """Return the merge keys of a list; empty if the list is replaced."""
        if not self.built_in or name not in _KEYS or not all(isinstance(item, yaml.Mapping) for item in items):
            return ()
        return tuple(key for key in _KEYS[name] if any(yaml.text(item, key) for item in items))

    def fresh(self, items: Iterable[yaml.Target]) -> Iterator[yaml.Target]:
        return (made for item in items if (made := self.node("", None, item)) is not None)


def _identity(item: yaml.Target, keys: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(yaml.text(item, key) for key in keys)


# --- JSON patches


def apply_json_patch(root: yaml.Mapping, operations: yaml.Sequence) -> yaml.Mapping:
    """Apply a JSON patch (RFC 6902). Raises PatchError if it does not fit."""
    for operation in map(yaml.resolve, operations.items):
        root = _apply_operation(root, operation)
    return root


def _apply_operation(root: yaml.Mapping, operation: yaml.Target) -> yaml.Mapping:
    what, path = yaml.text(operation, "op"), yaml.text(operation, "path")
    steps = _steps(path)
    value = yaml.get(operation, "value")
    if what in ("move", "copy"):
        origin = _steps(yaml.text(operation, "from"))
        value = _node_at(root, origin)
        root = _edit_at(root, origin, "remove", None) if what == "move" else root
        what = "add"
    if what == "test":
        same = value is not None and _plain(_node_at(root, steps)) == _plain(value)
        if not same:
            raise PatchError(f"its test of `{path}` fails")
        return root
    if what not in ("add", "replace", "remove") or (value is None and what != "remove"):
        raise PatchError(f"`{what}` of `{path}` is not an operation")
    return _edit_at(root, steps, what, value)


def _plain(node: yaml.Target) -> object:
    return node.text if isinstance(node, yaml.Scalar) else node


def _steps(pointer: str) -> list[str]:
    if not pointer.startswith("/"):
        raise PatchError(f"`{pointer}` is not a path")
    return [step.replace("~1", "/").replace("~0", "~") for step in pointer[1:].split("/")]


def _node_at(root: yaml.Target, steps: list[str]) -> yaml.Target:
    node: yaml.Target | None = root
    for step in steps:
        number = whole_number(step) if isinstance(node, yaml.Sequence) else None
        node = yaml.get(node, step if number is None else number)
    if node is None:
        raise PatchError(f"there is no `/{'/'.join(steps)}`")
    return node


def _edit_at(root: yaml.Mapping, steps: list[str], what: str, value: yaml.Target | None) -> yaml.Mapping:
    *way, last = steps
    holder = _node_at(root, way) if way else root
    made: yaml.Target | None = None
    if isinstance(holder, yaml.Mapping):
        made = _in_map(holder, last, what, value)
    elif isinstance(holder, yaml.Sequence):
        made = _in_list(holder, last, what, value)
    if made is None:
        raise PatchError(f"there is no `/{'/'.join(steps)}`")
    whole = made
    return replace_at(root, way, lambda _: whole) if way else whole if isinstance(whole, yaml.Mapping) else root


def _in_map(holder: yaml.Mapping, name: str, what: str, value: yaml.Target | None) -> yaml.Mapping | None:
    entries = yaml.entries(holder)
    if name not in entries and what != "add":
        return None
    if value is None or what == "remove":
        del entries[name]
        return _with(holder, entries)
    return set_path(holder, (name,), value)


def _in_list(holder: yaml.Sequence, step: str, what: str, value: yaml.Target | None) -> yaml.Sequence | None:
    items = list(holder.items)
    at = len(items) if step == "-" and what == "add" else whole_number(step)
    if at is None or at >= len(items) + (what == "add"):
        return None
    items[at : at + (what != "add")] = [] if value is None or what == "remove" else [value]
    return items_of(holder, items)
