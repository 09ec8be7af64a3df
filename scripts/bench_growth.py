"""The series of `scripts/bench --growth`: trees of one kind in several sizes, and the commands that read them.

A size costs the processor time of its process less that of the size 1; a tree twice as large may cost little more
than twice as much.
"""

from __future__ import annotations

import json
from math import log2
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

DOUBLING = 2.3
"""How much more a tree twice as large may cost."""
HUNDREDS, THOUSANDS = (100, 200, 400, 800, 3200), (1000, 2000, 4000, 10_000)
POOLS = (50, 100, 200, 400, 800)


class Series(NamedTuple):
    """A tree by its size, and what reads it."""

    name: str
    make: Callable[[int], dict[str, str]]
    sizes: tuple[int, ...] = HUNDREDS
    command: tuple[str, ...] = ("check", ".", "--fail-on", "never")

    def write(self, folder: Path, size: int) -> None:
        """Write the tree of a size."""
        for name, text in self.make(size).items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)


def job(i: int, *, image: str = "nginx:latest", more: str = "") -> str:
    """A Job, with several findings; `more` belongs to its pods."""
    return (
        f"apiVersion: batch/v1\nkind: Job\nmetadata:\n  name: job{i}\n  labels: {{}}\nspec:\n"
        f"  parallelism: 4\n  completions: 4\n  template:\n    spec:\n      restartPolicy: Never\n{more}"
        "      containers:\n        - name: main\n"
        f"          image: {image}\n          resources:\n            limits:\n              nvidia.com/gpu: 8\n"
    )


def jobs(size: int) -> str:
    """Jobs in one file."""
    return "---\n".join(map(job, range(size)))


def item_list(size: int) -> str:
    """One document with Jobs as its items."""
    items = ("- " + job(i).replace("\n", "\n  ").rstrip(" ") for i in range(size))
    return "apiVersion: v1\nkind: List\nitems:\n" + "".join(items)


def cluster(name: str = "main", i: int = 0) -> str:
    """A cluster of AKS, with its network."""
    return (
        f'resource "azurerm_virtual_network" "{name}" {{\n  name = "{name}"\n  address_space = ["10.0.0.0/8"]\n}}\n'
        f'resource "azurerm_subnet" "{name}" {{\n  name = "{name}"\n'
        f"  virtual_network_name = azurerm_virtual_network.{name}.name\n"
        f'  address_prefixes = ["10.{i % 256}.0.0/16"]\n}}\n'
        f'resource "azurerm_kubernetes_cluster" "{name}" {{\n  name = "{name}"\n'
        f'  default_node_pool {{\n    name = "system"\n    node_count = 3\n'
        f"    vnet_subnet_id = azurerm_subnet.{name}.id\n  }}\n"
        f'  network_profile {{\n    network_plugin = "azure"\n  }}\n}}\n'
    )


def pool(name: str, *, more: str = "", labels: str = "a = 1", to: str = "main") -> str:
    """A pool of that cluster."""
    return (
        f'resource "azurerm_kubernetes_cluster_node_pool" "{name}" {{\n{more}  name = "{name[:12]}"\n'
        f"  kubernetes_cluster_id = azurerm_kubernetes_cluster.{to}.id\n"
        f"  vnet_subnet_id = azurerm_subnet.{to}.id\n"
        f"  auto_scaling_enabled = true\n  min_count = 0\n  max_count = 10\n"
        f'  vm_size = "Standard_ND96isr_H100_v5"\n  node_labels = {{ {labels} }}\n}}\n'
    )


MODULE = (
    'variable "cluster" {}\nvariable "name" {}\n'
    'resource "azurerm_kubernetes_cluster_node_pool" "main" {\n  name = var.name\n'
    "  kubernetes_cluster_id = var.cluster\n  max_count = 10\n"
    '  min_count = 0\n  auto_scaling_enabled = true\n  vm_size = "Standard_ND96isr_H100_v5"\n}\n'
)


def pool_modules(size: int) -> dict[str, str]:
    """Calls of a module with a pool."""
    calls = (
        f'module "p{i}" {{\n  source = "./pool"\n  name = "p{i}"\n'
        "  cluster = azurerm_kubernetes_cluster.main.id\n}\n" for i in range(size)
    )  # fmt: skip
    return {"main.tf": cluster() + "".join(calls), "pool/main.tf": MODULE}


