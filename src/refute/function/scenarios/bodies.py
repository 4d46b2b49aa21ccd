"""The body of a test: a scenario's statements as people write them, and what was seen asserted."""

from __future__ import annotations

import ast
import builtins
import copy
import keyword
import math
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from textwrap import indent
from typing import Any, Literal

from refute.core.problems import Scenario
from refute.errors import InputError
from refute.function.formatting import code_of, comparison, has_nan, laid_out, one_line, statement
from refute.function.scenarios.observation import VARIES, Observation, same_value
from refute.function.scenarios.varying import parsed
from refute.sandbox.values import Incomplete, Iterated, NDArray, Opaque
from refute.source.literals import NotLiteral, needed_imports, source_of
from refute.source.syntax import bound_names, read_names, readable_module

MOST_FIELDS = 6
_DEEPEST = 2
_VIEWS = {
    "dict_values": "list({})", "odict_values": "list({})", "array": "list({})",
    "dict_items": "dict({})", "odict_items": "dict({})", "mappingproxy": "dict({})",
    "memoryview": "bytes({})", "StringIO": "{}.getvalue()", "BytesIO": "{}.getvalue()",
}  # fmt: skip
"""Expression that makes a comparable value of those that the codec shows by parts that are no
attributes."""
_VIEWED = ("items", "content", "bytes")
_TOLERANCE = ", rel=1e-7, abs=1e-6"
"""The sandbox's (`refute.sandbox.equality`)."""
_NO_ATTRIBUTES = {"Match": ("pattern",), "timezone": ("offset", "name")}


@dataclass(frozen=True, slots=True)
class Check:
    """``left`` is what `value` says."""

    left: str
    value: Any = None
    right: str | None = None
    """Source of the value, where `source_of` has none for it."""
    close: str | None = None
    """Of floats that count to the digits that mean something: more arguments of ``approx``."""
    imports: frozenset[str] = frozenset()


def value_checks(
    left: str, value: Any, *, stated: bool, bound: Collection[str], fields: Collection[str] = ()
) -> tuple[bool, list[Check]]:
    """(whether `left` is used more than once, checks) for what an expression returned.

    `stated`: somebody says so, and the sandbox's tolerance applies; else the code returned it.
    `bound`: names that the module under test binds; `fields`: the only ones of an object that
    count. Raises `NotLiteral` where nothing of it can be written.
    """
    checks = [_complete(one, stated) for one in _checks(left, value, bound, fields, 0)]
    if len(checks) > 1 and all(one.close is None for one in checks):
        return True, [_together(checks)]
    return len(checks) > 1, checks


def change_checks(
    left: str, before: Any, after: Any, *, bound: Collection[str]
) -> tuple[bool, list[Check]]:
    """(whether only by private fields, checks) for what a call changed; of objects of one type only
    the fields that it changed."""
    changed: list[str] = []
    if isinstance(before, Opaque) and isinstance(after, Opaque) and before.type == after.type:
        old = dict(before.attributes)
        changed = [
            name
            for name, value in after.attributes
            if name not in old or not same_value(old[name], value)
        ]
    _, checks = value_checks(left, after, stated=False, bound=bound, fields=changed)
    private = bool(changed) and all(one.startswith("_") for one in changed)
    return private, checks


def _checks(
    left: str, value: Any, bound: Collection[str], fields: Collection[str], depth: int
) -> Iterator[Check]:
    if isinstance(value, Incomplete):
        raise NotLiteral(f"the {value.type} has no Python source")
    if isinstance(value, Iterated):
        items = list(value.items)
        if value.more:
            more = frozenset({"from itertools import islice"})
            for one in _checks(f"list(islice({left}, {len(items)}))", items, bound, (), depth):
                yield replace(one, imports=one.imports | more)
        else:
            yield from _checks(f"list({left})", items, bound, (), depth)
    elif isinstance(value, Opaque):
        yield from _object_checks(left, value, bound, fields, depth)
    elif isinstance(value, list | tuple) and any(isinstance(one, Opaque) for one in value):
        yield _row_check(left, value)
    else:
        yield Check(left, value)


def _object_checks(
    left: str, value: Opaque, bound: Collection[str], fields: Collection[str], depth: int
) -> Iterator[Check]:
    parts = dict(value.attributes)
    if tuple(parts) == ("name", "value") and value.type in bound and _is_name(parts["name"]):
        yield Check(left, right=f"{value.type}.{parts['name']}")
        return
    if value.type in _VIEWS:
        for part in _VIEWED:
            if part in parts:
                yield Check(_VIEWS[value.type].format(left), parts[part])
                return
    found: list[Check] = []
    for name in _telling(value, fields):
        if depth < _DEEPEST:
            try:
                found += _checks(f"{left}.{name}", parts[name], bound, (), depth + 1)
            except NotLiteral:
                continue
        if len(found) >= MOST_FIELDS:
            break
    found = [one for one in found if _writable(one)][:MOST_FIELDS]
    if found:
        yield from found
    elif value.repr and not value.repr.startswith("<") and len(value.repr) < 200:
        yield Check(f"repr({left})", value.repr)
    else:
        yield Check(f"type({left}).__name__", value.type)


