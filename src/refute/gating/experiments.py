"""Experiments on turned tests: attempts to show that something else than the change turned them.

knocked out   the new text with the old functions: what turned is red again (also: red twice)
disguised     the new code where nothing of its text can be read, watched: green again, by calls of
              changed functions; with failures planted beside, which must be seen
outside       the calls that turned tests made, where no test runs, on both sides
control       where that is something else: the same calls in a test that sets nothing up
"""

from __future__ import annotations

import ast
import base64
import contextlib
import random
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from refute.diffing.definitions import Definition, Definitions, definitions
from refute.errors import reason_to_skip
from refute.gating.change import Change
from refute.gating.running import Finding, Rule, Runs, Standing, alone
from refute.issue.observed_calls import (
    Call,
    Rows,
    calls_of,
    name_of,
    replay_in_test,
    replay_outside,
    watch_tests,
    watching_line,
)
from refute.source.syntax import Function, first_line, parse_module, readable_module
from refute.workspace.contract import TestReport, TestSelection, Workspace
from refute.workspace.control import MOST, plant, unseen
from refute.workspace.running import NO_TESTS, statuses
from refute.workspace.testruns import NotStarted

if TYPE_CHECKING:
    from refute.gating.strength import Variant

_LOADED = (
    "exec(compile(__import__('zlib').decompress(__import__('base64').b64decode({code!r})).decode(),"
    " __file__, 'exec', 0, True))"
)
_RAISES = "raise SystemError('knocked out')"
_LOOKS = {"locals", "vars", "dir", "eval", "exec"}
"""A caller of one of these may read the names of its variables."""
_Nodes = Mapping[str, Sequence[ast.stmt]]
_Documented = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Module


@dataclass(frozen=True, slots=True)
class Disguised:
    """A changed module of code."""

    text: str
    knocked_out: str
    chosen: Mapping[str, str]
    """Functions that are changed or new: line in `text`, as text -> qualified name."""
    names: frozenset[str]
    """Data that is changed or new, classes whose heads are, and functions that are gone; `<module>`
    where what only runs is."""
    only_bodies: bool
    """True if nothing but functions differs: knocked out, the module is as it was."""


def functions_of(text: str) -> dict[str, Function]:
    """Qualified name -> definition, of functions and methods that are not nested in functions; none
    of what is not Python."""
    found = definitions(readable_module(text), "").functions
    return {name: one.nodes[0] for name, one in found.items()}


def disguised(change: Change) -> tuple[dict[str, Disguised], dict[str, str]]:
    """The changed modules of code by their path; and those of which nothing can be told, with the
    reason. Those that are not Python are in neither."""
    found, unknown = dict[str, Disguised](), dict[str, str]()
    for path in change.code_files:
        if path.endswith(".py") and path in change.after:
            try:
                found[path] = _disguised(change.before.get(path, ""), change.after[path])
            except SyntaxError:
                continue  # who imports it sees that
            except Exception as error:
                unknown[path] = reason_to_skip(error)
    return found, unknown


def _disguised(before: str, after: str) -> Disguised:
    old, new, out = (parse_module(text) for text in (before, after, after))
    was, now, other = (definitions(tree, "") for tree in (old, new, out))
    pairs: list[tuple[_Documented, _Documented]] = [(new, old)] if before else []
    pairs += [pair for name, one in now.functions.items() for pair in _paired(one, was, name)]
    both = now.classes.keys() & was.classes.keys()
    pairs += [(now.classes[name][0], was.classes[name][0]) for name in both]
    for node, former in pairs:
        told, head = (ast.get_docstring(one, clean=False) for one in (former, node))
        if told != head:
            node.body[: head is not None] = [ast.Expr(ast.Constant(told))] if told else [ast.Pass()]
    heads = _differing(
        *({name: (ast.ClassDef(name, one.bases, one.keywords, [], one.decorator_list),)
           for name, (one, *_) in side.classes.items()} for side in (was, now))
    )  # fmt: skip
    nodes = [{name: one.nodes for name, one in side.functions.items()} for side in (was, now)]
    changed = _differing(*nodes) | {n for n, one in now.functions.items() if one.owner in heads}
    gone = changed - now.functions.keys()
    changed -= gone
    for name in changed:
        for function in now.functions[name].nodes:
            _rename_locals(function)
    text = ast.unparse(new)
    for name in changed:
        for node, former in _paired(other.functions[name], was, name):
            vars(node).update(vars(former))
        if name not in was.functions and not _made_on_import(name, out):
            for node in other.functions[name].nodes:
                node.body = parse_module(_RAISES).body
    for name in gone:  # stands in its class as it did
        for owner in other.classes.get(was.functions[name].owner, ()):
            owner.body += was.functions[name].nodes
    data = heads | gone | _differing(was.bindings, now.bindings)
    names = {name.rpartition(".")[2] for name in data}
    runs = [[*map(ast.dump, only_runs(tree))] for tree in (old, new)]
    names |= {"<module>"} if runs[0] != runs[1] else set()
    lines = definitions(parse_module(text), "").functions
    chosen = {str(first_line(node)): name for name in changed for node in lines[name].nodes}
    as_before = ast.dump(out) == ast.dump(old)
    return Disguised(_line(text), _line(ast.unparse(out)), chosen, frozenset(names), as_before)


