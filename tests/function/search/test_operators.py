"""Each kind of edit has a small program that it, and it alone here, turns into the right one."""

from __future__ import annotations

import ast

import pytest

from refute.function.search.edit import applied, same
from refute.function.search.facts import gather
from refute.function.search.fuel import fuelled, stripped
from refute.function.search.mutants import singles
from refute.function.search.prior import WEIGHTS

# kind, faulty body, right body; a body is that of `def f(a, b, items)`.
CASES = [
    ("compare", "return a < b", "return a <= b"),
    ("arithmetic", "return a - b", "return a % b"),
    ("boolean", "return a > 1 and b > 1", "return a > 1 or b > 1"),
    ("augmented", "a -= b\nreturn a", "a += b\nreturn a"),
    ("swap operands", "return a - b", "return b - a"),
    ("negate", "if any(items):\n    return 1", "if not any(items):\n    return 1"),
    ("drop not", "return not a", "return a"),
    ("drop minus", "return -a", "return a"),
    ("parentheses", "return a + b * 2", "return (a + b) * 2"),
    ("constant step", "return items[1]", "return items[2]"),
    ("constant drawn", "return a + 7 + 20", "return a + 7 + 7"),
    ("constant far", "return a * 5", "return a * -5"),
    ("constant type", "x = 0\nreturn x", "x = ''\nreturn x"),
    ("initial infinite", "x = 0\nreturn min(x, a)", "x = float('inf')\nreturn min(x, a)"),
    ("initial first", "x = 0\nreturn max(x, b)", "x = items[0]\nreturn max(x, b)"),
    ("flip bool", "return True", "return False"),
    ("none to value", "return None", "return 0"),
    ("string space", "return ' '.join(items)", "return ''.join(items)"),
    ("string pair", "return a == '('", "return a == ')'"),
    ("string case", "return 'ab' + a", "return 'AB' + a"),
    ("string drop char", "return a in 'aeiouy'", "return a in 'aeiou'"),
    ("string common", "return a + ','", "return a + ', '"),
    ("string edit", "return a * 'x'", "return a * 'xx'"),
    ("string to name", "return len('items')", "return len(items)"),
    ("variable", "return a + a", "return a + b"),
    ("variable to length", "return sum(items) / a", "return sum(items) / len(items)"),
    ("assign other", "n = m = 0\nn = a\nreturn n + m", "n = m = 0\nm = a\nreturn n + m"),
    ("variable to constant", "return a % b", "return a % 2"),
    ("constant to variable", "return a % 2", "return a % b"),
    ("constant to length", "return a % 2", "return a % len(items)"),
    ("expression to variable", "return max(items)", "return items"),
    ("drop operand", "return a + b + 1", "return a + b"),
    ("drop condition", "return a and b and items", "return a and items"),
    ("drop call", "return sorted(items)", "return items"),
    ("drop method", "return items.sort()", "return items"),
    ("drop argument", "return a.split(' ')", "return a.split()"),
    ("drop subscript", "return items[0]", "return items"),
    ("subscript to call", "return items[-1]", "return sum(items)"),
    ("drop comprehension", "return [x for x in items]", "return items"),
    ("drop element", "return a in (1, 2, 3)", "return a in (1, 3)"),
    ("swap elements", "return (a, b)", "return (b, a)"),
    ("swap branches", "return a if b else 0", "return 0 if b else a"),
    ("swap branches", "if a:\n    b = 1\nelse:\n    b = 2\nreturn b",
     "if a:\n    b = 2\nelse:\n    b = 1\nreturn b"),
    ("plus one", "return list(range(a))", "return list(range(a + 1))"),
    ("minus one", "return items[a]", "return items[a - 1]"),
    ("extend constant", "return a", "return a // 2"),
    ("extend name", "return a * a", "return a * a + b"),
    ("and atom", "if a > 1:\n    return b < 2\nreturn 3",
     "if a > 1 and b < 2:\n    return b < 2\nreturn 3"),
    ("or near atom", "return a + b == 3", "return a + b == 3 or a + a == 3"),
    ("wrap", "return a - b", "return abs(a - b)"),
    ("wrap method", "return str(a)", "return str(a).lower()"),
    ("wrap both", "return a == b", "return set(a) == set(b)"),
    ("apply twice", "return len(a)", "return len(len(a))"),
    ("slice", "return items", "return items[::-1]"),
    ("slice name", "return sum(items)", "return sum(items[:a])"),
    ("slice bound", "return items[1:]", "return items[:1]"),
    ("function", "return min(items)", "return max(items)"),
    ("method", "return a.upper()", "return a.lower()"),
    ("swap arguments", "return divmod(a, b)", "return divmod(b, a)"),
    ("reverse", "return sorted(items)", "return sorted(items, reverse=True)"),
    ("sort key", "return sorted(items)", "return sorted(items, key=len)"),
    ("start", "return list(enumerate(items))", "return list(enumerate(items, 1))"),
    ("range start", "return list(range(a))", "return list(range(1, a + 1))"),
    ("range step", "return list(range(a, b))", "return list(range(a, b, 2))"),
    ("strip to replace", "return a.strip()", "return a.replace(' ', '')"),
    ("delete", "items.sort()\nreturn items", "return items"),
    ("reorder", "a += 1\nb += a\nreturn b", "b += a\na += 1\nreturn b"),
    ("dedent", "for x in items:\n    a += x\n    return a",
     "for x in items:\n    a += x\nreturn a"),
    ("indent", "for x in items:\n    a += x\nb += 1\nreturn b",
     "for x in items:\n    a += x\n    b += 1\nreturn b"),
    ("into loop", "n = 0\nfor x in items:\n    n += x\nreturn n",
     "for x in items:\n    n = 0\n    n += x\nreturn n"),
    ("unguard", "if a:\n    b = 1\nreturn b", "b = 1\nreturn b"),
    ("elif to if", "if a:\n    b = 1\nelif b:\n    b = 2\nreturn b",
     "if a:\n    b = 1\nif b:\n    b = 2\nreturn b"),
    ("break", "for x in items:\n    if x:\n        break\nreturn a",
     "for x in items:\n    if x:\n        continue\nreturn a"),
    ("augmented to plain", "a += b\nreturn a", "a = b\nreturn a"),
    ("plain to augmented", "n = 0\nfor x in items:\n    n = x\nreturn n",
     "n = 0\nfor x in items:\n    n += x\nreturn n"),
    ("prepend", "r = ''\nfor x in items:\n    r += x\nreturn r",
     "r = ''\nfor x in items:\n    r = x + r\nreturn r"),
    ("swap returns", "if a:\n    return True\nreturn False",
     "if a:\n    return False\nreturn True"),
    ("missing return", "len(items)", "return len(items)"),
    ("guard", "n = 0\nfor x in items:\n    n += x\nreturn n",
     "n = 0\nfor x in items:\n    if x > 0:\n        n += x\nreturn n"),
    ("insert update", "while a > 0:\n    b += 1\nreturn b",
     "while a > 0:\n    b += 1\n    a -= 1\nreturn b"),
    ("clamp", "n = 0\nfor x in items:\n    n += x\n    b = n\nreturn b",
     "n = 0\nfor x in items:\n    n += x\n    n = max(n, 0)\n    b = n\nreturn b"),
    ("count all", "n = 0\nfor x in a:\n    n += 1\nreturn n",
     "n = 0\nfor x in a:\n    n += items.count(x)\nreturn n"),
    ("early return", "return items[0]", "if not items:\n    return None\nreturn items[0]"),
    ("drop check", "if not items:\n    raise ValueError('none')\nreturn items", "return items"),
    ("copy first", "for x in items:\n    items.remove(x)\nreturn items",
     "for x in list(items):\n    items.remove(x)\nreturn items"),
    ("signed digits", "return a.isdigit()", "return a.lstrip('-').isdigit()"),
    ("exact division", "return int(a / b)", "return a // b"),
    ("exact numbers", "return np.prod(items)", "return np.prod(items, dtype=object)"),
    ("sum digits", "return int(a)", "return sum(map(int, a))"),
    ("shortest", "return [a[i] + b[i] for i in range(len(a))]",
     "return [a[i] + b[i] for i in range(min(len(a), len(b)))]"),
    ("pattern", "return re.search('^a+$', b)", "return re.search('^a*$', b)"),
    ("pattern", "return re.search('^a+$', b)", "return re.search('a+', b)"),
    ("pattern", "x = '[a-z]+@'\nreturn re.findall(x, b)",
     "x = '[a-zA-Z]+@'\nreturn re.findall(x, b)"),
    ("normalise", "return a in items", "a = a.lower()\nreturn a in items"),
    ("normalise", "return a + b",
     "a = sorted(a)\nb = sorted(b)\nitems = sorted(items)\nreturn a + b"),
    ("variable", "try:\n    a()\nexcept b:\n    pass", "try:\n    a()\nexcept items:\n    pass"),
    ("variable", "with a:\n    return b", "with items:\n    return b"),
    ("to none", "try:\n    a()\nexcept b:\n    b = True", "try:\n    a()\nexcept b:\n    b = None"),
    ("delete", "try:\n    a()\nexcept b:\n    a = 1\n    return a",
     "try:\n    a()\nexcept b:\n    return a"),
    ("dedent", "if a:\n    b = 1\nelif b:\n    b = 2\nelse:\n    b = 3\n    return b",
     "if a:\n    b = 1\nelif b:\n    b = 2\nelse:\n    b = 3\nreturn b"),
    ("final return", "if a < b:\n    return a", "if a < b:\n    return a\nreturn b"),
]  # fmt: skip


