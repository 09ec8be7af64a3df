"""kcheck generate."""

import os
import sys
from collections.abc import Iterator, Mapping
from typing import NoReturn

import click

from kcheck.commands import fix, options, printing
from kcheck.config import effective
from kcheck.config.config import ConfigError
from kcheck.config.numbers.clouds import CLOUDS
from kcheck.generate import intent, intent_from_code, other_clouds, render
from kcheck.generate.assembly import ImpossibleError, Output, generate
from kcheck.generate.intent import Intent, in_folder, render_intent
from kcheck.generate.intent_from_code import Source
from kcheck.generate.other_clouds import Translated
from kcheck.generate.parts import PARTS, grown
from kcheck.generate.readme import place
from kcheck.report.limit import age_lines
from kcheck.text.files import save
from kcheck.text.files.boundary import contains_path
from kcheck.text.files.disk import Disk
from kcheck.text.files.save import File, SaveError
from kcheck.text.units import counted, some


def _clouds(_context: click.Context, _parameter: click.Parameter, value: str | None) -> tuple[str, ...]:
    """Parse a list of clouds. Raises click.BadParameter for another name."""
    names = tuple(filter(None, (value or "").split(",")))
    wrong = next((name for name in names if name not in CLOUDS), None)
    if wrong is not None:
        raise click.BadParameter(f"{wrong} is not a cloud; choose from {', '.join(CLOUDS)}")
    return names


@click.command("generate", cls=options.Command)
@click.argument("cloud", required=False, type=click.Choice(tuple(CLOUDS)))
@click.option("--nodes", type=click.IntRange(min=1), default=None, help="Training nodes at peak.")
@click.option("--intent", "file", metavar="FILE", default=None, help="Intent file; --show-intent prints one.")
@click.option(
    "--from", "sources", metavar="PATH", multiple=True, help="Derive the intent from existing code; may be repeated."
)
@click.option("--cluster", metavar="NAME", default="", help="The cluster of that code, if there are several.")
@options.var_files
@options.variables
@options.workspace
@options.env_vars
@options.module_dirs
@options.exclude
@options.outside
@click.option(
    "--cloud", "others", metavar="CLOUD,...", callback=_clouds, default=None,
    help="Generate the same cluster on each of these clouds, in a folder each, and compare them.",
)  # fmt: skip
@click.option("--teams", metavar="NAME,...", default="", help="Teams with a queue each; a small cluster has none.")
@click.option("--show-intent", is_flag=True, help="Print the complete intent; write no cluster.")
@click.option("-o", "--output", metavar="DIR", default=None, help="Output folder.  [default: the cluster's name]")
@click.option("--diff", is_flag=True, help="Print the changes as a diff; write nothing.")
@click.option("--overwrite", is_flag=True, help="Replace existing files that differ.")
def command(
    cloud: str | None, nodes: int | None, file: str | None, sources: tuple[str, ...], cluster: str,
    others: tuple[str, ...], teams: str, show_intent: bool, output: str | None, diff: bool, overwrite: bool,
    **reading: object,
) -> None:  # fmt: skip
    """Generate Terraform and manifests of a training cluster on CLOUD, with a README that explains each choice.

    With --from and no --output, edits the code itself. Asks the cloud nothing, and changes existing files only with
    --overwrite. Exits with 0, with 1 if kcheck check reports something in the result, with 2 if no configuration meets
    the intent.
    """
    wanted = [name for name in PARTS if reading.pop(name)]
    code = _source(sources, cluster, reading)
    own = code if not (output or others or show_intent) else None
    before = intent_from_code.generated(own) if own else None
    if own and before is None and not (cluster or file or teams or wanted):
        _edit(own, cloud, nodes, diff=diff, overwrite=overwrite)
    intent = _intent(cloud, nodes, file, code, (teams, wanted))
    for line in intent.assumed:
        printing.note(f"kcheck: assumed: {line}")
    if show_intent:
        printing.page(render_intent(intent))
        return
    folder = sources[0] if before is not None else output or intent.name
    intent = in_folder(intent, folder)
    if others:
        results, every = _on_clouds(intent, others)
        changed = _written(_files(every, folder), diff=diff, overwrite=overwrite)
        for one in results:
            _tell(one.intent, one.made, changed, os.path.join(folder, one.cloud), diff=diff)
        sys.exit(max(_status(one.made) for one in results))

    try:
        made = generate(intent)
    except ImpossibleError as error:
        printing.note(f"kcheck: {error}")
        sys.exit(2)
    changed = _written(_files(made.files, folder, before), diff=diff, overwrite=overwrite)
    _tell(intent, made, changed, folder, diff=diff)
    sys.exit(_status(made))


command.params += [click.Option([f"--{name}"], is_flag=True, help=f"Add {adds}.") for name, (adds, _) in PARTS.items()]


def _on_clouds(intent: Intent, clouds: tuple[str, ...]) -> tuple[list[Translated], dict[str, bytes]]:
    """Generate the cluster on each cloud that allows it; exit with 2 if none does."""
    results = other_clouds.on_clouds(intent, clouds)
    able = [one for one in results if isinstance(one, other_clouds.Translated)]
    for refused in results:
        if isinstance(refused, other_clouds.Refused):
            printing.note(f"kcheck: {refused.cloud}: {refused.why}")
    for one in able:
        for line in one.intent.assumed:
            if line not in intent.assumed:
                printing.note(f"kcheck: {one.cloud}: assumed: {line}")
    if not able:
        sys.exit(2)
    files = {f"{one.cloud}/{path}": data for one in able for path, data in one.made.files.items()}
    return able, files | {other_clouds.README: other_clouds.summary(intent, results).encode()}


