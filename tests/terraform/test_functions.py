"""Test Terraform's functions: fixed answers, answers of Terraform itself, unknown values, and origins of results."""

from __future__ import annotations

import json
import random
import shutil
import subprocess
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import pytest

from kcheck.terraform import convert
from kcheck.terraform.budget import Budget
from kcheck.terraform.evaluator import evaluate
from kcheck.terraform.functions import FUNCTIONS, reason_for
from kcheck.terraform.scope import Scope
from kcheck.text.data_types import NUMBER, STRING, Null, SetData
from kcheck.text.partly_known import plain, wrap
from kcheck.text.scalars import EvaluationError
from kcheck.text.syntax.hcl.parse import parse
from kcheck.text.text import Source, Span
from kcheck.text.values import Known, Origin, Symbol, Unknown

if TYPE_CHECKING:
    from pathlib import Path

    from kcheck.text.values import Datum

CALLS = r"""
abs(-1.5) | abs("2") | abs(0) | abs(null) | abs("x")
ceil(1.2) | ceil(-1.5) | ceil(3) | floor(-1.5) | floor(2.9) | floor(tonumber("1e30"))
signum(-2) | signum(0) | signum(7) | signum(0.5)
max(1, "2", -3) | max(1.5, 1.25) | max([1, 2]...) | max() | min(1, "2", -3) | min([5]...) | min() | min("a")
sum([1, 2.5, "3"]) | sum([0.1, 0.2]) | sum([]) | sum(["a"]) | sum(toset([1, 2])) | sum({a = 1}) | sum([1, null])
pow(2, 10) | pow(2, 0.5) | pow(2, -1) | pow(10, 30) | pow(2, 100) | pow(3, 40) | pow(0, 0) | pow(-2, 3)
log(8, 2) | log(100, 10) | log(1000, 10) | log(50, 3) | log(1024, 2) | log(7, 2) | log(5, 10) | log(100, 3) | log(1, 2)
ceil(log(5, 2)) | floor(log(256, 2)) | ceil(log(3, 2)) | pow(2, 32 - 20) - 5
parseint("ff", 16) | parseint("FF", 16) | parseint("-101", 2) | parseint("zZ", 62) | parseint("100", 10) | parseint("12", 2)
parseint("0x1f", 16) | parseint("1_0", 10) | parseint("", 10) | parseint("1", 1) | parseint("1", 63)
range(3) | range(1, 4) | range(5, 0) | range(0, 10, 3) | range(0, 1, 0.25) | range(0, 5, -1) | range(0, 5, 0) | range(1025)
range(-3) | range(0) | range(2, 2) | range(10, 0, -4) | range(2, "4") | length(range(1024)) | range(1, 2, 3) | range(5, 1, 1)
alltrue([]) | alltrue([true, "true"]) | alltrue([true, false]) | alltrue([null]) | anytrue([null, true]) | anytrue([])
anytrue([false, "true"]) | anytrue(["x"]) | alltrue(toset([true]))
1 / 3 | 2 / 3 | 10 / 3 | 1 / 7 * 10000000000 | tonumber("1e-10") / 3 | 1 / 1024 | tonumber("1e200") / 3 | tonumber("1e21") | 0.1 + 0.2 == 0.3 | tostring(1 / 3) | tonumber("1e-7")
tonumber("1.50") | tonumber("1e3") | tonumber("+1") | tonumber("-1") | tonumber(".5") | tonumber("5.") | tonumber("007")
tonumber("abc") | tonumber("") | tonumber(" 1") | tonumber("0x10") | tonumber("1_000") | tonumber(true) | tonumber([])
tonumber(null) | tonumber("1E-3") | tonumber("5.e2") | tostring(tonumber("0.10"))
tostring(1.0) | tostring(true) | tostring("a") | tostring(tonumber("1e30")) | tostring(0.1 + 0.2) | tostring([]) | tostring(null)
tobool("true") | tobool("false") | tobool("1") | tobool("0") | tobool("True") | tobool(1) | tobool(null) | tobool("yes")
tolist([1, "a", true]) | tolist([[1], ["a"]]) | tolist([{a = 1}, {a = "b"}]) | tolist([{a = 1}, {b = "b"}]) | tolist([1, [1]])
tolist([[1], [1, "a"]]) | tolist([null, 1]) | tolist(toset(["b", "a"])) | tolist("a") | tolist([1, true]) | tolist([])
tolist({a = 1}) | tolist([[1, "a"], [2, "b"]]) | tolist([[1, "a"], ["b", 2]]) | tolist([[], [1]]) | tolist([{}, {a = 1}])
toset([3, 1, 20]) | toset([3, 1, 20, "a"]) | toset([true, false]) | toset([[1], [0]]) | toset(["b", "a", "Z", "é", "10", "9"])
toset(["a", "a"]) | toset([1, "1"]) | toset("a") | toset({a = 1}) | toset([{b = 1}, {a = 2}]) | toset([]) | toset(toset([1]))
toset([10, 9, 1.5]) | toset(["", " ", "A", "_"])
tomap({a = 1, b = "x"}) | tomap({a = 1, b = true}) | tomap({}) | tomap([1]) | tomap({b = {x = 1}, a = {x = "y"}})
length("héllo") | length("") | length({a = 1}) | length([1, 2]) | length(toset([1, 1])) | length(null) | length(5) | length("🇩🇪é")
concat(["a"], [1]) | concat(["a"], toset(["x"])) | concat() | concat(null, ["a"]) | concat("a") | concat([], [], [1]) | concat([[1]], [2])
slice(["a", "b", "c"], 1, 2) | slice(["a"], 0, 2) | slice(["a", "b"], 1, 1) | slice(["a"], -1, 1) | slice(["a", "b"], 1, 0)
slice(toset(["a"]), 0, 1) | slice([1, 2, 3], "0", "2") | slice("abc", 0, 1)
element(["a", "b"], 3) | element(["a", "b"], 0) | element([], 0) | element(["a"], 0.5) | element(toset(["a"]), 0) | element(["a", 2], 1)
lookup({a = 1}, "b", "x") | lookup({a = 1}, "b") | lookup({a = 1, b = "x"}, "a") | lookup({a = 1, b = "x"}, "c", true)
lookup({a = 1}, "a", null) | lookup({a = null}, "a", "x") | lookup(null, "a", "x") | lookup({a = {b = 1}}, "z", {}) | lookup([1], "a", 1)
merge({a = 1}, {a = "x", b = [1]}, null) | merge() | merge({}, null) | merge({b = 1}, {a = 2}) | merge([1]) | merge([{a = 1}, {b = 2}]...)
keys({b = 1, a = 2}) | keys({}) | keys([1]) | keys({"a b" = 1, A = 2}) | values({b = 1, a = "x"}) | values({}) | values("a")
zipmap(["b", "a"], [1, 2]) | zipmap(["a"], [1, 2]) | zipmap(["a", "a"], [1, 2]) | zipmap([], []) | zipmap([1, 2], ["a", "b"])
zipmap(["a", "b"], [[1], {x = 1}])
coalesce(1, "a") | coalesce("", null, "b") | coalesce(null, "") | coalesce([], [1]) | coalesce(null, []) | coalesce(false, true)
coalesce(0, 1) | coalesce() | coalesce(null, {a = 1}) | coalesce(null, 5) | coalesce("a", true)
coalescelist([], ["a"]) | coalescelist([], []) | coalescelist(null, ["a"]) | coalescelist([1], ["a"]) | coalescelist()
flatten([["a"], [["b"], "c"], toset(["x"]), {a = [1]}]) | flatten("a") | flatten([null, ["a"]]) | flatten({a = 1}) | flatten([])
flatten([[], [[]]]) | flatten(toset([["a"], ["b"]])) | flatten([1, [2, [3, [4]]]])
compact(["a", "", null, "b"]) | compact([1, ""]) | compact([]) | compact([true, "x"]) | compact([["a"]]) | compact(toset(["b", ""]))
distinct([1, "1", 2]) | distinct(["b", "a", "b"]) | distinct([[1], [1]]) | distinct([]) | distinct([{a = 1}, {a = 1}]) | distinct([1, 1.0])
contains(["a", "b"], "a") | contains([1, 2], "1") | contains(["1"], 1) | contains(toset(["a"]), "a") | contains("abc", "a")
contains([], "a") | contains([[1]], [1]) | contains([1, 2], 3) | contains({a = 1}, 1)
index(["a", "b"], "b") | index([1, 2], "1") | index(["a"], "z") | index([], "z") | index([1, 2], 2)
sort(["b", "a", "Z"]) | sort([3, 10, 2]) | sort([]) | sort(toset(["b", "a"])) | sort(["a", null]) | sort([["a"]])
reverse(["a", "b"]) | reverse(toset(["a", "b"])) | reverse("abc") | reverse([]) | reverse([1, "a"])
one([]) | one(["a"]) | one(["a", "b"]) | one(toset(["a"])) | one("a") | one(null) | one([null])
matchkeys(["a", "b", "c"], ["x", "y", "x"], ["x"]) | matchkeys(["a"], ["x", "y"], ["x"]) | matchkeys([1, 2], [1, 2], ["1"])
matchkeys(["a"], ["x"], [])
transpose({a = ["x", "y"], b = ["y"]}) | transpose({}) | transpose({b = ["x"], a = ["x"]}) | transpose({a = [1]})
chunklist([1, 2, 3], 2) | chunklist([1, 2, 3], 0) | chunklist([1], -1) | chunklist([], 2) | chunklist([1, "a", 2], 5)
setunion([1, 2], [3, "a"]) | setunion(["b"], ["a", "b"]) | setunion([], []) | setunion(["a"]) | setunion([[1]], [[2]])
setintersection(["a", "b"], ["b"]) | setintersection(["a"], ["b"]) | setintersection(["a", "b"], ["b", "c"], ["b"]) | setintersection([1], ["1"])
setsubtract(["a", "b"], ["b"]) | setsubtract(["a"], []) | setsubtract([], ["a"]) | setsubtract([1, 2], ["2"])
setproduct(["a", "b"], [1, 2]) | setproduct(toset(["b", "a"]), toset(["x"])) | setproduct(["a"], []) | setproduct(["a"])
setproduct(["a"], ["b"], [true]) | setproduct(["a", 1], [1]) | setproduct(toset([10, 9]), ["x"]) | setproduct(toset([10, 9]), toset([1]))
join(",", ["a", 1, true]) | join(",", ["a"], ["b"]) | join(",", ["a", null]) | join(",", toset(["b", "a"])) | join(",", [["a"]])
join(1, ["a", "b"]) | join("", []) | join(",", "a") | join("-", ["x", 1.50])
split(",", "a,b,,c") | split("", "abc") | split(",", "") | split("ab", "xabyab") | split(",", null)
upper("straße") | lower("ÀB") | upper(true) | upper(null) | upper([]) | lower("ABC") | upper("éa") | upper(1)
title("hello wORLD foo-bar x_y don't éa") | title("") | title("a.b c1d") | strrev("héllo") | strrev("")
substr("hello", 1, -1) | substr("hello", -3, 2) | substr("hello", 2, 100) | substr("hello", 10, 2) | substr("hello", 1, 0)
substr("hello", -10, 2) | substr("hello", 0, 3) | substr("héllo", 1, 2) | substr("hello", 1.5, 1)
trim("?!hello?!", "!?") | trim("a", "") | trim("xxx", "x") | trimspace(" \n\tx ") | trimspace("\u00a0x\u2003") | trimspace("")
trimprefix("helloworld", "hello") | trimprefix("a", "b") | trimsuffix("a.tf", ".tf") | trimsuffix("a", "")
startswith("abc", "a") | startswith("abc", "") | endswith("abc", "bc") | endswith("abc", "x") | strcontains("abc", "b") | strcontains("a", "")
chomp("a\n\r\n\n") | chomp("a\r") | chomp("a\n b") | chomp("") | indent(2, "a\nb\n\nc") | indent(0, "a\nb") | indent(2, "\r\nx")
replace("hello", "l", "L") | replace("abc", "", "-") | replace("a/b", "/", "-") | replace("a//b", "//", "-") | replace("a", "/a", "b")
replace("a1b22", "/[0-9]+/", "<$0>") | replace("a-b", "/(\\w)-(\\w)/", "$2-$1") | replace("ab", "/(?P<x>a)/", "$${x}y")
replace("ab", "/a/", "$1x") | replace("abc", "/b/", "$$") | replace("abc", "/(b)/", "$2") | replace("abc", "/b/", "\\0")
replace("aab", "/a*?/", "x") | replace("baac", "/a*/", "x") | replace("a\nb", "/(?m)^/", "> ") | replace("abc", "/(/", "x")
replace("a.b", "/\\./", "-") | replace("a.b", "/[^a-z0-9-]/", "-") | replace("ab", "/(a)(b)/", "$${2}$${1}") | replace("b", "/(a)?b/", "[$1]")
regex("[a-z]+", "12abc") | regex("(\\d+)-(\\d+)", "1-2") | regex("(?P<a>\\d)(?P<b>x)?", "1") | regex("(a)|b", "b")
regex("x", "y") | regex("(?P<a>.)(.)", "ab") | regex("^\\s*$", "") | regex("[^/]+$", "a/b/c") | regex("(?<x>a)", "a")
regex("[[:alpha:]]+", "12ab") | regex("(?i)abc", "xABC") | regex("a(?=b)", "ab") | regex("(a)\\1", "aa") | regex("a++", "aa")
regex("^arn:aws:eks:([^:]+):(\\d+):cluster/(.+)$", "arn:aws:eks:eu-west-1:123:cluster/x") | regex("(", "a") | regex("\\Aa\\z", "a")
regex("a$", "a\n") | regex("[[a]", "[") | regex("a{,2}", "a{,2}") | regex("[a&&b]+", "&a") | regex("[^[:space:]]+", "a b")
regex("x{2}", "axx") | regex("\\x{41}", "A") | regex("(?s).+", "a\nb") | regex(".+", "a\nb") | regex("(?:a|b)+?", "ab") | regex("\\w+", "éa")
regex("(?s:.)b", "\nb") | regex("\\Qa.b\\E", "a.b") | regex("(?!a)b", "b") | regex("(?<=a)b", "ab") | regex("a*+", "aa") | regex("\\s+", "a\u000bb c")
regexall("(a)(b)?", "abaa") | regexall("\\d", "a1b2") | regexall("a*", "baac") | regexall("x", "y") | regexall("$", "a\n")
regexall("\\b", "ab cd") | regexall("(?P<k>\\w)=(?P<v>\\w)", "a=1,b=2") | length(regexall("^v?1\\.", "v1.29")) > 0
format("%s %d %5.2f %q %v %t", "a", 3, 1.5, "q\"é", [1, "a"], true) | format("%x %X %o %b", 255, 255, 8, 5) | format("%e", 12345.678)
format("%g", 0.0001) | format("%g", 12345.678) | format("%g", 0.00001) | format("%G", "1e-7") | format("%g", 100000) | format("%g", "1e21")
format("%g", 1234567) | format("%v", 1234567) | format("%v", 123456) | format("%v", 12345678.25) | format("%v", tonumber("1e30")) | format("%s", tonumber("1e30"))
format("%05d %-5s| %5s| %+d", 42, "ab", "é", 7) | format("%c", 65) | format("%z", 1) | format("%*d", 5, 3) | format("100%")
format("%v", 1.5) | format("%s", true) | format("%d", "12") | format("%v", {a = 1}) | format("%#v", "x") | format("%03d", 7)
format("%.1f", 0.25) | format("%.0f", 2.5) | format("%.2f", 1 / 3) | format("%5t|", true) | format("%[2]s%[1]s", "a", "b")
format("%[1]s", "a", "b") | format("%[1]s-%[1]s", "a") | format("%[3]s", "a") | format("%d", 1.5) | format("%s", [1]) | format("%s", "a", "b")
format("%s") | format("%08.3f", 3.14159) | format("%+.2e", 12345) | format("%G", "1e20") | format("%6d|", 42) | format("%-6d|", 42)
format("% d", 42) | format("% 5d|", 42) | format("%#x", 255) | format("%#o", 8) | format("%#b", 8) | format("%.3s", "abcdef")
format("%5.1s|", "abc") | format("%q", 1) | format("%v", true) | format("%f", 1) | format("%x", -255) | format("%e", 0) | format("%x", "hi")
format("%05s|", "ab") | format("%-05d|", 42) | format("%+05d", 42) | format("%5q|", "a") | format("%d", "1e20") | format("%d%%", 5)
format("%t", "x") | format("%d", "x") | format(5) | format("%5v|", true) | format("%-8v|", [1]) | format("%v", toset(["a"])) | format("%5%")
format("%s", tostring(null)) | format("%v", tostring(null)) | format("%.3v", "abcdef") | format("plain") | format("%02d", -3) | format("%d", -0.0)
format("%g", 1 / 3) | format("%.3g", 1234.5678) | format("%.3e", 2 / 3) | format("%q", "a\n<&>") | format("%s-%03d", "node", 12)
formatlist("%s-%s", ["a", "b"], "c") | formatlist("%s-%s", ["a", "b"], ["c"]) | formatlist("x") | formatlist("%s", [])
formatlist("%s", toset(["b", "a"])) | formatlist("%s", ["a"], "b") | formatlist("%s%d", ["a", "b"], [1, 2]) | formatlist("%s", "a")
jsonencode({b = 1, a = ["<&>", "é", "\u2028", "\u0001\t\n\"\\\u007f\u0008"], c = null, d = 1.50, e = true}) | jsonencode(toset(["b", "a"]))
jsonencode("a") | jsonencode(null) | jsonencode([]) | jsonencode({}) | jsonencode(tonumber("1e21")) | jsonencode({"<k>" = "</k>"}) | jsonencode("😀")
jsondecode("{\"a\":[1,2.5,null,true,\"x\"]}") | jsondecode("1e3") | jsondecode("") | jsondecode("{\"a\":1,\"a\":2}") | jsondecode("[1] x")
jsondecode("NaN") | jsondecode("\"\\u00e9\"") | jsondecode("{\"b\":1,\"a\":2}") | jsondecode("0.1") | jsondecode("-0") | jsondecode("[1,]")
yamldecode("a: 1\nb: [x, 'y', true, no, ~, 1.5, 0x1f, 010, 1e3]\nc: 2001-01-01") | yamldecode("") | yamldecode("a: &x {q: 1}\nb:\n  <<: *x\n  z: 2")
yamldecode("1: a\ntrue: b") | yamldecode("a: 0o17\nb: 1_000\nc: yes\nd: 0777\ne: 1e5\nf: +1\ng: 0b11") | yamldecode("---\na: 1\n---\nb: 2")
yamldecode("a: 1\na: 2") | yamldecode("a: !!str 5") | yamldecode("a: 2001-01-01T00:00:00Z") | yamldecode("a: [") | yamldecode("a: y\nb: N\nc: On")
yamldecode("a: 12:30:45\nb: 'x'\nc: -.5\nd: NaN\ne: Null\nf: TRUE") | yamldecode("# only a comment") | yamldecode("---\na: 1\n...\n")
yamldecode("a: &x 1\nb: *x") | yamldecode("a: &x [*x]") | yamldecode("a: !foo 5") | yamldecode("? [a]\n: b") | yamldecode("null: 1")
yamldecode("{{ a }}") | yamldecode("a: |\n  x\n  y\nb: >-\n  x\n  y") | yamldecode("x") | yamldecode("- y\n- .5\n- 5.\n- 1e-3\n- 1E5\n- 1.2.3\n- 00\n- 0.10\n- 1e\n- +.5")
yamldecode("a: 2001-12-14 21:59:43.10 -5") | yamldecode("a: 0X1F\nb: 0o8\nc: -0x1f") | yamldecode("v: 1.30") | yamldecode("'5': \"6\"")
yamlencode({b = 1, a = ["x", {c = true, d = null}], s = "multi\nline\n", e = [], m = {}, n = "123", q = "a: b", f = 1.5, z = ""})
yamlencode("x") | yamlencode([1, [2, 3]]) | yamlencode({"a b" = "x", "1" = "y", "é" = "é ü"}) | yamlencode("multi\nline") | yamlencode("multi\nline\n\n")
yamlencode({a = "  lead\nline"}) | yamlencode({a = "x \ny"}) | yamlencode({a = "\n"}) | yamlencode({a = "a\n\nb\n"}) | yamlencode([])
yamlencode({a = "tab\there \"q\" \\ \u0001 \u007f \u2028 é 😀"}) | yamlencode(null) | yamlencode(true) | yamlencode(toset(["b", "a"]))
yamlencode({a = "long long long long long long long long long long long long long long long long long long long long long long long"})
yamlencode({a = {b = {c = "x\ny\n"}}, l = [["x\ny"], [], {}], n = null}) | yamlencode([{a = [{b = 1, c = [1]}]}]) | yamlencode({a = "\ttab\nx"})
yamlencode({a = "cr\r\nx"}) | yamlencode({a = "# c\n- x: {{ y }}\n"}) | yamlencode({a = "<&>", b = 1 / 4, c = -5})
csvdecode("a,b\n1,2\n\"x,y\",z\n") | csvdecode("") | csvdecode("a,b\n1\n") | csvdecode("a,a\n1,2\n") | csvdecode("a\n\n1\n") | csvdecode("a,b\n")
base64encode("héllo") | base64encode("") | base64decode("aGk=") | base64decode("aGk") | base64decode("/w==") | base64decode("a!") | base64decode("aG\nk=")
md5("a") | sha1("a") | sha256("") | sha512("é") | base64sha256("a") | base64sha512("a")
urlencode("a b&c/é?~*+-_.!'()") | urlencode("")
basename("/a/b/") | basename("") | basename("/") | basename("a") | basename("a/b.yaml") | dirname("/a/b/") | dirname("a") | dirname("")
dirname("/a//b/../c") | dirname("/") | dirname("/a") | dirname("a/b/c") | dirname("./a/b") | dirname("//a/b")
uuidv5("dns", "example.com") | uuidv5("6ba7b810-9dad-11d1-80b4-00c04fd430c8", "x") | uuidv5("x", "y") | uuidv5("url", "https://a")
cidrsubnet("10.0.0.0/16", 8, 2) | cidrsubnet("10.1.2.3/16", 8, 2) | cidrsubnet("10.0.0.0/16", 8, 256) | cidrsubnet("10.0.0.0/16", 20, 1)
cidrsubnet("fd00::/48", 16, 10) | cidrsubnet("10.0.0.0/16", 0, 0) | cidrsubnet("010.0.0.0/16", 8, 1) | cidrsubnet("10.0.0.0", 8, 1)
cidrsubnet("10.0.0.0/16", "8", "2") | cidrsubnet("10.0.0.0/16", 1.5, 0) | cidrsubnet("fd00::/16", 40, 1) | cidrsubnet("::ffff:10.0.0.0/112", 8, 1)
cidrsubnet("10.0.0.0/8", 24, 65537) | cidrsubnet("0.0.0.0/0", 8, 10) | cidrsubnet("256.0.0.0/8", 8, 1) | cidrsubnet("10.0.0.0/33", 1, 1)
cidrsubnet("2001:db8:85a3::8a2e:370:7334/56", 8, 3) | cidrsubnet("1::2::3/64", 8, 1) | cidrsubnet("10.0.0.0/-1", 8, 1) | cidrsubnet("::/0", 4, 1)
cidrsubnets("10.0.0.0/16", 8, 4, 2) | cidrsubnets("10.0.0.0/16") | cidrsubnets("10.0.0.0/30", 1, 1, 1) | cidrsubnets("10.0.0.0/16", 0)
cidrsubnets("10.0.0.0/16", 4, 8, 8, 4) | cidrsubnets("fd00::/48", 16, 4) | cidrsubnets("10.0.0.0/16", 1, 1) | cidrsubnets("fd00::/16", 33)
cidrsubnets("10.0.0.0/16", [for i in range(4) : 4]...) | cidrsubnets("10.0.0.0/30", 3)
cidrhost("10.0.0.0/24", 5) | cidrhost("10.0.0.7/24", -1) | cidrhost("10.0.0.0/24", 256) | cidrhost("10.0.0.0/24", -257)
cidrhost("10.0.0.0/24", -256) | cidrhost("fd00::/64", 5) | cidrhost("fd00:0:0:1::/64", -2) | cidrhost("10.0.0.0/32", 0) | cidrhost("1:0:0:2::/64", 3)
cidrnetmask("10.0.0.0/20") | cidrnetmask("0.0.0.0/0") | cidrnetmask("1.2.3.4/32") | cidrnetmask("fd00::/20") | cidrnetmask("x")
nonsensitive("a") | core::upper("a") | core::max(1, 2)
null == null | [1, 2] == [1, 2] | {a = 1} == {a = "1"} | toset([1]) == [1] | {a = 1} == {a = 1} | "1" == 1 | true == 1 | [1] == ["1"] | 1 == 1.0
"""


