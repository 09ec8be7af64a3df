"""Find what an API server would refuse in YAML: core kinds by kubernetes-validate, others by tests/schemas/crds."""

from __future__ import annotations

import json
from functools import cache
from importlib import resources
from typing import Any

import jsonschema
import yaml
from derive import crds
from referencing import Registry, Resource

from tests.places import TESTS

SCHEMAS = TESTS / "schemas" / "crds"
KUBERNETES = "1.34"
LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def core(name: str) -> Any:
    """Return a schema of kubernetes-validate, read once; the package reads all of them for each document."""
    folder = resources.files("kubernetes_validate") / "kubernetes-json-schema" / f"v{KUBERNETES}.0-local-strict"
    return json.loads(folder.joinpath(f"{name}.json").read_text(encoding="utf-8"))


@cache
def definitions() -> Registry[Any]:
    """Return the registry of core types, to which the schemas of other kinds refer."""
    return (Resource.from_contents(core("_definitions")) @ Registry()).crawl()


@cache
def validators() -> dict[tuple[str, str], jsonschema.Draft202012Validator]:
    """Return the validators of all kinds that kcheck has a schema of, by apiVersion and kind."""
    out = {}
    for path in sorted(SCHEMAS.glob("*.yaml")):
        file = crds.read(path)
        for name, schema in file["kinds"].items():
            api, kind = name.split()
            whole = {"$defs": file.get("$defs", {}), **schema}
            out[api, kind] = jsonschema.Draft202012Validator(whole, registry=definitions())
    return out


@cache
def validator(api: str, kind: str) -> jsonschema.Draft202012Validator | None:
    """Return the validator of a kind; None if it has no schema."""
    if found := validators().get((api, kind)):
        return found
    group, _, version = api.rpartition("/")
    name = f"{kind.lower()}-{group.partition('.')[0]}-{version}" if group else f"{kind.lower()}-{version}"
    try:
        return jsonschema.Draft202012Validator(core(name), registry=definitions())
    except FileNotFoundError:
        return None


def refused(document: dict[str, Any], api: str, kind: str) -> list[str]:
    """Return the problems of a document, each with its place."""
    schema = validator(api, kind)
    if schema is None:
        return [f"no schema of {api} {kind}"]
    return sorted(
        f"{'.'.join(str(part) for part in error.absolute_path) or 'document'}: {error.message}"
        for error in schema.iter_errors(document)
    )


def problems(text: str) -> list[str]:
    """Return the problems of all documents in a YAML text; empty documents have none."""
    out = []
    for number, document in enumerate(yaml.load_all(text, LOADER), 1):
        if document is None:
            continue
        if not isinstance(document, dict):
            out.append(f"document {number}: not an object")
            continue
        api, kind, metadata = (document.get(key) for key in ("apiVersion", "kind", "metadata"))
        if not isinstance(api, str) or not isinstance(kind, str):
            out.append(f"document {number}: no apiVersion or no kind")
            continue
        names = metadata if isinstance(metadata, dict) else {}
        name = names.get("name") or names.get("generateName")
        if not name:
            out.append(f"{kind}: metadata: no name")
        out += [f"{kind} {name}: {words}" for words in refused(document, api, kind)]
    return out
