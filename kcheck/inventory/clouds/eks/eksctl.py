"""EKS clusters, node groups and subnets from eksctl's ClusterConfig."""

from collections.abc import Iterable
from ipaddress import IPv4Network
from itertools import islice

from msgspec.structs import replace

from kcheck import model
from kcheck.config.numbers import profiles
from kcheck.config.numbers.fields import Fields
from kcheck.inventory.clouds import api_access, kubelet
from kcheck.inventory.clouds.eks import addon_settings, launch_templates, location
from kcheck.inventory.clouds.reader import blocks_below, growing, machine_of, or_default, taints_of, unique_identity
from kcheck.kubernetes.objects import Object
from kcheck.kubernetes.record import MappingRecord
from kcheck.terraform.module import Module
from kcheck.text.ip_ranges import parse_cidr
from kcheck.text.text import Span
from kcheck.text.values import Known, Origin, Record, Unknown, Unset, Value, first_set, known, mapped, with_origin

CLOUD = "eks"
KIND = "ClusterConfig"
COMMAND = "eksctl_cluster"
"""Type of the resource that the flags of eksctl become."""
_CHOSEN = ("auto", "auto-ssm", "static")
"""Values of `ami` with which eksctl chooses the image."""
_SIDES = ("public", "private")
_MANAGED = "managedNodeGroups"


def read(objects: Iterable[Object], inventory: model.Inventory) -> None:
    """Add the clusters of ClusterConfig documents to the inventory."""
    for item in objects:
        if item.kind == KIND and item.api_version.startswith("eksctl.io/"):
            _Config(MappingRecord(item.root, item.span), item.folder, item.owner_path, inventory).add()


def read_commands(root: Module, inventory: model.Inventory) -> None:
    """Add the clusters that commands create."""
    for one in root.instances(COMMAND):
        _Config(one, root.configuration.folder, one.span.source.path, inventory).add()


