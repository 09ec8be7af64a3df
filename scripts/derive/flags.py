"""profiles/any/flags.yaml: the cluster autoscaler's flags, from its tags and release branches.

A version that is made of the core, in a repository of its own, has the core's flags at the commit in its go.mod.
"""

from __future__ import annotations

import itertools
import json
import re
from collections import defaultdict
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

from derive.gits import needed, repository, tell
from derive.tables import dated

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from derive.gits import Repository

OLD, NEW = "kubernetes/autoscaler", "kubernetes-sigs/cluster-autoscaler"
OLDEST = 15
TAG = r"cluster-autoscaler-1\.\d+\.\d+"
FLAGS = ("main.go", "config/flags/flags.go", "simulator/cluster.go")
CONSTANTS = ("config/const.go", "config/autoscaling_options.go", "estimator/estimator.go", "expander/expander.go")
ELSEWHERE = {"rest.DefaultBurst": 10, "rest.DefaultQPS": 5, "cloudBuilder.DefaultCloudProvider()": "gce"}
"""Constants of other modules: of client-go, and of the files that build tags choose."""
TYPES = {
    "String": "string", "Bool": "bool", "Duration": "duration", "Float64": "float", "StringSlice": "list",
    "StringArray": "list", "multiStringFlag": "list", **dict.fromkeys(("Int", "Int64", "Uint", "Uint64"), "int"),
}  # fmt: skip
UNITS = {"time.Nanosecond": Fraction(1, 10**9), "time.Second": 1, "time.Minute": 60, "time.Hour": 3600}
Version = tuple[int, int]
"""Minor and patch."""
Default = int | str | bool | Fraction | list[str]


class Flag(NamedTuple):
    """A flag in one version; None for a default that nothing here tells."""

    type: str
    default: Default | None


def derive(gits: Path, profiles: Path) -> dict[Path, str]:
    """The new text of the file: each flag's line from the sources, the comments and successors as they were."""
    path = profiles / "any" / "flags.yaml"
    found = versions(gits)
    head, _, body = path.read_text(encoding="utf-8").partition("\nflags:\n")
    old = {line.split(":")[0].strip(): line for line in body.splitlines()}
    read = {name for flags in found.values() for name in flags}
    own = needed(gits, OLD)
    tagged = max((int(tag.split(".")[1]) for tag in own.names(TAG)), default=0)
    kept = {name for name, line in old.items() if later(line, max(found)[0] if name in read else tagged)}
    names = sorted(read | kept)
    lines = [old[name] if name in kept else written(name, found, old.get(name, "")) for name in names]
    text = head + "\nflags:\n" + "".join(f"{line}\n" for line in lines)
    return {path: dated(text, own.commit(".")[1])}


def later(line: str, minor: int) -> bool:
    """Whether a flag's line is of a source that was not read: it names a minor version past the newest one."""
    return any(int(one or two) > minor for one, two in re.findall(r"(?:first|removed): 1\.(\d+)|[{,] ?(\d+): ", line))


def versions(gits: Path) -> dict[Version, dict[str, Flag]]:
    """The flags of each version: of the tags, of release branches without one, and of what comes next."""
    own = needed(gits, OLD)
    tags: dict[Version, str] = {}
    for name in own.names(TAG):
        minor, patch = (int(part) for part in name.rpartition("-")[2].split(".")[1:])
        tags[minor, patch] = name
    for name in own.names(r"(origin/)?cluster-autoscaler-release-1\.\d+"):
        minor = int(name.rpartition(".")[2])
        if all(minor != tagged for tagged, _ in tags):
            tags[minor, 0] = name
    tags = {version: tags[version] for version in sorted(tags) if version[0] >= OLDEST}
    folder = "cluster-autoscaler"
    texts = own.texts(f"{tag}:{folder}/{file}" for tag in tags.values() for file in (*FLAGS, *CONSTANTS))
    found = {version: flags(texts, f"{tag}:{folder}") for version, tag in tags.items()}
    core, last = repository(gits, NEW), max(found)[0]
    if core is None:
        tell("flags", f"no git directory of {NEW} in {gits}: what comes next is not read")
    for name, text in own.texts(f"{tag}:{folder}/go.mod" for tag in tags.values()).items():
        if pinned := PINNED.search(text):
            version = next(version for version, tag in tags.items() if name.startswith(f"{tag}:"))
            del found[version]
            if core and (read := of_core(core, pinned[1] or pinned[2])):
                found[version] = read
            else:
                tell("flags", f"{name} has the flags of {NEW} at {pinned[1] or pinned[2]}, which is not here")
    if core:
        found[last + 1, 0] = of_core(core, "HEAD")
    return dict(sorted(found.items()))


