"""Compare two fixes in the project's own tests: one of the functions that differ between them
returns, raises or changes another thing in the same call, or a test ends otherwise.

The last resort where no input could be built: only the tests of a project know how to make an
application or a database. Both fixes run the same tests, each in a workspace; what differs must
differ again in a second run of both. What comes back is text, which is shown and never believed.

Watched calls are also made again: outside of any test, and in a test that sets nothing up.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from refute import recording
from refute.core.methods import Bounds
from refute.core.storage import parse_json
from refute.errors import PatchRejected
from refute.issue.context import neighbouring_tests
from refute.issue.original import Original
from refute.source.syntax import try_parse
from refute.workspace.contract import TestReport, TestSelection, Workspace
from refute.workspace.patches import (
    is_runner_file,
    is_test_file,
    split_fix,
    test_files,
    touched_files,
)
from refute.workspace.running import FAILING, applied, run_on

if TYPE_CHECKING:
    from refute.diffing.changes import ChangedFunction, Place

ROUNDS = (3, 9)
"""Test files that are run: the nearest, then more where those show nothing."""
MOST_SHOWN = 3
SECONDS = 120.0
"""For one run of the tests; the recipe's own limit where that is less."""
SOURCES = ".refute/sources"
_FILE = ".refute/watched.jsonl"
_NEEDED = ("__init__", "outlining", "watching", "replaying", "stating")
_LARGEST = 32 << 20
_LONGEST = 100_000
"""Characters of a line that is read."""
_HERE = "(lambda: 0).__code__.co_filename"


@dataclass(frozen=True, slots=True)
class ObservedCall:
    """A call in a test of the project that came out otherwise, or a test that did."""

    test: str
    """The test, as its runner names it."""
    function: str
    """Function that was called; "": the test itself ended otherwise."""
    given: str
    """Its arguments, as short text."""
    before: str
    after: str
    """Its result with the first fix, and with the second one, as short text."""

    @property
    def source(self) -> str:
        """The call as people write it."""
        return f"{self.function}({self.given})" if self.function else "the test"


@dataclass(frozen=True, slots=True)
class Call:
    """A call that was watched with `top`."""

    test: str
    """The name of the test's function, with its parameters."""
    function: str
    file: str
    chosen: bool
    """True if the function is changed, or reads what is."""
    end: str
    """Its result; "" where it had not come to its end."""
    again: str
    """It, to be made again; "" where it cannot be."""
    paths: tuple[str, ...] = ()
    given: Mapping[str, str] = field(default_factory=dict)
    """Name -> what it was given, as text."""
    outcome: str = ""
    raised: bool = False
    replaced: bool = False
    """True if another function stands in the place of one that is changed."""

    @property
    def plain(self) -> str:
        """The function's name without its class."""
        return self.function.rpartition(".")[2]


_Key = tuple[str, str, int]
"""Test, function, and which of its calls in the test."""


@dataclass(frozen=True, slots=True)
class _Run:
    """One run of the tests with one fix."""

    report: TestReport
    calls: Mapping[_Key, tuple[str, str]]
    """Arguments and result of each."""


def observed_differences(
    fixes: tuple[str, str],
    functions: Sequence[ChangedFunction],
    tests: str,
    workspace: Workspace,
    bounds: Bounds,
) -> tuple[tuple[ObservedCall, ...], str]:
    """At most `MOST_SHOWN` differences of two fixes in the tests near them, the calls first; and
    why there are none, where nothing could be run.

    `functions`: what differs between the fixes. `tests`: a test patch, whose tests run as well.
    Raises `WorkspaceUnavailable`. The workspace is clean afterwards.
    """
    codes = tuple(split_fix(fix)[1] for fix in fixes)
    sources = Original(workspace, bounds).sources()
    touched = touched_files("".join(codes))
    near = neighbouring_tests(touched, sources, hint="".join(codes), most=sum(ROUNDS))
    places = [one.before for one in functions], [one.after for one in functions]

    def runs(files: Sequence[str]) -> tuple[_Run, _Run]:
        first, second = (
            _run([code, tests], place, files, workspace, bounds)
            for code, place in zip(codes, places, strict=True)
        )
        return first, second

    why = "no test near them runs"
    try:
        for files in _rounds(test_files(tests), near):
            pair = runs(files)
            found = _different(*pair)
            if any(one.report.results for one in pair):
                why = ""
            if not found:
                continue
            again = _different(*runs(files))
            stand: dict[tuple[str, str], ObservedCall] = {}
            for key, one in found.items():
                if key in again and _alike(one, again[key]):
                    stand.setdefault((one.test, one.function), one)
            if stand:
                return tuple(stand.values())[:MOST_SHOWN], ""
            why = "what differed once did not again"
    except PatchRejected as error:
        return (), f"a patch does not apply: {error}"
    return (), why


