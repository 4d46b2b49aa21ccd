"""Programs that read and print: three forms of rows, and UTGen's measures on them."""

from __future__ import annotations

import base64
import json
import pickle
import zlib
from pathlib import Path
from typing import Any

import pytest

from refute.core.problems import Call, UnitTest
from refute.errors import DatasetError
from refute.sandbox.local import LocalSandbox
from refute_lab.benches.grade import grade_program, grade_tests
from refute_lab.datasets import load

RIGHT = "import sys\na, b = map(int, sys.stdin.buffer.read().split())\nprint(a + b)\nsys.exit()\n"
WRONG = "a, b = map(int, input().split('\\n')[0].split())\nprint(abs(a) + b)\n"
PUBLIC = [{"input": "1 2\n", "output": "3\n", "testtype": "stdin"}]
PRIVATE = [{"input": "-4 1\n", "output": "-3", "testtype": "stdin"}]


def packed(value: Any) -> str:
    return base64.b64encode(zlib.compress(pickle.dumps(value))).decode()


LIVE = {
    "question_id": "abc1",
    "question_content": "Print the sum.",
    "starter_code": "",
    "public_test_cases": json.dumps(PUBLIC),
    "private_test_cases": packed(json.dumps(PRIVATE)),
    "reference": RIGHT,
    "code": WRONG,
}
HARD = {
    "pid": "abc1",
    "question_content": "Print the sum.",
    "public_test_cases": PUBLIC,
    "test_cases": packed(PRIVATE),
    "solutions": [{"language": "cpp", "code": "int"}, {"language": "python3", "code": RIGHT}],
    "code": WRONG,
}
EVAL = {
    "id": "abc1",
    "description": "Print the sum.",
    "input": "Two numbers.",
    "output": "One.",
    "public_test_cases": PUBLIC,
    "test_cases": PRIVATE,
    "reference": RIGHT,
    "code": WRONG,
}
FORMS = {"livecodebench": LIVE, "hardtests": HARD, "testcase-eval": EVAL}


def written(folder: Path, name: str, *rows: dict[str, Any]) -> Path:
    path = folder / f"{name}.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.mark.parametrize("name", FORMS)
def test_a_program_is_a_function_and_tests_of_it_are_measured(name: str, tmp_path: Path) -> None:
    function = {**LIVE, "question_id": "f", "starter_code": "class Solution:"}
    written(tmp_path, name, FORMS[name], function)
    (item,) = load(name, data=tmp_path, visible_tests=1)
    assert "printed('1 2\\n') == '3\\n'" in item.problem.description
    assert item.problem.tests[0].expected == "3\n"
    assert "-4 1" not in item.problem.description + item.problem.code
    tests = [
        UnitTest(Call((given,)), out)
        for given, out in (("-4 1", "-3"), ("-4 1", "5"), ("4 1", " 5\n"), ("x", "1"))
    ]
    with LocalSandbox() as box:
        found = grade_tests(tests, item.problem, item.key, box).verdicts
        wrong = grade_program(item.problem.code, item.key, box)
        right = grade_program(item.key.reference, item.key, box)
    assert [(one.valid, one.attacks, one.accurate) for one in found] == [
        (True, True, True),
        (True, True, False),
        (True, False, True),
        (False, False, False),
    ]
    assert (wrong.verdicts, right.passed) == ((True, False), True)


def test_what_a_row_lacks_and_a_pickle_that_would_run_code(tmp_path: Path) -> None:
    bare = {key: value for key, value in LIVE.items() if key not in ("code", "reference")}
    with pytest.raises(DatasetError, match=":1: field 'code': missing"):
        load("livecodebench", data=written(tmp_path, "bare", bare))
    hostile = {**LIVE, "private_test_cases": packed(print)}
    with pytest.raises(DatasetError, match=r"a pickle that names builtins\.print"):
        load("livecodebench", data=written(tmp_path, "hostile", hostile))
