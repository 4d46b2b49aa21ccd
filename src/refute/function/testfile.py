"""Write failing unit tests as a pytest file that runs by itself, formatted as black would.

The file loads the module by its path, relative to the file itself, and needs no `sys.path`, unless
the module imports its neighbours. Values compare as in the sandbox (`refute.sandbox.equality`).
"""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from textwrap import indent
from typing import Any

from refute.core.problems import Call, DoctestSession, Invocation, Scenario, Trust, Want
from refute.core.storage import write_output
from refute.errors import InputError
from refute.function.contract import FailingTest, Finding
from refute.function.formatting import describe, has_nan, one_line
from refute.function.scenarios.bodies import Context, Parts, Style, body_of
from refute.function.scenarios.observation import VARIES, Observation
from refute.function.scenarios.sessions import imports_of
from refute.function.scenarios.writing import import_block
from refute.function.target import Module
from refute.sandbox import Killed, Outcome, OutOfMemory, Returned, TimedOut
from refute.sandbox.values import MalformedValue, printable
from refute.source.literals import NotLiteral, needed_imports, parse_literal, source_of
from refute.source.syntax import bound_names, parse_module, try_parse_statements

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
                try:
                    seen = Observation("returned", stated_value(test.expected, item.actual))
                    scenario = as_scenario(test.call, self.context.bound)
                except NotLiteral:
                    return session_body(test.call, test.expected)
                return body_of(scenario, seen, "_module", style, "", self.context)
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


# -- doctest sessions ------------------------------------------------------------------------------


def as_scenario(session: DoctestSession, names: Collection[str]) -> Scenario:
    """The session as a call with the statements before it. Raises `NotLiteral` where its last line
    is no expression, or its lines would mean something else in a function. `names`: what the
    module binds."""
    parsed = [try_parse_statements(step) for step in session.steps]
    nodes = [node for step in parsed for node in step or []]
    every = [one for node in nodes for one in ast.walk(node)]
    words = {one.id for one in every if isinstance(one, ast.Name)}
    last = nodes[-1] if nodes and None not in parsed else None
    odd = words & {"_", "locals", "globals", "open", "print"} or bound_names(*nodes) & set(names)
    kinds = (ast.Import, ast.ImportFrom, ast.Delete, ast.With)
    if not isinstance(last, ast.Expr) or odd or any(isinstance(one, kinds) for one in every):
        raise NotLiteral("the session runs at the top of a module")
    return Scenario(ast.unparse(last.value), tuple(map(ast.unparse, nodes[:-1])))


def stated_value(want: Want, actual: Outcome) -> Any:
    """The value of builtin types that a session states as its text, in no other way, and that the
    code does not return. Raises `NotLiteral`."""
    text = (want.text or "").removesuffix("\n")
    value = parse_literal(text)
    if want.options or repr(value) != text or needed_imports(value) or has_nan(value):
        raise NotLiteral("another value is shown so")
    with suppress(NotLiteral, MalformedValue, TypeError, ValueError):
        if isinstance(actual, Returned) and parse_literal(str(actual.value[0]).strip()) == value:
            raise NotLiteral("only the text is another")
    return value


def session_body(session: DoctestSession, want: Want) -> Parts:
    """The session as text for `doctest` itself, over the names of the module under test."""
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
    body = Parts(lines, {"import doctest"})
    if re.search(r"\bopen\(|\bPath\(|\bos\.", session.source):
        body.fixtures += ["tmp_path: Path", "monkeypatch: pytest.MonkeyPatch"]
        body.imports |= {"from pathlib import Path", "import pytest"}
        body.lines.insert(0, "monkeypatch.chdir(tmp_path)")
    return body


def _block(text: str) -> str:
    """The text over several lines; what indents it alike changes nothing for `doctest`."""
    if "'''" in text:
        return source_of(text)
    return f"{'r' if chr(92) in text else ''}'''\n{text}'''"
