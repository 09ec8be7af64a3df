"""What is fed: the readers one by one, and every command on a folder."""

from __future__ import annotations

import os
import shutil
import tempfile
import traceback
from contextlib import contextmanager, suppress
from difflib import SequenceMatcher
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from click.testing import CliRunner

from fuzzing import corpus
from kcheck.addons import console
from kcheck.commands.cli import cli
from kcheck.config import settings
from kcheck.config.config import Config, ConfigError
from kcheck.fix import fix
from kcheck.scale import schedules
from kcheck.text import scalars, units, versions
from kcheck.text.files.disk import Disk
from kcheck.text.findings import SAFETIES
from kcheck.text.syntax import cel, json, yaml
from kcheck.text.syntax.hcl.parse import parse
from kcheck.text.text import Source

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from fuzzing.corpus import Sample
    from kcheck.fix.fix import Fixes

COMMANDS = (
    ("check", ".", "--info", "--show-undecided"),
    ("check", ".", "--nodes", "1000", "--info", "--format", "json"),
    ("capacity", "."),
    ("capacity", ".", "--nodes", "1000", "--format", "markdown"),
    ("fix", ".", "--diff", "--info", "--unsafe-fixes", "--nodes", "1000"),
    ("show", "."),
    ("show", ".", "--format", "json"),
    ("simulate", ".", "--nodes", "200"),
    ("baseline", "."),
    ("check", ".", "--baseline", "kcheck-baseline.json"),
    ("generate", "--from", ".", "--show-intent"),
    ("config", "."),
    ("rules",),
    ("explain", "missing-requests"),
    ("eval", "local"),
    ("export", "admission"),
    ("limits",),
    ("fix", ".", "--output", "out", "--unsafe-fixes"),
    ("ignore", "the reason", ".", "--info"),
    ("init", "--write"),
    ("rules", "--test", "."),
)
"""With their arguments, in the folder."""


@contextmanager
def folder_of(sample: Sample) -> Iterator[Path]:
    """The sample as a folder, which is the working directory."""
    before = os.getcwd()
    top = Path(tempfile.mkdtemp(prefix="fuzz-"))
    try:
        os.mkdir(top / ".git")
        for name, data in sample.files.items():
            with suppress(OSError, ValueError):  # a file where another needs a folder
                (top / name).parent.mkdir(parents=True, exist_ok=True)
                (top / name).write_bytes(data)
        os.chdir(top)
        yield top
    finally:
        os.chdir(before)
        shutil.rmtree(top, ignore_errors=True)


def failure(arguments: tuple[str, ...]) -> str:
    """What went wrong in kcheck with these arguments: an exception with its places, or the bugs that it reports."""
    run = CliRunner().invoke(cli, list(arguments))
    if run.exception is not None and not isinstance(run.exception, SystemExit):
        return described(run.exception)
    if run.exit_code != 3:
        return ""
    lines = (line[:300] for line in run.stderr.splitlines())
    return "\n".join(line for line in lines if "bug in" in line or "not written" in line) or "it ends with 3"


