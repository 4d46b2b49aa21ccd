"""Strength of a change and of its tests.

Is the change for more than the calls of turned tests? Calls near these tell.

share       old and new differ nearly nowhere but at the turned call
moved       a number that the change brings in, made another: the change moves with it
condition   without a condition that the change brings in, the tests pass as well, and the change
            holds where the old code's behaviour was left
pattern     nearby the new results say that the old fault is only covered

Another example in the tests that does not show the same refutes each of them.

Do the tests demand as much as before? Mutants that give one call of a test another outcome tell.
The calls are those that the tests made, as they were, of the new code. Whichever of the mutants the
tests noticed as they were, they must notice as they are.
"""

from __future__ import annotations

import ast
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from refute.core.combinators import in_turn
from refute.diffing.definitions import Definitions
from refute.diffing.modules import Module
from refute.errors import WorkspaceUnavailable
from refute.gating.change import Change, PatchedChange
from refute.gating.experiments import disguised, functions_of
from refute.gating.running import Lost, Weighed
from refute.hardening.mutants import Mutant, edit_of, mutants_of_call
from refute.hardening.testing import Fate, Trial, run_on_mutants
from refute.issue.observed_calls import Call, name_of, write_sources
from refute.source.syntax import Function, readable_module
from refute.workspace.contract import Workspace
from refute.workspace.running import applied

MOST_VARIANTS = 40
SPECIAL = 0.1
"""A change for one value changes less than this share of the calls beside (of the prototype)."""
_FEW, _MANY = 3, 6
"""Calls beside that show something, together with where the value lies; that do so alone."""
_EMPTY = frozenset({"None", "0", "-1", "0.0", "''", "[]", "()", "{}", "set()", "False", "True"})
"""Results for nothing."""


def _fails(end: object) -> bool:
    return str(end).startswith("raises ")


@dataclass(frozen=True, slots=True)
class Variant:
    """The new code with a condition that always or never holds, or with another number."""

    mutant: Mutant
    told: str
    condition: bool = False
    """True if it is of a condition: of two, the first always holds, or on both sides of a limit,
    and the next never does."""
    widens: bool = False
    """True if only what stood there before is wider or narrower by the condition, and this one
    leaves nothing of that."""


@dataclass(frozen=True, slots=True)
class Beside:
    """One turned call on both sides, with those beside it."""

    was: Mapping[str, Any]
    now: Mapping[str, Any]
    variants: Mapping[Any, Mapping[str, Any]] = field(default_factory=dict)
    """By the place of the variant: its rows of the same calls."""

    @property
    def differs(self) -> bool:
        """Return whether the change changes the turned call itself."""
        return bool(self.was.get("near")) and self.was.get("end") != self.now.get("end")

    def near(self) -> Iterator[tuple[str, str, str, str]]:
        """Yield its place, the argument as people read it, and the results before and after."""
        moves, before, after = (
            row.get(name) for row, name in
            ((self.now, "moves"), (self.was, "near"), (self.now, "near"))
        )  # fmt: skip
        for (at, shown), old, new in zip(moves or (), before or (), after or (), strict=False):
            yield at, shown, old, new

    def left_alone(self, place: int) -> list[str]:
        """Return the calls beside that the change leaves as they were, and the variant does not,
        nor does it fail there where the turned call does not."""
        other, fails = self.variants.get(place, {}).get("near") or (), _fails(self.now.get("end"))
        return [
            shown
            for (_, shown, old, new), third in zip(self.near(), other, strict=False)
            if old == new != third and (fails or not _fails(third))
        ]

    def is_as(self, place: int, row: Mapping[str, Any]) -> bool:
        """Return whether a variant's turned call ends as in another row."""
        end = self.variants.get(place, {}).get("end")
        return end is not None and end == row.get("end")


# -- variants --------------------------------------------------------------------------------------


def variants_of(change: Change, changed: Mapping[str, Sequence[str]]) -> list[Variant]:
    """Variants of the functions that are changed (path -> names), and of the data beside them."""
    return list(islice(_variants(change, changed), MOST_VARIANTS))


_Functions = Mapping[str, Function]


def _files(
    change: Change, changed: Mapping[str, Sequence[str]]
) -> Iterator[tuple[Module, str | None, _Functions, _Functions, list[str]]]:
    """Yield each file as it is now, its old text, its functions before and now, and the names of
    those of them that are changed."""
    for path, names in changed.items():
        old, new = change.before.get(path), change.after[path]
        was, now = functions_of(old or ""), functions_of(new)
        module = Module(path, "", new, Definitions(), {}, ())
        yield module, old, was, now, [name for name in names if name in now]


