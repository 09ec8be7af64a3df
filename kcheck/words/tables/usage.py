"""The words of what was measured (`--usage FILE`)."""

from __future__ import annotations

from kcheck.words.derive.basics import computed
from kcheck.words.later import fragmented, gpu_usage, usage
from kcheck.words.tables.field import Field, made, part, record, simple

SUBJECTS: dict[str, tuple[Field, ...]] = {
    "request": (
        part("resource", "string", "CPU or memory"),
        simple("amount", "int", "the request of the container, by default its limit: millicores or bytes"),
        simple("own", "int", "the request as written; null where only a limit is written, or nothing"),
        simple("limit", "int", "its limit, in the same unit"),
        part("needed", "int", "what was measured with the buffer of its tier, in the same unit"),
        made("limit_needed", "int", "a limit with room above that; the same where request and limit are equal", lambda r, _w: computed(r, usage.limit_needed(r))),
        part("used", "int", "what the need comes from: a percentile, or the most that was used, in the same unit"),
        part("peak", "int", "the most that was used, in the same unit"),
        made("of_need", "int", "the request in percent of the need; null without one", usage.of_need, "percent", nullable=True),
        made("of_limit", "int", "the most that was used in percent of the limit; null without one", usage.of_limit, "percent", nullable=True),
        made("killed", "int", "the largest limit at which the container was killed for want of memory; 0 where it never was", lambda r, _w: computed(r, usage.killed(r))),
        part("equal", "bool", "whether request and limit are to stay the same, so that nothing above the request is left"),
        made("asked", "string", "the request in words; null without one", usage.asked_text, nullable=True),
        made("capped", "string", "the limit in words; null without one", usage.limit_text, nullable=True),
        made("quantity", "string", "what is needed, as a manifest has it", lambda r, _w: computed(r, usage.text(r, r.needed))),
        made("limit_quantity", "string", "the limit that is needed, as a manifest has it", lambda r, _w: computed(r, usage.text(r, usage.limit_needed(r)))),
        made("basis", "string", "what the need comes from, in words: at most so much in 95% of the time, or at most so much", lambda r, _w: computed(r, usage.basis(r))),
        made("most", "string", "the most that was used, in words", lambda r, _w: computed(r, usage.said(r, r.peak))),
        made("buffer", "string", "the buffer of its tier, in words", lambda r, _w: computed(r, usage.buffer(r))),
        made("measured", "string", "how many pods were measured, and their time together, in words", lambda r, _w: computed(r, usage.measured_text(r))),
        made("kills", "int", "how often the container was killed for want of memory", lambda r, _w: computed(r, usage.kills(r)), "times"),
        made("fills_node", "bool", "whether its pods take all GPUs of their nodes, so that what they leave of CPU and memory is nobody's", lambda r, w: computed(r, usage.fills_node(r, w))),
        made("starts_high", "bool", "whether its job needs more CPU in its first minutes than later", lambda r, w: computed(r, usage.starts_high(r, w))),
        made("excess", "string", "what its pods ask for together above the need, in words; null where that is not known", usage.excess, nullable=True),
        made("excess_money", "int", "price of that for an hour; null where no price is known", usage.excess_money, "mills", nullable=True),
        record("container", "container", "its container", lambda r, _w: computed(r.container, r.container)),
    ),
    "gpu_usage": (
        made("busy", "int", "mean utilisation of their GPUs while they were held", lambda g, _w: computed(g, gpu_usage.busy(g)), "percent"),
        made("busy_most", "int", "utilisation that they do not exceed in 95% of the time", lambda g, _w: computed(g, gpu_usage.busy_most(g)), "percent"),
        made("tensor", "int", "mean activity of the tensor cores; null where that was not measured", lambda g, _w: computed(g, gpu_usage.tensor(g)), "percent", nullable=True),
        made("power", "int", "mean power of a GPU in watts; null where that was not measured", lambda g, _w: computed(g, g.use.power), nullable=True),
        made("held", "string", "time of all GPUs together for which they were held, in words", lambda g, _w: computed(g, gpu_usage.gpu_hours(g.use.seconds))),
        made("idle", "string", "time of it in which they did nothing, in words", lambda g, _w: computed(g, gpu_usage.gpu_hours(gpu_usage.idle_seconds(g)))),
        made("idle_money", "int", "what that time cost at the price of their nodes; null where no price is known", gpu_usage.idle_money, "mills", nullable=True),
        made("memory", "int", "the most memory of a GPU that was used; null where that was not measured", lambda g, _w: computed(g, gpu_usage.mebibytes(g.use.memory)), "memory", nullable=True),
        made("memory_of", "int", "memory of a GPU; null where that was not measured", lambda g, _w: computed(g, gpu_usage.mebibytes(g.use.memory_total)), "memory", nullable=True),
        made("model", "string", "its GPU, as DCGM calls it", lambda g, _w: computed(g, g.use.model)),
        made("profile", "string", "the MIG profile that they have; null for whole GPUs", lambda g, _w: computed(g, g.use.profile or None), nullable=True),
        made("slice", "string", "the smallest MIG profile that would carry one of them; null where none would, or the GPU has none", gpu_usage.slice_name, nullable=True),
        made("slices", "int", "how many of that profile fit a GPU; null without", gpu_usage.slice_count, "slices", nullable=True),
        made("copies", "int", "how many of these pods fit a GPU by memory and work; null where only one does", lambda g, w: computed(g, gpu_usage.copies(g, w)), "pods", nullable=True),
        made("pods", "int", "pods that were measured", lambda g, _w: computed(g, g.use.pods), "pods"),
        record("template", "template", "the pods", lambda g, _w: computed(g.template, g.template)),
    ),
    "fragment": (
        made("unit", "string", "GPUs, or cores of a pool without GPUs", lambda f, _w: computed(f, f.found.unit)),
        made("share", "int", "what was free and of no use to the pods that waited, in percent of what the pool had", lambda f, _w: computed(f, fragmented.share(f)), "percent"),
        made("free", "string", "mean of what was free and of no use, in words", lambda f, _w: computed(f, fragmented.free(f))),
        made("nodes", "string", "mean number of nodes with such a rest, in words", lambda f, _w: computed(f, fragmented.nodes(f))),
        made("waiting", "string", "for how long pods waited, in words", lambda f, _w: computed(f, fragmented.hours(f.found.waiting))),
        made("hours", "int", "for how long pods waited", lambda f, _w: computed(f, round(f.found.waiting / 3600)), "hours"),
        made("packed", "string", "for how long of that the rests together would have been enough for one of them, in words", lambda f, _w: computed(f, fragmented.hours(f.found.packed))),
        made("job", "string", "what waited longest", lambda f, _w: computed(f, " ".join(f.job))),
        made("asked", "string", "what one of its pods asks for, in words", lambda f, _w: computed(f, fragmented.asked(f))),
        made("money", "int", "what the rests cost in that time; null where no price is known", fragmented.money, "mills", nullable=True),
        record("pool", "pool", "the pool", lambda f, _w: computed(f.pool, f.pool)),
    ),
}  # fmt: skip
