"""Command line: a group of all commands, each imported when it is used."""

import atexit
import codecs
import gc
import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import TYPE_CHECKING

import click

from kcheck import __version__

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

COMMANDS = {
    "check": "Report what breaks first and what is wasted.",
    "fix": "Fix what can be fixed.",
    "baseline": "Record today's findings, so that only new ones are reported.",
    "ignore": "Silence today's findings with comments that say why.",
    "watch": "Check again whenever a file is saved, and print what has changed.",
    "capacity": "Print the number of nodes at which each limit is hit, lowest first.",
    "show": "Print what kcheck read: the model, each value with its origin.",
    "eval": "Evaluate a Terraform expression in a root module.",
    "explain": "Explain a rule or a number, with sources and examples.",
    "limits": "List the numbers that kcheck uses, with source and date.",
    "config": "Print the effective settings, each with its origin.",
    "rules": "List the rules.",
    "simulate": "Simulate a job: how long it takes, what it costs, and which settings cost it.",
    "usage": "Report what a cluster did: GPU-hours, utilisation, money.",
    "fleet": "Check many repositories, and report which clusters break first.",
    "generate": "Generate a cluster for N nodes, each number with its reason.",
    "lsp": "Serve an editor over stdin and stdout: findings, fixes, values and their origins.",
    "export": "Export rules as policies for the API server of Kubernetes.",
    "init": "Propose settings, a hook and a CI job for a repository.",
}
_GROUPS = {
    "Check and fix": "check fix baseline ignore watch",
    "Plan and measure": "capacity simulate usage fleet generate",
    "Understand": "explain rules limits show eval config",
    "Set up": "init lsp export",
}
_OF_ADDONS = {
    "eval": "console", "export": "admission.command", "fleet": "fleet.command", "init": "setup.command",
    "lsp": "editor.lsp", "rules": "authoring.command", "usage": "usage.command", "watch": "editor.watch",
}  # fmt: skip
"""Modules of the commands that add-ons bring."""


@contextmanager
def _visible_mistakes() -> Iterator[None]:
    """Escape untrusted names and paths in usage errors."""
    try:
        yield
    except click.ClickException as mistake:
        from kcheck.commands import printing

        printing.show_mistake(mistake)
        raise


class _Commands(click.Group):
    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: object
    ) -> click.Context:
        with _visible_mistakes():
            return super().make_context(info_name, args, parent, **extra)

    def invoke(self, ctx: click.Context) -> object:
        with _visible_mistakes():
            return super().invoke(ctx)

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in COMMANDS:
            return None
        own = _OF_ADDONS.get(cmd_name)
        module = import_module(f"kcheck.addons.{own}" if own else f"kcheck.commands.{cmd_name}")
        command: click.Command = module.command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command; an unknown name is an error that suggests the nearest one."""
        name = args[0]
        if name in COMMANDS or name.startswith("-"):
            return super().resolve_command(ctx, args)
        from kcheck.config.config import nearest

        hint = f"did you mean kcheck check {name}?" if os.path.exists(name) else nearest(name, tuple(COMMANDS))
        raise click.UsageError(f"there is no command {name}; {hint}", ctx)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list["CompletionItem"]:
        from click.shell_completion import CompletionItem

        if incomplete.startswith("-"):
            return super().shell_complete(ctx, incomplete)
        return [CompletionItem(name, help=text) for name, text in COMMANDS.items() if name.startswith(incomplete)]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        for title, names in _GROUPS.items():
            with formatter.section(title):
                formatter.write_dl([(name, COMMANDS[name]) for name in names.split()])


def _set_colours(context: click.Context, _option: click.Parameter, when: str | None) -> None:
    if when is not None:
        context.color = {"always": True, "never": False}.get(when)


def color(*, hidden: bool) -> click.Option:
    """Return the option --color, which all commands have."""
    return click.Option(
        ["--color"], type=click.Choice(("auto", "always", "never")), callback=_set_colours, expose_value=False,
        is_eager=True, hidden=hidden, help="Colours; auto: on a terminal, unless NO_COLOR is set.  [default: auto]",
    )  # fmt: skip


_SETTINGS = {"help_option_names": ["-h", "--help"], "max_content_width": 120}


@click.group(cls=_Commands, params=[color(hidden=False)], context_settings=_SETTINGS)
@click.version_option(__version__, prog_name="kcheck")
def cli() -> None:
    """Report what breaks first when a Kubernetes training job scales to N nodes and what it wastes, and fix it.

    Reads Terraform and Kubernetes manifests together. Opens no network connection, except usage with --prometheus and
    fleet with --scheduler, and runs nothing, except helm with --render helm and git with --diff-base.
    """


def main() -> None:
    """Run kcheck. Exits with 0 clean, 1 findings, 2 wrong use, 3 a bug in kcheck."""
    gc.disable()  # nearly all that a run makes lives until its end: looking for cycles would take a third of the time
    atexit.register(gc.freeze)  # nor does Python look for them when it ends: a twentieth of checking one manifest
    _escape_unprintable_letters()
    try:
        cli(standalone_mode=False)
    except click.exceptions.Exit as stop:
        sys.exit(stop.exit_code)
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.ctx.get_help() if error.ctx else error.format_message())
        sys.exit(0)
    except (click.Abort, KeyboardInterrupt):
        sys.exit(130)
    except click.ClickException as error:
        error.show()
        sys.exit(2)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(0)
    except Exception as error:
        from kcheck.commands.printing import bug

        bug(error)
        sys.exit(3)


_ESCAPED = "kcheck.escaped"


def _escape_unprintable_letters() -> None:
    """Escape characters the output encoding cannot print."""
    codecs.register_error(_ESCAPED, _escaped)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=_ESCAPED)


def _escaped(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeEncodeError)  # noqa: S101 - nothing is decoded
    units = error.object[error.start : error.end].encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[i : i + 4]}" for i in range(0, len(units), 4)), error.end