def described(error: BaseException) -> str:
    """An exception with its last places in kcheck."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if f"{os.sep}kcheck{os.sep}" in frame.filename][-3:]
    places = " < ".join(f"{os.path.basename(frame.filename)}:{frame.lineno}" for frame in reversed(own))
    return f"{type(error).__name__}: {str(error)[:200]} ({places})"


# --- readers, which are given bytes and raise nothing but what they say


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


def _hcl(data: bytes) -> None:
    parse(Source("main.tf", data))


def _yaml(data: bytes) -> None:
    for document in yaml.documents(Source("a.yaml", data)):
        for node in yaml.walk(document.root):
            if isinstance(node, yaml.Scalar):
                yaml.value(node)


def _json(data: bytes) -> None:
    json.parse(Source("a.json", data))


def _settings(data: bytes) -> None:
    for name in ("kcheck.yaml", "pyproject.toml"):
        path = os.path.realpath(name)
        with suppress(ConfigError):
            settings.load((), path, Disk({path: data}))


def _cel(data: bytes) -> None:
    text = data.decode("utf-8", "replace")
    for read in (lambda: cel.compile(text, ("pool", "limits")), lambda: cel.holes(text), lambda: cel.split_place(text)):
        with suppress(cel.SyntaxProblem):
            read()


def _numbers(data: bytes) -> None:
    text = _text(data)
    readers: tuple[Callable[[str], object], ...] = (
        units.quantity, units.exact_seconds, units.minor_version, units.whole_number, scalars.to_number, versions.parse, schedules.times,
    )  # fmt: skip
    for read in readers:
        with suppress(ValueError):
            read(text)


def _expression(data: bytes) -> None:
    with folder_of(corpus.Sample("", {})), suppress(ConfigError):
        console.evaluate(_text(data), ".", Config())


class FuzzError(Exception):
    """A property that does not hold."""


def _of_file(sample: Sample, name: str, *commands: tuple[str, ...]) -> Callable[[bytes], None]:
    """Feeds one file of a folder to some commands."""

    def feed(data: bytes) -> None:
        with folder_of(sample._replace(files={**sample.files, name: data})):
            for command in commands or COMMANDS[:1]:
                found = failure(command)
                if found:
                    raise FuzzError(found)

    return feed


def _fixed(data: bytes, name: str) -> None:
    with folder_of(corpus.Sample("", {name: data})):
        problem = broken_promise(fix.fix(["."], Config(nodes={"": 1000}), safeties=SAFETIES))
        if problem:
            raise FuzzError(problem)


def broken_promise(outcome: Fixes) -> str:
    """What a fix did that none may do; empty if all is well."""
    for refused in outcome.refused:
        if refused.bug:
            return f"{refused.finding.rule}: {refused.reason}"
    written = sum(_lines_of(finding.changes) for finding in outcome.fixed)
    for file in outcome.files:
        old, new = ([b"".join(line.split()) for line in data.split(b"\n")] for data in (file.old, file.new))
        kept = sum(block.size for block in SequenceMatcher(None, old, new, autojunk=False).get_matching_blocks())
        if len(old) - kept > written:
            return f"{file.path}: {len(old) - kept} lines are gone, {written} were to be changed"
        reader = _hcl_problems if file.path.endswith((".tf", ".tfvars")) else _yaml_problems
        if reader(file.new) > reader(file.old):
            return f"{file.path} cannot be read any more"
    return ""


def _lines_of(changes: Iterable[object]) -> int:
    return sum(change.origin.written.text.count("\n") + 1 for change in changes)  # type: ignore[attr-defined]


def _hcl_problems(data: bytes) -> int:
    return len(parse(Source("main.tf", data)).problems)


def _yaml_problems(data: bytes) -> int:
    return sum(document.problem is not None for document in yaml.documents(Source("a.yaml", data)))


class Target(NamedTuple):
    """Something to feed, the inputs to begin with, and the name of the file that they are, if they are one."""

    feed: Callable[[bytes], None]
    seeds: tuple[bytes, ...]
    name: str = ""


def targets() -> dict[str, Target]:
    """All targets that are fed with bytes, by name."""
    samples = {sample.name: sample for sample in corpus.samples()}
    hcl, manifests, words = corpus.files(".tf"), corpus.files(".yaml"), corpus.words()

    def file(sample: str, name: str, *commands: tuple[str, ...]) -> Target:
        chosen = samples[sample]
        others = corpus.files(name[name.rindex(".") :])[:50] if sample != "plan" else ()
        return Target(_of_file(chosen, name, *commands), (chosen.files[name], *others), name)

    return {
        "hcl": Target(_hcl, hcl, "main.tf"),
        "yaml": Target(_yaml, manifests, "a.yaml"),
        "json": Target(_json, corpus.files(".json"), "a.json"),
        "settings": Target(_settings, corpus.files("kcheck.yaml", ".toml"), "kcheck.yaml"),
        "cel": Target(_cel, words),
        "numbers": Target(_numbers, words),
        "expression": Target(_expression, words),
        "terraform": file("eks", "main.tf", COMMANDS[0], COMMANDS[2]),
        "manifest": file("eks", "job.yaml", COMMANDS[0], COMMANDS[7]),
        "kustomize": file("kustomize", "overlays/prod/kustomization.yaml"),
        "terragrunt": file("terragrunt", "live/prod/terragrunt.hcl"),
        "plan": file("plan", "plan.json"),
        "stack": file("stack", "stack.yaml", COMMANDS[0], COMMANDS[2]),
        "script": file("scripts", "up.sh", COMMANDS[0], COMMANDS[4]),
        "release": file("chart", "argo.yaml"),
        "template": file("chart", "chart/templates/job.yaml"),
        "fix-terraform": Target(lambda data: _fixed(data, "main.tf"), hcl, "main.tf"),
        "fix-manifest": Target(lambda data: _fixed(data, "a.yaml"), manifests, "a.yaml"),
    }
