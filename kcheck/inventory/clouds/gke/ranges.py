"""Pod ranges on Google: secondary ranges by name, and a cluster's own block."""

from functools import cached_property
from typing import NamedTuple

from kcheck.config.numbers.fields import Fields
from kcheck.inventory.clouds.reader import Reader, why_missing
from kcheck.model import Cluster, PodRange, Subnet
from kcheck.terraform.module import Module
from kcheck.text.partly_known import same_value
from kcheck.text.text import Span
from kcheck.text.values import Known, Unknown, Unset, Value, equals, known

_CLOUD = "gke"
POOL = "google_container_node_pool"


class Secondary(NamedTuple):
    """A secondary range of a subnet."""

    id: str
    name: Value[str]
    cidr: Value[str]
    place: Span


class Owner(NamedTuple):
    """A cluster with its fields and its subnet."""

    cluster: Cluster
    fields: Fields
    subnet: Value[Subnet]


class RangeReader(Reader):
    """Reads the ranges of one root module; roots share secondary ranges."""

    def __init__(self, root: Module, secondary: dict[str, list[Secondary]], owners: dict[str, Owner]) -> None:
        super().__init__(_CLOUD, root, (POOL,))
        self.secondary = secondary
        self.owners = owners

    def secondary_named(self, subnet: Subnet | None, name: Value[str]) -> Secondary | None:
        """Find the secondary range of that name in a subnet."""
        ranges = self.secondary[subnet.id] if subnet else ()
        return next((found for found in ranges if same_value(found.name, name)), None)

    def range_of_cluster(self, owner: Owner) -> None:
        """Record the pod range of a cluster, in its subnet or of its own."""
        cluster, fields, subnet = owner.cluster, owner.fields, known(owner.subnet)
        if not equals(cluster.network_mode, "VPC_NATIVE"):
            return
        own = Secondary(f"{cluster.id}/pods", given(fields.text("pod_range")), fields.text("pod_cidr"), cluster.place)
        found = self.range_named(own, "cluster_secondary_range_name", owner, subnet)
        self.ranges[cluster.id] = self.pod_range(found, cluster, self._more(fields, subnet))

    def range_named(self, own: Secondary, what: str, owner: Owner, subnet: Subnet | None) -> Secondary:
        """Return the range that `own` names; `own` itself if it names none."""
        if isinstance(own.name, Unset):
            return own
        home = known(owner.subnet) or owner.cluster
        near = self.secondary.setdefault(f"{home.id}/named", [])  # shared by all that name it
        beside = (one for one in near if same_value(one.name, own.name))
        found = self.secondary_named(subnet, own.name) or next(beside, None)
        if found is None:
            alike = (one for one in self._pools_with_ranges if same_value(one.text("pod_range"), own.name))
            written = (one.text("pod_cidr") for one in alike)
            cidr = next((one for one in written if isinstance(one, Known)), None) or outside(own.name, what)
            found = own._replace(cidr=cidr)
            near.append(found)
        return found

    @cached_property
    def _pools_with_ranges(self) -> list[Fields]:
        pools = [self.fields(POOL, instance) for instance in self.pool_instances[POOL]]
        return [one for one in pools if not isinstance(one.text("pod_range"), Unset)]

    def pod_range(self, found: Secondary, cluster: Cluster, more: Value[tuple[str, ...]]) -> PodRange:
        """Return the range as a PodRange, which clusters and pools may share."""
        known_already = next((one for one in (*self.found.ranges, *self.ranges.values()) if one.id == found.id), None)
        if known_already is not None:
            return known_already
        name = found.name if isinstance(found.name, Known) else cluster.name
        result = PodRange(
            found.id, found.place, _CLOUD, cluster.address, self.folder, cluster.gap, name=name, cidr=found.cidr,
            more=more,
        )  # fmt: skip
        self.found.ranges.append(result)
        return result

    def _more(self, fields: Fields, subnet: Subnet | None) -> Value[tuple[str, ...]]:
        """Return additional pod ranges of the cluster."""
        names = fields.texts("more_ranges")
        if not isinstance(names, Known):
            return names
        cidrs = []
        for name in names.value:
            found = self.secondary_named(subnet, Known(name, names.origin))
            if found is None or not isinstance(found.cidr, Known):
                return Unknown(f"the range {name} is not in this root module", names.origin)
            cidrs.append(found.cidr.value)
        return Known(tuple(cidrs), names.origin)


def given(name: Value[str]) -> Value[str]:
    """Return a name; Unset if it is empty, which the provider ignores."""
    return Unset(name.origin) if isinstance(name, Known) and not name.value else name


def outside(name: Value[str], what: str) -> Unknown:
    """Return why a named range outside this root is unknown."""
    text = f"the range {name.value} is not in this root module" if isinstance(name, Known) else why_missing(name, what)
    return Unknown(text, name.origin)