def _rename_locals(function: Function) -> None:
    """Give the local variables of a function other names, if nothing but its own code can tell."""
    nodes = [*ast.walk(function)][1:]
    scopes = Function | ast.ClassDef | ast.Lambda | ast.Global | ast.Match
    names = [node for node in nodes if isinstance(node, ast.Name)]
    if any(isinstance(one, scopes) for one in nodes) or _LOOKS & {name.id for name in names}:
        return
    kept = {node.arg for node in nodes if isinstance(node, ast.arg)}
    kept |= {str(getattr(node, "name", "")) for node in nodes}  # of imports and `except`
    kept |= {str(getattr(node, "asname", "")) for node in nodes}
    own = {name.id for name in names if isinstance(name.ctx, ast.Store)} - kept
    for name in names:
        if name.id in own:
            name.id += "_"


def _paired(one: Definition, was: Definitions, name: str) -> list[tuple[Function, Function]]:
    """The definitions of a name beside those that it had."""
    former = was.functions[name].nodes if name in was.functions else ()
    return [(a, b) for a, b in zip(one.nodes, former, strict=False) if type(a) is type(b)]


def _differing(one: _Nodes, other: _Nodes) -> set[str]:
    """Names that stand for something else on the other side."""
    dumps = [{n: [*map(ast.dump, nodes)] for n, nodes in side.items()} for side in (one, other)]
    return {name for name in one.keys() | other.keys() if dumps[0].get(name) != dumps[1].get(name)}


def only_runs(tree: ast.Module) -> list[ast.stmt]:
    """Return the statements that do more on import, and as a program, than to bind names."""
    return [node for node in tree.body if not _defines(node)]


def _defines(node: ast.stmt) -> bool:
    match node:
        case ast.Assign(targets=targets):
            parts = [part for target in targets for part in ast.walk(target)]
            return not any(isinstance(part, ast.Attribute | ast.Subscript) for part in parts)
        case ast.ImportFrom(names=[ast.alias("*")]):
            return False
        case ast.Expr(ast.Constant()):
            return True
    binds = Function | ast.ClassDef | ast.AnnAssign | ast.Import | ast.ImportFrom
    return isinstance(node, binds)


def _made_on_import(name: str, tree: ast.Module) -> bool:
    """Return whether a function seems to be called while its module is imported."""
    outside: list[ast.AST] = [s for s in tree.body if not isinstance(s, Function | ast.ClassDef)]
    outside += [d for one in ast.walk(tree) for d in getattr(one, "decorator_list", ())]
    parts = (part for one in outside for part in ast.walk(one))
    return any(isinstance(part, ast.Name) and part.id == name for part in parts)


def _line(text: str) -> str:
    return _LOADED.format(code=base64.b64encode(zlib.compress(text.encode())).decode())


MOST_CALLS = 40
"""That are made again."""


@dataclass(frozen=True, slots=True)
class Turned:
    """Tests that turned and that no experiment explains away."""

    tests: tuple[Standing, ...] = ()
    flaky: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()
    executed: frozenset[tuple[str, str]] = frozenset()
    """(file, function) of the change, as the tests that turned executed them."""
    calls: tuple[Call, ...] = ()
    """That they made of these."""


