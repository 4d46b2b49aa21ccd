"""What `hunt` and `debug` return."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from refute.api.calling import Reported
from refute.errors import InputError
from refute.function.contract import Candidate, FailingTest, State, overall
from refute.function.parallel import Found
from refute.function.service import Collected, Opened
from refute.function.target import Skipped
from refute.function.verbs import Fix, Hunt, fixed_code
from refute.remarks import remark

if TYPE_CHECKING:
    from refute.report.formats.contract import Report


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

    @property
    def known(self) -> int:
        """Functions of which only what the baseline knows was found; they are not here."""
        return self.collected.known

    def _report(self, verb: str) -> Report:
        from refute.function.service import summary
        from refute.report.formats.contract import Left, Report
        from refute.report.formats.functions import case_of

        got = self.collected
        cases = (case_of(module, one) for module, one in got.results)
        left = (Left(one.where, one.kind, one.reason) for one in got.skipped)
        line = summary(Counter(got.states), Counter(one.kind for one in got.skipped))
        return Report(verb, tuple(cases), tuple(left), line, got.known, got.interrupted)

    def _document(
        self, schema: str, one: Callable[[list[Any], Path], dict[str, Any]]
    ) -> dict[str, Any]:
        """Of one file as `one` makes it, of folders and several targets with all files; so, too,
        where nothing was looked at."""
        from refute.report.documents import broad_document

        files: dict[Path, list[Found]] = {}
        for module, found in self.collected.results:
            files.setdefault(module.source.path, []).append(found)
        documents = {str(path): one(ones, path) for path, ones in files.items()}
        if self.broad or not documents:
            whole = broad_document(documents, self.skipped)
        else:
            whole = next(iter(documents.values()))
        if self.opened.tests_read is not None:
            whole = {**whole, "tests_read": self.opened.tests_read}
        if self.known:
            whole = {**whole, "known": self.known}
        return {"schema": schema, **whole}


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
        """The JSON document, of the schema `hunt/1`."""
        from refute.report.documents import hunt_document

        return self._document("hunt/1", lambda ones, _: hunt_document(ones))

    def report(self) -> Report:
        """What there is to report."""
        return self._report("hunt")

    def write_baseline(self, file: Path | str) -> int:
        """Write what was found as known; what the file knows of other functions stays. Returns how
        many problems it knows then. Raises `InputError`."""
        from refute.report.baselines import OF_FUNCTIONS, write_baseline

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
        """The JSON document, of the schema `debug/1`."""
        from refute.function.source import diff_name
        from refute.report.documents import debug_document

        def one(fixes: list[Fix], path: Path) -> dict[str, Any]:
            return debug_document(fixes, diff_name(path), proposed=self.proposed)

        return self._document("debug/1", one)

    def report(self) -> Report:
        """What there is to report."""
        return self._report("debug")

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
