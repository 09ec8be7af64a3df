"""profiles/*/instances.yaml: machine types, from the tables of autoscalers, CNI plugins and price lists.

A type is written where kcheck's own reader says other than the source. Types under `corrected` in a file are known
better from the cloud's documentation than from the source: they are left alone. What Alibaba Cloud's types have is in
its documentation only: those with GPUs that a price list has are named.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, NamedTuple

import yaml

from derive.gits import MissingError, tell, text_of
from derive.tables import Tables, dated, stamped
from kcheck.config.numbers import machines

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from derive.gits import Repository

AUTOSCALER, CNI, KARPENTER = "kubernetes/autoscaler", "aws/amazon-vpc-cni-k8s", "aws/karpenter-provider-aws"
PRICES = "Cyclenerd/google-cloud-pricing-cost-calculator"
EC2 = "cluster-autoscaler/cloudprovider/aws/ec2_instance_types.go"
AZURE = "cluster-autoscaler/cloudprovider/azure/azure_instance_types.go"
ENI = "pkg/vpc/vpc_ip_resource_limit.go"
DOCS = "website/content/en/preview/reference/instance-types.md"
CSV = "tools/machinetypes.csv"
ALIBABA, ALIBABA_PRICES = (
    "cloudpilot-ai/karpenter-provider-alibabacloud",
    "pkg/providers/pricing/initial-on-demand-prices.json",
)


class Facts(NamedTuple):
    """A machine type in a source; memory in MiB; None for what it does not say."""

    vcpus: int
    memory: int
    gpus: int | None = None
    family: str = ""
    efa: int = 0
    nvme: int = 0


def derive(gits: Path, profiles: Path) -> dict[Path, str]:
    """The new text of each file whose sources are here."""
    found = {}
    for cloud, read in (("eks", _eks), ("aks", _aks), ("gke", _gke), ("ack", _ack)):
        path = profiles / cloud / "instances.yaml"
        text = path.read_text(encoding="utf-8")
        tables, kept = Tables(text), set(yaml.safe_load(text).get("corrected", []))
        try:
            sources = list(read(gits, tables, kept))
        except MissingError as error:
            tell(cloud, error)
            continue
        new = tables.text
        for own, file, url in sources:
            commit, day = own.commit(file)
            new = dated(stamped(new, url, commit), day)
        found[path] = new
    return found


Source = tuple["Repository", str, str]
"""What was read: a repository, a file in it, and its address with {} for the commit."""


def _blob(name: str, file: str) -> str:
    return f"https://github.com/{name}/blob/{{}}/{file}"


def _eks(gits: Path, tables: Tables, kept: set[str]) -> Iterator[Source]:
    types: dict[str, Facts] = {}
    for name, file, read in ((AUTOSCALER, EC2, _structs), (KARPENTER, DOCS, _documented)):
        own, text = text_of(gits, name, file)
        types |= read(text)
        yield own, file, _blob(name, file)
    own, text = text_of(gits, CNI, ENI)
    yield own, ENI, _blob(CNI, ENI)
    for name, facts in sorted(types.items()):
        family, _, size = name.rpartition(".")
        known = machines.machine("eks", name) or machines.Machine(None, None)
        pairs = {"vcpus": facts.vcpus, "gpus": facts.gpus or None, "efa": facts.efa or None, "nvme": facts.nvme or None}
        for table, value in pairs.items() if name not in kept else ():
            if value is not None and getattr(known, table) != value:
                tables.put(table, family, size, str(value))
        _memory(tables, "eks", name, (family, size), facts.memory)
    pattern = r'"([\w.-]+)": \{\s+ENILimit:\s+\d+,\s+IPv4Limit:\s+(\d+),.*?MaximumNetworkInterfaces: (\d+),'
    for name, addresses, interfaces in re.findall(pattern, text, re.DOTALL):
        if machines.interfaces("eks", name) != (int(interfaces), int(addresses)) and name not in kept:
            family, _, size = name.rpartition(".")
            tables.put("interfaces", family, size, f"{interfaces}x{addresses}")


def _structs(text: str) -> dict[str, Facts]:
    """The types in a generated table of the autoscaler."""
    pattern = (
        r'InstanceType: "([^"]+)",(?:\s+SkuFamily:\s+"([^"]+)",)?\s+VCPU:\s+(\d+),\s+MemoryMb:\s+(\d+),\s+GPU:\s+(\d+)'
    )
    found = re.findall(pattern, text)
    return {name: Facts(int(cpu), int(memory), int(gpus), family) for name, family, cpu, memory, gpus in found}


def _documented(text: str) -> dict[str, Facts]:
    """The types in Karpenter's reference."""
    found = {}
    for part in text.split("\n### ")[1:]:
        values = dict(re.findall(r"\|(?:karpenter\.k8s\.aws/)?([\w./-]+)\|([^|]*)\|", part))
        gpus = values.get("instance-gpu-count") or values.get("instance-accelerator-count")
        found[part.split("`")[1]] = Facts(
            int(values["instance-cpu"]), int(values["instance-memory"]), int(gpus) if gpus else None,
            efa=int(values.get("vpc.amazonaws.com/efa", 0)), nvme=int(values.get("instance-local-nvme", 0)),
        )  # fmt: skip
    return found


