"""Options that several commands share, and the settings that come of them."""

from __future__ import annotations

import os
from dataclasses import replace
from functools import partial, wraps
from typing import TYPE_CHECKING, Any, TypeVar

import click

from kcheck.config import Config, ConfigError, parse_nodes, parse_price, parse_variables
from kcheck.files import PathError, Tree

if TYPE_CHECKING:
    from collections.abc import Callable

    from kcheck.baseline import Baseline
    from kcheck.disk import Disk
    from kcheck.engine import Result
    from kcheck.findings import Finding
    from kcheck.gate import Gate

T = TypeVar("T")
_FLAGS = {"var_files": "var-file", "variables": "var", "env_vars": "env-vars", "helm_values": "helm-values"}
"""Settings whose flag has another name."""

var_files = click.option(
    "--var-file", "var_files", multiple=True, metavar="FILE", help="A tfvars file, as for Terraform."
)
variables = click.option("--var", "variables", multiple=True, metavar="NAME=VALUE", help="A variable of the roots.")
env_vars = click.option("--env-vars", is_flag=True, help="Also take variables from TF_VAR_* in the environment.")
own_rules = click.option("--rules", "folders", multiple=True, metavar="DIR", help="A folder with rules of your own.")
fail_on = click.option(
    "--fail-on", type=click.Choice(["error", "warning", "info", "never"]), default=None,
    help="The severity from which on the exit status is 1.  [default: warning]",
)  # fmt: skip
hook = click.option(
    "--hook", is_flag=True,
    help="For pre-commit: PATHs that are files are those of the commit; nothing is done unless one of them matters.",
)  # fmt: skip
_OPTIONS = (
    click.argument("paths", nargs=-1, metavar="PATH...", type=click.Path()),
    click.option("--nodes", multiple=True, metavar="[CLUSTER=]N", help="How many nodes the cluster is meant to reach."),
    var_files,
    variables,
    env_vars,
    click.option(
        "--render", type=click.Choice(["helm"]), default=None, help="Render charts with the helm that is installed."
    ),
    click.option("--helm-values", multiple=True, metavar="FILE", help="A file of values for the rendered charts."),
    click.option("--price", metavar="USD", help="What one node costs an hour, instead of list prices."),
    click.option("--exclude", multiple=True, metavar="PATH", help="A file, folder or pattern not to read."),
    click.option("--ignore", multiple=True, metavar="RULE", help="A rule or group of rules not to run."),
    own_rules,
    click.option("--config", "file", metavar="FILE", help="The settings; else the closest kcheck.yaml upwards."),
)


