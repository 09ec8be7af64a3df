"""profiles/modules.yaml: whether a skeleton stands for the newest version of each published module, by its tags.

A skeleton is written by hand: what has none is named. The newest version is the last one that has the module's folder.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import yaml

from derive.gits import MissingError, needed, tell

if TYPE_CHECKING:
    from pathlib import Path

Version = tuple[int, ...]


def derive(gits: Path, profiles: Path) -> dict[Path, str]:
    """Nothing to write; names modules whose newest version has no skeleton."""
    missing: dict[str, None] = {}
    for name, entry in yaml.safe_load((profiles / "modules.yaml").read_text(encoding="utf-8")).items():
        if not isinstance(entry, dict):  # of the head
            continue
        try:
            own = needed(gits, entry["repository"])
        except MissingError as error:
            missing[str(error)] = None
            continue
        folder = name.partition("//")[2]
        file = f"{folder}/variables.tf" if folder else "variables.tf"
        here = own.texts(f"{tag}:{file}" for tag in own.names(r"v?\d+\.\d+\.\d+"))
        newest = max((version(one.partition(":")[0]) for one in here), default=None)
        if newest is None:
            tell(name, f"{entry['repository']} has no tags with {file} here")
        elif not any(holds(one["versions"], newest) for one in entry["skeletons"]):
            tell(name, f"no skeleton for its newest version, {'.'.join(map(str, newest))}")
    for error in missing:
        tell("modules", error)
    return {}


def version(text: str) -> Version:
    """The numbers of a version."""
    return tuple(map(int, re.findall(r"\d+", text)))


def holds(wanted: str, own: Version) -> bool:
    """Whether a version is in a range such as `>= 1.0, < 2.0`."""
    compared = {">=": own.__ge__, "<": own.__lt__, ">": own.__gt__, "<=": own.__le__}
    return all(compared[sign](version(number)) for sign, number in re.findall(r"([<>]=?) *([\d.]+)", wanted))
