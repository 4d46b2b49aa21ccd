"""AutoCodeRover as SWT-Bench runs it (section 4.1, App. B): context search, then the tests.

Stage 1: in at most 10 rounds the model calls searches over the code and is given what they find.
It names them in its text; they are read out of it here, and no second model is asked for that. What
AutoCodeRover asks in two questions a round (what do the results say? what is needed next?) is one.
Stage 2: the tests in AutoCodeRover's form of a patch, asked for again, up to 3 times in all, only
where none of it applies. Nothing is run.
"""

from __future__ import annotations

import ast
import asyncio
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from refute.core.methods import Context, method
from refute.core.parameters import parameter
from refute.core.problems import IssuePrediction, IssueProblem
from refute.errors import ContextTooLong
from refute.issue.contract import Bounded, OutOfBounds, Reproduction
from refute.issue.edits import Files
from refute.issue.original import Original, fix_submission, submission
from refute.models.contract import Message, Sampling
from refute.prompts import render
from refute.source.syntax import first_line, parse_expression, parse_module
from refute_lab.baselines.aci import ask_within
from refute_lab.baselines.edits import read_edits

# -- codesearch ------------------------------------------------------------------------------------


SHOWN = 3
"""Results that are shown with their code; of more, the files are listed (AutoCodeRover's limit)."""
LONGEST = 16_000
"""Characters of one result."""
_HEAD = 100
"""Lines of a file's head."""
_BESIDE = 3
"""Lines shown above and below a line that holds a snippet."""
_FILES = 15
"""Files that are listed at most."""


@dataclass(frozen=True, slots=True)
class Search:
    """One search of the API."""

    name: str
    parameters: tuple[str, ...]
    meaning: str

    @property
    def usage(self) -> str:
        """The command's syntax."""
        return f"{self.name}({', '.join(self.parameters)})"


SEARCHES: Mapping[str, Search] = {
    search.name: search
    for search in (
        Search("search_class", ("class_name",), "the outline of a class: its bases and methods"),
        Search("search_class_in_file", ("class_name", "file_name"), "a class of a file, whole"),
        Search("search_method", ("method_name",), "a method or function, wherever it is"),
        Search("search_method_in_class", ("method_name", "class_name"), "a method of a class"),
        Search(
            "search_method_in_file", ("method_name", "file_name"), "a method or function of a file"
        ),
        Search("search_code", ("snippet",), "the places where a piece of code stands literally"),
        Search("search_code_in_file", ("snippet", "file_name"), "the same, in one file"),
        Search(
            "get_code_around_line",
            ("file_name", "line_number", "window_size"),
            "the lines of a file around a line",
        ),
        Search("get_file_head", ("file_name",), "the first lines of a file, with its imports"),
    )
}


@dataclass(frozen=True, slots=True)
class Definition:
    """A class or function in a file. Lines are 1-based, both included, decorators too."""

    path: str
    name: str
    kind: str
    """`class` or `function`."""
    first: int
    last: int
    owner: str = ""
    """The innermost class that a function is in."""
    outline: tuple[int, ...] = ()
    """Of a class: the lines of its outline."""


