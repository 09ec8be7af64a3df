"""Mutations of folders: values from a list of nasty ones, parts of other files, and bytes that are anything."""

from __future__ import annotations

import os
import re
from functools import cache
from typing import TYPE_CHECKING

from fuzzing import corpus

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from random import Random

_HCL = (".tf", ".tfvars", ".hcl")
_YAML = (".yaml", ".yml")
_JSON = (".json",)

_HUGE = b"9" * 5000
_NUMBERS = (
    b"0", b"-1", b"0.5", b"-0.0", b"1e400", b"-1e400", b"1e-400", b"1e999999999", b"3e-4000", b"18446744073709551616",
    b"9223372036854775807", b"1" + b"0" * 80, _HUGE, b"0." + _HUGE, b"1e" + _HUGE, "²".encode(), "١٢".encode(), b"0x10",
    b"010", b"1_000", b"+5", b"1.", b".5", b"1,000", b"nan", b"inf", b"NaN", b"-Infinity", b"50%", b"-5%", b"%",
)  # fmt: skip
_WORDS = (
    b"", b" ", b"\0", b"\x01", b"\x7f", b"\xff", b"\xed\xa0\x80", "é²\u2028\u202e".encode(), b"a\nb", b"a\rb", b"/", b"..", b"../..", b".",
    b"//", b"/dev/null", b"~", b"*", b"**", b"[", b"(", b"\\", b"${", b"%{", b"${x}", b"{{ .x }}", b"$(x)", b"x" * 5000, b"a" * 300 + b"/b",
    b"10.0.0.0/99", b"10.0.0.0", b"fd00::/8", b"10.0.0.0/-1", b"0.0.0.0/0", b"10.1.2.3/8", b"1.33", b"1.999999999999999999999",
    b"9" * 30, b"1.2.3.4.5", b"v", b">= 1, < 0", b"~> x", b"0s", b"-5m", b"1e400h", b"9" * 400 + b"h", b"5Gi", b"1e400Gi", b"-1Gi",
    b"1E999", b"0.5m", b"1ei", b"nvidia.com/gpu", b"true", b"null", b"* * * * *", b"99 99 * * *", b"*/0 * * * *", b"1-0 * * * *",
    b"git::https://x", b"a//b", b"//", b"file:///", b"oci://x", b"@", b":", b"a:b:c@sha256:x", b"=", b"a=b=c", b"--x=" + b"9" * 30,
)  # fmt: skip
_ESCAPES = (b'"\\u0000"', b'"\\ud800"', b'"\\U00110000"', b'"\\x"', b'"\\"', b'"\\0"', b'"\\udfff\\ud800"', b'"\\n"')
_OF_HCL = (
    b"null", b"true", b"[]", b"{}", b"{ a = 1 }", b"[null]", b"[[]]", b"[{}]", b'["a", 1]', b"var.missing", b"local.missing", b"1 / 0",
    b"1 % 0", b"(1)", b"[for a in [1] : a]", b"{ for a in [1] : a => a... }", b"toset([1])", b'tomap({ a = "b" })', b'sensitive("x")',
    b'file("\\u0000")', b'file("..")', b'templatefile("x", {})', b"jsonencode({ a = 1 })", b'jsondecode("[1e400]")', b'yamldecode("a: [.nan]")',
    b'cidrsubnet("10.0.0.0/8", 99, -1)', b'cidrsubnet("10.0.0.0/8", 4, 1e30)', b'cidrhost("10.0.0.0/8", 1e300)', b'formatdate("YYYY", "x")',
    b'timeadd("2017-11-22T00:00:00Z", "1e9h")', b'format("%999999999d", 1)', b'format("%d", 1e400)', b'format("%c", -1)', b'substr("a", -5, 1e30)',
    b'parseint("z", 36)', b'parseint("1", 99)', b"pow(10, 4000)", b"pow(0, -1)", b"pow(-8, 0.5)", b"log(0, 0)", b"log(-1, 10)", b"range(1, 2, 0)", b"element([], 0)",
    b'regex("(", "a")', b'regexall("(?P<x>a)|(b)", "b")', b'replace("a", "/(/", "")', b'split("", "a")', b"chunklist([1], 0)", b"slice([1], 2, 1)",
    b"slice([1], 0.5, 1)", b'substr("abc", 0.5, 1)', b"element([1, 2], 0.5)", b"range(0.5)", b'repeat("a", 2)', b'indent(1e9, "a\\nb")', b'indent(-1, "a\\nb")',
    b"setproduct([], [1])", b"zipmap([1], [])", b'merge([1], "a")', b"flatten(1)", b"length(1)", b"lookup({}, 1)", b'"${1 / 0}"', b'"%{ if x }"', b"!1", b"-true", b"each.value",
    b"count.index", b"self.x", b"path.module", b"terraform.workspace", b"[1][0.5]", b"[1][-1]", b"[1][1e30]", b'{ "" = 1 }', b"{ (null) = 1 }", b"{ a = 1 }.a.b", b"null.a",
    b'base64decode("/w==")', b'base64gzip("a")', b'csvdecode("a,a\\n1,2")', b'csvdecode("")', b'urlencode("\\u0000")', b'textdecodebase64("AA==", "UTF-16")', b'textencodebase64("a", "x")',
    b'trim("a", "")', b"max()", b"min([]...)", b"sum([])", b'sum(["a"])', b"alltrue([null])", b'coalesce("", null)', b'one([1, 2])', b'timecmp("x", "y")', b"ceil(1e400)", b"signum(null)",
    b"aws_eks_cluster.main", b"aws_subnet.a", b"aws_subnet.a[*].id", b"module.x", b"data.x.y.z", b"<<E\nx\nE",
)  # fmt: skip
_OF_YAML = (
    b"~", b"null", b"true", b"yes", b"[]", b"{}", b"{a: 1}", b"[null]", b"[[]]", b"[{}]", b"[a, 1]", b"{a: {b: [c]}}", b".nan", b".inf", b"-.inf", b"2026-11-23",
    b"2026-99-99", b"12:30:45", b"!!binary /w==", b"!!binary x", b"!!float 1e400", b"!!int x", b"!!int 1e3", b"!!timestamp x", b"!!set {a}", b"!!python/object:os.system x", b"!x y",
    b"&a [*a]", b"*missing", b"? a", b"{? [a]: b}", b"|\n  x", b">-\n\n", b"'", b'"', b"{", b"[", b"%", b"@", b"`", b"0o7", b"0b1", b"1e3", b"!!str", b"<<", b"{<<: 1}", b"{<<: [*a]}", b"{1: 2}", b"{null: 1}",
)  # fmt: skip
_OF_JSON = (
    b"null",
    b"true",
    b"[]",
    b"{}",
    b'{"a": 1}',
    b"[null]",
    b"[[]]",
    b"[{}]",
    b'["a", 1]',
    b"NaN",
    b"Infinity",
    b"1e400",
    b"-0",
    b'"${1 / 0}"',
    b'"${var.x}"',
    b'"%{ if"',
)

