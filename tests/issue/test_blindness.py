"""No method's input holds the golden patch or the golden tests: prompts, files, git objects,
environments, other processes, temporary folders.

The clone that a workspace is made from has the fix in every place where git keeps things, and so
have the cache, the dataset and the variables of this process. Marks stand for golden code. The
hunt asks for them with a regular expression that does not match itself.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import textwrap
import venv
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from refute.core.methods import Context
from refute.core.problems import IssueProblem
from refute.errors import WorkspaceUnavailable
from refute.issue.choosing import issue_method
from refute.issue.contract import Reproduction
from refute.models.contract import Message
from refute.models.session import Session
from refute.testing.models import ScriptedModel
from refute.workspace.contract import Base, Workspace
from refute.workspace.factory import Checkout, in_checkout, installed_copies, open_local, prepare
from refute.workspace.local import ALL_MEASURES, LocalBackend
from refute.workspace.working_copy import WorkingCopy

from ..diffing.repositories import git
from .projects import ISSUE, ISSUE_METHODS, TESTS, Project, make_project, with_options
from .redgreen.oracle import Answers

MARK = "golden_mark_7c1e9"
PATTERN = "golden_mark_7c1e[9]"
"""Finds the mark, but not itself in a list of processes."""

HUNT = f"""
git log --all --reflog -p --format='%H %s %b' | grep -a {PATTERN}
git stash list | grep .
git for-each-ref | grep -v 'refs/heads/main$'
git reflog --all | grep -a {PATTERN}
git fsck --lost-found --no-progress 2>/dev/null | grep -v '^notice'
git rev-list --all --count | grep -vx 1
for folder in "$PWD/.git" /.refute/base/.git; do
  [ -d $folder ] || continue
  git --git-dir=$folder cat-file --batch-all-objects --batch 2>/dev/null | grep -a {PATTERN}
  cat $folder/packed-refs $folder/objects/info/alternates $folder/ORIG_HEAD $folder/FETCH_HEAD \
    $folder/logs/HEAD 2>/dev/null | grep .
done
cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' '\\n' | grep -a {PATTERN}
env | grep -E '{PATTERN}|REFUTE|OPENAI'
find / $STARTS "$PWD" "$TMPDIR" /dev/shm \\( $PRUNED -path /usr -o -path /proc -o -path /sys \
  -o -path /dev \\) -prune -o -type f -size -1000k -print0 2>/dev/null \
  | xargs -0 -r grep -slaE {PATTERN} /dev/null
