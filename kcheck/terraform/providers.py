"""Find provider blocks of resources and allowed provider versions of root modules."""

from collections.abc import Iterator, Mapping

from kcheck.terraform.module import Module
from kcheck.terraform.resource import BlockRecord, Instance
from kcheck.text import versions
from kcheck.text.syntax.hcl import nodes
from kcheck.text.versions import Range


def provider_block(instance: Instance, root: Module) -> BlockRecord | None:
    """Find the provider block of a resource; None without one.

    It is the one that the resource names, else the one without alias that matches its type: in its own module, else in
    a caller that passes it on.
    """
    modules = list(_module_of(instance, root).callers())
    if not any(module.configuration.providers for module in modules):  # as in a plan, whose resources are no blocks
        return None
    block = instance.block
    entry = block.body.attributes.get("provider")
    prefix = block.labels[0].partition("_")[0]
    wanted: tuple[str, ...] = (entry.value_span.text.strip('"'),) if entry else (prefix, f"{prefix}-beta")
    for module in modules:
        for name in wanted:
            for provider in module.configuration.providers:
                passed = not provider.body.blocks and provider.body.attributes.keys() <= {"alias", "version"}
                if _name(provider) == name and (module.caller is None or not passed):
                    return BlockRecord(provider, module.scope)
        wanted = _passed(wanted, module.block)
    return None


def _module_of(instance: Instance, root: Module) -> Module:
    module = root
    while True:
        inner = [child for child in module.parts() if instance.address.startswith(f"{child.address}.")]
        if not inner:
            return module
        module = inner[0]


def _passed(wanted: tuple[str, ...], call: nodes.Block | None) -> tuple[str, ...]:
    """Translate provider names into the caller's."""
    entry = call.body.attributes.get("providers") if call is not None else None
    if entry is None:
        return tuple(name for name in wanted if "." not in name)
    if not isinstance(entry.expression, nodes.Object):
        return ()
    given = {_named(key): _named(value) for key, value in entry.expression.entries}
    return tuple(given[name] for name in wanted if name in given)


def _named(node: nodes.Expression) -> str:
    """Return the name or text of an expression, such as `aws.west`; else empty."""
    if isinstance(node, nodes.GetAttr):
        return f"{_named(node.target)}.{node.name}"
    return node.name if isinstance(node, nodes.Variable) else str(node.value) if isinstance(node, nodes.Literal) else ""


def _name(provider: nodes.Block) -> str:
    alias = provider.body.literal("alias")
    name = provider.labels[0] if provider.labels else ""
    return f"{name}.{alias.value}" if alias is not None else name


_OLD = versions.parse("< 3.0") or versions.ANY
"""Provider versions that may run with Terraform before 0.12: the clouds' providers dropped it at 2.0 or 3.0."""


def pinned_versions(root: Module) -> Mapping[str, Range]:
    """Return the allowed provider versions of a root, where constrained."""
    old = any(module.configuration.old for module in root.all())
    result: dict[str, Range] = {kind.partition("_")[0]: _OLD for kind in root.kinds()} if old else {}
    wanted = [pair for module in root.all() for pair in _required(module)]
    for name, constraint in (*wanted, *root.host.locked(root.configuration.folder).items()):
        found = versions.parse(constraint)
        both = found.both(result.get(name, versions.ANY)) if found else None
        if both is not None:  # Terraform would ask to solve a conflict
            result[name] = both
    return result


def _required(module: Module) -> Iterator[tuple[str, str]]:
    configuration = module.configuration
    if configuration.skeleton:
        return
    for block in configuration.required:
        for name, entry in block.body.attributes.items():
            node = entry.expression
            if isinstance(node, nodes.Object):
                parts = {_named(key): _named(value) for key, value in node.entries}
                yield parts.get("source", name).rpartition("/")[2], parts.get("version", "")
            else:
                yield name, _named(node)
    for provider in configuration.providers:
        written = provider.body.attributes.get("version")
        if written is not None:
            yield provider.labels[0], _named(written.expression)
