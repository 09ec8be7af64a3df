"""EKS clusters, node groups and subnets from aws resources."""

from collections.abc import Sequence
from functools import cached_property

from msgspec.structs import replace

from kcheck import model
from kcheck.config.numbers import machines, profiles
from kcheck.config.numbers.fields import Fields
from kcheck.inventory.clouds import api_access, nat_gateways
from kcheck.inventory.clouds import kubelet as kubelets
from kcheck.inventory.clouds.eks import addon_settings, eksctl, hyperpod, launch_templates, location
from kcheck.inventory.clouds.eks.cloud import managed_pods, max_pods
from kcheck.inventory.clouds.eks.launch_templates import KIND, POOL, NodeGroup, looked_up, upgrade, user_data
from kcheck.inventory.clouds.reader import (
    Reader,
    blocks_below,
    growing,
    machine_of,
    matches_pattern,
    not_empty,
    or_default,
    read_all,
    resolve_list,
    resolve_reference,
    taint_form,
    taints_of,
    text_of,
    unresolved_reference,
)
from kcheck.terraform.module import Module
from kcheck.terraform.resource import Instance
from kcheck.text.ip_ranges import parse_cidr
from kcheck.text.partly_known import address_of, same_value
from kcheck.text.regex import regex
from kcheck.text.text import Span, grouped
from kcheck.text.values import Datum, Known, Origin, Record, Unknown, Unset, Value, known, mapped

CLOUD = "eks"
CLUSTER = "aws_eks_cluster"
GROUP = "aws_autoscaling_group"
ADDON = "aws_eks_addon"
FARGATE = "aws_eks_fargate_profile"
SUBNET = "aws_subnet"
RESERVATION = "aws_ec2_subnet_cidr_reservation"
NETWORK = "aws_vpc"
ASSOCIATION = "aws_vpc_ipv4_cidr_block_association"
MOUNT_TARGET = "aws_efs_mount_target"

_OWNER = regex(r"(?:kubernetes\.io/cluster|k8s\.io/cluster-autoscaler)/(?!enabled$|node-template/)(.+)")
_POD_SUBNET_TAG = "kubernetes.io/role/cni"


def read(roots: Sequence[Module], inventory: model.Inventory) -> None:
    """Add the EKS clusters of root modules to the inventory."""
    read_all([_Eks(root) for root in roots], inventory)
    for root in roots:
        eksctl.read_commands(root, inventory)


