"""Files that `kcheck init` would write, and notes on those it leaves alone."""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import chdir
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from kcheck.addons.setup import hook_and_job
from kcheck.addons.setup.hook_and_job import AdditionError
from kcheck.config import locations, settings
from kcheck.config.config import Config, Environment
from kcheck.engine import linter
from kcheck.engine.linter import Result
from kcheck.fix.gate import baseline
from kcheck.fix.gate.comparison import Comparison, without_known
from kcheck.inventory import reader
from kcheck.inventory.reading import Reading
from kcheck.model import Cluster, Inventory
from kcheck.text.control_characters import visible
from kcheck.text.files.boundary import around, contains_path, git_folders, git_text
from kcheck.text.files.disk import Disk
from kcheck.text.files.save import File
from kcheck.text.files.tree import PathError, Tree, display_path
from kcheck.text.regex import regex
from kcheck.text.syntax.scan import has_word
from kcheck.text.syntax.yaml import literal
from kcheck.text.text import Source, grouped
from kcheck.text.values import Known, known


class Proposal(Struct):
    """New and changed files with notes, and the result of a check with them.

    Paths are relative to `base`: the working directory, or the repository's top if that is not below it. `result` is
    None if there is nothing to check.
    """

    folder: str
    base: str
    files: list[File] = []
    notes: list[str] = []
    result: Result | None = None
    has_baseline: bool = False

    def display_path(self, real: str) -> str:
        """Return a path as printed, relative to `base`."""
        with chdir(self.base):
            return display_path(real)


_REMOTE = regex(r"(?m)^[ \t]*url[ \t]*=[ \t]*\S*(github|gitlab)")


def propose(folder: str, systems: tuple[str, ...] | None) -> Proposal:
    """Propose files for a folder; `systems` are CI systems, None to detect them.

    Raises ConfigError if the folder's settings are invalid, PathError if `folder` is none.
    """
    if not os.path.isdir(folder):
        raise PathError(f"{folder} is not a folder")
    real = os.path.realpath(folder)
    top = os.path.realpath(Tree([folder]).repository(folder))
    proposal = Proposal(folder, os.path.realpath(".") if contains_path(".", top) else top)
    with chdir(folder):  # paths in settings are relative to their file
        present = locations.find_file(["."], Disk())
        config, text = (settings.load(["."]), None) if present else _with_settings(Config())
        result = _new_only(linter.run(Tree(["."], None, config.exclude, config.boundary), config), config)
    if not (result.relevant or result.findings):
        return proposal
    proposal.result, proposal.has_baseline = result, bool(config.baseline)
    if present:
        path = proposal.display_path(os.path.join(real, present))
        proposal.notes.append(f"{path}: has settings of kcheck, left as it is")
    elif text is not None:
        _add_file(proposal, os.path.join(real, locations.NAME), text(result))
    below = os.path.relpath(real, top).replace(os.sep, "/").removeprefix(".")
    _add_or_change(proposal, top, below, _HOOK)
    if systems is None:
        there = {"github": ".github", "gitlab": hook_and_job.GITLAB}
        found = [name for name, path in there.items() if os.path.exists(os.path.join(top, path))]
        remote = _REMOTE.search(git_text(os.path.join(git_folders(top)[1], "config")))
        systems = tuple(found or ([remote[1]] if remote else []))
    if "github" in systems:
        _workflow(proposal, top, below)
    if "gitlab" in systems:
        _add_or_change(proposal, top, below, _JOB)
    return proposal


def _new_only(result: Result, config: Config) -> Result:
    """Remove findings in the baseline of the settings."""
    if not config.baseline:
        return result
    comparison = Comparison(["."], config, lambda _: config, baseline.load(config.baseline, config))
    return without_known(result, comparison.find_known(result.findings).contains)


def _with_settings(nothing: Config) -> tuple[Config, Callable[[Result], str]]:
    """Return settings for the working directory, and a function that formats them."""
    tree = Tree(["."])
    reading = reader.read(tree, nothing)
    roots = {cluster.root for cluster in reading.inventory.clusters}
    exclude = folders_to_exclude(cluster.root for cluster in reading.inventory.clusters)
    if exclude:
        rest = Tree(["."], exclude=tuple(exclude))
        other = reader.read(rest, nothing)
        if {cluster.root for cluster in other.inventory.clusters} <= roots:
            tree, reading = rest, other
        else:  # a module that only examples call would be judged as if somebody applied it
            exclude = []
    entries, left = with_manifests(environments(reading), reading.inventory)
    config = Config(environments=tuple(entries), exclude=tuple(exclude))

    def text(result: Result) -> str:
        most: dict[tuple[str, str], list[int]] = {}
        for cluster in result.world.inventory.clusters:
            target = result.world.sizes.target(cluster)
            number = target.value if isinstance(target, Known) else 0
            most.setdefault((cluster.root, cluster.environment), []).append(number)
        single = {key: numbers[0] if len(numbers) == 1 else 0 for key, numbers in most.items()}
        return _settings_file(entries, exclude, left, single)

    return config, text


