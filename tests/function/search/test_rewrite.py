"""A fix is written into the user's own text: nothing else of it changes."""

from __future__ import annotations

import ast
import difflib
import random
import sysconfig
from pathlib import Path

import pytest

from refute.function.search.edit import applied, same
from refute.function.search.facts import gather
from refute.function.search.fuel import fuelled, stripped
from refute.function.search.mutants import singles
from refute.function.search.rewrite import rewrite

SOURCE = '''\
# The module's comment.
import  math


def mean(items,   *, start = 0):  # odd spacing
    """Say 'hello'."""
    total = start   # where we begin
    for x in items:   # each
        if (x < 0  and
                x != -1):
            continue  # skip
        elif x == 99: total += 2
        total = total+x   # accumulate


    names = { 'a' : 1,
              'b' : 2 }   # aligned
    return ( total / len( items ) )
'''


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("total+x", "total-x"),
        ("x < 0 ", "x <= 0 "),
        ("total = start ", "total = abs(start) "),
        ("            continue  # skip", "            break  # skip"),
        ("start = 0)", "start = 1)"),
    ],
)
def test_only_the_changed_part_is_written_anew(old: str, new: str) -> None:
    wanted = SOURCE.replace(old, new)
    assert wanted != SOURCE
    assert rewrite(SOURCE, ast.parse(wanted)) == wanted


def test_a_statement_is_inserted_deleted_and_moved_by_whole_lines() -> None:
    tree = ast.parse(SOURCE)
    loop = tree.body[1].body[2]  # type: ignore[attr-defined]
    extra = ast.parse("count = 1").body
    loop.body.append(extra[0])
    text = rewrite(SOURCE, tree)
    assert text == SOURCE.replace("# accumulate\n", "# accumulate\n        count = 1\n")
    assert rewrite(text, ast.parse(SOURCE)) == SOURCE


def test_kept_statements_keep_their_words_in_a_new_block() -> None:
    source = "def f(a):\n    while a:\n        a -= 1   # down\n    return a\n"
    wanted = (
        "def f(a):\n    while a:\n        if a > 3:\n            a -= 1   # down\n    return a\n"
    )
    assert rewrite(source, ast.parse(wanted)) == wanted


def test_columns_are_counted_in_characters() -> None:
    source = "def f(a):\n    return 'äöü→', a  # é\n"
    wanted = "def f(a):\n    return 'äöü→', a + 1  # é\n"
    assert rewrite(source, ast.parse(wanted)) == wanted


def test_parentheses_are_added_where_the_meaning_needs_them() -> None:
    source = "def f(a, b):\n    return a * b\n"
    tree = ast.parse("def f(a, b):\n    return (a + 1) * b\n")
    assert same(ast.parse(rewrite(source, tree)), tree)
    assert rewrite(source, tree) == "def f(a, b):\n    return (a + 1) * b\n"


@pytest.mark.parametrize("name", ["bisect.py", "hmac.py"])
def test_random_edits_of_real_files_change_few_lines(name: str) -> None:
    source = (Path(sysconfig.get_path("stdlib")) / name).read_text()
    tree = fuelled(ast.parse(source))
    edits = singles(tree, gather(tree, ""), lambda stmts: 0.0)
    sizes = []
    for edit in random.Random(name).sample(edits, 10):
        with applied([edit]):
            new = stripped(tree)
        if not same(ast.parse(ast.unparse(new)), new):
            continue  # not a tree that any source text has, such as a swapped starred argument
        text = rewrite(source, new)
        assert same(ast.parse(text), new), edit.kind
        lines = difflib.unified_diff(source.splitlines(), text.splitlines(), n=0, lineterm="")
        sizes.append(sum(line[0] in "+-" for line in lines) - 2)
    assert sorted(sizes)[len(sizes) // 2] <= 2, "half of the edits change one line"
    assert sorted(sizes)[-2] < len(source.splitlines()) / 3  # a block that moves moves whole
