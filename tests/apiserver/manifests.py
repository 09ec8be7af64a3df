"""Find the objects in YAML that can be sent to an API server."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING

import yaml

from kcheck.text import bundled

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.apiserver.client import Answer, Client, Object

SETTINGS = ("kubeadm.k8s.io", "config.k8s.io", "config.kueue.x-k8s.io", "eksctl.io")
"""Ends of API groups whose kinds are no objects of a server: programs read them from files."""
LABELS = {"app": "example"}
CONTAINER = {"name": "main", "image": "registry.example.com/image:1"}
MOST_REPAIRS = 10


def objects(text: str) -> Iterator[Object]:
    """Yield the objects in a text; none if it is not YAML, or a template."""
    if "{{" in text:
        return
    try:
        documents = list(yaml.load_all(text, bundled.loader()))
    except yaml.YAMLError:
        return
    for one in documents:
        if isinstance(one, dict) and isinstance(one.get("apiVersion"), str) and isinstance(one.get("kind"), str):
            group = one["apiVersion"].rpartition("/")[0]
            if not group.endswith(SETTINGS):
                yield one


def completed(client: Client, thing: Object) -> tuple[Object, Answer]:
    """Return an object with the required fields that examples omit, and the server's response to it."""
    answer = client.create(thing, dry_run=True)
    for _ in range(MOST_REPAIRS):
        repaired = copy.deepcopy(thing)
        if answer.taken or not any(_repaired(repaired, field) for _, field in answer.causes):
            break
        thing = repaired
        answer = client.create(thing, dry_run=True)
    return thing, answer


def _repaired(thing: Object, field: str) -> bool:
    """Return whether a field that the server requires, or one that belongs to it, was added."""
    spec = thing.setdefault("spec", {})
    template = spec.setdefault("template", {})
    pod = template.setdefault("spec", {})
    labels = template.setdefault("metadata", {}).get("labels")
    match field:
        case "spec.selector" | "spec.template.metadata.labels" if "selector" not in spec or not labels:
            selector = spec.setdefault("selector", {"matchLabels": labels or LABELS})
            template["metadata"]["labels"] = labels or selector["matchLabels"]
        case "spec.template.spec.restartPolicy" if "restartPolicy" not in pod:
            pod["restartPolicy"] = "Never"
        case "spec.template.spec.containers" if not pod.get("containers"):
            pod["containers"] = [CONTAINER]
        case "spec.disruption.consolidateAfter" if "consolidateAfter" not in spec.get("disruption", {}):
            spec.setdefault("disruption", {})["consolidateAfter"] = "30s"
        case _:
            return False
    return True
