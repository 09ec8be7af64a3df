"""tests/schemas/crds: held against the CRDs of the projects' own repositories, at the tags that the schemas name.

Usage: scripts/refresh GITS crds                          prints where a schema says other than its CRD
       python scripts/derive/crds.py GITS --all           prints what a schema leaves out as well
       python scripts/derive/crds.py GITS OUT             writes the whole CRDs, compacted, to the folder OUT
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import yaml

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from derive.gits import tell, text_of

SCHEMAS = Path(__file__).resolve().parent.parent.parent / "tests" / "schemas" / "crds"
CORE = "https://kubernetes.io/api/_definitions.json#/$defs/"
META = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
POD, JOB = "io.k8s.api.core.v1.PodTemplateSpec", "io.k8s.api.batch.v1.JobTemplateSpec"
KEPT = ("type", "enum", "required", "minimum", "maximum", "minItems", "maxItems", "minLength", "pattern")
MAY_BE_LEFT_OUT = ("enum", "minimum", "maximum", "minItems", "maxItems")
Schema = dict[str, Any]


def read(path: Path) -> Schema:
    """One of our files. What it lists of an object is all that the object may have."""
    file: Schema = yaml.safe_load(path.read_text(encoding="utf-8"))
    for kind in file["kinds"].values():
        kind["required"] = ["apiVersion", "kind", "metadata", *kind.get("required", ())]
        header = {"apiVersion": {"type": "string"}, "kind": {"type": "string"}, "metadata": {"$ref": CORE + META}}
        kind["properties"] = header | kind.get("properties", {})
    for schema in (*file["kinds"].values(), *file.get("$defs", {}).values()):
        close(schema)
    return file


def close(schema: Schema) -> None:
    """Say of an object and all below that nothing else may be there."""
    if "properties" in schema:
        schema |= {"type": "object", "additionalProperties": False}
    below = [schema.get("items"), schema.get("additionalProperties"), *schema.get("properties", {}).values()]
    for one in below:
        if isinstance(one, dict):
            close(one)


def documents(gits: Path, source: str) -> list[Schema]:
    """The CRDs of "OWNER/NAME TAG PATH"."""
    repository, tag, path = source.split()
    text = text_of(gits, repository, path, tag)[1]
    return [one for one in yaml.safe_load_all(text) if one]


def template(schema: Schema) -> str | None:
    """The core type that a schema embeds, of those that are large."""
    spec = schema.get("properties", {}).get("spec", {}).get("properties", {})
    if {"containers", "restartPolicy", "volumes"} <= set(spec):
        return POD
    return JOB if {"parallelism", "completions", "template"} <= set(spec) else None


def compact(schema: Schema) -> Schema:
    """A structural schema as plain JSON schema: what is pruned is refused, no words, no defaults, no CEL."""
    if embedded := template(schema):
        return {"$ref": CORE + embedded}
    if schema.get("x-kubernetes-int-or-string"):
        return {"type": ["integer", "string"]}
    out = {key: schema[key] for key in KEPT if key in schema}
    if "(?i)" in out.get("pattern", ""):  # Python wants it first
        out["pattern"] = "(?i)" + out["pattern"].replace("(?i)", "")
    if schema.get("nullable"):
        out["type"] = [schema["type"], "null"]
    if "items" in schema:
        out["items"] = compact(schema["items"])
    if isinstance(schema.get("additionalProperties"), dict):
        out["additionalProperties"] = compact(schema["additionalProperties"])
    elif schema.get("type") == "object":
        out["properties"] = {name: compact(value) for name, value in schema.get("properties", {}).items()}
        if not schema.get("x-kubernetes-preserve-unknown-fields"):
            out["additionalProperties"] = False
    return out


def whole(crd: Schema, version: str) -> Schema:
    """The schema of one version of a CRD: a document of it, without status."""
    found = next((one for one in crd["spec"]["versions"] if one["name"] == version), None)
    if found is None:
        sys.exit(f"{crd['metadata']['name']} has no version {version}")
    if found.get("deprecated") or not found["served"]:
        sys.exit(f"{crd['metadata']['name']}: {version} is deprecated or not served")
    out = compact(found["schema"]["openAPIV3Schema"])
    out["properties"]["metadata"] = {"$ref": CORE + META}
    out["properties"].pop("status", None)
    out["required"] = sorted({*out.get("required", []), "apiVersion", "kind", "metadata"})
    return out


def published(gits: Path, ours: Schema) -> dict[str, Schema]:
    """The compacted CRDs of the kinds of one file, by "group/version Kind"."""
    found = [one for source in ours["sources"] for one in documents(gits, source)]
    crds = {(one["spec"]["group"], one["spec"]["names"]["kind"]): one for one in found}
    out = {}
    for key in ours["kinds"]:
        api, kind = key.split()
        group, version = api.split("/")
        out[key] = whole(crds[group, kind], version)
    return out


def resolved(schema: Schema, root: Schema) -> Schema:
    """A schema behind its references inside the file."""
    while str(schema.get("$ref", "")).startswith("#/$defs/"):
        schema = root["$defs"][schema["$ref"].removeprefix("#/$defs/")]
    return schema


def stated(schema: Schema, key: str) -> Any:
    """What a schema says under a key, lists in one order."""
    value = schema.get(key)
    return sorted(value) if isinstance(value, list) else value


def differences(ours: Schema, theirs: Schema, root: Schema, at: str) -> list[tuple[bool, str]]:
    """Where our schema says other than theirs: whether it is only left out, and the words."""
    ours = resolved(ours, root)
    if "$ref" in ours:  # a core type: theirs is that type, or its object written out
        same = theirs.get("$ref", ours["$ref"]) == ours["$ref"] and theirs.get("type", "object") == "object"
        return [] if same else [(False, f"{at}: is not {ours['$ref']}")]
    if "$ref" in theirs:
        return [(False, f"{at}: is {theirs['$ref']}")]
    out = [
        (key in MAY_BE_LEFT_OUT and key not in ours, f"{at}: {key} {stated(ours, key)}, theirs {stated(theirs, key)}")
        for key in ("type", "required", *MAY_BE_LEFT_OUT)
        if stated(ours, key) != stated(theirs, key)
    ]
    if (ours.get("additionalProperties") is False) != (theirs.get("additionalProperties") is False):
        out.append((False, f"{at}: unknown fields are refused by one only"))
    mine, other = ours.get("properties", {}), theirs.get("properties", {})
    out += [(False, f"{at}.{name}: not in the CRD") for name in mine if name not in other]
    out += [(True, f"{at}.{name}: left out") for name in other if name not in mine]
    for name in mine.keys() & other.keys():
        out += differences(mine[name], other[name], root, f"{at}.{name}")
    for key in ("items", "additionalProperties"):
        values = [one.get(key) for one in (ours, theirs)]
        if all(isinstance(one, dict) for one in values):
            out += differences(ours[key], theirs[key], root, f"{at}[]")
        elif any(isinstance(one, dict) for one in values):
            out.append((False, f"{at}: {key} in one only"))
    return out


def derive(gits: Path, _profiles: Path) -> dict[Path, str]:
    """Nothing to write: the schemas are reduced by hand; prints where they differ."""
    if main(gits):
        tell("crds", "a schema says other than its CRD")
    return {}


def main(gits: Path, *rest: str) -> int:
    """Check, or write."""
    bad = 0
    for path in sorted(SCHEMAS.glob("*.yaml")):
        ours = read(path)
        theirs = published(gits, ours)
        if rest and rest[0] != "--all":
            Path(rest[0]).mkdir(parents=True, exist_ok=True)
            text = json.dumps({"sources": ours["sources"], "kinds": theirs}, indent=1)
            (Path(rest[0]) / f"{path.stem}.json").write_text(text + "\n", encoding="utf-8")
            continue
        for key, schema in ours["kinds"].items():
            for left_out, words in sorted(differences(schema, theirs[key], ours, key)):
                bad += not left_out
                if not left_out or rest:
                    print(words)
    return 1 if bad else 0


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    sys.exit(main(Path(sys.argv[1]), *sys.argv[2:]))
