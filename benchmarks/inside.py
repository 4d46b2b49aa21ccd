"""What the benchmarks run inside the sandbox: doctests, sessions and expressions of real packages.

Sent there as text by `packages.Inside` (standard library only). Each function takes and returns
what JSON can hold. A *session* is a list of statements; what it observes is one line of text for
each: the value of an expression, the exception's type, and at the end the variables, all with
addresses and the order of sets taken out, so that two versions of a function can be compared.
"""

import ast
import contextlib
import doctest
import importlib
import io
import json
import random
import re
import signal
import sys
import types

SESSION_SECONDS = 0.5  # CPU time
ITEMS = 60
_ADDRESS = re.compile(r"\b0x[0-9a-f]{4,}")


class Late(BaseException):
    """A session took too long."""


def reply(name, arguments):
    """The JSON text of what the function `name` returns for the JSON text `arguments`."""
    sys.argv = ["inside"]
    return json.dumps(globals()[name](*json.loads(arguments)))


def doctest_of(module, function):
    """How many of its docstring's examples fail: [tried, failed, what the first failure says]."""
    home = _module(module)
    finder = doctest.DocTestFinder(recurse=False)
    target, around = home, []
    for part in function.split("."):
        target = vars(target)[part]
        around += [target] if isinstance(target, type) else []
        target = getattr(target, "__func__", target)  # a classmethod
    around += [kind.__init__ for kind in around]
    heard = io.StringIO()
    runner = doctest.DocTestRunner(verbose=False)
    tests = finder.find(target, function, module=False, globs=dict(vars(home)))
    for other in around:
        tests += finder.find(other, function, module=False, globs=dict(vars(home)))
    if function in (home.__doc__ or ""):  # an example of the module's own docstring may show it
        tests += finder.find(home, module, module=False, globs=dict(vars(home)))
    for test in tests:
        runner.run(test, out=heard.write)
    return [runner.tries, runner.failures, heard.getvalue()[:1500]]


def tests_fail(module, functions):
    """Which of a test module's functions fail or raise, by name."""
    home = _module(module)
    failed = []
    for name in functions:
        try:
            with contextlib.redirect_stdout(io.StringIO()):
                _limited(getattr(home, name), 5)
        except (Exception, Late):
            failed.append(name)
    return failed


def observe(module, sessions):
    """What each session shows when it is run in the namespace of the module."""
    home = vars(_module(module))
    shown = []
    late = 0
    for statements in sessions:
        if late > 8:
            shown.append(["late"])
            continue
        random.seed(0)
        heard = []
        try:
            with contextlib.redirect_stdout(io.StringIO()) as printed:
                _limited(lambda s=statements, h=heard: _session(s, dict(home), h), SESSION_SECONDS)
            heard.append(_clean(printed.getvalue()))
        except Late:
            heard.append("late")
            late += 1
        except BaseException as error:
            heard.append("ends: " + type(error).__name__)
        shown.append(heard)
    return shown


def evaluate(module, expressions):
    """The value of each expression in the namespace of the module, as text."""
    return [shown[0] for shown in observe(module, [[text] for text in expressions])]


def right(module, tests):
    """Whether each test, a pair of texts (call, expected), passes; None where it cannot be read."""
    home = _module(module)
    found = []
    for call, expected in tests:
        try:
            with contextlib.redirect_stdout(io.StringIO()):
                check = _passes if call.lstrip().startswith(">>>") else _gives
                found.append(_limited(lambda c=check, p=(call, expected): c(home, *p), 5))
        except (Exception, Late):
            found.append(None)
    return found


def _passes(home, call, expected):
    """Whether the last example of a session shows what is expected."""
    if expected.startswith("raises "):
        expected = "Traceback (most recent call last):\n    ...\n" + expected.removeprefix(
            "raises "
        )
    quiet = expected == "no exception"
    if quiet or expected == "no output":
        expected = ""
    text = call.rstrip("\n") + "\n" + expected + "\n"
    test = doctest.DocTestParser().get_doctest(text, dict(vars(home)), "session", None, 0)
    failed = set()

    class Runner(doctest.DocTestRunner):
        def report_failure(self, out, test, example, got):
            if not quiet:
                failed.add(example.lineno)

        def report_unexpected_exception(self, out, test, example, exc_info):
            failed.add(example.lineno)

    Runner(verbose=False).run(test, out=lambda text: None)
    return test.examples[-1].lineno not in failed


