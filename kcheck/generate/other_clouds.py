"""Translate an intent to other clouds and compare the results."""

from collections.abc import Sequence
from typing import NamedTuple

from kcheck.config.config import ConfigError
from kcheck.config.numbers import machines
from kcheck.generate import intent as intents
from kcheck.generate import recommended, render
from kcheck.generate.assembly import ImpossibleError, Output, generate
from kcheck.generate.intent import Intent
from kcheck.generate.intent_from_code import ABSENT
from kcheck.text.ip_ranges import is_private

README = "README.md"
_OF_A_CLOUD = ("account", "region", "zones", "machines", "registry", "autoscaler", "installer", "network.mode")
"""Fields whose values differ on every cloud."""
_TEMPLATE = "any/templates/_clouds.md.j2"


class Translated(NamedTuple):
    """Intent on a cloud, and its generated files."""

    cloud: str
    intent: Intent
    made: Output

    @property
    def dollars(self) -> int | None:
        """List price of the usual job; None if unknown."""
        run = self.made.facts.run
        return run.cost(self.intent.job_nodes, self.intent.job_hours) if run else None


class Refused(NamedTuple):
    """Cloud that cannot run the cluster, and why."""

    cloud: str
    why: str


def on_clouds(intent: Intent, clouds: Sequence[str]) -> list[Translated | Refused]:
    """Generate an intent on each cloud, in order."""
    return [_on_cloud(intent, cloud) for cloud in dict.fromkeys(clouds)]


def _on_cloud(intent: Intent, cloud: str) -> Translated | Refused:
    try:
        found = intent if cloud == intent.cloud else translated(intent, cloud)
        return Translated(cloud, found, generate(found))
    except (ConfigError, ImpossibleError) as error:
        return Refused(cloud, str(error))


def translated(intent: Intent, cloud: str) -> Intent:
    """Translate an intent to another cloud; list choices without an equivalent.

    Raises ConfigError if the cloud has no such machines, or fields contradict each other there.
    """
    named = () if intent.accelerator else intent.machines  # attached GPUs are no part of a machine type
    found = [machines.equivalent(intent.cloud, name, cloud) for name in named]
    types = list(dict.fromkeys(one.machine for one in found if one is not None))
    if not types:
        model = intent.accelerator or machines.model(intent.cloud, intent.machine)
        own_gpus = f" ({intent.gpus} x {model})" if model else ""
        told = f"no machine of {cloud} is known to do the work of {intent.machine}{own_gpus}"
        raise ConfigError(f"{told}; choose one: set machines in the output of `kcheck generate {cloud} --show-intent`")
    spot = recommended.values(cloud).get("intent.spot", True)
    inside = [cidr for cidr in intent.api_ranges if cloud != intent.cloud and is_private(cidr)]
    reached = [cidr for cidr in intent.api_ranges if cidr not in inside]
    given: dict[str, object] = {
        "name": intent.name, "kubernetes": intent.kubernetes, "nodes": intent.asked, "machines": types,
        "spot": {"share": intent.spot if spot else 0}, "job": {"nodes": intent.job_nodes, "hours": intent.job_hours},
        "teams": [{"name": team.name, "share": team.share} for team in intent.teams], "tiers": list(intent.tiers),
        "scheduler": intent.scheduler, "parts": list(intent.parts), "image": intent.image,
        "network": {"in_use": list(intent.in_use), "api_ranges": reached}
        | ({"range": intent.range} if intent.range else {}),
    }  # fmt: skip
    made = intents.with_defaults(cloud, given)
    common = next(one.common for one in found if one is not None)
    own = [f"machines: {made.machine}; {intent.machine} of {intent.cloud} has {common}, too"]
    places = f"region {made.region}; zones {', '.join(made.zones)}; account {made.account}; registry {made.registry}"
    own.append(f"{places}; {intent.cloud} has others")
    lost = [name for name, one in zip(intent.machines, found, strict=True) if one is None]
    own += [f"{', '.join(lost)} is left out: {cloud} has no such machine"] if lost else []
    own += [f"network.fabric: {made.fabric}; machines of one's own may have another"] if made.fabric else []
    if inside:
        own.append(f"network.api_ranges: {', '.join(inside)} of {intent.cloud} left out: they come in by the network")
    own += ["spot.share: 0; there is no spot market"] if intent.spot and not spot else []
    own += ["spot.price_cap is left out: another cloud has other prices"] if intent.price_cap is not None else []
    choices = {"autoscaler": (made.autoscaler, intent.autoscaler), "network.mode": (made.mode, intent.mode)}
    own += [f"{name}: {now}; {then} on {intent.cloud}" for name, (now, then) in choices.items() if now != then]
    return intents.with_assumed(made, (*own, *filter(None, map(_anywhere, intent.assumed))))


def _anywhere(line: str) -> str:
    """Return the part of an assumption that holds on any cloud; empty if none does."""
    head, _, rest = line.partition(": ")
    if head == ABSENT:
        parts = [part for part in rest.split("; ") if part.split(" ")[0] not in _OF_A_CLOUD]
        return f"{head}: {'; '.join(parts)}" if parts else ""
    return "" if head in _OF_A_CLOUD else line


def summary(intent: Intent, results: Sequence[Translated | Refused]) -> str:
    """Render the README above the clouds' folders: their differences in a table."""
    made = [one for one in results if isinstance(one, Translated)]
    refused = [one for one in results if isinstance(one, Refused)]
    priced = [one for one in made if one.dollars is not None]
    markets = sorted({one.made.facts.run.market for one in made if one.made.facts.run})
    cheapest = min(priced, key=lambda one: one.dollars or 0) if len(markets) == 1 < len(priced) else None
    clouds = [one.cloud for one in results]
    context = {"clouds": clouds, "made": made, "refused": refused, "cheapest": cheapest, "markets": markets}
    return render.text(_TEMPLATE, {"intent": intent, **context})
