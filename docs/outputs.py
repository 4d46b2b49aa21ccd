"""Fills the `console` blocks of the documents with what their commands print.

    python docs/outputs.py [--check] README.md docs/tutorial.md

A line `$ refute ...` in such a block is run in the repository's root, 80 columns wide, without a
terminal; what it prints on stdout takes the place of what stood below it. With `--check` nothing is
written: a document that is out of date is named, and the exit status is 1; so does
`tests/test_documents.py`.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BLOCK = re.compile(r"(?ms)^```console\n(.*?)^```$")


def printed(command: str) -> str:
    """What a command of `refute` prints on stdout, without space at line ends."""
    words = shlex.split(command)
    if words[:1] != ["refute"]:
        raise SystemExit(f"{command}: only refute's commands are run")
    done = subprocess.run(
        [sys.executable, "-m", *words],
        cwd=ROOT,
        env=os.environ | {"COLUMNS": "80", "NO_COLOR": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        check=False,
    )
    return "".join(f"{line.rstrip()}\n" for line in done.stdout.splitlines())


def filled(text: str) -> str:
    """The document with its commands' output as it is now."""

    def block(found: re.Match[str]) -> str:
        commands = [line for line in found[1].splitlines() if line.startswith("$ ")]
        body = "".join(f"{command}\n{printed(command[2:])}" for command in commands)
        return f"```console\n{body}```"

    return BLOCK.sub(block, text)


_FUNCTION = '''def {name}(x):
    """Double it.

    >>> {name}(3)
    6
    """
    return x {operator} x
'''
_FIX = """\
--- a/FILE.py
+++ b/FILE.py
@@ -6,2 +6,2 @@
     \"\"\"
-    return x * x
+    return {fixed}
"""
_FILES = {
    "FILE.py": _FUNCTION.format(name="FUNCTION", operator="*"),
    "ISSUE.md": ">>> from FILE import FUNCTION\n>>> FUNCTION(3)\n9\n\nIt should be 6.\n",
    "FIX.diff": _FIX.format(fixed="x + x"),
    "A.diff": _FIX.format(fixed="x + x"),
    "B.diff": _FIX.format(fixed="2 * x"),
    "pkg/__init__.py": "",
    "pkg/mod.py": "\n\n".join(
        _FUNCTION.format(name=name, operator="+") for name in ("FUNCTION", "function", "parse")
    ),
    "tests_of.py": _FUNCTION.format(name="f", operator="+"),
    "shop/__init__.py": "",
    "shop/prices.py": _FUNCTION.format(name="double", operator="+"),
    "src/shop/__init__.py": "",
    "src/shop/prices.py": _FUNCTION.format(name="double", operator="*"),
    "tests/test_prices.py": "import unittest\n\nfrom shop.prices import double\n\n\n"
    "class TestPrices(unittest.TestCase):\n    def test_double(self):\n"
    "        self.assertEqual(double(2), 4)\n",
}
_VERBS = "config|debug|diff|doctor|gate|harden|hunt|reproduce|vet"
_RUN = re.compile(rf"(?m)^(?:[a-z][^#\n]*\| )?refute (?:{_VERBS})\b[^#\n]*")
_NOT_ALONE = re.compile(r"--model|--ask|ask |gh ")
"""Commands that need a model, somebody who answers, or a service."""


def commands(text: str) -> list[str]:
    """Return the commands of refute in a document's blocks for a shell that run on their own."""
    blocks = "".join(re.findall(r"(?ms)^ *```sh\n(.*?)^ *```$", text))
    found = (re.sub(r"\s+", " ", one).strip() for one in _RUN.findall(textwrap.dedent(blocks)))
    return [one for one in found if not _NOT_ALONE.search(one)]


def repository(folder: Path) -> None:
    """Make the repository that the documents' commands name: its files, branches and tags."""
    shutil.copytree(ROOT / "examples", folder / "examples", ignore=shutil.ignore_patterns("plugin"))
    for name, text in _FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    (folder / ".gitignore").write_text("REPO\n")

    def git(*words: str) -> None:
        who = ["-c", "user.name=a", "-c", "user.email=a@b"]
        subprocess.run(["git", *who, *words], cwd=folder, check=True, capture_output=True)

    git("init", "-q", "-b", "main")
    git("add", "-A")
    git("commit", "-q", "-m", "one")
    git("tag", "v1.2")
    git("update-ref", "refs/remotes/origin/main", "HEAD")
    git("checkout", "-q", "-b", "topic")
    (folder / "shop/prices.py").write_text(_FUNCTION.format(name="double", operator="*"))
    git("commit", "-q", "-a", "-m", "two")
    git("tag", "v1.3")
    git("clone", "-q", ".", "REPO")
    (folder / "shop/prices.py").write_text(_FUNCTION.format(name="double", operator="+ 0 +"))


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("documents", nargs="+", type=Path)
    options.add_argument("--check", action="store_true", help="only say what is out of date")
    given = options.parse_args()
    old = 0
    for document in given.documents:
        text = document.read_text()
        new = filled(text)
        if new == text:
            continue
        old += 1
        print(f"{document}: {'out of date' if given.check else 'filled'}")
        if not given.check:
            document.write_text(new)
    return int(bool(old and given.check))


if __name__ == "__main__":
    sys.exit(main())
