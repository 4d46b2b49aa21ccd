"""The values that an issue says an expression should have had.

Each needs two things of the issue: that the actual value is the one it complains of, and another in
its place, in a comment, an output, or words.

Also: the statements of a script that one of them rests on.
"""

from __future__ import annotations

import ast
import difflib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from refute.issue.snippet.evidence import Seen, Value
from refute.issue.snippet.inline_code import inline_expressions
from refute.issue.snippet.issue_reader import Piece
from refute.issue.snippet.script import Script, Statement, bound_names, missing_names
from refute.source.literals import NotLiteral, parse_literal

_EXPECTED = re.compile(
    r"\b(expect\w*|should(?:n't)?|correct\w*|desired?|ought|supposed|want\w*|proper\w*)\b", re.I
)
_WRONG = re.compile(
    r"\b(actual\w*|got|wrong\w*|incorrect\w*|instead|currently|bug|but|unexpected\w*|however|"
    r"broken|fails?)\b",
    re.I,
)
_STATED = re.compile(
    r"(?:\bexpected(?: (?:output|result|value|behaviou?r))?(?: is| was| to be)?"
    r"|\bshould (?:be|return|give|print|output|equal|yield|produce|have been|evaluate to)"
    r"|\bto (?:be|give|return|yield|produce|equal)(?=\s*`)"
    r"|\binstead of|\brather than|\bexpecting|\bwould expect(?: it to (?:be|return))?)"
    r"\s*:?\s+`{0,3}([^\n]+)",
    re.I,
)
_UNEQUAL = re.compile(
    r"\bshould(?:n't| not) (?:be|compare|evaluate)(?: as| to)? (?:equal|the same)|\bnot be equal",
    re.I,
)
_EQUAL = re.compile(
    r"\bshould (?:be|compare|evaluate)(?: as| to)? (?:equal|the same)|\bnot (?:compare )?equal\b",
    re.I,
)
_LITERAL = re.compile(
    r"(?:'[^'\n]*'|\"[^\"\n]*\"|-?\d+(?:\.\d+)?|None|True|False)"
    r"(?= (?:for|in|as|instead|rather|but|and|since|because|here|there)\b)"
)
"""A value with which a sentence goes on."""


@dataclass(frozen=True, slots=True)
class ExpectedText:
    """An expected output as text."""

    text: str
    confidence: float
    why: str
    sure: bool = False
    """It belongs to this expression, however unlike the actual value it is."""


def expectations(
    title: str, pieces: Sequence[Piece], script: Script, seen: Seen, index: int
) -> Iterator[ExpectedText]:
    """What one expression of the script should have been."""
    row, actual = script.statements[index], seen.values[index]
    stated = _STATED.search(row.comment) or re.search(r"(?i)\bexpected:?\s*(.+)", row.comment)
    if stated is not None:
        why = "a comment of the example says what it should be"
        yield ExpectedText(_clean(stated[1]), 0.7, why, True)
    reproduced = shows(row.shown, actual) or shows(row.comment, actual)
    for other, value in _others(script, index):
        if reproduced and not shows(value, actual) and other:
            why = "the same expression is shown with another value as well"
            yield ExpectedText(value, 0.7, why, True)
    nearby = _until_next_code(pieces, row.piece)
    outputs = [place for place in nearby if pieces[place].kind == "output"]
    if any(shows(pieces[place].text, actual) for place in outputs):
        reproduced = True
    last = _has_the_output(pieces, script, seen, index)
    if last and len(_printing(script, seen)) > 1:
        yield from _of_lines(pieces, outputs, script, seen, index)
        last = False
    for place in outputs if last else []:
        said = _lead(pieces, place)
        output = pieces[place].text.strip("\n")
        if pieces[place].errors or shows(output, actual):
            continue
        if _EXPECTED.search(said) and not re.search(r"\b(got|actual)\b", said, re.I):
            confidence = 0.7 if reproduced else 0.45
            yield ExpectedText(output, confidence, "the issue shows the expected output")
        elif reproduced:
            why = "the issue shows another output beside the one that we see"
            yield ExpectedText(output, 0.6, why)
    before = ""
    for place in nearby if last else []:
        if pieces[place].kind == "prose":
            text = pieces[place].text
            for match in _STATED.finditer(text):
                if inline_expressions(before + text[: match.start()]):
                    break  # what is stated from there on is said of another expression
                value = _clean(match[1])
                if alike(value, actual) and (reproduced or actual.str in text):
                    yield ExpectedText(value, 0.6, "the issue says in words what it should be")
            before += text + "\n"
    yield from _from_sibling(pieces, script, seen, index, reproduced)
    yield from _of_equality(title, pieces, row, actual)
    if reproduced and last and actual.repr in ("True", "False"):
        around = "\n".join((title, _lead(pieces, row.piece), *(pieces[p].text for p in nearby)))
        if _EXPECTED.search(around) or _WRONG.search(around):
            why = f"the issue shows {actual.repr} as wrong"
            yield ExpectedText(str(actual.repr == "False"), 0.45, why)


