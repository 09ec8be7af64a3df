"""Render templates with Jinja2, aligned like `terraform fmt`."""

from __future__ import annotations

import json
import os
import re
from functools import cache
from itertools import count
from math import prod
from textwrap import indent
from typing import TYPE_CHECKING

from yaml import load

from kcheck.config.numbers.clouds import folder
from kcheck.generate.parts import is_wanted
from kcheck.text import bundled
from kcheck.text.syntax import yaml
from kcheck.text.syntax.hcl import align
from kcheck.text.units import money

if TYPE_CHECKING:
    from collections.abc import Iterator

    from jinja2 import Environment

_SUFFIX = ".j2"


@cache
def _environment() -> Environment:
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    environment = Environment(
        loader=FunctionLoader(_template), undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True,
        keep_trailing_newline=True, autoescape=False,  # noqa: S701 - what is written is no HTML
    )  # fmt: skip
    environment.filters |= {"commas": "{:,}".format, "money": money}
    environment.filters["product"] = prod
    environment.filters["yaml"] = lambda values: ", ".join(map(yaml.literal, values))
    environment.filters["sentence"] = lambda words: f"{words[:1].upper()}{words[1:]}."
    environment.filters["inset"] = lambda text, width: indent(text, " " * width)
    environment.filters["numbered"] = _numbered
    environment.filters["variable_names"] = lambda text: re.findall(r"(?m)^- name: (\S+)", text)
    environment.filters["bare"] = lambda text, bare: re.sub(r"(?m)^ *#.*\n|^\n", "", text) if bare else text
    environment.filters["from_yaml"] = lambda text: load(text, bundled.loader())  # noqa: S506 - it is a safe one
    environment.filters["grid"] = lambda i: {"x": i % 2 * 12, "y": i // 2 * 8, "w": 12, "h": 8}
    environment.filters["json"] = lambda value: json.dumps(value, indent=1)
    environment.filters["quoted"] = lambda values: ", ".join(f'"{value}"' for value in values)
    return environment


def _template(name: str) -> str | None:
    owner, _, path = name.partition("/")
    try:
        with open(os.path.join(folder(owner), path), encoding="utf-8") as file:
            return file.read()
    except FileNotFoundError:
        return None


def _numbered(text: str) -> str:
    """Renumber list items that are all written as `1.`."""
    numbers = count(1)
    return re.sub(r"(?m)^1\. ", lambda _: f"{next(numbers)}. ", text)


def names(cloud: str) -> Iterator[tuple[str, str]]:
    """Yield the path of every file that a cloud's templates create."""
    for owner in ("any", cloud):
        top = os.path.join(folder(owner), "templates")
        for inside, _, files in sorted(os.walk(top)):
            for name in sorted(files):
                path = os.path.relpath(os.path.join(inside, name), top).replace(os.sep, "/")
                if path.endswith(_SUFFIX) and not name.startswith("_"):
                    yield path.removesuffix(_SUFFIX), f"{owner}/templates/{path}"


def text(template: str, context: dict[str, object]) -> str:
    """Render a template, with nouns in the singular after the number 1."""
    return _PLURAL.sub(r"1 \1", _environment().get_template(template).render(context))


_PLURAL = re.compile(r"(?<![\w.,])1 ((?:training )?(?:node|GPU|hour|address|machine|zone)(?: pool| group)?)(?:e?s)\b")


_ASSIGNED = re.compile(r"(?m)^(\w+) += ")
_VARIABLE = re.compile(r'(?ms)^variable "(\w+)" {\n.*?^}\n\n?')
_VARIED = re.compile(r"\boptional\(|\bvalidation {|\bdefault +=")
"""Parts of a variable whose value changes as the cluster lives."""


def _with_locals(made: dict[str, str]) -> dict[str, str]:
    """Turn variables that never change into locals."""
    declared = made.get("variables.tf", "")
    varied: list[str] = []
    fixed: list[str] = []
    variables = {one[1]: one[0] for one in _VARIABLE.finditer(declared)}
    for paragraph in made.get("terraform.tfvars", "").strip().split("\n\n"):
        own = [variables[name] for name in _ASSIGNED.findall(paragraph)]
        (varied if any(map(_VARIED.search, own)) else fixed).append(paragraph)
    values = "\n\n".join(fixed)
    if not values:
        return made
    names = _ASSIGNED.findall(values)
    for name in names:
        declared = declared.replace(variables[name], "")
    own_files = {"variables.tf": declared, "terraform.tfvars": "\n\n".join(varied)}
    result = made | {path: text and text.strip() + "\n" for path, text in own_files.items()}
    result["locals.tf"] = f"# What is chosen once, for good.\nlocals {{\n{indent(values, '  ')}\n}}\n"
    uses = re.compile(rf"\bvar\.({'|'.join(names)})\b")
    return {path: uses.sub(r"local.\1", text) if path.endswith(".tf") else text for path, text in result.items()}


def _encode(path: str, text: str) -> bytes:
    data = text.encode()
    return align.align_all(data) if path.endswith((".tf", ".tfvars", ".hcl")) else data


def files(cloud: str, context: dict[str, object], parts: tuple[str, ...]) -> dict[str, bytes]:
    """Render the files of a cloud by path, without empty ones."""
    made = {path: text(template, context) for path, template in names(cloud) if is_wanted(path, parts)}
    result = made if "tests" in parts else _with_locals(made)
    return {path: _encode(path, text) for path, text in result.items() if text.strip()}
