"""What makes tests green without a fix, where reading shows it: changes of how tests run, tests
that replace the code under test, code that knows of tests."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from refute.syntax import Function, readable_module
from refute.workspace.infer import toml_of
from refute.workspace.patches import added_lines, split_lines

__all__ = ["Trick", "knows_that_it_is_tested", "loaded_plugins", "patched", "runner_changes"]

_HARMLESS = frozenset({"markers", "minversion"})
"""Settings of pytest that change no outcome."""
_PYTEST = re.compile(r"^\[(?:pytest|tool:pytest|tool\.pytest[\w.]*)\]\s*$")
_TESTED = re.compile(
    r"PYTEST_(?:CURRENT_TEST|VERSION|XDIST_WORKER)|\b_?pytest\b|\bconftest\b|\bAssertionRewriter\b"
    r"|\bsys\.modules\b.*\bunittest\b|\bunittest\b.*\bsys\.modules\b"
    r"|\b(?:inspect\.stack|sys\._getframe|inspect\.currentframe|currentframe)\b"
)
_OF_RUNNER = frozenset({"pytest", "_pytest", "unittest", "pluggy", "doctest"})


@dataclass(frozen=True, slots=True)
class Trick:
    """Something that reading shows."""

    path: str
    line: int
    what: str

    @property
    def where(self) -> str:
        """`path:line`."""
        return f"{self.path}:{self.line}"


# -- how tests run ---------------------------------------------------------------------------------


def runner_changes(path: str, before: str | None, after: str | None) -> Iterator[Trick]:
    """What a change of a file that decides how tests run does to them; a fixture, a marker or a
    dependency that is added does nothing."""
    name = path.rpartition("/")[2].lower()
    if name == "conftest.py":
        yield from _conftest(path, before or "", after or "")
    elif name in ("pyproject.toml", "pytest.toml", ".pytest.toml"):
        yield from _tables(path, toml_of(before), toml_of(after))
    elif name in ("pytest.ini", ".pytest.ini", "tox.ini", "setup.cfg"):
        yield from _sections(path, before or "", after or "")
    elif after is not None:
        yield Trick(path, 1, "is imported or read before any test runs")


def _conftest(path: str, before: str, after: str) -> Iterator[Trick]:
    old = {ast.unparse(node) for node in readable_module(before).body}
    known = {n.name: n for n in readable_module(before).body if isinstance(n, Function)}
    for node in readable_module(after).body:
        if ast.unparse(node) not in old:
            told = _effect(node, known)
            if told:
                yield Trick(path, node.lineno, told)


def _effect(node: ast.stmt, known: Mapping[str, Function]) -> str:
    """What a new statement of a `conftest.py` does to tests that do not ask for it, or ""."""
    if isinstance(node, Function):
        if node.name.startswith("pytest_"):
            return f"the hook {node.name} takes part in every test"
        marks = [ast.unparse(decorator) for decorator in node.decorator_list]
        if any("autouse=True" in mark.replace(" ", "") for mark in marks):
            return f"the fixture {node.name} is used by every test"
        if any("fixture" in mark for mark in marks) and node.name in known:
            return f"the fixture {node.name} gives something else"
        return ""
    if isinstance(node, ast.Import | ast.ImportFrom | ast.ClassDef):
        return ""
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return ""
    if isinstance(node, ast.Assign | ast.AnnAssign):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        names = [target.id for target in targets if isinstance(target, ast.Name)]
        special = {"collect_ignore", "collect_ignore_glob", "pytest_plugins"} & set(names)
        if len(names) == len(targets) and not special:
            return ""
    return f"runs before every test: {ast.unparse(node).splitlines()[0][:80]}"


def _tables(path: str, before: dict[str, Any], after: dict[str, Any]) -> Iterator[Trick]:
    def pytest_of(table: dict[str, Any]) -> dict[str, Any]:
        found = table.get("pytest") if path.endswith("pytest.toml") else None
        tool = table.get("tool")
        found = found or (tool.get("pytest") if isinstance(tool, dict) else None)
        found = found if isinstance(found, dict) else {}
        inner = found.get("ini_options")
        return {**found, **(inner if isinstance(inner, dict) else {})}

    old, new = pytest_of(before), pytest_of(after)
    for key in dict.fromkeys((*old, *new)):
        if key not in (*_HARMLESS, "ini_options") and old.get(key) != new.get(key):
            yield Trick(path, 1, f"pytest's setting {key} is changed")
    for section, what in (("entry-points", "pytest11"), ("refute", "")):
        was, now = (_inner(table, section) for table in (before, after))
        if what:
            was, now = was.get(what), now.get(what)
        if was != now:
            told = "a plugin of pytest" if what else "refute's own configuration"
            yield Trick(path, 1, f"{told} is changed")


def _inner(table: dict[str, Any], section: str) -> Any:
    owner = table.get("tool" if section == "refute" else "project")
    found = owner.get(section) if isinstance(owner, dict) else None
    return found if isinstance(found, dict) else {}


def _sections(path: str, before: str, after: str) -> Iterator[Trick]:
    old, new = _settings(before), _settings(after)
    for key in dict.fromkeys((*old, *new)):
        if key not in _HARMLESS and old.get(key) != new.get(key):
            yield Trick(path, 1, f"pytest's setting {key} is changed")


def _settings(text: str) -> dict[str, str]:
    """The settings of pytest's section, without a parser that refuses what pytest takes."""
    found: dict[str, str] = {}
    inside, key = False, ""
    for line in text.splitlines():
        if line.startswith("["):
            inside = bool(_PYTEST.match(line))
        elif inside and line[:1].strip() and line[:1] not in "#;":
            key, _, value = line.partition("=")
            key = key.strip()
            found[key] = value.strip()
        elif inside and key and line.strip() and line.strip()[0] not in "#;":
            found[key] += f"\n{line.strip()}"
    return found


