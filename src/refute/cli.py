"""The command line: one click command per verb, each a few lines that call the library.

Exit status: 0 nothing wrong found or all done, 1 found, 2 usage or bad input, 3 unavailable,
130 interrupted. Results go to stdout, everything else to stderr; errors are one line. Imports are
inside the commands, so that `refute --help` stays fast.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from rich.console import Console

    from refute.sandbox import Sandbox

__all__ = ["cli", "main"]

FOUND, BAD_INPUT, UNAVAILABLE, INTERNAL, INTERRUPTED, PIPE_CLOSED = 1, 2, 3, 70, 130, 141

FILE = click.Path(path_type=Path)
_target = click.argument("target", metavar="FILE.py[::FUNCTION]")
_tests = click.option(
    "--tests", type=FILE, metavar="FILE", help="Tests to believe: pytest file or JSONL."
)
_description = click.option(
    "--description", type=FILE, metavar="FILE", help="What it should do (default: the docstring)."
)
_budget = click.option(
    "--budget",
    type=click.FloatRange(0, min_open=True),
    default=10.0,
    show_default=True,
    metavar="SECONDS",
    help="Time for one function.",
)
_seed = click.option("--seed", type=int, default=0, show_default=True, help="Same seed, same work.")
_json = click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(package_name="refute", message="refute %(version)s")
def cli() -> None:
    """Unit tests that prove Python code wrong, and fixes that prove themselves right."""


@cli.command(short_help="Find unit tests that the function fails.")
@_target
@click.option(
    "-n", "count", type=click.IntRange(1), default=3, show_default=True, help="Tests per function."
)
@click.option("-o", "output", type=FILE, metavar="test_x.py", help="Write them as a pytest file.")
@click.option("--force", is_flag=True, help="Let -o replace an existing file.")
@_tests
@_description
@_budget
@_seed
@_json
def hunt(
    target: str,
    count: int,
    output: Path | None,
    force: bool,
    tests: Path | None,
    description: Path | None,
    budget: float,
    seed: int,
    as_json: bool,
) -> int:
    """Find unit tests that the function fails (every public one, where none is named).

    Exit status 0: none found, 1: found.
    """
    from refute.errors import InputError
    from refute.function import verbs
    from refute.function.target import open_target
    from refute.function.testfile import render, write_tests
    from refute.report import documents, tables, terminal

    module = open_target(target)
    text = verbs.read_description(description)
    given = _given(module, tests)
    if output is not None and output.exists() and not force:
        raise InputError(f"{output}: exists; add --force to replace it")
    out, err = _consoles()
    hunts = []
    with terminal.working(f"hunting in {target}", err), verbs.open_box(module) as box:
        _warn(err, box)
        for one in verbs.hunt(
            module,
            box=box,
            count=count,
            description=text,
            tests=given,
            budget=budget,
            seed=seed,
        ):
            hunts.append(one)
            if not as_json:
                tables.print_hunt(one, out)
            else:
                _remark(err, (f"{one.function}: {note}" for note in one.notes))
    if as_json:
        _print_json(documents.hunt_document(hunts))
    found = any(one.found for one in hunts)
    if output is not None and found:
        rows = [(one.function, one.failing, one.findings) for one in hunts if one.found]
        write_tests(output, render(module, rows, path=output), force=force)
        _remark(err, [f"tests written to {output}"])
    return FOUND if found else 0


@cli.command()
@_target
@click.option("--ask", is_flag=True, help="Ask which output is right where fixes differ.")
@click.option("--write", is_flag=True, help="Apply the fix to the file.")
@_tests
@_description
@_budget
@_seed
@_json
def debug(
    target: str,
    ask: bool,
    write: bool,
    tests: Path | None,
    description: Path | None,
    budget: float,
    seed: int,
    as_json: bool,
) -> int:
    """Mend the function with generated tests; print the fix as a diff.

    Exit status 0: fixed, or nothing to fix; 1: something is wrong and no fix was found.
    """
    from refute.function import verbs
    from refute.function.target import open_target
    from refute.report import documents, tables, terminal

    module = open_target(target)
    text = verbs.read_description(description)
    given = _given(module, tests)
    out, err = _consoles()
    name = _diff_name(module.source.path)
    fixes = []
    with (
        terminal.working(f"debugging {target}", err) as status,
        verbs.open_box(module) as box,
    ):
        _warn(err, box)
        for one in verbs.debug(
            module,
            box=box,
            description=text,
            tests=given,
            budget=budget,
            seed=seed,
            ask=terminal.asking(err, status) if ask else None,
        ):
            fixes.append(one)
            if not as_json:
                tables.print_fix(one, name, out, asked=ask)
            else:
                _remark(err, (f"{one.hunt.function}: {note}" for note in one.hunt.notes))
    if as_json:
        _print_json(documents.debug_document(fixes, name))
    if write and any(one.fixed for one in fixes):
        module.source.rewrite(fixes[-1].code)
        _remark(err, [f"fix written to {module.source.path}"])
    return FOUND if any(one.hunt.found and not one.fixed for one in fixes) else 0


@cli.command()
@click.argument("dataset")
@click.option(
    "--method", type=click.Choice(["none", "search"]), default="search", show_default=True
)
@click.option("--data", type=FILE, metavar="PATH", help="Its file or folder (or REFUTE_DATA).")
@click.option("--limit", type=click.IntRange(1), metavar="N", help="Only the first N problems.")
@click.option("--ids", metavar="A,B", help="Only these problems.")
@click.option("--jobs", type=click.IntRange(1), metavar="N", help="Processes (default: cores).")
@_budget
@_seed
@click.option(
    "--visible-tests", type=click.IntRange(0), default=0, metavar="N", help="Show N asserts (MBPP)."
)
@click.option(
    "--failing-tests",
    type=click.IntRange(0),
    default=0,
    metavar="N",
    help="Give N right failing tests with each problem.",
)
@click.option(
    "--max-candidates", type=click.IntRange(1), metavar="N", help="Candidates for one problem."
)
@click.option("--run", type=FILE, metavar="DIR", help="Folder of the run; go on where it stopped.")
@click.option(
    "--runs-dir", type=FILE, default=Path("runs"), show_default=True, help="Where runs go."
)
@_json
@click.pass_context
def bench(
    context: click.Context,
    dataset: str,
    method: str,
    data: Path | None,
    limit: int | None,
    ids: str | None,
    jobs: int | None,
    budget: float,
    seed: int,
    visible_tests: int,
    failing_tests: int,
    max_candidates: int | None,
    run: Path | None,
    runs_dir: Path,
    as_json: bool,
) -> int:
    """Run a method over a data set, or over a JSONL file of problems.

    DATASET: humaneval+, mbpp+, he-fix, mbpp-fix, mbpp-fix-hard, or FILE.jsonl. A run that was
    interrupted goes on with `--run DIR`; settings that are not given again are the run's own.

    Exit status 3: some problems have no result (run again to retry them).
    """
    from refute.function import bench as benches
    from refute.report.bench import bench_document, print_bench
    from refute.report.terminal import followed
    from refute.runs import Journal, cores, new_run, read_header
    from refute.sandbox.local import LocalSandbox

    settings = benches.Settings(
        dataset=dataset,
        method=method,
        limit=limit,
        ids=tuple(part.strip() for part in ids.split(",") if part.strip()) if ids else None,
        budget=budget,
        seed=seed,
        visible_tests=visible_tests,
        failing_tests=failing_tests,
        max_candidates=max_candidates,
    )
    header = None if run is None else read_header(run)
    if header is not None:
        settings = benches.resumed(settings, header, given=_given_names(context))
    items = benches.load_items(settings, data)
    directory = run or new_run(runs_dir, f"{Path(dataset).stem}-{method}")
    out, err = _consoles()
    with Journal(directory, settings.header(items)) as journal:
        _remark(err, [f"{len(items)} problems into {directory}"])
        with LocalSandbox() as box:
            _warn(err, box)
        finished = benches.run_bench(items, settings, journal, jobs=jobs or cores())
        try:
            followed(finished, len(items), err)
        except BaseException:
            _remark(err, [f"stopped; go on with: refute bench {dataset} --run {directory}"])
            raise
        result = benches.summarize(items, settings, journal)
    document = bench_document(result)
    if as_json:
        _print_json(document)
    else:
        print_bench(result, out)
    _remark(err, (f"{id}: no result: {reason}" for id, reason in result.errors.items()))
    return UNAVAILABLE if result.errors else 0


@cli.command()
@_json
def doctor(as_json: bool) -> int:
    """Show what works on this machine, and how to get what is missing."""
    from dataclasses import asdict

    from refute.doctor import examine
    from refute.report.health import print_checks

    checks = examine()
    if as_json:
        _print_json({"checks": [asdict(check) for check in checks]})
    else:
        print_checks(checks, _consoles()[0])
    return 0


def _given_names(context: click.Context) -> set[str]:
    """The options that the user gave, as opposed to those at their default."""
    default = click.core.ParameterSource.DEFAULT
    return {n for n in context.params if context.get_parameter_source(n) is not default}


def _given(module: Any, path: Path | None) -> dict[str, Any]:
    """The given tests; what was left out of the file or of the module is said on stderr."""
    from refute.function.verbs import read_given

    given, skipped = read_given(module, path)
    _remark(_consoles()[1], (*(f"skipped {line}" for line in module.skipped), *skipped))
    return given


def _consoles() -> tuple[Console, Console]:
    """For results and for everything else. Piped tables are as wide as their content needs."""
    from rich.console import Console

    width = None if sys.stdout.isatty() or "COLUMNS" in os.environ else 120
    return Console(width=width, highlight=False), Console(stderr=True, highlight=False)


def _remark(console: Console, lines: Any) -> None:
    for line in lines:
        console.print(f"refute: {line}", markup=False, soft_wrap=True)


def _warn(console: Console, box: Sandbox) -> None:
    """Say in one line what the sandbox does not protect from on this machine."""
    from refute.sandbox.gaps import gaps

    open_here = gaps(box.protections())
    if open_here:
        what = ", ".join(open_here)
        _remark(
            console, [f"not fully isolated here: code under test can {what}; see refute doctor"]
        )


def _diff_name(path: Path) -> str:
    """The path that a diff names: relative to the working directory where it lies below."""
    try:
        return path.resolve().relative_to(Path.cwd()).as_posix()
    except ValueError:
        return path.resolve().as_posix().lstrip("/")


def _print_json(document: Any) -> None:
    import json

    click.echo(json.dumps(document, indent=2))


def main(arguments: Sequence[str] | None = None) -> None:
    """The console script."""
    try:
        status = run(arguments)
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        status = PIPE_CLOSED
    sys.exit(status)


def run(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit status. Errors become one line on stderr."""
    try:
        status = cli.main(arguments, prog_name="refute", standalone_mode=False)
        return status if isinstance(status, int) else 0
    except (click.exceptions.Abort, KeyboardInterrupt):
        return _fail("interrupted", INTERRUPTED)
    except click.ClickException as error:
        context = getattr(error, "ctx", None)
        path = context.command_path if context is not None else "refute"
        message = error.format_message().rstrip(".")
        return _fail(f"{message} (see {path} --help)", BAD_INPUT)
    except BrokenPipeError:
        raise
    except Exception as error:
        return _fail_for(error)


def _fail_for(error: Exception) -> int:
    from refute.errors import InputError
    from refute.sandbox import SandboxUnavailable

    if os.environ.get("REFUTE_TRACEBACK"):
        raise error
    message = " ".join(str(error).split())
    if isinstance(error, InputError):
        return _fail(message, BAD_INPUT)
    if isinstance(error, SandboxUnavailable):
        return _fail(f"no sandbox: {message}; `refute doctor` says what is missing", UNAVAILABLE)
    trace, place = error.__traceback__, ""
    while trace is not None:
        place = f"{Path(trace.tb_frame.f_code.co_filename).name}:{trace.tb_lineno}"
        trace = trace.tb_next
    name = f"{type(error).__name__}: {message}" if message else type(error).__name__
    return _fail(f"internal error at {place}: {name} (REFUTE_TRACEBACK=1 shows more)", INTERNAL)


def _fail(message: str, status: int) -> int:
    click.echo(f"refute: {message}", err=True)
    return status
