"""Says what an API server would refuse of YAML: core kinds by kubernetes-validate, others by tests/schemas/crds."""

from __future__ import annotations

import json
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any

import jsonschema
import kubernetes_validate
import yaml
from referencing import Registry, Resource

from tests.places import TESTS

if TYPE_CHECKING:
    from pathlib import Path

SCHEMAS = TESTS / "schemas" / "crds"
KUBERNETES = "1.34"


@cache
def definitions() -> Registry[Any]:
    """The core kinds' types, which the schemas of other kinds refer to."""
    path = f"kubernetes-json-schema/v{KUBERNETES}.0-local-strict/_definitions.json"
    text = resources.files("kubernetes_validate").joinpath(path).read_text(encoding="utf-8")
    return Resource.from_contents(json.loads(text)) @ Registry()


@cache
def validators(folder: Path = SCHEMAS) -> dict[tuple[str, str], jsonschema.Draft202012Validator]:
    """A validator for every kind that has a schema, by apiVersion and kind."""
    out = {}
    for path in sorted(folder.glob("*.json")):
        file = json.loads(path.read_text(encoding="utf-8"))
        for name, schema in file["kinds"].items():
            api, kind = name.split()
            whole = {"$defs": file.get("$defs", {}), **schema}
            out[api, kind] = jsonschema.Draft202012Validator(whole, registry=definitions())
    return out


def refused(document: dict[str, Any], api: str, kind: str) -> list[str]:
    """What is wrong with a document of a kind, each with its place."""
    if validator := validators().get((api, kind)):
        found = list(validator.iter_errors(document))
    else:
        try:
            kubernetes_validate.validate(document, KUBERNETES, strict=True)
        except kubernetes_validate.ValidationError as error:
            found = [error]
        except kubernetes_validate.SchemaNotFoundError:
            return [f"no schema of {api} {kind}"]
        else:
            return []
    return sorted(
        f"{'.'.join(str(part) for part in error.absolute_path) or 'document'}: {error.message}" for error in found
    )


def problems(text: str) -> list[str]:
    """What is wrong with every document of a YAML text; empty documents are nothing."""
    out = []
    for number, document in enumerate(yaml.safe_load_all(text), 1):
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