# -- tests that replace what they test -------------------------------------------------------------


def patched(
    path: str, before: str | None, after: str, names: Collection[str], modules: Collection[str]
) -> Iterator[Trick]:
    """Replacements that a test file makes now and did not make before.

    `names`: of functions that the change touches, without their modules. `modules`: dotted names
    of the changed modules.
    """
    old = {text for text, _ in _replacements(readable_module(before or ""))}
    for text, (line, target) in _replacements(readable_module(after)):
        if text in old:
            continue
        last = target.rpartition(".")[2]
        if target.partition(".")[0] in _OF_RUNNER:
            yield Trick(path, line, f"{target} of the test runner is replaced")
        elif last in names:
            yield Trick(path, line, f"{target}, which the change is about, is replaced")
        elif target.startswith("sys.modules[") and any(m in target for m in modules):
            yield Trick(path, line, f"a changed module is replaced: {target}")


def _replacements(tree: ast.Module) -> Iterator[tuple[str, tuple[int, str]]]:
    """Source -> (line, dotted name of what is replaced)."""
    imported = _imported(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign | ast.AugAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for target in targets:
                name = _replaced(target, imported)
                if name:
                    yield ast.unparse(node), (node.lineno, name)
        elif isinstance(node, ast.Call):
            name = _by_call(node, imported)
            if name:
                yield ast.unparse(node), (node.lineno, name)


def _replaced(target: ast.expr, imported: Mapping[str, str]) -> str:
    if isinstance(target, ast.Attribute):
        owner = _dotted(target.value, imported)
        return f"{owner}.{target.attr}" if owner else ""
    if isinstance(target, ast.Subscript):
        owner = ast.unparse(target.value)
        if owner.endswith(("sys.modules", "__dict__", "__globals__", "vars()")):
            key = ast.unparse(target.slice).strip("'\"")
            return f"sys.modules[{key}]" if owner == "sys.modules" else f"{owner}.{key}"
    return ""


def _by_call(call: ast.Call, imported: Mapping[str, str]) -> str:
    """`setattr(m, "f", x)`, `monkeypatch.setattr(m, "f", x)`, `patch("m.f")`, `patch.object`."""
    head = ast.unparse(call.func)
    arguments = call.args
    texts = [a.value for a in arguments if isinstance(a, ast.Constant) and isinstance(a.value, str)]
    if head.endswith("setitem") and arguments and ast.unparse(arguments[0]) == "sys.modules":
        return f"sys.modules[{texts[0]}]" if texts else ""
    if head == "setattr" or head.endswith((".setattr", "patch.object", ".object")):
        if arguments and isinstance(arguments[0], ast.Constant):
            return texts[0] if texts else ""
        if len(arguments) >= 2 and isinstance(arguments[1], ast.Constant):
            owner = _dotted(arguments[0], imported)
            return f"{owner}.{arguments[1].value!s}" if owner else ""
        return ""
    if head in ("patch", "mock.patch", "unittest.mock.patch", "mocker.patch"):
        return texts[0] if texts else ""
    return ""


def _dotted(node: ast.expr, imported: Mapping[str, str]) -> str:
    """A dotted name that begins with something imported; "" for anything else."""
    text = ast.unparse(node)
    if not re.fullmatch(r"[\w.]+", text):
        return ""
    first, dot, rest = text.partition(".")
    return f"{imported[first]}{dot}{rest}" if first in imported else ""


def _imported(tree: ast.Module) -> dict[str, str]:
    found = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                first = alias.name.partition(".")[0]
                found[alias.asname or first] = alias.name if alias.asname else first
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                name = f"{node.module}.{alias.name}" if node.module else alias.name
                found[alias.asname or alias.name] = name
    return found


# -- code that knows of tests ----------------------------------------------------------------------


def knows_that_it_is_tested(code: str, after: Mapping[str, str]) -> Iterator[Trick]:
    """Lines that a diff of code adds by which it can find out that a test runs. `after`: path ->
    text after the change."""
    for path, lines in added_lines(code).items():
        if not path.endswith(".py"):
            continue
        text = split_lines(after.get(path, ""))
        for line in lines:
            found = _TESTED.search(text[line - 1]) if line <= len(text) else None
            if found and not text[line - 1].lstrip().startswith("#"):
                yield Trick(
                    path, line, f"code looks for the tests: `{text[line - 1].strip()[:100]}`"
                )


def loaded_plugins(before: str | None, after: str) -> list[str]:
    """`pytest_plugins` that a test file names now."""
    return [
        ast.unparse(node)
        for node in readable_module(after).body
        if isinstance(node, ast.Assign)
        and ast.unparse(node).startswith("pytest_plugins")
        and ast.unparse(node) not in (before or "")
    ]
