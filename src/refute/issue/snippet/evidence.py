"""What a run of a script showed, and what a test has to say of it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from refute.issue.snippet.script import Statement


@dataclass(frozen=True, slots=True)
class Value:
    """What an expression of the script was on the original code."""

    repr: str
    str: str


@dataclass(frozen=True, slots=True)
class ScriptError:
    """The exception that ended the script on the original code."""

    statement: int
    type: str
    message: str
    inside: bool
    """Whether it came out of the repository's code, not of the test's own lines."""
    line: str = ""
    """The line of the script, with its comment, where it came up."""
    form: str = ""
    """`repr`, `str`: it came up when the value was shown, as it does for a query that is lazy."""


@dataclass(frozen=True, slots=True)
class Seen:
    """One run of a script on the original code."""

    values: dict[int, Value] = field(default_factory=dict)
    raised: ScriptError | None = None

    def agreeing(self, other: Seen | None) -> Seen:
        """Without the values that were others in another run: times, ids, counters, addresses."""
        if other is None or other.raised is not None or self.raised is not None:
            return self
        same = {n: v for n, v in self.values.items() if other.values.get(n, v) == v}
        return replace(self, values=same)


@dataclass(frozen=True, slots=True)
class Claim:
    """What a test asserts: `setup` runs, then the focus is looked at."""

    setup: tuple[Statement, ...]
    focus: Statement
    kind: str
    """`runs`, `equals`, `text`, `raises`."""
    confidence: float
    why: str
    """The evidence, on one line."""
    expected: str = ""
    """`equals`: source of a literal; `text`: the string itself; `raises`: the exception's name."""
    form: str = ""
    """`text`: by `str` or `repr`. `runs`, `raises`: the value is shown by it, not only made."""
    failure: str = "AssertionError"
    """Type of the exception with which it must fail on the original code."""