class _Config:
    """A ClusterConfig, or the flags that stand for one."""

    def __init__(self, record: Record, folder: str, owner: str, inventory: model.Inventory) -> None:
        self.inventory = inventory
        self.record = record
        self.fields = Fields(CLOUD, KIND, self.record)
        self.place = record.span
        self.origin = Origin((record.span,))
        self.folder = folder
        self.defaults = profiles.settings(CLOUD)
        self.groups = {
            f"{kind}[{i}]": Fields(CLOUD, f"{KIND}.group", record)
            for kind in (_MANAGED, "nodeGroups")
            for i, record in enumerate(blocks_below(self.record, kind))
        }
        self.address = f"{KIND}/{known(self.fields.text('name')) or '?'}"
        self.identity = unique_identity(f"{CLOUD}/{owner}:{self.address}", inventory)

    def add(self) -> None:
        fields = self.fields
        settings = addon_settings.read(self._addons("vpc-cni"), self.place, fields.flag("auto_mode"))
        custom = settings.custom_networking
        inside: Value[bool] = mapped(custom, lambda apart: not apart)
        if (known(fields.text("ip_family")) or "").lower() == "ipv6":
            inside = Known(value=False, origin=self.origin)
        cluster = fields.record_of(
            model.Cluster,
            self.identity,
            self.place,
            CLOUD,
            self.address,
            self.folder,
            gap="",
            name=fields.text("name"),
            version=fields.text("version"),
            location=fields.text("region"),
            **location.of_config(fields, self.place, f"{self.identity}/vpc"),
            provisioned=fields.flag("auto_mode"),
            network_plugin=Known("vpc-cni", self.origin),
            api_ranges=api_access.ranges(fields),
            ip_family=mapped(fields.text("ip_family"), str.lower),
            serverless=addon_settings.serverless(
                [Fields(CLOUD, f"{KIND}.fargate", one) for one in blocks_below(self.record, "fargateProfiles")]
            ),
            outbound_type=Known("nat" if self._may_be_private() else model.NODE_ADDRESSES, self.origin),
            outbound_ips=self._gateways() if self._may_be_private() else model.NOTHING,
            cni=settings,
            pods_take_addresses=inside,
            dns_replicas=addon_settings.dns_replicas(self._addons("coredns"), self.place),
            grower=self._grower(),
        )
        self.inventory.clusters.append(cluster)
        subnets = self._subnets()
        for label, group in self.groups.items():
            self._group(group, cluster, subnets, label)

    def _addons(self, name: str) -> list[Fields]:
        addons = [Fields(CLOUD, f"{KIND}.addon", one) for one in blocks_below(self.record, "addons")]
        return [addon for addon in addons if known(addon.text("name")) == name]

    def _may_be_private(self) -> bool:
        """Whether any group lacks public addresses."""
        return any(known(group.flag("private")) is not False for group in self.groups.values())

    def _grower(self) -> Value[str]:
        """Return the autoscaler of the groups; Unknown if only permissions hint at one."""
        if any(blocks_below(self.record, "karpenter")):
            return Known("karpenter", self.origin)
        if any(known(group.flag("may_scale")) for group in self.groups.values()):
            return Unknown(
                "a node group has the permissions of the Cluster Autoscaler, which is not in this code", self.origin
            )
        return model.NOTHING

    def _gateways(self) -> Value[int]:
        """Count the NAT gateways' public addresses; Unknown in an existing VPC."""
        nat = self.fields.text("nat")
        if not isinstance(self.fields.text("vpc"), Unset):
            return Unknown("the NAT gateways belong to an existing VPC", self.origin)
        if known(nat) == "HighlyAvailable":
            return mapped(self._zones(), len)
        return mapped(nat, lambda kind: 0 if kind == "Disable" else 1)

    # --- subnets

    def _zones(self) -> Value[tuple[str, ...]]:
        """Return the cluster's zones; placeholders if none are written."""
        written = self.fields.texts("zones")
        if not isinstance(written, Unset):
            return written
        key = "eksctl.zones_us_east_1" if known(self.fields.text("region")) == "us-east-1" else "eksctl.zones"
        return Known(tuple(str(i) for i in range(self.defaults[key].number)), self.origin)

    def _subnets(self) -> dict[str, list[model.Subnet]]:
        """Return the subnets by visibility, as written or as eksctl creates them."""
        written = {side: self._written(side) for side in _SIDES}
        if any(written.values()):
            return written
        zones, cidr = self._zones(), self.fields.text("cidr")
        exists = not isinstance(self.fields.text("vpc"), Unset)
        if exists or not isinstance(zones, Known) or not isinstance(cidr, Known):
            return written
        network = model.Network(
            f"{self.identity}/vpc", self.place, self.address, self.folder, model.NOTHING,
            Known((cidr.value,), cidr.origin),
        )  # fmt: skip
        self.inventory.networks.append(network)
        cut = Origin(cidr.origin.spans)  # who changes it changes the network
        blocks = subnet_blocks(cidr.value, len(zones.value))
        for at, side in enumerate(_SIDES):
            for i, zone in enumerate(zones.value if blocks else ()):
                block: Value[str] = Known(str(blocks[at * len(zones.value) + i]), cut)
                own = model.NOTHING if isinstance(self.fields.texts("zones"), Unset) else Known(zone, zones.origin)
                written[side].append(self._subnet(f"{side}-{zone}", block, Known(network, self.origin), own))
        return written

    def _written(self, side: str) -> list[model.Subnet]:
        result = []
        for inner in blocks_below(self.record, "vpc", "subnets", side):
            for name in inner.names():
                for one in blocks_below(inner, name):
                    fields = Fields(CLOUD, f"{KIND}.subnet", one)
                    why = f"the subnet {name} is given by id"
                    cidr = or_default(fields.text("cidr"), lambda o, why=why: Unknown(why, o))  # type: ignore[misc]
                    zone = or_default(fields.text("zone"), lambda _, name=name: self._zone_in(name))  # type: ignore[misc]
                    result.append(self._subnet(name, cidr, Unknown("the VPC is given by id"), zone))
        return result

    def _zone_in(self, name: str) -> Value[str]:
        """Return a subnet's name as its zone, if it begins with the region."""
        region = known(self.fields.text("region"))
        return Known(name, self.origin) if region and name.startswith(region) else model.NOTHING

    def _subnet(self, name: str, cidr: Value[str], network: Value[model.Network], zone: Value[str]) -> model.Subnet:
        place = self.place
        if isinstance(cidr, Known) and cidr.origin.spans:
            place = cidr.origin.written
        subnet = model.Subnet(
            f"{self.identity}/{name}", place, CLOUD, f"{self.address}/{name}", self.folder, "",
            name=Known(name, self.origin), cidr=cidr, network=network, zone=zone,
        )  # fmt: skip
        self.inventory.subnets.append(subnet)
        return subnet

    # --- groups

    def _group(
        self, fields: Fields, cluster: model.Cluster, subnets: dict[str, list[model.Subnet]], label: str
    ) -> None:
        place, managed = fields.record.span, label.startswith(_MANAGED)
        types = self._types(fields)
        own = self._of_group(fields, subnets)
        self.inventory.pools.append(
            model.NodePool(
                f"{self.identity}/{label}",
                place,
                f"{self.address}.{label}",
                Known(cluster, self.origin),
                fields.text("name"),
                self.folder,
                managed=managed,
                size=self._size(fields, managed=managed),
                upgrade=launch_templates.upgrade(fields, len(known(own) or ()), managed=managed),
                machine=replace(machine_of(fields, CLOUD, types), efa=_efa(fields, types, place)),
                addresses=model.Addresses(subnets=own, pods_take_addresses=cluster.pods_take_addresses),
                market=_market(fields),
                scheduling=fields.record_of(model.Scheduling, taints=_taints(fields)),
                placement=model.Placement(together=_together(fields)),
                system=model.System(
                    self._image(fields),
                    boot_data=_boot_data(fields),
                    local_disks=mapped(
                        fields.text("bootstrap"), lambda start: "localStorage" in start or "mdadm" in start
                    ),
                ),
                kubelet=_kubelet(fields),
            )
        )

    def _size(self, fields: Fields, *, managed: bool) -> model.Size:
        """Derive the size as eksctl does from minimum, desired and maximum.

        https://github.com/eksctl-io/eksctl/blob/main/pkg/apis/eksctl.io/v1alpha5/validation.go
        """
        low, high, wanted = fields.number("min"), fields.number("max"), fields.number("count")
        base = or_default(wanted, lambda origin: Known(self.defaults["eksctl.nodes"].number, origin))
        minimum = or_default(low, lambda _: base)
        maximum = or_default(high, lambda origin: with_origin(minimum, origin) if isinstance(wanted, Unset) else wanted)
        if managed and isinstance(high, Unset):
            maximum = mapped(maximum, lambda most: max(1, most))
        # a reservation is in one zone, and so is the placement group that eksctl makes for EFA
        alone = any(blocks_below(fields.record, "capacityReservation")) or known(fields.flag("with_efa"))
        return model.Size(
            growing(minimum, maximum), minimum, maximum,
            Known(1, Origin((fields.record.span,))) if alone else model.NOTHING,
        )  # fmt: skip

    def _types(self, fields: Fields) -> Value[tuple[str, ...]]:
        one = fields.text("instance_type")
        alone = model.NOTHING if known(one) == "mixed" else mapped(one, lambda name: (name,))
        written = first_set(fields.texts("instance_types"), alone)
        if not isinstance(written, Unset):
            return written
        if known(fields.record.blocks("instanceSelector")) != () or not isinstance(fields.text("template"), Unset):
            return Unknown("the instance types are in a launch template or chosen by a selector")
        return Known((str(self.defaults["eksctl.instance_type"].value),), one.origin or self.origin)

    def _of_group(self, fields: Fields, subnets: dict[str, list[model.Subnet]]) -> Value[tuple[model.Subnet, ...]]:
        """Return the subnets of a group by name, zone or visibility."""
        inside = fields.flag("private")
        if not isinstance(inside, Known):
            return Unknown("privateNetworking is not known", inside.origin)
        side = subnets["private" if inside.value else "public"]
        named, zones = fields.texts("subnets"), fields.texts("zones")
        alone = known(fields.flag("with_efa"))  # eksctl takes one of them
        for wanted, label in ((named, "subnets"), (zones, "zones")):
            if isinstance(wanted, Unset):
                continue
            if not isinstance(wanted, Known):
                return wanted
            found = [s for s in side if any(_is(s, name, zone=label == "zones") for name in wanted.value)]
            if len(found) != len(set(wanted.value)):
                return Unknown(f"the {label} of the group differ from those of the cluster", wanted.origin)
            return Known(tuple(found[:1] if alone else found), wanted.origin)
        why = "the subnets are given by id" if not isinstance(self.fields.text("vpc"), Unset) else "its network"
        if not side:
            return Unknown(f"{why}: they are not in this file", self.origin)
        return Known(tuple(side[:1] if alone else side), self.origin)

    def _image(self, fields: Fields) -> Value[str]:
        own = known(fields.text("ami")) or "auto"
        return fields.text("image") if own in _CHOSEN else Unknown(f"the nodes boot a custom image, {own}")