find / -name '*{PATTERN}*' -not -path '/proc/*' 2>/dev/null
true
"""
"""What prints is a leak. STARTS: more places to look at, where / cannot be listed. PRUNED: folders
of programs, of which `readable` is checked instead."""


@dataclass(frozen=True)
class Marked:
    """A project whose clone holds what comes later, and the folders that hold it as well."""

    project: Project
    base: Base
    later: str
    """The commit of the golden patch and tests."""
    places: tuple[Path, ...]
    """Files outside of the clone that hold the mark."""


@pytest.fixture(scope="module")
def marked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Marked]:
    top = tmp_path_factory.mktemp("marked")
    project = make_project(top / "repos" / "shapes__shapes")
    folder, base_commit = project.folder, project.problem.base_commit
    line = folder / "shapes" / "line.py"

    def change(what: str) -> None:
        line.write_text(line.read_text() + f"# {MARK} {what}\n")
        (folder / "tests" / f"test_{what}_{MARK}.py").write_text(f"def test_{MARK}():\n    pass\n")
        git(folder, "add", ".")

    git(folder, "checkout", "-qb", "fixed")
    change("branch")
    git(folder, "commit", "-qm", f"golden {MARK}")
    later = git(folder, "rev-parse", "HEAD")
    git(folder, "tag", "-a", "v9", "-m", MARK)
    change("stash")
    git(folder, "stash", "-q")
    git(folder, "gc", "-q")
    change("lost")
    git(folder, "commit", "-qm", f"lost {MARK}")
    git(folder, "reset", "-q", "--hard", later)  # reachable by the reflog alone, a loose object
    git(folder, "checkout", "-q", "main")
    change("index")  # added, never committed
    (folder / f"untracked_{MARK}.txt").write_text(MARK)
    everything = ["git", "cat-file", "--batch-all-objects", "--batch"]
    held = subprocess.run(everything, cwd=folder, capture_output=True, check=True).stdout
    assert held.count(MARK.encode()) >= 8, "the hunt is for what is there"

    with pytest.MonkeyPatch.context() as patch:
        cache = top / "cache"
        patch.setenv("REFUTE_CACHE", str(cache))
        patch.setenv("REFUTE_REPOS", str(top / "repos"))
        patch.setenv("REFUTE_DATA", str(top / "data"))
        patch.setenv("OPENAI_API_KEY", MARK)
        recipe = project.problem.recipe
        assert recipe is not None
        try:
            prepare(str(folder), later, recipe)  # the tree of the fix lies beside ours
            base = prepare(str(folder), base_commit, recipe)
        except WorkspaceUnavailable as error:
            pytest.skip(f"no workspace here: {error}")
        places = [cache / "states" / "report.json", top / "data" / "rows.jsonl"]
        for path in places:
            path.parent.mkdir(parents=True)
            path.write_text(json.dumps({"patch": MARK}))
        assert len(list((cache / "trees").glob(f"*/shapes__shapes/tests/*{MARK}*"))) == 1
        yield Marked(project, base, later, tuple(places))


def leaks(workspace: Workspace, base: Base) -> str:
    """What the hunt prints in a workspace."""
    programs = {*base.readable, sys.prefix, sys.base_prefix}
    pruned = " ".join(f"-path {path} -o" for path in sorted(programs))
    starts = " ".join(os.environ[name] for name in ("REFUTE_CACHE", "REFUTE_REPOS", "REFUTE_DATA"))
    script = HUNT.replace("$PRUNED", pruned).replace("$STARTS", starts)
    ran = workspace.run(script, timeout=500)
    assert ran.status == 0, ran.output
    return ran.output


@pytest.mark.parametrize("measures", [ALL_MEASURES, frozenset({"landlock"})], ids=["walls", "bare"])
def test_nothing_later_is_in_a_workspace(marked: Marked, measures: frozenset[str]) -> None:
    room = LocalBackend(marked.base, measures=measures)
    with WorkingCopy(room, marked.base.recipe) as workspace:
        if not workspace.protections()["files"]:
            pytest.skip("files cannot be kept apart on this machine")
        assert leaks(workspace, marked.base) == ""
        workspace.write("here.txt", MARK.encode())
        assert f"{workspace.root}/here.txt\n" in leaks(workspace, marked.base), "it can find"
        workspace.reset()
        gone = workspace.run(f"git cat-file -t {marked.later}; git show v9; cat ../../*/*/*.txt")
        assert MARK not in gone.output
        for path in (*marked.places, marked.project.folder / "shapes" / "line.py"):
            assert MARK in path.read_text()
            assert workspace.run(f"cat {path}").status != 0
    assert not [p for p in marked.base.readable if str(marked.project.folder.parent) in p]


def test_our_folders_are_hidden_wherever_they_lie(marked: Marked) -> None:
    """A project in `/opt/app` whose environment is `/opt`: the cache and the data are below it."""
    top = marked.project.folder.parent.parent
    base = replace(marked.base, readable=(*marked.base.readable, str(top)))
    with open_local(base) as workspace:
        if not workspace.protections()["namespaces"]:
            pytest.skip("folders can be covered in namespaces only")
        assert "cache" in workspace.run(f"ls {top}").output
        found = workspace.run(f"grep -rsl {PATTERN} {top} --exclude-dir=shapes__shapes; true")
        assert found.output == ""
        assert workspace.run(f"ls {top}/repos {top}/data").output.count("shapes") == 0
        assert workspace.read("shapes/colour.py").startswith(b"def mix")


# -- what methods are sent, and what they can reach ------------------------------------------------

AGENT = ("env", "git log --all -p", "git stash show -p", "cat /proc/[0-9]*/environ", "ls -R ..")
WRITES = {
    "zeroshot": "```diff\n--- /dev/null\n+++ b/tests/test_new.py\n@@ -0,0 +1,2 @@\n"
    "+def test_new():\n+    assert 0\n```",
    "autocoderover": "# change 1\n```\n<file>tests/test_new.py</file>\n<original></original>\n"
    "<patched>def test_new():\n    assert 0\n</patched>\n```",
    "custom": "```custom-diff\ndiff\ntests/test_new.py\ninsert\nEOF\ndef test_new():\n"
    "    assert 0\nend diff\n```",
}


class Answering:
    """What the model says to each method's questions, so that all of its steps are taken."""

    def __init__(self, method: str) -> None:
        self.method = method
        self.redgreen = Answers()

    def __call__(self, messages: Sequence[Message], number: int) -> str:
        said = messages[-1].content
        if self.method == "redgreen":
            return self.redgreen(messages, number)
        if self.method.startswith("swe-agent"):
            at = sum(message.role == "assistant" for message in messages)
            create = (
                "create tests/test_new.py",
                "edit 1:1\ndef test_new():\n    assert 0\nend_of_edit",
            )
            commands = (
                *AGENT,
                "search_dir test_",
                "open shapes/line.py",
                *create,
                "submit",
                "submit",
            )
            return f"DISCUSSION\nNext.\n```\n{commands[min(at, len(commands) - 1)]}\n```\n"
        if self.method == "autocoderover":
            searching = len(messages) <= 2
            search = 'search_method("clamp")\nsearch_code("def")\n'
            return search if searching else WRITES["autocoderover"]
        if "<run>" in said:
            return "yes"
        return WRITES["zeroshot" if self.method == "zeroshot" else "custom"]


