"""Read an intent, fill in defaults, and write an explained intent file."""

import hashlib
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import Any

from msgspec import Struct, convert
from msgspec.structs import replace

from kcheck.config import schemas
from kcheck.config.config import ConfigError, nearest
from kcheck.config.numbers import machines as machine_types
from kcheck.config.numbers.machines import Price
from kcheck.generate import recommended, render
from kcheck.generate.parts import ALONE, PARTS
from kcheck.generate.recommended import training_nodes_within
from kcheck.text.control_characters import visible
from kcheck.text.files.disk import Disk, TooLargeError
from kcheck.text.ip_ranges import parse_cidr
from kcheck.text.partly_known import plain
from kcheck.text.regex import regex
from kcheck.text.syntax import yaml
from kcheck.text.text import Source
from kcheck.text.units import counted

_RESERVED = regex(r"(kube-.*|.*-system|default|root|shared)")
"""Names no team can have: existing namespaces, Volcano's queues, and the queue of nodes without a team.

https://kubernetes.io/docs/concepts/overview/working-with-objects/namespaces/
"""
_OF_KUBERNETES = "system-"
"""Prefix of Kubernetes' own priority classes.

https://kubernetes.io/docs/concepts/scheduling-eviction/pod-priority-preemption/
"""
RECORDED = "intent.yaml"


class Team(Struct, frozen=True):
    """Team that shares the nodes, with its guaranteed percentage of them."""

    name: str
    share: int


class Intent(Struct, frozen=True):
    """Wanted cluster, with every field set.

    The schema of intent files explains the fields. `nodes` are those `asked` for, or fewer if the cloud's limit must
    also hold the system nodes. `price_cap` is in thousandths. Ranges are `sized` for so many nodes.
    """

    cloud: str
    name: str
    account: str
    region: str
    zones: tuple[str, ...]
    kubernetes: str
    nodes: int
    asked: int
    machines: tuple[str, ...]
    gpus: int
    spot: int
    price_cap: int | None
    job_nodes: int
    job_hours: int
    teams: tuple[Team, ...]
    tiers: tuple[str, ...]
    scheduler: str
    autoscaler: str
    registry: str
    image: str
    mode: str
    range: str
    in_use: tuple[str, ...]
    api_ranges: tuple[str, ...] = ()
    accelerator: str = ""
    installer: str = ""
    fabric: str = ""
    cards: tuple[str, ...] = ()
    sized: int = 0
    parts: tuple[str, ...] = tuple(PARTS)
    assumed: tuple[str, ...] = ()

    @property
    def machine(self) -> str:
        """Machine type bought on demand."""
        return self.machines[0]

    @property
    def cap(self) -> str:
        """Price cap as written in the intent file."""
        return f"{(self.price_cap or 0) / 1000:g}"

    @property
    def spot_nodes(self) -> int:
        """Number of training nodes bought as spot."""
        return self.nodes * self.spot // 100

    @property
    def unique(self) -> str:
        """Letters and digits that differ between clusters."""
        return unique(self.account, self.region, self.name)

    def price(self, *, spot: bool) -> Price | None:
        """List price of the first machine type with its GPUs."""
        own = self.gpus, self.accelerator
        return machine_types.price(self.cloud, self.machine, spot=spot, attached=own, region=self.region)

    @property
    def minor(self) -> int:
        """Minor version of Kubernetes."""
        return int(self.kubernetes.partition(".")[2])


def load(path: str) -> dict[str, object]:
    """Read an intent file.

    Raises ConfigError if it cannot be read or does not fit the schema; the message names the line.
    """
    try:
        content = Disk().read(path)
    except TooLargeError as error:
        raise ConfigError(f"{path}: too large for an intent") from error
    if content is None:
        raise ConfigError(f"{path}: no such file, or it cannot be read")
    data = schemas.document(Source(os.path.relpath(path).replace(os.sep, "/"), content))
    schemas.check(data, "intent", "field", "the intent")
    found: dict[str, object] = plain(data)
    return found


