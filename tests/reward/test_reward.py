"""`refute_lab.rewards`: tasks as data, verdicts, many at once."""

from __future__ import annotations

import asyncio
import builtins
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from refute.errors import InputError, SandboxUnavailable
from refute.sandbox.local import LocalSandbox
from refute_lab.rewards import Grader, Task, Test, grade, grade_async, grade_test
from refute_lab.rewards import grading as reward_grading
from refute_lab.rewards.task import same_output

DOUBLE = Task("double", (Test((3,), expected=6), Test(((1, 2),), expected=(1, 2, 1, 2))))
RIGHT = "def double(x):\n    return 2 * x\n"
SUMS = Task(
    kind="stdio",
    seconds=0.5,
    tests=(Test(stdin="1 2\n3 4\n", stdout="3\n7\n"), Test(stdin="5 5\n", stdout="10\n")),
)


def asserts(source: str, name: str = "f") -> Task:
    return Task(name, kind="asserts", source=source)


# -- tasks -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "task",
    [
        DOUBLE,
        SUMS,
        asserts("assert f(1) == 2"),
        Task("f", (Test(({1, 2}, b"x"), {"key": float("inf")}, raises="ValueError", seconds=1.5),)),
        Task("f", (Test(({"$python": "1"},), expected={"a": [1, None, True]}),), atol=0.1),
    ],
)
def test_a_task_goes_through_json(task: Task) -> None:
    assert Task.from_json(json.loads(json.dumps(task.to_json()))) == task
    assert Task.from_json(json.dumps(task.to_json())) == task


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ("{", "Expecting property name"),
        ("[]", "Expected `object`, got `array`"),
        ('{"tests": 3}', "Expected `array`, got `int` - at `$.tests`"),
        ('{"test": []}', "unknown field `test`"),
        ('{"entry_point": "f"}', "no tests"),
        ('{"tests": [{}]}', "`entry_point`"),
        (
            '{"entry_point": "f", "tests": [{"args": 3}]}',
            "list of arguments - at `$.tests[0].args`",
        ),
        (
            '{"entry_point": "f", "tests": [{"args": [{"$python": "open(1)"}]}]}',
            "not a literal: open(1) - at `$.tests[0].args[0]`",
        ),
        ('{"tests": [{"stdout": "x"}], "checker": "same_set"}', "none of exact, lines, tokens"),
        ('{"entry_point": "f", "tests": [{}], "checker": "lines"}', "none of words, same_set"),
        ('{"source": "assert 1", "tests": [{}]}', "no other tests"),
        ('{"entry_point": "f", "tests": [{"seconds": -1}]}', "> 0.0 - at `$.tests[0].seconds`"),
        ('{"kind": "asserts"}', "needs their `source`"),
    ],
)
def test_a_bad_task_is_one_line(data: str, message: str) -> None:
    with pytest.raises(InputError, match=r"^task") as caught:
        Task.from_json(data)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_task_of_a_dataset(box: LocalSandbox, data_dir: Path) -> None:
    task = Task.of_dataset("humaneval+", "HumanEval/3", data=data_dir, box=box)
    right = (
        "def below_zero(operations):\n    total = 0\n    for op in operations:\n"
        "        total += op\n        if total < 0: return True\n    return False\n"
    )
    assert len(task.tests) > 900
    assert grade(right, task, box=box).passed
    wrong = grade(right.replace("< 0", "< -1"), task, partial=True, box=box)
    assert not wrong.passed
    assert 0.3 < wrong.reward < 1


# -- calls -----------------------------------------------------------------------------------------


