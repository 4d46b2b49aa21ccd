"""A language server over stdio: wrong functions as diagnostics, tests and fixes as code actions.

A file is looked at as the editor has it, saved or not, in a process of its own: on opening and on
saving with a search of fixes, while it is edited by its examples alone, after a pause.
"""

from __future__ import annotations

import asyncio
import os
import re
import signal
from pathlib import Path
from typing import Any
from uuid import uuid4

import msgspec
from lsprotocol import types
from pygls.lsp.server import LanguageServer
from pygls.uris import to_fs_path
from pygls.workspace import TextDocument

from refute.diffing.trees import is_test
from refute.doors.worker import READY, CheckedFile, CheckedFunction, Failed, call
from refute.source.syntax import try_parse

SOURCE = "refute"
_PAUSE = 0.7
"""Seconds without a change until an edited text is looked at."""


def same_text(document: TextDocument, checked: CheckedFile) -> bool:
    """True if the document is still the text that was checked."""
    return document.source.replace("\r\n", "\n").replace("\r", "\n") == checked.before


def diagnostic(one: CheckedFunction, checked: CheckedFile) -> types.Diagnostic:
    """A function that is wrong, at its name."""
    return types.Diagnostic(
        range=_name(one, checked),
        message=f"{one.function} is wrong: {one.message}",
        severity=types.DiagnosticSeverity.Warning,
        source=SOURCE,
        code="wrong",
    )


def _name(one: CheckedFunction, checked: CheckedFile) -> types.Range:
    text = checked.before
    start = sum(len(line) + 1 for line in text.split("\n")[: one.line - 1])
    stop = len(text[start:].partition("\n")[0]) + start
    name = one.function.rpartition(".")[2]
    if found := re.compile(rf"\bdef\s+({re.escape(name)})\b").search(text, start, stop):
        start, stop = found.span(1)
    return types.Range(_position(text, start), _position(text, stop))


def actions(
    document: TextDocument, checked: CheckedFile, wanted: types.Range, *, creates: bool
) -> list[types.CodeAction]:
    """Return the code actions for the functions whose names lie in a range. `creates`: whether the
    editor can make files."""
    found = []
    for one in checked.functions:
        shown = diagnostic(one, checked)
        if shown.range.start.line > wanted.end.line or shown.range.end.line < wanted.start.line:
            continue
        if one.code and same_text(document, checked):
            title = "apply fix" if one.sure else "apply proposed fix"
            edit = types.WorkspaceEdit(changes={document.uri: _changes(document, one.code)})
            found.append(_action(f"{title}: {one.fix}", shown, edit, preferred=one.sure))
        if one.tests and creates:
            edit = _new_file(Path(one.test_path), one.tests)
            found.append(_action(f"add failing test of {one.function}", shown, edit))
    return found


def _action(
    title: str, shown: types.Diagnostic, edit: types.WorkspaceEdit, *, preferred: bool = False
) -> types.CodeAction:
    return types.CodeAction(
        title=f"refute: {title}",
        kind=types.CodeActionKind.QuickFix,
        diagnostics=[shown],
        edit=edit,
        is_preferred=preferred,
    )


def _changes(document: TextDocument, after: str) -> list[types.TextEdit]:
    """One edit of no more than what differs, with the document's own line ends."""
    old = document.source
    new = after.replace("\n", "\r\n") if "\r\n" in old else after
    first = _alike(old, new)
    last = _alike(old[first:][::-1], new[first:][::-1])
    span = types.Range(_position(old, first), _position(old, len(old) - last))
    return [types.TextEdit(span, new[first : len(new) - last])] if old != new else []


