"""Test manifests that .gitignore excludes."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from kcheck.text.files.disk import Disk
from kcheck.text.files.patterns import Ignored
from kcheck.text.files.tree import Tree

if TYPE_CHECKING:
    from tests.conftest import Write

POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n"
TREE = {".git/HEAD": "", "a.yaml": POD, "made/b.yaml": POD, "apps/c.yaml": POD, "apps/made/d.yaml": POD, "e.yml": POD}


def read(*paths: str) -> tuple[list[str], list[str]]:
    tree = Tree(list(paths))
    return sorted(source.path for source in tree.manifests), [f"{one.path}: {one.reason}" for one in tree.skipped]


@pytest.mark.parametrize(
    ("files", "left", "note"),
    [
        ({}, "a apps/c apps/made/d e made/b", []),
        ({".gitignore": "# made/\n*.log\n"}, "a apps/c apps/made/d e made/b", []),
        ({".gitignore": "made/\n"}, "a apps/c e", ["apps/made/d.yaml: in .gitignore, and 1 more"]),
        ({".gitignore": "/made\n"}, "a apps/c apps/made/d e", ["made/b.yaml: in .gitignore"]),
        ({".gitignore": "*.yaml\n!c.yaml\n"}, "apps/c e", ["a.yaml: in .gitignore, and 2 more"]),
        ({"apps/.gitignore": "*.yaml\n"}, "a e made/b", ["apps/made/d.yaml: in .gitignore, and 1 more"]),
        ({".gitignore": "*.yaml", "apps/.gitignore": "!c.yaml"}, "apps/c e", ["a.yaml: in .gitignore, and 2 more"]),
    ],
)
def test_manifests_in_gitignore_are_not_read(files: dict[str, str], left: str, note: list[str], write: Write) -> None:
    write(TREE | files)
    found, notes = read(".")
    assert [name.rpartition(".")[0] for name in found] == left.split()
    assert len(notes) == len(note)
    assert [text.partition(":")[2] for text in notes] == [text.partition(":")[2] for text in note]


def test_gitignore_does_not_hide_named_files_or_tfvars(write: Write) -> None:
    write(TREE | {".gitignore": "*.yaml\n*.tfvars\n", "x.tfvars": "a = 1\n", "main.tf": 'variable "a" {}\n'})
    assert read("a.yaml") == (["a.yaml"], [])
    assert [path.rpartition("/")[2] for path in Tree(["."]).variables] == ["x.tfvars"]


def test_gitignore_counts_only_inside_a_repository(write: Write) -> None:
    write({"a.yaml": POD, ".gitignore": "*.yaml\n"})
    assert read(".")[0] == ["a.yaml"]


def test_unrelated_gitignore_patterns_import_no_library(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    """Importing pathspec takes 27 ms, and nearly every repository has such patterns."""
    folder = write({".gitignore": "*.log\n.terraform/\n*.tfstate*\n/dist\ncrash.*.log\n"})
    monkeypatch.setitem(sys.modules, "pathspec", None)
    assert not Ignored(Disk(), str(folder)).add("apps/deploy.yaml")
