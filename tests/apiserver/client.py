"""Ask an API server whether it would accept an object."""

from __future__ import annotations

import http.client
import json
import re
import ssl
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from tests.apiserver.definitions import Definitions

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

Object = dict[str, Any]

SECONDS = 30
_WARNING = re.compile(r'299 \S+ "((?:[^"\\]|\\.)*)"')


@dataclass(frozen=True)
class Answer:
    """A response of the API server."""

    status: int
    body: Object
    warnings: tuple[str, ...] = ()

    @property
    def taken(self) -> bool:
        """Return whether the server accepts the object.

        AlreadyExists counts as accepted, because the server finds it after all other checks.
        """
        return self.status < 300 or self.body.get("reason") == "AlreadyExists"

    @property
    def message(self) -> str:
        """The server's message, which says why it refused."""
        return str(self.body.get("message", ""))

    @property
    def causes(self) -> list[tuple[str, str]]:
        """Causes of a refusal, as (reason, field)."""
        details = self.body.get("details") or {}
        found = [(one.get("reason", ""), one.get("field", "")) for one in details.get("causes") or []]
        return [cause for cause in found if cause[1] != "<nil>"]  # that it did not look further

    @property
    def only_lacks(self) -> bool:
        """Return whether the only fault is that required fields are missing."""
        return not self.taken and {reason for reason, _ in self.causes} == {"FieldValueRequired"}


@dataclass(frozen=True)
class Resource:
    """The collection that holds the objects of a kind."""

    path: str
    namespaced: bool


class NotServedError(Exception):
    """The server does not serve the kind, and no CRD defines it."""


