"""Generate random expressions from a typed grammar, and the module whose names they use."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

MODULE = """
variable "names" {
  type    = list(string)
  default = ["b", "a", "é", ""]
}
variable "sizes" {
  type    = list(number)
  default = [3, 1, 2.5, "10"]
}
variable "mixed" {
  type    = list(any)
  default = [1, "x", true]
}
variable "zones" {
  type    = set(string)
  default = ["z2", "z1", "z1"]
}
variable "ports" {
  type    = set(number)
  default = [443, 80, 9]
}
variable "tags" {
  type    = map(string)
  default = { team = "ml", cost = 12, on = true }
}
variable "limits" {
  type    = map(number)
  default = { b = 2, a = "1" }
}
variable "pools" {
  type = list(object({
    name   = string
    size   = optional(number, 3)
    spot   = optional(bool)
    labels = optional(map(string), {})
    disk   = optional(object({ gb = optional(number, 100), type = optional(string, "ssd") }), {})
  }))
  default = [{ name = "gpu", size = "8", labels = { a = 1 } }, { name = "cpu", spot = true, disk = { gb = 50 } }]
}
variable "groups" {
  type    = map(object({ min = number, max = optional(number) }))
  default = { x = { min = 1 }, w = { min = 2, max = 5, other = "dropped" } }
}
variable "cells" {
  type    = set(object({ a = number, b = optional(string, "q") }))
  default = [{ a = 2 }, { a = 1, b = "x" }, { a = 1 }]
}
variable "pair" {
  type    = tuple([string, number])
  default = ["p", "7"]
}
variable "free" {
  default = { list = [1, "a", null], deep = { k = [true] } }
}
variable "nothing" {
  type    = string
  default = null
}
variable "no_list" {
  type    = list(string)
  default = null
}
variable "empty" {
  type    = list(string)
  default = []
}
variable "empty_map" {
  type    = map(number)
  default = {}
}
locals {
  object = { a = 1, b = "x", c = [1, 2], d = { e = null } }
  tuple  = [1, "two", [3], { four = 4 }]
  text   = "node-01"
  count  = 3
  on     = true
  nested = [{ a = [1, 2], b = "x" }, { a = [3, 4], b = "y" }]
  heredoc = <<-EOT
    first
      second ${1 + 1}
  EOT
}
"""

NUMBERS = ["0", "1", "2", "3", "7", "10", "-1", "2.5", "0.1", "1e3", "100000000000000000000001", "local.count",
           "var.sizes[0]", "var.limits.b", "var.pools[0].size", "length(var.names)", "var.pair[1]"]  # fmt: skip
TEXTS = ['""', '"a"', '"b"', '"A-b_c"', '"1"', '"true"', '"é"', '"ß x\\ty"', '"a,b,,c"', '"10.0.0.0/16"', "local.text",
         "var.names[0]", "var.tags.team", "var.pools[1].name", 'var.tags["cost"]', "local.heredoc", '"x.y/z"', '"%s-%d"']  # fmt: skip
FLAGS = ["true", "false", "local.on", "var.pools[1].spot", 'var.tags.on == "true"']
NULLS = ["null", "var.nothing", "tostring(null)", "var.pools[0].spot", "local.object.d.e", "var.no_list"]
LISTS = ["[]", "var.names", "var.sizes", "var.mixed", "var.empty", "var.pair", "local.tuple", "local.nested", "var.pools",
         "var.free.list", "[1, 2, 3]", '["a", "b", "a"]', "[[1], [2, 3]]", '[null, "x"]', "[{ a = 1 }, { a = 2 }]",
         '["b", 1, true]', "tolist([])", "local.object.c"]  # fmt: skip
SETS = ["var.zones", "var.ports", "var.cells", 'toset(["b", "a"])', "toset([2, 10, 1])", "toset([])", "toset([true, false])",
        "toset([[2], [1]])", "toset([{ a = 2, b = 1 }, { a = 1, b = 3 }])"]  # fmt: skip
MAPS = ["{}", "var.tags", "var.limits", "var.groups", "local.object", "var.empty_map", "var.free", "{ a = 1 }",
        '{ a = 1, b = "x" }', '{ "k 1" = [1], (local.text) = 2 }', "{ x = null }", "tomap({ a = 1, b = 2 })",
        'tomap({ b = "q" })', "{ a = { b = 1 }, c = { b = 2 } }", "var.pools[0].labels", "var.pools[0].disk", "{ 1 = 2 }",
        "{ null = 1, true = 2 }"]  # fmt: skip

CALLS = """
abs(N) ceil(N) floor(N) signum(N) max(N,N) min(N,N,N) pow(N,I) log(N,N) parseint(T,I) sum(L) sum(S) range(I) range(I,I) range(N,N,N)
alltrue(L) anytrue(L) alltrue([B,B]) anytrue([B,U])
tostring(V) tonumber(V) tobool(V) tolist(V) toset(V) tomap(M) tolist(L) toset(L) tolist(S) tonumber(T) tobool(T) tostring(N)
length(V) length(T) length(L) concat(L,L) concat(L,S) concat(L,L,L) slice(L,I,I) element(L,I) element(S,I) lookup(M,T,V) lookup(M,T)
lookup(M,"a",N) merge(M,M) merge(M,U,M) merge([M,M]...) keys(M) values(M) zipmap(L,L) zipmap(var.names,L) coalesce(V,V) coalesce(T,T)
coalesce(U,N) coalescelist(L,L) flatten(L) flatten([L,L]) flatten([L,[L]]) compact(L) distinct(L) distinct(S) contains(L,V) contains(S,V)
contains(L,T) index(L,V) sort(L) sort(S) reverse(L) reverse(S) one(L) one(S) one([V]) matchkeys(L,L,L) matchkeys(var.names,var.names,L)
transpose(M) transpose({ a = L, b = ["x"] }) chunklist(L,I) setunion(L,L) setunion(S,S) setintersection(S,S) setintersection(L,L)
setsubtract(S,S) setsubtract(L,L) setproduct(L,L) setproduct(S,S) setproduct(S,L) ephemeralasnull(V)
join(T,L) join(",",S) join(",",L,L) split(T,T) split(",",T) upper(T) lower(T) title(T) strrev(T) substr(T,I,I) trim(T,T) trimspace(T)
trimprefix(T,T) trimsuffix(T,T) startswith(T,T) endswith(T,T) strcontains(T,T) chomp(T) indent(I,T) replace(T,T,T) regex("[a-z]+",T)
regexall("[a-z]",T) regex("(.)-?(.)",T) regex("(?P<x>[a-z])",T) format("%s",V) format("%v",V) format("%d",N) format("%5.2f",N)
format("%q",T) format("%t",B) format("%x",I) format("%e",N) format("%g",N) format("%05d",I) format("%-6s|",T) format("%#v",V)
formatlist("%s",L) formatlist("%s-%s",L,T) formatlist("%v",S) formatlist("%s=%d",L,L)
jsonencode(V) jsondecode(jsonencode(V)) yamlencode(V) yamldecode(yamlencode(V)) base64encode(T) base64decode(base64encode(T)) md5(T) sha1(T)
sha256(T) sha512(T) base64sha256(T) base64sha512(T) urlencode(T) basename(T) dirname(T) uuidv5("dns",T) textencodebase64(T,"UTF-16LE")
textdecodebase64(base64encode("ab"),"UTF-8") csvdecode(T) cidrsubnet("10.0.0.0/16",I,I) cidrsubnets("10.0.0.0/16",I,I)
cidrhost("10.0.0.0/24",I) cidrnetmask("10.0.0.0/20") cidrsubnet(T,I,I) timeadd("2026-01-31T12:00:00Z","1h")
timecmp("2026-01-31T12:00:00Z","2026-01-31T13:00:00+01:00") formatdate("YYYY-MM-DD hh:mm",T) formatdate("EEE","2026-01-31T12:00:00Z")
try(V,V) try(M.zz,N) try(L[9],T) can(V) can(L[9]) can(M.a) try(tonumber(T),0) issensitive(V) nonsensitive(sensitive(T))
"""


class Grammar:
    """A generator of expressions; the same seed gives the same ones."""

    def __init__(self, seed: int) -> None:
        self.pick = random.Random(seed)
        self.calls = _split(" ".join(CALLS.split("\n")).strip())
        self.makers: dict[str, Callable[[int], str]] = {
            "N": self.number, "I": self.small, "T": self.text, "B": self.flag, "U": lambda _: self.pick.choice(NULLS),
            "L": self.list, "S": self.set, "M": self.map, "V": self.any,
        }  # fmt: skip

    def expressions(self, count: int) -> Iterator[str]:
        """Yield different expressions: a few of every function first, then of all kinds."""
        seen: set[str] = set()
        for call in self.calls:
            for _ in range(3):
                seen.add(one := self.filled(call, 0))
                yield one
        while len(seen) < count:
            one = self.any(3)
            if one not in seen and len(one) < 240:
                seen.add(one)
                yield one

    def filled(self, pattern: str, depth: int) -> str:
        """Return a call with its placeholders filled in."""
        parts: list[str] = []
        for at, letter in enumerate(pattern):
            near = pattern[at - 1 : at] + pattern[at + 1 : at + 2]
            place = (
                letter in self.makers and not any(one.isalnum() or one in "_-:%" for one in near) and '"' not in near
            )
            parts.append(self.makers[letter](depth) if place else letter)
        return "".join(parts)

    def call(self, depth: int) -> str:
        return self.filled(self.pick.choice(self.calls), depth - 1)

    def any(self, depth: int) -> str:
        kinds = [self.number, self.text, self.flag, self.list, self.set, self.map]
        choice = self.pick.randrange(14) if depth else self.pick.randrange(8)
        if choice == 6:
            return self.pick.choice(NULLS)
        if choice in (8, 9, 10):
            return self.call(depth)
        if choice == 11:
            return f"({self.flag(depth - 1)} ? {self.any(depth - 1)} : {self.any(depth - 1)})"
        if choice == 12:
            return f"({self.any(depth - 1)} {self.pick.choice(['==', '!='])} {self.any(depth - 1)})"
        if choice == 13:
            return self.access(depth)
        return kinds[choice % 6](depth)

    def access(self, depth: int) -> str:
        deep = depth - 1
        maker: Callable[[], str] = self.pick.choice([
            lambda: f"{self.list(deep)}[{self.small(0)}]", lambda: f"{self.map(deep)}[{self.text(0)}]",
            lambda: f"{self.list(deep)}[*]", lambda: f"{self.list(deep)}[*].a", lambda: f"{self.list(deep)}.*.name",
            lambda: f"{self.map(deep)}.a", lambda: f"{self.any(deep)}[*]", lambda: f"{self.set(deep)}[*]",
            lambda: f"{self.list(deep)}[*][0]", lambda: "local.nested.*.a.1", lambda: "local.nested[*].a[1]",
            lambda: f"{self.set(deep)}[*].a", lambda: "var.pools[*].disk.gb", lambda: f"{self.list(deep)}.0",
        ])  # fmt: skip
        return maker()

    def number(self, depth: int) -> str:
        choice = self.pick.randrange(6) if depth else 0
        if choice <= 1:
            return self.pick.choice(NUMBERS)
        if choice == 2:
            return f"-({self.number(depth - 1)})"
        if choice == 3:
            return f"({self.flag(depth - 1)} ? {self.number(depth - 1)} : {self.number(depth - 1)})"
        return f"({self.number(depth - 1)} {self.pick.choice('+-*/%')} {self.number(depth - 1)})"

    def small(self, _depth: int) -> str:
        return self.pick.choice(["0", "1", "2", "3", "4", "10", "-1", '"1"', "1.5", "local.count", "16"])

    def text(self, depth: int) -> str:
        choice = self.pick.randrange(9) if depth else 0
        deep = depth - 1
        if choice <= 2:
            return self.pick.choice(TEXTS)
        return [
            lambda: f'"<${{{self.any(deep)}}}>"', lambda: f'"${{{self.number(deep)}}}"',
            lambda: f'"%{{ if {self.flag(deep)} }}y${{{self.text(deep)}}}%{{ else }}n%{{ endif }}"',
            lambda: f'"%{{ for x in {self.list(deep)} }}${{x}},%{{ endfor }}"',
            lambda: f'"%{{ for k, v in {self.map(deep)} ~}} ${{k}} %{{~ endfor }}"',
            lambda: f"upper({self.text(deep)})",
        ][choice - 3]()  # fmt: skip

    def flag(self, depth: int) -> str:
        choice = self.pick.randrange(7) if depth else 0
        deep = depth - 1
        if choice <= 1:
            return self.pick.choice(FLAGS)
        if choice == 2:
            return f"!({self.flag(deep)})"
        if choice == 3:
            return f"({self.flag(deep)} {self.pick.choice(['&&', '||'])} {self.flag(deep)})"
        if choice == 4:
            return f"({self.number(deep)} {self.pick.choice(['<', '<=', '>', '>='])} {self.number(deep)})"
        return f"({self.any(deep)} {self.pick.choice(['==', '!='])} {self.any(deep)})"

    def list(self, depth: int) -> str:
        choice = self.pick.randrange(8) if depth else 0
        deep = depth - 1
        if choice <= 2:
            return self.pick.choice(LISTS)
        if choice == 3:
            return "[" + ", ".join(self.any(deep) for _ in range(self.pick.randrange(4))) + "]"
        source = self.pick.choice([self.list, self.set, self.map])(deep)
        if choice == 4:
            return f"[for x in {source} : x]"
        if choice == 5:
            return f"[for k, v in {source} : k if {self.pick.choice(['true', 'k != 1', 'v != null', self.flag(0)])}]"
        if choice == 6:
            return f"({self.flag(deep)} ? {self.list(deep)} : {self.list(deep)})"
        return f"[for k, v in {source} : {{ key = k, value = v }}]"

    def set(self, depth: int) -> str:
        choice = self.pick.randrange(4) if depth else 0
        return self.pick.choice(SETS) if choice <= 1 else f"toset({self.list(depth - 1)})"

    def map(self, depth: int) -> str:
        choice = self.pick.randrange(7) if depth else 0
        deep = depth - 1
        if choice <= 2:
            return self.pick.choice(MAPS)
        if choice == 3:
            return f"{{ a = {self.any(deep)}, b = {self.any(deep)}, (local.text) = {self.number(deep)} }}"
        if choice == 4:
            return f"{{ for k, v in {self.map(deep)} : k => v }}"
        if choice == 5:
            return f'{{ for x in {self.list(deep)} : "${{x}}" => x... }}'
        return f"({self.flag(deep)} ? {self.map(deep)} : {self.map(deep)})"


def _split(text: str) -> list[str]:
    """Return the calls of the table; blanks in brackets or quotes do not separate them."""
    result, current, depth, quoted = [], "", 0, False
    for letter in text:
        quoted = quoted != (letter == '"')
        depth += (letter in "([{") - (letter in ")]}")
        if letter == " " and not depth and not quoted:
            result.append(current)
            current = ""
        else:
            current += letter
    return [one for one in [*result, current] if one]
