"""What a test has to say: from what the issue shows and what the original code did.

An example that raises must not raise; the wrong value that is shown must become the expected one;
what "should raise" must raise. Each rule gives a confidence: how often a test made by it has been
right. A claim without support in the issue's text is not made.
"""

from __future__ import annotations

import ast
import difflib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from refute.issue.snippet.errors import likeness, named_errors
from refute.issue.snippet.read import Piece
from refute.issue.snippet.script import Script, Statement, bound_names, missing_names
from refute.literals import NotLiteral, parse_literal

__all__ = ["Claim", "Raised", "Seen", "Value", "claims"]

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
    r"|\binstead of|\brather than|\bexpecting|\bwould expect(?: it to (?:be|return))?)"
    r"\s*:?\s+`{0,3}([^\n]+)",
    re.I,
)
_SHOULD_RAISE = re.compile(
    r"\b(?:should|must|expect\w*(?: to)?|ought to)\s+(?:\w+\s+){0,3}?(?:raise|throw|fail with|get)"
    r"\s+(?:an?\s+|the\s+)?`{0,2}(\w*(?:Error|Exception|Warning))",
    re.I,
)
_INSTEAD = re.compile(
    r"\b(?:rais|throw)\w*\s+(?:an?\s+)?`{0,2}(\w+Error)`{0,2}[^.\n]{0,20}"
    r"\b(?:instead of|rather than|and not)\s+(?:raising\s+)?(?:an?\s+)?"
    r"`{0,2}(\w+(?:Error|Exception))",
    re.I,
)
_ABOUT_MESSAGE = re.compile(
    r"\b(?:error message|exception message|confusing|misleading|unhelpful|cryptic|unclear|"
    r"(?:more|less|better|un)\s?(?:helpful|descriptive|informative|clear)|better error)\b",
    re.I,
)
_FAILS = re.compile(
    r"#.*\b(?:fail\w*|rais(?:es|ed)|crash\w*|error\w*|breaks?|broken|exception|"
    r"does(?:n't| not) work)\b",
    re.I,
)
"""A comment on the line that goes wrong."""
_UNEQUAL = re.compile(
    r"\bshould(?:n't| not) (?:be|compare|evaluate)(?: as| to)? (?:equal|the same)|\bnot be equal",
    re.I,
)
_EQUAL = re.compile(
    r"\bshould (?:be|compare|evaluate)(?: as| to)? (?:equal|the same)|\bnot (?:compare )?equal\b",
    re.I,
)
_LONGEST_VALUE = 4000
_TRULY_OURS = (
    "NameError",
    "ImportError",
    "ModuleNotFoundError",
    "SyntaxError",
    "FileNotFoundError",
)
"""Exceptions that an incomplete example raises by itself."""


@dataclass(frozen=True, slots=True)
class Value:
    """What an expression of the script was on the original code."""

    repr: str
    str: str


@dataclass(frozen=True, slots=True)
class Raised:
    """The exception that ended the script on the original code."""

    statement: int
    type: str
    message: str
    inside: bool
    """Whether it came out of the repository's code, not of the test's own lines."""
    line: str = ""
    """The line of the script, with its comment, where it came up."""


@dataclass(frozen=True, slots=True)
class Seen:
    """One run of a script on the original code."""

    values: dict[int, Value] = field(default_factory=dict)
    raised: Raised | None = None


@dataclass(frozen=True, slots=True)
class Claim:
    """What a test asserts: `setup` runs, then the focus is looked at."""

    setup: tuple[Statement, ...]
    focus: Statement
    kind: str
    """`runs`, `equals`, `text`, `raises`."""
    confidence: float
    why: str
    """The evidence, on one line."""
    expected: str = ""
    """`equals`: source of a literal; `text`: the string itself; `raises`: the exception's name."""
    form: str = "str"
    """`text`: by `str` or `repr`."""
    fixtures: tuple[str, ...] = ()
    """Names of pytest's fixtures that it uses."""
    failure: str = "AssertionError"
    """Type of the exception with which it must fail on the original code."""
    message: str = ""
    """Where it was not probed: what the message of that exception must be like."""


def claims(title: str, pieces: Sequence[Piece], script: Script, seen: Seen) -> list[Claim]:
    """All that a run of a script supports, best first."""
    found = list(_claims(title, pieces, script, seen))
    return sorted(found, key=lambda claim: -claim.confidence)


