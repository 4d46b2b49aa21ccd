"""Tests that must fail, run with a fix: where one does not, nothing that passes says anything.

A fix can turn tests green without fixing anything: it patches the runner, takes the assertions out
of tests, returns objects that equal everything. So the tests that pass with it are run once more
with failures planted in them: each under its own name, at its own place, with its own statements,
so that nothing but the failure tells it apart. Copies under random names hold the other kinds of
failures, and tests that call nothing stand beside them. Every one of them must be seen to fail.
"""

from __future__ import annotations

import ast
import copy
import random
import re
import string
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from textwrap import indent

from refute.source.syntax import Function, readable_module
from refute.workspace.contract import TestReport, TestResult, TestSelection, Workspace
from refute.workspace.running import FAILING, run_on

MOST = 12
"""Tests that failures are planted in."""
_FAILURES = ("assert {a} == {b}", "raise AssertionError({a})", "raise LookupError({a})")
_ALONE = (
    *_FAILURES,
    "assert [{a}] == [{b}], {a}",
    "import pytest\nwith pytest.raises(ValueError):\n    {a}",
    "import pytest\npytest.fail('{a}')",
)
_METHODS = (
    *_FAILURES,
    "self.assertEqual({a}, {b})",
    "self.assertEqual([{a}], [{b}])",
    "self.assertTrue({a} == {b})",
    "self.assertFalse({a} != {b})",
    "self.assertIn({a}, [{b}])",
    "self.fail({a})",
    "with self.assertRaises(ValueError):\n    {a}",
)


@dataclass(frozen=True, slots=True)
class Planted:
    """A file with failures in it."""

    text: str
    replaced: frozenset[str]
    """Ids, among those given, of tests that stand in it as failing ones."""
    copies: Mapping[str, str]
    """Random name of a copy -> name of the test that it is a copy of."""
    alone: frozenset[str]
    """Random names of the tests that call nothing."""
    ids: tuple[str, ...]
    """pytest's ids of all failures that have a random name."""


def turned_green(
    workspace: Workspace,
    patches: Sequence[str],
    files: Sequence[str],
    passing: Sequence[TestResult],
    *,
    timeout: float,
    chance: random.Random | None = None,
) -> str:
    """Return why tests that pass with the patches prove nothing; "" if every planted failure is
    seen.

    `passing`: results of tests in `files` that pass with the patches applied (a fix and tests).
    Raises `PatchRejected`. The workspace is clean afterwards.
    """
    chance = chance or random.SystemRandom()
    chosen = chance.sample(list(passing), min(MOST, len(passing)))
    planted = list[Planted]()
    try:
        report = run_on(
            workspace, patches, TestSelection(tuple(files)), timeout=timeout,
            prepare=lambda tree: planted.extend(plant(tree, chosen, files, chance)),
        )  # fmt: skip
    except OSError as error:
        return f"no failure could be planted in the tests: {error}"
    return unseen(report, planted, {result.id for result in chosen})


def plant(
    workspace: Workspace, passing: Sequence[TestResult], files: Sequence[str],
    chance: random.Random, *, beside: bool = False,
) -> list[Planted]:  # fmt: skip
    """Write failures into the files of the tests. `beside`: what passes is left as it is, and every
    failure has a random name. Raises `OSError`."""
    planted = []
    for path in dict.fromkeys(_paths(passing, files)):
        text = workspace.read(path).decode("utf-8", "replace")
        one = _plant(text, path, passing, chance, beside)
        workspace.write(path, one.text.encode("utf-8", "surrogateescape"))
        planted.append(one)
    return planted


def _paths(passing: Sequence[TestResult], files: Sequence[str]) -> Iterator[str]:
    """The files of the tests; all files where a runner does not say which."""
    for result in passing:
        if result.file in files:
            yield result.file
        else:
            yield from files


