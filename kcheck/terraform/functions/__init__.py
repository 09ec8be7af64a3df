"""Terraform's functions that need only their arguments."""

from kcheck.terraform.functions import collections, dates, encoding, maps_and_sets, network, numeric, patterns, strings
from kcheck.terraform.functions.signature import Function

FUNCTIONS: dict[str, Function] = {}
for _module in (collections, dates, encoding, maps_and_sets, network, numeric, patterns, strings):
    FUNCTIONS |= _module.TABLE

_LATER = "its value is only known when Terraform runs"
_MACHINE = "its value depends on the machine that runs Terraform"
_REASONS = {
    **dict.fromkeys(("timestamp", "plantimestamp", "uuid", "bcrypt"), _LATER),
    **dict.fromkeys(("abspath", "pathexpand"), _MACHINE),
    "rsadecrypt": "it needs a private key",
    "base64gzip": "compressed text is not computed",
    "templatestring": "its template is only known when Terraform runs",
}


def reason_for(name: str) -> str:
    """Return why the result of a function outside the table is unknown."""
    bare = name.removeprefix("core::")
    if bare.startswith("provider::"):
        return f"{name}() belongs to a provider, which is not run"
    return f"{name}(): {_REASONS.get(bare, 'this function is not evaluated')}"


__all__ = ["FUNCTIONS", "Function", "reason_for"]