def program(body: str) -> ast.Module:
    lines = "\n".join("    " + line for line in body.splitlines())
    return ast.parse(f"def f(a, b, items):\n{lines}\n")


@pytest.mark.parametrize(("kind", "faulty", "right"), CASES, ids=[c[0] for c in CASES])
def test_the_operator_makes_the_edit(kind: str, faulty: str, right: str) -> None:
    tree = fuelled(program(faulty))
    wanted = program(right)
    found = []
    for edit in singles(tree, gather(tree, ""), lambda stmts: 0.0):
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
    assert {edit.kind for edit in edits} <= set(WEIGHTS)
    weights = [edit.weight for edit in edits]
    assert weights == sorted(weights, reverse=True)


def test_words_of_the_description_become_constants() -> None:
    tree = fuelled(program("return a % 3 == 0"))
    text = "True when a is a multiple of seven, spelled 'ok'."
    made = set()
    for edit in singles(tree, gather(tree, text), lambda stmts: 0.0):
        with applied([edit]):
            made.add(ast.unparse(stripped(tree)))
    assert any("a % 7 == 0" in one for one in made)


def test_statements_that_no_failing_test_reaches_are_left_alone() -> None:
    tree = fuelled(program("if a:\n    return 1\nreturn 2"))
    last = tree.body[0].body[-1]  # type: ignore[attr-defined]
    edits = singles(tree, gather(tree, ""), lambda stmts: 0.0 if last in stmts else None)
    assert edits
    assert all(last in edit.stmts for edit in edits)
