"""What is generated, held against the providers themselves: `terraform validate`, and its own `terraform test`.

KCHECK_PLUGIN_DIR names a filesystem mirror of providers, as `terraform providers mirror` makes one. A cloud whose
providers are not in it is skipped, and so are modules, which Terraform would have to fetch (EKS).
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.generate.test_grid import CASES, made, named

if TYPE_CHECKING:
    from tests.generate.test_grid import Case

MIRROR = os.environ.get("KCHECK_PLUGIN_DIR", "")
CONFIGURATION = 'provider_installation {{\n  filesystem_mirror {{\n    path = "{}"\n  }}\n}}\n'
SOURCE = re.compile(r'source\s*=\s*"([\w-]+/[\w-]+)"')
MODULE = re.compile(r'source\s*=\s*"[\w-]+/[\w-]+/[\w-]+(//|")')
OF_TERRAFORM = [case for case in CASES if case[0] != "selfmanaged"]


def lacking(files: dict[str, bytes]) -> str:
    """What this machine does not have for `terraform init` of these files; empty if nothing."""
    text = b"\n".join(data for path, data in files.items() if path.endswith(".tf")).decode()
    if MODULE.search(text):
        return "its modules would be fetched"
    needed = set(SOURCE.findall(text))
    assert needed, "no required providers"
    there = {"/".join(path.parts[-2:]) for path in Path(MIRROR).glob("*/*/*")}
    return f"no {', '.join(sorted(needed - there))} in KCHECK_PLUGIN_DIR" if needed - there else ""


@pytest.mark.skipif(not MIRROR or shutil.which("terraform") is None, reason="no KCHECK_PLUGIN_DIR, or no terraform")
@pytest.mark.parametrize("case", OF_TERRAFORM, ids=named)
def test_providers_take_it(case: Case, tmp_path: Path) -> None:
    files = made(case)[1].files
    if why := lacking(files):
        pytest.skip(why)
    for path, data in files.items():
        if path.endswith((".tf", ".tfvars", ".hcl")) or path.startswith("values/"):
            (tmp_path / path).parent.mkdir(exist_ok=True)
            (tmp_path / path).write_bytes(data)
    (tmp_path / "configuration").write_text(CONFIGURATION.format(MIRROR))
    own = {**os.environ, "TF_CLI_CONFIG_FILE": str(tmp_path / "configuration"), "CHECKPOINT_DISABLE": "1"}
    steps = [["init", "-backend=false", "-input=false"], ["validate"]]
    if any(path.endswith(".tftest.hcl") for path in files):
        steps.append(["test"])
    for step in steps:
        done = subprocess.run(
            ["terraform", *step, "-no-color"], cwd=tmp_path, env=own, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, f"{step}: {done.stdout}{done.stderr}"
        assert step[0] == "init" or "Warning" not in done.stdout, done.stdout  # init has no hashes of other systems
