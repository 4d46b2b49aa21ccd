"""Source of the tests: functions, or methods of a test case where the repository has these.

Drafts are run on the original code: the values of their expressions, and how they failed.
"""

from __future__ import annotations

import ast
import json
import re
import textwrap
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath

from refute.core.methods import Bounds
from refute.issue.edits.definitions import EditedModule, reindented
from refute.issue.edits.tree import EditProblem, Files, Tree, line_end
from refute.issue.original import Original, TrialRun
from refute.issue.snippet.script import Claim, Script, ScriptError, Seen, Value
from refute.source.imports import add_imports
from refute.source.syntax import readable_module
from refute.workspace.contract import Failure, TestResult
from refute.workspace.patches import is_test_file
from refute.workspace.running import FAILING

_NOTE = """\
noted = []

def note(number, value):
    shown = repr(value)[:3000]
    plain = str(value)[:3000]
    noted.append((number, shown, plain))
"""
_FILLER = re.compile(r"an?|the|of|in|on|to|for|is|are|be|with|when|and|or|not|it|does")


@dataclass(frozen=True, slots=True)
class Style:
    """Style of the repository's tests."""

    base: str = ""
    """Class that test cases derive from; "": tests are functions."""
    module: str = ""
    """Module that the base is imported from."""

    @property
    def base_import(self) -> str:
        """The statement that imports the base."""
        return f"from {self.module} import {self.base}"


@dataclass(frozen=True, slots=True)
class TestSketch:
    """A test to be written."""

    name: str
    """Without `test_`."""
    imports: tuple[str, ...]
    body: tuple[str, ...]
    """Sources of statements at no indentation."""


def slug(title: str, most: int = 48) -> str:
    """Words of a title as part of a test's name."""
    words = re.findall(r"[a-z0-9]+", title.lower())
    kept = [word for word in words if not _FILLER.fullmatch(word)] or ["issue"]
    name: str = kept[0]
    for word in kept[1:]:
        if len(name) + len(word) >= most:
            break
        name += f"_{word}"
    return name[:most]


def probe(name: str, imports: tuple[str, ...], script: Script) -> TestSketch:
    """A test that runs the script, notes the value of each expression and fails with the notes.

    A comment with its number stands over each statement, for `read_marks`.
    """
    body = ["import json", _NOTE.rstrip("\n")]
    for number, row in enumerate(script.statements):
        source = row.source
        if row.expression is not None:
            source = f"note({number}, (\n{row.value_source}\n))"
        body.append(f"# {number}\n{source}")
    body.append('raise AssertionError("NOTED " + json.dumps(noted))')
    return TestSketch(name, imports, tuple(body))


def read_marks(source: str, line: int) -> int | None:
    """The number of the statement of a probe that holds a line of the probe's file (1-based)."""
    for text in reversed(source.split("\n")[:line]):
        match = re.match(r"\s*# (\d+)$", text)
        if match is not None:
            return int(match[1])
        if re.match(r"\s*def test", text):
            return None
    return None


def tested(claim: Claim, name: str, imports: tuple[str, ...], style: Style) -> TestSketch:
    """The test that makes a claim."""
    value, focus = claim.focus.value_source, claim.focus.source
    if claim.form:
        value = f"{claim.form}({value})"
        focus = value
    body = [row.source for row in claim.setup]
    if claim.kind == "runs":
        body.append(focus)
    elif claim.kind == "raises" and style.base:
        body.append(f"with self.assertRaises({claim.expected}):\n{reindented(focus, '    ')}")
    elif claim.kind == "raises":
        raising = f"with raises({claim.expected}):\n{reindented(focus, '    ')}"
        body.append(raising)
    else:
        expected = claim.expected if claim.kind == "equals" else _quoted(claim.expected)
        body.append(_equal(value, expected, style))
    return TestSketch(name, imports, tuple(body))


