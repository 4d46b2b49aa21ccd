"""The server: on opening and on saving a file its functions are looked at, in a process apart."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

import msgspec
from lsprotocol import types
from pygls.lsp.server import LanguageServer
from pygls.uris import to_fs_path

from refute.diffing.sources import is_test
from refute.surfaces.calls import call
from refute.surfaces.lsp.edits import actions, diagnostic, same_text
from refute.surfaces.results import CheckedFile
from refute.surfaces.worker import Failed


class _Files:
    """What is known of the open files."""

    def __init__(self, server: LanguageServer, arguments: dict[str, Any]) -> None:
        self._server = server
        self._arguments = arguments
        self._checked: dict[str, CheckedFile] = {}
        self._work: dict[str, asyncio.Task[None]] = {}

    def look(self, uri: str) -> None:
        """Look at a file, in place of an earlier look that has not ended."""
        self.forget(uri)
        name = to_fs_path(uri)
        if name is None or not name.endswith(".py") or is_test(Path(name).name):
            return
        self._work[uri] = asyncio.create_task(self._look(uri, Path(name)))

    def close(self, uri: str) -> None:
        """A file is closed: nothing is said of it any more."""
        self.forget(uri)
        self._publish(uri, [])

    def forget(self, uri: str) -> None:
        """What is known of a file is known no more."""
        self._checked.pop(uri, None)
        if (task := self._work.pop(uri, None)) is not None:
            task.cancel()

    async def _look(self, uri: str, path: Path) -> None:
        folder = path.parent
        root = Path(self._server.workspace.root_path or folder)
        arguments = {**self._arguments, "file": str(path)}
        seconds = self._arguments["time_limit"]
        done = await call("check_file", arguments, root=root, seconds=seconds)
        if isinstance(done, Failed):
            kind = types.MessageType.Info if done.fault == "bad input" else types.MessageType.Error
            message = f"refute: {path.name}: {done.fault}: {done.message}"
            self._server.window_log_message(types.LogMessageParams(kind, message))
            self._publish(uri, [])
            return
        checked = msgspec.convert(done.result, CheckedFile)
        document = self._server.workspace.get_text_document(uri)
        if not same_text(document, checked):
            return  # it was edited meanwhile; the next save looks again
        self._checked[uri] = checked
        self._publish(uri, [diagnostic(one, checked) for one in checked.functions])

    def _publish(self, uri: str, found: list[types.Diagnostic]) -> None:
        params = types.PublishDiagnosticsParams(uri, found)
        self._server.text_document_publish_diagnostics(params)

    def actions(self, params: types.CodeActionParams) -> list[types.CodeAction]:
        """What is offered at a place."""
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
    """A server. `arguments`: of `refute.surfaces.arguments.CheckFile`, but for the file."""
    import refute

    server = LanguageServer("refute", refute.__version__)
    files = _Files(server, {"time_limit": 300.0, **arguments})

    @server.feature(types.TEXT_DOCUMENT_DID_OPEN)
    async def opened(params: types.DidOpenTextDocumentParams) -> None:
        files.look(params.text_document.uri)

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
    make_server(**arguments).start_io(reading, writing)
