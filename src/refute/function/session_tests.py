"""A doctest session as the body of a pytest function: its lines as code, its output asserted."""

from __future__ import annotations

import ast
import doctest
import re
from collections.abc import Collection, Sequence
from textwrap import indent
from typing import Any

from refute.core.problems import DoctestSession, Want
from refute.function.layout import comparison, has_nan
from refute.function.scenarios.bodies import Parts
from refute.source.literals import NotLiteral, needed_imports, parse_literal, source_of
from refute.source.syntax import bound_names, read_names, try_parse_statements

ROOM = 96
"""Columns of a line in the body."""
_NONE = object()


def session_body(
    session: DoctestSession,
    want: Want,
    names: Collection[str],
    shown: str | None = None,
) -> Parts:
    """The body that passes where `doctest` does, and fails for the code under test.

    `names`: what the module binds, which is imported from ``_module``; its globals serve where the
    session cannot run inside of a function; `shown`: the output that the code under test showed.
    Where that is another value, values are compared, so that 3.0 passes for 3; else texts are.
    """
    parsed = [try_parse_statements(step) for step in session.steps]
    if any(body is None for body in parsed) or not _fits_a_function(session, parsed, names):
        return _whole(session, want)
    last = parsed[-1] or []
    lines = ["\n".join(_code(step) for step in session.steps[:-1])] if parsed[:-1] else []
    body = Parts(lines)
    statements = [node for step in parsed for node in step or []]
    used = read_names(*statements) & set(names) - bound_names(*statements)
    body.imports = {f"from _module import {name}" for name in used}
    if re.search(r"\bopen\(|\bPath\(|\bos\.", "".join(session.steps)):
        body.fixtures += ["tmp_path: Path", "monkeypatch: pytest.MonkeyPatch"]
        body.imports |= {"from pathlib import Path", "import pytest"}
        body.lines.insert(0, "monkeypatch.chdir(tmp_path)")
    code = _code(session.steps[-1])
    noisy = any(isinstance(node, ast.Expr) for step in parsed[:-1] for node in step or [])
    if want.raised is not None:
        _raising(body, code, want)
    elif want.text is None or (
        len(last) == 1 and isinstance(last[0], ast.Assert) and not want.text
    ):
        body.lines.append(code)
    elif len(last) == 1 and isinstance(last[0], ast.Expr):
        _value(body, ast.unparse(last[0].value), want, noisy, shown)
    else:
        _printing(body, noisy)
        body.lines.append(code)
        body.lines.append(_same("capsys.readouterr().out", want, body))
    return body


def _code(step: str) -> str:
    """The step's source without its directives."""
    return re.sub(r"\s*#\s*doctest:.*", "", step).rstrip()


def _value(body: Parts, expression: str, want: Want, noisy: bool, shown: str | None) -> None:
    prints = re.match(r"(?:pprint\.)?(?:print|pprint|pp)\(", expression)
    text = (want.text or "").removesuffix("\n")
    if not want.options and not prints and "\n" not in text and _is_repr(text):
        value = _literal(text)
        if value is _NONE or shown is None or _literal(shown.removesuffix("\n")) in (_NONE, value):
            body.lines.append(f"assert repr({expression}) == {source_of(text)}")
        else:
            op = "is" if value is None or isinstance(value, bool) else "=="
            body.lines += comparison(expression, op, source_of(value), ROOM)
        return
    _printing(body, noisy)
    if prints or not text:
        body.lines.append(expression)
        body.lines.append(_same("capsys.readouterr().out", want, body))
        return
    body.lines.append(f"value = {expression}")
    body.lines.append('shown = "" if value is None else f"{value!r}\\n"')
    body.lines.append(_same("capsys.readouterr().out + shown", want, body))


def _literal(text: str) -> Any:
    """The value of builtin types that is shown so, and in no other way; `_NONE` for other texts."""
    if not text:
        return None
    try:
        value = parse_literal(text)
    except NotLiteral:
        return _NONE
    plain = repr(value) == text and not needed_imports(value) and not has_nan(value)
    return value if plain else _NONE


