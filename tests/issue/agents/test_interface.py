"""The commands of the interface: how they are read, and what they do on a real workspace."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from refute.workspace.contract import Workspace
from refute_lab.baselines.aci import (
    LONGEST_COMMAND,
    OUTPUT,
    Action,
    Actions,
    Misused,
    documentation,
    native_tools,
    read_text,
    shown,
)

from ..projects import Project


@pytest.fixture(scope="module")
def workspace(project: Project) -> Iterator[Workspace]:
    with project.spawn() as opened:
        yield opened


@pytest.fixture
def actions(workspace: Workspace) -> Actions:
    return Actions(workspace, seconds=lambda: 60.0)


def does(actions: Actions, text: str) -> str:
    return "\n".join(actions.do(action) for action in read_text(f"```\n{text}\n```"))


# -- reading ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("block", "actions"),
    [
        ("open 'a b.py' 12", [Action("open", {"path": "a b.py", "line": 12})]),
        ("search_dir def clamp v", [Action("search_dir", {"text": "def clamp v"})]),
        ('search_dir "def f" src', [Action("search_dir", {"text": "def f", "folder": "src"})]),
        ("search_dir it's a trap", [Action("search_dir", {"text": "it's a trap"})]),
        ("goto 3\nscroll_up", [Action("goto", {"line": 3}), Action("scroll_up")]),
        (
            "edit 1:2\n\n  x = 1\nend_of_edit\nsubmit",
            [Action("edit", {"start": 1, "end": 2, "text": "\n  x = 1"}), Action("submit")],
        ),
        ("edit 3:2\nsubmit", [Action("edit", {"start": 3, "end": 2, "text": "submit"})]),
        ("edit 3 - 4\nend_of_edit", [Action("edit", {"start": 3, "end": 4, "text": ""})]),
        (
            "ls | wc\ngoto 3\nsubmit",
            [Action("shell", {"command": "ls | wc\ngoto 3"}), Action("submit")],
        ),
        ("openssl version", [Action("shell", {"command": "openssl version"})]),
    ],
)
def test_commands_are_read(block: str, actions: list[Action]) -> None:
    assert read_text(f"DISCUSSION\nSo.\n```\n{block}\n```\n") == actions
    assert read_text(f"```bash\n{block}\n```\nand\n```\nls\n```") == actions
    assert read_text(f"```\r\n{block}\n```".replace("\n", "\r\n").replace("\r\r", "\r")) == actions


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ("", "no command was found"),
        ("open a.py", "no command was found"),
        ("```\n\n```", "empty"),
        ("```\nopen\n```", "path is missing"),
        ("```\nopen a b c\n```", "too many arguments"),
        ("```\ngoto x\n```", "no line|not a line number"),
        ("```\ngoto 99999999999\n```", "not a line number"),
        ("```\nedit\nx\nend_of_edit\n```", "lines to edit are not given"),
        ("```\nsubmit now\n```", "too many arguments"),
    ],
)
def test_what_is_no_command(answer: str, why: str) -> None:
    with pytest.raises(Misused, match=why):
        read_text(answer)


def test_an_answer_without_end_is_bounded() -> None:
    assert len(read_text("```\n" + "scroll_up\n" * 100_000)) == 12


def test_tools_say_the_same_as_the_documentation() -> None:
    told = documentation()
    for tool in native_tools():
        schema = json.loads(tool.parameters)
        assert tool.description in told
        assert set(schema["required"]) <= set(schema["properties"])


# -- doing -----------------------------------------------------------------------------------------


def test_window(actions: Actions, workspace: Workspace) -> None:
    workspace.write("long.py", "".join(f"x{n} = {n}\n" for n in range(1, 351)).encode())
    told = does(actions, "open long.py 200")
    assert told.startswith("[long.py: 350 lines]\n(149 more lines above)\n150:x150 = 150\n")
    assert told.endswith("249:x249 = 249\n(101 more lines below)")
    assert "\n250:" in does(actions, "scroll_down")
    assert (
        "(250 more lines above)\n251:"
        in does(actions, "scroll_down\nscroll_down").rpartition("[")[2]
    )
    assert does(actions, "goto 1").startswith("[long.py: 350 lines]\n1:")
    assert "there is no line 351" in does(actions, "goto 351")
    assert "...]" in shown("a", "y" * 5000, 1)


def test_searching(actions: Actions) -> None:
    told = does(actions, "search_dir clamp")
    assert "shapes/line.py (lines: 1)\ntests/test_line.py (lines: 3)" in told
    assert does(actions, "search_dir clamp shapes").count("(lines: 1)") == 1
    assert "No file holds" in does(actions, "search_dir $(touch/planted)")
    assert "No file holds '-rn'" in does(actions, "search_dir -rn")
    assert "3:def clamp" not in does(actions, "search_file 'def clamp' tests/test_line.py")
    assert "4:def clamp(value" in does(actions, "search_file 'def clamp' shapes/line.py")
    assert "no file is open" in does(actions, "search_file x")
    assert does(actions, "find_file line").split("\n")[1:] == [
        "shapes/line.py",
        "tests/test_line.py",
    ]
    assert "tests/test_colour.py" in does(actions, "find_file test_c*.py tests")
    assert does(actions, "find_file s/test_line.py").startswith("No file below")
    assert does(actions, "find_file tests/test_l*").split("\n")[1:] == ["tests/test_line.py"]
    assert "No file below" in does(actions, "find_file line.py tests")


def test_editing_is_checked(actions: Actions, workspace: Workspace) -> None:
    assert "new and empty" in does(actions, "create tests/test_new.py")
    assert "is there already" in does(actions, "create tests/test_new.py")
    told = does(actions, "edit 1:1\ndef test_a():\n    assert os.sep\nend_of_edit")
    assert "Nothing in the file defines os." in told
    assert "defines" not in does(actions, "edit 1:0\nimport os\nend_of_edit")
    assert workspace.read("tests/test_new.py") == b"import os\ndef test_a():\n    assert os.sep\n"
    told = does(actions, "edit 3:3\nassert os.sep\nend_of_edit")
    assert told.startswith("The edit was undone, for it breaks the syntax of the file: line ")
    assert workspace.read("tests/test_new.py").endswith(b"\n    assert os.sep\n")
    assert "no range" in does(actions, "edit 2:9\nx\nend_of_edit")
    assert "there is no line 9" in does(actions, "edit 9:9\nx\nend_of_edit")
    assert "changes nothing" in does(actions, "edit 1:1\nimport os\nend_of_edit")


def test_paths_stay_in_the_tree(actions: Actions, workspace: Workspace) -> None:
    for path in ("/etc/passwd", "../x", "~/x", "shapes/../../x", ".git/config", "a\\..\\..\\b"):
        assert actions.do(Action("open", {"path": path})).startswith("Not done: "), path
        assert actions.do(Action("create", {"path": path})).startswith("Not done: "), path
    does(actions, "ln -s /etc link; ln -s /etc/passwd passwd; mkfifo pipe; cd tests")
    for path in ("../link/passwd", "../passwd", "../pipe"):
        assert does(actions, f"open {path}").startswith("Not done: "), path
    assert "[tests/test_line.py" in does(actions, "open test_line.py")
    assert "[shapes/line.py" in does(actions, f"open {workspace.root}/shapes/line.py")
    assert "[README.md" in does(actions, "open ../README.md")
    assert "is a folder" in does(actions, "open .")
    workspace.write("latin.txt", b"\xff")
    assert "not UTF-8 text" in does(actions, "open ../latin.txt")


def test_the_shell_keeps_its_folder_only(actions: Actions) -> None:
    assert does(actions, "cd tests && x=1") == "(no output)"
    assert does(actions, 'pwd; echo "[$x]"') == "tests\n[]"
    assert does(actions, "cd nowhere").endswith("(exit status 1)")
    assert "(Current folder: tests)" in actions.where
    assert does(actions, "cd /tmp; pwd") == "/tmp"
    assert "(Current folder: .)" in actions.where
    assert does(actions, "cd tests; exit 3") == "(exit status 3)"
    assert "(Current folder: tests)" in actions.where
    does(actions, "cd ..; mkdir -p .hidden; cd .hidden")
    assert "(Current folder: .hidden)" in actions.where
    assert "syntax error" in does(actions, "for x in")
    assert does(actions, "rm -rf ../.hidden; pwd") is not None
    assert "README.md" in does(actions, "ls"), "the folder is gone: back at the root"
    assert does(actions, "cat <<X\nhere\nX") == "here"
    assert does(actions, "echo '@@refute-folder@@/etc'") is not None
    assert "(Current folder: .)" in actions.where
    assert "too long" in does(actions, "echo " + "x" * LONGEST_COMMAND)
    assert len(does(actions, "yes | head -c 1000000")) <= OUTPUT + 100


def test_a_command_is_ended_in_time(workspace: Workspace) -> None:
    actions = Actions(workspace, seconds=lambda: 0.5)
    assert "(The command was ended after 0 seconds.)" in does(actions, "echo begun; sleep 600")
    late = Actions(workspace, seconds=lambda: -1.0)
    assert "the time is up" in does(late, "ls")
