"""Findings without an oracle: what is reported, and above all what is not."""

from __future__ import annotations

from refute.core.problems import Call, FunctionProblem
from refute.function.contract import Finding
from refute.function.search.engine import find_crashes
from refute.sandbox import Outcome, Raised, Returned
from refute.sandbox.values import encode


def run(code: str, *cases: tuple[tuple[object, ...], Outcome], words: str = "") -> list[Finding]:
    problem = FunctionProblem("p", words, "", "f", code)
    return find_crashes(problem, [Call(args) for args, _ in cases], [out for _, out in cases])


def value(one: object) -> Returned:
    return Returned(encode(one))


def test_a_name_that_nothing_binds_is_a_bug_on_any_input() -> None:
    out = Raised("NameError", "name 'lenght' is not defined", 2)
    code = "def f(xs):\n    return lenght"
    (finding,) = run(code, ((None,), out))
    assert finding.kind == "crash"
    assert run("from x import *\n" + code, ((None,), out)) == []
    optional = "try:\n    import lenght\nexcept ImportError:\n    pass\n" + code
    assert run(optional, ((None,), out)) == [], "it is there where that is installed"


def test_a_program_that_does_not_load() -> None:
    out = Raised("SyntaxError", "invalid syntax", 1, on_import=True)
    (finding,) = run("def f(xs:", ((1,), out))
    assert "when it is loaded" in finding.reason
    missing = Raised("ModuleNotFoundError", "No module named 'x'", 1, on_import=True)
    assert run("import x\ndef f(): ...", ((), missing)) == []


def test_examples_that_contradict_each_other() -> None:
    findings = run("def f(n): ...", ((1,), value(3)), words=">>> f(1)\n3\n>>> f(1)\n4\n")
    assert {f.kind for f in findings} == {"contradiction"}
    assert "contradicted by description line" in findings[0].reason
