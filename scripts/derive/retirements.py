"""profiles/*/retirements.yaml: whether each page in a repository still says the day that the file has.

Days stand in prose there: a program finds that one is gone, a person reads what came instead. Nothing is written.
Release notes are read in the CHANGELOG.md of their repository. A copy older than an entry's own source says nothing.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import yaml

from derive.gits import MissingError, tell, text_of

if TYPE_CHECKING:
    import datetime
    from pathlib import Path

PAGE = re.compile(r"https://github\.com/([^/]+/[^/]+)/(?:blob/(?:main|master|mainline)/(\S+)|releases/tag/\S+)")


def derive(gits: Path, profiles: Path) -> dict[Path, str]:
    """Nothing to write; names what no page in a repository says any more, and what has none."""
    for path in sorted(profiles.glob("*/retirements.yaml")):
        without = []
        for key, entry in yaml.safe_load(path.read_text(encoding="utf-8")).items():
            pages = [found for source in entry["sources"] if (found := PAGE.fullmatch(source))]
            name = f"retirements.{path.parent.name}.{key}"
            try:
                read = [text_of(gits, page[1], page[2] or "CHANGELOG.md") for page in pages]
            except MissingError as error:
                tell(name, error)
                continue
            day, newest = entry["ends"], str(entry.get("source_dated", ""))
            if read and not any(re.search(rf"{word}(?!\d)", text) for _, text in read for word in spellings(day)):
                last = max(own.commit(".")[1] for own, _ in read)
                gone = f"no longer says {day}" if last >= newest else f"does not say {day}: the copy is of {last}"
                tell(name, f"{pages[0][0]} {gone}")
            without += [] if pages else [key]
        if without:
            tell(path.parent.name, f"no page in a repository for {', '.join(without)}: look at their sources")
    return {}


def spellings(day: datetime.date) -> tuple[str, ...]:
    """The ways in which pages write a day."""
    month, short = f"{day:%B}", f"{day:%b}"
    return (
        day.isoformat(), f"{month} {day.day}, {day.year}", f"{day:%B %d, %Y}", f"{day.day} {month} {day.year}",
        f"{short} {day.day}, {day.year}", f"{month} {day.day}", f"{day:%m/%d/%Y}",
        f"{day:%m/%d/%y}", f"{day.month}/{day.day}/{day.year}",
    )  # fmt: skip
