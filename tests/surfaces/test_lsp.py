"""The language server: edits by themselves, and a client over stdio."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest

from refute.doors.checking import CheckedFile, CheckedFunction

pytest.importorskip("pygls", reason="the extra [lsp] is not installed")

from lsprotocol import types
from pygls.lsp.client import LanguageClient
from pygls.workspace import TextDocument

from refute.doors.lsp import actions, diagnostic

SHIPPING = Path(__file__).resolve().parents[2] / "examples" / "shipping.py"
BEFORE = 'X = "𝔁é"\n\n\nclass A:\n    async def größe(self):\n        return 1\n'


def checked(before: str, after: str) -> CheckedFile:
    one = CheckedFunction(
        function="A.größe",
        line=5,
        message="A().größe(): 1, expected 2 (doctest line 3)",
        tests="def test_it(): ...\n",
        test_path="/tmp/test_it.py",
        code=after,
        fix="line 6: `1` becomes `2`",
        sure=True,
    )
    return CheckedFile(before=before, functions=[one], complete=True)


def applied(text: str, edits: list[types.TextEdit]) -> str:
    """What an editor makes of the text."""
    lines = text.splitlines(keepends=True)

    def at(place: types.Position) -> int:
        line = lines[place.line] if place.line < len(lines) else ""
        column = len(line.encode("utf-16-le")[: 2 * place.character].decode("utf-16-le"))
        return sum(map(len, lines[: place.line])) + column

    for edit in reversed(edits):
        text = text[: at(edit.range.start)] + edit.new_text + text[at(edit.range.end) :]
    return text


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize(
    ("before", "after"),
    [
        (BEFORE, BEFORE.replace("return 1", "return 2")),
        (BEFORE, "import math\n" + BEFORE.replace("return 1", "return 2")),
        (BEFORE.rstrip("\n"), BEFORE.replace("return 1", "return 2").rstrip("\n")),
        (BEFORE, BEFORE + "\n\nY = 1"),
        (BEFORE + "Y = 1", BEFORE.rstrip("\n")),
        (BEFORE, BEFORE.replace("        return 1\n", "")),
        ("a\né", "a\ne\n"),
    ],
)
def test_a_fix_is_an_edit_of_what_differs(before: str, after: str, end: str) -> None:
    source = before.replace("\n", end)
    document = TextDocument("file:///a.py", source)
    found = checked(before, after)
    everywhere = types.Range(types.Position(0, 0), types.Position(99, 0))
    (fix,) = actions(document, found, everywhere, creates=False)
    assert fix.title == "refute: apply fix: line 6: `1` becomes `2`"
    assert fix.is_preferred
    assert fix.edit is not None
    (edits,) = (fix.edit.changes or {}).values()
    assert applied(source, list(edits)) == after.replace("\n", end)


def test_a_diagnostic_lies_at_the_name_and_only_there_something_is_offered() -> None:
    found = checked(BEFORE, BEFORE)
    shown = diagnostic(found.functions[0], found)
    assert (shown.range.start, shown.range.end) == (types.Position(4, 14), types.Position(4, 19))
    assert shown.message == "A.größe is wrong: A().größe(): 1, expected 2 (doctest line 3)"
    document = TextDocument("file:///a.py", BEFORE)
    elsewhere = types.Range(types.Position(0, 0), types.Position(3, 0))
    assert actions(document, found, elsewhere, creates=True) == []


def test_of_a_text_that_was_edited_since_only_the_test_is_offered() -> None:
    document = TextDocument("file:///a.py", BEFORE + "# more\n")
    found = checked(BEFORE, BEFORE.replace("return 1", "return 2"))
    here = diagnostic(found.functions[0], found).range
    (test,) = actions(document, found, here, creates=True)
    assert test.title == "refute: add failing test of A.größe"
    assert test.edit is not None
    made, written = test.edit.document_changes or ()
    assert isinstance(made, types.CreateFile)
    assert isinstance(written, types.TextDocumentEdit)
    assert made.uri == written.text_document.uri == "file:///tmp/test_it.py"
    assert [edit.new_text for edit in written.edits] == ["def test_it(): ...\n"]


CREATES = types.ClientCapabilities(
    window=types.WindowClientCapabilities(work_done_progress=True),
    workspace=types.WorkspaceClientCapabilities(
        workspace_edit=types.WorkspaceEditClientCapabilities(
            document_changes=True, resource_operations=[types.ResourceOperationKind.Create]
        )
    ),
)


async def session(file: Path) -> tuple[list[types.Diagnostic], list[types.CodeAction], int | None]:
    """Open a file with a fault; what is shown and offered, and how the server ended."""
    client = LanguageClient("a test", "1")
    shown: asyncio.Queue[types.PublishDiagnosticsParams] = asyncio.Queue()

    @client.feature(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
    def published(params: types.PublishDiagnosticsParams) -> None:
        shown.put_nowait(params)

    progress: list[str] = []

    @client.feature(types.WINDOW_WORK_DONE_PROGRESS_CREATE)
    def created(params: types.WorkDoneProgressCreateParams) -> None: ...

    @client.feature(types.PROGRESS)
    def progressed(params: types.ProgressParams) -> None:
        progress.append(params.value["kind"])

    await client.start_io(sys.executable, "-m", "refute", "lsp", "--budget", "5")
    root = file.parent.as_uri()
    await client.initialize_async(types.InitializeParams(capabilities=CREATES, root_uri=root))
    client.initialized(types.InitializedParams())
    item = types.TextDocumentItem(file.as_uri(), "python", 1, file.read_text())
    client.text_document_did_open(types.DidOpenTextDocumentParams(item))
    first = list((await shown.get()).diagnostics)  # of the examples alone
    found = list((await shown.get()).diagnostics)
    assert [one.message for one in first] == [one.message for one in found]
    document = types.TextDocumentIdentifier(file.as_uri())
    asked = types.CodeActionParams(document, found[0].range, types.CodeActionContext(found))
    offered = await client.text_document_code_action_async(asked)
    client.text_document_did_close(types.DidCloseTextDocumentParams(document))
    assert (await shown.get()).diagnostics == ()
    assert progress == ["begin", "end"]
    await client.shutdown_async(None)
    client.exit(None)
    assert client._server is not None
    status = await client._server.wait()
    await client.stop()
    return found, [one for one in offered or () if isinstance(one, types.CodeAction)], status


def test_a_client_is_shown_a_wrong_function_and_offered_test_and_fix(tmp_path: Path) -> None:
    file = tmp_path / "shipping.py"
    text = SHIPPING.read_text()
    file.write_text(text[: text.index("def split_parcels")].rstrip("\n") + "\n")
    found, offered, status = asyncio.run(asyncio.wait_for(session(file), 120))
    assert [one.message for one in found] == [
        "shipping_cost is wrong: shipping_cost(50.0, 1.0): 4.9, expected 0.0 (doctest line 14)"
    ]
    fix, test = offered
    assert fix.edit is not None
    (edits,) = (fix.edit.changes or {}).values()
    fixed = applied(file.read_text(), list(edits))
    assert fixed == file.read_text().replace("subtotal > FREE", "subtotal >= FREE")
    assert "test_shipping_shipping_cost_refuted.py" in str(test.edit)
    assert status == 0
