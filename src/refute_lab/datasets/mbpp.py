"""MBPP+ (EvalPlus): 378 functions described in one sentence, about 41,000 private inputs.

The code under test is the canonical solution, which is also the reference; put samples in its
place with `item.with_code`. Two forms of file are read, as for HumanEval+: the plain one
(``MbppPlus*.jsonl``; preferred) and the ``-OriginFmt`` one. The plain one keeps its inputs as
JSON, which has no tuples, sets and complex numbers: `restore` gives them back, problem by problem,
as EvalPlus's `mbpp_deserialize_inputs` does (release 0.2.0 of the data; the problems' numbers are
part of its format).

`description` is the sentence alone: the plain form's prompt shows an assert, which is taken off.
With ``visible_tests=N`` the first N asserts are put back, as text and as `problem.tests`.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from refute.core.problems import FunctionKey, FunctionProblem, UnitTest
from refute.source.syntax import parse_module
from refute_lab.datasets.humaneval import arguments
from refute_lab.datasets.originfmt import compares_sets, is_in, read_asserts, test_code
from refute_lab.datasets.rows import (
    DatasetSpec,
    Item,
    LoaderOptions,
    Row,
    SourceProblem,
    from_rows,
    signature_of,
)

STARTS = ("MbppPlus",)
"""How the names of its files begin."""
NOT_EXTRACTABLE = frozenset({88, 255, 630})
"""Numbers of the problems that UTGen leaves out (`originfmt.is_extractable`)."""
CHECKERS = {
    "check_str": "not_none",
    "text_match_three": "not_none",
    "text_starta_endb": "not_none",
    "similar_elements": "same_set",
    "find_char_long": "same_set",
    "common_in_nested_lists": "same_set",
    "extract_singly": "same_set",
    "larg_nnum": "same_set",
    "intersection_array": "same_set",
    "find_dissimilar": "same_set",
    "Diff": "same_set",
    "digit_distance_nums": "padded_digit_distance",
    "surface_Area": "pyramid_surface",
}
"""Entry point -> checker, as in EvalPlus's `unsafe_execute` (dataset ``mbpp``)."""


def item(row: Row, options: LoaderOptions) -> Item:
    """One row, of either form, as problem and key. Raises `DatasetError`."""
    sentence, asserts, field = _prompt(row)
    key = _key(row)
    key = replace(key, checker=checker(row, key.checker, options))
    lines, tests = visible(
        row,
        asserts,
        key.entry_point,
        options.visible_tests,
        field=field,
        imports=row.texts("test_imports") + _imports(row),
    )
    try:
        signature = signature_of(key.reference, key.entry_point)
    except SourceProblem as e:
        raise row.error("canonical_solution", str(e)) from None
    problem = FunctionProblem(
        id=key.id,
        description="\n".join([sentence, *lines]),
        signature=signature,
        entry_point=key.entry_point,
        code=key.reference,
        tests=tests,
        editor_lines=for_editor(asserts, options),
    )
    return Item(problem, key)


def _key(row: Row) -> FunctionKey:
    identity = row.id("task_id", prefix="Mbpp/")
    reference = row.text("canonical_solution", "code")
    if "base_input" in row.fields:
        name = row.text("entry_point")
        number = int(identity.rpartition("/")[2]) if identity[-1:].isdecimal() else -1
        inputs = []
        for field in ("base_input", "plus_input"):
            stored = arguments(row, field)
            try:
                inputs += [restore(number, args) for args in stored]
            except (TypeError, ValueError, IndexError, AttributeError) as e:
                raise row.error(field, f"not the inputs of problem {number}: {e}") from None
        return FunctionKey(
            id=identity,
            entry_point=name,
            reference=reference,
            inputs=tuple(inputs),
            atol=row.number("atol", 0.0),
            checker=CHECKERS.get(name),
            contract=row.optional_text("contract"),
        )
    code = test_code(row)
    if code.entry_point is None:
        raise row.error("test", "does not name the function that it calls")
    return FunctionKey(
        id=identity,
        entry_point=code.entry_point,
        reference=reference,
        inputs=code.inputs,
        expected=code.expected,
        atol=code.atol,
        checker=code.checker,
    )


