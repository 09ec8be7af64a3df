"""profiles/any/fields.json: fields of core kinds by kubernetes-validate, and of custom ones by their CRDs.

Releases after those of the table are named. A type is string, integer, number, boolean, scalar (a number or text), any,
[T] for a list, {T} for a map, or a name of the table of types.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from derive import modules
from derive.crds import documents, template
from derive.gits import MissingError, needed, tell

CORE = {
    "v1": ("Pod", "PodTemplate", "Service", "ConfigMap", "Secret", "ServiceAccount", "PersistentVolumeClaim",
           "PersistentVolume", "ResourceQuota", "LimitRange", "ReplicationController"),
    "batch/v1": ("Job", "CronJob"),
    "apps/v1": ("Deployment", "StatefulSet", "DaemonSet", "ReplicaSet"),
    "policy/v1": ("PodDisruptionBudget",),
    "scheduling.k8s.io/v1": ("PriorityClass",),
    "storage.k8s.io/v1": ("StorageClass",),
    "resource.k8s.io/v1": ("ResourceClaim", "ResourceClaimTemplate", "DeviceClass"),
}  # fmt: skip
"""Core kinds that kcheck reads, by apiVersion."""

CRDS = (
    "kubernetes-sigs/jobset v0.12.0 config/components/crd/bases/jobset.x-k8s.io_jobsets.yaml",
    "kubeflow/trainer v2.3.0 manifests/base/crds/trainer.kubeflow.org_trainjobs.yaml",
    "kubeflow/trainer v2.3.0 manifests/base/crds/trainer.kubeflow.org_trainingruntimes.yaml",
    "kubeflow/trainer v2.3.0 manifests/base/crds/trainer.kubeflow.org_clustertrainingruntimes.yaml",
    *(
        f"kubeflow/training-operator v1.9.0 manifests/base/crds/kubeflow.org_{kind}s.yaml"
        for kind in ("pytorchjob", "tfjob", "xgboostjob", "paddlejob", "jaxjob", "mpijob")
    ),
    "kubeflow/mpi-operator v0.8.0 manifests/base/kubeflow.org_mpijobs.yaml",
    *(
        f"volcano-sh/volcano v1.15.1 config/crd/volcano/bases/{name}.yaml"
        for name in ("batch.volcano.sh_jobs", "scheduling.volcano.sh_queues")
    ),
    *(
        f"kubernetes-sigs/kueue v0.19.2 config/components/crd/bases/kueue.x-k8s.io_{kind}.yaml"
        for kind in ("clusterqueues", "localqueues", "resourceflavors", "cohorts")
    ),
    *(
        f"ray-project/kuberay v1.7.0 ray-operator/config/crd/bases/ray.io_{kind}.yaml"
        for kind in ("rayclusters", "rayjobs")
    ),
    "kubernetes-sigs/lws v0.10.0 config/crd/bases/leaderworkerset.x-k8s.io_leaderworkersets.yaml",
    "aws/karpenter-provider-aws v1.15.2 pkg/apis/crds/karpenter.sh_nodepools.yaml",
    "aws/karpenter-provider-aws v1.15.2 pkg/apis/crds/karpenter.k8s.aws_ec2nodeclasses.yaml",
)
"""CRDs of the other kinds that kcheck reads: repository, tag, path."""
BEFORE = {"kubeflow/trainer": ("v2.0.0", "v2.1.0")}
"""Releases whose fields are no longer in the newest one of an API that kept its version: either may be installed."""

AFTER = {
    "kubernetes-sigs/jobset": ("v0.13.0", {"spec": {"activeDeadlineSeconds": "integer", "scheduling": "any"}}),
    "kubernetes-sigs/lws": ("v0.11.1", {"spec": {"scheduling": "any"}}),
}
"""Fields that the changelog or guide of a later release adds, and that release, while its CRD is not to be had."""

META = {"managedFields": "any", "ownerReferences": "any"}
Types = dict[str, dict[str, str]]


class Table:
    """Types by name, each structure once."""

    def __init__(self, definitions: dict[str, Any]) -> None:
        self.definitions = definitions
        self.types: Types = {}
        self.names: dict[str, str] = {}

    def core(self, reference: str) -> str:
        """The type of a reference to a core definition."""
        full = reference.rpartition("/")[2]
        name, found = (
            full.removeprefix("io.k8s.").removeprefix("api.").removeprefix("apimachinery.pkg."),
            self.definitions[full],
        )
        if name in self.types:
            return name
        if name.endswith(".ObjectMeta"):
            found = {"properties": {key: value for key, value in found["properties"].items() if key not in META}}
            self.types[name] = dict(META)
        if "properties" not in found:
            return "any" if "object" in found.get("type", "object") and "oneOf" not in found else self.of(found, name)
        self.types.setdefault(name, {})
        for key, value in sorted(found["properties"].items()):
            self.types[name][key] = "any" if key == "status" else self.of(value, f"{name}.{key}")
        return name

    def of(self, schema: dict[str, Any], at: str) -> str:
        """The type of a schema at a path."""
        if "$ref" in schema:
            return self.core(schema["$ref"])
        if (
            schema.get("x-kubernetes-int-or-string")
            or "oneOf" in schema
            or ("anyOf" in schema and "properties" not in schema)
        ):
            return "scalar"
        if embedded := template(schema):
            return self.core(embedded)
        kinds = schema.get("type", "any")
        kind = next(one for one in kinds if one != "null") if isinstance(kinds, list) else kinds
        if kind == "array":
            return f"[{self.of(schema['items'], at)}]"
        if kind != "object":
            return str(kind)
        more = schema.get("additionalProperties")
        if isinstance(more, dict):
            return "{" + self.of(more, at) + "}"
        if "properties" not in schema or schema.get("x-kubernetes-preserve-unknown-fields"):
            return "any"
        fields = {key: self.of(value, f"{at}.{key}") for key, value in sorted(schema["properties"].items())}
        same = json.dumps(fields)
        if same not in self.names:
            self.names[same] = at
            self.types[at] = fields
        return self.names[same]


def widened(schema: dict[str, Any], older: dict[str, Any]) -> dict[str, Any]:
    """A schema with the fields and the wider values that an older release has too."""
    if "properties" in schema and "properties" in older:
        mine, other = schema["properties"], older["properties"]
        return {**schema, "properties": {**other, **{key: widened(mine[key], other.get(key, {})) for key in mine}}}
    if "items" in schema and "items" in older:
        return {**schema, "items": widened(schema["items"], older["items"])}
    return older if older.get("x-kubernetes-int-or-string") else schema


def versions(gits: Path, source: str) -> Iterator[tuple[dict[str, Any], dict[str, Any], str]]:
    """The CRDs of a source with each served version, its schema widened, and the releases that it is of."""
    repository, tag, path = source.split()
    before = BEFORE.get(repository, ())
    older: dict[str, dict[str, Any]] = {}
    for one in before:
        for crd in documents(gits, f"{repository} {one} {path}"):
            for version in crd["spec"]["versions"]:
                schema = version["schema"]["openAPIV3Schema"]
                older[version["name"]] = widened(schema, older.get(version["name"], {}))
    release = f"{repository.partition('/')[2]} {' to '.join((*before[:1], tag))}"
    for crd in documents(gits, source):
        for version in (one for one in crd["spec"]["versions"] if one["served"]):
            schema = widened(version["schema"]["openAPIV3Schema"], older.get(version["name"], {}))
            yield crd, {"name": version["name"], "properties": schema["properties"]}, release


def name_newer(gits: Path) -> None:
    """Name releases of the same major version that came after those of the table."""
    for repository, tag in dict.fromkeys(tuple(source.split()[:2]) for source in CRDS):
        known = max(tag, AFTER.get(repository, ("", {}))[0], key=modules.version)
        newest = max(
            needed(gits, repository).names(rf"{tag.partition('.')[0]}\.\d+\.\d+"), key=modules.version, default=known
        )
        if modules.version(newest) > modules.version(known):
            tell("fields", f"{repository} has {newest}, the table has {known}")


def derive(gits: Path, profiles: Path) -> dict[Path, str]:
    """The new text of the file, a line for each type."""
    try:
        import kubernetes_validate  # only who refreshes this needs it
    except ImportError as error:
        raise MissingError("kubernetes-validate, which has the fields of core kinds, is not installed") from error
    name_newer(gits)
    version = kubernetes_validate.latest_version()
    folder = f"kubernetes-json-schema/v{version}-local-strict/_definitions.json"
    definitions = json.loads((Path(kubernetes_validate.__file__).parent / folder).read_text(encoding="utf-8"))["$defs"]
    release = f"Kubernetes {version.rpartition('.')[0]}"
    table, kinds = Table(definitions), {}
    for api, names in CORE.items():
        group, _, own = api.rpartition("/")
        package = f"io.k8s.api.{group.partition('.')[0] or 'core'}.{own}"
        kinds |= {f"{api} {name}": [table.core(f"{package}.{name}"), release] for name in names}
    metadata = table.core("io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta")
    for source in CRDS:
        for crd, version_of, tagged in versions(gits, source):
            name, own = crd["spec"]["names"]["kind"], f"{crd['spec']['group']}/{version_of['name']}"
            at = f"{own}/{name}"
            fields = {
                key: table.of(value, f"{at}.{key}")
                for key, value in version_of["properties"].items()
                if key != "status"
            }
            later, added = AFTER.get(source.split()[0], ("", {}))
            for key, new in added.items():
                table.types[fields[key]] |= new
            table.types[at] = {**fields, "metadata": metadata, "status": "any"}
            kinds[f"{own} {name}"] = [at, f"{tagged} to {later}" if later else tagged]
    lines = [f"  {json.dumps(name)}: {json.dumps(fields)}" for name, fields in table.types.items()]
    kind_lines = [f"  {json.dumps(name)}: {json.dumps(entry)}" for name, entry in kinds.items()]
    changelogs = (f"{repository} {later}" for repository, (later, _) in AFTER.items())
    tags = dict.fromkeys([*(" ".join(one.split()[:2]) for one in CRDS), *changelogs])
    sources = json.dumps([f"kubernetes-validate {version}", *tags])
    blocks = [
        f' "sources": {sources}',
        *(f' "{name}": {{\n' + ",\n".join(rows) + "\n }" for name, rows in (("kinds", kind_lines), ("types", lines))),
    ]
    return {profiles / "any" / "fields.json": "{\n" + ",\n".join(blocks) + "\n}\n"}