class CodeSearch:
    """The searches over some sources."""

    def __init__(self, sources: Mapping[str, str]) -> None:
        """`sources`: path -> text, of Python files."""
        self._sources = sources
        self._lines: dict[str, list[str]] = {}
        self._definitions: dict[str, list[Definition]] = {}
        self._searches: Mapping[str, Callable[..., str]] = {
            "search_class": self._class,
            "search_class_in_file": self._class,
            "search_method": self._method,
            "search_method_in_class": self._method_in_class,
            "search_method_in_file": self._method,
            "search_code": self._code,
            "search_code_in_file": self._code,
            "get_code_around_line": self._around,
            "get_file_head": self._head,
        }

    def search(self, name: str, arguments: Sequence[str]) -> str:
        """The answer to one search, for the model; also where the call is wrong."""
        search = SEARCHES.get(name)
        if search is None:
            return f"There is no search {name!r}; there are {', '.join(SEARCHES)}."
        optional = name == "get_code_around_line"
        if not len(search.parameters) - optional <= len(arguments) <= len(search.parameters):
            return f"Wrong number of arguments; it is {search.usage}."
        if not all(argument.strip() for argument in arguments):
            return f"An argument is empty; it is {search.usage}."
        return self._searches[name](*arguments)

    # -- definitions -------------------------------------------------------------------------------

    def _class(self, name: str, file: str | None = None) -> str:
        name = name.rpartition(".")[2].strip()
        found = [d for d in self._defined(name, file) if d.kind == "class"]
        show = self._outlined if file is None else self._whole
        return self._told(f"class {name}", found, show, file)

    def _method(self, name: str, file: str | None = None) -> str:
        owner, _, name = name.strip().removesuffix("()").rpartition(".")
        found = [d for d in self._defined(name, file) if d.kind == "function"]
        owned = [d for d in found if d.owner == owner.rpartition(".")[2]] if owner else []
        return self._told(f"method {name}", owned or found, self._whole, file)

    def _method_in_class(self, name: str, owner: str) -> str:
        name, owner = name.rpartition(".")[2].strip(), owner.rpartition(".")[2].strip()
        found = [d for d in self._defined(name) if d.kind == "function" and d.owner == owner]
        if not found and not any(d.kind == "class" for d in self._defined(owner)):
            return f"There is no class {owner}."
        return self._told(f"method {name} in class {owner}", found, self._whole)

    def _defined(self, name: str, file: str | None = None) -> list[Definition]:
        if not name.isidentifier():
            return []
        likely = re.compile(rf"^[ \t]*(?:class|def|async[ \t]+def)[ \t]+{re.escape(name)}\b", re.M)
        found: list[Definition] = []
        for path in self._files(file):
            if likely.search(self._sources[path]):
                found += [d for d in self._parsed(path) if d.name == name]
        return found

    def _parsed(self, path: str) -> list[Definition]:
        if path not in self._definitions:
            try:
                tree = parse_module(self._sources[path])
                found = list(_definitions(tree, path))
            except (SyntaxError, ValueError, RecursionError, MemoryError):
                found = list(_by_indentation(self._text(path), path))
            self._definitions[path] = found
        return self._definitions[path]

    def _told(
        self,
        what: str,
        found: Sequence[Definition],
        show: Callable[[Definition], str],
        file: str | None = None,
    ) -> str:
        where = "" if file is None else f" in {file}"
        if not found:
            return self._no_file(file) or f"There is no {what}{where}."
        count = "is 1" if len(found) == 1 else f"are {len(found)}"
        parts = [f"There {count} of {what}{where}:"]
        parts += [show(definition) for definition in found[:SHOWN]]
        if len(found) > SHOWN:
            parts.append(_listed([d.path for d in found[SHOWN:]]))
        return "\n".join(parts)

    def _whole(self, definition: Definition) -> str:
        lines = self._text(definition.path)[definition.first - 1 : definition.last]
        return self._result(definition, lines)

    def _outlined(self, definition: Definition) -> str:
        text = self._text(definition.path)
        if not definition.outline:
            return self._whole(definition)
        return self._result(definition, [text[n - 1] for n in definition.outline])

    def _result(self, definition: Definition, lines: Sequence[str]) -> str:
        owner = f" of class {definition.owner}" if definition.owner else ""
        name = f"{definition.kind} {definition.name}{owner}"
        return _shown(definition.path, definition.first, definition.last, lines, name)

    # -- text --------------------------------------------------------------------------------------

    def _code(self, snippet: str, file: str | None = None) -> str:
        snippet = snippet.strip("\n")
        found = [
            (path, self._sources[path].count("\n", 0, at.start()) + 1)
            for path in self._files(file)
            for at in re.finditer(re.escape(snippet), self._sources[path])
        ]
        if not found:
            where = "" if file is None else f" in {file}"
            return self._no_file(file) or f"The code does not stand anywhere{where}."
        size = snippet.count("\n")
        parts = [f"The code stands in {len(found)} place{'' if len(found) == 1 else 's'}:"]
        for path, line in found[:SHOWN]:
            first, text = max(1, line - _BESIDE), self._text(path)
            last = min(len(text), line + size + _BESIDE)
            parts.append(_shown(path, first, last, text[first - 1 : last]))
        if len(found) > SHOWN:
            parts.append(_listed([path for path, _ in found[SHOWN:]]))
        return "\n".join(parts)

    def _around(self, file: str, line: str, window: str = "50") -> str:
        if not (line.strip().isdecimal() and window.strip().isdecimal()):
            return f"Line and window are numbers; it is {SEARCHES['get_code_around_line'].usage}."
        number, half = int(line[:9]), min(int(window[:9]), 200)
        parts = []
        for path in self._files(file)[:SHOWN]:
            text = self._text(path)
            if not 1 <= number <= len(text):
                parts.append(f"{path} has {len(text)} lines.")
                continue
            first, last = max(1, number - half), min(len(text), number + half)
            parts.append(_shown(path, first, last, text[first - 1 : last]))
        return "\n".join(parts) or self._no_file(file)

    def _head(self, file: str) -> str:
        found = self._files(file)[:SHOWN]
        heads = ((path, self._text(path)[:_HEAD]) for path in found)
        return "\n".join(_shown(path, 1, len(text), text) for path, text in heads) or self._no_file(
            file
        )

    def _files(self, file: str | None) -> list[str]:
        """The sources, or those that a name or the end of a path means."""
        if file is None:
            return sorted(self._sources)
        wanted = file.strip().strip("/").removeprefix("./")
        if wanted in self._sources:
            return [wanted]
        return sorted(path for path in self._sources if path.endswith(f"/{wanted}"))

    def _no_file(self, file: str | None) -> str:
        return "" if file is None or self._files(file) else f"There is no Python file {file}."

    def _text(self, path: str) -> list[str]:
        if path not in self._lines:
            self._lines[path] = self._sources[path].split("\n")
        return self._lines[path]