_VALUES: dict[tuple[str, ...], tuple[re.Pattern[bytes], tuple[bytes, ...], Callable[[bytes], bytes]]] = {
    _HCL: (
        re.compile(rb"(?m)(?<==)[ \t]*([^\s=>][^\n]*?)[ \t]*$"),
        (*_NUMBERS, *_ESCAPES, *_OF_HCL),
        lambda word: b'"' + word.replace(b"\\", b"\\\\").replace(b"\n", b"\\n") + b'"',
    ),
    _YAML: (
        re.compile(rb"(?m)(?<=[:\-])[ \t]+([^\s#][^\n]*?)[ \t]*$|(?<=: )([^\s,{}\[\]:]+)(?=[,}\]])"),
        (*_NUMBERS, *_ESCAPES, *_OF_YAML),
        lambda word: word,
    ),
    _JSON: (
        re.compile(rb'(?<=:) *("(?:[^"\\\n]|\\.)*"|[\w.+-]+|\[[^\[\]{}]*\]|\{[^{}\[\]]*\})'),
        (*_NUMBERS, *_ESCAPES, *_OF_JSON),
        lambda word: b'"' + word.replace(b"\\", b"\\\\").replace(b"\n", b"\\n") + b'"',
    ),
}
"""By the end of the name: where values stand, nasty ones, and how a word is written as a value."""