def _alike(one: str, other: str) -> int:
    """Length of the part with which both begin."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(one), len(other)))


def _position(text: str, at: int) -> types.Position:
    """A place in a text, as the protocol counts it: in units of UTF-16 from the line's begin."""
    start = text.rfind("\n", 0, at) + 1
    return types.Position(text.count("\n", 0, at), len(text[start:at].encode("utf-16-le")) // 2)


_TOP = types.Position(0, 0)


def _new_file(path: Path, text: str) -> types.WorkspaceEdit:
    uri = path.resolve().as_uri()
    made = types.CreateFile(uri=uri, options=types.CreateFileOptions(overwrite=True))
    whole = types.TextEdit(types.Range(_TOP, _TOP), text)
    edit = types.TextDocumentEdit(
        text_document=types.OptionalVersionedTextDocumentIdentifier(uri=uri), edits=[whole]
    )
    return types.WorkspaceEdit(document_changes=[made, edit])


class _Files:
    """Results for the open files."""

    def __init__(self, server: LanguageServer, arguments: dict[str, Any]) -> None:
        self._server = server
        self._arguments = arguments
        self._checked: dict[str, CheckedFile] = {}
        self._work: dict[str, asyncio.Task[None]] = {}

    def look(self, uri: str, *, edited: bool = False) -> None:
        """Look at a file, in place of an earlier look that has not ended; `edited`: after a pause,
        and without a search of fixes."""
        self._stop(uri)
        name = to_fs_path(uri)
        if name is None or not name.endswith(".py") or is_test(Path(name).name):
            return
        self._work[uri] = asyncio.create_task(self._look(uri, Path(name), edited))

    def close(self, uri: str) -> None:
        """A file is closed: nothing is said of it any more."""
        self._stop(uri)
        self._checked.pop(uri, None)
        self._publish(uri, [])

    def _stop(self, uri: str) -> None:
        if (task := self._work.pop(uri, None)) is not None:
            task.cancel()

    async def _look(self, uri: str, path: Path, edited: bool) -> None:
        """Show what the examples say, then what a search finds, with fixes."""
        if edited:
            await asyncio.sleep(_PAUSE)
            if try_parse(self._server.workspace.get_text_document(uri).source) is None:
                return  # half of a line is typed
        token = await self._begun(f"refute: {path.name}")
        try:
            for fixes in (False,) if edited else (False, True):
                if not await self._show(uri, path, fixes):
                    break
        finally:
            if token is not None:
                self._server.work_done_progress.end(token, types.WorkDoneProgressEnd())

    async def _begun(self, title: str) -> str | None:
        """The token of a progress that the editor shows; None where it shows none."""
        window = self._server.client_capabilities.window
        if window is None or not window.work_done_progress:
            return None
        token = str(uuid4())
        await self._server.work_done_progress.create_async(token)
        self._server.work_done_progress.begin(token, types.WorkDoneProgressBegin(title))
        return token

    async def _show(self, uri: str, path: Path, fixes: bool) -> bool:
        """Look once and show what is wrong; whether the document is what was looked at."""
        root = Path(self._server.workspace.root_path or path.parent)
        text = self._server.workspace.get_text_document(uri).source
        arguments = {**self._arguments, "file": str(path), "text": text, "fixes": fixes}
        seconds = self._arguments["time_limit"]
        done = await call("check_file", arguments, root=root, seconds=seconds)
        if isinstance(done, Failed):
            kind = types.MessageType.Info if done.fault == "bad input" else types.MessageType.Error
            message = f"refute: {path.name}: {done.fault}: {done.message}"
            self._server.window_log_message(types.LogMessageParams(kind, message))
            self._publish(uri, [])
            return False
        checked = msgspec.convert(done.result, CheckedFile)
        document = self._server.workspace.get_text_document(uri)
        if not same_text(document, checked):
            return False  # it was edited meanwhile, and is looked at again
        self._checked[uri] = checked
        self._publish(uri, [diagnostic(one, checked) for one in checked.functions])
        return True

    def _publish(self, uri: str, found: list[types.Diagnostic]) -> None:
        params = types.PublishDiagnosticsParams(uri, found)
        self._server.text_document_publish_diagnostics(params)

    def actions(self, params: types.CodeActionParams) -> list[types.CodeAction]:
        """Return the code actions at a place."""
        uri = params.text_document.uri
        checked = self._checked.get(uri)
        if checked is None:
            return []
        document = self._server.workspace.get_text_document(uri)
        return actions(document, checked, params.range, creates=self._creates())

    def _creates(self) -> bool:
        workspace = self._server.client_capabilities.workspace
        edit = workspace.workspace_edit if workspace is not None else None
        kinds = (edit.resource_operations or ()) if edit is not None else ()
        return types.ResourceOperationKind.Create in kinds


def make_server(**arguments: Any) -> LanguageServer:
    """A server. `arguments`: of `refute.doors.worker.CheckFile`, but for `file` and `text`."""
    import refute

    server = LanguageServer("refute", refute.__version__)
    files = _Files(server, {"time_limit": 300.0, **arguments})

    @server.feature(types.TEXT_DOCUMENT_DID_OPEN)
    async def opened(params: types.DidOpenTextDocumentParams) -> None:
        files.look(params.text_document.uri)

    @server.feature(types.TEXT_DOCUMENT_DID_CHANGE)
    async def changed(params: types.DidChangeTextDocumentParams) -> None:
        files.look(params.text_document.uri, edited=True)

    @server.feature(types.TEXT_DOCUMENT_DID_SAVE)
    async def saved(params: types.DidSaveTextDocumentParams) -> None:
        files.look(params.text_document.uri)

    @server.feature(types.TEXT_DOCUMENT_DID_CLOSE)
    async def closed(params: types.DidCloseTextDocumentParams) -> None:
        files.close(params.text_document.uri)

    @server.feature(
        types.TEXT_DOCUMENT_CODE_ACTION,
        types.CodeActionOptions(code_action_kinds=[types.CodeActionKind.QuickFix]),
    )
    async def offered(params: types.CodeActionParams) -> list[types.CodeAction]:
        return files.actions(params)

    return server


def serve(**arguments: Any) -> None:
    """Serve over stdin and stdout until the editor has gone. Parameters as of `make_server`."""
    reading, writing = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    os.dup2(2, 1)  # what prints must not reach the protocol
    # asyncio waits for ever if it is interrupted while it starts a process; a call's process ends
    # when this one is gone
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    READY.start("hunt", "debug")
    make_server(**arguments).start_io(reading, writing)
