"""Check one repository, and write the results as rows."""

import os
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

import msgspec
from msgspec import convert
from msgspec.structs import replace

from kcheck.addons.fleet.outcomes import CHECKED, PARTLY, Outcome, Settings, Task, failed
from kcheck.addons.fleet.tables import (
    EVERYWHERE,
    IN_ACCOUNT,
    IN_REGION,
    IN_REPOSITORY,
    ClusterRow,
    FindingRow,
    LimitRow,
    Rows,
    UndecidedRow,
    UseRow,
)
from kcheck.api import Project
from kcheck.config.config import VARIABLE, Config, ConfigError
from kcheck.config.effective import effective_config
from kcheck.engine.judged import MissingInput, missing_input
from kcheck.engine.linter import Result
from kcheck.inventory.clouds.registry import cloud
from kcheck.model import NODE_ADDRESSES, Cluster, NodePool, Reservation
from kcheck.report import capacity
from kcheck.report.cluster_summary import Savings, Waste, owners, reach_of
from kcheck.report.formats import Report
from kcheck.scale import quotas, walls
from kcheck.scale.addresses import address_units
from kcheck.scale.walls import egress
from kcheck.scale.world import World
from kcheck.text import deadline
from kcheck.text.errors import description
from kcheck.text.files.tree import PathError
from kcheck.text.findings import Finding, Severity
from kcheck.text.need import total
from kcheck.text.regex import regex
from kcheck.text.values import Known, Origin, Unknown, Unset, Value, equals, known

_MILLS, _SECONDS = 1000, 3600
_UNITS = "vpc.address_units"


def check(task: Task) -> Outcome:
    """Check the repository of a task in this process; always return an outcome."""
    begin, cpu = time.monotonic(), time.process_time()
    try:
        outcome = _checked(task)
    except (ConfigError, PathError) as error:
        outcome = failed(str(error))
    except deadline.DeadlineError:
        outcome = failed(deadline.reason())
    except MemoryError:
        outcome = failed("it needs more memory than it may have (--memory)")
    except Exception as error:
        outcome = failed(f"a bug in kcheck: {description(error)}")
    finally:
        deadline.stop()
    return replace(outcome, seconds=time.monotonic() - begin, cpu_seconds=time.process_time() - cpu)


def _checked(task: Task) -> Outcome:
    """Check the folder of a task."""
    if task.day:
        os.environ[VARIABLE] = task.day
    try:
        os.chdir(task.folder)
    except OSError as error:
        return failed(f"{task.folder}: {error.strerror}")
    deadline.start(task.seconds)
    config = _config(task.settings)
    result = Project(task.settings.roots, config).check().result
    deadline.stop()
    status, reason = CHECKED, ""
    if result.bugs:
        first = result.bugs[0]
        more = f", and {len(result.bugs) - 1:,} more" if len(result.bugs) > 1 else ""
        status, reason = PARTLY, f"{first.rule or 'the model'} fails on {first.object}: {first.message}{more}"
    elif result.is_late:
        status, reason = PARTLY, result.judged.skipped[0].reason
    return Outcome(status, reason, rows_of(result), files=len(result.reading.sources))


def _config(settings: Settings) -> Config:
    """Read the settings of a repository; values in the fleet's list win."""
    flags = {
        "nodes": settings.nodes, "price": settings.price, "var_files": settings.var_files, "rules": settings.rules,
        "module_dirs": settings.module_dirs,
    }  # fmt: skip
    config = effective_config(settings.roots, None, flags, top=".")
    return replace(config, environments=settings.environments) if settings.environments else config


# --- rows


def rows_of(result: Result) -> Rows:
    """Convert the result of a check to rows."""
    world, numbers = result.world, owners(result.findings, result.world)
    ids = [cluster.id for cluster in world.inventory.clusters]
    clusters = msgspec.json.decode(capacity.as_json(world))["clusters"]
    findings = msgspec.json.decode(Report(result, info=True).render("json"))["findings"]
    return Rows(
        clusters=list(_clusters(result, numbers)),
        limits=[convert({**wall, "cluster": one["id"]}, LimitRow) for one in clusters for wall in one["walls"]],
        findings=[
            convert(
                {**one, "clusters": [ids[at - 1] for at in own], "fix": one["fix"]["safety"] if one["fix"] else ""},
                FindingRow,
            )
            for one, own in zip(findings, numbers, strict=True)
        ],
        undecided=list(_undecided(result)),
        uses=[row for cluster in world.inventory.clusters for row in _uses(cluster, world)],
        suppressed=result.suppressed,
    )


def _clusters(result: Result, numbers: Sequence[Sequence[int]]) -> Iterator[ClusterRow]:
    savings = Savings(result)
    why = {one.cluster.id: one.input for one in result.judged.not_judged}
    about: dict[int, list[Finding]] = {}
    for finding, of in zip(result.findings, numbers, strict=True):
        for number in of:
            about.setdefault(number, []).append(finding)
    late = Waste("not known", result.judged.skipped[0].reason) if result.is_late else None  # no time for simulated runs
    for number, cluster in enumerate(result.world.inventory.clusters, 1):
        own = about.get(number, [])
        yield _cluster(cluster, result, own, why.get(cluster.id), late or savings.waste(cluster, own))


