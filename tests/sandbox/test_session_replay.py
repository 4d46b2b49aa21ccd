"""A session of doctest examples runs, and is compared, as `doctest` does it."""

from __future__ import annotations

from typing import Any

import pytest

from refute.core.problems import Call, DoctestSession, UnitTest, Want
from refute.sandbox import Limits, Program, Returned, TimedOut
from refute.sandbox.equality import expect_test, matches, shows
from refute.sandbox.local import LocalSandbox

CODE = """
from __future__ import annotations
LIMIT = 3
def f(x: unknown) -> int:
    if x is None:
        raise ValueError("none")
    return x * LIMIT
"""


def shown(box: LocalSandbox, *steps: str, watched: int = 1, seed: int = 0) -> Any:
    session = DoctestSession(tuple(f"{step}\n" for step in steps), watched)
    limits = Limits(cpu=1.0, seed=seed)
    (outcome,) = box.run(Program(CODE, "f", filename="/m.py"), [session], limits)
    return outcome.value


def test_values_are_displayed_and_printed_text_is_kept(box: LocalSandbox) -> None:
    assert shown(box, "f(2)") == ("6\n", None, False)
    assert shown(box, "print(f('a'), end='')") == ("aaa\n", None, False)
    assert shown(box, "x = f(2)") == ("", None, False)


def test_steps_share_a_namespace_that_is_not_the_module_s(box: LocalSandbox) -> None:
    assert shown(box, "LIMIT = 5", "x = [1]", "x.append(f(1))", "x")[0] == "[1, 3]\n"
    outcomes = box.run(
        Program(CODE, "f"),
        [DoctestSession(("LIMIT = 5\n",)), DoctestSession(("LIMIT\n",)), Call((1,))],
    )
    assert [o.value for o in outcomes if isinstance(o, Returned)][1:] == [("3\n", None, False), 3]


def test_exceptions_are_told_by_their_last_line_and_end_nothing(box: LocalSandbox) -> None:
    rows = shown(box, "f(None)", "undefined", "raise SystemExit(3)", "1", watched=4)
    assert rows == [
        ("", "ValueError: none\n", True),
        ("", "NameError: name 'undefined' is not defined\n", False),
        ("", "SystemExit: 3\n", False),
        ("1\n", None, False),
    ]


def test_files_lie_in_a_directory_of_the_session(box: LocalSandbox) -> None:
    steps = ["print('hello', file=open('a.txt', 'w'), flush=True)", "open('a.txt').read()"]
    assert shown(box, *steps)[0] == "'hello\\n'\n"
    listing = DoctestSession(("import os\n", "os.listdir('.')\n"))
    outcomes = box.run(
        Program(CODE, "f"), [DoctestSession((f"{steps[0]}\n",)), listing, Call((1,))]
    )
    assert [o.value for o in outcomes if isinstance(o, Returned)][1:] == [("[]\n", None, False), 3]


def test_a_step_that_does_not_end_is_cut(box: LocalSandbox) -> None:
    session = DoctestSession(("while True: pass\n",))
    (outcome,) = box.run(Program(CODE, "f"), [session], Limits(cpu=0.2))
    assert isinstance(outcome, TimedOut)


def test_another_seed_is_another_process_with_other_hashes(box: LocalSandbox) -> None:
    one, two = (shown(box, "hash('a')", seed=seed)[0] for seed in (0, 1))
    assert one != two
    one, two = (shown(box, "import random", "random.random()", seed=seed)[0] for seed in (0, 1))
    assert one != two


@pytest.mark.parametrize("wild", [None, 3, (), ("a",), ("6\n", 1, False), [("6\n", None, False)]])
def test_what_is_no_session_s_outcome_shows_nothing(wild: object) -> None:
    assert not shows(wild, Want("6\n"))


def test_typed_numbers(box: LocalSandbox) -> None:
    outcomes = box.run(Program(CODE, "f"), [Call((2,)), Call(([1],))])
    for expected, passes in ((6, True), (6.0, False)):
        test = UnitTest(Call((2,)), expected, typed=True)
        assert matches(outcomes[0], expect_test(test)) is passes
    assert matches(outcomes[1], expect_test(UnitTest(Call(([1],)), [1, 1, 1], typed=True)))
    assert not matches(outcomes[1], expect_test(UnitTest(Call(([1],)), [1, True, 1], typed=True)))


def made(box: LocalSandbox, *steps: str, code: str = CODE) -> Any:
    session = DoctestSession(tuple(f"{step}\n" for step in steps), len(steps), observed=True)
    (outcome,) = box.run(Program(code, "f", filename="/m.py"), [session])
    return outcome.value


def test_calls_are_seen_with_their_arguments_as_they_were_before(box: LocalSandbox) -> None:
    code = "def f(xs, *, n=1):\n    xs.append(n)\n    return xs\n"
    steps = "a = []", "b = [a]", "b[0].append(5)", "print(f(a), f(a, n=2))"
    assert made(box, *steps, code=code) == [
        [],
        [],
        [],
        [(([5],), {}, ("returned", [5, 1])), (([5, 1],), {"n": 2}, ("returned", [5, 1, 2]))],
    ]


def test_only_calls_of_the_function_itself_are_seen(box: LocalSandbox) -> None:
    code = (
        "import functools\ndef f(a, b=0):\n    return a + b\n"
        "@functools.wraps(f)\ndef wrapper(a):\n    return f(a)\n"
        "class C:\n    def f(self, a):\n        return f(a)\n"
        "class D:\n    f = staticmethod(f)\n"
    )
    assert made(box, "wrapper(1)", "C().f(1)", "list(map(f, [1]))", code=code) == [[], [], []]
    one = ((1, 2), {}, ("returned", 3))
    assert made(box, "g = f", "g(1, 2)", "D.f(1, 2)", "functools.partial(f, 1)(2)", code=code) == [
        [], [one], [one], [one],
    ]  # fmt: skip
    again = "exec('def f(a, b=0):\\n    return a + b', ns := {})"
    assert made(box, again, "ns['f'](1)", code=code) == [[], []]


def test_what_is_no_data_and_what_is_raised_is_told(box: LocalSandbox) -> None:
    code = "def f(x):\n    return object() if x else 1 // 0\n"
    assert made(box, "f(object)", "f(0)", code=code) == [
        [(None, {}, None)],
        [((0,), {}, ("raised", "ZeroDivisionError"))],
    ]


def test_a_test_that_is_observed_goes_on_behind_what_fails(box: LocalSandbox) -> None:
    test = (
        "def test_f(self=None):\n    assert f(1) == 9 and f(2) == 9\n    for n in (3, 4):\n"
        "        assert f(n) == 9\n    f(None)\n    return f(5)"
    )
    rows = made(box, test, "test_f()")
    assert [args for args, _, _ in rows[1]] == [(1,), (2,), (3,), (4,), (None,), (5,)]