def _is_repr(text: str) -> bool:
    """Return whether this looks like what `repr` makes, not like words that were printed."""
    try:
        parse_literal(text)
    except NotLiteral:
        return re.fullmatch(r"[\w.]+\(.*\)|<.*>|[\[({].*[\])}]", text) is not None
    return True


def _printing(body: Parts, noisy: bool) -> None:
    body.fixtures.append("capsys: pytest.CaptureFixture[str]")
    body.imports.add("import pytest")
    if noisy:
        body.lines.append("capsys.readouterr()")


def _same(got: str, want: Want, body: Parts) -> str:
    text = source_of((want.text or "").replace("<BLANKLINE>", ""))
    if not want.options:
        return f"assert {got} == {text}"
    body.imports.add("import doctest")
    body.lines += [f"want = {source_of(want.text)}", f"got = {got}"]
    return f"assert doctest.OutputChecker().check_output(want, got, {_flags(want.options)})"


def _flags(options: int) -> str:
    names = [name for name, flag in doctest.OPTIONFLAGS_BY_NAME.items() if options & flag]
    return " | ".join(f"doctest.{name}" for name in names)


def _raising(body: Parts, code: str, want: Want) -> None:
    kind, _, message = (want.raised or "").rstrip("\n").partition(": ")
    body.imports.add("import pytest")
    body.lines += ["with pytest.raises(Exception) as caught:", indent(code, "    ")]
    body.lines.append(f"assert caught.type.__name__ == {source_of(kind.rpartition('.')[2])}")
    if want.options & doctest.IGNORE_EXCEPTION_DETAIL:
        return
    if want.options:
        body.lines.append(
            _same('f"{caught.value}\\n"', Want(f"{message}\n", None, want.options), body)
        )
    else:
        body.lines.append(f"assert str(caught.value) == {source_of(message)}")


def _whole(session: DoctestSession, want: Want) -> Parts:
    """The session as text for `doctest` itself."""
    shown = want.text or ""
    if want.raised is not None:
        shown = f"Traceback (most recent call last):\n    ...\n{want.raised}"
    text = f"{session.source}\n{shown}"
    lines = [
        f"session = {_block(text)}",
        "names = dict(vars(_module))",
        'test = doctest.DocTestParser().get_doctest(session, names, "session", None, 0)',
    ]
    if len(session.steps) > 1:  # what the lines before the last show is not what is tested
        lines += [
            "*before, last = test.examples",
            "test.examples = before",
            "doctest.DocTestRunner().run(test, out=lambda _: None, clear_globs=False)",
            "test.examples = [last]",
        ]
    lines.append("assert doctest.DocTestRunner().run(test).failed == 0")
    return Parts(lines, {"import doctest"})


def _block(text: str) -> str:
    """The text over several lines; what indents it alike changes nothing for `doctest`."""
    if "'''" in text:
        return source_of(text)
    return f"{'r' if chr(92) in text else ''}'''\n{text}'''"


def _fits_a_function(
    session: DoctestSession, parsed: Sequence[list[ast.stmt] | None], names: Collection[str]
) -> bool:
    """Return whether the lines mean in a function what they mean at the top of a module."""
    for step in parsed:
        for node in step or []:
            for inner in ast.walk(node):
                if isinstance(inner, ast.ImportFrom) and inner.names[0].name == "*":
                    return False
                if isinstance(inner, ast.Name) and inner.id in ("_", "locals", "globals"):
                    return False
                if isinstance(inner, ast.Global | ast.Nonlocal | ast.Delete):
                    return False
    bound = bound_names(*(node for step in parsed for node in step or []))
    strings = any(mark in step for step in session.steps for mark in ('"""', "'''"))
    return not bound & set(names) and not strings  # they would be indented with the code
