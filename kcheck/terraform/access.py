"""Read attributes and elements of values, known or unknown."""

from collections.abc import Callable, Iterable, Iterator

from msgspec.structs import replace

from kcheck.terraform import convert
from kcheck.text import scalars
from kcheck.text.data_types import SetData
from kcheck.text.keys import key_of, loose_keys
from kcheck.text.scalars import AbsentError, EvaluationError
from kcheck.text.values import Answer, Datum, DatumValue, Either, Key, Known, Partial, Unknown, Unrendered, known


def attribute(target: Datum, name: str) -> Datum:
    """Evaluate `target.name`, or raise EvaluationError for a missing attribute."""
    if isinstance(target, Unknown):
        if isinstance(target, Either):
            return each_branch(target, lambda branch: attribute(branch, name))
        if isinstance(target, Partial):
            return _of_partial(target, name)
        asked = target.echo(name) if isinstance(target, Answer) else None
        if isinstance(asked, Known | Unrendered):
            return asked
        symbol = target.symbol
        if symbol is not None and symbol.attribute != "?":
            symbol = symbol._replace(attribute=f"{symbol.attribute}.{name}" if symbol.attribute else name)
        return Unknown(target.reason, target.origin, symbol)
    value = target.value
    if isinstance(value, dict):
        if name in value:
            return value[name]
        for loose in loose_keys(value):
            return Unknown(loose.datum.reason, target.origin)
        message = f"there is no attribute `{name}`"
        if target.origin.spans:
            raise AbsentError(message, target.origin.below(name))
        raise EvaluationError(message)
    if value is not None and hasattr(value, "attribute"):
        return value.attribute(name)
    if isinstance(value, tuple) and not isinstance(value, SetData):
        raise EvaluationError(f"`.{name}` on a list; use `[*].{name}` or an index")
    raise EvaluationError(f"there is no attribute `{name}` on {convert.kind_name(value)}")


def each_branch(target: Either, step: Callable[[Datum], Datum]) -> Datum:
    """Read an attribute or element of each branch of a choice that has it."""
    branches = []
    for branch in target.branches:
        try:
            branches.append(step(branch))
        except EvaluationError:
            continue
    symbols = {branch.symbol for branch in branches if isinstance(branch, Unknown)}
    only = symbols.pop() if len(branches) == len(symbols) == 1 else None
    return Either(target.reason, target.origin, only if target.symbol else None, branches=tuple(branches))


def _of_partial(target: Partial, name: Key) -> Datum:
    """Look up an element of a partly known map, certain ones first."""
    if not isinstance(target.part, dict) or not isinstance(target.rest, dict):
        raise EvaluationError(f"`.{name}` on a list; use `[*].{name}` or an index")
    if name in target.part:
        return target.part[name]
    loose = loose_keys((*target.part, *target.rest))
    found = [target.rest[key] for key in (name, *loose) if key in target.rest]
    if not found and not loose:
        message = f"there is no attribute `{name}`"
        raise AbsentError(message, target.origin.below(str(name))) if target.origin else EvaluationError(message)
    return _one_of(target, found)


def _one_of(target: Partial, found: list[Datum]) -> Datum:
    """Return a choice of elements; a single resource instance stands for all."""
    if len(found) == 1 and (isinstance(found[0], Answer) or scalars.kind(known(found[0])) == "resource"):
        return found[0]
    return Either(target.reason, target.origin, target.symbol, branches=tuple(found))


def index(target: Datum, key: Datum) -> Datum:
    """Evaluate `target[key]`, or raise EvaluationError for an invalid index."""
    if isinstance(target, Unknown):
        if isinstance(target, Either):
            return each_branch(target, lambda branch: index(branch, key))
        if isinstance(target, Partial):
            return _indexed(target, key)
        symbol = target.symbol and target.symbol.element(key)
        if isinstance(target, Answer):
            return replace(target, symbol=symbol)
        return Unknown(target.reason, target.origin, symbol)
    value = target.value
    if isinstance(key, Unknown):
        return _chosen(target, key)
    if isinstance(value, tuple) and not isinstance(value, SetData):
        number = scalars.to_number(key.value)
        if not isinstance(number, int) or not 0 <= number < len(value):
            raise EvaluationError(f"the list has {len(value)} elements, there is no element {number}")
        return value[number]
    if isinstance(value, dict) or hasattr(value, "attribute"):
        return attribute(target, scalars.to_string(key.value))
    raise EvaluationError(f"{convert.kind_name(value)} cannot be indexed")


def _indexed(target: Partial, key: Datum) -> Datum:
    reference = key_of(key) if isinstance(key, Unknown) else None
    if isinstance(target.part, dict):
        name = reference if isinstance(key, Unknown) else scalars.to_string(key.value)
        if name is not None and (isinstance(key, Known) or name in target.part):
            return _of_partial(target, name)
    return _one_of(target, list(target.elements()))


def _chosen(target: Known[DatumValue], key: Unknown) -> Datum:
    """Index a known collection with an unknown key: any element may result."""
    value = target.value
    if isinstance(value, dict):
        reference = key_of(key)
        if reference is not None and reference in value:
            return value[reference]
        return Either(key.reason, target.origin, branches=tuple(value.values()))
    if isinstance(value, tuple) and not isinstance(value, SetData):
        return Either(key.reason, target.origin, branches=value)
    return Unknown(key.reason, target.origin)


def spliced(values: Iterable[Datum]) -> Iterator[Datum]:
    """Yield items with nested lists flattened by one level."""
    for value in values:
        if isinstance(value, Known) and isinstance(value.value, tuple):
            yield from value.value
        else:
            yield value
