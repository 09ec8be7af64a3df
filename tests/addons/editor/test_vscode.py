"""The extension for VS Code, where node and its packages are installed: `npm ci` in editors/vscode."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from kcheck import __version__
from tests.places import ROOT

if TYPE_CHECKING:
    from pathlib import Path

EXTENSION = ROOT / "editors" / "vscode"


def test_its_version_is_that_of_kcheck() -> None:
    manifest = json.loads((EXTENSION / "package.json").read_text())
    lock = json.loads((EXTENSION / "package-lock.json").read_text())
    assert manifest["version"] == lock["version"] == __version__


def test_packages_come_from_whatever_registry_the_user_has() -> None:
    packages = json.loads((EXTENSION / "package-lock.json").read_text())["packages"]
    assert len(packages) > 10
    assert not [name for name, package in packages.items() if "resolved" in package]
    assert not [name for name, package in packages.items() if name and "integrity" not in package]


def test_its_client_and_this_server_understand_each_other(tmp_path: Path) -> None:
    pytest.importorskip("pygls")
    npm = shutil.which("npm")
    if npm is None or not (EXTENSION / "node_modules").is_dir():
        pytest.skip("node or its packages are not installed: run npm ci in editors/vscode")
    path = os.pathsep.join((os.path.dirname(sys.executable), os.environ["PATH"]))
    run = subprocess.run(
        [npm, "test"], cwd=EXTENSION, env=os.environ | {"PATH": path, "TMPDIR": str(tmp_path)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert run.returncode == 0, run.stdout[-8000:] + run.stderr[-2000:]
