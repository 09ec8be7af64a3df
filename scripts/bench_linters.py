"""What other linters report about the trees of tests/cases/walls: `scripts/bench --linters` prints it.

Each linter on PATH runs with its default policies on a copy of each tree without walls.yaml. A message is a candidate
if it names the number of nodes of the first limit or an input that decides it, or if it speaks of a shortage of
something that limits nodes. Candidates are printed in full: a person judges which of them are true.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import tempfile
from collections import Counter
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from click.testing import CliRunner
from walls_by_hand import TREES, by_hand, is_first_limit_right, name

import kcheck
from kcheck.commands.cli import cli

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SECONDS = 120
_THING = re.compile(
    r"(?i)subnet|address|cidr|ip.?range|pod.?range|\bnat\b|\bports?\b|\bpull|rate.?limit|\bnodes?\b|node.?pool|route|"
    r"interface|autoscal|max_?(size|count)|replica|docker.?hub"
)
_SHORT = re.compile(
    r"(?i)run(s|ning)? out|exhaust|too (small|few|low)|not enough|insufficient|limit|quota|capacity|exceed|\bfull\b|"
    r"maxim|at most"
)


class Linter(NamedTuple):
    """The command of a linter, how its version is asked for, and how its JSON is read."""

    command: list[str]
    version: list[str]
    messages: Callable[[Any], Iterator[str]]
    manifests: bool = False


def of_checkov(report: Any) -> Iterator[str]:
    """Read checkov's failed checks."""
    for run in report if isinstance(report, list) else [report]:
        for one in run.get("results", {}).get("failed_checks", ()):
            yield f"{one['check_id']} {one['check_name']}: {one['resource']}"


def of_trivy(report: Any) -> Iterator[str]:
    """Read trivy's misconfigurations."""
    for result in report.get("Results", ()):
        for one in result.get("Misconfigurations", ()):
            yield f"{one['ID']} {one['Title']}: {one['Message']} {one['Description']}"


def of_tflint(report: Any) -> Iterator[str]:
    """Read tflint's issues."""
    return (f"{one['rule']['name']} {one['message']}" for one in report["issues"])


def of_kube_linter(report: Any) -> Iterator[str]:
    """Read kube-linter's reports."""
    for one in report["Reports"] or ():
        yield f"{one['Check']} {one['Diagnostic']['Message']} {one['Remediation']}"


def of_kube_score(report: Any) -> Iterator[str]:
    """Read kube-score's comments on checks that are not passed."""
    for checked in report or ():
        for check in checked["checks"] or ():
            if not check["skipped"] and check["grade"] < 10:
                for one in check["comments"] or ({"summary": "", "description": ""},):
                    yield f"{check['check']['id']} {one['summary']} {one['description']}".rstrip()


def of_conftest(report: Any) -> Iterator[str]:
    """Read conftest's failures and warnings."""
    for file in report:
        yield from (one["msg"] for kind in ("failures", "warnings") for one in file.get(kind) or ())


_TRIVY = ["config", "--quiet", "--skip-check-update", "--skip-version-check", "--format", "json", "."]
LINTERS = {
    "checkov": Linter(["-d", ".", "--quiet", "--compact", "--skip-download", "-o", "json"], ["--version"], of_checkov),
    "trivy": Linter(_TRIVY, ["--version"], of_trivy),
    "tflint": Linter(["--recursive", "--format", "json"], ["--version"], of_tflint),
    "kube-linter": Linter(["lint", ".", "--format", "json"], ["version"], of_kube_linter),
    "kube-score": Linter(["score", "--output-format", "json"], ["version"], of_kube_score, manifests=True),
    "conftest": Linter(["test", "--output", "json", "."], ["--version"], of_conftest),
}


def run(linter: str, tree: Path) -> list[str] | None:
    """Run a linter on a tree and return its messages; None if it fails or prints no JSON."""
    how = LINTERS[linter]
    with tempfile.TemporaryDirectory() as scratch:
        folder = shutil.copytree(tree, Path(scratch, "tree"), ignore=shutil.ignore_patterns("walls.yaml"))
        files = [str(file) for file in sorted(folder.rglob("*.y*ml")) if "\nkind:" in f"\n{file.read_text()}"]
        if how.manifests and not files:
            return []
        command = [linter, *how.command, *(files if how.manifests else ())]
        ask = partial(subprocess.run, cwd=folder, capture_output=True, text=True, timeout=SECONDS, check=False)
        try:
            return list(how.messages(json.loads(ask(command).stdout)))
        except (subprocess.TimeoutExpired, ValueError):
            return None


def is_candidate(message: str, expected: dict[str, Any]) -> bool:
    """Whether a message may speak of the first limit of a tree."""
    first = expected["walls"][0]["nodes"]
    numbers = [one for one in (first if isinstance(first, list) else [first]) if one is not None]
    words = [
        *map(str, numbers),
        *(f"{one:,}" for one in numbers),
        *(one.split(".")[-1] for one in expected["not_known"]),
    ]
    named = any(re.search(rf"(?<![\w.,-]){re.escape(word)}(?![\w-]|[.,]\d)", message) for word in words)
    return named or bool(_THING.search(message) and _SHORT.search(message))


def version(linter: str) -> str:
    """Ask a linter for its version."""
    done = subprocess.run([linter, *LINTERS[linter].version], capture_output=True, text=True, check=False)
    found = re.search(r"\d+\.\d+[\w.]*", done.stdout.partition("\n")[0])
    return found[0] if found else "?"


def row(linter: str, at: str, found: list[list[str] | None], candidates: object, right: object) -> str:
    """Write the counts of a linter."""
    failed, counts = found.count(None), [len(messages) for messages in found if messages]
    return f"{linter:12} {at:>9} {failed:9} {len(counts):6} {sum(counts):9} {candidates:>11} {right:>9}"


def findings(tree: Path) -> list[str]:
    """Run `kcheck check` on a tree and return its messages."""
    command = ["check", str(tree), *by_hand(tree)["arguments"], "--format", "json"]
    return [one["message"] for one in json.loads(CliRunner().invoke(cli, command).stdout)["findings"]]


def rows() -> Iterator[str]:
    """Print the candidates of each linter, the trees on which kcheck is not right, and the counts of all."""
    table = [f"{'linter':12} {'version':>9} {'failed on':>9} {'trees':>6} messages  candidates     right"]
    for linter in (one for one in LINTERS if shutil.which(one)):
        found = {tree: run(linter, tree) for tree in TREES}
        number = 0
        for tree, messages in found.items():
            chosen = Counter(one for one in messages or () if is_candidate(one, by_hand(tree)))
            number += chosen.total()
            yield from (f"{linter}: {name(tree)}: {count} x {text}" for text, count in chosen.items())
        table.append(row(linter, version(linter), list(found.values()), number, "to judge"))
    wrong = [name(tree) for tree in TREES if not is_first_limit_right(tree)]
    yield from (f"kcheck: {one}: first limit not right" for one in wrong)
    own: list[list[str] | None] = [findings(tree) for tree in TREES]
    yield from (*table, row("kcheck", kcheck.__version__, own, "-", f"{len(TREES) - len(wrong)} of {len(TREES)}"))