def _cluster(
    cluster: Cluster, result: Result, own: Sequence[Finding], not_judged: MissingInput | None, waste: Waste
) -> ClusterRow:
    world = result.world
    (path, line), (state, reach) = cluster.place.line, reach_of(cluster, world)
    first, counts = walls.first(cluster, world), Counter(finding.severity for finding in own)
    missing = not_judged or (_missing(cluster, result) if state == "unknown" else None)
    found = waste.saving.found if waste.saving is not None else None
    spent = found.money if found is not None else None
    return ClusterRow(
        cluster=cluster.id, name=cluster.display_name, is_named=bool(known(cluster.name)), cloud=cluster.cloud,
        root=cluster.root, environment=cluster.environment, account=known(cluster.account) or "",
        region=known(cluster.region) or "", resource_group=known(cluster.group) or "", path=path, line=line,
        target=world.sizes.wanted_amount(cluster).exact, state=state,
        reaches=capacity.reachable_nodes(cluster, world), reach=reach,
        first_limit=first.what if first is not None else "",
        first_limit_at=first.number if first is not None else None,
        move=first.move if first is not None and first.short else "",
        is_judged=not_judged is None,
        missing=missing.reason if missing is not None else "", remedy=missing.remedy if missing is not None else "",
        waste_state="nothing" if waste.is_none else "unknown" if found is None else "known" if spent else "unpriced",
        waste_least=spent.least / _MILLS if spent is not None else None,
        waste_most=spent.most / _MILLS if spent is not None else None,
        waste_hours_least=found.node_time.least / _SECONDS if found is not None else None,
        waste_hours_most=found.node_time.most / _SECONDS if found is not None else None,
        waste_note=waste.note, errors=counts[Severity.ERROR], warnings=counts[Severity.WARNING],
        summary=capacity.summary_sentence(cluster, world),
    )  # fmt: skip


def _missing(cluster: Cluster, result: Result) -> MissingInput | None:
    """Find the missing input of the first limit without a number."""
    undecided = (wall for wall in walls.find_walls(cluster, result.world) if wall.short is None)
    own = (one.cause for one in undecided if one.kind != "recommended" and not capacity.is_account_quota(one))
    cause = next(own, None)
    return missing_input(cause, result.reading) if isinstance(cause, Unknown) else None


def _undecided(result: Result) -> Iterator[UndecidedRow]:
    remedies = {missing.reason: missing.remedy for missing in result.judged.inputs}
    for check in result.undecided:
        path, line = check.span.line
        for cause in (one.cause for one in check.inputs):
            yield UndecidedRow(check.rule, check.object, path, line, cause, remedies.get(cause, ""))


# --- what is taken of shared limits


def _uses(cluster: Cluster, world: World) -> Iterator[UseRow]:
    """List the shared limits that a cluster uses, with the amount it uses of each."""
    for part in (_quotas, _address_units, _hub_pulls, _reservations):
        yield from (row for row in part(cluster, world) if row.needed or not row.is_exact)


def _quotas(cluster: Cluster, world: World) -> Iterator[UseRow]:
    limits = world.numbers.limits(cluster.cloud)
    path, line = cluster.place.line
    for asked in quotas.at_target(cluster, world):
        quota = asked.need.quota
        if quota.of == "cluster":
            continue
        value = limits[f"quota.{quota.key}"].value
        yield UseRow(
            cluster=cluster.id, kind="quota", key=quota.code, scope=IN_ACCOUNT if quota.of == "project" else IN_REGION,
            name=quota.name, unit=asked.need.unit, needed=asked.amount.low, is_exact=asked.amount.exact is not None,
            available=value if isinstance(value, int) else None, limit_name=f"{cluster.cloud}.quota.{quota.key}",
            path=path, line=line,
        )  # fmt: skip


def _address_units(cluster: Cluster, world: World) -> Iterator[UseRow]:
    units = address_units(cluster, world)
    if not units:
        return
    entry = world.numbers.limits(cluster.cloud)[_UNITS]
    sizes = {pool.id: known(world.sizes.of_pool(pool)) for pool in world.pools.of_cluster(cluster)}
    is_counted = None not in sizes.values() and not isinstance(world.pools.all_of_cluster(cluster), Unknown)
    key, scope = _network(cluster, world)
    path, line = cluster.place.line
    yield UseRow(
        cluster=cluster.id, kind="address-units", key=key, scope=scope, name="address units of a VPC", unit=entry.unit,
        needed=sum(bounds.low * (sizes[name] or 0) for name, bounds in units.items()),
        is_exact=is_counted and all(one.exact is not None for one in units.values()), available=entry.number,
        limit_name=f"{cluster.cloud}.{_UNITS}", path=path, line=line,
    )  # fmt: skip


