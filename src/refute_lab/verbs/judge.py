"""`judge`.

>>> refute_lab.judge("problem.py", ["a.py", "b.py"]).best
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import MISSING, dataclass
from pathlib import Path
from typing import Any

import click

from refute.core.parameters import nearest, options_with, parameter, settable
from refute.core.processes import cores
from refute.core.remarks import remark, warn_of_gaps
from refute.errors import InputError
from refute.function.examples import understood
from refute.function.given_tests import read_description, read_given
from refute.function.llm.options import SuiteOptions
from refute.function.project_sandbox import open_box
from refute.function.service import is_run
from refute.function.source import read_source
from refute.function.target import open_target, problem_of, with_interpreter
from refute.models.asking import Asked, sessions
from refute.sandbox.pool import SandboxPool
from refute.source.syntax import find_function, try_parse
from refute.verbs.declared import MethodCommand, offered
from refute.verbs.options import json_option
from refute.verbs.output import Shown, apart, consoles, show
from refute_lab.baselines.judge import (
    CandidateRanking,
    Judge,
    by_behaviour,
    by_reward,
    by_tests,
    judge_candidates,
    runs_of,
)


@dataclass(frozen=True, slots=True)
class JudgeResult(Shown):
    """Result of `judge`."""

    function: str
    names: tuple[str, ...]
    """The candidates' files, in the order given."""
    found: CandidateRanking

    @property
    def best(self) -> str:
        """The file of the first candidate."""
        return self.names[self.found.best]

    def to_dict(self) -> dict[str, Any]:
        """The JSON document."""
        from refute.function.formatting import call_source, expected_source

        of = len(self.found.tests)
        return {
            "function": self.function,
            "n": len(self.names),
            "rule": self.found.rule,
            "tests": [
                {
                    "call": call_source(test.call, self.function),
                    "expected": expected_source(test),
                    "source": test.source,
                    "confidence": round(test.confidence, 4),
                }
                for test in self.found.tests
            ],
            "ranking": [
                {
                    "candidate": self.names[one.index],
                    "passed": one.passed,
                    "of": of,
                    "rank": one.rank,
                    "score": None if one.score is None else round(one.score, 6),
                    "agreement": round(one.agreement, 6),
                }
                for one in self.found.ranking
            ],
            "best": self.names[self.found.best],
        }

    def print(self, console: Any) -> None:
        """Print the result as the command does on stdout."""
        from rich.table import Table
        from rich.text import Text

        found = self.found
        table = Table(
            title=Text(f"candidates for {self.function}", style="bold"), title_justify="left"
        )
        scored = any(one.score is not None for one in found.ranking)
        for name in ("rank", "candidate", "tests passed", *["score"] * scored, "agreement"):
            table.add_column(name, overflow="fold")
        for one in found.ranking:
            passed = f"{one.passed} of {len(found.tests)}"
            cells = (str(one.rank), self.names[one.index], passed)
            score = [] if one.score is None else [f"{one.score:.3g}"]
            table.add_row(*map(Text, cells), *score, f"{one.agreement:.0%}")
        console.print(table)
        if found.rule == "reward":
            console.print(Text("note: ranked by the reward model's score alone", style="dim"))
        elif not found.tests:
            console.print(Text("note: no test: ranked by what most candidates return", style="dim"))
        firsts = sum(one.rank == 1 for one in found.ranking)
        if firsts > 1:
            text = f"note: {firsts} candidates are equal; the first one given stands first"
            console.print(Text(text, style="dim"))


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeOptions(Asked):
    """Options of `judge`; `set`: `n` tests a candidate, `k` votes on an output."""

    target: str = parameter(
        MISSING, "Its own body is not run.", metavar="PROBLEM.py[::FUNCTION]", positional=True
    )
    candidates: tuple[Path, ...] = parameter(
        MISSING, "Each defines the function.", metavar="CANDIDATE.py...", positional=True
    )
    reward: str | None = parameter(
        None, "Rank by a reward model instead: hf:PATH_OR_ID.", metavar="SPEC"
    )
    tests: Path | None = parameter(
        None, "Trusted tests: pytest file or folder, JSONL.", metavar="PATH"
    )
    description: Path | None = parameter(None, "What it should do (the docstring).")
    python: Path | None = parameter(None, "Interpreter to run on (active, or .venv's).")
    seed: int = parameter(0, "Same seed, same work.")


