"""Find the repository for the tests, and set how long they may take."""

from __future__ import annotations

import importlib.util
import os
import sys
from importlib.machinery import SourceFileLoader
from pathlib import Path
from typing import Any

import pytest

TESTS = Path(__file__).resolve().parent
ROOT = TESTS.parent

LONG = bool(os.environ.get("KCHECK_LONG"))
"""Whether tests with random cases run many of them."""


def load_script(name: str) -> Any:
    """Load a file of scripts/ as a module, without writing compiled code beside it."""
    loader = SourceFileLoader(name.replace("-", "_"), str(ROOT / "scripts" / name))
    spec = importlib.util.spec_from_loader(loader.name, loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "dont_write_bytecode", True)
        patch.setitem(sys.modules, loader.name, module)  # where data classes look for it
        loader.exec_module(module)
    return module
