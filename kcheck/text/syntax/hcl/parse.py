"""Parse HCL with tree-sitter; broken pieces are cut out."""

import itertools
import re
from importlib import import_module

from tree_sitter import Node

from kcheck.text.regex import regex
from kcheck.text.syntax.hcl import nodes
from kcheck.text.syntax.hcl.hcl1 import rewrite_old_syntax
from kcheck.text.syntax.hcl.template import EscapeError, Kind, decoded, gaps_in, unescape
from kcheck.text.syntax.hcl.trees import body_of, is_dotted, is_legacy, parsed, problem_in, too_long
from kcheck.text.text import BOM, Problem, Source, Span, not_text
from kcheck.text.values import Piece

MAX_DEPTH, MAX_PROBLEMS = 60, 100
"""Nesting of expressions, and problems in a file, beyond which kcheck gives up."""

_NUMBER = regex(r"\d+(?:\.\d+)?(?:[eE][+-]?\d+)?", re.ASCII)
_INDENT = regex(rb"[^\n=]*\{[ \t]*\n(?:[ \t]*(?:#[^\n]*)?\n)*([ \t]+)[A-Za-z_]")
_ATTRIBUTE = regex(rb"[ \t]*([A-Za-z_][\w-]*)[ \t]*=(?![=>])")
_PIECE = regex(rb"^(?=<{7}|\|{7}|={7}|>{7}|[A-Za-z_][\w-]*(?:[ \t]*=[^=]|[ \t]*\{|[ \t]+[\"A-Za-z_]))", re.MULTILINE)


def parse(source: Source) -> nodes.File:
    """Parse a file of Terraform once; syntax errors become problems."""
    if not isinstance(source.tree, nodes.File):
        is_json = source.path.endswith(".json") and not source.derived
        found: nodes.File = import_module("kcheck.text.syntax.hcl.json").parse(source) if is_json else _parsed(source)
        source.tree = found
    return source.tree


def _parsed(source: Source) -> nodes.File:
    source.syntax = "hcl"
    whole = source.span(0, len(source.data))
    body, problem = nodes.Body(whole), not_text(whole) or too_long(source)
    if problem is not None:
        return nodes.File(body, (problem,))
    root = parsed(source.data)
    reader = _Reader(source, 0)
    if not root.has_error:
        reader.fill(body, body_of(root))
        return nodes.File(body, tuple(reader.problems))
    return nodes.File(body, *_pieces(source, body))


_OPENING, _CLOSING = b"x = <<KCHECK_TEMPLATE\n", b"\nKCHECK_TEMPLATE\n"


def parse_template(span: Span) -> nodes.Template | Problem:
    """Parse a file, or a part of one, as a template such as `templatefile` takes."""
    source, data = span.source, span.source.data[span.start : span.end]
    if (problem := not_text(span)) is not None:
        return problem
    root = parsed(_OPENING + data + _CLOSING)
    if root.has_error:
        return Problem("the template cannot be read", span)
    node = root
    while node.type != "heredoc_template":
        node = next(child for child in node.children if child.type not in ("identifier", "=", "comment"))
    start = len(_OPENING)
    reader = _Reader(source, span.start - start)
    try:
        texts = reader.texts(node.children, start, start + len(data), "file")
        return nodes.Template(span, reader.parts(node.children, start, texts, 0), quoted=False)
    except (_TooDeepError, RecursionError):
        return Problem("the template is nested too deeply", span)
    except EscapeError as error:
        return Problem(str(error), span)


def parse_expression(text: str, place: Span) -> nodes.Expression:
    """Parse the text of an expression, placed at `place`."""
    entry = parse(Source(place.source.path, f"x = {text}\n".encode(), derived=True)).body.attributes.get("x")
    if entry is None:
        return nodes.Invalid(place, f"`{text}` is not an expression")
    return nodes.moved(entry.expression, place.source.uneditable.span(place.start, place.end))


