"""LSP requests that change code: code actions and completion."""

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import Future, wait
from functools import partial
from itertools import count
from queue import PriorityQueue
from threading import Thread
from typing import NamedTuple

import msgspec
from lsprotocol import types

from kcheck.addons.editor import actions
from kcheck.addons.editor.actions import Offer, Plan, Request
from kcheck.addons.editor.completion import Completion, completions
from kcheck.addons.editor.positions import path, uri
from kcheck.addons.editor.server import Server
from kcheck.addons.editor.snapshot import Snapshot
from kcheck.addons.editor.workspace_edits import Client, Edited, UneditableError, client, workspace_edit
from kcheck.report.places import by_name
from kcheck.report.rule import url
from kcheck.text import deadline
from kcheck.text.files import system
from kcheck.text.files.tree import display_path
from kcheck.text.findings import Finding
from kcheck.text.text import Source

APPLY = "kcheck.applyAction"
GO_TO = "kcheck.goToReason"
EXPLAIN = "kcheck.explainRule"
_FEW = 5
"""Fixes tried while the menu opens."""
_BRIEF = 0.15
"""Seconds that a menu waits for fixes to be tried."""


def register(server: Server) -> None:
    """Register the handlers of these requests."""
    edits = EditRequests(server)
    kinds = [types.CodeActionKind.QuickFix, actions.FILE, actions.WORKSPACE, actions.COSTS]
    menu = types.CodeActionOptions(code_action_kinds=kinds, resolve_provider=True)
    typed = types.CompletionOptions(trigger_characters=["[", ",", ":", " "])
    # pygls leaves marks on what it registers, which a method does not take
    server.feature(types.TEXT_DOCUMENT_CODE_ACTION, menu)(partial(edits.code_actions))
    server.feature(types.CODE_ACTION_RESOLVE)(partial(edits.resolve))
    server.feature(types.TEXT_DOCUMENT_COMPLETION, typed)(partial(edits.complete))
    server.command(APPLY)(partial(edits.apply))
    server.command(GO_TO)(partial(edits.go_to))
    server.command(EXPLAIN)(partial(edits.explain))


