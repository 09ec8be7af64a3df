"""Test the text of hovers."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kcheck.addons.editor.definition import definition
from kcheck.addons.editor.hints import hints
from kcheck.addons.editor.hover import hover
from kcheck.config.config import Config
from tests.addons.editor.trees import file, offset, snapshot, sources
from tests.places import ROOT

if TYPE_CHECKING:
    from kcheck.addons.editor.snapshot import Snapshot
    from tests.conftest import Write


pytestmark = pytest.mark.smoke

EXAMPLES = ("eks-training", "gke-training", "aks-training", "ack-training", "selfmanaged-training", "own-rules")


@pytest.fixture(scope="module")
def states() -> dict[str, Snapshot]:
    """Return the snapshots of the examples, each checked once."""
    return {name: snapshot(str(ROOT / "examples" / name)) for name in EXAMPLES}


def said(state: Snapshot, name: str, mark: str, within: str = "") -> str:
    """Return the hover text at a mark in a file; empty if there is none."""
    source = file(state, name)
    found = hover(state, source, offset(source, mark, within or mark))
    return found.text if found is not None else ""


def first(text: str) -> str:
    return text.partition("\n")[0]


# --- Terraform


def test_hover_on_a_variable_use_shows_value_and_limits_and_findings_and_origin(states: dict[str, Snapshot]) -> None:
    text = said(states["eks-training"], "eks.tf", "= var.cpu_max_nodes", "var")
    assert first(text) == "**`var.cpu_max_nodes`** = `600` nodes"
    assert "\nNodes that prepare the data, spot\n" in text
    assert re.search(r"\n- \*\*92 of 607 nodes\*\*: address space of subnet .*; 2 more like it\n", text)
    assert re.search(r"\n- warning \[pool-over-quota\]\(https://\S+\): Node group cpu grows to 600", text)
    assert "\n- `pool.max_nodes` of `cpu` (int, nodes): largest size" in text
    assert re.search(r"\n- \[\S*terraform\.tfvars:1\]\(file://\S+/terraform\.tfvars#L1\)  `cpu_max_nodes = 600`", text)


@pytest.mark.parametrize(
    ("name", "mark", "within"),
    [
        ("terraform.tfvars", "cpu_max_nodes", ""),
        ("terraform.tfvars", "600", ""),
        ("variables.tf", '"cpu_max_nodes"', ""),
    ],
)
def test_hover_shows_the_limits_of_a_variable_where_it_is_set_and_declared(
    states: dict[str, Snapshot], name: str, mark: str, within: str
) -> None:
    text = said(states["eks-training"], name, mark, within)
    assert first(text) == "**`var.cpu_max_nodes`** = `600` nodes"
    assert "**92 of 607 nodes**" in text


def test_a_value_that_a_range_is_computed_from_takes_part_in_its_limit(states: dict[str, Snapshot]) -> None:
    text = said(states["eks-training"], "vpc.tf", '"10.0.0.0/16"')
    assert "**92 of 607 nodes**" in text


def test_pods_of_a_node_count_for_the_pod_range_and_not_for_the_subnet(states: dict[str, Snapshot]) -> None:
    text = said(states["gke-training"], "cluster.tf", "max_pods_per_node = 16", "16")
    assert "pod range of" in text
    assert "address space" not in text


def test_hover_shows_the_value_of_each_loop_round(states: dict[str, Snapshot]) -> None:
    text = said(states["eks-training"], "vpc.tf", "cidrsubnet(local.vpc_cidr, 4", "cidrsubnet")
    assert re.findall(r"(k = \d)` = `\"([\d./]+)\"`", text) == [
        ("k = 0", "10.0.0.0/20"),
        ("k = 1", "10.0.16.0/20"),
        ("k = 2", "10.0.32.0/20"),
    ]


def test_hover_on_a_part_of_an_expression_shows_its_own_value(write: Write) -> None:
    write({"main.tf": 'locals {\n  a = 3\n  b = "n-${local.a * 2 + 1}-x"\n}\n'})
    state = snapshot()
    assert first(said(state, "main.tf", "local.a * 2", "a")) == "**`local.a`** = `3`"
    assert first(said(state, "main.tf", "local.a * 2", "*")) == "**`local.a * 2`** = `6`"
    assert first(said(state, "main.tf", "+ 1", "+")) == "**`local.a * 2 + 1`** = `7`"
    assert first(said(state, "main.tf", "n-", "n")).endswith('= `"n-7-x"`')


def test_hover_on_an_equals_sign_or_parenthesis_shows_its_attribute(write: Write) -> None:
    write({"main.tf": "locals {\n  a = (1 + 2)\n}\n"})
    state = snapshot()
    source = file(state, "main.tf")
    for mark in ("=", "("):
        found = hover(state, source, offset(source, mark))
        assert found is not None
        assert first(found.text) == "**`local.a`** = `3`"
        assert source.data[found.span.start : found.span.end].startswith(b"a =")


def test_hover_lists_the_copies_of_a_resource(write: Write) -> None:
    block = 'resource "google_compute_subnetwork" "s" {\n  for_each = { a = 1, b = 2 }\n  ip_cidr_range = cidrsubnet("10.0.0.0/8", 8, each.value)\n}\n'
    write({"main.tf": block})
    text = said(snapshot(), "main.tf", "cidrsubnet")
    assert '`google_compute_subnetwork.s["a"]` = `"10.1.0.0/16"`' in text
    assert '`google_compute_subnetwork.s["b"]` = `"10.2.0.0/16"`' in text


def test_hover_lists_the_callers_of_a_module(write: Write) -> None:
    write(
        {
            "main.tf": 'module "a" {\n  source = "./m"\n  n = 1\n}\nmodule "b" {\n  source = "./m"\n  n = 2\n}\n',
            "m/main.tf": 'variable "n" {}\nlocals {\n  twice = var.n * 2\n}\n',
        }
    )
    text = said(snapshot(), "m/main.tf", "var.n * 2", "*")
    assert "- `module.a` = `2`\n- `module.b` = `4`" in text


def test_hover_on_a_dynamic_block_shows_the_values_of_its_rounds(write: Write) -> None:
    write(
        {
            "main.tf": 'resource "x_y" "z" {\n  dynamic "rule" {\n    for_each = [5, 6]\n    content {\n      port = rule.value + 1\n    }\n  }\n}\n'
        }
    )
    text = said(snapshot(), "main.tf", "rule.value + 1", "+")
    assert re.findall(r"= `(\d)`", text) == ["6", "7"]


def test_hover_explains_an_unknown_value(write: Write) -> None:
    write({"main.tf": 'variable "size" {}\nlocals {\n  twice = var.size * 2\n}\n', "big.tfvars": "size = 3\n"})
    text = said(snapshot(), "main.tf", "var.size")
    assert "is unknown: var.size has no value; set it with --var-file big.tfvars" in text


def test_the_hover_says_that_nothing_reads_a_tfvars_file(write: Write) -> None:
    write({"main.tf": 'variable "size" {\n  default = 1\n}\n', "big.tfvars": "size = 3\n"})
    assert "no root module reads this file; --var-file big.tfvars does" in said(snapshot(), "big.tfvars", "size")


def test_the_hover_says_that_a_block_creates_nothing(write: Write) -> None:
    write({"main.tf": 'resource "x_y" "z" {\n  count = 0\n  size = upper("a")\n}\n'})
    text = said(snapshot(), "main.tf", "upper")
    assert first(text) == '**`upper("a")`** = `"A"`'
    assert "not made: count is 0" in text


def test_hover_in_an_uncalled_module_shows_default_values(write: Write) -> None:
    call = 'module "eks" {\n  source = "terraform-aws-modules/eks/aws"\n}\n'
    write(
        {
            "main.tf": call,
            "m/main.tf": 'variable "a" {\n  default = 2\n}\nlocals {\n  b = var.a + 1\n}\n',
            "n/main.tf": 'module "m" {\n  count = 0\n  source = "../m"\n}\n',
        }
    )
    assert first(said(snapshot(), "m/main.tf", "var.a + 1", "+")) == "**`var.a + 1`** = `3`"


def test_hover_on_a_loop_in_a_template_shows_the_value_of_the_whole_text(write: Write) -> None:
    write({"main.tf": 'locals {\n  a = "%{ for x in [1, 2] }<${x}>%{ endfor }"\n}\n'})
    state = snapshot()
    assert first(said(state, "main.tf", "for x in", "for")).endswith('= `"<1><2>"`')
    assert said(state, "main.tf", "${x}", "x").startswith("**`x`**\n- `x = 1` = `1`\n- `x = 2` = `2`")


def test_the_hover_on_a_machine_type_names_the_cpu_quota_and_no_disk_quota(states: dict[str, Snapshot]) -> None:
    text = said(states["gke-training"], "cluster.tf", "n2-standard-32")
    assert "quota of PREEMPTIBLE" in text
    assert "quota of SSD" not in text


def test_secrets_are_never_shown(write: Write) -> None:
    write(
        {
            "main.tf": 'variable "password" {\n  sensitive = true\n}\nlocals {\n  list = [var.password, "open"]\n  url = "x${var.password}"\n  either = var.lost ? var.password : "x"\n}\nvariable "lost" {}\n',
            "terraform.tfvars": 'password = "hunter2"\n',
        }
    )
    state = snapshot()
    found = [hover(state, source, at) for source in sources(state) for at in range(len(source.data))]
    texts = {one.text for one in found if one is not None}
    assert any('[(sensitive, not shown), "open"]' in text for text in texts)
    assert not any("hunter2" in text for text in texts)


def test_repository_text_is_neither_markup_nor_a_link(write: Write) -> None:
    evil = "[click](https://evil.example) <b>x</b> `code` **bold** ![i](http://evil.example/i.png)"
    write(
        {
            "main.tf": f'variable "v" {{\n  description = "{evil}"\n  default = "{evil}"\n}}\nlocals {{\n  many = ["```\\n# x", var.v, var.v, var.v]\n  w = var.v\n}}\n'
        }
    )
    state = snapshot()
    source = file(state, "main.tf")
    for at in range(len(source.data)):
        found = hover(state, source, at)
        if found is not None:
            code = re.sub(
                r"(?s)^(`{3,})terraform\n.*?\n\1$|(`+)[^`].*?(?<!`)\2(?!`)", "", found.text, flags=re.MULTILINE
            )
            assert not re.search(r"(?<!\\)(\[click|<b>|!\[|\]\(http|\*bold)", code), found.text


def test_unused_literal_has_no_hover(write: Write) -> None:
    write({"main.tf": 'locals {\n  a = "plain" # a comment\n}\n'})
    state = snapshot()
    assert said(state, "main.tf", "plain") == ""
    assert said(state, "main.tf", "comment") == ""


# --- YAML, rules and settings


def test_the_hover_on_a_manifest_value_names_its_word_in_the_model(states: dict[str, Snapshot]) -> None:
    text = said(states["eks-training"], "train.yaml", "parallelism: 64", "64")
    assert "`template.count`" in text
    assert said(states["eks-training"], "train.yaml", "parallelism: 64", "parallelism") == text


def test_hover_on_an_alias_shows_the_value_it_stands_for(write: Write) -> None:
    write({"a.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  x: &big 600\n  y: *big\n"})
    assert first(said(snapshot(), "a.yaml", "*big")) == "**`y`** = `600`"


def test_hover_on_a_rule_in_a_comment_shows_its_summary_and_page(write: Write) -> None:
    write({"main.tf": "# kcheck: ignore[subnet-too-small, no-such-rule] known\nlocals {}\n"})
    state = snapshot()
    text = said(state, "main.tf", "subnet-too-small")
    assert text.startswith("**subnet-too-small** (error): ")
    assert "/rules/network/subnet-too-small.yaml)" in text
    assert said(state, "main.tf", "no-such-rule") == ""


def test_hover_on_a_rule_in_an_annotation_shows_its_summary(write: Write) -> None:
    text = "apiVersion: v1\nkind: Pod\nmetadata:\n  name: a\n  annotations:\n    kcheck.dev/ignore: 'images, spot-single-type: known'\n"
    write({"a.yaml": text})
    state = snapshot()
    assert said(state, "a.yaml", "images").startswith("**images**: ")
    assert said(state, "a.yaml", "spot-single-type").startswith("**spot-single-type** (warning): ")


@pytest.mark.parametrize(
    ("mark", "within", "begin"),
    [
        (
            "nodes: 500",
            "nodes",
            "**nodes**: How many nodes every cluster is meant to reach.\n\nA whole number from 1 to",
        ),
        ("ignore: [", "ignore", "**ignore**: "),
        ("spot-single-type", "", "**spot-single-type** (warning): "),
        ("subnet-too-small", "", "**subnet-too-small** (error): "),
        ("boot: 3m", "boot", "**clusters.simulation.boot**: "),
        ("eks.pool.quota", "", "**eks.pool.quota**: documented: 450 nodes"),
    ],
)
def test_hover_on_a_setting_shows_its_meaning(write: Write, mark: str, within: str, begin: str) -> None:
    write(
        {
            "kcheck.yaml": "nodes: 500\nignore: [spot-single-type]\nseverity: {subnet-too-small: warning}\n"
            "limits:\n  eks.pool.quota: {value: 3000, reason: raised}\n"
            "clusters:\n  - root: .\n    simulation: {boot: 3m}\n",
            "main.tf": "locals {}\n",
        }
    )
    assert said(snapshot(), "kcheck.yaml", mark, within).startswith(begin)


def test_hover_lists_the_environments_of_a_root(write: Write) -> None:
    from kcheck.config.config import Environment

    write({"main.tf": 'variable "n" {}\nlocals {\n  m = var.n\n}\n', "a.tfvars": "n = 1\n", "b.tfvars": "n = 2\n"})
    config = Config(environments=(Environment(".", "small", ("a.tfvars",)), Environment(".", "big", ("b.tfvars",))))
    state = snapshot(config=config)
    source = file(state, "main.tf")
    found = hover(state, source, offset(source, "= var.n", "var"))
    assert found is not None
    assert "- `small` = `1`\n- `big` = `2`" in found.text


# --- any place


@given(data=st.data())
def test_hover_at_any_place_gives_an_answer_without_an_error(states: dict[str, Snapshot], data: st.DataObject) -> None:
    state = states[data.draw(st.sampled_from(EXAMPLES))]
    source = data.draw(st.sampled_from(list(sources(state))))
    at = data.draw(st.integers(0, len(source.data)))
    found = hover(state, source, at)
    if found is not None:
        assert found.span.source is source
        assert found.span.start <= at < found.span.end
        assert found.text.strip()
    for span in definition(state, source, at):
        assert not span.source.bundled
        assert state.real_path(span.source)
    end = data.draw(st.integers(at, len(source.data)))
    for hint in hints(state, source, at, end):
        assert 0 <= hint.offset <= len(source.data)
        assert hint.label.strip() == hint.label
        assert hint.label
