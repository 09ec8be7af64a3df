"""CloudFormation templates as root modules, under Terraform's names.

https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/intrinsic-function-reference.html
"""

import os
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import NoReturn, TypedDict

from kcheck.config.numbers import profiles
from kcheck.terraform.configuration import Configuration, Key
from kcheck.text.files import configurations
from kcheck.text.regex import regex
from kcheck.text.syntax import yaml
from kcheck.text.syntax.hcl import nodes, write
from kcheck.text.syntax.hcl.parse import parse_expression
from kcheck.text.text import Source, Span


class _Kind(TypedDict):
    type: str
    names: dict[str, str]


_TAG = regex(rb"!([A-Z]\w+)[ \t\r\n]*\Z")
"""A tag right before its value, such as `!Join`."""
_NEAR = 100
"""Bytes in which a tag is looked for."""
_MOST = 100_000
"""Limit of an expression's text, far above that of any real one."""
_WORD = regex(r"(?<=[a-z\d])(?=[A-Z])")
_PART = regex(r"\$\{(!?)([^}]*)\}")
_SECTIONS = ("Resources", "Conditions", "Mappings")
_OTHERS = regex(r"[^\w-]")
_MAPS = frozenset({"labels", "tags"})
_ZONES, _REGION = ("aws_availability_zones", "available"), ("aws_region", "current")
_PSEUDO = {"AWS::Region": f"data.{'.'.join(_REGION)}.name", "AWS::NoValue": "null"}
_OF_VALUES: dict[str, Callable[[list[str]], str]] = {
    "Join": lambda a: f"join({a[0]}, {a[1]})",
    "Split": lambda a: f"split({a[0]}, {a[1]})",
    "Select": lambda a: f"{a[1]}[tonumber({a[0]})]",
    "Base64": lambda a: f"base64encode({a[0]})",
    "GetAZs": lambda _: f"data.{'.'.join(_ZONES)}.names",
    "Cidr": lambda a: f'[for i in range({a[1]}) : cidrsubnet({a[0]}, 32 - {a[2]} - split("/", {a[0]})[1], i)]',
    "Equals": lambda a: f"(tostring({a[0]}) == tostring({a[1]}))",
    "Not": lambda a: f"!{a[0]}",
    "And": lambda a: f"({' && '.join(a)})",
    "Or": lambda a: f"({' || '.join(a)})",
}
"""Expressions of the functions whose arguments are values."""
_OF_NAMES: dict[str, Callable[["_Template", Sequence[yaml.Node], list[str]], str]] = {
    "Condition": lambda _template, _items, words: f"local.{words[0]}",
    "FindInMap": lambda own, items, words: f"local.mapping_{words[0]}[{own.text(items[1])}][{own.text(items[2])}]",
    "GetAtt": lambda own, _items, words: own.reference(".".join(words)),
    "If": lambda own, items, words: f"(local.{words[0]} ? {own.text(items[1])} : {own.text(items[2])})",
    "Ref": lambda own, _items, words: own.reference(words[0]),
    "Sub": lambda own, items, words: own.substituted(words[0], yaml.pairs(items[1]) if len(items) > 1 else {}),
}
"""Expressions of the functions whose first argument is a name or text, by the arguments and their texts."""


class _UnreadError(Exception):
    """A function whose value only a deployed stack has."""


def read(files: Mapping[str, Sequence[Source]]) -> Iterator[tuple[str, Configuration]]:
    """Yield the names and contents of templates, as declarations of a root module.

    A template that imports another one's only export is merged with it, unless names clash.
    """
    found: list[tuple[_Template, ...]] = []
    for source in files[configurations.CLOUDFORMATION]:
        roots = [document.root for document in yaml.documents(source)]
        if len(roots) == 1 and isinstance(roots[0], yaml.Mapping):
            found.append((_Template([roots[0]]),))
    exported = Counter(name for (one,) in found for name in one.exports)
    for template in [one for (one,) in found]:
        wanted = {name for name in template.imports() if exported[name] == 1}
        joined = [own for own in found if template in own or any(not wanted.isdisjoint(one.exports) for one in own)]
        if len(joined) > 1:
            found = [own for own in found if own not in joined] + [tuple(one for own in joined for one in own)]
    for own in found:
        whole = _Template([root for one in own for root in one.roots])
        for one in (whole,) if whole.is_distinct else own:
            yield one.name, one.configuration()


