"""The hook in .pre-commit-config.yaml."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcheck import __version__
from kcheck.commands.setup.addition import AdditionError, apply_checked, root_of
from kcheck.text.regex import regex
from kcheck.text.syntax import yaml
from kcheck.text.syntax.insertion import Insertion
from kcheck.text.syntax.members import edits_to_add
from kcheck.text.syntax.style import PLAIN

if TYPE_CHECKING:
    from kcheck.text.text import Source
    from kcheck.text.values import Data

NAME = ".pre-commit-config.yaml"
_SPECIAL, _ESCAPED = regex(r"[.+*?^$()\[\]{}|\\]"), r"\\\g<0>"
REPOSITORY = "https://github.com/kcheck/kcheck"


def _repository(below: str) -> dict[str, Data]:
    """The entry; a folder to keep to is the one that is checked, and whose files start the hook."""
    limits: dict[str, Data] = {"files": f"^{_SPECIAL.sub(_ESCAPED, below)}/", "args": [below, "--"]} if below else {}
    return {"repo": REPOSITORY, "rev": f"v{__version__}", "hooks": [{"id": "kcheck", **limits}]}


def new_config(below: str) -> str:
    """A new file; `below` is the folder that is checked, empty for all."""
    return "".join(f"{line}\n" for line in PLAIN.lines({"repos": [_repository(below)]}))


def with_hook(source: Source, below: str) -> bytes | None:
    """The file with the hook, in its own style; None if it has it.

    Raises:
        AdditionError: it is no configuration of pre-commit, or written so that nothing can be added.
    """
    root = root_of(source)
    entry = root.own("repos")
    if entry is None or isinstance(entry.value, yaml.Alias):
        raise AdditionError("it has no list of `repos`")
    hooks = (item for repo in _items(entry.value) for item in _items(yaml.get(repo, "hooks")))
    if any(isinstance(name := yaml.get(hook, "id"), yaml.Scalar) and name.text == "kcheck" for hook in hooks):
        return None
    repo = _repository(below)
    edits = edits_to_add(entry.value.span, Insertion(items=[repo]))

    def expected(before: dict[str, Data]) -> dict[str, Data]:
        old = before["repos"]
        return before | {"repos": [*(old if isinstance(old, list) else ()), repo]}

    return apply_checked(source, edits, expected)


def _items(node: yaml.Node | None) -> tuple[yaml.Node, ...]:
    node = yaml.resolve(node) if node is not None else None
    return node.items if isinstance(node, yaml.Sequence) else ()