class Client:
    """A connection to the server, which is opened again after the server closed it."""

    def __init__(self, port: int, token: str, certificate: Path, definitions: Definitions | None = None) -> None:
        self._port = port
        self._certificate = certificate
        self._definitions = definitions or Definitions(None)
        self._headers = {"Authorization": f"Bearer {token}", "Accept": "application/json"}
        self._defined: set[tuple[str, str]] = set()
        self._groups: dict[str, dict[str, Resource]] = {}
        self._namespaces: set[str] = set()

    @cached_property
    def _connection(self) -> http.client.HTTPSConnection:
        context = ssl.create_default_context(cafile=str(self._certificate))
        context.verify_flags &= ~ssl.VERIFY_X509_STRICT  # the server's own certificate is not of the strict form
        return http.client.HTTPSConnection("127.0.0.1", self._port, timeout=SECONDS, context=context)

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def ask(self, method: str, path: str, body: Object | bytes | None = None, **headers: str) -> Answer:
        """Send a request, and return the response."""
        data = json.dumps(body).encode() if isinstance(body, dict) else body
        sent = {"Content-Type": "application/json", **self._headers, **headers}
        try:
            return self._sent(method, path, data, sent)
        except (http.client.RemoteDisconnected, ConnectionResetError):  # it was idle for too long
            return self._sent(method, path, data, sent)

    def _sent(self, method: str, path: str, data: bytes | None, headers: dict[str, str]) -> Answer:
        try:
            self._connection.request(method, path, data, headers)
            return _answer(self._connection.getresponse())
        except BaseException:
            self._connection.close()
            raise

    def ready(self) -> bool:
        """Return whether the server is ready."""
        try:
            return self.ask("GET", "/readyz").taken
        finally:
            self.close()

    def resource(self, api: str, kind: str) -> Resource:
        """Return the collection of a kind's objects; raise NotServedError if the server does not serve it."""
        known = self._groups.get(api, {})
        if kind not in known:
            known = self._groups[api] = self._served(api)
        if kind not in known:
            raise NotServedError(f"{api} {kind}")
        return known[kind]

    @cached_property
    def _own_groups(self) -> set[str]:
        """Return the API groups that are built into the server."""
        services = self.ask("GET", "/apis/apiregistration.k8s.io/v1/apiservices").body["items"]
        label = "kube-aggregator.kubernetes.io/automanaged"
        own = [one["spec"] for one in services if one["metadata"].get("labels", {}).get(label) == "onstart"]
        return {spec.get("group", "") for spec in own}

    def _served(self, api: str) -> dict[str, Resource]:
        root = f"/apis/{api}" if "/" in api else f"/api/{api}"
        listed = self.ask("GET", root).body.get("resources") or []
        return {
            one["kind"]: Resource(f"{root}|{one['name']}", one["namespaced"])
            for one in listed
            if "/" not in one["name"]
        }

    def define(self, things: Iterable[Object]) -> None:
        """Install the CRDs of the kinds of some objects."""
        new = {(one["apiVersion"], one["kind"]) for one in things} - self._defined
        self._definitions.install(self, new)
        self._defined |= new

    def path(self, thing: Mapping[str, Any]) -> str:
        """Return the path of the collection that would hold an object."""
        resource = self.resource(thing["apiVersion"], thing["kind"])
        root, _, plural = resource.path.partition("|")
        if not resource.namespaced:
            return f"{root}/{plural}"
        namespace = (thing.get("metadata") or {}).get("namespace") or "default"
        return f"{root}/namespaces/{namespace}/{plural}"

    def create(self, thing: Object, *, dry_run: bool = False) -> Answer:
        """Create an object with strict validation, and its namespace if it is missing.

        Raises:
            NotServedError: nothing defines the kind; of an unknown version of a known kind the answer is that it is not there.

        """
        api, kind = thing["apiVersion"], thing["kind"]
        try:
            path = self.path(thing)
        except NotServedError:
            if self._definitions.has(api, kind) or api.rpartition("/")[0] in self._own_groups:
                return Answer(404, {"message": f"there is no {kind} in {api}"})
            raise
        if "/namespaces/" in path:
            self.have_namespace(path.split("/namespaces/")[1].split("/")[0])
        if kind == "Pod":
            self._have_what_it_names(thing)
        return self.ask("POST", f"{path}?fieldValidation=Strict{'&dryRun=All' if dry_run else ''}", thing)

    def get(self, thing: Object) -> Answer:
        """Return an object as the server stores it."""
        return self.ask("GET", f"{self.path(thing)}/{thing['metadata']['name']}")

    def replace(self, thing: Object) -> Answer:
        """Replace the stored object of the same name."""
        return self.ask("PUT", f"{self.path(thing)}/{thing['metadata']['name']}?fieldValidation=Strict", thing)

    def delete(self, thing: Object) -> Answer:
        """Delete an object."""
        return self.ask("DELETE", f"{self.path(thing)}/{thing['metadata']['name']}")

    def have_namespace(self, name: str) -> None:
        """Create a namespace, with the service account that a controller would add."""
        if name not in self._namespaces:
            self._have("/api/v1/namespaces", {"kind": "Namespace", "metadata": {"name": name}})
            self._have(f"/api/v1/namespaces/{name}/serviceaccounts", {"metadata": {"name": "default"}})
            self._namespaces.add(name)

    def _have_what_it_names(self, pod: Object) -> None:
        """Create the service account and the priority class that a pod names."""
        spec = pod.get("spec") or {}
        namespace = (pod.get("metadata") or {}).get("namespace") or "default"
        if name := spec.get("serviceAccountName"):
            self._have(f"/api/v1/namespaces/{namespace}/serviceaccounts", {"metadata": {"name": name}})
        name = spec.get("priorityClassName")
        if name and not name.startswith("system-"):  # those are there
            self._have("/apis/scheduling.k8s.io/v1/priorityclasses", {"metadata": {"name": name}, "value": 1000})

    def _have(self, path: str, thing: Object) -> None:
        answer = self.ask("POST", path, thing)
        assert answer.taken, answer.message


def _answer(response: http.client.HTTPResponse) -> Answer:
    data = response.read()
    try:
        body = json.loads(data)
    except ValueError:
        body = {"message": data.decode(errors="replace")}
    found = [one for value in response.headers.get_all("Warning") or [] for one in _WARNING.findall(value)]
    warnings = tuple(re.sub(r"\\(.)", r"\1", one) for one in found)
    return Answer(response.status, body if isinstance(body, dict) else {"message": str(body)}, warnings)