def _variants(change: Change, changed: Mapping[str, Sequence[str]]) -> Iterator[Variant]:
    for module, old, was, now, names in _files(change, changed):
        if old is None:
            continue
        for name in names:
            if name in was:
                yield from _of_conditions(module, name, was[name], now[name])
        known = Counter(map(_text, ast.walk(readable_module(old))))
        for name in names:
            yield from _of_numbers(module, name, now[name], now[name], known)
        anywhere = next(iter(now.items()), None)
        for statement in readable_module(module.text).body if anywhere else ():
            if isinstance(statement, ast.Assign | ast.AnnAssign) and anywhere:
                yield from _of_numbers(module, *anywhere, statement, known)


def _of_conditions(module: Module, name: str, old: Function, new: Function) -> Iterator[Variant]:
    """Of each condition that the old function does not have, one that always holds and one that
    never does. One that stands where another did is no new condition."""
    tests = [[*_tests(node)] for node in (old, new)]
    known = {_text(part) for test in tests[0] for part in ast.walk(test)}
    known |= {_text(part) for part in ast.walk(old) if isinstance(part, ast.expr)}
    chains = [{*map(_text, n.values)} for n in ast.walk(old) if isinstance(n, ast.BoolOp)]
    added = len(tests[1]) > len(tests[0])
    found = {test: "" for test in tests[1] if added and _text(test) not in known}
    for node in ast.walk(new):
        if isinstance(node, ast.BoolOp):
            rest = [one for one in node.values if _text(one) not in known]
            stood = max((len(one) for one in chains if one & {*map(_text, node.values)}), default=1)
            if len(rest) < len(node.values) > stood:
                found |= dict.fromkeys(rest, "True" if isinstance(node.op, ast.Or) else "False")
            elif node in found:
                found |= dict.fromkeys(node.values, "")
    for test, wide in found.items():
        told, always = ast.unparse(test), ["True"]
        match test:
            case ast.Compare(left, [ast.Lt() | ast.LtE() | ast.Gt() | ast.GtE()], [right]):
                always.append(f"{ast.unparse(left)} != {ast.unparse(right)}")
        for one in always:
            pair = [edit_of(module.text, new, test, value) for value in (one, "False")]
            for edit in pair:
                mutant = Mutant(module, name, new, edit)
                yield Variant(mutant, told, True, edit.new.decode() == wide)


def _tests(node: ast.AST) -> Iterator[ast.expr]:
    for one in ast.walk(node):
        if isinstance(one, ast.If | ast.IfExp):
            yield one.test
        elif isinstance(one, ast.comprehension):
            yield from one.ifs


def _of_numbers(
    module: Module, name: str, function: Function, node: ast.AST, known: Counter[str]
) -> Iterator[Variant]:
    """Of each number that the old module does not hold, the next one and the one before."""
    often = set[ast.AST]()
    for one in ast.walk(node):
        match one:
            case ast.Compare(ast.BinOp(_, ast.Mod(), ast.Constant(int(by)) as node), _, others) if (
                by * SPECIAL <= 1
            ):
                often |= {node, *others}  # `n % 2 == 0` holds for many values, whichever these are
            case ast.Constant(int() | float() as value) if type(value) is not bool:
                if one in often:
                    continue
                edits = [edit_of(module.text, function, one, repr(v)) for v in _others(value)]
                if not known[_text(one)]:
                    found = (Mutant(module, name, function, edit) for edit in edits)
                    yield from (Variant(mutant, repr(value)) for mutant in found)


def _others(value: float) -> tuple[float, ...]:
    return value + 1, value - 1, value * 2 or 10, value + 100


def _text(node: ast.AST) -> str:
    return ast.dump(node)


# -- verdicts --------------------------------------------------------------------------------------


def special(calls: Sequence[Beside], variants: Sequence[Variant], name: str) -> str:
    """Return why a change of a function is for the turned calls alone, as all of them show; ""."""
    turned = [one for one in calls if one.differs]
    told = [known for one in turned if (known := is_special(one.was, one.now)) is not None]
    if told and all(told):
        return f"{name} does what it did before, but for the test's own values"
    numbers = [place for place, one in enumerate(variants) if not one.condition]
    for first, *rest in zip(*[iter(numbers)] * len(_others(0)), strict=False):
        if turned and all(_moves(one, [first, *rest]) for one in turned):
            return f"{name} does what it did before, but where a value is {variants[first].told}"
    return ""