def _rounds(given: Sequence[str], near: Sequence[str]) -> list[tuple[str, ...]]:
    """The files of each round."""
    first = tuple(dict.fromkeys((*given, *near[: ROUNDS[0]])))
    rest = tuple(path for path in near[ROUNDS[0] : sum(ROUNDS)] if path not in first)
    return [one for one in (first, rest) if one]


def _alike(one: ObservedCall, again: ObservedCall) -> bool:
    """Return whether two runs show one difference; words that are others each time (a random token)
    are none, but hide no other word."""
    texts = one.before, again.before, one.after, again.after
    words = [re.findall(r"\w+|\W", text) for text in texts]
    if len({len(each) for each in words}) == 1:
        return any(a == b and c == d and a != c for a, b, c, d in zip(*words, strict=True))
    return (one.before, one.after) == (again.before, again.after)


def _run(
    patches: Sequence[str],
    places: Sequence[Place],
    files: Sequence[str],
    workspace: Workspace,
    bounds: Bounds,
) -> _Run:
    rows = list[dict[str, Any]]()
    report = run_on(
        workspace, patches, TestSelection(tuple(files)), timeout=min(SECONDS, bounds.test_seconds),
        prepare=lambda tree: _watched(places, tree), after=lambda tree: rows.extend(rows_of(tree)),
    )  # fmt: skip
    return _Run(report, _read(rows))


def _watched(places: Sequence[Place], workspace: Workspace) -> None:
    """Add the line that watches to the end of each module with a function to watch."""
    write_sources(workspace)
    for file in sorted({place.file for place in places}):
        source = workspace.read(file).decode("utf-8", "surrogateescape")
        chosen = _first_lines(source, [place for place in places if place.file == file])
        if chosen is not None:
            text = f"{source}\n{watching_line(workspace, chosen)}\n"
            workspace.write(file, text.encode("utf-8", "surrogateescape"))


def write_sources(workspace: Workspace) -> None:
    """Write the modules that watch and replay into a folder of the tree."""
    folder = Path(recording.__file__).parent
    workspace.write(f"{SOURCES}/refute/__init__.py", b"")
    for name in _NEEDED:
        data = (folder / f"{name}.py").read_bytes()
        workspace.write(f"{SOURCES}/refute/recording/{name}.py", data)


def watching_line(workspace: Workspace, chosen: Mapping[str, str], **more: Any) -> str:
    """The line that watches, at the end of a module. `chosen`, `more`: as `watching.watch` has
    them."""
    root = str(workspace.root)
    start = (
        "import sys\nsys.path.insert(0, sources)\n"
        "try:\n    from refute.recording.watching import watch\n"
        "    watch(file, chosen, target, **more)\n"
        "except Exception: pass\nfinally: sys.path.remove(sources)\n"
    )
    given = f'"sources": {f"{root}/{SOURCES}"!r}, "target": {f"{root}/{_FILE}"!r}, "more": {more!r}'
    return f'exec({start!r}, {{"file": {_HERE}, "chosen": {dict(chosen)!r}, {given}}})'


def name_of(id: str) -> str:
    """The name of a test's function, with its parameters, in any runner's id of it."""
    plain, bracket, rest = id.partition("[")
    return re.split(r"::|\.", plain.partition(" ")[0])[-1] + bracket + rest


