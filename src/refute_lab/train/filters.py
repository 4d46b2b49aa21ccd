"""Checks that turn raw tasks into solutions (UTGen, appendix B), each with the reason it gives.

`admitted` looks at the text alone; `works` runs the code in the sandbox. What passes is a function
with a description, whose output follows from its arguments.
"""

from __future__ import annotations

import ast
import hashlib
import io
import keyword
import os
import re
import tokenize
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from refute.core import extras
from refute.core.problems import Expression, FunctionProblem, Trust
from refute.core.starting import Variable
from refute.errors import DatasetError, InputError
from refute.function.llm.answers import code_spans, final_text
from refute.function.llm.generation import test_request
from refute.function.target import open_target, problem_of
from refute.sandbox import Limits, NotRun, Program, Raised, Returned
from refute.sandbox.equality import expect_test, matches
from refute.sandbox.pool import AsyncSandbox
from refute.source.syntax import bound_names, find_function, first_line, parse_module
from refute_lab.datasets import function_datasets, load
from refute_lab.datasets.prompts import prompt_examples
from refute_lab.datasets.rows import read_rows

WORDS = 5
"""Words in an n-gram of a description."""
TOKENS = 13
"""Tokens in an n-gram of code. Shorter ones are idioms that unrelated functions share."""
JACCARD = 0.5
CONTAINED = 0.8
FEWEST = 8
"""So many n-grams of an evaluation problem at least, or containment says nothing."""
MEASURE = (
    f"{WORDS}-grams of the description's words, {TOKENS}-grams of the code's tokens with names "
    f"numbered: Jaccard similarity of at least {JACCARD}, or {CONTAINED:.0%} of the evaluation "
    f"problem's n-grams contained (where it has {FEWEST} or more); exact, no sampling"
)
"""For the data card."""

_Documented = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


@dataclass(frozen=True, slots=True)
class Text:
    """The text of a problem that is compared."""

    name: str
    """For people: `humaneval+ HumanEval/7`."""
    description: str
    code: str


@dataclass(frozen=True, slots=True)
class Match:
    """The nearest evaluation problem, where it is too near."""

    name: str
    part: str
    """`description` or `code`."""
    measure: str
    """`jaccard` or `containment`."""
    value: float


class Index:
    """Evaluation problems by their n-grams."""

    def __init__(self, texts: Iterable[Text]) -> None:
        self._names: list[str] = []
        self._sizes: dict[str, list[int]] = {"description": [], "code": []}
        self._holders: dict[tuple[str, int], list[int]] = defaultdict(list)
        whole = hashlib.sha256()
        for number, text in enumerate(texts):
            whole.update(f"{text.name}\0{text.description}\0{text.code}\0".encode())
            self._names.append(text.name)
            for part, grams in _parts(text.description, text.code):
                self._sizes[part].append(len(grams))
                for gram in grams:
                    self._holders[part, gram].append(number)

        self.digest = whole.hexdigest() if self._names else ""
        """Changes with the problems; "" where there are none."""

    def __len__(self) -> int:
        return len(self._names)

    def nearest(self, description: str, code: str) -> Match | None:
        """The problem that a task is too near to; None where there is none."""
        best: Match | None = None
        for part, grams in _parts(description, code):
            shared: Counter[int] = Counter()
            for gram in grams:
                shared.update(self._holders.get((part, gram), ()))
            for number, count in shared.items():
                size = self._sizes[part][number]
                jaccard = count / (len(grams) + size - count)
                contained = count / size if size >= FEWEST else 0.0
                if jaccard >= JACCARD:
                    found = Match(self._names[number], part, "jaccard", jaccard)
                elif contained >= CONTAINED:
                    found = Match(self._names[number], part, "containment", contained)
                else:
                    continue
                if best is None or found.value > best.value:
                    best = found
        return best


def evaluation_texts(names: Iterable[str]) -> Iterator[Text]:
    """The problems of datasets (names or files, as `refute bench` takes them).

    Raises `DatasetError`.
    """
    for name in names:
        for item in load(name):
            code = item.key.reference or item.problem.code
            yield Text(f"{name} {item.problem.id}", item.problem.description, code)


def available() -> list[str]:
    """The public evaluation sets that are in REFUTE_DATA."""
    folder = os.environ.get(Variable.DATA)
    found = []
    for name in function_datasets() if folder and Path(folder).is_dir() else ():
        try:
            load(name, limit=1)
        except DatasetError:
            continue
        found.append(name)
    return found


