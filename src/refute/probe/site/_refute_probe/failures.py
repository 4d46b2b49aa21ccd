"""Describe an exception as plain data, whatever the exception's own methods do.

Also here: what the runners' plugins share besides, an object handed over once, and calls of one
object's methods watched without a change of its class.
"""

import os
import sys
import traceback

LONGEST_MESSAGE = 10000
LONGEST_TRACEBACK = 20000
LONGEST_SIDE = 500
MOST_FRAMES = 100
_RUNNERS = ("_pytest", "pluggy", "unittest", "_refute_probe", "importlib", "runtests.py")


def shorten(text, limit):
    """The text with its middle cut out where it is longer than the limit."""
    if len(text) <= limit:
        return text
    half = (limit - 40) // 2
    return "%s\n... %d characters ...\n%s" % (text[:half], len(text) - 2 * half, text[-half:])


def relative(path, root):
    """The path relative to the root where it lies in it, with `/`; else as it is."""
    path = os.path.join(os.getcwd() if not os.path.isabs(path) else "", path)
    for base, one in ((root, path), (os.path.realpath(root), os.path.realpath(path))):
        if one.startswith(base + os.sep):
            return one[len(base) + 1 :].replace(os.sep, "/")
    return path


def _text(value):
    try:
        return str(value)
    except Exception as error:
        return "<%s without a text: %s>" % (type(value).__name__, type(error).__name__)


def _name(kind):
    module = getattr(kind, "__module__", None)
    name = getattr(kind, "__qualname__", None) or getattr(kind, "__name__", "?")
    if not isinstance(module, str) or module == "builtins":
        return str(name)
    return "%s.%s" % (module, name)


def _message(error):
    if type(error).__name__ == "DocTestFailure" and hasattr(error, "example"):
        return "Expected:\n%s\nGot:\n%s" % (error.example.want, error.got)
    if type(error).__name__ == "MultipleDoctestFailures" and hasattr(error, "failures"):
        return "\n".join(_message(one) for one in error.failures)
    if type(error).__name__ == "UnexpectedException" and hasattr(error, "exc_info"):
        return "%s: %s" % (_name(error.exc_info[0]), _text(error.exc_info[1]))
    return _text(error)


def _of_runner(trace):
    parts = trace.tb_frame.f_code.co_filename.replace("\\", "/").split("/")
    return parts[0].startswith("<frozen ") or any(name in parts for name in _RUNNERS)


def _without_runner(trace):
    """The traceback from its first frame that is not the test runner's; all of it if none is."""
    first = trace
    while first is not None and _of_runner(first):
        first = first.tb_next
    return trace if first is None else first


def _frames(trace, root):
    found = []
    while trace is not None and len(found) < 5000:
        code = trace.tb_frame.f_code
        frame = {"file": relative(code.co_filename, root), "line": trace.tb_lineno or 0}
        found.append(dict(frame, function=code.co_name))
        trace = trace.tb_next
    if len(found) > MOST_FRAMES:
        found = found[:40] + found[40 - MOST_FRAMES :]
    return found


def describe(kind, error, trace, root):
    """An exception as a dict of JSON types: type, message, traceback, frames."""
    trace = _without_runner(trace)
    try:
        printed = "".join(traceback.format_exception(kind, error, trace))
    except Exception as trouble:
        printed = "<traceback not printable: %s>" % type(trouble).__name__
    try:
        message = _message(error)
    except Exception:
        message = ""
    try:
        frames = _frames(trace, root)
    except Exception:
        frames = []
    return {
        "type": _name(kind),
        "message": shorten(message, LONGEST_MESSAGE),
        "traceback": shorten(printed, LONGEST_TRACEBACK),
        "frames": frames,
    }


def tell_sides(error, trace):
    """Give a bare AssertionError of `assert a == b` the values of its sides as its message.

    For runners that rewrite no asserts. The sides are evaluated once more, in the frame that
    failed; where that is not possible the error stays as it is.
    """
    if type(error) is not AssertionError or error.args or trace is None:
        return
    while trace.tb_next is not None:
        trace = trace.tb_next
    frame = trace.tb_frame
    try:
        import ast

        with open(frame.f_code.co_filename, "rb") as stream:
            tree = ast.parse(stream.read())
        asserts = [node for node in ast.walk(tree) if isinstance(node, ast.Assert)]
        last = max(
            (node for node in asserts if node.lineno <= trace.tb_lineno),
            key=lambda node: node.lineno,
        )
        if not isinstance(last.test, ast.Compare) or len(last.test.ops) > 1:
            return
        sides = []
        for side in (last.test.left, last.test.comparators[0]):
            code = compile(ast.Expression(side), "<side>", "eval", dont_inherit=True)
            value = eval(code, frame.f_globals, frame.f_locals)
            sides.append(shorten(repr(value), LONGEST_SIDE))
        error.args = ("left: %s; right: %s" % tuple(sides),)
    except Exception:
        pass


def current(root):
    """The exception that is being handled, described."""
    kind, error, trace = sys.exc_info()
    return describe(kind, error, trace, root)


_parcels = {}


def leave(name, parcel):
    """Leave something for `take`."""
    _parcels[name] = parcel


def take(name):
    """Return the object that was left under the name; None from the second time on."""
    return _parcels.pop(name, None)


def precede(thing, name, event):
    """Call `event` with the same arguments before each call of the method of this very object."""
    original = getattr(thing, name)

    def method(*args, **kwargs):
        event(*args, **kwargs)
        return original(*args, **kwargs)

    setattr(thing, name, method)
