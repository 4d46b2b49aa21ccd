"""What the documents name is there: commands with their options, links, files, recipes."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import textwrap
import tomllib
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
import yaml

import refute
from docs.outputs import commands, filled, repository
from refute.core.parameters import settable
from refute.core.registry import METHODS
from refute.doors.command_line import cli, run
from refute.verbs.declared import MethodCommand

from .environments import with_packages

ROOT = Path(__file__).resolve().parents[1]
DOCUMENTS = sorted(
    path.relative_to(ROOT).as_posix()
    for pattern in ("*.md", "docs/**/*.md", "benchmarks/*.md", ".github/**/*.md")
    for path in ROOT.glob(pattern)
    if path.name != "CHANGELOG.md"  # whose older entries name what is gone
)
HOMES = ("", "src", "src/refute", "src/refute_lab", "tests")
"""Folders that a file's name in a document may begin in, besides the document's own."""
FOREIGN = {"--include", "--pdb"}
"""Options of other programs that stand alone in a sentence."""
FOREIGN_FILES = ("boltons/", "more_itertools/")
"""Folders of other projects."""
OPTION = re.compile(r"(?<![\w-])--?[a-zA-Z][\w-]*")
FENCE = re.compile(r"(?ms)^ *```(\w*)\n(.*?)^ *```$")
INLINE = re.compile(r"(?<!`)`([^`]+)`(?!`)")


def leaves(command: click.Command, path: tuple[str, ...]) -> Iterator[tuple[str, click.Command]]:
    """Each command with its name, `train sft`; groups too."""
    yield " ".join(path), command
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            found = command.get_command(context, name)
            assert found is not None
            yield from leaves(found, (*path, name))


COMMANDS = dict(leaves(cli, ()))


def options(command: click.Command) -> set[str]:
    """All spellings of its options."""
    parameters = command.get_params(click.Context(command))
    return {"-h", "--help"}.union(*((*each.opts, *each.secondary_opts) for each in parameters))


def set_by_name(command: click.Command) -> set[str]:
    """What its `--set` takes."""
    if not isinstance(command, MethodCommand):
        return set()
    methods = (one.options for one in METHODS.all() if one.level in command.levels)
    return {f"{name}=" for name in settable((*command.more, *methods))}


SCRIPTS = {path.name: path.read_text() for path in (ROOT / "benchmarks").glob("*.py")}
"""The benchmarks; an option of theirs stands in quotes in the source."""
ALL_OPTIONS = {"--version", *FOREIGN}.union(
    *map(options, COMMANDS.values()),
    *(re.findall(r'"(--[\w-]+)"', text) for text in SCRIPTS.values()),
)
RECIPES = set(re.findall(r"(?m)^(\w+)[^:=\n]*:", (ROOT / "justfile").read_text()))


def snippets(text: str) -> Iterator[tuple[str, bool]]:
    """Each line of the shell in fences, without its comment, and each piece of inline code (True).

    Fences with another language than the shell's are no commands.
    """
    for language, body in FENCE.findall(text):
        if language in ("", "sh", "bash", "text"):
            for line in body.replace("\\\n", " ").splitlines():
                yield re.sub(r"(^|\s)#.*", "", line), False
    for code in INLINE.findall(FENCE.sub("", text)):
        yield " ".join(code.split()), True


def of_command(line: str) -> str | None:
    """What is wrong with a line that runs `refute`; None: nothing."""
    words = re.split(r"[ \n]+", line.strip())
    name = ""
    while words and f"{name} {words[0]}".strip() in COMMANDS:
        name = f"{name} {words.pop(0)}".strip()
    inner = COMMANDS[name]
    verb = words[0] if words else ""
    if isinstance(inner, click.Group) and re.fullmatch(r"[a-z][a-z-]+", verb):
        return f"`refute {name} {verb}`".replace("  ", " ") + " is no command"
    unknown = set(OPTION.findall(" ".join(words))) - options(inner)
    unknown |= set(re.findall(r"--set (\w+=)", line)) - set_by_name(inner)
    return f"`refute {name}` has no {', '.join(sorted(unknown))}" if unknown else None


def faults(code: str, inline: bool) -> Iterator[str]:
    """What a line or a piece of code names that is not there."""
    for part in re.split(r"&&|\|\||[|;]| -- ", code):
        words = part.split()
        while words and (re.match(r"\w+=", words[0]) or "/bin/refute" in words[0]):
            words[0:1] = ["refute"] if "/bin/refute" in words[0] else []
        if not words:
            continue
        script = re.search(r"\bbenchmarks/(\w+\.py)(.*)", part)
        if words[0] == "refute" and len(words) > 1:
            fault = of_command(" ".join(words[1:]))
            yield from [fault] if fault else ()
        elif "-m refute" in part:
            fault = of_command(part.partition("-m refute")[2])
            yield from [fault] if fault else ()
        elif words[0] == "just" and len(words) > 1 and not words[1].startswith("-"):
            yield from [] if words[1] in RECIPES else [f"no recipe `just {words[1]}`"]
        elif script and script[1] in SCRIPTS:
            for option in OPTION.findall(script[2]):
                yield from (
                    [] if f'"{option}"' in SCRIPTS[script[1]] else [f"{script[1]} has no {option}"]
                )
        elif inline and words[0].startswith("--"):
            for option in OPTION.findall(words[0].partition("=")[0]):
                yield from [] if option in ALL_OPTIONS else [f"no command has {option}"]


def anchors(path: Path) -> set[str]:
    """The fragments of a document's headings, as GitHub makes them."""
    heads = re.findall(r"(?m)^#+ (.*)$", FENCE.sub("", path.read_text()))
    return {re.sub(r"[^\w -]", "", head.lower()).strip().replace(" ", "-") for head in heads}


