"""Parts of redgreen that need no workspace: what is shown, read, chosen."""

from __future__ import annotations

from dataclasses import replace

import pytest

from refute.issue.context import estimated_tokens, likely_files, numbered
from refute.issue.original import TrialRun, described, runnable_id, scrubbed
from refute.issue.redgreen.excerpt import companions, excerpt
from refute.issue.redgreen.locate import (
    View,
    locate_prompt,
    read_places,
    view_of,
)
from refute.issue.redgreen.questions import read_readings, read_verdicts
from refute.issue.redgreen.ranking import (
    Draft,
    TestOpinion,
    confidence,
    fix_scores,
    ranking,
    without_shared,
)
from refute.issue.redgreen.testbed import CandidateFix
from refute.workspace.contract import Failure, TestReport, TestResult

SOURCE = (
    '"""A module."""\nimport os\n\n\n'
    + "".join(f"def helper_{n}(x):\n    return x + {n} * sum([x, x, x])\n\n\n" for n in range(60))
    + "class Shape:\n    sides = 4\n\n    @property\n    def area(self):\n        return 0\n\n"
    "    def turn(self, angle):\n        return angle % 360\n\n\n"
    "def last(x):\n    return x\n"
)


SUITE = (
    "import unittest\nfrom .models import Author, Unused\n\n\nclass Form:\n    name = 1\n\n\n"
    "Forms = make(Form)\nOther = make(Form)\n\n\n"
    + "".join(f"def filler_{n}(x):\n    return [x, {n}]\n\n\n" for n in range(80))
    + "class Base(unittest.TestCase):\n    def check(self, x):\n        return x\n\n\n"
    "class CaseTests(Base):\n    first = Author(1)\n"
    + "".join(f"    other{n} = Author({n})\n" for n in range(2, 7))
    + "\n"
    "    def setUp(self):\n        self.x = filler_7(1)\n\n"
    "    def test_one(self):\n        self.check(Forms(self.first))\n\n"
    "    def test_two(self):\n        pass\n"
)


def test_an_excerpt_brings_what_the_named_test_needs() -> None:
    shown = excerpt(SUITE, 220, query="nothing", named=["CaseTests.test_one"])
    texts = [line.partition(" ")[2] for line in shown.splitlines()]
    for needed in (
        "        self.check(Forms(self.first))",
        "    first = Author(1)",
        "        self.x = filler_7(1)",
        "def filler_7(x):",
        "    def check(self, x):",
        "Forms = make(Form)",
        "    name = 1",
    ):
        assert needed in texts, needed
    assert "    other2 = Author(2)" not in texts
    assert "    def test_two(self):" not in texts
    assert sum("def filler" in text for text in texts) < 4, "the rest is not filled up"


def test_the_code_that_the_example_ran_into_is_likely() -> None:
    files = {f"lib/{name}.py": f"def {name}():\n    pass\n" for name in ("outer", "inner", "word")}
    files["tests/test_x.py"] = "def test_x():\n    assert 1\n"
    seen = (
        '  File "tests/test_x.py", line 1, in test_x\n  File "lib/outer.py", line 2, in outer\n'
        '  File "lib/inner.py", line 2, in inner\nError: no\n'
    )
    likely = likely_files("word is wrong", files, seen=seen)
    assert likely.code == ("lib/inner.py", "lib/outer.py", "lib/word.py")
    assert likely_files("word is wrong", files).code[0] == "lib/word.py"


def test_a_name_in_capitals_is_found_in_the_code() -> None:
    """Of an environment variable: BM25 put seven files with the issue's other words before it."""
    files = dict.fromkeys(("lib/a.py", "lib/b.py"), "workers = 'workers crash when auto'\n")
    files["lib/z.py"] = "x = 1\n" * 200 + "n = environ['NUM_WORKERS']\n"
    said = "The workers crash when NUM_WORKERS is auto: workers crash"
    assert likely_files(said, files).code[0] == "lib/z.py"


def test_of_a_named_definition_that_is_too_long_the_ends_are_shown() -> None:
    body = "".join(f"    x = x + {n} * sum([x, x, x])\n" for n in range(400))
    shown = excerpt(f"{SOURCE}\n\ndef huge(x):\n{body}    return x, 7\n", 300, named=["huge"])
    assert estimated_tokens(shown) <= 320
    assert "def huge(x):" in shown
    assert "    return x, 7" in shown