def one_example(calls: Sequence[Beside], variants: Sequence[Variant], name: str) -> str:
    """Return how what a function does now only covers its old fault, and no call refutes it; ""."""
    turned = [one for one in calls if one.differs]
    for place, variant in enumerate(variants):
        if turned and all(_is_in_all(one, place, variant) for one in turned):
            return f"{name} gives {variant.told} wherever it raised: one example only"
    shown = next((text for look in _PATTERNS for one in turned if (text := look(one, calls))), "")
    return f"{name} {shown}: one example only" if shown else ""


def _moves(one: Beside, places: Sequence[int]) -> bool:
    """Return whether with another number the turned call is as before, and one beside is not: by
    the next number, which has none between, or by two that do this at different places."""
    found = [set(one.left_alone(at)) if one.is_as(at, one.was) else set() for at in places]
    near, (third, fourth) = found[:2], found[2:]
    return any(near) or bool(third and fourth and not third & fourth)


def _is_in_all(one: Beside, place: int, variant: Variant) -> bool:
    """Return whether a number stands in every result where the old code failed, whatever is given;
    with another number, that one does."""
    other = one.variants.get(place, {}).get("near") or ()
    rows = [(new, third) for (_, _, old, new), third in zip(one.near(), other, strict=False)
            if _fails(old) and not _fails(new)]  # fmt: skip
    number, last = rf"\b{re.escape(variant.told)}\b", variant.mutant.edit.new.decode()
    same = all(re.sub(number, last, new) == third != new for new, third in rows)
    return same and _fails(one.was.get("end")) and len({new for new, _ in rows}) >= _FEW


def conditions(calls: Sequence[Beside], variants: Sequence[Variant]) -> Iterator[tuple[int, str]]:
    """Yield conditions that keep the change from calls beside: the place of the variant that is
    without, and such a call."""
    turned = [one for one in calls if one.differs]
    for place, variant in enumerate(variants):
        if not variant.condition:
            continue
        opposite = place + 1 if variant.mutant.edit.new != b"False" else place - 1
        if turned and all(
            one.is_as(place, one.now) and one.is_as(opposite, one.was) for one in turned
        ):
            shown = next((text for one in calls for text in one.left_alone(place)), "")
            if shown:
                yield place, shown


def is_special(was: Mapping[str, Any], now: Mapping[str, Any]) -> bool | None:
    """Return whether a call that differs stands alone; None where that cannot be told.

    One at a border does not: beside it one that does the same as before goes the same way through
    the new code, and another one does not.
    """
    match was.get("near"), now.get("near"), now.get("same way"), now.get("moves"):
        case list(before), list(after), list(ways), list(moves):
            pass
        case _:
            return None
    near = zip(before, after, ways, moves, strict=False)
    pairs = [(*row, same) for *row, same, (at, _) in near if not _is_elsewhere(at)]
    way = [same for *_, same in pairs]
    if now.get("edge") is True or not pairs or "end" not in was:
        return None
    differ = sum(one != other for one, other, _ in pairs)
    at_border = any(same and one == other for one, other, same in pairs) and not all(way)
    return differ < SPECIAL * len(pairs) and not at_border


def _is_elsewhere(at: str) -> bool:
    """Return whether two arguments are others, or a letter is any other."""
    return "+" in at or at.rpartition(":")[2].isdigit()


def _by_place(one: Beside) -> Iterator[tuple[str, list[tuple[str, str, str]]]]:
    rows = list(one.near())
    for at in dict.fromkeys(row[0] for row in rows):
        yield at, [row[1:] for row in rows if row[0] == at]


def _ignores(one: Beside, calls: Sequence[Beside]) -> str:
    """A value that the result depended on does not matter any more."""
    end = str(one.now.get("end"))
    for at, rows in () if end in _EMPTY - {"False", "True"} else _by_place(one):
        if "+" in at:  # two that are a little larger or less: of a limit this is due
            continue
        olds = {old for _, old, new in rows if new == end and not _fails(old)}
        same = all(new == end for _, _, new in rows)
        if same and len(rows) >= _MANY and len(olds) > 1 and not _fails(end):
            return f"gives {end[:40]} whatever {at.partition(':')[0]} is"
    return ""


def _answers_anyhow(one: Beside, calls: Sequence[Beside]) -> str:
    """One result for all letters that the old code raised for."""
    end = str(one.now.get("end"))
    if sum(other.now.get("end") == end for other in calls) > 1 or end in _EMPTY:
        return ""  # two examples show that it is a default
    if _fails(end) or not _fails(one.was.get("end")):
        return ""
    for at, rows in _by_place(one):
        lettered = _is_elsewhere(at) and "+" not in at and len(rows) >= _FEW
        if lettered and all(_fails(old) and new == end for _, old, new in rows):
            return f"gives {end[:40]} for {rows[0][0]}, too, which raised before"
    return ""


