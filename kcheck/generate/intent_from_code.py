"""Read the intent of an existing cluster from its code, and list assumptions."""

import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple, TypeVar

from msgspec import Struct, field
from msgspec.structs import replace

from kcheck.config import schemas
from kcheck.config.config import Config, ConfigError
from kcheck.config.numbers import machines
from kcheck.engine import linter
from kcheck.fix.fix import Fixes, fix, keys_of
from kcheck.generate import intent as intents
from kcheck.generate import recommended, selfmanaged
from kcheck.generate.assembly import ImpossibleError, as_tree, drafted, generate
from kcheck.generate.intent import Intent
from kcheck.generate.intent_fields import PROVIDERS, CodeReader, first_ones
from kcheck.generate.parts import ALONE, grown, is_small
from kcheck.generate.training_pools import because, described, named, on_pools
from kcheck.inventory import reader as inventory
from kcheck.inventory.reading import Reading
from kcheck.model import Cluster, NodePool
from kcheck.report.text import skipped_text
from kcheck.scale.world import World
from kcheck.text.files.disk import Disk
from kcheck.text.files.save import File
from kcheck.text.files.system import real_path
from kcheck.text.files.tree import Tree, display_path
from kcheck.text.findings import SAFETIES, Severity
from kcheck.text.ip_ranges import parse_cidr
from kcheck.text.partly_known import wrap
from kcheck.text.regex import regex
from kcheck.text.text import Span
from kcheck.text.units import counted
from kcheck.text.values import Known, Origin, Value, known, number

T = TypeVar("T")

_NO_CLUSTER = "name the folder whose code makes one; where a module of others does, run `terraform init` there first"
_MOST_GAPS = 3
_PLACE = regex(r" \([^()]*:\d+\)")
ABSENT = "not in the code, or not read there"
"""Beginning of the line that lists fields the code does not set."""


class Found(Struct):
    """Fields of an intent read from code, by dotted names, and what could not be read.

    `unclear` says why a field could not be read, `missing` the same for required ones, `left_out` what an intent cannot
    express. `recorded` reads the code of an intent file there; without one the cluster has what `begun` says.
    """

    cloud: str
    fields: dict[str, object] = field(default_factory=dict)
    reader: CodeReader | None = None
    unclear: dict[str, str] = field(default_factory=dict)
    missing: dict[str, str] = field(default_factory=dict)
    left_out: list[str] = field(default_factory=list)
    recorded: CodeReader | None = None
    begun: dict[str, object] = field(default_factory=dict)


class Source(NamedTuple):
    """Paths with the code of a cluster, their settings, and its name."""

    paths: tuple[str, ...]
    config: Config
    cluster: str = ""

    def __str__(self) -> str:
        return f"--from {' --from '.join(self.paths)}"


def intent_of(
    source: Source, cloud: str | None, given: Mapping[str, object], teams: str = "", parts: Sequence[str] = ()
) -> Intent:
    """Read the intent of the cluster below some paths; `given` fields win.

    An intent file beside the code supplies the rest, as far as the code still matches it. Raises ConfigError if there
    is not exactly one cluster, it is on another `cloud`, or its machines or their number are unknown.
    """
    found = read(source, cloud)
    _recall(found, source)
    known_fields = {**found.fields, **(given := flat(given))}
    begun = {} if found.recorded else {**ALONE, "parts": []} if is_small(known_fields) else {"teams": ALONE["teams"]}
    before = {**begun, **known_fields}
    wanted = grown(before, teams, [*parts])
    found.fields, found.begun = ({name: one[name] for name in one if name in wanted} for one in (found.fields, begun))
    given |= {name: wanted[name] for name in wanted if wanted[name] != before.get(name)}
    lacking = {name: why for name, why in found.missing.items() if name not in given}
    if lacking:
        reasons = dict.fromkeys(lacking.values())
        told = "; ".join(
            f"{' and '.join(name for name in lacking if lacking[name] == why)} cannot be read: {why}" for why in reasons
        )
        unread = _gaps(found.reader.reading) if found.reader else ""
        raise ConfigError(f"{source}: {told}; give {_remedy(lacking)}{unread}")
    return _completed(found, given, source)


