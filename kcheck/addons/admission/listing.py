"""Which rules are policies, and what the others lack: as a table, and in a sentence."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcheck.addons.admission.table import table
from kcheck.text.units import counted

if TYPE_CHECKING:
    from kcheck.addons.admission.export import Selection
    from kcheck.addons.admission.policies import Policy, Refusal


def rows(selection: Selection) -> list[tuple[str, str, str]]:
    """Each rule, what becomes of it, and what it needs."""
    found = [(one.rule.name, *_exported(one)) for one in selection.policies]
    found += [(one.rule.name, *_refused(one)) for one in selection.refusals]
    refused = table()["refused"]
    return sorted(
        (
            name,
            what,
            "; ".join(filter(None, (why, f"the API server itself refuses {refused[name]}" if name in refused else ""))),
        )
        for name, what, why in found
    )


def why_not(name: str, selection: Selection) -> str:
    """Why a rule is not exported; empty if it is, or would be if the code said more."""
    found = {name: (what, why) for name, what, why in rows(selection)}
    if name not in found:
        return f"{name} is not about Kubernetes objects"
    what, why = found[name]
    if what == "needs PATH" and selection.parameters is None:
        return f"{name} needs values of the code: {why}; give it a PATH that has them"
    return f"{name} cannot be exported: {why}" if what == "cannot" else ""


def _exported(one: Policy) -> tuple[str, str]:
    if one.parameters:
        return "with parameters", ", ".join(one.parameters)
    return "exported", ""


def _refused(one: Refusal) -> tuple[str, str]:
    if one.parameters:
        return "needs PATH", ", ".join(one.parameters)
    subject = one.rule.subject
    if subject in table()["cannot"]:
        return "cannot", table()["cannot"][subject]
    return "cannot", f"{', '.join(one.words)}: not in the object"


def as_text(selection: Selection) -> str:
    """A line for each rule, and why values are not known."""
    found = rows(selection)
    width = max((len(name) for name, _, _ in found), default=0)
    lines = [f"{name:{width}}  {what:15}  {why}".rstrip() for name, what, why in found]
    unknown = selection.parameters.unknown if selection.parameters is not None else {}
    lines += [f"{name} is not known: {why}" for name, why in sorted(unknown.items())]
    return "\n".join([*lines, f"{summary(selection)}", ""])


def summary(selection: Selection) -> str:
    """How many rules are exported, and how many more could be."""
    more = [one for one in selection.refusals if one.parameters]
    said = f"{counted(len(selection.policies), 'rule')} exported"
    if more and selection.parameters is None:
        said += f"; {len(more)} more with PATH, which gives them taints, GPUs and queues"
    elif more:
        said += f"; {len(more)} more need{'s' * (len(more) == 1)} values that are not known here (--list)"
    cannot = len(selection.refusals) - len(more)
    return f"{said}; {cannot} cannot be (--list)" if cannot else said