def _still_fails(one: Beside, calls: Sequence[Beside]) -> str:
    """The error of the turned call, which no statement raises, is gone on both sides of its number,
    and still there farther away."""
    end = str(one.was.get("end"))
    demanded = any(other.now.get("end") == end for other in calls)
    for at, rows in _by_place(one) if one.was.get("accident") is True and not demanded else ():
        nearest = [new for _, _, new in rows[:2]]
        shown = next((told for told, old, new in rows if old == new == end), "")
        if shown and ":" not in at and not any(map(_fails, nearest)):
            return f"still {end[:80]} for {shown}"
    return ""


def _documented(one: Beside, calls: Sequence[Beside]) -> str:
    """An example that the docstring quotes beside the turned value raises as before, as the turned
    call did."""
    before, after = (row.get("documented") or {} for row in (one.was, one.now))
    for text, end in after.items() if _fails(one.was.get("end")) else ():
        if _fails(end) and _fails(before.get(text)):
            return f"still {str(end)[:80]} for {text!r}, which its docstring names"
    return ""


def _swallows(one: Beside, calls: Sequence[Beside]) -> str:
    """The text was no value of what is read, and with a letter in any place is none either; now all
    of these are taken."""
    kind = "raises ValueError"
    rows = [(shown, new) for at, shown, old, new in one.near()
            if _is_elsewhere(at) and "+" not in at and old.startswith(kind)]  # fmt: skip
    swallowed = str(one.was.get("end")).startswith(kind) and len(rows) >= _MANY
    taken = swallowed and not any(_fails(new) for _, new in rows)
    return f"accepts {rows[0][0]}, too, which raised before" if taken else ""


_PATTERNS: tuple[Callable[[Beside, Sequence[Beside]], str], ...] = (
    _ignores, _answers_anyhow, _still_fails, _documented, _swallows,
)  # fmt: skip


# -- tests that notice less ---------------------------------------------------------------------

MOST_MUTANTS = 160
SECONDS = 120.0


def weakened(
    change: Change, workspace: Workspace, calls: Sequence[Call], before: Sequence[str],
    after: Sequence[Sequence[str]],
) -> Weighed:  # fmt: skip
    """Return what the tests of `before` noticed as they were, and those of `after` do not. `calls`:
    of the tests as they were, on the new code. `after`: the likeliest tests first, then all. Raises
    `WorkspaceUnavailable`."""
    mutants = _mutants(workspace, (change.patch,), calls)
    if not mutants:
        return Weighed()
    old = _run(workspace, (change.code,), before, mutants)
    noticed = [place for place, fate in old.fates.items() if fate.state == "killed" and fate.by]
    fates = dict.fromkeys(noticed, Fate("unreached"))
    for tests in after:
        left = [place for place in noticed if fates[place].state not in ("killed", "timeout")]
        if left and tests:
            new = _run(workspace, (change.patch,), tests, [mutants[place] for place in left])
            if not new.tests and tests is after[-1]:
                raise WorkspaceUnavailable(new.reason)
            fates.update((left[place], fate) for place, fate in new.fates.items())
    found, gone, kept = dict[str, Lost](), set[str](), set[str]()
    for place, fate in fates.items():
        one, by = mutants[place], old.fates[place].by
        kept |= one.tests
        if fate.state in ("survived", "unreached"):
            what = f"nothing notices any more where {one.edit.operator}"
            found.setdefault(by, Lost(by, what, one.qualname.rpartition(".")[2]))
            gone |= one.tests
    return Weighed(tuple(found.values()), frozenset(kept - gone))


def surviving(
    change: Change, workspace: Workspace, tests: Sequence[str], mutants: Sequence[Mutant]
) -> tuple[Mutant, ...]:
    """Return those of the mutants of the new code that no test notices, though one reaches them.
    Raises `WorkspaceUnavailable`."""
    fates = _run(workspace, (change.patch,), tests, mutants).fates
    return tuple(mutants[place] for place, one in fates.items() if one.state == "survived")