def calls() -> list[str]:
    """Return the calls in the table above, which ` | ` separates."""
    return [call.strip() for line in CALLS.strip().splitlines() for call in line.split(" | ")]


DIFFERENT: dict[str, str] = {}
"""Calls on which kcheck and Terraform differ, with the reason."""

HERE = Origin(())


def value(text: str, **names: Datum) -> Datum:
    file = parse(Source("x", f"x = {text}\n".encode()))
    assert not file.problems, (text, file.problems)
    return evaluate(file.body.attributes["x"].expression, Scope(names))


def ours(call: str) -> str:
    datum = value(f'try(jsonencode({call}), "ERROR")')
    return str(datum.value) if isinstance(datum, Known) else f"unknown: {datum.reason}"


@pytest.fixture(scope="module")
def theirs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Return Terraform's answer to each call, from one start of its console."""
    terraform = shutil.which("terraform")
    if terraform is None:
        pytest.skip("terraform is not on PATH, so there is nothing to compare with")
    line = "jsonencode([" + ", ".join(f'try(jsonencode({call}), "ERROR")' for call in calls()) + "])"
    folder: Path = tmp_path_factory.mktemp("console")
    run = subprocess.run([terraform, "console"], input=line, capture_output=True, text=True, check=False, cwd=folder)
    assert run.returncode == 0, run.stderr[-2000:]
    printed = json.loads(run.stdout.replace("$${", "${").replace("%%{", "%{").replace("\\x7f", "\x7f"))
    return dict(zip(calls(), json.loads(printed), strict=True))


