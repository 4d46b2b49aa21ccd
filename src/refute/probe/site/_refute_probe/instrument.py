"""Put counters for chosen lines into a module's code, by way of its syntax tree.

A line counts where this interpreter's compiler gives it code, which is where a trace function would
see it; the others stay at nought. Of a line that begins a statement, the counter stands before the
statement, once for each code object that begins one there (`def f(): return 1` has two). A line on
which only an expression begins, inside a statement of several lines, counts when that expression is
evaluated; a line without either counts with the statement around it. The header of a loop counts
when it is reached and once a round, that of a handler or a case when it is tried. Docstrings of
classes and modules, and `from __future__` imports, count just after they have run.

Against line events this differs in some numbers, never in whether a line was reached: loops left by
`break`, `with` on leaving, and comprehensions. In two cases it is the tracer that errs: 3.8 and 3.9
lead jumps past lines that hold only `break` or `continue`, and 3.8 to 3.11 show the first line of a
conditional expression that is not taken.
"""

import ast
import sys
import warnings
from bisect import bisect_left

from .counting import HIT, NEXT, SLOTS

_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_NEW_CONSTANTS = sys.version_info >= (3, 8)
_CONSTANTS = (ast.Constant,) if _NEW_CONSTANTS else (ast.Num, ast.Str, ast.NameConstant)
_WITHOUT_CODE = frozenset(
    ("annotation", "returns", "type_params", "pattern", "ctx", "ops", "op", "format_spec")
)
_BLOCKS = frozenset(("body", "orelse", "finalbody", "handlers", "cases"))


def lines_with_code(code):
    """The lines that this code, or code within it, gives a trace function."""
    found = set()
    stack = [code]
    while stack:
        one = stack.pop()
        if hasattr(one, "co_lines"):  # 3.10
            found.update(line for _, _, line in one.co_lines() if line)
        else:
            line = one.co_firstlineno
            for step, rise in zip(one.co_lnotab[0::2], one.co_lnotab[1::2]):
                if step:
                    found.add(line)
                line += rise - 256 if rise > 127 else rise
            found.add(line)
        stack.extend(constant for constant in one.co_consts if hasattr(constant, "co_code"))
    return found


def _first_line(statement):
    decorators = getattr(statement, "decorator_list", ())
    return min([statement.lineno] + [one.lineno for one in decorators])


def _is_text(statement):
    value = getattr(statement, "value", None)
    if not isinstance(statement, ast.Expr) or not isinstance(value, _CONSTANTS):
        return False
    return isinstance(getattr(value, "value", getattr(value, "s", None)), str)


def _has_slice(expression):
    return isinstance(expression, ast.Slice) or (
        isinstance(expression, ast.Tuple)
        and any(isinstance(one, ast.Slice) for one in expression.elts)
    )


def _wrappable(expression):
    """Return whether an expression may be put into a tuple, and starts with what it evaluates
    first."""
    if not isinstance(getattr(expression, "ctx", None) or ast.Load(), ast.Load):
        return False
    return not isinstance(expression, (ast.Starred, ast.IfExp)) and not _has_slice(expression)


# Nodes of counters. They stand on the line that they count, so tracebacks and other people's trace
# functions see no new lines.


def _number(value):
    return ast.Constant(value=value) if _NEW_CONSTANTS else ast.Num(n=value)


def _item(value, index, context):
    number = _number(index)
    if sys.version_info < (3, 9):
        number = ast.Index(value=number)
    return ast.Subscript(value=value, slice=number, ctx=context)


def _on(line, node):
    """Give the new nodes a position; those taken from the module have theirs."""
    stack = [node]
    while stack:
        one = stack.pop()
        if "lineno" in one._attributes:
            if hasattr(one, "lineno"):
                continue
            one.lineno = one.end_lineno = line
            one.col_offset = one.end_col_offset = 0
        stack.extend(ast.iter_child_nodes(one))
    return node


def _name(name):
    return ast.Name(id=name, ctx=ast.Load())