def deep(size: int) -> dict[str, str]:
    """Modules, each called by the one before it."""
    files = {}
    for i in range(size):
        call = f'module "next" {{\n  source = "../m{i + 1}"\n  name = "${{var.name}}x"\n}}\n' if i < size - 1 else ""
        files[f"m{i}/main.tf"] = (
            f'variable "name" {{ default = "a" }}\n{call}resource "azurerm_subnet" "main" {{\n  name = var.name\n'
            '  address_prefixes = ["10.0.0.0/24"]\n}\n'
        )
    files["m0/cluster.tf"] = cluster()
    return files


def overlays(size: int) -> dict[str, str]:
    """Overlays of one base."""
    files = {"base/kustomization.yaml": "resources: [job.yaml]\n", "base/job.yaml": job(0)}
    for i in range(size):
        files[f"overlays/o{i}/kustomization.yaml"] = (
            f"resources: [../../base]\nnameSuffix: -o{i}\npatches:\n  - target: {{kind: Job}}\n    patch: |-\n"
            f"      - {{op: replace, path: /spec/parallelism, value: {i + 2}}}\n"
        )
    return files


def selected(size: int) -> dict[str, str]:
    """Workloads that select a pool each."""
    chosen = (job(i, more=f"      nodeSelector: {{n: p{i}}}\n") for i in range(size))
    pools = (pool(f"p{i}", labels=f'n = "p{i}"') for i in range(size))
    return {"jobs.yaml": "---\n".join(chosen), "main.tf": cluster() + "".join(pools)}


QUEUE = "kueue.x-k8s.io/queue-name"
QUEUED = """\
{job}---
apiVersion: v1
kind: ResourceQuota
metadata: {{name: q, namespace: n{i}}}
spec: {{hard: {{pods: "2"}}}}
---
apiVersion: kueue.x-k8s.io/v1beta1
kind: LocalQueue
metadata: {{name: q, namespace: n{i}}}
spec: {{clusterQueue: c{i}}}
---
apiVersion: kueue.x-k8s.io/v1beta1
kind: ClusterQueue
metadata: {{name: c{i}}}
spec:
  resourceGroups:
    - coveredResources: [nvidia.com/gpu]
      flavors: [{{name: f, resources: [{{name: nvidia.com/gpu, nominalQuota: 8}}]}}]
"""


def queues(size: int) -> dict[str, str]:
    """Namespaces with a quota and a queue, and a Job in each."""
    parts = [
        QUEUED.format(i=i, job=job(i).replace("labels: {}\n", f"namespace: n{i}\n  labels: {{{QUEUE}: q}}\n"))
        for i in range(size)
    ]
    return {"all.yaml": "---\n".join(parts), "main.tf": cluster() + pool("gpu")}


def lone_queues(size: int) -> dict[str, str]:
    """The same queues, whose Jobs name others."""
    return {name: text.replace(f"{QUEUE}: q", f"{QUEUE}: other") for name, text in queues(size).items()}


def node_groups(size: int) -> dict[str, str]:
    """Node groups of EKS in one subnet."""
    head = (
        'resource "aws_subnet" "a" {\n  cidr_block = "10.0.0.0/16"\n}\n'
        'resource "aws_eks_cluster" "main" {\n  name = "main"\n  version = "1.34"\n'
        "  vpc_config {\n    subnet_ids = [aws_subnet.a.id]\n  }\n}\n"
    )
    groups = (
        f'resource "aws_eks_node_group" "g{i}" {{\n  cluster_name = aws_eks_cluster.main.name\n'
        f'  node_group_name = "g{i}"\n  subnet_ids = [aws_subnet.a.id]\n  instance_types = ["p5.48xlarge"]\n'
        "  scaling_config {\n    min_size = 0\n    desired_size = 0\n    max_size = 10\n  }\n}\n" for i in range(size)
    )  # fmt: skip
    return {"main.tf": head + "".join(groups)}


def tolerated(size: int) -> dict[str, str]:
    """A pool with taints, and a Job that tolerates each."""
    taints = ", ".join(f'"t{i}=a:NoSchedule"' for i in range(size))
    lines = "".join(f"        - {{key: t{i}, operator: Exists, effect: NoSchedule}}\n" for i in range(size))
    tainted = pool("gpu", more=f"  node_taints = [{taints}]\n")
    return {"main.tf": cluster() + tainted, "job.yaml": job(0, more=f"      tolerations:\n{lines}")}


