"""The files of a repository that an issue is likely about, by BM25, within a limit of tokens.

Prompts show a long issue without the middle of its longest logs, tracebacks and listings.

What makes an issue long is seldom what its author wrote: it is output that was pasted whole, and of
that the beginning and the end tell most. So the longest blocks give way first, all of them down to
one length, and paragraphs stay as they are.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, zip_longest
from pathlib import PurePosixPath

from refute.issue.original import shortened
from refute.workspace.patches import is_test_file
from refute.workspace.running import holds_tests

LARGEST = 1 << 19
"""Characters of a file that are looked at; larger ones are generated tables."""

_PIECE = re.compile(r"[^\W\d_]+|\d|[^\w\s]|_|\n[ \t]*")
_LETTERS_A_TOKEN = 5.5
"""Of a run of letters; fitted so that Python source is not underestimated by common tokenizers."""

K1, B = 1.5, 0.75
"""BM25's usual values: how soon more of a term counts no more, how far long files are held back."""

_CAMEL = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+")
_WORD = re.compile(r"[A-Za-z_]\w*|\d+")


def estimated_tokens(text: str) -> int:
    """About how many tokens a model's tokenizer makes of `text`; errs on the high side.

    An estimate, because every model has its own tokenizer and a server does not offer its own.
    """
    total = 0.0
    for match in _PIECE.finditer(text):
        piece = match.group()
        total += max(1.0, len(piece) / _LETTERS_A_TOKEN) if piece[0].isalpha() else 1.0
    return int(total) + 1


def numbered(text: str) -> str:
    """The text with each line's number in front, as the papers' prompts show files."""
    return "\n".join(f"{number} {line}" for number, line in enumerate(text.splitlines(), 1))


def ranked(query: str, files: Mapping[str, str]) -> list[str]:
    """Paths of `files`, the most relevant to `query` first (BM25 over path and content).

    Identifiers count whole and by their parts (`get_or_create`: get, or, create). Ties are broken
    by path, so that the order depends on nothing else. The weights are Lucene's.
    """
    paths = sorted(files)
    terms = dict.fromkeys(_terms(query))
    documents = [_occurrences(f"{path}\n{files[path][:LARGEST]}", terms) for path in paths]
    holding = Counter(term for _, found in documents for term in found)
    if not holding:
        return paths
    average = sum(length for length, _ in documents) / len(documents)
    weights = {
        term: math.log(1 + (len(paths) - count + 0.5) / (count + 0.5))
        for term, count in holding.items()
    }

    def score(length: int, found: Mapping[str, int]) -> float:
        damping = K1 * (1 - B + B * length / average)
        return math.fsum(weights[term] * n / (n + damping) for term, n in found.items())

    scores = {path: score(*document) for path, document in zip(paths, documents, strict=True)}
    return sorted(paths, key=lambda path: -scores[path])


def _terms(text: str) -> list[str]:
    return [term for word in _WORD.findall(text) for term in _parts(word)]


def _occurrences(text: str, terms: Collection[str]) -> tuple[int, Counter[str]]:
    """Count the terms of a document, and each of `terms` in it."""
    length, found = 0, Counter[str]()
    for word, count in Counter(_WORD.findall(text)).items():
        for term in _parts(word):
            length += count
            if term in terms:
                found[term] += count
    return length, found


@lru_cache(maxsize=1 << 18)
def _parts(word: str) -> tuple[str, ...]:
    """A word in lower case, and its parts where it is an identifier made of several."""
    parts = _CAMEL.findall(word)
    if len(parts) < 2:
        return (word.lower(),)
    return (word.lower(), *(part.lower() for part in parts))


LEAST_TOKENS = 500
"""Of the repository: with less of it nothing can be written."""


_LEAST = 600
"""Characters down to which a block is shortened; what is still too long then is no matter of single
blocks."""
_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})")