@pytest.mark.medium
def test_terraform_gives_the_same_function_results(theirs: dict[str, str]) -> None:
    """Calls in DIFFERENT are left out; they are removed from there once kcheck agrees."""
    assert {call: ours(call) for call in calls() if (ours(call) == theirs[call]) == (call in DIFFERENT)} == {}


DIFFERENT |= {}

FIXED: list[tuple[str, Any]] = [
    ('cidrsubnet("10.0.0.0/16", 8, 2)', "10.0.2.0/24"),
    ('cidrsubnets("10.0.0.0/16", 8, 4, 2)', ["10.0.0.0/24", "10.0.16.0/20", "10.0.64.0/18"]),
    ('cidrhost("fd00:0:0:1::/64", -2)', "fd00::1:ffff:ffff:ffff:fffe"),
    ('cidrnetmask("10.0.0.0/20")', "255.255.240.0"),
    ('toset(["b", "a", "b", 10, 9])', ["10", "9", "a", "b"]),
    ('coalesce(null, "", 5)', "5"),
    ("merge({b = 1}, {a = 2}, null)", {"a": 2, "b": 1}),
    ('flatten([["a"], [[], ["b"]]])', ["a", "b"]),
    ('try(regex("x", "y"), "none")', "none"),
    ('replace("a-b", "/(\\\\w)-(\\\\w)/", "$2-$1")', "b-a"),
    ('format("%s-%03d", "node", 12)', "node-012"),
    ('formatlist("%s.%s", ["a", "b"], "c")', ["a.c", "b.c"]),
    ('jsonencode({b = "<&>", a = 1.50})', '{"a":1.5,"b":"\\u003c\\u0026\\u003e"}'),
    ('yamldecode("a: 010\\nb: yes\\nc: 1_000")', {"a": 10, "b": True, "c": "1_000"}),
    ("yamlencode({a = yamlencode({b = 1})})", '"a": |\n  "b": 1\n'),
    ('yamlencode({a = ["x\\ny"], b = 1})', '"a":\n- |-\n  x\n  y\n"b": 1\n'),
    ("ceil(log(1000, 10))", 3),
    ("log(2, 0)", 0),
    ("log(2, -0)", 0),
    ("range(0, 1, 0.5)", [0, Fraction(1, 2)]),
    ("10 / 4 * 2", 5),
    ('dirname("/a//b/../c")', "/a"),
    ('setproduct(["a"], [1, 2])', [["a", 1], ["a", 2]]),
    ('zipmap(["b", "a"], [1, 2])', {"a": 2, "b": 1}),
    ('core::upper("a")', "A"),
]