def with_tests(existing: str, drafts: Sequence[TestSketch], style: Style, *, title: str) -> str:
    """The file's text with the tests added at its end; "" as `existing`: a new file."""
    there = _imports_of(existing)
    functions = [_function(_without(draft, there), style) for draft in drafts]
    parts: list[str] = []
    if style.base:
        used = rf"\({style.base}\)|^from .*\bimport\b[^#]*\b{style.base}\b"
        if not re.search(used, existing, re.MULTILINE):
            placed = _imported(existing, style.base_import)
            if placed is None:
                parts.insert(0, style.base_import)
            else:
                existing = placed
        name = "".join(word.capitalize() for word in slug(title).split("_")) + "Tests"
        while re.search(rf"\b{name}\b", existing):
            name = f"More{name}"
        body = "\n\n".join(reindented(function, "    ") for function in functions)
        parts.append(f"class {name}({style.base}):\n{body}")
    else:
        parts += functions
    text = _joined(parts)
    if not existing.strip():
        return f"{text}\n"
    return existing.rstrip() + f"\n\n\n{text}\n".replace("\n", line_end(existing))


def _imported(existing: str, statement: str) -> str | None:
    """The file with an import among those at its top; None where it has no place for it."""
    if not existing.strip():
        return None
    try:
        module = EditedModule(existing)
        add_imports(module, statement)
    except EditProblem:
        return None
    return module.text


def _imports_of(source: str) -> frozenset[str]:
    """The import statements at the top level of a module, each name in one of its own."""
    return frozenset(text for node in readable_module(source).body for text in _singly(node))


def _singly(node: ast.stmt) -> list[str]:
    """`from a import b, c` as two statements; [] for other statements."""
    if isinstance(node, ast.Import):
        return [ast.unparse(ast.Import([name])) for name in node.names]
    if isinstance(node, ast.ImportFrom):
        return [ast.unparse(ast.ImportFrom(node.module, [n], node.level)) for n in node.names]
    return []


def _without(draft: TestSketch, there: frozenset[str]) -> TestSketch:
    """The draft without the imports that its module has."""

    def needed(source: str) -> bool:
        names = _imports_of(source) if source.startswith(("import ", "from ")) else None
        return not names or not names <= there

    imports, body = (tuple(filter(needed, part)) for part in (draft.imports, draft.body))
    return replace(draft, imports=imports, body=body) if body else draft


def patch_of(path: str, text: str, files: Files) -> str:
    """The new text of a file as a unified diff against the files that `files` gives."""
    tree = Tree(files)
    tree.write(path, text)
    return tree.diff()


def _joined(parts: Iterable[str]) -> str:
    """Parts of a module with the blank lines between them that the style guide asks for."""
    text = ""
    for part in parts:
        imports = part.startswith(("import ", "from ")) and text.startswith(("import ", "from "))
        tight = imports and text.split("\n")[-1].startswith(("import ", "from "))
        text += ("\n" if tight else "\n\n\n") * bool(text) + part
    return text


def _function(draft: TestSketch, style: Style) -> str:
    imports = "\n".join(merged(draft.imports))
    body = "\n".join(_dedented(source) for source in draft.body)
    lines = f"{imports}\n\n{body}" if imports else body
    head = f"def test_{draft.name}({'self' if style.base else ''}):\n"
    return head + reindented(_marked(lines), "    ")


def merged(imports: Iterable[str]) -> list[str]:
    """The imports, sorted, those from one module in one statement."""
    taken: dict[str, list[str]] = {}
    for line in imports:
        head, mark, name = line.partition(" import ")
        taken.setdefault(head if mark else line, []).extend([name] if mark else [])
    lines = (f"{head} import {', '.join(sorted(names))}" if names else head
             for head, names in taken.items())  # fmt: skip
    return sorted(lines, key=lambda line: (line.startswith("from "), line))


def _marked(body: str) -> str:
    """`reindented` measures the first line; a body that begins with one is left as it is."""
    return body.lstrip("\n")


def _dedented(source: str) -> str:
    first, _, rest = source.partition("\n")
    return source if first and not first[0].isspace() else textwrap.dedent(f"{first}\n{rest}")


def _equal(value: str, expected: str, style: Style) -> str:
    if expected in ("True", "False") and style.base:
        return f"self.assertIs({value}, {expected})"
    if style.base:
        return f"self.assertEqual({value}, {expected})"
    if "\n" in value or re.search(r"\b(?:if|lambda|and|or|not|in|is)\b|[=<>]", value):
        value = f"({value})"
    if expected in ("True", "False"):
        return f"assert {value} is {expected}"
    return f"assert {value} == {expected}"


