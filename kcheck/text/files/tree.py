"""Walk a tree and classify its files, each read once."""

import os
import re
from collections.abc import Iterator, Mapping

from kcheck.text import placeholders
from kcheck.text.errors import Error
from kcheck.text.files import configurations, folders, system
from kcheck.text.files.boundary import REASON, Boundary, around, contains_path, remedy, repository
from kcheck.text.files.disk import DirectoryEntry, Disk, TooLargeError
from kcheck.text.files.patterns import Ignored, matches
from kcheck.text.regex import regex
from kcheck.text.text import Skipped, Source

TERRAFORM = (".tf", ".tf.json")
VARIABLES = (".tfvars", ".tfvars.json")
HCL = (".tf", ".tfvars", ".hcl")
"""Files in HCL itself, also those of Terragrunt."""
MANIFESTS = (".yaml", ".yml", ".yaml.template", ".yml.template", ".yaml-template", ".yml-template")
"""Suffixes of manifests, also of templates for envsubst, whose placeholders are unknown values."""
KUSTOMIZATIONS = ("kustomization.yaml", "kustomization.yml", "Kustomization")
CHART = "Chart.yaml"
UNIT = "terragrunt.hcl"
STACK = "terragrunt.stack.hcl"
"""File names of Terragrunt's units and stacks."""
COMPONENTS = (".tfcomponent.hcl", ".tfstack.hcl")
"""Endings of files of Terraform Stacks: https://developer.hashicorp.com/terraform/language/stacks"""
KERNEL = regex(r"(?:^|/)sysctl[^/]*(?:/.+)?\.conf$")
"""Kernel settings of nodes: sysctl.conf, or files in a folder such as sysctl.d."""

_KIND = regex(rb"^(?:\xef\xbb\xbf)?[ \t-]*[\"']?kind[\"']?[ \t]*:", re.MULTILINE)
_API_VERSION = regex(rb"^(?:\xef\xbb\xbf)?[ \t-]*[\"']?apiVersion[\"']?[ \t]*:", re.MULTILINE)
_FLOW = regex(rb"^[ \t]*\{.*\bkind\b", re.MULTILINE)
BRACE = regex(rb"(?:\xef\xbb\xbf)?\s*\{")
"""Matches YAML that is a map in flow style, like JSON."""


def holds_objects(data: bytes) -> bool:
    """Whether YAML may hold Kubernetes objects, without parsing. False is certain."""
    if b"kind" not in data or b"apiVersion" not in data:
        return b"\x00" in data[:4] and b"k\x00i\x00n\x00d" in data  # UTF-16, to be told as unreadable
    return bool((_KIND.search(data) and _API_VERSION.search(data)) or _FLOW.search(data) or BRACE.match(data))


_HEAD = 65_536
"""Bytes read to tell whether JSON may be a Kubernetes object; data files can be large."""
_JSON_KIND = regex(rb"\"(?:kind|apiVersion)\"[ \t\r\n]*:[ \t\r\n]*\"")
_JSON_BEGIN = regex(BRACE.pattern + rb"\s*" + _JSON_KIND.pattern)


def is_json_object(data: bytes) -> bool:
    """Whether JSON is a Kubernetes object: both kind and apiVersion are texts.

    Unreadable JSON counts if it begins like one.
    """
    if not _JSON_KIND.search(data):
        return False
    import json

    try:
        root = json.loads(data)
    except (ValueError, RecursionError):
        return bool(_JSON_BEGIN.match(data))
    return isinstance(root, dict) and all(isinstance(root.get(key), str) for key in ("kind", "apiVersion"))


class PathError(Error):
    """A PATH that does not exist or cannot be read."""


