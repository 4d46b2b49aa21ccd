"""Find the file for the tests of a module and its style, and put a test into it.

Files are read, never executed.
"""

from __future__ import annotations

import ast
import re
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent, indent

from refute.core.storage import parse_toml
from refute.function.project import imported_of, read_bounded, test_files
from refute.function.scenarios.bodies import Style
from refute.source.imports import add_imports
from refute.source.syntax import Function, bound_names, first_line, parse_module, readable_module


@dataclass(frozen=True, slots=True)
class Placement:
    """The file that a test belongs into."""

    path: Path
    exists: bool
    style: Style


def place_test(project_root: Path, module_name: str, target: str) -> Placement:
    """Choose the file for a test of `target` ("Cart.total") of a module ("shop.cart").

    The file of the module's name (tests/test_cart.py, tests/shop/test_cart.py) where there is one;
    else the file that imports the module and names the target most; else a new file, where the
    others lie and in their style.
    """
    files = list(test_files(project_root))
    texts = {path: read_bounded(path) for path in files}
    *packages, last = module_name.split(".")
    wanted = {f"test_{last.strip('_')}.py", f"{last.strip('_')}_test.py", f"test_{last}.py"}
    words = [word for word in target.split(".") if word]
    scores: dict[Path, tuple[int, int, int, int]] = {}
    for path, text in texts.items():
        mentions = sum(len(re.findall(rf"\b{re.escape(word)}\b", text)) for word in words[-1:])
        imports = bool(imported_of([module_name], text))
        named = path.name in wanted
        above = path.relative_to(project_root).parts[:-1]
        near = sum(package in above for package in packages)
        if named or (imports and mentions):
            scores[path] = (int(named), int(imports), near, mentions)
    width = _width(project_root)
    if scores:
        best = max(scores, key=lambda path: (scores[path], -len(path.parts), str(path)))
        return Placement(best, True, _style_of([texts[best]], width))
    folder = _folder(project_root, files, packages)
    path = folder / f"test_{last.strip('_') or 'module'}.py"
    number = 2
    while path.exists():
        path = folder / f"test_{last.strip('_')}_{number}.py"
        number += 1
    return Placement(path, False, _style_of(list(texts.values()), width))


def _folder(root: Path, files: list[Path], packages: list[str]) -> Path:
    """Return the folder for a new file of tests: beside the others, in a folder of the package
    where one exists."""
    homes = Counter(path.parent for path in files)
    for name in ("tests", "test"):
        if (root / name).is_dir():
            folder = root / name
            break
    else:
        folder = homes.most_common(1)[0][0] if homes else root / "tests"
    for start in range(len(packages)):
        inner = folder.joinpath(*packages[start:])
        if inner.is_dir():
            return inner
    return folder


def _style_of(texts: list[str], width: int) -> Style:
    """unittest where most tests are methods of test cases; annotated where most tests are."""
    cases = functions = annotated = 0
    for text in texts:
        tree = readable_module(text)
        for node in tree.body:
            inner = node.body if isinstance(node, ast.ClassDef) else [node]
            tests = [
                one for one in inner if isinstance(one, Function) and one.name.startswith("test")
            ]
            if isinstance(node, ast.ClassDef) and is_test_case(node):
                cases += len(tests)
            else:
                functions += len(tests)
            annotated += sum(one.returns is not None for one in tests)
    return Style(
        "unittest" if cases > functions else "pytest", 2 * annotated > cases + functions, width
    )


def _width(root: Path) -> int:
    """The line length that the project sets for black or ruff."""
    try:
        tools = parse_toml(read_bounded(root / "pyproject.toml")).get("tool", {})
        for name in ("black", "ruff"):
            width = tools.get(name, {}).get("line-length")
            if isinstance(width, int) and 60 <= width <= 200:
                return width
    except (ValueError, AttributeError):
        pass
    return Style().width


# -- into a file -----------------------------------------------------------------------------------

_FOR_TESTS = frozenset({"pytest", "hypothesis", "numpy"})
_Import = ast.Import | ast.ImportFrom