def _quoted(text: str) -> str:
    if "\n" not in text:
        return repr(text)
    lines = ",\n    ".join(repr(line) for line in text.split("\n"))
    return f"'\\n'.join([\n    {lines},\n])"


@dataclass(frozen=True, slots=True)
class Ran:
    """A draft in a file of its own, or with others, and what became of it."""

    draft: TestSketch
    source: str
    """The whole file that it was run in."""
    result: TestResult | None
    """None: it did not run."""

    @property
    def failure(self) -> Failure | None:
        """Failure of its call; None where it passed or was never called."""
        result = self.result
        if result is None or result.phase != "call" or result.outcome not in FAILING:
            return None
        return result.failure

    def seen(self, path: str) -> Seen | None:
        """Read what a probe in the file `path` saw; None where it wrote nothing."""
        failure = self.failure
        if failure is None:
            return None
        if failure.type == "AssertionError" and failure.message.startswith("NOTED "):
            return _noted(failure.message.removeprefix("NOTED "))
        statement, line = None, ""
        for frame in failure.frames:
            if frame.file == path:
                statement = read_marks(self.source, frame.line)
                line = self.source.split("\n")[frame.line - 1]
                break
        if statement is None:
            return None
        inside = any(_of_repository(frame.file) for frame in failure.frames)
        form = self._shown_by(path)
        return Seen(
            raised=ScriptError(statement, failure.type, failure.message, inside, line, form)
        )

    def _shown_by(self, path: str) -> str:
        """The function by which the probe in the file `path` showed the value as it failed."""
        lines = self.source.split("\n")
        for frame in self.failure.frames if self.failure is not None else ():
            if frame.file == path and frame.function == "note":
                match = re.search(r"= (repr|str)\(value\)", lines[frame.line - 1])
                return match[1] if match else ""
        return ""


class Bench:
    """Runs drafts in new files beside a test file, within the bounds."""

    def __init__(self, original: Original, bounds: Bounds) -> None:
        self.original = original
        self._end = time.monotonic() + bounds.seconds
        self.runs = 0

    @property
    def out_of_time(self) -> bool:
        return time.monotonic() > self._end

    def attempt(self, patch: str) -> TrialRun:
        """As `Original.attempt`; nothing is run any more when the time is up."""
        if self.out_of_time:
            return TrialRun(patch, rejected="the time is up")
        self.runs += 1
        return self.original.attempt(patch)

    def run(
        self,
        path: str,
        drafts: Sequence[TestSketch],
        style: Style,
        title: str,
    ) -> list[Ran]:
        """Run drafts together in the new file `path`.

        A draft that spoils the file for the others (it cannot be compiled) is run alone.
        """
        source = with_tests("", drafts, style, title=title)
        trial = self.attempt(patch_of(path, source, self.original.source))
        results = trial.report.results if trial.report is not None else ()
        found = [Ran(draft, source, result_of(draft, results)) for draft in drafts]
        if len(drafts) > 1 and all(ran.result is None for ran in found):
            found = []
            for draft in drafts[:4]:
                found += self.run(path, [draft], style, title)
        return found


def result_of(draft: TestSketch, results: Sequence[TestResult]) -> TestResult | None:
    """The draft's own result of a run."""
    pattern = re.compile(rf"\btest_{draft.name}\b")
    return next((result for result in results if pattern.search(result.id)), None)


def free_path(home: str, name: str, taken: Sequence[str]) -> str:
    """A path for a new test file beside `home`."""
    folder = PurePosixPath(home).parent
    path = str(folder / f"test_{name}.py")
    number = 2
    while path in taken:
        path = str(folder / f"test_{name}_{number}.py")
        number += 1
    return path


def _noted(text: str) -> Seen | None:
    """The notes of a probe; it ran somebody's code, so they are checked like any input."""
    try:
        rows = json.loads(text)
        values = {int(n): Value(str(shown), str(plain)) for n, shown, plain in rows}
    except (ValueError, TypeError):
        return None
    return Seen(values)


def _of_repository(file: str) -> bool:
    return not file.startswith(("/", "<")) and not is_test_file(file)
