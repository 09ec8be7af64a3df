"""kcheck check."""

from __future__ import annotations

import os
import posixpath
import sys
from collections.abc import Collection
from contextlib import suppress
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from kcheck.commands import comparison_options, options, printing
from kcheck.commands.options import NOTHING
from kcheck.report.formats import FORMATS, Report
from kcheck.text import deadline
from kcheck.text.files.tree import display_path
from kcheck.text.findings import SAFETIES, Severity
from kcheck.text.units import counted

if TYPE_CHECKING:
    from kcheck.api import Project
    from kcheck.config.config import Config
    from kcheck.fix.gate.comparison import Comparison
    from kcheck.text.files.tree import Tree

_CHECKS = 20_000
"""Decided checks up to which the fixes are worked out to count them: about a second."""


@click.command("check", cls=options.HookCommand)
@options.with_config
@options.usage
@comparison_options.options
@click.option(
    "--format", "format_", type=click.Choice(FORMATS), default=None, metavar="FORMAT",
    help=f"Output format: {', '.join(FORMATS)}.  [default: text; github if GITHUB_ACTIONS is set]",
)  # fmt: skip
@click.option(
    "-o", "--output-file", "files", multiple=True, metavar="FORMAT=FILE",
    help="Also write a report to a file; may be repeated.",
)  # fmt: skip
@options.select
@click.option("--info", is_flag=True, help="Also show findings of severity info.")
@click.option(
    "--min-severity", type=click.Choice([one.word for one in reversed(Severity)]), default=None,
    help="Show findings at or above this severity.  [default: warning; info with --info]",
)  # fmt: skip
@click.option("--show-undecided", is_flag=True, help="List undecided checks with the inputs they need.")
@click.option("--quiet", "-q", is_flag=True, help="Print findings only.")
@options.fail_on
@click.option("--exit-zero", is_flag=True, help="Exit with 0 even if there are findings.")
@options.hook
def command(
    paths: tuple[str, ...], config: Config, comparison: Comparison | None, format_: str | None, files: tuple[str, ...],
    select: tuple[str, ...], info: bool, min_severity: str | None, show_undecided: bool, quiet: bool,
    fail_on: str | None, exit_zero: bool,
) -> None:  # fmt: skip
    """Check Terraform and manifests below PATH (default: the current folder) together.

    Exits with 0 if nothing is found, 1 on findings at or above --fail-on, 2 on wrong usage, 3 on a bug in kcheck or
    if --timeout ended the run.
    """
    from msgspec.structs import replace

    format_ = format_ or ("github" if os.environ.get("GITHUB_ACTIONS") == "true" else "text")
    outputs = [_output(text) for text in files]
    given, config = config, replace(config, select=select or config.select)
    tree = options.read_tree(paths, config)
    if format_ == "text" and not outputs and (reason := _unneeded(tree, paths, config, comparison)):
        if not quiet:
            printing.note(reason)
        return
    project, whole, result = comparison_options.results(paths, config, tree, comparison, quiet=quiet)
    least = Severity[min_severity.upper()] if min_severity else None
    report = Report(result, info, show_undecided, quiet, min_severity=least)
    project.config, project.checked = given, None if select else whole  # a fix must suit all rules
    report = _with_commands(report, format_, outputs, comparison, project)
    for name, path in outputs:
        _write(path, report.render(name))
    _print(report, format_, is_relevant=bool(whole.relevant or whole.findings))
    options.end_on_bugs(result, is_late=whole.is_late)
    threshold = fail_on or config.fail_on
    fails = any(options.reaches_threshold(finding, threshold) for finding in result.findings)
    if (fails or options.fails_undecided(whole, threshold)) and not exit_zero:
        sys.exit(1)


def _unneeded(tree: Tree, paths: tuple[str, ...], config: Config, comparison: Comparison | None) -> str:
    """Return why there is nothing to check; empty if there is something."""
    code = tree.folders or tree.plans or tree.units or tree.configurations
    if not (code or tree.manifests or tree.kustomizations or tree.charts or tree.skipped):
        return NOTHING
    relevant = comparison is None or comparison_options.change_is_relevant(paths, config, comparison)
    return "" if relevant else "kcheck: no relevant changes."


def _with_commands(
    report: Report, format_: str, outputs: list[tuple[str, str]], comparison: Comparison | None, project: Project
) -> Report:
    """Add the next command to text, the command line to HTML, before to comments."""
    names = {format_, *(name for name, _ in outputs)}
    if comparison is not None and names & {"markdown", "github"}:
        report = report._replace(before=comparison.before)
    is_text, is_html = format_ == "text" and not report.quiet, "html" in names
    context = click.get_current_context()
    if is_text:
        report = report._replace(next_step=next_step(context, report, comparison, project))
    if is_html:
        report = report._replace(command_line=command_line(context))
    return report


