"""Test properties of fixes over random trees: which lines they may change, and that they finish."""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kcheck.config.config import Config
from kcheck.engine import linter
from kcheck.fix import fix
from kcheck.text.files import save
from kcheck.text.files.tree import Tree
from kcheck.text.findings import SAFETIES
from tests.places import LONG

if TYPE_CHECKING:
    from collections.abc import Iterator

COMMENTS = st.sampled_from(["", "  # why it is so", "  // é"])
BLANKS = st.sampled_from(["", "\n", "\n  # a paragraph\n"])


@st.composite
def attributes(draw: st.DrawFn, names: dict[str, list[str]], indent: str = "  ") -> str:
    """Draw lines of a block: some attributes in any order, aligned or not, with comments between and after them."""
    chosen = [name for name in names if draw(st.booleans())]
    width = max(map(len, chosen), default=0) if draw(st.booleans()) else 0
    lines = []
    for name in draw(st.permutations(chosen)):
        value = draw(st.sampled_from(names[name]))
        lines.append(f"{draw(BLANKS)}{indent}{name.ljust(width)} = {value}{draw(COMMENTS)}\n")
    return "".join(lines)


@st.composite
def terraform(draw: st.DrawFn, number: int) -> str:
    """Draw an AKS cluster with a pool that is autoscaled or not; some values are a shared variable."""
    own = attributes({"sku_tier": ['"Free"', "var.tier", "null"], "dns_prefix": ['"train"'], "tags": ["{}"]})
    profile = attributes(
        {
            "scale_down_unneeded": ['"10m"', '"5m"'], "max_unready_percentage": ["45", '"45"', "100"],
            "expander": ['"least-waste"', '"random"'],
        },
        "    ",
    )  # fmt: skip
    block = f"\n  auto_scaler_profile {{\n{draw(profile)}  }}\n" if draw(st.booleans()) else ""
    nodes = draw(st.sampled_from([3, 300, 900]))
    pool = f"min_count            = 1\n    max_count            = {nodes}\n    auto_scaling_enabled = true"
    return (
        f'resource "azurerm_kubernetes_cluster" "c{number}" {{\n  name = "c{number}"\n{draw(own)}\n'
        f'  default_node_pool {{\n    name                 = "system"\n    {pool}\n  }}\n{block}}}\n\n'
    )


@st.composite
def manifest(draw: st.DrawFn, number: int) -> str:
    """Draw a Job in one of several styles."""
    ttl = draw(st.sampled_from(["", "  ttlSecondsAfterFinished:\n", "  # ttlSecondsAfterFinished: 60\n"]))
    policy = draw(st.sampled_from(["", "imagePullPolicy: Always", "imagePullPolicy: IfNotPresent"]))
    dash = draw(st.sampled_from(["", "  "]))
    host = draw(st.sampled_from(["", "      hostNetwork: true # for NCCL\n"]))
    gpus = draw(st.sampled_from(["{limits: {nvidia.com/gpu: 8}}", "{}"]))
    return (
        f"---\n# job {number}\napiVersion: batch/v1\nkind: Job\nmetadata:\n  name: j{number}\nspec:\n  parallelism: 64\n{ttl}"
        f"  template:\n    spec:\n      restartPolicy: Never\n{host}      containers:\n"
        f"      {dash}- name: main\n      {dash}  image: registry.k8s.io/train:1.0 # é\n"
        + (f"      {dash}  {policy}\n" if policy else "")
        + f"      {dash}  command: [torchrun]\n      {dash}  resources: {gpus}\n"
    )


@st.composite
def trees(draw: st.DrawFn) -> dict[str, bytes]:
    """Draw some files, each with its own line ends."""
    code = "".join(draw(terraform(i)) for i in range(draw(st.integers(1, 3))))
    code += 'variable "tier" {\n  default = "Free"\n}\n'
    jobs = "".join(draw(manifest(i)) for i in range(draw(st.integers(0, 3))))
    files = {"main.tf": code, "jobs.yaml": jobs}
    ends = {name: draw(st.sampled_from(["\n", "\r\n"])) for name in files}
    bare = {name: text.rstrip("\n") if draw(st.booleans()) else text for name, text in files.items()}
    return {name: text.replace("\n", ends[name]).encode() for name, text in bare.items() if text}


@contextlib.contextmanager
def written(files: dict[str, bytes]) -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        os.mkdir(".git")
        for name, data in files.items():
            Path(name).write_bytes(data)
        yield Path(folder)


def found() -> set[tuple[str, str]]:
    return {key for finding in linter.run(Tree(["."]), Config()).findings for key in finding.keys}


def bare(line: bytes) -> bytes:
    """Return a line without its blanks, because `=` may be aligned anew."""
    return b"".join(line.split())


def is_subsequence(some: list[bytes], others: list[bytes]) -> bool:
    rest = iter(others)
    return all(any(line == other for other in rest) for line in some)


@pytest.mark.slow
@given(trees())
@settings(max_examples=60 if LONG else 10, suppress_health_check=[HealthCheck.too_slow])
def test_fixes_of_random_trees_touch_only_their_lines_and_finish(files: dict[str, bytes]) -> None:
    with written(files) as folder:
        before = found()
        outcome = fix.fix(["."], Config(), safeties=SAFETIES)
        assert not [refused for refused in outcome.refused if refused.bug or refused.reason == fix.INEFFECTIVE]
        save.save(outcome.files)
        after = found()
        assert after <= before  # nothing new
        assert {key for finding in outcome.fixed for key in finding.keys} & after == set()
        assert fix.fix(["."], Config(), safeties=SAFETIES).files == []  # nothing left to do
        for name, old in files.items():
            new = (folder / name).read_bytes()
            end = b"\r\n" if b"\r\n" in old else b"\n"
            assert new.count(b"\n") == new.count(end)  # line ends stay
            assert new.endswith(b"\n") == old.endswith(b"\n")
            values = [
                b"Free",
                b"null",
                b"10m",
                b"45",
                b"random",
                b"Always",
                b"ttlSecondsAfterFinished:" + end,
                b"Never",
            ]
            kept = [bare(line) for line in old.split(b"\n") if not any(value in line + b"\n" for value in values)]
            assert is_subsequence(kept, [bare(line) for line in new.split(b"\n")])  # all else is there, in order