def test_what_tests_take_from_the_files_beside_them() -> None:
    files = {
        "tests/app/tests.py": SUITE,
        "tests/app/models.py": "class Author:\n    pass\n\n\nclass Unused:\n    pass\n",
        "tests/app/test_more.py": "from . import helpers\ndef test_x(paint): pass\n",
        "tests/app/helpers.py": "x = 1\n",
        "tests/app/conftest.py": "def paint():\n    pass\n\n\ndef other():\n    pass\n",
    }
    shown = [{"path": "tests/app/tests.py", "numbered": numbered(SUITE)}]
    assert companions(shown, files) == {"tests/app/models.py": ("Author",)}
    shown = [{"path": "tests/app/test_more.py", "numbered": "2 def test_x(paint): pass"}]
    assert companions(shown, files) == {
        "tests/app/conftest.py": ("paint",),
        "tests/app/helpers.py": (),
    }
    assert companions([{"path": "gone.py", "numbered": ""}], files) == {}
    view = seen("it fails", files, "TEST: tests/app/tests.py: test_one")
    assert [file["path"] for file in view.test_files][-1] == "tests/app/models.py"


@pytest.mark.parametrize(
    "text", ["def broken(:\n" * 500, "x" * 5000, "", "\n" * 900, "é\x0c\n" * 99]
)
def test_an_excerpt_of_anything_is_bounded(text: str) -> None:
    assert estimated_tokens(excerpt(text, 150, query="x", named=["y"])) <= 170


FILES = {
    "pkg/core.py": "def clamp(x):\n    return x\n",
    "pkg/other.py": "def unrelated():\n    return 'clamp clamp clamp'\n",
    "tests/test_core.py": "from pkg.core import clamp\n\ndef test_clamp():\n    assert clamp(1)\n",
    "tests/test_other.py": "def test_unrelated():\n    pass\n",
    "tests/helpers.py": "x = 1\n",
}


def test_places_are_read_and_checked() -> None:
    answer = (
        "Thoughts: CODE: is hard\n- CODE: `pkg/core.py`: clamp, Shape.area\n"
        "**TEST**: tests/test_core.py\nCODE: pkg/none.py: x\nCODE: ../../etc/passwd\n"
        "TEST: pkg/other.py: unrelated\nCODE: pkg/core.py: again"
    )
    code, tests = read_places(answer, FILES)
    assert [place.path for place in code] == ["pkg/core.py", "pkg/other.py"]
    assert code[0].names == ("clamp", "Shape.area")
    assert [place.path for place in tests] == ["tests/test_core.py"]


def seen(issue: str, files: dict[str, str], answer: str, test_first: str = "") -> View:
    likely = likely_files(issue, files)
    return view_of(issue, files, likely, answer, 2000, test_first=test_first)


def test_the_view_without_an_answer() -> None:
    issue = 'clamp fails\n  File "/home/me/site-packages/pkg/core.py", line 2, in clamp'
    view = seen(issue, FILES, "")
    assert view.code[0] == "pkg/core.py", "the traceback names it"
    assert view.tests[0] == "tests/test_core.py", "named after it, and imports it"
    assert "tests/helpers.py" not in view.tests
    assert seen("see pkg.other", FILES, "").code[0] == "pkg/other.py"
    assert seen("x", FILES, "", "tests/test_other.py").tests[0].endswith("test_other.py")
    empty = seen("x", {}, "CODE: a.py")
    assert (empty.code_files, empty.test_files) == ((), ())


def test_what_the_model_names_is_shown_and_no_other_test_file() -> None:
    view = seen(
        "clamp", FILES, "CODE: pkg/core.py\nTEST: tests/test_other.py", "tests/test_core.py"
    )
    assert view.tests == ("tests/test_other.py",)
    assert [file["path"] for file in view.code_files] == ["pkg/core.py"]
    assert [file["path"] for file in view.test_files] == ["tests/test_other.py"]


def test_fixtures_of_every_conftest_above_are_named_or_shown() -> None:
    files = FILES | {
        "tests/deep/test_more.py": "def test_x(paint): pass\n",
        "tests/conftest.py": "def paint():\n    pass\n\n\ndef other():\n    pass\n",
    }
    view = seen("clamp", files, "TEST: tests/deep/test_more.py: test_x")
    assert view.test_files[-1]["path"] == "tests/conftest.py"
    assert view.fixtures == ()
    long = "".join(f"def fixture_{n}():\n    return [{n}] * {n}\n\n\n" for n in range(200))
    files["tests/conftest.py"] += long
    view = seen("clamp", files, "TEST: tests/deep/test_more.py: test_x")
    assert "def paint" in view.test_files[-1]["numbered"]
    assert "fixture_7" in view.fixtures


