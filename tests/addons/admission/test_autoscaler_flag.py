"""Test that exported policies use the autoscaler flags found in the code."""

from __future__ import annotations

from typing import TYPE_CHECKING

from click.testing import CliRunner

from kcheck.commands.cli import cli
from kcheck.engine import rules

if TYPE_CHECKING:
    from tests.conftest import Write


def test_policies_take_the_cutoff_from_the_flag_of_the_autoscaler(write: Write) -> None:
    """AKS runs an autoscaler of its own, with the default cutoff.

    The flag belongs to a second one in a Deployment.
    """
    (rule,) = rules.by_name(rules.load(), ["priority-below-autoscaler-cutoff"])
    write(rule.documentation.examples[1].good)
    result = CliRunner().invoke(cli, ["export", "admission", ".", "--rule", rule.name])
    assert "cutoff: '-1000'" in result.stdout
