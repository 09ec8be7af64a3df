"""Service accounts, and the settings their pods inherit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from kcheck.kubernetes.workloads.scalars import items, written
from kcheck.text.values import Known, Origin, known

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kcheck.kubernetes.objects import Object
    from kcheck.model import Workload

KIND = "ServiceAccount"
_DEFAULT = "default"


def with_secrets(objects: Iterable[Object]) -> dict[str, list[Object]]:
    """The service accounts that give pull secrets to their pods, by name."""
    result: dict[str, list[Object]] = {}
    for item in objects:
        if item.kind == KIND and items(item.root, "imagePullSecrets"):
            result.setdefault(str(known(written(item.root, "metadata", "name"))), []).append(item)
    return result


def signed_in(workload: Workload, item: Object, accounts: dict[str, list[Object]]) -> Workload:
    """A workload with the pull secrets of its account."""
    if not accounts or not workload.templates or known(workload.pull_secrets) is not False:
        return workload
    for template in workload.templates:
        name = known(template.account) or _DEFAULT
        account = next((one for one in accounts.get(name, []) if _serves(one, item, workload, name)), None)
        if account is not None:
            return replace(workload, pull_secrets=Known(value=True, origin=Origin((account.span,))))
    return workload


def _serves(account: Object, item: Object, workload: Workload, name: str) -> bool:
    """Whether a service account is in a workload's namespace; a default one also in its folder."""
    spaces = known(written(account.root, "metadata", "namespace")), known(workload.namespace)
    return (None in spaces or spaces[0] == spaces[1]) and (name != _DEFAULT or account.folder == item.folder)
