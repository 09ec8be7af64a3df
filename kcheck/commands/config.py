"""kcheck config."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from kcheck.commands import options, printing

if TYPE_CHECKING:
    from kcheck.config.config import Config, Environment, Usage


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
            printing.line(f"{line}  # {place}" if i == 0 else line)


def _settings(config: Config) -> dict[str, object]:
    return {
        "nodes": config.nodes.get("") if set(config.nodes) <= {""} else config.nodes,
        "price": None if config.price is None else config.price / 100,
        "workspace": config.workspace or None,
        "var_files": config.var_files,
        "module_dirs": config.module_dirs,
        "clusters": [_environment(environment) for environment in config.environments],
        "exclude": config.exclude,
        "select": config.select,
        "ignore": config.ignore,
        "per_path_ignores": config.per_path_ignores,
        "not_ignorable": config.not_ignorable,
        "severity": config.severity,
        "limits": config.limits,
        "mirrors": config.mirrors,
        "simulation": config.simulation,
        "usage": _usage(config.usage),
        "rules": config.rules,
        "suppressions": [
            {"rule": a.rule, "path": a.path, "reason": a.reason, "expires": a.expires and str(a.expires)}
            for a in config.accepted
        ],
        "baseline": config.baseline or None,
        "render": config.render or None,
        "helm_values": config.helm_values,
        "fail_on": config.fail_on,
    }


def _usage(usage: Usage) -> dict[str, object]:
    from msgspec import to_builtins

    table = to_builtins(usage)
    return {**table, "tiers": {tier.pop("name"): tier for tier in table["tiers"]}}


def _environment(environment: Environment) -> dict[str, object]:
    from msgspec.structs import asdict

    table = asdict(environment)
    table["price"] = None if environment.price is None else environment.price / 100
    return table


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