def _pieces(source: Source, body: nodes.Body) -> tuple[tuple[Problem, ...], bool]:
    """Parse the file in pieces, split where a block or attribute begins.

    One error makes tree-sitter swallow the rest of a file; the pieces before and after it are intact. The second result
    says whether some were for Terraform before 0.12.
    """
    data = source.data
    start = len(BOM) if data.startswith(BOM) else 0
    cuts = sorted({start, *(match.start() for match in _PIECE.finditer(data)), len(data)})
    problems: list[Problem] = []
    old = False
    for begin, end in itertools.pairwise(cuts):
        piece = data[begin:end]
        root = parsed(piece)
        rewritten = rewrite_old_syntax(piece) if root.has_error else None
        if rewritten is not None:
            again = parsed(rewritten)
            root, old = (root, old) if again.has_error else (again, True)
        if root.has_error:
            problems.append(problem_in(source, begin, piece, root))
            if len(problems) > MAX_PROBLEMS:
                return (*problems, Problem("the rest of this file is not read", source.span(end, end))), old
            _add_intact(source, begin, piece, body)
        else:
            reader = _Reader(source, begin)
            reader.fill(body, body_of(root))
            problems += reader.problems
    return tuple(problems), old


def _add_intact(source: Source, begin: int, piece: bytes, body: nodes.Body) -> None:
    """Add a block that has one broken attribute, as an expression that cannot be read."""
    indent = _INDENT.match(piece)
    lines = regex(rb"^" + indent[1] + rb"(?=[A-Za-z_])|^\}", re.MULTILINE).finditer(piece) if indent else ()
    parts = [(a, b) for a, b in itertools.pairwise(one.start() for one in lines) if parsed(piece[a:b]).has_error]
    if len(parts) != 1 or (name := _ATTRIBUTE.match(piece, *parts[0])) is None:
        return
    start, end = parts[0]
    blank = bytes(10 if byte == 10 else 32 for byte in piece[start:end])
    root = parsed(piece[:start] + blank + piece[end:])
    if not root.has_error:
        _Reader(source, begin).fill(body, body_of(root))
        span = source.span(begin + name.start(1), begin + start + len(piece[start:end].rstrip()))
        key = name[1].decode()
        invalid = nodes.Invalid(span, f"{key} has an error and cannot be read")
        body.blocks[-1].body.attributes.setdefault(key, nodes.Attribute(key, span, span, lambda: invalid))


def _children(node: Node, kind: str) -> list[Node]:
    return [child for child in node.children if child.type == kind]


class _TooDeepError(Exception):
    pass