def _claims(title: str, pieces: Sequence[Piece], script: Script, seen: Seen) -> Iterator[Claim]:
    text = "\n".join((title, *(piece.text for piece in pieces if piece.kind == "prose")))
    wanted = {match[1] for match in _SHOULD_RAISE.finditer(text)}
    raised = seen.raised
    other = {match[1]: match[2] for match in _INSTEAD.finditer(text)}
    if raised is not None and raised.type.rpartition(".")[2] in other:
        name = other[raised.type.rpartition(".")[2]]
        why = f"the issue says that it should raise {name} instead"
        yield _claim(
            script, raised.statement, "raises", 0.7, why, expected=name, failure=raised.type
        )
        return
    if raised is not None:
        confidence, why = _of_error(title, text, pieces, raised, wanted)
        if confidence:
            yield _claim(script, raised.statement, "runs", confidence, why, failure=raised.type)
        return
    for index in seen.values:
        for one in _expectations(title, pieces, script, seen, index):
            claim = _compared(script, index, seen.values[index], one)
            if claim is not None:
                yield claim
    last = len(script.statements) - 1
    for name in sorted(wanted):
        if script.statements[last].expression is not None and "Warning" not in name:
            why = f"the issue says that it should raise {name}, and it does not"
            yield _claim(script, last, "raises", 0.5, why, expected=name)


def _claim(
    script: Script,
    index: int,
    kind: str,
    confidence: float,
    why: str,
    *,
    expected: str = "",
    form: str = "str",
    failure: str = "AssertionError",
) -> Claim:
    focus = script.statements[index]
    setup = _needed(script.statements[:index], focus)
    return Claim(setup, focus, kind, confidence, why, expected, form, failure=failure)


# -- exceptions ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Expected:
    """An expected output as text."""

    text: str
    confidence: float
    why: str
    sure: bool = False
    """It belongs to this expression, however unlike the actual value it is."""


def _of_error(
    title: str, prose: str, pieces: Sequence[Piece], raised: Raised, wanted: set[str]
) -> tuple[float, str]:
    name = raised.type.rpartition(".")[2]
    if name in wanted:
        return 0.0, "that is what it should raise"
    if _FAILS.search(raised.line) and name not in _TRULY_OURS:
        return 0.6, "a comment of the example says that this line fails"
    alike = likeness(raised.type, raised.message, (e for p in pieces for e in p.errors))
    if alike < 0.75 and (not raised.inside or name in _TRULY_OURS):
        return 0.0, "the exception is the example's own"
    if alike >= 0.75:
        confidence, why = 0.75, f"it raises the {name} that the issue shows"
    elif alike:
        confidence, why = 0.55, f"it raises a {name}, as in the issue"
    elif name in named_errors(prose) or name in named_errors(title):
        confidence, why = 0.5, f"it raises {name}, which the issue names"
    elif re.search(r"\b(crash\w*|exception|raises?|traceback|throws?)\b", title, re.I):
        confidence, why = 0.4, f"it crashes, as the title says ({name})"
    else:
        return 0.0, "the issue tells of no such exception"
    if _ABOUT_MESSAGE.search(title):
        confidence *= 0.4
    return confidence, why


# -- values ----------------------------------------------------------------------------------------


def _expectations(
    title: str, pieces: Sequence[Piece], script: Script, seen: Seen, index: int
) -> Iterator[Expected]:
    """What one expression of the script should have been."""
    row, actual = script.statements[index], seen.values[index]
    stated = _STATED.search(row.comment) or re.search(r"(?i)\bexpected:?\s*(.+)", row.comment)
    if stated is not None:
        why = "a comment of the example says what it should be"
        yield Expected(_clean(stated[1]), 0.7, why, True)
    reproduced = _shows(row.shown, actual) or _shows(row.comment, actual)
    for other, value in _others(script, index):
        if reproduced and not _shows(value, actual) and other:
            why = "the same expression is shown with another value as well"
            yield Expected(value, 0.7, why, True)
    nearby = _until_next_code(pieces, row.piece)
    outputs = [place for place in nearby if pieces[place].kind == "output"]
    if any(_shows(pieces[place].text, actual) for place in outputs):
        reproduced = True
    last = index == max(seen.values)
    for place in outputs if last else []:
        said = _lead(pieces, place)
        output = pieces[place].text.strip("\n")
        if pieces[place].errors or _shows(output, actual):
            continue
        if _EXPECTED.search(said) and not re.search(r"\b(got|actual)\b", said, re.I):
            confidence = 0.7 if reproduced else 0.45
            yield Expected(output, confidence, "the issue shows the expected output")
        elif reproduced:
            why = "the issue shows another output beside the one that we see"
            yield Expected(output, 0.6, why)
    for place in nearby if last else []:
        if pieces[place].kind == "prose":
            for match in _STATED.finditer(pieces[place].text):
                value = _clean(match[1])
                if _alike(value, actual) and (reproduced or actual.str in pieces[place].text):
                    yield Expected(value, 0.6, "the issue says in words what it should be")
    yield from _from_sibling(pieces, script, seen, index, reproduced)
    yield from _of_equality(title, pieces, row, actual)
    if reproduced and last and actual.repr in ("True", "False"):
        around = "\n".join((title, _lead(pieces, row.piece), *(pieces[p].text for p in nearby)))
        if _EXPECTED.search(around) or _WRONG.search(around):
            why = f"the issue shows {actual.repr} as wrong"
            yield Expected(str(actual.repr == "False"), 0.45, why)