@pytest.mark.parametrize(("call", "expected"), FIXED, ids=[call for call, _ in FIXED])
def test_functions_return_the_recorded_answers(call: str, expected: Any) -> None:
    found = plain(value(call))
    assert found == expected
    assert isinstance(found, type(expected))
    assert isinstance(found, bool) == isinstance(expected, bool)


@pytest.mark.parametrize(
    "call",
    ["max()", 'tonumber("x")', "slice([1], 0, 2)", "element([], 0)", 'regex("(", "a")', "one([1, 2])", "upper(null)",
     'jsondecode("{")', 'jsondecode("1e999999999")', 'tonumber("1e999999999")', 'cidrsubnet("10.0.0.0/30", 3, 0)',
     'format("%999999999d", 1)', "abs()", 'abs(1, 2)', 'yamldecode("&a [*a]")', 'csvdecode("a,b\\n1\\n")'],
)  # fmt: skip
def test_function_errors_can_be_caught_by_try(call: str) -> None:
    assert plain(value(f'try({call}, "caught")')) == "caught"


LATER = Unknown("var.x has no value")
SUBNET = Unknown("after apply", HERE, Symbol("aws_subnet.a", "id"))
OTHER = Unknown("after apply", HERE, Symbol("aws_subnet.b", "id"))
ONE = Known(1, HERE)
MIXED = Known((ONE, LATER), HERE)
RESOURCE: Known[Any] = Known(object(), HERE)


