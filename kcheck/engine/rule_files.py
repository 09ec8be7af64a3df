"""Custom rule files, with the line and column of every mistake."""

import os
from collections.abc import Iterator

from msgspec import Struct

from kcheck.config.config import Written, nearest
from kcheck.config.numbers import dates, profiles
from kcheck.engine.rule import HOLE, RuleError, number
from kcheck.text.files import system
from kcheck.text.files.tree import display_path
from kcheck.text.partly_known import plain
from kcheck.text.regex import regex
from kcheck.text.syntax import yaml
from kcheck.text.text import Source, Span

SUFFIXES = (".yaml", ".yml")
NAME = regex(r"[a-z0-9]+(-[a-z0-9]+)*")
_CHARACTERS = {
    "single": regex(r"''|\S"),
    "double": regex(r"(?P<blank>\\(?:\n\s*|[ \t_NLPfnrtv]))|\\(?:x..|u.{4}|U.{8}|.)|\S"),
}
_PLAIN = regex(r"\S")
"""How a character that is not blank is written, by the style of the text."""


class File(Struct, frozen=True):
    """A file shaped like a rule: its first document, and the nodes of both."""

    path: str
    group: str
    name: str
    rule: Written
    root: yaml.Target
    documentation: yaml.Target | None

    def location(self, path: tuple[str | int, ...], text: str = "", index: int = 0) -> str:
        """Return the place of a key, or of a character in the text of its value."""
        if path[0] in ("why", "examples", "mistakes") and not text:
            return self._documentation_place(path)
        node = yaml.get(self.documentation if path[0] == "why" else self.root, *path)
        if node is None and path[:1] == ("fix",):  # one change needs no list
            path = ("fix", path[-1])
            node = yaml.get(self.root, *path)
        while node is None and len(path) > 1:  # a sentence may be a text alone
            path = path[:-1]
            node = yaml.get(self.root, *path)
        if isinstance(node, yaml.Scalar):
            begin = node.text.find(text)
            start = node.start if begin < 0 else _offset(node, begin + index)
            return node.source.span(start, start).exact_location
        outer = node if node is not None else next(filter(None, (yaml.get(self.root, *path[:1]), self.root)))
        return outer.span.exact_location

    def unknown_numbers(self) -> Iterator[str]:
        """Yield the holes of its `why` that name no number, with their lines."""
        why = yaml.get(self.documentation, "why")
        for hole in HOLE.finditer(why.text) if isinstance(why, yaml.Scalar) else ():
            if not number(hole[1]):
                flags = (f"flags.{name}" for name in profiles.flag_file()["flags"])
                hint = nearest(hole[1], (*(one.name for one in dates.entries()), *flags))
                yield f"{self.location(('why',), hole[0])}: there is no number {hole[1]}; {hint}"

    def _documentation_place(self, path: tuple[str | int, ...]) -> str:
        """Return where a key of the second document is or would be."""
        found: yaml.Node | None = None
        for i, step in enumerate(path if self.documentation is not None else ()):
            above = yaml.get(self.documentation, *path[:i])
            entry = yaml.entries(above).get(str(step)) if isinstance(above, yaml.Mapping) else None
            node = entry.key if entry else yaml.get(self.documentation, *path[: i + 1])
            found = node or found
        return (found or self.documentation or self.root).span.exact_location


def is_rule_file(path: str) -> bool:
    """Whether a path is a rule file."""
    return path.endswith(SUFFIXES) and os.path.isfile(path)


def find(folder: str) -> Iterator[tuple[str, str]]:
    """List the rule files in a folder as (group, path)."""
    if is_rule_file(folder):
        yield os.path.basename(os.path.dirname(os.path.abspath(folder))), folder
        return
    own = os.path.basename(os.path.abspath(folder))
    for name, is_folder in system.entries(folder):
        path = os.path.join(folder, name)
        if name.endswith(SUFFIXES):
            yield own, path
        elif is_folder and name[0] != ".":
            yield from ((name, os.path.join(path, file)) for file, _ in system.entries(path) if file.endswith(SUFFIXES))


def read(group: str, path: str) -> File:
    """Read and validate one rule file.

    Raises RuleError if it is not YAML, or not shaped like a rule; with all mistakes, a line each.
    """
    from kcheck.config import schemas

    try:
        source = Source(display_path(path), system.read(path))
    except OSError as error:
        raise RuleError(f"{path}: {error.strerror}") from error
    documents = list(yaml.documents(source))
    broken = [document.problem for document in documents if document.problem]
    if broken:
        raise RuleError(*(f"{problem.span.exact_location}: {problem.message}" for problem in broken))
    name = os.path.basename(path).rpartition(".")[0]
    found = [document.root for document in documents if document.root is not None]
    wrong = []
    if not NAME.fullmatch(name):
        wrong.append(f"{source.path}: the file names the rule: lower-case words with dashes, not {name}")
    if not found:
        raise RuleError(f"{source.path}:1:1: there is no rule in it")
    if len(found) > 2:
        at = found[2].span.exact_location
        wrong.append(f"{at}: a rule file has two documents, the rule and its details; this one has {len(found)}")
    for root, part in zip(found, ("rule", "details"), strict=False):
        found_wrong = schemas.differences(schemas.datum(root), f"rule#/$defs/{part}", "key", f"the {part}")
        wrong += [f"{place.exact_location}: {message}" for place, message in found_wrong]
    rule: Written = {} if wrong else plain(schemas.datum(found[0]))
    if rule:
        if ("severity" in rule) == ("grade" in rule):
            wrong.append(f"{found[0].span.exact_location}: the rule needs a severity or a grade, not both")
        if "fix" in rule and (missing := _fix_problem(rule["fix"])):
            wrong.append(f"{_key(found[0], 'fix').exact_location}: {missing}")
    if wrong:
        raise RuleError(*wrong)
    return File(source.path, group, name, rule, found[0], found[1] if len(found) > 1 else None)


def _fix_problem(fix: Written) -> str:
    """Return which keys of a fix are missing or contradict; empty if none."""
    forms = [name for name in ("set", "append", "changes") if name in fix]
    if len(forms) != 1:
        return f"fix needs one of set, append and changes, not {' and '.join(forms) or 'none'}"
    if ("to" in fix) == (forms == ["changes"]):
        return "fix needs `to` inside of each of its changes" if "to" in fix else f"fix needs `to` beside {forms[0]}"
    return ""


def _key(root: yaml.Target, name: str) -> Span:
    entry = yaml.entries(root).get(name) if isinstance(root, yaml.Mapping) else None
    return entry.key.span if entry else root.span


def _offset(node: yaml.Scalar, index: int) -> int:
    """Return the byte offset of a character of a scalar in its file.

    Only non-blank characters are counted, as YAML can fold a block at any blank.
    """
    raw, text = node.span.text, node.text
    begin = raw.find("\n") + 1 if node.style in ("literal", "folded") else 1 if node.style in _CHARACTERS else 0
    written = _CHARACTERS.get(node.style, _PLAIN).finditer(raw, begin)
    spans = [(begin, begin), *(one.span() for one in written if not one.lastgroup), (len(raw), len(raw))]
    before = sum(not one.isspace() for one in text[:index])
    is_behind = not text[index : index + 1].strip() and not text[index - 1 : index].isspace()
    at = spans[before][1] if is_behind else spans[before + 1][0]
    return node.start + len(raw[:at].encode())
