"""No method's inputs hold the golden patch or the golden tests: not its prompts, and nothing that
can be found in its workspace by somebody who looks for it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import pytest

from refute.core.methods import Bounds
from refute.core.problems import IssueKey, IssueProblem
from refute.models.contract import Message
from refute.testing.models import ScriptedModel
from refute.workspace.contract import Recipe
from refute_lab.baselines.methods.swe_agent import swe_agent

from ...diffing.repositories import git
from ..projects import CLAMP, ISSUE, ISSUE_METHODS, NO_PLUGINS, TESTS, Project, with_options
from .talking import command, reproduce, scripted

FIX_MARK, TEST_MARK = "marked_by_the_golden_patch", "test_marked_by_the_golden_tests"
IN_GIT = """
git log --all --oneline | wc -l
for o in $(git cat-file --batch-all-objects --batch-check | cut -d' ' -f1); do
    git cat-file -p $o 2>&1 | grep -a -e marked_by_th -e v2.0 && echo FOUND in $o
done
for f in $(find .git -type f); do
    (zcat -f $f 2>/dev/null; cat $f) | grep -a -e marked_by_th -e v2.0 && echo FOUND in $f
done
git fsck --lost-found 2>&1 | grep -a commit
git for-each-ref; git reflog; git stash list; git remote -v; git config --list | grep -i url
"""
ELSEWHERE = """
env | grep -a marked_by_th
grep -ra marked_by_th . /tmp /.refute
packages=$(python -c 'import site; print(*site.getsitepackages())')
find $packages -maxdepth 2 -name '*.pth' -o -name direct_url.json | xargs grep -a -e marked_by_th
find / -xdev -newer README.md -name '*.patch' 2>/dev/null
ls -a {folder}
echo looked
"""


@pytest.fixture(scope="module")
def later(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A repository whose later history, branches, tags, stash and packs hold the fix and tests."""
    folder: Path = tmp_path_factory.mktemp("later")
    repository = folder / "shapes"
    files = {"shapes/__init__.py": "", "shapes/line.py": CLAMP, "tests/test_line.py": TESTS}
    for name, text in files.items():
        path = repository / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (repository / "README.md").write_text("# shapes\n")
    git(repository, "init", "-q", "-b", "main")
    git(repository, "add", ".")
    git(repository, "commit", "-qm", "shapes")
    base = git(repository, "rev-parse", "HEAD")
    fixed = CLAMP.replace(
        "    if value > high:\n        return low",
        f"    {FIX_MARK} = high\n    if value > high:\n        return high",
    )
    (repository / "shapes/line.py").write_text(fixed)
    (repository / "tests/test_line.py").write_text(TESTS + f"\n\ndef {TEST_MARK}():\n    pass\n")
    git(repository, "commit", "-qam", f"Fix it, {FIX_MARK}")
    git(repository, "tag", "-a", "v2.0", "-m", FIX_MARK)
    git(repository, "branch", "release")
    (repository / "README.md").write_text(f"# shapes {FIX_MARK}\n")
    git(repository, "stash", "-q")
    git(repository, "gc", "-q")
    patch = git(repository, "diff", base, "HEAD", "--", "shapes") + "\n"
    tests = git(repository, "diff", base, "HEAD", "--", "tests") + "\n"
    recipe = Recipe(interpreter=sys.executable, editable=False, env=NO_PLUGINS)
    problem = IssueProblem("shapes__shapes-2", str(repository), base, ISSUE, recipe)
    return Project(repository, problem, IssueKey(problem.id, patch, tests, (TEST_MARK,)))


def test_the_key_is_there_to_be_found(later: Project) -> None:
    assert FIX_MARK in later.key.patch
    assert TEST_MARK in later.key.test_patch
    looked = subprocess.run(
        ["bash", "-c", IN_GIT], cwd=later.folder, capture_output=True, text=True, check=False
    )
    assert looked.stdout.count("FOUND") >= 5, "so somebody who looks like this does find it"
    assert "refs/tags/v2.0" in looked.stdout


@pytest.mark.parametrize("method", ISSUE_METHODS)
def test_no_prompt_holds_the_key(later: Project, method: str) -> None:
    """Whatever a method sends, to a model that looks for the fix in every way that it is given."""
    looking = IN_GIT + ELSEWHERE.format(folder=later.folder.parent)
    searches = "search_code('marked_by_th')\nget_file_head('shapes/line.py')"
    asked: list[Sequence[Message]] = []

    def answer(messages: Sequence[Message], number: int) -> str:
        asked.append(messages)
        return f"{searches}\n{command(looking if len(asked) < 3 else 'submit')}"

    agent = f"cat {{prompt_file}}; ({looking}) > tests/test_found.py 2>&1"
    spec, options = with_options(method, samples=2, agent=agent)
    bounds = Bounds(calls=8, seconds=300, test_seconds=60)
    found = reproduce(ScriptedModel(answer), later, spec, bounds=bounds, **asdict(options))
    assert asked or not spec.asks_model
    told = [m.content for messages in asked for m in messages if m.role != "assistant"]
    for text in [*told, found.prediction.patch, *(str(s.get("output", "")) for s in found.steps)]:
        for mark in (FIX_MARK, TEST_MARK, "return high", "v2.0'", "release"):
            assert mark not in text


def test_looking_finds_nothing(later: Project) -> None:
    looking = IN_GIT + ELSEWHERE.format(folder=later.folder.parent)
    found = reproduce(scripted([command(looking), command("submit")]), later, swe_agent)
    told = found.steps[0]["observed"][0]
    assert "\nlooked" in told
    assert told.startswith("1\n"), "one commit"
    assert "FOUND" not in told
    assert "refs/tags" not in told
    assert "No such file or directory" in told, "the user's repository is not there"
