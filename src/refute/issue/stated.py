"""Inputs that an issue states beside those of the reproducing tests, run with a fix and without.

Reading only proposes what to run: an input of the issue that does with the fix what it did before,
as the reproducing call did, is left behind by the fix.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from refute.issue.observed_calls import Call, run_outside
from refute.issue.snippet.issue_reader import inline_expressions, read_issue_text
from refute.issue.snippet.script import statements
from refute.issue.snippet.subject import module_of
from refute.workspace.contract import Workspace

MOST_VALUES, MOST_SAID, MOST_CALLS = 24, 24, 8
_RIGHT = re.compile(
    r"\b(?:fine|work(?:s|ing)?|correct(?:ly)?|right(?:ly)?|ok(?:ay)?|kept|properly|as expected)\b",
    re.I,
)
_NOT = re.compile(r"\b(?:not|never|neither)\b|n't\b", re.I)
_SENTENCE = re.compile(r"(?<=[.;!?])\s+|\n|\bbut\b|\bhowever\b", re.I)
_QUOTED = re.compile(r"`+([^`\n]+)`+|\"([^\"\n]+)\"|(?<!\w)'([^'\n]+)'(?!\w)")
_NUMBER = re.compile(r"(?<![\w.#/-])-?\d+(?:\.\d+)?(?![\w.]*\w)")
_OUTPUT = re.compile(
    r"\b(?:to|be|becomes?|gives?|gave|returns?|returned|instead of|expect(?:ed)?|got|never|prints?"
    r"|yields?|raises?)(?: an?| the)?[\s:]*$",
    re.I,
)
"""Words before a result."""
_CALL = re.compile(r"[\w.]+\([^()]*\)")
_INTRODUCED = re.compile(r"(?:\b(?:for|with|and|or|like|as)|,)\s*$")
"""Words before a number that is a value, neither a version nor a line."""
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


def inputs_of(text: str) -> Inputs:
    """The inputs that a text states, but for those of which it says that they work."""
    pieces = read_issue_text(text)
    rows = statements(pieces)
    said, values = list[Said](), list[str]()
    for place, piece in enumerate(pieces):
        for row in rows.get(place, ()):
            said.append(Said(row.value_source, f"{row.shown} {row.comment}"))
        if piece.kind == "prose":
            for sentence in filter(None, map(str.strip, _SENTENCE.split(piece.text))):
                if _RIGHT.search(sentence) and not _NOT.search(sentence):
                    continue
                said += [Said(source, sentence) for source in inline_expressions(sentence)]
                values += _values(sentence)
    return Inputs(tuple(said[:MOST_SAID]), tuple(dict.fromkeys(values))[:MOST_VALUES])


def _values(sentence: str) -> Iterator[str]:
    for match in _QUOTED.finditer(sentence):
        if _OUTPUT.search(sentence[: match.start()]):
            continue
        text = next(filter(None, match.groups()))
        if not inline_expressions(f"`{text}`"):
            yield text
    plain = _CALL.sub(_blank, _QUOTED.sub(_blank, sentence))  # a call's values are for it alone
    for match in _NUMBER.finditer(plain):
        if _INTRODUCED.search(plain[: match.start()]):
            yield match[0]


def _blank(match: re.Match[str]) -> str:
    return " " * len(match[0])


def tried(
    inputs: Inputs, calls: Sequence[Call], code: str, workspace: Workspace, timeout: float
) -> str:
    """Try inputs with a fix (the patch `code`) and without it: return one that the fix leaves
    behind, or reaches and should not; "": none. `calls`: those that the reproducing tests make
    themselves, on the old code. Raises `PatchRejected`. The workspace is clean afterwards."""
    chosen = list({(one.file, one.again): one for one in calls}.values())[:MOST_CALLS]
    if not chosen:
        return ""
    plan = {
        "calls": [one.again for one in chosen], "paths": chosen[0].paths,
        "modules": sorted({module_of(one.file) or "" for one in chosen} - {""}),
        "root": str(workspace.root), "values": inputs.values,
        "said": [one.source for one in inputs.said],
    }  # fmt: skip
    old, new = (
        run_outside(workspace, patches, "stating", plan, timeout) for patches in ((), (code,))
    )
    return _judged(inputs, chosen, old, new)


_Rows = Sequence[Mapping[str, Any]]


def _judged(inputs: Inputs, calls: Sequence[Call], old: _Rows, new: _Rows) -> str:
    after = {_key(row): str(row["end"]) for row in new if "end" in row}
    known = (row for row in old if "end" in row and _key(row) in after)
    rows = [(row, str(row["end"]), after[_key(row)]) for row in known]
    own = {_key(row)[:2]: was for row, was, now in rows if row["what"] == "" and was != now}
    ran = {
        one
        for row, _, _ in rows
        if row["what"] == "" and _key(row)[:2] in own
        for one in row.get("ran", ())
    }
    faults = {_kind(was) for was in own.values() if _RAISES.match(was)}
    # an argument that any other value may stand for has nothing to do with the fault
    first = {_key(row)[:2]: was for row, was, _ in rows if row["what"] == ""}
    felt = {
        (row.get("place"), row["what"].partition("=")[0])
        for row, was, _ in rows
        if row["what"] and not row["values"] and was != first.get(_key(row)[:2])
    }
    again = any(place is not None for place, _ in own)
    left, moved = dict[str, str](), set[str]()
    for row, was, now in rows:
        what = str(row["what"])
        if "place" in row and what:
            what = f"{calls[row['place']].function}({what})"
        used = row.get("values", ())
        if not what:
            related = "said" in row and not ran.isdisjoint(row.get("ran", ()))
            if related and was == now and _is_left(inputs.said[row["said"]], row, faults):
                source = inputs.said[row["said"]].source.strip()
                return f"{source} of the issue does what it did before"
        elif _key(row)[:2] not in own or (again and "said" in row):
            continue  # an expression stands for calls that cannot be made again
        elif was != now:
            crashed = _RAISES.match(own[_key(row)[:2]]) and _RAISES.match(was)
            if crashed and _kind(was) not in faults and not _RAISES.match(now):
                return f"{what} raised {_kind(was)}, and does not with the fix"
            moved.update(used if row.get("way", True) else ())
        elif "place" in row and (row["place"], row["what"].partition("=")[0]) not in felt:
            continue
        elif row.get("way", True) and _kind(was) == _kind(own[_key(row)[:2]]):
            left.update(dict.fromkeys(used, what))
    for value, what in left.items():
        if value not in moved:
            return f"the issue states {value}, and {what} does what it did before"
    return ""


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