class _Eks(Reader):
    def __init__(self, root: Module) -> None:
        super().__init__(CLOUD, root, (POOL, GROUP))
        self.networks_by_address: dict[str, model.Network] = {}
        self.pod_subnets: list[model.Subnet] = []
        """Subnets tagged for the interfaces of pods."""

    # --- networks and subnets

    def networks(self) -> None:
        self.networks_of(NETWORK, ASSOCIATION)
        self.networks_by_address = {one.address: one for one in self.found.networks}
        for instance, fields in self.each(ASSOCIATION):  # it stands for its network, too
            if network := self.networks_by_address.get(address_of(fields.raw("network"))):
                self.networks_by_address[instance.address] = network

    def subnets(self) -> None:
        kinds = (nat_gateways.ENDPOINT, MOUNT_TARGET, nat_gateways.KIND_OF_EKS)
        networks, others = self.networks_by_address, nat_gateways.held(self, *kinds)
        for instance, fields in self.each(SUBNET):
            datum = fields.raw("network")
            found = resolve_reference(datum, networks) or self._of_association(datum, networks)
            network = found or unresolved_reference(fields.text("network"), "VPC")
            subnet = self.subnet(instance.address, fields, network, _texts(fields.raw("tags")))
            assigned = map(parse_cidr, self._reserved.get((instance.address, "explicit"), ()))
            blocks = tuple(self._reserved.get((instance.address, "prefix"), ()))
            held = sum(one.num_addresses for one in assigned if one) + others[instance.address]
            subnet = self.found.subnets[-1] = replace(subnet, held=held, blocks=blocks)
            written = fields.mapping("tags")
            if isinstance(written, Known) and _POD_SUBNET_TAG in written.value:
                self.pod_subnets.append(subnet)

    @cached_property
    def _reserved(self) -> dict[tuple[str, str | None], list[str]]:
        """Reserved ranges by subnet and kind: "prefix" or "explicit".

        https://docs.aws.amazon.com/vpc/latest/userguide/subnet-cidr-reservation.html
        """
        every = [self.fields(RESERVATION, instance) for instance in self.root.instances(RESERVATION)]
        found = grouped(every, lambda one: (address_of(one.raw("subnet")), known(one.text("kind"))))
        return {key: [cidr for one in own if (cidr := known(one.text("cidr")))] for key, own in found.items()}

    def _of_association(self, datum: Datum | None, networks: dict[str, model.Network]) -> Known[model.Network] | None:
        """Find the network of a subnet by its reference to a range's association."""
        symbol = datum.symbol if isinstance(datum, Unknown) else None
        network = networks.get(symbol.address) if symbol and symbol.attribute == "vpc_id" else None
        return Known(network, datum.origin or Origin((network.place,))) if network and datum else None

    @cached_property
    def selected(self) -> dict[str, list[model.Subnet]]:
        """Subnets that data sources select by tags of subnets in this repository."""
        result = {}
        for kind in ("aws_subnets", "aws_subnet_ids", "aws_subnet"):
            for address, record in self.root.sources(kind):
                patterns = _name_patterns(record)
                if patterns:
                    result[address] = self.subnets_named(patterns)
        return result

    @cached_property
    def moving_images(self) -> set[str]:
        """Addresses of data sources that find the newest image of a pattern."""
        return {address for address, one in self.root.sources("aws_ami") if _is_open(one)}

    def _selected_by(self, datum: Datum) -> list[model.Subnet]:
        """List the subnets that a reference to a data source selects."""
        symbol = datum.symbol if isinstance(datum, Unknown) else None
        whole = symbol is not None and symbol.attribute in ("id", "ids")
        return self.selected.get(symbol.address, []) if symbol and whole else []

    def subnets_named(self, patterns: list[str]) -> list[model.Subnet]:
        """List the subnets whose `Name` matches a pattern, in this root, else in others."""
        near = self.names.all(self.area, model.Subnet)
        found = [
            subnet for subnet in near if any(matches_pattern(text_of(subnet.name), pattern) for pattern in patterns)
        ]
        return [subnet for subnet in found if subnet.root == self.folder] or found

    def clusters(self) -> None:
        addons = [self.fields(ADDON, instance) for instance in self.root.instances(ADDON)]
        profiles = [self.fields(FARGATE, instance) for instance in self.root.instances(FARGATE)]
        for instance, fields in self.each(CLUSTER):
            name = fields.text("name")
            own = [addon for addon in addons if addon_settings.belongs(addon, name, instance)]
            of_cluster, dns = (addon_settings.named(own, kind) for kind in ("vpc-cni", "coredns"))
            replicas = addon_settings.dns_replicas(dns, instance.span)
            settings = addon_settings.read(of_cluster, instance.span, fields.flag("auto_mode"))
            place = location.of_cluster(self, instance, fields, self.networks_by_address)
            gateways = nat_gateways.of_network(self, place["network_id"])
            own_profiles = [one for one in profiles if addon_settings.belongs(one, name, instance)]
            cluster = fields.record_of(
                model.Cluster, self.identity(instance.address), instance.span, CLOUD, instance.address, self.folder,
                gap=self.gap, name=name, environment=self.root.environment, version=fields.text("version"),
                provisioned=fields.flag("auto_mode"), network_plugin=Known("vpc-cni", Origin((instance.span,))),
                api_ranges=api_access.ranges(fields), ip_family=mapped(fields.text("ip_family"), str.lower),
                serverless=addon_settings.serverless(own_profiles),
                outbound_ips=nat_gateways.zonal(gateways, instance.span), **nat_gateways.inputs(gateways),
                s3_endpoint=nat_gateways.s3_endpoint(self, gateways, instance.span), **place, cni=settings,
                pod_subnets=self._pod_subnets(of_cluster),
                pods_take_addresses=self._pods_take_addresses(fields.text("ip_family"), settings, instance.span),
                dns_replicas=replicas, dns_scaling=addon_settings.dns_scaling(dns, replicas, own),
                dns_compute=addon_settings.dns_compute(dns),
            )  # fmt: skip
            self.found.clusters.append(cluster)

    def _pod_subnets(self, addons: list[Fields]) -> Value[tuple[model.Subnet, ...]]:
        """Return the pod subnets of custom networking in the add-on; Unset if unused."""
        found = tuple(addon_settings.pod_subnets(addons))
        place = Origin((addons[0].record.span,)) if addons else Origin(())
        return resolve_list(Known(found, place), self.subnets_by_address, "subnet of pods") if found else model.NOTHING

    # --- pools

    def pools(self) -> None:
        templates = {i.address: self.fields(KIND, i) for i in self.root.instances(KIND)}
        for instance, fields in self.each(POOL):
            self._pool(launch_templates.group(instance, fields, templates), self._cluster(fields))
        for instance in self.pool_instances[GROUP]:
            owner = self._owner(instance)
            if owner is not None:
                self._pool(launch_templates.group(instance, self.fields(GROUP, instance), templates), owner)
        self.found.pools += hyperpod.pools(self, self.by_reference(model.Cluster, CLUSTER))

    def _pool(self, group: NodeGroup, owner: Value[model.Cluster]) -> None:
        instance, fields, cluster, types = group.instance, group.fields, known(owner), group.types()
        subnets, listed, of_machine = self._subnets(fields), fields.raw("subnets"), known(group.template) or fields
        named = listed.value if isinstance(listed, Known) and isinstance(listed.value, tuple) else ()
        pool = model.NodePool(
            self.identity(instance.address), instance.span, instance.address, owner, fields.text("name"), self.folder,
            managed=group.managed, size=_size(fields, instance.span),
            upgrade=upgrade(
                fields, max(1, len(known(subnets) or ())), managed=group.managed,
                image=looked_up((fields.raw("release"), of_machine.raw("image_id")), self.moving_images),
            ),
            machine=replace(
                machine_of(of_machine, CLOUD, types),
                disk_size=group.disk_size(), image_disk=group.image_disk(), efa=group.efa(types),
            ),
            addresses=model.Addresses(
                subnets,
                self.candidates(subnets, fields.raw("subnets"), self.subnets_by_address),
                cluster.pods_take_addresses if cluster else Unknown("the group's cluster is not known"),
                _max_pods(types, cluster) if group.managed and not group.has_own_image else model.NOTHING,
                pod_subnets=cluster.pod_subnets if cluster else model.NOTHING,
                subnet_ids=fields.texts("subnets"),
                subnets_listed=len(named),
            ),
            market=group.market(), scheduling=_scheduling(group), placement=of_machine.record_of(model.Placement),
            system=group.system(), kubelet=group.kubelet(), ignored=fields.ignored,
        )  # fmt: skip
        self.found.pools.append(pool)

    def _cluster(self, fields: Fields) -> Value[model.Cluster]:
        """Find the cluster of a managed group by reference or by name."""
        found = resolve_reference(fields.raw("cluster"), self.by_reference(model.Cluster, CLUSTER))
        if found is not None:
            return found
        name = fields.text("cluster")
        return self._cluster_named(name, name.origin or Origin((fields.record.span,)))

    def _owner(self, instance: Instance) -> Value[model.Cluster] | None:
        """Find the cluster named in an auto-scaling group's tags; None if they name none."""
        place = Origin((instance.span,))
        keys = [one.entry("key") for kind in ("tag", "tags") for one in blocks_below(instance, kind)]
        for key in keys:
            if isinstance(key, Known) and (match := _OWNER.fullmatch(str(key.value))):
                return self._cluster_named(Known(match[1], key.origin), place)
        unknown = next((key for key in keys if isinstance(key, Unknown) and _may_name_owner(text_of(key))), None)
        if unknown is None:
            return None
        near = [c for c in self.found.clusters if _module(c.address) == _module(instance.address)]
        near = near or self.found.clusters
        return Known(near[0], place) if len(near) == 1 else Unknown(unknown.reason, unknown.origin)

    def _cluster_named(self, name: Value[str], place: Origin) -> Value[model.Cluster]:
        """Find the only cluster with a name, or with the same unknown name."""
        if isinstance(name, Known):
            found = self.find_named(name, model.Cluster, "cluster")
            return Known(found.value, place) if isinstance(found, Known) else found
        equal = [c for c in self.found.clusters if same_value(c.name, name)]
        if len(equal) == 1:
            return Known(equal[0], place)
        return name if isinstance(name, Unknown) else Unknown("the cluster's name is not set", name.origin)

    def _subnets(self, fields: Fields) -> Value[tuple[model.Subnet, ...]]:
        """Return the subnets of a group, which decide its zones."""
        datum = fields.raw("subnets")
        if datum is None:
            return Unset(fields.record.absent(("subnet_ids",)))
        return not_empty(resolve_list(datum, self.subnets_by_address, "subnet", self._selected_by), "subnet_ids")

    def _pods_take_addresses(self, family: Value[str], settings: model.Cni, place: Span) -> Value[bool]:
        if not isinstance(family, Known):
            return family
        if family.value == "ipv6":
            return Known(value=False, origin=family.origin)
        if self.pod_subnets:
            return Unknown(f"{self.pod_subnets[0].address} is tagged for pods, so their interfaces may be in it")
        custom = settings.custom_networking
        if isinstance(custom, Unknown):
            return custom
        return Known(not known(custom), custom.origin or Origin((place,)))


