"""How large the house is, beside the ceilings of house.toml: `just house`.

A line of code holds a token other than a comment or a docstring, so neither layout nor explanation
costs anything.
"""

from __future__ import annotations

import ast
import io
import json
import os
import re
import subprocess
import sys
import tempfile
import tokenize
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import click

ROOT = Path(__file__).resolve().parent.parent
_LAYOUT = {
    tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.COMMENT,
    tokenize.ENCODING, tokenize.ENDMARKER,
}  # fmt: skip
_RUN = """\
import atexit, json, sys
from refute.doors.command_line import main
place = sys.argv.pop(1)
atexit.register(lambda: json.dump([*sys.modules], open(place, "w")))
main()
"""
_ROOMS = {"refute": "rooms", "refute_lab": "lab"}
"""The table of house.toml for the rooms of a package."""
_EVERYDAY = ("hunt", "debug", "diff", "reproduce", "fix", "vet", "gate", "harden")


def figures() -> dict[str, int]:
    """Return every figure that house.toml bounds, by its name there."""
    return {**_sizes(), **_options(), **_modules(), **_words()}


def ceilings() -> dict[str, int]:
    """Return the ceilings, by `table.name`."""
    tables = tomllib.loads((ROOT / "house.toml").read_text())
    return {f"{table}.{name}": most for table, row in tables.items() for name, most in row.items()}


def _code_lines(text: str) -> int:
    lines: set[int] = set()
    statement: list[tokenize.TokenInfo] = []
    for one in tokenize.generate_tokens(io.StringIO(text).readline):
        if one.type not in _LAYOUT:
            statement.append(one)
        elif one.type in (tokenize.NEWLINE, tokenize.ENDMARKER):
            if any(token.type != tokenize.STRING for token in statement):  # else a docstring
                lines.update(n for held in statement for n in range(held.start[0], held.end[0] + 1))
            statement = []
    return len(lines)


def _sizes() -> dict[str, int]:
    found: Counter[str] = Counter()
    for top in ("src", "tests", "benchmarks"):
        for path in (ROOT / top).rglob("*.py"):
            lines = _code_lines(path.read_text())
            inner = path.relative_to(ROOT / top).parts
            found.update({f"files.{top}": 1, f"code.{top}": lines})
            if top == "src":
                found.update({f"code.{inner[0]}": lines})
                if len(inner) > 2:
                    found.update({f"{_ROOMS[inner[0]]}.{inner[1]}": lines})
    return dict(found)


def _options() -> dict[str, int]:
    from refute.doors.command_line import cli

    with click.Context(cli) as top:
        found = list(_commands(cli, top))
    shown = re.compile(r"(?m)^ +-")
    options = sum(len(shown.findall(help)) for _, help in found)
    longest = max(help.count("\n") for name, help in found if name in _EVERYDAY)
    return {"options.all": options, "options.longest_help": longest}


def _commands(group: click.Group, above: click.Context) -> Iterator[tuple[str, str]]:
    for name in group.list_commands(above):
        command = group.get_command(above, name)
        assert command is not None
        with click.Context(command, info_name=name, parent=above, terminal_width=80) as inner:
            if isinstance(command, click.Group):
                yield from _commands(command, inner)
            else:
                yield name, command.get_help(inner)


def _modules() -> dict[str, int]:
    """Modules of refute that a verb has loaded when it ends, on a change of one function."""
    with tempfile.TemporaryDirectory() as scratch:
        repo = Path(scratch, "repo")
        repo.mkdir()
        os.chmod(scratch, 0o755)
        (repo / "prices.py").write_text(
            'def double(x):\n    """>>> double(2)\n    4\n    """\n    return x * 2\n'
        )
        (repo / "ISSUE.md").write_text(">>> from prices import double\n>>> double(2)\n4\n")
        git = ["git", "-C", repo, "-c", "user.name=a", "-c", "user.email=a@b"]
        for words in (["init", "-q", "-b", "main"], ["add", "-A"], ["commit", "-q", "-m", "a"]):
            subprocess.run([*git, *words], check=True)
        found = {}
        for verb, words in {
            "gate": [], "debug": ["prices.py"], "reproduce": ["ISSUE.md"], "diff": []
        }.items():  # fmt: skip
            if verb == "diff":
                text = (repo / "prices.py").read_text()
                (repo / "prices.py").write_text(text.replace("return x * 2", "return x + x"))
            place = Path(scratch, verb)
            call = [sys.executable, "-P", "-c", _RUN, place, verb, *words]
            subprocess.run(call, cwd=repo, capture_output=True, check=False)
            found[f"modules.{verb}"] = sum(
                f"{name}.".startswith(("refute.", "refute_lab."))
                for name in json.loads(place.read_text())
            )
        return found


def _words() -> dict[str, int]:
    pages = (ROOT / "docs").glob("*.md")
    schemas = (ROOT / "src" / "refute" / "schemas").glob("*.json")
    return {
        "texts.words": sum(len(page.read_text().split()) for page in pages),
        "texts.schema_lines": sum(one.read_text().count("\n") for one in schemas),
        "texts.questions": sum(_questions(one) for one in (ROOT / "src").rglob("*.py")),
    }


def _questions(path: Path) -> int:
    """Docstrings that begin as a question does, not with a verb or a noun."""
    documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
    nodes = (node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, documented))
    first = ((ast.get_docstring(node) or " ").split(" ")[0] for node in nodes)
    return sum(
        word in {"What", "Which", "Whether", "Where", "When", "How", "Why"} for word in first
    )


if __name__ == "__main__":
    now, most = figures(), ceilings()
    for name in sorted(now):
        print(f"{name:24} {now[name]:8,} {most.get(name, 0):8,}")
