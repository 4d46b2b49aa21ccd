"""The language server: edits by themselves, and a client over stdio."""

from __future__ import annotations

import asyncio
import json
import shutil
import subprocess
import sys
import zipfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from refute.doors.worker import CheckedFile, CheckedFunction

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


Shown = asyncio.Queue[list[str]]
CREATES = types.ClientCapabilities(
    window=types.WindowClientCapabilities(work_done_progress=True),
    workspace=types.WorkspaceClientCapabilities(
        workspace_edit=types.WorkspaceEditClientCapabilities(
            document_changes=True, resource_operations=[types.ResourceOperationKind.Create]
        )
    ),
)


@asynccontextmanager
async def connected(root: Path) -> AsyncIterator[tuple[LanguageClient, Shown, list[str]]]:
    """A client of a server that ends in good order; what is published, and kinds of progress."""
    client = LanguageClient("a test", "1")
    shown: Shown = asyncio.Queue()
    progress: list[str] = []

    @client.feature(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
    def published(params: types.PublishDiagnosticsParams) -> None:
        shown.put_nowait([one.message for one in params.diagnostics])

    @client.feature(types.WINDOW_WORK_DONE_PROGRESS_CREATE)
    def created(params: types.WorkDoneProgressCreateParams) -> None: ...

    @client.feature(types.PROGRESS)
    def progressed(params: types.ProgressParams) -> None:
        progress.append(params.value["kind"])

    await client.start_io(sys.executable, "-m", "refute", "lsp", "--budget", "5")
    started = types.InitializeParams(capabilities=CREATES, root_uri=root.as_uri())
    await client.initialize_async(started)
    client.initialized(types.InitializedParams())
    yield client, shown, progress
    await client.shutdown_async(None)
    client.exit(None)
    assert client._server is not None
    assert await client._server.wait() == 0
    await client.stop()


def opened(client: LanguageClient, file: Path, text: str) -> types.TextDocumentIdentifier:
    item = types.TextDocumentItem(file.as_uri(), "python", 1, text)
    client.text_document_did_open(types.DidOpenTextDocumentParams(item))
    return types.TextDocumentIdentifier(file.as_uri())


async def session(file: Path) -> tuple[list[str], list[types.CodeAction]]:
    """Open a file with a fault; what is shown and offered."""
    async with connected(file.parent) as (client, shown, progress):
        document = opened(client, file, file.read_text())
        first = await shown.get()  # of the examples alone
        assert await shown.get() == first
        everywhere = types.Range(types.Position(0, 0), types.Position(99, 0))
        asked = types.CodeActionParams(document, everywhere, types.CodeActionContext([]))
        offered = await client.text_document_code_action_async(asked)
        client.text_document_did_close(types.DidCloseTextDocumentParams(document))
        assert await shown.get() == []
        assert progress == ["begin", "end"]
    return first, [one for one in offered or () if isinstance(one, types.CodeAction)]


def test_a_client_is_shown_a_wrong_function_and_offered_test_and_fix(tmp_path: Path) -> None:
    file = tmp_path / "shipping.py"
    text = SHIPPING.read_text()
    file.write_text(text[: text.index("def split_parcels")].rstrip("\n") + "\n")
    found, offered = asyncio.run(asyncio.wait_for(session(file), 120))
    assert found == [
        "shipping_cost is wrong: shipping_cost(50.0, 1.0): 4.9, expected 0.0 (doctest line 14)"
    ]
    fix, test = offered
    assert fix.edit is not None
    (edits,) = (fix.edit.changes or {}).values()
    fixed = applied(file.read_text(), list(edits))
    assert fixed == file.read_text().replace("subtotal > FREE", "subtotal >= FREE")
    assert "test_shipping_shipping_cost_refuted.py" in str(test.edit)


HALF = """\
def half(n: int) -> int:
    \"\"\"Half of it, rounded down.

    >>> half(7)
    3
    \"\"\"
    return n // 2
"""


async def typing(file: Path) -> tuple[list[list[str]], list[str]]:
    """What is shown of a buffer that is not saved, when opened and after it was edited thrice."""
    async with connected(file.parent) as (client, shown, progress):
        document = opened(client, file, HALF)
        found = [await shown.get(), await shown.get()]
        for version, end in enumerate(("n // 3", "n /", "round(n / 2)"), 2):
            client.text_document_did_change(
                types.DidChangeTextDocumentParams(
                    types.VersionedTextDocumentIdentifier(version, document.uri),
                    [types.TextDocumentContentChangeWholeDocument(HALF.replace("n // 2", end))],
                )
            )
        return [*found, await shown.get()], progress


def test_a_text_that_is_not_saved_is_looked_at_and_a_stale_one_is_not(tmp_path: Path) -> None:
    found, progress = asyncio.run(asyncio.wait_for(typing(tmp_path / "new.py"), 120))
    wrong = "half is wrong: half(7): 4, expected 3 (doctest line 4)"
    assert found == [[], [], [wrong]]
    assert progress[:2] == ["begin", "end"]
    assert progress.count("begin") == 2


EXTENSION = Path(__file__).resolve().parents[2] / "editors" / "vscode" / "extension"
SERVER = (sys.executable, "-m", "refute", "lsp", "--budget", "3")


def in_vs_code(tmp_path: Path, *command: str) -> dict[str, Any]:
    """What the packed extension does with a document in a `vscode` that records it."""
    if (node := shutil.which("node")) is None:
        pytest.skip("needs node")
    packed = tmp_path / "refute.vsix"
    zipfile.main(["-c", str(packed), str(EXTENSION)])
    zipfile.ZipFile(packed).extractall(tmp_path)
    script, main = Path(__file__).with_name("vscode.js"), tmp_path / "extension" / "extension.js"
    text = HALF.replace("n // 2", "round(n / 2)")
    words = [node, script, main, tmp_path / "new.py", text, *command]
    done = subprocess.run(words, capture_output=True, text=True, timeout=100, check=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_the_extension_for_vs_code_shows_and_fixes(tmp_path: Path) -> None:
    found = in_vs_code(tmp_path, *SERVER)
    wrong = "half is wrong: half(7): 4, expected 3 (doctest line 4)"
    assert found["diagnostics"] == [[wrong], [wrong], []]
    assert found["progress"] == ["refute: new.py"]
    fix, test = found["actions"]
    assert fix["edits"] == [{"uri": (tmp_path / "new.py").as_uri(), "newText": "/"}]
    made, written = test["edits"]
    assert made["create"]
    assert "assert half(7) == 3" in written["newText"]


def test_the_extension_says_that_it_finds_no_server(tmp_path: Path) -> None:
    error = in_vs_code(tmp_path, "/nowhere")["error"]
    assert "cannot start `/nowhere`" in error
    assert "set refute.command" in error