def turned(
    runs: Runs, candidates: Sequence[Standing], new: TestReport, before: Sequence[Call]
) -> Turned:
    """Return the tests, of those that were red and are green, that count. `before`: the calls that
    they made on the old code. Raises `WorkspaceUnavailable`."""
    if not candidates:
        return Turned()
    modules, unknown = disguised(runs.change)
    tested = tuple(dict.fromkeys(one.file for one in new.results if one.file))
    trial = _Trial(runs, tuple(candidates), modules, tested)
    # Where nothing but functions differs, the new text with the old functions is the old code, on
    # which the candidates failed (`red`): no second run of it is needed.
    as_before = modules.keys() == {*runs.change.code_files} and all(
        one.only_bodies for one in modules.values()
    )
    knocked_out = statuses(
        NO_TESTS if as_before else runs.run("new", alone(candidates), trial.knock_out)
    )
    ids, files = {one.id for one in candidates}, alone(candidates).files
    passing = [one for one in new.results if one.id in ids and one.outcome == "passed"]
    chance, planted, rows = random.SystemRandom(), list[Any](), list[dict[str, Any]]()
    chosen = chance.sample(passing, min(MOST, len(passing)))

    def prepare(workspace: Workspace, narrow: bool) -> TestSelection | None:
        planted[:], rows[:] = plant(workspace, chosen, files, chance, beside=True), []
        trial.disguise(workspace)
        failures = [id for one in planted for id in one.ids]
        return TestSelection(files, (*sorted(ids), *failures)) if narrow else None

    # Each failure would run with all parameters of its test: so first by pytest's ids. All of the
    # files run where one test needs another, or an id is none.
    report = NO_TESTS
    for narrow in (True, False) if all("::" in id for id in ids) else (False,):
        with contextlib.suppress(*[NotStarted] * narrow):
            look = partial(prepare, narrow=narrow)
            report = runs.run("new", TestSelection(files), look, rows)
        after = statuses(report)
        if all(after.of(one.id, one.file) == "pass" for one in candidates):
            break
    calls = calls_of(rows)
    green = {one.id for one in chosen if after.of(one.id, one.file) == "pass"}
    meddled = unseen(report, planted, green)
    told = "cannot be analysed, so nothing can be told of it: "
    findings = [Finding("no-special-case", path, told + why) for path, why in unknown.items()]
    flaky = list[str]()
    for one in candidates:
        if after.of(one.id, one.file) != "pass":
            if statuses(runs.run("new", alone([one]))).of(one.id, one.file) == "pass":
                what = "the test passes only where the text of the change can be read"
                findings.append(Finding("red-first", one.id, what, shown=True))
            else:
                flaky.append(one.id)
    rest = [one for one in candidates if one.id not in {*flaky, *(f.where for f in findings)}]
    for one in rest:
        own = [call for call in calls if call.test == name_of(one.id) and call.chosen]
        back = knocked_out.of(one.id, one.file) == "pass"
        if not own:
            what = "the test executes no function that is changed, nor one that reads what is"
            findings.append(Finding("red-first", one.id, what, shown=True))
        elif back and all(map(trial.is_changed, own)):
            again = statuses(runs.run("red", alone([one])))
            if again.of(one.id, one.file) == "fail":
                what = "the test passes with the functions of before, too"
                findings.append(Finding("no-patching", one.id, what, shown=True))
            else:
                flaky.append(one.id)
    bad = {*flaky, *(finding.where for finding in findings)}
    rest = [one for one in rest if one.id not in bad]
    if rest and not meddled:
        findings += _outside(trial, rest, before, calls, knocked_out.tests)
    executed = frozenset((call.file, call.function) for call in calls if call.chosen)
    bad = {*flaky, *(finding.where for finding in findings)}
    kept = tuple(one for one in candidates if one.id not in bad)
    findings += [Finding("green-now", candidates[0].id, meddled, shown=True)] if meddled else []
    return Turned(kept, tuple(flaky), tuple(findings), executed, tuple(calls))


@dataclass(frozen=True, slots=True)
class _Trial:
    runs: Runs
    candidates: tuple[Standing, ...]
    modules: Mapping[str, Disguised]
    files: tuple[str, ...]
    """Of all tests that were run on the new code."""

    def is_changed(self, call: Call) -> bool:
        """Return whether the called function itself is changed."""
        return (
            call.file in self.modules and call.function in self.modules[call.file].chosen.values()
        )

    def knock_out(self, workspace: Workspace) -> None:
        for path, one in self.modules.items():
            workspace.write(path, one.knocked_out.encode())

    def disguise(self, workspace: Workspace) -> None:
        root = str(workspace.root)
        names = sorted(set[str]().union(*(one.names for one in self.modules.values())))
        data = [
            f"{root}/{path}" for path in self.runs.change.code_files if not path.endswith(".py")
        ]
        only = tuple(name_of(one.id).partition("[")[0] for one in self.candidates)
        more = {"names": tuple(names), "data": tuple(data), "only": only}
        watch_tests(workspace, [one.file for one in self.candidates if one.file], **more)
        for path, one in self.modules.items():
            line = watching_line(workspace, one.chosen, top=root, **more)
            workspace.write(path, f"{line}\n{one.text}\n".encode())


