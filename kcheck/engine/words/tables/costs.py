"""The words of what nodes cost, and of what changes save."""

from __future__ import annotations

from kcheck.engine.words.tables.field import Field, made, part, records

SUBJECTS: dict[str, tuple[Field, ...]] = {
    "cost": (
        part("node_time", "int", "time for which nodes are paid, all together", "node-seconds"),
        part("money", "int", "what those of them cost that have a price; null where none has", "mills", nullable=True),
        records("rates", "rate", "the prices of these nodes, the largest share first", lambda c, _w: list(c.rates)),
    ),
    "saving": (
        part("nodes", "int", "nodes of the simulated run", "nodes"),
        part("run_time", "int", "work of each pod of the simulated run", "seconds"),
        made("node_time", "int", "time for which nodes are not paid any more, all together; by the quickest loops of the autoscaler to the slowest",
             lambda saving, _world: saving.node_time, "node-seconds", bounded=True),
        made("money", "int", "what they cost in that time; not known where none of them has a price", lambda saving, _world: saving.money, "mills", bounded=True),
        part("unpriced", "int", "nodes without a price", "nodes"),
        records("rates", "rate", "the prices of these nodes, the largest share first", lambda saving, _world: list(saving.rates)),
    ),
    "rate": (
        part("nodes", "int", "nodes at this price", "nodes"),
        part("money", "int", "price of one node for an hour", "mills"),
        part("machine", "string", "machine type that has the price; null where the user gives it", nullable=True),
        part("market", "string", "on demand or spot; empty where the user gives the price"),
        part("region", "string", "region of the price list; empty where the user gives the price"),
    ),
}  # fmt: skip
