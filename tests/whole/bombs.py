"""Write inputs of a few lines that would exhaust memory or never end."""

from __future__ import annotations

import base64
import gzip
import json
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

Files: TypeAlias = "Mapping[str, str | bytes]"
CHECK = ("check", ".", "--fail-on", "never")


def cluster(name: str = '"a"', pool: str = "", more: str = "") -> str:
    """Return the Terraform of a cluster whose name is an expression."""
    return f"""
resource "azurerm_kubernetes_cluster" "a" {{
  name = {name}
  default_node_pool {{
    name       = "p"
    node_count = 300
    {pool}
  }}
}}
{more}"""


def doubled(first: str, step: str, times: int = 60) -> str:
    """Return a chain of locals, each of which holds the one before it twice."""
    rows = (f"  a{i} = {step.replace('@', f'local.a{i - 1}')}" for i in range(1, times + 1))
    return "\n".join(["locals {", f"  a0 = {first}", *rows, "}\n"])


def expression(value: str, more: str = "") -> dict[str, str]:
    """Return a cluster that has an expression as name and labels."""
    return {"main.tf": cluster(f'"${{{value}}}"', f"node_labels = {value}", more)}


def locals_of(first: str, step: str, use: str = "local.a60") -> dict[str, str]:
    """Return a chain of locals, the last of which a cluster uses."""
    labels = f"node_labels = {{ x = {use} }}\n    zones = {use}"
    return {"main.tf": cluster(f"length({use})", labels, doubled(first, step))}


def job(name: str, more: str = "parallelism: 2") -> str:
    """Return a training job."""
    return (
        f"apiVersion: batch/v1\nkind: Job\nmetadata: {{name: {name}}}\nspec:\n  {more}\n  template:\n    spec:\n"
        "      containers:\n      - {name: c, image: pytorch/pytorch, resources: {limits: {nvidia.com/gpu: 8}}}\n"
    )


LAUGHS = "".join(f"  a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]\n" for i in range(1, 40))
LAUGHS = f"a:\n  a0: &a0 [x, x]\n{LAUGHS}"
MERGES = "a:\n  m0: &m0 {x0: 1}\n" + "".join(
    f"  m{i}: &m{i}\n    <<: [*m{i - 1}, *m{i - 1}]\n    x{i}: 1\n" for i in range(1, 90)
)
LONG = "a" * 40_000

