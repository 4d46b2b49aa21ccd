"""Choice among the edited programs that pass every trusted test, and confidence in it.

Confidence in a fix, or in a test that the fixes predict, is a logistic function of a few plain
quantities. The coefficients were fitted on the development halves alone (bugs put into real
packages by `benchmarks/mutants.py --half dev`, and he-fix); `benchmarks/calibration.py` prints how
often what was given so much confidence was right, also on bugs and packages never looked at.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from refute.core.problems import (
    Call,
    DoctestSession,
    Expression,
    Invocation,
    Scenario,
    Trust,
    UnitTest,
    Want,
)
from refute.function.contract import Candidate, FailingTest, Question
from refute.function.formatting import call_source
from refute.function.search.edit import Edit, applied
from refute.function.search.fuel import stripped
from refute.function.search.inputs import Tier
from refute.function.search.rewrite import rewrite
from refute.function.search.rules import few_variants
from refute.function.search.staged import is_staged, stated, told
from refute.function.search.trial import Trial, TrialResult, starved
from refute.sandbox import Limits, NotRun, Outcome, Program, Raised, Returned, TimedOut
from refute.sandbox.equality import expect_test, matches, without_addresses
from refute.sandbox.values import Iterated, MalformedValue, crosses, encode
from refute.source.literals import NotLiteral, parse_literal
from refute.source.syntax import try_parse_statements

__all__ = [
    "MOST",
    "SHOWN",
    "Cluster",
    "Hints",
    "behaviour",
    "believable",
    "candidate",
    "clustered",
    "compared",
    "crashing",
    "derived",
    "differs",
    "distinct",
    "is_silent",
    "met_by_accident",
    "observed",
    "of_fix",
    "of_test",
    "one_witness",
    "question_for",
    "rivals",
    "shares",
    "sound",
    "statable",
    "vote",
]

MOST = 80
"""Survivors that are compared by behaviour, likeliest first."""
PER_DOUBLING = 0.15
"""Log score of a cluster twice as large: size only breaks ties of the prior."""

CRASHES = -3.0
"""Log weight per share of in-domain inputs on which only the candidate crashes."""
ODD_TYPE = -3.0
"""Log weight per share of in-domain inputs with an output of a type that no test expects."""
CONSTANT = -3.0
"""The output is the same whatever the input."""
OPEN = 0.8
"""Log weight by which a fix may be less likely than the first and still make it a question."""
MOSTLY = 0.5
"""Share of the inputs that end as they did from which on a fix leaves most as it is."""
CHANGED = -1.0
"""Log weight per share of in-domain inputs that end otherwise: most of what code does is right."""
HINT_LOST = -3.0
"""A self-test of the code that it passes and the candidate does not."""
HINT_WON = 0.7
WITNESS_LOST = -4.0
"""An example of another function, one that calls this one, passes now and would not."""
WITNESSES_WON = 3.0
"""Log weight per share of such examples that fail now and would pass."""


@dataclass(slots=True)
class Cluster:
    """Survivors that behave alike on all probing inputs."""

    members: list[TrialResult]
    outcomes: tuple[Outcome, ...]
    score: float = 0.0
    kept: float = 1.0
    """Share of the inputs inside the domain on which nothing changes."""
    won: tuple[UnitTest, ...] = ()
    """Examples of functions that call this one that fail now and would pass."""
    lost: tuple[UnitTest, ...] = ()
    """Those that pass now and would fail."""

    @property
    def best(self) -> TrialResult:
        """The likeliest member."""
        return self.members[0]


def distinct(trial: Trial, survivors: Sequence[TrialResult]) -> list[TrialResult]:
    """Survivors without repetitions of the same program text, likeliest first."""
    seen: set[str] = set()
    kept: list[TrialResult] = []
    for result in sorted(survivors, key=lambda r: -r.weight):
        text = ast.dump(trial.mutated(result.edits))
        if text not in seen:
            seen.add(text)
            kept.append(result)
        if len(kept) >= MOST:
            break
    return kept


def behaviour(outcomes: Sequence[Outcome]) -> tuple[object, ...]:
    """Return what counts as the same behaviour: bytes of values, types of exceptions."""
    return tuple(o.type if isinstance(o, Raised) else o for o in outcomes)


def observed(
    trial: Trial,
    edited: Sequence[Sequence[Edit]],
    calls: Sequence[Invocation],
    count: int | None = None,
) -> list[list[Outcome]]:
    """Run edited programs on `calls`; the first `count` outcomes (None: all) are made comparable.

    An example in a session shows a text: without the addresses in it; an exception is one. What a
    scenario shows is made a text, too.
    """
    return [
        [
            compared(call, o) if count is None or i < count else o
            for i, (call, o) in enumerate(zip(calls, row, strict=True))
        ]
        for row in trial.behaviours(edited, calls)
    ]


def compared(call: Invocation, outcome: Outcome) -> Outcome:
    """Return the outcome of an input in the form that is compared (see `observed`)."""
    if isinstance(call, Scenario):
        return told(outcome)
    if not isinstance(call, DoctestSession) or not isinstance(outcome, Returned):
        return outcome
    try:
        shown = outcome.value
    except MalformedValue:
        return outcome
    match shown:
        case (str(), str() as raised, bool()):
            kind, _, message = raised.strip().partition(":")
            return TimedOut() if starved(outcome) else Raised(kind, message.strip())
        case (str() as text, None, bool()):
            return Returned(encode(without_addresses(text)))
    return outcome


@dataclass(frozen=True, slots=True)
class Hints:
    """Tests that the code states about itself: they rank candidates, no more."""

    tests: tuple[UnitTest, ...] = ()
    witnesses: tuple[UnitTest, ...] = ()
    """Examples of other functions, which call the one under test (`examples.replayed`)."""


def clustered(
    trial: Trial,
    survivors: Sequence[TrialResult],
    inputs: Sequence[tuple[Invocation, Tier]],
    hints: Hints = Hints(),
) -> list[Cluster]:
    """Group survivors by what they do on `inputs`, best cluster first."""
    if not survivors:
        return []
    calls: list[Invocation] = [call for call, _ in inputs]
    calls += [test.call for test in (*hints.tests, *hints.witnesses)]
    rows = observed(trial, [(), *[result.edits for result in survivors]], calls, len(inputs))
    count = len(inputs)
    before = rows[0]
    groups: dict[tuple[object, ...], Cluster] = {}
    for result, outcomes in zip(survivors, rows[1:], strict=True):
        key = behaviour(outcomes)
        if key in groups:
            groups[key].members.append(result)
        else:
            groups[key] = Cluster([result], tuple(outcomes[:count]))
            groups[key].score = _plausibility(trial, before, outcomes, inputs, hints)
            groups[key].kept = _kept(before, outcomes, inputs)
            at = count + len(hints.tests)
            _hear(groups[key], hints.witnesses, before[at:], outcomes[at:])
    _count_accidents([*groups.values()], before, inputs)
    for cluster in groups.values():
        cluster.members.sort(key=lambda result: -result.weight)
        size = math.log2(len(cluster.members))
        cluster.score += cluster.best.weight + PER_DOUBLING * size + CHANGED * (1.0 - cluster.kept)
    return sorted(groups.values(), key=lambda c: -c.score)


def _kept(
    before: Sequence[Outcome], after: Sequence[Outcome], inputs: Sequence[tuple[Invocation, Tier]]
) -> float:
    """Share of the inputs inside the domain that end as they did."""
    inside = [i for i, (_, tier) in enumerate(inputs) if tier == Tier.IN_DOMAIN]
    changed = sum(differs(before[i], after[i]) for i in inside)
    return 1.0 - changed / len(inside) if inside else 1.0


def _plausibility(
    trial: Trial,
    before: Sequence[Outcome],
    after: Sequence[Outcome],
    inputs: Sequence[tuple[Invocation, Tier]],
    hints: Hints,
) -> float:
    """Log weight of a behaviour: a fix crashes on nothing, and keeps what the author had tried."""
    score = 0.0
    inside = [i for i, (_, tier) in enumerate(inputs) if tier == Tier.IN_DOMAIN]
    if inside:
        crashes = sum(
            not isinstance(after[i], Returned) and isinstance(before[i], Returned) for i in inside
        )
        score += CRASHES * crashes / len(inside)
        kinds = set(_expected_kinds(trial.tests))
        plain = [i for i in inside if not is_staged(inputs[i][0])]
        if plain and "?" not in kinds:
            odd = sum(_kind(after[i]) not in (None, *kinds) for i in plain)
            score += ODD_TYPE * odd / len(plain)
        whole = [i for i in plain if not _unclear(after[i])]
        if len(whole) >= 6 and len({behaviour([after[i]]) for i in whole}) == 1:
            score += CONSTANT
    end = len(inputs) + len(hints.tests)
    for test, old, new in zip(
        hints.tests, before[len(inputs) : end], after[len(inputs) : end], strict=True
    ):
        expected = expect_test(test)
        was, now = matches(old, expected), matches(new, expected)
        score += HINT_LOST * (was and not now) + HINT_WON * (now and not was)
    return score


def _hear(
    cluster: Cluster,
    witnesses: Sequence[UnitTest],
    before: Sequence[Outcome],
    after: Sequence[Outcome],
) -> None:
    """Note which witnesses a cluster wins and loses; add what they weigh."""
    rows = [
        (test, matches(old, expected), matches(new, expected))
        for test, old, new in zip(witnesses, before, after, strict=True)
        for expected in (expect_test(test),)
        if not any(isinstance(one, NotRun) or starved(one) for one in (old, new))
    ]
    cluster.won = tuple(test for test, was, now in rows if now and not was)
    cluster.lost = tuple(test for test, was, now in rows if was and not now)
    failing = sum(not was for _, was, _ in rows)
    cluster.score += WITNESS_LOST * bool(cluster.lost)
    cluster.score += WITNESSES_WON * len(cluster.won) / max(1, failing)


_ACCIDENTS = frozenset(
    {
        *("AttributeError", "IndexError", "KeyError", "NameError", "RecursionError", "TypeError"),
        *("UnboundLocalError", "ZeroDivisionError"),
    }
)
"""Exceptions that are seldom raised on purpose."""


def _count_accidents(
    clusters: Sequence[Cluster],
    before: Sequence[Outcome],
    inputs: Sequence[tuple[Invocation, Tier]],
) -> None:
    """Count as a crash too what fails by accident, as the code does, where another fix does not."""
    inside = [i for i, (_, tier) in enumerate(inputs) if tier == Tier.IN_DOMAIN]
    open_to = [
        i
        for i in inside
        if not isinstance(before[i], Returned)
        and any(isinstance(cluster.outcomes[i], Returned) for cluster in clusters)
    ]
    for cluster in clusters:
        failed = [cluster.outcomes[i] for i in open_to]
        count = sum(isinstance(one, Raised) and one.type in _ACCIDENTS for one in failed)
        if count:
            cluster.score += CRASHES * count / len(inside)


def _expected_kinds(tests: Sequence[UnitTest]) -> Iterator[str]:
    """Names of the types that the tests expect; "?" where an example shows what is no literal."""
    for test in tests:
        want = test.expected
        if isinstance(want, Want):
            try:
                if want.raised is None:
                    text = (want.text or "").strip()
                    yield type(parse_literal(text) if text else None).__name__
            except NotLiteral:
                yield "?"
        elif test.raises is None:
            yield type(want).__name__


def _kind(outcome: Outcome) -> str | None:
    """Name of the type of what was returned; None where nothing was."""
    if not isinstance(outcome, Returned):
        return None
    try:
        return type(outcome.value).__name__
    except MalformedValue:
        return "?"


def rivals(clusters: Sequence[Cluster], before: Sequence[Outcome]) -> list[Cluster]:
    """The first of `clusters`, and those that are nearly as likely: the ones to choose between.

    Where the first leaves most as it is, one that changes all that the first changes, in the same
    way, and more besides, is no rival: nothing that is known asks for the rest of its change.
    """
    first = clusters[0]
    small = first.kept >= MOSTLY
    return [first] + [
        other
        for other in clusters[1:]
        if other.score >= first.score - OPEN and not (small and _goes_further(first, other, before))
    ]


def _goes_further(first: Cluster, other: Cluster, before: Sequence[Outcome]) -> bool:
    """Return whether `other` does what `first` does wherever `first` changes anything.

    Where no input shows a change of the first, every other would: that tells nothing.
    """
    rows = zip(before, first.outcomes, other.outcomes, strict=True)
    shown = [(a, b) for old, a, b in rows if differs(old, a)]
    return bool(shown) and not any(differs(a, b) for a, b in shown)


def question_for(
    clusters: Sequence[Cluster],
    inputs: Sequence[tuple[Invocation, Tier]],
    shown: Sequence[Cluster] | None = None,
) -> tuple[Question | None, int]:
    """The input that tells `clusters` best apart, with its index; short calls are preferred.

    The question names the outputs of `shown` (None: of `clusters`).
    """
    best: tuple[tuple[int, int, int], int] | None = None
    for index, (call, tier) in enumerate(inputs):
        outputs = [c.outcomes[index] for c in clusters]
        kinds = len({behaviour([o]) for o in outputs})
        if is_staged(call) or kinds < 2 or any(isinstance(o, NotRun) for o in outputs):
            continue
        rank = (-kinds, tier + sum(not isinstance(o, Returned) for o in outputs), len(repr(call)))
        if best is None or rank < best[0]:
            best = (rank, index)
    if best is None:
        return None, -1
    index = best[1]
    return Question(inputs[index][0], tuple(c.outcomes[index] for c in shown or clusters)), index


def vote(clusters: Sequence[Cluster], index: int) -> float:
    """Share of the survivors' weight that agrees with the first cluster on input `index`."""
    top = max(c.score for c in clusters)
    winner = behaviour(clusters[0].outcomes[index : index + 1])
    agree = total = 0.0
    for cluster in clusters:
        mass = math.exp(cluster.score - top)
        total += mass
        if behaviour(cluster.outcomes[index : index + 1]) == winner:
            agree += mass
    return agree / total


