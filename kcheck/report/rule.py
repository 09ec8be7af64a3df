"""Pages of rules, and the list of rules."""

import difflib
from collections.abc import Iterable, Iterator, Sequence

from kcheck.engine.rule import Example, Rule
from kcheck.report import layout, limit, page
from kcheck.report.layout import Text
from kcheck.report.page import Block, Code, Facts, Line, Name, Part, Point, Prose, Title
from kcheck.text.bundled import RULES
from kcheck.text.regex import regex
from kcheck.text.syntax import cel

INDEX = "docs/rules.md"
CLASSES = {
    "": "none: a person decides",
    "safe": "safe: nothing is replaced, nothing that runs stops or is evicted sooner, no higher bill",
    "costs": "costs: the bill or the behaviour changes",
    "unsafe": "unsafe: Terraform would replace something, or pods that run today may not; only with --unsafe-fixes",
}
"""Descriptions of the safety classes of fixes."""


def page_path(name: str) -> str:
    """Return the site's page of a rule."""
    return f"{page.RULES}/{name}.md"


def url(rule: Rule) -> str:
    """Return the address of a built-in rule's file; empty for a user's own rule."""
    return f"{page.HOME}/{page.rule_file(rule)}" if rule.path.startswith(RULES) else ""


def severity(rule: Rule) -> str:
    """Return the severity, or the severities a graded rule chooses from."""
    if rule.grade is None:
        return rule.severity
    return "error or warning" if rule.grade.wall else "warning"


def severity_text(rule: Rule) -> str:
    """Return the severity, and whether findings are waste."""
    return severity(rule) + (" (waste)" if rule.waste else "")


def link(rule: Rule) -> Name:
    """Return a rule's name, linked to its page if the rule is built in."""
    return Name(rule.name, page_path(rule.name) if url(rule) else "")


def as_text(rule: Rule, every: Sequence[Rule]) -> Text:
    """Return the page of `kcheck explain`, with the first example only."""
    first = [example for example in rule.documentation.examples if example.bad][:1]
    whole = [*blocks(rule, every), *examples(first), *silence(rule)]
    return page.as_text([*whole, Prose(f"More: {url(rule)}")] if url(rule) else whole)


def blocks(rule: Rule, every: Sequence[Rule]) -> Iterator[Block]:
    """Yield the page of a rule, up to its examples."""
    yield Title(rule.name)
    yield Prose(f"{rule.summary}.")
    rows: list[tuple[str, Line]] = [
        ("severity", (severity_text(rule),)),
        ("fix", (CLASSES[rule.safety] + ("; or unsafe, as said below" if rule.unsafe else ""),)),
        ("judges", ("each ", Name(rule.subject, f"docs/words.md#{rule.subject}"))),
        ("group", (Name(rule.group, f"{INDEX}#{rule.group}" if url(rule) else "", code=False),)),
    ]
    yield Facts(tuple(rows))
    if rule.documentation.why:
        yield Part("Why")
        yield Prose(rule.documentation.why)
    yield Part("Condition")
    yield Code("\n".join(_conditions(rule.as_written)), "cel")
    yield from _by_hand(rule.as_written)
    yield from _related_rules(rule, every)
    entries = rule.entries()
    numbers = [limit.point(name, entry) for name, entry in entries.items() if entry]
    addresses = [Point((name,)) for name, entry in entries.items() if entry is None]
    if numbers:
        yield Part("Numbers")
        yield from numbers
    if addresses:
        yield Part("Sources")
        yield from addresses


def _conditions(rule: Rule) -> Iterator[str]:
    """Yield the rule's expressions, each below a comment that explains it."""
    parts = [(f"variables.{one.name} is", one.expression) for one in rule.variables]
    parts += [("where", rule.when), ("it is a problem that", rule.problem)]
    if rule.grade:
        of = f"by {rule.grade.of}"
        parts += [
            (f"{of}, an error past", rule.grade.wall or ""),
            (f"{of}, a warning past", rule.grade.recommended or ""),
        ]
    parts += [(_CAPPED[cap.severity], cap.where) for cap in rule.at_most]
    parts.append(("its fix is unsafe where", rule.unsafe))
    for comment, text in parts:
        if text:
            yield f"// {comment}"
            yield from text.strip().splitlines()
    if rule.grade:
        yield f"// an info where {rule.grade.of} is not known" + ("" if rule.grade.wall else "; never an error")


