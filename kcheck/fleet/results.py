"""The tables of all runs of a fleet, as Parquet files and as one DuckDB file."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kcheck.fleet.kept import Kept
    from kcheck.fleet.run import Ended
    from kcheck.fleet.tables import RunRow


def write(folder: str, run: RunRow, ended: Sequence[Ended], kept: Kept) -> None:
    """Add a run to the tables in a folder: readers see all of it, or nothing."""
    raise NotImplementedError
