"""`hunt` and `debug`.

>>> import refute
>>> result = refute.debug("examples/shipping.py::shipping_cost")
>>> result.state, result.diff, result.tests
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from refute.api.calling import Shown, apart
from refute.errors import InputError
from refute.function.contract import Ask, Candidate, FailingTest, State, overall
from refute.function.parallel import Found
from refute.function.service import Collected, FunctionTargets, Opened, collect, open_subject
from refute.function.target import Module, Skipped, Targets
from refute.function.verbs import Fix, Hunt, fixed_code
from refute.models.asking import Asked
from refute.remarks import remark

__all__ = ["DebugResult", "HuntResult", "debug", "debug_async", "hunt", "hunt_async"]

Show = Callable[[Module, Found, str], None]
"""Is told of each function's result, of its module, and how far the work is, in a line."""


@dataclass(frozen=True, slots=True)
class _Result(Shown):
    opened: Opened
    collected: Collected

    @property
    def state(self) -> State:
        """The claim about all functions together."""
        return overall(self.collected.states)

    @property
    def broad(self) -> bool:
        """Whether a folder or several targets were named."""
        return self.opened.targets.broad

    @property
    def skipped(self) -> tuple[Skipped, ...]:
        """What was not looked at, and why."""
        return tuple(self.collected.skipped)

    @property
    def interrupted(self) -> bool:
        """Whether Ctrl-C ended it; what was done by then is here."""
        return self.collected.interrupted

    def _document(self, one: Callable[[list[Any], Path], dict[str, Any]]) -> dict[str, Any]:
        """Of one file as `one` makes it, of folders and several targets with all files."""
        from refute.report.documents import broad_document

        files: dict[Path, list[Found]] = {}
        for module, found in self.collected.results:
            files.setdefault(module.source.path, []).append(found)
        documents = {str(path): one(ones, path) for path, ones in files.items()}
        whole = next(iter(documents.values()), {})
        if self.broad:
            whole = broad_document(documents, self.skipped)
        if whole and self.opened.tests_read is not None:
            whole = {**whole, "tests_read": self.opened.tests_read}
        return whole


@dataclass(frozen=True, slots=True)
class HuntResult(_Result):
    """What `hunt` found out."""

    @property
    def hunts(self) -> tuple[Hunt, ...]:
        """One for each function."""
        return tuple(one for _, one in self.collected.results if isinstance(one, Hunt))

    @property
    def tests(self) -> tuple[FailingTest, ...]:
        """The unit tests that fail, of all functions."""
        return tuple(test for one in self.hunts for test in one.failing)

    def to_dict(self) -> dict[str, Any]:
        """The JSON document; empty where nothing was looked at."""
        from refute.report.documents import hunt_document

        return self._document(lambda ones, _: hunt_document(ones))

    def write_pytest(self, output: Path | str, *, force: bool = False) -> list[Path]:
        """Write the failing tests as a pytest file, or one for each module into a folder.

        Returns the files written. Raises `InputError` where a file exists and not `force`.
        """
        from refute.function.testfile import write_tests

        files = self.pytest_files(output, force=force)
        for place, text in files.items():
            write_tests(place, text, force=force)
        return list(files)

    def pytest_files(
        self, output: Path | str, *, function: str | None = None, force: bool = True
    ) -> dict[Path, str]:
        """The failing tests as pytest files that would lie at `output`: path -> source.

        `output`: a file, or a folder that exists, for several modules. `function`: only this one's.
        Raises `InputError` where they cannot lie there; where one exists, only without `force`.
        """
        from refute.function.testfile import render

        files: dict[Path, str] = {}
        places = places_of_tests(Path(output), self.opened, force=force)
        for file, place in places.items():
            rows = [
                (module, one)
                for module, one in self.collected.results
                if module.source.path == file and isinstance(one, Hunt) and one.found
                if function in (None, one.function)
            ]
            if rows:
                tests = [(one.function, one.failing, one.findings) for _, one in rows]
                files[place] = render(rows[0][0], tests, path=place)
        return files

    def print(self, console: Any) -> None:
        """What the command prints on stdout."""
        from refute.report.tables import print_hunt

        for module, one in self.collected.results:
            if isinstance(one, Hunt):
                print_hunt(one, console, file=str(module.source.path) if self.broad else "")