def shown_issue(text: str, tokens: int) -> str:
    """The issue in at most about `tokens` tokens, by a high estimate; it says what is left out."""
    asked = estimated_tokens(text)
    if asked <= tokens:
        return text
    room = len(text) * tokens // asked
    blocks = _blocks(text)
    cap = max(_cap([len(block) for block in blocks], room), _LEAST)
    cut = "".join(shortened(block, cap) for block in blocks)
    return cut if len(cut) <= room + _LEAST else shortened(cut, room)


def _blocks(text: str) -> list[str]:
    """The text in pieces: fenced blocks whole, and runs of lines between blank ones."""
    blocks, fence, open_run = [""], "", False
    for line in text.splitlines(keepends=True):
        mark = _FENCE.match(line)
        if fence:
            blocks[-1] += line
            closes = mark is not None and line.strip() == mark[1] and mark[1].startswith(fence)
            fence, open_run = ("", False) if closes else (fence, True)
            continue
        if mark is not None:
            fence = mark[1]
        if fence or not open_run:
            blocks.append("")
        blocks[-1] += line
        open_run = bool(line.strip())
    return blocks


def _cap(sizes: list[int], room: int) -> int:
    """The length at which blocks are cut so that all of them together have `room` characters."""
    for number, size in enumerate(sorted(sizes)):
        share = room // (len(sizes) - number)
        if size > share:
            return share
        room -= size
    return max(sizes, default=0)


MOST = 5
"""Test files, unless asked otherwise: a few seconds of tests, not the whole suite."""

IMPORTS = 4
"""Nearness from which a test file is named after a changed module, or imports it."""

_IMPORT = re.compile(
    r"^[ \t]*(?:from[ \t]+([\w.]+)[ \t]+import[ \t]*(\([^)]*|(?:\\\n|[^\n;])*)"
    r"|import[ \t]+((?:\\\n|[^\n;])*))",
    re.MULTILINE,
)
_DEFINED = re.compile(r"^[ +-]*(?:async\s+)?(?:def|class)\s+(\w+)", re.MULTILINE)


def neighbouring_tests(
    changed: Sequence[str],
    files: Mapping[str, str],
    *,
    hint: str = "",
    most: int = MOST,
    least: int = 1,
) -> tuple[str, ...]:
    """Test files near the changed modules, the nearest first.

    `changed`: paths of code files. `files`: path -> source of the repository's Python files.
    `hint`: text about the change, such as the diff; it breaks ties. Near is, in this order: named
    after a changed module (`test_line.py`, `line/tests.py` for `line.py`), imports it, lies in the
    same package, mentions what the hint defines. `least`: how near at least.
    """
    tests = [path for path in files if is_test_file(path) and path.endswith(".py")]
    tests = [path for path in tests if holds_tests(files[path])]
    code = [path for path in changed if path.endswith(".py")]
    if not tests or not code:
        return ()
    order = {path: place for place, path in enumerate(_by_text(code, tests, files, hint))}
    stems = Counter(_stem(PurePosixPath(path)) for path in files if not is_test_file(path))
    common = frozenset(stem for stem, count in stems.items() if count > 1)
    scores = {path: _nearness(path, files[path], code, common) for path in tests}
    near = [path for path in tests if scores[path] >= least]
    near.sort(key=lambda path: (-scores[path], order[path], path))
    return tuple(near[:most])


def _by_text(
    code: Sequence[str], tests: Sequence[str], files: Mapping[str, str], hint: str
) -> list[str]:
    names = [PurePosixPath(path).stem for path in code] + _DEFINED.findall(hint)
    return ranked(" ".join(names), {path: files[path] for path in tests})


def _nearness(test: str, source: str, code: Sequence[str], common: Collection[str]) -> int:
    imported = _imported(source)
    return max(_to_one(PurePosixPath(test), imported, PurePosixPath(path), common) for path in code)


