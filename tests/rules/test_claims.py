"""Test that each claim of the articles kcheck began with has rules, or a reason why it has none."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from kcheck.engine import rules
from tests.places import ROOT

pytestmark = pytest.mark.medium

DATA: dict[str, Any] = yaml.safe_load((ROOT / "docs" / "claims.yaml").read_text(encoding="utf-8"))
COUNTS = {"000": 10, "001": 6, "002": 6, "003": 5, "004": 8}


def test_every_claim_of_the_articles_is_listed() -> None:
    wanted = [f"{article}.{number}" for article, count in COUNTS.items() for number in range(1, count + 1)]
    assert list(DATA["claims"]) == wanted
    assert list(DATA["articles"]) == list(COUNTS)


@pytest.mark.parametrize("key", DATA["claims"])
def test_a_claim_has_rules_or_a_reason(key: str) -> None:
    claim = DATA["claims"][key]
    assert set(claim) <= {"claim", "rules", "reason", "now"}
    assert claim["claim"].endswith(".")
    assert claim.get("rules") or claim.get("reason")


def test_the_rules_of_claims_exist() -> None:
    named = {name for claim in DATA["claims"].values() for name in claim.get("rules", ())}
    missing = sorted(named - {rule.name for rule in rules.load()})
    assert not missing, f"there are no rules {', '.join(missing)}"
