"""Evaluate one expression in a root module, as `terraform console` would."""

from fractions import Fraction
from typing import TypedDict

from kcheck.config.config import Config
from kcheck.terraform.configuration import Configuration
from kcheck.terraform.evaluator import value_of
from kcheck.terraform.module import Module
from kcheck.terraform.roots import Loader
from kcheck.text import scalars
from kcheck.text.files.tree import Tree
from kcheck.text.scalars import EvaluationError
from kcheck.text.syntax.hcl.parse import parse
from kcheck.text.text import Source
from kcheck.text.units import decimal_number
from kcheck.text.values import Datum, Known, Unknown, plain


class Answer(TypedDict):
    """Value of an expression, or the reason it is unknown; `origins` are `path:line:column`."""

    value: object
    known: bool
    reason: str | None
    origins: list[str]


def evaluate(expression: str, root: str, config: Config) -> Answer:
    """Evaluate an expression in a root module.

    Raises kcheck.text.files.tree.PathError if there is no such folder, kcheck.config.config.ConfigError if there is no
    such variable file.
    """
    source = Source("<expression>", f"value = (\n{expression}\n)".encode("utf-8", "surrogatepass"))
    file = parse(source)
    entry = file.body.attributes.get("value")
    if file.problems or entry is None:
        return _unknown(file.problems[0].message if file.problems else "not an expression")
    loader = Loader(Tree([root]), config)
    modules = loader.roots(each=False)
    module = modules[0] if modules else None
    scope = (module or Module(Configuration(root), {}, loader)).scope
    try:
        datum = value_of(entry.expression, scope.strictly())
    except EvaluationError as error:
        return _unknown(str(error))
    except RecursionError:
        return _unknown("the expression is nested too deeply")
    spans = datum.origin.spans if datum.origin else ()
    origins = [span.exact_location for span in spans if span.source is not source]
    return _answer(datum, origins)


def _answer(datum: Datum, origins: list[str]) -> Answer:
    if isinstance(datum, Unknown):
        return {**_unknown(datum.reason), "origins": origins}
    try:
        value = plain(Known(datum.value, datum.origin))
        return {"value": _json(value), "known": True, "reason": None, "origins": origins}
    except (ValueError, TypeError) as error:
        return {**_unknown(str(error)), "origins": origins}


def _unknown(reason: str) -> Answer:
    return {"value": None, "known": False, "reason": reason, "origins": []}


def _json(value: object) -> object:
    """Convert a value for JSON; fractions become decimal numbers."""
    if isinstance(value, Fraction):
        return decimal_number(value)
    if isinstance(value, dict):
        return {key: _json(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_json(item) for item in value]
    if isinstance(value, int) and value.bit_length() > scalars.BITS:
        return int(scalars.to_string(value))
    if value is None or isinstance(value, bool | int | str):
        return value
    raise TypeError("a resource or module is not a value; name one of its attributes")
