"""Cluster Toolkit blueprints as root modules: module calls and passed outputs.

https://github.com/GoogleCloudPlatform/cluster-toolkit/blob/main/pkg/config/expand.go
"""

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import partial

from kcheck.terraform import missing_modules
from kcheck.terraform.configuration import Configuration
from kcheck.text.files import configurations
from kcheck.text.regex import regex
from kcheck.text.syntax import yaml
from kcheck.text.syntax.hcl import nodes, write
from kcheck.text.syntax.hcl.parse import parse_expression
from kcheck.text.text import Source, Span

_TOOLKIT = "github.com/GoogleCloudPlatform/cluster-toolkit//"
_EMBEDDED = ("modules/", "community/modules/")
"""Prefixes of modules that the toolkit includes."""
_WHOLE = regex(r"\$\(((?:[^()]|\((?:[^()]|\([^()]*\))*\))*)\)|\(\((.*)\)\)", re.DOTALL)
_PART = regex(r"\\?\$\(((?:[^()]|\([^()]*\))*)\)")
_NAME = regex(r"(?<![\w.\"$-])([A-Za-z_][\w-]*)(?=\.)")
_MOST = 100_000
"""Limit of values, far above that of any real blueprint."""
_ID = "internal_ghpc_module_id"
"""Input that passes a module its own id."""


def read(files: Mapping[str, Sequence[Source]]) -> Iterator[tuple[str, Configuration]]:
    """Yield blueprint files as declarations of a root module."""
    for source in files[configurations.BLUEPRINT]:
        documents = [document.root for document in yaml.documents(source)]
        if len(documents) == 1 and isinstance(documents[0], yaml.Mapping):
            name = os.path.basename(source.path).rpartition(".")[0]
            folder = os.path.dirname(source.path) or "."
            beside = [s for s in files.get(configurations.DEPLOYMENT, ()) if (os.path.dirname(s.path) or ".") == folder]
            blueprint = _Blueprint(documents[0], folder, beside)
            if blueprint.makes_clusters:
                yield name, blueprint.configuration()


class _Blueprint:
    """A blueprint, with the deployment file beside it if there is only one."""

    def __init__(self, root: yaml.Mapping, folder: str, deployments: list[Source]) -> None:
        self.folder = folder
        self.values = yaml.pairs(root, "vars")
        roots = [document.root for source in deployments for document in yaml.documents(source)]
        if len(roots) == 1:
            self.values |= yaml.pairs(roots[0], "vars")
        self.modules: dict[str, yaml.Mapping] = {}
        self.built = 0
        for group in yaml.items(root, "deployment_groups"):
            for module in yaml.items(group, "modules"):
                label = yaml.get(module, "id")
                if isinstance(label, yaml.Scalar) and isinstance(module, yaml.Mapping):
                    self.modules[label.text] = module
        self.called = {label: self._skeleton(label) for label in self.modules}

    @property
    def makes_clusters(self) -> bool:
        """Whether it creates Kubernetes clusters, rather than Slurm or single machines."""
        return any(
            kind.startswith("google_container_")
            for called in self.called.values()
            if called is not None
            for kind, _ in called.resources
        )

    def _source(self, label: str) -> str:
        text = yaml.text(self.modules[label], "source")
        return _TOOLKIT + text if text.startswith(_EMBEDDED) else text

    def _skeleton(self, label: str) -> Configuration | None:
        """Return the declarations of a called module; None if kcheck does not know it."""
        found = missing_modules.find(self._source(label), "", frozenset(), dict)
        return found if isinstance(found, Configuration) else None

    def configuration(self) -> Configuration:
        result = Configuration(self.folder)
        for name, pair in self.values.items():
            body, value = nodes.Body(pair.value.span), yaml.resolve(pair.value)
            if not isinstance(value, yaml.Scalar) or yaml.value(value) is not None:
                _set(body, "default", pair.key.span, partial(self._expression, pair.value))
            result.variables[name] = nodes.Block("variable", (name,), body, pair.key.span, pair.key.span)
        for label, module in self.modules.items():
            result.calls[label] = self._call(label, module)
        return result

    def _call(self, label: str, module: yaml.Mapping) -> nodes.Block:
        """Build a module call from settings, used modules, then variables."""
        settings, label_of = yaml.get(module, "settings"), yaml.entries(module)["id"]
        header = module.source.span(label_of.key.start, label_of.value.end)
        written = isinstance(settings, yaml.Mapping)
        span = settings.span if isinstance(settings, yaml.Mapping) else module.span
        body = nodes.Body(span)
        _set(body, "source", header, partial(nodes.Literal, header, self._source(label)))
        for name, pair in yaml.pairs(settings).items():
            _set(body, name, pair.key.span, partial(self._expression, pair.value))
        inputs = getattr(self.called[label], "variables", {})
        for one in yaml.scalars(module, "use"):
            outputs = getattr(self.called.get(one.text), "outputs", {})
            for name in inputs.keys() & outputs.keys() - body.attributes.keys():
                _set(body, name, one.span, partial(parse_expression, f"module.{one.text}.{name}", one.span))
        for name in inputs.keys() & self.values.keys() - body.attributes.keys():
            _set(body, name, header, partial(parse_expression, f"var.{name}", header))
        if _ID in inputs:
            body.attributes.pop(_ID, None)
            _set(body, _ID, header, partial(nodes.Literal, header, label))
        return nodes.Block("module", (label,), body, span, header, below=() if written else ("settings",))

    def _expression(self, node: yaml.Node) -> nodes.Expression:
        node = yaml.resolve(node)
        self.built += 1
        if self.built > _MOST:  # aliases of aliases
            return nodes.Invalid(node.span, "the blueprint is too large")
        if isinstance(node, yaml.Mapping):
            entries = ((nodes.Literal(p.key.span, k), self._expression(p.value)) for k, p in yaml.pairs(node).items())
            return nodes.Object(node.span, tuple(entries))
        if isinstance(node, yaml.Sequence):
            return nodes.Tuple(node.span, tuple(map(self._expression, node.items)))
        whole = _WHOLE.fullmatch(node.text.strip())
        if whole is not None:
            text = whole[2] if whole[1] is None else _NAME.sub(self._named, whole[1])
            return parse_expression(text, node.span)
        if "$(" in node.text:
            return self._template(node)
        value = yaml.value(node)
        return nodes.Literal(node.span, Fraction(str(value)) if isinstance(value, float) else value)

    def _template(self, node: yaml.Scalar) -> nodes.Expression:
        def written(match: re.Match[str]) -> str:
            escaped = match[0].startswith("\\")
            return write.inside(match[0]) if escaped else f"${{{_NAME.sub(self._named, match[1])}}}"

        return parse_expression(write.template(node.text, _PART, written), node.span)

    def _named(self, match: re.Match[str]) -> str:
        if match[1] == "vars":
            return "var"
        return f"module.{match[1]}" if match[1] in self.modules else match[1]


def _set(body: nodes.Body, name: str, place: Span, build: Callable[[], nodes.Expression]) -> None:
    body.attributes[name] = nodes.Attribute(name, place, place, build)
