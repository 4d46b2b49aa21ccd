"""The sandbox contract: what goes in and what comes out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from types import CodeType
from typing import Any, Protocol, Self

from refute.core.problems import Invocation
from refute.sandbox import nodes, values

Code = str | CodeType | bytes
"""Source, or what the trusted side compiled, also marshalled (what it mentions is then not
looked for): for a sandbox of this version of Python only (see `takes_code`)."""


@dataclass(frozen=True, slots=True)
class Program:
    """An untrusted program: a module and the function of it that is called.

    `code` is the module's source, or code objects that the trusted side compiled and that are
    executed one after the other (the search engine compiles its candidates from syntax trees, and
    what many of them share once). A dotted entry point (`Class.method`) is
    resolved by attribute access on the module.
    """

    code: Code | tuple[Code, ...]
    entry_point: str
    filename: str = "<program>"
    module: str | None = None
    """Dotted name as which it is imported, its packages first, in the place of what `filename`
    holds. None: a module of its own, which nobody imports."""
    setup: Code | None = None
    """Makes it a variant: `code` is loaded once for all programs of a `run_variants` that share it
    (the same object), and before the calls of each, `bodies` are put in and this code is executed
    in the module, in the time that a call has. What calls leave behind in the module's globals
    stays for the next variant."""
    bodies: tuple[CodeType, ...] = ()
    """Code objects of functions, each in the place of the one in `code` with the same qualified
    name and first line: a variant's difference. Whoever holds such a function sees the change."""


ELSEWHERE = {"TZ": "XYZ-13:45", "LC_ALL": "C", "COLUMNS": "53", "LINES": "17", "USER": "somebody",
             "LOGNAME": "somebody"}  # fmt: skip
"""Variables of other surroundings, in which a red test is run once more."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of one program. Times are seconds, sizes bytes.

    A call is limited by the CPU time of its process, so that a verdict does not depend on how busy
    the machine is. The wall limit is for calls that sleep or block: it bounds the time in which the
    call used next to no CPU; elapsed time alone ends a call only after ten times as long.
    """

    cpu: float = 1.0
    wall: float | None = None
    """None: 2 x `cpu` + 1."""
    loading: float | None = None
    """CPU limit of the program's import, with all that it imports. None: `cpu`."""
    memory: int = 1 << 30
    output: int = 16 << 20
    """Largest encoded output of one call; a larger one comes back as an opaque digest."""
    stop_after: int | None = None
    """Give up after this many calls were cut short (time-out, crash); the rest is `NotRun`."""
    run_wall: float | None = None
    """Give up after this many seconds of elapsed time for all calls of a run, however each of them
    ends; the rest is `NotRun`. Time in which the whole machine stood still does not count."""
    retry: bool = True
    """A call that is cut short in a process with others before it is made again in a fresh one, and
    only then counts as cut short; one that SIGKILL ends, which may come from outside, three times.
    False: at once, which may be the fault of those before it; and
    an import has no more than four times what the module's first took (at least a CPU second)."""
    alone: bool = False
    """Each call is made in a process of its own, that has loaded the program for it."""
    seed: int = 0
    """Of Python's hashes and of `random`; another one is another server process, too."""
    elsewhere: bool = False
    """In other surroundings: another time zone, date, home, user, working folder, width of the
    terminal and umask, and an stdin that holds something. What differs there says nothing of the
    code alone."""

    @property
    def wall_seconds(self) -> float:
        """The wall limit in seconds, as given or as derived from `cpu`."""
        return 2 * self.cpu + 1 if self.wall is None else self.wall

    @property
    def loading_seconds(self) -> float:
        """The CPU limit of an import in seconds, as given or the one of a call."""
        return self.cpu if self.loading is None else self.loading


DEFAULT_LIMITS = Limits()


class Returned:
    """The call returned; `data` is the encoded value, decoded strictly on first use of `value`.

    `value` raises `values.MalformedValue` when the bytes are not a valid encoding (a program wrote
    into the result channel): such an outcome equals nothing.
    """

    __slots__ = ("_value", "data")
    __match_args__ = ("value",)

    def __init__(self, data: bytes) -> None:
        self.data = data

    @property
    def value(self) -> Any:
        """Value that the call returned, decoded on first use. Raises `values.MalformedValue`."""
        try:
            return self._value
        except AttributeError:
            self._value: Any = nodes.decode(self.data)
            return self._value

    @property
    def complete(self) -> bool:
        """Return whether the encoding says all about the value; one that does not equals
        nothing."""
        return values.is_complete(self.data)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Returned) and self.data == other.data and self.complete

    def __hash__(self) -> int:
        return hash(self.data)

    def __repr__(self) -> str:
        try:
            return f"Returned({self.value!r})"
        except ValueError:  # also an int that is too long to be shown
            return f"Returned(<not shown, {len(self.data)} bytes>)"


@dataclass(frozen=True, slots=True)
class Raised:
    """The call (or, for every call, the program's import) raised an exception."""

    type: str
    message: str
    line: int | None = None
    """Line of the program in which it was raised, where known."""
    on_import: bool = False
    """The program itself raised while it was loaded: no call was made."""
    kinds: tuple[str, ...] = field(default=(), compare=False, repr=False)
    """Names of the class and its bases; of Python's own exceptions only where it is one of them."""


@dataclass(frozen=True, slots=True)
class TimedOut:
    """The call used up its CPU limit (`cpu`), or slept or blocked past its wall limit (`wall`)."""

    kind: str = "cpu"


@dataclass(frozen=True, slots=True)
class OutOfMemory:
    """The call needed more than the memory limit."""


@dataclass(frozen=True, slots=True)
class Killed:
    """The process ended in the middle of the call: by a signal, or by exiting by itself."""

    reason: str


@dataclass(frozen=True, slots=True)
class NotRun:
    """The call was not made to its end: too many before it were cut short (`Limits.stop_after`), or
    the time of the whole run was over (`Limits.run_wall`)."""


Outcome = Returned | Raised | TimedOut | OutOfMemory | Killed | NotRun


def takes_code(box: Sandbox) -> bool:
    """See `Sandbox.takes_code`; one that does not say runs this version."""
    return bool(getattr(box, "takes_code", True))


class Sandbox(Protocol):
    """Runs untrusted programs. Use as a context manager; one user at a time (not thread-safe)."""

    def run(
        self, program: Program, calls: Sequence[Invocation], limits: Limits = DEFAULT_LIMITS
    ) -> list[Outcome]:
        """Run the calls in order in one process image of the program; one outcome per call.

        A call that is cut short (time-out, crash) costs the others nothing: they go on in a fresh
        process. Raises `SandboxUnavailable` when the sandbox itself fails, `values.Unencodable`
        when an argument has no encoding.
        """
        return self.run_variants([program], calls, limits)[0]

    def run_variants(
        self,
        programs: Sequence[Program],
        calls: Sequence[Invocation],
        limits: Limits = DEFAULT_LIMITS,
    ) -> list[list[Outcome]]:
        """Run the same calls on many programs, several programs per process, for throughput.

        For variants of one program that need no protection from each other. Outcomes as in `run`,
        one list per program; confirm a survivor with `run` before it is believed.
        """
        ...

    @property
    def takes_code(self) -> bool:
        """Return whether programs may be code objects: not where it runs another version of
        Python."""
        ...

    def protections(self) -> dict[str, bool]:
        """Return the protections here: name of the measure -> whether it holds."""
        ...

    def close(self) -> None:
        """Kill everything; idempotent."""
        ...

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()
