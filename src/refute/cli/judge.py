"""`refute judge`: rank candidate programs for one task (best of N)."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from refute.cli.options import (
    FILE,
    description_option,
    given_names,
    json_option,
    python_option,
    seed_option,
    session_options,
    tests_option,
)
from refute.cli.output import consoles, print_json, remark

if TYPE_CHECKING:
    from refute.function.judge import Judgement
    from refute.function.llm.options import Options
    from refute.function.target import Module
    from refute.models.asking import Asked
    from refute.problems import FunctionProblem
    from refute.sandbox.pool import AsyncSandbox

__all__ = ["command"]


@click.command("judge", short_help="Rank candidate programs by generated tests (best of N).")
@click.argument("target", metavar="PROBLEM.py[::FUNCTION]")
@click.argument("candidates", nargs=-1, required=True, type=FILE, metavar="CANDIDATE.py...")
@click.option("--reward", metavar="SPEC", help="Rank by a reward model instead: hf:PATH_OR_ID.")
@click.option(
    "-n", type=click.IntRange(1, 15), default=3, show_default=True, help="Tests a candidate."
)
@click.option(
    "--k", type=click.IntRange(1), default=8, show_default=True, help="Votes on an output."
)
@tests_option
@description_option
@python_option
@session_options
@seed_option
@json_option
@click.pass_context
def command(
    context: click.Context,
    target: str,
    candidates: tuple[Path, ...],
    reward: str | None,
    n: int,
    k: int,
    tests: Path | None,
    description: Path | None,
    python: Path | None,
    seed: int,
    as_json: bool,
    asked: Asked,
) -> int:
    """Rank candidate programs for the function that PROBLEM.py describes by its docstring.

    With --model, tests are generated against each candidate and collated. Without (or with
    `--model none`), the stated examples and what most candidates return decide. Every candidate
    defines the function; PROBLEM.py's own body is not run, and may be empty.
    """
    from refute.errors import InputError
    from refute.function import verbs
    from refute.function.interpreters import with_interpreter
    from refute.function.service import given_tests, share_read
    from refute.function.target import open_target, problem_of
    from refute.function.verified import unverified
    from refute.report import terminal
    from refute.report.judge import judge_document, print_judgement

    if asked.model == "none":
        asked = replace(asked, model=None)
    if reward is not None and asked.model is not None:
        raise InputError("--reward and --model are two judges: name one")
    for name in ("n", "k"):
        if asked.model is None and name in given_names(context):
            raise InputError(f"-{'-' * (name == 'k')}{name} is for tests of a model: add --model")
    module = with_interpreter(open_target(target), python)
    if len(module.functions) != 1:
        raise InputError(f"{target}: has several functions; name one: {target}::NAME")
    [function] = module.functions
    names = [str(path) for path in candidates]
    sources = [_source(path) for path in candidates]
    given = given_tests(module, tests)
    share = share_read(tests, [given])
    problem = problem_of(
        module,
        function,
        description=verbs.read_description(description),
        tests=unverified(given.tests.get(function, ())),
    )
    out, err = consoles()
    remark(err, _missing(function, names, sources))
    with terminal.working(f"judging {len(names)} candidates", err):
        found = _judged(problem, sources, module, asked, reward, n, k, seed)
    if as_json:
        document = judge_document(found, function, names)
        print_json(document if share is None else {**document, "tests_read": share})
    else:
        print_judgement(found, function, names, out)
    return 0


def _source(path: Path) -> str:
    from refute.errors import InputError
    from refute.function.source import read_source

    if path.is_dir():
        raise InputError(f"{path}: is a folder; name files")
    return read_source(path).text


def _missing(function: str, names: list[str], sources: list[str]) -> list[str]:
    """A line for each candidate that cannot be right because it does not define the function."""
    from refute.function.definitions import find_function, parse_module

    lines = []
    for name, source in zip(names, sources, strict=True):
        tree = parse_module(source)
        if tree is None:
            lines.append(f"{name}: is not valid Python")
        elif find_function(tree, function) is None:
            lines.append(f"{name}: does not define {function}")
    return lines


def _judged(
    problem: FunctionProblem,
    sources: list[str],
    module: Module,
    asked: Asked,
    reward: str | None,
    n: int,
    k: int,
    seed: int,
) -> Judgement:
    """The judgement, with sandboxes and models that are closed afterwards."""
    import asyncio

    from refute.function.llm.options import Options
    from refute.function.verbs import open_box
    from refute.remarks import warn_of_gaps
    from refute.runs import cores
    from refute.sandbox.pool import SandboxPool

    with open_box(module) as box:
        warn_of_gaps(box)
    with SandboxPool(cores(), make=lambda: open_box(module)) as pool:
        options = Options(n=n, k=k)
        return asyncio.run(_by(problem, sources, pool, asked, reward, options, seed))


async def _by(
    problem: FunctionProblem,
    sources: list[str],
    pool: AsyncSandbox,
    asked: Asked,
    reward: str | None,
    options: Options,
    seed: int,
) -> Judgement:
    from refute.function.judge import by_behaviour, by_reward, by_tests, judge
    from refute.models.asking import sessions
    from refute.models.reward import open_reward

    if reward is not None:
        scorer = open_reward(reward)
        try:
            return await judge(problem, sources, by=by_reward(scorer), box=pool, seed=seed)
        finally:
            await scorer.close()
    if asked.model is None:
        return await judge(problem, sources, by=by_behaviour(), box=pool, seed=seed)
    async with sessions(asked) as (session, _):
        by = by_tests(session.asker(problem.entry_point), options=options, seed=seed)
        return await judge(problem, sources, by=by, box=pool, seed=seed)
