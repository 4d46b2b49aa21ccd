"""Loading benchmarks: own small files in the public formats, and the real files where they are."""

from __future__ import annotations

import gzip
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from refute.core.problems import Call, Expression
from refute.errors import DatasetError
from refute_lab.datasets import load, with_code

HEAD = """import numpy as np

def assertion(out, exp, atol):
    {extra}
    if out != exp and atol != 0:
        assert np.allclose(out, exp, rtol=1e-07, atol=atol)
    else:
        assert out == exp

"""
TEST = (
    HEAD.format(extra="pass")
    + "inputs = [[1, (2,)], ['a', {3}]]\nresults = [inf, -2.5]\n"
    + "for i, (inp, exp) in enumerate(zip(inputs, results)):\n"
    + "    assertion(twice(*inp), exp, 1e-05)\n"
)
FIX = {
    "task_id": 6,
    "prompt": "Write a function to double.",
    "test_list": [
        "assert twice(1) == 2",
        "assert math.isclose(twice(2), 4)",
        "assert not twice(0)",
    ],
    "test_imports": ["import math"],
    "test": TEST,
    "signature": "twice(x)",
    "entry_point": "twice",
    "canonical_solution": "def twice(x):\n    return 2 * x\n",
    "code": "def twice(x):\n    return x + x + 1  # twice(1) == 3\n",
}
MINE = {
    "id": "mine/1",
    "entry_point": "inc",
    "code": "def inc(x: int) -> int:\n    '''Add one.\n\n    >>> inc(1)\n    2'''\n    return x\n",
    "inputs": [[1], [2]],
    "expected": [2, 3],
}


def write(path: Path, *rows: dict[str, Any]) -> Path:
    text = "".join(json.dumps(row) + "\n" for row in rows)
    if path.suffix == ".gz":
        path.write_bytes(gzip.compress(text.encode()))
    else:
        path.write_text(text)
    return path


# -- mbpp-fix --------------------------------------------------------------------------------------


def test_mbpp_fix_shows_no_assert_by_default(tmp_path: Path) -> None:
    write(tmp_path / "MBPP+Fix_hard_test.part.jsonl.gz", FIX)
    (item,) = load("mbpp-fix-hard", data=tmp_path)
    assert item.problem.description == "Write a function to double."
    assert item.problem.tests == ()
    assert item.problem.code == FIX["code"]
    assert item.key.inputs == ((1, (2,)), ("a", {3}))
    assert item.key.expected == (float("inf"), -2.5)
    assert item.key.atol == 1e-5
    assert item.key.id == item.problem.id == "Mbpp/6"


def test_visible_tests_are_text_and_tests(tmp_path: Path) -> None:
    write(tmp_path / "MBPP+Fix_test.jsonl", FIX)
    (item,) = load("mbpp-fix", data=tmp_path, visible_tests=3)
    assert item.problem.description.splitlines()[1:] == FIX["test_list"]
    one, two, three = item.problem.tests
    assert one.call == Call((1,))
    assert one.expected == 2
    assert two.call == Expression("bool(__import__('math').isclose(twice(2), 4))")
    assert three.call == Expression("bool(not twice(0))")
    assert (two.expected, three.expected) == (True, True)


def test_easy_and_hard_are_told_apart(tmp_path: Path) -> None:
    write(tmp_path / "MBPP+Fix_hard_test.jsonl", FIX | {"task_id": 1})
    with pytest.raises(DatasetError, match="mbpp-fix needs"):
        load("mbpp-fix", data=tmp_path)
    write(tmp_path / "MBPP+Fix_test.jsonl", FIX | {"task_id": 2})
    assert [i.problem.id for i in load("mbpp-fix", data=tmp_path)] == ["Mbpp/2"]
    assert [i.problem.id for i in load("mbpp-fix-hard", data=tmp_path)] == ["Mbpp/1"]


