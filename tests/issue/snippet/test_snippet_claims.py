"""What is claimed of a run: exceptions, values, what should raise; and where it says nothing."""

from __future__ import annotations

from dataclasses import replace

import pytest

from refute.issue.snippet import rendering as write
from refute.issue.snippet.assertion import claims, why_nothing
from refute.issue.snippet.issue_reader import read_issue_text
from refute.issue.snippet.script import Claim, ScriptError, Seen, Value, scripts, statements


def claimed(text: str, seen: Seen) -> list[Claim]:
    pieces = read_issue_text(text)
    script = scripts(statements(pieces))[-1]
    return claims(text.split("\n", 1)[0], pieces, script, seen)


def claimed_together(text: str, seen: Seen) -> list[Claim]:
    pieces = read_issue_text(text)
    script = max(scripts(statements(pieces)), key=lambda one: len(one.pieces))
    return claims(text.split("\n", 1)[0], pieces, script, seen)


def raising(kind: str, message: str = "", *, statement: int = 1, inside: bool = True) -> Seen:
    return Seen(raised=ScriptError(statement, kind, message, inside))


CRASH = "Total fails\n```python\nfrom shop import total\ntotal([])\n```\n"


def test_a_shown_exception_must_not_be_raised() -> None:
    (claim,) = claimed(CRASH + "ValueError: no rows\n", raising("ValueError", "no rows"))
    assert (claim.kind, claim.failure, claim.confidence) == ("runs", "ValueError", 0.75)
    assert claim.focus.source == "total([])"
    assert [row.source for row in claim.setup] == ["from shop import total"]


def test_an_exception_that_the_issue_does_not_tell_of_is_no_evidence() -> None:
    assert claimed(CRASH.replace("fails", "is 3"), raising("ValueError", "no rows")) == []
    (claim,) = claimed(CRASH, raising("ValueError", "no rows"))
    assert (claim.kind, claim.confidence) == ("runs", 0.4), "the title says that it fails"


def test_an_exception_of_the_examples_own_lines_is_no_evidence() -> None:
    seen = raising("NameError", "name 'rows' is not defined", inside=False)
    assert claimed(CRASH + "It raises a NameError.\n", seen) == []


def test_what_should_raise_may_raise() -> None:
    text = CRASH + "It should raise a ValueError, and does.\n"
    assert claimed(text, raising("ValueError", "no rows")) == []


@pytest.mark.parametrize(
    "said", ["It should raise a ValueError.", "I expected a `ValueError` exception to be raised."]
)
def test_what_should_raise_must_raise(said: str) -> None:
    text = f"{CRASH}{said}\n"
    (claim,) = claimed(text, Seen({1: Value("0", "0")}))
    assert (claim.kind, claim.expected) == ("raises", "ValueError")


CLAMP = "clamp is wrong\n\n>>> from shapes import clamp\n>>> clamp(10, 0, 9)\n0\n\n"


@pytest.mark.parametrize(
    "said",
    [
        "I expected 9.",
        "expected: `9`",
        "Expected output:\n```\n9\n```",
        "**Actual:** 0\n\n**Expected:** 9",
    ],
)
def test_the_expected_value(said: str) -> None:
    found = claimed(CLAMP + said, Seen({1: Value("0", "0")}))
    assert [(c.kind, c.expected, c.focus.source) for c in found] == [
        ("equals", "9", "clamp(10, 0, 9)")
    ]


def test_an_expected_value_may_hold_commas() -> None:
    for said in ("`['a', 'b.5']`, in two.", "['a', 'b.5']."):
        text = f"split\n\n>>> split('a b.5')\n['a b', '.5']\n\nExpected: {said}"
        (claim,) = claimed(text, Seen({0: Value("['a b', '.5']", "['a b', '.5']")}))
        assert claim.expected == "['a', 'b.5']"


def test_the_expected_value_needs_the_wrong_one() -> None:
    assert claimed(CLAMP + "I expected 9.", Seen({1: Value("4", "4")})) == []
    assert claimed(CLAMP + "I expected 9.", Seen({1: Value("9", "9")})) == []


def test_a_value_belongs_to_the_expression_of_its_sentence() -> None:
    seen = Seen({1: Value("0", "0")})
    assert [one.expected for one in claimed(CLAMP + "Strange. I expected 9.", seen)] == ["9"]
    assert claimed(CLAMP + "I called `mix(1, 2)`, too, and expected 9.", seen) == []


def test_a_comment_tells_the_expected_value() -> None:
    text = "bytes\n```python\nr = f(b'a')\nr.content\n# b'<memory>'\n# I am expecting b'a'\n```\n"
    found = claimed(text, Seen({1: Value("b'<memory>'", "b'<memory>'")}))
    assert [(c.kind, c.expected) for c in found] == [("equals", "b'a'")]


