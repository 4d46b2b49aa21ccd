"""Issues' texts to pieces: fenced and unfenced code, sessions, tracebacks, prose."""

from __future__ import annotations

import time

import pytest

from refute.issue.snippet.issue_reader import (
    ShownError,
    read_issue_text,
    with_inline_code,
)
from refute.issue.snippet.script import scripts, statements

FENCED = """Product of nothing

```python
from shop import total
total([])
```
fails:
```
Traceback (most recent call last):
  File "/usr/lib/python3/site-packages/shop/sums.py", line 3, in total
    return max(rows)
ValueError: max() arg is an empty sequence
```
"""

TRAC = """Q(...) & Exists(...) raises a TypeError
Description
\t
Exists(...) & Q(...) works, but Q(...) & Exists(...) raise a TypeError
Here's a minimal example:
class Product(models.Model):
\tname = models.CharField(max_length=3)
\tdef __str__(self):
\t\treturn self.name
In [3]: Exists(Product.objects.all()) & Q()
Out[3]: <Q: (AND: 1)>
In [4]: Q() & Exists(Product.objects.all())
---------------------------------------------------------------------------
TypeError\t\t\t\t\t\t\t\t Traceback (most recent call last)
<ipython-input-4-21d3dea0fcb9> in <module>
----> 1 Q() & Exists(Product.objects.all())
TypeError: <django.db.models.expressions.Exists object at 0x7fc18dd21400>
The & (and |) operators should be commutative on Q-Exists pairs, but it's not
I think there's a missing definition of __rand__ somewhere.
"""


def kinds(text: str) -> list[str]:
    return [piece.kind for piece in read_issue_text(text)]


def test_fenced_code_and_its_traceback() -> None:
    pieces = read_issue_text(FENCED)
    assert [p.kind for p in pieces] == ["prose", "code", "prose", "output"]
    assert pieces[1].language == "python"
    assert pieces[1].text == "from shop import total\ntotal([])"
    assert pieces[3].errors == (ShownError("ValueError", "max() arg is an empty sequence"),)


def test_code_and_sessions_without_fences_or_blank_lines() -> None:
    pieces = read_issue_text(TRAC)
    assert [p.kind for p in pieces] == ["prose", "code", "session", "prose"]
    assert pieces[1].text.startswith("class Product")
    assert pieces[1].text.endswith("self.name")
    first, second = pieces[2].steps
    assert first.source == "Exists(Product.objects.all()) & Q()"
    assert first.output == "<Q: (AND: 1)>"
    assert second.source == "Q() & Exists(Product.objects.all())"
    assert [error.type for error in pieces[2].errors] == ["TypeError"]
    assert "commutative" in pieces[3].text


@pytest.mark.parametrize(
    "text",
    ["Hello,", "Example:", "version: 3", "it fails", "Thanks", "See also this", "", "```\n", "~~~"],
)
def test_words_are_no_code(text: str) -> None:
    assert "code" not in kinds(text)


def test_scripts_join_the_earlier_pieces_and_stand_alone() -> None:
    text = "```python\nx = 1\n```\nthen\n```python\ny = x + 1\nprint(y)  # 3\n```\n"
    made = scripts(statements(read_issue_text(text)))
    assert [one.pieces for one in made] == [(0,), (0, 2), (2,)]
    assert [row.source for row in made[1].statements] == ["x = 1", "y = x + 1", "print(y)  # 3"]
    assert made[1].statements[2].comment == "3"
    assert made[1].statements[2].printed
    assert made[1].statements[2].value_source == "y"
    assert made[2].missing() == {"x"}


def test_what_waits_or_leaves_is_never_run() -> None:
    for code in ("app.run()", "x = input('?')", "breakpoint()", "return 3", "await f()"):
        assert scripts(statements(read_issue_text(f"```python\nimport a\n{code}\n```\n"))) == ()


def test_the_main_part_is_run_and_the_set_up_is_not() -> None:
    code = "import os\nos.environ['A'] = 'b'\nif __name__ == '__main__':\n    f(1)\n"
    (made,) = scripts(statements(read_issue_text(f"```python\n{code}```\n")))
    assert [row.source for row in made.statements] == ["import os", "f(1)"]


def test_a_hostile_issue_ends_soon() -> None:
    text = "x = (\n" * 3000 + "f(" * 5000 + "```" * 500 + ">>> " * 1000 + "\n>>> [" * 2000
    start = time.process_time()
    read_issue_text(text)
    assert time.process_time() - start < 30


def inline(text: str) -> list[tuple[str, str]]:
    pieces = with_inline_code(read_issue_text(text))
    return [(s.source, s.output) for piece in pieces for s in piece.steps]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Sums\n`total([1, 2])` returns `2`, not more.", [("total([1, 2])", "2")]),
        ("Sums\nWhen I write total([1, 2]), the value is 2.", [("total([1, 2])", "2")]),
        ("Sums\n`total([None])` raises TypeError.", [("total([None])", "TypeError")]),
        ("Sums\nI want\n`total([1])`\nto give `1` but get `0`.", [("total([1])", "0")]),
        ("Sums\n`total(...)` returns nothing, and `total()` is `0`.", []),
        ("Sums\n`total([1, 2])` has been there for long.", []),
        ("Sums\nValueError('no rows') is raised.", []),
        ("Sums\n`total([1, 2]` returns `2`, `a b` returns 3", []),
    ],
)
def test_code_in_a_sentence_with_what_it_gives(text: str, found: list[tuple[str, str]]) -> None:
    assert inline(text) == found


def test_a_split_sentence_keeps_all_its_words() -> None:
    text = "Sums\nHere `total([1])` returns `0`.\nKeyError: 'a'\n```python\ntotal([])\n```\n"
    pieces = with_inline_code(read_issue_text(text))
    assert [piece.kind for piece in pieces] == ["prose", "session", "prose", "code"]
    assert "".join(p.text for p in pieces if p.kind == "prose").startswith(
        "Sums\nHere `total([1])`"
    )
    assert pieces[2].errors == (ShownError("KeyError", "'a'"),)
