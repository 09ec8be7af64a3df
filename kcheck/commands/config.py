"""kcheck config."""

import click

from kcheck.commands import options, printing
from kcheck.config.config import Config


@click.command("config", cls=options.Command)
@options.with_config
def command(paths: tuple[str, ...], config: Config) -> None:
    """Print the settings for PATH (default: the current folder): closest kcheck.yaml or [tool.kcheck], and flags.

    One setting per line, lists of tables item by item; the comment behind each says where it comes from.
    """
    from kcheck.engine import rules

    rules.selected(config)
    options.read_tree(paths, config)
    for name, value in _settings(config).items():
        place = config.places.get(name, "default")
        for i, line in enumerate(_lines(name, value)):
            printing.page(f"{line}  # {place}\n" if i == 0 else f"{line}\n")


_NAMES = (
    "nodes", "price", "workspace", "var_files", "module_dirs", "clusters", "exclude", "select", "ignore",
    "per_path_ignores", "not_ignorable", "severity", "limits", "mirrors", "simulation", "usage", "rules",
    "suppressions", "baseline", "render", "helm_values", "fail_on",
)  # fmt: skip


def _settings(config: Config) -> dict[str, object]:
    from msgspec import to_builtins

    usage = to_builtins(config.usage)
    special = {
        "nodes": config.nodes.get("") if set(config.nodes) <= {""} else config.nodes,
        "price": config.price and config.price / 100,
        "clusters": [{**to_builtins(one), "price": one.price and one.price / 100} for one in config.environments],
        "usage": {**usage, "tiers": {tier.pop("name"): tier for tier in usage["tiers"]}},
        "suppressions": [
            {"rule": a.rule, "path": a.path, "reason": a.reason, "expires": str(a.expires or "")}
            for a in config.accepted
        ],
    }
    found = {name: special[name] if name in special else getattr(config, name) for name in _NAMES}
    return {name: None if value == "" else value for name, value in found.items()}


def _lines(name: str, value: object) -> list[str]:
    """Format a setting as YAML: one line, or one line per item of a list."""
    import json

    def short(inner: object) -> str:
        if isinstance(inner, dict):
            return "{" + ", ".join(f"{key}: {short(item)}" for key, item in inner.items() if item or item == 0) + "}"
        if isinstance(inner, list | tuple):
            return "[" + ", ".join(map(short, inner)) + "]"
        if isinstance(inner, float) and inner == int(inner):
            return str(int(inner))
        return "null" if inner is None else json.dumps(inner, ensure_ascii=False)

    if isinstance(value, list) and value:
        return [f"{name}:", *(f"  - {short(item)}" for item in value)]
    return [f"{name}: {short(value)}"]
