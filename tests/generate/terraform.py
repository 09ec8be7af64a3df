"""Run Terraform with real providers on generated files, if KCHECK_PLUGIN_DIR names a mirror of them."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Mapping

MIRROR = os.environ.get("KCHECK_PLUGIN_DIR", "")
needed = pytest.mark.skipif(
    not MIRROR or shutil.which("terraform") is None, reason="no KCHECK_PLUGIN_DIR, or no terraform"
)
_CONFIGURATION = 'provider_installation {{\n  filesystem_mirror {{\n    path = "{}"\n  }}\n}}\n'
_SOURCE = re.compile(r'source\s*=\s*"([\w-]+/[\w-]+)"')
_MODULE = re.compile(r'source\s*=\s*"[\w-]+/[\w-]+/[\w-]+(//|")')


def initialized(files: Mapping[str, bytes], folder: Path) -> Path:
    """Write files, run `terraform init`, and return the folder; skip the test if something would be fetched."""
    if why := _lacking(files):
        pytest.skip(why)
    for path, data in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(data)
    (folder / "configuration").write_text(_CONFIGURATION.format(MIRROR))
    done = terraform(folder, "init", "-backend=false", "-input=false")
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def terraform(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run Terraform in a folder with the providers of the mirror."""
    own = {**os.environ, "TF_CLI_CONFIG_FILE": str(folder / "configuration"), "CHECKPOINT_DISABLE": "1"}
    command = ["terraform", *arguments, "-no-color"]
    return subprocess.run(command, cwd=folder, env=own, capture_output=True, text=True, check=False)


def assert_fails(folder: Path, path: str, pattern: str, new: str, told: str) -> None:
    """Assert that `terraform test` prints `told` after `pattern` is replaced by `new` in one generated file.

    Restore the file.
    """
    before = (folder / path).read_text()
    edited = re.sub(pattern, new, before)
    assert edited != before
    (folder / path).write_text(edited)
    try:
        done = terraform(folder, "test")
    finally:
        (folder / path).write_text(before)
    assert told in " ".join(re.sub(r"[│╷╵]", " ", done.stdout + done.stderr).split()), done


def _lacking(files: Mapping[str, bytes]) -> str:
    """Return what this machine lacks for `terraform init` of some files; empty if nothing."""
    text = b"\n".join(data for path, data in files.items() if path.endswith(".tf")).decode()
    if _MODULE.search(text):
        return "its modules would be fetched"
    asked = set(_SOURCE.findall(text))
    assert asked, "no required providers"
    there = {"/".join(path.parts[-2:]) for path in Path(MIRROR).glob("*/*/*")}
    return f"no {', '.join(sorted(asked - there))} in KCHECK_PLUGIN_DIR" if asked - there else ""