def insert(text: str, test_source: str, near: str) -> str | None:
    """The file with the one test of `test_source` (see `writing.render_test`), or None where it
    cannot be put there without breaking something: then it needs a file of its own.

    It stands behind the last test that is about `near` ("Cart.total"), in the same class where
    that is one, else at the end. A name that the file has is not imported again; a test whose name
    is taken gets a number.
    """
    ends = "\r\n" if "\r\n" in text else "\n"
    plain = text.replace("\r\n", "\n")
    try:
        tree, new = parse_module(plain), parse_module(test_source)
        found = _inserted(plain, tree, test_source, new, near)
        if found is None or not _is_more(tree, parse_module(found)):
            return None
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    return found.replace("\n", ends)


def is_test_case(node: ast.ClassDef) -> bool:
    """Return whether a class is one of unittest's, by the names of its bases."""
    return any(ast.unparse(one).rpartition(".")[2].endswith("TestCase") for one in node.bases)


def _inserted(text: str, tree: ast.Module, source: str, new: ast.Module, near: str) -> str | None:
    owner, test = _test_of(new)
    if test is None:
        return None
    if len(tree.body) == (ast.get_docstring(tree, clean=False) is not None):
        return "\n\n".join(one for one in (text.rstrip(), source) if one)
    imports = _lacking(tree, new)
    if imports is None:
        return None
    home, behind = _related(tree, near, owner is not None)
    lines = text.split("\n") if text.endswith("\n") or not text else [*text.split("\n"), ""]
    named = source.split("\n")[first_line(test) - 1 : test.end_lineno]
    code = dedent("\n".join(named))
    name = _free_name(test.name, home.body if home else tree.body)
    code = re.sub(rf"(?m)^((?:async )?def ){test.name}\(", rf"\g<1>{name}(", code, count=1)
    if home is not None:
        if owner is None:
            code = re.sub(rf"(def {name}\()(?=(\)?))", _with_self, code, count=1)
        at = behind.end_lineno if behind is not None else home.body[-1].end_lineno
        block = ["", *indent(code, " " * home.body[0].col_offset).split("\n")]
        if at is None:
            return None
        lines[at:at] = block
    else:
        if owner is not None:
            head = source.split("\n")[first_line(owner) - 1]
            title = _free_name(owner.name, tree.body)
            head = head.replace(owner.name, title, 1)
            code = f"{head}\n{indent(code, '    ')}"
        _put_at_top_level(lines, tree, code, behind)
    file = _File("\n".join(lines), _own(new))
    for line in imports:
        add_imports(file, line)
    return file.text


def _test_of(new: ast.Module) -> tuple[ast.ClassDef | None, ast.FunctionDef | None]:
    """The test of a source, and its class."""
    for node in new.body:
        if isinstance(node, ast.FunctionDef):
            return None, node
        if isinstance(node, ast.ClassDef):
            inner = [one for one in node.body if isinstance(one, ast.FunctionDef)]
            return node, inner[0] if inner else None
    return None, None


def _with_self(match: re.Match[str]) -> str:
    return match[1] + ("self" if match[2] else "self, ")


def _free_name(name: str, body: Sequence[ast.stmt]) -> str:
    taken = {one.name for one in body if isinstance(one, (Function, ast.ClassDef))}
    number, free = 2, name
    while free in taken:
        free, number = f"{name}_{number}", number + 1
    return free


# -- where -----------------------------------------------------------------------------------------


def _related(
    tree: ast.Module, near: str, case: bool
) -> tuple[ast.ClassDef | None, ast.stmt | None]:
    """(class, test) after which it comes: the last one about `near`'s last name, else about its
    class; a test of a test case only among those, any other test not there."""
    every: list[tuple[ast.ClassDef | None, ast.stmt]] = []
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            fits = is_test_case(node) if case else _is_plain(node)
            if fits and not node.decorator_list:
                every += [(node, one) for one in node.body if _is_test(one)]
        elif _is_test(node) and not case:
            every.append((None, node))
    for word in reversed([one for one in near.split(".") if one]):
        about = [pair for pair in every if _is_about(pair[1], word)]
        if about:
            return about[-1]
    if case and every:
        return every[-1][0], every[-1][1]
    return None, None


def _is_plain(node: ast.ClassDef) -> bool:
    """Return whether pytest collects a class, which is not a test case of unittest."""
    return node.name.startswith("Test") and not is_test_case(node)


def _is_test(node: ast.stmt) -> bool:
    return isinstance(node, Function) and node.name.startswith("test")


def _is_about(node: ast.stmt, word: str) -> bool:
    for one in ast.walk(node):
        if isinstance(one, ast.Name) and one.id == word:
            return True
        if isinstance(one, ast.Attribute) and one.attr == word:
            return True
    return False