def test_a_verdict(box: LocalSandbox) -> None:
    found = grade(RIGHT, DOUBLE, box=box)
    assert found.passed
    assert found.reward == 1.0
    assert found.reason == ""
    assert 0 < found.cpu_seconds < 1
    half = "def double(x):\n    return x + x if type(x) is tuple else 7\n"
    assert grade(half, DOUBLE, box=box).reward == 0.0
    found = grade(half, DOUBLE, partial=True, box=box)
    assert (found.passed, found.reward) == (False, 0.5)
    assert [one.passed for one in found.tests] == [False, True]
    assert found.reason == "wrong answer: returned 7"
    assert json.loads(json.dumps(found.to_json()))["tests"][0]["reason"] == found.reason


@pytest.mark.parametrize(
    ("program", "reason"),
    [
        ("def double(x): return 1 / 0", "ZeroDivisionError in line 1: division by zero"),
        ("def double(:", "while the program was loaded: SyntaxError in line 1"),
        ("import os\ndef double(x): os._exit(0)", "the process ended: exited with status 0"),
        ("def double(x): return [0] * 10**10", "needed too much memory"),
        ("", "NameError: name 'double' is not defined"),
    ],
)
def test_a_reason_says_what_the_program_did(box: LocalSandbox, program: str, reason: str) -> None:
    found = grade(program, DOUBLE, box=box)
    assert not found.passed
    assert reason in found.reason


def test_an_exception_may_be_what_is_expected(box: LocalSandbox) -> None:
    task = Task("f", (Test((0,), raises="ZeroDivisionError"), Test((2,), expected=0.5)))
    assert grade("def f(x): return 1 / x", task, box=box).passed
    assert not grade("def f(x): return 0.5", task, box=box).passed


LIAR = """
class Meta(type):
    __mro__ = (ValueError,)
    mro = lambda cls: [cls, Exception, BaseException, object]
class Own(Exception, metaclass=Meta): __module__ = "builtins"
Own.__name__ = Own.__qualname__ = "ValueError"
def f(x): raise Own(x)
"""


@pytest.mark.parametrize(
    ("raises", "program", "passed"),
    [
        ("KeyError", "def f(x): raise KeyError(x)", True),
        ("LookupError", "def f(x): raise KeyError(x)", True),
        ("KeyError", "def f(x): raise LookupError(x)", False),
        ("IOError", "def f(x): open('nothing')", True),
        ("ValueError", "def f(x): return b'\\xff'.decode()", True),
        ("Mine", "class Mine(Exception): pass\nclass More(Mine, KeyError): pass\n"
         "def f(x): raise More(x)", True),
        ("ValueError", "class Mine(ValueError): pass\ndef f(x): raise Mine(x)", True),
        # Of the program itself, which makes no call:
        ("ValueError", "raise ValueError", False),
        ("ValueError", "def f(x): raise ValueError(x)\nraise ValueError", False),
        ("NameError", "x = 1", False),
        # Another class of that name:
        ("ValueError", "class ValueError(Exception): pass\ndef f(x): raise ValueError(x)", False),
        ("ValueError", "import builtins\nclass Own(Exception): pass\nbuiltins.ValueError = Own\n"
         "def f(x): raise ValueError(x)", False),
        ("ValueError", LIAR, False),
    ],
)  # fmt: skip
def test_an_exception_is_expected_as_except_catches_it(
    box: LocalSandbox, raises: str, program: str, passed: bool
) -> None:
    calls = Task("f", (Test((1,), raises=raises), Test((1,), raises=raises)))
    bring = "" if hasattr(builtins, raises) else f"from solution import {raises}\n"
    source = f"import pytest\n{bring}def test_f():\n    with pytest.raises({raises}): f(1)\n"
    for task in (calls, asserts(source)):
        assert grade(program, task, partial=True, box=box).reward == float(passed)


def test_what_site_adds_is_there(box: LocalSandbox) -> None:
    task = Task(kind="stdio", tests=(Test(stdout="2"),))
    for end in ("exit()", "quit(0)", "exit", "def g(): quit()\ng()\nprint(3)", "help; license"):
        assert grade(f"print(2)\n{end}", task, box=box).passed, end
    for end in ("exit('no')", "exit(1)"):
        assert "SystemExit" in grade(f"print(2)\n{end}", task, box=box).reason, end
    task = Task("f", (Test((3,), raises="SystemExit"),))
    assert grade("def f(x): exit()", task, box=box).passed