def test_rows_of_one_task_get_ids_of_their_own(tmp_path: Path) -> None:
    path = write(tmp_path / "MBPP+Fix_test.jsonl", FIX, FIX | {"code": "def twice(x): return 1"})
    assert [i.problem.id for i in load(path)] == ["Mbpp/6", "Mbpp/6#2"]
    assert [i.key.id for i in load(path)] == ["Mbpp/6", "Mbpp/6#2"]
    assert [i.problem.id for i in load(path, ids=["Mbpp/6#2"])] == ["Mbpp/6#2"]


# -- HumanEval+ and HE-Fix -------------------------------------------------------------------------

PROMPT = 'def inc(x: int) -> int:\n    """ Add one.\n    >>> inc(1)\n    2\n    """\n'


def plus_row(number: int, **changes: Any) -> dict[str, Any]:
    return {
        "task_id": f"HumanEval/{number}",
        "prompt": PROMPT,
        "entry_point": "inc",
        "canonical_solution": "    return x + 1\n",
        "base_input": [[1]],
        "plus_input": [[2], [3]],
        "atol": 0,
        "contract": '\n    assert x > 0, "invalid"\n',
    } | changes


def origin_row(number: int, results: str = "    results = [2]\n") -> dict[str, Any]:
    wanted = "exp" if results else "ref_func(*inp)"
    test = (
        HEAD.format(extra="pass") + "def check(candidate):\n    inputs = [[1]]\n" + results
        + "    for i, (inp, exp) in enumerate(zip(inputs, results)):\n"
        + f"        assertion(candidate(*inp), {wanted}, 0)\n"
    )  # fmt: skip
    row = plus_row(number, test=test)
    return {k: row[k] for k in ("task_id", "prompt", "entry_point", "canonical_solution", "test")}


def pack_row(number: int) -> dict[str, Any]:
    return {
        "task_id": f"Python/{number}",
        "prompt": PROMPT,
        "buggy_solution": "    return x - 1\n",
        "entry_point": "inc",
        "signature": "inc(x: int) -> int",
    }


def test_humaneval_plus_both_forms(tmp_path: Path) -> None:
    write(tmp_path / "HumanEvalPlus-OriginFmt.jsonl", origin_row(0))
    (origin,) = load("humaneval+", data=tmp_path)
    write(tmp_path / "HumanEvalPlus.jsonl.gz", plus_row(0))
    (plain,) = load("humaneval+", data=tmp_path)
    assert origin.problem == plain.problem
    assert plain.problem.description == "Add one.\n>>> inc(1)\n2"
    assert plain.problem.signature == "inc(x: int) -> int"
    assert (plain.key.inputs, plain.key.expected) == (((1,), (2,), (3,)), None)
    assert (origin.key.inputs, origin.key.expected) == (((1,),), (2,))
    assert with_code(plain, "x = 1").problem.code == "x = 1"


def test_he_fix_leaves_out_what_cannot_be_extracted(tmp_path: Path) -> None:
    write(tmp_path / "humanevalpack-x.jsonl", pack_row(0), pack_row(1), pack_row(14))
    write(tmp_path / "HumanEvalPlus.jsonl", plus_row(0), plus_row(1), plus_row(14))
    names = [i.problem.id for i in load("he-fix", data=tmp_path)]
    assert names == ["Python/0", "Python/1"]  # by number, without the OriginFmt file
    write(
        tmp_path / "HumanEvalPlus-OriginFmt.jsonl",
        origin_row(0), origin_row(1, results=""), origin_row(14),
    )  # fmt: skip
    items = load("he-fix", data=tmp_path)
    assert [i.problem.id for i in items] == ["Python/0", "Python/14"]  # by the rule, with it
    assert items[0].problem.code == PROMPT + "    return x - 1\n"
    assert items[0].key.reference == PROMPT + "    return x + 1\n"
    assert items[0].key.contract is not None