_CAPPED = {"warning": "at most a warning where", "info": "an info where"}


def _by_hand(rule: Rule) -> Iterator[Block]:
    """Yield instructions for manual changes: the help, and the cases without a fix."""
    found = [
        Point(("where ", Name(one.where), f": {_readable(one.say)}") if one.where else (_readable(one.say),))
        for one in rule.help
    ]
    for one in rule.withheld:
        found += [Point(("no fix where ", Name(" ".join(one.where.split())), f": {_readable(one.say)}"))]
    if found:
        yield Part("By hand")
        yield from found


_CHOICE = regex(r'"((?:[^"\\]|\\.)+)"')


def _readable(text: str) -> str:
    """Replace the holes of a text by words or expressions."""
    parts = []
    for part in cel.holes(text):
        if isinstance(part, str):
            parts.append(part)
        elif " ? " in part.text and (choices := _CHOICE.findall(part.text)):
            parts.append(" / ".join(choices))
        else:
            parts.append(f"`{' '.join(part.text.split())}`")
    return "".join(parts)


def _related_rules(rule: Rule, every: Sequence[Rule]) -> Iterator[Block]:
    above = [one for one in every if one.name in rule.unless]
    below = [one for one in every if rule.name in one.unless]
    if above or below:
        yield Part("Beside other rules")
    for one in above:
        yield Point(("silent where ", link(one), " has found something on the same object or place"))
    for one in below:
        yield Point(("silences ", link(one), " on the same object or place"))


def examples(shown: Sequence[Example]) -> Iterator[Block]:
    """Yield the findings in examples, and their fixes."""
    for number, example in enumerate(shown, 1):
        yield Part(f"Example {number}" if len(shown) > 1 else "Example")
        given = [f"--nodes {example.nodes}"] if example.nodes else []
        given += [f"--price {example.price}"] if example.price else []
        flags = f", with `{' '.join(given)}`" if given else ""
        if example.bad:
            yield Prose(f"Found{flags}:")
            yield from _files(example.bad)
        if example.fixed:
            yield Prose("What `kcheck fix` changes:")
            yield from (Code(text, "diff") for text in _changes(example.bad, example.fixed))
        if example.good:
            yield Prose("Not found:" if example.bad else f"Not found{flags}:")
            yield from _files(example.good)


def _files(files: dict[str, str]) -> Iterator[Block]:
    for name, text in files.items():
        if len(files) > 1:
            yield Prose(f"`{name}`")
        yield Code(text, name.rpartition(".")[2])


def _changes(old: dict[str, str], new: dict[str, str]) -> Iterator[str]:
    for name, text in new.items():
        lines = difflib.unified_diff(old.get(name, "").splitlines(), text.splitlines(), name, name, lineterm="")
        if found := "\n".join(lines):
            yield found


def silence(rule: Rule) -> Iterator[Block]:
    """Yield the section on silencing a rule."""
    yield Part("Silence it")
    yield Code(f"# kcheck: ignore[{rule.name}] the reason", "yaml")
    yield Prose(
        "A comment on the line, above it, or on the first line of its block; the reason is required. In kcheck.yaml:\n"
        "`suppressions` for one place and a time, `per_path_ignores` for folders, `ignore` for all."
    )


def listing(rules: Iterable[Rule]) -> Iterator[layout.Line]:
    """Yield the list of rules by group."""
    group = ""
    for rule in rules:
        if rule.group != group:
            yield from (layout.Line(),) if group else ()
            yield layout.Line(rule.group, "bold")
        marks = severity(rule) + (", waste" if rule.waste else "") + (f", fix: {rule.safety}" if rule.fixable else "")
        yield layout.line("  ", (rule.name, "bold"), f" ({marks})")
        yield layout.Line(f"    {rule.summary}", hang=0)
        group = rule.group