def unknown(text: str) -> Datum:
    """Return the value of an expression over unknown names.

    `later` has no identity, `id` and `other` belong to resources, and some collections hold them.
    """
    return value(
        text, later=LATER, id=SUBNET, other=OTHER, mixed=MIXED, map=Known({"a": ONE, "b": LATER}, HERE),
        ids=Known((SUBNET, OTHER, SUBNET), HERE), things=Unknown("after apply", HERE, Symbol("aws_subnet.c", "?")),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ("length(mixed)", 2), ("length(concat(mixed, [1]))", 3), ("concat(mixed, [2])[2]", 2), ("slice(mixed, 0, 1)", [1]),
        ("element(mixed, 2)", 1), ('lookup(map, "a", 5)', 1), ('lookup(map, "z", 5)', 5), ("keys(map)", ["a", "b"]),
        ("values(map)[0]", 1), ('merge(map, {b = 2})["b"]', 2), ("length(merge(map, {c = 1}))", 3), ("reverse(mixed)[1]", 1),
        ("length(flatten([mixed, [1]]))", 3), ("chunklist(mixed, 1)[0]", [1]), ('zipmap(["x", "y"], mixed)["x"]', 1),
        ("length(setproduct(mixed, [1, 2]))", 4), ("tolist(mixed)[0]", 1), ("contains(mixed, 1)", True), ("index(mixed, 1)", 0),
        ("length(compact(ids))", 3), ("length(toset(ids))", 2), ("length(distinct(ids))", 2), ("length(toset([later]))", 1),
        ("contains(ids, other)", True), ("anytrue([later, true])", True), ("alltrue([later, false])", False),
        ("id == id", True), ("[1, later] == [2, later]", False), ('length(formatlist("%s", mixed))', 2),
        ("coalesce(1, later)", 1), ("length(matchkeys(mixed, [1, 2], [2]))", 1), ("length(setunion(ids, []))", 2),
    ],
)  # fmt: skip
def test_a_function_result_can_be_known_despite_unknown_parts(call: str, expected: Any) -> None:
    assert plain(unknown(call)) == expected


