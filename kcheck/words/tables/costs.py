"""The words of what nodes cost."""

from __future__ import annotations

from kcheck.words.tables.field import Field, part, records

SUBJECTS: dict[str, tuple[Field, ...]] = {
    "cost": (
        part("nodes", "int", "nodes that cost it", "nodes"),
        part("node_time", "int", "time for which nodes are paid, all together", "node-seconds"),
        part("money", "int", "what those of them cost that have a price; null where none has", "mills", nullable=True),
        part("unpriced", "int", "nodes without a price", "nodes"),
        part("run_time", "int", "how long the simulated run takes; null where none is simulated", "seconds", nullable=True),
        records("rates", "rate", "the prices of these nodes, the largest share first", lambda c, _w: list(c.rates)),
    ),
    "rate": (
        part("nodes", "int", "nodes at this price", "nodes"),
        part("money", "int", "price of one node for an hour", "mills"),
        part("machine", "string", "machine type that has the price; null where the user gives it", nullable=True),
        part("market", "string", "on demand or spot; empty where the user gives the price"),
        part("region", "string", "region of the price list; empty where the user gives the price"),
    ),
}  # fmt: skip