SOLUTION = """
class Solution:
    def __init__(self): self.seen = []
    def two(self, x):
        self.seen.append(x)
        return 2 * sum(self.seen)
"""


def test_a_method_of_a_class_made_without_arguments(box: LocalSandbox) -> None:
    """As LiveCodeBench, APPS and TACO want it; each call is of a new object."""
    name = "Solution().two"
    calls = Task(name, (Test((3,), expected=6), Test((4,), expected=8)))
    source = "def check(candidate):\n    assert candidate(3) == 6\n    assert candidate(x=4) == 8\n"
    for task in (calls, asserts(source, name), asserts("assert Solution().two(3) == 6", name)):
        assert grade(SOLUTION, task, box=box).passed
        assert not grade(SOLUTION.replace("2 *", "3 *"), task, box=box).passed
        assert not grade(SOLUTION.replace("two", "too"), task, box=box).passed
    wrong = SOLUTION.replace("2 *", "3 *")
    for test in (Test((3,), expected=6), source):
        assert grade_test(test, SOLUTION, wrong, entry_point=name, box=box).both == 1.0


@pytest.mark.parametrize("name", ["os.getcwd", "Solution.two.__code__", "f.__globals__.get"])
def test_an_entry_point_leads_to_no_code(box: LocalSandbox, name: str) -> None:
    program = f"import os\ndef f(): pass\n{SOLUTION}"
    found = grade(program, asserts("def check(candidate): assert candidate", name), box=box)
    assert "not defined" in found.reason


def test_a_reason_never_says_what_is_expected(box: LocalSandbox) -> None:
    task = Task("f", (Test((1,), expected="a secret"),))
    assert "secret" not in json.dumps(grade("def f(x): return 'no'", task, box=box).to_json())


def test_unavailable_is_no_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*args: object, **more: object) -> None:
        raise SandboxUnavailable("no kernel")

    monkeypatch.setattr(reward_grading, "run_calls", broken)
    with Grader(1) as grader:
        with pytest.raises(SandboxUnavailable):
            grader.grade(RIGHT, DOUBLE)
        with pytest.raises(SandboxUnavailable):
            asyncio.run(grader.grade_async(RIGHT, DOUBLE))


# -- what is printed -------------------------------------------------------------------------------

LOOP = "for line in {}:\n    a, b = map(int, line.split())\n    print(a + b)\n"


@pytest.mark.parametrize(
    "program",
    [
        "import sys\n" + LOOP.format("sys.stdin"),
        LOOP.format("open(0)"),
        LOOP.format("open('/dev/stdin')"),
        "import sys\n" + LOOP.format("sys.stdin.buffer.read().decode().splitlines()"),
        "import os\n" + LOOP.format("os.read(0, 9999).decode().splitlines()"),
        "import sys\n" + LOOP.format("sys.stdin") + "sys.exit()",
        "import os, sys\n" + LOOP.format("sys.stdin") + "sys.stdout.flush()\nos._exit(0)",
        "import sys, threading\ndef main():\n"
        + "".join(f"    {line}\n" for line in LOOP.format("sys.stdin").splitlines())
        + "threading.stack_size(1 << 26)\nthreading.Thread(target=main).start()\n",
        "import atexit, io, sys\nout = io.StringIO()\nold, sys.stdout = sys.stdout, out\n"
        "atexit.register(lambda: old.write(out.getvalue()))\n" + LOOP.format("sys.stdin"),
    ],
)
def test_programs_that_read_and_print(box: LocalSandbox, program: str) -> None:
    found = grade(program, SUMS, box=box)
    assert found.passed, found.reason