def judge(
    target: str = "",
    candidates: Sequence[Path | str] = (),
    *,
    options: JudgeOptions | None = None,
    **given: Any,
) -> JudgeResult:
    """Rank candidate programs for the function that `target` describes (best of N).

    `options`: a `JudgeOptions`, or its fields by name. A model generates tests against each
    candidate; a `reward` model ranks instead; without either the stated examples and what most
    candidates return decide. Raises `InputError`.
    """
    if target:
        given |= {"target": target, "candidates": tuple(candidates)}
    chosen = options_with(JudgeOptions, options, given)
    asked = None if chosen.model in (None, "none") else chosen
    if chosen.reward is not None and asked is not None:
        raise InputError("--reward and --model are two judges: name one")
    for name in chosen.set:
        if name not in (known := settable((SuiteOptions,))):
            raise InputError(f"judge has no option {name}{nearest(name, known)}")
        if asked is None:
            raise InputError(f"{name} is for tests of a model: add --model")
    module = with_interpreter(open_target(chosen.target), chosen.python)
    if len(module.functions) != 1:
        raise InputError(f"{chosen.target}: has several functions; name one: {chosen.target}::NAME")
    [function] = module.functions
    names = tuple(map(str, chosen.candidates))
    sources = [_source(path) for path in chosen.candidates]
    file = chosen.tests
    run = file is not None and is_run(file)
    trusted = () if file is None or run else read_given(module, file)[function]
    text = read_description(chosen.description)
    problem = problem_of(module, function, description=text, tests=trusted)
    remark(_missing(function, names, sources))

    def work() -> JudgeResult:
        runs = None
        if file is not None and run:
            runs = runs_of(sources, file, module.source.path, chosen.python)
        with open_box(module) as box:
            warn_of_gaps(box)
            asked_of, _ = understood(problem, box=box, described=text is not None)
        with SandboxPool(cores(), make=lambda: open_box(module)) as pool:
            how: dict[str, Any] = {"box": pool, "seed": chosen.seed, "runs": runs}

            async def ranked(by: Judge) -> CandidateRanking:
                return await judge_candidates(asked_of, sources, by=by, **how)

            found = asyncio.run(_judged(problem.entry_point, chosen, asked, ranked))
        return JudgeResult(function, names, found)

    return apart(work)


async def _judged(
    name: str,
    options: JudgeOptions,
    asked: Asked | None,
    ranked: Callable[[Judge], Awaitable[CandidateRanking]],
) -> CandidateRanking:
    """Open what ranks the candidates, for as long as it ranks them."""
    from refute_lab.models.reward import open_reward

    if options.reward is not None:
        scorer = open_reward(options.reward)
        try:
            return await ranked(by_reward(scorer))
        finally:
            await scorer.close()
    if asked is None:
        return await ranked(by_behaviour())
    suite = SuiteOptions(**options.set)
    async with sessions(asked) as (session, _):
        return await ranked(by_tests(session.asker(name), options=suite, seed=options.seed))


def _source(path: Path) -> str:
    if path.is_dir():
        raise InputError(f"{path}: is a folder; name files")
    return read_source(path).text


def _missing(function: str, names: Sequence[str], sources: Sequence[str]) -> list[str]:
    """A line for each candidate that cannot be right because it does not define the function."""
    lines = []
    for name, source in zip(names, sources, strict=True):
        tree = try_parse(source)
        if tree is None:
            lines.append(f"{name}: is not valid Python")
        elif find_function(tree, function) is None:
            lines.append(f"{name}: does not define {function}")
    return lines


@click.command("judge", cls=MethodCommand, more=(SuiteOptions,))
@offered(JudgeOptions)
@json_option
def command(options: JudgeOptions, as_json: bool) -> int:
    """Rank candidate programs for the function that PROBLEM.py describes by its docstring.

    With --model, tests are generated against each candidate and collated. Without (or with
    `--model none`), the stated examples and what most candidates return decide. Every candidate
    defines the function; PROBLEM.py's own body is not run, and may be empty.
    """
    from refute.results.text.consoles import working

    with working(f"judging {len(options.candidates)} candidates", consoles()[1]):
        result = judge(options=options)
    show(result, as_json=as_json)
    return 0
