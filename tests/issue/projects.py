"""Small repositories with a real fault, made on the spot, for tests of issue-level methods."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from refute.core.methods import MethodSpec, Spawn
from refute.core.problems import IssueKey, IssueProblem
from refute.core.registry import METHODS
from refute.issue.choosing import issue_method, with_samples
from refute.issue.contract import Reproduction
from refute.workspace.contract import Recipe
from refute.workspace.factory import open_local, prepare

from ..diffing.repositories import commit

__all__ = ["DRAFT", "FIX", "GOLDEN_TESTS", "ISSUE", "NO_PLUGINS", "Project", "make_project"]

DRAFT = """```custom-diff
diff
tests/test_line.py
insert
EOF
def test_above():
    assert clamp(10, 0, 9) == 9
end diff
```"""
"""An answer whose test fails as the issue says and passes with FIX."""

CLAMP = '''"""Numbers on a line."""


def clamp(value, low, high):
    """The number of [low, high] that is nearest to value."""
    if value < low:
        return low
    if value > high:
        return low
    return value


def middle(low, high):
    return (low + high) / 2
'''

TESTS = """from shapes.line import clamp, middle


def test_inside():
    assert clamp(3, 0, 9) == 3


def test_below():
    assert clamp(-1, 0, 9) == 0


def test_middle():
    assert middle(0, 4) == 2
"""

ISSUE = """clamp returns the lower bound for large values

```python
>>> from shapes.line import clamp
>>> clamp(10, 0, 9)
0
```

I expected 9.
"""

FIX = """diff --git a/shapes/line.py b/shapes/line.py
--- a/shapes/line.py
+++ b/shapes/line.py
@@ -6,5 +6,5 @@
     if value < low:
         return low
     if value > high:
-        return low
+        return high
     return value
"""

GOLDEN_TESTS = """diff --git a/tests/test_line.py b/tests/test_line.py
--- a/tests/test_line.py
+++ b/tests/test_line.py
@@ -11,3 +11,7 @@

 def test_middle():
     assert middle(0, 4) == 2
+
+
+def test_above():
+    assert clamp(10, 0, 9) == 9
"""

FILES = {
    "shapes/__init__.py": "",
    "shapes/line.py": CLAMP,
    "shapes/colour.py": "def mix(a, b):\n    return [(x + y) // 2 for x, y in zip(a, b)]\n",
    "tests/__init__.py": "",
    "tests/test_line.py": TESTS,
    "tests/test_colour.py": "from shapes.colour import mix\n\n\n"
    "def test_mix():\n    assert mix([0, 2], [2, 4]) == [1, 3]\n",
    "README.md": "# shapes\n",
}


NO_PLUGINS = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
"""For recipes with this interpreter: its plugins double what a run of pytest takes."""


@dataclass(frozen=True)
class Project:
    """A repository with one commit, the problem that it poses, and the key to it."""

    folder: Path
    problem: IssueProblem
    key: IssueKey

    @property
    def spawn(self) -> Spawn:
        """Opens workspaces of it, built on first use."""
        assert self.problem.recipe is not None
        base = prepare(self.problem.repo, self.problem.base_commit, self.problem.recipe)
        return lambda: open_local(base)


def make_project(folder: Path, more: Mapping[str, str] | None = None) -> Project:
    """Make the repository at `folder`; its tests run with this interpreter's pytest.

    `more`: files beside the usual ones, path -> text.
    """
    base = commit(folder, {**FILES, **(more or {})}, "shapes")
    recipe = Recipe(interpreter=sys.executable, editable=False, env=NO_PLUGINS)
    problem = IssueProblem(
        id="shapes__shapes-1",
        repo=str(folder),
        base_commit=base,
        text=ISSUE,
        recipe=recipe,
    )
    key = IssueKey(problem.id, FIX, GOLDEN_TESTS, ("tests/test_line.py::test_above",))
    return Project(folder, problem, key)


ISSUE_METHODS = [spec.name for spec in METHODS.all() if spec.level == "issue"]


def with_options(name: str, **values: Any) -> tuple[MethodSpec[Any, Reproduction], Any]:
    """The method of that name and its options: of `values` those that it has."""
    spec = issue_method(name)
    known = {field.name for field in fields(spec.options)}
    own = {name: value for name, value in values.items() if name in known}
    return spec, with_samples(name, spec.options(**own))