@dataclass(frozen=True, slots=True)
class DebugResult(_Result):
    """What `debug` found out."""

    proposed: bool
    """Whether what is only proposed counts as a fix."""

    @property
    def fixes(self) -> tuple[Fix, ...]:
        """What became of each function."""
        return tuple(one for _, one in self.collected.results if isinstance(one, Fix))

    @property
    def tests(self) -> tuple[FailingTest, ...]:
        """The unit tests that the functions fail as they were given."""
        return tuple(test for one in self.fixes for test in one.hunt.failing)

    @property
    def candidates(self) -> tuple[Candidate, ...]:
        """The fixes of all functions, for each the best first."""
        return tuple(candidate for one in self.fixes for candidate in one.result.candidates)

    @property
    def diff(self) -> str:
        """The fixes as one unified diff. What is only proposed is in it where it is of the only
        function of its file, and where `proposed` is set."""
        from refute.function.source import diff_name, unified_diff

        diffs = []
        for path, ones in self._by_file().items():
            code = fixed_code(ones, proposed=self.proposed or len(ones) == 1)
            diffs.append(unified_diff(ones[0].before, code, diff_name(path)))
        return "".join(diffs)

    def to_dict(self) -> dict[str, Any]:
        """The JSON document; empty where nothing was looked at."""
        from refute.function.source import diff_name
        from refute.report.documents import debug_document

        def one(fixes: list[Fix], path: Path) -> dict[str, Any]:
            return debug_document(fixes, diff_name(path), proposed=self.proposed)

        return self._document(one)

    def write(self) -> list[Path]:
        """Apply the fixes to the files; those that are only proposed where `proposed` is set.

        Returns the files that changed; what was left out is said.
        """
        sources = {module.source.path: module.source for module, _ in self.collected.results}
        written = []
        for path, ones in self._by_file().items():
            code = fixed_code(ones, proposed=self.proposed)
            if code != sources[path].text:
                sources[path].rewrite(code)
                written.append(path)
                remark([f"fix written to {path}"])
        proposals = [one.hunt.function for one in self.fixes if one.state is State.PROPOSED]
        if proposals and not self.proposed:
            left = ", ".join(proposals)
            remark([f"only proposed, so not written without --proposed: {left}"])
        return written

    def _by_file(self) -> dict[Path, list[Fix]]:
        files: dict[Path, list[Fix]] = {}
        for module, one in self.collected.results:
            if isinstance(one, Fix):
                files.setdefault(module.source.path, []).append(one)
        return files

    def print(self, console: Any) -> None:
        """What the command prints on stdout."""
        from refute.function.source import diff_name
        from refute.report.tables import print_fix

        for module, one in self.collected.results:
            if isinstance(one, Fix):
                name = diff_name(module.source.path)
                print_fix(one, name, console, file=name if self.broad else "")


def hunt(
    *targets: str,
    tests: Path | str | None = None,
    description: Path | str | None = None,
    python: Path | str | None = None,
    budget: float = 10.0,
    seed: int = 0,
    jobs: int | None = None,
    since: str | None = None,
    method: str | None = None,
    model: str | None = None,
    options: Mapping[str, Any] | None = None,
    asked: Asked | None = None,
    output: Path | str | None = None,
    force: bool = False,
    opened: Callable[[Opened], None] = lambda opened: None,
    show: Show = lambda module, one, how_far: None,
) -> HuntResult:
    """Find unit tests that functions fail.

    `targets`: FILE.py::FUNCTION, FILE.py, a folder, pkg.mod or pkg.mod:FUNCTION. `tests`,
    `description`, `python`: files. `budget`: seconds a function. `since`: a commit; only what is
    public and changed since then, in the targets, if any are named (files and folders).
    `method`, `model` and the method's
    `options` by name, or all in `asked`, which also says how the model is reached. `output`: where
    the tests are written (see `HuntResult.write_pytest`), checked before any work. `opened` is told
    once what there is to look at, `show` of each result.
    """
    subject = _subject(targets, tests, description, python, budget, seed, jobs, since)
    asked = asked or Asked(method=method, model=model, options=options or {})

    def work() -> HuntResult:
        found = _opened(subject)
        if not found.functions:
            return HuntResult(found, Collected())
        if output is not None:
            places_of_tests(Path(output), found, force=force)
        opened(found)
        result = HuntResult(found, collect(subject, found, asked, fixing=False, show=show))
        if output is not None:
            written = result.write_pytest(output, force=force)
            remark(f"tests written to {place}" for place in written)
        return result

    return apart(work)


