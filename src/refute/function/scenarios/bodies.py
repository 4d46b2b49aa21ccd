"""The body of a test: a scenario's statements as people write them, and what was seen asserted."""

from __future__ import annotations

import ast
import builtins
import copy
import keyword
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from textwrap import indent
from typing import Any, Literal

from refute.core.problems import Scenario
from refute.errors import InputError
from refute.function.formatting import code_of, laid_out, one_line, statement
from refute.function.scenarios.asserting import Check, change_checks, lines_of, value_checks
from refute.function.scenarios.observation import VARIES, Observation
from refute.function.scenarios.varying import parsed
from refute.sandbox.values import Iterated
from refute.source.literals import NotLiteral
from refute.source.syntax import bound_names, read_names, readable_module


@dataclass(frozen=True, slots=True)
class Style:
    """Style of a project's tests."""

    kind: Literal["pytest", "unittest"] = "pytest"
    annotated: bool = False
    """True: test functions say ``-> None``."""
    width: int = 88


@dataclass(frozen=True, slots=True)
class Context:
    """Facts about the module under test, without which a test says less than it could."""

    bound: frozenset[str] = frozenset()
    """Names that it binds: of its exceptions and enums the test may speak by name."""
    coroutines: frozenset[str] = frozenset()
    """Names of its coroutine functions and methods: ``fetch``."""
    stated: bool = False
    """True: somebody states the value: floats are close then as they are to the sandbox."""

    @classmethod
    def of(cls, text: str, *, stated: bool = False) -> Context:
        """Read the text of the module under test."""
        tree = readable_module(text)
        coroutines = frozenset(
            node.name
            for node in ast.walk(tree)
            if isinstance(node, ast.AsyncFunctionDef)
            and not any(isinstance(one, ast.Yield | ast.YieldFrom) for one in ast.walk(node))
        )
        return cls(bound_names(*tree.body), coroutines, stated)


@dataclass(slots=True)
class Parts:
    """Pieces of a test: its body at column 0, and what it needs."""

    lines: list[str] = field(default_factory=list)
    imports: set[str] = field(default_factory=set)
    fixtures: list[str] = field(default_factory=list)


def body_of(
    scenario: Scenario, expected: Observation, module: str, style: Style, comment: str,
    context: Context, given: frozenset[str] = frozenset(),
) -> Parts:  # fmt: skip
    """The pieces of a test, whose parameters are `given`. Raises `NotLiteral`, `InputError`."""
    if not expected.answered:
        raise NotLiteral(f"nothing to expect of a call that was {expected.kind}")
    return _Writer(
        scenario, read_body(scenario), expected, module, style, comment, context, given
    ).parts()


def read_body(scenario: Scenario) -> list[ast.stmt]:
    """The statements and the expression. Raises `InputError` where they are not Python."""
    try:
        body = parsed(scenario)
    except SyntaxError:
        raise InputError("a scenario that is not Python cannot become a test") from None
    if not body or not isinstance(body[-1], ast.Expr):
        raise InputError("what a scenario observes must be an expression")
    return body


