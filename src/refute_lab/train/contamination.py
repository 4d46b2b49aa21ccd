"""Near-duplicates of the evaluation problems, and of one another, found by shared n-grams.

Two measures, on the words of the descriptions and on the tokens of the code, exact (an inverted
index finds every pair; nothing is sampled as in MinHash):

- Jaccard similarity of the two sets of n-grams, for rewordings of like length;
- containment, the share of the evaluation problem's n-grams that the task holds, for a problem
  inside a longer text.

Names, docstrings and comments do not count in code: each name is its number of first use.
"""

from __future__ import annotations

import ast
import hashlib
import io
import keyword
import os
import re
import tokenize
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from refute.core.starting import Variable
from refute.errors import DatasetError
from refute.source.syntax import parse_module
from refute_lab.datasets import function_datasets, load

WORDS = 5
"""Words in an n-gram of a description."""
TOKENS = 13
"""Tokens in an n-gram of code. Shorter ones are idioms that unrelated functions share."""
JACCARD = 0.5
CONTAINED = 0.8
FEWEST = 8
"""So many n-grams of an evaluation problem at least, or containment says nothing."""
MEASURE = (
    f"{WORDS}-grams of the description's words, {TOKENS}-grams of the code's tokens with names "
    f"numbered: Jaccard similarity of at least {JACCARD}, or {CONTAINED:.0%} of the evaluation "
    f"problem's n-grams contained (where it has {FEWEST} or more); exact, no sampling"
)
"""For the data card."""

_Documented = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


@dataclass(frozen=True, slots=True)
class Text:
    """The text of a problem that is compared."""

    name: str
    """For people: `humaneval+ HumanEval/7`."""
    description: str
    code: str


@dataclass(frozen=True, slots=True)
class Match:
    """The nearest evaluation problem, where it is too near."""

    name: str
    part: str
    """`description` or `code`."""
    measure: str
    """`jaccard` or `containment`."""
    value: float


class Index:
    """Evaluation problems by their n-grams."""

    def __init__(self, texts: Iterable[Text]) -> None:
        self._names: list[str] = []
        self._sizes: dict[str, list[int]] = {"description": [], "code": []}
        self._holders: dict[tuple[str, int], list[int]] = defaultdict(list)
        whole = hashlib.sha256()
        for number, text in enumerate(texts):
            whole.update(f"{text.name}\0{text.description}\0{text.code}\0".encode())
            self._names.append(text.name)
            for part, grams in _parts(text.description, text.code):
                self._sizes[part].append(len(grams))
                for gram in grams:
                    self._holders[part, gram].append(number)

        self.digest = whole.hexdigest() if self._names else ""
        """Changes with the problems; "" where there are none."""

    def __len__(self) -> int:
        return len(self._names)

    def nearest(self, description: str, code: str) -> Match | None:
        """The problem that a task is too near to; None where there is none."""
        best: Match | None = None
        for part, grams in _parts(description, code):
            shared: Counter[int] = Counter()
            for gram in grams:
                shared.update(self._holders.get((part, gram), ()))
            for number, count in shared.items():
                size = self._sizes[part][number]
                jaccard = count / (len(grams) + size - count)
                contained = count / size if size >= FEWEST else 0.0
                if jaccard >= JACCARD:
                    found = Match(self._names[number], part, "jaccard", jaccard)
                elif contained >= CONTAINED:
                    found = Match(self._names[number], part, "containment", contained)
                else:
                    continue
                if best is None or found.value > best.value:
                    best = found
        return best


def evaluation_texts(names: Iterable[str]) -> Iterator[Text]:
    """The problems of datasets (names or files, as `refute bench` takes them).

    Raises `DatasetError`.
    """
    for name in names:
        for item in load(name):
            code = item.key.reference or item.problem.code
            yield Text(f"{name} {item.problem.id}", item.problem.description, code)


def available() -> list[str]:
    """The public evaluation sets that are in REFUTE_DATA."""
    folder = os.environ.get(Variable.DATA)
    found = []
    for name in function_datasets() if folder and Path(folder).is_dir() else ():
        try:
            load(name, limit=1)
        except DatasetError:
            continue
        found.append(name)
    return found


def words(text: str) -> list[str]:
    """The words of a description, in lower case."""
    return re.findall(r"[^\W_]+", text.lower())


def code_tokens(code: str) -> list[str]:
    """The tokens of code, with names as their numbers of first use; [] for what does not parse."""
    try:
        tree = parse_module(code)
        for node in ast.walk(tree):
            if isinstance(node, _Documented) and ast.get_docstring(node, clean=False) is not None:
                node.body = node.body[1:] or [ast.Pass()]
        text = ast.unparse(tree)
        found = list(tokenize.generate_tokens(io.StringIO(text).readline))
    except (SyntaxError, ValueError, RecursionError, MemoryError, tokenize.TokenError):
        return []
    numbers: dict[str, str] = {}
    tokens = []
    for token in found:
        if token.type == tokenize.NAME and not keyword.iskeyword(token.string):
            tokens.append(numbers.setdefault(token.string, f"n{len(numbers)}"))
        elif token.string.strip():
            tokens.append(token.string)
    return tokens


def _parts(description: str, code: str) -> tuple[tuple[str, set[int]], tuple[str, set[int]]]:
    return (
        ("description", _grams(words(description), WORDS)),
        ("code", _grams(code_tokens(code), TOKENS)),
    )


def _grams(tokens: list[str], n: int) -> set[int]:
    """Runs of n tokens as numbers of 64 bits; of a shorter text its whole."""
    if not tokens:
        return set()
    runs = (tokens[i : i + n] for i in range(max(1, len(tokens) - n + 1)))
    return {
        int.from_bytes(hashlib.blake2b(" ".join(r).encode(), digest_size=8).digest()) for r in runs
    }