def stacked(size: int) -> dict[str, str]:
    """Overlays, each of the one before it."""
    files = {"k0/kustomization.yaml": "resources: [job.yaml]\n", "k0/job.yaml": job(0)}
    for i in range(1, size):
        files[f"k{i}/kustomization.yaml"] = f"resources: [../k{i - 1}]\nnameSuffix: -o{i}\n"
    return files


def plan(size: int) -> dict[str, str]:
    """A plan with node pools among other resources."""
    resources: list[object] = [
        {
            "address": "azurerm_kubernetes_cluster.main", "mode": "managed", "type": "azurerm_kubernetes_cluster",
            "name": "main", "values": {"name": "main", "default_node_pool": [{"name": "system", "node_count": 3}]},
        }
    ]  # fmt: skip
    for i in range(size):
        kind = "azurerm_subnet" if i % 10 else "azurerm_virtual_network"
        values = {"name": f"s{i}", "address_prefixes": ["10.0.0.0/16"], "address_space": ["10.0.0.0/8"]}
        own = {"address": f"{kind}.s{i}", "mode": "managed", "type": kind, "name": f"s{i}"}
        resources.append({**own, "values": values})
    root = {"root_module": {"resources": resources}}
    return {"plan.json": json.dumps({"format_version": "1.2", "planned_values": root}, indent=1)}


def with_cluster(manifests: Callable[[int], str]) -> Callable[[int], dict[str, str]]:
    """Manifests beside a cluster with a pool of GPUs."""
    return lambda size: {"all.yaml": manifests(size), "main.tf": cluster() + pool("gpu")}


def settings(size: int) -> dict[str, str]:
    """Rules ignored by path."""
    ignores = "".join(f"  - path: jobs/j{i}.yaml\n    rules: [image-latest]\n" for i in range(size))
    return {"kcheck.yaml": f"per_path_ignores:\n{ignores}", "jobs.yaml": job(0)}


def ignored(size: int) -> str:
    """Jobs with a comment each that suppresses a finding."""
    line = "image: nginx:latest"
    comment = "# kcheck: ignore[image-tag-moves] it is pinned elsewhere\n          "
    return "---\n".join(job(i).replace(line, comment + line) for i in range(size))


def unused_ignores(size: int) -> str:
    """The same, where the comments suppress nothing."""
    return ignored(size).replace("image-tag-moves", "gpu-pool-untainted")


def aliases(size: int) -> str:
    """A list of Jobs with one container, which all but the first have as an alias."""
    own, *others = (job(i).replace("\n", "\n  ").rstrip(" ").split("containers:\n") for i in range(size))
    first = own[1].replace("- name", "- &c\n            name", 1)
    items = [f"- {own[0]}containers:\n{first}", *(f"- {other[0]}containers: [*c]\n" for other in others)]
    return "apiVersion: v1\nkind: List\nitems:\n" + "".join(items)


def images(size: int) -> str:
    """Jobs, each with an image of its own."""
    return "---\n".join(job(i, image=f"team/app{i}:{i}.0") for i in range(size))


def one_file(size: int) -> dict[str, str]:
    """Jobs in one file beside a cluster."""
    return with_cluster(jobs)(size)


def job_files(size: int) -> dict[str, str]:
    """Jobs in a file each."""
    return {"main.tf": cluster(), **{f"jobs/{i}.yaml": job(i) for i in range(size)}}


def counted_pools(size: int) -> dict[str, str]:
    """One resource that is many pools."""
    return {"main.tf": cluster() + pool("p", more=f"  count = {size}\n")}


def pools(size: int) -> dict[str, str]:
    """A resource for each pool."""
    return {"main.tf": cluster() + "".join(pool(f"p{i}") for i in range(size))}


def pools_of_sizes(size: int) -> dict[str, str]:
    """Pools with a maximum of their own each."""
    sizes = (pool(f"p{i}").replace("max_count = 10", f"max_count = {i + 10}") for i in range(size))
    return {"main.tf": cluster() + "".join(sizes)}