def test_he_fix_needs_humaneval_plus(tmp_path: Path) -> None:
    write(tmp_path / "humanevalpack.jsonl", pack_row(0))
    with pytest.raises(DatasetError, match="he-fix needs HumanEvalPlus"):
        load("he-fix", data=tmp_path)


# -- MBPP+ -----------------------------------------------------------------------------------------


def test_mbpp_plus_hides_the_assert_of_its_prompt(tmp_path: Path) -> None:
    row = plus_row(
        2,
        task_id="Mbpp/2",
        prompt='"""\nWrite a function to add one.\nassert inc(1) == 2\n"""\n',
        canonical_solution="def inc(x):\n    return x + 1\n",
        base_input=[[[1, 2], [3]]],
        plus_input={},
        assertion="\nassert inc(5) == 6\nassert inc(1) == 2\n",
    )
    path = write(tmp_path / "MbppPlus.jsonl", row)
    (item,) = load(path)
    assert item.problem.description == "Write a function to add one."
    assert item.key.inputs == (((1, 2), (3,)),)  # problem 2 takes tuples
    (shown,) = load(path, visible_tests=2)
    assert [t.call for t in shown.problem.tests] == [Call((1,)), Call((5,))]


# -- own files -------------------------------------------------------------------------------------


def test_own_file(tmp_path: Path) -> None:
    path = write(tmp_path / "mine.jsonl", MINE, MINE | {"id": 2, "tests": ["assert inc(3) == 4"]})
    one, two = load(path)
    assert one.problem.description.startswith("Add one.")
    assert one.problem.signature == "inc(x: int) -> int"
    assert two.problem.tests[0].expected == 4
    assert load("jsonl", data=path)[0] == one


def test_own_file_with_python_literals(tmp_path: Path) -> None:
    row = MINE | {"inputs": "[((1, 2), {3})]", "expected": "[(1,)]"}
    (item,) = load(write(tmp_path / "mine.json", row))
    assert item.key.inputs == (((1, 2), {3}),)
    assert item.key.expected == ((1,),)


def test_ids_and_limit(tmp_path: Path) -> None:
    path = write(tmp_path / "mine.jsonl", *(MINE | {"id": f"mine/{n}"} for n in range(5)))
    assert [i.problem.id for i in load(path, ids=["mine/3", "1"])] == ["mine/1", "mine/3"]
    assert len(load(path, limit=2)) == 2
    with pytest.raises(DatasetError, match="no problem with id mine/9"):
        load(path, ids=["mine/9", "mine/1"])


# -- what is wrong, and where ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"code": None}, "field 'code': must be a string, is null"),
        ({"id": None}, "field 'id': must be a string or an integer"),
        ({"entry_point": "other"}, "field 'code': defines no function other"),
        ({"code": "def inc(:"}, "field 'code': not Python"),
        ({"inputs": [1]}, "field 'inputs': input 0 must be a list of arguments"),
        ({"inputs": "[(open('x'),)]"}, "field 'inputs': not a literal: open"),
        ({"expected": [1]}, "field 'expected': 1 outputs for 2 inputs"),
        ({"expected": None}, "field 'reference': missing"),
        ({"checker": "?"}, "field 'checker': unknown"),
        ({"atol": -1}, "field 'atol': must be a number >= 0"),
        ({"tests": ["inc(1)"]}, "field 'tests': item 0: not an assert"),
        ({"tests": ["assert f(1) == 2"]}, "field 'tests': item 0: does not call inc"),
        ({"tests": [1]}, "field 'tests': item 0 must be a string"),
    ],
)
def test_malformed_field(tmp_path: Path, change: dict[str, Any], words: str) -> None:
    path = write(tmp_path / "mine.jsonl", MINE, MINE | {"id": "2"} | change)
    with pytest.raises(DatasetError) as caught:
        load(path)
    message = str(caught.value)
    assert message.startswith(f"{path}:2: {words}")
    assert "\n" not in message