def calls_of(rows: Iterable[Mapping[str, Any]]) -> list[Call]:
    """The calls among what was watched; those to a file are calls without an end."""
    found = []
    for row in rows:
        match row:
            case {"test": str(test), "function": str(function), "opened": str()}:
                found.append(Call(name_of(test), function, "", True, "", ""))
            case {"test": str(test), "function": str(function), "file": str(file),
                  "chosen": bool(chosen), "call": str(again), "paths": list(paths),
                  "outcome": str(outcome), "changed": dict(), "whole": dict(given)}:  # fmt: skip
                end = "" if row.get("starts anew") else end_of(row)
                ways = row.get("raised") is True, row.get("replaced") is True
                found.append(Call(name_of(test), function, file, chosen, end, again,
                                  tuple(map(str, paths)), given, outcome, *ways))  # fmt: skip
    return found


def watch_tests(workspace: Workspace, files: Sequence[str], **more: Any) -> None:
    """Have the tests of files watched."""
    write_sources(workspace)
    for path in files:
        try:
            data = workspace.read(path)
        except OSError:
            continue
        line = watching_line(workspace, {}, top=str(workspace.root), **more)
        workspace.write(path, data.rstrip() + f"\n\n{line}\n".encode())


def _first_lines(source: str, places: Sequence[Place]) -> dict[str, str] | None:
    """Map the first line of each function's code object, that of its first decorator, to its
    name."""
    tree = try_parse(source)
    if tree is None:
        return None
    names = {place.line: place.qualname for place in places}
    found = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.lineno in names:
            first = min([node.lineno, *(one.lineno for one in node.decorator_list)])
            found[str(first)] = names[node.lineno]
    return found


def rows_of(workspace: Workspace, file: str = _FILE) -> list[dict[str, Any]]:
    """Return the rows that a run wrote."""
    try:
        return rows_in(workspace.read(file)[:_LARGEST])
    except OSError:
        return []


def rows_in(told: bytes) -> list[dict[str, Any]]:
    """The rows of a file; lines that do not look like ours are left out."""
    found = []
    for line in told.decode("utf-8", "replace").splitlines():
        try:
            row = parse_json(line) if len(line) < _LONGEST else None
        except ValueError:
            continue
        found += [row] if isinstance(row, dict) else []
    return found


def _read(rows: Sequence[Mapping[str, Any]]) -> dict[_Key, tuple[str, str]]:
    """The calls of a run."""
    calls: dict[_Key, tuple[str, str]] = {}
    for row in rows:
        test, function, number = row.get("test"), row.get("function"), row.get("number")
        outcome, given, changed = row.get("outcome"), row.get("given"), row.get("changed")
        if (
            isinstance(test, str)
            and isinstance(function, str)
            and isinstance(number, int)
            and isinstance(outcome, str)
            and isinstance(given, dict)
            and isinstance(changed, dict)
        ):
            end = end_of(row)
            arguments = ", ".join(f"{name}={text}" for name, text in given.items())
            calls.setdefault((test, function, number), (arguments, end))
    return calls


def end_of(row: Mapping[str, Any]) -> str:
    """Describe the result of a call, and what it changed, as text."""
    end = ("raises " if row.get("raised") is True else "") + str(row["outcome"])
    return end + "".join(f"; {name} becomes {text}" for name, text in row["changed"].items())


def _different(one: _Run, other: _Run) -> dict[_Key, ObservedCall]:
    """The calls that came out otherwise, then the tests, then that they run with one of the fixes
    alone."""
    found: dict[_Key, ObservedCall] = {}
    for key, (given, end) in one.calls.items():
        if key in other.calls and end != other.calls[key][1]:
            found[key] = ObservedCall(key[0], key[1], given, end, other.calls[key][1])
    outcomes = {result.id: _end(result.outcome) for result in other.report.results}
    for result in one.report.results:
        before, after = _end(result.outcome), outcomes.get(result.id, "")
        if after and after != before:
            found[result.id, "", 0] = ObservedCall(result.id, "", "", before, after)
    for runs, broken in ((one.report, other.report), (other.report, one.report)):
        passed = [result.id for result in runs.results if result.outcome == "passed"]
        if passed and not broken.results and broken.status == "crashed":
            ends = "passed", f"does not run: {broken.remark}"
            before, after = ends if broken is other.report else ends[::-1]
            found[passed[0], "", 0] = ObservedCall(passed[0], "", "", before, after)
    return found


