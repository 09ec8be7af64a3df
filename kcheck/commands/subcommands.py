"""Commands that take paths, and have subcommands."""

from __future__ import annotations

import click


class PathsOrSubcommand(click.Group):
    """A command that takes paths and has subcommands: a first word that is the name of one is no path."""

    allow_interspersed_args = True

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: object
    ) -> click.Context:
        """Read the command line, of the subcommand if one is named."""
        if args and args[0] in self.commands:
            return self.commands[args[0]].make_context(f"{info_name} {args[0]}", args[1:], parent, **extra)
        return super().make_context(info_name, args, parent, **extra)