def subnet_blocks(cidr: str, zones: int) -> list[IPv4Network]:
    """List the subnets eksctl creates: public, then private ones.

    The blocks are equal: two for each of `eksctl.few_zones`, or of `eksctl.most_zones` if there are more zones.
    """
    network, settings = parse_cidr(cidr), profiles.settings("eks")
    few, most = settings["eksctl.few_zones"].number, settings["eksctl.most_zones"].number
    bits = (2 * (few if zones <= few else most) - 1).bit_length()
    if network is None or not 0 < zones <= most or network.prefixlen + bits > 32:
        return []
    return list(islice(network.subnets(bits), 2 * zones))


def _market(fields: Fields) -> model.Market:
    """Read the market of a group; an unmanaged one sets it in `instancesDistribution`."""
    own = fields.text("reservation")
    market = fields.record_of(model.Market, reservation=launch_templates.reserved(fields), reservation_id=own)
    spot = launch_templates.is_spot(fields, None)
    return market if isinstance(spot, Unset) else replace(market, spot=spot)


def _boot_data(fields: Fields) -> Value[str]:
    """Return the custom bootstrap of nodes; Unknown outside the code."""
    for name, label in (("bootstrap", "overrideBootstrapCommand"), ("prepared", "preBootstrapCommands")):
        written = fields.read(name)
        if not isinstance(written, Unset):
            return Known(label, written.origin or Origin((fields.record.span,)))
    return launch_templates.elsewhere(fields.text("template"))


