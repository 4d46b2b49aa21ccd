"""Which mutants a function has, and which of them are drawn."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from textwrap import dedent

import pytest

from refute.diffing.definitions import definitions
from refute.diffing.modules import Module
from refute.hardening.mutants import PER_LINE, Edit, Mutant, mutants_of, sampled
from refute.source.syntax import parse_module


def mutants(code: str, lines: frozenset[int] | None = None) -> list[Mutant]:
    text = dedent(code).lstrip("\n")
    module = Module("m.py", "m", text, definitions(parse_module(text), text), {}, ())
    return [one for d in module.found.functions.values() for one in mutants_of(module, d, lines)]


def shown(body: str) -> dict[str, set[str]]:
    """Operator -> the statement as its mutants have it."""
    found: dict[str, set[str]] = {}
    for one in mutants(f"def f(a, b):\n    {body}\n"):
        found.setdefault(one.edit.operator, set()).add(one.shown[1])
    return found


@pytest.mark.parametrize(
    ("body", "operator", "expected"),
    [
        ("return a < b", "ROR", {"return a <= b", "return a >= b"}),
        ("return a not  in b", "ROR", {"return a in b"}),
        ("return (a)  -  (b)", "AOR", {"return a + b"}),
        ("return a ** b", "AOR", {"return a * b"}),
        ("return a and b", "LCR", {"return a or b"}),
        ("return not a", "COD", {"return a"}),
        ("return -a", "AOD", {"return a"}),
        ("return 3", "CRP", {"return 4", "return 2"}),
        ("return 'é' if a else b", "CRP", {"return 'éx' if a else b"}),
        ("return a[1:b]", "SIR", {"return a[:b]", "return a[1:]"}),
        ("a += b", "ASR", {"a -= b"}),
        ("a.append(b)", "SDL", {"pass"}),
        ("return a", "RVR", {"return None"}),
    ],
)
def test_operators(body: str, operator: str, expected: set[str]) -> None:
    assert shown(body)[operator] == expected


@pytest.mark.parametrize(
    "body",
    ['"""Says 3 < 4."""', "log.warning('a', 3)", "a: int = b", "return f'{3}'[a]", "return None"],
)
def test_words_are_no_code(body: str) -> None:
    assert not {"CRP", "ROR", "AOR", "SDL"} & shown(body).keys()


def test_nothing_is_subtracted_from_a_text() -> None:
    assert "AOR" not in shown("return a + 'x'")


def test_an_exception_may_go_but_its_words_stay() -> None:
    assert shown("raise ValueError('no ' + str(3))") == {"SDL": {"pass"}}


NESTED = """
class Cart:
    def total(self, items, tax=0.2):
        found = [
            one.price * (1 + tax)  # with tax
            for one in items
            if one.price > 0
        ]
        while True:
            try:
                value = int(
                    self.text
                )
            except ValueError:
                value = 0
            if (value
                    and found):
                break
        return sum(found)
"""


def test_lines_stay_where_they_are_and_everything_parses() -> None:
    found = mutants(NESTED)
    assert {one.edit.operator for one in found} >= {"ROR", "CRP", "BCR", "EHD", "LCR", "COI", "RVR"}
    for one in found:
        parse_module(one.text)
        assert one.text.count("\n") == one.module.text.count("\n")
        changed = zip(one.module.text.split("\n"), one.text.split("\n"), strict=True)
        assert next(n for n, (a, b) in enumerate(changed, 1) if a != b) == one.line
        assert one.edit.reached_by[0] <= one.line


def test_no_line_takes_all_of_the_budget() -> None:
    code = (
        "def f(a):\n    if 1 < a < 2 or 3 < a < 4 or 5 < a < 6:\n        return 1\n    return a\n"
    )
    found = sampled(mutants(code), 1000, seed=3)
    lines = [one.line for one in found]
    assert max(map(lines.count, lines)) == PER_LINE
    assert set(lines[:3]) == {2, 3, 4}  # each line once before any comes again
    first_two = [one.edit.operator for one in found if one.line == 3][:2]
    assert len(set(first_two)) == 2
    again = sampled(mutants(code), 1000, seed=3)
    assert [one.text for one in again] == [one.text for one in found]


def test_a_mutant_is_compared_where_it_differs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of 200 mutants was compared with all of a function of 1,200 branches: 27 s."""
    branches = "".join(f"    if n > {i}:\n        n = n + {i}\n" for i in range(300))
    found = mutants(f"def f(n):\n{branches}    return n\n")
    seen = 0
    fields = ast.iter_fields

    def counted(node: ast.AST) -> Iterator[tuple[str, object]]:
        nonlocal seen
        seen += 1
        return fields(node)

    monkeypatch.setattr("refute.hardening.mutants.ast.iter_fields", counted)
    assert len(sampled(found, 50, seed=1)) == 50
    assert seen < 50 * 100


def test_no_mutant_is_drawn_when_the_time_is_up() -> None:
    assert sampled(mutants(NESTED), 10, seed=1, end=0.0) == []


@pytest.mark.parametrize(
    "old", ["    return (a)\n", "    x = 1; return (a)\n", "    if (a): pass\n"]
)
def test_what_says_the_same_is_no_mutant(old: str) -> None:
    text = f"def f(a):\n{old}"
    module = Module("m.py", "m", text, definitions(parse_module(text), text), {}, ())
    node = module.found.functions["f"].nodes[0]
    start = module.text.rindex("(a)")
    same, other = (Edit("X", start, start + 3, new, 2, (2, 2)) for new in (b" a ", b" 1 "))
    assert sampled([Mutant(module, "f", node, same)], 1, seed=1) == []
    assert len(sampled([Mutant(module, "f", node, other)], 1, seed=1)) == 1
