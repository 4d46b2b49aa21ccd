"""The doctest examples of a module that concern one function, as `doctest` itself reads them.

A `DoctestScript` is what `doctest` runs in one namespace: the examples of the function's docstring,
of its class's and its class's `__init__`, of its module's docstring, of a text in ``__test__``.
Nothing is executed here.
"""

from __future__ import annotations

import ast
import builtins
import doctest
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache

from refute.core.problems import Want
from refute.function.examples.subject import CalledAs, called_as
from refute.source.syntax import (
    Function,
    bound_names,
    find_class,
    find_function,
    functions_in,
    try_parse,
    try_parse_statements,
)


@dataclass(frozen=True, slots=True)
class DoctestStep:
    """One example: what it runs, what it must show, and the names that it reads and binds."""

    source: str
    want: Want
    line: int
    """In the module."""
    direct: bool
    """True: it names the function."""
    depends: bool
    """True: it names the function, or shows what came of an example that does."""
    reads: frozenset[str] = frozenset()
    binds: frozenset[str] = frozenset()
    imports: frozenset[str] = frozenset()
    acts: bool = True
    """True: it may change what it reads: it is more than a definition or an import."""


@dataclass(frozen=True, slots=True)
class DoctestScript:
    """Examples that run in one namespace, in order; those marked SKIP are left out."""

    own: bool
    """True: it is the function's own docstring, or its description."""
    steps: tuple[DoctestStep, ...]
    put_in: int = 0
    """Steps at the start that import what the examples forgot to."""
    skipped: int = 0
    caller: str = ""
    """Another function, which calls the function, if the docstring belongs to it."""
    place: str = "doctest"

    def source(self, step: DoctestStep) -> str:
        """The origin of a test, for people."""
        of = f" of {self.caller}," if self.caller else ""
        return f"{self.place}{of} line {step.line}"


@lru_cache(maxsize=4096)  # of all functions of a module first, then of each
def scripts(code: str, entry_point: str) -> tuple[DoctestScript, ...]:
    """The scripts whose examples call the function, its own docstring first.

    A text that `doctest` cannot parse holds none. Never raises.
    """
    tree = try_parse(code)
    if tree is None:
        return ()
    about = called_as(entry_point)
    known = _bound(code)
    owner = entry_point.rpartition(".")[0]
    methods = (name.rpartition(".") for name in functions_in(tree) if owner)
    others = frozenset(name for of, _, name in methods if of == owner) - {about.attribute}
    texts = _texts(tree, entry_point)
    found = (_script(text, about, known, own=own, others=others) for text, own in texts)
    return tuple(script for script in found if script is not None)


def described(description: str, code: str, entry_point: str) -> tuple[DoctestScript, ...]:
    """The script of a description's examples; none that `doctest` cannot parse. Never raises."""
    script = _script(_Text(description, 1), called_as(entry_point), _bound(code), own=True)
    return () if script is None else (replace(script, place="description"),)


@lru_cache(maxsize=8)
def _bound(code: str) -> frozenset[str]:
    tree = try_parse(code)
    return frozenset() if tree is None else bound_names(tree)


def callers_scripts(code: str, entry_point: str) -> Iterator[DoctestScript]:
    """The docstrings of the other functions of the module that come to call the function, directly
    or through one another, nearest first: their examples hang on it, too. Never raises.

    By names alone: it may give one that does not call it.
    """
    tree = try_parse(code)
    if tree is None:
        return
    known = bound_names(tree)
    functions = functions_in(tree)
    reached = {entry_point.rpartition(".")[2]}
    functions.pop(entry_point, None)
    while callers := [
        name for name, node in functions.items() if not reached.isdisjoint(_called(node))
    ]:
        for name in callers:
            node = functions.pop(name)
            for text in _docstring(node):
                script = _script(text, called_as(name), known, own=False)
                if script is not None:
                    yield replace(script, caller=name)
            reached.add(node.name)


def _called(node: ast.AST) -> Iterator[str]:
    for one in ast.walk(node):
        match one:
            case ast.Name(id=name):
                yield name
            case ast.Attribute(value=ast.Name(id="self" | "cls"), attr=name):
                yield name


def _script(
    text: _Text,
    about: CalledAs,
    known: frozenset[str],
    *,
    own: bool,
    others: frozenset[str] = frozenset(),
) -> DoctestScript | None:
    """The examples of a text that name the function; None where none does, or `doctest` cannot
    parse it (inconsistent blanks, an unknown directive). `others`: methods of the same class."""
    try:
        examples = doctest.DocTestParser().get_examples(text.value)
    except ValueError:
        return None
    run = [one for one in examples if not one.options.get(doctest.SKIP)]
    missing = _unbound_modules(run, about, known)
    imports = [doctest.Example(f"import {one}", "") for one in missing]
    steps = tuple(steps_of([*imports, *run], about, text.lineno, own=own, others=others))
    if not any(step.depends for step in steps):
        return None
    skipped = len(examples) - len(run)
    return DoctestScript(own, steps, len(missing), skipped)


@lru_cache(maxsize=4)
def imported_packages(code: str) -> frozenset[str]:
    """The top names of what a module imports, anywhere in it."""
    found: set[str] = set()
    tree = try_parse(code)
    for node in ast.walk(tree) if tree is not None else ():
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.add(node.module.partition(".")[0])
    return frozenset(found)


@dataclass(frozen=True, slots=True)
class _Text:
    value: str
    lineno: int