@pytest.mark.parametrize(
    "comment", ["should be 0", "expected 0", "4, should be 0", "=> 0 expected"]
)
def test_a_comment_in_a_session_tells_it_too(comment: str) -> None:
    text = f"total\n\n>>> from shop import total\n>>> total([4])  # {comment}\n4\n"
    (claim,) = claimed(text, Seen({1: Value("4", "4")}))
    assert (claim.kind, claim.expected) == ("equals", "0")


@pytest.mark.parametrize(("value", "actual", "kinds"), [
    ("'abc...'", "'abcdef...'", ["equals"]),
    ("[1, 2, ...]", "[3, 4]", []),
])  # fmt: skip
def test_dots_stand_for_themselves_where_the_value_has_them(
    value: str, actual: str, kinds: list[str]
) -> None:
    text = f"cut\n\n>>> cut('abcdefgh')\n{actual}\n\nExpected:\n```\n{value}\n```\n"
    found = claimed(text, Seen({0: Value(actual, actual.strip("'"))}))
    assert [(c.kind, c.expected) for c in found] == [(kind, value) for kind in kinds]


def test_what_could_not_be_read_is_said() -> None:
    pieces = read_issue_text(CLAMP + "It is expected to be sensible.\n")
    script = scripts(statements(pieces))[-1]
    assert "It is expected to be sensible." in why_nothing(pieces, script, Seen())[1]
    assert "this checkout gives 4" in why_nothing(pieces, script, Seen({1: Value("4", "4")}))[1]
    assert "raises KeyError: 'a'" in why_nothing(pieces, script, raising("KeyError", "'a'"))[1]


def test_the_output_of_another_version_is_the_expected_one() -> None:
    text = (
        "comma lost\n```python\nsource(f)\n```\n1.9 outputs\n```\n'return (1,)'\n```\n"
        "But 1.10 gives\n```\n'return (1)'\n```\n"
    )
    found = claimed(text, Seen({0: Value("'return (1)'", "return (1)")}))
    assert [(c.kind, c.expected) for c in found] == [("equals", "'return (1,)'")]


def test_a_wrong_boolean_is_turned() -> None:
    text = "is_even is wrong\n\n>>> is_even(2)\nFalse\n\nThat is incorrect.\n"
    (claim,) = claimed(text, Seen({0: Value("False", "False")}))
    assert (claim.kind, claim.expected) == ("equals", "True")


def test_only_what_the_focus_rests_on_is_kept() -> None:
    text = (
        "x\n```python\nimport os\na = old()\na = make()\nb = make()\na.add(1)\nb.add(2)\nprint(a)\n"
        "a.total()\n```\nValueError: bad\n"
    )
    (claim,) = claimed(text, raising("ValueError", "bad", statement=7))
    assert [row.source for row in claim.setup] == ["a = make()", "a.add(1)"]


def test_a_slug_is_compared_as_the_text_that_it_is() -> None:
    text = (
        "Strip dashes\nExample:\nimport f\nf('--a')\noutput: --a\nImprovement after correction\n"
        "import f\nf('--a')\noutput: a\n"
    )
    found = claimed_together(text, Seen({1: Value("'--a'", "--a"), 3: Value("'--a'", "--a")}))
    assert [(c.kind, c.expected) for c in found] == [("equals", "'a'")]


def test_a_comment_tells_which_line_fails() -> None:
    seen = Seen(raised=ScriptError(1, "shop.DoesNotExist", "no", True, "order.save()  # Fails"))
    text = "Saving\n```python\norder = Order()\norder.save()  # Fails\n```\n"
    (claim,) = claimed(text, seen)
    assert (claim.kind, claim.failure, claim.confidence) == ("runs", "shop.DoesNotExist", 0.6)


def test_an_assertion_of_the_example_that_fails_is_the_test() -> None:
    text = "Sums\n```python\nfrom shop import total\nassert total([1]) == 1\n```\n"
    (claim,) = claimed(text, raising("AssertionError", inside=False))
    assert (claim.kind, claim.focus.source) == ("runs", "assert total([1]) == 1")
    assert claimed(CRASH.replace("fails", "is 3"), raising("AssertionError")) == []


def test_a_lazy_value_is_shown_as_it_was_when_it_failed() -> None:
    seen = Seen(raised=ScriptError(1, "ValueError", "no rows", True, form="repr"))
    (claim,) = claimed(CRASH + "ValueError: no rows\n", seen)
    draft = write.tested(claim, "a", (), write.Style())
    assert draft.body == ("from shop import total", "repr(total([]))")
    eager = replace(claim, form="")
    assert write.tested(eager, "a", (), write.Style()).body[-1] == "total([])"


