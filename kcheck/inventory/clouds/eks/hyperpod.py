"""Instance groups of SageMaker HyperPod as nodes of an EKS cluster."""

from collections.abc import Iterator, Mapping

from msgspec.structs import replace

from kcheck.config.numbers.fields import Fields
from kcheck.inventory.clouds.reader import (
    Reader,
    machine_of,
    not_empty,
    resolve_list,
    resolve_reference,
    unresolved_reference,
)
from kcheck.model import Addresses, Cluster, Machine, NodePool, Placement, Scheduling, Size
from kcheck.terraform.resource import Instance
from kcheck.text.values import Known, Origin, Unknown, Value, mapped

KIND = "awscc_sagemaker_cluster"
GROUP = f"{KIND}.instance_groups"
_GROUPS = ("instance_groups", "restricted_instance_groups")
_ADDRESSES = Unknown("how many addresses HyperPod gives a node is not published for each type")
_INTERFACES = Unknown("HyperPod attaches the EFA interfaces, which its resource does not list")


def pools(reader: Reader, clusters: Mapping[str, Cluster]) -> Iterator[NodePool]:
    """Yield the instance groups of a root, or a placeholder.

    https://docs.aws.amazon.com/sagemaker/latest/dg/sagemaker-hyperpod-eks.html
    """
    for instance, fields in reader.each(KIND):
        arn = fields.raw("cluster")
        if arn is None:
            continue  # Slurm is its orchestrator
        owner = resolve_reference(arn, clusters) or unresolved_reference(fields.text("cluster"), "cluster")
        for kind in _GROUPS:
            groups = instance.blocks(kind)
            address = f"{instance.address}.{kind}"
            if isinstance(groups, Unknown):
                yield _unknown(reader, instance, address, owner, groups)
                continue
            for at, group in enumerate(groups.value):
                yield _pool(reader, reader.fields(GROUP, group, instance), f"{address}[{at}]", owner, fields)


def _unknown(reader: Reader, instance: Instance, address: str, owner: Value[Cluster], why: Unknown) -> NodePool:
    """Return a placeholder pool for unknown groups."""
    return NodePool(
        reader.identity(address), instance.span, address, owner, why, reader.folder, managed=False,
        size=Size(Known(value=False, origin=Origin((instance.span,))), why, why),
        machine=Machine(why, why, why, efa=why), addresses=Addresses(why, pods_take_addresses=why),
        placement=Placement(why), scheduling=Scheduling(why, why),
    )  # fmt: skip


def _pool(reader: Reader, fields: Fields, address: str, owner: Value[Cluster], whole: Fields) -> NodePool:
    types, count = mapped(fields.text("type"), lambda name: (name,)), fields.number("count")
    subnets = resolve_list(fields.raw("subnets") or whole.raw("subnets"), reader.subnets_by_address, "subnet")
    return NodePool(
        reader.identity(address), fields.record.span, address, owner, fields.text("name"), reader.folder,
        managed=False, size=Size(Known(value=False, origin=Origin((fields.record.span,))), count, count),
        machine=replace(machine_of(fields, "eks", types), efa=_INTERFACES),
        addresses=Addresses(not_empty(subnets, "subnets"), pods_take_addresses=_ADDRESSES),
        scheduling=Scheduling(fields.mapping("labels")),
    )  # fmt: skip
