"""The existing tests that a change of code is most likely to break."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from pathlib import PurePosixPath

from refute.issue.context.ranking import ranked
from refute.workspace.patches import is_test_file
from refute.workspace.running import holds_tests

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
    """What a module is called."""
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
