"""`hunt` and `debug` over many functions: targets opened, a method chosen, results collected."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from refute.core.methods import Context, MethodSpec
from refute.core.parameters import parameter
from refute.core.problems import FunctionProblem, Trust
from refute.core.registry import chosen_method, departures, options_of, preset_of
from refute.core.remarks import remark, warn_of_gaps
from refute.errors import InputError, WorkspaceUnavailable
from refute.function.contract import Ask, MethodResult, Seen, Skipped, State
from refute.function.given_tests import read_description, read_given
from refute.function.parallel import (
    Found,
    FunctionUnit,
    Searching,
    Tests,
    shared,
    units_of,
    work_on,
)
from refute.function.project import near_tests
from refute.function.project_sandbox import open_box
from refute.function.target import (
    Module,
    Targets,
    functions_of,
    interpreter_of,
    open_targets,
    with_interpreter,
)
from refute.function.verbs import Fix, Solver
from refute.models.asking import Asked, askers, open_sessions
from refute.prompts import prompts_from
from refute.sandbox import Sandbox

if TYPE_CHECKING:
    from refute.function.search.backwards import ProjectRepair
    from refute.function.suite import Suite
    from refute.workspace.contract import Workspace


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionOptions(Asked):
    """Options: which functions to check, what is known about them, how long, and by whom."""

    targets: tuple[str, ...] = parameter(
        (),
        "FILE.py::FUNCTION, FILE.py::Class.method, FILE.py, a folder, pkg.mod or pkg.mod:FUNCTION;"
        " may be empty where `since` is given.",
        metavar="TARGET...",
        positional=True,
        in_files=True,
        for_agents=True,
    )
    since: str | None = parameter(
        None, "Only public functions changed since this commit.", metavar="REF", for_agents=True
    )
    tests: Path | None = parameter(
        None,
        "Trusted tests: pytest file or folder, JSONL.",
        metavar="PATH",
        in_files=True,
        for_agents=True,
    )
    description: Path | None = parameter(
        None, "What it should do (the docstring).", text=True, in_files=True, for_agents=True
    )
    budget: float = parameter(
        10.0,
        "Seconds to search one function.",
        metavar="SECONDS",
        above=0,
        in_files=True,
        for_agents=True,
    )
    total_budget: float | None = parameter(
        None,
        "For all; functions not reached are listed.",
        metavar="SECONDS",
        above=0,
        in_files=True,
    )
    jobs: int | None = parameter(None, "Worker processes (all cores).", at_least=1, in_files=True)
    seed: int = parameter(0, "Same seed, same work.", in_files=True)
    python: Path | None = parameter(
        None, "Interpreter to run on (active, or .venv's).", for_agents=True
    )
    end: float = math.inf
    """End of the time for all functions together (`refute.sandbox.pool.end_after`)."""


@dataclass(frozen=True, slots=True)
class Opened:
    """The targets, and the tests given for each module."""

    targets: Targets
    tests: tuple[Tests, ...]
    runs: bool = False
    """True: `--tests` names tests of the project, which its own runner runs."""

    @property
    def functions(self) -> int:
        """Return how many functions there are to check."""
        return sum(len(module.functions) for module in self.targets.modules)


@dataclass(slots=True)
class Collected:
    """Results, as far as the run went."""

    results: list[tuple[Module, Found]] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)
    interrupted: bool = False
    """By Ctrl-C: what is done is there all the same."""
    known: int = 0
    """Functions of which nothing was found but what is known: they are not among the results."""

    @property
    def states(self) -> list[State]:
        """Return the claim about each function."""
        return [one.state for _, one in self.results]

    @property
    def troubles(self) -> int:
        """On how many functions the method broke."""
        return sum(one.trouble for _, one in self.results)


def open_subject(subject: FunctionOptions) -> Opened:
    """Open the targets and read the tests; what is left out is said.

    Raises `InputError`, also where `subject.tests` cannot be read as tests of any of the modules.
    """
    python = None if subject.python is None else interpreter_of(None, subject.python)
    site = () if python is None else python.site
    found = open_targets(subject.targets, python_path=site, end=subject.end)
    modules = [with_interpreter(module, subject.python) for module in found.modules]
    found = replace(found, modules=tuple(modules))
    if not found.broad:
        remark(f"skipped {line}" for module in modules for line in module.skipped)
    path = subject.tests
    if path is None or is_run(path):
        return Opened(found, ({},) * len(modules), runs=path is not None)
    given: list[Tests] = []
    reasons: list[InputError] = []
    for module in modules:
        try:
            given.append(read_given(module, path))
        except InputError as error:
            given.append({})
            reasons.append(error)
    if len(reasons) == len(modules):
        raise reasons[0]
    return Opened(found, tuple(given))


def is_run(tests: Path) -> bool:
    """Return whether tests are Python files, which are run; else they are values, which are read.

    Raises `InputError` if there are none.
    """
    if not tests.exists():
        raise InputError(f"{tests}: No such file or directory")
    if tests.is_dir() and not any(tests.rglob("*.py")):
        raise InputError(f"{tests}: holds no Python file")
    return tests.is_dir() or tests.suffix == ".py"


def collect(
    subject: FunctionOptions,
    opened: Opened,
    *,
    fixing: bool,
    ask: Callable[[str], Ask] | None = None,
    proposed: bool = False,
    notice: Callable[[Workspace, Sequence[str], str, str, str, float], bool],
    fresh: Callable[[Module, Found], Found | None] = lambda module, one: one,
    show: Callable[[Module, Found, str], None] = lambda module, one, how_far: None,
) -> Collected:
    """Work on every function; `show` is told of each result, and how far the work is in a line.

    `ask` gives, for a function's name, the `Ask` for its questions. `proposed`: see `verbs.debug`.
    `notice`: whether tests notice what a function does (`hardening.testing`), asked where they pass
    and an example fails. `fresh`: a result without what is known already; None: nothing is left.
    Raises `InputError` where the only module or function that was named cannot be looked at.
    """
    spec = _chosen(subject, fixing=fixing)
    settings = Searching(
        fixing=fixing,
        budget=subject.budget,
        method=spec.name,
        options=options_of(spec, subject, **({} if fixing else {"m": 0})),
        seed=subject.seed,
        count=subject.set.get("n") or 3,
        description=read_description(subject.description),
        proposed=proposed,
        end=subject.end,
    )
    found, total = opened.targets, opened.functions
    got = Collected(skipped=list(found.skipped))
    counted: Counter[State] = Counter()
    left = Counter(one.kind for one in got.skipped)
    stack = ExitStack()
    try:
        suite = _suite(subject, opened, stack)
        for unit, one in _stream(subject, opened, spec, settings, ask, suite):
            if isinstance(one, Skipped):
                got.skipped.append(one)
                left[one.kind] += 1
                if one.kind == "cannot be loaded" and not found.broad:
                    raise InputError(one.reason)
                continue
            if suite is not None and _contradicted(suite, unit, one, notice, subject.budget):
                one = _out_of_date(one)
            new = fresh(unit.module, one)
            if new is None:
                got.known += 1
                continue
            got.results.append((unit.module, new))
            counted[new.state] += 1
            done = len(got.results) + got.known
            how_far = f"{done} of {total} functions, last {unit.where}"
            show(unit.module, new, f"{how_far}: {summary(counted, left)}")
    except KeyboardInterrupt:
        got.interrupted = True
    finally:
        stack.close()
    lone = not (found.broad or got.interrupted or got.known or got.results)
    if lone and got.skipped and got.skipped[0].kind != "no time left":
        raise InputError(f"{got.skipped[0].where}: {got.skipped[0].reason}")
    return got


def _suite(subject: FunctionOptions, opened: Opened, stack: ExitStack) -> Suite | None:
    """The project's tests, run: those that `--tests` names; else, of a file or function that was
    named, those that import it, if they run within the budget."""
    modules = opened.targets.modules
    named = subject.tests is not None
    if opened.targets.broad if not named else not opened.runs:
        return None
    files = near_tests(modules) if subject.tests is None else (subject.tests,)
    if not files:
        return None
    from refute.function.suite import SECONDS, project_suite

    code = [module.source.path for module in modules]
    seconds = SECONDS if named else subject.budget
    try:
        suite = stack.enter_context(
            project_suite(files, code, subject.python, seconds, guarded=not named)
        )
    except (InputError, WorkspaceUnavailable) as error:
        if named:
            raise
        remark([f"the tests that import it were not run: {error}"])
        return None
    if not named:
        remark([f"ran {len(suite.tests)} tests that import it; --tests names others"])
    return suite


def _contradicted(
    suite: Suite, unit: FunctionUnit, one: Found, notice: Callable[..., bool], seconds: float
) -> bool:
    """Return whether the project's tests contradict the examples that a function fails: they
    execute it, pass, and notice what it does."""
    hunt = one.hunt if isinstance(one, Fix) else one
    seen = unit.seen.get(hunt.function, Seen())
    if one.state is not State.WRONG or hunt.findings or seen.red or not seen.green:
        return False
    if any(failed.test.trust is not Trust.STATED for failed in hunt.failing):
        return False
    files = tuple(dict.fromkeys(test.id.partition("::")[0] for test in seen.green))
    text = unit.module.source.text
    file = _within(suite, unit.module)
    try:
        return notice(suite.workspace, files, file, text, hunt.function, seconds)
    except WorkspaceUnavailable:  # nothing that was found is lost for that
        return False


def _out_of_date(one: Found) -> Found:
    hunt = one.hunt if isinstance(one, Fix) else one
    told = "the project's tests that execute it pass, and notice most small changes of it"
    hunt = replace(hunt, state=State.OUT_OF_DATE, notes=(*hunt.notes, told))
    return replace(one, hunt=hunt) if isinstance(one, Fix) else hunt


def summary(counted: Counter[State], reasons: Counter[str]) -> str:
    """`12 wrong, 40 passes; not looked at: 2 cannot be loaded, 1 no function`."""
    line = ", ".join(f"{counted[state]} {state}" for state in State if counted[state])
    left = ", ".join(f"{count} {kind}" for kind, count in reasons.most_common())
    return "; not looked at: ".join(part for part in (line or "no function", left) if part)


def _stream(
    subject: FunctionOptions,
    opened: Opened,
    spec: MethodSpec[Any, MethodResult],
    settings: Searching,
    ask: Callable[[str], Ask] | None,
    suite: Suite | None,
) -> Iterator[tuple[FunctionUnit, Found | Skipped]]:
    modules = opened.targets.modules
    seen: Sequence[Mapping[str, Seen]] = [{}] * len(modules)
    repairing = None
    if suite is not None:
        seen = suite.seen(
            [(_within(suite, module), functions_of(module)) for module in modules],
            named=opened.functions == 1,
        )
        executed = any(one.red or one.green for known in seen for one in known.values())
        if subject.tests is not None and not executed:
            remark([f"{subject.tests}: no test executes what is looked at"])
        if settings.fixing:
            most = subject.set.get("max_candidates")
            repairing = partial(_repairing, suite, subject.jobs, most)
    units = units_of(modules, opened.tests, seen, fixing=settings.fixing)
    if not spec.cpu_bound or ask is not None:  # one session with the model for each module
        units = [FunctionUnit(*row) for row in zip(modules, opened.tests, seen, strict=True)]
    return work_on(
        units if subject.end == math.inf else shared(units, subject.jobs),
        settings,
        jobs=subject.jobs,
        opened=warn_of_gaps,
        solving=None if spec.cpu_bound else partial(_asking, spec, settings, subject),
        ask=ask,
        repairing=repairing,
    )


def _within(suite: Suite, module: Module) -> str:
    return module.source.path.resolve().relative_to(suite.root).as_posix()


def _repairing(suite: Suite, jobs: int | None, most: int | None, module: Module) -> ProjectRepair:
    from refute.core.processes import cores
    from refute.function.search.backwards import MOST, ProjectRepair

    return ProjectRepair(suite, _within(suite, module), jobs or cores(), most or MOST)


# -- the method ------------------------------------------------------------------------------------


def _chosen(asked: Asked, *, fixing: bool) -> MethodSpec[Any, MethodResult]:
    """The method of `debug` (`fixing`), or of `hunt`, to which `n` means something whatever the
    method. Raises `InputError`, also for a method that is not for that."""
    spec = chosen_method(asked, "function", also=() if fixing else ("n",))
    preset = preset_of(asked.preset, "function")
    if preset.name and not preset.for_method(spec):
        raise InputError(f"--preset {preset.name} sets nothing of {spec.name}; name a --method")
    if told := departures(preset, spec, asked.set, {}):
        remark([f"preset {preset.name}: {told}"])
    if spec.name == "none":
        raise InputError("--method none is for bench: it grades the code as it is")
    if not fixing and not spec.writes_tests:
        raise InputError(f"--method {spec.name} writes no unit tests; it is for debug and bench")
    return spec


@contextmanager
def _asking(
    spec: MethodSpec[Any, MethodResult],
    settings: Searching,
    asked: Asked,
    module: Module,
    box: Sandbox,
) -> Iterator[Solver]:
    """One event loop, one session and a few sandboxes for all functions of the module, besides
    `box`, in which its examples are replayed."""
    import asyncio

    from refute.core.processes import cores
    from refute.sandbox.pool import SandboxPool

    with (
        prompts_from(asked.prompts),
        SandboxPool(cores(), make=lambda: open_box(module)) as pool,
        asyncio.Runner() as runner,
    ):
        stack = AsyncExitStack()
        models = runner.run(stack.enter_async_context(open_sessions(asked)))

        def solve(problem: FunctionProblem, ask: Ask | None, seconds: float) -> MethodResult:
            asking = askers(models, problem.entry_point)
            ctx = Context(sandbox=pool, seed=settings.seed, ask=ask, seconds=seconds, **asking)
            return runner.run(spec(problem, ctx=ctx, options=settings.options))

        try:
            yield solve
        finally:
            runner.run(stack.aclose())