def with_config(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the shared options; it takes `paths` and `config` in their place.

    A command with `hook` is not run for a commit that is nothing to it.
    """

    @wraps(command)
    def wrapper(
        paths: tuple[str, ...], nodes: tuple[str, ...], var_files: tuple[str, ...], price: str | None,
        exclude: tuple[str, ...], ignore: tuple[str, ...], folders: tuple[str, ...], file: str | None,
        variables: tuple[str, ...], env_vars: bool, render: str | None, helm_values: tuple[str, ...],
        hook: bool = False, **rest: Any,
    ) -> None:  # fmt: skip
        from kcheck.disk import Disk

        flags = {
            "nodes": nodes, "var_files": var_files, "price": price, "exclude": exclude, "ignore": ignore,
            "rules": folders, "variables": variables, "env_vars": env_vars, "render": render,
            "helm_values": helm_values,
        }  # fmt: skip
        touched = [path for path in paths if not os.path.isdir(path)] if hook else []
        paths = tuple(path for path in paths if path not in touched)
        settings = partial(effective, paths, file, flags)
        config = guarded(lambda: settings(Disk()))
        if touched:
            from kcheck.relevance import matters

            if not guarded(lambda: matters(touched, paths, config, Disk())):
                return
        click.get_current_context().obj = settings
        command(paths=paths, config=config, **rest)

    for option in reversed(_OPTIONS):
        wrapper = option(wrapper)
    return wrapper


_GATE = (
    click.option(
        "--baseline/--no-baseline", "known", default=None, help="Leave out what `kcheck baseline` wrote down."
    ),
    click.option("--baseline-file", metavar="FILE", help="The baseline.  [default: kcheck-baseline.json]"),
    click.option("--diff-base", metavar="REF", help="Only what the changes since REF touch or cause."),
)


def with_gate(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command with `paths` and `config` the options of what is known; it takes `gate` in their place."""

    @wraps(command)
    def wrapper(
        paths: tuple[str, ...], config: Config, known: bool | None, baseline_file: str | None, diff_base: str | None,
        **rest: Any,
    ) -> None:  # fmt: skip
        baseline = guarded(lambda: _baseline(config, known, baseline_file))
        gate = guarded(lambda: _gate(paths, baseline, diff_base))
        command(paths=paths, config=config, gate=gate, **rest)

    for option in reversed(_GATE):
        wrapper = option(wrapper)
    return wrapper


def baseline_path(config: Config, file: str | None) -> str:
    """The file of what is known: of the flag, of the settings, or where it is by default."""
    from kcheck.baseline import NAME

    return file or config.baseline or NAME


def _baseline(config: Config, known: bool | None, file: str | None) -> Baseline | None:
    from kcheck import baseline, rules

    if known is False or not (known or file or config.baseline):
        return None
    return baseline.load(baseline_path(config, file), rules.firm(config))


def save_baseline(baseline: Baseline) -> None:
    """Write the file of what is known.

    Raises:
        click.UsageError: it cannot be written.
    """
    from kcheck.save import File, SaveError, save

    real = os.path.realpath(baseline.path)
    try:
        old = b""
        fresh = not os.path.exists(real)
        if not fresh:
            with open(real, "rb") as file:
                old = file.read()
        save([File(real, baseline.path, old, baseline.dump(), fresh)])
    except (OSError, SaveError) as error:
        raise click.UsageError(str(error)) from error


def _gate(paths: tuple[str, ...], baseline: Baseline | None, diff_base: str | None) -> Gate | None:
    if baseline is None and diff_base is None:
        return None
    from kcheck.gate import Gate
    from kcheck.git import Difference

    difference = None
    if diff_base is not None:
        first = paths[0] if paths else "."
        difference = Difference(first if os.path.isdir(first) else os.path.dirname(first) or ".", diff_base)
        if difference.note:
            click.echo(f"kcheck: {difference.note}", err=True)
    settings: Callable[[Disk], Config] = click.get_current_context().obj
    return Gate(paths, settings, baseline, difference)


def effective(paths: tuple[str, ...], file: str | None, flags: dict[str, Any], disk: Disk | None = None) -> Config:
    """The settings of the closest file, with what the flags say instead.

    Raises:
        ConfigError: the file or a flag makes no sense.
    """
    from kcheck import settings

    config = settings.load(paths, file, disk)
    given = {name: value for name, value in flags.items() if value}
    places = config.places | {name: f"--{_FLAGS.get(name, name)}" for name in given}
    nodes = parse_nodes(given.pop("nodes", ()))
    variables = parse_variables(given.pop("variables", ()))
    price = parse_price(given.pop("price", None))
    if "helm_values" in given and not given.get("render", config.render):
        raise ConfigError("--helm-values is for charts that are rendered; add --render helm")
    environments = config.environments
    if "" in nodes:
        environments = tuple(replace(environment, nodes=None) for environment in environments)
    if price is not None:
        environments = tuple(replace(environment, price=None) for environment in environments)
    return replace(
        config,
        nodes=config.nodes | nodes,
        variables=variables,
        price=config.price if price is None else price,
        environments=environments,
        places=places,
        **given,
    )


def rule_folders(given: tuple[str, ...]) -> tuple[str, ...]:
    """The folders with rules of the user's own: of the flag, else of the settings of this place."""
    from kcheck import settings

    return given or settings.load(()).rules


def guarded(action: Callable[[], T]) -> T:
    """Run an action; what the user got wrong becomes a usage error.

    Raises:
        click.UsageError: a path or a variable file does not exist, or the settings make no sense.
    """
    try:
        return action()
    except (PathError, ConfigError) as error:
        raise click.UsageError(str(error)) from error


def selected(names: tuple[str, ...], config: Config) -> None:
    """Refuse names of rules that do not exist.

    Raises:
        ConfigError: there is no such rule or group.
    """
    from kcheck import rules

    rules.chosen(replace(config, select=names))


def relevant(paths: tuple[str, ...], config: Config, gate: Gate) -> bool:
    """Whether the difference that a gate is about can matter at all."""
    from kcheck.disk import Disk
    from kcheck.files import shown
    from kcheck.relevance import matters

    if gate.difference is None:
        return True
    overlay = gate.difference.overlay
    changed = [shown(path) for path in overlay]
    return matters(changed, paths, config, Disk()) or matters(changed, paths, config, Disk(overlay))


def fails(finding: Finding, threshold: str) -> bool:
    """Whether a finding counts for the exit status."""
    from kcheck.findings import Severity

    return threshold != "never" and finding.severity >= Severity[threshold.upper()]


def tell_bugs(result: Result) -> None:
    """Say what failed in kcheck itself."""
    for bug in result.bugs:
        click.echo(f"kcheck: bug in {bug.rule or 'the model'} on {bug.object}: {bug.message}", err=True)
    if result.bugs:
        click.echo("Please send these lines to the project's issue tracker; the other rules ran.", err=True)


def tree(paths: tuple[str, ...], config: Config) -> Tree:
    """The files of the given paths, the working directory without any."""
    return Tree(list(paths), exclude=config.exclude)
