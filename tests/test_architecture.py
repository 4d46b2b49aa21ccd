"""The arrows between packages, and the map of them, as docs/architecture.md states them."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import refute

PACKAGE = Path(refute.__file__).parent
TOPS = (PACKAGE, PACKAGE.with_name("refute_lab"))
MAP = Path(__file__).resolve().parents[1] / "docs" / "architecture.md"
METHODS = {"function", "issue", "results", "verbs", "doors"}
FORBIDDEN = {
    "sandbox": METHODS,
    "workspace": METHODS,
    "models": METHODS,
    "core": METHODS,
    "source": METHODS,
    "function": {"issue", "results", "verbs", "doors"},
    "issue": {"function", "results", "verbs", "doors"},
}
"""Package -> packages that it must not import."""


def imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and not node.level and node.module == "refute":
            yield from (f"refute.{name.name}" for name in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield str(node.module)
        elif isinstance(node, ast.Import):
            yield from (name.name for name in node.names)


def members() -> set[str]:
    """Modules and packages at the top of `refute` and `refute_lab`."""
    found = {path.stem for top in TOPS for path in top.glob("*.py")}
    return found | {path.parent.name for top in TOPS for path in top.glob("*/__init__.py")}


@pytest.mark.parametrize("package", FORBIDDEN)
def test_arrows_point_down(package: str) -> None:
    assert (PACKAGE / package).is_dir()
    for path in (PACKAGE / package).rglob("*.py"):
        used = {name.split(".")[1] for name in imports(path) if name.startswith("refute.")}
        assert not used & FORBIDDEN[package], path


def test_the_tool_does_not_know_the_lab() -> None:
    for path in PACKAGE.rglob("*.py"):
        assert not any(f"{name}.".startswith("refute_lab.") for name in imports(path)), path


def test_only_those_that_open_a_door_import_it() -> None:
    openers = {f"verbs/{name}.py" for name in ("lsp", "mcp", "watch")} | {"__init__.py"}
    for path in PACKAGE.rglob("*.py"):
        place = path.relative_to(PACKAGE).as_posix()
        if not (place.startswith("doors/") or place in {*openers, "__main__.py"}):
            assert not any(f"{name}.".startswith("refute.doors.") for name in imports(path)), path


def test_the_probe_imports_nothing_of_ours() -> None:
    for path in (PACKAGE / "probe" / "site").rglob("*.py"):
        assert not any(f"{name}.".startswith("refute.") for name in imports(path)), path


def test_what_watches_imports_the_standard_library_alone() -> None:
    for path in (PACKAGE / "recording").glob("*.py"):
        for name in imports(path):
            home = name.partition(".")[0]
            assert home in sys.stdlib_module_names or name.startswith("refute.recording."), path
        ast.parse(path.read_text(), feature_version=(3, 8))


def test_the_map_names_every_package() -> None:
    rows = re.findall(r"(?m)^\| (`\w+`(?:, `\w+`)*) \|", MAP.read_text())
    named = {name for row in rows for name in re.findall(r"`(\w+)`", row)}
    assert members() - {"__main__"} == named
