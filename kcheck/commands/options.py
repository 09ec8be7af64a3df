"""Options that several commands share, and the settings that come of them.

Help and completion import this: what only a run needs is imported in the functions.
"""

from __future__ import annotations

import os
import sys
from functools import partial, wraps
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, TypeVar

import click

from kcheck.commands import printing
from kcheck.text import deadline
from kcheck.text.bundled import RULES
from kcheck.text.errors import Error
from kcheck.text.files import system
from kcheck.text.files.tree import Tree
from kcheck.text.findings import Severity

if TYPE_CHECKING:
    from collections.abc import Callable, Container

    from kcheck.config.config import Config
    from kcheck.engine.linter import Result
    from kcheck.text.findings import Finding

T = TypeVar("T")

NOTHING = "kcheck: nothing relevant here: no cluster in Terraform, no workload in a manifest."
THRESHOLDS = ("error", "warning", "info", "undecided", "never")
"""Values of --fail-on."""


class Failure(click.ClickException):
    """What went wrong outside of the command line: status 2, without the usage of the command."""

    exit_code = 2


def complete_rules(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:  # noqa: ARG001
    """Names of groups and rules, for the shell. The names of the files, as reading all rules takes a second."""
    groups = [name for name, _ in system.entries(RULES)]
    rules = (name for group in groups for name, _ in system.entries(os.path.join(RULES, group)))
    names = [*groups, *(os.path.splitext(rule)[0] for rule in rules)]
    return [name for name in names if name.startswith(incomplete)]


select = click.option(
    "--select", multiple=True, metavar="RULE", shell_complete=complete_rules,
    help="Run only this rule or group of rules; may be repeated.",
)  # fmt: skip
var_files = click.option(
    "--var-file", "var_files", multiple=True, metavar="FILE", help="Terraform variables file; may be repeated."
)
variables = click.option(
    "--var", "variables", multiple=True, metavar="NAME=VALUE", help="Terraform variable; may be repeated."
)
workspace = click.option("--workspace", default=None, metavar="NAME", help="Terraform workspace.")
env_vars = click.option("--env-vars", is_flag=True, help="Also read variables from TF_VAR_* in the environment.")
module_dirs = click.option(
    "--module-dir", "module_dirs", multiple=True, metavar="DIR",
    help="Folder with copies of modules that are not in the tree; may be repeated.",
)  # fmt: skip
outside = click.option(
    "--allow-outside", "outside", multiple=True, metavar="DIR",
    help="Folder outside the repository that may be read, too; may be repeated.",
)  # fmt: skip
exclude = click.option(
    "--exclude", multiple=True, metavar="PATH", help="File, folder or pattern to skip; may be repeated."
)
own_rules = click.option(
    "--rules", "folders", multiple=True, metavar="DIR", help="Folder with your own rules; may be repeated."
)
fail_on = click.option(
    "--fail-on", type=click.Choice(THRESHOLDS), default=None,
    help="Fail on findings at or above this severity; undecided: also on what was not checked.  [default: warning]",
)  # fmt: skip
hook = click.option(
    "--hook", is_flag=True,
    help="For pre-commit: PATHs that are files are those of the commit; do nothing unless one of them matters.",
)  # fmt: skip


def output_format(*formats: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """The option --format of a command, which takes it as `format_`; the first format is the default."""
    return click.option(
        "--format", "format_", type=click.Choice(formats), default=formats[0], show_default=True, help="Output format."
    )


class Command(click.Command):
    """A command for which a path that does not exist, and settings that make no sense, are wrong use."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run it; what the user got wrong becomes a usage error.

        Raises:
            click.UsageError: a file does not exist or cannot be written, or the settings make no sense.
        """
        try:
            return super().invoke(ctx)
        except Error as error:
            raise click.UsageError(str(error), ctx) from error


class Group(Command, click.Group):
    """Commands of that kind below one of them."""

    command_class = Command


class HookCommand(Command):
    """A command with --hook, to which pre-commit appends names of files."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the command line; names of files are no options."""
        options = [param for param in self.params if isinstance(param, click.Option)]
        valued = {name for option in options if not option.is_flag for name in option.opts}
        return super().parse_args(ctx, _with_files_last(args, valued))


def _with_files_last(arguments: list[str], valued: Container[str]) -> list[str]:
    """Put `--` before the first file that pre-commit passes, so that the name of a committed file is no option.

    pre-commit appends the files of a commit to the options of its configuration, and all of them are there. `valued`
    are the options that take the next word.
    """
    at = arguments.index("--hook") + 1 if "--hook" in arguments else len(arguments)
    while at < len(arguments) and arguments[at] != "--":
        word = arguments[at]
        if _is_there(word) if word.startswith("-") else not os.path.isdir(word):
            return [*arguments[:at], "--", *arguments[at:]]
        at += 2 if word in valued else 1
    return arguments


def _is_there(path: str) -> bool:
    return os.path.exists(path) or os.path.islink(path)


jobs = click.option(
    "--jobs", type=click.IntRange(1), default=None, envvar="KCHECK_JOBS", metavar="N",
    help="Number of processes that check.  [default: KCHECK_JOBS, else one per core for large trees]",
)  # fmt: skip
usage = click.option(
    "--usage", default=None, metavar="FILE", help="What the cluster was measured to use, by kcheck usage record."
)
cache = click.option("--no-cache", is_flag=True, expose_value=False, hidden=True)  # nothing is stored any more


def _seconds(_context: click.Context, _parameter: click.Parameter, value: float | None) -> float | None:
    """A time that a timer takes.

    Raises:
        click.BadParameter: it is none.
    """
    if value is not None and not 0.001 <= value <= 1_000_000:
        raise click.BadParameter("expected seconds from 0.001 to 1,000,000")
    return value


_TIMEOUT = click.option(
    "--timeout", type=float, callback=_seconds, metavar="SECONDS",
    help="Stop after this time, report what was found, and exit with 3.",
)  # fmt: skip
_OPTIONS = (
    click.argument("paths", nargs=-1, metavar="PATH...", type=click.Path()),
    click.option(
        "--nodes", multiple=True, metavar="[CLUSTER=]N", help="Target number of nodes, of all clusters or of one."
    ),
    var_files,
    variables,
    workspace,
    env_vars,
    module_dirs,
    click.option("--render", type=click.Choice(["helm"]), default=None, help="Render charts with the installed helm."),
    click.option(
        "--helm-values", multiple=True, metavar="FILE", help="Values file for rendered charts; may be repeated."
    ),
    click.option("--price", metavar="USD", help="Price of a node-hour, instead of list prices."),
    exclude,
    click.option(
        "--ignore",
        multiple=True,
        metavar="RULE",
        shell_complete=complete_rules,
        help="Skip this rule or group of rules; may be repeated.",
    ),
    own_rules,
    _TIMEOUT,
    click.option("--config", "file", metavar="FILE", help="Settings file.  [default: the closest kcheck.yaml upwards]"),
    outside,
)


def with_config(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the shared options; it takes `paths` and `config` in their place.

    A command with `hook` is not run for a commit that is nothing to it.
    """
    return _with_options(command, needs_config=True)


def with_flags(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command that ends when its user does the shared options, but for --timeout.

    It takes `paths`, and works out settings itself, of the run's `settings`.
    """
    return _with_options(command, needs_config=False)


def _with_options(command: Callable[..., None], *, needs_config: bool) -> Callable[..., None]:
    @wraps(command)
    def wrapper(
        paths: tuple[str, ...], nodes: tuple[str, ...], var_files: tuple[str, ...], price: str | None,
        exclude: tuple[str, ...], ignore: tuple[str, ...], folders: tuple[str, ...], file: str | None,
        variables: tuple[str, ...], workspace: str | None, env_vars: bool, render: str | None,
        helm_values: tuple[str, ...], module_dirs: tuple[str, ...], outside: tuple[str, ...],
        timeout: float | None = None, hook: bool = False, usage: str | None = None, **rest: object,
    ) -> None:  # fmt: skip
        from kcheck.config import effective

        flags = {
            "nodes": nodes, "var_files": var_files, "price": price, "exclude": exclude, "ignore": ignore,
            "rules": folders, "variables": variables, "env_vars": env_vars, "render": render,
            "helm_values": helm_values, "workspace": workspace, "module_dirs": module_dirs, "outside": outside,
            "usage": (usage,) if usage else (),
        }  # fmt: skip
        try:
            if timeout is not None:
                deadline.start(timeout)
            touched = {path for path in paths if hook and not os.path.isdir(path)}
            misplaced = next((word for word in sorted(touched) if word.startswith("-") and not _is_there(word)), None)
            if misplaced is not None:
                raise click.UsageError(f"{misplaced} is not a file; with --hook, options come before files")
            paths = tuple(path for path in paths if path not in touched)
            settings = partial(effective.effective_config, file=file, flags=flags)
            click.get_current_context().obj = Run(settings, _canonical(paths, file, flags))
            if not needs_config:
                command(paths=paths, **rest)
                return
            config = settings(paths)
            if touched:
                from kcheck.fix.gate.relevance import can_change_findings
                from kcheck.text.files.disk import Disk

                disk = Disk(boundary=config.boundary)
                if not can_change_findings(touched, paths, config, disk):
                    return
            command(paths=paths, config=config, **rest)
        except deadline.DeadlineError:
            end_late()
        finally:
            deadline.stop()

    for option in reversed(_OPTIONS):
        if needs_config or option is not _TIMEOUT:
            wrapper = option(wrapper)
    return wrapper


class Run(NamedTuple):
    """How a command was called: what makes the settings of some paths, and the arguments that decide what is found.

    `settings` takes the paths, and as `overlay` what stands in for some files.
    """

    settings: Callable[..., Config]
    arguments: tuple[str, ...]


def _canonical(paths: tuple[str, ...], file: str | None, flags: dict[str, Any]) -> tuple[str, ...]:
    """The paths and flags of a run, those aside that only choose rules."""
    from kcheck.config import effective

    chosen = [f"--config={file}"] if file else []
    for name, value in sorted(flags.items()):
        if value is True:
            chosen.append(effective.flag(name))
        elif value and name != "ignore":
            chosen += [f"{effective.flag(name)}={each}" for each in (value if isinstance(value, tuple) else (value,))]
    return (*sorted({os.path.normpath(path) for path in paths} or {"."}), *chosen)


def rule_folders(given: tuple[str, ...]) -> tuple[str, ...]:
    """The folders with rules of the user's own: of the flag, else of the settings of this place."""
    from kcheck.config import settings

    return given or settings.load(()).rules


def reaches_threshold(finding: Finding, threshold: str) -> bool:
    """Whether a finding counts for the exit status."""
    severity = "warning" if threshold == "undecided" else threshold
    return threshold != "never" and finding.severity >= Severity[severity.upper()]


def fails_undecided(result: Result, threshold: str) -> bool:
    """Whether the exit status is 1 for what could not be judged, read or decided."""
    return threshold == "undecided" and not result.judged.is_complete


def tell_bugs(result: Result) -> None:
    """Say what failed in kcheck itself, and which rules of the user's own did."""
    if not result.bugs:
        return
    from kcheck.engine.rule_checks import failed_at, located
    from kcheck.engine.rule_words import Mistake

    bugs = [bug for bug in result.bugs if bug.own is None]
    for bug in bugs:
        printing.note(f"kcheck: bug in {bug.rule or 'the model'} on {bug.object}: {bug.message}")
    if bugs:
        printing.note("Please report these lines in the project's issue tracker; all other rules ran.")
    told = set()
    for bug in result.bugs:
        if bug.own is not None and bug.rule not in told:
            told.add(bug.rule)
            message = f"rule {bug.rule} fails on {bug.object}: {bug.message}"
            printing.note(located(bug.own, [Mistake(failed_at(bug.own, bug.message), message)])[0])


def end_late() -> NoReturn:
    """Say that the time is over, and end with 3."""
    printing.note(f"kcheck: {deadline.reason()}.")
    sys.exit(3)


def bug_status(result: Result) -> int:
    """The exit status of a run with bugs: 3, or 2 where only rules of the user's own failed."""
    return 3 if any(bug.own is None for bug in result.bugs) else 2


def read_tree(paths: tuple[str, ...], config: Config) -> Tree:
    """The files of the given paths, the working directory without any."""
    return Tree(list(paths), None, config.exclude, config.boundary)


class PathsOrSubcommand(Group):
    """A command that takes paths and has subcommands: a first word that is the name of one is no path."""

    allow_interspersed_args = True

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: object
    ) -> click.Context:
        """Read the command line, of the subcommand if one is named."""
        if args and args[0] in self.commands:
            return self.commands[args[0]].make_context(f"{info_name} {args[0]}", args[1:], parent, **extra)
        return super().make_context(info_name, args, parent, **extra)