def words(text: str) -> list[str]:
    """The words of a description, in lower case."""
    return re.findall(r"[^\W_]+", text.lower())


def code_tokens(code: str) -> list[str]:
    """The tokens of code, with names as their numbers of first use; [] for what does not parse."""
    try:
        tree = parse_module(code)
        for node in ast.walk(tree):
            if isinstance(node, _Documented) and ast.get_docstring(node, clean=False) is not None:
                node.body = node.body[1:] or [ast.Pass()]
        text = ast.unparse(tree)
        found = list(tokenize.generate_tokens(io.StringIO(text).readline))
    except (SyntaxError, ValueError, RecursionError, MemoryError, tokenize.TokenError):
        return []
    numbers: dict[str, str] = {}
    tokens = []
    for token in found:
        if token.type == tokenize.NAME and not keyword.iskeyword(token.string):
            tokens.append(numbers.setdefault(token.string, f"n{len(numbers)}"))
        elif token.string.strip():
            tokens.append(token.string)
    return tokens


def _parts(description: str, code: str) -> tuple[tuple[str, set[int]], tuple[str, set[int]]]:
    return (
        ("description", _grams(words(description), WORDS)),
        ("code", _grams(code_tokens(code), TOKENS)),
    )


def _grams(tokens: list[str], n: int) -> set[int]:
    """Runs of n tokens as numbers of 64 bits; of a shorter text its whole."""
    if not tokens:
        return set()
    runs = (tokens[i : i + n] for i in range(max(1, len(tokens) - n + 1)))
    return {
        int.from_bytes(hashlib.blake2b(" ".join(r).encode(), digest_size=8).digest()) for r in runs
    }


# -- filters ---------------------------------------------------------------------------------------


# -- sources ---------------------------------------------------------------------------------------


FORMS = "a JSONL or Parquet file, a folder of Python files, tulu-3, or hub:OWNER/NAME[@SPLIT]"
TULU = "allenai/tulu-3-sft-mixture"
"""The paper's instruction data (§3.2)."""
_DESCRIPTION = ("description", "prompt", "instruction", "problem", "question", "text")
_SOLUTION = ("solution", "code", "reference", "canonical_solution", "output", "response", "answer")
_MESSAGES = ("messages", "conversations")
_LICENCE = ("license", "licence")


@dataclass(frozen=True, slots=True)
class Raw:
    """A task as its source has it, nothing checked."""

    id: str
    description: str
    answer: str
    """Text that holds the solution: an answer in a chat, or source code."""
    chat: bool
    """True: `answer` is prose with code in it."""
    entry_point: str | None = None
    licence: str = ""
    origin: str = ""
    """The collection that the row comes from, where a mixture says it."""


def read_source(source: str) -> Iterator[Raw]:
    """The tasks of a source (`FORMS`), in its order.

    Rows have a description and a solution under one of their usual names, or `messages`. A row that
    has neither is a `Raw` without an answer: it falls out later, and is counted. Raises
    `InputError`.
    """
    path = Path(source)
    if path.is_dir():
        yield from _folder(path)
    elif path.suffix == ".parquet":
        yield from _raws(_parquet(path))
    elif path.is_file():
        yield from _raws(row.fields for row in read_rows(path))
    elif source == "tulu-3" or source.startswith("hub:"):
        yield from _raws(_hub(TULU if source == "tulu-3" else source.removeprefix("hub:")))
    else:
        raise InputError(f"{source}: no such source; give {FORMS}")


def fingerprint(source: str) -> str:
    """Changes when the content of a local source does; of the hub, its name."""
    path = Path(source)
    files = _files(path) if path.is_dir() else [path] if path.is_file() else []
    if not files:
        return source
    whole = hashlib.sha256()
    for file in files:
        name = file.name if file == path else file.relative_to(path).as_posix()
        with file.open("rb") as handle:
            digest = hashlib.file_digest(handle, "sha256").hexdigest()
        whole.update(f"{name}\0{digest}\n".encode())
    return whole.hexdigest()


# -- rows ------------------------------------------------------------------------------------------


