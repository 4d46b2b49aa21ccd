"""Write failing unit tests as a pytest file that runs by itself, formatted as black would.

The file loads the module by its path, relative to the file itself, and needs no `sys.path`, unless
the module imports its neighbours. Values compare as in the sandbox (`refute.sandbox.equality`).
"""

from __future__ import annotations

import ast
import doctest
import os
import re
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from textwrap import indent
from typing import Any

from refute.core.problems import Call, DoctestSession, Invocation, Scenario, Trust, Want
from refute.core.storage import write_output
from refute.errors import InputError
from refute.function.contract import FailingTest, Finding
from refute.function.formatting import comparison, describe, has_nan, one_line
from refute.function.scenarios.bodies import Context, Parts, Style, body_of
from refute.function.scenarios.observation import VARIES, Observation
from refute.function.scenarios.sessions import imports_of
from refute.function.scenarios.writing import import_block
from refute.function.target import Module
from refute.sandbox import Killed, Outcome, OutOfMemory, Returned, TimedOut
from refute.sandbox.values import MalformedValue, printable
from refute.source.literals import NotLiteral, needed_imports, parse_literal, source_of
from refute.source.syntax import bound_names, parse_module, read_names, try_parse_statements

WIDTH = 100

_LOAD_BY_PATH = """\
_path = Path(__file__).resolve().parent / {path}
_spec = importlib.util.spec_from_file_location({name}, _path)
assert _spec is not None and _spec.loader is not None
_module = importlib.util.module_from_spec(_spec)
sys.modules[{name}] = _module  # dataclasses and pickle look the module up there
_spec.loader.exec_module(_module)
"""
_LOAD_BY_NAME = """\
_folder = Path(__file__).resolve().parent / {path}
sys.path.insert(0, str(_folder.resolve()))  # where the module's imports start
_module = importlib.import_module({name})
"""
_WITHIN = '''

@contextlib.contextmanager
def _within(seconds: float) -> Iterator[None]:
    """Fail instead of hanging (where the platform has interval timers)."""

    def stop(*_: object) -> None:
        pytest.fail(f"not done after {seconds} s")

    if not hasattr(signal, "setitimer"):
        yield
        return
    previous = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)
'''


def write_tests(path: Path, text: str, *, force: bool = False) -> None:
    """Write the file. Raises `InputError` when it exists and `force` is not set."""
    if path.exists() and not force:
        raise InputError(f"{path}: exists; add --force to replace it")
    try:
        write_output(path, text)
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {error.strerror}") from None


def render(
    module: Module,
    found: Sequence[tuple[str, Sequence[FailingTest], Sequence[Finding]]],
    *,
    path: Path,
) -> str:
    """The source of a pytest file at `path` for (function, failing tests, findings) of a module."""
    page = _Page(module)
    for name, failing, findings in found:
        items: list[FailingTest | Finding] = [*failing, *findings]
        for number, item in enumerate(items, 1):
            page.add(f"test_{name.replace('.', '_')}_{number}", name, item)
    return page.render(path)