@pytest.mark.parametrize(
    ("call", "symbol"),
    [
        ("upper(later)", None), ('join(",", mixed)', None), ('format("%s", id)', None), ("contains(mixed, 2)", None),
        ("toset(mixed)", None), ("distinct(mixed)", None), ("sum(mixed)", None), ("jsonencode(map)", None), ("length(id)", None),
        ("compact(mixed)", None), ("coalesce(later, 1)", None), ("coalesce(null, id)", SUBNET.symbol), ("id == other", None),
        ("tostring(id)", SUBNET.symbol), ("element([id], 0)", SUBNET.symbol), ("one([id])", SUBNET.symbol),
        ('lookup({a = id}, "a", null)', SUBNET.symbol), ("one(things)", Symbol("aws_subnet.c", "?")), ("id == null", None),
        ("element(things, 0)", Symbol("aws_subnet.c", "?")), ("tolist(things)", Symbol("aws_subnet.c", "?")),
        ("setintersection(ids, [id])", None), ("merge({a = 1}, later)", None), ("lookup(later, \"a\", 1)", None),
        ("cidrsubnet(later, 8, 1)", None), ("anytrue([later, false])", None), ("concat([1], later)", None),
    ],
)  # fmt: skip
def test_an_unknown_value_keeps_its_reason_and_identity(call: str, symbol: Symbol | None) -> None:
    found = unknown(call)
    assert isinstance(found, Unknown)
    assert found.reason in (LATER.reason, SUBNET.reason)
    assert found.symbol == symbol


