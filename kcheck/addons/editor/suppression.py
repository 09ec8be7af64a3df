"""Add a suppression of a finding to the settings. Nothing is saved here."""

import json
import os

from kcheck.config.config import Accepted, ConfigError
from kcheck.config.locations import NAME, TABLE, find_file
from kcheck.text.files import system
from kcheck.text.files.disk import Disk
from kcheck.text.files.save import File
from kcheck.text.files.tree import display_path
from kcheck.text.findings import Finding
from kcheck.text.syntax import edit, yaml
from kcheck.text.syntax.insertion import Insertion
from kcheck.text.syntax.members import edits_to_add, edits_to_add_last
from kcheck.text.syntax.scan import toml_key_line
from kcheck.text.text import Source
from kcheck.text.values import Data

_KEY = "suppressions"


def with_suppression(folder: str, disk: Disk, finding: Finding, reason: str) -> tuple[File, Accepted]:
    """Return a folder's settings file, new if there is none, with a suppression added, and the suppression.

    Raises ConfigError if the file cannot be read, or has its suppressions in a form that kcheck does not extend.
    """
    path = find_file((folder,), disk) or os.path.join(folder, NAME)
    real = system.real_path(path)
    data = disk.read(real)
    source = Source(display_path(path), data or b"")
    place = finding.span.source.path
    near = os.path.relpath(place, os.path.dirname(source.path) or ".").replace(os.sep, "/")
    entry = {"rule": finding.rule, "path": near, "reason": reason}
    new = _in_toml(source, entry) if path.endswith(".toml") else _in_yaml(source, entry)
    accepted = Accepted(finding.rule, place, reason, None, source.span(0, 0))
    return File(real, source.path, source.data, new, fresh=data is None), accepted


def _in_yaml(source: Source, entry: dict[str, str]) -> bytes:
    document = next(iter(yaml.documents(source)), None)
    root = document.root if document is not None else None
    if document is not None and document.problem is not None:
        raise ConfigError(f"{source.path}:{document.problem.span.begin.line}: {document.problem.message}")
    if isinstance(root, yaml.Mapping) and root.entries:
        old, item = root.own(_KEY), dict[str, "Data"](entry)
        edits = (
            edits_to_add_last(root, {_KEY: [item]})
            if old is None
            else edits_to_add(yaml.resolve(old.value).span, Insertion(items=[item]))
        )
        if edits is None:
            raise ConfigError(f"{source.path}:{root.span.begin.line}: kcheck cannot add to {_KEY}")
        return edit.apply_edits(source, edits)
    gap = source.newline if source.data and not source.data.endswith(b"\n") else ""
    first, *rest = (f"{name}: {yaml.literal(value, 'plain')}" for name, value in entry.items())
    lines = (f"{_KEY}:", f"  - {first}", *(f"    {line}" for line in rest), "")
    return source.data + (gap + source.newline.join(lines)).encode()


def _in_toml(source: Source, entry: dict[str, str]) -> bytes:
    line = toml_key_line(source, TABLE, _KEY, 0)
    if line is not None and not line.text.lstrip().startswith("[["):
        raise ConfigError(f"{source.path}:{line.begin.line}: kcheck cannot add to a list in brackets")
    gap = source.newline * (1 if source.data.endswith(b"\n") else 2)
    lines = (f"[[{TABLE}.{_KEY}]]", *(f"{name} = {json.dumps(value)}" for name, value in entry.items()), "")
    return source.data + (gap + source.newline.join(lines)).encode()
