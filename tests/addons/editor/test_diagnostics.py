"""Test findings as an editor shows them."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("pygls")

from kcheck.addons.editor import diagnostics
from kcheck.addons.editor.checker import Checker
from kcheck.addons.editor.positions import Positions
from kcheck.config.effective import effective_config
from tests.places import ROOT

if TYPE_CHECKING:
    from pathlib import Path


def test_related_places_of_a_finding_are_shown_with_their_source_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(ROOT / "examples" / "eks-training", tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    here = os.path.realpath(".")
    *_, snapshot = Checker(here, lambda overlay: effective_config((here,), None, {}, overlay)).check({})
    found = diagnostics.by_file(snapshot, Positions(), {})
    (flag,) = (one for one in found["manifests/cluster-autoscaler.yaml"] if one.code == "removed-autoscaler-flag")
    told = [one.message for one in flag.related_information or ()]
    assert told[0] == "The flag was removed in 1.33.0"
    assert "image: registry.k8s.io/autoscaling/cluster-autoscaler:v1.35.0" in told
