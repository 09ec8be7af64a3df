"""Terragrunt's functions; those that look outside the code are unknown."""

import os
from collections.abc import Callable
from typing import TypeAlias

from kcheck.terraform import filesystem
from kcheck.terraform.budget import Budget
from kcheck.terraform.evaluator import value_of
from kcheck.terraform.functions import FUNCTIONS
from kcheck.terraform.scope import Names, Scope
from kcheck.terraform.terragrunt.config import Config
from kcheck.text import scalars
from kcheck.text.files.tree import UNIT
from kcheck.text.scalars import EvaluationError
from kcheck.text.syntax.hcl import nodes
from kcheck.text.values import Datum, Known, Origin, Unknown

_Action: TypeAlias = "Callable[[Config, list[str], Datum | None, Origin], Datum | str]"
"""Function of a config, the text arguments, the last argument as a datum, and the place of the call."""

_OUTSIDE = frozenset({
    "run_cmd", "sops_decrypt_file", "get_aws_account_id", "get_aws_account_alias", "get_aws_caller_identity_arn",
    "get_aws_caller_identity_user_id", "get_platform", "get_terraform_command", "get_terraform_cli_args",
    "get_working_dir", "get_terraform_commands_that_need_vars", "get_terraform_commands_that_need_locking",
    "get_terraform_commands_that_need_input", "get_terraform_commands_that_need_parallelism",
    "get_default_retryable_errors", "get_terragrunt_source_cli_flag", "constraint_check",
})  # fmt: skip


def special(name: str, config: Config) -> Callable[[nodes.Call, Scope], Datum] | None:
    """Find the function of Terragrunt or Terraform with a name."""
    if name in _OUTSIDE:
        return lambda node, _scope: Unknown(f"{node.name}() is not run", Origin((node.span,)))
    action = _TABLE.get(name)
    if action is None:
        return filesystem.special(name, config.host.loader.files(config.folder))
    return lambda node, scope: _call(action, config, node, scope)


def _call(action: _Action, config: Config, node: nodes.Call, scope: Scope) -> Datum:
    origin = Origin((node.span,))
    texts: list[str] = []
    last: Datum | None = None
    for argument in node.arguments:
        last = value_of(argument, scope)
        if isinstance(last, Known) and isinstance(last.value, str | int | bool):
            texts.append(scalars.to_string(last.value))
        elif isinstance(last, Unknown) and argument is node.arguments[0]:
            return Unknown(last.reason, origin)
    if any("\0" in text for text in texts):
        raise EvaluationError("a path cannot hold a null character")
    result = action(config, texts, last, origin)
    return Known(result, origin) if isinstance(result, str) else result


def _slashed(path: str) -> str:
    return path.replace(os.sep, "/")


def _path(to: str, start: str) -> str:
    return _slashed(os.path.relpath(to, start))


def _find_above(config: Config, given: list[str], last: Datum | None, _origin: Origin) -> Datum | str:
    """find_in_parent_folders(): find the nearest file above the unit."""
    name = given[0] if given else UNIT
    folder = config.unit
    while folder.startswith(os.path.join(config.host.top, "")):
        folder = os.path.dirname(folder)
        path = os.path.join(folder, name)
        if config.host.is_folder(path) or config.host.source(path) is not None:
            return _slashed(path)
    if len(given) > 1 and last is not None:
        return last
    raise EvaluationError(f"there is no {name} above {os.path.basename(config.unit)}")


def _included(config: Config, given: list[str]) -> str:
    """Return the folder of an included config, else of the unit."""
    if config.including is not None:
        return config.folder
    found = config.includes.get(given[0]) if given else next(iter(config.includes.values()), None)
    return found[0].folder if found else config.unit


def _environment(_config: Config, given: list[str], last: Datum | None, origin: Origin) -> Datum:
    """get_env(): return the default, because the environment is not read."""
    if len(given) > 1 and last is not None:
        return last
    return Unknown(f"the environment variable {given[0] if given else ''} is not read", origin)


def _read_config(config: Config, given: list[str], last: Datum | None, origin: Origin) -> Datum:
    """read_terragrunt_config(): read another config, else return the fallback."""
    if not given:
        raise EvaluationError("read_terragrunt_config() needs a path")
    path = os.path.normpath(os.path.join(config.unit, given[0]))
    if config.host.is_folder(path):
        path = os.path.join(path, UNIT)
    try:
        found = config.host.config(path, os.path.dirname(path), original=config.original)
    except EvaluationError:
        if last is not None and not (isinstance(last, Known) and last.value == given[0]):
            return last
        raise
    return Known(Names(found.exposed, "read_terragrunt_config()"), origin)


def _read_variables(config: Config, given: list[str], _last: Datum | None, origin: Origin) -> Datum:
    """read_tfvars_file(): read the values of a file, as JSON."""
    source = config.host.source(os.path.join(config.unit, given[0])) if given else None
    if source is None:
        raise EvaluationError(f"there is no file {given[0] if given else ''}")
    values: Datum = Known(dict(config.host.loader.variables.assignments(source).items()), Origin(()))
    return FUNCTIONS["jsonencode"]([values], origin, Budget())


_TABLE: dict[str, _Action] = {
    "find_in_parent_folders": _find_above,
    "path_relative_to_include": lambda config, given, *_: _path(config.unit, _included(config, given)),
    "path_relative_from_include": lambda config, given, *_: _path(_included(config, given), config.unit),
    "get_parent_terragrunt_dir": lambda config, given, *_: _slashed(_included(config, given)),
    "get_terragrunt_dir": lambda config, *_: _slashed(config.unit),
    "get_original_terragrunt_dir": lambda config, *_: _slashed(config.original),
    "get_repo_root": lambda config, *_: _slashed(config.host.top),
    "get_path_to_repo_root": lambda config, *_: _path(config.host.top, config.unit),
    "get_path_from_repo_root": lambda config, *_: _path(config.unit, config.host.top),
    "get_env": _environment,
    "read_terragrunt_config": _read_config,
    "read_tfvars_file": _read_variables,
    "mark_as_read": lambda _config, given, *_: given[0] if given else "",
}
