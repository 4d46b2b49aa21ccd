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


@pytest.mark.parametrize(
    ("name", "step", "runs"),
    [
        ("f", "wrapper(1)", True),
        ("f", "list(map(f, [1]))", True),
        ("f", "exec('def f(a, b=0):\\n    return a + b', ns := {}); ns['f'](1)", False),
        ("f", "1 // 0", False),
        ("C.f", "C().f(1)", True),
        ("C.f", "f(1)", False),
        ("C.size", "C().size", True),
        ("C.made", "C.made()", True),
        ("C.made", "C()", False),
    ],
)
def test_a_session_tells_whether_the_function_runs(
    box: LocalSandbox, name: str, step: str, runs: bool
) -> None:
    code = (
        "import functools\ndef f(a, b=0):\n    return a + b\n"
        "@functools.wraps(f)\ndef wrapper(a):\n    return f(a)\n"
        "class C:\n    def f(self, a):\n        return f(a)\n"
        "    @property\n    def size(self):\n        return 1\n"
        "    @classmethod\n    def made(cls):\n        return cls()\n"
    )
    session = DoctestSession(("undefined()\n", f"{step}\n"), 2, observed=True)
    (outcome,) = box.run(Program(code, name, filename="/m.py"), [session])
    assert isinstance(outcome, Returned)
    assert outcome.value is runs