# --- clusters: root modules with their variable files and manifests

TESTS = frozenset({"tests", "test", "e2e", "fixtures", "fixture"})
EXAMPLES = frozenset({"examples", "example", "samples", "sample"})
_MANY = 3
"""Folders of the same name that are excluded one by one; more are excluded by a pattern."""
_DEPTH = 3
"""Leading folders of a path that are shown for manifests."""
_TELLS_NOTHING = frozenset({
    "terraform", "infra", "infrastructure", "live", "envs", "environments", "modules", "stacks", "k8s", "kubernetes",
    "cluster", "clusters", "deploy", "deployment", "deployments", "manifests", "apps", "base", "main", "src",
})  # fmt: skip
"""Folder names too common to name a cluster."""


def folders_to_exclude(folders: Iterable[str]) -> list[str]:
    """List test and example folders with clusters, if there are others too.

    Without any others, examples count as the repository's main content.
    """
    inside: dict[frozenset[str], list[str]] = {TESTS: [], EXAMPLES: []}
    others = 0
    for folder in folders:
        for names, found in inside.items():
            top = _top(folder, names)
            if top is not None:
                found.append(top)
                break
        else:
            others += 1
    tests = inside[TESTS] if others or inside[EXAMPLES] else []
    return _patterns(sorted({*tests, *(inside[EXAMPLES] if others else ())}))


def _top(folder: str, names: frozenset[str]) -> str | None:
    """Return the outermost folder on the path that has one of the names."""
    parts = folder.split("/")
    return next(("/".join(parts[: i + 1]) for i, part in enumerate(parts) if part in names), None)


def _patterns(folders: Iterable[str]) -> list[str]:
    by_name = grouped(folders, os.path.basename)
    return [path for name, own in by_name.items() for path in ([f"**/{name}"] if len(own) > _MANY else own)]


def environments(reading: Reading) -> list[Environment]:
    """List root modules with clusters, once per environment."""
    clusters = {(cluster.root, cluster.environment) for cluster in reading.inventory.clusters}
    result: list[Environment] = []
    for root in reading.roots:
        folder, name = root.configuration.folder, root.environment
        found = next((one for one in reading.environments if (one.root, one.name) == (folder, name)), None)
        workspace = name if isinstance(root.workspace, Known) else ""  # its variable files are found by its name
        if (folder, name) in clusters:
            result.append(found or Environment(folder, workspace, workspace=workspace))
    return result


def with_manifests(entries: list[Environment], inventory: Inventory) -> tuple[list[Environment], list[str]]:
    """Add manifest folders that name one cluster; return those that name none."""
    clusters = [(cluster, _folder_names(cluster)) for cluster in inventory.clusters]
    if len(clusters) < 2:
        return entries, []
    found: dict[tuple[str, str], dict[str, None]] = {}
    left: dict[str, None] = {}
    for folder in _unassigned_folders(inventory):
        names = [
            (cluster, "/".join(folder[: i + 1]))
            for i, part in enumerate(folder)
            for cluster, words in clusters
            if part.lower() in words and not any(part.lower() in other for c, other in clusters if c is not cluster)
        ]
        if len({cluster.id for cluster, _ in names}) == 1:
            cluster, path = names[0]
            found.setdefault((cluster.root, cluster.environment), {})[path] = None
        elif not any(one.root in (".", "/".join(folder[: one.root.count("/") + 1])) for one, _ in clusters):
            left["/".join(folder[:_DEPTH])] = None
    wanted = [replace(entry, manifests=tuple(found.get((entry.root, entry.name), ()))) for entry in entries]
    return wanted, list(left)


def _unassigned_folders(inventory: Inventory) -> Iterator[list[str]]:
    seen = set()
    for thing in inventory.deployed_things():
        folder = inventory.scope_of.get(thing) or os.path.dirname(thing.place.source.path)
        if thing not in inventory.cluster_of and folder and folder not in seen:
            seen.add(folder)
            yield folder.split("/")


def _folder_names(cluster: Cluster) -> set[str]:
    words = {cluster.environment, known(cluster.name) or "", *cluster.root.split("/")}
    return {word.lower() for word in words} - _TELLS_NOTHING - {"", ".", ".."}


# --- files


def _add_file(proposal: Proposal, real: str, text: str) -> None:
    path = proposal.display_path(real)
    if _leads_out(proposal, real):
        return
    proposal.files.append(File(real, path, b"", text.encode(), fresh=True))
    proposal.notes.append(f"{path}: new")


def _leads_out(proposal: Proposal, real: str) -> bool:
    """Whether a link leads the file out of the repository; if so, note it."""
    if around([proposal.base]).holds(os.path.realpath(real)):
        return False
    proposal.notes.append(f"{proposal.display_path(real)}: left as it is: it leads out of the repository")
    return True


class _Addition(NamedTuple):
    """A file for the repository, as a new one and as an addition."""

    path: str
    what: str
    new: Callable[[str], str]
    added: Callable[[Source, str], bytes | None]


