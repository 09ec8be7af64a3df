"""The intent as a file with all fields and their meaning."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kcheck.config import schemas
from kcheck.generate import recommended, render

if TYPE_CHECKING:
    from kcheck.generate.intent import Intent

TEMPLATE = "any/templates/intent.yaml.j2"


def render_intent(intent: Intent) -> str:
    """An intent file that says the same as an intent."""
    return render.text(TEMPLATE, context(intent))


def context(intent: Intent) -> dict[str, object]:
    """The template values."""
    use = {"intent": {name.partition(".")[2]: value for name, value in recommended.values(intent.cloud).items()}}
    return {"intent": intent, "use": use, "about": meanings()}


def meanings() -> dict[str, str]:
    """The meaning of every field from the schema."""
    return dict(_about(schemas.load("intent")))


def _about(schema: dict[str, Any], prefix: str = "") -> list[tuple[str, str]]:
    found = []
    for name, field in schema["properties"].items():
        found.append((f"{prefix}{name}", field["description"]))
        found += _about(field, f"{name}.") if "properties" in field else []
    return found
