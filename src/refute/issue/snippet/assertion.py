"""Decide what a test asserts, from what the issue shows and what the original code did.

An example that raises must not raise; the wrong value that is shown must become the expected one;
what "should raise" must raise. Each rule gives a confidence, an estimate by the kind of evidence.
A claim without support in the issue's text is not made.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence

from refute.issue.snippet.expected_values import (
    ExpectedText,
    alike,
    demanded_values,
    expectations,
    needed,
    shows,
)
from refute.issue.snippet.issue_reader import (
    Piece,
    demands_error,
    likeness,
    named_errors,
    shown_errors,
    wanted_errors,
)
from refute.issue.snippet.script import Claim, Script, ScriptError, Seen, Value
from refute.source.literals import NotLiteral, parse_literal

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