class _Writer:
    def __init__(
        self, scenario: Scenario, body: list[ast.stmt], expected: Observation, module: str,
        style: Style, comment: str, context: Context, given: frozenset[str],
    ) -> None:  # fmt: skip
        self.scenario = scenario
        self.expected = expected
        self.style = style
        self.context = context
        self.module = module
        self.comment = [f"# {one_line(comment.lstrip('# '))}"] if comment.strip("# ") else []
        self.room = style.width - (8 if style.kind == "unittest" else 4)
        body = [_Awaited(context.coroutines).visit(copy.deepcopy(one)) for one in body]
        self.setup, last = body[:-1], body[-1]
        assert isinstance(last, ast.Expr)
        self.call = last.value
        self.out = Parts()
        self.also: set[str] = set()
        self.given = given
        self.taken = set(bound_names(*body)) | read_names(*body) | set(context.bound)

    def parts(self) -> Parts:
        """All of it."""
        if self.expected.kind == "raised":
            call, before = self.code()
            self.raising(call, before)
            self.needed()
            return self.out
        effects = self.effects()
        call, before = self.code()
        value, prints = self.expected.value, bool(self.expected.printed)
        if isinstance(value, Iterated) and "async" in value.type:
            value = list(value.items)
        more = prints or bool(effects)
        run, lines = [laid_out(call, self.room)], list[str]()
        if value is not VARIES and not (value is None and more):
            run, lines = self.valued(call, value, more)
        for check, found in effects:
            self.out.imports |= found
            lines += check
        if prints:
            run, lines = self.printing(run, lines, bool(before))
        self.out.lines = [*before, *run, *self.comment, *lines]
        self.needed()
        return self.out

    # -- the call ----------------------------------------------------------------------------------

    def code(self) -> tuple[str, list[str]]:
        """The observed call, and the statements before it."""
        value = self.expected.value
        items = isinstance(value, Iterated) and "async" in value.type
        awaits = sum(
            isinstance(one, ast.Await)
            for node in (*self.setup, self.call)
            for one in ast.walk(node)
        )
        if isinstance(self.call, ast.Await) and awaits == 1 and not items:
            self.call = _call_of("asyncio.run", self.call.value)
        elif awaits or items:
            return self.as_coroutine(items)
        return code_of(self.call), [statement(one, self.room) for one in self.setup]

    def as_coroutine(self, items: bool) -> tuple[str, list[str]]:
        """A call of a coroutine function that does all of it, and its definition."""
        if items and isinstance(self.expected.value, Iterated) and self.expected.value.more:
            raise NotLiteral("more items of an asynchronous generator than were taken")
        name, call = self.free("scenario"), code_of(self.call)
        inner = [statement(one, self.room - 4) for one in self.setup]
        inner.append(f"return [item async for item in {call}]" if items else f"return {call}")
        self.out.imports.add("import asyncio")
        body = indent("\n".join(inner), "    ")
        return f"asyncio.run({name}())", [f"async def {name}():\n{body}\n"]

    def free(self, name: str) -> str:
        """A name that nothing has, and has it from now on."""
        while name in self.taken or keyword.iskeyword(name):
            name += "_"
        self.taken.add(name)
        return name

    def needed(self) -> None:
        """Imports of the names that the scenario leaves open."""
        nodes = [*self.setup, self.call]
        bound = {
            one.id if isinstance(one, ast.Name) else one.arg
            for node in nodes
            for one in ast.walk(node)
            if isinstance(one, ast.arg)
            or (isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store))
        }
        places = dict(self.scenario.imports)
        for name in sorted((read_names(*nodes) | self.also) - bound - self.given):
            if name in places:
                self.out.imports.add(_import_of(name, places[name]))
            elif name == "asyncio":
                self.out.imports.add("import asyncio")
            elif name in self.context.bound or not hasattr(builtins, name):
                self.out.imports.add(f"from {self.module} import {name}")

    # -- what it returned or raised ----------------------------------------------------------------

    def valued(self, call: str, value: object, first: bool) -> tuple[list[str], list[str]]:
        """(the call, where it stands alone, assertions) of a value; `first`: more is looked at."""
        how: dict[str, Any] = {"stated": self.context.stated, "bound": self.context.bound}
        many, checks = value_checks(call, value, **how)
        run: list[str] = []
        if many or first or len(call) + len("actual = ") > self.room:
            name = self.free("result")
            run = [laid_out(f"{name} = {call}", self.room)]
            _, checks = value_checks(name, value, **how)
        return run, self.lines(checks)

    def lines(self, checks: Sequence[Check]) -> list[str]:
        """The assertions."""
        found: list[str] = []
        for one in checks:
            if one.right is not None:
                self.also |= {one.right.partition(".")[0]} & self.context.bound
            lines, imports = lines_of(one, self.style.kind, self.room)
            self.out.imports |= imports
            found += lines
        return found

    def raising(self, call: str, before: list[str]) -> None:
        """The call within what expects its exception."""
        error = self.expected.error.rpartition(".")[2]
        known = error in self.context.bound or hasattr(builtins, error)
        if error in self.context.bound:
            self.also.add(error)
        unit = self.style.kind == "unittest"
        expects = "self.assertRaises" if unit else "pytest.raises"
        if not unit:
            self.out.imports.add("import pytest")
        inside = laid_out(call, self.room - 4)
        lines = [f"with {expects}({error if known else 'Exception'})", indent(inside, "    ")]
        lines[0] += ":" if known else " as caught:"
        if not known:
            check = Check("type(caught.exception).__name__" if unit else "caught.typename", error)
            lines += lines_of(check, self.style.kind, self.room)[0]
        self.out.lines = [*before, *self.comment, *lines]

    # -- what it did besides -----------------------------------------------------------------------

    def effects(self) -> list[tuple[list[str], set[str]]]:
        """Assertions on what the call changed, which has a name then; private fields only where
        there is nothing else to see."""
        found: list[tuple[bool, list[str], set[str]]] = []
        for label, before, after in self.expected.changed:
            holder = self.place(label)
            if holder is None:
                continue
            shown = holder.node.id if isinstance(holder.node, ast.Name) else holder.wish
            try:
                private, checks = change_checks(shown, before, after, bound=self.context.bound)
            except NotLiteral:
                continue
            other = self.expected.value is not None or bool(self.expected.printed)
            if private and (other or any(not one[0] for one in found)):
                continue
            name = self.named(holder)
            if name != shown:
                _, checks = change_checks(name, before, after, bound=self.context.bound)
            saved, self.out.imports = self.out.imports, set()
            lines = self.lines(checks)
            found.append((private, lines, self.out.imports))
            self.out.imports = saved
        public = [one for one in found if not one[0]]
        return [(lines, imports) for _, lines, imports in public or found]

    def place(self, label: str) -> _Place | None:
        """Find the part of the call that the label of a change names."""
        call = self.call.value if isinstance(self.call, ast.Await) else self.call
        if label == "self":
            owner = call.func if isinstance(call, ast.Call) else call
            if isinstance(owner, ast.Attribute):
                return _Place(owner, "value", None, owner.value, _snake(owner.value))
            return None
        _, _, which = label.partition(" ")
        if not isinstance(call, ast.Call):
            return None
        if which.isdigit() and int(which) <= len(call.args):
            at = int(which) - 1
            if not isinstance(call.args[at], ast.Starred):
                return _Place(call, "args", at, call.args[at], "argument")
        for one in call.keywords:
            if one.arg == which:
                return _Place(one, "value", None, one.value, which)
        return None

    def named(self, holder: _Place) -> str:
        """The variable that holds it, which the set-up binds where none does."""
        if isinstance(holder.node, ast.Name):
            return holder.node.id
        name = self.free(holder.wish)
        self.setup.append(ast.Assign([ast.Name(name, ast.Store())], holder.node, lineno=0))
        new = ast.Name(name, ast.Load())
        if holder.index is None:
            setattr(holder.parent, holder.field, new)
        else:
            getattr(holder.parent, holder.field)[holder.index] = new
        return name

    def printing(
        self, run: list[str], lines: list[str], quiet: bool
    ) -> tuple[list[str], list[str]]:
        """The call and the assertions with those on its output. `quiet`: what ran before it may
        have printed too."""
        text = self.expected.printed
        if self.style.kind == "unittest":
            self.out.imports |= {"import contextlib", "import io"}
            inside = indent("\n".join(run), "    ")
            head = "with contextlib.redirect_stdout(io.StringIO()) as printed:"
            checked, _ = lines_of(Check("printed.getvalue()", text), "unittest", self.room)
            return [f"{head}\n{inside}"], [*lines, *checked]
        fixture = "capsys"
        if self.style.annotated:
            fixture += ": pytest.CaptureFixture[str]"
            self.out.imports.add("import pytest")
        self.out.fixtures.append(fixture)
        checked, _ = lines_of(Check("capsys.readouterr().out", text), "pytest", self.room)
        return [*(["capsys.readouterr()"] if quiet else []), *run], [*lines, *checked]


