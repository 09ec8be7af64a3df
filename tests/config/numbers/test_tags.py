"""Test moving tags of images."""

from __future__ import annotations

import pytest

from kcheck.config.numbers import tags


@pytest.mark.parametrize(
    "tag",
    ["", "latest", "Latest", "nightly", "main", "stable", "latest-gpu", "main-latest", "2.5-latest", "nightly-py312-tpu",
     "vllm011.latest", "stable-alpine", "latest-py3.11"],
)  # fmt: skip
def test_tags_named_after_channels_and_branches_can_move(tag: str) -> None:
    assert tags.moves(tag)


@pytest.mark.parametrize(
    "tag",
    ["1.4", "v1.2.0-dev.3", "nightly-4f2c9d1", "main-20250401", "nightly-2025-04-01", "llama2-main-02-13", "dev-118",
     "12.4.1-cudnn-devel-ubuntu22.04", "stable-1.27", "v1beta1-45c5727", "mainline", "edgecase", "train"],
)  # fmt: skip
def test_tags_of_a_build_do_not_move(tag: str) -> None:
    assert not tags.moves(tag)