def test_the_first_unknown_argument_gives_the_reason() -> None:
    found = FUNCTIONS["replace"]([Known("a", HERE), Unknown("first"), Unknown("second")], HERE, Budget())
    assert isinstance(found, Unknown)
    assert found.reason == "first"


def test_an_error_next_to_an_unknown_argument_is_still_an_error() -> None:
    with pytest.raises(EvaluationError):
        FUNCTIONS["cidrsubnet"]([LATER, Known("x", HERE), ONE], HERE, Budget())


def place(at: int) -> Origin:
    return Origin((Span(Source("x", b"0123456789"), at, at + 1),), literal=True)


A, B = Known("a", place(1)), Known("b", place(2))
LIST = Known((A, B), place(3))
MAP = Known({"x": A, "y": B}, place(4))
CALL = Origin((Span(Source("x", b"0123456789"), 9, 10),))


@pytest.mark.parametrize(
    ("name", "arguments", "pick"),
    [
        ("lookup", [MAP, Known("y", HERE), A], None), ("element", [LIST, ONE], None), ("slice", [LIST, ONE, Known(2, HERE)], 0),
        ("concat", [Known((), HERE), Known((B,), HERE)], 0), ("merge", [MAP, Known({}, HERE)], "y"), ("coalesce", [B, A], None),
        ("values", [MAP], 1), ("tolist", [LIST], 1), ("toset", [LIST], 1), ("flatten", [Known((LIST,), HERE)], 1),
        ("compact", [LIST], 1), ("reverse", [LIST], 0), ("distinct", [LIST], 1), ("one", [Known((B,), HERE)], None),
        ("zipmap", [Known((A,), HERE), Known((B,), HERE)], "a"), ("sort", [LIST], 1), ("nonsensitive", [B], None),
        ("tostring", [B], None), ("coalescelist", [LIST], 1), ("tomap", [MAP], "y"), ("setunion", [LIST], 1),
    ],
)  # fmt: skip
def test_arguments_returned_by_a_function_keep_their_origin(
    name: str, arguments: list[Datum], pick: int | str | None
) -> None:
    found = FUNCTIONS[name](arguments, CALL, Budget())
    if pick is not None:
        assert isinstance(found, Known)
        value: Any = found.value
        found = value[pick]
    assert found.origin == B.origin


