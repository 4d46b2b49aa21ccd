"""`refute train data`: UTGen's training data from solved tasks."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from refute.cli.options import FILE, json_option, seed_option, session_options
from refute.cli.output import consoles, print_json, remark

if TYPE_CHECKING:
    from refute.models.asking import Asked
    from refute.train.contamination import Index
    from refute.train.data_contract import Built, DataSettings
    from refute.train.data_plan import Plan

__all__ = ["data"]


@click.command("data")
@click.argument("source")
@click.option("-o", "--output", type=FILE, required=True, metavar="DIR", help="Where it goes.")
@session_options
@click.option(
    "--corrupt", metavar="HOW",
    help="Faults by model, by mutants, or mix:SHARE by the model (model where one is given).",
)  # fmt: skip
@click.option(
    "--inputs", type=click.Choice(["model", "search"]),
    help="Who proposes inputs (the model where one is given).",
)  # fmt: skip
@click.option(
    "--rationales", type=click.Choice(["model", "template", "none"]),
    help="Reasoning in the answers (by the model where one is given, else none).",
)  # fmt: skip
@click.option("--faults", type=click.IntRange(1), default=2, metavar="N", help="A solution (2).")
@click.option("--attempts", type=click.IntRange(1), default=5, metavar="N", help="A fault (5).")
@click.option("--limit", type=click.IntRange(1), metavar="N", help="Take so many solutions.")
@click.option(
    "--evaluation", multiple=True, metavar="NAME|FILE",
    help="Keep away from this data set (all in REFUTE_DATA).",
)  # fmt: skip
@click.option(
    "--validation", type=click.FloatRange(0, 1, max_open=True), default=0.05, metavar="SHARE",
    help="Solutions held out for choosing a checkpoint (0.05).",
)  # fmt: skip
@click.option("--jobs", type=click.IntRange(1), metavar="N", help="Sandboxes (one a core).")
@seed_option
@click.option("--dry-run", is_flag=True, help="Say what it would take; run and ask nothing.")
@json_option
def data(
    source: str,
    output: Path,
    asked: Asked,
    corrupt: str | None,
    inputs: Any,
    rationales: Any,
    faults: int,
    attempts: int,
    limit: int | None,
    evaluation: tuple[str, ...],
    validation: float,
    jobs: int | None,
    seed: int,
    dry_run: bool,
    as_json: bool,
) -> int:
    """Make training data from solved tasks: faults, inputs that show them, and answers.

    SOURCE: a JSONL or Parquet file of tasks with solutions or of chats, a folder of documented
    Python functions, tulu-3, or hub:OWNER/NAME[@SPLIT]. Without --model, faults are mutations and
    inputs come from the search. Goes on where it was stopped; a larger --limit adds to it.

    DIR gets train.jsonl, validation.jsonl, a data card and what each stage made.
    """
    from refute.train.contamination import Index, available, evaluation_texts
    from refute.train.data_contract import Candidates, DataSettings
    from refute.train.data_plan import plan

    _check(asked)
    settings = DataSettings(
        faults=faults,
        attempts=attempts,
        by_model=_share(corrupt, asked.model is not None),
        inputs=inputs or ("model" if asked.model else "search"),
        rationales=rationales or ("model" if asked.model else "none"),
        seed=seed,
    )
    sets = evaluation or tuple(available())
    log = consoles()[1]
    if not sets:
        remark(log, ["contamination is not checked: set REFUTE_DATA, or give --evaluation"])
    index = Index(evaluation_texts(sets))
    if dry_run:
        found = plan(Candidates(source, index, settings.max_prompt), settings, limit=limit)
        _show_plan(found, settings, as_json)
        return 0
    built = _build(
        source, output, settings, index, asked, limit=limit, validation=validation, jobs=jobs
    )
    _report(built, settings, output, source, asked.model, sets, as_json)
    return 0


def _check(asked: Asked) -> None:
    from refute.errors import InputError

    given = {
        "--base-url": asked.base_url,
        "--record": asked.record,
        "--budget-usd": asked.budget_usd,
        "--budget-tokens": asked.budget_tokens,
    }
    for option, value in given.items():
        if asked.model is None and value is not None:
            raise InputError(f"{option} is for a model: name one with --model")


def _share(how: str | None, with_model: bool) -> float:
    """The share of faults by the model, of `model`, `mutants` or `mix:SHARE`."""
    from refute.errors import InputError

    if how is None:
        return float(with_model)
    if how in ("model", "mutants"):
        return float(how == "model")
    kind, _, share = how.partition(":")
    try:
        if kind == "mix" and 0 <= float(share) <= 1:
            return float(share)
    except ValueError:
        pass
    raise InputError(f"--corrupt {how}: must be model, mutants or mix:SHARE, e.g. mix:0.5")


def _build(
    source: str,
    output: Path,
    settings: DataSettings,
    index: Index,
    asked: Asked,
    *,
    limit: int | None,
    validation: float,
    jobs: int | None,
) -> Built:
    import asyncio
    from contextlib import AsyncExitStack

    from rich.progress import Progress

    from refute.models.asking import sessions
    from refute.runs.pool import cores
    from refute.sandbox.pool import SandboxPool
    from refute.train.data import build

    async def run() -> Built:
        async with AsyncExitStack() as stack:
            session = None
            if asked.model is not None:
                session, _ = await stack.enter_async_context(sessions(asked))
            size = jobs or cores()
            box = stack.enter_context(SandboxPool(size))
            log = consoles()[1]
            bar = stack.enter_context(Progress(console=log, disable=not log.is_terminal))
            tasks: dict[str, Any] = {}

            def progress(stage: str, done: int, total: int) -> None:
                if stage not in tasks:
                    tasks[stage] = bar.add_task(stage, total=total)
                bar.update(tasks[stage], completed=done, total=total)

            return await build(
                source,
                output,
                settings,
                index=index,
                box=box,
                session=session,
                limit=limit,
                validation=validation,
                at_once=max(asked.concurrency if session else 0, 2 * size),
                progress=progress,
            )

    return asyncio.run(run())


def _show_plan(found: Plan, settings: DataSettings, as_json: bool) -> None:
    from dataclasses import asdict

    from rich.table import Table

    if as_json:
        print_json({"settings": asdict(settings), **asdict(found)})
        return
    out = consoles()[0]
    title = f"{found.read:,} tasks read, {found.solutions:,} solutions, at most {found.rows:,} rows"
    table = Table("stage", "tasks", "requests", "answers", "tokens in", "tokens out", title=title)
    for s in found.stages:
        numbers = (s.tasks, s.requests, s.samples, s.prompt_tokens, s.completion_tokens)
        table.add_row(s.name, *(f"{n:,}" if n else "-" for n in numbers))
    out.print(table)
    for reason, count in found.dropped.most_common():
        out.print(f"{count:>8,}  {reason}")
    out.print(f"sandbox: about {found.seconds / 60:,.1f} minutes of one core", markup=False)


def _report(
    built: Built,
    settings: DataSettings,
    output: Path,
    source: str,
    model: str | None,
    sets: tuple[str, ...],
    as_json: bool,
) -> None:
    import json

    from rich.table import Table

    from refute.storage import write_atomically
    from refute.train.card import card, figures

    found = figures(built, settings, source=source, model=model, sets=sets)
    write_atomically(output / "card.json", (json.dumps(found, indent=2) + "\n").encode())
    write_atomically(output / "card.md", card(found).encode(errors="backslashreplace"))
    if as_json:
        print_json({"output": str(output), **found})
        return
    table = Table("stage", "in", "out", "fell out", title=f"{output}")
    for stage in found["stages"]:
        reasons = ", ".join(f"{reason} {n:,}" for reason, n in stage["fell_out"].items())
        table.add_row(stage["title"], f"{stage['in']:,}", f"{stage['out']:,}", reasons or "-")
    out = consoles()[0]
    out.print(table)
    out.print(
        f"{len(built.rows):,} rows in {output / 'train.jsonl'}, {len(built.validation):,} problems "
        f"in {output / 'validation.jsonl'}; see {output / 'card.md'}",
        markup=False,
        soft_wrap=True,
    )