def _raws(rows: Iterator[Mapping[str, Any]]) -> Iterator[Raw]:
    for number, row in enumerate(rows, 1):
        identity = row.get("id", row.get("task_id"))
        name = f"row-{number}" if identity is None else str(identity)
        licence, origin = _text(row, _LICENCE), _text(row, ("source",))
        messages = next((row[key] for key in _MESSAGES if key in row), None)
        if messages is not None:
            asked, answer = _turns(messages)
            yield Raw(name, asked, answer, True, None, licence, origin)
            continue
        answer = _text(row, _SOLUTION)
        chat = "```" in answer
        entry_point = _text(row, ("entry_point",)) or None
        yield Raw(name, _text(row, _DESCRIPTION), answer, chat, entry_point, licence, origin)


def _text(row: Mapping[str, Any], names: tuple[str, ...]) -> str:
    found = (row[name] for name in names if isinstance(row.get(name), str))
    return next(found, "")


def _turns(messages: Any) -> tuple[str, str]:
    """Return the user's text over all turns, and the last answer."""
    asked, answer = [], ""
    for message in messages if isinstance(messages, list) else []:
        if not isinstance(message, dict):
            continue
        role = message.get("role", message.get("from"))
        content = message.get("content", message.get("value"))
        if not isinstance(content, str):
            continue
        if role in ("user", "human"):
            asked.append(content.strip())
        elif role in ("assistant", "gpt"):
            answer = content
    return "\n\n".join(asked), answer


def _parquet(path: Path) -> Iterator[Mapping[str, Any]]:
    extras.need("hub", f"{path}: Parquet", ["pyarrow"])
    from pyarrow.parquet import ParquetFile  # type: ignore[import-untyped,unused-ignore]

    try:
        for batch in ParquetFile(path).iter_batches(batch_size=256):
            yield from batch.to_pylist()
    except (OSError, ValueError) as error:  # pyarrow's own errors are ValueErrors
        raise InputError(f"{path}: not a Parquet file: {error}") from None


def _hub(name: str) -> Iterator[Mapping[str, Any]]:
    repository, _, split = name.partition("@")
    extras.need("hub", repository)
    from datasets import load_dataset  # type: ignore[import-not-found,unused-ignore]

    try:
        rows = load_dataset(repository, split=split or "train", streaming=True)
        yield from rows
    except Exception as error:  # whatever the library raises: no network, no such repository, ...
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise InputError(f"{repository}: cannot be had from the hub: {reason}") from None


# -- one's own functions ---------------------------------------------------------------------------


def _files(folder: Path) -> list[Path]:
    """Python files below a folder, without hidden ones, environments and tests."""

    def wanted(path: Path) -> bool:
        parts = path.relative_to(folder).parts
        return not any(
            part.startswith((".", "test_")) or part in ("tests", "site-packages", "__pycache__")
            for part in parts
        )

    return sorted(path for path in folder.rglob("*.py") if path.is_file() and wanted(path))


def _folder(folder: Path) -> Iterator[Raw]:
    """The public functions of the files, with their docstrings for descriptions.

    A file that cannot be read is a task without an answer.
    """
    files = _files(folder)
    if not files:
        raise InputError(f"{folder}: holds no Python files")
    for path in files:
        name = path.relative_to(folder).as_posix()
        try:
            module = open_target(str(path))
        except InputError:
            yield Raw(name, "", "", False)
            continue
        for function in module.functions:
            problem = problem_of(module, function)
            identity = f"{name}::{function}"
            yield Raw(identity, problem.description, problem.code, False, function)


# -- extract ---------------------------------------------------------------------------------------


_READS = frozenset({"input", "open", "exec", "eval", "__import__", "breakpoint"})
_MODULES = frozenset({"os", "subprocess", "socket", "random", "time", "requests", "urllib"})

_IMPORT = ast.Import | ast.ImportFrom
_BINDING = _Documented | _IMPORT | ast.Assign | ast.AnnAssign | ast.AugAssign


@dataclass(frozen=True, slots=True)
class Extract:
    """A function's module, reduced to what the function needs."""

    entry_point: str
    signature: str
    code: str
    docstring: str


def extracted(code: str, name: str | None, description: str) -> Extract | str:
    """The function `name` of a module, else the one that the description is about.

    A string says why there is none that could be tested by its arguments and its output.
    """
    try:
        return _extracted(parse_module(code), code, name, description)
    except (SyntaxError, ValueError, RecursionError, MemoryError):  # nested too deeply, say
        return "does not parse"


