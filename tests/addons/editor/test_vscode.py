"""Test the VS Code extension, if node and its packages are installed (`npm ci` in editors/vscode)."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import PurePath
from typing import TYPE_CHECKING
from xml.etree import ElementTree

import pytest

from kcheck import __version__
from tests.places import ROOT

if TYPE_CHECKING:
    from pathlib import Path

EXTENSION = ROOT / "editors" / "vscode"
DESCRIPTIONS = ("extension.vsixmanifest", "[Content_Types].xml")


def test_the_extension_has_the_version_of_kcheck() -> None:
    manifest = json.loads((EXTENSION / "package.json").read_text())
    lock = json.loads((EXTENSION / "package-lock.json").read_text())
    assert manifest["version"] == lock["version"] == __version__


def test_packages_come_from_the_registry_the_user_has_configured() -> None:
    packages = json.loads((EXTENSION / "package-lock.json").read_text())["packages"]
    assert len(packages) > 10
    assert not [name for name, package in packages.items() if "resolved" in package]
    assert not [name for name, package in packages.items() if name and "integrity" not in package]


def test_the_extension_and_this_server_understand_each_other(tmp_path: Path) -> None:
    pytest.importorskip("pygls")
    path = os.pathsep.join((os.path.dirname(sys.executable), os.environ["PATH"]))
    _npm("test", PATH=path, TMPDIR=str(tmp_path))


def test_the_package_of_the_extension_has_all_files_that_it_lists() -> None:
    _npm("run", "package")
    with zipfile.ZipFile(EXTENSION / "kcheck.vsix") as package:
        packed = set(package.namelist())
        manifest, types = (ElementTree.fromstring(package.read(name)) for name in DESCRIPTIONS)  # noqa: S314 - our own
        described = json.loads(package.read("extension/package.json"))
    assets = {asset.attrib["Path"] for asset in manifest.iter() if asset.tag.endswith("}Asset")}
    wanted = {os.path.normpath(f"extension/{described[key]}") for key in ("main", "icon")}
    assert assets | wanted <= packed
    assert len(packed) == len(described["files"]) + 1 + len(DESCRIPTIONS)
    endings = {PurePath(name).suffix for name in packed - {DESCRIPTIONS[1]}}
    assert endings == {kind.attrib["Extension"] for kind in types}


def _npm(*arguments: str, **environment: str) -> None:
    npm = shutil.which("npm")
    if npm is None or not (EXTENSION / "node_modules").is_dir():
        pytest.skip("node or its packages are not installed: run npm ci in editors/vscode")
    run = subprocess.run(
        [npm, *arguments], cwd=EXTENSION, env=os.environ | environment, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stdout[-8000:] + run.stderr[-2000:]
