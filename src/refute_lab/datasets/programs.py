"""Programs that read standard input and print: LiveCodeBench, TestCase-Eval, HardTests.

Such a program becomes the function ``printed(stdin)``: what it prints on this input. So a unit test
is a call of it, and attack rate, output accuracy and both (UTGen, section 4) hold for it; outputs
are compared word by word.

| name | paper; licence | size | form of a row |
|---|---|---|---|
| ``livecodebench`` | arXiv 2403.07974; MIT | 400 problems (release 1), 1,055 (release 6) | ``question_id``, ``question_content``, ``public_test_cases`` and ``private_test_cases`` (JSON, or base64 of zlib of pickle); rows of a function (LeetCode) are left out |
| ``testcase-eval`` | arXiv 2506.12278; of Codeforces | 500 problems, 100,000 solutions | ``id``, ``title``, ``description``, ``input``, ``output``, ``note`` |
| ``hardtests`` | arXiv 2505.24098; MIT | 47,136 problems | ``pid``, ``question_content``, ``solutions``; ``test_cases`` as above |

Their tests name no program under test, so a row holds one besides: ``code`` (a sample of a model, a
wrong submission) and ``reference``, or the first Python one of ``solutions``. Without ``code`` the
reference is under test; without a reference tests of one's own get no verdict, only programs do.
A pickle is read as plain data: one that names a class is an error.
"""  # noqa: E501

from __future__ import annotations

import base64
import io
import pickle
import zlib
from typing import Any

from refute.core.problems import Call, FunctionKey, FunctionProblem, UnitTest
from refute.core.storage import parse_json
from refute_lab.datasets.rows import DatasetSpec, Item, LoaderOptions, Row, from_rows

ENTRY_POINT, _SIGNATURE = "printed", "printed(stdin: str) -> str"
_WRAPPER = '''\
PROGRAM = {program}


def printed(stdin: str) -> str:
    """Run PROGRAM as a script with this standard input; return what it prints."""
    import io, sys

    before, out = (sys.stdin, sys.stdout), io.TextIOWrapper(io.BytesIO(), "utf-8", newline="")
    sys.stdin, sys.stdout = io.TextIOWrapper(io.BytesIO(stdin.encode()), "utf-8"), out
    try:
        exec(compile(PROGRAM, "<program>", "exec"), {{"__name__": "__main__"}})
    except SystemExit as end:
        if end.code not in (None, 0):
            raise
    finally:
        sys.stdin, sys.stdout = before
    out.flush()
    return out.buffer.getvalue().decode("utf-8", "replace")
'''
_RULE = "`printed(stdin)` is what the program prints, as text, where it reads the text `stdin`."


def as_function(program: str) -> str:
    """The source of a module whose function `printed` is the program."""
    plain = "'''" not in program and "\\" not in program and program.endswith("\n")
    return _WRAPPER.format(program=f"'''\\\n{program}'''" if plain else repr(program))


class _Plain(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        raise ValueError(f"a pickle that names {module}.{name}")


def _cases(row: Row, field: str) -> list[tuple[str, str]]:
    """Input and output of each test of a field, in any of its forms."""
    value = row.fields.get(field) or []
    if isinstance(value, str) and not value.lstrip().startswith("["):
        value = _Plain(io.BytesIO(zlib.decompress(base64.b64decode(value)))).load()
    cases = parse_json(value) if isinstance(value, str) else value
    return [(str(case["input"]), str(case["output"])) for case in cases]


def _reads_stdin(row: Row, options: LoaderOptions) -> bool:
    return not row.fields.get("starter_code")


def _statement(row: Row) -> str:
    if "question_content" in row.fields:
        return row.text("question_content").strip()
    parts = ((name, row.optional_text(name)) for name in ("input", "output", "note"))
    told = "".join(f"\n\n{name.capitalize()}: {text.strip()}" for name, text in parts if text)
    return row.text("description").strip() + told


def program_item(row: Row, options: LoaderOptions) -> Item:
    """One row as problem and key. Raises `DatasetError`."""
    solutions = row.fields.get("solutions") or ()
    written = (one["code"] for one in solutions if str(one.get("language")).startswith("py"))
    reference = row.optional_text("reference") or next(written, None)
    code = row.optional_text("code") or reference
    if code is None:
        raise row.error("code", "missing: a program under test, or one in `solutions`")
    public = _cases(row, "public_test_cases")
    private = [case for name in ("private_test_cases", "test_cases") for case in _cases(row, name)]
    shown = public[: options.visible_tests]
    lines = [f"{ENTRY_POINT}({given!r}) == {out!r}" for given, out in shown]
    identity = row.id("question_id", "pid", "id")
    problem = FunctionProblem(
        id=identity,
        description="\n".join([_statement(row), "", _RULE, *lines]),
        signature=_SIGNATURE,
        entry_point=ENTRY_POINT,
        code=as_function(code),
        tests=tuple(UnitTest(Call((given,)), out) for given, out in shown),
    )
    key = FunctionKey(
        id=identity,
        entry_point=ENTRY_POINT,
        reference=as_function(reference) if reference else "",
        inputs=tuple((given,) for given, _ in (*public, *private)),
        expected=tuple(out for _, out in (*public, *private)),
        checker="words",
    )
    return Item(problem, key)


def _programs(name: str, summary: str, *starts: str) -> DatasetSpec[Item]:
    items = from_rows(name, starts, program_item, admits=_reads_stdin)
    return DatasetSpec(name=name, summary=summary, items=items, starts=starts)


LIVECODEBENCH = _programs(
    "livecodebench", "LiveCodeBench: programs that read and print", "livecodebench", "code_gen"
)
TESTCASE_EVAL = _programs(
    "testcase-eval", "TestCase-Eval: 500 problems of Codeforces", "testcase-eval", "testcase_eval"
)
HARDTESTS = _programs("hardtests", "HardTests: 47,136 problems of online judges", "hardtests")
