"""Where a project keeps the tests of a module, in which style, and where a new file goes.

Files are read, never executed.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from refute.core.storage import parse_toml
from refute.function.project_tests import read_bounded, test_files
from refute.function.scenarios.bodies import Style
from refute.function.scenarios.inserting import is_test_case
from refute.source.syntax import Function, readable_module


@dataclass(frozen=True, slots=True)
class Placement:
    """The file that a test belongs into."""

    path: Path
    exists: bool
    style: Style


def place_test(project_root: Path, module_name: str, target: str) -> Placement:
    """Where a test of `target` ("Cart.total") of a module ("shop.cart") belongs.

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
        imports = _imports(text, module_name)
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


def _imports(text: str, module: str) -> bool:
    """Whether a file imports a module, or something of it."""
    if module.rpartition(".")[2] not in text:
        return False
    for node in ast.walk(readable_module(text)):
        if isinstance(node, ast.Import) and any(one.name == module for one in node.names):
            return True
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            if node.module == module:
                return True
            if any(f"{node.module}.{one.name}" == module for one in node.names):
                return True
    return False


def _folder(root: Path, files: list[Path], packages: list[str]) -> Path:
    """Where a new file of tests goes: with the others, in a folder of the package where there is
    one."""
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
