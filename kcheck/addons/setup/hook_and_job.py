"""The pre-commit hook and the CI job, in a new file or added to an existing one."""

import re
import shlex
from collections.abc import Callable
from contextlib import suppress

from kcheck import __version__
from kcheck.config import schemas
from kcheck.fix.gate.relevance import NAMES, SUFFIXES
from kcheck.report.page import REPOSITORY, SOURCE
from kcheck.text.partly_known import plain
from kcheck.text.regex import regex
from kcheck.text.syntax import yaml
from kcheck.text.syntax.insertion import Insertion
from kcheck.text.syntax.members import edits_to_add, edits_to_add_last
from kcheck.text.syntax.scan import has_word
from kcheck.text.syntax.yaml_style import PLAIN
from kcheck.text.text import Edit, Source, apply
from kcheck.text.values import Data


class AdditionError(Exception):
    """Reason why nothing can be added."""


def _root_of(source: Source) -> yaml.Mapping:
    """Return the root mapping of a file. Raises AdditionError for other content."""
    documents = list(yaml.documents(source))
    problem = next((document.problem for document in documents if document.problem), None)
    if problem is not None:
        raise AdditionError(f"line {problem.span.begin.line} cannot be read: {problem.message}")
    if len(documents) != 1 or not isinstance(documents[0].root, yaml.Mapping):
        raise AdditionError("it is not a single map")
    return documents[0].root


def _apply_checked(
    source: Source, edits: list[Edit] | None, expected: Callable[[dict[str, Data]], dict[str, Data]]
) -> bytes:
    """Apply edits. Raises AdditionError if the result does not parse as expected."""
    new = Source(source.path, apply(source.data, edits or []))
    if edits:
        with suppress(AdditionError):
            if _value(new) == expected(_value(source)):
                return new.data
    raise AdditionError("kcheck cannot add to the existing text")


def _value(source: Source) -> dict[str, Data]:
    found: dict[str, Data] = plain(schemas.datum(_root_of(source)))
    return found


HOOK_FILE = ".pre-commit-config.yaml"
_SPECIAL, _ESCAPED = regex(r"[.+*?^$()\[\]{}|\\]"), r"\\\g<0>"


def _repository(below: str) -> dict[str, Data]:
    """Return the hook's entry; `below` limits the paths it checks."""
    limits: dict[str, Data] = {"files": f"^{_SPECIAL.sub(_ESCAPED, below)}/", "args": [below, "--"]} if below else {}
    return {"repo": REPOSITORY, "rev": f"v{__version__}", "hooks": [{"id": "kcheck", **limits}]}


def new_hooks(below: str) -> str:
    """Format a new pre-commit configuration; `below` is the folder to check."""
    return "".join(f"{line}\n" for line in PLAIN.lines({"repos": [_repository(below)]}))


def with_hook(source: Source, below: str) -> bytes | None:
    """Return the file with the hook added in its own style; None if it has it.

    Raises AdditionError if it is no pre-commit configuration, or written so that nothing can be added.
    """
    root = _root_of(source)
    entry = root.own("repos")
    if entry is None or isinstance(entry.value, yaml.Alias):
        raise AdditionError("it has no list of `repos`")
    hooks = (item for repo in _items(entry.value) for item in _items(yaml.get(repo, "hooks")))
    if any(yaml.text(hook, "id") == "kcheck" for hook in hooks):
        return None
    repo = _repository(below)
    edits = edits_to_add(entry.value.span, Insertion(items=[repo]))

    def expected(before: dict[str, Data]) -> dict[str, Data]:
        old = before["repos"]
        return before | {"repos": [*(old if isinstance(old, list) else ()), repo]}

    return _apply_checked(source, edits, expected)


def _items(node: yaml.Node | None) -> tuple[yaml.Node, ...]:
    node = yaml.resolve(node) if node is not None else None
    return node.items if isinstance(node, yaml.Sequence) else ()


WORKFLOWS = ".github/workflows"
WORKFLOW = f"{WORKFLOWS}/kcheck.yml"
GITLAB = ".gitlab-ci.yml"
CHECKOUT = "actions/checkout@de0fac2e4500dabe0009e67214ff5f5447ce83dd # v6.0.2"
_PATTERNS = (*(f"*{suffix}" for suffix in SUFFIXES), *NAMES)
_CHECKS = regex(r"test|lint|check|valid|verify|quality", re.IGNORECASE)


def workflow(below: str) -> str:
    """Format a GitHub workflow; `below` is the folder to check, empty for all."""
    paths = [f"{below}/**"] if below else [f"**/{pattern}" for pattern in _PATTERNS]
    own = f"          paths: {yaml.literal(below)}\n" if below else ""
    listed = "".join(f"      - {yaml.literal(path, 'double')}\n" for path in paths)
    return f"""\
name: kcheck

on:
  pull_request:
    paths:
{listed}
permissions: {{}}

jobs:
  kcheck:
    runs-on: ubuntu-latest
    permissions:
      contents: read
      security-events: write # for the results under Security
      pull-requests: write # for the comment on what changes
    steps:
      - uses: {CHECKOUT}
        with:
          fetch-depth: 0 # --diff-base needs the history
          persist-credentials: false
      - uses: kcheck/kcheck@v{__version__}
        with:
{own}          diff-base: origin/${{{{ github.base_ref }}}} # only new findings fail
          sarif: true
          comment: true
"""


def _job(below: str, stage: str | None) -> dict[str, Data]:
    paths: list[Data] = [f"{below}/**/*"] if below else [f"**/{pattern}" for pattern in _PATTERNS]
    check = (
        'kcheck check --diff-base "$CI_MERGE_REQUEST_DIFF_BASE_SHA"'
        " --output-file gitlab=kcheck-quality.json --output-file junit=kcheck-junit.xml"
        f"{f' -- {shlex.quote(below)}' if below else ''}"
    )
    return {
        **({"stage": stage} if stage else {}), "image": "python:3.12",
        "rules": [{"if": '$CI_PIPELINE_SOURCE == "merge_request_event"', "changes": paths}],
        "variables": {"GIT_DEPTH": "0"}, "before_script": [f"pip install {SOURCE}"], "script": [check],
        "artifacts": {"when": "always", "reports": {"codequality": "kcheck-quality.json", "junit": "kcheck-junit.xml"}},
    }  # fmt: skip


def pipeline(below: str) -> str:
    """Format a new .gitlab-ci.yml."""
    return "".join(f"{line}\n" for line in PLAIN.lines({"kcheck": _job(below, None)}))


def with_job(source: Source, below: str) -> bytes | None:
    """Return a .gitlab-ci.yml with the job added; None if it mentions kcheck.

    Raises AdditionError if it is no pipeline, or written so that nothing can be added.
    """
    root = _root_of(source)
    if has_word(source.data, "kcheck"):
        return None
    job = _job(below, _stage(yaml.get(root, "stages")))
    return _apply_checked(source, edits_to_add_last(root, {"kcheck": job}), lambda before: before | {"kcheck": job})


def _stage(stages: yaml.Target | None) -> str | None:
    """Choose a stage for the job; None for `test`, which is GitLab's default."""
    names = [item.text for item in yaml.scalars(stages)]
    if not names or "test" in names:
        return None
    return next(filter(_CHECKS.search, names), names[0])
