"""Where a repository's names are imported from: the imports that complete an issue's code.

An issue writes `models.CharField` and `Q()` and leaves the imports to the reader. The repository's
own files say how these names are imported there; the most frequent way is taken.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import cached_property
from pathlib import PurePosixPath

from refute.workspace.patches import is_test_file

_FROM = re.compile(r"^ *from +([\w.]+) +import +(\([^)]*\)|[^\n#;]+)", re.MULTILINE)
_IMPORT = re.compile(r"^ *import +([\w., ]+)", re.MULTILINE)
_ROOTS = ("src", "lib", "tests")
"""Folders whose content is imported without their name."""


class Names:
    """The names of a repository (path -> source of its Python files)."""

    def __init__(self, files: Mapping[str, str]) -> None:
        self._files = files
        self._known: dict[str, str | None] = {}

    def import_of(self, name: str) -> str | None:
        """The statement that binds `name`, as the repository mostly does it; None: no idea."""
        if name not in self._known:
            self._known[name] = self._imported(name) or self._defined(name)
        return self._known[name]

    def importable(self, module: str) -> bool:
        """Whether a top-level package is the repository's, Python's or one that it imports."""
        top = module.partition(".")[0]
        return top in sys.stdlib_module_names or top in self._packages

    @cached_property
    def _packages(self) -> frozenset[str]:
        """Top-level names of the repository's packages and of all that they import."""
        found: set[str] = set()
        for path, source in self._files.items():
            parts = PurePosixPath(path).parts
            found.add(parts[1] if parts[0] in _ROOTS and len(parts) > 1 else parts[0])
            if len(source) < 1 << 18:
                found |= {match[1].partition(".")[0] for match in _FROM.finditer(source)}
                found |= {
                    word.split()[0].partition(".")[0]
                    for match in _IMPORT.finditer(source)
                    for word in match[1].split(",")
                    if word.strip()
                }
        return frozenset(name.removesuffix(".py") for name in found if name)

    def modules(self, module: str) -> tuple[str, ...]:
        """Paths of the repository that a dotted module may be: the file, the package."""
        stem = module.replace(".", "/")
        wanted = {f"{root}{stem}{end}" for root in ("", "src/", "lib/", "tests/")
                  for end in (".py", "/__init__.py")}  # fmt: skip
        return tuple(sorted(wanted & self._files.keys()))

    def of_repository(self, statement: str) -> bool:
        """Whether an import takes something from the repository itself."""
        words = statement.replace(",", " ").split()
        return len(words) > 1 and bool(self.modules(words[1].partition(".")[0]))

    def home_of(self, name: str) -> tuple[str, ...]:
        """Paths of the files, tests left out, that define a class or function of that name."""
        pattern = re.compile(rf"^(?:class|def|async def) +{re.escape(name)}\b", re.MULTILINE)
        return tuple(
            path
            for path, source in self._files.items()
            if name in source and not is_test_file(path) and pattern.search(source)
        )

    def _imported(self, name: str) -> str | None:
        counts: Counter[str] = Counter()
        for source in self._files.values():
            if name in source:
                counts.update(_statements(source, name))
        if not counts:
            return None
        # ties: the shorter module is the public one
        return min(counts, key=lambda text: (-counts[text], len(text), text))

    def _defined(self, name: str) -> str | None:
        modules = [module for path in self.home_of(name) if (module := module_of(path))]
        if not modules:
            return None
        return f"from {min(modules, key=lambda m: (m.count('.'), len(m), m))} import {name}"


def module_of(path: str) -> str | None:
    """The dotted name that a file of the repository is imported by; None: not as a module."""
    parts = list(PurePosixPath(path).with_suffix("").parts)
    if parts and parts[0] in _ROOTS:
        parts = parts[1:]
    if parts and parts[-1] == "__init__":
        parts = parts[:-1]
    return ".".join(parts) if parts and all(p.isidentifier() for p in parts) else None


def _statements(source: str, name: str) -> Iterable[str]:
    """The absolute imports of a file that bind the name."""
    for match in _FROM.finditer(source):
        module = match[1]
        if module.startswith(".") or module == "__future__" or name not in match[2]:
            continue
        for part in match[2].strip("()").replace("\n", " ").split(","):
            words = part.split("#")[0].split()
            if words and words[-1] == name and (len(words) == 1 or words[1:2] == ["as"]):
                yield f"from {module} import {' '.join(words)}"
    for match in _IMPORT.finditer(source):
        for part in match[1].split(","):
            words = part.split()
            if words and words[-1].partition(".")[0] == name and len(words) in (1, 3):
                yield f"import {' '.join(words)}"
