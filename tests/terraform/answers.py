"""Ask Terraform about expressions: for the value and its type, or whether it refuses them."""

from __future__ import annotations

import json
import os
import re
import subprocess
from typing import TYPE_CHECKING, Any, TypedDict

if TYPE_CHECKING:
    from pathlib import Path

_AT_ONCE = 150  # a line of `terraform console` has at most 64 KiB


class Answer(TypedDict, total=False):
    """The answer to an expression; it has no value if Terraform refuses the expression or does not know the value."""

    expression: str
    value: Any
    type: Any
    refused: bool
    reason: str


def ask(terraform: str, module: str, expressions: list[str], folder: Path) -> list[Answer]:
    """Return Terraform's answers to expressions.

    `console` says which ones it accepts, a plan of outputs gives their values and types.
    """
    (folder / "main.tf").write_text(module)
    accepted: list[bool | None] = []
    for at in range(0, len(expressions), _AT_ONCE):
        accepted += _accepted(terraform, expressions[at : at + _AT_ONCE], folder)
    while True:
        outputs = [
            f'output "o{at}" {{\n  value     = [{expression}]\n  sensitive = true\n}}\n'
            for at, expression in enumerate(expressions)
            if accepted[at]
        ]
        (folder / "outputs.tf").write_text("".join(outputs))
        run = _run(terraform, folder, "plan", "-out", "plan", "-no-color")
        refused = {int(at) for at in re.findall(r'in output "o(\d+)"', run.stderr)}
        if not refused:  # the types of branches are checked more strictly before a plan than in the console
            break
        for at in refused:
            accepted[at] = None
    assert run.returncode == 0, run.stderr[-2000:]
    shown = _run(terraform, folder, "show", "-json", "plan").stdout
    planned = json.loads(shown, parse_float=str, parse_int=str)["planned_values"]["outputs"]
    result = []
    for at, expression in enumerate(expressions):
        answer = Answer(expression=expression, refused=accepted[at] is False)
        if accepted[at]:
            one = planned[f"o{at}"]
            answer["value"], answer["type"] = one["value"][0], one["type"][1][0]
        result.append(answer)
    return result


def _accepted(terraform: str, expressions: list[str], folder: Path) -> list[bool | None]:
    """Return whether Terraform accepts each expression; None where it does not know."""
    line = "jsonencode([" + ", ".join(f"can(jsonencode({e})) && can([{e}])" for e in expressions) + "])"
    run = _run(terraform, folder, "console", text=line)
    if run.returncode == 0 and run.stdout.startswith('"'):
        found: list[bool | None] = json.loads(json.loads(run.stdout))
        return found
    if len(expressions) == 1:
        return [False if run.returncode else None]
    middle = len(expressions) // 2
    return _accepted(terraform, expressions[:middle], folder) + _accepted(terraform, expressions[middle:], folder)


def _run(terraform: str, folder: Path, *arguments: str, text: str = "") -> subprocess.CompletedProcess[str]:
    variables = {**os.environ, "CHECKPOINT_DISABLE": "1"}
    return subprocess.run(
        [terraform, *arguments], input=text, capture_output=True, text=True, check=False, cwd=folder, env=variables
    )