def _texts(tree: ast.Module, entry_point: str) -> Iterator[tuple[_Text, bool]]:
    function = find_function(tree, entry_point)
    if function is not None:
        yield from ((text, True) for text in _docstring(function))
    owner = entry_point.rpartition(".")[0]
    cls = find_class(tree, owner) if owner else None
    if cls is not None:
        yield from ((text, False) for text in _docstring(cls))
        made = find_function(tree, f"{owner}.__init__")
        if made is not None and made is not function:
            yield from ((text, False) for text in _docstring(made))
    yield from ((text, False) for text in _docstring(tree))
    for node in tree.body:
        match node:
            case ast.Assign(targets=[ast.Name(id="__test__")], value=ast.Dict(values=values)):
                for value in values:
                    if isinstance(value, ast.Constant) and isinstance(value.value, str):
                        yield _Text(value.value, value.lineno), False


def _docstring(node: ast.Module | ast.ClassDef | Function) -> Iterator[_Text]:
    match node.body[:1]:
        case [ast.Expr(value=ast.Constant(value=str() as text) as constant)]:
            yield _Text(text, constant.lineno)


def _unbound_modules(
    examples: Sequence[doctest.Example], about: CalledAs, known: frozenset[str]
) -> list[str]:
    """Names that the examples call the function through and that nothing binds: ``pkg.f(1)``
    without ``import pkg``. (`doctest` fails there; whoever reads it knows what is meant.)"""
    found: dict[str, None] = {}
    bound = set(known)
    for example in examples:
        for statement in try_parse_statements(example.source) or ():
            for node in ast.walk(statement):
                match node:
                    case ast.Attribute(value=ast.Name(id=base), attr=about.held):
                        found.setdefault(base)
        bound |= _names(example.source, about).binds
    return [base for base in found if base not in bound | _BUILTINS]


def steps_of(
    examples: Sequence[doctest.Example],
    about: CalledAs,
    first: int,
    *,
    own: bool,
    others: frozenset[str] = frozenset(),
) -> Iterator[DoctestStep]:
    """Examples that run in one namespace, each with the names that it reads and binds."""
    aliases = {*about.names}
    tainted: set[str] = set()
    imported: set[str] = set()
    for example in examples:
        names = _names(example.source, about)
        aliases |= names.aliases
        imported |= names.imports
        # by its text nothing tells an operator's method from another of that operator
        direct = (own and about.operator) or bool(names.reads & aliases) or names.attribute
        # nearly all that a class's examples show hangs on how its objects are made
        spread = own or not (about.method and about.names)
        depends = direct or (spread and bool(names.reads & tainted))
        if depends:
            tainted |= (names.reads | names.binds) - imported - aliases - _BUILTINS
        else:
            tainted -= names.binds
        options = 0
        for flag, on in example.options.items():
            options |= flag if on else 0
        yield DoctestStep(
            example.source,
            Want(example.want, example.exc_msg, options),
            first + example.lineno,
            direct,
            # what another method of the class shows is that method's
            depends and (own or (direct and spread) or names.attributes.isdisjoint(others)),
            frozenset(names.reads),
            frozenset(names.binds),
            frozenset(names.imports),
            names.acts,
        )


_BUILTINS = frozenset(dir(builtins))


@dataclass(slots=True)
class _Names:
    reads: set[str] = field(default_factory=set)
    binds: set[str] = field(default_factory=set)
    imports: set[str] = field(default_factory=set)
    aliases: set[str] = field(default_factory=set)
    """Names under which it imports the function."""
    attribute: bool = False
    """True: it names the function as an attribute."""
    attributes: set[str] = field(default_factory=set)
    acts: bool = False


def _names(source: str, about: CalledAs) -> _Names:
    names = _Names()
    body = try_parse_statements(source)
    if body is None:
        names.attribute = re.search(rf"\b{about.attribute}\b", source) is not None
    for statement in body or ():
        passive = ast.Import | ast.ImportFrom | ast.FunctionDef | ast.ClassDef
        names.acts |= not isinstance(statement, passive)
        for node in ast.walk(statement):
            match node:
                case ast.Name(id=id, ctx=ast.Load()):
                    names.reads.add(id)
                case ast.Name(id=id):
                    names.binds.add(id)
                case ast.Attribute(attr=attr):
                    names.attributes.add(attr)
                    names.attribute |= attr == about.attribute
                case ast.FunctionDef(name=bound) | ast.ClassDef(name=bound):
                    names.binds.add(bound)
                case ast.alias(name=target, asname=bound):
                    names.imports.add(bound or target.partition(".")[0])
                    if target.rpartition(".")[2] in about.names and bound:
                        names.aliases.add(bound)
                case ast.AugAssign(target=ast.Name(id=id)):
                    names.reads.add(id)
    names.binds |= names.imports
    return names


def slice_of(steps: Sequence[DoctestStep], last: int) -> list[int]:
    """The steps that the outcome of `steps[last]` may hang on, by their names, `last` included.

    A name that is bound anew is another one from there on.
    """
    times = Counter[str]()
    reads: list[set[tuple[str, int]]] = []
    binds: list[set[tuple[str, int]]] = []
    for step in steps[: last + 1]:
        reads.append({(name, times[name]) for name in step.reads})
        times.update(step.binds)
        binds.append({(name, times[name]) for name in step.binds})
    own = {
        (name, time)
        for step, bound in zip(steps, binds, strict=False)
        for name, time in bound
        if name not in step.imports
    }
    wanted = set(reads[last])
    kept: set[int] = {last}
    size = -1
    while size != len(kept):  # what a kept step makes of an object may be changed later
        size = len(kept)
        for index in range(last - 1, -1, -1):
            step = steps[index]
            changes = step.acts and reads[index] & wanted & own
            # what binds and shows nothing is there for its effect, as `decimal.prec = 6`
            effect = step.acts and not (step.binds or step.want.text or step.depends)
            if binds[index] & wanted or changes or effect or "*" in step.imports:
                kept.add(index)
                wanted |= reads[index] | binds[index] if changes else reads[index]
    return sorted(kept)