def _kubelet(fields: Fields) -> model.Kubelet:
    usual = kubelet.in_text(mapped(fields.texts("prepared"), "\n".join))
    if not all(isinstance(fields.read(name), Unset) for name in ("bootstrap", "template", "ami")):
        usual = kubelet.unknown("its nodes have an image or a start-up of their own")
    return kubelet.written(usual, fields)


def _is(subnet: model.Subnet, name: str, *, zone: bool) -> bool:
    """Whether a name or a zone matches a subnet."""
    own = known(subnet.name) or ""
    return own == name or (zone and own.partition("-")[2] == name)


def _taints(fields: Fields) -> Value[tuple[str, ...]]:
    """Return the taints of a group, from a list or a map."""
    nested = known(fields.record.blocks("taints"))
    if nested and "effect" not in set(nested[0].names()):
        found = [
            f"{name}={text}" for name in nested[0].names() if (text := known(nested[0].entry(name) or model.NOTHING))
        ]
        return Known(tuple(found), Origin((nested[0].span,)))
    return taints_of(fields.record, "taints")


def _together(fields: Fields) -> Value[str]:
    """Return the placement group: the named one, else the one eksctl creates for EFA."""
    written, efa = fields.text("together"), fields.flag("with_efa")
    if isinstance(written, Unset) and isinstance(efa, Known) and efa.value:
        return Known("placement group of eksctl", efa.origin)
    return written


def _efa(fields: Fields, types: Value[tuple[str, ...]], place: Span) -> Value[tuple[str, ...]]:
    """Return the EFA interfaces of the smallest machine type."""
    if not known(fields.flag("with_efa")):
        return or_default(launch_templates.elsewhere(fields.text("template")), lambda _: Known((), Origin((place,))))

    return mapped(types, lambda _: ("efa",) * max(1, launch_templates.cards(types)))