def unseen(report: TestReport, planted: Sequence[Planted], passing: Collection[str]) -> str:
    """Return in a line the planted failure that did not fail; "" if all failed."""
    if report.status != "finished" or not report.trusted:
        return f"with failures planted, the tests do not finish: {report.remark or report.status}"
    outcomes: dict[str, set[str]] = {}
    for result in report.results:
        outcomes.setdefault(result.id, set()).add(result.outcome)
    replaced = frozenset[str]().union(*(one.replaced for one in planted))
    must = set(replaced)
    for one in planted:
        must |= {id for id in outcomes if any(name in id for name in one.alone)}
        for name, of in one.copies.items():  # with other parameters it may be skipped
            must |= {id for id in outcomes if name in id and id.replace(name, of) in passing}
    green = [id for id in sorted(must) if not outcomes.get(id, {"missing"}) <= set(FAILING)]
    if green:
        shown = next((id for id in green if id in replaced), green[0])
        return f"with the fix a test passes that must fail: it meddles with the tests ({shown})"
    if not must:
        return "no failure could be planted in the tests that pass"
    return ""


# -- planting --------------------------------------------------------------------------------------


def _plant(
    text: str, path: str, passing: Sequence[TestResult], chance: random.Random, beside: bool
) -> Planted:
    """Failures in the file's tests, and tests that fail by themselves, as a new file."""
    module = readable_module(text)
    wanted: dict[tuple[str, ...], set[str]] = {}
    for result in passing:
        if result.file in ("", path):
            wanted.setdefault(names_of(result.id), set()).add(result.id)
    replaced: set[str] = set()
    copies: dict[str, str] = {}
    named = list[str]()
    for owner, node, names in list(_definitions(module)):
        ids = wanted.get(names, set()) | wanted.get(("", *names[-2:]), set())
        if not ids:
            continue
        variants = _variants(node, chance)
        chance.shuffle(variants)
        for other in variants if beside else variants[1:]:
            added = f"_{_word(chance)}"
            other.name += added
            copies[other.name] = node.name
            named += (added.join(re.split(r"(?=\[|$)", id, maxsplit=1)) for id in sorted(ids))
        at = owner.body.index(node)
        owner.body[at : at + 1] = [node, *variants] if beside else variants
        replaced |= set() if beside else ids
    try:
        text = ast.unparse(ast.fix_missing_locations(module))
    except (ValueError, RecursionError):
        replaced, copies, named = set(), {}, []
    alone, owners = _alone(chance)
    named += (f"{path}::{before}{name}" for name, before in owners.items())
    kept = frozenset(replaced), copies, frozenset(owners), tuple(named)
    return Planted(f"{text}\n\n{alone}", *kept)


def _definitions(
    owner: ast.Module | ast.ClassDef, names: tuple[str, ...] = ()
) -> Iterator[tuple[ast.Module | ast.ClassDef, Function, tuple[str, ...]]]:
    for node in owner.body:
        if isinstance(node, ast.ClassDef):
            yield from _definitions(node, (*names, node.name))
        elif isinstance(node, Function):
            yield owner, node, (*names, node.name)


def names_of(id: str) -> tuple[str, ...]:
    """Classes and function that a test's id names; of a dotted one the last two, after ""."""
    if "::" in id:
        return tuple(id.partition("[")[0].split("::")[1:])
    return ("", *id.partition(" ")[0].split(".")[-2:])


def _variants(test: Function, chance: random.Random) -> list[Function]:
    """The test with a failure at its end, at its start, and with its checks turned round."""
    head = 1 if ast.get_docstring(test, clean=False) is not None else 0
    kinds = _METHODS if _is_method(test) else _FAILURES
    last, first = copy.deepcopy(test), copy.deepcopy(test)
    last.body[head:] = [
        ast.Try(last.body[head:] or [ast.Pass()], [], [], _statements(kinds, chance))
    ]
    first.body[head:head] = _statements(kinds, chance)
    turned = copy.deepcopy(test)
    found = [last, first]
    turns = [_turn(statement, chance) for statement in _certain(turned.body)]
    if any(turns):
        found.append(turned)
    return found


def _is_method(test: Function) -> bool:
    """Return whether a test is a method of unittest's, by what it calls."""
    return any(
        isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id == "self"
        and node.attr.startswith("assert")
        for node in ast.walk(test)
    )


def _statements(kinds: Sequence[str], chance: random.Random) -> list[ast.stmt]:
    return readable_module(_filled(chance.choice(kinds), chance)).body


def _filled(template: str, chance: random.Random) -> str:
    a, b = chance.sample(range(100, 10_000), 2)
    return template.format(a=a, b=b)