def debug(
    *targets: str,
    tests: Path | str | None = None,
    description: Path | str | None = None,
    python: Path | str | None = None,
    budget: float = 10.0,
    seed: int = 0,
    jobs: int | None = None,
    since: str | None = None,
    method: str | None = None,
    model: str | None = None,
    options: Mapping[str, Any] | None = None,
    asked: Asked | None = None,
    proposed: bool = False,
    ask: Callable[[str], Ask] | None = None,
    opened: Callable[[Opened], None] = lambda opened: None,
    show: Show = lambda module, one, how_far: None,
) -> DebugResult:
    """Fix functions with generated tests; nothing is written (see `DebugResult.write`).

    Parameters as in `hunt`. `proposed`: what is only proposed counts as a fix. `ask` gives, for a
    function's name, who answers which of two outputs is right.
    """
    subject = _subject(targets, tests, description, python, budget, seed, jobs, since)
    asked = asked or Asked(method=method, model=model, options=options or {})

    def work() -> DebugResult:
        found = _opened(subject)
        if not found.functions:
            return DebugResult(found, Collected(), proposed)
        opened(found)
        got = collect(subject, found, asked, fixing=True, ask=ask, proposed=proposed, show=show)
        return DebugResult(found, got, proposed)

    return apart(work)


async def hunt_async(*targets: str, **how: Any) -> HuntResult:
    """`hunt` in a thread of its own."""
    from asyncio import to_thread

    return await to_thread(partial(hunt, *targets, **how))


async def debug_async(*targets: str, **how: Any) -> DebugResult:
    """`debug` in a thread of its own."""
    from asyncio import to_thread

    return await to_thread(partial(debug, *targets, **how))


def _opened(subject: FunctionTargets) -> Opened:
    """The targets; none where nothing changed since the commit that was named."""
    if not subject.targets:
        return Opened(Targets(()), (), None)
    return open_subject(subject)


def places_of_tests(output: Path, opened: Opened, *, force: bool) -> dict[Path, Path]:
    """Module's file -> the file that its tests go to. Raises `InputError` where that cannot be."""
    modules = opened.targets.modules
    files = [module.source.path for module in modules]
    if output.is_dir():
        places = {file: output / f"test_{file.stem}_refuted.py" for file in files}
        if len(set(places.values())) < len(files):
            names = {m.source.path: m.surroundings.name.replace(".", "_") for m in modules}
            places = {file: output / f"test_{name}_refuted.py" for file, name in names.items()}
    elif len(files) > 1:
        raise InputError(f"{output}: tests of {len(files)} files go to a folder that exists")
    else:
        places = {files[0]: output}
    for place in places.values():
        if not place.parent.is_dir():
            raise InputError(f"{place}: there is no folder {place.parent}")
        if place.exists() and not force:
            raise InputError(f"{place}: exists; add --force to replace it")
    return places


def _subject(
    targets: Sequence[str],
    tests: Path | str | None,
    description: Path | str | None,
    python: Path | str | None,
    budget: float,
    seed: int,
    jobs: int | None,
    since: str | None,
) -> FunctionTargets:
    if since is not None:
        from refute.api.since import changed_since

        targets = changed_since(targets, since)
    elif not targets:
        raise InputError("name a target: FILE.py::FUNCTION, FILE.py, a folder or a module")
    if not budget > 0:
        raise InputError(f"budget = {budget}: must be above 0 seconds")
    return FunctionTargets(
        targets=tuple(map(str, targets)),
        tests=None if tests is None else Path(tests),
        description=None if description is None else Path(description),
        python=None if python is None else Path(python),
        budget=budget,
        seed=seed,
        jobs=jobs,
    )