def _end(outcome: str) -> str:
    return "fails" if outcome in FAILING else outcome


Rows = list[list[dict[str, Any]]]
"""For each call what `refute.recording.replaying` wrote down of it."""
_PLAN, _REPLAYED, _TESTS = ".refute/plan.json", ".refute/replayed.jsonl", ".refute/tests"
_OUTSIDE = (
    "xargs -0 rm -f -- < {tests}; find . -depth -type d -empty -delete; "
    'root="$PWD"; cd "$(mktemp -d)" && env -i PATH="$PATH" HOME="$PWD" TMPDIR="$TMPDIR" '
    "PYTHONHASHSEED=0 python -c 'import sys; sys.path.insert(0, sys.argv[1]); "
    "from refute.recording.{module} import main; main(*sys.argv[2:])' "
    '"$root/{sources}" "$root/{plan}" "$root/{target}"'
)
_CONTROL = """def {name}(*given):
    if given:
        return given[0](*given[1], **given[2])
    __import__("sys").path.insert(0, {sources!r})
    from refute.recording.replaying import here
    here({plan!r}, {target!r}, {name})
"""


def replay_outside(
    workspace: Workspace, patches: Sequence[str], calls: Sequence[Call], timeout: float,
    variants: Sequence[tuple[str, str]] = (),
) -> Rows:  # fmt: skip
    """In a fresh process, from another folder, without tests and environment; a row for each
    kind of `sys.argv`, and for each variant of the code, (path, text). Raises `PatchRejected`."""
    plan = _plan(workspace, calls, variants)
    return _by_place(run_outside(workspace, patches, "replaying", plan, timeout), len(calls))


def replay_in_test(
    workspace: Workspace, patches: Sequence[str], file: str, calls: Sequence[Call], timeout: float
) -> Rows:
    """In a test of the name and the file of the one that made them. Raises `PatchRejected`."""
    root = workspace.root
    text = _CONTROL.format(
        name=calls[0].test.partition("[")[0], sources=f"{root}/{SOURCES}",
        plan=f"{root}/{_PLAN}", target=f"{root}/{_REPLAYED}",
    )  # fmt: skip
    with applied(workspace, *patches):
        _write_plan(workspace, _plan(workspace, calls))
        workspace.write(file, text.encode())
        workspace.run_tests(TestSelection((file,)), timeout=timeout)
        return _by_place(rows_of(workspace, _REPLAYED), len(calls))


def _plan(
    workspace: Workspace, calls: Sequence[Call], variants: Sequence[tuple[str, str]] = ()
) -> dict[str, Any]:
    return {
        "calls": [call.again for call in calls], "paths": calls[0].paths, "beside": True,
        "variants": [(f"{workspace.root}/{path}", text) for path, text in variants],
    }  # fmt: skip


def _write_plan(workspace: Workspace, plan: Mapping[str, Any]) -> None:
    write_sources(workspace)
    workspace.write(_PLAN, json.dumps(plan).encode())


def _by_place(rows: Sequence[dict[str, Any]], count: int) -> Rows:
    found: Rows = [[] for _ in range(count)]
    for row in rows:
        place = row.get("place")
        if isinstance(place, int) and 0 <= place < count:
            found[place].append(row)
    return found


def run_outside(
    workspace: Workspace, patches: Sequence[str], module: str, plan: Mapping[str, Any],
    timeout: float,
) -> list[dict[str, Any]]:  # fmt: skip
    """The rows that a module of `recording` writes for a plan, in a fresh process, from another
    folder, without tests and environment. Raises `PatchRejected`."""
    with applied(workspace, *patches):
        tests = [path for path in workspace.files() if is_test_file(path) or is_runner_file(path)]
        _write_plan(workspace, plan)
        workspace.write(_TESTS, "\0".join(tests).encode("utf-8", "surrogateescape"))
        names = {"tests": _TESTS, "sources": SOURCES, "plan": _PLAN, "target": _REPLAYED}
        workspace.run(_OUTSIDE.format(module=module, **names), timeout=timeout)
        return rows_of(workspace, _REPLAYED)
