"""HumanEval+ (EvalPlus): 164 functions with their docstrings, about 124,000 private inputs.

The code under test is the canonical solution, which is also the reference: `bench --method none`
must find nothing wrong with it. Put samples in its place with `item.with_code`.

Two forms of file are read. The plain one (``HumanEvalPlus*.jsonl``) has JSON inputs and no
outputs, which are then what the reference returns (`FunctionKey.expected` is None). The
``-OriginFmt`` one holds inputs and outputs as Python source, without the contract, and without the
repeated inputs. Plain is preferred where both are there: it reads six times as fast.

`description` is the docstring of the entry point with its doctests, as the dataset shows it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from refute.core.problems import FunctionKey, FunctionProblem, UnitTest
from refute.errors import DatasetError
from refute.sandbox.equality import CHECKERS
from refute.source.literals import NotLiteral
from refute.source.syntax import parse_module
from refute_lab.datasets.originfmt import (
    compares_sets,
    is_extractable,
    is_in,
    parse,
    read_asserts,
    test_code,
)
from refute_lab.datasets.rows import (
    DatasetSpec,
    Item,
    Keep,
    LoaderOptions,
    Row,
    SourceProblem,
    docstring_of,
    evaluated,
    find_file,
    from_rows,
    hub_rows,
    made,
    read_rows,
    rows_at,
    signature_of,
)

STARTS = ("HumanEvalPlus",)
"""Starts of the names of its files."""
NOT_EXTRACTABLE = frozenset({14, 15, 83, 100, 130, 139})
"""Numbers of the problems that UTGen leaves out (`originfmt.is_extractable`)."""
HUMANEVAL_CHECKERS = {"find_zero": "polynomial_root"}
"""Entry point -> checker, as in EvalPlus's `unsafe_execute` (dataset ``humaneval``)."""


def item(row: Row, options: LoaderOptions) -> Item:
    """One row as problem and key. Raises `DatasetError`."""
    answer = key(row)
    try:
        description = docstring_of(row.text("prompt"), answer.entry_point)
        signature = signature_of(answer.reference, answer.entry_point)
    except SourceProblem as e:
        raise row.error("prompt", str(e)) from None
    problem = FunctionProblem(
        id=answer.id,
        description=description,
        signature=signature,
        entry_point=answer.entry_point,
        code=answer.reference,
    )
    return Item(problem, answer)


def key(row: Row) -> FunctionKey:
    """The answer key of one row, of either form. Raises `DatasetError`."""
    name = row.text("entry_point")
    reference = row.text("prompt") + row.text("canonical_solution")
    common: dict[str, Any] = {
        "id": row.id("task_id"),
        "entry_point": name,
        "reference": reference,
    }
    if "base_input" in row.fields:
        return FunctionKey(
            **common,
            inputs=arguments(row, "base_input") + arguments(row, "plus_input"),
            atol=row.number("atol", 0.0),
            checker=HUMANEVAL_CHECKERS.get(name),
            contract=row.optional_text("contract"),
        )
    code = test_code(row)
    return FunctionKey(
        **common, inputs=code.inputs, expected=code.expected, atol=code.atol, checker=code.checker
    )


def arguments(row: Row, field: str) -> tuple[tuple[Any, ...], ...]:
    """A field that holds a list of argument lists; MBPP+ writes an empty one as ``{}``."""
    if row.fields.get(field) == {}:
        return ()
    inputs = row.items(field)
    for number, args in enumerate(inputs):
        if type(args) is not list:
            raise row.error(field, f"input {number} must be a list of arguments")
    return tuple(map(tuple, inputs))


HUMANEVAL_PLUS = DatasetSpec(
    name="humaneval+",
    summary="HumanEval with EvalPlus's tests: 164 functions to write",
    items=from_rows(
        "humaneval+", STARTS, item, avoid=("OriginFmt",), admits=is_in(NOT_EXTRACTABLE)
    ),
    starts=STARTS,
)


# -- he fix ----------------------------------------------------------------------------------------


STARTS_FIX = ("humanevalpack-python", "humanevalpack_python", "humanevalpack")
"""Starts of the names of its files."""


def items(path: Path | None, options: LoaderOptions, keep: Keep) -> Iterator[Item]:
    """The problems of the rows that HE-Fix keeps, in order. Raises `DatasetError`.

    The files of HumanEval+ lie beside its own; None: both are on the hub.
    """
    options = replace(options, subset="extractable")
    return _rows("he-fix", path, options, keep, whole=True)


def bodies(path: Path | None, options: LoaderOptions, keep: Keep) -> Iterator[Item]:
    """HE-Fix as UTGen's released scripts have it: the code under test is the field
    ``buggy_solution`` alone, an indented body that does not compile. All 164 rows, unless
    `options.subset` says otherwise; always by the released code's rules. Raises `DatasetError`.
    """
    options = replace(options, evaluation="paper")
    for one in _rows("he-fix-released", path, options, keep, whole=False):
        yield evaluated(one, "paper")


