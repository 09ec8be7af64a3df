"""The intent: a short file, with defaults for everything it leaves out, and one with all fields and their meaning."""

from __future__ import annotations

import hashlib
import os
import re
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from kcheck.config import schemas
from kcheck.config.config import ConfigError, nearest
from kcheck.config.numbers import machines
from kcheck.generate import recommended, render
from kcheck.generate.recommended import training_nodes_within
from kcheck.text.control_characters import visible
from kcheck.text.files.disk import Disk, TooLargeError
from kcheck.text.ip_ranges import parse_cidr
from kcheck.text.regex import regex
from kcheck.text.syntax import yaml
from kcheck.text.text import Source
from kcheck.text.units import counted
from kcheck.text.values import plain

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_RESERVED = regex(r"(kube-.*|.*-system|default|root|shared)")
"""What no team can be called: namespaces that are there, queues of Volcano, and the queue of what no team has.

https://kubernetes.io/docs/concepts/overview/working-with-objects/namespaces/
"""
_OF_KUBERNETES = "system-"
"""Priority classes of Kubernetes begin so: https://kubernetes.io/docs/concepts/scheduling-eviction/pod-priority-preemption/"""


class Team(Struct, frozen=True):
    """Who shares the nodes, with the percent of them that it always gets."""

    name: str
    share: int


