"""Read commands that create clusters in scripts, under Terraform's names."""

import os
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import TypeAlias, TypedDict

from kcheck.config.numbers import profiles
from kcheck.inventory.clouds import registry
from kcheck.terraform.configuration import Configuration
from kcheck.text.files import configurations
from kcheck.text.regex import regex
from kcheck.text.syntax.hcl import nodes, write
from kcheck.text.syntax.hcl.parse import parse_expression
from kcheck.text.text import Source, Span

_Flag: TypeAlias = str | dict[str, str]
"""A path, or how a flag sets it: the head of profiles/gke/commands.yaml lists the keys."""


class _Command(TypedDict, total=False):
    type: str
    name: str
    joins: bool
    always: dict[str, str]
    flags: dict[str, _Flag]


_WORD = regex(
    rb"""(?:\\\r?\n|[ \t])*((?:\\[^\r\n]|'[^']*'|"(?:\\.|[^"\\])*"|`[^`\n]*`|\$\([^()\n]*\)|\$\{[^}\n]{0,500}\}"""
    rb"""|[^\s'"\\;|&()<>`])+)"""
)
_FLAG = regex(rb"--?([a-zA-Z][\w-]*)(=?)")
_SEVERAL = regex(r"[,\s]+")
_VARIABLE = regex(r"\$(?:(\w+)|\{(\w+)(?::?[-=]([^{}$]*))?\})")
_GIVEN = regex(
    rb"^[ \t]*(?:export[ \t]+)?(\w+)=[\"']?(?:\$\{\1:?[-=])?([^\s\"'$`;&|{}]+)\}?[\"']?[ \t]*(?:[;#]|$)", re.MULTILINE
)
_OTHERS = regex(r"\W")


def read(files: Mapping[str, Sequence[Source]]) -> Iterator[tuple[str, Configuration]]:
    """Yield the scripts that create clusters, as declarations of a root module."""
    found = [profiles.load_own(cloud.name, "commands").get("commands", {}) for cloud in registry.every()]
    tables: dict[str, _Command] = {words: command for one in found for words, command in one.items()}
    for source in files[configurations.COMMANDS]:
        result = _Script(source, tables).result
        if result.resources:
            yield os.path.basename(source.path), result


class _Script:
    def __init__(self, source: Source, commands: Mapping[str, _Command]) -> None:
        self.source = source.uneditable
        self.result = Configuration(os.path.dirname(source.path) or ".")
        for words, command in commands.items():
            (tool, _, rest), end = words.replace(" ", "[ \t]+").partition("["), 0
            begin = rb"^[^#\n\"'`]*?\b(%b(?: alpha| beta)?[%b)(?=[ \t\\])" % (tool.encode(), rest.encode())
            for match in re.finditer(begin, source.data, re.MULTILINE):
                if match.start(1) >= end:  # else it is an argument of the one before
                    end = self._add(command, self.source.span(*match.span(1)))
        given = [(match[1].decode(), self.source.span(*match.span(2))) for match in _GIVEN.finditer(source.data)]
        times = Counter(name for name, _ in given)
        for name, place in given:
            if name in self.result.variables and times[name] == 1:  # of two values nobody knows which one counts
                _set(self.result.variables[name].body, "default", place, write.literal(place.text))

    def _add(self, command: _Command, begin: Span) -> int:
        """Add what a command creates, and return its end; of one name the first counts."""
        given, end = self._arguments(begin.end, command["flags"])
        named = [place for name, place in given if command["flags"].get(name) == command.get("name", "name")]
        if not named:  # the cluster is in a file
            return end
        key, whole = (command["type"], _OTHERS.sub("", named[0].text)), self.source.span(begin.start, end)
        body = nodes.Body(whole)
        for path, text in command["always"].items():
            _set(body, path, begin, text)
        flags = [(command["flags"].get(name, ""), place) for name, place in given]
        for flag, place in sorted(flags, key=lambda one: "drops" in one[0]):
            self._set_flag(body, flag, place)
        known = self.result.resources.get(key)
        if known is None and not command.get("joins"):
            self.result.resources[key] = nodes.Block("resource", key, body, whole, begin)
        elif known is not None and command.get("joins"):
            known.body.blocks += body.blocks
        return end

    def _arguments(self, start: int, flags: Mapping[str, _Flag]) -> tuple[list[tuple[str, Span]], int]:
        """Return the flags of a command with the place of their values, and its end."""
        found = [("", self.source.span(start, start))]
        while match := _WORD.match(self.source.data, start):
            flag, start, (name, place) = _FLAG.match(match[1]), match.end(), found[-1]
            begin = match.start(1) + (flag.end() if flag and flag[2] else 0)
            if flag is None and (place.text.startswith("-") or str(flags.get(name)).endswith("[...]")):
                begin = begin if place.text.startswith("-") else place.start
                found.pop()
            else:
                name = flag[1].decode() if flag else ""
            found.append((name, self.source.span(begin, start)))
        return found[1:], start

    def _set_flag(self, body: nodes.Body, flag: _Flag, place: Span) -> None:
        own = {"path": flag} if isinstance(flag, str) else flag
        path, _, fixed = own.get("path", "").partition("=")
        text = re.sub(own.get("without", "") + r"|[\"'\\]", "", place.text)
        kind, _, attribute = own.get("of", "").partition(".")
        label = _OTHERS.sub("", text)
        if dropped := own.get("drops"):
            body.blocks = [block for block in body.blocks if block.type != dropped]
            _below(body, dropped.rpartition(".")[0], place).attributes.pop(dropped.rpartition(".")[2], None)
        if "each" in own:
            for match in re.finditer(own["each"], text):
                inner = _below(body, path, place, new=True)
                for name, value in match.groupdict("").items():
                    _set(inner, name, place, self._expression(value))
        elif (kind, label) in self.result.resources:
            _set(body, path, place, f"{kind}.{label}.{attribute}")
        elif path.endswith("]"):
            items = ", ".join(map(self._expression, _SEVERAL.split(text)))
            _set(body, path.partition("[")[0], place, f"[{items}]")
        elif path:
            text = text.upper().replace("-", "_") if "upper" in own else text
            _set(body, path, place, fixed or self._expression(text.title() if "title" in own else text))

    def _expression(self, text: str) -> str:
        """Return a word of the shell as an expression; its variables are inputs."""
        if text.isdecimal():
            return text
        for match in _VARIABLE.finditer(text):
            place, name = self.source.span(0, 0), match[1] or match[2]
            body = nodes.Body(place)
            _set(body, "type", place, "string")
            if match[3]:
                _set(body, "default", place, write.literal(match[3]))
            self.result.variables.setdefault(name, nodes.Block("variable", (name,), body, place, place))
        if "$" in _VARIABLE.sub("", text) or "`" in text:
            return text  # no expression: only the shell knows it
        return write.template(text, _VARIABLE, lambda match: f"${{var.{match[1] or match[2]}}}")


def _below(body: nodes.Body, path: str, place: Span, *, new: bool = False) -> nodes.Body:
    """Return the body of the nested block at a path, made where it lacks."""
    names = path.split(".") if path else []
    for at, name in enumerate(names, 1):
        found = [] if new and at == len(names) else body.all(name)
        if not found:
            found = [nodes.Block(name, (), nodes.Body(place), place, place)]
            body.blocks.append(found[0])
        body = found[0].body
    return body


def _set(body: nodes.Body, path: str, place: Span, text: str) -> None:
    path, _, name = path.rpartition(".")
    build = partial(parse_expression, text, place)
    _below(body, path, place).attributes[name] = nodes.Attribute(name, place, place, build)
