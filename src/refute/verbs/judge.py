"""`judge`.

>>> refute.judge("problem.py", ["a.py", "b.py"]).best
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click

from refute.core.parameters import settable
from refute.core.problems import FunctionProblem
from refute.core.processes import cores
from refute.core.remarks import remark, warn_of_gaps
from refute.errors import InputError
from refute.function.contract import ProjectRuns
from refute.function.given_tests import read_description, read_given
from refute.function.interpreters import with_interpreter
from refute.function.judge import (
    CandidateRanking,
    by_behaviour,
    by_reward,
    by_tests,
    judge_candidates,
)
from refute.function.llm.options import SuiteOptions
from refute.function.project_sandbox import open_box
from refute.function.service import is_run
from refute.function.source import read_source
from refute.function.target import open_target, problem_of
from refute.models.asking import Asked, sessions
from refute.sandbox.pool import AsyncSandbox, SandboxPool
from refute.source.syntax import find_function, try_parse
from refute.verbs.declared import FILE, MethodCommand
from refute.verbs.options import (
    description_option,
    json_option,
    python_option,
    seed_option,
    session_options,
    tests_option,
)
from refute.verbs.output import Shown, apart, consoles, show


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
        from refute.results.text.functions import judge_document

        return judge_document(self.found, self.function, self.names)

    def print(self, console: Any) -> None:
        """Print the result as the command does on stdout."""
        from refute.results.text.functions import print_judgement

        print_judgement(self.found, self.function, self.names, console)


def judge(
    target: str,
    candidates: Sequence[Path | str],
    *,
    tests: Path | str | None = None,
    description: Path | str | None = None,
    python: Path | str | None = None,
    reward: str | None = None,
    seed: int = 0,
    model: str | None = None,
    options: Mapping[str, Any] | None = None,
    asked: Asked | None = None,
) -> JudgeResult:
    """Rank candidate programs for the function that `target` describes (best of N).

    `target`: FILE.py or FILE.py::FUNCTION; its own body is not run. `candidates`: files that define
    the function. `model` generates tests against each (`options`: `n` tests a candidate, `k` votes
    on an output); `reward`: a reward model ranks instead; without either the stated examples and
    what most candidates return decide. The others as in `refute.hunt`.
    """
    asked = asked or Asked(model=model, set=options or {})
    if reward is not None and asked.model is not None:
        raise InputError("--reward and --model are two judges: name one")
    for name in asked.set:
        if name not in ("n", "k"):
            raise InputError(f"judge has no option {name}; it has n and k")
        if asked.model is None:
            raise InputError(f"{name} is for tests of a model: add --model")
    chosen = SuiteOptions(**asked.set)
    module = with_interpreter(open_target(target), None if python is None else Path(python))
    if len(module.functions) != 1:
        raise InputError(f"{target}: has several functions; name one: {target}::NAME")
    [function] = module.functions
    names = tuple(map(str, candidates))
    sources = [_source(Path(name)) for name in names]
    file = None if tests is None else Path(tests)
    run = file is not None and is_run(file)
    given = () if file is None or run else read_given(module, file)[function]
    text = read_description(None if description is None else Path(description))
    problem = problem_of(module, function, description=text, tests=given)
    remark(_missing(function, names, sources))

    def work() -> JudgeResult:
        runs = None
        if file is not None and run:
            from refute.function.suite import runs_of

            runs = runs_of(
                sources, file, module.source.path, None if python is None else Path(python)
            )
        with open_box(module) as box:
            warn_of_gaps(box)
        with SandboxPool(cores(), make=lambda: open_box(module)) as pool:
            found = asyncio.run(_judged(problem, sources, pool, asked, reward, chosen, seed, runs))
        return JudgeResult(function, names, found)

    return apart(work)


async def _judged(
    problem: FunctionProblem,
    sources: Sequence[str],
    pool: AsyncSandbox,
    asked: Asked,
    reward: str | None,
    options: SuiteOptions,
    seed: int,
    runs: ProjectRuns | None,
) -> CandidateRanking:
    from refute.models.reward import open_reward

    if reward is not None:
        scorer = open_reward(reward)
        try:
            by = by_reward(scorer)
            return await judge_candidates(problem, sources, by=by, box=pool, seed=seed, runs=runs)
        finally:
            await scorer.close()
    if asked.model is None:
        return await judge_candidates(
            problem, sources, by=by_behaviour(), box=pool, seed=seed, runs=runs
        )
    async with sessions(asked) as (session, _):
        by = by_tests(session.asker(problem.entry_point), options=options, seed=seed)
        return await judge_candidates(problem, sources, by=by, box=pool, seed=seed, runs=runs)


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
@click.argument("target", metavar="PROBLEM.py[::FUNCTION]")
@click.argument("candidates", nargs=-1, required=True, type=FILE, metavar="CANDIDATE.py...")
@click.option("--reward", metavar="SPEC", help="Rank by a reward model instead: hf:PATH_OR_ID.")
@tests_option
@description_option
@python_option
@session_options
@seed_option
@json_option
def command(
    target: str, candidates: tuple[Path, ...], as_json: bool, asked: Asked, **what: Any
) -> int:
    """Rank candidate programs for the function that PROBLEM.py describes by its docstring.

    With --model, tests are generated against each candidate and collated. Without (or with
    `--model none`), the stated examples and what most candidates return decide. Every candidate
    defines the function; PROBLEM.py's own body is not run, and may be empty.
    """
    from refute.results.text.consoles import working

    options = {name: what.pop(name) for name in settable((SuiteOptions,)) if name in what}
    model = None if asked.model == "none" else asked.model
    asked = replace(asked, model=model, set=options)
    with working(f"judging {len(candidates)} candidates", consoles()[1]):
        result = judge(target, candidates, asked=asked, **what)
    show(result, as_json=as_json)
    return 0