class _Reader:
    """Converts tree-sitter's nodes of one piece, which starts at `base`."""

    def __init__(self, source: Source, base: int) -> None:
        self.source = source
        self.base = base
        self.problems: list[Problem] = []

    def span(self, node: Node) -> Span:
        return Span(self.source, self.base + node.start_byte, self.base + node.end_byte)

    def between(self, start: int, end: int) -> str:
        return self.source.data[self.base + start : self.base + end].decode()

    def text(self, node: Node) -> str:
        return self.between(node.start_byte, node.end_byte)

    def fill(self, body: nodes.Body, node: Node | None, depth: int = 0) -> None:
        if node is None:
            return
        row = -1
        for child in node.children:
            if child.type == "comment":
                continue
            if child.start_point.row == row:  # the grammar takes it, Terraform does not
                self.problems.append(Problem("a line break is missing before this", self.span(child)))
                continue
            row = child.end_point.row
            if child.type == "attribute":
                entry = self.attribute(child)
                body.attributes.setdefault(entry.name, entry)
            elif child.type == "block" and depth < MAX_DEPTH:
                body.blocks.append(self.block(child, depth))

    def attribute(self, node: Node) -> nodes.Attribute:
        parts = [child for child in node.children if child.type != "comment"]
        value = parts[2]
        return nodes.Attribute(self.text(parts[0]), self.span(node), self.span(value), lambda: self.expression(value))

    def block(self, node: Node, depth: int) -> nodes.Block:
        labels: list[str] = []
        kind, inner, opening, closing = "", None, node, node
        for child in node.children:
            if child.type == "identifier":
                if kind:
                    labels.append(self.text(child))
                kind = kind or self.text(child)
            elif child.type == "string_lit":
                labels.append(self.label(child))
            elif child.type == "body":
                inner = child
            elif child.type == "block_start":
                opening = child
            elif child.type == "block_end":
                closing = child
        span = self.span(node)
        body = nodes.Body(Span(self.source, self.base + opening.start_byte, self.base + closing.end_byte))
        self.fill(body, inner, depth + 1)
        header = self.source.data[span.start : self.base + opening.start_byte].rstrip(b" \t\r\n")
        return nodes.Block(kind, tuple(labels), body, span, span._replace(end=span.start + len(header)))

    # --- expressions

    def expression(self, node: Node) -> nodes.Expression:
        """Build the expression below `node`; Invalid if too deep or wrong."""
        try:
            return self.build(node, 0)
        except (_TooDeepError, RecursionError):
            return nodes.Invalid(self.span(node), "the expression is nested too deeply")
        except EscapeError as error:
            return nodes.Invalid(self.span(node), str(error))

    def build(self, node: Node, depth: int) -> nodes.Expression:
        return self.chain([child for child in node.children if child.type != "comment"], depth)

    def chain(self, parts: list[Node], depth: int) -> nodes.Expression:
        """Build a primary expression and the steps after it."""
        if depth > MAX_DEPTH:
            raise _TooDeepError
        if parts[0].type == "(":
            return self.steps(self.build(parts[1], depth + 1), parts[3:], depth)
        return self.steps(self.primary(parts[0], depth + 1), parts[1:], depth)

    def steps(self, target: nodes.Expression, parts: list[Node], depth: int) -> nodes.Expression:
        if depth > MAX_DEPTH:
            raise _TooDeepError
        for at, part in enumerate(parts):
            span = Span(self.source, target.span.start, self.base + part.end_byte)
            if part.type == "get_attr":
                target = nodes.GetAttr(span, target, self.text(part.children[-1]))
            elif part.type == "index":
                step = part.children[0]
                if step.type == "legacy_index":
                    if at and is_legacy(parts[at - 1]):
                        return nodes.Invalid(span, "`.0.0` is not allowed; `[0][0]` is")
                    digits = self.text(step).lstrip(". ")
                    key = nodes.number(self.span(step), digits)
                else:
                    key = self.build(_children(step, "expression")[0], depth + 1)
                target = nodes.Index(span, target, key)
            elif part.type == "splat":
                step = part.children[0]
                if step.type == "full_splat":  # `[*]` covers all that follows
                    return self.splat(target, step, [*step.children[1:], *parts[at + 1 :]], depth)
                # `.*` covers `.a` and `.0`: an index behind them takes from the list
                inside = step.children[1:]
                count = next((i for i, p in enumerate(inside) if not is_dotted(p)), len(inside))
                target = self.steps(self.splat(target, step, inside[:count], depth), inside[count:], depth)
                following = parts[at + 1].children[0].type if parts[at + 1 :] else ""
                if count == len(inside) and following == "attr_splat":
                    return nodes.Invalid(target.span, "a `.*` cannot stand inside another one; `[*]` can")
        return target

    def splat(self, target: nodes.Expression, marker: Node, inside: list[Node], depth: int) -> nodes.Expression:
        each = self.steps(nodes.Element(self.span(marker)), inside, depth + 1)
        end = self.base + (inside[-1] if inside else marker).end_byte
        return nodes.Splat(Span(self.source, target.span.start, end), target, each)

    def primary(self, node: Node, depth: int) -> nodes.Expression:
        if depth > MAX_DEPTH:
            raise _TooDeepError
        builder = getattr(self, f"_{node.type}", None)
        if builder is None:
            return nodes.Invalid(self.span(node), f"kcheck does not read `{node.type}`")
        result: nodes.Expression = builder(node, depth)
        return result

    def _expression(self, node: Node, depth: int) -> nodes.Expression:
        return self.build(node, depth)

    def _variable_expr(self, node: Node, _depth: int) -> nodes.Expression:
        return nodes.Variable(self.span(node), self.text(node))

    def _literal_value(self, node: Node, _depth: int) -> nodes.Expression:
        child = node.children[0]
        text = self.text(child)
        value: str | bool | None = None
        if child.type == "string_lit":
            value = self.quoted(child)
        elif child.type == "numeric_lit":
            if not _NUMBER.fullmatch(text):
                return nodes.Invalid(self.span(node), f"`{text}` is not a number")
            return nodes.number(self.span(node), text)
        elif child.type == "bool_lit":
            value = text == "true"
        return nodes.Literal(self.span(node), value)

    def _collection_value(self, node: Node, depth: int) -> nodes.Expression:
        child = node.children[0]
        if child.type == "tuple":
            items = tuple(self.build(item, depth) for item in _children(child, "expression"))
            return nodes.Tuple(self.span(node), items)
        entries: list[tuple[nodes.Expression, nodes.Expression]] = []
        end = child.start_byte
        for item in child.children:
            if item.type == "object_elem":
                if entries and not {",", "\n"} & set(self.between(end, item.start_byte)):
                    return nodes.Invalid(self.span(item), "a comma or a new line is missing before it")
                end = item.end_byte
                key, value = _children(item, "expression")[:2]
                entries.append((self.object_key(key, depth), self.build(value, depth)))
        return nodes.Object(self.span(node), tuple(entries))

    def object_key(self, node: Node, depth: int) -> nodes.Expression:
        key = self.build(node, depth)
        written = node.children[0].type
        if isinstance(key, nodes.Variable) and written == "variable_expr":
            return nodes.Literal(key.span, key.name)
        if isinstance(key, nodes.Literal) and written == "literal_value" and isinstance(key.value, bool | None):
            return nodes.Literal(key.span, self.text(node))  # `null`, `true` and `false` are names here
        return key

    def _function_call(self, node: Node, depth: int) -> nodes.Expression:
        lists = _children(node, "function_arguments")
        arguments = tuple(self.build(item, depth) for one in lists for item in _children(one, "expression"))
        spread = any(_children(one, "ellipsis") for one in lists)
        return nodes.Call(self.span(node), self.text(node.children[0]), arguments, spread)

    def _conditional(self, node: Node, depth: int) -> nodes.Expression:
        """Build `a ? b : c ? d : e`: tree-sitter-hcl nests to the left, HCL to the right."""
        branches: list[tuple[Node, Node]] = []
        parts = _children(node, "expression")
        last = parts[2]
        while True:
            first = [child for child in parts[0].children if child.type != "comment"]
            if first[0].type != "conditional":
                branches.append((parts[0], parts[1]))
                break
            inner = _children(first[0], "expression")
            # ((a ? b : c) ? d : e): what stands before the second `?` is c, not the whole conditional
            branches.append((inner[2], parts[1]))
            parts = inner
        end = self.base + last.end_byte
        result = self.build(last, depth)
        for condition, yes in branches:
            span = Span(self.source, self.base + condition.start_byte, end)
            result = nodes.Conditional(span, self.build(condition, depth), self.build(yes, depth), result)
        return result

    def _operation(self, node: Node, depth: int) -> nodes.Expression:
        child = node.children[0]
        parts = [part for part in child.children if part.type != "comment"]
        if child.type == "unary_operation":
            return nodes.Operation(self.span(node), self.text(parts[0]), None, self.chain(parts[1:], depth))
        at = next(i for i, part in enumerate(parts) if i and not part.is_named and part.type not in "()")
        left, right = self.chain(parts[:at], depth), self.chain(parts[at + 1 :], depth)
        return nodes.Operation(self.span(node), self.text(parts[at]), left, right)

    def _for_expr(self, node: Node, depth: int) -> nodes.Expression:
        child = node.children[0]
        intro = _children(child, "for_intro")[0]
        key, name = self.names(intro)
        values = [self.build(part, depth) for part in _children(child, "expression")]
        conditions = [self.build(_children(part, "expression")[0], depth) for part in _children(child, "for_cond")]
        return nodes.For(
            span=self.span(node),
            key=key,
            name=name,
            collection=self.build(_children(intro, "expression")[0], depth),
            result_key=values[0] if child.type == "for_object_expr" else None,
            value=values[-1],
            grouped=bool(_children(child, "ellipsis")),
            condition=conditions[0] if conditions else None,
        )

    def names(self, intro: Node) -> tuple[str | None, str]:
        """Return the loop variables for keys, if any, and for values."""
        names = [self.text(part) for part in _children(intro, "identifier")]
        return names[0] if len(names) > 1 else None, names[-1]

    # --- templates: the text is what lies in the gaps between interpolations

    def label(self, node: Node) -> str:
        try:
            return self.quoted(node)
        except EscapeError:
            return self.text(node).strip('"')

    def quoted(self, node: Node) -> str:
        start, end = node.children[0], node.children[-1]
        return unescape(self.between(start.end_byte, end.start_byte))

    def _template_expr(self, node: Node, depth: int) -> nodes.Expression:
        child = node.children[0]
        first, last, quoted = child.children[0], child.children[-1], child.type == "quoted_template"
        if quoted:
            start, end = first.end_byte, last.start_byte
        else:
            name = next(part for part in child.children if part.type == "heredoc_identifier")
            start = self.source.data.find(b"\n", self.base + name.end_byte) + 1 - self.base
            end = max(start, self.source.data.rfind(b"\n", 0, self.base + last.start_byte) + 1 - self.base)
        kind: Kind = "quoted" if quoted else "flush" if self.text(first) == "<<-" else "heredoc"
        inner = [one for one in child.children if start <= one.start_byte and one.end_byte <= end]
        parts = self.parts(inner, start, self.texts(inner, start, end, kind), depth)
        return nodes.Template(self.span(node), parts, quoted=quoted)

    def texts(self, children: list[Node], start: int, end: int, kind: Kind) -> dict[int, Piece]:
        """Map the offset of each gap between markers to its text."""
        gaps = list(gaps_in(children, start, end, self.between))
        return {
            gap.start: Piece(text, Span(self.source, self.base + gap.start, self.base + gap.end))
            for gap, text in zip(gaps, decoded(gaps, kind), strict=True)
        }

    def parts(
        self, children: list[Node], start: int, texts: dict[int, Piece], depth: int
    ) -> tuple[nodes.Expression | Piece, ...]:
        result: list[nodes.Expression | Piece] = [texts[start]]
        for child in children:
            if child.type == "template_interpolation":
                inner = next((part for part in child.children if part.type == "expression"), None)
                result.append(self.build(inner, depth + 1) if inner else nodes.Invalid(self.span(child), "empty `${}`"))
            elif child.type == "template_directive":
                result.append(self.directive(child.children[0], texts, depth + 1))
            else:
                continue
            result.append(texts[child.end_byte])
        found = [part for part in result if not isinstance(part, Piece) or part.text]
        if len(found) == 1:  # `" ${~ x ~} "` is a text all the same
            found += [part for part in result if part not in found and part.span.start < part.span.end][:1]
        return tuple(found)

    def directive(self, node: Node, texts: dict[int, Piece], depth: int) -> nodes.Expression:
        if depth > MAX_DEPTH:
            raise _TooDeepError
        children = node.children
        intro, close = children[0], children[-1]
        middle = next((i for i, part in enumerate(children) if part.type == "template_else_intro"), None)
        inner = _children(intro, "expression")[0]

        def body(first: Node, inside: list[Node], last: Node) -> nodes.Template:
            span = Span(self.source, self.base + first.end_byte, self.base + last.start_byte)
            return nodes.Template(span, self.parts(inside, first.end_byte, texts, depth), quoted=True)

        if node.type == "template_if":
            stop = children[middle] if middle is not None else close
            yes = body(intro, children[1 : middle or -1], stop)
            empty = nodes.Template(self.span(close), (), quoted=True)
            no = body(children[middle], children[middle + 1 : -1], close) if middle is not None else empty
            return nodes.TemplateIf(self.span(node), self.build(inner, depth), yes, no)
        of, loop = self.build(inner, depth), body(intro, children[1:-1], close)
        return nodes.TemplateFor(self.span(node), *self.names(intro), of, loop)