class _Template:
    """A template, or several merged ones; kinds that kcheck does not judge are None."""

    def __init__(self, roots: list[yaml.Mapping]) -> None:
        self.roots = roots
        self.data: dict[Key, nodes.Block] = {}
        self.opened: list[str] = []
        """Exports whose values are being written."""
        table: dict[str, _Kind] = profiles.load_own("eks", "cloudformation")
        self.resources = self._section("Resources")
        self.kinds = {label: table.get(yaml.text(pair.value, "Type")) for label, pair in self.resources.items()}
        outputs = self._section("Outputs").values()
        named = ((yaml.get(pair.value, "Export", "Name"), yaml.get(pair.value, "Value")) for pair in outputs)
        self.exports = {_export(name): value for name, value in named if name is not None and value is not None}

    @property
    def name(self) -> str:
        return "+".join(os.path.basename(root.source.path).rpartition(".")[0] for root in self.roots)

    @property
    def is_distinct(self) -> bool:
        """Whether no name has two meanings or two defaults in its templates."""
        labels = [(name, label) for root in self.roots for name in _SECTIONS for label in yaml.pairs(root, name)]
        given = [(label, pair.value) for root in self.roots for label, pair in yaml.pairs(root, "Parameters").items()]
        defaults = {(label, yaml.text(value, "Default")) for label, value in given}
        return len(set(labels)) == len(labels) and len(defaults) == len(dict(given))

    def imports(self) -> set[str]:
        """Return the names it imports from other stacks."""
        called = (_function(node) for root in self.roots for node in yaml.walk(root))
        return {_export(found[1]) for found in called if found and found[0] == "ImportValue"}

    def _section(self, name: str) -> dict[str, yaml.Pair]:
        return {label: pair for root in self.roots for label, pair in yaml.pairs(root, name).items()}

    def configuration(self) -> Configuration:
        result = Configuration(os.path.dirname(self.roots[0].source.path) or ".", data=self.data)
        for name, pair in self._section("Parameters").items():
            result.variables[name] = self._variable(name, pair)
        for name, pair in self._section("Conditions").items():
            result.locals[name] = self._attribute(name, pair)
        for name, pair in self._section("Mappings").items():
            result.locals[f"mapping_{name}"] = self._attribute(name, pair)
        for label, pair in self.resources.items():
            if kind := self.kinds[label]:
                result.resources[kind["type"], label] = self._resource(label, pair, kind)
                header = pair.key.span
                for data in (_ZONES, _REGION):
                    self.data[data] = nodes.Block("data", data, nodes.Body(header), header, header)
        return result

    def _variable(self, name: str, pair: yaml.Pair) -> nodes.Block:
        body, kind = nodes.Body(pair.value.span), yaml.text(pair.value, "Type")
        default = yaml.get(pair.value, "Default")
        if isinstance(default, yaml.Scalar):
            is_list = kind.startswith(("CommaDelimitedList", "List<"))
            text = f'split(",", {write.literal(default.text)})' if is_list else write.literal(default.text)
            _set(body, "default", default.span, text)
        if kind == "Number":
            _set(body, "type", pair.key.span, "number")
        return nodes.Block("variable", (name,), body, pair.value.span, pair.key.span)

    def _resource(self, label: str, pair: yaml.Pair, kind: _Kind) -> nodes.Block:
        body = nodes.Body(pair.value.span)
        self._fill(body, yaml.get(pair.value, "Properties"), kind["names"])
        if condition := yaml.text(pair.value, "Condition"):
            _set(body, "count", pair.key.span, f"local.{condition} ? 1 : 0")
        return nodes.Block("resource", (kind["type"], label), body, _uneditable(pair.value.span), pair.key.span)

    def _fill(self, body: nodes.Body, properties: yaml.Node | None, names: Mapping[str, str]) -> None:
        """Add properties to a body; maps become blocks, as in Terraform."""
        for name, pair in yaml.pairs(properties).items():
            own, value = names.get(name, _snake(name)), yaml.resolve(pair.value)
            below = value.items if isinstance(value, yaml.Sequence) else (value,)
            is_plain = own in _MAPS or _function(value) or not all(_is_map(one) for one in below)
            if not own:
                self._fill(body, value, names)
            elif is_plain:
                body.attributes[own] = self._attribute(own, pair)
            for one in () if is_plain or not own else below:
                block = nodes.Body(one.span)
                self._fill(block, one, names)
                body.blocks.append(nodes.Block(own, (), block, _uneditable(one.span), pair.key.span))

    def _attribute(self, name: str, pair: yaml.Pair) -> nodes.Attribute:
        return nodes.Attribute(name, pair.key.span, pair.value.span, partial(self._expression, name, pair.value))

    def _expression(self, name: str, node: yaml.Node) -> nodes.Expression:
        node = yaml.resolve(node)
        if isinstance(node, yaml.Scalar) and not _function(node):
            value = yaml.value(node)
            return nodes.Literal(node.span, node.text if isinstance(value, float) else value)
        if isinstance(node, yaml.Sequence) and not _function(node):
            if name == "tags":
                pairs = [(yaml.get(one, "Key"), yaml.get(one, "Value")) for one in node.items]
                entries = [(self._expression("", k), self._expression("", v)) for k, v in pairs if k and v]
                return nodes.Object(node.span, tuple(entries))
            return nodes.Tuple(node.span, tuple(self._expression("", one) for one in node.items))
        try:
            return parse_expression(self.text(node), node.span)
        except _UnreadError as error:
            return nodes.Invalid(node.span, str(error))

    def text(self, node: yaml.Node, *, inside: bool = False) -> str:
        """Format a value as Terraform writes it; `inside` a function, ignore its tag."""
        node = yaml.resolve(node)
        if found := _function(node, inside=inside):
            text = self._called(*found)
            return text if len(text) < _MOST else _unread(found[0])
        if isinstance(node, yaml.Scalar):
            return write.literal(node.text)
        if isinstance(node, yaml.Sequence):
            return f"[{', '.join(map(self.text, node.items))}]"
        entries = (f"{write.literal(key)} = {self.text(pair.value)}" for key, pair in yaml.pairs(node).items())
        return f"{{{', '.join(entries)}}}"

    def _called(self, name: str, node: yaml.Target, inside: bool) -> str:
        is_list = isinstance(node, yaml.Sequence) and not _function(node, inside=inside)
        items = node.items if isinstance(node, yaml.Sequence) and is_list else (node,)
        words = [one.text if isinstance(one, yaml.Scalar) else "" for one in map(yaml.resolve, items)]
        if name == "ImportValue":
            return self._imported(_export(node), node.span)
        try:
            if name in _OF_NAMES:
                return _OF_NAMES[name](self, items, words) if any(words[:1]) else _unread(name)
            return _OF_VALUES[name]([self.text(one, inside=inside and one is node) for one in items])
        except (KeyError, IndexError):
            _unread(name)

    def substituted(self, text: str, own: Mapping[str, yaml.Pair]) -> str:
        """Return a text with its `${...}` in Terraform's form."""

        def written(match: re.Match[str]) -> str:
            name = match[2].strip()
            if match[1]:
                return f"$${{{name}}}"
            return f"${{{self.text(own[name].value) if name in own else self.reference(name)}}}"

        return write.template(text, _PART, written)

    def _imported(self, name: str, place: Span) -> str:
        """Return the value another template exports, else a data source."""
        if name in self.exports and name not in self.opened:
            self.opened.append(name)
            text = self.text(self.exports[name])
            self.opened.pop()
            return text
        key = "aws_cloudformation_export", _OTHERS.sub("", name).strip("-")
        self.data[key] = nodes.Block("data", key, nodes.Body(place), place, place)
        return f"data.{'.'.join(key)}.value"

    def reference(self, name: str) -> str:
        """Return the Terraform expression for a name, or for an attribute of it."""
        label, _, attribute = name.partition(".")
        if label in _PSEUDO:
            return _PSEUDO[label]
        if label not in self.kinds:
            return f"var.{label}" if label in self._section("Parameters") else _unread(label)
        kind = self.kinds[label] or _unread(f"{name}, which kcheck does not read,")
        own = {"latest_version_number": "latest_version"}.get(_snake(attribute), _snake(attribute))
        own = "id" if not own or own.endswith("_id") else own
        address = f"{kind['type']}.{label}"
        is_conditional = "Condition" in yaml.pairs(self.resources[label].value)
        return f"one({address}[*].{own})" if is_conditional else f"{address}.{own}"