def _prompt(row: Row) -> tuple[str, list[str], str]:
    """The sentence, the visible asserts, and the field that they come from."""
    text = row.text("prompt").strip().strip('"').strip()
    sentence, _, shown = text.partition("\nassert ")
    if "test_list" in row.fields:
        return sentence.strip(), row.texts("test_list"), "test_list"
    asserts = _asserts(row, "prompt", "assert " + shown) if shown else {}
    # The field repeats the prompt's assert, at any place and normalized.
    asserts = asserts | {
        call: line
        for call, line in _asserts(row, "assertion", row.optional_text("assertion") or "").items()
        if call not in asserts
    }
    return sentence.strip(), list(asserts.values()), "assertion"


def _asserts(row: Row, field: str, text: str) -> dict[str, str]:
    """The assert statements of a text: what each calls (the innermost call) -> its source."""
    try:
        body = parse_module(text.strip()).body
    except (SyntaxError, ValueError) as e:
        raise row.error(field, f"not Python: {e}") from None
    found = {}
    for statement in body:
        if isinstance(statement, ast.Import | ast.ImportFrom):
            continue
        calls = [n for n in ast.walk(statement) if isinstance(n, ast.Call)]
        called = next((ast.unparse(n) for n in calls if _calls_entry_point(row, n)), "")
        found[called] = ast.get_source_segment(text.strip(), statement) or ""
    return found


def _imports(row: Row) -> list[str]:
    """The import statements that the plain form's asserts begin with."""
    text = row.optional_text("assertion") or ""
    return [line for line in text.splitlines() if line.startswith(("import ", "from "))]


def _calls_entry_point(row: Row, node: ast.Call) -> bool:
    return isinstance(node.func, ast.Name) and node.func.id == row.fields.get("entry_point")


# -- what JSON cannot say --------------------------------------------------------------------------

Restorer = Callable[[tuple[Any, ...]], tuple[Any, ...]]


def _tuples(items: Iterable[Any]) -> list[Any]:
    return [tuple(item) for item in items]


def _each(args: tuple[Any, ...]) -> tuple[Any, ...]:
    """Every argument is a tuple."""
    return tuple(map(tuple, args))


