"""What is run: the settings of a run, and the problems that they name."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from refute.core.registry import METHODS
from refute.errors import InputError
from refute.function.formatting import call_source, expected_source
from refute.sandbox import values
from refute.source.literals import NotLiteral, source_of
from refute_lab.datasets import Item, load
from refute_lab.datasets.spec import Evaluation, Subset
from refute_lab.runs.run import versions


@dataclass(frozen=True, slots=True)
class BenchSettings:
    """Everything that a run's figures depend on; goes into the journal's header."""

    dataset: str
    method: str
    limit: int | None = None
    ids: tuple[str, ...] | None = None
    seed: int = 0
    visible_tests: int = 0
    """Visible asserts that are shown with each problem (MBPP)."""
    failing_tests: int = 0
    """Right failing tests that are given with each problem (the experiment with perfect tests)."""
    gold_outputs: bool = False
    """The reference's outputs for the inputs that the method proposes (`bench.gold`)."""
    editor_tests: int = 0
    """Visible asserts that are shown where code is edited, and nowhere else (MBPP)."""
    evaluation: Evaluation = "evalplus"
    """Whose rules of grading: see `refute_lab.datasets.spec`."""
    subset: Subset = "all"
    """Which rows of HumanEval+ and MBPP+: see `refute_lab.datasets.spec`."""
    preset: str | None = None
    """What sets the values that were not given: see `refute.core.registry`."""
    prompts: str = ""
    """Digest of the templates that stand for ours; "": there are none."""
    model: str | None = None
    """What is asked, as `--model` names it; None: the method asks no model."""
    tester: str | None = None
    """The model that writes the unit tests, where it is another one."""
    options: Any = None
    """The method's: a dataclass as `MethodSpec.options`; in the header each under its own name.
    None: of a stored run whose method is not installed."""
    runs: int = 1
    """Every problem is worked on this often, with seeds `seed`, `seed + 1`, ..."""

    def __post_init__(self) -> None:
        """Raises `InputError` for a number of runs that makes no sense."""
        runs: Any = self.runs
        if isinstance(runs, bool) or not isinstance(runs, int) or not 1 <= runs <= MOST_RUNS:
            raise InputError(f"runs = {_short(runs)}: must be from 1 to {MOST_RUNS}")

    def header(self, items: Sequence[Item]) -> dict[str, Any]:
        """The settings with what the figures depend on besides: the content and the versions."""
        settings = asdict(self)
        options = settings.pop("options")
        if self.model is None:
            for name in ("model", "tester", "runs"):
                del settings[name]
        for one in fields(self):  # headers of before have none of these
            if one.name in _NEWER and settings[one.name] == one.default:
                del settings[one.name]
        return {
            **settings,
            **(options or {}),
            "problems": len(items),
            "content": _digest(items),
            **versions(),
        }


MOST_RUNS = 10_000
_NEWER = ("gold_outputs", "editor_tests", "evaluation", "subset", "preset", "prompts")


def stored_settings(header: Mapping[str, Any]) -> BenchSettings:
    """The settings that a header holds. Raises `InputError` for a number that makes no sense."""
    own = {f.name: header[f.name] for f in fields(BenchSettings) if f.name in header}
    if isinstance(own.get("ids"), list):
        own["ids"] = tuple(own["ids"])
    own["options"] = None
    if header["method"] in METHODS:
        kind = METHODS.get(header["method"]).options
        names = [f.name for f in fields(kind)]
        own["options"] = kind(**{name: header[name] for name in names if name in header})
    return BenchSettings(**own)


def load_items(settings: BenchSettings, data: Path | None) -> list[Item]:
    """The problems of the run. Raises `InputError`."""
    try:
        items = load(
            settings.dataset,
            data=data,
            visible_tests=settings.visible_tests,
            ids=settings.ids,
            limit=settings.limit,
            editor_tests=settings.editor_tests,
            evaluation=settings.evaluation,
            subset=settings.subset,
        )
    except OSError as error:
        raise InputError(f"{error.filename or data}: {error.strerror}") from None
    if not items:
        raise InputError(f"{settings.dataset}: no problem is left to run")
    return items


def _short(value: Any) -> str:
    text = str(value) if not isinstance(value, int) or value.bit_length() < 64 else "a long number"
    return text[:40]


def _digest(items: Sequence[Item]) -> str:
    """What the problems and keys are, independent of where they were read from."""
    digest = hashlib.sha256()
    for item in items:
        problem, key = item.problem, item.key
        texts = [problem.id, problem.description, problem.signature, problem.entry_point]
        texts += [problem.code, key.reference, repr(key.atol), str(key.checker), str(key.contract)]
        texts += problem.editor_lines
        texts += [] if key.seconds is None else [repr(key.seconds)]
        tests = [(call_source(t.call, ""), expected_source(t)) for t in problem.tests]
        for part in (texts, tests, list(key.inputs), key.expected):
            digest.update(_bytes(part))
    return digest.hexdigest()[:32]


def _bytes(value: Any) -> bytes:
    if values.is_plain(value):
        return values.encode(value)
    try:
        return source_of(value).encode(errors="surrogatepass")
    except NotLiteral:
        return repr(value).encode(errors="surrogatepass")