def _size(fields: Fields, place: Span) -> model.Size:
    minimum, maximum = fields.number("min"), fields.number("max")
    growable = growing(minimum, maximum)
    if isinstance(maximum, Unknown) and _is_same(minimum, maximum):
        growable = Known(value=False, origin=maximum.origin or Origin((place,)))

    def unset(origin: Origin) -> Unknown:
        return Unknown("max_size is not set", origin)

    return model.Size(
        or_default(growable, unset), minimum, or_default(maximum, unset), count_written=fields.number("count")
    )


def _is_same(first: Value[int], second: Value[int]) -> bool:
    """Whether two numbers are the same expression of the same unknown value."""
    texts = [value.origin.spans[-1].text for value in (first, second) if value.origin and value.origin.spans]
    return same_value(first, second) and len(texts) == 2 and texts[0] == texts[1]


def _scheduling(group: NodeGroup) -> model.Scheduling:
    instance = group.instance
    if group.managed:
        labels, taints, form = (
            group.fields.mapping("labels"),
            taints_of(instance, "taint"),
            taint_form(instance, "taint"),
        )
    else:
        text = user_data(group.template.value) if isinstance(group.template, Known) else Unset(instance.span)
        (labels, taints), form = kubelets.registered(text, "the kubelet's arguments set its"), "flag"
    return model.Scheduling(labels, taints, form, no_schedule="NO_SCHEDULE")