def _alone(chance: random.Random) -> tuple[str, dict[str, str]]:
    """Tests that call nothing, as functions and as methods, in random order; their names, with what
    stands before them in an id."""
    functions = {f"test_{_word(chance)}": _filled(kind, chance) for kind in _ALONE}
    methods = {f"test_{_word(chance)}": _filled(kind, chance) for kind in _METHODS}
    owner = f"Test{_word(chance).title()}"
    parts = [_definition(f"{name}()", body) for name, body in functions.items()]
    shown = [_definition(f"{name}(self)", body) for name, body in methods.items()]
    chance.shuffle(shown)
    inside = "\n\n".join(indent(one, "    ") for one in shown)
    parts.append(f"class {owner}(__import__('unittest').TestCase):\n{inside}\n")
    chance.shuffle(parts)
    before = dict.fromkeys(functions, "") | dict.fromkeys(methods, f"{owner}::")
    return "\n\n".join(parts), before


def _definition(head: str, body: str) -> str:
    return f"def {head}:\n{indent(body, '    ')}\n"


def _word(chance: random.Random) -> str:
    return "".join(chance.choice(string.ascii_lowercase) for _ in range(8))


# -- checks turned round ---------------------------------------------------------------------------


def _certain(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """Statements that run whenever the test passes: none of a branch, a loop or a function, and
    none behind a return."""
    for statement in body:
        yield statement
        if any(isinstance(node, ast.Return) for node in ast.walk(statement)):
            return
        if isinstance(statement, ast.With | ast.AsyncWith) and not _expects(statement):
            yield from _certain(statement.body)


def _turn(statement: ast.stmt, chance: random.Random) -> bool:
    """Change a check that holds into one that does not; False where it is none that is known."""
    if isinstance(statement, ast.Assert):
        statement.test = _turned(statement.test, chance)
        return True
    if isinstance(statement, ast.With | ast.AsyncWith) and _expects(statement):
        statement.body = [ast.Pass()]
        return True
    if not isinstance(statement, ast.Expr) or not isinstance(statement.value, ast.Call):
        return False
    call = statement.value
    name = call.func.attr if isinstance(call.func, ast.Attribute) else ""
    if name in _OPPOSITE and call.args:
        assert isinstance(call.func, ast.Attribute)
        call.func.attr = _OPPOSITE[name]
        return True
    if name in _EQUAL and len(call.args) >= 2:
        at = 0 if isinstance(call.args[0], ast.Constant | ast.List | ast.Dict | ast.Tuple) else 1
        call.args[at] = _other(call.args[at], chance)
        return True
    return False


_EQUAL = frozenset(
    f"assert{kind}Equal" for kind in ("", "List", "Tuple", "Dict", "Set", "Sequence", "MultiLine")
)
_OPPOSITE = {"assertTrue": "assertFalse", "assertFalse": "assertTrue"}
_EXPECTING = frozenset({"raises", "assertRaises", "assertRaisesRegex"})


def _expects(statement: ast.With | ast.AsyncWith) -> bool:
    """Return whether a block must raise."""
    calls = [item.context_expr for item in statement.items]
    heads = [call.func for call in calls if isinstance(call, ast.Call)]
    names = {h.attr if isinstance(h, ast.Attribute) else getattr(h, "id", "") for h in heads}
    return bool(names & _EXPECTING)


def _turned(check: ast.expr, chance: random.Random) -> ast.expr:
    if isinstance(check, ast.Compare) and len(check.ops) == 1 and isinstance(check.ops[0], ast.Eq):
        if isinstance(check.left, ast.Constant | ast.List | ast.Dict | ast.Tuple):
            check.left = _other(check.left, chance)
        else:
            check.comparators[0] = _other(check.comparators[0], chance)
        return check
    return ast.UnaryOp(ast.Not(), check)


def _other(expected: ast.expr, chance: random.Random) -> ast.expr:
    """Another value, of the same type where it is written out."""
    number = ast.Constant(chance.randrange(10_000, 10**6))
    match expected:
        case ast.Constant(value=bool()):
            return number
        case ast.Constant(value=int() | float()):
            return ast.BinOp(expected, ast.Add(), number)
        case ast.Constant(value=str()) | ast.JoinedStr():
            return ast.BinOp(expected, ast.Add(), ast.Constant(_word(chance)))
        case ast.List() | ast.Tuple():
            expected.elts.append(number)
            return expected
        case ast.Dict():
            expected.keys.append(number)
            expected.values.append(number)
            return expected
    return ast.Constant(_word(chance))
