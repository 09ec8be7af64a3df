"""Where the tests find the repository, and how long they may take."""

from __future__ import annotations

import os
from pathlib import Path

TESTS = Path(__file__).resolve().parent
ROOT = TESTS.parent

LONG = bool(os.environ.get("KCHECK_LONG"))
"""Whether tests that draw their cases at random take their time."""