def _syntax(name: str) -> tuple[str, ...] | None:
    return next((ends for ends in (_JSON, _HCL, _YAML) if name.endswith(ends)), None)


@cache
def _donated(ends: tuple[str, ...]) -> tuple[bytes, ...]:
    """The values of all files of a syntax."""
    pattern = _VALUES[ends][0]
    found = (match for data in corpus.files(*ends) for match in pattern.finditer(data))
    return tuple(dict.fromkeys(match[match.lastindex or 0] for match in found))


# --- one file


def _nasty_value(name: str, data: bytes, random: Random) -> bytes:
    """One value is replaced by one that no reader expects there."""
    ends = _syntax(name)
    if ends is None:
        return _bytes(name, data, random)
    pattern, nasty, written = _VALUES[ends]
    places = list(pattern.finditer(data))
    if not places:
        return _bytes(name, data, random)
    place = random.choice(places)
    text = random.choice(nasty) if random.random() < 0.6 else random.choice(_WORDS + _NUMBERS)
    if text not in nasty or (text in _NUMBERS and random.random() < 0.5):
        text = written(text) if random.random() < 0.7 else b"'" + text + b"'"
    if random.random() < 0.15:
        text = b"[" + text + b"]"
    start, end = place.span(place.lastindex or 0)
    return data[:start] + text + data[end:]


def _other_value(name: str, data: bytes, random: Random) -> bytes:
    """One value is replaced by one that another file has."""
    ends = _syntax(name)
    places = list(_VALUES[ends][0].finditer(data)) if ends else []
    if ends is None or not places:
        return _bytes(name, data, random)
    place = random.choice(places)
    start, end = place.span(place.lastindex or 0)
    return data[:start] + random.choice(_donated(ends)) + data[end:]


def _lines(_name: str, data: bytes, random: Random) -> bytes:
    """Some lines are left out, written twice, moved, or indented."""
    lines = data.splitlines(keepends=True)
    if not lines:
        return data
    at = random.randrange(len(lines))
    some = lines[at : at + random.randint(1, 4)]
    rest = lines[:at] + lines[at + len(some) :]
    what = random.randrange(4)
    if what == 0:
        return b"".join(rest)
    if what == 1:
        return b"".join(lines[:at] + some + lines[at:])
    if what == 2:
        to = random.randrange(len(rest) + 1)
        return b"".join(rest[:to] + some + rest[to:])
    return b"".join(lines[:at] + [random.choice((b" ", b"  ", b"\t", b"- ")) + line for line in some] + rest[at:])


def _splice(name: str, data: bytes, random: Random) -> bytes:
    """Some lines of another file of this syntax come between."""
    others = corpus.files(*(_syntax(name) or (name.rpartition(".")[2],)))
    if not others:
        return data
    other = random.choice(others).splitlines(keepends=True)
    lines = data.splitlines(keepends=True)
    start, at = random.randrange(len(other) or 1), random.randrange(len(lines) + 1)
    return b"".join(lines[:at] + other[start : start + random.randint(1, 30)] + lines[at:])


def _bytes(_name: str, data: bytes, random: Random) -> bytes:
    """Some bytes are left out, changed, or come between."""
    at = random.randrange(len(data) + 1)
    end = at + random.choice((0, 0, 1, 1, 2, 8))
    new = random.choice(
        (
            b"",
            random.randbytes(random.randint(1, 3)),
            random.choice(b"{}[]()\"=\n#$%&*a:- '|>!,.\t\r\0").to_bytes(1, "big"),
            random.choice(_WORDS),
        )
    )
    return data[:at] + new + data[end:]