def crashing(cluster: Cluster, inputs: Sequence[tuple[Invocation, Tier]]) -> bool:
    """Return whether it crashes on many inputs like the examples'; then it is not a fix."""
    inside = [o for o, (_, tier) in zip(cluster.outcomes, inputs, strict=True) if not tier]
    return sum(not isinstance(o, Returned) for o in inside) > 0.3 * len(inside)


def believable(clusters: Sequence[Cluster], part: float, tests: Sequence[UnitTest]) -> bool:
    """Return whether to believe the first cluster: one example fits many wrong programs.

    `part`: its share (`shares`). How much one example says depends on its output: a truth value is
    met by accident half of the time, a number now and then, a long list hardly ever. Thresholds
    from the development data and other programs like them.
    """
    if len(tests) > 1:
        return True
    first = clusters[0]
    expected = tests[0].expected
    if met_by_accident(tests[0]):
        return part >= 0.9 and first.score >= -3.5
    if isinstance(expected, int | float):
        return part >= 0.45 and first.score >= -1.0 and len(clusters) <= 6
    return part >= 0.45 and first.score >= -6.0


def met_by_accident(test: UnitTest) -> bool:
    """Return whether many wrong programs pass the test, as it expects a bool, None or no output."""
    if isinstance(test.expected, Want):
        return test.expected.raised is None and (test.expected.text or "").strip() in _POOR
    return isinstance(test.call, Call) and (
        test.expected is None or isinstance(test.expected, bool)
    )