EXPRESSIONS: dict[str, str] = {
    "regex": f'regex("(a+)+$", "{"a" * 40}!")',
    "regexall": f'length(regexall("(a|aa)+$", "{"a" * 60}!"))',
    "replace by a pattern": f'replace("{"a" * 60}!", "/(a*)*b/", "x")',
    "regex of a large repetition": f'regex("((a{{0,100}}){{0,100}}){{0,100}}", "{"a" * 60}")',
    "many matches": f'length(regexall("", "{LONG}"))',
    "quadratic matches": f'length(regexall("a*b", "{LONG}"))',
    "range": "length(range(1e9))",
    "range of tiny steps": "length(range(0, 1, 1e-4000))",
    "loops in loops": "length([for a in range(1000) : [for b in range(1000) : [for c in range(1000) : a + b + c]]])",
    "loops in loops, flat": "sum(flatten([for a in range(1000) : [for b in range(1000) : [for c in range(1000) : a]]]))",
    "loop of a map": '{ for a in range(1000) : "k${a}" => { for b in range(1000) : "k${b}" => range(1000) } }',
    "template loops": '"%{ for a in range(1000) }%{ for b in range(1000) }%{ for c in range(1000) }${a}%{ endfor }%{ endfor }%{ endfor }"',
    "splat of splats": "[for a in range(1000) : range(1000)][*][*][*]",
    "setproduct": "length(setproduct(range(1000), range(1000), range(1000), range(1000)))",
    "setproducts": "length([for a in range(1000) : setproduct(range(300), range(300))])",
    "format": 'format("%1000000000d", 1)',
    "format of a precision": 'format("%.1000000000f", 1)',
    "format of many": 'format("%[1]s", "x")',
    "formatlist": 'formatlist("%10000d%10000d%10000d%10000d", [for a in range(1000) : range(1000)])',
    "number": "1e999999999",
    "small number": "1e-999999999",
    "number as text": 'tonumber("1e999999999")',
    "digits": f'parseint("{"z" * 200_000}", 36)',
    "power": "pow(10, 1e9)",
    "cidrsubnets": 'length(cidrsubnets("10.0.0.0/8", [for a in range(1000) : 20]...))',
    "subnets of loops": 'length([for a in range(1000) : [for b in range(1000) : cidrsubnet("10.0.0.0/8", 16, b)]])',
    "joined": 'join(join("", [for a in range(1000) : "0123456789"]), [for a in range(1000) : "x"])',
    "joined often": 'length([for a in range(1000) : join(join("", [for a in range(1000) : "0123456789"]), range(1000))])',
    "replaced": 'length(replace(join("", range(1000)), "1", join("", range(1000))))',
    "blanks": 'indent(9999, join("\\n", range(1000)))',
    "parenthesis": "(" * 5000 + "1" + ")" * 5000,
    "operators": "1" + " + 1" * 20_000,
    "negations": "!" * 20_000 + "true",
    "conditions": "true ? " * 3000 + "1" + " : 2" * 3000,
    "lists in lists": "[" * 5000 + "]" * 5000,
    "yaml aliases": f"length(yamldecode(<<EOT\n{LAUGHS}EOT\n))",
    "yaml merges": f"length(yamldecode(<<EOT\n{MERGES}EOT\n))",
    "yaml nested": f'yamldecode("{"[" * 5000}")',
    "json nested": f'jsondecode("{"[" * 50_000}")',
    "json number": f'jsondecode("{"9" * 50_000}")',
    "csv": f'length(csvdecode("a\\n{"1" * 100_000}"))',
    "timeadd": f'timeadd("2020-01-01T00:00:00Z", "{"9" * 5000}h")',
    "names": f'startswith("{LONG}", "{LONG}")',
    "globs of fileset": 'length(fileset(".", "' + "*a" * 30 + '*b"))',
}

CHAINS: dict[str, tuple[str, ...]] = {
    "text doubled": ('"x"', '"${@}${@}"'),
    "text doubled by join": ('"x"', 'join("", [@, @])'),
    "text doubled by format": ('"x"', 'format("%s%s", @, @)'),
    "text doubled by replace": ('"x"', 'replace(@, "x", "xx")'),
    "text doubled by a pattern": ('"x"', 'replace(@, "/x/", "xx")'),
    "text encoded": ('"\\""', "jsonencode(@)"),
    "text of unknown parts": ("var.nothing", '"${@}${@}"'),
    "lines of unknown parts": ("var.nothing", "<<EOT\n${@}\n${@}\nEOT\n"),
    "list doubled": ("[1]", "[@, @]"),
    "list doubled by concat": ("[1]", "concat(@, @)"),
    "list doubled by flatten": ("[1]", "flatten([@, @])"),
    "list doubled by a loop": ("[1]", "[for a in [@, @] : a]"),
    "list of unknown parts": ("[var.nothing]", "[@, @]"),
    "map doubled": ("{ x = 1 }", "{ x = @, y = @ }"),
    "map doubled by merge": ("{ x = 1 }", "merge({ x = @ }, { y = @ })"),
    "lists encoded": ("[1]", "jsonencode([@, @])"),
    "shared and encoded": ("[1]", "[@, @]", "jsonencode(local.a60)"),
    "shared and compared": ("[1]", "[@, @]", "local.a60 == local.a59"),
    "shared and made a set": ("[1]", "[@, @]", "toset(local.a60)"),
    "sets": ("[1]", "setproduct(@, @)"),
    "numbers": ("3", "@ * @"),
    "fractions": ("3", "@ * @ / (@ + 1)"),
    "choices": ('"x"', "var.nothing ? [@, 1] : [@, 2]"),
    "choices of elements": ('["x", "y"]', "[@, @][var.nothing]"),
    "texts of choices": ('"x"', '"${var.nothing ? @ : 1}${var.nothing ? @ : 2}"'),
    "conditions": ("1", "@ == 1 ? @ + @ : @ - @"),
    "tries": ("1", "try(@ + [], @ + {}, can(@) ? @ : @)"),
    "sums": ("1", "@ + @"),
}  # fmt: skip


