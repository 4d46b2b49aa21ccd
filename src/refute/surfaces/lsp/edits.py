"""What is shown and offered in an editor: positions, diagnostics, and edits of the workspace."""

from __future__ import annotations

import difflib
import re
from pathlib import Path

from lsprotocol import types
from pygls.workspace import TextDocument

from refute.surfaces.results import CheckedFile, CheckedFunction

SOURCE = "refute"


def same_text(document: TextDocument, checked: CheckedFile) -> bool:
    """Whether the document is still what was looked at."""
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
    lines = checked.before.split("\n")
    line = lines[one.line - 1] if one.line <= len(lines) else ""
    name = one.function.rpartition(".")[2]
    found = re.search(rf"\bdef\s+({re.escape(name)})\b", line)
    start, stop = found.span(1) if found else (0, len(line))
    units = [len(line[:at].encode("utf-16-le")) // 2 for at in (start, stop)]
    row = one.line - 1
    return types.Range(types.Position(row, units[0]), types.Position(row, units[1]))


def actions(
    document: TextDocument, checked: CheckedFile, wanted: types.Range, *, creates: bool
) -> list[types.CodeAction]:
    """What is offered for the functions whose names lie in a range. `creates`: whether the editor
    can make files."""
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
    """Edits of whole lines, no more than what differs, with the document's own line ends."""
    end = "\r\n" if "\r\n" in document.source else "\n"
    old = document.source.replace("\r\n", "\n").split("\n")
    new = after.split("\n")
    edits = []
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
    for tag, start, stop, first, last in matcher.get_opcodes():
        if tag == "equal":
            continue
        if stop == len(old):  # there is no line end after the last line
            before = [end] * (start > 0 and last > first)
            at = types.Position(start - 1, _units(old[start - 1])) if start else _TOP
            text = "".join(before) + end.join(new[first:last])
            edits.append(types.TextEdit(types.Range(at, _last(old)), text))
            continue
        text = "".join(f"{line}{end}" for line in new[first:last])
        span = types.Range(types.Position(start, 0), types.Position(stop, 0))
        edits.append(types.TextEdit(span, text))
    return edits


_TOP = types.Position(0, 0)


def _last(lines: list[str]) -> types.Position:
    return types.Position(len(lines) - 1, _units(lines[-1]))


def _units(text: str) -> int:
    """Length as the protocol counts it."""
    return len(text.encode("utf-16-le")) // 2


def _new_file(path: Path, text: str) -> types.WorkspaceEdit:
    uri = path.resolve().as_uri()
    made = types.CreateFile(uri=uri, options=types.CreateFileOptions(overwrite=True))
    whole = types.TextEdit(types.Range(_TOP, _TOP), text)
    edit = types.TextDocumentEdit(
        text_document=types.OptionalVersionedTextDocumentIdentifier(uri=uri), edits=[whole]
    )
    return types.WorkspaceEdit(document_changes=[made, edit])