def _extracted(tree: ast.Module, code: str, name: str | None, description: str) -> Extract | str:
    name = name or _entry_point(tree, description)
    node = None if name is None else find_function(tree, name)
    if name is None or "." in name or node is None:
        return "no single entry point"
    if isinstance(node, ast.AsyncFunctionDef) or _holds(node, ast.Yield | ast.YieldFrom):
        return "async or a generator"
    arguments = node.args
    if not (arguments.posonlyargs or arguments.args or arguments.kwonlyargs or arguments.vararg):
        return "takes no arguments"
    if not any(n.value is not None for n in ast.walk(node) if isinstance(n, ast.Return)):
        return "returns nothing"
    part = _part(tree, code, name)
    used = {n.id for n in ast.walk(parse_module(part)) if isinstance(n, ast.Name)}
    if used & _READS or _imported(part) & _MODULES:
        return "uses more than its arguments"
    returns = "" if node.returns is None else f" -> {ast.unparse(node.returns)}"
    signature = f"{name}({ast.unparse(arguments)}){returns}"
    return Extract(name, signature, part, ast.get_docstring(node) or "")


def _entry_point(tree: ast.Module, description: str) -> str | None:
    """The function that no other one calls; of several the one that the description names."""
    functions = [n for n in tree.body if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)]
    called = {
        n.id for f in functions for n in ast.walk(f) if isinstance(n, ast.Name) and n.id != f.name
    }
    names = list(dict.fromkeys(f.name for f in functions if f.name not in called | {"main"}))
    if len(names) > 1:
        names = [name for name in names if re.search(rf"\b{name}\b", description)]
    return names[0] if len(names) == 1 else None


def _holds(function: ast.AST, kinds: object) -> bool:
    """Return whether the function itself, not one that it defines, holds such a node."""
    waiting = list(ast.iter_child_nodes(function))
    while waiting:
        node = waiting.pop()
        if isinstance(node, kinds):  # type: ignore[arg-type]
            return True
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            waiting += ast.iter_child_nodes(node)
    return False


def _part(tree: ast.Module, code: str, name: str) -> str:
    """The statements at the top level that the function needs, in their order."""
    binds = [_bound(stmt) for stmt in tree.body]
    needed, waiting = {name}, [name]
    while waiting:
        wanted = waiting.pop()
        for stmt, names in zip(tree.body, binds, strict=True):
            if wanted in names:
                fresh = _names(stmt) - needed
                needed |= fresh
                waiting += fresh
    kept = [
        stmt
        for stmt, names in zip(tree.body, binds, strict=True)
        if names & needed or _always(stmt)
    ]
    lines = code.split("\n")
    pieces: list[str] = []
    for before, stmt in zip([None, *kept], kept, strict=False):
        if before is not None:
            pieces.append("\n\n\n" if _big(before) or _big(stmt) else "\n")
        pieces.append(_source(stmt, lines))
    text = "".join(pieces) + "\n"
    try:
        whole = ast.dump(parse_module(text)) == ast.dump(ast.Module(kept, []))
    except (SyntaxError, ValueError):
        whole = False
    return text if whole else ast.unparse(ast.Module(kept, [])) + "\n"


def _source(stmt: ast.stmt, lines: list[str]) -> str:
    """The lines of a statement, decorators included."""
    return "\n".join(lines[first_line(stmt) - 1 : stmt.end_lineno])


def _big(stmt: ast.stmt) -> bool:
    return isinstance(stmt, _Documented)


def _always(stmt: ast.stmt) -> bool:
    """`from x import *`, and what changes how the rest is read."""
    return isinstance(stmt, ast.ImportFrom) and (
        stmt.module == "__future__" or any(alias.name == "*" for alias in stmt.names)
    )


def _bound(stmt: ast.stmt) -> frozenset[str]:
    """Names that a statement at the top level gives a meaning to."""
    if isinstance(stmt, ast.If | ast.Try):  # imports that may be missing
        return bound_names(*(node for node in ast.walk(stmt) if isinstance(node, _IMPORT)))
    return bound_names(stmt) if isinstance(stmt, _BINDING) else frozenset()


def _names(stmt: ast.stmt) -> set[str]:
    return {n.id for n in ast.walk(stmt) if isinstance(n, ast.Name)}


