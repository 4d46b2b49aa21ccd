"""What the code around a function offers to it: calls, arguments, conditions, statements."""

from __future__ import annotations

import ast

from refute.function.search.edit import applied
from refute.function.search.facts import gather, vocabulary
from refute.function.search.fuel import fuelled, stripped
from refute.function.search.mutants import singles
from refute.function.search.rules.borrowing import MOST

AROUND = """\
from math import exp, floor as down
from pathlib import Path as Folder
import re

def clean(text, width=3):
    if not text:
        raise ValueError(text)
    text = text.casefold()
    word = re.escape(text)
    for mark in word:
        text = text.replace(mark, "")
    return text

def shown(values, limit, width):
    if isinstance(values, dict):
        values = list(values)
    count = len(values)
    if count > limit and callable(width):
        return clean(values, width=width)
    return [x for x in values if x]
"""


def module(body: str) -> ast.Module:
    lines = "\n".join("    " + line for line in body.splitlines())
    return ast.parse(f"{AROUND}\ndef f(text, limit, width):\n{lines}\n")


def edited(body: str, kind: str) -> list[ast.Module]:
    tree = fuelled(module(body))
    made = []
    for edit in singles(tree, gather(tree, "", (), vocabulary(tree, "f")), lambda stmts: 0.0):
        if edit.kind == kind:
            with applied([edit]):
                made.append(stripped(tree))
    return made


def test_a_piece_is_never_put_inside_of_itself() -> None:
    body = "if clean(text, width=clean(text)):\n    return text"
    for kind in ("add argument", "borrow condition", "wrap borrowed", "borrow statement"):
        for new in edited(body, kind):
            ast.unparse(new)  # which would not end


def test_a_long_function_is_not_filled_up() -> None:
    tree = fuelled(module("\n".join(f"text = text[{n}:]" for n in range(300))))
    every = singles(tree, gather(tree, "", (), vocabulary(tree, "f")), lambda stmts: 0.0)
    own = [edit for edit in every if edit.line > len(AROUND.splitlines())]
    count = sum(edit.kind == "borrow statement" for edit in own)
    assert 0 < count <= MOST
