"""Decide what a test asserts, from what the issue shows and what the original code did.

An example that raises must not raise; the wrong value that is shown must become the expected one;
what "should raise" must raise. Each rule gives a confidence, an estimate by the kind of evidence.
A claim without support in the issue's text is not made.
"""

from __future__ import annotations

import ast
import builtins
import difflib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from refute.issue.snippet.issue_reader import (
    Piece,
    demands_error,
    inline_expressions,
    likeness,
    named_errors,
    shown_errors,
    wanted_errors,
)
from refute.issue.snippet.script import (
    Claim,
    Script,
    ScriptError,
    Seen,
    Statement,
    Value,
    bound_names,
    missing_names,
)
from refute.source.literals import NotLiteral, is_literal, parse_literal
from refute.source.syntax import readable_module

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
    r"\s*:?\s+(?=([^\n]+))",
    re.I,
)
_IN_COMMENT = re.compile(r"(?i)\bexpected:?\s*(.+)|(\S+) (?:is |was )?expected$")
_LITERAL = re.compile(
    r"(?:'[^'\n]*'|\"[^\"\n]*\"|-?\d+(?:\.\d+)?|None|True|False)"
    r"(?= (?:for|in|as|instead|rather|but|and|since|because|here|there)\b)"
)
"""A value in the middle of a sentence."""


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
    """Yield the values that one expression of the script should have had."""
    row, actual = script.statements[index], seen.values[index]
    yield from _in_comment(row)
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
    last = last and len(_printing(script, seen)) < 2
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
    silent = not (row.shown or outputs)
    for text, match in _in_words(pieces, nearby) if last else ():
        value, named = _clean(match[1]), reproduced or actual.str in text
        if alike(value, actual) and (named or (silent and f"`{value}`" in match[1])):
            why = "the issue says in words what it should be"
            yield ExpectedText(value, 0.6 if named else 0.5, why)
    if reproduced and last and actual.repr in ("True", "False"):
        around = "\n".join((title, _lead(pieces, row.piece), *(pieces[p].text for p in nearby)))
        if _EXPECTED.search(around) or _WRONG.search(around):
            why = f"the issue shows {actual.repr} as wrong"
            yield ExpectedText(str(actual.repr == "False"), 0.45, why)


def demanded_values(pieces: Sequence[Piece], script: Script, index: int) -> Iterator[ExpectedText]:
    """The values that the issue states, as source, for an expression that raises."""
    row = script.statements[index]
    nearby = _until_next_code(pieces, row.piece)
    found = [*_in_comment(row)]
    for _, match in _in_words(pieces, nearby):
        value = _clean(match[1])
        if f"`{value}`" in match[1] or is_literal(value):
            found.append(ExpectedText(value, 0.6, "the issue says in words what it should be"))
    for place in nearby:
        if pieces[place].kind == "output" and _EXPECTED.search(_lead(pieces, place)):
            text = pieces[place].text.strip("\n")
            found.append(ExpectedText(text, 0.6, "the issue shows the expected output"))
    names = {*dir(builtins), *(name for one in script.statements for name in bound_names(one.node))}
    for one in found:
        if is_literal(one.text):
            yield one
        elif re.fullmatch(r"[\w -]+", one.text) and not (
            one.text in names or re.search(r"(?:Error|Exception|Warning)$", one.text)
        ):
            yield replace(one, text=repr(one.text))


def why_nothing(pieces: Sequence[Piece], script: Script, seen: Seen | None) -> tuple[int, str]:
    """Explain why a run of a script supports no claim; a higher number comes from a better
    reading."""
    if seen is None:
        return 0, "the issue's code cannot be run to its end here"
    if seen.raised is not None:
        error = f"{seen.raised.type}: {seen.raised.message}".split("\n")[0][:120].rstrip(": ")
        return 1, f"the issue's code raises {error} here, which is not what the issue complains of"
    rows = [(script.statements[index], value) for index, value in seen.values.items()]
    other = [(row, value) for row, value in rows if row.shown and not shows(row.shown, value)]
    if other and len(other) == sum(bool(row.shown) for row, _ in rows):
        row, value = other[-1]
        shown, actual = (" ".join(text.split())[:80] for text in (row.shown, value.repr))
        what = f"the issue shows {shown} for {row.value_source}; this checkout gives {actual}"
        return 2, f"could not reproduce: {what}"
    prose = "\n".join(piece.text for piece in pieces if piece.kind == "prose")
    lines = [line.strip() for line in prose.split("\n") if _EXPECTED.search(line)]
    said = f" (from: {lines[-1][:80]})" if lines else ""
    return 3, f"the issue's code runs, but no expected value can be read from the issue{said}"


