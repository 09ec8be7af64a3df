"""Check one repository, and write what is found as rows."""

from __future__ import annotations

import time
from collections import Counter
from typing import TYPE_CHECKING

from msgspec.structs import replace

from kcheck.addons.fleet.checkout import revision
from kcheck.addons.fleet.limit_usage import uses_of
from kcheck.addons.fleet.tables import ClusterRow, FindingRow, LimitRow, Rows, UndecidedRow
from kcheck.addons.fleet.task import CHECKED, PARTLY, Outcome, failed
from kcheck.api import Project
from kcheck.config.config import ConfigError
from kcheck.config.effective import effective_config
from kcheck.engine.judged import missing_input
from kcheck.report import capacity
from kcheck.report.owners import owners
from kcheck.report.places import fingerprints
from kcheck.report.verdict import Savings, Waste, reach_of
from kcheck.scale import walls
from kcheck.text import deadline
from kcheck.text.files.tree import PathError
from kcheck.text.findings import Severity, UnknownInput
from kcheck.text.reasons import cause_of
from kcheck.text.values import Unknown, known

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kcheck.addons.fleet.task import Settings, Task
    from kcheck.config.config import Config
    from kcheck.engine.judged import MissingInput
    from kcheck.engine.linter import Result
    from kcheck.model import Cluster
    from kcheck.text.findings import Finding

_MILLS, _SECONDS = 1000, 3600


def check(task: Task) -> Outcome:
    """Check the repository of a task in the current folder; whatever it has, there is an outcome."""
    begin, cpu = time.monotonic(), time.process_time()
    try:
        outcome = _checked(task)
    except (ConfigError, PathError) as error:
        outcome = failed(str(error))
    except deadline.DeadlineError:
        outcome = failed(deadline.reason())
    finally:
        deadline.stop()
    spent, own = time.monotonic() - begin, time.process_time() - cpu
    return replace(outcome, revision=revision("."), seconds=spent, cpu_seconds=own)


def _checked(task: Task) -> Outcome:
    """Judge what is in the current folder.

    Raises:
        ConfigError: the settings make no sense.
        PathError: a folder that is asked for does not exist.
        DeadlineError: the time was over before anything was found.
    """
    deadline.start(task.bounds.seconds)
    config = _config(task.settings)
    result = Project(task.settings.roots, config).check().result
    deadline.stop()
    rows, files = rows_of(result), len(result.reading.sources)
    if result.bugs:
        first = result.bugs[0]
        more = f", and {len(result.bugs) - 1:,} more" if len(result.bugs) > 1 else ""
        reason = f"{first.rule or 'the model'} fails on {first.object}: {first.message}{more}"
        return Outcome(PARTLY, reason, rows, files=files)
    if result.is_late:
        return Outcome(PARTLY, result.judged.skipped[0].reason, rows, files=files)
    return Outcome(CHECKED, "", rows, files=files)


def _config(settings: Settings) -> Config:
    """Read the settings of the repository, with what the list of the fleet says instead.

    Raises:
        ConfigError: they make no sense.
    """
    flags = {
        "nodes": settings.nodes, "price": settings.price, "var_files": settings.var_files, "rules": settings.rules,
        "module_dirs": settings.module_dirs,
    }  # fmt: skip
    config = effective_config(settings.roots, None, flags, top=".")
    return replace(config, environments=settings.environments) if settings.environments else config


# --- rows


def rows_of(result: Result) -> Rows:
    """The rows of a run on one repository."""
    numbers = owners(result.findings, result.world)
    ids = [cluster.id for cluster in result.world.inventory.clusters]
    return Rows(
        clusters=list(_clusters(result, numbers)),
        limits=[row for cluster in result.world.inventory.clusters for row in _limits(cluster, result)],
        findings=[
            _finding(finding, fingerprint, tuple(ids[number - 1] for number in own))
            for (finding, fingerprint), own in zip(fingerprints(result.findings), numbers, strict=True)
        ],
        undecided=list(_undecided(result)),
        uses=[row for cluster in result.world.inventory.clusters for row in uses_of(cluster, result.world)],
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
        cluster=cluster.id,
        name=cluster.display_name,
        is_named=bool(known(cluster.name)),
        cloud=cluster.cloud,
        root=cluster.root,
        environment=cluster.environment,
        account=known(cluster.account) or "",
        region=known(cluster.region) or "",
        resource_group=known(cluster.group) or "",
        path=path,
        line=line,
        target=world.sizes.wanted_interval(cluster).exact,
        state=state,
        reaches=capacity.reachable_nodes(cluster, world),
        reach=reach,
        first_limit=first.what if first is not None else "",
        first_limit_at=first.number if first is not None else None,
        move=first.move if first is not None and first.short else "",
        is_judged=not_judged is None,
        missing=missing.reason if missing is not None else "",
        remedy=missing.remedy if missing is not None else "",
        waste_state="nothing" if waste.is_none else "unknown" if found is None else "known" if spent else "unpriced",
        waste_least=spent.least / _MILLS if spent is not None else None,
        waste_most=spent.most / _MILLS if spent is not None else None,
        waste_hours_least=found.node_time.least / _SECONDS if found is not None else None,
        waste_hours_most=found.node_time.most / _SECONDS if found is not None else None,
        waste_note=waste.note,
        errors=counts[Severity.ERROR],
        warnings=counts[Severity.WARNING],
        summary=capacity.summary_sentence(cluster, world),
    )


def _missing(cluster: Cluster, result: Result) -> MissingInput | None:
    """The input that the first limit without a number waits for, where the cluster is judged."""
    for wall in walls.find_walls(cluster, result.world):
        if wall.short is None and wall.kind != "recommended" and not capacity.is_account_quota(wall):
            return missing_input(wall.cause, result.reading) if isinstance(wall.cause, Unknown) else None
    return None


def _limits(cluster: Cluster, result: Result) -> Iterator[LimitRow]:
    for wall in walls.find_walls(cluster, result.world):
        path, line = wall.place.line
        bounds = wall.nodes
        yield LimitRow(
            cluster=cluster.id,
            mechanism=wall.mechanism,
            scope=wall.scope,
            nodes=bounds.exact if bounds is not None else None,
            at_least=bounds.low if bounds is not None else None,
            at_most=bounds.high if bounds is not None else None,
            before_target=wall.short,
            kind=wall.kind,
            arithmetic=wall.arithmetic,
            move=wall.move,
            path=path,
            line=line,
            source=wall.source,
        )


def _finding(finding: Finding, fingerprint: str, clusters: tuple[str, ...]) -> FindingRow:
    path, line = finding.span.line
    return FindingRow(
        fingerprint=fingerprint,
        rule=finding.rule,
        severity=finding.severity.word,
        waste=finding.waste,
        message=finding.message,
        path=path,
        line=line,
        object=finding.object,
        clusters=clusters,
        fix=finding.fix.safety if finding.fix is not None else "",
    )


def _undecided(result: Result) -> Iterator[UndecidedRow]:
    remedies = {missing.reason: missing.remedy for missing in result.judged.inputs}
    for check in result.undecided:
        path, line = check.span.line
        for reason in check.missing:
            cause = reason.cause if isinstance(reason, UnknownInput) else cause_of(reason)
            yield UndecidedRow(check.rule, check.object, path, line, cause, remedies.get(cause, ""))