def generated(source: Source) -> dict[str, bytes] | None:
    """Return the files that kcheck makes of the intent beside the code."""
    try:
        recorded = _recorded(source) if len(source.paths) == 1 else None
        return generate(intents.with_defaults(read(source).cloud, recorded)).files if recorded else None
    except (ConfigError, ImpossibleError):
        return None


def edited(source: Source, cloud: str | None, nodes: int | None) -> tuple[Fixes, str]:
    """Correct the code itself: all fixes, and manifests that mend more.

    `nodes` is another number of training nodes; the other pools keep theirs. The text says why there are no manifests.
    """
    paths, config, reader = list(source.paths), source.config, read(source, cloud).reader
    try:
        made = drafted(intent_of(source, cloud, {"nodes": nodes} if nodes else {}))
    except ConfigError as error:
        made = str(error)
    if nodes and reader:
        others = number(reader.world.sizes.target(reader.cluster), 0) - reader.training.nodes
        config = replace(config, nodes={"": nodes + max(0, others)})
    folder = paths[0] if os.path.isdir(paths[0]) else os.path.dirname(paths[0])
    new, left, every = dict[str, bytes](), _keys(paths, config, {}), dict[str, bytes]()
    for path, data in made.items() if isinstance(made, dict) and left else ():
        real = real_path(os.path.join(folder, *path.split("/")))
        own = on_pools(data, reader.training.sizes) if reader and path.startswith("kubernetes/") else b""
        if own and not os.path.lexists(real):
            every[real] = own
    for real, data in every.items() if left - _keys(paths, config, every) else ():
        found = _keys(paths, config, {**new, real: data})
        if found < left:
            new[real], left = data, found
    fixes = fix(paths, config, safeties=SAFETIES, least=Severity.WARNING, overlay=new)
    last = new | {one.real: one.new for one in fixes.files}
    fixes.files, fixes.held_back = [one for one in fixes.files if one.real not in new], []
    fixes.files += [File(real, display_path(real), b"", last[real], fresh=True) for real in new]
    return fixes, made if isinstance(made, str) else ""


def _keys(paths: list[str], config: Config, overlay: Mapping[str, bytes]) -> set[tuple[str, str, str]]:
    found = linter.run(Tree(paths, overlay, config.exclude, config.boundary), config).findings
    return keys_of([one for one in found if one.severity >= Severity.WARNING])


def _remedy(lacking: Mapping[str, str]) -> str:
    told = " and ".join("--nodes" if name == "nodes" else f"{name}: in a file with --intent" for name in lacking)
    return f"{told}, or --var-file" if any("var." in why for why in lacking.values()) else told


def _completed(found: Found, given: Mapping[str, object], source: Source) -> Intent:
    """Complete the intent with assumptions, without contradictory fields."""
    fields, unclear = dict(found.fields), dict(found.unclear)
    while True:
        try:
            made = intents.with_defaults(found.cloud, recommended.nested({**found.begun, **fields, **given}))
        except ConfigError as error:
            wrong = str(error).partition(":")[0]
            top = wrong.partition(".")[0]
            own = [name for name in fields if wrong == name or (wrong not in fields and name.partition(".")[0] == top)]
            own = [name for name in own if name not in given]
            if not own or top in ("machines", "nodes", "gpus"):
                raise ConfigError(f"{source}: {error}") from error
            unclear |= dict.fromkeys(own, str(error).partition(": ")[2])
            for name in own:
                del fields[name]
            continue
        mode, usual = fields.get("network.mode"), str(recommended.values(found.cloud)["intent.mode"])
        files = drafted(made)
        if not isinstance(files, str) or mode in (None, usual) or "network.mode" in given:
            break
        unclear["network.mode"] = f"{mode} of the code is impossible for this cluster: {files}"
        del fields["network.mode"]
    if not isinstance(files, str) and found.reader is not None:
        now = _read_tree(*as_tree(files), source._replace(cluster="")).reader
        lines = [*differences(found.reader, now)] if now else []
        wanted = {_PLACE.sub("", line) for line in differences(found.recorded, now)} if found.recorded and now else ()
        found.left_out += [line for line in lines if _PLACE.sub("", line) not in wanted]
    return _with_assumptions(made, found, unclear, given.keys(), given.keys() | fields.keys())