def _unread(name: str) -> NoReturn:
    raise _UnreadError(f"{name} is known to the stack only")


def _function(node: yaml.Target, *, inside: bool = False) -> tuple[str, yaml.Target, bool] | None:
    """Return the function of a value, its argument, and whether it is a tag.

    The other form is `{Fn::Name: argument}`. `inside` the tag's function, ignore the tag.
    """
    before = node.source.data[max(0, node.start - _NEAR) : node.start]
    if not inside and (match := _TAG.search(before)):
        return match[1].decode(), node, True
    pairs = yaml.pairs(node) if isinstance(node, yaml.Mapping) else {}
    name, pair = next(iter(pairs.items()), ("", None))
    if pair is None or len(pairs) != 1 or not (name in ("Ref", "Condition") or name.startswith("Fn::")):
        return None
    return name.removeprefix("Fn::"), yaml.resolve(pair.value), False


def _export(node: yaml.Node) -> str:
    """Return the name of an export as written, without the parts a stack fills in."""
    node = yaml.resolve(node)
    return _PART.sub("", next((one.text for one in yaml.walk(node) if isinstance(one, yaml.Scalar)), ""))


def _is_map(node: yaml.Node) -> bool:
    node = yaml.resolve(node)
    return isinstance(node, yaml.Mapping) and not _function(node)


def _uneditable(place: Span) -> Span:
    """Return the span of a body that no fix can edit."""
    return place.source.uneditable.span(place.start, place.end)


def _snake(name: str) -> str:
    return _WORD.sub("_", name).lower()


def _set(body: nodes.Body, name: str, place: Span, text: str) -> None:
    body.attributes[name] = nodes.Attribute(name, place, place, partial(parse_expression, text, place))