def test_tests_near_the_likeliest_code_are_listed_though_their_words_are_others() -> None:
    files = {f"tests/test_{n}.py": f"def test_{n}():\n    clamp = {n}\n" for n in range(60)}
    files |= {"pkg/core.py": "def clamp(x):\n    return x\n"}
    files |= {"tests/pkg/test_core.py": "from pkg.core import *\ndef test_it(): pass\n"}
    assert "tests/pkg/test_core.py" in likely_files("clamp", files).tests[:4]


def test_the_list_to_choose_from() -> None:
    prompt = locate_prompt("clamp fails", FILES, likely_files("clamp fails", FILES), 3000)
    assert "CODE pkg/core.py: clamp\n" in prompt
    assert "TEST tests/test_core.py: test_clamp\n" in prompt
    assert "tests/helpers.py" not in prompt
    many = {f"pkg/module_{n}.py": SOURCE for n in range(200)}
    prompt = locate_prompt("clamp", many, likely_files("clamp", many), 3000)
    assert estimated_tokens(prompt) < 3000
    assert prompt.count("CODE pkg/module_") == 6
    assert prompt.count("pkg/module_") == 20, "the others by their paths"


def test_files_are_likely_by_what_they_define_and_how_they_are_called() -> None:
    files = {
        "pkg/deep.py": "def clamp_all():\n    pass\n",
        "pkg/manpage.py": "def write():\n    pass\n",
        "pkg/words.py": "'clamp all clamp all man pages man pages generate'\n",
        "docs/manpage.py": "def write():\n    pass\n",
        "pkg/testing.py": "class TestClient:\n    def test_it(self): pass\n",
    }
    assert likely_files("`clamp_all` fails", files).code[0] == "pkg/deep.py"
    likely = likely_files("Write a manpage", files)
    assert likely.code[-1] == "docs/manpage.py"
    assert "pkg/testing.py" in likely.code


def test_of_a_large_function_what_a_run_went_through_is_shown() -> None:
    body = "".join(f"    x = x + {n}\n" for n in range(2, 400))
    files = {"pkg/huge.py": f"def huge(x):\n{body}    return x\n"}
    told = "CODE: pkg/huge.py: huge"
    ran = 'File "/x/pkg/huge.py", line 170, in huge\npkg/huge.py:250: in huge\n'
    for trace, lines in ((ran, {1, 170, 172, 250, 248}), ("", {1, 398, 400})):
        view = view_of("huge", files, likely_files("huge", files), told, 2000, seen=trace)
        shown = view.code_files[0]["numbered"].splitlines()
        numbers = {int(line.split()[0]) for line in shown if line != "..."}
        assert lines <= numbers
        assert 330 not in numbers


@pytest.mark.parametrize(
    ("answer", "verdicts"),
    [
        ("reasons\n**VERDICT: No**\n```", (False, False)),
        ("VERDICT: no\n def test():\n  'VERDICT: yes'\nVERDICT: yes", (False, False)),
        ("verdict - yes", (True, True)),
        ("", (None, None)),
        ("VERDICT 1: yes\n**Verdict 2:** no", (True, False)),
        ("VERDICT 2: yes (all of it)\nVERDICT 2: no", (None, True)),
        ("VERDICT of version 2: yes", (None, None)),
    ],
)
def test_verdicts(answer: str, verdicts: tuple[bool | None, bool | None]) -> None:
    assert tuple(verdict.accepted for verdict in read_verdicts(answer, 2)) == verdicts


@pytest.mark.parametrize(
    ("line", "accepted", "refused"),
    [
        ("VERDICT 1: yes, without test_a, `test_b`", True, {"test_a", "test_b"}),
        ("**VERDICT 1:** yes (except TestX.test_c)", True, {"test_c"}),
        ("VERDICT 1: yes   (at least one shows it, without doubt)", True, set()),
        ("VERDICT 1: no, without test_a", False, {"test_a"}),
    ],
)
def test_verdicts_on_single_tests(line: str, accepted: bool, refused: set[str]) -> None:
    (verdict,) = read_verdicts(f"Well.\n{line}\ntest_z\n", 1)
    assert (verdict.accepted, set(verdict.refused)) == (accepted, refused)


