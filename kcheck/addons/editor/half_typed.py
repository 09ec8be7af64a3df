"""Cursor position in incomplete YAML, found by indentation and brackets."""

from typing import NamedTuple

from kcheck.text.regex import regex

_KEY = regex(r"(\"[^\"]*\"|'[^']*'|[^\s#:{}\[\],&*!|>'\"%@`-][^#:]*?|-[^\s#:][^#:]*?)[ \t]*:(?=[ \t]|$)[ \t]*")
_DASH = regex(r"-(?:[ \t]+|$)")
_COMMENT = regex(r"(?:^|[ \t])#")
_REST = regex(r"[^\s,\[\]{}:#\"']*")
_COLON = regex(r"[\"']?[ \t]*:")

Steps = tuple[str | int, ...]


class Slot(NamedTuple):
    """Place to type at: text range, and steps to its map, list or value.

    At a `key`, the steps lead to the map, and `others` are its other keys. `glued` means directly after `key:`,
    `inline` in brackets, `coloned` before a colon, `dashed` after a dash.
    """

    steps: Steps
    start: int
    end: int
    partial: str
    key: bool
    others: frozenset[str] = frozenset()
    glued: bool = False
    inline: bool = False
    coloned: bool = False
    dashed: bool = False


class _Level(NamedTuple):
    """A key or list item in block style, at its column."""

    column: int
    step: str | int


class _Bracket:
    """An open bracket: the steps to it, and the current position inside."""

    def __init__(self, kind: str, steps: Steps) -> None:
        self.kind = kind
        self.steps = steps
        self.key: str | None = None
        self.index = 0
        self.token = ""

    @property
    def inside(self) -> Steps:
        if self.kind == "[":
            return (*self.steps, self.index)
        return self.steps if self.key is None else (*self.steps, self.key)


def slot(text: str, cursor: int) -> Slot | None:
    """Find the slot at a cursor; None inside comments and multi-line strings."""
    before = _Scan(text[:cursor])
    found = before.at_end()
    if found is None:
        return None
    rest = _REST.match(text, cursor)
    end = rest.end() if rest is not None else cursor
    coloned = found.key and _COLON.match(text, end) is not None
    if found.partial[:1] in ("'", '"') and text[end : end + 1] == found.partial[0]:
        end += 1
    others = _Scan(text).keys.get(found.steps, set()) if found.key else set()
    return found._replace(start=cursor - len(found.partial), end=end, others=frozenset(others), coloned=coloned)


class _Scan:
    def __init__(self, text: str) -> None:
        self.keys: dict[Steps, set[str]] = {}
        self._levels: list[_Level] = []
        self._brackets: list[_Bracket] = []
        self._folded: int | None = None
        *lines, self._last = text.split("\n")
        for line in lines:
            self._feed(line)
        self._rest, self._dashed, self._column = "", False, 0
        self._glued = False
        self._is_value = False
        self._feed(self._last)

    @property
    def _steps(self) -> Steps:
        return tuple(level.step for level in self._levels)

    def at_end(self) -> Slot | None:
        if _is_commented(self._last) or self._folded is not None:
            return None
        if self._brackets:
            top = self._brackets[-1]
            is_key = top.kind == "{" and top.key is None
            return Slot(top.inside, 0, 0, top.token.lstrip(), key=is_key, inline=True)
        if self._is_value:
            return Slot(self._steps, 0, 0, self._rest, key=False, glued=self._glued)
        if not self._dashed:
            self._leave(self._column)
        return Slot(self._steps, 0, 0, self._rest, key=True, dashed=self._dashed)

    def _feed(self, line: str) -> None:
        line = line.rstrip("\r")
        column = len(line) - len(line.lstrip(" "))
        rest = line[column:]
        self._rest, self._dashed, self._column, self._is_value = rest, False, column, False
        if self._brackets:
            self._flow(line)
            return
        if self._folded is not None:
            if not rest or column > self._folded:
                return
            self._folded = None
        if not rest or rest.startswith("#") or rest in ("---", "..."):
            return
        while (dash := _DASH.match(rest)) is not None:
            self._item(column)
            column, rest, self._dashed = column + dash.end(), rest[dash.end() :], True
        self._rest, self._column = rest, column
        found = _KEY.match(rest)
        if found is not None:
            self._leave(column)
            name = found[1].strip("\"'")
            self.keys.setdefault(self._steps, set()).add(name)
            self._levels.append(_Level(column, name))
            self._glued = found[0].endswith(":")
            rest = rest[found.end() :]
            self._rest, self._is_value = rest, True
        if rest[:1] in ("{", "["):
            self._flow(rest)
        elif rest[:1] in ("|", ">") and found is not None:
            self._folded = column

    def _leave(self, column: int) -> None:
        while self._levels and self._levels[-1].column >= column:
            self._levels.pop()

    def _item(self, column: int) -> None:
        index = 0
        while self._levels:
            top = self._levels[-1]
            if top.column == column and isinstance(top.step, int):
                index = top.step + 1
            elif top.column <= column:
                break
            self._levels.pop()
        self._levels.append(_Level(column, index))

    def _flow(self, text: str) -> None:
        """Scan brackets, and ignore what follows the last closed one."""
        at = 0
        while at < len(text):
            character = text[at]
            top = self._brackets[-1] if self._brackets else None
            if character in "\"'":
                close = text.find(character, at + 1)
                end = len(text) if close < 0 else close + 1
                if top is not None:
                    top.token += text[at:end]
                at = end
                continue
            if character == "#" and (at == 0 or text[at - 1] in " \t"):
                return
            if character in "{[":
                self._brackets.append(_Bracket(character, top.inside if top is not None else self._steps))
            elif top is None:
                return
            elif character in "}]":
                self._brackets.pop()
            elif character == ",":
                top.index, top.key, top.token = top.index + 1, None, ""
            elif character == ":" and top.kind == "{" and top.key is None and text[at + 1 : at + 2] in ("", " ", "\t"):
                top.key, top.token = top.token.strip().strip("\"'"), ""
                self.keys.setdefault(top.steps, set()).add(top.key)
            else:
                top.token += character
            at += 1


def _is_commented(line: str) -> bool:
    unquoted = _QUOTED.sub(lambda found: "x" * len(found[0]), line)
    return _COMMENT.search(unquoted) is not None


_QUOTED = regex(r"\"[^\"]*\"|'[^']*'")