@pytest.mark.parametrize("document", DOCUMENTS)
def test_commands_and_options_exist(document: str) -> None:
    text = (ROOT / document).read_text()
    found = [
        f"{code}: {fault}" for code, inline in snippets(text) for fault in faults(code, inline)
    ]
    assert found == []


@pytest.mark.parametrize("document", DOCUMENTS)
def test_links_and_files_exist(document: str) -> None:
    path = ROOT / document
    text = path.read_text()
    missing = []
    for link in re.findall(r"\]\(([^)\s]+)\)", FENCE.sub("", text)):
        if re.match(r"[a-z]+:", link):
            continue
        name, _, fragment = link.partition("#")
        target = (path.parent / name).resolve() if name else path
        if not target.exists() or (fragment and fragment not in anchors(target)):
            missing.append(link)
    for code, inline in snippets(text):
        named = re.fullmatch(r"[\w.-]+(?:/[\w.-]+)+\.(?:py|md|toml|jinja|yml)", code)
        if not inline or not named or "NAME." in code or code.startswith(FOREIGN_FILES):
            continue
        if not any((home / code).exists() for home in (path.parent, *(ROOT / h for h in HOMES))):
            missing.append(code)
    assert missing == []


@pytest.mark.parametrize("document", [*DOCUMENTS, "skills/refute/SKILL.md"])
def test_blocks_are_in_their_languages(document: str) -> None:
    shell = []
    for language, body in FENCE.findall((ROOT / document).read_text()):
        if language in ("sh", "bash"):
            shell.append(f"f() {{\n{body}:\n}}\n")
        elif language == "toml":
            tomllib.loads(textwrap.dedent(body))
        elif language == "yaml":
            yaml.safe_load(body)
    done = subprocess.run(["bash", "-n"], input="".join(shell), capture_output=True, text=True)
    assert done.stderr == ""


def test_the_tutorial_s_own_commands_do_what_it_says(tmp_path: Path) -> None:
    """Failing tests are written, which are red, and green on the fixed code."""
    (block,) = [
        body
        for _, body in FENCE.findall((ROOT / "docs/tutorial.md").read_text())
        if "-o test_shipping.py" in body
    ]
    (tmp_path / "examples").mkdir()
    shutil.copy(ROOT / "examples/shipping.py", tmp_path / "examples")
    here = f"PATH={shlex.quote(str(Path(sys.executable).parent))}:$PATH\n"
    refute_, pytest_ = block.strip().splitlines()
    for command, status in (
        (refute_, 1),
        (pytest_, 1),
        ("refute debug examples/shipping.py::shipping_cost --write", 0),
        (pytest_, 0),
    ):
        done = subprocess.run(["bash", "-c", here + command], cwd=tmp_path, capture_output=True)
        assert done.returncode == status, done.stdout.decode() + done.stderr.decode()


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment without pytest: unittest starts in half of the time."""
    return with_packages(tmp_path_factory.mktemp("bare") / "env", set())


@pytest.mark.parametrize(
    "document",
    [one for one in (*DOCUMENTS, "skills/refute/SKILL.md") if commands((ROOT / one).read_text())],
)
def test_commands_run_as_printed(
    document: str, tmp_path: Path, bare: Path, only_pytest: Path,
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    repository(tmp_path)
    found = commands((ROOT / document).read_text())
    needs = any("refute harden" in one or "--tests tests" in one for one in found)
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    monkeypatch.setenv("VIRTUAL_ENV", str(only_pytest if needs else bare))
    monkeypatch.setenv("REFUTE_BUDGET", "0.3")
    monkeypatch.setenv("REFUTE_BEHAVIOUR_SECONDS", "0.3")
    monkeypatch.chdir(tmp_path)
    for command in found:
        words = shlex.split(command)
        if words[0] == "refute":  # here: to start it takes longer than to run it
            status = run(words[1:])
        else:
            status = subprocess.run(["bash", "-c", command], capture_output=True).returncode
        assert status not in (2, 3, 70, 127), f"{command}\n{capsys.readouterr().err}"


@pytest.mark.parametrize(
    ("code", "fault"),
    [
        ("refute hunt FILE.py --json", None),
        ("refute debug FILE.py --no-such-thing 3", "`refute debug` has no --no-such-thing"),
        ("refute seek FILE.py", "`refute seek` is no command"),
        ("refute train sft DATA --lora-rnak 3", "`refute train sft` has no --lora-rnak"),
        ("X=1 refute bench he-fix --method search", None),
        ("--wirte", "no command has --wirte"),
        ("just cverage", "no recipe `just cverage`"),
        ("python benchmarks/soak.py --number 3", "soak.py has no --number"),
    ],
)
def test_a_slip_is_found(code: str, fault: str | None) -> None:
    assert list(faults(code, True)) == ([fault] if fault else [])


@pytest.mark.parametrize("document", ["README.md", "docs/tutorial.md"])
def test_what_is_shown_of_a_command_is_what_it_prints(document: str) -> None:
    """`python docs/outputs.py README.md docs/tutorial.md` brings it up to date."""
    text = (ROOT / document).read_text()
    assert "```console\n$ refute" in text
    assert filled(text) == text


def test_every_public_name_is_in_the_reference() -> None:
    text = (ROOT / "docs/api.md").read_text()
    names = {name for name in refute.__all__ if not name.startswith("__")}
    assert names - set(re.findall(r"\w+", text)) == set()