def _rows(
    name: str, path: Path | None, options: LoaderOptions, keep: Keep, *, whole: bool
) -> Iterator[Item]:
    directory = None
    if path is not None:
        file = find_file(path, *STARTS_FIX)
        if file is None:
            raise DatasetError(f"{path}: {name} needs {STARTS_FIX[-1]}*.jsonl[.gz] there")
        path, directory = file, file.parent
    own = rows_at(
        name, path, STARTS_FIX
    )  # before the rows of HumanEval+: an error names what is asked
    keys, left_out = _humaneval_plus(directory)
    for row in filter(keep, own):
        number = _number(row)
        if number in left_out and options.subset == "extractable":
            continue
        if number not in keys:
            raise row.error("task_id", f"HumanEval+ has no problem {number}")
        with row.reading():
            item = _item(row, keys[number], options, whole=whole)
        yield item


def _humaneval_plus(directory: Path | None) -> tuple[Mapping[int, Row], frozenset[int]]:
    """The rows of HumanEval+ by number, and the numbers that are left out."""
    if directory is None:
        rows = {_number(row): row for row in hub_rows("humaneval+")}
        return rows, _left_out(rows)
    plain = find_file(directory, *STARTS, without=("OriginFmt",))
    origin = find_file(directory, "HumanEvalPlus-OriginFmt")
    if plain is None and origin is None:
        raise DatasetError(f"{directory}: he-fix needs HumanEvalPlus*.jsonl[.gz] there as well")
    left_out = NOT_EXTRACTABLE
    rows = {}
    if origin is not None:
        rows = {_number(row): row for row in read_rows(origin)}
        left_out = _left_out(rows)
    if plain is not None:
        rows = {_number(row): row for row in read_rows(plain)}
    return rows, left_out


def _left_out(rows: Mapping[int, Row]) -> frozenset[int]:
    return frozenset(n for n, row in rows.items() if not is_extractable(row.text("test")))


def _number(row: Row) -> int:
    tail = row.id("task_id").rpartition("/")[2]
    if not tail.isdecimal():
        raise row.error("task_id", "must end in a number, such as Python/7")
    return int(tail)


def _item(row: Row, plus: Row, options: LoaderOptions, *, whole: bool) -> Item:
    of_plus = key(plus)
    prompt = row.text("prompt")
    name = row.text("entry_point")
    if name != of_plus.entry_point:
        raise row.error("entry_point", f"is {name}, in HumanEval+ it is {of_plus.entry_point}")
    code = (prompt if whole else "") + row.text("buggy_solution")
    try:
        docstring = docstring_of(prompt, name)
        description = docstring if options.evaluation == "evalplus" else prompt.strip()
        signature = row.optional_text("signature") or signature_of(prompt, name)
    except SourceProblem as e:
        raise row.error("prompt", str(e)) from None
    problem = FunctionProblem(
        id=row.id("task_id"),
        description=description,
        signature=signature,
        entry_point=name,
        code=code,
    )
    return Item(problem, replace(of_plus, id=problem.id))


HE_FIX = DatasetSpec(
    name="he-fix",
    summary="HumanEval programs with a fault that a person put in (HumanEvalFix)",
    items=items,
    starts=STARTS_FIX,
)
HE_FIX_RELEASED = DatasetSpec(
    name="he-fix-released",
    summary="the same as UTGen's released scripts read it: bodies that do not compile",
    items=bodies,
)


# -- mbpp ------------------------------------------------------------------------------------------
# MBPP+ (EvalPlus): 378 functions described in one sentence, about 41,000 private inputs.