_POOR = ("", "True", "False", "None")


def is_silent(test: UnitTest) -> bool:
    """Return whether it only says that nothing is raised, as examples of methods do that prepare
    others: any edit that leaves out what raises passes it."""
    want, call = test.expected, test.call
    if not isinstance(want, Want) or not isinstance(call, DoctestSession):
        return False
    last = (try_parse_statements(call.steps[-1]) or [ast.Pass()])[-1]
    return want.text == "" and want.raised is None and not isinstance(last, ast.Assert)


def shares(clusters: Sequence[Cluster], before: Sequence[Outcome]) -> list[float]:
    """Each cluster's share of the weight of all; of the first, of those that do not go further.

    What does all that the first does and more (see `rivals`) is no reason to doubt the first. Where
    no input showed what the members of the first do, they are not known to do the same, and its
    share is the one of its likeliest member; but for an edit with few variants at its place, which
    is seldom there by accident.
    """
    top = max(cluster.score for cluster in clusters)
    masses = [math.exp(cluster.score - top) for cluster in clusters]
    first = clusters[0]
    against = sum(
        mass
        for other, mass in zip(clusters[1:], masses[1:], strict=True)
        if not (first.kept >= MOSTLY and _goes_further(first, other, before))
    )
    own = 1.0
    shown = any(not (isinstance(one, NotRun) or _unclear(one)) for one in first.outcomes)
    if first.members and not shown and not few_variants(e.kind for e in first.best.edits):
        weights = [math.exp(member.weight) for member in first.members]
        own = weights[0] / sum(weights)
    part = own * masses[0] / (masses[0] + against)
    return [part, *(mass / sum(masses) for mass in masses[1:])]


