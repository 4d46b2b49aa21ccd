"""Inputs that an issue states beside those of the reproducing tests, run with a fix and without.

Reading only proposes what to run: an input of the issue that does with the fix what it did before,
as the reproducing call did, is left behind by the fix.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from refute.issue.observed_calls import Call, rows_in, run_outside
from refute.issue.snippet.issue_reader import inline_expressions, read_issue_text
from refute.issue.snippet.script import statements
from refute.workspace.contract import Workspace

MOST_VALUES, MOST_SAID, MOST_CALLS = 24, 24, 8
_RIGHT = re.compile(
    r"\b(?:fine|works?|working|correct(?:ly)?|ok(?:ay)?|kept|keeps|properly|as expected)\b", re.I
)
_NOT = re.compile(r"\b(?:not|never|neither)\b|n't\b", re.I)
_SENTENCE = re.compile(r"(?<=[.;!?])\s+|\n|\bbut\b|\bhowever\b", re.I)
_QUOTED = re.compile(r"`+([^`\n]+)`+|\"([^\"\n]+)\"|(?<!\w)'([^'\n]+)'(?!\w)")
_NUMBER = re.compile(r"(?<![\w.#/-])-?\d+(?:\.\d+)?(?![\w.]*\w)")
_INTRODUCED = re.compile(r"(?:\b(?:for|with|and|or|like|as)|,)\s*$")
"""What stands before a number that is a value, and neither a version nor a line."""
_RAISES = re.compile(r"raises (\w+)")


@dataclass(frozen=True, slots=True)
class Said:
    """Statements of an issue that end with an expression, and what stands around them."""

    source: str
    around: str = ""


@dataclass(frozen=True, slots=True)
class Inputs:
    said: tuple[Said, ...]
    values: tuple[str, ...]
    """As text: a literal, or what a string holds."""


@dataclass(frozen=True, slots=True)
class Tried:
    """Comparison of both sides."""

    left: str = ""
    """An input that the fix leaves behind, or reaches and should not; "": none was found."""
    moved: bool = False
    """True if another input than the tests' own does something else with the fix."""


def inputs_of(text: str) -> Inputs:
    """The inputs that a text states, but for those of which it says that they work."""
    pieces = read_issue_text(text)
    rows = statements(pieces)
    said, values = list[Said](), list[str]()
    for place, piece in enumerate(pieces):
        for row in rows.get(place, ()):
            said.append(Said(row.value_source, f"{row.shown} {row.comment}"))
            values += _constants(row.node)
        if piece.kind == "prose":
            for sentence in filter(None, map(str.strip, _SENTENCE.split(piece.text))):
                if _RIGHT.search(sentence) and not _NOT.search(sentence):
                    continue
                said += [Said(source, sentence) for source in inline_expressions(sentence)]
                values += _values(sentence)
    return Inputs(tuple(said[:MOST_SAID]), tuple(dict.fromkeys(values))[:MOST_VALUES])


def _constants(node: ast.AST) -> Iterator[str]:
    for call in (part for part in ast.walk(node) if isinstance(part, ast.Call)):
        for value in (*call.args, *(one.value for one in call.keywords)):
            if isinstance(value, ast.Constant | ast.List | ast.Tuple | ast.Dict | ast.UnaryOp):
                yield ast.unparse(value)


def _values(sentence: str) -> Iterator[str]:
    for match in _QUOTED.finditer(sentence):
        text = next(filter(None, match.groups()))
        found = inline_expressions(f"`{text}`")
        for source in found:
            yield from _constants(ast.parse(source.strip()))
        if not found:
            yield text
    plain = _QUOTED.sub(lambda match: " " * len(match[0]), sentence)
    for match in _NUMBER.finditer(plain):
        if _INTRODUCED.search(plain[: match.start()]):
            yield match[0]


def tried(
    inputs: Inputs, calls: Sequence[Call], code: str, workspace: Workspace, timeout: float
) -> Tried:
    """Try inputs with a fix (the patch `code`) and without it. `calls`: those that the reproducing
    tests make themselves, on the old code. Raises `PatchRejected`. The workspace is clean
    afterwards."""
    chosen = list({one.again: one for one in calls if one.again}.values())[:MOST_CALLS]
    if not chosen:
        return Tried()
    plan = {
        "calls": [one.again for one in chosen], "paths": chosen[0].paths,
        "values": inputs.values, "said": [one.source for one in inputs.said],
    }  # fmt: skip
    old, new = (
        rows_in(run_outside(workspace, patches, "stating", json.dumps(plan), timeout))
        for patches in ((), (code,))
    )
    return _judged(inputs, chosen, old, new)


_Rows = Sequence[Mapping[str, Any]]


def _judged(inputs: Inputs, calls: Sequence[Call], old: _Rows, new: _Rows) -> Tried:
    after = {_key(row): row for row in new}
    pairs = [(row, after[_key(row)]) for row in old if _key(row) in after and "end" in row]
    pairs = [(was, now) for was, now in pairs if "end" in now]
    own = {was["place"]: (was["end"], now["end"]) for was, now in pairs if was.get("what") == ""}
    turned = {place: ends for place, ends in own.items() if ends[0] != ends[1]}
    faults = {_kind(was) for was, _ in turned.values() if _RAISES.match(was)}
    moved = False
    for was, now in pairs:
        before, end = str(was["end"]), str(now["end"])
        if "said" in was:
            one = inputs.said[was["said"]]
            if before == end and _is_left(one, was, faults):
                return Tried(f"{one.source.strip()} of the issue does what it did before")
            moved |= before != end
        elif was["what"] and was["place"] in turned:
            what = f"{calls[was['place']].function}({was['what']})"
            was_other = _RAISES.match(before) and _kind(before) not in faults
            if was_other and not _RAISES.match(end):
                return Tried(f"{what} raised {_kind(before)}, and does not with the fix")
            alike = was["way"] and _kind(before) == _kind(turned[was["place"]][0])
            if before == end and alike and not was["odd"]:
                return Tried(f"the issue states the value, and {what} does what it did before")
            moved |= before != end and not was["odd"]
    return Tried(moved=moved)


def _key(row: Mapping[str, Any]) -> tuple[Any, Any, Any]:
    return row.get("place"), row.get("said"), row.get("what")


def _is_left(one: Said, row: Mapping[str, Any], faults: set[str]) -> bool:
    """Return whether the issue complains of what an expression does on both sides."""
    if _RAISES.match(row["end"]):
        return _kind(row["end"]) in faults
    shown = ["".join(text.split()) for text in row.get("shown", ())]
    around = [*one.around.split(), *(next(filter(None, m)) for m in _QUOTED.findall(one.around))]
    told = {"".join(one.around.split()), *(word.strip("`.,;:") for word in around)}
    return any(text in told for text in shown)


def _kind(end: str) -> str:
    """The type of an exception, or how a value begins."""
    raised = _RAISES.match(end)
    if raised is not None:
        return raised[1]
    if end in ("True", "False"):
        return "bool"
    begin = re.match(r"[A-Za-z_][\w.]*|.", end)
    return "" if begin is None else re.sub(r"^[-\d]$", "number", begin[0])
