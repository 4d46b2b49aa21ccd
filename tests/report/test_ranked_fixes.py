"""What is shown of fixes that calls in the project's own tests tell apart."""

from __future__ import annotations

import io

from rich.console import Console

from refute.issue.observed_calls import ObservedCall
from refute.results import as_dict
from refute.results.issues import ranked_document
from refute.results.text.issues import print_ranked
from refute.verbs.vet import Pair, RankedFixes


def test_a_call_of_a_test_is_shown_with_both_ends() -> None:
    call = ObservedCall("t.py::test_a", "Cart.total", "self=Cart(1)", "3", "raises KeyError()")
    test = ObservedCall("t.py::test_b", "", "", "passed", "fails")
    ranked = RankedFixes((), (), ("a.diff", "b.diff"), (Pair(0, 1, observed=(call, test)),))
    out = io.StringIO()
    print_ranked(ranked, Console(file=out, width=100))
    assert out.getvalue().splitlines() == [
        "a.diff and b.diff differ in t.py::test_a",
        "  Cart.total(self=Cart(1))",
        "  a.diff: 3",
        "  b.diff: raises KeyError()",
    ]
    [pair] = as_dict(ranked_document(ranked))["pairs"]
    assert pair["observed"][1] == {
        "test": "t.py::test_b", "function": "", "given": "", "before": "passed", "after": "fails",
    }  # fmt: skip