def _shown(path: str, first: int, last: int, lines: Sequence[str], name: str = "") -> str:
    code = "\n".join(line.rstrip("\r") for line in lines)
    if len(code) > LONGEST:
        code = code[:LONGEST].rpartition("\n")[0] + "\n[...]"
    what = f" {name}," if name else ""
    return f"<file>{path}</file>{what} lines {first} to {last}\n<code>\n{code}\n</code>"


def _listed(paths: Sequence[str]) -> str:
    counts: dict[str, int] = {}
    for path in paths:
        counts[path] = counts.get(path, 0) + 1
    shown = [f"- {path} ({count})" for path, count in counts.items()]
    more = [f"- and {len(shown) - _FILES} more files"] if len(shown) > _FILES else []
    return "\n".join(["More of them, in these files:", *shown[:_FILES], *more])


def _definitions(tree: ast.AST, path: str, owner: str = "") -> Iterator[Definition]:
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.ClassDef):
            first, last = _span(node)
            yield Definition(path, node.name, "class", first, last, owner, _outline(node))
            yield from _definitions(node, path, node.name)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            first, last = _span(node)
            yield Definition(path, node.name, "function", first, last, owner)
            yield from _definitions(node, path)
        else:
            yield from _definitions(node, path, owner)


def _span(node: ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) -> tuple[int, int]:
    return first_line(node), node.end_lineno or node.lineno


def _outline(node: ast.ClassDef) -> tuple[int, ...]:
    """The lines of a class that say what it is: its header, assignments, and methods' headers."""
    lines = set(range(_span(node)[0], node.body[0].lineno))
    for child in node.body:
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            end = child.body[0].lineno
            lines |= set(range(_span(child)[0], max(end, child.lineno + 1)))
        elif isinstance(child, ast.Assign | ast.AnnAssign):
            lines |= set(range(child.lineno, (child.end_lineno or child.lineno) + 1))
    return tuple(sorted(lines))