def test_an_expression_of_a_changed_variable_is_another_one() -> None:
    text = "years\n>>> d = day(4)\n>>> show(d)\n'4'\n>>> d = day(98)\n>>> show(d)\n'98'\n"
    seen = Seen({1: Value("'4'", "4"), 3: Value("'98'", "98")})
    assert claimed(text, seen) == []
    same = text.replace("day(98)", "day(4)").replace("d = day(4)", "pass", 2)
    assert [claim.expected for claim in claimed(same, seen)] == ["'98'", "'4'"]


def test_the_value_that_a_sentence_goes_on_with() -> None:
    text = "format\n>>> from shop import show\n>>> show(1)\n'1e-9'\n\nI would expect 0.00 for it.\n"
    (claim,) = claimed(text, Seen({1: Value("'1e-9'", "1e-9")}))
    assert (claim.kind, claim.expected) == ("equals", "'0.00'")


def test_only_the_last_example_is_what_should_raise() -> None:
    text = f"{CRASH}That is fine.\n```python\ntotal([None])\n```\nIt should raise a ValueError.\n"
    pieces = read_issue_text(text)
    made = scripts(statements(pieces))
    seen = Seen({1: Value("0", "0")})
    assert claims("Total", pieces, made[0], seen) == []
    assert [c.focus.source for c in claims("Total", pieces, made[1], seen)] == ["total([None])"]


@pytest.mark.parametrize(
    "said",
    [
        "Expected: `InvalidMetadata`",
        "## Expected\n\nInvalidMetadata",
        "**Expected result:** shop.errors.InvalidMetadata",
        "Expected behavior: an InvalidMetadata exception.",
    ],
)
def test_an_exception_that_is_expected_by_its_name_alone_is_demanded(said: str) -> None:
    """Such an issue was answered with a test that demands no exception at all."""
    text = f"{CRASH}It raises ValueError: no rows\n\n{said}\n"
    assert claimed(text, raising("ValueError", "no rows")) == []


@pytest.mark.parametrize(
    ("said", "kinds"),
    [
        ("- **Expected:** `total([])` raises a `ShopError` at once.", []),
        ("It should already raise when it is made.", []),
        ("## Expected\n\nThe call raises at once.", []),
        ("I did not expect that it raises.", ["runs"]),
        ("It should not raise.", ["runs"]),
        ("Expected no exception to be raised.", ["runs"]),
        ("Expected: []\nActual: raises ValueError", ["equals", "runs"]),
        ("It should be `none`.", ["equals", "runs"]),
        ("It should be `len`.", ["runs"]),
        ("Expected: a list\n\nExpected behavior: Nothing is wrong", ["runs"]),
    ],
)
def test_where_something_should_raise_nobody_knows_where(said: str, kinds: list[str]) -> None:
    text = f"{CRASH}ValueError: no rows\n\n{said}\n"
    assert [c.kind for c in claimed(text, raising("ValueError", "no rows"))] == kinds


@pytest.mark.parametrize(
    ("comment", "kinds"),
    [
        ("fails", ["runs"]),
        ("ValueError: no rows", ["runs"]),
        ("KeyError: 'x'", []),
        ("should raise a ValueError", []),
        ("fine", []),
    ],
)
def test_a_comment_beside_a_value_that_is_looked_at(comment: str, kinds: list[str]) -> None:
    """The probe shows the expression without its comment: the comment is the statement's."""
    text = f"Total of nothing\n```python\nfrom shop import total\ntotal([])  # {comment}\n```\n"
    assert [claim.kind for claim in claimed(text, raising("ValueError", "no rows"))] == kinds


def test_code_that_prints_nothing_shows_no_value() -> None:
    """A logger's handler has an id; what is shown below is what was logged."""
    text = (
        "Times are wrong\n```python\nfrom shop import log\nlog.info('x')\nlog.add('y')\nprint(1)\n"
        "```\nExpected output:\n```\n3\n```\n"
    )
    seen = Seen({1: Value("2", "2"), 2: Value("2", "2"), 3: Value("1", "1")})
    assert [claim.focus.source for claim in claimed(text, seen)] == ["print(1)"]
    quiet = text.replace("print(1)\n", "x = 1\n")
    assert claimed(quiet, Seen({1: Value("2", "2"), 2: Value("2", "2")})) == []


def test_what_is_another_value_in_another_run_is_no_evidence() -> None:
    first = Seen({1: Value("1", "1"), 2: Value("7", "7")})
    assert first.agreeing(Seen({1: Value("2", "2"), 2: Value("7", "7")})).values.keys() == {2}
    assert first.agreeing(Seen({2: Value("7", "7")})) == first
    assert first.agreeing(None) == first
