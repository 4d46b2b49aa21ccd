"""Blind by type (docs/architecture.md, rule 1): no function takes both an answer key and a
method or a model, and no module of methods knows what an answer key is."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import get_type_hints

import refute
from refute.core.methods import Bounds, Context, Given, Method, MethodSpec
from refute.core.problems import (
    FunctionKey,
    FunctionPrediction,
    FunctionProblem,
    IssueKey,
    IssuePrediction,
    IssueProblem,
)
from refute.core.registry import METHODS
from refute.workspace.contract import Recipe

ROOT = Path(refute.__file__).parents[1]
KEYS = re.compile(r"\b(FunctionKey|IssueKey|GroundTruth|Item|IssueItem)\b")
DOERS = re.compile(r"\b(Method|Model|Asker|TestGenerator|Debugger|MethodSpec|Context)\b")
GRADERS = {
    *(f"refute_lab/benches/{name}.py" for name in ("grade", "oracle")),
    "refute_lab/verbs/data_faults.py",
    *(
        f"refute_lab/swt/{name}.py"
        for name in (
            *("grade", "tasks", "reference", "grade_records", "filtering"),
            *("repair", "measures", "study"),
        )
    ),
}
BENCH = {
    *(f"refute_lab/benches/{name}.py" for name in ("records", "work", "summary")),
    "refute_lab/benches/issues.py",
}
"""Hands the problem to a method, then the prediction to a grader; no one function takes both."""
BUILDERS = {
    *(f"refute_lab/swt/{name}.py" for name in ("build", "pull_requests", "predictions")),
    "refute_lab/verbs/data_issues.py",
}
"""Make or read the files of benchmarks; a method uses none of them."""
OF_METHODS = ("refute/function/", "refute/issue/", "refute_lab/baselines/")


def modules() -> Iterator[tuple[str, ast.Module]]:
    for path in sorted((*ROOT.glob("refute/**/*.py"), *ROOT.glob("refute_lab/**/*.py"))):
        yield str(path.relative_to(ROOT)), ast.parse(path.read_text())


def signatures(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Name and parameter annotations of each function, and fields of each class."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name, ast.unparse(node.args)
        elif isinstance(node, ast.ClassDef):
            fields = [n for n in node.body if isinstance(n, ast.AnnAssign)]
            yield node.name, "; ".join(ast.unparse(n.annotation) for n in fields)


def imported(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def test_no_function_takes_a_key_and_a_method() -> None:
    seen = 0
    for module, tree in modules():
        for name, parameters in signatures(tree):
            takes_key = KEYS.search(parameters) is not None
            seen += takes_key
            assert not (takes_key and DOERS.search(parameters)), f"{module}: {name}"
    assert seen >= 5, "the search itself must find the graders"


def is_of(name: str, modules: set[str]) -> bool:
    """Whether an imported name is one of the modules, or comes from one."""
    dotted = [module.removesuffix(".py").replace("/", ".") for module in modules]
    return any(f"{name}.".startswith(f"{module}.") for module in dotted)


def test_methods_do_not_know_keys() -> None:
    for module, tree in modules():
        if not module.startswith(OF_METHODS):
            continue
        for name in imported(tree):
            assert not KEYS.search(name), f"{module} imports {name}"
            assert not name.startswith("refute_lab.datasets"), f"{module} imports {name}"
            assert not is_of(name, GRADERS | BUILDERS), f"{module} imports {name}"


def test_graders_do_not_know_methods() -> None:
    for module, tree in modules():
        if module in GRADERS:
            for name in imported(tree):
                assert not DOERS.search(name), f"{module} imports {name}"
                assert not name.startswith(("refute.function.search", "refute.models")), module


def test_a_method_is_given_a_problem_only() -> None:
    expected = {"problem", "ctx", "options"}
    for call in (Method.__call__, MethodSpec.__call__):
        assert set(inspect.signature(call).parameters) == {"self", *expected}
    problems = {"function": FunctionProblem, "issue": IssueProblem}
    for spec in METHODS.all():
        hints = get_type_hints(spec.run)
        assert set(inspect.signature(spec.run).parameters) == expected, spec.name
        assert hints["problem"] is problems[spec.level]
        assert hints["ctx"] is Context
        for kind in (spec.options, Context, Bounds, Given):
            assert not any(KEYS.search(str(f.type)) for f in fields(kind)), spec.name
    for kind in (FunctionProblem, FunctionPrediction, IssueProblem, IssuePrediction):
        assert not any(KEYS.search(str(f.type)) for f in kind.__dataclass_fields__.values())
    assert "reference" in FunctionKey.__dataclass_fields__
    hidden = set(IssueKey.__dataclass_fields__) - {"id"}
    assert hidden >= {"patch", "test_patch", "fail_to_pass", "pass_to_pass"}
    assert not set(IssueProblem.__dataclass_fields__) & hidden
    assert not set(Recipe.__dataclass_fields__) & hidden
    assert not set(FunctionProblem.__dataclass_fields__) & {"reference", "inputs", "expected"}