def _with_assumptions(
    made: Intent, found: Found, unclear: Mapping[str, str], given: Collection[str], told: Collection[str]
) -> Intent:
    """List fields that nobody set, and parts of the code left out."""
    before = [line for line in made.assumed if line.partition(":")[0] not in given]
    usual = {name: value for name, value in _values(made).items() if name not in told}
    if found.reader is not None and cidrs(found.reader):
        usual.pop("network.range", None)
    now = [f"{name}: {value}; {unclear[name]}" for name, value in usual.items() if name in unclear]
    now += [f"{name} is left out; {why}" for name, why in unclear.items() if name not in usual and name not in told]
    if not found.recorded and (absent := [f"{name} {value}" for name, value in usual.items() if name not in unclear]):
        now.append(f"{ABSENT}: {'; '.join(absent)}")
    return intents.with_assumed(made, [*before, *now, *found.left_out])


def _values(made: Intent) -> dict[str, str]:
    several = len(str(recommended.values(made.cloud)["intent.modes"]).split(", ")) > 1
    found = {
        "name": made.name, "account": made.account, "region": made.region, "zones": ", ".join(made.zones),
        "kubernetes": made.kubernetes, "machines": ", ".join(made.machines), "gpus": str(made.gpus),
        "job.nodes": f"{made.job_nodes:,}", "job.hours": f"{made.job_hours:,}",
        "teams": ", ".join(f"{team.name} {team.share}%" for team in made.teams), "tiers": ", ".join(made.tiers),
        "scheduler": made.scheduler, "autoscaler": made.autoscaler, "installer": made.installer,
        "registry": made.registry, "image": made.image, "network.mode": made.mode if several else "",
        "network.fabric": made.fabric, "network.cards": ", ".join(made.cards),
        "network.range": made.range or "chosen by size",
        "network.api_ranges": ", ".join(made.api_ranges) or "none",
    }  # fmt: skip
    if machines.machine(made.cloud, made.machine) is not None:
        del found["gpus"]
    if made.cloud not in PROVIDERS:
        del found["account"]
    return {name: value for name, value in found.items() if value}


def flat(fields: Mapping[str, object], prefix: str = "") -> dict[str, object]:
    """Flatten nested fields to dotted names."""
    found: dict[str, object] = {}
    for name, value in fields.items():
        found |= flat(value, f"{prefix}{name}.") if isinstance(value, dict) else {f"{prefix}{name}": value}
    return found


def _recall(found: Found, source: Source) -> None:
    """Take fields from the intent file that still match the code."""
    try:
        recorded = _recorded(source)
    except ConfigError as error:
        found.left_out.append(f"not read: {error}")
        return
    if recorded is None:
        return

    try:
        files = drafted(intents.with_defaults(found.cloud, recorded))
    except ConfigError as error:
        found.left_out.append(f"{intents.RECORDED} beside the code is not read: {error}")
        return
    if isinstance(files, str):
        return
    try:
        then = _read_tree(*as_tree(files), source)
    except ConfigError:
        return
    found.recorded = then.reader
    for name, value in flat(recorded).items():
        if found.fields.get(name) == then.fields.get(name):
            found.fields[name] = value
            found.missing.pop(name, None)
    found.left_out = [line for line in found.left_out if line not in then.left_out]


def _recorded(source: Source) -> dict[str, object] | None:
    """Read the intent file beside the code. Raises ConfigError if it is invalid."""
    for folder in source.paths:
        path = os.path.join(folder, intents.RECORDED)
        if Disk(boundary=source.config.boundary).read(path) is not None:
            return intents.load(path)
    return None


# --- the code