def kill_nothing(
    change: Change, workspace: Workspace, ids: Sequence[str], calls: Sequence[Call]
) -> tuple[str, ...]:
    """Return the tests that pass whatever the calls that they make return. Raises
    `WorkspaceUnavailable`."""
    names = {name_of(id) for id in ids}
    own = [call for call in calls if call.test in names and call.chosen]
    drawn = _mutants(workspace, (change.patch,), own)
    mutants = [one for one in drawn if "raises" not in one.edit.operator]
    if not mutants:
        return ()
    fates = _run(workspace, (change.patch,), ids, mutants).fates.values()
    noticed = {name_of(fate.by) for fate in fates if fate.state in ("killed", "timeout")}
    passed = {name_of(test) for fate in fates for test in fate.tests if fate.state == "survived"}
    return tuple(id for id in ids if name_of(id) in passed - noticed)


def _run(
    workspace: Workspace, patches: Sequence[str], tests: Sequence[str], mutants: Sequence[Mutant]
) -> Trial:
    with applied(workspace, *patches):
        write_sources(workspace)
        files = set(workspace.files())
        there = [one for one in tests if one.partition("::")[0] in files]
        return run_on_mutants(workspace, there, mutants, seconds=SECONDS) if there else Trial()


def _mutants(workspace: Workspace, patches: Sequence[str], calls: Iterable[Call]) -> list[Mutant]:
    """Mutants of the calls, in turn one of each."""
    makers: dict[tuple[str, str, str], set[str]] = defaultdict(set)
    by_file: dict[str, list[tuple[Call, set[str]]]] = defaultdict(list)
    for call in calls:
        if call.file.endswith(".py") and call.outcome:
            tests = makers[call.file, call.function, str(call.given)]
            if not tests:
                by_file[call.file].append((call, tests))
            tests.add(call.test)
    rows = []
    with applied(workspace, *patches):
        for file, own in by_file.items():
            try:
                text = workspace.read(file).decode()
            except (OSError, ValueError):
                continue
            module, functions = Module(file, "", text, Definitions(), {}, ()), functions_of(text)
            rows += [
                mutants_of_call(module, functions, call, frozenset(tests)) for call, tests in own
            ]
    return list(islice(in_turn(rows), MOST_MUTANTS))


_TRIVIAL, _FAR = frozenset({0, 1, 2}), 100


def free_number(
    change: PatchedChange, workspace: Workspace, files: Sequence[str], issue: str
) -> str:
    """Return why a number that the fix brings in may as well be another one, as all tests of the
    files show: it compares with this one, or with one a little larger and a little smaller; 0, 1
    and 2 with one far away; or it gives a number, and only one that is less fails. ""."""
    functions = {path: [*one.chosen.values()] for path, one in disguised(change)[0].items()}
    stated = set(re.findall(r"\d+(?:\.\d+)?", issue))
    rows = [*islice(_new_numbers(change, functions, stated), MOST_VARIANTS // 2)]
    kept = surviving(change, workspace, files, [one for row in rows for one in row[1:]])
    for told, *mutants in rows:
        passing = [one in kept for one in mutants]
        far = told in _TRIVIAL and any(passing) and len(passing) == 2
        if far or passing in ([True, True], [False, True, True]):
            return f"nothing shows that {told} is the right number"
    return ""


def _new_numbers(
    change: Change, changed: Mapping[str, Sequence[str]], stated: set[str]
) -> Iterator[tuple[Any, ...]]:
    """Yield each number with mutants that have others in its place."""
    for module, old, was, now, names in _files(change, changed):
        everywhere = {*map(_text, ast.walk(readable_module(old or "")))}
        for name in names:
            known = {_text(one) for one in ast.walk(was[name])} if name in was else set()
            for compared, number, value in _numbers_in(now[name], known):
                others = [value - 1, value + 1] + [value + _FAR] * (not compared)
                if compared and value in _TRIVIAL:
                    others = [value - _FAR, value + _FAR]
                elif str(value) in stated or _text(number) in everywhere or value in (0, 1):
                    continue
                edits = [edit_of(module.text, now[name], number, repr(one)) for one in others]
                yield value, *(Mutant(module, name, now[name], one) for one in edits)


def _numbers_in(
    function: Function, known: set[str]
) -> Iterator[tuple[bool, ast.expr, int | float]]:
    """Yield numbers in comparisons (True) and calls that are not known."""
    for node in ast.walk(function):
        match node if _text(node) not in known else None:
            case ast.Compare(left, _, rest):
                parts = [left, *rest]
            case ast.Call(_, parts):
                pass
            case _:
                continue
        for part in parts:
            match part.operand if isinstance(part, ast.UnaryOp) else part:
                case ast.Constant(int() | float() as value) as one if type(value) is not bool:
                    yield isinstance(node, ast.Compare), one, value
