"""kcheck init."""

import os
import shlex
import sys
from collections import Counter
from collections.abc import Iterable
from contextlib import chdir

import click

from kcheck.addons.setup import proposal
from kcheck.addons.setup.proposal import Proposal
from kcheck.commands import options, printing
from kcheck.text.files import save
from kcheck.text.units import counted


@click.command("init", cls=options.Command)
@click.argument("path", default=".", type=click.Path())
@click.option("--write", is_flag=True, help="Write the files, all or none; without it, nothing is written.")
@click.option(
    "--ci", type=click.Choice(["github", "gitlab", "none"]), default=None,
    help="CI system of the repository.  [default: by .github, .gitlab-ci.yml or the remote]",
)  # fmt: skip
def command(path: str, write: bool, ci: str | None) -> None:
    """Print how to turn kcheck on in the repository at PATH (default: the current folder), as a diff for `git apply`.

    Proposes a kcheck.yaml with the clusters found, the hook in .pre-commit-config.yaml and a CI job; existing content
    is kept. Exits with 0, or with 2 if files cannot be written.
    """
    printing.note(f"kcheck: reading {path}")

    systems = None if ci is None else () if ci == "none" else (ci,)
    found = proposal.propose(path, systems)
    if found.result is None:
        printing.note(options.NOTHING)
        return
    try:
        if write:
            save.save(found.files)
        else:
            with chdir(found.base):
                printing.diffs(found.files)
    except save.SaveError as error:
        printing.note(f"kcheck: {error}")
        sys.exit(2)
    for line in _summary(found, write=write):
        printing.note(line)
    options.end_on_bugs(found.result)


def _summary(found: Proposal, *, write: bool) -> Iterable[str]:
    yield from found.notes
    if found.files and os.path.realpath(found.base) != os.path.realpath("."):
        yield f"Paths are relative to {found.base}; run `git apply` there."
    if not found.files:
        yield "Nothing to do: kcheck is set up here."
    count = Counter(finding.severity.word for finding in found.result.findings) if found.result else Counter[str]()
    words = [counted(count[word], word) for word in ("error", "warning") if count[word]]
    if words:
        yield f"With these settings, `kcheck check` reports {' and '.join(words)}."
    where = "" if os.path.realpath(found.folder) == os.path.realpath(".") else f" {shlex.quote(found.folder)}"
    steps = []
    if found.files and not write:
        steps.append(f"`kcheck init{where} --write` writes these files")
    steps.append(f"`kcheck check{where}` shows the findings")
    if words and not found.has_baseline:
        steps.append(f"`kcheck baseline{where}` records them, so that only new ones fail")
    if any(file.path.endswith(".pre-commit-config.yaml") for file in found.files):
        steps.append("`pre-commit install` enables the hook")
    yield f"Next: {'; '.join(steps)}."
