"""The reader of answers: what counts as the call and the output, and what is hostile."""

from __future__ import annotations

import ast
import time

import pytest

from refute.function.llm.answers import read_output, read_test, source_text

T = "```"


@pytest.mark.parametrize(
    ("text", "call", "output"),
    [
        (f"Arguments: {T}f(1, 2){T}\n### Output\nIt adds.\nOutput: {T}3{T}", "f(1, 2)", "3"),
        ("Arguments: f(1, [2, 3])  # c\nOutput: [1, 2] # yes", "f(1, [2, 3])", "[1, 2]"),
        ("**Arguments:** `f(x=1)`\n**Output:** `None`", "f(x=1)", "None"),
        (
            f"Arguments:\n{T}python\nf(\n  [1,\n  2],  # don't\n)\n{T}\n"
            f"Output:\n{T}python\n[\n 1,\n]\n{T}",
            "f([1, 2])",
            "[1]",
        ),
        ("Arguments: 1, 'a'\nOutput: 'b'.", "f(1, 'a')", "'b'"),
        ("Arguments: x = 1, y = [2]\nOutput: 3 (because)", "f(x=1, y=[2])", "3"),
        ("Arguments:\nx = 1\ny = [2]\nOutput: The result is `4`", "f(x=1, y=[2])", "4"),
        ("Arguments: f('a)b(')\nOutput: result = 5", "f('a)b(')", "5"),
        ("Arguments: f(1)\n### Output\nadd\nOutput: 12\n\nThat is all.", "f(1)", "12"),
        ("Arguments: f(1)\nOutput: assert f(1) == 8", "f(1)", "8"),
        (f"Arguments: f(1)\nOutput: {T}3", "f(1)", "3"),
        # several blocks: the last call that can be read, and the output that follows it
        ("Arguments: f(1)\nOutput: 2\nArguments: f(2)\nOutput: 3", "f(2)", "3"),
        ("Arguments: f(1)\nOutput: 2\nArguments: f(<all>)\nOutput: 3", "f(1)", "2"),
        # assertions and doctests without labels
        (f"{T}\nassert f([1]) == [2]\nassert f(3) == 4\n{T}", "f(3)", "4"),
        (">>> f(1)\n2", "f(1)", "2"),
        ("I think f(3) should break it", "f(3)", None),
        # exceptions
        ("Arguments: f(1)\nOutput: raises ValueError", "f(1)", "!ValueError"),
        ("Arguments: f(1)\nOutput: It should raise a `KeyError`.", "f(1)", "!KeyError"),
        # reasoning
        ("<think>Arguments: f(9)\nOutput: 1</think>\nArguments: f(1)\nOutput: 3", "f(1)", "3"),
        ("<think>Arguments: f(9)\nOutput: 1", None, None),
        # nothing
        ("Arguments: f(<all arguments>)\nOutput: <your final answer>", None, None),
        ("Arguments: f(1)\nOutput: hello world", "f(1)", None),
        ("", None, None),
    ],
)
def test_call_and_output(text: str, call: str | None, output: str | None) -> None:
    said = read_test(text, "f")
    assert (None if said.call is None else ast.unparse(said.call)) == call
    if output is None or said.output is None:
        assert said.output is None
        assert output is None
    elif output.startswith("!"):
        assert said.output.raises == output[1:]
    else:
        assert said.output.node is not None
        assert ast.unparse(said.output.node) == output


def test_what_a_vote_continues_does_not_hold_the_output() -> None:
    labelled = read_test(f"Why.\nArguments: {T}f(1){T}\n\n### Output\nSo.\nOutput: {T}777{T}", "f")
    assert labelled.before_output.startswith("Why.")
    assert "777" not in labelled.before_output
    assert "So." not in labelled.before_output, "nor what leads to it"
    assert "777" not in read_test("assert f(1) == 777", "f").before_output


@pytest.mark.parametrize(
    ("text", "output"),
    [
        ("So.\nOutput: ```[1]```", "[1]"),
        ("The answer must be `(1, 2)`.", "(1, 2)"),
        ("Final answer: 'x'", "'x'"),
        ("Reasoning without end", None),
        ("Output: 1\nNo, wait.\nOutput: 2", "2"),
    ],
)
def test_an_answer_that_holds_an_output_only(text: str, output: str | None) -> None:
    written = read_output(text, "f")
    assert (None if written is None or not written.node else ast.unparse(written.node)) == output


@pytest.mark.parametrize(
    "text",
    [
        "f(" * 20_000, "`" * 50_000, "Output:" + " " * 90_000 + "x", "Arguments: " * 8_000,
        "f(1,\n" * 15_000, "a." * 40_000 + "f(", "Output: " + "(" * 90_000,
        "Arguments: f(" + "[" * 90_000, "` `` " * 18_000 + "`", "Output: 9" + "9" * 90_000,
        "# " * 45_000, "Output: " + "-" * 90_000 + "1", "Output: 1" + "+1" * 40_000,
        "Arguments: f(1)\n" * 6_000, "\x00\ud800 f(\ud800)", "Arguments: f('\ud800')",
        "Output: " + " #" * 40_000, "raises " * 12_000,
    ],
)  # fmt: skip
def test_hostile_answers_take_no_time_and_raise_nothing(text: str) -> None:
    start = time.process_time()
    said = read_test(text, "f")
    written = read_output(text, "f")
    nodes = [said.call, *(one.node for one in (said.output, written) if one is not None)]
    for node in nodes:
        if node is not None:
            source_text(node)
    assert time.process_time() - start < 30  # CPU time; quadratic readers took minutes
