"""The best draft with what other drafts show besides, put together without a question.

A test of another draft is taken over only where it fails now and each believed fix turns it green,
as the best draft's own do, and where its draft executes lines of the best fix that the best draft
does not: what shows nothing new is one more way to demand too much.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Sequence
from dataclasses import replace

from refute.errors import PatchRejected
from refute.issue.edits.code import Definition
from refute.issue.edits.definitions import EditedModule
from refute.issue.edits.imports import add_imports
from refute.issue.edits.tree import EditProblem, Files
from refute.issue.redgreen.pruning import defined_as
from refute.issue.redgreen.ranking import Draft, Ranked
from refute.issue.redgreen.testbed import CandidateFix, TestBed
from refute.source.syntax import first_line
from refute.workspace.patches import test_files
from refute.workspace.running import applied


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
    start = first_line(node)
    lines = module.lines[start - 1 : node.end_lineno]
    from refute.issue.edits.indent import reindented

    return reindented("".join(lines).rstrip("\r\n").replace("\r\n", "\n"), "")