def _print(report: Report, format_: str, *, is_relevant: bool) -> None:
    from kcheck.report import text

    if format_ == "github":
        _summarize(report)
    if format_ in ("concise", "statistics"):
        printing.page(getattr(text, format_)(report))
    elif format_ != "text":
        printing.report(report.render(format_))
    elif is_relevant:
        printing.page(text.as_text(report, printing.screen()))
    if not is_relevant and not report.quiet:
        printing.note(NOTHING)
        for skipped in report.result.judged.skipped:
            printing.note(f"{skipped.what}: {text.skipped_text(skipped)}")


def _output(text: str) -> tuple[str, str]:
    """Parse FORMAT=FILE. Raises click.UsageError for a wrong one."""
    name, _, path = text.partition("=")
    if name not in FORMATS or not path:
        raise click.UsageError(f"--output-file {text}: expected FORMAT=FILE; formats are {', '.join(FORMATS)}")
    return name, path


def _write(path: str, text: str) -> None:
    from kcheck.text.files import save

    try:
        save.write(path, text.encode())
    except OSError as error:
        raise click.UsageError(f"{path}: {error.strerror}") from error


def _summarize(report: Report) -> None:
    """Append findings or gaps to the job summary of GitHub Actions."""
    path = os.environ.get("GITHUB_STEP_SUMMARY")
    if path and (report.findings or not report.result.judged.is_complete):
        from kcheck.report import forges

        try:
            with open(path, "a", encoding="utf-8", newline="") as file:  # other steps have written to it
                file.write(forges.summary(report))
        except OSError as error:  # the log has it all
            printing.note(f"kcheck: job summary not written: {path}: {error.strerror}")


# --- what to run next


def next_step(context: click.Context, report: Report, comparison: Comparison | None, project: Project) -> str:
    """Suggest a command after a check; empty if no findings are shown."""
    findings = report.findings
    if not findings or context.params.get("hook") or context.params["paths"] == ("-",):
        return ""
    steps = []
    if fixes := [finding.fix.safety for finding in findings if finding.fix is not None]:
        unsafe, found, info = {"unsafe"}.issuperset(fixes), None, report.least is Severity.INFO
        safeties = SAFETIES if unsafe else SAFETIES[:2]
        if report.result.decided <= _CHECKS:
            with suppress(deadline.DeadlineError):
                found = len(project.fix(safeties, context.params["select"], info=info, comparison=comparison).fixed)
        number = counted(found or sum(unsafe or one != "unsafe" for one in fixes), "fix", "fixes")
        shows = f"shows {number}" if found else f"tries {number}" if found is None else "says why no fix stands"
        flags = ["--unsafe-fixes", "--diff"] if unsafe else ["--diff"]
        flags += ["--info"] if info and not context.params.get("info") else []
        steps.append(f"{_suggested(context, 'fix', flags=flags)} {shows}")
    told = [finding for finding in findings if not finding.about] or findings  # a file itself says enough
    worst = max(told, key=lambda finding: finding.severity)
    steps.append(_suggested(context, "explain", worst.rule))
    return f"Next: {'; '.join(steps)}."


def _suggested(context: click.Context, name: str, *words: str, flags: Collection[str] = ()) -> str:
    """Format a follow-up command with the arguments that it accepts."""
    group = context.find_root().command
    command = group.get_command(context, name) if isinstance(group, click.Group) else None
    taken = {param.name for param in (command.params if command is not None else ())} - {"fail_on"}
    import shlex

    return f"`{shlex.join(['kcheck', name, *words, *_given(context, taken), *flags])}`"


_OUTPUT = {
    "format_", "files", "quiet", "fail_on", "exit_zero", "hook", "min_severity", "headers",
}  # fmt: skip
"""Options that change the output but not the findings, and those with secrets."""


def command_line(context: click.Context) -> str:
    """Return the command line that reproduces the findings, and the commit.

    Values of variables, which may be secrets, are masked, and absolute paths are shortened.
    """
    import shlex

    from kcheck.report.places import checked_out

    words = ["kcheck", context.info_name or ""]
    for word in _given(context, {param.name for param in context.command.params} - _OUTPUT):
        option, equals, value = word.partition("=")
        if words[-1] == "--var":
            words.append(f"{option}{equals}...")
        elif os.path.isabs(value or word):
            path = display_path(value or word)
            shown = f".../{posixpath.basename(path)}" if path.startswith("../") else path
            words.append(f"{option}={shown}" if value else shown)
        else:
            words.append(word)
    commit = checked_out(next(iter(context.params["paths"]), "."))
    return f"{shlex.join(words)}{commit and f' ({commit})'}"


def _given(context: click.Context, names: Collection[str | None]) -> list[str]:
    """Return the given command-line arguments that another command also takes."""
    words: list[str] = []
    for param in context.command.params:
        name = param.name or ""
        if name not in names or context.get_parameter_source(name) is not ParameterSource.COMMANDLINE:
            continue
        value = context.params[name]
        if isinstance(param, click.Argument):
            words += (f"./{path}" if path.startswith("-") else path for path in value)
        elif isinstance(value, bool):
            words.append((param.opts if value else param.secondary_opts)[0])
        else:
            for each in value if param.multiple else (value,):
                words += [param.opts[0], str(each)]
    return words