def modules(levels: int, count: str, resource: str = cluster()) -> dict[str, str]:
    """Return a chain of modules, each of which calls the next one several times."""
    files = {f"m{levels}/main.tf": resource}
    for level in range(levels):
        folder = f"m{level}/" if level else ""
        source = f"{'../' if level else './'}m{level + 1}"
        files[f"{folder}main.tf"] = f'module "m" {{\n  source = "{source}"\n  {count}\n}}\n'
    return files


def wide_modules(levels: int) -> dict[str, str]:
    """Return a chain of modules, each of which calls the next one twice."""
    files = {f"m{levels}/main.tf": cluster()}
    for level in range(levels):
        folder = f"m{level}/" if level else ""
        source = f"{'../' if level else './'}m{level + 1}"
        files[f"{folder}main.tf"] = "".join(f'module "{n}" {{\n  source = "{source}"\n}}\n' for n in "ab")
    return files


POOL = """resource "azurerm_kubernetes_cluster_node_pool" "p" {
  %s
  kubernetes_cluster_id = azurerm_kubernetes_cluster.a.id
  name                  = "p"
  node_count            = 3
}
"""
MILLION = "setproduct(range(1000), range(1000))"
DYNAMIC = """dynamic "linux_os_config" {
      for_each = [for a in range(1000) : range(1000)]
      content {
        dynamic "sysctl_config" {
          for_each = linux_os_config.value
          content { vm_max_map_count = 1 }
        }
      }
    }"""


def script() -> str:
    """Return a boot script of 280 MB, compressed and in base64 as in user data."""
    return base64.b64encode(gzip.compress(b"#!/bin/bash\n" + b"echo x\n" * 40_000_000, 9)).decode()


def user_data(value: str) -> dict[str, str]:
    """Return a launch template of EKS with user data."""
    return {
        "main.tf": f"""
resource "aws_eks_cluster" "a" {{
  name = "a"
}}
resource "aws_launch_template" "a" {{
  user_data = {value}
}}
resource "aws_eks_node_group" "a" {{
  cluster_name = aws_eks_cluster.a.name
  launch_template {{
    id = aws_launch_template.a.id
  }}
  scaling_config {{
    max_size = 300
  }}
}}
"""
    }