def worked(method: str, problem: IssueProblem, base: Base) -> tuple[ScriptedModel, Reproduction]:
    """A method run on the issue with a model that answers in its form."""
    model = ScriptedModel(Answering(method))
    agent = "cat {prompt_file}; " + "; ".join(AGENT)
    spec, options = with_options(
        method, samples=2, tools="text", agent=agent, regenerations=2, repairs=1
    )

    async def work() -> Reproduction:
        async with Session(model) as session:
            ctx = Context(workspace=lambda: open_local(base), model=session.asker(problem.id))
            return await spec(problem, ctx=ctx, options=options)

    return model, asyncio.run(work())


@pytest.mark.parametrize("method", [*ISSUE_METHODS, "pass@2"])
def test_no_method_is_sent_or_reaches_anything_golden(marked: Marked, method: str) -> None:
    model, found = worked(method, marked.project.problem, marked.base)
    sent = json.dumps([[m.content for m in messages] for messages in model.asked])
    asks = issue_method(method).asks_model
    assert (len(model.asked) > 0) == asks
    if asks:
        assert json.dumps("clamp returns the lower bound")[1:-1] in sent, "the issue is sent"
    assert MARK not in sent
    assert MARK not in json.dumps([list(found.steps), repr(found)])
    if method == "external":
        assert "PYTHONHASHSEED" in str(found.steps), "its commands ran"
    elif method.startswith("swe-agent"):
        assert "PYTHONHASHSEED" in sent, "its commands ran"


# -- a user's own checkout -------------------------------------------------------------------------


@pytest.fixture
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    monkeypatch.setenv("REFUTE_CACHE", str(tmp_path / "cache"))
    return make_project(tmp_path / "mine" / "shapes")