class EditRequests:
    """Answers requests for code actions and completion."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._prover = Prover()

    async def code_actions(self, params: types.CodeActionParams) -> Sequence[types.CodeAction | types.Command] | None:
        """List the actions at a place; None if the text has changed since it was checked."""
        found = await self._current(params.text_document.uri)
        if found is None:
            return None
        snapshot, source = found
        offers, findings = await asyncio.to_thread(self._offers, snapshot, source, params)
        able = client(self._server.client_capabilities)
        if params.context.trigger_kind != types.CodeActionTriggerKind.Automatic:
            await self._try(snapshot, [offer for offer in offers if offer.request.what == "fix"][:_FEW])
        shown = self._diagnostics(findings, params.context.diagnostics)
        made = (self._action(offer, snapshot, able, shown) for offer in offers)
        return [action for action in made if action is not None]

    def _offers(
        self, snapshot: Snapshot, source: Source, params: types.CodeActionParams
    ) -> tuple[list[Offer], list[Finding]]:
        positions = self._server.positions
        start, end = (positions.offset(source, at) for at in (params.range.start, params.range.end))
        findings = actions.findings_at(snapshot, source, start, end)
        known = {id(finding) for finding in findings}
        shown = [(one.code, one.range) for one in params.context.diagnostics]
        findings += [  # an editor may ask for the findings of a line, wherever the cursor is in it
            finding
            for finding in (snapshot.result.findings if shown else ())
            if finding.span.source.path == source.path
            and id(finding) not in known
            and (finding.rule, positions.first_line(finding.span)) in shown
        ][: actions.MOST - len(findings)]
        only, address = params.context.only, params.text_document.uri
        offered: list[Offer] = []
        if only is None or _is_of_kind(actions.QUICK_FIX, only):
            offered += actions.offers(snapshot, source, address, findings)
        if only is not None or findings:
            offered += actions.offers_for_all(snapshot, source, address)
        return [offer for offer in offered if only is None or _is_of_kind(offer.kind, only)], findings

    async def _try(self, snapshot: Snapshot, offers: list[Offer]) -> None:
        """Compute the first fixes while the menu waits, as refused ones are not offered."""
        futures = [self._prover.ask(snapshot, offer.request, self._is_current()) for offer in offers]
        if futures:
            await asyncio.to_thread(wait, futures, _BRIEF)

    def _diagnostics(
        self, findings: list[Finding], shown: Sequence[types.Diagnostic]
    ) -> dict[int, list[types.Diagnostic]]:
        places = {id(one): (one.rule, self._server.positions.first_line(one.span)) for one in findings}
        return {key: [one for one in shown if (one.code, one.range) == place] for key, place in places.items()}

    def _action(
        self, offer: Offer, snapshot: Snapshot, able: Client, shown: dict[int, list[types.Diagnostic]]
    ) -> types.CodeAction | types.Command | None:
        """Convert an offer for the editor; None if refused and not shown as disabled."""
        argument = msgspec.json.encode(offer.request).decode()
        if offer.request.what == "explain":
            command = types.Command(offer.title, EXPLAIN, arguments=[argument])
        elif not able.literals or "edit" not in able.resolved:
            command = types.Command(offer.title, APPLY, arguments=[argument])
        else:
            command = None
        if not able.literals:
            return command
        action = types.CodeAction(
            offer.title, kind=offer.kind, diagnostics=shown.get(id(offer.finding)) or None,
            is_preferred=offer.preferred or None, command=command,
            data=msgspec.to_builtins(offer.request) if command is None else None,
        )  # fmt: skip
        plan = self._prover.known(snapshot, offer.request)
        if plan is not None and plan.refusal:
            if not able.disabled:
                return None
            action.disabled = types.CodeActionDisabled(_sentence(plan))
            action.is_preferred = None
        return action

    async def resolve(self, action: types.CodeAction) -> types.CodeAction:
        """Add the edit to the action; if refused, show a message instead."""
        request = msgspec.convert(action.data, Request)
        edited = await self._edited(request)
        if edited is not None:
            action.edit = edited.edit
            if edited.cursor is not None and client(self._server.client_capabilities).shows:
                action.command = types.Command(action.title, GO_TO, arguments=list(edited.cursor))
        return action

    async def apply(self, request: str) -> None:
        """Apply an edit for an editor that does not resolve actions."""
        edited = await self._edited(msgspec.json.decode(request, type=Request))
        if edited is None:
            return
        params = types.ApplyWorkspaceEditParams(edited.edit, label="kcheck")
        done = await self._server.workspace_apply_edit_async(params)
        if done.applied and edited.cursor is not None:
            await self.go_to(*edited.cursor)

    async def go_to(self, document: str, line: int, character: int) -> None:
        """Move the cursor to where the user continues, if the editor supports it."""
        if client(self._server.client_capabilities).shows:
            at = types.Position(line, character)
            params = types.ShowDocumentParams(document, external=False, take_focus=True, selection=types.Range(at, at))
            await self._server.window_show_document_async(params)

    async def explain(self, request: str) -> None:
        """Open the published page of a rule, or the file of a user's own rule."""
        asked = msgspec.json.decode(request, type=Request)
        found = await self._server.snapshot_of(asked.uri)
        rule = by_name(found[0].world).get(asked.rule) if found is not None else None
        if rule is None:
            self._say(f"there is no rule {asked.rule} any more")
            return
        page = url(rule)
        if client(self._server.client_capabilities).shows:
            params = types.ShowDocumentParams(
                page or uri(system.real_path(rule.path)), external=bool(page), take_focus=True
            )
            await self._server.window_show_document_async(params)
        else:
            self._say(f"{rule.summary}. {page or rule.path}", types.MessageType.Info)

    async def complete(self, params: types.CompletionParams) -> types.CompletionList | None:
        """Complete at a place of the current text, which may be newer than the last check."""
        address = params.text_document.uri
        document = self._server.workspace.text_documents.get(address)
        if document is None:
            return None
        name, positions = display_path(path(address)), self._server.positions
        source = Source(name, document.source.encode("utf-8", "surrogatepass"))
        before = source.data[: positions.offset(source, params.position)].decode("utf-8", "replace")
        snapshot = self._server.newest(address)
        found = await asyncio.to_thread(completions, document.source, name, len(before), snapshot)
        if found is None:
            return None
        start, end = (len(document.source[:at].encode("utf-8", "surrogatepass")) for at in (found.start, found.end))
        place = positions.range(source.span(start, end))
        return types.CompletionList(is_incomplete=False, items=[_item(one, place) for one in found.items])

    # --- what both need

    async def _edited(self, request: Request) -> Edited | None:
        """Compute the edit of an action; if refused, show why and return None."""
        found = await self._current(request.uri)
        if found is None:
            self._say("The text has changed since it was checked; ask again.")
            return None
        server = self._server
        try:
            future = self._prover.ask(found[0], request, self._is_current(), chosen=True)
            plan = await asyncio.shield(asyncio.wrap_future(future))  # another request may wait for it, too
            if plan.refusal:
                self._say(f"Not changed: {_sentence(plan)}")
                return None
            able, documents = client(server.client_capabilities), server.workspace.text_documents
            return workspace_edit(plan, able, server.positions, documents, request.uri, address_of=found[0].address)
        except OutdatedError:
            self._say("The text has changed since it was checked; ask again.")
        except UneditableError as error:
            self._say(f"Not changed: {error}.")
        return None

    async def _current(self, document: str) -> tuple[Snapshot, Source] | None:
        """Return the newest state of the file's folder; None if its text differs."""
        found = await self._server.snapshot_of(document)
        if found is None:
            return None
        snapshot, source = found
        real = system.real_path(path(document))
        text = self._server.texts().get(real)
        is_same = real not in snapshot.stand_ins and (text is None or text == source.data)
        return found if is_same else None

    def _is_current(self) -> Callable[[], bool]:
        """Return a function that tests whether all open texts are unchanged since."""
        documents = self._server.workspace.text_documents
        versions = {address: document.version for address, document in list(documents.items())}
        return lambda: versions == {address: document.version for address, document in list(documents.items())}

    def _say(self, text: str, kind: types.MessageType = types.MessageType.Warning) -> None:
        self._server.window_show_message(types.ShowMessageParams(kind, text))


