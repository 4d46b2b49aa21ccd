"""Common parts of `hunt` and `debug`: results, targets, progress, exit status."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from refute.core.remarks import remark
from refute.errors import InputError
from refute.function.contract import Candidate, FailingTest, Skipped, State, overall
from refute.function.service import Collected, FunctionOptions, Opened, open_subject, summary
from refute.function.source import diff_name
from refute.function.target import Module, Targets
from refute.function.verbs import Fix, Hunt, fixed_code
from refute.sandbox.pool import end_after
from refute.verbs.output import Form, Reported, consoles, status_of_states

if TYPE_CHECKING:
    from msgspec import Struct

    from refute.function.parallel import Found
    from refute.results.formats import Report
    from refute.results.text.consoles import Working


One = TypeVar("One", Hunt, Fix)


@dataclass(frozen=True, slots=True)
class _Result(Reported):
    opened: Opened
    collected: Collected

    @property
    def state(self) -> State:
        """The claim about all functions together."""
        return overall(self.collected.states)

    @property
    def broad(self) -> bool:
        """True if a folder or several targets were named."""
        return self.opened.targets.broad

    @property
    def skipped(self) -> tuple[Skipped, ...]:
        """Files and functions that were skipped, with reasons."""
        return tuple(self.collected.skipped)

    @property
    def interrupted(self) -> bool:
        """True if Ctrl-C ended the work; the results up to then are here."""
        return self.collected.interrupted

    @property
    def known(self) -> int:
        """Functions of which only what the baseline knows was found; they are not here."""
        return self.collected.known

    def _report(self, verb: str) -> Report:
        from refute.results.formats import Report
        from refute.results.functions import case_of

        got = self.collected
        cases = (case_of(module, one) for module, one in got.results)
        line = summary(Counter(got.states), Counter(one.kind for one in got.skipped))
        return Report(verb, tuple(cases), self.skipped, line, got.known, got.interrupted)

    def _whole(self) -> dict[str, Any]:
        """Return the arguments of `refute.results.functions` that concern all files."""
        return {"broad": self.broad, "skipped": self.skipped, "known": self.known}


@dataclass(frozen=True, slots=True)
class HuntResult(_Result):
    """Result of `hunt`."""

    @property
    def hunts(self) -> tuple[Hunt, ...]:
        """One for each function."""
        return tuple(one for _, one in self.collected.results if isinstance(one, Hunt))

    @property
    def tests(self) -> tuple[FailingTest, ...]:
        """The unit tests that fail, of all functions."""
        return tuple(test for one in self.hunts for test in one.failing)

    def document(self) -> Struct:
        """The result as `hunt/1`."""
        from refute.results.functions import hunt_document

        return hunt_document(_by_file(self, Hunt), **self._whole())

    def report(self) -> Report:
        """Return the findings as cases, for every format."""
        return self._report("hunt")

    def write_baseline(self, file: Path | str) -> int:
        """Write what was found as known; what the file knows of other functions stays. Returns how
        many problems it knows then. Raises `InputError`."""
        from refute.results.baselines import OF_FUNCTIONS, write_baseline

        return write_baseline(Path(file), self.report(), OF_FUNCTIONS)

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
        """Print the result as the command does on stdout."""
        from refute.results.text.functions import print_hunt

        for module, one in self.collected.results:
            if isinstance(one, Hunt):
                file = str(module.source.path) if self.broad else ""
                print_hunt(one, console, file=file, others=len(self.hunts) > 1)


@dataclass(frozen=True, slots=True)
class DebugResult(_Result):
    """Result of `debug`."""

    proposed: bool
    """True if what is only proposed counts as a fix."""

    @property
    def fixes(self) -> tuple[Fix, ...]:
        """Fixes, one for each function."""
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
        for path, ones in _by_file(self, Fix).items():
            code = fixed_code(ones, proposed=self.proposed or len(ones) == 1)
            diffs.append(unified_diff(ones[0].before, code, diff_name(path)))
        return "".join(diffs)

    def document(self) -> Struct:
        """The result as `debug/1`."""
        from refute.results.functions import debug_document

        return debug_document(_by_file(self, Fix), proposed=self.proposed, **self._whole())

    def report(self) -> Report:
        """Return the findings as cases, for every format."""
        return self._report("debug")

    def write(self) -> list[Path]:
        """Apply the fixes to the files; those that are only proposed where `proposed` is set.

        Returns the files that changed; what was left out is said.
        """
        sources = {module.source.path: module.source for module, _ in self.collected.results}
        written = []
        for path, ones in _by_file(self, Fix).items():
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

    def print(self, console: Any) -> None:
        """Print the result as the command does on stdout."""
        from refute.function.source import diff_name
        from refute.results.text.functions import print_fix

        for module, one in self.collected.results:
            if isinstance(one, Fix):
                name = diff_name(module.source.path)
                file, others = name if self.broad else "", len(self.fixes) > 1
                print_fix(one, name, console, file=file, others=others)


def _by_file(result: _Result, kind: type[One]) -> dict[Path, list[One]]:
    files: dict[Path, list[One]] = {}
    for module, one in result.collected.results:
        if isinstance(one, kind):
            files.setdefault(module.source.path, []).append(one)
    return files


def notice(*given: Any) -> bool:
    """`hardening.testing.notice`, loaded where it is asked: seldom."""
    from refute.hardening import testing

    return testing.notice(*given)


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
            raise InputError(f"{place}: folder {place.parent} does not exist")
        if place.exists() and not force:
            raise InputError(f"{place}: exists; add --force to replace it")
    return places


MOST_NAMED = 10
FEW = 20
"""For so many functions no lines of progress are written."""


Show = Callable[["Module", "Found", str], None]
"""Is told of each function's result, of its module, and how far the work is, in a line."""
Chosen = TypeVar("Chosen", bound=FunctionOptions)


