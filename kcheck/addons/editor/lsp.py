"""kcheck lsp."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from kcheck.commands import options
from kcheck.report import page

if TYPE_CHECKING:
    from kcheck.addons.editor.checker import Settings

_MISSING = f"the language server needs its libraries: {page.install('lsp')}"


@click.command("lsp", cls=options.Command)
@options.with_flags
def command(paths: tuple[str, ...]) -> None:
    """Serve an editor that speaks the Language Server Protocol, over stdin and stdout.

    The editor starts this command and names the folders; the options are those of `kcheck check`. Needs the extra lsp.
    Ends when the editor does.
    """
    if paths:
        raise click.UsageError("the editor names the folders; leave out PATH")
    try:
        from kcheck.addons.editor import requests
    except ModuleNotFoundError as error:
        raise click.UsageError(_MISSING) from error
    run: options.Run = click.get_current_context().obj

    def settings(folder: str) -> Settings:
        return lambda overlay: run.settings((folder,), overlay=overlay)

    requests.make(settings).start_io()