TERRAFORM: dict[str, Callable[[], Files]] = {
    "count of a pool": lambda: {"main.tf": cluster(more=POOL % "count = 1000000000")},
    "pools": lambda: {"main.tf": cluster(more=POOL % "count = 9999")},
    "keys of a pool": lambda: {"main.tf": cluster(more=POOL % f'for_each = {{ for a in {MILLION} : join("-", a) => 1 }}')},
    "names of a pool": lambda: {"main.tf": cluster(more=POOL % "for_each = toset([for a in range(1000) : [for b in range(1000) : tostring(b)]])")},
    "dynamic blocks": lambda: {"main.tf": cluster(pool=DYNAMIC)},
    "modules in modules": lambda: modules(8, "count = 1000"),
    "modules of many pools": lambda: modules(1, "count = 10000", cluster(more=POOL % "count = 10000")),
    "modules with keys": lambda: modules(6, "for_each = toset([for a in range(1000) : tostring(a)])"),
    "modules called twice": lambda: wide_modules(40),
    "a chain of modules": lambda: modules(400, ""),
    "a module that calls itself": lambda: {"main.tf": 'module "a" {\n  source = "./"\n  count = 1000\n}\nmodule "b" {\n  source = "./."\n}\n'},
    "modules that call each other": lambda: {
        "a/main.tf": 'module "b" {\n  source = "../b"\n  count = 9\n}\n' + cluster(),
        "b/main.tf": 'module "a" {\n  source = "../a"\n  count = 9\n}\n' + cluster(),
    },
    "the size of a pool": lambda: {"main.tf": cluster(pool="auto_scaling_enabled = true\nmax_count = 1000000000")},
    "the size of a pool with an exponent": lambda: {"main.tf": cluster(pool="auto_scaling_enabled = true\nmax_count = 1e4000")},
    "a template of itself": lambda: {
        "main.tf": cluster('templatefile("a.tftpl", { x = 1 })'),
        "a.tftpl": '${templatefile("a.tftpl", { x = 1 })}',
    },
    "a template of loops": lambda: {
        "main.tf": cluster('length(templatefile("a.tftpl", { x = range(1000) }))'),
        "a.tftpl": "%{ for a in x }%{ for b in x }%{ for c in x }0123456789%{ endfor }%{ endfor }%{ endfor }",
    },
    "templates of templates": lambda: {
        "main.tf": cluster("length(local.a30)", more=doubled('"x"', 'templatefile("a.tftpl", { x = @ })')),
        "a.tftpl": "${x}${x}",
    },
    "types in types": lambda: {"main.tf": cluster("var.a", more=f'variable "a" {{\n  type = {"list(" * 3000}any{")" * 3000}\n  default = []\n}}')},
    "broken everywhere": lambda: {"main.tf": cluster() + 'resource "a" {\n  x = [ { "\n' * 40_000},
    "brackets": lambda: {"main.tf": cluster() + "x = " + "[{(" * 100_000},
    "quotes": lambda: {"main.tf": cluster() + '"${' * 100_000},
    "heredocs": lambda: {"main.tf": cluster() + "x = <<EOT\n" * 50_000},
    "blocks in blocks": lambda: {"main.tf": cluster() + "a {\n" * 50_000 + "}\n" * 50_000},
    "lines of comments": lambda: {"main.tf": cluster() + "# kcheck: ignore[x] y\n" * 10_000},
    "a long line": lambda: {"main.tf": cluster() + f'locals {{\n  a = "{"x" * 1_000_000}"\n}}\n'},
    "a long line of values": lambda: {"main.tf": cluster("length(local.a)") + f"locals {{\n  a = [{'1, ' * 30_000}]\n}}\n"},
    "JSON nested": lambda: {"main.tf.json": '{"locals": {"a": ' + "[" * 100_000 + "}", "main.tf": cluster()},
    "JSON of templates": lambda: {"main.tf.json": json.dumps({"locals": {"a": "${" * 50_000}}), "main.tf": cluster("local.a")},
    "a boot script": lambda: user_data('base64encode("' + "echo x\\\\n" * 500_000 + '")'),
    "a boot script as base64": lambda: user_data('"' + base64.b64encode(b"#!/bin/bash\n" + b"echo --max-pods=3 x\n" * 150_000).decode() + '"'),
    "a compressed boot script": lambda: user_data(f'"{script()}"'),
    "a boot script of one line": lambda: user_data('"' + base64.b64encode(b"#!/bin/bash\n" + b"/etc/eks/bootstrap.sh " + b"--a " * 700_000).decode() + '"'),
    "variables": lambda: {"main.tf": cluster("var.a", more='variable "a" {}\n'), "terraform.tfvars": "a = " + "[" * 20_000},
}  # fmt: skip

POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec:\n"
ALIASES = (
    "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec:\n  initContainers:\n  - &c {name: c, image: pytorch/pytorch}\n"
    "  containers: [" + "*c," * 50_000 + "]\n"
)
JOBS = (
    "apiVersion: v1\nkind: List\nitems:\n- &j\n  apiVersion: batch/v1\n  kind: Job\n  metadata: {name: a}\n"
    "  spec: {parallelism: 2, template: {spec: {containers: [{name: c, image: x}]}}}\n" + "- *j\n" * 20_000
)
CHAIN = (
    "apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: ConfigMap\n  metadata: {name: a}\n  data:\n"
    "    k0: &k0 x\n" + "".join(f"    k{i}: &k{i} [*k{i - 1}]\n" for i in range(1, 3000))
)
VARS = "resources: [list.yaml]\nvars:\n- name: V\n  objref: {kind: ConfigMap, name: a, apiVersion: v1}\n"


def bases(levels: int, more: str = "", last: str = "resources: [a.yaml]\n") -> dict[str, str]:
    """Return a chain of kustomizations, each of which includes the next one twice."""
    files = {f"k{levels}/kustomization.yaml": last, f"k{levels}/a.yaml": job("a")}
    for level in range(levels):
        files[f"k{level}/kustomization.yaml"] = f"resources: [../k{level + 1}, ./x]\n{more}"
        files[f"k{level}/x/kustomization.yaml"] = f"resources: [../../k{level + 1}]\nnameSuffix: -x{level}\n"
    return files