_HEADER = re.compile(r"([ \t]*)(class|def|async[ \t]+def)[ \t]+(\w+)")


def _by_indentation(lines: Sequence[str], path: str) -> Iterator[Definition]:
    """Definitions of a file that does not parse: up to the next line that is indented less."""
    owners: list[tuple[int, str]] = []
    for number, line in enumerate(lines, 1):
        header = _HEADER.match(line)
        if header is None:
            continue
        depth = len(header[1].expandtabs())
        owners = [one for one in owners if one[0] < depth]
        last = number
        for after in range(number + 1, len(lines) + 1):
            text = lines[after - 1].expandtabs()
            if text.strip():
                if len(text) - len(text.lstrip()) <= depth and not text.lstrip().startswith(")"):
                    break
                last = after
        kind = "class" if header[2] == "class" else "function"
        yield Definition(path, header[3], kind, number, last, owners[-1][1] if owners else "")
        if kind == "class":
            owners.append((depth, header[3]))


ROUNDS = 10
"""Rounds of context search."""
TRIES = 3
"""Answers with tests, until one applies."""
MOST_CALLS = 10
"""Searches of one round."""
LONGEST_CALL = 4_000
SAMPLING = Sampling(temperature=0.0, top_p=1.0, max_tokens=4096)

_START = re.compile(rf"\b({'|'.join(SEARCHES)})\s*\(")
_KEPT = 20
"""Results that are shown whole: all of them, unless the conversation gets too long."""


@dataclass(frozen=True, slots=True)
class SearchCall:
    """A search that the model calls."""

    name: str
    arguments: tuple[str, ...]

    @property
    def text(self) -> str:
        """The call as it is written."""
        return f"{self.name}({', '.join(map(repr, self.arguments))})"


@dataclass(frozen=True, slots=True, kw_only=True)
class AutocoderoverOptions:
    """The method's options; its figures depend on them."""

    rounds: int = parameter(ROUNDS, "Rounds of searching.", flag="--search-rounds", at_least=1)
    tries: int = parameter(TRIES, "Answers to one question, until one can be read.", at_least=1)


@method(
    "autocoderover",
    summary="searches over the code, then tests",
    asks_model=True,
    repairs=True,
)
async def autocoderover(
    problem: IssueProblem, *, ctx: Context, options: AutocoderoverOptions
) -> Reproduction:
    """See the module's docstring."""
    asking, rounds, tries = Bounded(ctx.model, ctx.bounds), options.rounds, options.tries
    with await asyncio.to_thread(ctx.workspace) as workspace:
        original = Original(workspace, ctx.bounds)
        sources = await asyncio.to_thread(original.sources)
        fix = ctx.task == "repair"
        known = {"issue": problem.text, "searches": list(SEARCHES.values())}
        searching = render("acr_search", fix=fix, **known)
        messages = [Message("system", render("acr_system", fix=fix)), Message("user", searching)]
        steps: list[dict[str, Any]] = []
        try:
            await _search(asking, CodeSearch(sources), messages, steps, rounds, tries, fix=fix)
            prediction = await _write(
                problem.id, asking, original.source, messages, steps, tries, fix=fix
            )
        except OutOfBounds as error:
            prediction = IssuePrediction(problem.id, "", notes=(f"ended by the bounds: {error}",))
        except ContextTooLong:
            if not steps:
                raise  # not even the first question fits: nothing was tried
            notes = ("ended: the conversation is too long for the model",)
            prediction = IssuePrediction(problem.id, "", notes=notes)
    return Reproduction(prediction, tuple(steps))