def _of_equality(
    title: str, pieces: Sequence[Piece], row: Statement, actual: Value
) -> Iterator[Expected]:
    """A bare `a == b`, where the issue says whether the two should be equal."""
    value = row.expression
    if not isinstance(value, ast.Compare) or not isinstance(value.ops[0], ast.Eq):
        return
    prose = "\n".join((title, *(piece.text for piece in pieces if piece.kind == "prose")))
    if actual.repr == "True" and _UNEQUAL.search(prose):
        yield Expected("False", 0.55, "the issue says that the two should not be equal")
    elif actual.repr == "False" and _EQUAL.search(prose) and not _UNEQUAL.search(prose):
        yield Expected("True", 0.55, "the issue says that the two should be equal")


def _others(script: Script, index: int) -> Iterator[tuple[bool, str]]:
    own = script.statements[index]
    for number, row in enumerate(script.statements):
        if number != index and ast.dump(row.node) == ast.dump(own.node) and row.shown:
            yield True, row.shown


def _from_sibling(
    pieces: Sequence[Piece], script: Script, seen: Seen, index: int, reproduced: bool
) -> Iterator[Expected]:
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
            and not _shows(seen.values[number].str, seen.values[index])
        ):
            why = "the like expression, which the issue calls right, has this value"
            yield Expected(seen.values[number].str, 0.5, why, True)


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


def _shows(text: str, actual: Value) -> bool:
    shown = _squeezed(text)
    return bool(shown) and shown in (_squeezed(actual.repr), _squeezed(actual.str))


def _squeezed(text: str) -> str:
    return re.sub(r"0x[0-9a-f]+", "0x", "".join(text.split()))


def _clean(text: str) -> str:
    value = re.split(r"(?<=[\w)\]}'\"`])[.,;](?:\s|$)", text.strip() + " ", maxsplit=1)[0].strip()
    quoted = re.match(r"`+([^`]+)`+", value)
    return quoted[1].strip() if quoted else value.strip("` ")


def _alike(value: str, actual: Value) -> bool:
    """Whether the text can be a value of the same kind as the actual one, and not it."""
    if not value or _shows(value, actual):
        return False
    try:
        return type(parse_literal(value)) is type(parse_literal(actual.repr))
    except NotLiteral:
        pass
    ratio = difflib.SequenceMatcher(None, _squeezed(value), _squeezed(actual.str)).ratio()
    return ratio >= 0.5


def _compared(script: Script, index: int, actual: Value, wanted: Expected) -> Claim | None:
    """The expected text as a comparison; None where it cannot be one."""
    text, confidence, why = wanted.text, wanted.confidence, wanted.why
    if not text.strip() or len(text) > _LONGEST_VALUE or "0x" in text or "..." in text:
        return None
    if not script.statements[index].printed:
        try:
            value, own = parse_literal(text), parse_literal(actual.repr)
        except NotLiteral:
            pass
        else:
            if value == own and type(value) is type(own):
                return None
            return _claim(script, index, "equals", confidence, why, expected=text.strip())
    if _shows(text, actual) or not (wanted.sure or _alike(text, actual)):
        return None
    form = "repr" if actual.repr != actual.str and not script.statements[index].printed else "str"
    return _claim(script, index, "text", confidence, why, expected=text, form=form)


# -- setup -----------------------------------------------------------------------------------------


def _needed(before: Sequence[Statement], focus: Statement) -> tuple[Statement, ...]:
    """The statements that the focus rests on, in their order."""
    names = set(missing_names([focus.node]))
    kept: list[Statement] = []
    for row in reversed(before):
        if not (_changed(row) & names):
            continue
        names |= missing_names([row.node])
        kept.append(row)
    return tuple(reversed(kept))


def _changed(row: Statement) -> frozenset[str]:
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