def _outside(
    trial: _Trial, tests: Sequence[Standing], before: Sequence[Call], after: Sequence[Call],
    knocked_out: Mapping[str, str],
) -> Iterator[Finding]:  # fmt: skip
    """Yield findings of calls that behave otherwise where no test runs."""
    names = {name_of(one.id): one for one in tests}
    was = _distinct(call for call in before if call.test in names and call.again)
    now = _distinct(call for call in after if call.test in names and call.again and call.chosen)
    calls = [*was, *now]
    runs = trial.runs
    workspace, code, timeout = runs.workspace, runs.change.code, runs.timeout
    from refute.gating.strength import variants_of

    functions = {path: [*dict.fromkeys(m.chosen.values())] for path, m in trial.modules.items()}
    variants = variants_of(runs.change, functions)
    others = [(one.mutant.file, one.mutant.text) for one in variants]
    if not calls:
        yield from _near_by(trial, (), [], [], variants)
        return
    old = replay_outside(workspace, (), calls, timeout)
    new = replay_outside(workspace, (code,), calls, timeout, others)
    yield from _near_by(trial, now, old[len(was) :], new[len(was) :], variants)
    new = [[row for row in rows if "variant" not in row] for rows in new]
    suspects = []
    for place, call in enumerate(calls):
        ends = [row.get("end") for row in new[place]]
        first = old[place][0].get("end") if old[place] else None
        if place < len(was) or not call.end or not ends or None in ends:
            continue
        if any(end != call.end for end in ends) and first in ends:
            suspects.append(place)  # outside it does what it did before
    for name, one in names.items():
        own = [place for place, call in enumerate(was) if call.test == name]
        asked = [call for call in before if call.test == name]
        known = all(call.again and call.end for call in asked) and bool(own)
        if known and all(_same(was[place], old[place], new[place]) for place in own):
            if knocked_out.get(one.id) == "pass":
                what = "what the test calls does the same on the old code, where no test runs"
                yield Finding("no-patching", one.id, what, shown=True)
            suspects += own
            done = {(call.plain, call.file) for call in after if call.test == name}
            missing = [call for call in asked if (call.plain, call.file) not in done]
            if missing or any(call.replaced for call in after if call.test == name):
                what = "the test replaces what is changed, and nothing else does what it did not"
                yield Finding("no-patching", one.id, what, shown=True)
    if not suspects:
        return
    for name in dict.fromkeys(calls[place].test for place in suspects):
        some = [place for place in dict.fromkeys(suspects) if calls[place].test == name]
        again, patches = [calls[place] for place in some], (runs.change.tests, code)
        control = replay_in_test(workspace, patches, names[name].file, again, timeout)
        for place, rows in zip(some, control, strict=True):
            outside = {row.get("end") for row in new[place]}
            inside = {row.get("end") for row in rows} - {None}
            if inside and not inside <= outside and None not in outside:
                call = calls[place]
                what = f"{call.function} does something else where no test runs"
                where = f"{call.file}::{call.function}"
                yield Finding("no-special-case", where, what, shown=True)
                return


def _distinct(calls: Iterable[Call]) -> list[Call]:
    found = {(call.test, call.function, call.again): call for call in calls}
    return list(found.values())[:MOST_CALLS]


def _same(call: Call, old: Sequence[Mapping[str, Any]], new: Sequence[Mapping[str, Any]]) -> bool:
    """Return whether a call that is known on the old code, in a test and outside, does the same on
    the new one, in one kind of surroundings at least."""
    if not old or not new or old[0].get("end") != call.end:
        return False
    return any(row.get("end") == call.end for row in new)


def _near_by(
    trial: _Trial, calls: Sequence[Call], old: Rows, new: Rows,
    variants: Sequence[Variant],
) -> Iterator[Finding]:  # fmt: skip
    """Changed functions that do otherwise at the turned calls, and not where it would be due."""
    from refute.gating.strength import Beside, conditions, one_example, special, surviving

    judged: dict[tuple[str, str], list[Beside]] = {}
    for call, was, now in zip(calls, old, new, strict=True):
        rows = {row.get("variant"): row for row in reversed(now)}
        if was and None in rows and trial.is_changed(call):
            one = Beside(was[0], rows[None], rows)
            judged.setdefault((call.file, call.function), []).append(one)
    rivals = dict[int, tuple[str, str]]()
    for (file, function), own in judged.items():
        what, where = special(own, variants, function), f"{file}::{function}"
        doubt = "" if what else one_example(own, variants, function)
        if what or doubt:
            rule: Rule = "no-special-case" if what else "one-example"
            yield Finding(rule, where, what or doubt, shown=True)
        for place, shown in () if what or doubt else conditions(own, variants):
            if variants[place].mutant.file == file:
                rivals[place] = where, f"nothing changes for {shown}, by"
    for place, variant in enumerate(variants):
        key = variant.mutant.file, variant.mutant.qualname
        if variant.widens and key not in judged:
            rivals[place] = "::".join(key), "it changes something only where"
    if not rivals:
        return
    mutants = [variants[place].mutant for place in rivals]
    kept = surviving(trial.runs.change, trial.runs.workspace, trial.files, mutants)
    found = {(variants[p].told, where): what for p, (where, what) in rivals.items()
             if variants[p].mutant in kept}  # fmt: skip
    for (told, where), what in found.items():
        what += f" `{told}`, and no test shows that to be right"
        yield Finding("one-example", where, what, shown=True)
