"""Test generated code with the providers themselves: `terraform validate`, and its own `terraform test`.

KCHECK_PLUGIN_DIR names a filesystem mirror, as `terraform providers mirror` makes one. Clouds whose providers are
missing in it are skipped, and so are modules, which Terraform would have to fetch (EKS).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.generate.terraform import initialized, needed, terraform
from tests.generate.test_grid import CASES, made, named

if TYPE_CHECKING:
    from pathlib import Path

    from tests.generate.test_grid import Case

OF_TERRAFORM = [case for case in CASES if case[0] != "selfmanaged"]


@needed
@pytest.mark.parametrize("case", OF_TERRAFORM, ids=named)
def test_providers_accept_generated_terraform(case: Case, tmp_path: Path) -> None:
    files = made(case)[1].files
    initialized(files, tmp_path)
    steps = ["validate", *(["test"] if any(path.endswith(".tftest.hcl") for path in files) else [])]
    for step in steps:
        done = terraform(tmp_path, step)
        assert done.returncode == 0, f"{step}: {done.stdout}{done.stderr}"
        assert "Warning" not in done.stdout, done.stdout
