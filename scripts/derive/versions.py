"""profiles/*/versions.yaml: minor versions of Kubernetes and their support, by endoflife.date and clouds' calendars.

A file whose own source is newer than a repository is left alone by it: what it knows is named, not taken back. A
cloud's calendar overrides endoflife.date; the day of a release stays as it is known, as the latter's are a few days
off. Of a month without a day, the last day counts. Versions under `corrected` in a file are left alone.
"""

from __future__ import annotations

import calendar
import datetime
import re
from typing import TYPE_CHECKING

import yaml

from derive.gits import MissingError, tell, text_of
from derive.tables import dated

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

Releases = dict[int, dict[str, str]]
"""Minor version -> `released`, `ends` and `extended` -> a day, or a month."""

KEYS = {"released": "releaseDate", "ends": "eol", "extended": "eoes"}
DAY = re.compile(r"([A-Z][a-z]{2})[a-z]* (?:(\d{1,2}), )?(\d{4})")


def _product(text: str) -> Releases:
    """Of a file of endoflife.date."""
    return {
        int(one["releaseCycle"].split(".")[1]): {
            key: str(one[name]) for key, name in KEYS.items() if re.fullmatch(r"\d{4}-\d\d-\d\d", str(one.get(name)))
        }
        for one in yaml.safe_load(text.split("\n---", maxsplit=1)[0])["releases"]
    }


def _calendar(*columns: int) -> Callable[[str], Releases]:
    """Of a table whose rows begin with a version: how many cells after it the days of `KEYS` are."""

    def read(text: str) -> Releases:
        found: Releases = {}
        cells = [cell.strip("` \n") for cell in text.split("|")]
        for at, cell in enumerate(cells):
            if re.fullmatch(r"1\.\d+", cell):
                days = zip(KEYS, map(_day, (cells[at + one : at + one + 1] for one in columns)), strict=True)
                found.setdefault(int(cell.split(".")[1]), {}).update({key: day for key, day in days if day})
        return found

    return read


def _day(cells: list[str]) -> str:
    """The day or the month in a cell of a table; empty if it has none, or is not there."""
    if not (found := DAY.fullmatch("".join(cells))):
        return ""
    month = f"{found[3]}-{datetime.datetime.strptime(found[1], '%b').month:02}"
    return f"{month}-{int(found[2]):02}" if found[2] else month


ENDOFLIFE = "endoflife-date/endoflife.date"
Source = tuple[str, str, "Callable[[str], Releases]"]
SOURCES: dict[str, tuple[Source, ...]] = {
    "eks": (
        (ENDOFLIFE, "products/amazon-eks.md", _product),
        ("awsdocs/amazon-eks-user-guide", "latest/ug/versioning/kubernetes-versions.adoc", _calendar(2, 3, 4)),
    ),
    "aks": (
        (ENDOFLIFE, "products/azure-kubernetes-service.md", _product),
        ("MicrosoftDocs/azure-aks-docs", "articles/aks/supported-kubernetes-versions.md", _calendar(3, 4, 5)),
    ),
    "gke": ((ENDOFLIFE, "products/google-kubernetes-engine.md", _product),),
    "ack": ((ENDOFLIFE, "products/alibaba-ack.md", _product),),
    "selfmanaged": ((ENDOFLIFE, "products/kubernetes.md", _product),),
}
"""Repository, file and its reader; the one that counts most is last."""


def derive(gits: Path, profiles: Path) -> dict[Path, str]:
    """The new text of each file: lines of versions that differ, and of new ones."""
    found = {}
    for cloud, sources in SOURCES.items():
        path = profiles / cloud / "versions.yaml"
        if not path.exists():
            continue
        text = path.read_text(encoding="utf-8")
        known, days = yaml.safe_load(text), []
        for releases, day in _read(gits, cloud, sources, str(known.get("source_dated", "unknown"))):
            text = _written(text, releases)
            days.append(day)
        same = yaml.safe_load(text) == known
        found[path] = text if same else dated(text, max(days))
    return found


def _read(gits: Path, cloud: str, sources: tuple[Source, ...], newest: str) -> Iterator[tuple[Releases, str]]:
    """The releases and the day of each source that is here, and not older than what is known."""
    for repository, file, read in sources:
        try:
            own, source = text_of(gits, repository, file)
        except MissingError as error:
            tell(cloud, error)
            continue
        day = own.commit(".")[1]
        if newest != "unknown" and newest > day:
            tell(cloud, f"{file} is of {day}, older than the versions that are known here ({newest})")
            continue
        yield read(source), day


def _written(text: str, releases: Releases) -> str:
    """The text with the lines of the versions that the source has, from the oldest of the text on."""
    head = yaml.safe_load(text)
    known, corrected = head["minors"], head.get("corrected", ())
    lines = dict(re.findall(r"^  (\d+): (\{.*)$", text, re.MULTILINE))
    for minor, days in sorted(releases.items()):
        old = {key: str(day) for key, day in known.get(minor, {}).items()}
        if minor >= min(known) and minor not in corrected and {"released", "ends"} <= days.keys():
            new = {key: _last(day, old.get(key, "")) for key, day in days.items()}
            own = old | new | {key: day for key, day in old.items() if key == "released"}
            if own != old:
                lines[str(minor)] = f"{{{', '.join(f'{key}: {own[key]}' for key in KEYS if key in own)}}}"
    body = "".join(f"  {minor}: {line}\n" for minor, line in sorted(lines.items(), key=lambda pair: int(pair[0])))
    return re.sub(r"^minors:\n(  \d+: .*\n)+", lambda _: f"minors:\n{body}", text, count=1, flags=re.MULTILINE)


def _last(day: str, known: str) -> str:
    """A day; of a month, the day of it that is known, or its last one."""
    if len(day) > len("2026-01"):
        return day
    year, month = map(int, day.split("-"))
    return known if known.startswith(day) else f"{day}-{calendar.monthrange(year, month)[1]:02}"