def _in_comment(row: Statement) -> Iterator[ExpectedText]:
    stated = _STATED.search(row.comment) or _IN_COMMENT.search(row.comment)
    if stated is not None:
        why = "a comment of the example says what it should be"
        yield ExpectedText(_clean(next(filter(None, stated.groups()))), 0.7, why, True)


def _in_words(
    pieces: Sequence[Piece], nearby: Sequence[int]
) -> Iterator[tuple[str, re.Match[str]]]:
    """Values that sentences state, up to where they speak of another expression."""
    before = ""
    for text in (pieces[place].text for place in nearby if pieces[place].kind == "prose"):
        for match in _STATED.finditer(text):
            if inline_expressions(before + text[: match.start()]):
                break
            yield text, match
        before += text + "\n"


def _has_the_output(pieces: Sequence[Piece], script: Script, seen: Seen, index: int) -> bool:
    """Return whether the issue shows this expression's output below the code, or a part of it: a
    file of code prints what it prints, and shows no other value."""
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
    """Return whether an expression with these names may differ after the statement."""
    imports = isinstance(row.node, ast.Import | ast.ImportFrom)
    return not imports and bool(changed(row) & names)


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
    text = text.strip()
    if quoted := re.match(r"`+([^`]+)`+", text):
        return quoted[1].strip()
    if literal := _LITERAL.match(text):
        return literal[0]
    whole = text.rstrip(".")
    if whole.endswith((")", "]", "}")) and readable_module(whole).body:
        return whole
    value = re.split(r"(?<=[\w)\]}'\"`])[.,;](?:\s|$)", f"{text} ", maxsplit=1)[0].strip("` ")
    return value.rstrip(")") if value.count(")") > value.count("(") else value


def _numbers(*texts: str) -> bool:
    """Return whether all texts are numbers."""
    return all(re.fullmatch(r"-?\d+(?:\.\d*)?(?:e[-+]?\d+)?", text, re.I) for text in texts)


def alike(value: str, actual: Value) -> bool:
    """Return whether the text can be another value of the actual one's kind."""
    if not value or shows(value, actual):
        return False
    try:
        wanted, own = parse_literal(value), parse_literal(actual.repr)
    except NotLiteral:
        pass
    else:
        numbers = {type(wanted), type(own)} <= {int, float}
        return (
            numbers or type(wanted) is type(own) or (isinstance(own, str) and _numbers(value, own))
        )
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


_SHOULD_RAISE = re.compile(
    r"\b(?:should|must|expect\w*(?: to)?|ought to)\s+(?:\w+\s+){0,3}?(?:raise|throw|fail with|get)"
    r"\s+(?:an?\s+|the\s+)?`{0,2}(\w*(?:Error|Exception|Warning))",
    re.I,
)
_TO_BE_RAISED = re.compile(
    r"\bexpect\w*\s+(?:an?\s+|the\s+)?`{0,2}(\w+(?:Error|Exception))`{0,2}(?:\s+\w+){0,2}?"
    r"\s+to be (?:raised|thrown)",
    re.I,
)
_FAILS = re.compile(
    r"#.*\b(?:fail\w*|rais(?:es|ed)|crash\w*|error\w*|breaks?|broken|exception|"
    r"does(?:n't| not) work)\b",
    re.I,
)
"""A comment on the line that goes wrong."""
_LONGEST_VALUE = 4000
_TRULY_OURS = (
    "NameError",
    "ImportError",
    "ModuleNotFoundError",
    "SyntaxError",
    "FileNotFoundError",
)
"""Exceptions that an incomplete example raises by itself."""


def claims(title: str, pieces: Sequence[Piece], script: Script, seen: Seen) -> list[Claim]:
    """All that a run of a script supports, best first."""
    found = list(_claims(title, pieces, script, seen))
    return sorted(found, key=lambda claim: -claim.confidence)