def _whole(_name: str, data: bytes, random: Random) -> bytes:
    """The file as another program would have written it."""
    text = data.decode("utf-8", "replace")
    ways: tuple[Callable[[], bytes], ...] = (
        lambda: b"",
        lambda: b"\xef\xbb\xbf" + data,
        lambda: text.encode("utf-16"),
        lambda: text.encode("utf-16-le"),
        lambda: text.encode("utf-32"),
        lambda: data.replace(b"\n", b"\r"),
        lambda: data.replace(b"\n", b"\r\n"),
        lambda: data.replace(b"\n", b"\r", 3),
        lambda: data.replace(b"\n", b"\n\r"),
        lambda: data.replace(b"  ", b"\t"),
        lambda: data.replace(b" ", "\u00a0".encode()),
        lambda: data.replace(b"\n", "\u2028".encode()),
        lambda: data[: random.randrange(len(data) + 1)],
        lambda: data + b"\0",
        lambda: b"\n" * 3 + data,
        lambda: data + data,
        lambda: b"---\n" + data + b"\n---\n",
        lambda: random.choice(corpus.files("")),
    )
    return random.choice(ways)()


_UNKNOWN = (
    b"var.x ? %s : null",
    b"var.x ? 1 : 2",
    b"var.x",
    b"[var.x]",
    b"try(var.x, %s)",
    b"sensitive(%s)",
    b"coalesce(var.x, %s)",
)


def _everywhere(name: str, data: bytes, random: Random) -> bytes:
    """All values of one attribute become the same one; in Terraform perhaps one that nobody knows."""
    ends = _syntax(name)
    places = [found for found in _ATTRIBUTE.finditer(data) if found[3]]
    if ends is None or not places:
        return _bytes(name, data, random)
    chosen = random.choice(places)
    form = random.choice(_UNKNOWN) if ends == _HCL and random.random() < 0.6 else random.choice(_donated(ends))
    return _ATTRIBUTE.sub(
        lambda own: own[1] + own[2] + form.replace(b"%s", own[3]) if own[1] == chosen[1] else own[0], data
    )


_ATTRIBUTE = re.compile(rb"(?m)^([ -]*[\w./-]+)([ ]*[:=][ ]+)([^\s{\[#&|>][^\n]*)$")

_WAYS = (_everywhere,) + (_nasty_value,) * 6 + (_other_value,) * 3 + (_lines, _splice, _bytes, _bytes, _whole)


def mutated_bytes(name: str, data: bytes, random: Random) -> bytes:
    """One file, changed in one to four ways."""
    for _ in range(random.choice((1, 1, 1, 2, 2, 4))):
        data = random.choice(_WAYS)(name, data, random)
    return data


def no_regular_file(top: Path, random: Random) -> None:
    """Put something else in the place of a file: a pipe, a folder, a device, or a link to nothing or to itself."""
    files = sorted(path for path in top.rglob("*") if path.is_file())
    if not files:
        return
    path = random.choice(files)
    path.unlink()
    targets = ("nowhere", path.name, "..", "/dev/zero")
    random.choice((lambda: os.mkfifo(path), path.mkdir, lambda: path.symlink_to(random.choice(targets))))()


def mutated(sample: corpus.Sample, random: Random) -> corpus.Sample:
    """The folder with changes in one file, or in several; sometimes one has another name, or is gone."""
    files = dict(sample.files)
    for name in random.sample(sorted(files), min(len(files), random.choice((1, 1, 1, 2, 3)))):
        files[name] = mutated_bytes(name, files[name], random)
    if random.random() < 0.05:
        name = random.choice(sorted(files))
        data = files.pop(name)
        other = random.choice(corpus.samples())
        files[random.choice(sorted(other.files))] = data
    if random.random() < 0.05:
        files |= random.choice(corpus.samples()).files
    return sample._replace(files=files)