def pools_in_subnets(size: int) -> dict[str, str]:
    """Pools with a maximum and a subnet of their own each."""
    subnet = (
        'resource "azurerm_subnet" "s{i}" {{\n  name = "s{i}"\n'
        "  virtual_network_name = azurerm_virtual_network.main.name\n"
        '  address_prefixes = ["10.{at}.{last}.0/24"]\n}}\n'
    )
    subnets = (subnet.format(i=i, at=i // 256 + 1, last=i % 256) for i in range(size))
    parts = pools_of_sizes(size)["main.tf"].split("azurerm_subnet.main.id")
    ends = ["main", *(f"s{i}" for i in range(size)), ""]
    code = "".join(f"{part}azurerm_subnet.{end}.id" if end else part for part, end in zip(parts, ends, strict=True))
    return {"main.tf": code + "".join(subnets)}


def open_pool(size: int) -> dict[str, str]:
    """Pools beside one of unknown maximum."""
    code = pools(size)["main.tf"].replace("max_count = 10", "max_count = var.most", 1)
    return {"main.tf": f'variable "most" {{\n  type = number\n}}\n{code}'}


def labelled_pools(size: int) -> dict[str, str]:
    """A resource of eleven lines for each pool."""
    label = '  node_labels = { team = "research" }\n'
    return {"main.tf": cluster() + "".join(pool(f"p{i}", more=label) for i in range(size))}


def clusters(size: int) -> dict[str, str]:
    """Clusters in one root."""
    return {"main.tf": "".join(cluster(f"c{i}", i) for i in range(size))}


def roots(size: int) -> dict[str, str]:
    """Clusters in folders of their own, with a Job each."""
    found = {f"c{i}/main.tf": cluster(f"c{i}", i) for i in range(size)}
    return found | {f"c{i}/job.yaml": job(i) for i in range(size)}


def flat_locals(size: int) -> dict[str, str]:
    """Locals that resources use."""
    lines = "".join(f"  l{i} = {i}\n" for i in range(size))
    users = "".join(f'resource "azurerm_subnet" "u{i}" {{\n  name = local.l{i}\n}}\n' for i in range(size))
    return {"main.tf": f"{cluster()}locals {{\n{lines}}}\n{users}"}


def chained_locals(size: int) -> dict[str, str]:
    """Locals that use the one before them."""
    lines = "".join(f"  l{i + 1} = local.l{i} + 1\n" for i in range(size))
    last = pool("gpu").replace("max_count = 10", f"max_count = local.l{size}")
    return {"main.tf": f"{cluster()}{last}locals {{\n  l0 = 1\n{lines}}}\n"}


def variables(size: int) -> dict[str, str]:
    """Variables with values in a tfvars file."""
    declared = "".join(f'variable "v{i}" {{}}\n' for i in range(size))
    return {"main.tf": cluster() + declared, "terraform.tfvars": "".join(f"v{i} = {i}\n" for i in range(size))}


def map_variable(size: int) -> dict[str, str]:
    """A map in a tfvars file, and a resource for each of its entries."""
    resource = 'resource "azurerm_subnet" "a" {\n  for_each = var.m\n  name = each.key\n}\n'
    lines = "".join(f"  v{i} = {i}\n" for i in range(size))
    return {"main.tf": f'{cluster()}variable "m" {{}}\n{resource}', "terraform.tfvars": f"m = {{\n{lines}}}\n"}


KARPENTER = """\
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {{name: p{i}}}
spec:
  template:
    metadata: {{labels: {{n: p{i}}}}}
    spec:
      taints: [{{key: t{i}, effect: NoSchedule}}]
      requirements: [{{key: node.kubernetes.io/instance-type, operator: In, values: [p5.48xlarge]}}]
---
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {{name: c{i}}}
value: {i}
---
{job}"""


def karpenter(size: int) -> dict[str, str]:
    """Karpenter's pools, and for each a PriorityClass and a Job that selects the pool."""
    own = "      nodeSelector: {{n: p{i}}}\n      priorityClassName: c{i}\n"
    own += "      tolerations: [{{key: t{i}, operator: Exists}}]\n"
    parts = (KARPENTER.format(i=i, job=job(i, more=own.format(i=i))) for i in range(size))
    return {"all.yaml": "---\n".join(parts), "main.tf": node_groups(1)["main.tf"]}


def cloudformation(size: int) -> dict[str, str]:
    """Node groups of a template for CloudFormation."""
    text = "Resources:\n  C:\n    Type: AWS::EKS::Cluster\n    Properties: {Name: main, Version: '1.34'}\n"
    group = (
        "  G{i}:\n    Type: AWS::EKS::Nodegroup\n    Properties:\n      ClusterName: {{Ref: C}}\n"
        "      InstanceTypes: [p5.48xlarge]\n      ScalingConfig: {{MinSize: 0, MaxSize: 10, DesiredSize: 0}}\n"
    )
    return {"template.yaml": text + "".join(group.format(i=i) for i in range(size))}


CHECK = ("check", ".", "--fail-on", "never")
FIX, CAPACITY = ("fix", ".", "--diff", "--fail-on", "never"), ("capacity", ".")
SHOW, SIMULATE = ("show", "."), ("simulate", ".")
FORMATS = ("json", "sarif", "markdown")


def _series() -> Iterator[Series]:
    for command in (CHECK, FIX, CAPACITY, SHOW):
        name = command[0]
        yield Series(f"Jobs in one file, {name}", one_file, HUNDREDS, command)
        yield Series(f"Jobs of a List, {name}", with_cluster(item_list), HUNDREDS, command)
        yield Series(f"pools by count, {name}", counted_pools, POOLS, command)
        yield Series(f"pools as resources, {name}", pools, POOLS, command)
        yield Series(f"clusters, {name}", clusters, POOLS, command)
    for form in FORMATS:
        yield Series(f"Jobs in one file, {form}", one_file, HUNDREDS, (*CHECK, "--info", "--format", form))
    yield Series("pools of different sizes, capacity", pools_of_sizes, POOLS, CAPACITY)
    yield Series("pools in subnets, capacity", pools_in_subnets, POOLS, CAPACITY)
    yield Series("pools beside an unknown one, capacity", open_pool, POOLS, CAPACITY)
    yield Series("Jobs in files", job_files)
    yield Series("Jobs with images", with_cluster(images))
    yield Series("Jobs in one file, simulate", one_file, HUNDREDS, SIMULATE)
    yield Series("ignore comments", with_cluster(ignored))
    yield Series("aliases of a container", with_cluster(aliases))
    yield Series("unused ignores", with_cluster(unused_ignores), (1000, 2000, 4000))
    yield Series("node groups", node_groups, (500, 1000, 2000))
    yield Series("tolerations with taints", tolerated, (2000, 4000, 8000))
    yield Series("overlay on overlay", stacked, (2000, 4000, 8000))
    yield Series("queues", queues, (1000, 2000, 4000))
    yield Series("per_path_ignores", settings, THOUSANDS)
    yield Series("pools as modules", pool_modules, POOLS)
    yield Series("pools that Jobs select", selected, POOLS)
    yield Series("Karpenter's pools that Jobs select", karpenter, POOLS)
    yield Series("node groups of CloudFormation", cloudformation, POOLS)
    yield Series("roots with a Job", roots, POOLS)
    yield Series("flat locals", flat_locals, THOUSANDS)
    yield Series("chained locals", chained_locals, THOUSANDS)
    yield Series("deep modules", deep, (10, 20, 30, 50))
    yield Series("variables in a tfvars file", variables, THOUSANDS)
    yield Series("a map in a tfvars file", map_variable, THOUSANDS)
    yield Series("overlays of a base", overlays, POOLS)
    yield Series("overlays of a base, fix", overlays, POOLS, FIX)
    yield Series("queues and quotas", queues, POOLS)
    yield Series("queues without jobs", lone_queues, POOLS)
    yield Series("resources of a plan", plan, THOUSANDS, ("check", "plan.json", *CHECK[2:]))


SERIES = tuple(_series())


def rows(series: Series, scratch: Path, cost: Callable[[tuple[str, ...], Path], float], most: float) -> Iterator[str]:
    """Milliseconds per unit and growth by doubling at each size; none larger once a tree took `most` seconds."""
    yield series.name
    series.write(scratch / "1", 1)
    least = cost(series.command, scratch / "1")
    before: tuple[int, float] | None = None
    for size in series.sizes:
        folder = scratch / str(size)
        series.write(folder, size)
        seconds = cost(series.command, folder)
        own = max(seconds - least, 0.001)
        row = f"{size:>10,} {seconds:10,.2f} s {own / (size - 1) * 1000:10,.2f} ms"
        if before is not None:
            times = (own / before[1]) ** (1 / log2(size / before[0]))
            row += f" {times:8.2f}x a doubling{'' if times <= DOUBLING else f'  over {DOUBLING}'}"
        yield row
        before = size, own
        if seconds > most:
            yield f"{'':10} larger ones would take too long"
            return