def _to_one(
    test: PurePosixPath, imported: frozenset[str], code: PurePosixPath, common: Collection[str]
) -> int:
    """`common`: what several modules are called (`base`); a test named so may be another's."""
    stem = _stem(code)
    score = 0
    if stem in common and not (_words(test) & _words(code)) - {stem}:
        pass
    elif _bare(test.stem) == stem:
        score += 8
    elif stem in test.parts[:-1] or f"test_{stem}" in test.parts:
        score += 4
    module = code.parent.parts if code.stem == "__init__" else code.with_suffix("").parts
    roots = [place for place, part in enumerate(module) if part in ("src", "lib")]
    module = module[roots[-1] + 1 :] if roots else module  # one of several packages, say
    if ".".join(module) in imported:
        score += IMPORTS
    elif len(module) > 1 and ".".join(module[:-1]) in imported:
        score += 2
    shared = sum(a == b for a, b in zip(test.parts, code.parts, strict=False))
    helper = "test" not in test.stem  # models.py, views.py: of tests, seldom with any
    return score + (1 if shared >= 2 else 0) - (1 if helper else 0)


def _stem(code: PurePosixPath) -> str:
    """Return the name of a module."""
    return code.parent.name if code.stem == "__init__" else code.stem


def _words(path: PurePosixPath) -> set[str]:
    """`generic` and `views` of `tests/generic_views/test_base.py`."""
    return {word for part in path.parts[:-1] for word in part.split("_")} - {"test", "tests"}


def _bare(stem: str) -> str:
    """`line` for `test_line`, `line_test`, `line_tests`."""
    return re.sub(r"^tests?_|_tests?$", "", stem)


@lru_cache(maxsize=1 << 13)
def _imported(source: str) -> frozenset[str]:
    """Dotted names of the modules that a file imports, and of names that it takes out of them.

    Read by lines: parsing hundreds of test files takes ten seconds, once for each candidate fix.
    What looks like an import within a string counts as well, which no ranking minds.
    """
    names: set[str] = set()
    for module, taken, plain in _IMPORT.findall(source):
        if plain:
            names.update(_first_words(plain))
        elif not module.startswith("."):
            names.add(module)
            names.update(f"{module}.{name}" for name in _first_words(taken))
    return frozenset(names)


def _first_words(items: str) -> list[str]:
    """`a.b` and `c` of `a.b as x, c  # why`."""
    return re.findall(r"(?:^|,)[\s(\\]*([\w.]+)", re.sub(r"#.*", "", items))