def with_defaults(cloud: str, given: Mapping[str, Any]) -> Intent:
    """Make an intent with the cloud's defaults for missing fields.

    Raises ConfigError if fields contradict each other or do not fit the cloud.
    """
    usual = recommended.values(cloud)

    def chosen(key: str) -> str:
        return str(given.get(key, usual[f"intent.{key}"]))

    spot, job, network = (dict(given.get(key) or {}) for key in ("spot", "job", "network"))
    region, account, name = chosen("region"), chosen("account"), chosen("name")
    nodes = training_nodes_within(cloud, asked := int(chosen("nodes")))
    types = tuple(given.get("machines") or _listed(usual["intent.machines"]))
    gpus = given["gpus"] if "gpus" in given else _usual_gpus(cloud, types[0], usual)
    share, cap = int(spot.get("share", 0)), spot.get("price_cap")
    form = partial(str(usual["intent.zone"]).format, region=region, joint="" if region[-1].isdigit() else "-")
    zones = given.get("zones") or [form(zone=letter) for letter in _listed(usual["intent.zones"])]  # cn-beijing-a
    most, parts = max(nodes - nodes * share // 100, nodes * share // 100), tuple(given.get("parts", PARTS))
    teams = tuple(Team(**one) for one in given.get("teams") or ()) or _teams(usual, int(job.get("nodes", 1)), nodes)
    tiers = _listed(usual["intent.tiers"]) if "storage" in parts else ["normal"]  # a job that is stopped needs storage
    names = {"name": name, "short": letters_of(name), "unique": unique(account, region, name)}
    registry = str(usual["intent.registry"]).format(account=account, region=region, **names)
    intent = Intent(
        cloud=cloud, name=name, account=account, region=region, zones=tuple(zones), parts=parts,
        kubernetes=chosen("kubernetes"), nodes=nodes, asked=asked, machines=types, gpus=int(gpus or 0), spot=share,
        price_cap=None if cap is None else round(cap * 1000), assumed=tuple(given.get("assumed") or ()),
        job_nodes=int(job.get("nodes", _job(most, int(usual["intent.job_nodes"]), teams))),
        job_hours=int(job.get("hours", usual["intent.job_hours"])), accelerator=given.get("accelerator", ""),
        teams=teams, tiers=tuple(given.get("tiers") or tiers), scheduler=chosen("scheduler"),
        autoscaler=chosen("autoscaler"), registry=str(given.get("registry", registry)), image=chosen("image"),
        mode=str(network.get("mode", usual["intent.mode"])), range=str(network.get("range", "")),
        in_use=tuple(network.get("in_use") or ()), api_ranges=tuple(network.get("api_ranges") or ()),
        installer=str(given.get("installer", usual.get("intent.installer", ""))),
        fabric=str(network.get("fabric", _fabric(usual, gpus))), cards=tuple(network.get("cards") or ()),
        sized=int(network.get("nodes", _planned(cloud, nodes))),
    )  # fmt: skip
    for mistake in _mistakes(intent, usual):
        raise ConfigError(mistake)
    return intent


def _usual_gpus(cloud: str, machine: str, usual: recommended.Values) -> int:
    """Return the GPUs of a machine type, else the cloud's default.

    Raises ConfigError if the type is unknown and there is no default.
    """
    gpus = machine_types.gpus(cloud, machine)
    if gpus is None and "intent.gpus" not in usual and machine_types.machine(cloud, machine) is None:
        raise ConfigError(f"machines: kcheck does not know {machine}; set gpus:")
    return int(usual.get("intent.gpus", 0)) if gpus is None else gpus


def _planned(cloud: str, nodes: int) -> int:
    """Return the nodes for which ranges are planned, where an intent does not say."""
    return max(nodes, int(recommended.values(cloud)["network.least"]))


def in_folder(made: Intent, folder: str) -> Intent:
    """Keep the network of a cluster generated into a folder before."""
    path, usual = os.path.join(folder, RECORDED), _planned(made.cloud, made.nodes)
    network = load(path).get("network") if os.path.lexists(path) else None
    recorded = network.get("nodes", usual) if isinstance(network, dict) else usual
    return replace(made, sized=recorded) if made.sized == usual else made


def with_assumed(intent: Intent, lines: Iterable[str]) -> Intent:
    """Return an intent that lists these assumptions, without duplicates."""
    return replace(intent, assumed=tuple(dict.fromkeys(map(visible, lines))))


def letters_of(name: str) -> str:
    """Strip a name to lower-case letters and digits."""
    return re.sub("[^a-z0-9]", "", name.lower())


def unique(*parts: str) -> str:
    """Hash words to eight hexadecimal digits, for unique names."""
    return hashlib.sha256("/".join(parts).encode()).hexdigest()[:8]


def _listed(text: object) -> list[str]:
    return str(text).split(", ")


def _teams(usual: recommended.Values, job: int, nodes: int) -> tuple[Team, ...]:
    """Return the usual teams; a single one if none of them has the nodes of a job."""
    pairs = (entry.split(" ") for entry in _listed(usual["intent.teams"]))
    found = tuple(Team(name, int(share)) for name, share in pairs)
    able = any(team.share * nodes >= job * 100 for team in found)
    return found if able else convert(ALONE["teams"], tuple[Team, ...])


def _job(nodes: int, most: int, teams: tuple[Team, ...]) -> int:
    """Return the usual job size: a power of two, at most a quarter of the cluster."""
    least = min(most, nodes // 4, *((nodes * team.share - 1) // 100 for team in teams))
    return 1 << max(0, least.bit_length() - 1)


_CLOUDS_OWN = {
    "installer": "the cloud sets its clusters up",
    "network.fabric": "its machine types say what is between GPUs",
    "accelerator": "GPUs are part of its machine types",
}


def _fabric(usual: recommended.Values, gpus: object) -> str:
    """Return the default GPU network; `none` for machines without GPUs."""
    chosen = str(usual.get("intent.fabric", ""))
    return chosen if gpus or not chosen else "none"


def _mistakes(intent: Intent, usual: recommended.Values) -> Iterator[str]:
    """Yield fields that contradict each other or do not fit the cloud."""
    yield from _wrong_choices(intent, usual)
    yield from _wrong_machines(intent, usual)
    for field, cidrs in (
        ("range", [intent.range] if intent.range else []),
        ("in_use", intent.in_use),
        ("api_ranges", intent.api_ranges),
    ):
        yield from (f"network.{field}: {cidr} is not an IPv4 range" for cidr in cidrs if parse_cidr(cidr) is None)
    why = recommended.reasons(intent.cloud)
    if intent.spot and not usual.get("intent.spot", True):
        yield f"spot.share: {why['intent.spot']}"
    if intent.price_cap is not None and not usual.get("intent.price_cap", True):
        yield f"spot.price_cap: {why['intent.price_cap']}"
    if intent.nodes > int(usual.get("intent.most", intent.nodes)):
        yield f"nodes: {intent.nodes:,} are too many: {why['intent.most']}"
    yield from _wrong_names(intent)
    total = sum(team.share for team in intent.teams)
    if total > 100:
        yield f"teams: the shares add up to {total} percent; the maximum is 100"
    most = _largest_market(intent)
    if intent.job_nodes > most:
        market = "on demand" if most > intent.spot_nodes or not intent.spot_nodes else "as spot"
        bought = f"at most {most:,} are bought {market}; a job runs on one kind"
        yield f"job.nodes: {intent.job_nodes:,} at once, but {bought}"


def _wrong_choices(intent: Intent, usual: recommended.Values) -> Iterator[str]:
    """Yield choices that the cloud does not have."""
    for field, chosen in (
        ("autoscaler", intent.autoscaler), ("network.mode", intent.mode), ("installer", intent.installer),
        ("network.fabric", intent.fabric), ("accelerator", intent.accelerator),
    ):  # fmt: skip
        able = _listed(usual.get(f"intent.{field.rpartition('.')[2]}s", "")) if chosen else [""]
        if chosen not in able:
            told = nearest(chosen, tuple(able)) if able != [""] else _CLOUDS_OWN[field]
            yield f"{field}: {chosen} is not for {intent.cloud}; {told}"
    oldest = str(usual["intent.oldest"])
    if intent.minor < int(oldest.partition(".")[2]):
        yield f"kubernetes: {intent.kubernetes} is too old; {oldest} is the oldest that is supported"


def _wrong_machines(intent: Intent, usual: recommended.Values) -> Iterator[str]:
    """Yield machines whose GPUs differ from the first machine's, or are not NVIDIA's."""
    for name in intent.machines:
        if re.search(str(usual["intent.other_accelerators"]), name):
            yield f"machines: the accelerators of {name} are not NVIDIA's; kcheck generates for those only"
        if intent.accelerator and not re.search(str(usual["intent.attachable"]), name):
            yield f"accelerator: {name} takes none: {recommended.reasons(intent.cloud)['intent.attachable']}"
    for name in intent.machines:
        own = machine_types.gpus(intent.cloud, name)
        if own and own != intent.gpus:
            unlike = f"{counted(own, 'GPU')}, not {intent.gpus}; a job runs on machines that are alike"
            yield f"machines: {name} has {unlike}"


def _wrong_names(intent: Intent) -> Iterator[str]:
    """Yield names that are reserved, repeated, or need quotes in YAML."""
    teams = tuple(team.name for team in intent.teams)
    for what, values in (
        ("name", (intent.name,)), ("region", (intent.region,)), ("teams", teams), ("tiers", intent.tiers),
        ("zones", intent.zones), ("machines", intent.machines), ("network.cards", intent.cards),
    ):  # fmt: skip
        yield from (f"{what}: {value} exists twice" for value in values if values.count(value) > 1)
        for word in values if what != "zones" else ():  # which stand in quotes where they need them
            if yaml.literal(word) != word:
                yield f"{what}: YAML reads {word} as something other than a string; choose another name"
    for taken in filter(_RESERVED.fullmatch, teams):
        yield f"teams: {taken} names something else in the cluster; choose another name"
    for taken in intent.tiers:
        if taken.startswith(_OF_KUBERNETES):
            yield f"tiers: {taken}: names that begin with {_OF_KUBERNETES} are reserved for Kubernetes"
    labels = [label(zone) for zone in intent.zones]
    alike = [zone for zone, own in zip(intent.zones, labels, strict=True) if labels.count(own) > 1]
    if alike:
        yield f"zones: {' and '.join(alike)} give pools the same names; choose other zones"


def resized(intent: Intent, nodes: int) -> Intent:
    """Return the intent for another number of nodes; the job is adapted to fit."""
    most, now = _largest_market(intent), replace(intent, nodes=nodes, asked=nodes, sized=min(intent.sized, nodes))
    fits, usual = _largest_market(now), int(recommended.values(intent.cloud)["intent.job_nodes"])
    wanted = _job(fits, usual, now.teams) if intent.job_nodes == _job(most, usual, now.teams) else intent.job_nodes
    return replace(now, job_nodes=max(1, min(wanted, fits)))


def _largest_market(intent: Intent) -> int:
    """Return the larger number of on-demand and spot nodes: a job runs on one kind."""
    return max(intent.nodes - intent.spot_nodes, intent.spot_nodes)


def label(zone: str) -> str:
    """Return a zone's short name: its last letter; digits become letters, 1 is a."""
    last = zone[-1]
    return "jabcdefghi"[int(last)] if last.isdigit() else last


_TEMPLATE = "any/templates/intent.yaml.j2"


def render_intent(intent: Intent) -> str:
    """Render an intent as an intent file."""
    use = {"intent": {name.partition(".")[2]: value for name, value in recommended.values(intent.cloud).items()}}
    return render.text(_TEMPLATE, {"intent": intent, "use": use, "about": meanings(), "shown": True})


def meanings() -> dict[str, str]:
    """Return the meaning of every field, from the schema."""
    return dict(_about(schemas.load("intent")))


def _about(schema: schemas.Schema, prefix: str = "") -> list[tuple[str, str]]:
    found = []
    for name, field in schema["properties"].items():
        found.append((f"{prefix}{name}", field["description"]))
        found += _about(field, f"{name}.") if "properties" in field else []
    return found
