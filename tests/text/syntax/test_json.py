"""Test JSON with places, and Terraform's JSON syntax."""

from __future__ import annotations

import json as library
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kcheck.addons.console import evaluate
from kcheck.config.config import Config
from kcheck.engine import linter
from kcheck.fix import fix
from kcheck.text.files.tree import Tree
from kcheck.text.syntax import json
from kcheck.text.text import Problem, Source

if TYPE_CHECKING:
    from tests.conftest import Write

pytestmark = pytest.mark.medium

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@pytest.mark.slow
@given(VALUES, st.sampled_from([None, 2, "\t"]), st.booleans())
def test_json_written_by_the_library_is_parsed(value: Any, indent: Any, escaped: bool) -> None:
    data = library.dumps(value, indent=indent, ensure_ascii=escaped).encode("utf-8", "surrogatepass")
    node = json.parse(Source("x", data))
    if isinstance(node, Problem):
        assert "UTF-8" in node.message  # a lone surrogate
    else:
        assert plain(node) == value
        for part in parts(node):
            assert library.loads(part.span.text) == plain(part)


def plain(node: json.Node) -> object:
    if isinstance(node.value, dict):
        return {key: plain(member.value) for key, member in node.value.items()}
    return [plain(item) for item in node.value] if isinstance(node.value, list) else node.value


def parts(node: json.Node) -> list[json.Node]:
    inner = [m.value for m in node.value.values()] if isinstance(node.value, dict) else node.value
    return [node, *(part for child in inner for part in parts(child))] if isinstance(inner, list) else [node]


@given(st.text(alphabet='{}[]",: 1e-ntrue\\u0\n') | st.text())
def test_json_the_library_refuses_is_refused(text: str) -> None:
    try:
        wanted: Any = library.loads(text, parse_constant=lambda _name: 1 / 0)
    except (ValueError, ZeroDivisionError):
        wanted = Problem
    node = json.parse(Source("x", text.encode("utf-8", "surrogatepass")))
    if wanted is Problem:
        assert isinstance(node, Problem)
    else:
        assert not isinstance(node, Problem) or node.message == "not JSON: the number has too many digits"


@pytest.mark.parametrize(
    ("text", "message", "column"),
    [
        ("", "a value is missing", 1),
        ('{"a" 1}', "`:` is missing", 6),
        ('{"a": 1,}', "a value is missing after `,`", 9),
        ("{a: 1}", "a key in quotes is missing", 2),
        ("[1 2]", "`,` or `]` is missing", 4),
        ('["a]', "this string is not closed", 2),
        ("1 1", "unexpected text after the value", 3),
        ("[" * 300, "nested too deeply", 202),
    ],
)
def test_json_problems_describe_the_mistake(text: str, message: str, column: int) -> None:
    problem = json.parse(Source("x", text.encode()))
    assert isinstance(problem, Problem)
    assert message in problem.message
    assert problem.span.begin.column == column


# --- Terraform's JSON syntax

CLUSTER = {
    "//": "a comment",
    "variable": {"size": {"type": "number", "default": 400}, "names": {"type": "list(string)", "default": ["a"]}},
    "locals": {"cidr": "10.0.0.0/24", "more": ["${var.size}", "x-${var.size}", "%{ if true }y%{ endif }"]},
    "resource": {
        "azurerm_virtual_network": {
            "main": {
                "name": "main", "location": "x", "resource_group_name": "x", "address_space": ["10.0.0.0/16"],
            }
        },
        "azurerm_subnet": {
            "nodes": {
                "name": "nodes", "resource_group_name": "x", "address_prefixes": ["${local.cidr}"],
                "virtual_network_name": "${azurerm_virtual_network.main[\"name\"]}",
            }
        },
        "azurerm_kubernetes_cluster": {
            "main": {
                "name": "main", "location": "x", "resource_group_name": "x", "dns_prefix": "x",
                "kubernetes_version": "1.33", "sku_tier": "Standard",
                "network_profile": {"network_plugin": "azure", "network_plugin_mode": "overlay"},
                "default_node_pool": [
                    {
                        "name": "system", "vm_size": "Standard_D4s_v5", "auto_scaling_enabled": True, "min_count": 1,
                        "max_count": "${var.size}", "vnet_subnet_id": "${azurerm_subnet.nodes.id}",
                    }
                ],
                "dynamic": {
                    "auto_scaler_profile": {
                        "for_each": [1],
                        "content": {"max_unready_nodes": 1000, "max_unready_percentage": 100},
                    }
                },
            }
        },
    },
}  # fmt: skip


def findings() -> dict[str, str]:
    return {f.rule: f.message for f in linter.run(Tree(["."]), Config()).findings}


def test_json_is_read_like_hcl(write: Write) -> None:
    write({"main.tf.json": library.dumps(CLUSTER, indent=2)})
    assert "400" in findings()["subnet-too-small"]
    assert "unready-tolerance-low" not in findings()  # the dynamic block says 1000 and 100
    assert evaluate("local.more", ".", Config())["value"] == [400, "x-400", "y"]
    assert evaluate("var.names", ".", Config())["value"] == ["a"]
    places = evaluate("local.cidr", ".", Config())["origins"]
    line = library.dumps(CLUSTER, indent=2).splitlines().index('    "cidr": "10.0.0.0/24",') + 1
    assert places[0] == f"main.tf.json:{line}:13"


def test_json_is_fixed_where_the_value_is_written(write: Write) -> None:
    text = library.dumps(CLUSTER, indent=2)
    write({"main.tf.json": text})
    outcome = fix.fix(["."], Config(), safeties=("safe", "costs", "unsafe"), rules=("subnet-too-small",))
    ((_, _, old, new, *_),) = outcome.files
    assert new.decode() == old.decode().replace('"10.0.0.0/24"', '"10.0.0.0/23"')


def test_variables_and_overrides_in_json_are_read(write: Write) -> None:
    write(
        {
            "main.tf": 'variable "a" {}\nvariable "b" {}\nlocals {\n  c = 1\n}\nresource "x" "y" {\n  z = 1\n}\n',
            "terraform.tfvars.json": '{"a": {"b": [1, "two", null]}}',
            "x.auto.tfvars.json": '{"b": 3}',
            "over_override.tf.json": '{"resource": {"x": {"y": {"z": 2}}}}',
        }
    )
    assert evaluate("var.a", ".", Config())["value"] == {"b": [1, "two", None]}
    assert evaluate("var.b", ".", Config())["value"] == 3
    assert evaluate("x.y.z", ".", Config())["value"] == 2


def test_broken_json_is_a_finding(write: Write) -> None:
    write({"main.tf.json": '{"resource": {"azurerm_kubernetes_cluster": {"main": {\n  "name" "x"}}}}'})
    result = linter.run(Tree(["."]), Config())
    ((rule, message, line),) = [(f.rule, f.message, f.span.begin.line) for f in result.findings]
    assert (rule, line) == ("unreadable-file", 2)
    assert "`:` is missing" in message
