"""profiles/*/versions.yaml: minor versions of Kubernetes and their support, from the files of endoflife.date.

A file whose own source is newer than that repository is left alone: what it knows is named, not taken back. The day of
a release stays as it is known: those of endoflife.date are a few days off a cloud's calendar.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import yaml

from derive.gits import MissingError, tell, text_of
from derive.tables import dated

if TYPE_CHECKING:
    from pathlib import Path

REPOSITORY = "endoflife-date/endoflife.date"
PRODUCTS = {
    "eks": "amazon-eks", "aks": "azure-kubernetes-service", "gke": "google-kubernetes-engine", "ack": "alibaba-ack",
    "selfmanaged": "kubernetes",
}  # fmt: skip
KEYS = {"released": "releaseDate", "ends": "eol", "extended": "eoes"}


def derive(gits: Path, profiles: Path) -> dict[Path, str]:
    """The new text of each file: lines of versions that differ, and of new ones."""
    found = {}
    for cloud, product in PRODUCTS.items():
        file, path = f"products/{product}.md", profiles / cloud / "versions.yaml"
        if not path.exists():
            continue
        try:
            own, source = text_of(gits, REPOSITORY, file)
        except MissingError as error:
            tell(cloud, error)
            continue
        text, day = path.read_text(encoding="utf-8"), own.commit(".")[1]
        newest = str(yaml.safe_load(text).get("source_dated", "unknown"))
        if newest != "unknown" and newest > day:
            tell(cloud, f"{file} is of {day}, older than the versions that are known here ({newest})")
            continue
        releases = yaml.safe_load(source.split("\n---")[0])["releases"]
        new = written(text, {int(one["releaseCycle"].split(".")[1]): one for one in releases})
        found[path] = dated(new, day) if new != text else text
    return found


def written(text: str, releases: dict[int, dict[str, object]]) -> str:
    """The text with the lines of the versions that the source has, from the oldest of the text on."""
    known = yaml.safe_load(text)["minors"]
    lines = dict(re.findall(r"^  (\d+): (\{.*)$", text, re.MULTILINE))
    for minor, one in sorted(releases.items()):
        days = {key: one[name] for key, name in KEYS.items() if re.fullmatch(r"\d{4}-\d\d-\d\d", str(one.get(name)))}
        if minor >= min(known) and {"released", "ends"} <= days.keys():
            own = days | known.get(minor, {}) | {key: day for key, day in days.items() if key != "released"}
            if own != known.get(minor):
                lines[str(minor)] = f"{{{', '.join(f'{key}: {own[key]}' for key in KEYS if key in own)}}}"
    body = "".join(f"  {minor}: {line}\n" for minor, line in sorted(lines.items(), key=lambda pair: int(pair[0])))
    return re.sub(r"^minors:\n(  \d+: .*\n)+", lambda _: f"minors:\n{body}", text, count=1, flags=re.MULTILINE)
