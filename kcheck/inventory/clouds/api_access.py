"""Addresses that can reach the API server of a managed cluster."""

from kcheck.config.numbers.fields import Fields
from kcheck.text.values import Known, Unknown, Unset, Value, first_set, known, mapped

EVERYONE = "0.0.0.0/0"


def ranges(fields: Fields) -> Value[tuple[str, ...]]:
    """Return the ranges that reach the API server; Unset if unknown.

    Reads the fields `api_public` (or its opposite `api_private`) and `api_ranges`.
    """
    public = first_set(fields.flag("api_public"), mapped(fields.flag("api_private"), lambda inside: not inside))
    allowed = fields.texts("api_ranges")
    if isinstance(public, Unknown):
        return public
    if known(public) is False:
        return Known((), public.origin)
    if isinstance(allowed, Unknown) or (isinstance(allowed, Known) and allowed.value):
        return mapped(allowed, lambda every: tuple({t if "/" in t else f"{t}/32": None for t in every}))
    return Known((EVERYONE,), public.origin) if isinstance(public, Known) else Unset(allowed.origin)
