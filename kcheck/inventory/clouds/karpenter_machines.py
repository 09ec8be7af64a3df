"""Known machine types that meet the requirements of a Karpenter NodePool."""

import operator
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from functools import cache
from typing import NamedTuple

from kcheck.config.numbers import machines
from kcheck.config.numbers.profiles import row
from kcheck.text.regex import regex
from kcheck.text.units import whole_number

MOST = 30
"""Types that a requirement may select; with more, Karpenter chooses."""

_AWS = ("karpenter.k8s.aws", "eks.amazonaws.com", "node.kubernetes.io", "kubernetes.io")
_AZURE = ("karpenter.azure.com", "node.kubernetes.io", "kubernetes.io")
_EC2 = regex(r"([a-z]+)(?:-\d+tb)?(\d{1,9})([a-z]*)(?:-[a-z0-9]+)?\.(.+)")
"""Category, generation, features and size of an EC2 type, as Karpenter parses its name."""
_SKU = regex(r"Standard_([A-Z])[A-Z]*(\d{1,9}).*?(?:_v(\d+))?")
"""Family, vCPUs and version of an Azure size."""
_ACCELERATORS = ("inf", "trn", "dl")
_AMD = ("g4ad",)


class Requirement(NamedTuple):
    """A requirement of a NodePool on a node label."""

    key: str
    operator: str
    values: tuple[str, ...]


def fitting(requirements: Iterable[Requirement], cloud: str) -> tuple[str, ...]:
    """List the known machine types that meet all requirements."""
    domains, facts_of, names = (_AZURE, _of_azure, _azure()) if cloud == "aks" else (_AWS, _of_ec2, _ec2())
    near = (one for one in requirements if one.key.partition("/")[0] in domains)
    asked = [one._replace(key=one.key.rpartition("/")[2]) for one in near]
    asked = [one for one in asked if one.key in _LABELS]
    listed = next((one.values for one in asked if one.key in _NAMES and one.operator == "In"), None)
    family = "sku-family" if cloud == "aks" else "instance-family"
    families = {str(facts_of(name).get(family)) for name in names}
    if not asked or any(set(one.values) - families for one in asked if one.key in _FAMILY and one.operator == "In"):
        return ()
    if cloud == "aks" and listed is None and not any(map(_asks_for_gpus, asked)):
        return ()
    every = [(name, facts_of(name)) for name in listed or names]
    return tuple(n for n, own in every if all(one.key not in own or _holds(own[one.key], one) for one in asked))


def _asks_for_gpus(one: Requirement) -> bool:
    """Whether only sizes with GPUs match (Azure)."""
    return one.operator not in ("NotIn", "DoesNotExist", "Lt", "Lte") and one.key in ("sku-family", "sku-gpu-count")


def matching(pattern: str) -> list[str]:
    """List the EC2 types that match a pattern with `*`."""
    return [name for name in _ec2() if fnmatchcase(name, pattern)]


def gpus(names: Iterable[str], cloud: str) -> set[int]:
    """Return the numbers of GPUs or other accelerators that some machine types have."""
    return {machines.gpus(cloud, name) or 0 for name in names}


_NAMES = ("instance-type", "sku-name")
_FAMILY = ("instance-family", "sku-family")
_LABELS = frozenset({
    *_NAMES, *_FAMILY, "instance-category", "instance-generation", "instance-size", "instance-cpu", "arch",
    "instance-gpu-count", "instance-gpu-manufacturer", "instance-gpu-name", "instance-accelerator-count",
    "instance-accelerator-manufacturer", "instance-accelerator-name", "sku-cpu", "sku-gpu-count", "sku-version",
})  # fmt: skip
"""Labels about machines; a type stays in where kcheck does not know its label."""


@cache
def _ec2() -> tuple[str, ...]:
    lines = machines.tables_of("eks").get("vcpus", {})
    names = (f"{family}.{size}" for family, line in lines.items() for size in row(line))
    return tuple(name for name in names if _EC2.fullmatch(name))


@cache
def _azure() -> tuple[str, ...]:
    """List the sizes with GPUs; of others kcheck knows only the families."""
    lines = machines.tables_of("aks").get("families", {})
    return tuple(f"Standard_{size}" for line in lines.values() for size in row(line) if size.startswith("N"))


@cache
def _of_ec2(name: str) -> Mapping[str, str | int | None]:
    """Return the labels of an EC2 type; None for missing ones."""
    match, found = _EC2.fullmatch(name), machines.machine("eks", name)
    if match is None:
        return {"instance-type": name}
    category, generation, features, size = match.groups()
    family, count = name.partition(".")[0], (found.gpus if found else None)
    neuron = category in _ACCELERATORS
    result: dict[str, str | int | None] = {
        "instance-type": name, "instance-family": family, "instance-category": category,
        "instance-generation": int(generation), "instance-size": size,
        "arch": "arm64" if features.startswith("g") or family in ("a1", "p6e-gb200") else "amd64",
    }  # fmt: skip
    if found and found.vcpus is not None:
        result["instance-cpu"] = found.vcpus
    for kind, own in (("gpu", not neuron), ("accelerator", neuron)):
        if not count or not own:
            result |= {f"instance-{kind}-{part}": None for part in ("count", "manufacturer", "name")}
        else:
            result[f"instance-{kind}-count"] = count
    if count and not neuron:
        result["instance-gpu-manufacturer"] = "amd" if family in _AMD else "nvidia"
    return result


@cache
def _of_azure(name: str) -> Mapping[str, str | int | None]:
    match, count = _SKU.fullmatch(name), machines.gpus("aks", name)
    if match is None:
        return {"sku-name": name, "instance-type": name}
    family, vcpus, version = match.groups()
    result: dict[str, str | int | None] = {
        "sku-name": name, "instance-type": name, "sku-family": family, "sku-cpu": int(vcpus),
        "sku-version": version or "1",
    }  # fmt: skip
    if count is not None:
        result["sku-gpu-count"] = count
    return result


def _holds(fact: str | int | None, one: Requirement) -> bool:
    """Whether a label meets a requirement; a missing one meets NotIn."""
    if one.operator in _COMPARED:
        number = whole_number(one.values[0]) if one.values else None
        return isinstance(fact, int) and number is not None and _COMPARED[one.operator](fact, number)
    within = fact is not None and str(fact) in one.values
    return {"In": within, "NotIn": not within, "DoesNotExist": fact is None}.get(one.operator, fact is not None)


_COMPARED = {"Gt": operator.gt, "Gte": operator.ge, "Lt": operator.lt, "Lte": operator.le}