def read(source: Source, cloud: str | None = None) -> Found:
    """Read the fields of the only cluster below some paths, or raise ConfigError."""
    config = source.config
    found = _read_tree(Tree(list(source.paths), None, config.exclude, config.boundary), config, source)
    if cloud and cloud != found.cloud:
        raise ConfigError(f"{source} is a cluster on {found.cloud}, not on {cloud}")
    return found


def _read_tree(tree: Tree, config: Config, source: Source) -> Found:
    """Read the fields of the source's cluster; raise ConfigError without one."""
    reading = inventory.read(tree, config, selfmanaged.RAW)
    world = World(reading.inventory, config)
    cluster = _only(reading, source)
    reader = CodeReader(cluster, reading, world)
    found = Found(cluster.cloud, reader=reader)
    for name, value in reader.fields():
        if isinstance(value, Known):
            if value.value in (None, {}, ""):
                continue
            if _is_field(name, value.value, cluster.place):
                found.fields[name] = value.value
            else:
                found.unclear[name] = f"{value.value} of the code is nothing that an intent can say"
        elif why := because(value, cluster.place).removeprefix(": "):
            found.unclear[name] = why
    training = reader.training
    if training.unread:
        found.missing["machines"] = training.unread
    if "nodes" not in found.fields:
        found.missing["nodes"] = training.unsized or training.unread or training.empty
    found.left_out = [*training.assumed, *training.left_out, *reader.doubts()]
    return found


def _only(reading: Reading, source: Source) -> Cluster:
    """Return the source's cluster; raise ConfigError if there is not exactly one."""
    clusters = reading.inventory.clusters
    named = [one for one in clusters if source.cluster in ("", one.address, one.id, known(one.name))]
    if len(named) == 1:
        return named[0]
    if not named and clusters:
        names = sorted({one.display_name for one in clusters})
        raise ConfigError(f"{source}: no cluster {source.cluster} there; there are {', '.join(names[:6])}")
    if not named:
        raise ConfigError(f"{source}: no clusters in the code there; {_NO_CLUSTER}{_gaps(reading)}")
    names = sorted({cluster.display_name for cluster in named})
    roots = sorted({cluster.root for cluster in named})
    ways = [f"name the folder of one ({', '.join(roots[:6])})"] if len(roots) > 1 else []
    ways += [f"choose one with --cluster ({', '.join(names[:6])})"] if len(names) > 1 else []
    files = sorted({cluster.place.source.path for cluster in named})
    ways += [f"name the file of one ({', '.join(files[:6])})"] if len(files) > 1 and not ways else []
    found = [one.var_files[-1] for one in reading.environments if one.var_files and one.root in roots]
    ways += [f"choose an environment with --var-file ({', '.join(found[:6])})"] if found and not ways else []
    ways = ways or ["they have the same name, so kcheck cannot tell them apart"]
    raise ConfigError(f"{source}: {len(named)} clusters there; {' or '.join(ways)}")


def _gaps(reading: Reading) -> str:
    gaps = [skipped_text(one) for one in reading.skipped if not one.by_choice][:_MOST_GAPS]
    return f". Not read: {'. '.join(gaps)}" if gaps else ""


def _is_field(name: str, value: object, place: Span) -> bool:
    data = wrap(recommended.nested({name: value}), Origin((place,)))
    return isinstance(data, Known) and not schemas.differences(data, "intent", "field", "the intent")


# --- parts of the code that an intent cannot express

_MOST_LISTED = 6


def differences(old: CodeReader, new: CodeReader) -> Iterator[str]:
    """Yield a sentence for each part of the old code that the new code does not keep."""
    yield from _cluster(old, new)
    yield from _system(old, new)
    yield from _taints(old, new)
    yield from _least(old, new)
    yield from _ranges(old, new)


