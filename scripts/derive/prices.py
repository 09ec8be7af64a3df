"""profiles/*/prices.yaml: list prices, from the tables that Karpenter's providers generate out of the clouds' lists.

Prices of the types in a file are written again, in its region and `elsewhere`; types that the source lacks stay as
they are. Types with accelerators that the file lacks are named, for a person to give them a group.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, NamedTuple

import yaml

from derive.gits import MissingError, tell, text_of
from derive.tables import stamped
from kcheck.config.numbers import machines

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

Market = dict[str, dict[str, float]]
"""Prices of an hour: region -> machine type, without `Standard_` and `ecs.` -> price."""


class Prices(NamedTuple):
    """What a source says, and on which day; None where it does not say the day."""

    on_demand: Market
    spot: Market
    dated: str | None = None


def _go(text: str) -> Prices:
    """Of a generated Go file."""
    found: Market = {}
    own: dict[str, float] = {}
    for name, opens, price in re.findall(r'"([\w.-]+)"(\] = map[^{]*\{|: *\{)?(?:: *([\d.]+))?', text):
        if opens:
            own = found.setdefault(name, {})
        elif price:
            own[name.removeprefix("Standard_")] = float(price)
    day = re.search(r"generated at (\d{4}-\d\d-\d\d)", text)
    return Prices(found, {}, day[1] if day else None)


def _google(text: str) -> Prices:
    """Of a JSON file by region and market."""
    regions = json.loads(text)["prices"]
    return Prices(
        *({region: own.get(market, {}) for region, own in regions.items()} for market in ("on_demand", "spot"))
    )


def _alibaba(text: str) -> Prices:
    """Of a JSON file by region."""
    found = {
        region: {name.removeprefix("ecs."): price for name, price in own.items()}
        for region, own in json.loads(text).items()
    }
    return Prices(found, {})


CLOUDPILOT = "cloudpilot-ai/karpenter-provider-"
SOURCES: dict[str, tuple[str, str, Callable[[str], Prices]]] = {
    "eks": ("aws/karpenter-provider-aws", "pkg/providers/pricing/zz_generated.pricing_aws.go", _go),
    "aks": ("Azure/karpenter-provider-azure", "pkg/providers/pricing/zz_generated.pricing.go", _go),
    "gke": (f"{CLOUDPILOT}gcp", "pkg/providers/pricing/initial-prices.json", _google),
    "ack": (f"{CLOUDPILOT}alibabacloud", "pkg/providers/pricing/initial-on-demand-prices.json", _alibaba),
}


def derive(gits: Path, profiles: Path) -> dict[Path, str]:
    """The new text of each file whose source is here."""
    found = {}
    for cloud, (name, file, read) in SOURCES.items():
        try:
            own, text = text_of(gits, name, file)
        except MissingError as error:
            tell(cloud, error)
            continue
        prices, path = read(text), profiles / cloud / "prices.yaml"
        commit, day = own.commit(file)
        new = stamped(
            _written(path.read_text(encoding="utf-8"), prices), f"https://github.com/{name}/blob/{{}}/{file}", commit
        )
        found[path] = re.sub(
            r"^source_dated: .*$", f"source_dated: {prices.dated or day}", new, count=1, flags=re.MULTILINE
        )
        _name_missing(cloud, yaml.safe_load(found[path]), prices)
    return found


def _written(text: str, prices: Prices) -> str:
    """The text with the prices of the source in place of its own."""
    home = str(yaml.safe_load(text)["region"])
    lines, keys = [], [""]
    for line in text.splitlines():
        key = re.match(r"( *)([\w. -]+):", line)
        if key and not line.startswith("#"):
            depth = len(key[1]) // 2
            keys = [*keys[:depth], key[2]]
        market = prices.spot if "spot" in keys else prices.on_demand
        region = keys[1] if keys[0] == "elsewhere" and len(keys) > 1 else home
        if key and keys[0] in ("on_demand", "spot", "elsewhere") and re.search(r": \S+ \d+", line):
            lines.append(_line(line, market.get(region, {})))
        else:
            lines.append(line)
    return "\n".join(lines) + "\n"


def _line(line: str, prices: dict[str, float]) -> str:
    """A line of `type price` with the prices of the source."""
    head, _, entries = line.partition(": ")
    pairs = [entry.split(" ") for entry in entries.split(", ")]
    return f"{head}: " + ", ".join(
        f"{name} {int(prices[name] * 1000 + 0.5) if name in prices else own}" for name, own in pairs
    )


def _name_missing(cloud: str, data: dict[str, dict[str, str]], prices: Prices) -> None:
    """Print the machine types with accelerators that the source has in the region and the file has not."""
    here = {entry.split(" ")[0] for line in data["on_demand"].values() for entry in line.split(", ")}
    for name in prices.on_demand.get(str(data["region"]), {}):
        if name not in here and machines.gpus(cloud, name):
            tell(cloud, f"the source has a price of {name}")