@dataclass(frozen=True, slots=True)
class _Place:
    parent: ast.AST
    field: str
    index: int | None
    node: ast.expr
    wish: str
    """Wished name."""


class _Awaited(ast.NodeTransformer):
    """Awaits the calls of coroutine functions that are not."""

    def __init__(self, names: Collection[str]) -> None:
        self.names = names

    def visit_Lambda(self, node: ast.Lambda) -> ast.Lambda:
        return node

    def visit_Await(self, node: ast.Await) -> ast.Await:
        self.generic_visit(node.value)
        return node

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        name = node.func.attr if isinstance(node.func, ast.Attribute) else ""
        name = node.func.id if isinstance(node.func, ast.Name) else name
        return ast.Await(node) if name in self.names else node


def _call_of(function: str, argument: ast.expr) -> ast.Call:
    node = ast.parse(f"{function}()", mode="eval").body
    assert isinstance(node, ast.Call)
    node.args.append(argument)
    return node


def _snake(node: ast.expr) -> str:
    """A name for an instance of the class that is called: ``base_cart``."""
    owner = node.func if isinstance(node, ast.Call) else node
    text = owner.attr if isinstance(owner, ast.Attribute) else getattr(owner, "id", "")
    name = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", text).strip("_").lower()
    return name if name.isidentifier() and name != text else "receiver"


def _import_of(name: str, place: str) -> str:
    """The import that makes a name mean ``module:qualname`` or ``module``."""
    module, _, qualname = place.partition(":")
    if qualname:
        return f"from {module} import {qualname}" + (f" as {name}" if name != qualname else "")
    return f"import {module}" + (f" as {name}" if name != module else "")
