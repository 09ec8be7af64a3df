"""Coverage of a run: objects judged or not, and missing inputs."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from msgspec import Struct

from kcheck.text.findings import Undecided, UnknownInput, unknown_input
from kcheck.text.need import first_unknown
from kcheck.text.regex import regex
from kcheck.text.text import Skipped, Span, leading
from kcheck.text.values import Unknown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from kcheck.config.config import Environment
    from kcheck.inventory.reading import Reading
    from kcheck.model import Cluster, Thing
    from kcheck.scale.usage.requests import Coverage
    from kcheck.scale.world import World


class MissingInput(Struct, frozen=True):
    """An unknown input: why, checks that wait for it, place, and how to set it.

    `rules` counts the waiting checks of each rule. `name` is the input alone where it has one: `var.subnets`.
    """

    reason: str
    checks: int
    place: Span | None
    remedy: str
    rules: Mapping[str, int]
    name: str = ""


class NotJudged(Struct, frozen=True):
    """A cluster whose nodes are not known, and the input that it needs."""

    cluster: Cluster
    input: MissingInput


class Judged(Struct):
    """Coverage of a run: counts of judged objects, and missing inputs.

    A cluster is judged when its pools and its number of nodes are known, a pool when its size is. `inputs` are missing,
    most wanted first; `skipped` was not read. `environments` were found beside root modules. `usage` says which
    workloads were measured, if there is a recording.
    """

    clusters: int = 0
    pools: int = 0
    workloads: int = 0
    not_judged: list[NotJudged] = []
    inputs: list[MissingInput] = []
    skipped: list[Skipped] = []
    environments: list[Environment] = []
    usage: Coverage | None = None

    @property
    def hints(self) -> list[str]:
        """Instructions for setting the missing inputs."""
        return list(dict.fromkeys(missing.remedy for missing in self.inputs if missing.remedy))

    @property
    def is_complete(self) -> bool:
        """Whether every important check was decided and every important file read."""
        return not (self.inputs or self.is_partial)

    @property
    def is_partial(self) -> bool:
        """Whether a cluster was not judged, or an important file not read."""
        return bool(self.not_judged) or any(not skipped.by_choice for skipped in self.skipped)


def judged(world: World, undecided: Iterable[Undecided], reading: Reading, holds: Callable[[Thing], bool]) -> Judged:
    """Summarize the coverage of a run, after its rules, for objects that it `holds`."""
    inventory = world.inventory
    clusters = list(filter(holds, inventory.clusters))
    why_not = {cluster: why for cluster in clusters if (why := _why_not(cluster, world)) is not None}
    inputs = _Inputs(undecided, why_not.values(), reading)
    result = Judged(skipped=reading.skipped, environments=reading.environments, inputs=inputs.ordered())
    result.clusters = len(clusters) - len(why_not)
    result.not_judged = [NotJudged(cluster, inputs.one(why)) for cluster, why in why_not.items()]
    result.pools = sum(not isinstance(world.sizes.of_pool(one), Unknown) for one in inventory.pools if holds(one))
    result.workloads = sum(map(holds, inventory.workloads))
    if world.config.usage.recording:
        from kcheck.scale.usage import requests

        result.usage = requests.coverage(world)
    return result


def _why_not(cluster: Cluster, world: World) -> UnknownInput | None:
    """Return why the number of nodes of a cluster is unknown; None if it is known."""
    found = first_unknown((world.pools.all_of_cluster(cluster), world.sizes.target(cluster)))
    return unknown_input(found) if found is not None else None


def missing_input(value: Unknown, reading: Reading) -> MissingInput:
    """Return the input that an unknown value needs, even if no check waits for it."""
    reason = unknown_input(value)
    return _Inputs((), (reason,), reading).one(reason)


class _Inputs:
    """Missing inputs of checks and clusters, grouped by cause."""

    def __init__(self, undecided: Iterable[Undecided], clusters: Iterable[UnknownInput], reading: Reading) -> None:
        self.reading = reading
        self.places: dict[str, Span | None] = {}
        self.rules: dict[str, Counter[str]] = {}
        for check in undecided:
            for cause, one in {one.cause: one for one in reversed(check.inputs)}.items():
                self.places[cause] = self.places.get(cause) or one.place or check.span
                self.rules.setdefault(cause, Counter())[check.rule] += 1
        causes = {*self.rules, *(one.cause for one in clusters)}
        names = {match[1] for cause in causes if (match := _VARIABLE.fullmatch(cause))}
        variables = reading.variables
        self.files = list(variables.candidates(names)) if names and variables is not None else []
        written = (root.configuration.resources.values() for root in reading.blueprints)
        self.unplanned = {block.header.source.path for blocks in written for block in blocks}
        """Files with resources that no plan of Terraform has."""

    def ordered(self) -> list[MissingInput]:
        """List all inputs that checks wait for, most wanted first."""
        ordered = sorted(self.rules, key=lambda reason: (-self.rules[reason].total(), reason))
        return [self._input(reason, self.places[reason]) for reason in ordered]

    def one(self, reason: UnknownInput) -> MissingInput:
        """Return the input for one reason, even if no check waits for it."""
        return self._input(reason.cause, self.places.get(reason.cause) or reason.place)

    def _input(self, reason: str, place: Span | None) -> MissingInput:
        rules = self.rules.get(reason, Counter())
        match = _VARIABLE.fullmatch(reason)
        if match is None:
            has_plan = place is None or place.source.path not in self.unplanned
            remedy = _BY_PLAN if has_plan and _KNOWN_TO_PLAN.search(reason) else ""
            return MissingInput(reason, rules.total(), place, remedy, rules)
        name = match[1]
        every = [root.configuration for root in (*self.reading.blueprints, *self.reading.roots)]
        folder = place.source.path.rpartition("/")[0] or "." if place is not None else ""
        roots = [root for root in every if name in root.variables and (place is None or root.folder == folder)]
        files = [path for path, own in self.files if name in own and any(_is_near(path, root.folder) for root in roots)]
        block = roots[0].variables[name] if roots else None
        plain = block is None or "type" in block.body.attributes or block.header.text == name  # else it gets a text
        values = f"--var {name}=VALUE" if plain else "--var-file FILE"
        if files:
            values = f"--var-file {' or '.join(files[:_MOST_FILES])}"
        remedy = f"set it with {values}"
        declared = block.header if block else place
        return MissingInput(reason, rules.total(), declared, remedy, rules, f"var.{name}")


def _is_near(path: str, root: str) -> bool:
    """Whether a tfvars file lies below a root module, or in a folder beside it."""
    steps = [] if root == "." else root.split("/")
    return leading(path.split("/")[:-1], steps) >= len(steps) - (len(steps) > 1)


_MOST_FILES = 3
_VARIABLE = regex(r"var\.(\w+) has no value")
_KNOWN_TO_PLAN = regex(r"is read from the cloud|reads its \S+ from the cloud|only known after apply")
_BY_PLAN = "a plan may know it: terraform show -json PLAN > plan.json, then kcheck check plan.json"