PINNED = re.compile(r"^\s*(?:require )?sigs\.k8s\.io/cluster-autoscaler v(?:\S+-([0-9a-f]{12})$|(\S+))", re.MULTILINE)
"""The commit, or else the version, of the core in the go.mod of an autoscaler that is made of it."""


def of_core(core: Repository, revision: str) -> dict[str, Flag]:
    """The flags of the core at a revision; none if it is not there."""
    at = revision if re.fullmatch(r"HEAD|[0-9a-f]{12}", revision) else f"v{revision}"
    texts = core.texts(f"{at}:pkg/{file}" for file in (*FLAGS, *CONSTANTS))
    return flags(texts, f"{at}:pkg")


def flags(texts: Mapping[str, str], folder: str) -> dict[str, Flag]:
    """The flags of one version."""
    code = {file: stripped(texts[at]) for file in (*FLAGS, *CONSTANTS) if (at := f"{folder}/{file}") in texts}
    constants: dict[str, str] = {}
    for text in code.values():
        for name, value in re.findall(r"^\s*(?:const\s+|var\s+)?(\w+)(?:\s+[\w.]+)?\s*=\s*(.+)$", text, re.MULTILINE):
            constants.setdefault(name, value)
    found = {}
    for file in FLAGS:
        for type_, arguments in calls(code.get(file, "")):
            name = evaluated(arguments[0], constants)
            if isinstance(name, str) and name and "(" not in arguments[0]:
                given = [] if type_ == "list" else evaluated(arguments[1], constants)
                default = f"{spelled(given)}" if type_ == "duration" and isinstance(given, int | Fraction) else given
                found[name] = Flag(type_, default)
    return found


