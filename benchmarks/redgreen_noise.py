"""redgreen, zeroshotplus, libro, SWE-Agent+ and a plain agent, each at the same noise.

    REFUTE_REPOS=CLONES python benchmarks/redgreen_noise.py ANSWERS OUT --data ROWS [--noise 0.5]
        [--seed 0] [--methods redgreen,zeroshotplus,libro,swe-agent+,external] [--ids A,B]
        [--jobs 2]

ANSWERS holds what a model answered to redgreen's questions: one JSON object a line, with `request`
(the row of a batch file) and `answer` (that of its response). Those of an issue (places, tests,
fixes) are what the model knows. Every method is asked anew through batch files, and each sample is
one of these answers, drawn at random; with the chance `--noise` it is made wrong, in one of four
ways, evenly:

- *elsewhere*: the edits go to a file that does not exist, and is no test file;
- *assertion*: the test demands something that is never true; a fix does what its comment says not;
- *another*: the answer to another issue;
- *cut*: the first half of the answer alone.

Places (redgreen's first question) are wrong as often: another issue's. A judge says what is true of
a version (a clean answer's lines alone are right), and the contrary with the chance `--noise`.

The plain agent runs its tests as agents do, so it sees at once what does not run: a draw that is
elsewhere, another's or cut is thrown away, three draws in all. What it cannot see is a wrong
assertion, which fails as a right one does. It needs no run for that: the script knows.

SWE-Agent+ has up to three draws of its own and the true commands, one turn a draw: it opens the
files, edits them with `git apply` and runs them; the next turn undoes that and tries the next draw,
or submits. As by the plain agent a draw that is elsewhere, another's or cut is thrown away, before
its turn; of the rest it believes what the run prints: where no test of the draw fails, it draws
again. The runs and their output are true. It searches for nothing and explains nothing (where to
edit is read from the clones), so its prompt tokens are the least that an agent needs.

One line a method: of all issues graded, success, F->P, and prompt tokens an issue (characters / 4).
Samples are drawn by seed, method, issue and number of the draw, so a run can be repeated.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import shlex
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from refute.issue.edits import read_edits
from refute.workspace.patches import file_patches
from refute.workspace.repositories import GitFailed, find_clone

ROUNDS = 16
"""Of a batch, at most."""
TRIES = 3
"""Draws of an agent."""
WAYS = ("elsewhere", "assertion", "another", "cut")
KINDS = {
    "places": "Say which of its code and tests you want to see",
    "tests": "You write this project's regression tests",
    "fixes": "You maintain this project. Resolve the issue",
}
WRONG = "assert [] == ['what the model thinks']"
_BLOCK = re.compile(r"(?ms)^diff\n(\S+)\n(\w+)\n(\S+)\n(.*?)^end diff$")
_VERSION = re.compile(r"(?ms)^Version (\d+):\n<test>\n(.*?)^</test>")
_ADDED = re.compile(r"(?m)^\+(?!\+\+)\s*(\S.*)$")
_TEST = re.compile(r"(?m)^\s*def (test\w*)")
_RUNNER = re.compile(r"for example with `(.*) [^ `]+`")
_FAILED = re.compile(r"(?m)^(?:FAILED [^\s\[]+::|FAIL: |ERROR: )(\w+)")

Bank = Mapping[str, Mapping[str, Sequence[str]]]
"""By issue, by kind: texts."""
Rows = Mapping[str, Mapping[str, str]]
"""Of SWE-bench, by instance."""


def bank_of(answers: Path, statements: Mapping[str, str]) -> Bank:
    """What was answered to the questions of each issue."""
    bank: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for line in answers.read_text("utf-8").splitlines():
        row = json.loads(line)
        prompt = row["request"]["body"]["messages"][-1]["content"]
        issue = asked(prompt, statements)
        kind = next((kind for kind, words in KINDS.items() if words in prompt), "")
        if issue and kind:
            choices = row["answer"]["response"]["body"]["choices"]
            bank[issue][kind] += [one["message"]["content"] for one in choices]
    return bank


def kind_of(prompt: str) -> str:
    """Of a question: a key of `KINDS`, "judge", "yes or no" or "tests" (where it asks for them)."""
    for kind, words in KINDS.items():
        if words in prompt:
            return kind
    if "VERDICT 1:" in prompt:
        return "judge"
    if 'Answer with one word, "yes" or "no"' in prompt:
        return "yes or no"
    return "fixes" if "Give the change anew" in prompt else "tests"


def asked(prompt: str, statements: Mapping[str, str]) -> str:
    """The instance that a question is about; "" where none is."""
    words = squeezed(prompt)
    return next((id for id, text in statements.items() if squeezed(text)[:160] in words), "")


def squeezed(text: str) -> str:
    """Without white space, which prompts may tidy up."""
    return "".join(text.split())


class Noisy:
    """The model: what it knows, and how often it is wrong."""

    def __init__(self, bank: Bank, noise: float, seed: str) -> None:
        self.bank, self.noise, self.seed = bank, noise, seed

    def sample(self, issue: str, kind: str, draw: object) -> tuple[str, str]:
        """An answer, and in which way it is wrong ("": in none)."""
        rng = random.Random(f"{self.seed} {issue} {kind} {draw}")
        text = rng.choice(self.bank[issue][kind] or [""])
        if rng.random() >= self.noise:
            return text, ""
        way = "another" if kind == "places" else rng.choice(WAYS)
        others = [one for one in self.bank if one != issue and self.bank[one][kind]]
        other = rng.choice(self.bank[rng.choice(others)][kind])
        return spoilt(text, way, kind, other), way

    def answer(self, issue: str, prompt: str, draw: object) -> str:
        """To a question of any method."""
        kind = kind_of(prompt)
        if kind in KINDS:
            return self.sample(issue, kind, draw)[0]
        rng = random.Random(f"{self.seed} {issue} {kind} {draw}")
        known = {line.strip() for text in self.bank[issue]["tests"] for line in text.splitlines()}
        versions = _VERSION.findall(prompt) or [("1", prompt.partition("<test>")[2])]
        said = []
        for number, patch in versions:
            right = all(
                line.strip() in known for line in _ADDED.findall(patch.partition("</test>")[0])
            )
            word = "yes" if right != (rng.random() < self.noise) else "no"
            said.append(f"VERDICT {number}: {word}")
        return "\n".join(said) if kind == "judge" else said[0].rpartition(" ")[2]


def spoilt(text: str, way: str, kind: str, other: str) -> str:
    """An answer made wrong; see the module's docstring."""
    if way == "another":
        return other
    if way == "cut":
        return text[: len(text) // 2]
    if way == "elsewhere":
        return _BLOCK.sub(r"diff\nnowhere/notes.py\ninsert\nEOF\n\4end diff", text)
    if kind == "fixes":
        return _BLOCK.sub(r"diff\n\1\ninsert\nEOF\n_TRIED = True\nend diff", text)
    return _BLOCK.sub(_never_true, text)


def _never_true(block: re.Match[str]) -> str:
    path, verb, place, code = block.groups()
    last = code.rstrip().rpartition("\n")[2]
    indent = last[: len(last) - len(last.lstrip())]
    if not indent:  # no statement of a function
        return block[0]
    return f"diff\n{path}\n{verb}\n{place}\n{code.rstrip()}\n{indent}{WRONG}\nend diff"


def turn(model: Noisy, row: Mapping[str, str], messages: Sequence[Mapping[str, str]]) -> str:
    """What SWE-Agent+ answers next in its conversation; see the module's docstring."""
    issue = row["instance_id"]
    drawn = [model.sample(issue, "tests", f"swe-agent+ {draw}") for draw in range(TRIES)]
    texts = [text for text, way in drawn if way in ("", "assertion")]
    patches = [patch_of(text, row) for text in texts]
    done = sum(one["role"] == "assistant" for one in messages)
    own = set(_TEST.findall("".join(texts[done - 1 : done] if done else ())))
    if own.intersection(_FAILED.findall(messages[-1]["content"])):
        return "It fails.\n```\nsubmit\n```"
    if done >= len(patches):
        return "There is nothing better.\n```\nsubmit\n```"
    lines = []
    if done:
        lines += ["git apply -R <<'END'", patches[done - 1] + "END"]
    lines += ["git apply <<'END'", patches[done] + "END"]
    files = file_patches(patches[done])
    opened = [
        f"open {shlex.quote(file.path)} {min(file.added, default=1)}"
        for file in files
        if file.old is not None
    ]
    tests = [file.path for file in files if "test" in Path(file.path).name]
    runner = _RUNNER.search(messages[1]["content"])
    command = runner[1] if runner else "python -m pytest"
    if "runtests.py" in command:
        tests = [
            path.removeprefix("tests/").removesuffix(".py").replace("/", ".") for path in tests
        ]
    block = "\n".join([*opened, *lines, shlex.join([*shlex.split(command), *tests])])
    return f"I write it and run it.\n```\n{block}\n```"


def patch_of(text: str, row: Mapping[str, str]) -> str:
    """The diff that an answer's edits make of the row's commit."""
    clone = find_clone(row["repo"])

    def source(path: str) -> str | None:
        try:
            return clone.git("show", f"{row['base_commit']}:{path}").decode()
        except GitFailed:
            return None

    return read_edits(text).apply(source).patch


def respond(folder: Path, model: Noisy, known: Rows) -> int:
    """Answer what is open in a batch folder; returns the characters of its prompts."""
    characters, statements = 0, statements_of(known)
    rows = (folder / "requests.jsonl").read_text("utf-8").splitlines()
    with (folder / "responses.jsonl").open("a", encoding="utf-8") as out:
        for row in map(json.loads, rows):
            messages = row["body"]["messages"]
            prompt = "\n".join(one["content"] for one in messages)
            issue, characters = asked(prompt, statements), characters + len(prompt)
            if messages[0]["role"] == "system":  # a conversation
                texts = [turn(model, known[issue], messages)]
            else:
                texts = [
                    model.answer(issue, prompt, f"{row['custom_id']} {number}")
                    for number in range(row["body"].get("n", 1))
                ]
            choices = [
                {"index": n, "finish_reason": "stop",
                 "message": {"role": "assistant", "content": text}}
                for n, text in enumerate(texts)
            ]  # fmt: skip
            response = {"status_code": 200, "body": {"choices": choices}}
            out.write(json.dumps({"custom_id": row["custom_id"], "response": response}) + "\n")
    return characters


def statements_of(rows: Rows) -> dict[str, str]:
    """What each issue says."""
    return {id: row["problem_statement"] for id, row in rows.items()}


def act(arguments: argparse.Namespace, model: Noisy, known: Rows) -> None:
    """As the plain agent: leave tests in the current folder."""
    issue = asked(Path(arguments.act).read_text("utf-8"), statements_of(known))
    for draw in range(TRIES):
        text, way = model.sample(issue, "tests", f"agent {draw}")
        if way in ("", "assertion"):
            break
    here = Path.cwd()

    def source(path: str) -> str | None:
        file = here / path
        return file.read_text("utf-8") if file.is_file() else None

    patch = read_edits(text).apply(source).patch
    subprocess.run(["git", "apply", "-"], input=patch, text=True, check=False)


def measured(method: str, arguments: argparse.Namespace, model: Noisy,
             known: Rows, ids: Sequence[str]) -> str:  # fmt: skip
    """Run one method over the issues until nothing is open, and grade it; a line for people."""
    folder = arguments.out / f"{method}-{arguments.noise}-{arguments.seed}"
    batch = folder / "batch"
    batch.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "refute", "bench", "swe-lite", "--data", str(arguments.data),
               "--method", method, "--ids", ",".join(ids), "--run", str(folder / "run"),
               "--jobs", str(arguments.jobs), "--grade"]  # fmt: skip
    if method == "external":
        agent = [sys.executable, os.path.abspath(__file__), str(arguments.answers.resolve()), "-",
                 "--data", str(arguments.data.resolve()), "--noise", str(arguments.noise),
                 "--seed", arguments.seed, "--act"]  # fmt: skip
        command += ["--set", f"agent={shlex.join(agent)} {{prompt_file}}", "--set", "network=true"]
    else:
        command += ["--model", f"batch:{batch}", "--no-cache", "--set", "calls=20"]
        text = ["--set", "tools=text"]
        command += text if method == "swe-agent+" else ["--set", "context_tokens=7000"]
    characters = 0
    for _ in range(ROUNDS):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 3 or not (batch / "requests.complete").exists():
            break
        characters += respond(batch, model, known)
    (folder / "log").write_text(done.stdout + done.stderr, encoding="utf-8")
    grades = list(outcomes(folder / "run"))
    wins = sum(one == "success" for one in grades)
    turned = sum(one in ("success", "f2p") for one in grades)
    tokens = characters // 4 // max(len(ids), 1)
    return (
        f"{method:14} of {len(ids)}: success {wins}, F->P {turned}, "
        f"{tokens} prompt tokens an issue (exit {done.returncode})"
    )