def _gives(home, call, expected):
    """Whether the expression has the expected value, or raises what is expected."""
    raises = expected.removeprefix("raises ") if expected.startswith("raises ") else None
    names = dict(vars(home))
    wanted = None if raises else _read(expected, names)
    try:
        value = eval(call, names)
        value = _first(value) if hasattr(type(value), "__next__") else value
    except Exception as error:
        return any(raises in (k.__name__, k.__qualname__) for k in type(error).__mro__[:-2])
    if raises:
        return False
    if isinstance(wanted, Unreadable):
        return True if _clean(repr(value)) == expected else None
    if _text(value) == _text(wanted):
        return True
    try:
        return bool(value == wanted) or abs(value - wanted) <= 1e-6 * max(1, abs(wanted))
    except Exception:
        return False


def _session(statements, names, heard):
    before = set(names)
    for text in statements:
        try:
            _step(text, names, heard)
        except (Exception, SystemExit) as error:
            heard.append("raises " + type(error).__name__)
    for name in sorted(set(names) - before):
        if not isinstance(names[name], (types.ModuleType, types.FunctionType, type)):
            heard.append(name + " = " + _text(names[name]))


def _step(text, names, heard):
    """An assertion shows both its sides, whatever comes of it."""
    tree = ast.parse(text)
    for node in tree.body:
        if isinstance(node, ast.Assert):
            test = node.test
            sides = [test.left, *test.comparators] if isinstance(test, ast.Compare) else [test]
            for side in sides:
                heard.append(_text(_value(side, names)))
        elif isinstance(node, ast.Expr):
            heard.append(_text(_value(node.value, names)))
        else:
            exec(compile(ast.Module([node], []), "<session>", "exec"), names)


def _value(node, names):
    return eval(compile(ast.Expression(node), "<session>", "eval"), names)


class Unreadable:
    """An expected value that is no expression over the module's names."""


def _read(expected, names):
    try:
        return eval(expected, {**names})
    except Exception:
        return Unreadable()


def _limited(call, seconds):
    def ring(*_):
        raise Late

    signal.signal(signal.SIGPROF, ring)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        return call()
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def _module(name):
    """The module from the folders given: a preloaded one of the library may be another version."""
    found = sys.modules.get(name)
    if found is not None and "." not in name and not hasattr(found, "__path__"):
        del sys.modules[name]
    return importlib.import_module(name)


def _text(value, depth=5):
    """A text that is equal for equal values of equal types."""
    kind = type(value)
    if value is None or kind in (bool, int, str, bytes):
        return repr(value)[:4000]
    if kind is float:
        return f"{value:.9g}f"
    if kind is complex:
        return f"{value.real:.9g}+{value.imag:.9g}j"
    if depth == 0:
        return _shown(value)
    if isinstance(value, (list, tuple)):
        inner = ", ".join(_text(item, depth - 1) for item in list(value)[:2000])
        return f"{kind.__name__}({inner})"
    if isinstance(value, (set, frozenset)):
        return f"{kind.__name__}({', '.join(sorted(_text(item, depth - 1) for item in value))})"
    if isinstance(value, dict):
        pairs = [f"{_text(k, depth - 1)}: {_text(v, depth - 1)}" for k, v in value.items()]
        return f"{kind.__name__}({', '.join(pairs)})"
    if hasattr(kind, "__next__"):
        return "iterator(" + ", ".join(_text(item, depth - 1) for item in _first(value)) + ")"
    shown = _shown(value)
    if "<" in shown and not isinstance(value, (type, types.FunctionType, types.ModuleType)):
        state = {k: v for k, v in getattr(value, "__dict__", {}).items() if not callable(v)}
        if state:
            return shown + _text(state, depth - 1)
        if hasattr(kind, "__iter__") and hasattr(kind, "__len__"):
            return shown + _text(_first(iter(value)), depth - 1)
    return shown


def _first(iterator):
    items = []
    for item in iterator:
        items.append(item)
        if len(items) == ITEMS:
            break
    return items


def _shown(value):
    return type(value).__name__ + ":" + _clean(repr(value)[:4000])


def _clean(text):
    return _ADDRESS.sub("0x", text)
