"""MBPP+Fix and MBPP+Fix (Hard) (UTGen, section 4): faulty programs that models wrote for MBPP+.

The rows of the released files: ``task_id, prompt, test_list, test, signature, entry_point,
canonical_solution, code``. `description` is the prompt; with ``visible_tests=N`` the first N
asserts of ``test_list`` are appended to it, a line each, and given as `problem.tests` as well (a
method may use either; they are the same tests). With the default 0 none is shown. With
``editor_tests=N`` they are shown to nobody but whoever edits the code, as in the released code.

The faulty code is given as it is. Some programs carry a docstring, comments or a self-test at
their end, which may quote visible asserts: they are part of what a developer would see, the
papers' prompts show them too, and examples found inside faulty code are hints only (`Trust.HINT`).
Nothing of the private tests is in there.
"""

from __future__ import annotations

from refute.core.problems import FunctionKey, FunctionProblem, UnitTest
from refute_lab.datasets.literals import read_asserts
from refute_lab.datasets.originfmt import compares_sets, test_code
from refute_lab.datasets.rows import Row
from refute_lab.datasets.spec import DatasetSpec, Item, LoaderOptions, from_rows

STARTS = ("MBPP+Fix_test", "MBPP+Fix")
"""How the names of its files begin."""
STARTS_HARD = ("MBPP+Fix_hard_test", "MBPP+Fix_hard")
"""How the names of the hard half's files begin."""


def item(row: Row, options: LoaderOptions) -> Item:
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
    items=from_rows("mbpp-fix", STARTS, item, without=("hard",)),
    starts=STARTS,
    without=("hard",),
)
MBPP_FIX_HARD = DatasetSpec(
    name="mbpp-fix-hard",
    summary="the hard part of MBPP+Fix (UTGen, section 4)",
    items=from_rows("mbpp-fix-hard", STARTS_HARD, item),
    starts=STARTS_HARD,
)