def _hub_pulls(cluster: Cluster, world: World) -> Iterator[UseRow]:
    pulls = egress.hub_pulls(cluster, world)
    sure = [one for one in pulls if one.sure]
    if not sure or equals(cluster.outbound_type, NODE_ADDRESSES):
        return  # each node with an address of its own has a limit of its own, too
    nodes, addresses = world.sizes.target_amount(cluster), known(cluster.outbound_ips)
    entry = world.numbers.limits("any")["docker_hub.pulls"]
    key, scope = _way_out(cluster, world)
    path, line = sure[0].images[0].place.line
    yield UseRow(
        cluster=cluster.id, kind="docker-hub", key=key, scope=scope, name="anonymous pulls from Docker Hub",
        unit=entry.unit, needed=egress.pulled(sure, lambda _: nodes.low),
        is_exact=nodes.exact is not None and len(sure) == len(pulls),
        available=entry.number * addresses if addresses else None, limit_name="any.docker_hub.pulls",
        path=path, line=line,
    )  # fmt: skip


def _reservations(cluster: Cluster, world: World) -> Iterator[UseRow]:
    by_key: dict[tuple[str, str], list[NodePool]] = defaultdict(list)
    made_by: dict[tuple[str, str], list[Reservation]] = {}
    for pool in world.pools.of_cluster(cluster):
        if not isinstance(pool.market.reservation_id, Unset):
            made = _made(pool, cluster, world)
            key = _reservation(pool, cluster, made)
            by_key[key].append(pool)
            made_by[key] = made
    for (name, scope), pools in by_key.items():
        sizes = [world.sizes.of_pool(pool) for pool in pools]
        limit = known(total([one.size for one in made_by[name, scope]], Origin(()))) if made_by[name, scope] else None
        path, line = pools[0].place.line
        yield UseRow(
            cluster=cluster.id, kind="reservation", key=name, scope=scope, name="nodes of a reservation", unit="nodes",
            needed=sum(known(size) or 0 for size in sizes), is_exact=all(isinstance(size, Known) for size in sizes),
            available=limit, limit_name="", path=path, line=line,
        )  # fmt: skip


def _made(pool: NodePool, cluster: Cluster, world: World) -> list[Reservation]:
    """List reservations in the same root module that a pool uses."""
    asked, types = pool.market.reservation_id, known(pool.machine.instance_types) or ()
    near = [
        one for one in world.inventory.reservations if (one.root, one.environment) == (pool.root, cluster.environment)
    ]
    if cloud(cluster.cloud).reserves_by_machine:
        return [one for one in near if _is_same(one.group, asked) and known(one.machine) in types]
    address, name = _symbol(asked), known(asked)
    return [one for one in near if address == one.address or (name is not None and known(one.name) == name)]


def _reservation(pool: NodePool, cluster: Cluster, made: list[Reservation]) -> tuple[str, str]:
    """Return the key of a pool's reservation, and the scope in which it is unique."""
    asked, own, types = pool.market.reservation_id, cloud(cluster.cloud), known(pool.machine.instance_types) or ()
    part = f" {types[0]}" if own.reserves_by_machine and types else ""
    name = known(asked) or next((text for one in made if (text := known(one.name))), "")
    if name:
        is_id = regex(own.reservation_ids).fullmatch(name) is not None
        return f"{name}{part}", EVERYWHERE if is_id else IN_REGION
    symbol = _symbol(asked)
    return (f"{pool.root}:{symbol}{part}" if symbol else ""), IN_REPOSITORY


def _is_same(first: Value[str], second: Value[str]) -> bool:
    if isinstance(first, Known) and isinstance(second, Known):
        return first.value == second.value
    return bool(_symbol(first)) and _symbol(first) == _symbol(second)


def _symbol(value: Value[str]) -> str:
    """Return the address of the resource a value comes from; empty if none."""
    symbol = value.symbol if isinstance(value, Unknown) else None
    return symbol.address if symbol is not None and symbol.attribute != "text" else ""


def _network(cluster: Cluster, world: World) -> tuple[str, str]:
    """Return the key of a cluster's network, and the scope in which it is unique."""
    found = world.pools.network(cluster)
    is_written = found and not found.startswith(f"{cluster.cloud}/")
    return found, EVERYWHERE if is_written else IN_REPOSITORY


def _way_out(cluster: Cluster, world: World) -> tuple[str, str]:
    """Return the key of a cluster's egress addresses, and its scope."""
    if cloud(cluster.cloud).has_own_addresses(cluster):
        return cluster.id, IN_REPOSITORY
    network, scope = _network(cluster, world)
    if not cloud(cluster.cloud).shares_gateways or not network:
        return network, scope
    region = known(cluster.region)  # its networks are everywhere, its gateways are in regions
    return (f"{network} {region}", scope) if region else ("", scope)