class _Instrumenter(object):
    """One pass over a module for the lines of a mapping to the numbers of their counters."""

    def __init__(self, slots):
        self.slots = slots
        self.lines = sorted(slots)
        self.done = set()  # (code object's node, line)
        self.counted = set()  # lines

    def within(self, first, end):
        """The chosen lines from `first` up to, not including, `end`."""
        return self.lines[bisect_left(self.lines, first) : bisect_left(self.lines, end)]

    def claim(self, scope, line):
        """Return whether this code object's counter for the line has yet to be placed; mark it as
        placed."""
        if line not in self.slots or (scope, line) in self.done:
            return False
        self.done.add((scope, line))
        self.counted.add(line)
        return True

    def counter(self, line):
        """The statement `slots[n] = next[n]()`."""
        slot = self.slots[line]
        following = ast.Call(func=_item(_name(NEXT), slot, ast.Load()), args=[], keywords=[])
        target = _item(_name(SLOTS), slot, ast.Store())
        return _on(line, ast.Assign(targets=[target], value=following))

    def counted_expression(self, expression, line):
        """The expression `(hit(n), expression)[1]`."""
        hit = ast.Call(func=_name(HIT), args=[_number(self.slots[line])], keywords=[])
        pair = ast.Tuple(elts=[hit, expression], ctx=ast.Load())
        return _on(line, _item(pair, 1, ast.Load()))

    def block(self, statements, end, scope, documented=False):
        """Instrument a block whose text lies before line `end`, within one code object."""
        result = []
        held = []  # counters of a docstring and of future imports, which have to stand first
        head = True
        for index, statement in enumerate(statements):
            following = statements[index + 1 :]
            last = _first_line(following[0]) if following else end
            start = _first_line(statement)
            counters = []
            if self.within(start, max(last, start + 1)):
                counters = self.statement(statement, max(last, start + 1), scope)
            future = isinstance(statement, ast.ImportFrom) and statement.module == "__future__"
            head = head and documented and (future or (index == 0 and _is_text(statement)))
            if head:
                held += counters
                result.append(statement)
            else:
                result += held + counters
                result.append(statement)
                held = []
        return result + held

    def statement(self, statement, end, scope):
        """Instrument a statement whose text lies before `end`; the counters that precede it."""
        line = statement.lineno
        counters = []
        test = getattr(statement, "test", None)
        each_round = (
            isinstance(statement, ast.While)
            and test.lineno == line
            and not isinstance(test, _CONSTANTS)
        )
        if not each_round and self.claim(scope, line):
            counters.append(line)
        parts = self._parts(statement)
        begins = [part[0] for part in parts] + [end]
        self.expressions(statement, scope)
        for (_, part, name), after in zip(parts, begins[1:]):
            self._part(statement, part, name, after, scope)
        if isinstance(statement, (ast.For, ast.AsyncFor)) and line in self.slots:
            statement.body.insert(0, self.counter(line))
        for other in self.within(_first_line(statement), begins[0]):
            if other not in self.counted and self.claim(scope, other):
                counters.append(other)
        return [self.counter(one) for one in counters]

    def _parts(self, statement):
        """(first line, holder, field) of a statement's blocks, handlers and cases, in order."""
        parts = []
        for field in ("body", "handlers", "cases", "orelse", "finalbody"):
            nodes = getattr(statement, field, None)
            if not isinstance(nodes, list) or not nodes:
                continue
            if field == "handlers":
                parts += [(node.lineno, node, "handler") for node in nodes]
            elif field == "cases":
                parts += [(node.pattern.lineno, node, "case") for node in nodes]
            else:
                parts.append((_first_line(nodes[0]), statement, field))
        return parts

    def _part(self, statement, part, name, end, scope):
        if name == "handler":
            self._handler(part, end, scope)
        elif name == "case":
            self._case(statement, part, end, scope)
        else:
            own = isinstance(statement, _SCOPES)
            inner = statement if own else scope
            setattr(part, name, self.block(getattr(part, name), end, inner, own))

    def _handler(self, handler, end, scope):
        self.expressions(handler, scope)
        handler.body = self.block(handler.body, end, scope)
        if self.claim(scope, handler.lineno):  # a bare `except:`
            handler.body.insert(0, self.counter(handler.lineno))

    def _case(self, match, case, end, scope):
        """A case is tried where a wildcard before it, with a guard that counts, is tried."""
        line = case.pattern.lineno
        tried = [
            one
            for one in self.within(line, _first_line(case.body[0]))
            if one == line or one not in self.counted
        ]
        self.expressions(case, scope)
        case.body = self.block(case.body, end, scope)
        for one in tried:
            if (one != line and one in self.counted) or not self.claim(scope, one):
                continue
            guard = self.counted_expression(_number(0), one)
            wildcard = ast.MatchAs(pattern=None, name=None)
            body = [_on(one, ast.Pass())]
            before = ast.match_case(pattern=_on(one, wildcard), guard=_on(one, guard), body=body)
            match.cases.insert(match.cases.index(case), before)

    def expressions(self, node, scope):
        """Wrap the first expression of each chosen line below a node, not entering its blocks."""
        if isinstance(node, ast.JoinedStr) and sys.version_info < (3, 8):
            return  # positions inside f-strings are wrong there
        statement = isinstance(node, (ast.stmt, ast.ExceptHandler)) or hasattr(node, "guard")
        for field in node._fields:
            if field in _WITHOUT_CODE or (statement and field in _BLOCKS):
                continue
            value = getattr(node, field, None)
            if isinstance(value, list):
                for index, one in enumerate(value):
                    if isinstance(one, ast.AST):
                        value[index] = self._expression(one, scope, node)
            elif isinstance(value, ast.AST):
                inner = node if isinstance(node, ast.Lambda) and field == "body" else scope
                setattr(node, field, self._expression(value, inner, node))

    def _expression(self, node, scope, parent):
        if not isinstance(node, ast.expr):
            self.expressions(node, scope)
            return node
        line = node.lineno
        wrap = (
            line in self.slots
            and not isinstance(parent, ast.JoinedStr)
            and _wrappable(node)
            and self.claim(scope, line)
        )
        self.expressions(node, scope)
        return self.counted_expression(node, line) if wrap else node


def instrument(code, source, path, slots):
    """The code of a module with counters for lines; `slots` maps a line to its counter's number.

    `code` is what the interpreter made of the same `source` (bytes).
    """
    existing = lines_with_code(code)
    slots = {line: slot for line, slot in slots.items() if line in existing}
    if not slots:
        return code
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # they were given when the module was first compiled
        tree = compile(source, path, "exec", ast.PyCF_ONLY_AST, dont_inherit=True)
        tree.body = _Instrumenter(slots).block(tree.body, sys.maxsize, None, documented=True)
        return compile(tree, code.co_filename, "exec", dont_inherit=True)