def outcomes(run: Path) -> Iterator[str]:
    """Of each graded prediction: "success", "f2p" (something else breaks) or "no"."""
    for file in run.rglob("journal.jsonl"):
        for line in file.read_text("utf-8").splitlines():
            row = json.loads(line) if line.strip() else {}
            if "own" in row and "broken" in row:
                turned = any(
                    (before, after) == ("fail", "pass") for _, before, after, _ in row["own"]
                )
                yield "success" if row["status"] == "success" else "f2p" if turned else "no"


def main() -> None:
    """See the module's docstring."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("answers", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--data", type=Path, required=True, help="rows of SWE-bench, JSONL")
    parser.add_argument("--noise", type=float, default=0.5)
    parser.add_argument("--seed", default="0")
    parser.add_argument("--methods", default="external,zeroshotplus,libro,swe-agent+,redgreen")
    parser.add_argument("--ids", default="")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--act", default="", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    rows = map(json.loads, read_rows(arguments.data))
    wanted = set(filter(None, arguments.ids.split(",")))
    known = {row["instance_id"]: row for row in rows}
    bank = bank_of(arguments.answers, statements_of(known))
    model = Noisy(bank, arguments.noise, arguments.seed)
    if arguments.act:
        act(arguments, model, known)
        return
    arguments.out = arguments.out.resolve()
    ids = [id for id in bank if bank[id]["tests"] and (not wanted or id in wanted)]
    print(f"{len(ids)} issues, noise {arguments.noise}, seed {arguments.seed}", flush=True)
    for method in arguments.methods.split(","):
        print(measured(method, arguments, model, known, ids), flush=True)


def read_rows(path: Path) -> list[str]:
    """Lines of a JSONL file, gzip or not."""
    import gzip

    data = path.read_bytes()
    return (gzip.decompress(data) if path.suffix == ".gz" else data).decode().splitlines()


if __name__ == "__main__":
    main()
