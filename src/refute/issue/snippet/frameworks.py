"""Issues of tools whose example is an input of theirs: pytest, Sphinx, pylint.

What such an issue holds is not called but handed to the tool: a file of tests, a text in
reStructuredText, a module to be checked. The tool's own fixtures and classes run it, and what the
issue shows of the output must be gone, or there.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence

from refute.issue.snippet.evidence import Claim
from refute.issue.snippet.issue_reader import Piece
from refute.issue.snippet.script import Statement
from refute.syntax import parse_module

_TESTS = re.compile(r"^\s*(?:async )?def test|^class Test", re.MULTILINE)
_DEFINED = re.compile(r"^\s*(?:async )?def (test\w*)", re.MULTILINE)
_NAMED = re.compile(r"^#\s*(?:content of:?\s*|file:\s*)?`?([\w./-]+\.py)`?\s*$")
_WARNING = re.compile(r"(?:WARNING|ERROR|Warning, treated as error)\s*:\s*\n?(?:\S+:\d+:)?\s*(.+)")
_DIRECTIVE = re.compile(r"^\s*\.\. [\w:-]+::|:[\w:]+:`", re.MULTILINE)
_MESSAGE = re.compile(r"^\S+?\.py:(\d+)(?::\d+)?: (?:\[?([A-Z]\d{4})\b.*)$", re.MULTILINE)
_NOTHING = re.compile(r"\bno\b|\bnot\b|n't\b|\bnothing\b|\bnone\b|without", re.I)

_SUMMARY = re.compile(r"^=+ (\d+ [a-z]+)(?:, [^=]*)? in [^=]*=+\s*$", re.MULTILINE)
_COMMAND = re.compile(
    r"(?:python3? -m django|(?:python3? )?(?:\./)?manage\.py|django-admin)[ ]+([a-z]\w+)(?=[ \n]|$)"
)
_LEAVES_FILES = ("startapp", "startproject", "makemigrations", "makemessages", "runserver", "help")
_LONGEST_COMMAND = 20
"""Lines of a command whose quotation is open."""

Candidate = tuple[Claim, tuple[str, ...]]


def framework_claims(pieces: Sequence[Piece], files: Mapping[str, str]) -> list[Candidate]:
    """What the issue's inputs and outputs claim of the tool, with the imports it takes."""
    if "django/core/management/__init__.py" in files:
        return list(_django(pieces))
    if "src/_pytest/python.py" in files:
        return list(_pytest(pieces))
    if "sphinx/testing/restructuredtext.py" in files:
        return list(_sphinx(pieces))
    if "pylint/reporters/text.py" in files:
        return list(_pylint(pieces))
    return []


def _claim(
    setup: Sequence[str], focus: str, expected: str, why: str, fixture: str, confidence: float
) -> Claim:
    rows = [Statement(source, parse_module(source).body[0], 0) for source in (*setup, focus)]
    return Claim(
        tuple(rows[:-1]), rows[-1], "equals", confidence, why, expected, fixtures=(fixture,)
    )


def _django(pieces: Sequence[Piece]) -> Iterator[Candidate]:
    """A management command that ends with the exception that the issue shows must not do so."""
    text = "\n".join(piece.text for piece in pieces)
    errors = [error for piece in pieces for error in piece.errors if error.message]
    imports = ("from django.core.management import call_command",)
    for match in _COMMAND.finditer(text):
        words = _words(text[match.end() :])
        if words is None or match[1] in _LEAVES_FILES:
            continue
        source = f"call_command({', '.join(map(repr, (match[1], *words)))})"
        focus = Statement(source, parse_module(source).body[0], 0)
        for error in errors[-1:]:
            why = f"the command ends with the {error.type} that the issue shows"
            claim = Claim((), focus, "runs", 0.6, why, failure=error.type, message=error.message)
            yield claim, imports


def _words(text: str) -> list[str] | None:
    """The arguments at the start of a text: to the end of the line, or of an open quotation."""
    line = ""
    for number, part in enumerate(text.split("\n")[:_LONGEST_COMMAND]):
        line += "\n" * bool(number) + part
        try:
            words = shlex.split(line)
        except ValueError:
            continue
        return [word for word in words if not word.startswith(("<", ">", "|"))]
    return None


def _pytest(pieces: Sequence[Piece]) -> Iterator[Candidate]:
    """A file of tests that makes pytest itself fail must not do so."""
    code = [piece.text.strip("\n") for piece in pieces if piece.kind == "code"]
    if not any(_TESTS.search(text) for text in code):
        return
    errors = [error for piece in pieces for error in piece.errors]
    setup = [*_made_files(code), "result = testdir.runpytest()"]
    if any("INTERNALERROR" in piece.text for piece in pieces):
        why = "pytest must not fail inside of itself"
        yield (
            _claim(setup, "'INTERNALERROR' in result.stdout.str()", "False", why, "testdir", 0.65),
            (),
        )
    summaries = dict.fromkeys(m[1] for p in pieces for m in _SUMMARY.finditer(p.text))
    if len(summaries) <= 2:  # the one that it does now is no test that fails
        for summary in summaries:
            why = "the issue shows what it was before, or should be"
            focus = f"{summary!r} in result.stdout.str()"
            yield _claim(setup, focus, "True", why, "testdir", 0.5), ()
    for error in errors:
        line = f"{error.type}: {error.message}" if error.message else error.type
        raised = any(f"raise {error.type}" in text or "assert" in error.message for text in code)
        if error.type in ("AssertionError", "Failed") or raised or len(line) > 150:
            continue
        focus = f"{line!r} in result.stdout.str()"
        why = f"pytest must not show {error.type}"
        yield _claim(setup, focus, "False", why, "testdir", 0.5), ()