class Folder:
    """Terraform files of one folder, sorted; `unread` are unreadable paths.

    `links` has the names of files that are links to others.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self.terraform: list[Source] = []
        self.variables: list[Source] = []
        self.unread: list[str] = []
        self.links: dict[Source, str] = {}

    def name(self, source: Source) -> str:
        """Return the name of a file in this folder."""
        return self.links.get(source) or os.path.basename(source.path)


class Tree:
    """Files below the given paths, and folders that modules refer to.

    `variables`: tfvars files, wherever they are. `plans`: JSON files named by the user that are no manifests. `units`:
    files of Terragrunt. `kustomizations`: files of Kustomize, which name other files relative to their folder.
    `charts`: folders of Helm charts. `kernel`: kernel settings of nodes. `configurations`: files of other tools that
    create clusters, by kind. `sources`: all visited files, by real path; None for unreadable ones. `exclude`: paths and
    patterns that are not read. `skipped`: everything else left out. `overlay`: maps real paths to bytes that replace
    those on disk, or to None for a missing file: fixes not yet written, or the tree before a change. `before`: sources
    of another tree by real path, reused if the content is the same.
    """

    def __init__(
        self, paths: list[str], overlay: Mapping[str, bytes | None] | None = None, exclude: tuple[str, ...] = (),
        boundary: Boundary | None = None, before: Mapping[str, Source | None] | None = None,
    ) -> None:  # fmt: skip
        self.given = paths or ["."]
        self._before = before or {}
        self.disk = Disk(overlay, boundary or around(self.given), self._refused)
        self.exclude = exclude
        self.manifests: list[Source] = []
        self.variables: list[str] = []
        self.kustomizations: dict[str, None] = {}
        self.plans: list[Source] = []
        self.charts: list[str] = []
        self.kernel: list[Source] = []
        self.configurations: dict[str, list[Source]] = {}
        self.units: list[str] = []
        self.folders: list[Folder] = []
        self.skipped: list[Skipped] = []
        self._programs: tuple[str, ...] = ()  # folders of programs that may make clusters
        self._manifests: set[Source] = set()  # those of the list: it would be searched 20,000 times in a large tree
        self.sources: dict[str, Source | None] = {}
        self._real: dict[int, str] = {}
        self.loaded_folders: dict[str, Folder] = {}
        self._visited: set[str] = set()
        self._foreign: list[str] = []
        self._ignored: Ignored | None = None
        for path in self.given:
            if self.disk.is_folder(path):
                self._walk(path)
            elif self.disk.is_file(path):
                self._file(path)
            elif not os.path.exists(path):
                raise PathError(f"{path}: no such file or folder")
        if self._foreign:
            self.skipped.append(folders.note(self._foreign))

    def _refused(self, path: str, real: str) -> None:
        self.skipped.append(Skipped(display_path(path), REASON, remedy=remedy(display_path(real))))

    def real_path(self, source: Source) -> str:
        """Return the path on disk, links resolved, that a fix must write to."""
        return self._real[id(source)]

    def why_protected(self, source: Source) -> str:
        """Return why a file must not be changed, with its path; empty if it may."""
        real = self._real.get(id(source))
        if real is None:
            return f"{source.path}, which is generated from another file"
        if self._excluded(source.path):
            return f"{source.path}, which is excluded"
        if _GENERATED.search(source.data, 0, _TOP):
            return f"{source.path}, which is generated"
        for path in self.given:
            top = system.real_path(path)
            if not os.path.isdir(top) and top.endswith((*TERRAFORM, *VARIABLES)):
                top = os.path.dirname(top)  # the whole root module is read
            if contains_path(top, real):
                if _is_foreign(top, names := os.path.relpath(real, top).split(os.sep)[:-1]):
                    return f"{source.path}, which is third-party code"
                if any(map(_KEPT.fullmatch, names)) or os.path.basename(real).startswith("fixtures."):
                    return f"{source.path}, which is an old copy or a test"
                return f"{source.path}, which is read-only" if system.is_read_only(real) else ""
        return f"{source.path}, outside the given paths"

    def source(self, path: str) -> Source | None:
        """Read a file once; None if it is not a regular file, too large or encrypted."""
        real = self.disk.real(path)
        if real in self.sources:
            return self.sources[real]
        why, data = "", None
        try:
            data = self.disk.read(path, real)
        except TooLargeError:
            why = "too large"
        if data is not None and placeholders.is_encrypted_file(data):
            why, data = placeholders.ENCRYPTED, None
        if why:
            self.sources[real] = None
            how = placeholders.DECRYPT if why == placeholders.ENCRYPTED else ""
            self.skipped.append(Skipped(self._shown(path, real), why, remedy=how))
        if data is None:
            return None
        source = self._before.get(real)
        if source is None or source.data != data:
            source = Source(self._shown(path, real), data)
        self.sources[real] = source
        self._real[id(source)] = real
        return source

    def note_encrypted(self, source: Source) -> None:
        """Record that a file has encrypted values, if it does."""
        if placeholders.hides_values(source.data):
            self.skipped.append(Skipped(source.path, placeholders.ENCRYPTED, remedy=placeholders.DECRYPT))

    def _shown(self, path: str, real: str) -> str:
        """Format a path for findings, as git knows it."""
        if os.path.abspath(path) != real and any(contains_path(top, real) for top in (".", *self.given)):
            path = os.path.relpath(real, system.real_path("."))
        return display_path(path)

    def folder(self, path: str) -> Folder | None:
        """Read the Terraform files of a folder; None if there is no such folder."""
        real = self.disk.real(path)
        if real not in self.loaded_folders:
            entries = self.disk.entries(path)
            if entries is None:
                return None
            self.loaded_folders[real] = self._terraform(path, [entry.name for entry in entries])
        return self.loaded_folders[real]

    def repository(self, path: str) -> str:
        """Return the repository that holds `path`, else a working folder."""
        top = repository(path)
        return top or next((folder for folder in (".", *self.given) if contains_path(folder, path)), path)

    def _terraform(self, path: str, names: list[str]) -> Folder:
        folder = Folder(display_path(path))
        for name in names:
            if name.startswith(".") or name.endswith("~"):
                continue
            if name.endswith((*TERRAFORM, *VARIABLES)):
                source = self.source(whole := os.path.join(path, name))
                if source is None:
                    folder.unread.append(self._unread(whole))
                    continue
                (folder.terraform if name.endswith(TERRAFORM) else folder.variables).append(source)
                self.note_encrypted(source)
                if os.path.basename(source.path) != name:
                    folder.links[source] = name
        return folder

    def _unread(self, path: str) -> str:
        """Return the path of an unreadable file; report it once."""
        if self.disk.real(path) not in self.sources and not self.disk.is_outside(path):
            self.skipped.append(Skipped(display_path(path), "a link to nothing, or no file"))
        return display_path(path)

    def _file(self, path: str) -> None:
        """Add a single file; a Terraform file adds its whole root module."""
        if path.endswith((*TERRAFORM, *VARIABLES)):
            self._add_folder(os.path.dirname(path) or ".")
        elif (name := os.path.basename(path)) in (*KUSTOMIZATIONS, UNIT, STACK):
            self._add_found(path, name)
        elif path.endswith(".json"):
            source = self.source(path)
            if source is not None and is_json_object(source.data):
                self._add_manifest(path)
            elif source is not None:
                source.private = True
                self.plans.append(source)
        elif (inventory := configurations.inventory_of(path)) is not None:  # all variables of it count
            self._walk(inventory)
        elif self.disk.head(path, len(_ARCHIVE)) == _ARCHIVE:
            raise PathError(f"{path} is a binary plan; convert it: `terraform show -json {path} > plan.json`")
        else:
            self._add_manifest(path)
            chart = self._chart_of(path)
            if chart is not None:
                self.charts.append(chart)

    def _walk(self, top: str) -> None:
        repository_top = repository(top)
        self._ignored = Ignored(self.disk, system.real_path(repository_top)) if repository_top else None
        for path, found in self._folders(top):
            names = [name for name in found if not self._excluded(os.path.join(path, name))]
            if any(name.endswith(TERRAFORM) for name in names):
                self._add_folder(path)
            if CHART in names:
                self.charts.append(path)
            if not configurations.PROGRAMS.isdisjoint(names):
                self._programs += (os.path.join(path, ""),)
            for name in names:
                self._add_found(os.path.join(path, name), name)
        if self._ignored and self._ignored.paths:
            self.skipped.append(self._ignored.note())
        self._ignored = None

    def _add_found(self, path: str, name: str) -> None:
        """Add a file of a folder by its name."""
        if name in KUSTOMIZATIONS:
            self.kustomizations[path] = None
            self._add_manifest(path)  # another tool's may have the name
        elif name.endswith(MANIFESTS):
            self._add_manifest(path)
        elif name.endswith(VARIABLES):
            self.variables.append(path)
            if placeholders.is_encrypted_file(self.disk.head(path, placeholders.ENCRYPTED_HEAD)):
                self.source(path)
        elif name in (UNIT, STACK):
            self.units.append(path)
        elif name.endswith(COMPONENTS):
            reason = "Terraform Stacks are not evaluated; the modules of its components are judged with their defaults"
            self.skipped.append(Skipped(display_path(path), reason, what="not judged"))
        elif name.endswith(".json") and not name.endswith(TERRAFORM):
            self._add_json(path)
        elif name.endswith(".conf") and KERNEL.search(display_path(path)):
            self.kernel += filter(None, [self.source(path)])
        elif configurations.may_be(path, self._programs):
            self._add_configuration(path)

    def _chart_of(self, path: str) -> str | None:
        """Return the chart folder of a file; None without one."""
        folder, parts = os.path.dirname(path), system.real_path(path).split(os.sep)
        steps = parts[::-1].index("templates") if "templates" in parts else 0
        for _ in range(steps):
            folder = os.path.join(folder or ".", "..")
        return os.path.normpath(folder) if self.disk.is_file(os.path.join(folder, CHART)) else None

    def _folders(self, top: str) -> Iterator[tuple[str, list[str]]]:
        """Yield the folders below `top` with their sorted file names.

        A link to a folder below `top` counts as that folder.
        """
        stack = [top]
        real_top = system.real_path(top)
        while stack:
            path = stack.pop()
            real = system.real_path(path)
            if real in self._visited:
                continue
            self._visited.add(real)
            inside = os.path.relpath(real, real_top)
            if path != top and os.path.normpath(os.path.relpath(path, top)) != inside and contains_path(top, real):
                path = os.path.join(top, inside)
                if self._excluded(path):
                    continue
            entries = self.disk.entries(path) or []
            yield path, [entry.name for entry in entries if not entry.is_folder]
            inner = [entry for entry in entries if entry.is_folder and not self._excluded(entry.path)]
            stack += [entry.path for entry in reversed(inner) if self._is_entered(entry)]

    def _is_entered(self, entry: DirectoryEntry) -> bool:
        """Whether a folder is entered; skipped ones with relevant files are recorded."""
        if entry.name in folders.FOREIGN and folders.holds(entry.path, self._may_be_ours):
            self._foreign.append(entry.name)
        return folders.is_ours(entry.name) and not folders.is_workflows(entry.path)

    def _may_be_ours(self, path: str) -> bool:
        return path.endswith(TERRAFORM) or (path.endswith(MANIFESTS) and holds_objects(self.disk.head(path, _HEAD)))

    def _excluded(self, path: str) -> bool:
        return any(matches(display_path(path), pattern) for pattern in self.exclude)

    def _add_folder(self, path: str) -> None:
        folder = self.folder(path)
        if folder is not None and folder.terraform and folder not in self.folders:
            self.folders.append(folder)

    def _add_json(self, path: str) -> None:
        head = self.disk.head(path, _HEAD)
        if (b"AWS::EKS::" in head or b"ervice/managed" in head) and self._add_configuration(path):
            return
        source = self.source(path) if _JSON_KIND.search(head) else None
        if source is not None and is_json_object(source.data):
            self._add_manifest(path)

    def _add_manifest(self, path: str) -> None:
        if self._add_configuration(path):
            return
        source = self.source(path)
        if source is None or source in self._manifests or not holds_objects(source.data):
            return
        if self._ignored is None or not self._ignored.add(path):
            self._manifests.add(source)
            self.manifests.append(source)
            self.note_encrypted(source)

    def _add_configuration(self, path: str) -> bool:
        """Add a file of another tool that creates clusters; False for other files."""
        source = self.source(path)
        kind = configurations.kind_of(path, source.data) if source is not None else ""
        if source is not None and kind and source not in self.configurations.setdefault(kind, []):
            self.configurations[kind].append(source)
            if kind == configurations.HERE:
                self.manifests.append(configurations.manifests_in(source))
        return bool(kind)


_ARCHIVE = b"PK\x03\x04"
"""First bytes of a binary plan of Terraform."""
_GENERATED = regex(
    rb"^# Source: [\w./-]+/templates/|^[ \t]*(?:#|//|/?\*)[^\n]*\b"
    rb"(?:do not (?:edit|modify|change)|automatically generated|auto-?generated|generated (?:by|from))\b",
    re.MULTILINE | re.IGNORECASE,
)
_KEPT = regex(
    r"(?i)(?:.+[-_])?(?:tests|old|v?\d+\.\d+\.\d+)|old[-_].+|_?archived?|deprecated|fixtures|v\d+\.\d+|e2e|"
    r"backup[-_](?:before|of|\d).*|invalid(?:[-_].+)?"
)
"""Name of a folder nothing runs on: kept, of one version, or tests of a module; `test` may be a stage."""
_TOP = 1_500
"""Bytes within which a file says that it is generated; a licence may come first."""


def _is_foreign(top: str, names: list[str]) -> bool:
    """Whether a folder below `top` is third-party code."""
    for folder in names:
        if not folders.is_ours(folder):
            return True
        if folder == "charts" and os.path.isfile(os.path.join(top, CHART)):
            return True
        top = os.path.join(top, folder)
    return False


def display_path(path: str) -> str:
    """Format a path for findings: relative, with forward slashes."""
    try:
        relative = os.path.relpath(path)
    except ValueError:  # another drive on Windows
        relative = path
    return relative.replace(os.sep, "/")
