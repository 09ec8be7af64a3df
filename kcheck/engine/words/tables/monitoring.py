"""The words of Prometheus servers."""

from __future__ import annotations

from kcheck.engine.words.lazy_functions import basics, monitoring
from kcheck.engine.words.tables.field import Field, made, named, record, simple

SUBJECTS: dict[str, tuple[Field, ...]] = {
    "monitor": (
        named("its name, or that of its release"),
        record("cluster", "cluster", "the cluster it runs in", basics.cluster_of),
        made("scrapes", "bool", "whether it scrapes the nodes of its cluster", monitoring.scrapes),
        made("nodes", "int", "target of its cluster", lambda m, world: world.sizes.around(m), "nodes"),
        made("shards", "int", "servers that divide what is scraped", monitoring.shards, "shards"),
        simple("memory", "int", "memory that each of them requests", "memory"),
        simple("memory_limit", "int", "memory limit of each of them", "memory"),
        made("memory_needed", "int", "memory that each of them needs at the target of its cluster", monitoring.memory_needed, "memory"),
    ),
}  # fmt: skip
