"""Test functions that read files, and sensitive values."""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING

import pytest

from kcheck.addons.console import evaluate
from kcheck.config.config import Config

if TYPE_CHECKING:
    from kcheck.addons.console import Answer
    from tests.conftest import Write

pytestmark = pytest.mark.medium

FILES: dict[str, str] = {
    "main.tf": "locals {\n  greeting = \"Hello $${name}\"\n}\n",
    "a.txt": "plain\n",
    "deep/b.yaml": "a: [1, 2]\nb: true\n",
    "deep/er/c.yaml": "x\n",
    "deep/er/d.yml": "y\n",
    "t/hello.tftpl": "Hello ${name}!\n%{ for n in list ~}\n- ${n}\n%{ endfor ~}\nend\\n $${kept} %%{kept}\n",
    "t/if.tpl": "%{ if on }yes ${upper(\"x\")}%{ else }no%{ endif }\n\n\n%{~ if on }z%{ endif ~}\n\n  tail",
    "t/file.tpl": "${file(\"a.txt\")}|${basename(path)}",
    "t/nested.tpl": "${templatefile(\"t/if.tpl\", {on = true})}",
    "t/flush.tpl": "  a\n   b\n",
}  # fmt: skip

EXPRESSIONS = [
    'file("a.txt")', 'file("${path.module}/a.txt")', 'file("./deep/../a.txt")', 'try(file("none"), "none")',
    'fileexists("a.txt")', 'fileexists("none")', 'fileexists("${path.root}/deep/b.yaml")',
    'yamldecode(file("deep/b.yaml"))', 'filemd5("a.txt")', 'filesha1("a.txt")', 'filesha256("a.txt")',
    'filesha512("a.txt")', 'filebase64("a.txt")', 'filebase64sha256("a.txt")', 'filebase64sha512("a.txt")',
    'fileset(".", "*.txt")', 'fileset("${path.module}/deep", "**")', 'fileset("deep", "**/*.yaml")',
    'fileset("deep", "*.{yaml,yml}")', 'fileset("deep", "**/*.{yaml,yml}")', 'fileset("deep", "er/?.y*")',
    'fileset("deep", "er/[!c].y*")', 'fileset("deep/er", "[a-c].yaml")', 'fileset("none", "*")',
    'templatefile("t/hello.tftpl", {name = "you", list = [1, 2]})', 'templatefile("t/if.tpl", {on = true})',
    'templatefile("t/if.tpl", {on = false})', 'templatefile("t/file.tpl", {path = "x/y"})',
    'templatefile("t/flush.tpl", {})', 'try(templatefile("t/nested.tpl", {}), "refused")',
    'try(templatefile("t/hello.tftpl", {}), "refused")', 'path.module', 'path.root', 'abspath("/a/../b")',
    'pathexpand("a/b")', '{ for n in fileset("deep", "**") : n => length(file("deep/${n}")) }',
    'nonsensitive(sensitive("x"))', 'issensitive(sensitive(1))', 'issensitive(1)', 'templatestring(local.greeting, {name = "you"})',
]  # fmt: skip


def test_file_functions_give_the_results_of_terraform(write: Write, terraform: str) -> None:
    write(FILES)
    line = "jsonencode([" + ", ".join(f"jsonencode({e})" for e in EXPRESSIONS) + "])"
    run = subprocess.run([terraform, "console"], input=line, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr[-2000:]
    wanted = [json.loads(answer) for answer in json.loads(json.loads(run.stdout.replace("$${", "${").replace("%%{", "%{")))]  # fmt: skip
    got = [evaluate(e, ".", Config())["value"] for e in EXPRESSIONS]
    assert [(e, a, b) for e, a, b in zip(EXPRESSIONS, got, wanted, strict=True) if a != b] == []


def answer(expression: str) -> Answer:
    return evaluate(expression, ".", Config())


def test_file_functions_read_nothing_outside_the_repository(write: Write) -> None:
    top = write({"repo/.git/HEAD": "", "repo/infra/main.tf": "", "repo/x.txt": "x", "outside.txt": "secret"})
    assert evaluate('file("../x.txt")', "repo/infra", Config())["value"] == "x"
    for path in ("../../outside.txt", str(top / "outside.txt"), "/etc/hostname"):
        for call in (f'file("{path}")', f'fileexists("{path}")', f'templatefile("{path}", {{}})'):
            got = evaluate(call, "repo/infra", Config())
            assert not got["known"]
            assert "outside of the repository" in str(got["reason"])
    (top / "repo/link").symlink_to(top / "outside.txt")
    assert "outside of the repository" in str(evaluate('file("../link")', "repo/infra", Config())["reason"])


def test_values_contain_no_path_of_the_machine(write: Write) -> None:
    top = write({"infra/x.txt": "x"})
    for path in ("path.cwd", "path.root", "path.module", "abspath(path.cwd)", 'pathexpand("~/x")'):
        assert str(top) not in str(evaluate(path, "infra", Config()))
    assert evaluate('file("${path.cwd}/x.txt")', "infra", Config())["value"] == "x"
    assert evaluate("basename(path.cwd)", "infra", Config())["value"] == "infra"


def test_paths_resolve_as_terraform_does(write: Write) -> None:
    write(
        {
            "infra/main.tf": 'module "m" {\n  source = "../modules/m"\n}\n',
            "modules/m/out.tf": 'output "text" {\n  value = file("${path.module}/x.txt")\n}\n'
            'output "root" {\n  value = file("root.txt")\n}\n',
            "modules/m/x.txt": "of the module",
            "infra/root.txt": "of the root",
        }
    )
    assert evaluate("module.m.text", "infra", Config())["value"] == "of the module"
    assert evaluate("module.m.root", "infra", Config())["value"] == "of the root"


@pytest.mark.parametrize(
    "expression",
    ["var.token", "local.token", '"x-${var.token}"', "upper(var.token)", "var.tokens[0]", "module.m.token"],
)
def test_sensitive_values_are_never_shown(expression: str, write: Write) -> None:
    write(
        {
            "main.tf": """
variable "token" {
  default   = "hunter2"
  sensitive = true
}
variable "tokens" {
  default   = ["hunter2"]
  sensitive = true
}
locals {
  token = sensitive("hunter2")
}
module "m" {
  source = "./m"
}
""",
            "m/main.tf": 'output "token" {\n  value     = "hunter2"\n  sensitive = true\n}\n',
        }
    )
    got = answer(expression)
    assert not got["known"]
    assert "sensitive" in str(got["reason"])
    assert "hunter2" not in str(got)


def test_huge_counts_are_not_expanded(write: Write) -> None:
    write({"main.tf": 'resource "aws_subnet" "a" {\n  count = 1000000000\n}\n'})
    assert not answer("length(aws_subnet.a)")["known"]
    assert not answer("aws_subnet.a[5].id")["known"]


def test_binary_files_are_not_read_as_text(write: Write) -> None:
    (write({}) / "x.bin").write_bytes(b"\xff\x00")
    assert answer('filemd5("x.bin")')["known"]
    assert "not UTF-8" in str(answer('file("x.bin")')["reason"])
    assert "not UTF-8" in str(answer('templatefile("x.bin", {})')["reason"])