def _telling(value: Opaque, fields: Collection[str]) -> list[str]:
    """The fields by which an object is compared: public ones, private ones where there are none."""
    names = [
        name
        for name, _ in value.attributes
        if _is_name(name) and name not in _NO_ATTRIBUTES.get(value.type, ())
        and (not fields or name in fields) and not name.startswith("__")
        and not name.startswith(f"_{value.type.lstrip('_')}__")
    ]  # fmt: skip
    public = [name for name in names if not name.startswith("_")]
    return public or names


def _is_name(text: Any) -> bool:
    return isinstance(text, str) and text.isidentifier() and not keyword.iskeyword(text)


def _row_check(left: str, value: list[Any] | tuple[Any, ...]) -> Check:
    """Objects of one type in a row, by the fields that all of them have."""
    if not all(isinstance(one, Opaque) and one.type == value[0].type for one in value):
        raise NotLiteral("objects of several types have no Python source")
    names = [name for name in _telling(value[0], ()) if all(_has(one, name) for one in value)]
    rows = [tuple(dict(one.attributes)[name] for name in names[:MOST_FIELDS]) for one in value]
    if not names:
        return Check(f"[repr(one) for one in {left}]", [one.repr for one in value])
    if len(names) == 1:
        return Check(f"[one.{names[0]} for one in {left}]", [row[0] for row in rows])
    shown = ", ".join(f"one.{name}" for name in names[:MOST_FIELDS])
    return Check(f"[({shown}) for one in {left}]", rows)


def _has(one: Opaque, name: str) -> bool:
    parts = dict(one.attributes)
    return name in parts and _writable(Check("", parts[name]))


def _writable(check: Check) -> bool:
    if check.right is not None:
        return True
    try:
        source_of(check.value)
    except NotLiteral:
        return False
    return True


def _complete(check: Check, stated: bool) -> Check:
    """The check with imports, and close where floats are not exact. Raises `NotLiteral`."""
    value = check.value
    if check.right is not None:
        return check
    source_of(value)
    if isinstance(value, NDArray):
        return replace(check, imports=check.imports | needed_imports(value))
    imports = check.imports | needed_imports(value)
    if isinstance(value, float) and math.isnan(value):
        return Check(f"math.isnan({check.left})", True, imports=imports | {"import math"})
    if has_nan(value):
        return Check(f"repr({check.left})", repr(value), imports=imports)
    close = None
    if _flat(value) and stated and any(isinstance(one, float) for one in _numbers(value)):
        close = _TOLERANCE
    elif _flat(value) and not stated and not all(map(_is_exact, _numbers(value))):
        close = ""
    return replace(check, close=close, imports=frozenset(imports))


def _flat(value: Any) -> bool:
    """Return whether `pytest.approx` takes it: a number, or a row or a dictionary of numbers."""
    number = (int, float)
    if isinstance(value, (list, tuple)):
        return bool(value) and all(isinstance(one, number) for one in value)
    if isinstance(value, dict):
        return bool(value) and all(isinstance(one, number) for one in value.values())
    return isinstance(value, float)


def _numbers(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return list(value.values())
    return list(value) if isinstance(value, (list, tuple)) else [value]


def _is_exact(value: Any) -> bool:
    """Return whether arithmetic gives this number exactly on any machine: few binary places."""
    if not isinstance(value, float) or not math.isfinite(value):
        return True
    return (value * 1024).is_integer()


def _together(checks: list[Check]) -> Check:
    """Several checks as one of a tuple."""
    imports = frozenset[str]().union(*(one.imports for one in checks))
    left = f"({', '.join(one.left for one in checks)})"
    if all(one.right is None for one in checks):
        return Check(left, tuple(one.value for one in checks), imports=imports)
    sources = (source_of(one.value) if one.right is None else one.right for one in checks)
    return Check(left, right=f"({', '.join(sources)})", imports=imports)


# -- as code ---------------------------------------------------------------------------------------


def lines_of(check: Check, kind: str, room: int) -> tuple[list[str], set[str]]:
    """(statements at column 0, imports) of a check in pytest's or unittest's form."""
    left, value, imports = check.left, check.value, set(check.imports)
    single = check.right is None and (value is None or isinstance(value, bool))
    if check.right is None and isinstance(value, NDArray):
        floats = value.dtype.startswith(("float", "complex"))
        name = "assert_allclose" if floats else "assert_array_equal"
        return [f"np.testing.{name}({left}, {source_of(value)})"], imports
    right = source_of(value) if check.right is None else check.right
    truth = single and value is True and left.startswith("math.isnan(")
    if kind == "pytest":
        if truth:
            return [f"assert {left}"], imports
        if check.close is not None:
            right = f"pytest.approx({source_of(_short(value))}{check.close})"
            return comparison(left, "==", right, room), imports | {"import pytest"}
        return comparison(left, "is" if single else "==", right, room), imports
    if truth:
        call = f"assertTrue({left})"
    elif single and value is None:
        call = f"assertIsNone({left})"
    elif check.close is not None and isinstance(value, float):
        digits = "places=7" if abs(value) < 1e6 else f"delta={source_of(abs(value) * 1e-9)}"
        call = f"assertAlmostEqual({left}, {source_of(_short(value))}, {digits})"
    else:
        call = f"{'assertIs' if single else 'assertEqual'}({left}, {right})"
    return [laid_out(f"self.{call}", room)], imports


def _short(value: Any) -> Any:
    """Floats without the digits that are only rounding."""
    if isinstance(value, dict):
        return {key: _short(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(_short(one) for one in value)
    return float(f"{value:.12g}") if isinstance(value, float) else value


# -- the body --------------------------------------------------------------------------------------


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