def test_readings_of_a_fix() -> None:
    assert read_readings("why\nREADING 1\none\n**READING 2:**\ntwo") == ["\none\n", "\ntwo"]
    assert read_readings("my READING 1 of it") == ["my READING 1 of it"]
    assert len(read_readings("READING 1\nREADING 2\nREADING 3")) == 2


@pytest.mark.parametrize(
    "head",
    ["READING {}", "READING {} (likelier)", "READING {}: empty is wrong", "## READING {} - a"],
)  # fmt: skip
def test_readings_are_divided_however_their_line_is_written(head: str) -> None:
    code = "def f{}():\n    # Reading 1 of two\n    pass\n"
    block = f"```custom-diff\ndiff\na.py\ninsert\nEOF\n{code}end diff\n```\n"
    said = "Reading 1 is likelier.\nReading 2 is not.\n"
    parts = [f"{head.format(number)}\n{block.format(number)}" for number in (1, 2)]
    found = read_readings("Why.\n" + said + "".join(parts))
    assert [part.strip() for part in found] == [block.format(n).strip() for n in (1, 2)]


def test_runs_are_told_the_same_each_time() -> None:
    one = "/x/tree/a.py <A object at 0x7f01beef> /tmp/pytest-of-me/pytest-3/t0 3 passed in 0.12s"
    one = one.replace("passed", "\x1b[31mpassed\x1b[0m")
    two = "/x/tree/a.py <A object at 0x55aa0000> /tmp/pytest-of-me/pytest-9/t0 3 passed in 1.4 s"
    assert scrubbed(one, "/x/tree") == scrubbed(two, "/x/tree")
    assert scrubbed(one, "/x/tree").startswith("a.py <A object at 0x...> /tmp/... 3 passed")
    assert list(map(runnable_id, ["a.py::t[x::y]", "m.C.t (i=1)"])) == ["a.py::t", "m.C.t"]


def traced(kind: str, trace: str) -> str:
    """What a prompt says of a failing test with that traceback."""
    result = TestResult("t", "t.py", "failed", "call", Failure(kind, "1 != 2", trace))
    return described(TrialRun("p", TestReport((result,), "finished"), (result,)))


OWN = '  File "tests/t.py", line 3, in test_it\n    self.assertEqual(f(1), 2)\n'
LIBRARY = (
    '  File "/usr/lib/python3/unittest/case.py", line 675, in fail\n    raise self.error(msg)\n'
)
FAILED = "AssertionError: 1 != 2\n  File is what this message says\n"


def test_a_failed_assertion_is_told_without_the_library_that_compares() -> None:
    head = "Traceback (most recent call last):\n"
    both = f"{head}{OWN}{LIBRARY}{FAILED}"
    assert f"{head}{OWN}{FAILED}" in traced("AssertionError", both)
    assert both in traced("KeyError", both), "there the library may be what fails"
    assert f"{head}{LIBRARY}{FAILED}" in traced("AssertionError", f"{head}{LIBRARY}{FAILED}")
    chained = f"{head}{LIBRARY}KeyError: 'a'\n\nDuring handling\n\n{both}"
    expected = f"{head}KeyError: 'a'\n\nDuring handling\n\n{head}{OWN}{FAILED}"
    assert expected in traced("AssertionError", chained)


def test_parameters_that_fail_alike_are_told_once() -> None:
    def one(id: str, kind: str) -> TestResult:
        return TestResult(id, "t.py", "failed", "call", Failure(kind, "", f"trace of {id}"))

    ids = [("t.py::t[1]", "E"), ("t.py::t[2]", "E"), ("t.py::t[3]", "F"), ("t.py::u", "E")]
    results = tuple(one(*pair) for pair in ids)
    told = described(TrialRun("p", TestReport(results, "finished"), results))
    assert "trace of t.py::t[1]\n(and 1 more of it with other parameters fail alike)" in told
    assert "t.py::t[2]" not in told
    assert "trace of t.py::t[3]" in told
    assert "trace of t.py::u" in told
    assert "4 tests newly fail" in told


