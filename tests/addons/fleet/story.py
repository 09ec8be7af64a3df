"""Write three weeks of a small fleet by hand, in which repositories change, move, fail and repeat a cluster.

Tests of the queries spell out the answers, and docs/fleet-queries.md is printed from this fleet.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, TypeVar

import msgspec

from kcheck.addons.fleet import storage
from kcheck.addons.fleet.listing import Repository
from kcheck.addons.fleet.outcomes import CHECKED, FAILED, PARTLY, Kept, Outcome
from kcheck.addons.fleet.run import Ended
from kcheck.addons.fleet.storage import columns
from kcheck.addons.fleet.tables import (
    TABLES,
    ClusterRow,
    FindingRow,
    LimitRow,
    Rows,
    RunRow,
    SharedRow,
    UndecidedRow,
    UseRow,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

_Row = TypeVar("_Row", bound=msgspec.Struct)
NOTHING: dict[str, object] = {"VARCHAR": "", "BIGINT": 0, "DOUBLE": 0.0, "BOOLEAN": False, "VARCHAR[]": []}
FIRST, SECOND, THIRD = "20261109T060000Z", "20261116T060000Z", "20261123T060000Z"


def filled(kind: type[_Row], /, **given: object) -> _Row:
    """Return a row of a table, with null, empty text or zero in the columns that are not given."""
    table = next(name for name, table in TABLES.items() if table.row is kind)
    values = {one.name: None if one.nullable else NOTHING.get(one.type, "") for one in columns(table)}
    return msgspec.convert(values | given, kind)


def ended(
    kept: Kept, name: str, *, owner: str = "", folder: str = "", status: str = CHECKED, rows: Rows | None = None,
    **more: object,
) -> Ended:  # fmt: skip
    """Store the outcome of a repository as a run of the fleet does."""
    given = {"status": status, "rows": None if status == FAILED else rows or Rows(), **more}
    outcome = msgspec.convert(given, Outcome, from_attributes=True)
    if not outcome.is_unchanged:
        kept.keep(name, outcome)
    found = msgspec.structs.replace(outcome, rows=None)
    return Ended(Repository(name, folder or f"/fleet/{name}", owner), found, attempts=1)


def run_row(run: str, ended: Sequence[Ended] = ()) -> RunRow:
    begin = datetime.strptime(run, "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
    return filled(
        RunRow, run=run, started=begin.isoformat(), seconds=95.5, version="0.1.0", engine="local", workers=2,
        repositories=len(ended), unchanged=sum(one.outcome.is_unchanged for one in ended),
        failed=sum(one.outcome.status == FAILED for one in ended),
    )  # fmt: skip


def write(folder: Path, run: str, found: Sequence[Ended], shared: Iterable[SharedRow] = ()) -> None:
    storage.write(str(folder), run_row(run, found), found, Kept(str(folder)), shared)


def cluster(name: str, *sizes: int, **more: object) -> ClusterRow:
    """Return the row of a cluster that reaches `sizes[0]` of `sizes[1]` nodes, or of one whose reach is unknown."""
    reaches, target = sizes or (None, None)
    stops = reaches is not None and target is not None and reaches < target
    state = "unknown" if reaches is None or target is None else "stops" if stops else "reaches"
    cloud, environment = more.get("cloud", "eks"), more.get("environment", "")
    given: dict[str, object] = {
        "cluster": f"{cloud}/infra{f'@{environment}' if environment else ''}:{name}", "name": name, "cloud": cloud,
        "state": state, "reaches": reaches, "target": target, "is_judged": target is not None,
        "reach": "not known" if state == "unknown" else f"{reaches:,} of {target:,} nodes", "waste_state": "unknown",
        "path": "main.tf", "line": 3,
    }  # fmt: skip
    return filled(ClusterRow, **(given | more))


def limit(of: ClusterRow, mechanism: str, nodes: int, *, kind: str = "hard", move: str = "") -> LimitRow:
    return filled(
        LimitRow, cluster=of.cluster, mechanism=mechanism, nodes=nodes, at_least=nodes, at_most=nodes, kind=kind, move=move,
        before_target=of.target is not None and nodes < of.target,
    )  # fmt: skip


def finding(rule: str, severity: str, fix: str = "", **more: object) -> FindingRow:
    message = str(more.get("message", f"{rule} is found"))
    return filled(
        FindingRow, **({"fingerprint": rule, "rule": rule, "severity": severity, "fix": fix, "message": message} | more)
    )


def undecided(rule: str, object_: str, missing: str, remedy: str) -> UndecidedRow:
    return filled(UndecidedRow, rule=rule, object=object_, path="main.tf", line=7, missing=missing, remedy=remedy)


SUBNET = "a wider subnet, or more of them"
RANGE = "fewer pods per node, or a second range"
HERE: dict[str, object] = {"account": "111122223333", "region": "us-east-1"}
UNTAINTED = finding("gpu-pool-untainted", "warning", "unsafe", message="Pool gpu has GPUs and no taint")
IDLE = finding("idle-too-long", "warning", "costs", waste=True, message="Idle nodes wait 10 min before removal")
SMALL = finding("subnet-too-small", "error", message="Subnet 10.0.0.0/20 is full at 252 of 600 nodes")
PODS = finding("pod-range-too-small", "error", message="Pod range is full at 31 of 300 nodes")
DISK = finding("slow-boot-disk", "info", "unsafe", message="Boot disk of pool system is an HDD")
TIER = finding("free-control-plane", "warning", "costs", message="The control plane has no uptime guarantee")
OLD = finding("unsupported-kubernetes", "error", message="Kubernetes 1.29 is no longer supported")
SERVE = cluster("serve", 31, 300, cloud="gke", first_limit="pod range of pool gpu", first_limit_at=31, move=RANGE)
SERVING = Rows(
    [SERVE], [limit(SERVE, "pod-range", 31, move=RANGE), limit(SERVE, "subnet", 20, kind="recommended"), limit(SERVE, "subnet", 252)],
    [PODS],
)  # fmt: skip
UNPRICED: dict[str, object] = {
    "cloud": "aks",
    "waste_state": "unpriced",
    "waste_hours_least": 10.0,
    "waste_hours_most": 12.0,
}


def _shop(reaches: int, findings: list[FindingRow], *, staging: bool = True) -> Rows:
    prod = cluster(
        "shop",
        reaches,
        100,
        environment="prod",
        first_limit="pod range of pool web",
        first_limit_at=reaches,
        move=RANGE,
        **UNPRICED,
    )
    other = cluster("shop", 50, 50, environment="staging", cloud="aks", waste_state="nothing")
    return Rows([prod, other] if staging else [prod], [limit(prod, "pod-range", reaches, move=RANGE)], findings)


def tell(folder: Path) -> None:
    """Write a fleet with three runs.

    trainer reaches less for a higher target, after a week in which it failed, and has moved; serving was named
    serving-old before; shop is checked in part; trainer-copy declares the same cluster as trainer; broken always fails;
    retired is gone.
    """
    folder.mkdir()
    kept = Kept(str(folder))
    train = cluster("train", 400, 400, waste_state="known", waste_least=100.0, waste_most=150.0, **HERE)
    first = [
        ended(kept, "trainer", owner="research", rows=Rows([train], [], [UNTAINTED, IDLE]), revision="a1", seconds=4.0),
        ended(
            kept, "serving-old", owner="platform", rows=SERVING, revision="b1", seconds=9.0, memory=200 << 20, files=31
        ),
        ended(kept, "shop", owner="platform", rows=_shop(60, [DISK, TIER]), revision="c1", seconds=3.0),
        ended(kept, "retired", owner="platform", rows=Rows(findings=[OLD]), revision="d1", seconds=0.5),
    ]
    write(folder, FIRST, first)
    second = [
        ended(
            kept, "trainer", owner="research", status=FAILED, reason="its time was over", revision="a2", seconds=600.0
        ),
        *(
            ended(kept, one.repository.name, owner="platform", revision=one.outcome.revision, is_unchanged=True)
            for one in first[1:]
        ),
    ]
    write(folder, SECOND, second)
    stopped = cluster(
        "train", 252, 600, first_limit="address space of subnet nodes", first_limit_at=252, move=SUBNET,
        waste_state="known", waste_least=200.0, waste_most=260.505, **HERE,
    )  # fmt: skip
    missing, remedy = "var.nodes has no value", "set it with --var nodes=VALUE"
    copy = cluster("train", missing=missing, remedy=remedy, **HERE)
    third = [
        ended(
            kept, "trainer", owner="research", folder="/moved/trainer", revision="a3", seconds=5.0,
            rows=Rows(
                [stopped], [limit(stopped, "subnet", 252, move=SUBNET), limit(stopped, "maximum", 252)], [UNTAINTED, SMALL],
                uses=[filled(UseRow, cluster=stopped.cluster, kind="quota", key="L-417A185B", needed=192)],
            ),
        ),
        ended(kept, "serving", owner="platform", rows=SERVING, revision="b1", seconds=8.0, memory=210 << 20, files=31),
        ended(
            kept, "shop", owner="platform", status=PARTLY, reason="the time is over", revision="c2", seconds=60.0,
            rows=_shop(80, [DISK, OLD], staging=False),
        ),
        ended(
            kept, "trainer-copy", folder="/fleet/copies/trainer", revision="a9", seconds=2.0,
            rows=Rows([copy], undecided=[undecided(rule, copy.cluster, missing, remedy) for rule in ("quota-needed", "too-many-pools")]),
        ),
        ended(kept, "broken", owner="research", status=FAILED, reason="it needs more than 4 GiB of memory", seconds=30.0),
    ]  # fmt: skip
    write(folder, THIRD, third, [
        _shared("quota", "L-417A185B", 384, 192, "over", ("trainer:train", "trainer-copy:train")),
        _shared("reservation", "cr-1", 16, None, "unknown", ("trainer:train",), note="write its size into fleet.yaml"),
        _shared("quota", "L-1194D53C", 10, 5000, "fits", ("serving:serve",)),
    ])  # fmt: skip


def _shared(
    kind: str, key: str, needed: int, most: int | None, state: str, clusters: tuple[str, ...], note: str = ""
) -> SharedRow:
    return filled(
        SharedRow, kind=kind, key=key, name=key, unit="vCPUs" if kind == "quota" else "machines", needed=needed,
        is_exact=True, available=most, state=state, clusters=clusters, note=note, **HERE,
    )  # fmt: skip