def _lists_of_tuples(args: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(map(_tuples, args))


def _tuples_of_tuples(args: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(tuple(_tuples(arg)) for arg in args)


def _first(args: tuple[Any, ...]) -> tuple[Any, ...]:
    return (tuple(args[0]), *args[1:])


def _second(args: tuple[Any, ...]) -> tuple[Any, ...]:
    return (args[0], tuple(args[1]), *args[2:])


def _first_of_tuples(args: tuple[Any, ...]) -> tuple[Any, ...]:
    return (_tuples(args[0]), *args[1:])


def _deep(value: Any) -> Any:
    return tuple(map(_deep, value)) if isinstance(value, list | tuple) else value


def _sets(args: tuple[Any, ...]) -> tuple[Any, ...]:
    return ([set(x) if isinstance(x, list) and x else {} for x in args[0]],)


def _ragged(args: tuple[Any, ...]) -> tuple[Any, ...]:
    return (tuple(tuple(x) if isinstance(x, list) else x for x in args[0]),)


def _values(args: tuple[Any, ...]) -> tuple[Any, ...]:
    return ({name: tuple(value) for name, value in args[0].items()}, *args[1:])


def _polar(args: tuple[Any, ...]) -> tuple[Any, ...]:
    return (float(args[0]), complex(args[1]))


def _complex(args: tuple[Any, ...]) -> tuple[Any, ...]:
    return (complex(args[0]),)


_FORMS: tuple[tuple[Restorer, str], ...] = (
    (
        _each,
        "2 116 132 143 222 261 273 394 399 421 424 429 470 560 579 596 616 630 726 740 744 809",
    ),
    (_lists_of_tuples, "63 64 70 94 120 237 272 299 400 409 417 438 473 614 780"),
    (_tuples_of_tuples, "259 401 445"),
    (_first, "250 307 405 446 617 720 763 808"),
    (_second, "106 750"),
    (_first_of_tuples, "75 413 444 753"),
    (_deep, "580 615 791"),
    (_sets, "115"),
    (_ragged, "278"),
    (_values, "722"),
    (_polar, "124"),
    (_complex, "252"),
)
_RESTORERS = {int(number): form for form, numbers in _FORMS for number in numbers.split()}


def restore(number: int, args: tuple[Any, ...]) -> tuple[Any, ...]:
    """The arguments of problem `number` as they were before they became JSON."""
    form = _RESTORERS.get(number)
    return args if form is None else form(args)


MBPP_PLUS = DatasetSpec(
    name="mbpp+",
    summary="MBPP with EvalPlus's tests: 378 functions to write",
    items=from_rows("mbpp+", STARTS, item, avoid=("OriginFmt",), admits=is_in(NOT_EXTRACTABLE)),
    starts=STARTS,
)


# -- mbpp fix --------------------------------------------------------------------------------------


STARTS_FIX = ("MBPP+Fix_test", "MBPP+Fix")
"""How the names of its files begin."""
STARTS_HARD = ("MBPP+Fix_hard_test", "MBPP+Fix_hard")
"""How the names of the hard half's files begin."""


def fix_item(row: Row, options: LoaderOptions) -> Item:
    """One row as problem and key. Raises `DatasetError`."""
    name = row.text("entry_point")
    code = test_code(row)
    if code.entry_point not in (None, name):
        raise row.error("test", f"calls {code.entry_point}, but the entry point is {name}")
    identity = row.id("task_id", prefix="Mbpp/")
    key = FunctionKey(
        id=identity,
        entry_point=name,
        reference=row.text("canonical_solution"),
        inputs=code.inputs,
        expected=code.expected,
        atol=code.atol,
        checker=checker(row, code.checker, options),
    )
    imports = row.texts("test_imports")
    asserts = row.texts("test_list")
    lines, tests = visible(row, asserts, name, options.visible_tests, imports=imports)
    problem = FunctionProblem(
        id=identity,
        description="\n".join([row.text("prompt").strip(), *lines]),
        signature=row.text("signature"),
        entry_point=name,
        code=row.text("code"),
        tests=tests,
        editor_lines=for_editor(asserts, options),
    )
    return Item(problem, key)


def checker(row: Row, usual: str | None, options: LoaderOptions) -> str | None:
    """The special check of a row's outputs, by the rules that are asked for."""
    if options.evaluation == "evalplus":
        return usual
    return "same_set" if compares_sets(row) else None


def for_editor(asserts: list[str], options: LoaderOptions) -> tuple[str, ...]:
    """The first asserts as lines for whoever edits the code, as doctest prompts."""
    return tuple(f">>> {line.strip()}" for line in asserts[: options.editor_tests])


def visible(
    row: Row,
    asserts: list[str],
    name: str,
    count: int,
    *,
    imports: list[str],
    field: str = "test_list",
) -> tuple[list[str], tuple[UnitTest, ...]]:
    """The first `count` asserts as lines of text and as unit tests. Raises `DatasetError`."""
    lines = [line.strip() for line in asserts[:count]]
    return lines, read_asserts(row, field, lines, name, imports=imports)


MBPP_FIX = DatasetSpec(
    name="mbpp-fix",
    summary="wrong programs that models wrote for MBPP+ (UTGen, section 4)",
    items=from_rows("mbpp-fix", STARTS_FIX, fix_item, without=("hard",)),
    starts=STARTS_FIX,
    without=("hard",),
)
MBPP_FIX_HARD = DatasetSpec(
    name="mbpp-fix-hard",
    summary="the hard part of MBPP+Fix (UTGen, section 4)",
    items=from_rows("mbpp-fix-hard", STARTS_HARD, fix_item),
    starts=STARTS_HARD,
)