TOKEN = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|`[^`]*`', re.DOTALL)


def stripped(code: str) -> str:
    """Go without its comments."""
    return TOKEN.sub(lambda token: "" if token[0].startswith("/") else token[0], code)


CALL = re.compile(r"\b(?:(?:flag|pflag|fs)\.(\w+?)(Var)?|(multiStringFlag))\(")
BRACKET = re.compile(r'"(?:\\.|[^"\\\n])*"|`[^`]*`|[(){}\[\],]')


def calls(code: str) -> Iterator[tuple[str, list[str]]]:
    """The calls that make flags: type and arguments, without the variable."""
    for call in CALL.finditer(code):
        type_ = TYPES.get(call[3] or call[1])
        arguments = split(code, call.end())[1 if call[2] else 0 :]
        if type_ and len(arguments) > 1:
            yield type_, arguments


def split(code: str, start: int) -> list[str]:
    """The arguments of a call whose bracket opens before a place."""
    depth, at, found = 0, start, []
    for token in BRACKET.finditer(code, start):
        mark = token[0]
        if depth == 0 and mark in ",)":
            found.append(code[at : token.start()].strip())
            at = token.end()
            if mark == ")":
                break
        depth += (mark in "([{") - (mark in ")]}") if len(mark) == 1 else 0
    return found


def evaluated(code: str, constants: Mapping[str, str], depth: int = 0) -> Default | None:
    """The value of a constant expression of Go; None if it is none of those that flags have."""
    code = code.strip()
    if depth > 8:
        return None
    if code.startswith('"'):
        return str(json.loads(code)) if code.count('"') == 2 else None
    if code in ("true", "false"):
        return code == "true"
    if code in ELSEWHERE:
        return ELSEWHERE[code]
    if re.fullmatch(r"-?\d+(\.\d+)?", code):
        number = Fraction(code)
        return int(number) if "." not in code else number
    if wrapped := re.fullmatch(r"(?:float64|int|int64|time\.Duration)\((.*)\)", code):
        return evaluated(wrapped[1], constants, depth + 1)
    if pair := re.fullmatch(r"minMaxFlagString\((.*), (.*)\)", code):
        ends = [evaluated(end, constants, depth + 1) for end in pair.groups()]
        return None if None in ends else ":".join(map(str, ends))
    if code in UNITS:
        return UNITS[code]
    if "*" in code:
        factors = [evaluated(part, constants, depth + 1) for part in code.split("*")]
        product = Fraction(1)
        for factor in factors:
            if isinstance(factor, bool) or not isinstance(factor, int | Fraction):
                return None
            product *= factor
        return product if product.denominator != 1 else int(product)
    name = code.rpartition(".")[2]
    return evaluated(constants[name], constants, depth + 1) if name in constants and constants[name] != code else None


def spelled(seconds: int | Fraction) -> str:
    """A duration as people write it: 10m, 1h, 5s."""
    for unit, size in (("h", 3600), ("m", 60)):
        if seconds and seconds % size == 0:
            return f"{seconds // size}{unit}"
    return f"{seconds}s"


def written(name: str, found: Mapping[Version, Mapping[str, Flag]], old: str) -> str:
    """The line of a flag in the file."""
    own = {version: flags[name] for version, flags in found.items() if name in flags}
    newest = own[max(own)]
    entry = [f"type: {newest.type}", f"default: {shown(newest, old)}"]
    if before := changed(own):
        entry.append("before: {" + ", ".join(f"{minor}: {shown(flag, old)}" for minor, flag in before) + "}")
    first, removed = span(list(found), set(own))
    if first:
        entry.append(f"first: {first[0]}" if len(first) == 1 else f"first: [{', '.join(first)}]")
    if removed:
        entry.append(f"removed: {removed}")
    if successor := re.search(r"successor: [\w-]+", old):
        entry.append(successor[0])
    return f"  {name}: {{{', '.join(entry)}}}"


def shown(flag: Flag, old: str) -> str:
    """A default as YAML; what was there where the sources do not tell it."""
    value = flag.default
    if value is None:
        kept = re.search(r"default: (\"[^\"]*\"|\[[^]]*\]|[^,}]+)", old)
        return kept[1] if kept else "null"
    if isinstance(value, Fraction):
        return str(float(value)) if value.denominator != 1 else str(int(value))
    if isinstance(value, str):
        return value if re.fullmatch(r"[a-zA-Z][\w-]*|\d+[smh]", value) else json.dumps(value)
    return json.dumps(value)


def changed(own: Mapping[Version, Flag]) -> list[tuple[int, Flag]]:
    """The defaults before the newest: the first minor version without each."""
    found: list[tuple[int, Flag]] = []
    ordered = sorted(own)
    for version, following in itertools.pairwise(ordered):
        old, new = own[version], own[following]
        if old.default != new.default and None not in (old.default, new.default):
            found.append((following[0], old))
    return found


def span(versions: list[Version], own: set[Version]) -> tuple[list[str], str]:
    """The first version with a flag, in each minor version where that is a patch; and the first without it."""
    patches: dict[int, list[int]] = defaultdict(list)
    for minor, patch in versions:
        patches[minor].append(patch)
    minors = sorted({minor for minor, _ in own})
    first = []
    for minor in minors:
        with_it = [patch for patch in patches[minor] if (minor, patch) in own]
        whole = len(with_it) == len(patches[minor])
        if not whole or not first:
            first.append(f"1.{minor}.{0 if whole else min(with_it)}")
        if whole and len(first) > 1 and minor > int(first[-1].split(".")[1]):
            break
        if whole:
            break
    first = [] if first == [f"1.{OLDEST}.0"] else first
    after = [version for version in versions if version > max(own)]
    gone = min(after) if after and max(own)[0] < max(versions)[0] else None
    return first, f"1.{gone[0]}.{gone[1] if gone[0] == max(own)[0] else 0}" if gone else ""
