"""Count executions of the plan's lines, in this process and in every child that inherits it.

Counts live in a file of eight bytes a line that is mapped into memory, one file per process, so
that they outlast `os._exit` and signals. Code gets its counters on import, by way of
`SourceFileLoader.get_code`; byte code in `__pycache__` stays as the interpreter wrote it.
"""

import marshal
import os
import sys
from itertools import count

SLOTS, NEXT, HIT = "_refute_slots", "_refute_next", "_refute_hit"


class Counters(object):
    """The counters of this process, made when the first of the plan's files is loaded."""

    def __init__(self, folder, slots):
        self.folder = folder
        self.number = slots
        self.slots = None
        self.next = None
        self.hit = None

    def open(self):
        """Make the counters where that has not happened yet."""
        if self.slots is None:
            self._begin()
            self._follow_forks()
            import atexit

            atexit.register(self.settle)

    def _map(self):
        import mmap

        path = os.path.join(self.folder, "lines-%d-%s" % (os.getpid(), os.urandom(6).hex()))
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            os.ftruncate(descriptor, 8 * self.number)
            return memoryview(mmap.mmap(descriptor, 8 * self.number)).cast("Q")
        finally:
            os.close(descriptor)

    def _begin(self):
        import builtins

        # A thread may be stopped between the two halves of `slots[i] += 1`; taking the next number
        # of an itertools.count is one step under the interpreter's lock.
        slots = self.slots = self._map()
        numbers = [count(1) for _ in range(self.number)]
        following = [number.__next__ for number in numbers]
        self.numbers, self.next = numbers, following

        def hit(slot):
            slots[slot] = following[slot]()

        self.hit = hit
        setattr(builtins, SLOTS, slots)
        setattr(builtins, NEXT, following)
        setattr(builtins, HIT, hit)

    def _follow_forks(self):
        """A forked child starts from nought in a file of its own."""
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._begin)
            return
        for name in ("fork", "forkpty"):  # 3.6
            original = getattr(os, name, None)
            if original is not None:
                setattr(os, name, self._forking(original))

    def _forking(self, original):
        def fork():
            result = original()
            if (result[0] if isinstance(result, tuple) else result) == 0:
                self._begin()
            return result

        return fork

    def settle(self):
        """Set right what two threads stored in the wrong order."""
        for slot, number in enumerate(self.numbers):
            self.slots[slot] = int(repr(number)[6:-1]) - 1  # repr: count(7)


def _note(folder, text):
    try:
        with open(os.path.join(folder, "trouble-%d" % os.getpid()), "a") as note:
            note.write(text + "\n")
    except OSError:
        pass


def install(folder):
    """Have the plan's lines counted. Raises OSError or ValueError for an unreadable plan."""
    with open(os.path.join(folder, "plan"), "rb") as stream:
        plan = marshal.load(stream)
    if not plan["slots"]:
        return
    files = dict(plan["files"])
    for path in list(files):
        files.setdefault(os.path.realpath(path), files[path])
    names = frozenset(path.rpartition(os.sep)[2] for path in files)
    counters = Counters(folder, plan["slots"])
    external = sys.modules["_frozen_importlib_external"]
    original = external.SourceFileLoader.get_code

    def lines_of(path):
        """{line: slot} of a file of the plan; None for another file."""
        if not isinstance(path, str) or path.rpartition(os.sep)[2] not in names:
            return None
        place = files.get(path) or files.get(os.path.realpath(path))
        if place is None:
            return None
        return {line: place[0] + offset for offset, line in enumerate(place[1])}

    def counted(code, path, read):
        lines = lines_of(path)
        if lines is None or code is None:
            return code
        try:
            counters.open()
            from . import instrument

            return instrument.instrument(code, read(), path, lines)
        except Exception as error:  # the tests matter more than the counts
            _note(folder, "%s is not counted: %s: %s" % (path, type(error).__name__, error))
            return code

    def get_code(self, fullname):
        code = original(self, fullname)
        return counted(code, self.path, lambda: self.get_data(self.path))

    external.SourceFileLoader.get_code = get_code
    _follow_main(lines_of, counted)


def _main_path():
    """The script that this interpreter was started with, where it is a file; Linux only."""
    try:
        with open("/proc/self/cmdline", "rb") as stream:
            arguments = stream.read().split(b"\0")[1:-1]
    except OSError:
        return None
    position = 0
    while position < len(arguments) and arguments[position].startswith(b"-"):
        option = arguments[position]
        if option in (b"-", b"-c", b"-m") or (option[1:2] != b"-" and option[-1:] in b"cm"):
            return None
        position += 2 if option in (b"-W", b"-X", b"--check-hash-based-pycs") else 1
    return os.fsdecode(arguments[position]) if position < len(arguments) else None


def _follow_main(lines_of, counted):
    """A script run as `python PATH` is not imported: put its counted twin in its place.

    The trace function sees the first frame of the script, runs the counted code in that frame's
    globals, and ends the interpreter as the script's own end would have. No trace function sees the
    script meanwhile: tracing is off inside a trace function.
    """
    script = _main_path()
    if script is None or lines_of(os.path.abspath(script)) is None:
        return
    path = os.path.abspath(script)

    def on_call(frame, event, argument):
        code = frame.f_code
        if code.co_name != "<module>" or code.co_filename not in (script, path):
            return
        if frame.f_globals.get("__name__") != "__main__":
            return
        sys.settrace(None)
        with open(path, "rb") as stream:
            source = stream.read()
        exec(counted(code, path, lambda: source), frame.f_globals)
        raise SystemExit(0)

    sys.settrace(on_call)