def subject_of(options: Chosen, *, listed: bool) -> Chosen:
    """The options with the targets that changed since the commit that they name, if any, and with
    when the time is up. `listed`: see `hunt`. Raises `InputError`."""
    end, targets = end_after(options.total_budget), options.targets
    if options.since is not None and (targets or not listed):
        from refute.verbs.diff import changed_since

        targets = changed_since(targets, options.since)
    elif not targets and not listed:
        raise InputError("name a target: FILE.py::FUNCTION, FILE.py, a folder or a module")
    return replace(options, targets=tuple(targets), end=end)


def opened_subject(subject: FunctionOptions) -> Opened:
    """The targets; none where nothing changed since the commit that was named."""
    if not subject.targets:
        return Opened(Targets(()), ())
    return open_subject(subject)


@contextmanager
def watching(
    print_one: Callable[[Module, Found, str, bool], None],
) -> Iterator[tuple[Callable[[Opened], None], Show, Working]]:
    """A spinner, and what is to be told of the targets and of each result, which `print_one`
    prints; that is also told its file, where there are many, and whether it is one of several."""
    from refute.results.text.consoles import working

    broad, total, done, told = False, 0, 0, 0
    with working("opening", consoles()[1]) as spinner:

        def opened(found: Opened) -> None:
            nonlocal broad, total
            broad, total = found.targets.broad, found.functions
            spinner.say(f"looking at {total} function{'s' * (total > 1)}")

        def show(module: Module, one: Found, how_far: str) -> None:
            nonlocal done, told
            with spinner.paused():
                print_one(module, one, diff_name(module.source.path) if broad else "", total > 1)
            spinner.say(how_far)
            done += 1
            if not spinner.shown and total > FEW and 4 * done // total > told and done < total:
                told = 4 * done // total
                remark([how_far])

        yield opened, show, spinner


def conclude(result: Any, form: Form, fixing: bool, fail_on: str | None) -> int:
    """Say how it all came out and what to do next, and return the exit status."""
    got = result.collected
    if len(got.results) + len(got.skipped) > 1 or (got.interrupted and got.results):
        remark([summary(Counter(got.states), Counter(one.kind for one in got.skipped))])
        if got.troubles:
            remark([f"{got.troubles} skipped: internal error (please report)"])
    late = [one.where for one in got.skipped if one.kind == "no time left"]
    if late:
        shown = ", ".join(late[:MOST_NAMED]) + ", ..." * (len(late) > MOST_NAMED)
        remark([f"no time was left for {shown}"])
    if got.known:
        remark([f"{got.known} function{'s' * (got.known != 1)} with known problems alone"])
    if got.interrupted:
        raise KeyboardInterrupt
    form.say_next(result)
    if not got.results and (got.known or not got.skipped):
        return 0  # nothing changed since the commit that was named, or nothing is new
    return status_of_states(got.states, fixing=fixing, fail_on=fail_on)