def _has_the_output(pieces: Sequence[Piece], script: Script, seen: Seen, index: int) -> bool:
    """Whether what the issue shows below the code is this expression's, or a part of it: a file of
    code prints what it prints, and shows no other value."""
    if script.statements[index].printed:
        return index in _printing(script, seen)
    of_code = pieces[script.statements[index].piece].kind == "code"
    ends = index == (len(script.statements) - 1 if of_code else max(seen.values))
    return ends and not _printing(script, seen)


def _printing(script: Script, seen: Seen) -> list[int]:
    """The expressions that print in the piece that the script is about."""
    piece = script.statements[max(seen.values)].piece
    rows = ((index, script.statements[index]) for index in seen.values)
    return [index for index, row in rows if row.printed and row.piece == piece]


def _of_lines(
    pieces: Sequence[Piece], outputs: Sequence[int], script: Script, seen: Seen, index: int
) -> Iterator[ExpectedText]:
    """Of several that print, each has its lines of the output, where there are as many."""
    printing = _printing(script, seen)
    printed = [seen.values[one].str.split("\n") for one in printing]
    start = sum(map(len, printed[: printing.index(index)]))
    own = seen.values[index].str.split("\n")
    actual = [line.rstrip() for lines in printed for line in lines]
    texts = {place: pieces[place].text.strip("\n").split("\n") for place in outputs}
    as_seen = any([line.rstrip() for line in text] == actual for text in texts.values())
    for place, text in texts.items():
        mine = text[start : start + len(own)]
        if pieces[place].errors or len(text) != len(actual) or mine == own:
            continue
        said = _lead(pieces, place)
        expected = _EXPECTED.search(said) and not re.search(r"\b(got|actual)\b", said, re.I)
        if expected or as_seen:
            confidence = 0.7 if as_seen and expected else 0.6 if as_seen else 0.45
            why = "the issue shows the expected output, line by line"
            yield ExpectedText("\n".join(mine), confidence, why, True)


def _of_equality(
    title: str, pieces: Sequence[Piece], row: Statement, actual: Value
) -> Iterator[ExpectedText]:
    """A bare `a == b`, where the issue says whether the two should be equal."""
    value = row.expression
    if not isinstance(value, ast.Compare) or not isinstance(value.ops[0], ast.Eq):
        return
    prose = "\n".join((title, *(piece.text for piece in pieces if piece.kind == "prose")))
    if actual.repr == "True" and _UNEQUAL.search(prose):
        yield ExpectedText("False", 0.55, "the issue says that the two should not be equal")
    elif actual.repr == "False" and _EQUAL.search(prose) and not _UNEQUAL.search(prose):
        yield ExpectedText("True", 0.55, "the issue says that the two should be equal")


def _others(script: Script, index: int) -> Iterator[tuple[bool, str]]:
    own = script.statements[index]
    names = missing_names([own.node])
    for number, row in enumerate(script.statements):
        if number == index or not row.shown or ast.dump(row.node) != ast.dump(own.node):
            continue
        between = script.statements[min(index, number) + 1 : max(index, number)]
        if not any(_rebinds(other, names) for other in between):
            yield True, row.shown


def _rebinds(row: Statement, names: frozenset[str]) -> bool:
    """Whether an expression with these names is another one after the statement."""
    imports = isinstance(row.node, ast.Import | ast.ImportFrom)
    return not imports and bool(changed(row) & names)