def test_long_traces_are_cut_between_lines() -> None:
    trace = "".join(f"line {n} of the traceback\n" for n in range(400))
    results = tuple(
        TestResult(f"t.py::t{n}", "t.py", "failed", "call", Failure("E", "", trace))
        for n in range(30)
    )
    told = described(TrialRun("p", TestReport(results, "finished"), results))
    lines = told.splitlines()
    assert all(f"t.py::t{n}: failed in call" in lines for n in range(30))
    rest = [line for line in lines if line and not line.startswith("t.py")]
    assert all(line in trace.splitlines() or line == "[...]" for line in rest[:-1])
    assert len(told) < 9000


def test_what_fails_at_the_same_place_of_the_code_is_told_once() -> None:
    def one(id: str, own: int, message: str) -> TestResult:
        trace = (
            f'  File "t.py", line {own}, in t\n    f()\n  File "lib.py", line 2, in f\n    no()\n'
        )
        return TestResult(
            id, "t.py", "failed", "call", Failure("E", message, f"{trace}E: {message}")
        )

    results = (one("t.py::t", 1, "a"), one("t.py::u", 9, "b"))
    told = described(TrialRun("p", TestReport(results, "finished"), results))
    assert told.count("lib.py") == 1
    assert "These fail at the same place of the code:\n  t.py::u: E: b" in told


# -- choosing --------------------------------------------------------------------------------------


def draft(number: int, red: str, greens: dict[int, str], **options: object) -> Draft:
    """A draft whose tests are letters; `greens`: fix -> those that pass with it."""
    results = tuple(TestResult(id, "t.py", "failed") for id in red)
    trial = TrialRun("p" * (number + 1), TestReport(results, "finished"), results)
    rows = {
        fix: {id: "pass" if id in green else "fail" for id in red} for fix, green in greens.items()
    }
    made = Draft(number, "direct", trial, accepted=True, rows=rows)  # type: ignore[arg-type]
    return replace(made, **options)  # type: ignore[arg-type]


FIXES = [CandidateFix(number, f"fix {number}") for number in range(3)]


def test_fixes_and_tests_vouch_for_one_another() -> None:
    drafts = [
        draft(0, "w", {0: "", 1: "", 2: "w"}),  # what a wrong fix satisfies
        draft(1, "a", {0: "a", 1: "a", 2: ""}),
        draft(2, "ab", {0: "ab", 1: "a", 2: ""}),
    ]
    scores = fix_scores(drafts, FIXES)
    assert scores == {0: 2.0, 1: 1.5, 2: 1.0}
    best = ranking(drafts, FIXES)
    assert [one.draft.number for one in best] == [1, 2, 0]
    assert best[0].support == pytest.approx(3.5 / 4.5)
    assert best[1].kept == ("a",)
    assert best[1].dropped == ("b",), "only one fix turns it green"
    assert best[2].tier == 1
    assert confidence(best[0], drafts, FIXES) == pytest.approx(
        (3.5 / 4.5 * 3 + 2 + 1) / (3 + 2 + 2)
    )


def test_what_every_fix_breaks_is_held_against_none() -> None:
    old, other = (TestResult(id, "t.py", "failed") for id in ("old", "other"))
    one = CandidateFix(0, "a", broken=(old,), answers=frozenset({1}))
    two = CandidateFix(1, "b", broken=(old, other), answers=frozenset({2}))
    away = CandidateFix(2, "c", rejected="no")
    assert [fix.broken for fix in without_shared([one, two, away])] == [(), (other,), ()]
    assert without_shared([two, away]) == [two, away], "one answer alone proves nothing"
    assert without_shared([replace(two, answers=frozenset({2, 3}))])[0].broken == ()
    assert without_shared([one, CandidateFix(3, "d")])[0].broken == (old,), "one fix keeps it green"
    assert without_shared([]) == []


def test_what_the_judge_refuses_is_left_out() -> None:
    one = draft(0, "ab", {0: "ab", 1: "ab"})
    tests = [replace(r, id=f"t.py::test_{r.id}") for r in one.trial.asserted]
    trial = replace(one.trial, failing=tuple(tests))
    rows = {fix: {r.id: "pass" for r in tests} for fix in (0, 1)}
    named = replace(one, trial=trial, rows=rows, accepted=None)  # type: ignore[arg-type]
    judged = named.judged(TestOpinion(True, frozenset({"test_b"})))
    (best,) = ranking([judged], FIXES[:2])
    assert (best.tier, best.kept, best.dropped) == (0, ("t.py::test_a",), ("t.py::test_b",))
    nothing = named.judged(TestOpinion(True, frozenset({"test_a", "test_b"})))
    assert not nothing.accepted
    assert nothing.red
