"""The blocks of a custom diff (`custom`) out of an answer, as models really write them."""

from __future__ import annotations

import re
from itertools import takewhile

from refute.issue.edits.custom import Block, joined
from refute.workspace.patches import split_lines

_BEGIN = re.compile(r"^\s*[`*]*\s*diff\s*[`*]*:?\s*$", re.IGNORECASE)
_END = re.compile(r"^\s*[`*<]*\s*end[\s_-]*(?:of[\s_-]*)?diff\b.*$", re.IGNORECASE)
_FENCE = re.compile(r"^\s*(?:```|~~~)")
_VERB = re.compile(
    r"^\W*(?:type|action|operation)?\W*(rewrite|replace|insert|add|append|delete|remove)\w*\W*$",
    re.IGNORECASE,
)
_VERBS = {"replace": "rewrite", "add": "insert", "append": "insert", "remove": "delete"}
_PLACE = re.compile(
    r"^\W*(?:(?:rough|approximate)\s+)?(?:lines?(?:\s+number)?|at)?\W*"
    r"(?:(EOF|BOF|end of file|beginning of file)|"
    r"[lL]?(\d{1,7})(?:\s*(?:-|–|to|,|:)\s*(\d{1,7}))?)\W*$",
    re.IGNORECASE,
)
_NUMBERED = re.compile(r"^\s*\d+(?: |\t|$)")
_FILE = re.compile(r"^[\w./@+-][\w./@+ -]*\.?\w+$")


def read_blocks(answer: str) -> list[Block]:
    """The blocks of an answer, in their order. A block that is not closed ends at the next one, at
    the fence around it, or with the answer."""
    lines = [line.rstrip("\r\n") for line in split_lines(answer)]
    heads = [_head(lines, number) for number in range(len(lines))]
    ended = _ended(lines, heads)
    found: list[Block] = []
    number = 0
    while number < len(lines):
        head = heads[number]
        if head is None:
            number += 1
            continue
        file, verb, place, stop, start = head
        number = _stop(lines, start, heads, ended)
        _add(found, Block(file, verb, place, _code(lines[start:number]), stop))
    return found


def _add(found: list[Block], block: Block) -> None:
    if found and (both := joined(found[-1], block)):
        found[-1] = both
    else:
        found.append(block)


def blocks_as_written(answer: str) -> list[Block]:
    """The blocks of an answer as the reference reads them: file, verb and place are the three lines
    below `diff`, to the letter."""
    lines = answer.lstrip("\n").splitlines()
    found: list[Block] = []
    for number, line in enumerate(lines[:-3]):
        if line.startswith("diff"):
            file, verb, place = lines[number + 1 : number + 4]
            code = takewhile(lambda line: not line.startswith("end diff"), lines[number + 4 :])
            _add(found, Block(file, verb, _place(place)[0], "\n".join(code), strict=True))
    return found


_Head = tuple[str, str, str | int | None, int | None, int]
"""File, verb, place, the end of its range and the first line of code."""


def _ended(lines: list[str], heads: list[_Head | None]) -> list[bool]:
    """For each line whether ``end diff`` comes after it before another block begins."""
    ended = [False] * (len(lines) + 1)
    for number in range(len(lines) - 1, -1, -1):
        ended[number] = ended[number + 1]
        if heads[number] is not None:
            ended[number] = False
        elif _END.match(lines[number]):
            ended[number] = True
    return ended


def _head(lines: list[str], number: int) -> _Head | None:
    """What a block says of itself, where one begins at a line."""
    if not _BEGIN.match(lines[number]):
        return None
    number = _filled(lines, number + 1)
    if number >= len(lines):
        return None
    file = _file(lines[number])
    if file is None:
        return None
    number = _filled(lines, number + 1)
    verb = _VERB.match(lines[number]) if number < len(lines) else None
    if verb is None:
        return None
    word = verb[1].lower()
    number += 1
    filled = _filled(lines, number)
    place, stop = _place(lines[filled]) if filled < len(lines) else (None, None)
    return file, _VERBS.get(word, word), place, stop, number if place is None else filled + 1


def _place(line: str) -> tuple[str | int | None, int | None]:
    """The place that a line names, and the end of its range."""
    match = _PLACE.match(line)
    if match is None:
        return None, None
    if match[1]:
        return "BOF" if match[1].lower().startswith("b") else "EOF", None
    return int(match[2]), int(match[3]) if match[3] else None


def _filled(lines: list[str], number: int) -> int:
    """The next line that is neither blank nor a fence."""
    while number < len(lines) and (not lines[number].strip() or _FENCE.match(lines[number])):
        number += 1
    return number


def _file(line: str) -> str | None:
    name = line.strip().strip("`'\"*<>").strip()
    name = re.sub(r"^(?:path|file|filename)\s*:\s*", "", name, flags=re.IGNORECASE).strip("`'\" ")
    return name if name and _FILE.match(name) else None


def _stop(lines: list[str], start: int, heads: list[_Head | None], ended: list[bool]) -> int:
    """The line after the code of a block."""
    fenced = False
    filled = next((n for n in range(start, len(lines)) if lines[n].strip()), len(lines))
    for number in range(start, len(lines)):
        line = lines[number]
        if _END.match(line) or heads[number] is not None:
            return number
        if _FENCE.match(line):
            if number == filled:
                fenced = True  # a fence of its own around the code
            elif not fenced and not ended[number]:
                return number
            else:
                fenced = False
    return len(lines)


def _code(lines: list[str]) -> str:
    """The code of a block, without fences, line numbers and marks that do not belong to it."""
    filled = [n for n, line in enumerate(lines) if line.strip()]
    if filled and _FENCE.match(lines[filled[0]]):
        rest = [n for n in filled[1:] if _FENCE.match(lines[n])]
        lines = lines[filled[0] + 1 : rest[-1] if rest else len(lines)]
    elif filled and _FENCE.match(lines[filled[-1]]):
        lines = lines[: filled[-1]]
    written = [line for line in lines if line.strip()]
    if written and all(_NUMBERED.match(line) for line in written):
        lines = [re.sub(r"^\s*\d+ ?", "", line) for line in lines]
    elif written and all(line.startswith("+") for line in written):
        lines = [line[1:] for line in lines]
    return "\n".join(line.rstrip("\r") for line in lines)