def _from_sibling(
    pieces: Sequence[Piece], script: Script, seen: Seen, index: int, reproduced: bool
) -> Iterator[ExpectedText]:
    """The issue shows a like expression that is right, and this one as wrong."""
    row = script.statements[index]
    said = _lead(pieces, row.piece)
    if not reproduced or not _WRONG.search(said):
        return
    for number in seen.values:
        other = script.statements[number]
        if other.piece >= row.piece or not _same_shape(other.node, row.node):
            continue
        lead = _lead(pieces, other.piece)
        right = re.search(r"\b(correct|right|works|fine|expected)\b", lead, re.I)
        if (
            right
            and not re.search(r"\b(?:not|n't) ", lead)
            and not shows(seen.values[number].str, seen.values[index])
        ):
            why = "the like expression, which the issue calls right, has this value"
            yield ExpectedText(seen.values[number].str, 0.5, why, True)


def _same_shape(one: ast.stmt, other: ast.stmt) -> bool:
    """Equal but for the names of variables."""

    def plain(node: ast.stmt) -> str:
        return re.sub(r"id='\w+'", "id=''", ast.dump(node))

    return plain(one) == plain(other)


def _until_next_code(pieces: Sequence[Piece], index: int) -> list[int]:
    found: list[int] = []
    for place in range(index + 1, len(pieces)):
        if pieces[place].kind in ("code", "session"):
            break
        found.append(place)
    return found


def _lead(pieces: Sequence[Piece], index: int) -> str:
    """The last words before a piece."""
    if index == 0 or pieces[index - 1].kind != "prose":
        return ""
    lines = [line for line in pieces[index - 1].text.split("\n") if line.strip()]
    return " ".join(lines[-2:])[-200:]


def shows(text: str, actual: Value) -> bool:
    shown = _squeezed(text)
    return bool(shown) and shown in (_squeezed(actual.repr), _squeezed(actual.str))


def _squeezed(text: str) -> str:
    return re.sub(r"0x[0-9a-f]+", "0x", "".join(text.split()))


def _clean(text: str) -> str:
    literal = _LITERAL.match(text.strip())
    if literal is not None:
        return literal[0]
    value = re.split(r"(?<=[\w)\]}'\"`])[.,;](?:\s|$)", text.strip() + " ", maxsplit=1)[0].strip()
    quoted = re.match(r"`+([^`]+)`+", value)
    return quoted[1].strip() if quoted else value.strip("` ")


def _numbers(*texts: str) -> bool:
    """Whether all texts are numbers as text."""
    return all(re.fullmatch(r"-?\d+(?:\.\d*)?(?:e[-+]?\d+)?", text, re.I) for text in texts)


def alike(value: str, actual: Value) -> bool:
    """Whether the text can be a value of the same kind as the actual one, and not it."""
    if not value or shows(value, actual):
        return False
    try:
        wanted, own = parse_literal(value), parse_literal(actual.repr)
    except NotLiteral:
        pass
    else:
        return type(wanted) is type(own) or (isinstance(own, str) and _numbers(value, own))
    ratio = difflib.SequenceMatcher(None, _squeezed(value), _squeezed(actual.str)).ratio()
    return ratio >= 0.5


def needed(before: Sequence[Statement], focus: Statement) -> tuple[Statement, ...]:
    """The statements that the focus rests on, in their order."""
    names = set(missing_names([focus.node]))
    kept: list[Statement] = []
    for row in reversed(before):
        if not (changed(row) & names):
            continue
        if isinstance(row.node, ast.Assign) and not _owners(row.node):
            names -= bound_names(row.node)  # what they were before is of no matter
            names |= missing_names([row.node.value])
        names |= missing_names([row.node])
        kept.append(row)
    return tuple(reversed(kept))


def changed(row: Statement) -> frozenset[str]:
    """Names that a statement binds or may change."""
    value = row.expression
    if value is None:
        touched = bound_names(row.node)
        if isinstance(row.node, ast.ClassDef | ast.FunctionDef | ast.Import | ast.ImportFrom):
            return touched
        return touched | _owners(row.node)
    if row.printed or row.shown or not isinstance(value, ast.Call | ast.Await):
        return frozenset()
    return missing_names([row.node])


def _owners(node: ast.stmt) -> frozenset[str]:
    """Variables whose attributes or items the statement assigns to or calls."""
    found = set()
    for part in ast.walk(node):
        if isinstance(part, ast.Attribute | ast.Subscript):
            root: ast.expr = part
            while isinstance(root, ast.Attribute | ast.Subscript):
                root = root.value
            assigned = isinstance(part.ctx, ast.Store)
            if isinstance(root, ast.Name) and (assigned or isinstance(node, ast.With | ast.For)):
                found.add(root.id)
    return frozenset(found)
