"""What the user asked for: targets, variable files, prices."""

from __future__ import annotations

from dataclasses import dataclass, field


class ConfigError(Exception):
    """Wrong use: what is wrong and what would be right, in one line."""


@dataclass(frozen=True)
class Config:
    """The effective settings of one run.

    `nodes` maps a cluster's name or address to the number of nodes it is meant to reach; the key "" holds for
    every cluster. `price` is what one node costs, in US cents an hour.
    """

    nodes: dict[str, int] = field(default_factory=dict)
    var_files: tuple[str, ...] = ()
    price: int | None = None

    def target(self, *names: str) -> int | None:
        """The number of nodes asked for the cluster that has one of these names."""
        for name in names:
            if name in self.nodes:
                return self.nodes[name]
        return self.nodes.get("")


def parse_nodes(values: tuple[str, ...]) -> dict[str, int]:
    """Read `--nodes [CLUSTER=]N`, given any number of times.

    Raises:
        ConfigError: N is not a positive whole number.
    """
    result: dict[str, int] = {}
    for value in values:
        name, _, number = value.rpartition("=")
        digits = number.replace(",", "").replace("_", "")
        if not digits.isdigit() or int(digits) < 1:
            raise ConfigError(f"--nodes {value}: N must be a whole number of at least 1, such as --nodes 1000")
        result[name] = int(digits)
    return result


def parse_price(value: str | None) -> int | None:
    """Read `--price`, in US dollars for one node and hour, as cents.

    Raises:
        ConfigError: it is not a positive number.
    """
    if value is None:
        return None
    try:
        cents = round(float(value.removeprefix("$")) * 100)
    except ValueError:
        cents = 0
    if cents <= 0:
        raise ConfigError(f"--price {value}: give US dollars for one node and hour, such as --price 30")
    return cents
