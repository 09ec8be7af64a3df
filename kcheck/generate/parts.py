"""Optional parts of a cluster, each with a flag."""

from fnmatch import fnmatch

from kcheck.config.numbers import profiles

SMALL = 32
"""Most training nodes of a cluster that begins small: a judgement, what one person looks after."""

ALONE: dict[str, object] = {"scheduler": "none", "teams": [{"name": "training", "share": 100}], "tiers": ["normal"]}
"""Fields of an intent for a single team, whose jobs no queue holds."""

PARTS: dict[str, tuple[str, str]] = profiles.load_own("any", "parts")
"""Parts by their flags: the text of what one adds, and patterns of its files."""


def is_wanted(path: str, parts: tuple[str, ...]) -> bool:
    """Whether a file belongs to one of these parts, or is never optional."""
    return all(name in parts or not any(fnmatch(path, one) for one in PARTS[name][1].split()) for name in PARTS)


def is_small(fields: dict[str, object]) -> bool:
    """Whether an intent with these fields begins without the parts."""
    return isinstance(nodes := fields.get("nodes"), int) and nodes <= SMALL and "parts" not in fields


def grown(fields: dict[str, object], teams: str, parts: list[str], *, fresh: bool = False) -> dict[str, object]:
    """Add teams and parts to an intent; `fresh` small ones start without.

    Teams take nodes back that they lent, so their jobs need the storage.
    """
    few = fresh and is_small(fields) and not fields.keys() & ALONE.keys()
    found = fields | ({**ALONE, "parts": []} if few else {})
    if teams:
        names = teams.split(",")
        found = {name: value for name, value in found.items() if ALONE.get(name) != value}
        found["teams"] = [{"name": name, "share": 100 // len(names)} for name in names]
        parts = [*parts, "storage"]
    if parts and isinstance(have := found.get("parts"), list):
        found["parts"] = [name for name in PARTS if name in have or name in parts]
    return found