class _Page:
    def __init__(self, module: Module) -> None:
        self.module = module
        self.context = Context.of(module.source.text, stated=True)
        self.imports: set[str] = set()
        self.tests: list[str] = []
        self.within = False

    def add(self, test: str, function: str, item: FailingTest | Finding) -> None:
        hangs = isinstance(item.actual, TimedOut)
        try:
            parts = self.body(function, item, WIDTH - (4 if hangs else 0))
        except NotLiteral as error:
            self.tests.append(f"\n\n# {test} is not written: {one_line(str(error))}\n")
            return
        self.imports |= parts.imports
        body = "\n".join(parts.lines)
        if hangs:
            self.within = True
            body = f"with _within(5.0):\n{indent(body, '    ')}"
        elif isinstance(item.actual, OutOfMemory | Killed):
            self.imports.add("import pytest")
            reason = f"uncontained, this test may take the machine down: {describe(item.actual)}"
            body = f"pytest.skip({source_of(reason)})\n{body}"
        comments = "".join(f"# {line}\n" for line in _remarks(item))
        given = ", ".join(parts.fixtures)
        self.tests.append(f"\n\ndef {test}({given}) -> None:\n{indent(comments + body, '    ')}\n")

    def body(self, function: str, item: FailingTest | Finding, width: int) -> Parts:
        """The statements of a test at column 0."""
        style = Style(annotated=True, width=width)
        if isinstance(item, Finding):
            scenario, seen = _scenario(item.call, function), Observation("returned", VARIES)
        else:
            test = item.test
            if isinstance(test.call, DoctestSession) and isinstance(test.expected, Want):
                shown = _shown(item.actual)
                return session_body(test.call, test.expected, self.context.bound, shown)
            scenario, seen = _scenario(test.call, function), Observation("returned", test.expected)
            if test.raises is not None:
                seen = Observation("raised", error=test.raises)
        return body_of(scenario, seen, "_module", style, "", self.context)

    def render(self, path: Path) -> str:
        target = self.module.source.path
        shown = ", ".join(self.module.functions)
        file = printable(one_line(target.name)).replace("\\", "/").replace('"', "'")
        title = f'"""Unit tests that {file} fails ({shown}), found by refute."""'
        if len(title) > WIDTH:
            title = f'"""Unit tests that {file} fails, found by refute."""'
        libraries = {"import importlib.util", "import sys", "from pathlib import Path"}
        own = {line for line in self.imports if line.startswith("from _module ")}
        libraries |= self.imports - own
        by_name = "." in self.module.surroundings.name or _imports_neighbours(self.module)
        if by_name:
            libraries = libraries - {"import importlib.util"} | {"import importlib"}
        if self.within:
            libraries |= {"import contextlib", "import signal", "import pytest"}
            libraries.add("from collections.abc import Iterator")
        used = {line.rpartition(" ")[2] for line in own} & self.context.bound
        loader = self.loader(path, by_name)
        loader += "".join(f"{name} = _module.{name}\n" for name in sorted(used))
        head = f"{title}\n\n{import_block(libraries, '', WIDTH)}\n\n{loader}"
        return f"{head}{_WITHIN if self.within else ''}{''.join(self.tests)}"

    def loader(self, path: Path, by_name: bool) -> str:
        around = self.module.surroundings
        file = self.module.source.path.resolve()
        folder = path.resolve().parent
        if by_name:
            top = file.parent
            for _ in range(around.name.count(".") + (file.name == "__init__.py")):
                top = top.parent
            place, template, name = top, _LOAD_BY_NAME, around.name
        else:
            place, template, name = file, _LOAD_BY_PATH, f"refuted_{file.stem}"
        relative = source_of(Path(os.path.relpath(place, folder)).as_posix())
        return template.format(path=relative, name=source_of(name))


def _scenario(call: Invocation, function: str) -> Scenario:
    """A call as it stands in a test. Raises `NotLiteral`."""
    if not isinstance(call, Call):
        return Scenario(call.source.strip())
    needed = set[str]()
    for value in (*call.args, *call.kwargs.values()):
        needed |= needed_imports(value)
    named = [(f"{name}=", value) for name, value in call.kwargs.items()]
    parts = [*(("", value) for value in call.args), *named]
    given = ", ".join(head + source_of(value) for head, value in parts)
    places = imports_of(parse_module("\n".join(needed)).body)
    return Scenario(f"{function}({given})", imports=tuple(places.items()))


def _remarks(item: FailingTest | Finding) -> Iterable[str]:
    if isinstance(item, Finding):
        yield "no oracle: only that the call ends without this"
    elif item.test.trust is Trust.PREDICTED:
        yield f"predicted ({one_line(item.test.source)}), confidence {item.test.confidence:.2f}"
    else:
        yield f"from {one_line(item.test.source)}"
    call = item.test.call if isinstance(item, FailingTest) else item.call
    yield f"now: {one_line(describe(item.actual, call))}"


def _imports_neighbours(module: Module) -> bool:
    """Return whether the module imports something that lies beside it or in its project."""
    places = module.surroundings.import_path
    for node in ast.walk(parse_module(module.source.text)):
        if isinstance(node, ast.ImportFrom) and node.level:
            return True
        names: list[str] = []
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        for name in names:
            top = name.partition(".")[0]
            if any((p / f"{top}.py").exists() or (p / top).is_dir() for p in places):
                return True
    return False


def _shown(actual: Outcome) -> str | None:
    """The output of a session's last line; None where there is none."""
    if isinstance(actual, Returned):
        try:
            shown = actual.value
        except MalformedValue:
            return None
        match shown:
            case (str() as text, None, bool()):
                return text
    return None


# -- doctest sessions ------------------------------------------------------------------------------

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