@pytest.mark.parametrize(
    ("program", "reason"),
    [
        ("print(3)", "wrong answer: printed '3\\n'"),
        ("print('3 7'); raise SystemExit(1)", "SystemExit in line 1: 1"),
        ("input(); input(); input()", "EOFError"),
        ("print('x' * 20_000_000)", "printed too much"),
    ],
)
def test_programs_that_print_wrongly(box: LocalSandbox, program: str, reason: str) -> None:
    assert reason in grade(program, SUMS, box=box).reason


def test_no_input_meets_what_another_left(box: LocalSandbox) -> None:
    leaves = "import builtins\nprint(getattr(builtins, 'n', 1))\nbuiltins.n = 2\nopen('f', 'a')\n"
    task = Task(kind="stdio", tests=(Test(stdout="1"), Test(stdout="1"), Test(stdout="1")))
    assert grade(leaves, task, box=box).passed


@pytest.mark.parametrize(
    ("checker", "out", "expected", "same"),
    [
        (None, " 1  2\n3", "1 2 3\n", True),
        (None, "1 2", "1 2 3", False),
        (None, "", "1", False),
        ("exact", "1\n", "1", True),
        ("exact", "1 \n", "1", False),
        ("lines", "1 \n2\n\n", "1\n2", True),
        ("lines", "1 2", "1\n2", False),
        ("floats", "0.33333339", "0.3333333", True),
        ("floats", "0.334", "0.333", False),
        ("floats", "1000000008", "1000000007", False),
        ("floats", "1000000008.0", "1000000007", False),
        ("floats", "3.0000000", "3", True),
        ("floats", "9007199254740992.0", "9007199254740993", False),
        ("floats", "9007199254740993.0", "9007199254740993", True),
        ("floats", f"{10**60}.0", f"{10**60 + 1}", False),
        ("floats", "1.0e999", "1e999", True),
        ("floats", "1e-999", "0", True),
        ("floats", "nan", "0.5", False),
        ("floats", "1_0", "10", False),
        ("floats", "1e999", "1e998", False),
        ("unordered_lines", "b 1\na 2\n", "a 2\nb  1", True),
        ("unordered_lines", "a\na\nb", "a\nb\nb", False),
    ],
)
def test_checkers(checker: str | None, out: str, expected: str, same: bool) -> None:
    assert same_output(out, expected, checker) is same


# -- asserts ---------------------------------------------------------------------------------------

STACK = """
class Empty(Exception): pass
class Stack:
    def __init__(self): self.items = []
    def push(self, x): self.items.append(x)
    def pop(self):
        if not self.items: raise Empty("nothing is left")
        return self.items.pop()
    def __len__(self): return len(self.items)
    def __repr__(self): return "a stack"
    def __eq__(self, other): return self.items == other.items
"""
STACK_TESTS = """
import pytest
from solution import Stack, Empty

@pytest.mark.parametrize("items", [[1, 2], ["a"]])
def test_order(items):
    stack = Stack()
    for item in items:
        stack.push(item)
    assert len(stack) == len(items)
    while stack.items:
        assert stack.pop() == items.pop()

@pytest.fixture
def one():
    stack = Stack()
    stack.push(1)
    return stack

class TestOne:
    def test_equal(self, one):
        other = Stack()
        assert one != other
        other.push(1)
        assert one == other and repr(one) == "a stack"

    def test_empty(self):
        with pytest.raises(Empty, match="nothing"):
            Stack().pop()
"""