class Intent(Struct, frozen=True):
    """A wanted cluster; every field is set.

    `nodes` are for training: those that were `asked` for, or fewer where that is all the cloud has in a cluster, and
    some of it is for the cluster's own pods. `spot` is the percent of them that is bought as spot, for at most
    `price_cap` thousandths of the currency of the bill an hour. `tiers` begin with the least urgent. `mode` is how pods
    get addresses, `range` what the network must keep to, or empty, `in_use` what it must not touch. `api_ranges` reach
    the API server from outside, none where there are none. `installer` is empty where the cloud sets the cluster up,
    `fabric` where its machine types say what is between GPUs; `cards` are the interfaces of that network. `assumed`
    says what of it nobody has said, and what was left out of the code that it was read from.
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
    installer: str = ""
    fabric: str = ""
    cards: tuple[str, ...] = ()
    assumed: tuple[str, ...] = ()

    @property
    def machine(self) -> str:
        """The machine type that is bought on demand."""
        return self.machines[0]

    @property
    def cap(self) -> str:
        """The price cap as it is written."""
        return f"{(self.price_cap or 0) / 1000:g}"

    @property
    def spot_nodes(self) -> int:
        """Training nodes that are bought as spot."""
        return self.nodes * self.spot // 100

    @property
    def unique(self) -> str:
        """Letters and digits that no cluster of another name, region or account has."""
        return unique(self.account, self.region, self.name)

    @property
    def minor(self) -> int:
        """The minor version of Kubernetes."""
        return int(self.kubernetes.partition(".")[2])


def load(path: str) -> dict[str, object]:
    """The contents of an intent file.

    Raises:
        ConfigError: it cannot be read, or says something that no intent has; the message names the line.
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
    """An intent with the cloud's defaults for missing fields.

    Raises:
        ConfigError: two things that are given do not go together, or one does not go with the cloud.
    """
    usual = recommended.values(cloud)
    spot, job, network = (dict(given.get(key) or {}) for key in ("spot", "job", "network"))
    region = str(given.get("region", usual["intent.region"]))
    account = str(given.get("account", usual["intent.account"]))
    asked = int(given.get("nodes", usual["intent.nodes"]))
    nodes = training_nodes_within(cloud, asked)
    types = tuple(given.get("machines") or _listed(usual["intent.machines"]))
    gpus = given.get("gpus", machines.gpus(cloud, types[0]))
    if gpus is None:
        gpus = usual.get("intent.gpus")
    if gpus is None and machines.machine(cloud, types[0]) is None:
        raise ConfigError(f"machines: kcheck does not know {types[0]}; set gpus:")
    share = int(spot.get("share", 0))
    cap = spot.get("price_cap")
    letters = _listed(usual["intent.zones"])
    zones = given.get("zones") or [_zone(str(usual["intent.zone"]), region, one) for one in letters]
    most = max(nodes - nodes * share // 100, nodes * share // 100)
    name = str(given.get("name", usual["intent.name"]))
    names = {"name": name, "short": letters_of(name), "unique": unique(account, region, name)}
    registry = str(usual["intent.registry"]).format(account=account, region=region, **names)
    teams = [Team(team["name"], team["share"]) for team in given.get("teams") or ()]
    mode, own = str(network.get("mode", usual["intent.mode"])), str(network.get("range", ""))

    def chosen(key: str) -> str:
        return str(given.get(key, usual[f"intent.{key}"]))

    intent = Intent(
        cloud=cloud, name=name, account=account, region=region, zones=tuple(zones),
        kubernetes=chosen("kubernetes"), nodes=nodes, asked=asked, machines=types,
        gpus=int(gpus or 0), spot=share, price_cap=None if cap is None else round(cap * 1000),
        job_nodes=int(job.get("nodes", _job(most, int(usual["intent.job_nodes"])))),
        job_hours=int(job.get("hours", usual["intent.job_hours"])),
        teams=tuple(teams or _teams(str(usual["intent.teams"]))),
        tiers=tuple(given.get("tiers") or _listed(usual["intent.tiers"])), scheduler=chosen("scheduler"),
        autoscaler=chosen("autoscaler"), registry=str(given.get("registry", registry)), image=chosen("image"),
        mode=mode, range=own, in_use=tuple(network.get("in_use") or ()),
        api_ranges=tuple(network.get("api_ranges") or ()),
        installer=str(given.get("installer", usual.get("intent.installer", ""))),
        fabric=str(network.get("fabric", _fabric(usual, gpus))), cards=tuple(network.get("cards") or ()),
        assumed=tuple(given.get("assumed") or ()),
    )  # fmt: skip
    _check(intent, usual)
    return intent


def with_assumed(intent: Intent, lines: Iterable[str]) -> Intent:
    """An intent that lists what was assumed, each line once, and no character of the code that is not seen."""
    return replace(intent, assumed=tuple(dict.fromkeys(map(visible, lines))))


def _zone(form: str, region: str, letter: str) -> str:
    """The name of a zone; a `joint` stands where the region does not end with a digit: cn-beijing-a, us-east-1a."""
    return form.format(region=region, zone=letter, joint="" if region[-1].isdigit() else "-")


def letters_of(name: str) -> str:
    """The lower-case letters and digits of a name, where nothing else is allowed."""
    return re.sub("[^a-z0-9]", "", name.lower())


def unique(*parts: str) -> str:
    """Eight letters and digits that stand for some words, in names that are unique in a whole cloud."""
    return hashlib.sha256("/".join(parts).encode()).hexdigest()[:8]


def _listed(text: object) -> list[str]:
    return str(text).split(", ")


def _teams(text: str) -> list[Team]:
    """Teams in a profile: `name share`, separated by commas."""
    pairs = (entry.split(" ") for entry in text.split(", "))
    return [Team(name, int(share)) for name, share in pairs]


def _job(nodes: int, most: int) -> int:
    """The nodes of the usual job: a power of two, at most a quarter of the cluster."""
    return min(most, 1 << max(0, (max(1, nodes // 4)).bit_length() - 1))


_CLOUDS_OWN = {
    "installer": "the cloud sets its clusters up",
    "network.fabric": "its machine types say what is between GPUs",
}
"""Why a cloud has no choice of these."""


def _fabric(usual: recommended.Values, gpus: object) -> str:
    """The usual network between GPUs, where that is a choice; none between machines without GPUs."""
    chosen = str(usual.get("intent.fabric", ""))
    return chosen if gpus or not chosen else "none"


def _check(intent: Intent, usual: recommended.Values) -> None:
    """Refuse what does not go together.

    Raises:
        ConfigError: something does not.
    """
    for field, chosen in (
        ("autoscaler", intent.autoscaler), ("network.mode", intent.mode), ("installer", intent.installer),
        ("network.fabric", intent.fabric),
    ):  # fmt: skip
        able = _listed(usual.get(f"intent.{field.rpartition('.')[2]}s", ""))
        if chosen not in able:
            told = nearest(chosen, tuple(able)) if able != [""] else _CLOUDS_OWN[field]
            raise ConfigError(f"{field}: {chosen} is not for {intent.cloud}; {told}")
    oldest = str(usual["intent.oldest"])
    if intent.minor < int(oldest.partition(".")[2]):
        raise ConfigError(f"kubernetes: {intent.kubernetes} is too old; {oldest} is the oldest that is supported")
    other = next((name for name in intent.machines if re.search(str(usual["intent.other_accelerators"]), name)), None)
    if other is not None:
        raise ConfigError(f"machines: the accelerators of {other} are not NVIDIA's; kcheck generates for those only")
    for name in intent.machines:
        own = machines.gpus(intent.cloud, name)
        if own and own != intent.gpus:
            raise ConfigError(
                f"machines: {name} has {counted(own, 'GPU')}, not {intent.gpus}; a job runs on machines that are alike"
            )
    for field, cidrs in (
        ("range", [intent.range] if intent.range else []),
        ("in_use", intent.in_use),
        ("api_ranges", intent.api_ranges),
    ):
        wrong = next((cidr for cidr in cidrs if parse_cidr(cidr) is None), None)
        if wrong is not None:
            raise ConfigError(f"network.{field}: {wrong} is not an IPv4 range")
    if intent.spot and not usual.get("intent.spot", True):
        raise ConfigError(f"spot.share: {recommended.reasons(intent.cloud)['intent.spot']}")
    if intent.price_cap is not None and not usual.get("intent.price_cap", True):
        raise ConfigError(f"spot.price_cap: {recommended.reasons(intent.cloud)['intent.price_cap']}")
    if intent.nodes > int(usual.get("intent.most", intent.nodes)):
        raise ConfigError(f"nodes: {intent.nodes:,} are too many: {recommended.reasons(intent.cloud)['intent.most']}")
    _check_names(intent)
    total = sum(team.share for team in intent.teams)
    if total > 100:
        raise ConfigError(f"teams: the shares add up to {total} percent; the maximum is 100")
    most = _largest_market(intent)
    if intent.job_nodes > most:
        market = "on demand" if most > intent.spot_nodes or not intent.spot_nodes else "as spot"
        raise ConfigError(
            f"job.nodes: {intent.job_nodes:,} at once, but at most {most:,} are bought {market}; a job runs on one kind"
        )


def _check_names(intent: Intent) -> None:
    """Refuse names that are taken, listed twice, or need quotes in YAML.

    Raises:
        ConfigError: there is one.
    """
    teams = tuple(team.name for team in intent.teams)
    for what, values in (
        ("name", (intent.name,)),
        ("region", (intent.region,)),
        ("teams", teams),
        ("tiers", intent.tiers),
        ("zones", intent.zones),
        ("machines", intent.machines),
        ("network.cards", intent.cards),
    ):
        twice = next((value for value in values if values.count(value) > 1), None)
        if twice is not None:
            raise ConfigError(f"{what}: {twice} exists twice")
        word = next((value for value in values if yaml.literal(value) != value), None)
        if word is not None and what != "zones":  # which stand in quotes where they need them
            raise ConfigError(f"{what}: YAML reads {word} as something other than a string; choose another name")
    taken = next(filter(_RESERVED.fullmatch, teams), None)
    if taken is not None:
        raise ConfigError(f"teams: {taken} names something else in the cluster; choose another name")
    taken = next((tier for tier in intent.tiers if tier.startswith(_OF_KUBERNETES)), None)
    if taken is not None:
        raise ConfigError(f"tiers: {taken}: names that begin with {_OF_KUBERNETES} are reserved for Kubernetes")
    labels = [label(zone) for zone in intent.zones]
    alike = [zone for zone, own in zip(intent.zones, labels, strict=True) if labels.count(own) > 1]
    if alike:
        told = "give pools the same names; choose other zones"
        raise ConfigError(f"zones: {' and '.join(alike)} {told}")


def resized(intent: Intent, nodes: int) -> Intent:
    """The intent for another number of nodes; a default job is adapted, others still fit."""
    most, now = _largest_market(intent), replace(intent, nodes=nodes, asked=nodes)
    fits, usual = _largest_market(now), int(recommended.values(intent.cloud)["intent.job_nodes"])
    wanted = _job(fits, usual) if intent.job_nodes == _job(most, usual) else intent.job_nodes
    return replace(now, job_nodes=max(1, min(wanted, fits)))


def _largest_market(intent: Intent) -> int:
    """The larger of the on-demand and spot nodes: a job runs on one kind."""
    return max(intent.nodes - intent.spot_nodes, intent.spot_nodes)


def label(zone: str) -> str:
    """The short name of a zone: its last letter; numbers become letters, 1 is a."""
    last = zone[-1]
    return "jabcdefghi"[int(last)] if last.isdigit() else last


_TEMPLATE = "any/templates/intent.yaml.j2"


def render_intent(intent: Intent) -> str:
    """An intent file that says the same as an intent."""
    use = {"intent": {name.partition(".")[2]: value for name, value in recommended.values(intent.cloud).items()}}
    return render.text(_TEMPLATE, {"intent": intent, "use": use, "about": meanings()})


def meanings() -> dict[str, str]:
    """The meaning of every field from the schema."""
    return dict(_about(schemas.load("intent")))


def _about(schema: dict[str, Any], prefix: str = "") -> list[tuple[str, str]]:
    found = []
    for name, field in schema["properties"].items():
        found.append((f"{prefix}{name}", field["description"]))
        found += _about(field, f"{name}.") if "properties" in field else []
    return found
