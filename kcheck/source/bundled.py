"""The folders of rules and profiles: in the wheel, or at the top of a checkout."""

from __future__ import annotations

import os

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_WHEEL = os.path.join(_PACKAGE, "_data")
ROOT = _WHEEL if os.path.isdir(_WHEEL) else os.path.dirname(_PACKAGE)
RULES = os.path.join(ROOT, "rules")
PROFILES = os.path.join(ROOT, "profiles")