def _may_name_owner(text: str | None) -> bool:
    """Whether a partly unknown tag key may name a cluster."""
    return text is None or text.startswith("$") or _OWNER.fullmatch(text) is not None


def _texts(tags: Datum | None) -> Value[dict[str, str]]:
    """Convert tags to texts, with `${...}` for unknown parts."""
    if not isinstance(tags, Known) or not isinstance(tags.value, dict):
        return model.NOTHING if tags is None or isinstance(tags, Known) else tags
    found = {str(key): text_of(value) for key, value in tags.value.items()}
    return Known({key: text for key, text in found.items() if text is not None}, tags.origin)


def _is_open(image: Record) -> bool:
    """Whether a data source takes the newest image of a pattern."""
    values = [entry for one in blocks_below(image, "filter") if (entry := one.entry("values"))]
    items = [item for one in map(known, values) if isinstance(one, tuple) for item in one]
    newest = image.entry("most_recent")
    return any("*" in (text_of(item) or "") for item in items) and newest is not None and known(newest) is True


def _name_patterns(record: Record) -> list[str]:
    """Return the `Name` patterns of a subnet data source; none for other filters."""
    patterns: list[str] = []
    for one in blocks_below(record, "filter"):
        key, values = one.entry("name"), one.entry("values")
        if isinstance(key, Known) and key.value == "vpc-id":
            continue
        if not isinstance(key, Known) or key.value != "tag:Name" or not isinstance(values, Known):
            return []
        patterns += [text for text in map(text_of, values.value if isinstance(values.value, tuple) else ()) if text]
    tags = record.entry("tags")
    if isinstance(tags, Known) and isinstance(tags.value, dict):
        if set(tags.value) != {"Name"}:
            return []
        patterns += [text for text in [text_of(tags.value["Name"])] if text]
    return patterns


def _module(address: str) -> str:
    steps = address.split(".")
    return ".".join(steps[:2]) if steps[0] == "module" else ""


def _max_pods(types: Value[tuple[str, ...]], cluster: model.Cluster | None) -> Value[int]:
    """Return the maximum pods per node of a managed group's smallest type."""
    custom = known(cluster.cni.custom_networking) if cluster and cluster.cni else False
    prefixes = known(cluster.cni.prefix_delegation) if cluster and cluster.cni else False
    limits = profiles.limits(CLOUD)
    small, large, many = (limits[f"max_pods.{name}"].number for name in ("small", "large", "many_vcpus"))
    found = []
    for name in known(types) or ():
        interfaces, machine = machines.interfaces(CLOUD, name), machines.machine(CLOUD, name)
        if interfaces is None or machine is None:
            return Unknown(f"kcheck does not know the instance type {name}")
        each = limits["cni.prefix_size"].number if prefixes else 1
        formula = max_pods(*interfaces, custom=bool(custom), each=each)
        found.append(managed_pods(formula, machine.vcpus or 0, small, large, many))
    return mapped(types, lambda _: min(found, default=0))