_NEAR_CODE = 3
"""Of the likeliest code files, those whose neighbouring tests are listed too."""
_MOST_TESTS_NEAR = 20
_RARE = 3
"""Definitions of one name, up to which the name says where they are."""
_ASIDE = frozenset(
    ("benchmarks", "doc", "docs", "example", "examples", "script", "scripts", "tools")
)
"""Folders at the top whose code is seldom at fault."""
_PATH = re.compile(r"[\w./\\-]+\.py\b")
_DOTTED = re.compile(r"\b[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+")
_IDENTIFIER = re.compile(r"`(\w{3,})`|\b(\w{3,})(?=\()|\b(\w*[A-Za-z0-9]_\w+|\w*[a-z][A-Z]\w*)")
"""Names that an issue writes as code: in backticks, called, or with an underscore or inner
capital."""
_CODE_WORD = re.compile(rf"{_IDENTIFIER.pattern}|\b([A-Z]+[0-9]{{2,}})\b")
"""These, and codes such as E108."""
_TRACEBACK = re.compile(
    r"^[^\S\n]*Traceback \(most recent call last\):\n"
    r"(?:[^\S\n]+\S.*\n|[^\S\n]*\n|During handling.*\n|The above exception.*\n)*(?:\S.*)?",
    re.MULTILINE,
)
"""With the line of its exception."""
_DEFINITION = re.compile(r"^[ \t]*(?:async[ \t]+def|def|class)[ \t]+(\w+)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Likely:
    """Files by the issue's words alone, the likeliest first."""

    code: tuple[str, ...]
    tests: tuple[str, ...]


def likely_files(issue: str, files: Mapping[str, str], seen: str = "") -> Likely:
    """Rank the files that the issue names, by path or as a definition, then by BM25; of tests also
    those near the likeliest code.

    `files`: path -> source of all Python files. `seen`: tracebacks of the issue's own example as
    it was run here; their code counts as named, the innermost first.
    """
    inward = "\n".join(reversed(seen.splitlines()))
    tests = {p: t for p, t in files.items() if is_test(p) and holds_tests(t)}
    tests = {p: t for p, t in tests.items() if not p.endswith(("/models.py", "/conftest.py"))}
    code = {p: t for p, t in files.items() if is_code(p, t)}
    of_run = (path for path in mentioned(inward, files) if path in code)
    said = list(dict.fromkeys((*mentioned(issue, files), *of_run)))
    held = Counter(path for paths in holders(issue, code) for path in sorted(paths))
    holding = [path for path, _ in held.most_common()]
    said[_NEAR_CODE:_NEAR_CODE] = holding[:_NEAR_CODE]  # before a traceback's outer frames
    by_words = [*_defining(issue, code), *ranked(issue, code)]
    by_words.sort(key=lambda path: not _ASIDE.isdisjoint(path.split("/")[:-1]))
    ranked_code = [p for p in dict.fromkeys([*said, *by_words]) if p in code]
    near = neighbouring_tests(ranked_code[:_NEAR_CODE], tests, hint=issue, most=_MOST_TESTS_NEAR)
    by_turns = chain.from_iterable(zip_longest(ranked(issue, tests), near))
    ranked_tests = [p for p in dict.fromkeys([*said, *by_turns]) if p in tests]
    return Likely(tuple(ranked_code), tuple(ranked_tests))


def holders(issue: str, code: Mapping[str, str]) -> list[frozenset[str]]:
    """Of each code word in the issue, tracebacks left out, that few files hold: these files."""
    said = _TRACEBACK.sub("", issue)
    words = {next(filter(None, found)) for found in _CODE_WORD.findall(said)}
    if not words:
        return []
    found: dict[str, set[str]] = defaultdict(set)
    pattern = re.compile(rf"\b(?:{'|'.join(map(re.escape, sorted(words)))})\b")
    for path, text in code.items():
        if _ASIDE.isdisjoint(path.split("/")[:-1]):
            for word in set(pattern.findall(text)):
                found[word].add(path)
    return [frozenset(paths) for _, paths in sorted(found.items()) if len(paths) <= _RARE]


def is_test(path: str) -> bool:
    """Return whether the file holds tests; a package's own helpers for tests (`django/test/`,
    `testing.py`) are code."""
    *folders, name = path.split("/")
    helpers = name in ("test.py", "testing.py") and not {"test", "tests"}.intersection(folders)
    return is_test_file(path) and not helpers and not {"test", "testing"}.intersection(folders[1:])


def is_code(path: str, text: str) -> bool:
    return bool(text.strip()) and not is_test(path)


def _defining(issue: str, code: Mapping[str, str]) -> list[str]:
    """The files that define what the issue writes as code, those with most of it first.

    Names that many places define say nothing.
    """
    wanted = {next(filter(None, found)) for found in _IDENTIFIER.findall(issue)}
    places: dict[str, list[str]] = defaultdict(list)
    for path, text in code.items():
        for name in wanted.intersection(_DEFINITION.findall(text)):
            places[name].append(path)
    scores: Counter[str] = Counter()
    for found in places.values():
        if len(found) <= _RARE:
            for path in found:
                scores[path] += 6 // len(found)
    return sorted(scores, key=lambda path: (-scores[path], path))


def mentioned(issue: str, files: Mapping[str, str]) -> Iterator[str]:
    """Files that the issue names by path (a traceback's are absolute) or by dotted module."""
    for match in _PATH.finditer(issue):
        parts = match.group().replace("\\", "/").split("/")
        for start in range(len(parts) - 1):
            path = "/".join(parts[start:])
            if path in files:
                yield path
                break
    for match in _DOTTED.finditer(issue):
        parts = match.group().split(".")
        for stop in range(len(parts), 1, -1):
            stem = "/".join(parts[:stop])
            found = [p for root in ("", "src/", "lib/") for p in (f"{root}{stem}.py",)
                     if p in files]  # fmt: skip
            if found:
                yield found[0]
                break