def differs(a: Outcome, b: Outcome) -> bool:
    """Return whether two outcomes are different and both were observed."""
    if isinstance(a, NotRun) or isinstance(b, NotRun) or (_unclear(a) and _unclear(b)):
        return False
    return behaviour([a]) != behaviour([b])


def _unclear(outcome: Outcome) -> bool:
    """Return whether a value came back that cannot be compared, such as a function."""
    return isinstance(outcome, Returned) and not outcome.complete


def of_fix(cluster: Cluster, share: float) -> float:
    """Probability that a cluster of fixes is right.

    `share`: the cluster's part of the weight of all that pass the examples. How many examples there
    are adds nothing to that: they have done their work by refusing other fixes. But the share says
    nothing of fixes that were not tried. An edit of a kind that has few variants at a place
    (`Rule.few`) passes by accident less often than one of the many names or calls that could stand
    there.
    """
    few = few_variants(edit.kind for edit in cluster.best.edits)
    raw = INTERCEPT + PER_LOGIT * _logit(share) + FEW_VARIANTS * few
    return 1 / (1 + math.exp(-raw))


def of_test(vote: float, tests: int) -> float:
    """Probability that a predicted output is right.

    `vote`: the share of the fixes' weight that predicts it; `tests`: the examples that they pass.
    """
    known = math.log2(min(tests, MOST_TESTS))
    raw = TEST_INTERCEPT + TEST_PER_LOGIT * _logit(vote) + TEST_PER_KNOWN * known
    return 1 / (1 + math.exp(-raw))


