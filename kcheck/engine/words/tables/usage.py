"""Words of measured usage (`--usage FILE`)."""

from kcheck.engine.words.tables.field import Field, annotated, made, record
from kcheck.scale.basics import computed
from kcheck.scale.usage import fragments, gpus, requests
from kcheck.text.values import mapped

SUBJECTS: dict[str, tuple[Field, ...]] = {
    "request": (
        *annotated(requests.Request),
        made("limit_needed", "int", "a limit with room above that; the same where request and limit are equal", lambda r, _w: computed(r, requests.limit_needed(r))),
        made("of_need", "int", "the request in percent of the need; null without one", lambda r, _w: mapped(r.amount, lambda amount: round(100 * amount / r.needed)), "percent", nullable=True),
        made("of_limit", "int", "the most that was used in percent of the limit; null without one", lambda r, _w: mapped(r.limit, lambda limit: round(100 * r.peak / max(limit, 1))), "percent", nullable=True),
        made("killed", "int", "the largest limit at which the container was killed for want of memory; 0 where it never was", lambda r, _w: computed(r, r.use.killed)),
        made("asked", "string", "the request in words; null without one", requests.asked_text, nullable=True),
        made("capped", "string", "the limit in words; null without one", requests.limit_text, nullable=True),
        made("quantity", "string", "what is needed, as a manifest has it", lambda r, _w: computed(r, requests.text(r, r.needed))),
        made("limit_quantity", "string", "the limit that is needed, as a manifest has it", lambda r, _w: computed(r, requests.text(r, requests.limit_needed(r)))),
        made("basis", "string", "what the need comes from, in words: at most so much in 95% of the time, or at most so much", lambda r, _w: computed(r, requests.basis(r))),
        made("most", "string", "the most that was used, in words", lambda r, _w: computed(r, requests.said(r, r.peak))),
        made("buffer", "string", "the buffer of its tier, in words", lambda r, _w: computed(r, requests.buffer(r))),
        made("measured", "string", "how many pods were measured, and their time together, in words", lambda r, _w: computed(r, requests.measured_text(r))),
        made("kills", "int", "how often the container was killed for want of memory", lambda r, _w: computed(r, r.use.kills), "times"),
        made("fills_node", "bool", "whether its pods take all GPUs of their nodes, so that what they leave of CPU and memory is nobody's", lambda r, w: computed(r, requests.fills_node(r, w))),
        made("starts_high", "bool", "whether its job needs more CPU in its first minutes than later", lambda r, w: computed(r, requests.starts_high(r, w))),
        made("excess", "string", "what its pods ask for together above the need, in words; null where that is not known", requests.excess, nullable=True),
        made("excess_amount", "int", "the same in its unit; null where that is not known", requests.excess_amount, nullable=True),
        made("excess_money", "int", "price of that for an hour; null where no price is known", requests.excess_money, "mills", nullable=True),
        record("container", "container", "its container", lambda r, _w: computed(r.container, r.container)),
    ),
    "gpu_usage": (
        made("busy", "int", "mean utilisation of their GPUs while they were held", lambda g, _w: computed(g, gpus.busy(g)), "percent"),
        made("busy_most", "int", "utilisation that they do not exceed in 95% of the time", lambda g, _w: computed(g, gpus.busy_most(g)), "percent"),
        made("tensor", "int", "mean activity of the tensor cores; null where that was not measured", lambda g, _w: computed(g, gpus.tensor(g)), "percent", nullable=True),
        made("power", "int", "mean power of a GPU in watts; null where that was not measured", lambda g, _w: computed(g, g.use.power), nullable=True),
        made("held", "string", "time of all GPUs together for which they were held, in words", lambda g, _w: computed(g, gpus.gpu_hours(g.use.seconds))),
        made("idle", "string", "time of it in which they did nothing, in words", lambda g, _w: computed(g, gpus.gpu_hours(gpus.idle_seconds(g)))),
        made("idle_money", "int", "what that time cost at the price of their nodes; null where no price is known", gpus.idle_money, "mills", nullable=True),
        made("memory", "int", "the most memory of a GPU that was used; null where that was not measured", lambda g, _w: computed(g, gpus.mebibytes(g.use.memory)), "memory", nullable=True),
        made("memory_of", "int", "memory of a GPU; null where that was not measured", lambda g, _w: computed(g, gpus.mebibytes(g.use.memory_total)), "memory", nullable=True),
        made("model", "string", "its GPU, as DCGM calls it", lambda g, _w: computed(g, g.use.model)),
        made("profile", "string", "the MIG profile that they have; null for whole GPUs", lambda g, _w: computed(g, g.use.profile or None), nullable=True),
        made("slice", "string", "the smallest MIG profile that would carry one of them; null where none would, or the GPU has none", gpus.slice_name, nullable=True),
        made("slices", "int", "how many of that profile fit a GPU; null without", gpus.slice_count, "slices", nullable=True),
        made("copies", "int", "how many of these pods fit a GPU by memory and work; null where only one does", lambda g, w: computed(g, gpus.copies(g, w)), "pods", nullable=True),
        made("pods", "int", "pods that were measured", lambda g, _w: computed(g, g.use.pods), "pods"),
        record("template", "template", "the pods", lambda g, _w: computed(g.template, g.template)),
    ),
    "fragment": (
        made("unit", "string", "GPUs, or cores of a pool without GPUs", lambda f, _w: computed(f, f.found.unit)),
        made("share", "int", "what was free and of no use to the pods that waited, in percent of what the pool had", lambda f, _w: computed(f, fragments.share(f)), "percent"),
        made("free", "string", "mean of what was free and of no use, in words", lambda f, _w: computed(f, fragments.free(f))),
        made("nodes", "string", "mean number of nodes with such a rest, in words", lambda f, _w: computed(f, fragments.nodes(f))),
        made("waiting", "string", "for how long pods waited, in words", lambda f, _w: computed(f, fragments.hours(f.found.waiting))),
        made("hours", "int", "for how long pods waited", lambda f, _w: computed(f, round(f.found.waiting / 3600)), "hours"),
        made("packed", "string", "for how long of that the rests together would have been enough for one of them, in words", lambda f, _w: computed(f, fragments.hours(f.found.packed))),
        made("job", "string", "what waited longest", lambda f, _w: computed(f, " ".join(f.job))),
        made("asked", "string", "what one of its pods asks for, in words", lambda f, _w: computed(f, fragments.asked(f))),
        made("money", "int", "what the rests cost in that time; null where no price is known", fragments.money, "mills", nullable=True),
        record("pool", "pool", "the pool", lambda f, _w: computed(f.pool, f.pool)),
    ),
}  # fmt: skip
