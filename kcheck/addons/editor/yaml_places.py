"""What is at a place of YAML: the keys down to it, the scalar, the object that holds it."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from kcheck.text.syntax import yaml

if TYPE_CHECKING:
    from kcheck.text.text import Source


class YamlPlace(NamedTuple):
    """A key or a value. `steps` are the keys and indexes from the top of the document, its own included.

    The `scalar` is the one that is written there; at an alias there is none.
    `nodes` are the maps and lists around it, the outermost first, and last the value itself, also of a key.
    """

    root: yaml.Target
    steps: tuple[str | int, ...]
    nodes: tuple[yaml.Node, ...]
    scalar: yaml.Scalar | None
    on_key: bool = False

    @property
    def value(self) -> yaml.Target:
        """The value at the keys."""
        return yaml.resolve(self.nodes[-1])

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys without indexes."""
        return tuple(step for step in self.steps if isinstance(step, str))

    def text(self, *path: str) -> str:
        """A text of the document; empty if there is none."""
        node = yaml.get(self.root, *path)
        return node.text if isinstance(node, yaml.Scalar) else ""


@lru_cache(maxsize=4)  # an editor asks several things of a file
def documents(source: Source) -> tuple[yaml.Document, ...]:
    """The documents of a file."""
    return tuple(yaml.documents(source))


def steps_to(source: Source, offset: int) -> YamlPlace | None:
    """What is at a byte; None where that is nothing, or not YAML."""
    for document in documents(source):
        if document.root is not None and document.span.start <= offset < document.span.end:
            return _in(document.root, document.root, offset, (), ())
    return None


def _in(
    root: yaml.Target, node: yaml.Node, offset: int, steps: tuple[str | int, ...], above: tuple[yaml.Node, ...]
) -> YamlPlace | None:
    if not node.start <= offset < node.end:
        return None
    path = (*above, node)
    if isinstance(node, yaml.Scalar):
        return YamlPlace(root, steps, path, node)
    if isinstance(node, yaml.Alias):
        return YamlPlace(root, steps, path, None)
    if isinstance(node, yaml.Sequence):
        for at, item in enumerate(node.items):
            if item.start <= offset < item.end:
                return _in(root, item, offset, (*steps, at), path)
        return None
    if isinstance(node, yaml.Mapping):
        for entry in node.entries:
            if entry.key.start <= offset < entry.key.end:
                return YamlPlace(root, (*steps, entry.key.text), (*path, entry.value), entry.key, on_key=True)
            if entry.value.start <= offset < entry.value.end:
                return _in(root, entry.value, offset, (*steps, entry.key.text), path)
    return None