@pytest.mark.parametrize(
    "call", ['upper("a")', "length([1])", "keys({a = 1})[0]", 'join("", ["a"])', 'split(",", "a,b")[1]']
)
def test_computed_results_have_the_origin_of_the_call(call: str) -> None:
    found = value(call)
    assert found.origin is not None
    assert not found.origin.literal
    assert found.origin.written.text == call.removesuffix("[0]").removesuffix("[1]")


def test_conversion_keeps_the_origin() -> None:
    one = Known(1, place(5))
    first, second = convert.unify([one, A])
    assert first == Known("1", one.origin)
    assert second is A
    unified = convert.unify([one, LATER, Known(None, HERE)])
    assert unified == [one, LATER, Null(None, HERE, type=NUMBER)]


def test_sets_keep_their_unknown_elements() -> None:
    found = convert.to_set([B, SUBNET, A, SUBNET, OTHER])
    assert isinstance(found, SetData)
    assert found == (A, B, SUBNET, OTHER)


def test_a_call_of_an_unknown_function_has_a_reason() -> None:
    assert reason_for("timestamp") == "timestamp(): its value is only known when Terraform runs"
    assert "provider" in reason_for("provider::aws::arn_parse")
    assert "not evaluated" in reason_for("nonsense")
    assert reason_for("core::uuid").startswith("core::uuid()")


@pytest.mark.medium
def test_no_argument_crashes_a_function() -> None:
    """With any arguments, a function returns a value or reports an error of Terraform's."""
    pick = random.Random(11)
    pool = [
        wrap(item, HERE)
        for item in [
            None, True, False, 0, 1, -1, 2, 33, 0.5, -1.5, 10**40, "", "a", "b", "1", "10.0.0.0/16", "fd00::/48", "é\n", "/(/",
            "%s %d", "%", "{", "a: b", "[*+", "\x00", [], [1, 2], ["a", "b"], [None], [["a"], [1]], {}, {"a": 1}, {"b": ["x"]},
        ]
    ] + [LATER, SUBNET, MIXED, Known(SetData.of((A, B), STRING), HERE), RESOURCE, Known((RESOURCE,), HERE)]  # fmt: skip
    for name, function in FUNCTIONS.items():
        for _ in range(150):
            arguments = [pick.choice(pool) for _ in range(pick.randrange(4))]
            try:
                found = function(arguments, CALL, Budget())
            except EvaluationError:
                continue
            assert isinstance(found, Known | Unknown), (name, arguments)