def test_a_checkout_shows_what_it_is_now_and_no_more(
    mine: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By design a method sees the checkout as it is: what is committed, changed, and new but not
    ignored. It sees nothing that is ignored (`.env`), no other commit, and not the place itself,
    also where the environment has it installed in editable mode."""
    monkeypatch.delenv("VIRTUAL_ENV")
    root = mine.folder
    environment = root / ".venv"
    venv.create(environment, with_pip=False, symlinks=True)
    site = next(environment.glob("lib/python*/site-packages"))
    (site / "__editable__.pth").write_text(f"{root}\n")
    (root / ".gitignore").write_text(".env\n.venv/\nbuild/\n")
    (root / ".env").write_text(f"KEY={MARK}\n")
    git(root, "checkout", "-qb", "fix")
    (root / "shapes" / "line.py").write_text(f"# {MARK}\n")
    git(root, "commit", "-qam", MARK)
    git(root, "checkout", "-q", "main")
    (root / "tests" / "test_more.py").write_text(TESTS)
    problem, spawn = in_checkout(Checkout(repo=root), ISSUE)
    assert problem.recipe is not None
    with spawn() as workspace:
        if not workspace.protections()["files"]:
            pytest.skip("files cannot be kept apart on this machine")
        assert "tests/test_more.py" in workspace.files()
        asked = f"cat .env {root}/.env; git log --all --oneline; ls {root}/.git {root}/shapes"
        shown = workspace.run(asked).output
        assert MARK not in shown
        assert shown.count("No such file") + shown.count("Permission denied") >= 4
        objects = workspace.run("git cat-file --batch-all-objects --batch").output
        assert MARK not in objects
        where = "import shapes, sys; print(shapes.__file__); print(*sys.path, sep='\\n')"
        out = workspace.run(f'{environment}/bin/python -c "{where}"').output
        assert out.startswith(f"{workspace.root}/shapes/__init__.py"), out


def test_a_monorepo_keeps_its_other_packages(mine: Project) -> None:
    """Packages that are installed from the checkout are found in the tree instead."""
    root = mine.folder
    other = root / "packages" / "other" / "area.py"
    other.parent.mkdir(parents=True)
    other.write_text("SIZE = 3\n")
    environment = root.parent / "environment"
    venv.create(environment, with_pip=False, symlinks=True)
    site = next(environment.glob("lib/python*/site-packages"))
    (site / "other.pth").write_text(f"{other.parent}\n")
    _, spawn = in_checkout(Checkout(root, environment / "bin" / "python"), ISSUE)
    with spawn() as workspace:
        command = "import area; print(area.__file__, area.SIZE)"
        out = workspace.run(f'{environment}/bin/python -c "{command}"').output
        assert out.strip() == f"{workspace.root}/packages/other/area.py 3"


# -- other copies of the project on the machine ----------------------------------------------------


def test_bundled_copies_are_found_and_hidden(marked: Marked, tmp_path: Path) -> None:
    machine = tmp_path / "machine"
    later = {
        "site-packages/shapes/__init__.py": True,
        "site-packages/installer/_vendor/shapes/__init__.py": True,
        "kit/third_party/shapes/src/shapes/__init__.py": True,
        "kit/third_party/shapes/tests/test_line.py": True,
        "site-packages/graphics/shapes/__init__.py": False,
        "lib/python3/shapes/__init__.py": False,
        "site-packages/other/__init__.py": False,
    }
    bodies = (*later, "site-packages/installer/__init__.py", "site-packages/graphics/__init__.py")
    for name in (*bodies, "site-packages/installer/_vendor/__init__.py", "lib/python3/os.py"):
        path = machine / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"# {MARK}\n" if name in later else "")
    hidden = installed_copies(marked.base.tree, [str(machine), str(tmp_path / "absent")])
    assert {str(Path(path).relative_to(machine)) for path in hidden} == {
        "site-packages/shapes",
        "site-packages/installer/_vendor/shapes",
        "kit/third_party/shapes",
    }
    readable = (*marked.base.readable, str(machine))
    with open_local(replace(marked.base, readable=readable, hidden=hidden)) as workspace:
        if not workspace.protections()["namespaces"]:
            pytest.skip("folders can be covered in namespaces only")
        script = f"""
            grep -rl {PATTERN} {machine} | sort
            ls {machine}/kit/third_party/shapes
            touch {machine}/kit/third_party/shapes/x {machine}/x
        """
        shown = workspace.run(textwrap.dedent(script)).output.splitlines()
        assert shown[:3] == sorted(
            f"{machine}/{name}" for name, hides in later.items() if not hides
        )
        assert not list(machine.rglob("x")), "nothing is written to the machine's own"