_KINDS = {
    "key": types.CompletionItemKind.Property,
    "group": types.CompletionItemKind.Module,
    "rule": types.CompletionItemKind.Constant,
    "word": types.CompletionItemKind.EnumMember,
    "file": types.CompletionItemKind.File,
}


def _item(one: Completion, place: types.Range) -> types.CompletionItem:
    return types.CompletionItem(
        one.label, kind=_KINDS.get(one.kind, types.CompletionItemKind.Value), detail=one.detail or None,
        documentation=one.documentation or None, sort_text=f"{one.rank}{one.label}", filter_text=one.filter,
        text_edit=types.TextEdit(place, one.text),
        commit_characters=[",", "]"] if one.kind in ("rule", "group") else None,
    )  # fmt: skip


def _is_of_kind(kind: str, wanted: Sequence[types.CodeActionKind | str]) -> bool:
    names = [str(getattr(one, "value", one)) for one in wanted]
    return any(not name or kind == name or kind.startswith(f"{name}.") for name in names)


def _sentence(plan: Plan) -> str:
    return plan.refusal if plan.refusal.endswith(".") else f"{plan.refusal}."


class OutdatedError(Exception):
    """The text has changed before its edits were computed."""


class _Task(NamedTuple):
    """An action to compute while `is_current`; the lowest rank is next."""

    rank: tuple[bool, int]
    snapshot: Snapshot
    request: Request
    is_current: Callable[[], bool]
    future: Future[Plan]


class Prover:
    """Computes edits one at a time, and keeps them until the next snapshot."""

    def __init__(self) -> None:
        self._queue: PriorityQueue[_Task] = PriorityQueue()
        self._numbers = count()
        self._plans: dict[str, tuple[Snapshot, dict[Request, Future[Plan]]]] = {}
        self._thread: Thread | None = None

    def known(self, snapshot: Snapshot, request: Request) -> Plan | None:
        """Return the plan of an action if it is already computed."""
        future = self._of(snapshot).get(request)
        return future.result() if future is not None and future.done() and future.exception() is None else None

    def ask(
        self, snapshot: Snapshot, request: Request, is_current: Callable[[], bool], *, chosen: bool = False
    ) -> Future[Plan]:
        """Request the plan of an action while the text `is_current`."""
        plans = self._of(snapshot)
        future = plans.get(request)
        is_new = future is None or (future.done() and future.exception() is not None)
        if future is None or is_new:
            future = plans[request] = Future()
        if is_new or (chosen and not future.done()):
            self._queue.put(_Task((not chosen, next(self._numbers)), snapshot, request, is_current, future))
        if self._thread is None:
            self._thread = Thread(target=self._work, name="kcheck-edits", daemon=True)
            self._thread.start()
        return future

    def _of(self, snapshot: Snapshot) -> dict[Request, Future[Plan]]:
        if snapshot.folder not in self._plans or self._plans[snapshot.folder][0] is not snapshot:
            self._plans[snapshot.folder] = (snapshot, {})
        return self._plans[snapshot.folder][1]

    def _work(self) -> None:
        while True:
            task = self._queue.get()
            if task.future.done():  # it was chosen before its turn
                continue
            try:
                _go_on(task, "")
                task.future.set_result(actions.work_out(task.snapshot, task.request, partial(_go_on, task)))
            except deadline.CancelledError:
                task.future.set_exception(OutdatedError())
            except Exception as bug:  # it is said where the action was asked for
                task.future.set_exception(bug)


def _go_on(task: _Task, _doing: str) -> None:
    """Cancel an outdated task. Raises deadline.CancelledError if the text changed."""
    if not task.is_current():
        raise deadline.CancelledError