def _edit(code: Source, cloud: str | None, nodes: int | None, *, diff: bool, overwrite: bool) -> NoReturn:
    """Edit the code itself, or print how; exit with what is left to decide."""
    fixes, why = intent_from_code.edited(code, cloud, nodes)
    if why:
        printing.note(f"kcheck: no manifests are added: {why}")
    _written(iter(fixes.files), diff=diff, overwrite=overwrite)
    status = fix.report(fixes, "warning", diff=diff)
    if status == 1 and not why:
        printing.note("kcheck: --output DIR writes a new cluster for this intent instead, which has none of that.")
    sys.exit(status)


def _written(files: Iterator[File], *, diff: bool, overwrite: bool) -> list[File]:
    """Write the files that differ, or print them as a diff, and return them."""
    try:
        changed = [one for one in files if one.old != one.new or one.fresh]
        if diff:
            printing.diffs(changed)
        else:
            _refuse_losses(changed, overwrite=overwrite)
            save.save(changed)
    except save.SaveError as error:
        printing.note(f"kcheck: {error}")
        sys.exit(2)
    return changed


def _source(paths: tuple[str, ...], cluster: str, reading: dict[str, object]) -> Source | None:
    """Return the code to derive the intent from; None without paths.

    Raises ConfigError if an option needs --from, or the settings are invalid.
    """
    if not paths:
        unused = [effective.flag(name) for name, value in {"cluster": cluster, **reading}.items() if value]
        if unused:
            raise ConfigError(f"{unused[0]} needs --from")
        return None
    return Source(paths, effective.effective_config(paths, None, reading), cluster)


def _intent(
    cloud: str | None, nodes: int | None, file: str | None, code: Source | None, more: tuple[str, list[str]]
) -> Intent:
    """Return the intent: from code, overridden by the file, then by flags.

    Raises ConfigError if no cloud is given, or the intent is invalid.
    """
    given: dict[str, object] = intent.load(file) if file else {}
    if nodes is not None:
        given["nodes"] = nodes
    if code:
        return intent_from_code.intent_of(code, cloud, given, *more)
    if cloud is None:
        raise ConfigError(f"no cloud given; use kcheck generate {'|'.join(CLOUDS)}")
    return intent.with_defaults(cloud, grown(given, *more, fresh=True))


def _files(made: dict[str, bytes], folder: str, before: Mapping[str, bytes] | None = None) -> Iterator[File]:
    """Yield new files with the present content of their places, and files to remove.

    Of a cluster that was generated `before`, only what another intent changes is written. Files that were generated
    then, are as they were, and belong to this one no more, are removed. Raises SaveError if a link leads out of the
    folder.
    """
    before = before or {}
    for path in sorted(made.keys() | before.keys()):
        data, target = made.get(path), os.path.join(folder, *path.split("/"))
        real = os.path.realpath(target)
        if not contains_path(folder, real):
            raise SaveError(f"nothing written: {target} is a link that leads out of {folder}")
        there = os.path.lexists(real)
        now = (Disk().read(real) or b"") if there else b""
        if data is None and there and now == before[path]:
            yield File(target, target, now, b"", gone=True)
        elif data is not None and data != before.get(path):
            yield File(target, target, now, data, fresh=not there)


def _refuse_losses(files: list[File], *, overwrite: bool) -> None:
    """Refuse to replace files without --overwrite. Raises SaveError if one exists."""
    there = [file.path for file in files if not file.fresh]
    if there and not overwrite:
        raise SaveError(
            f"nothing written: {some(there, 3)} would change; "
            "use --diff to see how, --overwrite to replace them, or --output DIR"
        )


def _leftover_files(made: dict[str, bytes], folder: str) -> list[str]:
    every = {path for cloud in CLOUDS for path, _ in render.names(cloud)}
    targets = (os.path.join(folder, *path.split("/")) for path in sorted(every - made.keys()))
    return [target for target in targets if os.path.lexists(target)]


def _tell(intent: Intent, made: Output, changed: list[File], folder: str, *, diff: bool) -> None:
    result = made.result
    verb = "would be written" if diff else "written"
    own = [one for one in changed if contains_path(folder, one.path)]
    files = counted(len(own), "file")
    where = f"{folder}: {files} {verb}, for {counted(intent.nodes, 'node')}" if own else f"{folder}: nothing to change"
    printing.note(f"kcheck: {where}; README.md says what to do first.")
    for path in sorted({*_leftover_files(made.files, folder)} - {one.path for one in changed}):
        printing.note(f"kcheck: {path}: not part of this cluster; remove it if an earlier run wrote it")
    for line in age_lines(result.world, result.findings, "prices", "versions", has_walls=False):
        printing.note(f"kcheck: {line}")
    options.tell_bugs(result)
    for finding in result.findings:
        where = f"{place(finding.span, made.top)}: {finding.severity.word} {finding.rule}"
        printing.note(f"{where}: {finding.message}")
    if result.findings:
        printing.note("kcheck: the intent causes this; kcheck explain RULE shows what to change in it.")


def _status(made: Output) -> int:
    fails = any(options.reaches_threshold(one, "warning") for one in made.result.findings)
    return options.bug_status(made.result) if made.result.bugs else int(fails)
