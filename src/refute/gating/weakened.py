"""Whether a test demands less than it did, by reading both versions.

What running shows is not asked here: a test that is gone, is skipped, or whose old version fails on
the new code.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from refute.gating.checks import Check, checks_of, functions_of, skips_of
from refute.syntax import Function, readable_module

__all__ = ["Weakening", "added_skips", "weakenings"]

_BROAD = ("BaseException", "Exception")
_STRICT = {"==": 3, "is": 3, "in": 2, "<": 2, "<=": 1, ">": 2, ">=": 1, "!=": 1, "is not": 1}


@dataclass(frozen=True, slots=True)
class Weakening:
    """One test that demands less."""

    function: str
    """Qualified name in its file."""
    line: int
    what: str


def weakenings(before: str, after: str) -> Iterator[Weakening]:
    """Tests and helpers of a test file that both versions have and that demand less now."""
    old, new = (functions_of(readable_module(text)) for text in (before, after))
    for name, function in new.items():
        if name in old:
            for line, what in _weaker(old[name], function):
                yield Weakening(name, line, what)


def added_skips(before: str, after: str) -> Iterator[Weakening]:
    """What was added that may keep a test from running or from failing: in tests that were there,
    and expected failures in new ones."""
    trees = [readable_module(text) for text in (before, after)]
    old, new = map(functions_of, trees)
    for name, function in new.items():
        known = Counter(skips_of(old[name])) if name in old else Counter()
        for skip in skips_of(function):
            known[skip] -= 1
            if known[skip] < 0 and (name in old or "xfail" in skip or "expectedFailure" in skip):
                yield Weakening(name, function.lineno, skip)
    marks = [_marks(tree.body) for tree in trees]
    for mark in marks[1] - marks[0]:
        yield Weakening("(the whole file)", 1, mark)


def _marks(body: Sequence[ast.stmt]) -> Counter[str]:
    found: Counter[str] = Counter()
    for node in body:
        if isinstance(node, ast.ClassDef):
            found.update(ast.unparse(d) for d in node.decorator_list if _skips(ast.unparse(d)))
            found.update(_marks(node.body))
        elif isinstance(node, ast.Assign | ast.Expr):
            text = ast.unparse(node)
            marks = text.startswith(
                ("pytestmark", "__test__", "pytest.skip", "pytest.importorskip")
            )
            found.update([text] if marks else [])
    return found


def _skips(text: str) -> bool:
    return any(word in text for word in ("skip", "xfail", "expectedFailure"))


def _weaker(old: Function, new: Function) -> Iterator[tuple[int, str]]:
    was, now = checks_of(old), checks_of(new)
    gone, come = _without_common(was, now), _without_common(now, was)
    pairs, lost = _paired(gone, come)
    for before, after in pairs:
        told = _loosened(before, after)
        if told:
            yield after.line, f"{told}: `{before.text}` became `{after.text}`"
    for check in lost:
        yield new.lineno, f"an assertion is gone: `{check.text}`"


def _key(check: Check) -> tuple[str, tuple[str, ...]]:
    return check.text, check.guards


def _without_common(these: Sequence[Check], others: Sequence[Check]) -> list[Check]:
    common = Counter(map(_key, others))
    kept = []
    for check in these:
        common[_key(check)] -= 1
        if common[_key(check)] < 0:
            kept.append(check)
    return kept


def _paired(
    gone: Sequence[Check], come: Sequence[Check]
) -> tuple[list[tuple[Check, Check]], list[Check]]:
    """Which new assertion stands in the place of each old one, and those without any: first of the
    same thing, then of the same kind, then the next that is left."""
    left = list(come)
    pairs: list[tuple[Check, Check]] = []
    lost = list(gone)
    for alike in (_same_thing, _same_kind, lambda one, other: True):
        for check in list(lost):
            match = next((other for other in left if alike(check, other)), None)
            if match is not None:
                pairs.append((check, match))
                left.remove(match)
                lost.remove(check)
    return pairs, lost


def _same_thing(one: Check, other: Check) -> bool:
    return one.actual == other.actual or one.text == other.text


def _same_kind(one: Check, other: Check) -> bool:
    return one.kind == other.kind and one.operator == other.operator


def _loosened(old: Check, new: Check) -> str:
    """In what way the new assertion demands less; "" where it does not, as far as is seen.

    Another expected value alone is no loosening: whether it is right, running must show.
    """
    added = [guard for guard in new.guards if guard not in old.guards]
    if added:
        return f"an assertion stands behind `{added[0]}`"
    if old.kind == "raises":
        return _broadened(old, new)
    if new.kind == "truth" and old.kind in ("equal", "compare"):
        return "a comparison became a look at truth alone"
    if new.kind == "raises":
        return ""
    if old.kind in ("equal", "compare") and new.kind in ("equal", "compare"):
        if _STRICT.get(new.operator, 2) < _STRICT.get(old.operator, 2):
            return f"`{old.operator}` became `{new.operator}`"
        if old.kind == "equal" and new.operator in ("in", "<", ">"):
            return f"`{old.operator}` became `{new.operator}`"
        return _widened(old, new) or _partial(old, new)
    return ""


def _broadened(old: Check, new: Check) -> str:
    if new.kind != "raises":
        return "an expected exception is expected no more"
    was, now = (_exceptions(one.expected) for one in (old, new))
    if was < now or (now & set(_BROAD) and not was & set(_BROAD)):
        return "a broader exception is expected"
    if old.match and not new.match:
        return "the exception's message is looked at no more"
    return ""


def _exceptions(text: str) -> set[str]:
    return {one.strip().rpartition(".")[2] for one in text.strip("()").split(",") if one.strip()}


def _widened(old: Check, new: Check) -> str:
    if new.tolerances and not old.tolerances:
        return "an exact comparison became one with a tolerance"
    was = dict(old.tolerances)
    for name, value in new.tolerances:
        if value > was.get(name, value) or (was and name not in was and value > max(was.values())):
            return f"the tolerance is wider ({name})"
    return ""


def _partial(old: Check, new: Check) -> str:
    """`x == y` to `len(x) == 3` or `type(x) == int`: a part of what was compared."""
    if old.actual == new.actual or old.actual not in new.actual:
        return ""
    for head in ("len", "type", "bool", "int", "round", "set", "str"):
        if new.actual.startswith(f"{head}(") and not old.actual.startswith(f"{head}("):
            return f"only `{new.actual}` is compared of `{old.actual}`"
    return ""