@pytest.mark.parametrize(
    ("source", "right", "wrong"),
    [
        ("assert f(2) == 4\nassert f(3) == 6", "def f(x): return 2 * x", "def f(x): return 4"),
        (
            "def check(candidate):\n    for i in range(30):\n        assert candidate(i) == 2 * i",
            "def f(x): return 2 * x",
            "def f(x): return 2 * x if x < 29 else 0",
        ),
        (STACK_TESTS, STACK, STACK.replace("self.items.pop()", "self.items.pop(0)")),
        (STACK_TESTS, STACK, STACK.replace("nothing is left", "empty")),
        (
            "import unittest\nclass T(unittest.TestCase):\n    def setUp(self): self.x = [1]\n"
            "    def test_a(self):\n        self.assertEqual(f(self.x), [1, 1])\n"
            "        with self.assertRaises(TypeError): f(None)",
            "def f(x): return x * 2",
            "def f(x): return [*(x or ()), 1]",
        ),
        ("def test_f():\n    x = [3, 1]\n    f(x)\n    assert x == [1, 3]", "def f(x): x.sort()",
         "def f(x): return sorted(x)"),
        ("def test_f():\n    it = f(2)\n    assert next(it) == 0 and list(it) == [1]",
         "def f(n): yield from range(n)", "def f(n): yield from range(1, n + 1)"),
        ("import pytest\ndef test_f():\n    assert f(1) == pytest.approx(0.3)",
         "def f(x): return 0.1 + 0.2", "def f(x): return 0.31"),
        ("def test_f():\n    assert f(1) == (1, {'a'}) and f(1)[0] < 2 and type(f(1)) is tuple",
         "def f(x): return (1, {'a'})", "def f(x): return [1, {'a'}]"),
    ],
)  # fmt: skip
def test_files_of_asserts(box: LocalSandbox, source: str, right: str, wrong: str) -> None:
    task = asserts(source)
    for _ in range(2):  # also when it is known what is asked
        found = grade(right, task, box=box)
        assert found.passed, found.tests
        assert not grade(wrong, task, box=box).passed


def test_partial_credit_of_asserts(box: LocalSandbox) -> None:
    task = asserts("assert f(2) == 4\nassert f(3) == 6\nassert f(4) == 8")
    found = grade("def f(x): return 4", task, partial=True, box=box)
    assert [one.passed for one in found.tests] == [True, False, False]
    assert found.reward == pytest.approx(1 / 3)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("def test_f():\n    assert f(lambda: 1)", "gives the program a value that cannot cross"),
        ("def test_f(capsys):\n    assert f(1)", "needs the fixture 'capsys'"),
        ("x = 1", "no assert, `check` or function"),
        ("def test_f(", "not Python"),
    ],
)
def test_a_file_that_cannot_be_followed_is_no_verdict(
    box: LocalSandbox, source: str, message: str
) -> None:
    with pytest.raises(InputError) as caught:
        grade("def f(x): return x", asserts(source), box=box)
    assert message in str(caught.value)


# -- many ------------------------------------------------------------------------------------------


def test_verdicts_come_in_order_and_work_is_bounded() -> None:
    drawn = 0

    def pairs() -> Iterator[tuple[str, Task]]:
        nonlocal drawn
        for number in range(30):
            drawn += 1
            task = Task("f", (Test((), expected=number),))
            pause = "import time; time.sleep(0.05)" if number % 7 == 0 else "pass"
            yield f"def f():\n    {pause}\n    return {number if number % 3 else -1}\n", task

    with Grader(2) as grader:
        found = grader.grade_batch(pairs())
        first = next(found)
        assert drawn <= 6
        assert [one.passed for one in (first, *found)] == [n % 3 != 0 for n in range(30)]


def test_coroutines() -> None:
    async def both() -> list[bool]:
        with Grader(2) as grader:
            more = await asyncio.gather(*[grader.grade_async(RIGHT, DOUBLE) for _ in range(4)])
        return [one.passed for one in (await grade_async(RIGHT, DOUBLE), *more)]

    assert asyncio.run(both()) == [True] * 5


def test_a_server_that_dies_costs_no_verdict() -> None:
    with Grader(1) as grader:
        assert grader.grade(RIGHT, DOUBLE).passed

        def kill(box: LocalSandbox) -> None:
            next(iter(box._servers.values())).process.kill()

        grader._pool.submit(kill).result()  # type: ignore[arg-type]
        assert grader.grade(RIGHT, DOUBLE).passed