KUBERNETES: dict[str, Callable[[], Files]] = {
    "containers by aliases": lambda: {"a.yaml": ALIASES},
    "jobs by aliases": lambda: {"a.yaml": JOBS},
    "laughs": lambda: {"a.yaml": POD + "  containers: *a39\n" + LAUGHS, "b.yaml": LAUGHS + POD + "  containers: *a39\n"},
    "laughs in values": lambda: {"a.yaml": LAUGHS + POD + "  containers: [{name: c, args: *a39, env: *a39, resources: *a39}]\n  tolerations: *a39\n"},
    "merges": lambda: {"a.yaml": MERGES + POD + "  <<: *m89\n  containers: []\n"},
    "nested": lambda: {"a.yaml": POD + "  containers: " + "[" * 1_000_000},
    "nested maps": lambda: {"a.yaml": POD + "  containers: " + "{a: " * 200_000},
    "nested lines": lambda: {"a.yaml": POD + "".join(f"{' ' * i}a:\n" for i in range(2, 3000))},
    "nested JSON": lambda: {"a.json": '{"apiVersion": "v1", "kind": "Pod", "spec": ' + "[" * 1_000_000},
    "a chain of anchors": lambda: {"kustomization.yaml": VARS, "list.yaml": CHAIN},
    "a chain of anchors, renamed": lambda: {"kustomization.yaml": "resources: [list.yaml]\nnamePrefix: x-\ncommonLabels: {a: b}\nimages: [{name: x, newTag: y}]\n", "list.yaml": CHAIN.replace("ConfigMap", "Pod").replace("data:", "spec:")},
    "a list that holds itself": lambda: {"a.yaml": "apiVersion: v1\nkind: List\nitems: &a\n- {apiVersion: v1, kind: List, items: *a}\n"},
    "lists in lists": lambda: {"a.yaml": "x: &l0 []\n" + "".join(f"x{i}: &l{i} {{apiVersion: v1, kind: List, items: [*l{i - 1}, *l{i - 1}]}}\n" for i in range(1, 40)) + "apiVersion: v1\nkind: List\nitems: [*l39]\n"},
    "kustomizations that hold each other": lambda: {
        "a/kustomization.yaml": "resources: [../b]\ncomponents: [../c]\n", "b/kustomization.yaml": "resources: [../a]\n",
        "c/kustomization.yaml": "kind: Component\ncomponents: [../a, ../c]\n",
    },
    "bases of bases": lambda: bases(30),
    "bases with prefixes": lambda: bases(30, "namePrefix: aaaaaaaaaa-\ncommonLabels: {a: b}\n"),
    "replacements that grow": lambda: {
        "kustomization.yaml": "resources: [a.yaml]\nreplacements:\n" + "- source: {kind: Job, name: a, fieldPath: spec.template.spec}\n  targets:\n  - select: {kind: Job}\n    fieldPaths: [spec.template.spec.x]\n    options: {create: true}\n" * 60,
        "a.yaml": job("a"),
    },
    "variables that grow": lambda: {
        "kustomization.yaml": "resources: [a.yaml]\nvars:\n" + "".join(f"- name: V{i}\n  objref: {{kind: Job, name: a, apiVersion: batch/v1}}\n  fieldref: {{fieldpath: metadata.annotations.v{i}}}\n" for i in range(60)),
        "a.yaml": job("a").replace("{name: a}", "{name: a, annotations: {v0: x, " + ", ".join(f"v{i}: $(V{i - 1})$(V{i - 1})" for i in range(1, 60)) + "}}"),
    },
    "patches of a path": lambda: {
        "kustomization.yaml": "resources: [a.yaml]\npatches:\n" + "- target: {kind: Job}\n  patch: '[{op: copy, from: /spec, path: /spec/x}, {op: copy, from: /spec, path: /spec/y}]'\n" * 60,
        "a.yaml": job("a"),
    },
    "patterns of kustomize": lambda: {
        "kustomization.yaml": "resources: [a.yaml]\npatches:\n- target: {kind: Job, name: '(a+)+$'}\n  patch: '[{op: remove, path: /spec/parallelism}]'\n",
        "a.yaml": job("a" * 60 + "b"),
    },
    "copies of a job": lambda: {"kustomization.yaml": "resources: [a.yaml]\nreplicas: [{name: a, count: 1000000000000}]\n", "a.yaml": job("a"), "main.tf": cluster()},
    "parallel pods": lambda: {"a.yaml": job("a", "parallelism: 1000000000000"), "main.tf": cluster()},
    "a huge quantity": lambda: {"a.yaml": job("a").replace("8}", "1e400}"), "main.tf": cluster()},
    "many jobs": lambda: {"a.yaml": "---\n".join(job(f"a{i}") for i in range(100)), "main.tf": cluster()},
    "documents": lambda: {"a.yaml": "---\n" * 500_000 + POD},
    "a large file": lambda: {"a.yaml": POD + "  x:\n" + "  - a: b\n" * 1_900_000},
    "a large text": lambda: {"a.yaml": POD + "  x: " + "a " * 9_000_000 + "\n"},
    "comments": lambda: {"a.yaml": POD + "# kcheck: ignore[x] y\n" * 10_000},
    "a secret": lambda: {"a.yaml": f"apiVersion: v1\nkind: Secret\nmetadata: {{name: a}}\ndata: {{a: {'QUFB' * 1_000_000}}}\n"},
    "values of a chart": lambda: {"c/Chart.yaml": "apiVersion: v2\nname: karpenter\nversion: 1.0.0\n", "c/values.yaml": "a:\n" + "".join(f"  a{i}: b\n" for i in range(300_000))},
    "values by aliases": lambda: {"c/Chart.yaml": "apiVersion: v2\nname: cluster-autoscaler\nversion: 9.0.0\n", "c/values.yaml": LAUGHS + "extraArgs: *a39\n"},
    "settings of TOML": lambda: {"pyproject.toml": "[tool.kcheck]\na = " + "[" * 100_000, "a.yaml": job("a")},
    "settings nested": lambda: {"kcheck.yaml": "nodes: " + "[" * 100_000, "a.yaml": job("a")},
    "settings of laughs": lambda: {"kcheck.yaml": LAUGHS.replace("a:\n", "nodes:\n", 1), "a.yaml": job("a")},
    "globs": lambda: {"kcheck.yaml": "exclude: ['" + "*a" * 30 + "*b']\nper_path_ignores: {'**/" + "a*" * 30 + "/**/b': [network]}\n", "x/" + "a" * 200 + "/a.yaml": job("a")},
    "globs of folders": lambda: {"kcheck.yaml": "exclude: ['" + "**/" * 30 + "b']\nper_path_ignores: {'" + "**/a/" * 20 + "b': [network]}\n", "a/" * 60 + "a.yaml": job("a")},
    "a rule": lambda: {"kcheck.yaml": "rules: [r]\n", "r/own/nested.yaml": "summary: x\nseverity: warning\nsubject: workload\nproblem: " + "(" * 5000 + "true" + ")" * 5000 + "\nat: workload.name\nmessage: x\n", "a.yaml": job("a")},
    "a rule of loops": lambda: {"kcheck.yaml": "rules: [r]\n", "r/own/loops.yaml": "summary: x\nseverity: warning\nsubject: workload\nproblem: >-\n  " + "".join(f"[1, 2, 3, 4, 5, 6, 7, 8, 9, 10].all(a{i}, " for i in range(12)) + "true" + ")" * 12 + "\nat: workload.name\nmessage: x\n", "a.yaml": job("a")},
    "a plan": lambda: {"plan.json": '{"format_version": "1.2", "planned_values": {"root_module": ' + '{"child_modules": [' * 50_000},
}  # fmt: skip

