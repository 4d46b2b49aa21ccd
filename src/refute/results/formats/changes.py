"""Results of `diff`, `gate`, `vet`, `reproduce` and `fix` as cases of a report."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from refute.diffing.comparison import Difference, observed_source
from refute.diffing.service import Compared, Diffed
from refute.results.formats import Case, Problem, Report, merged, short

if TYPE_CHECKING:
    from refute.gating.judging import Judged
    from refute.gating.running import Finding
    from refute.issue.observed_calls import ObservedCall
    from refute.verbs.fix import FixResult
    from refute.verbs.issues import ReproduceResult, VetResult
    from refute.verbs.vet import RankedFixes
    from refute.workspace.contract import TestResult


def case_of_change(one: Compared) -> Case:
    """Return the case of one changed function."""
    comparison, place = one.comparison, one.function.after
    where = place.file, place.line, place.qualname
    problems = [_difference(one, difference) for difference in comparison.differences]
    problems += [_in_test(one, call) for call in comparison.in_tests]
    if comparison.broken:
        problems.append(_broken(one))
    reason = comparison.reason
    if comparison.within:
        reason = f"see {', '.join(comparison.within[:3])}, which changed too"
    return Case(*where, comparison.verdict, merged(problems), "" if problems else reason)


def _difference(one: Compared, difference: Difference) -> Problem:
    before = observed_source(difference.before, difference.kind)
    after = observed_source(difference.after, difference.kind)
    detail = "|".join((difference.kind, difference.before.error, difference.after.error))
    return _changed(one, difference.scenario.source, before, after, detail)


def _in_test(one: Compared, call: ObservedCall) -> Problem:
    return _changed(one, f"{call.test}: {call.source}", call.before, call.after, "in tests")


def _changed(one: Compared, source: str, before: str, after: str, detail: str) -> Problem:
    rule = "behaviour-changed" if one.unexplained else "behaviour-changed-as-stated"
    place = one.function.after
    said = one.intent or ("not mentioned" if one.stated is None else f"see {one.stated.where}")
    message = f"{short(source)}: before: {short(before)}, now: {short(after)} ({said})"
    return Problem(rule, place.file, place.line, place.qualname, message, detail)


def without_known(known: Collection[str], one: Compared) -> Compared | None:
    """Drop the known differences of a function; None where no other is left."""
    comparison = one.comparison
    if comparison.verdict != "differs":
        return one
    new = tuple(d for d in comparison.differences if _difference(one, d).fingerprint not in known)
    calls = tuple(c for c in comparison.in_tests if _in_test(one, c).fingerprint not in known)
    broken = comparison.broken if _broken(one).fingerprint not in known else ""
    if not new and not calls and not broken:
        return None
    left = replace(comparison, differences=new, in_tests=calls, broken=broken)
    return replace(one, comparison=left)


def _broken(one: Compared) -> Problem:
    place = one.function.after
    return Problem("does-not-load", place.file, place.line, place.qualname, one.comparison.broken)


def cases_of_changes(changes: Diffed | str | None) -> list[Case]:
    """The functions that a fix makes behave otherwise."""
    if not isinstance(changes, Diffed):
        return []
    return [case_of_change(one) for one in changes.functions]


def report_of_gate(judged: Judged) -> Report:
    """Return the findings against a change, its tests, and what else it changes."""
    cases = [_broken_rule(one) for one in judged.findings]
    cases += [Case(one.file, 1, one.id, one.turn) for one in judged.tests]
    summary = f"{judged.verdict}: {judged.reason}"
    return Report("gate", (*cases, *cases_of_changes(judged.behaviour)), (), summary)


def _broken_rule(one: Finding) -> Case:
    file, _, line = one.where.partition("::")[0].rpartition(":")
    where = (file, int(line)) if line.isdigit() else (one.where.partition("::")[0], 1)
    detail = f"{one.rule}|{one.what}"
    problem = Problem("not-proven", *where, one.where, f"{one.rule}: {one.what}", detail)
    return Case(*where, one.where, "not proven", (problem,))


def cases_of_vetted(result: VetResult) -> list[Case]:
    """The tests that speak for and against a fix, then what else it changes."""
    vetted = result.vetted
    still = {one.id for one in vetted.still_failing}
    turned = [one for one in vetted.reproducing if one.id not in still]
    cases = [
        *_tests(turned, "fixed", None),
        *_tests(vetted.still_failing, "fails with the fix", "issue-not-fixed"),
        *_tests(vetted.broken, "broken by the fix", "test-broken"),
    ]
    if vetted.verdict != "fixed" and not any(case.failed for case in cases):
        problem = Problem("not-shown", "", 1, "", f"{vetted.verdict}: {vetted.reason}")
        cases.append(Case("", 1, "", vetted.verdict, (problem,)))
    return [*cases, *cases_of_changes(result.changes)]


def cases_of_ranking(ranked: RankedFixes) -> list[Case]:
    """The fixes, the best first."""
    cases = []
    for place, result in zip(ranked.places, ranked.results, strict=True):
        name, verdict = ranked.fixes[place], result.verdict
        message = f"{name}: {verdict}: {result.vetted.reason}"
        problems = () if verdict == "fixed" else (Problem("not-shown", "", 1, name, message),)
        cases.append(Case("", 1, name, verdict, problems))
    return cases


def cases_of_reproduction(result: ReproduceResult) -> list[Case]:
    """The tests that fail now."""
    return _tests(result.failing, "fails now", "issue-reproduced")


def cases_of_fix(result: FixResult) -> list[Case]:
    """The tests that the fix turns green, then what else it changes."""
    cases = [Case(id.partition("::")[0], 1, id, result.state) for id in result.claim.failing]
    if result.state != "fixed":
        reasons = "; ".join(result.claim.reasons)
        problem = Problem("not-shown", "", 1, "", f"{result.state}: {reasons}")
        cases.append(Case("", 1, "", result.state, (problem,)))
    return [*cases, *cases_of_changes(result.changes)]


def _tests(results: Sequence[TestResult], state: str, rule: str | None) -> list[Case]:
    return [_test(result, state, rule) for result in results]


def _test(result: TestResult, state: str, rule: str | None) -> Case:
    file = result.file or result.id.partition("::")[0]
    where = file, 1, result.id
    problems: Iterable[Problem] = ()
    if rule is not None:
        failure = result.failure
        text = f"{failure.type}: {failure.message}" if failure else result.outcome
        problems = (Problem(rule, *where, f"{result.id}: {short(text)}"),)
    return Case(*where, state, tuple(problems))
