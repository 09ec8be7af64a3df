"""tests/schemas/providers/*.json and tests/schemas/modules.json, from folders that are unpacked beside the git ones.

These are the bindings `aws`, `google`, `azurerm`, `helm` and `kubernetes` (folders with README.md and lib/, from the
packages cdktn-provider-NAME), the provider sources `alicloud` and the modules `modules/eks` and `modules/vpc`. What is
not there is left as it is. tests/schemas/README.md says what the files hold.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from derive.gits import MissingError
from kcheck.text.syntax.hcl import nodes
from kcheck.text.syntax.hcl.parse import parse
from kcheck.text.text import Source

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parent.parent.parent
SCHEMAS = ROOT / "tests" / "schemas"
TYPES: dict[str, dict[str, list[str]]] = json.loads((SCHEMAS / "types.json").read_text())
"""The resource types and data sources to list."""
MODULES = {"terraform-aws-modules/eks/aws": "eks", "terraform-aws-modules/vpc/aws": "vpc"}
SUBMODULES = ("karpenter", "eks-managed-node-group", "self-managed-node-group")

Body = dict[str, Any]
Member = tuple[str, bool, str, "Body | None"]
"""Its name, whether it is required, how it is written, and the body of what is in it."""


def first(pattern: str, text: str) -> str:
    """The first group of the first match in a text that has one."""
    found = re.search(pattern, text, re.MULTILINE)
    if not found:
        sys.exit(f"nothing here matches {pattern}: {text[:80]!r}")
    return found.group(1)


def body(members: list[Member]) -> Body:
    """A body out of its members."""
    found: Body = {
        "required": " ".join(sorted(name for name, required, _, _ in members if required)),
        "attributes": " ".join(sorted(name for name, _, kind, _ in members if kind == "attributes")),
    }
    for kind in ("blocks", "objects", "either", "maps"):
        found[kind] = {name: inner for name, _, own, inner in sorted(members, key=lambda m: m[0]) if own == kind}
    return {key: value for key, value in found.items() if value}


class Bindings:
    """What the declarations of one resource type or data source in the bindings tell."""

    INTERFACE = re.compile(r"^export interface (\w+)( extends cdktn\.[\w.]+)? \{\n(.*?)^\}", re.MULTILINE | re.DOTALL)
    MEMBER = re.compile(r"/\*\*(.*?)\*/\s*readonly \w+(\??): (.+?);\n", re.DOTALL)

    def __init__(self, folder: Path) -> None:
        text = "\n".join(file.read_text() for file in sorted(folder.rglob("*.d.ts")))
        found = self.INTERFACE.findall(text)
        self.interfaces = {name: inside for name, _, inside in found}
        base = " extends cdktn.TerraformMetaArguments"
        self.config = next(name for name, own, _ in found if own == base or name.endswith("ProviderConfig"))
        self.older = "the id field is automatically added" in self.interfaces[self.config]
        self.is_data = "/docs/data-sources/" in text

    def body(self, interface: str = "") -> Body:
        """The body of the resource, or of an interface that it uses."""
        return body(list(self._members(interface or self.config)))

    def _members(self, interface: str) -> Iterator[Member]:
        for comment, optional, type_ in self.MEMBER.findall(self.interfaces[interface]):
            link = re.search(r"#(\w+) \w+#\w+\}", comment)
            name = link.group(1) if link else ""
            if not name or (name == "id" and interface == self.config and self.older and not self.is_data):
                continue  # meta-arguments have no comment; the id of a resource cannot be given
            inner = next((word for word in re.findall(r"\w+", type_) if word in self.interfaces), None)
            kind = "attributes"
            if inner and re.match(rf"\s*\*\s*{name} block\n", comment):
                kind = "blocks"
            elif inner and "[key: string]" in type_:
                kind = "maps"
            elif inner:
                kind = "either" if self.older and "[]" in type_ else "objects"
            yield name, not optional, kind, self.body(inner) if inner else None


def of_bindings(name: str, folder: Path) -> Body:
    """The lists of a provider from its bindings."""
    package = json.loads((folder / "package.json").read_text())
    found: Body = {
        "provider": f"hashicorp/{name}",
        "version": first(r"provider version (\d+\.\d+\.\d+)", (folder / "README.md").read_text()),
        "source": f"cdktn-provider-{name} {package['version']}: declarations generated from the provider's schema",
    }
    found["configuration"] = Bindings(folder / "lib" / "provider").body()
    for kind in ("resources", "data"):
        found[kind] = {}
        for type_ in sorted(TYPES[name][kind]):
            rest = type_.removeprefix(name + "_").replace("_", "-")
            folder_of = folder / "lib" / (f"data-{name}-{rest}" if kind == "data" else rest)
            found[kind][type_] = Bindings(folder_of).body()
    return found


class Go:
    """Schemas in the sources of a provider that are written with the plugin SDK."""

    TOKEN = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|`[^`]*`|[{}()\[\],]', re.DOTALL)
    FUNCTION = re.compile(r"^func (\w+)\([^)]*\) \*schema\.(?:Resource|Schema) \{\n(.*?)^\}", re.MULTILINE | re.DOTALL)

    def __init__(self, folder: Path) -> None:
        files = [file for file in sorted(folder.glob("*.go")) if not file.name.endswith("_test.go")]
        self.functions = {name: text for file in files for name, text in self.FUNCTION.findall(file.read_text())}
        self.provider = (folder / "provider.go").read_text()

    def registered(self, kind: str) -> dict[str, str]:
        """The functions that make the resource types or the data sources."""
        start = self.provider.index({"resources": "ResourcesMap: map", "data": "DataSourcesMap: map"}[kind])
        pairs = (re.search(r'"(\w+)":\s*(\w+)\(', item) for item in self._items(self.provider, start))
        return {match.group(1): match.group(2) for match in pairs if match}

    def resource(self, text: str, *, timeouts: bool = True) -> Body:
        """The body of a `schema.Resource`."""
        members: list[Member] = []
        for item in self._items(text, text.index("map[string]*schema.Schema{")):
            members += self._member(first(r'\A"(\w+)":', item), item.partition(":")[2])
        stated = re.search(r"Timeouts:\s+&schema\.ResourceTimeout\{(.*?)\n\t\t\}", text, re.DOTALL)
        if timeouts and stated:
            names = [name.lower() for name in re.findall(r"^\s*(\w+):", stated.group(1), re.MULTILINE)]
            members.append(("timeouts", False, "blocks", body([(name, False, "attributes", None) for name in names])))
        return body(members)

    def _member(self, name: str, value: str) -> Iterator[Member]:
        called = re.match(r"\s*(\w+)\(", value)
        text = self.functions[called.group(1)] if called else value
        fields = dict(re.findall(r"^(\w+):\s*(.*)$", "\n".join(i.strip() for i in self._items(text, 0)), re.MULTILINE))
        if ("Optional" not in fields and "Required" not in fields) or "Removed" in fields:
            return
        inner = re.search(r"Elem:\s*&schema\.Resource\{", text)
        kind = "blocks" if inner and "TypeMap" not in fields["Type"] else "attributes"
        own = self.resource(text[inner.start() :], timeouts=False) if inner and kind == "blocks" else None
        yield name, "Required" in fields, kind, own

    def _items(self, text: str, start: int) -> Iterator[str]:
        """What stands between the commas of the first braces after a place."""
        depth, last = 0, 0
        for match in self.TOKEN.finditer(text, text.index("{", start)):
            mark = match.group()
            if depth == 1 and mark in (",", "}"):
                item = re.sub(r"^\s*//[^\n]*$", "", text[last : match.start()], flags=re.MULTILINE).strip()
                last = match.end()
                if item:
                    yield item
            depth += (mark in "{([") - (mark in "})]") if len(mark) == 1 else 0
            if depth == 1 and not last:
                last = match.end()
            if not depth:
                return


def of_sources(folder: Path) -> Body:
    """The lists of alicloud from its sources."""
    version = first(r"^## (\d[\d.]+) \((?!Unreleased)", (folder / "CHANGELOG.md").read_text())
    go = Go(folder / "alicloud")
    found: Body = {
        "provider": "aliyun/alicloud",
        "version": version,
        "source": f"the schemas in the provider's sources, tag v{version}",
    }
    found["configuration"] = go.resource(go.provider, timeouts=False)
    for kind in ("resources", "data"):
        functions = go.registered(kind)
        found[kind] = {type_: go.resource(go.functions[functions[type_]]) for type_ in sorted(TYPES["alicloud"][kind])}
    return found


def typed(name: str, type_: nodes.Expression | None, *, required: bool) -> Member:
    """A member of the body of a module, or of an object in it, by its type."""
    kind = "objects"
    while isinstance(type_, nodes.Call):
        if type_.name == "object" and isinstance(type_.arguments[0], nodes.Object):
            return name, required, kind, body([member(*entry) for entry in type_.arguments[0].entries])
        kind = "maps" if type_.name == "map" else kind
        type_ = type_.arguments[0]
    return name, required, "attributes", None


def member(key: nodes.Expression, type_: nodes.Expression) -> Member:
    """A member of an object type."""
    optional = isinstance(type_, nodes.Call) and type_.name == "optional"
    return typed(key.span.text, type_, required=not optional)


def of_variables(file: Path) -> Body:
    """The inputs of a module."""
    members = []
    for block in parse(Source(file.name, file.read_bytes())).body.all("variable"):
        entries = block.body.entries
        type_ = entries["type"].expression if "type" in entries else None
        members.append(typed(block.labels[0], type_, required="default" not in entries))
    return body(members)


def of_modules(folder: Path) -> Body:
    """The inputs of all modules, with their versions."""
    found: Body = {}
    for source, name in MODULES.items():
        version = first(r"^## \[([\d.]+)\]", (folder / name / "CHANGELOG.md").read_text())
        told = {"version": version, "source": f"variables.tf at tag v{version}"}
        found[source] = told | {"inputs": of_variables(folder / name / "variables.tf")}
        for part in SUBMODULES:
            if (file := folder / name / "modules" / part / "variables.tf").exists():
                found[f"{source}//modules/{part}"] = told | {"inputs": of_variables(file)}
    return found


def derive(folder: Path, _profiles: Path) -> dict[Path, str]:
    """The new text of each file whose sources are in the folder."""
    found: dict[Path, Body] = {}
    for name in TYPES:
        if (folder / name / "lib").is_dir() or (folder / name / name).is_dir():
            own = of_sources(folder / name) if name == "alicloud" else of_bindings(name, folder / name)
            found[SCHEMAS / "providers" / f"{name}.json"] = own
    if (folder / "modules").is_dir():
        found[SCHEMAS / "modules.json"] = {"modules": of_modules(folder / "modules")}
    if not found:
        raise MissingError(f"no sources of {', '.join((*TYPES, 'modules'))} in {folder}")
    checked = {path: json.loads(path.read_text(encoding="utf-8"))["checked"] for path in found}
    return {path: written({"checked": checked[path]} | own) for path, own in found.items()}


def written(value: Body) -> str:
    """A file with one resource type or module a line."""
    return printed(value, 2 if "provider" in value else 3) + "\n"


def printed(value: object, depth: int) -> str:
    """JSON with lines for the first levels of objects."""
    if not isinstance(value, dict) or not depth:
        return json.dumps(value, separators=(",", ":"))
    inner = ",\n".join(f"{json.dumps(key)}: {printed(item, depth - 1)}" for key, item in value.items())
    return f"{{\n{inner}\n}}"
