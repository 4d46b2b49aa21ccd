"""Make the prediction of what was tried: the best draft, without the tests that do not serve
and with what other drafts show besides, put together without a question.

A test of another draft is taken over only where it fails now and each believed fix turns it green,
as the best draft's own do, and where its draft executes lines of the best fix that the best draft
does not: what shows nothing new is one more way to demand too much.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import replace

from refute.core.problems import IssuePrediction
from refute.errors import PatchRejected
from refute.issue.drafting.bounded_asker import OutOfBounds
from refute.issue.drafting.original import Original
from refute.issue.edits.definitions import Definition, EditedModule
from refute.issue.edits.imports import add_imports
from refute.issue.edits.tree import EditProblem, Files
from refute.issue.redgreen.ranking import (
    NO_USE,
    TRUST,
    Draft,
    Ranked,
    confidence,
    defined_as,
    fix_scores,
    ranking,
)
from refute.issue.redgreen.testbed import CandidateFix, TestBed
from refute.source.syntax import first_line
from refute.workspace.contract import TestResult
from refute.workspace.patches import test_files
from refute.workspace.running import applied


def conclude(
    problem: str, bed: TestBed, drafts: Sequence[Draft], fixes: Sequence[CandidateFix]
) -> IssuePrediction:
    """The prediction for the problem of that id. Blocks while the final patch is run.

    `fixes`: one for each behaviour. Where no draft fails in its own body it abstains; where no time
    is left to merge and to prune, the draft stays as it was tried.
    """
    order = ranking(drafts, fixes)
    best = next(iter(order), None)
    if best is None or best.tier >= NO_USE:
        reason = "no draft fails on the original code in its own body"
        return IssuePrediction(problem, "", 0.0, notes=(reason,))
    with suppress(OutOfBounds):
        order = _most_telling_first(order, bed, fixes)
    chosen = best = order[0]
    final = best.draft
    with suppress(OutOfBounds):
        chosen = _with_others(order, bed, drafts, fixes)
        final = _pruned(chosen, bed, drafts, fixes)
    return IssuePrediction(
        problem,
        final.trial.patch,
        confidence=round(confidence(best, drafts, fixes), 3),
        tests=tuple(id for id in final.red if id in chosen.kept) or final.red,
        notes=_evidence(best, chosen, final, drafts, fixes),
    )


def _most_telling_first(
    order: Sequence[Ranked], bed: TestBed, fixes: Sequence[CandidateFix]
) -> list[Ranked]:
    """The ranking, in which drafts that are as much believed as the best are put in the order of
    the mutants that they kill, of the fix that is believed most: more tests may ask for less."""
    tied = [one for one in order if one.key[:TRUST] == order[0].key[:TRUST]]
    scores = fix_scores([one.draft for one in order], fixes)
    if order[0].tier or len(tied) < 2 or not scores:
        return list(order)
    first = max(fixes, key=lambda one: (scores.get(one.number, 0.0), -one.number))
    kills = dict.fromkeys((one.draft.number for one in tied), 0)
    for mutant in bed.mutants(first):
        for one in tied:
            row = bed.cross(one.draft.trial, mutant)
            kills[one.draft.number] += any(row.get(id) == "fail" for id in one.kept)
    tied.sort(key=lambda one: -kills[one.draft.number])
    return [*tied, *(one for one in order if one not in tied)]


def _with_others(
    order: Sequence[Ranked], bed: TestBed, drafts: Sequence[Draft], fixes: Sequence[CandidateFix]
) -> Ranked:
    """The best draft, with what others show besides where each fix says of it the same."""
    best = order[0]
    scores = fix_scores(drafts, fixes)
    if best.tier or not scores:
        return best
    first = max(fixes, key=lambda one: (scores.get(one.number, 0.0), -one.number))
    more = merged(order, first, bed)
    if more is None:
        return best
    rows = {fix.number: bed.cross(more.trial, fix) for fix in fixes if fix.number in scores}
    one = next(
        one for one in ranking([*drafts, replace(more, rows=rows)], fixes) if one.draft.rows is rows
    )
    return one if one.tier == 0 and set(best.kept) <= set(one.kept) else best


def _pruned(
    best: Ranked, bed: TestBed, drafts: Sequence[Draft], fixes: Sequence[CandidateFix]
) -> Draft:
    """The draft without tests that do not serve; as it is where that loses a kept one.

    Tests that pass now stay where they execute lines of the best fix that no other test does.
    """
    draft = best.draft
    kept = {defined_as(id) for id in best.kept}
    others = [result for result in bed.added(draft.trial) if defined_as(result.id) not in kept]
    bad = [result for result in others if result.id in best.dropped]
    idle = [r for r in others if r.id not in best.dropped and r.id not in draft.red]
    useful = _without(draft, bad, best, bed)
    if not idle:
        return useful
    bare = _without(draft, [*bad, *idle], best, bed)
    scores = fix_scores(drafts, fixes)
    if bare is draft or not scores:
        return useful if bare is draft else bare
    fix = max(fixes, key=lambda one: (scores.get(one.number, 0.0), -one.number))
    more = bed.executed(useful.trial, fix) - bed.executed(bare.trial, fix)
    return useful if more else bare


def _without(draft: Draft, drop: Sequence[TestResult], best: Ranked, bed: TestBed) -> Draft:
    """The draft without some tests, run on the original code; itself where that fails less."""
    patch = without_tests(draft.trial.patch, drop, bed.original) if drop else ""
    if not patch.strip() or patch == draft.trial.patch:
        return draft
    again = replace(draft, trial=bed.try_tests(patch))
    return again if set(best.kept) <= set(again.red) else draft


def _evidence(
    best: Ranked,
    chosen: Ranked,
    final: Draft,
    drafts: Sequence[Draft],
    fixes: Sequence[CandidateFix],
) -> tuple[str, ...]:
    """Remarks for people: why the prediction is what it is."""
    scores = fix_scores(drafts, fixes)
    green = sum(set(chosen.kept) <= chosen.draft.green(number) for number in scores)
    usable = sum(not fix.rejected for fix in fixes)
    reason = "to fail for the issue's reason"
    judge = {True: f"judged {reason}", None: "not judged", False: f"judged not {reason}"}
    notes = [
        f"fail on the original code: {len(final.red)}; {judge[best.draft.accepted]}",
        f"{green} of {usable} candidate fixes that behave differently turn them green",
    ]
    if chosen is not best:
        notes.append("tests of other drafts, which show more, are taken over")
    if chosen.dropped:
        notes.append(
            f"left out, as a likely fix does not turn them green or the judge refuses them: "
            f"{len(chosen.dropped)}"
        )
    return tuple(notes)


def merged(order: Sequence[Ranked], fix: CandidateFix, bed: TestBed) -> Draft | None:
    """The best of a ranking with tests of the others; None: they show nothing besides.

    `fix`: the one that is believed most. Blocks while tests are run.
    """
    best, *others = order
    shown = bed.executed(best.draft.trial, fix)
    draft = best.draft
    for other in others:
        if other.tier != best.tier or other.draft.accepted is False:
            continue
        more = bed.executed(other.draft.trial, fix) - shown
        patch = _together(draft, other, bed) if more else ""
        if not patch or patch == draft.trial.patch:
            continue
        again = replace(draft, trial=bed.try_tests(patch), route="merged", rows={})
        if set(draft.red) < set(again.red):
            draft = again
            shown |= more
    return None if draft is best.draft else draft


def _together(draft: Draft, other: Ranked, bed: TestBed) -> str:
    """A patch that holds the draft and the kept tests of another; "" where that cannot be."""
    workspace, source = bed.workspace, bed.original.source
    names: dict[str, set[str]] = {}
    for result in other.draft.trial.asserted:
        if result.id in other.kept:
            names.setdefault(result.file, set()).add(defined_as(result.id))
    try:
        with applied(workspace, other.draft.trial.patch):
            theirs = {path: source(path) or "" for path in test_files(other.draft.trial.patch)}
        before = {path: source(path) or "" for path in theirs}
        with applied(workspace, draft.trial.patch):
            for path, text in theirs.items():
                ours = source(path)
                wanted = names.get(path, set())
                whole = (
                    text
                    if ours is None
                    else with_tests_of(ours, text, before[path], wanted, source)
                )
                workspace.write(path, whole.encode())
            return workspace.diff()
    except (PatchRejected, EditProblem):
        return ""


def with_tests_of(
    ours: str, theirs: str, before: str, names: Collection[str], files: Files = lambda path: None
) -> str:
    """The text of a test file with tests of another version of it, and with what that version
    imports and defines besides tests. Tests whose names are taken are left out.

    `names`: `function` or `Class.method`. `files` reads the project's. Raises `EditProblem`.
    """
    module, other, old = EditedModule(ours, files), EditedModule(theirs), EditedModule(before)
    imports = {ast.dump(node) for node in old.tree.body if isinstance(node, _IMPORTS)}
    new = [n for n in other.tree.body if isinstance(n, _IMPORTS) and ast.dump(n) not in imports]
    if new:
        add_imports(module, "\n".join(ast.unparse(node) for node in new))
    for node in other.tree.body:
        names_of = [node.name] if isinstance(node, Definition) else _assigned(node)
        is_test = any(name.split(".")[0] in names_of for name in names)
        is_helper = names_of and not names_of[0].lower().startswith("test")
        taken = {*_top_names(module), *_top_names(old)}
        if names_of and taken.isdisjoint(names_of) and (is_test or is_helper):
            module.insert(_source(other, node), len(module.lines))
    for name in sorted(names):
        owner = name.rpartition(".")[0]
        found, place = other.named(name, None), module.named(owner, None) if owner else None
        if found is None or module.named(name, None) is not None or old.named(name, None):
            continue
        if isinstance(place, ast.ClassDef):
            module.insert_method(place, _source(other, found), None)
    return module.text


_IMPORTS = ast.Import | ast.ImportFrom


def _assigned(node: ast.stmt) -> list[str]:
    targets = node.targets if isinstance(node, ast.Assign) else []
    return [target.id for target in targets if isinstance(target, ast.Name)]


def _top_names(module: EditedModule) -> set[str]:
    body = module.tree.body
    named = {node.name for node in body if isinstance(node, Definition)}
    return named.union(*(_assigned(node) for node in body))


def _source(module: EditedModule, node: ast.stmt) -> str:
    """A statement with its decorators, at no indentation."""
    from refute.issue.edits.definitions import reindented

    return reindented(source_in(module, node), "")


def without_tests(patch: str, drop: Sequence[TestResult], original: Original) -> str:
    """The patch without the tests `drop`: new ones are gone, changed ones are as they were.

    A test that cannot be taken out stays. The workspace is clean before and afterwards.
    """
    names: dict[str, set[str]] = {}
    for result in drop:
        names.setdefault(result.file, set()).add(defined_as(result.id))
    workspace = original.workspace
    before = {path: original.source(path) for path in test_files(patch)}
    try:
        with applied(workspace, patch):
            for path, old in before.items():
                text = original.source(path)
                if text is not None and names.get(path):
                    workspace.write(path, _text_without(text, old, names[path]).encode())
            return workspace.diff()
    except PatchRejected:
        return patch


def _text_without(text: str, old: str | None, names: Collection[str]) -> str:
    try:
        module = EditedModule(text)
        base = EditedModule(old) if old and old.strip() else None
    except EditProblem:
        return text
    for name in sorted(names):
        node = module.named(name, None)
        if node is None:
            continue
        was = None if base is None else base.named(name, None)
        try:
            if base is None or was is None:
                module.remove(node)
            else:
                module.replace(node, source_in(base, was), True)
        except EditProblem:
            continue  # it shares a line with another statement, or the file depends on it
    return module.text


def source_in(module: EditedModule, node: ast.stmt) -> str:
    """A statement with its decorators."""
    start = first_line(node)
    lines = module.lines[start - 1 : node.end_lineno]
    return "\n".join(line.rstrip("\r\n") for line in lines)