def _cluster(old: CodeReader, new: CodeReader) -> Iterator[str]:
    """Report a changed name, tier or address family."""
    was, now = old.cluster, new.cluster
    before, after = known(was.name), known(now.name)
    if before and after and before != after:
        yield f"the cluster is called {after}; in the code it is {before} ({was.place.location})"
    before, after = known(was.tier), known(now.tier)
    if before and after and before.lower() != after.lower():
        yield f"the control plane has the tier {after}; in the code it has {before} ({_place(was.tier, was)})"
    if known(was.ip_family) == "ipv6":
        yield f"pods and Services get IPv4 addresses; in the code they get IPv6 ({_place(was.ip_family, was)})"


def _place(value: Value[str], cluster: Cluster) -> str:
    return (value.origin.spans[0] if value.origin and value.origin.spans else cluster.place).location


def _system(old: CodeReader, new: CodeReader) -> Iterator[str]:
    after = new.training.system
    types = [name for pool in after for name in _types(pool)]
    before = [pool for pool in old.training.system if not set(_types(pool)) & set(types)]
    if before and after:
        was = "; ".join(described(pool, old.world) for pool in before)
        yield f"the cluster's own pods get {'; '.join(_sized(pool, new) for pool in after)}; the code has {was}"


def _types(pool: NodePool) -> tuple[str, ...]:
    return known(pool.machine.instance_types) or ()


def _sized(pool: NodePool, reader: CodeReader) -> str:
    nodes = known(reader.world.sizes.of_pool(pool)) or 0
    return f"up to {counted(nodes, 'node')} of {'/'.join(_types(pool)) or 'an unknown type'}"


def _taints(old: CodeReader, new: CodeReader) -> Iterator[str]:
    kept = {_key(taint) for pool in new.training.sizes for taint in known(pool.scheduling.taints) or ()}
    lost: dict[str, NodePool] = {}
    for pool in old.training.sizes:
        for taint in known(pool.scheduling.taints) or ():
            if _key(taint) not in kept:
                lost.setdefault(taint, pool)
    if lost:
        listed = [f"{taint} of {named(pool)}" for taint, pool in lost.items()]
        yield f"taints are left out: {first_ones(listed, _MOST_LISTED)}"


def _key(taint: str) -> str:
    return taint.partition(":")[0].partition("=")[0]


def _least(old: CodeReader, new: CodeReader) -> Iterator[str]:
    """Report nodes that always exist but that the new pools start only on demand."""
    if not any(known(pool.size.autoscaled) and known(pool.size.min_nodes) == 0 for pool in new.training.sizes):
        return
    fixed = [pool for pool, size in old.training.sizes.items() if known(pool.size.autoscaled) is False and size]
    growing = [pool for pool in old.training.sizes if known(pool.size.autoscaled) and known(pool.size.min_nodes)]
    listed = [f"{described(pool, old.world)} at any time" for pool in fixed]
    listed += [f"{named(pool)}, at least {known(pool.size.min_nodes):,}" for pool in growing]
    if listed:
        yield f"pools grow from 0 nodes; the code has {first_ones(listed, _MOST_LISTED)}"


def _ranges(old: CodeReader, new: CodeReader) -> Iterator[str]:
    before = cidrs(old)
    lost = [f"{cidr} ({place})" for cidr, place in before.items() if cidr not in cidrs(new)]
    if lost:
        yield f"network.range: chosen by size; the code has {first_ones(lost, _MOST_LISTED)}"


def cidrs(reader: CodeReader) -> dict[str, str]:
    """Map the network and pod ranges of a cluster to their lines in the code."""
    found: dict[str, str] = {}
    for pool in reader.world.pools.of_cluster(reader.cluster):
        subnets = known(pool.addresses.subnets) or ()
        for network in filter(None, (known(subnet.network) for subnet in subnets)):
            found |= dict.fromkeys(_written(network.cidrs) or (), network.place.location)
        pods = known(pool.addresses.pod_range)
        if pods is not None and (cidr := _written(pods.cidr)):
            found.setdefault(cidr, pods.place.location)
    return {cidr: place for cidr, place in found.items() if parse_cidr(cidr)}


def _written(value: Value[T]) -> T | None:
    """Return a value set in the code; None for a default."""
    return value.value if isinstance(value, Known) and value.origin.missing is None else None
