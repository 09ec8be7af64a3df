"""Stable API for other code: paths in; inventory, findings and fixes out."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from msgspec.structs import replace

from kcheck.config.effective import effective_config
from kcheck.engine import linter
from kcheck.engine.rules import all_rules, former, selected
from kcheck.report.formats import Report
from kcheck.text import deadline
from kcheck.text.files import system
from kcheck.text.files.tree import Tree
from kcheck.text.findings import Severity

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from kcheck.config.config import Config, Written
    from kcheck.engine.rule import Rule
    from kcheck.fix.fix import Fixes
    from kcheck.fix.gate.comparison import Comparison
    from kcheck.model import Cluster, Inventory
    from kcheck.scale.walls.model import Wall
    from kcheck.scale.world import World
    from kcheck.text.findings import Finding
    from kcheck.text.text import Skipped


def load(
    *paths: str, nodes: int | Mapping[str, int] | None = None, overlay: Mapping[str, bytes] | None = None,
    config: str | None = None, var_files: Sequence[str] = (), variables: Mapping[str, str] | None = None,
    workspace: str = "", env_vars: bool = False, module_dirs: Sequence[str] = (), render: str = "",
    helm_values: Sequence[str] = (), price: float | None = None, exclude: Sequence[str] = (),
    select: Sequence[str] = (), ignore: Sequence[str] = (), rules: Sequence[str] = (), usage: str = "",
    outside: Sequence[str] = (),
) -> Project:  # fmt: skip
    """Load Terraform and manifests below paths with the closest kcheck.yaml.

    Args:
        paths: Folders and files, read together.
        nodes: Target number of nodes, of every cluster or by the name of a cluster.
        overlay: Bytes to use in place of files on disk, by path.
        config: Settings file, over which other keywords win; the closest kcheck.yaml or pyproject.toml by default.
        var_files: Terraform variables files.
        variables: Terraform variables.
        workspace: Terraform workspace.
        env_vars: Also read variables from TF_VAR_* in the environment.
        module_dirs: Folders with copies of modules that are not in the tree.
        render: "helm" renders charts with the installed helm.
        helm_values: Values files for rendered charts.
        price: US dollars per node-hour, instead of list prices.
        exclude: Files, folders and patterns to skip.
        select: Rules and groups to run; all by default.
        ignore: Rules and groups to skip.
        rules: Folders with your own rules.
        usage: Recording of `kcheck usage record`.
        outside: Folders outside the repository that may be read.

    Raises:
        kcheck.Error: a path does not exist, a setting makes no sense, or a target is of an unknown cluster.
    """
    return _read(paths, config, overlay or {}, {
        "nodes": _pairs({"": nodes} if isinstance(nodes, int) else nodes), "var_files": tuple(var_files),
        "variables": _pairs(variables), "workspace": workspace, "env_vars": env_vars, "render": render,
        "module_dirs": tuple(module_dirs), "helm_values": tuple(helm_values), "exclude": tuple(exclude),
        "price": None if price is None else str(price), "select": tuple(select), "ignore": tuple(ignore),
        "rules": tuple(rules), "usage": (usage,) if usage else (), "outside": tuple(outside),
    })  # fmt: skip


def _pairs(given: Mapping[str, object] | None) -> tuple[str, ...]:
    return tuple(f"{name}={value}" for name, value in (given or {}).items())


def _read(paths: tuple[str, ...], config: str | None, overlay: Mapping[str, bytes], flags: Written) -> Project:
    files = {system.real_path(path): data for path, data in overlay.items()}
    project = Project(paths, effective_config(paths, config, flags, files), files)
    project.inventory  # noqa: B018 - read now: what is wrong is said here
    return project


def rules(*folders: str) -> list[Rule]:
    """List the rules of kcheck and those in folders of your own.

    Raises:
        kcheck.Error: there is no such folder, or a rule is wrong.
    """
    return all_rules(folders)


class Project:
    """Terraform and manifests with their settings, read once, when first asked about."""

    def __init__(self, paths: Sequence[str], config: Config, overlay: Mapping[str, bytes] | None = None) -> None:
        self.config = config
        self._paths = list(paths)
        self._overlay = overlay or {}
        self.checked: linter.Result | None = None
        self.tell: Callable[[str], None] = deadline.no_progress
        self.narrow: Callable[[linter.Linter], None] = lambda _: None

    @cached_property
    def tree(self) -> Tree:
        """Return the files."""
        return Tree(self._paths, self._overlay, self.config.exclude, self.config.boundary)

    @cached_property
    def _linter(self) -> linter.Linter:
        found = linter.Linter(self.tree, self.config, self.tell)
        self.narrow(found)
        return found

    @property
    def world(self) -> World:
        """The inventory with sizes, addresses and placement."""
        return self._linter.world

    @property
    def inventory(self) -> Inventory:
        """Clusters, pools, networks and workloads, each value with its origin."""
        return self.world.inventory

    @property
    def unjudged(self) -> list[Skipped]:
        """The clusters that were found and not judged, each with its reason."""
        return [one for one in self._linter.reading.skipped if one.what.startswith("cluster")]

    def capacity(self, cluster: Cluster) -> list[Wall]:
        """List the limits of a cluster by number of nodes, lowest first."""
        from kcheck.scale.walls import find_walls

        return find_walls(cluster, self.world)

    def check(self, *, info: bool = False, tell: Callable[[str], None] = deadline.no_progress) -> Report:
        """Run the rules, with info findings if `info`; report progress to `tell`."""
        self.tell = tell
        try:
            read = self._linter
        except deadline.DeadlineError:
            return Report(linter.unread(self.tree, self.config), info)
        return Report(read.result(until_deadline=True), info)

    def fix(
        self, safeties: Sequence[str] = ("safe", "costs"), select: Sequence[str] = (), *, info: bool = False,
        comparison: Comparison | None = None, tell: Callable[[str], None] = deadline.no_progress,
        declined: Sequence[Finding] = (),
    ) -> Fixes:  # fmt: skip
        """Work out fixes in memory, each verified by another check; nothing is written.

        Args:
            safeties: Classes of fixes to apply, of safe, costs and unsafe.
            select: Rules and groups to fix; all by default.
            info: Also fix findings of severity info, as `select` does.
            comparison: Known findings to leave alone.
            tell: Receives progress.
            declined: Findings of an earlier run to leave alone.

        Raises:
            kcheck.Error: `select` names no rule.
        """
        from kcheck.fix import fix

        selected(replace(self.config, select=tuple(select)))
        least = Severity.INFO if info or select else Severity.WARNING
        start = fix.State({}, self.tree, self.checked) if self.checked and not self.tree.charts else None
        found = fix.fix(
            self._paths, self.config, safeties=tuple(safeties), rules=tuple(select), least=least,
            comparison=comparison, tell=tell, overlay=self._overlay, declined=declined, start=start,
        )  # fmt: skip
        found.result.renamed |= former(select, self.config)
        return found