async def _search(
    asking: Bounded,
    searches: CodeSearch,
    messages: list[Message],
    steps: list[dict[str, Any]],
    rounds: int,
    tries: int,
    *,
    fix: bool,
) -> None:
    """Stage 1: adds the rounds to the conversation. It ends when the model calls no search."""
    done: set[SearchCall] = set()
    for number in range(1, rounds + 1):
        if asking.left <= tries:
            return  # what is left is for the tests
        answer = await ask_within(asking, messages, SAMPLING, keep=_KEPT)
        messages.append(Message("assistant", answer.text))
        calls = read_calls(answer.text)
        results = []
        for call in calls:
            if call in done:
                results.append((call.text, "Its result is above."))
            else:
                found = await asyncio.to_thread(searches.search, call.name, call.arguments)
                results.append((call.text, found))
        done |= set(calls)
        steps.append(
            {"kind": "search", "answer": answer.text, "calls": [call.text for call in calls]}
        )
        if not calls:
            return
        told = render("acr_results", results=results, left=rounds - number, fix=fix)
        messages.append(Message("user", told))


async def _write(
    id: str,
    asking: Bounded,
    files: Files,
    messages: list[Message],
    steps: list[dict[str, Any]],
    tries: int,
    *,
    fix: bool,
) -> IssuePrediction:
    """Stage 2: the tests, or the fix; the last answer's prediction, which may be empty."""
    handed_in = fix_submission if fix else submission
    request = Message("user", render("acr_write", fix=fix))
    if messages[-1].role == "user" and len(messages) > 2:
        # results of the last round: one message, for some servers want the roles to alternate
        last = messages.pop()
        request = Message("user", f"{last.content}\n\n{request.content}")
    messages.append(request)
    prediction = IssuePrediction(id, "")
    for number in range(tries):
        answer = await ask_within(asking, messages, SAMPLING, keep=_KEPT)
        applied = await asyncio.to_thread(read_edits(answer.text, "autocoderover").apply, files)
        prediction = handed_in(id, applied.patch, *applied.problems)
        steps.append(
            {
                "kind": "fix" if fix else "tests",
                "answer": answer.text,
                "problems": list(prediction.notes),
            }
        )
        if prediction.patch or number + 1 == tries:
            break
        again = render("acr_again", problems=prediction.notes, fix=fix)
        messages += [Message("assistant", answer.text), Message("user", again)]
    return prediction


def read_calls(answer: str) -> list[SearchCall]:
    """The searches that an answer calls, in their order, each once; at most `MOST_CALLS`."""
    found = dict.fromkeys(_calls(answer))
    return list(found)[:MOST_CALLS]


def _calls(answer: str) -> Iterator[SearchCall]:
    for start in _START.finditer(answer):
        text = answer[start.start() : start.start() + LONGEST_CALL]
        arguments = _arguments(text)
        if arguments is not None and not _is_usage(start[1], arguments):
            yield SearchCall(start[1], tuple(arguments))


def _arguments(text: str) -> Sequence[str] | None:
    """The arguments of the call that the text begins with; None where it is never closed."""
    for number, end in enumerate(re.finditer(r"\)", text)):
        if number > 40:
            return None
        try:
            node = parse_expression(text[: end.end()])
        except SyntaxError:
            continue
        if isinstance(node, ast.Call):
            given = [*node.args, *(keyword.value for keyword in node.keywords)]
            return [_value(one, text) for one in given]
    # something other than Python between the brackets, such as a path without quotes
    line = re.match(r"\w+\s*\(([^()\n]*)\)", text)
    return [part.strip().strip("'\"`") for part in line[1].split(",")] if line else None


def _value(node: ast.expr, text: str) -> str:
    """A literal's value as text; of a name or another expression, its source."""
    if isinstance(node, ast.Constant):
        return str(node.value)
    return ast.get_source_segment(text, node) or ""


def _is_usage(name: str, arguments: Sequence[str]) -> bool:
    """Return whether it is our own explanation, repeated."""
    return list(arguments) == list(SEARCHES[name].parameters)
