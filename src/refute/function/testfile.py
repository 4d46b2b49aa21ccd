"""Write failing unit tests as a pytest file that runs by itself, formatted as black would.

The file loads the module by its path, relative to the file itself, and needs no `sys.path`, unless
the module imports its neighbours. Values compare as in the sandbox (`refute.sandbox.equality`).
"""

from __future__ import annotations

import ast
import builtins
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from textwrap import indent
from typing import Any

from refute.core.problems import Call, DoctestSession, Invocation, Trust, Want
from refute.core.storage import write_output
from refute.errors import InputError
from refute.function.contract import FailingTest, Finding
from refute.function.formatting import describe
from refute.function.layout import comparison, has_nan, laid_out, one_line, sorted_imports
from refute.function.session_tests import session_body
from refute.function.target import Module
from refute.sandbox import Killed, Outcome, OutOfMemory, Returned, TimedOut
from refute.sandbox.values import (
    Incomplete,
    Iterated,
    MalformedValue,
    NDArray,
    Opaque,
    printable,
)  # fmt: skip
from refute.source.literals import NotLiteral, needed_imports, source_of
from refute.source.syntax import bound_names, parse_expression, parse_module

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
        self.globals = bound_names(parse_module(module.source.text))
        self.used: set[str] = set()
        self.imports: set[str] = set()
        self.tests: list[str] = []
        self.fixtures: list[str] = []
        self.pytest = False
        self.within = False
        self.room = WIDTH

    def add(self, test: str, function: str, item: FailingTest | Finding) -> None:
        timed_out = isinstance(item.actual, TimedOut)
        self.fixtures = []
        self.room = WIDTH - (8 if timed_out else 4)
        try:
            body = "\n".join(self.body(function, item))
        except NotLiteral as error:
            self.tests.append(f"\n\n# {test} is not written: {one_line(str(error))}\n")
            return
        if timed_out:
            self.within = self.pytest = True
            body = f"with _within(5.0):\n{indent(body, '    ')}"
        elif isinstance(item.actual, OutOfMemory | Killed):
            self.pytest = True
            reason = f"uncontained, this test may take the machine down: {describe(item.actual)}"
            body = f"pytest.skip({source_of(reason)})\n{body}"
        comments = "".join(f"# {line}\n" for line in _remarks(item))
        given = ", ".join(self.fixtures)
        self.tests.append(f"\n\ndef {test}({given}) -> None:\n{indent(comments + body, '    ')}\n")

    def body(self, function: str, item: FailingTest | Finding) -> list[str]:
        """The statements of a test, laid out at column 0 in lines of at most `self.room`."""
        if isinstance(item, Finding):
            if isinstance(item.actual, Returned):  # a contradiction: no call fails by itself
                raise NotLiteral(one_line(item.reason))
            return [laid_out(self.call(item.call, function), self.room)]
        test = item.test
        if isinstance(test.call, DoctestSession) and isinstance(test.expected, Want):
            return self.session(test.call, test.expected, _shown(item.actual))
        if test.raises is not None:
            self.pytest = True
            return self.raising(test.raises, self.call(test.call, function))
        return self.equality(self.call(test.call, function), test.expected)

    def session(self, session: DoctestSession, want: Want, shown: str | None) -> list[str]:
        body = session_body(session, want, self.globals, "vars(_module)", shown)
        self.fixtures = body.fixtures
        self.imports |= body.imports - {"import pytest"}
        self.pytest |= "import pytest" in body.imports
        self.used |= body.used
        return body.lines

    def call(self, call: Invocation, function: str) -> str:
        if not isinstance(call, Call):
            source = ast.unparse(parse_expression(call.source.strip()))
            self.names(source)
            return source
        self.used.add(function.partition(".")[0])
        for value in (*call.args, *call.kwargs.values()):
            self.imports |= needed_imports(value)
        named = [(f"{name}=", value) for name, value in call.kwargs.items()]
        parts = [*(("", value) for value in call.args), *named]
        return f"{function}({', '.join(head + source_of(value) for head, value in parts)})"

    def equality(self, call: str, expected: Any) -> list[str]:
        self.imports |= needed_imports(expected)
        if expected is None or isinstance(expected, bool):
            return self.compared(call, repr(expected), "is")
        if isinstance(expected, Opaque | Incomplete):
            raise NotLiteral(f"the expected {expected.type} has no Python source")
        if isinstance(expected, Iterated):
            items = list(expected.items)
            self.imports |= needed_imports(items)
            if expected.more:
                self.imports.add("from itertools import islice")
                return self.compared(f"list(islice({call}, {len(items)}))", source_of(items))
            return self.compared(f"list({call})", source_of(items))
        if isinstance(expected, NDArray):
            floats = expected.dtype.startswith(("float", "complex"))
            check = "allclose" if floats else "array_equal"
            close = "rtol=1e-7, atol=1e-6" if floats else "strict=True"
            self.imports.add("import numpy as np")
            return [f"np.testing.assert_{check}({call}, {source_of(expected)}, {close})"]
        if _flat_floats(expected):
            self.pytest = True
            nan = ", nan_ok=True" if has_nan(expected) else ""
            text = source_of(expected)
            return self.compared(call, f"pytest.approx({text}, rel=1e-7, abs=1e-6{nan})")
        if has_nan(expected):
            return self.compared(f"repr({call})", source_of(repr(expected)))
        return self.compared(call, source_of(expected))

    def compared(self, call: str, right: str, op: str = "==") -> list[str]:
        return comparison(call, op, right, self.room)

    def raising(self, error: str, call: str) -> list[str]:
        inside = indent(laid_out(call, self.room - 4), "    ")
        base = error.rpartition(".")[2]
        if hasattr(builtins, base) or base in self.globals:
            self.used |= {base} & self.globals
            return [f"with pytest.raises({base}):", inside]
        check = f"assert caught.type.__name__ == {source_of(base)}"
        return ["with pytest.raises(Exception) as caught:", inside, check]

    def names(self, source: str) -> None:
        """Names of the module that an expression uses."""
        for node in ast.walk(parse_expression(source)):
            if isinstance(node, ast.Name) and node.id in self.globals:
                self.used.add(node.id)

    def render(self, path: Path) -> str:
        target = self.module.source.path
        shown = ", ".join(self.module.functions)
        file = printable(one_line(target.name)).replace("\\", "/").replace('"', "'")
        title = f'"""Unit tests that {file} fails ({shown}), found by refute."""'
        if len(title) > WIDTH:
            title = f'"""Unit tests that {file} fails, found by refute."""'
        libraries = {"import importlib.util", "import sys", "from pathlib import Path"}
        by_name = "." in self.module.surroundings.name or _imports_neighbours(self.module)
        if by_name:
            libraries = libraries - {"import importlib.util"} | {"import importlib"}
        if self.within:
            libraries |= {"import contextlib", "import signal"}
            libraries.add("from collections.abc import Iterator")
        others = {line for line in self.imports if "numpy" in line}
        if self.pytest:
            others.add("import pytest")
        first, second = libraries | (self.imports - others), others
        blocks = [title, *("\n".join(sorted_imports(lines)) for lines in (first, second))]
        blocks += [self.loader(path, by_name)]
        head = "\n\n".join(block.rstrip("\n") for block in blocks if block)
        return f"{head}\n{_WITHIN if self.within else ''}{''.join(self.tests)}"

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
        text = template.format(path=relative, name=source_of(name))
        return text + "".join(f"{name} = _module.{name}\n" for name in sorted(self.used))


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
    """Whether the module imports something that lies beside it or in its project."""
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


def _flat_floats(value: Any) -> bool:
    """EvalPlus's rule for the default tolerance: a float, or a list or tuple of floats only."""
    if isinstance(value, list | tuple):
        return len(value) > 0 and all(isinstance(item, float) for item in value)
    return isinstance(value, float)