COMMANDS: dict[str, tuple[str, ...]] = {
    "simulate of many nodes": ("simulate", ".", "--nodes", "4294967296"),
    "simulate of 20,000 nodes": ("simulate", ".", "--nodes", "20000"),
    "check of many nodes": (*CHECK, "--nodes", "1000000000000000000"),
    "capacity of many nodes": ("capacity", ".", "--nodes", "1000000000000000000"),
    "capacity of more digits": ("capacity", ".", "--nodes", "9" * 4000),
    "a long duration": ("simulate", ".", "--nodes", "10", "--duration", "999999999h"),
    "a large image": ("simulate", ".", "--nodes", "10", "--image-size", "1e400"),
}


SCRIPTS: dict[str, Callable[[], Files]] = {
    "a command of many lines, from a file": lambda: {"up.sh": "az aks create \\\n" * 40_000 + " -f a\n"},
    "many commands on a line, from a file": lambda: {"up.sh": "az aks create " * 40_000 + " -f a\n"},
    "a command of spaces": lambda: {"up.sh": f"az aks create{' ' * 500_000}\n"},
}
"""Bombs in scripts that start clusters."""


def all_bombs() -> dict[str, tuple[tuple[str, ...], Callable[[], Files]]]:
    """Return all bombs by name: the command to run, and the function that makes the files."""
    found: dict[str, tuple[tuple[str, ...], Callable[[], Files]]] = {}
    for name, value in EXPRESSIONS.items():
        found[f"value: {name}"] = (CHECK, partial(expression, value))
    for name, chain in CHAINS.items():
        found[f"chain: {name}"] = (CHECK, partial(locals_of, *chain))
    for name, make in TERRAFORM.items():
        found[f"terraform: {name}"] = (CHECK, make)
    for name, make in KUBERNETES.items():
        found[f"kubernetes: {name}"] = (CHECK, make)
    for name, make in SCRIPTS.items():
        found[f"script: {name}"] = (CHECK, make)
    found["a plan"] = (("check", "plan.json", "--fail-on", "never"), KUBERNETES["a plan"])
    for name, arguments in COMMANDS.items():
        found[f"command: {name}"] = (
            arguments,
            lambda: {"main.tf": cluster(pool="auto_scaling_enabled = true\nmax_count = 1000"), "a.yaml": job("a")},
        )
    return found