def _imported(code: str) -> set[str]:
    found = set()
    for node in ast.walk(parse_module(code)):
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module.split(".")[0])
    return found


MAX_PROMPT = 2048
"""Tokens of a prompt (appendix B: "up to 2K")."""
_PYTHON = re.compile("python", re.I)
_DEF = re.compile("def ")
_NOT_TEXT = re.compile("[\x00\ud800-\udfff\ufffd]")
_LIMITS = Limits(cpu=5.0, memory=1 << 30)
_NOTHING = Expression("0")
"""Evaluated in the loaded program: an answer means that it loads."""


@dataclass(frozen=True, slots=True)
class Solution:
    """A task and its reference code."""

    id: str
    description: str
    signature: str
    entry_point: str
    code: str
    """A module that defines the function and what it needs, and nothing else."""
    whole: str
    """The program as its source has it, example calls and all."""
    licence: str = ""
    origin: str = ""

    def problem(self, code: str | None = None) -> FunctionProblem:
        """The problem that `code` poses, a version of the module; None: the reference itself."""
        return FunctionProblem(
            self.id,
            self.description,
            self.signature,
            self.entry_point,
            self.code if code is None else code,
        )

    @classmethod
    def read(cls, record: Mapping[str, Any]) -> Solution:
        """Read a line of `stage0.jsonl`."""
        return cls(**{name: record[name] for name in cls.__slots__})


def prompt_tokens(problem: FunctionProblem) -> int:
    """Roughly the tokens of the `utgen` prompt: four characters each, as budgets count."""
    [message] = test_request(problem, problem.code, "prompted")
    return len(message.content) // 4


def admitted(raw: Raw, *, max_prompt: int = MAX_PROMPT) -> Solution | str:
    """The solution of a raw task, or why it has none. Executes nothing."""
    if not raw.answer.strip():
        return "no solution"
    texts = (raw.description, raw.answer)
    if any(_NOT_TEXT.search(text) for text in texts):
        return "not valid unicode"
    if raw.chat and not any(map(_PYTHON.search, texts)):
        return "not about Python"
    if not any(map(_DEF.search, texts)):
        return "defines no function"
    if not raw.description.strip():
        return "no description"
    code = _program(raw.answer) if raw.chat else raw.answer
    if code is None:
        return "no program in the answer"
    found = extracted(code, raw.entry_point, raw.description)
    if isinstance(found, str):
        return found
    solution = Solution(
        raw.id,
        raw.description.strip(),
        found.signature,
        found.entry_point,
        found.code,
        code if raw.chat else found.code,
        raw.licence,
        raw.origin,
    )
    if prompt_tokens(solution.problem()) > max_prompt:
        return "prompt too long"
    return solution


def _program(answer: str) -> str | None:
    """The last code block of an answer that parses and defines a function."""
    for block in reversed(code_spans(final_text(answer))):
        if "def " not in block:
            continue
        try:
            parse_module(block)
        except SyntaxError:
            continue
        return block.rstrip() + "\n"
    return None


async def loads(code: str, entry_point: str, box: AsyncSandbox) -> bool:
    """Return whether a module can be loaded. Raises `SandboxUnavailable`."""
    [outcome] = await box.run(Program(code, entry_point), [_NOTHING], _LIMITS)
    return isinstance(outcome, Returned)


async def works(solution: Solution, box: AsyncSandbox) -> str | None:
    """None where the code runs and does what its description states, else the reason.

    Raises `SandboxUnavailable`.
    """
    for code in dict.fromkeys((solution.whole, solution.code)):
        [outcome] = await box.run(Program(code, solution.entry_point), [_NOTHING], _LIMITS)
        if isinstance(outcome, Raised):
            return f"does not run: {outcome.type}"
        if not isinstance(outcome, Returned):
            return "does not run: it is cut short"
    tests = [
        test
        for test in prompt_examples(solution.description, solution.entry_point, code=solution.code)
        if test.trust is Trust.STATED
    ]
    program = Program(solution.code, solution.entry_point)
    outcomes = await box.run(program, [test.call for test in tests], _LIMITS) if tests else []
    for test, outcome in zip(tests, outcomes, strict=True):
        if not isinstance(outcome, NotRun) and not matches(outcome, expect_test(test, atol=1e-6)):
            return "fails an example of its description"
    return None