def _claims(title: str, pieces: Sequence[Piece], script: Script, seen: Seen) -> Iterator[Claim]:
    text = "\n".join((title, *(piece.text for piece in pieces if piece.kind == "prose")))
    said = "\n".join((text, *(row.comment for row in script.statements)))
    wanted = {m[1] for rule in (_SHOULD_RAISE, _TO_BE_RAISED) for m in rule.finditer(said)}
    wanted |= wanted_errors(text)
    raised = seen.raised
    if raised is not None and demands_error(said):
        return
    if raised is not None:
        node = script.statements[raised.statement].node
        if raised.type == "AssertionError" and _asserts(node):
            confidence, why = 0.55, "an assertion of the example fails"
        else:
            comment = script.statements[raised.statement].comment
            confidence, why = _of_error(title, text, pieces, raised, wanted, comment)
        values = demanded_values(pieces, script, raised.statement) if confidence else ()
        for one in values:
            yield _claim(
                script, raised.statement, "equals", min(0.8, confidence + 0.05),
                f"{why}; {one.why}", expected=one.text, failure=raised.type,
            )  # fmt: skip
        if confidence:
            yield _claim(
                script, raised.statement, "runs", confidence, why,
                failure=raised.type, form=raised.form,
            )  # fmt: skip
        return
    for index in seen.values:
        for one in expectations(title, pieces, script, seen, index):
            claim = _compared(script, index, seen.values[index], one)
            if claim is not None:
                yield claim
    last = len(script.statements) - 1
    code = [place for place, piece in enumerate(pieces) if piece.kind in ("code", "session")]
    for name in sorted(wanted) if script.pieces[-1] == code[-1] else ():
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
    form: str = "",
    failure: str = "AssertionError",
) -> Claim:
    focus = script.statements[index]
    setup = needed(script.statements[:index], focus)
    return Claim(setup, focus, kind, confidence, why, expected, form, failure=failure)


def _asserts(node: ast.stmt) -> bool:
    """Return whether the statement holds an assertion, by itself or by a test case's method."""
    return any(
        isinstance(part, ast.Assert)
        or (isinstance(part, ast.Attribute) and part.attr.startswith("assert"))
        for part in ast.walk(node)
    )


def _of_error(
    title: str,
    prose: str,
    pieces: Sequence[Piece],
    raised: ScriptError,
    wanted: set[str],
    comment: str,
) -> tuple[float, str]:
    name = raised.type.rpartition(".")[2]
    if wanted:
        return 0.0, "that it should raise is what the issue says"
    if (_FAILS.search(raised.line) or _FAILS.search(f"# {comment}")) and name not in _TRULY_OURS:
        return 0.6, "a comment of the example says that this line fails"
    if likeness(raised.type, raised.message, shown_errors(comment)) >= 0.5:
        return 0.7, f"a comment of the example shows the {name} that this line raises"
    alike = likeness(raised.type, raised.message, (e for p in pieces for e in p.errors))
    if alike < 0.75 and (not raised.inside or name in _TRULY_OURS):
        return 0.0, "the exception is the example's own"
    if alike >= 0.75:
        confidence, why = 0.75, f"it raises the {name} that the issue shows"
    elif alike:
        confidence, why = 0.55, f"it raises a {name}, as in the issue"
    elif name in named_errors(prose) or name in named_errors(title):
        confidence, why = 0.5, f"it raises {name}, which the issue names"
    elif re.search(r"\b(crash\w*|exception|raises?|traceback|throws?|fails?)\b", title, re.I):
        confidence, why = 0.4, f"it crashes, as the title says ({name})"
    else:
        return 0.0, "the issue tells of no such exception"
    return confidence, why


def _compared(script: Script, index: int, actual: Value, wanted: ExpectedText) -> Claim | None:
    """The expected text as a comparison; None where it cannot be one."""
    text, confidence, why = wanted.text, wanted.confidence, wanted.why
    if not text.strip() or len(text) > _LONGEST_VALUE or "0x" in text:
        return None
    if "..." in text and "..." not in actual.str:
        return None  # the issue shortens it
    if not script.statements[index].printed:
        try:
            value, own = parse_literal(text), parse_literal(actual.repr)
        except NotLiteral:
            pass
        else:
            if value == own and type(value) is type(own):
                return None
            if isinstance(own, str) and not isinstance(value, str):
                text = repr(text.strip())
            return _claim(script, index, "equals", confidence, why, expected=text.strip())
    if shows(text, actual) or not (wanted.sure or alike(text, actual)):
        return None
    printed = script.statements[index].printed
    quoted = text.lstrip()[:1] in ("'", '"')
    if not printed and not quoted and actual.repr == repr(actual.str):
        return _claim(script, index, "equals", confidence, why, expected=repr(text))
    form = "repr" if actual.repr != actual.str and not printed else "str"
    return _claim(script, index, "text", confidence, why, expected=text, form=form)
