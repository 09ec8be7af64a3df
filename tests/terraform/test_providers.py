"""Test which provider block a resource uses: by name, by default, passed to modules."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kcheck.text.values import known

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conftest import Read

ROOT = """
provider "aws" {
  region = "us-east-1"
}

provider "aws" {
  alias  = "west"
  region = "us-west-2"
}
"""
CLUSTER = """
resource "aws_eks_cluster" "main" {
  name = "train"
  %s
}
"""


@pytest.fixture
def region(read: Read) -> Callable[..., str | None]:
    def of(**files: str) -> str | None:
        content = {f"{name.replace('_', '/')}.tf": text for name, text in files.items()}
        (cluster,) = read(content).clusters
        return known(cluster.region)

    return of


def call(lines: str, name: str = "eks", source: str = "./eks") -> str:
    return f'module "{name}" {{\n  source = "{source}"\n  {lines}\n}}\n'


def test_a_resource_names_its_provider(region: Callable[..., str | None]) -> None:
    assert region(main=ROOT + CLUSTER % "") == "us-east-1"
    assert region(main=ROOT + CLUSTER % "provider = aws.west") == "us-west-2"
    assert region(main=ROOT + CLUSTER % "provider = aws.east") is None


def test_a_module_uses_the_default_provider_of_its_caller(region: Callable[..., str | None]) -> None:
    assert region(main=ROOT + call(""), eks_main=CLUSTER % "") == "us-east-1"


def test_a_module_does_not_inherit_provider_aliases(region: Callable[..., str | None]) -> None:
    assert region(main=ROOT + call(""), eks_main=CLUSTER % "provider = aws.west") is None


@pytest.mark.parametrize("key", ["aws", '"aws"'])
def test_a_providers_map_passes_another_provider(region: Callable[..., str | None], key: str) -> None:
    assert region(main=ROOT + call(f"providers = {{ {key} = aws.west }}"), eks_main=CLUSTER % "") == "us-west-2"


def test_a_providers_map_passes_an_alias_through_two_calls(region: Callable[..., str | None]) -> None:
    outer = call("providers = { aws.far = aws.west }", "outer", "./outer")
    inner = call("providers = { aws.there = aws.far }", source="../eks")
    cluster = CLUSTER % "provider = aws.there"
    assert region(main=ROOT + outer, outer_main=inner, eks_main=cluster) == "us-west-2"


def test_a_providers_map_passes_only_existing_providers(region: Callable[..., str | None]) -> None:
    assert region(main=ROOT + call("providers = { aws.far = aws.west }"), eks_main=CLUSTER % "") is None


def test_a_provider_block_in_a_module_counts_unless_it_is_empty(region: Callable[..., str | None]) -> None:
    own = 'provider "aws" {\n  region = "eu-west-1"\n}\n'
    assert region(main=ROOT + call(""), eks_main=own + CLUSTER % "") == "eu-west-1"
    assert region(main=ROOT + call(""), eks_main='provider "aws" {}\n' + CLUSTER % "") == "us-east-1"


def test_copies_of_a_module_have_different_names(read: Read) -> None:
    calls = "".join(call(f"providers = {{ aws = {one} }}", name) for name, one in (("a", "aws"), ("b", "aws.west")))
    clusters = read({"main.tf": ROOT + calls, "eks/main.tf": CLUSTER % ""}).clusters
    assert {one.address: known(one.region) for one in clusters} == {
        "module.a.aws_eks_cluster.main": "us-east-1",
        "module.b.aws_eks_cluster.main": "us-west-2",
    }