MOST_TESTS = 5
"""More examples than this add nothing to the confidence of a predicted test."""
TEST_INTERCEPT = -1.86
TEST_PER_LOGIT = 0.5
TEST_PER_KNOWN = 1.71
"""Fitted on 415 predicted tests of 24 bugs in packages (`dev`), each bug with the same weight, 397
of them right, and on 7 fixes there that one example asked for, 3 right; with Platt's targets, so
that no error among so few is not certainty. The slope of the vote is the one of the share of a fix:
nearly all votes were unanimous. Whether an input is like those of the examples made no difference.
"""

INTERCEPT = 0.10
PER_LOGIT = 0.53
FEW_VARIANTS = 0.79
"""Fitted on the first fixes of he-fix and of 101 bugs in the packages of `dev`: 120 of 148 right.
Fitted without half of the packages, the map gives them the same order: of that half's fixes from
0.78 on 19 of 21 were right. The prior's weight, the number of examples and of
fixes that behave alike, and examples of callers that a fix turned green made no difference."""


def _logit(share: float) -> float:
    bounded = min(0.99, max(0.01, share))
    return math.log(bounded / (1 - bounded))


SHOWN = 3
MOST_DERIVED = 5
CONFIDENT = 0.65
"""Least confidence of an emitted derived test."""


def sound(trial: Trial, clusters: Sequence[Cluster]) -> list[Cluster]:
    """The clusters without those among the first whose program fails a test when run as written.

    Candidates were run with fuel and without the module's own self-tests; this is the real thing.
    """
    kept: list[Cluster] = []
    limits = Limits(cpu=1.0, wall=4.0, stop_after=1)
    for place, cluster in enumerate(clusters):
        if len(kept) >= SHOWN:
            return [*kept, *clusters[place:]]
        program = Program(written(trial, cluster), trial.entry_point)
        outcomes = trial.box.run(program, trial.calls, limits)
        if all(map(matches, outcomes, trial.expected)):
            kept.append(cluster)
    return kept