def _aks(gits: Path, tables: Tables, kept: set[str]) -> Iterator[Source]:
    own, text = text_of(gits, AUTOSCALER, AZURE)
    families = yaml.safe_load(tables.text)["families"]
    for full, facts in sorted(_structs(text).items()):
        name = full.removeprefix("Standard_")
        known = machines.machine("aks", name)
        if name in kept or name.startswith("A") or name.endswith("_Promo"):
            continue
        if facts.gpus or facts.family in families:
            value = f"{facts.vcpus}x{facts.gpus}" if facts.gpus else str(facts.vcpus)
            if known is None or (known.vcpus, known.gpus or 0) != (facts.vcpus, facts.gpus):
                tables.put("families", facts.family, name, value)
        elif known is None or known.vcpus != facts.vcpus:
            tell("aks", f"{name} has {facts.vcpus} vCPUs; add a pattern of {facts.family}")
            continue
        _memory(tables, "aks", name, (re.sub(r"\d+(?:-\d+)?", "{n}", name, count=1), name), facts.memory)
    yield own, AZURE, _blob(AUTOSCALER, AZURE)


def _gke(gits: Path, tables: Tables, kept: set[str]) -> Iterator[Source]:
    own, text = text_of(gits, PRICES, CSV)
    for line in text.splitlines()[1:]:
        name, vcpus, _, memory, *_ = line.split(";")
        known = machines.machine("gke", name)
        if name in kept:
            continue
        if known is None or known.vcpus != int(vcpus):
            tell("gke", f"{name} has {vcpus} vCPUs; add it to a table")
            continue
        key = re.sub(r"-\d+(?=-|$)", "", re.sub(r"-\d+[gt]\b", "-{n}", name))
        _memory(tables, "gke", name, (key, name), int(float(memory) * 1024))
    yield own, CSV, _blob(PRICES, CSV)


def _ack(gits: Path, _tables: Tables, kept: set[str]) -> Iterator[Source]:
    own, text = text_of(gits, ALIBABA, ALIBABA_PRICES)
    names = {name.removeprefix("ecs.") for types in json.loads(text).values() for name in types}
    with_gpus = (one for one in names - kept if re.match(r"(ebm|s|v)?gn\d", one))
    more = [one for one in with_gpus if machines.machine("ack", f"ecs.{one}") is None]
    if more:
        day = own.commit(ALIBABA_PRICES)[1]
        tell("ack", f"types with GPUs that the price list of {day} has and the file has not: {', '.join(sorted(more))}")
    yield from ()


def _memory(tables: Tables, cloud: str, name: str, place: tuple[str, str], mebibytes: int) -> None:
    """Write the memory of a type where that of its family is another."""
    known = machines.memory(cloud, name)
    if not mebibytes:  # a size below a gigabyte
        return
    if known is None or abs(known - (mebibytes << 20)) > mebibytes << 10:  # a thousandth: sources round gigabytes
        tables.put("memory", *place, str(mebibytes))