MBPP_STARTS = ("MbppPlus",)
"""Starts of the names of its files."""
MBPP_NOT_EXTRACTABLE = frozenset({88, 255, 630})
"""Numbers of the problems that UTGen leaves out (`originfmt.is_extractable`)."""
MBPP_CHECKERS = {
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


def mbpp_item(row: Row, options: LoaderOptions) -> Item:
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
            checker=MBPP_CHECKERS.get(name),
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

_SHAPES = (
    (
        ("t",),
        "2 116 132 143 222 261 273 394 399 421 424 429 470 560 579 596 616 630 726 740 744 809",
    ),
    (("lt",), "63 64 70 94 120 237 272 299 400 409 417 438 473 614 780"),
    (("tt",), "259 278 401 445"),
    (("t", ""), "250 307 405 446 617 720 763 808"),
    (("", "t", ""), "106 750"),
    (("lt", ""), "75 413 444 753"),
    (("t" * 50,), "580 615 791"),
)
"""Kinds of the sequences in each argument, from the outermost in (l: list, t: tuple), the last for
all further arguments; and numbers of problems."""
_SHAPE = {int(number): shape for shape, numbers in _SHAPES for number in numbers.split()}


def _shaped(value: Any, kinds: str) -> Any:
    if not kinds or not isinstance(value, list):
        return value
    items = (_shaped(item, kinds[1:]) for item in value)
    return tuple(items) if kinds[0] == "t" else [*items]


def restore(number: int, args: tuple[Any, ...]) -> tuple[Any, ...]:
    """The arguments of problem `number` as they were before they became JSON."""
    match number:
        case 115:
            return ([set(x) if isinstance(x, list) and x else {} for x in args[0]],)
        case 124:
            return (float(args[0]), complex(args[1]))
        case 252:
            return (complex(args[0]),)
        case 722:
            return ({name: tuple(value) for name, value in args[0].items()}, *args[1:])
    shape = _SHAPE.get(number, ("",))
    return tuple(_shaped(arg, shape[min(at, len(shape) - 1)]) for at, arg in enumerate(args))


MBPP_PLUS = DatasetSpec(
    name="mbpp+",
    summary="MBPP with EvalPlus's tests: 378 functions to write",
    items=from_rows(
        "mbpp+", MBPP_STARTS, mbpp_item, avoid=("OriginFmt",), admits=is_in(MBPP_NOT_EXTRACTABLE)
    ),
    starts=MBPP_STARTS,
)


# -- mbpp fix --------------------------------------------------------------------------------------


MBPP_FIX_STARTS = ("MBPP+Fix_test", "MBPP+Fix")
"""Starts of the names of its files."""
STARTS_HARD = ("MBPP+Fix_hard_test", "MBPP+Fix_hard")
"""Starts of the names of the hard half's files."""


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
    items=from_rows("mbpp-fix", MBPP_FIX_STARTS, fix_item, without=("hard",)),
    starts=MBPP_FIX_STARTS,
    without=("hard",),
)
MBPP_FIX_HARD = DatasetSpec(
    name="mbpp-fix-hard",
    summary="the hard part of MBPP+Fix (UTGen, section 4)",
    items=from_rows("mbpp-fix-hard", STARTS_HARD, fix_item),
    starts=STARTS_HARD,
)


# -- jsonl -----------------------------------------------------------------------------------------
# Any JSONL file of problems of your own: one JSON object a line (or one JSON list), plain or gzip.


def jsonl_item(row: Row, options: LoaderOptions) -> Item:
    """One row as problem and key. Raises `DatasetError`."""
    identity = row.id("id", "task_id")
    name = row.text("entry_point")
    code = row.text("code")
    try:
        signature = row.optional_text("signature") or signature_of(code, name)
        if "description" in row.fields or "prompt" in row.fields:
            description = row.text("description", "prompt").strip()
        else:
            description = docstring_of(code, name)
    except SourceProblem as e:
        raise row.error("code", str(e)) from None
    problem = FunctionProblem(
        id=identity,
        description=description,
        signature=signature,
        entry_point=name,
        code=code,
        tests=_tests(row, name),
    )
    return Item(problem, _jsonl_key(row, identity, name))


def _tests(row: Row, name: str) -> tuple[UnitTest, ...]:
    field = "tests" if "tests" in row.fields else "test_list"
    imports = row.texts("test_imports")
    return read_asserts(row, field, row.texts(field), name, imports=imports)


def _jsonl_key(row: Row, identity: str, name: str) -> FunctionKey:
    atol, checker = row.number("atol", 0.0), row.optional_text("checker")
    if checker is not None and checker not in CHECKERS:
        raise row.error("checker", f"unknown: {checker}; one of {', '.join(sorted(CHECKERS))}")
    if "inputs" in row.fields:
        inputs = tuple(map(tuple, _argument_lists(row)))
        expected = None if row.fields.get("expected") is None else tuple(_list(row, "expected"))
    else:
        code = test_code(row)
        inputs, expected = code.inputs, code.expected
        atol, checker = code.atol or atol, code.checker or checker
    if expected is not None and len(expected) != len(inputs):
        raise row.error("expected", f"{len(expected)} outputs for {len(inputs)} inputs")
    reference = row.optional_text("reference") or row.optional_text("canonical_solution")
    if reference is None and expected is None:
        raise row.error("reference", "missing, and so is the field 'expected'")
    return FunctionKey(
        id=identity,
        entry_point=name,
        reference=reference or "",
        inputs=inputs,
        expected=expected,
        atol=atol,
        checker=checker,
        contract=row.optional_text("contract"),
    )


def _argument_lists(row: Row) -> list[Any]:
    inputs = _list(row, "inputs")
    for number, args in enumerate(inputs):
        if not isinstance(args, list | tuple):
            raise row.error("inputs", f"input {number} must be a list of arguments")
    return inputs


def _list(row: Row, field: str) -> list[Any]:
    if not isinstance(row.fields[field], str):
        return row.items(field)
    try:
        value = parse(row.text(field))
    except NotLiteral as e:
        raise row.error(field, str(e)) from None
    if not isinstance(value, list | tuple):
        raise row.error(field, "must be a list")
    return list(value)


def _items(path: Path | None, options: LoaderOptions, keep: Keep) -> Iterator[Item]:
    if path is None or not path.is_file():
        raise DatasetError("jsonl: give the file with --data FILE")
    return made(filter(keep, read_rows(path)), lambda row: jsonl_item(row, options))


JSONL = DatasetSpec(name="jsonl", summary="a JSONL file of functions of your own", items=_items)