_HOOK = _Addition(hook_and_job.HOOK_FILE, "the hook", hook_and_job.new_hooks, hook_and_job.with_hook)
_JOB = _Addition(hook_and_job.GITLAB, "a job", hook_and_job.pipeline, hook_and_job.with_job)


def _add_or_change(proposal: Proposal, top: str, below: str, addition: _Addition) -> None:
    real = os.path.join(top, addition.path)
    if not os.path.lexists(real):
        _add_file(proposal, real, addition.new(below))
        return
    path = proposal.display_path(real)
    if _leads_out(proposal, real):
        return
    try:
        with open(real, "rb") as file:
            old = file.read()
        new = addition.added(Source(path, old), below)
    except OSError as error:
        proposal.notes.append(f"{path}: left as it is: {error.strerror}")
    except AdditionError as error:
        proposal.notes.append(f"{path}: left as it is: {error}")
    else:
        if new is not None:
            proposal.files.append(File(real, path, old, new))
        proposal.notes.append(f"{path}: {'has kcheck, left as it is' if new is None else f'{addition.what} added'}")


def _workflow(proposal: Proposal, top: str, below: str) -> None:
    """Add a workflow, unless one mentions kcheck."""
    folder, disk = os.path.join(top, hook_and_job.WORKFLOWS), Disk(boundary=around([top]))
    names = os.listdir(folder) if os.path.isdir(folder) else []
    for name in sorted(name for name in names if name.endswith((".yml", ".yaml"))):
        real = os.path.join(folder, name)
        if hook_and_job.WORKFLOW.endswith(f"/{name}") or has_word(disk.read(real) or b"", "kcheck"):
            proposal.notes.append(f"{proposal.display_path(real)}: has kcheck, left as it is")
            return
    _add_file(proposal, os.path.join(top, hook_and_job.WORKFLOW), hook_and_job.workflow(below))


_HEAD = "# Settings of kcheck. `kcheck config` prints those in effect, each with its origin.\n"
_FOOT = """\
# price: 30  # US dollars per node-hour, instead of list prices
# fail_on: error  # default: warning
# baseline: kcheck-baseline.json  # known findings, from `kcheck baseline`: only new ones fail
"""
_SHOWN = 3
"""Manifest folders listed."""
_FEW = 8
"""Clusters up to which each has its own line for a target; more share one."""


def _settings_file(
    entries: list[Environment], exclude: list[str], left: list[str], maxima: Mapping[tuple[str, str], int]
) -> str:
    """Format the settings file.

    `left` are manifest folders whose cluster is unknown. `maxima` are today's maximum nodes by root and environment,
    zero if unknown.
    """
    parts = [_HEAD]
    if entries:
        parts.append("".join(f"{line}\n" for line in _clusters(entries, left, maxima)))
    elif maxima:  # of manifests
        parts.append(f"# {_target(next(iter(maxima.values())) if len(maxima) == 1 else 0)}\n")
    if exclude:
        lines = ["# Clusters of examples and tests, which nobody scales.", "exclude:"]
        parts.append("".join(f"{line}\n" for line in (*lines, *(f"  - {literal(path)}" for path in exclude))))
    return "\n".join([*parts, _FOOT])


def _clusters(entries: list[Environment], left: list[str], maxima: Mapping[tuple[str, str], int]) -> Iterator[str]:
    if left:
        yield "# The cluster of these manifests is unknown; `manifests: [FOLDER]` in an entry sets it:"
        yield from (f"#   {visible(folder)}" for folder in left[:_SHOWN])
        if len(left) > _SHOWN:
            yield f"#   and {len(left) - _SHOWN} more"
    if len(entries) > _FEW:
        yield "# `nodes: 1000` in an entry sets its target."
    yield "clusters:"
    for entry in entries:
        most = maxima.get((entry.root, entry.name), 0)
        today = f"  # up to {most:,} nodes today" if most and len(entries) > _FEW else ""
        yield f"  - root: {literal(entry.root)}{today}"
        stem = os.path.basename(entry.var_files[-1]).partition(".")[0] if entry.var_files else entry.workspace
        if entry.name != stem:
            yield f"    name: {literal(entry.name)}"
        if entry.workspace:
            yield f"    workspace: {literal(entry.workspace)}"
        if entry.var_files:
            yield f"    var_files: {_flow(entry.var_files)}"
        if entry.manifests:
            yield f"    manifests: {_flow(entry.manifests)}"
        if len(entries) <= _FEW:
            yield f"    # {_target(most, brief=entry is not entries[0])}"


def _target(most: int, *, brief: bool = False) -> str:
    """Format the line of the target, above today's maximum; the first one explains it."""
    nodes, unit = 1000, 1000
    while nodes <= most:
        nodes += unit
        unit = 10 ** (len(str(nodes)) - 1)
    words = [] if brief else ["target"]
    words += [f"up to {most:,}{'' if brief else ' in its pools'} today"] if most else []
    return f"nodes: {nodes}{'  # ' if words else ''}{'; '.join(words)}"


def _flow(texts: Iterable[str]) -> str:
    return f"[{', '.join(map(literal, texts))}]"