def test_malformed_lines(tmp_path: Path) -> None:
    path = tmp_path / "mine.jsonl"
    for content, words in [
        (b'{"id": 1}\n\n{bad\n', ":1: field 'entry_point': missing"),
        (json.dumps(MINE).encode() + b"\n\n{bad\n", ":3: not JSON"),
        (json.dumps(MINE).encode() + b"\n7\n", ":2: each line must be an object"),
        (b"\xff\xfe\n", ":1: not JSON"),
    ]:
        path.write_bytes(content)
        with pytest.raises(DatasetError) as caught:
            load(path)
        assert words in str(caught.value)


def test_malformed_test_field(tmp_path: Path) -> None:
    for test, words in [
        ("inputs = [[1]", "not Python"),
        ("x = 1", "holds no list named inputs"),
        (TEST.replace("[inf, -2.5]", "[1]"), "holds 2 inputs but 1 results"),
        (TEST.replace("-2.5", "os.getpid()"), "not a literal"),
        (TEST.replace("assertion(twice(*inp), exp, 1e-05)", "print(inp)"), "of unknown form"),
    ]:
        path = write(tmp_path / "MBPP+Fix_test.jsonl", FIX | {"test": test})
        with pytest.raises(DatasetError, match="field 'test'") as caught:
            load(path)
        assert words in str(caught.value)


def test_no_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("REFUTE_DATA", raising=False)
    with pytest.raises(DatasetError, match=r"nor one of .*mbpp\+, .*of issues .*swt"):
        load("no-such-set")
    with pytest.raises(DatasetError, match="no such file or directory"):
        load("mbpp+", data=tmp_path / "absent")
    where = r"on the hub; download {} of github.com/archiki/UTGenDebug and give --data FILE$"
    for name, file in (
        ("mbpp-fix", r"MBPP\+Fix_test.jsonl"),
        ("mbpp-fix-hard", r"MBPP\+Fix_hard_test.jsonl"),
    ):
        with pytest.raises(DatasetError, match=f"^{name}: not {where.format(file)}"):
            load(name)
    monkeypatch.setitem(sys.modules, "datasets", None)
    for name in ("he-fix", "he-fix-released"):
        with pytest.raises(DatasetError, match=f"^{name}: no data given"):
            load(name)
    broken = tmp_path / "mine.jsonl.gz"
    broken.write_bytes(b"not gzip")
    with pytest.raises(DatasetError, match="cannot be read"):
        load(broken)


# -- the real files --------------------------------------------------------------------------------


def test_real_files(data_dir: Path) -> None:
    fix = load("he-fix", data=data_dir)
    assert fix
    assert all("ref_func" not in i.key.reference for i in fix)
    assert not {14, 15, 83, 100, 130, 139} & {int(i.problem.id.split("/")[1]) for i in fix}
    assert len(load("humaneval+", data=data_dir, subset="extractable")) == 158
    assert len(load("mbpp+", data=data_dir, subset="extractable")) == 375
    released = load("he-fix-released", data=data_dir)
    assert len(load("he-fix-released", data=data_dir, subset="extractable")) == len(fix)
    assert all(i.problem.code.lstrip("\n")[0] == " " and i.key.contract is None for i in released)
    hard = load("mbpp-fix-hard", data=data_dir, visible_tests=1)
    assert all(len(i.problem.tests) == 1 and i.key.expected for i in hard)


def test_forms_of_mbpp_plus_agree(data_dir: Path) -> None:
    plain = {i.problem.id: i for i in load(data_dir / "MbppPlus.jsonl.gz")}
    for item in load(data_dir / "MbppPlus-OriginFmt.jsonl.gz"):
        other = plain[item.problem.id]
        assert other.problem.signature == item.problem.signature
        assert other.key.atol == item.key.atol
        if item.problem.id not in ("Mbpp/124", "Mbpp/252"):  # -1j as source has a real part of -0.0
            assert set(map(repr, item.key.inputs)) == set(map(repr, other.key.inputs))
        if item.key.checker is not None:
            assert other.key.checker == item.key.checker
