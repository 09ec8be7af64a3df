"""Test the variables of templates: every one is used, and no cloud overrides one silently."""

from __future__ import annotations

import re
from importlib import import_module
from typing import TYPE_CHECKING

import pytest
from jinja2 import Environment, nodes

from kcheck.commands import generate
from kcheck.config.numbers import profiles
from kcheck.config.numbers.clouds import CLOUDS
from kcheck.generate import intent, manifests, ranges
from kcheck.generate.pools import split, system_nodes
from tests.places import ROOT

if TYPE_CHECKING:
    from pathlib import Path

PROFILES = ROOT / "profiles"
READ_BY_ASSEMBLY = {"refused", "storage_requests"}
CHOSEN = r"intent\.(scheduler|autoscaler|kubernetes|image|name|account|region|nodes)|release\.minor\d+|(plane|scaler|(karpenter_)?phase)\.\w+|fabric\.(infiniband(_sriov)?|roce)"
"""Settings with computed names: choices of an intent, and values that depend on a version or size."""


def contexts(cloud: str, **chosen: object) -> tuple[dict[str, object], dict[str, object]]:
    """Return the variables that all templates get, and those of one cloud's templates."""
    wanted = intent.with_defaults(cloud, chosen)
    pools, module = split(wanted), import_module(f"kcheck.generate.{cloud}")
    layout = ranges.draft(module.slots(wanted, pools))
    target = wanted.nodes + system_nodes(wanted)
    return manifests.context(wanted, pools, layout, target), module.context(wanted, pools, layout)


def templates(*owners: str) -> str:
    files = [path for owner in owners for path in (ROOT / "profiles" / owner / "templates").rglob("*.j2")]
    return "\n".join(path.read_text() for path in files)


def test_every_cloud_that_kcheck_reads_can_be_generated() -> None:
    (choice,) = [one.type for one in generate.command.params if one.name == "cloud"]
    assert set(getattr(choice, "choices", ())) == set(CLOUDS)


@pytest.mark.parametrize("cloud", CLOUDS)
def test_a_cloud_overrides_only_flags_of_the_common_context(cloud: str) -> None:
    common, own = contexts(cloud)
    assert common.keys() & own.keys() <= manifests.FLAGS.keys()


@pytest.mark.parametrize("cloud", CLOUDS)
def test_each_variable_of_a_cloud_is_used_in_its_templates(cloud: str) -> None:
    text = templates("any", cloud)
    unnamed = {key for key in contexts(cloud)[1] if not re.search(rf"\b{key}\b", text)}
    assert unnamed <= READ_BY_ASSEMBLY


def test_each_common_variable_is_used_in_some_template() -> None:
    text = templates("any", *CLOUDS)
    assert {key for key in contexts("eks")[0] if not re.search(rf"\b{key}\b", text)} == set()


@pytest.mark.parametrize("flag", sorted(manifests.FLAGS))
def test_every_template_flag_is_set_by_some_cloud(flag: str) -> None:
    every = [*(contexts(cloud) for cloud in CLOUDS), contexts("selfmanaged", installer="kubespray")]
    every.append(contexts("ack", region="cn-hangzhou"))  # which has CPFS
    assert any((common | own)[flag] != manifests.FLAGS[flag] for common, own in every)


@pytest.mark.parametrize("owner", ["any", *CLOUDS])
def test_every_recommended_value_is_used(owner: str) -> None:
    text = templates("any", *([owner] if owner != "any" else CLOUDS))
    code = "\n".join(path.read_text() for path in (ROOT / "kcheck" / "generate").glob("*.py"))
    unused = {
        key
        for key in profiles.recommended(owner)
        if not re.search(rf"[\"']{re.escape(key)}[\"']", code)
        and not re.search(rf"\b(use|why)\.{re.escape(key)}\b", text)
        and not re.fullmatch(CHOSEN, key)
    }
    assert unused == set()


ARITHMETIC = (nodes.Add, nodes.Sub, nodes.Mul, nodes.Div, nodes.FloorDiv, nodes.Mod, nodes.Pow)


@pytest.mark.parametrize(
    "path", sorted(PROFILES.glob("*/templates/**/*.j2")), ids=lambda path: str(path.relative_to(PROFILES))
)
def test_templates_contain_no_arithmetic(path: Path) -> None:
    """Numbers come from the context, which has their arithmetic and reasons; 0 and 1 do not count."""
    tree = Environment(trim_blocks=True, lstrip_blocks=True).parse(path.read_text())  # noqa: S701 - nothing is rendered
    assert [node.lineno for kind in ARITHMETIC for node in tree.find_all(kind)] == []
    widths = {
        id(const)
        for call in tree.find_all(nodes.Filter)
        if call.name in ("indent", "inset")
        for const in call.find_all(nodes.Const)
    }
    numbers = [
        const.value
        for const in tree.find_all(nodes.Const)
        if id(const) not in widths and type(const.value) in (int, float)
    ]
    assert set(numbers) <= {0, 1}
