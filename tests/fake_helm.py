"""Fill in the values of a chart, as much of `helm template` as the tests need."""

from __future__ import annotations

import os
import re
import sys
import time
from typing import TYPE_CHECKING, Any

import yaml

if TYPE_CHECKING:
    from collections.abc import Iterator

TREE = re.compile(r"\{\{- toYaml \.([\w.]+) \| nindent (\d+) \}\}")
VALUE = re.compile(r"\{\{-? *\.([\w.]+).*?\}\}")


def rendered(name: str, folder: str, values: dict[str, Any]) -> Iterator[str]:
    """Yield the templates in a folder, filled in."""

    def value(path: str) -> Any:
        found: Any = values
        for step in path.split(".")[1:]:
            found = (found or {}).get(step)
        return found

    def text(match: re.Match[str]) -> str:
        found = name if match[1].startswith("Release") else value(match[1])
        return "" if found is None else str(found)

    def tree(match: re.Match[str]) -> str:
        lines = yaml.safe_dump(value(match[1]), default_flow_style=False).splitlines()
        return "".join("\n" + " " * int(match[2]) + line for line in lines)

    for here, _, files in sorted(os.walk(os.path.join(folder, "templates"))):
        for file in sorted(files):
            with open(os.path.join(here, file)) as opened:
                filled = VALUE.sub(text, TREE.sub(tree, opened.read()))
            path = os.path.relpath(os.path.join(here, file), folder).replace(os.sep, "/")
            yield f"---\n# Source: train/{path}\n{filled}\n"


def merged(under: dict[str, Any], over: dict[str, Any]) -> dict[str, Any]:
    """Return two sets of values, merged as Helm does."""
    both = {key: merged(under[key], over[key]) for key in over if isinstance(under.get(key), dict) and over[key]}
    return {**under, **over, **both}


def main(verb: str, name: str, folder: str, *flags: str) -> None:
    """Print what `helm template` would print."""
    assert verb == "template"
    values: dict[str, Any] = {}
    for path in [os.path.join(folder, "values.yaml"), *(flag.partition("=")[2] for flag in flags)]:
        with open(path) as file:
            values = merged(values, yaml.safe_load(file) or {})
    time.sleep(values.get("sleep", 0))
    if values.get("fail"):
        sys.stdout.write("partly: printed\n")
        sys.exit(f"Error: execution error at (train/templates/job.yaml:1:3):\n  {values['fail']}")
    sys.stdout.writelines(rendered(name, folder, values))


if __name__ == "__main__":
    main(*sys.argv[1:])