def _made_files(code: Sequence[str]) -> Iterator[str]:
    named: dict[str, str] = {}
    known: set[str] = set()
    for number, text in enumerate(code):
        tests = set(_DEFINED.findall(text))
        if tests and tests <= known:
            continue  # a traceback quotes it
        known |= tests
        match = _NAMED.match(text.split("\n", 1)[0])
        stem = match[1].rpartition("/")[2].removesuffix(".py") if match else f"test_{number}"
        if match is None and not _TESTS.search(text):
            continue
        named[stem if stem.isidentifier() else f"test_{number}"] = text
    if len(named) == 1 and "conftest" not in named:
        yield f"testdir.makepyfile({_text(next(iter(named.values())))})"
        return
    for stem, text in named.items():
        yield f"testdir.makepyfile({stem}={_text(text)})"


def _sphinx(pieces: Sequence[Piece]) -> Iterator[Candidate]:
    """A text that Sphinx warns of, as the issue shows it, must be read without that warning."""
    texts = [
        piece.text for piece in pieces
        if piece.kind == "output"
        and (piece.language in ("rst", "rest") or _DIRECTIVE.search(piece.text))
        and not _WARNING.search(piece.text)
    ]  # fmt: skip
    shown = [match[1].strip() for piece in pieces for match in _WARNING.finditer(piece.text)]
    if not texts or not shown:
        return
    body = "\n\n".join(texts)
    setup = [f"restructuredtext.parse(app, {_text(body)})"]
    for warning in dict.fromkeys(shown):
        if len(warning) < 200:
            focus = f"{warning!r} in app._warning.getvalue()"
            why = "Sphinx must not warn as the issue shows"
            imports = ("from sphinx.testing import restructuredtext",)
            yield _claim(setup, focus, "False", why, "app", 0.55), imports


def _pylint(pieces: Sequence[Piece]) -> Iterator[Candidate]:
    """Messages that are expected must be there, and those that must not be are not."""
    code = [piece for piece in pieces if piece.kind == "code" and piece.fenced]
    source = code[0].text if code else next(
        (p.text for p in pieces if p.fenced and p.language in ("python", "py")), "")  # fmt: skip
    if not source:
        return
    imports = (
        "import re",
        "from io import StringIO",
        "from pylint.lint import Run",
        "from pylint.reporters.text import TextReporter",
    )
    arguments = ", ".join(["str(path)", *map(repr, _options(pieces))])
    setup = [
        "path = tmp_path / 'example.py'",
        f"path.write_text({_text(source)})",
        "output = StringIO()",
        f"Run([{arguments}], reporter=TextReporter(output), exit=False)",
    ]
    expected = _section(pieces, r"expected")
    shown = _section(pieces, r"(?:pylint )?output|actual")
    wanted = dict.fromkeys(_messages(expected))
    got = dict.fromkeys(_messages(shown))
    for line, code_ in wanted:
        if (line, code_) not in got:
            why = f"pylint must say {code_} on line {line}"
            yield _claim(setup, _emitted(line, code_), "True", why, "tmp_path", 0.6), imports
    if not wanted and _NOTHING.search(expected):
        for line, code_ in got:
            why = f"pylint must not say {code_} on line {line}"
            yield _claim(setup, _emitted(line, code_), "False", why, "tmp_path", 0.5), imports


def _emitted(line: str, code: str) -> str:
    pattern = rf"example\.py:{line}:\d+: {code}:"
    return f"re.search({pattern!r}, output.getvalue()) is not None"


def _messages(text: str) -> Iterator[tuple[str, str]]:
    for match in _MESSAGE.finditer(text):
        yield match[1], match[2]


def _section(pieces: Sequence[Piece], title: str) -> str:
    """The text under a heading of the issue's form, up to the next heading."""
    text = "\n".join(piece.text for piece in pieces)
    match = re.search(rf"^#+ *(?:{title})[^\n]*\n(.*?)(?=^#+ |\Z)", text, re.I | re.M | re.S)
    return match[1] if match else ""


def _options(pieces: Sequence[Piece]) -> list[str]:
    """The options of the command that the issue shows."""
    for piece in pieces:
        match = re.search(r"^\s*\$?\s*(?:python3? -m )?pylint (.+)$", piece.text, re.MULTILINE)
        if match is None:
            continue
        try:
            words = shlex.split(match[1])
        except ValueError:
            return []
        return [word for word in words if word.startswith("--") and "=" in word]
    return []


def _text(text: str) -> str:
    """A string literal that keeps its lines."""
    body = text.strip("\n").replace("\\", "\\\\").replace('"""', '\\"\\"\\"')
    return f'"""\\\n{body}\n"""'