def written(trial: Trial, cluster: Cluster) -> str:
    """The user's source with the edits of a cluster's likeliest member."""
    return rewrite(trial.code, trial.mutated(cluster.best.edits))


def derived(
    trial: Trial, clusters: Sequence[Cluster], inputs: Sequence[tuple[Invocation, Tier]]
) -> list[FailingTest]:
    """Failing tests that the chosen fix predicts, surest first (`confidence.of_test`), and of these
    the ones with inputs like those of the examples."""
    staged = any(isinstance(call, Scenario) for call, _ in inputs)
    edited = [(), clusters[0].best.edits] if staged else [()]
    rows = trial.behaviours(edited, [call for call, _ in inputs])
    drafts: list[tuple[float, Tier, int, UnitTest]] = []
    for index, (call, tier) in enumerate(inputs):
        got = compared(call, rows[0][index])
        wanted = clusters[0].outcomes[index]
        if (
            isinstance(call, DoctestSession)
            or not isinstance(wanted, Returned)
            or not differs(wanted, got)
        ):
            continue
        confidence = of_test(vote(clusters, index), len(trial.tests))
        if confidence < CONFIDENT:
            continue
        found: UnitTest | None = None
        if isinstance(call, Scenario):
            found = stated(call, rows[-1][index], rows[0][index])
        elif (pair := statable(call, wanted, trial.entry_point)) is not None:
            found = UnitTest(*pair)
        if found is None:
            continue
        test = replace(found, trust=Trust.PREDICTED, source="search", confidence=confidence)
        drafts.append((-confidence, tier, index, test))
    drafts.sort(key=lambda draft: draft[:3])
    return confirmed(trial, [draft[3] for draft in drafts[:MOST_DERIVED]])


def statable(
    call: Invocation, outcome: Returned, entry_point: str
) -> tuple[Invocation, Any] | None:
    """The call and the value that a test can state; an iterator's items; None: it has no literal.

    Raises nothing, whatever the program returned.
    """
    try:
        value = outcome.value
    except MalformedValue:
        return None
    if not isinstance(value, Iterated):
        return (call, value) if crosses(value) else None
    if value.more or not crosses(list(value.items)):
        return None
    return Expression(f"list({call_source(call, entry_point)})"), list(value.items)


def confirmed(trial: Trial, tests: Sequence[UnitTest]) -> list[FailingTest]:
    """Those of `tests` that the code under test really fails, run as it is."""
    program = Program(trial.code, trial.entry_point)
    limits = Limits(cpu=0.3, wall=1.5, stop_after=1)
    outcomes = trial.box.run(program, [test.call for test in tests], limits)
    return [
        FailingTest(test, outcome)
        for test, outcome in zip(tests, outcomes, strict=True)
        if not isinstance(outcome, NotRun) and not matches(outcome, expect_test(test))
    ]


def candidate(trial: Trial, cluster: Cluster, confidence: float | None = None) -> Candidate:
    """The likeliest member of a cluster, written into the user's source."""
    result = cluster.best
    code = written(trial, cluster)
    lines = []
    for place, edit in enumerate(result.edits):
        with applied(result.edits[:place]):
            lines.append(described(edit))
    return Candidate(code, cluster.score, tuple(lines), confidence)


def one_witness(name: str) -> str:
    """Say that a single failing test asks for something that stands nowhere near."""
    return f"only one failing example asks for {name}, which stands nowhere near: give another"


def described(edit: Edit) -> str:
    """One line for people about an edit that is not made yet."""
    change = edit.changes[0]
    old = getattr(change.owner, change.field)
    old = old if change.index is None else old[change.index]
    if isinstance(old, ast.expr) and isinstance(change.new, ast.expr):
        before, after = ast.unparse(stripped(old)), ast.unparse(stripped(change.new))
        if len(before) + len(after) <= 100:
            return f"line {old.lineno}: `{before}` becomes `{after}` ({edit.kind})"
    return f"line {edit.line}: {edit.kind}"