def _put_at_top_level(
    lines: list[str], tree: ast.Module, code: str, behind: ast.stmt | None
) -> None:
    """Two empty lines before and behind; at the end before what runs the file as a script."""
    last = tree.body[-1] if tree.body else None
    script = isinstance(last, ast.If) and "__name__" in ast.unparse(last.test)
    if behind is not None and behind.end_lineno is not None:
        at = behind.end_lineno
    elif script and last is not None and len(tree.body) > 1:
        at = tree.body[-2].end_lineno or 0
    else:
        at = len(lines)
        while at and not lines[at - 1].strip():
            at -= 1
    rest = lines[at:]
    while rest and not rest[0].strip():
        rest.pop(0)
    before = ["", ""] if at else []
    lines[at:] = [*before, *code.rstrip("\n").split("\n"), *(["", "", *rest] if rest else [""])]


# -- imports ---------------------------------------------------------------------------------------


def _lacking(tree: ast.Module, new: ast.Module) -> list[str] | None:
    """Import statements of what the file does not import yet; None where one of the names means
    something else there."""
    outer = [n for n in ast.walk(tree) if not isinstance(n, Function | ast.ClassDef)]
    have = {part for node in outer if isinstance(node, _Import) for part in _imported(node)}
    bound = bound_names(tree)
    lacking: list[str] = []
    for node in new.body:
        if not isinstance(node, _Import):
            continue
        for alias, (module, name, known) in zip(node.names, _imported(node), strict=True):
            taken = known.partition(".")[0] in bound
            if taken and (module, name, known) in have:
                continue
            if taken and not _same_package(module, name, have):
                return None
            shown = ast.unparse(alias)
            lacking.append(f"from {module} import {shown}" if name else f"import {shown}")
    return lacking


def _same_package(module: str, name: str, have: set[tuple[str, str, str]]) -> bool:
    """Return whether ``import a.b`` only adds to an ``import a`` or ``import a.c``."""
    top = module.partition(".")[0]
    return not name and any(not n and m.partition(".")[0] == top and k == m for m, n, k in have)


def _imported(node: _Import) -> list[tuple[str, str, str]]:
    """(module, name, name that it has here) of each part."""
    if isinstance(node, ast.Import):
        return [(one.name, "", one.asname or one.name) for one in node.names]
    module = "." * node.level + (node.module or "")
    return [(module, one.name, one.asname or one.name) for one in node.names]


class _File:
    """A file of tests that imports are put into."""

    def __init__(self, text: str, own: frozenset[str]) -> None:
        self.text = text
        self.own = own

    @property
    def tree(self) -> ast.Module:
        return parse_module(self.text)

    @property
    def lines(self) -> list[str]:
        return [f"{line}\n" for line in self.text.split("\n")]

    def is_own(self, package: str) -> bool:
        return package in self.own

    def splice(self, start: int, stop: int, lines: Sequence[str]) -> None:
        old = self.text.split("\n")
        self.text = "\n".join([*old[:start], *lines, *old[stop:]])


def _own(new: ast.Module) -> frozenset[str]:
    """Packages of the project: what the test imports that is none for tests, nor Python's."""
    names = {module.partition(".")[0] for node in new.body if isinstance(node, _Import)
             for module, _, _ in _imported(node)}  # fmt: skip
    return frozenset(names - _FOR_TESTS - sys.stdlib_module_names)


# -- nothing lost ----------------------------------------------------------------------------------


def _is_more(old: ast.Module, new: ast.Module) -> bool:
    """Return whether a tree holds all that another one holds, in its order, and one test more."""
    imports = [
        {part for one in tree.body if isinstance(one, _Import) for part in _imported(one)}
        for tree in (old, new)
    ]
    return (
        _tests(new) == _tests(old) + 1
        and imports[0] <= imports[1]
        and _holds([ast.dump(one) for one in _others(new)], [ast.dump(one) for one in _others(old)])
    )


def _others(tree: ast.Module) -> list[ast.stmt]:
    """All statements but imports, those of classes each for itself."""
    found: list[ast.stmt] = []
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            found += node.body
        elif not isinstance(node, _Import):
            found.append(node)
    return found


def _holds(many: Sequence[str], few: Sequence[str]) -> bool:
    left = iter(many)
    return all(one in left for one in few)


def _tests(tree: ast.Module) -> int:
    return sum(_is_test(one) for one in _others(tree))
