"""Commands to run after a check, and the command line of the check itself."""

from __future__ import annotations

import os
import posixpath
import shlex
from collections import Counter
from collections.abc import Collection

import click
from click.core import ParameterSource

from kcheck.report.formats import Report
from kcheck.text.files.tree import display_path
from kcheck.text.findings import Severity
from kcheck.text.units import counted


def next_step(context: click.Context, report: Report) -> str:
    """Suggest what to run after a check, with its paths and flags; empty if no findings are shown."""
    findings = report.findings
    if not findings or context.params.get("hook") or context.params["paths"] == ("-",):
        return ""

    steps = []
    fixes = Counter(finding.fix.safety for finding in findings if finding.fix is not None)
    unsafe = not fixes["safe"] + fixes["costs"]
    if fixes:
        number = counted(fixes["unsafe"] if unsafe else fixes["safe"] + fixes["costs"], "fix", "fixes")
        flags = ["--unsafe-fixes", "--diff"] if unsafe else ["--diff"]
        flags += ["--info"] if report.least is Severity.INFO and not context.params.get("info") else []
        steps.append(f"{_suggested(context, 'fix', flags=flags)} shows {number}")
    told = [finding for finding in findings if not finding.about] or findings  # a file itself says enough
    worst = max(told, key=lambda finding: finding.severity)
    steps.append(_suggested(context, "explain", worst.rule))
    return f"Next: {'; '.join(steps)}."


def _suggested(context: click.Context, name: str, *words: str, flags: Collection[str] = ()) -> str:
    """Format a command with the arguments given to this one that it takes; it is imported here."""
    group = context.find_root().command
    command = group.get_command(context, name) if isinstance(group, click.Group) else None
    taken = {param.name for param in (command.params if command is not None else ())} - {"fail_on"}
    return f"`{shlex.join(['kcheck', name, *words, *_given(context, taken), *flags])}`"


_OUTPUT = {
    "format_", "files", "quiet", "statistics", "fail_on", "exit_zero", "hook", "min_severity", "prune", "add_ignores",
}  # fmt: skip
"""Options that change the output but not the findings."""


def command_line(context: click.Context) -> str:
    """Return the command line that decides the findings, safe to share in a report.

    Values of variables, which may be secrets, are masked, and absolute paths are shortened.
    """
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
    return shlex.join(words)


def _given(context: click.Context, names: Collection[str | None]) -> list[str]:
    """Return the arguments given on the command line that another command takes too."""
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
