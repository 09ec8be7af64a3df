"""Options that several commands share, and the settings built from them.

Help and completion import this, so functions import what only a run needs.
"""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from functools import partial, wraps
from typing import TYPE_CHECKING, NamedTuple, NoReturn

import click

from kcheck.commands import printing
from kcheck.commands.cli import color
from kcheck.text import deadline
from kcheck.text.bundled import PROFILES, RULES
from kcheck.text.errors import Error, FailedError
from kcheck.text.files import system
from kcheck.text.files.disk import Disk
from kcheck.text.files.tree import Tree
from kcheck.text.findings import Finding, Severity
from kcheck.text.regex import regex

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterator, Mapping

    from kcheck.config.config import Config, Written
    from kcheck.engine.linter import Result

NOTHING = "kcheck: nothing relevant here: no cluster in Terraform, no workload in a manifest."
THRESHOLDS = ("error", "warning", "info", "undecided", "never")
"""Values of --fail-on."""


_KEYS = regex(r"(?m)^((?:  )?)([\w-]+):")
"""Keys of a file of limits, and of the tables in it."""


class Failure(click.ClickException):
    """An error that is no usage error: exit status 2, without the usage."""

    exit_code = 2


def complete_rules(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:  # noqa: ARG001
    """Complete names of groups and rules from file names, for speed."""
    groups = [name for name, _ in system.entries(RULES)]
    rules = (name for group in groups for name, _ in system.entries(os.path.join(RULES, group)))
    names = [*groups, *(os.path.splitext(rule)[0] for rule in rules)]
    before, comma, begun = incomplete.rpartition(",")
    return [f"{before}{comma}{name}" for name in names if name.startswith(begun)]


def complete_limits(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:  # noqa: ARG001
    """Complete names of limits such as eks.pool.quota from profile files."""
    names = []
    for cloud, _ in system.entries(PROFILES):
        path, top = os.path.join(PROFILES, cloud, "limits.yaml"), ""
        for indent, key in _KEYS.findall(system.read(path).decode()) if os.path.isfile(path) else ():
            top = top if indent else key
            names += [f"{cloud}.{top}.{key}"] if indent else []
    return [name for name in names if name.startswith(incomplete)]


def complete_names(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Complete names of rules and limits."""
    return [*complete_rules(ctx, param, incomplete), *complete_limits(ctx, param, incomplete)]


def _split(_context: click.Context, _parameter: click.Parameter, values: tuple[str, ...]) -> tuple[str, ...]:
    """Split lists of names at commas."""
    return tuple(name.strip() for value in values for name in value.split(",") if name.strip())


def _names(flag: str, does: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return an option that takes lists of names of rules and groups."""
    return click.option(
        flag, multiple=True, metavar="RULE,...", shell_complete=complete_rules, callback=_split,
        help=f"{does} these rules or groups of rules; may be repeated.",
    )  # fmt: skip


select, _IGNORE = _names("--select", "Run only"), _names("--ignore", "Skip")
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
    """Return the option --format, passed as `format_`."""
    return click.option(
        "--format", "format_", type=click.Choice(formats), default=formats[0], show_default=True, help="Output format."
    )


class Command(click.Command):
    """Command that reports kcheck's own errors as usage errors."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options in groups: the command's own first."""
        found: dict[str, list[tuple[str, str]]] = {}
        for param in self.get_params(ctx):
            if isinstance(param, click.Option) and (record := param.get_help_record(ctx)) is not None:
                title = next((title for title, names in _GROUPS.items() if param.name in names), "Options")
                found.setdefault(title, []).append(record)
        for title in ("Options", *_GROUPS):
            if title in found:
                with formatter.section(title):
                    formatter.write_dl(found[title])
        if isinstance(self, click.Group):
            self.format_commands(ctx, formatter)

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Return the parameters without --color, which only the help of `kcheck` lists."""
        return [*super().get_params(ctx), color(hidden=True)]

    def invoke(self, ctx: click.Context) -> object:
        """Run the command, with user mistakes as usage errors.

        Raises click.UsageError if a file does not exist or cannot be written, or the settings are invalid; Failure for
        what the usage of the command does not help.
        """
        try:
            return super().invoke(ctx)
        except FailedError as error:
            raise Failure(str(error)) from error
        except Error as error:
            raise click.UsageError(str(error), ctx) from error


class Group(Command, click.Group):
    """Group of commands of class `Command`."""

    command_class = Command


class HookCommand(Command):
    """Command with --hook, to which pre-commit appends file names."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the command line; file names after --hook are never options."""
        options = [param for param in self.params if isinstance(param, click.Option)]
        valued = {name for option in options if not option.is_flag for name in option.opts}
        return super().parse_args(ctx, _with_files_last(args, valued))


def _with_files_last(arguments: list[str], valued: Container[str]) -> list[str]:
    """Insert `--` before the first file that pre-commit passes.

    pre-commit appends the files of a commit, which all exist, to the options of its configuration. `valued` are the
    options that take the next word.
    """
    at = arguments.index("--hook") + 1 if "--hook" in arguments else len(arguments)
    while at < len(arguments) and arguments[at] != "--":
        word = arguments[at]
        if os.path.lexists(word) if word.startswith("-") else not os.path.isdir(word):
            return [*arguments[:at], "--", *arguments[at:]]
        at += 2 if word in valued else 1
    return arguments


usage = click.option(
    "--usage", default=None, metavar="FILE", help="What the cluster was measured to use, by kcheck usage record."
)


def _seconds(_context: click.Context, _parameter: click.Parameter, value: float | None) -> float | None:
    """Check that a timeout is within what timers accept.

    Raises click.BadParameter if it is not from 0.001 to 1,000,000 seconds.
    """
    if value is not None and not 0.001 <= value <= 1_000_000:
        raise click.BadParameter("expected seconds from 0.001 to 1,000,000")
    return value


_TIMEOUT = click.option(
    "--timeout", type=float, callback=_seconds, metavar="SECONDS",
    help="Stop after this time, report what was found, and exit with 3.",
)  # fmt: skip
_OPTIONS = (
    click.argument("paths", nargs=-1, metavar="[PATH]...", type=click.Path()),
    click.option(
        "--nodes", multiple=True, metavar="[CLUSTER=]N", help="Target number of nodes, of all clusters or of one."
    ),
    var_files, variables, workspace, env_vars, module_dirs,
    click.option("--render", type=click.Choice(["helm"]), default=None, help="Render charts with the installed helm."),
    click.option(
        "--helm-values", multiple=True, metavar="FILE", help="Values file for rendered charts; may be repeated."
    ),
    click.option("--price", metavar="USD", help="Price of a node-hour, instead of list prices."), exclude,
    _IGNORE, own_rules, _TIMEOUT,
    click.option("--config", "file", metavar="FILE", help="Settings file.  [default: the closest kcheck.yaml upwards]"),
    outside,
)  # fmt: skip
_SETTINGS = (
    "nodes", "var_files", "price", "exclude", "ignore", "variables", "env_vars", "render", "helm_values", "workspace",
    "module_dirs", "outside",
)  # fmt: skip
"""Those of these options that are settings, by their names."""
_GROUPS = {
    "What is read": {*_SETTINGS, "folders", "file", "timeout", "usage"},
    "What is known": {"known", "baseline_file", "diff_base"},
}  # fmt: skip


def with_config(command: Callable[..., None]) -> Callable[..., None]:
    """Add the shared options to a command; it receives `paths` and `config`.

    A command with `hook` does not run for a commit that cannot change its findings.
    """
    return _with_options(command, needs_config=True)


def with_flags(command: Callable[..., None]) -> Callable[..., None]:
    """Add the shared options, without --timeout, to a long-running command.

    It takes `paths`, and builds settings itself with the run's `settings`.
    """
    return _with_options(command, needs_config=False)


def _effective(
    paths: tuple[str, ...], file: str | None, flags: Written, overlay: Mapping[str, bytes | None] | None = None
) -> Config:
    """Return the settings of a run. Raises ConfigError with all mistakes in them."""
    from kcheck.config.config import ConfigError
    from kcheck.config.effective import effective_config

    try:
        return effective_config(paths, file, flags, overlay)
    except ConfigError as error:
        if error.rest is not None:
            from kcheck.engine import rules

            try:
                rules.selected(error.rest)
            except ConfigError as names:
                raise ConfigError(*error.lines, *names.lines) from error
        raise


@contextmanager
def _time_limit(seconds: float | None) -> Iterator[None]:
    """End the run with exit status 3 when its time limit is reached."""
    try:
        if seconds is not None:
            deadline.start(seconds)
        yield
    except deadline.DeadlineError:
        end_late()
    finally:
        deadline.stop()


def _with_options(command: Callable[..., None], *, needs_config: bool) -> Callable[..., None]:
    @wraps(command)
    def wrapper(
        paths: tuple[str, ...], folders: tuple[str, ...], file: str | None, timeout: float | None = None,
        hook: bool = False, usage: str | None = None, **rest: object,
    ) -> None:  # fmt: skip
        flags = {"rules": folders, "usage": (usage,) if usage else (), **{name: rest.pop(name) for name in _SETTINGS}}
        with _time_limit(timeout):
            touched = _touched(paths) if hook else set()
            paths = tuple(path for path in paths if path not in touched)
            settings = partial(_effective, file=file, flags=flags)
            run = click.get_current_context().obj = Run(settings, _canonical(paths, file, flags))
            if not needs_config:
                command(paths=paths, **rest)
                return
            config = settings(paths)
            if touched:
                from kcheck.fix.gate.relevance import changing_files

                changed = tuple(changing_files(touched, paths, config, Disk(boundary=config.boundary)))
                if not changed:
                    return
                click.get_current_context().obj = run._replace(changed=changed)
            command(paths=paths, config=config, **rest)

    for option in reversed(_OPTIONS):
        if needs_config or option is not _TIMEOUT:
            wrapper = option(wrapper)
    return wrapper


def _touched(paths: tuple[str, ...]) -> set[str]:
    """Return the files of a commit. Raises click.UsageError if one is an option."""
    touched = {path for path in paths if not os.path.isdir(path)}
    for word in sorted(touched):
        if word.startswith("-") and not os.path.lexists(word):
            raise click.UsageError(f"{word} is not a file; with --hook, options come before files")
    return touched


class Run(NamedTuple):
    """A call of a command: its settings, and the arguments that decide findings.

    `settings` takes the paths, and an `overlay` that replaces some files. `changed` are the files of a commit.
    """

    settings: Callable[..., Config]
    arguments: tuple[str, ...]
    changed: tuple[str, ...] = ()


def _canonical(paths: tuple[str, ...], file: str | None, flags: Mapping[str, object]) -> tuple[str, ...]:
    """Normalize the paths and flags of a run, without --ignore."""
    from kcheck.config import effective

    chosen = [f"--config={file}"] if file else []
    for name, value in sorted(flags.items()):
        if value is True:
            chosen.append(effective.flag(name))
        elif value and name != "ignore":
            chosen += [f"{effective.flag(name)}={each}" for each in (value if isinstance(value, tuple) else (value,))]
    return (*sorted({os.path.normpath(path) for path in paths} or {"."}), *chosen)


def rule_folders(given: tuple[str, ...]) -> tuple[str, ...]:
    """Return the user's rule folders: from the flag, else from the settings."""
    from kcheck.config import settings

    return given or settings.load(()).rules


def reaches_threshold(finding: Finding, threshold: str) -> bool:
    """Whether a finding makes the exit status 1."""
    severity = "warning" if threshold == "undecided" else threshold
    return threshold != "never" and finding.severity >= Severity[severity.upper()]


def fails_undecided(result: Result, threshold: str) -> bool:
    """Whether the exit status is 1 because something was not judged, read or decided."""
    return threshold == "undecided" and not result.judged.is_complete


def tell_bugs(result: Result) -> None:
    """Print former names of rules, bugs in kcheck, and failures of custom rules."""
    tell_renamed(result.renamed)
    if not result.bugs:
        return
    from kcheck.engine.rule_words import Mistake, failed_at, located

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
            printing.note(located(bug.own, [Mistake(message, *failed_at(bug.own, bug.message))])[0])


def tell_renamed(names: Mapping[str, str]) -> None:
    """Print the current names of renamed rules."""
    for old, now in names.items():
        printing.note(f"kcheck: rule {old} is `{now}` now")


def end_on_bugs(result: Result, *, is_late: bool = False) -> None:
    """Print bugs; exit if there are any, or if the time limit was reached."""
    tell_bugs(result)
    if is_late:
        end_late()
    if result.bugs:
        sys.exit(bug_status(result))


def end_late() -> NoReturn:
    """Print that the time limit was reached, and exit with 3."""
    printing.note(f"kcheck: {deadline.reason()}.")
    sys.exit(3)


def bug_status(result: Result) -> int:
    """Return the exit status for bugs: 3, or 2 if only custom rules failed."""
    return 3 if any(bug.own is None for bug in result.bugs) else 2


def read_tree(paths: tuple[str, ...], config: Config) -> Tree:
    """Return the tree of the paths; - is a manifest on stdin."""
    overlay = {os.path.realpath("-"): system.standard_input()} if paths == ("-",) else None
    return Tree(list(paths), overlay, config.exclude, config.boundary)


class PathsOrSubcommand(Group):
    """Command that takes paths or a subcommand."""

    allow_interspersed_args = True

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: object
    ) -> click.Context:
        """Parse the command line, of the subcommand if one is named."""
        if args and args[0] in self.commands:
            return self.commands[args[0]].make_context(f"{info_name} {args[0]}", args[1:], parent, **extra)
        return super().make_context(info_name, args, parent, **extra)
