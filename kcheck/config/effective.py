"""Settings of a run: the nearest settings file, overridden by flags."""

from collections.abc import Mapping

from msgspec.structs import replace

from kcheck.config.config import Config, ConfigError, Written, parse_nodes, parse_price, parse_variables
from kcheck.config.locations import find_file
from kcheck.text.files.boundary import around
from kcheck.text.files.disk import Disk

_FLAGS = {
    "var_files": "var-file", "variables": "var", "env_vars": "env-vars", "helm_values": "helm-values",
    "module_dirs": "module-dir", "outside": "allow-outside",
}  # fmt: skip
"""Settings whose flag has another name."""
_PATHS = ("var_files", "helm_values", "module_dirs", "rules", "usage")
"""Flags that name files and folders, which may be outside the repository."""


def flag(name: str) -> str:
    """Return the flag of a setting."""
    return f"--{_FLAGS.get(name, name)}"


def effective_config(
    paths: tuple[str, ...],
    file: str | None,
    flags: Written,
    overlay: Mapping[str, bytes | None] | None = None,
    top: str | None = None,
) -> Config:
    """Load the nearest settings file and override it by flags.

    `top` is the repository of the paths, whether or not git knows it. Raises ConfigError if the file or a flag is
    invalid.
    """
    given = {name: value for name, value in flags.items() if value}
    own = [path for name in _PATHS for path in given.get(name, ())]
    outside = given.pop("outside", ())
    boundary = (around(paths or (".",), outside) if top is None else around((), (top, *outside))).widened(own)
    disk = Disk(overlay, boundary)
    config = Config(boundary=boundary)
    if found := file or find_file(paths, disk, top):
        from kcheck.config import settings  # with JSON and the schemas: 8 ms

        config = settings.load_file(found, disk, boundary, is_named=file is not None)
    return _overridden(config, given)


def _overridden(config: Config, given: Written) -> Config:
    """Replace settings by flags. Raises ConfigError if a flag is invalid."""
    places = config.places | {name: flag(name) for name in given}
    nodes = parse_nodes(given.pop("nodes", ()))
    variables = parse_variables(given.pop("variables", ()))
    price = parse_price(given.pop("price", None))
    recording, *_ = given.pop("usage", (config.usage.recording,))
    if "helm_values" in given and not given.get("render", config.render):
        raise ConfigError("--helm-values needs --render helm")
    environments = config.environments
    if "" in nodes:
        environments = tuple(replace(environment, nodes=None) for environment in environments)
    if price is not None:
        environments = tuple(replace(environment, price=None) for environment in environments)
    return replace(
        config, nodes=config.nodes | nodes, variables=variables, price=config.price if price is None else price,
        environments=environments, usage=replace(config.usage, recording=recording), places=places,
        render_refused=config.render_refused and "render" not in given, **given,
    )  # fmt: skip
