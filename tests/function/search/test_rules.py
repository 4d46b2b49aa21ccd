"""Each rule makes its own examples right."""

from __future__ import annotations

import ast

import pytest

from refute.function.search.edit import applied, same
from refute.function.search.facts import gather, vocabulary
from refute.function.search.fuel import fuelled, stripped
from refute.function.search.mutants import singles
from refute.function.search.rules import RULES

DESCRIPTION = "True for a multiple of seven, on a Sunday, or 'ok'."
MORE = [
    ("variable", "try:\n    a()\nexcept b:\n    pass", "try:\n    a()\nexcept items:\n    pass"),
    ("variable", "with a:\n    return b", "with items:\n    return b"),
    ("delete", "try:\n    a()\nexcept b:\n    a = 1\n    return a",
     "try:\n    a()\nexcept b:\n    return a"),
    ("dedent", "if a:\n    b = 1\nelif b:\n    b = 2\nelse:\n    b = 3\n    return b",
     "if a:\n    b = 1\nelif b:\n    b = 2\nelse:\n    b = 3\nreturn b"),
]  # fmt: skip
"""Places that the rules' own examples do not have."""
CASES = [(kind, *pair) for kind, rule in RULES.items() for pair in rule.examples] + MORE


def program(body: str) -> ast.Module:
    lines = "\n".join("    " + line for line in body.splitlines())
    rest = "def g(a):\n    if g(a):\n        a.close()\n    return a\n"
    return ast.parse(f"def f(a, b, items):\n{lines}\n\n{rest}")


@pytest.mark.parametrize(("kind", "faulty", "right"), CASES, ids=[c[0] for c in CASES])
def test_the_rule_makes_its_example_right(kind: str, faulty: str, right: str) -> None:
    tree = fuelled(program(faulty))
    wanted = program(right)
    found = []
    facts = gather(tree, DESCRIPTION, around=vocabulary(tree, "f"))
    for edit in singles(tree, facts, lambda stmts: 0.0):
        if edit.kind == kind:
            with applied([edit]):
                found.append(stripped(tree))
    assert any(same(new, wanted) for new in found), [ast.unparse(new) for new in found][:20]


def test_edits_are_undone_and_every_kind_has_a_weight() -> None:
    tree = fuelled(
        program("x = 0\nfor i in items:\n    if i > a and i != b:\n        x += i\nreturn x")
    )
    before = ast.dump(tree)
    edits = singles(tree, gather(tree, "at most 3 'items'"), lambda stmts: 0.0)
    for edit in edits:
        with applied([edit]):
            pass
    assert ast.dump(tree) == before
    assert {edit.kind for edit in edits} <= set(RULES)
    weights = [edit.weight for edit in edits]
    assert weights == sorted(weights, reverse=True)


def test_statements_that_no_failing_test_reaches_are_left_alone() -> None:
    tree = fuelled(program("if a:\n    return 1\nreturn 2"))
    last = tree.body[0].body[-1]  # type: ignore[attr-defined]
    edits = singles(tree, gather(tree, ""), lambda stmts: 0.0 if last in stmts else None)
    assert edits
    assert all(last in edit.stmts for edit in edits)
